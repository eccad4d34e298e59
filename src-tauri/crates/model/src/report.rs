//! Parts of a transfer's report.
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::fault::Fault;
use crate::text::PathText;

/// What a transfer came to, in numbers. In JSON they stand beside what else is said of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counts {
    /// Regular files that are there, by the receipt.
    pub files: u64,
    /// Folders.
    pub folders: u64,
    /// Symbolic and hard links.
    pub links: u64,
    /// Bytes of file contents.
    pub bytes: u64,
    /// Those of them that this process sent, as far as the receiver said to have them, or received,
    /// or copied: over all connections. The others were there already, but for
    /// [`Self::skipped_bytes`], or another run of the program moved them. Of a transfer that
    /// failed, whatever it moved.
    pub moved: u64,
    /// Files and links that were there already and are the same.
    pub unchanged: u64,
    /// Files and links that were there already and stay by policy, whatever they are.
    pub skipped: u64,
    /// Bytes of contents that were offered for those.
    pub skipped_bytes: u64,
    /// Bytes of the others that were not sent, being in the files that they replaced.
    pub reused: u64,
    /// Files and links of the receiver that were kept because they were changed there since they
    /// were received: what was sent is beside them.
    pub edited: u64,
    /// Entries that failed, both ends together.
    pub failed: u64,
}

impl Counts {
    /// Bytes of contents that were there already: of files that are the same, and in those that
    /// were replaced.
    pub fn present_bytes(&self) -> u64 {
        self.bytes.saturating_sub(self.moved).saturating_sub(self.skipped_bytes)
    }
}

/// Where the time of a transfer's lanes has gone, summed over the lanes: each end's sum is the time
/// that it ran times its lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StageTimes {
    /// At the sender: waiting for the walk to find something.
    #[serde(with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub finding: Duration,
    /// At the sender: reading files.
    #[serde(with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub reading: Duration,
    /// At the sender: on the processor between file and network.
    #[serde(with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub encrypting: Duration,
    /// At the sender: waiting for the network to take more.
    #[serde(with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub sending: Duration,
    /// At the sender: waiting because of its limit.
    #[serde(with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub limited: Duration,
    /// At the receiver: waiting for the network to bring more.
    #[serde(with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub receiving: Duration,
    /// At the receiver: on the processor between network and file.
    #[serde(with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub decrypting: Duration,
    /// At the receiver: writing files.
    #[serde(with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub writing: Duration,
}

impl StageTimes {
    /// Both together.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self {
            finding: self.finding + other.finding,
            reading: self.reading + other.reading,
            encrypting: self.encrypting + other.encrypting,
            sending: self.sending + other.sending,
            limited: self.limited + other.limited,
            receiving: self.receiving + other.receiving,
            decrypting: self.decrypting + other.decrypting,
            writing: self.writing + other.writing,
        }
    }

    /// What has been added since; what another end takes back counts as nothing.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            finding: self.finding.saturating_sub(before.finding),
            reading: self.reading.saturating_sub(before.reading),
            encrypting: self.encrypting.saturating_sub(before.encrypting),
            sending: self.sending.saturating_sub(before.sending),
            limited: self.limited.saturating_sub(before.limited),
            receiving: self.receiving.saturating_sub(before.receiving),
            decrypting: self.decrypting.saturating_sub(before.decrypting),
            writing: self.writing.saturating_sub(before.writing),
        }
    }
}

/// What packing came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PackedBytes {
    /// Bytes of file contents that were packed.
    pub contents: u64,
    /// Bytes that they took on the way.
    pub wire: u64,
}

/// What was read back from the receiver's medium and found to be what the sender had read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Proven {
    /// Files.
    pub files: u64,
    /// Bytes of their contents; holes do not count.
    pub bytes: u64,
    /// How long it took, after everything was written.
    #[serde(rename = "seconds", with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    #[cfg_attr(feature = "bindings", specta(type = u32))]
    pub took: Duration,
}

/// A file or link of the receiver that was changed there since it was received, and was kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Edit {
    /// Its path within the transfer; any bytes, where the other end says it.
    #[serde(flatten)]
    pub path: PathText,
    /// The name, in the same folder, under which the sender's version is there.
    pub beside: PathText,
}

/// How a transfer ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "outcome", content = "error", rename_all = "snake_case")]
pub enum Outcome {
    /// Everything arrived, was renamed and synchronised, and the receipt says so.
    Complete,
    /// The receipt is there, but some entries failed: they are listed.
    Partial,
    /// Nothing was completed, or it cannot be known: why.
    Failed(Fault),
}

impl Outcome {
    /// As JSON text, for the history.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// What [`Self::to_json`] made; none where a damaged store or a later version says something
    /// else.
    pub fn from_json(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}
