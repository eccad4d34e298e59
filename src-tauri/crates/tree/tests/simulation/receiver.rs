//! The receiving end: the real session machine and the real receiver, each lane of it on a thread
//! that goes on for as long as it has bytes, and only then.
mod lane;
mod site;

use std::sync::Arc;

use parking_lot::Mutex;
use ringway_model::{DeclineReason, Fault, IntoHome, OnConflict, Operation, TransferId};
use ringway_tree::descriptors::ForReceiving;
use ringway_tree::disk::Disk;
use ringway_tree::receive::{AttemptKey, DestinationOptions, Expected, FinishError, Incoming, LaneError};
use ringway_wire::OfferedNames;
use ringway_wire::control::{Cancel, EntryFailed, Offer, Wanted};
use ringway_wire::lane::Counts;
use ringway_wire::session::{Event, Machine};

pub(crate) use self::site::{Held, Remembered, Site, Standing, is_staging, path_of};

use self::lane::Lane;
use super::pipe::BytePipe;
use super::sender::{greeting, next_message};
use super::source::TOP;

/// How the receiver's part has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReceiverEnd {
    Receipt,
    Kept,
    Removed,
    /// It was declined: nothing has been touched.
    Declined(DeclineReason),
}

pub(crate) struct Receiver {
    machine: Machine,
    inbox: Vec<u8>,
    incoming: Option<Arc<Incoming>>,
    lanes: Vec<Lane>,
    answers: Arc<Mutex<Vec<Wanted>>>,
    declared: Option<(Counts, usize)>,
    /// What was offered, once it was accepted.
    offer: Option<Offer>,
    /// What is whole, or noted, stays, and a recorded sync covers it: the disk took that, too.
    pub(crate) keeps_staged: bool,
    pub(crate) failures: u64,
    pub(crate) end: Option<ReceiverEnd>,
}

/// How a transfer of a story is received.
pub(crate) fn options(disk: &crate::disk::Simulated, transfer: [u8; 16], prove: bool) -> DestinationOptions {
    DestinationOptions {
        destination: disk.inbox(),
        expected: Expected::Any,
        transfer: TransferId(transfer),
        on_conflict: OnConflict::Replace,
        keep_owner: false,
        owners_by_name: false,
        keep_setuid: false,
        keep_acls: false,
        widen_modes: false,
        brought_before: Box::new(|_| None),
        others_brought: Box::new(|| false),
        announce: None,
        whose: None,
        recall: None,
        attempt: AttemptKey::new(b"laptop", &OfferedNames::default()),
        from: "laptop".into(),
        names: vec![TOP.to_vec()],
        more_names: 0,
        offered: None,
        asked: None,
        answers: None,
        open: ForReceiving::MOST,
        prove,
        allowance: None,
        own: Default::default(),
        into_home: IntoHome::DotNames,
        homes: Default::default(),
        tops: Default::default(),
    }
}

impl Receiver {
    pub(crate) fn new(now_ms: u64) -> Self {
        Self {
            machine: Machine::listen(greeting("lab-ws"), now_ms),
            inbox: Vec::new(),
            incoming: None,
            lanes: Vec::new(),
            answers: Arc::default(),
            declared: None,
            offer: None,
            keeps_staged: false,
            failures: 0,
            end: None,
        }
    }

    pub(crate) fn has_accepted(&self) -> bool {
        self.offer.is_some()
    }

    pub(crate) fn timeout(&self) -> Option<u64> {
        self.machine.poll_timeout().filter(|_| self.end.is_none())
    }

    pub(crate) fn pass_time(&mut self, site: &mut Site, now_ms: u64) {
        if self.machine.handle_timeout(now_ms).is_err() {
            self.keep(site);
        }
    }

    pub(crate) fn transmit(&mut self, to: &mut BytePipe) {
        if let Some(bytes) = self.machine.poll_transmit() {
            to.push(&bytes);
        }
    }

    pub(crate) fn cancel(&mut self, site: &mut Site) {
        self.machine.cancel(Cancel::ByPerson);
        // All of the transfer is stopped, whichever session it is in.
        if let Some(mut old) = site.lingering.take() {
            old.abandon(site);
        }
        if let Some(offer) = &self.offer {
            site.remembers(offer.transfer, Standing::Stopped);
        }
        self.abandon(site);
    }

    /// What is whole stays; the session is over.
    pub(crate) fn pause(&mut self, site: &mut Site) {
        self.machine.cancel(Cancel::Paused);
        if let Some(offer) = &self.offer {
            site.remembers(offer.transfer, Standing::Paused);
        }
        self.keep(site);
    }

    /// Bytes of the session have come; None at its end.
    pub(crate) fn hear(&mut self, site: &mut Site, bytes: Option<Vec<u8>>, now_ms: u64) {
        let Some(bytes) = bytes else { return self.keep(site) };
        self.inbox.extend(bytes);
        while let Some(message) = next_message(&mut self.inbox) {
            self.machine.handle_message(message, now_ms).expect("an honest peer");
            while let Some(event) = self.machine.poll_event() {
                self.event(site, event);
            }
        }
    }

    fn event(&mut self, site: &mut Site, event: Event) {
        match event {
            Event::HelloReceived { .. } => self.machine.welcome(true, false),
            Event::Offered(offer, _) => self.offered(site, offer),
            Event::FinishReceived { sent, lanes, .. } => self.declared = Some((sent, lanes.into())),
            Event::Cancelled(Cancel::ByPerson) => {
                site.remembered = None;
                self.abandon(site);
            }
            Event::Cancelled(_) => self.keep(site),
            _ => {}
        }
    }

    /// Asks nobody about what was accepted before, or was stopped or paused, or has no room.
    fn offered(&mut self, site: &mut Site, offer: Offer) {
        let standing = site.remembered.filter(|one| one.transfer == offer.transfer).map(|one| one.state);
        let declined = match standing {
            Some(Standing::Stopped) => Some(DeclineReason::ByChoice),
            Some(Standing::Paused) => Some(DeclineReason::Paused),
            Some(Standing::Full) if site.is_full() => Some(DeclineReason::NoRoom(site.shortage())),
            _ => None,
        };
        if let Some(decline) = declined {
            self.machine.decline(decline);
            self.end = Some(ReceiverEnd::Declined(decline));
            return;
        }
        // Its sender is here, so it is no more there.
        if let Some(mut old) = site.lingering.take() {
            old.keep(site);
        }
        if offer.retry_s > 0 && standing.is_none() {
            site.remembered = Some(Remembered { transfer: offer.transfer, state: Standing::Open });
        }
        site.goes_on();
        site.was_merged |= site.disk.state().is_there(TOP);
        let answers = Arc::clone(&self.answers);
        let take = move |wanted| {
            answers.lock().push(wanted);
            true
        };
        let options =
            DestinationOptions { answers: Some(Box::new(take)), ..options(&site.disk, offer.transfer, offer.prove) };
        self.offer = Some(offer);
        let disk: Arc<dyn Disk> = site.disk.clone();
        match Incoming::begin_on(options, disk) {
            Ok(incoming) => {
                self.machine.accept(incoming.accepted(4));
                self.incoming = Some(incoming);
            }
            Err(_) if site.has_died() => {}
            Err(Fault::Path { source, operation, .. }) => {
                let is_full = source.raw_os_error() == Some(rustix::io::Errno::NOSPC.raw_os_error());
                assert!(is_full || site.errs, "{operation:?} fails");
                self.failed(site, is_full.then_some(LaneError::DestinationFull));
            }
            Err(fault) => panic!("{fault:?}"),
        }
    }

    /// The transfer has failed here.
    fn failed(&mut self, site: &mut Site, why: Option<LaneError>) {
        match why {
            Some(LaneError::DestinationFull) => {
                self.machine.cancel(Cancel::DestinationFull(site.shortage()));
                if let Some(offer) = &self.offer {
                    site.remembers(offer.transfer, Standing::Full);
                }
            }
            Some(LaneError::Source(_)) => self.machine.cancel(Cancel::Failed),
            why => {
                assert!(site.errs, "{why:?}");
                self.machine.cancel(Cancel::Failed);
            }
        }
        self.keep(site);
    }

    /// Whether a lane takes bytes.
    pub(crate) fn takes_bytes(&self, lane: usize) -> bool {
        self.incoming.is_some() && self.end.is_none() && self.lanes.get(lane).is_none_or(|lane| lane.ended.is_none())
    }

    /// Bytes of a lane arrive; None at its end.
    pub(crate) fn arrive(&mut self, site: &mut Site, lane: usize, bytes: Option<Vec<u8>>) {
        let Some(incoming) = &self.incoming else { return };
        while self.lanes.len() <= lane {
            self.lanes.push(Lane::start(incoming));
        }
        self.lanes[lane].feed(bytes);
        self.tell();
        if let Some(Err(_)) = self.lanes[lane].ended
            && !site.has_died()
        {
            let why = self.lanes[lane].ended.replace(Ok(())).and_then(Result::err);
            self.failed(site, why);
        }
    }

    /// What the lanes have to say goes to the sender.
    fn tell(&mut self) {
        for wanted in self.answers.lock().drain(..) {
            self.machine.wanted(wanted);
        }
        let Some(incoming) = &self.incoming else { return };
        for failure in incoming.results().take_failures() {
            self.failures += 1;
            let path = std::os::unix::ffi::OsStrExt::as_bytes(failure.path.as_os_str()).to_vec();
            self.machine.entry_failed(EntryFailed { path, operation: 0, reason: 0, errno: 0 });
        }
    }

    /// Whether there is anything to do that needs no bytes.
    pub(crate) fn can_finish(&self) -> bool {
        let ended = self.lanes.iter().filter(|lane| matches!(lane.ended, Some(Ok(())))).count();
        self.end.is_none() && self.incoming.is_some() && self.declared.is_some_and(|(_, lanes)| lanes == ended)
    }

    pub(crate) fn finish(&mut self, site: &mut Site) {
        let (Some(incoming), Some((declared, _))) = (self.incoming.clone(), self.declared) else { return };
        let finished = incoming.finish(&declared);
        if site.has_died() {
            return;
        }
        self.tell();
        match finished {
            Ok((receipt, _)) => {
                self.machine.receipt(receipt);
                self.end = Some(ReceiverEnd::Receipt);
                if let Some(offer) = &self.offer {
                    site.remembers(offer.transfer, Standing::Received);
                }
                self.let_go();
            }
            Err(FinishError::Lane(error)) => self.failed(site, Some(error)),
            Err(FinishError::Destination { operation: Operation::Sync, .. }) if site.errs => self.failed(site, None),
            Err(error) => panic!("{error}"),
        }
    }

    /// The transfer has failed: what is whole or noted stays.
    pub(crate) fn keep(&mut self, site: &mut Site) {
        if self.end.is_some() {
            return;
        }
        self.end = Some(ReceiverEnd::Kept);
        if let Some(incoming) = self.stop() {
            match incoming.keep() {
                Ok(stays) => self.keeps_staged = stays && !site.is_slow() && !site.errs && !site.is_full(),
                Err(error) => assert!(site.errs || site.has_died() || site.is_full(), "{error}"),
            }
        }
        self.let_go();
    }

    /// Somebody has stopped it.
    fn abandon(&mut self, site: &mut Site) {
        if self.offer.is_none() {
            self.end.get_or_insert(ReceiverEnd::Kept);
        }
        if self.end.is_none() {
            self.end = Some(ReceiverEnd::Removed);
            if let Some(incoming) = self.stop()
                && let Err(error) = incoming.abandon()
            {
                assert!(site.has_died() || site.is_full(), "{error}");
            }
        }
        self.let_go();
    }

    /// Ends the lanes.
    fn stop(&mut self) -> Option<Arc<Incoming>> {
        let incoming = self.incoming.take()?;
        incoming.cancel();
        self.lanes.drain(..).for_each(Lane::end);
        Some(incoming)
    }

    /// Closes all that is open.
    pub(crate) fn let_go(&mut self) {
        drop(self.stop());
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.let_go();
    }
}
