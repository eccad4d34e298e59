//! What the window says of the program itself.
use serde::{Deserialize, Serialize};

/// This program's version, and where it keeps what it owns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
pub struct About {
    pub version: String,
    /// The folder of the settings.
    pub settings_folder: String,
    /// The folder of identity, paired devices and history.
    pub data_folder: String,
}
