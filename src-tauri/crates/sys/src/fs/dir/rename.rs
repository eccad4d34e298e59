//! Owns renaming without replacing: RENAME_NOREPLACE, and its emulation on filesystems that lack
//! it.

use std::io;
use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, FileType, RenameFlags};
use rustix::io::Errno;

pub(super) fn noreplace(from: BorrowedFd<'_>, name: &[u8], to: BorrowedFd<'_>, to_name: &[u8]) -> io::Result<()> {
    match rustix::fs::renameat_with(from, name, to, to_name, RenameFlags::NOREPLACE) {
        // rename(2): the filesystem does not support the flag. Renaming a directory into itself is
        // EINVAL too, and the emulation below returns it again.
        Err(Errno::INVAL | Errno::NOSYS) => noreplace_emulated(from, name, to, to_name),
        other => Ok(other?),
    }
}

pub(super) fn noreplace_emulated(
    from: BorrowedFd<'_>,
    name: &[u8],
    to: BorrowedFd<'_>,
    to_name: &[u8],
) -> io::Result<()> {
    let stat = rustix::fs::statat(from, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
        match rustix::fs::linkat(from, name, to, to_name, AtFlags::empty()) {
            Ok(()) => return Ok(rustix::fs::unlinkat(from, name, AtFlags::empty())?),
            // Hard links are not supported here, there are too many, or they are not permitted
            // (protected_hardlinks, proc(5)).
            Err(Errno::PERM | Errno::OPNOTSUPP | Errno::MLINK | Errno::NOSYS) => {}
            Err(error) => return Err(error.into()),
        }
    }
    match rustix::fs::statat(to, to_name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Ok(rustix::fs::renameat(from, name, to, to_name)?),
        Err(error) => Err(error.into()),
        Ok(_) => Err(Errno::EXIST.into()),
    }
}
