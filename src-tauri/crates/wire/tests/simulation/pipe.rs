//! Connections: bytes arrive in order, in pieces that may end anywhere, or stop coming at any byte.
use std::collections::VecDeque;

use super::disk::Tag;
use super::random::Random;

/// A frame of a lane under way. Only its header and head are bytes: a body is as long as it says,
/// and stands for its contents.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    pub(crate) head: Vec<u8>,
    pub(crate) body_len: usize,
    /// What each file of a batch, or the range, holds.
    pub(crate) contents: Vec<Tag>,
}

impl Frame {
    fn len(&self) -> usize {
        self.head.len() + self.body_len
    }
}

/// One lane's connection.
#[derive(Default)]
pub(crate) struct LanePipe {
    frames: VecDeque<Frame>,
    /// Bytes of the first one that have arrived.
    arrived: usize,
    /// Bytes that still arrive before the connection breaks.
    breaks_after: Option<usize>,
    /// The network has gone without a word: nothing arrives, not even the end.
    is_silent: bool,
}

/// What comes at the other end.
pub(crate) enum Arrival {
    Nothing,
    /// Bytes of a header or head, which may end within.
    Head(Vec<u8>),
    /// The last of a frame's body has come, if it has one.
    Whole(Vec<Tag>),
    /// The connection has ended.
    End,
}

impl LanePipe {
    pub(crate) fn push(&mut self, frame: Frame) {
        if self.breaks_after.is_none() && !self.is_silent {
            self.frames.push_back(frame);
        }
    }

    /// Frames that have not arrived.
    pub(crate) fn len(&self) -> usize {
        self.frames.len()
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.breaks_after.is_some()
    }

    pub(crate) fn has_arrivals(&self) -> bool {
        !self.is_silent && (!self.frames.is_empty() || self.breaks_after.is_some())
    }

    /// The connection ends; of what is under way so much still arrives.
    pub(crate) fn break_off(&mut self, random: &mut Random) {
        let left: usize = self.frames.iter().map(Frame::len).sum::<usize>() - self.arrived;
        // Within a head as often as within a body, which are a thousand times longer.
        let small = left.min(64);
        let after = if random.once_in(2) { random.below(left + 1) } else { random.below(small + 1) };
        self.breaks_after.get_or_insert(after);
    }

    pub(crate) fn fall_silent(&mut self) {
        self.is_silent = true;
        self.frames.clear();
        self.arrived = 0;
    }

    pub(crate) fn arrive(&mut self, random: &mut Random) -> Arrival {
        let end = if self.breaks_after.is_some() { Arrival::End } else { Arrival::Nothing };
        let Some(frame) = self.frames.front().filter(|_| !self.is_silent) else { return end };
        let left = frame.len() - self.arrived;
        let mut len = if random.once_in(3) { random.below(left) + 1 } else { left };
        if let Some(after) = &mut self.breaks_after {
            len = len.min(*after);
            *after -= len;
            if len == 0 {
                return end;
            }
        }
        let from = self.arrived.min(frame.head.len());
        self.arrived += len;
        if from < frame.head.len() {
            let to = self.arrived.min(frame.head.len());
            let head = frame.head[from..to].to_vec();
            // The rest of what came is taken next time.
            self.arrived = to;
            if let Some(after) = &mut self.breaks_after {
                *after += len - (to - from);
            }
            if to == frame.len() {
                // Nothing follows, so the head is the frame's end.
                self.arrived = 0;
                self.frames.pop_front();
            }
            return Arrival::Head(head);
        }
        if self.arrived < frame.len() {
            return Arrival::Nothing;
        }
        self.arrived = 0;
        Arrival::Whole(self.frames.pop_front().expect("the first one").contents)
    }
}

/// One direction of the session's connection.
#[derive(Default)]
pub(crate) struct BytePipe {
    bytes: VecDeque<u8>,
    ends: bool,
    is_silent: bool,
}

impl BytePipe {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if !self.ends && !self.is_silent {
            self.bytes.extend(bytes);
        }
    }

    pub(crate) fn has_arrivals(&self) -> bool {
        !self.is_silent && (!self.bytes.is_empty() || self.ends)
    }

    /// The connection ends after what is under way, or at any byte of it.
    pub(crate) fn break_off(&mut self, random: &mut Random, at_any_byte: bool) {
        if at_any_byte {
            let len = self.bytes.len();
            self.bytes.truncate(random.below(len + 1));
        }
        self.ends = true;
    }

    pub(crate) fn fall_silent(&mut self) {
        self.is_silent = true;
        self.bytes.clear();
    }

    /// Some bytes; none at the end.
    pub(crate) fn arrive(&mut self, random: &mut Random) -> Option<Vec<u8>> {
        if self.bytes.is_empty() {
            return None;
        }
        let len = self.bytes.len();
        let some = if random.once_in(3) { random.below(len) + 1 } else { len };
        Some(self.bytes.drain(..some).collect())
    }
}
