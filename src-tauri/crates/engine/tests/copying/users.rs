//! What a user without privileges meets.

use std::fs;
use std::path::Path;

use crate::both::{Case, copy_all, cp, drivers, like_cp};
use crate::compare;
use crate::places::Place;
use crate::tree::Tree;

/// Files of the system's, among them programs that run as root: a copy belongs to the user, and
/// does not.
pub(crate) fn foreign(place: &Place) {
    let there = [
        "/usr/bin/su",
        "/usr/bin/passwd",
        "/usr/bin/mount",
        "/etc/hostname",
        "/usr/share/common-licenses",
        "/etc/alternatives",
    ];
    let sources: Vec<_> = there.into_iter().map(Path::new).filter(|path| path.exists()).collect();
    if sources.is_empty() {
        return place.skip("files of root", "none of those that are known is here");
    }
    let expected = |name: &str| {
        let into = place.path(name);
        fs::create_dir(&into).unwrap();
        cp(&[], &sources, &into);
        into
    };
    // The first moves access times, which then stay for a day (relatime, mount(8)).
    expected("first");
    let expected = compare::take(&expected("expected"));
    for (number, (driver, options)) in drivers(place).into_iter().enumerate() {
        let got = place.path(&format!("got-{number}"));
        fs::create_dir(&got).unwrap();
        let report = copy_all(&sources, &got, &options);
        expected.unchanged(&got, driver);
        assert!(report.copy.as_ref().unwrap().owners_lost > 0, "{driver}");
    }
}

pub(crate) fn unreadable(place: &Place) {
    let before = |tree: &Tree| {
        tree.dir("source/closed/inner").dir("source/open").dir("source/blind").dir("source/entered").dir("into");
        tree.file("source/secret", "x").mode("source/secret", 0o0).file("source/open/file", "data");
        tree.file("source/open/unreadable", "x").mode("source/open/unreadable", 0o222).file("source/closed/file", "x");
        tree.file("source/blind/file", "x").file("source/entered/file", "x").link("secret", "source/link");
        tree.settle();
        // Neither listed nor entered; listed and not entered; entered and not listed.
        tree.mode("source/closed", 0o0).mode("source/blind", 0o444).mode("source/entered", 0o311);
    };
    let case = Case::new("unreadable", &before, &["source"], "into");
    Case { settled: true, ..case }.is_like_cp(place);
}

pub(crate) fn unwritable(place: &Place) {
    let before = |tree: &Tree| {
        tree.dir("source/locked").dir("source/open").dir("into/source/locked").dir("into/source/open");
        tree.file("source/locked/new", "new").file("source/locked/old", "new").file("into/source/locked/old", "old");
        tree.file("source/open/read-only", "new")
            .file("into/source/open/read-only", "old")
            .file("source/open/file", "data");
        tree.mode("into/source/open/read-only", 0o444).dir("source/locked/folder").file("source/locked/folder/x", "x");
        tree.settle();
        tree.mode("into/source/locked", 0o555);
    };
    let case = Case::new("unwritable", &before, &["source"], "into");
    Case { settled: true, ..case }.is_like_cp(place);
    // What the copy itself makes is writable until it is whole.
    let tree = Tree::new(place.path("source"));
    tree.dir("read-only/inner")
        .file("read-only/file", "x")
        .file("read-only/inner/file", "y")
        .mode("read-only/inner", 0o500);
    tree.file("read-only/sealed", "z").mode("read-only/sealed", 0o400).mode("read-only", 0o555);
    like_cp(place, &tree.settle());
}
