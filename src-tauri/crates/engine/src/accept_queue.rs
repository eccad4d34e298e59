//! Whose attempt to pair is next: one at a time, who has failed least first. Who dallies while
//! others wait loses the turn.
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep_until, timeout};

use crate::admission::Origin;
use crate::limits::{PAIRING_TURN_TIME, PAIRING_TURN_WAIT_MAX, PAIRING_TURNS_WAITING_MAX};

/// The line in front of a receiver's code.
pub(crate) struct Turns {
    line: Mutex<Line>,
    /// How many wait.
    waiting: watch::Sender<usize>,
    /// What one turn has while others wait.
    turn_time: Duration,
    wait_max: Duration,
}

#[derive(Default)]
struct Line {
    is_taken: bool,
    /// In the order in which they came.
    waiting: Vec<Waiting>,
}

struct Waiting {
    origin: Origin,
    failures: u32,
    go: oneshot::Sender<Turn>,
}

/// The right to attempt to pair, until it is dropped.
pub(crate) struct Turn {
    turns: Arc<Turns>,
    since: Instant,
}

impl Default for Turns {
    fn default() -> Self {
        Self::of(PAIRING_TURN_TIME, PAIRING_TURN_WAIT_MAX)
    }
}

impl Turns {
    fn of(turn_time: Duration, wait_max: Duration) -> Self {
        Self { line: Mutex::default(), waiting: watch::channel(0).0, turn_time, wait_max }
    }

    /// A turn for who comes from `origin`, of which so many attempts have come to nothing. None if
    /// another from there waits already, if too many do that have failed no more, or if it took too
    /// long.
    pub(crate) async fn take(self: &Arc<Self>, origin: Origin, failures: u32) -> Option<Turn> {
        let called = {
            let mut line = self.line();
            if !line.is_taken {
                line.is_taken = true;
                return Some(Turn::begin(self));
            }
            let called = line.join(origin, failures)?;
            self.waiting.send_replace(line.waiting.len());
            called
        };
        timeout(self.wait_max, called).await.ok()?.ok()
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock()
    }
}

impl Line {
    fn join(&mut self, origin: Origin, failures: u32) -> Option<oneshot::Receiver<Turn>> {
        self.waiting.retain(|waiting| !waiting.go.is_closed());
        if self.waiting.iter().any(|waiting| waiting.origin == origin) {
            return None;
        }
        if self.waiting.len() >= PAIRING_TURNS_WAITING_MAX {
            let (last, most) = self.waiting.iter().enumerate().max_by_key(|(at, waiting)| (waiting.failures, *at))?;
            if most.failures <= failures {
                return None;
            }
            self.waiting.remove(last);
        }
        let (go, called) = oneshot::channel();
        self.waiting.push(Waiting { origin, failures, go });
        Some(called)
    }

    /// Whoever has failed least, of those who came first.
    fn call(&mut self) -> Option<Waiting> {
        let (at, _) = self.waiting.iter().enumerate().min_by_key(|(at, waiting)| (waiting.failures, *at))?;
        Some(self.waiting.remove(at))
    }
}

impl Turn {
    fn begin(turns: &Arc<Turns>) -> Self {
        Self { turns: Arc::clone(turns), since: Instant::now() }
    }

    /// Waits until it has had its time and others wait.
    pub(crate) async fn is_over(&self) {
        sleep_until(self.since + self.turns.turn_time).await;
        // Whom it counts is there as long as this is.
        let _ = self.turns.waiting.subscribe().wait_for(|waiting| *waiting > 0).await;
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let next = {
            let mut line = self.turns.line();
            let next = line.call();
            line.is_taken = next.is_some();
            self.turns.waiting.send_replace(line.waiting.len());
            next
        };
        if let Some(next) = next {
            // Where nobody waits any more the turn comes back, is dropped, and goes to who is next.
            let _ = next.go.send(Turn::begin(&self.turns));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const SOON: Duration = Duration::from_millis(20);
    const LONG: Duration = Duration::from_secs(60);

    fn turns() -> Arc<Turns> {
        Arc::new(Turns::of(SOON, LONG))
    }

    fn from(address: usize) -> Origin {
        Origin::of(Ipv4Addr::from_bits(0x0a00_0000 + address as u32).into())
    }

    /// Begins to wait, from there, with that many failures.
    async fn waits(turns: &Arc<Turns>, address: usize, failures: u32) -> tokio::task::JoinHandle<Option<Turn>> {
        let (line, before) = (Arc::clone(turns), *turns.waiting.borrow());
        let mut waiting = turns.waiting.subscribe();
        let task = tokio::spawn(async move { line.take(from(address), failures).await });
        waiting.wait_for(|waiting| *waiting > before).await.unwrap();
        task
    }

    #[tokio::test]
    async fn who_has_failed_least_is_next_and_then_who_came_first() {
        let turns = turns();
        let first = turns.take(from(0), 9).await.unwrap();
        let tasks = [waits(&turns, 1, 2).await, waits(&turns, 2, 0).await, waits(&turns, 3, 0).await];
        assert!(turns.take(from(2), 0).await.is_none(), "another waits from there");
        drop(first);
        let mut order = Vec::new();
        let [one, two, three] = tasks;
        for (number, task) in [(2, two), (3, three), (1, one)] {
            let turn = task.await.unwrap().expect("a turn");
            order.push(number);
            drop(turn);
        }
        assert_eq!(order, [2, 3, 1]);
        assert!(turns.take(from(9), 0).await.is_some(), "nobody has it");
    }

    #[tokio::test]
    async fn a_turn_is_over_only_where_others_wait() {
        let turns = turns();
        let turn = turns.take(from(0), 0).await.unwrap();
        assert!(timeout(10 * SOON, turn.is_over()).await.is_err());
        let next = waits(&turns, 1, 0).await;
        turn.is_over().await;
        drop(turn);
        assert!(next.await.unwrap().is_some());
    }

    #[tokio::test]
    async fn who_waits_too_long_or_goes_away_is_passed_over() {
        let turns = turns();
        let turn = turns.take(from(0), 0).await.unwrap();
        let gone = waits(&turns, 1, 0).await;
        gone.abort();
        assert!(gone.await.is_err());
        drop(turn);
        let turn = turns.take(from(1), 0).await;
        assert!(turn.is_some());

        let hasty = Arc::new(Turns::of(LONG, SOON));
        let _turn = hasty.take(from(0), 0).await;
        assert!(hasty.take(from(2), 0).await.is_none());
    }

    #[tokio::test]
    async fn the_line_is_bounded_and_who_has_failed_makes_room_for_who_has_not() {
        let turns = turns();
        let turn = turns.take(from(0), 0).await.unwrap();
        let mut tasks = Vec::new();
        for address in 1..=PAIRING_TURNS_WAITING_MAX {
            tasks.push(waits(&turns, address, 1).await);
        }
        assert!(turns.take(from(1_000), 1).await.is_none());
        let fresh = tokio::spawn({
            let turns = Arc::clone(&turns);
            async move { turns.take(from(1_001), 0).await }
        });
        assert!(tasks.pop().unwrap().await.unwrap().is_none(), "the last of those who have failed most");
        drop(turn);
        assert!(fresh.await.unwrap().is_some());
        assert!(turns.line().waiting.len() < PAIRING_TURNS_WAITING_MAX);
    }
}
