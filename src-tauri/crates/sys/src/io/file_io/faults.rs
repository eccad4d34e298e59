//! Tests of the io_uring driver with results that the kernel rarely returns: short counts and "not
//! now". Requests must still succeed.

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;

use rustix::io::Errno;
use tempfile::TempDir;

use super::{Driver, FileIo, IoMode, ReadFile, ReadOpen, WriteAt};
use crate::dir::Dir;
use crate::ring::{Completion, Fault};

const FILES: usize = 40;
const BYTES: usize = 20_011;

/// Descriptor numbers are lower than this, so only counts of bytes are shortened.
const SHORTEST: i32 = 5_000;

/// A driver whose completions are changed by `fault`; `None` if io_uring is unavailable.
fn driver(test: &str, fault: Fault) -> Option<FileIo> {
    let mut io = match FileIo::new(IoMode::Uring, 8) {
        Ok(io) => io,
        Err(why) => {
            println!("skipped: {test}: {why}");
            return None;
        }
    };
    if let Driver::Uring(uring) = &mut io.driver {
        uring.ring.fault = Some(fault);
    }
    Some(io)
}

/// Every third completion becomes the same errno.
fn every_third(errno: Errno) -> Fault {
    let mut answers = 0;
    Box::new(move |completion: &mut Completion| {
        answers += 1;
        if answers % 3 == 0 {
            completion.result = -errno.raw_os_error();
        }
    })
}

/// Halves all counts, as if a signal or a slow medium had ended each call early.
fn short() -> Fault {
    Box::new(|completion: &mut Completion| {
        if completion.result >= SHORTEST {
            completion.result /= 2;
        }
    })
}

fn faults() -> Vec<(&'static str, Fault)> {
    vec![
        ("EINTR", every_third(Errno::INTR)),
        ("EAGAIN", every_third(Errno::AGAIN)),
        ("ECANCELED", every_third(Errno::CANCELED)),
        ("short", short()),
    ]
}

fn contents(number: usize) -> Vec<u8> {
    (0..BYTES).map(|at| ((at * 31) ^ (number * 131)) as u8).collect()
}

/// A folder of files, and their names.
fn files() -> (TempDir, Vec<CString>) {
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<_> = (0..FILES).map(|number| CString::new(number.to_string()).unwrap()).collect();
    for (number, name) in names.iter().enumerate() {
        fs::write(folder.path().join(name.to_str().unwrap()), contents(number)).unwrap();
    }
    (folder, names)
}

/// Compares the bytes that were read of each file, whose parts are a little longer than the file.
fn check(buf: &[u8], results: Vec<io::Result<usize>>, what: &str) {
    assert_eq!(results.len(), FILES);
    for (number, result) in results.into_iter().enumerate() {
        let at = number * (BYTES + 10);
        assert!(buf[at..at + result.unwrap()] == contents(number), "{what}: file {number}");
    }
}

#[test]
fn files_are_read_whole_whatever_the_kernel_answers() {
    let (folder, names) = files();
    let dir = Dir::open(folder.path()).unwrap();
    for (what, fault) in faults() {
        let Some(mut io) = driver("files_are_read_whole_whatever_the_kernel_answers", fault) else { return };
        let (mut buf, mut results) = (vec![0; FILES * (BYTES + 10)], Vec::new());
        let part = |number| number * (BYTES + 10);
        let requests: Vec<_> = names
            .iter()
            .enumerate()
            .map(|(number, name)| ReadFile { dir: dir.as_fd(), name, at: part(number), len: BYTES + 10 })
            .collect();
        io.read_files(&mut buf, &requests, &mut results).unwrap();
        check(&buf, std::mem::take(&mut results), what);
        buf.fill(0);
        let names: Vec<_> = names.iter().map(CString::as_c_str).collect();
        let mut opened = Vec::new();
        io.open_files(dir.as_fd(), &names, true, &mut opened);
        let opened: Vec<_> = opened.into_iter().map(Result::unwrap).collect();
        let requests: Vec<_> = opened
            .iter()
            .enumerate()
            .map(|(number, fd)| ReadOpen { fd: fd.as_fd(), at: part(number), len: BYTES + 10 })
            .collect();
        io.read_open_files(&mut buf, &requests, &mut results).unwrap();
        check(&buf, results, what);
    }
}

#[test]
fn ranges_are_read_and_written_whole_whatever_the_kernel_answers() {
    /// Several pieces, the last one short.
    const LONG: usize = 1_300_007;
    let folder = tempfile::tempdir().unwrap();
    let bytes: Vec<u8> = (0..LONG).map(|at| ((at * 7) ^ (at >> 9)) as u8).collect();
    for (what, fault) in faults() {
        let Some(mut io) = driver("ranges_are_read_and_written_whole_whatever_the_kernel_answers", fault) else {
            return;
        };
        let path = folder.path().join("file");
        let file = File::options().create(true).truncate(true).read(true).write(true).open(&path).unwrap();
        let writes: Vec<_> = bytes
            .chunks(100_003)
            .enumerate()
            .map(|(number, bytes)| WriteAt { fd: file.as_fd(), offset: (number * 100_003) as u64, bytes })
            .collect();
        let mut results = Vec::new();
        io.write_all_at(&writes, &mut results);
        assert!(results.iter().all(Result::is_ok), "{what}: {results:?}");
        assert!(fs::read(&path).unwrap() == bytes, "{what}: written");
        let mut back = vec![0; LONG + 50_000];
        assert_eq!(io.read_at(file.as_fd(), 0, &mut back).unwrap(), LONG, "{what}");
        assert!(back[..LONG] == bytes, "{what}: read");
    }
}

/// One request's error stays its own.
#[test]
fn an_error_affects_only_its_own_request() {
    let (folder, names) = files();
    let dir = Dir::open(folder.path()).unwrap();
    let mut reads = 0;
    let fault = Box::new(move |completion: &mut Completion| {
        // Changes the fifth read.
        if completion.result >= SHORTEST {
            reads += 1;
            if reads == 5 {
                completion.result = -Errno::IO.raw_os_error();
            }
        }
    });
    let Some(mut io) = driver("an_error_affects_only_its_own_request", fault) else { return };
    let (mut buf, mut results) = (vec![0; FILES * BYTES], Vec::new());
    let requests: Vec<_> = names
        .iter()
        .enumerate()
        .map(|(number, name)| ReadFile { dir: dir.as_fd(), name, at: number * BYTES, len: BYTES })
        .collect();
    io.read_files(&mut buf, &requests, &mut results).unwrap();
    let failed: Vec<_> = results.iter().filter_map(|result| result.as_ref().err()).collect();
    assert_eq!(failed.iter().filter_map(|error| error.raw_os_error()).collect::<Vec<_>>(), [libc::EIO]);
    for (number, _) in results.iter().enumerate().filter(|(_, result)| result.is_ok()) {
        assert!(buf[number * BYTES..][..BYTES] == contents(number), "file {number}");
    }
}
