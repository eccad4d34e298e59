//! Owns the plain-call driver, which also finishes single requests that io_uring could not.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use super::{NotRegular, ReadFile, checked_name};
use crate::attributes::metadata_of;
use crate::dir::READ_FLAGS;

/// Opens one file. With `noatime` it leaves the access time alone if the caller may request that
/// (O_NOATIME, open(2)).
pub(super) fn open_file(dir: BorrowedFd<'_>, name: &CStr, noatime: bool) -> io::Result<OwnedFd> {
    let open =
        |flags: OFlags| rustix::io::retry_on_intr(|| rustix::fs::openat(dir, name, READ_FLAGS | flags, Mode::empty()));
    match open(noatime_flag(noatime)) {
        // The caller is not the owner of the file.
        Err(Errno::PERM) if noatime => Ok(open(OFlags::empty())?),
        other => Ok(other?),
    }
}

/// The flag in addition to [`READ_FLAGS`].
pub(super) fn noatime_flag(noatime: bool) -> OFlags {
    if noatime { OFlags::NOATIME } else { OFlags::empty() }
}

/// Opens, checks, reads and closes one file. `look` gets it before it is closed.
pub(super) fn read_file(
    request: &ReadFile<'_>,
    buf: &mut [u8],
    look: &mut dyn FnMut(BorrowedFd<'_>),
) -> io::Result<usize> {
    let name = checked_name(request)?;
    let fd = open_file(request.dir, name, false)?;
    check_regular(&fd)?;
    let bytes = read_at(fd.as_fd(), 0, buf)?;
    look(fd.as_fd());
    Ok(bytes)
}

/// Refuses an open descriptor that is not a regular file.
pub(super) fn check_regular(fd: impl AsFd) -> io::Result<()> {
    let fd = fd.as_fd();
    match FileType::from_raw_mode(rustix::fs::fstat(fd)?.st_mode) {
        FileType::RegularFile => Ok(()),
        _ => Err(NotRegular { kind: metadata_of(fd)?.kind }.into()),
    }
}

/// Fills `buf` from `offset` up to the end of the file by plain calls; returns the bytes read,
/// fewer than asked only at the end (pread(2)).
pub fn read_at(fd: BorrowedFd<'_>, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while done < buf.len() {
        match rustix::io::pread(fd, &mut buf[done..], offset + done as u64) {
            Ok(0) => break,
            Ok(bytes) => done += bytes,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(done)
}

/// Writes all of `bytes` at `offset` by plain calls (pwrite(2)).
pub fn write_all_at(fd: BorrowedFd<'_>, offset: u64, bytes: &[u8]) -> io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        match rustix::io::pwrite(fd, &bytes[done..], offset + done as u64) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => done += written,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
