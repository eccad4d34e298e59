//! A copy as its caller sees it: planned, then run on the caller's thread, while any other thread
//! watches, pauses and stops it.
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ringway_model::{CopyReport, Fault};
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

/// How far a copy has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// It copies, or has ended without reading anything back.
    Copying {
        /// What is copied, left alone, or given up.
        done: Amount,
        /// What was found so far: never less than what is done.
        found: Amount,
        /// Whether nothing more will be found.
        is_final: bool,
    },
    /// It reads back what it has copied.
    Verifying {
        /// What was read so far.
        read: Amount,
    },
}

/// What a copy has done, by kinds of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CopyTotals {
    /// Regular files that were copied.
    pub files: u64,
    /// Folders.
    pub folders: u64,
    /// Symbolic and hard links.
    pub links: u64,
    /// Bytes of file contents.
    pub bytes: u64,
    /// Entries that were there already and are the same.
    pub unchanged: u64,
    /// Entries that stay although they differ.
    pub skipped: u64,
    /// Bytes of the sources' files of these.
    pub skipped_bytes: u64,
    /// Entries that failed.
    pub failed: u64,
}

impl CopyJob {
    /// Plans a copy and writes nothing. The observer hears of sources that cannot be copied. The
    /// others are copied all the same.
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

    /// Copies, and reads back if `verify` was asked for. Returns when the copy has ended or was
    /// stopped. The calling thread works, too, and its umask is changed for good: give the copy a
    /// thread of its own.
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

    /// What was done so far.
    pub fn totals(&self) -> CopyTotals {
        let counts = &self.job.counts;
        CopyTotals {
            files: value(&counts.files),
            folders: value(&counts.folders),
            links: value(&counts.links),
            bytes: value(&counts.bytes),
            unchanged: value(&counts.unchanged),
            skipped: value(&counts.skipped),
            skipped_bytes: value(&counts.skipped_bytes),
            failed: value(&counts.failed),
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
            excluded: value(&counts.excluded),
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
