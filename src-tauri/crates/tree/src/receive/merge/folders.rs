//! Finds and makes the folders that entries land in: where each top-level folder goes, and a lane's
//! cache of open ones.
use std::collections::HashMap;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::disk::Dir;
use parking_lot::Mutex;
use ringway_model::{IntoHome, OnConflict, Operation};
use ringway_sys::attributes::{Kind, Metadata, Timestamp, metadata_of};
use ringway_wire::RelPath;
use rustix::io::Errno;

use crate::descriptors::patiently;
use crate::filesystem::spelling::Names;
use crate::limits::{ARRIVED_LISTED_MAX, BROUGHT_NAMES_MAX};
use crate::receive::failures::{EntryError, LaneError, Trouble, during, failed, is};
use crate::receive::merge::case_folding::Manner;
use crate::receive::merge::received_before::{self, Brought, FILES_IN_ALL_MAX, Identity, Landings};
use crate::receive::staging::open_made_as;
use crate::receive::staging::read_only_folders::Opening;
use crate::receive::{Incoming, OWN_PREFIX};

/// Top-level decisions a lane remembers before it forgets all of them: a whole transfer's in nearly
/// every case.
const CACHED_TOPS_MAX: usize = 1024;

/// Other filesystems inside the destination that are synchronised one by one.
const FOREIGN_FILESYSTEMS_MAX: usize = 64;

/// The mode of a folder that is made, until its own is set. The sticky bit tells it from folders
/// that were there: beside a mode that lets nobody else in it has no effect, and nobody sets it.
/// Where the folder's own mode cannot be set, or never comes, the next transfer knows it by this.
const MADE_FOLDER_MODE: u32 = 0o1700;

/// A folder that is made inherits it (mkdir(2)).
const SETGID: u32 = 0o2000;

/// What happens to an existing file when one of its name comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::receive) enum Policy {
    Replace,
    /// As replace, but what the receiver has changed since it was received stays, and the new one
    /// gets a number.
    Update,
    Keep,
    Number,
}

/// How entries get into a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::receive) enum Landing {
    /// Under their own names at once: the folder is in the staging tree, and only this transfer
    /// writes there.
    Staged,
    /// By a temporary name: the folder is visible.
    Merged(Policy),
    /// The destination itself: as merged, by a policy for each name.
    Root,
}

/// An open folder that entries land in.
pub(in crate::receive) struct Folder {
    pub(in crate::receive) dir: Arc<Dir>,
    pub(in crate::receive) landing: Landing,
    /// Its path within the transfer.
    pub(in crate::receive) path: Box<[u8]>,
    /// Of a folder in what the same device brought before: what is known of that.
    pub(in crate::receive) brought: Option<Arc<Brought>>,
    /// Known not to take renames from the staging folder (EXDEV): another filesystem, subvolume or
    /// mount.
    pub(in crate::receive) foreign: AtomicBool,
    pub(in crate::receive) manner: Manner,
    /// The names that it has, where it takes different spellings for one.
    pub(in crate::receive) names: Mutex<Names>,
    /// It is a home, which takes no name that begins with a dot.
    is_home: bool,
}

impl Folder {
    fn new(dir: Dir, landing: Landing, path: RelPath<'_>, manner: Manner) -> Self {
        Self::shared(Arc::new(dir), landing, path, manner)
    }

    fn shared(dir: Arc<Dir>, landing: Landing, path: RelPath<'_>, manner: Manner) -> Self {
        let path = path.as_bytes().into();
        Self {
            dir,
            landing,
            path,
            brought: None,
            foreign: AtomicBool::new(false),
            manner,
            names: Mutex::default(),
            is_home: false,
        }
    }

    /// The staging folder, or one in it, that is no part of the tree.
    pub(in crate::receive) fn of_staging(dir: Arc<Dir>) -> Self {
        Self::shared(dir, Landing::Staged, RelPath::ROOT, Manner::default())
    }

    /// Refuses names that a home does not take at its top.
    pub(in crate::receive) fn admits(&self, name: &[u8]) -> Result<(), EntryError> {
        if self.is_home { admit_in_home(name) } else { Ok(()) }
    }

    pub(in crate::receive) fn is_staged(&self) -> bool {
        self.landing == Landing::Staged
    }

    pub(in crate::receive) fn is_foreign(&self) -> bool {
        self.foreign.load(Ordering::Relaxed)
    }

    /// Whether it lists that very name, which it has been found to have. True where no other
    /// spelling could have been found.
    pub(in crate::receive) fn has_exactly(&self, name: &[u8]) -> io::Result<bool> {
        if !self.manner.folds {
            return Ok(true);
        }
        self.names.lock().has(&self.dir, name)
    }
}

fn admit_in_home(name: &[u8]) -> Result<(), EntryError> {
    if name.starts_with(b".") { Err(EntryError::DOT_NAME) } else { Ok(()) }
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
pub(in crate::receive) struct FolderCache {
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

    fn keep(&mut self, path: &[u8], folder: &Arc<Folder>, open_max: usize) {
        if self.open.len() >= open_max {
            let oldest = self.open.iter().min_by_key(|(_, (used, _))| *used).map(|(path, _)| path.clone());
            if let Some(oldest) = oldest {
                self.open.remove(&oldest);
            }
        }
        self.open.insert(path.into(), (self.clock, Arc::clone(folder)));
    }

    /// The folder at `path`, made with those above it if it is missing.
    pub(in crate::receive) fn folder(
        &mut self,
        incoming: &Incoming,
        path: RelPath<'_>,
    ) -> Result<Arc<Folder>, Trouble> {
        if let Some(folder) = self.find(path.as_bytes()) {
            return Ok(folder);
        }
        let spare = |folders: &mut Self| Ok(folders.give_back());
        let opened = patiently(self, spare, || incoming.goes_on(), |folders| folders.open(incoming, path))?;
        let folder = Arc::new(opened);
        self.keep(path.as_bytes(), &folder, incoming.options.open.folders);
        Ok(folder)
    }

    fn open(&mut self, incoming: &Incoming, path: RelPath<'_>) -> Result<Folder, Trouble> {
        let Some((parent_path, name)) = path.split_last() else {
            let dir = incoming.root.dir.try_clone().map_err(during(Operation::Open))?;
            let manner = incoming.manner_in(&dir, incoming.root.dev);
            let folder = Folder { is_home: incoming.root.is_home, ..Folder::new(dir, Landing::Root, path, manner) };
            incoming.clear_left(&folder);
            return Ok(folder);
        };
        let landing = self.landing(incoming, path)?;
        if landing != Landing::Staged {
            return self.walk(incoming, path, landing);
        }
        path.components().try_for_each(|name| {
            incoming.admit_name(incoming.staging.manner, &incoming.staging.dir, name.as_bytes())
        })?;
        let base = &incoming.staging.tree;
        if !parent_path.is_root()
            && let Some(parent) = self.find(parent_path.as_bytes())
        {
            let exact = || parent.has_exactly(name.as_bytes()).map_err(during(Operation::Read));
            let dir = incoming.make_in(&parent.dir, name.as_bytes(), exact)?;
            return incoming.opened(dir, landing, path);
        }
        match base.open_beneath(path.as_bytes()) {
            Ok(dir) => {
                let folder = incoming.opened(dir, landing, path)?;
                if folder.manner.folds {
                    incoming.check_spelling(base, path)?;
                }
                Ok(folder)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let dir = incoming.make_all(base, path)?;
                incoming.opened(dir, landing, path)
            }
            Err(error) => Err(folder_trouble(Operation::Open)(error)),
        }
    }

    /// Opens a folder that everybody sees from the nearest one above it that is open, each on the
    /// way by itself: none of them may be ours. Those are kept as well, so that a lane walks a path
    /// once.
    fn walk(&mut self, incoming: &Incoming, path: RelPath<'_>, landing: Landing) -> Result<Folder, Trouble> {
        let bytes = path.as_bytes();
        let ends = || bytes.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        let nearest = ends().rev().find_map(|end| Some((end, self.find(&bytes[..end])?)));
        let (begin, mut above) = match nearest {
            Some((end, folder)) => (end + 1, Some(folder)),
            None => (0, None),
        };
        for end in ends().filter(|end| *end > begin) {
            let dir = incoming.enter(above.as_deref(), &bytes[..end])?;
            let at = RelPath::new(&bytes[..end]).map_err(|_| EntryError::IN_THE_WAY)?;
            let folder = Arc::new(incoming.opened(dir, landing, at)?);
            self.keep(&bytes[..end], &folder, incoming.options.open.folders);
            above = Some(folder);
        }
        incoming.opened(incoming.enter(above.as_deref(), bytes)?, landing, path)
    }

    /// Closes every folder, so that their descriptors can be used otherwise. False if there were
    /// none.
    pub(in crate::receive) fn give_back(&mut self) -> bool {
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
    /// Opens a folder that is about to be changed, where the receiver said to replace and only its
    /// owner's write permission is missing. Where that cannot be done, the change itself fails and
    /// is reported.
    #[must_use]
    pub(in crate::receive) fn open_for_change(&self, folder: &Folder) -> Option<Opening> {
        let replaces = folder.landing == Landing::Merged(Policy::Replace);
        if replaces { self.openings.open(&folder.dir, &folder.path) } else { None }
    }

    /// The same for a folder that everybody sees, by its path.
    #[must_use]
    pub(in crate::receive) fn open_path_for_change(&self, dir: &Arc<Dir>, path: &[u8]) -> Option<Opening> {
        let replaces = !path.is_empty() && self.options.on_conflict == OnConflict::Replace;
        if replaces { self.openings.open(dir, path) } else { None }
    }

    /// Removes what earlier attempts have left in a folder under their temporary names. Best
    /// effort: what stays is in nobody's way.
    pub(in crate::receive) fn clear_left(&self, folder: &Folder) {
        if !self.staging.temporaries.may_be_left() || folder.is_staged() {
            return;
        }
        let Ok(mut entries) = folder.dir.entries() else { return };
        let mut opening = None;
        while let Some(Ok(entry)) = entries.next() {
            if !self.staging.temporaries.is_left(entry.name) {
                continue;
            }
            let kind = folder.dir.metadata(entry.name).map(|there| there.kind);
            if matches!(kind, Ok(Kind::File | Kind::Symlink)) {
                // That attempt had it open, and adopting what it left has closed it.
                opening.get_or_insert_with(|| self.open_for_change(folder));
                let _ = folder.dir.unlink(entry.name);
            }
        }
    }

    /// Where the top-level folder `top` goes. Decided once, and remembered by the staging tree
    /// itself, so that it costs no memory.
    fn landing_of_top(&self, top: &[u8]) -> Result<Landing, Trouble> {
        if top.starts_with(OWN_PREFIX) {
            return Err(EntryError::IN_THE_WAY.into());
        }
        if self.root.is_home {
            admit_in_home(top)?;
        }
        self.admit_name(self.manner_in(&self.root.dir, self.root.dev), &self.staging.dir, top)?;
        let _deciding = self.top.deciding.lock();
        if self.staging.tree.metadata(top).is_ok() {
            return Ok(Landing::Staged);
        }
        let existing = match self.root.dir.metadata(top) {
            Ok(existing) => Some(existing.kind),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(during(Operation::Open)(error)),
        };
        let policy = match (existing, self.options.on_conflict) {
            (None, _) => None,
            (Some(_), OnConflict::RenameTop) => self.brought(top).map(|_| Policy::Update),
            (Some(_), on_conflict) => Some(self.policy_by(on_conflict)),
        };
        match (policy, existing) {
            (None, _) => {
                self.staging.tree.make_dir(top, MADE_FOLDER_MODE).map_err(self.or_gone(Operation::Create))?;
                if self.staging.folders_masked {
                    open_made_as(&self.staging.tree, top, MADE_FOLDER_MODE, true).map_err(during(Operation::Create))?;
                }
                Ok(Landing::Staged)
            }
            (Some(policy), Some(Kind::Dir)) => {
                self.note_arrived(top, false);
                self.note_added_to(top);
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

    /// What happens if `name` exists in `folder`, and what is known of what the same device brought
    /// there.
    pub(in crate::receive) fn policy(&self, folder: &Folder, name: &[u8]) -> (Policy, Option<Arc<Brought>>) {
        match folder.landing {
            Landing::Merged(policy) => (policy, folder.brought.clone()),
            Landing::Root if self.options.on_conflict == OnConflict::RenameTop => match self.brought(name) {
                Some(brought) => (Policy::Update, Some(Arc::new(brought))),
                None => (Policy::Number, None),
            },
            Landing::Root | Landing::Staged => (self.policy_by(self.options.on_conflict), None),
        }
    }

    /// What is known of the top-level entry `top`, if it is the very one that the same device
    /// brought before.
    fn brought(&self, top: &[u8]) -> Option<Brought> {
        let brought = (self.options.brought_before)(top)?;
        (Identity::of(&self.root.dir, top)? == brought.identity).then_some(brought)
    }

    /// Remembers that this transfer adds to what the same device brought before, whatever the
    /// policy is.
    fn note_added_to(&self, top: &[u8]) {
        let mut added_to = self.top.added_to.lock();
        if added_to.len() < BROUGHT_NAMES_MAX
            && !added_to.contains_key(top)
            && let Some(brought) = self.brought(top)
        {
            let files: usize = added_to.values().map(|brought| brought.files()).sum();
            if files + brought.files() <= FILES_IN_ALL_MAX {
                added_to.insert(top.to_vec(), Arc::new(brought));
            }
        }
    }

    /// The same device's earlier folder that a path lies in.
    fn brought_at(&self, path: RelPath<'_>) -> Option<Arc<Brought>> {
        let top = path.split_first()?.0.as_bytes();
        let noted = self.top.added_to.lock().get(top).map(Arc::clone);
        noted.or_else(|| self.brought(top).map(Arc::new))
    }

    /// Remembers a top-level name for the report, and whether it was `made` by this transfer: given
    /// to the entry that the sender has by that very name.
    pub(in crate::receive) fn note_arrived(&self, top: &[u8], made: bool) {
        let note = |names: &mut Vec<Vec<u8>>| {
            if names.len() < ARRIVED_LISTED_MAX && !names.iter().any(|name| name == top) {
                names.push(top.to_vec());
            }
        };
        note(&mut self.top.arrived.lock());
        let mut all = self.top.made.lock();
        if made && (all.len() < BROUGHT_NAMES_MAX || all.contains_key(top)) {
            // A second mark would be another identity than the one that was announced.
            let identity = match self.top.announced.lock().contains(top) {
                true => Identity::of(&self.root.dir, top),
                false => Identity::given(&self.root.dir, top),
            };
            all.insert(top.to_vec(), identity.map(Brought::new));
        }
    }

    /// Remembers that this transfer has made the top-level folder `top`, which got that name or a
    /// numbered one, and filled it before anybody saw it. Under a numbered name it is not the
    /// folder that the sender has by that name, if it has one.
    pub(in crate::receive) fn note_published(&self, top: &[u8], name: &[u8]) {
        self.note_arrived(name, name == top);
        if name == top
            && let Some(filled) = self.times.filled()
            && let Some(Some(brought)) = self.top.made.lock().get_mut(top)
        {
            brought.set_filled(filled);
        }
    }

    /// What will be known of the staged folder `top` once it has that name.
    pub(in crate::receive) fn brought_as(&self, top: &[u8]) -> Option<Brought> {
        let mut brought = Brought::new(Identity::given(&self.staging.tree, top)?);
        if let Some(filled) = self.times.filled() {
            brought.set_filled(filled);
        }
        Some(brought)
    }

    /// The top-level name that `name` in `folder` belongs to.
    fn top_of<'a>(folder: &'a Folder, name: &'a [u8]) -> &'a [u8] {
        folder.path.split(|byte| *byte == b'/').next().filter(|top| !top.is_empty()).unwrap_or(name)
    }

    /// Works on what this transfer has put where others see it, if what it is in was brought by the
    /// same device.
    fn with_landings<T>(&self, folder: &Folder, name: &[u8], work: impl FnOnce(&mut Landings) -> T) -> Option<T> {
        let top = Self::top_of(folder, name);
        let is_brought = !folder.is_staged()
            && (self.top.added_to.lock().contains_key(top)
                || folder.landing == Landing::Root && self.top.made.lock().contains_key(top));
        is_brought.then(|| self.top.landings.lock().with(top, work))
    }

    /// Whether something is there just as this transfer has left it.
    fn has_landed(&self, folder: &Folder, name: &[u8], there: &Metadata) -> bool {
        self.top.landings.lock().get(Self::top_of(folder, name)).is_some_and(|landings| landings.has(there))
    }

    /// Remembers what is about to get a numbered name in `folder`, beside `name`.
    pub(in crate::receive) fn note_beside(&self, folder: &Folder, name: &[u8], there: &Metadata) {
        self.with_landings(folder, name, |landings| landings.put_beside(there));
    }

    /// Whether this transfer has given something a numbered name: it is another entry's than the
    /// one of that name.
    pub(in crate::receive) fn is_put_beside(&self, folder: &Folder, name: &[u8], there: &Metadata) -> bool {
        self.top.landings.lock().get(Self::top_of(folder, name)).is_some_and(|landings| landings.is_beside(there))
    }

    /// Remembers a file as it landed, by its own descriptor: its name may lead to another one by
    /// now.
    pub(in crate::receive) fn note_landed(&self, folder: &Folder, name: &[u8], file: impl AsFd) {
        if !folder.is_staged()
            && let Ok(there) = metadata_of(file)
            && there.nlink > 0
        {
            self.with_landings(folder, name, |landings| landings.landed(&there));
        }
    }

    /// The same for a symbolic link, which is told by the time that it was given.
    pub(in crate::receive) fn note_landed_link(&self, folder: &Folder, name: &[u8], mtime: Timestamp) {
        if !folder.is_staged()
            && let Ok(there) = folder.dir.metadata(name)
            && (there.kind, there.mtime) == (Kind::Symlink, mtime)
        {
            self.with_landings(folder, name, |landings| landings.landed(&there));
        }
    }

    /// Whether something is as it was received, `before` this transfer or in it.
    pub(in crate::receive) fn is_received(
        &self,
        before: &Brought,
        folder: &Folder,
        name: &[u8],
        there: &Metadata,
    ) -> bool {
        before.is_as_received(there, || received_before::born_at(&folder.dir, name))
            || self.has_landed(folder, name, there)
    }

    /// The same, where it is not known yet whether the device brought anything there. Cheap where
    /// nothing of that device is known there.
    pub(in crate::receive) fn is_ours(&self, folder: &Folder, name: &[u8], there: &Metadata) -> bool {
        if folder.is_staged() {
            return false;
        }
        let top = Self::top_of(folder, name);
        if folder.landing == Landing::Root {
            self.note_added_to(top);
        }
        let before = self.top.added_to.lock().get(top).map(Arc::clone);
        match before {
            Some(before) => self.is_received(&before, folder, name, there),
            None => self.has_landed(folder, name, there),
        }
    }

    /// Remembers that this transfer itself has changed what was as received, by attributes or by
    /// the number of its names: it `was`, and is now.
    pub(in crate::receive) fn note_changed(&self, folder: &Folder, name: &[u8], was: &Metadata, now: &Metadata) {
        // The owner may have written into it just before.
        let is_written = now.kind == Kind::File && (was.mtime, was.size) != (now.mtime, now.size);
        if (was.dev, was.ino) != (now.dev, now.ino) || is_written {
            return;
        }
        self.with_landings(folder, name, |landings| {
            landings.went(was);
            landings.landed(now);
        });
        // Other names of it, at the top or in other folders of the same device.
        if was.nlink.max(now.nlink) > 1 {
            self.top.landings.lock().changed(was, now);
        }
    }

    /// Remembers that something was replaced.
    pub(in crate::receive) fn note_replaced(&self, folder: &Folder, name: &[u8], was: &Metadata) {
        self.with_landings(folder, name, |landings| landings.went(was));
    }

    /// Makes what is missing of `path` from the top; going down by descriptors makes the depth cost
    /// no more than its names.
    fn make_all(&self, base: &Dir, path: RelPath<'_>) -> Result<Dir, Trouble> {
        let mut at = None;
        for name in path.components() {
            let parent = at.as_ref().unwrap_or(base);
            let opened = match parent.open_dir(name.as_bytes()) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let exact = || self.check_name(parent, name.as_bytes()).map(|()| true);
                    self.make_in(parent, name.as_bytes(), exact)?
                }
                opened => {
                    let opened = opened.map_err(folder_trouble(Operation::Open))?;
                    self.check_name(parent, name.as_bytes())?;
                    opened
                }
            };
            at = Some(opened);
        }
        at.ok_or(EntryError::IN_THE_WAY.into())
    }

    /// Makes `name` in `parent`, or finds that it is there, spelt in just that way, and opens it.
    fn make_in(
        &self,
        parent: &Dir,
        name: &[u8],
        exact: impl FnOnce() -> Result<bool, Trouble>,
    ) -> Result<Dir, Trouble> {
        let masked = match parent.make_dir(name, MADE_FOLDER_MODE) {
            Ok(()) => self.staging.folders_masked,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && !exact()? => {
                return Err(EntryError::IN_THE_WAY.into());
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(self.or_gone(Operation::Create)(error)),
        };
        open_made_as(parent, name, MADE_FOLDER_MODE, masked).map_err(folder_trouble(Operation::Open))
    }

    /// Refuses a name that the folder would change.
    pub(in crate::receive) fn admit_in(&self, folder: &Folder, name: &[u8]) -> Result<(), EntryError> {
        let dir = if folder.is_foreign() { &*folder.dir } else { &self.staging.dir };
        self.admit_name(folder.manner, dir, name)
    }

    /// Opens the last folder of `path` in the one above it, or in the destination; made where it is
    /// missing.
    fn enter(&self, above: Option<&Folder>, path: &[u8]) -> Result<Dir, Trouble> {
        let parent = above.map_or(&self.root.dir, |above| &above.dir);
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        above.map_or(Ok(()), |above| above.admits(name).and_then(|()| self.admit_in(above, name)))?;
        let exact = || match above {
            Some(above) => above.has_exactly(name).map_err(during(Operation::Read)),
            None => self.check_name(parent, name).map(|()| true),
        };
        match parent.open_dir(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let _opening = above.and_then(|above| self.open_for_change(above));
                self.make_in(parent, name, exact)
            }
            Err(error) => Err(folder_trouble(Operation::Open)(error)),
            Ok(_) if !exact()? => Err(EntryError::IN_THE_WAY.into()),
            Ok(dir) => Ok(dir),
        }
    }

    /// Whether the visible folder at `path` was made by this transfer, or by one before it, and has
    /// not got its own mode yet.
    pub(in crate::receive) fn was_made(&self, dir: &Dir, path: &[u8]) -> io::Result<bool> {
        let there = metadata_of(dir)?;
        if there.mode & !SETGID != MADE_FOLDER_MODE {
            return Ok(false);
        }
        // Nobody else's folder that happens to have that mode: one that is older than all attempts
        // is not.
        let born = received_before::born(dir);
        if self.staging.temporaries.may_be_left()
            || born.zip(self.times.began).is_none_or(|(born, began)| born >= began)
        {
            return Ok(true);
        }
        // Left so by an earlier transfer whose disk refused the mode. Where that device may replace
        // anyway, it gets it now.
        let is_brought = || RelPath::new(path).is_ok_and(|path| self.brought_at(path).is_some());
        Ok(self.options.on_conflict == OnConflict::Replace && is_brought())
    }

    fn opened(&self, dir: Dir, landing: Landing, path: RelPath<'_>) -> Result<Folder, Trouble> {
        let (dev, is_home) = match landing {
            Landing::Staged => (self.root.dev, false),
            _ => {
                let there = metadata_of(&dir).map_err(during(Operation::Open))?;
                if self.options.own.has(&there) {
                    return Err(EntryError::OWN_FOLDER.into());
                }
                let is_home = self.root.homes.has(&there);
                if is_home && self.options.into_home == IntoHome::Refuse {
                    return Err(EntryError::HOME_FOLDER.into());
                }
                (there.dev, is_home)
            }
        };
        let manner = if landing == Landing::Staged { self.staging.manner } else { self.manner_in(&dir, dev) };
        let mut folder = Folder { is_home, ..Folder::new(dir, landing, path, manner) };
        if landing == Landing::Merged(Policy::Update) {
            folder.brought = self.brought_at(path);
        }
        if dev != self.root.dev {
            folder.foreign.store(true, Ordering::Relaxed);
            self.note_foreign(dev, &folder.dir).map_err(during(Operation::Open))?;
        }
        // Also where files come by way of the staging folder: whether they can is tried by a
        // temporary name, which an attempt that was killed may have left.
        self.clear_left(&folder);
        Ok(folder)
    }

    fn note_foreign(&self, dev: u64, dir: &Dir) -> io::Result<()> {
        let mut foreign = self.deferred.foreign.lock();
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
    pub(in crate::receive) fn or_gone(&self, operation: Operation) -> impl Fn(io::Error) -> Trouble {
        move |error| {
            if error.kind() == io::ErrorKind::NotFound && self.is_gone() {
                return LaneError::DestinationGone.into();
            }
            if not_a_folder(&error) { failed(operation, &error).into() } else { during(operation)(error) }
        }
    }
}
