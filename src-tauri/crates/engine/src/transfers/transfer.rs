//! A transfer's handle: what programs hold and poll while bytes move.
use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::{Mutex, MutexGuard};
use ringway_model::{
    CopyReport, Counts, DeviceId, Direction, Failure, FailureReason, Fault, Interruption, Invalid, OnCancel, Operation,
    Outcome, PathText, Progress, Proven, RateLimit, Report, SeriesPoint, Side, Stage, Text, TransferId, TransferKey,
};
use ringway_wire::control::Receipt;
use rustix::io::Errno;
use tokio::sync::watch;

use crate::limits::{ENDING_TIME_MAX, NOTED_AGAIN_EVERY, NOTED_EVERY, NOTED_FIRST_AFTER};
use crate::store::history::{Ended, Record};
use crate::transfers::figures::Figures;
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
    /// Where it is written down in the end; `None` if it is not.
    record: Option<Record>,
    course: watch::Sender<Course>,
    /// A person here has paused it.
    paused: watch::Sender<bool>,
    /// How often a person said that it may go on.
    resumed: watch::Sender<u32>,
    report: watch::Sender<Option<Arc<Report>>>,
    /// The receiving device has asked for it.
    got: AtomicBool,
}

/// Whether it was stopped, and who decides whether it still can be.
#[derive(Default)]
struct Course {
    stop: Option<Stop>,
    decided: Decided,
}

/// Who decides whether a transfer is stopped that a person stops now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Decided {
    /// This end: it is.
    #[default]
    Here,
    /// The receiver, to which all of it was handed over.
    There,
    /// Nobody any more: its names are being given, or it has ended.
    TooLate,
}

/// Held by what drives a transfer ([`Transfer::ends_with_its_driver`]).
pub(crate) struct EndsWithDriver(Transfer);

impl Drop for EndsWithDriver {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.0.is_over() {
            self.0.end(Err(Fault::machine("the part of Ringway that moves it has failed; its log says why")));
        }
    }
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

impl Transfer {
    pub(crate) fn new(id: TransferId, direction: Direction, title: (OsString, u64), record: Option<Record>) -> Self {
        let has_target = record.as_ref().is_some_and(|record| record.target.is_some());
        let started_by = if has_target || direction == Direction::Copying { Side::Here } else { Side::There };
        let shared = Shared {
            id,
            direction,
            started_by,
            title,
            peer: OnceLock::new(),
            figures: Mutex::new(Figures::default()),
            record,
            course: watch::Sender::default(),
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
        self.figures().stages()
    }

    /// Its course so far: what had been done by which moment, in at most
    /// [`SERIES_POINTS_MAX`](crate::series::SERIES_POINTS_MAX) points and the latest one. Nothing
    /// of what is read back.
    pub fn series(&self) -> Vec<SeriesPoint> {
        self.figures().series.points()
    }

    /// Stops it cleanly if it is not too late: the other side is told. `then` says whether the
    /// receiver keeps or removes its staging folder. Whole files that were merged into existing
    /// folders stay, and so does what a copy inside this machine has made.
    pub fn cancel(&self, then: OnCancel) {
        self.stop(Stop::Cancelled(then));
    }

    /// The same; waits for the receiver's word where that decides.
    ///
    /// # Errors
    /// It was too late, or has ended otherwise: the receiver could not be heard.
    pub async fn cancel_decided(&self, then: OnCancel) -> Result<(), Fault> {
        let too_late = Fault::Invalid(Invalid::CannotCancel);
        match self.stop(Stop::Cancelled(then)) {
            Decided::Here => Ok(()),
            Decided::TooLate => Err(too_late),
            Decided::There => match &self.wait().await.outcome {
                Outcome::Complete | Outcome::Partial => Err(too_late),
                Outcome::Failed(Fault::Cancelled { .. }) => Ok(()),
                Outcome::Failed(error) => Err(error.clone()),
            },
        }
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
    /// here has cancelled it. `None` if that is not so.
    pub(crate) fn goodbye_time(&self) -> Option<Duration> {
        self.figures().goodbye_time().filter(|_| self.is_cancelled())
    }

    /// Whether a person here has cancelled it.
    pub(crate) fn is_cancelled(&self) -> bool {
        matches!(self.shared.course.borrow().stop, Some(Stop::Cancelled(_)))
    }

    /// The first reason counts. What is too late changes nothing, but nobody who was forgotten
    /// hears of its end.
    fn stop(&self, why: Stop) -> Decided {
        let mut decided = Decided::Here;
        self.shared.course.send_if_modified(|course| {
            decided = course.decided;
            let counts = course.stop.is_none() && (decided != Decided::TooLate || why == Stop::Forgotten);
            if counts {
                course.stop = Some(why);
            }
            counts
        });
        decided
    }

    /// It is to be decided elsewhere from now on. False if it was stopped before.
    fn decide(&self, by: Decided) -> bool {
        let mut goes_on = false;
        self.shared.course.send_if_modified(|course| {
            goes_on = course.stop.is_none() || (course.decided, by) == (Decided::There, Decided::There);
            if goes_on {
                course.decided = by;
            }
            false
        });
        goes_on
    }

    /// Everything is handed over to the receiver, which decides from now on whether it can still be
    /// stopped. False if it was stopped before.
    pub(crate) fn hand_over(&self) -> bool {
        self.decide(Decided::There)
    }

    /// Whether that is so.
    pub(crate) fn is_handed_over(&self) -> bool {
        self.shared.course.borrow().decided == Decided::There
    }

    /// The point of no return: it gets its names. False if it was stopped before.
    pub(crate) fn begin_naming(&self) -> bool {
        self.decide(Decided::TooLate)
    }

    /// This end decides again: names could not be given, or all of it is sent once more.
    pub(crate) fn decide_here(&self) {
        self.shared.course.send_modify(|course| course.decided = Decided::Here);
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

    /// Waits for its end, if that is near: it gets its names, or all of it was handed over. False
    /// if it is not near, or takes longer than [`ENDING_TIME_MAX`]. For a program that ends.
    pub async fn ends_soon(&self) -> bool {
        let is_near = self.shared.course.borrow().decided != Decided::Here;
        is_near && tokio::time::timeout(ENDING_TIME_MAX, self.wait()).await.is_ok()
    }

    /// Resolves when a person cancels, here or there, or forgets the other device, with the fault
    /// that its driver then ends it by. [`Self::end`] says which of both it was.
    pub(crate) async fn cancelled(&self) -> Fault {
        let mut course = self.shared.course.subscribe();
        // The sender lives in self, so this cannot fail.
        let _ = course.wait_for(|course| course.stop.is_some() && course.decided != Decided::TooLate).await;
        self.stopped().unwrap_or(Fault::cancelled(Side::Here))
    }

    /// The same, if it was stopped by now.
    pub(crate) fn stopped(&self) -> Option<Fault> {
        let stop = self.shared.course.borrow().stop?;
        let is_got_here = self.is_got() && self.shared.direction == Direction::Sending;
        let is_kept = match stop {
            Stop::NotShared => return Some(Fault::NoLongerShared { by: Side::Here }),
            Stop::Forgotten if is_got_here => return Some(Fault::NoLongerShared { by: Side::Here }),
            Stop::CancelledThere { kept } => return Some(Fault::Cancelled { by: Side::There, kept }),
            // What another device has got is that device's, whatever is wished here.
            Stop::Cancelled(then) => then == OnCancel::Keep || is_got_here,
            // So is what it has received: only a receiver that forgets its sender removes.
            Stop::Forgotten => self.shared.direction == Direction::Sending,
        };
        Some(Fault::Cancelled { by: Side::Here, kept: is_kept && self.figures().has_something() })
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
                let counts = self.figures().counts_so_far();
                self.end_with(Some(error), Arrived { counts, ..Arrived::default() });
            }
        }
    }

    /// Ends it if what drives it panics, as where the system starts no thread any more: nobody else
    /// would end it, and those who wait for it would wait for ever.
    pub(crate) fn ends_with_its_driver(&self) -> EndsWithDriver {
        EndsWithDriver(self.clone())
    }

    /// The same where something arrived although it failed.
    pub(crate) fn end_with(&self, error: Option<Fault>, arrived: Arrived) {
        let mut figures = self.figures();
        figures.watch.end(Instant::now());
        figures.set_stage(Stage::Ended);
        self.shared.course.send_if_modified(|course| {
            course.decided = Decided::TooLate;
            false
        });
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
                    report = transfer.wait() => return transfer.note_end(&report).await,
                    () = tokio::time::sleep(again) => again = NOTED_EVERY,
                }
            }
        });
    }

    /// Writes down how it ended as soon as that can be done, where it could not be at its end: a
    /// full disk may have room later.
    async fn note_end(&self, report: &Arc<Report>) {
        let Some(record) = &self.shared.record else { return };
        let mut place = None;
        while record.trouble().is_some() {
            place = place.or_else(|| record.store.waits_to_be_kept());
            if place.is_none() {
                return;
            }
            tokio::time::sleep(NOTED_AGAIN_EVERY).await;
            let (transfer, report) = (self.clone(), Arc::clone(report));
            // As above.
            let _ = tokio::task::spawn_blocking(move || transfer.note_late(&report)).await;
        }
    }

    fn note_late(&self, report: &Report) {
        self.record(report, &self.series());
        if let Some(record) = self.shared.record.as_ref().filter(|record| record.trouble().is_none()) {
            // If it fails, the next transfer tries again.
            let _ = record.store.note_unnoted();
        }
    }

    /// Why the history lacks it, although it has ended: its end could not be written down. That is
    /// tried again as long as this program runs.
    pub fn not_in_history(&self) -> Option<Fault> {
        self.shared.record.as_ref().and_then(Record::trouble)
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
        let (peer, has_begun) = (self.shared.peer.get(), self.figures().has_begun());
        Ended { id: *id, direction: *direction, peer, title, has_begun, report, series }
    }

    fn report_so_far(&self, why: Fault) -> (Report, Vec<SeriesPoint>) {
        let mut figures = self.figures();
        let counts = figures.counts_so_far();
        self.report_of(&mut figures, Some(why), Arrived { counts, ..Arrived::default() })
    }

    fn report_of(&self, figures: &mut Figures, error: Option<Fault>, arrived: Arrived) -> (Report, Vec<SeriesPoint>) {
        let is_over = figures.stage() == Stage::Ended;
        let failed = arrived.counts.failed.max(figures.failed_here.saturating_add(figures.failed_there));
        let outcome = match error {
            Some(Fault::Cancelled { by: Side::Here, .. } | Fault::NoLongerShared { by: Side::Here })
                if self.shared.course.borrow().stop == Some(Stop::Forgotten) =>
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
