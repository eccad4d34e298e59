//! Owns counting the instructions of a thread, in user mode and in the kernel, with the processor's
//! counter (perf_event_open(2)).

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use rustix::io::Errno;

/// PERF_TYPE_HARDWARE and PERF_COUNT_HW_INSTRUCTIONS (include/uapi/linux/perf_event.h).
const HARDWARE: u32 = 0;
const INSTRUCTIONS: u64 = 1;

/// Instructions of a hypervisor are not counted (`exclude_hv`, bit 6 of the flags). Counting begins
/// at once, because `disabled`, bit 0, is not set.
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;

/// PERF_FLAG_FD_CLOEXEC.
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;

/// `struct perf_event_attr` in its first version (PERF_ATTR_SIZE_VER0), which every kernel accepts.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
}

/// Why instructions cannot be counted here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoCounter {
    /// The kernel was built without performance counters.
    #[error("the kernel has no performance counters")]
    NotInKernel,
    /// The processor has no counter, as in most virtual machines.
    #[error("the processor offers no counter of instructions, as in most virtual machines")]
    NotInProcessor,
    /// The kernel refuses (EACCES, EPERM): the sysctl `kernel.perf_event_paranoid` is above 1 and
    /// CAP_PERFMON is missing, or a seccomp filter forbids it.
    #[error("counting the kernel's instructions is refused (sysctl kernel.perf_event_paranoid, or a filter)")]
    Forbidden,
    /// Any other errno.
    #[error("no counter of instructions can be had (errno {0})")]
    Errno(i32),
}

/// Counts the instructions of the thread that created it, from then on.
#[derive(Debug)]
pub struct InstructionCounter(OwnedFd);

impl InstructionCounter {
    /// Begins to count the calling thread's instructions.
    ///
    /// # Errors
    /// [`NoCounter`].
    pub fn start() -> Result<Self, NoCounter> {
        let attributes = Attributes {
            kind: HARDWARE,
            size: size_of::<Attributes>() as u32,
            config: INSTRUCTIONS,
            flags: EXCLUDE_HYPERVISOR,
            ..Attributes::default()
        };
        // This thread (0), on whatever processor (-1), in no group (-1).
        let (thread, processor, group): (libc::pid_t, libc::c_int, libc::c_int) = (0, -1, -1);
        // SAFETY: the pointer is to live attributes that say their own size, and the kernel only
        // reads them.
        let fd = unsafe {
            libc::syscall(libc::SYS_perf_event_open, &raw const attributes, thread, processor, group, CLOSE_ON_EXEC)
        };
        match RawFd::try_from(fd) {
            // SAFETY: a descriptor that the kernel has just made and that nobody else knows.
            Ok(fd) if fd >= 0 => Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) })),
            _ => Err(reason(&io::Error::last_os_error())),
        }
    }

    /// Instructions so far. If the kernel shared the counter with others, it shows only its own
    /// part.
    pub fn read(&self) -> io::Result<u64> {
        let mut count = [0; size_of::<u64>()];
        match rustix::io::retry_on_intr(|| rustix::io::read(&self.0, &mut count))? {
            read if read == count.len() => Ok(u64::from_ne_bytes(count)),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

fn reason(error: &io::Error) -> NoCounter {
    match Errno::from_io_error(error) {
        Some(Errno::NOSYS) => NoCounter::NotInKernel,
        Some(Errno::NOENT | Errno::NODEV | Errno::OPNOTSUPP) => NoCounter::NotInProcessor,
        Some(Errno::ACCESS | Errno::PERM) => NoCounter::Forbidden,
        _ => NoCounter::Errno(error.raw_os_error().unwrap_or(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_counted_if_there_is_a_counter() {
        let counter = match InstructionCounter::start() {
            Ok(counter) => counter,
            Err(why) => {
                // Attributes that the kernel does not understand would cause another error than a
                // missing counter.
                assert!(!matches!(why, NoCounter::Errno(_)), "{why}");
                return println!("skipped: instructions_are_counted_if_there_is_a_counter: {why}");
            }
        };
        let before = counter.read().unwrap();
        let sum: u64 = (0..std::hint::black_box(100_000)).map(std::hint::black_box).sum();
        assert!(sum > 0);
        assert!(counter.read().unwrap() - before > 100_000);
    }

    #[test]
    fn reasons_are_distinguished() {
        for (errno, wanted) in [
            (libc::ENOSYS, NoCounter::NotInKernel),
            (libc::ENOENT, NoCounter::NotInProcessor),
            (libc::EACCES, NoCounter::Forbidden),
            (libc::EINVAL, NoCounter::Errno(libc::EINVAL)),
        ] {
            assert_eq!(reason(&io::Error::from_raw_os_error(errno)), wanted);
        }
    }
}
