//! The receiver's files in ranges: booked, made or gone on with, written, noted, ended.
use ringway_wire::journal::{Recorder, Version};
use ringway_wire::lane::{Counts, RangeHead, RangeStep};
use ringway_wire::ledger::{RangedState, Writing};
use ringway_wire::resume::NOTED_SIZE_MIN;
use ringway_wire::stretches::Stretches;

use super::Receiver;
use super::lanes::{Listed, Op, Piece};
use super::site::{Held, STAGING, Site, path_of};
use crate::disk::{Full, PIECE, Tag};

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
}

/// What an earlier attempt has of a file.
pub(super) struct Left {
    pub(super) path: Vec<u8>,
    pub(super) has: Stretches,
}

impl Receiver {
    pub(super) fn range(&mut self, site: &mut Site, lane: usize, op: Op) -> Result<(), Full> {
        let piece = self.workers[lane].piece.expect("a range");
        let Listed { version, tag, .. } = self.workers[lane].files[0].clone();
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
                site.held.remove(&(path_of(&version), tag));
                self.open.get_mut(&piece.id).expect("it was booked").place = place;
            }
            Op::Note => {
                if self.open[&piece.id].left.is_some() {
                    let place = self.place(&mut site.disk, lane, &version)?;
                    self.open.get_mut(&piece.id).expect("it was booked").place = place;
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
                let open = self.open.get_mut(&piece.id).expect("it was booked");
                let left = open.left.take().expect("what is gone on with");
                site.disk.rename(&left.path, &open.place);
                (open.made, open.moved_from) = (Made::Yes, Some(left.path));
            }
            Op::Write if piece.len > 0 => {
                let node = site.disk.file(&self.open[&piece.id].place).expect("it was made").0;
                assert!(piece.offset.is_multiple_of(PIECE) && piece.len <= PIECE);
                site.disk.write(node, (piece.offset / PIECE) as usize, tag)?;
            }
            Op::NoteRange if piece.len > 0 => {
                if let Some(number) = self.open[&piece.id].number {
                    let end = piece.offset + piece.len;
                    let noted = note(&mut self.journal, site, |recorder, out| {
                        recorder.range(number, piece.offset, end, out);
                    });
                    if noted.is_some() {
                        let held = site
                            .held
                            .entry((path_of(&version), tag))
                            .or_insert_with(|| Held::Noted(Stretches::default()));
                        if let Held::Noted(stretches) = held {
                            stretches.add(piece.offset, end);
                        }
                    }
                }
            }
            Op::Release => self.release(site, piece, &version, tag),
            _ => {}
        }
        Ok(())
    }

    fn book(&mut self, lane: usize, piece: Piece, version: &Version) {
        let left = if self.ledger.is_open(piece.id) { None } else { self.resuming.remove(version) };
        if let Some(left) = &left {
            self.ledger.resume(piece.id, version.size, left.has.clone()).expect("an honest peer");
        }
        let (header, head) = &self.workers[lane].range;
        let head = RangeHead::parse(header, head).expect("it was parsed");
        let verdict = self.ledger.range(header, &head).expect("an honest peer");
        let open = self.open.entry(piece.id).or_insert_with(|| Open {
            made: Made::No,
            place: Vec::new(),
            number: None,
            writing: Writing::default(),
            left,
            moved_from: None,
        });
        open.writing.begin(verdict.state);
    }

    fn release(&mut self, site: &mut Site, piece: Piece, version: &Version, tag: Tag) {
        let open = self.open.get_mut(&piece.id).expect("it was booked");
        let Some(state) = open.writing.end() else { return };
        let open = self.open.remove(&piece.id).expect("it was booked");
        if state == RangedState::Whole {
            // A range without contents does not say what the others were.
            let there = site.disk.file(&open.place).and_then(|(_, file)| file.pieces.first().copied());
            site.is_whole(version, &open.place, there.unwrap_or(tag), self.is_merging);
            self.there += Counts { files: 1, bytes: version.size, ..Counts::default() };
        } else {
            if open.made == Made::Yes {
                site.disk.remove(&open.place);
            }
            let path = path_of(version);
            site.held.retain(|(held, _), _| *held != path);
        }
    }
}

/// Has something noted; None where there is no room, or was none before.
fn note<T>(
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
