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

/// Packing of file contents on the way (Zstandard).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Compression {
    /// Where a lane waits for its connection, and while what goes there shrinks and arrives sooner
    /// for it.
    #[default]
    Auto,
    /// Never.
    Off,
}

/// Sending of a large file that has changed: whether only what is new in it travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Delta {
    /// Where the line is slower than reading and comparing at both ends.
    #[default]
    Auto,
    /// Always: where each byte that travels costs something.
    On,
    /// Never: it is sent whole.
    Off,
}

/// What may land in a folder that is somebody's home: entries there can change how programs start,
/// those that begin with a dot above all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum IntoHome {
    /// Nothing: nobody has chosen it.
    #[default]
    Refuse,
    /// What has no name at its top that begins with a dot.
    NoDotNames,
    /// Anything.
    DotNames,
}
