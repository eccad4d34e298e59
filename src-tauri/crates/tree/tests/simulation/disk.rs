//! A disk for the real receiver: a folder in memory in which each operation is really done, and a
//! model of what its medium has of that. Before any operation the program may be killed; then the
//! power may go, and the folder becomes what the medium has.
mod medium;
mod operations;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirEntryExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use parking_lot::{Mutex, MutexGuard};
use ringway_sys::attributes::Timestamp as Ctime;
use ringway_sys::space::Filesystem;
use ringway_wire::lane::Timestamp;
use rustix::buffer::spare_capacity;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

pub(crate) use self::medium::{After, Promise};

use self::medium::{Change, Stable};

/// Contents that are lost or kept together.
const BLOCK: usize = 4096;

/// Which file or folder something is.
type Ino = u64;

type Names = BTreeMap<Vec<u8>, Ino>;

/// Filesystems that a story may be on: one that writes names behind contents, and one that does
/// not.
pub(crate) const EXT4: Filesystem = Filesystem { magic: 0xEF53, has_journal: true };
pub(crate) const BTRFS: Filesystem = Filesystem { magic: 0x9123_683E, has_journal: false };

/// What something is besides its contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Attributes {
    mode: u32,
    mtime: Timestamp,
    size: u64,
}

enum What {
    Folder(Names),
    File(Contents),
    Other,
}

/// Of a file's contents what the medium does not have as memory has it.
#[derive(Default)]
struct Contents {
    /// What the medium has, where that may be something else; what is beyond its end is a hole.
    medium: Option<Vec<u8>>,
    /// It is as long as what was written to it: its length goes to the medium with its contents.
    grows: bool,
    /// Blocks that the medium has refused, with what it has instead.
    refused: BTreeMap<usize, Vec<u8>>,
    /// The next synchronisation reports it.
    tells: bool,
}

struct Node {
    /// Keeps it from being given to something else.
    fd: OwnedFd,
    what: What,
    attributes: Attributes,
}

/// A file as it is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) mtime: Timestamp,
    pub(crate) bytes: Vec<u8>,
    /// The medium has written some of it wrongly.
    pub(crate) is_rotten: bool,
    /// How many names it has.
    pub(crate) names: usize,
}

pub(crate) struct Simulated {
    home: tempfile::TempDir,
    state: Mutex<State>,
}

/// Something that another program does.
type Save = Box<dyn FnOnce(&Path) + Send>;

/// What goes wrong.
#[derive(Default)]
pub(crate) struct Plan {
    /// Somebody saves a file in the instant before names are exchanged.
    pub(crate) saves: Option<Save>,
    /// From then on, folders that everybody sees take no names.
    pub(crate) refuses_names: Option<Errno>,
    /// The program is killed before the operation of that number.
    pub(crate) dies_at: Option<usize>,
    /// The program is killed before the next operation of that name.
    pub(crate) dies_before: Option<&'static str>,
    /// Operations that still find room; None for any number.
    pub(crate) room: Option<usize>,
    /// Writes until one is taken down wrongly; None for never.
    pub(crate) rots_after: Option<usize>,
    /// Nobody waits until it has synchronised.
    pub(crate) is_slow: bool,
    /// Bytes after which it is asked to go on.
    pub(crate) write_back_after: u64,
}

pub(crate) struct State {
    grave: OwnedFd,
    root: Ino,
    nodes: HashMap<Ino, Node>,
    stable: HashMap<Ino, Stable>,
    log: Vec<Change>,
    calls: usize,
    pub(crate) plan: Plan,
    /// The operation that it was killed before; nothing is done from then on.
    died_in: Option<&'static str>,
    pub(crate) filesystem: Filesystem,
    rotten: HashSet<Ino>,
    /// Change times of files that memory has let go of, after that and before.
    forgotten: HashMap<Ino, (Ctime, Ctime)>,
    /// Errors that the medium has reported, and how many of them each descriptor was told.
    errors: u64,
    told: HashMap<RawFd, Arc<AtomicU64>>,
    /// How often an operation has failed with one.
    reported: u64,
}

fn timestamp(stat: &Stat) -> Timestamp {
    Timestamp { secs: stat.st_mtime, nanos: stat.st_mtime_nsec as u32 }
}

fn attributes(stat: &Stat) -> Attributes {
    Attributes { mode: stat.st_mode & 0o7777, mtime: timestamp(stat), size: stat.st_size as u64 }
}

fn ino(fd: impl AsFd) -> Ino {
    rustix::fs::fstat(fd).expect("an open descriptor").st_ino
}

/// Opens something so that its inode stays, and its contents can be changed.
fn hold(dir: impl AsFd, name: &[u8]) -> (OwnedFd, Stat) {
    let path = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(dir, name, path, Mode::empty()).expect("it is there");
    let stat = rustix::fs::fstat(&fd).expect("it is open");
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return (fd, stat);
    }
    let by_proc = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let file = rustix::fs::openat(CWD, by_proc, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
    (file.unwrap_or(fd), stat)
}

impl Simulated {
    pub(crate) fn new() -> Arc<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("ringway-simulation-");
        let home = builder.tempdir_in("/dev/shm").or_else(|_| builder.tempdir()).expect("a folder");
        fs::create_dir(home.path().join("inbox")).expect("a folder");
        fs::create_dir(home.path().join("grave")).expect("a folder");
        let open = |name: &str| OwnedFd::from(fs::File::open(home.path().join(name)).expect("a folder"));
        let (inbox, grave) = (open("inbox"), open("grave"));
        let state = State {
            grave,
            root: ino(&inbox),
            nodes: HashMap::new(),
            stable: HashMap::new(),
            log: Vec::new(),
            calls: 0,
            plan: Plan { write_back_after: u64::MAX, ..Plan::default() },
            died_in: None,
            filesystem: EXT4,
            rotten: HashSet::new(),
            forgotten: HashMap::new(),
            errors: 0,
            told: HashMap::new(),
            reported: 0,
        };
        let disk = Arc::new(Self { home, state: Mutex::new(state) });
        disk.outside(|_| {});
        disk
    }

    /// The folder that is received into.
    pub(crate) fn inbox(&self) -> PathBuf {
        self.home.path().join("inbox")
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Something is done to it by another program, and synchronised.
    pub(crate) fn outside<T>(&self, work: impl FnOnce(&Path) -> T) -> T {
        let done = work(&self.inbox());
        let mut state = self.state();
        let root = hold(CWD, self.inbox().as_os_str().as_bytes()).0;
        state.look(root);
        state.sync();
        done
    }

    /// The program is started anew.
    pub(crate) fn revive(&self) {
        let mut state = self.state();
        (state.died_in, state.plan.dies_at, state.plan.dies_before) = (None, None, None);
    }

    /// The power has gone, and comes back.
    pub(crate) fn lose_power(&self, after: &After) {
        self.state().become_what_is_left(after);
    }
}

/// Folders whose owner may not write to them cannot be removed by who is not root.
impl Drop for Simulated {
    fn drop(&mut self) {
        self.state.get_mut().open_folders();
    }
}

impl State {
    /// Operations that were done.
    pub(crate) fn calls(&self) -> usize {
        self.calls
    }

    /// Before which operation the program was killed.
    pub(crate) fn died_in(&self) -> Option<&'static str> {
        self.died_in
    }

    /// Kills it before the operation after so many more.
    pub(crate) fn dies_after(&mut self, calls: usize) {
        self.plan.dies_at = Some(self.calls + calls);
    }

    /// Kills it before the next operation of that name.
    pub(crate) fn dies_before(&mut self, operation: &'static str) {
        self.plan.dies_before = Some(operation);
    }

    pub(crate) fn die(&mut self) {
        self.died_in.get_or_insert("nothing");
    }

    /// The medium reports an error to each descriptor that is open now.
    pub(crate) fn fails_to_sync(&mut self) {
        self.errors += 1;
    }

    /// How often the receiver was told of an error of the medium.
    pub(crate) fn reported(&self) -> u64 {
        self.reported
    }

    /// The folder is what the model has of it: the receiver has changed nothing but by the disk.
    pub(crate) fn check_folder(&self) {
        let mut left = vec![self.root];
        while let Some(number) = left.pop() {
            let node = &self.nodes[&number];
            let now = attributes(&rustix::fs::fstat(&node.fd).expect("it is open"));
            let names = match &node.what {
                What::Folder(names) => names,
                What::File(_) => {
                    assert_eq!(now, node.attributes, "something was written past the disk");
                    continue;
                }
                What::Other => continue,
            };
            assert_eq!(now.mode, node.attributes.mode, "a mode was set past the disk");
            let path = format!("/proc/self/fd/{}", node.fd.as_raw_fd());
            let entries = fs::read_dir(path).expect("a folder").map(|entry| entry.expect("an entry"));
            let there: Names = entries.map(|entry| (entry.file_name().as_bytes().to_vec(), entry.ino())).collect();
            assert_eq!(&there, names, "a name was changed past the disk");
            left.extend(names.values());
        }
    }

    /// The folder at a path below the top, and all in it, each with its mode and time.
    pub(crate) fn folders(&self, path: &[u8]) -> Vec<(Vec<u8>, u32, Timestamp)> {
        let mut left = vec![(path.to_vec(), self.names(self.root)[path])];
        let mut found = Vec::new();
        while let Some((at, number)) = left.pop() {
            let Node { what: What::Folder(names), fd, .. } = &self.nodes[&number] else { continue };
            let Attributes { mode, mtime, .. } = attributes(&rustix::fs::fstat(fd).expect("it is open"));
            left.extend(names.iter().map(|(name, number)| ([&at[..], b"/", name].concat(), *number)));
            found.push((at, mode, mtime));
        }
        found
    }

    /// Takes a folder in as it is found, with all that is in it.
    fn look(&mut self, folder: OwnedFd) {
        let number = ino(&folder);
        let path = format!("/proc/self/fd/{}", folder.as_raw_fd());
        let mut names = Names::new();
        for entry in fs::read_dir(path).expect("a folder") {
            let name = entry.expect("an entry").file_name().as_bytes().to_vec();
            let (fd, stat) = hold(&folder, &name);
            names.insert(name, stat.st_ino);
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                self.look(fd);
            } else {
                self.take_in(fd, &stat);
            }
        }
        let stat = rustix::fs::fstat(&folder).expect("it is open");
        self.nodes.insert(number, Node { fd: folder, what: What::Folder(names), attributes: attributes(&stat) });
    }

    fn take_in(&mut self, fd: OwnedFd, stat: &Stat) {
        let attributes = attributes(stat);
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        let new = || if is_file { What::File(Contents::default()) } else { What::Other };
        match self.nodes.get_mut(&stat.st_ino) {
            Some(known) => known.attributes = attributes,
            None => drop(self.nodes.insert(stat.st_ino, Node { fd, what: new(), attributes })),
        }
    }

    fn names(&self, folder: Ino) -> &Names {
        match self.nodes.get(&folder).map(|node| &node.what) {
            Some(What::Folder(names)) => names,
            _ => panic!("not a folder that is known"),
        }
    }

    /// What a file holds in memory.
    fn bytes_of(&self, file: Ino) -> Vec<u8> {
        let node = &self.nodes[&file];
        let size = node.attributes.size as usize;
        let mut bytes = Vec::with_capacity(size);
        let read = |bytes: &mut Vec<u8>| {
            let at = bytes.len() as u64;
            rustix::io::pread(&node.fd, spare_capacity(bytes), at).expect("memory can be read")
        };
        while bytes.len() < size && read(&mut bytes) > 0 {}
        bytes.truncate(size);
        bytes
    }

    /// What is found once memory has let go of it.
    fn without_refused(&self, file: Ino) -> Vec<u8> {
        let mut bytes = self.bytes_of(file);
        if let What::File(Contents { refused, .. }) = &self.nodes[&file].what {
            for (block, old) in refused {
                let at = block * BLOCK;
                let len = bytes.len().saturating_sub(at).min(BLOCK);
                for (byte, old) in bytes.iter_mut().skip(at).take(len).zip(old.iter().chain(std::iter::repeat(&0))) {
                    *byte = *old;
                }
            }
        }
        bytes
    }

    /// Files beneath a path, by theirs: as they are once memory has let go of them, or as they
    /// would be after a power cut.
    pub(crate) fn files(&self, path: &[u8], after: Option<&After>) -> BTreeMap<Vec<u8>, Found> {
        self.some_files(path, after, |_| true)
    }

    /// The same of those whose paths are wanted.
    pub(crate) fn some_files(
        &self,
        path: &[u8],
        after: Option<&After>,
        is_wanted: impl Fn(&[u8]) -> bool,
    ) -> BTreeMap<Vec<u8>, Found> {
        let entries = |folder: Ino| match after {
            Some(after) => after.names.get(&folder),
            None => match self.nodes.get(&folder).map(|node| &node.what) {
                Some(What::Folder(names)) => Some(names),
                _ => None,
            },
        };
        let parts = path.split(|byte| *byte == b'/').filter(|part| !part.is_empty());
        let start = { parts }.try_fold(self.root, |at, part| entries(at)?.get(part).copied());
        let mut left: Vec<_> = start.map(|start| (Vec::new(), start)).into_iter().collect();
        let (mut files, mut names) = (Vec::new(), HashMap::<Ino, usize>::new());
        while let Some((at, number)) = left.pop() {
            if let Some(entries) = entries(number) {
                left.extend(entries.iter().map(|(name, number)| ([&at[..], b"/", name].concat(), *number)));
            } else if matches!(self.nodes[&number].what, What::File(_)) {
                *names.entry(number).or_default() += 1;
                files.push((at, number));
            }
        }
        let found = |number: Ino| Found {
            mtime: after.map_or(self.nodes[&number].attributes.mtime, |after| after.attributes[&number].mtime),
            bytes: match after.and_then(|after| after.contents.get(&number)) {
                Some(bytes) => bytes.clone(),
                None => self.without_refused(number),
            },
            is_rotten: self.rotten.contains(&number),
            names: names[&number],
        };
        let wanted = files.into_iter().filter(|(path, _)| is_wanted(path));
        wanted.map(|(path, number)| (path, found(number))).collect()
    }

    pub(crate) fn is_there(&self, name: &[u8]) -> bool {
        self.names(self.root).contains_key(name)
    }

    /// Names at the top.
    pub(crate) fn tops(&self) -> Vec<Vec<u8>> {
        self.names(self.root).keys().cloned().collect()
    }
}

fn errno(errno: Errno) -> io::Error {
    errno.into()
}

/// The metadata of a name, or nothing.
fn stat_at(dir: impl AsFd, name: &[u8]) -> Option<Stat> {
    rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).ok()
}
