//! A session of what is taken in: lanes come and end, progress is reported, and what has arrived is
//! finished or removed.
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use ringway_link::bottleneck::Clocks;
use ringway_link::lane::{self, Arriving, Begun, Lane, LaneStops, ReceivingLane, Succeeding, Successor};
use ringway_link::session::Session;
use ringway_link::tls::Channel;
use ringway_model::{Bottleneck, Fault, FreeSpace, Operation, Side, Stage};
use ringway_tree::filesystem::free_space;
use ringway_tree::receive::{FinishError, Incoming, LaneError};
use ringway_wire::control::{Progress, Receipt, ReceiverTimes, Totals, Wanted};
use ringway_wire::lane::Counts;
use ringway_wire::session::Event;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::Site;
use super::dialling::Dialling;
use super::silence::Silence;
use crate::limits::{MOVING_BYTES_PER_S, REASON_TIME_MAX, TICK};
use crate::receiving::asking::{Questions, Wished};
use crate::receiving::renewals::Renewed;
use crate::send::stall::{Seen, Stall};
use crate::store::Pairing;
use crate::transfers::transfer::Transfer;
use crate::wire_convert::{decode_cancel, decode_failure, decode_paths, encode_edit, encode_failure, encode_paths};

/// Time for the sender to open its lanes after our yes.
const LANES_TIME_MAX: Duration = Duration::from_secs(30);

/// How often it is looked whether anything comes.
const STALL_LOOK_EVERY: Duration = Duration::from_secs(1);

/// Once the sender has said how many lanes have brought it all, every one of those has been
/// welcomed here. One that is missing for longer than it takes to come from one task to another was
/// dropped.
const WELCOMED_TIME_MAX: Duration = Duration::from_secs(3);

/// An accepted offer being received.
pub(super) struct Job<'a> {
    site: &'a Site,
    transfer: &'a Transfer,
    /// The pairing in which it was accepted.
    pairing: Pairing,
    incoming: &'a Arc<Incoming>,
    /// For errors that concern it as a whole.
    destination: PathBuf,
    /// Where each lane's later connections come from, until it is started. Only one thread at a
    /// time may use one of them.
    successors: Mutex<Vec<Option<Successor>>>,
    /// The lanes that this end dials, where it does.
    dialling: Option<Dialling>,
    lanes: Vec<Joined>,
    /// How many of them broke, or were stopped, before a whole frame had come.
    dropped: usize,
    arriving: Arriving,
    stops: LaneStops,
    silence: Silence,
    /// When the sender is given up that sends nothing, where this end gives it up.
    stall: Option<Stall>,
    clocks: Clocks,
    finishing: Option<JoinHandle<Finished>>,
    /// What there was room for at the beginning, where all that is found must fit into it.
    free_space: Option<FreeSpace>,
    /// The sender's next session, come before the end of this one was noticed.
    pub(super) successor: Option<Renewed>,
    /// What is asked in this session, where this end may ask.
    questions: Option<&'a mut Questions>,
}

/// A lane that came.
struct Joined {
    number: u8,
    begun: Begun,
    thread: std::thread::JoinHandle<()>,
}

/// How a lane's thread ended.
enum LaneEnd {
    /// Its end has come.
    Whole,
    /// It broke before a whole frame had come: nothing of it was used.
    Unused(LaneError),
    /// It failed otherwise.
    Failed(LaneError),
}

/// What the sender says at the end.
#[derive(Clone, Copy)]
struct Declared {
    sent: Counts,
    /// Lanes whose end it has said.
    lanes: usize,
}

/// What the sender was told last.
#[derive(Default)]
struct Told {
    progress: Progress,
    times: ReceiverTimes,
    read_back: Option<Progress>,
}

type Finished = Result<(Receipt, Vec<PathBuf>), FinishError>;

/// Where connections of lanes come from, later than the first one of each.
pub(super) struct LaterLanes {
    pub(super) successors: Vec<Option<Successor>>,
    /// The lanes that this end dials, where it does.
    pub(super) dialling: Option<Dialling>,
}

impl<'a> Job<'a> {
    /// Each lane's later connections come by its one of `successors`. This end dials the lanes if
    /// it is `dialling`.
    pub(super) fn new(
        site: &'a Site,
        transfer: &'a Transfer,
        pairing: Pairing,
        incoming: &'a Arc<Incoming>,
        destination: PathBuf,
        lanes: LaterLanes,
    ) -> Self {
        let LaterLanes { successors, dialling } = lanes;
        let stops = dialling.as_ref().map(Dialling::stops).unwrap_or_default();
        Self {
            site,
            transfer,
            pairing,
            incoming,
            destination,
            successors: Mutex::new(successors),
            dialling,
            lanes: Vec::new(),
            dropped: 0,
            arriving: Arriving::default(),
            stops,
            silence: Silence::new(std::time::Instant::now()),
            stall: None,
            clocks: Clocks::default(),
            finishing: None,
            free_space: None,
            successor: None,
            questions: None,
        }
    }

    /// The same, with questions beside it.
    pub(super) fn asking(self, questions: Option<&'a mut Questions>) -> Self {
        Self { questions, ..self }
    }

    /// The same, where all that is found must fit into that.
    pub(super) fn fitting_into(self, free_space: Option<FreeSpace>) -> Self {
        Self { free_space, ..self }
    }

    /// The same, with a sender that is given up if it sends nothing for that time.
    pub(super) fn giving_up_after(self, timeout: Option<Duration>) -> Self {
        Self { stall: timeout.map(|timeout| Stall::new(Some(timeout), std::time::Instant::now())), ..self }
    }
}

impl Job<'_> {
    pub(super) async fn run(
        &mut self,
        session: &mut Session,
        joined: mpsc::UnboundedReceiver<(u8, Channel)>,
        to_answer: mpsc::Receiver<Wanted>,
        renewed: Option<&mut mpsc::Receiver<Renewed>>,
    ) -> Result<(Receipt, Vec<PathBuf>), Fault> {
        let mut told = Told::default();
        let ended = self.run_lanes(session, joined, to_answer, renewed, &mut told).await;
        // What has come since the last tick is there, too, and none of what is missing.
        self.report(session, &mut told, true);
        if let Some(questions) = &mut self.questions {
            questions.end(ended.as_ref().err());
        }
        ended
    }

    async fn run_lanes(
        &mut self,
        session: &mut Session,
        mut joined: mpsc::UnboundedReceiver<(u8, Channel)>,
        mut to_answer: mpsc::Receiver<Wanted>,
        mut renewed: Option<&mut mpsc::Receiver<Renewed>>,
        told: &mut Told,
    ) -> Result<(Receipt, Vec<PathBuf>), Fault> {
        let paths = self.site.paths;
        {
            let mut figures = self.transfer.figures();
            figures.begin();
            figures.here = Some(paths);
        }
        session.machine.path_taken(encode_paths(paths));
        if let Some(dialling) = &mut self.dialling {
            dialling.begin();
        }
        let (lane_ended, mut lanes_ended) = mpsc::unbounded_channel::<LaneEnd>();
        let mut declared: Option<Declared> = None;
        let mut ended = 0;
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut joined_by = tokio::time::Instant::now() + LANES_TIME_MAX;
        loop {
            tokio::select! {
                event = session.next() => match event? {
                    Some(Event::FinishReceived { sent, failed, lanes }) => {
                        declared = Some(Declared { sent, lanes: lanes.into() });
                        joined_by = tokio::time::Instant::now() + WELCOMED_TIME_MAX;
                        self.transfer.figures().failed_there = failed;
                        self.finish_if_over(declared, ended)?;
                    }
                    Some(Event::Answered(number, answer)) => {
                        if let Some(questions) = &mut self.questions {
                            questions.answered(number, answer);
                        }
                    }
                    Some(event) => match self.handle(event) {
                        // Everything gets its name by now, and the sender hears of that.
                        Err(error) if error.outage().is_none() && !self.incoming.cancel() => {}
                        handled => handled?,
                    },
                    None => return Err(Fault::lost(std::io::ErrorKind::UnexpectedEof)),
                },
                // One that comes when everything is being finished has nothing to bring.
                Some((number, channel)) = joined.recv(), if self.finishing.is_none() => {
                    match Lane::take(channel, paths.tls).await {
                        Ok(lane) => self.start_lane(number, lane, lane_ended.clone())?,
                        // The sender finds its lane broken, and knows whether it can do without.
                        Err(_) if self.lanes_left() > 0 => {}
                        Err(error) => return Err(error),
                    }
                    self.transfer.figures().lanes = self.lanes_left() as u8;
                    // It may be one that the sender has given up already.
                    self.finish_if_over(declared, ended)?;
                }
                fault = next_failed(&mut self.dialling) => {
                    self.transfer.figures().lanes_dropped += 1;
                    // Others may carry it.
                    if self.lanes.is_empty() && !self.dialling.as_ref().is_some_and(Dialling::may_succeed) {
                        return Err(self.why_broken(session, fault).await);
                    }
                }
                Some(end) = lanes_ended.recv() => {
                    match end {
                        LaneEnd::Whole => ended += 1,
                        // The sender, if it needs that lane, finds it broken, too. Without the last
                        // one there is nobody who sends.
                        LaneEnd::Unused(_) if self.lanes_left() > 1 => {
                            self.dropped += 1;
                            let mut figures = self.transfer.figures();
                            figures.lanes = self.lanes_left() as u8;
                            figures.lanes_dropped += 1;
                        }
                        LaneEnd::Unused(error) | LaneEnd::Failed(error) => {
                            let error = lane_failed(&self.destination, error);
                            return Err(self.why_broken(session, error).await);
                        }
                    }
                    self.finish_if_over(declared, ended)?;
                }
                wished = next_wished(&mut self.questions), if session.machine.may_ask() => {
                    if let Some(questions) = &mut self.questions {
                        questions.take(session, wished);
                    }
                }
                Some(wanted) = to_answer.recv(), if session.has_sent_all() => session.machine.wanted(wanted),
                result = joined_if_any(&mut self.finishing) => {
                    self.finishing = None;
                    let (receipt, paths) = result.map_err(|error| self.why_unfinished(error))?;
                    self.report(session, told, true);
                    self.transfer.figures().failed_here = receipt.failed;
                    return Ok((receipt, paths));
                }
                _ = tick.tick() => {
                    self.stops.look(None);
                    self.report(session, told, false);
                    if declared.is_none() && ended == 0 {
                        self.grow();
                    }
                    if self.finishing.is_none() && self.is_silent() {
                        return Err(Fault::lost(std::io::ErrorKind::TimedOut));
                    }
                    if self.finishing.is_none() {
                        self.look_for_a_stall()?;
                    }
                }
                () = tokio::time::sleep_until(joined_by), if self.lanes_left() < declared.map_or(1, |declared| declared.lanes) => {
                    return Err(Fault::lost(std::io::ErrorKind::TimedOut));
                }
                Some(successor) = next_of(&mut renewed) => {
                    self.successor = Some(successor);
                    return Err(Fault::lost(std::io::ErrorKind::ConnectionAborted));
                }
                // What is nearly through is let through.
                () = self.transfer.paused(), if declared.is_none() => return Err(Fault::Paused { by: Side::Here }),
                stopped = self.transfer.cancelled() => return Err(stopped),
            }
        }
    }

    fn handle(&self, event: Event) -> Result<(), Fault> {
        match event {
            Event::TotalsChanged(totals) => {
                self.totals(totals)?;
                self.fits(totals)?;
            }
            Event::PeerPath(codes) => self.transfer.figures().there = Some(decode_paths(codes)),
            Event::SenderTimes(times) => self.transfer.figures().gauge.sender(times),
            Event::EntryFailed(failed) => self.transfer.figures().fail(decode_failure(failed)),
            Event::Cancelled(cancel) => return Err(decode_cancel(cancel)),
            _ => {}
        }
        Ok(())
    }

    /// A lane broke: the sender's reason if it says one, which its lanes may overtake, else what
    /// the lane met.
    async fn why_broken(&self, session: &mut Session, error: Fault) -> Fault {
        if !matches!(error, Fault::ConnectionLost(_) | Fault::TurnedAway) {
            return error;
        }
        let reason = async {
            while let Ok(Some(event)) = session.next().await {
                if let Err(reason) = self.handle(event) {
                    return Some(reason);
                }
            }
            None
        };
        timeout(REASON_TIME_MAX, reason).await.ok().flatten().unwrap_or(error)
    }

    /// What was found by now; an error where that is more than may come.
    pub(super) fn totals(&self, totals: Totals) -> Result<(), Fault> {
        self.transfer.figures().found(totals);
        match self.incoming.exceeded_by(totals) {
            Some(bytes_max) => Err(Fault::TooMuch { bytes_max, by: Side::Here }),
            None => Ok(()),
        }
    }

    /// Stops before the disk is full where what was found by now cannot fit: not into what was free
    /// at the beginning, since what is under way shows in what is free now, nor into that, for
    /// somebody may have freed space.
    fn fits(&self, found: Totals) -> Result<(), Fault> {
        let is_too_much = self.free_space.is_some_and(|free| free.free_bytes < found.bytes);
        let is_short = || {
            let rest = self.transfer.figures().rest();
            free_space::look(&self.destination).is_some_and(|free| free.free_bytes < rest.bytes)
        };
        if is_too_much && is_short() { Err(Fault::DestinationFull { shortage: None }) } else { Ok(()) }
    }

    /// Tells the sender and the figures how far the writing is and what failed here. What is said
    /// waits for a sender that has yet to read, but for the `last` time.
    fn report(&self, session: &mut Session, told: &mut Told, last: bool) {
        let is_said = last || session.has_sent_all();
        let mut progress = self.incoming.results().progress();
        progress.bytes = progress.bytes.saturating_add(self.arriving.bytes());
        let mut figures = self.transfer.figures();
        match self.incoming.proving() {
            None => {
                let moved = self.incoming.results().moved().saturating_add(self.arriving.bytes());
                figures.progress(progress.entries, progress.bytes, moved);
            }
            Some((all, read)) => {
                figures.proving(all.entries, all.bytes, read.entries, read.bytes);
                if is_said && told.read_back.replace(read) != Some(read) {
                    session.machine.proving(read);
                }
            }
        }
        if is_said && std::mem::replace(&mut told.progress, progress) != progress {
            session.machine.progress(progress);
        }
        // Who ends a session does not hear the last words.
        if is_said && !last {
            figures.tell();
        }
        let times = self.clocks.of_receiver();
        if is_said && std::mem::replace(&mut told.times, times) != times {
            session.machine.receiver_times(times);
        }
        figures.gauge.receiver(times);
        if figures.stage() == Stage::Running {
            figures.name_bottleneck();
        }
        drop(figures);
        if is_said {
            self.report_failures(session);
        }
    }

    /// Tells the sender and the figures which entries have failed here.
    pub(super) fn report_failures(&self, session: &mut Session) {
        let mut figures = self.transfer.figures();
        for failure in self.incoming.results().take_failures() {
            session.machine.entry_failed(encode_failure(&failure));
            figures.fail(failure);
        }
        figures.failed_here = self.incoming.results().failed();
        for edit in self.incoming.results().take_edits() {
            session.machine.entry_kept(encode_edit(&edit));
            figures.edit(edit);
        }
        figures.edited = self.incoming.results().edited();
    }

    /// Whether nothing comes on any lane any more, and nobody is busy with something else.
    fn is_silent(&mut self) -> bool {
        let (times, is_found) = {
            let figures = self.transfer.figures();
            (figures.gauge.times(), figures.totals_final)
        };
        self.silence.look(std::time::Instant::now(), || self.stops.seen().since_data, times, is_found)
    }

    /// Gives up a sender that sends nothing for too long.
    fn look_for_a_stall(&mut self) -> Result<(), Fault> {
        let Some(stall) = &mut self.stall else { return Ok(()) };
        let now = std::time::Instant::now();
        if now.duration_since(stall.looked()) < STALL_LOOK_EVERY {
            return Ok(());
        }
        let progress = self.incoming.results().progress();
        // An entry that needs no contents has come as well.
        let entries = progress.entries.saturating_mul(MOVING_BYTES_PER_S);
        let arrived = progress.bytes.saturating_add(self.arriving.bytes()).saturating_add(entries);
        let figures = self.transfer.figures();
        let seen = Seen::by_receiver(arrived, self.clocks.of_receiver(), figures.gauge.sender_reported());
        stall.look(now, seen.of(figures.bytes_total, false))
    }

    /// Adds lanes where this end dials them and that is likely to gain something.
    fn grow(&mut self) {
        let (running, dropped) = (self.lanes.len(), self.dropped);
        let Some(dialling) = &mut self.dialling else { return };
        let figures = self.transfer.figures();
        let limited = figures.gauge.bottleneck() == Some(Bottleneck::Network) && !self.stops.seen().fill_the_link;
        if dropped == 0 {
            dialling.grow(running, figures.running_for(), figures.bytes_done, limited);
        }
    }

    fn start_lane(&mut self, number: u8, lane: Lane, ended: mpsc::UnboundedSender<LaneEnd>) -> Result<(), Fault> {
        self.stops.set(number, &lane).map_err(Fault::lost)?;
        let successor = self.successors.get_mut().get_mut(usize::from(number)).and_then(Option::take);
        let successor = successor.ok_or(Fault::machine("a lane came twice"))?;
        let connection = Succeeding::new(lane, number, successor, self.stops.clone()).counted_in(self.arriving.clone());
        let begun = connection.begun();
        let mut lane = ReceivingLane::new(connection, self.clocks.lane());
        let incoming = Arc::clone(self.incoming);
        let io = self.site.io;
        let confine = self.confining();
        let has_begun = begun.clone();
        let work = move || {
            if let Err(error) = confine(&incoming) {
                return LaneEnd::Failed(LaneError::Staging { operation: Operation::Open, source: error });
            }
            let mut io = match io.open() {
                Ok(io) => io,
                Err(error) => return LaneEnd::Failed(LaneError::Source(error)),
            };
            match incoming.run_lane(&mut lane, &mut io) {
                Ok(()) => LaneEnd::Whole,
                // What was altered on the way is never let pass.
                Err(LaneError::Source(error))
                    if !has_begun.has() && error.kind() != std::io::ErrorKind::InvalidData =>
                {
                    LaneEnd::Unused(LaneError::Source(error))
                }
                Err(error) => LaneEnd::Failed(error),
            }
        };
        let panicked = || LaneEnd::Failed(LaneError::Source(std::io::Error::other("a lane's thread panicked")));
        let thread = lane::spawn(format!("ringway-in-{number}"), work, panicked, ended)?;
        self.lanes.push(Joined { number, begun, thread });
        Ok(())
    }

    /// Lanes that have come and were not dropped.
    fn lanes_left(&self) -> usize {
        self.lanes.len() - self.dropped
    }

    /// When the sender has said what it sent and every lane has ended, those whose end it has said
    /// and any that came besides: checks, renames, synchronises, off this thread.
    fn finish_if_over(&mut self, declared: Option<Declared>, ended: usize) -> Result<(), Fault> {
        let Some(Declared { sent, .. }) = declared.filter(|declared| ended >= declared.lanes) else { return Ok(()) };
        if ended < self.lanes_left() {
            // The sender has dropped the lanes that have not begun. Their connections may stay
            // silent for ever.
            let idle = self.lanes.iter().filter(|lane| !lane.begun.has());
            idle.for_each(|lane| self.stops.stop_one(lane.number));
            return Ok(());
        }
        // Nothing more gets its name for a device that was forgotten, even if the look for that is
        // due in a moment only.
        if !self.site.shared.store.is_current(self.pairing)? {
            self.transfer.stop_as_forgotten();
            return Ok(());
        }
        self.transfer.figures().set_stage(Stage::Finishing);
        let (incoming, transfer) = (Arc::clone(self.incoming), self.transfer.clone());
        let confine = self.confining();
        let finish = move || match confine(&incoming) {
            Ok(()) => {
                let finished = incoming.finish_if(&sent, || transfer.begin_naming());
                if finished.is_err() {
                    transfer.decide_here();
                }
                finished
            }
            Err(source) => Err(LaneError::Staging { operation: Operation::Open, source }.into()),
        };
        self.finishing = Some(tokio::task::spawn_blocking(|| on_its_own("ringway-finish", finish)));
        Ok(())
    }

    /// What confines a thread to the destination for good, where this machine can do that.
    fn confining(&self) -> impl FnOnce(&Incoming) -> std::io::Result<()> + Send + 'static {
        let confined = self.site.confined;
        move |incoming| if confined { incoming.confine_thread() } else { Ok(()) }
    }

    /// What finishing comes to that had begun when the session ended.
    pub(super) async fn finished(&mut self) -> Option<Result<(Receipt, Vec<PathBuf>), Fault>> {
        self.finishing.as_ref()?;
        let finished = tokio::select! {
            finished = joined_if_any(&mut self.finishing) => finished,
            // The clean-up waits for its end.
            stopped = self.transfer.cancelled() => return Some(Err(stopped)),
        };
        self.finishing = None;
        Some(finished.map_err(|error| self.why_unfinished(error)))
    }

    fn why_unfinished(&self, error: FinishError) -> Fault {
        match (error, self.transfer.stopped()) {
            (FinishError::Lane(LaneError::Cancelled), Some(stopped)) => stopped,
            (error, _) => finish_failed(&self.destination, error),
        }
    }

    /// Cleans up; `keep` leaves what is whole for the next attempt.
    pub(super) async fn abandon(mut self, keep: bool) {
        self.incoming.cancel();
        if let Some(finishing) = self.finishing.take() {
            // How it ended no longer matters: there will be no receipt.
            let _ = finishing.await;
        }
        let incoming = Arc::clone(self.incoming);
        let confine = self.confining();
        let (lanes, stops) = (self.lanes, self.stops);
        let work = move || {
            stops.stop();
            for Joined { thread, .. } in lanes {
                // A lane that panicked writes no more either.
                let _ = thread.join();
            }
            // What cannot be removed stays in the hidden staging folder, and nobody mistakes it for
            // the tree. What is not confined removes nothing.
            let _ = confine(&incoming).and_then(|()| if keep { incoming.keep().map(drop) } else { incoming.abandon() });
        };
        tokio::task::spawn_blocking(|| on_its_own("ringway-leave", work)).await.expect("cleaning up does not panic");
    }
}

/// Runs work on a thread that ends with it, and may therefore be confined.
pub(super) fn on_its_own<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::Builder::new().name(name.into()).spawn(work).expect("a thread for the end of a transfer");
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The next of what may come; never, where nothing may.
async fn next_of<T>(from: &mut Option<&mut mpsc::Receiver<T>>) -> Option<T> {
    match from {
        Some(from) => from.recv().await,
        None => std::future::pending().await,
    }
}

/// What is to be asked next; never, where nothing may.
async fn next_wished(questions: &mut Option<&mut Questions>) -> Wished {
    match questions {
        Some(questions) => questions.next().await,
        None => std::future::pending().await,
    }
}

/// A lane that could not be opened; never, where this end opens none.
async fn next_failed(dialling: &mut Option<Dialling>) -> Fault {
    match dialling {
        Some(dialling) => dialling.next_failed().await,
        None => std::future::pending().await,
    }
}

/// The end of a task that may not have begun.
async fn joined_if_any(finishing: &mut Option<JoinHandle<Finished>>) -> Finished {
    match finishing {
        Some(task) => task.await.expect("finishing does not panic"),
        None => std::future::pending().await,
    }
}

fn lane_failed(destination: &Path, error: LaneError) -> Fault {
    match error {
        LaneError::Protocol(error) => error.into(),
        LaneError::Source(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            Fault::Tls { detail: error.to_string().into() }
        }
        // A connection that could not be renewed says why itself.
        LaneError::Source(error) => error.downcast::<Fault>().unwrap_or_else(Fault::lost),
        LaneError::DestinationFull => Fault::DestinationFull { shortage: None },
        LaneError::TooMuch { bytes_max } => Fault::TooMuch { bytes_max, by: Side::Here },
        LaneError::Cancelled => Fault::cancelled(Side::Here),
        LaneError::DestinationGone => Fault::DestinationGone,
        LaneError::Refused { path, operation, source, published } => Fault::NotPublished {
            path: path.into(),
            operation,
            source: source.into(),
            published: published.into_iter().map(Into::into).collect(),
        },
        LaneError::Staging { operation, source } => Fault::path(destination, operation, source),
    }
}

fn finish_failed(destination: &Path, error: FinishError) -> Fault {
    match error {
        FinishError::Protocol(error) => error.into(),
        FinishError::Lane(error) => lane_failed(destination, error),
        FinishError::Destination { operation, source } => Fault::path(destination, operation, source),
    }
}
