//! The same for hard links, symbolic links and the policies for what is there already, which the
//! stories do not have: frames that are made here, and lanes without a session.
use std::collections::BTreeMap;
use std::fs;
use std::io::{Cursor, Read};
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use ringway_model::OnConflict;
use ringway_sys::file_io::{FileIo, IoMode};
use ringway_tree::bulk::LaneSource;
use ringway_tree::disk::Disk;
use ringway_tree::receive::{DestinationOptions, Incoming};
use ringway_wire::lane::{Attributes, Counts, Entry, EntryKind, FrameHeader, HeadBuffer, Timestamp, Xattrs};
use ringway_wire::{Name, RelPath};

use crate::disk::{BTRFS, EXT4, Found, Promise, Simulated};
use crate::random::Random;
use crate::receiver::{is_staging, options};
use crate::source::TOP;

const MTIME: Timestamp = Timestamp { secs: 700, nanos: 0 };

/// What was there before, and is of other contents than what comes.
const OLD: &[u8] = b"of the receiver, and older";

/// Power cuts before each operation.
const CUTS: u64 = 3;

struct Bytes(Cursor<Vec<u8>>);

impl LaneSource for Bytes {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(buf)
    }
}

fn contents(name: &str) -> Vec<u8> {
    name.bytes().cycle().take(5_000 + name.len()).collect()
}

/// Files `a` and `c`, a further name `b` of the first, and a link `s`.
fn lane() -> (Vec<u8>, Counts) {
    let mut head = HeadBuffer::default();
    let attributes = Attributes { mode: 0o755, mtime: MTIME, ..Attributes::default() };
    head.folder_with_attributes(RelPath::new(TOP).expect("a path"), &attributes, Xattrs::default());
    let mut body = Vec::new();
    for name in ["a", "c"] {
        let link_id = (name == "a").then_some(1);
        let bytes = contents(name);
        head.entry(&entry(name, EntryKind::File { size: bytes.len() as u64, link_id }));
        body.extend(bytes);
    }
    head.entry(&entry("s", EntryKind::Symlink { target: b"a" }));
    head.entry(&entry("b", EntryKind::HardLink { link_id: 1, last: true }));
    let header = head.batch_header(body.len());
    let bytes = [&header.encode(), head.as_bytes(), &body, &FrameHeader::END.encode()].concat();
    (bytes, head.counts())
}

fn entry<'n>(name: &'n str, kind: EntryKind<'n>) -> Entry<'n> {
    let attributes = Attributes { mode: 0o644, mtime: MTIME, ..Attributes::default() };
    Entry { name: Name::new(name.as_bytes()).expect("a name"), kind, attributes, xattrs: Xattrs::default() }
}

/// One attempt; false if the receiver was killed.
fn attempt(disk: &Arc<Simulated>, on_conflict: OnConflict) -> bool {
    let options = DestinationOptions { on_conflict, ..options(disk, [7; 16], false) };
    let on: Arc<dyn Disk> = disk.clone();
    let Ok(incoming) = Incoming::begin_on(options, on) else { return false };
    let (bytes, counts) = lane();
    let mut io = FileIo::new(IoMode::Sync, 64).expect("plain calls");
    if incoming.run_lane(&mut Bytes(Cursor::new(bytes)), &mut io).is_err() {
        return false;
    }
    let finished = incoming.finish(&counts);
    if disk.state().died_in().is_some() {
        return false;
    }
    let (receipt, _) = finished.expect("nothing went wrong");
    // A name of what is kept as it is does not become a link to it.
    let failed = u64::from(on_conflict == OnConflict::Keep);
    assert_eq!(receipt.failed, failed, "{:?}", incoming.take_failures());
    true
}

fn site(is_there: bool, magic: usize) -> Arc<Simulated> {
    let disk = Simulated::new();
    disk.state().filesystem = [EXT4, BTRFS][magic];
    if is_there {
        disk.outside(|inbox| {
            fs::create_dir(inbox.join("data")).expect("a folder");
            for name in ["a", "c", "own"] {
                fs::write(inbox.join("data").join(name), OLD).expect("memory takes it");
            }
        });
    }
    disk
}

type Files = BTreeMap<Vec<u8>, Found>;

/// Whatever has happened: what was the receiver's alone is as it was, and the rest is a whole file,
/// the old one or the new one.
fn check_at_any_time(files: &Files, is_there: bool, on_conflict: OnConflict) {
    for (path, found) in files.iter().filter(|(path, _)| !is_staging(&path[1..])) {
        let name = &path[1..2];
        let new = contents(if name == b"c" { "c" } else { "a" });
        let is_new = found.bytes == new && found.mtime == MTIME;
        assert!(is_new || found.bytes == OLD, "{} is neither", path.escape_ascii());
    }
    if is_there {
        let stays: &[&[u8]] = if on_conflict == OnConflict::Replace { &[b"/own"] } else { &[b"/own", b"/a", b"/c"] };
        for path in stays {
            let found = files.get(*path).unwrap_or_else(|| panic!("{} has gone", path.escape_ascii()));
            assert_eq!(found.bytes, OLD, "{} was changed", path.escape_ascii());
        }
    }
}

/// And in the end all of it is there, once.
fn check_in_the_end(disk: &Simulated, is_there: bool, on_conflict: OnConflict) {
    let files = disk.state().files(TOP, None);
    check_at_any_time(&files, is_there, on_conflict);
    assert!(disk.state().tops().iter().all(|name| !is_staging(name)), "a staging folder is left");
    assert!(files.keys().all(|path| !is_staging(&path[1..])), "a temporary name is left");
    let at = |name: &str| disk.inbox().join("data").join(name);
    assert_eq!(fs::read_link(at("s")).expect("a link").as_os_str(), "a");
    let copies = |name: &str| files.values().filter(|found| found.bytes == contents(name)).count();
    if is_there && on_conflict == OnConflict::Keep {
        assert_eq!(copies("c"), 0);
        return;
    }
    assert_eq!(copies("c"), 1, "{:?}", files.keys());
    let first = if is_there && on_conflict == OnConflict::Rename { "a (1)" } else { "a" };
    if is_there && on_conflict == OnConflict::Rename {
        assert!(copies("a") >= 2, "{:?}", files.keys());
    } else {
        assert_eq!(copies("a"), 2, "{:?}", files.keys());
        let same = |name: &str| fs::metadata(at(name)).expect("it is there").ino();
        assert_eq!(same(first), same("b"), "they are one file");
    }
}

fn walk(is_there: bool, on_conflict: OnConflict) {
    for magic in 0..2 {
        let disk = site(is_there, magic);
        let before = disk.state().calls();
        assert!(attempt(&disk, on_conflict));
        check_in_the_end(&disk, is_there, on_conflict);
        let operations = disk.state().calls() - before;
        for at in 0..operations {
            for time in 0..=CUTS {
                let disk = site(is_there, magic);
                disk.state().dies_after(at);
                assert!(!attempt(&disk, on_conflict), "it was not killed before operation {at}");
                if time > 0 {
                    let after = disk.state().after(Promise::Order, &mut Random::new(at as u64 * CUTS + time));
                    disk.lose_power(&after);
                }
                disk.revive();
                check_at_any_time(&disk.state().files(TOP, None), is_there, on_conflict);
                assert!(attempt(&disk, on_conflict), "operation {at}, cut {time}");
                check_in_the_end(&disk, is_there, on_conflict);
            }
        }
        println!("{operations} operations");
    }
}

#[test]
fn links_in_a_new_folder_survive_a_crash_before_each_operation() {
    walk(false, OnConflict::Replace);
}

#[test]
fn links_that_replace_files_survive_a_crash_before_each_operation() {
    walk(true, OnConflict::Replace);
}

#[test]
fn files_that_are_kept_survive_a_crash_before_each_operation() {
    walk(true, OnConflict::Keep);
}

#[test]
fn files_beside_numbered_ones_survive_a_crash_before_each_operation() {
    walk(true, OnConflict::Rename);
}
