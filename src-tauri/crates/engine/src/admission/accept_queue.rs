//! The accept queue of a code: one attempt at a time, origins with the fewest failures first. An
//! attempt that takes too long while others wait loses its turn.
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep_until, timeout};

use crate::admission::Origin;
use crate::limits::{PAIRING_QUEUE_LEN_MAX, PAIRING_QUEUE_WAIT_MAX, PAIRING_TURN_TIME};

/// The attempts that wait for a receiver's code.
pub(crate) struct AcceptQueue {
    state: Mutex<State>,
    /// The number of waiting attempts.
    waiting: watch::Sender<usize>,
    /// Time for one turn while others wait.
    turn_time: Duration,
    wait_max: Duration,
}

#[derive(Default)]
struct State {
    is_taken: bool,
    /// In the order of arrival.
    waiting: Vec<Waiting>,
}

struct Waiting {
    origin: Origin,
    failures: u32,
    grant: oneshot::Sender<Turn>,
}

/// The right to attempt to pair, until it is dropped.
pub(crate) struct Turn {
    queue: Arc<AcceptQueue>,
    since: Instant,
}

impl Default for AcceptQueue {
    fn default() -> Self {
        Self::of(PAIRING_TURN_TIME, PAIRING_QUEUE_WAIT_MAX)
    }
}

impl AcceptQueue {
    fn of(turn_time: Duration, wait_max: Duration) -> Self {
        Self { state: Mutex::default(), waiting: watch::channel(0).0, turn_time, wait_max }
    }

    /// Waits for a turn for an attempt from `origin`, which has failed `failures` times. None if
    /// another attempt from there waits already, if the queue is full of origins that have failed
    /// no more often, or after too long a wait.
    pub(crate) async fn take(self: &Arc<Self>, origin: Origin, failures: u32) -> Option<Turn> {
        let granted = {
            let mut state = self.state();
            if !state.is_taken {
                state.is_taken = true;
                return Some(Turn::begin(self));
            }
            let granted = state.join(origin, failures)?;
            self.waiting.send_replace(state.waiting.len());
            granted
        };
        timeout(self.wait_max, granted).await.ok()?.ok()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl State {
    fn join(&mut self, origin: Origin, failures: u32) -> Option<oneshot::Receiver<Turn>> {
        self.waiting.retain(|waiting| !waiting.grant.is_closed());
        if self.waiting.iter().any(|waiting| waiting.origin == origin) {
            return None;
        }
        if self.waiting.len() >= PAIRING_QUEUE_LEN_MAX {
            let (last, most) = self.waiting.iter().enumerate().max_by_key(|(at, waiting)| (waiting.failures, *at))?;
            if most.failures <= failures {
                return None;
            }
            self.waiting.remove(last);
        }
        let (grant, granted) = oneshot::channel();
        self.waiting.push(Waiting { origin, failures, grant });
        Some(granted)
    }

    /// The attempt of the origin with the fewest failures, and among those the first to arrive.
    fn pop_next(&mut self) -> Option<Waiting> {
        let (at, _) = self.waiting.iter().enumerate().min_by_key(|(at, waiting)| (waiting.failures, *at))?;
        Some(self.waiting.remove(at))
    }
}

impl Turn {
    fn begin(queue: &Arc<AcceptQueue>) -> Self {
        Self { queue: Arc::clone(queue), since: Instant::now() }
    }

    /// Resolves when its time is over and others wait.
    pub(crate) async fn expired(&self) {
        sleep_until(self.since + self.queue.turn_time).await;
        // The sender lives as long as this turn.
        let _ = self.queue.waiting.subscribe().wait_for(|waiting| *waiting > 0).await;
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let next = {
            let mut state = self.queue.state();
            let next = state.pop_next();
            state.is_taken = next.is_some();
            self.queue.waiting.send_replace(state.waiting.len());
            next
        };
        if let Some(next) = next {
            // If that attempt has gone, the turn is dropped at once and goes to the next one.
            let _ = next.grant.send(Turn::begin(&self.queue));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const SOON: Duration = Duration::from_millis(20);
    const LONG: Duration = Duration::from_secs(60);

    fn queue() -> Arc<AcceptQueue> {
        Arc::new(AcceptQueue::of(SOON, LONG))
    }

    fn from(address: usize) -> Origin {
        Origin::of(Ipv4Addr::from_bits(0x0a00_0000 + address as u32).into())
    }

    /// Begins to wait, from there, with that many failures.
    async fn waits(queue: &Arc<AcceptQueue>, address: usize, failures: u32) -> tokio::task::JoinHandle<Option<Turn>> {
        let (queue, before) = (Arc::clone(queue), *queue.waiting.borrow());
        let mut waiting = queue.waiting.subscribe();
        let task = tokio::spawn(async move { queue.take(from(address), failures).await });
        waiting.wait_for(|waiting| *waiting > before).await.unwrap();
        task
    }

    #[tokio::test]
    async fn who_has_failed_least_is_next_and_then_who_came_first() {
        let queue = queue();
        let first = queue.take(from(0), 9).await.unwrap();
        let tasks = [waits(&queue, 1, 2).await, waits(&queue, 2, 0).await, waits(&queue, 3, 0).await];
        assert!(queue.take(from(2), 0).await.is_none(), "another waits from there");
        drop(first);
        let mut order = Vec::new();
        let [one, two, three] = tasks;
        for (number, task) in [(2, two), (3, three), (1, one)] {
            let turn = task.await.unwrap().expect("a turn");
            order.push(number);
            drop(turn);
        }
        assert_eq!(order, [2, 3, 1]);
        assert!(queue.take(from(9), 0).await.is_some(), "nobody has it");
    }

    #[tokio::test]
    async fn a_turn_is_over_only_where_others_wait() {
        let queue = queue();
        let turn = queue.take(from(0), 0).await.unwrap();
        assert!(timeout(10 * SOON, turn.expired()).await.is_err());
        let next = waits(&queue, 1, 0).await;
        turn.expired().await;
        drop(turn);
        assert!(next.await.unwrap().is_some());
    }

    #[tokio::test]
    async fn who_waits_too_long_or_goes_away_is_passed_over() {
        let queue = queue();
        let turn = queue.take(from(0), 0).await.unwrap();
        let gone = waits(&queue, 1, 0).await;
        gone.abort();
        assert!(gone.await.is_err());
        drop(turn);
        let turn = queue.take(from(1), 0).await;
        assert!(turn.is_some());

        let impatient = Arc::new(AcceptQueue::of(LONG, SOON));
        let _turn = impatient.take(from(0), 0).await;
        assert!(impatient.take(from(2), 0).await.is_none());
    }

    #[tokio::test]
    async fn the_line_is_bounded_and_who_has_failed_makes_room_for_who_has_not() {
        let queue = queue();
        let turn = queue.take(from(0), 0).await.unwrap();
        let mut tasks = Vec::new();
        for address in 1..=PAIRING_QUEUE_LEN_MAX {
            tasks.push(waits(&queue, address, 1).await);
        }
        assert!(queue.take(from(1_000), 1).await.is_none());
        let fresh = tokio::spawn({
            let queue = Arc::clone(&queue);
            async move { queue.take(from(1_001), 0).await }
        });
        assert!(tasks.pop().unwrap().await.unwrap().is_none(), "the last of those who have failed most");
        drop(turn);
        assert!(fresh.await.unwrap().is_some());
        assert!(queue.state().waiting.len() < PAIRING_QUEUE_LEN_MAX);
    }
}
