//! The source tree as the kernel shows it: listing in windows, and what is needed to tell whether a file changed.
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;

use ringway_sys::attributes::{Metadata, Xattr};
use ringway_wire::lane::{Attributes, Timestamp, XattrBuffer};
use rustix::fs::{FileType, RawDir, SeekFrom};
use rustix::io::Errno;

/// What one file or folder is, whatever it is called: device and inode number.
pub(super) type Identity = (u64, u64);

pub(super) fn identity(metadata: &Metadata) -> Identity {
    (metadata.dev, metadata.ino)
}

/// As entries carry them.
pub(super) fn attributes(metadata: &Metadata) -> Attributes {
    Attributes {
        mode: (metadata.mode & 0o7777) as u16,
        uid: metadata.uid,
        gid: metadata.gid,
        mtime: Timestamp { secs: metadata.mtime.secs, nanos: metadata.mtime.nanos },
    }
}

/// Whether both describe the same contents, as far as identity, size and time can tell.
pub(super) fn same_contents(one: &Metadata, other: &Metadata) -> bool {
    let key = |metadata: &Metadata| (metadata.kind, identity(metadata), metadata.size, metadata.mtime);
    key(one) == key(other)
}

/// Bytes that a file takes on disk, at most its size.
pub(super) fn allocated(metadata: &Metadata) -> u64 {
    metadata.size.min(metadata.blocks_512.saturating_mul(512))
}

/// As the wire takes them; false if some had to be left out because of its limits.
pub(super) fn collect_xattrs(found: &[Xattr], out: &mut XattrBuffer) -> bool {
    found.iter().fold(true, |all, (name, value)| out.push(name, value) && all)
}

/// Where a listing of a folder stands, so that it can go on with another descriptor.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Position {
    cookie: u64,
    pub(super) ended: bool,
}

impl Position {
    /// Sets a fresh descriptor to this position (lseek with a d_off, as in readdir(3)).
    pub(super) fn restore(&self, folder: BorrowedFd<'_>) -> Result<(), Errno> {
        rustix::fs::seek(folder, SeekFrom::Start(self.cookie)).map(drop)
    }
}

/// Some of a folder's entries, in inode order: that is the order in which inodes lie on disk, and reading them so saves seeks.
#[derive(Debug, Default)]
pub(super) struct Window {
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
    /// Reads on from `position`: at least `len` entries, or all that are left, and at most one `buffer` of them more.
    pub(super) fn fill(
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
            // Only whole buffers are consumed, so that the descriptor's own position stays the one to go on from.
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

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Name and, where the filesystem tells it, type of an entry.
    pub(super) fn entry(&self, index: usize) -> (&[u8], FileType) {
        let entry = &self.entries[index];
        (first_name(&self.names[entry.name_at as usize..]), entry.file_type)
    }
}

/// The name at the start of an arena's rest: names are stored with a NUL after each.
pub(super) fn first_name(arena: &[u8]) -> &[u8] {
    let end = arena.iter().position(|byte| *byte == 0).unwrap_or(arena.len());
    &arena[..end]
}
