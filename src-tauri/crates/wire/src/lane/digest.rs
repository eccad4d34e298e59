//! Digests of contents. In a transfer that is to be proven, they are at the end of a head: one for
//! each of its files, in the files' order.
use crate::ProtocolError;
use crate::bytes::Reader;

/// Bytes of a digest.
pub const DIGEST_LEN: usize = 32;

/// The BLAKE3 digest of a file's contents, or of one range. The engine compares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digest(pub [u8; DIGEST_LEN]);

impl Digest {
    /// A digest that no contents have, for a file that is listed without having been read.
    pub const NONE: Self = Self([0; DIGEST_LEN]);
}

/// A function that reads the digests of this many files from the end of a head.
pub(super) type ReadDigests<'a> = fn(Reader<'a>, usize) -> Result<Digests<'a>, ProtocolError>;

/// The digests of one head.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Digests<'a>(&'a [[u8; DIGEST_LEN]]);

impl<'a> Digests<'a> {
    /// No digests, and no other bytes either.
    pub(super) fn none(rest: Reader<'a>, _: usize) -> Result<Self, ProtocolError> {
        rest.finish().map(|()| Self::default())
    }

    /// Exactly one digest for each file.
    pub(super) fn decode(mut reader: Reader<'a>, files: usize) -> Result<Self, ProtocolError> {
        let (digests, _) = reader.take(files * DIGEST_LEN)?.as_chunks();
        reader.finish()?;
        Ok(Self(digests))
    }

    pub(super) fn of(self, file: usize) -> Option<Digest> {
        self.0.get(file).copied().map(Digest)
    }
}
