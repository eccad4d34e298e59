//! Keeps records for the end of a transfer, chained by depth, in memory first and in an unnamed
//! file beyond that.
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

use crate::disk::Dir;
use ringway_wire::lane::ACL_LEN_MAX;
use ringway_wire::limits::PATH_MAX;
use rustix::fs::{Mode, OFlags};

/// Bytes kept in memory: some 50,000 folders; a million take some 100 MiB of file.
pub(in crate::receive) const MEMORY_MAX: usize = 4 * 1024 * 1024;

/// Bytes read at once from the file: chains run mostly backwards through neighbouring records.
const WINDOW_LEN: usize = 64 * 1024;

/// Before each record: where the one before it in its chain is, and its length.
const PREFIX_LEN: usize = 12;

/// The largest record: a path, a name or two access control lists, and the fixed fields.
const RECORD_MAX: usize = PREFIX_LEN + PATH_MAX + 2 * ACL_LEN_MAX + 512;

/// Ends a chain.
const NONE: u64 = u64::MAX;

/// Records in chains that are read from the last to the first.
#[derive(Default)]
pub(in crate::receive) struct Spool {
    memory: Vec<u8>,
    file: Option<File>,
    file_len: u64,
    last: Vec<u64>,
    window: Vec<u8>,
    window_at: u64,
}

impl Spool {
    /// Appends a record to a chain. `staging` is where the file goes when it is needed.
    pub(in crate::receive) fn push(&mut self, chain: usize, record: &[u8], staging: &Dir) -> io::Result<()> {
        let before = self.last(chain);
        let at = self.push_behind(before, record, staging)?;
        if self.last.len() <= chain {
            self.last.resize(chain + 1, NONE);
        }
        self.last[chain] = at;
        Ok(())
    }

    /// Appends a record to a chain that the caller keeps the end of; where the record is.
    pub(in crate::receive) fn push_behind(
        &mut self,
        before: Option<u64>,
        record: &[u8],
        staging: &Dir,
    ) -> io::Result<u64> {
        debug_assert!(PREFIX_LEN + record.len() <= RECORD_MAX);
        if self.memory.len() + PREFIX_LEN + record.len() > MEMORY_MAX {
            self.spill(staging)?;
        }
        let at = self.file_len + self.memory.len() as u64;
        self.memory.extend_from_slice(&before.unwrap_or(NONE).to_le_bytes());
        self.memory.extend_from_slice(&(record.len() as u32).to_le_bytes());
        self.memory.extend_from_slice(record);
        Ok(at)
    }

    fn spill(&mut self, staging: &Dir) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(unnamed(staging)?),
        };
        file.write_all_at(&self.memory, self.file_len)?;
        self.file_len += self.memory.len() as u64;
        self.memory.clear();
        Ok(())
    }

    /// Bytes held in memory.
    #[cfg(test)]
    pub(in crate::receive) fn memory_len(&self) -> usize {
        self.memory.len()
    }

    /// Chains there may be: 0 to one less.
    pub(in crate::receive) fn chains(&self) -> usize {
        self.last.len()
    }

    /// Where a chain's last record is.
    pub(in crate::receive) fn last(&self, chain: usize) -> Option<u64> {
        self.last.get(chain).copied().filter(|at| *at != NONE)
    }

    /// A record, and where the one before it in its chain is.
    pub(in crate::receive) fn read(&mut self, at: u64) -> io::Result<(Vec<u8>, Option<u64>)> {
        let bytes = match at.checked_sub(self.file_len) {
            Some(at) => &self.memory[at as usize..],
            None => {
                self.load(at)?;
                &self.window[(at - self.window_at) as usize..]
            }
        };
        let malformed = || io::Error::from(io::ErrorKind::InvalidData);
        let (before, rest) = bytes.split_first_chunk::<8>().ok_or_else(malformed)?;
        let (len, rest) = rest.split_first_chunk::<4>().ok_or_else(malformed)?;
        let record = rest.get(..u32::from_le_bytes(*len) as usize).ok_or_else(malformed)?;
        let before = u64::from_le_bytes(*before);
        Ok((record.to_vec(), (before != NONE).then_some(before)))
    }

    /// Makes the window hold the whole record at `at`, with what lies before it.
    fn load(&mut self, at: u64) -> io::Result<()> {
        let wanted = (at + RECORD_MAX as u64).min(self.file_len);
        if at >= self.window_at && wanted <= self.window_at + self.window.len() as u64 {
            return Ok(());
        }
        let start = wanted.saturating_sub(WINDOW_LEN as u64);
        self.window.resize((wanted - start) as usize, 0);
        self.window_at = start;
        let file = self.file.as_ref().ok_or(io::ErrorKind::NotFound)?;
        file.read_exact_at(&mut self.window, start)
    }
}

/// A file without a name; where the filesystem has no such thing, one whose name is removed at
/// once.
fn unnamed(staging: &Dir) -> io::Result<File> {
    if let Some(fd) = staging.unnamed_file()? {
        return Ok(File::from(fd));
    }
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(staging.as_fd(), c"spool", flags, Mode::from_raw_mode(0o600))?;
    staging.unlink(b"spool")?;
    Ok(File::from(fd))
}
