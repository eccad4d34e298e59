//! Owns moving bytes between a file and a connected socket without passing them through memory of
//! this process, and the same by io_uring. The callers choose the way.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use io_uring::{opcode, squeue, types};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use rustix::pipe::{PipeFlags, SpliceFlags};

use crate::ring::{Completion, Ring};

/// The most bytes of one call: below the kernel's limit of 2 GiB less a page (sendfile(2)), and a
/// length that io_uring can express.
const CALL_BYTES_MAX: usize = 1 << 30;

/// Sends all of `bytes`. With `more`, bytes that do not fill a segment or a record wait for the
/// next call (MSG_MORE, send(2)).
pub fn send_all(socket: impl AsFd, mut bytes: &[u8], more: bool) -> io::Result<()> {
    let flags = SendFlags::NOSIGNAL | if more { SendFlags::MORE } else { SendFlags::empty() };
    while !bytes.is_empty() {
        let sent = rustix::io::retry_on_intr(|| send(socket.as_fd(), bytes, flags))?;
        bytes = &bytes[sent..];
    }
    Ok(())
}

/// Discards up to `len` bytes that have arrived on a plain TCP socket, without copying them and
/// without waiting (MSG_TRUNC, tcp(7)). Returns 0 at the stream's end.
///
/// # Errors
/// `WouldBlock` if nothing has arrived.
pub fn discard_now(socket: impl AsFd, len: usize) -> io::Result<usize> {
    loop {
        let flags = libc::MSG_TRUNC | libc::MSG_DONTWAIT;
        // SAFETY: the kernel writes nothing for TCP here, and to a null pointer it never does: a
        // socket of another kind fails with EFAULT.
        let discarded = unsafe { libc::recv(socket.as_fd().as_raw_fd(), std::ptr::null_mut(), len, flags) };
        match usize::try_from(discarded) {
            Ok(discarded) => return Ok(discarded),
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => {}
                error => return Err(error),
            },
        }
    }
}

/// Sends `len` bytes of a file, from `offset` on, by sendfile(2).
///
/// # Errors
/// `UnexpectedEof` if the file is shorter.
pub fn send_file(socket: impl AsFd, file: impl AsFd, offset: u64, len: u64) -> io::Result<()> {
    let mut at = offset;
    let end = offset + len;
    while at < end {
        let piece = (end - at).min(CALL_BYTES_MAX as u64) as usize;
        match rustix::fs::sendfile(socket.as_fd(), file.as_fd(), Some(&mut at), piece) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// When splicing into a socket tells the kernel that more follows (SPLICE_F_MORE, splice(2)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum More {
    /// With all calls for a stretch except the last one, so that the flag is always true.
    WhereTrue,
    /// With every call, also the last one. A TLS record, and a segment, is then left open at each
    /// stretch's end.
    Always,
}

impl More {
    fn flags(self, last: bool) -> SpliceFlags {
        match (self, last) {
            (Self::WhereTrue, true) => SpliceFlags::MOVE,
            _ => SpliceFlags::MOVE | SpliceFlags::MORE,
        }
    }
}

/// A pipe between a file and a socket. After an error it may hold bytes and must not be used again.
#[derive(Debug)]
pub struct StreamPipe {
    out_end: OwnedFd,
    in_end: OwnedFd,
    capacity: usize,
}

impl StreamPipe {
    /// A pipe of `bytes`, or of the size that this user is allowed (pipe(7)).
    pub fn new(bytes: usize) -> io::Result<Self> {
        let (out_end, in_end) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        // The kernel refuses this beyond the user's share. A smaller pipe needs more rounds.
        let _ = rustix::pipe::fcntl_setpipe_size(&in_end, bytes);
        let capacity = rustix::pipe::fcntl_getpipe_size(&in_end)?;
        Ok(Self { out_end, in_end, capacity })
    }

    /// Sends `len` bytes of a file, from `offset` on.
    ///
    /// # Errors
    /// `UnexpectedEof` if the file is shorter, and the errors of splice(2).
    pub fn send(&self, file: impl AsFd, offset: u64, len: u64, socket: impl AsFd, more: More) -> io::Result<()> {
        let mut at = offset;
        let end = offset + len;
        while at < end {
            let piece = (end - at).min(self.capacity as u64) as usize;
            let filled = rustix::io::retry_on_intr(|| {
                rustix::pipe::splice(file.as_fd(), Some(&mut at), &self.in_end, None, piece, SpliceFlags::MOVE)
            })?;
            let flags = more.flags(at == end);
            self.empty(filled, |left| rustix::pipe::splice(&self.out_end, None, socket.as_fd(), None, left, flags))?;
        }
        Ok(())
    }

    /// Receives `len` bytes into a file from `offset` on.
    ///
    /// # Errors
    /// `UnexpectedEof` if the stream ends before that, and the errors of splice(2).
    pub fn receive(&self, socket: impl AsFd, file: impl AsFd, offset: u64, len: u64) -> io::Result<()> {
        let mut at = offset;
        let end = offset + len;
        while at < end {
            let piece = (end - at).min(self.capacity as u64) as usize;
            let filled = rustix::io::retry_on_intr(|| {
                rustix::pipe::splice(socket.as_fd(), None, &self.in_end, None, piece, SpliceFlags::MOVE)
            })?;
            self.empty(filled, |left| {
                rustix::pipe::splice(&self.out_end, None, file.as_fd(), Some(&mut at), left, SpliceFlags::MOVE)
            })?;
        }
        Ok(())
    }

    /// Takes the `filled` bytes out of the pipe again; `filled` is 0 at the end of the source.
    fn empty(&self, filled: usize, mut take: impl FnMut(usize) -> rustix::io::Result<usize>) -> io::Result<()> {
        if filled == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut left = filled;
        while left > 0 {
            match take(left) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(taken) => left -= taken,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// The same by io_uring, one request at a time, because on a lane each request must be complete
/// before the next may begin. Files and sockets must be open for blocking (no `O_NONBLOCK`),
/// because a request that has to wait would fail otherwise.
pub struct RingStream {
    ring: Ring,
    pipe: StreamPipe,
    completions: Vec<Completion>,
}

impl RingStream {
    /// A ring, and a pipe of `pipe_bytes` for splicing.
    ///
    /// # Errors
    /// With the [`Fallback`](crate::probe::Fallback) as the inner error if no ring is available.
    pub fn new(pipe_bytes: usize) -> io::Result<Self> {
        Ok(Self { ring: Ring::new(1)?, pipe: StreamPipe::new(pipe_bytes)?, completions: Vec::new() })
    }

    /// Sends all of `bytes` (IORING_OP_SEND).
    pub fn send_all(&mut self, socket: impl AsFd, mut bytes: &[u8], more: bool) -> io::Result<()> {
        let flags = libc::MSG_NOSIGNAL | if more { libc::MSG_MORE } else { 0 };
        while !bytes.is_empty() {
            let entry = opcode::Send::new(fd(socket.as_fd()), bytes.as_ptr(), length(bytes.len())).flags(flags).build();
            // SAFETY: `bytes` and the socket are borrowed for longer than this call, which returns
            // when the kernel is done.
            let sent = unsafe { self.complete(entry) }?;
            bytes = &bytes[sent..];
        }
        Ok(())
    }

    /// Fills `buf` from `offset` of a file (IORING_OP_READ).
    ///
    /// # Errors
    /// `UnexpectedEof` if the file is shorter.
    pub fn read_exact_at(&mut self, file: impl AsFd, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        let mut done = 0;
        while done < buf.len() {
            let rest = &mut buf[done..];
            let entry = opcode::Read::new(fd(file.as_fd()), rest.as_mut_ptr(), length(rest.len()))
                .offset(offset + done as u64)
                .build();
            // SAFETY: `buf` is exclusively borrowed, and the file borrowed, for longer than this
            // call, which returns when the kernel is done.
            match unsafe { self.complete(entry) }? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => done += read,
            }
        }
        Ok(())
    }

    /// Reads the bytes that have arrived, at least one; 0 at the stream's end (IORING_OP_RECV).
    pub fn receive(&mut self, socket: impl AsFd, buf: &mut [u8]) -> io::Result<usize> {
        let entry = opcode::Recv::new(fd(socket.as_fd()), buf.as_mut_ptr(), length(buf.len())).build();
        // SAFETY: `buf` is exclusively borrowed, and the socket borrowed, for longer than this
        // call, which returns when the kernel is done.
        unsafe { self.complete(entry) }
    }

    /// Writes all of `bytes` at `offset` of a file (IORING_OP_WRITE).
    pub fn write_all_at(&mut self, file: impl AsFd, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            let rest = &bytes[done..];
            let entry = opcode::Write::new(fd(file.as_fd()), rest.as_ptr(), length(rest.len()))
                .offset(offset + done as u64)
                .build();
            // SAFETY: `bytes` and the file are borrowed for longer than this call, which returns
            // when the kernel is done.
            match unsafe { self.complete(entry) }? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                written => done += written,
            }
        }
        Ok(())
    }

    /// Sends `len` bytes of a file, from `offset` on (IORING_OP_SPLICE, twice).
    ///
    /// # Errors
    /// Like those of [`StreamPipe::send`].
    pub fn splice_out(&mut self, file: impl AsFd, offset: u64, len: u64, socket: impl AsFd) -> io::Result<()> {
        /// A pipe, and a socket, have no position.
        const NOWHERE: i64 = -1;
        let mut at = offset;
        let end = offset + len;
        while at < end {
            let piece = length((end - at).min(self.pipe.capacity as u64) as usize);
            let from = i64::try_from(at).map_err(|_| io::ErrorKind::InvalidInput)?;
            let (file, in_end) = (fd(file.as_fd()), fd(self.pipe.in_end.as_fd()));
            let entry = opcode::Splice::new(file, from, in_end, NOWHERE, piece).flags(libc::SPLICE_F_MOVE).build();
            // SAFETY: the entry points to no memory, and its descriptors are borrowed for longer
            // than this call.
            let mut left = unsafe { self.complete(entry) }?;
            if left == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            at += left as u64;
            let flags = More::WhereTrue.flags(at == end).bits();
            while left > 0 {
                let (out_end, to) = (fd(self.pipe.out_end.as_fd()), fd(socket.as_fd()));
                let entry = opcode::Splice::new(out_end, NOWHERE, to, NOWHERE, length(left)).flags(flags).build();
                // SAFETY: as above.
                match unsafe { self.complete(entry) }? {
                    0 => return Err(io::ErrorKind::WriteZero.into()),
                    moved => left -= moved,
                }
            }
        }
        Ok(())
    }

    /// Runs one entry to its end and returns its count.
    ///
    /// # Safety
    /// Everything that the entry points to must stay valid, and untouched where the kernel writes,
    /// until this returns.
    unsafe fn complete(&mut self, entry: squeue::Entry) -> io::Result<usize> {
        let mut result = -Errno::INTR.raw_os_error();
        while result == -Errno::INTR.raw_os_error() {
            let mut loan = self.ring.lend();
            // SAFETY: by the caller's promise; the loan is not left before the completion was seen.
            unsafe { loan.push(entry.clone(), 0) };
            loan.wait(&mut self.completions);
            result = self.completions.first().map_or(-Errno::IO.raw_os_error(), |completion| completion.result);
        }
        usize::try_from(result).map_err(|_| io::Error::from_raw_os_error(-result))
    }
}

fn fd(fd: BorrowedFd<'_>) -> types::Fd {
    types::Fd(fd.as_raw_fd())
}

/// The length in io_uring's type. Longer ranges take several requests.
fn length(len: usize) -> u32 {
    len.min(CALL_BYTES_MAX) as u32
}
