//! A list of files without their contents. The receiver answers which of them it wants.
use super::batch::ItemReader;
use super::digest::{Digest, Digests, ReadDigests};
use super::{Entry, EntryKind, FrameHeader, Item, OwnerNames};
use crate::ProtocolError;
use crate::bytes::Reader;
use crate::name::RelPath;

/// A list whose head was checked completely.
#[derive(Debug, Clone, Copy)]
pub struct FileList<'a> {
    number: u32,
    stamp: u64,
    head: &'a [u8],
    items: u32,
    files: usize,
    owner_names: OwnerNames<'a>,
    digests: Digests<'a>,
}

impl<'a> FileList<'a> {
    /// Checks a whole head against its header: folders without attributes, and regular files of any
    /// size.
    pub fn parse(header: &FrameHeader, head: &'a [u8]) -> Result<Self, ProtocolError> {
        Self::checked(header, head, Digests::none)
    }

    /// The same for a transfer that is to be proven: a digest for each file follows the items.
    pub fn parse_proven(header: &FrameHeader, head: &'a [u8]) -> Result<Self, ProtocolError> {
        Self::checked(header, head, Digests::decode)
    }

    fn checked(header: &FrameHeader, head: &'a [u8], digests: ReadDigests<'a>) -> Result<Self, ProtocolError> {
        let mut reader = Reader::new(head);
        let (number, stamp) = (reader.u32()?, reader.u64()?);
        let head = reader.rest();
        let mut items = ItemReader::new(head);
        let mut files = 0;
        for _ in 0..header.items {
            match items.next_listed()? {
                Item::Folder { attributes: None, .. } => {}
                Item::Entry(Entry { kind: EntryKind::File { .. }, .. }, _) => files += 1,
                _ => return Err(ProtocolError::BadValue("listed entry")),
            }
        }
        let mut rest = items.rest();
        let owner_names = OwnerNames::decode(&mut rest)?;
        let digests = digests(rest, files)?;
        match files {
            0 => Err(ProtocolError::BadValue("list without files")),
            _ => Ok(Self { number, stamp, head, items: header.items, files, owner_names, digests }),
        }
    }

    /// The number by which the answer names it.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The stamp of the version if the list names one large file, as in the file's ranges.
    pub fn stamp(&self) -> u64 {
        self.stamp
    }

    /// The number of its files.
    pub fn len(&self) -> usize {
        self.files
    }

    /// Never true: a list names at least one.
    pub fn is_empty(&self) -> bool {
        self.files == 0
    }

    /// The names of its files' users and groups, as far as they are told.
    pub fn owner_names(&self) -> OwnerNames<'a> {
        self.owner_names
    }

    /// The digest of the file with that index, from 0; `None` if the transfer is not to be proven.
    pub fn digest(&self, file: usize) -> Option<Digest> {
        self.digests.of(file)
    }

    /// Its files in order, each with its folder.
    pub fn files(&self) -> impl Iterator<Item = (RelPath<'a>, Entry<'a>)> + use<'a> {
        let mut reader = ItemReader::new(self.head);
        let mut folder = RelPath::ROOT;
        (0..self.items).filter_map(move |_| match reader.next_listed().expect("checked when parsed") {
            Item::Folder { path, .. } => {
                folder = path;
                None
            }
            Item::Entry(entry, _) => Some((folder, entry)),
        })
    }
}
