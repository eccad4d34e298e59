//! The head of a range: the file, and the position of the body in it.
use super::digest::{Digest, Digests};
use super::entry::decode_entry;
use super::{Entry, EntryKind, FILE_ID_MAX, FrameHeader, OwnerNames, bounded};
use crate::ProtocolError;
use crate::bytes::Reader;
use crate::limits::PATH_MAX;
use crate::name::RelPath;

/// A range's position among its file's ranges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeStep {
    /// Other ranges follow, on this lane or on others.
    More,
    /// The last range that is sent; others may still be under way on other lanes. The rest of the
    /// file is holes.
    Last {
        /// Bytes in all ranges together.
        data_bytes: u64,
    },
    /// The sender gave up the file. The ranges that have arrived are void, and others may still be
    /// under way.
    Abandoned {
        /// Bytes in all ranges that were sent.
        data_bytes: u64,
    },
}

/// A range's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangeHead<'a> {
    /// The file's id. On each lane a sender counts up from a different start (`lane << 40`) for the
    /// files that begin there. So ended ids form few stretches, however far one lane is behind
    /// another. The file's ranges may come on any lane.
    pub file_id: u64,
    /// The offset of the body in the file.
    pub offset: u64,
    /// Its position among the others.
    pub step: RangeStep,
    /// Distinguishes this version of the file from others that its path has had at the sender,
    /// whatever their times. It is the same in all of the file's ranges.
    pub stamp: u64,
    /// The file's folder.
    pub folder: RelPath<'a>,
    /// The file itself; the same in all of its ranges.
    pub entry: Entry<'a>,
    /// The names of its user and group, and of those in its access control lists, as far as they
    /// are told.
    pub owner_names: OwnerNames<'a>,
}

impl<'a> RangeHead<'a> {
    /// Parses and bounds a range's head.
    pub fn parse(header: &FrameHeader, head: &'a [u8]) -> Result<Self, ProtocolError> {
        let (head, rest) = Self::checked(header, head)?;
        rest.finish().map(|()| head)
    }

    /// The same for a transfer that is to be proven: the digest of the body follows.
    pub fn parse_proven(header: &FrameHeader, head: &'a [u8]) -> Result<(Self, Digest), ProtocolError> {
        let (head, rest) = Self::checked(header, head)?;
        let digest = Digests::decode(rest, 1)?.of(0).ok_or(ProtocolError::Truncated)?;
        Ok((head, digest))
    }

    fn checked(header: &FrameHeader, head: &'a [u8]) -> Result<(Self, Reader<'a>), ProtocolError> {
        let mut reader = Reader::new(head);
        let file_id = reader.u64()?;
        bounded("file id", file_id, FILE_ID_MAX)?;
        let offset = reader.u64()?;
        let stamp = reader.u64()?;
        let step = match reader.u8()? {
            0 => RangeStep::More,
            1 => RangeStep::Last { data_bytes: reader.u64()? },
            2 => RangeStep::Abandoned { data_bytes: reader.u64()? },
            value => return Err(ProtocolError::Unknown { what: "range step", value }),
        };
        let folder = RelPath::new(reader.short_bytes("path", PATH_MAX)?)?;
        let entry = decode_entry(&mut reader, folder)?;
        let EntryKind::File { size, .. } = entry.kind else {
            return Err(ProtocolError::BadValue("ranged entry"));
        };
        let end = offset.checked_add(header.body_len.into()).filter(|end| *end <= size);
        if end.is_none() {
            return Err(ProtocolError::Range { id: file_id, why: "past the end of the file" });
        }
        if header.body_len == 0 && matches!(step, RangeStep::More) {
            return Err(ProtocolError::Range { id: file_id, why: "empty" });
        }
        if header.body_len > 0 && matches!(step, RangeStep::Abandoned { .. }) {
            return Err(ProtocolError::Range { id: file_id, why: "abandoned with contents" });
        }
        let owner_names = OwnerNames::decode(&mut reader)?;
        Ok((Self { file_id, offset, step, stamp, folder, entry, owner_names }, reader))
    }
}
