//! Finds and makes the folders that entries land in: where each top-level folder goes, and a lane's cache of open ones.
use std::collections::HashMap;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ringway_sys::attributes::{Kind, metadata_of};
use ringway_sys::dir::Dir;
use ringway_wire::RelPath;
use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;

use super::trouble::{EntryError, LaneError, Trouble, during, failed, is};
use super::{FILLING_FOLDER_MODE, Incoming, OWN_PREFIX, lock};
use crate::error::Operation;
use crate::limits::ARRIVED_LISTED_MAX;
use crate::options::OnConflict;

/// Open folders a lane keeps: a depth-first walk needs its path and some siblings; 16 lanes' worth stays far below any descriptor limit.
const CACHED_FOLDERS_MAX: usize = 64;

/// Top-level decisions a lane remembers before it forgets all of them: a whole transfer's in nearly every case.
const CACHED_TOPS_MAX: usize = 1024;

/// Other filesystems inside the destination that are synchronised one by one.
const FOREIGN_FILESYSTEMS_MAX: usize = 64;

/// What happens to an existing file when one of its name comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Policy {
    Replace,
    Keep,
    Number,
}

/// How entries get into a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Landing {
    /// Under their own names at once: the folder is in the staging tree, and only this transfer writes there.
    Staged,
    /// By a temporary name: the folder is visible.
    Merged(Policy),
    /// The destination itself: as merged, by a policy for each name.
    Root,
}

/// An open folder that entries land in.
pub(super) struct Folder {
    pub(super) dir: Dir,
    pub(super) landing: Landing,
    /// Known not to take renames from the staging folder (EXDEV): another filesystem, subvolume or mount.
    pub(super) foreign: AtomicBool,
}

impl Folder {
    fn new(dir: Dir, landing: Landing) -> Self {
        Self { dir, landing, foreign: AtomicBool::new(false) }
    }

    pub(super) fn is_staged(&self) -> bool {
        self.landing == Landing::Staged
    }

    pub(super) fn is_foreign(&self) -> bool {
        self.foreign.load(Ordering::Relaxed)
    }
}

/// Opens a folder that was made a moment ago, giving its owner's bits back where umask or ACL took them.
pub(super) fn open_made(parent: &Dir, name: &[u8], masked: bool) -> io::Result<Dir> {
    if masked {
        rustix::fs::chmodat(parent.as_fd(), name, Mode::from_raw_mode(FILLING_FOLDER_MODE), AtFlags::empty())?;
    }
    parent.open_dir(name)
}

/// A link, or something else that is no folder, stands where a folder should.
fn not_a_folder(error: &io::Error) -> bool {
    is(error, Errno::LOOP) || error.kind() == io::ErrorKind::NotADirectory
}

fn folder_trouble(operation: Operation) -> impl Fn(io::Error) -> Trouble {
    move |error| if not_a_folder(&error) { EntryError::IN_THE_WAY.into() } else { during(operation)(error) }
}

/// A lane's open folders, the least recently used one going first.
#[derive(Default)]
pub(super) struct FolderCache {
    open: HashMap<Box<[u8]>, (u64, Arc<Folder>)>,
    clock: u64,
    tops: HashMap<Box<[u8]>, Landing>,
}

impl FolderCache {
    fn find(&mut self, path: &[u8]) -> Option<Arc<Folder>> {
        self.clock += 1;
        let (used, folder) = self.open.get_mut(path)?;
        *used = self.clock;
        Some(Arc::clone(folder))
    }

    fn keep(&mut self, path: &[u8], folder: &Arc<Folder>) {
        if self.open.len() >= CACHED_FOLDERS_MAX {
            let oldest = self.open.iter().min_by_key(|(_, (used, _))| *used).map(|(path, _)| path.clone());
            if let Some(oldest) = oldest {
                self.open.remove(&oldest);
            }
        }
        self.open.insert(path.into(), (self.clock, Arc::clone(folder)));
    }

    /// The folder at `path`, made with those above it if it is missing.
    pub(super) fn folder(&mut self, incoming: &Incoming, path: RelPath<'_>) -> Result<Arc<Folder>, Trouble> {
        if let Some(folder) = self.find(path.as_bytes()) {
            return Ok(folder);
        }
        let opened = match self.open(incoming, path) {
            // Descriptors are short: give ours back and try once more.
            Err(trouble) if trouble.is_short_of_descriptors() && self.give_back() => self.open(incoming, path),
            opened => opened,
        };
        let folder = Arc::new(opened?);
        self.keep(path.as_bytes(), &folder);
        Ok(folder)
    }

    fn open(&mut self, incoming: &Incoming, path: RelPath<'_>) -> Result<Folder, Trouble> {
        let Some((parent_path, name)) = path.split_last() else {
            let dir = incoming.root.try_clone().map_err(during(Operation::Open))?;
            return Ok(Folder::new(dir, Landing::Root));
        };
        let landing = self.landing(incoming, path)?;
        let base = if landing == Landing::Staged { &incoming.tree } else { &incoming.root };
        if !parent_path.is_root()
            && let Some(parent) = self.find(parent_path.as_bytes())
        {
            let dir = incoming.make_in(&parent.dir, name.as_bytes())?;
            return incoming.opened(dir, landing);
        }
        match base.open_beneath(path.as_bytes()) {
            Ok(dir) => incoming.opened(dir, landing),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let dir = incoming.make_all(base, path)?;
                incoming.opened(dir, landing)
            }
            Err(error) => Err(folder_trouble(Operation::Open)(error)),
        }
    }

    /// Closes every folder, so that their descriptors can be used otherwise. False if there were none.
    pub(super) fn give_back(&mut self) -> bool {
        let any = !self.open.is_empty();
        self.open.clear();
        any
    }

    fn landing(&mut self, incoming: &Incoming, path: RelPath<'_>) -> Result<Landing, Trouble> {
        let top = path.split_first().map_or(&b""[..], |(top, _)| top.as_bytes());
        if let Some(landing) = self.tops.get(top) {
            return Ok(*landing);
        }
        let landing = incoming.landing_of_top(top)?;
        if self.tops.len() >= CACHED_TOPS_MAX {
            self.tops.clear();
        }
        self.tops.insert(top.into(), landing);
        Ok(landing)
    }
}

impl Incoming {
    /// Where the top-level folder `top` goes. Decided once, and remembered by the staging tree itself, so that it costs no memory.
    fn landing_of_top(&self, top: &[u8]) -> Result<Landing, Trouble> {
        if top.starts_with(OWN_PREFIX) {
            return Err(EntryError::IN_THE_WAY.into());
        }
        let _deciding = lock(&self.tops);
        if self.tree.metadata(top).is_ok() {
            return Ok(Landing::Staged);
        }
        let existing = match self.root.metadata(top) {
            Ok(existing) => Some(existing.kind),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(during(Operation::Open)(error)),
        };
        let policy = match (existing, self.options.on_conflict) {
            (None, _) => None,
            (Some(_), OnConflict::RenameTop) => (self.options.known_from_same_device)(top).then_some(Policy::Replace),
            (Some(_), on_conflict) => Some(self.policy_by(on_conflict)),
        };
        match (policy, existing) {
            (None, _) => {
                self.tree.make_dir(top, FILLING_FOLDER_MODE).map_err(self.or_gone(Operation::Create))?;
                if self.folders_masked {
                    open_made(&self.tree, top, true).map_err(during(Operation::Create))?;
                }
                Ok(Landing::Staged)
            }
            (Some(policy), Some(Kind::Dir)) => {
                self.note_arrived(top, false);
                Ok(Landing::Merged(policy))
            }
            (Some(_), _) => Err(EntryError::IN_THE_WAY.into()),
        }
    }

    fn policy_by(&self, on_conflict: OnConflict) -> Policy {
        match on_conflict {
            OnConflict::Replace => Policy::Replace,
            OnConflict::Keep => Policy::Keep,
            OnConflict::Rename | OnConflict::RenameTop => Policy::Number,
        }
    }

    /// What happens if `name` exists in `folder`.
    pub(super) fn policy(&self, folder: &Folder, name: &[u8]) -> Policy {
        match folder.landing {
            Landing::Merged(policy) => policy,
            Landing::Root
                if self.options.on_conflict == OnConflict::RenameTop && (self.options.known_from_same_device)(name) =>
            {
                Policy::Replace
            }
            Landing::Root | Landing::Staged => self.policy_by(self.options.on_conflict),
        }
    }

    /// Remembers a top-level name for the report, and whether it was `made` by this transfer.
    pub(super) fn note_arrived(&self, top: &[u8], made: bool) {
        let note = |names: &mut Vec<Vec<u8>>| {
            if names.len() < ARRIVED_LISTED_MAX && !names.iter().any(|name| name == top) {
                names.push(top.to_vec());
            }
        };
        note(&mut lock(&self.arrived));
        if made {
            note(&mut lock(&self.made));
        }
    }

    /// Makes what is missing of `path` from the top; going down by descriptors makes the depth cost no more than its names.
    fn make_all(&self, base: &Dir, path: RelPath<'_>) -> Result<Dir, Trouble> {
        let mut at = None;
        for name in path.components() {
            let parent = at.as_ref().unwrap_or(base);
            let opened = match parent.open_dir(name.as_bytes()) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => self.make_in(parent, name.as_bytes())?,
                opened => opened.map_err(folder_trouble(Operation::Open))?,
            };
            at = Some(opened);
        }
        at.ok_or(EntryError::IN_THE_WAY.into())
    }

    /// Makes `name` in `parent`, or finds that it is there, and opens it.
    fn make_in(&self, parent: &Dir, name: &[u8]) -> Result<Dir, Trouble> {
        let masked = match parent.make_dir(name, FILLING_FOLDER_MODE) {
            Ok(()) => self.folders_masked,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(self.or_gone(Operation::Create)(error)),
        };
        open_made(parent, name, masked).map_err(folder_trouble(Operation::Open))
    }

    fn opened(&self, dir: Dir, landing: Landing) -> Result<Folder, Trouble> {
        let folder = Folder::new(dir, landing);
        if !folder.is_staged() {
            let dev = metadata_of(&folder.dir).map_err(during(Operation::Open))?.dev;
            if dev != self.root_dev {
                folder.foreign.store(true, Ordering::Relaxed);
                self.note_foreign(dev, &folder.dir).map_err(during(Operation::Open))?;
                self.clear_left(&folder);
            }
        }
        Ok(folder)
    }

    fn note_foreign(&self, dev: u64, dir: &Dir) -> io::Result<()> {
        let mut foreign = lock(&self.foreign);
        if foreign.iter().any(|(known, _)| *known == dev) {
            return Ok(());
        }
        if foreign.len() >= FOREIGN_FILESYSTEMS_MAX {
            return Err(io::Error::from(Errno::XDEV));
        }
        foreign.push((dev, dir.try_clone()?));
        Ok(())
    }

    /// Sorts an error like [`during`], after looking whether the destination has gone altogether.
    pub(super) fn or_gone(&self, operation: Operation) -> impl Fn(io::Error) -> Trouble {
        move |error| {
            if error.kind() == io::ErrorKind::NotFound && self.is_gone() {
                return LaneError::DestinationGone.into();
            }
            if not_a_folder(&error) { failed(operation, &error).into() } else { during(operation)(error) }
        }
    }
}
