//! Units of work between the walk and the lanes: a batch of small entries, or one large file. Also
//! the bounded queue of them.
pub(super) mod pieces;
pub(super) mod ranges;
pub(super) mod told;
mod windows;

use std::collections::{HashMap, VecDeque};
use std::ffi::CStr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use ringway_sys::attributes::Metadata;
use ringway_sys::dir::Dir;
use ringway_wire::control::Wanted;
use ringway_wire::lane::{Attributes, Counts, XattrBuffer};
use ringway_wire::stretches::Stretches;
use ringway_wire::{ProtocolError, RelPath};

use super::attributes;
use super::links::{FurtherName, LinkSet};
use crate::descriptors::ForSending;
use ranges::Ranged;
use windows::Windows;

/// A file of any size with a hole of at least this many bytes is sent in ranges.
const HOLES_MIN: u64 = 32 * 1024;

/// Bytes of contents in one batch: a frame that a TLS lane sends at nearly the highest rate, while
/// a second batch can be read meanwhile.
pub(super) const BATCH_CONTENTS_MAX: usize = 512 * 1024;

/// The largest file in a batch; two always fit. Larger ones are read and sent in ranges.
pub(super) const BATCH_FILE_MAX: u64 = 256 * 1024;

/// Files of one batch. All of them are passed to the kernel for reading together.
pub(super) const BATCH_FILES_MAX: usize = 1024;

/// Items of one batch. The wire allows 4,096 in a frame, and a lane may split a batch.
const BATCH_ITEMS_MAX: usize = 2048;

/// Memory of one batch's names and attributes.
const BATCH_MEMORY_MAX: usize = 512 * 1024;

/// Units in the queue: how far the walk runs ahead of the lanes.
pub(super) const QUEUE_UNITS_MAX: usize = 16;

/// Units that are listed, or wanted and not taken yet. They keep a long link busy, because
/// thousands of files are asked about before an answer has to arrive.
const LISTED_UNITS_MAX: usize = 32;

/// A folder's path within the transfer, shared by all of its entries.
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

/// The next work of a lane.
pub(super) enum Work {
    /// A unit from the walk.
    Found(Unit),
    /// A unit that the receiver was asked about, or need not be.
    Send(Unit),
}

/// A file to be sent in ranges.
pub(super) struct Large {
    pub(super) folder: Arc<Dir>,
    pub(super) path: FolderPath,
    pub(super) name: Box<[u8]>,
    pub(super) metadata: Metadata,
    /// The link set, if the file has several names.
    pub(super) link: Option<Arc<LinkSet>>,
    /// The parts that the receiver has already.
    pub(super) has: Stretches,
    /// Length of the receiver's file that it replaces, which may contain chunks of it; 0 if there
    /// is none.
    pub(super) basis: u64,
    pub(super) listed: Listed,
}

/// How a large file was listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Listed {
    /// Not at all, or for the last time.
    #[default]
    Done,
    /// Without a digest, which the receiver may ask for.
    WithoutDigest,
    /// The receiver has one of its size and time, and asks for the digest.
    DigestWanted,
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
    /// Set if the batch has files of it to be read, or links that may have to be.
    pub(super) dir: Option<Arc<Dir>>,
}

/// The position of a name in a batch's arena.
#[derive(Debug, Clone, Copy)]
pub(super) struct NameAt(u32);

/// One item of a batch.
pub(super) enum BatchItem {
    /// The following items are in this folder.
    Folder(u32),
    /// The same, and the folder itself is an entry.
    NewFolder(u32, Box<FolderAttributes>),
    /// A small file.
    File(BatchFile),
    /// A symbolic link.
    Symlink { name: NameAt, target: NameAt, attributes: Attributes },
    /// Another name of a file.
    HardLink { name: NameAt, further: FurtherName, attributes: Attributes },
}

/// A small file of a batch.
pub(super) struct BatchFile {
    pub(super) name: NameAt,
    pub(super) metadata: Metadata,
    pub(super) link: Option<Arc<LinkSet>>,
}

/// The position of a name, for sending it by itself.
pub(super) struct Place {
    pub(super) path: FolderPath,
    pub(super) dir: Arc<Dir>,
    pub(super) name: Box<[u8]>,
}

/// The attributes of a folder that is an entry.
pub(super) struct FolderAttributes {
    pub(super) attributes: Attributes,
    pub(super) xattrs: XattrBuffer,
    pub(super) xattr_bytes: usize,
}

impl Large {
    pub(super) fn new(place: Place, metadata: Metadata, link: Option<Arc<LinkSet>>) -> Self {
        let Place { path, dir: folder, name } = place;
        Self { folder, path, name, metadata, link, has: Stretches::default(), basis: 0, listed: Listed::Done }
    }

    pub(super) fn folder_path(&self) -> RelPath<'_> {
        rel_path(&self.path)
    }
}

impl BatchFolder {
    pub(super) fn path(&self) -> RelPath<'_> {
        rel_path(&self.path)
    }
}

fn rel_path(path: &FolderPath) -> RelPath<'_> {
    RelPath::new(path).expect("the walk joins only what the wire takes")
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

    /// Bytes of its files, as the walk saw them.
    pub(super) fn contents(&self) -> usize {
        self.contents
    }

    /// The same, file by file.
    pub(super) fn file_lens(&self) -> impl Iterator<Item = usize> + '_ {
        self.items.iter().filter_map(|item| match item {
            BatchItem::File(file) => Some(file.metadata.size as usize),
            _ => None,
        })
    }

    /// How many files it has.
    pub(super) fn files(&self) -> usize {
        self.files
    }

    /// Whether it has any items except changes of the current folder.
    fn has_entries(&self) -> bool {
        self.items.iter().any(|item| !matches!(item, BatchItem::Folder(_)))
    }

    /// Leaves out unwanted files, by their order, and returns their counts.
    fn keep_wanted(&mut self, wanted: &[bool], kept: &[bool]) -> Unwanted {
        let (mut unwanted, mut files, mut number) = (Unwanted::default(), 0, 0);
        self.items.retain(|item| {
            let BatchItem::File(file) = item else { return true };
            // Files beyond the list were not asked about.
            let stays = wanted.get(number).copied().unwrap_or(true);
            if !stays {
                let is_kept = kept.get(number).copied().unwrap_or(false);
                files += 1;
                unwanted.counts += settle_unwanted(file.link.as_deref(), &file.metadata, is_kept);
                unwanted.expected += file.metadata.size;
            }
            number += 1;
            stays
        });
        self.files -= files;
        self.contents -= unwanted.expected as usize;
        unwanted
    }

    /// Whether one more file of `size` bytes in `path` may be added.
    pub(super) fn has_room(&self, path: &FolderPath, size: usize) -> bool {
        let folder_there = self.current(path).is_some_and(|folder| folder.dir.is_some());
        self.contents + size <= BATCH_CONTENTS_MAX
            && self.files < BATCH_FILES_MAX
            && self.items.len() + 2 <= BATCH_ITEMS_MAX
            && self.memory() <= BATCH_MEMORY_MAX
            && (self.open_folders < ForSending::here().batch_folders || folder_there)
    }

    /// About the bytes of memory that it takes, without contents, which the lane reads into its own
    /// buffer.
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

    /// Makes `path` the current folder, adding an item without attributes if it was not.
    fn enter(&mut self, path: &FolderPath) {
        if self.current(path).is_none() {
            let index = self.folders.len() as u32;
            self.folders.push(BatchFolder { path: path.clone(), dir: None });
            self.items.push(BatchItem::Folder(index));
        }
    }

    /// The same, with the descriptor through which its entries are read.
    fn enter_open(&mut self, path: &FolderPath, dir: &Arc<Dir>) {
        self.enter(path);
        if let Some(folder) = self.folders.last_mut().filter(|folder| folder.dir.is_none()) {
            folder.dir = Some(dir.clone());
            self.open_folders += 1;
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
        link: Option<Arc<LinkSet>>,
    ) {
        self.enter_open(path, dir);
        let name = self.store(name);
        self.items.push(BatchItem::File(BatchFile { name, metadata, link }));
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
        dir: &Arc<Dir>,
        name: &[u8],
        further: FurtherName,
        attributes: Attributes,
    ) {
        self.enter_open(path, dir);
        let name = self.store(name);
        self.items.push(BatchItem::HardLink { name, further, attributes });
    }

    /// Whether a link set of one of its links was settled.
    fn has_settled(&self) -> bool {
        self.items.iter().any(|item| matches!(item, BatchItem::HardLink { further, .. } if !further.set.is_pending()))
    }
}

impl Unit {
    /// How many of its files the receiver may have already.
    fn files(&self) -> usize {
        match self {
            Self::Batch(batch) => batch.files(),
            Self::Large(_) => 1,
            Self::Share(_) => 0,
        }
    }

    /// Divides it into what is to be sent and what is not.
    fn keep_wanted(self, answer: &Wanted) -> (Option<Self>, Unwanted) {
        match self {
            Self::Batch(mut batch) => {
                let unwanted = batch.keep_wanted(&answer.files, &answer.kept);
                (batch.has_entries().then_some(Self::Batch(batch)), unwanted)
            }
            Self::Large(large) if answer.files == [false] => {
                let counts = settle_unwanted(large.link.as_deref(), &large.metadata, answer.kept == [true]);
                (None, Unwanted { counts, expected: attributes::allocated(&large.metadata) })
            }
            Self::Large(large)
                if large.listed == Listed::WithoutDigest && answer.has.total() == large.metadata.size =>
            {
                (Some(Self::Large(Large { listed: Listed::DigestWanted, ..large })), Unwanted::default())
            }
            Self::Large(large) => {
                let has = answer.has.clone();
                // These bytes count at the file's end.
                let bytes = has.total();
                let unwanted = Unwanted { counts: Counts { bytes, ..Counts::default() }, expected: bytes };
                (Some(Self::Large(Large { has, basis: answer.basis, ..large })), unwanted)
            }
            other => (Some(other), Unwanted::default()),
        }
    }

    fn open_folders(&self) -> usize {
        match self {
            Self::Batch(batch) => batch.open_folders,
            Self::Large(_) => 1,
            Self::Share(_) => 0,
        }
    }
}

/// Settles a file that the receiver does not want, and returns how it counts.
fn settle_unwanted(link: Option<&LinkSet>, metadata: &Metadata, is_kept: bool) -> Counts {
    let is_link = match link {
        Some(link) if is_kept => link.keep(),
        link => {
            link.into_iter().for_each(|link| link.settle(Some(metadata)));
            false
        }
    };
    match is_link {
        true => Counts { links: 1, ..Counts::default() },
        false => Counts { files: 1, bytes: metadata.size, ..Counts::default() },
    }
}

/// Files of a list that the receiver does not want, because it has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Unwanted {
    /// As both ends count them: with their whole sizes.
    pub(super) counts: Counts,
    /// Bytes that the walk counted for them. For a sparse file these are its bytes on disk.
    pub(super) expected: u64,
}

/// The transfer was cancelled.
#[derive(Debug)]
pub(super) struct Cancelled;

/// The bounded queue from the walk to the lanes.
#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    /// Signalled when something was added, or the queue ended.
    added: Condvar,
    /// Signalled when something was taken, or the queue was cancelled.
    taken: Condvar,
}

#[derive(Default)]
struct State {
    units: VecDeque<Unit>,
    /// Files that lanes without a unit may help with.
    shared: Vec<Arc<Ranged>>,
    /// Whether the receiver is asked which files it wants.
    lists: bool,
    /// Units about which it was asked, by the numbers of their lists, and how many of their files
    /// those name.
    listed: HashMap<u32, (Unit, usize)>,
    /// Units that it wants.
    wanted: VecDeque<Unit>,
    windows: Windows,
    next_list: u32,
    /// Links whose file is still being sent under another name.
    parked: Vec<Batch>,
    /// Units that a lane has taken and that may bring further work: lists, batches, and large files
    /// until they are shared.
    at_work: usize,
    /// Folder descriptors of units in the queue and of parked ones, and of those that are listed or
    /// wanted.
    open_folders: usize,
    listed_folders: usize,
    waiting_lanes: usize,
    ended: bool,
    cancelled: bool,
    #[cfg(test)]
    longest: usize,
}

impl State {
    /// Whether the walk may add a unit that holds this many folders open.
    fn has_room(&self, folders: usize) -> bool {
        self.units.len() < QUEUE_UNITS_MAX && self.open_folders + folders <= ForSending::here().queue_folders
    }

    /// Whether no lane can get any more work.
    fn is_over(&self) -> bool {
        let queued = self.units.len() + self.listed.len() + self.wanted.len() + self.parked.len();
        self.ended && queued + self.at_work == 0 && !self.windows.is_asking()
    }

    /// Lets lanes try parked links again.
    fn unpark(&mut self) {
        for batch in std::mem::take(&mut self.parked) {
            self.open_folders -= batch.open_folders;
            self.listed_folders += batch.open_folders;
            self.wanted.push_back(Unit::Batch(batch));
        }
    }

    /// Whether an idle lane waits for the receiver: lists are unanswered, and until their answers
    /// nothing more can be asked about. Either there is nothing more, or the limit is reached, or
    /// links wait and may delay the walk.
    fn awaits_answers(&self) -> bool {
        !self.listed.is_empty() && (self.ended || !self.units.is_empty() || !self.parked.is_empty())
    }

    /// Whether there is a unit that may be taken now.
    fn has_work(&self) -> bool {
        let listed = self.listed.len() + self.wanted.len();
        let room =
            !self.lists || (listed < LISTED_UNITS_MAX && self.listed_folders < ForSending::here().listed_folders);
        !self.wanted.is_empty() || (room && !self.units.is_empty())
    }
}

impl Queue {
    /// Waits for space for a unit; false if there is none after that time.
    pub(super) fn wait_for_room(&self, unit: &Unit, at_most: Duration) -> Result<bool, Cancelled> {
        let folders = unit.open_folders();
        let full = |state: &mut State| !state.cancelled && !state.has_room(folders);
        let mut state = self.state.lock();
        let waited = self.taken.wait_while_for(&mut state, full, at_most);
        if state.cancelled { Err(Cancelled) } else { Ok(!waited.timed_out() || state.has_room(folders)) }
    }

    /// Adds a unit, waiting for space.
    pub(super) fn add(&self, unit: Unit) -> Result<(), Cancelled> {
        let folders = unit.open_folders();
        let full = |state: &mut State| !state.cancelled && !state.has_room(folders);
        let mut state = self.state.lock();
        self.taken.wait_while(&mut state, full);
        if state.cancelled {
            return Err(Cancelled);
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

    /// Whether a lane is idle, and more units would give it work.
    pub(super) fn is_hungry(&self) -> bool {
        let state = self.state.lock();
        state.waiting_lanes > state.units.len() && state.listed.is_empty()
    }

    /// Makes lanes ask the receiver which files it wants. Before any lane runs.
    pub(super) fn list(&self) {
        self.state.lock().lists = true;
    }

    /// Whether the receiver is asked which files it wants.
    pub(super) fn lists(&self) -> bool {
        self.state.lock().lists
    }

    /// The next work, including a share in a file that another lane has begun. Waits for work;
    /// `None` when the walk has ended and everything was taken. `asks` is called before it waits
    /// for the receiver's answers to lists, and after; otherwise it waits for the walk.
    pub(super) fn take(&self, mut asks: impl FnMut(bool)) -> Result<Option<Work>, Cancelled> {
        let mut state = self.state.lock();
        let mut asking = false;
        loop {
            if state.cancelled {
                return Err(Cancelled);
            }
            if let Some(work) = self.pop(&mut state) {
                return Ok(Some(work));
            }
            if let Some(ranged) = state.shared.iter().find(|ranged| ranged.join()) {
                return Ok(Some(Work::Send(Unit::Share(ranged.clone()))));
            }
            if state.is_over() {
                return Ok(None);
            }
            if asking != state.awaits_answers() {
                asking = !asking;
                asks(asking);
            }
            state.waiting_lanes += 1;
            self.added.wait(&mut state);
            state.waiting_lanes -= 1;
        }
    }

    /// Whether a unit can be taken.
    pub(super) fn has_units(&self) -> bool {
        self.state.lock().has_work()
    }

    /// A number for a list, or for a window of chunks.
    pub(super) fn next_list(&self) -> u32 {
        let mut state = self.state.lock();
        let number = state.next_list;
        state.next_list = number.wrapping_add(1);
        number
    }

    /// Keeps a unit, of which this many files are listed, until the receiver has answered.
    pub(super) fn hold(&self, number: u32, unit: Unit, files: usize) {
        self.state.lock().listed.insert(number, (unit, files));
    }

    /// The same for a large file that a lane has taken and lists again.
    pub(super) fn hold_again(&self, number: u32, large: Large) {
        let (unit, mut state) = (Unit::Large(large), self.state.lock());
        state.listed_folders += unit.open_folders();
        state.listed.insert(number, (unit, 1));
    }

    /// Notes that a file is being asked about, or no longer is.
    pub(super) fn asks(&self, asks: bool) {
        self.state.lock().windows.asks(asks);
        self.added.notify_all();
    }

    /// Expects an answer for this many chunks of a window.
    pub(super) fn ask(&self, number: u32, chunks: usize) {
        self.state.lock().windows.expect(number, chunks);
    }

    /// Which chunks of a window the receiver wants; `None` if it has not answered yet, unless
    /// `waits` is set.
    pub(super) fn take_answer(&self, number: u32, waits: bool) -> Result<Option<Vec<bool>>, Cancelled> {
        let mut state = self.state.lock();
        loop {
            if state.cancelled {
                return Err(Cancelled);
            }
            let answer = state.windows.take(number);
            if answer.is_some() || !waits {
                return Ok(answer);
            }
            self.added.wait(&mut state);
        }
    }

    /// Handles the receiver's answer to a list. An answer to a window of chunks is kept for the
    /// lane that asked. Unwanted files are counted before any lane can find that this was the last
    /// answer.
    pub(super) fn answer(&self, answer: &Wanted, book: impl FnOnce(Unwanted)) -> Result<(), ProtocolError> {
        let mut state = self.state.lock();
        if let Some(answered) = state.windows.answer(answer) {
            drop(state);
            self.added.notify_all();
            return answered;
        }
        let (unit, files) = state.listed.remove(&answer.list).ok_or(ProtocolError::BadValue("answer to a list"))?;
        let past_the_end = |large: &Large| answer.has.iter().any(|stretch| stretch.end > large.metadata.size);
        if answer.files.len() != files || matches!(&unit, Unit::Large(large) if past_the_end(large)) {
            return Err(ProtocolError::BadValue("answer to a list"));
        }
        let folders = unit.open_folders();
        let (unit, unwanted) = unit.keep_wanted(answer);
        match unit {
            Some(unit) => state.wanted.push_back(unit),
            None => state.listed_folders -= folders,
        }
        state.unpark();
        book(unwanted);
        drop(state);
        // Lanes wait for this answer, for space to list more, or for the end. The walk may wait for
        // folders that parked links held open.
        self.added.notify_all();
        self.taken.notify_all();
        Ok(())
    }

    /// Notes that the unit of a lane has brought all the work that it can bring: see
    /// [`State::at_work`].
    pub(super) fn done(&self) {
        let mut state = self.state.lock();
        state.at_work = state.at_work.saturating_sub(1);
        let is_over = state.is_over();
        drop(state);
        if is_over {
            self.added.notify_all();
        }
    }

    /// Makes a name be sent by itself, before everything else that waits.
    pub(super) fn add_first(&self, unit: Unit) {
        let mut state = self.state.lock();
        if state.cancelled {
            return;
        }
        state.open_folders += unit.open_folders();
        state.units.push_front(unit);
        drop(state);
        self.added.notify_one();
    }

    /// Keeps links until their file was settled. If they hold many folders open, the walk waits
    /// meanwhile.
    pub(super) fn park(&self, batch: Batch) {
        let mut state = self.state.lock();
        if state.cancelled {
            return;
        }
        state.open_folders += batch.open_folders;
        let has_settled = batch.has_settled();
        state.parked.push(batch);
        drop(state);
        // A set may have been settled since the lane checked.
        if has_settled {
            self.settled();
        }
    }

    /// Link sets were settled, so the links that wait for them are tried again.
    pub(super) fn settled(&self) {
        let mut state = self.state.lock();
        if !state.parked.is_empty() {
            state.unpark();
            drop(state);
            self.added.notify_all();
            self.taken.notify_all();
        }
    }

    /// Lets idle lanes help with a file.
    pub(super) fn share(&self, ranged: &Arc<Ranged>) {
        self.state.lock().shared.push(ranged.clone());
        self.added.notify_all();
    }

    /// Makes idle lanes check whether they can help now.
    pub(super) fn stir(&self) {
        self.added.notify_all();
    }

    /// No further lane joins.
    pub(super) fn unshare(&self, ranged: &Arc<Ranged>) {
        self.state.lock().shared.retain(|other| !Arc::ptr_eq(other, ranged));
    }

    fn pop(&self, state: &mut State) -> Option<Work> {
        if let Some(unit) = state.wanted.pop_front() {
            state.listed_folders -= unit.open_folders();
            state.at_work += 1;
            return Some(Work::Send(unit));
        }
        if !state.has_work() {
            return None;
        }
        let unit = state.units.pop_front()?;
        let folders = unit.open_folders();
        state.open_folders -= folders;
        state.at_work += 1;
        self.taken.notify_one();
        if !state.lists || unit.files() == 0 {
            return Some(Work::Send(unit));
        }
        state.listed_folders += folders;
        Some(Work::Found(unit))
    }

    /// Nothing more will be added.
    pub(super) fn end(&self) {
        self.state.lock().ended = true;
        self.added.notify_all();
    }

    /// Wakes all waiting threads; units in the queue are dropped.
    pub(super) fn cancel(&self) {
        let mut state = self.state.lock();
        state.cancelled = true;
        state.units.clear();
        state.shared.clear();
        state.listed.clear();
        state.windows.clear();
        state.wanted.clear();
        state.parked.clear();
        (state.open_folders, state.listed_folders) = (0, 0);
        drop(state);
        self.added.notify_all();
        self.taken.notify_all();
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.state.lock().cancelled
    }

    #[cfg(test)]
    pub(super) fn longest(&self) -> usize {
        self.state.lock().longest
    }
}

/// Whether a file is sent in ranges.
pub(super) fn goes_in_ranges(metadata: &Metadata) -> bool {
    metadata.size > BATCH_FILE_MAX || metadata.size - attributes::allocated(metadata) >= HOLES_MIN
}

/// A unit of one file.
pub(in crate::send) fn alone(place: Place, metadata: Metadata, link: Option<Arc<LinkSet>>) -> Unit {
    if goes_in_ranges(&metadata) {
        return Unit::Large(Large::new(place, metadata, link));
    }
    let mut batch = Batch::default();
    batch.file(&place.path, &place.dir, &place.name, metadata, link);
    Unit::Batch(batch)
}

/// The bytes that a file counts for before it is read.
pub(in crate::send) fn bytes_of(metadata: &Metadata) -> u64 {
    if goes_in_ranges(metadata) { attributes::allocated(metadata) } else { metadata.size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lane_waits_for_the_walk_or_for_the_receiver() {
        let mut state = State { ended: true, ..State::default() };
        assert!(!state.awaits_answers(), "nothing was asked");
        state.listed.insert(0, (Unit::Batch(Batch::default()), 1));
        assert!(state.awaits_answers(), "nothing more will be asked");
        state.ended = false;
        assert!(!state.awaits_answers(), "the walk may find more");
        state.units.push_back(Unit::Batch(Batch::default()));
        assert!(state.awaits_answers(), "no more may be asked");
        state.units.clear();
        state.parked.push(Batch::default());
        assert!(state.awaits_answers(), "links wait for what was asked about");
    }
}
