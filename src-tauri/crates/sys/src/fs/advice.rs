//! Owns telling the page cache what comes next (posix_fadvise(2)); advice that a filesystem does
//! not take is no error.

use std::os::fd::AsFd;

use rustix::fs::Advice;

/// The first `bytes` of the file will be read soon: a disk may begin with them now, while something
/// else is done.
pub fn will_need(fd: impl AsFd, bytes: u64) {
    // As below.
    let _ = rustix::fs::fadvise(fd, 0, std::num::NonZeroU64::new(bytes), Advice::WillNeed);
}

/// Nothing of the file need stay in memory. What is not on its medium yet stays until it is.
pub fn dont_need(fd: impl AsFd) {
    // A FIFO cannot be advised (ESPIPE), and some filesystems take none (EOPNOTSUPP): reading works
    // without.
    let _ = rustix::fs::fadvise(fd, 0, None, Advice::DontNeed);
}
