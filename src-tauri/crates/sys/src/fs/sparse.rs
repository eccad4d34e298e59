//! Owns finding the stored parts of a file with holes, by SEEK_DATA and SEEK_HOLE (lseek(2)).

use std::io;
use std::ops::Range;
use std::os::fd::AsFd;

use rustix::fs::SeekFrom;
use rustix::io::Errno;

/// The first stored part of the file at or after `offset`, within its first `size` bytes; `None` if
/// only a hole is left.
///
/// A filesystem that cannot report holes has all parts stored. This moves the file's position, so
/// no other code may read the descriptor by position meanwhile. A file that shrank below `offset`
/// has no stored part left.
pub fn next_data(fd: impl AsFd, offset: u64, size: u64) -> io::Result<Option<Range<u64>>> {
    if offset >= size {
        return Ok(None);
    }
    let fd = fd.as_fd();
    let start = match rustix::fs::seek(fd, SeekFrom::Data(offset)) {
        Ok(start) => start,
        // There is only a hole up to the end, or the end is before `offset`.
        Err(Errno::NXIO) => return Ok(None),
        Err(Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(Some(offset..size)),
        Err(error) => return Err(error.into()),
    };
    let end = match rustix::fs::seek(fd, SeekFrom::Hole(start)) {
        Ok(end) => end,
        // The file shrank in between.
        Err(Errno::NXIO) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let end = end.min(size);
    Ok((start < end).then_some(start..end))
}
