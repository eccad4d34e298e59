//! What there is to copy: files, folders, links, holes, special files, and names of all bytes.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixListener;

use ringway_engine::CopyOptions;
use ringway_sys::attributes::{Kind, Timestamp};
use ringway_sys::dir::Dir;

use crate::both::{copy_all, cp, drivers, like_cp};
use crate::compare;
use crate::places::{Place, is_root};
use crate::tree::{Tree, pattern};

pub(crate) fn ordinary_tree(place: &Place) {
    let tree = Tree::new(place.path("source"));
    tree.dir("empty").dir("a/b/c").dir("many").dir("wide/0/1/2/3/4/5/6/7/8/9");
    tree.file("hello", "hello").file("a/nothing", "").file("a/b/c/deep", pattern(1, 10_000));
    // A page, a block and a chunk, and a byte to either side.
    for (number, len) in
        [4_095, 4_096, 4_097, 65_535, 65_536, 65_537, 1 << 20, (1 << 20) + 1, 2_500_003].iter().enumerate()
    {
        tree.file(&format!("a/{len}"), pattern(number, *len));
    }
    for number in 0..250 {
        tree.file(&format!("many/{number}"), pattern(number, number * 7));
    }
    like_cp(place, &tree.settle());
}

pub(crate) fn odd_names(place: &Place) {
    let tree = Tree::new(place.path("source"));
    let long = [b'n'; 255];
    let names: [&[u8]; 9] =
        [b"new\nline", b"\xff\xfe\x80", b"esc\x1b[31m", b"-rf", b" ", b"...", b"~", b"*?[a]\\", &long];
    for name in names {
        tree.bytes_named(name, "odd");
    }
    tree.dir(&format!("{}/{}", "d".repeat(255), "e".repeat(255))).dir("trailing. /\n");
    like_cp(place, &tree.settle());
}

pub(crate) fn symbolic_links(place: &Place) {
    let tree = Tree::new(place.path("source"));
    tree.dir("folder").file("folder/file", "data").file("file", "top");
    tree.link("file", "to-file").link("folder", "to-folder").link("nowhere", "dangling").link("itself", "itself");
    tree.link("../source", "folder/up").link("/etc/hostname", "absolute").link(&"x/".repeat(500), "long");
    tree.hard("dangling", "dangling-too");
    if is_root() {
        tree.owner("dangling", 1234, 4321);
    }
    like_cp(place, &tree.settle());
    // A link given by name is copied itself, unless a slash follows.
    for (number, (driver, options)) in drivers(place).into_iter().enumerate() {
        let (expected, got) =
            (place.path(&format!("link-expected-{number}")), place.path(&format!("link-got-{number}")));
        for name in ["to-folder", "dangling", "to-file"] {
            let at = |folder: &std::path::Path| folder.with_extension(name);
            assert!(cp(&[], &[&tree.path(name)], &at(&expected)));
            copy_all(&[&tree.path(name)], &at(&got), &options);
            compare::same(&at(&expected), &at(&got), driver);
        }
        let slashed = tree.path("to-folder/");
        assert!(cp(&[], &[&slashed], &expected.with_extension("slash")));
        copy_all(&[&slashed], &got.with_extension("slash"), &options);
        compare::same(&expected.with_extension("slash"), &got.with_extension("slash"), driver);
    }
}

pub(crate) fn hard_links(place: &Place) {
    let tree = Tree::new(place.path("source"));
    tree.dir("a").dir("b/c");
    tree.file("a/first", pattern(1, 1_500_000)).hard("a/first", "a/second").hard("a/first", "b/c/third");
    tree.file("small", "x");
    for number in 0..40 {
        tree.hard("small", &format!("b/small-{number}"));
    }
    // Names outside what is copied are none of it.
    let beyond = Tree::new(place.path("beyond"));
    beyond.file("outside", "shared with the copied tree");
    fs::hard_link(beyond.path("outside"), tree.path("inside")).unwrap();
    fs::hard_link(beyond.path("outside"), tree.path("b/inside-too")).unwrap();
    tree.link("nowhere", "link").hard("link", "b/link-too");
    tree.node("fifo", Kind::Fifo, 0o600, (0, 0)).unwrap();
    tree.hard("fifo", "a/fifo-too");
    like_cp(place, &tree.settle());
}

pub(crate) fn holes(place: &Place) {
    const STEP: u64 = 1 << 20;
    let tree = Tree::new(place.path("source"));
    tree.sparse("all hole", 12 * STEP, &[]);
    tree.sparse("at start", 4 * STEP, &[(3 * STEP, 300_000)]);
    tree.sparse("in middle", 5 * STEP, &[(0, 70_000), (4 * STEP + 5, 70_000)]);
    tree.sparse("at end", 4 * STEP + 17, &[(0, 100_000)]);
    tree.sparse("many", 12 * STEP, &(0..6).map(|at| (at * 2 * STEP + 12_288, 4_096)).collect::<Vec<_>>());
    tree.sparse("large", 3 << 40, &[(1 << 40, 4_096)]);
    tree.file("none", pattern(1, 1_500_000));
    if tree.settle().join("large").metadata().unwrap().len() != 3 << 40 {
        return place.skip("large files", "this filesystem has none");
    }
    // What cp writes in full of so large a file would not fit: it looks for holes as well.
    like_cp_by_attributes(place, &tree);
}

/// As [`like_cp`], without reading what is 3 TiB long.
fn like_cp_by_attributes(place: &Place, tree: &Tree) {
    let large = tree.path("large");
    for (number, (driver, options)) in drivers(place).into_iter().enumerate() {
        let got = place.path(&format!("large-{number}"));
        copy_all(&[&large], &got, &options);
        assert_eq!(got.metadata().unwrap().len(), 3 << 40, "{driver}");
        assert!(compare::stored_bytes(&got) <= 256 * 1024, "{driver}: {} bytes stored", compare::stored_bytes(&got));
        let file = fs::File::open(&got).unwrap();
        let mut bytes = [0; 4_096];
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut bytes, 1 << 40).unwrap();
        assert_eq!(bytes[..], pattern((1 << 40) + 1, 4_096)[..], "{driver}");
        fs::remove_file(&got).unwrap();
    }
    fs::remove_file(&large).unwrap();
    like_cp(place, &tree.settle());
}

pub(crate) fn special_files(place: &Place) {
    let tree = Tree::new(place.path("source"));
    tree.file("file", "data");
    tree.node("fifo", Kind::Fifo, 0o640, (0, 0)).unwrap();
    drop(UnixListener::bind(tree.path("socket")).unwrap());
    for (name, kind, mode, device) in [
        ("null", Kind::CharDevice, 0o666, (1, 3)),
        ("zero", Kind::CharDevice, 0o4600, (1, 5)),
        ("disk", Kind::BlockDevice, 0o660, (259, 70_000)),
    ] {
        if let Err(error) = tree.node(name, kind, mode, device) {
            place.skip("device nodes", &format!("making them takes CAP_MKNOD: {error}"));
        }
    }
    if is_root() {
        tree.owner("fifo", 77, 88).mode("fifo", 0o2640);
    }
    let source = tree.settle();
    like_cp(place, &source);
    // One that is named is no different, and is never read.
    for (number, (driver, options)) in drivers(place).into_iter().enumerate() {
        let got = place.path(&format!("fifo-{number}"));
        copy_all(&[&source.join("fifo")], &got, &options);
        assert!(fs::symlink_metadata(&got).unwrap().file_type().is_fifo(), "{driver}");
    }
}

/// cp -a cannot do that: it goes by paths, and they have 4,096 bytes at most (PATH_MAX).
pub(crate) fn deeper_than_a_path(place: &Place) {
    const LEVELS: usize = 60;
    let name = "n".repeat(100);
    let descend = |root: &std::path::Path, make: bool| {
        let mut dir = Dir::open(root).unwrap();
        for level in 0..LEVELS {
            if make {
                dir.make_dir(name.as_bytes(), 0o750).unwrap();
            }
            dir = dir.open_dir(name.as_bytes()).unwrap_or_else(|error| panic!("level {level}: {error}"));
        }
        dir
    };
    let source = place.path("source");
    fs::create_dir(&source).unwrap();
    let deepest = descend(&source, true);
    rustix::io::write(deepest.create_new(b"file", 0o640).unwrap(), b"down here").unwrap();
    deepest.symlink(b"file", b"link").unwrap();
    deepest.hard_link(&deepest, b"file", b"second").unwrap();
    let time = |secs| Timestamp { secs, nanos: 5 };
    deepest.set_times_both(b"file", time(2_100_000_000), time(1_000_000_000)).unwrap();
    for (number, (driver, options)) in drivers(place).into_iter().enumerate() {
        let got = place.path(&format!("got-{number}"));
        let options = CopyOptions { verify: number % 2 == 0, ..options };
        let report = copy_all(&[&source], &got, &options);
        assert_eq!(
            (report.counts.files, report.counts.folders, report.counts.links),
            (1, LEVELS as u64 + 1, 2),
            "{driver}"
        );
        let deepest = descend(&got, false);
        let mut contents = [0; 20];
        let length = rustix::io::read(deepest.open_read(b"file").unwrap(), &mut contents).unwrap();
        let file = deepest.metadata(b"file").unwrap();
        assert_eq!((&contents[..length], file.mtime, file.mode), (b"down here".as_slice(), time(1_000_000_000), 0o640));
        assert_eq!(
            (deepest.metadata(b"second").unwrap().ino, deepest.read_link(b"link").unwrap()),
            (file.ino, b"file".to_vec())
        );
    }
}
