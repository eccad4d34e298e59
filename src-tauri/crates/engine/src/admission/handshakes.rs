//! Rate limits on TLS handshakes: each costs processor time before the peer has authenticated.
use tokio::time::sleep;

use crate::admission::token_bucket::TokenBuckets;
use crate::admission::{AdmissionSlot, Origin};
use crate::limits::{HANDSHAKE_PAUSE, HANDSHAKES_OF_ALL_STRANGERS, HANDSHAKES_OF_STRANGERS, HANDSHAKES_WHERE_KNOWN};
use crate::receiving::receive::boot_ms;

/// Token buckets of handshakes, for each origin and for all strangers together. Origins of known
/// devices have larger ones of their own, which strangers elsewhere cannot drain.
pub(crate) struct Handshakes {
    strangers: TokenBuckets,
    where_known: TokenBuckets,
    all_strangers: TokenBuckets,
}

/// A handshake that may begin.
pub(crate) struct Permit {
    origin: Origin,
    is_where_known: bool,
}

impl Default for Handshakes {
    fn default() -> Self {
        Self {
            strangers: TokenBuckets::new(HANDSHAKES_OF_STRANGERS),
            where_known: TokenBuckets::new(HANDSHAKES_WHERE_KNOWN),
            all_strangers: TokenBuckets::new(HANDSHAKES_OF_ALL_STRANGERS),
        }
    }
}

impl Handshakes {
    /// Waits until a connection from `origin` may begin its handshake. It keeps its admission slot
    /// meanwhile, and may be evicted from it.
    pub(crate) async fn acquire(&self, slot: &AdmissionSlot, origin: Origin) -> Permit {
        loop {
            let is_where_known = slot.is_from_known_origin();
            if self.take(origin, is_where_known, boot_ms()) {
                return Permit { origin, is_where_known };
            }
            sleep(HANDSHAKE_PAUSE).await;
        }
    }

    /// Returns the tokens of a handshake that proved to be a known device's.
    pub(crate) fn refund(&self, Permit { origin, is_where_known }: Permit) {
        if is_where_known {
            self.where_known.refund(origin);
        } else {
            self.strangers.refund(origin);
            self.all_strangers.refund(Origin::EVERYBODY);
        }
    }

    fn take(&self, origin: Origin, is_where_known: bool, now_ms: u64) -> bool {
        if is_where_known {
            return self.where_known.take(origin, now_ms);
        }
        let has_one = self.strangers.take(origin, now_ms);
        if has_one && !self.all_strangers.take(Origin::EVERYBODY, now_ms) {
            self.strangers.refund(origin);
            return false;
        }
        has_one
    }
}
