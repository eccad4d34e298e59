//! A large file while it is sent, by one lane or several: who takes which piece, and who says how it ended.
use std::ops::Range;
use std::sync::Mutex;

use super::lane::OpenFile;
use super::lock;
use super::pieces::{Pieces, RANGE_LEN};
use super::reason;
use super::unit::Large;
use crate::error::{FailureReason, Operation};

/// Another lane joins only where so many bytes are left: with less the file is over before that pays, and a lane that is far behind would hold
/// many files open at the receiver.
const JOIN_LEFT_MIN: u64 = 8 * RANGE_LEN as u64;

/// Why a file could not be read to its end.
pub(super) type Unreadable = (Operation, FailureReason);

/// A file that lanes send.
pub(super) struct Ranged {
    pub(super) large: Large,
    pub(super) opened: OpenFile,
    pub(super) id: u64,
    state: Mutex<State>,
}

struct State {
    pieces: Pieces,
    /// Lanes that are at it.
    lanes: u32,
    /// Bytes that were handed to their sinks, or that the receiver had.
    sent: u64,
    unreadable: Option<Unreadable>,
}

/// What a lane does next with a file.
pub(super) enum Share {
    /// Sends this piece; with `last`, it is the file's end too: no other lane is at it and none can join.
    Piece { range: Range<u64>, last: bool },
    /// Says how it ended, all others being done with it.
    End(Option<Unreadable>),
    /// Goes on to something else: who is still at it says how it ended.
    Nothing,
}

impl State {
    fn leave(&mut self) -> Share {
        self.lanes -= 1;
        if self.lanes == 0 { Share::End(self.unreadable) } else { Share::Nothing }
    }
}

impl Ranged {
    /// With the calling lane at it.
    pub(super) fn new(large: Large, opened: OpenFile, id: u64, pieces: Pieces) -> Self {
        let state = State { pieces, lanes: 1, sent: large.has.total(), unreadable: None };
        Self { large, opened, id, state: Mutex::new(state) }
    }

    /// Takes a lane on, if enough is left for it.
    pub(super) fn join(&self) -> bool {
        let mut state = lock(&self.state);
        let joins = state.unreadable.is_none() && state.pieces.left() >= JOIN_LEFT_MIN;
        state.lanes += u32::from(joins);
        joins
    }

    /// What a lane that is at it does next. After anything but a piece it is not at it any more.
    pub(super) fn next(&self) -> Share {
        let mut state = lock(&self.state);
        if state.unreadable.is_none() {
            match state.pieces.next(&self.opened.file) {
                Ok(Some(range)) => {
                    let last = state.lanes == 1 && state.pieces.left() == 0;
                    return Share::Piece { range, last };
                }
                Ok(None) => {}
                Err(error) => state.unreadable = Some((Operation::Read, reason(&error))),
            }
        }
        state.leave()
    }

    /// The same for a lane that has other work: it takes no further piece.
    pub(super) fn leave(&self) -> Share {
        lock(&self.state).leave()
    }

    /// Counts bytes that are being handed to a sink; all so far.
    pub(super) fn sent(&self, len: usize) -> u64 {
        let mut state = lock(&self.state);
        state.sent += len as u64;
        state.sent
    }

    /// No lane takes another piece; the first reason is the one that is told.
    pub(super) fn give_up(&self, why: Unreadable) {
        lock(&self.state).unreadable.get_or_insert(why);
    }
}
