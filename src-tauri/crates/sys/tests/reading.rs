//! Reading many small files: both drivers behave the same.

mod common;
#[path = "../../../../tests/deadline.rs"]
mod deadline;

use std::ffi::{CStr, CString};
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use ringway_sys::attributes::Kind;
use ringway_sys::dir::Dir;
use ringway_sys::file_io::{FileIo, IoMode, NotRegular, ReadFile};

use common::{dir, drivers, errno, folders, pattern, skipped, without_privileges};

const UNTOUCHED: u8 = 0xEE;

/// Reads the named files of `dir` into parts of the given lengths, with a gap between any two.
fn read(io: &mut FileIo, dir: &Dir, wanted: &[(&CStr, usize)]) -> Vec<io::Result<Vec<u8>>> {
    const GAP: usize = 3;
    let mut at = GAP;
    let requests: Vec<_> = wanted
        .iter()
        .map(|&(name, len)| {
            let request = ReadFile { dir: dir.as_fd(), name, at, len };
            at += len + GAP;
            request
        })
        .collect();
    let mut buf = vec![UNTOUCHED; at];
    let mut results = Vec::new();
    io.read_files(&mut buf, &requests, &mut results).unwrap();
    assert_eq!(results.len(), requests.len());
    let mut covered = vec![false; buf.len()];
    requests.iter().for_each(|request| covered[request.at..request.at + request.len].fill(true));
    assert!(
        buf.iter().zip(&covered).all(|(&byte, &covered)| covered || byte == UNTOUCHED),
        "written between the parts"
    );
    results.into_iter().zip(&requests).map(|(got, request)| Ok(buf[request.at..request.at + got?].to_vec())).collect()
}

fn read_one(io: &mut FileIo, dir: &Dir, name: &CStr, len: usize) -> io::Result<Vec<u8>> {
    read(io, dir, &[(name, len)]).remove(0)
}

fn kind_found(result: io::Result<Vec<u8>>) -> Option<Kind> {
    NotRegular::in_error(&result.unwrap_err()).map(|error| error.kind)
}

fn make_fifo(path: &Path) {
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
}

#[test]
fn a_file_is_read_as_it_is_now() {
    for folder in folders() {
        let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
        write("empty", b"");
        write("exact", &pattern(1, 4096));
        write("shrunk", &pattern(2, 1000));
        write("grown", &pattern(3, 3000));
        write("large", &pattern(4, 3_000_001));
        for mut io in drivers("a_file_is_read_as_it_is_now", 8) {
            let wanted =
                [(c"empty", 0), (c"empty", 10), (c"exact", 4096), (c"shrunk", 2000), (c"grown", 2000), (c"grown", 0)];
            let read = read(&mut io, &dir(folder.path()), &wanted);
            let read: Vec<_> = read.into_iter().map(Result::unwrap).collect();
            assert_eq!(read[0], b"");
            assert_eq!(read[1], b"");
            assert_eq!(read[2], pattern(1, 4096));
            assert_eq!(read[3], pattern(2, 1000));
            assert_eq!(read[4], &pattern(3, 3000)[..2000]);
            assert_eq!(read[5], b"");
            assert_eq!(read_one(&mut io, &dir(folder.path()), c"large", 4_000_000).unwrap(), pattern(4, 3_000_001));
        }
    }
}

#[test]
fn entries_that_are_no_files_are_errors_and_never_data() {
    for folder in folders() {
        let path = folder.path();
        fs::create_dir(path.join("folder")).unwrap();
        fs::write(path.join("file"), "data").unwrap();
        symlink("file", path.join("link")).unwrap();
        symlink("nowhere", path.join("dangling")).unwrap();
        make_fifo(&path.join("fifo"));
        make_fifo(&path.join("fed"));
        // Without the check, a FIFO with a writer and bytes in it would be read without an error.
        let mut feeder = fs::OpenOptions::new().read(true).write(true).open(path.join("fed")).unwrap();
        io::Write::write_all(&mut feeder, b"not a file's").unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(path.join("socket")).unwrap();
        for mut io in drivers("entries_that_are_no_files_are_errors_and_never_data", 4) {
            let here = dir(path);
            assert_eq!(kind_found(read_one(&mut io, &here, c"folder", 10)), Some(Kind::Dir));
            assert_eq!(kind_found(read_one(&mut io, &here, c"fifo", 10)), Some(Kind::Fifo));
            assert_eq!(kind_found(read_one(&mut io, &here, c"fed", 10)), Some(Kind::Fifo));
            assert_eq!(kind_found(read_one(&mut io, &dir(Path::new("/dev")), c"zero", 10)), Some(Kind::CharDevice));
            assert_eq!(errno(&read_one(&mut io, &here, c"link", 10).unwrap_err()), libc::ELOOP);
            assert_eq!(errno(&read_one(&mut io, &here, c"dangling", 10).unwrap_err()), libc::ELOOP);
            assert_eq!(errno(&read_one(&mut io, &here, c"socket", 10).unwrap_err()), libc::ENXIO);
            assert_eq!(errno(&read_one(&mut io, &here, c"missing", 10).unwrap_err()), libc::ENOENT);
            for name in [c"", c".", c"..", c"folder/x", c"/etc/passwd"] {
                assert_eq!(read_one(&mut io, &here, name, 10).unwrap_err().kind(), io::ErrorKind::InvalidInput);
            }
        }
    }
}

#[test]
fn a_file_without_permission_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.path().join("secret"), "x").unwrap();
    fs::set_permissions(folder.path().join("secret"), fs::Permissions::from_mode(0o000)).unwrap();
    fs::write(folder.path().join("open"), "y").unwrap();
    fs::set_permissions(folder.path().join("open"), fs::Permissions::from_mode(0o644)).unwrap();
    let here = dir(folder.path());
    without_privileges(|| {
        for mut io in drivers("a_file_without_permission_is_reported", 4) {
            let read = read(&mut io, &here, &[(c"secret", 1), (c"open", 1), (c"secret", 0)]);
            assert_eq!(errno(read[0].as_ref().unwrap_err()), libc::EACCES);
            assert_eq!(read[1].as_ref().unwrap(), b"y");
            assert_eq!(errno(read[2].as_ref().unwrap_err()), libc::EACCES);
        }
    });
}

#[test]
fn names_are_bytes() {
    let names: [&[u8]; 6] = [b"new\nline", b"\xff\xfe\x80", b"esc\x1b[31m", &[b'n'; 255], b"a..b", b"..."];
    for folder in folders() {
        for (seed, name) in names.iter().enumerate() {
            fs::write(folder.path().join(std::ffi::OsStr::from_bytes(name)), pattern(seed, 100)).unwrap();
        }
        let names = names.map(|name| CString::new(name).unwrap());
        let wanted: Vec<_> = names.iter().map(|name| (name.as_c_str(), 100)).collect();
        for mut io in drivers("names_are_bytes", 2) {
            for (seed, read) in read(&mut io, &dir(folder.path()), &wanted).into_iter().enumerate() {
                assert_eq!(read.unwrap(), pattern(seed, 100));
            }
        }
        let long = CString::new([b'n'; 256]).unwrap();
        for mut io in drivers("names_are_bytes", 2) {
            assert_eq!(errno(&read_one(&mut io, &dir(folder.path()), &long, 1).unwrap_err()), libc::ENAMETOOLONG);
        }
    }
}

#[test]
fn failures_among_a_thousand_files_touch_no_other() {
    for folder in folders() {
        let names: Vec<_> = (0..1000).map(|number| CString::new(format!("f{number}")).unwrap()).collect();
        for (number, name) in names.iter().enumerate() {
            match number % 7 {
                3 => continue,
                5 => symlink("f0", folder.path().join(name.to_str().unwrap())).unwrap(),
                6 => make_fifo(&folder.path().join(name.to_str().unwrap())),
                _ => fs::write(folder.path().join(name.to_str().unwrap()), pattern(number, number * 7)).unwrap(),
            }
        }
        let wanted: Vec<_> = names.iter().enumerate().map(|(number, name)| (name.as_c_str(), number * 7)).collect();
        for depth in [1, 8, u32::MAX] {
            for mut io in drivers("failures_among_a_thousand_files_touch_no_other", depth) {
                // Twice with one driver: the second call is not affected by the first.
                for _ in 0..2 {
                    for (number, read) in read(&mut io, &dir(folder.path()), &wanted).into_iter().enumerate() {
                        match number % 7 {
                            3 => assert_eq!(errno(&read.unwrap_err()), libc::ENOENT),
                            5 => assert_eq!(errno(&read.unwrap_err()), libc::ELOOP),
                            6 => assert_eq!(kind_found(read), Some(Kind::Fifo)),
                            _ => assert_eq!(read.unwrap(), pattern(number, number * 7), "file {number}, depth {depth}"),
                        }
                    }
                }
            }
        }
    }
}

/// Another process swaps a name between a file, a FIFO with bytes, a link to a secret and a folder.
/// Only the file is ever read.
#[test]
fn a_name_swapped_while_read_gives_the_file_or_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("secret"), [b's'; 64]).unwrap();
    make_fifo(&path.join("fed"));
    let mut feeder = fs::OpenOptions::new().read(true).write(true).open(path.join("fed")).unwrap();
    io::Write::write_all(&mut feeder, &[b'p'; 64]).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let swapper = scope.spawn(|| {
            let goes_on = deadline::while_not(&done);
            while goes_on() {
                fs::write(path.join("new"), [b'f'; 64]).unwrap();
                fs::rename(path.join("new"), path.join("name")).unwrap();
                fs::hard_link(path.join("fed"), path.join("new")).unwrap();
                fs::rename(path.join("new"), path.join("name")).unwrap();
                symlink("secret", path.join("new")).unwrap();
                fs::rename(path.join("new"), path.join("name")).unwrap();
                fs::remove_file(path.join("name")).unwrap();
                fs::create_dir(path.join("name")).unwrap();
                fs::remove_dir(path.join("name")).unwrap();
            }
        });
        for mut io in drivers("a_name_swapped_while_read_gives_the_file_or_an_error", 16) {
            for _ in 0..500 {
                for result in read(&mut io, &dir(path), &[(c"name", 64); 16]) {
                    match result {
                        Ok(bytes) => assert_eq!(bytes, [b'f'; 64], "read by {:?}", io.kind()),
                        Err(error) => assert!(
                            NotRegular::in_error(&error).is_some()
                                || [libc::ELOOP, libc::ENOENT].contains(&errno(&error)),
                            "{error:?} by {:?}",
                            io.kind()
                        ),
                    }
                }
            }
        }
        done.store(true, Ordering::Relaxed);
        swapper.join().unwrap();
    });
}

#[test]
fn no_requests_give_no_results() {
    for mut io in drivers("no_requests_give_no_results", 4) {
        let mut results = vec![Ok(7)];
        io.read_files(&mut [], &[], &mut results).unwrap();
        assert!(results.is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Parts that overlap or exceed the buffer are refused and nothing is read. All other requests
    /// are read.
    #[test]
    fn parts_are_checked(parts in prop::collection::vec((0_usize..64, 0_usize..12), 0..8), sorted: bool) {
        thread_local! {
            static FOLDER: tempfile::TempDir = {
                let folder = tempfile::tempdir().unwrap();
                fs::write(folder.path().join("file"), [b'x'; 12]).unwrap();
                folder
            };
        }
        let here = FOLDER.with(|folder| dir(folder.path()));
        let mut parts = parts;
        if sorted {
            parts.sort_unstable();
        }
        let mut taken = [0; 64 + 12];
        parts.iter().for_each(|&(at, len)| taken[at..at + len].iter_mut().for_each(|count| *count += 1));
        let legal = taken.iter().all(|&count| count <= 1) && parts.iter().all(|(at, len)| at + len <= 64);
        let requests: Vec<_> =
            parts.iter().map(|&(at, len)| ReadFile { dir: here.as_fd(), name: c"file", at, len }).collect();
        for mode in [IoMode::Sync, IoMode::Auto] {
            let mut buf = [UNTOUCHED; 64];
            let mut results = Vec::new();
            let outcome = FileIo::new(mode, 4).unwrap().read_files(&mut buf, &requests, &mut results);
            prop_assert_eq!(outcome.is_ok(), legal);
            for (at, &byte) in buf.iter().enumerate() {
                prop_assert_eq!(byte, if legal && taken[at] == 1 { b'x' } else { UNTOUCHED });
            }
            if legal {
                prop_assert!(results.iter().zip(&parts).all(|(result, part)| *result.as_ref().unwrap() == part.1));
            }
        }
    }
}

#[test]
fn the_ends_of_the_number_range_are_refused() {
    let here = dir(Path::new("/"));
    for mut io in drivers("the_ends_of_the_number_range_are_refused", 4) {
        for (at, len) in [(usize::MAX, 1), (1, usize::MAX), (usize::MAX, 0), (5, 0)] {
            let request = ReadFile { dir: here.as_fd(), name: c"x", at, len };
            let error = io.read_files(&mut [0; 4], &[request], &mut Vec::new()).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        }
    }
}

/// Files that cannot be read without blocking, such as those of /proc, use io_uring's other ways.
#[test]
fn files_of_proc_can_be_read() {
    let Ok(expected) = fs::read("/proc/version") else {
        return skipped("files_of_proc_can_be_read", "/proc is not mounted");
    };
    for mut io in drivers("files_of_proc_can_be_read", 4) {
        assert_eq!(read_one(&mut io, &dir(Path::new("/proc")), c"version", 4096).unwrap(), expected);
    }
}
