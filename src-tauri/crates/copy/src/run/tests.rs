//! Files that are written through a memory map while they are copied with verification. Neither
//! size nor time shows that.
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use ringway_model::{Failure, FailureReason, IoMode, Planned};

use crate::filtered::{Random, trees};
use crate::job::{Job, value};
use crate::observer::{Amount, Observer};
use crate::{CopyOptions, CopyRequest, KernelCopy, ReflinkMode, prepare, run};

/// Sizes of files that one thread copies at once, and of one that is copied in chunks.
const LENS: [usize; 4] = [1, 4_000, 700_000, 3_000_000];

/// Writes like a memory map.
fn write_unseen(path: &Path, at: u64, bytes: &[u8]) {
    let file = File::options().write(true).open(path).unwrap();
    let before = file.metadata().unwrap().modified().unwrap();
    file.write_all_at(bytes, at).unwrap();
    file.set_modified(before).unwrap();
}

/// Collects failures.
#[derive(Default)]
struct Failures(Mutex<Vec<(PathBuf, FailureReason)>>);

impl Observer for Failures {
    fn entry_failed(&self, failure: Failure) {
        self.0.lock().push((failure.path.0, failure.reason));
    }
    fn thread_paused(&self) {}
    fn verification_started(&self, _: Amount) {}
    fn copying_resumed(&self) {}
}

/// The result of a copy that has ended.
struct Ended {
    job: Job,
    failures: Vec<(PathBuf, FailureReason)>,
}

/// Copies, and calls `meddle` between the first and the second reading of a file.
fn copy(source: &Path, into: &Path, options: CopyOptions, meddle: impl FnMut() + Send + 'static) -> Ended {
    let request = CopyRequest { sources: vec![source.into()], destination: into.into(), options };
    let failures = Arc::new(Failures::default());
    let (job, roots) = prepare::prepare(request, Arc::clone(&failures) as Arc<dyn Observer>).unwrap();
    *job.meddle.lock() = Some(Box::new(meddle));
    // The copy's threads change their umask permanently.
    std::thread::scope(|scope| scope.spawn(|| run::run(&job, roots)).join()).unwrap().unwrap();
    let failures = std::mem::take(&mut *failures.0.lock());
    Ended { job, failures }
}

/// Every way of reading contents, without sharing blocks.
fn ways() -> Vec<CopyOptions> {
    let ring = ringway_sys::probe::io_uring().is_ok().then_some(IoMode::Uring);
    let options = |io| CopyOptions { io, verify: true, reflink: ReflinkMode::Never, ..CopyOptions::default() };
    [IoMode::Sync].into_iter().chain(ring).map(options).collect()
}

fn verified(ended: &Ended) -> u64 {
    ended.job.proof.as_ref().unwrap().proven()
}

/// A folder with one file that is written to and one that is not.
fn source(folder: &Path, len: usize) -> PathBuf {
    let source = folder.join("source");
    fs::create_dir(&source).unwrap();
    fs::write(source.join("victim"), vec![1; len]).unwrap();
    fs::write(source.join("other"), "other").unwrap();
    source
}

#[test]
fn a_file_that_never_reads_the_same_twice_fails_by_name() {
    for (options, len) in ways().into_iter().flat_map(|way| LENS.map(|len| (way.clone(), len))) {
        let folder = tempfile::tempdir().unwrap();
        let source = source(folder.path(), len);
        let (victim, mut times) = (source.join("victim"), 1);
        let written = victim.clone();
        let what = format!("{:?}, {len} bytes", options.io);
        let ended = copy(&source, &folder.path().join("got"), options, move || {
            times += 1;
            write_unseen(&written, len as u64 / 2, &[times]);
        });
        assert_eq!(ended.failures, [(victim, FailureReason::ChangedWhileReading)], "{what}");
        assert_eq!(
            (value(&ended.job.counts.failed), value(&ended.job.counts.files), verified(&ended)),
            (1, 1, 1),
            "{what}"
        );
    }
}

#[test]
fn a_small_file_that_changed_once_is_copied_with_its_new_contents() {
    for (options, len) in ways().into_iter().flat_map(|way| [1, 4_000, 700_000].map(|len| (way.clone(), len))) {
        let folder = tempfile::tempdir().unwrap();
        let source = source(folder.path(), len);
        let (victim, mut is_written) = (source.join("victim"), false);
        fs::remove_file(source.join("other")).unwrap();
        let what = format!("{:?}, {len} bytes", options.io);
        let written = victim.clone();
        let ended = copy(&source, &folder.path().join("got"), options, move || {
            if !is_written {
                write_unseen(&written, len as u64 / 2, &[2]);
                is_written = true;
            }
        });
        assert_eq!(ended.failures, [], "{what}");
        assert_eq!((value(&ended.job.counts.files), verified(&ended)), (1, 1), "{what}");
        assert!(fs::read(folder.path().join("got/victim")).unwrap() == fs::read(victim).unwrap(), "{what}");
    }
}

#[test]
fn a_small_file_that_changes_while_read_is_copied_again_or_fails() {
    let kernels = [KernelCopy::Auto, KernelCopy::Range, KernelCopy::Splice, KernelCopy::Never];
    let ways = ways()
        .into_iter()
        .flat_map(|way| kernels.map(|kernel_copy| CopyOptions { verify: false, kernel_copy, ..way.clone() }));
    for (options, len) in ways.flat_map(|way| [4_000, 700_000].map(|len| (way.clone(), len))) {
        for always in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let source = source(folder.path(), len);
            fs::remove_file(source.join("other")).unwrap();
            let (victim, mut times) = (source.join("victim"), 0);
            let what = format!("{:?}, {:?}, {len} bytes, always: {always}", options.io, options.kernel_copy);
            let written = victim.clone();
            let ended = copy(&source, &folder.path().join("got"), options.clone(), move || {
                times += 1;
                if always || times == 1 {
                    let file = File::options().write(true).open(&written).unwrap();
                    file.write_all_at(&[times + 1; 1_000], len as u64 - 1_000).unwrap();
                    // A clock may be coarser than this test.
                    let secs = std::time::Duration::from_secs(times.into());
                    file.set_modified(std::time::UNIX_EPOCH + secs).unwrap();
                }
            });
            let failed = [(victim.clone(), FailureReason::ChangedWhileReading)];
            assert_eq!(ended.failures, if always { &failed[..] } else { &[] }, "{what}");
            let got = fs::read(folder.path().join("got/victim")).unwrap();
            assert!(always || got == fs::read(victim).unwrap(), "{what}");
        }
    }
}

#[test]
fn a_hole_that_is_filled_after_its_copy_fails_the_file() {
    for options in ways() {
        let folder = tempfile::tempdir().unwrap();
        let source = source(folder.path(), 10);
        let victim = source.join("victim");
        for at in [0, 2_000_000, 3_999_999, 4_000_000, 9_999_999] {
            let file = File::create(&victim).unwrap();
            file.set_len(10_000_000).unwrap();
            file.write_all_at(&[1; 1_000_000], 4_000_000).unwrap();
            let (written, got) = (victim.clone(), folder.path().join(format!("got-{at}")));
            let mut times = 1;
            let ended = copy(&source, &got, options.clone(), move || {
                times += 1;
                write_unseen(&written, at, &[times]);
            });
            assert_eq!(
                ended.failures,
                [(victim.clone(), FailureReason::ChangedWhileReading)],
                "{:?}, at {at}",
                options.io
            );
        }
        // If all bytes are still zeros this is no change, whether they are stored or not.
        let (written, got) = (victim.clone(), folder.path().join("got"));
        write_unseen(&victim, 9_999_999, &[0]);
        let ended = copy(&source, &got, options.clone(), move || write_unseen(&written, 2_000_000, &[0; 100_000]));
        assert_eq!(ended.failures, [], "{:?}", options.io);
        assert_eq!(verified(&ended), 2);
    }
}

/// All paths below a folder, relative to `base`.
fn below(base: &Path, folder: &Path, found: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        found.insert(entry.path().strip_prefix(base).unwrap().to_owned());
        if entry.file_type().unwrap().is_dir() {
            below(base, &entry.path(), found);
        }
    }
}

#[test]
fn a_dry_run_tells_exactly_what_is_then_copied() {
    let mut random = Random(0xc0de);
    let mut left_out = 0;
    for number in 0..trees() {
        let base = tempfile::tempdir_in(if Path::new("/dev/shm").is_dir() { "/dev/shm" } else { "/tmp" }).unwrap();
        let source = base.path().join("source");
        let paths = random.tree(&source);
        let selection = random.selection(&paths);
        let told: Arc<Mutex<BTreeSet<PathBuf>>> = Arc::default();
        let into = base.path().join("into");
        let destination = into.clone();
        let telling = Arc::clone(&told);
        let planned = move |what: Planned, path: &Path| {
            assert!(matches!(what, Planned::Folder | Planned::File | Planned::Link), "{what:?}");
            let path = path.strip_prefix(&destination).unwrap().to_owned();
            assert!(telling.lock().insert(path.clone()), "{path:?} was told twice");
        };
        let io = IoMode::Sync;
        let options = CopyOptions { selection: selection.clone(), workers: Some(2), io, ..CopyOptions::default() };
        let dry = CopyOptions { dry_run: true, planned: Some(Arc::new(planned)), ..options.clone() };
        let (dry, real) = (copy(&source, &into, dry, || {}), copy(&source, &into, options, || {}));
        let context = format!("tree {number}: {paths:?} {selection:?}");
        let mut copied = BTreeSet::from([PathBuf::new()]);
        below(&into, &into, &mut copied);
        assert_eq!(*told.lock(), copied, "{context}");
        let figures = |ended: &Ended| {
            let counts = &ended.job.counts;
            [&counts.files, &counts.folders, &counts.links, &counts.bytes, &counts.excluded, &counts.failed].map(value)
        };
        assert_eq!(figures(&dry), figures(&real), "{context}");
        assert_eq!(dry.failures, real.failures, "{context}");
        left_out += value(&real.job.counts.excluded);
    }
    assert!(left_out > trees() / 2, "{left_out}");
}
