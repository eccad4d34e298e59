//! What the front end sees and says of copies inside this machine, beyond what every transfer has.
use ringway_engine::CopyReport;
use serde::{Deserialize, Serialize};

use crate::text::shown_text;

/// Where a copy of what was chosen would go, for showing: the folder is picked natively and stays
/// on this side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(rename_all = "camelCase")]
pub struct CopyFolder {
    /// The folder.
    pub path: String,
    /// What the copy will be called there if one thing was chosen, else the folder.
    pub lands: String,
    /// How many of the chosen names are there already.
    pub there_already: u64,
    /// Free bytes there.
    pub free_bytes: Option<u64>,
}

/// What came of a copy inside this machine, beyond the counts of every transfer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(rename_all = "camelCase")]
pub struct Copied {
    /// The kind of filesystem that was copied to.
    pub filesystem: String,
    /// Bytes whose blocks are shared with the source.
    pub shared_bytes: u64,
    /// FIFOs, sockets and device nodes.
    pub specials: u64,
    /// Files that were read back and found equal.
    pub verified: u64,
    /// Entries that could not be given their owner or group.
    pub owners_lost: u64,
    /// Entries that could not be given an access control list or extended attribute.
    pub attributes_lost: u64,
}

impl From<&CopyReport> for Copied {
    fn from(report: &CopyReport) -> Self {
        Self {
            filesystem: shown_text(report.filesystem),
            shared_bytes: report.reflinked_bytes,
            specials: report.specials,
            verified: report.verified,
            owners_lost: report.owners_lost,
            attributes_lost: report.attributes_lost,
        }
    }
}
