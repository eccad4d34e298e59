//! One thread of a copy: takes tasks, lists folders, and passes files to the code that copies them.
mod chunks;
mod cold_cache;
mod contents;
mod files;
pub(crate) mod hard_links;
mod large_files;
pub(crate) mod pool;
mod queue;
mod small_files;

use std::io;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::Arc;

use ringway_model::{FailureReason, OnExisting, Operation, Planned};
use ringway_sys::attributes::{self as sys, Kind, Metadata, metadata_of};
use ringway_sys::dir::Dir;
use ringway_tree::filesystem::listing::{Position, Window};
use ringway_tree::filesystem::selection::Verdict;
use rustix::fs::FileType;
use rustix::io::Errno;

use crate::attributes::{self, PRIVATE};
use crate::folder::below::{open_below, split};
use crate::folder::entry_error::{self, EntryError};
use crate::folder::overwrite::{self, By, Made};
use crate::folder::{Entered, Folder, Hold, Item, Top};
use crate::job::proof::Gathered;
use crate::job::{Job, Kept, add};
use crate::prepare::plan::Root;
use cold_cache::ColdCache;
use contents::{Sharing, Tools};
use hard_links::{LinkKey, Place, Seen};
use large_files::LargeFile;
use pool::{Grow, Pool};

/// Entries of a folder that are listed and sorted by inode together. This bounds the memory for a
/// folder with millions.
const WINDOW_LEN: usize = 16_384;

/// Bytes of one getdents64 call.
const LISTING_BYTES: usize = 64 * 1024;

/// Entries of one task: enough that the deque's lock costs little, few enough that two threads
/// finish a folder at about the same time.
const FILES_PER_TASK: usize = 256;

/// A task of one thread.
pub(crate) enum Task<'j> {
    /// A source.
    Source(Root),
    /// A subfolder.
    Enter { parent: Hold<'j>, name: Box<[u8]> },
    /// The rest of a folder that is listed in windows.
    List { folder: Hold<'j>, position: Position },
    /// The entries of a part of a window that are no folders.
    Files { folder: Hold<'j>, window: Arc<Window>, range: Range<usize> },
    /// A name of a file with several names, whose first one is settled now.
    Name { folder: Hold<'j>, from: Box<[u8]>, to: Box<[u8]> },
    /// Chunks of a large file.
    Help(Arc<LargeFile<'j>>),
}

/// The state of one thread.
pub(crate) struct Worker<'s, 'j> {
    pub(crate) pool: &'s Pool<'j>,
    pub(crate) job: &'j Job,
    number: usize,
    /// Starts more threads, if that was not done yet.
    grow: &'s dyn Fn(Grow),
    pub(crate) tools: Tools<'j>,
    pub(crate) sharing: Sharing,
    pub(crate) buffer: Vec<u8>,
    /// Buffer for the second reading.
    pub(crate) again: Vec<u8>,
    pub(crate) gathered: Gathered,
    pub(crate) cold: ColdCache,
    /// Whether files are created with exactly the requested mode.
    pub(crate) own_umask: bool,
    listing: Vec<MaybeUninit<u8>>,
}

impl<'s, 'j> Worker<'s, 'j> {
    /// `grow` starts more threads, if that was not done yet.
    pub(crate) fn new(pool: &'s Pool<'j>, number: usize, grow: &'s dyn Fn(Grow)) -> Self {
        Self {
            pool,
            job: pool.job,
            number,
            grow,
            tools: Tools::new(pool.job.choices.io, &pool.job.fallback),
            sharing: Sharing::default(),
            buffer: Vec::new(),
            again: Vec::new(),
            gathered: Gathered::default(),
            cold: ColdCache::new(pool.job),
            own_umask: false,
            listing: vec![MaybeUninit::uninit(); LISTING_BYTES],
        }
    }

    /// Works until no task is left.
    pub(crate) fn run(mut self) -> io::Result<()> {
        self.own_umask = ringway_sys::thread::own_umask().is_ok();
        while let Some(task) = self.pool.queue.next(self.number) {
            if self.job.must_end() {
                self.pool.links.clear();
                drop(self.pool.queue.close());
                break;
            }
            self.task(task);
        }
        match &self.job.proof {
            Some(proof) => self.gathered.flush(proof),
            None => Ok(()),
        }
    }

    fn task(&mut self, task: Task<'j>) {
        match task {
            Task::Source(root) => self.source(root),
            Task::Enter { parent, name } => self.enter(Item { folder: &parent, from: &name, to: &name }),
            Task::List { folder, position } => self.list(&folder, position),
            Task::Files { folder, window, range } => self.files(&folder, &window, range),
            Task::Name { folder, from, to } => self.unknown(Item { folder: &folder, from: &from, to: &to }),
            Task::Help(file) => self.chunks(&file),
        }
    }

    pub(crate) fn push(&self, tasks: Vec<Task<'j>>) {
        let several = tasks.len() > 1;
        self.pool.queue.push(self.number, tasks);
        if several {
            (self.grow)(Grow::ForTasks);
        }
    }

    /// Adds a task, which another thread may take.
    pub(crate) fn offer(&self, task: Task<'j>) {
        self.pool.queue.push(self.number, [task]);
        (self.grow)(Grow::ForTasks);
    }

    /// Ends a plain round of reading small files, and requests more threads if it waited for a
    /// disk.
    pub(crate) fn end_plain_round(&mut self) {
        if self.cold.end_plain() {
            (self.grow)(Grow::ForDisk);
        }
    }

    /// Begins a source, which is only opened now.
    fn source(&mut self, root: Root) {
        add(&self.job.counts.found, 1);
        let Some(top) = &self.job.top else { return };
        let written = root.written();
        let target = match self.job.patiently(|| top.dir.try_clone()) {
            Ok(target) => Some(target),
            Err(error) => return self.job.fail(top.path.clone(), Operation::Open, &error),
        };
        let default_acl = top.default_acl;
        let begun = (|| match root {
            Root::Named { holder, shown, from, written, to, .. } => {
                let source = self.job.patiently(|| Dir::open_to_search(&holder))?;
                let metadata = source.metadata(&from)?;
                let top = Top {
                    holder,
                    own_name: Some(from.clone()),
                    source: shown,
                    source_name: Some(written),
                    target: top.path.clone(),
                    in_source: false,
                };
                let holder = Folder::at_top(self.job, top, Entered { source, target, metadata: None, default_acl });
                let item = Item { folder: &holder, from: &from, to: &to };
                match metadata.kind {
                    Kind::Dir => self.enter(item),
                    kind => self.entry(item, kind),
                }
                io::Result::Ok(())
            }
            Root::Contents { source: path, .. } => {
                let source = self.job.patiently(|| Dir::open(&path))?;
                let metadata = Some(metadata_of(&source)?);
                let top = Top {
                    holder: path.clone(),
                    own_name: None,
                    source: path,
                    source_name: None,
                    target: top.path.clone(),
                    in_source: true,
                };
                let folder = Folder::at_top(self.job, top, Entered { source, target, metadata, default_acl });
                add(&self.job.counts.folders, 1);
                self.list(&folder, Position::default());
                Ok(())
            }
        })();
        if let Err(error) = begun {
            self.job.fail(written, Operation::Open, &error);
        }
    }

    /// Enters a folder: makes it at the destination and begins to list it.
    fn enter(&mut self, item: Item<'_, 'j>) {
        match self.entered(item) {
            Ok(Some(folder)) => {
                add(&self.job.counts.folders, 1);
                self.list(&folder, Position::default());
            }
            Ok(None) => self.failed_below(item.folder, item.from),
            Err(error) => {
                self.fail(item, error);
                self.failed_below(item.folder, item.from);
            }
        }
    }

    /// Passes over what is listed below a folder that failed: it failed with the folder.
    fn failed_below(&self, folder: &Folder<'j>, name: &[u8]) {
        let Some(filter) = &self.job.filter else { return };
        let path = folder.in_source(name).unwrap_or_default();
        filter.failed_below(path.strip_suffix(b"/").unwrap_or(&path), &self.job.met);
    }

    /// `None` for a folder that cannot be listed, which was reported.
    fn entered(&mut self, item: Item<'_, 'j>) -> Result<Option<Hold<'j>>, EntryError> {
        let Item { folder: parent, from, to } = item;
        let above = parent.source()?;
        let opened = self.job.patiently(|| above.open_dir(from));
        let metadata = match &opened {
            Ok(dir) => metadata_of(dir),
            Err(_) => above.metadata(from),
        }
        .map_err(entry_error::source(Operation::Open))?;
        if metadata.kind != Kind::Dir {
            return Err(EntryError::SourceIs(FailureReason::ChangedWhileReading));
        }
        let identity = (metadata.dev, metadata.ino);
        // This is the copy itself, or a mount that shows a folder inside itself.
        if self.job.is_own(identity) || parent.lies_in(identity) {
            return Err(EntryError::SourceIs(FailureReason::IntoItself));
        }
        let (target, default_acl) = self.make_folder(parent, to)?;
        match opened {
            Ok(source) => {
                let entered = Entered { source, target, metadata: Some(metadata), default_acl };
                Ok(Some(Folder::below(parent, to, entered)))
            }
            // An empty folder with the source's attributes is made, and the error is reported.
            Err(error) => {
                self.fail(item, EntryError::Source(Operation::Open, error));
                // A second error for the same folder would count it twice.
                if !self.job.options.dry_run
                    && let Some(target) = &target
                    && let Ok(lost) = attributes::of_closed_folder(target, &metadata)
                {
                    self.job.lost(lost);
                }
                Ok(None)
            }
        }
    }

    /// The folder at the destination, made if it does not exist, and whether entries made in it
    /// inherit an access control list.
    fn make_folder(&self, parent: &Hold<'j>, name: &[u8]) -> Result<(Option<Dir>, bool), EntryError> {
        let planned = |job: &Job| job.planned(Planned::Folder, || parent.target_path(name));
        let Some(dir) = &parent.target()? else {
            planned(self.job);
            return Ok((None, false));
        };
        parent.admit(name)?;
        let made = match self.job.options.dry_run {
            true => Err(Errno::EXIST.into()),
            false => dir.make_dir(name, PRIVATE),
        };
        let made = match made {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(EntryError::Target(Operation::Create, error)),
        };
        if !made && dir.metadata(name).is_ok_and(|there| parent.is_another_ones(name, &there)) {
            return Err(EntryError::TargetIs(FailureReason::InTheWay));
        }
        let target = match self.job.patiently(|| dir.open_dir_to_search(name)) {
            Ok(target) => target,
            Err(error) if self.job.options.dry_run && error.kind() == io::ErrorKind::NotFound => {
                overwrite::may_make(parent, dir)?;
                planned(self.job);
                return Ok((None, false));
            }
            Err(error) if matches!(Errno::from_io_error(&error), Some(Errno::NOTDIR | Errno::LOOP)) => {
                return Err(EntryError::TargetIs(FailureReason::InTheWay));
            }
            Err(error) => return Err(EntryError::Target(Operation::Open, error)),
        };
        let acl = entry_error::target(Operation::Metadata);
        let default_acl = if !made {
            sys::has_default_acl(&target).map_err(acl)?
        } else {
            if parent.default_acl {
                sys::remove_default_acl(&target).map_err(&acl)?;
            }
            false
        };
        if parent.metadata.is_none() {
            self.job.owns(&target);
        }
        Ok((Some(target), default_acl))
    }

    /// Lists one window of a folder. The rest of the folder, its subfolders and its files become
    /// tasks.
    fn list(&mut self, folder: &Hold<'j>, mut position: Position) {
        let mut window = Window::default();
        if let Err(error) = self.fill(&mut window, folder, &mut position) {
            position.ended = true;
            self.fail(Item { folder, from: b"", to: b"" }, error);
            self.failed_below(folder, b"");
        }
        add(&self.job.counts.found, window.len() as u64);
        let mut tasks = Vec::new();
        if !position.ended {
            tasks.push(Task::List { folder: folder.clone(), position });
        }
        let window = Arc::new(window);
        let first_folder = tasks.len();
        let mut others = 0;
        for index in 0..window.len() {
            let (name, kind) = window.entry(index);
            if kind == FileType::Directory {
                if !self.leaves_out(folder, name, true) {
                    tasks.push(Task::Enter { parent: folder.clone(), name: name.into() });
                }
            } else {
                others += 1;
            }
        }
        // The worker's own next folder is the one with the lowest inode.
        tasks[first_folder..].reverse();
        if others > 0 {
            let starts = (0..window.len()).step_by(FILES_PER_TASK).rev();
            tasks.extend(starts.map(|start| {
                let range = start..(start + FILES_PER_TASK).min(window.len());
                Task::Files { folder: folder.clone(), window: window.clone(), range }
            }));
        }
        if !tasks.is_empty() {
            self.push(tasks);
        }
    }

    fn fill(&mut self, window: &mut Window, folder: &Hold<'j>, position: &mut Position) -> Result<(), EntryError> {
        let source = folder.source()?;
        // A folder that was opened again is listed from its beginning.
        position.restore(source.as_fd()).map_err(|errno| EntryError::Source(Operation::Read, errno.into()))?;
        let filled = window.fill(source.as_fd(), position, WINDOW_LEN, &mut self.listing);
        filled.map_err(|errno| EntryError::Source(Operation::Read, errno.into()))
    }

    /// Whether the entry is not selected. One that a pattern leaves out is counted.
    pub(crate) fn leaves_out(&self, folder: &Folder<'j>, name: &[u8], is_folder: bool) -> bool {
        let Some(filter) = &self.job.filter else { return false };
        let Some(path) = folder.in_source(name) else { return false };
        match filter.verdict(&path, is_folder, &self.job.met) {
            Verdict::Taken => return false,
            Verdict::LeftOut => add(&self.job.counts.excluded, 1),
            Verdict::NotListed => {}
        }
        self.job.counts.found.fetch_sub(1, std::sync::atomic::Ordering::Relaxed);
        true
    }

    /// Copies an entry of a kind that is not a folder.
    pub(crate) fn entry(&mut self, item: Item<'_, 'j>, kind: Kind) {
        match kind {
            Kind::File => self.file(item),
            Kind::Dir => self.enter(item),
            Kind::Symlink => self.symlink(item),
            Kind::Fifo | Kind::Socket | Kind::CharDevice | Kind::BlockDevice => self.special(item),
        }
    }

    /// Finds out the kind of an entry, if the folder does not have it or it has changed since.
    pub(crate) fn unknown(&mut self, item: Item<'_, 'j>) {
        let looked = item
            .folder
            .source()
            .and_then(|source| source.metadata(item.from).map_err(entry_error::source(Operation::Open)));
        match looked {
            // Some patterns depend on whether it is a folder.
            Ok(metadata) if self.leaves_out(item.folder, item.from, metadata.kind == Kind::Dir) => {}
            Ok(metadata) => self.entry(item, metadata.kind),
            Err(error) => self.fail(item, error),
        }
    }

    fn symlink(&mut self, item: Item<'_, 'j>) {
        let Item { folder, from, .. } = item;
        let done = (|| {
            let source = folder.source()?;
            let metadata = source.metadata(from).map_err(entry_error::source(Operation::Open))?;
            if metadata.kind != Kind::Symlink {
                return Err(EntryError::SourceIs(FailureReason::ChangedWhileReading));
            }
            self.named(item, &metadata, |metadata| {
                let text = source.read_link(from).map_err(entry_error::source(Operation::Read))?;
                let make = |dir: &Dir, name: &[u8]| dir.symlink(&text, name);
                self.make(item, metadata, Planned::Link, make)
            })
        })();
        self.settled(item, done, |job| add(&job.counts.links, 1));
    }

    fn special(&mut self, item: Item<'_, 'j>) {
        let Item { folder, from, .. } = item;
        let done = (|| {
            let source = folder.source()?;
            let metadata = source.metadata(from).map_err(entry_error::source(Operation::Open))?;
            if matches!(metadata.kind, Kind::File | Kind::Dir | Kind::Symlink) {
                return Err(EntryError::SourceIs(FailureReason::ChangedWhileReading));
            }
            self.named(item, &metadata, |metadata| {
                let make = |dir: &Dir, name: &[u8]| dir.make_node(name, metadata.kind, metadata.mode, metadata.rdev);
                self.make(item, metadata, Planned::Special, make)
            })
        })();
        self.settled(item, done, |job| add(&job.counts.specials, 1));
    }

    fn make(
        &self,
        item: Item<'_, 'j>,
        metadata: &Metadata,
        what: Planned,
        make: impl Fn(&Dir, &[u8]) -> io::Result<()>,
    ) -> Result<Made, EntryError> {
        let source = item.folder.source()?;
        overwrite::make(item, metadata, what, By::Copying, make, |dir, name| {
            let lost = attributes::of_name((&*source, item.from), (dir, name), metadata, item.folder.default_acl)?;
            self.job.lost(lost);
            Ok(())
        })
    }

    /// Makes an entry that may have several names: with `first` if the file is met for the first
    /// time, else as a link. `None` if it waits.
    fn named(
        &self,
        item: Item<'_, 'j>,
        metadata: &Metadata,
        first: impl FnOnce(&Metadata) -> Result<Made, EntryError>,
    ) -> Result<Option<Made>, EntryError> {
        if metadata.nlink < 2 {
            return first(metadata).map(Some);
        }
        let name = || (item.folder.clone(), item.from.into(), item.to.into());
        let key = LinkKey::new(metadata, item.folder.source()?.birth(item.from));
        match self.pool.links.see(key, metadata, name) {
            Seen::Waits => Ok(None),
            Seen::Changed => first(metadata).map(Some),
            Seen::Again(place) => match self.link(item, metadata, &place)? {
                Some(made) => Ok(Some(made)),
                None => first(metadata).map(Some),
            },
            Seen::First => {
                let made = first(metadata);
                let done = match made {
                    Ok(Made::Done | Made::Planned) => true,
                    Ok(Made::Kept(kept)) => kept.as_copy,
                    Err(_) => false,
                };
                self.first_settled(item, key, done);
                made.map(Some)
            }
        }
    }

    /// The first of several names is settled. The names that waited become tasks again.
    pub(crate) fn first_settled(&self, item: Item<'_, 'j>, key: LinkKey, done: bool) {
        let waiting = match done {
            true => self.pool.links.copied(key, item.folder, item.to),
            false => self.pool.links.failed(key),
        };
        if !waiting.is_empty() {
            self.push(waiting.into_iter().map(|(folder, from, to)| Task::Name { folder, from, to }).collect());
        }
    }

    /// Gives the file that was copied to `place` another name. `None` if the filesystem has no hard
    /// links, or not for so many names.
    pub(crate) fn link(
        &self,
        item: Item<'_, 'j>,
        metadata: &Metadata,
        place: &Place,
    ) -> Result<Option<Made>, EntryError> {
        if self.job.options.dry_run {
            // A dry run has no first name to link to.
            let nothing = |_: &Dir, _: &[u8]| Ok(());
            self.refuse_in_the_way(item, metadata)?;
            // What is a link to it already stays where that stays.
            let is_kept_link = self.is_kept_link(item, place);
            let by = if is_kept_link { By::Copying } else { By::Linking };
            let made = overwrite::make(item, metadata, Planned::Link, by, nothing, nothing)?;
            // Then this one is compared with that, not with the source.
            return Ok(Some(match made {
                Made::Kept(_) if is_kept_link => Made::Kept(Kept::SAME),
                made => made,
            }));
        }
        let Some(top) = &self.job.top else { return Ok(None) };
        item.folder.admit(item.to)?;
        let (folder, name) = split(place);
        let folder =
            self.job.patiently(|| open_below(&top.dir, folder)).map_err(entry_error::target(Operation::Link))?;
        let first = folder.metadata(name).map_err(entry_error::target(Operation::Link))?;
        let there = item.folder.target()?.and_then(|target| target.metadata(item.to).ok());
        if there.is_some_and(|there| (there.dev, there.ino) == (first.dev, first.ino)) {
            // It is the same file already. If only newer entries were to be copied, this counts as
            // nothing done.
            let replaces = self.job.options.existing == OnExisting::Replace;
            return Ok(Some(if replaces { Made::Done } else { Made::Kept(Kept::SAME) }));
        }
        self.refuse_in_the_way(item, metadata)?;
        let make = |dir: &Dir, new: &[u8]| dir.hard_link(&folder, name, new);
        match overwrite::make(item, metadata, Planned::Link, By::Linking, make, |_, _| Ok(())) {
            Ok(made) => Ok(Some(made)),
            Err(EntryError::Target(Operation::Create, error))
                if matches!(
                    Errno::from_io_error(&error),
                    Some(Errno::MLINK | Errno::PERM | Errno::XDEV | Errno::OPNOTSUPP | Errno::NOSYS)
                ) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Whether an existing name already is one of the file that stays at `place`.
    fn is_kept_link(&self, item: Item<'_, 'j>, place: &Place) -> bool {
        let first = self.job.top.as_ref().and_then(|top| {
            let (folder, name) = split(place);
            self.job.patiently(|| open_below(&top.dir, folder)).and_then(|folder| folder.metadata(name)).ok()
        });
        let there = item.folder.target().ok().and_then(|target| target.as_ref()?.metadata(item.to).ok());
        first.zip(there).is_some_and(|(first, there)| (first.dev, first.ino) == (there.dev, there.ino))
    }

    /// Refuses to give a file another name if another entry, or a link to a folder, has that name.
    /// cp treats such a link as the folder.
    fn refuse_in_the_way(&self, item: Item<'_, 'j>, metadata: &Metadata) -> Result<(), EntryError> {
        let Some(target) = item.folder.target()? else { return Ok(()) };
        let Ok(there) = target.metadata(item.to) else { return Ok(()) };
        let leads_to_folder = || target.metadata_following(item.to).is_ok_and(|end| end.kind == Kind::Dir);
        let is_in_the_way = item.folder.is_another_ones(item.to, &there)
            || metadata.kind == Kind::File
                && self.job.options.existing != OnExisting::Keep
                && there.kind == Kind::Symlink
                && leads_to_folder();
        if is_in_the_way { Err(EntryError::TargetIs(FailureReason::InTheWay)) } else { Ok(()) }
    }

    /// Records the result of a link or special file.
    pub(crate) fn settled(&self, item: Item<'_, 'j>, made: Result<Option<Made>, EntryError>, count: impl FnOnce(&Job)) {
        match made {
            Ok(Some(Made::Done | Made::Planned)) => count(self.job),
            Ok(Some(Made::Kept(kept))) => self.job.counts.keep(kept, 0),
            Ok(None) => {}
            Err(error) => self.fail(item, error),
        }
    }

    /// Records why an entry was not copied.
    pub(crate) fn fail(&self, item: Item<'_, 'j>, error: EntryError) {
        let (from, to) = (|| item.folder.source_path(item.from), || item.folder.target_path(item.to));
        match error {
            EntryError::Source(operation, error) => self.job.fail(from(), operation, &error),
            EntryError::Target(operation, error) => self.job.fail(to(), operation, &error),
            EntryError::SourceIs(reason) => self.job.fail_for(from(), Operation::Read, reason),
            EntryError::TargetIs(reason) => self.job.fail_for(to(), Operation::Create, reason),
            EntryError::Stopped => {}
        }
    }
}
