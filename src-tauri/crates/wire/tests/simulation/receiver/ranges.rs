//! The receiver's files in ranges: booked, made or gone on with, written, noted, ended.
use std::hash::{DefaultHasher, Hash, Hasher};

use ringway_wire::journal::{Recorder, Version};
use ringway_wire::lane::{Digest, RangeHead, RangeStep};
use ringway_wire::ledger::{RangedState, Writing};
use ringway_wire::resume::NOTED_SIZE_MIN;
use ringway_wire::stretches::Stretches;

use super::Receiver;
use super::lanes::{Listed, Op, Piece};
use super::site::{Held, STAGING, Site};
use crate::disk::{Full, PIECE};

#[derive(PartialEq)]
pub(super) enum Made {
    No,
    By(usize),
    Yes,
}

pub(super) struct Open {
    pub(super) made: Made,
    pub(super) place: Vec<u8>,
    pub(super) number: Option<u32>,
    pub(super) writing: Writing,
    pub(super) left: Option<Left>,
    pub(super) moved_from: Option<Vec<u8>>,
    /// The old file of its name, once it was opened to look in; none where there is none.
    pub(super) basis: Option<Option<usize>>,
    /// What was written of it, by offset and chunk, where it is to be proven.
    pub(super) digests: Vec<(u64, usize, Digest)>,
}

/// What an earlier attempt has of a file.
pub(super) struct Left {
    pub(super) path: Vec<u8>,
    pub(super) has: Stretches,
}

impl Receiver {
    pub(super) fn range(&mut self, site: &mut Site, lane: usize, op: Op) -> Result<(), Full> {
        let Listed { version, tag, .. } = self.workers[lane].files[0].clone();
        match op {
            Op::DressRange => {
                let place = &self.workers[lane].closing.as_ref().expect("it has ended").place;
                let node = site.disk.file(place).expect("it was made").0;
                site.disk.set_time(node, version.mtime);
                return Ok(());
            }
            Op::WriteOut => {
                let place = &self.workers[lane].closing.as_ref().expect("it has ended").place;
                let node = site.disk.file(place).expect("it was made").0;
                site.disk.write_out(node);
                return Ok(());
            }
            Op::LandRange => {
                let open = self.workers[lane].closing.take().expect("it has ended");
                self.note_whole(site, &version, &open.place, if open.number.is_some() { 0 } else { version.size });
                self.landed(site, version, open.place, open.digests);
                return Ok(());
            }
            _ => {}
        }
        let piece = self.workers[lane].piece.expect("a range");
        let ops = &mut self.workers[lane].ops;
        match op {
            Op::Book => {
                ops.extend([Op::Make, Op::Write, Op::NoteRange, Op::Release]);
                if matches!(piece.step, RangeStep::Abandoned { .. }) {
                    ops.drain(..3);
                }
                self.book(lane, piece, &version);
            }
            Op::Make => {
                let open = self.open.get_mut(&piece.id).expect("it was booked");
                if open.made == Made::No {
                    open.made = Made::By(lane);
                    let made = if open.left.is_some() { [Op::Note, Op::Move] } else { [Op::CreatePart, Op::Note] };
                    made.into_iter().rev().for_each(|op| ops.push_front(op));
                }
            }
            Op::CreatePart => {
                let place = self.place(&mut site.disk, lane, &version)?;
                let node = site.disk.create(&place)?;
                site.disk.resize(node, version.size);
                // What was there of it was not worth going on with.
                site.held.remove(&version);
                self.opened(piece.id).place = place;
            }
            Op::Note => {
                if self.open[&piece.id].left.is_some() {
                    let place = self.place(&mut site.disk, lane, &version)?;
                    self.opened(piece.id).place = place;
                }
                let open = self.open.get_mut(&piece.id).expect("it was booked");
                let has = open.left.as_ref().map(|left| left.has.clone()).unwrap_or_default();
                let place = &open.place[STAGING.len() + 1..];
                if version.size >= NOTED_SIZE_MIN {
                    let noted =
                        note(&mut self.journal, site, |recorder, out| recorder.begin(&version, place, &has, out));
                    open.number = noted.flatten();
                }
                if open.left.is_none() {
                    open.made = Made::Yes;
                }
            }
            Op::Move => {
                let open = self.opened(piece.id);
                let left = open.left.take().expect("what is gone on with");
                site.disk.rename(&left.path, &open.place);
                (open.made, open.moved_from) = (Made::Yes, Some(left.path));
            }
            Op::Write if piece.len > 0 => {
                let node = site.disk.file(&self.open[&piece.id].place).expect("it was made").0;
                assert!(piece.offset.is_multiple_of(PIECE) && piece.len <= PIECE);
                site.disk.write(node, (piece.offset / PIECE) as usize, tag)?;
                let open = self.opened(piece.id);
                open.digests.extend(piece.digest.map(|digest| (piece.offset, 0, digest)));
            }
            Op::NoteRange if piece.len > 0 => self.note_written(site, &version, piece.id, piece.offset, piece.len),
            Op::Release => self.release(site, lane, piece.id, &version),
            _ => self.window_on(site, lane, op)?,
        }
        Ok(())
    }

    /// Notes what was written of a file.
    pub(super) fn note_written(&mut self, site: &mut Site, version: &Version, id: u64, offset: u64, len: u64) {
        let Some(number) = self.open[&id].number else { return };
        let end = offset + len;
        let noted = note(&mut self.journal, site, |recorder, out| recorder.range(number, offset, end, out));
        if noted.is_some() {
            let held = site.held.entry(version.clone()).or_insert_with(|| Held::Noted(Stretches::default()));
            if let Held::Noted(stretches) = held {
                stretches.add(offset, end);
            }
        }
    }

    /// Notes that a staged file is whole, with its bytes that no range tells of.
    pub(super) fn note_whole(&mut self, site: &mut Site, version: &Version, place: &[u8], bytes: u64) {
        if self.is_merging {
            return;
        }
        let marks = [mark(version)];
        let noted = note(&mut self.journal, site, |recorder, out| recorder.whole(&marks, bytes, false, out));
        match noted {
            Some(()) => site.is_whole(version, place),
            None => drop(site.held.remove(version)),
        }
    }

    fn book(&mut self, lane: usize, piece: Piece, version: &Version) {
        self.begin(piece.id, version);
        let (header, head) = &self.workers[lane].range;
        let head = match self.proves {
            true => RangeHead::parse_proven(header, head).map(|(head, _)| head),
            false => RangeHead::parse(header, head),
        }
        .expect("it was parsed");
        let verdict = self.ledger.range(header, &head).expect("an honest peer");
        self.opened(piece.id).writing.begin(verdict.state);
    }

    fn opened(&mut self, id: u64) -> &mut Open {
        self.open.get_mut(&id).expect("it was begun")
    }

    /// Begins a file, if it is not under way.
    pub(super) fn begin(&mut self, id: u64, version: &Version) {
        if self.open.contains_key(&id) {
            return;
        }
        let left = self.resuming.remove(version);
        if let Some(left) = &left {
            self.ledger.resume(id, version.size, version.stamp, left.has.clone()).expect("an honest peer");
        }
        let open = Open {
            made: Made::No,
            place: Vec::new(),
            number: None,
            writing: Writing::default(),
            left,
            moved_from: None,
            basis: None,
            digests: Vec::new(),
        };
        self.open.insert(id, open);
    }

    pub(super) fn release(&mut self, site: &mut Site, lane: usize, id: u64, version: &Version) {
        let Some(state) = self.opened(id).writing.end() else { return };
        let open = self.open.remove(&id).expect("it was booked");
        if state == RangedState::Whole {
            self.workers[lane].closing = Some(open);
            self.workers[lane].ops.extend([Op::DressRange, Op::WriteOut, Op::LandRange]);
        } else {
            if open.made == Made::Yes {
                site.disk.remove(&open.place);
            }
            site.held.remove(version);
        }
    }
}

/// Tells one version of a file from others.
pub(super) fn mark(version: &Version) -> u64 {
    let Version { folder, name, size, mtime, .. } = version;
    let mut hasher = DefaultHasher::new();
    (folder, name, size, mtime.secs, mtime.nanos).hash(&mut hasher);
    hasher.finish()
}

/// Has something noted; None where there is no room, or was none before.
pub(super) fn note<T>(
    journal: &mut Option<(usize, Recorder)>,
    site: &mut Site,
    record: impl FnOnce(&mut Recorder, &mut Vec<u8>) -> T,
) -> Option<T> {
    let (node, recorder) = journal.as_mut()?;
    let mut bytes = Vec::new();
    let recorded = record(recorder, &mut bytes);
    if site.disk.append(*node, &bytes).is_err() {
        *journal = None;
        return None;
    }
    Some(recorded)
}
