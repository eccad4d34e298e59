//! Runs one lane: reads frames into the lane's own buffers and turns each into work on files.
pub(super) mod basis;
mod booking;
pub(super) mod delta;
pub(super) mod large_files;
mod links;
pub(super) mod lists;
mod settling;
pub(super) mod small_files;

use std::io;
use std::sync::Arc;

use crate::disk::Dir;
use ringway_model::{FailureReason, Operation};
use ringway_sys::attributes::Kind;
use ringway_sys::file_io::FileIo;
use ringway_wire::lane::{
    Attributes, Batch, ChunkWindow, Entry, EntryKind, FileList, FrameHeader, FrameKind, HEADER_LEN, Item, RangeHead,
    RangeStep, Xattrs,
};
use ringway_wire::{ProtocolError, RelPath};

use rustix::io::Errno;

use super::failures::{EntryError, LaneError, Trouble, during};
use super::merge::attributes::timestamp;
use super::merge::folders::{Folder, FolderCache};
use super::staging::LastKept;
use super::staging::journal::Wholes;
use super::{Incoming, PERMISSION_BITS};
use crate::bulk::LaneSource;
use crate::compression::Unpacking;
use crate::descriptors::patiently;
use crate::filesystem::granularity::{as_kept_by, nanos};
use crate::page_buffer::PageBuffer;
use crate::readback::Reading;
use links::Linked;
use small_files::{Filling, SmallContents};

/// What one lane works with.
pub(super) struct Worker<'i> {
    pub(super) incoming: &'i Incoming,
    pub(super) folders: FolderCache<'i>,
    /// This lane's own folder for temporary files: lanes that share one wait for its lock.
    pub(super) parts: Arc<Dir>,
    pub(super) parts_name: Vec<u8>,
    parts_made: u64,
    pub(super) last_kept: LastKept,
    /// Files in the staging tree that the journal does not know of yet.
    pub(super) wholes: Wholes,
    /// Those of them that are on the disk, as an earlier attempt's journal says.
    pub(super) durable: Wholes,
    /// Made when something here is first to be compared.
    pub(super) reading: Option<Reading>,
}

fn read_exact(from: &mut dyn LaneSource, mut into: &mut [u8]) -> Result<(), LaneError> {
    while !into.is_empty() {
        match from.read(into) {
            Ok(0) => return Err(LaneError::Source(io::ErrorKind::UnexpectedEof.into())),
            Ok(read) => into = &mut into[read..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(LaneError::Source(error)),
        }
    }
    Ok(())
}

/// Reads `len` bytes, which the header has bounded, into a buffer that grows as needed and is kept.
fn read_into<'b>(from: &mut dyn LaneSource, buffer: &'b mut PageBuffer, len: usize) -> Result<&'b [u8], LaneError> {
    let part = buffer.grow(len);
    read_exact(from, part)?;
    Ok(part)
}

impl<'i> Worker<'i> {
    pub(super) fn new(incoming: &'i Incoming) -> Result<Self, LaneError> {
        let (parts, parts_name) = incoming.staging.make_parts()?;
        Ok(Self {
            incoming,
            folders: FolderCache::new(incoming),
            parts: Arc::new(parts),
            parts_name,
            parts_made: 0,
            last_kept: LastKept::default(),
            wholes: Wholes::default(),
            durable: Wholes::default(),
            reading: None,
        })
    }

    /// Runs the lane to its end frame.
    pub(super) fn run(&mut self, from: &mut dyn LaneSource, io: &mut FileIo) -> Result<(), LaneError> {
        let incoming = self.incoming;
        let (mut head, mut buffer, mut unpacking) =
            (PageBuffer::default(), PageBuffer::default(), Unpacking::default());
        loop {
            incoming.check_running()?;
            let mut header = [0; HEADER_LEN];
            read_exact(from, &mut header)?;
            let header = FrameHeader::decode(header)?;
            incoming.quota.take(header.body_len.into())?;
            let head = read_into(from, &mut head, header.head_len as usize)?;
            from.body_begins();
            let (body_len, packed_len) = (header.body_len as usize, header.packed_len as usize);
            let body = match packed_len {
                0 => read_into(from, &mut buffer, body_len)?,
                _ => {
                    unpacking.packed.resize(unpacking.packed.len().max(packed_len), 0);
                    read_exact(from, &mut unpacking.packed[..packed_len])?;
                    let body = buffer.grow(body_len);
                    unpacking.unpack(packed_len, body)?;
                    body
                }
            };
            from.frame_read();
            match header.kind {
                FrameKind::End => return Ok(()),
                FrameKind::Renew => from.renew().map_err(LaneError::Source)?,
                FrameKind::List => {
                    let list = match incoming.proof.is_some() || incoming.doubts().is_some() {
                        false => FileList::parse(&header, head)?,
                        true => FileList::parse_proven(&header, head)?,
                    };
                    if !incoming.lists() {
                        return Err(ProtocolError::BadValue("list that nobody asked for").into());
                    }
                    // All of it, before anything is looked for.
                    incoming.sender.hold_list_to_offer(list.files().map(|(path, entry)| (path, entry.name)))?;
                    incoming.policy.attributes.owners.learn(list.owner_names())?;
                    self.list(&list)?;
                }
                FrameKind::Chunks => {
                    if !incoming.lists() {
                        return Err(ProtocolError::BadValue("chunks that nobody asked for").into());
                    }
                    // There is no body that it could be needed for.
                    let window = ChunkWindow::parse(&header, head)?;
                    incoming.sender.hold_to_offer(window.head().folder, Some(window.head().entry.name))?;
                    let owners = &incoming.policy.attributes.owners;
                    owners.learn(window.head().owner_names)?;
                    let attributes = owners.local(&window.head().entry.attributes);
                    self.chunks(&window.with_attributes(attributes), &mut buffer, io)?;
                }
                FrameKind::Range => {
                    let (head, digest) = match incoming.proof {
                        None => (RangeHead::parse(&header, head)?, None),
                        Some(_) => RangeHead::parse_proven(&header, head).map(|(head, digest)| (head, Some(digest)))?,
                    };
                    incoming.sender.hold_to_offer(head.folder, Some(head.entry.name))?;
                    let owners = &incoming.policy.attributes.owners;
                    owners.learn(head.owner_names)?;
                    if matches!(head.step, RangeStep::Last { .. }) {
                        owners.note(&head.entry.attributes);
                    }
                    let attributes = owners.local(&head.entry.attributes);
                    let head = RangeHead { entry: Entry { attributes, ..head.entry }, ..head };
                    self.range(&header, &head, body, digest, io)?;
                }
                FrameKind::Batch => {
                    let batch = match incoming.proof {
                        None => Batch::parse(&header, head)?,
                        Some(_) => Batch::parse_proven(&header, head)?,
                    };
                    incoming.sender.hold_batch_to_offer(&batch)?;
                    incoming.policy.attributes.owners.learn(batch.owner_names())?;
                    incoming.accounts.batch(&batch);
                    self.batch(&batch, body, io)?;
                }
            }
            incoming.staging.wrote(body_len as u64, || incoming.accounts.huge_files());
        }
    }

    /// The next temporary name in this lane's own folder.
    pub(super) fn next_part(&mut self) -> Vec<u8> {
        self.parts_made += 1;
        self.parts_made.to_string().into_bytes()
    }

    /// Books what went wrong: an entry's failure by name, or the end of everything.
    pub(super) fn report(&self, trouble: Trouble, folder: &[u8], name: Option<&[u8]>) -> Result<(), LaneError> {
        match trouble {
            Trouble::Entry(error) => {
                // What was not done because there is too much of it is no failure of the entry.
                self.incoming.quota.check()?;
                self.incoming.results.failures.add(folder, name, error);
                Ok(())
            }
            Trouble::Fatal(error) => Err(self.incoming.flags.stopped_by(error)),
        }
    }

    fn batch(&mut self, batch: &Batch<'_>, body: &[u8], io: &mut FileIo) -> Result<(), LaneError> {
        let mut group = Vec::with_capacity(self.incoming.open.group);
        let worked = self.batch_items(batch, body, io, &mut group);
        if worked.is_err() {
            for filling in group.drain(..) {
                filling.discard();
            }
        }
        // Links, too.
        self.incoming.policy.top.save_landings();
        worked
    }

    fn batch_items<'b>(
        &mut self,
        batch: &Batch<'b>,
        body: &'b [u8],
        io: &mut FileIo,
        group: &mut Vec<Filling<'b>>,
    ) -> Result<(), LaneError> {
        let mut path = RelPath::ROOT;
        let mut current = Err(EntryError::IN_THE_WAY);
        let mut files = 0;
        for item in batch.items() {
            match item {
                Item::Folder { path: folder, attributes, xattrs } => {
                    path = folder;
                    let attributes = attributes.map(|attributes| self.owned_here(&attributes));
                    current = self.enter(path, attributes, xattrs)?;
                }
                Item::Entry(entry, contents) => {
                    let entry = match entry.kind {
                        // It has its file's owner.
                        EntryKind::HardLink { .. } => entry,
                        _ => Entry { attributes: self.owned_here(&entry.attributes), ..entry },
                    };
                    let digest = batch.digest(files);
                    files += usize::from(matches!(entry.kind, EntryKind::File { .. }));
                    let contents = SmallContents { body: &body[contents], digest };
                    let done = match &current {
                        Ok(folder) => self.entry(folder, path, entry, contents, group, io),
                        Err(error) => self.without_folder((*error).into(), path, entry, contents, group, io),
                    };
                    if let Err(trouble) = done {
                        self.report(trouble, path.as_bytes(), Some(entry.name.as_bytes()))?;
                    }
                    // Enough for the ring to be worth its entry, where there are descriptors for
                    // that.
                    if group.len() >= self.incoming.open.group {
                        self.finish_group(group, io)?;
                        self.incoming.check_running()?;
                    }
                }
            }
        }
        self.finish_group(group, io)
    }

    /// The attributes that an entry is to have here, which is counted if its owner or group stays a
    /// number.
    fn owned_here(&self, attributes: &Attributes) -> Attributes {
        let owners = &self.incoming.policy.attributes.owners;
        owners.note(attributes);
        owners.local(attributes)
    }

    /// Makes `path` the current folder. When that fails, all its entries will, each by name.
    fn enter(
        &mut self,
        path: RelPath<'_>,
        attributes: Option<Attributes>,
        xattrs: Xattrs<'_>,
    ) -> Result<Result<Arc<Folder>, EntryError>, LaneError> {
        let folder = match self.folders.folder(path) {
            Ok(folder) => folder,
            Err(Trouble::Entry(error)) => {
                match attributes {
                    // Its sender could not read it either, and has said so.
                    Some(attributes) if xattrs.is_empty() && self.is_closed_as_sent(path, &attributes, error) => {
                        self.incoming.results.tally.folder_made();
                        self.incoming.results.tally.folder();
                    }
                    Some(_) => self.report(error.into(), path.as_bytes(), None)?,
                    None => {}
                }
                return Ok(Err(error));
            }
            Err(Trouble::Fatal(error)) => return Err(self.incoming.flags.stopped_by(error)),
        };
        if let Some(attributes) = attributes {
            self.incoming.results.tally.folder_made();
            let set = match self.incoming.policy.may_dress(&self.incoming.staging, &folder) {
                Ok(true) => {
                    let _opening =
                        if xattrs.is_empty() { None } else { folder.open_for_change(&self.incoming.openings) };
                    self.incoming.policy.attributes.set_xattrs(&folder.dir, xattrs)
                }
                Ok(false) => Ok(()),
                Err(error) => Err(error),
            };
            let set = set.map_err(during(Operation::Metadata));
            let record = self.incoming.policy.attributes.record(folder.is_staged(), attributes, xattrs, path);
            if let Err(trouble) = set.and(self.incoming.deferred.folder(&record, &self.incoming.staging.dir)) {
                self.report(trouble, path.as_bytes(), None)?;
            }
        }
        Ok(Ok(folder))
    }

    /// Whether a folder cannot be opened because it has the mode that is sent, and is otherwise as
    /// it is sent: it arrived before.
    fn is_closed_as_sent(&mut self, path: RelPath<'_>, sent: &Attributes, error: EntryError) -> bool {
        let is_denied = error.reason == FailureReason::Os { errno: Errno::ACCESS.raw_os_error() };
        let Some((above, name)) = path.split_last().filter(|_| is_denied) else { return false };
        let here = self.incoming.root.here(path.as_bytes());
        let Ok(above) = self.folders.folder(above) else { return false };
        let name = here.rsplit(|byte| *byte == b'/').next().unwrap_or(name.as_bytes());
        above.dir.metadata(name).is_ok_and(|there| {
            let is_same_mode = there.mode & PERMISSION_BITS == u32::from(sent.mode) & PERMISSION_BITS;
            let is_same_time = as_kept_by(&there, timestamp(sent.mtime)) == nanos(there.mtime);
            there.kind == Kind::Dir && is_same_mode && is_same_time
        })
    }

    /// Keeps the contents of a file with several names whose folder cannot be there, for names in
    /// other folders. Other entries fail.
    fn without_folder<'b>(
        &mut self,
        trouble: Trouble,
        path: RelPath<'b>,
        entry: Entry<'b>,
        contents: SmallContents<'b>,
        group: &mut Vec<Filling<'b>>,
        io: &mut FileIo,
    ) -> Result<(), Trouble> {
        if !self.incoming.deferred.may_set_aside(&trouble, &entry) {
            return Err(trouble);
        }
        // Descriptors may be short, and one is enough.
        self.finish_group(group, io)?;
        group.push(self.start_aside(path, entry, contents, trouble)?);
        Ok(())
    }

    fn entry<'b>(
        &mut self,
        folder: &Arc<Folder>,
        path: RelPath<'b>,
        entry: Entry<'b>,
        contents: SmallContents<'b>,
        group: &mut Vec<Filling<'b>>,
        io: &mut FileIo,
    ) -> Result<(), Trouble> {
        match entry.kind {
            EntryKind::File { .. } => {
                let incoming = self.incoming;
                let spare = |worker: &mut Self| {
                    worker.finish_group(group, io)?;
                    Ok(worker.folders.give_back())
                };
                let start = |worker: &mut Self| worker.start_file(folder, path, entry, contents);
                let started = patiently(self, spare, || incoming.flags.goes_on(), start)?;
                group.extend(started);
            }
            EntryKind::Symlink { target } => {
                self.symlink(folder, &entry, target)?;
            }
            EntryKind::HardLink { link_id, last } => {
                // Its file may be among those not finished.
                self.finish_group(group, io)?;
                // Until that is proven, so that it has no other names if it is not.
                if self.incoming.proof.is_some() && self.incoming.deferred.links.lock().may_wait() {
                    return self.incoming.deferred.link(path, entry.name, link_id, &self.incoming.staging.dir);
                }
                if self.hard_link(folder, &entry, link_id, last)? == Linked::NoFile {
                    self.incoming.deferred.link(path, entry.name, link_id, &self.incoming.staging.dir)?;
                }
            }
        }
        Ok(())
    }
}
