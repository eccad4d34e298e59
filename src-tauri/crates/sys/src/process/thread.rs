//! Owns what a thread has of its own: its clock, its priority, and the umask, which a process
//! usually shares.

use std::io;
use std::time::Duration;

use rustix::fs::Mode;
use rustix::thread::UnshareFlags;
use rustix::time::ClockId;

/// From here on the calling thread makes files under exactly the mode it says: it gets a umask of
/// its own (unshare(2), CLONE_FS), and that is 0 (umask(2)). Other threads keep theirs; working
/// directory and root are the thread's own from here on as well.
///
/// # Errors
/// `EPERM` where a container's filter forbids unshare(2); nothing has changed then.
pub fn own_umask() -> io::Result<()> {
    // SAFETY: of what unshare(2) can take apart only the table of descriptors is a matter of memory
    // safety, and that stays shared.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::FS) }?;
    rustix::process::umask(Mode::empty());
    Ok(())
}

/// From here on the calling thread leaves the processor to others that want it, but for about a
/// tenth (setpriority(2), which on Linux is a thread's). A kernel that refuses leaves it as it is.
pub fn give_way() {
    let _ = rustix::process::setpriority_process(None, 10);
}

/// Processor time that the calling thread has used, in user mode and in the kernel
/// (CLOCK_THREAD_CPUTIME_ID, clock_gettime(2)): to the nanosecond, where getrusage(2) may count by
/// ticks. What io_uring's worker threads do for it is not in it.
pub fn cpu_time() -> Duration {
    let now = rustix::time::clock_gettime(ClockId::ThreadCPUTime);
    // Neither is ever negative for this clock.
    Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0))
}
