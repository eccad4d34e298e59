//! Sources that change, destinations that are full, copies that are cancelled: what is not whole is
//! named and never stays.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ringway_engine::CopyOptions;
use ringway_model::{FailureReason, Fault, OnCancel, Outcome, Report, Stage};
use ringway_sys::attributes::Kind;
use ringway_sys::dir::Dir;
use rustix::io::Errno;

use crate::both::{copy, copy_all, copy_watched, cp, drivers, failed, request};
use crate::compare;
use crate::places::Place;
use crate::tree::{Tree, pattern};

/// A cancelled copy ends in less, also on a machine that does much else.
pub(crate) const SOON: Duration = Duration::from_secs(5);

fn quiet(tree: &Tree) {
    tree.dir("source/quiet/inner").dir("source/restless");
    for number in 0..150 {
        tree.file(&format!("source/quiet/{number}"), pattern(number, number * 97));
    }
    tree.file("source/quiet/inner/large", pattern(1, 2_500_000));
}

/// Runs `copy` while `disturb` is called again and again.
fn while_disturbed(
    disturb: impl Fn(usize) + Sync,
    copy: impl FnOnce() -> std::sync::Arc<Report>,
) -> std::sync::Arc<Report> {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut round = 0;
            let goes_on = crate::deadline::while_not(&over);
            while goes_on() {
                disturb(round);
                round += 1;
            }
        });
        let report = copy();
        over.store(true, Ordering::Relaxed);
        report
    })
}

pub(crate) fn hammered(place: &Place) {
    const FILES: usize = 6;
    let tree = Tree::new(place.path("from"));
    quiet(&tree);
    for number in 0..FILES {
        tree.file(&format!("source/restless/{number}"), pattern(number, 400_000 * number));
    }
    tree.settle();
    let (source, restless) = (tree.path("source"), tree.path("source/restless"));
    for (number, (driver, options)) in drivers(place).into_iter().enumerate() {
        let got = place.path(&format!("got-{number}"));
        let disturb = |round: usize| {
            let file = File::options().write(true).open(restless.join((round % FILES).to_string())).unwrap();
            match round % 4 {
                0 => file.set_len((round * 7_919 % 900_000) as u64).unwrap(),
                1 => file.write_all_at(&[round as u8; 50_000], (round * 104_729 % 3_000_000) as u64).unwrap(),
                2 => file.set_len(0).unwrap(),
                _ => file.write_all_at(&pattern(round, 300_000), 0).unwrap(),
            }
        };
        let report = while_disturbed(disturb, || copy(&[&source], &got, &options));
        compare::same(&source.join("quiet"), &got.join("quiet"), driver);
        let failed = failed(&report);
        assert!(
            failed.iter().all(|(path, reason)| {
                path.parent().is_some_and(|parent| parent.ends_with("restless"))
                    && *reason == FailureReason::ChangedWhileReading
            }),
            "{driver}: {failed:?}"
        );
        for name in (0..FILES).map(|number| number.to_string()) {
            // What changes while it is read stays as far as it came, as cp leaves it, and is named.
            assert!(got.join("restless").join(&name).exists(), "{driver}: {name} is missing");
        }
    }
}

pub(crate) fn vanishing(place: &Place) {
    let tree = Tree::new(place.path("from"));
    quiet(&tree);
    tree.settle();
    let (source, restless) = (tree.path("source"), tree.path("source/restless"));
    let restless_dir = Dir::open(&restless).unwrap();
    for (number, (driver, options)) in drivers(place).into_iter().enumerate() {
        let got = place.path(&format!("got-{number}"));
        // Names that are a file, then nothing, a link, a FIFO, a folder with something in it.
        let disturb = |round: usize| {
            let name = format!("{}", round % 16);
            let path = restless.join(&name);
            let _ = fs::remove_file(&path);
            let _ = fs::remove_dir_all(&path);
            match round % 7 {
                0 | 1 => fs::write(&path, pattern(1, 60_000)).unwrap(),
                2 => std::os::unix::fs::symlink("/etc/passwd", &path).unwrap(),
                3 => restless_dir.make_node(name.as_bytes(), Kind::Fifo, 0o600, 0).unwrap(),
                4 => {
                    fs::create_dir(&path).unwrap();
                    fs::write(path.join("inside"), "x").unwrap();
                }
                _ => {}
            }
        };
        let report = while_disturbed(disturb, || copy(&[&source], &got, &options));
        compare::same(&source.join("quiet"), &got.join("quiet"), driver);
        assert!(
            report.failures.iter().all(|failure| failure.path.components().any(|part| part.as_os_str() == "restless")),
            "{driver}: {:?}",
            report.failures
        );
        for entry in fs::read_dir(got.join("restless")).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_file() {
                let contents = fs::read(entry.path()).unwrap();
                assert!(pattern(1, 60_000).starts_with(&contents), "{driver}: read through a link or FIFO");
            }
        }
    }
}

/// Every regular file in `got` is what `source` has under that name. Says how many there are.
pub(crate) fn all_whole(source: &Path, got: &Path, what: &str) -> usize {
    let Ok(entries) = fs::read_dir(got) else { return 0 };
    let mut count = 0;
    for entry in entries.map(Result::unwrap) {
        let (from, to) = (source.join(entry.file_name()), entry.path());
        if entry.file_type().unwrap().is_dir() {
            count += all_whole(&from, &to, what);
        } else {
            let whole = fs::read(&from).is_ok_and(|contents| contents == fs::read(&to).unwrap());
            assert!(whole, "{what}: {} is not whole", to.display());
            count += 1;
        }
    }
    count
}

pub(crate) fn cancelled(place: &Place) {
    const TRIES: usize = 5;
    const FILES: usize = 301;
    const FOLDERS: usize = 20;
    let tree = Tree::new(place.path("source"));
    for number in 0..FILES - 1 {
        tree.dir(&format!("{}", number % FOLDERS))
            .file(&format!("{}/{number}", number % FOLDERS), pattern(number, 5_000));
    }
    tree.file("large", pattern(1, 5_000_000));
    let source = tree.settle();
    let mut amid = false;
    for (number, (driver, options)) in drivers(place).into_iter().enumerate() {
        for attempt in 0..TRIES {
            let got = place.path(&format!("got-{number}-{attempt}"));
            let seen = got.join((attempt % FOLDERS).to_string());
            let mut asked = None;
            let report = copy_watched(request(&[&source], &got, &options), |transfer| {
                let is_seen = || seen.exists() || transfer.progress().stage == Stage::Ended;
                crate::deadline::until("the copy has begun", is_seen);
                transfer.cancel(OnCancel::Remove);
                asked = Some(Instant::now());
            });
            assert!(asked.unwrap().elapsed() < SOON, "{driver}: it went on");
            let there = all_whole(&source, &got, driver);
            match &report.outcome {
                Outcome::Complete => assert_eq!(there, FILES, "{driver}"),
                Outcome::Failed(Fault::Cancelled { .. }) => amid |= there > 0 && there < FILES,
                other => panic!("{driver}: {other:?}"),
            }
            let _ = fs::remove_dir_all(got);
        }
    }
    assert!(amid, "never cancelled between the first file and the last");
}

pub(crate) fn full(place: &Place) {
    let small = match place.mounted("small") {
        Ok(small) => small,
        Err(why) => return place.skip("a small filesystem", &why),
    };
    // More bytes than there is room for, in many files and in one; and more files.
    let tree = Tree::new(place.path("from"));
    for number in 0..12 {
        tree.dir("many").file(&format!("many/{number}"), pattern(number, 500_000));
    }
    tree.dir("one").file("one/large", pattern(1, 6_000_000)).dir("files");
    for number in 0..400 {
        tree.file(&format!("files/{number}"), "x");
    }
    tree.settle();
    for name in ["many", "one", "files"] {
        for (driver, options) in drivers(place) {
            for atomic in [false, true] {
                let (source, got) = (tree.path(name), small.join("got"));
                let report = copy(&[&source], &got, &CopyOptions { atomic, ..options.clone() });
                let what = format!("{name}, {driver}, {atomic}");
                assert!(
                    matches!(report.outcome, Outcome::Failed(Fault::DestinationFull { shortage: None })),
                    "{what}: {:?}",
                    report.outcome
                );
                let full = FailureReason::Os { errno: Errno::NOSPC.raw_os_error() };
                assert!(report.failures.iter().any(|failure| failure.reason == full), "{what}: {:?}", report.failures);
                all_whole(&source, &got, &what);
                let _ = fs::remove_dir_all(&got);
            }
        }
    }
}

/// From a filesystem with everything to one without attributes, without reflinks between the two.
pub(crate) fn other_filesystem(place: &Place) {
    let other = match place.mounted("ramfs") {
        Ok(other) => other,
        Err(why) => return place.skip("a ramfs", &why),
    };
    let tree = Tree::new(place.path("source"));
    tree.dir("folder").file("file", pattern(1, 2_000_000)).hard("file", "folder/second").link("x", "link");
    if !tree.xattr("file", "user.lost", b"x") || !tree.xattr("folder", "user.lost", b"y") {
        return place.skip("attributes", "this filesystem has none of users");
    }
    let source = tree.settle();
    let expected = other.join("expected");
    assert!(cp(&[], &[&source], &expected));
    for (number, (driver, options)) in drivers(place).into_iter().enumerate() {
        let got = other.join(format!("got-{number}"));
        let report = copy_all(&[&source], &got, &options);
        compare::same(&expected, &got, driver);
        let told = report.copy.as_ref().unwrap();
        assert_eq!((told.attributes_lost, told.reflinked_bytes, &*told.filesystem), (2, 0, "ramfs"), "{driver}");
        fs::remove_dir_all(got).unwrap();
    }
    fs::remove_dir_all(expected).unwrap();
}

/// Their size says 0, or is a page whatever they hold.
pub(crate) fn files_without_a_size(place: &Place) {
    let there = [
        "/proc/version",
        "/proc/filesystems",
        "/proc/kallsyms",
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "/proc/sys/kernel/ostype",
    ];
    let sources: Vec<_> = there.into_iter().map(Path::new).filter(|path| fs::read(path).is_ok()).collect();
    if sources.is_empty() {
        return place.skip("files of the kernel", "neither /proc nor /sys is mounted");
    }
    for (number, (driver, options)) in drivers(place).into_iter().enumerate() {
        let got = place.path(&format!("got-{number}"));
        fs::create_dir(&got).unwrap();
        copy_all(&sources, &got, &options);
        for source in &sources {
            let (expected, is) = (fs::read(source).unwrap(), fs::read(got.join(source.file_name().unwrap())).unwrap());
            assert!(
                expected == is,
                "{driver}: {} has {} bytes instead of {}",
                source.display(),
                is.len(),
                expected.len()
            );
        }
    }
}
