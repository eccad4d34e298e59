//! Transfers that run, and how they ended.
use std::time::Duration;

use ringway_daemon::dto::Moving;
use ringway_engine::{CopyReport, Past, PastDetails, Point, Report, Transfer};
use ringway_model::{
    Bottleneck, Counts, DeviceId, Direction, Edit, IoPath, Outcome, PackedBytes, PathTaken, PathText, Progress, Proven,
    StageTimes, TransferId,
};
use serde::Serialize;

use super::failing::{EntryFailure, WhatFailed};
use super::{Event, paths, unix};
use crate::words::Words;

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

/// `started`.
pub(crate) fn started(transfer: &Transfer, progress: &Progress) -> Event<'static> {
    let (title, more_names) = transfer.title();
    let (peer_id, peer) = transfer.peer().unzip();
    Event::Started(Started {
        id: transfer.id(),
        direction: transfer.direction(),
        peer,
        peer_id,
        title: title.into(),
        more_names,
        lanes: progress.lanes,
        here: progress.here,
        there: progress.there,
    })
}

/// `progress`.
pub(crate) fn progress(id: TransferId, progress: &Progress) -> Event<'_> {
    Event::Progress { id, progress }
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
    #[serde(flatten)]
    ending: Ending<'a>,
    #[serde(flatten)]
    counts: Counts,
    /// What was read back and compared, after `send --verify`.
    proven: Option<Proven>,
    /// Seconds from the first byte to the receipt, without pauses.
    seconds: f64,
    /// What limited it for the longest time; null for a copy, and where it was too short to tell.
    limited_by: Option<Bottleneck>,
    /// Where the time of its lanes went; null for a copy, and where the two ends did not both say.
    times: Option<StageTimes>,
    /// Lanes used; 0 for a copy.
    lanes: u8,
    /// Lanes that were added and could not be had, or broke before they carried anything.
    lanes_dropped: u8,
    /// How often it continued after its connection was lost.
    reconnected: u32,
    /// What compression came to, at the sender; null where nothing was compressed.
    packed: Option<PackedBytes>,
    /// What this end ran on; null for a copy, and where it did not come so far.
    here: Option<PathTaken>,
    /// What the other end ran on; null for a copy, and where it did not come so far.
    there: Option<PathTaken>,
    /// At the receiver, and of a copy: the top-level paths under their final names, the first few.
    /// After a dry run, those that would be there.
    arrived: Vec<PathText>,
    /// At the receiver: its staging folder, where that could not be removed.
    left_behind: Option<PathText>,
    /// Whether it is a copy that only said what it would do.
    dry_run: bool,
    /// What a copy chose and did; null for others, and where it did not come so far.
    copy: Option<CopyFigures>,
}

/// How a transfer ended, and what it failed with.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "outcome", content = "error", rename_all = "snake_case")]
enum Ending<'a> {
    /// Everything arrived, and the receipt says so.
    Complete,
    /// The receipt is there, and some entries failed: `entry_failed` names them.
    Partial,
    /// Nothing was completed, or what arrived is not known.
    Failed(WhatFailed<'a>),
}

impl<'a> Ending<'a> {
    /// `words` says what it failed with, where that is said otherwise.
    fn new(outcome: &'a Outcome, words: Option<&Words>) -> Self {
        match outcome {
            Outcome::Complete => Self::Complete,
            Outcome::Partial => Self::Partial,
            Outcome::Failed(fault) => {
                Self::Failed(words.map_or_else(|| fault.into(), |words| WhatFailed::new(fault, words)))
            }
        }
    }
}

/// What a copy inside this machine chose and did.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CopyFigures {
    /// Threads that were started.
    threads: usize,
    /// Requests in flight on each thread's ring.
    queue_depth: u32,
    /// Bytes of one read and one write of a large file.
    chunk_bytes: usize,
    /// What reads where that waits for a disk; `uring_bytes` says whether it did.
    io: IoPath,
    /// The destination's kind of filesystem.
    filesystem: &'static str,
    /// Bytes whose blocks are shared with the source.
    reflinked_bytes: u64,
    /// Bytes that the kernel copied by itself.
    kernel_bytes: u64,
    /// Bytes that went through this process.
    buffered_bytes: u64,
    /// Those of the buffered bytes that io_uring read.
    uring_bytes: u64,
    /// FIFOs, sockets and device nodes.
    specials: u64,
    /// Entries that a rule left out; a folder counts once.
    excluded: u64,
    /// Files that were read back and found equal.
    verified: u64,
    /// Entries that could not be given their owner or group.
    owners_lost: u64,
    /// Entries that could not be given an access control list or extended attribute.
    attributes_lost: u64,
    /// When this copy began, or the one that it continues, as `ringway copy --continue` takes it;
    /// null where files get their times from another machine or program.
    began: Option<String>,
}

impl From<&CopyReport> for CopyFigures {
    fn from(report: &CopyReport) -> Self {
        Self {
            threads: report.workers,
            queue_depth: report.depth,
            chunk_bytes: report.chunk_bytes,
            io: report.io,
            filesystem: report.filesystem,
            reflinked_bytes: report.reflinked_bytes,
            kernel_bytes: report.kernel_bytes,
            buffered_bytes: report.buffered_bytes,
            uring_bytes: report.uring_bytes,
            specials: report.specials,
            excluded: report.excluded,
            verified: report.verified,
            owners_lost: report.owners_lost,
            attributes_lost: report.attributes_lost,
            began: report.began.map(crate::args::copy::moment),
        }
    }
}

/// `finished`; `words` says what it failed with. Only a copy is ever a `dry_run`.
pub(crate) fn finished<'a>(transfer: &Transfer, report: &'a Report, words: Option<&Words>, dry_run: bool) -> Event<'a> {
    let (peer_id, peer) = transfer.peer().unzip();
    Event::Finished(Box::new(Finished {
        id: transfer.id(),
        direction: transfer.direction(),
        peer,
        peer_id,
        ending: Ending::new(&report.outcome, words),
        counts: report.counts,
        proven: report.proven,
        seconds: seconds(report.running_for),
        limited_by: report.bottleneck,
        times: report.times,
        lanes: report.lanes,
        lanes_dropped: report.lanes_dropped,
        reconnected: report.reconnected,
        packed: report.packed,
        here: report.here,
        there: report.there,
        arrived: paths(&report.arrived),
        left_behind: report.left_behind.as_ref().map(PathText::from),
        dry_run,
        copy: report.copy.as_ref().map(CopyFigures::from),
    }))
}

/// A transfer that the service has under way.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct UnderWay<'a> {
    /// Its id, as `pause`, `resume` and `cancel` take it.
    id: &'a str,
    /// Which way it goes, seen from here.
    direction: Direction,
    /// What was given as the target; the folder of a copy; empty where it is received.
    target: &'a str,
    /// The first top-level name, as text that is safe to show.
    title: &'a str,
    /// How many more top-level names there are.
    more_names: u64,
    #[serde(flatten)]
    progress: &'a Progress,
}

/// `transfer`.
pub(crate) fn transfer(moving: &Moving) -> Event<'_> {
    Event::Transfer(UnderWay {
        id: &moving.id,
        direction: moving.direction,
        target: &moving.target,
        title: &moving.title,
        more_names: moving.more_titles,
        progress: &moving.progress,
    })
}

/// A transfer that has ended and is remembered.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Remembered<'a> {
    /// What it is called here: `inbox show` and `send --again` take it.
    number: u64,
    /// The transfer's id.
    id: TransferId,
    /// Which way it went, seen from here.
    direction: Direction,
    /// What the other device was called; null for a copy, and where it was not reached.
    peer: Option<&'a str>,
    /// The other device's id; null for a copy, and where it was not reached.
    peer_id: Option<DeviceId>,
    /// What it was to reach; null where it was received.
    target: Option<&'a str>,
    /// The first top-level name.
    title: PathText,
    /// How many more top-level names there were.
    more_names: u64,
    /// What was sent, or where it lies: the first paths.
    paths: Vec<PathText>,
    /// When it ended, in seconds since 1970.
    ended_at: i64,
    #[serde(flatten)]
    ending: Ending<'a>,
    #[serde(flatten)]
    counts: Counts,
    /// What was read back and compared, after `send --verify`.
    proven: Option<Proven>,
    /// Seconds from the first byte to the receipt, without pauses.
    seconds: f64,
    /// What limited it for the longest time.
    limited_by: Option<Bottleneck>,
    /// How often it continued after its connection was lost.
    reconnected: u32,
    #[serde(flatten)]
    details: Option<Details<'a>>,
}

/// What `inbox show` adds.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Details<'a> {
    /// By `inbox show`: the entries that failed, the first ones.
    failures: Vec<EntryFailure<'a>>,
    /// By `inbox show`: the files of the receiver that were kept, the first ones.
    kept: &'a [Edit],
    /// By `inbox show`: what had been done by which moment.
    series: Vec<Moment>,
}

/// What a transfer had done by a moment.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Moment {
    /// Seconds since bytes began to move.
    seconds: f64,
    /// Bytes of contents that were sent by then.
    bytes: u64,
    /// Entries done by then.
    entries: u64,
    /// What limited it since the moment before, where that is known.
    limited_by: Option<Bottleneck>,
}

impl From<&Point> for Moment {
    fn from(point: &Point) -> Self {
        Self { seconds: seconds(point.at), bytes: point.bytes, entries: point.entries, limited_by: point.bottleneck }
    }
}

/// `past`; with `details`, if it is shown by itself.
pub(crate) fn past<'a>(past: &'a Past, details: Option<&'a PastDetails>) -> Event<'a> {
    let (title, more_names) = &past.title;
    let details = details.map(|details| Details {
        failures: details.failures.iter().map(EntryFailure::from).collect(),
        kept: &details.edits,
        series: details.series.iter().map(Moment::from).collect(),
    });
    Event::Past(Box::new(Remembered {
        number: past.number,
        id: past.id,
        direction: past.direction,
        peer: past.peer.as_ref().map(|(_, name)| name.as_str()),
        peer_id: past.peer.as_ref().map(|(id, _)| *id),
        target: past.target.as_deref(),
        title: title.as_os_str().into(),
        more_names: *more_names,
        paths: paths(&past.paths),
        ended_at: unix(past.ended),
        ending: Ending::new(&past.outcome, None),
        counts: past.counts,
        proven: past.proven,
        seconds: seconds(past.running_for),
        limited_by: past.bottleneck,
        reconnected: past.reconnected,
        details,
    }))
}

/// A millisecond is as fine as a second's fraction gets.
pub(super) fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1_000.0).round() / 1_000.0
}
