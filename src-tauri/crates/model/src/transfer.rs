//! What a transfer is, and its stages.
mod options;
mod path_taken;
mod selection;
mod shown_size;
mod unfinished;

use serde::{Deserialize, Serialize};

pub use options::{Compression, Delta, IntoHome, Source};
pub use path_taken::{IoMode, IoPath, PathTaken, SyncIoReason, TlsMode, TlsPath, Unconfined, UserTlsReason};
pub use selection::{Pattern, Selection};
pub use shown_size::ShownSize;
pub use unfinished::Unfinished;

/// One of the two ends of a transfer, seen from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// This device.
    Here,
    /// The other device.
    There,
}

/// Which way a transfer goes, seen from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From here.
    Sending,
    /// To here.
    Receiving,
    /// From here to here: a copy inside this machine.
    Copying,
}

/// The stage of a transfer.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Connecting to the peer, handshake, pairing.
    #[default]
    Connecting,
    /// The offer waits for the receiver's answer.
    AwaitingAnswer,
    /// The offer was accepted and waits for a place at the receiver, which already runs as many
    /// transfers as it allows.
    Queued,
    /// Bytes move.
    Running,
    /// Everything has been sent; the receiver renames and synchronises.
    Finishing,
    /// Everything has been copied or received and is being read back; bytes and entries count again
    /// from zero.
    Verifying,
    /// The connection was lost: the sender tries to continue by itself, and the receiver waits for
    /// it.
    Reconnecting,
    /// A person has paused it, or the receiver has no room left: everything there is kept.
    Paused,
    /// It has ended.
    Ended,
}

/// What limits a transfer: the stage that all others wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Bottleneck {
    /// The sender's walk over its folders finds less than could be sent.
    Finding,
    /// The sender reads its files.
    Reading,
    /// The sender's processor, between file and network: encrypting, writing to the socket.
    Encrypting,
    /// The network between the two: both ends wait for it.
    Network,
    /// The receiver's processor, between network and file: reading from the socket, decrypting.
    Decrypting,
    /// The receiver writes its files.
    Writing,
    /// The sender's rate limit.
    Limit,
    /// Nothing: both ends waited for the network, and no byte moved for 5 s or longer.
    Stalled,
}

impl Bottleneck {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::Finding,
        Self::Reading,
        Self::Encrypting,
        Self::Network,
        Self::Decrypting,
        Self::Writing,
        Self::Limit,
        Self::Stalled,
    ];
}

/// What becomes of what a transfer has brought so far when a person cancels it. It is about the
/// staging folder of that transfer alone; a copy inside this machine has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(rename_all = "snake_case")]
pub enum OnCancel {
    /// It stays at the receiver: the same sent again resumes.
    #[default]
    Keep,
    /// The receiver removes it.
    Remove,
}

/// What happens to a file that exists already. Nothing else is ever deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OnConflict {
    /// Replace it if size or time differ, even if it was changed here. The command's default.
    #[default]
    Replace,
    /// Keep the existing one.
    Keep,
    /// Keep both: the new file's name gets a number.
    Rename,
    /// Add a number to the top-level folder's name, unless that folder came from the same device
    /// before. In that case, replace files in it that were not changed here since, and add numbers
    /// to the new versions of those that were. The default of the window and of rules.
    RenameTop,
}

/// What happens to a file that a copy finds at its destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OnExisting {
    /// Write over it.
    #[default]
    Replace,
    /// Write over it if the source is newer (`cp --update`).
    Update,
    /// Leave it, whatever it is (`cp --no-clobber`).
    Keep,
}

/// What a dry run would do with an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Planned {
    /// Make a folder.
    Folder,
    /// Write a file that is not there.
    File,
    /// Write over an existing file.
    Overwrite,
    /// Make a symbolic link, or another name of a file.
    Link,
    /// Make a FIFO, socket or device node.
    Special,
    /// Leave an existing file as it is (`--update`, `--no-clobber`).
    Keep,
}
