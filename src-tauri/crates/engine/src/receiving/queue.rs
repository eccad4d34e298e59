//! Which accepted offers are received now, and which wait for a place: bounded, and fair to each
//! device.
use std::cmp::Reverse;
use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use ringway_model::{DeclineReason, DeviceId};
use tokio::sync::{oneshot, watch};

use crate::admission::descriptors::ForReceiving;
use crate::limits::{PLACES_FOR_RULES, QUEUE_BYTES_MAX, QUEUED_BYTES, TRANSFERS_MAX, TRANSFERS_OF_ONE_MAX};

/// The places of one receiver.
#[derive(Clone, Default)]
pub(crate) struct Queue(Arc<Shared>);

#[derive(Default)]
struct Shared {
    line: Mutex<Line>,
    /// How many offers and transfers are under way.
    under_way: watch::Sender<usize>,
    /// How many of them are offers that have not begun.
    offers: watch::Sender<usize>,
}

/// A transfer that is under way, until it is dropped.
struct UnderWay(Queue);

/// An offer that is under way and has not begun, until it is dropped.
pub(crate) struct Pending {
    queue: Queue,
    _under_way: UnderWay,
}

/// Who wants a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) device: DeviceId,
    /// The device has a rule to accept: some places are kept for those.
    pub(crate) has_rule: bool,
    /// It resumes a transfer, which comes before new ones.
    pub(crate) resumes: bool,
    /// Bytes of the names that it holds while it waits.
    pub(crate) names: usize,
}

/// What [`Queue::enter`] gives.
pub(crate) enum Entered {
    /// A place, at once.
    Now(Place),
    /// A place in the queue.
    Later(Waiting),
    /// Nothing: the queue is full.
    Full,
}

/// A place among the running transfers, until it is dropped.
pub(crate) struct Place {
    queue: Queue,
    claim: Claim,
    _under_way: UnderWay,
}

/// A place in the queue, until it is dropped.
pub(crate) struct Waiting {
    queue: Queue,
    number: u64,
    turn: oneshot::Receiver<Place>,
    place: watch::Receiver<NonZeroU32>,
}

/// What comes to one that waits.
pub(crate) enum Turn {
    /// It may begin.
    Begin(Place),
    /// Its place has changed.
    Moved(NonZeroU32),
    /// It has lost its place to another device, which had none.
    Lost,
}

#[derive(Default)]
struct Line {
    running: HashMap<DeviceId, usize>,
    running_count: usize,
    /// Those of them that are of devices without a rule to accept.
    without_rule: usize,
    /// In the order in which they came.
    waiting: Vec<Candidate>,
    /// The number of the next one.
    next: u64,
    /// Nobody is let in any more but what goes on with a transfer, and nobody waits.
    is_closed: bool,
}

struct Candidate {
    number: u64,
    claim: Claim,
    go: oneshot::Sender<Place>,
    place: watch::Sender<NonZeroU32>,
}

impl Queue {
    /// Counts an offer that has just come.
    pub(crate) fn offered(&self) -> Pending {
        self.0.offers.send_modify(|count| *count += 1);
        Pending { queue: self.clone(), _under_way: self.under_way() }
    }

    fn under_way(&self) -> UnderWay {
        self.0.under_way.send_modify(|count| *count += 1);
        UnderWay(self.clone())
    }

    /// Waits until nothing is under way: no offer that waits, and no transfer that runs. A transfer
    /// that waits for its sender is not under way.
    pub(crate) async fn idle(&self) {
        // What it waits on lives as long as this.
        let _ = self.0.under_way.subscribe().wait_for(|count| *count == 0).await;
    }

    /// Waits until no offer is under way that has not begun: those that were declined have heard
    /// it.
    pub(crate) async fn no_offers(&self) {
        // As above.
        let _ = self.0.offers.subscribe().wait_for(|count| *count == 0).await;
    }

    fn place(&self, claim: Claim) -> Place {
        Place { queue: self.clone(), claim, _under_way: self.under_way() }
    }

    /// A place for `claim`, now or later. Where the queue is full, a device that has none in it
    /// takes the last one of the device that has most.
    pub(crate) fn enter(&self, claim: Claim) -> Entered {
        let mut line = self.line();
        if line.is_closed && !claim.resumes {
            return Entered::Full;
        }
        if line.may_run(&claim) && !line.waiting.iter().any(|other| line.may_run(&other.claim)) {
            line.count(&claim);
            drop(line);
            return Entered::Now(self.place(claim));
        }
        if line.is_closed || !line.make_room(&claim) {
            return Entered::Full;
        }
        let number = line.next;
        line.next += 1;
        let (go, turn) = oneshot::channel();
        let (moved, place) = watch::channel(NonZeroU32::MIN);
        line.waiting.push(Candidate { number, claim, go, place: moved });
        line.tell_places();
        drop(line);
        Entered::Later(Waiting { queue: self.clone(), number, turn, place })
    }

    /// Sends away those that wait: a receiver that has stopped takes their lanes in no more.
    pub(crate) fn close(&self) {
        let mut line = self.line();
        line.is_closed = true;
        line.waiting.clear();
    }

    /// Why a sender gets no place.
    pub(crate) fn why_none(&self) -> DeclineReason {
        if self.line().is_closed { DeclineReason::Stopped } else { DeclineReason::Busy }
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.0.line.lock()
    }

    /// Calls those that may begin.
    fn call(&self) {
        let called: Vec<_> = {
            let mut line = self.line();
            let called = std::iter::from_fn(|| line.call()).collect();
            line.tell_places();
            called
        };
        for Candidate { claim, go, .. } in called {
            // Where it has gone meanwhile the place comes back, is dropped, and goes to the next
            // one.
            let _ = go.send(self.place(claim));
        }
    }
}

impl Line {
    fn may_run(&self, claim: &Claim) -> bool {
        let of_device = self.running.get(&claim.device).copied().unwrap_or_default();
        let running_max = ForReceiving::here().transfers;
        self.running_count < running_max
            && of_device < (running_max * TRANSFERS_OF_ONE_MAX / TRANSFERS_MAX).max(1)
            && (claim.has_rule || self.without_rule < running_max - running_max * PLACES_FOR_RULES / TRANSFERS_MAX)
    }

    fn count(&mut self, claim: &Claim) {
        *self.running.entry(claim.device).or_default() += 1;
        self.running_count += 1;
        self.without_rule += usize::from(!claim.has_rule);
    }

    fn uncount(&mut self, claim: &Claim) {
        if let Some(count) = self.running.get_mut(&claim.device) {
            *count -= 1;
            if *count == 0 {
                self.running.remove(&claim.device);
            }
        }
        self.running_count -= 1;
        self.without_rule -= usize::from(!claim.has_rule);
    }

    /// Whose turn comes when: positions in `waiting`. What resumes comes first; then each device's
    /// next one, of the device that has least before it.
    fn order(&self) -> Vec<usize> {
        let mut before = self.running.clone();
        let mut ranked: Vec<_> = (self.waiting.iter().enumerate())
            .map(|(at, Candidate { claim, number, .. })| {
                let before = before.entry(claim.device).or_default();
                *before += 1;
                ((Reverse(claim.resumes), *before, *number), at)
            })
            .collect();
        ranked.sort_unstable();
        ranked.into_iter().map(|(_, at)| at).collect()
    }

    fn call(&mut self) -> Option<Candidate> {
        let at = self.order().into_iter().find(|at| self.may_run(&self.waiting[*at].claim))?;
        let called = self.waiting.remove(at);
        self.count(&called.claim);
        Some(called)
    }

    fn tell_places(&self) {
        for (place, at) in (1..).zip(self.order()) {
            let place = NonZeroU32::new(place).unwrap_or(NonZeroU32::MIN);
            self.waiting[at].place.send_if_modified(|told| std::mem::replace(told, place) != place);
        }
    }

    /// Has the devices that hold most of the queue give up what `claim` needs; false where its own
    /// would hold no less than they do.
    fn make_room(&mut self, claim: &Claim) -> bool {
        self.waiting.retain(|waiting| !waiting.go.is_closed());
        let mut held = HashMap::<_, usize>::new();
        self.waiting.iter().for_each(|waiting| *held.entry(waiting.claim.device).or_default() += waiting.claim.bytes());
        let own = held.get(&claim.device).copied().unwrap_or_default() + claim.bytes();
        // Each holds a connection.
        let bytes_max = QUEUE_BYTES_MAX.min(ForReceiving::here().waiting * QUEUED_BYTES);
        let mut free = bytes_max.saturating_sub(held.values().sum());
        let mut lose = Vec::new();
        while free < claim.bytes() {
            let Some((greedy, most)) = held.iter_mut().max_by_key(|(_, bytes)| **bytes) else { return false };
            let last = self.waiting.iter().rfind(|one| one.claim.device == *greedy && !lose.contains(&one.number));
            let Some(last) = last.filter(|_| own < *most) else { return false };
            *most -= last.claim.bytes();
            free += last.claim.bytes();
            lose.push(last.number);
        }
        self.waiting.retain(|waiting| !lose.contains(&waiting.number));
        true
    }
}

impl Claim {
    /// Memory that it takes while it waits.
    fn bytes(&self) -> usize {
        QUEUED_BYTES + self.names
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.queue.0.offers.send_modify(|count| *count -= 1);
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.0.under_way.send_modify(|count| *count -= 1);
    }
}

impl Waiting {
    /// Its place when it entered.
    pub(crate) fn place(&mut self) -> NonZeroU32 {
        *self.place.borrow_and_update()
    }

    /// Waits for what comes next. Nothing is lost where the call is dropped.
    pub(crate) async fn turn(&mut self) -> Turn {
        tokio::select! {
            biased;
            place = &mut self.turn => place.map_or(Turn::Lost, Turn::Begin),
            Ok(()) = self.place.changed() => Turn::Moved(*self.place.borrow_and_update()),
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut line = self.queue.line();
        line.waiting.retain(|waiting| waiting.number != self.number);
        line.tell_places();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.queue.line().uncount(&self.claim);
        self.queue.call();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(device: u8) -> Claim {
        Claim { device: DeviceId([device; 32]), has_rule: true, resumes: false, names: 0 }
    }

    fn now(queue: &Queue, claim: Claim) -> Place {
        match queue.enter(claim) {
            Entered::Now(place) => place,
            Entered::Later(_) | Entered::Full => panic!("there is a place for {claim:?}"),
        }
    }

    fn later(queue: &Queue, claim: Claim) -> Waiting {
        match queue.enter(claim) {
            Entered::Later(waiting) => waiting,
            Entered::Now(_) | Entered::Full => panic!("{claim:?} has to wait"),
        }
    }

    /// Takes every place, each by another device from `first` on.
    fn fill(queue: &Queue, first: u8) -> Vec<Place> {
        (0..TRANSFERS_MAX as u8).map(|number| now(queue, claim(first + number))).collect()
    }

    fn begins(waiting: &mut Waiting) -> Option<Place> {
        waiting.turn.try_recv().ok()
    }

    fn place(waiting: &mut Waiting) -> u32 {
        waiting.place().get()
    }

    #[test]
    fn devices_take_turns_however_many_offers_one_of_them_has() {
        let queue = Queue::default();
        let mut running = fill(&queue, 100);
        let [mut first, mut second] = [(); 2].map(|()| later(&queue, claim(1)));
        let mut other = later(&queue, claim(2));
        assert_eq!([&mut first, &mut other, &mut second].map(place), [1, 2, 3]);
        drop(running.pop());
        let _first = begins(&mut first).expect("its turn");
        assert_eq!([&mut other, &mut second].map(place), [1, 2]);
        drop(running.pop());
        assert!(begins(&mut second).is_none());
        let _other = begins(&mut other).expect("its turn");
        drop(running.pop());
        assert!(begins(&mut second).is_some());
    }

    #[test]
    fn places_are_kept_for_devices_with_a_rule() {
        let queue = Queue::default();
        let without = |device| Claim { has_rule: false, ..claim(device) };
        let _running: Vec<_> =
            (0..(TRANSFERS_MAX - PLACES_FOR_RULES) as u8).map(|number| now(&queue, without(number))).collect();
        let mut waits = later(&queue, without(100));
        let ruled: Vec<_> = (0..PLACES_FOR_RULES as u8).map(|number| now(&queue, claim(50 + number))).collect();
        drop(ruled);
        assert!(begins(&mut waits).is_none(), "places of others are none for it");
    }

    #[test]
    fn resumed_transfer_comes_before_new_ones() {
        let queue = Queue::default();
        let mut running = fill(&queue, 100);
        let mut new = later(&queue, claim(1));
        let mut resumed = later(&queue, Claim { resumes: true, ..claim(2) });
        assert_eq!([place(&mut resumed), place(&mut new)], [1, 2]);
        drop(running.pop());
        let _resumed = begins(&mut resumed).expect("its turn");
        assert!(begins(&mut new).is_none());
    }

    #[test]
    fn one_device_runs_a_part_of_the_transfers_and_the_rest_of_its_offers_waits() {
        let queue = Queue::default();
        let mut own: Vec<_> = (0..TRANSFERS_OF_ONE_MAX).map(|_| now(&queue, claim(1))).collect();
        let mut waits = later(&queue, claim(1));
        let _other = now(&queue, claim(2));
        drop(own.pop());
        assert!(begins(&mut waits).is_some());
    }

    #[test]
    fn full_queue_takes_from_the_device_that_has_most_and_nobody_else() {
        let queue = Queue::default();
        let _running = fill(&queue, 100);
        let mut greedy: Vec<_> = (0..QUEUE_BYTES_MAX / QUEUED_BYTES).map(|_| later(&queue, claim(1))).collect();
        assert!(matches!(queue.enter(claim(1)), Entered::Full));
        let mut modest = later(&queue, claim(2));
        assert_eq!(place(&mut modest), 2);
        assert!(matches!(greedy.last_mut().unwrap().turn.try_recv(), Err(oneshot::error::TryRecvError::Closed)));
        assert!(matches!(greedy[0].turn.try_recv(), Err(oneshot::error::TryRecvError::Empty)));
        drop(greedy);
        assert_eq!(place(&mut modest), 1, "the others advance when one leaves");
    }

    #[test]
    fn long_lists_of_names_take_more_of_the_queue() {
        let queue = Queue::default();
        let _running = fill(&queue, 100);
        let long = Claim { names: QUEUE_BYTES_MAX / 4 * 3, ..claim(1) };
        let mut first = later(&queue, long);
        assert!(matches!(queue.enter(long), Entered::Full));
        let _other = later(&queue, Claim { names: QUEUE_BYTES_MAX / 3, ..claim(2) });
        assert!(
            matches!(first.turn.try_recv(), Err(oneshot::error::TryRecvError::Closed)),
            "it held more than the other"
        );
    }

    #[tokio::test]
    async fn nothing_is_under_way_once_all_places_are_given_back() {
        let queue = Queue::default();
        queue.idle().await;
        let (offer, place) = (queue.offered(), now(&queue, claim(1)));
        let idle = |queue: Queue| async move {
            tokio::time::timeout(std::time::Duration::from_millis(20), queue.idle()).await.is_ok()
        };
        assert!(!idle(queue.clone()).await);
        let told = async || tokio::time::timeout(std::time::Duration::from_millis(20), queue.no_offers()).await.is_ok();
        assert!(!told().await);
        drop(offer);
        assert!(told().await, "what runs is no offer any more");
        assert!(!idle(queue.clone()).await);
        drop(place);
        assert!(idle(queue.clone()).await);
    }

    #[test]
    fn closed_queue_sends_away_who_waits_and_who_comes() {
        let queue = Queue::default();
        let mut running = fill(&queue, 100);
        let mut waits = later(&queue, claim(1));
        assert_eq!(queue.why_none(), DeclineReason::Busy);
        queue.close();
        assert_eq!(queue.why_none(), DeclineReason::Stopped);
        assert!(matches!(waits.turn.try_recv(), Err(oneshot::error::TryRecvError::Closed)));
        let resumed = Claim { resumes: true, ..claim(2) };
        assert!(matches!(queue.enter(resumed), Entered::Full), "there is no place");
        drop(running.pop());
        assert!(matches!(queue.enter(claim(2)), Entered::Full));
        let _goes_on = now(&queue, resumed);
    }

    #[test]
    fn place_that_comes_to_nobody_goes_to_the_next_one() {
        let queue = Queue::default();
        let mut running = fill(&queue, 100);
        let [gone, mut next] = [1, 2].map(|device| later(&queue, claim(device)));
        drop(gone);
        drop(running.pop());
        assert!(begins(&mut next).is_some());
    }
}
