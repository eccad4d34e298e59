//! What an offer would do to what is in its folder, by size and time alone.
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::text::PathText;

/// How an offer compares with what is in its folder. It is advice: the transfer itself decides what
/// is received.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// How far it has got.
    pub state: ComparisonState,
    /// Files, folders and links of the offer that are not there.
    pub new: u64,
    /// Files that are there with the same size and time, and links with the same target. Folders
    /// that are there count nowhere, as in a report's `unchanged`.
    pub unchanged: u64,
    /// Files and links that differ from the ones there.
    pub differing: u64,
    /// How many of the ones there are not as the same device brought them: they were changed or
    /// made here, or something else brought them.
    pub edited: u64,
    /// Entries for which another kind of entry is in the way, and what is below them.
    pub in_the_way: u64,
    /// Entries that could not be looked up there.
    pub unreadable: u64,
    /// Whether the offer has more entries than were compared.
    pub at_least: bool,
}

/// How far a comparison has got.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ComparisonState {
    /// The counts still grow.
    #[default]
    Comparing,
    /// The counts are final.
    Done,
    /// There is nothing to tell: the folder cannot be read, or too much is compared already.
    Unknown,
}

/// An entry of an offer that differs from the one that has its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Difference {
    /// Its path within the offer.
    pub path: PathText,
    /// How the one that is there differs.
    pub here_is: HereIs,
    /// Whether the one that is there is not as the same device brought it: it was changed or made
    /// here, or something else brought it.
    pub edited: bool,
    /// The length of the offered file.
    pub offered_bytes: Option<u64>,
    /// When the offered file was last changed, in seconds since 1970.
    #[serde(with = "crate::time::moment::option")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    #[cfg_attr(feature = "bindings", specta(type = Option<u32>))]
    pub offered_changed_at: Option<SystemTime>,
    /// The length of the file that is there.
    pub here_bytes: Option<u64>,
    /// When the file that is there was last changed, in seconds since 1970.
    #[serde(with = "crate::time::moment::option")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    #[cfg_attr(feature = "bindings", specta(type = Option<u32>))]
    pub here_changed_at: Option<SystemTime>,
}

/// How an entry that is there differs from the offered one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HereIs {
    /// It was changed later.
    Newer,
    /// It was changed earlier.
    Older,
    /// It has the same time and another size, or it is a link that leads elsewhere, or only one of
    /// the two is a link.
    Other,
    /// It is a folder where a file is offered, or the other way round, or a device or the like.
    InTheWay,
}
