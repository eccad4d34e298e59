//! Temporary names in folders that everybody sees, for what cannot be renamed there from the
//! staging folder; and which of them attempts that were killed have left.
use std::sync::atomic::{AtomicU64, Ordering};

/// Hex digits that tell an attempt's names from those of earlier attempts at the same transfer.
const MARK_DIGITS: usize = 16;

/// This attempt's temporary names: the staging folder's, a mark that no other attempt has, a
/// number.
pub(in crate::receive) struct Temporaries {
    stem: Vec<u8>,
    mark: String,
    count: AtomicU64,
    /// There was an attempt before this one.
    may_be_left: bool,
}

impl Temporaries {
    /// For the attempt that fills this staging folder; `mark` is drawn at random.
    pub(in crate::receive) fn new(staging_name: &[u8], mark: u64, may_be_left: bool) -> Self {
        let stem = [staging_name, b"-"].concat();
        Self { stem, mark: format!("{mark:0MARK_DIGITS$x}"), count: AtomicU64::new(0), may_be_left }
    }

    /// Whether there was an attempt before this one.
    pub(in crate::receive) fn may_be_left(&self) -> bool {
        self.may_be_left
    }

    /// A name for a temporary file that cannot be in the staging folder, being on another
    /// filesystem.
    pub(in crate::receive) fn next(&self) -> Vec<u8> {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        [&self.stem[..], format!("{}-{number}", self.mark).as_bytes()].concat()
    }

    /// Whether an attempt that is over has given that name: only one at a time fills the staging
    /// folder that it begins with (flock).
    pub(in crate::receive) fn is_left(&self, name: &[u8]) -> bool {
        name.strip_prefix(&self.stem[..]).and_then(mark_of).is_some_and(|mark| mark != self.mark.as_bytes())
    }
}

/// Whether an attempt that filled this staging folder has given that name.
pub(in crate::receive) fn is_temporary(staging_name: &[u8], name: &[u8]) -> bool {
    let rest = name.strip_prefix(staging_name).and_then(|rest| rest.strip_prefix(b"-"));
    rest.is_some_and(|rest| mark_of(rest).is_some())
}

/// The mark in what follows the stem of a temporary name.
fn mark_of(rest: &[u8]) -> Option<&[u8]> {
    let (mark, number) = rest.split_at_checked(MARK_DIGITS)?;
    let is_number = |number: &[u8]| !number.is_empty() && number.iter().all(u8::is_ascii_digit);
    let is_mark = mark.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    (is_mark && number.strip_prefix(b"-").is_some_and(is_number)).then_some(mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_an_earlier_attempt_has_given_are_left() {
        let (now, before) = (Temporaries::new(b".ringway-a", 7, true), Temporaries::new(b".ringway-a", 6, true));
        let other = Temporaries::new(b".ringway-b", 6, true);
        assert!(before.next() != before.next());
        assert!(now.is_left(&before.next()) && before.is_left(&now.next()));
        assert!(!now.is_left(&now.next()) && !now.is_left(&other.next()));
        assert!(is_temporary(b".ringway-a", &now.next()) && !is_temporary(b".ringway-a", &other.next()));
        for text in
            ["", "-", "-0", "-0000000000000006", "-0000000000000006-", "-000000000000000G-1", "-0000000000000006-1x"]
        {
            let name = format!(".ringway-a{text}");
            assert!(!now.is_left(name.as_bytes()) && !is_temporary(b".ringway-a", name.as_bytes()), "{text}");
        }
    }
}
