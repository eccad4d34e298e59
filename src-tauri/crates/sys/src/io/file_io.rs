//! Owns bulk reading and writing of files, by io_uring or by plain calls, behind one interface with
//! the same behaviour.
//!
//! Both drivers block until all requests are done. So the kernel holds no buffer when a call
//! returns or unwinds.
//!
//! Reading a list of files opens each file through the ring, checks the open file (fstat), and only
//! then queues the read. A chain of open, read and close in the kernel would save the check. But a
//! chain cannot tell a regular file from a FIFO, terminal or device that was swapped in, and
//! io_uring's own statx cannot use a direct descriptor and always goes to a worker thread.

#[cfg(test)]
mod faults;
mod sync;
mod uring;

use std::ffi::CStr;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use crate::attributes::Kind;
use crate::dir::component;
pub use crate::ring::Fallback;
use crate::ring::{Ring, WORKERS_DEFAULT};
pub use ringway_model::IoMode;
pub use sync::{read_at, write_all_at};

/// The most io-wq workers of either kind that a ring may have. They are threads, which exist only
/// while something blocks.
pub const WORKERS_MAX: u32 = 64;

/// The most requests that a driver has under way at a time. Each is a file, so this also bounds the
/// driver's descriptors.
pub const DEPTH_MAX: u32 = 1024;

/// The driver that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoKind {
    /// io_uring.
    Uring,
    /// Plain calls: openat, pread, pwrite.
    Sync,
}

/// The driver that runs, and the reason if `Auto` fell back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoChoice {
    /// The driver.
    pub kind: IoKind,
    /// Why `Auto` fell back; `None` if it did not, or if another mode was requested.
    pub reason: Option<Fallback>,
}

/// One small file to read whole.
#[derive(Clone, Copy, Debug)]
pub struct ReadFile<'a> {
    /// The directory it is in.
    pub dir: BorrowedFd<'a>,
    /// Its name there, a single component.
    pub name: &'a CStr,
    /// The position of its bytes in the buffer.
    pub at: usize,
    /// The most bytes to read: the size that the file had when it was listed.
    pub len: usize,
}

/// An open file to read from its beginning.
#[derive(Clone, Copy, Debug)]
pub struct ReadOpen<'a> {
    /// The file, open for reading.
    pub fd: BorrowedFd<'a>,
    /// The position of its bytes in the buffer.
    pub at: usize,
    /// The most bytes to read.
    pub len: usize,
}

/// Bytes to write to an open file at an offset.
#[derive(Clone, Copy, Debug)]
pub struct WriteAt<'a> {
    /// The file, open for writing.
    pub fd: BorrowedFd<'a>,
    /// The position of the first byte in the file.
    pub offset: u64,
    /// The bytes.
    pub bytes: &'a [u8],
}

/// A file that was to be read has become another kind of entry. This is the inner error of an
/// `io::Error`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a regular file ({kind:?})")]
pub struct NotRegular {
    /// The kind that it is now.
    pub kind: Kind,
}

impl NotRegular {
    /// The kind that was found, if that is the reason for `error`.
    pub fn in_error(error: &io::Error) -> Option<Self> {
        error.get_ref().and_then(|inner| inner.downcast_ref::<Self>()).copied()
    }
}

impl From<NotRegular> for io::Error {
    fn from(error: NotRegular) -> Self {
        Self::other(error)
    }
}

/// Called with each file that was read, and the index of its request.
pub type Look<'l> = dyn FnMut(usize, BorrowedFd<'_>) + 'l;

/// A driver for bulk file IO. One thread uses it at a time. Between calls it may move to another
/// thread.
pub struct FileIo {
    driver: Driver,
    reason: Option<Fallback>,
    /// Buffer for the overlap check, kept so that it is not allocated for each call.
    slots: Vec<(usize, usize)>,
}

enum Driver {
    Uring(Box<uring::Uring>),
    Sync,
}

impl FileIo {
    /// Sets up a driver. `depth` (1 to [`DEPTH_MAX`]; larger values are reduced to that) is how
    /// many requests the ring keeps under way.
    ///
    /// # Errors
    /// Only for [`IoMode::Uring`], with the [`Fallback`] as the inner error.
    pub fn new(mode: IoMode, depth: u32) -> io::Result<Self> {
        Self::with_workers(mode, depth, WORKERS_DEFAULT)
    }

    /// The same with up to `workers_max` kernel threads (1 to [`WORKERS_MAX`]; larger values are
    /// reduced to that). They run requests that block, such as opening files that are not cached.
    /// Such requests wait for a disk side by side, but for cached files the threads contend with
    /// each other.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_workers(mode: IoMode, depth: u32, workers_max: u32) -> io::Result<Self> {
        let ring = match mode {
            IoMode::Sync => return Ok(Self::with(Driver::Sync, None)),
            IoMode::Auto | IoMode::Uring => {
                Ring::with_workers(depth.clamp(1, DEPTH_MAX), workers_max.clamp(1, WORKERS_MAX))
            }
        };
        match ring {
            Ok(ring) => Ok(Self::with(Driver::Uring(Box::new(uring::Uring::new(ring))), None)),
            Err(reason) if mode == IoMode::Auto => Ok(Self::with(Driver::Sync, Some(reason))),
            Err(reason) => Err(reason.into()),
        }
    }

    fn with(driver: Driver, reason: Option<Fallback>) -> Self {
        Self { driver, reason, slots: Vec::new() }
    }

    /// Which driver runs.
    pub fn kind(&self) -> IoKind {
        match self.driver {
            Driver::Uring(_) => IoKind::Uring,
            Driver::Sync => IoKind::Sync,
        }
    }

    /// Which driver runs, and why.
    pub fn choice(&self) -> IoChoice {
        IoChoice { kind: self.kind(), reason: self.reason }
    }

    /// Reads each file of `requests` into its own part of `buf`. `results[i]` is the result of
    /// `requests[i]`: the bytes read, fewer than `len` if the file has become shorter, or the
    /// error. `results` is emptied first and can be reused.
    ///
    /// It follows no link (`ELOOP`) and waits for nothing but the disk. An entry that is no regular
    /// file is [`NotRegular`] (a socket is `ENXIO`). Within a request's part, bytes of `buf` after
    /// those read may be overwritten; outside the parts no byte is.
    ///
    /// # Errors
    /// `InvalidInput`, before anything is read, if a part does not lie in `buf` or two parts
    /// overlap.
    pub fn read_files(
        &mut self,
        buf: &mut [u8],
        requests: &[ReadFile<'_>],
        results: &mut Vec<io::Result<usize>>,
    ) -> io::Result<()> {
        self.read_files_looking(buf, requests, results, &mut |_, _| {})
    }

    /// The same, and calls `look` with the index and descriptor of each file, after its last byte
    /// was read and before it is closed. Getting attributes there costs a third of getting them by
    /// name.
    ///
    /// # Errors
    /// As [`read_files`](Self::read_files).
    pub fn read_files_looking(
        &mut self,
        buf: &mut [u8],
        requests: &[ReadFile<'_>],
        results: &mut Vec<io::Result<usize>>,
        look: &mut Look<'_>,
    ) -> io::Result<()> {
        check_slots(buf.len(), requests.iter().map(|request| (request.at, request.len)), &mut self.slots)?;
        results.clear();
        results.extend(requests.iter().map(|_| Ok(0)));
        match &mut self.driver {
            Driver::Uring(uring) => uring.read_files(buf, requests, results, look),
            Driver::Sync => {
                for (index, (request, result)) in requests.iter().zip(results).enumerate() {
                    let part = &mut buf[request.at..request.at + request.len];
                    *result = sync::read_file(request, part, &mut |fd| look(index, fd));
                }
            }
        }
        Ok(())
    }

    /// Opens each of `names`, single components of `dir`, for reading. `results[i]` is the result
    /// for `names[i]`, of whatever kind the entry is, so check it before reading. It follows no
    /// link (`ELOOP`) and waits for nothing but the disk. `noatime` leaves access times alone if
    /// the caller may request that. `results` is emptied first. All files are open at once when
    /// this returns.
    pub fn open_files(
        &mut self,
        dir: BorrowedFd<'_>,
        names: &[&CStr],
        noatime: bool,
        results: &mut Vec<io::Result<OwnedFd>>,
    ) {
        results.clear();
        match &mut self.driver {
            Driver::Uring(uring) => uring.open_files(dir, names, noatime, results),
            Driver::Sync => {
                let open = |&name: &&CStr| {
                    component(name.to_bytes())?;
                    sync::open_file(dir, name, noatime)
                };
                results.extend(names.iter().map(open));
            }
        }
    }

    /// Reads each open file of `requests` from its beginning into its own part of `buf`, like
    /// [`read_files`](Self::read_files), but does not check the files' kinds.
    ///
    /// # Errors
    /// As [`read_files`](Self::read_files).
    pub fn read_open_files(
        &mut self,
        buf: &mut [u8],
        requests: &[ReadOpen<'_>],
        results: &mut Vec<io::Result<usize>>,
    ) -> io::Result<()> {
        check_slots(buf.len(), requests.iter().map(|request| (request.at, request.len)), &mut self.slots)?;
        results.clear();
        results.extend(requests.iter().map(|_| Ok(0)));
        match &mut self.driver {
            Driver::Uring(uring) => uring.read_open_files(buf, requests, results),
            Driver::Sync => {
                for (request, result) in requests.iter().zip(results) {
                    *result = sync::read_at(request.fd, 0, &mut buf[request.at..request.at + request.len]);
                }
            }
        }
        Ok(())
    }

    /// Fills `buf` from `offset` of the regular file `fd`; returns the bytes read, fewer than asked
    /// only at the file's end.
    pub fn read_at(&mut self, fd: BorrowedFd<'_>, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        check_range(offset, buf.len())?;
        match &mut self.driver {
            Driver::Uring(uring) => uring.read_at(fd, offset, buf),
            Driver::Sync => sync::read_at(fd, offset, buf),
        }
    }

    /// Writes all of `writes`, in any order. `results[i]` is the result of `writes[i]`; after an
    /// error some of its bytes may be written. `results` is emptied first and can be reused.
    pub fn write_all_at(&mut self, writes: &[WriteAt<'_>], results: &mut Vec<io::Result<()>>) {
        results.clear();
        results.extend(writes.iter().map(|write| check_range(write.offset, write.bytes.len())));
        match &mut self.driver {
            Driver::Uring(uring) => uring.write_all_at(writes, results),
            Driver::Sync => {
                for (write, result) in writes.iter().zip(results).filter(|(_, result)| result.is_ok()) {
                    *result = sync::write_all_at(write.fd, write.offset, write.bytes);
                }
            }
        }
    }
}

/// Offsets are signed in the kernel (off_t). Both drivers refuse ranges that do not fit.
fn check_range(offset: u64, len: usize) -> io::Result<()> {
    match offset.checked_add(len as u64) {
        Some(end) if i64::try_from(end).is_ok() => Ok(()),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// Refuses parts that overlap or exceed a buffer of `bytes`. Requests usually come in ascending
/// order, and then no sorting is needed.
fn check_slots(
    bytes: usize,
    parts: impl Iterator<Item = (usize, usize)>,
    slots: &mut Vec<(usize, usize)>,
) -> io::Result<()> {
    let refused = || io::Error::from(io::ErrorKind::InvalidInput);
    slots.clear();
    for (at, len) in parts {
        let end = at.checked_add(len).filter(|&end| end <= bytes).ok_or_else(refused)?;
        if len > 0 {
            slots.push((at, end));
        }
    }
    if !slots.is_sorted() {
        slots.sort_unstable();
    }
    match slots.windows(2).any(|pair| pair[0].1 > pair[1].0) {
        true => Err(refused()),
        false => Ok(()),
    }
}

/// The name of a request, refused if it is not a single component.
fn checked_name<'a>(request: &ReadFile<'a>) -> io::Result<&'a CStr> {
    component(request.name.to_bytes())?;
    Ok(request.name)
}
