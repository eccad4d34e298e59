//! The sinks of the tests, which parse every frame, keep accounts, and rebuild the tree in memory.
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fs, io};

use parking_lot::Mutex;
use ringway_model::{Delta, Failure, FailureReason, Source};
use ringway_sys::file_io::{FileIo, IoMode};
use ringway_wire::control::Wanted;
use ringway_wire::lane::{
    AclKind, Attributes, Batch, ChunkLens, ChunkWindow, Counts, EntryKind, FileList, FrameHeader, FrameKind,
    HEADER_LEN, Item, RangeHead, Xattrs,
};
use ringway_wire::ledger::{Ledger, RangedState};
use ringway_wire::stretches::Stretches;

use crate::bulk::LaneSink;
use crate::chunking::Cutter;
use crate::send::Outgoing;
use crate::send::queue::QUEUE_UNITS_MAX;

pub(super) use crate::deadline::{comes, until};

pub(super) type XattrList = Vec<(Vec<u8>, Vec<u8>)>;

/// An entry at the receiver.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Arrived {
    Folder(Attributes, XattrList),
    File { contents: Vec<u8>, attributes: Attributes, xattrs: XattrList, link_id: Option<u64> },
    Symlink(Vec<u8>),
    HardLink(u64),
}

/// Everything that arrived on all lanes.
#[derive(Default)]
pub(super) struct Received {
    pub(super) ledger: Ledger,
    pub(super) entries: BTreeMap<Vec<u8>, Arrived>,
    pub(super) ranged: HashMap<u64, Vec<u8>>,
    /// The lanes on which ranges of a file arrived.
    pub(super) lanes_of: HashMap<u64, BTreeSet<usize>>,
    pub(super) ends: u64,
    pub(super) last_links: u64,
    /// Files that the receiver has before the transfer: contents by path.
    pub(super) has: HashMap<Vec<u8>, Vec<u8>>,
    /// Whether digests are sent.
    pub(super) proves: bool,
    /// Whether those files stay whatever is sent, and nothing is linked to them.
    pub(super) keeps: bool,
    /// Files that were begun before, by path: the parts that exist, among zeros.
    pub(super) begun: HashMap<Vec<u8>, (Stretches, Vec<u8>)>,
    /// Files that are replaced, by path, and the beginnings of the chunks into which they are cut.
    pub(super) old: HashMap<Vec<u8>, OldFile>,
    /// Bytes that were found in those.
    pub(super) reused: u64,
    /// Lanes except the first wait with each range until this is set.
    pub(super) go: Option<Arc<AtomicBool>>,
    /// Lists that were not answered yet.
    pub(super) answers: Vec<Wanted>,
    pub(super) listed: u64,
}

/// A file that is replaced.
pub(super) struct OldFile {
    contents: Vec<u8>,
    chunks: HashMap<[u8; 32], u64>,
}

impl OldFile {
    /// Cuts it like a new file of `size` bytes.
    pub(super) fn new(contents: Vec<u8>, size: u64) -> Self {
        let mut cutter = Cutter::new(ChunkLens::of(size), 0..contents.len() as u64);
        let read = |at: u64, into: &mut [u8]| io::Read::read(&mut &contents[at as usize..], into);
        let chunks = std::iter::from_fn(|| cutter.next(read).unwrap());
        let chunks = chunks.map(|chunk| (chunk.digest.0, chunk.range.start)).collect();
        Self { contents, chunks }
    }
}

impl Received {
    fn put(&mut self, folder: &[u8], name: &[u8], entry: Arrived) {
        let path = [folder, if folder.is_empty() { b"" } else { b"/" }, name].concat();
        let before = self.entries.insert(path.clone(), entry);
        assert!(before.is_none(), "{:?} came twice", String::from_utf8_lossy(&path));
    }

    pub(super) fn file(&self, path: &str) -> &[u8] {
        match self.entries.get(path.as_bytes()) {
            Some(Arrived::File { contents, .. }) => contents,
            other => panic!("{path} is {other:?}"),
        }
    }

    fn range_head<'h>(&self, header: &FrameHeader, head: &'h [u8]) -> RangeHead<'h> {
        match self.proves {
            true => RangeHead::parse_proven(header, head).unwrap().0,
            false => RangeHead::parse(header, head).unwrap(),
        }
    }

    fn frame(&mut self, header: FrameHeader, head: &[u8], body: &[u8]) {
        assert_eq!((header.head_len as usize, header.body_len as usize), (head.len(), body.len()));
        match header.kind {
            FrameKind::Batch if self.proves => self.batch(&Batch::parse_proven(&header, head).unwrap(), body),
            FrameKind::Batch => self.batch(&Batch::parse(&header, head).unwrap(), body),
            FrameKind::Range => self.range(&header, &self.range_head(&header, head), body),
            FrameKind::End => self.ends += 1,
            FrameKind::List => self.list(&FileList::parse(&header, head).unwrap()),
            FrameKind::Renew => panic!("the source knows of no connections"),
            FrameKind::Chunks => self.chunks(&ChunkWindow::parse(&header, head).unwrap()),
        }
    }

    fn list(&mut self, files: &FileList<'_>) {
        let (mut wanted, mut kept) = (Vec::new(), Vec::new());
        for (folder, entry) in files.files() {
            self.listed += 1;
            let path = folder.join(entry.name).unwrap();
            let EntryKind::File { size, link_id } = entry.kind else { panic!("no file") };
            let has = self.has.remove(&path);
            wanted.push(has.is_none());
            kept.push(has.is_some() && self.keeps);
            let Some(contents) = has else { continue };
            assert!(contents.len() as u64 == size || self.keeps);
            self.ledger.listed(Counts { files: 1, bytes: size, ..Counts::default() });
            let file = Arrived::File { contents, attributes: entry.attributes, xattrs: list(entry.xattrs), link_id };
            self.put(folder.as_bytes(), entry.name.as_bytes(), file);
        }
        let has = match (&*wanted, files.files().next()) {
            ([true], Some((folder, entry))) => {
                let path = folder.join(entry.name).unwrap();
                self.begun.get(&path).map(|(has, _)| has.clone()).unwrap_or_default()
            }
            _ => Stretches::default(),
        };
        self.ledger.listed(Counts { bytes: has.total(), ..Counts::default() });
        let basis = match (&*wanted, files.files().next()) {
            ([true], Some((folder, entry))) => {
                self.old.get(&folder.join(entry.name).unwrap()).map(|old| old.contents.len())
            }
            _ => None,
        };
        if !self.keeps || !kept.contains(&true) {
            kept.clear();
        }
        let basis = basis.unwrap_or_default() as u64;
        self.answers.push(Wanted { list: files.number(), files: wanted, has, basis, kept });
    }

    fn chunks(&mut self, window: &ChunkWindow<'_>) {
        let head = window.head();
        let EntryKind::File { size, .. } = head.entry.kind else { panic!("chunks of no file") };
        let path = head.folder.join(head.entry.name).unwrap();
        if !self.ledger.is_open(head.file_id)
            && let Some((has, contents)) = self.begun.remove(&path)
        {
            self.ledger.resume(head.file_id, size, head.stamp, has).unwrap();
            self.ranged.insert(head.file_id, contents);
        }
        self.ledger.window(window).unwrap();
        let contents = self.ranged.entry(head.file_id).or_insert_with(|| vec![0; size as usize]);
        let (mut wanted, mut found) = (Vec::new(), Vec::new());
        for (range, digest) in window.chunks() {
            let old = &self.old[&path];
            let there = old.chunks.get(&digest.0);
            wanted.push(there.is_none());
            if let Some(there) = there {
                let len = (range.end - range.start) as usize;
                contents[range.start as usize..][..len].copy_from_slice(&old.contents[*there as usize..][..len]);
                self.reused += len as u64;
                found.push(range);
            }
        }
        self.ledger.copied(head, found).unwrap();
        self.answers.push(Wanted {
            list: window.number(),
            files: wanted,
            has: Stretches::default(),
            basis: 0,
            kept: Vec::new(),
        });
    }

    fn batch(&mut self, batch: &Batch<'_>, body: &[u8]) {
        self.ledger.batch(batch);
        let mut folder: &[u8] = b"";
        for item in batch.items() {
            match item {
                Item::Folder { path, attributes, xattrs } => {
                    folder = path.as_bytes();
                    if let Some(attributes) = attributes {
                        self.put(b"", folder, Arrived::Folder(attributes, list(xattrs)));
                    }
                }
                Item::Entry(entry, range) => {
                    let arrived = match entry.kind {
                        EntryKind::File { link_id, .. } => Arrived::File {
                            contents: body[range].to_vec(),
                            attributes: entry.attributes,
                            xattrs: list(entry.xattrs),
                            link_id,
                        },
                        EntryKind::Symlink { target } => Arrived::Symlink(target.to_vec()),
                        EntryKind::HardLink { link_id, last } => {
                            self.last_links += u64::from(last);
                            Arrived::HardLink(link_id)
                        }
                    };
                    self.put(folder, entry.name.as_bytes(), arrived);
                }
            }
        }
    }

    fn range(&mut self, header: &FrameHeader, head: &RangeHead<'_>, body: &[u8]) {
        let EntryKind::File { size, link_id } = head.entry.kind else { panic!("a range of no file") };
        if !self.ledger.is_open(head.file_id)
            && let Some((has, contents)) = self.begun.remove(&head.folder.join(head.entry.name).unwrap())
        {
            self.ledger.resume(head.file_id, size, head.stamp, has).unwrap();
            self.ranged.insert(head.file_id, contents);
        }
        let verdict = self.ledger.range(header, head).unwrap();
        let contents = self.ranged.entry(head.file_id).or_insert_with(|| vec![0; size as usize]);
        contents[head.offset as usize..][..body.len()].copy_from_slice(body);
        match verdict.state {
            RangedState::Partial => {}
            RangedState::Abandoned => drop(self.ranged.remove(&head.file_id)),
            RangedState::Whole => {
                let contents = self.ranged.remove(&head.file_id).unwrap();
                let xattrs = list(head.entry.xattrs);
                let file = Arrived::File { contents, attributes: head.entry.attributes, xattrs, link_id };
                self.put(head.folder.as_bytes(), head.entry.name.as_bytes(), file);
            }
        }
    }
}

fn list(xattrs: Xattrs<'_>) -> XattrList {
    let lists = AclKind::ALL.into_iter().filter_map(|kind| Some((kind.name(), xattrs.acl(kind)?.as_bytes())));
    xattrs.iter().chain(lists).map(|(name, value)| (name.to_vec(), value.to_vec())).collect()
}

/// Called between frames, to disturb the source, or to delay its lane until something else has
/// arrived.
pub(super) type Meanwhile = Box<dyn FnMut(u64, &Mutex<Received>) + Send>;

pub(super) struct Sink {
    pub(super) lane: usize,
    pub(super) received: Arc<Mutex<Received>>,
    pub(super) frames: u64,
    pub(super) meanwhile: Option<Meanwhile>,
}

impl LaneSink for Sink {
    fn send(&mut self, header: &[u8], head: &[u8], body: &[u8]) -> io::Result<()> {
        let header: [u8; HEADER_LEN] = header.try_into().unwrap();
        let header = FrameHeader::decode(header).unwrap();
        let mut received = self.received.lock();
        received.frame(header, head, body);
        if header.kind == FrameKind::Range {
            let id = received.range_head(&header, head).file_id;
            received.lanes_of.entry(id).or_default().insert(self.lane);
        }
        let go = received.go.clone().filter(|_| self.lane > 0 && header.kind == FrameKind::Range);
        drop(received);
        if let Some(go) = go {
            until("the first lane lets the others go on", || go.load(Ordering::Relaxed));
        }
        self.frames += 1;
        if let Some(meanwhile) = &mut self.meanwhile {
            meanwhile(self.frames, &self.received);
        }
        Ok(())
    }
}

pub(super) const BOTH: [IoMode; 2] = [IoMode::Auto, IoMode::Sync];

pub(super) fn source(path: &Path) -> Source {
    Source { path: path.to_path_buf(), contents_only: false }
}

pub(super) fn contents(path: &Path) -> Source {
    Source { path: path.to_path_buf(), contents_only: true }
}

/// The result of a whole transfer.
pub(super) struct Sent {
    pub(super) received: Received,
    pub(super) failures: Vec<Failure>,
    pub(super) failed: u64,
    pub(super) counts: Counts,
    pub(super) bytes_total: u64,
}

/// Sends everything on this many lanes, and checks that the accounts agree.
pub(super) fn send(sources: &[Source], io: IoMode, lanes: usize) -> Sent {
    finish(&Outgoing::start(sources).unwrap(), io, lanes, None)
}

/// Sends the files that the receiver does not have. Its answers come late and in any order.
pub(super) fn send_listed(sources: &[Source], io: IoMode, lanes: usize, has: HashMap<Vec<u8>, Vec<u8>>) -> Sent {
    send_to(sources, io, lanes, Received { has, ..Received::default() })
}

/// The same for a receiver that may also have begun files.
pub(super) fn send_to(sources: &[Source], io: IoMode, lanes: usize, received: Received) -> Sent {
    send_answered(&Outgoing::start(sources).unwrap(), io, lanes, received, None)
}

pub(super) fn send_answered(
    outgoing: &Outgoing,
    io: IoMode,
    lanes: usize,
    received: Received,
    meanwhile: Option<Meanwhile>,
) -> Sent {
    outgoing.list();
    let received = Arc::new(Mutex::new(received));
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let goes_on = crate::deadline::while_not(&over);
            while goes_on() {
                std::thread::sleep(Duration::from_millis(3));
                let mut answers = std::mem::take(&mut received.lock().answers);
                answers.reverse();
                answers.iter().for_each(|answer| outgoing.answered(answer).unwrap());
            }
        });
        // Also if a lane panics.
        let _over = OnDrop(&over);
        finish_into(outgoing, io, lanes, meanwhile, &received)
    })
}

/// Sets the flag when it is dropped.
struct OnDrop<'a>(&'a AtomicBool);

impl Drop for OnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The same, asking about chunks of every replaced file.
pub(super) fn send_delta(sources: &[Source], lanes: usize, received: Received, meanwhile: Option<Meanwhile>) -> Sent {
    let outgoing = Outgoing::start(sources).unwrap();
    outgoing.delta(Delta::On);
    send_answered(&outgoing, IoMode::Auto, lanes, received, meanwhile)
}

/// Runs the lanes of a started transfer. `meanwhile` is called on the first lane after each of its
/// frames.
pub(super) fn finish(outgoing: &Outgoing, io: IoMode, lanes: usize, meanwhile: Option<Meanwhile>) -> Sent {
    finish_into(outgoing, io, lanes, meanwhile, &Arc::default())
}

/// The same with an existing `Received`.
pub(super) fn finish_into(
    outgoing: &Outgoing,
    io: IoMode,
    lanes: usize,
    mut meanwhile: Option<Meanwhile>,
    received: &Arc<Mutex<Received>>,
) -> Sent {
    std::thread::scope(|scope| {
        for lane in 0..lanes {
            let mut sink = Sink { lane, received: received.clone(), frames: 0, meanwhile: meanwhile.take() };
            scope.spawn(move || {
                let mut io = FileIo::new(io, 64).unwrap();
                outgoing.run_lane(&mut sink, &mut io).unwrap();
            });
        }
    });
    let received = std::mem::take(&mut *received.lock());
    let (counts, failures) = (outgoing.sent(), outgoing.take_failures());
    assert_eq!(received.ledger.settle(&counts), Ok(()));
    assert_eq!(received.ends, lanes as u64);
    assert!(received.ranged.is_empty());
    // Entries of a folder whose path is too long are only counted.
    let are_named = failures.iter().all(|failure| failure.reason != FailureReason::PathTooLong);
    assert!(!are_named || outgoing.failed() == failures.len() as u64, "{failures:?}");
    assert!(outgoing.take_failures().is_empty());
    let totals = outgoing.totals();
    assert!(totals.complete);
    assert_eq!(totals.entries, received.entries.len() as u64);
    assert_eq!(totals.entries, counts.entries());
    assert!(outgoing.shared.queue.longest() <= QUEUE_UNITS_MAX);
    Sent { received, failures, failed: outgoing.failed(), counts, bytes_total: totals.bytes }
}

/// Compares what arrived with the tree on disk.
pub(super) fn assert_same_tree(root: &Path, name: &str, received: &Received) {
    let mut names_of = HashMap::<u64, Vec<u64>>::new();
    let mut found = 0;
    let mut stack = vec![(root.to_path_buf(), name.as_bytes().to_vec())];
    while let Some((path, sent_as)) = stack.pop() {
        let shown = String::from_utf8_lossy(&sent_as).into_owned();
        let metadata = fs::symlink_metadata(&path).unwrap();
        found += u64::from(!sent_as.is_empty());
        let entry = received.entries.get(&sent_as);
        let check = |attributes: &Attributes| {
            assert_eq!(u32::from(attributes.mode), metadata.mode() & 0o7777, "{shown}");
            assert_eq!((attributes.uid, attributes.gid), (metadata.uid(), metadata.gid()), "{shown}");
            assert_eq!(attributes.mtime.secs, metadata.mtime(), "{shown}");
            assert_eq!(i64::from(attributes.mtime.nanos), metadata.mtime_nsec(), "{shown}");
        };
        match entry {
            None if sent_as.is_empty() => assert!(metadata.is_dir()),
            Some(Arrived::Folder(attributes, _)) => {
                assert!(metadata.is_dir(), "{shown}");
                check(attributes);
            }
            Some(Arrived::File { contents, attributes, link_id, .. }) => {
                assert!(metadata.is_file(), "{shown}");
                assert!(*contents == fs::read(&path).unwrap(), "{shown} has other contents");
                check(attributes);
                assert_eq!(link_id.is_some(), metadata.nlink() > 1, "{shown}");
                link_id.iter().for_each(|id| names_of.entry(*id).or_default().push(metadata.ino()));
            }
            Some(Arrived::HardLink(id)) => names_of.entry(*id).or_default().push(metadata.ino()),
            Some(Arrived::Symlink(target)) => {
                assert_eq!(fs::read_link(&path).unwrap().as_os_str().as_bytes(), target, "{shown}");
            }
            None => panic!("{shown} did not come"),
        }
        if metadata.is_dir() {
            for child in fs::read_dir(&path).unwrap() {
                let child = child.unwrap();
                let slash = if sent_as.is_empty() { &b""[..] } else { b"/" };
                stack.push((child.path(), [&sent_as[..], slash, child.file_name().as_bytes()].concat()));
            }
        }
    }
    assert_eq!(found, received.entries.len() as u64);
    for (id, inodes) in names_of {
        assert!(inodes.iter().all(|inode| *inode == inodes[0]), "link set {id} joins different files");
    }
}

pub(super) fn write(path: &Path, len: usize, seed: u8) {
    let bytes: Vec<u8> = (0..len).map(|at| (at as u32).wrapping_mul(2_654_435_761).to_le_bytes()[3] ^ seed).collect();
    fs::write(path, bytes).unwrap();
}

/// A folder in memory, which supports extended attributes and holes. Its name shows whose it is if
/// it is left over.
pub(super) fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
    tempfile::Builder::new().prefix("ringway-source-").tempdir_in(parent).unwrap()
}

/// A sink that only keeps accounts.
#[derive(Default)]
pub(super) struct Accounts(pub(super) Ledger);

pub(super) struct AccountsSink(pub(super) Arc<Mutex<Accounts>>);

impl LaneSink for AccountsSink {
    fn send(&mut self, header: &[u8], head: &[u8], _body: &[u8]) -> io::Result<()> {
        let header = FrameHeader::decode(header.try_into().unwrap()).unwrap();
        let ledger = &mut self.0.lock().0;
        match header.kind {
            FrameKind::Batch => ledger.batch(&Batch::parse(&header, head).unwrap()),
            FrameKind::Range => drop(ledger.range(&header, &RangeHead::parse(&header, head).unwrap()).unwrap()),
            FrameKind::End | FrameKind::Renew | FrameKind::List | FrameKind::Chunks => {}
        }
        Ok(())
    }
}
