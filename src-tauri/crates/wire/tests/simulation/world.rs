//! One story: a sender and a receiver, a network between them, what goes wrong with each, and attempt after attempt until one succeeds.
mod attempt;
mod checks;

use std::collections::HashMap;

use ringway_wire::control::Cancel;
use ringway_wire::resume::JOURNAL;

use self::attempt::Attempt;
use super::disk::Disk;
use super::pipe::LanePipe;
use super::random::Random;
use super::receiver::{Held, Receiver, ReceiverEnd, STAGING, Site};
use super::sender::Sender;
use super::source::{Source, TOP};

/// Attempts of which something goes wrong, at most.
const FAULTY_MAX: usize = 6;

/// Nothing takes longer: a session that hears nothing gives up after a minute.
const ATTEMPT_MS_MAX: u64 = 10 * 60 * 1000;

/// Steps of one attempt at the most: some hundred are usual.
const STEPS_MAX: usize = 20_000;

/// What goes wrong in an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    SenderKilled,
    ReceiverKilled,
    BothKilled,
    PowerLost,
    LaneCut,
    SessionCut,
    NetworkGone,
    DiskFull,
    SenderCancels,
    ReceiverCancels,
    FileChanges,
}

const FAULTS: [Fault; 12] = [
    Fault::None,
    Fault::SenderKilled,
    Fault::ReceiverKilled,
    Fault::BothKilled,
    Fault::PowerLost,
    Fault::LaneCut,
    Fault::SessionCut,
    Fault::NetworkGone,
    Fault::DiskFull,
    Fault::SenderCancels,
    Fault::ReceiverCancels,
    Fault::FileChanges,
];

pub(crate) struct World {
    random: Random,
    source: Source,
    site: Site,
    now_ms: u64,
    /// The folder was there under its final name when the attempt began.
    was_there: bool,
    /// What happened, for whoever looks into a seed that failed.
    pub(crate) story: Vec<String>,
    /// Attempts, and bytes that were not sent again in them.
    pub(crate) spared: u64,
}

enum Action {
    ToReceiver,
    ToSender,
    Lane(usize),
    SenderLane(usize),
    Receiver(usize),
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let wall_secs = 100_000;
        let source = Source::new(&mut random, wall_secs);
        let site = Site { disk: Disk::new(wall_secs), boot: 1, was_merged: false, held: HashMap::new() };
        Self { random, source, site, now_ms: 0, was_there: false, story: Vec::new(), spared: 0 }
    }

    /// Plays to the end: a receipt, and everything there.
    pub(crate) fn play(&mut self) {
        for number in 0..self.random.below(FAULTY_MAX + 1) {
            let fault = FAULTS[self.random.below(FAULTS.len())];
            // Attempts that get far and such that hardly begin.
            let most = [10, 60, 250][self.random.below(3)];
            let at = self.random.below(most);
            self.story.push(format!("attempt {number}: {fault:?} at {at}"));
            if self.attempt(fault, at) {
                return;
            }
            self.between();
        }
        self.story.push("last attempt".to_owned());
        assert!(self.attempt(Fault::None, 0), "nothing went wrong, and there is no receipt");
    }

    /// One attempt; true if it ended with a receipt.
    fn attempt(&mut self, fault: Fault, at: usize) -> bool {
        self.was_there = self.site.disk.is_there(TOP);
        let before: Vec<_> = self.source.files.clone();
        let expected = self.site.held.clone();
        let mut attempt = Attempt::new(&mut self.random, &self.source, self.now_ms);
        let until_ms = self.now_ms + ATTEMPT_MS_MAX;
        for step in 0.. {
            assert!(step < STEPS_MAX && self.now_ms < until_ms, "it does not end");
            if step == at {
                self.strike(&mut attempt, fault);
            }
            attempt.carry();
            attempt.bury(&mut self.random);
            if attempt.sender.is_none() && attempt.receiver.is_none() {
                break;
            }
            self.act(&mut attempt);
        }
        self.site.disk.room = None;
        self.check_sent(&before, &expected, &attempt.sent);
        self.check_whole();
        if attempt.receiver_end == Some(ReceiverEnd::Removed) {
            assert!(!self.site.disk.is_there(STAGING), "something stays of what was stopped");
        }
        if attempt.has_receipt {
            assert_eq!(attempt.receiver_end, Some(ReceiverEnd::Receipt), "a receipt that nobody gave");
            self.check_receipt(&before, &attempt.failed);
        }
        attempt.has_receipt
    }

    /// Something happens, whichever may.
    fn act(&mut self, attempt: &mut Attempt) {
        let mut actions = Vec::with_capacity(16);
        if attempt.receiver.is_some() && attempt.to_receiver.has_arrivals() {
            actions.push(Action::ToReceiver);
        }
        if attempt.sender.is_some() && attempt.to_sender.has_arrivals() {
            actions.push(Action::ToSender);
        }
        if let Some(receiver) = &attempt.receiver {
            let lanes = attempt.lanes.iter().enumerate();
            let arriving = lanes.filter(|(lane, pipe)| pipe.has_arrivals() && receiver.takes_bytes(*lane));
            actions.extend(arriving.map(|(lane, _)| Action::Lane(lane)));
            actions.extend(receiver.ready().into_iter().map(Action::Receiver));
        }
        if let Some(sender) = &attempt.sender {
            let lanes = attempt.lanes.iter().enumerate().filter(|(lane, pipe)| sender.can_step(*lane, pipe));
            actions.extend(lanes.map(|(lane, _)| Action::SenderLane(lane)));
        }
        if actions.is_empty() {
            return self.wait(attempt);
        }
        let passed = self.random.below(20) as u64;
        self.pass(passed);
        let random = &mut self.random;
        match actions.swap_remove(random.below(actions.len())) {
            Action::ToReceiver => {
                let bytes = attempt.to_receiver.arrive(random);
                let receiver = attempt.receiver.as_mut().expect("it is there");
                receiver.hear(&mut self.site, bytes, self.now_ms);
            }
            Action::ToSender => {
                let bytes = attempt.to_sender.arrive(random);
                let sender = attempt.sender.as_mut().expect("it is there");
                sender.hear(bytes, random, self.now_ms);
                attempt.lanes.resize_with(sender.lanes(), LanePipe::default);
            }
            Action::Lane(lane) => {
                let receiver = attempt.receiver.as_mut().expect("it is there");
                receiver.arrive(&mut self.site, lane, &mut attempt.lanes[lane], random);
            }
            Action::SenderLane(lane) => {
                let sender = attempt.sender.as_mut().expect("it is there");
                sender.step(lane, &mut attempt.lanes[lane], &self.source, random);
            }
            Action::Receiver(lane) => {
                attempt.receiver.as_mut().expect("it is there").step(&mut self.site, lane);
            }
        }
    }

    fn pass(&mut self, ms: u64) {
        self.now_ms += ms;
        self.site.disk.wall_secs = 100_000 + (self.now_ms / 1000) as i64;
    }

    /// Nothing happens before somebody loses patience.
    fn wait(&mut self, attempt: &mut Attempt) {
        let sender = attempt.sender.as_ref().and_then(Sender::timeout);
        let receiver = attempt.receiver.as_ref().and_then(Receiver::timeout);
        let due = [sender, receiver].into_iter().flatten().min().expect("somebody waits for something for ever");
        self.pass(due.saturating_sub(self.now_ms));
        if let Some(sender) = attempt.sender.as_mut().filter(|_| sender == Some(due)) {
            sender.pass_time(self.now_ms);
        }
        if let Some(receiver) = attempt.receiver.as_mut().filter(|_| receiver == Some(due)) {
            receiver.pass_time(&mut self.site, self.now_ms);
        }
    }

    /// What was to go wrong does.
    fn strike(&mut self, attempt: &mut Attempt, fault: Fault) {
        let random = &mut self.random;
        match fault {
            Fault::None => {}
            Fault::SenderKilled => attempt.kill_sender(random),
            Fault::ReceiverKilled => attempt.kill_receiver(random),
            Fault::BothKilled => {
                attempt.kill_sender(random);
                attempt.kill_receiver(random);
            }
            // Files that are merged into a folder one by one are not synchronised one by one.
            Fault::PowerLost if self.site.was_merged => attempt.kill_receiver(random),
            Fault::PowerLost => {
                attempt.kill_receiver(random);
                self.site.disk.lose_power(random);
                self.site.boot += 1;
                self.site.held.clear();
            }
            Fault::LaneCut if attempt.lanes.is_empty() => {}
            Fault::LaneCut => {
                let lane = random.below(attempt.lanes.len());
                attempt.lanes[lane].break_off(random);
            }
            Fault::SessionCut => attempt.break_session(random),
            Fault::NetworkGone => {
                attempt.to_receiver.fall_silent();
                attempt.to_sender.fall_silent();
                attempt.lanes.iter_mut().for_each(LanePipe::fall_silent);
            }
            Fault::DiskFull => self.site.disk.room = Some(random.below(20)),
            Fault::SenderCancels => {
                if let Some(sender) = &mut attempt.sender {
                    sender.cancel(Cancel::ByPerson);
                }
            }
            Fault::ReceiverCancels => {
                if let Some(receiver) = &mut attempt.receiver {
                    receiver.cancel(&mut self.site);
                }
            }
            Fault::FileChanges => {
                let which = random.below(self.source.files.len());
                self.source.change(random, which, self.site.disk.wall_secs);
            }
        }
    }

    /// What happens before the next attempt.
    fn between(&mut self) {
        let passed = self.random.below(20_000) as u64;
        self.pass(passed);
        let wall_secs = self.site.disk.wall_secs;
        self.source.meanwhile(&mut self.random, wall_secs);
        if self.random.once_in(6) {
            self.spoil_a_journal();
        }
    }

    /// A journal is cut off, or some of it is not what it was.
    fn spoil_a_journal(&mut self) {
        let random = &mut self.random;
        let disk = &mut self.site.disk;
        let folders = disk.names(STAGING).into_iter().map(|name| [STAGING, b"/", &name].concat());
        let paths = folders.map(|folder| [&folder[..], b"/", JOURNAL].concat());
        let paths = paths.chain([[STAGING, b"/", JOURNAL].concat()]);
        let journals: Vec<_> = paths.filter_map(|path| disk.file(&path).map(|(node, _)| node)).collect();
        if journals.is_empty() {
            return;
        }
        let bytes = &mut disk.file_mut(journals[random.below(journals.len())]).bytes;
        if bytes.is_empty() {
            return;
        }
        let at = random.below(bytes.len());
        match random.below(3) {
            0 => bytes.truncate(at),
            1 => bytes[at] ^= 1 << random.below(8),
            _ => {
                let end = (at + 1 + random.below(40)).min(bytes.len());
                bytes[at..end].iter_mut().for_each(|byte| *byte = random.below(256) as u8);
            }
        }
        self.story.push(format!("a journal is spoilt at {at}"));
        self.site.held.retain(|_, held| matches!(held, Held::Whole(_)));
    }
}
