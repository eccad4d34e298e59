//! What is said of what went wrong: by the path that was written, and once.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::atomic::{AtomicBool, Ordering};

use ringway_engine::{CopyOptions, ReflinkMode};
use ringway_model::{FailureReason, OnExisting, Outcome, Report};
use rustix::io::Errno;

use crate::both::{copy, copy_all, failed, shares_blocks, some_driver};
use crate::paused::write_unseen;
use crate::places::{Place, is_root};
use crate::tree::{Tree, pattern};

/// How often something is tried that the scheduler may prevent.
const TRIES: usize = 200;

/// Copies while `disturb` is called again and again, until the result is the wanted one.
fn until(
    disturb: impl Fn(usize) + Sync,
    copy: impl Fn() -> std::sync::Arc<Report>,
    wanted: impl Fn(&Report) -> bool,
) -> std::sync::Arc<Report> {
    for _ in 0..TRIES {
        let over = AtomicBool::new(false);
        let report = std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 0.. {
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                    disturb(round);
                }
            });
            let report = copy();
            over.store(true, Ordering::Relaxed);
            report
        });
        if wanted(&report) {
            return report;
        }
    }
    panic!("it never happened");
}

/// A user cannot read a file and a folder; both are told as they would write them, whatever the
/// copy is called.
pub(crate) fn paths(place: &Place) {
    if is_root() {
        return place.skip("what cannot be read", "root can read all");
    }
    let tree = Tree::new(place.path("from"));
    tree.dir("source/inner/closed").file("source/inner/file", "x").file("source/open", "y");
    tree.mode("source/inner/file", 0).mode("source/inner/closed", 0).file("single", "z").mode("single", 0);
    tree.link("source", "to-source");
    for (number, (source, written, exact)) in [
        ("source", "source", false),
        ("source/", "source", false),
        ("source/.", "source", false),
        ("to-source/", "to-source", false),
        ("source", "source", true),
    ]
    .into_iter()
    .enumerate()
    {
        // As a name that is new, into a folder, and as a folder that is there.
        tree.dir(&format!("into-{number}"));
        for destination in ["new", "into"] {
            let (_, options) = some_driver(place, source);
            let options = CopyOptions { exact_destination: exact, ..options };
            let report = copy(&[&tree.path(source)], &tree.path(&format!("{destination}-{number}")), &options);
            let denied = FailureReason::Os { errno: Errno::ACCESS.raw_os_error() };
            // What is in a folder is below its path as it was written.
            let written = tree.path(if destination == "into" && source == "source/." { source } else { written });
            let told: Vec<_> =
                ["closed", "file"].iter().map(|name| (written.join("inner").join(name), denied)).collect();
            assert_eq!(failed(&report), told, "{source} to {destination}");
            // A folder that cannot be read is made, and is no folder that was copied.
            assert_eq!((report.counts.failed, report.counts.folders), (2, 2), "{source} to {destination}");
        }
    }
    let report = copy(&[&tree.path("single")], &tree.path("other"), &CopyOptions::default());
    assert_eq!(failed(&report)[0].0, tree.path("single"));
    assert_eq!(report.counts.failed, 1);
}

/// A large file that is cut short while it is read is torn: it is reported once, verified or not,
/// does not pass for a copy, and is made whole by the next copy of what is newer.
pub(crate) fn torn(place: &Place) {
    const LEN: u64 = 12_000_000;
    let tree = Tree::new(place.path("from"));
    tree.dir("source").file("source/torn", pattern(1, LEN as usize)).file("source/whole", "whole");
    let (source, torn) = (tree.settle().join("source"), tree.path("source/torn"));
    let (driver, options) = some_driver(place, "torn");
    // What is shared is shared at one moment.
    let options = CopyOptions { reflink: ReflinkMode::Never, ..options };
    for (over, verify) in [(false, false), (true, false), (false, true), (true, true)] {
        let into = place.path(&format!("into-{over}-{verify}"));
        let got = into.join("source/torn");
        let options = CopyOptions { verify, ..options.clone() };
        let disturb = |round: usize| {
            let file = File::options().write(true).open(&torn).unwrap();
            file.set_len(LEN - (round as u64 * 999_999) % LEN).unwrap();
        };
        let once = || {
            let _ = fs::remove_dir_all(&into);
            let tree = Tree::new(&into);
            if over {
                tree.dir("source").file("source/torn", "what was there");
            }
            copy(&[&source], &into, &options)
        };
        let report = until(disturb, once, |report| report.counts.failed > 0);
        let what = format!("{driver}, over {over}, verified {verify}");
        assert_eq!(failed(&report), [(torn.clone(), FailureReason::ChangedWhileReading)], "{what}");
        assert_eq!((report.counts.failed, report.counts.files), (1, 1), "{what}");
        assert_eq!(report.copy.as_ref().unwrap().verified, u64::from(verify), "{what}");
        assert_eq!(
            (fs::metadata(&got).unwrap().mtime(), fs::read(into.join("source/whole")).unwrap()),
            (0, b"whole".into()),
            "{what}"
        );
        fs::write(&torn, pattern(1, LEN as usize)).unwrap();
        let update = CopyOptions { existing: OnExisting::Update, ..options };
        copy_all(&[&source], &into, &update);
        assert!(fs::read(&got).unwrap() == pattern(1, LEN as usize), "{what}: not made whole");
    }
}

/// All parts of a file differ, and many threads find that.
pub(crate) fn differing(place: &Place) {
    const LEN: usize = 6_000_000;
    let tree = Tree::new(place.path("source"));
    tree.file("victim", pattern(1, LEN)).file("other", "x");
    let source = tree.settle();
    let got = place.path("got");
    let (driver, options) = some_driver(place, "differing");
    let options = CopyOptions { verify: true, chunk_bytes: Some(4_096), workers: Some(6), ..options };
    let disturb = |round: usize| {
        if let Ok(file) = File::options().write(true).open(got.join("victim")) {
            for at in (0..LEN as u64).step_by(4_096) {
                let _ = file.write_at(&[round as u8], at + 7);
            }
        }
    };
    let once = || {
        let _ = fs::remove_dir_all(&got);
        copy(&[&source], &got, &options)
    };
    let report = until(disturb, once, |report| report.counts.failed > 0);
    assert_eq!(failed(&report), [(got.join("victim"), FailureReason::Differs)], "{driver}");
    assert_eq!((report.counts.failed, report.copy.as_ref().unwrap().verified), (1, 1), "{driver}");
    assert!(matches!(report.outcome, Outcome::Partial), "{driver}");
}

/// A file whose blocks are shared changes again and again behind its time: its source is what is
/// told, not the copy.
pub(crate) fn shared_unseen(place: &Place) {
    const LEN: usize = 12_000_000;
    if !shares_blocks(place) {
        return place.skip("shared blocks", "this filesystem has none");
    }
    let tree = Tree::new(place.path("source"));
    tree.file("victim", pattern(1, LEN)).file("other", "x");
    let (source, got) = (tree.settle(), place.path("got"));
    let victim = source.join("victim");
    let options = CopyOptions { reflink: ReflinkMode::Always, verify: true, ..CopyOptions::default() };
    let disturb = |round: usize| write_unseen(&victim, LEN as u64 - 8, &round.to_le_bytes());
    let once = || {
        let _ = fs::remove_dir_all(&got);
        copy(&[&source], &got, &options)
    };
    let told = [(victim.clone(), FailureReason::ChangedWhileReading)];
    // One that changed between the sharing and the first reading, and not after, is told by its
    // copy.
    let report = until(disturb, once, |report| failed(report) == told);
    assert_eq!((report.counts.failed, report.copy.as_ref().unwrap().verified), (1, 1));
}
