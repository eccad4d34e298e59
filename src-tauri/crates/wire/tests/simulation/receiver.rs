//! The receiving end: the real session machine, parsers, ledger, journal and rules of resuming,
//! over a model of the engine's lanes and files. Whatever it does takes steps of one call each, and
//! a crash may come between any two.
mod lanes;
mod proving;
mod ranges;
mod site;
mod windows;

use std::collections::{HashMap, HashSet, VecDeque};

use ringway_model::DeclineReason;
use ringway_wire::control::{Cancel, Offer, Proven, Receipt};
use ringway_wire::journal::{Begun, Recorder, Version, replay};
use ringway_wire::lane::{Counts, Timestamp};
use ringway_wire::ledger::Ledger;
use ringway_wire::resume::{self, Belief, JOURNAL, Step, TREE, Trust};
use ringway_wire::session::{Acceptor, AcceptorEvent};

pub(crate) use self::site::{Held, Remembered, STAGING, Site, Standing, path_of};

use self::lanes::{Op, Worker};
use self::proving::Records;
use self::ranges::{Left, Made, Open};
use self::site::{BEGUN, holds_something, staged};
use super::disk::Full;
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

/// What is done once all lanes have ended, in order.
pub(crate) const FINISHING: [Finishing; 8] = [
    Finishing::Settle,
    Finishing::Sync,
    Finishing::Prove,
    Finishing::NameTop,
    Finishing::SyncTop,
    Finishing::RemoveStaging,
    Finishing::SyncRoot,
    Finishing::Receipt,
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Finishing {
    Settle,
    Sync,
    Prove,
    NameTop,
    SyncTop,
    RemoveStaging,
    SyncRoot,
    Receipt,
}

/// What an end is at; of the receiver's steps, the one that comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Phase {
    /// Before an offer has been accepted.
    Meeting,
    MakingStaging,
    CreatingMarker,
    WritingMarker,
    TakingOver,
    CreatingJournal,
    Receiving,
    Finishing(Finishing),
    /// What it has said last may not have been carried away yet.
    Over,
}

impl Phase {
    /// All of them.
    pub(crate) fn all() -> Vec<Self> {
        let before = [Self::Meeting, Self::MakingStaging, Self::CreatingMarker, Self::WritingMarker, Self::TakingOver];
        let receiving = [Self::CreatingJournal, Self::Receiving];
        before.into_iter().chain(receiving).chain(FINISHING.map(Self::Finishing)).chain([Self::Over]).collect()
    }
}

enum Preparing {
    MakeStaging,
    CreateMarker,
    WriteMarker,
    Take(Step),
    CreateJournal,
}

pub(crate) struct Receiver {
    machine: Acceptor,
    inbox: Vec<u8>,
    preparing: VecDeque<Preparing>,
    /// Where earlier attempts lie, the latest first.
    attempts: Vec<Vec<u8>>,
    trust: Trust,
    belief: Belief,
    /// Marks of whole files that recorded syncs cover, by attempt.
    durable: HashMap<Vec<u8>, HashSet<u64>>,
    begun: HashMap<Version, Vec<(Vec<u8>, Begun)>>,
    resuming: HashMap<Version, Left>,
    /// Where earlier attempts have what is compared, since it is to be proven.
    comparing: HashMap<Version, Vec<u8>>,
    /// The folder is there under its final name: each file goes into it when it is whole.
    is_merging: bool,
    parts: usize,
    workers: Vec<Worker>,
    ledger: Ledger,
    open: HashMap<u64, Open>,
    journal: Option<(usize, Recorder)>,
    declared: Option<(Counts, usize)>,
    finishing: usize,
    there: Counts,
    /// What was offered, once it was accepted.
    offer: Option<Offer>,
    proves: bool,
    records: Records,
    pub(crate) failures: u64,
    pub(crate) end: Option<ReceiverEnd>,
}

impl Receiver {
    pub(crate) fn new(now_ms: u64) -> Self {
        Self {
            machine: Acceptor::new(greeting("lab-ws"), now_ms),
            inbox: Vec::new(),
            preparing: VecDeque::new(),
            attempts: Vec::new(),
            trust: Trust::default(),
            belief: Belief::default(),
            durable: HashMap::new(),
            begun: HashMap::new(),
            resuming: HashMap::new(),
            comparing: HashMap::new(),
            is_merging: false,
            parts: 0,
            workers: Vec::new(),
            ledger: Ledger::default(),
            open: HashMap::new(),
            journal: None,
            declared: None,
            finishing: 0,
            there: Counts::default(),
            offer: None,
            proves: false,
            records: Records::new(),
            failures: 0,
            end: None,
        }
    }

    /// What it is at.
    pub(crate) fn phase(&self) -> Phase {
        match self.preparing.front() {
            _ if self.offer.is_none() => Phase::Meeting,
            Some(Preparing::MakeStaging) => Phase::MakingStaging,
            Some(Preparing::CreateMarker) => Phase::CreatingMarker,
            Some(Preparing::WriteMarker) => Phase::WritingMarker,
            Some(Preparing::Take(_)) => Phase::TakingOver,
            Some(Preparing::CreateJournal) => Phase::CreatingJournal,
            None if self.end.is_some() => Phase::Over,
            None if self.is_finishing() => Phase::Finishing(FINISHING[self.finishing]),
            None => Phase::Receiving,
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
        site.lingering = None;
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

    fn event(&mut self, site: &mut Site, event: AcceptorEvent) {
        match event {
            AcceptorEvent::HelloReceived { .. } => self.machine.welcome(true, false),
            AcceptorEvent::Offered(offer, _) => self.offered(site, offer),
            AcceptorEvent::FinishReceived { sent, lanes, .. } => self.declared = Some((sent, lanes.into())),
            AcceptorEvent::Cancelled(Cancel::ByPerson) => {
                site.remembered = None;
                self.abandon(site);
            }
            AcceptorEvent::Cancelled(_) => self.keep(site),
            _ => {}
        }
    }

    /// Asks nobody about what was accepted before, or was stopped or paused, or has no room.
    fn offered(&mut self, site: &mut Site, offer: Offer) {
        let standing = site.remembered.filter(|one| one.transfer == offer.transfer).map(|one| one.state);
        let declined = match standing {
            Some(Standing::Stopped) => Some(DeclineReason::ByChoice),
            Some(Standing::Paused) => Some(DeclineReason::Paused),
            Some(Standing::Full) if site.disk.room.is_some() => Some(DeclineReason::NoRoom(site.shortage())),
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
        self.proves = offer.prove;
        self.offer = Some(offer);
        self.prepare(site);
    }

    /// Plans to take over what is there, or to begin anew.
    fn prepare(&mut self, site: &mut Site) {
        self.is_merging = site.disk.is_there(TOP);
        let takeover = site.begun().map(|begun| {
            self.trust = Trust::since(begun);
            let names = site.disk.names(STAGING);
            let aside = site.disk.names(&[STAGING, b"/", resume::ASIDE].concat());
            let (names, aside) = (names.iter().map(Vec::as_slice), aside.iter().map(Vec::as_slice));
            resume::take_over(names, aside, holds_something(&site.disk))
        });
        match takeover {
            Some(takeover) => {
                self.attempts = takeover.attempts;
                self.preparing.extend(takeover.steps.into_iter().map(Preparing::Take));
            }
            None => {
                if site.disk.is_there(STAGING) {
                    site.disk.remove(STAGING);
                }
                let tree = Preparing::Take(Step::Make(TREE.to_vec()));
                self.preparing.extend([Preparing::MakeStaging, Preparing::CreateMarker, Preparing::WriteMarker, tree]);
            }
        }
        self.preparing.push_back(Preparing::CreateJournal);
    }

    /// The second from which on files are listed with digests.
    fn doubts(&self) -> Option<i64> {
        let doubts = || if self.belief == Belief::Compared { i64::MIN } else { self.trust.doubts() };
        (!self.attempts.is_empty()).then(doubts)
    }

    /// Whether a file is compared that no recorded sync covers, or that is as young as the first
    /// attempt.
    fn is_doubted(&self, mtime: Timestamp) -> bool {
        self.belief == Belief::Compared || self.trust.is_doubted(mtime)
    }

    fn prepare_on(&mut self, site: &mut Site, step: Preparing) -> Result<(), Full> {
        let disk = &mut site.disk;
        match step {
            Preparing::MakeStaging => disk.make(STAGING)?,
            Preparing::CreateMarker => drop(disk.create(&staged(&[BEGUN]))?),
            Preparing::WriteMarker => {
                let node = site.disk.file(&staged(&[BEGUN])).expect("the marker").0;
                site.disk.append(node, b"who sends what")?;
            }
            Preparing::Take(Step::Remove(name)) => disk.remove(&staged(&[&name])),
            Preparing::Take(Step::Make(name)) => disk.make(&staged(&[&name]))?,
            Preparing::Take(Step::Move { name, into }) => disk.rename(&staged(&[&name]), &staged(&[&into, &name])),
            Preparing::Take(Step::Rename { from, to }) => disk.rename(&staged(&[&from]), &staged(&[&to])),
            Preparing::CreateJournal => {
                self.journal = disk.create(&staged(&[JOURNAL])).ok().map(|node| (node, Recorder::default()));
                let (mut durable, mut doubtful) = (0, 0);
                for attempt in &self.attempts {
                    let Some((_, journal)) = disk.file(&staged(&[attempt, JOURNAL])) else { continue };
                    let noted = replay(&journal.bytes);
                    durable += noted.durable_bytes;
                    doubtful += noted.doubtful_bytes;
                    self.durable.insert(attempt.clone(), noted.durable);
                    for (version, begun) in noted.begun {
                        self.begun.entry(version).or_default().push((attempt.clone(), begun));
                    }
                }
                self.belief = Belief::in_what_is_noted(durable, doubtful);
                self.machine.accept(4, self.is_merging || !self.attempts.is_empty(), self.doubts());
            }
        }
        Ok(())
    }

    /// Whether there is anything to do that needs no bytes.
    pub(crate) fn ready(&self) -> Vec<usize> {
        if !self.preparing.is_empty() || self.is_finishing() {
            return vec![0];
        }
        let waits = |worker: &Worker, lane| {
            matches!(worker.ops.front(), Some(Op::Make))
                && worker.piece.is_some_and(|piece| {
                    self.open.get(&piece.id).is_some_and(|open| matches!(open.made, Made::By(other) if other != lane))
                })
        };
        let workers = self.workers.iter().enumerate();
        workers.filter(|(lane, worker)| !worker.ops.is_empty() && !waits(worker, *lane)).map(|(lane, _)| lane).collect()
    }

    fn is_finishing(&self) -> bool {
        let ended = self.workers.iter().filter(|worker| worker.has_ended && worker.ops.is_empty()).count();
        self.declared.is_some_and(|(_, lanes)| lanes == ended)
    }

    /// One call of one worker, or of who prepares or finishes.
    pub(crate) fn step(&mut self, site: &mut Site, lane: usize) {
        let done = if let Some(step) = self.preparing.pop_front() {
            self.prepare_on(site, step)
        } else if self.is_finishing() {
            self.finish_on(site);
            Ok(())
        } else {
            let op = self.workers[lane].ops.pop_front().expect("a worker that is ready");
            self.work(site, lane, op)
        };
        if let Err(Full) = done {
            // An entry that was being made has no room either: it is not whole.
            self.discard_small(site, lane);
            self.machine.cancel(Cancel::DestinationFull(site.shortage()));
            if let Some(offer) = &self.offer {
                site.remembers(offer.transfer, Standing::Full);
            }
            self.keep(site);
        }
    }

    fn finish_on(&mut self, site: &mut Site) {
        let at = FINISHING[self.finishing];
        self.finishing += 1;
        let top = staged(&[TREE, TOP]);
        match at {
            Finishing::Settle => self.ledger.settle(&self.declared.expect("it was said").0).expect("an honest peer"),
            Finishing::Sync => drop(self.synchronise(site)),
            Finishing::Prove if self.proves && self.prove_on(site) => self.finishing -= 1,
            Finishing::NameTop if site.disk.is_there(&top) => {
                site.disk.rename(&top, TOP);
                // The next attempt looks there, and nowhere else.
                let there = site.disk.tree(TOP);
                site.held.retain(|version, held| {
                    let file = there.get(&path_of(version)[TOP.len()..]);
                    let same = file.is_some_and(|file| (file.size, file.mtime) == (version.size, version.mtime));
                    same && matches!(held, Held::Whole)
                });
            }
            Finishing::SyncTop if site.disk.is_there(TOP) => site.disk.sync_folder(TOP),
            Finishing::RemoveStaging => site.disk.remove(STAGING),
            Finishing::SyncRoot => site.disk.sync_folder(b""),
            Finishing::Receipt => {
                let (there, failed) = (self.there, self.failures);
                let (files, bytes) = (there.files, there.bytes);
                let proven = self.proves.then(|| Proven { files, bytes, ..Proven::default() });
                self.machine.receipt(Receipt { there, failed, proven, ..Receipt::default() });
                self.end = Some(ReceiverEnd::Receipt);
                if let Some(offer) = &self.offer {
                    site.remembers(offer.transfer, Standing::Received);
                }
            }
            _ => {}
        }
    }

    /// All of it is on the disk, and the journal says so; false where that cannot be recorded.
    fn synchronise(&mut self, site: &mut Site) -> bool {
        site.disk.sync();
        let Some((node, _)) = self.journal else { return false };
        let covered = site.disk.file_mut(node).bytes.len() as u64;
        ranges::note(&mut self.journal, site, |recorder, out| recorder.synced(covered, out)).is_some()
    }

    /// The transfer has failed: what is whole or noted stays.
    pub(crate) fn keep(&mut self, site: &mut Site) {
        if self.end.is_some() {
            return;
        }
        self.end = Some(ReceiverEnd::Kept);
        if self.offer.is_none() {
            return;
        }
        for open in self.open.values().filter(|open| open.number.is_none()) {
            match &open.moved_from {
                Some(before) => site.disk.rename(&open.place, before),
                None if site.disk.file(&open.place).is_some() => site.disk.remove(&open.place),
                None => {}
            }
        }
        if site.is_slow || !self.preparing.is_empty() || !self.synchronise(site) {
            site.forget_staged();
        }
        let any_kept = site.disk.names(STAGING).iter().any(|name| resume::is_kept(name));
        if site.disk.is_there(STAGING) && !any_kept && !holds_something(&site.disk) {
            site.disk.remove(STAGING);
        }
    }

    /// Somebody has stopped it.
    fn abandon(&mut self, site: &mut Site) {
        if self.offer.is_none() {
            self.end.get_or_insert(ReceiverEnd::Kept);
        }
        if self.end.is_none() {
            self.end = Some(ReceiverEnd::Removed);
            if site.disk.is_there(STAGING) {
                site.disk.remove(STAGING);
            }
            site.held.clear();
        }
    }
}
