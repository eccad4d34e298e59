//! What a person chose to send or copy, and what waits for its turn.
use ringway_model::{DeviceId, PathText, Text};
use serde::{Deserialize, Serialize};

use super::Moving;

/// What kind of thing is to be sent or copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(rename_all = "camelCase")]
pub enum SourceKind {
    Folder,
    File,
    /// A link, or something that is reported when it is sent.
    Other,
    /// It cannot be looked at.
    Unreadable,
}

/// How exact a size is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(rename_all = "camelCase")]
pub enum SizeState {
    /// Not everything has been counted yet.
    #[default]
    Counting,
    /// Everything has been counted.
    Exact,
    /// It is larger: counting ended at a limit, or something cannot be looked into.
    AtLeast,
}

/// How much there is of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
pub struct ChosenSize {
    /// Files, links and folders, as an offer counts them.
    pub items: u64,
    /// Bytes of the files' contents.
    pub bytes: u64,
    /// Files, links and folders that are left out; a folder counts as one.
    pub excluded: u64,
    pub state: SizeState,
}

/// One thing to be sent or copied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
pub struct ChosenSource {
    /// Tells it from all others that were ever chosen.
    pub item: u32,
    pub name: String,
    pub kind: SourceKind,
    pub size: ChosenSize,
    /// Another item of the choice has the same name, which only one of them can have at the
    /// receiver.
    pub same_name: bool,
}

/// Something that was not added to a choice, because the choice has it already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
pub struct MergedSource {
    pub name: String,
    /// The chosen folder that it lies in; none if the very same thing was chosen before.
    pub within: Option<String>,
}

/// What a person chose or dropped; the paths themselves stay on this side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
pub struct Chosen {
    pub id: u32,
    /// The first few.
    pub items: Vec<ChosenSource>,
    /// Items beyond those.
    pub more: u64,
    /// Of all items together, as far as they have been counted.
    pub total: ChosenSize,
    /// What was left out of these folders when they were sent last: patterns as in a .gitignore
    /// file, one a line.
    pub leave_out: String,
    /// The first few that were merged when this choice was made.
    pub merged: Vec<MergedSource>,
    /// Merged ones beyond those.
    pub more_merged: u64,
}

/// The size of one item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
pub struct ItemSize {
    pub item: u32,
    pub size: ChosenSize,
}

/// A transfer that waits until another one to the same device has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
pub struct Waiting {
    pub id: String,
    /// The device's id.
    pub device: DeviceId,
    /// What the device is called here.
    pub target: Text,
    pub title: PathText,
    pub more_names: u64,
}

/// What became of something that was to be sent.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(tag = "is", rename_all = "camelCase")]
pub enum Sent {
    /// It has begun.
    Begun { transfer: Box<Moving> },
    /// It waits until what goes to that device has ended.
    Waits { waiting: Waiting },
}
