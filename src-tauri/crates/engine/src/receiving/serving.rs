//! Serves what a paired device gets from a share here: offers it, and sends it to the end, over as
//! many sessions as that takes. The right to read the share is consent.
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ringway_link::bottleneck::Clocks;
use ringway_link::lane::LaneStops;
use ringway_link::rate_limit::RateLimiter;
use ringway_model::{
    DeclineReason, Direction, Fault, Invalid, Outage, PathTaken, RateLimit, ShareTrouble, Side, TransferId, TransferKey,
};
use ringway_sys::attributes::Metadata;
use ringway_sys::confine;
use ringway_tree::compression::Packed;
use ringway_tree::descriptors::ForSending;
use ringway_tree::send::{Guard, Outgoing};
use ringway_wire::OfferedNames;
use ringway_wire::control::{GetPath, GetRefusal};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

use super::answering::Answers;
use super::event::ReceiverEvent;
use super::gets::{Entered, Entry, Requester};
use super::listening::Listening;
use super::parting;
use super::wait::Wait;
use super::wanted::{NO_DESCRIPTORS, Wanted, is_for_now};
use crate::admission::{Origin, boot_ms};
use crate::devices::reference::PathInShare;
use crate::limits::{
    FULL_TIME_MAX, LANES_MAX, PAUSE_TIME_MAX, RECORDS_PER_KEY_MAX, RECORDS_PER_KEY_MIN, RENEWAL_TIME_MAX,
    SERVED_STALL_TIME_MAX,
};
use crate::send::attempts::outage;
use crate::send::lanes::LaneOrigin;
use crate::send::{Confine, Job, goodbye};
use crate::shared::Grant;
use crate::store::history::Record;
use crate::transfers::transfer::{Arrived, Transfer};

/// Serves a request, or takes it to what it goes on with.
pub(crate) async fn run(listening: Arc<Listening>, mut asker: Requester) {
    let refuse = |mut asker: Requester, refusal| async move {
        asker.session.machine.refuse_get(refusal);
        asker.session.close().await;
    };
    if !listening.serves() {
        return refuse(asker, GetRefusal::NotServed).await;
    }
    let (device, now_ms) = (Origin::Device(asker.device.id), boot_ms());
    if !listening.requests_for_shares.take(device, now_ms) {
        let wait_ms = u32::try_from(listening.requests_for_shares.wait_ms(device, now_ms)).unwrap_or(u32::MAX);
        return decline(asker, DeclineReason::TooManyOffers { wait_ms }).await;
    }
    let (entry, renewed) = match listening.listeners.gets.enter(&asker) {
        Entered::New(entry, renewed) => (entry, renewed),
        Entered::Ended(refusal) => return refuse(asker, refusal).await,
        Entered::Full => return decline(asker, DeclineReason::Busy).await,
        Entered::Renewed(to) => {
            // It is just ending, or just being renewed: a moment later it is clear which.
            if let Err(mpsc::error::TrySendError::Full(back) | mpsc::error::TrySendError::Closed(back)) =
                to.try_send(asker)
            {
                decline(back, DeclineReason::Busy).await;
            }
            return;
        }
    };
    let opened = match open(&listening, &mut asker, None).await {
        Ok(opened) => opened,
        Err(refusal) if is_for_now(refusal) => return decline(asker, DeclineReason::Busy).await,
        Err(refusal) => return refuse(asker, refusal).await,
    };
    let (transfer, from) = match transfer(&listening, &asker, &opened) {
        Some(transfer) => transfer,
        None => return decline(asker, DeclineReason::Busy).await,
    };
    let key = TransferKey { id: transfer.id(), from: Some(asker.device.id) };
    if from.is_some_and(|from| listening.shared.store.has_ended(Direction::Sending, key, &from)) {
        return refuse(asker, GetRefusal::NoShare).await;
    }
    let retry = Duration::from_secs(asker.get.retry_s.into()).min(RENEWAL_TIME_MAX);
    {
        let mut figures = transfer.figures();
        figures.goes_on_for(retry);
        figures.here = Some(paths(&listening));
    }
    let _ends = transfer.ends_with_its_driver();
    transfer.note_as_it_runs();
    listening.tell(ReceiverEvent::TransferStarted(transfer.clone())).await;
    let (shared, grant, pairing) = (Arc::clone(&listening.shared), opened.grant, asker.pairing);
    let serving = Serving { listening, transfer: transfer.clone(), retry };
    asker.get.retry_s = retry.as_secs() as u32;
    let ended = {
        // On the heap: each connection's task, a stranger's too, has room for all that it may come
        // to.
        let mut work = Box::pin(serving.all(asker, opened, &entry, renewed));
        let revoked = async {
            shared.revoked(grant).await;
            match shared.store.is_current(pairing) {
                // Its device hears the same as where the share was taken back.
                Ok(false) => transfer.stop_as_forgotten(),
                _ => transfer.stop_as_not_shared(),
            }
        };
        tokio::select! {
            biased;
            () = revoked => work.await,
            ended = &mut work => ended,
        }
    };
    let refusal = match &ended {
        Err(Fault::Cancelled { by: Side::Here, .. }) => Some(GetRefusal::Cancelled),
        Err(_) if transfer.is_cancelled() => Some(GetRefusal::Cancelled),
        // Also where the same is shared again before its device asks: it may have been paused here.
        Err(Fault::NoLongerShared { by: Side::Here }) => Some(GetRefusal::NoShare),
        _ => None,
    };
    if let Some(refusal) = refusal {
        // Its device may be about to ask for more, or wait for its disk before it does.
        entry.ended(refusal, Instant::now() + retry.max(FULL_TIME_MAX).max(PAUSE_TIME_MAX));
    }
    transfer.end(ended);
}

/// How what is got is read and encrypted.
fn paths(listening: &Listening) -> PathTaken {
    PathTaken { io: listening.reading.path(), ..listening.paths }
}

async fn decline(mut asker: Requester, reason: DeclineReason) {
    asker.session.machine.decline(reason);
    asker.session.close().await;
}

/// Declines more of a transfer that waits for its device.
async fn decline_for_now(mut asker: Requester, reason: DeclineReason, transfer: Transfer) {
    asker.session.machine.decline(reason);
    parting::close(asker.session, &transfer).await;
}

/// What was asked for, open.
struct Opened {
    outgoing: Arc<Outgoing>,
    confine: Confine,
    grant: Grant,
}

/// Opens the share and what was asked for in it, on a thread that may wait for a disk.
async fn open(
    listening: &Arc<Listening>,
    asker: &mut Requester,
    offered: Option<Arc<OfferedNames>>,
) -> Result<Opened, GetRefusal> {
    let (shared, confined) = (Arc::clone(&listening.shared), listening.confinement.is_ok());
    let (device, get) = (asker.device.id, asker.get.clone());
    let share = get.share.clone();
    let selected = std::mem::take(&mut asker.selected);
    let opening = move || {
        let share = shared.open_share(device, &get.share).map_err(|fault| match fault {
            Fault::ShareUnavailable { trouble, .. } => GetRefusal::Unavailable(trouble),
            Fault::NotShared { .. } => GetRefusal::NoShare,
            // Nor can this device's own state be read.
            _ => NO_DESCRIPTORS,
        })?;
        let root = Arc::new(share.root);
        let confine: Confine = {
            let root = Arc::clone(&root);
            Arc::new(move || if confined { confine::thread_reads_beneath(&*root) } else { Ok(()) })
        };
        let own = share.own;
        // Files as well: a name of the private key may lie anywhere, as a hard link or a mount.
        let hides = Arc::new(move |there: &Metadata| own.has(there) || own.hang_on(there));
        let guard = Guard { confine: Arc::clone(&confine), hides };
        let wanted = Wanted::new(&get, &selected)?;
        drop(selected);
        let outgoing = wanted.look(|wanted| Outgoing::start_beneath(&root, wanted, offered, guard))?;
        Ok(Opened { outgoing, confine, grant: share.grant })
    };
    let (say, opened) = oneshot::channel();
    // A thread that nothing waits for at the end of this program: it may get no answer.
    let opens = move || drop(say.send(opening()));
    if std::thread::Builder::new().name("ringway-open".into()).spawn(opens).is_err() {
        return Err(NO_DESCRIPTORS);
    }
    tokio::select! {
        opened = opened => opened.expect("opening a share does not panic"),
        () = listening.shared.hangs(share) => Err(GetRefusal::Unavailable(ShareTrouble::NotAnswering)),
    }
}

/// What is shown and recorded of it, and the first path that it comes from; none if the store
/// cannot be read.
fn transfer(listening: &Listening, asker: &Requester, opened: &Opened) -> Option<(Transfer, Option<PathBuf>)> {
    let Requester { device, get, .. } = asker;
    let (names, more) = opened.outgoing.names();
    let more = (names.len() as u64).saturating_add(more).saturating_sub(1);
    let title = names.into_iter().next().map(OsString::from_vec).unwrap_or_default();
    let store = Arc::clone(&listening.shared.store);
    let folder = store.share(&get.share).ok()??.shared.folder;
    let path = |path: &GetPath| folder.join(OsString::from_vec(path.path.clone()));
    let paths: Vec<_> = get.paths.iter().take(crate::store::history::PAST_PATHS_MAX).map(path).collect();
    let from = paths.first().cloned();
    let first = get.paths.first().map(|first| PathInShare::new(get.share.clone(), first.path.clone(), false));
    let in_share = first.and_then(Result::ok).as_ref().map(PathInShare::shown);
    let record = Record { paths, in_share, ..Record::of(&store) };
    let transfer = Transfer::new(TransferId(get.transfer), Direction::Sending, (title, more), Some(record)).asked_for();
    transfer.known_peer(device.id, &device.name);
    Some((transfer, from))
}

/// Something that is served, over all its sessions.
struct Serving {
    listening: Arc<Listening>,
    transfer: Transfer,
    /// For how long its device asks for it again.
    retry: Duration,
}

impl Serving {
    async fn all(
        &self,
        mut asker: Requester,
        mut opened: Opened,
        entry: &Entry,
        mut renewed: mpsc::Receiver<Requester>,
    ) -> Result<Arrived, Fault> {
        let packed = Arc::<Packed>::default();
        loop {
            let offered = Arc::clone(opened.outgoing.offered());
            let (ended, next) = self.session(asker, opened, &mut renewed, &packed).await;
            let error = match ended {
                Ok(arrived) => return Ok(arrived),
                Err(error) => error,
            };
            // What did not fit before its first byte is not waited for: its device has ended it.
            let is_over = matches!(error, Fault::Declined(_)) && !self.transfer.figures().has_begun();
            let Some(why) = outage(&error).filter(|_| !self.retry.is_zero() && !is_over) else { return Err(error) };
            entry.interrupted();
            let mut next = next;
            (asker, opened) = loop {
                asker = match next.take() {
                    Some(next) => next,
                    None => self.wait(why, error.clone(), &mut renewed).await?,
                };
                match open(&self.listening, &mut asker, Some(Arc::clone(&offered))).await {
                    Ok(opened) => break (asker, opened),
                    Err(refusal) if is_for_now(refusal) => {
                        decline_for_now(asker, DeclineReason::Busy, self.transfer.clone()).await;
                    }
                    Err(refusal) => {
                        asker.session.machine.refuse_get(refusal);
                        asker.session.close().await;
                        return Err(match refusal {
                            GetRefusal::NoShare => Fault::NoLongerShared { by: Side::Here },
                            _ => Fault::Gone,
                        });
                    }
                }
            };
            entry.renewed(asker.get.transfer);
        }
    }

    /// Sends what one session takes; with the next one where that came before the end of this one
    /// was noticed.
    async fn session(
        &self,
        asker: Requester,
        opened: Opened,
        renewed: &mut mpsc::Receiver<Requester>,
        packed: &Arc<Packed>,
    ) -> (Result<Arrived, Fault>, Option<Requester>) {
        let Requester { mut session, tickets, device, get, .. } = asker;
        let Opened { outgoing, confine, .. } = opened;
        let lanes = get.lanes.min(LANES_MAX).min(ForSending::here().lanes).max(1);
        let key = (device.id, get.transfer);
        let Some((door, admitted)) = self.listening.listeners.open_door(key, tickets, lanes) else {
            session.machine.decline(DeclineReason::Busy);
            session.close().await;
            return (Err(Fault::Invalid(Invalid::Running)), None);
        };
        if get.prove {
            outgoing.prove();
        }
        outgoing.delta(get.delta);
        let asked = get.limit.and_then(|limit| RateLimit::new(limit.get()).ok());
        let ours = self.listening.shared.settings().send_limit;
        let limit = asked.into_iter().chain(ours).min_by_key(|limit| limit.bytes_per_s());
        {
            let mut figures = self.transfer.figures();
            (figures.limit, figures.limit_asked) = (limit, limit.is_some() && limit == asked);
        }
        let records = get.records_per_key.map_or(RECORDS_PER_KEY_MAX, |records| records.get());
        let job = Job {
            transfer: &self.transfer,
            id: get.transfer,
            outgoing: &outgoing,
            stops: LaneStops::default(),
            paths: paths(&self.listening),
            io: self.listening.reading,
            records_per_key: records.clamp(RECORDS_PER_KEY_MIN, RECORDS_PER_KEY_MAX),
            limiter: limit.map(|limit| Arc::new(RateLimiter::new(limit))),
            clocks: Clocks::default(),
            compression: get.compression,
            verify: get.prove,
            in_share: None,
            packed: Arc::clone(packed),
            relay: Arc::default(),
            lanes_first: 1,
            lanes_max: lanes,
            retry: self.retry,
            handed: None,
            timeout: Some(SERVED_STALL_TIME_MAX),
            confine: Some(confine),
        };
        let mut successor = None;
        let mut answers = Answers::beside(&self.listening, device.id);
        let ended = tokio::select! {
            ended = job.run(&mut session, LaneOrigin::Admitted(admitted), Some(&mut answers)) => ended,
            Some(next) = renewed.recv() => {
                successor = Some(next);
                Err(Fault::lost(std::io::ErrorKind::ConnectionAborted))
            }
        };
        drop((door, answers));
        self.transfer.figures().hand_over(outgoing.handed_over());
        outgoing.cancel();
        job.stop();
        session.machine.cancel(goodbye(ended.as_ref().err()));
        if ended.as_ref().is_err_and(|error| error.outage().is_some()) {
            // The other end may be unreachable, so its goodbye is not waited for.
            tokio::spawn(session.close());
        } else if matches!(ended, Err(Fault::Paused { .. })) {
            // A requester that has cancelled in this moment does not come again.
            parting::close(session, &self.transfer).await;
        } else {
            session.close().await;
        }
        (ended, successor)
    }

    /// Waits until its device asks for it again.
    async fn wait(
        &self,
        outage: Outage,
        error: Fault,
        renewed: &mut mpsc::Receiver<Requester>,
    ) -> Result<Requester, Fault> {
        // A device that has paused is silent until it goes on. One that waits for its disk says so
        // again and again, and one that hears of a pause here asks again.
        let rests = (outage == Outage::Paused { by: Side::There }).then_some(PAUSE_TIME_MAX);
        let mut wait = Wait::new(self.retry, rests);
        let mut pauses = self.transfer.pauses();
        loop {
            wait.turn(self.transfer.is_paused());
            self.transfer.figures().interrupt(wait.why(outage), None, wait.shown_end(None).into_std());
            tokio::select! {
                next = renewed.recv() => {
                    // Another request of its device has taken its place.
                    let Some(next) = next else { return Err(error) };
                    wait.hear();
                    if !wait.is_paused_here() {
                        return Ok(next);
                    }
                    tokio::spawn(decline_for_now(next, DeclineReason::Paused, self.transfer.clone()));
                }
                Ok(()) = pauses.changed() => {}
                () = sleep_until(wait.next_look().unwrap_or_else(Instant::now)), if wait.next_look().is_some() => {}
                () = sleep_until(wait.ends(None)) => return Err(wait.over(error)),
                // Everything may be there already.
                stopped = self.transfer.cancelled() => {
                    return Err(if self.transfer.is_handed_over() { error } else { stopped });
                }
            }
        }
    }
}
