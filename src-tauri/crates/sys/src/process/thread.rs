//! Owns what a thread has of its own: its clock, its priority, and the umask, which threads of a
//! process usually share.

use std::io;
use std::time::Duration;

use rustix::fs::Mode;
use rustix::thread::UnshareFlags;
use rustix::time::ClockId;

/// From now on the calling thread creates files with exactly the requested mode. It gets its own
/// umask (unshare(2), CLONE_FS), which is set to 0 (umask(2)). Other threads keep theirs. The
/// working directory and root become the thread's own as well.
///
/// # Errors
/// `EPERM` if a container's filter forbids unshare(2). Nothing has changed then.
pub fn own_umask() -> io::Result<()> {
    // SAFETY: of all that unshare(2) can separate, only the table of descriptors matters for memory
    // safety, and it stays shared.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::FS) }?;
    rustix::process::umask(Mode::empty());
    Ok(())
}

/// From now on the calling thread leaves about nine tenths of the processor to threads that compete
/// for it (setpriority(2), which on Linux applies to a thread). If the kernel refuses, nothing
/// changes.
pub fn give_way() {
    let _ = rustix::process::setpriority_process(None, 10);
}

/// Processor time that the calling thread has used, in user mode and in the kernel
/// (CLOCK_THREAD_CPUTIME_ID, clock_gettime(2)). It is precise to the nanosecond, while getrusage(2)
/// may count in ticks. It leaves out the work of io_uring's worker threads.
pub fn cpu_time() -> Duration {
    let now = rustix::time::clock_gettime(ClockId::ThreadCPUTime);
    // This clock never returns a negative number.
    Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0))
}
