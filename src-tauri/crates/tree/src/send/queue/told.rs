//! What the receiver was told of a large file's contents, to be compared when that is read again.
use std::ops::Range;

use crate::chunking::Chunk;

/// Bytes kept of a digest: enough for a comparison with what this process has read itself. With its
/// place a part takes 40 bytes, one for each MiB of a file.
const DIGEST_KEPT: usize = 16;

/// What the receiver was told of a large file's contents.
#[derive(Default)]
pub(in crate::send) struct Told {
    pub(in crate::send) parts: Vec<Part>,
}

pub(in crate::send) struct Part {
    pub(in crate::send) range: Range<u64>,
    /// The digest is of the digests of the chunks in it, else of its bytes.
    pub(in crate::send) is_chunked: bool,
    pub(in crate::send) digest: [u8; DIGEST_KEPT],
}

impl Told {
    pub(in crate::send) fn bytes(&mut self, offset: u64, bytes: &[u8]) {
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

pub(in crate::send) fn kept(digest: blake3::Hash) -> [u8; DIGEST_KEPT] {
    let mut kept = [0; DIGEST_KEPT];
    kept.copy_from_slice(&digest.as_bytes()[..DIGEST_KEPT]);
    kept
}
