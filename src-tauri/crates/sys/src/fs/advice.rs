//! Owns advice to the page cache (posix_fadvise(2)). A filesystem that does not support it causes
//! no error.

use std::os::fd::AsFd;

use rustix::fs::Advice;

/// The first `bytes` of the file will be read soon. So a disk may begin to read them while this
/// thread does something else.
pub fn will_need(fd: impl AsFd, bytes: u64) {
    // Errors are ignored, as in `dont_need`.
    let _ = rustix::fs::fadvise(fd, 0, std::num::NonZeroU64::new(bytes), Advice::WillNeed);
}

/// Nothing of the file needs to stay in memory. Pages that are not on its medium yet stay until
/// they are.
pub fn dont_need(fd: impl AsFd) {
    // A FIFO cannot be advised (ESPIPE), and some filesystems support no advice (EOPNOTSUPP).
    // Reading works without it.
    let _ = rustix::fs::fadvise(fd, 0, None, Advice::DontNeed);
}
