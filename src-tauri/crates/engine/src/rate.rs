//! Smoothed rates: steady enough to read, quick enough to follow, right for a transfer of 0.2 s and of 10 hours.
use std::time::Duration;

/// How much past counts: a change shows within a few seconds, and a stall of one sample does not.
const MEMORY: Duration = Duration::from_secs(3);

/// Samples closer together than this are joined: shorter ones are noise.
const SAMPLE_MIN: Duration = Duration::from_millis(80);

/// Files below so many bytes cost by number rather than by size.
const SMALL: u64 = 64 * 1024;

/// An exponentially weighted rate of bytes and entries.
#[derive(Debug, Default)]
pub(crate) struct Rate {
    at: Duration,
    bytes: u64,
    entries: u64,
    bytes_per_s: f64,
    entries_per_s: f64,
}

impl Rate {
    /// Books the counts at a moment since the beginning.
    pub(crate) fn sample(&mut self, at: Duration, bytes: u64, entries: u64) {
        let step = at.saturating_sub(self.at);
        if step < SAMPLE_MIN {
            return;
        }
        let secs = step.as_secs_f64();
        // Until MEMORY has passed, the average since the beginning is the better guess.
        let weight = 1.0 - (-secs / MEMORY.min(at).as_secs_f64()).exp().clamp(0.0, 1.0);
        let weight = if self.at.is_zero() { 1.0 } else { weight };
        let blend = |old: f64, now: f64| old + weight * (now - old);
        self.bytes_per_s = blend(self.bytes_per_s, bytes.saturating_sub(self.bytes) as f64 / secs);
        self.entries_per_s = blend(self.entries_per_s, entries.saturating_sub(self.entries) as f64 / secs);
        (self.at, self.bytes, self.entries) = (at, bytes, entries);
    }

    pub(crate) fn bytes_per_s(&self) -> f64 {
        self.bytes_per_s
    }

    pub(crate) fn entries_per_s(&self) -> f64 {
        self.entries_per_s
    }

    /// Time for what is left: what its bytes say, or its number where that says longer and the files left are small, which cost by number. While
    /// a large file is under way no entry is ended for long: then their average since the beginning is the better guess. None while nothing moves.
    pub(crate) fn time_for(&self, bytes: u64, entries: u64) -> Option<Duration> {
        let time = |left: u64, rate: f64| match left {
            0 => Some(0.0),
            _ if rate > 0.0 => Some(left as f64 / rate),
            _ => None,
        };
        let average = if self.at.is_zero() { 0.0 } else { self.entries as f64 / self.at.as_secs_f64() };
        let by_number = time(entries, self.entries_per_s.max(average));
        let secs = match bytes {
            0 => by_number?,
            _ if bytes / entries.max(1) < SMALL => time(bytes, self.bytes_per_s)?.max(by_number.unwrap_or(0.0)),
            _ => time(bytes, self.bytes_per_s)?,
        };
        Duration::try_from_secs_f64(secs).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_a_steady_rate_from_the_first_sample() {
        let mut rate = Rate::default();
        for tenth in 1..=50u64 {
            rate.sample(Duration::from_millis(100 * tenth), 1_000_000 * tenth, 10 * tenth);
            assert!((rate.bytes_per_s() - 1e7).abs() < 1.0, "{}", rate.bytes_per_s());
        }
        assert_eq!(rate.time_for(20_000_000, 0).unwrap().as_secs(), 2);
        assert_eq!(rate.time_for(0, 1_000).unwrap().as_secs(), 10);
    }

    #[test]
    fn does_not_jump_when_one_sample_stalls() {
        let mut rate = Rate::default();
        for tenth in 1..=100u64 {
            rate.sample(Duration::from_millis(100 * tenth), 1_000_000 * tenth, 0);
        }
        rate.sample(Duration::from_millis(10_100), 100_000_000, 0);
        assert!(rate.bytes_per_s() > 0.9e7);
        assert!(rate.time_for(0, 1).is_none(), "entries do not move, so nobody knows");
    }

    #[test]
    fn the_time_left_of_a_large_file_is_that_of_its_bytes() {
        let mut rate = Rate::default();
        for tenth in 1..=50u64 {
            rate.sample(Duration::from_millis(100 * tenth), 1_000_000 * tenth, 0);
        }
        let left = |rate: &Rate, bytes, entries| rate.time_for(bytes, entries).unwrap().as_secs_f64().round();
        assert_eq!(left(&rate, 30_000_000, 2), 3.0);
        // Behind many small ones, whose rate has gone down to nothing for a minute.
        let mut rate = Rate::default();
        for tenth in 1..=100u64 {
            rate.sample(Duration::from_millis(100 * tenth), 4_096_000 * tenth, 1_000 * tenth);
        }
        for tenth in 101..=700u64 {
            rate.sample(Duration::from_millis(100 * tenth), 409_600_000 + 10_000_000 * (tenth - 100), 100_000);
        }
        assert_eq!(left(&rate, 500_000_000, 1), 5.0);
        assert_eq!(left(&rate, 1_000_000_000, 10_000), 10.0, "they are large");
        assert_eq!(left(&rate, 1_000, 100_000), 70.0, "they are small");
    }
}
