//! Owns the listing of a directory by getdents64, without an allocation per entry.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::io::Errno;

use crate::metadata::Kind;

/// Bytes requested of one getdents64 call: about a thousand short names, as in glibc's readdir.
const LISTING_BYTES: usize = 32 * 1024;

/// Bytes of `struct linux_dirent64` before the name: inode u64, offset i64, record length u16, type
/// u8 (getdents(2)).
const NAME_AT: usize = 19;

/// A listing in progress. Not an [`Iterator`], because each entry borrows the listing's buffer; `.`
/// and `..` are left out.
#[derive(Debug)]
pub struct Entries {
    fd: OwnedFd,
    buffer: Box<[u8]>,
    /// The part of `buffer` whose records were not returned yet.
    pending: std::ops::Range<usize>,
}

/// One name in a directory.
#[derive(Debug)]
pub struct Entry<'a> {
    /// The name, without its NUL.
    pub name: &'a [u8],
    /// The kind according to the directory; `None` if the filesystem does not store it there
    /// (readdir(3), DT_UNKNOWN).
    pub kind: Option<Kind>,
    /// Inode number. Reading files in this order saves seeks.
    pub ino: u64,
}

impl Entries {
    pub(super) fn new(fd: OwnedFd) -> Self {
        Self { fd, buffer: vec![0; LISTING_BYTES].into_boxed_slice(), pending: 0..0 }
    }

    /// The next entry, or `None` at the end. After an error the listing cannot continue.
    #[expect(clippy::should_implement_trait, reason = "an entry borrows the listing, which Iterator cannot say")]
    pub fn next(&mut self) -> Option<io::Result<Entry<'_>>> {
        loop {
            if self.pending.is_empty() {
                match self.refill() {
                    Ok(0) => return None,
                    Ok(bytes) => self.pending = 0..bytes,
                    Err(error) => return Some(Err(error)),
                }
            }
            let Some(length) = record_length(&self.buffer[self.pending.clone()]) else {
                self.pending = 0..0;
                return Some(Err(io::ErrorKind::InvalidData.into()));
            };
            let record = self.pending.start..self.pending.start + length;
            self.pending.start = record.end;
            if !is_self_or_parent(&self.buffer[record.clone()]) {
                return Some(parse(&self.buffer[record]));
            }
        }
    }

    fn refill(&mut self) -> io::Result<usize> {
        loop {
            // SAFETY: the pointer and length describe `buffer`, exclusively borrowed and live over
            // the call; the kernel writes at most `len` bytes to it.
            let bytes = unsafe {
                libc::syscall(
                    libc::SYS_getdents64,
                    self.fd.as_raw_fd(),
                    self.buffer.as_mut_ptr(),
                    self.buffer.len() as libc::c_uint,
                )
            };
            match usize::try_from(bytes) {
                Ok(bytes) => return Ok(bytes.min(self.buffer.len())),
                Err(_) => match Errno::from_io_error(&io::Error::last_os_error()) {
                    Some(Errno::INTR) => {}
                    // The directory was removed while it was listed, so nothing is left in it.
                    Some(Errno::NOENT) => return Ok(0),
                    Some(errno) => return Err(errno.into()),
                    None => return Err(io::ErrorKind::Other.into()),
                },
            }
        }
    }
}

/// The length of the first record in `bytes`, if it lies within them.
fn record_length(bytes: &[u8]) -> Option<usize> {
    let length = usize::from(u16::from_ne_bytes([*bytes.get(16)?, *bytes.get(17)?]));
    (length > NAME_AT && length <= bytes.len()).then_some(length)
}

fn is_self_or_parent(record: &[u8]) -> bool {
    record[NAME_AT..].starts_with(b".\0") || record[NAME_AT..].starts_with(b"..\0")
}

fn parse(record: &[u8]) -> io::Result<Entry<'_>> {
    let malformed = || io::Error::from(io::ErrorKind::InvalidData);
    let ino = record.first_chunk().copied().map(u64::from_ne_bytes).ok_or_else(malformed)?;
    let name = CStr::from_bytes_until_nul(&record[NAME_AT..]).map_err(|_| malformed())?;
    let kind = match record[18] {
        libc::DT_REG => Some(Kind::File),
        libc::DT_DIR => Some(Kind::Dir),
        libc::DT_LNK => Some(Kind::Symlink),
        libc::DT_FIFO => Some(Kind::Fifo),
        libc::DT_SOCK => Some(Kind::Socket),
        libc::DT_CHR => Some(Kind::CharDevice),
        libc::DT_BLK => Some(Kind::BlockDevice),
        _ => None,
    };
    Ok(Entry { name: name.to_bytes(), kind, ino })
}
