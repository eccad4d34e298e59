//! Little-endian reading and writing of bounded fields: the only place where a peer's lengths are
//! read.
use crate::ProtocolError;

/// A cursor over a complete message.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The next `len` bytes.
    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], ProtocolError> {
        let (head, rest) = self.rest.split_at_checked(len).ok_or(ProtocolError::Truncated)?;
        self.rest = rest;
        Ok(head)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], ProtocolError> {
        let (head, rest) = self.rest.split_first_chunk::<N>().ok_or(ProtocolError::Truncated)?;
        self.rest = rest;
        Ok(*head)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, ProtocolError> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn u16(&mut self) -> Result<u16, ProtocolError> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, ProtocolError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(crate) fn i32(&mut self) -> Result<i32, ProtocolError> {
        Ok(i32::from_le_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, ProtocolError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub(crate) fn i64(&mut self) -> Result<i64, ProtocolError> {
        Ok(i64::from_le_bytes(self.array()?))
    }

    /// A boolean: 0 or 1, nothing else.
    pub(crate) fn bool(&mut self, what: &'static str) -> Result<bool, ProtocolError> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(ProtocolError::BadValue(what)),
        }
    }

    /// A `u16` length no larger than `limit`, then as many bytes.
    pub(crate) fn short_bytes(&mut self, what: &'static str, limit: usize) -> Result<&'a [u8], ProtocolError> {
        let len = usize::from(self.u16()?);
        if len > limit {
            return Err(ProtocolError::TooLarge { what, value: len as u64, limit: limit as u64 });
        }
        self.take(len)
    }

    /// A number of entries, at most [`ENTRIES_MAX`](crate::limits::ENTRIES_MAX).
    pub(crate) fn entries(&mut self, what: &'static str) -> Result<u64, ProtocolError> {
        let limit = crate::limits::ENTRIES_MAX;
        match self.u64()? {
            value if value <= limit => Ok(value),
            value => Err(ProtocolError::TooLarge { what, value, limit }),
        }
    }

    /// The next byte, without consuming it.
    pub(crate) fn peek(&self) -> Result<u8, ProtocolError> {
        self.rest.first().copied().ok_or(ProtocolError::Truncated)
    }

    /// The bytes that were not read yet.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Ends the message; no bytes may be left.
    pub(crate) fn finish(self) -> Result<(), ProtocolError> {
        if self.rest.is_empty() { Ok(()) } else { Err(ProtocolError::Trailing) }
    }
}

/// Appends fields to a buffer. Lengths are the caller's bounded types, so writing cannot fail.
pub(crate) trait Put {
    fn put_u8(&mut self, value: u8);
    fn put_u16(&mut self, value: u16);
    fn put_u32(&mut self, value: u32);
    fn put_i32(&mut self, value: i32);
    fn put_u64(&mut self, value: u64);
    fn put_i64(&mut self, value: i64);
    fn put_bool(&mut self, value: bool);
    /// A `u16` length and the bytes. Longer input is a bug of this program.
    fn put_short_bytes(&mut self, bytes: &[u8]);
}

impl Put for Vec<u8> {
    fn put_u8(&mut self, value: u8) {
        self.push(value);
    }
    fn put_u16(&mut self, value: u16) {
        self.extend_from_slice(&value.to_le_bytes());
    }
    fn put_u32(&mut self, value: u32) {
        self.extend_from_slice(&value.to_le_bytes());
    }
    fn put_i32(&mut self, value: i32) {
        self.extend_from_slice(&value.to_le_bytes());
    }
    fn put_u64(&mut self, value: u64) {
        self.extend_from_slice(&value.to_le_bytes());
    }
    fn put_i64(&mut self, value: i64) {
        self.extend_from_slice(&value.to_le_bytes());
    }
    fn put_bool(&mut self, value: bool) {
        self.push(u8::from(value));
    }
    fn put_short_bytes(&mut self, bytes: &[u8]) {
        let len = u16::try_from(bytes.len()).expect("bounded by its type");
        self.put_u16(len);
        self.extend_from_slice(bytes);
    }
}
