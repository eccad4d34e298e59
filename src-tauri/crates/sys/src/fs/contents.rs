//! Owns copying contents between two open files inside the kernel. The copier chooses which way to
//! try when.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags};

/// Requested size of the pipe: the most that an unprivileged user may request
/// (/proc/sys/fs/pipe-max-size, pipe(7)). Fewer rounds of splicing cost less.
const PIPE_BYTES: usize = 1 << 20;

/// Makes `to` share all blocks of `from`, and so have its contents (FICLONE, ioctl_ficlone(2)).
/// Returns `Ok(false)`, with nothing changed, if these two files cannot share blocks: the
/// filesystem does not support it, they are on different filesystems, one is a swap file, or a
/// filter refuses the call.
///
/// # Errors
/// Errors that another way of copying would get as well, such as `ENOSPC`, `EDQUOT` and `EIO`.
pub fn reflink(from: impl AsFd, to: impl AsFd) -> io::Result<bool> {
    match rustix::io::retry_on_intr(|| rustix::fs::ioctl_ficlone(to.as_fd(), from.as_fd())) {
        Ok(()) => Ok(true),
        Err(
            Errno::OPNOTSUPP
            | Errno::NOTTY
            | Errno::XDEV
            | Errno::INVAL
            | Errno::NOSYS
            | Errno::TXTBSY
            | Errno::PERM
            | Errno::BADF,
        ) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Copies up to `len` bytes by copy_file_range(2) and returns how many. 0 means the end of the
/// source, and also comes for files without a size (/proc) that do have something to read. `None`
/// if the kernel does not support this for these two files.
pub fn copy_range(
    from: impl AsFd,
    from_offset: u64,
    to: impl AsFd,
    to_offset: u64,
    len: usize,
) -> io::Result<Option<usize>> {
    let copied = rustix::io::retry_on_intr(|| {
        let (mut from_offset, mut to_offset) = (from_offset, to_offset);
        rustix::fs::copy_file_range(from.as_fd(), Some(&mut from_offset), to.as_fd(), Some(&mut to_offset), len)
    });
    match copied {
        Ok(bytes) => Ok(Some(bytes)),
        // The kernel also returns EBADF for files opened for appending, and ETXTBSY for swap files.
        Err(
            Errno::XDEV | Errno::NOSYS | Errno::OPNOTSUPP | Errno::INVAL | Errno::PERM | Errno::BADF | Errno::TXTBSY,
        ) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A pipe that takes pages from one file to another without passing them through memory of this
/// process.
#[derive(Debug)]
pub struct Pipe {
    /// Reading and writing end. `None` after an error that left bytes in the pipe, until a pipe is
    /// needed again.
    ends: Option<(OwnedFd, OwnedFd)>,
}

impl Pipe {
    /// Makes a pipe of 1 MiB, or of the size that this user is still allowed (pipe(7)).
    pub fn new() -> io::Result<Self> {
        Ok(Self { ends: Some(new_pipe()?) })
    }

    /// Copies up to `len` bytes by splice(2) and returns how many: fewer than `len` only at the end
    /// of the source. `None`, with nothing written, if one of the files cannot be spliced.
    ///
    /// # Errors
    /// The errors of reading and writing. Some bytes may then be written, and none are left in the
    /// pipe.
    pub fn splice(
        &mut self,
        from: impl AsFd,
        from_offset: u64,
        to: impl AsFd,
        to_offset: u64,
        len: usize,
    ) -> io::Result<Option<usize>> {
        let (from, to) = (from.as_fd(), to.as_fd());
        let mut moved = 0;
        while moved < len {
            let (out_end, in_end) = match self.ends.take() {
                Some(ends) => ends,
                None => new_pipe()?,
            };
            let at = moved as u64;
            let round = fill(from, from_offset + at, &in_end, len - moved).and_then(|bytes| {
                empty(&out_end, to, to_offset + at, bytes)?;
                Ok(bytes)
            });
            match round {
                Ok(bytes) => {
                    // Only an empty pipe is kept.
                    self.ends = Some((out_end, in_end));
                    if bytes == 0 {
                        break;
                    }
                    moved += bytes;
                }
                Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) if moved == 0 => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Some(moved))
    }
}

fn new_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (out_end, in_end) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    // The kernel refuses this beyond the user's share. A smaller pipe needs more rounds.
    let _ = rustix::pipe::fcntl_setpipe_size(&in_end, PIPE_BYTES);
    Ok((out_end, in_end))
}

/// Moves up to `len` bytes of the file into the empty pipe.
fn fill(from: BorrowedFd<'_>, offset: u64, pipe: &OwnedFd, len: usize) -> rustix::io::Result<usize> {
    rustix::io::retry_on_intr(|| {
        let mut offset = offset;
        rustix::pipe::splice(from, Some(&mut offset), pipe, None, len.min(PIPE_BYTES), SpliceFlags::MOVE)
    })
}

/// Moves all `len` bytes in the pipe to the file.
fn empty(pipe: &OwnedFd, to: BorrowedFd<'_>, offset: u64, len: usize) -> rustix::io::Result<()> {
    let mut offset = offset;
    let mut left = len;
    while left > 0 {
        match rustix::pipe::splice(pipe, None, to, Some(&mut offset), left, SpliceFlags::MOVE) {
            Ok(0) => return Err(Errno::IO),
            Ok(bytes) => left -= bytes,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
