//! Owns an io_uring and the promise that whatever is lent to it stays put until its completion was seen; all pushing into
//! the kernel's queue happens here.

use std::io;

use io_uring::{IoUring, Probe, opcode, squeue};
use rustix::io::Errno;

/// io-wq workers a ring may have of either kind. Workers of one ring contend for the lock of one directory or inode: more than a few cost
/// CPU and gain nothing, and a process has a ring for every lane.
const WORKERS_MAX: u32 = 4;

/// Why io_uring is not to be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fallback {
    /// The kernel was built without io_uring or is older than 5.1 (ENOSYS), or a filter pretends so.
    #[error("the kernel has no io_uring")]
    NotInKernel,
    /// The administrator switched it off: `kernel.io_uring_disabled` has this value, 1 for unprivileged processes outside
    /// `kernel.io_uring_group`, 2 for all.
    #[error("io_uring is switched off (sysctl kernel.io_uring_disabled is {0})")]
    DisabledBySysctl(u8),
    /// Refused (EPERM or EACCES) although the sysctl allows it: a seccomp filter, as container runtimes install, or a security module.
    #[error("io_uring is refused by a seccomp filter or security module")]
    Filtered,
    /// Not enough memory may be locked (ENOMEM): before Linux 5.12 rings count against RLIMIT_MEMLOCK.
    #[error("no memory for an io_uring (RLIMIT_MEMLOCK on kernels before 5.12)")]
    OutOfMemory,
    /// The kernel's io_uring lacks this operation (Linux 5.6 has all that are needed here).
    #[error("the kernel's io_uring lacks {0}")]
    MissingOperation(&'static str),
    /// Anything else, by its errno.
    #[error("io_uring cannot be set up (errno {0})")]
    Errno(i32),
}

impl Fallback {
    fn from_setup(error: &io::Error) -> Self {
        match Errno::from_io_error(error) {
            Some(Errno::NOSYS) => Self::NotInKernel,
            Some(Errno::PERM | Errno::ACCESS) => match crate::probe::io_uring_disabled() {
                Some(value @ 1..) => Self::DisabledBySysctl(value),
                _ => Self::Filtered,
            },
            Some(Errno::NOMEM) => Self::OutOfMemory,
            _ => Self::Errno(error.raw_os_error().unwrap_or(0)),
        }
    }

    /// What an `io::Error` made of it says to code that only looks at the kind.
    fn error_kind(self) -> io::ErrorKind {
        match self {
            Self::NotInKernel | Self::MissingOperation(_) => io::ErrorKind::Unsupported,
            Self::DisabledBySysctl(_) | Self::Filtered => io::ErrorKind::PermissionDenied,
            Self::OutOfMemory => io::ErrorKind::OutOfMemory,
            Self::Errno(_) => io::ErrorKind::Other,
        }
    }
}

impl From<Fallback> for io::Error {
    fn from(reason: Fallback) -> Self {
        Self::new(reason.error_kind(), reason)
    }
}

/// What the kernel answered to one entry: its `user_data`, and a count or a negated errno.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Completion {
    pub(crate) token: u64,
    pub(crate) result: i32,
}

/// An io_uring of a fixed depth.
pub(crate) struct Ring {
    ring: IoUring,
    depth: usize,
    /// Entries pushed whose completions were not seen yet.
    pending: usize,
}

impl Ring {
    /// A ring that takes `depth` entries at a time.
    pub(crate) fn new(depth: u32) -> Result<Self, Fallback> {
        // Completions are only looked for in io_uring_enter, so the kernel need not interrupt this thread for them (Linux 5.19).
        let ring = IoUring::builder()
            .dontfork()
            .setup_coop_taskrun()
            .build(depth)
            .or_else(|error| match Errno::from_io_error(&error) {
                Some(Errno::INVAL) => IoUring::builder().dontfork().build(depth),
                _ => Err(error),
            })
            .map_err(|error| Fallback::from_setup(&error))?;
        Self::check_operations(&ring)?;
        // Linux 5.15; before that workers are bounded by the CPUs alone, which costs speed and not correctness.
        let _ = ring.submitter().register_iowq_max_workers(&mut [WORKERS_MAX, WORKERS_MAX]);
        Ok(Self { ring, depth: depth as usize, pending: 0 })
    }

    fn check_operations(ring: &IoUring) -> Result<(), Fallback> {
        let needed = [
            (opcode::OpenAt::CODE, "IORING_OP_OPENAT"),
            (opcode::Read::CODE, "IORING_OP_READ"),
            (opcode::Write::CODE, "IORING_OP_WRITE"),
        ];
        let mut probe = Probe::new();
        // The probe came with the operations themselves, in Linux 5.6.
        ring.submitter().register_probe(&mut probe).map_err(|_| Fallback::MissingOperation("IORING_REGISTER_PROBE"))?;
        match needed.into_iter().find(|(code, _)| !probe.is_supported(*code)) {
            Some((_, name)) => Err(Fallback::MissingOperation(name)),
            None => Ok(()),
        }
    }

    /// Entries that may be pending at a time.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// Starts lending; what is pushed through the loan is waited for when it goes out of scope, panic or not.
    pub(crate) fn lend(&mut self) -> Loan<'_> {
        debug_assert_eq!(self.pending, 0, "an earlier loan left entries behind");
        Loan { ring: self }
    }

    /// Submits what was pushed and waits for one completion at least.
    ///
    /// # Aborts
    /// When the kernel no longer takes the ring itself: buffers may then still be written to at any time, and no state of this
    /// process is safe to go on with. Only a descriptor closed behind this module's back could cause it.
    fn submit_and_wait(&mut self) {
        loop {
            match self.ring.submit_and_wait(1) {
                Ok(_) => return,
                Err(error) => match Errno::from_io_error(&error) {
                    Some(Errno::INTR) => {}
                    // No memory for requests, or completions overflowed (io_uring_enter(2)): seeing completions is what helps.
                    Some(Errno::AGAIN | Errno::BUSY | Errno::NOMEM) => {
                        if !self.ring.completion().is_empty() {
                            return;
                        }
                        std::thread::yield_now();
                    }
                    _ => {
                        eprintln!("io_uring_enter failed with buffers lent to the kernel: {error}");
                        std::process::abort();
                    }
                },
            }
        }
    }
}

/// Exclusive use of a ring while memory is lent to it. Dropping it waits for everything that is pending.
pub(crate) struct Loan<'r> {
    ring: &'r mut Ring,
}

impl Loan<'_> {
    /// Entries pushed whose completions were not seen yet.
    pub(crate) fn pending(&self) -> usize {
        self.ring.pending
    }

    /// Whether another entry may be pushed.
    pub(crate) fn has_room(&self) -> bool {
        self.ring.pending < self.ring.depth
    }

    /// Queues `entry`; its completion carries `token`. It is submitted by [`wait`](Self::wait) at the latest.
    ///
    /// # Safety
    /// All memory that `entry` points to must stay valid, and what the kernel writes to must not be touched otherwise, until its
    /// completion was returned by [`wait`](Self::wait) or this loan is dropped. The loan must not be leaked (`mem::forget`).
    pub(crate) unsafe fn push(&mut self, entry: squeue::Entry, token: u64) {
        assert!(self.has_room(), "more entries than the ring's depth");
        let entry = entry.user_data(token);
        // SAFETY: the caller keeps what the entry points to valid until the completion, which `pending` makes `wait` and `drop` see.
        let pushed = unsafe { self.ring.ring.submission().push(&entry) };
        // The queue has at least `depth` places and every wait empties it.
        assert!(pushed.is_ok(), "the submission queue is full below its depth");
        self.ring.pending += 1;
    }

    /// Submits everything queued, waits for at least one completion and moves all there are into `completions`. With nothing pending
    /// it returns at once, with none.
    pub(crate) fn wait(&mut self, completions: &mut Vec<Completion>) {
        completions.clear();
        if self.ring.pending == 0 {
            return;
        }
        self.ring.submit_and_wait();
        let seen =
            self.ring.ring.completion().map(|entry| Completion { token: entry.user_data(), result: entry.result() });
        completions.extend(seen);
        self.ring.pending -= completions.len();
    }
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        while self.ring.pending > 0 {
            self.ring.submit_and_wait();
            let seen = self.ring.ring.completion().count();
            self.ring.pending -= seen;
        }
    }
}
