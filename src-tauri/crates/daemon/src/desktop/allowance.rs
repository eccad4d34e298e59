//! How many notifications may be shown: some at once, then few a minute, so that nobody can fill a
//! screen.
use std::time::{Duration, Instant};

/// At once: a person who comes back to a screen can still take these in.
const AT_ONCE: u32 = 6;
/// One more each.
const EVERY: Duration = Duration::from_secs(10);

/// A bucket of notifications. The clock is its caller's.
pub(super) struct Allowance {
    left: u32,
    counted_at: Instant,
}

impl Allowance {
    pub(super) fn new(now: Instant) -> Self {
        Self { left: AT_ONCE, counted_at: now }
    }

    /// Takes one, if there is one left.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        let gained = now.saturating_duration_since(self.counted_at).as_millis() / EVERY.as_millis();
        let gained = u32::try_from(gained).unwrap_or(u32::MAX).min(AT_ONCE);
        self.left = (self.left + gained).min(AT_ONCE);
        // What is left over of a turn counts for the next one, but a full bucket saves nothing up.
        self.counted_at = if self.left == AT_ONCE { now } else { self.counted_at + EVERY * gained };
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_at_once_then_one_each_turn_and_never_more_than_some() {
        let start = Instant::now();
        let mut allowance = Allowance::new(start);
        let taken = |allowance: &mut Allowance, at| (0..100).filter(|_| allowance.take(at)).count();
        assert_eq!(taken(&mut allowance, start), 6);
        assert_eq!(taken(&mut allowance, start + Duration::from_secs(9)), 0);
        assert_eq!(taken(&mut allowance, start + Duration::from_secs(10)), 1);
        assert_eq!(taken(&mut allowance, start + Duration::from_secs(35)), 2);
        // The five seconds that were left over.
        assert_eq!(taken(&mut allowance, start + Duration::from_secs(40)), 1);
        assert_eq!(taken(&mut allowance, start + Duration::from_secs(86_400)), 6);
        assert_eq!(taken(&mut allowance, start), 0, "a clock that goes back gives nothing");
    }
}
