//! What is put beside an edited file keeps its numbered name, although the sender has an entry of
//! that name itself.
use super::*;

const UPDATE: OnConflict = OnConflict::RenameTop;

const LATER: Timestamp = Timestamp { secs: 1_700_000_000, nanos: 1 };

fn newer(text: &str, size: usize) -> Entry<'_> {
    let entry = file(text, size, 0o644);
    Entry { attributes: Attributes { mtime: LATER, ..entry.attributes }, ..entry }
}

/// A folder with `p.jpg`, which the receiver has edited since.
fn edited() -> Site {
    let site = Site::new();
    site.receive(site.options(UPDATE), vec![Lane::default().made("album", 0o755).file("p.jpg", b"v1")]);
    fs::write(site.at("album/p.jpg"), "my edit").unwrap();
    site
}

fn kept(edits: &[Edit]) -> Vec<(String, String)> {
    let text = |edit: &Edit| (edit.path.display().to_string(), edit.beside.to_string_lossy().into_owned());
    let mut all: Vec<_> = edits.iter().map(text).collect();
    all.sort();
    all
}

/// Whether each kept file's version is where its sender is told, and everything of it is there.
#[track_caller]
fn assert_all_there(site: &Site, edits: &[Edit], versions: &[(&str, &str)]) {
    for edit in edits {
        let path = edit.path.to_str().unwrap();
        let (_, expected) = versions.iter().find(|(of, _)| *of == path).unwrap();
        let beside = edit.path.with_file_name(&edit.beside);
        assert_eq!(site.text(beside.to_str().unwrap()), *expected, "beside {path}");
    }
    let there: Vec<_> = names_in(&site.at("album")).iter().map(|name| site.text(&format!("album/{name}"))).collect();
    for (path, expected) in versions {
        assert!(there.iter().any(|text| text == expected), "{path} is not there: {there:?}");
    }
    assert_eq!(site.text("album/p.jpg"), "my edit");
}

const VERSIONS: [(&str, &str); 2] = [("album/p.jpg", "v2 of p"), ("album/p (1).jpg", "another picture")];

fn in_either_order() -> [Lane; 2] {
    let (p, other) = (newer("p.jpg", 7), newer("p (1).jpg", 15));
    [
        Lane::default().folder("album").entry(&p, b"v2 of p").entry(&other, b"another picture"),
        Lane::default().folder("album").entry(&other, b"another picture").entry(&p, b"v2 of p"),
    ]
}

#[test]
fn version_beside_an_edited_file_is_not_replaced_by_the_senders_file_of_that_name() {
    for lane in in_either_order() {
        let site = edited();
        let (receipt, edits, failures) = site.receive(site.options(UPDATE), vec![lane]);
        assert_eq!((receipt.there.files, failures), (2, vec![]));
        assert_all_there(&site, &edits, &VERSIONS);
        // The same once more finds everything.
        for lane in in_either_order() {
            let (receipt, edits, _) = site.receive(site.options(UPDATE), vec![lane]);
            assert_eq!(receipt.unchanged, 2, "{edits:?}");
            assert_all_there(&site, &edits, &VERSIONS);
            assert_eq!(names_in(&site.at("album")).len(), 3);
        }
    }
}

#[test]
fn version_beside_an_edited_file_is_not_replaced_on_other_lanes() {
    for _ in 0..20 {
        let site = edited();
        let lanes = vec![
            Lane::default().folder("album").entry(&newer("p.jpg", 7), b"v2 of p"),
            Lane::default().folder("album").entry(&newer("p (1).jpg", 15), b"another picture"),
        ];
        let (_, edits, failures) = site.receive(site.options(UPDATE), lanes);
        assert_eq!(failures, []);
        assert_all_there(&site, &edits, &VERSIONS);
    }
}

#[test]
fn version_put_beside_by_an_earlier_transfer_is_not_replaced_later() {
    let site = edited();
    let p = || Lane::default().folder("album").entry(&newer("p.jpg", 7), b"v2 of p");
    let (_, edits, _) = site.receive(site.options(UPDATE), vec![p()]);
    assert_eq!(kept(&edits), [("album/p.jpg".to_owned(), "p (1).jpg".to_owned())]);
    for _ in 0..2 {
        let lane = p().entry(&newer("p (1).jpg", 15), b"another picture");
        let (_, edits, _) = site.receive(site.options(UPDATE), vec![lane]);
        assert_all_there(&site, &edits, &VERSIONS);
        assert_eq!(names_in(&site.at("album")), ["p (1) (1).jpg", "p (1).jpg", "p.jpg"]);
    }
    // A newer version of either comes beside again.
    let newest = file("p (1).jpg", 6, 0o644);
    let (_, edits, _) = site.receive(site.options(UPDATE), vec![p().entry(&newest, b"newest")]);
    assert_all_there(&site, &edits, &[VERSIONS[0], ("album/p (1).jpg", "newest")]);
}

#[test]
fn senders_own_file_of_a_numbered_name_is_no_version_that_is_beside() {
    // The sender restores p.jpg from its own copy, with the time of that, and then changes the
    // copy.
    let site = Site::new();
    let first = Lane::default().made("album", 0o755).file("p.jpg", b"v1").entry(&newer("p (1).jpg", 7), b"v2 of p");
    site.receive(site.options(UPDATE), vec![first]);
    fs::write(site.at("album/p.jpg"), "my edit").unwrap();
    for proves in [false, true] {
        let lane = || if proves { Lane::default().proving() } else { Lane::default() };
        let options = || DestinationOptions { prove: proves, ..site.options(UPDATE) };
        let p = || lane().folder("album").entry(&newer("p.jpg", 7), b"v2 of p");
        let (_, edits, _) = site.receive(options(), vec![p().entry(&newer("p (1).jpg", 7), b"v2 of p")]);
        assert_all_there(&site, &edits, &[VERSIONS[0]]);
        assert_eq!(names_in(&site.at("album")), ["p (1).jpg", "p (2).jpg", "p.jpg"], "verified: {proves}");
    }
    let lane = Lane::default().folder("album").entry(&newer("p.jpg", 7), b"v2 of p");
    let lane = lane.entry(&newer("p (1).jpg", 15), b"another picture");
    let (_, edits, _) = site.receive(site.options(UPDATE), vec![lane]);
    assert_all_there(&site, &edits, &VERSIONS);
    assert_eq!(site.text("album/p (1).jpg"), "another picture");
}

#[test]
fn file_of_the_same_size_and_time_as_the_version_that_has_its_name_is_compared() {
    let site = edited();
    let lane = Lane::default().folder("album").entry(&newer("p.jpg", 7), b"v2 of p");
    let lane = lane.entry(&newer("p (1).jpg", 7), b"another");
    let (_, edits, _) = site.receive(site.options(UPDATE), vec![lane]);
    assert_all_there(&site, &edits, &[VERSIONS[0], ("album/p (1).jpg", "another")]);
}

#[test]
fn symbolic_links_and_files_with_several_names_keep_their_numbered_names() {
    let other = || newer("p (1).jpg", 15);
    // A link beside an edited link.
    let site = Site::new();
    site.receive(site.options(UPDATE), vec![Lane::default().made("album", 0o755).entry(&symlink("l", "a"), b"")]);
    fs::remove_file(site.at("album/l")).unwrap();
    std::os::unix::fs::symlink("mine", site.at("album/l")).unwrap();
    let lane = Lane::default().folder("album").entry(&symlink("l", "b"), b"").entry(&symlink("l (1)", "c"), b"");
    let (_, edits, _) = site.receive(site.options(UPDATE), vec![lane]);
    assert_eq!(kept(&edits)[0], ("album/l".to_owned(), "l (1)".to_owned()));
    let target = |at: &str| fs::read_link(site.at(at)).unwrap();
    let targets = ["album/l", "album/l (1)", "album/l (1) (1)"].map(target);
    assert_eq!(targets.map(|target| target.into_os_string()), ["mine", "b", "c"]);

    // A file whose other name is updated, before and after the edited one; and a further name that
    // comes at last.
    for is_first in [true, false] {
        let site = edited();
        let names = |first: &'static str, second: &'static str| {
            let first = Entry { attributes: Attributes { mtime: LATER, ..attributes(0o644) }, ..linked(first, 7, 5) };
            let lane =
                Lane::default().folder("album").entry(&first, b"v2 of p").entry(&hard_link(second, 5, false), b"");
            lane.entry(&hard_link("third", 5, true), b"")
        };
        let lane = if is_first { names("p.jpg", "q.jpg") } else { names("q.jpg", "p.jpg") };
        let (_, edits, failures) = site.receive(site.options(UPDATE), vec![lane.entry(&other(), b"another picture")]);
        assert_eq!(failures, []);
        assert_all_there(&site, &edits, &VERSIONS);
        let inode = |rel: &str| fs::metadata(site.at(rel)).unwrap().ino();
        assert_eq!((inode("album/q.jpg"), inode("album/third")), (inode("album/p (1).jpg"), inode("album/p (1).jpg")));
        // Nor by a later transfer.
        let (_, edits, _) = site.receive(
            site.options(UPDATE),
            vec![Lane::default().folder("album").entry(&newer("p.jpg", 7), b"v2 of p").file("p (1).jpg", b"newest")],
        );
        assert_all_there(&site, &edits, &[VERSIONS[0], ("album/p (1).jpg", "newest")]);
    }
}

#[test]
fn large_and_verified_files_beside_edited_ones_are_not_replaced() {
    let size = 3_000_000;
    let contents = vec![7; size];
    for proves in [false, true] {
        let site = edited();
        let mut lane = if proves { Lane::default().proving() } else { Lane::default() };
        for (at, part) in contents.chunks(1_000_000).enumerate() {
            let step = if at == 2 { RangeStep::Last { data_bytes: size as u64 } } else { RangeStep::More };
            lane = lane.range(0, "album", newer("p.jpg", size), at as u64 * 1_000_000, part, step);
        }
        let lane = lane.folder("album").entry(&newer("p (1).jpg", 15), b"another picture");
        let options = DestinationOptions { prove: proves, ..site.options(UPDATE) };
        let (_, edits, failures) = site.receive(options, vec![lane]);
        assert_eq!((kept(&edits).len(), failures), (2, vec![]));
        let beside = edits.iter().find(|edit| edit.path == "album/p.jpg").unwrap();
        assert!(fs::read(site.at("album").join(&beside.beside)).unwrap() == contents);
        assert_eq!((&*site.text("album/p (1) (1).jpg"), &*site.text("album/p.jpg")), ("another picture", "my edit"));
    }
}

#[test]
fn version_that_an_interrupted_transfer_put_beside_is_not_replaced_by_the_next_attempt() {
    let site = edited();
    let incoming = site.begin(UPDATE);
    let half = Lane::default().folder("album").entry(&newer("p.jpg", 7), b"v2 of p").flush();
    let ended = incoming.run_lane(&mut Wire::new(half.bytes), &mut io(IoMode::Sync));
    assert!(matches!(ended, Err(LaneError::Source(_))));
    incoming.keep().unwrap();
    site.remember(&incoming);
    drop(incoming);
    for lane in in_either_order() {
        let (_, edits, _) = site.receive(site.options(UPDATE), vec![lane]);
        assert_all_there(&site, &edits, &VERSIONS);
    }
}

#[test]
fn edited_top_level_file_keeps_the_version_beside_it() {
    let site = Site::new();
    site.receive(site.options(UPDATE), vec![Lane::default().folder("").file("p.jpg", b"v1")]);
    fs::write(site.at("p.jpg"), "my edit").unwrap();
    let lane = || Lane::default().folder("").entry(&newer("p.jpg", 7), b"v2 of p");
    site.receive(site.options(UPDATE), vec![lane()]);
    for _ in 0..2 {
        site.receive(site.options(UPDATE), vec![lane().entry(&newer("p (1).jpg", 15), b"another picture")]);
        assert_eq!((&*site.text("p.jpg"), &*site.text("p (1).jpg")), ("my edit", "v2 of p"));
        assert_eq!(site.text("p (1) (1).jpg"), "another picture");
    }
}

#[test]
fn folder_that_got_a_numbered_name_is_not_the_senders_folder_of_that_name() {
    let site = Site::new();
    fs::create_dir_all(site.at("T")).unwrap();
    let t = || Lane::default().made("T", 0o755).file("x", b"of T");
    site.receive(site.options(UPDATE), vec![t()]);
    assert_eq!((site.names(), &*site.text("T (1)/x")), (vec!["T".to_owned(), "T (1)".to_owned()], "of T"));
    let own = Lane::default().made("T (1)", 0o755).entry(&newer("x", 8), b"of T (1)");
    site.receive(site.options(UPDATE), vec![own]);
    assert_eq!((&*site.text("T (1)/x"), &*site.text("T (1) (1)/x")), ("of T", "of T (1)"));
}

#[test]
fn further_names_of_a_file_find_the_version_beside_an_edited_one_again() {
    let lane = || {
        let lane = Lane::default().folder("").entry(&linked("e", 6, 1), b"theirs");
        let lane = lane.entry(&hard_link("b", 1, false), b"");
        lane.made("S", 0o755).entry(&hard_link("x", 1, true), b"")
    };
    for edited in [&["S/x", "e"][..], &["S/x", "b", "e"], &["e"]] {
        let site = Site::new();
        site.receive(site.options(UPDATE), vec![lane()]);
        for path in edited {
            // As editors save: another file takes the name.
            fs::write(site.at("save"), format!("my {path}")).unwrap();
            fs::rename(site.at("save"), site.at(path)).unwrap();
        }
        let names = || (site.names(), names_in(&site.at("S")));
        site.receive(site.options(UPDATE), vec![lane()]);
        let first = names();
        for _ in 0..3 {
            let (_, _, failures) = site.receive(site.options(UPDATE), vec![lane()]);
            assert_eq!((names(), failures), (first.clone(), vec![]), "{edited:?}");
        }
        edited.iter().for_each(|path| assert_eq!(site.text(path), format!("my {path}")));
    }
}
