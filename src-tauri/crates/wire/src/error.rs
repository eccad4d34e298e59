//! The one error of the wire: what a peer's bytes did wrong. Every variant ends the connection it
//! came from.

use ringway_model::Fault;

/// A breach of the protocol by the peer's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// A message or head ended before its fields did.
    #[error("message too short")]
    Truncated,
    /// Bytes were left over after a message's last field.
    #[error("bytes after the end of a message")]
    Trailing,
    /// A length or count is over its limit.
    #[error("{what} of {value} is over the limit of {limit}")]
    TooLarge {
        /// The field.
        what: &'static str,
        /// What was sent.
        value: u64,
        /// What is allowed.
        limit: u64,
    },
    /// A message, entry or reason type that does not exist.
    #[error("unknown {what} {value}")]
    Unknown {
        /// The field.
        what: &'static str,
        /// What was sent.
        value: u8,
    },
    /// A name that could not be one path component, or a path that leaves the destination.
    #[error("unacceptable name or path")]
    BadName,
    /// Text that must be UTF-8 and printable is not.
    #[error("unacceptable text")]
    BadText,
    /// A device calls itself by what reads as an id or an address.
    #[error("a device's name that reads as an id or an address")]
    MisleadingName,
    /// A field has a value that nothing honest sends.
    #[error("bad value for {0}")]
    BadValue(&'static str),
    /// A message that has no place in this state.
    #[error("unexpected {message} while {state}")]
    Unexpected {
        /// What came.
        message: &'static str,
        /// What was being awaited.
        state: &'static str,
    },
    /// Ranges that overlap, leave holes, pass the end, or do not add up.
    #[error("ranges of file {id} do not fit: {why}")]
    Range {
        /// The file's id.
        id: u64,
        /// What is wrong.
        why: &'static str,
    },
    /// An entry under a top-level name that the offer does not have.
    #[error("an entry under a name that was not offered")]
    NotOffered,
    /// What was declared and what came do not agree at the end.
    #[error("{what} do not add up: {declared} declared, {found} came")]
    Totals {
        /// Which count.
        what: &'static str,
        /// As declared.
        declared: u64,
        /// As counted here.
        found: u64,
    },
    /// A receipt contradicts what was sent, what was named, or itself.
    #[error("{what}: the receipt says {said}, and {sent} was to be expected")]
    Receipt {
        /// Which count.
        what: &'static str,
        /// As the receipt has it.
        said: u64,
        /// What this end knows of it: a bound, or the number itself.
        sent: u64,
    },
    /// Nothing was heard for too long.
    #[error("peer fell silent")]
    Silent,
}

impl From<ProtocolError> for Fault {
    fn from(error: ProtocolError) -> Self {
        match error {
            ProtocolError::Receipt { .. } => Self::ReceiptContradicts { detail: error.to_string().into() },
            // The network's silence, or a sleeping machine's: no other version of the protocol.
            ProtocolError::Silent => Self::lost(std::io::ErrorKind::TimedOut),
            ProtocolError::MisleadingName => Self::MisleadingName,
            error => Self::Protocol { detail: error.to_string().into() },
        }
    }
}
