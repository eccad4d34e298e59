//! Brings contents to the disk before a name that everybody sees leads to them, so that a power cut
//! at any instant leaves the old file or the new one.
//!
//! What is in the staging tree needs none of this: it is synchronised as a whole before its
//! top-level folder is renamed.
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::Ordering;
use std::time::Duration;

use ringway_sys::space::Filesystem;
use rustix::io::Errno;

use crate::receive::lane::Worker;
use crate::receive::lane::small_files::Filling;
use crate::receive::staging::spot::Spot;
use crate::receive::{Incoming, staging};

/// For how long the end of an interrupted session waits for the disk. 128 MiB, which may be
/// waiting, take a slow USB stick longer.
const KEPT_SYNC_MAX: Duration = Duration::from_secs(5);

/// So many files of a group are synchronised by one syncfs(2) where each by itself would take a
/// flush of the disk.
const TOGETHER_MIN: usize = 4;

impl Incoming {
    /// Brings a file's contents to the disk, for a name outside the staging tree.
    pub(in crate::receive) fn settle(&self, file: impl AsFd, spot: &Spot) -> io::Result<()> {
        let written = match spot {
            // What is set aside gets names as what is staged does.
            Spot::Own | Spot::Aside(..) => Ok(()),
            Spot::Part(..) => self.disk().write_out(file.as_fd(), self.root.filesystem),
            // In a folder of another filesystem, or subvolume.
            Spot::Beside(_) => self.write_out_where_it_is(file.as_fd()),
        };
        self.noting_loss(written)
    }

    /// Brings a file's contents to the disk by what the filesystem that it is on takes.
    pub(in crate::receive) fn write_out_where_it_is(&self, file: BorrowedFd<'_>) -> io::Result<()> {
        self.disk().filesystem(file).and_then(|filesystem| self.disk().write_out(file, filesystem))
    }

    /// Notes that the disk refused what memory still has. The kernel takes such pages for clean
    /// from then on, so that the next sync succeeds without them.
    pub(in crate::receive) fn noting_loss<T>(&self, synchronised: io::Result<T>) -> io::Result<T> {
        synchronised.inspect_err(|_| {
            self.staging.writeback.fail();
            if self.flags.has_merged.load(Ordering::Relaxed) {
                staging::suspect(&self.staging.dir);
            }
        })
    }
}

impl Incoming {
    /// Brings what is staged to the disk before a name that everybody sees leads to it.
    pub(in crate::receive) fn settle_staged(&self) -> io::Result<()> {
        // Who is told of the error, and who asks next, must not come between one another.
        let early = self.staging.early_sync.lock();
        self.noting_loss(early.sync_filesystem())?;
        if self.is_sound() { Ok(()) } else { Err(Errno::IO.into()) }
    }

    /// Brings what is noted to the disk and records that, so that the next attempt need not compare
    /// it. A disk that takes long for it is not waited for: then nothing is recorded.
    pub(in crate::receive) fn synchronise_kept(&self) {
        if !self.is_sound()
            || !self.staging.journal.waits_for_a_sync()
            || self.staging.writeback.expected() > KEPT_SYNC_MAX
        {
            return;
        }
        let covered = self.staging.journal.covered();
        let Ok(root) = self.root.dir.try_clone() else { return };
        let (tell, told) = std::sync::mpsc::channel();
        // Without a thread nothing is recorded.
        if !self.disk().beside(Box::new(move || drop(tell.send(root.sync_filesystem())))) {
            return;
        }
        if let Ok(synchronised) = told.recv_timeout(KEPT_SYNC_MAX)
            && self.noting_loss(synchronised).is_ok()
            && self.is_sound()
        {
            self.staging.journal.synced(covered);
        }
    }
}

impl Worker<'_> {
    /// Starts bringing a written group to the disk: all of it at once, while attributes are set.
    pub(in crate::receive) fn begin_settling(&self, group: &[Filling<'_>]) {
        if !self.incoming.root.filesystem.is_memory() {
            let disk = self.incoming.disk();
            group
                .iter()
                .filter(|filling| !filling.is_staged())
                .for_each(|filling| disk.begin_write_out(filling.file()));
        }
    }

    /// Waits until all of it is there; says which filesystems have taken everything by one call.
    pub(in crate::receive) fn settle_group(&self, group: &[Filling<'_>]) -> Together {
        let mut ours = group.iter().filter(|filling| filling.is_part());
        if !flushes(self.incoming.root.filesystem) || ours.clone().take(TOGETHER_MIN).count() < TOGETHER_MIN {
            return Together::Not;
        }
        // By this lane's own descriptor: an error is told to each of them once.
        let synchronised = self.parts.sync_filesystem().and_then(|()| match ours.next_back() {
            // FAT does not flush the disk's own memory when it synchronises.
            Some(last) => self.incoming.disk().write_out(last.file(), self.incoming.root.filesystem),
            None => Ok(()),
        });
        match self.incoming.noting_loss(synchronised) {
            Ok(()) => Together::Done,
            Err(error) => Together::Failed(error),
        }
    }
}

/// What became of synchronising a group by one call.
pub(in crate::receive) enum Together {
    /// It was not tried: each file is brought to the disk by itself.
    Not,
    Done,
    Failed(io::Error),
}

impl Together {
    /// Whether a file of the group is on the disk.
    pub(in crate::receive) fn settle(&self, incoming: &Incoming, filling: &Filling<'_>) -> io::Result<()> {
        match self {
            Self::Failed(error) if filling.is_part() => {
                Err(error.raw_os_error().map_or(error.kind().into(), io::Error::from_raw_os_error))
            }
            Self::Done if filling.is_part() => Ok(()),
            _ => incoming.settle(filling.file(), filling.spot()),
        }
    }
}

/// Whether bringing one file to the disk takes a flush.
fn flushes(filesystem: Filesystem) -> bool {
    !filesystem.is_memory() && !filesystem.orders_names_behind_contents()
}
