//! The head of a batch while it is parsed. It is checked completely before any part of it is used.
use std::ops::Range;

use super::digest::{Digest, Digests, ReadDigests};
use super::entry::{decode_attributes, decode_entry};
use super::{Attributes, Counts, Entry, EntryKind, FrameHeader, OwnerNames, Xattrs, bounded};
use crate::ProtocolError;
use crate::bytes::Reader;
use crate::limits::{LANE_BODY_MAX, PATH_MAX};
use crate::name::RelPath;

pub(super) const ITEM_FOLDER: u8 = 1;
pub(super) const ITEM_FOLDER_WITH_ATTRIBUTES: u8 = 2;

/// One item of a batch's head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item<'a> {
    /// The following entries are in this folder. If it has attributes, the folder itself is an
    /// entry. The root never has any.
    Folder {
        /// The folder.
        path: RelPath<'a>,
        /// Its attributes, which are sent once.
        attributes: Option<Attributes>,
        /// Its extended attributes.
        xattrs: Xattrs<'a>,
    },
    /// An entry in the current folder, and the range of its contents in the body (empty for links).
    Entry(Entry<'a>, Range<usize>),
}

/// A batch whose head was checked completely.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    head: &'a [u8],
    items: u32,
    counts: Counts,
    owner_names: OwnerNames<'a>,
    digests: Digests<'a>,
}

impl<'a> Batch<'a> {
    /// Checks a whole head against its header: every item, their number, and the body's length.
    pub fn parse(header: &FrameHeader, head: &'a [u8]) -> Result<Self, ProtocolError> {
        Self::checked(header, head, Digests::none)
    }

    /// The same for a transfer that is to be proven: a digest for each file follows the items.
    pub fn parse_proven(header: &FrameHeader, head: &'a [u8]) -> Result<Self, ProtocolError> {
        Self::checked(header, head, Digests::decode)
    }

    fn checked(header: &FrameHeader, head: &'a [u8], digests: ReadDigests<'a>) -> Result<Self, ProtocolError> {
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
        let owner_names = OwnerNames::decode(&mut items.reader)?;
        let digests = digests(items.reader, counts.files as usize)?;
        if items.body_at != header.body_len as usize {
            return Err(ProtocolError::Totals {
                what: "bytes of a batch",
                declared: header.body_len.into(),
                found: items.body_at as u64,
            });
        }
        counts.bytes = header.body_len.into();
        Ok(Self { head, items: header.items, counts, owner_names, digests })
    }

    /// The counts of its entries.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The names of its entries' users and groups, as far as they are told.
    pub fn owner_names(&self) -> OwnerNames<'a> {
        self.owner_names
    }

    /// The digest of the file with that index, from 0; `None` if the transfer is not to be proven.
    pub fn digest(&self, file: usize) -> Option<Digest> {
        self.digests.of(file)
    }

    /// Its items in order.
    pub fn items(&self) -> impl Iterator<Item = Item<'a>> + use<'a> {
        let mut reader = ItemReader::new(self.head);
        (0..self.items).map(move |_| reader.next_item().expect("checked when parsed"))
    }
}

pub(super) struct ItemReader<'a> {
    reader: Reader<'a>,
    folder: Option<RelPath<'a>>,
    body_at: usize,
}

impl<'a> ItemReader<'a> {
    pub(super) fn new(head: &'a [u8]) -> Self {
        Self { reader: Reader::new(head), folder: None, body_at: 0 }
    }

    /// The bytes after the items.
    pub(super) fn rest(self) -> Reader<'a> {
        self.reader
    }

    fn next_item(&mut self) -> Result<Item<'a>, ProtocolError> {
        match self.next_folder()? {
            Some(folder) => Ok(folder),
            None => self.next_entry(),
        }
    }

    /// The next item of a head without contents. Its files may have any length.
    pub(super) fn next_listed(&mut self) -> Result<Item<'a>, ProtocolError> {
        match self.next_folder()? {
            Some(folder) => Ok(folder),
            None => Ok(Item::Entry(self.entry()?, 0..0)),
        }
    }

    fn next_folder(&mut self) -> Result<Option<Item<'a>>, ProtocolError> {
        let with_attributes = match self.reader.peek()? {
            ITEM_FOLDER => false,
            ITEM_FOLDER_WITH_ATTRIBUTES => true,
            _ => return Ok(None),
        };
        self.reader.u8()?;
        let path = RelPath::new(self.reader.short_bytes("path", PATH_MAX)?)?;
        self.folder = Some(path);
        if !with_attributes {
            return Ok(Some(Item::Folder { path, attributes: None, xattrs: Xattrs::default() }));
        }
        if path.is_root() {
            return Err(ProtocolError::BadValue("root attributes"));
        }
        let attributes = Some(decode_attributes(&mut self.reader)?);
        Ok(Some(Item::Folder { path, attributes, xattrs: Xattrs::decode(&mut self.reader)? }))
    }

    fn entry(&mut self) -> Result<Entry<'a>, ProtocolError> {
        let folder = self.folder.ok_or(ProtocolError::BadValue("entry before its folder"))?;
        decode_entry(&mut self.reader, folder)
    }

    fn next_entry(&mut self) -> Result<Item<'a>, ProtocolError> {
        let entry = self.entry()?;
        let start = self.body_at;
        if let EntryKind::File { size, .. } = entry.kind {
            bounded("file in a batch", size, LANE_BODY_MAX as u64)?;
            self.body_at += size as usize;
            bounded("body", self.body_at as u64, LANE_BODY_MAX as u64)?;
        }
        Ok(Item::Entry(entry, start..self.body_at))
    }
}
