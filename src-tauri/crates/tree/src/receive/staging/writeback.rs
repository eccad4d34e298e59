//! Has the disk begin before the end: what was written goes out while more comes, and huge files
//! give their memory back as they do.
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::disk::Dir;
use ringway_sys::advice::dont_need;

use crate::receive::staging::journal::Journal;

/// A file that takes more of the memory than one part in so many does not stay in it: what others
/// have cached is worth more.
const HUGE_PART_OF_MEMORY: u64 = 8;

/// What the disk has not been asked for yet.
#[derive(Debug)]
pub(in crate::receive) struct Writeback {
    owed: AtomicU64,
    owed_max: u64,
    huge_from: u64,
    is_under_way: Arc<AtomicBool>,
    has_failed: Arc<AtomicBool>,
    /// Bytes a second at which the last sync went; 0 while that is not known.
    pace: Arc<AtomicU64>,
}

impl Writeback {
    /// One that has the disk go on after so many bytes.
    pub(in crate::receive) fn after(owed_max: u64) -> Self {
        let memory = rustix::system::sysinfo();
        // The field's width differs between architectures.
        #[allow(clippy::unnecessary_cast)]
        let memory = (memory.totalram as u64).saturating_mul(memory.mem_unit.into());
        Self::by(owed_max, memory / HUGE_PART_OF_MEMORY)
    }

    /// One that writes back after other amounts.
    pub(in crate::receive) fn by(owed_max: u64, huge_from: u64) -> Self {
        let (is_under_way, has_failed, pace) = (Arc::default(), Arc::default(), Arc::default());
        Self { owed: AtomicU64::new(0), owed_max, huge_from, is_under_way, has_failed, pace }
    }

    /// Whether a file of `size` bytes is not to stay in memory.
    pub(in crate::receive) fn is_huge(&self, size: u64) -> bool {
        size >= self.huge_from
    }

    /// Has the next sync come at once, for what is there from before and is to be noted as on the
    /// disk.
    pub(in crate::receive) fn owe(&self, bytes: u64) {
        self.owed.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Whether the disk did not take something, which memory may have lost since.
    pub(in crate::receive) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    /// The disk has refused something: no sync is recorded from here on.
    pub(in crate::receive) fn fail(&self) {
        self.has_failed.store(true, Ordering::Relaxed);
    }

    /// How long the disk will take for what it has not got yet, by its last sync; no time where
    /// that is not known.
    pub(in crate::receive) fn expected(&self) -> Duration {
        let under_way = if self.is_under_way.load(Ordering::Relaxed) { self.owed_max } else { 0 };
        let owed = self.owed.load(Ordering::Relaxed).saturating_add(under_way);
        Duration::from_secs(owed.checked_div(self.pace.load(Ordering::Relaxed)).unwrap_or(0))
    }

    /// As if the last sync had gone at so many bytes a second.
    #[cfg(test)]
    pub(in crate::receive) fn set_pace(&self, bytes_per_second: u64) {
        self.pace.store(bytes_per_second, Ordering::Relaxed);
    }

    /// Whether the disk is still at what it was asked for last.
    #[cfg(test)]
    pub(in crate::receive) fn is_under_way(&self) -> bool {
        self.is_under_way.load(Ordering::Relaxed)
    }

    /// Notes `bytes` that were written. Once there are enough of them, and the disk is through with
    /// the last, a thread has it take what there is; then `huge` files' pages that it has taken are
    /// let go.
    ///
    /// The descriptor of `staging` is the one that gets to know what could not be written since it
    /// was opened (syncfs(2)), before anything was: one that is opened later knows of no error that
    /// somebody was told. The last check has to use another descriptor.
    ///
    /// What it has taken is noted in the journal afterwards: an error that this attempt was told of
    /// before leaves that out for good.
    pub(in crate::receive) fn wrote(
        &self,
        bytes: u64,
        staging: &Dir,
        journal: &Journal,
        huge: impl FnOnce() -> Vec<OwnedFd>,
    ) {
        let owed = self.owed.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        if owed < self.owed_max || self.is_under_way.swap(true, Ordering::Relaxed) {
            return;
        }
        self.owed.store(0, Ordering::Relaxed);
        crate::receive::staging::touch(staging);
        let disk = staging.disk();
        let (is_under_way, has_failed) = (Arc::clone(&self.is_under_way), Arc::clone(&self.has_failed));
        let (staging, huge, journal) = (staging.try_clone(), huge(), journal.clone());
        let pace = Arc::clone(&self.pace);
        let work = move || {
            let covered = journal.covered();
            let begun = Instant::now();
            match staging.map(|staging| staging.sync_filesystem()) {
                Ok(Ok(())) => {
                    let millis = begun.elapsed().as_millis().max(1);
                    let bytes_per_second = u64::try_from(u128::from(owed) * 1000 / millis).unwrap_or(u64::MAX);
                    pace.store(bytes_per_second.max(1), Ordering::Relaxed);
                    if !has_failed.load(Ordering::Relaxed) {
                        journal.synced(covered);
                    }
                    huge.iter().for_each(dont_need);
                }
                // The transfer is told in the end; what is kept without an end is not to be
                // believed.
                Ok(Err(_)) => has_failed.store(true, Ordering::Relaxed),
                // Out of descriptors: all of it waits for the end.
                Err(_) => {}
            }
            is_under_way.store(false, Ordering::Relaxed);
        };
        // Without a thread all of it waits for the end.
        disk.beside(Box::new(work));
    }
}
