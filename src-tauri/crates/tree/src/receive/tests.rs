//! Drives real lanes with frames made by wire's own encoder, into real folders, and looks at what
//! is there.
use std::collections::HashMap;
use std::fs;
use std::io::{self, Cursor, Read};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, mpsc};

use parking_lot::Mutex;
use ringway_model::{Edit, Failure, FailureReason, TransferId};
use ringway_sys::attributes::{Metadata, metadata_of};
use ringway_sys::file_io::{FileIo, IoMode};
use ringway_wire::control::Wanted;
use ringway_wire::lane::{
    Attributes, Counts, DIGEST_LEN, Digest, Entry, EntryKind, FrameHeader, HeadBuffer, OwnerNames, RangeHead,
    RangeStep, Timestamp, XattrBuffer, Xattrs,
};
use ringway_wire::offered::NameCollector;
use ringway_wire::{Name, OfferedNames, RelPath, control};

use super::*;
use crate::bulk::LaneSource;

mod beside;
mod changed;
mod edited;
mod ends;
mod fresh;
mod hostile;
mod kept;
mod landed;
mod lists;
mod merging;
mod oracle;
mod own;
mod owners;
mod parts;
mod proving;
mod saved;

const MTIME: Timestamp = Timestamp { secs: 1_600_000_000, nanos: 123_456_789 };

/// Folders whose owner may not enter them cannot be removed by who is not root.
impl Drop for Site {
    fn drop(&mut self) {
        let opened = std::process::Command::new("chmod").args(["-R", "u+rwX"]).arg(&self.root).output();
        drop(opened);
    }
}

/// A lane's bytes from memory.
struct Wire(Cursor<Vec<u8>>);

impl Wire {
    fn new(bytes: Vec<u8>) -> Self {
        Self(Cursor::new(bytes))
    }
}

impl LaneSource for Wire {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.read(buf)
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
    packs: bool,
    /// Digests go along.
    proves: bool,
    /// Of which version of it a large file is that follows.
    stamp: u64,
    head: HeadBuffer,
    body: Vec<u8>,
}

impl Lane {
    /// What follows is packed, where that is shorter.
    fn packing(self) -> Self {
        Self { packs: true, ..self.flush() }
    }

    /// Large files that follow are of that version.
    fn of_version(self, stamp: u64) -> Self {
        Self { stamp, ..self.flush() }
    }

    /// Digests of what follows go along.
    fn proving(self) -> Self {
        Self { proves: true, ..self.flush() }
    }

    fn digest(&self, contents: &[u8]) -> Option<Digest> {
        self.proves.then(|| Digest(*blake3::hash(contents).as_bytes()))
    }

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
        if matches!(entry.kind, EntryKind::File { .. }) {
            self.digest(contents).into_iter().for_each(|digest| self.head.digest(digest));
        }
        self.body.extend_from_slice(contents);
        if !self.head.has_room() || self.body.len() > 512 * 1024 { self.flush() } else { self }
    }

    fn file(self, at: &str, contents: &[u8]) -> Self {
        self.entry(&file(at, contents.len(), 0o644), contents)
    }

    /// Ends the batch.
    fn flush(mut self) -> Self {
        if !self.head.is_empty() {
            let (header, body) = (self.head.batch_header(self.body.len()), std::mem::take(&mut self.body));
            self.frame(header, &body);
            self.sent += self.head.counts();
            self.head.clear();
        }
        self
    }

    fn frame(&mut self, mut header: FrameHeader, body: &[u8]) {
        let packed = zstd::bulk::compress(body, 1).unwrap();
        let packs = self.packs && packed.len() < body.len();
        header.packed_len = if packs { packed.len() as u32 } else { 0 };
        self.bytes.extend_from_slice(&header.encode());
        self.bytes.extend_from_slice(self.head.as_bytes());
        self.bytes.extend_from_slice(if packs { &packed } else { body });
    }

    /// Names files without their contents.
    fn list(self, number: u32, at: &str, entries: &[Entry<'_>]) -> Self {
        let mut lane = self.flush();
        lane.head.begin_large_list(number, lane.stamp);
        lane.head.folder(path(at));
        entries.iter().for_each(|entry| lane.head.entry(entry));
        let header = lane.head.list_header();
        lane.frame(header, &[]);
        lane.head.clear();
        lane
    }

    /// Names files to who has kept some of them, without telling what their contents are.
    fn list_again(self, number: u32, at: &str, entries: &[Entry<'_>]) -> Self {
        let mut lane = self.flush();
        lane.head.begin_large_list(number, lane.stamp);
        lane.head.folder(path(at));
        for entry in entries {
            lane.head.entry(entry);
            lane.head.digest(Digest::NONE);
        }
        let header = lane.head.list_header();
        lane.frame(header, &[]);
        lane.head.clear();
        lane
    }

    /// Names files with the digests of their contents.
    fn list_proven(self, number: u32, at: &str, files: &[(&str, &[u8])]) -> Self {
        let mut lane = self.flush();
        lane.head.begin_large_list(number, lane.stamp);
        lane.head.folder(path(at));
        for (name, contents) in files {
            lane.head.entry(&file(name, contents.len(), 0o644));
            lane.digest(contents).into_iter().for_each(|digest| lane.head.digest(digest));
        }
        let header = lane.head.list_header();
        lane.frame(header, &[]);
        lane.head.clear();
        lane
    }

    /// Tells what chunks a file has from an offset on: how long they are, and of which contents
    /// their digests are.
    fn chunks(self, number: u32, at: &str, entry: Entry<'_>, offset: u64, chunks: &[(usize, &[u8])]) -> Self {
        self.chunks_of(0, number, at, entry, offset, chunks)
    }

    /// The same of a file with another id.
    fn chunks_of(
        self,
        file_id: u64,
        number: u32,
        at: &str,
        entry: Entry<'_>,
        offset: u64,
        chunks: &[(usize, &[u8])],
    ) -> Self {
        let mut lane = self.flush();
        let (step, stamp, folder) = (RangeStep::More, lane.stamp, path(at));
        lane.head.begin_chunks(
            number,
            &RangeHead { file_id, offset, step, stamp, folder, entry, owner_names: OwnerNames::default() },
        );
        for (len, contents) in chunks {
            lane.head.chunk(*len as u32, Digest(*blake3::hash(contents).as_bytes()));
        }
        let header = lane.head.chunks_header();
        lane.frame(header, &[]);
        lane.head.clear();
        lane
    }

    /// What the receiver said it has of the lists.
    fn had(mut self, files: u64, bytes: u64) -> Self {
        self.sent += Counts { files, bytes, ..Counts::default() };
        self
    }

    fn range(self, id: u64, at: &str, entry: Entry<'_>, offset: u64, body: &[u8], step: RangeStep) -> Self {
        let mut lane = self.flush();
        let head = RangeHead {
            file_id: id,
            offset,
            step,
            stamp: lane.stamp,
            folder: path(at),
            entry,
            owner_names: OwnerNames::default(),
        };
        let header = match lane.digest(body) {
            Some(digest) => lane.head.proven_range(&head, body.len(), digest),
            None => lane.head.range(&head, body.len()),
        };
        lane.frame(header, body);
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
    _home: Option<tempfile::TempDir>,
    root: PathBuf,
    /// What the sender has brought, as the store would have it.
    brought: Arc<Mutex<HashMap<Vec<u8>, Brought>>>,
}

impl Site {
    fn new() -> Self {
        Self::within(tempfile::tempdir().unwrap())
    }

    /// Where making very many entries costs no disk.
    fn in_memory() -> Self {
        Self::within(tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap())
    }

    fn within(home: tempfile::TempDir) -> Self {
        let root = home.path().join("inbox");
        Self { _home: Some(home), root, brought: Arc::default() }
    }

    fn options(&self, on_conflict: OnConflict) -> DestinationOptions {
        let (brought, announced) = (Arc::clone(&self.brought), Arc::clone(&self.brought));
        DestinationOptions {
            destination: self.root.clone(),
            expected: Expected::Made,
            transfer: TransferId([7; 16]),
            on_conflict,
            keep_owner: false,
            owners_by_name: false,
            keep_setuid: false,
            keep_acls: false,
            widen_modes: false,
            brought_before: Box::new(move |top| brought.lock().get(top).cloned()),
            others_brought: Box::new(|| false),
            announce: Some(Box::new(move |all| announced.lock().extend(all))),
            whose: None,
            recall: None,
            attempt: AttemptKey::new(b"a device", &OfferedNames::default()),
            from: String::new(),
            names: vec![b"old".to_vec()],
            more_names: 0,
            offered: None,
            asked: None,
            answers: None,
            open: ForReceiving::MOST,
            prove: false,
            allowance: None,
            own: Default::default(),
            into_home: Default::default(),
            homes: Default::default(),
            tops: Default::default(),
        }
    }

    fn begin(&self, on_conflict: OnConflict) -> Arc<Incoming> {
        Incoming::begin(self.options(on_conflict)).unwrap()
    }

    /// Receives lanes, and remembers what they brought.
    fn receive(&self, options: DestinationOptions, lanes: Vec<Lane>) -> (control::Receipt, Vec<Edit>, Vec<Failure>) {
        let incoming = Incoming::begin(options).unwrap();
        let (receipt, _, failures) = cross(&incoming, lanes);
        self.remember(&incoming);
        (receipt, incoming.results().take_edits(), failures)
    }

    fn remember(&self, incoming: &Incoming) {
        self.brought.lock().extend(incoming.take_brought());
    }

    /// For an offer of those top-level names.
    fn begin_offered(&self, on_conflict: OnConflict, names: &[&str]) -> Arc<Incoming> {
        let mut offered = NameCollector::default();
        names.iter().for_each(|text| offered.add(name(text)).unwrap());
        let offered = Some(Arc::new(offered.sorted()));
        Incoming::begin(DestinationOptions { offered, ..self.options(on_conflict) }).unwrap()
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
            scope.spawn(move || incoming.run_lane(&mut Wire::new(bytes), &mut io(IoMode::Auto)).unwrap());
        }
    });
    let (receipt, arrived) = incoming.finish(&declared).unwrap();
    (receipt, arrived, incoming.results().take_failures())
}

/// A filesystem mounted for a test, where that is allowed.
struct Mount(PathBuf);

impl Mount {
    fn tmpfs(at: &Path, options: &str) -> Option<Self> {
        Self::by(at, &["-t", "tmpfs", "-o", options, "tmpfs"])
    }

    fn bind(from: &Path, at: &Path) -> Option<Self> {
        Self::by(at, &["--bind", from.to_str().unwrap()])
    }

    fn by(at: &Path, arguments: &[&str]) -> Option<Self> {
        let mount = std::process::Command::new("mount").args(arguments).arg(at).output();
        if mount.is_ok_and(|output| output.status.success()) {
            return Some(Self(at.to_owned()));
        }
        println!("skipped: this machine does not mount {}", arguments.join(" "));
        None
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// A filesystem of its own in an image, made and mounted where that is possible; xfs is no smaller.
fn filesystem(image: &Path, at: &Path, make: &[&str]) -> Option<Mount> {
    fs::File::create(image).unwrap().set_len(320 << 20).unwrap();
    let made = std::process::Command::new(make[0]).args(&make[1..]).arg(image).output();
    if !made.is_ok_and(|output| output.status.success()) {
        println!("skipped: {} makes no such filesystem here", make[0]);
        return None;
    }
    // What a vfat cannot keep of a mode is no failure with this.
    let options = if make[0] == "mkfs.vfat" { "loop,quiet" } else { "loop" };
    Mount::by(at, &["-o", options, image.to_str().unwrap()])
}

/// A medium that alters what it has: neither size nor times tell.
#[derive(Default)]
struct Medium(Mutex<HashMap<u64, (ringway_sys::attributes::Timestamp, ringway_sys::attributes::Timestamp)>>);

impl Medium {
    /// Flips a bit.
    fn alter(&self, path: &Path, at: u64) {
        let file = fs::File::options().read(true).write(true).open(path).unwrap();
        let before = metadata_of(&file).unwrap();
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 0x10], at).unwrap();
        ringway_sys::attributes::set_file_times(&file, before.mtime).unwrap();
        self.0.lock().insert(before.ino, (metadata_of(&file).unwrap().ctime, before.ctime));
    }

    fn metadata(&self, file: BorrowedFd<'_>) -> io::Result<Metadata> {
        let there = metadata_of(file)?;
        match self.0.lock().get(&there.ino) {
            Some((after, before)) if *after == there.ctime => Ok(Metadata { ctime: *before, ..there }),
            _ => Ok(there),
        }
    }
}

/// Takes so many answers to lists.
fn answers_to(most: usize) -> (Answers, mpsc::Receiver<Wanted>) {
    let (sender, answers) = mpsc::sync_channel(most);
    (Box::new(move |wanted| sender.send(wanted).is_ok()), answers)
}
