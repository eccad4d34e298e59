//! The time that a transfer has run: what it stood still for, because somebody had paused it, does
//! not count.
use std::time::{Duration, Instant};

use crate::limits::TICK;

/// Who looks each [`TICK`] and comes so late was stopped with the process (SIGSTOP, as by Ctrl-Z),
/// or with its machine: that does not count either.
const STOPPED_MIN: Duration = Duration::from_secs(2);

/// Counts from its start to its end, but for the time between. Moments are arguments, each no
/// earlier than the one before.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stopwatch {
    begun: Option<Instant>,
    /// Since when it stands still.
    held: Option<Instant>,
    /// How long it stood still before.
    left_out: Duration,
    /// When it was looked at, where that is done each [`TICK`].
    looked: Option<Instant>,
    ended: Option<Duration>,
}

impl Stopwatch {
    /// Begins to count.
    pub(crate) fn start(&mut self, now: Instant) {
        *self = Self { begun: Some(now), ..Self::default() };
    }

    /// Whether it was started.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun.is_some()
    }

    /// Stands still until [`Stopwatch::go_on`].
    pub(crate) fn hold(&mut self, now: Instant) {
        self.left_out += self.stopped(now);
        self.looked = None;
        self.held.get_or_insert(now);
    }

    /// Counts again, if it stood still.
    pub(crate) fn go_on(&mut self, now: Instant) {
        if let Some(held) = self.held.take() {
            self.left_out += now.saturating_duration_since(held);
        }
    }

    /// It is looked at, as from now on each [`TICK`], but for while it stands still.
    pub(crate) fn look(&mut self, now: Instant) {
        self.left_out += self.stopped(now);
        self.looked = Some(now).filter(|_| self.held.is_none());
    }

    /// How long nobody could look.
    fn stopped(&self, now: Instant) -> Duration {
        let since = self.looked.map(|looked| now.saturating_duration_since(looked)).unwrap_or_default();
        if since > STOPPED_MIN { since - TICK } else { Duration::ZERO }
    }

    /// Counts no more.
    pub(crate) fn end(&mut self, now: Instant) {
        self.ended = Some(self.counted(now));
    }

    /// What it has counted; nothing before it was started.
    pub(crate) fn counted(&self, now: Instant) -> Duration {
        let until = self.held.unwrap_or(now);
        let left_out = self.left_out + self.stopped(now);
        let counted = || Some(until.saturating_duration_since(self.begun?).saturating_sub(left_out));
        self.ended.or_else(counted).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_do_not_count() {
        let begun = Instant::now();
        let at = |secs| begun + Duration::from_secs(secs);
        let mut watch = Stopwatch::default();
        watch.hold(at(0));
        assert_eq!((watch.has_begun(), watch.counted(at(9))), (false, Duration::ZERO));
        watch.start(at(10));
        let counted = |watch: &Stopwatch, now| watch.counted(at(now)).as_secs();
        assert_eq!((watch.has_begun(), counted(&watch, 15)), (true, 5));
        watch.hold(at(20));
        watch.hold(at(25));
        assert_eq!((counted(&watch, 20), counted(&watch, 3_600)), (10, 10));
        watch.go_on(at(3_600));
        watch.go_on(at(3_605));
        assert_eq!(counted(&watch, 3_610), 20);
        watch.hold(at(3_614));
        watch.look(at(3_700));
        watch.end(at(4_000));
        assert_eq!(counted(&watch, 5_000), 24, "it ended while it stood still");
    }

    #[test]
    fn what_its_process_was_stopped_does_not_count() {
        let begun = Instant::now();
        let at = |ms| begun + Duration::from_millis(ms);
        let mut watch = Stopwatch::default();
        watch.start(at(0));
        let counted = |watch: &Stopwatch, now| watch.counted(at(now)).as_millis();
        assert_eq!(counted(&watch, 9_000), 9_000, "nobody looks");
        watch.look(at(10_000));
        assert_eq!(counted(&watch, 12_000), 12_000, "only late");
        // Also where somebody asks before it is looked at again.
        assert_eq!(counted(&watch, 70_000), 10_100);
        watch.look(at(70_000));
        assert_eq!((counted(&watch, 70_000), counted(&watch, 70_100)), (10_100, 10_200));
        // A pause is nobody's lateness.
        watch.hold(at(70_200));
        watch.look(at(70_250));
        watch.go_on(at(80_000));
        assert_eq!(counted(&watch, 83_000), 13_300);
    }
}
