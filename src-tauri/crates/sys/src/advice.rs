//! Owns telling the page cache what comes next (posix_fadvise(2)); advice that a filesystem does not take is no error.

use std::os::fd::AsFd;

use rustix::fs::Advice;

/// Nothing of the file need stay in memory. What is not on its medium yet stays until it is.
pub fn dont_need(fd: impl AsFd) {
    // A FIFO cannot be advised (ESPIPE), and some filesystems take none (EOPNOTSUPP): reading works without.
    let _ = rustix::fs::fadvise(fd, 0, None, Advice::DontNeed);
}
