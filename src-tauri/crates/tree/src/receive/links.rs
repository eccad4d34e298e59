//! Makes symbolic and hard links; remembers where files with several names are, and the links that
//! came before their file.
pub(super) mod copies;
pub(super) mod unplaced;

use std::collections::{HashMap, VecDeque};
use std::io;

use crate::disk::Dir;
use ringway_model::{FailureReason, Operation};
use ringway_sys::attributes::Metadata;
use ringway_wire::lane::{Entry, EntryKind};
use ringway_wire::limits::{KEPT_LINK_SETS_MAX, LINK_SETS_MAX};
use ringway_wire::{Name, RelPath};

use super::Incoming;
use super::failures::{EntryError, Trouble, during, spool_error};
use super::lane::Worker;
use super::links::copies::cannot_link;
use super::merge::attributes::timestamp;
use super::merge::folders::{Folder, Landing};
use super::merge::landing::{Decision, Landed};
use super::staging::spool::Spool;
use super::staging::spot::Spot;

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
    fn find(&mut self, id: u64) -> io::Result<Option<Vec<u8>>> {
        let Some(at) = self.places.get(&id) else { return Ok(None) };
        self.records.read(*at).map(|(record, _)| Some(record))
    }

    fn end(&mut self, id: u64) {
        if self.ended.len() >= LINK_SETS_MAX {
            self.ended.pop_front();
        }
        self.ended.push_back(id);
    }
}

/// What became of a hard link.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Linked {
    Done,
    /// Its file is not there, or not yet.
    NoFile,
}

impl Worker<'_> {
    /// Makes a symbolic link. Its target is text and is not looked at.
    pub(super) fn symlink(&mut self, folder: &Folder, entry: &Entry<'_>, target: &[u8]) -> Result<(), Trouble> {
        let incoming = self.incoming;
        let name = entry.name.as_bytes();
        incoming.admit(folder, name)?;
        let decision = if folder.is_staged() { Decision::Absent } else { incoming.decide(folder, entry)? };
        let stays = matches!(decision, Decision::Kept | Decision::Beside | Decision::Same);
        let _opening = if stays { None } else { incoming.open_for_change(folder) };
        let mut dressed = Ok(());
        let landed = match decision {
            Decision::Kept => Landed::Kept,
            Decision::Beside => incoming.landed_beside(folder, entry),
            Decision::Same => {
                // An attempt that was killed may have made it, and come no further.
                dressed = incoming.touch_up_link(folder, name, &entry.attributes);
                Landed::Unchanged
            }
            Decision::Absent => match folder.dir.symlink(target, name) {
                Ok(()) => {
                    let dressed = incoming.set_link_attributes(&folder.dir, name, &entry.attributes);
                    incoming.note_link(folder, name, &Landed::There);
                    incoming.note_landed_link(folder, name, timestamp(entry.attributes.mtime));
                    return dressed.map_err(during(Operation::Metadata));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_staged() => {
                    return Err(super::lane::small_files::taken_in_staging(folder, name).into());
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    let decision = incoming.decide(folder, entry)?;
                    self.land_symlink(folder, entry, target, decision)?
                }
                Err(error) => return Err(incoming.not_named(folder, name, Operation::Create, error)),
            },
            decision => self.land_symlink(folder, entry, target, decision)?,
        };
        let name = if let Landed::As(numbered) | Landed::Beside(numbered) = &landed { numbered } else { name };
        incoming.note_link(folder, name, &landed);
        if landed == Landed::There {
            incoming.note_landed_link(folder, name, timestamp(entry.attributes.mtime));
        }
        dressed.map_err(during(Operation::Metadata))
    }

    fn land_symlink(
        &mut self,
        folder: &Folder,
        entry: &Entry<'_>,
        target: &[u8],
        decision: Decision,
    ) -> Result<Landed, Trouble> {
        let spot = self.spot(folder, entry.name.as_bytes())?;
        let (dir, name) = spot.place(folder, entry.name.as_bytes());
        dir.symlink(target, name).map_err(self.incoming.or_gone(Operation::Create))?;
        let dressed = self.incoming.set_link_attributes(dir, name, &entry.attributes);
        let landed = self.incoming.land(&spot, folder, entry, decision);
        if landed.is_err() {
            spot.discard(folder, entry.name.as_bytes());
        }
        dressed.map_err(during(Operation::Metadata))?;
        landed
    }

    /// Where a link that replaces something is made first.
    fn spot(&mut self, folder: &Folder, name: &[u8]) -> Result<Spot, Trouble> {
        if self.incoming.is_foreign(folder, name, &self.parts)? {
            return Ok(Spot::Beside(self.incoming.temporary_name()));
        }
        Ok(Spot::Part(self.parts.clone(), self.next_part()))
    }

    /// Makes a hard link to a file of this transfer, if that is there.
    pub(super) fn hard_link(
        &mut self,
        folder: &Folder,
        entry: &Entry<'_>,
        id: u64,
        last: bool,
    ) -> Result<Linked, Trouble> {
        let incoming = self.incoming;
        let place = {
            let mut links = incoming.deferred.links.lock();
            let place = links.find(id).map_err(during(Operation::Link))?;
            if last {
                links.end(id);
            }
            place
        };
        let Some(place) = place.as_deref().and_then(LinkRecord::decode) else {
            return self.link_unplaced(folder, entry, id);
        };
        incoming.admit(folder, entry.name.as_bytes())?;
        let target = self.folders.folder(incoming, place.path)?;
        self.link_to(&target, &place, folder, entry)
    }

    pub(super) fn link_to(
        &mut self,
        target: &Folder,
        place: &LinkRecord<'_>,
        folder: &Folder,
        entry: &Entry<'_>,
    ) -> Result<Linked, Trouble> {
        let incoming = self.incoming;
        let (target_name, name) = (place.name.as_bytes(), entry.name.as_bytes());
        // Somebody may have given the file's name to another one meanwhile, which is not theirs to
        // link to who sent this.
        let is_it = |there: &Metadata| Some((there.dev, there.ino)) == place.identity;
        let Some(was) = target.dir.metadata(target_name).ok().filter(is_it) else { return Ok(Linked::NoFile) };
        let was_ours = incoming.is_ours(target, target_name, &was);
        let linked = |name: &[u8]| {
            if let Ok(now) = folder.dir.metadata(name)
                && is_it(&now)
                && (was_ours || target.is_staged())
            {
                incoming.note_changed(target, target_name, &was, &now);
                incoming.note_changed(folder, name, &was, &now);
            }
        };
        if target.is_staged() && !folder.is_staged() {
            // A name that everybody sees, before the staging tree is synchronised. By a descriptor
            // from before it was written: one that is opened now knows of no error that somebody
            // was told.
            incoming.settle_staged().map_err(during(Operation::Sync))?;
        }
        let is_done = folder.is_staged() || folder.dir.metadata(name).is_ok_and(|there| is_it(&there));
        let _opening = if is_done { None } else { incoming.open_for_change(folder) };
        match folder.dir.hard_link(&target.dir, target_name, name) {
            Ok(()) => {
                if !folder.is_staged() && !folder.dir.metadata(name).is_ok_and(|there| is_it(&there)) {
                    folder.dir.unlink(name).map_err(during(Operation::Link))?;
                    return Ok(Linked::NoFile);
                }
                incoming.note_link(folder, name, &Landed::There);
                linked(name);
                return Ok(Linked::Done);
            }
            Err(error) if cannot_link(&error) => return self.copy_linked(target, place, folder, entry, &error),
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(incoming.not_named(folder, name, Operation::Link, error));
            }
            Err(_) if folder.is_staged() => return Err(super::lane::small_files::taken_in_staging(folder, name).into()),
            Err(_) => {}
        }
        let there = folder.dir.metadata(name).map_err(during(Operation::Link))?;
        if is_it(&there) {
            if !folder.has_exactly(name).map_err(during(Operation::Read))? {
                return Err(EntryError::IN_THE_WAY.into());
            }
            incoming.note_link(folder, name, &Landed::Unchanged);
            return Ok(Linked::Done);
        }
        // Never the same as what is there: a link's own attributes say nothing, so it is only kept,
        // numbered or replaced.
        let decision = incoming.decide(folder, entry)?;
        let beside = match decision {
            Decision::Edited => incoming.beside_where(folder, entry, |_, there| is_it(there)),
            _ => None,
        };
        let landed = if let Some(beside) = beside {
            incoming.note_edit(folder, entry, &beside);
            Landed::Beside(beside)
        } else if matches!(decision, Decision::Same | Decision::Kept) {
            Landed::Kept
        } else {
            let spot = self.spot(folder, entry.name.as_bytes())?;
            let (dir, part) = spot.place(folder, name);
            match dir.hard_link(&target.dir, target_name, part) {
                Err(error) if cannot_link(&error) => return self.copy_linked(target, place, folder, entry, &error),
                linked => linked.map_err(incoming.or_gone(Operation::Link))?,
            }
            if !dir.metadata(part).is_ok_and(|there| is_it(&there)) {
                spot.discard(folder, name);
                return Ok(Linked::NoFile);
            }
            incoming.land(&spot, folder, entry, decision).inspect_err(|_| spot.discard(folder, name))?
        };
        let name = if let Landed::As(numbered) | Landed::Beside(numbered) = &landed { numbered } else { name };
        incoming.note_link(folder, name, &landed);
        if !landed.is_unchanged() {
            linked(name);
        }
        Ok(Linked::Done)
    }

    /// Makes the links that came before their files.
    pub(super) fn make_early_links(&mut self) -> Result<(), super::LaneError> {
        let mut early = std::mem::take(&mut *self.incoming.deferred.early_links.lock());
        let mut cursor = early.last(0);
        while let Some(at) = cursor {
            let (record, before) = early.read(at).map_err(|error| spool_error(&error))?;
            cursor = before;
            let Some(link) = LinkRecord::decode(&record) else { continue };
            if let Err(trouble) = self.make_early_link(&link) {
                self.report(trouble, link.path.as_bytes(), Some(link.name.as_bytes()))?;
            }
        }
        Ok(())
    }

    fn make_early_link(&mut self, link: &LinkRecord<'_>) -> Result<(), Trouble> {
        let folder = self.folders.folder(self.incoming, link.path)?;
        let entry = Entry {
            name: link.name,
            kind: EntryKind::HardLink { link_id: link.id, last: false },
            attributes: Default::default(),
            xattrs: Default::default(),
        };
        match self.hard_link(&folder, &entry, link.id, false)? {
            Linked::Done => Ok(()),
            Linked::NoFile => {
                if !folder.is_staged() && self.incoming.decide(&folder, &entry)? == Decision::Kept {
                    // What has its name stays, whether or not its file is here.
                    self.incoming.note_link(&folder, link.name.as_bytes(), &Landed::Kept);
                    return Ok(());
                }
                let reason = FailureReason::LinkTargetMissing;
                Err(EntryError { operation: Operation::Link, reason }.into())
            }
        }
    }
}

impl Incoming {
    /// Books a link that is there.
    pub(super) fn note_link(&self, folder: &Folder, name: &[u8], landed: &Landed) {
        self.results.tally.link();
        self.count_landed(folder, landed);
        if folder.landing == Landing::Root {
            self.note_arrived(name, *landed == Landed::There);
        }
    }

    /// Puts a link aside whose file is not there yet.
    pub(super) fn defer_link(&self, path: RelPath<'_>, name: Name<'_>, id: u64) -> Result<(), Trouble> {
        self.deferred
            .early_links
            .lock()
            .push(0, &encode(id, Place { path, name: name.as_bytes(), identity: None }), &self.staging.dir)
            .map_err(during(Operation::Link))
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
    id: u64,
    path: RelPath<'a>,
    pub(super) name: Name<'a>,
    pub(super) identity: Option<(u64, u64)>,
}

impl<'a> LinkRecord<'a> {
    pub(super) fn of_unplaced(id: u64, name: Name<'a>, identity: (u64, u64)) -> Self {
        Self { id, path: RelPath::ROOT, name, identity: Some(identity) }
    }

    fn decode(record: &'a [u8]) -> Option<Self> {
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

fn encode(id: u64, place: Place<'_>) -> Vec<u8> {
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
