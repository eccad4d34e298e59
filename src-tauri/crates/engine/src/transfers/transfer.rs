//! A transfer's handle and the figures behind it: what programs hold and poll while bytes move.
use std::ffi::OsString;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::{Mutex, MutexGuard};
use ringway_link::bottleneck::Gauge;
use ringway_model::{
    Bottleneck, CopyReport, Counts, DeviceId, Direction, Edit, Failure, FailureReason, Fault, Interruption, Invalid,
    OnCancel, Operation, Outage, Outcome, PackedBytes, PathTaken, PathText, Progress, Proven, RateLimit, Report,
    SeriesPoint, Side, Stage, Text, TransferId, TransferKey,
};
use ringway_tree::filesystem::free_space::Rest;
use ringway_wire::control::{Receipt, Totals};
use rustix::io::Errno;
use tokio::sync::watch;

use crate::limits::{
    FAILURES_LISTED_MAX, GOODBYE_TIME_MAX, LOST_GOODBYE_TIME_MAX, NOTED_EVERY, NOTED_FIRST_AFTER, STALLED_AFTER,
};
use crate::store::history::{Ended, Record};
use crate::store::series::Series;
use crate::transfers::rate::{Amounts, Rate};
use crate::transfers::stopwatch::Stopwatch;
use crate::wire_convert::decode_proven;

/// One offer under way, in either direction. Clones are the same transfer; dropping every clone
/// does not cancel it.
#[derive(Clone)]
pub struct Transfer {
    shared: Arc<Shared>,
}

struct Shared {
    id: TransferId,
    direction: Direction,
    started_by: Side,
    title: (OsString, u64),
    peer: OnceLock<(DeviceId, String)>,
    figures: Mutex<Figures>,
    /// Where it is written down in the end; none where it is not.
    record: Option<Record>,
    stop: watch::Sender<Option<Stop>>,
    /// A person here has paused it.
    paused: watch::Sender<bool>,
    /// How often a person said that it may go on.
    resumed: watch::Sender<u32>,
    report: watch::Sender<Option<Arc<Report>>>,
    /// The receiving device has asked for it.
    got: AtomicBool,
}

/// Why a person's word stops it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    Cancelled(OnCancel),
    /// A person at the other end has cancelled it, while it waited here.
    CancelledThere {
        kept: bool,
    },
    /// The person forgot the other device.
    Forgotten,
    /// What it gets is not shared with it any more.
    NotShared,
}

/// What the transfer's driver keeps up to date.
pub(crate) struct Figures {
    stage: watch::Sender<Stage>,
    pub(crate) entries_done: u64,
    pub(crate) bytes_done: u64,
    pub(crate) entries_total: u64,
    pub(crate) bytes_total: u64,
    /// Bytes of what is there that were sent: in earlier sessions, and in this one.
    moved_before: u64,
    moved_now: u64,
    /// The same of all sessions, which reading back leaves as it is, and of the earlier ones.
    moved_in_all: u64,
    moved_in_earlier: u64,
    /// At the sender: bytes of contents that earlier sessions have handed to the network, whether
    /// or not they arrived.
    handed_over: u64,
    /// When something was done last, while it is under way.
    done_at: Option<Instant>,
    pub(crate) totals_final: bool,
    pub(crate) failed_here: u64,
    pub(crate) failed_there: u64,
    pub(crate) failures: Vec<Failure>,
    /// At the sender: entries that a pattern left out.
    pub(crate) excluded: u64,
    pub(crate) edited: u64,
    edits: Vec<Edit>,
    pub(crate) lanes: u8,
    pub(crate) lanes_dropped: u8,
    pub(crate) here: Option<PathTaken>,
    pub(crate) there: Option<PathTaken>,
    /// A receiver was asked to take it.
    offered: bool,
    /// It had no place for the connection that was to ask, or to ask anew.
    turned_away: bool,
    /// In the receiver's queue.
    place: Option<NonZeroU32>,
    pub(crate) gauge: Gauge,
    /// Of this sender.
    pub(crate) limit: Option<RateLimit>,
    /// The limit is that of who asked for it.
    pub(crate) limit_asked: bool,
    pub(crate) packed: Option<PackedBytes>,
    /// Whether it may be offered again once it has begun, by either end's word; if not, why it
    /// cannot be paused.
    pub(crate) goes_on: Result<(), Invalid>,
    /// Pausing lets its threads rest where they are: a copy inside this machine.
    pub(crate) in_place: bool,
    interrupted: Option<Interrupted>,
    reconnected: u32,
    sessions_before: bool,
    watch: Stopwatch,
    /// How long it had run when all was copied and reading back began.
    copied_for: Option<Duration>,
    rate: Rate,
    series: Series,
}

/// What an [`Interruption`] is told from.
struct Interrupted {
    why: Outage,
    /// It began with a connection that was lost, not with a pause.
    is_loss: bool,
    next_try: Option<Instant>,
    /// None where it waits for as long as a person likes.
    gives_up: Option<Instant>,
    /// Where it stands when a pause ends that lets its threads rest where they are.
    then: Stage,
}

impl Figures {
    /// Where it stands.
    pub(crate) fn stage(&self) -> Stage {
        *self.stage.borrow()
    }

    /// It stands elsewhere now; who follows its stages is told.
    pub(crate) fn set_stage(&self, stage: Stage) {
        self.stage.send_if_modified(|now| std::mem::replace(now, stage) != stage);
    }

    /// Bytes begin to move, or go on: then what was done stays done, and what failed is met again.
    pub(crate) fn begin(&mut self) {
        self.set_stage(Stage::Running);
        self.done_at = Some(Instant::now());
        self.watch.go_on(Instant::now());
        let interrupted = self.interrupted.take();
        // One that was turned away before it began begins now.
        if let Some(Interrupted { is_loss, .. }) = interrupted.filter(|_| self.has_begun()) {
            self.reconnected += u32::from(is_loss);
            self.sessions_before = true;
            self.gauge.restart();
            self.moved_in_earlier = self.moved_in_all;
            (self.moved_before, self.moved_now) = (self.moved_in_all, 0);
            self.rate.go_on(self.running_for(), self.amounts());
            self.failures.clear();
            (self.failed_here, self.failed_there) = (0, 0);
            self.edits.clear();
            self.edited = 0;
            if is_loss {
                self.book();
            }
        } else {
            self.watch.start(Instant::now());
            self.rate = Rate::default();
        }
    }

    /// Entries and bytes that are there, both of which only grow until they are read back.
    pub(crate) fn done(&self) -> (u64, u64) {
        (self.entries_done, self.bytes_done)
    }

    /// Entries and bytes that the sender's walk has found.
    pub(crate) fn found_so_far(&self) -> (u64, u64) {
        (self.entries_total, self.bytes_total)
    }

    /// Whether a receiver was asked to take it.
    pub(crate) fn was_offered(&self) -> bool {
        self.offered
    }

    /// Whether the receiver had no place for the connection, so that nobody looked at the offer.
    pub(crate) fn was_turned_away(&self) -> bool {
        self.offered && self.turned_away
    }

    /// Notes that.
    pub(crate) fn turn_away(&mut self) {
        self.turned_away = true;
    }

    /// Whether it was accepted and waited for a place.
    pub(crate) fn was_queued(&self) -> bool {
        self.place.is_some()
    }

    /// Whether bytes were to move.
    pub(crate) fn has_begun(&self) -> bool {
        self.watch.has_begun()
    }

    /// How long the other end is tried that is to hear of a cancel; none if it waits for nothing.
    fn goodbye_time(&self) -> Option<Duration> {
        match self.interrupted.as_ref().map(|interrupted| interrupted.why) {
            Some(Outage::Paused { by: Side::There }) => Some(GOODBYE_TIME_MAX),
            Some(Outage::Paused { .. } | Outage::Full(_)) if self.has_begun() => Some(GOODBYE_TIME_MAX),
            _ => self.has_begun().then_some(LOST_GOODBYE_TIME_MAX),
        }
    }

    /// The connection was lost, or it is paused; `next_try` is none while it is tried, and where
    /// the other end does that. Time that is lost with a connection is the transfer's own; while it
    /// is paused, by a person or by a full disk, its time stands still.
    pub(crate) fn interrupt(&mut self, why: Outage, next_try: Option<Instant>, gives_up: Instant) {
        let is_pause = matches!(why, Outage::Full(_) | Outage::Paused { .. });
        self.set_stage(if is_pause { Stage::Paused } else { Stage::Reconnecting });
        match is_pause {
            true => self.watch.hold(Instant::now()),
            false => self.watch.go_on(Instant::now()),
        }
        let is_loss = self.interrupted.as_ref().map_or(!is_pause, |interrupted| interrupted.is_loss);
        self.interrupted = Some(Interrupted { why, is_loss, next_try, gives_up: Some(gives_up), then: Stage::Running });
    }

    /// A person has paused a copy, whose threads rest.
    pub(crate) fn pause_in_place(&mut self) {
        let then = self.stage();
        self.set_stage(Stage::Paused);
        self.watch.hold(Instant::now());
        let why = Outage::Paused { by: Side::Here };
        self.interrupted = Some(Interrupted { why, is_loss: false, next_try: None, gives_up: None, then });
    }

    /// A copy goes on where it was.
    pub(crate) fn go_on_in_place(&mut self) {
        self.watch.go_on(Instant::now());
        self.done_at = Some(Instant::now());
        if let Some(interrupted) = self.interrupted.take() {
            self.set_stage(interrupted.then);
        }
    }

    /// A copy's figures are brought up to date, as they are each [`TICK`](crate::limits::TICK).
    pub(crate) fn look(&mut self) {
        self.watch.look(Instant::now());
    }

    /// It is at something else now, or will be when it goes on.
    fn enter(&mut self, stage: Stage) {
        match &mut self.interrupted {
            Some(interrupted) if self.in_place => interrupted.then = stage,
            _ => self.set_stage(stage),
        }
    }

    /// It may be offered again if the end that dials tries again for that time.
    pub(crate) fn goes_on_for(&mut self, retry: Duration) {
        self.goes_on = if retry.is_zero() { Err(Invalid::PauseNoRetry) } else { Ok(()) };
    }

    /// Whether a person may pause it: bytes move or wait to move, and it will be offered again; a
    /// copy also while it is read back.
    ///
    /// # Errors
    /// Why not.
    fn may_pause(&self) -> Result<(), Invalid> {
        match self.stage() {
            Stage::Running | Stage::Paused | Stage::Verifying if self.in_place && self.has_begun() => Ok(()),
            Stage::Running | Stage::Paused | Stage::Reconnecting if self.has_begun() => self.goes_on.clone(),
            Stage::Finishing | Stage::Verifying | Stage::Ended => Err(Invalid::CannotPause),
            _ => Err(Invalid::PauseNotBegun),
        }
    }

    /// It waits for a place at the receiver.
    pub(crate) fn queue(&mut self, place: NonZeroU32) {
        self.place = Some(place);
        self.set_stage(Stage::Queued);
    }

    /// The offer was made: who goes on waits for no person, unless it takes time.
    pub(crate) fn await_answer(&mut self, for_long: bool) {
        (self.offered, self.turned_away) = (true, false);
        if (for_long || self.interrupted.is_none()) && self.stage() != Stage::Queued {
            self.set_stage(Stage::AwaitingAnswer);
        }
    }

    /// What has yet to come, as far as it was found.
    pub(crate) fn rest(&self) -> Rest {
        Rest {
            bytes: self.bytes_total.saturating_sub(self.bytes_done),
            entries: self.entries_total.saturating_sub(self.entries_done),
        }
    }

    /// What the sender's walk has found. One that goes over the same again takes nothing back until
    /// it is through.
    pub(crate) fn found(&mut self, totals: Totals) {
        let least =
            if self.sessions_before && !totals.complete { (self.entries_total, self.bytes_total) } else { (0, 0) };
        self.entries_total = totals.entries.max(least.0);
        self.bytes_total = totals.bytes.max(least.1);
        self.totals_final = totals.complete;
    }

    /// Books progress at the receiver: `moved` are the bytes of it that were sent in this session.
    pub(crate) fn progress(&mut self, entries: u64, bytes: u64, moved: u64) {
        if entries > self.entries_done || bytes > self.bytes_done {
            self.done_at = Some(Instant::now());
        }
        self.entries_done = self.entries_done.max(entries);
        self.bytes_done = self.bytes_done.max(bytes);
        self.moved_now = self.moved_now.max(moved);
        if self.stage() != Stage::Verifying {
            self.took(moved);
        }
        self.rate.sample(self.running_for(), self.amounts());
        if !self.reads_back() {
            self.book();
        }
    }

    /// Completes the course of what was read back: how much was copied when that began is often
    /// heard of later.
    fn book_copied(&mut self, at: Duration, counts: &Counts) {
        let last = self.series.last();
        self.series.book(SeriesPoint {
            at: at.max(last.at),
            bytes: counts.moved.max(last.bytes),
            entries: counts.files.saturating_add(counts.folders).saturating_add(counts.links).max(last.entries),
            ..last
        });
    }

    /// What was copied is read back, or it rests while that is done.
    fn reads_back(&self) -> bool {
        let then = self.interrupted.as_ref().map(|interrupted| interrupted.then);
        self.stage() == Stage::Verifying || (self.in_place && then == Some(Stage::Verifying))
    }

    /// Books a point of its course. Reading back is no part of that.
    fn book(&mut self) {
        self.series.book(SeriesPoint {
            at: self.running_for(),
            bytes: self.moved(),
            entries: self.entries_done,
            limited_by: self.gauge.bottleneck(),
            reconnected: self.reconnected,
        });
    }

    /// How long nothing was done, where that is long, and not what the sender was told.
    fn stalled_for(&self) -> Option<Duration> {
        let is_meant = self.gauge.bottleneck() == Some(Bottleneck::Limit);
        let still = self.done_at.filter(|_| self.stage() == Stage::Running && !is_meant)?.elapsed();
        (still >= STALLED_AFTER).then_some(still)
    }

    fn amounts(&self) -> Amounts {
        Amounts { bytes: self.bytes_done, moved: self.moved(), entries: self.entries_done }
    }

    /// Bytes of what is there that were sent; while it is read back, that were read.
    pub(crate) fn moved(&self) -> u64 {
        self.moved_before.saturating_add(self.moved_now)
    }

    /// Books the bytes of contents that the receiver has taken in this session.
    pub(crate) fn took(&mut self, moved: u64) {
        self.moved_in_all = self.moved_in_all.max(self.moved_in_earlier.saturating_add(moved));
    }

    /// Bytes of contents that this process has sent or received, over all sessions, as far as the
    /// receiver has taken them.
    pub(crate) fn moved_in_all(&self) -> u64 {
        self.moved_in_all
    }

    /// A session has ended in which so many bytes of contents were handed to the network.
    pub(crate) fn hand_over(&mut self, bytes: u64) {
        self.handed_over = self.handed_over.saturating_add(bytes);
    }

    /// What this sender has sent of what a receipt says, which counts all that its receiver took
    /// since that was started. So it is held to what this process knows: the receiver has said to
    /// have taken no less, and no more was handed to the network.
    pub(crate) fn moved_by(&self, receipt: &Receipt, handed_now: u64) -> u64 {
        let most = self.handed_over.saturating_add(handed_now).max(self.moved_in_all);
        let there = receipt.there.bytes.saturating_sub(receipt.skipped_bytes);
        receipt.moved.clamp(self.moved_in_all, most).min(there)
    }

    /// Names what limits it, from what both ends' clocks have said by now.
    pub(crate) fn name_bottleneck(&mut self) {
        let running_for = self.running_for();
        self.gauge.sample(running_for, self.stalled_for());
    }

    /// Everything is copied and is read back: bytes and entries count again.
    pub(crate) fn verify(&mut self, entries: u64, bytes: u64) {
        self.enter(Stage::Verifying);
        self.copied_for = Some(self.running_for());
        (self.entries_done, self.bytes_done) = (0, 0);
        (self.moved_before, self.moved_now) = (0, 0);
        (self.entries_total, self.bytes_total) = (entries, bytes);
    }

    /// Books how much has been read back.
    pub(crate) fn proving(&mut self, (files, bytes): (u64, u64), files_read: u64, bytes_read: u64) {
        if self.stage() != Stage::Verifying {
            self.verify(files, bytes);
        }
        self.progress(files_read, bytes_read, bytes_read);
    }

    /// What was read back was not all: more is copied.
    pub(crate) fn resume(&mut self) {
        self.enter(Stage::Running);
    }

    /// Books a failure; those beyond the limit are only counted.
    pub(crate) fn fail(&mut self, failure: Failure) {
        match failure.side {
            Side::Here => self.failed_here = self.failed_here.saturating_add(1),
            Side::There => self.failed_there = self.failed_there.saturating_add(1),
        }
        if self.failures.len() < FAILURES_LISTED_MAX {
            self.failures.push(failure);
        }
    }

    /// Books a file of the receiver that was kept; those beyond the limit are only counted.
    pub(crate) fn edit(&mut self, edit: Edit) {
        self.edited = self.edited.saturating_add(1);
        if self.edits.len() < FAILURES_LISTED_MAX {
            self.edits.push(edit);
        }
    }

    pub(crate) fn running_for(&self) -> Duration {
        self.watch.counted(Instant::now())
    }
}

impl Transfer {
    pub(crate) fn new(id: TransferId, direction: Direction, title: (OsString, u64), record: Option<Record>) -> Self {
        let figures = Figures {
            stage: watch::Sender::new(Stage::Connecting),
            entries_done: 0,
            bytes_done: 0,
            entries_total: 0,
            bytes_total: 0,
            moved_before: 0,
            moved_now: 0,
            moved_in_all: 0,
            moved_in_earlier: 0,
            handed_over: 0,
            done_at: None,
            totals_final: false,
            failed_here: 0,
            failed_there: 0,
            failures: Vec::new(),
            excluded: 0,
            edited: 0,
            edits: Vec::new(),
            lanes: 0,
            lanes_dropped: 0,
            here: None,
            there: None,
            offered: false,
            turned_away: false,
            place: None,
            gauge: Gauge::default(),
            limit: None,
            limit_asked: false,
            packed: None,
            goes_on: Err(Invalid::PauseNoRetry),
            in_place: false,
            interrupted: None,
            reconnected: 0,
            sessions_before: false,
            watch: Stopwatch::default(),
            copied_for: None,
            rate: Rate::default(),
            series: Series::default(),
        };
        let has_target = record.as_ref().is_some_and(|record| record.target.is_some());
        let started_by = if has_target || direction == Direction::Copying { Side::Here } else { Side::There };
        let shared = Shared {
            id,
            direction,
            started_by,
            title,
            peer: OnceLock::new(),
            figures: Mutex::new(figures),
            record,
            stop: watch::Sender::new(None),
            paused: watch::Sender::new(false),
            resumed: watch::Sender::new(0),
            report: watch::Sender::new(None),
            got: AtomicBool::new(false),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Its id.
    pub fn id(&self) -> TransferId {
        self.shared.id
    }

    /// What tells it apart from all others that run here.
    pub fn key(&self) -> TransferKey {
        // The other one has drawn the id.
        let is_theirs = self.shared.direction == Direction::Receiving && self.shared.started_by == Side::There;
        let peer = self.shared.peer.get().filter(|_| is_theirs);
        TransferKey { from: peer.map(|(peer, _)| *peer), id: self.shared.id }
    }

    /// Whether the receiving device has asked for it, instead of being offered it.
    pub fn is_got(&self) -> bool {
        self.shared.got.load(Ordering::Relaxed)
    }

    /// Whether the lowest limit, as far as this end knows, is the receiving device's, which has
    /// asked for it.
    pub fn limit_asked_for(&self) -> bool {
        self.figures().limit_asked
    }

    /// The same, as asked for by the receiving device.
    pub(crate) fn asked_for(self) -> Self {
        self.shared.got.store(true, Ordering::Relaxed);
        self
    }

    /// Whether both are handles of one transfer.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// The side that started it: the one that sends it, or that gets it.
    pub fn started_by(&self) -> Side {
        self.shared.started_by
    }

    /// Whether it can be started once more from what is remembered of it alone.
    pub fn can_be_repeated(&self) -> bool {
        self.shared.record.as_ref().is_some_and(Record::can_be_repeated)
    }

    /// The drop box that it is sent into, or the first entry that is got, as `SHARE/PATH`.
    pub fn in_share(&self) -> Option<PathText> {
        self.shared.record.as_ref()?.in_share.clone()
    }

    /// Which way.
    pub fn direction(&self) -> Direction {
        self.shared.direction
    }

    /// The other device, once it is authenticated.
    pub fn peer(&self) -> Option<(DeviceId, String)> {
        self.shared.peer.get().cloned()
    }

    /// What to call it: the first top-level name (a peer's text when receiving) and how many more
    /// there are.
    pub fn title(&self) -> (OsString, u64) {
        self.shared.title.clone()
    }

    /// The figures now.
    pub fn progress(&self) -> Progress {
        let figures = self.figures();
        let (peer_id, peer) = self.peer().unzip();
        let left = figures.bytes_total.saturating_sub(figures.bytes_done);
        let entries_left = figures.entries_total.saturating_sub(figures.entries_done);
        let stage = figures.stage();
        let running = stage == Stage::Running;
        let waits = figures.interrupted.as_ref().filter(|_| matches!(stage, Stage::Reconnecting | Stage::Paused));
        let stalled_for = figures.stalled_for();
        let stands_still = waits.is_some() || stalled_for.is_some();
        let until = |at: Instant| at.saturating_duration_since(Instant::now());
        Progress {
            stage,
            peer: peer.map(Text),
            peer_id,
            entries_done: figures.entries_done,
            entries_total: figures.entries_total,
            bytes_done: figures.bytes_done,
            bytes_moved: figures.moved(),
            bytes_total: figures.bytes_total,
            totals_final: figures.totals_final,
            failed: figures.failed_here.saturating_add(figures.failed_there),
            running_for: figures.running_for(),
            bytes_per_s: if stands_still { 0 } else { figures.rate.bytes_per_s() },
            entries_per_s: if stands_still { 0 } else { figures.rate.entries_per_s() },
            time_left: (running && figures.totals_final && !stands_still)
                .then(|| figures.rate.time_for(left, entries_left))
                .flatten(),
            stalled_for,
            limited_by: figures.gauge.bottleneck().filter(|_| running),
            limit_bytes_per_s: figures.limit.map(RateLimit::bytes_per_s),
            reconnected: figures.reconnected,
            interruption: waits.map(|waits| Interruption {
                why: waits.why,
                next_try: waits.next_try.map(until),
                gives_up: waits.gives_up.map(until),
            }),
            place: figures.place.filter(|_| stage == Stage::Queued),
            can_pause: figures.may_pause().is_ok() && !self.is_paused(),
            lanes: figures.lanes,
            here: figures.here,
            there: figures.there,
        }
    }

    /// Whether it has ended.
    pub fn is_over(&self) -> bool {
        self.figures().stage() == Stage::Ended
    }

    /// Its stages as they change, from now on.
    pub fn stages(&self) -> watch::Receiver<Stage> {
        self.figures().stage.subscribe()
    }

    /// Its course so far: what had been done by which moment, in at most
    /// [`SERIES_POINTS_MAX`](crate::series::SERIES_POINTS_MAX) points and the latest one. Nothing
    /// of what is read back.
    pub fn series(&self) -> Vec<SeriesPoint> {
        self.figures().series.points()
    }

    /// Stops it cleanly: the other side is told. `then` says whether the receiver keeps or removes
    /// its staging folder. Whole files that were merged into existing folders stay, and so does
    /// what a copy inside this machine has made.
    pub fn cancel(&self, then: OnCancel) {
        self.stop(Stop::Cancelled(then));
    }

    /// Stops it in the same way because a person here forgot the other device.
    pub(crate) fn stop_as_forgotten(&self) {
        self.stop(Stop::Forgotten);
    }

    /// Stops it because what the other device gets is not shared with it any more.
    pub(crate) fn stop_as_not_shared(&self) {
        self.stop(Stop::NotShared);
    }

    /// Stops it because a person at the other end has cancelled it while it waited here.
    pub(crate) fn stop_as_cancelled_there(&self, kept: bool) {
        self.stop(Stop::CancelledThere { kept });
    }

    /// How long the other end is tried, which waits for more of it and is to hear that a person
    /// here has cancelled it. None where that is not so.
    pub(crate) fn goodbye_time(&self) -> Option<Duration> {
        let is_cancelled = matches!(*self.shared.stop.borrow(), Some(Stop::Cancelled(_)));
        self.figures().goodbye_time().filter(|_| is_cancelled)
    }

    /// The first reason counts.
    fn stop(&self, why: Stop) {
        self.shared.stop.send_if_modified(|stop| stop.replace(stop.unwrap_or(why)).is_none());
    }

    /// Pauses it at both ends until it is resumed at this one: what is whole stays, and half of a
    /// large file does. A copy inside this machine rests where it is, soon, and for as long as you
    /// like.
    ///
    /// # Errors
    /// It is not under way, or nothing is to be tried again of it, so that a pause would be its
    /// end.
    pub fn pause(&self) -> Result<(), Fault> {
        self.figures().may_pause().map_err(Fault::Invalid)?;
        self.shared.paused.send_replace(true);
        Ok(())
    }

    /// Ends a pause of this end. One that waits otherwise looks at once whether it can go on,
    /// instead of a little later; at a receiver, whatever its disk says of itself.
    pub fn resume(&self) {
        self.shared.paused.send_replace(false);
        self.shared.resumed.send_modify(|times| *times = times.wrapping_add(1));
    }

    /// The report, once it has ended; every caller gets it.
    pub async fn wait(&self) -> Arc<Report> {
        let mut report = self.shared.report.subscribe();
        match report.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(report)) => Arc::clone(report),
            _ => unreachable!("the sender lives in self"),
        }
    }

    /// Resolves when a person cancels, here or there, or forgets the other device, with the fault
    /// that its driver then ends it by. [`Self::end`] says which of both it was.
    pub(crate) async fn cancelled(&self) -> Fault {
        let mut stop = self.shared.stop.subscribe();
        // The sender lives in self, so this cannot fail.
        let stop = stop.wait_for(Option::is_some).await.ok().and_then(|stop| *stop);
        let is_kept = match stop {
            Some(Stop::NotShared) => return Fault::NoLongerShared { by: Side::Here },
            Some(Stop::Forgotten) if self.is_got() && self.shared.direction == Direction::Sending => {
                return Fault::NoLongerShared { by: Side::Here };
            }
            Some(Stop::CancelledThere { kept }) => return Fault::Cancelled { by: Side::There, kept },
            Some(Stop::Cancelled(then)) => then == OnCancel::Keep,
            // What another device has received is that device's: only a receiver that forgets its
            // sender removes.
            Some(Stop::Forgotten) => self.shared.direction == Direction::Sending,
            None => false,
        };
        // Before bytes move there is nothing to keep.
        Fault::Cancelled { by: Side::Here, kept: is_kept && self.figures().has_begun() }
    }

    /// Whether a person here has paused it.
    pub(crate) fn is_paused(&self) -> bool {
        *self.shared.paused.borrow()
    }

    /// Resolves when a person here pauses it.
    pub(crate) async fn paused(&self) {
        // The sender lives in self, so this cannot fail.
        let _ = self.shared.paused.subscribe().wait_for(|paused| *paused).await;
    }

    /// Tells whether a person here has paused it, from now on.
    pub(crate) fn pauses(&self) -> watch::Receiver<bool> {
        self.shared.paused.subscribe()
    }

    /// Tells when a person says that it may go on, from now on.
    pub(crate) fn resumes(&self) -> watch::Receiver<u32> {
        self.shared.resumed.subscribe()
    }

    pub(crate) fn known_peer(&self, id: DeviceId, name: &str) {
        // Only its driver calls this, once.
        let _ = self.shared.peer.set((id, name.to_owned()));
    }

    pub(crate) fn figures(&self) -> MutexGuard<'_, Figures> {
        self.shared.figures.lock()
    }

    /// Ends it, successfully or not, and wakes those that wait for it.
    pub(crate) fn end(&self, ended: Result<Arrived, Fault>) {
        match ended {
            Ok(arrived) => self.end_with(None, arrived),
            Err(error) => {
                let moved = self.figures().moved_in_all();
                self.end_with(
                    Some(error),
                    Arrived { counts: Counts { moved, ..Counts::default() }, ..Arrived::default() },
                );
            }
        }
    }

    /// The same where something arrived although it failed.
    pub(crate) fn end_with(&self, error: Option<Fault>, arrived: Arrived) {
        let mut figures = self.figures();
        figures.watch.end(Instant::now());
        figures.set_stage(Stage::Ended);
        let (report, series) = self.report_of(&mut figures, error, arrived);
        drop(figures);
        self.record(&report, &series);
        self.shared.report.send_replace(Some(Arc::new(report)));
    }

    /// Has the history know of it although it goes on: the program ends now, and another attempt
    /// goes on from what is there.
    pub fn note_left(&self) {
        let (report, series) = self.report_so_far(Fault::ProgramEnded);
        self.record(&report, &series);
    }

    /// Has the store know of it from its beginning, and how far it has come: that is its entry in
    /// the history if this process is killed.
    pub(crate) fn note_as_it_runs(&self) {
        if self.shared.record.is_none() {
            return;
        }
        let transfer = self.clone();
        tokio::spawn(async move {
            let mut again = NOTED_FIRST_AFTER;
            loop {
                let noted = transfer.clone();
                // A thread that panics has told so; what is noted is nothing the transfer needs.
                let _ = tokio::task::spawn_blocking(move || noted.note_running()).await;
                tokio::select! {
                    _ = transfer.wait() => return,
                    () = tokio::time::sleep(again) => again = NOTED_EVERY,
                }
            }
        });
    }

    fn note_running(&self) {
        let (report, series) = self.report_so_far(Fault::ProgramEnded);
        if let Some(record) = &self.shared.record {
            record.keep_running(&self.ended(&report, &series));
        }
    }

    fn record(&self, report: &Report, series: &[SeriesPoint]) {
        if let Some(record) = &self.shared.record {
            record.keep(&self.ended(report, series));
        }
    }

    fn ended<'a>(&'a self, report: &'a Report, series: &'a [SeriesPoint]) -> Ended<'a> {
        let Shared { id, direction, title, .. } = &*self.shared;
        Ended { id: *id, direction: *direction, peer: self.shared.peer.get(), title, report, series }
    }

    fn report_so_far(&self, why: Fault) -> (Report, Vec<SeriesPoint>) {
        let mut figures = self.figures();
        let counts = Counts { moved: figures.moved_in_all(), ..Counts::default() };
        self.report_of(&mut figures, Some(why), Arrived { counts, ..Arrived::default() })
    }

    fn report_of(&self, figures: &mut Figures, error: Option<Fault>, arrived: Arrived) -> (Report, Vec<SeriesPoint>) {
        let is_over = figures.stage() == Stage::Ended;
        let failed = arrived.counts.failed.max(figures.failed_here.saturating_add(figures.failed_there));
        let outcome = match error {
            Some(Fault::Cancelled { by: Side::Here, .. } | Fault::NoLongerShared { by: Side::Here })
                if *self.shared.stop.borrow() == Some(Stop::Forgotten) =>
            {
                Outcome::Failed(Fault::PeerForgotten)
            }
            Some(error) => Outcome::Failed(error),
            None if failed == 0 => Outcome::Complete,
            None => Outcome::Partial,
        };
        let excluded = arrived.counts.excluded.max(figures.excluded);
        let mut report = Report {
            counts: Counts { failed, excluded, edited: figures.edited, ..arrived.counts },
            bytes_planned: figures.bytes_total.max(arrived.counts.bytes),
            proven: arrived.proven,
            edits: figures.edits.clone(),
            outcome,
            failures: figures.failures.clone(),
            running_for: figures.running_for(),
            limited_by: figures.gauge.longest(),
            limit_bytes_per_s: figures.limit.map(RateLimit::bytes_per_s),
            times: figures.gauge.times(),
            lanes: figures.lanes,
            lanes_dropped: figures.lanes_dropped,
            reconnected: figures.reconnected,
            packed: figures.packed,
            here: figures.here,
            there: figures.there,
            arrived: arrived.paths.into_iter().map(PathText).collect(),
            left_behind: arrived.left_behind.map(PathText),
            copy: arrived.copy,
            ended_at: SystemTime::now(),
        };
        if let Some(at) = figures.copied_for.filter(|_| is_over) {
            figures.book_copied(at, &report.counts);
        }
        let series = figures.series.points();
        if self.shared.direction == Direction::Copying && is_over {
            report.failures.iter_mut().for_each(tell_cut_short);
        }
        (report, series)
    }
}

/// Tells a file that a copy was writing over in place, and that may be half of two versions now.
/// The copy says so where it was stopped. Where the disk refused more, it gives such a file the
/// time 0, and no other. One that the copy had made is gone.
fn tell_cut_short(failure: &mut Failure) {
    if let FailureReason::Os { errno } = failure.reason
        && (errno == Errno::CANCELED.raw_os_error() || (failure.operation == Operation::Write && is_oldest(failure)))
    {
        failure.reason = FailureReason::CutShort { errno };
    }
}

fn is_oldest(failure: &Failure) -> bool {
    failure.path.metadata().and_then(|there| there.modified()).is_ok_and(|time| time == UNIX_EPOCH)
}

/// What a receipt says, for the report.
#[derive(Debug, Default)]
pub(crate) struct Arrived {
    /// But for what was edited.
    pub(crate) counts: Counts,
    pub(crate) proven: Option<Proven>,
    pub(crate) paths: Vec<std::path::PathBuf>,
    pub(crate) left_behind: Option<std::path::PathBuf>,
    pub(crate) copy: Option<CopyReport>,
}

impl Arrived {
    /// By a receipt; `moved` bytes of it by this process, with `failed_besides` that it does not
    /// count.
    pub(crate) fn by(receipt: &Receipt, moved: u64, failed_besides: u64) -> Self {
        let counts = Counts {
            files: receipt.there.files,
            folders: receipt.there.folders,
            links: receipt.there.links,
            bytes: receipt.there.bytes,
            moved,
            unchanged: receipt.unchanged,
            skipped: receipt.skipped,
            skipped_bytes: receipt.skipped_bytes,
            reused: receipt.reused,
            edited: 0,
            excluded: 0,
            acls_lost: receipt.acls_lost,
            owners_by_number: receipt.owners_by_number,
            failed: receipt.failed.saturating_add(failed_besides),
        };
        Self { counts, proven: receipt.proven.map(decode_proven), ..Self::default() }
    }
}

impl std::fmt::Debug for Transfer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transfer").field("id", &self.shared.id).field("direction", &self.shared.direction).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_that_was_cut_short_is_told_from_one_that_is_as_it_was() {
        let there = tempfile::NamedTempFile::new().unwrap();
        let told = |errno: Errno, path: &std::path::Path| {
            let reason = FailureReason::Os { errno: errno.raw_os_error() };
            let mut failure = Failure { path: path.into(), side: Side::Here, operation: Operation::Write, reason };
            tell_cut_short(&mut failure);
            matches!(failure.reason, FailureReason::CutShort { .. })
        };
        assert!(!told(Errno::NOSPC, there.path()), "it was to be exchanged, and is what it was");
        there.as_file().set_modified(UNIX_EPOCH).unwrap();
        for errno in [Errno::CANCELED, Errno::NOSPC, Errno::DQUOT, Errno::STALE] {
            assert!(told(errno, there.path()), "{errno:?}");
        }
        assert!(!told(Errno::NOSPC, &there.path().join("gone")), "the copy had made it, and removed it");
    }
}
