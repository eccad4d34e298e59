//! The sending job: offer, open lanes, wait for the receipt; where the connection is lost, again.
//! And what else is asked of a device that is reached.
mod attempts;
pub(crate) mod browse;
pub mod dry_run;
mod find;
mod lanes;
mod listing;
mod reach;
mod stall;

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use ringway_link::bottleneck::Clocks;
use ringway_link::lane::growth::LaneGrowth;
use ringway_link::lane::{self, Lane, Relay, Renewing, SendingLane, Share};
use ringway_link::rate_limit::RateLimiter;
use ringway_link::session::Session;
use ringway_model::{AuthError, Bottleneck, Compression, DeclineReason, Fault, PathTaken, Side, Source, Stage};
use ringway_tree::compression::{Packed, Packing};
use ringway_tree::io_plan::IoPlan;
use ringway_tree::send::Outgoing;
use ringway_wire::control::{Offer, Receipt, Refusal};
use ringway_wire::limits::LANE_SILENCE_MAX_MS;
use ringway_wire::session::{HandedOver, Initiator, InitiatorEvent};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use crate::limits::{ANSWER_TIME_MAX, REASON_TIME_MAX, TICK};
use crate::shared::Shared;
use crate::transfers::options::SendRequest;
use crate::transfers::transfer::{Arrived, Transfer};
use crate::wire_convert::{decode_cancel, decode_edit, decode_failure, decode_paths, encode_failure, encode_paths};
use lanes::{LaneEnd, LaneOpener, Lanes, next_opened};
use listing::Listing;
use reach::refused;
use stall::{Seen, Stall};

pub(crate) use reach::reach;

/// Who takes longer to let a transfer go on asks a person.
const ANSWER_AT_ONCE: Duration = Duration::from_secs(2);

/// How often it is looked whether the receiver's machine answers on each lane.
const LANES_LOOK_EVERY: Duration = Duration::from_secs(1);

/// What a send is called: its first source, and how many more there are.
pub(crate) fn title(sources: &[Source]) -> (OsString, u64) {
    let name = |source: &Source| source.path.file_name().map_or_else(|| source.path.clone().into(), Into::into);
    (sources.first().map(name).unwrap_or_default(), sources.len().saturating_sub(1) as u64)
}

/// Runs a transfer to its end and reports it.
pub(crate) async fn run(shared: Arc<Shared>, request: SendRequest, transfer: Transfer) {
    let ended = attempts::all(shared, request, &transfer).await;
    transfer.end(ended);
}

/// An offer on its way.
struct Job<'a> {
    transfer: &'a Transfer,
    outgoing: &'a Arc<Outgoing>,
    opener: Arc<LaneOpener>,
    paths: PathTaken,
    io: IoPlan,
    records_per_key: u64,
    limiter: Option<Arc<RateLimiter>>,
    clocks: Clocks,
    compression: Compression,
    verify: bool,
    packed: Arc<Packed>,
    relay: Arc<Relay>,
    /// Lanes to begin with, and at the most.
    lanes_first: u8,
    lanes_max: u8,
    /// How long it is tried again after the connection was lost.
    retry: Duration,
    /// What an earlier session has handed over whole: only its receipt is missing.
    handed: Option<HandedOver>,
    /// How long it waits for a receiver that takes nothing.
    timeout: Option<Duration>,
}

impl Job<'_> {
    async fn run(&self, session: &mut Session<Initiator>) -> Result<Arrived, Fault> {
        if let Some(arrived) = self.earlier_receipt(session).await? {
            return Ok(arrived);
        }
        let (names, more_names) = self.outgoing.names();
        let so_far = self.outgoing.totals();
        let offer = Offer {
            transfer: self.transfer.id().0,
            names,
            more_names,
            so_far,
            lanes: self.lanes_max,
            prove: self.verify,
            retry_s: u32::try_from(self.retry.as_secs()).unwrap_or(u32::MAX),
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
        let mut told = None;
        // A receiver that has accepted it before asks nobody.
        let mut listing = if self.transfer.figures().has_begun() { Listing::Over } else { Listing::Due(offered) };
        let mut stall = Stall::new(self.timeout, std::time::Instant::now());
        loop {
            tokio::select! {
                event = session.next() => match event? {
                    // A receiver that was disconnected during the pause learns of the pause now,
                    // before any bytes move.
                    Some(InitiatorEvent::Accepted { .. }) if self.transfer.is_paused() => {
                        return Err(Fault::Paused { by: Side::Here });
                    }
                    Some(InitiatorEvent::Accepted { lanes: lanes_max, lists, doubts }) => {
                        if lists {
                            self.outgoing.list();
                        }
                        listing = Listing::Over;
                        self.outgoing.answered_yes();
                        if let Some(from) = doubts {
                            self.outgoing.compare(from);
                        }
                        self.transfer.figures().begin();
                        session.machine.path_taken(encode_paths(self.paths));
                        let needed = self.lanes_first.min(lanes_max);
                        let growth = LaneGrowth::new(needed, if self.lanes_first < self.lanes_max { lanes_max } else { needed });
                        let begun = lanes.insert(Lanes::new(needed, growth));
                        begun.open(&self.opener, needed);
                    }
                    Some(InitiatorEvent::Queued(place)) => {
                        // It is accepted, and waits for its turn.
                        listing = Listing::Over;
                        self.transfer.figures().queue(place);
                        if !std::mem::replace(&mut is_queued, true) {
                            answer_by = Instant::now() + self.retry;
                        }
                    }
                    Some(event) => if let Some(receipt) = self.handle(event)? {
                        return Ok(self.arrived(&receipt, self.outgoing.failed()));
                    },
                    None => return Err(Fault::lost(std::io::ErrorKind::UnexpectedEof)),
                },
                Some((number, opened)) = next_opened(&mut lanes) => {
                    let Some(lanes) = &mut lanes else { continue };
                    match opened {
                        Ok(lane) => {
                            self.start_lane(number, lane, number >= lanes.needed, lane_ended.clone())?;
                            lanes.started += 1;
                            lanes.running += 1;
                            self.transfer.figures().lanes = lanes.started;
                        }
                        Err(_) if number >= lanes.needed => lanes.dropped(self.transfer),
                        Err(fault @ Fault::ConnectionLost(_)) => return Err(self.why_broken(session, fault).await),
                        Err(error) => return Err(error),
                    }
                    self.finish_if_over(session, lanes, &mut told);
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
                        self.finish_if_over(session, lanes, &mut told);
                    }
                }
                _ = tick.tick() => {
                    if lanes.is_none() && offered.elapsed() > ANSWER_AT_ONCE {
                        self.transfer.figures().await_answer(true);
                    }
                    self.report_walk(session, &mut told, false);
                    if looked.elapsed() >= LANES_LOOK_EVERY {
                        looked = Instant::now();
                        self.opener.stops.stop_unanswered(Duration::from_millis(LANE_SILENCE_MAX_MS));
                        if let Some(lanes) = &lanes {
                            stall.look(std::time::Instant::now(), self.seen(lanes))?;
                        }
                    }
                    if let Some(lanes) = &mut lanes {
                        self.grow(lanes);
                    }
                }
                page = listing.next(self.outgoing), if session.machine.takes_listing() => {
                    if let Some(page) = page {
                        session.machine.list(page);
                    }
                }
                () = tokio::time::sleep_until(answer_by), if lanes.is_none() => {
                    let why = if is_queued { DeclineReason::Busy } else { DeclineReason::NoAnswer };
                    return Err(Fault::Declined(why));
                }
                () = self.transfer.paused(), if lanes.as_ref().is_some_and(|lanes| !lanes.are_over()) => {
                    return Err(Fault::Paused { by: Side::Here });
                }
                stopped = self.transfer.cancelled() => return Err(stopped),
            }
        }
    }

    /// Asks for the receipt of what an earlier session has handed over whole; none where there is
    /// none, so that it is to be offered again.
    async fn earlier_receipt(&self, session: &mut Session<Initiator>) -> Result<Option<Arrived>, Fault> {
        let Some(handed) = self.handed else { return Ok(None) };
        session.machine.ask_receipt(self.transfer.id().0, handed, self.verify);
        // No person is asked, and nothing is left to do there.
        let answer_by = Instant::now() + ANSWER_TIME_MAX;
        loop {
            tokio::select! {
                event = session.next() => match event? {
                    Some(InitiatorEvent::NoReceipt) => return Ok(None),
                    Some(event) => if let Some(receipt) = self.handle(event)? {
                        return Ok(Some(self.arrived(&receipt, handed.failed)));
                    },
                    None => return Err(Fault::lost(std::io::ErrorKind::UnexpectedEof)),
                },
                () = tokio::time::sleep_until(answer_by) => {
                    return Err(Fault::Stalled { seconds: ANSWER_TIME_MAX.as_secs() });
                }
                stopped = self.transfer.cancelled() => return Err(stopped),
            }
        }
    }

    fn finish_if_over(
        &self,
        session: &mut Session<Initiator>,
        lanes: &Lanes,
        told: &mut Option<ringway_wire::control::Totals>,
    ) {
        if lanes.are_over() {
            self.report_walk(session, told, true);
            let (sent, failed) = (self.outgoing.sent(), self.outgoing.failed());
            session.machine.finish(sent, failed, lanes.started);
            self.transfer.figures().set_stage(Stage::Finishing);
        }
    }

    /// Adds lanes where that is likely to gain something.
    fn grow(&self, lanes: &mut Lanes) {
        let (now, bytes, limited) = {
            let figures = self.transfer.figures();
            (figures.running_for(), figures.bytes_done, figures.gauge.bottleneck() == Some(Bottleneck::Network))
        };
        // Lanes that come to their end have nothing to share.
        if lanes.opening.is_empty() && lanes.running == lanes.started {
            let more = lanes.growth.lanes_to_add(now, bytes, limited);
            lanes.open(&self.opener, more);
        }
    }

    /// What there is to see of whether anything moves.
    fn seen(&self, lanes: &Lanes) -> Seen {
        let figures = self.transfer.figures();
        Seen {
            acknowledged: self.opener.stops.acknowledged(),
            here: self.clocks.of_sender(),
            there: figures.gauge.receiver_reported(),
            is_handed_over: lanes.are_over(),
            bytes: figures.bytes_total,
        }
    }

    /// Tells the peer and the figures how far the walk is and what failed here. What is said waits
    /// for a peer that has yet to read, but for the `last` time.
    fn report_walk(
        &self,
        session: &mut Session<Initiator>,
        told: &mut Option<ringway_wire::control::Totals>,
        last: bool,
    ) {
        let totals = self.outgoing.totals();
        let is_said = last || session.has_sent_all();
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
            session.machine.times(times);
            figures.gauge.sender(times);
            figures.name_bottleneck();
            figures.packed = self.packed.bytes();
        }
    }

    fn handle(&self, event: InitiatorEvent) -> Result<Option<Receipt>, Fault> {
        let mut figures = self.transfer.figures();
        match event {
            // Of what has been read back by now the receiver tells otherwise.
            InitiatorEvent::Progressed(progress) if figures.stage() == Stage::Verifying => {
                figures.took(self.outgoing.moved_of(progress.bytes));
            }
            InitiatorEvent::Progressed(progress) => {
                figures.progress(progress.entries, progress.bytes, self.outgoing.moved_of(progress.bytes));
            }
            InitiatorEvent::ReceiverTimes(times) => figures.gauge.receiver(times),
            InitiatorEvent::Proving(progress) => {
                let sent = self.outgoing.sent();
                figures.proving((sent.files, sent.bytes), progress.entries, progress.bytes);
            }
            InitiatorEvent::Wanted(wanted) => self.outgoing.answered(&wanted)?,
            InitiatorEvent::EntryFailed(failed) => figures.fail(decode_failure(failed)),
            InitiatorEvent::EntryKept(kept) => figures.edit(decode_edit(kept)),
            InitiatorEvent::PeerPath(codes) => figures.there = Some(decode_paths(codes)),
            InitiatorEvent::ReceiptReceived(receipt) => {
                let moved = self.outgoing.moved_of(receipt.there.bytes);
                figures.took(moved);
                if figures.stage() != Stage::Verifying {
                    figures.progress(receipt.there.entries(), receipt.there.bytes, moved);
                }
                figures.failed_there = receipt.failed;
                figures.edited = receipt.edited;
                return Ok(Some(receipt));
            }
            InitiatorEvent::Declined(decline) => return Err(Fault::Declined(decline)),
            InitiatorEvent::Cancelled(cancel) => return Err(decode_cancel(cancel)),
            // It was forgotten there since it was let in.
            InitiatorEvent::Refused(Refusal::NotPaired) => {
                let peer_name = self.transfer.peer().map(|(_, name)| name).unwrap_or_default();
                return Err(AuthError::PairingNeeded { peer_name: peer_name.into() }.into());
            }
            // Nobody pairs any more: there was no place for the connection.
            InitiatorEvent::Refused(Refusal::PairingBusy(_)) => {
                figures.turn_away();
                return Err(Fault::Declined(DeclineReason::Busy));
            }
            InitiatorEvent::Refused(refusal) => return Err(refused(refusal, None)),
            _ => {}
        }
        Ok(None)
    }

    fn arrived(&self, receipt: &Receipt, failed_here: u64) -> Arrived {
        let moved = self.transfer.figures().moved_by(receipt, self.outgoing.handed_over());
        Arrived::by(receipt, moved, failed_here)
    }

    fn start_lane(
        &self,
        number: u8,
        lane: Lane,
        added: bool,
        ended: mpsc::UnboundedSender<std::io::Result<LaneEnd>>,
    ) -> Result<(), Fault> {
        let (outgoing, opener) = (Arc::clone(self.outgoing), Arc::clone(&self.opener));
        let (io, runtime) = (self.io, Handle::current());
        let renew = move |connection| {
            runtime.block_on(async {
                tokio::select! {
                    opened = opener.open(number, connection) => opened.map_err(std::io::Error::other),
                    () = opener.stops.stopped() => Err(std::io::ErrorKind::ConnectionAborted.into()),
                }
            })
        };
        let clock = self.clocks.lane();
        let mut connection = Renewing::new(lane, self.records_per_key, Box::new(renew));
        if let Some(limiter) = &self.limiter {
            connection = connection.held_to(Arc::clone(limiter), clock.clone());
        }
        let relay = Arc::clone(&self.relay);
        let share = if added { Share::added(relay) } else { Share::needed(relay) };
        let packing = Packing::new(self.compression, Arc::clone(&self.packed)).map_err(Fault::lost)?;
        let mut lane = SendingLane::new(connection, share, packing, clock);
        let work = move || {
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

    /// A lane broke: the receiver's reason if it says one, else what the lane met.
    async fn why_broken(&self, session: &mut Session<Initiator>, fault: Fault) -> Fault {
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
