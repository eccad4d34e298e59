//! Has the disk begin before the end: what was written goes out while more comes, and huge files give their memory back as they do.
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use ringway_sys::advice::dont_need;
use ringway_sys::dir::Dir;
use ringway_sys::space::{filesystem, sync_filesystem};

/// Bytes after which the disk is asked to go on with what it has not got yet. The kernel by itself waits for a tenth of the memory, or half a minute.
const OWED_MAX: u64 = 128 * 1024 * 1024;

/// A file that takes more of the memory than one part in so many does not stay in it: what others have cached is worth more.
const HUGE_PART_OF_MEMORY: u64 = 8;

/// What the disk has not been asked for yet.
#[derive(Debug)]
pub(super) struct Writeback {
    owed: AtomicU64,
    /// Never reached where there is no disk.
    owed_max: u64,
    huge_from: u64,
    is_under_way: Arc<AtomicBool>,
    has_failed: Arc<AtomicBool>,
}

impl Writeback {
    /// For the filesystem that `staging` is on.
    pub(super) fn new(staging: &Dir) -> Self {
        let is_memory = filesystem(staging).is_ok_and(|filesystem| filesystem.is_memory());
        let memory = rustix::system::sysinfo();
        // The field's width differs between architectures.
        #[allow(clippy::unnecessary_cast)]
        let memory = (memory.totalram as u64).saturating_mul(memory.mem_unit.into());
        Self::by(if is_memory { u64::MAX } else { OWED_MAX }, memory / HUGE_PART_OF_MEMORY)
    }

    /// One that writes back after other amounts.
    pub(super) fn by(owed_max: u64, huge_from: u64) -> Self {
        Self { owed: AtomicU64::new(0), owed_max, huge_from, is_under_way: Arc::default(), has_failed: Arc::default() }
    }

    /// Whether a file of `size` bytes is not to stay in memory.
    pub(super) fn is_huge(&self, size: u64) -> bool {
        size >= self.huge_from
    }

    /// Whether the disk did not take something, which memory may have lost since.
    pub(super) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    /// As if the disk had refused.
    #[cfg(test)]
    pub(super) fn fail(&self) {
        self.has_failed.store(true, Ordering::Relaxed);
    }

    /// Whether the disk is still at what it was asked for last.
    #[cfg(test)]
    pub(super) fn is_under_way(&self) -> bool {
        self.is_under_way.load(Ordering::Relaxed)
    }

    /// Notes `bytes` that were written. Once there are enough of them, and the disk is through with the last, a thread has it take what there is; then
    /// `huge` files' pages that it has taken are let go.
    ///
    /// The descriptor of `staging` is the one that gets to know what could not be written (syncfs(2)): whoever asks in the end has to ask by another.
    pub(super) fn wrote(&self, bytes: u64, staging: &Dir, huge: impl FnOnce() -> Vec<OwnedFd>) {
        let owed = self.owed.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        if owed < self.owed_max || self.is_under_way.swap(true, Ordering::Relaxed) {
            return;
        }
        self.owed.store(0, Ordering::Relaxed);
        super::kept::touch(staging);
        let (is_under_way, has_failed) = (Arc::clone(&self.is_under_way), Arc::clone(&self.has_failed));
        let (staging, huge) = (staging.as_fd().try_clone_to_owned(), huge());
        let work = move || {
            match staging.map(sync_filesystem) {
                Ok(Ok(())) => huge.iter().for_each(dont_need),
                // The transfer is told in the end; what is kept without an end is not to be believed.
                Ok(Err(_)) => has_failed.store(true, Ordering::Relaxed),
                // Out of descriptors: all of it waits for the end.
                Err(_) => {}
            }
            is_under_way.store(false, Ordering::Relaxed);
        };
        // Without a thread all of it waits for the end.
        let _ = std::thread::Builder::new().name("ringway-sync".into()).spawn(work);
    }
}
