//! A large file while one or several lanes send it: which lane takes which piece, and which one
//! sends the end.
use std::collections::VecDeque;
use std::ops::Range;
use std::os::fd::OwnedFd;

use parking_lot::Mutex;
use ringway_model::{FailureReason, Operation};
use ringway_sys::attributes::Metadata;
use ringway_wire::lane::{OwnerNamesBuffer, XattrBuffer};

use crate::send::queue::Large;
use crate::send::queue::pieces::{Pieces, RANGE_LEN};
use crate::send::queue::told::Told;
use crate::send::reason;

/// Another lane joins only if at least this many bytes are left. With less, the file ends before
/// that pays, and a lane that is far behind would hold many files open at the receiver.
const JOIN_LEFT_MIN: u64 = 8 * RANGE_LEN as u64;

/// Why a file could not be read to its end.
pub(in crate::send) type Unreadable = (Operation, FailureReason);

/// A file that is being read.
pub(in crate::send) struct OpenFile {
    pub(in crate::send) file: OwnedFd,
    pub(in crate::send) metadata: Metadata,
    pub(in crate::send) xattrs: XattrBuffer,
    /// The names of its users and groups, if the receiver wants them.
    pub(in crate::send) names: OwnerNamesBuffer,
}

/// A file that lanes send.
pub(in crate::send) struct Ranged {
    pub(in crate::send) large: Large,
    pub(in crate::send) opened: OpenFile,
    pub(in crate::send) id: u64,
    /// The stamp of the version that was opened.
    pub(in crate::send) stamp: u64,
    /// Digests of the contents that were sent, if they are to be proven.
    pub(in crate::send) told: Option<Mutex<Told>>,
    state: Mutex<State>,
}

struct State {
    pieces: Pieces,
    /// Whether one lane asks which of its chunks the receiver has. No lane takes parts that were
    /// not asked about.
    asks: bool,
    /// Chunks that the receiver lacks, of those that it was asked about.
    wanted: VecDeque<Range<u64>>,
    /// Lanes that work on it.
    lanes: u32,
    /// Bytes that were passed to their sinks, or that the receiver had.
    sent: u64,
    unreadable: Option<Unreadable>,
}

/// The next step of a lane with a file.
pub(in crate::send) enum Share {
    /// Sends this piece. With `last` it is also the file's end: no other lane works on the file and
    /// none can join.
    Piece { range: Range<u64>, last: bool },
    /// Sends the file's end, because all other lanes are done with it.
    End(Option<Unreadable>),
    /// Goes on to other work. Another lane still works on the file and sends its end.
    Nothing,
}

impl State {
    /// The most bytes that lanes may take now.
    fn left(&self) -> u64 {
        let wanted: u64 = self.wanted.iter().map(|range| range.end - range.start).sum();
        wanted + if self.asks { 0 } else { self.pieces.left() }
    }

    /// The next piece of the wanted chunks.
    fn take_wanted(&mut self) -> Option<Range<u64>> {
        let range = self.wanted.front_mut()?;
        let piece = range.start..range.end.min(range.start + RANGE_LEN as u64);
        range.start = piece.end;
        if range.is_empty() {
            self.wanted.pop_front();
        }
        Some(piece)
    }

    fn leave(&mut self) -> Share {
        self.lanes -= 1;
        if self.lanes == 0 { Share::End(self.unreadable) } else { Share::Nothing }
    }
}

impl Ranged {
    /// Creates it with the calling lane at work on it.
    pub(in crate::send) fn new(
        large: Large,
        opened: OpenFile,
        id: u64,
        stamp: u64,
        pieces: Pieces,
        proves: bool,
    ) -> Self {
        let (asks, wanted) = (false, VecDeque::new());
        let state = State { pieces, asks, wanted, lanes: 1, sent: large.has.total(), unreadable: None };
        let told = proves.then(Mutex::default);
        Self { large, opened, id, stamp, told, state: Mutex::new(state) }
    }

    /// Lets a lane join, if enough is left for it.
    pub(in crate::send) fn join(&self) -> bool {
        let mut state = self.state.lock();
        let joins = state.unreadable.is_none() && state.left() >= JOIN_LEFT_MIN;
        state.lanes += u32::from(joins);
        joins
    }

    /// The next step of a lane that works on it. After any step but a piece, the lane does not work
    /// on it any more.
    pub(in crate::send) fn next(&self) -> Share {
        let mut state = self.state.lock();
        if state.unreadable.is_none() {
            let next = match state.take_wanted() {
                Some(wanted) => Ok(Some(wanted)),
                None if state.asks => Ok(None),
                None => state.pieces.next(&self.opened.file),
            };
            match next {
                Ok(Some(range)) => {
                    let last = state.lanes == 1 && !state.asks && state.left() == 0;
                    return Share::Piece { range, last };
                }
                Ok(None) => {}
                Err(error) => state.unreadable = Some((Operation::Read, reason(&error))),
            }
        }
        state.leave()
    }

    /// A piece that was not asked about, if more follows after it and the file can be read.
    pub(in crate::send) fn take_first(&self) -> Option<Range<u64>> {
        let mut state = self.state.lock();
        if state.unreadable.is_some() || state.left() <= RANGE_LEN as u64 {
            return None;
        }
        match state.pieces.next(&self.opened.file) {
            Ok(piece) => piece,
            Err(error) => {
                state.unreadable = Some((Operation::Read, reason(&error)));
                None
            }
        }
    }

    /// From now on one lane asks which chunks the receiver has, and the others take the chunks that
    /// turn out to be wanted.
    pub(in crate::send) fn begin_asking(&self) {
        self.state.lock().asks = true;
    }

    /// Whether one lane asks about it.
    pub(in crate::send) fn is_asked_about(&self) -> bool {
        self.state.lock().asks
    }

    /// The next stretch to ask about.
    pub(in crate::send) fn next_stretch(&self) -> Result<Option<Range<u64>>, Unreadable> {
        let found = self.state.lock().pieces.next_whole(&self.opened.file);
        found.map_err(|error| (Operation::Read, reason(&error)))
    }

    /// Adds wanted ranges.
    pub(in crate::send) fn want(&self, ranges: impl IntoIterator<Item = Range<u64>>) {
        self.state.lock().wanted.extend(ranges);
    }

    /// The next wanted piece, unless the file cannot be read any more.
    pub(in crate::send) fn take_wanted(&self) -> Option<Range<u64>> {
        let mut state = self.state.lock();
        if state.unreadable.is_some() { None } else { state.take_wanted() }
    }

    /// Whether there is a wanted piece, and whether the file can be read.
    pub(in crate::send) fn wants(&self) -> (bool, bool) {
        let state = self.state.lock();
        (!state.wanted.is_empty(), state.unreadable.is_none())
    }

    /// Ends asking. What is left, with the rest of the last returned stretch, is for every lane.
    pub(in crate::send) fn end_asking(&self, rest: Option<Range<u64>>) {
        let mut state = self.state.lock();
        state.asks = false;
        if let Some(rest) = rest {
            state.pieces.put_back(rest);
        }
    }

    /// The most bytes that are left to be sent, on all lanes.
    pub(in crate::send) fn left(&self) -> u64 {
        self.state.lock().left()
    }

    /// The step of a lane that has other work: it takes no further piece.
    pub(in crate::send) fn leave(&self) -> Share {
        self.state.lock().leave()
    }

    /// Counts bytes that are being passed to a sink; returns all so far.
    pub(in crate::send) fn sent(&self, len: usize) -> u64 {
        let mut state = self.state.lock();
        state.sent += len as u64;
        state.sent
    }

    /// No lane takes another piece. The first reason is the one that is reported.
    pub(in crate::send) fn give_up(&self, why: Unreadable) {
        self.state.lock().unreadable.get_or_insert(why);
    }
}
