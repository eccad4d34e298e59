//! Files with several names whose names are replaced, removed or kept by the receiver while they are sent.
use super::*;

/// Three names of one file: `first` is the one that the walk meets first.
const NAMES: [&str; 3] = ["first", "sub/second", "sub/third"];

/// A folder with one file of `len` bytes under all of [`NAMES`].
fn linked(scratch: &Path, len: usize) -> std::path::PathBuf {
    let root = scratch.join("linked");
    fs::create_dir_all(root.join("sub")).unwrap();
    write(&root.join(NAMES[0]), len, 1);
    NAMES[1..].iter().for_each(|name| fs::hard_link(root.join(NAMES[0]), root.join(name)).unwrap());
    write(&root.join("other"), 10, 9);
    root
}

/// Small, and in ranges.
const LENS: [usize; 2] = [1_000, 3_000_000];

/// Sends `root` once its walk has ended and `disturb` has been called, with lists and without, over one lane and several.
fn each_way(len: usize, disturb: impl Fn(&Path), check: impl Fn(&Path, &Sent)) {
    for (io, lanes) in [(IoMode::Sync, 1), (IoMode::Auto, 3)] {
        for lists in [false, true] {
            let scratch = scratch();
            let root = linked(scratch.path(), len);
            let outgoing = Outgoing::start(&[contents(&root)]).unwrap();
            until("the walk has ended", || outgoing.totals().complete);
            let before = fs::metadata(root.join("sub")).unwrap().modified().unwrap();
            disturb(&root);
            fs::File::open(root.join("sub")).unwrap().set_modified(before).unwrap();
            let sent = match lists {
                true => send_answered(&outgoing, io, lanes, Received::default(), None),
                false => finish(&outgoing, io, lanes, None),
            };
            assert_eq!(sent.bytes_total, sent.counts.bytes);
            check(&root, &sent);
        }
    }
}

/// As an editor saves: a new file takes the name.
fn replace(path: &Path, len: usize) {
    let new = path.with_extension("new");
    write(&new, len, 7);
    fs::rename(new, path).unwrap();
}

#[test]
fn a_replaced_name_does_not_change_what_the_other_names_hold() {
    for len in LENS {
        for victim in NAMES {
            // Also one that has grown out of its batch, or shrunk into one.
            for new_len in [len, if len > 2_000 { 2_000 } else { 700_000 }] {
                let check = |root: &Path, sent: &Sent| {
                    assert_eq!(sent.failures, []);
                    assert_same_tree(root, "", &sent.received);
                    assert_eq!(sent.counts.links, 1, "the two names that are left are one file");
                };
                each_way(len, |root| replace(&root.join(victim), new_len), check);
            }
        }
    }
}

#[test]
fn a_name_that_vanished_takes_no_other_name_with_it() {
    for len in LENS {
        for victim in NAMES {
            let gone = FailureReason::Os(rustix::io::Errno::NOENT.raw_os_error());
            let check = |root: &Path, sent: &Sent| {
                assert_eq!(sent.failures, [failure(victim, Operation::Open, gone)]);
                assert_same_tree(root, "", &sent.received);
            };
            each_way(len, |root| fs::remove_file(root.join(victim)).unwrap(), check);
        }
    }
}

#[test]
fn names_that_are_all_replaced_arrive_as_they_are_now() {
    for len in LENS {
        let disturb = |root: &Path| {
            NAMES.iter().enumerate().for_each(|(seed, name)| {
                fs::remove_file(root.join(name)).unwrap();
                write(&root.join(name), len + seed, seed as u8);
            });
        };
        each_way(len, disturb, |root, sent| {
            assert_eq!(sent.failures, []);
            assert_same_tree(root, "", &sent.received);
        });
    }
}

#[test]
fn a_file_that_is_changed_in_place_keeps_its_names() {
    for len in LENS {
        let check = |root: &Path, sent: &Sent| {
            assert_eq!(sent.failures, []);
            assert_same_tree(root, "", &sent.received);
            assert_eq!(sent.counts.links, 2);
        };
        each_way(len, |root| write(&root.join(NAMES[1]), len + 1, 5), check);
    }
}

#[test]
fn names_of_a_file_that_the_receiver_keeps_bring_their_own_contents() {
    for len in LENS {
        for lanes in [1, 3] {
            let scratch = scratch();
            let root = linked(scratch.path(), len);
            let has = HashMap::from([(NAMES[0].as_bytes().to_vec(), b"the receiver's own".to_vec())]);
            // What stays is counted as the sender has it: nothing of it travels.
            let received = Received { has, keeps: true, ..Received::default() };
            let sent = send_to(&[contents(&root)], IoMode::Sync, lanes, received);
            assert_eq!(sent.failures, []);
            let expected = fs::read(root.join(NAMES[0])).unwrap();
            let entries = &sent.received.entries;
            let files = NAMES[1..].iter().filter(|name| match &entries[name.as_bytes()] {
                Arrived::File { contents, .. } => *contents == expected,
                other => matches!(other, Arrived::Symlink(_)),
            });
            assert_eq!(files.count(), 1, "one name brings the contents");
            assert_eq!(sent.counts.links, 1, "and the other is a link to it");
        }
    }
}

#[test]
fn many_names_of_many_files_are_links_whichever_lane_is_first() {
    let scratch = scratch();
    let root = scratch.path().join("snapshots");
    for snapshot in 0..4 {
        let folder = root.join(format!("{snapshot}"));
        fs::create_dir_all(&folder).unwrap();
        for at in 0..3_000 {
            let name = format!("{at}");
            match snapshot {
                0 => fs::write(folder.join(&name), &name).unwrap(),
                _ => fs::hard_link(root.join("0").join(&name), folder.join(&name)).unwrap(),
            }
        }
    }
    for lists in [false, true] {
        let sent = match lists {
            true => send_listed(&[source(&root)], IoMode::Auto, 4, HashMap::new()),
            false => send(&[source(&root)], IoMode::Auto, 4),
        };
        assert_eq!(sent.failures, []);
        assert_same_tree(&root, "snapshots", &sent.received);
        assert_eq!((sent.counts.files, sent.counts.links), (3_000, 9_000));
    }
}

#[test]
fn no_lane_ends_while_another_opens_a_large_file() {
    let scratch = scratch();
    write(&scratch.path().join("large"), 3_000_000, 1);
    let outgoing = Outgoing::start(&[contents(scratch.path())]).unwrap();
    until("the walk has ended", || outgoing.totals().complete);
    let queue = &outgoing.shared.queue;
    assert!(queue.take(|_| {}).unwrap().is_some(), "this lane has the file, and has not shared it");
    let has_ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            assert!(queue.take(|_| {}).is_ok_and(|work| work.is_none()));
            has_ended.store(true, Ordering::Relaxed);
        });
        let waits = comes(|| queue.is_hungry() || has_ended.load(Ordering::Relaxed));
        let was_early = has_ended.load(Ordering::Relaxed);
        queue.done();
        let ends = comes(|| has_ended.load(Ordering::Relaxed));
        // Or it is waited for without end.
        queue.cancel();
        assert!(waits && !was_early && ends, "it waits: {waits}, too short: {was_early}, ends: {ends}");
    });
}
