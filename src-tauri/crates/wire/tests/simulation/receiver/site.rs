//! What stays of the receiving end when its program does not: its disk, and what must not be sent
//! again.
use std::collections::{HashMap, HashSet};

use ringway_model::Shortage;
use ringway_wire::journal::{Version, replay};
use ringway_wire::lane::Timestamp;
use ringway_wire::resume::{self, Belief, JOURNAL, TREE};
use ringway_wire::stretches::Stretches;

use super::Receiver;
use crate::disk::{Disk, File, Promise};

/// The staging folder, and the marker in it.
pub(crate) const STAGING: &[u8] = b".ringway-0123456789abcdef";
pub(super) const BEGUN: &[u8] = b"begun";

/// What stays when the receiving program does not.
pub(crate) struct Site {
    pub(crate) disk: Disk,
    pub(crate) boot: u32,
    /// The disk takes so long to synchronise that nobody waits for it.
    pub(crate) is_slow: bool,
    /// Something was written to the folder under its final name, file by file.
    pub(crate) was_merged: bool,
    /// And then the power went.
    pub(crate) was_torn: bool,
    /// What must not be sent again: what was there whole, or noted, when it was.
    pub(crate) held: HashMap<Version, Held>,
    /// Files under their final names that somebody here has written to.
    pub(crate) foreign: HashSet<Vec<u8>>,
    /// What the program remembers of a transfer that it has accepted and that may be offered again.
    pub(crate) remembered: Option<Remembered>,
    /// A session that is taken for alive, though its sender has lost it.
    pub(crate) lingering: Option<Box<Receiver>>,
}

#[derive(Clone)]
pub(crate) enum Held {
    Whole,
    Noted(Stretches),
}

/// A transfer that was accepted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Remembered {
    pub(crate) transfer: [u8; 16],
    pub(crate) state: Standing,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    Open,
    /// The disk was full, and nobody has said that it may go on all the same.
    Full,
    Stopped,
    Received,
    /// A person here has paused it.
    Paused,
}

impl Site {
    /// When the first attempt began.
    pub(super) fn begun(&mut self) -> Option<Timestamp> {
        let (node, marker) = self.disk.file(&staged(&[BEGUN]))?;
        let noted = marker.mtime;
        let begun = resume::begun(noted, Timestamp { secs: self.disk.wall_secs, nanos: 0 });
        if begun != noted {
            self.disk.set_time(node, begun);
        }
        Some(begun)
    }

    /// Whether recorded syncs cover so little of what is staged that it is compared.
    pub(crate) fn compares(&self) -> bool {
        let (mut durable, mut doubtful) = (0, 0);
        let journal = [b"/", JOURNAL].concat();
        for (_, file) in self.disk.tree(STAGING).iter().filter(|(path, _)| path.ends_with(&journal)) {
            let noted = replay(&file.bytes);
            durable += noted.durable_bytes;
            doubtful += noted.doubtful_bytes;
        }
        Belief::in_what_is_noted(durable, doubtful) == Belief::Compared
    }

    /// What must not be sent again where the program was killed or the power went: what has its
    /// final name and is whole. Of what is staged, some may be sent again, if it is little.
    /// `is_whole` says whether a file is that version.
    pub(crate) fn survey(&mut self, is_whole: impl Fn(&Version, &File) -> bool) {
        let there = self.disk.tree(b"");
        self.held.retain(|version, held| {
            let file = there.get(&[b"/", &path_of(version)[..]].concat());
            matches!(held, Held::Whole) && file.is_some_and(|file| is_whole(version, file))
        });
    }

    /// The same where nothing has happened to the disk.
    pub(crate) fn forget_staged(&mut self) {
        self.survey(|version, file| (file.size, file.mtime) == (version.size, version.mtime));
    }

    /// A file has got all that makes it whole, where it lies.
    pub(super) fn is_whole(&mut self, version: &Version, place: &[u8]) {
        let whole = self.disk.file(place).is_some_and(|(_, file)| !file.is_rotten());
        if whole {
            self.held.insert(version.clone(), Held::Whole);
        } else {
            self.held.remove(version);
        }
    }

    /// And gets its name in a folder that everybody sees.
    pub(super) fn land(&mut self, version: &Version, place: &[u8]) {
        let path = path_of(version);
        self.disk.rename_over(place, &path);
        self.held.retain(|held, _| path_of(held) != path || held == version);
        self.was_merged = true;
        self.foreign.remove(&path);
    }

    /// What its filesystem must promise for what has been done there: a folder that appears as a
    /// whole needs nothing.
    pub(crate) fn promise(&self) -> Promise {
        if self.was_merged { Promise::Order } else { Promise::Nothing }
    }

    /// A person says so.
    pub(crate) fn goes_on(&mut self) {
        if let Some(one) = self.remembered.as_mut().filter(|one| one.state == Standing::Full) {
            one.state = Standing::Open;
        }
    }

    /// What a person here has paused goes on.
    pub(crate) fn resumed(&mut self) {
        if let Some(one) = self.remembered.as_mut().filter(|one| one.state == Standing::Paused) {
            one.state = Standing::Open;
        }
    }

    /// What the disk is said to lack.
    pub(crate) fn shortage(&self) -> Shortage {
        let free = self.disk.room.unwrap_or(0) as u64;
        Shortage { needed: free + u64::from(self.boot), free, entries: self.disk.names(STAGING).len() as u64 }
    }

    pub(super) fn remembers(&mut self, transfer: [u8; 16], state: Standing) {
        if self.remembered.is_some_and(|one| one.transfer == transfer) {
            self.remembered = Some(Remembered { transfer, state });
        }
    }
}

pub(crate) fn path_of(version: &Version) -> Vec<u8> {
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
