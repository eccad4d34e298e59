//! The bottleneck of a transfer: a clock for every lane of this end, and a gauge that names the
//! limiting stage from the clocks of both ends.
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use ringway_model::{Bottleneck, StageTimes};
use ringway_wire::control::{ReceiverTimes, SenderTimes};
use rustix::time::{ClockId, clock_gettime};

/// The gauge compares samples over this duration, so it names a change about a second later.
const SAMPLE_WINDOW: Duration = Duration::from_secs(1);

/// The gauge names nothing before it has sampled for this long: lanes open and buffers fill.
const SAMPLED_MIN: Duration = Duration::from_millis(300);

/// Samples that are kept: those of a window at the rate of ticks, and some more for early ones.
const SAMPLES_MAX: usize = 16;

/// An end that works this share of its time does not wait for the other. The rest is due to buffers
/// that run full or empty for a moment.
const BUSY_MIN: f64 = 0.8;

/// A sender that waits this share of its time for its rate limit is limited by it.
const LIMITED_MIN: f64 = 0.1;

/// Another stage must exceed the named one by this share, so that the name does not flicker
/// between two similar stages.
const HYSTERESIS: f64 = 0.05;

/// The activity of a lane's thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// Waiting for the walk.
    Finding,
    /// Reading files, or writing them.
    Files,
    /// Sending or receiving. The processor time in it is crypto and copying; the rest is waiting
    /// for the network.
    Wire,
    /// Waiting for the rate limit.
    Limited,
}

/// Time of one lane, or of several together.
#[derive(Debug, Clone, Copy, Default)]
struct Spent {
    finding: Duration,
    files: Duration,
    wire_working: Duration,
    wire_waiting: Duration,
    limited: Duration,
}

impl Spent {
    /// Adds a lap, of which the thread has spent `working` on a processor.
    fn add(&mut self, activity: Activity, lap: Duration, working: Duration) {
        match activity {
            Activity::Finding => self.finding += lap,
            Activity::Files => self.files += lap,
            Activity::Limited => self.limited += lap,
            Activity::Wire => {
                // The two clocks are read one after the other, and on some machines the kernel's
                // ticks are coarser.
                let working = working.min(lap);
                self.wire_working += working;
                self.wire_waiting += lap - working;
            }
        }
    }
}

impl std::ops::AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        self.finding += other.finding;
        self.files += other.files;
        self.wire_working += other.wire_working;
        self.wire_waiting += other.wire_waiting;
        self.limited += other.limited;
    }
}

/// One lane's clock; clones are the same clock. The lane's own thread advances it a few times per
/// frame, and other threads read it.
#[derive(Clone, Default)]
pub struct LaneClock(Arc<Mutex<Laps>>);

#[derive(Default)]
struct Laps {
    spent: Spent,
    /// The thread's activity, when it began, and the thread's processor time then; `None` before
    /// the lane's beginning and after its end.
    now: Option<(Activity, Instant, Duration)>,
}

impl Laps {
    fn end(&mut self, at: Instant, processor: Duration) {
        if let Some((activity, since, before)) = self.now.take() {
            self.spent.add(activity, at.saturating_duration_since(since), processor.saturating_sub(before));
        }
    }
}

impl LaneClock {
    /// The calling thread, which must be the lane's own, changes its activity.
    pub fn enter(&self, activity: Activity) {
        let (now, processor) = (Instant::now(), processor_time());
        let mut laps = self.0.lock();
        laps.end(now, processor);
        laps.now = Some((activity, now, processor));
    }

    /// The lane has ended.
    pub(crate) fn stop(&self) {
        self.0.lock().end(Instant::now(), processor_time());
    }

    fn spent(&self, now: Instant) -> Spent {
        let laps = self.0.lock();
        let mut spent = laps.spent;
        if let Some((activity, since, _)) = laps.now {
            // A call that has not returned: if it takes long enough to matter here, it waits.
            spent.add(activity, now.saturating_duration_since(since), Duration::ZERO);
        }
        spent
    }
}

/// The calling thread's processor time.
pub(crate) fn processor_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// The clocks of one end's lanes. Clones are the same ones.
#[derive(Clone, Default)]
pub struct Clocks(Arc<Mutex<Vec<LaneClock>>>);

impl Clocks {
    /// A clock for one more lane.
    pub fn lane(&self) -> LaneClock {
        let clock = LaneClock::default();
        self.0.lock().push(clock.clone());
        clock
    }

    fn spent(&self) -> Spent {
        let mut all = Spent::default();
        let now = Instant::now();
        self.0.lock().iter().for_each(|lane| all += lane.spent(now));
        all
    }

    /// The sums for a sender.
    pub fn of_sender(&self) -> SenderTimes {
        let spent = self.spent();
        SenderTimes {
            finding: spent.finding.into(),
            reading: spent.files.into(),
            encrypting: spent.wire_working.into(),
            sending: spent.wire_waiting.into(),
            limited: spent.limited.into(),
        }
    }

    /// The sums for a receiver.
    pub fn of_receiver(&self) -> ReceiverTimes {
        let spent = self.spent();
        ReceiverTimes {
            receiving: spent.wire_waiting.into(),
            decrypting: spent.wire_working.into(),
            writing: spent.files.into(),
        }
    }
}

/// Follows a transfer's clocks, those of this end and the reported ones of the other end, and names
/// the bottleneck.
#[derive(Default)]
pub struct Gauge {
    sender: Option<SenderTimes>,
    receiver: Option<ReceiverTimes>,
    /// The sums of both ends before the connection was lost.
    before: Option<StageTimes>,
    samples: VecDeque<(Duration, StageTimes)>,
    bottleneck: Option<Bottleneck>,
    /// For how long each bottleneck was named.
    named_for: [Duration; Bottleneck::ALL.len()],
}

impl Gauge {
    /// Sets the sender's present sums.
    pub fn sender(&mut self, times: SenderTimes) {
        self.sender = Some(times);
    }

    /// Sets the receiver's present sums.
    pub fn receiver(&mut self, times: ReceiverTimes) {
        self.receiver = Some(times);
    }

    /// The sender's last report of its clocks, in this session.
    pub fn sender_reported(&self) -> SenderTimes {
        self.sender.unwrap_or_default()
    }

    /// The receiver's last report of its clocks, in this session.
    pub fn receiver_reported(&self) -> ReceiverTimes {
        self.receiver.unwrap_or_default()
    }

    /// Both ends' clocks start again with a new session.
    pub fn restart(&mut self) {
        self.before = self.times();
        (self.sender, self.receiver, self.bottleneck) = (None, None, None);
        self.samples.clear();
    }

    /// Takes a sample, at a time since the beginning, and names the bottleneck again. `stalled_for`
    /// is how long nothing has moved, if that is long.
    pub fn sample(&mut self, at: Duration, stalled_for: Option<Duration>) {
        let Some(times) = self.reported() else { return };
        while self.samples.len() >= SAMPLES_MAX
            || self.samples.get(1).is_some_and(|(next, _)| next.saturating_add(SAMPLE_WINDOW) <= at)
        {
            self.samples.pop_front();
        }
        let since_last = self.samples.back().map_or(Duration::ZERO, |(last, _)| at.saturating_sub(*last));
        self.samples.push_back((at, times));
        let long_enough = |(begin, _): &&(Duration, StageTimes)| begin.saturating_add(SAMPLED_MIN) <= at;
        let Some((_, before)) = self.samples.front().filter(long_enough) else { return };
        let named = match (bottleneck_of(&times.since(before), self.bottleneck), stalled_for) {
            (Bottleneck::Network, Some(still)) => {
                self.stalled(still);
                Bottleneck::Stalled
            }
            (named, _) => named,
        };
        self.named_for[named as usize] += since_last;
        self.bottleneck = Some(named);
    }

    /// Subtracts time that was taken for the network's before it was known that nothing moved.
    fn stalled(&mut self, still: Duration) {
        if self.bottleneck == Some(Bottleneck::Stalled) {
            return;
        }
        let network = &mut self.named_for[Bottleneck::Network as usize];
        let taken = still.min(*network);
        *network -= taken;
        self.named_for[Bottleneck::Stalled as usize] += taken;
    }

    /// The present bottleneck.
    pub fn bottleneck(&self) -> Option<Bottleneck> {
        self.bottleneck
    }

    /// The bottleneck that was named for the longest time.
    pub fn longest(&self) -> Option<Bottleneck> {
        let longest = Bottleneck::ALL.into_iter().max_by_key(|one| self.named_for[*one as usize]);
        longest.filter(|one| !self.named_for[*one as usize].is_zero())
    }

    /// The sums of all times, as far as both ends have reported them.
    pub fn times(&self) -> Option<StageTimes> {
        match (self.before, self.reported()) {
            (Some(before), Some(reported)) => Some(reported.and(&before)),
            (before, reported) => reported.or(before),
        }
    }

    /// The sums of both ends since the connection began.
    fn reported(&self) -> Option<StageTimes> {
        let (sender, receiver) = (self.sender?, self.receiver?);
        Some(StageTimes {
            finding: sender.finding.into(),
            reading: sender.reading.into(),
            encrypting: sender.encrypting.into(),
            sending: sender.sending.into(),
            limited: sender.limited.into(),
            receiving: receiver.receiving.into(),
            decrypting: receiver.decrypting.into(),
            writing: receiver.writing.into(),
        })
    }
}

/// The bottleneck of a transfer with these times, after `before` was named.
///
/// The stages are a chain with buffers between them, so a stage that works all the time keeps the
/// others waiting. An end that hardly waits for the other is the bottleneck, by the stage that
/// takes most of its time. If both ends are like that, the larger of all their stages is named. If
/// both wait, it is the network between them. An end that has not reported for a whole window
/// counts as waiting.
fn bottleneck_of(times: &StageTimes, before: Option<Bottleneck>) -> Bottleneck {
    // A stall counts as the network until an end works again.
    let before = before.map(|before| if before == Bottleneck::Stalled { Bottleneck::Network } else { before });
    let stays = |stage: Bottleneck| if before == Some(stage) { HYSTERESIS } else { 0.0 };
    let sender = [times.finding, times.reading, times.encrypting, times.sending, times.limited];
    let receiver = [times.receiving, times.decrypting, times.writing];
    let [finding, reading, encrypting, _, limited] = shares(sender);
    let [_, decrypting, writing] = shares(receiver);
    if limited + stays(Bottleneck::Limit) >= LIMITED_MIN {
        return Bottleneck::Limit;
    }
    let sender = [(Bottleneck::Finding, finding), (Bottleneck::Reading, reading), (Bottleneck::Encrypting, encrypting)];
    let receiver = [(Bottleneck::Decrypting, decrypting), (Bottleneck::Writing, writing)];
    let is_full = |stages: &[(Bottleneck, f64)]| {
        let working: f64 = stages.iter().map(|(_, share)| share).sum();
        let named: f64 = stages.iter().map(|(stage, _)| stays(*stage)).sum();
        working + named - stays(Bottleneck::Network) >= BUSY_MIN
    };
    [&sender[..], &receiver[..]]
        .into_iter()
        .filter(|stages| is_full(stages))
        .flatten()
        .map(|(stage, share)| (*stage, share + stays(*stage)))
        .max_by(|(_, a), (_, b)| a.total_cmp(b))
        .map_or(Bottleneck::Network, |(stage, _)| stage)
}

/// Each part's share of the sum; all zero if the sum is.
fn shares<const N: usize>(times: [Duration; N]) -> [f64; N] {
    let times = times.map(|time| time.as_secs_f64());
    let all: f64 = times.iter().sum();
    times.map(|time| if all > 0.0 { time / all } else { 0.0 })
}
