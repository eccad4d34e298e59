//! How jobs share the limit on open descriptors (RLIMIT_NOFILE), and the least that each needs.
use std::sync::OnceLock;

use ringway_tree::descriptors::{self, LANE, left, limit};

use crate::limits::{
    LANES_MAX, OFFERS_UNANSWERED_MAX, QUEUE_BYTES_MAX, QUEUED_BYTES, TRANSFERS_MAX, UNAUTHENTICATED_MAX,
};
use ringway_model::Fault;

/// Folders that a copy keeps open at both ends: more would only hold on to memory of the kernel.
const COPY_FOLDERS_MAX: usize = 4_096;

/// What a copy has open beside its threads' descriptors and the folders: where it copies to,
/// records of a verification, and what is counted ahead.
const COPY_OWN: usize = 8;

/// What one thread of a copy has open at most beside a batch: both ends of a file and of its
/// folder, a pipe, a ring, and what is looked at by the way.
const COPY_THREAD: usize = 12;

/// The same with some folders and files in a batch: what more threads are worth having for.
const COPY_THREAD_WANTS: usize = COPY_THREAD + 8;

/// Files that a thread of a copy opens at a time through a ring.
const COPY_BATCH_MAX: usize = 64;

/// What one transfer has open at the receiver beside its lanes: the folders that it lands in, its
/// journal and lists, its session.
const RECEIVE_OWN: usize = 16;

/// The same with several lanes, and folders and files on each: what more transfers at once are
/// worth having for.
const RECEIVE_WANTS: usize = 128;

/// Transfers at once of which each has all that it may use for itself.
const TRANSFERS_APART: usize = 4;

/// Refuses to begin with fewer than `least`: what would come of it is a part of what was asked for.
///
/// # Errors
/// [`Fault::FewDescriptors`].
pub(crate) fn at_least(least: usize) -> Result<(), Fault> {
    let has = limit();
    if has < least { Err(Fault::FewDescriptors { has: has as u64, least: least as u64 }) } else { Ok(()) }
}

/// What a copy may keep open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ForCopy {
    /// Threads, of those that are wanted.
    pub(crate) threads: usize,
    /// Folders, open at both ends.
    pub(crate) folders: usize,
    /// Files that each thread opens at a time through its ring.
    pub(crate) batch: usize,
}

impl ForCopy {
    /// For a copy that wants so many threads.
    pub(crate) fn wanting(threads: usize) -> Self {
        Self::of(left(), threads)
    }

    fn of(left: usize, threads: usize) -> Self {
        let left = left.saturating_sub(COPY_OWN);
        let threads = threads.min(left / COPY_THREAD_WANTS).max(1);
        let rest = left.saturating_sub(threads * COPY_THREAD);
        let batch = (rest / 2 / threads).clamp(1, COPY_BATCH_MAX);
        let folders = (rest.saturating_sub(threads * batch) / 2).clamp(1, COPY_FOLDERS_MAX);
        Self { threads, folders, batch }
    }
}

/// What a receiver may keep open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ForReceiving {
    /// Connections that have not shown what they are.
    pub(crate) unauthenticated: usize,
    /// Accepted offers that wait for a place.
    pub(crate) waiting: usize,
    /// Offers that wait for a person's answer.
    pub(crate) unanswered: usize,
    /// Transfers at once.
    pub(crate) transfers: usize,
    /// Lanes of one of them.
    pub(crate) lanes: u8,
    /// What each of them keeps open beside.
    pub(crate) each: descriptors::ForReceiving,
}

impl ForReceiving {
    /// Decided once.
    pub(crate) fn here() -> Self {
        static HERE: OnceLock<ForReceiving> = OnceLock::new();
        *HERE.get_or_init(|| Self::of(left()))
    }

    fn of(left: usize) -> Self {
        let unauthenticated = (left / 8).clamp(4, UNAUTHENTICATED_MAX);
        let waiting = (left / 8).clamp(2, QUEUE_BYTES_MAX / QUEUED_BYTES);
        let unanswered = (left / 16).clamp(2, OFFERS_UNANSWERED_MAX);
        let rest = left.saturating_sub(unauthenticated + waiting + unanswered);
        let transfers = (rest / RECEIVE_WANTS).clamp(1, TRANSFERS_MAX);
        // Each holds two.
        let most = descriptors::ForReceiving::MOST;
        let attempts = (left / 32).clamp(1, most.attempts);
        // Where there may be many transfers, few of them use all that they may.
        let mine = (rest / transfers.min(TRANSFERS_APART)).saturating_sub(RECEIVE_OWN + 2 * attempts);
        let lanes = (mine / (2 * LANE)).clamp(1, LANES_MAX.into());
        let of_lane = (mine / lanes).saturating_sub(LANE);
        Self {
            unauthenticated,
            waiting,
            unanswered,
            transfers,
            lanes: lanes as u8,
            each: descriptors::ForReceiving {
                folders: (of_lane / 4).clamp(1, most.folders),
                group: (of_lane / 2).clamp(1, most.group),
                attempts,
                resuming: (of_lane / 4).clamp(1, most.resuming),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_fit_into_the_limit() {
        for left in (20..5_000).chain([100_000, 1 << 20]) {
            for wanted in [1, 2, 8, 16, 256] {
                let ForCopy { threads, folders, batch } = ForCopy::of(left, wanted);
                let taken = COPY_OWN + threads * (COPY_THREAD + batch - 1) + 2 * folders;
                assert!(taken <= left.max(COPY_OWN + COPY_THREAD + 2), "{left} {wanted}: {taken}");
            }
        }
        for left in (43..5_000).chain([100_000, 1 << 20]) {
            let share = ForReceiving::of(left);
            let (lanes, each) = (usize::from(share.lanes), share.each);
            let one = RECEIVE_OWN + 2 * each.attempts + lanes * (LANE + each.folders + each.group) + each.resuming;
            let peers = share.unauthenticated + share.waiting + share.unanswered;
            assert!(peers + one <= left, "{left}: {one} {share:?}");
        }
    }

    #[test]
    fn many_descriptors_leave_every_share_at_its_most() {
        assert_eq!(ForCopy::of(1 << 16, 16), ForCopy { threads: 16, folders: COPY_FOLDERS_MAX, batch: 64 });
        let receiving = ForReceiving {
            unauthenticated: 128,
            waiting: 256,
            unanswered: 64,
            transfers: 16,
            lanes: 16,
            each: descriptors::ForReceiving { folders: 64, group: 64, attempts: 32, resuming: 128 },
        };
        assert_eq!(ForReceiving::of(1 << 16), receiving);
    }
}
