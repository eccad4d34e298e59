//! A transfer that this end dials for, over all its attempts: the first, and those that go on after
//! the connection was lost. It sends, or it gets.
use std::sync::Arc;
use std::time::Duration;

use ringway_link::bottleneck::Clocks;
use ringway_link::lane::growth::initial_lanes;
use ringway_link::lane::{self, LaneStops};
use ringway_link::rate_limit::RateLimiter;
use ringway_link::retry::{Headway, Tries};
use ringway_model::{DeclineReason, Device, Fault, Outage, PathTaken, Side};
use ringway_tree::compression::Packed;
use ringway_tree::descriptors::ForSending;
use ringway_tree::filesystem::selection::Filter;
use ringway_tree::io_plan::IoPlan;
use ringway_tree::random;
use ringway_tree::send::Outgoing;
use ringway_wire::OfferedNames;
use ringway_wire::control::Progress;
use ringway_wire::session::HandedOver;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::lanes::{LaneOpener, LaneOrigin};
use super::reach::{Reached, reach};
use super::{Job, goodbye, say_whole};
use crate::devices::reference::PathInShare;
use crate::devices::target::{Address, Target};
use crate::limits::{LANES_MAX, PAUSE_TIME_MAX, RECORDS_PER_KEY_MAX, RECORDS_PER_KEY_MIN, RETRY_MAX, STALL_TIME_MIN};
use crate::reach::connect::Destination;
use crate::shared::Shared;
use crate::store::Pairing;
use crate::transfers::forgetting::stop_when;
use crate::transfers::options::SendRequest;
use crate::transfers::transfer::{Arrived, Transfer};

/// Sends, and where the connection is lost goes on, until it is through, refused or given up, or
/// until its receiver is forgotten.
pub(super) async fn all(shared: Arc<Shared>, request: SendRequest, transfer: &Transfer) -> Result<Arrived, Fault> {
    let (paired, mut known) = watch::channel(None);
    stop_when(forgotten(&shared, &mut known), transfer, try_sending(&shared, request, transfer, &paired)).await
}

/// Resolves when the device that was reached is forgotten.
pub(crate) async fn forgotten(shared: &Arc<Shared>, known: &mut watch::Receiver<Option<Pairing>>) {
    let reached = known.wait_for(Option::is_some).await.ok().and_then(|known| *known);
    match reached {
        Some(pairing) => shared.forgotten(pairing).await,
        None => std::future::pending().await,
    }
}

/// The device that was reached, once one was.
pub(crate) type Paired = watch::Sender<Option<Pairing>>;

/// What is tried.
pub(crate) trait Attempt: Send {
    /// Tries it once.
    fn attempt(&mut self) -> impl Future<Output = Result<Arrived, Fault>> + Send;

    /// Bytes that this end itself has seen move in the last attempt.
    fn take_moved(&mut self) -> u64;
}

/// The other end, once it is reached. Where a person cancels meanwhile, it is reached only to be
/// told, if it waits for more of the transfer.
pub(crate) async fn reached_for(
    transfer: &Transfer,
    reaching: impl Future<Output = Result<Reached, Fault>>,
) -> Result<Reached, Fault> {
    tokio::pin!(reaching);
    let stopped = tokio::select! {
        reached = &mut reaching => return reached.inspect_err(|error| {
            if matches!(error, Fault::Declined(DeclineReason::Busy)) {
                transfer.figures().turn_away();
            }
        }),
        stopped = transfer.cancelled() => stopped,
    };
    match transfer.goodbye_time() {
        Some(time) => timeout(time, reaching).await.ok().and_then(Result::ok).ok_or(stopped),
        None => Err(stopped),
    }
}

/// How a transfer ends that was interrupted by `first`. If a person has cancelled it, one more
/// attempt tells the other end, which would wait for it otherwise. Everything may be there already,
/// if it was handed over; then only the other end knows that.
async fn ended(transfer: &Transfer, what: &mut impl Attempt, why: Fault, first: Fault) -> Result<Arrived, Fault> {
    let Some(time) = transfer.goodbye_time() else { return Err(why) };
    match timeout(time, what.attempt()).await {
        Ok(Ok(arrived)) => Ok(arrived),
        _ if transfer.is_handed_over() => Err(first),
        _ => Err(why),
    }
}

async fn try_sending(
    shared: &Arc<Shared>,
    request: SendRequest,
    transfer: &Transfer,
    paired: &Paired,
) -> Result<Arrived, Fault> {
    let paths = PathTaken { tls: lane::plan(request.options.tls)?, io: IoPlan::new(request.options.io)?.path() };
    {
        let mut figures = transfer.figures();
        (figures.here, figures.limit) = (Some(paths), request.options.limit);
    }
    let retry = request.options.retry.map(|retry| retry.min(RETRY_MAX)).unwrap_or_default();
    transfer.figures().goes_on_for(retry);
    let filter = Filter::new(&request.options.selection)?;
    let mut sending = Sending {
        shared,
        transfer,
        paired,
        request,
        filter,
        paths,
        retry,
        first: None,
        packed: Arc::default(),
        offered: None,
        handed: None,
        acknowledged: 0,
    };
    try_all(transfer, retry, &mut sending).await
}

/// Tries it until it is through, refused or given up.
pub(crate) async fn try_all(transfer: &Transfer, retry: Duration, what: &mut impl Attempt) -> Result<Arrived, Fault> {
    let mut tries = Tries::new(retry);
    let mut headway = Headway::default();
    let mut lost = None;
    let mut paused_until = None;
    loop {
        if !transfer.is_paused() {
            paused_until = None;
        }
        let (entries, bytes) = transfer.figures().done();
        let error = match what.attempt().await {
            Err(error) if transfer.figures().has_begun() => error,
            // Nobody answered yet: the next try asks anew.
            Err(error) if transfer.figures().was_offered() && error.outage().is_some() => error,
            // It was accepted, and waits again; also where it lost its place, or the rule that had
            // accepted it has changed.
            Err(error) if transfer.figures().was_queued() && outage(&error).is_some() => error,
            // Nobody was asked yet.
            Err(error @ Fault::Declined(DeclineReason::TooManyOffers { .. })) => error,
            // It goes on with something that a person there has paused.
            Err(error @ Fault::Declined(DeclineReason::Paused)) => error,
            Err(error @ Fault::Declined(DeclineReason::Busy)) if transfer.figures().was_turned_away() => error,
            over => return over,
        };
        let Some(outage) = outage(&error) else { return Err(error) };
        let (done, all) = {
            let figures = transfer.figures();
            (figures.done(), figures.found_so_far())
        };
        let gained = Progress { entries: done.0.saturating_sub(entries), bytes: done.1.saturating_sub(bytes) };
        let all = Progress { entries: all.0, bytes: all.1 };
        if headway.book(gained, what.take_moved(), all) {
            tries.went_on();
            lost = None;
        }
        let next = match outage {
            // The receiver knows, and waits.
            Outage::Paused { by: Side::Here } => None,
            Outage::Full(_) | Outage::Paused { by: Side::There } => tries.look(Instant::now()),
            Outage::TooManyOffers => tries.after(Instant::now(), wait_said(&error), random::<1>()?[0]),
            _ => tries.next(Instant::now(), random::<1>()?[0]),
        };
        // The reported reason is what interrupted the transfer, not what the last attempt met. What
        // waited at the other end, and is not answered there any more, is interrupted by that.
        let first = lost.take().filter(|first| waits_there(first) == waits_there(&error)).unwrap_or(error);
        let mut pause_ends = || *paused_until.get_or_insert_with(|| Instant::now() + PAUSE_TIME_MAX);
        if transfer.is_paused() || matches!(outage, Outage::Paused { by: Side::Here }) {
            match until_resumed(transfer, pause_ends(), next.map(|next| next.at)).await {
                Ok(true) => tries.went_on(),
                Ok(false) => lost = Some(first),
                Err(why) => return ended(transfer, what, why, first).await,
            }
            continue;
        }
        let Some(next) = next else { return Err(first) };
        lost = Some(first.clone());
        let mut resumes = transfer.resumes();
        transfer.figures().interrupt(outage, Some(next.at.into_std()), next.gives_up.into_std());
        tokio::select! {
            () = tokio::time::sleep_until(next.at) => {}
            Ok(()) = resumes.changed() => {}
            // Its receiver waits for one that was lost: it is told at once, if it can be reached.
            () = transfer.paused() => {
                match until_resumed(transfer, pause_ends(), Some(Instant::now())).await {
                    Ok(_) => continue,
                    Err(why) => return ended(transfer, what, why, first).await,
                }
            }
            stopped = transfer.cancelled() => return ended(transfer, what, stopped, first).await,
        }
        transfer.figures().interrupt(outage, None, next.gives_up.into_std());
    }
}

/// Waits until a person here resumes what was paused here, true, or until the receiver is to be
/// told of it.
async fn until_resumed(transfer: &Transfer, gives_up: Instant, tell_at: Option<Instant>) -> Result<bool, Fault> {
    transfer.figures().interrupt(Outage::Paused { by: Side::Here }, None, gives_up.into_std());
    let mut pauses = transfer.pauses();
    tokio::select! {
        biased;
        stopped = transfer.cancelled() => Err(stopped),
        _ = pauses.wait_for(|paused| !*paused) => Ok(true),
        () = tokio::time::sleep_until(gives_up) => Err(Fault::Paused { by: Side::Here }),
        () = tokio::time::sleep_until(tell_at.unwrap_or(gives_up)) => Ok(false),
    }
}

/// Why a transfer that was offered may be tried again; `None` if that would change nothing.
pub(crate) fn outage(error: &Fault) -> Option<Outage> {
    match error {
        Fault::Declined(DeclineReason::Busy) => Some(Outage::Busy),
        Fault::Declined(DeclineReason::TooManyOffers { .. }) => Some(Outage::TooManyOffers),
        Fault::Declined(DeclineReason::NoRoom(shortage)) | Fault::DestinationFull { shortage: Some(shortage) } => {
            Some(Outage::Full(*shortage))
        }
        Fault::Declined(DeclineReason::Paused) => Some(Outage::Paused { by: Side::There }),
        Fault::Paused { by: side } => Some(Outage::Paused { by: *side }),
        error => error.outage(),
    }
}

/// Whether the other end was reached, and waits for a person or for its disk.
fn waits_there(error: &Fault) -> bool {
    matches!(outage(error), Some(Outage::Full(_) | Outage::Paused { by: Side::There }))
}

/// How long its receiver told it to wait.
fn wait_said(error: &Fault) -> Duration {
    match error {
        Fault::Declined(DeclineReason::TooManyOffers { wait_ms }) => Duration::from_millis((*wait_ms).into()),
        _ => Duration::ZERO,
    }
}

/// A transfer, over all its attempts.
struct Sending<'a> {
    shared: &'a Arc<Shared>,
    transfer: &'a Transfer,
    paired: &'a Paired,
    request: SendRequest,
    /// What is left out, the same in every attempt.
    filter: Option<Arc<Filter>>,
    paths: PathTaken,
    retry: Duration,
    /// The device that the first attempt reached: every other one goes to it or fails.
    first: Option<First>,
    packed: Arc<Packed>,
    /// What was offered first: later attempts offer the same, so that nobody is asked anew because
    /// something appeared meanwhile.
    offered: Option<Arc<OfferedNames>>,
    /// What an attempt has handed over whole, without having heard the receipt.
    handed: Option<HandedOver>,
    /// Bytes that the receiver's kernel has acknowledged on the lanes of the last session.
    acknowledged: u64,
}

/// Whom the first attempt reached, and where.
#[derive(Clone)]
pub(crate) struct First {
    pub(crate) device: Device,
    pub(crate) address: Address,
}

impl First {
    /// Where to go now: to the device that was reached first, wherever that is known to be.
    ///
    /// # Errors
    /// [`Fault::PeerForgotten`] where a person here has forgotten that device since.
    pub(crate) fn destination(first: Option<&Self>, shared: &Shared, target: &Target) -> Result<Destination, Fault> {
        if let Some(Self { device, .. }) = first
            && shared.store.by_id(device.id)?.is_none()
        {
            return Err(Fault::PeerForgotten);
        }
        let destination = Destination::of(&shared.store, target)?;
        match (&destination.device, first) {
            (None, Some(Self { device, address })) => {
                Destination::of_device(&shared.store, device.clone(), Some(address.clone()))
            }
            _ => Ok(destination),
        }
    }
}

impl Attempt for Sending<'_> {
    fn take_moved(&mut self) -> u64 {
        std::mem::take(&mut self.acknowledged)
    }

    async fn attempt(&mut self) -> Result<Arrived, Fault> {
        let (shared, transfer, request) = (self.shared, self.transfer, &mut self.request);
        let (sources, code) = (request.sources.clone(), request.options.code.take());
        let failed_before = request.failed_before.clone();
        // Later attempts are made by who tries again.
        let patience = if self.first.is_none() { self.retry } else { Duration::ZERO };
        let (filter, offered) = (self.filter.clone(), self.offered.clone());
        let started = move || {
            let outgoing = Outgoing::start_selected(&sources, filter, offered)?;
            outgoing.report_gone(&sources, &failed_before);
            Ok::<_, Fault>(outgoing)
        };
        let outgoing = tokio::task::spawn_blocking(started).await;
        let walk = WalkGuard(outgoing.expect("walk did not panic")?);
        self.offered = Some(Arc::clone(walk.0.offered()));
        if request.options.verify {
            walk.0.prove();
        }
        walk.0.delta(request.options.delta);
        let destination = First::destination(self.first.as_ref(), shared, &request.target)?;
        let reached = reached_for(transfer, reach(shared, &destination, code, patience)).await?;
        transfer.known_peer(reached.device.id, &reached.device.name);
        if self.first.is_none() {
            let pairing = shared.store.pairing(reached.device.id)?;
            self.paired.send_replace(Some(pairing));
        }
        self.first.get_or_insert_with(|| First { device: reached.device.clone(), address: reached.address.clone() });
        let lanes = request.options.lanes.map(|lanes| lanes.clamp(1, LANES_MAX));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let lanes_first = lanes.unwrap_or_else(|| initial_lanes(cores, reached.round_trip));
        let stops = LaneStops::default();
        let opener = Arc::new(LaneOpener {
            shared: Arc::clone(shared),
            transfer: transfer.clone(),
            tickets: reached.tickets,
            addresses: reached.addresses,
            peer: reached.device.id,
            needed: lanes_first,
            tls: self.paths.tls,
            stops: stops.clone(),
        });
        let job = Job {
            transfer,
            outgoing: &walk.0,
            id: transfer.id().0,
            stops: stops.clone(),
            paths: self.paths,
            io: IoPlan::new(request.options.io)?,
            records_per_key: request
                .options
                .records_per_key
                .map_or(RECORDS_PER_KEY_MAX, |records| records.clamp(RECORDS_PER_KEY_MIN, RECORDS_PER_KEY_MAX)),
            limiter: request.options.limit.map(|limit| Arc::new(RateLimiter::new(limit))),
            clocks: Clocks::default(),
            compression: request.options.compression,
            verify: request.options.verify,
            in_share: request.in_share.as_ref().map(PathInShare::place),
            packed: Arc::clone(&self.packed),
            relay: Arc::default(),
            lanes_max: lanes.unwrap_or(LANES_MAX).min(ForSending::here().lanes),
            lanes_first,
            retry: self.retry,
            handed: self.handed,
            timeout: request.options.timeout.map(|timeout| timeout.max(STALL_TIME_MIN)),
            confine: None,
        };
        let mut session = reached.session;
        let ended = job.run(&mut session, LaneOrigin::Dialled(opener), None).await;
        self.acknowledged = stops.acknowledged();
        transfer.figures().hand_over(walk.0.handed_over());
        self.handed = session.machine.handed_over();
        walk.0.cancel();
        job.stop();
        let outage = ended.as_ref().err().and_then(Fault::outage);
        say_whole(&mut session, transfer).await;
        session.machine.cancel(goodbye(ended.as_ref().err()));
        if outage.is_some() {
            // The other end may be unreachable, so its goodbye is not waited for.
            tokio::spawn(session.close());
        } else if !session.close_heard().await && matches!(ended, Err(Fault::Paused { by: Side::Here })) {
            // Nobody knows whether the receiver has heard that it is paused.
            return Err(Fault::lost(std::io::ErrorKind::UnexpectedEof));
        }
        ended
    }
}

/// Stops the walk when the job ends early.
struct WalkGuard(Arc<Outgoing>);

impl Drop for WalkGuard {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
