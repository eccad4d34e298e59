//! Digests of contents, which a head carries behind everything else in a transfer that is to be
//! proven: one for each of its files, in their order.
use crate::ProtocolError;
use crate::bytes::Reader;

/// Bytes of a digest.
pub const DIGEST_LEN: usize = 32;

/// The BLAKE3 digest of a file's contents, or of those of one range. What it is compared with is
/// the engine's business.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digest(pub [u8; DIGEST_LEN]);

impl Digest {
    /// What no contents have: of a file that is listed without having been read.
    pub const NONE: Self = Self([0; DIGEST_LEN]);
}

/// How those of so many files are read from behind them.
pub(super) type ReadDigests<'a> = fn(Reader<'a>, usize) -> Result<Digests<'a>, ProtocolError>;

/// Those of one head.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Digests<'a>(&'a [[u8; DIGEST_LEN]]);

impl<'a> Digests<'a> {
    /// None, and nothing else either.
    pub(super) fn none(rest: Reader<'a>, _: usize) -> Result<Self, ProtocolError> {
        rest.finish().map(|()| Self::default())
    }

    /// So many: neither more nor fewer.
    pub(super) fn decode(mut reader: Reader<'a>, files: usize) -> Result<Self, ProtocolError> {
        let (digests, _) = reader.take(files * DIGEST_LEN)?.as_chunks();
        reader.finish()?;
        Ok(Self(digests))
    }

    pub(super) fn of(self, file: usize) -> Option<Digest> {
        self.0.get(file).copied().map(Digest)
    }
}
