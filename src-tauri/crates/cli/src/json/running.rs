//! Transfers that run, and how they ended.
use ringway_engine::Transfer;
use ringway_model::{
    DeviceId, Direction, Outcome, Past, PastDetails, PathTaken, PathText, Progress, Report, SeriesPoint, TransferId,
};
use serde::Serialize;

use crate::words::{self, Words};

/// The beginning of a transfer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Started {
    /// The transfer's id.
    id: TransferId,
    /// Which way it goes, seen from here.
    direction: Direction,
    /// What the other device is called here; null for a copy.
    peer: Option<String>,
    /// The other device's id; null for a copy.
    peer_id: Option<DeviceId>,
    /// The first top-level name.
    title: PathText,
    /// How many more top-level names there are.
    more_names: u64,
    /// Lanes in use; 0 for a copy.
    lanes: u8,
    /// What this end runs on; null for a copy.
    here: Option<PathTaken>,
    /// What the other end runs on; null for a copy.
    there: Option<PathTaken>,
}

impl Started {
    /// Of a transfer whose bytes begin to move.
    pub(super) fn new(transfer: &Transfer, progress: &Progress) -> Self {
        let (title, more_names) = transfer.title();
        let (peer_id, peer) = transfer.peer().unzip();
        Self {
            id: transfer.id(),
            direction: transfer.direction(),
            peer,
            peer_id,
            title: title.into(),
            more_names,
            lanes: progress.lanes,
            here: progress.here,
            there: progress.there,
        }
    }
}

/// The end of a transfer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Finished<'a> {
    /// The transfer's id.
    id: TransferId,
    /// Which way it went, seen from here.
    direction: Direction,
    /// What the other device is called here; null for a copy, and where it was not reached.
    peer: Option<String>,
    /// The other device's id; null for a copy, and where it was not reached.
    peer_id: Option<DeviceId>,
    /// Whether it is a copy that only said what it would do: `arrived` would be there.
    dry_run: bool,
    #[serde(flatten)]
    report: &'a Report,
    #[serde(flatten)]
    why: Why,
}

/// The words for what a transfer failed with.
#[derive(Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Why {
    /// What it failed with, in English; null where it did not fail.
    message: Option<String>,
    /// What to do about that, where something can be done.
    next: Option<String>,
}

impl From<Words> for Why {
    fn from(words: Words) -> Self {
        Self { message: Some(words.what), next: words.next }
    }
}

impl Why {
    /// Of a transfer in that direction that ended so.
    fn of(outcome: &Outcome, direction: Direction) -> Self {
        match outcome {
            Outcome::Complete | Outcome::Partial => Self::default(),
            Outcome::Failed(fault) => words::error_of(fault, direction, None).into(),
        }
    }
}

impl<'a> Finished<'a> {
    /// Of a transfer that has ended.
    pub(super) fn new(transfer: &Transfer, report: &'a Report, words: Option<&Words>, dry_run: bool) -> Self {
        let (peer_id, peer) = transfer.peer().unzip();
        Self {
            id: transfer.id(),
            direction: transfer.direction(),
            peer,
            peer_id,
            dry_run,
            report,
            why: words.map_or_else(|| Why::of(&report.outcome, transfer.direction()), |words| words.clone().into()),
        }
    }
}

/// A transfer that has ended and is remembered.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Remembered<'a> {
    #[serde(flatten)]
    past: Past,
    #[serde(flatten)]
    why: Why,
    /// By `inbox show`: what had been done by which moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    series: Option<&'a [SeriesPoint]>,
}

impl<'a> Remembered<'a> {
    /// Of a past transfer; with `details`, if it is shown by itself.
    pub(super) fn new(past: &Past, details: Option<&'a PastDetails>) -> Self {
        let mut past = past.clone();
        if let Some(PastDetails { failures, edits, .. }) = details {
            (past.report.failures, past.report.edits) = (failures.clone(), edits.clone());
        }
        Self {
            why: Why::of(&past.report.outcome, past.direction),
            past,
            series: details.map(|details| details.series.as_slice()),
        }
    }
}
