//! Writes the small files of a batch: created in groups, written together, then given their
//! attributes and final names.
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ringway_model::{FailureReason, Operation};
use ringway_sys::file_io::{FileIo, WriteAt};
use ringway_wire::RelPath;
use ringway_wire::lane::{Digest, Entry};
use rustix::io::Errno;

use crate::descriptors::patiently;
use crate::disk::Disk;
use crate::readback::Part;
use crate::receive::digests::{Contents, Holds, Record};
use crate::receive::failures::{EntryError, LaneError, Trouble, during, failed};
use crate::receive::landings::Stamp;
use crate::receive::lane::Worker;
use crate::receive::merge::attributes::CreationMode;
use crate::receive::merge::folders::Folder;
use crate::receive::merge::landing::{Decision, Landed};
use crate::receive::staging::read_only_folders::Opening;
use crate::receive::staging::spot::Spot;

/// Bytes written by one call. Before each page that it copies, a filesystem that takes them one by
/// one (tmpfs) makes sure that all the rest of the call's are there: with 1 MiB at a time that is 4
/// % of all that receiving a large file takes.
const WRITE_LEN: usize = 128 * 1024;

/// What a small file is to hold.
#[derive(Clone, Copy)]
pub(in crate::receive) struct SmallContents<'a> {
    pub(in crate::receive) body: &'a [u8],
    /// By the sender, where it is to be proven.
    pub(in crate::receive) digest: Option<Digest>,
}

/// A file of a batch that has been created and not yet finished.
pub(in crate::receive) struct Filling<'a> {
    file: OwnedFd,
    created: CreationMode,
    folder: Arc<Folder>,
    path: RelPath<'a>,
    entry: Entry<'a>,
    contents: SmallContents<'a>,
    spot: Spot,
    decision: Decision,
    /// Until it has its name.
    _opening: Option<Opening>,
}

impl Filling<'_> {
    pub(in crate::receive) fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    pub(in crate::receive) fn spot(&self) -> &Spot {
        &self.spot
    }

    /// In the staging tree, which is synchronised as a whole.
    pub(in crate::receive) fn is_staged(&self) -> bool {
        matches!(self.spot, Spot::Own)
    }

    /// In the staging folder, to be renamed from there.
    pub(in crate::receive) fn is_part(&self) -> bool {
        matches!(self.spot, Spot::Part(..))
    }

    /// Removes it, the transfer being at an end.
    pub(in crate::receive) fn discard(&self) {
        self.spot.discard(&self.folder, self.entry.name.as_bytes());
    }
}

impl Worker<'_> {
    /// Creates a file of a batch, unless what is there stays or is in the way.
    pub(in crate::receive) fn start_file<'a>(
        &mut self,
        folder: &Arc<Folder>,
        path: RelPath<'a>,
        entry: Entry<'a>,
        contents: SmallContents<'a>,
    ) -> Result<Option<Filling<'a>>, Trouble> {
        let incoming = self.incoming;
        let admitted = incoming.admit(folder, entry.name.as_bytes()).map_err(Trouble::from);
        let decision = admitted.and_then(|()| match folder.is_staged() {
            true => Ok(Decision::Absent),
            false => incoming.policy.decide(folder, &entry),
        });
        if let Ok(decision @ (Decision::Same | Decision::Kept | Decision::Beside)) = decision {
            let bytes = contents.body.len() as u64;
            return self.settle_unchanged(folder, path, &entry, decision, bytes).map(|()| None);
        }
        let created = if folder.is_foreign() {
            CreationMode::Provisional
        } else {
            incoming.policy.attributes.creation_mode(&entry.attributes)
        };
        let _opening = folder.open_for_change(&incoming.openings);
        let made = decision.and_then(|decision| Ok((decision, self.create(folder, entry.name.as_bytes(), created)?)));
        let (decision, (file, spot)) = match made {
            Err(trouble) => return self.start_aside(path, entry, contents, trouble).map(Some),
            Ok(made) => made,
        };
        let folder = Arc::clone(folder);
        Ok(Some(Filling { file, created, folder, path, entry, contents, spot, decision, _opening }))
    }

    /// Creates a file of a batch that cannot have its name, or whose folder cannot, for its other
    /// names, and reports that.
    ///
    /// # Errors
    /// `trouble`, if the contents are of no use without the name.
    pub(in crate::receive) fn start_aside<'a>(
        &mut self,
        path: RelPath<'a>,
        entry: Entry<'a>,
        contents: SmallContents<'a>,
        trouble: Trouble,
    ) -> Result<Filling<'a>, Trouble> {
        let incoming = self.incoming;
        if !incoming.deferred.may_set_aside(&trouble, &entry) {
            return Err(trouble);
        }
        let created = incoming.policy.attributes.creation_mode(&entry.attributes);
        let (file, spot) = self.create_aside(created)?;
        self.report(trouble, path.as_bytes(), Some(entry.name.as_bytes()))?;
        let folder = Arc::new(Folder::of_staging(Arc::clone(&self.parts)));
        Ok(Filling { file, created, folder, path, entry, contents, spot, decision: Decision::Absent, _opening: None })
    }

    /// The same as [`create`](Self::create) where no files wait that could be closed: gives open
    /// folders back where descriptors are short, and waits for others.
    pub(in crate::receive) fn create_patiently(
        &mut self,
        folder: &Folder,
        name: &[u8],
        mode: CreationMode,
    ) -> Result<(OwnedFd, Spot), Trouble> {
        let incoming = self.incoming;
        let spare = |worker: &mut Self| Ok(worker.folders.give_back());
        patiently(self, spare, || incoming.flags.goes_on(), |worker| worker.create(folder, name, mode))
    }

    /// Creates an empty file where it can be filled unseen.
    pub(in crate::receive) fn create(
        &mut self,
        folder: &Folder,
        name: &[u8],
        mode: CreationMode,
    ) -> Result<(OwnedFd, Spot), Trouble> {
        let mode = mode.bits();
        let gone = self.incoming.staging.or_gone(Operation::Create);
        if folder.is_staged() {
            return match folder.dir.create_new(name, mode) {
                Ok(file) => Ok((file, Spot::Own)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    Err(taken_in_staging(folder, name).into())
                }
                Err(error) => Err(gone(error)),
            };
        }
        if folder.is_foreign() {
            let temporary = self.incoming.name_beside(folder);
            let file = folder.dir.create_new(&temporary, mode).map_err(gone)?;
            return Ok((file, Spot::Beside(Arc::clone(&self.incoming.staging.dir), temporary)));
        }
        let part = self.next_part();
        let file = self.parts.create_new(&part, mode).map_err(gone)?;
        Ok((file, Spot::Part(Arc::clone(&self.parts), part)))
    }

    /// Creates an empty file that cannot have its name, for its other names.
    pub(in crate::receive) fn create_aside(&mut self, mode: CreationMode) -> Result<(OwnedFd, Spot), Trouble> {
        let part = self.next_part();
        let file =
            self.parts.create_new(&part, mode.bits()).map_err(self.incoming.staging.or_gone(Operation::Create))?;
        Ok((file, Spot::Aside(Arc::clone(&self.parts), part)))
    }

    /// Writes and finishes a group of files, and empties it.
    pub(in crate::receive) fn finish_group(
        &mut self,
        group: &mut Vec<Filling<'_>>,
        io: &mut FileIo,
    ) -> Result<(), LaneError> {
        if group.is_empty() {
            return Ok(());
        }
        let mut written = Vec::with_capacity(group.len());
        write_group(self.incoming.root.disk(), group, io, &mut written);
        self.begin_settling(group);
        let incoming = self.incoming;
        let dress = |filling: &Filling<'_>| {
            let Entry { attributes, xattrs, .. } = &filling.entry;
            incoming.policy.attributes.set_attributes(
                &filling.file,
                filling.created,
                attributes,
                *xattrs,
                filling.folder.inherits.as_ref(),
            )
        };
        let dressed: Vec<_> =
            group.iter().zip(&written).map(|(filling, written)| written.is_ok().then(|| dress(filling))).collect();
        let together = self.settle_group(group);
        let mut ended = Ok(());
        for (filling, (written, dressed)) in group.drain(..).zip(written.into_iter().zip(dressed)) {
            if ended.is_err() {
                filling.discard();
                continue;
            }
            let (path, name) = (filling.path, filling.entry.name);
            let settled = written
                .map_err(during(Operation::Write))
                .and_then(|()| together.settle(incoming, &filling).map_err(during(Operation::Sync)));
            ended = match self.finish_file(filling, settled, dressed.unwrap_or(Ok(())), io) {
                Ok(()) => Ok(()),
                Err(trouble) => self.report(trouble, path.as_bytes(), Some(name.as_bytes())),
            };
        }
        incoming.staging.journal.whole(&mut self.wholes, false);
        incoming.policy.top.save_landings();
        ended
    }

    /// Gives a file its name, once its contents are where they must be for that.
    fn finish_file(
        &mut self,
        filling: Filling<'_>,
        settled: Result<(), Trouble>,
        dressed: io::Result<()>,
        io: &mut FileIo,
    ) -> Result<(), Trouble> {
        let incoming = self.incoming;
        let name = filling.entry.name.as_bytes();
        let bytes = filling.contents.body.len() as u64;
        let digest = filling.contents.digest;
        let holds = || Holds { bytes, contents: digest.map_or(Contents::InParts(None), Contents::Whole) };
        if let (Ok(()), Spot::Aside(..)) = (&settled, &filling.spot) {
            self.set_aside(&filling.spot, &filling.entry, holds())?;
            return Ok(());
        }
        let (landed, stamp) = match settled.and_then(|()| self.land_file(&filling, io)) {
            Ok(landed) => landed,
            Err(trouble) => {
                let is_of_use = incoming.deferred.may_set_aside(&trouble, &filling.entry);
                if !is_of_use || !self.set_aside(&filling.spot, &filling.entry, holds())? {
                    filling.spot.discard(&filling.folder, name);
                }
                return Err(trouble);
            }
        };
        self.keep_aside(&filling.spot, &landed, &filling.folder, &filling.entry, holds)?;
        incoming.results.tally.file(bytes);
        self.note_file(&filling.folder, filling.path, &filling.entry, &landed)?;
        if !stamp.is_some_and(|stamp| stamp.is_of_another_time()) {
            incoming.policy.top.note_landing(&filling.folder, &filling.entry, &landed, &filling.file);
        }
        if filling.is_staged() {
            self.wholes.add(filling.path, &filling.entry, bytes);
        }
        if let Some(digest) = digest {
            let record = Record::landed(&filling.folder, filling.path, &filling.entry, &landed, stamp, bytes);
            self.keep_for_proof(&record, &landed, Contents::Whole(digest))?;
        }
        dressed.map_err(during(Operation::Metadata))
    }

    fn land_file(&mut self, filling: &Filling<'_>, io: &mut FileIo) -> Result<(Landed, Option<Stamp>), Trouble> {
        if matches!(filling.spot, Spot::Own) {
            return Ok((Landed::There, None));
        }
        let crossed = FailureReason::Os { errno: Errno::XDEV.raw_os_error() };
        match self.incoming.land(&filling.spot, &filling.folder, &filling.entry, filling.decision) {
            Err(Trouble::Entry(EntryError { reason, .. }))
                if reason == crossed && matches!(filling.spot, Spot::Part(..)) =>
            {
                filling.folder.foreign.store(true, Ordering::Relaxed);
                filling.folder.clear_left(&self.incoming.staging.temporaries, &self.incoming.openings);
                filling.spot.discard(&filling.folder, filling.entry.name.as_bytes());
                self.write_beside(filling, io)
            }
            landed => {
                let landed = landed?;
                let stamp = self.stamp(filling, &landed, &filling.file);
                Ok((landed, stamp))
            }
        }
    }

    /// What tells a file that has just landed from one that is changed later. This thread may have
    /// been interrupted in between: if the file holds something else, its owner has saved it.
    fn stamp(&mut self, filling: &Filling<'_>, landed: &Landed, file: &OwnedFd) -> Option<Stamp> {
        let stamp = self.incoming.stamp_of(file)?;
        let name = landed.name().unwrap_or(filling.entry.name.as_bytes());
        let (len, digest) = (filling.contents.body.len() as u64, filling.contents.digest?);
        let whole = Part { offset: 0, len, digest: blake3::Hash::from_bytes(digest.0) };
        let reading = self.reading.get_or_insert_default();
        let is_saved = filling
            .folder
            .dir
            .open_read(name)
            .is_ok_and(|there| reading.is_same(&there, len, &whole, || false).is_ok_and(|same| !same));
        Some(if is_saved { stamp.of_another_time() } else { stamp })
    }

    /// Writes a file once more, in its own folder, because that takes no renames from the staging
    /// folder.
    fn write_beside(&mut self, filling: &Filling<'_>, io: &mut FileIo) -> Result<(Landed, Option<Stamp>), Trouble> {
        let incoming = self.incoming;
        let created = CreationMode::Provisional;
        let (file, spot) = self.create(&filling.folder, filling.entry.name.as_bytes(), created)?;
        let landed = write_one(incoming.root.disk(), &file, 0, filling.contents.body, io)
            .map_err(during(Operation::Write))
            .and_then(|()| {
                // The same refusals were noted for the first copy.
                let _ = incoming.policy.attributes.set_attributes(
                    &file,
                    created,
                    &filling.entry.attributes,
                    filling.entry.xattrs,
                    filling.folder.inherits.as_ref(),
                );
                incoming.staging.settle(&file, &spot).map_err(during(Operation::Sync))?;
                incoming.land(&spot, &filling.folder, &filling.entry, filling.decision)
            });
        let landed = landed.inspect_err(|_| spot.discard(&filling.folder, filling.entry.name.as_bytes()))?;
        let stamp = self.stamp(filling, &landed, &file);
        // At the top nothing is known of its name before it is booked; there a file never comes
        // this way.
        incoming.policy.top.note_landing(&filling.folder, &filling.entry, &landed, &file);
        Ok((landed, stamp))
    }
}

/// Why a name in the staging tree is taken: by an entry of this transfer.
pub(super) fn taken_in_staging(folder: &Folder, name: &[u8]) -> EntryError {
    match folder.dir.metadata(name) {
        Ok(there) if there.kind != ringway_sys::attributes::Kind::File => EntryError::IN_THE_WAY,
        _ => failed(Operation::Create, &Errno::EXIST.into()),
    }
}

fn write_group(disk: &dyn Disk, group: &[Filling<'_>], io: &mut FileIo, written: &mut Vec<io::Result<()>>) {
    let writes: Vec<_> = group
        .iter()
        .map(|filling| WriteAt { fd: filling.file.as_fd(), offset: 0, bytes: filling.contents.body })
        .collect();
    disk.write_all(io, &writes, written);
}

/// Writes one piece of one file, in calls of [`WRITE_LEN`].
pub(in crate::receive) fn write_one(
    disk: &dyn Disk,
    file: &OwnedFd,
    offset: u64,
    body: &[u8],
    io: &mut FileIo,
) -> io::Result<()> {
    let calls = body.chunks(WRITE_LEN).enumerate();
    let writes: Vec<_> = calls
        .map(|(at, bytes)| WriteAt { fd: file.as_fd(), offset: offset + (at * WRITE_LEN) as u64, bytes })
        .collect();
    let mut written = Vec::with_capacity(writes.len());
    disk.write_all(io, &writes, &mut written);
    written.into_iter().collect()
}
