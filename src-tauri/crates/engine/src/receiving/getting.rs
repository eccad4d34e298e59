//! Getting entries of another device's share: this end dials, for the session and for all lanes,
//! and takes in what the other end then offers. The request itself is consent, and nothing that was
//! not asked for is taken in.
pub(crate) mod picked;
pub(crate) mod planning;
mod request;

use std::sync::Arc;
use std::time::Duration;

use ringway_link::lane::growth::initial_lanes;
use ringway_link::lane::{self, LaneStops};
use ringway_link::session::Session;
use ringway_model::{AuthError, DeclineReason, Device, Fault, FreeSpace, Outage, PathTaken, Shortage, Side};
use ringway_tree::filesystem::free_space;
use ringway_tree::io_plan::IoPlan;
use ringway_tree::receive::TopsAtFirst;
use ringway_wire::OfferedNames;
use ringway_wire::control::{Cancel, GetRefusal, Offer, Refusal, Totals};
use ringway_wire::session::Event;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::asking::Questions;
use super::receive::confinement;
use super::taking::{Dialling, Earlier, Ended, LanesFrom, Opened, Site, Taking};
use crate::limits::{
    ANSWER_TIME_MAX, COUNTED_ENTRIES_MIN, COUNTED_TIME_MAX, FULL_LOOK_EVERY, FULL_TOLD_EVERY_MAX, RETRY_MAX,
    SCARCE_BYTES, STALL_TIME_MIN,
};
use crate::local::own_folders;
use crate::send::attempts::{Attempt, First, Paired, forgotten, outage, reached_for, try_all};
use crate::send::lanes::LaneOpener;
use crate::send::reach::{Reached, reach, refused};
use crate::send::{goodbye, say_whole};
use crate::shared::Shared;
use crate::transfers::forgetting::stop_when;
use crate::transfers::options::{AcceptOptions, GetRequest};
use crate::transfers::transfer::{Arrived, Transfer};
use crate::wire_convert::{decode_cancel, decode_failure};
use request::Request;

/// Gets something to its end and reports it.
pub(crate) async fn run(shared: Arc<Shared>, request: GetRequest, transfer: Transfer, questions: Questions) {
    let _ends = transfer.ends_with_its_driver();
    let (paired, mut known) = watch::channel(None);
    let destination = request.destination.clone();
    let work = Box::pin(get(&shared, request, questions, &transfer, &paired));
    let ended = stop_when(forgotten(&shared, &mut known), &transfer, work).await;
    shared.wrote_into(&destination);
    transfer.end(ended);
}

async fn get(
    shared: &Arc<Shared>,
    request: GetRequest,
    questions: Questions,
    transfer: &Transfer,
    paired: &Paired,
) -> Result<Arrived, Fault> {
    // Before anything can land in them.
    own_folders::make(&shared.paths)?;
    shared.check_folder(&request.destination, request.accept.into_home)?;
    let io = IoPlan::for_writing(request.options.io)?;
    let paths = PathTaken { tls: lane::plan(request.options.tls)?, io: io.path() };
    transfer.figures().here = Some(paths);
    let retry = request.options.retry.map(|retry| retry.min(RETRY_MAX)).unwrap_or_default();
    transfer.figures().goes_on_for(retry);
    let site = Site { shared: Arc::clone(shared), paths, io, confined: confinement().is_ok() };
    let wanted = Request::new(&request, transfer.id(), retry)?;
    transfer.figures().limit_asked = request.options.limit.is_some();
    let mut getting = Getting {
        site,
        transfer,
        paired,
        request,
        questions,
        wanted,
        retry,
        first: None,
        taking: None,
        earlier: Earlier::default(),
        full: None,
        moved: 0,
    };
    try_all(transfer, retry, &mut getting).await
}

/// A device that was asked, and what it offers.
struct Asking {
    reached: Reached,
    offer: Offer,
    names: Arc<OfferedNames>,
}

/// A disk here that is full.
struct Full {
    /// What it had when it was found full.
    before: Option<FreeSpace>,
    /// When the serving device was last told so.
    told: Instant,
}

/// Something that is got, over all its attempts.
struct Getting<'a> {
    site: Site,
    transfer: &'a Transfer,
    paired: &'a Paired,
    request: GetRequest,
    /// What is asked beside it.
    questions: Questions,
    wanted: Request,
    retry: Duration,
    /// The device that the first attempt reached: every other one goes to it or fails.
    first: Option<First>,
    /// How it is taken in, once it was offered.
    taking: Option<Taking>,
    /// What earlier sessions have brought.
    earlier: Earlier,
    /// The disk here is full.
    full: Option<Full>,
    /// Bytes that the last session has brought.
    moved: u64,
}

impl Attempt for Getting<'_> {
    fn take_moved(&mut self) -> u64 {
        std::mem::take(&mut self.moved)
    }

    async fn attempt(&mut self) -> Result<Arrived, Fault> {
        // Space is of no use to what is cancelled.
        let full = self.full.as_ref().filter(|_| self.transfer.goodbye_time().is_none());
        if let (Some(Full { before, told }), Some(taking)) = (full, &self.taking) {
            if !taking.has_space(*before).await {
                let shortage = taking.shortage();
                if told.elapsed() >= (self.retry / 4).clamp(FULL_LOOK_EVERY, FULL_TOLD_EVERY_MAX) {
                    self.tell_full(shortage).await?;
                }
                return Err(Fault::DestinationFull { shortage: Some(shortage) });
            }
            self.full = None;
        }
        let before = self.transfer.figures().moved_in_all();
        let ended = self.session().await;
        self.moved = self.transfer.figures().moved_in_all().saturating_sub(before);
        let is_full = matches!(&ended, Err(Fault::DestinationFull { .. } | Fault::Declined(DeclineReason::NoRoom(_))));
        if is_full {
            let before = free_space::look(&self.request.destination);
            self.full = Some(Full { before, told: Instant::now() });
        }
        ended
    }
}

impl Getting<'_> {
    /// Reaches the device and asks for it: what it offers then.
    async fn ask(&mut self) -> Result<Asking, Fault> {
        let (shared, transfer) = (Arc::clone(&self.site.shared), self.transfer);
        // Later attempts are made by who tries again.
        let patience = if self.first.is_none() { self.retry } else { Duration::ZERO };
        let destination = First::destination(self.first.as_ref(), &shared, &self.request.target)?;
        let code = self.request.options.code.take();
        let mut reached = reached_for(transfer, reach(&shared, &destination, code, patience)).await?;
        transfer.known_peer(reached.device.id, &reached.device.name);
        if self.first.is_none() {
            let pairing = shared.store.pairing(reached.device.id)?;
            self.paired.send_replace(Some(pairing));
        }
        let address = reached.address.clone();
        self.first.get_or_insert_with(|| First { device: reached.device.clone(), address });
        let session = &mut reached.session;
        session.machine.get(self.wanted.get.clone(), Arc::clone(&self.wanted.selected));
        transfer.figures().await_answer(false);
        let error = match self.offered(session).await {
            Ok((offer, names)) => return Ok(Asking { reached, offer, names }),
            Err(error) => error,
        };
        Err(self.leave(reached.session, error).await)
    }

    /// Ends a session in which nothing was taken in, and says why.
    async fn leave(&self, mut session: Session, error: Fault) -> Fault {
        say_whole(&mut session, self.transfer).await;
        session.machine.cancel(goodbye(Some(&error)));
        let has_heard = session.close_heard().await;
        match error {
            // Nobody knows whether the other end has heard that it is paused.
            Fault::Paused { by: Side::Here } if !has_heard => Fault::lost(std::io::ErrorKind::UnexpectedEof),
            error => error,
        }
    }

    /// Tells the serving device that this one still waits for space, and hears what was decided
    /// there meanwhile.
    ///
    /// # Errors
    /// Only what ends the transfer: a device that cannot be reached may be there when there is
    /// space.
    async fn tell_full(&mut self, shortage: Shortage) -> Result<(), Fault> {
        let asked = self.ask().await;
        if let Some(full) = &mut self.full {
            full.told = Instant::now();
        }
        match asked {
            Ok(Asking { reached: Reached { mut session, .. }, .. }) => {
                session.machine.cancel(Cancel::DestinationFull(shortage));
                session.close().await;
                Ok(())
            }
            Err(error) if outage(&error).is_some_and(|outage| !matches!(outage, Outage::Paused { .. })) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn session(&mut self) -> Result<Arrived, Fault> {
        let (shared, transfer) = (Arc::clone(&self.site.shared), self.transfer);
        let Asking { reached, offer, names } = self.ask().await?;
        let Reached { mut session, tickets, addresses, round_trip, device, .. } = reached;
        let offer = match self.counted(&mut session, offer).await {
            Ok(offer) => offer,
            Err(error) => return Err(self.leave(session, error).await),
        };
        self.take_from(&device, names)?;
        let Some(taking) = &self.taking else { return Err(Fault::machine("nothing is taken in")) };
        transfer.figures().found(offer.so_far);
        let prepared = match taking.prepare(&offer).await {
            Ok(prepared) => prepared,
            Err((error, why)) => {
                why.tell(&mut session);
                session.close().await;
                return Err(error);
            }
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let first = self.request.options.lanes.unwrap_or_else(|| initial_lanes(cores, round_trip)).max(1);
        let opener = Arc::new(LaneOpener {
            shared,
            transfer: transfer.clone(),
            tickets,
            addresses,
            peer: device.id,
            needed: first,
            tls: self.site.paths.tls,
            stops: LaneStops::default(),
        });
        let (dialling, admitted) = Dialling::new(opener, first, Taking::lanes_max(&offer));
        let opened = Opened { session, offer, prepared, lanes: (admitted, LanesFrom::Here(dialling)) };
        let ended = taking.session(opened, self.earlier, None, Some(&mut self.questions)).await;
        match ended {
            Ended::Over(ended) => {
                self.wanted.fail_unfit(transfer);
                ended.map(|whole| whole.arrived)
            }
            Ended::Lost(lost) => {
                self.earlier.add(&lost.incoming);
                let is_pause = matches!(lost.error, Fault::Paused { by: Side::Here });
                // As above.
                if is_pause && !lost.heard.await.unwrap_or(false) {
                    return Err(Fault::lost(std::io::ErrorKind::UnexpectedEof));
                }
                Err(lost.error)
            }
        }
    }

    /// Waits for the offer of what was asked for.
    async fn offered(&self, session: &mut Session) -> Result<(Offer, Arc<OfferedNames>), Fault> {
        let answer_by = Instant::now() + ANSWER_TIME_MAX;
        // As with what is sent: a cancel is said before the answer is heard.
        if let Some(stopped) = self.transfer.stopped() {
            return Err(stopped);
        }
        loop {
            tokio::select! {
                event = session.next() => match event? {
                    // The other end may not know yet that it is paused here.
                    Some(Event::Offered(..)) if self.transfer.is_paused() => {
                        return Err(Fault::Paused { by: Side::Here });
                    }
                    Some(Event::Offered(offer, names)) => return Ok((offer, Arc::new(names))),
                    // What is taken back while it is got is told apart from what was never shared.
                    Some(Event::GetRefused(GetRefusal::NoShare)) if self.transfer.figures().has_begun() => {
                        return Err(Fault::NoLongerShared { by: Side::There });
                    }
                    Some(Event::GetRefused(refusal)) => {
                        return Err(request::refused(refusal, &self.request));
                    }
                    Some(Event::Declined(reason)) => {
                        if reason == DeclineReason::Busy {
                            self.transfer.figures().turn_away();
                        }
                        return Err(Fault::Declined(reason));
                    }
                    Some(Event::Cancelled(cancel)) => return Err(decode_cancel(cancel)),
                    Some(Event::Refused(Refusal::NotPaired)) => {
                        let peer_name = self.transfer.peer().map(|(_, name)| name).unwrap_or_default();
                        return Err(AuthError::PairingNeeded { peer_name: peer_name.into() }.into());
                    }
                    Some(Event::Refused(Refusal::PairingBusy(_))) => {
                        self.transfer.figures().turn_away();
                        return Err(Fault::Declined(DeclineReason::Busy));
                    }
                    Some(Event::Refused(refusal)) => return Err(refused(refusal, None)),
                    Some(_) => {}
                    None => return Err(Fault::lost(std::io::ErrorKind::UnexpectedEof)),
                },
                () = sleep_until(answer_by) => return Err(Fault::Stalled { seconds: ANSWER_TIME_MAX.as_secs() }),
                stopped = self.transfer.cancelled() => return Err(stopped),
            }
        }
    }

    /// Waits for the size of what is offered while it may not fit: then nothing of it comes. The
    /// first word, of what was counted in a tenth of a second, tells of most that it will fit,
    /// unless the other end counts slowly. What is found later to be too much ends the session
    /// ([`Taking::session`]).
    async fn counted(&self, session: &mut Session, mut offer: Offer) -> Result<Offer, Fault> {
        let free = free_space::look(&self.request.destination).filter(|free| free.is_exact);
        let Some(free) = free.map(|free| free.free_bytes).filter(|free| *free < SCARCE_BYTES) else {
            return Ok(offer);
        };
        let until = Instant::now() + COUNTED_TIME_MAX;
        let is_open = |so_far: &Totals| {
            !so_far.complete && (so_far.entries < COUNTED_ENTRIES_MIN || (free / 10..=free).contains(&so_far.bytes))
        };
        while !self.transfer.figures().has_begun() && is_open(&offer.so_far) {
            tokio::select! {
                event = session.next() => match event? {
                    Some(Event::TotalsChanged(totals)) => offer.so_far = totals,
                    Some(Event::Cancelled(cancel)) => return Err(decode_cancel(cancel)),
                    Some(Event::EntryFailed(failed)) => self.transfer.figures().fail(decode_failure(failed)),
                    Some(_) => {}
                    None => return Err(Fault::lost(std::io::ErrorKind::UnexpectedEof)),
                },
                () = sleep_until(until) => break,
                stopped = self.transfer.cancelled() => return Err(stopped),
            }
        }
        Ok(offer)
    }

    /// How it is taken in: in every session as in the first one. A source that has other names at
    /// the top meanwhile begins anew there.
    fn take_from(&mut self, device: &Device, names: Arc<OfferedNames>) -> Result<(), Fault> {
        if self.taking.as_ref().is_some_and(|taking| taking.names != names) {
            self.taking = None;
        }
        if self.taking.is_none() {
            let shared = &self.site.shared;
            let destination = self.request.destination.clone();
            self.taking = Some(Taking {
                site: self.site.clone(),
                transfer: self.transfer.clone(),
                from: device.clone(),
                pairing: shared.store.pairing(device.id)?,
                options: AcceptOptions { destination: Some(destination.clone()), ..self.request.accept.clone() },
                expected: shared.expect_again(&destination, self.request.folder.as_ref()),
                destination,
                drop: None,
                names,
                allowance: None,
                keeps: true,
                asked: self.wanted.asked(),
                tops: TopsAtFirst::default(),
                timeout: self.request.options.timeout.map(|timeout| timeout.max(STALL_TIME_MIN)),
            });
        }
        Ok(())
    }
}
