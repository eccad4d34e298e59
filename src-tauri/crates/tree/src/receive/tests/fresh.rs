//! New trees: attributes, links, ranges, depth, width.
use super::*;

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
        incoming.run_lane(&mut Wire::new(bytes), &mut io(mode)).unwrap();
        assert!(!site.at("tree").exists(), "visible before it is whole");
        let (receipt, arrived) = incoming.finish(&sent).unwrap();
        assert_eq!(incoming.results().take_failures(), []);
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
        .range(2, "tree", file("void", 9, 0o600), 0, b"", RangeStep::Abandoned { data_bytes: 4 });
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
        incoming.run_lane(&mut Wire::new(bytes), &mut io(IoMode::Sync)).unwrap();
    }
    let (receipt, _) = incoming.finish(&declared).unwrap();
    let failures = incoming.results().take_failures();
    assert_eq!(failures.len(), 1);
    assert_eq!(failures[0].path, "tree/z/c");
    assert_eq!(failures[0].reason, FailureReason::LinkTargetMissing);
    assert_eq!((receipt.there.links, receipt.failed), (2, 1));
    let inode = |rel: &str| fs::metadata(site.at(rel)).unwrap().ino();
    assert_eq!(inode("tree/a"), inode("tree/z/b"));
    assert_eq!(inode("tree/a"), inode("tree/d"));
    assert_eq!(fs::metadata(site.at("tree/z")).unwrap().mtime(), MTIME.secs, "the early link came before the time");
}

#[test]
fn modes_that_forbid_and_times_far_away_are_kept() {
    let site = Site::new();
    let incoming = site.begin(OnConflict::Replace);
    let at = |secs| Attributes { mtime: Timestamp { secs, nanos: 1 }, ..attributes(0o000) };
    let (y1901, y2200) = (-2_145_916_800, 7_258_118_400);
    let mut lane = Lane::default().made("top", 0o000).made("top/shut/inner", 0o000).made("top/shut", 0o000);
    lane.head.folder_with_attributes(path("top/old"), &at(y1901), Xattrs::default());
    let lane = lane
        .entry(&Entry { attributes: at(y2200), ..file("future", 1, 0) }, b"f")
        .entry(&Entry { attributes: at(y1901), ..symlink("link", "x") }, b"");
    let (receipt, _, failures) = cross(&incoming, vec![lane]);
    assert_eq!((failures, receipt.there.folders), (vec![], 4));
    let top = (MTIME.secs, MTIME.nanos.into());
    for (rel, time) in [
        ("top", top),
        ("top/shut", top),
        ("top/shut/inner", top),
        ("top/old", (y1901, 1)),
        ("top/old/future", (y2200, 1)),
        ("top/old/link", (y1901, 1)),
    ] {
        let there = fs::symlink_metadata(site.at(rel)).unwrap();
        assert_eq!((there.mtime(), there.mtime_nsec()), time, "{rel}");
        if !there.is_symlink() {
            assert_eq!(there.permissions().mode() & 0o7777, 0, "{rel}");
            // Who is not root has to open it to look further.
            fs::set_permissions(site.at(rel), fs::Permissions::from_mode(0o700)).unwrap();
        }
    }
}

#[test]
fn extended_attributes_arrive_on_files_and_folders() {
    let site = Site::new();
    let mut xattrs = XattrBuffer::default();
    assert!(xattrs.push(b"user.one", b"1") && xattrs.push(b"user.bytes", b"\0\xff"));
    let mut lane = Lane::default();
    lane.head.folder_with_attributes(path("top"), &attributes(0o500), xattrs.as_xattrs());
    let lane = lane.entry(&Entry { xattrs: xattrs.as_xattrs(), ..file("a", 1, 0o400) }, b"a").range(
        0,
        "top",
        Entry { xattrs: xattrs.as_xattrs(), ..file("b", 1, 0o400) },
        0,
        b"b",
        RangeStep::Last { data_bytes: 1 },
    );
    let (_, _, failures) = cross(&site.begin(OnConflict::Replace), vec![lane]);
    assert_eq!(failures, []);
    for rel in ["top", "top/a", "top/b"] {
        let mut there = ringway_sys::attributes::portable_xattrs(fs::File::open(site.at(rel)).unwrap()).unwrap();
        there.sort();
        assert_eq!(
            there,
            [(b"user.bytes".to_vec(), b"\0\xff".to_vec()), (b"user.one".to_vec(), b"1".to_vec())],
            "{rel}"
        );
    }
}

#[test]
fn owner_and_set_id_bits_only_when_asked() {
    let site = Site::new();
    let lane = || {
        let owned = Attributes { uid: 12345, gid: 54321, ..attributes(0o6755) };
        let mut lane = Lane::default();
        lane.head.folder_with_attributes(path("top"), &Attributes { mode: 0o2755, ..owned }, Xattrs::default());
        lane.entry(&Entry { attributes: owned, ..file("a", 1, 0) }, b"a")
            .entry(&Entry { attributes: owned, ..symlink("l", "a") }, b"")
    };
    cross(&site.begin(OnConflict::RenameTop), vec![lane()]);
    // So that the next one gets a number.
    site.brought.lock().clear();
    let plain = fs::metadata(site.at("top/a")).unwrap();
    assert_eq!(plain.permissions().mode() & 0o7777, 0o755);
    assert_ne!(plain.uid(), 12345);
    if rustix::process::geteuid().as_raw() != 0 {
        println!("skipped: keeping owners needs root");
        return;
    }
    let kept = DestinationOptions { keep_owner: true, keep_setuid: true, ..site.options(OnConflict::RenameTop) };
    let (_, _, failures) = cross(&Incoming::begin(kept).unwrap(), vec![lane()]);
    assert_eq!(failures, []);
    for (rel, mode) in [("top (1)", 0o2755), ("top (1)/a", 0o6755), ("top (1)/l", 0o777)] {
        let there = fs::symlink_metadata(site.at(rel)).unwrap();
        assert_eq!((there.uid(), there.gid(), there.permissions().mode() & 0o7777), (12345, 54321, mode), "{rel}");
    }
}

#[test]
fn any_bytes_are_names() {
    use std::os::unix::ffi::OsStrExt;
    let site = Site::new();
    let mut lane = Lane::default().made("top", 0o755);
    let odd: [&[u8]; 6] = [b"\xff\xfe", b"a\nb", b"\x1b[2J", b"...", b"a..b", &[b'x'; 255]];
    for bytes in odd {
        lane = lane.entry(&Entry { name: Name::new(bytes).unwrap(), ..file("x", 1, 0o644) }, b"1");
    }
    let (receipt, ..) = cross(&site.begin(OnConflict::Replace), vec![lane]);
    assert_eq!(receipt.there.files, 6);
    for bytes in odd {
        assert!(site.at("top").join(std::ffi::OsStr::from_bytes(bytes)).exists(), "{bytes:?}");
    }
}

#[test]
fn two_thousand_levels_arrive_and_go() {
    let site = Site::in_memory();
    let deep = vec!["d"; 2000].join("/");
    let deeper = vec!["e"; 2000].join("/");
    let lane = Lane::default().made(&deep, 0o755).file("f", b"bottom").made(&deeper, 0o755).file("f", b"bottom");
    let incoming = site.begin(OnConflict::Replace);
    let (receipt, arrived, failures) = cross(&incoming, vec![lane]);
    assert_eq!((failures, receipt.there.files), (vec![], 2));
    assert_eq!(arrived.len(), 2);
    let root = Dir::open(&site.root).unwrap();
    assert_eq!(root.open_beneath(deep.as_bytes()).unwrap().metadata(b"f").unwrap().size, 6);
    // The test's own folder is removed by std, which may not go that deep.
    removal::remove_tree(&root, b"d").unwrap();
    removal::remove_tree(&root, b"e").unwrap();
    assert!(site.names().is_empty());
}

#[test]
fn sixty_thousand_folders_spill_to_a_file() {
    let site = Site::in_memory();
    let mut lane = Lane::default();
    let count = 60_000_u64;
    for number in 0..count {
        lane = lane.made(&format!("top/{:03}/empty folder with a longer name {number}", number % 300), 0o710);
        if !lane.head.has_room() {
            lane = lane.flush();
        }
    }
    let incoming = site.begin(OnConflict::Replace);
    let (bytes, sent) = lane.end();
    incoming.run_lane(&mut Wire::new(bytes), &mut io(IoMode::Sync)).unwrap();
    assert!(incoming.deferred.folder_attributes.lock().memory_len() <= crate::receive::staging::spool::MEMORY_MAX);
    let (receipt, _) = incoming.finish(&sent).unwrap();
    assert_eq!((receipt.there.folders, receipt.failed), (count, 0));
    for number in [0, 1, 47_777, count - 1] {
        let at = site.at(&format!("top/{:03}/empty folder with a longer name {number}", number % 300));
        let there = fs::metadata(at).unwrap();
        assert_eq!((there.permissions().mode() & 0o7777, there.mtime()), (0o710, MTIME.secs));
    }
}

/// Tells the test below that it has the umask, and where to go.
const UMASK_SITE: &str = "RINGWAY_TEST_UMASK_SITE";

#[test]
fn the_umask_does_not_matter() {
    let Some(root) = std::env::var_os(UMASK_SITE) else {
        let site = Site::new();
        fs::create_dir_all(&site.root).unwrap();
        let this = "receive::tests::fresh::the_umask_does_not_matter";
        for umask in ["0777", "0027", "0000"] {
            let script = format!("umask {umask}; exec \"$0\" --exact {this}");
            let mut shell = std::process::Command::new("sh");
            shell.args(["-c", &script]).arg(std::env::current_exe().unwrap()).env(UMASK_SITE, &site.root);
            let output = shell.output().unwrap();
            assert!(output.status.success(), "{umask}: {}", String::from_utf8_lossy(&output.stdout));
        }
        assert_eq!(site.names(), ["top", "top (1)", "top (2)"]);
        return;
    };
    let site = Site { _home: None, root: PathBuf::from(root), brought: Arc::default() };
    let modes = [0o666, 0o640, 0o755, 0o400, 0o000, 0o1777];
    let mut lane = Lane::default().made("top/sub", 0o775).file("f", b"f").made("top", 0o777);
    for mode in modes {
        lane = lane.entry(&file(&format!("{mode:o}"), 1, mode), b"x");
    }
    let big = file("big", 1, 0o664);
    let lane = lane.range(0, "top", big, 0, b"x", RangeStep::Last { data_bytes: 1 });
    let (_, arrived, failures) = cross(&site.begin(OnConflict::RenameTop), vec![lane]);
    assert_eq!(failures, []);
    let mode = |rel: &str| fs::metadata(arrived[0].join(rel)).unwrap().permissions().mode() & 0o7777;
    assert_eq!((mode(""), mode("sub"), mode("big"), mode("sub/f")), (0o777, 0o775, 0o664, 0o644));
    for wanted in modes {
        assert_eq!(mode(&format!("{wanted:o}")), u32::from(wanted));
    }
}

#[test]
fn packed_bodies_arrive_unpacked() {
    let site = Site::new();
    let incoming = site.begin(OnConflict::Replace);
    let text = "the same again and again, ".repeat(4_000);
    let (half, size) = (text.len() as u64 / 2, text.len());
    let (first, second) = text.as_bytes().split_at(half as usize);
    let end = RangeStep::Last { data_bytes: size as u64 };
    let lane = Lane::default()
        .packing()
        .made("top", 0o755)
        .file("text", text.as_bytes())
        .file("short", b"x")
        .file("empty", b"")
        .range(0, "top", file("pieces", size, 0o644), half, second, RangeStep::More)
        .range(0, "top", file("pieces", size, 0o644), 0, first, end);
    assert!(lane.bytes.len() < size / 4, "{}", lane.bytes.len());
    let (receipt, _, failures) = cross(&incoming, vec![lane]);
    assert!(failures.is_empty(), "{failures:?}");
    assert_eq!(receipt.there.bytes, 2 * size as u64 + 1);
    assert!(site.text("top/text") == text && site.text("top/pieces") == text);
    assert_eq!((site.text("top/short"), site.text("top/empty")), ("x".to_owned(), String::new()));
}
