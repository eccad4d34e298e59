//! Whether the source is in the page cache. A thread whose block input (getrusage(2)) shows that it
//! waits for a disk reads through the ring, many requests at a time.
use ringway_model::{IoMode, IoPath};
use ringway_sys::probe::{Whose, usage};

use crate::job::Job;

/// Rounds through the ring before a plain one tells again whether the source is still cold: one in
/// 33 costs little, and a source that is cached from somewhere on is seen soon.
const ROUNDS: u32 = 32;

/// A disk is waited for when this part of what was read came from it (half). Less is not enough:
/// the destination's own tables are read as well when new files are made there.
const PART: u64 = 2;

/// What a cold file reads from its disk at least: a page.
const FILE_BYTES_MIN: u64 = 4096;

/// Bytes of one block of getrusage(2)'s count.
const BLOCK_BYTES: u64 = 512;

/// One thread's view of the source.
#[derive(Debug)]
pub(crate) struct ColdCache {
    asked: IoMode,
    /// Whether there is a ring to go through.
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

    /// Whether contents are written through the ring, too: only if everything is asked to be.
    pub(crate) fn writes_by_ring(&self) -> bool {
        self.asked == IoMode::Uring
    }

    /// Begins a round of reading; whether it is to go through the ring, unless there is none after
    /// all.
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

    /// A file, or a part of one, of so many bytes is read in this round.
    pub(crate) fn reads(&mut self, bytes: u64) {
        self.read += bytes.max(FILE_BYTES_MIN);
    }

    /// Ends a plain round; whether it waited for a disk.
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
