//! What an offer would do to what is in its folder: its listing is kept while the offer waits, and
//! compared on a thread of its own. Nothing waits for that thread, and the sender learns nothing.
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Instant;

use parking_lot::{Condvar, Mutex, MutexGuard};
use ringway_model::{Comparison, ComparisonState, DeviceId, Difference, OnConflict, PathText};
use ringway_tree::limits::LISTING_TIME_MAX;
use ringway_tree::receive::Brought;
use ringway_tree::receive::compare::Comparer;
use ringway_wire::OfferedNames;
use ringway_wire::listing::{ListingEnd, ListingPage};
use tokio::sync::Notify;

use crate::limits::{COMPARISONS_MAX, LISTINGS_BYTES_MAX, UPDATED_SHOWN_MAX};
use crate::shared::Shared;

/// What the listings of all offers that wait take together.
#[derive(Default)]
pub(crate) struct Listings {
    /// Bytes of pages.
    held: AtomicUsize,
    /// Threads that compare.
    comparing: AtomicUsize,
}

/// The listing of one offer, and how it compares with a folder.
pub(crate) struct Listing {
    shared: Arc<Shared>,
    all: Arc<Listings>,
    from: DeviceId,
    /// What is offered. It may be long, and goes once the offer is answered.
    names: Weak<OfferedNames>,
    /// Threads that compare are confined to the folder.
    confines: bool,
    state: Mutex<State>,
    changed: Condvar,
    compared: Notify,
}

#[derive(Default)]
struct State {
    pages: Vec<Arc<ListingPage>>,
    held: usize,
    /// No page follows.
    end: Option<ListingEnd>,
    folder: Option<PathBuf>,
    /// It would update folders that got a number.
    updates: bool,
    /// The first of those.
    updated: Vec<PathText>,
    /// The comparison that counts; earlier ones were of other folders.
    number: u64,
    /// That one was begun.
    has_begun: bool,
    counts: Comparison,
    differences: Vec<Difference>,
    is_over: bool,
}

impl Listing {
    /// Of an offer of `names` by a device, whose listing may arrive.
    pub(super) fn new(
        shared: &Arc<Shared>,
        all: &Arc<Listings>,
        (from, names): (DeviceId, &Arc<OfferedNames>),
        confines: bool,
    ) -> Arc<Self> {
        Arc::new(Self {
            shared: Arc::clone(shared),
            all: Arc::clone(all),
            from,
            names: Arc::downgrade(names),
            confines,
            state: Mutex::default(),
            changed: Condvar::new(),
            compared: Notify::new(),
        })
    }

    /// Keeps a page, as long as all listings together are not too long.
    pub(super) fn add(self: &Arc<Self>, page: ListingPage) {
        let mut state = self.state.lock();
        if state.end.is_some() || state.is_over {
            return;
        }
        let bytes = page.held_bytes();
        if self.all.held.fetch_add(bytes, Ordering::Relaxed) + bytes > LISTINGS_BYTES_MAX {
            self.all.held.fetch_sub(bytes, Ordering::Relaxed);
            state.end = Some(ListingEnd::Cut);
        } else {
            state.held += bytes;
            state.end = Some(page.end()).filter(|end| *end != ListingEnd::More);
            state.pages.push(Arc::new(page));
        }
        self.begin(&mut state);
        drop(state);
        self.changed.notify_all();
    }

    /// Compares with this folder from now on.
    pub(crate) fn compare_with(self: &Arc<Self>, folder: &Path) {
        let mut state = self.state.lock();
        if state.folder.as_deref() != Some(folder) {
            state.folder = Some(folder.to_owned());
            self.begin_anew(state);
        }
    }

    /// Compares with where it would land under this policy from now on. Until then it is
    /// not known to go on with folders of another name.
    pub(crate) fn compare_under(self: &Arc<Self>, on_conflict: OnConflict) {
        let mut state = self.state.lock();
        let updates = on_conflict == OnConflict::RenameTop;
        if state.updates != updates {
            state.updates = updates;
            self.begin_anew(state);
        }
    }

    fn begin_anew(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        state.number += 1;
        (state.counts, state.has_begun) = (Comparison::default(), false);
        state.differences.clear();
        state.updated.clear();
        self.begin(&mut state);
        drop(state);
        self.changed.notify_all();
    }

    /// The first folders here that it would update although they have another name than the
    /// sender's.
    pub(crate) fn updated(&self) -> Vec<PathText> {
        self.state.lock().updated.clone()
    }

    /// How it compares; none until something of the listing has arrived.
    pub(crate) fn comparison(&self) -> Option<Comparison> {
        let state = self.state.lock();
        state.has_begun.then_some(state.counts)
    }

    /// The differences that were found so far.
    pub(crate) fn differences(&self) -> Vec<Difference> {
        self.state.lock().differences.clone()
    }

    /// Resolves when the comparison is over.
    pub(crate) async fn compared(&self) -> Comparison {
        loop {
            let notified = self.compared.notified();
            if let Some(counts) = self.comparison().filter(|counts| counts.state != ComparisonState::Comparing) {
                return counts;
            }
            notified.await;
        }
    }

    /// The offer is answered or gone: nothing of it is kept or compared any more.
    pub(super) fn end(&self) {
        let mut state = self.state.lock();
        state.is_over = true;
        state.pages = Vec::new();
        self.all.held.fetch_sub(std::mem::take(&mut state.held), Ordering::Relaxed);
        drop(state);
        self.changed.notify_all();
    }

    /// Begins to compare once there is a folder and something to compare.
    fn begin(self: &Arc<Self>, state: &mut State) {
        if state.has_begun || state.is_over || (state.pages.is_empty() && state.end.is_none()) {
            return;
        }
        let Some(folder) = state.folder.clone() else { return };
        state.has_begun = true;
        let (listing, number) = (Arc::clone(self), state.number);
        let has_place = self.all.comparing.fetch_add(1, Ordering::Relaxed) < COMPARISONS_MAX;
        let work = move || {
            let compared = listing.run(number, &folder);
            listing.all.comparing.fetch_sub(1, Ordering::Relaxed);
            listing.conclude(number, compared);
        };
        let spawned = match has_place {
            true => std::thread::Builder::new().name("ringway-compare".to_owned()).spawn(work).is_ok(),
            false => false,
        };
        if !spawned {
            self.all.comparing.fetch_sub(1, Ordering::Relaxed);
            state.counts.state = ComparisonState::Unknown;
            self.compared.notify_waiters();
        }
    }

    /// Compares page by page. Returns whether there is more than was compared; none if nothing can
    /// be told.
    fn run(&self, number: u64, folder: &Path) -> Option<bool> {
        let until = Instant::now() + LISTING_TIME_MAX;
        if !self.shared.expect(folder).is_there(folder) {
            return None;
        }
        let mut comparer = Comparer::open(folder, self.confines, self.numbered_in(number, folder)).ok()?;
        {
            let mut state = self.state.lock();
            if state.number != number || state.is_over {
                return None;
            }
            let shown = comparer.updated().take(UPDATED_SHOWN_MAX);
            state.updated = shown.map(|name| OsString::from_vec(name.to_vec()).into()).collect();
        }
        for at in 0.. {
            let page = match self.page(number, at, until) {
                Next::Page(page) => page,
                Next::Ended(end) => return Some(end == ListingEnd::Cut),
                Next::Late => return Some(true),
                Next::Stale => return None,
            };
            let whole = comparer.page(&page, || Instant::now() < until && !self.is_stale(number));
            let mut state = self.state.lock();
            if state.number != number || state.is_over {
                return None;
            }
            state.counts = comparer.counts();
            state.differences.append(&mut comparer.take_differences());
            if !whole {
                return Some(true);
            }
        }
        None
    }

    /// What of the offer got a number there before, where that would be updated. Nothing where the
    /// store cannot be asked.
    fn numbered_in(&self, number: u64, folder: &Path) -> Vec<(Vec<u8>, Brought)> {
        let state = self.state.lock();
        if state.number != number || !state.updates {
            return Vec::new();
        }
        drop(state);
        let Some(names) = self.names.upgrade() else { return Vec::new() };
        let folder = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.into());
        let mut found = self.shared.store.numbered_in(self.from, &folder).unwrap_or_default();
        found.retain(|(top, _)| names.has(top));
        found
    }

    fn page(&self, number: u64, at: usize, until: Instant) -> Next {
        let mut state = self.state.lock();
        loop {
            if state.number != number || state.is_over {
                return Next::Stale;
            }
            if let Some(page) = state.pages.get(at) {
                return Next::Page(Arc::clone(page));
            }
            if let Some(end) = state.end {
                return Next::Ended(end);
            }
            if self.changed.wait_until(&mut state, until).timed_out() {
                return Next::Late;
            }
        }
    }

    fn is_stale(&self, number: u64) -> bool {
        let state = self.state.lock();
        state.number != number || state.is_over
    }

    fn conclude(&self, number: u64, is_more: Option<bool>) {
        let mut state = self.state.lock();
        if state.number == number && !state.is_over {
            match is_more {
                // Nothing of it had a place.
                Some(true) if state.counts == Comparison::default() => state.counts.state = ComparisonState::Unknown,
                Some(at_least) => {
                    state.counts = Comparison { state: ComparisonState::Done, at_least, ..state.counts };
                }
                None => state.counts.state = ComparisonState::Unknown,
            }
            drop(state);
            self.compared.notify_waiters();
        }
    }
}

/// What a comparison has to do next.
enum Next {
    Page(Arc<ListingPage>),
    Ended(ListingEnd),
    Late,
    Stale,
}

/// Ends a listing when its offer does.
pub(super) struct UntilAnswered(pub(super) Arc<Listing>);

impl Drop for UntilAnswered {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Whether all entries of a page are below names that were offered. Otherwise the sender breaks the
/// protocol.
pub(super) fn is_offered(page: &ListingPage, names: &OfferedNames) -> bool {
    let (mut is_offered, mut last) = (true, Vec::new());
    page.each(|entry| {
        let Some((top, _)) = entry.path.split_first() else { return false };
        if last != top.as_bytes() {
            is_offered = names.has(top.as_bytes());
            last = top.as_bytes().to_vec();
        }
        is_offered
    });
    is_offered
}
