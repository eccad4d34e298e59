//! Sends real trees into a sink that parses every frame and rebuilds the tree in memory, with both
//! IO drivers.
mod changed;
mod counted;
mod links;
mod receiver;
mod reread;
mod selected;

use std::collections::{BTreeSet, HashMap};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use std::{fs, io};

use parking_lot::Mutex;
use ringway_model::{Failure, FailureReason, Fault, Invalid, Operation, Side, Source};
use ringway_sys::file_io::{FileIo, IoMode};
use ringway_wire::ProtocolError;
use ringway_wire::control::Wanted;
use ringway_wire::lane::{Counts, FileList, FrameHeader, FrameKind};
use ringway_wire::stretches::Stretches;

use super::Outgoing;
use super::queue::QUEUE_UNITS_MAX;
use crate::bulk::LaneSink;
use receiver::*;

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
            let sent = send(&[source(&root)], io, lanes);
            assert_eq!(sent.failures, []);
            assert_same_tree(&root, "tree", &sent.received);
            assert_eq!((sent.counts.folders, sent.counts.links), (4, 5));
            assert_eq!(sent.received.last_links, 2);
            let sent = send(&[contents(&root)], io, lanes);
            assert_eq!(sent.failures, []);
            assert_same_tree(&root, "", &sent.received);
            assert_eq!(sent.counts.folders, 3);
        }
    }
}

#[test]
fn sends_only_what_the_receiver_has_not() {
    let scratch = scratch();
    let root = scratch.path().join("tree");
    let mut has = HashMap::new();
    for folder in ["a", "a/b", "c"] {
        fs::create_dir_all(root.join(folder)).unwrap();
        for (seed, len) in [0, 1, 4_096, 262_144, 262_145, 3_000_001].into_iter().enumerate() {
            write(&root.join(folder).join(len.to_string()), len, seed as u8);
        }
        (0..3_000).for_each(|at| fs::write(root.join(folder).join(format!("file {at}")), at.to_string()).unwrap());
    }
    fs::hard_link(root.join("a/4096"), root.join("a/again")).unwrap();
    symlink("a/b", root.join("link")).unwrap();
    for folder in ["a", "c"] {
        for file in fs::read_dir(root.join(folder)).unwrap().map(Result::unwrap) {
            let name = file.file_name();
            if file.metadata().unwrap().is_file() && name.as_bytes().last().is_some_and(|last| last % 2 == 1) {
                let path = format!("tree/{folder}/{}", name.to_str().unwrap());
                has.insert(path.into_bytes(), fs::read(file.path()).unwrap());
            }
        }
    }
    assert!(has.contains_key(&b"tree/a/3000001"[..]) && has.contains_key(&b"tree/c/262145"[..]));
    for io in BOTH {
        for lanes in [1, 3] {
            for has in [HashMap::new(), has.clone()] {
                let sent = send_listed(&[source(&root)], io, lanes, has);
                assert_eq!(sent.failures, []);
                assert!(sent.received.has.is_empty() && sent.received.listed >= 9_018);
                assert_same_tree(&root, "tree", &sent.received);
                assert_eq!(sent.bytes_total, sent.counts.bytes);
            }
        }
    }
}

#[test]
fn sends_only_the_rest_of_files_that_were_begun() {
    let scratch = scratch();
    let root = scratch.path().join("tree");
    fs::create_dir(&root).unwrap();
    write(&root.join("large"), 20_000_001, 1);
    write(&root.join("whole"), 9_000_000, 2);
    let sparse = fs::File::create(root.join("sparse")).unwrap();
    sparse.write_all_at(&[7; 3_000_000], 5 << 20).unwrap();
    sparse.set_len(1 << 24).unwrap();
    let begun = || {
        let parts: [(&str, &[(u64, u64)]); 3] = [
            ("large", &[(0, 1), (4_096, 5_000_000), (19_000_000, 20_000_001)]),
            ("whole", &[(0, 9_000_000)]),
            ("sparse", &[(6 << 20, 7 << 20)]),
        ];
        let of = |(name, parts): (&str, &[(u64, u64)])| {
            let contents = fs::read(root.join(name)).unwrap();
            let (mut has, mut there) = (Stretches::default(), vec![0; contents.len()]);
            for (start, end) in parts {
                assert!(has.add(*start, *end));
                there[*start as usize..*end as usize].copy_from_slice(&contents[*start as usize..*end as usize]);
            }
            (format!("tree/{name}").into_bytes(), (has, there))
        };
        Received { begun: parts.into_iter().map(of).collect(), ..Received::default() }
    };
    for io in BOTH {
        for lanes in [1, 3] {
            // The ledger would refuse anything that was sent twice.
            let sent = send_to(&[source(&root)], io, lanes, begun());
            assert_eq!(sent.failures, []);
            assert!(sent.received.begun.is_empty());
            assert_same_tree(&root, "tree", &sent.received);
            assert_eq!(sent.bytes_total, sent.counts.bytes);
        }
    }
}

#[test]
fn a_begun_file_that_has_changed_since_it_was_listed_is_given_up() {
    let scratch = scratch();
    let path = scratch.path().join("large");
    write(&path, 3_000_000, 1);
    let outgoing = Outgoing::start(&[source(&path)]).unwrap();
    outgoing.list();
    let mut has = Stretches::default();
    assert!(has.add(0, 1_000_000));
    let answered = answered_by(&outgoing, |list| {
        write(&path, 3_000_000, 2);
        outgoing.answered(&Wanted { list, files: vec![true], has: has.clone(), basis: 0, kept: Vec::new() })
    });
    assert_eq!(answered, Ok(()));
    let accounts = Arc::<Mutex<Accounts>>::default();
    outgoing.run_lane(&mut AccountsSink(accounts), &mut FileIo::new(IoMode::Sync, 1).unwrap()).unwrap();
    let failures = outgoing.take_failures();
    assert_eq!(failures.len(), 1);
    assert_eq!(failures[0].reason, FailureReason::ChangedWhileReading);
    assert_eq!(outgoing.sent(), Counts { bytes: 1_000_000, ..Counts::default() });
}

/// The stamp that the sender gives a file when it lists it.
fn listed_stamp(path: &Path) -> u64 {
    struct Listed(u64);

    impl LaneSink for Listed {
        fn send(&mut self, header: &[u8], head: &[u8], _body: &[u8]) -> io::Result<()> {
            let header = FrameHeader::decode(header.try_into().unwrap()).unwrap();
            self.0 = FileList::parse(&header, head).unwrap().stamp();
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }

    let outgoing = Outgoing::start(&[source(path)]).unwrap();
    outgoing.list();
    let mut listed = Listed(0);
    assert!(outgoing.run_lane(&mut listed, &mut FileIo::new(IoMode::Sync, 1).unwrap()).is_err());
    listed.0
}

/// Writes other contents into a large file, and keeps its size and time.
fn rewrite(path: &Path, seed: u8, time: std::time::SystemTime) {
    let changed = || fs::metadata(path).map(|it| (it.ctime(), it.ctime_nsec())).unwrap();
    let before = changed();
    write(path, 3_000_000, seed);
    // The kernel's clock for files may stand still for some milliseconds.
    for _ in 0..1_000 {
        fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
        if changed() != before {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("the time of the inode did not change");
}

#[test]
fn another_file_with_the_same_size_and_time_is_another_version() {
    let scratch = scratch();
    let (path, other) = (scratch.path().join("large"), scratch.path().join("other"));
    write(&path, 3_000_000, 1);
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    let stamp = listed_stamp(&path);
    assert_eq!(listed_stamp(&path), stamp, "nothing has changed, and it was read");
    write(&other, 3_000_000, 2);
    fs::File::options().write(true).open(&other).unwrap().set_modified(time).unwrap();
    fs::rename(&other, &path).unwrap();
    let renamed = listed_stamp(&path);
    assert_ne!(renamed, stamp);
    // Also in place: only the kernel sets the inode's time.
    rewrite(&path, 3, time);
    assert_ne!(listed_stamp(&path), renamed);
}

#[test]
fn a_begun_file_replaced_by_one_of_equal_size_and_time_is_given_up() {
    let scratch = scratch();
    let path = scratch.path().join("large");
    write(&path, 3_000_000, 1);
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    let outgoing = Outgoing::start(&[source(&path)]).unwrap();
    outgoing.list();
    let mut has = Stretches::default();
    assert!(has.add(0, 1_000_000));
    let answered = answered_by(&outgoing, |list| {
        rewrite(&path, 2, time);
        outgoing.answered(&Wanted { list, files: vec![true], has: has.clone(), basis: 0, kept: Vec::new() })
    });
    assert_eq!(answered, Ok(()));
    let accounts = Arc::<Mutex<Accounts>>::default();
    outgoing.run_lane(&mut AccountsSink(accounts), &mut FileIo::new(IoMode::Sync, 1).unwrap()).unwrap();
    let failures = outgoing.take_failures();
    assert_eq!(failures.len(), 1);
    assert_eq!(failures[0].reason, FailureReason::ChangedWhileReading);
}

#[test]
fn existing_files_cost_only_a_list() {
    let scratch = scratch();
    let root = scratch.path().join("tree");
    fs::create_dir(&root).unwrap();
    write(&root.join("large"), 5_000_000, 1);
    write(&root.join("small"), 5, 1);
    let sparse = fs::File::create(root.join("sparse")).unwrap();
    sparse.set_len(1 << 24).unwrap();
    let files = ["large", "small", "sparse"];
    let has = files.map(|name| (format!("tree/{name}").into_bytes(), fs::read(root.join(name)).unwrap()));
    let sent = send_listed(&[source(&root)], IoMode::Auto, 2, HashMap::from(has));
    assert_same_tree(&root, "tree", &sent.received);
    assert!(sent.received.lanes_of.is_empty(), "nothing went in ranges");
    assert_eq!(
        (sent.counts.files, sent.counts.bytes, sent.bytes_total),
        (3, 5_000_005 + (1 << 24), 5_000_005 + (1 << 24))
    );
}

#[test]
fn a_receiver_cannot_have_more_of_a_file_than_there_is() {
    let scratch = scratch();
    let path = scratch.path().join("large");
    write(&path, 3_000_000, 1);
    let outgoing = Outgoing::start(&[source(&path)]).unwrap();
    outgoing.list();
    let mut has = Stretches::default();
    assert!(has.add(0, 3_000_001));
    let answered = answered_by(&outgoing, |list| {
        outgoing.answered(&Wanted { list, files: vec![true], has: has.clone(), basis: 0, kept: Vec::new() })
    });
    assert!(answered.is_err());
}

/// Passes the lane's first list to `answer`, and stops then.
fn answered_by(outgoing: &Outgoing, answer: impl FnMut(u32) -> Result<(), ProtocolError>) -> Result<(), ProtocolError> {
    struct Answering<F>(F, Result<(), ProtocolError>);

    impl<F: FnMut(u32) -> Result<(), ProtocolError>> LaneSink for Answering<F> {
        fn send(&mut self, header: &[u8], head: &[u8], _body: &[u8]) -> io::Result<()> {
            let header = FrameHeader::decode(header.try_into().unwrap()).unwrap();
            assert_eq!(header.kind, FrameKind::List);
            self.1 = (self.0)(FileList::parse(&header, head).unwrap().number());
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }

    let mut sink = Answering(answer, Ok(()));
    assert!(outgoing.run_lane(&mut sink, &mut FileIo::new(IoMode::Sync, 1).unwrap()).is_err());
    sink.1
}

#[test]
fn an_answer_to_no_list_is_refused() {
    let scratch = scratch();
    fs::write(scratch.path().join("one"), "1").unwrap();
    let outgoing = Outgoing::start(&[source(&scratch.path().join("one"))]).unwrap();
    outgoing.list();
    let answer = Wanted { list: 0, files: vec![true], has: Stretches::default(), basis: 0, kept: Vec::new() };
    assert!(outgoing.answered(&answer).is_err(), "before the list");
    let mut wrong = Vec::new();
    let sent = answered_by(&outgoing, |list| {
        wrong.push(outgoing.answered(&Wanted { list: list + 1, ..answer.clone() }).is_err());
        outgoing.answered(&Wanted {
            list,
            files: vec![true, true],
            has: Stretches::default(),
            basis: 0,
            kept: Vec::new(),
        })
    });
    assert_eq!((sent.is_err(), wrong), (true, vec![true]));
}

#[test]
fn sends_a_folder_of_many_files() {
    let scratch = scratch();
    let root = scratch.path().join("many");
    fs::create_dir(&root).unwrap();
    (0..20_000).for_each(|at| fs::write(root.join(format!("file {at}")), at.to_string()).unwrap());
    for io in BOTH {
        let outgoing = Outgoing::start(&[source(&root)]).unwrap();
        // No lane takes anything yet, so the walk has to wait.
        until("the queue is full", || outgoing.shared.queue.longest() == QUEUE_UNITS_MAX);
        assert!(!outgoing.shared.walked.load(Ordering::Relaxed));
        let sent = finish(&outgoing, io, 3, None);
        assert_eq!((sent.failures, sent.counts.files), (vec![], 20_000));
        assert_same_tree(&root, "many", &sent.received);
        assert_eq!(sent.bytes_total, sent.counts.bytes);
    }
}

#[test]
fn sends_folders_of_many_folders() {
    let scratch = scratch();
    let root = scratch.path().join("many");
    for at in 0..3_000 {
        let folder = root.join(format!("{at}"));
        fs::create_dir_all(&folder).unwrap();
        if at % 3 == 0 {
            fs::write(folder.join("one"), "1").unwrap();
        }
    }
    let sent = send(&[source(&root)], IoMode::Auto, 2);
    assert_eq!((sent.failures, sent.counts.folders, sent.counts.files), (vec![], 3_001, 1_000));
    assert_same_tree(&root, "many", &sent.received);
}

/// Descriptors of this process that lie in `root`.
fn descriptors_in(root: &Path) -> u64 {
    let open = fs::read_dir("/proc/self/fd").unwrap();
    let targets = open.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
    targets.filter(|target| target.starts_with(root)).count() as u64
}

#[test]
fn sends_a_very_deep_tree_with_few_descriptors() {
    let scratch = scratch();
    let root = scratch.path().join("deep");
    let mut path = root.clone();
    for level in 0..1_200 {
        path.push("d");
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("f"), level.to_string()).unwrap();
    }
    // Met on the way back, when the levels above were closed.
    path = root.clone();
    for level in 0..1_200 {
        path.push("d");
        if level % 7 == 0 {
            fs::create_dir(path.join("late")).unwrap();
            fs::write(path.join("late/f"), level.to_string()).unwrap();
        }
    }
    for io in BOTH {
        let most = Arc::new(AtomicU64::new(0));
        let (for_sink, root_for_sink) = (most.clone(), root.clone());
        let meanwhile: Meanwhile = Box::new(move |_, _| {
            for_sink.fetch_max(descriptors_in(&root_for_sink), Ordering::Relaxed);
        });
        let sent = finish(&Outgoing::start(&[source(&root)]).unwrap(), io, 1, Some(meanwhile));
        assert_eq!((sent.failures, sent.counts.folders), (vec![], 1_201 + 172));
        assert_same_tree(&root, "deep", &sent.received);
        let most = most.load(Ordering::Relaxed);
        assert!((1..320).contains(&most), "{most} descriptors");
    }
}

#[test]
fn continues_listing_a_large_folder_that_was_closed() {
    let scratch = scratch();
    let root = scratch.path().join("wide");
    let mut deep = root.join("first");
    (0..100).for_each(|_| deep.push("d"));
    fs::create_dir_all(&deep).unwrap();
    // More than a window, so that its listing continues after the walk has come back from below.
    (0..12_000).for_each(|at| fs::create_dir(root.join(format!("{at}"))).unwrap());
    let sent = send(&[source(&root)], IoMode::Sync, 1);
    assert_eq!((sent.failures, sent.counts.folders), (vec![], 12_102));
    assert_same_tree(&root, "wide", &sent.received);
}

#[test]
fn leaves_holes_out() {
    let scratch = scratch();
    let root = scratch.path().join("sparse");
    fs::create_dir(&root).unwrap();
    let make = |name: &str, size: u64, data: &[(u64, usize)]| {
        let file = fs::File::create(root.join(name)).unwrap();
        file.set_len(size).unwrap();
        data.iter().for_each(|(at, len)| file.write_all_at(&vec![7; *len], *at).unwrap());
    };
    make("all hole", 200 << 20, &[]);
    make("begins", 50 << 20, &[(0, 10)]);
    make("ends", 50 << 20, &[((50 << 20) - 1, 1)]);
    make("middle", 50 << 20, &[(5 << 20, 3 << 20), (20 << 20, 4096)]);
    make("small", 64 << 10, &[(0, 1)]);
    make("dense", 300 << 10, &[(0, 300 << 10)]);
    for io in BOTH {
        let sent = send(&[source(&root)], io, 2);
        assert_eq!(sent.failures, []);
        assert_same_tree(&root, "sparse", &sent.received);
        let page = 4096;
        let data = page + page + (3 << 20) + page + page + (300 << 10);
        assert_eq!((sent.counts.bytes, sent.bytes_total), (data, data));
    }
}

#[test]
fn sends_extended_attributes() {
    let scratch = scratch();
    let root = scratch.path().join("xattrs");
    fs::create_dir(&root).unwrap();
    write(&root.join("small"), 10, 1);
    write(&root.join("large"), 300_000, 2);
    fs::create_dir(root.join("folder")).unwrap();
    let set = |path: &Path, name: &str, value: &[u8]| {
        rustix::fs::setxattr(path, name, value, rustix::fs::XattrFlags::empty())
    };
    if set(&root, "user.root", b"") == Err(rustix::io::Errno::OPNOTSUPP) {
        println!("skipped: no extended attributes on {}", root.display());
        return;
    }
    set(&root.join("small"), "user.one", b"1").unwrap();
    set(&root.join("small"), "user.two", &[0xff, 0, 1]).unwrap();
    set(&root.join("large"), "user.large", b"L").unwrap();
    set(&root.join("folder"), "user.folder", b"F").unwrap();
    for io in BOTH {
        let sent = send(&[source(&root)], io, 1);
        assert_eq!(sent.failures, []);
        let found = |path: &str| {
            let mut found = match &sent.received.entries[path.as_bytes()] {
                Arrived::File { xattrs, .. } | Arrived::Folder(_, xattrs) => xattrs.clone(),
                other => panic!("{other:?}"),
            };
            found.sort();
            found
        };
        let pair = |name: &str, value: &[u8]| (name.as_bytes().to_vec(), value.to_vec());
        assert_eq!(found("xattrs"), [pair("user.root", b"")]);
        assert_eq!(found("xattrs/small"), [pair("user.one", b"1"), pair("user.two", &[0xff, 0, 1])]);
        assert_eq!(found("xattrs/large"), [pair("user.large", b"L")]);
        assert_eq!(found("xattrs/folder"), [pair("user.folder", b"F")]);
    }
}

#[test]
fn sends_access_control_lists() {
    let scratch = scratch();
    let root = scratch.path().join("lists");
    fs::create_dir(&root).unwrap();
    write(&root.join("small"), 10, 1);
    write(&root.join("large"), 300_000, 2);
    let entry = |tag: u16, permissions: u16, id: u32| {
        [&tag.to_le_bytes()[..], &permissions.to_le_bytes(), &id.to_le_bytes()].concat()
    };
    let none = u32::MAX;
    let entries = [entry(1, 7, none), entry(2, 5, 1000), entry(4, 0, none), entry(0x10, 5, none), entry(0x20, 0, none)];
    let list = [&2_u32.to_le_bytes()[..], &entries.concat()].concat();
    let (access, default) = ("system.posix_acl_access", "system.posix_acl_default");
    let set = |path: &Path, name: &str| rustix::fs::setxattr(path, name, &list, rustix::fs::XattrFlags::empty());
    if set(&root, default).is_err() {
        println!("skipped: no access control lists on {}", root.display());
        return;
    }
    ["", "small", "large"].iter().for_each(|path| set(&root.join(path), access).unwrap());
    let pair = |name: &str| (name.as_bytes().to_vec(), list.clone());
    for io in BOTH {
        let sent = send(&[source(&root)], io, 1);
        assert_eq!(sent.failures, []);
        for (path, wanted) in
            [("lists", vec![access, default]), ("lists/small", vec![access]), ("lists/large", vec![access])]
        {
            let lists = match &sent.received.entries[path.as_bytes()] {
                Arrived::File { xattrs, .. } | Arrived::Folder(_, xattrs) => xattrs.clone(),
                other => panic!("{other:?}"),
            };
            assert_eq!(lists, wanted.into_iter().map(pair).collect::<Vec<_>>(), "{path}");
        }
    }
}

#[test]
fn sends_more_extended_attributes_than_are_held_at_once() {
    let scratch = scratch();
    let value = vec![b'v'; 60_000];
    for at in 0..60_u8 {
        let path = scratch.path().join(format!("{at}"));
        fs::write(&path, [at]).unwrap();
        match rustix::fs::setxattr(&path, "user.big", &value, rustix::fs::XattrFlags::empty()) {
            Ok(()) => {}
            Err(errno) => {
                println!("skipped: large extended attributes on {}: {errno}", path.display());
                return;
            }
        }
    }
    for io in BOTH {
        let sent = send(&[contents(scratch.path())], io, 1);
        assert_eq!((sent.failures, sent.counts.files), (vec![], 60));
        for entry in sent.received.entries.values() {
            let Arrived::File { xattrs, .. } = entry else { panic!("{entry:?}") };
            assert!(xattrs.len() == 1 && xattrs[0].1 == value);
        }
    }
}

fn failure(path: &str, operation: Operation, reason: FailureReason) -> Failure {
    Failure { path: path.into(), side: Side::Here, operation, reason }
}

#[test]
fn reports_what_cannot_be_sent_and_sends_the_rest() {
    let scratch = scratch();
    let root = scratch.path().join("odd");
    fs::create_dir(&root).unwrap();
    let mode = rustix::fs::Mode::RUSR;
    rustix::fs::mknodat(rustix::fs::CWD, root.join("fifo"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let _socket = UnixListener::bind(root.join("socket")).unwrap();
    write(&root.join("good"), 10, 1);
    // 17 names of 250 bytes exceed the longest path on the wire.
    let mut folder = ringway_sys::dir::Dir::open(&root).unwrap();
    for _ in 0..17 {
        let name = [b'n'; 250];
        folder.make_dir(&name, 0o755).unwrap();
        folder = folder.open_dir(&name).unwrap();
    }
    // Its entries cannot be sent either, and are counted.
    for name in [&b"below"[..], b"deeper"] {
        folder.make_dir(name, 0o755).unwrap();
        folder = folder.open_dir(name).unwrap();
        rustix::fs::mknodat(&folder, "file", rustix::fs::FileType::RegularFile, mode, 0).unwrap();
    }
    for io in BOTH {
        let mut sent = send(&[source(&root)], io, 1);
        sent.failures.sort_by(|one, other| one.path.cmp(&other.path));
        let [fifo, too_long, socket] = &sent.failures[..] else { panic!("{:?}", sent.failures) };
        assert_eq!(*fifo, failure("odd/fifo", Operation::Open, FailureReason::SpecialFile));
        assert_eq!(*socket, failure("odd/socket", Operation::Open, FailureReason::SpecialFile));
        let top = format!("odd{}", format!("/{}", "n".repeat(250)).repeat(17));
        assert_eq!(*too_long, failure(&top, Operation::Open, FailureReason::PathTooLong));
        assert_eq!(sent.failed, 7, "the folder, four entries in it, and two of another kind");
        assert_eq!((sent.counts.files, sent.counts.folders), (1, 17));
    }
}

#[test]
fn a_file_of_the_kernel_whose_size_is_none_is_no_empty_file() {
    let sent = send(&[source(Path::new("/proc/version"))], IoMode::Sync, 1);
    let unsupported = FailureReason::Os { errno: rustix::io::Errno::OPNOTSUPP.raw_os_error() };
    assert_eq!(sent.failures, [failure("version", Operation::Read, unsupported)]);
    assert!(sent.received.entries.is_empty());
}

#[test]
fn reports_what_may_not_be_read() {
    if rustix::process::geteuid().is_root() {
        println!("skipped: root may read everything");
        return;
    }
    let scratch = scratch();
    let root = scratch.path().join("closed");
    fs::create_dir_all(root.join("folder/below")).unwrap();
    for (name, len) in [("small", 10), ("large", 300_000), ("good", 10)] {
        write(&root.join(name), len, 1);
    }
    let close = |name: &str| fs::set_permissions(root.join(name), fs::Permissions::from_mode(0o000)).unwrap();
    ["small", "large", "folder"].into_iter().for_each(close);
    for io in BOTH {
        let mut sent = send(&[source(&root)], io, 2);
        sent.failures.sort_by(|one, other| one.path.cmp(&other.path));
        let closed = |path| {
            failure(path, Operation::Open, FailureReason::Os { errno: rustix::io::Errno::ACCESS.raw_os_error() })
        };
        assert_eq!(sent.failures, ["closed/folder", "closed/large", "closed/small"].map(closed));
        assert_eq!((sent.counts.files, sent.counts.folders), (1, 2));
    }
    fs::set_permissions(root.join("folder"), fs::Permissions::from_mode(0o700)).unwrap();
}

/// Starts a transfer whose walk ends before any small file is read, then calls `disturb`, and
/// finishes.
fn disturbed(root: &Path, io: IoMode, disturb: impl FnOnce() + Send + 'static) -> Sent {
    let outgoing = Outgoing::start(&[source(root)]).unwrap();
    until("the walk has ended", || outgoing.totals().complete);
    let mut disturb = Some(disturb);
    disturb.take().into_iter().for_each(|disturb| disturb());
    finish(&outgoing, io, 1, None)
}

#[test]
fn notices_what_changed_between_walk_and_reading() {
    for io in BOTH {
        let scratch = scratch();
        let root = scratch.path().join("busy");
        fs::create_dir(&root).unwrap();
        let names = ["first", "shorter", "longer", "much longer", "gone", "fifo", "link", "rewritten", "last"];
        names.iter().for_each(|name| write(&root.join(name), 10_000, 1));
        write(&root.join("large gone"), 400_000, 1);
        write(&root.join("large longer"), 400_000, 1);
        let there = root.clone();
        let sent = disturbed(&root, io, move || {
            write(&there.join("shorter"), 5_000, 2);
            write(&there.join("longer"), 15_000, 3);
            write(&there.join("much longer"), 700_000, 4);
            write(&there.join("rewritten"), 10_000, 5);
            write(&there.join("large longer"), 2_500_000, 6);
            for name in ["gone", "fifo", "link", "large gone"] {
                fs::remove_file(there.join(name)).unwrap();
            }
            let mode = rustix::fs::Mode::RUSR;
            rustix::fs::mknodat(rustix::fs::CWD, there.join("fifo"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
            symlink("/etc/passwd", there.join("link")).unwrap();
        });
        let mut failures = sent.failures;
        failures.sort_by(|one, other| one.path.cmp(&other.path));
        let os = |errno: rustix::io::Errno| FailureReason::Os { errno: errno.raw_os_error() };
        let expected = [
            ("busy/fifo", FailureReason::SpecialFile),
            ("busy/gone", os(rustix::io::Errno::NOENT)),
            ("busy/large gone", os(rustix::io::Errno::NOENT)),
            ("busy/link", os(rustix::io::Errno::LOOP)),
        ];
        assert_eq!(failures, expected.map(|(path, reason)| failure(path, Operation::Open, reason)));
        // Files that exist now arrived with their present contents.
        for name in ["first", "shorter", "longer", "much longer", "rewritten", "last", "large longer"] {
            assert!(sent.received.file(&format!("busy/{name}")) == fs::read(root.join(name)).unwrap(), "{name}");
        }
        assert_eq!(sent.counts.files, 7);
        assert_eq!(sent.bytes_total, sent.counts.bytes);
    }
}

#[test]
fn gives_up_a_large_file_that_changes_under_way() {
    for io in BOTH {
        for grow in [false, true] {
            let scratch = scratch();
            let root = scratch.path().join("busy");
            fs::create_dir(&root).unwrap();
            write(&root.join("large"), 5 << 20, 1);
            write(&root.join("small"), 5, 1);
            let large = root.join("large");
            let meanwhile: Meanwhile = Box::new(move |frame, _| {
                if frame == 2 {
                    let file = fs::File::options().write(true).open(&large).unwrap();
                    file.set_len(if grow { 6 << 20 } else { 1 << 20 }).unwrap();
                }
            });
            let sent = finish(&Outgoing::start(&[source(&root)]).unwrap(), io, 1, Some(meanwhile));
            let changed = failure("busy/large", Operation::Read, FailureReason::ChangedWhileReading);
            assert_eq!(sent.failures, [changed]);
            assert_eq!(sent.received.file("busy/small").len(), 5);
            assert_eq!(sent.counts.files, 1);
        }
    }
}

/// Waits until `lanes` lanes have sent a range of the one large file.
fn until_shared(lanes: usize) -> impl FnMut(&Mutex<Received>) + Send {
    move |received| {
        let lanes_at_it = || received.lock().lanes_of.values().next().map_or(0, BTreeSet::len);
        until("the other lanes help", || lanes_at_it() >= lanes);
    }
}

#[test]
fn lanes_without_work_help_with_a_large_file() {
    for io in BOTH {
        let scratch = scratch();
        let root = scratch.path().join("shared");
        fs::create_dir(&root).unwrap();
        write(&root.join("large"), (40 << 20) + 77, 1);
        let mut shared = until_shared(3);
        let go = Arc::<AtomicBool>::default();
        let received = Arc::new(Mutex::new(Received { go: Some(go.clone()), ..Received::default() }));
        let meanwhile: Meanwhile = Box::new(move |_, received| {
            shared(received);
            go.store(true, Ordering::Relaxed);
        });
        let lone = Outgoing::start(&[contents(&root)]).unwrap();
        let sent = finish_into(&lone, io, 3, Some(meanwhile), &received);
        assert!(sent.failures.is_empty());
        assert_same_tree(&root, "", &sent.received);
        assert_eq!(sent.bytes_total, sent.counts.bytes);
        assert_eq!(sent.counts.bytes, (40 << 20) + 77);
    }
}

#[test]
fn a_file_that_changes_while_lanes_share_it_is_given_up_once() {
    for io in BOTH {
        let scratch = scratch();
        let root = scratch.path().join("busy");
        fs::create_dir(&root).unwrap();
        write(&root.join("large"), 40 << 20, 1);
        write(&root.join("small"), 5, 1);
        let large = root.join("large");
        let mut shared = until_shared(3);
        let mut ranges = 0;
        let go = Arc::<AtomicBool>::default();
        // However late this lane is, the others leave it enough.
        let received = Arc::new(Mutex::new(Received { go: Some(go.clone()), ..Received::default() }));
        let meanwhile: Meanwhile = Box::new(move |_, received| {
            // This lane may have begun with the small one.
            if received.lock().lanes_of.values().any(|at_it| at_it.contains(&0)) {
                ranges += 1;
            }
            if ranges == 1 {
                shared(received);
                let file = fs::File::options().write(true).open(&large).unwrap();
                file.write_all_at(b"changed", 39 << 20).unwrap();
                go.store(true, Ordering::Relaxed);
            }
        });
        let outgoing = Outgoing::start(&[source(&root)]).unwrap();
        let sent = finish_into(&outgoing, io, 3, Some(meanwhile), &received);
        let changed = failure("busy/large", Operation::Read, FailureReason::ChangedWhileReading);
        assert_eq!(sent.failures, [changed]);
        assert_eq!(sent.received.file("busy/small").len(), 5);
        assert_eq!(sent.counts.files, 1);
    }
}

#[test]
fn stays_sound_while_the_tree_is_being_churned() {
    let scratch = scratch();
    let root = scratch.path().join("churn");
    for folder in 0..20 {
        fs::create_dir_all(root.join(format!("{folder}"))).unwrap();
        for file in 0..50 {
            write(&root.join(format!("{folder}/{file}")), 1_000 * file, 1);
        }
    }
    let stop = Arc::new(AtomicBool::new(false));
    std::thread::scope(|scope| {
        let (stop_churn, root) = (stop.clone(), root.as_path());
        scope.spawn(move || {
            let mut at = 0_usize;
            let goes_on = crate::deadline::while_not(&stop_churn);
            while goes_on() {
                at = at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let (folder, file) = ((at >> 33) % 20, (at >> 40) % 50);
                let path = root.join(format!("{folder}/{file}"));
                match (at >> 50) % 5 {
                    0 => drop(fs::remove_file(&path)),
                    1 => drop(fs::rename(&path, root.join(format!("{}/{file}", (folder + 1) % 20)))),
                    2 => drop(fs::rename(root.join(format!("{folder}")), root.join(format!("x{folder}")))),
                    3 => drop(fs::rename(root.join(format!("x{folder}")), root.join(format!("{folder}")))),
                    _ => drop(fs::write(&path, vec![b'c'; (at >> 20) % 400_000])),
                }
            }
        });
        for round in 0..20 {
            // `finish` asserts that the accounts of both ends agree whatever happens. A name may be
            // met twice.
            let outgoing = Outgoing::start(&[source(root)]).unwrap();
            let ledger = Arc::new(Mutex::new(Accounts::default()));
            std::thread::scope(|lanes| {
                for _ in 0..3 {
                    let (outgoing, mut sink) = (&outgoing, AccountsSink(ledger.clone()));
                    lanes.spawn(move || {
                        let mut io = FileIo::new(BOTH[round % 2], 64).unwrap();
                        outgoing.run_lane(&mut sink, &mut io).unwrap();
                    });
                }
            });
            assert_eq!(ledger.lock().0.settle(&outgoing.sent()), Ok(()));
            assert_eq!(outgoing.totals().entries, outgoing.sent().entries());
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn cancelling_ends_lanes_and_walk() {
    let scratch = scratch();
    let root = scratch.path().join("many");
    fs::create_dir(&root).unwrap();
    (0..40_000).for_each(|at| drop(fs::File::create(root.join(format!("{at}"))).unwrap()));
    for io in BOTH {
        let outgoing = Outgoing::start(&[source(&root)]).unwrap();
        let received = Arc::new(Mutex::new(Received::default()));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                let (outgoing, received) = (&outgoing, received.clone());
                scope.spawn(move || {
                    let for_sink = outgoing.clone();
                    let meanwhile: Meanwhile = Box::new(move |_, _| for_sink.cancel());
                    let mut sink = Sink { lane: 0, received, frames: 0, meanwhile: Some(meanwhile) };
                    let ended = outgoing.run_lane(&mut sink, &mut FileIo::new(io, 64).unwrap());
                    assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::Interrupted);
                });
            }
        });
        assert_eq!(received.lock().ends, 0);
        assert_walk_ends(&outgoing);
    }
    // Dropping it is enough.
    let outgoing = Outgoing::start(&[source(&root)]).unwrap();
    let shared = Arc::downgrade(&outgoing.shared);
    drop(outgoing);
    until("the walk has ended", || shared.strong_count() == 0);
}

fn assert_walk_ends(outgoing: &Outgoing) {
    until("the walk has ended", || Arc::strong_count(&outgoing.shared) == 1);
    assert!(!outgoing.shared.walked.load(Ordering::Relaxed));
}

#[test]
fn a_failing_sink_ends_its_lane() {
    struct Broken;
    impl LaneSink for Broken {
        fn send(&mut self, _: &[u8], _: &[u8], _: &[u8]) -> io::Result<()> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }
    let scratch = scratch();
    write(&scratch.path().join("file"), 10, 1);
    let outgoing = Outgoing::start(&[source(&scratch.path().join("file"))]).unwrap();
    let ended = outgoing.run_lane(&mut Broken, &mut FileIo::new(IoMode::Sync, 1).unwrap());
    assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    assert_eq!(outgoing.sent(), Counts::default());
}

#[test]
fn sources_have_the_names_that_a_person_expects() {
    let scratch = scratch();
    let path = |name: &str| scratch.path().join(name);
    for name in ["one/same", "two/same", "two/other"] {
        fs::create_dir_all(path(name)).unwrap();
    }
    write(&path("file"), 5, 1);
    symlink("one", path("link")).unwrap();
    let names = |sources: &[Source]| Outgoing::start(sources).map(|outgoing| outgoing.names());
    let only = |name: &str| (vec![name.as_bytes().to_vec()], 0);
    assert_eq!(names(&[source(&path("one"))]).unwrap(), only("one"));
    assert_eq!(names(&[source(&path("one/"))]).unwrap(), only("one"));
    assert_eq!(names(&[source(&path("one/same/.."))]).unwrap(), only("one"));
    assert_eq!(names(&[source(&path("one/."))]).unwrap(), only("one"));
    assert_eq!(names(&[source(&path("file"))]).unwrap(), only("file"));
    assert_eq!(names(&[contents(&path("one"))]).unwrap(), only("same"));
    assert_eq!(names(&[contents(&path("link"))]).unwrap(), only("same"));
    let current = std::env::current_dir().unwrap();
    let current = current.file_name().unwrap().as_bytes().to_vec();
    assert_eq!(names(&[source(Path::new("."))]).unwrap(), (vec![current], 0));
    assert!(!names(&[source(Path::new("/"))]).unwrap().0.is_empty());
    // A symlink is sent itself, and the contents of its folder only if requested.
    let sent = send(&[source(&path("link")), source(&path("file"))], IoMode::Sync, 1);
    assert_eq!(sent.received.entries[&b"link"[..]], Arrived::Symlink(b"one".to_vec()));
    assert_eq!(sent.received.file("file").len(), 5);

    for sources in [
        [source(&path("one/same")), source(&path("two/same"))],
        [contents(&path("one")), source(&path("two/same"))],
        [source(&path("two/same")), contents(&path("one"))],
        [contents(&path("one")), contents(&path("two"))],
    ] {
        assert!(matches!(names(&sources), Err(Fault::Invalid(Invalid::SameName { name })) if name == "same"));
    }
    assert!(names(&[contents(&path("one")), source(&path("two/other"))]).is_ok());
    assert!(matches!(names(&[]), Err(Fault::Invalid(_))));
    for missing in [source(&path("nothing")), contents(&path("file")), source(&path("file/below"))] {
        assert!(matches!(names(&[missing]), Err(Fault::Path { operation: Operation::Open, .. })));
    }
}

#[test]
fn an_offer_names_the_first_and_counts_the_rest() {
    let scratch = scratch();
    (0..100).for_each(|at| fs::create_dir(scratch.path().join(format!("{at:03}"))).unwrap());
    let (names, more) = Outgoing::start(&[contents(scratch.path())]).unwrap().names();
    let expected: Vec<_> = (0..64).map(|at| format!("{at:03}").into_bytes()).collect();
    assert_eq!((names, more), (expected, 36));
}

#[test]
fn entries_after_the_offer_are_not_sent_and_vanished_ones_fail() {
    let scratch = scratch();
    let path = |name: &str| scratch.path().join(name);
    for name in ["folder", "gone", "same"] {
        fs::create_dir(path(name)).unwrap();
    }
    write(&path("file"), 5, 1);
    write(&path("same/inside"), 5, 1);
    let offered = Arc::clone(Outgoing::start(&[contents(scratch.path())]).unwrap().offered());
    assert_eq!(offered.iter().collect::<Vec<_>>(), [&b"file"[..], b"folder", b"gone", b"same"]);
    fs::remove_dir(path("gone")).unwrap();
    write(&path(".bashrc"), 5, 1);
    fs::create_dir(path(".ssh")).unwrap();
    write(&path(".ssh/authorized_keys"), 5, 1);
    symlink("file", path("link")).unwrap();
    // Below an offered name, entries that appear later are sent.
    write(&path("same/new"), 5, 1);
    let sent = finish(&Outgoing::start_as(&[contents(scratch.path())], Some(offered)).unwrap(), IoMode::Sync, 1, None);
    let tops = sent.received.entries.keys().map(|path| String::from_utf8_lossy(path).into_owned());
    assert_eq!(tops.collect::<Vec<_>>(), ["file", "folder", "same", "same/inside", "same/new"]);
    let failed: Vec<_> = sent.failures.iter().map(|failure| (failure.path.clone(), failure.operation)).collect();
    assert_eq!(failed, [("gone".into(), Operation::Open)]);
    assert_eq!(sent.bytes_total, 15, "the totals have nothing else either");
}
