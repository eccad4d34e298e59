//! Transfers that run, and how they ended.
use ringway_engine::Transfer;
use ringway_model::{
    DeviceId, Direction, Outcome, Past, PastDetails, PathTaken, PathText, Progress, Report, SeriesPoint, TransferId,
};
use serde::Serialize;

use crate::words::{self, Words};

/// The start of a transfer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Started {
    /// The transfer's id.
    id: TransferId,
    /// Its direction, seen from here.
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
    /// The fast paths and fallbacks in use at this end; null for a copy.
    here: Option<PathTaken>,
    /// The fast paths and fallbacks in use at the other end; null for a copy.
    there: Option<PathTaken>,
}

impl Started {
    /// The event of a transfer whose bytes begin to move.
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
    /// Its direction, seen from here.
    direction: Direction,
    /// What the other device is called here; null for a copy, and if no device was reached.
    peer: Option<String>,
    /// The other device's id; null for a copy, and if no device was reached.
    peer_id: Option<DeviceId>,
    /// Whether it is a dry run: nothing was written or sent, and `arrived` lists what a copy would
    /// make.
    dry_run: bool,
    #[serde(flatten)]
    report: &'a Report,
    #[serde(flatten)]
    why: Why,
}

/// The sentences about why a transfer failed.
#[derive(Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Why {
    /// Why it failed, in English; null if it did not fail.
    message: Option<String>,
    /// What to do about it, if something can be done.
    next: Option<String>,
}

impl From<Words> for Why {
    fn from(words: Words) -> Self {
        Self { message: Some(words.what), next: words.next }
    }
}

impl Why {
    /// The sentences for a transfer in that direction with this outcome, which the receiving device
    /// has asked for or not.
    fn of(outcome: &Outcome, direction: Direction, is_got: bool) -> Self {
        match outcome {
            Outcome::Complete | Outcome::Partial => Self::default(),
            Outcome::Failed(fault) => words::error_of(fault, direction, is_got, None).into(),
        }
    }
}

impl<'a> Finished<'a> {
    /// The event of a transfer that has ended.
    pub(super) fn new(transfer: &Transfer, report: &'a Report, words: Option<&Words>, dry_run: bool) -> Self {
        let (peer_id, peer) = transfer.peer().unzip();
        Self {
            id: transfer.id(),
            direction: transfer.direction(),
            peer,
            peer_id,
            dry_run,
            report,
            why: words.map_or_else(
                || Why::of(&report.outcome, transfer.direction(), transfer.is_got()),
                |words| words.clone().into(),
            ),
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
    /// By `inbox show`: how much had been done at several moments.
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
            why: Why::of(&past.report.outcome, past.direction, past.is_got()),
            past,
            series: details.map(|details| details.series.as_slice()),
        }
    }
}
