//! Makes symbolic and hard links.
mod copies;

use std::io;
use std::sync::Arc;

use ringway_model::{FailureReason, Operation};
use ringway_sys::attributes::Metadata;
use ringway_wire::Name;
use ringway_wire::lane::{Entry, EntryKind};

use crate::disk::NameIn;
use crate::receive::Incoming;
use crate::receive::failures::{EntryError, LaneError, Trouble, during, spool_error};
use crate::receive::lane::Worker;
use crate::receive::lane::small_files::taken_in_staging;
use crate::receive::links::LinkRecord;
use crate::receive::links::unplaced::Unplaced;
use crate::receive::merge::attributes::timestamp;
use crate::receive::merge::folders::Folder;
use crate::receive::merge::landing::{Decision, Landed};
use crate::receive::staging::exchanges::take_away;
use crate::receive::staging::spot::Spot;
use copies::cannot_link;

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
        let decision = if folder.is_staged() { Decision::Absent } else { incoming.policy.decide(folder, entry)? };
        let stays = matches!(decision, Decision::Kept | Decision::Beside | Decision::Same);
        let _opening = if stays { None } else { folder.open_for_change(&incoming.openings) };
        let mut dressed = Ok(());
        let landed = match decision {
            Decision::Kept => Landed::Kept,
            Decision::Beside => incoming.policy.landed_beside(folder, entry, &incoming.results.edits),
            Decision::Same => {
                // An attempt that was killed may have made it, and come no further.
                dressed = incoming.policy.touch_up_link(folder, name, &entry.attributes);
                Landed::Unchanged
            }
            Decision::Absent => match folder.dir.symlink(target, name) {
                Ok(()) => {
                    let dressed = incoming.policy.attributes.set_link_attributes(&folder.dir, name, &entry.attributes);
                    self.note_link(folder, name, &Landed::There);
                    incoming.policy.top.note_landed_link(folder, name, timestamp(entry.attributes.mtime));
                    return dressed.map_err(during(Operation::Metadata));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_staged() => {
                    return Err(taken_in_staging(folder, name).into());
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    let decision = incoming.policy.decide(folder, entry)?;
                    self.land_symlink(folder, entry, target, decision)?
                }
                Err(error) => return Err(incoming.not_named(folder, name, Operation::Create, error)),
            },
            decision => self.land_symlink(folder, entry, target, decision)?,
        };
        let name = if let Landed::As(numbered) | Landed::Beside(numbered) = &landed { numbered } else { name };
        self.note_link(folder, name, &landed);
        if landed == Landed::Kept && !incoming.policy.is_skipped(&landed) {
            incoming.policy.top.share_version(folder, entry, &landed);
        }
        if landed == Landed::There {
            incoming.policy.top.note_landed_link(folder, name, timestamp(entry.attributes.mtime));
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
        let NameIn { dir, name } = spot.place(folder, entry.name.as_bytes());
        dir.symlink(target, name).map_err(self.incoming.staging.or_gone(Operation::Create))?;
        let dressed = self.incoming.policy.attributes.set_link_attributes(dir, name, &entry.attributes);
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
            let staging = Arc::clone(&self.incoming.staging.dir);
            return Ok(Spot::Beside(staging, self.incoming.name_beside(folder)));
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
        let target = self.folders.folder(place.path)?;
        self.link_to(&target, &place, folder, entry)
    }

    fn link_to(
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
        let was_ours = incoming.policy.top.is_ours(target, target_name, &was);
        let linked = |folder: &Folder, name: &[u8]| {
            if let Ok(now) = folder.dir.metadata(name)
                && is_it(&now)
                && (was_ours || target.is_staged())
            {
                incoming.policy.top.note_changed(target, target_name, &was, &now);
                incoming.policy.top.note_changed(folder, name, &was, &now);
            }
        };
        if target.is_staged() && !folder.is_staged() {
            // A name that everybody sees, before the staging tree is synchronised. By a descriptor
            // from before it was written: one that is opened now knows of no error that somebody
            // was told.
            incoming.staging.settle_staged().map_err(during(Operation::Sync))?;
        }
        let is_done = folder.is_staged() || folder.dir.metadata(name).is_ok_and(|there| is_it(&there));
        let _opening = if is_done { None } else { folder.open_for_change(&incoming.openings) };
        match folder.dir.hard_link(&target.dir, target_name, name) {
            Ok(()) => {
                if !folder.is_staged() && !folder.dir.metadata(name).is_ok_and(|there| is_it(&there)) {
                    let target = NameIn { dir: &target.dir, name: target_name };
                    return unlink_anothers(incoming, target, folder, name);
                }
                self.note_link(folder, name, &Landed::There);
                linked(folder, name);
                return Ok(Linked::Done);
            }
            Err(error) if cannot_link(&error) => return self.copy_linked(target, place, folder, entry, &error),
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(incoming.not_named(folder, name, Operation::Link, error));
            }
            Err(_) if folder.is_staged() => return Err(taken_in_staging(folder, name).into()),
            Err(_) => {}
        }
        let there = folder.dir.metadata(name).map_err(during(Operation::Link))?;
        if is_it(&there) {
            if !folder.has_exactly(name).map_err(during(Operation::Read))? {
                return Err(EntryError::IN_THE_WAY.into());
            }
            self.note_link(folder, name, &Landed::Unchanged);
            return Ok(Linked::Done);
        }
        // Never the same as what is there: a link's own attributes say nothing, so it is only kept,
        // numbered or replaced.
        let decision = incoming.policy.decide(folder, entry)?;
        if decision == Decision::Number {
            // Nothing is tried in the folder: it may be read-only, and its time would change.
            let whole = Spot::Part(Arc::clone(&target.dir), target_name.to_vec());
            if incoming.has_version(&was, &whole, folder, entry) {
                self.note_link(folder, name, &Landed::Unchanged);
                return Ok(Linked::Done);
            }
        }
        let beside = match decision {
            Decision::Edited => incoming.policy.top.beside_where(folder, entry, |_, there| is_it(there)),
            _ => None,
        };
        let landed = if let Some(beside) = beside {
            incoming.results.edits.note(folder, entry, &beside);
            Landed::Beside(beside)
        } else if matches!(decision, Decision::Same | Decision::Kept) {
            Landed::Kept
        } else {
            let spot = self.spot(folder, entry.name.as_bytes())?;
            let NameIn { dir, name: part } = spot.place(folder, name);
            match dir.hard_link(&target.dir, target_name, part) {
                Err(error) if cannot_link(&error) => return self.copy_linked(target, place, folder, entry, &error),
                linked => linked.map_err(incoming.staging.or_gone(Operation::Link))?,
            }
            if !dir.metadata(part).is_ok_and(|there| is_it(&there)) {
                spot.discard(folder, name);
                linked(target, target_name);
                return Ok(Linked::NoFile);
            }
            incoming.land(&spot, folder, entry, decision).inspect_err(|_| {
                spot.discard(folder, name);
                linked(target, target_name);
            })?
        };
        let name = if let Landed::As(numbered) | Landed::Beside(numbered) = &landed { numbered } else { name };
        self.note_link(folder, name, &landed);
        match landed.is_unchanged() {
            true => linked(target, target_name),
            false => linked(folder, name),
        }
        Ok(Linked::Done)
    }

    /// Makes the links that came before their files.
    pub(in crate::receive) fn make_early_links(&mut self) -> Result<(), LaneError> {
        let mut early = std::mem::take(&mut *self.incoming.deferred.early_links.lock());
        let mut cursor = early.last(0);
        while let Some(at) = cursor {
            let (record, before) = early.read(at).map_err(spool_error(Operation::Read))?;
            cursor = before;
            let Some(link) = LinkRecord::decode(&record) else { continue };
            if let Err(trouble) = self.make_early_link(&link) {
                self.report(trouble, link.path.as_bytes(), Some(link.name.as_bytes()))?;
            }
        }
        Ok(())
    }

    fn make_early_link(&mut self, link: &LinkRecord<'_>) -> Result<(), Trouble> {
        let folder = self.folders.folder(link.path)?;
        let entry = Entry {
            name: link.name,
            kind: EntryKind::HardLink { link_id: link.id, last: false },
            attributes: Default::default(),
            xattrs: Default::default(),
        };
        match self.hard_link(&folder, &entry, link.id, false)? {
            Linked::Done => Ok(()),
            Linked::NoFile => {
                if !folder.is_staged() && self.incoming.policy.decide(&folder, &entry)? == Decision::Kept {
                    // What has its name stays, whether or not its file is here.
                    self.note_link(&folder, link.name.as_bytes(), &Landed::Kept);
                    return Ok(());
                }
                let reason = FailureReason::LinkTargetMissing;
                Err(EntryError { operation: Operation::Link, reason }.into())
            }
        }
    }

    /// Makes a name of a file whose first name could not be had.
    fn link_unplaced(&mut self, folder: &Folder, entry: &Entry<'_>, id: u64) -> Result<Linked, Trouble> {
        let incoming = self.incoming;
        let (dir, name, identity) = match incoming.deferred.unplaced.lock().get(&id) {
            Some(Unplaced { dir, name, identity }) => (Arc::clone(dir), name.clone(), *identity),
            None => return Ok(Linked::NoFile),
        };
        let Ok(name) = Name::new(&name) else { return Ok(Linked::NoFile) };
        incoming.admit(folder, entry.name.as_bytes())?;
        let place = LinkRecord::of_unplaced(id, name, identity);
        self.link_to(&Folder::of_staging(dir), &place, folder, entry)
    }
}

/// Removes a new name of a file that somebody has put in the place of the one to be linked to. What
/// somebody has saved under the new name since stays.
fn unlink_anothers(incoming: &Incoming, target: NameIn<'_>, folder: &Folder, name: &[u8]) -> Result<Linked, Trouble> {
    let identity = |there: &Metadata| (there.dev, there.ino);
    let anothers = target.dir.metadata(target.name).ok();
    match (anothers, folder.dir.metadata(name).ok()) {
        (Some(anothers), Some(there)) if identity(&anothers) == identity(&there) => {
            let (staging, path) = (&incoming.staging, incoming.root.here(&folder.path));
            let file = NameIn { dir: &folder.dir, name };
            take_away(&staging.dir, &staging.temporaries.next(), &path, file, &there)
                .map_err(during(Operation::Remove))?;
            Ok(Linked::NoFile)
        }
        (_, None) => Ok(Linked::NoFile),
        _ => Err(EntryError::IN_THE_WAY.into()),
    }
}
