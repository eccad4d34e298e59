//! Copies that are made again over what is there already.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ringway_engine::{CopyOptions, PlannedFn, ReflinkMode};
use ringway_model::{IoMode, OnExisting};

use crate::both::{copy_all, some_driver};
use crate::places::Place;
use crate::tree::{Tree, pattern};

/// A name that is kept because it is newer stands for the copy of its file: other names become
/// links to it. One that is kept whatever it is does not, for it may be anything.
pub(crate) fn links(place: &Place) {
    for (existing, linked) in [(OnExisting::Update, true), (OnExisting::Keep, false)] {
        let tree = Tree::new(place.path(&format!("{existing:?}")));
        tree.dir("source/folder").file("source/kept", "one").hard("source/kept", "source/folder/second");
        tree.link("nowhere", "source/link").hard("source/link", "source/folder/link");
        tree.dir("into/source").file("into/source/kept", "newer").link("elsewhere", "into/source/link");
        let ago = SystemTime::now() - Duration::from_secs(1_000);
        fs::File::options().write(true).open(tree.path("source/kept")).unwrap().set_modified(ago).unwrap();
        let (driver, options) = some_driver(place, "links");
        // One thread meets what is in a folder before what is in folders of it.
        let planned: PlannedFn = Arc::new(|_, path| panic!("{} is reported as planned", path.display()));
        let options = CopyOptions { existing, workers: Some(1), planned: Some(planned), ..options };
        let report = copy_all(&[&tree.path("source")], &tree.path("into"), &options);
        let what = format!("{driver}, {existing:?}");
        assert_eq!(fs::read(tree.path("into/source/kept")).unwrap(), b"newer", "{what}");
        let second = if linked { "newer" } else { "one" };
        assert_eq!(fs::read_to_string(tree.path("into/source/folder/second")).unwrap(), second, "{what}");
        let inode = |name: &str| fs::symlink_metadata(tree.path(name)).unwrap().ino();
        for (first, second) in [("kept", "folder/second"), ("link", "folder/link")] {
            let (first, second) = (format!("into/source/{first}"), format!("into/source/{second}"));
            assert_eq!(inode(&first) == inode(&second), linked, "{what}: {second}");
        }
        assert_eq!(
            (report.counts.unchanged, report.counts.skipped, report.counts.skipped_bytes),
            (0, 2, 3),
            "{what}: what stays differs"
        );
    }
}

/// What is kept is not read before, even where many files are read at a time.
pub(crate) fn unread(place: &Place) {
    const LEN: usize = 5_000;
    if let Err(why) = ringway_sys::probe::io_uring() {
        return place.skip("io_uring", &why.to_string());
    }
    let tree = Tree::new(place.path("source"));
    for number in 0..100 {
        tree.file(&format!("{number}"), pattern(number, LEN));
    }
    let (source, got) = (tree.settle(), place.path("got"));
    copy_all(&[&source], &got, &CopyOptions::default());
    fs::remove_file(got.join("7")).unwrap();
    for existing in [OnExisting::Update, OnExisting::Keep] {
        let options =
            CopyOptions { existing, io: IoMode::Uring, reflink: ReflinkMode::Never, ..CopyOptions::default() };
        let exact = CopyOptions { exact_destination: true, ..options };
        let report = copy_all(&[&source], &got, &exact);
        assert_eq!(
            (report.counts.files, report.counts.unchanged, report.counts.bytes),
            (1, 99, LEN as u64),
            "{existing:?}"
        );
        assert_eq!(report.copy.as_ref().unwrap().uring_bytes, LEN as u64, "{existing:?}");
        fs::remove_file(got.join("7")).unwrap();
    }
}
