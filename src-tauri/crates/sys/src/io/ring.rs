//! Owns an io_uring, and guarantees that everything lent to it stays in place until its completion
//! was seen. All pushing into the kernel's queue happens here.

use std::io;

use io_uring::{IoUring, Probe, opcode, squeue};
use rustix::io::Errno;

/// io-wq workers of either kind that a ring has by default. Workers of one ring contend for the
/// lock of a directory or inode, so more than a few cost CPU and gain nothing. A process has a ring
/// for every lane.
pub(crate) const WORKERS_DEFAULT: u32 = 4;

/// Why io_uring is unavailable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fallback {
    /// The kernel was built without io_uring or is older than 5.1 (ENOSYS), or a filter returns the
    /// same.
    #[error("the kernel has no io_uring")]
    NotInKernel,
    /// The administrator switched it off: `kernel.io_uring_disabled` has this value, 1 for
    /// unprivileged processes outside `kernel.io_uring_group`, 2 for all.
    #[error("io_uring is switched off (sysctl kernel.io_uring_disabled is {0})")]
    DisabledBySysctl(u8),
    /// The kernel refuses it (EPERM or EACCES) although the sysctl allows it, because of a seccomp
    /// filter, as in container runtimes, or a security module.
    #[error("io_uring is refused by a seccomp filter or security module")]
    Filtered,
    /// This process may not lock enough memory (ENOMEM): before Linux 5.12 rings count against
    /// RLIMIT_MEMLOCK.
    #[error("no memory for an io_uring (RLIMIT_MEMLOCK on kernels before 5.12)")]
    OutOfMemory,
    /// The kernel's io_uring lacks this operation. Linux 5.6 has all operations that are needed
    /// here.
    #[error("the kernel's io_uring lacks {0}")]
    MissingOperation(&'static str),
    /// Anything else, by its errno.
    #[error("io_uring cannot be set up (errno {0})")]
    Errno(i32),
}

/// The sysctl `kernel.io_uring_disabled` (Linux 6.6): 0 allows all processes, 1 privileged ones and
/// one group, 2 none. `None` if there is no such sysctl.
pub fn io_uring_disabled() -> Option<u8> {
    std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled").ok()?.trim().parse().ok()
}

impl Fallback {
    fn from_setup(error: &io::Error) -> Self {
        match Errno::from_io_error(error) {
            Some(Errno::NOSYS) => Self::NotInKernel,
            Some(Errno::PERM | Errno::ACCESS) => match io_uring_disabled() {
                Some(value @ 1..) => Self::DisabledBySysctl(value),
                _ => Self::Filtered,
            },
            Some(Errno::NOMEM) => Self::OutOfMemory,
            _ => Self::Errno(error.raw_os_error().unwrap_or(0)),
        }
    }

    /// The kind of an `io::Error` made of it, for code that only checks the kind.
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

/// Requests a ring without a pointer to its parameters: the kernel checks permissions first
/// (io_uring_setup(2)).
pub(crate) fn allowed() -> Result<(), Fallback> {
    // SAFETY: with a null pointer for the parameters the kernel reads and writes nothing, and
    // creates no ring.
    let asked = unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, std::ptr::null_mut::<libc::c_void>()) };
    debug_assert!(asked < 0, "a ring was made of nothing");
    let error = io::Error::last_os_error();
    match Errno::from_io_error(&error) {
        Some(Errno::FAULT) => Ok(()),
        _ => Err(Fallback::from_setup(&error)),
    }
}

/// The kernel's result of one entry: its `user_data`, and a count or a negated errno.
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
    /// Changes completions, for tests of rare results.
    #[cfg(test)]
    pub(crate) fault: Option<Fault>,
}

/// Gets each completion before the waiting code does.
#[cfg(test)]
pub(crate) type Fault = Box<dyn FnMut(&mut Completion)>;

impl Ring {
    /// A ring that takes `depth` entries at a time.
    pub(crate) fn new(depth: u32) -> Result<Self, Fallback> {
        Self::with_workers(depth, WORKERS_DEFAULT)
    }

    /// The same with `workers_max` (not 0) io-wq workers of either kind.
    pub(crate) fn with_workers(depth: u32, workers_max: u32) -> Result<Self, Fallback> {
        // Completions are only read in io_uring_enter, so the kernel need not interrupt this thread
        // for them (Linux 5.19).
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
        // This needs Linux 5.15. Before, only the number of CPUs bounds the workers, which costs
        // speed but is correct.
        let _ = ring.submitter().register_iowq_max_workers(&mut [workers_max, workers_max]);
        Ok(Self {
            ring,
            depth: depth as usize,
            pending: 0,
            #[cfg(test)]
            fault: None,
        })
    }

    fn check_operations(ring: &IoUring) -> Result<(), Fallback> {
        let mut probe = Probe::new();
        // The probe was added together with these operations, in Linux 5.6.
        ring.submitter().register_probe(&mut probe).map_err(|_| Fallback::MissingOperation("IORING_REGISTER_PROBE"))?;
        Self::check(|code| probe.is_supported(code))
    }

    fn check(has: impl Fn(u8) -> bool) -> Result<(), Fallback> {
        let needed = [
            (opcode::OpenAt::CODE, "IORING_OP_OPENAT"),
            (opcode::Read::CODE, "IORING_OP_READ"),
            (opcode::Write::CODE, "IORING_OP_WRITE"),
        ];
        match needed.into_iter().find(|(code, _)| !has(*code)) {
            Some((_, name)) => Err(Fallback::MissingOperation(name)),
            None => Ok(()),
        }
    }

    /// Entries that may be pending at a time.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// Starts lending. When the loan is dropped, also by a panic, it waits for everything that was
    /// pushed.
    pub(crate) fn lend(&mut self) -> Loan<'_> {
        debug_assert_eq!(self.pending, 0, "an earlier loan left entries behind");
        Loan { ring: self }
    }

    /// Submits pushed entries and waits for at least one completion.
    ///
    /// # Aborts
    /// If the kernel no longer accepts the ring itself. Buffers may then still be written to at any
    /// time, and no state of this process is safe to continue with. Only code elsewhere that closes
    /// the descriptor could cause it.
    fn submit_and_wait(&mut self) {
        loop {
            match self.ring.submit_and_wait(1) {
                // A signal may end the wait of a call that submitted something. Such a call
                // succeeds, with no completion yet.
                Ok(_) if self.ring.completion().is_empty() => {}
                Ok(_) => return,
                Err(error) => match Errno::from_io_error(&error) {
                    Some(Errno::INTR) => {}
                    // There is no memory for requests, or completions overflowed
                    // (io_uring_enter(2)). Taking completions out helps.
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

/// Exclusive use of a ring while memory is lent to it. Dropping it waits for everything that is
/// pending.
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

    /// Queues `entry`; its completion carries `token`. It is submitted by [`wait`](Self::wait) at
    /// the latest.
    ///
    /// # Safety
    /// All memory that `entry` points to must stay valid, and what the kernel writes to must not be
    /// touched otherwise, until its completion was returned by [`wait`](Self::wait) or this loan is
    /// dropped. The loan must not be leaked (`mem::forget`).
    pub(crate) unsafe fn push(&mut self, entry: squeue::Entry, token: u64) {
        assert!(self.has_room(), "more entries than the ring's depth");
        let entry = entry.user_data(token);
        // SAFETY: the caller keeps what the entry points to valid until the completion, which
        // `pending` makes `wait` and `drop` see.
        let pushed = unsafe { self.ring.ring.submission().push(&entry) };
        // The queue has at least `depth` places and every wait empties it.
        assert!(pushed.is_ok(), "the submission queue is full below its depth");
        self.ring.pending += 1;
    }

    /// Submits everything queued, waits for at least one completion and moves all available ones
    /// into `completions`. If nothing is pending it returns at once with none.
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
        #[cfg(test)]
        if let Some(fault) = &mut self.ring.fault {
            completions.iter_mut().for_each(fault);
        }
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

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::time::Duration;

    use io_uring::types;

    use super::*;

    /// A delay that is long enough to detect code that does not wait.
    const LATE: Duration = Duration::from_millis(100);

    #[test]
    fn asking_whether_a_ring_is_allowed_agrees_with_making_one() {
        assert_eq!(allowed(), Ring::new(1).map(drop));
    }

    fn ring(test: &str, depth: u32) -> Option<Ring> {
        Ring::new(depth).inspect_err(|why| println!("skipped: {test}: {why}")).ok()
    }

    #[test]
    fn unwinding_waits_for_lent_memory() {
        let Some(mut ring) = ring("unwinding_waits_for_lent_memory", 4) else { return };
        let (reader, mut writer) = std::io::pipe().unwrap();
        let mut buf = [0; 8];
        let late = std::thread::spawn(move || {
            std::thread::sleep(LATE);
            writer.write_all(b"arrived!").unwrap();
            writer
        });
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            let mut loan = ring.lend();
            let entry = opcode::Read::new(types::Fd(reader.as_raw_fd()), buf.as_mut_ptr(), 8).build();
            // SAFETY: `buf` and `reader` outlive the loan, and `buf` is not read before the loan is
            // dropped.
            unsafe { loan.push(entry, 7) };
            panic!("with a buffer lent");
        }));
        assert!(unwound.is_err());
        assert_eq!((ring.pending, &buf), (0, b"arrived!"));
        drop(late.join().unwrap());
        // The ring can be used again.
        let mut loan = ring.lend();
        // SAFETY: a no-op points to nothing.
        unsafe { loan.push(opcode::Nop::new().build(), 8) };
        let mut completions = Vec::new();
        loan.wait(&mut completions);
        assert_eq!(completions.iter().map(|completion| completion.token).collect::<Vec<_>>(), [8]);
    }

    #[test]
    fn a_signal_does_not_end_the_wait() {
        extern "C" fn ignore(_: libc::c_int) {}
        let Some(mut ring) = ring("a_signal_does_not_end_the_wait", 4) else { return };
        // SAFETY: an empty handler may run at any time, and no other test of this program uses this
        // signal.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = ignore as *const () as usize;
            assert_eq!(libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut()), 0);
        }
        // SAFETY: no pointers.
        let waiting = unsafe { libc::pthread_self() };
        let (reader, mut writer) = std::io::pipe().unwrap();
        let late = std::thread::spawn(move || {
            for _ in 0..5 {
                std::thread::sleep(LATE / 5);
                // SAFETY: the thread waits until this one has written, and so is alive.
                assert_eq!(unsafe { libc::pthread_kill(waiting, libc::SIGUSR1) }, 0);
            }
            writer.write_all(b"arrived!").unwrap();
        });
        let mut buf = [0; 8];
        let mut loan = ring.lend();
        let entry = opcode::Read::new(types::Fd(reader.as_raw_fd()), buf.as_mut_ptr(), 8).build();
        // SAFETY: `buf` and `reader` outlive the loan, and `buf` is read only after the completion.
        unsafe { loan.push(entry, 7) };
        let mut completions = Vec::new();
        loan.wait(&mut completions);
        assert_eq!((completions.len(), completions[0].result, &buf), (1, 8, b"arrived!"));
        late.join().unwrap();
    }

    #[test]
    fn the_depth_is_a_limit() {
        let Some(mut ring) = ring("the_depth_is_a_limit", 3) else { return };
        assert_eq!(ring.depth(), 3);
        let mut loan = ring.lend();
        for token in 0..3 {
            // SAFETY: a no-op points to nothing.
            unsafe { loan.push(opcode::Nop::new().build(), token) };
        }
        assert!(!loan.has_room());
        // SAFETY: as above.
        let over = catch_unwind(AssertUnwindSafe(|| unsafe { loan.push(opcode::Nop::new().build(), 3) }));
        assert!(over.is_err());
        let mut completions = Vec::new();
        while loan.pending() > 0 {
            loan.wait(&mut completions);
        }
        loan.wait(&mut completions);
        assert!(completions.is_empty());
    }

    #[test]
    fn an_operation_that_the_kernel_lacks_is_named() {
        assert_eq!(Ring::check(|_| true), Ok(()));
        for (code, name) in [
            (opcode::OpenAt::CODE, "IORING_OP_OPENAT"),
            (opcode::Read::CODE, "IORING_OP_READ"),
            (opcode::Write::CODE, "IORING_OP_WRITE"),
        ] {
            assert_eq!(Ring::check(|asked| asked != code), Err(Fallback::MissingOperation(name)));
        }
    }

    #[test]
    fn a_full_completion_queue_loses_nothing() {
        const ENTRIES: u64 = 64;
        let Some(mut ring) = ring("a_full_completion_queue_loses_nothing", 4) else { return };
        // Many times the size of the completion queue, submitted without taking completions out.
        // The kernel keeps the rest until it is asked for it.
        for token in 0..ENTRIES {
            let entry = opcode::Nop::new().build().user_data(token);
            // SAFETY: a no-op points to nothing.
            while unsafe { ring.ring.submission().push(&entry) }.is_err() {
                ring.ring.submit().unwrap();
            }
        }
        ring.pending = ENTRIES as usize;
        let mut loan = Loan { ring: &mut ring };
        let (mut seen, mut completions) = (Vec::new(), Vec::new());
        while loan.pending() > 0 {
            loan.wait(&mut completions);
            seen.extend(completions.iter().map(|completion| completion.token));
        }
        seen.sort_unstable();
        assert_eq!(seen, (0..ENTRIES).collect::<Vec<_>>());
    }
}
