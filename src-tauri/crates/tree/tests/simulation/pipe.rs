//! Connections: bytes arrive in order, in pieces that may end anywhere, or stop coming at any byte.
use std::collections::VecDeque;

use super::random::Random;

/// One lane's connection: frames under way.
#[derive(Default)]
pub(crate) struct LanePipe {
    frames: VecDeque<Vec<u8>>,
    /// Bytes of the first one that have arrived.
    arrived: usize,
    /// Bytes that still arrive before the connection breaks.
    breaks_after: Option<usize>,
    /// The network has gone without a word: nothing arrives, not even the end.
    is_silent: bool,
}

impl LanePipe {
    pub(crate) fn push(&mut self, frame: Vec<u8>) {
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
        let left: usize = self.frames.iter().map(Vec::len).sum::<usize>() - self.arrived;
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

    /// Some bytes of the first frame; none at the end.
    pub(crate) fn arrive(&mut self, random: &mut Random) -> Option<Vec<u8>> {
        let frame = self.frames.front()?;
        let left = frame.len() - self.arrived;
        let mut len = if random.once_in(3) { random.below(left) + 1 } else { left };
        if let Some(after) = &mut self.breaks_after {
            len = len.min(*after);
            *after -= len;
            if len == 0 {
                return None;
            }
        }
        let bytes = frame[self.arrived..self.arrived + len].to_vec();
        self.arrived += len;
        if self.arrived == frame.len() {
            self.arrived = 0;
            self.frames.pop_front();
        }
        Some(bytes)
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
