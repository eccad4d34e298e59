//! The head of a window of chunks: lengths and digests of a large file's chunks from some offset
//! on. The receiver looks for these in its file of that name. The engine cuts the chunks. The
//! lengths of chunks are defined here, so that both ends cut alike.
use std::ops::Range;

use super::digest::{DIGEST_LEN, Digest};
use super::entry::decode_entry;
use super::{Attributes, Entry, EntryKind, FILE_ID_MAX, FrameHeader, OwnerNames, RangeHead, RangeStep, bounded};
use crate::ProtocolError;
use crate::bytes::Reader;
use crate::limits::{CHUNK_LEN_MAX, CHUNK_LEN_MIN, CHUNKED_SIZE_MIN, CHUNKS_AIMED_AT, PATH_MAX};
use crate::name::RelPath;

/// Bytes of one chunk in the head: its length and its digest.
const CHUNK_HEAD_LEN: usize = size_of::<u32>() + DIGEST_LEN;

/// The lengths of a file's chunks: the average, the minimum (except for the last chunk), and the
/// maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkLens {
    /// A power of two.
    pub average: usize,
    /// A quarter of the average.
    pub min: usize,
    /// Four times the average.
    pub max: usize,
}

impl ChunkLens {
    /// The lengths for a file of `size` bytes. Shorter chunks find more equal data, but there are
    /// more of them to send.
    pub fn of(size: u64) -> Self {
        let average = (size / CHUNKS_AIMED_AT).clamp(CHUNK_LEN_MIN, CHUNK_LEN_MAX).next_power_of_two() as usize;
        Self { average, min: average / 4, max: average * 4 }
    }
}

/// A window whose head was checked completely.
#[derive(Debug, Clone, Copy)]
pub struct ChunkWindow<'a> {
    number: u32,
    head: RangeHead<'a>,
    chunks: &'a [[u8; CHUNK_HEAD_LEN]],
    end: u64,
}

impl<'a> ChunkWindow<'a> {
    /// Checks a whole head against its header: the file must be large enough, chunks must have
    /// allowed lengths, and none may exceed the file's end.
    pub fn parse(header: &FrameHeader, head: &'a [u8]) -> Result<Self, ProtocolError> {
        let mut reader = Reader::new(head);
        let number = reader.u32()?;
        let file_id = reader.u64()?;
        bounded("file id", file_id, FILE_ID_MAX)?;
        let offset = reader.u64()?;
        let stamp = reader.u64()?;
        let folder = RelPath::new(reader.short_bytes("path", PATH_MAX)?)?;
        let entry = decode_entry(&mut reader, folder)?;
        let size = match entry.kind {
            EntryKind::File { size, .. } if size >= CHUNKED_SIZE_MIN => size,
            _ => return Err(ProtocolError::BadValue("entry in chunks")),
        };
        let owner_names = OwnerNames::decode(&mut reader)?;
        let (chunks, _) = reader.take(header.items as usize * CHUNK_HEAD_LEN)?.as_chunks();
        reader.finish()?;
        let len_max = ChunkLens::of(size).max as u64;
        let mut end = offset;
        for chunk in chunks {
            let len = u64::from(decode(chunk).0);
            if len == 0 {
                return Err(ProtocolError::BadValue("empty chunk"));
            }
            bounded("chunk", len, len_max)?;
            let past_the_end = ProtocolError::Range { id: file_id, why: "past the end of the file" };
            end = end.checked_add(len).filter(|end| *end <= size).ok_or(past_the_end)?;
        }
        let head = RangeHead { file_id, offset, step: RangeStep::More, stamp, folder, entry, owner_names };
        Ok(Self { number, head, chunks, end })
    }

    /// The number by which the answer names it. Windows and lists are numbered together.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The file, and the offset at which the window begins.
    pub fn head(&self) -> &RangeHead<'a> {
        &self.head
    }

    /// The same for a file that is to have other attributes.
    pub fn with_attributes(self, attributes: Attributes) -> Self {
        let entry = Entry { attributes, ..self.head.entry };
        Self { head: RangeHead { entry, ..self.head }, ..self }
    }

    /// The number of its chunks.
    pub fn len(&self) -> usize {
        self.chunks.len()
    }

    /// Never true: a window has at least one.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// The range of the file that all of its chunks cover.
    pub fn range(&self) -> Range<u64> {
        self.head.offset..self.end
    }

    /// Its chunks in order: the range of the file, and the digest.
    pub fn chunks(&self) -> impl Iterator<Item = (Range<u64>, Digest)> + use<'a> {
        let mut at = self.head.offset;
        self.chunks.iter().map(move |chunk| {
            let (len, digest) = decode(chunk);
            let range = at..at + u64::from(len);
            at = range.end;
            (range, digest)
        })
    }
}

fn decode(chunk: &[u8; CHUNK_HEAD_LEN]) -> (u32, Digest) {
    let (len, digest) = chunk.split_first_chunk().expect("a length");
    (u32::from_le_bytes(*len), Digest(digest.try_into().expect("a digest")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_grow_with_the_file_within_their_bounds() {
        let average = |size| ChunkLens::of(size).average as u64;
        assert_eq!(average(CHUNKED_SIZE_MIN), CHUNK_LEN_MIN);
        assert_eq!(average(2 << 30), 32 << 10);
        assert_eq!(average(3 << 30), 64 << 10);
        assert_eq!(average(16 << 30), CHUNK_LEN_MAX);
        assert_eq!(average(i64::MAX as u64), CHUNK_LEN_MAX);
    }
}
