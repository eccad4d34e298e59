//! Copies that a person pauses: they rest where they are, nothing is written meanwhile, and in the
//! end the tree is what it would have been.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use ringway_engine::{CopyOptions, ReflinkMode, Transfer};
use ringway_model::{FailureReason, Fault, OnCancel, Outage, Outcome, Progress, Report, Side, Stage};
use ringway_sys::attributes::{Timestamp, metadata_of};

use crate::both::{copy_watched, drivers, request};
use crate::compare;
use crate::deadline::DEADLINE;
use crate::places::Place;
use crate::tree::{Tree, pattern};
use crate::trouble::{SOON, all_whole};

/// How often something is tried that the scheduler may prevent.
const TRIES: usize = 50;

/// How long a copy runs on between two looks at how far it is.
const STEP: Duration = Duration::from_micros(100);

/// What has not changed for so long rests.
const STILL: Duration = Duration::from_millis(400);

const LARGE: usize = 24_000_000;
const FILES: usize = 1_500;

/// Every way that takes its time: none that shares blocks, and large files in many chunks.
fn slow_drivers(place: &Place) -> Vec<(&'static str, CopyOptions)> {
    let slow = |options| CopyOptions { reflink: ReflinkMode::Never, chunk_bytes: Some(4_096), ..options };
    drivers(place)
        .into_iter()
        .filter(|(driver, _)| *driver != "reflink")
        .map(|(driver, options)| (driver, slow(options)))
        .collect()
}

/// All that is written: sizes, blocks and times, by path.
fn written(folder: &Path) -> BTreeMap<PathBuf, (u64, u64, Timestamp)> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().map(Result::unwrap) {
            let metadata = metadata_of(File::open(entry.path()).unwrap()).unwrap();
            all.insert(entry.path(), (metadata.size, metadata.blocks_512, metadata.mtime));
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            }
        }
    }
    all
}

/// Pauses a copy once `begun`, and waits until it rests; its figures then, or `None` if it was
/// over before.
fn pause(transfer: &Transfer, got: &Path, begun: impl Fn(&Progress) -> bool) -> Option<Progress> {
    let waits = Instant::now();
    loop {
        assert!(waits.elapsed() < DEADLINE, "the copy never came to where it is paused");
        let progress = transfer.progress();
        if progress.stage == Stage::Ended {
            return None;
        }
        if !progress.can_pause {
            std::thread::yield_now();
            continue;
        }
        // It may end at this very moment.
        transfer.pause().ok()?;
        if begun(&progress) || begun(&transfer.progress()) {
            break;
        }
        // Step by step: a busy machine that runs its workers before this thread would end it else.
        transfer.resume();
        let step = Instant::now();
        while step.elapsed() < STEP {
            std::hint::spin_loop();
        }
    }
    let (mut last, waits) = (None, Instant::now());
    let mut since = Instant::now();
    loop {
        let now = (transfer.progress(), written(got));
        if now.0.stage == Stage::Ended {
            return None;
        }
        if last.as_ref() != Some(&now) {
            (last, since) = (Some(now), Instant::now());
        } else if since.elapsed() >= STILL {
            return Some(now.0);
        }
        assert!(waits.elapsed() < DEADLINE, "the paused copy never rests");
        sleep(Duration::from_millis(20));
    }
}

fn assert_paused(progress: &Progress, driver: &str) {
    assert_eq!(progress.stage, Stage::Paused, "{driver}");
    let why = progress.interruption.expect("it says why");
    assert_eq!((why.why, why.next_try, why.gives_up), (Outage::Paused { by: Side::Here }, None, None), "{driver}");
    assert_eq!((progress.bytes_per_s, progress.entries_per_s, progress.time_left), (0, 0, None), "{driver}");
    assert!(!progress.can_pause, "{driver}: it is");
}

/// Copies by every driver, and pauses each copy in the middle. `then` checks what it has done by
/// then, and `ended` the result.
fn amid(
    place: &Place,
    source: &Path,
    verify: bool,
    begun: impl Fn(&Progress, &Path) -> bool,
    then: impl Fn(&Transfer, &Path),
    ended: impl Fn(&Report, &Path, &str),
) {
    amid_as_wanted(place, source, verify, begun, then, |report, got, driver| {
        ended(report, got, driver);
        true
    });
}

/// The same, again where `ended` says that it was paused too late.
fn amid_as_wanted(
    place: &Place,
    source: &Path,
    verify: bool,
    begun: impl Fn(&Progress, &Path) -> bool,
    then: impl Fn(&Transfer, &Path),
    ended: impl Fn(&Report, &Path, &str) -> bool,
) {
    for (number, (driver, options)) in slow_drivers(place).into_iter().enumerate() {
        let options = CopyOptions { verify, ..options };
        let was_amid = (0..TRIES).any(|attempt| {
            let got = place.path(&format!("got-{number}-{attempt}"));
            let (mut stood, mut was_in_time) = (None, false);
            let whole = Instant::now();
            let report: Arc<Report> = copy_watched(request(&[source], &got, &options), |transfer| {
                let Some(progress) = pause(transfer, &got, |progress| begun(progress, &got)) else { return };
                assert_paused(&progress, driver);
                let since = Instant::now();
                then(transfer, &got);
                stood = Some(since.elapsed());
            });
            if let Some(stood) = stood {
                was_in_time = ended(&report, &got, driver);
                let ran = report.running_for;
                assert!(ran + STILL + stood <= whole.elapsed(), "{driver}: ran {ran:?}, paused for {stood:?}");
            }
            fs::remove_dir_all(got).unwrap();
            was_in_time
        });
        assert!(was_amid, "{driver}: it was never paused before its end");
    }
}

fn go_on(transfer: &Transfer, _got: &Path) {
    transfer.resume();
}

fn one_large(place: &Place) -> PathBuf {
    let tree = Tree::new(place.path("source"));
    tree.dir("inner").file("inner/large", pattern(1, LARGE)).file("small", "small");
    tree.settle()
}

pub(crate) fn large(place: &Place) {
    let source = one_large(place);
    let begun = |_: &Progress, got: &Path| got.join("inner/large").exists();
    let half_written = |transfer: &Transfer, got: &Path| {
        assert!(transfer.progress().bytes_done < LARGE as u64);
        assert!(got.join("inner/large").exists(), "what there is of it stays");
        transfer.resume();
    };
    amid(place, &source, false, begun, half_written, |report, got, driver| {
        assert!(matches!(report.outcome, Outcome::Complete), "{driver}: {report:?}");
        assert_eq!((report.counts.files, report.counts.bytes), (2, LARGE as u64 + 5), "{driver}");
        compare::same(&source, got, driver);
    });
}

pub(crate) fn small(place: &Place) {
    let tree = Tree::new(place.path("source"));
    for number in 0..FILES {
        let folder = format!("{}", number % 25);
        tree.dir(&folder).file(&format!("{folder}/{number}"), pattern(number, number * 7 % 4_000));
    }
    let source = tree.settle();
    let begun = |_: &Progress, got: &Path| got.exists();
    let some = |transfer: &Transfer, got: &Path| {
        assert!(written(got).len() < FILES + 26);
        transfer.resume();
    };
    amid(place, &source, false, begun, some, |report, got, driver| {
        assert!(matches!(report.outcome, Outcome::Complete), "{driver}: {report:?}");
        assert_eq!(report.counts.files, FILES as u64, "{driver}");
        compare::same(&source, got, driver);
    });
}

pub(crate) fn read_back(place: &Place) {
    let source = one_large(place);
    let begun = |progress: &Progress, _: &Path| progress.stage == Stage::Verifying;
    amid(place, &source, true, begun, go_on, |report, got, driver| {
        assert!(matches!(report.outcome, Outcome::Complete), "{driver}: {report:?}");
        assert_eq!(report.copy.as_ref().unwrap().verified, 2, "{driver}");
        compare::same(&source, got, driver);
    });
}

pub(crate) fn cancelled(place: &Place) {
    let source = one_large(place);
    let begun = |_: &Progress, got: &Path| got.join("inner/large").exists();
    let end = |transfer: &Transfer, _: &Path| {
        transfer.cancel(OnCancel::Remove);
        let asked = Instant::now();
        while transfer.progress().stage != Stage::Ended {
            assert!(asked.elapsed() < SOON, "it rests on");
            std::thread::yield_now();
        }
    };
    amid(place, &source, false, begun, end, |report, got, driver| {
        assert!(
            matches!(report.outcome, Outcome::Failed(Fault::Cancelled { by: Side::Here, .. })),
            "{driver}: {report:?}"
        );
        assert!(!got.join("inner/large").exists(), "{driver}: half of it stays");
        all_whole(&source, got, driver);
    });
}

pub(crate) fn changed(place: &Place) {
    let source = one_large(place);
    let large = source.join("inner/large");
    let begun = |_: &Progress, got: &Path| got.join("inner/large").exists();
    let change = |transfer: &Transfer, _: &Path| {
        File::options().write(true).open(&large).unwrap().write_all_at(b"other", LARGE as u64 / 2).unwrap();
        transfer.resume();
    };
    amid(place, &source, false, begun, change, |report, _, driver| {
        assert!(matches!(report.outcome, Outcome::Partial), "{driver}: {report:?}");
        let [failure] = &*report.failures else { panic!("{driver}: {:?}", report.failures) };
        assert_eq!((&failure.path.0, failure.reason), (&large, FailureReason::ChangedWhileReading), "{driver}");
    });
}

/// Writes as a program does through a memory map whose page is dirty already: the file's time
/// stays.
pub(crate) fn write_unseen(path: &Path, at: u64, bytes: &[u8]) {
    let file = File::options().write(true).open(path).unwrap();
    let before = file.metadata().unwrap().modified().unwrap();
    file.write_all_at(bytes, at).unwrap();
    file.set_modified(before).unwrap();
}

/// Whether not all of a large file was read once. Only what is whole has its source's time.
fn is_half_copied(transfer: &Transfer, source: &Path, copy: &Path) -> bool {
    let modified = |path| fs::metadata(path).unwrap().modified().unwrap();
    modified(source) != modified(copy) && transfer.progress().bytes_done < LARGE as u64
}

pub(crate) fn changed_unseen(place: &Place) {
    let tree = Tree::new(place.path("source"));
    tree.file("large", pattern(1, LARGE)).file("small", "small");
    let source = tree.settle();
    let large = source.join("large");
    let is_half = Cell::new(false);
    // What it writes at the beginning has been copied before, what it writes at the end has not: a
    // thread may rest with the first piece in its hands while others go on.
    let has_beginning_only = |copy: &Path| {
        let holds = |at: usize| {
            let mut found = [0; 3];
            let read = File::open(copy).and_then(|file| file.read_exact_at(&mut found, at as u64));
            read.is_ok() && found == pattern(1, LARGE)[at..at + 3]
        };
        holds(0) && !holds(LARGE - 3)
    };
    let begun = |progress: &Progress, _: &Path| progress.bytes_done > LARGE as u64 / 100;
    let change = |transfer: &Transfer, got: &Path| {
        let copy = got.join("large");
        let is_amid = has_beginning_only(&copy);
        write_unseen(&large, 0, b"new");
        write_unseen(&large, LARGE as u64 - 3, b"new");
        is_half.set(is_amid && is_half_copied(transfer, &large, &copy));
        transfer.resume();
    };
    amid_as_wanted(place, &source, true, begun, change, |report, got, driver| {
        write_unseen(&large, 0, &pattern(1, LARGE)[..3]);
        write_unseen(&large, LARGE as u64 - 3, &pattern(1, LARGE)[LARGE - 3..]);
        if !is_half.get() {
            return false;
        }
        assert!(matches!(report.outcome, Outcome::Partial), "{driver}: {report:?}");
        let [failure] = &*report.failures else { panic!("{driver}: {:?}", report.failures) };
        assert_eq!((&failure.path.0, failure.reason), (&large, FailureReason::ChangedWhileReading), "{driver}");
        assert_eq!((report.counts.files, report.copy.as_ref().unwrap().verified), (1, 1), "{driver}");
        assert_eq!(fs::metadata(got.join("large")).unwrap().mtime(), 0, "{driver}: it passes for a copy");
        true
    });
}

/// A hole that is filled behind the copy.
pub(crate) fn filled_unseen(place: &Place) {
    const HOLE: u64 = 8_000_000;
    let tree = Tree::new(place.path("source"));
    tree.file("small", "small");
    let source = tree.settle();
    let sparse = source.join("sparse");
    let fill = || {
        let _ = fs::remove_file(&sparse);
        let file = File::create(&sparse).unwrap();
        file.set_len(HOLE + LARGE as u64).unwrap();
        file.write_all_at(&pattern(1, LARGE), HOLE).unwrap();
    };
    fill();
    let is_half = Cell::new(false);
    let begun = |progress: &Progress, _: &Path| progress.bytes_done > LARGE as u64 / 100;
    let change = |transfer: &Transfer, got: &Path| {
        write_unseen(&sparse, HOLE / 2, b"new");
        is_half.set(is_half_copied(transfer, &sparse, &got.join("sparse")));
        transfer.resume();
    };
    amid_as_wanted(place, &source, true, begun, change, |report, _, driver| {
        fill();
        if !is_half.get() {
            return false;
        }
        let [failure] = &*report.failures else { panic!("{driver}: {:?}", report.failures) };
        assert_eq!((&failure.path.0, failure.reason), (&sparse, FailureReason::ChangedWhileReading), "{driver}");
        true
    });
}
