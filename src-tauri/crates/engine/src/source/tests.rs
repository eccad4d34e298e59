//! Sends real trees into a sink that parses every frame and rebuilds the tree in memory, on both io drivers.
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ringway_sys::file_io::{FileIo, IoMode};
use ringway_wire::lane::{
    Attributes, Batch, Counts, EntryKind, FrameHeader, FrameKind, HEADER_LEN, Item, RangeHead, Xattrs,
};
use ringway_wire::ledger::{Ledger, RangedState};

use super::unit::QUEUE_UNITS_MAX;
use super::{LaneSink, Outgoing};
use crate::error::{Error, Failure, FailureReason, Operation, Side};
use crate::options::Source;

type XattrList = Vec<(Vec<u8>, Vec<u8>)>;

/// An entry as a receiver would have it.
#[derive(Debug, Clone, PartialEq)]
enum Arrived {
    Folder(Attributes, XattrList),
    File { contents: Vec<u8>, attributes: Attributes, xattrs: XattrList, link_id: Option<u64> },
    Symlink(Vec<u8>),
    HardLink(u64),
}

/// Everything that came on all lanes.
#[derive(Default)]
struct Received {
    ledger: Ledger,
    entries: BTreeMap<Vec<u8>, Arrived>,
    ranged: HashMap<u64, Vec<u8>>,
    frames: u64,
    ends: u64,
    last_links: u64,
    largest_body: usize,
}

impl Received {
    fn put(&mut self, folder: &[u8], name: &[u8], entry: Arrived) {
        let path = [folder, if folder.is_empty() { b"" } else { b"/" }, name].concat();
        let before = self.entries.insert(path.clone(), entry);
        assert!(before.is_none(), "{:?} came twice", String::from_utf8_lossy(&path));
    }

    fn file(&self, path: &str) -> &[u8] {
        match self.entries.get(path.as_bytes()) {
            Some(Arrived::File { contents, .. }) => contents,
            other => panic!("{path} is {other:?}"),
        }
    }

    fn frame(&mut self, header: FrameHeader, head: &[u8], body: &[u8]) {
        assert_eq!((header.head_len as usize, header.body_len as usize), (head.len(), body.len()));
        self.frames += 1;
        self.largest_body = self.largest_body.max(body.len());
        match header.kind {
            FrameKind::Batch => self.batch(&Batch::parse(&header, head).unwrap(), body),
            FrameKind::Range => self.range(&header, &RangeHead::parse(&header, head).unwrap(), body),
            FrameKind::End => self.ends += 1,
        }
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
        let verdict = self.ledger.range(header, head).unwrap();
        let EntryKind::File { size, link_id } = head.entry.kind else { panic!("a range of no file") };
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
    xattrs.iter().map(|(name, value)| (name.to_vec(), value.to_vec())).collect()
}

/// Something to do between frames, to disturb the source.
type Meanwhile = Box<dyn FnMut(u64) + Send>;

struct Sink {
    received: Arc<Mutex<Received>>,
    frames: u64,
    meanwhile: Option<Meanwhile>,
}

impl LaneSink for Sink {
    fn send(&mut self, header: &[u8], head: &[u8], body: &[u8], _more: bool) -> io::Result<()> {
        let header: [u8; HEADER_LEN] = header.try_into().unwrap();
        self.received.lock().unwrap().frame(FrameHeader::decode(header).unwrap(), head, body);
        self.frames += 1;
        if let Some(meanwhile) = &mut self.meanwhile {
            meanwhile(self.frames);
        }
        Ok(())
    }
}

const BOTH: [IoMode; 2] = [IoMode::Auto, IoMode::Sync];

fn source(path: &Path) -> Source {
    Source { path: path.to_path_buf(), contents_only: false }
}

fn contents(path: &Path) -> Source {
    Source { path: path.to_path_buf(), contents_only: true }
}

/// What a whole transfer came to.
struct Sent {
    received: Received,
    failures: Vec<Failure>,
    counts: Counts,
    longest_queue: usize,
}

/// Sends to the end on so many lanes, and checks that the accounts agree.
fn send(sources: &[Source], io: IoMode, lanes: usize, mut meanwhile: Option<Meanwhile>) -> Sent {
    let outgoing = Outgoing::start(sources).unwrap();
    let received = Arc::new(Mutex::new(Received::default()));
    std::thread::scope(|scope| {
        for _ in 0..lanes {
            let mut sink = Sink { received: received.clone(), frames: 0, meanwhile: meanwhile.take() };
            let outgoing = &outgoing;
            scope.spawn(move || {
                let mut io = FileIo::new(io, 64).unwrap();
                outgoing.run_lane(&mut sink, &mut io).unwrap();
            });
        }
    });
    let received = std::mem::take(&mut *received.lock().unwrap());
    let (counts, failures) = (outgoing.sent(), outgoing.take_failures());
    assert_eq!(received.ledger.settle(&counts), Ok(()));
    assert_eq!(received.ends, lanes as u64);
    assert!(received.ranged.is_empty());
    assert_eq!(outgoing.failed(), failures.len() as u64);
    assert!(outgoing.take_failures().is_empty());
    let totals = outgoing.totals();
    assert!(totals.complete);
    assert_eq!(totals.entries, received.entries.len() as u64);
    assert_eq!(totals.entries, counts.entries());
    Sent { received, failures, counts, longest_queue: outgoing.shared.queue.longest() }
}

/// Compares what came with what is there.
fn assert_same_tree(root: &Path, name: &str, received: &Received) {
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
                link_id.into_iter().for_each(|id| names_of.entry(*id).or_default().push(metadata.ino()));
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

fn write(path: &Path, len: usize, seed: u8) {
    let bytes: Vec<u8> = (0..len).map(|at| (at as u32).wrapping_mul(2_654_435_761).to_le_bytes()[3] ^ seed).collect();
    fs::write(path, bytes).unwrap();
}

/// A folder of memory, where extended attributes and holes are to be had; named so that what is left over says whose it is.
fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
    tempfile::Builder::new().prefix("ringway-source-").tempdir_in(parent).unwrap()
}

#[test]
fn sends_a_tree_with_everything_in_it() {
    let scratch = scratch();
    let root = scratch.path().join("tree");
    fs::create_dir_all(root.join("a/b/empty")).unwrap();
    let odd = [&b"\xff\xfe"[..], b"new\nline", b"\x1b[2J", b"CON", b"end.", b"a..b", b"<img onerror>", &[b'x'; 255]];
    for (seed, name) in odd.into_iter().enumerate() {
        write(&root.join("a").join(std::ffi::OsStr::from_bytes(name)), 100 + seed, seed as u8);
    }
    for (seed, len) in [0, 1, 4095, 4096, 262_143, 262_144, 262_145, 1_048_576, 3_000_001].into_iter().enumerate() {
        write(&root.join(format!("a/b/{len}")), len, seed as u8);
    }
    fs::hard_link(root.join("a/b/4096"), root.join("a/first-link")).unwrap();
    fs::hard_link(root.join("a/b/4096"), root.join("zweite")).unwrap();
    fs::hard_link(root.join("a/b/3000001"), root.join("large-link")).unwrap();
    symlink("a/b", root.join("to-folder")).unwrap();
    symlink("/nowhere/at all", root.join("dangling")).unwrap();
    fs::set_permissions(root.join("a/b/1"), fs::Permissions::from_mode(0o4751)).unwrap();
    fs::set_permissions(root.join("a/b/empty"), fs::Permissions::from_mode(0o2700)).unwrap();
    let old = std::time::UNIX_EPOCH - Duration::new(1_000_000, 1);
    fs::File::options().write(true).open(root.join("a/b/4095")).unwrap().set_modified(old).unwrap();
    for io in BOTH {
        for lanes in [1, 3] {
            let sent = send(&[source(&root)], io, lanes, None);
            assert_eq!(sent.failures, []);
            assert_same_tree(&root, "tree", &sent.received);
            assert_eq!((sent.counts.folders, sent.counts.links), (4, 5));
            assert_eq!(sent.received.last_links, 2);
            let sent = send(&[contents(&root)], io, lanes, None);
            assert_eq!(sent.failures, []);
            assert_same_tree(&root, "", &sent.received);
            assert_eq!(sent.counts.folders, 3);
        }
    }
}
