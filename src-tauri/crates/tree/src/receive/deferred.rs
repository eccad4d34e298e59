//! Work that waits for the end of a transfer.
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use ringway_model::Operation;
use ringway_sys::attributes::{Metadata, metadata_of};
use ringway_wire::lane::Entry;
use ringway_wire::limits::LINK_SETS_MAX;
use ringway_wire::{Name, RelPath};
use rustix::io::Errno;

use super::failures::{Trouble, during};
use super::links::unplaced::{AllUnplaced, Unplaced};
use super::links::{Links, Place, encode};
use super::merge::folder_records::FolderRecord;
use super::merge::landing::link_id;
use super::staging::spool::Spool;
use crate::disk::Dir;

/// Other filesystems inside the destination that are synchronised one by one.
const FOREIGN_FILESYSTEMS_MAX: usize = 64;

/// Work that waits for the end.
#[derive(Default)]
pub(super) struct Deferred {
    pub(super) links: Mutex<Links>,
    pub(super) early_links: Mutex<Spool>,
    pub(super) unplaced: AllUnplaced,
    pub(super) folder_attributes: Mutex<Spool>,
    /// Filesystems mounted inside the destination that were written to: to be synchronised too.
    pub(super) foreign: Mutex<Vec<(u64, Dir)>>,
}

impl Deferred {
    /// Closes what lies in the staging folder.
    pub(super) fn close(&self) {
        drop(std::mem::take(&mut *self.folder_attributes.lock()));
        drop(std::mem::take(&mut *self.early_links.lock()));
        drop(std::mem::take(&mut *self.links.lock()));
        drop(std::mem::take(&mut *self.unplaced.lock()));
    }

    /// Puts a link aside whose file is not there yet.
    pub(super) fn link(&self, path: RelPath<'_>, name: Name<'_>, id: u64, staging: &Dir) -> Result<(), Trouble> {
        self.early_links
            .lock()
            .push(0, &encode(id, Place { path, name: name.as_bytes(), identity: None }), staging)
            .map_err(during(Operation::Link))
    }

    /// Puts a folder's attributes aside: its mode may forbid what is still to come, and its time
    /// changes with every entry.
    pub(super) fn folder(&self, record: &FolderRecord<'_>, staging: &Dir) -> Result<(), Trouble> {
        self.folder_attributes
            .lock()
            .push(record.depth(), &record.encode(), staging)
            .map_err(during(Operation::Metadata))
    }

    pub(super) fn note_foreign(&self, dev: u64, dir: &Dir) -> io::Result<()> {
        let mut foreign = self.foreign.lock();
        if foreign.iter().any(|(known, _)| *known == dev) {
            return Ok(());
        }
        if foreign.len() >= FOREIGN_FILESYSTEMS_MAX {
            return Err(io::Error::from(Errno::XDEV));
        }
        foreign.push((dev, dir.try_clone()?));
        Ok(())
    }

    /// Whether contents are of use although their file cannot have its name.
    pub(super) fn may_set_aside(&self, trouble: &Trouble, entry: &Entry<'_>) -> bool {
        let is_refused = matches!(trouble, Trouble::Entry(error) if error.is_of_the_name());
        is_refused && link_id(entry).is_some() && self.unplaced.lock().len() < LINK_SETS_MAX
    }

    /// The folder that a file's contents are in without their name.
    pub(super) fn unplaced_in(&self, id: u64) -> Option<Arc<Dir>> {
        self.unplaced.lock().get(&id).map(|unplaced| Arc::clone(&unplaced.dir))
    }

    /// It is not what was sent.
    pub(super) fn forget_unplaced(&self, id: u64) {
        self.unplaced.lock().remove(&id);
    }

    /// Takes the last temporary names away. That changes the change times of files that have got
    /// other names: `changed` is told what such a file was, and is now.
    pub(super) fn discard_unplaced(&self, changed: impl Fn(&Metadata, &Metadata)) {
        for Unplaced { dir, name, .. } in std::mem::take(&mut *self.unplaced.lock()).into_values() {
            let was = dir.metadata(&name).ok().filter(|was| was.nlink > 1);
            let named = was.and_then(|was| Some((was, dir.open_read(&name).ok()?)));
            // What stays goes with the staging folder.
            let _ = dir.unlink(&name);
            if let Some((was, file)) = named
                && let Ok(now) = metadata_of(&file)
            {
                changed(&was, &now);
            }
        }
    }
}
