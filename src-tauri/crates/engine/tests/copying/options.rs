//! What a person may ask for beyond what cp -a does by itself.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use ringway_engine::CopyOptions;
use ringway_model::{FailureReason, Outcome, Pattern, Planned, Selection};
use ringway_sys::attributes::Kind;

use crate::both::{Case, copy, copy_all, cp, drivers, failed, some_driver};
use crate::compare;
use crate::places::Place;
use crate::tree::{Tree, pattern};

/// A tree of everything, with files of more than a chunk.
fn everything(root: PathBuf) -> Tree {
    let tree = Tree::new(root);
    tree.dir("empty").dir("a/b").file("a/large", pattern(1, 1_700_000)).file("a/b/nothing", "").link("nowhere", "link");
    tree.hard("a/large", "a/b/large-too").sparse("holes", 4 << 20, &[(0, 5_000), (3 << 20, 300_000)]);
    tree.node("fifo", Kind::Fifo, 0o600, (0, 0)).unwrap();
    for number in 0..120 {
        tree.file(&format!("a/{number}"), pattern(number, number * 311));
    }
    tree
}

fn selection(patterns: Vec<Pattern>) -> Selection {
    Selection { patterns, paths: None }
}

pub(crate) fn rules(place: &Place) {
    let taken = ["main.c", "src/special.o", "src/build/deep", "#hash", "src/keep/~x", "notes/today.log"];
    let left_out = ["main.o", "src/other.o", "build/out", "build/more/out", "!bang", "src/cache/x/y", "notes/old.log"];
    let tree = |name: &str, files: &[&[&str]]| {
        let tree = Tree::new(place.path(name).join("source"));
        for file in files.concat() {
            let path = std::path::Path::new(file);
            tree.dir(path.parent().unwrap().to_str().unwrap()).file(file, file);
        }
        // What is in it is left out one by one, the folder itself is not.
        tree.dir("src/emptied").link("nowhere", "src/link");
        if files.len() > 1 {
            tree.file("src/emptied/x.o", "").link("nowhere", "link.o");
        }
        tree.settle()
    };
    let (source, expected) = (tree("from", &[&taken, &left_out]), tree("expected", &[&taken]));
    let out = |pattern: &str| Pattern::Exclude(pattern.into());
    let rules = selection(vec![
        out("*.o"),
        Pattern::Include("special.o".into()),
        out("/build"),
        out("!bang"),
        out("cache/"),
        out("*.log"),
        Pattern::Include("notes/today.log".into()),
    ]);
    for (number, (driver, options)) in drivers(place).into_iter().enumerate() {
        let got = place.path(&format!("got-{number}"));
        let report = copy_all(&[&source], &got, &CopyOptions { selection: rules.clone(), ..options });
        compare::same(&expected, &got, driver);
        // Two folders count once each.
        assert_eq!(report.counts.excluded, 8, "{driver}");
    }
    let (driver, options) = some_driver(place, "contents");
    let got = place.path("contents");
    fs::create_dir(&got).unwrap();
    copy_all(&[&source.join(".")], &got, &CopyOptions { selection: rules, ..options.clone() });
    compare::same(&expected, &got, driver);
    let report =
        copy(&[&source], &place.path("bad"), &CopyOptions { selection: selection(vec![out("a[b")]), ..options });
    assert!(matches!(report.outcome, Outcome::Failed(_)) && !place.path("bad").exists(), "{:?}", report.outcome);
}

pub(crate) fn dry_run(place: &Place) {
    let before = |tree: &Tree| {
        everything(tree.path("source"));
        tree.dir("into/source/a").file("into/source/a/7", "there").link("other", "into/source/link");
    };
    let planned: Arc<Mutex<BTreeSet<(String, PathBuf)>>> = Arc::default();
    for destination in ["into", "new"] {
        let case = Case::new("dry", &before, &["source"], destination);
        let (_, mut options) = some_driver(place, destination);
        options.dry_run = true;
        let seen = Arc::clone(&planned);
        options.planned = Some(Arc::new(move |what: Planned, path: &std::path::Path| {
            assert!(seen.lock().unwrap().insert((format!("{what:?}"), path.to_owned())), "{path:?} told twice");
        }));
        let (reference, folder) = (place.path("reference"), place.path("dry"));
        before(&Tree::new(&reference));
        Tree::new(&reference).settle();
        let dry = case.run_by(&options, &folder);
        assert!(matches!(dry.outcome, Outcome::Complete), "{:?}", dry.outcome);
        compare::same(&reference, &folder, "a dry run wrote");
        let told = std::mem::take(&mut *planned.lock().unwrap());
        let count = |what: &str| told.iter().filter(|(told, _)| told == what).count() as u64;
        let over = u64::from(destination == "into");
        assert_eq!((count("Overwrite"), count("File") + count("Link"), count("Special")), (over, 125 - over, 1));
        assert_eq!(count("Folder"), if destination == "into" { 2 } else { 4 });
        assert!(told.iter().all(|(_, path)| path.starts_with(folder.join(destination))), "{told:?}");
        // It counts what the copy itself then does.
        fs::remove_dir_all(&folder).unwrap();
        options.dry_run = false;
        options.planned = None;
        let real = case.run_by(&options, &folder);
        let counts = |report: &ringway_model::Report| (report.counts.files, report.counts.links, report.counts.folders);
        assert_eq!(counts(&dry), counts(&real), "{destination}");
        [reference, folder].iter().for_each(|folder| fs::remove_dir_all(folder).unwrap());
    }
}

pub(crate) fn verify(place: &Place) {
    let source = everything(place.path("source")).settle();
    let expected = place.path("expected");
    assert!(cp(&[], &[&source], &expected));
    for (number, (driver, options)) in drivers(place).into_iter().enumerate() {
        let got = place.path(&format!("got-{number}"));
        let report = copy_all(&[&source], &got, &CopyOptions { verify: true, ..options });
        compare::same(&expected, &got, driver);
        assert_eq!(report.copy.as_ref().unwrap().verified, report.counts.files, "{driver}");
    }
}

/// Somebody else writes to the copy while it is made. Whether that is before it is read back is up
/// to the scheduler, so it is tried until it was.
pub(crate) fn verify_finds(place: &Place) {
    const TRIES: usize = 60;
    let tree = Tree::new(place.path("source"));
    tree.file("victim", pattern(1, 2_000_000));
    for number in 0..40 {
        tree.file(&format!("{number}"), pattern(number, 30_000));
    }
    let source = tree.settle();
    let (driver, options) = some_driver(place, "found");
    for attempt in 0..TRIES {
        let got = place.path(&format!("got-{attempt}"));
        let over = AtomicBool::new(false);
        let report = std::thread::scope(|scope| {
            scope.spawn(|| {
                let goes_on = crate::deadline::while_not(&over);
                while goes_on() {
                    if let Ok(file) = File::options().write(true).open(got.join("victim")) {
                        let _ = file.write_at(b"altered", 1_000_000);
                    }
                    std::thread::yield_now();
                }
            });
            let report = copy(&[&source], &got, &CopyOptions { verify: true, ..options.clone() });
            over.store(true, Ordering::Relaxed);
            report
        });
        match &failed(&report)[..] {
            [] => assert!(matches!(report.outcome, Outcome::Complete)),
            [(path, reason)] => {
                assert_eq!((path, reason), (&got.join("victim"), &FailureReason::Differs), "{driver}");
                assert!(matches!(report.outcome, Outcome::Partial));
                assert_eq!(report.copy.as_ref().unwrap().verified, 40, "{driver}");
                return;
            }
            more => panic!("{driver}: {more:?}"),
        }
        fs::remove_dir_all(got).unwrap();
    }
    panic!("{driver}: never found");
}

pub(crate) fn atomic(place: &Place) {
    let source = everything(place.path("source")).settle();
    let expected = place.path("expected");
    assert!(cp(&[], &[&source], &expected));
    for (number, (driver, options)) in drivers(place).into_iter().enumerate() {
        let options = CopyOptions { atomic: true, ..options };
        let into = Tree::new(place.path(&format!("into-{number}")));
        into.dir("source/a").file("source/a/large", "old").file("source/a/7", "old").hard("source/a/7", "kept");
        let (large, got) = (into.path("source/a/large"), into.path("source"));
        let (old, inode) = (File::open(&large).unwrap(), fs::metadata(&large).unwrap().ino());
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // What is under the name is the old file or the whole new one, at any time.
                let goes_on = crate::deadline::while_not(&over);
                while goes_on() {
                    let length = fs::metadata(&large).unwrap().len();
                    assert!(length == 3 || length == 1_700_000, "{driver}: {length} bytes under the final name");
                }
            });
            copy_all(&[&source], &into.path(""), &options);
            over.store(true, Ordering::Relaxed);
        });
        compare::same(&expected, &got, driver);
        assert_ne!(fs::metadata(&large).unwrap().ino(), inode, "{driver}");
        assert_eq!(std::io::read_to_string(old).unwrap(), "old", "{driver}");
        assert_eq!(fs::read(into.path("kept")).unwrap(), b"old", "{driver}");
    }
}

pub(crate) fn small_choices(place: &Place) {
    let source = everything(place.path("source")).settle();
    let expected = place.path("expected");
    assert!(cp(&[], &[&source], &expected));
    let choices = [(1, 1, 4_096), (2, 3, 4_097), (9, 1_024, 1_000_003), (64, 2, 64 << 20)];
    for (number, (workers, depth, chunk)) in choices.into_iter().enumerate() {
        let (driver, options) = some_driver(place, &number.to_string());
        let got = place.path(&format!("got-{number}"));
        let chosen = CopyOptions {
            workers: Some(workers),
            depth: Some(depth),
            chunk_bytes: Some(chunk),
            count_ahead: true,
            ..options
        };
        let report = copy_all(&[&source], &got, &chosen);
        compare::same(&expected, &got, &format!("{driver} with {workers} threads, depth {depth}, {chunk} bytes"));
        let told = report.copy.as_ref().unwrap();
        assert_eq!((told.threads, told.queue_depth, told.chunk_bytes), (workers as u64, depth, chunk as u64));
    }
    // Nobody is called who would have nothing to do.
    let file = place.path("single");
    fs::write(&file, "alone").unwrap();
    let alone = CopyOptions { workers: Some(4), ..CopyOptions::default() };
    let report = copy_all(&[&file], &place.path("single-copy"), &alone);
    assert_eq!(report.copy.as_ref().unwrap().threads, 1);
    for (workers, depth, chunk) in
        [(0, 1, 4_096), (257, 1, 4_096), (1, 0, 4_096), (1, 1_025, 4_096), (1, 1, 4_095), (1, 1, (64 << 20) + 1)]
    {
        let options = CopyOptions {
            workers: Some(workers),
            depth: Some(depth),
            chunk_bytes: Some(chunk),
            ..CopyOptions::default()
        };
        let report = copy(&[&source], &place.path("refused"), &options);
        assert!(matches!(report.outcome, Outcome::Failed(_)) && !place.path("refused").exists());
    }
}
