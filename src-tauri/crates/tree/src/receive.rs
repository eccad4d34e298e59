//! The receiving side of the data plane: lane frames become files beneath one destination; what a
//! lane's bytes may say is wire's business.
//!
//! Everything here blocks and runs on the lanes' own threads. See docs/design/receiving.md for
//! where things land.
mod allowance;
pub mod compare;
mod deferred;
mod destination;
mod digests;
mod durability;
mod failures;
mod finish;
mod flags;
mod landings;
mod lane;
mod links;
mod manner;
mod merge;
mod numbered;
mod options;
mod protected;
mod received_before;
mod results;
mod root;
mod sender;
mod staging;
#[cfg(test)]
mod tests;
mod tops_at_first;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ringway_model::{Fault, OnConflict, Operation};
use ringway_sys::file_io::FileIo;
use ringway_wire::control::{Accept, Progress, Receipt, Totals};
use ringway_wire::lane::Counts;

use crate::bulk::LaneSource;
use crate::descriptors::ForReceiving;
use crate::disk::{Dir, Disk, On};
use allowance::Quota;
use deferred::Deferred;
use digests::Proof;
use finish::Finisher;
use flags::Flags;
use landings::log::LandingLog;
use lane::Worker;
use lane::large_files::Accounts;
use merge::attributes::AttributePolicy;
use merge::case_folding::Folding;
use merge::owners::OwnerMap;
use merge::policy::MergePolicy;
use merge::top_names::TopNames;
use root::Root;
use sender::Sender;
use staging::attempt::Staging;
use staging::read_only_folders::Openings;
use staging::removal;

pub use allowance::{Allowance, covered_by};
pub use destination::{Expected, FolderIdentity};
pub use failures::LaneError;
pub use finish::FinishError;
pub use landings::log::{AddLanded, Recall, Recalled, SealKey, Whose};
pub use options::{Announce, Answers, Asked, AttemptKey, BroughtBefore, DestinationOptions, OthersBrought};
pub use protected::homes::{Homes, is_home};
pub use protected::own_folders::OwnFolders;
pub use received_before::Brought;
pub use results::Results;
pub use staging::read_only_folders::{close_folders, restore_all};
pub use staging::unfinished::{discard, is_attempt, unfinished};
pub use tops_at_first::TopsAtFirst;

/// Mode of folders while they are filled: nobody else looks into what is not whole.
const FILLING_FOLDER_MODE: u32 = 0o700;

/// The mode of a folder that is made, until its own is set. The sticky bit tells it from folders
/// that were there: beside a mode that lets nobody else in it has no effect, and nobody sets it.
/// Where the folder's own mode cannot be set, or never comes, the next transfer knows it by this.
const MADE_FOLDER_MODE: u32 = 0o1700;

/// Mode of files while they are filled.
const FILLING_FILE_MODE: u32 = 0o600;

/// Read, write and execute for everybody.
const PERMISSION_BITS: u32 = 0o777;

/// Write permission of a file's owner.
const OWNER_WRITES: u32 = 0o200;

/// Offered names of which it is looked up what has them, and whose homes their owners have: some
/// milliseconds' worth.
const TOPS_LOOKED_AT_MAX: usize = 4_096;

/// Read permission of a file's owner.
const OWNER_READS: u32 = 0o400;

/// One transfer's destination while it is being filled, shared by its lanes.
pub struct Incoming {
    root: Arc<Root>,
    sender: Sender,
    /// What it may keep open.
    open: ForReceiving,
    policy: MergePolicy,
    staging: Staging,
    /// Which spellings of a name other filesystems, and other folders, take for one.
    folding: Folding,
    /// Folders that their owner may not write to, while they are changed.
    openings: Arc<Openings>,
    accounts: Accounts,
    deferred: Deferred,
    results: Results,
    proof: Option<Proof>,
    quota: Arc<Quota>,
    flags: Flags,
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
        Self::begin_by(options, None, On::default(), |_| Ok(()))
    }

    /// The same, changing nothing but by way of `disk`.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    pub fn begin_on(options: DestinationOptions, disk: Arc<dyn Disk>) -> Result<Arc<Self>, Fault> {
        Self::begin_by(options, None, disk.into(), |_| Ok(()))
    }

    /// The same, confining the calling thread to what is beneath the destination, for good, once
    /// that is open.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    pub fn begin_confined(options: DestinationOptions) -> Result<Arc<Self>, Fault> {
        Self::begin_by(options, None, On::default(), ringway_sys::confine::thread_beneath)
    }

    /// The same in a destination that is open already, whatever its path leads to by now. The
    /// thread is confined if that is said.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    pub fn begin_in(folder: Dir, options: DestinationOptions, confined: bool) -> Result<Arc<Self>, Fault> {
        Self::begin_by(options, Some(folder), On::default(), |dir| match confined {
            true => ringway_sys::confine::thread_beneath(dir),
            false => Ok(()),
        })
    }

    fn begin_by(
        options: DestinationOptions,
        opened: Option<Dir>,
        on: On,
        confine: impl FnOnce(&Dir) -> io::Result<()>,
    ) -> Result<Arc<Self>, Fault> {
        let path = options.destination.clone();
        let at = |operation| {
            let path = path.clone();
            move |source| Fault::path(path, operation, source)
        };
        let root = Arc::new(Root::open(&options, opened, on)?);
        options.tops.look(&root.dir, options.offered.as_deref());
        let mark = u64::from_le_bytes(crate::random()?);
        // What is read elsewhere is read before that cannot be done any more.
        let proof = options.prove.then(|| Proof::read_by(root.disk().readers(root.dev)));
        let is_mapped = options.owners_by_name && (options.keep_owner || options.keep_acls);
        let owners = if is_mapped { OwnerMap::by_name().map_err(at(Operation::Create))? } else { OwnerMap::default() };
        confine(&root.dir).map_err(at(Operation::Create))?;
        let staging = Staging::begin(&root, &options, mark)?;
        let openings = Openings::new(
            staging.dir.try_clone().map_err(at(Operation::Open))?,
            options.on_conflict == OnConflict::Replace,
        );
        let may_be_here =
            || !staging.kept.is_empty() || staging.kept.is_suspect() || options::may_be_there(&root.dir, &options);
        let lists = options.answers.is_some() && may_be_here();
        if lists && proof.is_some() {
            // What is here already is compared as its medium has it.
            root.dir.sync_filesystem().map_err(at(Operation::Sync))?;
        }
        let quota = Arc::new(Quota::new(options.allowance));
        let attributes = AttributePolicy {
            keep_owner: options.keep_owner,
            owners,
            keep_setuid: options.keep_setuid,
            keep_acls: options.keep_acls,
            acls_lost: AtomicU64::new(0),
            widen_modes: options.widen_modes,
            passes_list: staging.inherits.list.is_some(),
            files_masked: staging.files_masked,
            root: Arc::clone(&root),
            quota: Arc::clone(&quota),
        };
        let log = options.whose.zip(root.recall.as_ref());
        let log = log.map(|(whose, recall)| LandingLog::new(&staging.dir, mark, whose, recall));
        let policy = MergePolicy {
            on_conflict: options.on_conflict,
            doubts_files: proof.is_some() || staging.kept.is_suspect(),
            attributes,
            top: TopNames::new(
                Arc::clone(&root),
                options.on_conflict,
                options.brought_before,
                options.others_brought,
                options.tops,
                options.announce,
                log,
            ),
        };
        Ok(Arc::new(Self {
            sender: Sender { offered: options.offered, asked: options.asked, answers: options.answers, lists },
            open: options.open,
            policy,
            folding: Folding::new(root.dev, &staging),
            staging,
            openings: Arc::new(openings),
            accounts: Accounts::default(),
            deferred: Deferred::default(),
            results: Results::default(),
            proof,
            quota,
            flags: Flags::default(),
            root,
        }))
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
        self.sender.lists
    }

    /// The second from which on files are listed with digests, what is here of them being in doubt;
    /// `None` if nothing is.
    pub fn doubts(&self) -> Option<i64> {
        self.staging.kept.doubts().filter(|_| self.lists())
    }

    /// On which terms its offer is accepted, with at most so many lanes.
    pub fn accepted(&self, lanes: u8) -> Accept {
        let owner_names = self.policy.attributes.owners.is_by_name();
        Accept { lanes, lists: self.lists(), doubts: self.doubts(), owner_names }
    }

    /// Its results so far.
    pub fn results(&self) -> &Results {
        &self.results
    }

    /// Entries that did not get their access control list so far.
    pub fn acls_lost(&self) -> u64 {
        self.policy.attributes.acls_lost.load(Ordering::Relaxed)
    }

    /// Entries so far whose user or group has a name that nobody has here.
    pub fn owners_by_number(&self) -> u64 {
        self.policy.attributes.owners.by_number()
    }

    /// What is to be read back, and how far that is; none before it begins.
    pub fn proving(&self) -> Option<(Progress, Progress)> {
        let proof = self.proof.as_ref().filter(|_| self.flags.is_proving.load(Ordering::Acquire))?;
        Some((proof.kept(), proof.read()))
    }

    /// Makes the lanes end soon: between frames, or groups of files of one. False, and nothing
    /// happens, if it is too late because [`finish`](Self::finish) has begun to give names.
    pub fn cancel(&self) -> bool {
        self.flags.cancel()
    }

    /// Runs one lane to its end frame, on the caller's thread. Several run at once, each with its
    /// own source and driver.
    ///
    /// # Errors
    /// What ended it early. Entries that fail do not: they are in
    /// [`take_failures`](Results::take_failures).
    pub fn run_lane(&self, from: &mut dyn LaneSource, io: &mut FileIo) -> Result<(), LaneError> {
        match Worker::new(self).and_then(|mut worker| worker.run(from, io)) {
            // A stopped transfer has its lanes cut too, so a cut lane is not the reason.
            Err(LaneError::Source(error)) => Err(self.check_running().err().unwrap_or(LaneError::Source(error))),
            ended => ended,
        }
    }

    /// Whether nothing stands in the way of going on.
    fn check_running(&self) -> Result<(), LaneError> {
        if !self.flags.goes_on() {
            return Err(LaneError::Cancelled);
        }
        self.quota.check()?;
        if self.flags.is_full.load(Ordering::Relaxed) { Err(LaneError::DestinationFull) } else { Ok(()) }
    }

    /// The disk is full, or what is to come does not fit: no lane goes on.
    pub fn note_full(&self) {
        self.flags.is_full.store(true, Ordering::Relaxed);
    }

    /// What may come, in bytes, if what is to come is more.
    pub fn exceeded_by(&self, found: Totals) -> Option<u64> {
        self.quota.exceeded_by(found)
    }

    /// Finishes the transfer after every lane's end: what arrived must be what was `declared`.
    /// Returns the receipt and the first top-level paths under their final names. After an error
    /// there is no receipt and [`abandon`](Self::abandon) is to be called.
    ///
    /// # Errors
    /// [`FinishError`]; entries that fail are in [`take_failures`](Results::take_failures) and the
    /// receipt's count instead.
    pub fn finish(&self, declared: &Counts) -> Result<(Receipt, Vec<PathBuf>), FinishError> {
        self.finish_if(declared, || true)
    }

    /// The same, if it still `may` be once everything is ready: nothing of what is new has a name
    /// before that, and nothing stops it afterwards.
    ///
    /// # Errors
    /// As [`finish`](Self::finish); [`LaneError::Cancelled`] if it may not.
    pub fn finish_if(
        &self,
        declared: &Counts,
        may: impl FnOnce() -> bool,
    ) -> Result<(Receipt, Vec<PathBuf>), FinishError> {
        Finisher::new(self).finish(declared, may)
    }

    /// Removes what is staged or partial. For after every lane has ended, when there will be no
    /// receipt; whole files that were merged into existing folders stay.
    ///
    /// # Errors
    /// The first thing that could not be removed.
    pub fn abandon(&self) -> io::Result<()> {
        self.accounts.discard_open(&self.openings);
        self.discard_unplaced();
        self.staging.end_writing();
        Finisher::new(self).dress_made();
        // What has its final name may be lacking on the disk, with the right size and time.
        let is_suspect = self.staging.is_suspect();
        self.close_files();
        if is_suspect && self.staging.is_found_again {
            return staging::leave_suspect(self.root.destination(), &self.staging.dir);
        }
        removal::remove_staging(self.root.destination(), &self.staging.name)
    }

    /// The same, but whole files in the staging folder, and what has come of large ones, stay there
    /// for the next attempt; on a full disk only those that it will believe. True if there are any.
    ///
    /// # Errors
    /// As [`abandon`](Self::abandon).
    pub fn keep(&self) -> io::Result<bool> {
        self.accounts.discard_unnoted(&self.openings);
        self.discard_unplaced();
        self.staging.end_writing();
        let is_worth_it = self.staging.is_found_again && staging::is_worth_keeping(&self.staging.dir);
        if is_worth_it {
            self.staging.synchronise_kept();
        }
        if !is_worth_it || !self.staging.is_sound() {
            return self.abandon().map(|()| false);
        }
        if self.flags.is_full.load(Ordering::Relaxed) {
            staging::unlisted::remove(&self.staging.dir);
        }
        self.close_files();
        staging::touch(&self.staging.dir);
        // The next attempt may come before the last one's session has closed.
        staging::release(&self.staging.dir)?;
        Ok(true)
    }

    /// Takes the temporary names of files away whose first name could not be had. What was linked
    /// to them stays as received.
    fn discard_unplaced(&self) {
        self.deferred.discard_unplaced(|was, now| self.policy.top.note_unlinked(was, now));
    }

    /// Removes what [`keep`](Self::keep) has left, unless another attempt has taken it over. Best
    /// effort: what stays is hidden, and goes after a week.
    pub fn discard_kept(&self) {
        self.staging.discard_kept();
    }

    /// What the sender has brought by now, under the first top-level names that were given to it,
    /// and what it brought before and has added to; those not yet taken. What has one of these
    /// names is the sender's, and nobody else's.
    pub fn take_brought(&self) -> Vec<(Vec<u8>, Brought)> {
        self.policy.top.take_brought()
    }

    /// Closes what is open in the staging folder. Where another program is the filesystem (FUSE),
    /// and on NFS, what is removed while it is open stays under another name, and its folder with
    /// it.
    fn close_files(&self) {
        self.staging.journal.close();
        self.policy.top.close_landings();
        self.deferred.close();
        if let Some(proof) = &self.proof {
            drop(proof.take());
        }
    }

    /// The staging folder, where that could not be removed after everything had its final name.
    pub fn left_behind(&self) -> Option<PathBuf> {
        self.flags.is_left_behind.load(Ordering::Relaxed).then(|| self.root.path_of(&self.staging.name))
    }
}
