//! Stretches of a line: which parts of a file exist, or which numbers were used.
use std::collections::BTreeMap;
use std::ops::Range;

/// Disjoint stretches of a line, merged where they touch.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Stretches(BTreeMap<u64, u64>);

impl Stretches {
    /// Adds `start..end`, which is not empty. Returns false, and changes nothing, if any part of it
    /// was there.
    pub fn add(&mut self, start: u64, end: u64) -> bool {
        debug_assert!(start < end);
        let before = self.0.range(..end).next_back().map(|(s, e)| (*s, *e));
        if before.is_some_and(|(_, before_end)| before_end > start) {
            return false;
        }
        let mut merged = (start, end);
        if let Some((s, e)) = before.filter(|(_, e)| *e == start) {
            self.0.remove(&s);
            debug_assert_eq!(e, start);
            merged.0 = s;
        }
        if let Some(e) = self.0.remove(&end) {
            merged.1 = e;
        }
        self.0.insert(merged.0, merged.1);
        true
    }

    /// Whether one of them contains `point`.
    pub fn contains(&self, point: u64) -> bool {
        self.0.range(..=point).next_back().is_some_and(|(_, end)| *end > point)
    }

    /// Their number.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The sum of their lengths.
    pub fn total(&self) -> u64 {
        self.0.iter().map(|(start, end)| end - start).sum()
    }

    /// Each of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.0.iter().map(|(start, end)| *start..*end)
    }

    /// The first part of `range` that is in none of them.
    pub fn first_gap(&self, range: Range<u64>) -> Option<Range<u64>> {
        let mut start = range.start;
        if let Some((_, end)) = self.0.range(..=start).next_back() {
            start = start.max(*end);
        }
        if start >= range.end {
            return None;
        }
        let end = self.0.range(start..range.end).next().map_or(range.end, |(next, _)| *next);
        if end > start { Some(start..end) } else { self.first_gap(self.0[&start]..range.end) }
    }
}

#[cfg(test)]
mod tests {
    //! Compares stretches with a line of single points.
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn stretches_agree_with_single_points(added in vec((0..60u64, 1..9u64), 0..30), within in (0..70u64, 0..70u64)) {
            let (mut stretches, mut points) = (Stretches::default(), [false; 80]);
            for (start, len) in added {
                let range = start as usize..(start + len) as usize;
                let free = points[range.clone()].iter().all(|point| !point);
                prop_assert_eq!(stretches.add(start, start + len), free);
                if free {
                    points[range].fill(true);
                }
            }
            prop_assert_eq!(stretches.total(), points.iter().filter(|point| **point).count() as u64);
            prop_assert!((0..80).all(|point| stretches.contains(point) == points[point as usize]));
            let pairs: Vec<_> = stretches.iter().collect();
            prop_assert!(pairs.windows(2).all(|pair| pair[0].end < pair[1].start));
            prop_assert_eq!((stretches.len(), stretches.is_empty()), (pairs.len(), pairs.is_empty()));
            let gap = stretches.first_gap(within.0..within.1);
            let first = (within.0..within.1).find(|point| !points[*point as usize]);
            let end = first.map(|first| (first..within.1).find(|point| points[*point as usize]).unwrap_or(within.1));
            prop_assert_eq!(gap, first.map(|first| first..end.unwrap()));
        }
    }
}
