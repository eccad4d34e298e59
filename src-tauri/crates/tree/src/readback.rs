//! Reading back what was written: from the medium, piece by piece, against digests. Which files
//! those are, and what a difference means, is others'.
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::thread::Builder;

use ringway_sys::attributes::metadata_of;
use ringway_sys::{advice, file_io, sparse};

/// Bytes of one read.
const PIECE: usize = 1024 * 1024;

/// A part of a file, and what it is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Where it begins, in bytes from the file's start.
    pub offset: u64,
    /// Its length in bytes.
    pub len: u64,
    /// The digest of what it was written from.
    pub digest: blake3::Hash,
}

/// Has the file read from its medium. What of it has not been synchronised stays in memory.
pub fn from_the_medium(fd: &OwnedFd) {
    advice::dont_need(fd);
}

/// One thread that reads back.
pub struct Reading {
    buffer: Vec<u8>,
}

impl Default for Reading {
    fn default() -> Self {
        Self { buffer: vec![0; PIECE] }
    }
}

impl Reading {
    /// Whether a part of a file, which is to have `size` bytes, is what it is to be. Ends early,
    /// with no, once `is_stopped`.
    pub fn is_same(&mut self, fd: &OwnedFd, size: u64, part: &Part, is_stopped: impl Fn() -> bool) -> io::Result<bool> {
        if metadata_of(fd)?.size != size {
            return Ok(false);
        }
        let mut hasher = blake3::Hasher::new();
        let (mut at, end) = (part.offset, part.offset + part.len);
        while at < end && !is_stopped() {
            let len = (end - at).min(PIECE as u64) as usize;
            let bytes = file_io::read_at(fd.as_fd(), at, &mut self.buffer[..len])?;
            if bytes < len {
                return Ok(false);
            }
            hasher.update(&self.buffer[..bytes]);
            at += bytes as u64;
        }
        Ok(hasher.finalize() == part.digest)
    }
}

/// Whether two regular files hold the same bytes; holes that both have are not read. Ends early,
/// with no, once `is_stopped`.
pub fn is_equal(one: &OwnedFd, other: &OwnedFd, is_stopped: impl Fn() -> bool) -> io::Result<bool> {
    let size = metadata_of(one)?.size;
    if metadata_of(other)?.size != size {
        return Ok(false);
    }
    let (mut here, mut there) = (vec![0; PIECE], vec![0; PIECE]);
    let mut at = 0;
    loop {
        let data = [sparse::next_data(one, at, size)?, sparse::next_data(other, at, size)?];
        let Some(stretch) = data.into_iter().flatten().min_by_key(|data| data.start) else {
            return Ok(metadata_of(other)?.size == size);
        };
        at = stretch.start;
        while at < stretch.end {
            let len = (stretch.end - at).min(PIECE as u64) as usize;
            let read = [
                file_io::read_at(one.as_fd(), at, &mut here[..len])?,
                file_io::read_at(other.as_fd(), at, &mut there[..len])?,
            ];
            if is_stopped() || read != [len, len] || here[..len] != there[..len] {
                return Ok(false);
            }
            at += len as u64;
        }
    }
}

/// Has `workers` threads do it, this one among them, and returns what the first that failed says.
pub fn by_threads(workers: usize, read: impl Fn() -> io::Result<()> + Sync) -> io::Result<()> {
    let results: Vec<io::Result<()>> = std::thread::scope(|scope| {
        // What there is no thread for, the others do.
        let others: Vec<_> = (1..workers).map_while(|_| Builder::new().spawn_scoped(scope, &read).ok()).collect();
        let own = read();
        let gone = || Err(io::Error::other("a thread ended early"));
        let others = others.into_iter().map(|thread| thread.join().unwrap_or_else(|_| gone()));
        [own].into_iter().chain(others).collect()
    });
    results.into_iter().collect()
}
