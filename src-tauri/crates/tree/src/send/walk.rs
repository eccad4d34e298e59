//! The walk: lists the sources depth first by directory descriptors and reports what it finds,
//! either to be sent or only to be counted.
pub(super) mod beneath;
pub(super) mod count;
pub(super) mod gather;
pub(super) mod listing;
pub(super) mod measure;
pub(super) mod plan;
pub(super) mod readahead;
pub(super) mod roots;

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::sync::Arc;

use ringway_model::{FailureReason, Operation};
use ringway_sys::attributes::{Kind, Metadata, metadata_of};
use ringway_sys::dir::Dir;
use ringway_sys::space;
use ringway_wire::limits::{LINK_TARGET_MAX, PATH_MAX};
use ringway_wire::name::Name;
use ringway_wire::offered::OfferedNames;
use rustix::fs::FileType;
use rustix::io::Errno;

use super::attributes::{self, Identity};
use super::queue::{Cancelled, FolderPath};
use super::walk::beneath::Hides;
use super::walk::roots::Root;
use super::{joined, reason};
use crate::descriptors::{self, ForSending, Shortage};
use crate::filesystem::listing::{Position, Window, first_name};
use crate::filesystem::own_names::attempt_id;
use crate::filesystem::selection::{Filter, Met, Verdict, why_missing};

/// Entries of a folder that are listed, sorted and read together: enough that inode order pays,
/// with little memory.
const WINDOW_LEN: usize = 8192;

/// The same once the folders above hold much memory.
const SMALL_WINDOW_LEN: usize = 128;

/// Bytes of names held by all levels together. Beyond this, windows become small.
const HELD_MAX: usize = 2 * 1024 * 1024;

/// Bytes of one getdents64 call.
const LISTING_LEN: usize = 32 * 1024;

/// The same for small windows. It must fit one entry with any name.
const SMALL_LISTING_LEN: usize = 4 * 1024;

/// What of the sources is sent.
#[derive(Clone)]
pub(super) struct Scope {
    /// The top-level names that were offered.
    pub(super) offered: Arc<OfferedNames>,
    /// Which entries are left out; `None` for none.
    pub(super) filter: Option<Arc<Filter>>,
}

/// Receives what a walk finds.
pub(super) trait Finds {
    /// A folder, before its entries; without a descriptor if it cannot be opened.
    fn folder(&mut self, path: &FolderPath, metadata: &Metadata, dir: Option<&Arc<Dir>>) -> Result<(), Cancelled>;

    /// A regular file.
    fn file(&mut self, path: &FolderPath, dir: &Arc<Dir>, name: &[u8], metadata: &Metadata) -> Result<(), Cancelled>;

    /// A symbolic link.
    fn symlink(&mut self, path: &FolderPath, name: &[u8], target: &[u8], metadata: &Metadata) -> Result<(), Cancelled>;

    /// An entry that a pattern leaves out, with everything in it.
    fn left_out(&mut self) -> Result<(), Cancelled>;

    /// An entry that cannot be sent.
    fn failed(&self, folder: &[u8], name: &[u8], operation: Operation, reason: FailureReason);

    /// The process has no descriptors left, so held ones are to be closed.
    fn let_go(&mut self) -> Result<(), Cancelled>;

    /// Whether the results are no longer needed.
    fn is_over(&self) -> bool;
}

pub(super) struct Walk<F> {
    finds: F,
    stack: Vec<Level>,
    /// Levels of the tree, from the deepest, that keep their descriptor.
    open_levels_max: usize,
    /// Bytes of names of subfolders that wait on the stack.
    held: usize,
    window: Window,
    listing: Vec<MaybeUninit<u8>>,
    /// The source that is being walked, from which levels are opened again, and the length of its
    /// own part of their paths.
    root: Option<(Arc<Dir>, usize)>,
    scope: Scope,
    /// Which of the offered names were met.
    met: Vec<u64>,
    /// Which listed paths were met, and space for the path of an entry.
    met_listed: Met,
    path: Vec<u8>,
    /// Folders that are passed over.
    hides: Option<Hides>,
    /// The device that was looked at last, and whether its filesystem shows the kernel.
    looked_at: Option<(u64, bool)>,
}

/// A folder between the source and the walk's position.
struct Level {
    path: FolderPath,
    /// `None` if it was closed, because many levels are open below.
    dir: Option<Arc<Dir>>,
    identity: Identity,
    position: Position,
    /// Subfolders of the last listed window, each with its NUL.
    folders: Vec<u8>,
    next_folder: usize,
}

impl<F: Finds> Walk<F> {
    pub(super) fn new(finds: F, scope: Scope) -> Self {
        Self {
            finds,
            stack: Vec::new(),
            open_levels_max: ForSending::here().levels,
            held: 0,
            window: Window::default(),
            listing: vec![MaybeUninit::uninit(); LISTING_LEN],
            root: None,
            met: vec![0; scope.offered.len().div_ceil(u64::BITS as usize)],
            met_listed: scope.filter.as_ref().map(|filter| filter.nothing_met()).unwrap_or_default(),
            path: Vec::new(),
            scope,
            hides: None,
            looked_at: None,
        }
    }

    /// The same, without folders that are passed over.
    pub(super) fn hiding(mut self, hides: Option<Hides>) -> Self {
        self.hides = hides;
        self
    }

    /// Returns the receiver of the results.
    pub(super) fn into_finds(self) -> F {
        self.finds
    }

    /// Whether entries under a top-level name are to be sent: the name was offered, or it cannot be
    /// sent at all, which is reported.
    fn is_offered(&mut self, name: &[u8]) -> bool {
        match self.scope.offered.position(name) {
            Some(at) => {
                self.met[at / u64::BITS as usize] |= 1 << (at % u64::BITS as usize);
                true
            }
            None => Name::new(name).is_err(),
        }
    }

    /// What becomes of an entry of a folder, by the selection. What is left out is counted.
    fn takes(&mut self, folder: &FolderPath, dir: &Dir, name: &[u8], is_folder: bool) -> Result<bool, Cancelled> {
        if self.scope.filter.is_none() {
            return Ok(true);
        }
        // Another device may have chosen patterns that take long to compare.
        if self.finds.is_over() {
            return Err(Cancelled);
        }
        let mut path = std::mem::take(&mut self.path);
        path.clear();
        path.extend_from_slice(self.in_source(folder));
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(name);
        let filter = self.scope.filter.as_ref();
        let verdict = filter.map(|filter| filter.verdict(&path, is_folder, &self.met_listed));
        self.path = path;
        match verdict.unwrap_or(Verdict::Taken) {
            Verdict::Taken => Ok(true),
            Verdict::NotListed => Ok(false),
            // Counted, it would be known to be there.
            Verdict::LeftOut if self.is_hidden_there(dir, name) => {
                self.not_there(folder, name);
                Ok(false)
            }
            Verdict::LeftOut => self.finds.left_out().map(|()| false),
        }
    }

    /// Whether an entry is taken, and was offered where it is at the top.
    fn wants(
        &mut self,
        folder: &FolderPath,
        dir: &Dir,
        name: &[u8],
        is_folder: bool,
        is_offered: bool,
    ) -> Result<bool, Cancelled> {
        let is_taken = self.takes(folder, dir, name, is_folder)?;
        // What is hidden is not offered.
        if is_taken && !is_offered && self.is_hidden_there(dir, name) {
            self.not_there(folder, name);
        }
        Ok(is_taken && is_offered)
    }

    fn is_hidden_there(&self, dir: &Dir, name: &[u8]) -> bool {
        self.hides.is_some() && dir.metadata(name).is_ok_and(|there| self.is_hidden(&there))
    }

    /// The same path, but relative to the source.
    fn in_source<'p>(&self, path: &'p [u8]) -> &'p [u8] {
        let own = self.root.as_ref().map_or(0, |(_, own)| *own);
        let below = path.get(own..).unwrap_or_default();
        below.strip_prefix(b"/").unwrap_or(below)
    }

    /// Passes over what is listed below a folder that failed: it failed with the folder.
    fn failed_below(&self, folder: &[u8]) {
        let Some(filter) = &self.scope.filter else { return };
        filter.failed_below(self.in_source(folder), &self.met_listed);
    }

    /// Answers for an entry that is hidden as for one that does not exist.
    fn not_there(&self, folder: &[u8], name: &[u8]) {
        if let Some(filter) = &self.scope.filter
            && let Some(path) = joined(folder, name)
        {
            filter.not_there(self.in_source(&path), &self.met_listed);
        }
    }

    /// Reports the offered names that were not found, and the listed paths.
    pub(super) fn report_vanished(&self) {
        // A list belongs to one source.
        let source = self.root.as_ref().filter(|(_, own)| *own > 0).and_then(|_| self.scope.offered.iter().next());
        for path in self.scope.filter.iter().flat_map(|filter| filter.missing(&self.met_listed)) {
            let hides = |there: &Metadata| self.is_hidden(there);
            let why = self.root.as_ref().map_or(Errno::NOENT, |(root, _)| why_missing(root, path, hides));
            self.fail(source.unwrap_or_default(), path, Operation::Open, &why.into());
        }
        for (at, name) in self.scope.offered.iter().enumerate() {
            if self.met[at / u64::BITS as usize] >> (at % u64::BITS as usize) & 1 == 0 {
                self.fail(b"", name, Operation::Open, &Errno::NOENT.into());
            }
        }
    }

    /// Walks one source to its end.
    pub(super) fn root(&mut self, root: Root) -> Result<(), Cancelled> {
        let top: FolderPath = Arc::from(&b""[..]);
        if let Root::Folder(_, name) | Root::Entry(_, name) = &root
            && !self.is_offered(name)
        {
            return Ok(());
        }
        match root {
            Root::Contents(dir) => match metadata_of(&dir) {
                Ok(metadata) => self.enter(dir, top, attributes::identity(&metadata), 0),
                Err(error) => self.fail(b"", b"", Operation::Open, &error),
            },
            Root::Folder(dir, name) => {
                let (path, len) = (FolderPath::from(name.as_slice()), name.len());
                match metadata_of(&dir) {
                    Ok(metadata) => {
                        self.finds.folder(&path, &metadata, Some(&dir))?;
                        self.enter(dir, path, attributes::identity(&metadata), len);
                    }
                    Err(error) => self.fail(b"", &name, Operation::Open, &error),
                }
            }
            Root::Entry(parent, name) => match parent.metadata(&name) {
                Ok(metadata) => self.entry(&top, &parent, &name, &metadata)?,
                Err(error) => self.fail(b"", &name, Operation::Open, &error),
            },
        }
        while !self.stack.is_empty() {
            self.step()?;
        }
        Ok(())
    }

    /// Starts a source that is a folder.
    fn enter(&mut self, dir: Arc<Dir>, path: FolderPath, identity: Identity, own: usize) {
        self.root = Some((dir.clone(), own));
        self.push(dir, path, identity);
    }

    fn push(&mut self, dir: Arc<Dir>, path: FolderPath, identity: Identity) {
        self.stack.push(Level {
            path,
            dir: Some(dir),
            identity,
            position: Position::default(),
            folders: Vec::new(),
            next_folder: 0,
        });
        if let Some(far) = self.stack.len().checked_sub(self.open_levels_max + 1) {
            self.stack[far].dir = None;
        }
    }

    /// Descends into the deepest folder's next subfolder, or continues its listing, or leaves it.
    fn step(&mut self) -> Result<(), Cancelled> {
        let Some(level) = self.stack.last_mut() else { return Ok(()) };
        if level.next_folder < level.folders.len() {
            let name = first_name(&level.folders[level.next_folder..]).to_owned();
            level.next_folder += name.len() + 1;
            return match self.current_dir()? {
                Some(dir) => self.descend(&dir, &name),
                None => Ok(()),
            };
        }
        self.held -= level.folders.len();
        level.folders = Vec::new();
        level.next_folder = 0;
        if level.position.ended {
            self.stack.pop();
            return Ok(());
        }
        match self.current_dir()? {
            Some(dir) => self.list(&dir),
            None => Ok(()),
        }
    }

    /// The deepest folder's descriptor, opened again if it was closed meanwhile. `None` if the
    /// folder does not exist any more; then it was reported and left.
    fn current_dir(&mut self) -> Result<Option<Arc<Dir>>, Cancelled> {
        let Some(level) = self.stack.last() else { return Ok(None) };
        if let Some(dir) = &level.dir {
            return Ok(Some(dir.clone()));
        }
        let (path, identity, position) = (level.path.clone(), level.identity, level.position);
        match self.reopen(&path, identity, position)? {
            Ok(dir) => {
                let dir = Arc::new(dir);
                if let Some(level) = self.stack.last_mut() {
                    level.dir = Some(dir.clone());
                }
                Ok(Some(dir))
            }
            Err(error) => {
                self.fail(&path, b"", Operation::Open, &error);
                self.failed_below(&path);
                if let Some(level) = self.stack.pop() {
                    self.held -= level.folders.len();
                }
                Ok(None)
            }
        }
    }

    fn reopen(
        &mut self,
        path: &FolderPath,
        identity: Identity,
        position: Position,
    ) -> Result<io::Result<Dir>, Cancelled> {
        let Some((root, own)) = self.root.clone() else { return Ok(Err(Errno::NOENT.into())) };
        let below = path[own..].strip_prefix(b"/").unwrap_or(&path[own..]);
        let opened =
            self.with_descriptors(|| if below.is_empty() { root.try_clone() } else { root.open_beneath(below) })?;
        Ok(opened.and_then(|dir| {
            if attributes::identity(&metadata_of(&dir)?) != identity {
                return Err(Errno::NOENT.into());
            }
            position.restore(dir.as_fd())?;
            Ok(dir)
        }))
    }

    /// Opens something. If the process or system has no descriptors left, it waits until the lanes
    /// close some.
    fn with_descriptors<T>(&mut self, mut open: impl FnMut() -> io::Result<T>) -> Result<io::Result<T>, Cancelled> {
        for _ in 0..descriptors::WAITS {
            match open() {
                Err(error) if error.is_of_descriptors() => {
                    self.finds.let_go()?;
                    std::thread::sleep(descriptors::WAIT);
                }
                result => return Ok(result),
            }
            if self.finds.is_over() {
                return Err(Cancelled);
            }
        }
        Ok(open())
    }

    /// Lists one window of the deepest folder. Entries that are no folders go into batches, and
    /// subfolders wait.
    fn list(&mut self, dir: &Arc<Dir>) -> Result<(), Cancelled> {
        if self.finds.is_over() {
            return Err(Cancelled);
        }
        let Some(level) = self.stack.last_mut() else { return Ok(()) };
        let small = self.held > HELD_MAX;
        let (len, buffer) = if small { (SMALL_WINDOW_LEN, SMALL_LISTING_LEN) } else { (WINDOW_LEN, LISTING_LEN) };
        let path = level.path.clone();
        let listed = self.window.fill(dir.as_fd(), &mut level.position, len, &mut self.listing[..buffer]);
        if let Err(errno) = listed {
            level.position.ended = true;
            self.fail(&path, b"", Operation::Read, &errno.into());
            self.failed_below(&path);
        }
        let window = std::mem::take(&mut self.window);
        let mut folders = Vec::new();
        let result = (0..window.len()).try_for_each(|index| {
            let (name, file_type) = window.entry(index);
            // Asked even if it is left out, so that it does not count as vanished.
            let is_offered = !path.is_empty() || self.is_offered(name);
            // What others have not sent whole yet is not shared with anybody.
            if self.hides.is_some() && attempt_id(name).is_some() {
                return Ok(());
            }
            let is_known = file_type != FileType::Unknown;
            let is_folder = file_type == FileType::Directory;
            if is_known && !self.wants(&path, dir, name, is_folder, is_offered)? {
                return Ok(());
            }
            if is_folder {
                wait(name, &mut folders);
                return Ok(());
            }
            match dir.metadata(name) {
                Ok(metadata) => {
                    let is_folder = metadata.kind == Kind::Dir;
                    // Its kind is known only now, or is another one now.
                    if (is_folder || !is_known) && !self.wants(&path, dir, name, is_folder, is_offered)? {
                        return Ok(());
                    }
                    if is_folder {
                        wait(name, &mut folders);
                        return Ok(());
                    }
                    self.entry(&path, dir, name, &metadata)
                }
                Err(error) => {
                    self.fail(&path, name, Operation::Open, &error);
                    Ok(())
                }
            }
        });
        self.window = window;
        folders.shrink_to_fit();
        self.held += folders.len();
        if let Some(level) = self.stack.last_mut() {
            level.folders = folders;
        }
        result
    }

    fn is_hidden(&self, metadata: &Metadata) -> bool {
        self.hides.as_ref().is_some_and(|hides| hides(metadata))
    }

    /// Whether what is on that device shows the kernel, and another device asks for it.
    fn is_withheld(&mut self, dev: u64, on: impl AsFd) -> bool {
        self.hides.is_some() && self.shows_the_kernel(dev, on)
    }

    /// Whether the filesystem on that device shows what the kernel knows.
    fn shows_the_kernel(&mut self, dev: u64, on: impl AsFd) -> bool {
        match self.looked_at {
            Some((last, shows)) if last == dev => shows,
            _ => {
                let shows = space::shows_the_kernel(on).unwrap_or(false);
                self.looked_at = Some((dev, shows));
                shows
            }
        }
    }

    /// Whether a file is withheld, or has contents that its size does not tell.
    fn is_of_the_kernel(&mut self, dir: &Dir, name: &[u8], metadata: &Metadata) -> bool {
        if metadata.size > 0 && self.hides.is_none() {
            return false;
        }
        match self.looked_at {
            Some((last, shows)) if last == metadata.dev => shows,
            // A single file may be mounted from elsewhere.
            _ => dir.open_read(name).is_ok_and(|file| self.shows_the_kernel(metadata.dev, file)),
        }
    }

    fn descend(&mut self, parent: &Arc<Dir>, name: &[u8]) -> Result<(), Cancelled> {
        let Some(level) = self.stack.last() else { return Ok(()) };
        let above = level.path.clone();
        let Some(path) = joined(&above, name) else {
            self.finds.failed(&above, name, Operation::Open, FailureReason::PathTooLong);
            return Ok(());
        };
        let path = FolderPath::from(path);
        let opened = self.with_descriptors(|| parent.open_dir(name))?;
        let metadata = match &opened {
            Ok(dir) => metadata_of(dir),
            Err(_) => parent.metadata(name),
        };
        // Bind mounts can show a folder inside itself.
        let is_inside_itself = |stack: &[Level], metadata: &Metadata| {
            let identity = attributes::identity(metadata);
            stack.iter().any(|level| level.identity == identity)
        };
        if path.len() > PATH_MAX {
            self.finds.failed(&above, name, Operation::Open, FailureReason::PathTooLong);
            if let (Ok(dir), Ok(metadata)) = (opened, metadata)
                && !is_inside_itself(&self.stack, &metadata)
            {
                // Its entries are counted, because nobody would know otherwise how much is missing.
                self.push(Arc::new(dir), path, attributes::identity(&metadata));
            }
            return Ok(());
        }
        match (opened, metadata) {
            (Ok(_), Ok(metadata)) if self.is_hidden(&metadata) => {
                self.not_there(&above, name);
                Ok(())
            }
            // It is not made at the other end either.
            (Ok(dir), Ok(metadata)) if self.is_withheld(metadata.dev, &dir) => {
                self.fail(&above, name, Operation::Open, &Errno::OPNOTSUPP.into());
                self.failed_below(&path);
                Ok(())
            }
            (Ok(dir), Ok(metadata)) => {
                if is_inside_itself(&self.stack, &metadata) {
                    self.fail(&above, name, Operation::Open, &Errno::LOOP.into());
                    self.failed_below(&path);
                    return Ok(());
                }
                let dir = Arc::new(dir);
                self.finds.folder(&path, &metadata, Some(&dir))?;
                self.push(dir, path, attributes::identity(&metadata));
                Ok(())
            }
            // It was a folder when it was listed, and is another kind of entry now.
            (Err(_), Ok(metadata)) if metadata.kind != Kind::Dir => match self.takes(&above, parent, name, false)? {
                true => self.entry(&above, parent, name, &metadata),
                false => Ok(()),
            },
            // A folder that cannot be opened is made at the receiver, empty, and reported.
            (Err(error), Ok(metadata)) => {
                self.fail(&above, name, Operation::Open, &error);
                self.failed_below(&path);
                self.finds.folder(&path, &metadata, None)
            }
            (_, Err(error)) => {
                self.fail(&above, name, Operation::Open, &error);
                self.failed_below(&path);
                Ok(())
            }
        }
    }

    /// Handles one entry that is not a folder.
    fn entry(&mut self, path: &FolderPath, dir: &Arc<Dir>, name: &[u8], metadata: &Metadata) -> Result<(), Cancelled> {
        if self.is_hidden(metadata) {
            self.not_there(path, name);
            return Ok(());
        }
        let len = path.len() + usize::from(!path.is_empty()) + name.len();
        if Name::new(name).is_err() || len > PATH_MAX {
            self.finds.failed(path, name, Operation::Open, FailureReason::PathTooLong);
            return Ok(());
        }
        match metadata.kind {
            Kind::File if self.is_of_the_kernel(dir, name, metadata) => {
                self.fail(path, name, Operation::Read, &Errno::OPNOTSUPP.into());
                Ok(())
            }
            Kind::File => self.finds.file(path, dir, name, metadata),
            Kind::Symlink => match dir.read_link(name) {
                Ok(target) if target.is_empty() || target.len() > LINK_TARGET_MAX => {
                    self.finds.failed(path, name, Operation::Read, FailureReason::PathTooLong);
                    Ok(())
                }
                Ok(target) => self.finds.symlink(path, name, &target, metadata),
                Err(error) => {
                    self.fail(path, name, Operation::Read, &error);
                    Ok(())
                }
            },
            _ => {
                self.finds.failed(path, name, Operation::Open, FailureReason::SpecialFile);
                Ok(())
            }
        }
    }

    fn fail(&self, folder: &[u8], name: &[u8], operation: Operation, error: &io::Error) {
        self.finds.failed(folder, name, operation, reason(error));
    }
}

/// Keeps a subfolder's name for later.
fn wait(name: &[u8], folders: &mut Vec<u8>) {
    folders.extend_from_slice(name);
    folders.push(0);
}
