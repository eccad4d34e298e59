//! Owns questions about this machine and this process: the kernel's features, the CPU's, and the
//! resources used.

use std::io;
use std::time::Duration;

use rustix::process::{Resource, Rlimit};

pub use crate::dir::{Beneath, beneath};
use crate::ring::Ring;
pub use crate::ring::{Fallback, io_uring_disabled};

/// The kernel's release, as in "6.12.43-amd64".
pub fn kernel_release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// The host's name, as the kernel has it.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Whether an io_uring with all needed operations can be set up now, or why not.
pub fn io_uring() -> Result<(), Fallback> {
    Ring::new(1).map(drop)
}

/// Whether this process may set up an io_uring, or why not, without setting one up: a ring that was
/// never used still costs its process up to 20 ms when it ends. Whether the ring has all needed
/// operations shows when it is made.
pub fn io_uring_allowed() -> Result<(), Fallback> {
    crate::ring::allowed()
}

/// The CPU's hardware support for AES.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuAes {
    /// Instructions for one block (AES-NI, or the Armv8 extension).
    pub single: bool,
    /// Instructions for several blocks at once (VAES).
    pub vector: bool,
}

/// This CPU's hardware support for AES.
pub fn cpu_aes() -> CpuAes {
    #[cfg(target_arch = "x86_64")]
    return CpuAes {
        single: std::arch::is_x86_feature_detected!("aes") && std::arch::is_x86_feature_detected!("pclmulqdq"),
        vector: std::arch::is_x86_feature_detected!("vaes"),
    };
    #[cfg(target_arch = "aarch64")]
    return CpuAes { single: std::arch::is_aarch64_feature_detected!("aes"), vector: false };
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    CpuAes { single: false, vector: false }
}

/// Descriptors of a plain running program: standard input, output and error, and an event loop with
/// its signals.
const PLAIN_DESCRIPTORS: usize = 12;

/// The limit on this process's open descriptors, and the most that it can be raised to
/// (RLIMIT_NOFILE, getrlimit(2)); `u64::MAX` for no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenFilesLimit {
    /// The limit in force.
    pub soft: u64,
    /// The most that it may be raised to.
    pub hard: u64,
}

/// The limit on open descriptors.
pub fn open_files_limit() -> OpenFilesLimit {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    OpenFilesLimit { soft: limit.current.unwrap_or(u64::MAX), hard: limit.maximum.unwrap_or(u64::MAX) }
}

/// How many descriptors this process has open (proc_pid_fd(5)). If `/proc` is not mounted, the
/// number of a plain program.
pub fn open_descriptors() -> usize {
    // The descriptor that lists the folder is among them.
    std::fs::read_dir("/proc/self/fd").map_or(PLAIN_DESCRIPTORS, |open| open.count().saturating_sub(1))
}

/// Raises the limit on open descriptors to the hard limit and returns the new limit.
pub fn raise_open_files_limit() -> io::Result<OpenFilesLimit> {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    rustix::process::setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?;
    Ok(open_files_limit())
}

/// Whose use [`usage`] reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// The calling thread's.
    Thread,
    /// The whole process's, io_uring's worker threads included.
    Process,
}

/// Resources used so far (getrusage(2)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// CPU time in user mode.
    pub user: Duration,
    /// CPU time in the kernel.
    pub system: Duration,
    /// The most bytes that the process ever had in memory, for a thread too.
    pub peak_memory_bytes: u64,
    /// Blocks of 512 bytes that were read from a medium rather than from memory (`ru_inblock`).
    /// Reads by io_uring's workers count for the process.
    pub input_blocks_512: u64,
}

impl Usage {
    /// CPU time in all.
    pub fn cpu(&self) -> Duration {
        self.user + self.system
    }
}

/// The resources that the thread or process has used so far.
pub fn usage(whose: Whose) -> Usage {
    let who = match whose {
        Whose::Thread => libc::RUSAGE_THREAD,
        Whose::Process => libc::RUSAGE_SELF,
    };
    // SAFETY: `rusage` is plain integers, for which all zeroes is a value.
    let mut raw: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live `rusage`, exclusively borrowed over the call. It cannot fail
    // with these arguments, and if it did the zeroes would stay.
    unsafe { libc::getrusage(who, &raw mut raw) };
    let duration = |time: libc::timeval| {
        Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_usec).unwrap_or(0) * 1_000)
    };
    Usage {
        user: duration(raw.ru_utime),
        system: duration(raw.ru_stime),
        peak_memory_bytes: u64::try_from(raw.ru_maxrss).unwrap_or(0) * 1024,
        input_blocks_512: u64::try_from(raw.ru_inblock).unwrap_or(0),
    }
}
