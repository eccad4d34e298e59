//! Owns questions and promises about a whole filesystem: room, preallocation, syncing.

use std::io;
use std::os::fd::AsFd;

use rustix::fs::FallocateFlags;
use rustix::io::Errno;

/// Room on a filesystem (statvfs(3)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Bytes an unprivileged user may still write.
    pub free_bytes: u64,
    /// Bytes it has in all.
    pub total_bytes: u64,
    /// Files that can still be made; `None` where the filesystem has no such limit (btrfs).
    pub free_inodes: Option<u64>,
    /// Longest name in bytes; 0 if the filesystem does not say.
    pub name_max: u64,
}

/// The room on the filesystem that holds `fd`.
pub fn space(fd: impl AsFd) -> io::Result<Space> {
    let stat = rustix::fs::fstatvfs(fd)?;
    Ok(Space {
        free_bytes: stat.f_bavail.saturating_mul(stat.f_frsize),
        total_bytes: stat.f_blocks.saturating_mul(stat.f_frsize),
        free_inodes: (stat.f_files != 0).then_some(stat.f_favail),
        name_max: stat.f_namemax,
    })
}

/// Writes everything cached for the filesystem that holds `fd` to its disk (syncfs(2)); errors of earlier write-back count from Linux 5.8.
pub fn sync_filesystem(fd: impl AsFd) -> io::Result<()> {
    Ok(rustix::fs::syncfs(fd)?)
}

/// Makes the names in the directory durable (fsync(2)). A filesystem that cannot sync a directory has nothing to make durable.
pub fn sync_dir(dir: impl AsFd) -> io::Result<()> {
    match rustix::fs::fsync(dir) {
        Err(Errno::INVAL) => Ok(()),
        other => Ok(other?),
    }
}

/// Reserves room for the first `bytes` bytes of the open file without changing its length (fallocate(2)); `Ok(false)` where the filesystem
/// cannot, and for nothing to reserve.
pub fn preallocate(fd: impl AsFd, bytes: u64) -> io::Result<bool> {
    if bytes == 0 {
        return Ok(false);
    }
    loop {
        match rustix::fs::fallocate(fd.as_fd(), FallocateFlags::KEEP_SIZE, 0, bytes) {
            Ok(()) => return Ok(true),
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(false),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
