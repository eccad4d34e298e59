//! What happens in a container whose seccomp filter refuses io_uring and openat2: the fallbacks run, and say why.

mod common;

use std::fs;
use std::os::fd::AsFd;

use common::{dir, skipped};
use ringway_sys::dir::{Beneath, beneath};
use ringway_sys::file_io::{Fallback, FileIo, IoKind, IoMode, ReadFile};
use ringway_sys::probe::{io_uring, io_uring_allowed, io_uring_disabled};

/// Makes io_uring_setup and openat2 fail with `errno` for the calling thread and what it starts (seccomp(2)).
fn filter(errno: i32) -> bool {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    // The first word of seccomp_data is the call's number.
    let mut program = [
        step(LOAD, 0, 0, 0),
        step(EQUAL, 2, 0, libc::SYS_io_uring_setup as u32),
        step(EQUAL, 1, 0, libc::SYS_openat2 as u32),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | errno as u32),
    ];
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: prctl takes plain numbers here, and then a pointer to `program`, which lives over the call with what it points to.
    unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
    }
}

/// One test, as which way leads beneath is found out once a process.
#[test]
fn a_filter_that_refuses_leaves_the_fallbacks() {
    const TEST: &str = "a_filter_that_refuses_leaves_the_fallbacks";
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("a/b")).unwrap();
    fs::write(folder.path().join("a/b/file"), "contents").unwrap();
    for (errno, expected) in [(libc::EPERM, Fallback::Filtered), (libc::ENOSYS, Fallback::NotInKernel)] {
        let body = || {
            if !filter(errno) {
                return skipped(TEST, "no seccomp filter can be set here");
            }
            let expected = match (errno, io_uring_disabled()) {
                (libc::EPERM, Some(value @ 1..)) => Fallback::DisabledBySysctl(value),
                _ => expected,
            };
            assert_eq!(io_uring(), Err(expected));
            assert_eq!(io_uring_allowed(), Err(expected));
            let refused = FileIo::new(IoMode::Uring, 8).err().unwrap();
            assert_eq!(refused.get_ref().unwrap().downcast_ref(), Some(&expected));
            let mut io = FileIo::new(IoMode::Auto, 8).unwrap();
            assert_eq!((io.choice().kind, io.choice().reason), (IoKind::Sync, Some(expected)));
            assert_eq!(FileIo::new(IoMode::Sync, 8).unwrap().choice().reason, None);
            assert_eq!(beneath(), Beneath::Walk);
            let inner = dir(folder.path()).open_beneath(b"a/b").unwrap();
            let (mut buf, mut results) = ([0; 8], Vec::new());
            let request = ReadFile { dir: inner.as_fd(), name: c"file", at: 0, len: 8 };
            io.read_files(&mut buf, &[request], &mut results).unwrap();
            assert_eq!((results[0].as_ref().unwrap(), &buf), (&8, b"contents"));
        };
        std::thread::scope(|scope| scope.spawn(body).join().unwrap());
    }
}
