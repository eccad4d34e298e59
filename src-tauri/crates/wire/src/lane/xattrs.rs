//! Extended attributes of an entry, bounded when they are collected and when they are parsed.
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
    /// Name and value, in the order sent.
    pub fn iter(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
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

/// Extended attributes that are being collected for an entry. Too long ones are refused here, so
/// that encoding cannot fail.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct XattrBuffer {
    count: u16,
    bytes: Vec<u8>,
}

impl XattrBuffer {
    /// Adds an attribute. False if it is not in the `user.` namespace or a limit is reached; the
    /// caller reports that.
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
