//! What stays of the receiving end when its program does not: its disk, and what must not be sent again.
use std::collections::HashMap;

use ringway_wire::journal::Version;
use ringway_wire::lane::Timestamp;
use ringway_wire::resume::{self, JOURNAL, TREE};
use ringway_wire::stretches::Stretches;

use crate::disk::{Disk, Tag};

/// The staging folder, and the marker in it.
pub(crate) const STAGING: &[u8] = b".ringway-0123456789abcdef";
pub(super) const BEGUN: &[u8] = b"begun";

/// What stays when the receiving program does not.
pub(crate) struct Site {
    pub(crate) disk: Disk,
    pub(crate) boot: u32,
    /// Something was written to the folder under its final name, file by file.
    pub(crate) was_merged: bool,
    /// What must not be sent again, by path and tag: what was there whole, or noted, when it was.
    pub(crate) held: HashMap<(Vec<u8>, Tag), Held>,
}

#[derive(Clone)]
pub(crate) enum Held {
    Whole(Timestamp),
    Noted(Stretches),
}

impl Site {
    pub(super) fn boot_id(&self) -> Vec<u8> {
        format!("boot {}", self.boot).into_bytes()
    }

    pub(super) fn begun(&self) -> Option<Timestamp> {
        let (_, marker) = self.disk.file(&staged(&[BEGUN]))?;
        resume::same_boot(&marker.bytes, &self.boot_id()).then_some(marker.mtime)
    }

    /// A file is whole: where it is to be, or for the next attempt to find.
    pub(super) fn is_whole(&mut self, version: &Version, place: &[u8], tag: Tag, is_merged: bool) {
        let (node, path) = (self.disk.file(place).expect("it was made").0, path_of(version));
        self.disk.file_mut(node).mtime = version.mtime;
        if is_merged {
            if self.disk.is_there(&path) {
                self.disk.remove(&path);
            }
            self.disk.rename(place, &path);
            self.was_merged = true;
            self.held.retain(|(held, _), _| *held != path);
        }
        self.held.insert((path, tag), Held::Whole(version.mtime));
    }
}

pub(super) fn path_of(version: &Version) -> Vec<u8> {
    [&version.folder[..], b"/", &version.name].concat()
}

pub(super) fn staged(parts: &[&[u8]]) -> Vec<u8> {
    std::iter::once(STAGING)
        .chain(parts.iter().copied())
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(&b'/')
}

pub(super) fn holds_something(disk: &Disk) -> bool {
    let journal = disk.file(&staged(&[JOURNAL])).is_some_and(|(_, journal)| !journal.bytes.is_empty());
    journal || !disk.names(&staged(&[TREE])).is_empty()
}
