//! Owns the io_uring driver. Each request keeps a slot from open to close, and a slot's descriptor
//! lives until its last completion.

use std::ffi::CStr;
use std::io;
use std::marker::PhantomData;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use io_uring::{opcode, types};
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::{Look, ReadFile, ReadOpen, WriteAt, checked_name, sync};
use crate::dir::{READ_FLAGS, component};
use crate::ring::{Completion, Loan, Ring};

/// Bytes of one piece of a large read: large enough that the cost of a ring entry is negligible,
/// small enough that a 1 MiB range keeps several pieces under way on a cold disk.
const READ_PIECE_BYTES: usize = 256 * 1024;

/// Bytes of one write entry, below the kernel's limit of 2 GiB less a page for one call (write(2)).
const WRITE_PIECE_BYTES: usize = 1 << 30;

/// A ring and the state of the requests in it.
pub(super) struct Uring {
    pub(super) ring: Ring,
    slots: Vec<Slot>,
    free: Vec<usize>,
    completions: Vec<Completion>,
}

/// One request under way.
#[derive(Default)]
struct Slot {
    /// The index of the request in the call.
    index: usize,
    /// Bytes that are done.
    done: usize,
    /// The file, once it is open.
    file: Option<OwnedFd>,
}

/// A buffer that the kernel and this thread fill in parts; only one of them fills a part at a time.
struct Parts<'b> {
    base: *mut u8,
    len: usize,
    buffer: PhantomData<&'b mut [u8]>,
}

impl<'b> Parts<'b> {
    fn new(buffer: &'b mut [u8]) -> Self {
        Self { base: buffer.as_mut_ptr(), len: buffer.len(), buffer: PhantomData }
    }

    /// A pointer to `len` bytes from `at`, which must lie in the buffer.
    fn pointer(&self, at: usize, len: usize) -> *mut u8 {
        assert!(at.checked_add(len).is_some_and(|end| end <= self.len), "a part outside the buffer");
        self.base.wrapping_add(at)
    }

    /// The `len` bytes from `at`, for this thread to fill.
    ///
    /// # Safety
    /// No pending entry may write to any of them.
    unsafe fn slice(&mut self, at: usize, len: usize) -> &mut [u8] {
        let start = self.pointer(at, len);
        // SAFETY: the range lies in the buffer that is exclusively borrowed for `'b`, and by the
        // caller's promise the kernel does not write to it now.
        unsafe { std::slice::from_raw_parts_mut(start, len) }
    }
}

/// Whether a result means "not now" or "not this way". Plain calls then finish the request.
fn is_transient(result: i32) -> bool {
    // EOPNOTSUPP: files of this filesystem cannot be read without blocking, and were opened with
    // O_NONBLOCK.
    [Errno::AGAIN, Errno::INTR, Errno::CANCELED, Errno::OPNOTSUPP]
        .into_iter()
        .any(|errno| result == -errno.raw_os_error())
}

fn to_count(result: i32) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::from_raw_os_error(-result))
}

impl Uring {
    pub(super) fn new(ring: Ring) -> Self {
        let depth = ring.depth();
        let slots = std::iter::repeat_with(Slot::default).take(depth).collect();
        Self { ring, slots, free: Vec::with_capacity(depth), completions: Vec::with_capacity(2 * depth) }
    }

    /// Frees all slots, also after a call that unwound.
    fn reset(&mut self) {
        for slot in &mut self.slots {
            slot.file = None;
        }
        self.free.clear();
        self.free.extend((0..self.slots.len()).rev());
    }

    /// Like [`super::FileIo::read_files`]; the parts are checked already, and there is a result for
    /// each request.
    pub(super) fn read_files(
        &mut self,
        buf: &mut [u8],
        requests: &[ReadFile<'_>],
        results: &mut [io::Result<usize>],
        look: &mut Look<'_>,
    ) {
        self.reset();
        let loan = self.ring.lend();
        let mut files = FileReads { loan, parts: Parts::new(buf), requests, results, slots: &mut self.slots, look };
        drive(&mut files, requests.len(), &mut self.free, &mut self.completions);
    }

    /// Like [`super::FileIo::open_files`], with `results` empty.
    pub(super) fn open_files(
        &mut self,
        dir: BorrowedFd<'_>,
        names: &[&CStr],
        noatime: bool,
        results: &mut Vec<io::Result<OwnedFd>>,
    ) {
        self.reset();
        results.extend(names.iter().map(|_| Err(io::ErrorKind::Interrupted.into())));
        let loan = self.ring.lend();
        let mut opens = FileOpens { loan, dir, names, noatime, results, slots: &mut self.slots };
        drive(&mut opens, names.len(), &mut self.free, &mut self.completions);
    }

    /// Like [`super::FileIo::read_open_files`]; the parts are checked already, and there is a
    /// result for each request.
    pub(super) fn read_open_files(
        &mut self,
        buf: &mut [u8],
        requests: &[ReadOpen<'_>],
        results: &mut [io::Result<usize>],
    ) {
        self.reset();
        let loan = self.ring.lend();
        let mut reads = OpenReads { loan, parts: Parts::new(buf), requests, results, slots: &mut self.slots };
        drive(&mut reads, requests.len(), &mut self.free, &mut self.completions);
    }

    /// Like [`super::FileIo::read_at`].
    pub(super) fn read_at(&mut self, fd: BorrowedFd<'_>, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        self.reset();
        let total = buf.len();
        let mut parts = Parts::new(buf);
        let mut loan = self.ring.lend();
        let mut next = 0;
        // The known end of the data: the end of the requested range, or of the first piece that was
        // short or failed.
        let mut end = total;
        let mut failure = None;
        loop {
            while next < end && loan.has_room() {
                let Some(number) = self.free.pop() else { break };
                self.slots[number] = Slot { index: next, done: 0, file: None };
                push_read(&mut loan, &parts, number, fd, next, piece_len(next, total), offset + next as u64);
                next += piece_len(next, total);
            }
            if loan.pending() == 0 {
                break;
            }
            loan.wait(&mut self.completions);
            for completion in &self.completions {
                let number = completion.token as usize;
                let Slot { index: start, ref mut done, .. } = self.slots[number];
                let len = piece_len(start, total);
                let at = start + *done;
                let result = if is_transient(completion.result) {
                    // SAFETY: the piece's only entry has just completed.
                    let rest = unsafe { parts.slice(at, start + len - at) };
                    sync::read_at(fd, offset + at as u64, rest).map(|bytes| (bytes, true))
                } else {
                    to_count(completion.result).map(|bytes| (bytes, bytes == 0))
                };
                let finished = match result {
                    Ok((bytes, ended)) => {
                        *done += bytes;
                        ended || *done >= len
                    }
                    Err(error) => {
                        if at < end {
                            failure = Some(error);
                            end = at;
                        }
                        true
                    }
                };
                if !finished {
                    let at = start + *done;
                    push_read(&mut loan, &parts, number, fd, at, start + len - at, offset + at as u64);
                    continue;
                }
                if *done < len && start + *done < end {
                    failure = None;
                    end = start + *done;
                }
                self.free.push(number);
            }
        }
        match failure {
            Some(error) => Err(error),
            None => Ok(end),
        }
    }

    /// Like [`super::FileIo::write_all_at`]. Requests whose result is already an error are skipped.
    pub(super) fn write_all_at(&mut self, writes: &[WriteAt<'_>], results: &mut [io::Result<()>]) {
        self.reset();
        let mut loan = self.ring.lend();
        let mut next = 0;
        loop {
            while next < writes.len() && loan.has_room() {
                if results[next].is_ok() && !writes[next].bytes.is_empty() {
                    let Some(number) = self.free.pop() else { break };
                    self.slots[number] = Slot { index: next, done: 0, file: None };
                    push_write(&mut loan, number, &writes[next], 0);
                }
                next += 1;
            }
            if loan.pending() == 0 {
                break;
            }
            loan.wait(&mut self.completions);
            for completion in &self.completions {
                let number = completion.token as usize;
                let Slot { index, ref mut done, .. } = self.slots[number];
                let write = &writes[index];
                let result = if is_transient(completion.result) {
                    let rest = &write.bytes[*done..];
                    sync::write_all_at(write.fd, write.offset + *done as u64, rest).map(|()| rest.len())
                } else {
                    to_count(completion.result)
                };
                match result {
                    Ok(0) => results[index] = Err(io::ErrorKind::WriteZero.into()),
                    Ok(bytes) => *done += bytes,
                    Err(error) => results[index] = Err(error),
                }
                if results[index].is_ok() && *done < write.bytes.len() {
                    push_write(&mut loan, number, write, *done);
                } else {
                    self.free.push(number);
                }
            }
        }
    }
}

/// A running call whose requests each have a slot from start to end.
trait Requests<'c> {
    /// The loan through which entries are pushed.
    fn loan(&mut self) -> &mut Loan<'c>;
    /// Starts the request `index` in the slot `number`; false if the request has ended already and
    /// its result is set.
    fn start(&mut self, number: usize, index: usize) -> bool;
    /// Handles a completion of the slot `number` and queues the next step; true if the request has
    /// ended and the slot is free.
    fn advance(&mut self, number: usize, result: i32) -> bool;
}

/// Runs `count` requests to their ends, as many at a time as there are free slots.
fn drive<'c>(requests: &mut impl Requests<'c>, count: usize, free: &mut Vec<usize>, completions: &mut Vec<Completion>) {
    let mut next = 0;
    loop {
        while next < count && requests.loan().has_room() {
            let Some(number) = free.pop() else { break };
            if !requests.start(number, next) {
                free.push(number);
            }
            next += 1;
        }
        if requests.loan().pending() == 0 {
            break;
        }
        requests.loan().wait(completions);
        for completion in &*completions {
            if requests.advance(completion.token as usize, completion.result) {
                free.push(completion.token as usize);
            }
        }
    }
}

/// The length of the piece that begins `start` bytes into a read of `total`.
fn piece_len(start: usize, total: usize) -> usize {
    READ_PIECE_BYTES.min(total - start)
}

fn push_read(
    loan: &mut Loan<'_>,
    parts: &Parts<'_>,
    token: usize,
    fd: BorrowedFd<'_>,
    at: usize,
    len: usize,
    offset: u64,
) {
    // The kernel accepts 2 GiB less a page at a time. The rest is queued after this completes.
    let len = len.min(WRITE_PIECE_BYTES);
    let entry = opcode::Read::new(types::Fd(fd.as_raw_fd()), parts.pointer(at, len), len as u32).offset(offset).build();
    // SAFETY: the part lies in the caller's buffer, which `parts` borrows exclusively for longer
    // than the loan lives; no other pending entry covers it, and this thread touches it through
    // `Parts::slice` alone.
    unsafe { loan.push(entry, token as u64) };
}

/// Adds `count` bytes to a request that reads a file from its beginning into `part`. Returns the
/// bytes read if this was the end; otherwise queues the rest.
fn read_on(
    loan: &mut Loan<'_>,
    parts: &Parts<'_>,
    token: usize,
    done: &mut usize,
    count: usize,
    fd: BorrowedFd<'_>,
    part: Range<usize>,
) -> Option<usize> {
    *done += count;
    if count == 0 || *done >= part.len() {
        return Some(*done);
    }
    push_read(loan, parts, token, fd, part.start + *done, part.len() - *done, *done as u64);
    None
}

/// Queues opening `name` in `dir` for reading. Both must outlive the loan; the callers' requests
/// ensure that.
fn push_open(loan: &mut Loan<'_>, token: usize, dir: BorrowedFd<'_>, name: &CStr, flags: OFlags) {
    let entry = opcode::OpenAt::new(types::Fd(dir.as_raw_fd()), name.as_ptr())
        .flags((READ_FLAGS | flags).bits() as i32)
        .build();
    // SAFETY: the name and the directory are borrowed by the caller's request for longer than the
    // loan lives.
    unsafe { loan.push(entry, token as u64) };
}

fn push_write(loan: &mut Loan<'_>, token: usize, write: &WriteAt<'_>, done: usize) {
    let rest = &write.bytes[done..];
    let len = rest.len().min(WRITE_PIECE_BYTES);
    let entry = opcode::Write::new(types::Fd(write.fd.as_raw_fd()), rest.as_ptr(), len as u32)
        .offset(write.offset + done as u64)
        .build();
    // SAFETY: the bytes are borrowed by the caller's request for longer than the loan lives, and
    // are only read.
    unsafe { loan.push(entry, token as u64) };
}

/// A running call of `read_files`.
struct FileReads<'c, 'r, 'a, 'l> {
    // The first field, so that dropping it waits for the kernel before other fields are dropped.
    loan: Loan<'c>,
    parts: Parts<'c>,
    requests: &'r [ReadFile<'a>],
    results: &'c mut [io::Result<usize>],
    slots: &'c mut [Slot],
    look: &'c mut Look<'l>,
}

impl<'c> Requests<'c> for FileReads<'c, '_, '_, '_> {
    fn loan(&mut self) -> &mut Loan<'c> {
        &mut self.loan
    }

    fn start(&mut self, number: usize, index: usize) -> bool {
        let request = &self.requests[index];
        let name = match checked_name(request) {
            Ok(name) => name,
            Err(error) => {
                self.results[index] = Err(error);
                return false;
            }
        };
        self.slots[number] = Slot { index, done: 0, file: None };
        push_open(&mut self.loan, number, request.dir, name, OFlags::empty());
        true
    }

    fn advance(&mut self, number: usize, result: i32) -> bool {
        let index = self.slots[number].index;
        let step = if is_transient(result) { self.finish_plainly(number) } else { self.step(number, result) };
        match step {
            Ok(None) => return false,
            Ok(Some(bytes)) => {
                self.results[index] = Ok(bytes);
                // If plain calls finished a request, `look` was called there.
                if let Some(file) = &self.slots[number].file {
                    (self.look)(index, std::os::fd::AsFd::as_fd(file));
                }
            }
            Err(error) => self.results[index] = Err(error),
        }
        self.slots[number].file = None;
        true
    }
}

impl FileReads<'_, '_, '_, '_> {
    /// The bytes read if the request has ended, `None` if more was queued.
    fn step(&mut self, number: usize, result: i32) -> io::Result<Option<usize>> {
        let count = to_count(result)?;
        let slot = &mut self.slots[number];
        let request = &self.requests[slot.index];
        let (fd, at, len) = match &slot.file {
            Some(file) => (file.as_fd(), request.at, request.len),
            None => {
                // SAFETY: the kernel has just returned this descriptor to this thread alone, by an
                // open that succeeded.
                let file = slot.file.insert(unsafe { OwnedFd::from_raw_fd(result) });
                sync::check_regular(&*file)?;
                if request.len == 0 {
                    return Ok(Some(0));
                }
                push_read(&mut self.loan, &self.parts, number, file.as_fd(), request.at, request.len, 0);
                return Ok(None);
            }
        };
        // The slot keeps the file open until the completion of what is queued here.
        Ok(read_on(&mut self.loan, &self.parts, number, &mut slot.done, count, fd, at..at + len))
    }

    /// Reads the whole file by plain calls after the ring failed.
    fn finish_plainly(&mut self, number: usize) -> io::Result<Option<usize>> {
        let slot = &mut self.slots[number];
        slot.file = None;
        let (index, request) = (slot.index, &self.requests[slot.index]);
        // SAFETY: the request's only entry has just completed, and no other request's part overlaps
        // this one.
        let part = unsafe { self.parts.slice(request.at, request.len) };
        sync::read_file(request, part, &mut |fd| (self.look)(index, fd)).map(Some)
    }
}

/// A running call of `open_files`.
struct FileOpens<'c, 'r> {
    // The first field, so that dropping it waits for the kernel before other fields are dropped.
    loan: Loan<'c>,
    dir: BorrowedFd<'r>,
    names: &'r [&'r CStr],
    noatime: bool,
    results: &'c mut [io::Result<OwnedFd>],
    slots: &'c mut [Slot],
}

impl<'c> Requests<'c> for FileOpens<'c, '_> {
    fn loan(&mut self) -> &mut Loan<'c> {
        &mut self.loan
    }

    fn start(&mut self, number: usize, index: usize) -> bool {
        if let Err(error) = component(self.names[index].to_bytes()) {
            self.results[index] = Err(error);
            return false;
        }
        self.slots[number] = Slot { index, done: 0, file: None };
        push_open(&mut self.loan, number, self.dir, self.names[index], sync::noatime_flag(self.noatime));
        true
    }

    fn advance(&mut self, number: usize, result: i32) -> bool {
        let index = self.slots[number].index;
        let not_owner = self.noatime && result == -Errno::PERM.raw_os_error();
        self.results[index] = if is_transient(result) || not_owner {
            sync::open_file(self.dir, self.names[index], self.noatime && !not_owner)
        } else {
            // SAFETY: the kernel has just returned this descriptor to this thread alone, by an open
            // that succeeded.
            to_count(result).map(|_| unsafe { OwnedFd::from_raw_fd(result) })
        };
        true
    }
}

/// A running call of `read_open_files`.
struct OpenReads<'c, 'r, 'a> {
    // The first field, so that dropping it waits for the kernel before other fields are dropped.
    loan: Loan<'c>,
    parts: Parts<'c>,
    requests: &'r [ReadOpen<'a>],
    results: &'c mut [io::Result<usize>],
    slots: &'c mut [Slot],
}

impl<'c> Requests<'c> for OpenReads<'c, '_, '_> {
    fn loan(&mut self) -> &mut Loan<'c> {
        &mut self.loan
    }

    fn start(&mut self, number: usize, index: usize) -> bool {
        let ReadOpen { fd, at, len } = self.requests[index];
        if len == 0 {
            return false;
        }
        self.slots[number] = Slot { index, done: 0, file: None };
        push_read(&mut self.loan, &self.parts, number, fd, at, len, 0);
        true
    }

    fn advance(&mut self, number: usize, result: i32) -> bool {
        let slot = &mut self.slots[number];
        let ReadOpen { fd, at, len } = self.requests[slot.index];
        let step = if is_transient(result) {
            // SAFETY: the request's only entry has just completed, and no other request's part
            // overlaps this one.
            let rest = unsafe { self.parts.slice(at + slot.done, len - slot.done) };
            sync::read_at(fd, slot.done as u64, rest).map(|bytes| Some(slot.done + bytes))
        } else {
            to_count(result)
                .map(|count| read_on(&mut self.loan, &self.parts, number, &mut slot.done, count, fd, at..at + len))
        };
        match step {
            Ok(None) => return false,
            Ok(Some(bytes)) => self.results[slot.index] = Ok(bytes),
            Err(error) => self.results[slot.index] = Err(error),
        }
        true
    }
}
