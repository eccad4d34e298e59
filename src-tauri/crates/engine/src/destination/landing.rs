//! Gives what is whole its final name: what to do with what has that name already, and numbered names.
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ringway_sys::attributes::{Kind, Metadata, set_mode, set_owner_fd};
use ringway_sys::dir::Dir;
use ringway_wire::lane::{Entry, EntryKind};
use ringway_wire::limits::NAME_MAX;
use rustix::io::Errno;

use super::attributes::timestamp;
use super::folders::{Folder, Landing, Policy};
use super::trouble::{EntryError, Trouble, during, is};
use super::{Incoming, OWN_PREFIX};
use crate::error::{FailureReason, Operation};

/// Numbers tried for a name: who keeps more copies than this keeps no overview of them either.
const NUMBER_MAX: u32 = 10_000;

/// How often an entry is looked at again because its name was taken or freed meanwhile.
const ATTEMPTS_MAX: u32 = 16;

/// A longer extension is part of the name.
const EXTENSION_MAX: usize = 16;

/// What to do about an entry's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
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
}

/// Where an entry ended up.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Landed {
    /// Under its own name.
    There,
    /// Under a numbered one.
    As(Vec<u8>),
    /// What was there stays.
    Unchanged,
}

/// Where a file or link is while it is not whole.
#[derive(Debug, Clone)]
pub(super) enum Spot {
    /// At its own name, in the staging tree.
    Own,
    /// In the staging folder.
    Part(Arc<Dir>, Vec<u8>),
    /// In its own folder under a temporary name.
    Beside(Vec<u8>),
}

impl Spot {
    /// Its folder and name now.
    pub(super) fn place<'a>(&'a self, folder: &'a Folder, name: &'a [u8]) -> (&'a Dir, &'a [u8]) {
        match self {
            Self::Own => (&folder.dir, name),
            Self::Part(dir, part) => (dir, part),
            Self::Beside(temporary) => (&folder.dir, temporary),
        }
    }

    /// Removes it. What cannot be removed in the staging folder goes with that, at the latest.
    pub(super) fn discard(&self, folder: &Folder, name: &[u8]) {
        let (dir, name) = self.place(folder, name);
        let _ = dir.unlink(name);
    }
}

impl Incoming {
    /// Refuses names that are ours, and those of top-level folders of this very transfer.
    pub(super) fn admit(&self, folder: &Folder, name: &[u8]) -> Result<(), EntryError> {
        let taken = || name.starts_with(OWN_PREFIX) || self.tree.metadata(name).is_ok();
        if folder.landing == Landing::Root && taken() { Err(EntryError::IN_THE_WAY) } else { Ok(()) }
    }

    /// Looks what has the entry's name in a visible folder, and decides by the policy.
    pub(super) fn decide(&self, folder: &Folder, entry: &Entry<'_>) -> Result<Decision, Trouble> {
        let name = entry.name.as_bytes();
        let there = match folder.dir.metadata(name) {
            Ok(there) => there,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Decision::Absent),
            Err(error) => return Err(during(Operation::Open)(error)),
        };
        let replaceable = matches!(there.kind, Kind::File | Kind::Symlink);
        match self.policy(folder, name) {
            Policy::Number => Ok(Decision::Number),
            _ if !replaceable => Err(EntryError::IN_THE_WAY.into()),
            Policy::Keep => Ok(Decision::Kept),
            Policy::Replace if !self.is_doubted(entry) && is_same(&folder.dir, &there, entry) => Ok(Decision::Same),
            // What this filesystem takes for the same name may have come a moment ago.
            Policy::Replace if self.folds && !has_exactly(&folder.dir, name).map_err(during(Operation::Read))? => {
                Err(EntryError::IN_THE_WAY.into())
            }
            Policy::Replace => Ok(Decision::Replace),
        }
    }

    /// Whether size and time of an entry prove nothing here.
    fn is_doubted(&self, entry: &Entry<'_>) -> bool {
        self.proof.is_some() && matches!(entry.kind, EntryKind::File { .. })
    }

    /// Corrects mode, owner and extended attributes of a file whose contents are taken to be equal.
    pub(super) fn touch_up(&self, dir: &Dir, entry: &Entry<'_>) -> io::Result<()> {
        let name = entry.name.as_bytes();
        let there = dir.metadata(name)?;
        let attributes = &entry.attributes;
        let mode = self.final_mode(attributes);
        let owner_differs = self.options.keep_owner && (there.uid, there.gid) != (attributes.uid, attributes.gid);
        if there.kind != Kind::File || (there.mode == mode && !owner_differs && entry.xattrs.is_empty()) {
            return Ok(());
        }
        let file = dir.open_read(name).or_else(|_| dir.open_write(name))?;
        let extended = self.set_xattrs(&file, entry.xattrs);
        let owned = if owner_differs { set_owner_fd(&file, attributes.uid, attributes.gid) } else { Ok(()) };
        let moded = if owner_differs || there.mode != mode { set_mode(&file, mode) } else { Ok(()) };
        extended.and(owned).and(moded)
    }

    /// Renames what is whole from `spot` to the entry's name in `folder`, as decided; if the name's state has changed, decides again.
    pub(super) fn land(
        &self,
        spot: &Spot,
        folder: &Folder,
        entry: &Entry<'_>,
        mut decision: Decision,
    ) -> Result<Landed, Trouble> {
        let name = entry.name.as_bytes();
        let (from, from_name) = spot.place(folder, name);
        for _ in 0..ATTEMPTS_MAX {
            let renamed = match decision {
                Decision::Same | Decision::Kept => {
                    spot.discard(folder, name);
                    return Ok(Landed::Unchanged);
                }
                Decision::Number => return self.land_numbered(from, from_name, folder, name).map(Landed::As),
                Decision::Absent => from.rename_noreplace(from_name, &folder.dir, name),
                Decision::Replace => from.rename(from_name, &folder.dir, name),
            };
            match renamed {
                Ok(()) => return Ok(Landed::There),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => decision = self.decide(folder, entry)?,
                // A folder took the name.
                Err(error) if is(&error, Errno::ISDIR) || is(&error, Errno::NOTEMPTY) => {
                    return Err(EntryError::IN_THE_WAY.into());
                }
                Err(error) => return Err(self.or_gone(Operation::Rename)(error)),
            }
        }
        Err(EntryError { operation: Operation::Rename, reason: FailureReason::Os(Errno::EXIST.raw_os_error()) }.into())
    }

    fn land_numbered(&self, from: &Dir, from_name: &[u8], folder: &Folder, name: &[u8]) -> Result<Vec<u8>, Trouble> {
        free_number(name, true, |candidate| from.rename_noreplace(from_name, &folder.dir, candidate))
            .map_err(self.or_gone(Operation::Rename))
    }

    /// Whether the folder takes renames from the staging folder; asks the kernel, as a mount of the same filesystem does not show otherwise.
    pub(super) fn is_foreign(&self, folder: &Folder, parts: &Dir) -> Result<bool, Trouble> {
        if folder.is_staged() || folder.is_foreign() {
            return Ok(folder.is_foreign());
        }
        let probe = self.temporary_name();
        parts.create_new(&probe, super::FILLING_FILE_MODE).map_err(self.or_gone(Operation::Create))?;
        let renamed = parts.rename_noreplace(&probe, &folder.dir, &probe);
        match renamed {
            Ok(()) => folder.dir.unlink(&probe).map_err(during(Operation::Create))?,
            Err(error) => {
                parts.unlink(&probe).map_err(during(Operation::Create))?;
                if !is(&error, Errno::XDEV) {
                    return Err(self.or_gone(Operation::Create)(error));
                }
                folder.foreign.store(true, Ordering::Relaxed);
                self.clear_left(folder);
            }
        }
        Ok(folder.is_foreign())
    }
}

/// Whether a folder lists that very name: one that does not tell upper from lower case finds others by it, too.
fn has_exactly(dir: &Dir, name: &[u8]) -> io::Result<bool> {
    let mut entries = dir.entries()?;
    while let Some(entry) = entries.next() {
        if entry?.name == name {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a file is there that has the size and time of the one that comes.
pub(super) fn looks_same(dir: &Dir, entry: &Entry<'_>) -> bool {
    dir.metadata(entry.name.as_bytes()).is_ok_and(|there| is_same(dir, &there, entry))
}

/// Whether what is there is what comes, going by size and time as rsync does, or by a link's target.
fn is_same(dir: &Dir, there: &Metadata, entry: &Entry<'_>) -> bool {
    match (entry.kind, there.kind) {
        (EntryKind::File { size, .. }, Kind::File) => {
            there.size == size && there.mtime == timestamp(entry.attributes.mtime)
        }
        (EntryKind::Symlink { target }, Kind::Symlink) => {
            dir.read_link(entry.name.as_bytes()).is_ok_and(|found| found == target)
        }
        _ => false,
    }
}

/// Finds the first number whose name `take` can have, and returns that name.
pub(super) fn free_number(
    name: &[u8],
    extension: bool,
    mut take: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<Vec<u8>> {
    for number in 1..=NUMBER_MAX {
        let candidate = numbered(name, number, extension);
        match take(&candidate) {
            Ok(()) => return Ok(candidate),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(Errno::EXIST.into())
}

/// `name (2).ext`, or `name (2)` for a folder; the stem is shortened where that would be too long, not in the middle of a character.
pub(super) fn numbered(name: &[u8], number: u32, extension: bool) -> Vec<u8> {
    let dot = name.iter().rposition(|byte| *byte == b'.').filter(|at| *at > 0 && name.len() - at <= EXTENSION_MAX);
    let (stem, tail) = name.split_at(dot.filter(|_| extension).unwrap_or(name.len()));
    let number = format!(" ({number})");
    let mut keep = stem.len().min(NAME_MAX - number.len() - tail.len());
    if let Ok(text) = std::str::from_utf8(stem) {
        while !text.is_char_boundary(keep) {
            keep -= 1;
        }
    }
    [&stem[..keep], number.as_bytes(), tail].concat()
}
