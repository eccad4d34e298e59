//! Into what exists: every policy, and whatever may be in the way.
use super::*;
use crate::receive::allowance::Allowance;

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
    assert_eq!((receipt.there.files, receipt.skipped), (2, 2));
    assert_eq!(names_in(&site.at("tree")), ["a.txt"]);
    let (_, arrived, failures) = cross(&site.begin(OnConflict::Rename), vec![lane()]);
    assert_eq!(failures, []);
    assert_eq!(site.text("tree/a (1).txt"), "theirs");
    assert_eq!(arrived, [site.at("tree"), site.at("top.tar (1).gz")]);
    assert_eq!((site.text("tree/a.txt").as_str(), site.text("top.tar.gz").as_str()), ("mine", "mine"));
}

#[test]
fn rename_numbers_what_differs_and_nothing_twice() {
    let site = Site::new();
    fs::create_dir_all(site.at("tree")).unwrap();
    fs::write(site.at("tree/a"), "mine").unwrap();
    let send = |text: &str| {
        let lane = Lane::default().made("tree", 0o755).file("a", text.as_bytes()).file("b", b"equal");
        let (receipt, _, failures) = cross(&site.begin(OnConflict::Rename), vec![lane]);
        assert_eq!(failures, []);
        receipt.unchanged
    };
    // The second one is what a retry sends after a connection broke, or a person who sends the same
    // again.
    assert_eq!([send("theirs"), send("theirs"), send("their second")], [0, 2, 1]);
    assert_eq!(names_in(&site.at("tree")), ["a", "a (1)", "a (2)", "b"]);
    assert_eq!(
        ["a", "a (1)", "a (2)"].map(|name| site.text(&format!("tree/{name}"))),
        ["mine", "theirs", "their second"]
    );
}

#[test]
fn rename_top_numbers_no_file_whose_equal_is_there_and_every_other() {
    let site = Site::new();
    let lane =
        || Lane::default().folder("").file("a", b"theirs").file("b", b"their b").entry(&symlink("link", "a"), b"");
    // The receiver is killed before it could note that these are the sender's.
    cross(&site.begin(OnConflict::RenameTop), vec![lane()]);
    fs::remove_file(site.at("b")).unwrap();
    fs::write(site.at("b"), "mine, b").unwrap();
    let mtime = std::time::UNIX_EPOCH + std::time::Duration::new(MTIME.secs.unsigned_abs(), MTIME.nanos);
    fs::File::options().write(true).open(site.at("b")).unwrap().set_modified(mtime).unwrap();
    let before = fs::metadata(site.at("a")).unwrap().ino();
    for _ in 0..2 {
        let (_, _, failures) = cross(&site.begin(OnConflict::RenameTop), vec![lane()]);
        assert_eq!(failures, []);
        assert_eq!(site.names(), ["a", "b", "b (1)", "link"], "of the same size and time are both named b");
    }
    assert_eq!(["a", "b", "b (1)"].map(|name| site.text(name)), ["theirs", "mine, b", "their b"]);
    assert_eq!(fs::metadata(site.at("a")).unwrap().ino(), before);
}

#[test]
fn no_name_of_a_file_with_several_is_numbered_where_it_is_there() {
    for (policy, folder) in [(OnConflict::RenameTop, ""), (OnConflict::Rename, ""), (OnConflict::Rename, "tree")] {
        for size in [7, 300_000] {
            let site = Site::new();
            fs::create_dir_all(site.at("tree")).unwrap();
            let at = |name: &str| site.at(folder).join(name);
            let contents = vec![b't'; size];
            let lane = || {
                let lane = if folder.is_empty() { Lane::default() } else { Lane::default().made("tree", 0o755) };
                lane.folder(folder)
                    .entry(&linked("a", size, 1), &contents)
                    .entry(&hard_link("b", 1, false), b"")
                    .entry(&hard_link("c", 1, true), b"")
            };
            // The receiver is killed before it could note whose these are; or its owner has a `b`.
            for own in [None, Some("b")] {
                own.iter().for_each(|own| {
                    fs::remove_file(at(own)).unwrap();
                    fs::write(at(own), "mine").unwrap();
                });
                for round in 0..3 {
                    let (receipt, _, failures) = cross(&site.begin(policy), vec![lane()]);
                    assert_eq!(failures, []);
                    assert_eq!((receipt.there.files, receipt.there.links), (1, 2), "{round}");
                    let mut names = names_in(&at(""));
                    names.retain(|name| name != "tree");
                    let numbered = if own.is_some() { &["a", "b", "b (1)", "c"][..] } else { &["a", "b", "c"] };
                    assert_eq!(names, numbered, "{policy:?}, {round}, {own:?}");
                }
            }
            assert_eq!(fs::read(at("b")).unwrap(), b"mine");
            for name in ["a", "b (1)", "c"] {
                assert_eq!(fs::read(at(name)).unwrap(), contents);
            }
        }
    }
}

#[test]
fn rename_top_numbers_unknown_folders_and_merges_known_ones() {
    let site = Site::new();
    let known = Lane::default().made("known", 0o755).file("a", b"their first");
    site.receive(site.options(OnConflict::RenameTop), vec![known]);
    fs::create_dir_all(site.at("tree")).unwrap();
    fs::write(site.at("tree/a"), "mine").unwrap();
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
fn a_numbered_folder_is_updated_when_the_same_is_sent_again() {
    let site = Site::new();
    fs::create_dir_all(site.at("tree")).unwrap();
    fs::write(site.at("tree/a"), "mine").unwrap();
    let lane = |contents: &'static [u8]| {
        let lane = Lane::default().made("tree", 0o755).file("a", contents).made("tree/sub", 0o755).file("b", contents);
        lane.entry(&linked("c", contents.len(), 1), contents).entry(&hard_link("d", 1, true), b"")
    };
    let options = || site.options(OnConflict::RenameTop);
    site.receive(options(), vec![lane(b"first")]);
    assert_eq!(site.names(), ["tree", "tree (1)"]);
    fs::write(site.at("tree (1)/sub/b"), "my edit").unwrap();

    let (receipt, edits, failures) = site.receive(options(), vec![lane(b"second")]);
    assert_eq!((site.names(), failures), (vec!["tree".to_owned(), "tree (1)".to_owned()], vec![]));
    assert_eq!((receipt.edited, edits.len()), (1, 1));
    assert_eq!((&*site.text("tree/a"), &*site.text("tree (1)/a")), ("mine", "second"));
    assert_eq!((&*site.text("tree (1)/sub/b"), &*site.text("tree (1)/sub/b (1)")), ("my edit", "second"));
    let ino = |name: &str| fs::metadata(site.at(name)).unwrap().ino();
    assert_eq!((&*site.text("tree (1)/sub/c"), ino("tree (1)/sub/c")), ("second", ino("tree (1)/sub/d")));
    assert_eq!(names_in(&site.at("tree")), ["a"]);

    // Its own name is free by now, and then it has that.
    fs::remove_dir_all(site.at("tree")).unwrap();
    site.receive(options(), vec![lane(b"the third")]);
    assert_eq!((site.names(), &*site.text("tree (1)/a")), (vec!["tree (1)".to_owned()], "the third"));
    fs::rename(site.at("tree (1)"), site.at("tree")).unwrap();
    site.receive(options(), vec![lane(b"fourth")]);
    assert_eq!((site.names(), &*site.text("tree/a")), (vec!["tree".to_owned()], "fourth"));
}

#[test]
fn only_the_very_folder_that_a_device_brought_is_updated_under_a_number() {
    type Make = fn(&Site);
    let ways: [(&str, Make); 3] = [
        ("made anew", |site| {
            fs::remove_dir_all(site.at("tree (1)")).unwrap();
            fs::create_dir(site.at("tree (1)")).unwrap();
        }),
        ("another one moved there", |site| {
            fs::create_dir(site.at("mine")).unwrap();
            fs::rename(site.at("tree (1)"), site.at("away")).unwrap();
            fs::rename(site.at("mine"), site.at("tree (1)")).unwrap();
        }),
        ("another device's", |site| site.brought.lock().clear()),
    ];
    let lane = |contents: &'static [u8]| Lane::default().made("tree", 0o755).file("a", contents);
    for (way, make) in ways {
        let site = Site::new();
        fs::create_dir_all(site.at("tree")).unwrap();
        site.receive(site.options(OnConflict::RenameTop), vec![lane(b"first")]);
        make(&site);
        fs::write(site.at("tree (1)/a"), "theirs").unwrap();
        let (_, _, failures) = site.receive(site.options(OnConflict::RenameTop), vec![lane(b"second")]);
        assert_eq!((failures, &*site.text("tree (1)/a")), (vec![], "theirs"), "{way}");
        assert_eq!(site.text("tree (2)/a"), "second", "{way}");
        assert_eq!(names_in(&site.at("tree")), [""; 0], "{way}");
    }
}

#[test]
fn a_device_may_have_a_folder_whose_name_is_the_number_of_another_one() {
    let site = Site::new();
    fs::create_dir_all(site.at("tree")).unwrap();
    let both = |contents: &'static [u8]| {
        Lane::default().made("tree", 0o755).file("a", contents).made("tree (1)", 0o755).file("b", contents)
    };
    site.receive(site.options(OnConflict::RenameTop), vec![both(b"first")]);
    let before = site.names();
    assert_eq!(before.len(), 3, "{before:?}");
    site.receive(site.options(OnConflict::RenameTop), vec![both(b"second")]);
    assert_eq!(site.names(), before);
    for folder in &before[1..] {
        let names = names_in(&site.at(folder));
        assert_eq!((names.len(), &*site.text(&format!("{folder}/{}", names[0]))), (1, "second"), "{folder}: {names:?}");
    }
    // Only `update` looks for it.
    let (_, _, failures) =
        site.receive(site.options(OnConflict::Replace), vec![Lane::default().folder("tree").file("a", b"third")]);
    assert_eq!((failures, &*site.text("tree/a")), (vec![], "third"));
}

#[test]
fn an_owners_file_is_not_taken_for_the_folder_that_got_a_number() {
    let site = Site::new();
    fs::create_dir_all(&site.root).unwrap();
    fs::write(site.at("tree"), "mine").unwrap();
    site.receive(site.options(OnConflict::RenameTop), vec![Lane::default().made("tree", 0o755).file("a", b"first")]);
    site.brought.lock().get_mut(&b"tree"[..]).unwrap().fill_for_ever();
    let lane = Lane::default().folder("").file("tree", b"theirs");
    let (_, _, failures) = site.receive(site.options(OnConflict::RenameTop), vec![lane]);
    assert_eq!((failures, &*site.text("tree"), &*site.text("tree (2)")), (vec![], "mine", "theirs"));
}

/// What is there before: one of everything that a file or folder can meet.
fn crowded(site: &Site) {
    fs::create_dir_all(site.at("tree/folder/inner")).unwrap();
    for rel in ["tree/file", "tree/folder/inner/mine", "outside"] {
        fs::write(site.at(rel), "mine").unwrap();
    }
    std::os::unix::fs::symlink("../outside", site.at("tree/link")).unwrap();
    std::os::unix::fs::symlink("folder", site.at("tree/dirlink")).unwrap();
    for rel in ["tree/fifo", "tree/fifo2"] {
        rustix::fs::mkfifoat(rustix::fs::CWD, site.at(rel), rustix::fs::Mode::RWXU).unwrap();
    }
}

fn reasons(failures: &[Failure]) -> Vec<(String, FailureReason)> {
    let mut all: Vec<_> = failures.iter().map(|failure| (failure.path.display().to_string(), failure.reason)).collect();
    all.sort_by(|one, other| one.0.cmp(&other.0));
    all
}

fn in_the_way(paths: &[&str]) -> Vec<(String, FailureReason)> {
    paths.iter().map(|path| ((*path).to_owned(), FailureReason::InTheWay)).collect()
}

#[test]
fn what_is_in_the_way_stays_and_is_named() {
    for on_conflict in [OnConflict::Replace, OnConflict::Keep] {
        let site = Site::new();
        crowded(&site);
        let lane = Lane::default()
            .folder("tree")
            .file("folder", b"theirs")
            .file("fifo", b"theirs")
            .entry(&symlink("fifo2", "theirs"), b"")
            .made("tree/file", 0o755)
            .file("below", b"theirs")
            .made("tree/dirlink", 0o700)
            .file("below", b"theirs")
            .folder("tree/fifo/below")
            .file("x", b"theirs")
            .folder("tree")
            .file("last", b"arrives");
        let (receipt, _, failures) = cross(&site.begin(on_conflict), vec![lane]);
        let paths = [
            "tree/dirlink",
            "tree/dirlink/below",
            "tree/fifo",
            "tree/fifo/below/x",
            "tree/fifo2",
            "tree/file",
            "tree/file/below",
            "tree/folder",
        ];
        assert_eq!(reasons(&failures), in_the_way(&paths));
        assert_eq!((receipt.failed, receipt.there.files), (8, 1));
        assert_eq!(site.text("tree/file"), "mine");
        assert_eq!(site.text("tree/folder/inner/mine"), "mine");
        assert_eq!(names_in(&site.at("tree/folder")), ["inner"]);
        assert_eq!(fs::metadata(site.at("tree/folder")).unwrap().permissions().mode() & 0o777, 0o755);
    }
}

#[test]
fn sockets_and_devices_in_the_way_stay_and_are_named_whatever_comes() {
    use std::os::unix::fs::FileTypeExt;
    let site = Site::new();
    fs::create_dir_all(site.at("tree")).unwrap();
    let _listening = std::os::unix::net::UnixListener::bind(site.at("tree/socket")).unwrap();
    let null = rustix::fs::makedev(1, 3);
    let device = |name: &str| {
        let (kind, mode) = (rustix::fs::FileType::CharacterDevice, rustix::fs::Mode::RWXU);
        rustix::fs::mknodat(rustix::fs::CWD, site.at(name), kind, mode, null).is_ok()
    };
    let mut names = vec!["socket"];
    if device("tree/null") {
        names.push("null");
    } else {
        println!("skipped: sockets_and_devices_in_the_way_stay_and_are_named_whatever_comes: devices take root");
    }
    for on_conflict in [OnConflict::Replace, OnConflict::Keep] {
        for name in &names {
            let step = RangeStep::Last { data_bytes: 4 };
            let below = format!("tree/{name}");
            let lane = Lane::default()
                .folder("tree")
                .file(name, b"theirs")
                .range(0, "tree", file(name, 4, 0o644), 0, b"data", step)
                .folder("tree")
                .entry(&symlink(name, "theirs"), b"")
                .folder(&below)
                .file("x", b"theirs")
                .folder("tree")
                .file("last", b"arrives");
            let (receipt, _, failures) = cross(&site.begin(on_conflict), vec![lane]);
            let inside = format!("{below}/x");
            assert_eq!(reasons(&failures), in_the_way(&[&below, &below, &below, &inside]));
            assert_eq!((receipt.failed, receipt.there.files), (4, 1));
            let kind = fs::symlink_metadata(site.at(&below)).unwrap().file_type();
            assert!(kind.is_socket() || kind.is_char_device(), "{kind:?}");
        }
    }
}

#[test]
fn a_link_that_is_there_is_replaced_and_never_followed() {
    let site = Site::new();
    crowded(&site);
    let big = file("dirlink", 4, 0o644);
    let lane = Lane::default().folder("tree").file("link", b"theirs").entry(&symlink("file", "elsewhere"), b"").range(
        0,
        "tree",
        big,
        0,
        b"data",
        RangeStep::Last { data_bytes: 4 },
    );
    let (_, _, failures) = cross(&site.begin(OnConflict::Replace), vec![lane]);
    assert_eq!(failures, []);
    assert_eq!(site.text("outside"), "mine");
    assert!(fs::symlink_metadata(site.at("tree/link")).unwrap().is_file());
    assert_eq!(site.text("tree/link"), "theirs");
    assert_eq!(site.text("tree/dirlink"), "data");
    assert_eq!(fs::read_link(site.at("tree/file")).unwrap(), Path::new("elsewhere"));
    assert_eq!(names_in(&site.at("tree/folder")), ["inner"]);
}

#[test]
fn ranges_merge_by_policy_too() {
    let whole = |id, text: &'static str| {
        Lane::default().range(id, "tree", file(text, 4, 0o644), 0, b"data", RangeStep::Last { data_bytes: 4 })
    };
    let site = Site::new();
    crowded(&site);
    for (on_conflict, stayed) in [
        (OnConflict::Keep, (0, 1)),
        (OnConflict::Rename, (0, 0)),
        (OnConflict::Replace, (0, 0)),
        (OnConflict::Replace, (1, 0)),
    ] {
        let (receipt, _, failures) = cross(&site.begin(on_conflict), vec![whole(0, "file")]);
        assert_eq!((failures, (receipt.unchanged, receipt.skipped)), (vec![], stayed), "{on_conflict:?}");
        assert_eq!((receipt.there.files, receipt.there.bytes), (1, 4));
    }
    assert_eq!(site.text("tree/file"), "data");
    assert_eq!(site.text("tree/file (1)"), "data");
    let (_, _, failures) = cross(&site.begin(OnConflict::Replace), vec![whole(0, "folder")]);
    assert_eq!(reasons(&failures), in_the_way(&["tree/folder"]));
}

#[test]
fn hard_links_that_are_there_already_leave_their_folder_untouched() {
    let site = Site::new();
    let lane = || {
        let lane = Lane::default().made("tree", 0o755).entry(&linked("a", 3, 1), b"abc");
        lane.entry(&hard_link("b", 1, true), b"")
    };
    for round in 0..2 {
        let before = fs::metadata(site.at("tree")).ok().map(|there| (there.ctime(), there.ctime_nsec()));
        let (receipt, _, failures) = cross(&site.begin(OnConflict::Rename), vec![lane()]);
        assert_eq!((failures, receipt.there.links), (vec![], 1), "{round}");
        let after = fs::metadata(site.at("tree")).unwrap();
        assert!(before.is_none_or(|before| before == (after.ctime(), after.ctime_nsec())));
        assert_eq!(names_in(&site.at("tree")), ["a", "b"]);
    }
}

#[test]
fn links_merge_by_policy_too() {
    let site = Site::new();
    let lane = || {
        Lane::default()
            .made("tree", 0o755)
            .entry(&linked("a", 3, 1), b"abc")
            .entry(&hard_link("b", 1, true), b"")
            .entry(&symlink("s", "a"), b"")
    };
    fs::create_dir_all(site.at("tree")).unwrap();
    for rel in ["tree/b", "tree/s"] {
        fs::write(site.at(rel), "mine").unwrap();
    }
    let (receipt, _, failures) = cross(&site.begin(OnConflict::Keep), vec![lane()]);
    assert_eq!((failures, receipt.there.links, receipt.skipped), (vec![], 2, 2));
    assert_eq!(site.text("tree/b"), "mine");
    let (_, _, failures) = cross(&site.begin(OnConflict::Rename), vec![lane()]);
    assert_eq!(failures, []);
    let inode = |rel: &str| fs::metadata(site.at(rel)).unwrap().ino();
    assert!(!site.at("tree/a (1)").exists(), "it is there");
    assert_eq!(site.text("tree/b (1)"), "abc");
    assert_ne!(inode("tree/a"), inode("tree/b (1)"), "nothing is linked to what stays");
    assert_eq!(fs::read_link(site.at("tree/s (1)")).unwrap(), Path::new("a"));
    for unchanged in [1, 3] {
        let (receipt, _, failures) = cross(&site.begin(OnConflict::Replace), vec![lane()]);
        assert_eq!((failures, receipt.there.links, receipt.unchanged), (vec![], 2, unchanged));
        assert_eq!(inode("tree/a"), inode("tree/b"));
        assert_eq!(fs::read_link(site.at("tree/s")).unwrap(), Path::new("a"));
        let modified = || fs::symlink_metadata(site.at("tree/s")).unwrap().mtime();
        assert_eq!(modified(), attributes(0o777).mtime.secs);
        // As one is that was made, and then its maker killed.
        let now = ringway_sys::attributes::Timestamp { secs: 1_800_000_000, nanos: 0 };
        Dir::open(&site.at("tree")).unwrap().set_times(b"s", now).unwrap();
        assert_ne!(modified(), attributes(0o777).mtime.secs);
    }
    assert_eq!(site.names(), ["tree"]);
}

/// Of names that differ by case in a folder that folds them the first stays whole, under every
/// policy, and the others are named.
fn assert_names_do_not_meet(site: &Site, folder: &str) {
    let made = |name: &str| format!("{folder}/{name}");
    let lane = |round: u8| {
        Lane::default()
            .folder(folder)
            .file("name", &[b'1', round])
            .file("NAME", &[b'2', round])
            .file("other", b"other")
            .made(&made("Sub"), 0o755)
            .file("x", b"from Sub")
            .made(&made("sub"), 0o755)
            .file("x", b"from sub")
            .folder(folder)
            .range(0, folder, file("Name", 4, 0o644), 0, b"data", RangeStep::Last { data_bytes: 4 })
    };
    for (round, on_conflict) in [(b'a', OnConflict::Keep), (b'a', OnConflict::Replace), (b'b', OnConflict::Replace)] {
        let (receipt, _, failures) = cross(&site.begin(on_conflict), vec![lane(round)]);
        let expected = ["NAME", "sub", "sub/x", "Name"].map(made);
        let mut found = reasons(&failures);
        let mut expected = in_the_way(&expected.each_ref().map(String::as_str));
        found.sort_by(|one, other| one.0.cmp(&other.0));
        expected.sort_by(|one, other| one.0.cmp(&other.0));
        assert_eq!(found, expected, "{on_conflict:?}");
        assert_eq!(receipt.there.files, 3);
        assert_eq!(fs::read(site.at(&made("name"))).unwrap(), [b'1', round]);
        assert_eq!(site.text(&made("Sub/x")), "from Sub");
        assert_eq!(names_in(&site.at(folder)), ["Sub", "name", "other"]);
    }
}

#[test]
fn names_that_a_mounted_vfat_takes_for_one_are_reported() {
    let site = Site::new();
    fs::create_dir_all(site.at("tree/stick")).unwrap();
    let image = tempfile::NamedTempFile::new().unwrap();
    let Some(_mount) = filesystem(image.path(), &site.at("tree/stick"), &["mkfs.vfat"]) else { return };
    fs::create_dir(site.at("tree/stick/in")).unwrap();
    assert_names_do_not_meet(&site, "tree/stick/in");
}

#[test]
fn names_that_a_folder_with_its_own_flag_takes_for_one_are_reported() {
    let site = Site::new();
    fs::create_dir_all(site.at("tree/disk")).unwrap();
    let image = tempfile::NamedTempFile::new().unwrap();
    let Some(_mount) = filesystem(image.path(), &site.at("tree/disk"), &["mkfs.ext4", "-q", "-O", "casefold"]) else {
        return;
    };
    fs::create_dir(site.at("tree/disk/folding")).unwrap();
    let flagged = std::process::Command::new("chattr").arg("+F").arg(site.at("tree/disk/folding")).output();
    if !flagged.is_ok_and(|output| output.status.success()) {
        println!("skipped: no folders that fold names here");
        return;
    }
    assert_names_do_not_meet(&site, "tree/disk/folding");
    // Beside it all of them are different.
    let lane = Lane::default().folder("tree/disk").file("name", b"1").file("NAME", b"2");
    let (receipt, _, failures) = cross(&site.begin(OnConflict::Replace), vec![lane]);
    assert_eq!((failures, receipt.there.files), (vec![], 2));
    // Two names of one file are one name here.
    let lane = Lane::default().folder("tree/disk/folding").entry(&linked("one", 3, 1), b"abc");
    let lane = lane.entry(&hard_link("ONE", 1, true), b"");
    let (_, _, failures) = cross(&site.begin(OnConflict::Replace), vec![lane]);
    assert_eq!(reasons(&failures), in_the_way(&["tree/disk/folding/ONE"]));
}

#[test]
fn nothing_that_came_is_linked_to_a_file_that_was_kept() {
    let site = Site::new();
    for large in [false, true] {
        fs::create_dir_all(site.at("tree")).unwrap();
        fs::write(site.at("tree/b"), "mine").unwrap();
        let first = linked("b", 6, 1);
        let lane = match large {
            true => Lane::default().range(0, "tree", first, 0, b"theirs", RangeStep::Last { data_bytes: 6 }),
            false => Lane::default().folder("tree").entry(&first, b"theirs"),
        };
        let lane = lane.folder("tree").entry(&hard_link("a", 1, true), b"");
        let (receipt, _, failures) = cross(&site.begin(OnConflict::Keep), vec![lane]);
        assert_eq!(reasons(&failures), [("tree/a".to_owned(), FailureReason::LinkTargetMissing)]);
        assert_eq!((receipt.there.files, receipt.skipped, receipt.there.links), (1, 1, 0));
        assert_eq!((site.text("tree/b").as_str(), names_in(&site.at("tree"))), ("mine", vec!["b".to_owned()]));
    }
}

#[test]
fn what_is_in_the_way_of_the_folder_of_a_files_first_name_is_in_the_way_of_no_other_name() {
    let cases = [false, true].into_iter().flat_map(|large| [(large, false), (large, true)]);
    for ((large, proves), on_conflict) in cases.zip([OnConflict::Replace, OnConflict::Keep].into_iter().cycle()) {
        let site = Site::new();
        fs::create_dir_all(&site.root).unwrap();
        fs::write(site.at("a"), "mine").unwrap();
        let lane = if proves { Lane::default().proving() } else { Lane::default() };
        let first = linked("x", 6, 1);
        let lane = match large {
            true => lane.range(0, "a", first, 0, b"theirs", RangeStep::Last { data_bytes: 6 }),
            false => lane.made("a", 0o755).entry(&first, b"theirs").file("alone", b"alone"),
        };
        let lane = lane.made("b", 0o755).entry(&hard_link("y", 1, false), b"").entry(&hard_link("z", 1, true), b"");
        let options = DestinationOptions { prove: proves, ..site.options(on_conflict) };
        let (receipt, _, failures) = site.receive(options, vec![lane]);
        let lost: &[&str] = if large { &["a/x"] } else { &["a", "a/alone", "a/x"] };
        let mut told = reasons(&failures);
        told.sort_by(|one, other| one.0.cmp(&other.0));
        assert_eq!(told, in_the_way(lost), "large {large}, proves {proves}");
        assert_eq!((receipt.there.links, site.names()), (2, vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(["a", "b/y", "b/z"].map(|at| site.text(at)), ["mine", "theirs", "theirs"]);
        let inode = |rel: &str| fs::metadata(site.at(rel)).unwrap().ino();
        assert_eq!(inode("b/y"), inode("b/z"));
    }
}

#[test]
fn what_is_in_the_way_of_a_files_first_name_is_in_the_way_of_no_other_name() {
    for (large, proves) in [(false, false), (false, true), (true, false), (true, true)] {
        let site = Site::new();
        fs::create_dir_all(site.at("tree/first")).unwrap();
        fs::create_dir_all(site.at("tree/mounted")).unwrap();
        let mount = Mount::tmpfs(&site.at("tree/mounted"), "size=8m");
        let first = linked("first", 6, 1);
        let lane = if proves { Lane::default().proving() } else { Lane::default() };
        let lane = match large {
            true => lane.range(0, "tree", first, 0, b"theirs", RangeStep::Last { data_bytes: 6 }),
            false => lane.folder("tree").entry(&first, b"theirs"),
        };
        let lane = lane.folder("tree").entry(&hard_link("second", 1, false), b"");
        let lane = lane.made("tree/new", 0o755).entry(&hard_link("third", 1, false), b"");
        let lane = lane.folder("tree/mounted").entry(&hard_link("fourth", 1, true), b"");
        let options = DestinationOptions { prove: proves, ..site.options(OnConflict::Replace) };
        let (receipt, _, failures) = site.receive(options, vec![lane]);
        assert_eq!(reasons(&failures), in_the_way(&["tree/first"]), "large {large}, proves {proves}");
        assert_eq!((receipt.there.files, receipt.there.links, receipt.failed), (0, 3, 1));
        assert_eq!(receipt.proven.map(|proven| (proven.files, proven.bytes)), proves.then_some((0, 0)));
        for name in ["second", "new/third", "mounted/fourth"] {
            assert_eq!(site.text(&format!("tree/{name}")), "theirs");
        }
        let stat = |name: &str| fs::metadata(site.at(name)).unwrap();
        assert_eq!(stat("tree/second").ino(), stat("tree/new/third").ino());
        assert_eq!(stat("tree/second").nlink(), if mount.is_some() { 2 } else { 3 });
        assert_eq!(stat("tree/second").mtime(), MTIME.secs);
        assert_eq!(names_in(&site.root), ["tree"]);
    }
}

#[test]
fn a_mount_inside_the_destination_is_merged_into() {
    let site = Site::new();
    fs::create_dir_all(site.at("tree/mounted")).unwrap();
    let Some(_mount) = Mount::tmpfs(&site.at("tree/mounted"), "size=8m") else { return };
    let lane = || {
        Lane::default()
            .made("tree/mounted", 0o755)
            .file("small", b"small")
            .entry(&symlink("link", "small"), b"")
            .made("tree/mounted/sub", 0o755)
            .range(0, "tree/mounted/sub", file("big", 4, 0o644), 0, b"data", RangeStep::Last { data_bytes: 4 })
    };
    for unchanged in [0, 3] {
        let (receipt, _, failures) = cross(&site.begin(OnConflict::Replace), vec![lane()]);
        assert_eq!((failures, receipt.there.files, receipt.unchanged), (vec![], 2, unchanged));
    }
    assert_eq!(site.text("tree/mounted/sub/big"), "data");
    let incoming = site.begin(OnConflict::Replace);
    let cut = Lane::default().range(0, "tree/mounted", file("cut", 9, 0o644), 0, b"data", RangeStep::More).flush();
    assert!(matches!(incoming.run_lane(&mut Wire::new(cut.bytes), &mut io(IoMode::Sync)), Err(LaneError::Source(_))));
    assert_eq!(names_in(&site.at("tree/mounted")).len(), 4, "the partial file is beside its place");
    incoming.abandon().unwrap();
    assert_eq!(names_in(&site.at("tree/mounted")), ["link", "small", "sub"]);
    assert_eq!(site.names(), ["tree"]);
}

/// The names of ours in a folder.
fn ours_in(dir: &Path) -> usize {
    names_in(dir).iter().filter(|name| name.starts_with(".ringway-")).count()
}

#[test]
fn what_a_killed_attempt_has_left_on_a_mount_is_in_nobodys_way_and_goes() {
    let site = Site::new();
    for rel in ["tree/mounted", "tree/bound", "real"] {
        fs::create_dir_all(site.at(rel)).unwrap();
    }
    let Some(_mount) = Mount::tmpfs(&site.at("tree/mounted"), "size=8m") else { return };
    let Some(_bound) = Mount::bind(&site.at("real"), &site.at("tree/bound")) else { return };
    let (mounted, real) = (site.at("tree/mounted"), site.at("real"));
    let mut lane = Lane::default();
    for (id, below) in ["tree/mounted", "tree/bound"].into_iter().enumerate() {
        for n in 0..3 {
            let name = format!("cut {n}");
            lane = lane.range(3 * id as u64 + n, below, file(&name, 9, 0o644), 0, b"data", RangeStep::More);
        }
    }
    let killed = site.begin(OnConflict::Replace);
    let ended = killed.run_lane(&mut Wire::new(lane.flush().bytes), &mut io(IoMode::Sync));
    assert!(matches!(ended, Err(LaneError::Source(_))));
    // As the kernel closes what a process had open that was killed: nothing is removed.
    drop(killed);
    assert_eq!((ours_in(&mounted), ours_in(&real)), (3, 3));
    // What looks like it and is not is left alone.
    fs::write(mounted.join(".ringway-mine-0"), "mine").unwrap();

    let again = site.begin(OnConflict::Replace);
    let whole = RangeStep::Last { data_bytes: 9 };
    let lane = Lane::default()
        .folder("tree/mounted")
        .file("small", b"small")
        .entry(&symlink("link", "small"), b"")
        .range(0, "tree/mounted", file("cut 0", 9, 0o644), 0, b"contents!", whole)
        .range(1, "tree/bound", file("cut 1", 9, 0o644), 0, b"contents!", whole);
    let (receipt, _, failures) = cross(&again, vec![lane]);
    assert_eq!((failures, receipt.there.files), (vec![], 3));
    assert_eq!(names_in(&mounted), [".ringway-mine-0", "cut 0", "link", "small"]);
    assert_eq!(names_in(&real), ["cut 1"]);
}

#[test]
fn a_bind_mount_of_the_same_filesystem_is_merged_into() {
    let site = Site::new();
    for rel in ["tree/bound", "real"] {
        fs::create_dir_all(site.at(rel)).unwrap();
    }
    let Some(_mount) = Mount::bind(&site.at("real"), &site.at("tree/bound")) else { return };
    let lane = Lane::default().folder("tree/bound").file("a", b"small").file("b", b"small").range(
        0,
        "tree/bound",
        file("big", 4, 0o644),
        0,
        b"data",
        RangeStep::Last { data_bytes: 4 },
    );
    let (receipt, _, failures) = cross(&site.begin(OnConflict::Replace), vec![lane]);
    assert_eq!((failures, receipt.there.files), (vec![], 3));
    assert_eq!(names_in(&site.at("real")), ["a", "b", "big"]);
}

#[test]
fn numbers_fit_any_name() {
    use crate::receive::numbered::numbered;
    assert_eq!(numbered(b"a.txt", 1, true), b"a (1).txt");
    assert_eq!(numbered(b".hidden", 2, true), b".hidden (2)");
    assert_eq!(numbered(b"a.b", 3, false), b"a.b (3)");
    assert_eq!(numbered(b"\xff\xfe", 1, true), b"\xff\xfe (1)");
    let long = [&[b'x'; 251][..], b".txt"].concat();
    assert_eq!(numbered(&long, 10_000, true), [&[b'x'; 243][..], b" (10000).txt"].concat());
    let umlauts = "ü".repeat(127);
    let short = numbered(umlauts.as_bytes(), 1, false);
    assert_eq!(std::str::from_utf8(&short).unwrap(), format!("{} (1)", "ü".repeat(125)));
    assert_eq!(numbered(&[b'.'; 255], 1, true).len(), 255);
}

#[test]
fn no_link_is_made_to_a_file_that_its_owner_puts_under_the_name_of_one_that_came() {
    let site = Site::new();
    fs::create_dir_all(site.at("tree")).unwrap();
    let incoming = site.begin(OnConflict::Replace);
    let (first, sent) = Lane::default().folder("tree").entry(&linked("a", 3, 1), b"one").end();
    incoming.run_lane(&mut Wire::new(first), &mut io(IoMode::Sync)).unwrap();
    fs::write(site.at("mine"), "mine").unwrap();
    fs::rename(site.at("mine"), site.at("tree/a")).unwrap();
    let (second, links) = Lane::default().folder("tree").entry(&hard_link("b", 1, true), b"").end();
    incoming.run_lane(&mut Wire::new(second), &mut io(IoMode::Sync)).unwrap();
    let mut declared = sent;
    declared += links;
    let (receipt, _) = incoming.finish(&declared).unwrap();
    let failures = incoming.results().take_failures();
    assert_eq!((receipt.failed, failures[0].reason), (1, FailureReason::LinkTargetMissing), "{failures:?}");
    assert_eq!((site.text("tree/a").as_str(), names_in(&site.at("tree")).len()), ("mine", 1));
    assert_eq!(fs::metadata(site.at("tree/a")).unwrap().nlink(), 1);
}

/// Names of two files, each on both sides of a mount, one of them before its file, and one in a
/// folder that is new.
fn links_across(lane: Lane) -> Lane {
    lane.folder("tree/mounted")
        .entry(&hard_link("early", 1, false), b"")
        .folder("tree")
        .entry(&linked("a", 3, 1), b"abc")
        .folder("tree/mounted")
        .entry(&hard_link("b", 1, true), b"")
        .entry(&Entry { attributes: attributes(0o600), ..linked("c", 6, 2) }, b"second")
        .folder("tree")
        .entry(&hard_link("d", 2, false), b"")
        .folder("fresh")
        .entry(&hard_link("e", 2, true), b"")
}

#[test]
fn hard_links_into_a_mount_and_out_of_it_arrive_as_files_of_their_own() {
    for prove in [false, true] {
        let site = Site::new();
        fs::create_dir_all(site.at("tree/mounted")).unwrap();
        let Some(_mount) = Mount::tmpfs(&site.at("tree/mounted"), "size=8m") else { return };
        for round in 0..2 {
            let lane = if prove { Lane::default().proving() } else { Lane::default() };
            let options = DestinationOptions { prove, ..site.options(OnConflict::Replace) };
            let (receipt, _, failures) = cross(&Incoming::begin(options).unwrap(), vec![links_across(lane)]);
            assert_eq!((failures, receipt.there.files, receipt.there.links), (vec![], 2, 4), "{round}");
            for (rel, contents, mode) in [
                ("tree/a", "abc", 0o644),
                ("tree/mounted/early", "abc", 0o644),
                ("tree/mounted/b", "abc", 0o644),
                ("tree/mounted/c", "second", 0o600),
                ("tree/d", "second", 0o600),
                ("fresh/e", "second", 0o600),
            ] {
                let there = fs::metadata(site.at(rel)).unwrap();
                assert_eq!((site.text(rel).as_str(), there.nlink()), (contents, 1), "{rel}");
                assert_eq!(there.permissions().mode() & 0o7777, mode, "{rel}");
                assert_eq!(there.mtime(), MTIME.secs, "{rel}");
            }
            if !prove {
                assert_eq!(receipt.unchanged, round * 6, "what is there already is not copied again");
            }
        }
        assert_eq!(names_in(&site.at("tree/mounted")), ["b", "c", "early"]);
    }
}

#[test]
fn a_hard_link_into_a_mount_leaves_the_owners_file_alone() {
    let site = Site::new();
    fs::create_dir_all(site.at("tree/mounted")).unwrap();
    let Some(_mount) = Mount::tmpfs(&site.at("tree/mounted"), "size=8m") else { return };
    let lane = || {
        let lane = Lane::default().folder("tree").entry(&linked("a", 3, 1), b"abc");
        lane.folder("tree/mounted").entry(&hard_link("b", 1, true), b"")
    };
    fs::write(site.at("tree/mounted/b"), "mine").unwrap();
    let (_, _, failures) = cross(&site.begin(OnConflict::Keep), vec![lane()]);
    assert_eq!((failures, site.text("tree/mounted/b").as_str()), (vec![], "mine"));
    assert_eq!(names_in(&site.at("tree/mounted")), ["b"]);
    let (_, _, failures) = cross(&site.begin(OnConflict::Rename), vec![lane()]);
    assert_eq!((failures, site.text("tree/mounted/b").as_str()), (vec![], "mine"));
    assert_eq!(site.text("tree/mounted/b (1)"), "abc");
    // A folder is never replaced.
    fs::remove_file(site.at("tree/mounted/b")).unwrap();
    fs::create_dir(site.at("tree/mounted/b")).unwrap();
    let (_, _, failures) = cross(&site.begin(OnConflict::Replace), vec![lane()]);
    assert_eq!(reasons(&failures), in_the_way(&["tree/mounted/b"]));
}

#[test]
fn contents_that_links_repeat_count_against_what_was_accepted() {
    let site = Site::new();
    fs::create_dir_all(site.at("tree/mounted")).unwrap();
    let Some(_mount) = Mount::tmpfs(&site.at("tree/mounted"), "size=8m") else { return };
    let names: Vec<String> = (0..5).map(|number| format!("link {number}")).collect();
    let mut lane = Lane::default().folder("tree").entry(&linked("a", 3, 1), b"abc").folder("tree/mounted");
    for name in &names {
        lane = lane.entry(&hard_link(name, 1, false), b"");
    }
    let lane = lane.file("after", b"1");
    let allowance = Allowance::of(Some(11), None).map(Arc::new);
    let options = DestinationOptions { allowance, ..site.options(OnConflict::Replace) };
    let (receipt, _, failures) = cross(&Incoming::begin(options).unwrap(), vec![lane]);
    let crossed = FailureReason::Os { errno: rustix::io::Errno::XDEV.raw_os_error() };
    let expected: Vec<_> = names[2..].iter().map(|name| (format!("tree/mounted/{name}"), crossed)).collect();
    assert_eq!(reasons(&failures), expected);
    assert_eq!((receipt.there.files, receipt.there.links), (2, 2));
    assert_eq!(names_in(&site.at("tree/mounted")), ["after", "link 0", "link 1"]);
}

/// As long as a kernel's clock takes to tell another time.
const TICK: std::time::Duration = std::time::Duration::from_millis(20);

#[test]
fn folder_that_the_owner_makes_while_its_transfer_runs_is_left_alone_whatever_the_policy_is() {
    for on_conflict in [OnConflict::Replace, OnConflict::Keep, OnConflict::Rename, OnConflict::RenameTop] {
        for resumed in [false, true] {
            let site = Site::new();
            let mut incoming = site.begin(on_conflict);
            std::thread::sleep(TICK);
            if resumed {
                let begun = Lane::default().folder("late").file("b", b"theirs");
                incoming.run_lane(&mut Wire::new(begun.end().0), &mut io(IoMode::Auto)).unwrap();
                drop(incoming.keep());
            }
            fs::create_dir_all(site.at("late/sub")).unwrap();
            fs::write(site.at("late/sub/a"), "mine").unwrap();
            if resumed {
                incoming = site.begin(on_conflict);
            }
            let lane = Lane::default().folder("late").folder("late/sub").file("a", b"theirs");
            let (_, _, failures) = cross(&incoming, vec![lane]);
            assert_eq!((failures, site.names()), (vec![], vec!["late".into(), "late (1)".into()]), "{on_conflict:?}");
            assert_eq!((&*site.text("late/sub/a"), &*site.text("late (1)/sub/a")), ("mine", "theirs"));
        }
    }
}

/// Options for a transfer of `late`, each attempt of which knows what was there at first.
fn late(site: &Site, on_conflict: OnConflict, tops: &TopsAtFirst) -> DestinationOptions {
    let mut offered = NameCollector::default();
    offered.add(name("late")).unwrap();
    DestinationOptions { offered: Some(Arc::new(offered.sorted())), tops: tops.clone(), ..site.options(on_conflict) }
}

fn folder_with(site: &Site, path: &str, text: &str) {
    fs::create_dir_all(site.at(path)).unwrap();
    fs::write(site.at(path).join("a"), text).unwrap();
}

/// How a folder of the owner's comes to the name `late` while the transfer runs.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Comes {
    /// Before anything of it has come.
    Moved,
    /// Between two attempts of one program, in place of the one that was there.
    InPlaceOfAnother,
    /// Between two attempts of different programs.
    MovedWhileNobodyReceives,
}

#[test]
fn folder_that_the_owner_moves_to_the_name_while_its_transfer_runs_is_left_alone() {
    for comes in [Comes::Moved, Comes::InPlaceOfAnother, Comes::MovedWhileNobodyReceives] {
        for on_conflict in [OnConflict::Replace, OnConflict::Keep, OnConflict::Rename] {
            let site = Site::new();
            let tops = TopsAtFirst::default();
            folder_with(&site, "older", "mine");
            if comes == Comes::InPlaceOfAnother {
                folder_with(&site, "late", "an earlier one");
            }
            std::thread::sleep(TICK);
            let mut incoming = Incoming::begin(late(&site, on_conflict, &tops)).unwrap();
            if comes != Comes::Moved {
                let begun = Lane::default().folder("late").file("b", b"theirs");
                incoming.run_lane(&mut Wire::new(begun.end().0), &mut io(IoMode::Auto)).unwrap();
                drop(incoming.keep());
            }
            if comes == Comes::InPlaceOfAnother {
                fs::rename(site.at("late"), site.at("aside")).unwrap();
            }
            std::thread::sleep(TICK);
            fs::rename(site.at("older"), site.at("late")).unwrap();
            if comes != Comes::Moved {
                let known = if comes == Comes::InPlaceOfAnother { tops } else { TopsAtFirst::default() };
                incoming = Incoming::begin(late(&site, on_conflict, &known)).unwrap();
            }
            let lane = Lane::default().folder("late").file("a", b"theirs");
            let (_, _, failures) = cross(&incoming, vec![lane]);
            assert_eq!(failures, [], "{comes:?} {on_conflict:?}");
            let texts = [site.text("late/a"), site.text("late (1)/a")];
            assert_eq!(texts, ["mine", "theirs"], "{comes:?} {on_conflict:?}: {:?}", site.names());
        }
    }
}

#[test]
fn folder_that_was_there_is_merged_into_whatever_the_owner_does_in_it_meanwhile() {
    let site = Site::new();
    let tops = TopsAtFirst::default();
    folder_with(&site, "late", "mine");
    for attempt in 0..2 {
        let incoming = Incoming::begin(late(&site, OnConflict::Replace, &tops)).unwrap();
        std::thread::sleep(TICK);
        fs::write(site.at("late").join(format!("mine {attempt}")), "mine").unwrap();
        let lane = Lane::default().folder("late").file("a", b"theirs");
        if attempt == 0 {
            incoming.run_lane(&mut Wire::new(lane.end().0), &mut io(IoMode::Auto)).unwrap();
            drop(incoming.keep());
        } else {
            assert_eq!(cross(&incoming, vec![lane]).2, []);
        }
    }
    assert_eq!(site.names(), ["late"]);
    assert_eq!(names_in(&site.at("late")), ["a", "mine 0", "mine 1"]);
    assert_eq!(site.text("late/a"), "theirs");
}

#[test]
fn folder_that_the_same_device_brought_meanwhile_is_merged_into() {
    let site = Site::new();
    let lane = || vec![Lane::default().folder("twice").file("a", b"theirs")];
    let first = site.begin(OnConflict::Replace);
    std::thread::sleep(TICK);
    let second = site.options(OnConflict::Replace);
    let attempt = AttemptKey::new(b"the same device", &OfferedNames::default());
    let (_, _, failures) = site.receive(DestinationOptions { attempt, ..second }, lane());
    assert_eq!(failures, []);
    let (_, _, failures) = cross(&first, lane());
    assert_eq!((failures, site.names()), (vec![], vec!["twice".into()]));
}
