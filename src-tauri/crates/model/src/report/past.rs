//! Transfers that have ended, as the history has them.
use serde::{Deserialize, Serialize};

use super::{Edit, Report, SeriesPoint};
use crate::device::DeviceId;
use crate::fault::Failure;
use crate::id::{TransferId, TransferKey};
use crate::text::{PathText, Text};
use crate::transfer::{Direction, Side};

/// A transfer that has ended and is remembered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Past {
    /// What it is called here: `inbox show` and `send --again` take it. Later ones have higher
    /// numbers, and none is used again.
    pub number: u64,
    /// The transfer's id.
    pub id: TransferId,
    /// Which way it went, seen from here.
    pub direction: Direction,
    /// What the other device was called. None for a copy, and where it was not reached.
    pub peer: Option<Text>,
    /// The other device's id. None for a copy, and where it was not reached.
    pub peer_id: Option<DeviceId>,
    /// What it was to reach: a device's name then, or an address. None for a copy, and where the
    /// other device started it.
    pub target: Option<Text>,
    /// A share and the path in that, as `SHARE/PATH`: the drop box of the receiver that it was sent
    /// into, or the first entry that was got. None if it was sent into no drop box.
    pub in_share: Option<PathText>,
    /// The first top-level name.
    pub title: PathText,
    /// How many more top-level names there were.
    pub more_names: u64,
    /// What was sent, or where it lies, or else the folder that it was to land in: the first paths.
    pub paths: Vec<PathText>,
    /// What is remembered of its report. What is long of it is in [`PastDetails`].
    #[serde(flatten)]
    pub report: Report,
}

impl Past {
    /// What told it apart from all others while it ran.
    pub fn key(&self) -> TransferKey {
        // The other one has drawn the id.
        let is_theirs = self.direction == Direction::Receiving && self.started_by() == Side::There;
        TransferKey { from: self.peer_id.filter(|_| is_theirs), id: self.id }
    }

    /// The side that started it: the one that sent it, or that got it.
    pub fn started_by(&self) -> Side {
        match self.direction {
            Direction::Copying => Side::Here,
            Direction::Sending | Direction::Receiving if self.target.is_some() => Side::Here,
            Direction::Sending | Direction::Receiving => Side::There,
        }
    }

    /// Whether the receiving device asked for it, instead of being offered it.
    pub fn is_got(&self) -> bool {
        match self.direction {
            Direction::Copying => false,
            Direction::Receiving => self.started_by() == Side::Here,
            Direction::Sending => self.started_by() == Side::There,
        }
    }
}

/// What is long of a past transfer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
pub struct PastDetails {
    /// The failures by name, the first 1,000.
    pub failures: Vec<Failure>,
    /// Files of the receiver that were kept, by name, the first 100.
    pub edits: Vec<Edit>,
    /// Its course.
    pub series: Vec<SeriesPoint>,
}

/// What became of a transfer that did not bring everything when the same was transferred later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(rename_all = "snake_case")]
pub enum AfterFailure {
    /// All of it arrived.
    Resolved,
    /// Some of it failed again: the later report names what is missing.
    Repeated,
}

/// Which past transfers are asked for; all of them by default, the latest first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(deny_unknown_fields)]
pub struct PastQuery {
    /// Those of one direction; all where that is null.
    pub direction: Option<Direction>,
    /// Those that did not bring everything.
    pub failed_only: bool,
    /// The failures that a person should look at: of each transfer the last one, until the same was
    /// transferred later.
    pub unresolved_only: bool,
    /// Those in whose names, paths, device or target this text is found, whatever the case of its
    /// letters; all where it is empty.
    pub search: String,
    /// Those before that number, to read on.
    pub before: Option<u64>,
}
