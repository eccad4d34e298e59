//! Finds and makes the folders that entries land in: where each top-level folder goes, and a lane's
//! cache of open ones.
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::disk::Dir;
use parking_lot::Mutex;
use ringway_model::{OnConflict, Operation};
use ringway_sys::attributes::{Kind, Timestamp, metadata_of};
use ringway_wire::RelPath;

use crate::descriptors::patiently;
use crate::filesystem::own_names::reads_as_own;
use crate::filesystem::spelling::Names;
use crate::receive::failures::{EntryError, Trouble, during, folder_trouble};
use crate::receive::manner::Manner;
use crate::receive::merge::case_folding::Folding;
use crate::receive::received_before::Brought;
use crate::receive::staging::inheritance::Inheritance;
use crate::receive::staging::open_made_as;
use crate::receive::staging::read_only_folders::{Opening, Openings};
use crate::receive::staging::temporaries::Temporaries;
use crate::receive::{FolderIdentity, Incoming, MADE_FOLDER_MODE};

/// Top-level decisions a lane remembers before it forgets all of them: a whole transfer's in nearly
/// every case.
const CACHED_TOPS_MAX: usize = 1024;

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

impl Policy {
    /// What happens to it wherever it is.
    pub(in crate::receive) fn by(on_conflict: OnConflict) -> Self {
        match on_conflict {
            OnConflict::Replace => Self::Replace,
            OnConflict::Keep => Self::Keep,
            OnConflict::Rename | OnConflict::RenameTop => Self::Number,
        }
    }
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
    /// Its inode, where it is visible and on the destination's filesystem.
    pub(in crate::receive) ino: Option<u64>,
    /// Of a folder in what the same device brought before: what is known of that.
    pub(in crate::receive) brought: Option<Arc<Brought>>,
    /// Known not to take renames from the staging folder (EXDEV): another filesystem, subvolume or
    /// mount.
    pub(in crate::receive) foreign: AtomicBool,
    /// The staging folder notes that files have temporary names in it.
    pub(in crate::receive) is_noted: AtomicBool,
    pub(in crate::receive) manner: Manner,
    /// The names that it has, where it takes different spellings for one.
    pub(in crate::receive) names: Mutex<Names>,
    /// What it passes on to files, where that is not what the staging folder passes on.
    pub(in crate::receive) inherits: Option<Inheritance>,
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
            ino: None,
            brought: None,
            foreign: AtomicBool::new(false),
            is_noted: AtomicBool::new(false),
            manner,
            names: Mutex::default(),
            inherits: None,
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

    /// Refuses a name that the folder would change.
    pub(in crate::receive) fn admit_in(&self, folding: &Folding, name: &[u8]) -> Result<(), EntryError> {
        let dir = if self.is_foreign() { &*self.dir } else { &folding.staging };
        folding.admit_name(self.manner, dir, name)
    }

    /// Opens a folder that is about to be changed, where the receiver said to replace and only its
    /// owner's write permission is missing. Where that cannot be done, the change itself fails and
    /// is reported.
    #[must_use]
    pub(in crate::receive) fn open_for_change(&self, openings: &Arc<Openings>) -> Option<Opening> {
        let replaces = self.landing == Landing::Merged(Policy::Replace);
        if replaces { openings.open(&self.dir, &self.path) } else { None }
    }

    /// Removes what earlier attempts have left in a folder under their temporary names. Best
    /// effort: what stays is in nobody's way.
    pub(in crate::receive) fn clear_left(&self, temporaries: &Temporaries, openings: &Arc<Openings>) {
        if !temporaries.may_be_left() || self.is_staged() {
            return;
        }
        let Ok(mut entries) = self.dir.entries() else { return };
        let mut opening = None;
        while let Some(Ok(entry)) = entries.next() {
            if !temporaries.is_left(entry.name) {
                continue;
            }
            let kind = self.dir.metadata(entry.name).map(|there| there.kind);
            if matches!(kind, Ok(Kind::File | Kind::Symlink)) {
                // That attempt had it open, and adopting what it left has closed it.
                opening.get_or_insert_with(|| self.open_for_change(openings));
                let _ = self.dir.unlink(entry.name);
            }
        }
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

/// A lane's open folders, the least recently used one going first.
pub(in crate::receive) struct FolderCache<'i> {
    incoming: &'i Incoming,
    open: HashMap<Box<[u8]>, (u64, Arc<Folder>)>,
    clock: u64,
    tops: HashMap<Box<[u8]>, Landing>,
}

impl<'i> FolderCache<'i> {
    pub(in crate::receive) fn new(incoming: &'i Incoming) -> Self {
        Self { incoming, open: HashMap::new(), clock: 0, tops: HashMap::new() }
    }

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
    pub(in crate::receive) fn folder(&mut self, path: RelPath<'_>) -> Result<Arc<Folder>, Trouble> {
        let incoming = self.incoming;
        if let Some(folder) = self.find(path.as_bytes()) {
            return Ok(folder);
        }
        let spare = |folders: &mut Self| Ok(folders.give_back());
        let opened = patiently(self, spare, || incoming.flags.goes_on(), |folders| folders.open(path))?;
        let folder = Arc::new(opened);
        self.keep(path.as_bytes(), &folder, incoming.open.folders);
        Ok(folder)
    }

    fn open(&mut self, path: RelPath<'_>) -> Result<Folder, Trouble> {
        let incoming = self.incoming;
        let Some((parent_path, name)) = path.split_last() else {
            let dir = incoming.root.dir.try_clone().map_err(during(Operation::Open))?;
            let manner = incoming.folding.manner_in(&dir, incoming.root.dev);
            let there = metadata_of(&dir).map_err(during(Operation::Open))?;
            let inherits = incoming.staging.differing_inheritance(&dir, &there).map_err(during(Operation::Open))?;
            let is_home = incoming.root.is_home;
            let folder = Folder { is_home, inherits, ..Folder::new(dir, Landing::Root, path, manner) };
            folder.clear_left(&incoming.staging.temporaries, &incoming.openings);
            return Ok(folder);
        };
        if path.components().any(|name| reads_as_own(name.as_bytes())) {
            return Err(EntryError::OWN_FOLDER.into());
        }
        let landing = self.landing(path)?;
        if landing != Landing::Staged {
            return self.walk(path, landing);
        }
        path.components().try_for_each(|name| {
            incoming.folding.admit_name(incoming.staging.manner, &incoming.staging.dir, name.as_bytes())
        })?;
        let base = &incoming.staging.tree;
        if !parent_path.is_root()
            && let Some(parent) = self.find(parent_path.as_bytes())
        {
            let exact = || parent.has_exactly(name.as_bytes()).map_err(during(Operation::Read));
            let dir = incoming.staging.make_in(&parent.dir, name.as_bytes(), exact)?;
            return self.opened(dir, landing, path);
        }
        match base.open_beneath(path.as_bytes()) {
            Ok(dir) => {
                let folder = self.opened(dir, landing, path)?;
                if folder.manner.folds {
                    incoming.folding.check_spelling(base, path)?;
                }
                Ok(folder)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let dir = self.make_all(base, path)?;
                self.opened(dir, landing, path)
            }
            Err(error) => Err(folder_trouble(Operation::Open)(error)),
        }
    }

    /// Opens a folder that everybody sees from the nearest one above it that is open, each on the
    /// way by itself: none of them may be ours. Those are kept as well, so that a lane walks a path
    /// once.
    fn walk(&mut self, path: RelPath<'_>, landing: Landing) -> Result<Folder, Trouble> {
        let incoming = self.incoming;
        let bytes = path.as_bytes();
        let ends = || bytes.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        let nearest = ends().rev().find_map(|end| Some((end, self.find(&bytes[..end])?)));
        let (begin, mut above) = match nearest {
            Some((end, folder)) => (end + 1, Some(folder)),
            None => (0, None),
        };
        for end in ends().filter(|end| *end > begin) {
            let dir = self.enter(above.as_deref(), &bytes[..end])?;
            let at = RelPath::new(&bytes[..end]).map_err(|_| EntryError::IN_THE_WAY)?;
            let folder = Arc::new(self.opened(dir, landing, at)?);
            self.keep(&bytes[..end], &folder, incoming.open.folders);
            above = Some(folder);
        }
        self.opened(self.enter(above.as_deref(), bytes)?, landing, path)
    }

    /// Closes every folder, so that their descriptors can be used otherwise. False if there were
    /// none.
    pub(in crate::receive) fn give_back(&mut self) -> bool {
        let any = !self.open.is_empty();
        self.open.clear();
        any
    }

    fn landing(&mut self, path: RelPath<'_>) -> Result<Landing, Trouble> {
        let top = path.split_first().map_or(&b""[..], |(top, _)| top.as_bytes());
        if let Some(landing) = self.tops.get(top) {
            return Ok(*landing);
        }
        let landing = self.landing_of_top(top)?;
        if self.tops.len() >= CACHED_TOPS_MAX {
            self.tops.clear();
        }
        self.tops.insert(top.into(), landing);
        Ok(landing)
    }

    /// Where the top-level folder `top` goes. Decided once, and remembered by the staging tree
    /// itself, so that it costs no memory.
    fn landing_of_top(&self, top: &[u8]) -> Result<Landing, Trouble> {
        let Incoming { root, policy, staging, folding, .. } = self.incoming;
        if root.is_home {
            admit_in_home(top)?;
        }
        folding.admit_name(folding.manner_in(&root.dir, root.dev), &staging.dir, top)?;
        let _deciding = policy.top.deciding.lock();
        if staging.tree.metadata(top).is_ok() {
            return Ok(Landing::Staged);
        }
        // What the same device's folder of that name became may have a number.
        let brought = if policy.on_conflict == OnConflict::RenameTop { policy.top.brought(top) } else { None };
        let brought = brought.filter(|brought| brought.may_be_folder_in(&root.dir));
        let name = brought.as_ref().and_then(|brought| brought.numbered.clone()).unwrap_or_else(|| top.to_vec());
        let existing = match root.dir.metadata(&name) {
            Ok(existing) => Some(existing.kind),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(during(Operation::Open)(error)),
        };
        let on_existing = match (existing, policy.on_conflict) {
            (None, _) => None,
            (Some(_), OnConflict::RenameTop) => brought.as_ref().map(|_| Policy::Update),
            (Some(Kind::Dir), _) if self.came_meanwhile(top) => None,
            (Some(_), on_conflict) => Some(Policy::by(on_conflict)),
        };
        match (on_existing, existing) {
            (None, _) => {
                staging.tree.make_dir(top, MADE_FOLDER_MODE).map_err(staging.or_gone(Operation::Create))?;
                if staging.folders_masked {
                    open_made_as(&staging.tree, top, MADE_FOLDER_MODE, true).map_err(during(Operation::Open))?;
                }
                Ok(Landing::Staged)
            }
            (Some(on_existing), Some(Kind::Dir)) => {
                policy.top.note_arrived(&name, false);
                policy.top.note_added_to(top, || brought.or_else(|| policy.top.brought(top)));
                if name != top {
                    root.number(top, &name);
                }
                Ok(Landing::Merged(on_existing))
            }
            (Some(_), _) => Err(EntryError::IN_THE_WAY.into()),
        }
    }

    /// Whether somebody else has made the folder `top`, or moved it there, while this transfer
    /// runs. It is not the one that was there when it began; or it was made since this attempt
    /// began; or an earlier attempt was building one of that name, and it was made, moved or
    /// changed since.
    /// What comes then gets a number in the end.
    fn came_meanwhile(&self, top: &[u8]) -> bool {
        let Incoming { root, policy, staging, .. } = self.incoming;
        // Without lasting inode numbers (FAT, exFAT) nobody knows either what the device brought.
        let Ok(folder) = root.dir.open_dir(top) else { return false };
        let Ok(there) = FolderIdentity::of(&folder) else { return false };
        let since = |moment: Option<Timestamp>, began: Option<Timestamp>| {
            moment.zip(began).is_some_and(|(moment, began)| moment > began)
        };
        let (began, first_began) = (staging.times.began, staging.times.first_began);
        // Another program may have received that attempt: nobody knows what was there at first.
        let changed = || metadata_of(&folder).ok().map(|there| there.ctime).filter(|_| there.is_lasting());
        let came = policy.top.at_first.are_not(top, &there)
            || since(there.born(), began)
            || (staging.kept.has_top(top) && (since(there.born(), first_began) || since(changed(), first_began)));
        // Another transfer of the same device may have brought it.
        came && policy.top.brought(top).is_none()
    }

    /// Makes what is missing of `path` from the top; going down by descriptors makes the depth cost
    /// no more than its names.
    fn make_all(&self, base: &Dir, path: RelPath<'_>) -> Result<Dir, Trouble> {
        let Incoming { staging, folding, .. } = self.incoming;
        let mut at = None;
        for name in path.components() {
            let parent = at.as_ref().unwrap_or(base);
            let opened = match parent.open_dir(name.as_bytes()) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let exact = || folding.check_name(parent, name.as_bytes()).map(|()| true);
                    staging.make_in(parent, name.as_bytes(), exact)?
                }
                opened => {
                    let opened = opened.map_err(folder_trouble(Operation::Open))?;
                    folding.check_name(parent, name.as_bytes())?;
                    opened
                }
            };
            at = Some(opened);
        }
        at.ok_or(EntryError::IN_THE_WAY.into())
    }

    /// Opens the last folder of `path` in the one above it, or in the destination; made where it is
    /// missing.
    fn enter(&self, above: Option<&Folder>, path: &[u8]) -> Result<Dir, Trouble> {
        let Incoming { root, staging, folding, openings, .. } = self.incoming;
        let parent = above.map_or(&root.dir, |above| &above.dir);
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let here = if above.is_none() { root.here(name) } else { name.into() };
        let name = &*here;
        above.map_or(Ok(()), |above| above.admits(name).and_then(|()| above.admit_in(folding, name)))?;
        let exact = || match above {
            Some(above) => above.has_exactly(name).map_err(during(Operation::Read)),
            None => folding.check_name(parent, name).map(|()| true),
        };
        match parent.open_dir(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let _opening = above.and_then(|above| above.open_for_change(openings));
                staging.make_in(parent, name, exact)
            }
            Err(error) => Err(folder_trouble(Operation::Open)(error)),
            Ok(_) if !exact()? => Err(EntryError::IN_THE_WAY.into()),
            Ok(dir) => Ok(dir),
        }
    }

    fn opened(&self, dir: Dir, landing: Landing, path: RelPath<'_>) -> Result<Folder, Trouble> {
        let Incoming { root, policy, staging, folding, deferred, openings, .. } = self.incoming;
        let there = metadata_of(&dir).map_err(during(Operation::Open))?;
        let (dev, is_home, inherits) = match landing {
            Landing::Staged => {
                policy.top.note_new_folder(path.as_bytes(), there.ino);
                (root.dev, false, None)
            }
            _ => {
                let is_home = root.admit_folder(&there)?;
                let inherits = staging.differing_inheritance(&dir, &there).map_err(during(Operation::Open))?;
                (there.dev, is_home, inherits)
            }
        };
        let ino = (landing != Landing::Staged && dev == root.dev).then_some(there.ino);
        let manner = if landing == Landing::Staged { staging.manner } else { folding.manner_in(&dir, dev) };
        let mut folder = Folder { ino, is_home, inherits, ..Folder::new(dir, landing, path, manner) };
        if landing == Landing::Merged(Policy::Update) {
            folder.brought = policy.top.brought_at(path);
        }
        if dev != root.dev {
            folder.foreign.store(true, Ordering::Relaxed);
            deferred.note_foreign(dev, &folder.dir).map_err(during(Operation::Open))?;
        }
        // Also where files come by way of the staging folder: whether they can is tried by a
        // temporary name, which an attempt that was killed may have left.
        folder.clear_left(&staging.temporaries, openings);
        Ok(folder)
    }
}
