//! Why a shared folder cannot be read.
use serde::{Deserialize, Serialize};

/// Why a share cannot be read, or why nothing can be sent into a drop box.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ShareTrouble {
    /// Nothing is at its path.
    Missing,
    /// The disk that it is on is not mounted.
    NotMounted,
    /// Another folder is at its path.
    Replaced,
    /// This user may not list the folder.
    NotReadable,
    /// The folder cannot be opened for another reason.
    Failed,
    /// Its filesystem does not answer, as when the server behind it is away.
    NotAnswering,
    /// This user may not write into the folder, or its filesystem is read-only.
    NotWritable,
}

impl ShareTrouble {
    /// All.
    pub const ALL: [Self; 7] = [
        Self::Missing,
        Self::NotMounted,
        Self::Replaced,
        Self::NotReadable,
        Self::Failed,
        Self::NotAnswering,
        Self::NotWritable,
    ];
}
