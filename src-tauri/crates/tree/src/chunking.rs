//! Cutting contents into chunks where they themselves say so (FastCDC), with a digest of each: what
//! is the same in two files is cut alike in both, wherever it lies. Who looks for which is others'.
use std::io;
use std::ops::Range;

use fastcdc::v2020::{Normalization, cut, select_masks};
use ringway_wire::lane::{ChunkLens, Digest};

/// Bytes that are read at once, at the least.
const BUFFER_LEN_MIN: usize = 1024 * 1024;

/// A chunk of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// Where it is, in bytes from the file's start.
    pub(crate) range: Range<u64>,
    /// Of its contents.
    pub(crate) digest: Digest,
}

/// A part of a file that is being cut.
pub(crate) struct Cutter {
    lens: ChunkLens,
    /// Normalized to level 1, as FastCDC's authors have it.
    masks: (u64, u64),
    buffer: Vec<u8>,
    /// What of the buffer has been read and not been cut.
    uncut: Range<usize>,
    /// What of the file that is, and what is behind it.
    left: Range<u64>,
}

impl Cutter {
    /// For that part of a file.
    pub(crate) fn new(lens: ChunkLens, range: Range<u64>) -> Self {
        let masks = select_masks(lens.average, Normalization::Level1);
        Self { lens, masks, buffer: Vec::new(), uncut: 0..0, left: range }
    }

    /// Takes a buffer in exchange for its own. What was read and not cut is read again.
    pub(crate) fn swap_buffer(&mut self, buffer: &mut Vec<u8>) {
        std::mem::swap(&mut self.buffer, buffer);
        self.uncut = 0..0;
    }

    /// Where the next chunk begins.
    pub(crate) fn at(&self) -> u64 {
        self.left.start
    }

    /// The next chunk of what `read` gives from an offset on; none at the end, which comes early
    /// where that gives nothing any more.
    pub(crate) fn next(&mut self, read: impl FnMut(u64, &mut [u8]) -> io::Result<usize>) -> io::Result<Option<Chunk>> {
        if self.uncut.len() < self.lens.max {
            self.fill(read)?;
        }
        let source = &self.buffer[self.uncut.clone()];
        if source.is_empty() {
            return Ok(None);
        }
        let ChunkLens { min, average, max } = self.lens;
        let (strict, loose) = self.masks;
        let (_, len) = cut(source, min, average, max, strict, loose, strict << 1, loose << 1);
        let digest = Digest(*blake3::hash(&source[..len]).as_bytes());
        let range = self.left.start..self.left.start + len as u64;
        self.uncut.start += len;
        self.left.start = range.end;
        Ok(Some(Chunk { range, digest }))
    }

    fn fill(&mut self, mut read: impl FnMut(u64, &mut [u8]) -> io::Result<usize>) -> io::Result<()> {
        let len = BUFFER_LEN_MIN.max(2 * self.lens.max);
        if self.buffer.len() < len {
            self.buffer.resize(len, 0);
        }
        self.buffer.copy_within(self.uncut.clone(), 0);
        self.uncut = 0..self.uncut.len();
        let due = (self.left.end - self.left.start).min(self.buffer.len() as u64) as usize;
        while self.uncut.end < due {
            match read(self.left.start + self.uncut.end as u64, &mut self.buffer[self.uncut.end..due])? {
                0 => {
                    self.left.end = self.left.start + self.uncut.end as u64;
                    break;
                }
                bytes => self.uncut.end += bytes,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    const LENS: ChunkLens = ChunkLens { average: 1024, min: 256, max: 4096 };

    fn noise(seed: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof().fill(&mut bytes);
        bytes
    }

    /// All chunks of a part, read in calls of at most `call` bytes.
    fn chunks(contents: &[u8], range: Range<u64>, call: usize) -> Vec<Chunk> {
        let mut cutter = Cutter::new(LENS, range);
        let read = |at: u64, into: &mut [u8]| {
            let from = &contents[(at as usize).min(contents.len())..];
            let len = from.len().min(into.len()).min(call);
            into[..len].copy_from_slice(&from[..len]);
            Ok(len)
        };
        std::iter::from_fn(|| cutter.next(read).unwrap()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn chunks_are_the_file_in_order_however_it_is_read(seed: u64, len in 0..3_000_000usize, call in 1..90_000usize, start in 0..9_000u64) {
            let contents = noise(seed, len);
            let start = start.min(len as u64);
            let cut = chunks(&contents, start..len as u64, call.max(999));
            prop_assert_eq!(&cut, &chunks(&contents, start..len as u64, usize::MAX));
            let mut at = start;
            for (number, chunk) in cut.iter().enumerate() {
                prop_assert_eq!(chunk.range.start, at);
                at = chunk.range.end;
                let bytes = (at - chunk.range.start) as usize;
                prop_assert!(bytes <= LENS.max && (bytes >= LENS.min || number + 1 == cut.len()));
                let contents = &contents[chunk.range.start as usize..at as usize];
                prop_assert_eq!(chunk.digest.0, *blake3::hash(contents).as_bytes());
            }
            prop_assert_eq!(at, len as u64);
        }

        #[test]
        fn what_is_the_same_is_cut_alike_wherever_it_lies(seed: u64, at in 0..200_000usize, inserted in 1..50_000usize) {
            let old = noise(seed, 200_000);
            let new = [&old[..at], &noise(!seed, inserted), &old[at..]].concat();
            let known: HashSet<_> = chunks(&old, 0..old.len() as u64, usize::MAX).iter().map(|chunk| chunk.digest.0).collect();
            let cut = chunks(&new, 0..new.len() as u64, usize::MAX);
            let missed: u64 = cut.iter().filter(|chunk| !known.contains(&chunk.digest.0)).map(|chunk| chunk.range.end - chunk.range.start).sum();
            prop_assert!(missed <= (inserted + 8 * LENS.max) as u64, "{missed} of {inserted}");
        }
    }

    #[test]
    fn a_file_that_is_shorter_than_it_was_ends_early() {
        let contents = noise(1, 10_000);
        assert_eq!(chunks(&contents, 0..20_000, usize::MAX).last().unwrap().range.end, 10_000);
        assert_eq!(chunks(&contents, 15_000..20_000, usize::MAX), []);
    }
}
