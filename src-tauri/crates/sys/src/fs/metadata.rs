//! Owns what stat(2) returns for a file, and setting it by descriptor: kind, mode, owner, size,
//! times.
use std::io;
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, FileType, Gid, Mode, Stat, Statx, StatxFlags, Timespec, Timestamps, UTIME_OMIT, Uid};

/// The kind of a directory's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link.
    Symlink,
    /// A named pipe.
    Fifo,
    /// A bound Unix socket.
    Socket,
    /// A character device.
    CharDevice,
    /// A block device.
    BlockDevice,
}

impl Kind {
    fn from_mode(mode: u32) -> Self {
        match FileType::from_raw_mode(mode) {
            FileType::Directory => Self::Dir,
            FileType::Symlink => Self::Symlink,
            FileType::Fifo => Self::Fifo,
            FileType::Socket => Self::Socket,
            FileType::CharacterDevice => Self::CharDevice,
            FileType::BlockDevice => Self::BlockDevice,
            // inode(7) has no other kinds.
            _ => Self::File,
        }
    }
}

/// A point in time since 1970-01-01 UTC: `secs` may be negative, `nanos` counts forward from it and
/// is below 10^9.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    /// Whole seconds, rounded down.
    pub secs: i64,
    /// Nanoseconds after `secs`.
    pub nanos: u32,
}

/// Nanoseconds in a second. utimensat(2) refuses more, except for two special values that a peer
/// must not be able to send.
const NANOS_PER_SEC: u32 = 1_000_000_000;

impl Timestamp {
    /// A nanosecond later.
    pub(crate) fn next(self) -> Self {
        match self.nanos.saturating_add(1) {
            NANOS_PER_SEC.. => Self { secs: self.secs.saturating_add(1), nanos: 0 },
            nanos => Self { nanos, ..self },
        }
    }
}

/// So often a change time is renewed at most between two looks at it.
const RENEWALS_MAX: usize = 16;

/// The metadata that stat(2) returns for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// Its kind.
    pub kind: Kind,
    /// Permission bits with setuid, setgid and sticky (07777).
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Bytes; for a symbolic link the length of its target.
    pub size: u64,
    /// 512-byte blocks that are stored; less than `size` suggests holes.
    pub blocks_512: u64,
    /// Last modification of the contents.
    pub mtime: Timestamp,
    /// Last reading, if the mount records it (mount(8), relatime).
    pub atime: Timestamp,
    /// Last change of anything but the access time; no program can set it.
    pub ctime: Timestamp,
    /// How many names it has.
    pub nlink: u64,
    /// The filesystem it is on.
    pub dev: u64,
    /// Its inode number there.
    pub ino: u64,
    /// For a device node the device that it stands for (makedev(3)); otherwise 0 or meaningless.
    pub rdev: u64,
}

impl Metadata {
    // The fields' widths differ between architectures, so a cast that one needs does nothing on
    // another.
    #[allow(clippy::unnecessary_cast, clippy::useless_conversion)]
    pub(crate) fn from_stat(stat: &Stat) -> Self {
        Self {
            kind: Kind::from_mode(stat.st_mode),
            mode: stat.st_mode & 0o7777,
            uid: stat.st_uid,
            gid: stat.st_gid,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            blocks_512: u64::try_from(stat.st_blocks).unwrap_or(0),
            mtime: Timestamp { secs: stat.st_mtime as i64, nanos: stat.st_mtime_nsec as u32 },
            atime: Timestamp { secs: stat.st_atime as i64, nanos: stat.st_atime_nsec as u32 },
            ctime: Timestamp { secs: stat.st_ctime as i64, nanos: stat.st_ctime_nsec as u32 },
            nlink: stat.st_nlink as u64,
            dev: stat.st_dev as u64,
            ino: stat.st_ino as u64,
            rdev: stat.st_rdev as u64,
        }
    }

    /// Whether its change time was renewed since, as its access time tells
    /// ([`renew_change_time`](super::dir::Dir::renew_change_time)). A filesystem that keeps no
    /// nanoseconds does not tell it.
    pub fn is_renewed_since(&self, before: &Self) -> bool {
        let later = std::iter::successors(Some(before.atime.next()), |atime| Some(atime.next()));
        later.take(RENEWALS_MAX).any(|atime| atime == self.atime)
    }
}

/// The metadata of the open file `fd`.
pub fn metadata_of(fd: impl AsFd) -> io::Result<Metadata> {
    Ok(Metadata::from_stat(&rustix::fs::fstat(fd)?))
}

/// The birth time of the open file `fd` (statx(2)), which no program can set; `None` if its
/// filesystem does not report it. It distinguishes two files that had the same inode number one
/// after the other.
pub fn birth_of(fd: impl AsFd) -> Option<Timestamp> {
    birth(rustix::fs::statx(fd, "", AtFlags::EMPTY_PATH, StatxFlags::BTIME).ok()?)
}

pub(crate) fn birth(of: Statx) -> Option<Timestamp> {
    let is_known = of.stx_mask & StatxFlags::BTIME.bits() != 0;
    is_known.then_some(Timestamp { secs: of.stx_btime.tv_sec, nanos: of.stx_btime.tv_nsec })
}

/// `InvalidInput` if the nanoseconds are out of range: for utimensat(2), two greater values mean
/// "now" and "leave as it is".
fn timespec(time: Timestamp) -> io::Result<Timespec> {
    if time.nanos >= NANOS_PER_SEC {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok(Timespec { tv_sec: time.secs, tv_nsec: time.nanos.into() })
}

/// Times for utimensat(2) that set the modification time alone.
pub(crate) fn only_mtime(mtime: Timestamp) -> io::Result<Timestamps> {
    Ok(Timestamps { last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT }, last_modification: timespec(mtime)? })
}

/// Times for utimensat(2) that set the access time alone.
pub(crate) fn only_atime(atime: Timestamp) -> io::Result<Timestamps> {
    Ok(Timestamps { last_access: timespec(atime)?, last_modification: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT } })
}

/// Times for utimensat(2) that set both.
pub(crate) fn both_times(atime: Timestamp, mtime: Timestamp) -> io::Result<Timestamps> {
    Ok(Timestamps { last_access: timespec(atime)?, last_modification: timespec(mtime)? })
}

/// User and group for chown(2). `InvalidInput` for 2^32-1, which means "leave as it is" there.
pub(crate) fn owner(uid: u32, gid: u32) -> io::Result<(Uid, Gid)> {
    if uid == u32::MAX || gid == u32::MAX {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok((Uid::from_raw(uid), Gid::from_raw(gid)))
}

/// Sets the modification time of the open file; its access time stays. Filesystems round it to
/// their own granularity.
pub fn set_file_times(fd: impl AsFd, mtime: Timestamp) -> io::Result<()> {
    Ok(rustix::fs::futimens(fd, &only_mtime(mtime)?)?)
}

/// Sets access and modification time of the open file in one call (futimens(3)). `InvalidInput` for
/// nanoseconds of a second or more.
pub fn set_times_both(fd: impl AsFd, atime: Timestamp, mtime: Timestamp) -> io::Result<()> {
    Ok(rustix::fs::futimens(fd, &both_times(atime, mtime)?)?)
}

/// Sets the permission, setuid, setgid and sticky bits (07777) of the open file, whatever the
/// umask.
pub fn set_mode(fd: impl AsFd, mode: u32) -> io::Result<()> {
    Ok(rustix::fs::fchmod(fd, Mode::from_raw_mode(mode & 0o7777))?)
}

/// Sets owner and group of the open file. The kernel then drops setuid and setgid, so set the mode
/// afterwards.
pub fn set_owner_fd(fd: impl AsFd, uid: u32, gid: u32) -> io::Result<()> {
    let (uid, gid) = owner(uid, gid)?;
    Ok(rustix::fs::fchown(fd, Some(uid), Some(gid))?)
}

/// A group for chown(2). `InvalidInput` for 2^32-1, which means "leave as it is" there.
pub(crate) fn group(gid: u32) -> io::Result<Gid> {
    owner(0, gid).map(|(_, gid)| gid)
}

/// Sets the group of the open file and leaves its owner. An owner without privileges may do this
/// for groups of their own (chown(2)). The kernel then drops setuid and setgid.
pub fn set_group_fd(fd: impl AsFd, gid: u32) -> io::Result<()> {
    Ok(rustix::fs::fchown(fd, None, Some(group(gid)?))?)
}

/// Sets the length of the open file; everything beyond its old end is a hole.
pub fn set_len(fd: impl AsFd, bytes: u64) -> io::Result<()> {
    Ok(rustix::fs::ftruncate(fd, bytes)?)
}
