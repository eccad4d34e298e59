//! Copies files that one thread copies at once: by sharing, by the kernel, from a batch's buffer,
//! or through its own buffer.
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;

use ringway_model::{FailureReason, IoMode, Operation};
use ringway_sys::attributes::{Metadata, Timestamp, metadata_of, set_len};
use rustix::io::Errno;

use super::Worker;
use super::chunks::has_holes;
use super::contents::{self, Method, Part};
use super::large_files::Open;
use crate::folder::Item;
use crate::folder::entry_error::{self, EntryError};
use crate::job::add;
use crate::job::proof::{self, Record};

/// How often a file is read that must have its expected length. If it has changed each time, it is
/// read once more. The result of that stays and is reported.
const TRIES_MAX: u32 = 2;

/// The fewest bytes that are requested in a read, because files of /proc and /sys report a length
/// of 0.
pub(crate) const READ_MIN: usize = 64 * 1024;

/// The contents that passed through the buffer: their length, and the digests of their parts if
/// requested (offset, length, digest).
#[derive(Default)]
struct ThroughBuffer {
    bytes: u64,
    digests: Vec<(u64, u64, blake3::Hash)>,
}

impl<'j> Worker<'_, 'j> {
    /// Copies the contents of a file that one thread copies at once; returns the bytes copied.
    /// `None` for a file that is copied in chunks.
    pub(crate) fn contents(
        &mut self,
        item: Item<'_, 'j>,
        open: &Open,
        ahead: Option<&[u8]>,
    ) -> Result<Option<u64>, EntryError> {
        let size = open.metadata.size;
        if size > 0 && self.share(open)? {
            add(&self.job.counts.reflinked, size);
            self.prove_shared(item, open)?;
            return Ok(Some(size));
        }
        if size > self.job.choices.chunk as u64 || has_holes(&open.metadata) {
            return Ok(None);
        }
        if let Some(bytes) = ahead
            && self.is_as_it_was(open)?
            && (self.job.proof.is_none() || self.is_again(open, 0, bytes.len(), |again| again == bytes)?)
        {
            self.write_whole(item, open, bytes)?;
            return Ok(Some(bytes.len() as u64));
        }
        let method = match &self.job.proof {
            // Contents that are to be verified have to pass through a buffer.
            Some(_) => Method::Buffer,
            None => Method::for_small(&self.job.options, self.job.choices.copies_by_itself, size),
        };
        if method != Method::Buffer && size > 0 {
            if self.small_by_kernel(open, method)? && self.is_as_it_was(open)? {
                return Ok(Some(size));
            }
            set_len(&open.target, 0).map_err(entry_error::target(Operation::Write))?;
        }
        self.small(item, open).map(Some)
    }

    fn share(&mut self, open: &Open) -> Result<bool, EntryError> {
        let mode = self.job.options.reflink;
        self.sharing.share(mode, open.metadata.dev, open.source.as_fd(), open.target.as_fd())
    }

    /// Writes contents that were read through the ring.
    fn write_whole(&mut self, item: Item<'_, 'j>, open: &Open, bytes: &[u8]) -> Result<(), EntryError> {
        self.prove_bytes(item, 0, bytes, bytes.len() as u64, true)?;
        let ring = match self.job.options.io {
            IoMode::Uring => Some(self.tools.ring().map_err(entry_error::target(Operation::Write))?),
            _ => None,
        };
        contents::write(ring, open.target.as_fd(), 0, bytes).map_err(entry_error::target(Operation::Write))?;
        if !self.tools.has_no_ring() {
            add(&self.job.counts.uring, bytes.len() as u64);
        }
        Ok(())
    }

    /// False if the kernel does not copy this file by itself, or if its size turned out to be
    /// another.
    fn small_by_kernel(&mut self, open: &Open, method: Method) -> Result<bool, EntryError> {
        let part = Part { offset: 0, len: open.metadata.size as usize };
        match self.by_kernel(open, method, part)? {
            Some(bytes) if bytes == part.len => {
                add(&self.job.counts.kernel, bytes as u64);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Lets the kernel copy a part; `None` if it does not support that. The kernel's errors do not
    /// tell which side failed. So after all errors except those of a full destination, read and
    /// write are tried, which do tell.
    pub(crate) fn by_kernel(&mut self, open: &Open, method: Method, part: Part) -> Result<Option<usize>, EntryError> {
        match self.tools.by_kernel(method, open.metadata.dev, open.source.as_fd(), open.target.as_fd(), part) {
            Ok(copied) => Ok(copied),
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::NOSPC | Errno::DQUOT | Errno::FBIG) => Err(EntryError::Target(Operation::Write, error)),
                _ => Ok(None),
            },
        }
    }

    /// The source's metadata after it was read.
    fn look_again(&self, open: &Open) -> Result<Metadata, EntryError> {
        #[cfg(test)]
        self.job.between_reads();
        metadata_of(&open.source).map_err(entry_error::source(Operation::Read))
    }

    /// Whether the source is unchanged since it was opened.
    fn is_as_it_was(&self, open: &Open) -> Result<bool, EntryError> {
        Ok(version(&self.look_again(open)?) == version(&open.metadata))
    }

    /// Copies a file through the buffer, up to its present end, and again if it changed meanwhile.
    fn small(&mut self, item: Item<'_, 'j>, open: &Open) -> Result<u64, EntryError> {
        let mut looked = open.metadata;
        for _ in 0..TRIES_MAX {
            let read = self.through_buffer(open, looked.size)?;
            let now = self.look_again(open)?;
            // Files of /proc and /sys do not report their length.
            let is_same = version(&now) == version(&looked);
            if !is_same || self.job.proof.is_some() && !self.is_twice(open, &read)? {
                looked = now;
                set_len(&open.target, 0).map_err(entry_error::target(Operation::Write))?;
                continue;
            }
            for (offset, len, digest) in read.digests {
                let (size, first) = (read.bytes, offset == 0);
                self.prove(item, proof::Part { size, offset, len, first, shared: false, digest })?;
            }
            return Ok(read.bytes);
        }
        // The part that was copied stays, as with cp, and is reported.
        self.through_buffer(open, looked.size)?;
        Err(EntryError::SourceIs(FailureReason::ChangedWhileReading))
    }

    /// Whether the file still has the contents that were read, because writing through a memory map
    /// changes neither size nor time.
    fn is_twice(&mut self, open: &Open, read: &ThroughBuffer) -> Result<bool, EntryError> {
        if let [(_, len, _)] = read.digests[..] {
            let buffer = std::mem::take(&mut self.buffer);
            let same = self.is_again(open, 0, len as usize, |again| again == &buffer[..len as usize]);
            self.buffer = buffer;
            return same;
        }
        for (offset, len, digest) in &read.digests {
            if !self.is_again(open, *offset, *len as usize, |again| blake3::hash(again) == *digest)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads a part again, and compares it.
    fn is_again(
        &mut self,
        open: &Open,
        offset: u64,
        len: usize,
        is_same: impl FnOnce(&[u8]) -> bool,
    ) -> Result<bool, EntryError> {
        #[cfg(test)]
        self.job.between_reads();
        Ok(is_same(self.read_again(open, offset, len)?))
    }

    fn through_buffer(&mut self, open: &Open, size: u64) -> Result<ThroughBuffer, EntryError> {
        // One byte more than expected, so that a shorter read shows the end.
        let len = (size as usize + 1).clamp(READ_MIN, self.job.choices.chunk.max(READ_MIN) + 1);
        let mut buffer = std::mem::take(&mut self.buffer);
        if buffer.len() < len {
            buffer.resize(len, 0);
        }
        let read = self.read_to_end(open, size, &mut buffer[..len]);
        self.buffer = buffer;
        read
    }

    fn read_to_end(&mut self, open: &Open, size: u64, buffer: &mut [u8]) -> Result<ThroughBuffer, EntryError> {
        let mut ring = match self.job.options.io {
            IoMode::Uring => Some(self.tools.ring().map_err(entry_error::target(Operation::Read))?),
            _ => None,
        };
        let mut read = ThroughBuffer::default();
        loop {
            let bytes = match ring.as_deref_mut() {
                Some(ring) => ring.read_at(open.source.as_fd(), read.bytes, buffer),
                None => read_once(open.source.as_fd(), read.bytes, buffer),
            }
            .map_err(entry_error::source(Operation::Read))?;
            if bytes > 0 {
                contents::write(ring.as_deref_mut(), open.target.as_fd(), read.bytes, &buffer[..bytes])
                    .map_err(entry_error::target(Operation::Write))?;
            }
            if self.job.proof.is_some() && (bytes > 0 || read.bytes == 0) {
                read.digests.push((read.bytes, bytes as u64, blake3::hash(&buffer[..bytes])));
            }
            read.bytes += bytes as u64;
            // A read that ends exactly at the expected size has met the end. Any other short read
            // may have been interrupted.
            if bytes == 0 || (read.bytes == size && bytes < buffer.len()) {
                break;
            }
            if self.job.must_end() {
                return Err(EntryError::Stopped);
            }
        }
        if ring.is_some() {
            add(&self.job.counts.uring, read.bytes);
        }
        Ok(read)
    }

    /// Keeps a digest of a part that was read.
    pub(crate) fn prove(&mut self, item: Item<'_, 'j>, part: proof::Part) -> Result<(), EntryError> {
        let Some(proof) = &self.job.proof else { return Ok(()) };
        let source = if part.shared { item.folder.source_path(item.from) } else { PathBuf::new() };
        let record = Record { file: item.folder.below_top(item.to), source, part };
        self.gathered.add(proof, &record).map_err(entry_error::target(Operation::Write))
    }

    /// The same for a part in memory, if the copy is to be verified.
    pub(crate) fn prove_bytes(
        &mut self,
        item: Item<'_, 'j>,
        offset: u64,
        bytes: &[u8],
        size: u64,
        first: bool,
    ) -> Result<(), EntryError> {
        if self.job.proof.is_none() {
            return Ok(());
        }
        let len = bytes.len() as u64;
        self.prove(item, proof::Part { size, offset, len, first, shared: false, digest: blake3::hash(bytes) })
    }

    /// Reads the source of a file whose contents did not pass through a buffer, if the copy is to
    /// be verified.
    fn prove_shared(&mut self, item: Item<'_, 'j>, open: &Open) -> Result<(), EntryError> {
        if self.job.proof.is_none() {
            return Ok(());
        }
        let (size, chunk) = (open.metadata.size, self.job.choices.chunk);
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.resize(buffer.len().max(chunk), 0);
        let mut at = 0;
        while at < size {
            if self.job.must_end() {
                return Err(EntryError::Stopped);
            }
            let len = (size - at).min(chunk as u64) as usize;
            let bytes = contents::read(None, open.source.as_fd(), at, &mut buffer[..len])
                .map_err(entry_error::source(Operation::Read))?;
            if bytes < len {
                return Err(EntryError::SourceIs(FailureReason::ChangedWhileReading));
            }
            let (len, digest) = (bytes as u64, blake3::hash(&buffer[..bytes]));
            self.prove(item, proof::Part { size, offset: at, len, first: at == 0, shared: true, digest })?;
            at += bytes as u64;
        }
        self.buffer = buffer;
        Ok(())
    }
}

/// Shows whether a file was written to.
fn version(file: &Metadata) -> (u64, Timestamp, Timestamp) {
    (file.size, file.mtime, file.ctime)
}

/// One read, which has met the end if it is short.
fn read_once(from: BorrowedFd<'_>, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match rustix::io::pread(from, &mut *buffer, at) {
            Err(Errno::INTR) => {}
            other => return Ok(other?),
        }
    }
}
