//! One story: a sender and a receiver, a network between them, what goes wrong with each, and
//! attempt after attempt until one succeeds.
mod attempt;
mod checks;
mod faults;
mod room;

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use ringway_wire::journal::Version;
use ringway_wire::lane::Timestamp;

use self::attempt::Attempt;
use self::faults::{FAULTS, Fault};
use super::disk::{BTRFS, EXT4};
use super::pipe::LanePipe;
use super::random::Random;
use super::receiver::{Held, Receiver, ReceiverEnd, Site, Standing};
use super::sender::{Sender, SenderEnd, Terms};
use super::source::{Source, TOP};

/// Attempts of which something goes wrong, at most.
const FAULTY_MAX: usize = 6;

/// Nothing takes longer: a session that hears nothing gives up after 15 s.
const ATTEMPT_MS_MAX: u64 = 10 * 60 * 1000;

/// Steps of one attempt at the most: some hundred are usual.
const STEPS_MAX: usize = 20_000;

/// For how long a sender offers a transfer again that was lost, where it does.
const RETRY_S: u32 = 900;

pub(crate) struct World {
    random: Random,
    /// What a power cut leaves.
    losses: Random,
    source: Source,
    site: Site,
    now_ms: u64,
    /// How transfers are offered in this story.
    proves: bool,
    retries: bool,
    compares: bool,
    /// The transfer's number, and whether the next attempt is another one.
    transfer: u8,
    is_new: bool,
    /// What need not be sent in this attempt.
    expected: HashMap<Version, Held>,
    /// What the clock on the wall says at the beginning, and what is trusted by it.
    wall_secs: i64,
    trusted_secs: i64,
    /// What is staged is compared, not believed.
    was_compared: bool,
    /// Nothing is believed.
    was_suspect: bool,
    /// What happens to the receiver before its next operation on the disk but so many.
    pending: Option<Fault>,
    /// Operations on the disk before the attempt began.
    calls_before: usize,
    /// The folder was there under its final name when the attempt began.
    was_there: bool,
    /// What happened, to read when a seed has failed.
    pub(crate) story: Vec<String>,
    pub(crate) told: Told,
}

/// What stories were about, so that none of it goes missing unseen.
#[derive(Default, Clone)]
pub(crate) struct Told {
    /// Bytes that were not sent again.
    pub(crate) spared: u64,
    /// Bytes that were copied from an old file.
    pub(crate) found: u64,
    /// Files that were read back and were not what they should be.
    pub(crate) unproven: u64,
    /// Attempts that were declined for want of room, or because somebody had paused or stopped the
    /// transfer.
    pub(crate) no_room: u64,
    pub(crate) paused: u64,
    pub(crate) stopped: u64,
    /// Sessions that were ended by the one that followed.
    pub(crate) succeeded: u64,
    /// Receipts that were given a second time.
    pub(crate) again: u64,
    /// Merges in which the power went.
    pub(crate) torn: u64,
    /// Attempts in which the disk told the receiver of an error while it synchronised.
    pub(crate) erred: u64,
    /// Receivers that were killed while the disk refused some of what they had written.
    pub(crate) refused: u64,
    /// Receipts that never reached the sender.
    pub(crate) unheard: u64,
    /// Operations on the disk before which the receiver was killed or its power went.
    pub(crate) struck: HashSet<&'static str>,
}

impl std::ops::AddAssign for Told {
    fn add_assign(&mut self, other: Self) {
        self.spared += other.spared;
        self.found += other.found;
        self.unproven += other.unproven;
        self.no_room += other.no_room;
        self.paused += other.paused;
        self.stopped += other.stopped;
        self.succeeded += other.succeeded;
        self.again += other.again;
        self.torn += other.torn;
        self.erred += other.erred;
        self.refused += other.refused;
        self.unheard += other.unheard;
        self.struck.extend(other.struck);
    }
}

enum Action {
    ToReceiver,
    ToSender,
    Lane(usize),
    SenderLane(usize),
    Finish,
    FinishLingering,
}

/// How an attempt ended, as the sender has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// All of it is there.
    Whole,
    /// There is a receipt, but not for all of it.
    Partial,
    /// It is to be tried again.
    Lost,
    /// There is no room, or there was none when it was offered.
    Full,
}

/// Writes a file that somebody at the receiver has.
fn write(path: &Path, bytes: &[u8], mtime: Timestamp) {
    fs::write(path, bytes).expect("memory takes it");
    let time = UNIX_EPOCH + Duration::new(mtime.secs as u64, mtime.nanos);
    fs::File::options().write(true).open(path).and_then(|file| file.set_modified(time)).expect("a time");
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("it is later");
        let wall_secs = now.as_secs() as i64;
        let source = Source::new(&mut random, wall_secs);
        let site = Site::new();
        {
            let mut state = site.disk.state();
            state.filesystem = if random.once_in(2) { EXT4 } else { BTRFS };
            state.plan.write_back_after = [u64::MAX, 1 << 20, 100_000][random.below(3)];
        }
        let [proves, retries, compares] = [random.once_in(3), !random.once_in(3), !random.once_in(3)];
        let mut world = Self {
            losses: Random::new(random.number()),
            random,
            source,
            site,
            now_ms: 0,
            proves,
            retries,
            compares,
            transfer: 0,
            is_new: true,
            expected: HashMap::new(),
            wall_secs,
            trusted_secs: wall_secs - 2,
            was_compared: false,
            was_suspect: false,
            pending: None,
            calls_before: 0,
            was_there: false,
            story: Vec::new(),
            told: Told::default(),
        };
        if world.random.once_in(3) {
            world.came_long_ago();
        }
        world
    }

    /// An earlier transfer has brought most of it, of which some has changed since.
    fn came_long_ago(&mut self) {
        let Self { site, source, random, .. } = self;
        for which in 0..source.files.len() {
            if random.once_in(4) {
                continue;
            }
            let file = source.files[which].clone();
            site.disk.outside(|inbox| {
                let path = inbox.join(OsStr::from_bytes(&file.path()));
                fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
                write(&path, &file.bytes(0..file.size), file.mtime);
            });
            if random.once_in(3) {
                site.held.insert(file.version(), Held::Whole);
            } else {
                source.change(random, which, self.wall_secs);
            }
        }
    }

    /// Whether it is of large files, and of a folder that is there already; and whether it is to be
    /// proven.
    pub(crate) fn is_of(&self) -> (bool, bool, bool) {
        let is_large = self.source.files.iter().any(|file| file.size > super::source::SMALL_MAX);
        (is_large, self.site.disk.state().is_there(TOP), self.proves)
    }

    /// Whether a file that is there is of another version than the one that comes.
    pub(crate) fn replaces(&self) -> bool {
        let files = self.site.disk.state().files(TOP, None);
        let is_older = |path: &[u8]| files.keys().any(|name| [TOP, name].concat() == path);
        self.source.files.iter().any(|file| is_older(&file.path()) && !self.site.held.contains_key(&file.version()))
    }

    /// Has power cuts leave something else.
    pub(crate) fn shuffle(&mut self, time: u64) {
        self.losses = Random::new(self.losses.number() ^ time);
    }

    /// Bytes that it is about.
    pub(crate) fn bytes(&self) -> u64 {
        self.source.files.iter().map(|file| file.size).sum()
    }

    /// Operations that one attempt does to which nothing happens.
    pub(crate) fn operations(&mut self) -> usize {
        let before = self.site.disk.state().calls();
        assert_eq!(self.attempt(Fault::None, 0), Outcome::Whole);
        self.site.disk.state().calls() - before
    }

    /// One attempt, whose receiver is killed or loses its power just before an operation, and one
    /// to which nothing happens.
    pub(crate) fn crash_before(&mut self, operation: usize, loses_power: bool) {
        let fault = if loses_power { Fault::PowerLost } else { Fault::ReceiverKilled };
        self.story.push(format!("{fault:?} before operation {operation}"));
        self.pending = Some(fault);
        let is_made = !self.site.disk.state().is_there(TOP);
        self.site.disk.state().dies_after(operation);
        self.attempt(Fault::None, usize::MAX);
        assert!(!self.told.struck.is_empty(), "it was not killed");
        assert_eq!(self.attempt(Fault::None, usize::MAX), Outcome::Whole);
        self.check_nothing_stays();
        if is_made {
            self.check_folders();
        }
    }

    /// Plays to the end: a receipt, and everything there.
    pub(crate) fn play(&mut self) {
        let Self { proves, retries, compares, .. } = self;
        self.story.push(format!("proves {proves}, retries {retries}, compares {compares}"));
        for number in 0..self.random.below(FAULTY_MAX + 1) {
            let fault = FAULTS[self.random.below(FAULTS.len())];
            // Attempts that get far and such that hardly begin.
            let most = [10, 60, 250][self.random.below(3)];
            let at = self.random.below(most);
            self.story.push(format!("attempt {number}: {fault:?} at {at}"));
            self.may_rot();
            match self.attempt(fault, at) {
                Outcome::Whole => return self.check_nothing_stays(),
                Outcome::Full if self.retries && self.wait_for_room() => return self.check_nothing_stays(),
                _ => {}
            }
            self.site.disk.state().plan.room = None;
            self.between();
        }
        self.story.push("last attempt".to_owned());
        self.site.resumed();
        let mut ended = self.attempt(Fault::None, 0);
        if ended == Outcome::Lost && self.is_new {
            // Somebody had stopped what was offered again: it is offered anew.
            ended = self.attempt(Fault::None, 0);
        }
        assert_eq!(ended, Outcome::Whole, "nothing went wrong, and there is no receipt for all of it");
        self.check_nothing_stays();
    }

    /// One attempt.
    fn attempt(&mut self, fault: Fault, at: usize) -> Outcome {
        if std::mem::take(&mut self.is_new) {
            self.transfer += 1;
            // It is another one's staging folder while that lives.
            if let Some(mut old) = self.site.lingering.take() {
                old.keep(&mut self.site);
            }
        }
        // A session that lingers may give it its name yet.
        self.was_there = self.site.disk.state().is_there(TOP) || self.site.lingering.is_some();
        let before: Vec<_> = self.source.files.clone();
        self.expected = self.site.held.clone();
        (self.was_compared, self.was_suspect) = (self.site.compares(), self.site.is_suspect());
        self.calls_before = self.site.disk.state().calls();
        let reported_before = self.site.disk.state().reported();
        let standing = self.standing();
        let had_lingering = self.site.lingering.is_some();
        let retry_s = if self.retries { RETRY_S } else { 0 };
        let terms = Terms { transfer: self.transfer, proves: self.proves, retry_s, compares: self.compares };
        let mut attempt = Attempt::new(&mut self.random, &self.source, terms, self.now_ms);
        let until_ms = self.now_ms + ATTEMPT_MS_MAX;
        for step in 0.. {
            assert!(step < STEPS_MAX && self.now_ms < until_ms, "it does not end");
            if step == at {
                self.strike(&mut attempt, fault);
            }
            self.befall(&mut attempt);
            attempt.carry();
            attempt.bury(&mut self.random);
            if attempt.sender.is_none() && attempt.is_half_cut && self.retries && !self.is_new {
                // Its sender comes again before the receiver notices.
                self.site.lingering = attempt.receiver.take().map(Box::new);
            }
            if attempt.sender.is_none() && attempt.receiver.is_none() {
                break;
            }
            self.act(&mut attempt);
        }
        {
            let plan = &mut self.site.disk.state().plan;
            (plan.rots_after, plan.dies_at, plan.dies_before) = (None, None, None);
        }
        (self.pending, self.site.errs) = (None, false);
        self.check_sent(&before, &attempt.sent);
        self.check_whole();
        self.told.found += attempt.found;
        self.told.erred += u64::from(self.site.disk.state().reported() > reported_before);
        self.told.succeeded += u64::from(had_lingering && self.site.lingering.is_none());
        if attempt.receiver_end == Some(ReceiverEnd::Removed) {
            assert!(!self.site.has_staging() || self.site.is_suspect(), "something stays of what was stopped");
        }
        if attempt.receiver_end == Some(ReceiverEnd::Receipt) && attempt.sender_end != Some(SenderEnd::Receipt) {
            self.told.unheard += 1;
            // Which entries failed only the receipt says.
            if attempt.failures == 0 {
                self.check_receipt(&before, &attempt);
            }
        }
        // What was declined is as it was.
        if !matches!(attempt.receiver_end, Some(ReceiverEnd::Declined(_))) {
            self.site.survey(&self.source, attempt.keeps_staged);
        }
        self.check_declined(standing, &attempt, had_lingering);
        match attempt.sender_end {
            Some(SenderEnd::Receipt) => {
                assert_eq!(attempt.receiver_end, Some(ReceiverEnd::Receipt), "a receipt that nobody gave");
                self.check_receipt(&before, &attempt);
                self.told.again += u64::from(standing == Some(Standing::Received));
                self.told.unproven += attempt.failed_there.len() as u64;
                self.is_new = true;
                if attempt.failed_there.is_empty() { Outcome::Whole } else { Outcome::Partial }
            }
            Some(SenderEnd::NoRoom(_)) => Outcome::Full,
            Some(SenderEnd::Stopped) => {
                self.is_new = true;
                Outcome::Lost
            }
            _ if !self.retries => {
                self.is_new = true;
                Outcome::Lost
            }
            _ if self.standing() == Some(Standing::Full) && self.site.is_full() => Outcome::Full,
            _ => Outcome::Lost,
        }
    }

    /// What the receiver remembers of the transfer that is offered.
    fn standing(&self) -> Option<Standing> {
        self.site.remembered.filter(|one| one.transfer == [self.transfer; 16]).map(|one| one.state)
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
            actions.extend(receiver.can_finish().then_some(Action::Finish));
        }
        if self.site.lingering.as_ref().is_some_and(|lingering| lingering.can_finish()) {
            actions.push(Action::FinishLingering);
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
                receiver.arrive(&mut self.site, lane, attempt.lanes[lane].arrive(random));
            }
            Action::SenderLane(lane) => {
                let sender = attempt.sender.as_mut().expect("it is there");
                sender.step(lane, &mut attempt.lanes[lane], &self.source, random);
            }
            Action::Finish => attempt.receiver.as_mut().expect("it is there").finish(&mut self.site),
            Action::FinishLingering => {
                let mut lingering = self.site.lingering.take().expect("it is there");
                lingering.finish(&mut self.site);
                self.site.lingering = Some(lingering).filter(|lingering| lingering.end.is_none());
            }
        }
    }

    fn pass(&mut self, ms: u64) {
        self.now_ms += ms;
    }

    /// Nothing happens before somebody loses patience.
    fn wait(&mut self, attempt: &mut Attempt) {
        let sender = attempt.sender.as_ref().and_then(Sender::timeout);
        let receiver = attempt.receiver.as_ref().and_then(Receiver::timeout);
        let lingering = self.site.lingering.as_ref().and_then(|lingering| lingering.timeout());
        let due =
            [sender, receiver, lingering].into_iter().flatten().min().expect("somebody waits for something for ever");
        self.pass(due.saturating_sub(self.now_ms));
        if let Some(sender) = attempt.sender.as_mut().filter(|_| sender == Some(due)) {
            sender.pass_time(self.now_ms);
        }
        if let Some(receiver) = attempt.receiver.as_mut().filter(|_| receiver == Some(due)) {
            receiver.pass_time(&mut self.site, self.now_ms);
        }
        if lingering == Some(due) {
            let mut lingering = self.site.lingering.take().expect("it is there");
            lingering.pass_time(&mut self.site, self.now_ms);
            self.site.lingering = Some(lingering).filter(|lingering| lingering.end.is_none());
        }
    }
}
