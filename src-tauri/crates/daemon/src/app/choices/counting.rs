//! Counting what was chosen, in the background, for as long as somebody looks.
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ringway_engine::selection::Filter;
use ringway_engine::{Measured, measure};

use super::item::{Item, total};
use crate::dto::{ChosenSize, ItemSize, SizeState, SourceKind};

/// Between two times that sizes are told: 5 a second can be read.
const TELL_EVERY: Duration = Duration::from_millis(200);

/// Files and folders of one item that are counted, about a minute of a cold disk: beyond, "at
/// least" says enough.
const ENTRIES_COUNTED_MAX: u64 = 2_000_000;

/// Threads that count. One that has been told to end does so at its next entry, unless a network
/// share does not answer: then it stays until the share does.
const THREADS_MAX: usize = 4;

/// How many of them there are.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// What has changed since it was told last, and all together.
pub(crate) struct Counted {
    pub(crate) sizes: Vec<ItemSize>,
    pub(crate) total: ChosenSize,
}

/// As long as this lives, its choice is counted.
pub(crate) struct Counting {
    ended: Arc<AtomicBool>,
}

impl Drop for Counting {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}

/// Counts `items` without what is left out, by the text and the filter made of it, and shows how
/// large they are, those of the first `shown` one by one. Where too much is being counted, sizes
/// stay unknown.
pub(super) fn start(
    items: Vec<Arc<Item>>,
    leave_out: &str,
    filter: Option<Arc<Filter>>,
    shown: usize,
    show: impl FnMut(Counted) + Send + 'static,
) -> Counting {
    let ended = Arc::new(AtomicBool::new(false));
    let counting = Counting { ended: Arc::clone(&ended) };
    let Some(place) = Place::take() else { return counting };
    let leave_out = leave_out.to_owned();
    let work = move || {
        let _place = place;
        let told = HashMap::new();
        Counter { items: &items, leave_out: &leave_out, filter, shown, show, told, last: None, ended: &ended }.run();
    };
    // Without a thread, sizes stay unknown.
    let _ = std::thread::Builder::new().name("count".to_owned()).spawn(work);
    counting
}

/// A thread's place among those that count.
struct Place;

impl Place {
    fn take() -> Option<Self> {
        let take = |taken: usize| (taken < THREADS_MAX).then_some(taken + 1);
        THREADS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok().map(|_| Self)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        THREADS.fetch_sub(1, Ordering::Relaxed);
    }
}

struct Counter<'a, S> {
    items: &'a [Arc<Item>],
    leave_out: &'a str,
    filter: Option<Arc<Filter>>,
    shown: usize,
    show: S,
    /// The size of each item as it was told last.
    told: HashMap<u32, ChosenSize>,
    last: Option<Instant>,
    ended: &'a AtomicBool,
}

impl<S: FnMut(Counted)> Counter<'_, S> {
    fn run(mut self) {
        for item in self.items {
            if self.ended.load(Ordering::Relaxed) {
                return;
            }
            if item.kind() == SourceKind::Folder && !item.is_counted_without(self.leave_out) {
                self.count(item);
            }
            self.tell_in_time();
        }
        if !self.ended.load(Ordering::Relaxed) {
            self.tell();
        }
    }

    fn count(&mut self, item: &Item) {
        let mut latest = Measured::default();
        let is_cut = |measured: &Measured| measured.files + measured.folders + measured.excluded >= ENTRIES_COUNTED_MAX;
        let (filter, leave_out) = (self.filter.clone(), self.leave_out);
        let measured = measure(&item.source, filter.as_ref(), |measured| {
            latest = *measured;
            if self.is_due() {
                item.take_size(size(measured, SizeState::Counting), leave_out);
                self.tell();
            }
            !is_cut(measured) && !self.ended.load(Ordering::Relaxed)
        });
        match measured {
            Ok(Some(measured)) => item.take_size(size(&measured, SizeState::Exact), leave_out),
            // What cannot be sent is said when it is sent.
            Err(_) => item.take_size(size(&latest, SizeState::AtLeast), leave_out),
            Ok(None) if is_cut(&latest) => item.take_size(size(&latest, SizeState::AtLeast), leave_out),
            Ok(None) => {}
        }
    }

    fn is_due(&self) -> bool {
        self.last.is_none_or(|last| last.elapsed() >= TELL_EVERY)
    }

    fn tell_in_time(&mut self) {
        if self.is_due() {
            self.tell();
        }
    }

    fn tell(&mut self) {
        self.last = Some(Instant::now());
        let mut sizes = Vec::new();
        for item in self.items.iter().take(self.shown) {
            let size = item.size();
            if self.told.insert(item.number, size) != Some(size) {
                sizes.push(ItemSize { item: item.number, size });
            }
        }
        (self.show)(Counted { sizes, total: total(self.items) });
    }
}

fn size(measured: &Measured, state: SizeState) -> ChosenSize {
    ChosenSize { items: measured.files + measured.folders, bytes: measured.bytes, excluded: measured.excluded, state }
}
