//! Gives what is whole its final name: what to do with what has that name already, and numbered
//! names.
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering;

use crate::disk::{Dir, NameIn};
use ringway_model::{FailureReason, Operation};
use ringway_sys::attributes::{Kind, Metadata, metadata_of};
use ringway_wire::lane::{Entry, EntryKind};
use rustix::io::Errno;

use crate::filesystem::granularity::{as_kept_by, nanos};
use crate::filesystem::own_names::reads_as_own;
use crate::receive::Incoming;
use crate::receive::failures::{EntryError, LaneError, Trouble, during, failed, is, is_full};
use crate::receive::landings::Stamp;
use crate::receive::merge::attributes::timestamp;
use crate::receive::merge::folders::{Folder, Landing};
use crate::receive::numbered::{NameHere, free_number};
use crate::receive::staging::spot::Spot;
use crate::receive::staging::{beside, exchanges};

/// How often an entry is looked at again because its name was taken or freed meanwhile.
const ATTEMPTS_MAX: u32 = 16;

/// What to do about an entry's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::receive) enum Decision {
    /// It is free.
    Absent,
    /// What has it goes when the new one is whole.
    Replace,
    /// The new one gets a number.
    Number,
    /// What has it stays, being equal as far as size and time tell.
    Same,
    /// What has it stays, whatever it is.
    Kept,
    /// What has it stays, being the receiver's own edit; the new one gets a number.
    Edited,
    /// The same, and the new one is there under a numbered name already.
    Beside,
}

/// Where an entry ended up.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::receive) enum Landed {
    /// Under its own name.
    There,
    /// Under a numbered one.
    As(Vec<u8>),
    /// What was there stays, being the same.
    Unchanged,
    /// The existing entry stays, whatever it is: nothing received is linked to it.
    Kept,
    /// The receiver's own stays, which has the same contents: nothing received is to be linked
    /// to it.
    Own,
    /// Under a numbered one, where it was before.
    Beside(Vec<u8>),
}

impl Landed {
    /// Whether what was there stays.
    pub(in crate::receive) fn is_unchanged(&self) -> bool {
        matches!(self, Self::Unchanged | Self::Kept | Self::Own | Self::Beside(_))
    }

    /// The numbered name, if it has one.
    pub(in crate::receive) fn name(&self) -> Option<&[u8]> {
        match self {
            Self::As(name) | Self::Beside(name) => Some(name),
            Self::There | Self::Unchanged | Self::Kept | Self::Own => None,
        }
    }
}

impl Spot {
    /// Its folder and name now.
    pub(in crate::receive) fn place<'a>(&'a self, folder: &'a Folder, name: &'a [u8]) -> NameIn<'a> {
        match self {
            Self::Own => NameIn { dir: &folder.dir, name },
            Self::Part(dir, part) | Self::Aside(dir, part) => NameIn { dir, name: part },
            Self::Beside(_, temporary) => NameIn { dir: &folder.dir, name: temporary },
        }
    }

    /// Removes it. What cannot be removed in the staging folder goes with that, at the latest. A
    /// file of the owner's stays, which an exchange took and which has no name yet.
    pub(in crate::receive) fn discard(&self, folder: &Folder, name: &[u8]) {
        if !self.holds_owners() {
            let place = self.place(folder, name);
            let _ = place.dir.unlink(place.name);
        }
    }

    /// Whether an exchange left a file of the owner's there.
    pub(in crate::receive) fn holds_owners(&self) -> bool {
        match self {
            Self::Own => false,
            Self::Part(records, name) | Self::Aside(records, name) | Self::Beside(records, name) => {
                exchanges::is_recorded(records, name)
            }
        }
    }
}

impl Incoming {
    /// Refuses names that the folder would change or a home does not take, those that are ours at
    /// any depth, since each folder may be received into later, and those of top-level folders of
    /// this very transfer.
    pub(in crate::receive) fn admit(&self, folder: &Folder, name: &[u8]) -> Result<(), EntryError> {
        folder.admits(name)?;
        folder.admit_in(&self.folding, name)?;
        if reads_as_own(name) {
            return Err(EntryError::OWN_FOLDER);
        }
        let taken = || self.staging.tree.metadata(name).is_ok();
        if folder.landing == Landing::Root && taken() { Err(EntryError::IN_THE_WAY) } else { Ok(()) }
    }

    /// Renames what is whole from `spot` to the entry's name in `folder`, as decided; if the name's
    /// state has changed, decides again.
    pub(in crate::receive) fn land(
        &self,
        spot: &Spot,
        folder: &Folder,
        entry: &Entry<'_>,
        mut decision: Decision,
    ) -> Result<Landed, Trouble> {
        let name = entry.name.as_bytes();
        let from = spot.place(folder, name);
        for _ in 0..ATTEMPTS_MAX {
            let renamed = match decision {
                Decision::Same | Decision::Kept => {
                    spot.discard(folder, name);
                    return Ok(if decision == Decision::Kept { Landed::Kept } else { Landed::Unchanged });
                }
                Decision::Beside => {
                    spot.discard(folder, name);
                    return Ok(self.policy.landed_beside(folder, entry, &self.results.edits));
                }
                Decision::Edited => return self.land_edited(spot, folder, entry),
                // Receiving it may have taken long enough to edit what is there.
                Decision::Replace if self.policy.is_edited_now(folder, name) => {
                    decision = self.policy.decide(folder, entry)?;
                    continue;
                }
                Decision::Number => return self.land_renamed(spot, folder, entry),
                Decision::Absent => from.dir.rename_noreplace(from.name, &folder.dir, name),
                Decision::Replace => self.policy.replace(spot, folder, NameHere::own(name), &self.staging.dir),
            };
            match renamed {
                Ok(()) => return Ok(Landed::There),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    decision = self.policy.decide(folder, entry)?
                }
                // A folder took the name.
                Err(error) if is(&error, Errno::ISDIR) || is(&error, Errno::NOTEMPTY) => {
                    return Err(EntryError::IN_THE_WAY.into());
                }
                Err(error) => return Err(self.not_named(folder, name, Operation::Rename, error)),
            }
        }
        Err(EntryError {
            operation: Operation::Rename,
            reason: FailureReason::Os { errno: Errno::EXIST.raw_os_error() },
        }
        .into())
    }

    /// A temporary name in a folder that takes no renames from the staging folder. The folder is
    /// noted first, for when this attempt is killed.
    pub(in crate::receive) fn name_beside(&self, folder: &Folder) -> Vec<u8> {
        if !folder.is_noted.swap(true, Ordering::Relaxed) {
            beside::note(&self.staging.dir, &self.root.here(&folder.path));
        }
        self.staging.temporaries.next()
    }

    /// What tells a file that has just landed from one that is changed later, where that will be
    /// asked. Its owner is to have no time in between.
    pub(in crate::receive) fn stamp_of(&self, file: &OwnedFd) -> Option<Stamp> {
        self.proof.as_ref().and_then(|_| self.root.disk().metadata(file.as_fd()).ok()).map(Stamp::from)
    }

    pub(in crate::receive) fn land_numbered(
        &self,
        from: NameIn<'_>,
        folder: &Folder,
        name: &[u8],
    ) -> Result<Vec<u8>, Trouble> {
        if let Ok(there) = from.dir.metadata(from.name) {
            self.policy.top.note_beside(folder, name, &there);
        }
        free_number(name, true, |candidate| from.dir.rename_noreplace(from.name, &folder.dir, candidate))
            .map_err(|error| self.not_named(folder, name, Operation::Rename, error))
    }

    /// Why an entry does not get its name. Where the destination itself takes no names any more,
    /// that is the end of the transfer and not an entry's.
    pub(in crate::receive) fn not_named(
        &self,
        folder: &Folder,
        name: &[u8],
        operation: Operation,
        error: io::Error,
    ) -> Trouble {
        let may_refuse_all = is(&error, Errno::PERM) || is(&error, Errno::ACCESS) || is(&error, Errno::ROFS);
        if folder.landing == Landing::Root && may_refuse_all && !takes_names(folder, &self.staging.temporaries.next()) {
            return self.refused(name, operation, error);
        }
        self.staging.or_gone(operation)(error)
    }

    /// What is whole cannot have its name, or not for certain: the transfer fails and keeps it, so
    /// that the same send goes on once nothing is in the way. Both ends hear which name that is.
    pub(in crate::receive) fn refused(&self, name: &[u8], operation: Operation, source: io::Error) -> Trouble {
        if is_full(&source) {
            return LaneError::DestinationFull.into();
        }
        self.results.failures.add(name, None, failed(operation, &source));
        let (path, published) = (self.root.path_of(name), self.policy.top.published());
        LaneError::Refused { path, operation, source, published }.into()
    }

    /// Whether the folder takes renames from the staging folder; asks the kernel, as a mount of the
    /// same filesystem does not show otherwise.
    pub(in crate::receive) fn is_foreign(&self, folder: &Folder, name: &[u8], parts: &Dir) -> Result<bool, Trouble> {
        if folder.is_staged() || folder.is_foreign() {
            return Ok(folder.is_foreign());
        }
        let _opening = folder.open_for_change(&self.openings);
        let probe = self.staging.temporaries.next();
        parts.create_new(&probe, crate::receive::FILLING_FILE_MODE).map_err(self.staging.or_gone(Operation::Create))?;
        let renamed = parts.rename_noreplace(&probe, &folder.dir, &probe);
        match renamed {
            Ok(()) => folder.dir.unlink(&probe).map_err(during(Operation::Remove))?,
            Err(error) => {
                parts.unlink(&probe).map_err(during(Operation::Remove))?;
                if !is(&error, Errno::XDEV) {
                    return Err(self.not_named(folder, name, Operation::Rename, error));
                }
                folder.foreign.store(true, Ordering::Relaxed);
                folder.clear_left(&self.staging.temporaries, &self.openings);
            }
        }
        Ok(folder.is_foreign())
    }
}

/// Renames what is `staged` over what `was` there. What was saved there since stays. So does what
/// has become due to another device, too (`TopNames::share`), and what a program has open for
/// writing, which would write into a file without a name: `AlreadyExists`, and both are where they
/// were, or the owner's has a number. After another error the owner's may still be where the new
/// one was staged. Where the filesystem cannot exchange two names, what is saved in the instant
/// before the rename is lost.
pub(in crate::receive) fn rename_over(
    from: NameIn<'_>,
    to: NameIn<'_>,
    staged: &Metadata,
    was: &Metadata,
) -> io::Result<()> {
    let NameIn { dir: from, name: from_name } = from;
    let NameIn { dir, name } = to;
    match from.exchange(from_name, dir, name) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => return from.rename(from_name, dir, name),
        // It was removed meanwhile.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return from.rename_noreplace(from_name, dir, name),
        exchanged => exchanged?,
    }
    let version = |there: &Metadata| (there.dev, there.ino, there.kind, there.size, there.mtime);
    let holds = |known| from.metadata(from_name).is_ok_and(|there| version(&there) == version(known));
    let is_shared = || from.metadata(from_name).is_ok_and(|there| there.is_renewed_since(was));
    let is_unchanged = holds(was) && !is_shared();
    if is_unchanged && !exchanges::has_writers(from, from_name, was) {
        return from.unlink(from_name);
    }
    let written = is_unchanged.then(|| from.open_read(from_name).ok()).flatten();
    let exchanged = from.exchange(from_name, dir, name);
    if let Some(file) = written {
        count_as_changed(from, &file, was);
    }
    // It may have been saved once more. What was saved stays, under a number if not under its name.
    if exchanged.is_err() || !holds(staged) {
        let numbered = free_number(name, true, |name| from.rename_noreplace(from_name, dir, name));
        numbered.map_err(|error| exchanged.err().unwrap_or(error))?;
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Gives a file a new change time, by which it counts as the owner's from now on, where the
/// exchanges gave it none (XFS). Nobody else's file can be given one.
fn count_as_changed(dir: &Dir, file: &OwnedFd, was: &Metadata) {
    if let Ok(there) = metadata_of(file)
        && there.ctime == was.ctime
    {
        let _ = dir.disk().set_mode(file.as_fd(), there.mode);
    }
}

/// Whether a folder takes a new name. One entry may be refused by itself: it is immutable, or
/// somebody else's in a folder like /tmp.
fn takes_names(folder: &Folder, probe: &[u8]) -> bool {
    folder.dir.create_new(probe, crate::receive::FILLING_FILE_MODE).and_then(|_| folder.dir.unlink(probe)).is_ok()
}

/// Whether what is there is what comes, going by size and time, as far as the filesystem keeps
/// that, or by a link's target.
pub(in crate::receive) fn is_same(dir: &Dir, name: &[u8], there: &Metadata, entry: &Entry<'_>) -> bool {
    match (entry.kind, there.kind) {
        (EntryKind::File { size, .. }, Kind::File) => {
            there.size == size && as_kept_by(there, timestamp(entry.attributes.mtime)) == nanos(there.mtime)
        }
        (EntryKind::Symlink { target }, Kind::Symlink) => dir.read_link(name).is_ok_and(|found| found == target),
        _ => false,
    }
}

/// The number of a file with several names.
pub(in crate::receive) fn link_id(entry: &Entry<'_>) -> Option<u64> {
    match entry.kind {
        EntryKind::File { link_id, .. } => link_id,
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_saved_between_the_check_and_the_rename_stays() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let dir = Dir::open(folder.path()).unwrap();
        let read = |name: &str| fs::read_to_string(at(name)).unwrap();
        let before = |name: &str| {
            fs::write(at("part"), "received").unwrap();
            fs::write(at(name), "before").unwrap();
            dir.metadata(name.as_bytes()).unwrap()
        };
        let over = |name: &str, was: &Metadata| {
            let staged = dir.metadata(b"part").unwrap();
            rename_over(NameIn { dir: &dir, name: b"part" }, NameIn { dir: &dir, name: name.as_bytes() }, &staged, was)
        };

        // As editors save: another file takes the name. Or the same one is written to.
        let replaced = before("a");
        fs::write(at("new"), "edited").unwrap();
        fs::rename(at("new"), at("a")).unwrap();
        let written = before("b");
        fs::write(at("b"), "edited here").unwrap();
        for (name, was, edited) in [("a", &replaced, "edited"), ("b", &written, "edited here")] {
            assert_eq!(over(name, was).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
            assert_eq!((read(name).as_str(), read("part").as_str()), (edited, "received"));
        }

        // A folder took the name, or nothing has it any more, or nobody touched it.
        let was = before("c");
        fs::remove_file(at("c")).unwrap();
        fs::create_dir(at("c")).unwrap();
        assert!(over("c", &was).is_err() && at("c").is_dir());
        let was = before("d");
        fs::remove_file(at("d")).unwrap();
        over("d", &was).unwrap();
        let was = before("e");
        over("e", &was).unwrap();
        assert_eq!((read("d").as_str(), read("e").as_str(), at("part").exists()), ("received", "received", false));
    }
}
