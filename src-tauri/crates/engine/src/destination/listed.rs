//! Answers a sender's list: which of its files are not here yet.
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ringway_wire::RelPath;
use ringway_wire::control::Wanted;
use ringway_wire::journal::Version;
use ringway_wire::lane::{Counts, Digest, Entry, EntryKind, FileList};
use ringway_wire::limits::OPEN_RANGED_MAX;
use ringway_wire::stretches::Stretches;

use super::folders::Folder;
use super::landing::{self, Decision, Landed};
use super::lane::Worker;
use super::lock;
use super::trouble::{LaneError, Trouble, during};
use crate::error::Operation;
use crate::readback::{self, Part};

/// Large files that are waited for at a time, to go on with them: a sender lists 32 ahead. Of more, all is asked for.
const RESUMING_MAX: usize = OPEN_RANGED_MAX;

impl Worker<'_> {
    /// Looks for each file of a list, settles those that are here, and asks for the others.
    pub(super) fn list(&mut self, list: &FileList<'_>) -> Result<(), LaneError> {
        let mut files = Vec::with_capacity(list.len());
        let (mut unwanted, mut has, mut basis) = (Counts::default(), Stretches::default(), 0);
        let mut current: Option<(RelPath<'_>, Option<Arc<Folder>>)> = None;
        for (number, (path, entry)) in list.files().enumerate() {
            let folder = match &current {
                Some((at, folder)) if *at == path => folder.clone(),
                _ => {
                    let folder = match self.folders.folder(self.incoming, path) {
                        Ok(folder) => Some(folder),
                        // It is said when the file itself comes.
                        Err(Trouble::Entry(_)) => None,
                        Err(Trouble::Fatal(error)) => return Err(self.incoming.stopped_by(error)),
                    };
                    current = Some((path, folder.clone()));
                    folder
                }
            };
            let here = match &folder {
                Some(folder) => self.is_here(folder, path, &entry, list.digest(number))?,
                None => false,
            };
            if let (true, EntryKind::File { size, .. }) = (here, entry.kind) {
                unwanted += Counts { files: 1, bytes: size, ..Counts::default() };
            }
            files.push(!here);
            // Large files come in lists of their own.
            if let (false, 1, Some(folder), EntryKind::File { size, .. }) = (here, list.len(), &folder, entry.kind) {
                basis = match self.begun_before(folder, path, &entry) {
                    // What was begun is not known to be what its digests would say: it is compared.
                    Some(_) if self.incoming.compares_begun() => size,
                    begun => {
                        has = begun.unwrap_or_default();
                        unwanted.bytes += has.total();
                        self.incoming.basis_of(folder, &entry)
                    }
                };
            }
        }
        lock(&self.incoming.accounts).ledger.listed(unwanted);
        self.incoming.answer(Wanted { list: list.number(), files, has, basis })
    }

    /// What there is of a file that an earlier attempt has begun, if it has; it is waited for then.
    fn begun_before(&mut self, folder: &Folder, path: RelPath<'_>, entry: &Entry<'_>) -> Option<Stretches> {
        let EntryKind::File { size, .. } = entry.kind else { return None };
        let incoming = self.incoming;
        let (folder_path, name): (Box<[u8]>, Box<[u8]>) = (path.as_bytes().into(), entry.name.as_bytes().into());
        let key = (folder_path.clone(), name.clone());
        let version = Version { folder: folder_path, name, size, mtime: entry.attributes.mtime };
        // Elsewhere it would have to be copied.
        if !matches!(incoming.is_foreign(folder, &self.parts), Ok(false)) {
            return None;
        }
        // Each holds a descriptor until its first range comes.
        if lock(&incoming.resuming).len() >= RESUMING_MAX {
            return None;
        }
        let left = incoming.kept.begun(version)?;
        let left = if incoming.compares_begun() { left.unproven() } else { left };
        let has = left.has.clone();
        lock(&incoming.resuming).insert(key, left);
        Some(has)
    }

    /// Whether a file need not be sent. It is settled then.
    fn is_here(
        &mut self,
        folder: &Arc<Folder>,
        path: RelPath<'_>,
        entry: &Entry<'_>,
        digest: Option<Digest>,
    ) -> Result<bool, LaneError> {
        let EntryKind::File { size, .. } = entry.kind else { return Ok(false) };
        let incoming = self.incoming;
        let mtime = entry.attributes.mtime;
        let compares = incoming.proof.is_some() || folder.is_staged() && incoming.kept.is_doubted(mtime);
        let digest = digest.filter(|_| compares);
        if digest == Some(Digest::NONE) {
            return Ok(false);
        }
        let name = entry.name.as_bytes();
        let decision = if folder.is_staged() {
            let kept = self.last_kept.folder(&incoming.kept, path);
            match incoming.kept.take(&kept, name, (size, mtime), &folder.dir, digest.is_some()) {
                true if self.is_proven(folder, name, size, digest) => Decision::Same,
                true => {
                    // It comes once more. If it cannot be removed, that is said then.
                    let _ = folder.dir.unlink(name);
                    return Ok(false);
                }
                false => return Ok(false),
            }
        } else {
            match incoming.admit(folder, name).map_err(Trouble::from).and_then(|()| incoming.decide(folder, entry)) {
                Ok(decision @ (Decision::Same | Decision::Kept)) => decision,
                Ok(Decision::Replace) if digest.is_some() => {
                    let same = landing::looks_same(&folder.dir, entry) && !folder.is_foreign();
                    match same && self.is_proven(folder, name, size, digest) {
                        true => Decision::Same,
                        false => return Ok(false),
                    }
                }
                // What is wrong is said when the file itself comes.
                Ok(_) | Err(Trouble::Entry(_)) => return Ok(false),
                Err(Trouble::Fatal(error)) => return Err(incoming.stopped_by(error)),
            }
        };
        if let Err(trouble) = incoming.settle_unchanged(folder, path, entry, decision, size) {
            self.report(trouble, path.as_bytes(), Some(name))?;
        }
        if let (Decision::Same, Some(proof)) = (decision, &incoming.proof) {
            proof.was_here(size);
        }
        Ok(true)
    }

    /// Whether a file is what its digest says, as its medium has it where it is to be proven; without a digest, size and time are believed.
    fn is_proven(&mut self, folder: &Folder, name: &[u8], size: u64, digest: Option<Digest>) -> bool {
        let Some(digest) = digest else { return true };
        let whole = Part { offset: 0, len: size, digest: blake3::Hash::from_bytes(digest.0) };
        let cancelled = &self.incoming.cancelled;
        // What cannot be opened or read is not here.
        folder.dir.open_read(name).is_ok_and(|file| {
            if self.incoming.proof.is_some() {
                readback::from_the_medium(&file);
            }
            let reading = self.reading.get_or_insert_default();
            reading.is_same(&file, size, &whole, || cancelled.load(Ordering::Relaxed)).unwrap_or(false)
        })
    }
}

impl super::Incoming {
    /// Books a file that stays as it is, and corrects what it has besides its contents if those are equal.
    pub(super) fn settle_unchanged(
        &self,
        folder: &Folder,
        path: RelPath<'_>,
        entry: &Entry<'_>,
        decision: Decision,
        bytes: u64,
    ) -> Result<(), Trouble> {
        self.tally.file(bytes);
        self.note_file(folder, path, entry, &Landed::Unchanged)?;
        match decision {
            Decision::Same => self.touch_up(&folder.dir, entry).map_err(during(Operation::Metadata)),
            _ => Ok(()),
        }
    }

    /// Has the answer sent. Waits while many are: a sender that lists without reading answers is not followed.
    pub(super) fn answer(&self, wanted: Wanted) -> Result<(), LaneError> {
        match &self.options.answers {
            // Who should send it has gone, and with it the transfer.
            Some(answers) => answers.blocking_send(wanted).map_err(|_| LaneError::Cancelled),
            None => Err(ringway_wire::ProtocolError::BadValue("list that nobody asked for").into()),
        }
    }
}
