//! The sender's files in ranges: piece by piece, by whichever lanes are free.
use std::ops::Range;

use ringway_wire::lane::{Digest, HeadBuffer, OwnerNames, RangeHead, RangeStep};
use ringway_wire::stretches::Stretches;

use super::asking::Asking;
use super::{Sender, entry, frame, path};
use crate::pipe::LanePipe;
use crate::source::{PIECE, Source, SourceFile};

/// A file in ranges.
pub(super) struct Sending {
    pub(super) file: SourceFile,
    /// What is there, or on its way.
    pub(super) done: Stretches,
    pub(super) asking: Option<Asking>,
    pub(super) lanes: u32,
    pub(super) sent: u64,
    pub(super) id: u64,
}

impl Sending {
    pub(super) fn gap(&self) -> Option<Range<u64>> {
        self.done.first_gap(0..self.file.size)
    }
}

impl Sender {
    /// Asks on, or sends the next piece of a file in ranges, or leaves it, saying how it ended if
    /// no other lane is at it.
    pub(super) fn go_on(&mut self, lane: usize, at: usize, pipe: &mut LanePipe, source: &Source) {
        let is_same = source.files.contains(&self.sending[at].file);
        if self.ask_on(at, is_same, pipe) {
            return;
        }
        let gap = self.sending[at].gap().filter(|_| is_same);
        if let Some(gap) = gap {
            let piece = gap.start..gap.end.min(gap.start + PIECE);
            self.going(at, &piece);
            let sending = &mut self.sending[at];
            let alone = sending.lanes == 1 && sending.gap().is_none();
            if alone {
                sending.lanes = 0;
                self.lanes[lane].at = None;
            }
            let data_bytes = sending.sent;
            let step = if alone { RangeStep::Last { data_bytes } } else { RangeStep::More };
            return self.range(at, piece, step, pipe);
        }
        let sending = &mut self.sending[at];
        sending.lanes -= 1;
        self.lanes[lane].at = None;
        if sending.lanes > 0 {
            return;
        }
        let data_bytes = sending.sent;
        if is_same {
            self.range(at, 0..0, RangeStep::Last { data_bytes }, pipe);
        } else {
            self.failed.insert(sending.file.path());
            self.range(at, 0..0, RangeStep::Abandoned { data_bytes }, pipe);
        }
    }

    /// A piece goes out.
    pub(super) fn going(&mut self, at: usize, piece: &Range<u64>) {
        let sending = &mut self.sending[at];
        assert!(sending.done.add(piece.start, piece.end), "a piece is sent twice");
        sending.sent += piece.end - piece.start;
        *self.sent.entry(sending.file.path()).or_default() += piece.end - piece.start;
    }

    pub(super) fn range(&mut self, at: usize, piece: Range<u64>, step: RangeStep, pipe: &mut LanePipe) {
        let Sending { file, id, .. } = &self.sending[at];
        let mut head = HeadBuffer::default();
        let range = RangeHead {
            stamp: file.stamp(),
            file_id: *id,
            offset: piece.start,
            step,
            folder: path(&file.folder),
            entry: entry(file),
            owner_names: OwnerNames::default(),
        };
        let body = file.bytes(piece);
        let header = match self.terms.proves {
            true => head.proven_range(&range, body.len(), Digest(*blake3::hash(&body).as_bytes())),
            false => head.range(&range, body.len()),
        };
        self.counts += head.counts();
        pipe.push(frame(header, &head, &body));
    }
}
