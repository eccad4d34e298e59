//! Smoothed rates: steady enough to read, quick enough to follow, right for a transfer of 0.2 s and
//! of 10 hours.
use std::time::Duration;

/// How much past counts: a change shows within a few seconds, and a stall of one sample does not.
const MEMORY: Duration = Duration::from_secs(3);

/// How much past counts for the time that is left, as a part of the time it has run: what a person
/// plans by may follow a change more slowly than the rate that is looked at, and must not jump
/// where a disk writes back for some seconds.
const STEADY_PART: u32 = 4;

/// The most past that counts for it: what has changed for a minute has changed.
const STEADY_MAX: Duration = Duration::from_secs(60);

/// How much past counts for bytes that were there already: a transfer that is resumed passes all
/// of them at its beginning, and then sends the rest.
const THERE: Duration = Duration::from_secs(1);

/// For so long after a lost connection, what is found there does not count: the receiver says at
/// once what it had taken before, and that is no rate.
const FOUND_AT_ONCE: Duration = Duration::from_secs(2);

/// Before that, no time is shown if most bytes were there already.
const SETTLED: Duration = Duration::from_secs(5);

/// Samples closer together than this are joined: shorter ones are noise.
const SAMPLE_MIN: Duration = Duration::from_millis(80);

/// Files below so many bytes cost by number rather than by size.
const SMALL: u64 = 64 * 1024;

/// What has been done by some moment.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Amounts {
    /// Bytes that are there.
    pub(crate) bytes: u64,
    /// Those of them that were sent.
    pub(crate) moved: u64,
    /// Entries that are there.
    pub(crate) entries: u64,
}

/// An exponentially weighted rate of bytes and entries.
#[derive(Debug, Default)]
pub(crate) struct Rate {
    at: Duration,
    done: Amounts,
    /// Of what is sent.
    now: PerSecond,
    /// The same with a longer memory, for the time that is left.
    steady: PerSecond,
    /// Of bytes that were there.
    there: f64,
    /// When it went on last.
    went_on_at: Option<Duration>,
    /// When something was done last, and what: a connection that is silent before it is lost says
    /// nothing about how fast it goes.
    moved_at: Duration,
    moved: Amounts,
}

#[derive(Debug, Default)]
struct PerSecond {
    bytes: f64,
    entries: f64,
}

impl PerSecond {
    /// Takes in what it was for `step`, at a moment since the beginning: what is older than
    /// `memory` fades.
    fn blend(&mut self, memory: Duration, step: Duration, at: Duration, bytes: f64, entries: f64) {
        let weight = weight(memory, step, at);
        self.bytes += weight * (bytes - self.bytes);
        self.entries += weight * (entries - self.entries);
    }
}

/// Until `memory` has passed, the average since the beginning is the better guess.
fn weight(memory: Duration, step: Duration, at: Duration) -> f64 {
    let weight = 1.0 - (-step.as_secs_f64() / memory.min(at).as_secs_f64()).exp().clamp(0.0, 1.0);
    if step == at { 1.0 } else { weight }
}

impl Rate {
    /// Books the counts at a moment since the beginning.
    pub(crate) fn sample(&mut self, at: Duration, done: Amounts) {
        let step = at.saturating_sub(self.at);
        if step < SAMPLE_MIN {
            return;
        }
        let per_s = |now: u64, before: u64, step: Duration| now.saturating_sub(before) as f64 / step.as_secs_f64();
        let moved = per_s(done.moved, self.done.moved, step);
        self.now.blend(MEMORY, step, at, moved, per_s(done.entries, self.done.entries, step));
        (self.at, self.done) = (at, done);
        if (done.bytes, done.entries) == (self.moved.bytes, self.moved.entries) {
            return;
        }
        let step = at.saturating_sub(self.moved_at);
        let memory = (at / STEADY_PART).clamp(MEMORY, STEADY_MAX);
        let moved = per_s(done.moved, self.moved.moved, step);
        self.steady.blend(memory, step, at, moved, per_s(done.entries, self.moved.entries, step));
        if self.went_on_at.is_none_or(|since| at.saturating_sub(since) > FOUND_AT_ONCE) {
            let there = (per_s(done.bytes, self.moved.bytes, step) - moved).max(0.0);
            self.there += weight(THERE, step, at) * (there - self.there);
        }
        (self.moved_at, self.moved) = (at, done);
    }

    /// Counts from here on after a time in which nothing could move: that time says nothing about
    /// how fast it goes.
    pub(crate) fn go_on(&mut self, at: Duration, done: Amounts) {
        (self.at, self.done) = (at, done);
        (self.moved_at, self.moved) = (at, done);
        (self.went_on_at, self.there) = (Some(at), 0.0);
    }

    /// Of what is sent, in whole bytes.
    pub(crate) fn bytes_per_s(&self) -> u64 {
        whole(self.now.bytes)
    }

    /// In whole entries.
    pub(crate) fn entries_per_s(&self) -> u64 {
        whole(self.now.entries)
    }

    /// Time for what is left: what its bytes say, or its number where that says longer and the
    /// files left are small, which cost by number. While a large file is under way no entry is
    /// ended for long: then their average since the beginning is the better guess. None while
    /// nothing moves, and in the first seconds of a transfer that is resumed.
    pub(crate) fn time_for(&self, bytes: u64, entries: u64) -> Option<Duration> {
        if self.at < SETTLED && self.done.bytes / 2 > self.done.moved {
            return None;
        }
        let per_s = self.steady.bytes + self.there;
        let time = |left: u64, rate: f64| match left {
            0 => Some(0.0),
            _ if rate > 0.0 => Some(left as f64 / rate),
            _ => None,
        };
        let average = if self.at.is_zero() { 0.0 } else { self.done.entries as f64 / self.at.as_secs_f64() };
        let by_number = time(entries, self.steady.entries.max(average));
        let secs = match bytes {
            0 => by_number?,
            _ if bytes / entries.max(1) < SMALL => time(bytes, per_s)?.max(by_number.unwrap_or(0.0)),
            _ => time(bytes, per_s)?,
        };
        Duration::try_from_secs_f64(secs).ok()
    }
}

/// A rate as a whole number: NaN and negative values, which JSON or a graph cannot show, become 0.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "as saturates, and that is wanted")]
fn whole(rate: f64) -> u64 {
    rate.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_that_json_cannot_carry_become_zero() {
        assert_eq!([f64::NAN, -1.0, 0.4, 2.5e9].map(whole), [0, 0, 0, 2_500_000_000]);
        assert_eq!(whole(f64::INFINITY), u64::MAX);
    }

    /// All of it sent.
    fn sent(bytes: u64, entries: u64) -> Amounts {
        Amounts { bytes, moved: bytes, entries }
    }

    #[test]
    fn bytes_that_were_there_shorten_the_time_left_and_are_no_rate() {
        let mut rate = Rate::default();
        for tenth in 1..=50u64 {
            let done = Amounts { bytes: 5_000_000 * tenth, moved: 1_000_000 * tenth, entries: 0 };
            rate.sample(Duration::from_millis(100 * tenth), done);
        }
        assert!(rate.bytes_per_s().abs_diff(10_000_000) <= 1, "{}", rate.bytes_per_s());
        assert_eq!(rate.time_for(100_000_000, 0).unwrap().as_secs(), 2);
    }

    #[test]
    fn time_left_of_a_resumed_transfer_is_that_of_what_is_sent() {
        let mut rate = Rate::default();
        for tenth in 1..=60u64 {
            // 300 MB are there after a second, then 4 MB a second are sent.
            let (there, moved) = (30_000_000 * tenth.min(10), 400_000 * tenth.saturating_sub(10));
            rate.sample(Duration::from_millis(100 * tenth), Amounts { bytes: there + moved, moved, entries: 0 });
            let told = rate.time_for(1_000_000_000, 1).map(|time| time.as_secs());
            assert!(told.is_none_or(|secs| (100..=250).contains(&secs)), "{told:?} after {tenth} tenths");
        }
        assert!(rate.time_for(1_000_000_000, 1).is_some());
    }

    #[test]
    fn silence_before_a_lost_connection_does_not_lengthen_the_time_left() {
        let mut rate = Rate::default();
        for tenth in 1..=200u64 {
            rate.sample(Duration::from_millis(100 * tenth), sent(1_000_000 * tenth, 0));
        }
        for tenth in 201..=500 {
            rate.sample(Duration::from_millis(100 * tenth), sent(200_000_000, 0));
        }
        rate.go_on(Duration::from_secs(60), sent(200_000_000, 0));
        rate.sample(Duration::from_millis(60_100), sent(201_000_000, 0));
        assert_eq!(rate.time_for(1_000_000_000, 1).unwrap().as_secs(), 100);
    }

    #[test]
    fn follows_a_steady_rate_from_the_first_sample() {
        let mut rate = Rate::default();
        for tenth in 1..=50u64 {
            rate.sample(Duration::from_millis(100 * tenth), sent(1_000_000 * tenth, 10 * tenth));
            assert!(rate.bytes_per_s().abs_diff(10_000_000) <= 1, "{}", rate.bytes_per_s());
        }
        assert_eq!(rate.time_for(20_000_000, 0).unwrap().as_secs(), 2);
        assert_eq!(rate.time_for(0, 1_000).unwrap().as_secs(), 10);
    }

    #[test]
    fn does_not_jump_when_one_sample_stalls() {
        let mut rate = Rate::default();
        for tenth in 1..=100u64 {
            rate.sample(Duration::from_millis(100 * tenth), sent(1_000_000 * tenth, 0));
        }
        rate.sample(Duration::from_millis(10_100), sent(100_000_000, 0));
        assert!(rate.bytes_per_s() > 9_000_000);
        assert!(rate.time_for(0, 1).is_none(), "entries do not move, so nobody knows");
    }

    #[test]
    fn the_time_left_hardly_changes_when_a_disk_stalls_and_follows_what_stays() {
        let mut rate = Rate::default();
        let moved = |rate: &mut Rate, tenths: std::ops::Range<u64>, bytes: &mut u64, step: u64| {
            for tenth in tenths {
                *bytes += step;
                rate.sample(Duration::from_millis(100 * tenth), sent(*bytes, 0));
            }
        };
        let left = |rate: &Rate| rate.time_for(10_000_000_000, 1).unwrap().as_secs_f64();
        let mut bytes = 0;
        moved(&mut rate, 1..601, &mut bytes, 1_000_000);
        let before = left(&rate);
        moved(&mut rate, 601..651, &mut bytes, 0);
        assert!(left(&rate) < 1.5 * before, "{} s after {before} s", left(&rate));
        assert!(rate.bytes_per_s() < 2_000_000, "the rate that is looked at shows it");
        // Half as fast for good.
        moved(&mut rate, 651..1_651, &mut bytes, 500_000);
        assert!((left(&rate) / before - 2.0).abs() < 0.1, "{} s after {before} s", left(&rate));
    }

    #[test]
    fn the_time_left_is_the_same_after_a_lost_connection() {
        let mut rate = Rate::default();
        for tenth in 1..=200u64 {
            rate.sample(Duration::from_millis(100 * tenth), sent(1_000_000 * tenth, 0));
        }
        let before = rate.time_for(10_000_000_000, 1).unwrap();
        rate.go_on(Duration::from_secs(50), sent(200_000_000, 0));
        rate.sample(Duration::from_millis(50_100), sent(201_000_000, 0));
        let after = rate.time_for(10_000_000_000, 1).unwrap();
        assert!(after.abs_diff(before) < before / 100, "{after:?} after {before:?}");
        assert!(rate.bytes_per_s() > 9_900_000);
    }

    #[test]
    fn what_a_receiver_had_taken_before_it_was_killed_does_not_shorten_the_time_left() {
        let mut rate = Rate::default();
        for tenth in 1..=80u64 {
            rate.sample(Duration::from_millis(100 * tenth), sent(150_000 * tenth, 0));
        }
        // It had taken 2 MB more than it could say.
        let at = |bytes, moved| Amounts { bytes, moved, entries: 0 };
        rate.go_on(Duration::from_secs(10), at(12_000_000, 12_000_000));
        for tenth in 1..=80u64 {
            let moved = 12_000_000 + 150_000 * tenth;
            rate.sample(Duration::from_millis(10_000 + 100 * tenth), at(2_000_000 + moved, moved));
            let told = rate.time_for(15_000_000, 1).unwrap().as_secs_f64();
            assert!((9.5..=10.5).contains(&told), "{told} s after {tenth} tenths");
        }
    }

    #[test]
    fn the_time_left_of_a_large_file_is_that_of_its_bytes() {
        let mut rate = Rate::default();
        for tenth in 1..=50u64 {
            rate.sample(Duration::from_millis(100 * tenth), sent(1_000_000 * tenth, 0));
        }
        let left = |rate: &Rate, bytes, entries| rate.time_for(bytes, entries).unwrap().as_secs_f64().round();
        assert_eq!(left(&rate, 30_000_000, 2), 3.0);
        // Behind many small ones, whose rate has gone down to nothing for a minute.
        let mut rate = Rate::default();
        for tenth in 1..=100u64 {
            rate.sample(Duration::from_millis(100 * tenth), sent(4_096_000 * tenth, 1_000 * tenth));
        }
        for tenth in 101..=700u64 {
            rate.sample(Duration::from_millis(100 * tenth), sent(409_600_000 + 10_000_000 * (tenth - 100), 100_000));
        }
        assert_eq!(left(&rate, 500_000_000, 1), 5.0);
        assert_eq!(left(&rate, 1_000_000_000, 10_000), 10.0, "they are large");
        assert_eq!(left(&rate, 1_000, 100_000), 70.0, "they are small");
    }
}
