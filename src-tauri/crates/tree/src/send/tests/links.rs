//! Files with several names, which are replaced, removed or kept by the receiver while they are
//! sent.
use super::*;

/// Three names of one file. The walk meets `first` first.
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

/// A small file, and one in ranges.
const LENS: [usize; 2] = [1_000, 3_000_000];

/// Sends `root` after its walk has ended and `disturb` was called, with and without lists, over one
/// lane and several.
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

/// Like an editor that saves: a new file takes the name.
fn replace(path: &Path, len: usize) {
    let new = path.with_extension("new");
    write(&new, len, 7);
    fs::rename(new, path).unwrap();
}

#[test]
fn a_replaced_name_does_not_change_other_names_contents() {
    for len in LENS {
        for victim in NAMES {
            // Also a file that has become too large for its batch, or small enough for one.
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
fn a_vanished_name_does_not_affect_other_names() {
    for len in LENS {
        for victim in NAMES {
            let gone = FailureReason::Os { errno: rustix::io::Errno::NOENT.raw_os_error() };
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
fn names_of_a_kept_file_bring_their_own_contents() {
    for len in LENS {
        for lanes in [1, 3] {
            let scratch = scratch();
            let root = linked(scratch.path(), len);
            let has = HashMap::from([(NAMES[0].as_bytes().to_vec(), b"the receiver's own".to_vec())]);
            // A file that stays is counted as the sender has it. Nothing of it is sent.
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
        // Otherwise the test waits without end.
        queue.cancel();
        assert!(waits && !was_early && ends, "it waits: {waits}, too short: {was_early}, ends: {ends}");
    });
}

/// Puts `contents` under `name`, into a new file that gets the inode number `ino` again. False if
/// the filesystem does not reuse it.
fn reuse(name: &Path, beside: &Path, ino: u64, contents: &[u8]) -> bool {
    for attempt in 0..500 {
        let tried = beside.join(attempt.to_string());
        fs::write(&tried, contents).unwrap();
        if fs::metadata(&tried).unwrap().ino() == ino {
            fs::rename(tried, name).unwrap();
            return true;
        }
    }
    false
}

#[test]
fn a_file_with_a_reused_inode_number_brings_its_own_contents() {
    // Only its birth time, or its size, distinguishes it from the file that was sent.
    for (len, new_len) in LENS.into_iter().flat_map(|len| [(len, len), (len, len + 1)]) {
        // On a busy machine its names may come right after each other.
        let was_between = (0..20).any(|_| {
            // Not in memory, where an inode number is used only once.
            let scratch = tempfile::Builder::new().prefix("ringway-source-").tempdir().unwrap();
            let (root, beside) = (scratch.path().join("root"), scratch.path().join("beside"));
            ["a", "m", "z"].iter().for_each(|folder| fs::create_dir_all(root.join(folder)).unwrap());
            fs::create_dir(&beside).unwrap();
            write(&root.join("a/name"), len, 1);
            fs::hard_link(root.join("a/name"), root.join("z/name")).unwrap();
            (0..20).for_each(|at| write(&root.join(format!("m/{at}")), 200_000, at));
            let (ino, modified) = {
                let there = fs::metadata(root.join("a/name")).unwrap();
                (there.ino(), there.modified().unwrap())
            };
            let new = vec![b'N'; new_len];
            let (is_reused, is_late) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
            let (mut first, mut is_done) = (None, false);
            let meanwhile: Meanwhile = Box::new({
                let (root, new) = (root.clone(), new.clone());
                let (is_reused, is_late) = (is_reused.clone(), is_late.clone());
                move |frames, received| {
                    let there = |name: &str| received.lock().entries.contains_key(name.as_bytes());
                    let came = [("a/name", "z/name"), ("z/name", "a/name")].into_iter().find(|(one, _)| there(one));
                    match (came, first) {
                        (Some((_, other)), None) => first = Some((frames, other)),
                        // The lane that read it has closed it by now.
                        (_, Some((then, other))) if frames > then && !is_done => {
                            is_done = true;
                            if there(other) {
                                return is_late.store(true, Ordering::Relaxed);
                            }
                            ["a/name", "z/name"].iter().for_each(|name| fs::remove_file(root.join(name)).unwrap());
                            let name = root.join(other);
                            if reuse(&name, &beside, ino, &new) {
                                fs::File::open(&name).unwrap().set_modified(modified).unwrap();
                                is_reused.store(true, Ordering::Relaxed);
                            }
                        }
                        _ => {}
                    }
                }
            });
            let sent = finish(&Outgoing::start(&[contents(&root)]).unwrap(), IoMode::Sync, 1, Some(meanwhile));
            if is_late.load(Ordering::Relaxed) {
                return false;
            }
            if !is_reused.load(Ordering::Relaxed) {
                println!("skipped: no inode number is used again at once in {}", scratch.path().display());
                return true;
            }
            assert_eq!(sent.failures, []);
            // A folder that was read while neither file was in it has nothing to send.
            let arrived = ["a/name", "z/name"].map(|name| sent.received.entries.get(name.as_bytes()).cloned());
            let [Some(first), Some(second)] = arrived else { return false };
            let arrived = [first, second];
            let is_new = |arrived: &Arrived| matches!(arrived, Arrived::File { contents, link_id: None, .. } if *contents == new);
            assert_eq!(arrived.iter().filter(|arrived| is_new(arrived)).count(), 1, "{len}, {new_len}");
            assert_eq!(sent.counts.links, 0);
            true
        });
        assert!(was_between, "{len}, {new_len}: its names came one right after the other each time");
    }
}

#[test]
fn a_file_changed_after_it_was_sent_is_sent_again_under_its_next_name() {
    for len in LENS {
        let scratch = scratch();
        let root = scratch.path().join("root");
        ["a", "m", "z"].iter().for_each(|folder| fs::create_dir_all(root.join(folder)).unwrap());
        write(&root.join("a/name"), len, 1);
        fs::hard_link(root.join("a/name"), root.join("z/name")).unwrap();
        (0..20).for_each(|at| write(&root.join(format!("m/{at}")), 200_000, at));
        let mut is_done = false;
        let meanwhile: Meanwhile = Box::new({
            let root = root.clone();
            move |_, received| {
                let there = |name: &str| received.lock().entries.contains_key(name.as_bytes());
                if !is_done && (there("a/name") || there("z/name")) {
                    assert!(!(there("a/name") && there("z/name")), "its names came one right after the other");
                    is_done = true;
                    write(&root.join("a/name"), len + 1, 5);
                }
            }
        });
        let sent = finish(&Outgoing::start(&[contents(&root)]).unwrap(), IoMode::Sync, 1, Some(meanwhile));
        assert_eq!(sent.failures, []);
        let now = fs::read(root.join("a/name")).unwrap();
        let holds_now = |name: &str| matches!(&sent.received.entries[name.as_bytes()], Arrived::File { contents, .. } if *contents == now);
        assert_eq!(["a/name", "z/name"].iter().filter(|name| holds_now(name)).count(), 1, "{len}");
        assert_eq!(sent.counts.links, 0);
    }
}
