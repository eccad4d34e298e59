//! What a person asks for.
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Something to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The path. A folder is sent with everything in it.
    pub path: PathBuf,
    /// Send the folder's contents instead of the folder (`PATH/` on the command line).
    pub contents_only: bool,
}

/// Compression of file contents on the network (Zstandard).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Compression {
    /// When a lane waits for its connection, and while its contents shrink and arrive sooner
    /// compressed.
    #[default]
    Auto,
    /// Never.
    Off,
}

/// Whether only the new parts of a large file that has changed are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Delta {
    /// If the network is slower than reading and comparing at both ends.
    #[default]
    Auto,
    /// Always, for networks on which each byte costs something.
    On,
    /// Never: the whole file is sent.
    Off,
}

/// What may be received into a home folder. Entries there can change how programs start, above all
/// those that begin with a dot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum IntoHome {
    /// Nothing: nobody has allowed it.
    #[default]
    Refuse,
    /// Everything except names at its top that begin with a dot.
    NoDotNames,
    /// Everything.
    DotNames,
}
