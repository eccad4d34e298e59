//! Where copies go: into, as, exactly, several at once, over what is there already.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use ringway_engine::CopyOptions;
use ringway_model::{FailureReason, Fault, OnExisting, Outcome};
use ringway_sys::attributes::Kind;

use crate::attributes::own_modes;
use crate::both::{Case, copy, copy_all, failed, some_driver};
use crate::compare;
use crate::places::Place;
use crate::tree::{Tree, pattern};

fn surroundings(tree: &Tree) {
    tree.dir("source/inner/.hidden")
        .dir("into/kept")
        .file("source/file", "data")
        .file("source/inner/x", pattern(1, 100_000));
    tree.file("into/other", "stays").file("single", "one").link("source", "to-source").dir("other/source");
    tree.file("other/source/file", "another").file("other/source/more", "more").link("into", "to-into");
    tree.link("nowhere", "dangling");
}

pub(crate) fn into_and_as(place: &Place) {
    let cases: &[(&[&str], &str)] = &[
        (&["source"], "into"),
        (&["source"], "into/"),
        (&["source"], "into/."),
        (&["source"], "to-into"),
        (&["source"], "to-into/"),
        (&["source"], "new"),
        (&["source"], "new/"),
        (&["source/"], "new"),
        (&["source/"], "into"),
        (&["source//"], "into"),
        (&["source/."], "new"),
        (&["source/."], "into"),
        (&["source/./"], "into"),
        (&["source/inner/.."], "into"),
        (&["source/inner/.."], "new"),
        (&["single"], "into"),
        (&["single"], "new"),
        (&["single"], "new/"),
        (&["single"], "missing/new"),
        (&["source"], "missing/new"),
        (&["single/"], "new"),
        (&["to-source"], "into"),
        (&["to-source/"], "into"),
        (&["to-source/."], "new"),
        (&["to-source"], "new"),
        (&["dangling"], "into"),
        (&["source"], "single"),
        (&["single"], "dangling"),
        (&["source"], "dangling"),
        (&["single"], "dangling/"),
        (&["missing"], "into"),
        (&["missing"], "new"),
        (&["single", "source"], "into"),
        (&["single", "source"], "new"),
        (&["single", "source"], "single"),
        (&["single", "missing", "source"], "into"),
        (&["source/.", "other/source/."], "into"),
    ];
    let mut problems = Vec::new();
    for (sources, destination) in cases {
        let what = format!("{} to {}", sources.join(" ").replace('/', "|"), destination.replace('/', "|"));
        problems.extend(Case::new(&what, &surroundings, sources, destination).problems(place, |_| {}));
    }
    assert!(problems.is_empty(), "unlike what cp does:\n{}", problems.join("\n"));
}

/// cp would write one over the other, or refuse the second of two files. Here nothing is begun.
pub(crate) fn same_name_twice(place: &Place) {
    for sources in
        [["source", "other/source"], ["source/file", "other/source/file"], ["single", "single"], ["source", "source/"]]
    {
        let (tree, reference) = (place.path("twice"), place.path("reference"));
        surroundings(&Tree::new(&reference));
        Tree::new(&reference).settle();
        let (driver, options) = some_driver(place, "twice");
        let report = Case::new("twice", &surroundings, &sources, "into").run_by(&options, &tree);
        assert!(matches!(report.outcome, Outcome::Failed(Fault::Invalid(_))), "{driver}: {:?}", report.outcome);
        compare::same(&reference, &tree, driver);
        fs::remove_dir_all(&tree).unwrap();

        fs::remove_dir_all(&reference).unwrap();
    }
}

pub(crate) fn exactly_as(place: &Place) {
    let cases = [
        ("source", "into"),
        ("source", "new"),
        ("single", "new"),
        ("single", "into"),
        ("source/.", "new"),
        ("source", "single"),
        ("source", "to-into"),
        ("source", "to-into/"),
        ("source", "into/kept/.."),
        ("source", "to-into/kept/.."),
        ("source", "into/."),
        ("source/.", "into/kept/.."),
        ("source/inner/..", "into/kept/.."),
        ("single", "into/kept/.."),
        ("source", "into/kept/../."),
    ];
    for (source, destination) in cases {
        let what = format!("{} exactly {}", source.replace('/', "|"), destination.replace('/', "|"));
        let sources = [source];
        let case = Case::new(&what, &surroundings, &sources, destination);
        Case { cp: &["-T"], options: &|options| options.exact_destination = true, ..case }.is_like_cp(place);
    }
    let mut options = some_driver(place, "").1;
    options.exact_destination = true;
    let tree = Tree::new(place.path("two"));
    surroundings(&tree);
    let before = compare::take(&tree.settle());
    let report = copy(&[&tree.path("single"), &tree.path("source")], &tree.path("into"), &options);
    assert!(matches!(report.outcome, Outcome::Failed(_)), "two sources cannot both be it: {:?}", report.outcome);
    before.unchanged(&tree.path(""), "two sources");
}

pub(crate) fn exactly_the_root(place: &Place) {
    let tree = Tree::new(place.path("from"));
    tree.dir("empty");
    let exact = CopyOptions { exact_destination: true, ..CopyOptions::default() };
    let report = copy(&[&tree.path("empty")], Path::new("/usr/.."), &CopyOptions { dry_run: true, ..exact });
    assert!(matches!(report.outcome, Outcome::Failed(Fault::Invalid(_))), "{:?}", report.outcome);
}

/// From as many folders, and the contents of as many.
pub(crate) fn many_sources(place: &Place) {
    const SOURCES: usize = 1_200;
    let tree = Tree::new(place.path("from"));
    let names: Vec<_> = (0..SOURCES).map(|number| format!("{number}")).collect();
    for name in &names {
        tree.dir(&format!("{name}/folder-{name}")).file(&format!("{name}/folder-{name}/inside"), name);
        tree.file(&format!("{name}/file-{name}"), name);
    }
    let paths = |of: &dyn Fn(&str) -> Vec<String>| -> Vec<_> {
        names.iter().flat_map(|name| of(name)).map(|path| tree.path(&path)).collect()
    };
    let named = paths(&|name| vec![format!("{name}/folder-{name}"), format!("{name}/file-{name}")]);
    let contents = paths(&|name| vec![format!("{name}/.")]);
    for (number, sources) in [named, contents].into_iter().enumerate() {
        let got = place.path(&format!("got-{number}"));
        fs::create_dir(&got).unwrap();
        let options = CopyOptions { verify: true, count_ahead: true, ..some_driver(place, "many").1 };
        copy_all(&sources.iter().map(|source| source.as_path()).collect::<Vec<_>>(), &got, &options);
        for name in &names {
            assert_eq!(fs::read_to_string(got.join(format!("file-{name}"))).unwrap(), *name);
            assert_eq!(fs::read_to_string(got.join(format!("folder-{name}/inside"))).unwrap(), *name);
        }
    }
}

/// A source over a destination in which every name is taken by something else.
fn overlapping(tree: &Tree) {
    let kinds = ["file", "folder", "link", "fifo"];
    for here in kinds {
        for there in kinds {
            for (side, kind) in [("source", here), ("into/source", there)] {
                let name = format!("{side}/{here}-over-{there}");
                match kind {
                    "file" => _ = tree.dir(side).file(&name, format!("{side} file")),
                    "folder" => _ = tree.dir(&name).file(&format!("{name}/in-{}", side.len()), "x"),
                    "link" => _ = tree.dir(side).link("target", &name),
                    _ => tree.dir(side).node(&name, Kind::Fifo, 0o600, (0, 0)).unwrap(),
                }
            }
        }
    }
    // cp would wait for somebody to read: see `a_fifo_in_the_way`.
    fs::remove_file(tree.path("source/file-over-fifo")).unwrap();
}

pub(crate) fn merging(place: &Place) {
    Case::new("all kinds over all kinds", &overlapping, &["source"], "into").is_like_cp(place);
    let before = |tree: &Tree| {
        overlapping(tree);
        // What links lead to: an existing file is written through the link, as cp does.
        tree.file("into/source/target", pattern(5, 200_000));
    };
    Case::new("links that lead to a file", &before, &["source"], "into").is_like_cp(place);
    let before = |tree: &Tree| {
        overlapping(tree);
        tree.dir("into/source/target");
    };
    Case::new("links that lead to a folder", &before, &["source"], "into").is_like_cp(place);
    let case = Case::new("what is there is kept, whatever it is", &overlapping, &["source"], "into");
    let options = |options: &mut CopyOptions| options.existing = OnExisting::Keep;
    Case { cp: &["--no-clobber"], options: &options, ..case }.is_like_cp(place);
}

pub(crate) fn overwriting(place: &Place) {
    let before = |tree: &Tree| {
        tree.dir("source").dir("into/source");
        for (number, (new, old)) in
            [(0, 0), (0, 9_000), (9_000, 0), (100, 4_000_000), (4_000_000, 100), (70_000, 70_000)].iter().enumerate()
        {
            tree.file(&format!("source/{number}"), pattern(number, *new)).mode(&format!("source/{number}"), 0o640);
            tree.file(&format!("into/source/{number}"), pattern(99, *old))
                .mode(&format!("into/source/{number}"), 0o4777);
        }
        tree.sparse("source/holes", 8 << 20, &[(4 << 20, 5_000)]).file("into/source/holes", pattern(98, 9 << 20));
        tree.file("source/plain", "p").file("into/source/plain", "q");
        tree.xattr("into/source/plain", "user.stays", b"as cp leaves it");
        tree.xattr("into/source/plain", "system.posix_acl_access", &crate::attributes::list());
        tree.file("source/shared", "new")
            .file("into/source/shared", "old")
            .hard("into/source/shared", "into/source/shared-too");
        // A link to a file with other names gives way to a file of its own.
        tree.file("source/through", "new")
            .file("outside", "old")
            .hard("outside", "outside-too")
            .link("../../outside", "into/source/through");
        tree.file("source/two", "both")
            .hard("source/two", "source/two-too")
            .file("into/source/two", "1")
            .file("into/source/two-too", "2");
    };
    let case = Case::new("over existing files", &before, &["source"], "into");
    let problems = case.problems(place, |tree| own_modes(&tree.join("source"), &tree.join("into/source")));
    assert!(problems.is_empty(), "unlike what cp does:\n{}", problems.join("\n"));
    let (driver, options) = some_driver(place, "");
    let folder = place.path("in-place");
    let tree = Tree::new(&folder);
    tree.dir("source").dir("into/source").file("source/file", pattern(1, 50_000)).file("into/source/file", "old");
    let (inode, reader) = (
        fs::metadata(tree.path("into/source/file")).unwrap().ino(),
        fs::File::open(tree.path("into/source/file")).unwrap(),
    );
    copy_all(&[&tree.path("source")], &tree.path("into"), &options);
    assert_eq!(fs::metadata(tree.path("into/source/file")).unwrap().ino(), inode, "{driver}: not written in place");
    assert_eq!(reader.metadata().unwrap().len(), 50_000, "{driver}");
    fs::remove_dir_all(folder).unwrap();
}

/// cp waits for a reader of the FIFO; here what is no file is no destination for bytes.
pub(crate) fn a_fifo_in_the_way(place: &Place) {
    let (driver, options) = some_driver(place, "");
    let tree = Tree::new(place.path("fifo"));
    tree.dir("into").file("file", "data").node("into/file", Kind::Fifo, 0o600, (0, 0)).unwrap();
    let report = copy(&[&tree.path("file")], &tree.path("into"), &options);
    let there = fs::symlink_metadata(tree.path("into/file")).unwrap();
    assert!(there.file_type().is_fifo(), "{driver}: it is gone");
    assert_eq!(failed(&report), [(tree.path("into/file"), FailureReason::InTheWay)], "{driver}");
    fs::remove_dir_all(tree.path("")).unwrap();
}

pub(crate) fn update_and_keep(place: &Place) {
    let before = |tree: &Tree| {
        tree.dir("source/folder").dir("into/source/folder").file("source/new", "new").file("source/folder/new", "n");
        for name in ["older", "newer", "folder/older", "folder/newer", "same"] {
            tree.file(&format!("source/{name}"), format!("{name} source")).file(&format!("into/source/{name}"), name);
        }
        tree.link("a", "source/link").link("b", "into/source/link");
    };
    let with_times = |tree: &Tree| {
        before(tree);
        tree.settle();
        for name in ["older", "folder/older", "newer", "folder/newer", "same"] {
            let at = |seconds| std::time::SystemTime::UNIX_EPOCH + std::time::Duration::new(seconds, 5);
            let set = |name: &str, seconds| {
                fs::File::options().write(true).open(tree.path(name)).unwrap().set_modified(at(seconds)).unwrap();
            };
            set(&format!("source/{name}"), 1_500_000_000);
            let there = if name.ends_with("older") {
                1_499_999_999
            } else {
                1_500_000_000 + u64::from(name.ends_with("newer"))
            };
            set(&format!("into/source/{name}"), there);
        }
    };
    for (what, argument, existing) in
        [("update", "--update", OnExisting::Update), ("no clobber", "--no-clobber", OnExisting::Keep)]
    {
        let case = Case::new(what, &with_times, &["source"], "into");
        let options = |options: &mut CopyOptions| options.existing = existing;
        Case { cp: &[argument], options: &options, settled: true, ..case }.is_like_cp(place);
    }
}

pub(crate) fn same_file(place: &Place) {
    let before = |tree: &Tree| {
        ["folder", "into", "from/tree", "to/tree", "two", "both"].iter().for_each(|name| _ = tree.dir(name));
        tree.dir("folder")
            .file("file", pattern(1, 100_000))
            .hard("file", "second")
            .link("file", "link")
            .hard("file", "folder/file");
        tree.link("../file", "folder/link")
            .link("link", "chain")
            .link("file", "into/link")
            .link("../file", "into/file");
        // Links that lead to what stands in the place of their copies.
        tree.link("../../to/tree/x", "from/tree/x").file("to/tree/x", "data").file("from/tree/y", "new");
        tree.link("../both/b", "two/a").hard("two/a", "two/b").file("both/b", "data");
    };
    for (source, destination) in [
        ("file", "file"),
        ("file", "second"),
        ("file", "link"),
        ("file", "folder"),
        ("file", "folder/link"),
        ("folder/../file", "file"),
        ("second", "."),
        ("link", "link"),
        ("link", "file"),
        ("link", "second"),
        ("chain", "file"),
        ("folder/link", "file"),
        ("into/file", "."),
        ("from/tree", "to"),
        ("two/.", "both"),
    ] {
        let what = format!("{} on itself as {}", source.replace('/', "|"), destination.replace('/', "|"));
        let sources = [source];
        let case = Case::new(&what, &before, &sources, destination);
        case.is_like_cp(place);
        let kept = format!("{what}, kept");
        let options = |options: &mut CopyOptions| options.existing = OnExisting::Keep;
        let keeping = Case::new(&kept, &before, &sources, destination);
        Case { cp: &["--no-clobber"], options: &options, ..keeping }.is_like_cp(place);
        let updated = format!("{what}, updated");
        let options = |options: &mut CopyOptions| (options.existing, options.atomic) = (OnExisting::Update, true);
        let updating = Case::new(&updated, &before, &sources, destination);
        Case { cp: &["--update"], options: &options, ..updating }.is_like_cp(place);
        let folder = place.path("contents");
        let (driver, options) = some_driver(place, "");
        let report = case.run_by(&options, &folder);
        assert_eq!(fs::read(folder.join("file")).unwrap(), pattern(1, 100_000), "{what}, {driver}");
        assert!(["to/tree/x", "both/b"].iter().all(|path| fs::read(folder.join(path)).unwrap() == b"data"), "{what}");
        if report.counts.failed > 0 {
            assert!(
                failed(&report).iter().all(|(_, reason)| *reason == FailureReason::SameFile),
                "{:?}",
                report.failures
            );
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}

/// cp begins such a copy and leaves what it had made when it found out; here nothing is made.
pub(crate) fn into_itself(place: &Place) {
    let before = |tree: &Tree| {
        tree.dir("source/inner/most")
            .file("source/file", "data")
            .file("source/inner/x", "x")
            .link("source", "to-source");
        tree.link("source/inner", "to-inner").link("../..", "source/inner/up").dir("beside");
    };
    let cases = [
        (&["source"], "source"),
        (&["source"], "source/new"),
        (&["source"], "source/inner"),
        (&["source"], "source/inner/most/new"),
        (&["source/."], "source/inner"),
        (&["source/."], "source/new"),
        (&["source"], "to-source"),
        (&["source"], "to-source/new"),
        (&["source"], "to-inner"),
        (&["source/inner/.."], "source/inner"),
        (&["to-source/"], "source"),
        (&["to-source/."], "source/inner/most"),
        (&["source"], "beside/../source/inner"),
        (&["source"], "source/inner/up/source"),
    ];
    for (sources, destination) in cases {
        let case = Case::new("into itself", &before, sources, destination);
        let (driver, options) = some_driver(place, "");
        let (reference, folder) = (place.path("reference"), place.path("itself"));
        before(&Tree::new(&reference));
        Tree::new(&reference).settle();
        let report = case.run_by(&options, &folder);
        let what = format!("{} to {destination}, {driver}", sources[0]);
        assert!(!matches!(report.outcome, Outcome::Complete), "{what}: complete");
        assert!(
            report.failures.iter().any(|failure| failure.reason == FailureReason::IntoItself),
            "{what}: {:?} {:?}",
            report.outcome,
            report.failures
        );
        compare::same(&reference, &folder, &what);
        [reference, folder].iter().for_each(|folder| fs::remove_dir_all(folder).unwrap());
    }
}

/// The same folder under another mount.
pub(crate) fn into_itself_by_a_bind_mount(place: &Place) {
    let (Ok(mount), Ok(_)) = (place.mounted("tmpfs"), place.mounted("bind")) else {
        return place.skip("a bind mount", "none can be made here");
    };
    let (from, to) = (mount.join(".bind/from"), mount.join(".bind/to"));
    let copied = |source: &Path, destination: &Path| {
        let before = compare::take(&from);
        let report = copy(&[source], destination, &some_driver(place, "").1);
        let what = format!("{} to {}", source.display(), destination.display());
        assert!(!matches!(report.outcome, Outcome::Complete), "{what}: complete");
        assert!(
            report.failures.iter().any(|failure| failure.reason == FailureReason::IntoItself),
            "{what}: {:?}",
            report.failures
        );
        before.unchanged(&from, &what);
    };
    copied(&from, &to.join("inner"));
    copied(&from, &to);
    copied(&from.join("inner"), &to.join("inner/new"));
    // The source holds a mount of itself, into which it is copied.
    copied(&mount.join(".bind"), &to.join("inner"));
}
