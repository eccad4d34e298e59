//! Listing a folder in windows of bounded size, each in inode order.
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;

use rustix::fs::{FileType, RawDir, SeekFrom};
use rustix::io::Errno;

/// Where a listing of a folder stands, so that it can go on with another descriptor.
#[derive(Debug, Clone, Copy, Default)]
pub struct Position {
    cookie: u64,
    /// Nothing is left to list.
    pub ended: bool,
}

impl Position {
    /// Sets a fresh descriptor to this position (lseek with a d_off, as in readdir(3)).
    pub fn restore(&self, folder: BorrowedFd<'_>) -> Result<(), Errno> {
        if self.cookie == 0 {
            return Ok(());
        }
        rustix::fs::seek(folder, SeekFrom::Start(self.cookie)).map(drop)
    }
}

/// Some of a folder's entries, in inode order: that is the order in which inodes lie on disk, and
/// reading them so saves seeks.
#[derive(Debug, Default)]
pub struct Window {
    names: Vec<u8>,
    entries: Vec<WindowEntry>,
}

#[derive(Debug, Clone, Copy)]
struct WindowEntry {
    inode: u64,
    name_at: u32,
    file_type: FileType,
}

impl Window {
    /// Reads on from `position`: at least `len` entries, or all that are left, and at most one
    /// `buffer` of them more.
    pub fn fill(
        &mut self,
        folder: BorrowedFd<'_>,
        position: &mut Position,
        len: usize,
        buffer: &mut [MaybeUninit<u8>],
    ) -> Result<(), Errno> {
        self.names.clear();
        self.entries.clear();
        let mut listing = RawDir::new(folder, buffer);
        loop {
            // Only whole buffers are consumed, so that the descriptor's own position stays the one
            // to go on from.
            if listing.is_buffer_empty() && self.entries.len() >= len {
                break;
            }
            let Some(entry) = listing.next().transpose()? else {
                position.ended = true;
                break;
            };
            position.cookie = entry.next_entry_cookie();
            let name = entry.file_name().to_bytes_with_nul();
            if matches!(name, b".\0" | b"..\0") {
                continue;
            }
            let name_at = self.names.len() as u32;
            self.names.extend_from_slice(name);
            self.entries.push(WindowEntry { inode: entry.ino(), name_at, file_type: entry.file_type() });
        }
        self.entries.sort_unstable_by_key(|entry| entry.inode);
        Ok(())
    }

    /// Whether the folder has no more entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Entries of this window.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Name of an entry, as the kernel takes it.
    pub fn c_name(&self, index: usize) -> &CStr {
        let at = self.entries[index].name_at as usize;
        CStr::from_bytes_until_nul(&self.names[at..]).unwrap_or_default()
    }

    /// Name and, where the filesystem tells it, type of an entry.
    pub fn entry(&self, index: usize) -> (&[u8], FileType) {
        let entry = &self.entries[index];
        (first_name(&self.names[entry.name_at as usize..]), entry.file_type)
    }
}

/// The name at the start of an arena's rest: names are stored with a NUL after each.
pub fn first_name(arena: &[u8]) -> &[u8] {
    let end = arena.iter().position(|byte| *byte == 0).unwrap_or(arena.len());
    &arena[..end]
}
