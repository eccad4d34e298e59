//! Copies large files in chunks, and completes or withdraws any file at its end.
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ringway_model::{FailureReason, Operation};
use ringway_sys::attributes::{Metadata, metadata_of, set_len, set_times_both};
use ringway_sys::space::{filesystem, preallocate, write_out};
use ringway_sys::sparse::next_data;
use rustix::io::Errno;

use super::contents::{self, Method, Part};
use super::large_files::{Again, LargeFile, Next, Open};
use super::{Task, Worker};
use crate::attributes::{self, Fresh};
use crate::folder::Item;
use crate::folder::entry_error::{self, EntryError};
use crate::folder::overwrite::{EPOCH, TargetKind};
use crate::job::{add, proof};

/// Only holes of more bytes than this are kept.
const HOLES_MIN: u64 = 4096;

impl<'j> Worker<'_, 'j> {
    /// Begins a file that is copied in chunks, by this thread and by idle ones.
    pub(crate) fn large(&mut self, item: Item<'_, 'j>, open: Open) {
        let sparse = has_holes(&open.metadata);
        let method = match &self.job.proof {
            // Contents that are to be verified have to pass through a buffer.
            Some(_) => Method::Buffer,
            None => Method::for_large(&self.job.options, self.job.choices.copies_by_itself),
        };
        let prepared = match !sparse && open.metadata.size >= self.job.choices.preallocate_from {
            true => preallocate(&open.target, open.metadata.size).map(drop),
            false => Ok(()),
        };
        let file = Arc::new(LargeFile::new(item, open, sparse, method));
        if let Err(error) = prepared {
            file.give_up(EntryError::Target(Operation::Write, error));
        }
        self.chunks(&file);
    }

    /// Takes chunks of a large file until none is left, and completes the file if this thread had
    /// the last one.
    pub(crate) fn chunks(&mut self, file: &Arc<LargeFile<'j>>) {
        let item = Item { folder: &file.folder, from: &file.names.0, to: &file.names.1 };
        loop {
            match file.next(self.job.choices.chunk) {
                Next::Part(part) => {
                    self.call_for_help(file);
                    let copied = match self.job.must_end() {
                        true => Err(EntryError::Stopped),
                        false => self.chunk(item, file, part),
                    };
                    file.done(copied);
                }
                Next::Again(again) => {
                    self.call_for_help(file);
                    file.done(self.is_still(&file.open, &again));
                }
                Next::Nothing => return,
                Next::Complete(copied) => return self.completed(item, file, copied),
            }
        }
    }

    /// Lets an idle thread help.
    fn call_for_help(&self, file: &Arc<LargeFile<'j>>) {
        if self.pool.queue.is_hungry() && !file.is_over() {
            self.offer(Task::Help(file.clone()));
        }
    }

    /// Reads a chunk again, and the hole before it, because writing through a memory map changes
    /// neither size nor time.
    fn is_still(&mut self, open: &Open, again: &Again) -> Result<(), EntryError> {
        let mut at = again.hole.start;
        while let Some(data) =
            next_data(&open.source, at, again.hole.end).map_err(entry_error::source(Operation::Read))?
        {
            at = data.end.min(data.start + self.job.choices.chunk as u64);
            if self.read_again(open, data.start, (at - data.start) as usize)?.iter().any(|byte| *byte != 0) {
                return Err(EntryError::SourceIs(FailureReason::ChangedWhileReading));
            }
        }
        if let Some(taken) = &again.taken
            && !taken.is(&blake3::hash(self.read_again(open, taken.offset, taken.len())?))
        {
            return Err(EntryError::SourceIs(FailureReason::ChangedWhileReading));
        }
        Ok(())
    }

    pub(crate) fn read_again(&mut self, open: &Open, offset: u64, len: usize) -> Result<&[u8], EntryError> {
        if self.job.must_end() {
            return Err(EntryError::Stopped);
        }
        if self.again.len() < len {
            self.again.resize(len, 0);
        }
        let bytes = contents::read(None, open.source.as_fd(), offset, &mut self.again[..len])
            .map_err(entry_error::source(Operation::Read))?;
        Ok(&self.again[..bytes])
    }

    fn chunk(&mut self, item: Item<'_, 'j>, file: &LargeFile<'j>, part: Part) -> Result<(), EntryError> {
        let open = &file.open;
        let (source, target) = (open.source.as_fd(), open.target.as_fd());
        if file.method() != Method::Buffer {
            match self.by_kernel(open, file.method(), part)? {
                Some(bytes) if bytes == part.len => {
                    add(&self.job.counts.kernel, bytes as u64);
                    add(&self.job.counts.bytes, bytes as u64);
                    return Ok(());
                }
                Some(_) => return Err(EntryError::SourceIs(FailureReason::ChangedWhileReading)),
                None => file.declined.store(true, Ordering::Relaxed),
            }
        }
        if self.buffer.len() < part.len {
            self.buffer.resize(part.len, 0);
        }
        let by_ring = self.cold.begin(self.tools.has_no_ring());
        let writes_by_ring = self.cold.writes_by_ring();
        let mut buffer = std::mem::take(&mut self.buffer);
        let copied = (|| {
            let mut ring = match by_ring {
                true => Some(self.tools.ring().map_err(entry_error::target(Operation::Read))?),
                false => None,
            };
            let bytes = contents::read(ring.as_deref_mut(), source, part.offset, &mut buffer[..part.len])
                .map_err(entry_error::source(Operation::Read))?;
            let ring = ring.filter(|_| writes_by_ring);
            contents::write(ring, target, part.offset, &buffer[..bytes])
                .map_err(entry_error::target(Operation::Write))?;
            if bytes < part.len {
                return Err(EntryError::SourceIs(FailureReason::ChangedWhileReading));
            }
            Ok(bytes)
        })();
        if !by_ring {
            self.cold.reads(part.len as u64);
            // A thread that reads large files keeps the disk busy already. More threads would only
            // disturb the order of its requests.
            let _ = self.cold.end_plain();
        }
        let copied = copied.and_then(|bytes| {
            add(&self.job.counts.bytes, bytes as u64);
            if by_ring && !self.tools.has_no_ring() {
                add(&self.job.counts.uring, bytes as u64);
            }
            if self.job.proof.is_none() {
                return Ok(());
            }
            let digest = blake3::hash(&buffer[..bytes]);
            file.took(part.offset, bytes, &digest);
            let (size, offset, len) = (open.metadata.size, part.offset, bytes as u64);
            self.prove(item, proof::Part { size, offset, len, first: false, shared: false, digest })
        });
        self.buffer = buffer;
        copied
    }

    /// Completes a large file after its last chunk.
    fn completed(&mut self, item: Item<'_, 'j>, file: &LargeFile<'j>, copied: Result<(), EntryError>) {
        let open = &file.open;
        let done = copied
            .and_then(|()| {
                let now = metadata_of(&open.source).map_err(entry_error::source(Operation::Read))?;
                let same = (now.size, now.mtime) == (open.metadata.size, open.metadata.mtime);
                if same { Ok(()) } else { Err(EntryError::SourceIs(FailureReason::ChangedWhileReading)) }
            })
            .and_then(|()| self.prove_bytes(item, 0, &[], open.metadata.size, true))
            .and_then(|()| match file.sparse {
                true => set_len(&open.target, open.metadata.size).map_err(entry_error::target(Operation::Write)),
                false => Ok(()),
            })
            .and_then(|()| self.complete(item, open));
        let done = self.ended(item, open, done);
        let whole = done.is_ok();
        match done {
            Ok(()) => add(&self.job.counts.files, 1),
            Err(error) => self.fail(item, error),
        }
        if let Some(key) = open.linked {
            self.first_settled(item, key, whole);
        }
    }

    /// Gives a file whose contents are complete its attributes and its name.
    pub(crate) fn complete(&mut self, item: Item<'_, 'j>, open: &Open) -> Result<(), EntryError> {
        let strip = item.folder.default_acl || open.target_kind == TargetKind::Over;
        let lost = attributes::of_file(&open.source, &open.target, &open.metadata, open.fresh, strip)
            .map_err(entry_error::target(Operation::Metadata))?;
        self.job.lost(lost);
        if let TargetKind::Temporary(name) = &open.target_kind
            && let Some(dir) = &item.folder.target()?
        {
            // This happens before it replaces anything, so that after a power cut the old contents
            // or the new ones are there.
            filesystem(&open.target)
                .and_then(|filesystem| write_out(&open.target, filesystem))
                .map_err(entry_error::target(Operation::Sync))?;
            match item.folder.unless_taken(item.to, name, || dir.rename(name, dir, item.to)) {
                Some(renamed) => renamed.map_err(entry_error::target(Operation::Rename))?,
                None => return Err(EntryError::TargetIs(FailureReason::InTheWay)),
            }
        }
        Ok(())
    }

    /// Removes a new file that cannot be completed. A file that changed while it was read stays as
    /// far as it was copied, as with cp.
    pub(crate) fn ended(
        &self,
        item: Item<'_, 'j>,
        open: &Open,
        done: Result<(), EntryError>,
    ) -> Result<(), EntryError> {
        let Err(error) = done else { return Ok(()) };
        let Ok(Some(dir)) = &item.folder.target() else { return Err(error) };
        if let Some(proof) = &self.job.proof {
            proof.excuse(item.folder.below_top(item.to));
        }
        let keep = matches!(error, EntryError::SourceIs(FailureReason::ChangedWhileReading));
        match &open.target_kind {
            TargetKind::New if keep => {
                // It gets its attributes as far as possible. The error is reported in any case.
                let _ = attributes::of_file(&open.source, &open.target, &open.metadata, Fresh::Unknown, false);
                let _ = set_times_both(&open.target, EPOCH, EPOCH);
            }
            TargetKind::New => drop(dir.unlink(item.to)),
            TargetKind::Temporary(name) => drop(dir.unlink(name)),
            TargetKind::Over => {
                // If the source has exactly that time, the size distinguishes them.
                if open.metadata.mtime == EPOCH
                    && metadata_of(&open.target).is_ok_and(|cut| cut.size == open.metadata.size)
                {
                    let _ = set_len(&open.target, 0);
                }
                let _ = set_times_both(&open.target, EPOCH, EPOCH);
                if matches!(error, EntryError::Stopped) {
                    return Err(EntryError::Target(Operation::Write, Errno::CANCELED.into()));
                }
            }
        }
        Err(error)
    }
}

/// Whether the file has fewer stored bytes than its length.
pub(crate) fn has_holes(metadata: &Metadata) -> bool {
    // A file of /sys has the length of a page and no stored blocks, whatever it holds. These are no
    // holes.
    metadata.blocks_512.saturating_mul(512).saturating_add(HOLES_MIN) < metadata.size
}
