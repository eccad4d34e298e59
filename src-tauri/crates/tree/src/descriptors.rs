//! The limit on open descriptors (RLIMIT_NOFILE): raised once, and what those get of it who keep
//! files, folders and connections open.
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ringway_sys::probe;
use ringway_wire::limits::LANES_MAX;
use ringway_wire::resume::ATTEMPTS_KEPT_MAX;
use rustix::io::Errno;

/// How often, and how long each time, opening waits for descriptors where the process or the
/// machine has none left: half a minute.
pub const WAITS: u32 = 3_000;
/// How long each time.
pub const WAIT: Duration = Duration::from_millis(10);

/// What a sender has open beside lanes and folders: addresses that are dialled at once, its
/// session, what it keeps.
const SEND_OWN: usize = 12;

/// What a lane has open at either end: its connection, the one that it goes on in, a ring, a file
/// or two, and what is looked at by the way.
pub const LANE: usize = 8;

/// The limit, which is raised to the hard one when it is first asked for. One that cannot be raised
/// is lived with.
pub fn limit() -> usize {
    static RAISED: OnceLock<usize> = OnceLock::new();
    *RAISED.get_or_init(|| {
        let limit = probe::raise_open_files_limit().unwrap_or_else(|_| probe::open_files_limit());
        usize::try_from(limit.soft).unwrap_or(usize::MAX)
    })
}

/// What is left of the limit now. A program may be started with descriptors that are open already.
pub fn left() -> usize {
    limit().saturating_sub(probe::open_descriptors())
}

/// What senders leave to others in this process.
static RESERVED: AtomicUsize = AtomicUsize::new(0);

/// Keeps so many descriptors from what is sent. It counts for who asks before the first sender
/// does.
pub fn reserve(descriptors: usize) {
    RESERVED.store(descriptors, Ordering::Relaxed);
}

/// What a sender may keep open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForSending {
    /// Lanes at the most.
    pub lanes: u8,
    /// Levels of the tree that each walk keeps open.
    pub levels: usize,
    /// Folders of one batch.
    pub batch_folders: usize,
    /// Folders of what waits for lanes.
    pub queue_folders: usize,
    /// Folders of what the receiver was asked about.
    pub listed_folders: usize,
    /// Files that a lane's ring opens at a time.
    pub depth: u32,
}

impl ForSending {
    /// Decided once.
    pub fn here() -> Self {
        static HERE: OnceLock<ForSending> = OnceLock::new();
        *HERE.get_or_init(|| Self::of(left().saturating_sub(RESERVED.load(Ordering::Relaxed))))
    }

    fn of(left: usize) -> Self {
        let levels = (left / 32).clamp(2, 32);
        // One walk sends, another one counts.
        let rest = left.saturating_sub(SEND_OWN + 2 * levels);
        let lanes = (rest / (3 * LANE)).clamp(1, LANES_MAX.into());
        // One more than there are lanes is gathered. What waits takes a whole batch.
        let batch_folders = (left / 6 / (lanes + 1)).clamp(2, 32);
        Self {
            lanes: lanes as u8,
            levels,
            batch_folders,
            queue_folders: (left / 12).clamp(batch_folders, 128),
            listed_folders: (left / 12).clamp(batch_folders, 256),
            depth: (left / 6 / lanes).clamp(2, 32) as u32,
        }
    }
}

/// What one transfer may keep open at the receiver, beside its lanes' own descriptors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForReceiving {
    /// Folders that each lane keeps open.
    pub folders: usize,
    /// Small files that each lane has open at a time.
    pub group: usize,
    /// Earlier attempts of a transfer that are gone on with, the latest ones.
    pub attempts: usize,
    /// Large files that wait for what an earlier attempt lacks.
    pub resuming: usize,
}

impl ForReceiving {
    /// As many as are of use.
    pub const MOST: Self = Self { folders: 64, group: 64, attempts: ATTEMPTS_KEPT_MAX, resuming: 128 };

    /// What `each_lane` may have open beside its own descriptors allows, with so many `attempts`.
    pub fn within(each_lane: usize, attempts: usize) -> Self {
        Self {
            folders: (each_lane / 4).clamp(1, Self::MOST.folders),
            group: (each_lane / 2).clamp(1, Self::MOST.group),
            attempts: attempts.clamp(1, Self::MOST.attempts),
            resuming: (each_lane / 4).clamp(1, Self::MOST.resuming),
        }
    }
}

/// An error that may be for want of descriptors.
pub trait Shortage {
    /// Whether the process or the machine has no descriptor left (EMFILE, ENFILE).
    fn is_of_descriptors(&self) -> bool;
}

impl Shortage for io::Error {
    fn is_of_descriptors(&self) -> bool {
        Errno::from_io_error(self).is_some_and(|errno| errno.is_of_descriptors())
    }
}

impl Shortage for Errno {
    fn is_of_descriptors(&self) -> bool {
        matches!(*self, Errno::MFILE | Errno::NFILE)
    }
}

/// Opens something with what `keeper` has. Where no descriptor is left, `spare` closes what the
/// keeper can do without, and says whether there was anything; else others are waited for, as long
/// as it `goes_on`.
///
/// # Errors
/// Those of `open`, and of `spare`.
pub fn patiently<K, T, E: Shortage>(
    keeper: &mut K,
    mut spare: impl FnMut(&mut K) -> Result<bool, E>,
    goes_on: impl Fn() -> bool,
    mut open: impl FnMut(&mut K) -> Result<T, E>,
) -> Result<T, E> {
    let mut waits = 0;
    loop {
        match open(keeper) {
            Err(error) if error.is_of_descriptors() && waits < WAITS && goes_on() => {
                if !spare(keeper)? {
                    waits += 1;
                    std::thread::sleep(WAIT);
                }
            }
            opened => return opened,
        }
    }
}

/// The same for who keeps nothing open.
///
/// # Errors
/// Those of `open`.
pub fn wait_to_open<T>(goes_on: impl Fn() -> bool, mut open: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    patiently(&mut (), |()| Ok(false), goes_on, |()| open())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_fit_into_the_limit() {
        for left in (44..5_000).chain([100_000, 1 << 20]) {
            let share = ForSending::of(left);
            let lanes = usize::from(share.lanes);
            let taken = SEND_OWN
                + 2 * share.levels
                + lanes * (LANE + share.batch_folders + share.depth as usize)
                + share.batch_folders
                + share.queue_folders
                + share.listed_folders;
            assert!(taken <= left, "{left}: {taken} {share:?}");
        }
    }

    #[test]
    fn many_descriptors_leave_every_share_at_its_most() {
        let sending =
            ForSending { lanes: 16, levels: 32, batch_folders: 32, queue_folders: 128, listed_folders: 256, depth: 32 };
        assert_eq!(ForSending::of(1 << 16), sending);
    }

    #[test]
    fn what_finds_no_descriptor_takes_back_what_is_spare_and_waits() {
        let mut tries = 0;
        let mut spare = 2;
        let opened = patiently(
            &mut spare,
            |spare| Ok::<_, io::Error>(std::mem::replace(spare, 0) > 0),
            || true,
            |_| {
                tries += 1;
                if tries < 4 { Err(Errno::MFILE.into()) } else { Ok(tries) }
            },
        );
        assert_eq!((opened.unwrap(), spare), (4, 0));
        let refused: io::Result<()> = wait_to_open(|| false, || Err(Errno::NFILE.into()));
        assert!(refused.unwrap_err().is_of_descriptors(), "what is stopped does not wait");
    }
}
