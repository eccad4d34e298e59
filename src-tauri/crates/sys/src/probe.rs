//! Owns questions about this machine and this process: what the kernel offers, what the CPU can,
//! what was used.

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

/// Whether an io_uring with all that is needed can be set up now, or why not.
pub fn io_uring() -> Result<(), Fallback> {
    Ring::new(1).map(drop)
}

/// Whether this process may set an io_uring up, or why not, without setting one up: a ring that was
/// never used still costs its process up to 20 ms when it ends. Whether the ring can do all that is
/// needed shows when it is made.
pub fn io_uring_allowed() -> Result<(), Fallback> {
    crate::ring::allowed()
}

/// What the CPU does for AES in hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuAes {
    /// Instructions for one block (AES-NI, or the Armv8 extension).
    pub single: bool,
    /// Instructions for several blocks at once (VAES).
    pub vector: bool,
}

/// What this CPU does for AES in hardware.
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

/// Descriptors of a program that runs: standard input, output and error, and an event loop with its
/// signals.
const PLAIN_DESCRIPTORS: usize = 12;

/// How many descriptors this process may have open now, and at most (RLIMIT_NOFILE, getrlimit(2));
/// `u64::MAX` for no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenFilesLimit {
    /// The limit in force.
    pub soft: u64,
    /// What it may be raised to.
    pub hard: u64,
}

/// The limit on open descriptors.
pub fn open_files_limit() -> OpenFilesLimit {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    OpenFilesLimit { soft: limit.current.unwrap_or(u64::MAX), hard: limit.maximum.unwrap_or(u64::MAX) }
}

/// How many descriptors this process has open (proc_pid_fd(5)); those of a plain program where
/// `/proc` is not mounted.
pub fn open_descriptors() -> usize {
    // The one that lists them is among them.
    std::fs::read_dir("/proc/self/fd").map_or(PLAIN_DESCRIPTORS, |open| open.count().saturating_sub(1))
}

/// Raises the limit on open descriptors to the hard limit and returns what it is now.
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

/// What was used so far (getrusage(2)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// CPU time in user mode.
    pub user: Duration,
    /// CPU time in the kernel.
    pub system: Duration,
    /// Most bytes the process ever had in memory, whoever is asked about.
    pub peak_memory_bytes: u64,
    /// Blocks of 512 bytes that were read from a medium rather than from memory (`ru_inblock`).
    /// Reading that io_uring's workers do counts for the process.
    pub input_blocks_512: u64,
}

impl Usage {
    /// CPU time in all.
    pub fn cpu(&self) -> Duration {
        self.user + self.system
    }
}

/// What the thread or process used so far.
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
