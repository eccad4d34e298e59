//! What goes wrong: in an attempt, at some moment of it, and between two.
use ringway_wire::control::Cancel;
use ringway_wire::resume::JOURNAL;

use super::World;
use super::attempt::Attempt;
use crate::disk::{File, Tag};
use crate::pipe::LanePipe;
use crate::receiver::{STAGING, path_of};
use crate::source::TOP;

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

pub(super) const FAULTS: [Fault; 18] = [
    Fault::None,
    Fault::SenderKilled,
    Fault::ReceiverKilled,
    Fault::BothKilled,
    Fault::PowerLost,
    Fault::WritesRefused,
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
        if matches!(fault, Fault::ReceiverKilled | Fault::BothKilled | Fault::PowerLost | Fault::WritesRefused)
            && let Some(receiver) = &attempt.receiver
        {
            self.told.struck.insert(receiver.phase());
        }
        let random = &mut self.random;
        match fault {
            Fault::None => {}
            Fault::SenderKilled => attempt.kill_sender(random),
            Fault::ReceiverKilled => attempt.kill_receiver(random, &mut self.site),
            Fault::BothKilled => {
                attempt.kill_sender(random);
                attempt.kill_receiver(random, &mut self.site);
            }
            Fault::PowerLost => {
                attempt.kill_receiver(random, &mut self.site);
                self.site.disk.lose_power(self.site.promise(), random);
                self.site.boot += 1;
                self.site.was_torn |= self.site.was_merged;
                self.told.torn += u64::from(self.site.was_merged);
                let source = &self.source;
                self.site.survey(|version, file| {
                    let path = path_of(version);
                    let mut versions = source.versions(&path).filter(|known| known.version() == *version);
                    versions.any(|known| known.whole().is_like(file))
                });
            }
            Fault::WritesRefused => {
                attempt.kill_receiver(random, &mut self.site);
                self.site.disk.refuse_writes(random);
                self.told.refused += 1;
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
            Fault::DiskFull => self.site.disk.room = Some(random.below(20)),
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
                self.source.change(random, which, self.site.disk.wall_secs);
            }
            Fault::OldFileChanges => self.change_an_old_file(),
        }
    }

    /// Somebody at the receiver writes to a file, or removes it.
    fn change_an_old_file(&mut self) {
        let paths: Vec<_> = self.site.disk.tree(TOP).into_keys().map(|path| [TOP, &path].concat()).collect();
        if paths.is_empty() {
            return;
        }
        let path = paths[self.random.below(paths.len())].clone();
        let removed = self.random.once_in(3);
        let mtime = ringway_wire::lane::Timestamp { secs: self.site.disk.wall_secs, nanos: 1 };
        let disk = &mut self.site.disk;
        if removed {
            disk.remove(&path);
        } else {
            let (node, _) = disk.file(&path).expect("it is there");
            let file = disk.file_mut(node);
            let pieces = file.pieces.iter().map(|piece| if self.random.once_in(2) { *piece } else { FOREIGN });
            *file = File::new(file.size, mtime, pieces.collect());
        }
        self.story.push(format!("{} is {}", path.escape_ascii(), if removed { "removed" } else { "changed" }));
        self.site.held.retain(|version, _| path_of(version) != path);
        self.expected.retain(|version, _| path_of(version) != path);
        self.site.foreign.insert(path);
    }

    /// Of some writes the medium takes one down wrongly; where nobody reads it back, that would not
    /// be found out.
    pub(super) fn may_rot(&mut self) {
        if self.proves && self.random.once_in(3) {
            self.site.disk.rots_after = Some(self.random.below(20));
            self.story.push(format!("a write rots: {:?}", self.site.disk.rots_after));
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
            // Somebody has set the clock, or it has lost its battery.
            self.set_back_secs = [0, 50, 99_500][self.random.below(3)];
            self.pass(0);
            self.story.push(format!("the clock says {}", self.site.disk.wall_secs));
        }
        // What a session that lingers has noted is expected to be there.
        self.site.is_slow = self.random.once_in(6) && self.site.lingering.is_none();
        if self.random.once_in(4) {
            self.site.disk.forget();
        }
        let wall_secs = self.site.disk.wall_secs;
        self.source.meanwhile(&mut self.random, wall_secs);
        // What is being written meanwhile would be held against what was there.
        if self.random.once_in(6) && self.site.lingering.is_none() {
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
        self.site.forget_staged();
    }
}
