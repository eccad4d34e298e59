//! Brings a group of small files to the disk, all at once where that costs less, before they get
//! names that everybody sees.
use std::io;

use ringway_sys::space::Filesystem;

use crate::receive::Incoming;
use crate::receive::lane::Worker;
use crate::receive::lane::small_files::Filling;

/// So many files of a group are synchronised by one syncfs(2) where each by itself would take a
/// flush of the disk.
const TOGETHER_MIN: usize = 4;

impl Worker<'_> {
    /// Starts bringing a written group to the disk: all of it at once, while attributes are set.
    pub(super) fn begin_settling(&self, group: &[Filling<'_>]) {
        if !self.incoming.root.filesystem.is_memory() {
            let disk = self.incoming.root.disk();
            group
                .iter()
                .filter(|filling| !filling.is_staged())
                .for_each(|filling| disk.begin_write_out(filling.file()));
        }
    }

    /// Waits until all of it is there; says which filesystems have taken everything by one call.
    pub(super) fn settle_group(&self, group: &[Filling<'_>]) -> Together {
        let mut ours = group.iter().filter(|filling| filling.is_part());
        if !flushes(self.incoming.root.filesystem) || ours.clone().take(TOGETHER_MIN).count() < TOGETHER_MIN {
            return Together::Not;
        }
        // By this lane's own descriptor: an error is told to each of them once.
        let synchronised = self.parts.sync_filesystem().and_then(|()| match ours.next_back() {
            // FAT does not flush the disk's own memory when it synchronises.
            Some(last) => self.incoming.root.disk().write_out(last.file(), self.incoming.root.filesystem),
            None => Ok(()),
        });
        match self.incoming.staging.noting_loss(synchronised) {
            Ok(()) => Together::Done,
            Err(error) => Together::Failed(error),
        }
    }
}

/// What became of synchronising a group by one call.
pub(super) enum Together {
    /// It was not tried: each file is brought to the disk by itself.
    Not,
    Done,
    Failed(io::Error),
}

impl Together {
    /// Whether a file of the group is on the disk.
    pub(super) fn settle(&self, incoming: &Incoming, filling: &Filling<'_>) -> io::Result<()> {
        match self {
            Self::Failed(error) if filling.is_part() => {
                Err(error.raw_os_error().map_or(error.kind().into(), io::Error::from_raw_os_error))
            }
            Self::Done if filling.is_part() => Ok(()),
            _ => incoming.staging.settle(filling.file(), filling.spot()),
        }
    }
}

/// Whether bringing one file to the disk takes a flush.
fn flushes(filesystem: Filesystem) -> bool {
    !filesystem.is_memory() && !filesystem.orders_names_behind_contents()
}
