//! Files with several names that cannot have the first one: their contents stay in the staging
//! folder until the end, and the other names are made from there.
use std::collections::HashMap;
use std::sync::Arc;

use crate::disk::Dir;
use parking_lot::Mutex;
use ringway_wire::RelPath;
use ringway_wire::lane::Entry;
use ringway_wire::limits::LINK_SETS_MAX;

use crate::receive::Incoming;
use crate::receive::digests::{At, Contents, Record};
use crate::receive::failures::{LaneError, Trouble};
use crate::receive::merge::folders::Folder;
use crate::receive::merge::landing::{Landed, link_id};
use crate::receive::staging::spot::Spot;

/// Where the contents are that have no name yet, by the file's number.
pub(in crate::receive) type AllUnplaced = Mutex<HashMap<u64, Unplaced>>;

pub(in crate::receive) struct Unplaced {
    pub(in crate::receive) dir: Arc<Dir>,
    pub(in crate::receive) name: Vec<u8>,
    /// Its device and inode.
    pub(in crate::receive) identity: (u64, u64),
}

impl Incoming {
    /// Whether contents are of use although their file cannot have its name.
    pub(in crate::receive) fn may_set_aside(&self, trouble: &Trouble, entry: &Entry<'_>) -> bool {
        let is_refused = matches!(trouble, Trouble::Entry(error) if error.is_of_the_name());
        is_refused && link_id(entry).is_some() && self.deferred.unplaced.lock().len() < LINK_SETS_MAX
    }

    /// Keeps what is whole at `spot` for the file's other names if its own name stays another's;
    /// else it goes.
    ///
    /// # Errors
    /// As [`set_aside`](Self::set_aside).
    pub(in crate::receive) fn keep_aside(
        &self,
        (spot, landed): (&Spot, &Landed),
        folder: &Folder,
        entry: &Entry<'_>,
        holds: impl FnOnce() -> (u64, Contents),
    ) -> Result<(), LaneError> {
        if *landed != Landed::Own || self.set_aside(spot, entry, holds())? {
            return Ok(());
        }
        spot.discard(folder, entry.name.as_bytes());
        Ok(())
    }

    /// Keeps what is whole at `spot` for the file's other names; false where it cannot be kept.
    ///
    /// # Errors
    /// What it is to hold could not be written down.
    pub(in crate::receive) fn set_aside(
        &self,
        spot: &Spot,
        entry: &Entry<'_>,
        (bytes, contents): (u64, Contents),
    ) -> Result<bool, LaneError> {
        let (Spot::Part(dir, name) | Spot::Aside(dir, name), Some(id)) = (spot, link_id(entry)) else {
            return Ok(false);
        };
        let Ok(there) = dir.metadata(name) else { return Ok(false) };
        if let Some(proof) = &self.proof {
            let record = Record::new(At::Aside, (RelPath::ROOT.as_bytes(), name), entry, bytes);
            proof.file(&Record { contents, ..record }, &self.staging.dir)?;
        }
        let unplaced = Unplaced { dir: Arc::clone(dir), name: name.clone(), identity: (there.dev, there.ino) };
        self.deferred.unplaced.lock().insert(id, unplaced);
        Ok(true)
    }

    /// The folder that a file's contents are in without their name.
    pub(in crate::receive) fn unplaced_in(&self, id: u64) -> Option<Arc<Dir>> {
        self.deferred.unplaced.lock().get(&id).map(|unplaced| Arc::clone(&unplaced.dir))
    }

    /// It is not what was sent.
    pub(in crate::receive) fn forget_unplaced(&self, id: u64) {
        self.deferred.unplaced.lock().remove(&id);
    }

    /// Takes the last temporary names away: that changes when their files were changed last.
    pub(in crate::receive) fn discard_unplaced(&self) {
        for Unplaced { dir, name, .. } in std::mem::take(&mut *self.deferred.unplaced.lock()).into_values() {
            // What stays goes with the staging folder.
            let _ = dir.unlink(&name);
        }
    }
}
