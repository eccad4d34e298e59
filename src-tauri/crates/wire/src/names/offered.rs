//! The top-level names of an offer: all of them, each once, in order, in bounded memory.
use std::ops::Range;

use crate::ProtocolError;
use crate::limits::{OFFERED_BYTES_MAX, OFFERED_NAMES_MAX, OFFERED_PAGE_BYTES_MAX};
use crate::name::Name;

/// A sorted set of names. They are stored end to end, so that half a million take 10 MB and not
/// fifty.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct OfferedNames {
    bytes: Vec<u8>,
    /// The end of each name.
    ends: Vec<u32>,
}

impl std::fmt::Debug for OfferedNames {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "OfferedNames({} names)", self.len())
    }
}

impl OfferedNames {
    /// Adds a name, which must come after the last one.
    ///
    /// # Errors
    /// If it does not come after the last one, or if there are too many names or too many bytes of
    /// them.
    pub fn push(&mut self, name: Name<'_>) -> Result<(), ProtocolError> {
        let name = name.as_bytes();
        let bounded = |what, value, limit: usize| match value > limit {
            true => Err(ProtocolError::TooLarge { what, value: value as u64, limit: limit as u64 }),
            false => Ok(()),
        };
        bounded("number of offered names", self.len() + 1, OFFERED_NAMES_MAX)?;
        bounded("length of offered names", self.bytes.len() + name.len(), OFFERED_BYTES_MAX)?;
        if self.last().is_some_and(|last| last >= name) {
            return Err(ProtocolError::BadValue("order of offered names"));
        }
        self.bytes.extend_from_slice(name);
        self.ends.push(self.bytes.len() as u32);
        Ok(())
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Bytes of memory that they take.
    pub fn held_bytes(&self) -> usize {
        self.bytes.len() + self.ends.len() * size_of::<u32>()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The name with that index.
    pub fn get(&self, at: usize) -> Option<&[u8]> {
        let end = *self.ends.get(at)? as usize;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        Some(&self.bytes[start..end])
    }

    /// The index of a name.
    pub fn position(&self, name: &[u8]) -> Option<usize> {
        let mut within = 0..self.len();
        while !within.is_empty() {
            let middle = within.start + within.len() / 2;
            match self.get(middle)?.cmp(name) {
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Less => within.start = middle + 1,
                std::cmp::Ordering::Greater => within.end = middle,
            }
        }
        None
    }

    /// Whether a name is among them.
    pub fn has(&self, name: &[u8]) -> bool {
        self.position(name).is_some()
    }

    /// All of them in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).filter_map(|at| self.get(at))
    }

    /// The names from `from` on that fit into one message.
    pub(crate) fn page(&self, from: usize) -> Vec<Vec<u8>> {
        let mut left = OFFERED_PAGE_BYTES_MAX;
        let fits = |name: &&[u8]| {
            let fits = left >= name.len() + 2;
            left = left.saturating_sub(name.len() + 2);
            fits
        };
        (from..self.len()).filter_map(|at| self.get(at)).take_while(fits).map(<[u8]>::to_vec).collect()
    }

    fn last(&self) -> Option<&[u8]> {
        self.get(self.len().checked_sub(1)?)
    }
}

/// Collects names in any order, for a sender.
#[derive(Default)]
pub struct NameCollector {
    bytes: Vec<u8>,
    names: Vec<Range<u32>>,
}

impl NameCollector {
    /// Adds a name. Adding it twice has no effect.
    ///
    /// # Errors
    /// If there are too many names or too many bytes of them.
    pub fn add(&mut self, name: Name<'_>) -> Result<(), ProtocolError> {
        let name = name.as_bytes();
        if self.names.len() >= OFFERED_NAMES_MAX {
            let limit = OFFERED_NAMES_MAX as u64;
            return Err(ProtocolError::TooLarge { what: "number of offered names", value: limit + 1, limit });
        }
        let end = self.bytes.len() + name.len();
        if end > OFFERED_BYTES_MAX {
            let limit = OFFERED_BYTES_MAX as u64;
            return Err(ProtocolError::TooLarge { what: "length of offered names", value: end as u64, limit });
        }
        self.names.push(self.bytes.len() as u32..end as u32);
        self.bytes.extend_from_slice(name);
        Ok(())
    }

    /// The names in order.
    pub fn sorted(mut self) -> OfferedNames {
        let bytes = &self.bytes;
        let name = |range: &Range<u32>| &bytes[range.start as usize..range.end as usize];
        self.names.sort_unstable_by(|a, b| name(a).cmp(name(b)));
        self.names.dedup_by(|a, b| name(a) == name(b));
        let mut sorted = OfferedNames::default();
        sorted.ends.reserve_exact(self.names.len());
        for range in &self.names {
            sorted.bytes.extend_from_slice(name(range));
            sorted.ends.push(sorted.bytes.len() as u32);
        }
        sorted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(of: &[&str]) -> OfferedNames {
        let mut collector = NameCollector::default();
        of.iter().for_each(|name| collector.add(Name::new(name.as_bytes()).unwrap()).unwrap());
        collector.sorted()
    }

    #[test]
    fn names_are_found_and_others_are_not() {
        let names = names(&["photos", "b", "a", "b", "aa"]);
        assert_eq!(names.iter().collect::<Vec<_>>(), [&b"a"[..], b"aa", b"b", b"photos"]);
        assert!(["a", "aa", "b", "photos"].iter().all(|name| names.has(name.as_bytes())));
        assert!(["", "A", "ab", "photo", "photos2", ".bashrc"].iter().all(|name| !names.has(name.as_bytes())));
        assert!(!OfferedNames::default().has(b"a"));
    }

    #[test]
    fn names_out_of_order_or_said_twice_are_refused() {
        let mut names = names(&["a", "c"]);
        for bad in ["b", "c"] {
            assert!(names.push(Name::new(bad.as_bytes()).unwrap()).is_err(), "{bad}");
        }
        names.push(Name::new(b"d").unwrap()).unwrap();
        assert_eq!(names.len(), 3);
    }

    #[test]
    fn names_are_bounded_in_number_and_length() {
        let long = |number: usize| format!("{number:0255}");
        let mut offered = OfferedNames::default();
        let refused =
            (0..OFFERED_NAMES_MAX).find(|number| offered.push(Name::new(long(*number).as_bytes()).unwrap()).is_err());
        assert_eq!(refused, Some(OFFERED_BYTES_MAX / 255));
        let mut collector = NameCollector::default();
        let mut offered = OfferedNames::default();
        for number in 0..OFFERED_NAMES_MAX {
            let name = format!("{number:07}");
            collector.add(Name::new(name.as_bytes()).unwrap()).unwrap();
            offered.push(Name::new(name.as_bytes()).unwrap()).unwrap();
        }
        assert!(offered.push(Name::new(b"z").unwrap()).is_err() && collector.add(Name::new(b"z").unwrap()).is_err());
    }

    #[test]
    fn pages_hold_all_names_once() {
        let all: Vec<_> = (0..5_000).map(|number| format!("{number:0200}")).collect();
        let names = names(&all.iter().map(String::as_str).collect::<Vec<_>>());
        let (mut at, mut pages) = (0, 0);
        while at < names.len() {
            let page = names.page(at);
            assert!(page.iter().map(|name| name.len() + 2).sum::<usize>() <= OFFERED_PAGE_BYTES_MAX);
            assert!(page.iter().zip(at..).all(|(name, number)| names.get(number) == Some(name)));
            (at, pages) = (at + page.len(), pages + 1);
        }
        assert!(pages > 10 && names.page(at).is_empty());
    }
}
