//! When a sender tries again after a lost connection: at growing intervals, and not forever.
use std::time::Duration;

use ringway_wire::control::Progress;
use tokio::time::Instant;

use crate::limits::{FULL_LOOK_EVERY, FULL_TIME_MAX};

/// The pause before the first attempt, and the longest one. Each pause is twice as long as the one
/// before.
const PAUSE_FIRST: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// Attempts after a connection was lost.
pub struct Tries {
    give_up_after: Duration,
    /// When it was lost.
    since: Option<Instant>,
    pause: Duration,
    /// When the receiver's disk was first full.
    full_since: Option<Instant>,
}

/// The fewest bytes of an entry on the wire, with its name. Progress in entries counts as this many
/// bytes.
const ENTRY_LEN: u64 = 64;

/// The least headway after which the next loss counts as a new one, and the most such steps of a
/// transfer. A receiver that only claims progress, or makes a trickle of it, must come to an end.
const STEP_MIN: u64 = 64 * 1024;
const STEPS_MAX: u64 = 100_000;

/// The headway of sessions since the last step, as this end observes it.
#[derive(Default)]
pub struct Headway {
    credit: u64,
}

impl Headway {
    /// Adds a session in which the receiver reported this progress and its kernel acknowledged this
    /// many bytes; the smaller of the two counts. Returns whether all sessions since the last step
    /// together are a step, for a transfer of that size.
    pub fn book(&mut self, progress: Progress, acknowledged: u64, all: Progress) -> bool {
        let worth = |of: Progress| of.entries.saturating_mul(ENTRY_LEN).saturating_add(of.bytes);
        self.credit = self.credit.saturating_add(worth(progress).min(acknowledged));
        let is_step = self.credit >= STEP_MIN.max(worth(all) / STEPS_MAX);
        if is_step {
            self.credit = 0;
        }
        is_step
    }
}

/// The next attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Try {
    /// When it is due.
    pub at: Instant,
    /// When attempts end.
    pub gives_up: Instant,
}

impl Tries {
    /// Attempts for this long after each loss.
    pub fn new(give_up_after: Duration) -> Self {
        Self { give_up_after, since: None, pause: PAUSE_FIRST, full_since: None }
    }

    /// The transfer made headway, so the next loss is a new one.
    pub fn went_on(&mut self) {
        (self.since, self.pause, self.full_since) = (None, PAUSE_FIRST, None);
    }

    /// When to check next for free space; `None` if the transfer is given up, or is not to wait.
    pub fn look(&mut self, now: Instant) -> Option<Try> {
        // A receiver that reports a full disk was reached.
        (self.since, self.pause) = (None, PAUSE_FIRST);
        let gives_up = *self.full_since.get_or_insert(now) + FULL_TIME_MAX;
        let next = Try { at: now + FULL_LOOK_EVERY, gives_up };
        (!self.give_up_after.is_zero() && next.at <= gives_up).then_some(next)
    }

    /// When to try next if the receiver has named a wait; `None` if that is too long. Like
    /// [`Tries::next`], but no sooner than named.
    pub fn after(&mut self, now: Instant, wait: Duration, jitter: u8) -> Option<Try> {
        let gives_up = *self.since.get_or_insert(now) + self.give_up_after;
        let next = Try { at: now + wait.max(PAUSE_FIRST).mul_f64(1.0 + f64::from(jitter) / 1_024.0), gives_up };
        (next.at <= gives_up).then_some(next)
    }

    /// When to try next, the last time at the end; `None` if the transfer is given up. `jitter` of
    /// 0 to 255 spreads the attempts of many senders over half a pause, so that they do not return
    /// at once.
    pub fn next(&mut self, now: Instant, jitter: u8) -> Option<Try> {
        let gives_up = *self.since.get_or_insert(now) + self.give_up_after;
        let pause = self.pause.mul_f64(0.75 + f64::from(jitter) / 512.0);
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        let next = Try { at: (now + pause).min(gives_up), gives_up };
        (next.at > now).then_some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(entries: u64, bytes: u64) -> Progress {
        Progress { entries, bytes }
    }

    #[test]
    fn pauses_double_up_to_the_longest_and_restart_after_headway() {
        let mut tries = Tries::new(Duration::from_secs(3600));
        let now = Instant::now();
        // In the middle of the range of jitter.
        let mut pauses = || tries.next(now, 128).map(|next| (next.at - now).as_secs());
        assert_eq!([(); 8].map(|()| pauses()), [1, 2, 4, 8, 16, 30, 30, 30].map(Some));
        tries.went_on();
        assert_eq!(tries.next(now, 128).map(|next| next.at - now), Some(PAUSE_FIRST));
    }

    #[test]
    fn progress_that_is_only_claimed_is_no_headway() {
        let mut headway = Headway::default();
        let all = progress(1_000, 1 << 30);
        for _ in 0..1_000 {
            assert!(!headway.book(progress(1, u64::MAX), 0, all));
            assert!(!headway.book(progress(0, 0), u64::MAX, all), "nor is what is acknowledged and leads nowhere");
        }
        assert!(!headway.book(progress(0, 40_000), 50_000, all));
        assert!(headway.book(progress(0, 40_000), 50_000, all), "sessions add up");
        assert!(!headway.book(progress(0, 40_000), 50_000, all));
        assert!(headway.book(progress(5_000, 0), 1 << 20, all), "entries without contents count, too");
    }

    #[test]
    fn large_transfer_has_a_bounded_number_of_steps() {
        let all = progress(0, 1 << 50);
        let mut headway = Headway::default();
        assert!(!headway.book(progress(0, STEP_MIN), STEP_MIN, all));
        assert!(headway.book(progress(0, all.bytes / STEPS_MAX), u64::MAX, all));
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
    fn giving_up_is_timed_from_the_loss_not_from_the_last_attempt() {
        let begun = Instant::now();
        let mut tries = Tries::new(Duration::from_secs(10));
        let at = |secs| begun + Duration::from_secs(secs);
        let first = tries.next(at(0), 128).unwrap();
        assert_eq!(first.gives_up, at(10));
        assert_eq!(tries.next(at(4), 128).unwrap().gives_up, at(10));
        assert_eq!(tries.next(at(7), 128).unwrap().at, at(10), "all of the time is used");
        assert_eq!(tries.next(at(10), 128), None);
        assert_eq!(Tries::new(Duration::ZERO).next(at(0), 0), None);
    }

    #[test]
    fn a_requested_wait_is_kept_unless_it_is_too_long() {
        let now = Instant::now();
        let wait = Duration::from_secs(15);
        let mut tries = Tries::new(Duration::from_secs(40));
        for jitter in [0, 255] {
            let pause = tries.after(now, wait, jitter).unwrap().at - now;
            assert!(pause >= wait && pause < wait.mul_f64(1.25), "{pause:?}");
        }
        assert_eq!(tries.after(now + wait, wait, 0).unwrap().gives_up, now + Duration::from_secs(40));
        assert_eq!(tries.after(now + wait * 2, wait, 0), None);
        assert_eq!(
            Tries::new(PAUSE_FIRST).after(now, Duration::ZERO, 0).unwrap().at,
            now + PAUSE_FIRST,
            "whatever a receiver says"
        );
        assert_eq!(Tries::new(Duration::ZERO).after(now, wait, 0), None);
    }

    #[test]
    fn free_space_is_checked_regularly_unless_retries_are_off() {
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
