//! Whose handshake's turn it is: each costs processor time before anybody has shown who he is.
use tokio::time::sleep;

use crate::admission::{Origin, Place};
use crate::limits::{HANDSHAKE_PAUSE, HANDSHAKES_OF_ALL_STRANGERS, HANDSHAKES_OF_STRANGERS, HANDSHAKES_WHERE_KNOWN};
use crate::receive::boot_ms;
use crate::token_bucket::Budgets;

/// What may still be begun, by each address and by all. Where known devices came from there is more
/// of it, and what others use up is not missed.
pub(crate) struct Handshakes {
    strangers: Budgets,
    where_known: Budgets,
    all_strangers: Budgets,
}

/// One that was begun.
pub(crate) struct Turn {
    origin: Origin,
    is_where_known: bool,
}

impl Default for Handshakes {
    fn default() -> Self {
        Self {
            strangers: Budgets::new(HANDSHAKES_OF_STRANGERS),
            where_known: Budgets::new(HANDSHAKES_WHERE_KNOWN),
            all_strangers: Budgets::new(HANDSHAKES_OF_ALL_STRANGERS),
        }
    }
}

impl Handshakes {
    /// Waits until a connection from `origin` may begin its handshake. It has a place meanwhile,
    /// which it loses to those that come after it.
    pub(crate) async fn turn(&self, place: &Place, origin: Origin) -> Turn {
        loop {
            let is_where_known = place.is_where_known();
            if self.take(origin, is_where_known, boot_ms()) {
                return Turn { origin, is_where_known };
            }
            sleep(HANDSHAKE_PAUSE).await;
        }
    }

    /// It was a known device's.
    pub(crate) fn give_back(&self, Turn { origin, is_where_known }: Turn) {
        if is_where_known {
            self.where_known.give_back(origin);
        } else {
            self.strangers.give_back(origin);
            self.all_strangers.give_back(Origin::EVERYBODY);
        }
    }

    fn take(&self, origin: Origin, is_where_known: bool, now_ms: u64) -> bool {
        if is_where_known {
            return self.where_known.take(origin, now_ms);
        }
        let has_one = self.strangers.take(origin, now_ms);
        if has_one && !self.all_strangers.take(Origin::EVERYBODY, now_ms) {
            self.strangers.give_back(origin);
            return false;
        }
        has_one
    }
}
