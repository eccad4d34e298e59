//! The receiving side of the data plane: lane frames become files beneath one destination; what a
//! lane's bytes may say is wire's business.
//!
//! Everything here blocks and runs on the lanes' own threads. See docs/design/receiving.md for
//! where things land.
mod allowance;
mod destination;
mod digests;
mod durability;
mod failures;
mod finish;
mod lane;
mod links;
mod merge;
mod protected;
mod staging;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::{fmt, io};

use parking_lot::Mutex;
use ringway_model::{Edit, Failure, Fault, IntoHome, Invalid, OnConflict, Operation, TransferId};
use ringway_sys::attributes::Timestamp;
use ringway_sys::space::Filesystem;
use ringway_wire::control::{Progress, Wanted};
use ringway_wire::resume::TREE;
use ringway_wire::{Name, OfferedNames, ProtocolError, RelPath};

use crate::descriptors::ForReceiving;
use crate::disk::{Dir, Disk, On};
use digests::Proof;
use failures::{Failures, Tally, There};
use lane::basis::Bases;
use lane::large_files::Accounts;
use links::Links;
use links::unplaced::AllUnplaced;
use merge::case_folding::{Folding, Manner};
use merge::edits::Edits;
use merge::received_before::{self, AllLandings, Filled, born};
use staging::journal::Journal;
use staging::read_only_folders::Openings;
use staging::spool::Spool;
use staging::temporaries::Temporaries;
use staging::unfinished::About;
use staging::writeback::Writeback;
use staging::{Claimed, Kept, Left, removal};

pub use allowance::{Allowance, covered_by};
pub use destination::{Expected, FolderIdentity};
pub use failures::LaneError;
pub use finish::FinishError;
pub use merge::received_before::Brought;
pub use protected::homes::{Homes, is_home};
pub use protected::own_folders::OwnFolders;
pub use staging::read_only_folders::{close_folders, restore_all};
pub use staging::unfinished::{discard, unfinished};

/// What names of ours begin with; a peer's top-level name may not.
const OWN_PREFIX: &[u8] = b".ringway-";

/// Hex digits of the transfer's id in the staging folder's name: enough to be unique, short enough
/// to be read.
const STAGING_ID_DIGITS: usize = 16;

/// Mode of folders while they are filled: nobody else looks into what is not whole.
const FILLING_FOLDER_MODE: u32 = 0o700;

/// Mode of files while they are filled.
const FILLING_FILE_MODE: u32 = 0o600;

/// Read, write and execute for everybody.
const PERMISSION_BITS: u32 = 0o777;

/// Write permission of a file's owner.
const OWNER_WRITES: u32 = 0o200;

/// Offered names whose owners' homes are looked up: some milliseconds' worth.
const OWNERS_LOOKED_AT_MAX: usize = 4_096;

/// Read permission of a file's owner.
const OWNER_READS: u32 = 0o400;

/// A file by its folder's path and its name.
type PathKey = (Box<[u8]>, Box<[u8]>);

/// What the same device brought under a top-level name before, if it brought anything.
pub type BroughtBefore = Box<dyn Fn(&[u8]) -> Option<Brought> + Send + Sync>;

/// Told which folders are about to get their top-level names, before the first one does: a receiver
/// that is killed then still knows whose they are.
pub type Announce = Box<dyn Fn(Vec<(Vec<u8>, Brought)>) + Send + Sync>;

/// Sends the sender an answer to a list, and waits while many are on their way. False if the
/// session has ended.
pub type Answers = Box<dyn Fn(Wanted) -> bool + Send + Sync>;

/// How and where a transfer lands.
pub struct DestinationOptions {
    /// The folder that everything lands beneath.
    pub destination: PathBuf,
    /// What has to be there.
    pub expected: Expected,
    /// Names the staging folder.
    pub transfer: TransferId,
    /// What happens to files that exist.
    pub on_conflict: OnConflict,
    /// Numeric owner and group are kept.
    pub keep_owner: bool,
    /// setuid and setgid are kept.
    pub keep_setuid: bool,
    /// Under [`OnConflict::Replace`], folders that exist take the sender's mode also where that
    /// lets more people in.
    pub widen_modes: bool,
    /// For [`OnConflict::RenameTop`].
    pub brought_before: BroughtBefore,
    /// None where nothing is remembered.
    pub announce: Option<Announce>,
    /// What an attempt at the same transfer has in common with another one: who sends what.
    pub attempt: AttemptKey,
    /// What its sender is called, for who asks what was left behind.
    pub from: String,
    /// Top-level names of it, as many as the offer says.
    pub names: Vec<Vec<u8>>,
    /// How many more of them there are.
    pub more_names: u64,
    /// All of them: nothing lands under another name at the top. None only for trees that no peer
    /// sends, in measurements and tests.
    pub offered: Option<Arc<OfferedNames>>,
    /// Takes answers to lists; without it nothing is listed.
    pub answers: Option<Answers>,
    /// What it may keep open.
    pub open: ForReceiving,
    /// Digests come along, and everything is read back before the receipt.
    pub prove: bool,
    /// What may come; none is any amount.
    pub allowance: Option<Arc<Allowance>>,
    /// Where nothing may land.
    pub own: OwnFolders,
    /// What may, where it is a home or lies in one.
    pub into_home: IntoHome,
    /// Which folders are homes, besides those of the users who own the destination and what is
    /// there of the offer.
    pub homes: Homes,
}

/// Tells attempts at one transfer from all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttemptKey([u8; 32]);

impl AttemptKey {
    /// By the sender's device id and all top-level names of what it offers.
    pub fn new(sender: &[u8], names: &OfferedNames) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("ringway 2026 attempt at a transfer");
        for part in std::iter::once(sender).chain(names.iter()) {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        Self(*hasher.finalize().as_bytes())
    }
}

impl fmt::Display for AttemptKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..STAGING_ID_DIGITS / 2].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// One transfer's destination while it is being filled, shared by its lanes.
pub struct Incoming {
    /// What the receiver allows, and from whom it comes.
    options: DestinationOptions,
    root: Root,
    staging: Staging,
    /// The sender is asked to list its files.
    lists: bool,
    reuse: Reuse,
    /// Which spellings of a name other filesystems, and other folders, take for one.
    folding: Folding,
    /// Folders that their owner may not write to, while they are changed.
    openings: Arc<Openings>,
    accounts: Mutex<Accounts>,
    top: TopNames,
    deferred: Deferred,
    times: Times,
    results: Results,
    proof: Option<Proof>,
    flags: Flags,
}

/// The folder that everything lands beneath.
struct Root {
    dir: Dir,
    /// Its filesystem.
    dev: u64,
    /// The kind of that.
    filesystem: Filesystem,
    /// Homes whose top takes no name that begins with a dot, or nothing; none where anything may
    /// land in a home.
    homes: Homes,
    /// It is one of them itself.
    is_home: bool,
}

/// The staging folder.
struct Staging {
    name: Vec<u8>,
    dir: Dir,
    /// The next attempt looks for it under that name.
    is_found_again: bool,
    /// What is there of earlier attempts.
    kept: Kept,
    journal: Journal,
    writeback: Writeback,
    /// The descriptor by which staged files are synchronised before they get a name that everybody
    /// sees: it gets to know of each error that comes after it was opened, whoever else was told.
    early_sync: Mutex<Dir>,
    /// New top-level folders, built under their own names.
    tree: Dir,
    /// Whether folders come out of mkdir(2) without their owner's bits: an odd umask or default
    /// ACL.
    folders_masked: bool,
    /// Permission bits that files lose when they are created in the staging folder: the umask's, or
    /// a default ACL's.
    files_masked: u32,
    /// Folders of the staging tree take different spellings of a name for one.
    manner: Manner,
    temporaries: Temporaries,
}

/// What large files are made of beside what comes.
#[derive(Default)]
struct Reuse {
    /// Files of earlier attempts that the sender goes on with, by folder and name, until the first
    /// range of each comes.
    resuming: Mutex<HashMap<PathKey, Left>>,
    bases: Bases,
}

/// Top-level names: what this transfer gives them to, and whose they were before.
#[derive(Default)]
struct TopNames {
    /// Held while deciding where a top-level folder goes, so that two lanes decide alike.
    deciding: Mutex<()>,
    /// For the report.
    arrived: Mutex<Vec<Vec<u8>>>,
    /// Those of them that this transfer has given to what came; not what was there and stays, or
    /// was only added to.
    made: Mutex<HashMap<Vec<u8>, Option<Brought>>>,
    /// Names of folders whose identity was remembered before they got them.
    announced: Mutex<HashSet<Vec<u8>>>,
    /// What the same device brought before and this transfer adds to.
    added_to: Mutex<HashMap<Vec<u8>, Arc<Brought>>>,
    /// What this transfer has put there, or at the top itself.
    landings: Mutex<AllLandings>,
}

/// Work that waits for the end.
#[derive(Default)]
struct Deferred {
    links: Mutex<Links>,
    early_links: Mutex<Spool>,
    unplaced: AllUnplaced,
    folder_attributes: Mutex<Spool>,
    /// Filesystems mounted inside the destination that were written to: to be synchronised too.
    foreign: Mutex<Vec<(u64, Dir)>>,
}

impl Deferred {
    /// Closes what lies in the staging folder.
    fn close(&self) {
        drop(std::mem::take(&mut *self.folder_attributes.lock()));
        drop(std::mem::take(&mut *self.early_links.lock()));
        drop(std::mem::take(&mut *self.links.lock()));
        drop(std::mem::take(&mut *self.unplaced.lock()));
    }
}

/// When this transfer wrote, by the destination's own clock; none where that tells no time.
struct Times {
    /// When this attempt began.
    began: Option<Timestamp>,
    /// When the first attempt began, as far as that is known.
    first_began: Option<Timestamp>,
    /// Until when it has written into folders that nobody sees yet.
    wrote_until: Mutex<Option<Timestamp>>,
}

impl Times {
    /// Nothing of new folders is written from here on, and the first of them is seen only after
    /// this: what changes later was changed by somebody else.
    fn end_writing(&self, staging: &Dir) {
        let mut until = self.wrote_until.lock();
        if until.is_none() {
            *until = received_before::filesystem_time(staging).ok();
        }
    }

    /// When the files of new folders were made and written.
    fn filled(&self) -> Option<Filled> {
        let until = *self.wrote_until.lock();
        Some(Filled::new(self.first_began?, self.began?, until?))
    }
}

/// What came of it so far.
#[derive(Default)]
struct Results {
    tally: Tally,
    failures: Failures,
    /// Files of the receiver that were kept because they were changed here.
    edits: Edits,
}

/// What the lanes and the end tell each other.
#[derive(Default)]
struct Flags {
    /// Lanes that were begun.
    lanes: AtomicU64,
    is_cancelled: AtomicBool,
    is_full: AtomicBool,
    /// More has come than may.
    is_too_much: AtomicBool,
    /// Everything is written and is being read back.
    is_proving: AtomicBool,
    /// Something has its final name in a folder that everybody sees.
    has_merged: AtomicBool,
    /// Everything has its final name, and the staging folder could not be removed.
    is_left_behind: AtomicBool,
}

impl Incoming {
    /// Opens the destination and makes the staging folder in it, which shows that it can be written
    /// to.
    ///
    /// # Errors
    /// [`Fault::DestinationGone`] where another folder than the expected one is there;
    /// [`Fault::Path`] with what the kernel said; `AlreadyExists` if another transfer with this id
    /// is under way there.
    pub fn begin(options: DestinationOptions) -> Result<Arc<Self>, Fault> {
        Self::begin_by(options, On::default(), |_| Ok(()))
    }

    /// The same, changing nothing but by way of `disk`.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    pub fn begin_on(options: DestinationOptions, disk: Arc<dyn Disk>) -> Result<Arc<Self>, Fault> {
        Self::begin_by(options, disk.into(), |_| Ok(()))
    }

    /// The same, confining the calling thread to what is beneath the destination, for good, once
    /// that is open.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    pub fn begin_confined(options: DestinationOptions) -> Result<Arc<Self>, Fault> {
        Self::begin_by(options, On::default(), ringway_sys::confine::thread_beneath)
    }

    fn begin_by(
        options: DestinationOptions,
        on: On,
        confine: impl FnOnce(&Dir) -> io::Result<()>,
    ) -> Result<Arc<Self>, Fault> {
        let path = options.destination.clone();
        let at = |operation| {
            let path = path.clone();
            move |source| Fault::path(path, operation, source)
        };
        let root = Dir::on(options.expected.open(&path)?, on);
        let mark = u64::from_le_bytes(crate::random()?);
        let root_is = ringway_sys::attributes::metadata_of(&root).map_err(at(Operation::Open))?;
        let root_dev = root_is.dev;
        let filesystem = root.disk().filesystem(root.as_fd()).map_err(at(Operation::Open))?;
        if options.own.contain(&root).map_err(at(Operation::Open))? {
            return Err(Fault::Invalid(Invalid::OwnFolder { folder: path.into() }));
        }
        let homes = homes_below(&root, root_is.uid, &options);
        let is_home = homes.has(&root_is);
        if is_home && options.into_home == IntoHome::Refuse {
            return Err(Fault::Invalid(Invalid::HomeFolder { folder: path.into() }));
        }
        // What is read elsewhere is read before that cannot be done any more.
        let proof = options.prove.then(|| Proof::read_by(root.disk().readers(root_dev)));
        confine(&root).map_err(at(Operation::Create))?;
        let (stable, transfer) = (options.attempt.to_string(), options.transfer.to_string());
        let named = |id: &str| [OWN_PREFIX, &id.as_bytes()[..STAGING_ID_DIGITS]].concat();
        let about = About { from: options.from.clone(), names: options.names.clone(), more_names: options.more_names };
        let claimed = staging::claim(&root, &named(&stable), &named(&transfer), &about, options.open.attempts)
            .map_err(at(Operation::Create))?;
        // What it is to go on with is held by now, however old it is.
        staging::remove_stale(&root);
        let is_found_again = claimed.name == named(&stable);
        let Claimed { name: staging_name, dir: staging, masked: folders_masked, was_there, kept } = claimed;
        let temporaries = Temporaries::new(&staging_name, mark, was_there);
        let early_sync = root.open_dir(&staging_name).map_err(at(Operation::Open))?;
        let (tree, files_masked, manner) = match Self::open_tree(&staging, folders_masked) {
            Ok(opened) => opened,
            Err(source) => {
                // What earlier attempts have left waits for a better one. What cannot be removed
                // was not ours.
                if kept.is_empty() {
                    let _ = removal::remove_tree(&root, &staging_name);
                }
                return Err(at(Operation::Create)(source));
            }
        };
        let openings = Arc::new(Openings::new(staging.try_clone().map_err(at(Operation::Open))?));
        let began = received_before::filesystem_time(&staging).ok();
        // Files that an earlier attempt has left are older than this one.
        let first_began = if kept.is_empty() { began } else { born(&staging) };
        let lists =
            options.answers.is_some() && (!kept.is_empty() || kept.is_suspect() || may_be_there(&root, &options));
        if lists && proof.is_some() {
            // What is here already is compared as its medium has it.
            root.sync_filesystem().map_err(at(Operation::Sync))?;
        }
        let write_back_after = root.disk().write_back_after();
        Ok(Arc::new(Self {
            options,
            root: Root { dir: root, dev: root_dev, filesystem, homes, is_home },
            staging: Staging {
                name: staging_name,
                is_found_again,
                kept,
                journal: Journal::create(&staging),
                writeback: Writeback::after(write_back_after),
                early_sync: Mutex::new(early_sync),
                dir: staging,
                tree,
                folders_masked,
                files_masked,
                manner,
                temporaries,
            },
            lists,
            reuse: Reuse::default(),
            folding: Folding::default(),
            openings,
            accounts: Mutex::default(),
            top: TopNames::default(),
            deferred: Deferred::default(),
            times: Times { began, first_began, wrote_until: Mutex::default() },
            results: Results::default(),
            proof,
            flags: Flags::default(),
        }))
    }

    /// What changes something asks it.
    fn disk(&self) -> &dyn Disk {
        self.root.dir.disk()
    }

    fn open_tree(staging: &Dir, masked: bool) -> io::Result<(Dir, u32, Manner)> {
        let tree = staging::open_made(staging, TREE, masked)?;
        // One that an attempt has left says nothing of this one's umask.
        let _ = staging.unlink(b"probe");
        drop(staging.create_new(b"probe", PERMISSION_BITS)?);
        let files_masked = PERMISSION_BITS & !staging.metadata(b"probe")?.mode;
        staging.unlink(b"probe")?;
        let manner = Manner::of(staging, b"probe")?;
        Ok((tree, files_masked, manner))
    }

    /// Confines the calling thread to what is beneath the destination, for good.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn confine_thread(&self) -> io::Result<()> {
        ringway_sys::confine::thread_beneath(&self.root.dir)
    }

    /// Whether some of what is offered may be here already, so that the sender is to list its files
    /// before it sends them.
    pub fn lists(&self) -> bool {
        self.lists
    }

    /// The second from which on files are listed with digests, what is here of them being in doubt;
    /// none where nothing is.
    pub fn doubts(&self) -> Option<i64> {
        self.staging.kept.doubts().filter(|_| self.lists)
    }

    /// What has been written so far.
    pub fn progress(&self) -> Progress {
        self.results.tally.progress()
    }

    /// What is to be read back, and how far that is; none before it begins.
    pub fn proving(&self) -> Option<(Progress, Progress)> {
        let proof = self.proof.as_ref().filter(|_| self.flags.is_proving.load(Ordering::Acquire))?;
        Some((proof.kept(), proof.read()))
    }

    /// Entries that failed so far.
    pub fn failed(&self) -> u64 {
        self.results.failures.count()
    }

    /// Those of them not yet taken, by name; beyond [`ringway_wire::limits::FAILURES_NAMED_MAX`]
    /// they are only counted.
    pub fn take_failures(&self) -> Vec<Failure> {
        self.results.failures.take()
    }

    /// Makes the lanes end soon: between frames, or groups of files of one.
    pub fn cancel(&self) {
        self.flags.is_cancelled.store(true, Ordering::Relaxed);
    }

    /// Removes what is staged or partial. For after every lane has ended, when there will be no
    /// receipt; whole files that were merged into existing folders stay.
    ///
    /// # Errors
    /// The first thing that could not be removed.
    pub fn abandon(&self) -> io::Result<()> {
        self.accounts.lock().discard_open(self);
        self.ends_writing();
        self.dress_made();
        // What has its final name may be lacking on the disk, with the right size and time.
        let is_suspect =
            self.staging.kept.is_suspect() || !self.is_sound() && self.flags.has_merged.load(Ordering::Relaxed);
        self.close_files();
        if is_suspect && self.staging.is_found_again {
            return staging::leave_suspect(&self.staging.dir);
        }
        removal::remove_tree(&self.root.dir, &self.staging.name)
    }

    /// The same, but whole files in the staging folder, and what has come of large ones, stay there
    /// for the next attempt. True if there are any.
    ///
    /// # Errors
    /// As [`abandon`](Self::abandon).
    pub fn keep(&self) -> io::Result<bool> {
        self.accounts.lock().discard_unnoted(self);
        self.ends_writing();
        let is_worth_it = self.staging.is_found_again && staging::is_worth_keeping(&self.staging.dir);
        if is_worth_it {
            self.synchronise_kept();
        }
        if !is_worth_it || !self.is_sound() {
            return self.abandon().map(|()| false);
        }
        self.close_files();
        staging::touch(&self.staging.dir);
        // The next attempt may come before the last one's session has closed.
        staging::release(&self.staging.dir)?;
        Ok(true)
    }

    /// Whether the disk took all that it was to take. What it did not memory may have lost.
    fn is_sound(&self) -> bool {
        !self.staging.writeback.has_failed()
    }

    /// Removes what [`keep`](Self::keep) has left, unless another attempt has taken it over. Best
    /// effort: what stays is hidden, and goes after a week.
    pub fn discard_kept(&self) {
        if staging::lock_again(&self.root.dir, &self.staging.name, &self.staging.dir) {
            // Nobody would be helped by hearing that it could not be removed.
            let _ = removal::remove_tree(&self.root.dir, &self.staging.name);
        }
    }

    /// Files and links that have come, of those that are there.
    pub fn came(&self) -> u64 {
        let There { counts, unchanged, skipped, .. } = self.results.tally.there();
        (counts.files + counts.links).saturating_sub(unchanged + skipped)
    }

    /// What the sender has brought by now, under the first top-level names that were given to it,
    /// and what it brought before and has added to; those not yet taken. What has one of these
    /// names is the sender's, and nobody else's.
    pub fn take_brought(&self) -> Vec<(Vec<u8>, Brought)> {
        let made = std::mem::take(&mut *self.top.made.lock());
        let added_to = std::mem::take(&mut *self.top.added_to.lock());
        let mut landings = std::mem::take(&mut *self.top.landings.lock());
        let mut all: HashMap<_, _> = made.into_iter().filter_map(|(name, brought)| Some((name, brought?))).collect();
        for (name, brought) in added_to {
            if landings.get(&name).is_some() {
                all.entry(name).or_insert_with(|| Arc::unwrap_or_clone(brought));
            }
        }
        for (name, brought) in &mut all {
            if let Some(landed) = landings.take(name) {
                brought.update(landed);
            }
        }
        all.into_iter().collect()
    }

    /// Closes what is open in the staging folder. Where another program is the filesystem (FUSE),
    /// and on NFS, what is removed while it is open stays under another name, and its folder with
    /// it.
    fn close_files(&self) {
        self.staging.journal.close();
        self.deferred.close();
        if let Some(proof) = &self.proof {
            drop(proof.take());
        }
    }

    /// The staging folder, where that could not be removed after everything had its final name.
    pub fn left_behind(&self) -> Option<PathBuf> {
        let path = || self.options.destination.join(OsStr::from_bytes(&self.staging.name));
        self.flags.is_left_behind.load(Ordering::Relaxed).then(path)
    }

    /// Ends writing into folders that nobody sees yet.
    fn ends_writing(&self) {
        self.times.end_writing(&self.staging.dir);
    }

    /// The receiver's edited files that were kept, those not yet taken, by name; beyond a number
    /// they are only counted.
    pub fn take_edits(&self) -> Vec<Edit> {
        self.results.edits.take()
    }

    /// Files that were kept because the receiver changed them.
    pub fn edited(&self) -> u64 {
        self.results.edits.count()
    }

    /// Bytes that were copied from what their files replace, instead of coming.
    pub fn reused(&self) -> u64 {
        self.results.tally.all_reused()
    }

    /// Bytes of what there is, whole or not, that were sent in this session.
    pub fn moved(&self) -> u64 {
        self.results.tally.progress().bytes.saturating_sub(self.results.tally.all_spared())
    }

    /// Holds what comes to the offer: every path and name that a lane says passes here before
    /// anything is done with it. `name` is none for a folder.
    ///
    /// # Errors
    /// Its top-level name was not offered.
    pub fn hold_to_offer(&self, folder: RelPath<'_>, name: Option<Name<'_>>) -> Result<(), ProtocolError> {
        let top = folder.split_first().map(|(top, _)| top).or(name);
        match (&self.options.offered, top) {
            (Some(offered), Some(top)) if !offered.has(top.as_bytes()) => Err(ProtocolError::NotOffered),
            _ => Ok(()),
        }
    }

    /// Whether the destination's path leads elsewhere by now: it was renamed, or unmounted while it
    /// was in use. What came is not where a receipt would say.
    fn has_moved(&self) -> bool {
        let here = rustix::fs::fstat(&self.root.dir).map(|stat| (stat.st_dev, stat.st_ino));
        let there = rustix::fs::stat(&self.options.destination).map(|stat| (stat.st_dev, stat.st_ino));
        match (here, there) {
            (Ok(here), Ok(there)) => here != there,
            // A path that one may not look at any more says nothing.
            (_, there) => there == Err(rustix::io::Errno::NOENT),
        }
    }

    /// Whether the destination has been removed under us.
    fn is_gone(&self) -> bool {
        self.root.dir.metadata(&self.staging.name).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    }
}

/// Whether a top-level name of the offer is taken by what it would be merged with.
fn may_be_there(root: &Dir, options: &DestinationOptions) -> bool {
    options.more_names > 0 || options.names.iter().any(|name| root.metadata(name).is_ok())
}

/// The homes that the destination may be or hold, as far as the transfer minds them.
fn homes_below(root: &Dir, owner: u32, options: &DestinationOptions) -> Homes {
    if options.into_home == IntoHome::DotNames {
        return Homes::default();
    }
    let offered = options.offered.iter().flat_map(|names| names.iter()).take(OWNERS_LOOKED_AT_MAX);
    let owners = offered.filter_map(|name| root.metadata(name).ok()).map(|there| there.uid);
    options.homes.clone().and_of(owners.chain([owner]))
}
