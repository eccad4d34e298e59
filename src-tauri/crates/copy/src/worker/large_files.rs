//! A large file under way: its worker and idle threads take chunk after chunk of it, and the last
//! one completes it.
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use ringway_model::Operation;
use ringway_sys::attributes::Metadata;
use ringway_sys::sparse;

use super::contents::{Method, Part};
use super::hard_links::LinkKey;
use crate::attributes::Fresh;
use crate::folder::entry_error::EntryError;
use crate::folder::overwrite::TargetKind;
use crate::folder::{Hold, Item};

/// A file that is copied, open at both ends.
pub(crate) struct Open {
    pub(crate) source: OwnedFd,
    pub(crate) target: OwnedFd,
    pub(crate) target_kind: TargetKind,
    /// The source's metadata when it was opened.
    pub(crate) metadata: Metadata,
    pub(crate) fresh: Fresh,
    /// Its identity, if this is the first name of a file with several.
    pub(crate) linked: Option<LinkKey>,
}

/// A file that is copied in chunks.
pub(crate) struct LargeFile<'j> {
    pub(crate) folder: Hold<'j>,
    /// Its names at the source and at the destination.
    pub(crate) names: (Box<[u8]>, Box<[u8]>),
    pub(crate) open: Open,
    /// Whether it has holes, which are kept.
    pub(crate) sparse: bool,
    /// Whether its contents are to be proven, so that they are read twice.
    proves: bool,
    method: Method,
    /// The kernel was asked to copy it and declined.
    pub(crate) declined: AtomicBool,
    progress: Mutex<Progress>,
}

/// Bytes that are kept of a digest: enough to compare it with what this process reads itself.
const DIGEST_KEPT: usize = 16;

/// A digest of what was read at one offset: 32 bytes of memory for each chunk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Taken {
    pub(crate) offset: u64,
    len: u32,
    digest: [u8; DIGEST_KEPT],
}

impl Taken {
    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether the second reading gave the same.
    pub(crate) fn is(&self, digest: &blake3::Hash) -> bool {
        digest.as_bytes()[..DIGEST_KEPT] == self.digest
    }
}

/// Parts that are read a second time together: a hole, and the chunk after it.
pub(crate) struct Again {
    pub(crate) hole: Range<u64>,
    pub(crate) taken: Option<Taken>,
}

#[derive(Default)]
struct Progress {
    /// The offset of the next chunk.
    at: u64,
    /// The end of the stored part that contains it.
    data_end: u64,
    /// Chunks being copied or read again.
    active: usize,
    /// Digests of what was read, if it is to be proven.
    taken: Vec<Taken>,
    /// Set once all of it is copied: how many chunks were given out for the second reading.
    again: Option<usize>,
    /// No chunks are left to give out.
    over: bool,
    /// Whether a thread completes it, or has completed it.
    completed: bool,
    error: Option<EntryError>,
}

/// What a thread gets when it asks for work on the file.
pub(crate) enum Next {
    /// A chunk, to be given back by [`LargeFile::done`].
    Part(Part),
    /// A chunk to be read again, to be given back by [`LargeFile::done`].
    Again(Again),
    /// No work is left, and another thread will complete the file.
    Nothing,
    /// No work is left, and this thread completes the file.
    Complete(Result<(), EntryError>),
}

impl<'j> LargeFile<'j> {
    pub(crate) fn new(item: Item<'_, 'j>, open: Open, sparse: bool, method: Method) -> Self {
        let proves = item.folder.job.proof.is_some();
        let progress = Progress { data_end: if sparse { 0 } else { open.metadata.size }, ..Progress::default() };
        let (folder, names) = (item.folder.clone(), (item.from.into(), item.to.into()));
        let (declined, progress) = (AtomicBool::new(false), Mutex::new(progress));
        Self { folder, names, open, sparse, proves, method, declined, progress }
    }

    /// How its contents are copied now.
    pub(crate) fn method(&self) -> Method {
        if self.declined.load(Ordering::Relaxed) { Method::Buffer } else { self.method }
    }

    /// The next part, of `chunk` bytes at most.
    pub(crate) fn next(&self, chunk: usize) -> Next {
        let mut progress = self.progress.lock();
        if progress.again.is_none() {
            if let Some(part) = self.next_part(&mut progress, chunk) {
                return Next::Part(part);
            }
            if self.proves && progress.active == 0 && progress.error.is_none() {
                #[cfg(test)]
                self.folder.job.between_reads();
                progress.taken.sort_unstable_by_key(|taken| taken.offset);
                progress.again = Some(0);
            }
        }
        if let Some(again) = self.next_again(&mut progress) {
            return Next::Again(again);
        }
        if progress.active > 0 || progress.completed {
            return Next::Nothing;
        }
        progress.completed = true;
        Next::Complete(progress.error.take().map_or(Ok(()), Err))
    }

    fn next_part(&self, progress: &mut Progress, chunk: usize) -> Option<Part> {
        if !progress.over && progress.at >= progress.data_end {
            match self.next_data(progress.at) {
                Ok(Some(data)) => (progress.at, progress.data_end) = (data.start, data.end),
                Ok(None) => progress.over = true,
                Err(error) => {
                    progress.over = true;
                    progress.error.get_or_insert(EntryError::Source(Operation::Read, error));
                }
            }
        }
        if progress.over {
            return None;
        }
        let offset = progress.at;
        let len = (progress.data_end - offset).min(chunk as u64);
        progress.at += len;
        progress.active += 1;
        Some(Part { offset, len: len as usize })
    }

    /// There is one for each chunk, and one for the hole at the end.
    fn next_again(&self, progress: &mut Progress) -> Option<Again> {
        let at = progress.again.filter(|at| *at <= progress.taken.len() && progress.error.is_none())?;
        let before = at.checked_sub(1).map_or(0, |before| {
            let taken = &progress.taken[before];
            taken.offset + u64::from(taken.len)
        });
        let taken = progress.taken.get(at).copied();
        let hole = before..taken.map_or(self.open.metadata.size, |taken| taken.offset);
        progress.again = Some(at + 1);
        progress.active += 1;
        Some(Again { hole, taken })
    }

    /// Keeps the digest of what was read, for comparison with the second reading.
    pub(crate) fn took(&self, offset: u64, len: usize, digest: &blake3::Hash) {
        let mut kept = [0; DIGEST_KEPT];
        kept.copy_from_slice(&digest.as_bytes()[..DIGEST_KEPT]);
        // A chunk has 64 MiB at most.
        self.progress.lock().taken.push(Taken { offset, len: len as u32, digest: kept });
    }

    fn next_data(&self, at: u64) -> io::Result<Option<std::ops::Range<u64>>> {
        if self.sparse { sparse::next_data(self.open.source.as_fd(), at, self.open.metadata.size) } else { Ok(None) }
    }

    /// Whether no work is left for another thread.
    pub(crate) fn is_over(&self) -> bool {
        let progress = self.progress.lock();
        match progress.again {
            Some(at) => at > progress.taken.len() || progress.error.is_some(),
            None => progress.over || (!self.sparse && progress.at >= progress.data_end),
        }
    }

    /// Fails the file before any of it is copied.
    pub(crate) fn give_up(&self, error: EntryError) {
        let mut progress = self.progress.lock();
        progress.over = true;
        progress.error.get_or_insert(error);
    }

    /// Gives a chunk back. The file continues unless the chunk failed.
    pub(crate) fn done(&self, copied: Result<(), EntryError>) {
        let mut progress = self.progress.lock();
        progress.active -= 1;
        if let Err(error) = copied {
            progress.over = true;
            progress.error.get_or_insert(error);
        }
    }
}
