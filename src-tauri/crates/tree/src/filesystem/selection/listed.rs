//! The list of the only entries of a source that are taken.
use std::cmp::Ordering;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ringway_model::Fault;

use super::{LISTED_BYTES_MAX, LISTED_MAX};

/// Paths relative to a source, none of them within another one, sorted by [`order`].
pub(super) struct Listed(Vec<Box<[u8]>>);

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
    /// `None` if the source itself is listed, and with it everything.
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
        let mut plain = Vec::with_capacity(paths.len());
        for path in paths {
            let path = plain_path(path).ok_or(NOT_WITHIN)?;
            if path.is_empty() {
                return Ok(None);
            }
            plain.push(path);
        }
        plain.sort_unstable_by(|one, other| order(one, other));
        plain.dedup_by(|later, earlier| *later == *earlier || is_above(earlier, later));
        Ok(Some(Self(plain)))
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn place(&self, path: &[u8]) -> Place {
        let behind = self.0.partition_point(|listed| order(listed, path) != Ordering::Greater);
        // Whatever stood between a folder and what is in it would be in that folder, too.
        let before = behind.checked_sub(1).filter(|at| &*self.0[*at] == path || is_above(&self.0[*at], path));
        match (before, self.0.get(behind)) {
            (Some(at), _) => Place::At(at),
            (None, Some(next)) if is_above(path, next) => Place::Above(behind),
            _ => Place::Elsewhere,
        }
    }

    /// Whether the path of this number is this one, and not one around it.
    pub(super) fn is_itself(&self, at: usize, path: &[u8]) -> bool {
        *self.0[at] == *path
    }

    /// The numbers of the paths below a folder, of which `from` is the first.
    pub(super) fn below(&self, from: usize, folder: &[u8]) -> impl Iterator<Item = usize> {
        (from..self.0.len()).take_while(move |at| is_above(folder, &self.0[*at]))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(|path| &**path)
    }

    /// The numbers of all paths.
    pub(super) fn all(&self) -> impl Iterator<Item = usize> {
        0..self.0.len()
    }

    pub(super) fn without<'l>(&'l self, met: &'l Met) -> impl Iterator<Item = &'l [u8]> {
        self.0.iter().enumerate().filter(|(at, _)| !met.has(*at)).map(|(_, path)| &**path)
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

fn is_above(folder: &[u8], path: &[u8]) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.first() == Some(&b'/'))
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

    fn has(&self, at: usize) -> bool {
        self.0[at / 64].load(Relaxed) >> (at % 64) & 1 == 1
    }
}
