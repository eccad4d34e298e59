//! Counts the sources ahead of a walk that waits for the lanes, so that a person sees how much is
//! left, and for how long.
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ringway_model::{FailureReason, Operation};
use ringway_sys::attributes::Metadata;
use ringway_sys::dir::Dir;
use ringway_sys::thread::give_way;

use crate::send::Shared;
use crate::send::links::{Links, Seen};
use crate::send::queue::{Cancelled, FolderPath, bytes_of};
use crate::send::walk::roots::Root;
use crate::send::walk::{Finds, Scope, Walk};

/// Counts the sources on a separate thread. If there is none, the totals become final later.
pub(in crate::send) fn start(roots: Vec<Root>, scope: Scope, shared: &Arc<Shared>) {
    let shared = Arc::clone(shared);
    // Everything else is the same without the thread.
    let _ = std::thread::Builder::new().name("count".to_owned()).spawn(move || run(&roots, scope, &shared));
}

fn run(roots: &[Root], scope: Scope, shared: &Shared) {
    give_way();
    let counting = Counting { shared, links: Links::default() };
    let mut walk = Walk::new(counting, scope).hiding(shared.hides.get().cloned());
    // If a source cannot be opened again, only the walk's totals are used.
    let counted = roots.iter().try_for_each(|root| walk.root(root.again().map_err(|_| Cancelled)?));
    if counted.is_ok() {
        shared.counted.complete.store(true, Ordering::Release);
    }
}

/// Counts like the sending walk, which also reports failures.
struct Counting<'a> {
    shared: &'a Shared,
    links: Links,
}

impl Counting<'_> {
    fn count(&self, bytes: u64) -> Result<(), Cancelled> {
        self.shared.counted.tally.add(bytes);
        if self.shared.walked.load(Ordering::Relaxed) { Err(Cancelled) } else { Ok(()) }
    }
}

impl Finds for Counting<'_> {
    fn folder(&mut self, _: &FolderPath, _: &Metadata, _: Option<&Arc<Dir>>) -> Result<(), Cancelled> {
        self.count(0)
    }

    fn file(&mut self, _: &FolderPath, _: &Arc<Dir>, _: &[u8], metadata: &Metadata) -> Result<(), Cancelled> {
        let bytes = match self.links.see(metadata, || None) {
            Seen::Alone | Seen::First(_) => bytes_of(metadata),
            Seen::Again(_) => 0,
        };
        self.count(bytes)
    }

    fn symlink(&mut self, _: &FolderPath, _: &[u8], _: &[u8], _: &Metadata) -> Result<(), Cancelled> {
        self.count(0)
    }

    fn left_out(&mut self) -> Result<(), Cancelled> {
        Ok(())
    }

    fn failed(&self, _: &[u8], _: &[u8], _: Operation, _: FailureReason) {}

    fn let_go(&mut self) -> Result<(), Cancelled> {
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.shared.queue.is_cancelled()
    }
}
