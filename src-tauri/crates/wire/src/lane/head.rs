//! Writing the head of a batch, a list, a range, or a window of chunks.
use super::batch::{ITEM_FOLDER, ITEM_FOLDER_WITH_ATTRIBUTES};
use super::entry::{encode_attributes, encode_entry};
use super::owner_names::{NAMES_OF_ENTRY_LEN_MAX, encode_names};
use super::xattrs::encode_xattrs;
use super::{
    Attributes, Counts, DIGEST_LEN, Digest, Entry, EntryKind, FrameHeader, FrameKind, OwnerNamesBuffer, RangeHead,
    RangeStep, Xattrs,
};
use crate::bytes::Put;
use crate::limits::{BATCH_ITEMS_MAX, LANE_HEAD_MAX, LINK_TARGET_MAX, NAME_MAX, PATH_MAX, XATTRS_TOTAL_MAX};
use crate::name::RelPath;

/// The most bytes of one item's head. By this a sender knows when a batch is full.
pub const ITEM_LEN_MAX: usize = 64 + XATTRS_TOTAL_MAX + PATH_MAX + LINK_TARGET_MAX + NAME_MAX;

/// The head of a batch, list, range or window that is being written.
#[derive(Debug, Default)]
pub struct HeadBuffer {
    bytes: Vec<u8>,
    items: u32,
    counts: Counts,
    /// The names of the users and groups that a batch's or list's entries have.
    owner_names: OwnerNamesBuffer,
    /// Whether there are such names, so that space is left for them.
    names_owners: bool,
    /// Whether the names and digests are at the end of `bytes`.
    is_whole: bool,
    /// The digests of the files so far, if the transfer is to be proven.
    digests: Vec<u8>,
}

impl HeadBuffer {
    /// Empties it, keeping its memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.items = 0;
        self.counts = Counts::default();
        self.owner_names.clear();
        self.is_whole = false;
        self.digests.clear();
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.items == 0
    }

    /// Whether a folder item and another item are certain to fit.
    pub fn has_room(&self) -> bool {
        let len = self.bytes.len() + self.owner_names.len() + self.digests.len();
        let names_len_max = if self.names_owners { NAMES_OF_ENTRY_LEN_MAX } else { 0 };
        self.items as usize + 2 <= BATCH_ITEMS_MAX
            && self.owner_names.has_room()
            && len + 2 * (ITEM_LEN_MAX + names_len_max + DIGEST_LEN) <= LANE_HEAD_MAX
    }

    /// Leaves space for the names of users and groups, which are added from now on.
    pub fn name_owners(&mut self) {
        self.names_owners = true;
    }

    /// Where to add the names of the users and groups that entries of this batch or list have.
    pub fn owner_names(&mut self) -> &mut OwnerNamesBuffer {
        &mut self.owner_names
    }

    /// The counts of the added entries.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The encoded head.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Sets the current folder of the following entries.
    pub fn folder(&mut self, path: RelPath<'_>) {
        self.items += 1;
        self.bytes.put_u8(ITEM_FOLDER);
        self.bytes.put_short_bytes(path.as_bytes());
    }

    /// Adds a folder with its attributes, and makes it the current one.
    pub fn folder_with_attributes(&mut self, path: RelPath<'_>, attributes: &Attributes, xattrs: Xattrs<'_>) {
        self.items += 1;
        self.counts.folders += 1;
        self.bytes.put_u8(ITEM_FOLDER_WITH_ATTRIBUTES);
        self.bytes.put_short_bytes(path.as_bytes());
        encode_attributes(attributes, &mut self.bytes);
        encode_xattrs(xattrs, &mut self.bytes);
    }

    /// Adds an entry in the current folder. The contents of files follow in the body, in the same
    /// order.
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

    /// Adds the digest of the last file, in a transfer that is to be proven.
    pub fn digest(&mut self, digest: Digest) {
        self.digests.extend_from_slice(&digest.0);
    }

    /// Begins a list of small files. Folders without attributes and files are added to it, and they
    /// do not count as sent.
    pub fn begin_list(&mut self, number: u32) {
        self.begin_large_list(number, 0);
    }

    /// Begins the list of one large file, with the [`stamp`](RangeHead::stamp) of its version.
    pub fn begin_large_list(&mut self, number: u32, stamp: u64) {
        self.clear();
        self.bytes.put_u32(number);
        self.bytes.put_u64(stamp);
    }

    /// The header of the list in this head, which counts nothing as sent.
    pub fn list_header(&mut self) -> FrameHeader {
        self.counts = Counts::default();
        FrameHeader { kind: FrameKind::List, ..self.batch_header(0) }
    }

    /// Begins a window of chunks at the offset of `head`, whose step has no meaning here. Nothing
    /// counts as sent.
    pub fn begin_chunks(&mut self, number: u32, head: &RangeHead<'_>) {
        self.clear();
        self.bytes.put_u32(number);
        self.bytes.put_u64(head.file_id);
        self.bytes.put_u64(head.offset);
        self.bytes.put_u64(head.stamp);
        self.bytes.put_short_bytes(head.folder.as_bytes());
        encode_entry(&head.entry, &mut self.bytes);
        encode_names(head.owner_names, &mut self.bytes);
    }

    /// Adds the next chunk of the window.
    pub fn chunk(&mut self, len: u32, digest: Digest) {
        self.items += 1;
        self.bytes.put_u32(len);
        self.bytes.extend_from_slice(&digest.0);
    }

    /// The header of the window in this head.
    pub fn chunks_header(&self) -> FrameHeader {
        let (items, head_len) = (self.items, self.bytes.len() as u32);
        FrameHeader { kind: FrameKind::Chunks, items, head_len, body_len: 0, packed_len: 0 }
    }

    /// The header of the batch in this head, which is complete now.
    pub fn batch_header(&mut self, body_len: usize) -> FrameHeader {
        if !std::mem::replace(&mut self.is_whole, true) {
            encode_names(self.owner_names.as_names(), &mut self.bytes);
            self.bytes.append(&mut self.digests);
        }
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
        self.bytes.put_u64(head.stamp);
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
        encode_names(head.owner_names, &mut self.bytes);
        self.items = 1;
        let (head_len, body_len) = (self.bytes.len() as u32, body_len as u32);
        FrameHeader { kind: FrameKind::Range, items: 1, head_len, body_len, packed_len: 0 }
    }

    /// The same in a transfer that is to be proven, with the digest of the body.
    pub fn proven_range(&mut self, head: &RangeHead<'_>, body_len: usize, digest: Digest) -> FrameHeader {
        let header = self.range(head, body_len);
        self.bytes.extend_from_slice(&digest.0);
        FrameHeader { head_len: self.bytes.len() as u32, ..header }
    }
}
