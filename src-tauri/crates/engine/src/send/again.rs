//! When a sender tries again whose connection was lost: sooner at first, then ever later, and not for ever.
use std::time::Duration;

use tokio::time::Instant;

use crate::limits::{FULL_LOOK_EVERY, FULL_TIME_MAX};

/// The pause before the first try, and the longest one; each is twice as long as the one before.
const PAUSE_FIRST: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// Tries after one connection was lost.
pub(super) struct Tries {
    give_up_after: Duration,
    /// When it was lost.
    since: Option<Instant>,
    pause: Duration,
    /// When the disk there was full first.
    full_since: Option<Instant>,
}

/// The next try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Try {
    pub(super) at: Instant,
    pub(super) gives_up: Instant,
}

impl Tries {
    /// For so long after each loss.
    pub(super) fn new(give_up_after: Duration) -> Self {
        Self { give_up_after, since: None, pause: PAUSE_FIRST, full_since: None }
    }

    /// It went on: the next loss is a new one.
    pub(super) fn went_on(&mut self) {
        (self.since, self.pause, self.full_since) = (None, PAUSE_FIRST, None);
    }

    /// When to look next whether there is room; none if it is given up, or nothing is to be waited for.
    pub(super) fn look(&mut self, now: Instant) -> Option<Try> {
        // Whoever says that is reached.
        (self.since, self.pause) = (None, PAUSE_FIRST);
        let gives_up = *self.full_since.get_or_insert(now) + FULL_TIME_MAX;
        let next = Try { at: now + FULL_LOOK_EVERY, gives_up };
        (!self.give_up_after.is_zero() && next.at <= gives_up).then_some(next)
    }

    /// When to try next; none if it is given up. `jitter` of 0 to 255 spreads the tries of many senders over half a pause, so that they do not
    /// come back at once.
    pub(super) fn next(&mut self, now: Instant, jitter: u8) -> Option<Try> {
        let gives_up = *self.since.get_or_insert(now) + self.give_up_after;
        let pause = self.pause.mul_f64(0.75 + f64::from(jitter) / 512.0);
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        let next = Try { at: now + pause, gives_up };
        (next.at <= gives_up).then_some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_begin_anew_once_it_went_on() {
        let mut tries = Tries::new(Duration::from_secs(3600));
        let now = Instant::now();
        // In the middle of what jitter does.
        let mut pauses = || tries.next(now, 128).map(|next| (next.at - now).as_secs());
        assert_eq!([(); 8].map(|()| pauses()), [1, 2, 4, 8, 16, 30, 30, 30].map(Some));
        tries.went_on();
        assert_eq!(tries.next(now, 128).map(|next| next.at - now), Some(PAUSE_FIRST));
    }

    #[test]
    fn jitter_keeps_to_a_quarter_of_the_pause() {
        for jitter in 0..=255 {
            let now = Instant::now();
            let pause = Tries::new(PAUSE_MAX).next(now, jitter).unwrap().at - now;
            assert!((0.75..1.25).contains(&pause.as_secs_f64()), "{pause:?}");
        }
    }

    #[test]
    fn it_is_given_up_by_the_time_of_the_loss_not_of_the_last_try() {
        let begun = Instant::now();
        let mut tries = Tries::new(Duration::from_secs(10));
        let at = |secs| begun + Duration::from_secs(secs);
        let first = tries.next(at(0), 128).unwrap();
        assert_eq!(first.gives_up, at(10));
        assert_eq!(tries.next(at(4), 128).unwrap().gives_up, at(10));
        assert_eq!(tries.next(at(7), 128), None);
        assert_eq!(Tries::new(Duration::ZERO).next(at(0), 0), None);
    }

    #[test]
    fn room_is_looked_for_steadily_unless_nothing_is_tried_again() {
        let begun = Instant::now();
        let mut tries = Tries::new(Duration::from_secs(10));
        for passed in [Duration::ZERO, FULL_LOOK_EVERY, FULL_TIME_MAX / 2, FULL_TIME_MAX - FULL_LOOK_EVERY] {
            let now = begun + passed;
            assert_eq!(tries.look(now), Some(Try { at: now + FULL_LOOK_EVERY, gives_up: begun + FULL_TIME_MAX }));
        }
        assert_eq!(tries.look(begun + FULL_TIME_MAX), None);
        assert_eq!(Tries::new(Duration::ZERO).look(begun), None);
    }
}
