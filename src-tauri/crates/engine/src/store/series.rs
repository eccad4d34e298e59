//! A transfer's course: what had been done by which moment, in a bounded number of points, for one
//! of 0.2 s as for one of 10 hours.
use std::time::Duration;

use ringway_model::{Bottleneck, SeriesPoint};

/// Points kept: more than a graph has room for, and 11 kB in the store at most.
pub const SERIES_POINTS_MAX: usize = 480;

/// The first distance between two points: figures come about ten times a second.
const STEP_MIN: Duration = Duration::from_millis(50);

/// What the stored form begins with.
const FORM: u8 = 2;

/// The form of earlier versions, without [`SeriesPoint::reconnected`].
const FORM_WITHOUT_RECONNECTED: u8 = 1;

/// Points whose times and counts only grow. Once there are [`SERIES_POINTS_MAX`] of them, each
/// second one goes and they come half as often, so that what is left is spread evenly and no sum is
/// lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Series {
    points: Vec<SeriesPoint>,
    step: Duration,
    /// The last that was booked, which may be too near to the point before to stay.
    latest: Option<SeriesPoint>,
}

impl Default for Series {
    fn default() -> Self {
        Self { points: Vec::new(), step: STEP_MIN, latest: None }
    }
}

impl Series {
    /// Books what has been done by now. Counts that go back, as those of what is read back once
    /// more do, are left out.
    pub(crate) fn book(&mut self, point: SeriesPoint) {
        let last = self.latest.unwrap_or_default();
        if point.at < last.at || point.bytes < last.bytes || point.entries < last.entries {
            return;
        }
        self.latest = Some(point);
        if self.points.last().is_some_and(|last| point.at < last.at + self.step) {
            return;
        }
        if self.points.len() == SERIES_POINTS_MAX {
            let mut index = 0;
            self.points.retain(|_| {
                index += 1;
                index % 2 == 0
            });
            self.step *= 2;
        }
        self.points.push(point);
    }

    /// What was booked last.
    pub(crate) fn last(&self) -> SeriesPoint {
        self.latest.unwrap_or_default()
    }

    /// The points, the last one booked included.
    pub(crate) fn points(&self) -> Vec<SeriesPoint> {
        let mut points = self.points.clone();
        points.extend(self.latest.filter(|latest| points.last() != Some(latest)));
        points
    }
}

/// The points as the store keeps them: each as what it has more than the one before, in LEB128, and
/// its bottleneck's number.
pub(crate) fn stored(points: &[SeriesPoint]) -> Vec<u8> {
    let mut out = vec![FORM];
    let mut last = SeriesPoint::default();
    for point in points {
        let at = |point: &SeriesPoint| u64::try_from(point.at.as_millis()).unwrap_or(u64::MAX);
        put(&mut out, at(point).saturating_sub(at(&last)));
        put(&mut out, point.bytes.saturating_sub(last.bytes));
        put(&mut out, point.entries.saturating_sub(last.entries));
        put(&mut out, point.reconnected.saturating_sub(last.reconnected).into());
        out.push(point.limited_by.map_or(0, |bottleneck| 1 + bottleneck as u8));
        last = *point;
    }
    out
}

/// What [`stored`] made of points; `None` if it is no such thing, as after a store was damaged.
pub(crate) fn read(mut stored: &[u8]) -> Option<Vec<SeriesPoint>> {
    let form;
    (form, stored) = stored.split_first()?;
    if ![FORM, FORM_WITHOUT_RECONNECTED].contains(form) {
        return None;
    }
    let mut points = Vec::new();
    let mut last = SeriesPoint::default();
    while !stored.is_empty() {
        if points.len() > SERIES_POINTS_MAX {
            return None;
        }
        let at = last.at.checked_add(Duration::from_millis(take(&mut stored)?))?;
        let bytes = last.bytes.checked_add(take(&mut stored)?)?;
        let entries = last.entries.checked_add(take(&mut stored)?)?;
        let again = if *form == FORM { take(&mut stored)? } else { 0 };
        let reconnected = last.reconnected.checked_add(u32::try_from(again).ok()?)?;
        let number;
        (number, stored) = stored.split_first()?;
        let limited_by = match number.checked_sub(1) {
            None => None,
            Some(index) => Some(*Bottleneck::ALL.get(usize::from(index))?),
        };
        last = SeriesPoint { at, bytes, entries, limited_by, reconnected };
        points.push(last);
    }
    Some(points)
}

fn put(out: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn take(stored: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..u64::BITS).step_by(7) {
        let (byte, rest) = stored.split_first()?;
        *stored = rest;
        let bits = u64::from(byte & 0x7f);
        if bits.leading_zeros() < shift {
            return None;
        }
        number |= bits << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(ms: u64, bytes: u64) -> SeriesPoint {
        let limited_by = Bottleneck::ALL.get(ms as usize % 9).copied();
        let reconnected = u32::try_from(ms / 10_000_000).unwrap_or(u32::MAX);
        SeriesPoint { at: Duration::from_millis(ms), bytes, entries: bytes / 1_000, limited_by, reconnected }
    }

    fn of(ticks: u64, every_ms: u64) -> Series {
        let mut series = Series::default();
        for tick in 0..=ticks {
            series.book(point(tick * every_ms, tick * 1_000_000));
        }
        series
    }

    #[test]
    fn a_short_transfer_keeps_every_point() {
        let points = of(2, 100).points();
        assert_eq!(points, [point(0, 0), point(100, 1_000_000), point(200, 2_000_000)]);
    }

    #[test]
    fn ten_hours_fit_and_are_spread_evenly() {
        let points = of(360_000, 100).points();
        assert!((SERIES_POINTS_MAX / 2..=SERIES_POINTS_MAX + 1).contains(&points.len()), "{}", points.len());
        assert_eq!(points.last(), Some(&point(36_000_000, 360_000_000_000)));
        let gaps: Vec<_> = points.windows(2).map(|pair| (pair[1].at - pair[0].at).as_millis()).collect();
        let shared = &gaps[..gaps.len() - 1];
        let (least, most) = (shared.iter().min().unwrap(), shared.iter().max().unwrap());
        assert!(most <= &(least * 2), "{least} to {most}");
    }

    #[test]
    fn what_comes_too_soon_is_the_last_point_and_no_more() {
        let mut series = Series::default();
        for ms in 0..20 {
            series.book(point(ms, ms));
        }
        assert_eq!(series.points(), [point(0, 0), point(19, 19)]);
    }

    #[test]
    fn counts_that_begin_again_are_left_out() {
        let mut series = of(5, 100);
        series.book(point(600, 1));
        series.book(point(400, 9_000_000));
        assert_eq!(series, of(5, 100));
    }

    #[test]
    fn points_come_back_from_the_store_as_they_were() {
        for points in [vec![], of(3, 100).points(), of(100_000, 130).points(), vec![point(u64::MAX / 2, u64::MAX)]] {
            assert_eq!(read(&stored(&points)), Some(points));
        }
    }

    #[test]
    fn points_of_an_earlier_version_are_read() {
        let points = read(&[FORM_WITHOUT_RECONNECTED, 100, 7, 1, 0, 100, 8, 1, 0]).unwrap();
        assert_eq!(points.iter().map(|point| (point.bytes, point.reconnected)).collect::<Vec<_>>(), [(7, 0), (15, 0)]);
    }

    #[test]
    fn a_retry_survives_the_thinning_of_a_long_series() {
        let mut series = Series::default();
        for tick in 0..100_000 {
            series.book(SeriesPoint { reconnected: u32::from(tick >= 31_415), ..point(tick * 100, tick) });
        }
        let points = series.points();
        let at = points.iter().find(|point| point.reconnected == 1).unwrap().at;
        assert!(at.as_secs().abs_diff(3_141) <= 60, "{at:?}");
    }

    #[test]
    fn a_damaged_store_gives_no_points_rather_than_wrong_ones() {
        let whole = stored(&of(20, 100).points());
        assert_eq!(read(&[]), None);
        assert_eq!(read(&[FORM + 1]), None);
        assert_eq!(read(&whole[..whole.len() - 1]), None);
        assert_eq!(read(&[FORM, 0, 0, 0, 0, 1 + Bottleneck::ALL.len() as u8]), None);
        assert_eq!(read(&[&[FORM, 0, 0, 0][..], &[0xff, 0xff, 0xff, 0xff, 0x1f], &[0]].concat()), None);
        let endless = [&[FORM][..], &[0xff; 11], &[0]].concat();
        assert_eq!(read(&endless), None);
        let too_many = [&[FORM][..], &[0; 5 * (SERIES_POINTS_MAX + 2)]].concat();
        assert_eq!(read(&too_many), None);
    }
}
