//! What limits a transfer and where its time went, in words.
use std::time::Duration;

use ringway_engine::Transfer;
use ringway_model::{Bottleneck, Direction, SeriesPoint, StageTimes};

/// What limits a transfer to or from `peer`, as in "limited by ..."; `is_got` where the receiving
/// device has asked for it.
pub(crate) fn bottleneck(what: Bottleneck, direction: Direction, is_got: bool, peer: &str) -> String {
    what.says(direction, is_got).of_peer(Some(peer)).what()
}

/// The same of a transfer. Who gets something sets a limit as well, which the other end keeps to.
pub(crate) fn bottleneck_of(what: Bottleneck, transfer: &Transfer, peer: &str) -> String {
    let asked = transfer.limit_asked_for();
    match (what, transfer.direction()) {
        (Bottleneck::Limit, Direction::Receiving) if asked => "--limit".to_owned(),
        (Bottleneck::Limit, Direction::Sending) if asked => format!("the limit that {peer} set"),
        // Otherwise it is the sender's, also of what is got.
        (what, direction) => bottleneck(what, direction, false, peer),
    }
}

/// Over so long the highest rate of a course is taken, as in the window: what several files or
/// buffers bring at once is no rate.
const HIGHEST_OVER: Duration = Duration::from_millis(700);

/// What comes after less time than this came evenly in it, as in the window.
const EVEN_WITHIN: Duration = Duration::from_secs(1);

/// The most bytes a second of a course, over [`HIGHEST_OVER`]; `None` if it was shorter.
pub(crate) fn highest(series: &[SeriesPoint]) -> Option<f64> {
    let series = &*evened(series);
    let over = |point: &SeriesPoint| {
        let bytes = point.bytes as f64 - bytes_by(series, point.at.checked_sub(HIGHEST_OVER)?);
        Some(bytes / HIGHEST_OVER.as_secs_f64())
    };
    series.iter().filter_map(over).reduce(f64::max)
}

/// The points at which more had come. What a whole frame brings at once came since the one before:
/// otherwise a limited transfer would rise and fall with its frames.
fn evened(series: &[SeriesPoint]) -> Vec<SeriesPoint> {
    let mut points = Vec::new();
    let (mut changed, mut before) = (SeriesPoint::default(), Duration::ZERO);
    for point in series {
        if point.bytes > changed.bytes {
            let is_limited = point.limited_by == Some(Bottleneck::Limit);
            let from = before.min(changed.at.max(point.at.saturating_sub(EVEN_WITHIN)));
            points.extend((!is_limited && from > changed.at).then_some(SeriesPoint { at: from, ..changed }));
            points.push(*point);
            changed = *point;
        }
        before = point.at;
    }
    points
}

/// Bytes that had been done by a moment, which may lie between two points.
fn bytes_by(series: &[SeriesPoint], at: Duration) -> f64 {
    let next = series.partition_point(|point| point.at <= at);
    let before = next.checked_sub(1).map_or_else(SeriesPoint::default, |index| series[index]);
    let Some(after) = series.get(next) else { return before.bytes as f64 };
    let share = (at - before.at).div_duration_f64(after.at - before.at);
    before.bytes as f64 + share * (after.bytes - before.bytes) as f64
}

/// Where the time of each end's lanes went: this end's, then the other's.
pub(crate) fn times(times: &StageTimes, direction: Direction) -> [String; 2] {
    let sender = shares([
        ("finding files", times.finding),
        ("reading", times.reading),
        ("encrypting", times.encrypting),
        ("waiting for the network", times.sending),
        ("waiting for the limit", times.limited),
    ]);
    let receiver = shares([
        ("waiting for the network", times.receiving),
        ("decrypting", times.decrypting),
        ("writing", times.writing),
    ]);
    match direction {
        Direction::Receiving => [receiver, sender],
        _ => [sender, receiver],
    }
}

/// `reading 61 %, encrypting 39 %`: what has less than a hundredth is left out.
fn shares<const N: usize>(stages: [(&str, Duration); N]) -> String {
    let all: f64 = stages.iter().map(|(_, time)| time.as_secs_f64()).sum();
    let share = |time: Duration| if all > 0.0 { (time.as_secs_f64() / all * 100.0).round() as u32 } else { 0 };
    let shown = stages.map(|(stage, time)| (stage, share(time)));
    let shown: Vec<_> = shown.iter().filter(|(_, share)| *share > 0).collect();
    match shown.is_empty() {
        true => "no time to speak of".to_owned(),
        false => shown.iter().map(|(stage, share)| format!("{stage} {share} %")).collect::<Vec<_>>().join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_stage_is_here_or_there_by_who_looks() {
        let said = |what, direction| bottleneck(what, direction, false, "lab");
        assert_eq!(said(Bottleneck::Writing, Direction::Sending), "writing on lab");
        assert_eq!(said(Bottleneck::Writing, Direction::Receiving), "writing here");
        assert_eq!(said(Bottleneck::Encrypting, Direction::Sending), "the processor here (encrypting)");
        assert_eq!(said(Bottleneck::Limit, Direction::Receiving), "the upload limit on lab");
        // The requester may have set it.
        assert_eq!(bottleneck(Bottleneck::Limit, Direction::Receiving, true, "lab"), "the rate limit");
        for direction in [Direction::Sending, Direction::Receiving] {
            assert_eq!(said(Bottleneck::Network, direction), "the network");
            let mut all: Vec<_> = Bottleneck::ALL.into_iter().map(|what| said(what, direction)).collect();
            all.sort();
            all.dedup();
            assert_eq!(all.len(), Bottleneck::ALL.len(), "each has words of its own");
        }
    }

    fn course(points: &[(u64, u64)]) -> Vec<SeriesPoint> {
        let point = |&(ms, bytes)| SeriesPoint { at: Duration::from_millis(ms), bytes, ..SeriesPoint::default() };
        points.iter().map(point).collect()
    }

    #[test]
    fn highest_rate_is_no_jump_between_two_points() {
        assert_eq!(highest(&course(&[(50, 0), (600, 9_000)])), None, "it was too short");
        // 3 MB/s, of which each second figure comes late.
        let jumps: Vec<_> = (1..=40).map(|tick| (tick * 50, (tick - tick % 2) * 150_000)).collect();
        let rate = highest(&course(&jumps)).unwrap();
        assert!((2.99e6..3.01e6).contains(&rate), "{rate}");
        // Frames of a megabyte at 0.4 MB/s: each takes 2.5 s, and the limit says that it was even.
        let frames = (1..=100).map(|tick| SeriesPoint {
            at: Duration::from_millis(tick * 100),
            bytes: tick / 25 * 1_000_000,
            limited_by: Some(Bottleneck::Limit),
            ..SeriesPoint::default()
        });
        let rate = highest(&frames.collect::<Vec<_>>()).unwrap();
        assert!((0.39e6..0.41e6).contains(&rate), "{rate}");
        // Without a limit, nothing came for a while.
        let rate = highest(&course(&[(1_000, 1_000), (1_100, 1_000), (3_000, 1_000), (3_100, 2_000)])).unwrap();
        assert!((999.0..1_001.0).contains(&rate), "{rate}");
        // Where points are far apart, two of them.
        assert_eq!(highest(&course(&[(2_000, 2_000), (4_000, 8_000), (6_000, 8_000)])), Some(3_000.0));
    }

    #[test]
    fn shares_are_of_each_ends_own_time() {
        let spent = StageTimes {
            reading: Duration::from_secs(6),
            encrypting: Duration::from_secs(3),
            sending: Duration::from_secs(1),
            finding: Duration::from_millis(1),
            receiving: Duration::from_secs(1),
            writing: Duration::from_secs(3),
            ..StageTimes::default()
        };
        let sender = "reading 60 %, encrypting 30 %, waiting for the network 10 %".to_owned();
        let receiver = "waiting for the network 25 %, writing 75 %".to_owned();
        assert_eq!(times(&spent, Direction::Sending), [sender.clone(), receiver.clone()]);
        assert_eq!(times(&spent, Direction::Receiving), [receiver, sender]);
        assert_eq!(times(&StageTimes::default(), Direction::Sending)[0], "no time to speak of");
    }
}
