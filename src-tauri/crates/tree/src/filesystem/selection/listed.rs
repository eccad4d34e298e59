//! The list of the only entries of a source that are taken.
use std::cmp::Ordering;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ringway_model::Fault;

use super::{LISTED_BYTES_MAX, LISTED_MAX};

/// Paths relative to a source. They are numbered: first those that decide what is taken, and behind
/// them those within them, which are only looked for. Both are sorted by [`order`].
pub(super) struct Listed {
    /// None of them is within another one.
    deciding: Vec<Box<[u8]>>,
    within: Vec<Box<[u8]>>,
}

/// Where a path stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// It is the listed path of this number, or within it.
    At(usize),
    /// It leads to listed paths, of which this is the first.
    Above(usize),
    /// It has nothing to do with any.
    Elsewhere,
}

impl Listed {
    /// `None` if nothing but the source itself is listed, and with it everything.
    ///
    /// # Errors
    /// [`Fault::Invalid`] for a path that is not within the source, and for too many of them.
    pub(super) fn new(paths: &[Vec<u8>]) -> Result<Option<Self>, Fault> {
        const TOO_MANY: Fault = Fault::option("a list has more than a million paths or 64 MiB");
        const NOT_WITHIN: Fault = Fault::option(
            "a listed path is not within the source: it must be relative, without `..`, and no empty one",
        );
        if paths.len() > LISTED_MAX || paths.iter().map(Vec::len).sum::<usize>() > LISTED_BYTES_MAX {
            return Err(TOO_MANY);
        }
        let plain = paths.iter().map(|path| plain_path(path).ok_or(NOT_WITHIN)).collect::<Result<Vec<_>, _>>()?;
        Ok(Self::of(plain))
    }

    fn of(mut plain: Vec<Box<[u8]>>) -> Option<Self> {
        plain.sort_unstable_by(|one, other| order(one, other));
        plain.dedup();
        let (mut deciding, mut within) = (Vec::<Box<[u8]>>::new(), Vec::new());
        for path in plain {
            // Whatever stood between a folder and what is in it would be in that folder, too.
            match deciding.last().is_some_and(|last| is_above(last, &path)) {
                true => within.push(path),
                false => deciding.push(path),
            }
        }
        let is_everything = within.is_empty() && deciding.first().is_some_and(|first| first.is_empty());
        (!is_everything).then_some(Self { deciding, within })
    }

    pub(super) fn len(&self) -> usize {
        self.deciding.len() + self.within.len()
    }

    pub(super) fn place(&self, path: &[u8]) -> Place {
        let behind = self.deciding.partition_point(|listed| order(listed, path) != Ordering::Greater);
        // Again, nothing stands between the two.
        let before =
            behind.checked_sub(1).filter(|at| &*self.deciding[*at] == path || is_above(&self.deciding[*at], path));
        match (before, self.deciding.get(behind)) {
            (Some(at), _) => Place::At(at),
            (None, Some(next)) if is_above(path, next) => Place::Above(behind),
            _ => Place::Elsewhere,
        }
    }

    /// The number of the listed path that is this one.
    pub(super) fn number(&self, path: &[u8]) -> Option<usize> {
        let find = |paths: &[Box<[u8]>]| paths.binary_search_by(|listed| order(listed, path)).ok();
        find(&self.deciding).or_else(|| find(&self.within).map(|at| self.deciding.len() + at))
    }

    /// The numbers of the paths below a folder.
    pub(super) fn below(&self, folder: &[u8]) -> impl Iterator<Item = usize> {
        let find = move |paths: &[Box<[u8]>]| {
            let from = paths.partition_point(|listed| order(listed, folder) != Ordering::Greater);
            from..from + paths[from..].iter().take_while(|path| is_above(folder, path)).count()
        };
        let first_within = self.deciding.len();
        find(&self.deciding).chain(find(&self.within).map(move |at| first_within + at))
    }

    /// The paths by their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.deciding.iter().chain(&self.within).map(|path| &**path)
    }

    pub(super) fn without<'l>(&'l self, met: &'l Met) -> impl Iterator<Item = &'l [u8]> {
        // The caller has met the source itself.
        self.iter().enumerate().filter(|(at, path)| !met.has(*at) && !path.is_empty()).map(|(_, path)| path)
    }
}

/// The path without empty components, `.` and slashes at its ends; `None` if it is not within the
/// source, or no path.
fn plain_path(path: &[u8]) -> Option<Box<[u8]>> {
    if path.is_empty() || path[0] == b'/' || path.contains(&0) {
        return None;
    }
    let mut plain = Vec::with_capacity(path.len());
    for component in path.split(|byte| *byte == b'/') {
        match component {
            b"" | b"." => {}
            b".." => return None,
            name => {
                if !plain.is_empty() {
                    plain.push(b'/');
                }
                plain.extend_from_slice(name);
            }
        }
    }
    Some(plain.into())
}

/// By components: what is in a folder comes at once behind it.
fn order(one: &[u8], other: &[u8]) -> Ordering {
    // No name has a NUL.
    let key = |byte: &u8| if *byte == b'/' { 0 } else { *byte };
    one.iter().map(key).cmp(other.iter().map(key))
}

/// Whether the path lies in the folder, of which an empty path is the source.
fn is_above(folder: &[u8], path: &[u8]) -> bool {
    match folder.is_empty() {
        true => !path.is_empty(),
        false => path.strip_prefix(folder).is_some_and(|rest| rest.first() == Some(&b'/')),
    }
}

/// Which listed paths were met, by any thread.
#[derive(Debug, Default)]
pub struct Met(Box<[AtomicU64]>);

impl Met {
    pub(super) fn new(len: usize) -> Self {
        Self((0..len.div_ceil(64)).map(|_| AtomicU64::new(0)).collect())
    }

    pub(super) fn set(&self, at: usize) {
        self.0[at / 64].fetch_or(1 << (at % 64), Relaxed);
    }

    pub(super) fn clear(&self, at: usize) {
        self.0[at / 64].fetch_and(!(1 << (at % 64)), Relaxed);
    }

    fn has(&self, at: usize) -> bool {
        self.0[at / 64].load(Relaxed) >> (at % 64) & 1 == 1
    }
}
