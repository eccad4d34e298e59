//! The descriptors that a copy gets of those that this process may open.
use ringway_model::Fault;
use ringway_tree::descriptors::{left, limit};

use crate::limits::DESCRIPTORS_MIN;

/// The most folders that a copy keeps open at both ends. More would only hold kernel memory.
const FOLDERS_MAX: usize = 4_096;

/// Descriptors that a copy has in addition to those of its threads and folders: the destination,
/// the records of a verification, and counting ahead.
const OWN: usize = 8;

/// The most descriptors of one thread without a batch: both ends of a file and of its folder, a
/// pipe, a ring, and entries that are checked meanwhile.
const THREAD: usize = 12;

/// The same with some folders and files in a batch. Fewer than this per thread are not worth more
/// threads.
const THREAD_WANTS: usize = THREAD + 8;

/// The most files that a thread of a copy opens at a time through a ring.
const BATCH_MAX: usize = 64;

/// Refuses to copy with too few descriptors, because the result would be incomplete.
///
/// # Errors
/// [`Fault::FewDescriptors`].
pub(crate) fn enough() -> Result<(), Fault> {
    let (has, least) = (limit(), DESCRIPTORS_MIN);
    if has < least { Err(Fault::FewDescriptors { has: has as u64, least: least as u64 }) } else { Ok(()) }
}

/// The descriptors that a copy may keep open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    /// Threads; at most as many as wanted.
    pub(crate) threads: usize,
    /// Folders, open at both ends.
    pub(crate) folders: usize,
    /// Files that each thread opens at a time through its ring.
    pub(crate) batch: usize,
}

impl Share {
    /// The shares of a copy that wants this many threads.
    pub(crate) fn wanting(threads: usize) -> Self {
        Self::of(left(), threads)
    }

    fn of(left: usize, threads: usize) -> Self {
        let left = left.saturating_sub(OWN);
        let threads = threads.min(left / THREAD_WANTS).max(1);
        let rest = left.saturating_sub(threads * THREAD);
        let batch = (rest / 2 / threads).clamp(1, BATCH_MAX);
        let folders = (rest.saturating_sub(threads * batch) / 2).clamp(1, FOLDERS_MAX);
        Self { threads, folders, batch }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_fit_into_the_limit() {
        for left in (20..5_000).chain([100_000, 1 << 20]) {
            for wanted in [1, 2, 8, 16, 256] {
                let Share { threads, folders, batch } = Share::of(left, wanted);
                let taken = OWN + threads * (THREAD + batch - 1) + 2 * folders;
                assert!(taken <= left.max(OWN + THREAD + 2), "{left} {wanted}: {taken}");
            }
        }
    }
    #[test]
    fn many_descriptors_give_the_largest_share() {
        assert_eq!(Share::of(1 << 16, 16), Share { threads: 16, folders: FOLDERS_MAX, batch: 64 });
    }
}
