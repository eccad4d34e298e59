//! What the receiver has changed since it was received, and folders that existed: what stays as it
//! is, under every policy.
use rustix::fs::XattrFlags;

use super::*;

const UPDATE: OnConflict = OnConflict::RenameTop;

const LATER: Timestamp = Timestamp { secs: 1_700_000_000, nanos: 1 };

/// A file whose sender has changed it since.
fn newer(text: &str, size: usize) -> Entry<'_> {
    let entry = file(text, size, 0o644);
    Entry { attributes: Attributes { mtime: LATER, ..entry.attributes }, ..entry }
}

fn album() -> Lane {
    Lane::default()
        .made("album", 0o755)
        .file("p1.jpg", b"one")
        .file("p2.jpg", b"two")
        .made("album/sub", 0o755)
        .file("p3.jpg", b"three")
}

fn album_changed() -> Lane {
    let lane =
        Lane::default().made("album", 0o755).entry(&newer("p1.jpg", 5), b"one b").entry(&newer("p2.jpg", 5), b"two b");
    lane.made("album/sub", 0o755).entry(&newer("p3.jpg", 7), b"three b")
}

fn edits(edits: &[Edit]) -> Vec<(String, String)> {
    let text = |edit: &Edit| (edit.path.display().to_string(), edit.beside.to_string_lossy().into_owned());
    let mut all: Vec<_> = edits.iter().map(text).collect();
    all.sort();
    all
}

fn edit(path: &str, beside: &str) -> (String, String) {
    (path.to_owned(), beside.to_owned())
}

fn received() -> Site {
    let site = Site::new();
    site.receive(site.options(UPDATE), vec![album()]);
    assert_eq!(site.names(), ["album"]);
    site
}

#[test]
fn a_file_that_was_edited_since_it_was_received_keeps_its_name_and_the_new_one_arrives_beside_it() {
    let site = received();
    fs::write(site.at("album/p2.jpg"), "my edit").unwrap();
    for round in 0..2 {
        let (receipt, kept, failures) = site.receive(site.options(UPDATE), vec![album_changed()]);
        assert_eq!((edits(&kept), failures), (vec![edit("album/p2.jpg", "p2 (1).jpg")], vec![]), "round {round}");
        assert_eq!((receipt.edited, receipt.there.files, receipt.unchanged), (1, 3, if round == 0 { 0 } else { 3 }));
        assert_eq!((&*site.text("album/p2.jpg"), &*site.text("album/p2 (1).jpg")), ("my edit", "two b"));
        assert_eq!((&*site.text("album/p1.jpg"), &*site.text("album/sub/p3.jpg")), ("one b", "three b"));
        assert_eq!(names_in(&site.at("album")), ["p1.jpg", "p2 (1).jpg", "p2.jpg", "sub"]);
        assert_eq!(site.names(), ["album"]);
    }
}

#[test]
fn only_an_explicit_replace_overwrites_an_edit() {
    for on_conflict in [OnConflict::Replace, OnConflict::Keep, OnConflict::Rename, UPDATE] {
        let site = received();
        fs::write(site.at("album/p2.jpg"), "my edit").unwrap();
        let (receipt, kept, _) = site.receive(site.options(on_conflict), vec![album_changed()]);
        let expected = if on_conflict == OnConflict::Replace { "two b" } else { "my edit" };
        assert_eq!(site.text("album/p2.jpg"), expected, "{on_conflict:?}");
        assert_eq!((receipt.edited, kept.len() as u64), (u64::from(on_conflict == UPDATE), receipt.edited));
    }
}

#[test]
fn an_edit_stays_one_however_many_transfers_come_after_it() {
    let site = received();
    fs::write(site.at("album/p2.jpg"), "my edit").unwrap();
    // This one does not offer the file at all.
    let other = Lane::default().made("album", 0o755).entry(&newer("p1.jpg", 5), b"one b");
    assert_eq!(site.receive(site.options(UPDATE), vec![other]).0.edited, 0);
    assert_eq!(site.receive(site.options(UPDATE), vec![album_changed()]).0.edited, 1);
    assert_eq!(site.text("album/p2.jpg"), "my edit");
    // What this machine wrote in between is no edit.
    let last = Lane::default().folder("album").file("p1.jpg", b"one c").folder("album/sub").file("p3.jpg", b"three c");
    assert_eq!(site.receive(site.options(UPDATE), vec![last]).0.edited, 0);
    assert_eq!((&*site.text("album/p1.jpg"), &*site.text("album/sub/p3.jpg")), ("one c", "three c"));
}

#[test]
fn an_edit_is_noticed_by_every_way_of_making_it() {
    type Make = fn(&Site);
    let ways: [(&str, Make); 6] = [
        ("saved by an editor that renames, with the old times", |site| {
            let times = fs::metadata(site.at("album/p2.jpg")).unwrap().modified().unwrap();
            fs::write(site.at("album/.new"), "mine").unwrap();
            fs::File::options().write(true).open(site.at("album/.new")).unwrap().set_modified(times).unwrap();
            fs::rename(site.at("album/.new"), site.at("album/p2.jpg")).unwrap();
        }),
        ("written through another name", |site| {
            fs::hard_link(site.at("album/p2.jpg"), site.at("other")).unwrap();
            fs::write(site.at("other"), "mine").unwrap();
        }),
        ("moved there from elsewhere", |site| {
            fs::write(site.at("mine"), "mine").unwrap();
            fs::rename(site.at("mine"), site.at("album/p2.jpg")).unwrap();
        }),
        ("another one of the same folder", |site| {
            fs::rename(site.at("album/p1.jpg"), site.at("album/p2.jpg")).unwrap()
        }),
        ("a link", |site| {
            fs::remove_file(site.at("album/p2.jpg")).unwrap();
            std::os::unix::fs::symlink("sub/p3.jpg", site.at("album/p2.jpg")).unwrap();
        }),
        ("appended to", |site| {
            let mut file = fs::File::options().append(true).open(site.at("album/p2.jpg")).unwrap();
            std::io::Write::write_all(&mut file, b"mine").unwrap();
        }),
    ];
    for (way, make) in ways {
        let site = received();
        make(&site);
        let before =
            (fs::read(site.at("album/p2.jpg")).unwrap(), fs::symlink_metadata(site.at("album/p2.jpg")).unwrap().ino());
        let (receipt, kept, _) = site.receive(site.options(UPDATE), vec![album_changed()]);
        let after =
            (fs::read(site.at("album/p2.jpg")).unwrap(), fs::symlink_metadata(site.at("album/p2.jpg")).unwrap().ino());
        // A link's target is another file, which the transfer may update.
        let same = if way == "a link" { after.1 == before.1 } else { after == before };
        assert!(same && receipt.edited == 1 && edits(&kept) == [edit("album/p2.jpg", "p2 (1).jpg")], "{way}: {kept:?}");
        assert_eq!(site.text("album/p2 (1).jpg"), "two b", "{way}");
    }
}

#[test]
fn a_write_is_noticed_although_the_clock_was_set_back_into_the_time_of_the_transfer() {
    let site = received();
    fs::write(site.at("album/p2.jpg"), "my edit").unwrap();
    // As if the write had happened within a span of ours.
    let mut all = site.brought.lock();
    let brought = all.get_mut(&b"album"[..]).unwrap();
    brought.fill_for_ever();
    drop(all);
    assert_eq!(site.receive(site.options(UPDATE), vec![album_changed()]).0.edited, 1);
    assert_eq!(site.text("album/p2.jpg"), "my edit");
}

#[test]
fn a_file_that_was_touched_without_other_contents_is_no_edit_where_the_same_comes() {
    let site = received();
    fs::set_permissions(site.at("album/p1.jpg"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(site.at("album/p2.jpg"), "two").unwrap();
    let (receipt, kept, _) = site.receive(site.options(UPDATE), vec![album()]);
    assert_eq!((receipt.edited, receipt.unchanged, kept), (0, 3, vec![]));
    assert_eq!(names_in(&site.at("album")), ["p1.jpg", "p2.jpg", "sub"]);
    let mode = fs::metadata(site.at("album/p1.jpg")).unwrap().mode() & 0o777;
    assert_eq!(mode, 0o600, "what the owner set stays as well");
}

#[test]
fn what_the_owner_deleted_or_added_is_no_edit() {
    let site = received();
    fs::remove_file(site.at("album/p2.jpg")).unwrap();
    fs::write(site.at("album/mine.jpg"), "mine").unwrap();
    let (receipt, kept, _) = site.receive(site.options(UPDATE), vec![album_changed()]);
    assert_eq!((receipt.edited, kept), (0, vec![]));
    assert_eq!((&*site.text("album/p2.jpg"), &*site.text("album/mine.jpg")), ("two b", "mine"));
    // One that the sender has by that name, too, comes beside the owner's.
    let theirs = Lane::default().folder("album").file("mine.jpg", b"theirs");
    let (_, kept, _) = site.receive(site.options(UPDATE), vec![theirs]);
    assert_eq!(edits(&kept), [edit("album/mine.jpg", "mine (1).jpg")]);
    assert_eq!((&*site.text("album/mine.jpg"), &*site.text("album/mine (1).jpg")), ("mine", "theirs"));
}

#[test]
fn an_edited_link_and_an_edited_name_of_several_stay() {
    let site = Site::new();
    let lane =
        || Lane::default().made("tree", 0o755).entry(&linked("x", 3, 5), b"old").entry(&hard_link("y", 5, true), b"");
    site.receive(site.options(UPDATE), vec![lane().entry(&symlink("link", "x"), b"")]);
    fs::remove_file(site.at("tree/link")).unwrap();
    std::os::unix::fs::symlink("elsewhere", site.at("tree/link")).unwrap();
    // By one name, and so by both.
    fs::write(site.at("tree/x"), "mine").unwrap();
    for round in 0..2 {
        let (receipt, kept, failures) =
            site.receive(site.options(UPDATE), vec![lane().entry(&symlink("link", "x"), b"")]);
        let expected = [edit("tree/link", "link (1)"), edit("tree/x", "x (1)"), edit("tree/y", "y (1)")];
        assert_eq!((edits(&kept), receipt.edited, failures), (expected.to_vec(), 3, vec![]), "round {round}");
        assert_eq!((&*site.text("tree/x"), &*site.text("tree/x (1)")), ("mine", "old"));
        let inode = |rel: &str| fs::metadata(site.at(rel)).unwrap().ino();
        assert_eq!((inode("tree/x"), inode("tree/x (1)")), (inode("tree/y"), inode("tree/y (1)")));
        assert_eq!(fs::read_link(site.at("tree/link")).unwrap(), Path::new("elsewhere"));
        assert_eq!(fs::read_link(site.at("tree/link (1)")).unwrap(), Path::new("x"));
        assert_eq!(names_in(&site.at("tree")).len(), 6);
    }
}

#[test]
fn a_large_file_that_was_edited_stays_and_is_no_source_of_chunks() {
    let site = Site::new();
    let large = |contents: &[u8], mtime| {
        let entry = file("large", contents.len(), 0o644);
        let entry = Entry { attributes: Attributes { mtime, ..entry.attributes }, ..entry };
        let mut lane = Lane::default().made("tree", 0o755);
        for (at, part) in contents.chunks(1_000_000).enumerate() {
            let offset = at * 1_000_000;
            let is_last = offset + part.len() == contents.len();
            let step = if is_last { RangeStep::Last { data_bytes: contents.len() as u64 } } else { RangeStep::More };
            lane = lane.range(0, "tree", entry, offset as u64, part, step);
        }
        lane
    };
    let (first, second) = (vec![1; 3_000_000], vec![2; 3_000_000]);
    site.receive(site.options(UPDATE), vec![large(&first, MTIME)]);
    // Touched only: its contents come again.
    fs::File::options()
        .write(true)
        .open(site.at("tree/large"))
        .unwrap()
        .set_modified(std::time::SystemTime::now())
        .unwrap();
    let (receipt, ..) = site.receive(site.options(UPDATE), vec![large(&first, LATER)]);
    assert_eq!((receipt.edited, receipt.unchanged, names_in(&site.at("tree"))), (0, 1, vec!["large".to_owned()]));
    let mut mine = first.clone();
    mine[1_500_000] = 9;
    fs::write(site.at("tree/large"), &mine).unwrap();
    let (sender, answers) = answers_to(16);
    let names = vec![b"tree".to_vec()];
    let options = DestinationOptions { answers: Some(sender), names, ..site.options(UPDATE) };
    let entry = file("large", second.len(), 0o644);
    let lane = Lane::default().list(1, "tree", &[entry]);
    let incoming = Incoming::begin(options).unwrap();
    let ended = incoming.run_lane(&mut Wire::new(lane.flush().bytes), &mut io(IoMode::Sync));
    assert!(matches!(ended, Err(LaneError::Source(_))));
    assert_eq!(answers.try_recv().unwrap().basis, 0);
    incoming.abandon().unwrap();
    let (receipt, kept, _) = site.receive(site.options(UPDATE), vec![large(&second, MTIME)]);
    assert_eq!((receipt.edited, edits(&kept)), (1, vec![edit("tree/large", "large (1)")]));
    assert!(fs::read(site.at("tree/large")).unwrap() == mine && fs::read(site.at("tree/large (1)")).unwrap() == second);
}

#[test]
fn a_merge_that_was_cut_makes_no_edits_of_what_it_wrote_itself() {
    let site = received();
    let incoming = site.begin(UPDATE);
    let half = Lane::default().folder("album").entry(&newer("p1.jpg", 5), b"one b").flush();
    let ended = incoming.run_lane(&mut Wire::new(half.bytes), &mut io(IoMode::Sync));
    assert!(matches!(ended, Err(LaneError::Source(_))));
    incoming.keep().unwrap();
    site.remember(&incoming);
    drop(incoming);
    fs::write(site.at("album/p2.jpg"), "my edit").unwrap();
    let third = Lane::default().folder("album").file("p1.jpg", b"one c").entry(&newer("p2.jpg", 5), b"two b");
    let (receipt, kept, _) = site.receive(site.options(UPDATE), vec![third]);
    assert_eq!((receipt.edited, edits(&kept)), (1, vec![edit("album/p2.jpg", "p2 (1).jpg")]));
    assert_eq!((&*site.text("album/p1.jpg"), &*site.text("album/p2.jpg")), ("one c", "my edit"));
}

/// Receives a new version of `path` in two halves, with `meanwhile` between them.
fn receive_in_halves(site: &Site, folder: &str, name: &str, meanwhile: impl FnOnce()) -> Receipt {
    let incoming = site.begin(UPDATE);
    let size = 2_000_000;
    let contents = vec![7; size];
    let range = |offset: usize, step| {
        let lane = Lane::default().range(
            3,
            folder,
            newer(name, size),
            offset as u64,
            &contents[offset..offset + size / 2],
            step,
        );
        let mut lane = lane.flush();
        let sent = std::mem::take(&mut lane.sent);
        (lane.bytes, sent)
    };
    let (first, sent) = range(0, RangeStep::More);
    let ended = incoming.run_lane(&mut Wire::new(first), &mut io(IoMode::Sync));
    assert!(matches!(ended, Err(LaneError::Source(_))));
    meanwhile();
    let (mut last, more) = range(size / 2, RangeStep::Last { data_bytes: size as u64 });
    last.extend_from_slice(&FrameHeader::END.encode());
    incoming.run_lane(&mut Wire::new(last), &mut io(IoMode::Sync)).unwrap();
    let mut declared = sent;
    declared += more;
    incoming.finish(&declared).unwrap().0
}

#[test]
fn an_edit_that_is_made_while_its_new_version_is_received_stays() {
    type Save = fn(&Site, &str);
    let saves: [(&str, Save); 3] = [
        ("written to", |site, path| fs::write(site.at(path), "my edit").unwrap()),
        ("saved as editors do", |site, path| {
            fs::write(site.at("mine"), "my edit").unwrap();
            fs::rename(site.at("mine"), site.at(path)).unwrap();
        }),
        ("made anew", |site, path| {
            fs::remove_file(site.at(path)).unwrap();
            fs::write(site.at(path), "my edit").unwrap();
        }),
    ];
    for (way, save) in saves {
        let site = received();
        let receipt = receive_in_halves(&site, "album", "p2.jpg", || save(&site, "album/p2.jpg"));
        assert_eq!((receipt.edited, &*site.text("album/p2.jpg")), (1, "my edit"), "{way}");
        assert_eq!(fs::read(site.at("album/p2 (1).jpg")).unwrap(), vec![7; 2_000_000], "{way}");

        // At the top a file that was replaced is another one than the one that was received.
        let site = Site::new();
        site.receive(site.options(UPDATE), vec![Lane::default().folder("").file("p2.jpg", b"two")]);
        receive_in_halves(&site, "", "p2.jpg", || save(&site, "p2.jpg"));
        assert_eq!(site.text("p2.jpg"), "my edit", "{way}");
        assert_eq!(fs::read(site.at("p2 (1).jpg")).unwrap(), vec![7; 2_000_000], "{way}");
    }
}

#[test]
fn what_comes_verified_is_compared_with_an_edit_by_its_contents() {
    let site = received();
    // Size and time of the sender's, and other contents.
    let times = fs::metadata(site.at("album/p2.jpg")).unwrap().modified().unwrap();
    fs::write(site.at("album/p2.jpg"), "TWO").unwrap();
    fs::File::options().write(true).open(site.at("album/p2.jpg")).unwrap().set_modified(times).unwrap();
    let lane = || Lane::default().proving().folder("album").file("p1.jpg", b"one").file("p2.jpg", b"two");
    let options = || DestinationOptions { prove: true, ..site.options(UPDATE) };
    let (receipt, kept, _) = site.receive(options(), vec![lane()]);
    assert_eq!((receipt.edited, edits(&kept)), (1, vec![edit("album/p2.jpg", "p2 (1).jpg")]));
    assert_eq!((&*site.text("album/p2.jpg"), &*site.text("album/p2 (1).jpg")), ("TWO", "two"));
}

#[test]
fn a_folder_that_the_owner_made_anew_under_a_name_that_was_received_is_not_touched() {
    type Make = fn(&Site);
    let ways: [(&str, Make); 3] = [
        ("made anew", |site| {
            fs::remove_dir_all(site.at("album")).unwrap();
            fs::create_dir(site.at("album")).unwrap();
        }),
        ("another one moved there", |site| {
            fs::create_dir(site.at("mine")).unwrap();
            fs::rename(site.at("album"), site.at("away")).unwrap();
            fs::rename(site.at("mine"), site.at("album")).unwrap();
        }),
        ("a copy of it", |site| {
            fs::rename(site.at("album"), site.at("away")).unwrap();
            let copied = std::process::Command::new("cp").arg("-a").args([site.at("away"), site.at("album")]).status();
            assert!(copied.unwrap().success());
        }),
    ];
    for (way, make) in ways {
        let site = received();
        make(&site);
        fs::write(site.at("album/p2.jpg"), "mine").unwrap();
        let before = names_in(&site.at("album"));
        let (_, kept, failures) = site.receive(site.options(UPDATE), vec![album_changed()]);
        assert_eq!((kept, failures), (vec![], vec![]), "{way}");
        assert_eq!((names_in(&site.at("album")), &*site.text("album/p2.jpg")), (before, "mine"), "{way}");
        assert_eq!(site.text("album (1)/p2.jpg"), "two b", "{way}");
    }
}

#[test]
fn a_top_level_file_is_updated_until_its_owner_changes_or_replaces_it() {
    let site = Site::new();
    let lane = |contents: &str| Lane::default().folder("").file("notes.txt", contents.as_bytes());
    site.receive(site.options(UPDATE), vec![lane("1")]);
    site.receive(site.options(UPDATE), vec![lane("12")]);
    assert_eq!((site.names(), &*site.text("notes.txt")), (vec!["notes.txt".to_owned()], "12"));
    fs::write(site.at("notes.txt"), "mine").unwrap();
    let (receipt, kept, _) = site.receive(site.options(UPDATE), vec![lane("123")]);
    assert_eq!((receipt.edited, edits(&kept)), (1, vec![edit("notes.txt", "notes (1).txt")]));
    fs::remove_file(site.at("notes.txt")).unwrap();
    fs::write(site.at("notes.txt"), "mine, anew").unwrap();
    site.receive(site.options(UPDATE), vec![lane("1234")]);
    assert_eq!((&*site.text("notes.txt"), &*site.text("notes (2).txt")), ("mine, anew", "1234"));
}

/// Mode, modification time and an attribute of a folder.
fn folder_state(at: &Path) -> (u32, std::time::SystemTime, Option<Vec<u8>>) {
    let there = fs::metadata(at).unwrap();
    let mut value = [0; 64];
    let len = rustix::fs::getxattr(at, "user.theirs", &mut value[..]).ok();
    (there.mode() & 0o7777, there.modified().unwrap(), len.map(|len| value[..len].to_vec()))
}

#[test]
fn folders_that_exist_change_only_under_replace_and_are_opened_to_nobody_unless_that_is_asked_for() {
    let mut xattrs = XattrBuffer::default();
    assert!(xattrs.push(b"user.theirs", b"sender"));
    let lane = || {
        let mut lane = Lane::default();
        for at in ["tree", "tree/private"] {
            lane.head.folder_with_attributes(path(at), &attributes(0o777), xattrs.as_xattrs());
        }
        lane.made("tree/new", 0o750)
    };
    for (on_conflict, widen_modes) in [
        (OnConflict::Keep, false),
        (OnConflict::Keep, true),
        (OnConflict::Rename, false),
        (UPDATE, false),
        (OnConflict::Replace, false),
        (OnConflict::Replace, true),
    ] {
        let site = Site::new();
        if on_conflict == UPDATE {
            site.receive(site.options(UPDATE), vec![Lane::default().made("tree", 0o755).made("tree/private", 0o755)]);
        }
        fs::create_dir_all(site.at("tree/private")).unwrap();
        let private = site.at("tree/private");
        fs::set_permissions(&private, fs::Permissions::from_mode(0o1700)).unwrap();
        let can_mark = rustix::fs::setxattr(&private, "user.theirs", b"mine", XattrFlags::empty()).is_ok();
        fs::File::open(&private).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
        let before = folder_state(&private);
        let options = DestinationOptions { widen_modes, ..site.options(on_conflict) };
        let (receipt, _, failures) = site.receive(options, vec![lane()]);
        assert_eq!((receipt.there.folders, failures.len()), (3, 0), "{on_conflict:?} {failures:?}");
        let after = folder_state(&private);
        if on_conflict == OnConflict::Replace {
            assert_eq!(after.0, if widen_modes { 0o777 } else { 0o1700 });
            assert!(!can_mark || after.2.as_deref() == Some(b"sender"));
        } else {
            assert_eq!(after, before, "{on_conflict:?}");
        }
        let made = fs::metadata(site.at("tree/new")).unwrap();
        assert_eq!(
            (made.mode() & 0o7777, made.mtime()),
            (0o750, MTIME.secs),
            "{on_conflict:?}: what it made is the sender's"
        );
    }
}

#[test]
fn a_folder_that_an_attempt_made_before_it_was_cut_gets_its_attributes_from_the_next_one() {
    for on_conflict in [OnConflict::Keep, OnConflict::Replace] {
        let site = Site::new();
        fs::create_dir_all(site.at("tree")).unwrap();
        let incoming = site.begin(on_conflict);
        let half = Lane::default().made("tree/new", 0o755).file("a", b"a").folder("fresh").file("b", b"b").flush();
        let ended = incoming.run_lane(&mut Wire::new(half.bytes), &mut io(IoMode::Sync));
        assert!(matches!(ended, Err(LaneError::Source(_))));
        assert!(incoming.keep().unwrap());
        drop(incoming);
        let again = Lane::default().made("tree/new", 0o755).file("a", b"a").made("fresh", 0o755).file("c", b"c");
        let (_, _, failures) = site.receive(site.options(on_conflict), vec![again]);
        assert_eq!(failures, []);
        assert_eq!(fs::metadata(site.at("tree/new")).unwrap().mode() & 0o7777, 0o755, "{on_conflict:?}");
    }
}

#[test]
fn a_folder_whose_attributes_never_came_gets_them_from_the_next_transfer_that_replaces() {
    // Made on the way to what is in it: its own entry was refused.
    let first = || Lane::default().made("tree", 0o755).folder("tree/new/deep").file("a", b"a");
    let second = || {
        let lane = Lane::default().made("tree", 0o755).made("tree/new", 0o755).made("tree/new/deep", 0o775);
        lane.made("tree/mine", 0o777)
    };
    for is_merged in [false, true] {
        let site = Site::new();
        if is_merged {
            site.receive(site.options(UPDATE), vec![Lane::default().made("tree", 0o755)]);
        }
        site.receive(site.options(OnConflict::Replace), vec![first()]);
        fs::create_dir(site.at("tree/mine")).unwrap();
        fs::set_permissions(site.at("tree/mine"), fs::Permissions::from_mode(0o700)).unwrap();
        let mode = |at: &str| fs::metadata(site.at(at)).unwrap().mode() & 0o777;
        for (on_conflict, expected) in [(UPDATE, [0o700; 3]), (OnConflict::Replace, [0o755, 0o775, 0o700])] {
            let (_, _, failures) = site.receive(site.options(on_conflict), vec![second()]);
            assert_eq!(failures, [], "{on_conflict:?}");
            assert_eq!(["tree/new", "tree/new/deep", "tree/mine"].map(mode), expected, "{on_conflict:?} {is_merged}");
        }
    }
}

/// Receives lanes one after the other, in one transfer; between two of them the owner acts.
fn receive_while(
    site: &Site,
    on_conflict: OnConflict,
    lanes: Vec<Lane>,
    mut act: impl FnMut(usize),
) -> control::Receipt {
    let incoming = site.begin(on_conflict);
    let mut declared = Counts::default();
    for (at, lane) in lanes.into_iter().enumerate() {
        let (bytes, sent) = lane.end();
        declared += sent;
        incoming.run_lane(&mut Wire::new(bytes), &mut io(IoMode::Sync)).unwrap();
        act(at);
    }
    let (receipt, _) = incoming.finish(&declared).unwrap();
    site.remember(&incoming);
    receipt
}

/// Saves as editors do: a temporary file, renamed over the old one.
fn save(site: &Site, rel: &str, text: &str) {
    let temporary = site.at(".saving");
    fs::write(&temporary, text).unwrap();
    // The kernel's clock moves in steps of up to 10 ms: a rename in the same step leaves equal
    // times.
    std::thread::sleep(std::time::Duration::from_millis(20));
    fs::rename(&temporary, site.at(rel)).unwrap();
    let there = fs::metadata(site.at(rel)).unwrap();
    assert_ne!((there.mtime(), there.mtime_nsec()), (there.ctime(), there.ctime_nsec()));
}

/// Puts a new file there with an old time, as `cp -p` does.
fn put_with_old_time(site: &Site, rel: &str, text: &str) {
    fs::write(site.at(rel), text).unwrap();
    fs::File::options().write(true).open(site.at(rel)).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
}

fn assert_edits_stay(site: &Site) {
    let new = album_changed().folder("album").file("new.jpg", b"theirs");
    let (receipt, kept, failures) = site.receive(site.options(UPDATE), vec![new]);
    let expected = [edit("album/new.jpg", "new (1).jpg"), edit("album/p2.jpg", "p2 (1).jpg")];
    assert_eq!((receipt.edited, edits(&kept), failures), (2, expected.to_vec(), vec![]));
    assert_eq!((&*site.text("album/p2.jpg"), &*site.text("album/new.jpg")), ("my edit", "mine"));
    assert_eq!((&*site.text("album/p1.jpg"), &*site.text("album/sub/p3.jpg")), ("one b", "three b"));
}

#[test]
fn edits_in_a_folder_stay_that_are_made_while_the_same_transfer_writes_elsewhere() {
    let site = received();
    let lanes = vec![
        Lane::default().folder("album").file("p1.jpg", b"one"),
        Lane::default().made("other", 0o755).file("a", b"a"),
        Lane::default().folder("other").file("b", b"b"),
    ];
    receive_while(&site, UPDATE, lanes, |at| {
        if at == 1 {
            save(&site, "album/p2.jpg", "my edit");
            put_with_old_time(&site, "album/new.jpg", "mine");
        }
    });
    assert_edits_stay(&site);
}

#[test]
fn edits_in_a_folder_stay_that_are_made_while_the_transfer_writes_there() {
    let site = received();
    let lanes = vec![
        Lane::default().folder("album").file("first", b"1").file("p2.jpg", b"two, once more"),
        Lane::default().folder("album").file("second", b"2"),
    ];
    receive_while(&site, UPDATE, lanes, |at| {
        if at == 0 {
            save(&site, "album/p2.jpg", "my edit");
            put_with_old_time(&site, "album/new.jpg", "mine");
        }
    });
    assert_edits_stay(&site);
    // What the transfer itself wrote is updated.
    let lane = Lane::default().folder("album").file("first", b"1, again").file("second", b"2, again");
    assert_eq!(site.receive(site.options(UPDATE), vec![lane]).0.edited, 0);
    assert_eq!((&*site.text("album/first"), &*site.text("album/second")), ("1, again", "2, again"));
}

#[test]
fn a_folder_that_is_copied_during_a_merge_stays_the_owners_when_it_is_moved_in() {
    let site = received();
    fs::create_dir(site.at("mine")).unwrap();
    let lanes = vec![Lane::default().folder("album").file("a", b"a"), Lane::default().folder("album").file("b", b"b")];
    receive_while(&site, UPDATE, lanes, |at| {
        if at == 0 {
            put_with_old_time(&site, "mine/p", "mine");
        }
    });
    fs::rename(site.at("mine"), site.at("album/photos")).unwrap();
    let lane = Lane::default().folder("album/photos").entry(&newer("p", 6), b"theirs");
    let (receipt, kept, _) = site.receive(site.options(UPDATE), vec![lane]);
    assert_eq!((receipt.edited, edits(&kept)), (1, vec![edit("album/photos/p", "p (1)")]));
    assert_eq!(site.text("album/photos/p"), "mine");
}

#[test]
fn a_folder_that_is_copied_while_a_new_one_is_filled_stays_the_owners_when_it_is_moved_in() {
    for (is_taken, there) in [(false, "album"), (true, "album (1)")] {
        let site = Site::new();
        fs::create_dir_all(site.at("mine")).unwrap();
        if is_taken {
            fs::create_dir(site.at("album")).unwrap();
        }
        let lanes = vec![album(), Lane::default().folder("album").file("late", b"late")];
        receive_while(&site, UPDATE, lanes, |at| {
            if at == 0 {
                put_with_old_time(&site, "mine/p3.jpg", "mine");
            }
        });
        let at = |rel: &str| format!("{there}/{rel}");
        // In place of a folder that arrived, and beside it.
        fs::rename(site.at(&at("sub")), site.at(&at("moved"))).unwrap();
        fs::rename(site.at("mine"), site.at(&at("sub"))).unwrap();
        let lane = album_changed().folder("album/moved").entry(&newer("p3.jpg", 7), b"three c");
        let (receipt, kept, _) = site.receive(site.options(UPDATE), vec![lane]);
        assert_eq!((receipt.edited, edits(&kept).len()), (1, 1), "{there}");
        assert_eq!(site.text(&at("sub/p3.jpg")), "mine", "{there}");
        // What arrived is updated, wherever its folder is by now.
        let updated = ["p1.jpg", "p2.jpg", "moved/p3.jpg", "sub/p3 (1).jpg"].map(|rel| site.text(&at(rel)));
        assert_eq!(updated, ["one b", "two b", "three c", "three b"], "{there}");
    }
}

#[test]
fn a_file_that_is_older_than_a_new_folder_is_the_owners_although_it_was_changed_while_that_was_filled() {
    let site = Site::new();
    fs::create_dir_all(site.at("mine")).unwrap();
    put_with_old_time(&site, "mine/p", "mine");
    std::thread::sleep(std::time::Duration::from_millis(20));
    let lanes = vec![album(), Lane::default().folder("album").file("late", b"late")];
    receive_while(&site, UPDATE, lanes, |_| {
        fs::set_permissions(site.at("mine/p"), fs::Permissions::from_mode(0o640)).unwrap();
    });
    fs::rename(site.at("mine"), site.at("album/photos")).unwrap();
    let lane = Lane::default().folder("album/photos").entry(&newer("p", 6), b"theirs");
    let (receipt, ..) = site.receive(site.options(UPDATE), vec![lane]);
    assert_eq!((receipt.edited, &*site.text("album/photos/p")), (1, "mine"));
}

#[test]
fn files_with_several_names_are_updated_together_and_links_that_come_later_make_no_edits() {
    let site = Site::new();
    let lane = |text: &'static str, mtime| {
        let x = Entry { attributes: Attributes { mtime, ..attributes(0o644) }, ..linked("x", text.len(), 5) };
        Lane::default().made("tree", 0o755).entry(&x, text.as_bytes()).entry(&hard_link("y", 5, true), b"")
    };
    site.receive(site.options(UPDATE), vec![lane("one", MTIME)]);
    for (text, mtime) in [("two!", LATER), ("three", MTIME)] {
        let (receipt, kept, failures) = site.receive(site.options(UPDATE), vec![lane(text, mtime)]);
        assert_eq!((receipt.edited, kept, failures), (0, vec![], vec![]), "{text}");
        assert_eq!((&*site.text("tree/x"), &*site.text("tree/y")), (text, text));
        assert_eq!(fs::metadata(site.at("tree/x")).unwrap().nlink(), 2);
    }
    // A further name of an unchanged file, then one that no longer belongs to it.
    let third = lane("three", MTIME).entry(&hard_link("z", 5, true), b"");
    assert_eq!(site.receive(site.options(UPDATE), vec![third]).0.edited, 0);
    let apart = Lane::default().folder("tree").file("y", b"apart");
    assert_eq!(site.receive(site.options(UPDATE), vec![apart]).0.edited, 0);
    let (receipt, ..) = site.receive(site.options(UPDATE), vec![lane("four, and last", LATER)]);
    assert_eq!((receipt.edited, &*site.text("tree/x")), (0, "four, and last"));
    assert_eq!(names_in(&site.at("tree")), ["x", "y", "z"]);
}

#[test]
fn a_file_with_another_name_of_the_owners_gets_no_permissions_and_no_attributes() {
    let mut xattrs = XattrBuffer::default();
    assert!(xattrs.push(b"user.theirs", b"sender"));
    for widen_modes in [false, true] {
        let site = Site::new();
        for at in ["private", "in"] {
            fs::create_dir_all(site.at(at)).unwrap();
        }
        fs::write(site.at("private/secret"), "mine").unwrap();
        fs::set_permissions(site.at("private/secret"), fs::Permissions::from_mode(0o600)).unwrap();
        fs::hard_link(site.at("private/secret"), site.at("in/x")).unwrap();
        let at = std::time::UNIX_EPOCH + std::time::Duration::new(MTIME.secs as u64, MTIME.nanos);
        fs::File::options().write(true).open(site.at("in/x")).unwrap().set_modified(at).unwrap();
        let entry = Entry { xattrs: xattrs.as_xattrs(), ..file("x", 4, 0o666) };
        let options = DestinationOptions { widen_modes, ..site.options(OnConflict::Replace) };
        let (receipt, ..) = site.receive(options, vec![Lane::default().folder("in").entry(&entry, b"evil")]);
        assert_eq!((receipt.unchanged, &*site.text("private/secret")), (1, "mine"));
        let (mode, _, theirs) = folder_state(&site.at("private/secret"));
        assert_eq!(mode, if widen_modes { 0o666 } else { 0o600 });
        assert!(widen_modes || theirs.is_none());
    }
}

#[test]
fn an_edit_that_a_correction_of_the_mode_meets_stays_one() {
    let site = received();
    let other_mode = || Lane::default().folder("album").entry(&file("p1.jpg", 3, 0o600), b"one");
    // Size and time are the sender's; the contents are the owner's.
    put_with_old_time(&site, "album/p1.jpg", "ONE");
    let at = std::time::UNIX_EPOCH + std::time::Duration::new(MTIME.secs as u64, MTIME.nanos);
    fs::File::options().write(true).open(site.at("album/p1.jpg")).unwrap().set_modified(at).unwrap();
    assert_eq!(site.receive(site.options(OnConflict::Replace), vec![other_mode()]).0.unchanged, 1);
    assert_eq!(fs::metadata(site.at("album/p1.jpg")).unwrap().mode() & 0o777, 0o600);
    let (receipt, ..) = site.receive(site.options(UPDATE), vec![album_changed()]);
    assert_eq!((receipt.edited, &*site.text("album/p1.jpg")), (1, "ONE"));
    // A file that was as received is so after its mode was corrected.
    let p3 = Lane::default().folder("album/sub").entry(
        &Entry { attributes: Attributes { mtime: LATER, ..attributes(0o600) }, ..newer("p3.jpg", 7) },
        b"three b",
    );
    assert_eq!(site.receive(site.options(UPDATE), vec![p3]).0.edited, 0);
    assert_eq!(fs::metadata(site.at("album/sub/p3.jpg")).unwrap().mode() & 0o777, 0o600);
    let last = Lane::default().folder("album/sub").file("p3.jpg", b"three c");
    assert_eq!(site.receive(site.options(UPDATE), vec![last]).0.edited, 0);
    assert_eq!(site.text("album/sub/p3.jpg"), "three c");
}

#[test]
fn a_receiver_that_is_killed_once_a_folder_has_its_name_knows_whose_it_is() {
    let site = Site::new();
    // What it has brought is noted at the end only.
    cross(&site.begin(UPDATE), vec![album()]);
    cross(&site.begin(UPDATE), vec![album_changed()]);
    assert_eq!(site.names(), ["album"]);
    assert_eq!(&*site.text("album/p1.jpg"), "one b");
}

#[test]
fn a_receiver_that_is_killed_once_a_folder_has_its_number_knows_whose_it_is() {
    let site = Site::new();
    fs::create_dir_all(site.at("album")).unwrap();
    cross(&site.begin(UPDATE), vec![album()]);
    cross(&site.begin(UPDATE), vec![album_changed()]);
    assert_eq!(site.names(), ["album", "album (1)"]);
    assert_eq!(&*site.text("album (1)/p1.jpg"), "one b");
}

#[test]
fn however_many_names_are_sent_at_once_all_are_known_as_the_devices() {
    let site = Site::in_memory();
    let count = 300;
    let lane = |size: usize, contents: &'static [u8]| {
        let lane = (0..count).fold(Lane::default(), |lane, number| {
            lane.made(&format!("d{number}"), 0o755).entry(&newer("f", size), contents)
        });
        (0..count).fold(lane.folder(""), |lane, number| lane.entry(&newer(&format!("f{number}"), size), contents))
    };
    site.receive(site.options(UPDATE), vec![lane(3, b"old")]);
    let names = || fs::read_dir(&site.root).unwrap().count();
    assert_eq!(names(), 2 * count);
    site.receive(site.options(UPDATE), vec![lane(5, b"newer")]);
    assert_eq!(names(), 2 * count, "nothing got a numbered name");
    for number in 0..count {
        for path in [format!("d{number}/f"), format!("f{number}")] {
            assert_eq!(fs::read(site.root.join(&path)).unwrap(), b"newer", "{path}");
        }
    }
}

#[test]
fn names_of_a_file_that_the_receiver_has_touched_are_no_links_to_it() {
    for size in [7, 300_000] {
        let site = Site::new();
        let contents = vec![b'p'; size];
        site.receive(site.options(UPDATE), vec![Lane::default().made("album", 0o755).file("m", &contents)]);
        fs::File::open(site.at("album/m")).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
        let mine = fs::metadata(site.at("album/m")).unwrap();
        let lane = Lane::default()
            .folder("album")
            .entry(&linked("m", size, 1), &contents)
            .entry(&hard_link("a", 1, false), b"")
            .entry(&hard_link("b", 1, true), b"");
        let (receipt, edits, failures) = site.receive(site.options(UPDATE), vec![lane]);
        assert_eq!((receipt.there.files, receipt.there.links, receipt.unchanged), (1, 2, 1));
        assert_eq!((edits, failures), (vec![], vec![]), "nothing differs");
        let now = fs::metadata(site.at("album/m")).unwrap();
        assert_eq!((now.ino(), now.mtime(), now.nlink()), (mine.ino(), 0, 1));
        let [a, b] = ["a", "b"].map(|name| fs::metadata(site.at("album").join(name)).unwrap());
        assert_eq!((a.ino(), a.nlink(), a.mtime()), (b.ino(), 2, MTIME.secs));
        assert_eq!(fs::read(site.at("album/a")).unwrap(), contents);
    }
}

/// One file with a name in each of two top-level folders, and one with two names at the top.
fn names_under_two_tops() -> Site {
    let site = Site::new();
    let lane = Lane::default().made("one", 0o755).entry(&linked("a", 3, 5), b"old");
    let lane = lane.made("two", 0o755).entry(&hard_link("b", 5, true), b"");
    let lane = lane.folder("").entry(&linked("c", 3, 6), b"old").entry(&hard_link("d", 6, true), b"");
    site.receive(site.options(UPDATE), vec![lane]);
    let ino = |name: &str| fs::metadata(site.at(name)).unwrap().ino();
    assert_eq!((ino("one/a"), ino("c")), (ino("two/b"), ino("d")));
    site
}

/// A transfer of new versions of some of these.
fn versions(of: &[(&str, &str, &'static [u8])]) -> Lane {
    of.iter().fold(Lane::default(), |lane, (folder, name, text)| {
        lane.folder(folder).entry(&newer(name, text.len()), text).flush()
    })
}

const APART: [(&str, &str, &[u8]); 4] =
    [("one", "a", b"new a"), ("two", "b", b"new b"), ("", "c", b"new c"), ("", "d", b"new d")];

fn assert_apart(site: &Site) {
    for (folder, name, text) in APART {
        assert_eq!(fs::read(site.at(folder).join(name)).unwrap(), text, "{name}");
    }
    assert_eq!(site.names(), ["c", "d", "one", "two"]);
    assert_eq!((names_in(&site.at("one")), names_in(&site.at("two"))), (vec!["a".into()], vec!["b".into()]));
}

#[test]
fn replacing_one_name_of_a_file_makes_no_edit_of_its_name_under_another_top_level_name() {
    // In one transfer, in either order, or in one for each.
    let mut backwards = APART;
    backwards.reverse();
    let transfers: [&[&[_]]; 3] = [&[&APART], &[&backwards], &[&APART[..1], &APART[1..2], &APART[2..3], &APART[3..]]];
    for transfers in transfers {
        let site = names_under_two_tops();
        for versions_of in transfers {
            let (receipt, ..) = site.receive(site.options(UPDATE), vec![versions(versions_of)]);
            assert_eq!(receipt.edited, 0);
        }
        assert_apart(&site);
    }
    // The other names come as they were first.
    let site = names_under_two_tops();
    let unchanged = |lane: Lane| lane.folder("two").file("b", b"old").folder("").file("d", b"old");
    let (receipt, ..) = site.receive(site.options(UPDATE), vec![unchanged(versions(&[APART[0], APART[2]]))]);
    assert_eq!((receipt.edited, receipt.unchanged), (0, 2));
    assert_eq!(site.receive(site.options(UPDATE), vec![versions(&APART)]).0.edited, 0);
    assert_apart(&site);
}

#[test]
fn new_version_of_a_file_with_names_under_two_top_level_names_gets_both() {
    let site = names_under_two_tops();
    let both = Entry { kind: linked("a", 4, 5).kind, ..newer("a", 4) };
    let lane = Lane::default().folder("one").entry(&both, b"both").folder("two").entry(&hard_link("b", 5, true), b"");
    for _ in 0..2 {
        // A further name changes the change time as well.
        let further = hard_link("further", 5, true);
        let lane = Lane::default().folder("one").entry(&linked("a", 3, 5), b"old").entry(&further, b"");
        assert_eq!(site.receive(site.options(UPDATE), vec![lane]).0.edited, 0);
    }
    let (receipt, kept, failures) = site.receive(site.options(UPDATE), vec![lane]);
    assert_eq!((receipt.edited, kept, failures), (0, vec![], vec![]));
    assert_eq!((&*site.text("one/a"), &*site.text("two/b"), &*site.text("one/further")), ("both", "both", "old"));
    let ino = |name: &str| fs::metadata(site.at(name)).unwrap().ino();
    assert_eq!((names_in(&site.at("two")), ino("one/a")), (vec!["b".into()], ino("two/b")));
}

#[test]
fn edit_of_a_file_one_of_whose_names_was_replaced_stays_under_the_other_name() {
    type Make = fn(&Site);
    let ways: [(&str, Make); 3] = [
        ("written in place", |site| fs::write(site.at("two/b"), "mine").unwrap()),
        ("saved by an editor that renames", |site| save(site, "two/b", "mine")),
        ("linked by its owner", |site| fs::hard_link(site.at("two/b"), site.at("mine")).unwrap()),
    ];
    for (way, make) in ways {
        let site = names_under_two_tops();
        site.receive(site.options(UPDATE), vec![versions(&APART[..1])]);
        make(&site);
        let before = site.text("two/b");
        let (receipt, ..) = site.receive(site.options(UPDATE), vec![versions(&APART[1..2])]);
        assert_eq!((receipt.edited, site.text("two/b")), (1, before), "{way}");
        assert_eq!(site.text("two/b (1)"), "new b", "{way}");
    }
    // A device that was forgotten may replace nothing.
    let site = names_under_two_tops();
    site.receive(site.options(UPDATE), vec![versions(&APART[..1])]);
    site.brought.lock().values_mut().for_each(|brought| *brought = brought.clone().without_files());
    assert_eq!(site.receive(site.options(UPDATE), vec![versions(&APART[1..2])]).0.edited, 1);
}

#[test]
fn top_level_file_under_a_number_is_updated_until_its_owner_changes_it() {
    let site = Site::new();
    fs::create_dir_all(&site.root).unwrap();
    fs::write(site.at("notes.txt"), "mine").unwrap();
    let receive = |contents: &str| {
        let lane = Lane::default().folder("").file("notes.txt", contents.as_bytes());
        let (_, kept, failures) = site.receive(site.options(UPDATE), vec![lane]);
        assert_eq!((kept, failures), (vec![], vec![]), "{contents}");
    };
    ["1", "12", "12", "123"].iter().for_each(|contents| receive(contents));
    assert_eq!((site.names(), &*site.text("notes (1).txt")), (vec!["notes (1).txt".into(), "notes.txt".into()], "123"));
    fs::write(site.at("notes (1).txt"), "mine, too").unwrap();
    ["1234", "12345"].iter().for_each(|contents| receive(contents));
    assert_eq!((&*site.text("notes.txt"), &*site.text("notes (1).txt")), ("mine", "mine, too"));
    assert_eq!((site.names().len(), &*site.text("notes (2).txt")), (3, "12345"));
    // What its owner has put there instead is no version of it.
    save(&site, "notes (2).txt", "mine, as well");
    receive("123456");
    assert_eq!((&*site.text("notes (2).txt"), &*site.text("notes (3).txt")), ("mine, as well", "123456"));
    // Once its own name is free, it has that.
    fs::remove_file(site.at("notes.txt")).unwrap();
    receive("1234567");
    assert_eq!((&*site.text("notes.txt"), &*site.text("notes (3).txt")), ("1234567", "123456"));
}

#[test]
fn file_under_a_number_is_found_behind_a_gap_in_the_numbers() {
    let site = Site::new();
    fs::create_dir_all(&site.root).unwrap();
    fs::write(site.at("n.txt"), "mine").unwrap();
    let lane = |contents: &str| Lane::default().folder("").file("n.txt", contents.as_bytes());
    site.receive(site.options(UPDATE), vec![lane("1")]);
    fs::write(site.at("n (1).txt"), "mine, too").unwrap();
    site.receive(site.options(UPDATE), vec![lane("12")]);
    fs::rename(site.at("n (1).txt"), site.at("moved away.txt")).unwrap();
    let names = ["moved away.txt", "n (2).txt", "n.txt"];
    let ino = || fs::metadata(site.at("n (2).txt")).unwrap().ino();
    let (before, entry) = (ino(), file("n.txt", 2, 0o644));
    for proves in [false, true, false] {
        // Nobody sends the contents.
        let (sender, answers) = answers_to(1);
        let names_sent = vec![b"n.txt".to_vec()];
        let options = site.options(UPDATE);
        let options = DestinationOptions { answers: Some(sender), prove: proves, names: names_sent, ..options };
        let list = match proves {
            false => Lane::default().list(0, "", &[entry]),
            true => Lane::default().proving().list_proven(0, "", &[("n.txt", b"12")]),
        };
        let (receipt, kept, failures) = site.receive(options, vec![list.had(1, 2)]);
        assert_eq!((receipt.unchanged, kept, failures), (1, vec![], vec![]));
        assert_eq!(answers.try_recv().unwrap().files, [false]);
        // They were sent by one who does not ask.
        let options = DestinationOptions { prove: proves, ..site.options(UPDATE) };
        let lane = if proves { Lane::default().proving() } else { Lane::default() };
        let (receipt, ..) = site.receive(options, vec![lane.folder("").file("n.txt", b"12")]);
        assert_eq!((receipt.unchanged, ino(), site.names()), (1, before, names.map(String::from).into()));
    }
    site.receive(site.options(UPDATE), vec![lane("123")]);
    assert_eq!((&*site.text("n (2).txt"), site.names()), ("123", names.map(String::from).into()));
    // Its owner has it now.
    fs::write(site.at("n (2).txt"), "mine, as well").unwrap();
    site.receive(site.options(UPDATE), vec![lane("1234")]);
    assert_eq!((&*site.text("n (2).txt"), &*site.text("n (1).txt")), ("mine, as well", "1234"));
}

#[test]
fn device_may_have_a_file_whose_name_is_the_number_of_another_one() {
    for names in [["n.txt", "n (1).txt"], ["n (1).txt", "n.txt"]] {
        let site = Site::new();
        fs::create_dir_all(&site.root).unwrap();
        fs::write(site.at("n.txt"), "mine").unwrap();
        let both = |version: &str| {
            let text = |name| format!("{name} {version}");
            names.iter().fold(Lane::default().folder(""), |lane, name| lane.file(name, text(name).as_bytes()))
        };
        site.receive(site.options(UPDATE), vec![both("first")]);
        let before = site.names();
        assert_eq!(before.len(), 3, "{before:?}");
        site.receive(site.options(UPDATE), vec![both("second")]);
        assert_eq!(site.names(), before);
        let mut texts: Vec<_> = before.iter().map(|name| site.text(name)).collect();
        texts.sort();
        assert_eq!(texts, ["mine", "n (1).txt second", "n.txt second"]);
    }
}

#[test]
fn file_whose_further_name_exists_with_the_same_contents_is_no_edit() {
    let site = Site::new();
    let lane = || Lane::default().made("one", 0o755).entry(&linked("a", 3, 5), b"old").made("two", 0o755);
    site.receive(site.options(UPDATE), vec![lane().file("b", b"old")]);
    fs::write(site.at("two/b"), "old").unwrap();
    let (receipt, kept, _) = site.receive(site.options(UPDATE), vec![lane().entry(&hard_link("b", 5, true), b"")]);
    assert_eq!((receipt.edited, kept, names_in(&site.at("two"))), (0, vec![], vec!["b".into()]));
    assert_eq!(site.receive(site.options(UPDATE), vec![versions(&APART[..1])]).0.edited, 0);
    assert_eq!(site.text("one/a"), "new a");
}

/// The owner has a `n.txt`. The sender's has another name in a folder.
fn first_name_taken() -> (Site, impl Fn() -> Lane) {
    let site = Site::new();
    fs::create_dir_all(&site.root).unwrap();
    fs::write(site.at("n.txt"), "mine").unwrap();
    let lane = || {
        let lane = Lane::default().folder("").entry(&linked("n.txt", 2, 5), b"v0");
        lane.made("t", 0o755).entry(&hard_link("a", 5, true), b"")
    };
    (site, lane)
}

fn assert_updated_in_place(site: &Site) {
    for text in ["v1 x", "v2 xx"] {
        let lane = Lane::default().folder("t").entry(&newer("a", text.len()), text.as_bytes());
        let (receipt, kept, failures) = site.receive(site.options(UPDATE), vec![lane]);
        assert_eq!((receipt.edited, kept, failures), (0, vec![], vec![]), "{text}");
        assert_eq!((names_in(&site.at("t")), &*site.text("t/a")), (vec!["a".into()], text));
    }
    assert_eq!((&*site.text("n.txt"), &*site.text("n (1).txt")), ("mine", "v0"));
}

#[test]
fn file_whose_other_name_got_a_number_is_updated_in_place_however_often_it_was_sent() {
    for times in 1..4 {
        let (site, lane) = first_name_taken();
        (0..times).for_each(|_| drop(site.receive(site.options(UPDATE), vec![lane()])));
        assert_updated_in_place(&site);
    }
}

#[test]
fn file_whose_other_name_got_a_number_is_updated_in_place_after_an_interruption() {
    for keeps in [true, false] {
        let (site, lane) = first_name_taken();
        site.receive(site.options(UPDATE), vec![lane()]);
        let incoming = site.begin(UPDATE);
        let ended = incoming.run_lane(&mut Wire::new(lane().flush().bytes), &mut io(IoMode::Sync));
        assert!(matches!(ended, Err(LaneError::Source(_))), "{ended:?}");
        if keeps { incoming.keep().map(drop) } else { incoming.abandon() }.unwrap();
        site.remember(&incoming);
        drop(incoming);
        assert_updated_in_place(&site);
    }
}

#[test]
fn edit_of_a_file_whose_other_name_got_a_number_stays() {
    let (site, lane) = first_name_taken();
    (0..2).for_each(|_| drop(site.receive(site.options(UPDATE), vec![lane()])));
    fs::hard_link(site.at("t/a"), site.at("mine")).unwrap();
    let update = Lane::default().folder("t").entry(&newer("a", 4), b"v1 x");
    assert_eq!(site.receive(site.options(UPDATE), vec![update]).0.edited, 1);
    assert_eq!((&*site.text("t/a"), &*site.text("t/a (1)")), ("v0", "v1 x"));
}
