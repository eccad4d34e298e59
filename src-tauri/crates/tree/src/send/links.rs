//! Files with several names, as the walk meets them, and whether the receiver has the file to which
//! further names are linked.
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use ringway_sys::attributes::{Metadata, Timestamp};
use ringway_wire::limits::{KEPT_LINK_SETS_MAX, LINK_SETS_MAX};

use super::attributes::{self, Identity};

/// The most link sets that are remembered at once. It is less than the receiver's limit, because
/// with several lanes the receiver may be a little behind.
const LINK_SETS_SENT_MAX: usize = LINK_SETS_MAX / 4 * 3;

/// Files with several names, while more of them may be found.
#[derive(Default)]
pub(super) struct Links {
    sets: HashMap<Identity, Found>,
    next_id: u64,
}

struct Found {
    set: Arc<LinkSet>,
    /// Names not found yet, by the count when the first was found.
    left: u64,
}

pub(super) enum Seen {
    /// It has one name, or too many files with several names are remembered. It is sent by itself.
    Alone,
    First(Arc<LinkSet>),
    Again(FurtherName),
}

/// Another name of a file of which the walk met one before.
#[derive(Clone)]
pub(super) struct FurtherName {
    pub(super) set: Arc<LinkSet>,
    /// No more are to be found.
    pub(super) last: bool,
}

/// One file that the walk met under several names.
pub(super) struct LinkSet {
    pub(super) id: u64,
    /// Its metadata when the walk saw its first name.
    file: Metadata,
    /// Its birth time, if its filesystem reports it. An inode number may belong to another file by
    /// now.
    born: Option<Timestamp>,
    state: Mutex<State>,
    /// Whether the receiver keeps its own file under one of the names.
    is_kept: AtomicBool,
}

/// The state of a link set's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It is to be sent under one of its names.
    Pending,
    /// The receiver has this version, or is about to. Further names may be links to it.
    There(Version),
    /// It could not be sent under the names that were tried. The next one carries the contents.
    Lost,
}

/// Identifies a version of a file's contents: its size and modification time.
type Version = (u64, Timestamp);

fn version(metadata: &Metadata) -> Version {
    (metadata.size, metadata.mtime)
}

/// What a lane does with another name of a link set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Further {
    /// Sends a link, if the name still has the contents that the receiver has.
    Link(Version),
    /// Sends the file under this name. The set is pending until it is settled again.
    File,
    /// Tries again once a set was settled.
    Wait,
}

impl Links {
    /// Handles a name; `born` gets the file's birth time.
    pub(super) fn see(&mut self, metadata: &Metadata, born: impl FnOnce() -> Option<Timestamp>) -> Seen {
        if metadata.nlink < 2 {
            return Seen::Alone;
        }
        let identity = attributes::identity(metadata);
        if let Some(found) = self.sets.get_mut(&identity) {
            // Another file may have got the inode number. If this check does not show it, the birth
            // time will.
            if !attributes::same_contents(&found.set.file, metadata) {
                return Seen::Alone;
            }
            found.left -= 1;
            let (set, last) = (found.set.clone(), found.left == 0);
            if last {
                self.sets.remove(&identity);
            }
            return Seen::Again(FurtherName { set, last });
        }
        if self.sets.len() >= LINK_SETS_SENT_MAX {
            return Seen::Alone;
        }
        let state = Mutex::new(State::Pending);
        let is_kept = AtomicBool::new(false);
        let set = Arc::new(LinkSet { id: self.next_id, file: *metadata, born: born(), state, is_kept });
        self.next_id += 1;
        self.sets.insert(identity, Found { set: set.clone(), left: metadata.nlink - 1 });
        Seen::First(set)
    }
}

impl LinkSet {
    /// Whether this is still the file that the walk saw, whatever its contents.
    pub(super) fn is(&self, metadata: &Metadata, born: Option<Timestamp>) -> bool {
        attributes::identity(metadata) == attributes::identity(&self.file) && born == self.born
    }

    /// Whether it is that file, and its contents are still those that the receiver has.
    pub(super) fn is_as(&self, sent: Version, metadata: &Metadata, born: Option<Timestamp>) -> bool {
        version(metadata) == sent && self.is(metadata, born)
    }

    /// What to do with another name. A lane that gets [`Further::File`] must settle the set.
    pub(super) fn further(&self) -> Further {
        let mut state = self.state.lock();
        match *state {
            State::Pending => Further::Wait,
            State::There(version) => Further::Link(version),
            State::Lost => {
                *state = State::Pending;
                Further::File
            }
        }
    }

    /// Settles a name that the receiver keeps as it is, whatever file that is. No other name is
    /// linked to it. Returns whether it counts as a link, because another name is kept already.
    pub(super) fn keep(&self) -> bool {
        self.settle(None);
        self.id < KEPT_LINK_SETS_MAX && self.is_kept.swap(true, Ordering::Relaxed)
    }

    pub(super) fn is_pending(&self) -> bool {
        *self.state.lock() == State::Pending
    }

    /// Reports what the receiver gets under the tried name: the file as it was when it was read, or
    /// nothing.
    pub(super) fn settle(&self, there: Option<&Metadata>) {
        *self.state.lock() = there.map_or(State::Lost, |there| State::There(version(there)));
    }
}
