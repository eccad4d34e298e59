//! The error of the wire: how a peer's bytes break the protocol. Every variant ends the connection.

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
        /// The value that was sent.
        value: u64,
        /// The largest allowed value.
        limit: u64,
    },
    /// A type of message, entry or reason that does not exist.
    #[error("unknown {what} {value}")]
    Unknown {
        /// The field.
        what: &'static str,
        /// The value that was sent.
        value: u8,
    },
    /// A name that could not be one path component, or a path that leaves the destination.
    #[error("unacceptable name or path")]
    BadName,
    /// Text that is not UTF-8 or not printable.
    #[error("unacceptable text")]
    BadText,
    /// A device's name that reads as an id or an address.
    #[error("a device's name that reads as an id or an address")]
    MisleadingName,
    /// A field with a value that no honest peer sends.
    #[error("bad value for {0}")]
    BadValue(&'static str),
    /// A message that is not allowed in this state.
    #[error("unexpected {message} while {state}")]
    Unexpected {
        /// The message.
        message: &'static str,
        /// What this end was waiting for.
        state: &'static str,
    },
    /// Ranges that overlap, leave gaps, exceed the end, or do not add up.
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
    /// An entry that the request for the transfer leaves out.
    #[error("an entry that was not asked for")]
    NotAskedFor,
    /// At the end, the declared counts differ from the counts that arrived.
    #[error("{what} do not add up: {declared} declared, {found} came")]
    Totals {
        /// The name of the count.
        what: &'static str,
        /// The declared count.
        declared: u64,
        /// The count at this end.
        found: u64,
    },
    /// A receipt that contradicts what was sent, the failures that were named, or itself.
    #[error("{what}: the receipt says {said}, and {sent} was to be expected")]
    Receipt {
        /// The name of the count.
        what: &'static str,
        /// The count in the receipt.
        said: u64,
        /// The count that this end knows: the exact number, or a bound.
        sent: u64,
    },
    /// Nothing was received for too long.
    #[error("peer fell silent")]
    Silent,
}

impl From<ProtocolError> for Fault {
    fn from(error: ProtocolError) -> Self {
        match error {
            ProtocolError::Receipt { .. } => Self::ReceiptContradicts { detail: error.to_string().into() },
            // The network was silent, or a machine was suspended. The peer's version of the
            // protocol is not the reason.
            ProtocolError::Silent => Self::lost(std::io::ErrorKind::TimedOut),
            ProtocolError::MisleadingName => Self::MisleadingName,
            error => Self::Protocol { detail: error.to_string().into() },
        }
    }
}
