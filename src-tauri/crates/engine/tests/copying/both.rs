//! Owns running the engine's copy and cp's on the same input, and the result of the engine's.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use ringway_engine::copying::start;
use ringway_engine::{CopyOptions, CopyRequest, KernelCopy, ReflinkMode, Transfer};
use ringway_model::{FailureReason, IoMode, Outcome, Report};

use crate::compare;
use crate::places::Place;
use crate::tree::Tree;

/// A copy of anything that these tests make takes less, unless it hangs.
const LONG: Duration = Duration::from_secs(120);

/// Every way that contents can go, by name; what this machine lacks is left out by name.
pub(crate) fn drivers(place: &Place) -> Vec<(&'static str, CopyOptions)> {
    let by = |io, reflink, kernel_copy| CopyOptions { io, reflink, kernel_copy, ..CopyOptions::default() };
    let mut drivers = vec![
        ("what is chosen", CopyOptions::default()),
        ("sync", by(IoMode::Sync, ReflinkMode::Never, KernelCopy::Never)),
        ("splice", by(IoMode::Sync, ReflinkMode::Never, KernelCopy::Splice)),
        // It may share blocks where that can be had: it is left out where it must not (see
        // KernelCopy::Range).
        ("copy_file_range", by(IoMode::Sync, ReflinkMode::Auto, KernelCopy::Range)),
    ];
    if shares_blocks(place) {
        drivers.push(("reflink", by(IoMode::Sync, ReflinkMode::Always, KernelCopy::Never)));
    }
    match ringway_sys::probe::io_uring() {
        Ok(()) => drivers.push(("io_uring", by(IoMode::Uring, ReflinkMode::Never, KernelCopy::Never))),
        Err(why) => place.skip("io_uring", &why.to_string()),
    }
    drivers
}

/// Whether files of this filesystem can share blocks, whatever is asked of them.
pub(crate) fn shares_blocks(place: &Place) -> bool {
    place.test.starts_with("btrfs::") || place.test.starts_with("xfs::")
}

/// One of them, another for each case on each filesystem, where what is tested does not depend on
/// how contents go.
pub(crate) fn some_driver(place: &Place, case: &str) -> (&'static str, CopyOptions) {
    let mut drivers = drivers(place);
    let number = case.bytes().chain(place.test.bytes()).map(usize::from).sum::<usize>() % drivers.len();
    drivers.swap_remove(number)
}

/// Starts a copy and calls `watch` with it, then waits for its end.
pub(crate) fn copy_watched(request: CopyRequest, watch: impl FnOnce(&Transfer)) -> Arc<Report> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let transfer = runtime.block_on(async { start(request) });
    watch(&transfer);
    let report = runtime.block_on(async { tokio::time::timeout(LONG, transfer.wait()).await });
    report.expect("the copy hangs")
}

pub(crate) fn request(sources: &[&Path], destination: &Path, options: &CopyOptions) -> CopyRequest {
    CopyRequest {
        sources: sources.iter().map(|path| path.to_path_buf()).collect(),
        destination: destination.to_owned(),
        options: options.clone(),
    }
}

pub(crate) fn copy(sources: &[&Path], destination: &Path, options: &CopyOptions) -> Arc<Report> {
    copy_watched(request(sources, destination, options), |_| {})
}

/// The same, which must be complete.
#[track_caller]
pub(crate) fn copy_all(sources: &[&Path], destination: &Path, options: &CopyOptions) -> Arc<Report> {
    let report = copy(sources, destination, options);
    assert!(matches!(report.outcome, Outcome::Complete), "{:?}: {:?}", report.outcome, report.failures);
    assert!(report.failures.is_empty() && report.counts.failed == 0, "{:?}", report.failures);
    report
}

/// Runs `cp -a` and says whether it was content.
pub(crate) fn cp(arguments: &[&str], sources: &[&Path], destination: &Path) -> bool {
    let output = Command::new("cp").arg("-a").args(arguments).args(sources).arg(destination).output().unwrap();
    output.status.success()
}

/// What failed, by path, in order.
pub(crate) fn failed(report: &Report) -> Vec<(PathBuf, FailureReason)> {
    let mut failed: Vec<_> = report.failures.iter().map(|failure| (failure.path.0.clone(), failure.reason)).collect();
    failed.sort_by(|left, right| left.0.cmp(&right.0));
    failed
}

/// Copies `source` into a new folder by every driver and compares with what cp makes of it.
#[track_caller]
pub(crate) fn like_cp(place: &Place, source: &Path) {
    let expected = place.path("expected");
    assert!(cp(&[], &[source], &expected), "cp itself failed");
    for (number, (driver, options)) in drivers(place).into_iter().enumerate() {
        let got = place.path(&format!("got-{number}"));
        copy_all(&[source], &got, &options);
        compare::same(&expected, &got, driver);
    }
}

/// The same copy by both, in surroundings that are made anew for each.
pub(crate) struct Case<'c> {
    pub(crate) what: &'c str,
    /// Makes what is there before.
    pub(crate) before: &'c dyn Fn(&Tree),
    /// Below there, as text.
    pub(crate) sources: &'c [&'c str],
    pub(crate) destination: &'c str,
    /// The options of cp besides -a.
    pub(crate) cp: &'c [&'c str],
    /// The options of the engine.
    pub(crate) options: &'c dyn Fn(&mut CopyOptions),
    /// `before` has given times already.
    pub(crate) settled: bool,
}

impl<'c> Case<'c> {
    pub(crate) fn new(what: &'c str, before: &'c dyn Fn(&Tree), sources: &'c [&'c str], destination: &'c str) -> Self {
        Self { what, before, sources, destination, cp: &[], options: &|_| {}, settled: false }
    }

    /// Runs it by cp and by the engine, and compares everything that is there afterwards, and
    /// whether something failed.
    #[track_caller]
    pub(crate) fn is_like_cp(&self, place: &Place) {
        let problems = self.problems(place, |_| {});
        assert!(problems.is_empty(), "unlike what cp does:\n{}", problems.join("\n"));
    }

    /// What is unlike cp, after `correct` has changed what cp left where the engine is meant to
    /// differ.
    pub(crate) fn problems(&self, place: &Place, correct: impl Fn(&Path)) -> Vec<String> {
        let expected = place.path(&format!("{}: expected", self.what));
        let (sources, destination) = self.prepare(&expected);
        let content = cp(self.cp, &paths(&sources), &destination);
        correct(&expected);
        let (driver, options) = some_driver(place, self.what);
        let got = place.path(&format!("{}: got", self.what));
        let report = self.run_by(&options, &got);
        let mut problems = compare::problems(&expected, &got);
        if matches!(report.outcome, Outcome::Complete) != content {
            problems.push(format!("  cp {}", if content { "is content" } else { "finds fault" }));
        }
        if !problems.is_empty() {
            problems.insert(0, format!("{}, {driver}: {:?} {:?}", self.what, report.outcome, failed(&report)));
        }
        problems
    }

    /// Runs it by the engine in new surroundings below `folder`.
    pub(crate) fn run_by(&self, options: &CopyOptions, folder: &Path) -> Arc<Report> {
        let (sources, destination) = self.prepare(folder);
        let mut options = options.clone();
        (self.options)(&mut options);
        copy(&paths(&sources), &destination, &options)
    }

    fn prepare(&self, folder: &Path) -> (Vec<PathBuf>, PathBuf) {
        let tree = Tree::new(folder);
        (self.before)(&tree);
        if !self.settled {
            tree.settle();
        }
        (self.sources.iter().map(|name| tree.path(name)).collect(), tree.path(self.destination))
    }
}

fn paths(paths: &[PathBuf]) -> Vec<&Path> {
    paths.iter().map(PathBuf::as_path).collect()
}
