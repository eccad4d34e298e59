//! Lanes on which nothing comes any more although their session lives: something between the two
//! holds them, and nobody's work. Who works, at either end, is left its time.
use std::time::{Duration, Instant};

use ringway_model::StageTimes;
use ringway_wire::limits::LANE_SILENCE_MAX_MS;

/// How often it is looked: one call for each lane's socket.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Looks in a row at which nothing had come: as many as a lane may be silent for. They are counted,
/// for a process that was stopped (SIGSTOP) meanwhile has seen nothing.
const LOOKS_MAX: u32 = (LANE_SILENCE_MAX_MS / 1_000) as u32;

/// Both ends together may have been at something else for so much of that time. A lane that is kept
/// waiting by a disk, a slow source or a limit is so for all of it.
const ELSEWHERE_MAX: Duration = Duration::from_millis(LANE_SILENCE_MAX_MS / 2);

/// What was seen of a session's lanes.
pub(super) struct Silence {
    looked: Instant,
    times: Option<StageTimes>,
    looks: u32,
    elsewhere: Duration,
}

impl Silence {
    pub(super) fn new(now: Instant) -> Self {
        Self { looked: now, times: None, looks: 0, elsewhere: Duration::ZERO }
    }

    /// Whether the lanes are to be given up. `since_data` is how long ago data came on any of them,
    /// none without lanes; `times` are both ends' so far, and `is_found` says that the sender's
    /// walk is over, so that it waits for nothing to be found.
    pub(super) fn look(
        &mut self,
        now: Instant,
        since_data: impl FnOnce() -> Option<Duration>,
        times: Option<StageTimes>,
        is_found: bool,
    ) -> bool {
        let passed = now.saturating_duration_since(self.looked);
        if passed < LOOK_EVERY {
            return false;
        }
        self.looked = now;
        let since = times.map(|times| times.since(&self.times.unwrap_or_default()));
        self.times = times;
        let Some(since) = since.filter(|_| since_data().is_some_and(|since_data| since_data > passed)) else {
            (self.looks, self.elsewhere) = (0, Duration::ZERO);
            return false;
        };
        self.looks += 1;
        self.elsewhere += elsewhere(&since, is_found);
        if self.looks < LOOKS_MAX {
            return false;
        }
        let is_held = self.elsewhere < ELSEWHERE_MAX;
        (self.looks, self.elsewhere) = (0, Duration::ZERO);
        is_held
    }
}

/// What of both ends' time was neither sending nor waiting for what is sent.
fn elsewhere(times: &StageTimes, is_found: bool) -> Duration {
    let finding = if is_found { Duration::ZERO } else { times.finding };
    finding + times.reading + times.encrypting + times.limited + times.decrypting + times.writing
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: fn() -> Option<Duration> = || Some(Duration::from_secs(3600));

    /// Looks once a second for five minutes; the second at which the lanes are given up. `times`
    /// are those by then.
    fn given_up(
        since_data: fn() -> Option<Duration>,
        times: impl Fn(Duration) -> StageTimes,
        is_found: bool,
    ) -> Option<u64> {
        let begin = Instant::now();
        let mut silence = Silence::new(begin);
        (1..300).find(|second| {
            let passed = Duration::from_secs(*second);
            silence.look(begin + passed, since_data, Some(times(passed)), is_found)
        })
    }

    #[test]
    fn lanes_that_nobody_s_work_keeps_silent_are_given_up() {
        let none = |_| StageTimes::default();
        assert_eq!(given_up(QUIET, none, true), Some(30));
        let sending = |passed| StageTimes { sending: passed, receiving: passed, ..StageTimes::default() };
        assert_eq!(given_up(QUIET, sending, true), Some(30));
        let waiting = |passed| StageTimes { finding: passed, receiving: passed, ..StageTimes::default() };
        assert_eq!(given_up(QUIET, waiting, true), Some(30), "all was found, and nothing is done about it");
    }

    #[test]
    fn an_end_that_works_or_waits_for_a_rate_limit_is_not_given_up() {
        let none = StageTimes::default;
        let at: [fn(Duration) -> StageTimes; 4] = [
            |passed| StageTimes { writing: passed, ..StageTimes::default() },
            |passed| StageTimes { reading: passed, ..StageTimes::default() },
            |passed| StageTimes { limited: passed, ..StageTimes::default() },
            |passed| StageTimes { decrypting: passed / 2, encrypting: passed / 2, ..StageTimes::default() },
        ];
        for (number, times) in at.into_iter().enumerate() {
            assert_eq!(given_up(QUIET, times, true), None, "{number}");
        }
        assert_eq!(given_up(QUIET, |passed| StageTimes { finding: passed, ..none() }, false), None, "a slow walk");
    }

    #[test]
    fn a_byte_now_and_then_is_enough() {
        assert_eq!(given_up(|| Some(Duration::from_millis(900)), |_| StageTimes::default(), true), None);
        assert_eq!(given_up(|| None, |_| StageTimes::default(), true), None, "there are no lanes");
    }

    #[test]
    fn a_process_that_was_stopped_gives_nobody_up_for_it() {
        let begin = Instant::now();
        let mut silence = Silence::new(begin);
        let later = begin + Duration::from_secs(3600);
        assert!(!silence.look(later, QUIET, Some(StageTimes::default()), true));
        assert!(!silence.look(later + LOOK_EVERY, QUIET, Some(StageTimes::default()), true));
    }
}
