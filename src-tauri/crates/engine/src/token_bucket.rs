//! How often one origin may begin something that costs others: so many at once, then as many as its
//! time brings.
use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;

use crate::admission::Origin;
use crate::limits::{Allowance, BUDGETS_MAX};

/// What each origin has left (a token bucket each). Times are milliseconds of any clock that never
/// goes back.
pub(crate) struct Budgets {
    allowance: Allowance,
    used: Mutex<HashMap<Origin, Bucket>>,
}

/// Sixty-thousandths, so that nothing is lost between two looks.
#[derive(Clone, Copy)]
struct Bucket {
    left: u64,
    looked_ms: u64,
}

/// One of whatever it is.
const ONE: u64 = 60_000;

impl Budgets {
    pub(crate) fn new(allowance: Allowance) -> Self {
        Self { allowance, used: Mutex::default() }
    }

    /// Takes one of what `origin` has; false if it has none.
    pub(crate) fn take(&self, origin: Origin, now_ms: u64) -> bool {
        let mut used = self.used();
        if used.len() >= BUDGETS_MAX && !used.contains_key(&origin) {
            used.retain(|_, bucket| self.left(bucket, now_ms) < self.full());
            // Who has most left loses least.
            let most = used.iter().max_by_key(|(_, bucket)| self.left(bucket, now_ms)).map(|(origin, _)| *origin);
            if let Some(most) = most.filter(|_| used.len() >= BUDGETS_MAX) {
                used.remove(&most);
            }
        }
        let bucket = used.entry(origin).or_insert(Bucket { left: self.full(), looked_ms: now_ms });
        let left = self.left(bucket, now_ms);
        *bucket = Bucket { left: left.checked_sub(ONE).unwrap_or(left), looked_ms: now_ms };
        left >= ONE
    }

    /// Milliseconds until `origin` has one.
    pub(crate) fn wait_ms(&self, origin: Origin, now_ms: u64) -> u64 {
        let left = self.used().get(&origin).map_or(self.full(), |bucket| self.left(bucket, now_ms));
        ONE.saturating_sub(left).div_ceil(self.allowance.per_min.max(1).into())
    }

    /// What it took was for something good: it has it again.
    pub(crate) fn give_back(&self, origin: Origin) {
        if let Some(bucket) = self.used().get_mut(&origin) {
            bucket.left = (bucket.left + ONE).min(self.full());
        }
    }

    fn full(&self) -> u64 {
        u64::from(self.allowance.burst) * ONE
    }

    fn left(&self, bucket: &Bucket, now_ms: u64) -> u64 {
        let earned = now_ms.saturating_sub(bucket.looked_ms).saturating_mul(self.allowance.per_min.into());
        bucket.left.saturating_add(earned).min(self.full())
    }

    fn used(&self) -> MutexGuard<'_, HashMap<Origin, Bucket>> {
        self.used.lock()
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

    fn taken(budgets: &Budgets, origin: Origin, now_ms: u64) -> usize {
        (0..100).filter(|_| budgets.take(origin, now_ms)).count()
    }

    #[test]
    fn a_burst_and_then_what_time_brings_up_to_a_burst() {
        let budgets = Budgets::new(SOME);
        assert_eq!(taken(&budgets, from(1), 1_000), 4);
        assert_eq!(taken(&budgets, from(2), 1_000), 4, "nobody else pays");
        // Asked for at any moment, it comes to two a second.
        let bit_by_bit = (1_001..=6_000).filter(|now_ms| budgets.take(from(1), *now_ms)).count();
        assert_eq!(bit_by_bit, 10);
        assert_eq!(taken(&budgets, from(1), 1_000_000), 4);
        assert_eq!(taken(&budgets, from(1), 0), 0, "no clock goes back, and if one does nothing is won");
    }

    #[test]
    fn wait_is_as_long_as_it_takes_to_have_one() {
        let budgets = Budgets::new(SOME);
        assert_eq!(budgets.wait_ms(from(1), 1_000), 0);
        assert_eq!(taken(&budgets, from(1), 1_000), 4);
        assert_eq!(budgets.wait_ms(from(1), 1_000), 500);
        assert!(!budgets.take(from(1), 1_499));
        assert_eq!(budgets.wait_ms(from(1), 1_499), 1);
        assert!(budgets.take(from(1), 1_500));
    }

    #[test]
    fn what_is_given_back_is_had_again_and_no_more() {
        let budgets = Budgets::new(SOME);
        assert_eq!(taken(&budgets, from(1), 0), 4);
        (0..9).for_each(|_| budgets.give_back(from(1)));
        budgets.give_back(from(2));
        assert_eq!(taken(&budgets, from(1), 0), 4);
    }

    #[test]
    fn what_is_remembered_is_bounded_and_who_has_used_most_stays() {
        let budgets = Budgets::new(SOME);
        assert_eq!(taken(&budgets, from(0), 0), 4);
        for address in 1..3 * BUDGETS_MAX as u32 {
            assert!(budgets.take(from(address), 1));
        }
        assert_eq!(budgets.used().len(), BUDGETS_MAX);
        assert!(!budgets.take(from(0), 1));
    }
}
