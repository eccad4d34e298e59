//! What transfers leave that did not end.
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::text::{PathText, Text};

/// What a transfer that did not end keeps hidden in the folder that it was received into. The same
/// send again continues with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unfinished {
    /// Tells it from others in that folder: 16 digits.
    pub id: String,
    /// The folder.
    pub folder: PathText,
    /// What the device that sent it was called. None if nothing says so.
    pub from: Option<Text>,
    /// The first of its top-level names.
    pub names: Vec<PathText>,
    /// How many more there were.
    pub more_names: u64,
    /// Regular files that are there, whole or begun; the first 2,000,000 entries count.
    pub files: u64,
    /// Bytes that they take on the disk.
    pub disk_bytes: u64,
    /// When an attempt was at work in it for the last time, in seconds since 1970.
    #[serde(with = "crate::time::moment")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    #[cfg_attr(feature = "bindings", specta(type = u32))]
    pub last_at_work: SystemTime,
    /// Whether one is now: then it cannot be removed.
    pub in_use: bool,
}
