//! Token buckets, one for each origin: a rate limit on what one origin makes this device or its
//! person do.
use std::collections::HashMap;

use parking_lot::{Mutex, MutexGuard};

use crate::admission::Origin;
use crate::limits::{Allowance, TOKEN_BUCKETS_MAX};

/// A token bucket for each origin. Times are milliseconds of any monotonic clock.
pub(crate) struct TokenBuckets {
    allowance: Allowance,
    buckets: Mutex<HashMap<Origin, Bucket>>,
}

/// Tokens are counted in sixty-thousandths, so that refilling by the millisecond loses nothing.
#[derive(Clone, Copy)]
struct Bucket {
    tokens: u64,
    updated_ms: u64,
}

/// One token.
const TOKEN: u64 = 60_000;

impl TokenBuckets {
    pub(crate) fn new(allowance: Allowance) -> Self {
        Self { allowance, buckets: Mutex::default() }
    }

    /// Takes a token of `origin`; false if it has none.
    pub(crate) fn take(&self, origin: Origin, now_ms: u64) -> bool {
        let mut buckets = self.buckets();
        if buckets.len() >= TOKEN_BUCKETS_MAX && !buckets.contains_key(&origin) {
            buckets.retain(|_, bucket| self.tokens(bucket, now_ms) < self.capacity());
            // The fullest bucket is the one that limits its origin least.
            let most = buckets.iter().max_by_key(|(_, bucket)| self.tokens(bucket, now_ms)).map(|(origin, _)| *origin);
            if let Some(most) = most.filter(|_| buckets.len() >= TOKEN_BUCKETS_MAX) {
                buckets.remove(&most);
            }
        }
        let bucket = buckets.entry(origin).or_insert(Bucket { tokens: self.capacity(), updated_ms: now_ms });
        let tokens = self.tokens(bucket, now_ms);
        *bucket = Bucket { tokens: tokens.checked_sub(TOKEN).unwrap_or(tokens), updated_ms: now_ms };
        tokens >= TOKEN
    }

    /// Milliseconds until `origin` has a token.
    pub(crate) fn wait_ms(&self, origin: Origin, now_ms: u64) -> u64 {
        let tokens = self.buckets().get(&origin).map_or(self.capacity(), |bucket| self.tokens(bucket, now_ms));
        TOKEN.saturating_sub(tokens).div_ceil(self.allowance.per_min.max(1).into())
    }

    /// Returns a token to `origin`.
    pub(crate) fn refund(&self, origin: Origin) {
        if let Some(bucket) = self.buckets().get_mut(&origin) {
            bucket.tokens = (bucket.tokens + TOKEN).min(self.capacity());
        }
    }

    fn capacity(&self) -> u64 {
        u64::from(self.allowance.burst) * TOKEN
    }

    fn tokens(&self, bucket: &Bucket, now_ms: u64) -> u64 {
        let refilled = now_ms.saturating_sub(bucket.updated_ms).saturating_mul(self.allowance.per_min.into());
        bucket.tokens.saturating_add(refilled).min(self.capacity())
    }

    fn buckets(&self) -> MutexGuard<'_, HashMap<Origin, Bucket>> {
        self.buckets.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const SOME: Allowance = Allowance { burst: 4, per_min: 120 };

    fn from(address: u32) -> Origin {
        Origin::of(Ipv4Addr::from_bits(address).into())
    }

    fn taken(buckets: &TokenBuckets, origin: Origin, now_ms: u64) -> usize {
        (0..100).filter(|_| buckets.take(origin, now_ms)).count()
    }

    #[test]
    fn a_burst_and_then_what_time_brings_up_to_a_burst() {
        let buckets = TokenBuckets::new(SOME);
        assert_eq!(taken(&buckets, from(1), 1_000), 4);
        assert_eq!(taken(&buckets, from(2), 1_000), 4, "nobody else pays");
        // Asked for at any moment, it comes to two a second.
        let bit_by_bit = (1_001..=6_000).filter(|now_ms| buckets.take(from(1), *now_ms)).count();
        assert_eq!(bit_by_bit, 10);
        assert_eq!(taken(&buckets, from(1), 1_000_000), 4);
        assert_eq!(taken(&buckets, from(1), 0), 0, "no clock goes back, and if one does nothing is won");
    }

    #[test]
    fn wait_is_as_long_as_it_takes_to_have_one() {
        let buckets = TokenBuckets::new(SOME);
        assert_eq!(buckets.wait_ms(from(1), 1_000), 0);
        assert_eq!(taken(&buckets, from(1), 1_000), 4);
        assert_eq!(buckets.wait_ms(from(1), 1_000), 500);
        assert!(!buckets.take(from(1), 1_499));
        assert_eq!(buckets.wait_ms(from(1), 1_499), 1);
        assert!(buckets.take(from(1), 1_500));
    }

    #[test]
    fn what_is_given_back_is_had_again_and_no_more() {
        let buckets = TokenBuckets::new(SOME);
        assert_eq!(taken(&buckets, from(1), 0), 4);
        (0..9).for_each(|_| buckets.refund(from(1)));
        buckets.refund(from(2));
        assert_eq!(taken(&buckets, from(1), 0), 4);
    }

    #[test]
    fn what_is_remembered_is_bounded_and_who_has_used_most_stays() {
        let buckets = TokenBuckets::new(SOME);
        assert_eq!(taken(&buckets, from(0), 0), 4);
        for address in 1..3 * TOKEN_BUCKETS_MAX as u32 {
            assert!(buckets.take(from(address), 1));
        }
        assert_eq!(buckets.buckets().len(), TOKEN_BUCKETS_MAX);
        assert!(!buckets.take(from(0), 1));
    }
}
