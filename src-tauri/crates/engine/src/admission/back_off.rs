//! Per-address back-off after failed pairings, so that one guesser cannot lock others out of a
//! code.
use std::collections::HashMap;

use parking_lot::{Mutex, MutexGuard};
use ringway_wire::pair::{CODE_LIFETIME_MS, back_off_ms};

use crate::admission::Origin;
use crate::limits::{FAILING_ADDRESSES_MAX, PAIRING_FAILURES_FREE};

/// Recent failures of each origin. Times are milliseconds of any monotonic clock.
#[derive(Default)]
pub(crate) struct BackOff(Mutex<HashMap<Origin, Failures>>);

#[derive(Clone, Copy, Default)]
struct Failures {
    count: u32,
    last_ms: u64,
}

impl Failures {
    /// The rest of its wait.
    fn wait_ms(self, now_ms: u64) -> u64 {
        let wait = back_off_ms((self.count + 1).saturating_sub(PAIRING_FAILURES_FREE));
        (self.last_ms + wait).saturating_sub(now_ms)
    }

    fn is_over(self, now_ms: u64) -> bool {
        now_ms.saturating_sub(self.last_ms) > CODE_LIFETIME_MS
    }
}

impl BackOff {
    /// Milliseconds until the next attempt of `origin`; 0 if it has not failed often.
    pub(crate) fn wait_ms(&self, origin: &Origin, now_ms: u64) -> u64 {
        self.failures()
            .get(origin)
            .filter(|failures| !failures.is_over(now_ms))
            .map_or(0, |failures| failures.wait_ms(now_ms))
    }

    /// The number of recent failed attempts of `origin`.
    pub(crate) fn failures_of(&self, origin: &Origin, now_ms: u64) -> u32 {
        self.failures().get(origin).filter(|failures| !failures.is_over(now_ms)).map_or(0, |failures| failures.count)
    }

    /// Counts a failed attempt of `origin`, for whatever reason.
    pub(crate) fn failed(&self, origin: Origin, now_ms: u64) {
        let mut failing = self.failures();
        if failing.len() >= FAILING_ADDRESSES_MAX && !failing.contains_key(&origin) {
            failing.retain(|_, failures| !failures.is_over(now_ms));
            // The origin with the fewest and oldest failures.
            let least = failing.iter().min_by_key(|(_, failures)| (failures.count, failures.last_ms));
            if let Some(least) = least.map(|(origin, _)| *origin).filter(|_| failing.len() >= FAILING_ADDRESSES_MAX) {
                failing.remove(&least);
            }
        }
        let failures = failing.entry(origin).or_default();
        if failures.is_over(now_ms) {
            failures.count = 0;
        }
        *failures = Failures { count: failures.count.saturating_add(1).min(u32::MAX - 1), last_ms: now_ms };
    }

    /// `origin` has paired: its failures are forgotten.
    pub(crate) fn paired(&self, origin: &Origin) {
        self.failures().remove(origin);
    }

    fn failures(&self) -> MutexGuard<'_, HashMap<Origin, Failures>> {
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway_wire::pair::BACK_OFF_MAX_MS;
    use std::net::Ipv4Addr;

    fn from(address: u32) -> Origin {
        Origin::of(Ipv4Addr::from_bits(address).into())
    }

    #[test]
    fn slips_are_free_and_then_the_wait_doubles_up_to_its_end() {
        let back_off = BackOff::default();
        let mut waits = Vec::new();
        for _ in 0..30 {
            back_off.failed(from(1), 1_000);
            waits.push(back_off.wait_ms(&from(1), 1_000));
        }
        assert_eq!(waits[..6], [0, 0, 0, 1_000, 2_000, 4_000]);
        assert_eq!(waits[29], BACK_OFF_MAX_MS);
        assert_eq!(back_off.wait_ms(&from(1), 1_000 + BACK_OFF_MAX_MS), 0);
        assert_eq!(back_off.wait_ms(&from(2), 1_000), 0, "nobody else waits");
    }

    #[test]
    fn a_success_and_the_life_of_a_code_end_it() {
        let back_off = BackOff::default();
        (0..5).for_each(|_| back_off.failed(from(1), 1_000));
        back_off.paired(&from(1));
        assert_eq!(back_off.wait_ms(&from(1), 1_000), 0);
        (0..9).for_each(|_| back_off.failed(from(1), 1_000));
        let later = 1_001 + CODE_LIFETIME_MS;
        back_off.failed(from(1), later);
        assert_eq!(back_off.wait_ms(&from(1), later), 0, "it is the first again");
    }

    #[test]
    fn what_is_remembered_is_bounded_and_the_worst_are_kept() {
        let back_off = BackOff::default();
        (0..9).for_each(|_| back_off.failed(from(0), 1));
        for address in 1..3 * FAILING_ADDRESSES_MAX as u32 {
            back_off.failed(from(address), 2);
        }
        assert_eq!(back_off.failures().len(), FAILING_ADDRESSES_MAX);
        assert!(back_off.wait_ms(&from(0), 2) > 0);
    }
}
