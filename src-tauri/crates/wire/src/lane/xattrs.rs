//! Extended attributes of an entry, bounded when they are collected and when they are parsed: those
//! of the `user.` namespace, and access control lists.
use super::acl::{Acl, AclKind};
use super::bounded;
use crate::ProtocolError;
use crate::bytes::{Put, Reader};
use crate::limits::{XATTR_COUNT_MAX, XATTR_NAME_MAX, XATTRS_TOTAL_MAX};

/// Encoded extended attributes; checked when parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Xattrs<'a> {
    count: u16,
    bytes: &'a [u8],
}

impl<'a> Xattrs<'a> {
    /// Name and value of those of the `user.` namespace, in the order sent.
    pub fn iter(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        self.all().filter(|(name, _)| AclKind::of(name).is_none())
    }

    /// An access control list.
    pub fn acl(&self, kind: AclKind) -> Option<Acl<'a>> {
        self.all().find(|(name, _)| *name == kind.name()).and_then(|(_, value)| Acl::new(value).ok())
    }

    fn all(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        let mut reader = Reader::new(self.bytes);
        (0..self.count).map_while(move |_| decode_xattr(&mut reader).ok())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn decode(reader: &mut Reader<'a>) -> Result<Self, ProtocolError> {
        let count = reader.u16()?;
        if count == 0 {
            return Ok(Self::default());
        }
        bounded("extended attributes", count.into(), XATTR_COUNT_MAX as u64)?;
        let len = reader.u32()?;
        bounded("extended attributes", len.into(), XATTRS_TOTAL_MAX as u64)?;
        let bytes = reader.take(len as usize)?;
        let mut inner = Reader::new(bytes);
        let mut lists = Vec::new();
        for _ in 0..count {
            let (name, _) = decode_xattr(&mut inner)?;
            let list = AclKind::of(name);
            if list.is_some_and(|kind| lists.contains(&kind)) {
                return Err(ProtocolError::BadValue("access control list"));
            }
            lists.extend(list);
        }
        inner.finish()?;
        Ok(Self { count, bytes })
    }
}

fn decode_xattr<'a>(reader: &mut Reader<'a>) -> Result<(&'a [u8], &'a [u8]), ProtocolError> {
    let name = reader.short_bytes("extended attribute name", XATTR_NAME_MAX)?;
    let is_list = AclKind::of(name).is_some();
    if !is_list && !is_of_user(name) {
        return Err(ProtocolError::BadName);
    }
    let len = reader.u32()?;
    bounded("extended attribute value", len.into(), XATTRS_TOTAL_MAX as u64)?;
    let value = reader.take(len as usize)?;
    if is_list {
        Acl::new(value)?;
    }
    Ok((name, value))
}

/// Whether it is a name in the `user.` namespace.
fn is_of_user(name: &[u8]) -> bool {
    name.strip_prefix(b"user.").is_some_and(|suffix| !suffix.is_empty()) && !name.contains(&0)
}

/// Extended attributes that are being collected for an entry. Too long ones are refused here, so
/// that encoding cannot fail.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct XattrBuffer {
    count: u16,
    bytes: Vec<u8>,
}

impl XattrBuffer {
    /// Adds an attribute. False if it is neither in the `user.` namespace nor an access control
    /// list, or a limit is reached; the caller reports that. Each list is added once.
    pub fn push(&mut self, name: &[u8], value: &[u8]) -> bool {
        let grown = self.bytes.len() + 6 + name.len() + value.len();
        let fits = usize::from(self.count) < XATTR_COUNT_MAX && grown <= XATTRS_TOTAL_MAX;
        let named = match AclKind::of(name) {
            Some(kind) => self.as_xattrs().acl(kind).is_none() && Acl::new(value).is_ok(),
            None => name.len() <= XATTR_NAME_MAX && is_of_user(name),
        };
        if fits && named {
            self.count += 1;
            self.bytes.put_short_bytes(name);
            self.bytes.put_u32(value.len() as u32);
            self.bytes.extend_from_slice(value);
        }
        fits && named
    }

    /// The attributes as an entry has them.
    pub fn as_xattrs(&self) -> Xattrs<'_> {
        Xattrs { count: self.count, bytes: &self.bytes }
    }
}

pub(super) fn encode_xattrs(xattrs: Xattrs<'_>, out: &mut Vec<u8>) {
    out.put_u16(xattrs.count);
    if xattrs.count > 0 {
        out.put_u32(xattrs.bytes.len() as u32);
        out.extend_from_slice(xattrs.bytes);
    }
}
