//! Shared by the tests of this crate: drivers and filesystems to run on, dropping privileges, and
//! reporting skipped tests.

#![allow(dead_code, reason = "each test program uses its own part")]

use std::io;
use std::path::Path;

use ringway_sys::dir::Dir;
use ringway_sys::file_io::{FileIo, IoMode};
use tempfile::TempDir;

/// Reports that a test did not run here. The test runner counts such lines.
pub(crate) fn skipped(test: &str, why: &str) {
    println!("skipped: {test}: {why}");
}

/// A driver of each kind, with its name for messages. If io_uring is unavailable, it is left out
/// and reported as skipped.
pub(crate) fn drivers(test: &str, depth: u32) -> Vec<FileIo> {
    let mut drivers = vec![FileIo::new(IoMode::Sync, depth).unwrap()];
    match FileIo::new(IoMode::Uring, depth) {
        Ok(uring) => drivers.push(uring),
        Err(error) => skipped(&format!("{test} with io_uring"), &error.to_string()),
    }
    drivers
}

/// Folders on the available filesystems: the one for temporary files, and a tmpfs.
pub(crate) fn folders() -> Vec<TempDir> {
    let mut folders = vec![tempfile::tempdir().unwrap()];
    folders.extend(tempfile::tempdir_in("/dev/shm").ok());
    folders
}

pub(crate) fn dir(path: &Path) -> Dir {
    Dir::open(path).unwrap()
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

pub(crate) fn errno(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or_else(|| panic!("{error:?} comes from no system call"))
}

/// Bytes that differ between files and between offsets.
pub(crate) fn pattern(seed: usize, len: usize) -> Vec<u8> {
    (0..len).map(|at| (at.wrapping_mul(31) ^ (at >> 8).wrapping_mul(7) ^ seed.wrapping_mul(131)) as u8).collect()
}

/// Runs `body` on a thread without root's right to ignore permissions. This changes only the
/// filesystem access of that thread.
pub(crate) fn without_privileges<T: Send>(body: impl FnOnce() -> T + Send) -> T {
    const NOBODY: libc::c_long = 65_534;
    std::thread::scope(|scope| {
        let body = scope.spawn(|| {
            if is_root() {
                // SAFETY: the raw call changes this thread's filesystem user alone (setfsuid(2))
                // and takes no pointers.
                unsafe { libc::syscall(libc::SYS_setfsuid, NOBODY) };
            }
            body()
        });
        body.join().unwrap()
    })
}

/// Runs `body` on a thread with its own mounts, or reports why that is skipped.
pub(crate) fn with_own_mounts(test: &str, body: impl FnOnce() + Send) {
    if !is_root() {
        return skipped(test, "mounting takes root");
    }
    std::thread::scope(|scope| {
        let body = scope.spawn(|| {
            // SAFETY: takes no pointers; what this thread mounts is seen by it alone and goes with
            // it.
            let unshared = unsafe { libc::unshare(libc::CLONE_NEWNS) };
            match unshared == 0 && mount(c"none", c"/", c"", libc::MS_REC | libc::MS_PRIVATE, c"").is_ok() {
                true => body(),
                false => skipped(test, &format!("no own mounts: {}", io::Error::last_os_error())),
            }
        });
        body.join().unwrap();
    });
}

pub(crate) fn mount(
    source: &std::ffi::CStr,
    target: &std::ffi::CStr,
    kind: &std::ffi::CStr,
    flags: libc::c_ulong,
    options: &std::ffi::CStr,
) -> io::Result<()> {
    // SAFETY: all four strings live over the call and end with NUL.
    let rc = unsafe { libc::mount(source.as_ptr(), target.as_ptr(), kind.as_ptr(), flags, options.as_ptr().cast()) };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Makes these calls fail with `errno` for the calling thread and the threads that it starts
/// (seccomp(2)). False if no filter can be set.
pub(crate) fn refuse_calls(calls: &[libc::c_long], errno: i32) -> bool {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    // The first word of seccomp_data is the call's number. Each comparison goes on to the next, or
    // jumps to the last step.
    let mut program = vec![step(LOAD, 0, 0, 0)];
    program
        .extend(calls.iter().rev().enumerate().rev().map(|(left, call)| step(EQUAL, left as u8 + 1, 0, *call as u32)));
    program.push(step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW));
    program.push(step(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | errno as u32));
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: prctl takes plain numbers here, and then a pointer to `program`, which lives over the
    // call with what it points to.
    unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
    }
}
