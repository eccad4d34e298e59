//! The sending side of the data plane: the walk over the sources, and the lanes' frames; sockets
//! and control messages are others'.
mod attributes;
mod lane;
mod links;
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
use ringway_sys::file_io::FileIo;
use ringway_wire::ProtocolError;
use ringway_wire::control::{Totals, Wanted};
use ringway_wire::lane::{Counts, Digest};
use ringway_wire::limits::{FAILURES_NAMED_MAX, OFFER_NAMES_MAX, PATH_MAX};
use ringway_wire::name::Name;
use ringway_wire::offered::OfferedNames;
use rustix::io::Errno;

use crate::bulk::LaneSink;
use crate::limits::NAMED_BYTES_MAX;
use lane::Lane;
use lane::delta_decision::Worth;
use queue::Queue;
use walk::{gather, roots};

pub use walk::measure::{Measured, measure};

/// A tree on its way out: one walk, and any number of lanes that read and send what it finds.
pub struct Outgoing {
    names: Arc<OfferedNames>,
    shared: Arc<Shared>,
}

/// What the walk and the lanes share.
#[derive(Default)]
struct Shared {
    queue: Queue,
    /// What the walk has found.
    found: Tally,
    walked: AtomicBool,
    /// What was counted ahead of it.
    counted: Counted,
    /// Entries that were found, and could not be sent after all.
    lost: AtomicU64,
    /// By how many bytes, modulo 2^64, what was sent is more than what was found of it.
    corrected: AtomicU64,
    /// Digests of what is read go along.
    proves: AtomicBool,
    /// Files changed at that second or later are listed with digests.
    doubts: OnceLock<i64>,
    lanes: AtomicU64,
    /// Whether large files that have changed are sent in chunks.
    worth: Worth,
    sent: Mutex<Counts>,
    /// Bytes of that which the receiver had.
    spared: AtomicU64,
    failed: AtomicU64,
    failures: Mutex<Failures>,
    /// What a test does between the first and the second time that small files are read.
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
    /// Everything was counted.
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
    /// Looks at the sources (one that cannot be opened at all is an error) and starts the walk on a
    /// thread of its own.
    pub fn start(sources: &[Source]) -> Result<Arc<Self>, Fault> {
        Self::start_as(sources, None)
    }

    /// The same under the names that were offered before, where they were: what appeared since is
    /// not sent.
    pub fn start_as(sources: &[Source], offered: Option<Arc<OfferedNames>>) -> Result<Arc<Self>, Fault> {
        let roots = roots::resolve(sources)?;
        let names = match offered {
            Some(names) => names,
            None => Arc::new(roots::names(&roots)?),
        };
        let shared = Arc::<Shared>::default();
        let (for_walk, offered) = (shared.clone(), Arc::clone(&names));
        let walk = move || gather::run(roots, offered, &for_walk);
        let spawned = std::thread::Builder::new().name("walk".to_owned()).spawn(walk);
        spawned.map_err(|source| Fault::path(PathBuf::new(), Operation::Read, source))?;
        Ok(Arc::new(Self { names, shared }))
    }

    /// The first top-level names for the offer, and how many more there are.
    pub fn names(&self) -> (Vec<Vec<u8>>, u64) {
        let first: Vec<_> = self.names.iter().take(OFFER_NAMES_MAX).map(<[u8]>::to_vec).collect();
        let more = self.names.len() - first.len();
        (first, more as u64)
    }

    /// All of them: nothing else is sent.
    pub fn offered(&self) -> &Arc<OfferedNames> {
        &self.names
    }

    /// What was found so far, less what could not be sent. Before the walk has ended it may have
    /// been counted ahead, as long as no more than that is found; in the end the walk has the last
    /// word.
    pub fn totals(&self) -> Totals {
        let shared = &self.shared;
        // First, so that totals said to be complete are.
        let walked = shared.walked.load(Ordering::Acquire);
        let counted = shared.counted.complete.load(Ordering::Acquire);
        // Before what those were taken out of.
        let (lost, corrected) = (shared.lost.load(Ordering::Acquire), shared.corrected.load(Ordering::Acquire));
        let (found, ahead) = (shared.found.value(), if walked { (0, 0) } else { shared.counted.tally.value() });
        Totals {
            entries: found.0.max(ahead.0) - lost,
            bytes: found.1.max(ahead.1).wrapping_add(corrected),
            complete: walked || counted && found.0 <= ahead.0 && found.1 <= ahead.1,
        }
    }

    /// Runs one lane to its end: takes units, reads, writes frames, ends with an `End` frame.
    /// Several may run at once, each on a thread of its own. Errors are the sink's, or
    /// `Interrupted` after [`Self::cancel`]: then no `End` frame was sent.
    pub fn run_lane(&self, to: &mut dyn LaneSink, io: &mut FileIo) -> io::Result<()> {
        Lane::new(&self.shared, to, io).run()
    }

    /// Has the receiver asked which files it wants before they are sent. To be said before any lane
    /// runs.
    pub fn list(&self) {
        self.shared.queue.list();
    }

    /// When a large file that has changed is compared with what the receiver has of it. To be said
    /// before any lane runs.
    pub fn delta(&self, delta: Delta) {
        self.shared.worth.choose(delta);
    }

    /// Sends digests of what is read along, so that the receiver can prove what it has written. To
    /// be said before any lane runs.
    pub fn prove(&self) {
        self.shared.proves.store(true, Ordering::Relaxed);
    }

    /// Lists files that were changed at that second or later with the digests of their contents,
    /// which the receiver compares. To be said before any lane runs.
    pub fn compare(&self, from: i64) {
        // It is said once.
        let _ = self.shared.doubts.set(from);
    }

    /// Takes the receiver's answer to a list, or to a window of chunks: what it does not want is
    /// there, and counts as sent.
    ///
    /// # Errors
    /// It answers no list, or one that has other files.
    pub fn answered(&self, answer: &Wanted) -> Result<(), ProtocolError> {
        self.shared.queue.answer(answer, |unwanted| {
            self.shared.book_spared(unwanted.counts);
            self.shared.corrected(unwanted.expected, unwanted.counts.bytes);
        })
    }

    /// Bytes among those that were not sent in this session, the receiver having them.
    pub fn spared(&self) -> u64 {
        self.shared.spared.load(Ordering::Relaxed)
    }

    /// Bytes of contents that were handed to the sinks.
    pub fn handed_over(&self) -> u64 {
        self.sent().bytes.saturating_sub(self.spared())
    }

    /// How many of the bytes that the receiver says to have were sent in this session. It may say
    /// so of a file before its answer comes that spares that: no more was sent than was handed
    /// over.
    pub fn moved_of(&self, bytes: u64) -> u64 {
        bytes.saturating_sub(self.spared()).min(self.handed_over())
    }

    /// What was handed to the sinks, and what the receiver had.
    pub fn sent(&self) -> Counts {
        *self.shared.sent.lock()
    }

    /// Entries that failed here, named or not.
    pub fn failed(&self) -> u64 {
        self.shared.failed.load(Ordering::Relaxed)
    }

    /// Failures since the last call; beyond [`FAILURES_NAMED_MAX`] in all they are only counted.
    pub fn take_failures(&self) -> Vec<Failure> {
        std::mem::take(&mut self.shared.failures.lock().new)
    }

    /// Ends the walk and the lanes soon.
    pub fn cancel(&self) {
        self.shared.queue.cancel();
    }
}

impl Drop for Outgoing {
    /// A walk that nobody listens to any more ends.
    fn drop(&mut self) {
        self.cancel();
    }
}

impl Shared {
    /// Counts an entry that the walk found.
    fn found(&self, bytes: u64) {
        self.found.add(bytes);
    }

    /// Takes an entry that was found back out of the totals.
    fn lost(&self, bytes: u64) {
        self.lost.fetch_add(1, Ordering::Release);
        self.corrected(bytes, 0);
    }

    /// Corrects the totals where an entry has other contents than the walk saw.
    fn corrected(&self, expected: u64, found: u64) {
        self.corrected.fetch_add(found.wrapping_sub(expected), Ordering::Release);
    }

    #[cfg(test)]
    fn between_reads(&self) {
        if let Some(meddle) = self.meddle.lock().as_mut() {
            meddle();
        }
    }

    /// Books what a frame carried.
    fn book(&self, counts: Counts) {
        *self.sent.lock() += counts;
    }

    /// The same for what is not sent, the receiver having it.
    fn book_spared(&self, counts: Counts) {
        self.spared.fetch_add(counts.bytes, Ordering::Relaxed);
        self.book(counts);
    }

    /// Lanes that were begun.
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

    /// Whether the digest of a file with that time goes along with its list.
    fn is_doubted(&self, metadata: &Metadata) -> bool {
        self.is_proven() || self.doubts.get().is_some_and(|from| metadata.mtime.secs >= *from)
    }

    /// The digest of contents, if it is to go along.
    fn digest(&self, contents: &[u8]) -> Option<Digest> {
        self.is_proven().then(|| Digest(*blake3::hash(contents).as_bytes()))
    }

    /// Reports one entry.
    fn fail(&self, folder: &[u8], name: &[u8], operation: Operation, reason: FailureReason) {
        self.failed.fetch_add(1, Ordering::Relaxed);
        // It is in a folder that was named for the same reason: its name would add nothing.
        if reason == FailureReason::PathTooLong && folder.len() > PATH_MAX {
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

/// Longest path that the walk follows: what is in a folder that the wire cannot name is counted as
/// failed. Each level on the way keeps its path.
const WALKED_PATH_MAX: usize = 4 * PATH_MAX;

/// A path for a failure.
fn shown_path(folder: &[u8], name: &[u8]) -> Vec<u8> {
    let between: &[u8] = if folder.is_empty() || name.is_empty() { b"" } else { b"/" };
    [folder, between, name].concat()
}

/// A folder's path with one more name; none if the walk does not follow it.
fn joined(folder: &[u8], name: &[u8]) -> Option<Vec<u8>> {
    // The folder was made by this function, so that only its length has to be looked at.
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

/// Why an operation failed, from the kernel's answer.
fn reason(error: &io::Error) -> FailureReason {
    match Errno::from_io_error(error) {
        Some(Errno::NAMETOOLONG) => FailureReason::PathTooLong,
        Some(errno) => FailureReason::Os { errno: errno.raw_os_error() },
        None => FailureReason::Os { errno: Errno::IO.raw_os_error() },
    }
}
