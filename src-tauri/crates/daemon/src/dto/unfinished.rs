//! What transfers that did not end keep.
use serde::{Deserialize, Serialize};

use super::unix_ms;
use crate::text::{shown, shown_text};

/// What a transfer that did not end keeps in a folder, so that the same send again goes on with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(rename_all = "camelCase")]
pub struct Unfinished {
    /// Tells it from others in that folder.
    pub id: String,
    pub folder: String,
    /// Who sent it; empty where that is not known.
    pub from: String,
    /// The first top-level name; empty where it is not known.
    pub title: String,
    pub more_titles: u64,
    pub files: u64,
    /// What it takes on the disk.
    pub disk_bytes: u64,
    /// When it was last added to, in milliseconds since 1970.
    pub at_ms: u64,
}

impl From<&ringway_engine::Unfinished> for Unfinished {
    fn from(left: &ringway_engine::Unfinished) -> Self {
        Self {
            id: left.id.clone(),
            folder: shown(&left.folder),
            from: left.from.as_deref().map(shown_text).unwrap_or_default(),
            title: left.names.first().map(shown).unwrap_or_default(),
            more_titles: (left.names.len() as u64).saturating_sub(1) + left.more_names,
            files: left.files,
            disk_bytes: left.disk_bytes,
            at_ms: unix_ms(left.last_used),
        }
    }
}
