//! An entry in the head of a batch or range: its name, kind and attributes.
use super::xattrs::{Xattrs, encode_xattrs};
use super::{FILE_SIZE_MAX, bounded};
use crate::ProtocolError;
use crate::bytes::{Put, Reader};
use crate::limits::{LINK_TARGET_MAX, NAME_MAX, PATH_MAX};
use crate::name::{Name, RelPath};
use crate::timestamp::Timestamp;

const ITEM_FILE: u8 = 3;
const ITEM_LINKED_FILE: u8 = 4;
const ITEM_SYMLINK: u8 = 5;
const ITEM_HARD_LINK: u8 = 6;
const ITEM_LAST_HARD_LINK: u8 = 7;

/// The attributes that every file and folder has.
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

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind<'a> {
    /// A regular file.
    File {
        /// Its length, holes included.
        size: u64,
        /// Set if other names of the same file may follow as [`EntryKind::HardLink`].
        link_id: Option<u64>,
    },
    /// A symbolic link; the target is text, never followed.
    Symlink {
        /// The path that it contains.
        target: &'a [u8],
    },
    /// Another name of the file with this `link_id`.
    HardLink {
        /// The id that was sent with the first name.
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
    /// Its kind.
    pub kind: EntryKind<'a>,
    /// Mode, owner and time. Those of a hard link are ignored, because they are its file's.
    pub attributes: Attributes,
    /// Extended attributes of the `user.` namespace.
    pub xattrs: Xattrs<'a>,
}

pub(super) fn encode_attributes(attributes: &Attributes, out: &mut Vec<u8>) {
    out.put_u16(attributes.mode);
    out.put_u32(attributes.uid);
    out.put_u32(attributes.gid);
    out.put_i64(attributes.mtime.secs);
    out.put_u32(attributes.mtime.nanos);
}

pub(super) fn decode_attributes(reader: &mut Reader<'_>) -> Result<Attributes, ProtocolError> {
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

pub(super) fn encode_entry(entry: &Entry<'_>, out: &mut Vec<u8>) {
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

pub(super) fn decode_entry<'a>(reader: &mut Reader<'a>, folder: RelPath<'_>) -> Result<Entry<'a>, ProtocolError> {
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
