//! Points in time, as all messages have them.
use crate::ProtocolError;
use crate::bytes::{Put, Reader};
use crate::limits::NANOS_PER_SEC;

/// A point in time: seconds since 1970 (negative before) and nanoseconds below a second, as struct
/// timespec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp {
    /// Seconds since 1970-01-01 00:00 UTC.
    pub secs: i64,
    /// Nanoseconds, 0 to 999,999,999.
    pub nanos: u32,
}

impl Timestamp {
    pub(crate) fn encode(self, out: &mut Vec<u8>) {
        out.put_i64(self.secs);
        out.put_u32(self.nanos);
    }

    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Self, ProtocolError> {
        let moment = Self { secs: reader.i64()?, nanos: reader.u32()? };
        if moment.nanos < NANOS_PER_SEC { Ok(moment) } else { Err(ProtocolError::BadValue("nanoseconds")) }
    }
}
