//! What has ended before, as the window lists it.
use ringway_engine::Past;
use ringway_model::{Direction, Outcome, Report, TransferStatus};
use serde::{Deserialize, Serialize};

use super::{Chosen, Recipient, unix_ms};
use crate::text::{shown, shown_text};

/// Which past transfers are asked for.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(rename_all = "camelCase")]
pub struct Asked {
    /// Only what went that way; all where that is null.
    pub direction: Option<Direction>,
    /// Only what did not bring everything.
    pub failed_only: bool,
    /// In names, paths, device or target; empty for all.
    pub search: String,
    /// To read on: only those before that number.
    pub before: Option<u64>,
}

/// A past transfer.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(rename_all = "camelCase")]
pub struct Earlier {
    pub number: u64,
    /// The id that it had while it ran.
    pub id: String,
    pub direction: Direction,
    pub title: String,
    pub more_titles: u64,
    /// The other machine as it was called then, or whom it was to reach; of a copy, its folder.
    pub peer: String,
    /// How it ended, and what a person can do about it.
    pub status: TransferStatus,
    /// Without failures by name, which [`PastDetails`](ringway_model::PastDetails) has.
    pub report: Report,
}

impl From<&Past> for Earlier {
    fn from(past: &Past) -> Self {
        let name = past.peer.as_ref().map(|(_, name)| name).or(past.target.as_ref());
        let folder = past.paths.first().filter(|_| past.direction == Direction::Copying);
        Self {
            number: past.number,
            id: past.key().to_string(),
            direction: past.direction,
            title: shown(&past.title.0),
            more_titles: past.title.1,
            peer: folder.map_or_else(|| name.map(|name| shown_text(name)).unwrap_or_default(), shown),
            status: TransferStatus::past(past.direction, &past.report),
            report: past.report.clone(),
        }
    }
}

/// What was sent before, chosen once more.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(rename_all = "camelCase")]
pub struct Again {
    pub chosen: Chosen,
    pub target: Recipient,
    /// What to call it.
    pub label: String,
    /// Whether it was to be verified.
    pub verify: bool,
}

/// The latest transfer with a device, for its card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(rename_all = "camelCase")]
pub struct LastTransfer {
    pub direction: Direction,
    pub title: String,
    pub more_titles: u64,
    pub bytes: u64,
    /// Whether everything arrived.
    pub is_whole: bool,
    pub at_ms: u64,
}

impl From<&Past> for LastTransfer {
    fn from(past: &Past) -> Self {
        Self {
            direction: past.direction,
            title: shown(&past.title.0),
            more_titles: past.title.1,
            bytes: past.report.counts.bytes,
            is_whole: matches!(past.report.outcome, Outcome::Complete),
            at_ms: unix_ms(past.report.ended_at),
        }
    }
}
