//! Reading and writing ranges of open files: both drivers behave the same.

mod common;

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;

use ringway_sys::file_io::WriteAt;

use common::{drivers, errno, folders, pattern};

#[test]
fn a_range_is_read_up_to_the_end_of_the_file() {
    // Several pieces, and no end of the range is at a piece's edge.
    let contents = pattern(9, 3 * 1024 * 1024 + 17);
    for folder in folders() {
        let path = folder.path().join("file");
        fs::write(&path, &contents).unwrap();
        let file = File::open(&path).unwrap();
        for mut io in drivers("a_range_is_read_up_to_the_end_of_the_file", 3) {
            let ranges = [
                (0, contents.len()),
                (0, contents.len() + 600_000),
                (1, 1),
                (4097, 1_000_000),
                (contents.len() - 5, 4096),
                (contents.len(), 4096),
                (contents.len() + 1_000_000, 2_000_000),
                (700_000, 0),
            ];
            for (offset, len) in ranges {
                let mut buf = vec![0xEE; len];
                let bytes = io.read_at(file.as_fd(), offset as u64, &mut buf).unwrap();
                let expected = contents.get(offset..).unwrap_or_default();
                let expected = &expected[..expected.len().min(len)];
                assert!(buf[..bytes] == *expected, "{:?} read {bytes} bytes of {len} at {offset}", io.kind());
            }
        }
    }
}

#[test]
fn a_range_that_cannot_be_read_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let unreadable = File::create(folder.path().join("file")).unwrap();
    unreadable.set_len(10_000_000).unwrap();
    let directory = File::open(folder.path()).unwrap();
    for mut io in drivers("a_range_that_cannot_be_read_is_an_error", 8) {
        let mut buf = vec![0; 5_000_000];
        assert_eq!(errno(&io.read_at(unreadable.as_fd(), 0, &mut buf).unwrap_err()), libc::EBADF);
        assert_eq!(errno(&io.read_at(directory.as_fd(), 0, &mut buf).unwrap_err()), libc::EISDIR);
        let beyond = io.read_at(unreadable.as_fd(), u64::MAX - 5, &mut buf).unwrap_err();
        assert_eq!(beyond.kind(), io::ErrorKind::InvalidInput);
        let beyond = io.read_at(unreadable.as_fd(), i64::MAX as u64 - 5, &mut buf).unwrap_err();
        assert_eq!(beyond.kind(), io::ErrorKind::InvalidInput);
    }
}

#[test]
fn writes_land_where_they_belong() {
    for folder in folders() {
        for mut io in drivers("writes_land_where_they_belong", 4) {
            let files = ["a", "b"].map(|name| File::create(folder.path().join(name)).unwrap());
            let contents = [pattern(1, 1_500_000), pattern(2, 1_500_000)];
            // Backwards, in pieces of odd lengths, both files mixed, with empty writes between
            // them.
            let mut writes = Vec::new();
            for (number, start) in (0..1_500_000).step_by(65_537).enumerate().collect::<Vec<_>>().into_iter().rev() {
                let file = number % 2;
                for file in [file, 1 - file] {
                    let bytes = &contents[file][start..(start + 65_537).min(1_500_000)];
                    writes.push(WriteAt { fd: files[file].as_fd(), offset: start as u64, bytes });
                    writes.push(WriteAt { fd: files[file].as_fd(), offset: 0, bytes: b"" });
                }
            }
            let mut results = vec![Err(io::ErrorKind::Other.into())];
            io.write_all_at(&writes, &mut results);
            assert_eq!(results.len(), writes.len());
            assert!(results.iter().all(Result::is_ok));
            for (name, contents) in ["a", "b"].into_iter().zip(&contents) {
                assert!(fs::read(folder.path().join(name)).unwrap() == *contents, "{name} by {:?}", io.kind());
            }
        }
    }
}

#[test]
fn a_write_that_fails_leaves_the_others_alone() {
    let folder = tempfile::tempdir().unwrap();
    for mut io in drivers("a_write_that_fails_leaves_the_others_alone", 2) {
        let good = File::create(folder.path().join("good")).unwrap();
        let read_only = File::open(folder.path().join("good")).unwrap();
        let writes = [
            WriteAt { fd: good.as_fd(), offset: 0, bytes: b"first" },
            WriteAt { fd: read_only.as_fd(), offset: 0, bytes: b"wrong" },
            WriteAt { fd: good.as_fd(), offset: u64::MAX, bytes: b"wrong" },
            WriteAt { fd: read_only.as_fd(), offset: 0, bytes: b"" },
            WriteAt { fd: good.as_fd(), offset: 5, bytes: b"last" },
        ];
        let mut results = Vec::new();
        io.write_all_at(&writes, &mut results);
        assert_eq!(errno(results[1].as_ref().unwrap_err()), libc::EBADF);
        assert_eq!(results[2].as_ref().unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert!([0, 3, 4].into_iter().all(|index: usize| results[index].is_ok()));
        assert_eq!(fs::read(folder.path().join("good")).unwrap(), b"firstlast");
    }
}

#[test]
fn a_full_disk_is_reported_for_each_write() {
    const TEST: &str = "a_full_disk_is_reported_for_each_write";
    const PIECE: usize = 64 * 1024;
    let folder = tempfile::tempdir().unwrap();
    common::with_own_mounts(TEST, || {
        let target = CString::new(folder.path().as_os_str().as_bytes()).unwrap();
        common::mount(c"none", &target, c"tmpfs", 0, c"size=1m").unwrap();
        for mut io in drivers(TEST, 8) {
            let path = folder.path().join("file");
            let file = File::options().create(true).truncate(true).read(true).write(true).open(&path).unwrap();
            let contents = pattern(5, 64 * PIECE);
            let writes: Vec<_> = (0..64)
                .map(|number| WriteAt {
                    fd: file.as_fd(),
                    offset: (number * PIECE) as u64,
                    bytes: &contents[number * PIECE..(number + 1) * PIECE],
                })
                .collect();
            let mut results = Vec::new();
            io.write_all_at(&writes, &mut results);
            let mut written = 0;
            for (write, result) in writes.iter().zip(&results) {
                match result {
                    Ok(()) => {
                        let mut back = vec![0; PIECE];
                        file.read_exact_at(&mut back, write.offset).unwrap();
                        assert!(back == write.bytes);
                        written += 1;
                    }
                    Err(error) => assert_eq!(errno(error), libc::ENOSPC),
                }
            }
            assert!((8..=16).contains(&written), "{:?} wrote {written} of 16 that fit", io.kind());
            fs::remove_file(&path).unwrap();
        }
    });
}
