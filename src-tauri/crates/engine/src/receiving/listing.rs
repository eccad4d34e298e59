//! What an offer would do to what is in its folder: its listing is kept while the offer waits, and
//! compared on a thread of its own. Nothing waits for that thread, and the sender learns nothing.
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Instant;

use parking_lot::{Condvar, Mutex, MutexGuard};
use ringway_model::{Comparison, ComparisonState, DeviceId, Difference, EntryKind, Offer, OnConflict, PathText};
use ringway_tree::limits::LISTING_TIME_MAX;
use ringway_tree::receive::Expected;
use ringway_tree::receive::compare::{AskBrought, Comparer, Found};
use ringway_wire::OfferedNames;
use ringway_wire::limits::OFFER_NAMES_MAX;
use ringway_wire::listing::{ListedKind, ListingEnd, ListingPage};
use tokio::sync::Notify;
use tokio::sync::broadcast::{Receiver, error::RecvError};

use super::taking::outside::Outside;
use crate::limits::{COMPARISONS_MAX, LISTINGS_BYTES_MAX};
use crate::shared::Shared;
use crate::store::landed::received_key;

/// What the listings of all offers that wait take together.
#[derive(Default)]
pub(crate) struct Listings {
    /// Bytes of pages.
    held: AtomicUsize,
    /// Threads that compare.
    comparing: AtomicUsize,
    waiting: Mutex<Vec<Weak<Listing>>>,
}

/// The listing of one offer, and how it compares with a folder.
pub(crate) struct Listing {
    shared: Arc<Shared>,
    all: Arc<Listings>,
    from: DeviceId,
    /// Threads that compare are confined to the folder.
    confines: bool,
    outside: Outside,
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
    /// That folder is made for the offer where nothing is: it is one in a drop box.
    is_made: bool,
    /// The same without links, once it is compared with.
    real_folder: Option<PathBuf>,
    /// The comparison that counts; earlier ones were of other folders, or of what they held then.
    number: u64,
    /// That one was begun.
    has_begun: bool,
    found: Found,
    /// Its first top-level names, and what they are.
    tops: Vec<(Vec<u8>, EntryKind)>,
    is_over: bool,
}

impl State {
    fn is_comparing(&self) -> bool {
        !self.has_begun || self.found.update.counts.state == ComparisonState::Comparing
    }

    /// Notes what the top-level names of a page are, as many as an offer names.
    fn note_tops(&mut self, page: &ListingPage) {
        page.each(|entry| {
            if let Some((name, below)) = entry.path.split_first()
                && below.is_root()
            {
                let kind = match entry.kind {
                    ListedKind::Folder => EntryKind::Folder,
                    ListedKind::File { .. } => EntryKind::File,
                    ListedKind::Link { .. } => EntryKind::Link,
                };
                self.tops.push((name.as_bytes().to_vec(), kind));
            }
            self.tops.len() < OFFER_NAMES_MAX
        });
    }

    fn set(&mut self, state: ComparisonState, at_least: bool) {
        for tally in std::iter::once(&mut self.found.update).chain(&mut self.found.in_place) {
            tally.counts = Comparison { state, at_least, ..tally.counts };
        }
    }
}

impl Listing {
    /// Of an offer by a device, whose listing may arrive.
    pub(super) fn new(shared: &Arc<Shared>, all: &Arc<Listings>, from: DeviceId, confines: bool) -> Arc<Self> {
        let listing = Arc::new(Self {
            shared: Arc::clone(shared),
            all: Arc::clone(all),
            from,
            confines,
            outside: Outside::new(),
            state: Mutex::default(),
            changed: Condvar::new(),
            compared: Notify::new(),
        });
        let mut waiting = all.waiting.lock();
        waiting.retain(|listing| listing.strong_count() > 0);
        waiting.push(Arc::downgrade(&listing));
        drop(waiting);
        listing
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
            state.note_tops(&page);
            state.end = Some(page.end()).filter(|end| *end != ListingEnd::More);
            state.pages.push(Arc::new(page));
        }
        self.begin(&mut state, COMPARISONS_MAX);
        drop(state);
        self.changed.notify_all();
    }

    /// Compares with this folder from now on. `is_made`: it is made for the offer where nothing is.
    pub(crate) fn compare_with(self: &Arc<Self>, folder: &Path, is_made: bool) {
        let mut state = self.state.lock();
        if state.folder.as_deref() != Some(folder) {
            state.folder = Some(folder.to_owned());
            state.is_made = is_made;
            self.begin_anew(state, COMPARISONS_MAX);
        }
    }

    /// Compares once more, if it was compared: what is in the folder may have changed.
    fn compare_again(self: &Arc<Self>) {
        let state = self.state.lock();
        if state.has_begun && !state.is_over {
            self.begin_anew(state, COMPARISONS_MAX + 1);
        }
    }

    fn begin_anew(self: &Arc<Self>, mut state: MutexGuard<'_, State>, at_once_max: usize) {
        state.number += 1;
        (state.found, state.has_begun) = (Found::default(), false);
        self.begin(&mut state, at_once_max);
        drop(state);
        self.changed.notify_all();
    }

    /// An offer with how it compares. Nothing is known until something of the listing has arrived.
    pub(crate) fn fill(&self, offer: Offer) -> Offer {
        let state = self.state.lock();
        let Found { update, in_place, updated, renamed } = &state.found;
        let names = |names: &[Vec<u8>]| {
            names.iter().map(|name| PathText::from(OsString::from_vec(name.clone()))).collect::<Vec<_>>()
        };
        let kind = |name: &PathText| {
            let mut tops = state.tops.iter();
            tops.find(|(top, _)| name.as_os_str().as_bytes() == top).map(|(_, kind)| *kind)
        };
        Offer {
            kinds: offer.names.iter().map(kind).collect(),
            comparison: state.has_begun.then_some(update.counts),
            in_place: in_place.as_ref().map(|in_place| in_place.counts),
            updates: names(updated),
            renamed: names(renamed),
            ..offer
        }
    }

    /// The differences that were found so far, as that policy goes by them.
    pub(crate) fn differences(&self, on_conflict: OnConflict) -> Vec<Difference> {
        let Found { update, in_place, .. } = &self.state.lock().found;
        let tally = match on_conflict {
            OnConflict::RenameTop => update,
            OnConflict::Replace | OnConflict::Keep | OnConflict::Rename => in_place.as_ref().unwrap_or(update),
        };
        tally.differences.to_vec()
    }

    /// Resolves when the comparison is over.
    pub(crate) async fn compared(&self) {
        self.until(|state| !state.is_comparing()).await;
    }

    async fn until(&self, is_so: impl Fn(&State) -> bool) {
        loop {
            let notified = self.compared.notified();
            if is_so(&self.state.lock()) {
                return;
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
        self.compared.notify_waiters();
    }

    /// Begins to compare once there is a folder and something to compare, unless so many are.
    fn begin(self: &Arc<Self>, state: &mut State, at_once_max: usize) {
        if state.has_begun || state.is_over || (state.pages.is_empty() && state.end.is_none()) {
            return;
        }
        let Some(folder) = state.folder.clone() else { return };
        state.has_begun = true;
        let (listing, number, is_made) = (Arc::clone(self), state.number, state.is_made);
        let has_place = self.all.comparing.fetch_add(1, Ordering::Relaxed) < at_once_max;
        let work = move || {
            let compared = listing.run(number, &folder, is_made);
            listing.all.comparing.fetch_sub(1, Ordering::Relaxed);
            listing.conclude(number, compared);
        };
        let spawned = match has_place {
            true => std::thread::Builder::new().name("ringway-compare".to_owned()).spawn(work).is_ok(),
            false => false,
        };
        if !spawned {
            self.all.comparing.fetch_sub(1, Ordering::Relaxed);
            state.set(ComparisonState::Unknown, false);
            self.compared.notify_waiters();
        }
    }

    /// Compares page by page. Returns whether there is more than was compared; none if nothing can
    /// be told.
    fn run(&self, number: u64, folder: &Path, is_made: bool) -> Option<bool> {
        let until = Instant::now() + LISTING_TIME_MAX;
        let expected = self.shared.expect(folder);
        let is_missing = || folder.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        let is_made = (expected == Expected::Made || (is_made && expected == Expected::Any)) && is_missing();
        if !is_made && !expected.is_there(folder) {
            return None;
        }
        let real = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.into());
        let brought = self.ask_brought(real.clone());
        {
            let mut state = self.state.lock();
            if state.number != number || state.is_over {
                return None;
            }
            state.real_folder = Some(real);
        }
        // Nothing is in a folder that is yet to be made.
        let mut comparer = match is_made {
            true => None,
            false => Some(Comparer::open(folder, self.confines, brought).ok()?),
        };
        for at in 0.. {
            let page = match self.page(number, at, until) {
                Next::Page(page) => page,
                Next::Ended(end) => return Some(end == ListingEnd::Cut),
                Next::Late => return Some(true),
                Next::Stale => return None,
            };
            let goes_on = || Instant::now() < until && !self.is_stale(number);
            let whole = comparer.as_mut().is_none_or(|comparer| comparer.page(&page, goes_on));
            let mut state = self.state.lock();
            if state.number != number || state.is_over {
                return None;
            }
            match &comparer {
                Some(comparer) => state.found = comparer.found().clone(),
                None => state.found.update.counts.new += page.len() as u64,
            }
            if !whole {
                return Some(true);
            }
        }
        None
    }

    /// What the device brought into that folder. Nothing where the store cannot be asked.
    fn ask_brought(&self, folder: PathBuf) -> AskBrought {
        let (shared, outside, from) = (Arc::clone(&self.shared), self.outside.clone(), self.from);
        Box::new(move |top: &[u8]| {
            let (shared, path) = (Arc::clone(&shared), received_key(&folder, top));
            outside.run(move || shared.store.brought(from, &path).ok().flatten()).flatten()
        })
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
                Some(true) if state.found.update.counts == Comparison::default() => {
                    state.set(ComparisonState::Unknown, false);
                }
                Some(at_least) => state.set(ComparisonState::Done, at_least),
                None => state.set(ComparisonState::Unknown, false),
            }
            drop(state);
            self.compared.notify_waiters();
        }
    }
}

/// Compares the offers that wait again whenever something of ours was written into their folders.
/// One after the other: what is written meanwhile is one more reason for the next round.
pub(super) async fn compare_again(all: Weak<Listings>, mut written: Receiver<PathBuf>) {
    loop {
        let mut folders = match written.recv().await {
            Ok(folder) => Some(vec![folder]),
            Err(RecvError::Lagged(_)) => None,
            Err(RecvError::Closed) => return,
        };
        while let (Some(known), Ok(folder)) = (&mut folders, written.try_recv()) {
            known.push(folder);
        }
        let Some(all) = all.upgrade() else { return };
        let waiting = all.waiting.lock().clone();
        drop(all);
        for listing in waiting.iter().filter_map(Weak::upgrade) {
            let Some(compared) = listing.state.lock().real_folder.clone() else { continue };
            let touches = |folder: &PathBuf| folder.starts_with(&compared) || compared.starts_with(folder);
            if folders.as_ref().is_none_or(|folders| folders.iter().any(touches)) {
                listing.compare_again();
                // A disk that does not answer keeps no other offer waiting.
                let is_settled = listing.until(|state| state.is_over || !state.is_comparing());
                let _ = tokio::time::timeout(2 * LISTING_TIME_MAX, is_settled).await;
            }
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
