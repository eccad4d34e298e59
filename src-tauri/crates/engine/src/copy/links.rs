//! Files with several names: the first name that is met is copied, the others become links to it, also those met before it was whole.
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ringway_sys::attributes::Metadata;

use super::folder::{Hold, Identity};
use crate::limits::COPY_LINKED_MAX;

/// Files under way or copied that have names left to be met, so many at most. A file leaves the table with its last name, so that only files
/// that have names outside the sources stay.
pub(super) struct Links<'j> {
    table: Mutex<HashMap<Identity, Entry<'j>>>,
    files_max: usize,
}

impl Default for Links<'_> {
    fn default() -> Self {
        Self { table: Mutex::default(), files_max: COPY_LINKED_MAX }
    }
}

struct Entry<'j> {
    /// Names not met yet; more may be made meanwhile, then they are copied as files of their own.
    left: u64,
    /// Where the first name is, once it is whole.
    place: Option<Place>,
    /// Names met before that.
    waiting: Vec<Name<'j>>,
}

/// A name that a file is to get: in which folder, its name at the source, its name at the destination.
pub(super) type Name<'j> = (Hold<'j>, Box<[u8]>, Box<[u8]>);

/// A name at the destination: its path from the folder that all copies are in.
pub(super) type Place = Box<[u8]>;

/// What a file with several names is when it is met.
pub(super) enum Seen {
    /// The first, or one of a file that the table has no room for: to be copied, and reported by [`Links::copied`] or [`Links::failed`].
    First,
    /// A further one of the file at that place.
    Again(Place),
    /// A further one of a file that is being copied: it was put aside.
    Waits,
}

fn identity(metadata: &Metadata) -> Identity {
    (metadata.dev, metadata.ino)
}

impl<'j> Links<'j> {
    fn lock(&self) -> MutexGuard<'_, HashMap<Identity, Entry<'j>>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Meets a name of a file that has several.
    pub(super) fn see(&self, metadata: &Metadata, name: impl FnOnce() -> Name<'j>) -> Seen {
        let mut table = self.lock();
        let Some(entry) = table.get_mut(&identity(metadata)) else {
            let left = metadata.nlink.saturating_sub(1);
            if table.len() < self.files_max {
                table.insert(identity(metadata), Entry { left, place: None, waiting: Vec::new() });
            }
            return Seen::First;
        };
        let Some(place) = entry.place.clone() else {
            entry.waiting.push(name());
            return Seen::Waits;
        };
        entry.left = entry.left.saturating_sub(1);
        if entry.left == 0 {
            table.remove(&identity(metadata));
        }
        Seen::Again(place)
    }

    /// The first name is whole, at this place: the names that waited for it, to be met again.
    pub(super) fn copied(&self, metadata: &Metadata, folder: &Hold<'j>, name: &[u8]) -> Vec<Name<'j>> {
        let place = folder.below_top(name).into();
        let mut table = self.lock();
        let Some(entry) = table.get_mut(&identity(metadata)) else { return Vec::new() };
        entry.place = Some(place);
        std::mem::take(&mut entry.waiting)
    }

    /// The first name was not copied: the names that waited for it, of which the first that is met is the first now.
    pub(super) fn failed(&self, metadata: &Metadata) -> Vec<Name<'j>> {
        self.lock().remove(&identity(metadata)).map(|entry| entry.waiting).unwrap_or_default()
    }

    /// Forgets what waits: the copy has ended.
    pub(super) fn clear(&self) {
        let left = std::mem::take(&mut *self.lock());
        // Without the lock: letting go of a folder may finish it.
        drop(left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway_sys::attributes::{Kind, Timestamp};

    fn with_number(ino: u64) -> Metadata {
        let time = Timestamp { secs: 0, nanos: 0 };
        Metadata {
            kind: Kind::File,
            mode: 0o644,
            uid: 0,
            gid: 0,
            size: 1,
            blocks_512: 8,
            mtime: time,
            atime: time,
            ctime: time,
            nlink: 3,
            dev: 1,
            ino,
            rdev: 0,
        }
    }

    #[test]
    fn a_full_table_keeps_what_it_has() {
        let links = Links { files_max: 1, ..Links::default() };
        let name = || unreachable!("nothing waits here");
        assert!(matches!(links.see(&with_number(1), name), Seen::First));
        for _ in 0..2 {
            assert!(matches!(links.see(&with_number(2), name), Seen::First), "there is no room for it");
        }
        assert!(links.failed(&with_number(2)).is_empty());
        links.lock().get_mut(&(1, 1)).unwrap().place = Some(Box::from(&b"first"[..]));
        for _ in 0..2 {
            assert!(matches!(links.see(&with_number(1), name), Seen::Again(place) if *place == b"first"[..]));
        }
        assert!(links.lock().is_empty(), "all names are met");
        assert!(matches!(links.see(&with_number(2), name), Seen::First) && links.lock().len() == 1);
    }
}
