//! What would be sent, without sending it: a dry run. It finds what the walk that sends finds, and
//! opens what the lanes open.
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use ringway_model::{Counts, Failure, FailureReason, Fault, Operation, Planned, Side, Source};
use ringway_sys::attributes::Metadata;
use ringway_sys::dir::Dir;

use crate::filesystem::own_names::reads_as_own;
use crate::filesystem::selection::Filter;
use crate::send::links::{Links, Seen};
use crate::send::queue::{Cancelled, FolderPath, bytes_of};
use crate::send::walk::beneath::{self, BeneathError, Hides, WantedBeneath};
use crate::send::walk::roots::Root;
use crate::send::walk::{Finds, Scope, Walk, roots};
use crate::send::{is_named_above, reason, shown_path};

/// Tells each entry that would be sent, by its path in the transfer, and each that would fail, here
/// or at any receiver. Nothing is compared with what a receiver has. Ends early, with what was
/// counted so far, once `is_over` says so.
///
/// # Errors
/// A source cannot be opened, or the sources cannot be sent together.
pub fn plan(
    sources: &[Source],
    filter: Option<Arc<Filter>>,
    tell: impl FnMut(Planned, &Path),
    fail: impl FnMut(Failure),
    is_over: impl Fn() -> bool,
) -> Result<Counts, Fault> {
    let roots = roots::resolve(sources, filter.as_deref())?;
    let offered = Arc::new(roots::names(&roots, filter.as_deref(), &|| true)?);
    Ok(walk(roots, Scope { offered, filter }, None, tell, fail, is_over))
}

/// The same for entries beneath a folder: nothing is opened but beneath it, and what is hidden is
/// passed over.
///
/// # Errors
/// An entry that cannot be opened, or names that collide.
pub fn plan_beneath(
    root: &Dir,
    wanted: &WantedBeneath<'_>,
    hides: Hides,
    tell: impl FnMut(Planned, &Path),
    fail: impl FnMut(Failure),
    is_over: impl Fn() -> bool,
) -> Result<Counts, BeneathError> {
    let roots = beneath::resolve(root, wanted, &hides)?;
    let offered = Arc::new(beneath::names(&roots, wanted)?);
    let scope = Scope { offered, filter: wanted.filter.clone() };
    Ok(walk(roots, scope, Some(hides), tell, fail, is_over))
}

fn walk(
    roots: Vec<Root>,
    scope: Scope,
    hides: Option<Hides>,
    tell: impl FnMut(Planned, &Path),
    fail: impl FnMut(Failure),
    is_over: impl Fn() -> bool,
) -> Counts {
    let failing = Mutex::new(Failing { fail, failed: 0 });
    let planning = Planning { tell, failing: &failing, is_over, links: Links::default(), counts: Counts::default() };
    let mut walk = Walk::new(planning, scope).hiding(hides);
    if roots.into_iter().try_for_each(|root| walk.root(root)).is_ok() {
        walk.report_vanished();
    }
    let counts = walk.into_finds().counts;
    Counts { failed: failing.into_inner().failed, ..counts }
}

/// Told through a shared reference.
struct Failing<F> {
    fail: F,
    failed: u64,
}

struct Planning<'a, T, F, O> {
    tell: T,
    failing: &'a Mutex<Failing<F>>,
    is_over: O,
    links: Links,
    counts: Counts,
}

impl<T: FnMut(Planned, &Path), F: FnMut(Failure), O: Fn() -> bool> Planning<'_, T, F, O> {
    fn tell(&mut self, what: Planned, folder: &[u8], name: &[u8]) -> Result<(), Cancelled> {
        (self.tell)(what, Path::new(OsStr::from_bytes(&shown_path(folder, name))));
        self.goes_on()
    }

    /// Whether an entry has a name of Ringway's own on its way, which every receiver refuses. Then
    /// it has failed.
    fn is_refused(&self, folder: &[u8], name: &[u8]) -> bool {
        let is_own = folder.split(|byte| *byte == b'/').chain([name]).any(reads_as_own);
        if is_own {
            self.fail(folder, name, Side::There, Operation::Create, FailureReason::OwnFolder);
        }
        is_own
    }

    fn fail(&self, folder: &[u8], name: &[u8], side: Side, operation: Operation, reason: FailureReason) {
        let mut failing = self.failing.lock();
        failing.failed += 1;
        if is_named_above(folder, reason) {
            return;
        }
        let path = PathBuf::from(OsStr::from_bytes(&shown_path(folder, name)));
        (failing.fail)(Failure { path: path.into(), side, operation, reason });
    }

    fn goes_on(&self) -> Result<(), Cancelled> {
        if (self.is_over)() { Err(Cancelled) } else { Ok(()) }
    }
}

impl<T: FnMut(Planned, &Path), F: FnMut(Failure), O: Fn() -> bool> Finds for Planning<'_, T, F, O> {
    fn folder(&mut self, path: &FolderPath, _: &Metadata, _: Option<&Arc<Dir>>) -> Result<(), Cancelled> {
        if self.is_refused(path, b"") {
            return self.goes_on();
        }
        self.counts.folders += 1;
        self.tell(Planned::Folder, path, b"")
    }

    fn file(&mut self, path: &FolderPath, dir: &Arc<Dir>, name: &[u8], metadata: &Metadata) -> Result<(), Cancelled> {
        if let Err(error) = dir.open_read(name) {
            self.failed(path, name, Operation::Open, reason(&error));
            return self.goes_on();
        }
        if self.is_refused(path, name) {
            return self.goes_on();
        }
        match self.links.see(metadata, || dir.birth(name)) {
            Seen::Again(_) => {
                self.counts.links += 1;
                self.tell(Planned::Link, path, name)
            }
            Seen::Alone | Seen::First(_) => {
                self.counts.files += 1;
                self.counts.bytes += bytes_of(metadata);
                self.tell(Planned::File, path, name)
            }
        }
    }

    fn symlink(&mut self, path: &FolderPath, name: &[u8], _: &[u8], _: &Metadata) -> Result<(), Cancelled> {
        if self.is_refused(path, name) {
            return self.goes_on();
        }
        self.counts.links += 1;
        self.tell(Planned::Link, path, name)
    }

    fn left_out(&mut self) -> Result<(), Cancelled> {
        self.counts.excluded += 1;
        self.goes_on()
    }

    fn failed(&self, folder: &[u8], name: &[u8], operation: Operation, reason: FailureReason) {
        self.fail(folder, name, Side::Here, operation, reason);
    }

    fn let_go(&mut self) -> Result<(), Cancelled> {
        Ok(())
    }

    fn is_over(&self) -> bool {
        (self.is_over)()
    }
}
