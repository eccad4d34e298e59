//! Whether reading waits for a disk, as the thread's own block input tells: then many requests at a time are what helps.
use ringway_sys::probe::{Whose, usage};

use super::job::Job;
use crate::path_taken::{IoMode, IoPath};

/// Rounds through the ring before a plain one tells again whether the source is still cold: one in 33 costs little, and a source that is
/// cached from somewhere on is seen soon.
const ROUNDS: u32 = 32;

/// A disk is waited for when this part of what was read came from it (one in four).
const PART: u64 = 4;

/// Bytes of one block of getrusage(2)'s count.
const BLOCK_BYTES: u64 = 512;

/// One thread's view of the source.
#[derive(Debug)]
pub(super) struct Cold {
    asked: IoMode,
    /// Whether there is a ring to go through.
    able: bool,
    rounds_left: u32,
    input_before: u64,
}

impl Cold {
    pub(super) fn new(job: &Job) -> Self {
        let able = job.choices.io.path() == IoPath::Uring;
        Self { asked: job.options.io, able, rounds_left: 0, input_before: 0 }
    }

    /// Whether contents are written through the ring, too: only if everything is asked to be.
    pub(super) fn writes_by_ring(&self) -> bool {
        self.asked == IoMode::Uring
    }

    /// Begins a round of reading; whether it is to go through the ring.
    pub(super) fn begin(&mut self) -> bool {
        let by_ring = match self.asked {
            IoMode::Uring => true,
            IoMode::Sync => false,
            IoMode::Auto => self.rounds_left > 0,
        };
        if by_ring {
            self.rounds_left = self.rounds_left.saturating_sub(1);
        } else if self.able {
            self.input_before = usage(Whose::Thread).input_blocks_512;
        }
        by_ring
    }

    /// Ends a plain round in which at least `bytes` would have come from the disk if all of it was cold.
    pub(super) fn end_plain(&mut self, bytes: u64) {
        if !self.able || self.asked != IoMode::Auto {
            return;
        }
        let input = usage(Whose::Thread).input_blocks_512 - self.input_before;
        if input > 0 && input * BLOCK_BYTES >= bytes / PART {
            self.rounds_left = ROUNDS;
        }
    }
}
