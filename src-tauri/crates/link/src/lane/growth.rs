//! The number of lanes of a transfer. It starts by cores and round-trip time, and grows as long as
//! more lanes raise the rate.
use std::time::Duration;

use super::LONG_LINK_FOR_LANES;

/// Rates are compared over this duration: many round trips of any link on earth.
const EPOCH: Duration = Duration::from_secs(1);

/// More lanes are added only if the last ones gained at least this factor.
const GAIN_MIN: f64 = 1.1;

/// Lanes to begin with over a long link.
const LONG_LINK_LANES: u8 = 4;

/// The number of lanes at the start, on `cores` processors over a link of that round-trip time.
///
/// A lane keeps a core busy at each end. On two cores a second lane costs more than it gains.
pub fn initial_lanes(cores: usize, round_trip: Option<Duration>) -> u8 {
    let by_cores = match cores {
        0..4 => 1,
        4..8 => 2,
        _ => 4,
    };
    match round_trip {
        Some(time) if time >= LONG_LINK_FOR_LANES => by_cores.max(LONG_LINK_LANES),
        _ => by_cores,
    }
}

/// Adds lanes while the network is a transfer's bottleneck.
#[derive(Debug)]
pub struct LaneGrowth {
    lanes: u8,
    lanes_max: u8,
    epoch: Epoch,
    /// Bytes a second before the last lanes were added.
    before: Option<f64>,
    /// Lanes were opened in this epoch. Their connections begin slowly, so its rate is no measure:
    /// compared with it, any later one looks like a gain.
    settling: bool,
}

#[derive(Debug, Default)]
struct Epoch {
    begun: Duration,
    bytes: u64,
    network: u32,
    observations: u32,
}

impl LaneGrowth {
    /// For a transfer that begins with `lanes`, and has at most `lanes_max`.
    pub fn new(lanes: u8, lanes_max: u8) -> Self {
        Self { lanes, lanes_max, epoch: Epoch::default(), before: None, settling: true }
    }

    /// An added lane could not be opened or broke at once. No more are added, because a peer that
    /// refuses one lane seldom accepts the next.
    pub fn dropped(&mut self) {
        self.lanes -= 1;
        self.lanes_max = self.lanes;
    }

    /// How many lanes to add to a transfer that has run for `now` and has written `bytes`.
    pub fn lanes_to_add(&mut self, now: Duration, bytes: u64, network_limits: bool) -> u8 {
        self.epoch.observations += 1;
        self.epoch.network += u32::from(network_limits);
        let elapsed = now.saturating_sub(self.epoch.begun);
        if elapsed < EPOCH || self.lanes >= self.lanes_max {
            return 0;
        }
        let rate = bytes.saturating_sub(self.epoch.bytes) as f64 / elapsed.as_secs_f64();
        let limited = self.epoch.network * 2 > self.epoch.observations;
        self.epoch = Epoch { begun: now, bytes, ..Epoch::default() };
        if std::mem::take(&mut self.settling) {
            return 0;
        }
        if self.before.is_some_and(|before| rate < before * GAIN_MIN) {
            // The last lanes gained nothing: this link has as many as it needs.
            self.lanes_max = self.lanes;
            return 0;
        }
        if !limited {
            return 0;
        }
        let more = self.lanes.min(self.lanes_max - self.lanes);
        self.lanes += more;
        (self.before, self.settling) = (Some(rate), true);
        more
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of lanes at the end of a one-minute transfer, over a link that carries `link` in
    /// all and `lane` on each connection.
    fn grown(begin: u8, lane: u64, link: u64) -> u8 {
        let mut growth = LaneGrowth::new(begin, 16);
        let (mut lanes, mut bytes) = (begin, 0);
        for tenth in 1..600 {
            bytes += (u64::from(lanes) * lane).min(link) / 10;
            lanes += growth.lanes_to_add(Duration::from_millis(100 * tenth), bytes, true);
        }
        lanes
    }

    #[test]
    fn lanes_are_added_while_they_gain() {
        assert_eq!(grown(1, 1_000_000, 100_000_000), 16);
        assert_eq!(grown(4, 1_000_000, 6_000_000), 16, "eight still gained half");
        assert_eq!(grown(4, 1_000_000, 4_100_000), 8, "eight gained nothing");
        assert_eq!(grown(1, 1_000_000, 1_000_000), 2);
    }

    #[test]
    fn a_slow_beginning_is_not_taken_for_a_slow_link() {
        let mut growth = LaneGrowth::new(4, 16);
        // The connections take half a second to fill the link.
        let bytes = |now: Duration| now.saturating_sub(Duration::from_millis(500)).as_millis() as u64 * 13_000;
        let times = (1..600).map(|tenth| Duration::from_millis(100 * tenth));
        assert_eq!(times.map(|now| growth.lanes_to_add(now, bytes(now), true)).sum::<u8>(), 4, "once, to try");
    }

    #[test]
    fn lanes_are_added_only_if_the_network_is_the_bottleneck() {
        let mut growth = LaneGrowth::new(1, 16);
        let observations = (1..600)
            .map(|tenth| growth.lanes_to_add(Duration::from_millis(100 * tenth), 1_000_000 * tenth, tenth % 3 == 0));
        assert_eq!(observations.sum::<u8>(), 0);
    }

    #[test]
    fn no_lanes_are_added_after_one_was_dropped() {
        let mut growth = LaneGrowth::new(2, 16);
        let mut add = |second: u64, rate: u64| growth.lanes_to_add(Duration::from_secs(second), second * rate, true);
        assert_eq!((add(1, 1_000_000), add(2, 1_000_000), add(3, 1_000_000)), (0, 2, 0));
        growth.dropped();
        let later =
            (4..60).map(|second| growth.lanes_to_add(Duration::from_secs(second), second * second * 1_000_000, true));
        assert_eq!(later.sum::<u8>(), 0);
        assert_eq!(growth.lanes, 3);
    }

    #[test]
    fn a_long_link_begins_with_more() {
        let (near, far) = (Some(Duration::from_micros(200)), Some(Duration::from_millis(50)));
        assert_eq!((initial_lanes(2, near), initial_lanes(2, far)), (1, 4));
        assert_eq!((initial_lanes(16, None), initial_lanes(16, far)), (4, 4));
    }
}
