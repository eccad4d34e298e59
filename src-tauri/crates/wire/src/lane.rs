//! The lane stream: heads of batches, lists, ranges and windows of chunks, which the sender writes
//! and the receiver parses in place. Bodies do not pass through this module.
mod acl;
mod batch;
mod chunks;
mod digest;
mod entry;
mod head;
mod listed;
mod owner;
mod owner_names;
mod range;
mod xattrs;

use crate::ProtocolError;
use crate::bytes::Reader;
use crate::limits::{BATCH_ITEMS_MAX, LANE_BODY_MAX, LANE_HEAD_MAX};

pub use crate::timestamp::Timestamp;
pub use acl::{ACL_LEN_MAX, Acl, AclKind};
pub use batch::{Batch, Item};
pub use chunks::{ChunkLens, ChunkWindow};
pub use digest::{DIGEST_LEN, Digest};
pub use entry::{Attributes, Entry, EntryKind};
pub use head::{HeadBuffer, ITEM_LEN_MAX};
pub use listed::FileList;
pub use owner::{Owner, OwnerKind};
pub use owner_names::{OwnerNames, OwnerNamesBuffer, is_owner_name, owners_of};
pub use range::{RangeHead, RangeStep};
pub use xattrs::{XattrBuffer, Xattrs};

/// Bytes of a lane frame's header.
pub const HEADER_LEN: usize = 16;

/// The largest file size that Linux's `off_t` can express.
pub const FILE_SIZE_MAX: u64 = i64::MAX as u64;

/// The largest id of a file that is sent in ranges.
pub const FILE_ID_MAX: u64 = (1 << 48) - 1;

/// Counts of entries: by the sender as it sends, by the receiver as they arrive, and by the
/// receiver when they are in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Regular files.
    pub files: u64,
    /// Folders with their attributes.
    pub folders: u64,
    /// Symbolic and hard links.
    pub links: u64,
    /// Bytes of file contents; holes do not count.
    pub bytes: u64,
}

impl Counts {
    /// All entries together.
    pub fn entries(&self) -> u64 {
        self.files.saturating_add(self.folders).saturating_add(self.links)
    }
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        // Sums saturate, because a peer can name any sizes without sending contents.
        self.files = self.files.saturating_add(other.files);
        self.folders = self.folders.saturating_add(other.folders);
        self.links = self.links.saturating_add(other.links);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

/// A lane frame's kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameKind {
    /// Many entries, with the contents of small files end to end.
    Batch,
    /// A piece of one large file.
    Range,
    /// Files without their contents. The receiver answers which of them it wants.
    List,
    /// Digests of a large file's chunks. The receiver answers which of them its file of that name
    /// does not have.
    Chunks,
    /// The lane's last frame.
    End,
    /// The connection's last frame: the lane continues in another connection.
    Renew,
}

/// A lane frame's header: the kind and length of what follows. As bytes: one for the kind, three
/// for `packed_len`, then four for each other field, all little-endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHeader {
    /// The kind.
    pub kind: FrameKind,
    /// Items in the head (a batch's or list's; chunks of a window; 1 for a range; 0 for an end or a
    /// renewal).
    pub items: u32,
    /// Bytes of head.
    pub head_len: u32,
    /// Bytes of body, uncompressed.
    pub body_len: u32,
    /// Bytes of the compressed body on the wire (one Zstandard frame, RFC 8878), which are fewer
    /// than `body_len`; 0 if it is not compressed.
    pub packed_len: u32,
}

impl FrameHeader {
    /// The frame that ends a lane.
    pub const END: Self = Self { kind: FrameKind::End, items: 0, head_len: 0, body_len: 0, packed_len: 0 };

    /// The frame that sends the receiver to the lane's next connection.
    pub const RENEW: Self = Self { kind: FrameKind::Renew, ..Self::END };

    /// As bytes.
    pub fn encode(&self) -> [u8; HEADER_LEN] {
        let mut out = [0; HEADER_LEN];
        out[0] = match self.kind {
            FrameKind::Batch => 1,
            FrameKind::Range => 2,
            FrameKind::End => 3,
            FrameKind::Renew => 4,
            FrameKind::List => 5,
            FrameKind::Chunks => 6,
        };
        debug_assert!(self.packed_len >> 24 == 0, "a body is no longer than LANE_BODY_MAX");
        out[1..4].copy_from_slice(&self.packed_len.to_le_bytes()[..3]);
        out[4..8].copy_from_slice(&self.items.to_le_bytes());
        out[8..12].copy_from_slice(&self.head_len.to_le_bytes());
        out[12..16].copy_from_slice(&self.body_len.to_le_bytes());
        out
    }

    /// Reads and bounds a header.
    pub fn decode(bytes: [u8; HEADER_LEN]) -> Result<Self, ProtocolError> {
        let mut reader = Reader::new(&bytes);
        let kind = match reader.u8()? {
            1 => FrameKind::Batch,
            2 => FrameKind::Range,
            3 => FrameKind::End,
            4 => FrameKind::Renew,
            5 => FrameKind::List,
            6 => FrameKind::Chunks,
            value => return Err(ProtocolError::Unknown { what: "lane frame", value }),
        };
        let [low, middle, high] = reader.array::<3>()?;
        let packed_len = u32::from_le_bytes([low, middle, high, 0]);
        let header = Self { kind, items: reader.u32()?, head_len: reader.u32()?, body_len: reader.u32()?, packed_len };
        bounded("lane head", header.head_len.into(), LANE_HEAD_MAX as u64)?;
        bounded("lane body", header.body_len.into(), LANE_BODY_MAX as u64)?;
        bounded("batch items", header.items.into(), BATCH_ITEMS_MAX as u64)?;
        if packed_len > 0 && packed_len >= header.body_len {
            return Err(ProtocolError::BadValue("packed body"));
        }
        match kind {
            FrameKind::End if header != Self::END => Err(ProtocolError::BadValue("end frame")),
            FrameKind::Renew if header != Self::RENEW => Err(ProtocolError::BadValue("renew frame")),
            FrameKind::Range if header.items != 1 => Err(ProtocolError::BadValue("range items")),
            FrameKind::Batch if header.items == 0 => Err(ProtocolError::BadValue("empty batch")),
            FrameKind::Chunks if header.items == 0 => Err(ProtocolError::BadValue("window without chunks")),
            FrameKind::Chunks if header.body_len > 0 => Err(ProtocolError::BadValue("chunks with contents")),
            FrameKind::List if header.body_len > 0 => Err(ProtocolError::BadValue("list with contents")),
            _ => Ok(header),
        }
    }
}

fn bounded(what: &'static str, value: u64, limit: u64) -> Result<(), ProtocolError> {
    if value > limit { Err(ProtocolError::TooLarge { what, value, limit }) } else { Ok(()) }
}
