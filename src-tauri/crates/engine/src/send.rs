//! The sending job: offer, lanes, wait for the receipt; where the connection is lost, again. A job
//! of another module ([`Job`]) sends what the other end has asked for. And what else is asked of a
//! device that is reached.
pub(crate) mod attempts;
pub(crate) mod browse;
pub mod dry_run;
mod find;
pub(crate) mod lanes;
mod listing;
pub(crate) mod note;
pub(crate) mod reach;
pub(crate) mod stall;

use std::ffi::OsString;
use std::future::poll_fn;
use std::os::unix::ffi::OsStringExt;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use ringway_link::bottleneck::Clocks;
use ringway_link::lane::growth::LaneGrowth;
use ringway_link::lane::{self, Lane, LaneStops, Relay, Renewing, SendingLane, Share};
use ringway_link::rate_limit::RateLimiter;
use ringway_link::session::Session;
use ringway_model::{
    AuthError, Bottleneck, Compression, DeclineReason, Fault, Operation, PathTaken, Side, Source, Stage,
};
use ringway_tree::compression::{Packed, Packing};
use ringway_tree::io_plan::IoPlan;
use ringway_tree::send::Outgoing;
use ringway_wire::control::{Accept, Answer, Cancel, GetRefusal, InShare, Offer, Receipt, Refusal};
use ringway_wire::limits::LANE_SILENCE_MAX_MS;
use ringway_wire::session::{Event, HandedOver, QuestionNumber};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use crate::limits::{ANSWER_TIME_MAX, REASON_TIME_MAX, TAKEN_BACK_TIME_MAX, TICK};
use crate::shared::Shared;
use crate::transfers::options::SendRequest;
use crate::transfers::transfer::{Arrived, Transfer};
use crate::wire_convert::{decode_cancel, decode_edit, decode_failure, decode_paths, encode_failure, encode_paths};
use lanes::{LaneEnd, LaneOrigin, Lanes, next_opened};
use listing::Listing;
use reach::refused;
use stall::{Seen, Stall};

pub(crate) use reach::reach;

/// Who takes longer to let a transfer go on asks a person.
const ANSWER_AT_ONCE: Duration = Duration::from_secs(2);

/// Time for the other end to open its lanes, where it has asked for what is sent.
const LANES_TIME_MAX: Duration = Duration::from_secs(30);

/// Opens a lane's next connection, by its number.
type Renewal = Box<dyn FnMut(u16) -> std::io::Result<Lane> + Send>;

/// How often it is looked whether the receiver's machine answers on each lane.
const LANES_LOOK_EVERY: Duration = Duration::from_secs(1);

/// The next part of an answer; never, where nothing is answered.
async fn next_part(answers: &mut Option<&mut dyn Answerer>) -> (QuestionNumber, Answer) {
    match answers {
        Some(answers) => poll_fn(|cx| answers.poll_part(cx)).await,
        None => std::future::pending().await,
    }
}

/// What the other end is told last of a session that has ended by this.
pub(crate) fn goodbye(error: Option<&Fault>) -> Cancel {
    match error {
        Some(Fault::Cancelled { kept: true, .. }) => Cancel::ByPersonKeeping,
        Some(Fault::Cancelled { .. }) => Cancel::ByPerson,
        Some(Fault::Paused { .. }) => Cancel::Paused,
        Some(Fault::NoLongerShared { .. }) => Cancel::NotShared,
        Some(error) if error.outage().is_some() => Cancel::ConnectionLost,
        _ => Cancel::Failed,
    }
}

/// Has a whole offer, or request, on its way before it is cancelled: the other end has to know
/// which transfer that is.
pub(crate) async fn say_whole(session: &mut Session, transfer: &Transfer) {
    if let Some(time) = transfer.goodbye_time() {
        // One that does not take it in notices the end of the connection.
        let _ = timeout(time, session.flush()).await;
    }
}

/// What a send is called: its first source, and how many more there are.
pub(crate) fn title(sources: &[Source]) -> (OsString, u64) {
    let name = |source: &Source| source.path.file_name().map_or_else(|| source.path.clone().into(), Into::into);
    (sources.first().map(name).unwrap_or_default(), sources.len().saturating_sub(1) as u64)
}

/// Runs a transfer to its end and reports it.
pub(crate) async fn run(shared: Arc<Shared>, request: SendRequest, transfer: Transfer) {
    let _ends = transfer.ends_with_its_driver();
    let ended = attempts::all(shared, request, &transfer).await;
    transfer.end(ended);
}

/// What confines a lane's thread for good, where something does.
pub(crate) type Confine = Arc<dyn Fn() -> std::io::Result<()> + Send + Sync>;

/// Answers what the other end asks beside what it gets.
pub(crate) trait Answerer: Send {
    /// Takes an event that concerns a question.
    fn hear(&mut self, event: Event);

    /// The next part of an answer.
    fn poll_part(&mut self, cx: &mut Context<'_>) -> Poll<(QuestionNumber, Answer)>;
}

/// An offer on its way, whichever end has dialled.
pub(crate) struct Job<'a> {
    pub(crate) transfer: &'a Transfer,
    /// The id that the session has, which is not the transfer's where its peer was started anew.
    pub(crate) id: [u8; 16],
    pub(crate) outgoing: &'a Arc<Outgoing>,
    pub(crate) stops: LaneStops,
    pub(crate) paths: PathTaken,
    pub(crate) io: IoPlan,
    pub(crate) records_per_key: u64,
    pub(crate) limiter: Option<Arc<RateLimiter>>,
    pub(crate) clocks: Clocks,
    pub(crate) compression: Compression,
    pub(crate) verify: bool,
    /// Where in a drop box it is to land.
    pub(crate) in_share: Option<InShare>,
    pub(crate) packed: Arc<Packed>,
    pub(crate) relay: Arc<Relay>,
    /// Lanes to begin with, and at the most.
    pub(crate) lanes_first: u8,
    pub(crate) lanes_max: u8,
    /// How long it is tried again after the connection was lost.
    pub(crate) retry: Duration,
    /// What an earlier session has handed over whole: only its receipt is missing.
    pub(crate) handed: Option<HandedOver>,
    /// How long it waits for a receiver that takes nothing.
    pub(crate) timeout: Option<Duration>,
    pub(crate) confine: Option<Confine>,
}

impl Job<'_> {
    /// Runs to the end of the session. Where the other end has asked for it, `answers` has what it
    /// asks beside.
    pub(crate) async fn run(
        &self,
        session: &mut Session,
        mut origin: LaneOrigin,
        mut answers: Option<&mut dyn Answerer>,
    ) -> Result<Arrived, Fault> {
        if let Some(arrived) = self.earlier_receipt(session).await? {
            return Ok(arrived);
        }
        let (names, more_names) = self.outgoing.names();
        let so_far = self.outgoing.totals();
        let offer = Offer {
            transfer: self.id,
            names,
            more_names,
            so_far,
            lanes: self.lanes_max,
            prove: self.verify,
            retry_s: u32::try_from(self.retry.as_secs()).unwrap_or(u32::MAX),
            in_share: self.in_share.clone(),
        };
        session.machine.offer_all(&offer, Arc::clone(self.outgoing.offered()));
        self.transfer.figures().await_answer(false);
        let offered = Instant::now();
        let (lane_ended, mut lanes_ended) = mpsc::unbounded_channel::<std::io::Result<LaneEnd>>();
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut looked = Instant::now();
        let mut answer_by = Instant::now() + ANSWER_TIME_MAX;
        let mut is_queued = false;
        let mut lanes: Option<Lanes> = None;
        let mut lanes_by = None;
        let mut told = None;
        let mut told_end = false;
        // A receiver that has accepted it before asks nobody.
        let mut listing = if self.transfer.figures().has_begun() { Listing::Over } else { Listing::Due(offered) };
        let mut stall = Stall::new(self.timeout, std::time::Instant::now());
        // An answer that is there at once would be the last word of the session: who comes only to
        // say that a person has cancelled does so before it hears that.
        if let Some(stopped) = self.transfer.stopped() {
            return self.stopped(session, stopped).await;
        }
        loop {
            tokio::select! {
                event = session.next() => match event? {
                    // A receiver that was disconnected during the pause learns of the pause now,
                    // before any bytes move.
                    Some(Event::Accepted(_)) if self.transfer.is_paused() => {
                        return Err(Fault::Paused { by: Side::Here });
                    }
                    Some(Event::Accepted(Accept { lanes: lanes_max, lists, doubts, owner_names })) => {
                        self.transfer.decide_here();
                        if lists {
                            self.outgoing.list();
                        }
                        listing = Listing::Over;
                        self.outgoing.answered_yes();
                        if let Some(from) = doubts {
                            self.outgoing.compare(from);
                        }
                        if owner_names {
                            self.outgoing.name_owners().map_err(|error| Fault::path("", Operation::Read, error))?;
                        }
                        self.transfer.figures().begin();
                        session.machine.path_taken(encode_paths(self.paths));
                        let needed = self.lanes_first.min(lanes_max);
                        let growth = LaneGrowth::new(needed, if self.lanes_first < self.lanes_max { lanes_max } else { needed });
                        let begun = lanes.insert(Lanes::new(needed, growth));
                        begun.open(&origin, needed);
                        lanes_by = Some(Instant::now() + LANES_TIME_MAX);
                    }
                    Some(Event::Queued(place)) => {
                        // It is accepted, and waits for its turn.
                        listing = Listing::Over;
                        self.transfer.figures().queue(place);
                        if !std::mem::replace(&mut is_queued, true) {
                            answer_by = Instant::now() + self.retry;
                        }
                    }
                    Some(event @ (Event::Asked(..) | Event::MorePages(..) | Event::NotWanted(_))) => {
                        if let Some(answers) = &mut answers {
                            answers.hear(event);
                        }
                    }
                    Some(event) => if let Some(receipt) = self.handle(event)? {
                        return Ok(self.arrived(&receipt, self.outgoing.failed()));
                    },
                    None => return Err(Fault::lost(std::io::ErrorKind::UnexpectedEof)),
                },
                Some((number, opened)) = next_opened(&mut lanes, &mut origin, self.paths.tls, &self.stops) => {
                    let Some(lanes) = &mut lanes else { continue };
                    let is_needed = lanes.is_needed(number, &origin);
                    match opened {
                        // Nothing is left that it could bring.
                        Ok(_) if told_end => {}
                        Ok(lane) => {
                            self.start_lane(number, !is_needed, lane, &mut origin, lane_ended.clone())?;
                            lanes.started += 1;
                            lanes.running += 1;
                            self.transfer.figures().lanes = lanes.started;
                        }
                        Err(_) if !is_needed => lanes.dropped(self.transfer),
                        Err(fault @ (Fault::ConnectionLost(_) | Fault::TurnedAway)) => {
                            return Err(self.why_broken(session, fault).await);
                        }
                        Err(error) => return Err(error),
                    }
                    told_end |= self.finish_if_over(session, lanes, &mut told);
                }
                Some(ended) = lanes_ended.recv() => {
                    let end = match ended {
                        Ok(end) => end,
                        // A connection that could not be renewed says why itself.
                        Err(error) => {
                            let fault = error.downcast::<Fault>().unwrap_or_else(Fault::lost);
                            return Err(self.why_broken(session, fault).await);
                        }
                    };
                    if let Some(lanes) = &mut lanes {
                        lanes.running -= 1;
                        if end == LaneEnd::Dropped {
                            lanes.started -= 1;
                            lanes.dropped(self.transfer);
                        }
                        told_end |= self.finish_if_over(session, lanes, &mut told);
                    }
                }
                _ = tick.tick() => {
                    if lanes.is_none() && offered.elapsed() > ANSWER_AT_ONCE {
                        self.transfer.figures().await_answer(true);
                    }
                    self.stops.look(Some(Duration::from_millis(LANE_SILENCE_MAX_MS)));
                    self.report_walk(session, &mut told, false);
                    if looked.elapsed() >= LANES_LOOK_EVERY {
                        looked = Instant::now();
                        if let Some(lanes) = &lanes {
                            stall.look(std::time::Instant::now(), self.seen(lanes))?;
                        }
                    }
                    if let Some(lanes) = &mut lanes {
                        self.grow(lanes, &origin);
                    }
                }
                page = listing.next(self.outgoing), if session.machine.takes_listing() => {
                    if let Some(page) = page {
                        session.machine.list(page);
                    }
                }
                (number, answer) = next_part(&mut answers), if session.machine.takes_page() => {
                    session.machine.answer(number, answer);
                }
                () = tokio::time::sleep_until(answer_by), if lanes.is_none() => {
                    let why = if is_queued { DeclineReason::Busy } else { DeclineReason::NoAnswer };
                    return Err(Fault::Declined(why));
                }
                () = tokio::time::sleep_until(lanes_by.unwrap_or(answer_by)), if lanes.as_ref().is_some_and(|lanes| {
                    lanes.started == 0 && lanes.opening.is_empty()
                }) => return Err(Fault::lost(std::io::ErrorKind::TimedOut)),
                () = self.transfer.paused(), if lanes.as_ref().is_some_and(|lanes| !lanes.are_over()) => {
                    return Err(Fault::Paused { by: Side::Here });
                }
                stopped = self.transfer.cancelled() => return self.stopped(session, stopped).await,
            }
        }
    }

    /// Was stopped here. What was handed over whole may have its names by now: then there is the
    /// receipt, and else the receiver says that it has cancelled.
    async fn stopped(&self, session: &mut Session, stopped: Fault) -> Result<Arrived, Fault> {
        if !self.transfer.is_cancelled() || !session.machine.take_back(goodbye(Some(&stopped))) {
            return Err(stopped);
        }
        let answer = async {
            loop {
                match session.next().await? {
                    Some(Event::Cancelled(_)) => return Err(stopped),
                    Some(event) => {
                        if let Some(receipt) = self.handle(event)? {
                            return Ok(self.arrived(&receipt, self.outgoing.failed()));
                        }
                    }
                    None => return Err(Fault::lost(std::io::ErrorKind::UnexpectedEof)),
                }
            }
        };
        timeout(TAKEN_BACK_TIME_MAX, answer).await.unwrap_or(Err(Fault::lost(std::io::ErrorKind::TimedOut)))
    }

    /// Asks for the receipt of what an earlier session has handed over whole; `None` if there is
    /// none, so that it is to be offered again.
    async fn earlier_receipt(&self, session: &mut Session) -> Result<Option<Arrived>, Fault> {
        let Some(handed) = self.handed else { return Ok(None) };
        session.machine.ask_receipt(self.transfer.id().0, handed, self.verify);
        // No person is asked, and nothing is left to do there.
        let mut answer_by = Instant::now() + ANSWER_TIME_MAX;
        let mut is_stopped = false;
        loop {
            tokio::select! {
                event = session.next() => match event? {
                    Some(Event::NoReceipt) => {
                        self.transfer.decide_here();
                        return Ok(None);
                    }
                    Some(event) => if let Some(receipt) = self.handle(event)? {
                        return Ok(Some(self.arrived(&receipt, handed.failed)));
                    },
                    None => return Err(Fault::lost(std::io::ErrorKind::UnexpectedEof)),
                },
                () = tokio::time::sleep_until(answer_by) => {
                    return Err(Fault::Stalled { seconds: ANSWER_TIME_MAX.as_secs() });
                }
                // Only the receiver knows whether that is too late.
                _ = self.transfer.cancelled(), if !is_stopped => {
                    is_stopped = true;
                    answer_by = answer_by.min(Instant::now() + TAKEN_BACK_TIME_MAX);
                }
            }
        }
    }

    fn finish_if_over(
        &self,
        session: &mut Session,
        lanes: &Lanes,
        told: &mut Option<ringway_wire::control::Totals>,
    ) -> bool {
        // What is stopped by now is not handed over.
        if lanes.are_over() && self.transfer.hand_over() {
            self.report_walk(session, told, true);
            let (sent, failed) = (self.outgoing.sent(), self.outgoing.failed());
            session.machine.finish(sent, failed, lanes.started);
            self.transfer.figures().set_stage(Stage::Finishing);
        }
        lanes.are_over()
    }

    /// Adds lanes where that is likely to gain something.
    fn grow(&self, lanes: &mut Lanes, origin: &LaneOrigin) {
        if matches!(origin, LaneOrigin::Admitted(_)) {
            return;
        }
        let (now, bytes, limited) = {
            let figures = self.transfer.figures();
            (figures.running_for(), figures.bytes_done, figures.gauge.bottleneck() == Some(Bottleneck::Network))
        };
        // Lanes that come to their end have nothing to share.
        if lanes.opening.is_empty() && lanes.running == lanes.started {
            let more = lanes.growth.lanes_to_add(now, bytes, limited && !self.stops.seen().fill_the_link);
            lanes.open(origin, more);
        }
    }

    /// What there is to see of whether anything moves.
    fn seen(&self, lanes: &Lanes) -> Seen {
        let figures = self.transfer.figures();
        Seen::by_sender(self.stops.seen().acknowledged, self.clocks.of_sender(), figures.gauge.receiver_reported())
            .of(figures.bytes_total, lanes.are_over())
    }

    /// Tells the peer and the figures how far the walk is and what failed here. What is said waits
    /// for what was said before to be on its way, but for the `last` time. It does not wait for
    /// answers, which may follow each other without a gap.
    fn report_walk(&self, session: &mut Session, told: &mut Option<ringway_wire::control::Totals>, last: bool) {
        let totals = self.outgoing.totals();
        let is_said = last || !session.machine.has_to_send();
        let mut figures = self.transfer.figures();
        // Each attempt walks over the same again.
        figures.excluded = figures.excluded.max(self.outgoing.excluded());
        figures.found(totals);
        if is_said && told.replace(totals) != Some(totals) {
            session.machine.totals(totals);
        }
        if is_said && figures.stage() == Stage::Running {
            for failure in self.outgoing.take_failures() {
                session.machine.entry_failed(encode_failure(&failure));
                figures.fail(failure);
            }
            figures.failed_here = self.outgoing.failed();
            let times = self.clocks.of_sender();
            session.machine.sender_times(times);
            figures.gauge.sender(times);
            figures.name_bottleneck();
            figures.packed = self.packed.bytes();
        }
    }

    fn handle(&self, event: Event) -> Result<Option<Receipt>, Fault> {
        let mut figures = self.transfer.figures();
        match event {
            // Of what has been read back by now the receiver tells otherwise.
            Event::Progressed(progress) if figures.stage() == Stage::Verifying => {
                figures.took(self.outgoing.moved_of(progress.bytes));
            }
            Event::Progressed(progress) => {
                figures.progress(progress.entries, progress.bytes, self.outgoing.moved_of(progress.bytes));
            }
            Event::ReceiverTimes(times) => figures.gauge.receiver(times),
            Event::Proving(progress) => {
                let sent = self.outgoing.sent();
                figures.proving(sent.files, sent.bytes, progress.entries, progress.bytes);
            }
            Event::Wanted(wanted) => self.outgoing.answered(&wanted)?,
            Event::EntryFailed(failed) => figures.fail(decode_failure(failed)),
            Event::EntryKept(kept) => figures.edit(decode_edit(kept)),
            Event::PeerPath(codes) => figures.there = Some(decode_paths(codes)),
            Event::ReceiptReceived(receipt) => {
                let moved = self.outgoing.moved_of(receipt.there.bytes);
                figures.took(moved);
                if figures.stage() != Stage::Verifying {
                    figures.progress(receipt.there.entries(), receipt.there.bytes, moved);
                }
                figures.failed_there = receipt.failed;
                figures.edited = receipt.edited;
                return Ok(Some(receipt));
            }
            Event::Declined(decline) => {
                if decline == DeclineReason::Busy {
                    figures.turn_away();
                }
                return Err(Fault::Declined(decline));
            }
            // What is taken back while it is sent is told apart from what was never shared.
            Event::GetRefused(GetRefusal::NoShare) if figures.has_begun() => {
                return Err(Fault::NoLongerShared { by: Side::There });
            }
            Event::GetRefused(refusal) => return Err(self.not_in_share(refusal)),
            Event::Cancelled(cancel) => return Err(decode_cancel(cancel)),
            // It was forgotten there since it was let in.
            Event::Refused(Refusal::NotPaired) => {
                let peer_name = self.transfer.peer().map(|(_, name)| name).unwrap_or_default();
                return Err(AuthError::PairingNeeded { peer_name: peer_name.into() }.into());
            }
            // Nobody pairs any more: there was no place for the connection.
            Event::Refused(Refusal::PairingBusy(_)) => {
                figures.turn_away();
                return Err(Fault::Declined(DeclineReason::Busy));
            }
            Event::Refused(refusal) => return Err(refused(refusal, None)),
            _ => {}
        }
        Ok(None)
    }

    /// Why it cannot land in the place that its offer names.
    fn not_in_share(&self, refusal: GetRefusal) -> Fault {
        let Some(InShare { share, path }) = &self.in_share else { return Fault::FailedThere };
        let name = || share.as_str().into();
        match refusal {
            GetRefusal::Unavailable(trouble) => Fault::ShareUnavailable { share: name(), trouble },
            GetRefusal::Path(_, errno) => {
                let whole = [share.as_str().as_bytes(), path].join(&b'/');
                let source = std::io::Error::from_raw_os_error(errno).into();
                Fault::PathThere { path: OsString::from_vec(whole).into(), operation: Operation::Open, source }
            }
            _ => Fault::NoDropBox { share: name() },
        }
    }

    /// Stops its lanes, whose threads then end.
    pub(crate) fn stop(&self) {
        self.stops.stop();
        self.limiter.iter().for_each(|limiter| limiter.stop());
        self.relay.stop();
    }

    fn arrived(&self, receipt: &Receipt, failed_here: u64) -> Arrived {
        let moved = self.transfer.figures().moved_by(receipt, self.outgoing.handed_over());
        Arrived::by(receipt, moved, failed_here)
    }

    fn start_lane(
        &self,
        number: u8,
        added: bool,
        lane: Lane,
        origin: &mut LaneOrigin,
        ended: mpsc::UnboundedSender<std::io::Result<LaneEnd>>,
    ) -> Result<(), Fault> {
        let (outgoing, io, confine) = (Arc::clone(self.outgoing), self.io, self.confine.clone());
        let clock = self.clocks.lane();
        let mut connection = Renewing::new(lane, self.records_per_key, self.renewal(number, origin)?);
        if let Some(limiter) = &self.limiter {
            connection = connection.held_to(Arc::clone(limiter), clock.clone());
        }
        let relay = Arc::clone(&self.relay);
        let share = if added { Share::added(relay) } else { Share::needed(relay) };
        let packing = Packing::new(self.compression, Arc::clone(&self.packed)).map_err(Fault::lost)?;
        let mut lane = SendingLane::new(connection, share, packing, clock);
        let work = move || {
            confine.map_or(Ok(()), |confine| confine())?;
            let mut io = match io.open() {
                Err(_) if added => return Ok(LaneEnd::Dropped),
                opened => opened?,
            };
            outgoing.run_lane(&mut lane, &mut io)?;
            if lane.is_unused() {
                return Ok(LaneEnd::Dropped);
            }
            lane.close().map(|()| LaneEnd::Whole)
        };
        let panicked = || Err(std::io::Error::other("a lane's thread panicked"));
        lane::spawn(format!("ringway-out-{number}"), work, panicked, ended).map(drop)
    }

    /// What opens a lane's next connections, or waits for them.
    fn renewal(&self, number: u8, origin: &mut LaneOrigin) -> Result<Renewal, Fault> {
        let stops = self.stops.clone();
        match origin {
            LaneOrigin::Dialled(opener) => {
                let (opener, runtime) = (Arc::clone(opener), Handle::current());
                Ok(Box::new(move |connection| {
                    runtime.block_on(async {
                        tokio::select! {
                            opened = opener.open(number, connection) => opened.map_err(std::io::Error::other),
                            () = stops.stopped() => Err(std::io::ErrorKind::ConnectionAborted.into()),
                        }
                    })
                }))
            }
            LaneOrigin::Admitted(admitted) => {
                let successor = admitted.successors.get_mut(usize::from(number)).and_then(Option::take);
                let mut successor = successor.ok_or(Fault::machine("a lane came twice"))?;
                Ok(Box::new(move |_| {
                    let next = successor()?;
                    stops.set(number, &next)?;
                    Ok(next)
                }))
            }
        }
    }

    /// A lane broke: the receiver's reason if it says one, else what the lane met.
    async fn why_broken(&self, session: &mut Session, fault: Fault) -> Fault {
        let reason = async {
            loop {
                match session.next().await {
                    Ok(Some(event)) => match self.handle(event) {
                        Err(error) => return Some(error),
                        Ok(_) => continue,
                    },
                    Ok(None) => return None,
                    Err(error @ (Fault::Protocol { .. } | Fault::ReceiptContradicts { .. })) => return Some(error),
                    Err(_) => return None,
                }
            }
        };
        match timeout(REASON_TIME_MAX, reason).await {
            Ok(Some(reason)) => reason,
            _ => fault,
        }
    }
}
