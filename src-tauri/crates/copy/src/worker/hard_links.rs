//! Files with several names: the first name that is met is copied. The others become links to it,
//! also those that are met before it is whole.
use std::collections::HashMap;

use parking_lot::Mutex;
use ringway_sys::attributes::{Metadata, Timestamp};

use crate::folder::Hold;
use crate::job::Identity;
use crate::limits::LINKED_FILES_MAX;

/// Files, under way or copied, that have names left to be met, up to a limit. A file leaves the
/// table with its last name, so only files that have names outside the sources stay.
pub(crate) struct Links<'j> {
    table: Mutex<HashMap<LinkKey, Entry<'j>>>,
    files_max: usize,
}

impl Default for Links<'_> {
    fn default() -> Self {
        Self { table: Mutex::default(), files_max: LINKED_FILES_MAX }
    }
}

/// The identity of a file, also if another file had its inode number before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct LinkKey {
    identity: Identity,
    /// Its birth time, if its filesystem reports it.
    born: Option<Timestamp>,
}

impl LinkKey {
    pub(crate) fn new(metadata: &Metadata, born: Option<Timestamp>) -> Self {
        Self { identity: (metadata.dev, metadata.ino), born }
    }
}

/// Identifies the version of a file's contents.
fn version(metadata: &Metadata) -> (u64, Timestamp) {
    (metadata.size, metadata.mtime)
}

struct Entry<'j> {
    /// The version when the first name was met.
    version: (u64, Timestamp),
    /// Names not met yet. If more are made meanwhile, they are copied as separate files.
    left: u64,
    /// The place of the first name, once it is whole.
    place: Option<Place>,
    /// Names that were met before that.
    waiting: Vec<Name<'j>>,
}

/// A name that a file is to get: the folder, its name at the source, its name at the destination.
pub(crate) type Name<'j> = (Hold<'j>, Box<[u8]>, Box<[u8]>);

/// A name at the destination: its path relative to the folder of all copies.
pub(crate) type Place = Box<[u8]>;

/// The case of a name of a file with several.
pub(crate) enum Seen {
    /// The first name, or one of a file for which the table has no space. It is to be copied, and
    /// reported by [`Links::copied`] or [`Links::failed`].
    First,
    /// Another name of the file at that place.
    Again(Place),
    /// Another name of a file that was written to since. It becomes a separate file with the
    /// present contents.
    Changed,
    /// Another name of a file that is being copied. It was put aside.
    Waits,
}

impl<'j> Links<'j> {
    /// Handles a name of a file that has several.
    pub(crate) fn see(&self, key: LinkKey, metadata: &Metadata, name: impl FnOnce() -> Name<'j>) -> Seen {
        let mut table = self.table.lock();
        let Some(entry) = table.get_mut(&key) else {
            let left = metadata.nlink.saturating_sub(1);
            if table.len() < self.files_max {
                let version = version(metadata);
                table.insert(key, Entry { version, left, place: None, waiting: Vec::new() });
            }
            return Seen::First;
        };
        let Some(place) = entry.place.clone() else {
            entry.waiting.push(name());
            return Seen::Waits;
        };
        let is_same = entry.version == version(metadata);
        entry.left = entry.left.saturating_sub(1);
        if entry.left == 0 {
            table.remove(&key);
        }
        if is_same { Seen::Again(place) } else { Seen::Changed }
    }

    /// The first name is whole, at this place. Returns the names that waited for it.
    pub(crate) fn copied(&self, key: LinkKey, folder: &Hold<'j>, name: &[u8]) -> Vec<Name<'j>> {
        let place = folder.below_top(name).into();
        let mut table = self.table.lock();
        let Some(entry) = table.get_mut(&key) else { return Vec::new() };
        entry.place = Some(place);
        std::mem::take(&mut entry.waiting)
    }

    /// The first name was not copied. Returns the names that waited for it; the next one that is
    /// met becomes the first.
    pub(crate) fn failed(&self, key: LinkKey) -> Vec<Name<'j>> {
        self.table.lock().remove(&key).map(|entry| entry.waiting).unwrap_or_default()
    }

    /// Forgets the waiting names, because the copy has ended.
    pub(crate) fn clear(&self) {
        let left = std::mem::take(&mut *self.table.lock());
        // Without the lock, because dropping a folder may finish it.
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

    /// A key without a birth time, as on filesystems that report none.
    fn key(metadata: &Metadata) -> LinkKey {
        LinkKey::new(metadata, None)
    }

    #[test]
    fn a_full_table_keeps_its_entries() {
        let links = Links { files_max: 1, ..Links::default() };
        let name = || unreachable!("nothing waits here");
        let see = |ino| links.see(key(&with_number(ino)), &with_number(ino), name);
        assert!(matches!(see(1), Seen::First));
        for _ in 0..2 {
            assert!(matches!(see(2), Seen::First), "there is no room for it");
        }
        assert!(links.failed(key(&with_number(2))).is_empty());
        links.table.lock().get_mut(&key(&with_number(1))).unwrap().place = Some(Box::from(&b"first"[..]));
        for _ in 0..2 {
            assert!(matches!(see(1), Seen::Again(place) if *place == b"first"[..]));
        }
        assert!(links.table.lock().is_empty(), "all names are met");
        assert!(matches!(see(2), Seen::First) && links.table.lock().len() == 1);
    }

    #[test]
    fn reused_inodes_and_changed_contents_are_not_linked() {
        let links = Links::default();
        let name = || unreachable!("nothing waits here");
        let at = |secs| Some(Timestamp { secs, nanos: 0 });
        let file = with_number(1);
        let (old, new) = (LinkKey::new(&file, at(1)), LinkKey::new(&file, at(2)));
        assert!(matches!(links.see(old, &file, name), Seen::First));
        links.table.lock().get_mut(&old).unwrap().place = Some(Box::from(&b"first"[..]));
        assert!(matches!(links.see(new, &file, name), Seen::First), "another file has that number");
        let grown = Metadata { size: 2, ..file };
        assert!(matches!(links.see(old, &grown, name), Seen::Changed));
        let later = Metadata { mtime: Timestamp { secs: 1, nanos: 0 }, ..file };
        assert!(matches!(links.see(old, &later, name), Seen::Changed), "all names are met");
        assert!(matches!(links.see(old, &file, name), Seen::First));
    }
}
