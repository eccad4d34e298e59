//! The sending side of the data plane: the walk over the sources, and the lanes' frames. Sockets
//! and control messages belong to other crates.
mod attributes;
mod lane;
mod links;
mod owner_names;
mod queue;
#[cfg(test)]
mod tests;
mod walk;

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use ringway_model::{Delta, Failure, FailureReason, Fault, Operation, Side, Source};
use ringway_sys::attributes::Metadata;
use ringway_sys::dir::Dir;
use ringway_sys::file_io::FileIo;
use ringway_wire::ProtocolError;
use ringway_wire::control::{Totals, Wanted};
use ringway_wire::lane::{Counts, Digest};
use ringway_wire::limits::{FAILURES_NAMED_MAX, OFFER_NAMES_MAX, PATH_MAX};
use ringway_wire::listing::ListingPage;
use ringway_wire::name::Name;
use ringway_wire::offered::OfferedNames;
use rustix::io::Errno;

use crate::bulk::LaneSink;
use crate::filesystem::selection::Filter;
use crate::limits::NAMED_BYTES_MAX;
use lane::Lane;
use lane::delta_decision::Worth;
use owner_names::OwnerTable;
use queue::Queue;
use walk::roots::{self, Root};
use walk::{Scope, beneath, gather, listing};

pub use walk::beneath::{BeneathError, EntryBeneath, Guard, Hides, WantedBeneath};
pub use walk::measure::{Measured, measure};
pub use walk::plan::{plan, plan_beneath};

/// A tree that is being sent: one walk, and any number of lanes that read and send what it finds.
pub struct Outgoing {
    scope: Scope,
    shared: Arc<Shared>,
    /// The sources, until the offer is answered.
    unanswered: Mutex<Vec<Root>>,
}

/// The state that the walk and the lanes share.
#[derive(Default)]
struct Shared {
    queue: Queue,
    /// The entries that the walk has found.
    found: Tally,
    walked: AtomicBool,
    /// Entries that a pattern left out.
    excluded: AtomicU64,
    /// The entries that were counted ahead of the walk.
    counted: Counted,
    /// Entries that were found but could not be sent.
    lost: AtomicU64,
    /// The bytes that were sent minus the bytes that were found for the same files, modulo 2^64.
    corrected: AtomicU64,
    /// Whether digests of the contents are sent.
    proves: AtomicBool,
    /// Files changed in this second or later are listed with digests.
    doubts: OnceLock<i64>,
    /// Folders that are passed over.
    hides: OnceLock<Hides>,
    /// Names of users and groups, if the receiver wants them.
    owner_names: OnceLock<OwnerTable>,
    lanes: AtomicU64,
    /// Decides whether large files that have changed are sent in chunks.
    worth: Worth,
    sent: Mutex<Counts>,
    /// Bytes of those files that the receiver had.
    spared: AtomicU64,
    failed: AtomicU64,
    failures: Mutex<Failures>,
    /// Called by tests between the first and the second reading of small files.
    #[cfg(test)]
    meddle: Mutex<Option<Box<dyn FnMut() + Send>>>,
}

/// Entries and the bytes of their contents.
#[derive(Default)]
struct Tally {
    entries: AtomicU64,
    bytes: AtomicU64,
}

impl Tally {
    /// Counts an entry.
    fn add(&self, bytes: u64) {
        self.entries.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn value(&self) -> (u64, u64) {
        (self.entries.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }
}

#[derive(Default)]
struct Counted {
    tally: Tally,
    /// Whether everything was counted.
    complete: AtomicBool,
}

#[derive(Default)]
struct Failures {
    named: u64,
    /// Bytes of their paths.
    named_bytes: usize,
    new: Vec<Failure>,
}

impl Outgoing {
    /// Checks the sources and starts the walk on a separate thread. A source that cannot be opened
    /// at all is an error.
    pub fn start(sources: &[Source]) -> Result<Arc<Self>, Fault> {
        Self::start_as(sources, None)
    }

    /// The same with the names that were offered before, if there were any. Entries that appeared
    /// since are not sent.
    pub fn start_as(sources: &[Source], offered: Option<Arc<OfferedNames>>) -> Result<Arc<Self>, Fault> {
        Self::start_selected(sources, None, offered)
    }

    /// The same without the entries that the filter leaves out.
    ///
    /// # Errors
    /// As for [`Self::start`]; also if the filter has a list and there is not one source, a folder.
    pub fn start_selected(
        sources: &[Source],
        filter: Option<Arc<Filter>>,
        offered: Option<Arc<OfferedNames>>,
    ) -> Result<Arc<Self>, Fault> {
        let roots = roots::resolve(sources, filter.as_deref())?;
        let offered = match offered {
            Some(names) => names,
            None => Arc::new(roots::names(&roots, filter.as_deref(), &|| true)?),
        };
        let scope = Scope { offered, filter };
        Self::walk(roots, scope, None).map_err(|source| Fault::path(PathBuf::new(), Operation::Read, source))
    }

    /// The same for entries beneath a folder: nothing is opened but beneath it. They are not listed
    /// before the offer is answered.
    ///
    /// # Errors
    /// An entry that cannot be opened, or names that collide.
    pub fn start_beneath(
        root: &Dir,
        wanted: &WantedBeneath<'_>,
        offered: Option<Arc<OfferedNames>>,
        guard: Guard,
    ) -> Result<Arc<Self>, BeneathError> {
        let roots = beneath::resolve(root, wanted, &guard.hides)?;
        let offered = match offered {
            Some(names) => names,
            None => Arc::new(beneath::names(&roots, wanted)?),
        };
        let scope = Scope { offered, filter: wanted.filter.clone() };
        let outgoing = Self::walk(roots, scope, Some(guard)).map_err(|_| BeneathError::Names)?;
        outgoing.answered_yes();
        Ok(outgoing)
    }

    fn walk(roots: Vec<Root>, scope: Scope, guard: Option<Guard>) -> io::Result<Arc<Self>> {
        let shared = Arc::<Shared>::default();
        let (for_walk, walked) = (shared.clone(), scope.clone());
        let unanswered = Mutex::new(roots.clone());
        let confine = guard.map(|guard| {
            // It is set once.
            let _ = shared.hides.set(guard.hides);
            guard.confine
        });
        let walk = move || {
            // What is not confined reads nothing.
            if confine.is_none_or(|confine| confine().is_ok()) {
                gather::run(roots, walked, &for_walk);
            } else {
                for_walk.queue.cancel();
            }
        };
        std::thread::Builder::new().name("walk".to_owned()).spawn(walk)?;
        Ok(Arc::new(Self { scope, shared, unanswered }))
    }

    /// The first top-level names for the offer, and how many more there are.
    pub fn names(&self) -> (Vec<Vec<u8>>, u64) {
        let first: Vec<_> = self.scope.offered.iter().take(OFFER_NAMES_MAX).map(<[u8]>::to_vec).collect();
        let more = self.scope.offered.len() - first.len();
        (first, more as u64)
    }

    /// All top-level names. Nothing else is sent.
    pub fn offered(&self) -> &Arc<OfferedNames> {
        &self.scope.offered
    }

    /// The entries found so far, without those that could not be sent. Before the walk has ended,
    /// the count ahead is used, unless the walk has found more. In the end the walk's totals are
    /// used.
    pub fn totals(&self) -> Totals {
        let shared = &self.shared;
        // Read first, so that totals that are reported as complete are complete.
        let walked = shared.walked.load(Ordering::Acquire);
        let counted = shared.counted.complete.load(Ordering::Acquire);
        // Read before the totals from which they are subtracted.
        let (lost, corrected) = (shared.lost.load(Ordering::Acquire), shared.corrected.load(Ordering::Acquire));
        let (found, ahead) = (shared.found.value(), if walked { (0, 0) } else { shared.counted.tally.value() });
        Totals {
            entries: found.0.max(ahead.0) - lost,
            bytes: found.1.max(ahead.1).wrapping_add(corrected),
            complete: walked || counted && found.0 <= ahead.0 && found.1 <= ahead.1,
        }
    }

    /// Lists the sources on a separate thread, so that the receiver can compare them while a person
    /// decides. `give` takes each page, and ends the listing with false. To be called once, before
    /// [`Self::answered_yes`].
    pub fn list_unanswered(&self, give: impl FnMut(ListingPage) -> bool + Send + 'static) {
        let roots = std::mem::take(&mut *self.unanswered.lock());
        if roots.is_empty() {
            return;
        }
        listing::start(roots, self.scope.clone(), &self.shared, give);
    }

    /// The offer is answered, so the sources need not be listed any more.
    pub fn answered_yes(&self) {
        self.unanswered.lock().clear();
    }

    /// Runs one lane to its end: it takes units, reads, writes frames, and ends with an `End`
    /// frame. Several may run at once, each on a separate thread. Errors are the sink's, or
    /// `Interrupted` after [`Self::cancel`]; no `End` frame was sent then.
    pub fn run_lane(&self, to: &mut dyn LaneSink, io: &mut FileIo) -> io::Result<()> {
        Lane::new(&self.shared, to, io).run()
    }

    /// Makes lanes ask the receiver which files it wants before they send them. To be called before
    /// any lane runs.
    pub fn list(&self) {
        self.shared.queue.list();
    }

    /// Sets when a large file that has changed is compared with the receiver's version. To be
    /// called before any lane runs.
    pub fn delta(&self, delta: Delta) {
        self.shared.worth.choose(delta);
    }

    /// Makes lanes send digests of the contents, so that the receiver can prove what it has
    /// written. To be called before any lane runs.
    pub fn prove(&self) {
        self.shared.proves.store(true, Ordering::Relaxed);
    }

    /// Makes lanes tell the names of users and groups. To be called before any lane runs, and not
    /// on a confined thread.
    ///
    /// # Errors
    /// The thread that looks them up could not be started.
    pub fn name_owners(&self) -> io::Result<()> {
        // It is set once.
        let _ = self.shared.owner_names.set(OwnerTable::open()?);
        Ok(())
    }

    /// Makes lanes list files that were changed in this second or later with digests of their
    /// contents, which the receiver compares. To be called before any lane runs.
    pub fn compare(&self, from: i64) {
        // It is set once.
        let _ = self.shared.doubts.set(from);
    }

    /// Handles the receiver's answer to a list, or to a window of chunks. Unwanted files and chunks
    /// exist there, and count as sent.
    ///
    /// # Errors
    /// If it answers no list, or one with other files.
    pub fn answered(&self, answer: &Wanted) -> Result<(), ProtocolError> {
        self.shared.queue.answer(answer, |unwanted| {
            self.shared.book_spared(unwanted.counts);
            self.shared.corrected(unwanted.expected, unwanted.counts.bytes);
        })
    }

    /// Bytes that were not sent in this session, because the receiver has them.
    pub fn spared(&self) -> u64 {
        self.shared.spared.load(Ordering::Relaxed)
    }

    /// Bytes of contents that were passed to the sinks.
    pub fn handed_over(&self) -> u64 {
        self.sent().bytes.saturating_sub(self.spared())
    }

    /// How many of the bytes that the receiver reports to have were sent in this session. It may
    /// report a file's bytes before its answer that spares them arrives, so the result is at most
    /// what was passed to the sinks.
    pub fn moved_of(&self, bytes: u64) -> u64 {
        bytes.saturating_sub(self.spared()).min(self.handed_over())
    }

    /// The counts of what was passed to the sinks, and of what the receiver had.
    pub fn sent(&self) -> Counts {
        *self.shared.sent.lock()
    }

    /// Reports those of `paths` that no source has any more, by their paths within the transfer.
    pub fn report_gone(&self, sources: &[Source], paths: &[PathBuf]) {
        for path in paths.iter().filter(|path| roots::is_gone(sources, path)) {
            let reason = FailureReason::Os { errno: Errno::NOENT.raw_os_error() };
            self.shared.fail(path.as_os_str().as_bytes(), b"", Operation::Open, reason);
        }
    }

    /// Entries that a pattern left out, as far as the walk has come. A folder counts as one.
    pub fn excluded(&self) -> u64 {
        self.shared.excluded.load(Ordering::Relaxed)
    }

    /// Entries that failed here, named or not.
    pub fn failed(&self) -> u64 {
        self.shared.failed.load(Ordering::Relaxed)
    }

    /// Failures since the last call. Beyond [`FAILURES_NAMED_MAX`] in all they are only counted.
    pub fn take_failures(&self) -> Vec<Failure> {
        std::mem::take(&mut self.shared.failures.lock().new)
    }

    /// Ends the walk and the lanes soon.
    pub fn cancel(&self) {
        self.shared.queue.cancel();
    }
}

impl Drop for Outgoing {
    /// Ends the walk, whose results nothing uses any more.
    fn drop(&mut self) {
        self.cancel();
    }
}

impl Shared {
    /// Counts an entry that the walk found.
    fn found(&self, bytes: u64) {
        self.found.add(bytes);
    }

    /// Subtracts a found entry from the totals.
    fn lost(&self, bytes: u64) {
        self.lost.fetch_add(1, Ordering::Release);
        self.corrected(bytes, 0);
    }

    /// Corrects the totals for an entry whose contents differ from what the walk saw.
    fn corrected(&self, expected: u64, found: u64) {
        self.corrected.fetch_add(found.wrapping_sub(expected), Ordering::Release);
    }

    #[cfg(test)]
    fn between_reads(&self) {
        if let Some(meddle) = self.meddle.lock().as_mut() {
            meddle();
        }
    }

    /// Adds the counts of a frame.
    fn book(&self, counts: Counts) {
        *self.sent.lock() += counts;
    }

    /// The same for entries that are not sent, because the receiver has them.
    fn book_spared(&self, counts: Counts) {
        self.spared.fetch_add(counts.bytes, Ordering::Relaxed);
        self.book(counts);
    }

    /// The number of lanes that have begun.
    fn lanes(&self) -> u64 {
        self.lanes.load(Ordering::Relaxed)
    }

    fn is_proven(&self) -> bool {
        self.proves.load(Ordering::Relaxed)
    }

    /// Whether lists have digests.
    fn compares(&self) -> bool {
        self.is_proven() || self.doubts.get().is_some()
    }

    /// Whether a file with that time is listed with its digest.
    fn is_doubted(&self, metadata: &Metadata) -> bool {
        self.is_proven() || self.doubts.get().is_some_and(|from| metadata.mtime.secs >= *from)
    }

    /// The digest of contents, if it is to be sent.
    fn digest(&self, contents: &[u8]) -> Option<Digest> {
        self.is_proven().then(|| Digest(*blake3::hash(contents).as_bytes()))
    }

    /// Reports one entry.
    fn fail(&self, folder: &[u8], name: &[u8], operation: Operation, reason: FailureReason) {
        self.failed.fetch_add(1, Ordering::Relaxed);
        if is_named_above(folder, reason) {
            return;
        }
        let mut failures = self.failures.lock();
        let path = shown_path(folder, name);
        let named_bytes = failures.named_bytes.saturating_add(path.len());
        if failures.named < FAILURES_NAMED_MAX && named_bytes <= NAMED_BYTES_MAX {
            failures.named += 1;
            failures.named_bytes = named_bytes;
            let path = PathBuf::from(OsStr::from_bytes(&path));
            failures.new.push(Failure { path: path.into(), side: Side::Here, operation, reason });
        }
    }
}

/// The longest path that the walk follows. Entries of a folder whose path is too long for the wire
/// are counted as failed. Each level on the way keeps its path.
const WALKED_PATH_MAX: usize = 4 * PATH_MAX;

/// Whether a folder above a failure was named for the same reason, so that its name would add
/// nothing.
fn is_named_above(folder: &[u8], reason: FailureReason) -> bool {
    reason == FailureReason::PathTooLong && folder.len() > PATH_MAX
}

/// A path for a failure.
fn shown_path(folder: &[u8], name: &[u8]) -> Vec<u8> {
    let between: &[u8] = if folder.is_empty() || name.is_empty() { b"" } else { b"/" };
    [folder, between, name].concat()
}

/// A folder's path with one more name; `None` if the walk does not follow it.
fn joined(folder: &[u8], name: &[u8]) -> Option<Vec<u8>> {
    // This function made the folder's path, so only its length has to be checked.
    let len = folder.len() + usize::from(!folder.is_empty()) + name.len();
    if Name::new(name).is_err() || len > WALKED_PATH_MAX {
        return None;
    }
    let mut path = Vec::with_capacity(len);
    path.extend_from_slice(folder);
    if !folder.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name);
    Some(path)
}

/// The reason for a failed operation, by the kernel's error.
fn reason(error: &io::Error) -> FailureReason {
    match Errno::from_io_error(error) {
        Some(Errno::NAMETOOLONG) => FailureReason::PathTooLong,
        Some(errno) => FailureReason::Os { errno: errno.raw_os_error() },
        None => FailureReason::Os { errno: Errno::IO.raw_os_error() },
    }
}
