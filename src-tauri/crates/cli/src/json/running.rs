//! Running transfers, and how they ended.
use ringway_daemon::dto::Moving;
use ringway_engine::{Past, Transfer};
use ringway_model::{
    DeviceId, Direction, Fault, Outcome, PastDetails, PathTaken, PathText, Progress, Report, SeriesPoint, TransferId,
};
use serde::Serialize;

use super::paths;
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
    /// Whether it is a dry run of a copy: `arrived` lists what would arrive.
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
    /// The sentences for a transfer in that direction with this outcome.
    fn of(outcome: &Outcome, direction: Direction) -> Self {
        match outcome {
            Outcome::Complete | Outcome::Partial => Self::default(),
            Outcome::Failed(fault) => words::error_of(fault, direction, None).into(),
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
            why: words.map_or_else(|| Why::of(&report.outcome, transfer.direction()), |words| words.clone().into()),
        }
    }
}

/// A transfer that the service runs.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct UnderWay<'a> {
    /// Its id, as `pause`, `resume` and `cancel` take it.
    id: &'a str,
    /// Its direction, seen from here.
    direction: Direction,
    /// The target as it was given; the folder of a copy; empty for a transfer that is received.
    target: &'a str,
    /// The first top-level name, as text that is safe to show.
    title: &'a str,
    /// How many more top-level names there are.
    more_names: u64,
    #[serde(flatten)]
    progress: &'a Progress,
}

impl<'a> From<&'a Moving> for UnderWay<'a> {
    fn from(moving: &'a Moving) -> Self {
        Self {
            id: &moving.id,
            direction: moving.direction,
            target: &moving.target,
            title: &moving.title,
            more_names: moving.more_titles,
            progress: &moving.progress,
        }
    }
}

/// A transfer that has ended and is remembered.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Remembered<'a> {
    /// Its number in the history, for `inbox show` and `send --again`.
    number: u64,
    /// The transfer's id.
    id: TransferId,
    /// Its direction, seen from here.
    direction: Direction,
    /// What the other device was called; null for a copy, and if no device was reached.
    peer: Option<&'a str>,
    /// The other device's id; null for a copy, and if no device was reached.
    peer_id: Option<DeviceId>,
    /// The target; null for a transfer that was received.
    target: Option<&'a str>,
    /// The first top-level name.
    title: PathText,
    /// How many more top-level names there were.
    more_names: u64,
    /// The first paths that were sent, or where received ones are.
    paths: Vec<PathText>,
    #[serde(flatten)]
    report: Report,
    #[serde(flatten)]
    why: Why,
    /// By `inbox show`: how much had been done at several moments.
    #[serde(skip_serializing_if = "Option::is_none")]
    series: Option<&'a [SeriesPoint]>,
}

impl<'a> Remembered<'a> {
    /// The event of a past transfer; with `details` if it is shown by itself.
    pub(super) fn new(past: &'a Past, details: Option<&'a PastDetails>) -> Self {
        let (title, more_names) = &past.title;
        let mut report = past.report.clone();
        if let Some(PastDetails { failures, edits, .. }) = details {
            (report.failures, report.edits) = (failures.clone(), edits.clone());
        }
        // The history holds the folder that it was to be received into.
        if matches!(&report.outcome, Outcome::Failed(fault) if !matches!(fault, Fault::NotPublished { .. })) {
            report.arrived.clear();
        }
        Self {
            number: past.number,
            id: past.id,
            direction: past.direction,
            peer: past.peer.as_ref().map(|(_, name)| name.as_str()),
            peer_id: past.peer.as_ref().map(|(id, _)| *id),
            target: past.target.as_deref(),
            title: title.as_os_str().into(),
            more_names: *more_names,
            paths: paths(&past.paths),
            why: Why::of(&report.outcome, past.direction),
            report,
            series: details.map(|details| details.series.as_slice()),
        }
    }
}
