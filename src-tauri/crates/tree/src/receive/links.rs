//! Remembers where files with several names are, and the links that came before their file.
pub(super) mod unplaced;

use std::collections::{HashMap, VecDeque};
use std::io;

use crate::disk::Dir;
use ringway_wire::limits::{KEPT_LINK_SETS_MAX, LINK_SETS_MAX};
use ringway_wire::{Name, RelPath};

use super::staging::spool::Spool;

/// Files with several names that are there: ids in memory, names in a spool, for paths may be as
/// long as a peer likes.
#[derive(Default)]
pub(super) struct Links {
    /// Where each one's record is.
    places: HashMap<u64, u64>,
    records: Spool,
    /// Ids whose last name has come, oldest first. Another lane may still carry earlier ones, so
    /// they go only when room is needed.
    ended: VecDeque<u64>,
    /// A bit for each id of which a listed name has stayed as it was.
    kept: Vec<u64>,
}

impl Links {
    /// Remembers a file that has its name; when nothing can be forgotten for it, links to it will
    /// be reported as missing theirs.
    ///
    /// # Errors
    /// It cannot be written down.
    pub(super) fn insert(&mut self, id: u64, place: Place<'_>, staging: &Dir) -> io::Result<()> {
        while self.places.len() >= LINK_SETS_MAX {
            match self.ended.pop_front() {
                Some(ended) => self.places.remove(&ended),
                None => return Ok(()),
            };
        }
        let at = self.records.push_behind(None, &encode(id, place), staging)?;
        self.places.insert(id, at);
        Ok(())
    }

    /// The file is not there any more.
    pub(super) fn forget(&mut self, id: u64) {
        self.places.remove(&id);
    }

    /// Notes that a listed name of a file stays as it is. Whether another one of the same file did
    /// before.
    pub(super) fn keep(&mut self, id: u64) -> bool {
        if id >= KEPT_LINK_SETS_MAX {
            return false;
        }
        let (at, bit) = ((id / 64) as usize, 1_u64 << (id % 64));
        if self.kept.len() <= at {
            self.kept.resize(at + 1, 0);
        }
        let was = self.kept[at];
        self.kept[at] |= bit;
        was & bit != 0
    }

    /// Whether there is room for as many again, so that names may wait.
    pub(super) fn may_wait(&self) -> bool {
        self.places.len() < LINK_SETS_MAX / 2
    }

    /// The record of where a file is.
    pub(super) fn find(&mut self, id: u64) -> io::Result<Option<Vec<u8>>> {
        let Some(at) = self.places.get(&id) else { return Ok(None) };
        self.records.read(*at).map(|(record, _)| Some(record))
    }

    pub(super) fn end(&mut self, id: u64) {
        if self.ended.len() >= LINK_SETS_MAX {
            self.ended.pop_front();
        }
        self.ended.push_back(id);
    }
}

/// A name of a file with several.
pub(super) struct Place<'a> {
    pub(super) path: RelPath<'a>,
    pub(super) name: &'a [u8],
    /// Device and inode of the file that has it; none of a name that waits for its file.
    pub(super) identity: Option<(u64, u64)>,
}

/// A [`Place`] as spooled: where the file is, or a link that came before it.
pub(super) struct LinkRecord<'a> {
    pub(super) id: u64,
    pub(super) path: RelPath<'a>,
    pub(super) name: Name<'a>,
    pub(super) identity: Option<(u64, u64)>,
}

impl<'a> LinkRecord<'a> {
    pub(super) fn of_unplaced(id: u64, name: Name<'a>, identity: (u64, u64)) -> Self {
        Self { id, path: RelPath::ROOT, name, identity: Some(identity) }
    }

    pub(super) fn decode(record: &'a [u8]) -> Option<Self> {
        let (id, rest) = record.split_first_chunk::<8>()?;
        let (dev, rest) = rest.split_first_chunk::<8>()?;
        let (ino, rest) = rest.split_first_chunk::<8>()?;
        let (len, rest) = rest.split_first_chunk::<2>()?;
        let (path, name) = rest.split_at_checked(usize::from(u16::from_le_bytes(*len)))?;
        let identity = (u64::from_le_bytes(*dev), u64::from_le_bytes(*ino));
        Some(Self {
            id: u64::from_le_bytes(*id),
            path: RelPath::new(path).ok()?,
            name: Name::new(name).ok()?,
            identity: (identity != NO_IDENTITY).then_some(identity),
        })
    }
}

/// No file has inode 0.
const NO_IDENTITY: (u64, u64) = (0, 0);

pub(super) fn encode(id: u64, place: Place<'_>) -> Vec<u8> {
    let (path, (dev, ino)) = (place.path.as_bytes(), place.identity.unwrap_or(NO_IDENTITY));
    let mut record = Vec::with_capacity(26 + path.len() + place.name.len());
    record.extend_from_slice(&id.to_le_bytes());
    record.extend_from_slice(&dev.to_le_bytes());
    record.extend_from_slice(&ino.to_le_bytes());
    record.extend_from_slice(&(path.len() as u16).to_le_bytes());
    record.extend_from_slice(path);
    record.extend_from_slice(place.name);
    record
}
