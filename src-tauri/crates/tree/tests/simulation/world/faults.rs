//! What goes wrong: in an attempt, at some moment of it, and between two.
use ringway_wire::control::Cancel;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, UNIX_EPOCH};

use super::attempt::Attempt;
use super::{World, write};
use crate::OPERATIONS;
use crate::pipe::LanePipe;
use crate::receiver::Receiver;
use crate::receiver::{is_staging, path_of};
use crate::source::{TOP, Tag, add_contents};

/// What goes wrong in an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    SenderKilled,
    ReceiverKilled,
    BothKilled,
    PowerLost,
    /// The disk refuses writes, another program's sync is told so, and the receiver is killed
    /// before it asks.
    WritesRefused,
    /// The same, and the receiver hears of it.
    SyncFails,
    LaneCut,
    SessionCut,
    /// The sender sees its connections end, the receiver hears nothing.
    HalfCut,
    NetworkGone,
    DiskFull,
    SenderCancels,
    ReceiverCancels,
    /// And the sender may not hear of it.
    ReceiverCancelsAndIsCut,
    SenderPauses,
    /// And does not resume it at once.
    ReceiverPauses,
    FileChanges,
    /// A file that is there under its final name.
    OldFileChanges,
}

/// What nobody sends: what somebody at the receiver has written.
const FOREIGN: Tag = 1 << 30;

/// Operations that the receiver still does before it is killed, at most.
const STILL_DONE: [usize; 3] = [2, 12, 60];

pub(super) const FAULTS: [Fault; 19] = [
    Fault::None,
    Fault::SenderKilled,
    Fault::ReceiverKilled,
    Fault::BothKilled,
    Fault::PowerLost,
    Fault::WritesRefused,
    Fault::SyncFails,
    Fault::LaneCut,
    Fault::SessionCut,
    Fault::HalfCut,
    Fault::NetworkGone,
    Fault::DiskFull,
    Fault::SenderCancels,
    Fault::ReceiverCancels,
    Fault::ReceiverCancelsAndIsCut,
    Fault::SenderPauses,
    Fault::ReceiverPauses,
    Fault::FileChanges,
    Fault::OldFileChanges,
];

impl World {
    /// What was to go wrong does.
    pub(super) fn strike(&mut self, attempt: &mut Attempt, fault: Fault) {
        if matches!(fault, Fault::SenderKilled | Fault::BothKilled) && attempt.sender.is_some() {
            self.is_new = true;
        }
        let random = &mut self.random;
        match fault {
            Fault::None => {}
            Fault::SenderKilled => attempt.kill_sender(random),
            Fault::ReceiverKilled | Fault::BothKilled | Fault::PowerLost | Fault::WritesRefused => {
                if fault == Fault::BothKilled {
                    attempt.kill_sender(random);
                }
                self.pending = Some(fault);
                // Some operations are so rare that a number drawn at random is seldom one of
                // theirs.
                match random.below(2) {
                    0 => self.site.disk.state().dies_before(OPERATIONS[random.below(OPERATIONS.len())]),
                    _ => {
                        let still = STILL_DONE[random.below(STILL_DONE.len())];
                        self.site.disk.state().dies_after(random.below(still));
                    }
                }
                if !attempt.receiver.as_ref().is_some_and(Receiver::has_accepted) {
                    self.site.disk.state().die();
                }
            }
            Fault::SyncFails => {
                let mut state = self.site.disk.state();
                state.refuse_writes(true, random);
                state.fails_to_sync();
                drop(state);
                self.site.errs = true;
            }
            Fault::LaneCut if attempt.lanes.is_empty() => {}
            Fault::LaneCut => {
                let lane = random.below(attempt.lanes.len());
                attempt.lanes[lane].break_off(random);
            }
            Fault::SessionCut => attempt.break_session(random),
            Fault::HalfCut => {
                attempt.to_sender.break_off(random, true);
                attempt.to_receiver.fall_silent();
                attempt.lanes.iter_mut().for_each(LanePipe::fall_silent);
                attempt.is_half_cut = true;
            }
            Fault::NetworkGone => {
                attempt.to_receiver.fall_silent();
                attempt.to_sender.fall_silent();
                attempt.lanes.iter_mut().for_each(LanePipe::fall_silent);
            }
            Fault::DiskFull => self.site.disk.state().plan.room = Some(random.below(20)),
            Fault::SenderCancels => {
                if let Some(sender) = &mut attempt.sender {
                    sender.cancel(Cancel::ByPerson);
                }
            }
            Fault::ReceiverCancels | Fault::ReceiverCancelsAndIsCut => {
                if let Some(receiver) = &mut attempt.receiver {
                    receiver.cancel(&mut self.site);
                    attempt.carry();
                }
                if fault == Fault::ReceiverCancelsAndIsCut {
                    attempt.break_session(random);
                }
            }
            Fault::SenderPauses => {
                if let Some(sender) = &mut attempt.sender {
                    sender.cancel(Cancel::Paused);
                }
            }
            Fault::ReceiverPauses => {
                if let Some(receiver) = &mut attempt.receiver {
                    receiver.pause(&mut self.site);
                    attempt.carry();
                }
            }
            Fault::FileChanges => {
                let which = random.below(self.source.files.len());
                self.source.change(random, which, self.wall_secs);
            }
            Fault::OldFileChanges => self.change_an_old_file(),
        }
    }

    /// What was to happen before the receiver's next operation happens.
    pub(super) fn befall(&mut self, attempt: &mut Attempt) {
        let Some(died_in) = self.site.disk.state().died_in() else { return };
        self.told.struck.insert(died_in);
        self.story.push(format!("{:?} before: {died_in}", self.pending));
        let random = &mut self.random;
        attempt.kill_receiver(random, &mut self.site);
        match self.pending.take() {
            Some(Fault::PowerLost) => {
                let after = self.site.disk.state().after(self.site.promise(), &mut self.losses);
                self.site.disk.lose_power(&after);
                self.site.boot += 1;
                self.told.torn += u64::from(self.site.was_merged);
            }
            Some(Fault::WritesRefused) => {
                let has_refused = self.site.disk.state().refuse_writes(false, random);
                self.told.refused += u64::from(has_refused);
            }
            _ => {}
        }
    }

    /// Somebody at the receiver writes to a file, or removes it.
    fn change_an_old_file(&mut self) {
        let files = self.site.disk.state().files(TOP, None);
        let paths: Vec<_> = files.into_keys().map(|path| [TOP, &path].concat()).collect();
        if paths.is_empty() {
            return;
        }
        let path = paths[self.random.below(paths.len())].clone();
        let removed = self.random.once_in(3);
        let mtime = ringway_wire::lane::Timestamp { secs: self.wall_secs, nanos: 1 };
        let random = &mut self.random;
        self.site.disk.outside(|inbox| {
            let at = inbox.join(OsStr::from_bytes(&path));
            if removed {
                return fs::remove_file(&at).expect("it is there");
            }
            let mut bytes = fs::read(&at).expect("it is there");
            let foreign = random.below(bytes.len() + 1);
            let mut contents = Vec::new();
            add_contents(FOREIGN, 0..foreign as u64, &mut contents);
            bytes[..foreign].copy_from_slice(&contents);
            write(&at, &bytes, mtime);
        });
        self.story.push(format!("{} is {}", path.escape_ascii(), if removed { "removed" } else { "changed" }));
        self.site.held.retain(|version, _| path_of(version) != path);
        self.expected.retain(|version, _| path_of(version) != path);
        self.site.foreign.insert(path);
    }

    /// Of some writes the medium takes one down wrongly; where nobody reads it back, that would not
    /// be found out.
    pub(super) fn may_rot(&mut self) {
        if self.proves && self.random.once_in(3) {
            let after = self.random.below(20);
            self.site.disk.state().plan.rots_after = Some(after);
            self.story.push(format!("a write rots: {after}"));
        }
    }

    /// What happens before the next attempt.
    pub(super) fn between(&mut self) {
        let passed = self.random.below(20_000) as u64;
        self.pass(passed);
        if self.random.once_in(2) {
            self.site.resumed();
        }
        if self.random.once_in(8) {
            // Somebody has set the clock, or it has lost its battery: the first attempt began later
            // than now.
            self.set_the_clock_back();
        }
        // What a session that lingers has noted is expected to be there.
        self.site.disk.state().plan.is_slow = self.random.once_in(6) && self.site.lingering.is_none();
        if self.random.once_in(4) {
            self.site.disk.state().forget();
        }
        self.source.meanwhile(&mut self.random, self.wall_secs);
        // What is being written meanwhile would be held against what was there.
        if self.random.once_in(6) && self.site.lingering.is_none() {
            self.spoil_a_journal();
        }
    }

    /// A journal is cut off, or some of it is not what it was.
    fn spoil_a_journal(&mut self) {
        let random = &mut self.random;
        let mut journals = self.site.journals();
        if journals.is_empty() {
            return;
        }
        let (path, mut bytes) = journals.swap_remove(random.below(journals.len()));
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
        self.site
            .disk
            .outside(|inbox| fs::write(inbox.join(OsStr::from_bytes(&path)), bytes).expect("memory takes it"));
        self.story.push(format!("a journal is spoilt at {at}"));
        self.site.survey(&self.source, false);
    }

    fn set_the_clock_back(&mut self) {
        let secs = [50, 99_500][self.random.below(2)];
        let time = UNIX_EPOCH + Duration::from_secs(self.wall_secs as u64 + secs);
        self.site.disk.outside(|inbox| {
            for entry in fs::read_dir(inbox).expect("a folder").filter_map(Result::ok) {
                let begun = entry.path().join("begun");
                if is_staging(entry.file_name().as_bytes()) && begun.exists() {
                    let file = fs::File::options().write(true).open(begun);
                    file.and_then(|file| file.set_modified(time)).expect("a time");
                }
            }
        });
        self.story.push(format!("the clock is set back by {secs} s"));
    }
}
