//! Answers a sender's list: which of its files are not here yet.
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ringway_wire::RelPath;
use ringway_wire::control::Wanted;
use ringway_wire::journal::Version;
use ringway_wire::lane::{Counts, Digest, Entry, EntryKind, FileList};
use ringway_wire::limits::OPEN_RANGED_MAX;
use ringway_wire::stretches::Stretches;

use crate::readback::Part;
use crate::receive::failures::{LaneError, Trouble};
use crate::receive::lane::Worker;
use crate::receive::merge::folders::Folder;
use crate::receive::merge::landing::{self, Decision, Landed};
use crate::receive::staging::{Kept, SizeAndTime};

/// Large files that are waited for at a time, to go on with them: a sender lists 32 ahead. Of more,
/// all is asked for.
const RESUMING_MAX: usize = OPEN_RANGED_MAX;

/// Whether a file of a list is here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Here {
    No,
    /// One of its size and time is, of which the sender has not said the digest.
    Alike,
    /// It need not be sent, and is settled.
    Settled(Decision),
    /// It stays as another name of the same file does, and counts as a link.
    KeptLink,
}

impl Worker<'_> {
    /// Looks for each file of a list, settles those that are here, and asks for the others.
    pub(in crate::receive) fn list(&mut self, list: &FileList<'_>) -> Result<(), LaneError> {
        let (mut files, mut kept) = (Vec::with_capacity(list.len()), Vec::with_capacity(list.len()));
        let (mut unwanted, mut has, mut basis) = (Counts::default(), Stretches::default(), 0);
        let mut current: Option<(RelPath<'_>, Option<Arc<Folder>>)> = None;
        let owners = &self.incoming.policy.attributes.owners;
        for (number, (path, sent)) in list.files().enumerate() {
            let entry = Entry { attributes: owners.local(&sent.attributes), ..sent };
            let folder = match &current {
                Some((at, folder)) if *at == path => folder.clone(),
                _ => {
                    let folder = match self.folders.folder(path) {
                        Ok(folder) => Some(folder),
                        // It is said when the file itself comes.
                        Err(Trouble::Entry(_)) => None,
                        Err(Trouble::Fatal(error)) => return Err(self.incoming.flags.stopped_by(error)),
                    };
                    current = Some((path, folder.clone()));
                    folder
                }
            };
            let found = match &folder {
                Some(folder) => self.is_here(folder, path, &entry, list.digest(number))?,
                None => Here::No,
            };
            if found == Here::Settled(Decision::Same) {
                owners.note(&sent.attributes);
            }
            let stays = matches!(found, Here::Settled(Decision::Kept) | Here::KeptLink);
            let here = stays || matches!(found, Here::Settled(_));
            match (found, entry.kind) {
                (Here::KeptLink, _) => unwanted.links += 1,
                (Here::Settled(_), EntryKind::File { size, .. }) => {
                    unwanted += Counts { files: 1, bytes: size, ..Counts::default() };
                }
                _ => {}
            }
            files.push(!here);
            kept.push(stays);
            // Large files come in lists of their own.
            if let (Here::Alike, 1, EntryKind::File { size: size @ 1.., .. }) = (found, list.len(), entry.kind) {
                has.add(0, size);
            } else if let (false, 1, Some(folder), EntryKind::File { size, .. }) =
                (here, list.len(), &folder, entry.kind)
            {
                basis = match self.begun_before(folder, path, &entry, list.stamp()) {
                    // Nothing of it is known to be on the disk: it is compared.
                    Some(begun) if begun.is_empty() => size,
                    begun => {
                        has = begun.unwrap_or_default();
                        unwanted.bytes += has.total();
                        self.basis_of(folder, &entry)
                    }
                };
            }
        }
        // Those that were taken over now belong to this attempt.
        self.incoming.staging.journal.whole(&mut self.wholes, false);
        self.incoming.staging.journal.whole(&mut self.durable, true);
        self.incoming.accounts.listed(unwanted);
        if !kept.contains(&true) {
            kept.clear();
        }
        self.incoming.sender.answer(Wanted { list: list.number(), files, has, basis, kept })
    }

    /// What there is of this version of a file that an earlier attempt has begun, if it has; it is
    /// waited for then.
    fn begun_before(&mut self, folder: &Folder, path: RelPath<'_>, entry: &Entry<'_>, stamp: u64) -> Option<Stretches> {
        let EntryKind::File { size, .. } = entry.kind else { return None };
        let incoming = self.incoming;
        let (folder_path, name): (Box<[u8]>, Box<[u8]>) = (path.as_bytes().into(), entry.name.as_bytes().into());
        let key = (folder_path.clone(), name.clone());
        let version = Version { folder: folder_path, name, size, mtime: entry.attributes.mtime, stamp };
        // Elsewhere it would have to be copied.
        if !matches!(incoming.is_foreign(folder, entry.name.as_bytes(), &self.parts), Ok(false)) {
            return None;
        }
        // Each holds a descriptor until its first range comes.
        if incoming.accounts.resuming.lock().len() >= RESUMING_MAX.min(incoming.open.resuming) {
            return None;
        }
        let left = incoming.staging.kept.begun(version, incoming.proof.is_some())?;
        let has = left.has.clone();
        incoming.accounts.resuming.lock().insert(key, left);
        Some(has)
    }

    /// Whether a file need not be sent: it is the same, or stays whatever it is. It is settled
    /// then.
    fn is_here(
        &mut self,
        folder: &Arc<Folder>,
        path: RelPath<'_>,
        entry: &Entry<'_>,
        digest: Option<Digest>,
    ) -> Result<Here, LaneError> {
        let EntryKind::File { size, .. } = entry.kind else { return Ok(Here::No) };
        let incoming = self.incoming;
        let mtime = entry.attributes.mtime;
        let reads_back = incoming.proof.is_some() || incoming.staging.kept.is_suspect();
        let compares = reads_back || folder.is_staged() && incoming.staging.kept.is_doubted(mtime);
        let digest = digest.filter(|_| compares);
        let alike = |found| if found && incoming.proof.is_some() { Here::Alike } else { Here::No };
        let name = entry.name.as_bytes();
        if folder.admit_in(&incoming.folding, name).is_err() {
            // It is said when the file itself comes.
            return Ok(Here::No);
        }
        let mut is_compared = false;
        let decision = if folder.is_staged() {
            let kept = self.last_kept.folder(&incoming.staging.kept, path);
            let looks = SizeAndTime { size, mtime };
            if !reads_back && incoming.staging.kept.take_durable(&kept, path, name, looks, &folder.dir) {
                self.durable.add(path, entry, size);
            } else if digest.is_some_and(|digest| digest != Digest::NONE)
                && Kept::take_alike(&kept, name, looks, &folder.dir)
            {
                if !self.is_proven(folder, name, size, digest) {
                    // It comes once more. If it cannot be removed, that is said then.
                    let _ = folder.dir.unlink(name);
                    return Ok(Here::No);
                }
                self.wholes.add(path, entry, size);
                incoming.staging.writeback.owe(size);
            } else {
                return Ok(alike(Kept::has_alike(&kept, name, looks)));
            }
            Decision::Same
        } else {
            match incoming
                .admit(folder, name)
                .map_err(Trouble::from)
                .and_then(|()| incoming.policy.decide(folder, entry))
            {
                Ok(decision @ (Decision::Same | Decision::Kept | Decision::Beside)) => decision,
                Ok(decision @ (Decision::Replace | Decision::Edited | Decision::Number))
                    if digest == Some(Digest::NONE) =>
                {
                    return Ok(alike(self.compared(folder, entry, None, decision).is_some()));
                }
                Ok(decision @ (Decision::Replace | Decision::Edited | Decision::Number)) if digest.is_some() => {
                    let Some(decision) = self.compared(folder, entry, digest, decision) else { return Ok(Here::No) };
                    is_compared = true;
                    decision
                }
                // What is wrong is said when the file itself comes.
                Ok(_) | Err(Trouble::Entry(_)) => return Ok(Here::No),
                Err(Trouble::Fatal(error)) => return Err(incoming.flags.stopped_by(error)),
            }
        };
        let is_link = match (decision, entry.kind) {
            (Decision::Kept, EntryKind::File { link_id: Some(id), .. }) => incoming.deferred.links.lock().keep(id),
            _ => false,
        };
        if is_link {
            self.note_link(folder, name, &Landed::Kept);
            return Ok(Here::KeptLink);
        }
        if let Err(trouble) = self.settle_unchanged(folder, path, entry, decision, size) {
            self.report(trouble, path.as_bytes(), Some(name))?;
        }
        if let Some(proof) = incoming.proof.as_ref().filter(|_| is_compared || decision == Decision::Same) {
            proof.was_here(size);
        }
        Ok(Here::Settled(decision))
    }

    /// What becomes of a file whose contents had to be compared, if they are here: under its own
    /// name, or under a numbered one where that is another's. Without a digest nothing is read, and
    /// size and time are compared alone.
    fn compared(
        &mut self,
        folder: &Folder,
        entry: &Entry<'_>,
        digest: Option<Digest>,
        decision: Decision,
    ) -> Option<Decision> {
        let EntryKind::File { size, .. } = entry.kind else { return None };
        let incoming = self.incoming;
        let may_be_here = || {
            incoming.policy.may_be_numbered_already(entry)
                && (digest.is_some() || incoming.policy.believes_size_and_time())
        };
        if decision == Decision::Number && !may_be_here() {
            return None;
        }
        let name = entry.name.as_bytes();
        let there = folder.dir.metadata(name).ok().filter(|there| {
            landing::is_same(&folder.dir, name, there, entry)
                && !folder.is_foreign()
                && self.is_proven(folder, name, size, digest)
        });
        match there {
            Some(_) if decision == Decision::Number => return Some(Decision::Kept),
            Some(there) => return Some(incoming.policy.same_or_kept(folder, entry, &there)),
            None => {}
        }
        if decision == Decision::Replace {
            return None;
        }
        let top = &incoming.policy.top;
        top.beside_where(folder, entry, |candidate, there| {
            landing::is_same(&folder.dir, candidate, there, entry)
                // No other name of it becomes a link to a file that somebody else has put there.
                && (landing::link_id(entry).is_none() || top.is_ours_as(folder, name, candidate, there))
                && self.is_proven(folder, candidate, size, digest)
        })?;
        Some(if decision == Decision::Number { Decision::Kept } else { Decision::Beside })
    }

    /// Whether a file is what its digest says, as its medium has it; without a digest, size and
    /// time are believed.
    ///
    /// Memory may hold what the disk has refused, as if it were written. What is not written yet
    /// stays in memory, and the next sync tells of it: the descriptor that it asks by was opened
    /// before.
    fn is_proven(&mut self, folder: &Folder, name: &[u8], size: u64, digest: Option<Digest>) -> bool {
        let Some(digest) = digest else { return true };
        let whole = Part { offset: 0, len: size, digest: blake3::Hash::from_bytes(digest.0) };
        let cancelled = &self.incoming.flags.is_cancelled;
        // What cannot be opened or read is not here.
        folder.dir.open_read(name).is_ok_and(|file| {
            self.incoming.root.disk().drop_cached(file.as_fd());
            let reading = self.reading.get_or_insert_default();
            reading.is_same(&file, size, &whole, || cancelled.load(Ordering::Relaxed)).unwrap_or(false)
        })
    }
}
