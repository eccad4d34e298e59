//! What the front end sees and says of copies inside this machine, beyond what every transfer has.
use ringway_model::PathText;
use serde::{Deserialize, Serialize};

/// Where a copy of what was chosen would go, for showing: the folder is picked natively and stays
/// on this side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
pub struct CopyFolder {
    /// The folder.
    pub path: PathText,
    /// What the copy will be called there if one thing was chosen, else the folder.
    pub lands: PathText,
    /// How many of the chosen names are there already.
    pub there_already: u64,
    /// Free bytes there.
    pub free_bytes: Option<u64>,
}
