//! Owns bulk reading and writing of files, by io_uring or by plain calls, behind one interface with
//! one behaviour.
//!
//! Both drivers block until everything they were asked for is done: no buffer stays with the kernel
//! when a call returns or unwinds.
//!
//! Reading a list of files opens each through the ring, looks at what was opened (fstat), and only
//! then queues the read. Chaining open, read and close in the kernel would spare the look, but a
//! chain cannot tell a regular file from a FIFO, terminal or device that was swapped in, and
//! io_uring's own statx cannot take a direct descriptor and always goes to a worker thread.

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
pub use sync::{read_at, write_all_at};

/// io-wq workers a ring may have of either kind: threads, which are there only while something
/// blocks.
pub const WORKERS_MAX: u32 = 64;

/// Requests a driver keeps under way at a time, at most: a file each, so this also bounds the
/// descriptors it holds.
pub const DEPTH_MAX: u32 = 1024;

/// Which driver is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IoMode {
    /// io_uring, or plain calls where it is not to be had.
    #[default]
    Auto,
    /// io_uring or an error.
    Uring,
    /// Plain calls.
    Sync,
}

/// Which driver runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoKind {
    /// io_uring.
    Uring,
    /// Plain calls: openat, pread, pwrite.
    Sync,
}

/// Which driver runs, and why if it is not the one that `Auto` prefers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoChoice {
    /// The driver.
    pub kind: IoKind,
    /// Why `Auto` fell back; `None` when it did not have to, or was not asked.
    pub reason: Option<Fallback>,
}

/// One small file to read whole.
#[derive(Clone, Copy, Debug)]
pub struct ReadFile<'a> {
    /// The directory it is in.
    pub dir: BorrowedFd<'a>,
    /// Its name there, a single component.
    pub name: &'a CStr,
    /// Where in the buffer its bytes go.
    pub at: usize,
    /// How many bytes are wanted at most: the size it had when it was listed.
    pub len: usize,
}

/// An open file to read from its beginning.
#[derive(Clone, Copy, Debug)]
pub struct ReadOpen<'a> {
    /// The file, open for reading.
    pub fd: BorrowedFd<'a>,
    /// Where in the buffer its bytes go.
    pub at: usize,
    /// How many bytes are wanted at most.
    pub len: usize,
}

/// Bytes to write to an open file at an offset.
#[derive(Clone, Copy, Debug)]
pub struct WriteAt<'a> {
    /// The file, open for writing.
    pub fd: BorrowedFd<'a>,
    /// Where in the file the first byte goes.
    pub offset: u64,
    /// The bytes.
    pub bytes: &'a [u8],
}

/// What was to be read as a file has become something else. It is the inner error of the
/// `io::Error` that says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a regular file ({kind:?})")]
pub struct NotRegular {
    /// What it is now.
    pub kind: Kind,
}

impl NotRegular {
    /// The kind of thing found, if that is what `error` is about.
    pub fn in_error(error: &io::Error) -> Option<Self> {
        error.get_ref().and_then(|inner| inner.downcast_ref::<Self>()).copied()
    }
}

impl From<NotRegular> for io::Error {
    fn from(error: NotRegular) -> Self {
        Self::other(error)
    }
}

/// Called with a file that was read, by its request's index.
pub type Look<'l> = dyn FnMut(usize, BorrowedFd<'_>) + 'l;

/// A driver for bulk file IO. One thread uses it at a time; it can be handed from thread to thread
/// between calls.
pub struct FileIo {
    driver: Driver,
    reason: Option<Fallback>,
    /// Scratch for the overlap check, kept so that it is not allocated for each call.
    slots: Vec<(usize, usize)>,
}

enum Driver {
    Uring(Box<uring::Uring>),
    Sync,
}

impl FileIo {
    /// Sets a driver up; `depth` (1 to [`DEPTH_MAX`], cut to that) is how many requests the ring
    /// keeps under way.
    ///
    /// # Errors
    /// Only for [`IoMode::Uring`], with the [`Fallback`] as the inner error.
    pub fn new(mode: IoMode, depth: u32) -> io::Result<Self> {
        Self::with_workers(mode, depth, WORKERS_DEFAULT)
    }

    /// The same with up to `workers_max` (1 to [`WORKERS_MAX`], cut to that) threads of the
    /// kernel's for what blocks, such as opening files that are not in memory: on a disk they wait
    /// side by side, in memory they are in each other's way.
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

    /// Reads each file of `requests` into its own part of `buf`; `results[i]` is what came of
    /// `requests[i]`: the bytes read, fewer than `len` if the file has become shorter, or why it
    /// could not be read. `results` is emptied first and can be used again and again.
    ///
    /// No link is followed (`ELOOP`), nothing is waited for but the disk, and what is no regular
    /// file is [`NotRegular`] (a socket `ENXIO`). Bytes of `buf` outside what the results name may
    /// be overwritten within a request's own part, never elsewhere.
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

    /// The same, and calls `look` with the index and descriptor of each file that was read, after
    /// its last byte and before it is closed: what has to be asked of every file costs a third
    /// there of what it costs by name.
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

    /// Opens each of `names`, single components of `dir`, for reading; `results[i]` is what came of
    /// `names[i]`, of whatever kind it is: look before reading. No link is followed (`ELOOP`) and
    /// nothing is waited for but the disk. `noatime` leaves access times alone where the caller may
    /// ask for that. `results` is emptied first; all files are open at once when this returns.
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

    /// Reads each open file of `requests` from its beginning into its own part of `buf`, as
    /// [`read_files`](Self::read_files) does; what was opened is not looked at again.
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

    /// Writes all of `writes`, in no particular order; `results[i]` says what came of `writes[i]`.
    /// After an error some of its bytes may be written. `results` is emptied first and can be used
    /// again and again.
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

/// Offsets are signed in the kernel (off_t): what does not fit is refused alike by both drivers.
fn check_range(offset: u64, len: usize) -> io::Result<()> {
    match offset.checked_add(len as u64) {
        Some(end) if i64::try_from(end).is_ok() => Ok(()),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// Refuses parts that overlap or leave a buffer of `bytes`. Requests usually come in ascending
/// order, and then nothing is sorted.
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
