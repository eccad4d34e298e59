//! Smoothed rates: steady enough to read, quick enough to follow, right for a transfer of 0.2 s and of 10 hours.
use std::time::Duration;

/// How much past counts: a change shows within a few seconds, and a stall of one sample does not.
const MEMORY: Duration = Duration::from_secs(3);

/// Samples closer together than this are joined: shorter ones are noise.
const SAMPLE_MIN: Duration = Duration::from_millis(80);

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

    /// Time for what is left: the longer of what bytes and entries say, for small files cost by number. None while nothing moves.
    pub(crate) fn time_for(&self, bytes: u64, entries: u64) -> Option<Duration> {
        let time = |left: u64, rate: f64| match left {
            0 => Some(0.0),
            _ if rate > 0.0 => Some(left as f64 / rate),
            _ => None,
        };
        let secs = time(bytes, self.bytes_per_s)?.max(time(entries, self.entries_per_s)?);
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
        assert!(rate.time_for(1, 1).is_none(), "entries do not move, so nobody knows");
    }
}
