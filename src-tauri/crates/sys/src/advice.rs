//! Owns telling the page cache what comes next (posix_fadvise(2)); advice that a filesystem does not take is no error.

use std::num::NonZeroU64;
use std::os::fd::AsFd;

use rustix::fs::Advice;

/// `len` bytes from `offset` will be read soon, 0 for all up to the end: reading them ahead is started.
pub fn will_need(fd: impl AsFd, offset: u64, len: u64) {
    advise(fd, offset, len, Advice::WillNeed);
}

/// Nothing of the file need stay in memory. What is not on its medium yet stays until it is.
pub fn dont_need(fd: impl AsFd) {
    advise(fd, 0, 0, Advice::DontNeed);
}

/// The file is read from its beginning to its end: the kernel reads further ahead.
pub fn sequential(fd: impl AsFd) {
    advise(fd, 0, 0, Advice::Sequential);
}

fn advise(fd: impl AsFd, offset: u64, len: u64, advice: Advice) {
    // A FIFO cannot be advised (ESPIPE), and some filesystems take none (EOPNOTSUPP): reading works without.
    let _ = rustix::fs::fadvise(fd, offset, NonZeroU64::new(len), advice);
}
