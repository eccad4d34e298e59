//! Owns opening a path strictly beneath a directory, by openat2 or, on kernels without it,
//! component by component.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::{DIR_FLAGS, SEARCH_FLAGS, component};

/// The longest path that the kernel accepts in one call, its final NUL included (limits.h,
/// path_resolution(7)).
const PATH_MAX: usize = 4096;

/// openat2 returns EAGAIN if a rename or mount raced with it (openat2(2)). After this many attempts
/// the walk is used, which has no such error.
const OPENAT2_TRIES: u32 = 64;

/// The two ways to open a path beneath a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beneath {
    /// One openat2 call (Linux 5.6) with RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS and
    /// RESOLVE_NO_MAGICLINKS.
    Openat2,
    /// One openat with O_NOFOLLOW a component.
    Walk,
}

/// The method that this kernel, and any filter of its system calls, allows. It is probed once per
/// process.
pub fn beneath() -> Beneath {
    static METHOD: OnceLock<Beneath> = OnceLock::new();
    *METHOD.get_or_init(|| match openat2(CWD, b".", DIR_FLAGS, ResolveFlags::BENEATH) {
        // Container runtimes of 2020 return EPERM for a call that their filter does not know.
        Err(Errno::NOSYS | Errno::PERM) => Beneath::Walk,
        _ => Beneath::Openat2,
    })
}

fn openat2(dir: BorrowedFd<'_>, rel: &[u8], flags: OFlags, resolve: ResolveFlags) -> rustix::io::Result<OwnedFd> {
    rustix::fs::openat2(dir, rel, flags, Mode::empty(), resolve)
}

/// Opens the directory `rel` beneath `dir`, as `flags` say.
pub(super) fn open(dir: BorrowedFd<'_>, rel: &[u8], flags: OFlags, method: Beneath) -> io::Result<OwnedFd> {
    for name in rel.split(|&byte| byte == b'/') {
        component(name)?;
    }
    // A path that is too long for one call can only be walked.
    if method == Beneath::Walk || rel.len() >= PATH_MAX {
        return walk(dir, rel, flags);
    }
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    for _ in 0..OPENAT2_TRIES {
        match openat2(dir, rel, flags, resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            other => return Ok(other?),
        }
    }
    walk(dir, rel, flags)
}

fn walk(dir: BorrowedFd<'_>, rel: &[u8], flags: OFlags) -> io::Result<OwnedFd> {
    let mut names = rel.split(|&byte| byte == b'/');
    let last = names.next_back().unwrap_or_default();
    let mut above = None;
    for name in names {
        let at = above.as_ref().map_or(dir, AsFd::as_fd);
        above = Some(open_component(at, name, SEARCH_FLAGS)?);
    }
    open_component(above.as_ref().map_or(dir, AsFd::as_fd), last, flags)
}

/// Opens the directory `name` in `dir`. A symbolic link is `ELOOP`, as with openat2.
pub(super) fn open_component(dir: BorrowedFd<'_>, name: &[u8], flags: OFlags) -> io::Result<OwnedFd> {
    match rustix::fs::openat(dir, name, flags | OFlags::NOFOLLOW, Mode::empty()) {
        Ok(fd) => Ok(fd),
        // O_DIRECTORY causes ENOTDIR before O_NOFOLLOW could cause ELOOP.
        Err(Errno::NOTDIR) => match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink => Err(Errno::LOOP.into()),
            _ => Err(Errno::NOTDIR.into()),
        },
        Err(error) => Err(error.into()),
    }
}
