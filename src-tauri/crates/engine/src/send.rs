//! The sending job: reach, authenticate, offer, open lanes, wait for the receipt.
use std::sync::Arc;
use std::time::Duration;

use ringway_wire::DeviceName;
use ringway_wire::code::PairingSecret;
use ringway_wire::control::{Cancel, Greeting, Message, Offer, Receipt, Refusal};
use ringway_wire::pair::{Binding, ENTROPY_LEN, EXPORTER_LABEL};
use ringway_wire::session::{Initiator, InitiatorEvent, Pairing};
use tokio::io::AsyncWriteExt;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use crate::codes::{decode_failure, decode_paths, encode_failure, encode_paths};
use crate::connect::{self, Destination};
use crate::device::{Device, DeviceId};
use crate::error::{AuthError, Error, Side};
use crate::event::{Bottleneck, Stage};
use crate::growth::{Growth, lanes_to_begin_with};
use crate::io_plan::IoPlan;
use crate::lane::{self, Lane, LaneStops, Relay, Relayed, Renewing};
use crate::limits::{ANSWER_TIME_MAX, HANDSHAKE_TIME_MAX, LANES_MAX, RECORDS_PER_KEY_MAX, RECORDS_PER_KEY_MIN, TICK};
use crate::messages::MessageReader;
use crate::options::{Compression, SendRequest};
use crate::pace::{Clocked, Clocks};
use crate::packing::{Packed, Packing};
use crate::path_taken::{PathTaken, TlsPath};
use crate::session::{Clock, Session};
use crate::source::Outgoing;
use crate::throttle::Throttle;
use crate::tls::{Channel, TicketKey};
use crate::transfer::{Arrived, Transfer};
use crate::{Inner, random};

/// When a lane breaks, the reason is often on its way in a message: how long to wait for it.
pub(crate) const REASON_TIME_MAX: Duration = Duration::from_secs(3);

/// Pauses before a lane's next connection is tried again, each twice as long as the one before: a quarter of a minute in all.
const REDIAL_PAUSE: Duration = Duration::from_millis(250);
const REDIAL_PAUSE_MAX: Duration = Duration::from_secs(8);

/// An authenticated session with nothing offered yet.
pub(crate) struct Reached {
    session: Session<Initiator>,
    tickets: TicketKey,
    destination: Destination,
    /// As TCP has measured it so far.
    round_trip: Option<Duration>,
    pub(crate) device: Device,
}

/// Runs a transfer to its end and reports it.
pub(crate) async fn run(inner: Arc<Inner>, request: SendRequest, transfer: Transfer) {
    let ended = drive(inner, request, &transfer).await;
    transfer.end(ended);
}

async fn drive(inner: Arc<Inner>, request: SendRequest, transfer: &Transfer) -> Result<Arrived, Error> {
    let paths = PathTaken { tls: lane::plan(request.tls)?, io: IoPlan::new(request.io)?.path() };
    transfer.figures().here = Some(paths);
    let sources = request.sources;
    let outgoing = tokio::task::spawn_blocking(move || Outgoing::start(&sources)).await.expect("walk did not panic")?;
    let walk = WalkGuard(outgoing);
    let reached = tokio::select! {
        reached = reach(&inner, &request.target, request.code) => reached?,
        () = transfer.cancelled() => return Err(Error::Cancelled(Side::Here)),
    };
    transfer.known_peer(reached.device.id, &reached.device.name);
    let lanes = request.lanes.map(|lanes| lanes.clamp(1, LANES_MAX));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let opener = Arc::new(LaneOpener {
        inner: Arc::clone(&inner),
        transfer: transfer.clone(),
        tickets: reached.tickets,
        destination: Destination { address: reached.destination.address, device: None },
        peer: reached.device.id,
        tls: paths.tls,
        stops: LaneStops::default(),
    });
    let job = Job {
        inner: &inner,
        transfer,
        outgoing: &walk.0,
        opener: Arc::clone(&opener),
        paths,
        io: IoPlan::new(request.io)?,
        records_per_key: request
            .records_per_key
            .map_or(RECORDS_PER_KEY_MAX, |records| records.clamp(RECORDS_PER_KEY_MIN, RECORDS_PER_KEY_MAX)),
        throttle: request.limit.map(|limit| Arc::new(Throttle::new(limit))),
        clocks: Clocks::default(),
        compression: request.compression,
        packed: Arc::default(),
        relay: Arc::default(),
        lanes_max: lanes.unwrap_or(LANES_MAX),
        lanes_first: lanes.unwrap_or_else(|| lanes_to_begin_with(cores, reached.round_trip)),
    };
    let mut session = reached.session;
    let ended = job.run(&mut session).await;
    walk.0.cancel();
    opener.stops.stop();
    job.throttle.iter().for_each(|throttle| throttle.stop());
    job.relay.stop();
    session.machine.cancel(match &ended {
        Err(Error::Cancelled(_)) => Cancel::ByPerson,
        _ => Cancel::Failed,
    });
    session.close().await;
    ended
}

/// Stops the walk when the job ends early.
struct WalkGuard(Arc<Outgoing>);

impl Drop for WalkGuard {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Connects, checks whose key it is, and pairs if that is needed and possible.
pub(crate) async fn reach(inner: &Inner, target: &str, secret: Option<PairingSecret>) -> Result<Reached, Error> {
    let destination = connect::resolve(&inner.store, target, crate::limits::DEFAULT_PORT)?;
    let (channel, clock) = dial(inner, &destination).await?;
    let peer = channel.peer;
    check_identity(inner, &destination, peer)?;
    let known = inner.store.by_id(peer)?;
    let pairing = match secret {
        None => None,
        Some(secret) => Some(Pairing {
            secret,
            binding: Binding::new(inner.identity.id().0, peer.0, *channel.export(EXPORTER_LABEL)?)
                .map_err(|_| AuthError::Ourselves)?,
            entropy: random::<ENTROPY_LEN>()?,
        }),
    };
    let tickets = channel.ticket_key()?;
    let round_trip = ringway_sys::socket::tcp_path(&channel.stream.get_ref().0.io).ok().map(|path| path.rtt);
    let machine = Initiator::new(&greeting(inner)?, known.is_some(), pairing, clock.now_ms());
    let mut session = Session::new(machine, channel.stream, MessageReader::default(), clock);
    let mut name = None;
    let device = loop {
        match session.next().await? {
            Some(InitiatorEvent::HelloReceived { peer_name, version }) => {
                if version != ringway_wire::limits::VERSION {
                    return Err(Error::Version { ours: ringway_wire::limits::VERSION, theirs: version });
                }
                check_name(inner, known.as_ref(), peer, &peer_name)?;
                name = Some(peer_name);
            }
            Some(InitiatorEvent::PairingNeeded) => {
                return Err(AuthError::PairingNeeded { peer_name: text(name.as_ref()) }.into());
            }
            Some(InitiatorEvent::Refused(refusal)) => return Err(refused(inner, refusal, name.as_ref())),
            Some(InitiatorEvent::Paired) => {
                inner.store.pin(peer, &text(name.as_ref()), &destination.address)?;
            }
            Some(InitiatorEvent::Authenticated) => {
                inner.store.saw(peer, Some(&destination.address))?;
                break inner.store.by_id(peer)?.ok_or(AuthError::NoCodeOpen)?;
            }
            Some(InitiatorEvent::Cancelled(_)) => return Err(Error::Cancelled(Side::There)),
            Some(_) | None => return Err(Error::ConnectionLost(std::io::ErrorKind::UnexpectedEof.into())),
        }
    };
    Ok(Reached { session, tickets, destination, round_trip, device })
}

impl Reached {
    /// Ends it without an offer: pairing was all that was wanted.
    pub(crate) async fn close(mut self) -> Device {
        self.session.machine.cancel(Cancel::ByPerson);
        self.session.close().await;
        self.device
    }
}

async fn dial(inner: &Inner, destination: &Destination) -> Result<(Channel, Clock), Error> {
    let tcp = connect::connect(&destination.address).await?;
    let channel = timeout(HANDSHAKE_TIME_MAX, inner.tls.connect(tcp))
        .await
        .map_err(|_| Error::ConnectionLost(std::io::ErrorKind::TimedOut.into()))??;
    Ok((channel, Clock::start()))
}

/// A target that names a device must be that device, to the key.
fn check_identity(inner: &Inner, destination: &Destination, found: DeviceId) -> Result<(), Error> {
    if found == inner.identity.id() {
        return Err(AuthError::Ourselves.into());
    }
    match &destination.device {
        Some(device) if device.id != found => {
            Err(AuthError::IdentityChanged { name: device.name.clone(), expected: device.id, found }.into())
        }
        _ => Ok(()),
    }
}

/// Whoever is not known may not call itself by a known device's name.
fn check_name(inner: &Inner, known: Option<&Device>, found: DeviceId, name: &DeviceName) -> Result<(), Error> {
    match inner.store.by_name(name.as_str())? {
        Some(other) if known.is_none() && other.id != found => {
            Err(AuthError::IdentityChanged { name: other.name, expected: other.id, found }.into())
        }
        _ => Ok(()),
    }
}

fn text(name: Option<&DeviceName>) -> String {
    name.map(|name| name.as_str().to_owned()).unwrap_or_default()
}

fn refused(inner: &Inner, refusal: Refusal, peer: Option<&DeviceName>) -> Error {
    match refusal {
        Refusal::WrongCode => AuthError::WrongCode.into(),
        Refusal::NoCodeOpen => AuthError::NoCodeOpen.into(),
        Refusal::PairingBusy(wait_ms) => AuthError::PairingBusy { wait_ms: wait_ms.into() }.into(),
        Refusal::NameTaken => AuthError::NameTaken { name: inner.settings().name }.into(),
        Refusal::NotPaired => AuthError::PairingNeeded { peer_name: text(peer) }.into(),
        Refusal::Ourselves => AuthError::Ourselves.into(),
        Refusal::Version => Error::Version { ours: ringway_wire::limits::VERSION, theirs: 0 },
    }
}

pub(crate) fn greeting(inner: &Inner) -> Result<Greeting, Error> {
    let settings = inner.settings();
    let name = DeviceName::new(&settings.name).map_err(Error::Protocol)?;
    Ok(Greeting { name, port: settings.port })
}

/// An offer on its way.
struct Job<'a> {
    inner: &'a Inner,
    transfer: &'a Transfer,
    outgoing: &'a Arc<Outgoing>,
    opener: Arc<LaneOpener>,
    paths: PathTaken,
    io: IoPlan,
    records_per_key: u64,
    throttle: Option<Arc<Throttle>>,
    clocks: Clocks,
    compression: Compression,
    packed: Arc<Packed>,
    relay: Arc<Relay>,
    /// Lanes to begin with, and at the most.
    lanes_first: u8,
    lanes_max: u8,
}

/// The lanes of a running transfer.
struct Lanes {
    opening: JoinSet<(u8, Result<Lane, Error>)>,
    /// Lanes that were begun to be opened: the number of the next one.
    begun: u8,
    /// Lanes without which there is no transfer; more are a gain, and done without where they cannot be had.
    needed: u8,
    /// Those that the receiver is to see the end of.
    started: u8,
    running: u8,
    growth: Growth,
}

/// How a lane's thread ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LaneEnd {
    /// It has said its end.
    Whole,
    /// It was added and broke before its first frame had gone: the others have sent what it had.
    Dropped,
}

impl Lanes {
    fn open(&mut self, opener: &Arc<LaneOpener>, more: u8) {
        for number in self.begun..self.begun + more {
            let opener = Arc::clone(opener);
            self.opening.spawn(async move { (number, opener.open(number, 0).await) });
        }
        self.begun += more;
    }

    /// One that was added is done without.
    fn dropped(&mut self, transfer: &Transfer) {
        self.growth.dropped();
        let mut figures = transfer.figures();
        figures.lanes = self.started;
        figures.lanes_dropped += 1;
    }

    /// Everything was handed over.
    fn are_over(&self) -> bool {
        self.started > 0 && self.running == 0 && self.opening.is_empty()
    }
}

/// Opens the connections of a transfer's lanes: the first of each, and those that they go on in.
struct LaneOpener {
    inner: Arc<Inner>,
    transfer: Transfer,
    tickets: TicketKey,
    destination: Destination,
    peer: DeviceId,
    tls: TlsPath,
    stops: LaneStops,
}

impl LaneOpener {
    /// Until the join is said nothing has happened that could not happen again: a lane that went well so far is not given up for a moment
    /// without network, addresses or descriptors, or for a listener that others keep busy.
    async fn dial(&self, again: bool) -> Result<Channel, Error> {
        let mut pause = REDIAL_PAUSE;
        loop {
            match dial(&self.inner, &self.destination).await {
                Ok((channel, _)) => return Ok(channel),
                Err(Error::ConnectionLost(_) | Error::Unreachable { .. }) if again && pause <= REDIAL_PAUSE_MAX => {
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn open(&self, lane: u8, connection: u16) -> Result<Lane, Error> {
        let mut channel = self.dial(connection > 0).await?;
        if channel.peer != self.peer {
            let name = self.transfer.peer().map(|(_, name)| name).unwrap_or_default();
            return Err(AuthError::IdentityChanged { name, expected: self.peer, found: channel.peer }.into());
        }
        let transfer = self.transfer.id().0;
        let ticket = self.tickets.ticket(&transfer, lane, connection);
        let mut join = Vec::new();
        Message::LaneJoin { transfer, lane, connection, ticket }.encode(&mut join);
        let joining = async {
            channel.stream.write_all(&join).await.map_err(Error::ConnectionLost)?;
            channel.stream.flush().await.map_err(Error::ConnectionLost)?;
            MessageReader::default().next(&mut channel.stream).await
        };
        match timeout(HANDSHAKE_TIME_MAX, joining).await {
            Ok(Ok(Some(Message::LaneReady))) => {}
            Ok(Err(error)) => return Err(error),
            Ok(Ok(_)) => return Err(Error::ConnectionLost(std::io::ErrorKind::ConnectionAborted.into())),
            Err(_) => return Err(Error::ConnectionLost(std::io::ErrorKind::TimedOut.into())),
        }
        let taken = Lane::take(channel, self.tls).await?;
        self.stops.set(lane, &taken).map_err(Error::ConnectionLost)?;
        Ok(taken)
    }
}

impl Job<'_> {
    async fn run(&self, session: &mut Session<Initiator>) -> Result<Arrived, Error> {
        let (names, more_names) = self.outgoing.names();
        let so_far = self.outgoing.totals();
        session.machine.offer(&Offer {
            transfer: self.transfer.id().0,
            names,
            more_names,
            so_far,
            lanes: self.lanes_max,
        });
        self.transfer.figures().stage = Stage::AwaitingAnswer;
        let (lane_ended, mut lanes_ended) = mpsc::unbounded_channel::<std::io::Result<LaneEnd>>();
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let answer_by = Instant::now() + ANSWER_TIME_MAX;
        let mut lanes: Option<Lanes> = None;
        let mut told = None;
        loop {
            tokio::select! {
                event = session.next() => match event? {
                    Some(InitiatorEvent::Accepted { lanes: lanes_max }) => {
                        self.transfer.figures().begin();
                        session.machine.path_taken(encode_paths(self.paths));
                        let needed = self.lanes_first.min(lanes_max);
                        let growth = Growth::new(needed, if self.lanes_first < self.lanes_max { lanes_max } else { needed });
                        let begun = lanes.insert(Lanes { opening: JoinSet::new(), begun: 0, needed, started: 0, running: 0, growth });
                        begun.open(&self.opener, needed);
                    }
                    Some(event) => if let Some(receipt) = self.handle(event)? {
                        return Ok(arrived(&receipt, self.outgoing.failed()));
                    },
                    None => return Err(Error::ConnectionLost(std::io::ErrorKind::UnexpectedEof.into())),
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
                        Err(Error::ConnectionLost(error)) => return Err(self.why_broken(session, error).await),
                        Err(error) => return Err(error),
                    }
                    self.finish_if_over(session, lanes, &mut told);
                }
                Some(ended) = lanes_ended.recv() => {
                    let end = match ended {
                        Ok(end) => end,
                        Err(error) => return Err(self.why_broken(session, error).await),
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
                    self.report_walk(session, &mut told);
                    if let Some(lanes) = &mut lanes {
                        self.grow(lanes);
                    }
                }
                () = tokio::time::sleep_until(answer_by), if lanes.is_none() => {
                    return Err(Error::Declined(crate::error::DeclineReason::NoAnswer));
                }
                () = self.transfer.cancelled() => return Err(Error::Cancelled(Side::Here)),
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
            self.report_walk(session, told);
            session.machine.finish(self.outgoing.sent(), self.outgoing.failed(), lanes.started);
            self.transfer.figures().stage = Stage::Finishing;
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
            let more = lanes.growth.look(now, bytes, limited);
            lanes.open(&self.opener, more);
        }
    }

    /// Tells the peer and the figures how far the walk is and what failed here.
    fn report_walk(&self, session: &mut Session<Initiator>, told: &mut Option<ringway_wire::control::Totals>) {
        let totals = self.outgoing.totals();
        let mut figures = self.transfer.figures();
        figures.entries_total = totals.entries;
        figures.bytes_total = totals.bytes;
        figures.totals_final = totals.complete;
        if told.replace(totals) != Some(totals) {
            session.machine.totals(totals);
        }
        if figures.stage == Stage::Running {
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

    fn handle(&self, event: InitiatorEvent) -> Result<Option<Receipt>, Error> {
        let mut figures = self.transfer.figures();
        match event {
            InitiatorEvent::Progressed(progress) => figures.progress(progress.entries, progress.bytes),
            InitiatorEvent::ReceiverTimes(times) => figures.gauge.receiver(times),
            InitiatorEvent::EntryFailed(failed) => figures.fail(decode_failure(failed)),
            InitiatorEvent::PeerPath(codes) => figures.there = Some(decode_paths(codes)),
            InitiatorEvent::ReceiptReceived(receipt) => {
                figures.progress(receipt.there.entries(), receipt.there.bytes);
                figures.failed_there = receipt.failed;
                return Ok(Some(receipt));
            }
            InitiatorEvent::Declined(decline) => return Err(Error::Declined(decline.into())),
            InitiatorEvent::Cancelled(cancel) => return Err(cancelled_there(cancel)),
            InitiatorEvent::Refused(refusal) => return Err(refused(self.inner, refusal, None)),
            _ => {}
        }
        Ok(None)
    }

    fn start_lane(
        &self,
        number: u8,
        lane: Lane,
        added: bool,
        ended: mpsc::UnboundedSender<std::io::Result<LaneEnd>>,
    ) -> Result<(), Error> {
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
        let mut lane = Renewing::new(lane, self.records_per_key, Box::new(renew));
        if let Some(throttle) = &self.throttle {
            lane = lane.held_to(Arc::clone(throttle), clock.clone());
        }
        let relay = Arc::clone(&self.relay);
        let lane = if added { Relayed::added(lane, relay) } else { Relayed::needed(lane, relay) };
        let lane = Packing::new(lane, self.compression, Arc::clone(&self.packed)).map_err(Error::ConnectionLost)?;
        let mut lane = Clocked::new(lane, clock);
        let work = move || {
            let mut io = match io.open() {
                Err(_) if added => return Ok(LaneEnd::Dropped),
                opened => opened?,
            };
            outgoing.run_lane(&mut lane, &mut io)?;
            let lane = lane.lane().lane();
            if lane.is_unused() {
                return Ok(LaneEnd::Dropped);
            }
            lane.lane().close().map(|()| LaneEnd::Whole)
        };
        let panicked = || Err(std::io::Error::other("a lane's thread panicked"));
        lane::spawn(format!("ringway-out-{number}"), work, panicked, ended).map(drop)
    }

    /// A lane broke: the receiver's reason if it says one, else what the lane met.
    async fn why_broken(&self, session: &mut Session<Initiator>, error: std::io::Error) -> Error {
        let reason = async {
            loop {
                match session.next().await {
                    Ok(Some(event)) => match self.handle(event) {
                        Err(error) => return Some(error),
                        Ok(_) => continue,
                    },
                    Ok(None) => return None,
                    Err(error @ Error::Protocol(_)) => return Some(error),
                    Err(_) => return None,
                }
            }
        };
        match timeout(REASON_TIME_MAX, reason).await {
            Ok(Some(reason)) => reason,
            // A connection that could not be renewed says why itself.
            _ => error.downcast::<Error>().unwrap_or_else(Error::ConnectionLost),
        }
    }
}

/// The next lane that is open, or could not be opened; none while there is nothing to wait for.
async fn next_opened(lanes: &mut Option<Lanes>) -> Option<(u8, Result<Lane, Error>)> {
    let opened = lanes.as_mut()?.opening.join_next().await?;
    Some(opened.expect("opening a lane does not panic, and nobody stops it"))
}

pub(crate) fn cancelled_there(cancel: Cancel) -> Error {
    match cancel {
        Cancel::ByPerson => Error::Cancelled(Side::There),
        Cancel::DestinationFull => Error::DestinationFull,
        Cancel::Failed => Error::FailedThere,
    }
}

fn arrived(receipt: &Receipt, failed_here: u64) -> Arrived {
    Arrived {
        files: receipt.there.files,
        folders: receipt.there.folders,
        links: receipt.there.links,
        bytes: receipt.there.bytes,
        unchanged: receipt.unchanged,
        failed: failed_here + receipt.failed,
        paths: Vec::new(),
        copy: None,
    }
}
