//! Gathers what the walk finds into units for the lanes, and has everything counted ahead if the
//! lanes keep the walk waiting.
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ringway_model::{FailureReason, Operation};
use ringway_sys::attributes::{Metadata, portable_xattrs};
use ringway_sys::dir::Dir;
use ringway_wire::lane::XattrBuffer;
use rustix::io::Errno;

use crate::send::links::{Links, Seen};
use crate::send::queue::{
    BATCH_CONTENTS_MAX, Batch, Cancelled, FolderAttributes, FolderPath, Large, Place, Unit, bytes_of, goes_in_ranges,
};
use crate::send::walk::readahead::Ahead;
use crate::send::walk::roots::Root;
use crate::send::walk::{Finds, Scope, Walk, count};
use crate::send::{Shared, attributes, reason};

/// After this many entries, an idle lane gets a batch that is not full.
const HUNGRY_ITEMS: usize = 64;

/// How long the lanes may keep the walk waiting, in all and at a time, before the rest is counted
/// ahead. A transfer that ends sooner, or is sent as fast as it is listed, is not listed twice.
const WAIT_MAX: Duration = Duration::from_secs(3);
const WAIT_AT_ONCE_MAX: Duration = Duration::from_millis(250);

/// Walks all sources to their end, then ends the queue.
pub(in crate::send) fn run(roots: Vec<Root>, scope: Scope, shared: &Arc<Shared>) {
    let finds = Gathering {
        shared,
        batch: Batch::default(),
        links: Links::default(),
        ahead: Ahead::default(),
        uncounted: Some((roots.clone(), scope.clone(), WAIT_MAX)),
    };
    let mut walk = Walk::new(finds, scope).hiding(shared.hides.get().cloned());
    let walked = roots.into_iter().try_for_each(|root| walk.root(root));
    if walked.is_ok() {
        walk.report_vanished();
    }
    if walked.and_then(|()| walk.into_finds().flush()).is_ok() {
        shared.walked.store(true, Ordering::Release);
        shared.queue.end();
    }
}

/// The state of gathering.
struct Gathering<'a> {
    shared: &'a Arc<Shared>,
    batch: Batch,
    links: Links,
    ahead: Ahead,
    /// The sources that may have to be counted ahead, and how long the walk waits before they are.
    uncounted: Option<(Vec<Root>, Scope, Duration)>,
}

impl Finds for Gathering<'_> {
    fn folder(&mut self, path: &FolderPath, metadata: &Metadata, dir: Option<&Arc<Dir>>) -> Result<(), Cancelled> {
        let mut xattrs = XattrBuffer::default();
        let mut xattr_bytes = 0;
        if let Some(dir) = dir {
            match portable_xattrs(dir) {
                Ok(found) if attributes::collect_xattrs(&found, &mut xattrs) => {}
                Ok(_) => self.fail(path, b"", Operation::Metadata, &Errno::TOOBIG.into()),
                Err(error) => self.fail(path, b"", Operation::Metadata, &error),
            }
            xattr_bytes = xattrs.as_xattrs().iter().map(|(name, value)| name.len() + value.len()).sum();
        }
        self.make_room(path, 0)?;
        self.shared.found(0);
        let attributes = FolderAttributes { attributes: attributes::attributes(metadata), xattrs, xattr_bytes };
        self.batch.new_folder(path, attributes);
        Ok(())
    }

    fn file(&mut self, path: &FolderPath, dir: &Arc<Dir>, name: &[u8], metadata: &Metadata) -> Result<(), Cancelled> {
        let link = match self.links.see(metadata, || dir.birth(name)) {
            Seen::Alone => None,
            Seen::First(set) => Some(set),
            Seen::Again(further) => {
                self.make_room(path, 0)?;
                self.shared.found(0);
                self.batch.hard_link(path, dir, name, further, attributes::attributes(metadata));
                return Ok(());
            }
        };
        if goes_in_ranges(metadata) {
            self.shared.found(bytes_of(metadata));
            let place = Place { path: path.clone(), dir: dir.clone(), name: name.into() };
            return self.add(Unit::Large(Large::new(place, *metadata, link)));
        }
        self.make_room(path, metadata.size as usize)?;
        self.shared.found(bytes_of(metadata));
        self.batch.file(path, dir, name, *metadata, link);
        Ok(())
    }

    fn symlink(&mut self, path: &FolderPath, name: &[u8], target: &[u8], metadata: &Metadata) -> Result<(), Cancelled> {
        self.make_room(path, 0)?;
        self.shared.found(0);
        self.batch.symlink(path, name, target, attributes::attributes(metadata));
        Ok(())
    }

    fn left_out(&mut self) -> Result<(), Cancelled> {
        self.shared.excluded.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn failed(&self, folder: &[u8], name: &[u8], operation: Operation, reason: FailureReason) {
        self.shared.fail(folder, name, operation, reason);
    }

    fn let_go(&mut self) -> Result<(), Cancelled> {
        self.flush()
    }

    fn is_over(&self) -> bool {
        self.shared.queue.is_cancelled()
    }
}

impl Gathering<'_> {
    /// Passes the batch on if one more entry, a file of at most `size` bytes, does not fit, or if a
    /// lane is idle.
    fn make_room(&mut self, path: &FolderPath, size: usize) -> Result<(), Cancelled> {
        debug_assert!(size <= BATCH_CONTENTS_MAX);
        let enough = self.batch.items.len().is_multiple_of(HUNGRY_ITEMS) && !self.batch.is_empty();
        if !self.batch.has_room(path, size) || (enough && self.shared.queue.is_hungry()) {
            return self.flush();
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Cancelled> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let batch = std::mem::take(&mut self.batch);
        self.add(Unit::Batch(batch))
    }

    fn add(&mut self, unit: Unit) -> Result<(), Cancelled> {
        // If files are listed first, the receiver may have them, and then they are never read.
        if !self.shared.queue.lists() {
            self.ahead.announce(&unit);
        }
        self.have_counted_if_held_up(&unit)?;
        self.shared.queue.add(unit)
    }

    /// Waits for space for the unit, and has everything counted once that has taken too long.
    fn have_counted_if_held_up(&mut self, unit: &Unit) -> Result<(), Cancelled> {
        let Some((roots, scope, patience)) = &mut self.uncounted else { return Ok(()) };
        let begun = Instant::now();
        if self.shared.queue.wait_for_room(unit, WAIT_AT_ONCE_MAX.min(*patience))? {
            *patience = patience.saturating_sub(begun.elapsed());
        } else {
            count::start(std::mem::take(roots), scope.clone(), self.shared);
            self.uncounted = None;
        }
        Ok(())
    }

    fn fail(&self, folder: &[u8], name: &[u8], operation: Operation, error: &std::io::Error) {
        self.shared.fail(folder, name, operation, reason(error));
    }
}
