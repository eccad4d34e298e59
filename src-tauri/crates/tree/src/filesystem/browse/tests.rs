//! Listings of real folders, with little memory and with much.
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

use ringway_wire::entries::in_order;

use super::*;

thread_local! {
    /// How often a folder was read by this thread.
    pub(super) static SELECTED: Cell<usize> = const { Cell::new(0) };
}

fn dir(path: &Path) -> Dir {
    Dir::open(path).unwrap()
}

/// The paths of a listing, which are in order, and those that failed with their errors.
fn listed(root: &Path, is_tree: bool, names_bytes_max: usize) -> (Vec<String>, Vec<(String, Errno)>) {
    let (mut paths, mut failed) = (Vec::<String>::new(), Vec::new());
    let listing = Listing { folder: &dir(root), is_tree, hides: &|_| false, names_bytes_max };
    let run = listing.run(|Found { path, what, .. }| {
        let shown = String::from_utf8_lossy(path.as_bytes()).into_owned();
        match what {
            Ok(_) => {
                if let Some(last) = paths.last() {
                    let last = RelPath::new(last.as_bytes()).unwrap();
                    assert!(in_order(last, path).is_lt(), "{last:?} before {path:?}");
                }
                paths.push(shown);
            }
            Err(errno) => failed.push((shown, errno)),
        }
        true
    });
    run.unwrap();
    (paths, failed)
}

/// Every path of a tree, by another walk.
fn walked(root: &Path) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            all.insert(entry.path().strip_prefix(root).unwrap().to_str().unwrap().to_owned());
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            }
        }
    }
    all
}

/// A tree with folders of many names, deep ones, and names around the slash.
fn tree(root: &Path) {
    for folder in ["a", "a/b", "a/b/c", "a!", "a0", "many", "z/y/x/w/v/u/t"] {
        fs::create_dir_all(root.join(folder)).unwrap();
        for number in 0..7 {
            fs::write(root.join(folder).join(format!("file {}", number * 37 % 7)), "").unwrap();
        }
    }
    for number in 0..500 {
        fs::write(root.join(format!("many/{:x}", number * 7919 % 500)), "").unwrap();
        fs::create_dir_all(root.join(format!("folders/{}/below", number * 31 % 500))).unwrap();
    }
}

#[test]
fn every_entry_is_listed_once_and_in_order_however_little_memory_there_is() {
    let root = tempfile::tempdir().unwrap();
    tree(root.path());
    let all = walked(root.path());
    for bytes in [0, 1, 64, 1_000, 10_000, NAMES_BYTES_MAX] {
        let (paths, failed) = listed(root.path(), true, bytes);
        assert_eq!((paths.len(), failed.len()), (all.len(), 0), "{bytes}");
        assert_eq!(paths.into_iter().collect::<BTreeSet<_>>(), all, "{bytes}");
    }
    let (paths, _) = listed(&root.path().join("many"), false, 100);
    assert_eq!(paths.len(), 507);
}

#[test]
fn a_folder_whose_names_fill_the_memory_is_not_read_for_each_of_its_folders() {
    let root = tempfile::tempdir().unwrap();
    for number in 0..600 {
        let folder = root.path().join(format!("{number:0>200}"));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("file"), "").unwrap();
    }
    // The names take 123,000 bytes, with where they begin.
    for (bytes, most) in [(NAMES_BYTES_MAX, 601), (150_000, 610), (60_000, 630)] {
        SELECTED.set(0);
        let (paths, _) = listed(root.path(), true, bytes);
        assert_eq!(paths.len(), 1_200, "{bytes}");
        assert!(SELECTED.get() <= most, "{bytes}: read {} times", SELECTED.get());
    }
}

#[test]
fn a_folder_with_a_path_that_is_too_long_below_is_named_as_such() {
    let root = tempfile::tempdir().unwrap();
    let (long, mut at) = ("d".repeat(250), dir(root.path()));
    for _ in 0..17 {
        rustix::fs::mkdirat(&at, &*long, rustix::fs::Mode::RWXU).unwrap();
        rustix::fs::mkdirat(&at, "e", rustix::fs::Mode::RWXU).unwrap();
        at = at.open_dir(long.as_bytes()).unwrap();
    }
    let (paths, failed) = listed(root.path(), true, NAMES_BYTES_MAX);
    let deepest = [&*long; 16].join("/");
    assert_eq!(failed, [(deepest.clone(), Errno::NAMETOOLONG)]);
    assert!(paths.contains(&format!("{deepest}/e")), "what fits is listed");
    assert_eq!(paths.len(), 2 * 17 - 1);
}

#[test]
fn links_are_shown_and_never_followed() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("in/folder")).unwrap();
    fs::write(root.path().join("secret"), "").unwrap();
    symlink("..", root.path().join("in/out")).unwrap();
    symlink(".", root.path().join("in/loop")).unwrap();
    let inside = dir(&root.path().join("in"));
    let mut links = Vec::new();
    let listing = Listing { folder: &inside, is_tree: true, hides: &|_| false, names_bytes_max: NAMES_BYTES_MAX };
    let shown = |found: Found<'_>| {
        if found.what.unwrap().kind == Kind::Symlink {
            links.push((found.path.as_bytes().to_vec(), found.target.to_vec()));
        }
        assert!(found.path.as_bytes().len() < 10, "{:?}", found.path);
        true
    };
    listing.run(shown).unwrap();
    assert_eq!(links, [(b"loop".to_vec(), b".".to_vec()), (b"out".to_vec(), b"..".to_vec())]);
    let path = |text: &'static str| RelPath::new(text.as_bytes()).unwrap();
    for through in ["out/in", "loop/folder", "out"] {
        assert_eq!(open_folder(&inside, path(through), &|_| false).unwrap_err(), Errno::LOOP, "{through}");
    }
    assert_eq!(look_at(&inside, path("out/secret"), &|_| false).unwrap_err(), Errno::LOOP);
    let (there, target) = look_at(&inside, path("out"), &|_| false).unwrap().unwrap();
    assert_eq!((there.kind, target), (Kind::Symlink, b"..".to_vec()));
}

#[test]
fn only_folders_are_opened_and_what_shows_the_kernel_is_not() {
    let root = tempfile::tempdir().unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        root.path().join("fifo"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    let here = dir(root.path());
    let path = RelPath::new(b"fifo").unwrap();
    // Opening it would wait for a writer.
    assert_eq!(open_folder(&here, path, &|_| false).unwrap_err(), Errno::NOTDIR);
    assert_eq!(look_at(&here, path, &|_| false).unwrap().unwrap().0.kind, Kind::Fifo);
    let top = dir(Path::new("/"));
    for kernel in ["proc", "sys", "proc/self", "proc/nowhere"] {
        let path = RelPath::new(kernel.as_bytes()).unwrap();
        assert_eq!(open_folder(&top, path, &|_| false).unwrap_err(), Errno::OPNOTSUPP, "{kernel}");
    }
}

#[test]
fn hidden_folders_are_neither_shown_nor_gone_through() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("own/below")).unwrap();
    fs::write(root.path().join("own/below/key"), "").unwrap();
    fs::write(root.path().join("other"), "").unwrap();
    let own = fs::metadata(root.path().join("own")).unwrap().ino();
    let hides = |there: &Metadata| there.ino == own;
    let here = dir(root.path());
    let mut paths = Vec::new();
    let listing = Listing { folder: &here, is_tree: true, hides: &hides, names_bytes_max: NAMES_BYTES_MAX };
    let shown = |found: Found<'_>| {
        paths.push(found.path.as_bytes().to_vec());
        true
    };
    listing.run(shown).unwrap();
    assert_eq!(paths, [b"other".to_vec()]);
    for path in ["own", "own/below", "own/below/key"] {
        let path = RelPath::new(path.as_bytes()).unwrap();
        assert!(look_at(&here, path, &hides).unwrap().is_none(), "{path:?}");
    }
    assert!(open_folder(&here, RelPath::new(b"own/below").unwrap(), &hides).unwrap().is_none());
}

#[test]
fn what_an_attempt_gathers_is_neither_shown_nor_gone_through() {
    let root = tempfile::tempdir().unwrap();
    let attempt = "below/.ringway-0123456789abcdef";
    fs::create_dir_all(root.path().join(attempt).join("tree")).unwrap();
    fs::write(root.path().join(attempt).join("journal"), "").unwrap();
    fs::write(root.path().join("below/.ringway-other"), "").unwrap();
    let here = dir(root.path());
    let mut paths = Vec::new();
    let listing = Listing { folder: &here, is_tree: true, hides: &|_| false, names_bytes_max: NAMES_BYTES_MAX };
    let shown = |found: Found<'_>| {
        paths.push(found.path.as_bytes().to_vec());
        true
    };
    listing.run(shown).unwrap();
    assert_eq!(paths, [&b"below"[..], b"below/.ringway-other"]);
    for path in [attempt.to_owned(), format!("{attempt}/tree"), format!("{attempt}/journal")] {
        let path = RelPath::new(path.as_bytes()).unwrap();
        assert!(look_at(&here, path, &|_| false).unwrap().is_none(), "{path:?}");
        assert!(open_folder(&here, path, &|_| false).map_or(true, |folder| folder.is_none()), "{path:?}");
        assert!(open_file(&here, path, &|_| false).map_or(true, |file| file.is_none()), "{path:?}");
    }
}

#[test]
fn a_folder_that_cannot_be_read_is_named_and_the_rest_is_listed() {
    if rustix::process::geteuid().is_root() {
        return println!("skipped: root reads every folder");
    }
    let root = tempfile::tempdir().unwrap();
    for folder in ["a", "closed", "z"] {
        fs::create_dir(root.path().join(folder)).unwrap();
    }
    let closed = root.path().join("closed");
    fs::set_permissions(&closed, std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
    let (paths, failed) = listed(root.path(), true, NAMES_BYTES_MAX);
    fs::set_permissions(&closed, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    assert_eq!(paths, ["a", "closed", "z"]);
    assert_eq!(failed, [("closed".to_owned(), Errno::ACCESS)]);
}

#[test]
fn a_listing_ends_when_nobody_wants_more() {
    let root = tempfile::tempdir().unwrap();
    tree(root.path());
    let here = dir(root.path());
    let mut shown = 0;
    let listing = Listing { folder: &here, is_tree: true, hides: &|_| false, names_bytes_max: NAMES_BYTES_MAX };
    listing
        .run(|_| {
            shown += 1;
            shown < 3
        })
        .unwrap();
    assert_eq!(shown, 3);
}
