//! The receiving side of the data plane: lane frames become files beneath one destination; what a lane's bytes may say is wire's business.
//!
//! Everything here blocks and runs on the lanes' own threads. See "Receiving" in ARCHITECTURE.md for where things land.
mod allowance;
mod attributes;
mod basis;
mod beside;
mod changed;
mod files;
mod finish;
mod folders;
mod journal;
mod kept;
mod landing;
mod lane;
mod links;
mod listed;
mod proof;
mod proving;
mod ranged;
mod removal;
mod spool;
#[cfg(test)]
mod tests;
mod trouble;
mod unfinished;
mod writeback;

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ringway_sys::dir::Dir;
use ringway_wire::control::{Progress, Wanted};
use ringway_wire::resume::TREE;
use tokio::sync::mpsc;

use crate::error::{Error, Failure, Operation};
use crate::event::TransferId;
use crate::options::OnConflict;

pub(crate) use allowance::Allowance;
pub(crate) use finish::FinishError;
pub(crate) use trouble::LaneError;
pub use unfinished::Unfinished;
pub(crate) use unfinished::{discard, unfinished};

use basis::Bases;
use beside::Temporaries;
use journal::Journal;
use kept::{Claimed, Kept, Left};
use links::Links;
use proof::Proof;
use ranged::Accounts;
use spool::Spool;
use trouble::{Failures, Tally};
use unfinished::About;
use writeback::Writeback;

/// What names of ours begin with; a peer's top-level name may not.
const OWN_PREFIX: &[u8] = b".ringway-";

/// Hex digits of the transfer's id in the staging folder's name: enough to be unique, short enough to be read.
const STAGING_ID_DIGITS: usize = 16;

/// Mode of folders while they are filled: nobody else looks into what is not whole.
const FILLING_FOLDER_MODE: u32 = 0o700;

/// Mode of files while they are filled.
const FILLING_FILE_MODE: u32 = 0o600;

/// Read, write and execute for everybody.
const PERMISSION_BITS: u32 = 0o777;

/// Write permission of a file's owner.
const OWNER_WRITES: u32 = 0o200;

/// Read permission of a file's owner.
const OWNER_READS: u32 = 0o400;

/// A lane's bytes in order; 0 means the end.
pub(crate) trait LaneSource {
    /// Reads some bytes, at least one unless `buf` is empty or the lane has ended. `buf` is no longer than what the peer has announced, so
    /// that whoever reads may wait for all of it.
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize>;

    /// Told before a frame's body is read: for who counts what comes.
    fn body_begins(&mut self) {}

    /// Told when a frame has been read whole: for who takes the time.
    fn frame_read(&mut self) {}

    /// Goes on with the lane's next connection, as a frame has said. Lanes that have but one refuse.
    fn renew(&mut self) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::InvalidData, "a lane that cannot be renewed"))
    }
}

/// A file by its folder's path and its name.
type PathKey = (Box<[u8]>, Box<[u8]>);

/// Whether a top-level name came from the same device before.
pub(crate) type KnownTop = Box<dyn Fn(&[u8]) -> bool + Send + Sync>;

/// How and where a transfer lands.
pub(crate) struct DestinationOptions {
    /// The folder that everything lands beneath; made if it is missing.
    pub(crate) destination: PathBuf,
    /// Names the staging folder.
    pub(crate) transfer: TransferId,
    /// What happens to files that exist.
    pub(crate) on_conflict: OnConflict,
    /// Numeric owner and group are kept.
    pub(crate) keep_owner: bool,
    /// setuid and setgid are kept.
    pub(crate) keep_setuid: bool,
    /// For [`OnConflict::RenameTop`].
    pub(crate) known_from_same_device: KnownTop,
    /// What an attempt at the same transfer has in common with another one: who sends what.
    pub(crate) attempt: AttemptKey,
    /// What its sender is called, for who asks what was left behind.
    pub(crate) from: String,
    /// Top-level names of it, as many as the offer says.
    pub(crate) names: Vec<Vec<u8>>,
    /// How many more of them there are.
    pub(crate) more_names: u64,
    /// Takes answers to lists; without it nothing is listed.
    pub(crate) answers: Option<mpsc::Sender<Wanted>>,
    /// Digests come along, and everything is read back before the receipt.
    pub(crate) prove: bool,
    /// What may come; none is any amount.
    pub(crate) allowance: Option<Arc<Allowance>>,
}

/// Tells attempts at one transfer from all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AttemptKey([u8; 8]);

impl AttemptKey {
    /// By the sender's device id and the top-level names of what it offers.
    pub(crate) fn new(sender: &[u8], names: &[Vec<u8>], more_names: u64) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("ringway 2026 attempt at a transfer");
        for part in std::iter::once(sender).chain(names.iter().map(Vec::as_slice)) {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        hasher.update(&more_names.to_le_bytes());
        let mut key = [0; 8];
        key.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
        Self(key)
    }
}

impl fmt::Display for AttemptKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// One transfer's destination while it is being filled, shared by its lanes.
pub(crate) struct Incoming {
    options: DestinationOptions,
    root: Dir,
    /// The filesystem of `root`.
    root_dev: u64,
    staging_name: Vec<u8>,
    /// The next attempt looks for it under that name.
    is_found_again: bool,
    staging: Dir,
    /// What is there of earlier attempts.
    kept: Kept,
    /// Files of those that the sender goes on with, by folder and name, until the first range of each comes.
    resuming: Mutex<HashMap<PathKey, Left>>,
    bases: Bases,
    journal: Journal,
    writeback: Writeback,
    /// The sender is asked to list its files.
    lists: bool,
    /// New top-level folders, built under their own names.
    tree: Dir,
    /// Whether folders come out of mkdir(2) without their owner's bits: an odd umask or default ACL.
    folders_masked: bool,
    /// Permission bits that files lose when they are created in the staging folder: the umask's, or a default ACL's.
    files_masked: u32,
    /// The filesystem takes names for one that differ by the case of their letters.
    folds: bool,
    accounts: Mutex<Accounts>,
    /// Held while deciding where a top-level folder goes, so that two lanes decide alike.
    tops: Mutex<()>,
    links: Mutex<Links>,
    early_links: Mutex<Spool>,
    folder_attributes: Mutex<Spool>,
    /// Filesystems mounted inside the destination that were written to: to be synchronised too.
    foreign: Mutex<Vec<(u64, Dir)>>,
    /// Top-level names for the report.
    arrived: Mutex<Vec<Vec<u8>>>,
    /// Those of them that this transfer has given to what came; not what was there and stays, or was only added to.
    made: Mutex<Vec<Vec<u8>>>,
    failures: Failures,
    tally: Tally,
    proof: Option<Proof>,
    /// Everything is written and is being read back.
    proving: AtomicBool,
    lanes: AtomicU64,
    temporaries: Temporaries,
    cancelled: AtomicBool,
    full: AtomicBool,
    too_much: AtomicBool,
    /// The kernel could not bring everything to the disk, has said so once, and may drop it from memory: what is there by size and time may be gone.
    unsound: AtomicBool,
}

impl Incoming {
    /// Opens the destination, making it if it is missing, and makes the staging folder in it, which shows that it can be written to.
    ///
    /// # Errors
    /// [`Error::Path`] with what the kernel said; `AlreadyExists` if another transfer with this id is under way there.
    pub(crate) fn begin(options: DestinationOptions) -> Result<Arc<Self>, Error> {
        Self::begin_by(options, |_| Ok(()))
    }

    /// The same, confining the calling thread to what is beneath the destination, for good, once that is open.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    pub(crate) fn begin_confined(options: DestinationOptions) -> Result<Arc<Self>, Error> {
        Self::begin_by(options, ringway_sys::confine::thread_beneath)
    }

    fn begin_by(options: DestinationOptions, confine: impl FnOnce(&Dir) -> io::Result<()>) -> Result<Arc<Self>, Error> {
        let path = options.destination.clone();
        let at = |operation| {
            let path = path.clone();
            move |source| Error::Path { path, operation, source }
        };
        std::fs::create_dir_all(&path).map_err(at(Operation::Create))?;
        let root = Dir::open(&path).map_err(at(Operation::Open))?;
        let mark = u64::from_le_bytes(crate::random()?);
        let root_dev = ringway_sys::attributes::metadata_of(&root).map_err(at(Operation::Open))?.dev;
        // What is read elsewhere is read before that cannot be done any more.
        let proof = options.prove.then(|| Proof::onto(root_dev));
        kept::boot_id();
        confine(&root).map_err(at(Operation::Create))?;
        let (stable, transfer) = (options.attempt.to_string(), options.transfer.to_string());
        let named = |id: &str| [OWN_PREFIX, &id.as_bytes()[..STAGING_ID_DIGITS]].concat();
        let about = About { from: options.from.clone(), names: options.names.clone(), more_names: options.more_names };
        let claimed = kept::claim(&root, &named(&stable), &named(&transfer), &about).map_err(at(Operation::Create))?;
        // What it is to go on with is held by now, however old it is.
        kept::remove_stale(&root);
        let is_found_again = claimed.name == named(&stable);
        let Claimed { name: staging_name, dir: staging, masked: folders_masked, was_there, kept } = claimed;
        let temporaries = Temporaries::new(&staging_name, mark, was_there);
        let (tree, files_masked, folds) = match Self::open_tree(&staging, folders_masked) {
            Ok(opened) => opened,
            Err(source) => {
                // What earlier attempts have left waits for a better one. What cannot be removed was not ours.
                if kept.is_empty() {
                    let _ = removal::remove_tree(&root, &staging_name);
                }
                return Err(at(Operation::Create)(source));
            }
        };
        let lists = options.answers.is_some() && (!kept.is_empty() || may_be_there(&root, &options));
        if lists && proof.is_some() {
            // What is here already is compared as its medium has it.
            ringway_sys::space::sync_filesystem(&root).map_err(at(Operation::Sync))?;
        }
        Ok(Arc::new(Self {
            options,
            root,
            root_dev,
            staging_name,
            is_found_again,
            journal: Journal::create(&staging),
            writeback: Writeback::new(&staging),
            staging,
            kept,
            resuming: Mutex::default(),
            bases: Bases::default(),
            lists,
            tree,
            folders_masked,
            files_masked,
            folds,
            accounts: Mutex::default(),
            tops: Mutex::default(),
            links: Mutex::default(),
            early_links: Mutex::default(),
            folder_attributes: Mutex::default(),
            foreign: Mutex::default(),
            arrived: Mutex::default(),
            made: Mutex::default(),
            failures: Failures::default(),
            tally: Tally::default(),
            proof,
            proving: AtomicBool::new(false),
            lanes: AtomicU64::new(0),
            temporaries,
            cancelled: AtomicBool::new(false),
            full: AtomicBool::new(false),
            too_much: AtomicBool::new(false),
            unsound: AtomicBool::new(false),
        }))
    }

    fn open_tree(staging: &Dir, masked: bool) -> io::Result<(Dir, u32, bool)> {
        let tree = folders::open_made(staging, TREE, masked)?;
        // One that an attempt has left says nothing of this one's umask.
        let _ = staging.unlink(b"probe");
        drop(staging.create_new(b"probe", PERMISSION_BITS)?);
        let files_masked = PERMISSION_BITS & !staging.metadata(b"probe")?.mode;
        let folds = staging.metadata(b"PROBE").is_ok();
        staging.unlink(b"probe")?;
        Ok((tree, files_masked, folds))
    }

    /// Confines the calling thread to what is beneath the destination, for good.
    ///
    /// # Errors
    /// What the kernel said.
    pub(crate) fn confine_thread(&self) -> io::Result<()> {
        ringway_sys::confine::thread_beneath(&self.root)
    }

    /// Whether some of what is offered may be here already, so that the sender is to list its files before it sends them.
    pub(crate) fn lists(&self) -> bool {
        self.lists
    }

    /// The second from which on files are listed with digests, what is here of them being in doubt; none where nothing is.
    pub(crate) fn doubts(&self) -> Option<i64> {
        self.kept.doubts().filter(|_| self.lists)
    }

    /// Whether what was begun of a large file is compared before anything of it is believed.
    fn compares_begun(&self) -> bool {
        self.proof.is_some() || self.kept.begun_is_doubted()
    }

    /// What has been written so far.
    pub(crate) fn progress(&self) -> Progress {
        self.tally.progress()
    }

    /// What is to be read back, and how far that is; none before it begins.
    pub(crate) fn proving(&self) -> Option<(Progress, Progress)> {
        let proof = self.proof.as_ref().filter(|_| self.proving.load(Ordering::Acquire))?;
        Some((proof.kept(), proof.read()))
    }

    /// Entries that failed so far.
    pub(crate) fn failed(&self) -> u64 {
        self.failures.count()
    }

    /// Those of them not yet taken, by name; beyond [`ringway_wire::limits::FAILURES_NAMED_MAX`] they are only counted.
    pub(crate) fn take_failures(&self) -> Vec<Failure> {
        self.failures.take()
    }

    /// Makes the lanes end soon: between frames, or groups of files of one.
    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Removes what is staged or partial. For after every lane has ended, when there will be no receipt; whole files that were merged into
    /// existing folders stay.
    ///
    /// # Errors
    /// The first thing that could not be removed.
    pub(crate) fn abandon(&self) -> io::Result<()> {
        lock(&self.accounts).discard_open();
        removal::remove_tree(&self.root, &self.staging_name)
    }

    /// The same, but whole files in the staging folder, and what has come of large ones, stay there for the next attempt. True if there are any.
    ///
    /// # Errors
    /// As [`abandon`](Self::abandon).
    pub(crate) fn keep(&self) -> io::Result<bool> {
        lock(&self.accounts).discard_unnoted();
        let is_sound = !self.unsound.load(Ordering::Relaxed) && !self.writeback.has_failed();
        if !is_sound || !self.is_found_again || !kept::is_worth_keeping(&self.staging) {
            return self.abandon().map(|()| false);
        }
        kept::touch(&self.staging);
        // The next attempt may come before the last one's session has closed.
        kept::release(&self.staging)?;
        Ok(true)
    }

    /// Removes what [`keep`](Self::keep) has left, unless another attempt has taken it over. Best effort: what stays is hidden, and goes after a week.
    pub(crate) fn discard_kept(&self) {
        if kept::lock_again(&self.root, &self.staging_name, &self.staging) {
            // Nobody would be helped by hearing that it could not be removed.
            let _ = removal::remove_tree(&self.root, &self.staging_name);
        }
    }

    /// Files and links that have come, of those that are there.
    pub(crate) fn came(&self) -> u64 {
        let (there, unchanged) = self.tally.there();
        (there.files + there.links).saturating_sub(unchanged)
    }

    /// The first top-level names that were given to what came, those not yet taken: what has one is the sender's, and nobody else's.
    pub(crate) fn take_made(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut *lock(&self.made))
    }

    /// Bytes that were copied from what their files replace, instead of coming.
    pub(crate) fn reused(&self) -> u64 {
        self.tally.all_reused()
    }

    /// Whether the destination's path leads elsewhere by now: it was renamed, or unmounted while it was in use. What came is not where a receipt would say.
    fn has_moved(&self) -> bool {
        let here = rustix::fs::fstat(&self.root).map(|stat| (stat.st_dev, stat.st_ino));
        let there = rustix::fs::stat(&self.options.destination).map(|stat| (stat.st_dev, stat.st_ino));
        match (here, there) {
            (Ok(here), Ok(there)) => here != there,
            // A path that one may not look at any more says nothing.
            (_, there) => there == Err(rustix::io::Errno::NOENT),
        }
    }

    /// Whether the destination has been removed under us.
    fn is_gone(&self) -> bool {
        self.root.metadata(&self.staging_name).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    }
}

/// Whether a top-level name of the offer is taken by what it would be merged with.
fn may_be_there(root: &Dir, options: &DestinationOptions) -> bool {
    options.on_conflict != OnConflict::Rename
        && (options.more_names > 0 || options.names.iter().any(|name| root.metadata(name).is_ok()))
}

/// Locks; what a panicking lane left behind is consistent enough to clean up by.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
