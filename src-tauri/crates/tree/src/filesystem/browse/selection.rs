//! The first names of a folder in order, as many as fit into a bound: of a folder with more, the
//! next ones are selected by reading it again.
use ringway_sys::dir::Dir;
use rustix::io::Errno;

use super::{errno, patiently};

/// Bytes that a name takes beside itself: where it begins, and its length.
const PER_NAME: usize = size_of::<u32>() + 1;

/// Names in order, each once.
pub(super) struct Selection {
    /// Each name behind its length.
    names: Vec<u8>,
    /// Where the names begin, in order.
    starts: Vec<u32>,
    next: usize,
    is_whole: bool,
    /// Bytes of the longest name in the folder, also among those that are not selected.
    longest: usize,
}

impl Selection {
    /// The first names of a folder behind `after`, by bytes, that take `bytes_max` at most. When
    /// they would take more, the greater half of them goes, and so does what is still to be read of
    /// the folder and is greater.
    pub(super) fn of(folder: &Dir, after: &[u8], bytes_max: usize) -> Result<Self, Errno> {
        #[cfg(test)]
        super::tests::SELECTED.with(|count| count.set(count.get() + 1));
        let mut selected = Self { names: Vec::new(), starts: Vec::new(), next: 0, is_whole: true, longest: 0 };
        // The first name that is left for the next selection.
        let mut end: Option<Vec<u8>> = None;
        let mut entries = patiently(|| folder.entries())?;
        while let Some(entry) = entries.next() {
            let name = entry.map_err(errno)?.name;
            let Ok(len) = u8::try_from(name.len()) else { continue };
            selected.longest = selected.longest.max(name.len());
            if name <= after || end.as_ref().is_some_and(|end| name >= &**end) {
                continue;
            }
            if selected.starts.len() > 1 && selected.used() + PER_NAME + name.len() > bytes_max {
                end = Some(selected.halve());
                selected.is_whole = false;
                if end.as_ref().is_some_and(|end| name >= &**end) {
                    continue;
                }
            }
            selected.starts.push(selected.names.len() as u32);
            selected.names.push(len);
            selected.names.extend_from_slice(name);
        }
        let Self { names, starts, .. } = &mut selected;
        starts.sort_unstable_by(|one, other| name_at(names, *one).cmp(name_at(names, *other)));
        names.shrink_to_fit();
        starts.shrink_to_fit();
        Ok(selected)
    }

    /// Keeps the lesser half; the first name that goes.
    fn halve(&mut self) -> Vec<u8> {
        let Self { names, starts, .. } = self;
        let half = starts.len() / 2;
        let by_name = |one: &u32, other: &u32| name_at(names, *one).cmp(name_at(names, *other));
        let (_, middle, _) = starts.select_nth_unstable_by(half, by_name);
        let end = name_at(names, *middle).to_vec();
        starts.truncate(half);
        // In the order of the arena, so that what is kept moves down over what is not.
        starts.sort_unstable();
        let mut to = 0;
        for start in starts.iter_mut() {
            let from = *start as usize;
            let len = 1 + usize::from(names[from]);
            names.copy_within(from..from + len, to);
            *start = to as u32;
            to += len;
        }
        names.truncate(to);
        end
    }

    fn used(&self) -> usize {
        self.names.len() + self.starts.len() * size_of::<u32>()
    }

    /// Bytes of memory that it takes.
    pub(super) fn held_bytes(&self) -> usize {
        self.names.capacity() + self.starts.capacity() * size_of::<u32>()
    }

    /// The next name; none at the end.
    pub(super) fn next(&mut self) -> Option<&[u8]> {
        let start = *self.starts.get(self.next)?;
        self.next += 1;
        Some(name_at(&self.names, start))
    }

    /// Keeps the nearer half of the names that are left. The others are selected again when it is
    /// their turn.
    pub(super) fn give_up_half(&mut self) {
        let left = &self.starts[self.next..];
        let kept = &left[..left.len() / 2];
        self.is_whole &= left.is_empty();
        let lengths = kept.iter().map(|start| 1 + name_at(&self.names, *start).len());
        let mut names = Vec::with_capacity(lengths.sum());
        let mut starts = Vec::with_capacity(kept.len());
        for start in kept {
            let name = name_at(&self.names, *start);
            starts.push(names.len() as u32);
            names.push(name.len() as u8);
            names.extend_from_slice(name);
        }
        (self.names, self.starts, self.next) = (names, starts, 0);
    }

    /// Bytes of the longest name in the folder.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// Whether the folder has no names behind these.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }
}

fn name_at(names: &[u8], start: u32) -> &[u8] {
    let start = start as usize;
    &names[start + 1..start + 1 + usize::from(names[start])]
}
