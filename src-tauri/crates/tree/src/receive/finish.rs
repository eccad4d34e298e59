//! Ends a transfer: settles the accounts, makes early links, gives folders their attributes and
//! final names, synchronises, and counts.
pub(super) mod verification;

use std::io;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Instant;

use ringway_model::Operation;
use ringway_wire::ProtocolError;
use ringway_wire::control::Receipt;
use ringway_wire::lane::Counts;

use super::Incoming;
use super::failures::{LaneError, There, Trouble, during, failed, is_full, spool_error};
use super::lane::Worker;
use super::merge::attributes::Dress;
use super::merge::folder_records::FolderRecord;
use super::numbered::free_number;
use super::staging::removal;
use super::staging::spool::Spool;
use crate::limits::BROUGHT_NAMES_MAX;

/// Top-level folders whose own attributes are synchronised one by one; with more, the filesystem is
/// synchronised once more instead.
const TOPS_SYNCED_MAX: u64 = 64;

/// Names taken from a listing at a time while what is listed is being renamed.
const NAMES_AT_ONCE: usize = 1024;

/// Why there is no receipt.
#[derive(Debug, thiserror::Error)]
pub enum FinishError {
    /// What arrived is not what was declared.
    #[error("protocol error: {0}")]
    Protocol(#[from] ProtocolError),
    /// As for a lane.
    #[error(transparent)]
    Lane(#[from] LaneError),
    /// The destination as a whole could not be finished.
    #[error("{operation:?}: {source}")]
    Destination {
        /// What was being done.
        operation: Operation,
        /// What the kernel said.
        source: io::Error,
    },
}

fn unfinished(operation: Operation) -> impl Fn(io::Error) -> FinishError {
    move |source| {
        if is_full(&source) {
            LaneError::DestinationFull.into()
        } else {
            FinishError::Destination { operation, source }
        }
    }
}

/// Carries out the end of a transfer.
pub(super) struct Finisher<'i> {
    incoming: &'i Incoming,
    /// Top-level folders that have got their names.
    published: u64,
}

impl<'i> Finisher<'i> {
    pub(super) fn new(incoming: &'i Incoming) -> Self {
        Self { incoming, published: 0 }
    }

    /// As [`Incoming::finish_if`].
    pub(super) fn finish(
        mut self,
        declared: &Counts,
        may: impl FnOnce() -> bool,
    ) -> Result<(Receipt, Vec<PathBuf>), FinishError> {
        let incoming = self.incoming;
        let Incoming { root, policy, staging, flags, .. } = incoming;
        if !flags.goes_on() {
            return Err(LaneError::Cancelled.into());
        }
        if staging.is_gone() || root.has_moved() {
            return Err(LaneError::DestinationGone.into());
        }
        incoming.accounts.settle(declared)?;
        let proven = match &incoming.proof {
            None => None,
            Some(proof) => {
                flags.is_proving.store(true, Ordering::Release);
                // Folders keep their own modes from those who read, and links are names of what was
                // proven.
                let begun = Instant::now();
                self.synchronise()?;
                Some(verification::prove(incoming, proof, begun)?)
            }
        };
        Worker::new(incoming)?.make_early_links()?;
        incoming.discard_unplaced();
        staging.end_writing();
        // Deepest first, so that no folder's mode stands in the way of those below it.
        let mut spool = std::mem::take(&mut *incoming.deferred.folder_attributes.lock());
        for depth in (2..spool.chains()).rev() {
            self.dress_folders(&mut spool, depth, false)?;
        }
        self.dress_folders(&mut spool, 1, false)?;
        self.synchronise()?;
        // That may have taken minutes. What is stopped or forgotten until now is not published, and
        // what comes later is too late.
        if !flags.begin_naming(may) {
            return Err(LaneError::Cancelled.into());
        }
        self.announce()?;
        self.publish_all(&mut spool).map_err(|error| self.telling_of_names(error))?;
        drop(spool);
        incoming.close_files();
        // All of it has its name by now, which a staging folder that stays does not change.
        if removal::remove_staging(root.destination(), &staging.name).is_err() {
            flags.is_left_behind.store(true, Ordering::Relaxed);
        }
        root.dir.sync().map_err(|error| self.telling_of_names(unfinished(Operation::Sync)(error)))?;
        if root.has_moved() {
            return Err(LaneError::DestinationGone.into());
        }
        let (results, arrived) = (&incoming.results, policy.top.published());
        let There { counts: there, moved, unchanged, skipped, skipped_bytes } = results.tally.there();
        let (edited, failed) = (results.edited(), results.failed());
        let reused = results.reused();
        let acls_lost = incoming.acls_lost();
        let owners_by_number = incoming.owners_by_number();
        let receipt = Receipt {
            there,
            moved,
            unchanged,
            skipped,
            skipped_bytes,
            reused,
            edited,
            failed,
            acls_lost,
            owners_by_number,
            proven,
        };
        Ok((receipt, arrived))
    }

    /// Gives what is staged its final names, then those of folders that were only ever named as
    /// others' paths.
    fn publish_all(&mut self, spool: &mut Spool) -> Result<(), FinishError> {
        self.dress_folders(spool, 1, true)?;
        self.publish_unnamed()?;
        if self.published > TOPS_SYNCED_MAX { self.synchronise() } else { Ok(()) }
    }

    /// Has the folders remembered that are about to get their names. One whose name something has
    /// already will get another one.
    fn announce(&self) -> Result<(), FinishError> {
        let (staging, top) = (&self.incoming.staging, &self.incoming.policy.top);
        if top.announces() {
            let names = staging.staged(BROUGHT_NAMES_MAX).map_err(unfinished(Operation::Read))?;
            top.announce(names, &staging.tree, staging.times.filled());
        }
        Ok(())
    }

    /// By the root's descriptor, which no write-back before has asked by.
    pub(super) fn synchronise(&self) -> Result<(), FinishError> {
        let Incoming { root, staging, deferred, .. } = self.incoming;
        let foreign = deferred.foreign.lock();
        let covered = staging.journal.covered();
        let synchronised =
            root.dir.sync_filesystem().and_then(|()| foreign.iter().try_for_each(|(_, dir)| dir.sync_filesystem()));
        staging.noting_loss(synchronised).map_err(unfinished(Operation::Sync))?;
        if staging.is_sound() {
            // For the next attempt, should a name be refused.
            staging.journal.synced(covered);
        }
        Ok(())
    }

    /// Sets the attributes of the folders at one depth; those at the top of the staging tree are in
    /// a round of their own (`tops`), in which they get their final names.
    fn dress_folders(&mut self, spool: &mut Spool, depth: usize, tops: bool) -> Result<(), FinishError> {
        let mut cursor = spool.last(depth);
        while let Some(at) = cursor {
            let (bytes, before) = spool.read(at).map_err(spool_error(Operation::Read))?;
            cursor = before;
            let Some(record) = FolderRecord::decode(&bytes) else { continue };
            if tops != (record.staged && depth == 1) {
                continue;
            }
            let dressed = if tops {
                self.publish(record.path.as_bytes(), Some(&record)).map(drop)
            } else {
                let Incoming { root, staging, .. } = self.incoming;
                let path = record.path.as_bytes();
                let opened = self.incoming.flags.wait_to_open(|| match record.staged {
                    true => staging.tree.open_beneath(path),
                    false => root.open_here(path),
                });
                let opened = opened.map_err(during(Operation::Open));
                opened.and_then(|dir| {
                    let dressed = match record.staged {
                        true => self.incoming.policy.attributes.dress(&dir, &record, Dress::Made),
                        false => self.incoming.policy.dress_merged(&self.incoming.staging, &dir, &record),
                    };
                    dressed.map_err(during(Operation::Metadata))
                })
            };
            match dressed {
                Ok(()) => self.incoming.results.tally.folder(),
                Err(Trouble::Entry(error)) => self.incoming.results.failures.add(record.path.as_bytes(), None, error),
                Err(Trouble::Fatal(error)) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Gives the folders that this transfer has made where others see them what was sent for them:
    /// it ends here, and nothing comes back to them. What cannot be given leaves them private.
    pub(super) fn dress_made(&self) {
        let mut spool = std::mem::take(&mut *self.incoming.deferred.folder_attributes.lock());
        for depth in (1..spool.chains()).rev() {
            let mut cursor = spool.last(depth);
            while let Some((bytes, before)) = cursor.and_then(|at| spool.read(at).ok()) {
                cursor = before;
                let Some(record) = FolderRecord::decode(&bytes).filter(|record| !record.staged) else { continue };
                let path = record.path.as_bytes();
                let _ = self.incoming.root.open_here(path).and_then(|dir| {
                    match self.incoming.policy.was_made(&self.incoming.staging, &dir, path)? {
                        true => self.incoming.policy.attributes.dress(&dir, &record, Dress::Made),
                        false => Ok(()),
                    }
                });
            }
        }
    }

    /// Gives a top-level folder of the staging tree its final name, numbered if something has that
    /// by now, then its attributes: a folder that its owner may not write to cannot be moved. False
    /// if it had been published already, being named twice.
    fn publish(&mut self, top: &[u8], record: Option<&FolderRecord<'_>>) -> Result<bool, Trouble> {
        let dir = match self.incoming.flags.wait_to_open(|| self.incoming.staging.tree.open_dir(top)) {
            Ok(dir) => dir,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(self.incoming.refused(top, Operation::Open, error)),
        };
        let rename = |name: &[u8]| self.incoming.staging.tree.rename_noreplace(top, &self.incoming.root.dir, name);
        let name = match rename(top) {
            Ok(()) => top.to_vec(),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                free_number(top, false, rename).map_err(|error| self.incoming.refused(top, Operation::Rename, error))?
            }
            Err(error) => return Err(self.incoming.refused(top, Operation::Rename, error)),
        };
        self.incoming.policy.top.note_published(top, &name, self.incoming.staging.times.filled());
        let dressed = record.map_or(Ok(()), |record| self.incoming.policy.attributes.dress(&dir, record, Dress::Made));
        if self.published < TOPS_SYNCED_MAX {
            self.incoming
                .staging
                .noting_loss(dir.sync())
                .map_err(|error| self.incoming.refused(&name, Operation::Sync, error))?;
        }
        dressed.map_err(|error| failed(Operation::Metadata, &error))?;
        self.published += 1;
        Ok(true)
    }

    /// An error of the destination as a whole that came once names may be there: it tells which
    /// are.
    fn telling_of_names(&self, error: FinishError) -> FinishError {
        let (operation, source) = match error {
            FinishError::Destination { operation, source } => (operation, source),
            FinishError::Lane(LaneError::Staging { operation, source }) => (operation, source),
            told => return told,
        };
        let published = self.incoming.policy.top.published();
        LaneError::Refused { path: self.incoming.root.path_of(b""), operation, source, published }.into()
    }

    /// Publishes the top-level folders that were only ever named as others' paths.
    fn publish_unnamed(&mut self) -> Result<(), FinishError> {
        loop {
            let names = self.incoming.staging.staged(NAMES_AT_ONCE).map_err(unfinished(Operation::Read))?;
            let mut any = false;
            for name in &names {
                match self.publish(name, None) {
                    Ok(was) => any |= was,
                    Err(Trouble::Entry(error)) => self.incoming.results.failures.add(name, None, error),
                    Err(Trouble::Fatal(error)) => return Err(error.into()),
                }
            }
            if !any {
                return Ok(());
            }
        }
    }
}
