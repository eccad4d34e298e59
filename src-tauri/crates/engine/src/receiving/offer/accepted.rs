//! An accepted transfer, over all its sessions: each is received until it ends; where the
//! connection is lost, the next one is waited for.
mod waiting;

use std::collections::hash_map::Entry;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ringway_link::lane::Lane;
use ringway_link::session::Session;
use ringway_link::tls::Channel;
use ringway_model::{
    DeclineReason, Device, DeviceRule, Direction, Fault, FreeSpace, Invalid, Outage, Side, TransferId,
};
use ringway_tree::filesystem::free_space::{self, is_full_errno};
use ringway_tree::limits::ARRIVED_LISTED_MAX;
use ringway_tree::receive::{Allowance, AttemptKey, Brought, DestinationOptions, Expected, Incoming, Results};
use ringway_tree::receive::{Homes, OwnFolders};
use ringway_wire::OfferedNames;
use ringway_wire::control::{Cancel, Offer, Receipt, Wanted};
use ringway_wire::session::Acceptor;
use tokio::sync::mpsc;

use super::acceptance::Acceptance;
use super::job::{Job, on_its_own};
use super::outside::Outside;
use crate::admission::descriptors::ForReceiving;
use crate::limits::{LANES_MAX, RENEWAL_TIME_MAX};
use crate::local::own_folders;
use crate::receiving::door::{Entrance, LaneDoor};
use crate::receiving::event::ReceiverEvent;
use crate::receiving::listening::Listening;
use crate::receiving::queue::Place;
use crate::receiving::renewals::Renewed;
use crate::receiving::visitor::Visitor;
use crate::store::PairingNumber;
use crate::store::history::Record;
use crate::transfers::forgetting::stop_when;
use crate::transfers::options::AcceptOptions;
use crate::transfers::transfer::{Arrived, Transfer};

/// Answers to lists that wait to be sent.
const ANSWERS_WAITING_MAX: usize = 16;

/// A transfer that was accepted, and how.
pub(super) struct Accepted {
    listening: Arc<Listening>,
    transfer: Transfer,
    from: Device,
    /// The pairing in which it was accepted.
    pairing: PairingNumber,
    options: AcceptOptions,
    /// The device's rule, where that has accepted it.
    rule: Option<DeviceRule>,
    destination: PathBuf,
    /// What is to be there, in each of its sessions.
    expected: Expected,
    /// For how long its sender offers it again.
    retry: Duration,
    /// All its top-level names: each session has the same, and they are held once.
    names: Arc<OfferedNames>,
    /// What may come in all its sessions together.
    allowance: Option<Arc<Allowance>>,
}

/// A session, and what it is received with.
pub(super) struct Opened {
    session: Session<Acceptor>,
    offer: Offer,
    incoming: Arc<Incoming>,
    to_answer: mpsc::Receiver<Wanted>,
    joined: mpsc::UnboundedReceiver<(u8, Channel)>,
    successors: Vec<Option<mpsc::Receiver<Result<Lane, Fault>>>>,
    /// What there was room for, where all that is found must fit into it.
    free_space: Option<FreeSpace>,
}

/// How a session ended.
enum Ended {
    /// And with it the transfer.
    Over(Box<Result<Whole, Fault>>),
    Lost(Box<Lost>),
}

/// What earlier sessions of a transfer have brought.
#[derive(Clone, Copy, Default)]
struct Earlier {
    /// Files and links.
    came: u64,
    /// Bytes that were sent.
    moved: u64,
    /// Bytes that were in what their files replace.
    reused: u64,
}

impl Earlier {
    fn add(&mut self, session: &Results) {
        self.came += session.came();
        self.moved += session.moved();
        self.reused += session.reused();
    }

    /// The last session's receipt, as one of all.
    fn and(self, receipt: Receipt) -> Receipt {
        let there = receipt.there;
        // Files that were not compared were there before this transfer, whatever its earlier
        // sessions have brought.
        let uncompared = receipt.proven.map_or(0, |proven| there.files.saturating_sub(proven.files));
        let unchanged = receipt.unchanged.saturating_sub(self.came).max(uncompared.saturating_sub(receipt.skipped));
        let moved = receipt.moved.saturating_add(self.moved).min(there.bytes.saturating_sub(receipt.skipped_bytes));
        let reused = receipt.reused.saturating_add(self.reused).min(there.bytes);
        Receipt { moved, unchanged, reused, ..receipt }
    }
}

/// All of it is there.
struct Whole {
    arrived: Arrived,
    /// As its sender was, or is to be, told.
    receipt: Receipt,
}

/// The connection was lost.
struct Lost {
    error: Fault,
    outage: Outage,
    /// What is whole is kept by it.
    incoming: Arc<Incoming>,
    successor: Option<Renewed>,
}

impl Accepted {
    pub(super) fn new(
        listening: Arc<Listening>,
        visitor: &Visitor,
        (options, acceptance): (AcceptOptions, Acceptance),
    ) -> Self {
        let Visitor { device, pairing, offer, .. } = visitor;
        let title = offer.names.first().cloned().map(OsString::from_vec).unwrap_or_default();
        let more = (offer.names.len() as u64).saturating_add(offer.more_names).saturating_sub(1);
        let destination = options.destination.clone().unwrap_or_else(|| listening.landing().destination.clone());
        let expected = listening.shared.expect(&destination);
        let store = Arc::clone(&listening.shared.store);
        let record = Record { store, target: None, paths: vec![destination.clone()], resend: None };
        let transfer = Transfer::new(TransferId(offer.transfer), Direction::Receiving, (title, more), Some(record));
        transfer.known_peer(device.id, &device.name);
        let retry = renewal_time(offer.retry_s);
        let allowance = Allowance::of(options.bytes_max, options.shown).map(Arc::new);
        Self {
            listening,
            transfer,
            from: device.clone(),
            pairing: *pairing,
            options,
            rule: (acceptance == Acceptance::Rule).then(|| device.rule.clone()),
            destination,
            expected,
            retry,
            names: Arc::clone(&visitor.names),
            allowance,
        }
    }

    pub(super) fn transfer(&self) -> &Transfer {
        &self.transfer
    }

    /// Makes ready for a session: the destination, and the door for its lanes. Where that fails the
    /// sender is told, once the session is closed.
    pub(super) async fn open(&self, visitor: Visitor) -> Result<Opened, (Fault, Session<Acceptor>)> {
        let Visitor { mut session, tickets, device, offer, .. } = visitor;
        let (answers, to_answer) = mpsc::channel(ANSWERS_WAITING_MAX);
        let incoming = match self.begin(&offer, answers).await {
            Ok(incoming) => incoming,
            Err(Fault::Path { source, .. }) if is_full_errno(source.errno) => {
                return Err(self.refused_for_space(free_space::look(&self.destination), &offer, session));
            }
            Err(error) => {
                session.machine.decline(DeclineReason::NotWritable);
                return Err((error, session));
            }
        };
        let free_space = self.space_for_all(&incoming);
        if free_space.is_some_and(|free| free.free_bytes < offer.so_far.bytes) {
            // Nothing was written yet.
            self.leave(incoming, |incoming| drop(incoming.keep())).await;
            return Err(self.refused_for_space(free_space, &offer, session));
        }
        let (deliver, joined) = mpsc::unbounded_channel();
        let (entrances, successors) = (0..offer.lanes.min(LANES_MAX).min(ForReceiving::here().lanes))
            .map(|_| {
                let (entrance, successors) = mpsc::channel(1);
                (Entrance { next: 0, joining: false, successors: entrance }, Some(successors))
            })
            .unzip();
        let door = LaneDoor { tickets, entrances, deliver };
        let is_running = match self.listening.listeners.doors().entry((device.id, offer.transfer)) {
            Entry::Vacant(free) => {
                free.insert(door);
                false
            }
            // Inserting a door must not replace one.
            Entry::Occupied(_) => true,
        };
        if is_running {
            // Nothing was written yet, but earlier attempts may have left something.
            self.leave(incoming, |incoming| drop(incoming.keep())).await;
            session.machine.decline(DeclineReason::Busy);
            return Err((Fault::Invalid(Invalid::Running), session));
        }
        Ok(Opened { session, offer, incoming, to_answer, joined, successors, free_space })
    }

    /// What there is room for, where what is offered needs all the room that it is long: nothing of
    /// it can be here already.
    fn space_for_all(&self, incoming: &Incoming) -> Option<FreeSpace> {
        let is_first = !self.transfer.figures().has_begun();
        (is_first && !incoming.lists())
            .then(|| free_space::look(&self.destination))
            .flatten()
            .filter(|free| free.is_exact)
    }

    fn refused_for_space(
        &self,
        free_space: Option<FreeSpace>,
        offer: &Offer,
        mut session: Session<Acceptor>,
    ) -> (Fault, Session<Acceptor>) {
        let rest = {
            let mut figures = self.transfer.figures();
            figures.found(offer.so_far);
            figures.rest()
        };
        let reason =
            DeclineReason::NoRoom(free_space.map(|free| free_space::shortage(&free, rest)).unwrap_or_default());
        session.machine.decline(reason);
        (Fault::Declined(reason), session)
    }

    /// Receives it to its end, over as many sessions as that takes. `is_told`: the program knows of
    /// the transfer.
    pub(super) async fn receive(self, opened: Opened, attempt: AttemptKey, (place, is_told): (Place, bool)) {
        let shared = Arc::clone(&self.listening.shared);
        let (device, pairing) = (self.from.id, self.pairing);
        let transfer = self.transfer.clone();
        // On the heap: each connection's task, a stranger's too, has room for all that it may come
        // to, and each layer doubles that.
        let work = Box::pin(self.receive_all(opened, attempt, (place, is_told)));
        stop_when(shared.forgotten(device, pairing), &transfer, work).await;
    }

    async fn receive_all(self, mut opened: Opened, attempt: AttemptKey, (mut place, is_told): (Place, bool)) {
        let key = ((self.from.id, opened.offer.transfer), self.pairing);
        let remembered = if self.retry.is_zero() {
            None
        } else {
            self.listening.listeners.renewals.open(key, attempt, self.rule.clone())
        };
        let (mut open, mut renewed) = remembered.unzip();
        self.transfer.figures().goes_on = renewed.is_some();
        if !is_told {
            self.listening.tell(ReceiverEvent::TransferStarted(self.transfer.clone())).await;
        }
        let mut earlier = Earlier::default();
        let ended = loop {
            let lost = match self.session(opened, earlier, renewed.as_mut()).await {
                Ended::Over(ended) => break *ended,
                Ended::Lost(lost) => lost,
            };
            earlier.add(lost.incoming.results());
            // Who waits takes no other's place.
            drop(place);
            let (Some(open), Some(renewed)) = (&open, &mut renewed) else { break Err(lost.error) };
            open.interrupted(true);
            let went_on = self.go_on(lost, renewed).await;
            open.interrupted(false);
            (opened, place) = match went_on {
                Ok(next) => next,
                Err(error) => break Err(error),
            };
        };
        match (&ended, open.take()) {
            (Ok(whole), Some(open)) => open.received(self.retry, whole.receipt),
            (Err(Fault::Cancelled { by: Side::Here, .. }), Some(open)) => open.stopped(self.retry),
            _ => {}
        }
        if let Err(Fault::TooMuch { bytes_max, .. }) = &ended {
            self.listening.listeners.renewals.too_much(key, attempt, *bytes_max);
        }
        self.transfer.end(ended.map(|whole| whole.arrived));
    }

    /// Receives what comes in one session, after `earlier` ones.
    async fn session(&self, opened: Opened, earlier: Earlier, renewed: Option<&mut mpsc::Receiver<Renewed>>) -> Ended {
        let Opened { mut session, offer, incoming, to_answer, joined, successors, free_space } = opened;
        session.machine.accept(successors.len() as u8, incoming.lists(), incoming.doubts());
        let transfer = (&self.transfer, (self.from.id, self.pairing));
        let mut job = Job::new(&self.listening, transfer, &incoming, self.destination.clone(), successors, free_space);
        let ended = match job.totals(offer.so_far) {
            Ok(()) => job.run(&mut session, joined, to_answer, renewed).await,
            Err(error) => Err(error),
        };
        self.listening.listeners.doors().remove(&(self.from.id, offer.transfer));
        let successor = job.successor.take();
        let ended = match ended {
            // Who has everything does not need it again, but its sender needs the receipt.
            Err(error) if error.outage().is_some() => job.finished().await.unwrap_or(Err(error)),
            ended => ended,
        };
        let error = match ended.map(|all| (self.is_paired(), all)) {
            // What has its name by now stays, and its sender hears nothing of it any more.
            Ok((Ok(false), _)) => {
                self.transfer.stop_as_forgotten();
                Fault::cancelled(Side::Here)
            }
            // Nor where nobody can tell.
            Ok((Err(error), _)) => error,
            Ok((Ok(true), (receipt, paths))) => {
                let receipt = earlier.and(receipt);
                self.note_made(&incoming);
                let whole = self.whole(receipt, paths, incoming.left_behind());
                session.machine.receipt(receipt);
                session.close().await;
                return Ended::Over(Box::new(Ok(whole)));
            }
            Err(error) => error,
        };
        let (error, outage) = match error {
            Fault::DestinationFull { .. } => {
                let shortage = self.shortage();
                (Fault::DestinationFull { shortage: Some(shortage) }, Some(Outage::Full(shortage)))
            }
            error @ Fault::Paused { by: side } => (error, Some(Outage::Paused { by: side })),
            error => {
                let outage = error.outage();
                (error, outage)
            }
        };
        if matches!(error, Fault::NotPublished { .. }) {
            // The sender hears of which name it is.
            job.report_failures(&mut session);
        }
        session.machine.cancel(match &error {
            Fault::Cancelled { by: Side::Here, kept: false } => Cancel::ByPerson,
            Fault::Cancelled { by: Side::Here, kept: true } => Cancel::ByPersonKeeping,
            Fault::Paused { .. } => Cancel::Paused,
            Fault::DestinationFull { shortage } => Cancel::DestinationFull(shortage.unwrap_or_default()),
            Fault::TooMuch { bytes_max, .. } => Cancel::TooMuch(*bytes_max),
            _ if outage.is_some() => Cancel::ConnectionLost,
            _ => Cancel::Failed,
        });
        // The sender should hear at once, not after the cleaning; if it cannot, it notices the cut.
        let closing = tokio::spawn(session.close());
        // Who breaks the rules of a transfer does not continue it, nor does who stops it and says
        // that nothing is to be kept.
        let keep = outage.is_some() || !matches!(error, Fault::Cancelled { kept: false, .. } | Fault::Protocol { .. });
        job.abandon(keep).await;
        self.note_made(&incoming);
        match outage {
            Some(outage) => Ended::Lost(Box::new(Lost { error, outage, incoming, successor })),
            None => {
                // Whether it was heard changes nothing here.
                let _ = closing.await;
                Ended::Over(Box::new(Err(error)))
            }
        }
    }

    /// Whether its device was not forgotten since it was accepted.
    fn is_paired(&self) -> Result<bool, Fault> {
        self.listening.shared.store.is_paired_as(self.from.id, self.pairing)
    }

    /// Remembers which top-level names the device's own things have here, as they are: a link among
    /// them is not what it points to.
    fn note_made(&self, incoming: &Incoming) {
        let keyed = |(top, brought): (Vec<u8>, _)| (received_key(&self.destination, &top), brought);
        let all: Vec<_> = incoming.take_brought().into_iter().map(keyed).collect();
        if !all.is_empty() {
            // Losing this note only means a numbered folder next time.
            let _ = self.listening.shared.store.note_brought((self.from.id, self.pairing), &all);
        }
    }

    fn whole(&self, receipt: Receipt, paths: Vec<PathBuf>, left_behind: Option<PathBuf>) -> Whole {
        let failed_there = self.transfer.figures().failed_there;
        let arrived = Arrived {
            paths: paths.into_iter().take(ARRIVED_LISTED_MAX).collect(),
            left_behind,
            ..Arrived::by(&receipt, receipt.moved, failed_there)
        };
        Whole { arrived, receipt }
    }

    async fn begin(&self, offer: &Offer, answers: mpsc::Sender<Wanted>) -> Result<Arc<Incoming>, Fault> {
        let destination = self.destination.clone();
        let Device { id: from, name, .. } = self.from.clone();
        let outside = Outside::new();
        let brought_before = {
            let (shared, destination, outside) =
                (Arc::clone(&self.listening.shared), destination.clone(), outside.clone());
            move |top: &[u8]| {
                let (shared, path) = (Arc::clone(&shared), received_key(&destination, top));
                // A store that cannot be asked makes a numbered folder, which harms nothing.
                outside.run(move || shared.store.brought(from, &path).ok().flatten()).flatten()
            }
        };
        let announce = {
            let (shared, destination, paired) =
                (Arc::clone(&self.listening.shared), destination.clone(), (from, self.pairing));
            move |folders: Vec<(Vec<u8>, Brought)>| {
                let keyed = |(top, brought): (Vec<u8>, _)| (received_key(&destination, &top), brought);
                let (shared, folders) = (Arc::clone(&shared), folders.into_iter().map(keyed).collect::<Vec<_>>());
                // As with any other note: without it a folder gets a number next time.
                let _ = outside.run(move || shared.store.note_brought(paired, &folders));
            }
        };
        let options = DestinationOptions {
            destination,
            expected: self.expected,
            transfer: TransferId(offer.transfer),
            on_conflict: self.options.on_conflict,
            keep_owner: self.options.keep_owner,
            keep_setuid: self.options.keep_setuid,
            widen_modes: self.options.widen_modes,
            brought_before: Box::new(brought_before),
            announce: Some(Box::new(announce)),
            attempt: AttemptKey::new(&from.0, &self.names),
            from: name.0,
            names: offer.names.clone(),
            more_names: offer.more_names,
            offered: Some(Arc::clone(&self.names)),
            answers: Some(Box::new(move |wanted| answers.blocking_send(wanted).is_ok())),
            open: ForReceiving::here().each,
            prove: offer.prove,
            allowance: self.allowance.clone(),
            own: OwnFolders::default(),
            into_home: self.options.into_home,
            homes: Homes::default(),
        };
        let shared = Arc::clone(&self.listening.shared);
        let confined = self.listening.confinement.is_ok();
        let begin = move || {
            // Without it, what a receiver leaves that is killed is found by who names the folder.
            let _ = std::path::absolute(&options.destination).map(|folder| shared.store.note_begun(&folder));
            let options =
                DestinationOptions { own: own_folders::make(&shared.paths)?, homes: Homes::known(), ..options };
            if confined { Incoming::begin_confined(options) } else { Incoming::begin(options) }
        };
        let beginning = tokio::task::spawn_blocking(|| on_its_own("ringway-begin", begin));
        beginning.await.expect("opening a destination does not panic")
    }
}

/// How the store knows a top-level path: absolute, as bytes.
fn received_key(destination: &Path, top: &[u8]) -> Vec<u8> {
    let absolute = std::fs::canonicalize(destination).unwrap_or_else(|_| destination.into());
    absolute.join(OsString::from_vec(top.to_vec())).into_os_string().into_vec()
}

/// How long a transfer may be offered again without a question, where its sender says that it tries
/// for so many seconds.
fn renewal_time(retry_s: u32) -> Duration {
    Duration::from_secs(retry_s.into()).min(RENEWAL_TIME_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sender_cannot_have_its_consent_last_longer_than_a_quarter_of_an_hour() {
        let minutes = |retry_s| renewal_time(retry_s).as_secs_f64() / 60.0;
        assert_eq!([0, 60, 15 * 60, 15 * 60 + 1, u32::MAX].map(minutes), [0.0, 1.0, 15.0, 15.0, 15.0]);
    }
}
