//! Digests of a large file's contents as they were sent, for comparison when the file is read
//! again.
use std::ops::Range;

use crate::chunking::Chunk;

/// Bytes that are kept of a digest: enough for a comparison with what this process has read itself.
/// With its position a part takes 40 bytes, one for each MiB of a file.
const DIGEST_KEPT: usize = 16;

/// The digest of one part of a large file as it was sent.
#[derive(Default)]
pub(in crate::send) struct Told {
    pub(in crate::send) parts: Vec<Part>,
}

pub(in crate::send) struct Part {
    pub(in crate::send) range: Range<u64>,
    /// Whether the digest is one of the digests of the part's chunks, instead of its bytes.
    pub(in crate::send) is_chunked: bool,
    pub(in crate::send) digest: [u8; DIGEST_KEPT],
}

impl Told {
    pub(in crate::send) fn bytes(&mut self, offset: u64, bytes: &[u8]) {
        let range = offset..offset + bytes.len() as u64;
        self.parts.push(Part { range, is_chunked: false, digest: kept(blake3::hash(bytes)) });
    }

    /// Adds consecutive chunks, at least one.
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
