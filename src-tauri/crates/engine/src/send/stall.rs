//! When an end that nobody watches gives the other one up that is there and takes or sends nothing:
//! by what this end sees for itself, and not by what is claimed.
use std::time::{Duration, Instant};

use ringway_model::Fault;
use ringway_wire::control::{Micros, ReceiverTimes, SenderTimes};

use crate::limits::{MOVING_BYTES_PER_S, WORKING_BYTES_PER_S, WORKING_TIME_MIN};

/// How much one look may add: a process that was stopped (SIGSTOP, sleep) meanwhile has waited for
/// nobody.
const LOOK_MAX: Duration = Duration::from_secs(2);

/// What is seen at a look.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seen {
    /// Bytes that have moved on all lanes so far.
    moved: u64,
    /// How long this end's lanes have waited for the other end so far, summed over them.
    waited: Duration,
    /// How long the other end's lanes have been at each kind of work of theirs, as it says.
    worked: [Duration; 4],
    /// Everything was handed over: the receiver finishes, synchronises and reads back.
    is_handed_over: bool,
    /// Bytes of contents that the transfer has.
    bytes: u64,
}

impl Seen {
    /// By a sender, of bytes that the receiver's kernel has acknowledged.
    pub(crate) fn by_sender(acknowledged: u64, here: SenderTimes, there: ReceiverTimes) -> Self {
        let worked = [there.writing, there.decrypting, Micros::default(), Micros::default()];
        Self { moved: acknowledged, waited: here.sending.into(), worked: worked.map(Into::into), ..Self::default() }
    }

    /// By a receiver, of bytes that have arrived.
    pub(crate) fn by_receiver(arrived: u64, here: ReceiverTimes, there: SenderTimes) -> Self {
        let worked = [there.finding, there.reading, there.encrypting, there.limited];
        Self { moved: arrived, waited: here.receiving.into(), worked: worked.map(Into::into), ..Self::default() }
    }

    /// The same of a transfer with so many bytes, all of which were handed over or not.
    pub(crate) fn of(self, bytes: u64, is_handed_over: bool) -> Self {
        Self { bytes, is_handed_over, ..self }
    }
}

/// How long nothing has moved.
pub(crate) struct Stall {
    limit: Option<Duration>,
    looked: Instant,
    seen: Seen,
    /// While the other end says nothing of any work.
    idle: Duration,
    /// While it says that it works, or has everything.
    working: Duration,
    /// What had moved when both began.
    moved: u64,
}

impl Stall {
    /// With none for `limit` only the other end's own work is bounded.
    pub(crate) fn new(limit: Option<Duration>, now: Instant) -> Self {
        Self { limit, looked: now, seen: Seen::default(), idle: Duration::ZERO, working: Duration::ZERO, moved: 0 }
    }

    /// When it was looked last.
    pub(crate) fn looked(&self) -> Instant {
        self.looked
    }

    /// Books what passed since the last look.
    ///
    /// # Errors
    /// [`Fault::Stalled`] once nothing has moved for too long.
    pub(crate) fn look(&mut self, now: Instant, seen: Seen) -> Result<(), Fault> {
        let passed = now.saturating_duration_since(self.looked).min(LOOK_MAX);
        let before = std::mem::replace(&mut self.seen, seen);
        self.looked = now;
        if seen.is_handed_over != before.is_handed_over {
            (self.idle, self.working) = (Duration::ZERO, Duration::ZERO);
        }
        // A trickle is no progress: what is taken has to make up for the time that was waited.
        let waited = self.idle.saturating_add(self.working).saturating_add(passed);
        let least = waited.as_secs().saturating_mul(MOVING_BYTES_PER_S).max(1);
        if seen.moved.saturating_sub(self.moved) >= least && !seen.is_handed_over {
            self.moved = seen.moved;
            (self.idle, self.working) = (Duration::ZERO, Duration::ZERO);
            return Ok(());
        }
        let grew = |now: Duration, before| now.saturating_sub(before) >= passed / 2;
        let is_at_work = seen.worked.into_iter().zip(before.worked).any(|(now, before)| grew(now, before));
        if seen.is_handed_over || is_at_work {
            self.working = self.working.saturating_add(passed);
        } else if grew(seen.waited, before.waited) {
            self.idle = self.idle.saturating_add(passed);
        }
        // Else this end works, or is held to its limit: nobody else keeps it waiting.
        let stalled = |seconds: Duration| Err(Fault::Stalled { seconds: seconds.as_secs() });
        if self.limit.is_some_and(|limit| self.idle >= limit) {
            return stalled(self.idle);
        }
        if self.working >= working_time_max(seen.bytes) { stalled(self.working) } else { Ok(()) }
    }
}

fn working_time_max(bytes: u64) -> Duration {
    WORKING_TIME_MIN.saturating_add(Duration::from_secs(bytes / WORKING_BYTES_PER_S))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    fn micros(seconds: u64) -> Micros {
        Duration::from_secs(seconds).into()
    }

    /// Looks once a second; the second at which it is given up.
    fn given_up(limit: Option<Duration>, seconds: u64, seen: impl Fn(u64) -> Seen) -> Option<u64> {
        let begin = Instant::now();
        let mut stall = Stall::new(limit, begin);
        (1..=seconds).find(|second| stall.look(begin + Duration::from_secs(*second), seen(*second)).is_err())
    }

    fn sending(second: u64) -> Seen {
        let here = SenderTimes { sending: micros(second), ..SenderTimes::default() };
        Seen::by_sender(7_000, here, ReceiverTimes::default())
    }

    fn sending_to_a_disk(second: u64) -> Seen {
        let here = SenderTimes { sending: micros(second), ..SenderTimes::default() };
        let there = ReceiverTimes { writing: micros(second), ..ReceiverTimes::default() };
        Seen::by_sender(7_000, here, there)
    }

    #[test]
    fn receiver_that_takes_nothing_and_does_nothing_is_given_up() {
        assert_eq!(given_up(Some(LIMIT), 300, sending), Some(61), "the first look sees what was acknowledged before");
        assert_eq!(given_up(None, 300, sending), None);
    }

    #[test]
    fn what_the_kernel_there_acknowledges_counts_as_moving() {
        let seen = |second| Seen { moved: second / 50 * 50 * MOVING_BYTES_PER_S, ..sending(second) };
        assert_eq!(given_up(Some(LIMIT), 1_000, seen), None);
    }

    #[test]
    fn trickle_does_not_count_as_moving() {
        let trickles: [fn(u64) -> u64; 3] =
            [|second| second, |second| second / 50 * 1_000, |second| second * (MOVING_BYTES_PER_S - 1)];
        for acknowledged in trickles {
            let seen = |second| Seen { moved: acknowledged(second), ..sending(second) };
            assert!(given_up(Some(LIMIT), 200, seen).is_some());
            let seen = |second| Seen { moved: acknowledged(second), ..sending_to_a_disk(second) };
            assert!(
                given_up(Some(LIMIT), 2 * WORKING_TIME_MIN.as_secs(), seen).is_some(),
                "nor while it says that it works"
            );
        }
    }

    #[test]
    fn receiver_that_waits_for_its_disk_is_given_hours_and_not_for_ever() {
        assert_eq!(given_up(Some(LIMIT), 7_000, sending_to_a_disk), None);
        let gives_up = WORKING_TIME_MIN.as_secs() + 1;
        assert_eq!(given_up(Some(LIMIT), gives_up + 1, sending_to_a_disk), Some(gives_up));
    }

    #[test]
    fn receiver_that_finishes_is_given_time_for_all_that_was_sent() {
        let seen = |bytes| move |second| Seen { is_handed_over: true, bytes, ..sending(second) };
        let least = WORKING_TIME_MIN.as_secs();
        assert_eq!(given_up(Some(LIMIT), least + 1, seen(0)), Some(least));
        assert_eq!(given_up(Some(LIMIT), least + 2_000, seen(1_000 * WORKING_BYTES_PER_S)), Some(least + 1_000));
    }

    #[test]
    fn acknowledgements_after_everything_was_handed_over_are_no_progress() {
        let seen = |second| Seen { is_handed_over: true, moved: second, ..sending(second) };
        assert!(given_up(Some(LIMIT), WORKING_TIME_MIN.as_secs() + 1, seen).is_some());
    }

    #[test]
    fn sender_that_reads_searches_or_keeps_to_its_limit_waits_for_nobody() {
        let at: [fn(u64) -> SenderTimes; 3] = [
            |second| SenderTimes { reading: micros(second), ..SenderTimes::default() },
            |second| SenderTimes { finding: micros(second), ..SenderTimes::default() },
            |second| SenderTimes { limited: micros(second), ..SenderTimes::default() },
        ];
        for here in at {
            let seen = |second| Seen::by_sender(0, here(second), ReceiverTimes::default());
            assert_eq!(given_up(Some(LIMIT), 300, seen), None);
        }
    }

    #[test]
    fn receiver_gives_up_a_sender_that_neither_sends_nor_works() {
        let here = |second| ReceiverTimes { receiving: micros(second), ..ReceiverTimes::default() };
        let none = |second| Seen::by_receiver(7_000, here(second), SenderTimes::default());
        assert_eq!(given_up(Some(LIMIT), 300, none), Some(61));
        let at: [fn(u64) -> SenderTimes; 4] = [
            |second| SenderTimes { finding: micros(second), ..SenderTimes::default() },
            |second| SenderTimes { reading: micros(second), ..SenderTimes::default() },
            |second| SenderTimes { encrypting: micros(second), ..SenderTimes::default() },
            |second| SenderTimes { limited: micros(second), ..SenderTimes::default() },
        ];
        for there in at {
            let seen = |second| Seen::by_receiver(0, here(second), there(second));
            assert_eq!(given_up(Some(LIMIT), 300, seen), None);
            assert!(given_up(Some(LIMIT), 2 * WORKING_TIME_MIN.as_secs(), seen).is_some(), "and not for ever");
        }
        let writing = |second| ReceiverTimes { writing: micros(second), ..ReceiverTimes::default() };
        let seen = |second| Seen::by_receiver(0, writing(second), SenderTimes::default());
        assert_eq!(given_up(Some(LIMIT), 300, seen), None, "it is busy itself");
    }

    #[test]
    fn time_in_which_the_process_was_stopped_does_not_count() {
        let begin = Instant::now();
        let mut stall = Stall::new(Some(LIMIT), begin);
        stall.look(begin, sending(0)).unwrap();
        stall.look(begin + Duration::from_secs(3_600), sending(3_600)).unwrap();
    }
}
