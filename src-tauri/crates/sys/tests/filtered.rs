//! A container whose seccomp filter refuses io_uring and openat2: the fallbacks run, and report
//! why.

mod common;

use std::fs;
use std::os::fd::AsFd;

use ringway_sys::dir::{Beneath, beneath};
use ringway_sys::file_io::{Fallback, FileIo, IoKind, IoMode, ReadFile};
use ringway_sys::probe::{io_uring, io_uring_allowed, io_uring_disabled};

use common::{dir, refuse_calls, skipped};

/// This is one test, because the way to open beneath is determined once per process.
#[test]
fn a_filter_that_refuses_leaves_the_fallbacks() {
    const TEST: &str = "a_filter_that_refuses_leaves_the_fallbacks";
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("a/b")).unwrap();
    fs::write(folder.path().join("a/b/file"), "contents").unwrap();
    for (errno, expected) in [(libc::EPERM, Fallback::Filtered), (libc::ENOSYS, Fallback::NotInKernel)] {
        let body = || {
            if !refuse_calls(&[libc::SYS_io_uring_setup, libc::SYS_openat2], errno) {
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
