//! No descriptor stays open, whatever happens to the file. This is the only test of its program,
//! because it counts the descriptors of the whole process.

mod common;

use std::ffi::CString;
use std::fs;
use std::os::fd::AsFd;

use ringway_sys::file_io::ReadFile;

use common::{dir, drivers, skipped};

#[test]
fn descriptors_are_closed_whatever_happens() {
    let count = || fs::read_dir("/proc/self/fd").map(Iterator::count);
    if count().is_err() {
        return skipped("descriptors_are_closed_whatever_happens", "/proc is not mounted");
    }
    let folder = tempfile::tempdir().unwrap();
    let here = dir(folder.path());
    let names: Vec<_> = (0..300).map(|number| CString::new(format!("{number}")).unwrap()).collect();
    for (number, name) in names.iter().enumerate() {
        match number % 4 {
            0 => here.make_dir(name.to_bytes(), 0o700).unwrap(),
            1 => rustix::fs::mknodat(&here, name.as_c_str(), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap(),
            2 => fs::write(folder.path().join(name.to_str().unwrap()), "contents").unwrap(),
            _ => {}
        }
    }
    let requests: Vec<_> = (0..300)
        .map(|number| ReadFile {
            dir: here.as_fd(),
            name: &names[number],
            at: 8 * number,
            len: if number % 8 == 2 { 0 } else { 8 },
        })
        .collect();
    for mut io in drivers("descriptors_are_closed_whatever_happens", 16) {
        let before = count().unwrap();
        let mut results = Vec::new();
        for _ in 0..20 {
            io.read_files(&mut vec![0; 2400], &requests, &mut results).unwrap();
            assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 75);
        }
        assert_eq!(count().unwrap(), before, "{:?}", io.kind());
    }
    let before = count().unwrap();
    drop(drivers("descriptors_are_closed_whatever_happens", 16));
    assert_eq!(count().unwrap(), before);
}
