//! Ends a transfer: settles the accounts, makes early links, gives folders their attributes and
//! final names, synchronises, and counts.
pub(super) mod verification;

use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use crate::disk::Dir;
use ringway_model::{OnConflict, Operation};
use ringway_sys::attributes::metadata_of;
use ringway_wire::ProtocolError;
use ringway_wire::control::Receipt;
use ringway_wire::lane::{Attributes, Counts};

use super::failures::{LaneError, There, Trouble, during, failed, is_full, spool_error};
use super::lane::Worker;
use super::merge::attributes::timestamp;
use super::merge::folder_records::FolderRecord;
use super::merge::folders::Folder;
use super::merge::landing::free_number;
use super::staging::read_only_folders;
use super::staging::removal;
use super::staging::spool::Spool;
use super::{Incoming, PERMISSION_BITS};
use crate::limits::BROUGHT_NAMES_MAX;

/// Top-level folders whose own attributes are synchronised one by one; with more, the filesystem is
/// synchronised once more instead.
const TOPS_SYNCED_MAX: u64 = 64;

/// Who may write to a folder may not remove others' entries in it.
const STICKY: u32 = 0o1000;

/// Names taken from a listing at a time while what is listed is being renamed.
const NAMES_AT_ONCE: usize = 1024;

/// Why there is no receipt.
#[derive(Debug, thiserror::Error)]
pub enum FinishError {
    /// What came is not what was declared.
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

/// Which mode a folder gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dress {
    /// The sender's: this transfer made it, or the receiver said so.
    Made,
    /// None that lets in anybody who could not get in before.
    Existing,
}

/// The mode of a folder that existed, where the sender wants another one: only fewer permissions;
/// what restricts stays, and so does the group's inheritance.
fn narrowed(there: u32, wanted: u32) -> u32 {
    (there & wanted & PERMISSION_BITS) | (there & !PERMISSION_BITS) | (wanted & STICKY)
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

impl Incoming {
    /// Finishes the transfer after every lane's end: what came must be what was `declared`. Returns
    /// the receipt and the first top-level paths under their final names. After an error there is
    /// no receipt and [`abandon`](Self::abandon) is to be called.
    ///
    /// # Errors
    /// [`FinishError`]; entries that fail are in [`take_failures`](Self::take_failures) and the
    /// receipt's count instead.
    pub fn finish(&self, declared: &Counts) -> Result<(Receipt, Vec<PathBuf>), FinishError> {
        if self.flags.is_cancelled.load(Ordering::Relaxed) {
            return Err(LaneError::Cancelled.into());
        }
        if self.is_gone() || self.has_moved() {
            return Err(LaneError::DestinationGone.into());
        }
        self.accounts.lock().ledger.settle(declared)?;
        let proven = match &self.proof {
            None => None,
            Some(proof) => {
                self.flags.is_proving.store(true, Ordering::Release);
                // Folders keep their own modes from those who read, and links are names of what was
                // proven.
                Some(self.prove(proof)?)
            }
        };
        Worker::new(self)?.make_early_links()?;
        self.discard_unplaced();
        self.ends_writing();
        // Deepest first, so that no folder's mode stands in the way of those below it.
        let mut spool = std::mem::take(&mut *self.deferred.folder_attributes.lock());
        for depth in (2..spool.chains()).rev() {
            self.dress_folders(&mut spool, depth, false)?;
        }
        self.dress_folders(&mut spool, 1, false)?;
        self.synchronise()?;
        // That may have taken minutes. What is stopped or forgotten until now is not published.
        if self.flags.is_cancelled.load(Ordering::Relaxed) {
            return Err(LaneError::Cancelled.into());
        }
        self.announce()?;
        let telling = |error| self.telling_of_names(error);
        let tops =
            self.dress_folders(&mut spool, 1, true).map_err(telling)? + self.publish_unnamed().map_err(telling)?;
        if tops > TOPS_SYNCED_MAX {
            self.synchronise().map_err(telling)?;
        }
        drop(spool);
        self.close_files();
        // All of it has its name by now, which a staging folder that stays does not change.
        if removal::remove_tree(&self.root.dir, &self.staging.name).is_err() {
            self.flags.is_left_behind.store(true, Ordering::Relaxed);
        }
        self.root.dir.sync().map_err(unfinished(Operation::Sync)).map_err(telling)?;
        if self.has_moved() {
            return Err(LaneError::DestinationGone.into());
        }
        let There { counts: there, moved, unchanged, skipped, skipped_bytes } = self.results.tally.there();
        let arrived = self.published();
        let (edited, failed) = (self.edited(), self.results.failures.count());
        // What was copied may have been found to be wrong, and is not there then.
        let reused = self.reused().min(there.bytes);
        Ok((Receipt { there, moved, unchanged, skipped, skipped_bytes, reused, edited, failed, proven }, arrived))
    }

    /// Has the folders remembered that are about to get their names. One whose name something has
    /// already will get another one.
    fn announce(&self) -> Result<(), FinishError> {
        let Some(announce) = &self.options.announce else { return Ok(()) };
        let mut names = self.staged(BROUGHT_NAMES_MAX).map_err(unfinished(Operation::Read))?;
        names.retain(|name| self.root.dir.metadata(name).is_err_and(|error| error.kind() == io::ErrorKind::NotFound));
        let known = |name: Vec<u8>| self.brought_as(&name).map(|brought| (name, brought));
        let brought: Vec<_> = names.into_iter().filter_map(known).collect();
        *self.top.announced.lock() = brought.iter().map(|(name, _)| name.clone()).collect();
        if !brought.is_empty() {
            announce(brought);
        }
        Ok(())
    }

    /// By the root's descriptor, which no write-back before has asked by.
    pub(super) fn synchronise(&self) -> Result<(), FinishError> {
        let foreign = self.deferred.foreign.lock();
        let covered = self.staging.journal.covered();
        let synchronised = self
            .root
            .dir
            .sync_filesystem()
            .and_then(|()| foreign.iter().try_for_each(|(_, dir)| dir.sync_filesystem()));
        let synchronised = self.noting_loss(synchronised).map_err(unfinished(Operation::Sync));
        match synchronised {
            // For the next attempt, should a name be refused.
            Ok(()) if self.is_sound() => self.staging.journal.synced(covered),
            Ok(()) => {}
            Err(_) => {}
        }
        synchronised
    }

    /// Sets the attributes of the folders at one depth; those at the top of the staging tree are in
    /// a round of their own (`tops`), in which they get their final names. Returns how many did.
    fn dress_folders(&self, spool: &mut Spool, depth: usize, tops: bool) -> Result<u64, FinishError> {
        let mut published = 0;
        let mut cursor = spool.last(depth);
        while let Some(at) = cursor {
            let (bytes, before) = spool.read(at).map_err(|error| spool_error(&error))?;
            cursor = before;
            let Some(record) = FolderRecord::decode(&bytes) else { continue };
            if tops != (record.staged && depth == 1) {
                continue;
            }
            let dressed = if tops {
                self.publish(record.path.as_bytes(), Some(&record.attributes), published).map(|was| {
                    published += u64::from(was);
                })
            } else {
                let base = if record.staged { &self.staging.tree } else { &self.root.dir };
                let opened = self.wait_to_open(|| base.open_beneath(record.path.as_bytes()));
                let opened = opened.map_err(during(Operation::Open));
                opened.and_then(|dir| {
                    let dressed = match record.staged {
                        true => self.dress(&dir, &record.attributes, Dress::Made),
                        false => self.dress_merged(&dir, record.path.as_bytes(), &record.attributes),
                    };
                    dressed.map_err(during(Operation::Metadata))
                })
            };
            match dressed {
                Ok(()) => self.results.tally.folder(),
                Err(Trouble::Entry(error)) => self.results.failures.add(record.path.as_bytes(), None, error),
                Err(Trouble::Fatal(error)) => return Err(error.into()),
            }
        }
        Ok(published)
    }

    /// Gives the folders that this transfer has made where others see them what was sent for them:
    /// it ends here, and nothing comes back to them. What cannot be given leaves them private.
    pub(super) fn dress_made(&self) {
        let mut spool = std::mem::take(&mut *self.deferred.folder_attributes.lock());
        for depth in (1..spool.chains()).rev() {
            let mut cursor = spool.last(depth);
            while let Some((bytes, before)) = cursor.and_then(|at| spool.read(at).ok()) {
                cursor = before;
                let Some(record) = FolderRecord::decode(&bytes).filter(|record| !record.staged) else { continue };
                let path = record.path.as_bytes();
                let _ = self.root.dir.open_beneath(path).and_then(|dir| match self.was_made(&dir, path)? {
                    true => self.dress(&dir, &record.attributes, Dress::Made),
                    false => Ok(()),
                });
            }
        }
    }

    /// Whether a folder is given the sender's attributes: one that existed only where the receiver
    /// said to replace.
    pub(super) fn may_dress(&self, folder: &Folder) -> io::Result<bool> {
        Ok(folder.is_staged()
            || self.options.on_conflict == OnConflict::Replace
            || self.was_made(&folder.dir, &folder.path)?)
    }

    /// The same for a folder that others see.
    fn dress_merged(&self, dir: &Dir, path: &[u8], attributes: &Attributes) -> io::Result<()> {
        match self.options.on_conflict {
            _ if self.was_made(dir, path)? => self.dress(dir, attributes, Dress::Made),
            OnConflict::Replace if self.options.widen_modes => self.dress(dir, attributes, Dress::Made),
            OnConflict::Replace => self.dress(dir, attributes, Dress::Existing),
            OnConflict::Keep | OnConflict::Rename | OnConflict::RenameTop => Ok(()),
        }
    }

    /// Gives a folder its owner, mode and time, leaving alone what is right already: it may be
    /// somebody else's.
    fn dress(&self, dir: &Dir, attributes: &Attributes, dress: Dress) -> io::Result<()> {
        let there = metadata_of(dir)?;
        if self.options.own.lie_in(&there) {
            // Its mode decides who reaches our key, and whether we do.
            return Ok(());
        }
        let before = read_only_folders::mode_of(&there);
        let mode = match (self.final_mode(attributes), dress) {
            (mode, Dress::Made) => mode,
            (mode, Dress::Existing) => narrowed(before, mode),
        };
        let owner_differs = self.options.keep_owner && (there.uid, there.gid) != (attributes.uid, attributes.gid);
        let owned =
            if owner_differs { self.disk().set_owner(dir.as_fd(), attributes.uid, attributes.gid) } else { Ok(()) };
        let moded =
            if owner_differs || before != mode { read_only_folders::set_mode_of(dir, &there, mode) } else { Ok(()) };
        let mtime = timestamp(attributes.mtime);
        let timed = if there.mtime == mtime { Ok(()) } else { self.set_time(dir, mtime) };
        owned.and(moded).and(timed)
    }

    /// Gives a top-level folder of the staging tree its final name, numbered if something has that
    /// by now, then its attributes: a folder that its owner may not write to cannot be moved. False
    /// if it had been published already, being named twice.
    fn publish(&self, top: &[u8], attributes: Option<&Attributes>, published: u64) -> Result<bool, Trouble> {
        let dir = match self.wait_to_open(|| self.staging.tree.open_dir(top)) {
            Ok(dir) => dir,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(self.refused(top, Operation::Open, error)),
        };
        let rename = |name: &[u8]| self.staging.tree.rename_noreplace(top, &self.root.dir, name);
        let name = match rename(top) {
            Ok(()) => top.to_vec(),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                free_number(top, false, rename).map_err(|error| self.refused(top, Operation::Rename, error))?
            }
            Err(error) => return Err(self.refused(top, Operation::Rename, error)),
        };
        self.note_published(top, &name);
        let dressed = attributes.map_or(Ok(()), |attributes| self.dress(&dir, attributes, Dress::Made));
        if published < TOPS_SYNCED_MAX {
            self.noting_loss(dir.sync()).map_err(|error| self.refused(&name, Operation::Sync, error))?;
        }
        dressed.map_err(|error| failed(Operation::Metadata, &error))?;
        Ok(true)
    }

    /// An error of the destination as a whole that came once names may be there: it tells which
    /// are.
    fn telling_of_names(&self, error: FinishError) -> FinishError {
        let (operation, source) = match error {
            FinishError::Destination { operation, source } => (operation, source),
            FinishError::Lane(LaneError::Staging(source)) => (Operation::Read, source),
            told => return told,
        };
        LaneError::Refused { path: self.options.destination.clone(), operation, source, published: self.published() }
            .into()
    }

    /// The first top-level paths that have their names.
    fn published(&self) -> Vec<PathBuf> {
        self.top.arrived.lock().iter().map(|name| self.options.destination.join(OsStr::from_bytes(name))).collect()
    }

    /// What is whole cannot have its name, or not for certain: the transfer fails and keeps it, so
    /// that the same send goes on once nothing is in the way. Both ends hear which name that is.
    pub(super) fn refused(&self, name: &[u8], operation: Operation, source: io::Error) -> Trouble {
        if is_full(&source) {
            return LaneError::DestinationFull.into();
        }
        self.results.failures.add(name, None, failed(operation, &source));
        let path = self.options.destination.join(OsStr::from_bytes(name));
        LaneError::Refused { path, operation, source, published: self.published() }.into()
    }

    /// Publishes the top-level folders that were only ever named as others' paths.
    fn publish_unnamed(&self) -> Result<u64, FinishError> {
        let mut published = 0;
        loop {
            let names = self.staged(NAMES_AT_ONCE).map_err(unfinished(Operation::Read))?;
            let mut any = false;
            for name in &names {
                match self.publish(name, None, published) {
                    Ok(was) => {
                        any |= was;
                        published += u64::from(was);
                    }
                    Err(Trouble::Entry(error)) => self.results.failures.add(name, None, error),
                    Err(Trouble::Fatal(error)) => return Err(error.into()),
                }
            }
            if !any {
                return Ok(published);
            }
        }
    }

    /// The first names at the top of the staging tree.
    fn staged(&self, names_max: usize) -> io::Result<Vec<Vec<u8>>> {
        let mut names = Vec::new();
        let mut entries = self.staging.tree.entries()?;
        while names.len() < names_max
            && let Some(entry) = entries.next()
        {
            names.push(entry?.name.to_vec());
        }
        Ok(names)
    }
}
