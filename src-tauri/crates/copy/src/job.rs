//! The state that all threads of a copy share: options, figures, failures, and whether to continue.
mod control;
pub(crate) mod dir_cache;
pub(crate) mod proof;

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use ringway_model::{Failure, FailureReason, Fault, IoPath, Operation, Planned, Side};
use ringway_sys::attributes::{Kind, Timestamp, metadata_of};
use ringway_sys::dir::Dir;
use ringway_sys::file_io::NotRegular;
use ringway_tree::descriptors::patiently;
use ringway_tree::filesystem::selection::{Filter, Met};
use ringway_tree::io_plan::IoPlan;
use rustix::io::Errno;

use crate::attributes::Lost;
use crate::observer::Observer;
use crate::options::CopyOptions;
use control::Control;
use dir_cache::DirCache;
use proof::Proof;

/// The identity of a file or folder, whatever its name: device and inode number.
pub(crate) type Identity = (u64, u64);

/// A running copy.
pub(crate) struct Job {
    pub(crate) options: CopyOptions,
    pub(crate) choices: Choices,
    pub(crate) filter: Option<Arc<Filter>>,
    /// Which listed paths were met.
    pub(crate) met: Met,
    pub(crate) counts: Counts,
    /// The totals that were counted ahead.
    pub(crate) counted: Counted,
    /// Set while files that were put off are copied: from then on, files are written through links.
    pub(crate) late: AtomicBool,
    /// Set once everything is copied or given up.
    pub(crate) copied: AtomicBool,
    /// The folder to which all copies go; `None` if there are none.
    pub(crate) top: Option<TopLevel>,
    /// Folders at the destination that must not be met in a source, because the copy would then
    /// copy itself.
    pub(crate) own: Mutex<HashSet<Identity>>,
    pub(crate) proof: Option<Proof>,
    /// What threads read by that got no ring.
    pub(crate) fallback: OnceLock<IoPath>,
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) control: Control,
    /// Directory descriptors of folders under way.
    pub(crate) dir_cache: DirCache,
    error: Mutex<Option<Fault>>,
    /// Called by tests between the first and the second reading of a file.
    #[cfg(test)]
    pub(crate) meddle: Mutex<Option<Box<dyn FnMut() + Send>>>,
}

/// The folder that contains all copies, or into which their contents go, and its path.
pub(crate) struct TopLevel {
    pub(crate) dir: Dir,
    pub(crate) path: PathBuf,
    /// Whether entries made in it inherit an access control list.
    pub(crate) default_acl: bool,
    /// Paths of the copies, by source.
    pub(crate) copies: Vec<PathBuf>,
}

/// The values chosen for this copy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Choices {
    pub(crate) workers: usize,
    /// Folders that are kept open.
    pub(crate) folders: usize,
    /// Files in one batch through a ring.
    pub(crate) batch: usize,
    /// Additional threads, for when a disk is waited for.
    pub(crate) for_disk: usize,
    pub(crate) depth: u32,
    pub(crate) chunk: usize,
    pub(crate) io: IoPlan,
    pub(crate) filesystem: &'static str,
    /// Files from this size on are preallocated; never if that writes zeros.
    pub(crate) preallocate_from: u64,
    /// The user who runs this (geteuid(2)).
    pub(crate) user: u32,
    /// Whether a server or another filesystem copies for the destination's filesystem.
    pub(crate) copies_by_itself: bool,
    /// When this copy began, or the first one that it continues; `None` if the destination's times
    /// come from another clock.
    pub(crate) began: Option<Timestamp>,
}

/// The figures, added to by all threads.
#[derive(Default)]
pub(crate) struct Counts {
    /// The most threads that copied at a time.
    pub(crate) workers: AtomicU64,
    pub(crate) found: AtomicU64,
    pub(crate) found_bytes: AtomicU64,
    pub(crate) files: AtomicU64,
    pub(crate) folders: AtomicU64,
    pub(crate) links: AtomicU64,
    pub(crate) specials: AtomicU64,
    pub(crate) bytes: AtomicU64,
    /// Entries that existed already and are the same.
    pub(crate) unchanged: AtomicU64,
    /// Entries that stay although they differ, and the bytes of their sources' files.
    pub(crate) skipped: AtomicU64,
    pub(crate) skipped_bytes: AtomicU64,
    pub(crate) excluded: AtomicU64,
    pub(crate) reflinked: AtomicU64,
    pub(crate) kernel: AtomicU64,
    pub(crate) uring: AtomicU64,
    pub(crate) owners_lost: AtomicU64,
    pub(crate) attributes_lost: AtomicU64,
    pub(crate) failed: AtomicU64,
}

/// The totals that were counted ahead so far.
#[derive(Default)]
pub(crate) struct Counted {
    pub(crate) entries: AtomicU64,
    pub(crate) bytes: AtomicU64,
    /// Everything was counted.
    pub(crate) complete: AtomicBool,
}

/// An existing entry that stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kept {
    /// Whether it stands for the source's copy, made now or earlier, so that the source's other
    /// names become links to it.
    pub(crate) as_copy: bool,
    /// Whether it equals the source by kind, size and time.
    pub(crate) is_same: bool,
}

impl Kept {
    /// Made by the previous copy, or found equal.
    pub(crate) const SAME: Self = Self { as_copy: true, is_same: true };
}

pub(crate) fn add(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::Relaxed);
}

pub(crate) fn value(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

impl Counts {
    /// Entries that are finished, copied or not.
    pub(crate) fn done(&self) -> u64 {
        let kept = value(&self.unchanged) + value(&self.skipped);
        [&self.files, &self.folders, &self.links, &self.specials, &self.failed].map(value).iter().sum::<u64>() + kept
    }

    /// Counts an entry of the destination that stays, for a source of this many bytes.
    pub(crate) fn keep(&self, kept: Kept, bytes: u64) {
        if kept.is_same {
            add(&self.unchanged, 1);
        } else {
            add(&self.skipped, 1);
            add(&self.skipped_bytes, bytes);
        }
    }
}

impl Job {
    pub(crate) fn new(
        options: CopyOptions,
        choices: Choices,
        filter: Option<Arc<Filter>>,
        proof: Option<File>,
        observer: Arc<dyn Observer>,
    ) -> Self {
        Self {
            options,
            choices,
            met: filter.as_ref().map(|filter| filter.nothing_met()).unwrap_or_default(),
            filter,
            counts: Counts::default(),
            counted: Counted::default(),
            late: AtomicBool::new(false),
            copied: AtomicBool::new(false),
            top: None,
            own: Mutex::default(),
            proof: proof.map(Proof::new),
            fallback: OnceLock::new(),
            control: Control::new(Arc::clone(&observer)),
            observer,
            dir_cache: DirCache::new(choices.folders),
            error: Mutex::new(None),
            #[cfg(test)]
            meddle: Mutex::default(),
        }
    }

    #[cfg(test)]
    pub(crate) fn between_reads(&self) {
        if let Some(meddle) = self.meddle.lock().as_mut() {
            meddle();
        }
    }

    #[cfg(test)]
    pub(crate) fn for_tests(options: CopyOptions) -> Self {
        let filter = Filter::new(&options.selection).unwrap();
        let choices = Choices {
            workers: 1,
            folders: 1,
            batch: 1,
            for_disk: 0,
            depth: 1,
            chunk: 4_096,
            io: IoPlan::with_depth(ringway_model::IoMode::Sync, 1).unwrap(),
            filesystem: "other",
            preallocate_from: u64::MAX,
            user: 0,
            copies_by_itself: false,
            began: None,
        };
        Self::new(options, choices, filter, None, Arc::new(crate::observer::Unobserved))
    }

    /// Whether it was stopped.
    pub(crate) fn is_stopped(&self) -> bool {
        self.control.is_ended()
    }

    /// The same, for a thread that holds nothing that others wait for. While a person has paused
    /// the copy, the thread waits here.
    pub(crate) fn must_end(&self) -> bool {
        self.control.must_end()
    }

    /// Ends the copy. The first reason is the one that is reported.
    pub(crate) fn stop(&self, error: Fault) {
        self.error.lock().get_or_insert(error);
        self.control.end();
    }

    /// The first copy's path, for errors without a better one.
    pub(crate) fn first_path(&self) -> PathBuf {
        self.top.iter().flat_map(|top| &top.copies).next().cloned().unwrap_or_default()
    }

    /// Why it was stopped.
    pub(crate) fn take_error(&self) -> Option<Fault> {
        self.error.lock().take()
    }

    /// Opens something. If no descriptor is left it closes cached folders, and waits for others.
    pub(crate) fn patiently<T>(&self, mut open: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        patiently(&mut (), |()| Ok(self.dir_cache.close()), || !self.is_stopped(), |()| open())
    }

    /// Records an entry that was not copied, or not completely. A full destination ends the copy,
    /// because everything that follows would fail too.
    pub(crate) fn fail(&self, path: PathBuf, operation: Operation, error: &io::Error) {
        if matches!(Errno::from_io_error(error), Some(Errno::NOSPC | Errno::DQUOT)) {
            self.fail_for(path, operation, reason(error));
            self.stop(Fault::DestinationFull { shortage: None });
        } else {
            self.fail_for(path, operation, reason(error));
        }
    }

    /// The same for a reason that does not come from the kernel.
    pub(crate) fn fail_for(&self, path: PathBuf, operation: Operation, reason: FailureReason) {
        add(&self.counts.failed, 1);
        self.observer.entry_failed(Failure { path: path.into(), side: Side::Here, operation, reason });
    }

    /// Remembers a folder of the destination that must not be met in a source.
    pub(crate) fn owns(&self, target: &Dir) {
        if let Ok(metadata) = metadata_of(target) {
            self.own.lock().insert((metadata.dev, metadata.ino));
        }
    }

    /// Whether a source's folder is one of those.
    pub(crate) fn is_own(&self, identity: Identity) -> bool {
        self.own.lock().contains(&identity)
    }

    pub(crate) fn lost(&self, lost: Lost) {
        if lost != Lost::default() {
            add(&self.counts.owners_lost, lost.owners);
            add(&self.counts.attributes_lost, lost.attributes);
        }
    }

    /// Reports an entry of a dry run to its observer.
    pub(crate) fn planned(&self, what: Planned, path: impl FnOnce() -> PathBuf) {
        if self.options.dry_run
            && let Some(planned) = &self.options.planned
        {
            planned(what, &path());
        }
    }
}

fn reason(error: &io::Error) -> FailureReason {
    match NotRegular::in_error(error) {
        Some(NotRegular { kind: Kind::Dir | Kind::Symlink | Kind::File }) => FailureReason::ChangedWhileReading,
        Some(_) => FailureReason::SpecialFile,
        None => FailureReason::of(error),
    }
}
