//! Brings contents to the disk before a name that everybody sees leads to them, so that a power cut
//! at any instant leaves the old file or the new one.
//!
//! What is in the staging tree needs none of this: it is synchronised as a whole before its
//! top-level folder is renamed.
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::io::Errno;

use super::staging;
use super::staging::attempt::Staging;
use super::staging::spot::Spot;

/// For how long the end of an interrupted session waits for the disk. 128 MiB, which may be
/// waiting, take a slow USB stick longer.
const KEPT_SYNC_MAX: Duration = Duration::from_secs(5);

impl Staging {
    /// Brings a file's contents to the disk, for a name outside the staging tree.
    pub(super) fn settle(&self, file: impl AsFd, spot: &Spot) -> io::Result<()> {
        let written = match spot {
            // What is set aside gets names as what is staged does.
            Spot::Own | Spot::Aside(..) => Ok(()),
            Spot::Part(..) => self.root.disk().write_out(file.as_fd(), self.root.filesystem),
            // In a folder of another filesystem, or subvolume.
            Spot::Beside(..) => self.root.write_out_where_it_is(file.as_fd()),
        };
        self.noting_loss(written)
    }

    /// Notes that the disk refused what memory still has. The kernel takes such pages for clean
    /// from then on, so that the next sync succeeds without them.
    pub(super) fn noting_loss<T>(&self, synchronised: io::Result<T>) -> io::Result<T> {
        synchronised.inspect_err(|_| {
            self.writeback.fail();
            if self.has_merged.load(Ordering::Relaxed) {
                staging::suspect(&self.dir);
            }
        })
    }

    /// Brings what is staged to the disk before a name that everybody sees leads to it.
    pub(super) fn settle_staged(&self) -> io::Result<()> {
        // Who is told of the error, and who asks next, must not come between one another.
        let early = self.early_sync.lock();
        self.noting_loss(early.sync_filesystem())?;
        if self.is_sound() { Ok(()) } else { Err(Errno::IO.into()) }
    }

    /// Brings what is noted to the disk and records that, so that the next attempt need not compare
    /// it. A disk that takes long for it is not waited for: then nothing is recorded.
    pub(super) fn synchronise_kept(&self) {
        if !self.is_sound() || !self.journal.waits_for_a_sync() || self.writeback.expected() > KEPT_SYNC_MAX {
            return;
        }
        let covered = self.journal.covered();
        let Ok(root) = self.root.dir.try_clone() else { return };
        let (tell, told) = std::sync::mpsc::channel();
        // Without a thread nothing is recorded.
        if !self.root.disk().beside(Box::new(move || drop(tell.send(root.sync_filesystem())))) {
            return;
        }
        if let Ok(synchronised) = told.recv_timeout(KEPT_SYNC_MAX)
            && self.noting_loss(synchronised).is_ok()
            && self.is_sound()
        {
            self.journal.synced(covered);
        }
    }
}
