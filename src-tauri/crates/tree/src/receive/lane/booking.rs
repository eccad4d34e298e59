//! Books what has landed, or stays as it is: for the report, for later hard links, for the proof.
use std::sync::Arc;

use ringway_model::Operation;
use ringway_wire::RelPath;
use ringway_wire::lane::{Entry, EntryKind};

use crate::receive::digests::{At, Contents, Holds, Record};
use crate::receive::failures::{LaneError, Spared, Trouble, during, spool_error};
use crate::receive::lane::Worker;
use crate::receive::links::Place;
use crate::receive::links::unplaced::Unplaced;
use crate::receive::merge::folders::{Folder, Landing};
use crate::receive::merge::landing::{Decision, Landed, link_id};
use crate::receive::staging::spot::Spot;

impl Worker<'_> {
    /// Books a file that stays as it is, and corrects what it has besides its contents if those are
    /// equal.
    pub(in crate::receive) fn settle_unchanged(
        &self,
        folder: &Folder,
        path: RelPath<'_>,
        entry: &Entry<'_>,
        decision: Decision,
        bytes: u64,
    ) -> Result<(), Trouble> {
        self.incoming.results.tally.file(bytes);
        self.incoming.results.tally.spared(Spared { all: bytes, reused: 0 });
        let landed = match decision {
            Decision::Kept => Landed::Kept,
            Decision::Beside => self.incoming.policy.landed_beside(folder, entry, &self.incoming.results.edits),
            _ => Landed::Unchanged,
        };
        if self.incoming.policy.is_skipped(&landed) {
            self.incoming.results.tally.skipped_bytes(bytes);
        }
        self.note_file(folder, path, entry, &landed)?;
        match decision {
            Decision::Same => self.incoming.policy.touch_up(folder, entry).map_err(during(Operation::Metadata)),
            _ => Ok(()),
        }
    }

    /// Books a file that is there: for later hard links, for the report, and whether it was there
    /// before.
    pub(in crate::receive) fn note_file(
        &self,
        folder: &Folder,
        path: RelPath<'_>,
        entry: &Entry<'_>,
        landed: &Landed,
    ) -> Result<(), Trouble> {
        let name = match landed {
            Landed::As(name) | Landed::Beside(name) => name,
            Landed::There | Landed::Unchanged | Landed::Kept | Landed::Own => entry.name.as_bytes(),
        };
        self.count_landed(folder, landed);
        match landed {
            // It is there under one of these names, or stays under a policy by which nothing comes.
            Landed::Unchanged | Landed::Kept if !self.incoming.policy.is_skipped(landed) => {
                self.incoming.policy.top.share_version(folder, entry, landed);
            }
            Landed::Beside(number) => self.incoming.policy.top.share(folder, entry.name.as_bytes(), number),
            Landed::Unchanged | Landed::Kept | Landed::There | Landed::As(_) | Landed::Own => {}
        }
        if folder.landing == Landing::Root {
            self.incoming.policy.top.note_arrived(name, *landed == Landed::There);
            if let Landed::As(number) = landed {
                self.incoming.policy.top.note_numbered(entry, number);
            }
        }
        if let EntryKind::File { link_id: Some(id), .. } = entry.kind
            && !matches!(landed, Landed::Kept | Landed::Own)
            && let Ok(there) = folder.dir.metadata(name)
        {
            let place = Place { path, name, identity: Some((there.dev, there.ino)) };
            let noted = self.incoming.deferred.links.lock().insert(id, place, &self.incoming.staging.dir);
            noted.map_err(spool_error(Operation::Write))?;
        }
        Ok(())
    }

    /// Books a link that is there.
    pub(in crate::receive) fn note_link(&self, folder: &Folder, name: &[u8], landed: &Landed) {
        self.incoming.results.tally.link();
        self.count_landed(folder, landed);
        if matches!(landed, Landed::Unchanged | Landed::Beside(_)) {
            self.incoming.policy.top.share(folder, name, name);
        }
        if folder.landing == Landing::Root {
            self.incoming.policy.top.note_arrived(name, *landed == Landed::There);
        }
    }

    /// Counts what landed by what was there before.
    pub(in crate::receive) fn count_landed(&self, folder: &Folder, landed: &Landed) {
        match landed {
            _ if self.incoming.policy.is_skipped(landed) => self.incoming.results.tally.skipped(),
            _ if landed.is_unchanged() => self.incoming.results.tally.unchanged(),
            _ if folder.is_staged() => {}
            _ => self.incoming.staging.note_merged(),
        }
    }

    /// Keeps what a file is to hold, now that it has its name, if it is to be proven. What was
    /// there and was compared with the received bytes needs no more; what stays whatever it is
    /// proves nothing.
    pub(in crate::receive) fn keep_for_proof(
        &self,
        record: &Record,
        landed: &Landed,
        contents: Contents,
    ) -> Result<(), Trouble> {
        let Some(proof) = &self.incoming.proof else { return Ok(()) };
        match landed {
            Landed::There | Landed::As(_) => {
                proof.file(&Record { contents, ..record.clone() }, &self.incoming.staging.dir)?;
            }
            Landed::Unchanged | Landed::Own | Landed::Beside(_) => proof.was_here(record.bytes),
            Landed::Kept => {}
        }
        Ok(())
    }

    /// Keeps what is whole at `spot` for the file's other names if its own name stays another's;
    /// else it goes.
    ///
    /// # Errors
    /// As [`set_aside`](Self::set_aside).
    pub(in crate::receive) fn keep_aside(
        &self,
        spot: &Spot,
        landed: &Landed,
        folder: &Folder,
        entry: &Entry<'_>,
        holds: impl FnOnce() -> Holds,
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
        holds: Holds,
    ) -> Result<bool, LaneError> {
        let (Spot::Part(dir, name) | Spot::Aside(dir, name), Some(id)) = (spot, link_id(entry)) else {
            return Ok(false);
        };
        if spot.holds_owners() {
            return Ok(false);
        }
        let Ok(there) = dir.metadata(name) else { return Ok(false) };
        if let Some(proof) = &self.incoming.proof {
            let record = Record::new(At::Aside, RelPath::ROOT.as_bytes(), name, entry, holds.bytes);
            proof.file(&Record { contents: holds.contents, ..record }, &self.incoming.staging.dir)?;
        }
        let unplaced = Unplaced { dir: Arc::clone(dir), name: name.clone(), identity: (there.dev, there.ino) };
        self.incoming.deferred.unplaced.lock().insert(id, unplaced);
        Ok(true)
    }
}
