//! Reading what was sent once more, where it is to be proven: what is written through a memory map
//! leaves size and time as they were.
use std::io;
use std::ops::Range;
use std::os::fd::AsFd;

use ringway_model::{FailureReason, Operation};
use ringway_sys::sparse::next_data;
use ringway_wire::lane::ChunkLens;

use crate::chunking::{Chunk, Cutter};
use crate::send::lane::pieces::RANGE_LEN;
use crate::send::lane::ranges::{Ranged, Unreadable};
use crate::send::lane::{Lane, batch};
use crate::send::queue::Batch;
use crate::send::reason;

/// Bytes kept of a digest: enough for a comparison with what this process has read itself. With its
/// place a part takes 40 bytes, one for each MiB of a file.
const DIGEST_KEPT: usize = 16;

/// What the receiver was told of a large file's contents.
#[derive(Default)]
pub(in crate::send) struct Told {
    parts: Vec<Part>,
}

struct Part {
    range: Range<u64>,
    /// The digest is of the digests of the chunks in it, else of its bytes.
    is_chunked: bool,
    digest: [u8; DIGEST_KEPT],
}

impl Told {
    fn bytes(&mut self, offset: u64, bytes: &[u8]) {
        let range = offset..offset + bytes.len() as u64;
        self.parts.push(Part { range, is_chunked: false, digest: kept(blake3::hash(bytes)) });
    }

    /// Chunks in a row, at least one.
    pub(in crate::send) fn chunks(&mut self, chunks: &[Chunk]) {
        let mut hasher = blake3::Hasher::new();
        for chunk in chunks {
            hasher.update(&chunk.digest.0);
        }
        let range = chunks[0].range.start..chunks[chunks.len() - 1].range.end;
        self.parts.push(Part { range, is_chunked: true, digest: kept(hasher.finalize()) });
    }
}

fn kept(digest: blake3::Hash) -> [u8; DIGEST_KEPT] {
    let mut kept = [0; DIGEST_KEPT];
    kept.copy_from_slice(&digest.as_bytes()[..DIGEST_KEPT]);
    kept
}

impl Lane<'_> {
    /// Keeps what the first `len` bytes of the buffer are, which are about to be sent as the range
    /// at `offset`.
    pub(in crate::send) fn tell(&self, ranged: &Ranged, offset: u64, len: usize) {
        if let Some(told) = &ranged.told {
            told.lock().bytes(offset, &self.body[..len]);
        }
    }

    /// Reads a batch once more and leaves those of its files out that are not twice the same.
    pub(in crate::send) fn keep_those_that_stayed(
        &mut self,
        batch: &Batch,
        files: &mut [Option<batch::ReadWhole>],
    ) -> io::Result<()> {
        #[cfg(test)]
        self.shared.between_reads();
        let len = batch.contents();
        self.again.grow(len);
        let again = batch::read_into(self.io, batch, &mut self.again)?;
        let mut at = 0;
        for ((file, again), len) in files.iter_mut().zip(again).zip(batch.file_lens()) {
            let contents = at..at + len;
            at = contents.end;
            if again.is_none() || self.body[contents.clone()] != self.again[contents] {
                *file = None;
            }
        }
        Ok(())
    }

    /// Reads a large file from its beginning to its end once more, if it is to be proven: what was
    /// sent must all have been there at the same time.
    pub(in crate::send) fn read_once_more(&mut self, ranged: &Ranged) -> Result<(), Unreadable> {
        let Some(told) = &ranged.told else { return Ok(()) };
        let mut parts = std::mem::take(&mut told.lock().parts);
        parts.sort_unstable_by_key(|part| part.range.start);
        let lens = ChunkLens::of(ranged.opened.metadata.size);
        let mut end = 0;
        for part in &parts {
            self.is_still_a_hole(ranged, end..part.range.start)?;
            end = end.max(part.range.end);
            self.is_still(ranged, part, lens)?;
        }
        self.is_still_a_hole(ranged, end..ranged.opened.metadata.size)
    }

    fn is_still(&mut self, ranged: &Ranged, part: &Part, lens: ChunkLens) -> Result<(), Unreadable> {
        let mut hasher = blake3::Hasher::new();
        if part.is_chunked {
            let mut cutter = Cutter::new(lens, part.range.clone());
            while cutter.at() < part.range.end {
                let read = |at, into: &mut [u8]| self.io.read_at(ranged.opened.file.as_fd(), at, into);
                let chunk = cutter.next(read).map_err(failed)?.ok_or(CHANGED)?;
                hasher.update(&chunk.digest.0);
            }
        } else {
            hasher.update(self.read_part(ranged, part.range.clone())?);
        }
        if kept(hasher.finalize()) == part.digest { Ok(()) } else { Err(CHANGED) }
    }

    /// What was not sent has to be nothing but zeros still.
    fn is_still_a_hole(&mut self, ranged: &Ranged, hole: Range<u64>) -> Result<(), Unreadable> {
        let mut at = hole.start;
        while at < hole.end
            && let Some(data) = next_data(&ranged.opened.file, at, hole.end).map_err(failed)?
        {
            at = data.end.min(data.start + RANGE_LEN as u64);
            if self.read_part(ranged, data.start..at)?.iter().any(|byte| *byte != 0) {
                return Err(CHANGED);
            }
        }
        Ok(())
    }

    /// Reads at most [`RANGE_LEN`] bytes.
    fn read_part(&mut self, ranged: &Ranged, range: Range<u64>) -> Result<&[u8], Unreadable> {
        if self.shared.queue.is_cancelled() {
            return Err(CHANGED);
        }
        let len = (range.end - range.start) as usize;
        let into = &mut self.again.grow(RANGE_LEN)[..len];
        match self.io.read_at(ranged.opened.file.as_fd(), range.start, into).map_err(failed)? {
            read if read == len => Ok(into),
            _ => Err(CHANGED),
        }
    }
}

const CHANGED: Unreadable = (Operation::Read, FailureReason::ChangedWhileReading);

fn failed(error: io::Error) -> Unreadable {
    (Operation::Read, reason(&error))
}
