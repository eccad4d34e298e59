//! Drives real lanes with frames made by wire's own encoder, into real folders, and looks at what is there.
use std::fs;
use std::io::{self, Cursor, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ringway_sys::file_io::{FileIo, IoMode};
use ringway_wire::lane::{
    Attributes, Counts, Entry, EntryKind, FrameHeader, HeadBuffer, RangeHead, RangeStep, Timestamp, XattrBuffer, Xattrs,
};
use ringway_wire::{Name, RelPath};

use super::*;
use crate::error::FailureReason;

const MTIME: Timestamp = Timestamp { secs: 1_600_000_000, nanos: 123_456_789 };

impl LaneSource for Cursor<Vec<u8>> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        Read::read(self, buf)
    }
}

fn path(text: &str) -> RelPath<'_> {
    RelPath::new(text.as_bytes()).unwrap()
}

fn name(text: &str) -> Name<'_> {
    Name::new(text.as_bytes()).unwrap()
}

fn attributes(mode: u16) -> Attributes {
    Attributes { mode, uid: 0, gid: 0, mtime: MTIME }
}

fn file<'a>(text: &'a str, size: usize, mode: u16) -> Entry<'a> {
    let kind = EntryKind::File { size: size as u64, link_id: None };
    Entry { name: name(text), kind, attributes: attributes(mode), xattrs: Xattrs::default() }
}

fn linked<'a>(text: &'a str, size: usize, id: u64) -> Entry<'a> {
    Entry { kind: EntryKind::File { size: size as u64, link_id: Some(id) }, ..file(text, size, 0o644) }
}

fn hard_link(text: &str, link_id: u64, last: bool) -> Entry<'_> {
    Entry { kind: EntryKind::HardLink { link_id, last }, ..file(text, 0, 0o644) }
}

fn symlink<'a>(text: &'a str, target: &'a str) -> Entry<'a> {
    Entry { kind: EntryKind::Symlink { target: target.as_bytes() }, ..file(text, 0, 0o777) }
}

/// A lane's bytes being written, and what they declare.
#[derive(Default)]
struct Lane {
    bytes: Vec<u8>,
    sent: Counts,
    head: HeadBuffer,
    body: Vec<u8>,
}

impl Lane {
    fn folder(mut self, at: &str) -> Self {
        self.head.folder(path(at));
        self
    }

    fn made(mut self, at: &str, mode: u16) -> Self {
        self.head.folder_with_attributes(path(at), &attributes(mode), Xattrs::default());
        self
    }

    fn entry(mut self, entry: &Entry<'_>, contents: &[u8]) -> Self {
        self.head.entry(entry);
        self.body.extend_from_slice(contents);
        if !self.head.has_room() || self.body.len() > 512 * 1024 { self.flush() } else { self }
    }

    fn file(self, at: &str, contents: &[u8]) -> Self {
        self.entry(&file(at, contents.len(), 0o644), contents)
    }

    /// Ends the batch.
    fn flush(mut self) -> Self {
        if !self.head.is_empty() {
            self.bytes.extend_from_slice(&self.head.batch_header(self.body.len()).encode());
            self.bytes.extend_from_slice(self.head.as_bytes());
            self.bytes.extend_from_slice(&self.body);
            self.sent += self.head.counts();
            self.head.clear();
            self.body.clear();
        }
        self
    }

    fn range(self, id: u64, at: &str, entry: Entry<'_>, offset: u64, body: &[u8], step: RangeStep) -> Self {
        let mut lane = self.flush();
        let head = RangeHead { file_id: id, offset, step, folder: path(at), entry };
        let header = lane.head.range(&head, body.len());
        lane.bytes.extend_from_slice(&header.encode());
        lane.bytes.extend_from_slice(lane.head.as_bytes());
        lane.bytes.extend_from_slice(body);
        lane.sent += lane.head.counts();
        lane.head.clear();
        lane
    }

    fn end(self) -> (Vec<u8>, Counts) {
        let mut lane = self.flush();
        lane.bytes.extend_from_slice(&FrameHeader::END.encode());
        (lane.bytes, lane.sent)
    }
}

/// A destination under test.
struct Site {
    _home: tempfile::TempDir,
    root: PathBuf,
}

impl Site {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("inbox");
        Self { _home: home, root }
    }

    fn options(&self, on_conflict: OnConflict) -> DestinationOptions {
        DestinationOptions {
            destination: self.root.clone(),
            transfer: TransferId([7; 16]),
            on_conflict,
            keep_owner: false,
            keep_setuid: false,
            known_from_same_device: Box::new(|top| top == b"known"),
        }
    }

    fn begin(&self, on_conflict: OnConflict) -> Arc<Incoming> {
        Incoming::begin(self.options(on_conflict)).unwrap()
    }

    fn at(&self, rel: &str) -> PathBuf {
        self.root.join(rel)
    }

    fn text(&self, rel: &str) -> String {
        fs::read_to_string(self.at(rel)).unwrap_or_else(|error| panic!("{rel}: {error}"))
    }

    fn names(&self) -> Vec<String> {
        names_in(&self.root)
    }
}

fn names_in(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn io(mode: IoMode) -> FileIo {
    FileIo::new(mode, 64).unwrap()
}

/// Runs lanes at once, then finishes by what they declare.
fn cross(incoming: &Incoming, lanes: Vec<Lane>) -> (control::Receipt, Vec<PathBuf>, Vec<Failure>) {
    let mut declared = Counts::default();
    std::thread::scope(|scope| {
        for lane in lanes {
            let (bytes, sent) = lane.end();
            declared += sent;
            scope.spawn(move || incoming.run_lane(&mut Cursor::new(bytes), &mut io(IoMode::Auto)).unwrap());
        }
    });
    let (receipt, arrived) = incoming.finish(&declared).unwrap();
    (receipt, arrived, incoming.take_failures())
}

use ringway_wire::control;

#[test]
fn a_fresh_tree_appears_whole_and_staging_goes() {
    for mode in [IoMode::Sync, IoMode::Auto] {
        let site = Site::new();
        let incoming = site.begin(OnConflict::Replace);
        let mut xattrs = XattrBuffer::default();
        assert!(xattrs.push(b"user.origin", b"lab"));
        let lane = Lane::default()
            .made("tree", 0o755)
            .file("a", b"alpha")
            .entry(&file("b", 0, 0o4755), b"")
            .made("tree/deep/er", 0o500)
            .entry(&Entry { xattrs: xattrs.as_xattrs(), ..file("x", 3, 0o400) }, b"xxx")
            .entry(&symlink("link", "../../../etc/passwd"), b"")
            .made("tree/deep", 0o711)
            .made("tree/empty", 0o1777);
        let (bytes, sent) = lane.end();
        incoming.run_lane(&mut Cursor::new(bytes), &mut io(mode)).unwrap();
        assert!(!site.at("tree").exists(), "visible before it is whole");
        let (receipt, arrived) = incoming.finish(&sent).unwrap();
        assert_eq!(incoming.take_failures(), []);
        assert_eq!(receipt.there, sent);
        assert_eq!((receipt.unchanged, receipt.failed), (0, 0));
        assert_eq!(arrived, [site.at("tree")]);
        assert_eq!(site.names(), ["tree"]);
        assert_eq!(site.text("tree/a"), "alpha");
        assert_eq!(fs::read_link(site.at("tree/deep/er/link")).unwrap(), Path::new("../../../etc/passwd"));
        for (rel, mode) in [
            ("tree", 0o755),
            ("tree/a", 0o644),
            ("tree/b", 0o755),
            ("tree/deep", 0o711),
            ("tree/deep/er", 0o500),
            ("tree/deep/er/x", 0o400),
            ("tree/deep/er/link", 0o777),
            ("tree/empty", 0o1777),
        ] {
            let there = fs::symlink_metadata(site.at(rel)).unwrap();
            assert_eq!(there.permissions().mode() & 0o7777, mode, "{rel}");
            assert_eq!((there.mtime(), there.mtime_nsec()), (MTIME.secs, MTIME.nanos.into()), "{rel}");
        }
    }
}

#[test]
fn lanes_bring_ranges_in_any_order() {
    let site = Site::new();
    let incoming = site.begin(OnConflict::Replace);
    let size = 3_000_000;
    let contents: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
    let entry = file("big", size, 0o640);
    let third = size / 3;
    let piece = |n: usize| &contents[n * third..(n + 1) * third];
    let lane = |n: usize, step| Lane::default().range(0, "tree/sub", entry, (n * third) as u64, piece(n), step);
    let whole = RangeStep::Last { data_bytes: size as u64 };
    let sparse = Lane::default()
        .range(1, "tree", file("sparse", 1 << 33, 0o600), 1 << 32, b"middle", RangeStep::Last { data_bytes: 6 })
        .range(2, "tree", file("void", 9, 0o600), 0, b"gone", RangeStep::More)
        .range(2, "tree", file("void", 9, 0o600), 0, b"", RangeStep::Abandoned);
    let (receipt, _, failures) =
        cross(&incoming, vec![lane(2, RangeStep::More), lane(0, whole), sparse, lane(1, RangeStep::More)]);
    assert_eq!(failures, []);
    assert_eq!((receipt.there.files, receipt.there.bytes), (2, size as u64 + 6));
    assert_eq!(fs::read(site.at("tree/sub/big")).unwrap(), contents);
    let sparse = fs::metadata(site.at("tree/sparse")).unwrap();
    assert_eq!(sparse.len(), 1 << 33);
    assert!(sparse.blocks() < 1000, "holes are kept");
    assert_eq!(names_in(&site.at("tree")), ["sparse", "sub"]);
    assert_eq!(sparse.mtime(), MTIME.secs);
}

#[test]
fn merging_replaces_what_differs_and_leaves_the_rest() {
    let site = Site::new();
    fs::create_dir_all(site.at("tree/sub")).unwrap();
    for (rel, text) in [("tree/old", "old"), ("tree/other", "mine"), ("tree/sub/kept", "kept")] {
        fs::write(site.at(rel), text).unwrap();
    }
    let lane = || {
        Lane::default()
            .made("tree", 0o750)
            .file("old", b"newer")
            .file("fresh", b"f")
            .made("tree/sub", 0o755)
            .file("s", b"s")
    };
    let incoming = site.begin(OnConflict::Replace);
    let (receipt, arrived, failures) = cross(&incoming, vec![lane()]);
    assert_eq!(failures, []);
    assert_eq!((receipt.there.files, receipt.unchanged), (3, 0));
    assert_eq!(arrived, [site.at("tree")]);
    assert_eq!(site.text("tree/old"), "newer");
    assert_eq!(site.text("tree/other"), "mine");
    assert_eq!(site.text("tree/sub/kept"), "kept");
    assert_eq!(fs::metadata(site.at("tree")).unwrap().permissions().mode() & 0o7777, 0o750);
    let inode = fs::metadata(site.at("tree/old")).unwrap().ino();
    fs::set_permissions(site.at("tree/old"), fs::Permissions::from_mode(0o600)).unwrap();
    let (receipt, _, _) = cross(&site.begin(OnConflict::Replace), vec![lane()]);
    assert_eq!((receipt.there.files, receipt.unchanged), (3, 3));
    let there = fs::metadata(site.at("tree/old")).unwrap();
    assert_eq!(
        (there.ino(), there.permissions().mode() & 0o7777),
        (inode, 0o644),
        "mode is corrected, nothing rewritten"
    );
    assert_eq!(site.names(), ["tree"]);
}

#[test]
fn keep_and_rename_leave_existing_files_alone() {
    let site = Site::new();
    fs::create_dir_all(site.at("tree")).unwrap();
    fs::write(site.at("tree/a.txt"), "mine").unwrap();
    fs::write(site.at("top.tar.gz"), "mine").unwrap();
    let lane = || Lane::default().made("tree", 0o755).file("a.txt", b"theirs").folder("").file("top.tar.gz", b"theirs");
    let (receipt, ..) = cross(&site.begin(OnConflict::Keep), vec![lane()]);
    assert_eq!((receipt.there.files, receipt.unchanged), (2, 2));
    assert_eq!(names_in(&site.at("tree")), ["a.txt"]);
    for round in 1..=2 {
        let (_, arrived, failures) = cross(&site.begin(OnConflict::Rename), vec![lane()]);
        assert_eq!(failures, []);
        assert_eq!(site.text(&format!("tree/a ({round}).txt")), "theirs");
        assert_eq!(arrived, [site.at("tree"), site.at(&format!("top.tar ({round}).gz"))]);
    }
    assert_eq!((site.text("tree/a.txt").as_str(), site.text("top.tar.gz").as_str()), ("mine", "mine"));
}

#[test]
fn rename_top_numbers_unknown_folders_and_merges_known_ones() {
    let site = Site::new();
    for rel in ["tree", "known"] {
        fs::create_dir_all(site.at(rel)).unwrap();
        fs::write(site.at(rel).join("a"), "mine").unwrap();
    }
    fs::write(site.at("plain"), "mine").unwrap();
    let lane = Lane::default()
        .made("tree", 0o755)
        .file("a", b"theirs")
        .made("known", 0o755)
        .file("a", b"theirs")
        .made("plain", 0o755)
        .file("a", b"theirs");
    let (_, _, failures) = cross(&site.begin(OnConflict::RenameTop), vec![lane]);
    assert_eq!(failures, []);
    assert_eq!(site.names(), ["known", "plain", "plain (1)", "tree", "tree (1)"]);
    assert_eq!(site.text("tree/a"), "mine");
    assert_eq!(site.text("tree (1)/a"), "theirs");
    assert_eq!(site.text("known/a"), "theirs");
    assert_eq!(site.text("plain (1)/a"), "theirs");
}

#[test]
fn hard_links_find_their_file_on_any_lane() {
    let site = Site::new();
    let incoming = site.begin(OnConflict::Replace);
    let early = Lane::default()
        .made("tree/z", 0o755)
        .entry(&hard_link("b", 1, false), b"")
        .entry(&hard_link("c", 9, true), b"");
    let late =
        Lane::default().made("tree", 0o555).entry(&linked("a", 3, 1), b"abc").entry(&hard_link("d", 1, true), b"");
    let mut declared = Counts::default();
    for lane in [early, late] {
        let (bytes, sent) = lane.end();
        declared += sent;
        incoming.run_lane(&mut Cursor::new(bytes), &mut io(IoMode::Sync)).unwrap();
    }
    let (receipt, _) = incoming.finish(&declared).unwrap();
    let failures = incoming.take_failures();
    assert_eq!(failures.len(), 1);
    assert_eq!(failures[0].path, Path::new("tree/z/c"));
    assert_eq!(failures[0].reason, FailureReason::LinkTargetMissing);
    assert_eq!((receipt.there.links, receipt.failed), (2, 1));
    let inode = |rel: &str| fs::metadata(site.at(rel)).unwrap().ino();
    assert_eq!(inode("tree/a"), inode("tree/z/b"));
    assert_eq!(inode("tree/a"), inode("tree/d"));
    assert_eq!(fs::metadata(site.at("tree/z")).unwrap().mtime(), MTIME.secs, "the early link came before the time");
}
