//! Units of work between the walk and the lanes: a batch of small entries, or one large file; and the bounded queue of them.
use std::collections::VecDeque;
use std::ffi::CStr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use ringway_sys::attributes::Metadata;
use ringway_sys::dir::Dir;
use ringway_wire::lane::{Attributes, XattrBuffer};

use super::ranged::Ranged;

/// Contents of one batch: a frame that a TLS lane sends about fastest, and a second batch can be read meanwhile.
pub(super) const BATCH_CONTENTS_MAX: usize = 512 * 1024;

/// The largest file that travels in a batch; two always fit. Larger ones are read and sent in ranges.
pub(super) const BATCH_FILE_MAX: u64 = 256 * 1024;

/// Files of one batch: as many reads are handed to the kernel together.
pub(super) const BATCH_FILES_MAX: usize = 1024;

/// Items of one batch; the wire takes 4,096 in a frame, and a lane may split a batch.
const BATCH_ITEMS_MAX: usize = 2048;

/// Folder descriptors that one batch holds, so that 16 lanes, the queue and the walk stay below the usual soft limit of 1,024.
const BATCH_FOLDERS_MAX: usize = 32;

/// Memory of one batch's names and attributes.
const BATCH_MEMORY_MAX: usize = 512 * 1024;

/// Units in the queue: the walk runs so far ahead of the lanes.
pub(super) const QUEUE_UNITS_MAX: usize = 16;

/// Folder descriptors in the queue.
const QUEUE_FOLDERS_MAX: usize = 128;

/// A folder's path within the transfer, shared by all that is in it.
pub(super) type FolderPath = Arc<[u8]>;

/// Work for one lane.
pub(super) enum Unit {
    /// Small files, links, folders.
    Batch(Batch),
    /// One large or sparse file.
    Large(Large),
    /// A large file that another lane is sending.
    Share(Arc<Ranged>),
}

/// A file to be sent in ranges.
pub(super) struct Large {
    pub(super) folder: Arc<Dir>,
    pub(super) path: FolderPath,
    pub(super) name: Box<[u8]>,
    pub(super) metadata: Metadata,
    pub(super) link_id: Option<u64>,
}

/// Entries in the order of the walk.
#[derive(Default)]
pub(super) struct Batch {
    names: Vec<u8>,
    folders: Vec<BatchFolder>,
    pub(super) items: Vec<BatchItem>,
    contents: usize,
    files: usize,
    open_folders: usize,
    /// Bytes of extended attributes of folders.
    xattr_bytes: usize,
}

/// A folder as a batch refers to it.
pub(super) struct BatchFolder {
    pub(super) path: FolderPath,
    /// There if the batch has files of it to be read.
    pub(super) dir: Option<Arc<Dir>>,
}

/// Where a name lies in a batch's arena.
#[derive(Debug, Clone, Copy)]
pub(super) struct NameAt(u32);

/// One item of a batch.
pub(super) enum BatchItem {
    /// What follows is in this folder.
    Folder(u32),
    /// The same, and the folder is an entry itself.
    NewFolder(u32, Box<FolderAttributes>),
    /// A small file.
    File(BatchFile),
    /// A symbolic link.
    Symlink { name: NameAt, target: NameAt, attributes: Attributes },
    /// Another name of a file.
    HardLink { name: NameAt, link_id: u64, last: bool, attributes: Attributes },
}

/// A small file of a batch.
#[derive(Clone, Copy)]
pub(super) struct BatchFile {
    pub(super) name: NameAt,
    pub(super) metadata: Metadata,
    pub(super) link_id: Option<u64>,
}

/// What a folder carries.
pub(super) struct FolderAttributes {
    pub(super) attributes: Attributes,
    pub(super) xattrs: XattrBuffer,
    pub(super) xattr_bytes: usize,
}

impl Batch {
    pub(super) fn name(&self, at: NameAt) -> &CStr {
        CStr::from_bytes_until_nul(&self.names[at.0 as usize..]).unwrap_or_default()
    }

    pub(super) fn folder(&self, index: u32) -> &BatchFolder {
        &self.folders[index as usize]
    }

    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Whether one more file of `size` bytes in `path` may be added.
    pub(super) fn has_room(&self, path: &FolderPath, size: usize) -> bool {
        let folder_there = self.current(path).is_some_and(|folder| folder.dir.is_some());
        self.contents + size <= BATCH_CONTENTS_MAX
            && self.files < BATCH_FILES_MAX
            && self.items.len() + 2 <= BATCH_ITEMS_MAX
            && self.memory() <= BATCH_MEMORY_MAX
            && (self.open_folders < BATCH_FOLDERS_MAX || folder_there)
    }

    /// About the bytes of memory that it takes, contents aside: those are read by the lane into its own buffer.
    fn memory(&self) -> usize {
        self.names.len() + self.items.len() * size_of::<BatchItem>() + self.xattr_bytes
    }

    fn current(&self, path: &FolderPath) -> Option<&BatchFolder> {
        self.folders.last().filter(|folder| Arc::ptr_eq(&folder.path, path))
    }

    fn store(&mut self, name: &[u8]) -> NameAt {
        let at = NameAt(self.names.len() as u32);
        self.names.extend_from_slice(name);
        self.names.push(0);
        at
    }

    /// Makes `path` the current folder, said without attributes if it was not.
    fn enter(&mut self, path: &FolderPath) {
        if self.current(path).is_none() {
            let index = self.folders.len() as u32;
            self.folders.push(BatchFolder { path: path.clone(), dir: None });
            self.items.push(BatchItem::Folder(index));
        }
    }

    pub(super) fn new_folder(&mut self, path: &FolderPath, attributes: FolderAttributes) {
        let index = self.folders.len() as u32;
        self.folders.push(BatchFolder { path: path.clone(), dir: None });
        self.xattr_bytes += attributes.xattr_bytes + size_of::<FolderAttributes>() + path.len();
        self.items.push(BatchItem::NewFolder(index, Box::new(attributes)));
    }

    pub(super) fn file(
        &mut self,
        path: &FolderPath,
        dir: &Arc<Dir>,
        name: &[u8],
        metadata: Metadata,
        link_id: Option<u64>,
    ) {
        self.enter(path);
        if let Some(folder) = self.folders.last_mut().filter(|folder| folder.dir.is_none()) {
            folder.dir = Some(dir.clone());
            self.open_folders += 1;
        }
        let name = self.store(name);
        self.items.push(BatchItem::File(BatchFile { name, metadata, link_id }));
        self.files += 1;
        self.contents += metadata.size as usize;
    }

    pub(super) fn symlink(&mut self, path: &FolderPath, name: &[u8], target: &[u8], attributes: Attributes) {
        self.enter(path);
        let (name, target) = (self.store(name), self.store(target));
        self.items.push(BatchItem::Symlink { name, target, attributes });
    }

    pub(super) fn hard_link(
        &mut self,
        path: &FolderPath,
        name: &[u8],
        link_id: u64,
        last: bool,
        attributes: Attributes,
    ) {
        self.enter(path);
        let name = self.store(name);
        self.items.push(BatchItem::HardLink { name, link_id, last, attributes });
    }
}

impl Unit {
    fn open_folders(&self) -> usize {
        match self {
            Self::Batch(batch) => batch.open_folders,
            Self::Large(_) => 1,
            Self::Share(_) => 0,
        }
    }
}

/// The transfer was cancelled.
#[derive(Debug)]
pub(super) struct Cancelled;

/// The bounded queue from the walk to the lanes.
#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    /// Something was added, or the queue ended.
    added: Condvar,
    /// Something was taken, or the queue was cancelled.
    taken: Condvar,
}

#[derive(Default)]
struct State {
    units: VecDeque<Unit>,
    /// Files that lanes without a unit may help with.
    shared: Vec<Arc<Ranged>>,
    open_folders: usize,
    waiting_lanes: usize,
    ended: bool,
    cancelled: bool,
    #[cfg(test)]
    longest: usize,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing in here panics half-way through a change, so a poisoned lock still guards whole data.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a unit, waiting for room.
    pub(super) fn add(&self, unit: Unit) -> Result<(), Cancelled> {
        let folders = unit.open_folders();
        let mut state = self.lock();
        loop {
            if state.cancelled {
                return Err(Cancelled);
            }
            let room = state.units.len() < QUEUE_UNITS_MAX && state.open_folders + folders <= QUEUE_FOLDERS_MAX;
            if room {
                break;
            }
            state = self.taken.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.open_folders += folders;
        state.units.push_back(unit);
        #[cfg(test)]
        {
            state.longest = state.longest.max(state.units.len());
        }
        drop(state);
        self.added.notify_one();
        Ok(())
    }

    /// Whether a lane has nothing to do.
    pub(super) fn is_hungry(&self) -> bool {
        let state = self.lock();
        state.waiting_lanes > state.units.len()
    }

    /// The next unit, or part in one that another lane has taken, waiting for one; none when the walk has ended and all are taken.
    pub(super) fn take(&self) -> Result<Option<Unit>, Cancelled> {
        let mut state = self.lock();
        loop {
            if state.cancelled {
                return Err(Cancelled);
            }
            if let Some(unit) = self.pop(&mut state) {
                return Ok(Some(unit));
            }
            if let Some(ranged) = state.shared.iter().find(|ranged| ranged.join()) {
                return Ok(Some(Unit::Share(ranged.clone())));
            }
            if state.ended {
                return Ok(None);
            }
            state.waiting_lanes += 1;
            state = self.added.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting_lanes -= 1;
        }
    }

    /// The next unit if there is one now.
    pub(super) fn try_take(&self) -> Option<Unit> {
        self.pop(&mut self.lock())
    }

    /// Whether a unit is waiting.
    pub(super) fn has_units(&self) -> bool {
        !self.lock().units.is_empty()
    }

    /// Lets lanes that have no unit help with a file.
    pub(super) fn share(&self, ranged: &Arc<Ranged>) {
        self.lock().shared.push(ranged.clone());
        self.added.notify_all();
    }

    /// No further lane joins.
    pub(super) fn unshare(&self, ranged: &Arc<Ranged>) {
        self.lock().shared.retain(|other| !Arc::ptr_eq(other, ranged));
    }

    fn pop(&self, state: &mut State) -> Option<Unit> {
        let unit = state.units.pop_front()?;
        state.open_folders -= unit.open_folders();
        self.taken.notify_one();
        Some(unit)
    }

    /// Nothing more will be added.
    pub(super) fn end(&self) {
        self.lock().ended = true;
        self.added.notify_all();
    }

    /// Nobody waits any more; what is in the queue is let go.
    pub(super) fn cancel(&self) {
        let mut state = self.lock();
        state.cancelled = true;
        state.units.clear();
        state.shared.clear();
        state.open_folders = 0;
        drop(state);
        self.added.notify_all();
        self.taken.notify_all();
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.lock().cancelled
    }

    #[cfg(test)]
    pub(super) fn longest(&self) -> usize {
        self.lock().longest
    }
}
