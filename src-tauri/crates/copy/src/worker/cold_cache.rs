//! Whether the source is in the page cache. A thread whose block input (getrusage(2)) shows that it
//! waits for a disk reads through the ring, many requests at a time.
use ringway_model::{IoMode, IoPath};
use ringway_sys::probe::{Whose, usage};

use crate::job::Job;

/// Rounds through the ring before a plain one checks whether the source is still cold. One in 33
/// costs little, and quickly shows where a source begins to be cached.
const ROUNDS: u32 = 32;

/// A thread waits for a disk if at least this part of what it read came from it (half). Less does
/// not count, because creating files also reads the destination's own tables.
const PART: u64 = 2;

/// The fewest bytes that a cold file reads from its disk: a page.
const FILE_BYTES_MIN: u64 = 4096;

/// Bytes of one block of getrusage(2)'s count.
const BLOCK_BYTES: u64 = 512;

/// One thread's view of the source.
#[derive(Debug)]
pub(crate) struct ColdCache {
    asked: IoMode,
    /// Whether there is a ring.
    able: bool,
    rounds_left: u32,
    input_before: u64,
    /// Bytes read in this round.
    read: u64,
}

impl ColdCache {
    pub(crate) fn new(job: &Job) -> Self {
        let able = job.choices.io.path() == IoPath::Uring;
        Self { asked: job.options.io, able, rounds_left: 0, input_before: 0, read: 0 }
    }

    /// Whether contents are also written through the ring, which is so only if everything is
    /// requested to be.
    pub(crate) fn writes_by_ring(&self) -> bool {
        self.asked == IoMode::Uring
    }

    /// Begins a round of reading. Returns whether it uses the ring, unless there turns out to be
    /// none.
    pub(crate) fn begin(&mut self, has_no_ring: bool) -> bool {
        if has_no_ring {
            (self.able, self.rounds_left) = (false, 0);
        }
        let by_ring = match self.asked {
            IoMode::Uring => true,
            IoMode::Sync => false,
            IoMode::Auto => self.rounds_left > 0,
        };
        if by_ring {
            self.rounds_left = self.rounds_left.saturating_sub(1);
        } else if self.able {
            self.read = 0;
            self.input_before = usage(Whose::Thread).input_blocks_512;
        }
        by_ring
    }

    /// Notes that a file or a part of this many bytes is read in this round.
    pub(crate) fn reads(&mut self, bytes: u64) {
        self.read += bytes.max(FILE_BYTES_MIN);
    }

    /// Ends a plain round. Returns whether it waited for a disk.
    pub(crate) fn end_plain(&mut self) -> bool {
        if !self.able || self.asked != IoMode::Auto {
            return false;
        }
        let input = usage(Whose::Thread).input_blocks_512 - self.input_before;
        let waited = input > 0 && input * BLOCK_BYTES >= self.read / PART;
        if waited {
            self.rounds_left = ROUNDS;
        }
        waited
    }
}
