//! What can fail, and at what.
use serde::{Deserialize, Serialize};

/// An operation on a file or folder, for naming what failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Opening for reading or writing.
    Open,
    /// Reading contents or a folder's entries.
    Read,
    /// Writing contents.
    Write,
    /// Making a file, folder or link.
    Create,
    /// Giving the final name.
    Rename,
    /// Setting mode, times, owner or extended attributes.
    Metadata,
    /// Making a hard link to a file of the same transfer.
    Link,
    /// Synchronising to the medium.
    Sync,
}

/// What keeps a file of this device's own state from being used. Each kind has another remedy, and
/// none of them is to give up the identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(rename_all = "snake_case")]
pub enum StoreTrouble {
    /// Its disk, or a quota, is full.
    Full,
    /// It cannot be written: a read-only filesystem, or permissions.
    NotWritable,
    /// Permissions keep this user from reading it.
    NotReadable,
    /// Another program keeps it locked.
    Busy,
    /// The database is damaged, or is none.
    DamagedDatabase,
    /// The identity is damaged.
    DamagedIdentity,
    /// Others can change or read it; the reason says what to do.
    Untrusted,
    /// Something else, which the reason names.
    Other,
}
