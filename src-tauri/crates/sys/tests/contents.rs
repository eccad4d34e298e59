//! Copying inside the kernel: by shared blocks, by range, through a pipe. Each reports if it is not
//! supported.

mod common;

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use ringway_sys::contents::{Pipe, copy_range, reflink};
use ringway_sys::space::filesystem;
use tempfile::TempDir;

use common::{dir, errno, folders, pattern, skipped};

/// Longer than a pipe, and not a whole number of pages.
const LONG: usize = 2_500_123;

fn source(folder: &TempDir, bytes: &[u8]) -> File {
    fs::write(folder.path().join("from"), bytes).unwrap();
    File::open(folder.path().join("from")).unwrap()
}

fn target(folder: &TempDir) -> File {
    File::options().create(true).truncate(true).read(true).write(true).open(folder.path().join("to")).unwrap()
}

fn contents(file: &File) -> Vec<u8> {
    let mut bytes = vec![0; file.metadata().unwrap().len() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

/// Calls `step` with offsets until it reports the end of the source; false if it is not supported.
fn to_the_end(mut step: impl FnMut(u64) -> io::Result<Option<usize>>) -> bool {
    let mut at = 0;
    loop {
        match step(at).unwrap() {
            None => return false,
            Some(0) => return true,
            Some(bytes) => at += bytes as u64,
        }
    }
}

#[test]
fn blocks_are_shared_or_nothing_is_changed() {
    const TEST: &str = "blocks_are_shared_or_nothing_is_changed";
    for folder in folders() {
        let (from, to) = (source(&folder, &pattern(1, LONG)), target(&folder));
        match reflink(&from, &to).unwrap() {
            true => assert_eq!(contents(&to), pattern(1, LONG)),
            false => {
                let kind = filesystem(&from).unwrap().name();
                skipped(&format!("{TEST} on {kind}"), "this filesystem cannot share blocks");
                assert_eq!(to.metadata().unwrap().len(), 0);
            }
        }
    }
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir_in("/dev/shm").unwrap());
    let (from, to) = (source(&here, b"abc"), target(&there));
    assert!(!reflink(&from, &to).unwrap(), "between filesystems");
    assert!(!reflink(File::open("/dev/zero").unwrap(), &to).unwrap());
    assert_eq!(to.metadata().unwrap().len(), 0);
}

#[test]
fn a_range_arrives_where_it_is_sent() {
    const TEST: &str = "a_range_arrives_where_it_is_sent";
    for folder in folders() {
        let (from, to) = (source(&folder, &pattern(2, LONG)), target(&folder));
        if !to_the_end(|at| copy_range(&from, at, &to, at, 1 << 20)) {
            skipped(TEST, &format!("no copy_file_range on {}", filesystem(&from).unwrap().name()));
            continue;
        }
        assert_eq!(contents(&to), pattern(2, LONG));
        assert_eq!(copy_range(&from, 1_000, &to, LONG as u64, 77).unwrap(), Some(77));
        assert_eq!(contents(&to)[LONG..], pattern(2, LONG)[1_000..1_077]);
        assert_eq!(copy_range(&from, LONG as u64, &to, 0, 10).unwrap(), Some(0), "beyond the end");
        let (reader, _writer) = io::pipe().unwrap();
        assert_eq!(copy_range(&reader, 0, &to, 0, 10).unwrap(), None);
        assert_eq!(copy_range(&from, 0, File::open(folder.path().join("to")).unwrap(), 0, 10).unwrap(), None);
    }
}

#[test]
fn a_pipe_moves_all_bytes() {
    for folder in folders() {
        let (from, to) = (source(&folder, &pattern(3, LONG)), target(&folder));
        let mut pipe = Pipe::new().unwrap();
        assert_eq!(pipe.splice(&from, 0, &to, 0, usize::MAX).unwrap(), Some(LONG));
        assert_eq!(contents(&to), pattern(3, LONG));
        assert_eq!(pipe.splice(&from, 1_001, &to, LONG as u64, 1_234_567).unwrap(), Some(1_234_567));
        assert_eq!(contents(&to)[LONG..], pattern(3, LONG)[1_001..1_001 + 1_234_567]);
        assert_eq!(pipe.splice(&from, LONG as u64, &to, 0, 10).unwrap(), Some(0));
        assert_eq!(pipe.splice(&from, 0, &to, 0, 0).unwrap(), Some(0));
    }
}

#[test]
fn between_filesystems_a_pipe_works() {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir_in("/dev/shm").unwrap());
    let (from, to) = (source(&here, &pattern(4, LONG)), target(&there));
    assert_eq!(Pipe::new().unwrap().splice(&from, 0, &to, 0, LONG).unwrap(), Some(LONG));
    assert_eq!(contents(&to), pattern(4, LONG));
}

#[test]
fn nothing_is_left_in_the_pipe_after_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (source(&folder, &pattern(5, LONG)), target(&folder));
    let mut pipe = Pipe::new().unwrap();
    // The bytes in the pipe cannot be written: the descriptor is open for reading only, or the
    // device is full.
    let only_read = File::open(folder.path().join("to")).unwrap();
    assert_eq!(errno(&pipe.splice(&from, 0, &only_read, 0, 100).unwrap_err()), libc::EBADF);
    let full = File::options().write(true).open("/dev/full").unwrap();
    assert!(matches!(pipe.splice(&from, 0, &full, 0, 5_000), Err(_) | Ok(None)));
    // splice(2) refuses an append-only descriptor, which shows only once the bytes are in the pipe.
    let appending = File::options().append(true).open(folder.path().join("to")).unwrap();
    assert_eq!(pipe.splice(&from, 0, &appending, 0, 5_000).unwrap(), None);
    assert_eq!(to.metadata().unwrap().len(), 0);
    assert_eq!(pipe.splice(&from, 100, &to, 0, 50).unwrap(), Some(50));
    assert_eq!(contents(&to), pattern(5, LONG)[100..150], "bytes of an earlier file");
}

#[test]
fn a_folder_cannot_be_spliced() {
    let folder = tempfile::tempdir().unwrap();
    let to = target(&folder);
    let refused = Pipe::new().unwrap().splice(dir(folder.path()), 0, &to, 0, 10);
    assert!(matches!(refused, Ok(None) | Err(_)), "{refused:?}");
    assert!(copy_range(dir(folder.path()), 0, &to, 0, 10).is_err(), "EISDIR");
}

#[test]
fn a_source_that_shrinks_ends_early() {
    for folder in folders() {
        let (from, to) = (source(&folder, &pattern(6, LONG)), target(&folder));
        File::options().write(true).open(folder.path().join("from")).unwrap().set_len(1_000).unwrap();
        assert_eq!(Pipe::new().unwrap().splice(&from, 0, &to, 0, LONG).unwrap(), Some(1_000));
        assert_eq!(contents(&to), pattern(6, LONG)[..1_000]);
        if let Some(bytes) = copy_range(&from, 0, &to, 0, LONG).unwrap() {
            assert_eq!(bytes, 1_000);
        }
    }
}

#[test]
fn a_file_of_proc_has_contents_by_pipe_or_by_reading() {
    let Ok(expected) = fs::read("/proc/version") else {
        return skipped("a_file_of_proc_has_contents_by_pipe_or_by_reading", "/proc is not mounted");
    };
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (File::open("/proc/version").unwrap(), target(&folder));
    assert!(!reflink(&from, &to).unwrap());
    // Its size is 0, so no range may be taken for its end.
    assert!(matches!(copy_range(&from, 0, &to, 0, 4096).unwrap(), None | Some(0)));
    if let Some(bytes) = Pipe::new().unwrap().splice(&from, 0, &to, 0, 4096).unwrap() {
        assert_eq!((bytes, contents(&to)), (expected.len(), expected));
    }
}

#[test]
fn advice_never_fails_and_dropped_pages_come_back() {
    use ringway_sys::advice;
    for folder in folders() {
        let from = source(&folder, &pattern(7, LONG));
        from.sync_all().unwrap();
        advice::dont_need(&from);
        assert_eq!(contents(&from), pattern(7, LONG));
    }
    let (reader, mut writer) = io::pipe().unwrap();
    advice::dont_need(&reader);
    writer.write_all(b"x").unwrap();
    advice::dont_need(dir(Path::new("/proc")));
}
