//! The sender's windows of chunks: which parts of a file that has changed need not be sent.
use std::collections::VecDeque;
use std::ops::Range;

use ringway_wire::control::Wanted;
use ringway_wire::lane::{ChunkLens, Counts, HeadBuffer, OwnerNames, RangeHead, RangeStep};

use super::{Sender, Sending, entry, frame, path};
use crate::pipe::LanePipe;
use crate::random::Random;
use crate::source::PIECE;

/// Bytes that one window is of, at the most.
const WINDOW_LEN: u64 = 3 * PIECE;

/// Windows that are under way.
const AHEAD: usize = 2;

/// What is being asked about.
#[derive(Default)]
pub(super) struct Asking {
    next: u64,
    asked: VecDeque<(u32, Range<u64>)>,
    wanted: VecDeque<Range<u64>>,
    is_over: bool,
}

impl Asking {
    fn asks(&self) -> bool {
        !self.is_over && self.asked.len() < AHEAD
    }

    /// Whether there is something to do without an answer.
    pub(super) fn can_go_on(&self) -> bool {
        self.asks() || !self.wanted.is_empty() || self.asked.is_empty()
    }
}

/// The parts of a range that are in one piece each.
fn pieces(range: &Range<u64>) -> impl Iterator<Item = Range<u64>> + use<> {
    let end = range.end;
    (range.start..end).step_by(PIECE as usize).map(move |start| start..end.min(start + PIECE))
}

/// The chunks of a piece: as long as they may be.
fn chunks(piece: &Range<u64>, size: u64) -> impl Iterator<Item = Range<u64>> + use<> {
    let (end, len) = (piece.end, ChunkLens::of(size).max);
    (piece.start..end).step_by(len).map(move |start| start..end.min(start + len as u64))
}

impl Sender {
    /// The next thing to do with a file that is asked about; false if it is not, any more.
    pub(super) fn ask_on(&mut self, at: usize, is_same: bool, pipe: &mut LanePipe) -> bool {
        let Sending { file, done, asking, .. } = &mut self.sending[at];
        let Some(asked) = asking else { return false };
        asked.is_over |= !is_same;
        if asked.asks() {
            match done.first_gap(asked.next..file.size) {
                Some(gap) => {
                    let window = gap.start..gap.end.min(gap.start + WINDOW_LEN);
                    asked.next = window.end;
                    self.ask(at, window, pipe);
                    return true;
                }
                None => asked.is_over = true,
            }
        }
        if let Some(piece) = asked.wanted.pop_front().filter(|_| is_same) {
            self.going(at, &piece);
            self.range(at, piece, RangeStep::More, pipe);
            return true;
        }
        let waits = !asked.asked.is_empty();
        if !waits {
            *asking = None;
        }
        waits
    }

    fn ask(&mut self, at: usize, window: Range<u64>, pipe: &mut LanePipe) {
        let Sending { file, asking, id, .. } = &mut self.sending[at];
        let mut head = HeadBuffer::default();
        let (folder, entry) = (path(&file.folder), entry(file));
        let range = RangeHead {
            stamp: file.stamp(),
            file_id: *id,
            offset: window.start,
            step: RangeStep::More,
            folder,
            entry,
            owner_names: OwnerNames::default(),
        };
        head.begin_chunks(self.next_list, &range);
        for piece in pieces(&window) {
            for chunk in chunks(&piece, file.size) {
                head.chunk((chunk.end - chunk.start) as u32, file.digest(chunk));
            }
        }
        asking.as_mut().expect("it is asked about").asked.push_back((self.next_list, window));
        self.next_list += 1;
        pipe.push(frame(head.chunks_header(), &head, &[]));
    }

    /// Takes the answer to a window in; false if it is one to a list.
    pub(super) fn window_answered(&mut self, wanted: &Wanted, random: &mut Random) -> bool {
        let is_of = |asking: &Asking| asking.asked.front().is_some_and(|(number, _)| *number == wanted.list);
        let Some(sending) = self.sending.iter_mut().find(|sending| sending.asking.as_ref().is_some_and(is_of)) else {
            return false;
        };
        let asking = sending.asking.as_mut().expect("it is asked about");
        let (_, window) = asking.asked.pop_front().expect("it was asked");
        let mut bits = wanted.files.iter();
        for piece in pieces(&window) {
            for chunk in chunks(&piece, sending.file.size) {
                if *bits.next().expect("an answer to each chunk") {
                    match asking.wanted.back_mut() {
                        Some(last) if last.end == chunk.start && last.start >= piece.start => last.end = chunk.end,
                        _ => asking.wanted.push_back(chunk),
                    }
                    continue;
                }
                let len = chunk.end - chunk.start;
                assert!(sending.done.add(chunk.start, chunk.end), "it was sent, and asked about");
                sending.sent += len;
                self.found += len;
                self.counts += Counts { bytes: len, ..Counts::default() };
            }
        }
        assert_eq!(bits.next(), None, "an answer to more than was asked");
        // It seems to be in vain.
        asking.is_over |= random.once_in(8);
        true
    }
}
