//! Who has a file open for writing.
use std::fs::{self, File};

use ringway_sys::writers::has_writers;

#[test]
fn a_file_has_writers_while_it_is_open_for_writing() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("file");
    fs::write(&at, "text").unwrap();
    let file = File::open(&at).unwrap();
    let another = File::open(&at).unwrap();
    assert!(!has_writers(&file));
    let writer = File::options().append(true).open(&at).unwrap();
    assert!(has_writers(&file));
    fs::remove_file(&at).unwrap();
    assert!(has_writers(&file), "it has no name any more");
    drop(writer);
    assert!(!has_writers(&file) && !has_writers(&another));
}

#[test]
fn opening_a_file_that_is_looked_at_ends_no_program() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("file");
    fs::write(&at, "text").unwrap();
    let file = File::open(&at).unwrap();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            (0..20_000).for_each(|_| {
                has_writers(&file);
            });
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
            drop(File::options().write(true).open(&at).unwrap());
        }
    });
}
