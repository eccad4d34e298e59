//! What goes wrong while receiving: one entry, named, after which the rest goes on; or the lane and
//! with it the transfer.
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use ringway_model::{Failure, FailureReason, Operation, Side};
use ringway_wire::ProtocolError;
use ringway_wire::control::Progress;
use ringway_wire::lane::Counts;
use ringway_wire::limits::FAILURES_NAMED_MAX;
use rustix::io::Errno;

use crate::descriptors::Shortage;
pub(super) use crate::filesystem::free_space::is_full;
use crate::limits::NAMED_BYTES_MAX;

/// Why a lane ended before its end.
#[derive(Debug, thiserror::Error)]
pub enum LaneError {
    /// The peer broke the protocol.
    #[error("protocol error: {0}")]
    Protocol(#[from] ProtocolError),
    /// The lane could not be read, or ended without an end frame (`UnexpectedEof`).
    #[error("lane: {0}")]
    Source(io::Error),
    /// [`super::Incoming::cancel`] was called.
    #[error("cancelled")]
    Cancelled,
    /// No room, or no quota, is left.
    #[error("destination full")]
    DestinationFull,
    /// More has come than may without anybody having been asked.
    #[error("more than {bytes_max} bytes")]
    TooMuch {
        /// What may come.
        bytes_max: u64,
    },
    /// The staging folder cannot be used.
    #[error("{operation:?} the staging folder: {source}")]
    Staging {
        /// What was being done.
        operation: Operation,
        /// What the kernel said.
        source: io::Error,
    },
    /// The destination was removed.
    #[error("destination removed")]
    DestinationGone,
    /// A name in the destination itself was refused, of what is whole: all that waits for such a
    /// name would fail alike.
    #[error("{operation:?} {}: {source}", path.display())]
    Refused {
        /// The name, in the destination.
        path: PathBuf,
        /// What was being done.
        operation: Operation,
        /// What the kernel said.
        source: io::Error,
        /// What has its name there, the first of it.
        published: Vec<PathBuf>,
    },
}

/// Why one entry was not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EntryError {
    pub(super) operation: Operation,
    pub(super) reason: FailureReason,
}

impl EntryError {
    /// Something else has that name.
    pub(super) const IN_THE_WAY: Self = Self { operation: Operation::Create, reason: FailureReason::InTheWay };

    /// The filesystem would give it another name.
    pub(super) const NAME_NOT_KEPT: Self = Self { operation: Operation::Create, reason: FailureReason::NameNotKept };

    /// It begins with a dot, at the top of a home.
    pub(super) const DOT_NAME: Self = Self { operation: Operation::Create, reason: FailureReason::DotName };

    /// It would land in a home that nobody has allowed.
    pub(super) const HOME_FOLDER: Self = Self { operation: Operation::Create, reason: FailureReason::HomeFolder };

    /// It would land among what is Ringway's own.
    pub(super) const OWN_FOLDER: Self = Self { operation: Operation::Create, reason: FailureReason::OwnFolder };
}

impl EntryError {
    /// Whether the entry only lacks its name: something else has that, or its folder takes none.
    pub(super) fn is_of_the_name(self) -> bool {
        let refused = |errno: Errno| self.reason == FailureReason::Os { errno: errno.raw_os_error() };
        let is_refused = [Errno::ACCESS, Errno::PERM, Errno::ROFS].into_iter().any(refused);
        let named = matches!(self.operation, Operation::Create | Operation::Rename | Operation::Open);
        self.reason == FailureReason::InTheWay || (named && is_refused)
    }
}

impl From<EntryError> for io::Error {
    fn from(error: EntryError) -> Self {
        match error.reason {
            FailureReason::Os { errno } => Self::from_raw_os_error(errno),
            _ => Self::from(io::ErrorKind::AlreadyExists),
        }
    }
}

/// One entry's, or everybody's.
#[derive(Debug)]
pub(super) enum Trouble {
    Entry(EntryError),
    Fatal(LaneError),
}

impl Shortage for Trouble {
    fn is_of_descriptors(&self) -> bool {
        let short = |errno: Errno| FailureReason::Os { errno: errno.raw_os_error() };
        matches!(self, Self::Entry(error) if error.reason == short(Errno::MFILE) || error.reason == short(Errno::NFILE))
    }
}

impl From<EntryError> for Trouble {
    fn from(error: EntryError) -> Self {
        Self::Entry(error)
    }
}

impl From<LaneError> for Trouble {
    fn from(error: LaneError) -> Self {
        Self::Fatal(error)
    }
}

/// Sorts what the kernel said: no room concerns everybody, the rest one entry.
pub(super) fn during(operation: Operation) -> impl Fn(io::Error) -> Trouble {
    move |error| {
        if is_full(&error) { Trouble::Fatal(LaneError::DestinationFull) } else { failed(operation, &error).into() }
    }
}

/// A link, or something else that is no folder, stands where a folder should.
pub(super) fn not_a_folder(error: &io::Error) -> bool {
    is(error, Errno::LOOP) || error.kind() == io::ErrorKind::NotADirectory
}

/// Sorts what the kernel said of something that should be a folder.
pub(super) fn folder_trouble(operation: Operation) -> impl Fn(io::Error) -> Trouble {
    move |error| if not_a_folder(&error) { EntryError::IN_THE_WAY.into() } else { during(operation)(error) }
}

/// What an error of a spool's file means.
pub(super) fn spool_error(operation: Operation) -> impl Fn(io::Error) -> LaneError {
    move |source| if is_full(&source) { LaneError::DestinationFull } else { LaneError::Staging { operation, source } }
}

/// One entry's error.
pub(super) fn failed(operation: Operation, error: &io::Error) -> EntryError {
    EntryError { operation, reason: FailureReason::Os { errno: errno(error) } }
}

/// Whether the kernel said just this.
pub(super) fn is(error: &io::Error, errno: Errno) -> bool {
    error.raw_os_error() == Some(errno.raw_os_error())
}

/// The errno of an error; those that sys makes itself are refusals of arguments.
fn errno(error: &io::Error) -> i32 {
    let made = match error.kind() {
        io::ErrorKind::InvalidInput => Errno::INVAL,
        io::ErrorKind::AlreadyExists => Errno::EXIST,
        io::ErrorKind::NotADirectory => Errno::NOTDIR,
        io::ErrorKind::StorageFull => Errno::NOSPC,
        _ => Errno::IO,
    };
    error.raw_os_error().unwrap_or(made.raw_os_error())
}

/// Failed entries: all counted, the first named.
#[derive(Default)]
pub(super) struct Failures {
    count: AtomicU64,
    named_bytes: AtomicUsize,
    named: Mutex<Vec<Failure>>,
}

impl Failures {
    /// Adds one: the entry `name` (none for the folder itself) in `folder`.
    pub(super) fn add(&self, folder: &[u8], name: Option<&[u8]>, error: EntryError) {
        if self.count.fetch_add(1, Ordering::Relaxed) >= FAILURES_NAMED_MAX {
            return;
        }
        let len = folder.len() + name.map_or(0, |name| name.len() + 1);
        if self.named_bytes.fetch_add(len, Ordering::Relaxed) + len > NAMED_BYTES_MAX {
            return;
        }
        let mut path = folder.to_vec();
        if let Some(name) = name {
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(name);
        }
        let path = PathBuf::from(<std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(path));
        let EntryError { operation, reason } = error;
        self.named.lock().push(Failure { path: path.into(), side: Side::Here, operation, reason });
    }

    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    pub(super) fn take(&self) -> Vec<Failure> {
        std::mem::take(&mut self.named.lock())
    }
}

/// Bytes of a file that were not sent in this session, being here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Spared {
    pub(super) all: u64,
    /// Those of them that were copied from what the file replaces.
    pub(super) reused: u64,
}

/// What is there, counted as it comes to be.
#[derive(Default)]
pub(super) struct Tally {
    files: AtomicU64,
    folders_made: AtomicU64,
    folders: AtomicU64,
    links: AtomicU64,
    bytes: AtomicU64,
    moving_bytes: AtomicU64,
    unchanged: AtomicU64,
    skipped: AtomicU64,
    skipped_bytes: AtomicU64,
    reused: AtomicU64,
    /// Bytes among all those that were not sent in this session, being here.
    spared: AtomicU64,
}

impl Tally {
    /// A file is there, with so many bytes that had not been counted as moving.
    pub(super) fn file(&self, bytes: u64) {
        self.files.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// A file that was there is not any more.
    pub(super) fn lost(&self, bytes: u64, spared: Spared) {
        self.files.fetch_sub(1, Ordering::Relaxed);
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.not_spared(spared);
    }

    /// So many bytes of a ranged file are written; it is not whole yet.
    pub(super) fn moving(&self, bytes: u64) {
        self.moving_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// The bytes of a ranged file no longer count as moving: it has become whole (and is counted as
    /// such) or void.
    pub(super) fn moved(&self, bytes: u64) {
        self.moving_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub(super) fn link(&self) {
        self.links.fetch_add(1, Ordering::Relaxed);
    }

    /// A folder was made or found; its attributes come at the end.
    pub(super) fn folder_made(&self) {
        self.folders_made.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn folder(&self) {
        self.folders.fetch_add(1, Ordering::Relaxed);
    }

    /// A file or link, which has been counted, was here and is the same.
    pub(super) fn unchanged(&self) {
        self.unchanged.fetch_add(1, Ordering::Relaxed);
    }

    /// A file or link, which has been counted, stays by policy, whatever it is.
    pub(super) fn skipped(&self) {
        self.skipped.fetch_add(1, Ordering::Relaxed);
    }

    /// So many of the counted bytes belong to such files.
    pub(super) fn skipped_bytes(&self, bytes: u64) {
        self.skipped_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// So many of the counted bytes were not sent in this session.
    pub(super) fn spared(&self, spared: Spared) {
        self.spared.fetch_add(spared.all, Ordering::Relaxed);
        self.reused.fetch_add(spared.reused, Ordering::Relaxed);
    }

    /// Those bytes do not count any more: their file is not there.
    pub(super) fn not_spared(&self, spared: Spared) {
        self.spared.fetch_sub(spared.all, Ordering::Relaxed);
        self.reused.fetch_sub(spared.reused, Ordering::Relaxed);
    }

    /// All such bytes.
    pub(super) fn all_spared(&self) -> u64 {
        self.spared.load(Ordering::Relaxed)
    }

    /// All such bytes.
    pub(super) fn all_reused(&self) -> u64 {
        self.reused.load(Ordering::Relaxed)
    }

    pub(super) fn progress(&self) -> Progress {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Progress {
            entries: of(&self.files) + of(&self.folders_made) + of(&self.links),
            bytes: of(&self.bytes) + of(&self.moving_bytes),
        }
    }

    /// What is there, with what was there before.
    pub(super) fn there(&self) -> There {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counts = Counts {
            files: of(&self.files),
            folders: of(&self.folders),
            links: of(&self.links),
            bytes: of(&self.bytes),
        };
        There {
            counts,
            moved: counts.bytes.saturating_sub(self.all_spared()),
            unchanged: of(&self.unchanged),
            skipped: of(&self.skipped),
            skipped_bytes: of(&self.skipped_bytes),
        }
    }
}

/// What is there after a session.
pub(super) struct There {
    pub(super) counts: Counts,
    /// Bytes of it that were sent in this session.
    pub(super) moved: u64,
    /// Files and links of it that were there before and are the same.
    pub(super) unchanged: u64,
    /// Those that stay by policy.
    pub(super) skipped: u64,
    /// Bytes of it that were offered for those.
    pub(super) skipped_bytes: u64,
}
