//! Reads sent contents once more if they are to be proven, because writing through a memory map
//! leaves size and time unchanged.
use std::io;
use std::ops::Range;
use std::os::fd::AsFd;

use ringway_model::{FailureReason, Operation};
use ringway_sys::sparse::next_data;
use ringway_wire::lane::ChunkLens;

use crate::chunking::Cutter;
use crate::send::lane::{Lane, batch};
use crate::send::queue::Batch;
use crate::send::queue::pieces::RANGE_LEN;
use crate::send::queue::ranges::{Ranged, Unreadable};
use crate::send::queue::told::{Part, kept};
use crate::send::reason;

impl Lane<'_> {
    /// Keeps the digest of the first `len` bytes of the buffer, which are about to be sent as the
    /// range at `offset`.
    pub(in crate::send) fn tell(&self, ranged: &Ranged, offset: u64, len: usize) {
        if let Some(told) = &ranged.told {
            told.lock().bytes(offset, &self.body[..len]);
        }
    }

    /// Reads a batch once more, and leaves out files whose contents differ from the first reading.
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

    /// Reads a large file once more from beginning to end, if it is to be proven: all sent parts
    /// must have existed at the same time.
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

    /// Checks that a part that was not sent still consists of zeros.
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
