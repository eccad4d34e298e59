//! Looking for the chunks of a file that comes in an older one, or in what an earlier attempt has
//! of it. Every chunk that is copied is held against its digest on the way, so that whatever
//! happens to the old file meanwhile, nothing else is written than what the sender has.
use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::disk::Dir;
use parking_lot::Mutex;
use ringway_sys::attributes::{Kind, metadata_of};
use ringway_sys::file_io;
use ringway_wire::lane::{ChunkLens, ChunkWindow, Digest};
use ringway_wire::limits::LANES_MAX;

use crate::chunking::{Chunk, Cutter};
use crate::page_buffer::PageBuffer;

/// Bytes of the old file that are read, compared and written together, unless one chunk is longer.
const GROUP_LEN: u64 = 1024 * 1024;

/// A file here that is smaller is not worth looking into.
pub(in crate::receive) const BASIS_SIZE_MIN: u64 = 1024 * 1024;

/// So many chunks in a row (of the average length) that are not where they are expected are looked
/// for elsewhere. Fewer are what was changed in its place: sending them takes less than cutting the
/// old file.
const RUN_CHUNKS_MIN: u64 = 16;

/// Old files that are looked in at a time: one for each lane that a sender may have.
pub(in crate::receive) const BASES_MAX: usize = LANES_MAX as usize;

/// How far around the expected place is looked: a part of the old file, at least so many bytes, at
/// most so many average chunks.
const REACH_PART: u64 = 8;
const REACH_MIN: u64 = 64 * 1024 * 1024;
const REACH_CHUNKS_MAX: u64 = 12_288;

/// Chunks of the old file that are kept in mind: as many as a table of 32,768 places takes (half a
/// MB). Twice the reach has fewer, but for contents that are cut oddly; then all are forgotten.
const INDEX_MAX: usize = 28_672;

/// How often all of the old file may be cut: a sender that has it cut again and again is not
/// followed.
const CUT_TIMES_MAX: u64 = 2;

/// Counts those that are looked in.
#[derive(Default)]
pub(in crate::receive) struct Bases {
    count: Arc<AtomicUsize>,
    /// What an old file is cut in: one at a time, which is faster than any line on which chunks are
    /// worth asking for.
    cutting: Arc<Mutex<Vec<u8>>>,
}

/// One of them.
struct Counted(Arc<AtomicUsize>);

impl Bases {
    fn count(&self) -> Option<Counted> {
        let counted = Counted(Arc::clone(&self.count));
        (self.count.fetch_add(1, Ordering::Relaxed) < BASES_MAX).then_some(counted)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A file that is to be replaced, open, and what is known of it.
pub(in crate::receive) struct Basis {
    file: OwnedFd,
    size: u64,
    lens: ChunkLens,
    /// Where chunks of it begin, by the first bytes of their digests: whatever is found there is
    /// compared.
    index: HashMap<u64, u64>,
    /// Cuts it on from where the index ends.
    cutter: Cutter,
    /// Where the index begins.
    indexed_from: u64,
    /// Bytes that may still be cut, and copied: what is told in few bytes does not write more than
    /// there was.
    cut_left: u64,
    copy_left: u64,
    /// How much further back a chunk was in it than it is in the new one.
    shift: i128,
    /// Nothing in it is elsewhere: it is of the same version.
    is_same: bool,
    cutting: Arc<Mutex<Vec<u8>>>,
    _counted: Counted,
}

impl Basis {
    /// Opens what has that name for a file of `size` bytes that is to replace it; none if that is
    /// not a regular file, or cannot be read, or too many are being looked in.
    pub(in crate::receive) fn open(dir: &Dir, name: &[u8], size: u64, bases: &Bases) -> Option<Self> {
        let counted = bases.count()?;
        let file = dir.open_read(name).ok()?;
        let metadata = metadata_of(&file).ok().filter(|metadata| metadata.kind == Kind::File)?;
        let lens = ChunkLens::of(size);
        Some(Self {
            file,
            size: metadata.size,
            lens,
            index: HashMap::new(),
            cutter: Cutter::new(lens, 0..metadata.size),
            indexed_from: 0,
            cut_left: metadata.size.saturating_mul(CUT_TIMES_MAX),
            copy_left: metadata.size,
            shift: 0,
            is_same: false,
            cutting: Arc::clone(&bases.cutting),
            _counted: counted,
        })
    }

    /// The same, of which all that is there is where it belongs.
    pub(in crate::receive) fn where_it_was(self) -> Self {
        Self { is_same: true, ..self }
    }

    /// Which of a window's chunks are in it; those have been read into `buffer` and given to
    /// `write`, with their offset in the new file, in pieces of one or several. Once `is_stopped`,
    /// no further ones are.
    ///
    /// # Errors
    /// Those of `write`. What cannot be read is not there.
    pub(in crate::receive) fn copy(
        &mut self,
        window: &ChunkWindow<'_>,
        buffer: &mut PageBuffer,
        mut write: impl FnMut(u64, &[u8]) -> io::Result<()>,
        is_stopped: impl Fn() -> bool,
    ) -> io::Result<Vec<bool>> {
        let chunks: Vec<_> = window.chunks().map(|(range, digest)| Chunk { range, digest }).collect();
        let mut found = vec![false; chunks.len()];
        let mut at = 0;
        while at < chunks.len() && !is_stopped() {
            let end = group(&chunks, at, GROUP_LEN);
            self.take(&chunks[at..end], &mut found[at..end], buffer, &mut write)?;
            at = end;
        }
        let run_min = RUN_CHUNKS_MIN * self.lens.average as u64;
        let mut at = 0;
        while !self.is_same && at < chunks.len() && !is_stopped() {
            let end = (at..chunks.len()).find(|at| found[*at]).unwrap_or(chunks.len());
            if at < end && chunks[end - 1].range.end - chunks[at].range.start >= run_min {
                self.index_around(&(chunks[at].range.start..chunks[end - 1].range.end), &is_stopped);
                self.look_for(&chunks[at..end], &mut found[at..end], buffer, &mut write)?;
            }
            at = end.max(at + 1);
        }
        Ok(found)
    }

    /// Looks in the index for chunks that are not where they are expected. Where one is found,
    /// those behind it are expected behind that.
    fn look_for(
        &mut self,
        chunks: &[Chunk],
        found: &mut [bool],
        buffer: &mut PageBuffer,
        write: &mut impl FnMut(u64, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut at = 0;
        while at < chunks.len() {
            let there = self.index.get(&key(&chunks[at].digest)).copied();
            let Some(there) = there else {
                at += 1;
                continue;
            };
            self.shift = i128::from(there) - i128::from(chunks[at].range.start);
            // More at a time for as long as all of it is there.
            let mut len = 1;
            loop {
                let end = group(chunks, at, len);
                self.take(&chunks[at..end], &mut found[at..end], buffer, write)?;
                let all = found[at..end].iter().all(|found| *found);
                at = end;
                if !all || at == chunks.len() {
                    break;
                }
                len = (2 * len.max(self.lens.average as u64)).min(GROUP_LEN);
            }
        }
        Ok(())
    }

    /// Copies those of some neighbouring chunks that are where they are expected.
    fn take(
        &mut self,
        chunks: &[Chunk],
        found: &mut [bool],
        buffer: &mut PageBuffer,
        write: &mut impl FnMut(u64, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let (Some(first), Some(last)) = (chunks.first(), chunks.last()) else { return Ok(()) };
        let start = i128::from(first.range.start) + self.shift;
        let Some(from) = u64::try_from(start.max(0)).ok().filter(|from| *from < self.size) else { return Ok(()) };
        let len = (last.range.end - first.range.start) as usize;
        // Chunks that begin before the file does are not in it.
        let skipped = (i128::from(from) - start) as usize;
        if skipped >= len {
            return Ok(());
        }
        let buffer = buffer.grow(len);
        let read = file_io::read_at(self.file.as_fd(), from, &mut buffer[skipped..]).unwrap_or(0);
        let there = skipped..skipped + read;
        let within = |chunk: &Chunk| {
            let at = |offset: u64| (offset - first.range.start) as usize;
            at(chunk.range.start)..at(chunk.range.end)
        };
        let mut run = 0..0;
        for (chunk, found) in chunks.iter().zip(found) {
            let part = within(chunk);
            let bytes = part.len() as u64;
            *found = there.start <= part.start
                && part.end <= there.end
                && bytes <= self.copy_left
                && *blake3::hash(&buffer[part.clone()]).as_bytes() == chunk.digest.0;
            if *found {
                self.copy_left -= bytes;
                run = if run.end == part.start { run.start..part.end } else { part.clone() };
            }
            if !*found || part.end == len {
                if !run.is_empty() {
                    write(first.range.start + run.start as u64, &buffer[run.clone()])?;
                }
                run = part.end..part.end;
            }
        }
        Ok(())
    }

    /// Has the chunks of the old file in the index that are within reach of where a part of the new
    /// one is expected.
    fn index_around(&mut self, part: &Range<u64>, is_stopped: &impl Fn() -> bool) {
        let reach = (self.size / REACH_PART).max(REACH_MIN).min(REACH_CHUNKS_MAX * self.lens.average as u64);
        let expected = |at: u64| (i128::from(at) + self.shift).clamp(0, i128::from(self.size)) as u64;
        let from = expected(part.start).saturating_sub(reach);
        let to = expected(part.end).saturating_add(reach).min(self.size);
        if from > self.cutter.at() || to < self.indexed_from {
            self.forget(from);
        }
        let cutting = Arc::clone(&self.cutting);
        let mut cutting = cutting.lock();
        self.cutter.swap_buffer(&mut cutting);
        while self.cutter.at() < to && !is_stopped() {
            let read = |at, into: &mut [u8]| file_io::read_at(self.file.as_fd(), at, into);
            // What cannot be read is not there.
            let Ok(Some(chunk)) = self.cutter.next(read) else { break };
            let len = chunk.range.end - chunk.range.start;
            if self.cut_left < len {
                break;
            }
            self.cut_left -= len;
            if self.index.len() >= INDEX_MAX {
                self.index.clear();
                self.indexed_from = chunk.range.start;
            }
            self.index.insert(key(&chunk.digest), chunk.range.start);
        }
        self.cutter.swap_buffer(&mut cutting);
    }

    fn forget(&mut self, from: u64) {
        self.index.clear();
        self.indexed_from = from;
        self.cutter = Cutter::new(self.lens, from..self.size);
    }
}

/// Where a group of chunks ends that begins at `at`: one at least, and as many as `len` bytes hold.
fn group(chunks: &[Chunk], at: usize, len: u64) -> usize {
    let limit = chunks[at].range.start.saturating_add(len);
    chunks[at..].iter().skip(1).take_while(|chunk| chunk.range.end <= limit).count() + at + 1
}

fn key(digest: &Digest) -> u64 {
    let (first, _) = digest.0.split_first_chunk().expect("a digest is longer");
    u64::from_le_bytes(*first)
}
