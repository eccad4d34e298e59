//! What all threads of a copy share: its options, its figures, its failures, and whether it goes
//! on.
use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use ringway_model::{Failure, FailureReason, Fault, IoPath, Operation, Side};
use ringway_sys::attributes::{Kind, Timestamp, metadata_of};
use ringway_sys::dir::Dir;
use ringway_sys::file_io::NotRegular;
use ringway_tree::descriptors::patiently;
use rustix::io::Errno;

use super::attributes::Lost;
use super::count::Counted;
use super::ends::KeptOpen;
use super::folder::Identity;
use super::gate::Gate;
use super::options::{CopyOptions, Planned};
use super::rules::Rules;
use super::spot::Stays;
use super::verify::Proof;
use crate::transfer::Transfer;
use ringway_tree::io_plan::IoPlan;

/// A copy under way.
pub(super) struct Job {
    pub(super) options: CopyOptions,
    pub(super) choices: Choices,
    pub(super) rules: Option<Rules>,
    pub(super) counts: Counts,
    /// What was counted ahead.
    pub(super) counted: Counted,
    /// What was put off is being copied: files are written through links now.
    pub(super) late: AtomicBool,
    /// Everything is copied, or given up.
    pub(super) copied: AtomicBool,
    /// Where all copies go; none where there are none.
    pub(super) top: Option<TopLevel>,
    /// Folders at the destination that must not be met in a source: what is copied would be copied
    /// again.
    pub(super) own: Mutex<HashSet<Identity>>,
    pub(super) proof: Option<Proof>,
    /// What reads in threads for which there was no ring.
    pub(super) fallback: OnceLock<IoPath>,
    pub(super) transfer: Transfer,
    pub(super) gate: Gate,
    /// Folders whose descriptors are kept.
    pub(super) kept_open: KeptOpen,
    error: Mutex<Option<Fault>>,
    /// What a test does between the first and the second time that a file is read.
    #[cfg(test)]
    pub(super) meddle: Mutex<Option<Box<dyn FnMut() + Send>>>,
}

/// The folder that all copies are in, or whose contents they join, and its path.
pub(super) struct TopLevel {
    pub(super) dir: Dir,
    pub(super) path: PathBuf,
    /// What is made in it inherits an access control list.
    pub(super) default_acl: bool,
    /// Paths of the copies, by source.
    pub(super) copies: Vec<PathBuf>,
}

/// What was chosen for this copy.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choices {
    pub(super) workers: usize,
    /// Folders that are kept open.
    pub(super) folders: usize,
    /// Files of one batch through a ring.
    pub(super) batch: usize,
    /// Threads beside those, for when a disk is waited for.
    pub(super) for_disk: usize,
    pub(super) depth: u32,
    pub(super) chunk: usize,
    pub(super) io: IoPlan,
    pub(super) filesystem: &'static str,
    /// Files are preallocated from this size on; never where that writes zeros.
    pub(super) preallocate_from: u64,
    /// Who runs this (geteuid(2)).
    pub(super) user: u32,
    /// The destination's filesystem copies by itself, below or far away.
    pub(super) copies_by_itself: bool,
    /// When this copy began, or the first one that it continues; none where the destination's times
    /// come from another clock.
    pub(super) began: Option<Timestamp>,
}

/// The figures, added to by all threads.
#[derive(Default)]
pub(super) struct Counts {
    /// Threads that copied at a time, at most.
    pub(super) workers: AtomicU64,
    pub(super) found: AtomicU64,
    pub(super) found_bytes: AtomicU64,
    pub(super) files: AtomicU64,
    pub(super) folders: AtomicU64,
    pub(super) links: AtomicU64,
    pub(super) specials: AtomicU64,
    pub(super) bytes: AtomicU64,
    /// Entries that were there already and are the same.
    pub(super) unchanged: AtomicU64,
    /// Those that stay although they differ, and the bytes of the sources' files of these.
    pub(super) skipped: AtomicU64,
    pub(super) skipped_bytes: AtomicU64,
    pub(super) excluded: AtomicU64,
    pub(super) reflinked: AtomicU64,
    pub(super) kernel: AtomicU64,
    pub(super) uring: AtomicU64,
    pub(super) owners_lost: AtomicU64,
    pub(super) attributes_lost: AtomicU64,
    pub(super) failed: AtomicU64,
}

pub(super) fn add(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::Relaxed);
}

pub(super) fn value(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

impl Counts {
    /// Entries that are done with, one way or the other.
    pub(super) fn done(&self) -> u64 {
        let kept = value(&self.unchanged) + value(&self.skipped);
        [&self.files, &self.folders, &self.links, &self.specials, &self.failed].map(value).iter().sum::<u64>() + kept
    }

    /// Books an entry of the destination that stays, for a source of so many bytes.
    pub(super) fn keep(&self, stays: Stays, bytes: u64) {
        if stays.is_same {
            add(&self.unchanged, 1);
        } else {
            add(&self.skipped, 1);
            add(&self.skipped_bytes, bytes);
        }
    }
}

impl Job {
    pub(super) fn new(
        options: CopyOptions,
        choices: Choices,
        rules: Option<Rules>,
        proof: Option<File>,
        transfer: Transfer,
    ) -> Self {
        Self {
            options,
            choices,
            rules,
            counts: Counts::default(),
            counted: Counted::default(),
            late: AtomicBool::new(false),
            copied: AtomicBool::new(false),
            top: None,
            own: Mutex::default(),
            proof: proof.map(Proof::new),
            fallback: OnceLock::new(),
            transfer,
            gate: Gate::default(),
            kept_open: KeptOpen::new(choices.folders),
            error: Mutex::new(None),
            #[cfg(test)]
            meddle: Mutex::default(),
        }
    }

    #[cfg(test)]
    pub(super) fn between_reads(&self) {
        if let Some(meddle) = self.meddle.lock().as_mut() {
            meddle();
        }
    }

    #[cfg(test)]
    pub(super) fn for_tests(options: CopyOptions, rules: Option<Rules>) -> Self {
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
        let id = ringway_model::TransferId([0; 16]);
        let transfer = Transfer::new(id, ringway_model::Direction::Copying, Default::default(), None);
        Self::new(options, choices, rules, None, transfer)
    }

    /// Whether it was stopped.
    pub(super) fn is_stopped(&self) -> bool {
        self.gate.is_ended()
    }

    /// The same, asked by a thread that holds nothing which others wait for: it rests here while a
    /// person has paused the copy.
    pub(super) fn must_end(&self) -> bool {
        self.gate.must_end()
    }

    /// Ends the copy; the first reason is the one that is told.
    pub(super) fn stop(&self, error: Fault) {
        self.error.lock().get_or_insert(error);
        self.gate.end();
    }

    /// The first copy's path, where an error has no better one.
    pub(super) fn first_path(&self) -> PathBuf {
        self.top.iter().flat_map(|top| &top.copies).next().cloned().unwrap_or_default()
    }

    /// Why it was stopped.
    pub(super) fn take_error(&self) -> Option<Fault> {
        self.error.lock().take()
    }

    /// Opens something; where no descriptor is left it closes folders that are kept, and waits for
    /// others.
    pub(super) fn patiently<T>(&self, mut open: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        patiently(&mut (), |()| Ok(self.kept_open.close()), || !self.is_stopped(), |()| open())
    }

    /// Books an entry that was not copied, or not wholly. A full destination ends the copy:
    /// whatever follows would fail likewise.
    pub(super) fn fail(&self, path: PathBuf, operation: Operation, error: &io::Error) {
        if matches!(Errno::from_io_error(error), Some(Errno::NOSPC | Errno::DQUOT)) {
            self.fail_for(path, operation, reason(error));
            self.stop(Fault::DestinationFull { shortage: None });
        } else {
            self.fail_for(path, operation, reason(error));
        }
    }

    /// The same for a reason that the kernel did not give.
    pub(super) fn fail_for(&self, path: PathBuf, operation: Operation, reason: FailureReason) {
        add(&self.counts.failed, 1);
        self.transfer.figures().fail(Failure { path: path.into(), side: Side::Here, operation, reason });
    }

    /// Remembers a folder of the destination that must not be met in a source.
    pub(super) fn owns(&self, target: &Dir) {
        if let Ok(metadata) = metadata_of(target) {
            self.own.lock().insert((metadata.dev, metadata.ino));
        }
    }

    /// Whether a source's folder is one of those.
    pub(super) fn is_own(&self, identity: Identity) -> bool {
        self.own.lock().contains(&identity)
    }

    pub(super) fn lost(&self, lost: Lost) {
        if lost != Lost::default() {
            add(&self.counts.owners_lost, lost.owners);
            add(&self.counts.attributes_lost, lost.attributes);
        }
    }

    /// Tells the observer of a dry run.
    pub(super) fn planned(&self, what: Planned, path: impl FnOnce() -> PathBuf) {
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
