//! The lane stream: heads of batches and ranges, written by the sender and parsed in place by the receiver. Bodies never come here.
use std::ops::Range;

use crate::ProtocolError;
use crate::bytes::{Put, Reader};
use crate::limits::{
    BATCH_ITEMS_MAX, LANE_BODY_MAX, LANE_HEAD_MAX, LINK_TARGET_MAX, NAME_MAX, PATH_MAX, XATTR_COUNT_MAX,
    XATTR_NAME_MAX, XATTRS_TOTAL_MAX,
};
use crate::name::{Name, RelPath};

/// Bytes of a lane frame's header.
pub const HEADER_LEN: usize = 16;

/// The largest size of a file that Linux's `off_t` can say.
pub const FILE_SIZE_MAX: u64 = i64::MAX as u64;

/// The largest id of a file in ranges.
pub const FILE_ID_MAX: u64 = (1 << 48) - 1;

/// What moved: counted by the sender, by the receiver as it arrives, and by the receiver as it is there.
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
        self.files + self.folders + self.links
    }
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.files += other.files;
        self.folders += other.folders;
        self.links += other.links;
        self.bytes += other.bytes;
    }
}

/// A lane frame's kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameKind {
    /// Many entries, small files' contents end to end.
    Batch,
    /// A piece of one large file.
    Range,
    /// The lane's last frame.
    End,
    /// The connection's last frame: the lane goes on in another one.
    Renew,
}

/// A lane frame's header: what follows, and how much of it. As bytes: the kind, three of `packed_len`, then four each, all little-endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHeader {
    /// What it is.
    pub kind: FrameKind,
    /// Items in the head (a batch's; 1 for a range; 0 for an end or a renewal).
    pub items: u32,
    /// Bytes of head.
    pub head_len: u32,
    /// Bytes of body, once it is unpacked.
    pub body_len: u32,
    /// Bytes that the body takes on the wire where it is packed (one Zstandard frame, RFC 8878): fewer than it has. 0 where it is not.
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
            _ => Ok(header),
        }
    }
}

fn bounded(what: &'static str, value: u64, limit: u64) -> Result<(), ProtocolError> {
    if value > limit { Err(ProtocolError::TooLarge { what, value, limit }) } else { Ok(()) }
}

/// A point in time: seconds since 1970 (negative before) and nanoseconds below a second, as struct timespec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timestamp {
    /// Seconds since 1970-01-01 00:00 UTC.
    pub secs: i64,
    /// Nanoseconds, 0 to 999,999,999.
    pub nanos: u32,
}

/// What every file and folder has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Attributes {
    /// Permission bits with setuid, setgid and sticky: 0 to 0o7777.
    pub mode: u16,
    /// Numeric owner at the source.
    pub uid: u32,
    /// Numeric group at the source.
    pub gid: u32,
    /// Time of last change of contents.
    pub mtime: Timestamp,
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind<'a> {
    /// A regular file of so many bytes.
    File {
        /// Its length, holes included.
        size: u64,
        /// Set if other names of the same file may follow as [`EntryKind::HardLink`].
        link_id: Option<u64>,
    },
    /// A symbolic link; the target is text, never followed.
    Symlink {
        /// Where it points.
        target: &'a [u8],
    },
    /// Another name of a file with that `link_id`.
    HardLink {
        /// The id that the first name carried.
        link_id: u64,
        /// Whether no further name follows.
        last: bool,
    },
}

/// One entry in the current folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Its name.
    pub name: Name<'a>,
    /// What it is.
    pub kind: EntryKind<'a>,
    /// Mode, owner, time. A hard link's are its file's and are ignored.
    pub attributes: Attributes,
    /// Extended attributes of the `user.` namespace.
    pub xattrs: Xattrs<'a>,
}

/// Encoded extended attributes; checked when parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Xattrs<'a> {
    count: u16,
    bytes: &'a [u8],
}

impl<'a> Xattrs<'a> {
    /// Name and value, in the order sent.
    pub fn iter(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        let mut reader = Reader::new(self.bytes);
        (0..self.count).map_while(move |_| decode_xattr(&mut reader).ok())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn decode(reader: &mut Reader<'a>) -> Result<Self, ProtocolError> {
        let count = reader.u16()?;
        if count == 0 {
            return Ok(Self::default());
        }
        bounded("extended attributes", count.into(), XATTR_COUNT_MAX as u64)?;
        let len = reader.u32()?;
        bounded("extended attributes", len.into(), XATTRS_TOTAL_MAX as u64)?;
        let bytes = reader.take(len as usize)?;
        let mut inner = Reader::new(bytes);
        for _ in 0..count {
            decode_xattr(&mut inner)?;
        }
        inner.finish()?;
        Ok(Self { count, bytes })
    }
}

fn decode_xattr<'a>(reader: &mut Reader<'a>) -> Result<(&'a [u8], &'a [u8]), ProtocolError> {
    let name = reader.short_bytes("extended attribute name", XATTR_NAME_MAX)?;
    let suffix = name.strip_prefix(b"user.").ok_or(ProtocolError::BadName)?;
    if suffix.is_empty() || name.contains(&0) {
        return Err(ProtocolError::BadName);
    }
    let len = reader.u32()?;
    bounded("extended attribute value", len.into(), XATTRS_TOTAL_MAX as u64)?;
    Ok((name, reader.take(len as usize)?))
}

/// Extended attributes being collected for an entry; over-long ones are refused here, so that encoding cannot fail.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct XattrBuffer {
    count: u16,
    bytes: Vec<u8>,
}

impl XattrBuffer {
    /// Adds one; false if it is not of the `user.` namespace or a limit is reached: the caller reports it.
    pub fn push(&mut self, name: &[u8], value: &[u8]) -> bool {
        let grown = self.bytes.len() + 6 + name.len() + value.len();
        let fits = usize::from(self.count) < XATTR_COUNT_MAX && grown <= XATTRS_TOTAL_MAX;
        let named = name.len() > 5 && name.len() <= XATTR_NAME_MAX && name.starts_with(b"user.") && !name.contains(&0);
        if fits && named {
            self.count += 1;
            self.bytes.put_short_bytes(name);
            self.bytes.put_u32(value.len() as u32);
            self.bytes.extend_from_slice(value);
        }
        fits && named
    }

    /// As an entry carries them.
    pub fn as_xattrs(&self) -> Xattrs<'_> {
        Xattrs { count: self.count, bytes: &self.bytes }
    }
}

/// One item of a batch's head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item<'a> {
    /// Entries that follow are in this folder. With attributes, the folder itself is an entry; the root never has any.
    Folder {
        /// The folder.
        path: RelPath<'a>,
        /// Its attributes, said once.
        attributes: Option<Attributes>,
        /// Its extended attributes.
        xattrs: Xattrs<'a>,
    },
    /// An entry in the current folder, and where its contents lie in the body (empty for links).
    Entry(Entry<'a>, Range<usize>),
}

const ITEM_FOLDER: u8 = 1;
const ITEM_FOLDER_WITH_ATTRIBUTES: u8 = 2;
const ITEM_FILE: u8 = 3;
const ITEM_LINKED_FILE: u8 = 4;
const ITEM_SYMLINK: u8 = 5;
const ITEM_HARD_LINK: u8 = 6;
const ITEM_LAST_HARD_LINK: u8 = 7;

/// The most bytes that one item's head takes, so that a sender knows when a batch is full.
pub const ITEM_LEN_MAX: usize = 64 + XATTRS_TOTAL_MAX + PATH_MAX + LINK_TARGET_MAX + NAME_MAX;

/// A batch's or range's head being written.
#[derive(Debug, Default)]
pub struct HeadBuffer {
    bytes: Vec<u8>,
    items: u32,
    counts: Counts,
}

impl HeadBuffer {
    /// Empties it, keeping its memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.items = 0;
        self.counts = Counts::default();
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.items == 0
    }

    /// Whether a folder item and another item certainly still fit.
    pub fn has_room(&self) -> bool {
        self.items as usize + 2 <= BATCH_ITEMS_MAX && self.bytes.len() + 2 * ITEM_LEN_MAX <= LANE_HEAD_MAX
    }

    /// What was added.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The encoded head.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The current folder for what follows.
    pub fn folder(&mut self, path: RelPath<'_>) {
        self.items += 1;
        self.bytes.put_u8(ITEM_FOLDER);
        self.bytes.put_short_bytes(path.as_bytes());
    }

    /// A folder with its attributes, which also becomes the current one.
    pub fn folder_with_attributes(&mut self, path: RelPath<'_>, attributes: &Attributes, xattrs: Xattrs<'_>) {
        self.items += 1;
        self.counts.folders += 1;
        self.bytes.put_u8(ITEM_FOLDER_WITH_ATTRIBUTES);
        self.bytes.put_short_bytes(path.as_bytes());
        encode_attributes(attributes, &mut self.bytes);
        encode_xattrs(xattrs, &mut self.bytes);
    }

    /// An entry in the current folder; a file's contents follow in the body in the same order.
    pub fn entry(&mut self, entry: &Entry<'_>) {
        self.items += 1;
        match entry.kind {
            EntryKind::File { size, .. } => {
                self.counts.files += 1;
                self.counts.bytes += size;
            }
            _ => self.counts.links += 1,
        }
        encode_entry(entry, &mut self.bytes);
    }

    /// The header of the batch that this head belongs to.
    pub fn batch_header(&self, body_len: usize) -> FrameHeader {
        FrameHeader {
            kind: FrameKind::Batch,
            items: self.items,
            head_len: self.bytes.len() as u32,
            body_len: body_len as u32,
            packed_len: 0,
        }
    }

    /// Makes this the head of one range, and returns its header.
    pub fn range(&mut self, head: &RangeHead<'_>, body_len: usize) -> FrameHeader {
        self.clear();
        self.bytes.put_u64(head.file_id);
        self.bytes.put_u64(head.offset);
        match head.step {
            RangeStep::More => self.bytes.put_u8(0),
            RangeStep::Last { data_bytes } => {
                self.bytes.put_u8(1);
                self.bytes.put_u64(data_bytes);
                self.counts.files += 1;
            }
            RangeStep::Abandoned { data_bytes } => {
                self.bytes.put_u8(2);
                self.bytes.put_u64(data_bytes);
            }
        }
        self.counts.bytes += body_len as u64;
        self.bytes.put_short_bytes(head.folder.as_bytes());
        encode_entry(&head.entry, &mut self.bytes);
        self.items = 1;
        let (head_len, body_len) = (self.bytes.len() as u32, body_len as u32);
        FrameHeader { kind: FrameKind::Range, items: 1, head_len, body_len, packed_len: 0 }
    }
}

/// What a range is to its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeStep {
    /// Others follow, or come on other lanes.
    More,
    /// The last to be sent (others may still be under way on other lanes); all ranges together hold so many bytes, the rest is holes.
    Last {
        /// Bytes of all ranges.
        data_bytes: u64,
    },
    /// The sender gave the file up; what came of it is void, and of what it sent others may still be under way.
    Abandoned {
        /// Bytes of all ranges that were sent.
        data_bytes: u64,
    },
}

/// A range's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangeHead<'a> {
    /// The file's id. A sender counts up, on each lane from a start of its own (as `lane << 40`) for the files that it begins there, so that
    /// ids end in few stretches however far one lane is behind another. Its ranges may come on any lanes.
    pub file_id: u64,
    /// Where the body belongs, in bytes from the file's start.
    pub offset: u64,
    /// Where it stands among the others.
    pub step: RangeStep,
    /// The file's folder.
    pub folder: RelPath<'a>,
    /// The file itself, the same in every one of its ranges.
    pub entry: Entry<'a>,
}

impl<'a> RangeHead<'a> {
    /// Parses and bounds a range's head.
    pub fn parse(header: &FrameHeader, head: &'a [u8]) -> Result<Self, ProtocolError> {
        let mut reader = Reader::new(head);
        let file_id = reader.u64()?;
        bounded("file id", file_id, FILE_ID_MAX)?;
        let offset = reader.u64()?;
        let step = match reader.u8()? {
            0 => RangeStep::More,
            1 => RangeStep::Last { data_bytes: reader.u64()? },
            2 => RangeStep::Abandoned { data_bytes: reader.u64()? },
            value => return Err(ProtocolError::Unknown { what: "range step", value }),
        };
        let folder = RelPath::new(reader.short_bytes("path", PATH_MAX)?)?;
        let entry = decode_entry(&mut reader, folder)?;
        reader.finish()?;
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
        Ok(Self { file_id, offset, step, folder, entry })
    }
}

/// A batch whose head has been checked from end to end.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    head: &'a [u8],
    items: u32,
    counts: Counts,
}

impl<'a> Batch<'a> {
    /// Checks a whole head against its header: every item, their number, and the body's length.
    pub fn parse(header: &FrameHeader, head: &'a [u8]) -> Result<Self, ProtocolError> {
        let mut items = ItemReader::new(head);
        let mut counts = Counts::default();
        for _ in 0..header.items {
            match items.next_item()? {
                Item::Folder { attributes, .. } => counts.folders += u64::from(attributes.is_some()),
                Item::Entry(entry, body) => {
                    bounded("body", body.end as u64, header.body_len.into())?;
                    match entry.kind {
                        EntryKind::File { .. } => counts.files += 1,
                        _ => counts.links += 1,
                    }
                }
            }
        }
        items.reader.finish()?;
        if items.body_at != header.body_len as usize {
            return Err(ProtocolError::Totals {
                what: "bytes of a batch",
                declared: header.body_len.into(),
                found: items.body_at as u64,
            });
        }
        counts.bytes = header.body_len.into();
        Ok(Self { head, items: header.items, counts })
    }

    /// What it holds.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Its items in order.
    pub fn items(&self) -> impl Iterator<Item = Item<'a>> + use<'a> {
        let mut reader = ItemReader::new(self.head);
        (0..self.items).map(move |_| reader.next_item().expect("checked when parsed"))
    }
}

struct ItemReader<'a> {
    reader: Reader<'a>,
    folder: Option<RelPath<'a>>,
    body_at: usize,
}

impl<'a> ItemReader<'a> {
    fn new(head: &'a [u8]) -> Self {
        Self { reader: Reader::new(head), folder: None, body_at: 0 }
    }

    fn next_item(&mut self) -> Result<Item<'a>, ProtocolError> {
        let with_attributes = match self.reader.peek()? {
            ITEM_FOLDER => false,
            ITEM_FOLDER_WITH_ATTRIBUTES => true,
            _ => return self.next_entry(),
        };
        self.reader.u8()?;
        let path = RelPath::new(self.reader.short_bytes("path", PATH_MAX)?)?;
        self.folder = Some(path);
        if !with_attributes {
            return Ok(Item::Folder { path, attributes: None, xattrs: Xattrs::default() });
        }
        if path.is_root() {
            return Err(ProtocolError::BadValue("root attributes"));
        }
        let attributes = Some(decode_attributes(&mut self.reader)?);
        Ok(Item::Folder { path, attributes, xattrs: Xattrs::decode(&mut self.reader)? })
    }

    fn next_entry(&mut self) -> Result<Item<'a>, ProtocolError> {
        let folder = self.folder.ok_or(ProtocolError::BadValue("entry before its folder"))?;
        let entry = decode_entry(&mut self.reader, folder)?;
        let start = self.body_at;
        if let EntryKind::File { size, .. } = entry.kind {
            bounded("file in a batch", size, LANE_BODY_MAX as u64)?;
            self.body_at += size as usize;
            bounded("body", self.body_at as u64, LANE_BODY_MAX as u64)?;
        }
        Ok(Item::Entry(entry, start..self.body_at))
    }
}

fn encode_attributes(attributes: &Attributes, out: &mut Vec<u8>) {
    out.put_u16(attributes.mode);
    out.put_u32(attributes.uid);
    out.put_u32(attributes.gid);
    out.put_i64(attributes.mtime.secs);
    out.put_u32(attributes.mtime.nanos);
}

fn decode_attributes(reader: &mut Reader<'_>) -> Result<Attributes, ProtocolError> {
    let attributes = Attributes {
        mode: reader.u16()?,
        uid: reader.u32()?,
        gid: reader.u32()?,
        mtime: Timestamp { secs: reader.i64()?, nanos: reader.u32()? },
    };
    if attributes.mode > 0o7777 {
        return Err(ProtocolError::BadValue("mode"));
    }
    if attributes.mtime.nanos > 999_999_999 {
        return Err(ProtocolError::BadValue("nanoseconds"));
    }
    Ok(attributes)
}

fn encode_xattrs(xattrs: Xattrs<'_>, out: &mut Vec<u8>) {
    out.put_u16(xattrs.count);
    if xattrs.count > 0 {
        out.put_u32(xattrs.bytes.len() as u32);
        out.extend_from_slice(xattrs.bytes);
    }
}

fn encode_entry(entry: &Entry<'_>, out: &mut Vec<u8>) {
    out.put_u8(match entry.kind {
        EntryKind::File { link_id: None, .. } => ITEM_FILE,
        EntryKind::File { link_id: Some(_), .. } => ITEM_LINKED_FILE,
        EntryKind::Symlink { .. } => ITEM_SYMLINK,
        EntryKind::HardLink { last: false, .. } => ITEM_HARD_LINK,
        EntryKind::HardLink { last: true, .. } => ITEM_LAST_HARD_LINK,
    });
    out.put_short_bytes(entry.name.as_bytes());
    encode_attributes(&entry.attributes, out);
    match entry.kind {
        EntryKind::File { size, link_id } => {
            out.put_u64(size);
            if let Some(id) = link_id {
                out.put_u64(id);
            }
        }
        EntryKind::Symlink { target } => out.put_short_bytes(target),
        EntryKind::HardLink { link_id, .. } => out.put_u64(link_id),
    }
    encode_xattrs(entry.xattrs, out);
}

fn decode_entry<'a>(reader: &mut Reader<'a>, folder: RelPath<'_>) -> Result<Entry<'a>, ProtocolError> {
    let item = reader.u8()?;
    let name = Name::new(reader.short_bytes("name", NAME_MAX)?)?;
    let path_len = folder.as_bytes().len() + usize::from(!folder.is_root()) + name.as_bytes().len();
    bounded("path", path_len as u64, PATH_MAX as u64)?;
    let attributes = decode_attributes(reader)?;
    let kind = match item {
        ITEM_FILE => EntryKind::File { size: reader.u64()?, link_id: None },
        ITEM_LINKED_FILE => EntryKind::File { size: reader.u64()?, link_id: Some(reader.u64()?) },
        ITEM_SYMLINK => EntryKind::Symlink { target: decode_target(reader)? },
        ITEM_HARD_LINK | ITEM_LAST_HARD_LINK => {
            EntryKind::HardLink { link_id: reader.u64()?, last: item == ITEM_LAST_HARD_LINK }
        }
        value => return Err(ProtocolError::Unknown { what: "item", value }),
    };
    if let EntryKind::File { size, .. } = kind {
        bounded("file size", size, FILE_SIZE_MAX)?;
    }
    Ok(Entry { name, kind, attributes, xattrs: Xattrs::decode(reader)? })
}

fn decode_target<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], ProtocolError> {
    let target = reader.short_bytes("link target", LINK_TARGET_MAX)?;
    if target.is_empty() || target.contains(&0) {
        return Err(ProtocolError::BadValue("link target"));
    }
    Ok(target)
}
