//! Lists the sources for a receiver that compares them with what it has, while its person decides
//! about the offer: the first so many entries, with sizes and times.
use std::sync::Arc;
use std::time::{Duration, Instant};

use ringway_model::{FailureReason, Operation};
use ringway_sys::attributes::Metadata;
use ringway_sys::dir::Dir;
use ringway_wire::RelPath;
use ringway_wire::limits::{LISTING_BYTES_MAX, LISTING_ENTRIES_MAX};
use ringway_wire::listing::{ListedEntry, ListedKind, ListingEnd, ListingPage, ListingWriter};

use crate::filesystem::target::target_digest;
use crate::limits::LISTING_TIME_MAX;
use crate::send::queue::{Cancelled, FolderPath};
use crate::send::walk::roots::Root;
use crate::send::walk::{Finds, Scope, Walk};
use crate::send::{Shared, joined};

/// A page that is not full is sent after this time, so that a slow disk shows results too.
const PAGE_AFTER: Duration = Duration::from_millis(200);

/// Lists the sources on a separate thread. Without one, the receiver compares nothing.
pub(in crate::send) fn start(
    roots: Vec<Root>,
    scope: Scope,
    shared: &Arc<Shared>,
    give: impl FnMut(ListingPage) -> bool + Send + 'static,
) {
    let shared = Arc::clone(shared);
    let listing = move || run(&roots, scope, &shared, give);
    // Everything else is the same without the thread.
    let _ = std::thread::Builder::new().name("list".to_owned()).spawn(listing);
}

fn run(roots: &[Root], scope: Scope, shared: &Shared, give: impl FnMut(ListingPage) -> bool) {
    let now = Instant::now();
    let listing = Listing {
        shared,
        give,
        writer: ListingWriter::default(),
        entries: 0,
        bytes: 0,
        until: now + LISTING_TIME_MAX,
        last_page: now,
        is_cut: false,
        is_unwanted: false,
    };
    let mut walk = Walk::new(listing, scope).hiding(shared.hides.get().cloned());
    let walked = roots.iter().try_for_each(|root| walk.root(root.again().map_err(|_| Cancelled)?));
    let mut listing = walk.into_finds();
    if !listing.is_unwanted && !shared.queue.is_cancelled() {
        let end = if walked.is_ok() && !listing.is_cut { ListingEnd::Complete } else { ListingEnd::Cut };
        let last = listing.writer.page(end);
        (listing.give)(last);
    }
}

/// The listing so far.
struct Listing<'a, G> {
    shared: &'a Shared,
    give: G,
    writer: ListingWriter,
    entries: usize,
    /// Bytes of the pages that were given.
    bytes: usize,
    until: Instant,
    last_page: Instant,
    /// There is more than may be listed.
    is_cut: bool,
    /// Nothing takes more pages.
    is_unwanted: bool,
}

impl<G: FnMut(ListingPage) -> bool> Listing<'_, G> {
    fn add(&mut self, folder: &[u8], name: &[u8], kind: ListedKind) -> Result<(), Cancelled> {
        let Some(path) = joined(folder, name) else { return Ok(()) };
        let Ok(path) = RelPath::new(&path) else { return Ok(()) };
        let now = Instant::now();
        let bytes = self.bytes + self.writer.bytes_with(path);
        if self.entries == LISTING_ENTRIES_MAX || bytes > LISTING_BYTES_MAX || now >= self.until {
            self.is_cut = true;
            return Err(Cancelled);
        }
        self.entries += 1;
        let full = self.writer.push(&ListedEntry { path, kind });
        let is_due = full.is_none() && now >= self.last_page + PAGE_AFTER;
        let page = full.or_else(|| is_due.then(|| self.writer.page(ListingEnd::More)));
        let Some(page) = page else { return Ok(()) };
        self.last_page = now;
        self.bytes += page.bytes();
        if (self.give)(page) {
            return Ok(());
        }
        self.is_unwanted = true;
        Err(Cancelled)
    }
}

impl<G: FnMut(ListingPage) -> bool> Finds for Listing<'_, G> {
    fn folder(&mut self, path: &FolderPath, _: &Metadata, _: Option<&Arc<Dir>>) -> Result<(), Cancelled> {
        match path.iter().rposition(|byte| *byte == b'/') {
            Some(at) => self.add(&path[..at], &path[at + 1..], ListedKind::Folder),
            None => self.add(b"", path, ListedKind::Folder),
        }
    }

    fn file(&mut self, path: &FolderPath, _: &Arc<Dir>, name: &[u8], metadata: &Metadata) -> Result<(), Cancelled> {
        let Metadata { size, mtime, .. } = *metadata;
        self.add(path, name, ListedKind::File { size, secs: mtime.secs, nanos: mtime.nanos })
    }

    fn symlink(&mut self, path: &FolderPath, name: &[u8], target: &[u8], _: &Metadata) -> Result<(), Cancelled> {
        self.add(path, name, ListedKind::Link { target: target_digest(target) })
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
