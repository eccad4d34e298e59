//! The figures of a transfer, which its driver keeps up to date while bytes move.
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use ringway_link::bottleneck::Gauge;
use ringway_model::{
    Bottleneck, Counts, Edit, Failure, Invalid, Outage, PackedBytes, PathTaken, RateLimit, SeriesPoint, Side, Stage,
};
use ringway_tree::filesystem::free_space::Rest;
use ringway_wire::control::{Receipt, Totals};
use tokio::sync::watch;

use crate::limits::{FAILURES_LISTED_MAX, GOODBYE_TIME_MAX, LOST_GOODBYE_TIME_MAX, STALLED_AFTER};
use crate::store::series::Series;
use crate::transfers::rate::{Amounts, Rate};
use crate::transfers::stopwatch::Stopwatch;

/// What the transfer's driver keeps up to date.
#[derive(Default)]
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
    /// At the receiver: entries and bytes done, as the sender was told last.
    told: Option<(u64, u64)>,
    /// When something was done last, while it is under way.
    done_at: Option<Instant>,
    pub(crate) totals_final: bool,
    pub(crate) failed_here: u64,
    pub(crate) failed_there: u64,
    pub(crate) failures: Vec<Failure>,
    /// At the sender: entries that a pattern left out.
    pub(crate) excluded: u64,
    pub(crate) edited: u64,
    pub(super) edits: Vec<Edit>,
    pub(crate) lanes: u8,
    pub(crate) lanes_dropped: u8,
    pub(crate) here: Option<PathTaken>,
    pub(crate) there: Option<PathTaken>,
    /// A receiver was asked to take it.
    offered: bool,
    /// It had no place for the connection that was to ask, or to ask anew.
    turned_away: bool,
    /// In the receiver's queue.
    pub(super) place: Option<NonZeroU32>,
    pub(crate) gauge: Gauge,
    /// Of this sender.
    pub(crate) limit: Option<RateLimit>,
    /// The limit is that of who asked for it.
    pub(crate) limit_asked: bool,
    pub(crate) packed: Option<PackedBytes>,
    /// Whether it may be offered again once it has begun, by either end's word; if not, why it
    /// cannot be paused. None until that is known.
    pub(crate) goes_on: Option<Result<(), Invalid>>,
    /// Pausing lets its threads rest where they are: a copy inside this machine.
    pub(crate) in_place: bool,
    pub(super) interrupted: Option<Interrupted>,
    pub(super) reconnected: u32,
    sessions_before: bool,
    pub(super) watch: Stopwatch,
    /// How long it had run when all was copied and reading back began.
    pub(super) copied_for: Option<Duration>,
    pub(super) rate: Rate,
    pub(super) series: Series,
}

/// What an [`Interruption`](ringway_model::Interruption) is told from.
pub(super) struct Interrupted {
    pub(super) why: Outage,
    /// It began with a connection that was lost, not with a pause.
    is_loss: bool,
    pub(super) next_try: Option<Instant>,
    /// `None` if it waits for as long as a person likes.
    pub(super) gives_up: Option<Instant>,
    /// Where it stands when a pause ends that lets its threads rest where they are.
    then: Stage,
}

impl Figures {
    /// Where it stands.
    pub(crate) fn stage(&self) -> Stage {
        *self.stage.borrow()
    }

    /// Its stages from now on.
    pub(super) fn stages(&self) -> watch::Receiver<Stage> {
        self.stage.subscribe()
    }

    /// It is in another stage now, which its observers hear.
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

    /// At the receiver: the sender was told how much is done.
    pub(crate) fn tell(&mut self) {
        self.told = Some(self.done());
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

    /// Whether something of it may have arrived, which a person may keep: before bytes move, only
    /// of what goes on with something that is paused at the other end.
    pub(super) fn has_something(&self) -> bool {
        self.has_begun()
            || self.interrupted.as_ref().is_some_and(|waits| waits.why == Outage::Paused { by: Side::There })
    }

    /// How long the other end is tried that is to hear of a cancel; none if it waits for nothing.
    pub(super) fn goodbye_time(&self) -> Option<Duration> {
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
        // The sender has not heard of what arrived since: both ends show the same while it waits.
        if let Some(told) = self.told.take() {
            (self.entries_done, self.bytes_done) = told;
        }
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
        self.goes_on = Some(if retry.is_zero() { Err(Invalid::PauseNoRetry) } else { Ok(()) });
    }

    /// Whether a person may pause it: bytes move or wait to move, and it will be offered again; a
    /// copy also while it is read back.
    ///
    /// # Errors
    /// Why not.
    pub(super) fn may_pause(&self) -> Result<(), Invalid> {
        match self.stage() {
            Stage::Running | Stage::Paused | Stage::Verifying if self.in_place && self.has_begun() => Ok(()),
            Stage::Running | Stage::Paused | Stage::Reconnecting if self.has_begun() => {
                self.goes_on.clone().unwrap_or(Err(Invalid::PauseNoRetry))
            }
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
    pub(super) fn book_copied(&mut self, at: Duration, counts: &Counts) {
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
    pub(super) fn stalled_for(&self) -> Option<Duration> {
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

    /// What is known without a receipt: no more than the last progress has said.
    pub(crate) fn counts_so_far(&self) -> Counts {
        Counts { bytes: self.bytes_done, moved: self.moved_in_all, ..Counts::default() }
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
        self.told = None;
        (self.entries_done, self.bytes_done) = (0, 0);
        (self.moved_before, self.moved_now) = (0, 0);
        (self.entries_total, self.bytes_total) = (entries, bytes);
    }

    /// Books how much has been read back.
    pub(crate) fn proving(&mut self, files: u64, bytes: u64, files_read: u64, bytes_read: u64) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupted_receiver_shows_what_its_sender_was_told() {
        let mut figures = Figures::default();
        figures.begin();
        figures.progress(1, 100, 100);
        figures.tell();
        figures.progress(3, 250, 250);
        figures.interrupt(Outage::Paused { by: Side::There }, None, Instant::now());
        assert_eq!(figures.done(), (1, 100), "the sender shows that, too");
        figures.begin();
        figures.progress(0, 40, 0);
        assert_eq!(figures.done(), (1, 100), "what was shown stays until more is there");
        figures.progress(2, 130, 90);
        assert_eq!(figures.done(), (2, 130));
    }
}
