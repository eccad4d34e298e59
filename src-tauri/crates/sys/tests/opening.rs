//! Opening many files and reading from open ones: both drivers behave the same.

mod common;

use std::ffi::{CStr, CString};
use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use ringway_sys::attributes::{Kind, Timestamp, metadata_of, set_times_both};
use ringway_sys::file_io::{FileIo, IoMode, ReadOpen};

use common::{dir, drivers, errno, folders, pattern, without_privileges};

fn open(io: &mut FileIo, path: &Path, names: &[&CStr], noatime: bool) -> Vec<io::Result<OwnedFd>> {
    let mut results = vec![Err(io::ErrorKind::Other.into())];
    io.open_files(dir(path).as_fd(), names, noatime, &mut results);
    assert_eq!(results.len(), names.len());
    results
}

/// There are more files than the ring takes at a time. Each result belongs to its own name.
#[test]
fn many_are_opened_and_read() {
    for folder in folders() {
        let names: Vec<_> = (0..100).map(|number| CString::new(format!("file-{number}")).unwrap()).collect();
        for (number, name) in names.iter().enumerate() {
            fs::write(folder.path().join(name.to_str().unwrap()), pattern(number, number * 97)).unwrap();
        }
        let names: Vec<_> = names.iter().map(CString::as_c_str).collect();
        for mut io in drivers("many_are_opened_and_read", 7) {
            for noatime in [false, true] {
                let files: Vec<_> =
                    open(&mut io, folder.path(), &names, noatime).into_iter().map(Result::unwrap).collect();
                // Every second file gets a part that is longer than the file, the others a shorter
                // one.
                let mut at = 0;
                let requests: Vec<_> = files
                    .iter()
                    .enumerate()
                    .map(|(number, file)| {
                        let len = if number % 2 == 0 { number * 97 + 10 } else { number * 90 };
                        at += len;
                        ReadOpen { fd: file.as_fd(), at: at - len, len }
                    })
                    .collect();
                let (mut buf, mut results) = (vec![0; at], Vec::new());
                io.read_open_files(&mut buf, &requests, &mut results).unwrap();
                for (number, (request, result)) in requests.iter().zip(results).enumerate() {
                    let expected = &pattern(number, number * 97)[..request.len.min(number * 97)];
                    assert_eq!(&buf[request.at..request.at + result.unwrap()], expected);
                }
            }
        }
    }
}

#[test]
fn opened_entries_are_recognised_by_descriptor() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("file"), "data").unwrap();
    fs::create_dir(path.join("folder")).unwrap();
    symlink("file", path.join("link")).unwrap();
    dir(path).make_node(b"fifo", Kind::Fifo, 0o600, 0).unwrap();
    for mut io in drivers("opened_entries_are_recognised_by_descriptor", 4) {
        let names = [c"file", c"folder", c"fifo", c"link", c"missing", c"", c"..", c"folder/x"];
        let results = open(&mut io, path, &names, true);
        let kinds: Vec<_> = results[..3].iter().map(|file| metadata_of(file.as_ref().unwrap()).unwrap().kind).collect();
        assert_eq!(kinds, [Kind::File, Kind::Dir, Kind::Fifo]);
        assert_eq!(errno(results[3].as_ref().unwrap_err()), libc::ELOOP);
        assert_eq!(errno(results[4].as_ref().unwrap_err()), libc::ENOENT);
        assert!(results[5..].iter().all(|result| result.as_ref().unwrap_err().kind() == io::ErrorKind::InvalidInput));
        // Reading an open folder fails, and does not affect the other files.
        let files: Vec<_> = results.into_iter().take(2).map(Result::unwrap).collect();
        let requests = [
            ReadOpen { fd: files[1].as_fd(), at: 0, len: 4 },
            ReadOpen { fd: files[0].as_fd(), at: 4, len: 4 },
            ReadOpen { fd: files[0].as_fd(), at: 4, len: 0 },
        ];
        let (mut buf, mut results) = ([0; 8], Vec::new());
        io.read_open_files(&mut buf, &requests, &mut results).unwrap();
        assert_eq!(errno(results[0].as_ref().unwrap_err()), libc::EISDIR);
        assert_eq!(
            (results[1].as_ref().unwrap(), results[2].as_ref().unwrap(), &buf[4..]),
            (&4, &0, b"data".as_slice())
        );
        let overlapping = [requests[1], ReadOpen { fd: files[0].as_fd(), at: 6, len: 2 }];
        let refused = io.read_open_files(&mut buf, &overlapping, &mut results).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
    }
}

#[test]
fn access_times_are_left_alone_if_possible() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let path = folder.path().join("file");
    fs::write(&path, "data").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    // With an access time before the modification, even relatime would change it.
    let (long_ago, recent) = (Timestamp { secs: 1_000, nanos: 5 }, Timestamp { secs: 2_000, nanos: 5 });
    for mut io in drivers("access_times_are_left_alone_if_possible", 4) {
        set_times_both(File::open(&path).unwrap(), long_ago, recent).unwrap();
        let file = open(&mut io, folder.path(), &[c"file"], true).remove(0).unwrap();
        let (mut buf, mut results) = ([0; 4], Vec::new());
        io.read_open_files(&mut buf, &[ReadOpen { fd: file.as_fd(), at: 0, len: 4 }], &mut results).unwrap();
        assert_eq!((&buf, fs::metadata(&path).unwrap().atime()), (b"data", 1_000));
    }
    // A user who is not the owner may not request O_NOATIME, and can still read.
    without_privileges(|| {
        for mut io in drivers("access_times_are_left_alone_if_possible", 4) {
            let file = open(&mut io, folder.path(), &[c"file"], true).remove(0).unwrap();
            assert_eq!(io::read_to_string(File::from(file)).unwrap(), "data");
        }
    });
}

#[test]
fn a_ring_may_have_more_workers() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "data").unwrap();
    for workers in [0, 1, 16, u32::MAX] {
        let mut io = FileIo::with_workers(IoMode::Auto, 8, workers).unwrap();
        let files = open(&mut io, folder.path(), &[c"file"; 20], false);
        assert!(files.iter().all(Result::is_ok));
    }
}
