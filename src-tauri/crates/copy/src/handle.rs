//! A copy from its caller's point of view: it is planned, and then runs on the caller's thread,
//! while any other thread watches, pauses and stops it.
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ringway_model::{CopyReport, Counts, Fault};
use ringway_sys::attributes::Timestamp;

use crate::job::proof::Proof;
use crate::job::{Job, value};
use crate::observer::{Amount, Observer};
use crate::options::CopyRequest;
use crate::prepare::plan::Root;
use crate::{prepare, run};

/// A copy that is planned and has written nothing.
pub struct CopyJob {
    job: Arc<Job>,
    roots: Vec<Root>,
}

/// Watches and controls a copy. Clones are the same copy. Dropping every clone does not stop it.
#[derive(Clone)]
pub struct CopyHandle {
    job: Arc<Job>,
}

/// The progress of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// It copies, or has ended without reading back.
    Copying {
        /// Entries that were copied, left alone, or given up.
        done: Amount,
        /// Entries found so far, never fewer than in `done`.
        found: Amount,
        /// Whether nothing more will be found.
        is_final: bool,
    },
    /// It reads back what it has copied.
    Verifying {
        /// The amount read back so far.
        read: Amount,
    },
}

impl CopyJob {
    /// Plans a copy and writes nothing. The observer gets sources that cannot be copied. The others
    /// are copied anyway.
    ///
    /// # Errors
    /// Options beyond their limits, an unusable destination, or too few descriptors.
    pub fn prepare(request: CopyRequest, observer: Arc<dyn Observer>) -> Result<Self, Fault> {
        let (job, roots) = prepare::prepare(request, observer)?;
        Ok(Self { job: Arc::new(job), roots })
    }

    /// A handle that watches and controls it.
    pub fn handle(&self) -> CopyHandle {
        CopyHandle { job: Arc::clone(&self.job) }
    }

    /// Copies, and reads back if `verify` was requested. Returns when the copy has ended or was
    /// stopped. The calling thread works too, and its umask changes permanently, so run the copy on
    /// a separate thread.
    ///
    /// # Errors
    /// An error that ended the verification. [`CopyHandle::finish`] tells why a copy was stopped.
    pub fn run(self) -> Result<(), Fault> {
        run::run(&self.job, self.roots)
    }
}

impl CopyHandle {
    /// The figures now. Cheap: a few atomic loads and no lock.
    pub fn progress(&self) -> Progress {
        let job = &*self.job;
        let copied = job.copied.load(Ordering::Acquire);
        if let (Some(proof), true) = (&job.proof, copied) {
            return Progress::Verifying { read: Amount { entries: value(&proof.files), bytes: value(&proof.bytes) } };
        }
        let counts = &job.counts;
        let done = Amount { entries: counts.done(), bytes: value(&counts.bytes) };
        let counted = job.counted.complete.load(Ordering::Acquire);
        let found = Amount {
            entries: value(&counts.found).max(value(&job.counted.entries)).max(done.entries),
            bytes: value(&counts.found_bytes).max(value(&job.counted.bytes)).max(done.bytes),
        };
        Progress::Copying { done, found, is_final: copied || counted }
    }

    /// Pauses every thread where it is, soon, until [`Self::resume`] or [`Self::stop`].
    pub fn pause(&self) {
        self.job.control.pause();
    }

    /// Resumes a paused copy.
    pub fn resume(&self) {
        self.job.control.resume();
    }

    /// Stops the copy, also a paused one. The first reason counts.
    pub fn stop(&self, why: Fault) {
        self.job.stop(why);
    }

    /// Makes the figures final, once the thread that ran the copy has ended, by a panic or not.
    /// Returns why the copy was stopped, if it was.
    pub fn finish(&self) -> Option<Fault> {
        self.job.copied.store(true, Ordering::Release);
        self.job.take_error()
    }

    /// The counts so far. This process copies everything, so everything that is there counts as
    /// moved.
    pub fn totals(&self) -> Counts {
        let counts = &self.job.counts;
        Counts {
            files: value(&counts.files),
            folders: value(&counts.folders),
            links: value(&counts.links),
            bytes: value(&counts.bytes),
            moved: value(&counts.bytes),
            unchanged: value(&counts.unchanged),
            skipped: value(&counts.skipped),
            skipped_bytes: value(&counts.skipped_bytes),
            excluded: value(&counts.excluded),
            failed: value(&counts.failed),
            ..Counts::default()
        }
    }

    /// The choices that the copy made, and its counts so far.
    pub fn report(&self) -> CopyReport {
        let job = &*self.job;
        let counts = &job.counts;
        let (bytes, reflinked, kernel) = (value(&counts.bytes), value(&counts.reflinked), value(&counts.kernel));
        CopyReport {
            threads: value(&counts.workers),
            queue_depth: job.choices.depth,
            chunk_bytes: job.choices.chunk as u64,
            io: job.fallback.get().copied().unwrap_or(job.choices.io.path()),
            filesystem: job.choices.filesystem.into(),
            reflinked_bytes: reflinked,
            kernel_bytes: kernel,
            buffered_bytes: if job.options.dry_run { 0 } else { bytes.saturating_sub(reflinked + kernel) },
            uring_bytes: value(&counts.uring),
            specials: value(&counts.specials),
            verified: job.proof.as_ref().map_or(0, Proof::proven),
            owners_lost: value(&counts.owners_lost),
            attributes_lost: value(&counts.attributes_lost),
            began: job.choices.began.map(system_time),
        }
    }

    /// The paths of the copies, by source.
    pub fn copies(&self) -> impl Iterator<Item = &PathBuf> {
        self.job.top.iter().flat_map(|top| &top.copies)
    }
}

fn system_time(time: Timestamp) -> SystemTime {
    UNIX_EPOCH + Duration::new(time.secs.try_into().unwrap_or(0), time.nanos)
}
