//! Tasks for the copy's threads. Each thread takes its own newest task, so that it works depth
//! first in its own folders. If it has none, it takes another's oldest, which is a whole folder.
use std::collections::VecDeque;

use parking_lot::{Condvar, Mutex};

/// One deque per worker, under one lock. A task is a folder or hundreds of files, so the lock is
/// rarely taken.
pub(crate) struct Queue<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

struct State<T> {
    deques: Vec<VecDeque<T>>,
    idle: usize,
    /// Workers that have not started, or never will.
    absent: usize,
    closed: bool,
}

impl<T> Queue<T> {
    /// A queue for up to this many workers, none of which has started.
    pub(crate) fn new(workers: usize) -> Self {
        let deques = (0..workers).map(|_| VecDeque::new()).collect();
        Self { state: Mutex::new(State { deques, idle: 0, absent: workers, closed: false }), changed: Condvar::new() }
    }

    /// Puts tasks on the worker's deque. The worker itself takes the last one first.
    pub(crate) fn push(&self, worker: usize, tasks: impl IntoIterator<Item = T>) {
        let mut state = self.state.lock();
        state.deques[worker].extend(tasks);
        let wake = state.idle > 0;
        drop(state);
        if wake {
            self.changed.notify_all();
        }
    }

    /// The next task. Waits while another worker may still add some. `None` when all tasks are
    /// done, or the queue is closed.
    pub(crate) fn next(&self, worker: usize) -> Option<T> {
        let mut state = self.state.lock();
        loop {
            if state.closed {
                return None;
            }
            if let Some(task) = state.deques[worker].pop_back() {
                return Some(task);
            }
            let workers = state.deques.len();
            let others = (1..workers).map(|step| (worker + step) % workers);
            if let Some(task) = others.into_iter().find_map(|other| state.deques[other].pop_front()) {
                return Some(task);
            }
            if state.idle + state.absent + 1 >= workers {
                state.closed = true;
                drop(state);
                self.changed.notify_all();
                return None;
            }
            state.idle += 1;
            self.changed.wait(&mut state);
            state.idle -= 1;
        }
    }

    /// Whether a worker waits for a task, or could be started for one.
    pub(crate) fn is_hungry(&self) -> bool {
        let state = self.state.lock();
        state.idle + state.absent > 0 && state.deques.iter().all(VecDeque::is_empty)
    }

    /// Allows this many more workers.
    pub(crate) fn widen(&self, more: usize) {
        let mut state = self.state.lock();
        state.deques.extend((0..more).map(|_| VecDeque::new()));
        state.absent += more;
    }

    /// Notes that a worker has started. Idle workers then wait for tasks that it may add.
    pub(crate) fn arrive(&self) {
        self.state.lock().absent -= 1;
    }

    /// Ends the waiting of all workers and returns the remaining tasks, to be dropped without the
    /// lock.
    pub(crate) fn close(&self) -> Vec<T> {
        let mut state = self.state.lock();
        state.closed = true;
        let left = state.deques.iter_mut().flat_map(std::mem::take).collect();
        drop(state);
        self.changed.notify_all();
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn a_worker_takes_its_newest_and_another_the_oldest() {
        let queue = Queue::new(2);
        queue.push(0, [1, 2, 3]);
        assert_eq!(queue.next(0), Some(3));
        assert_eq!(queue.next(1), Some(1));
        assert_eq!(queue.next(1), Some(2));
    }

    #[test]
    fn the_queue_ends_once_no_worker_can_add_tasks() {
        let queue = Queue::new(4);
        let done = AtomicU64::new(0);
        queue.push(0, [6u64]);
        std::thread::scope(|scope| {
            for worker in 0..4 {
                let (queue, done) = (&queue, &done);
                queue.arrive();
                scope.spawn(move || {
                    while let Some(depth) = queue.next(worker) {
                        done.fetch_add(1, Ordering::Relaxed);
                        if depth > 0 {
                            queue.push(worker, [depth - 1, depth - 1]);
                        }
                    }
                });
            }
        });
        assert_eq!(done.into_inner(), (1 << 7) - 1);
    }

    #[test]
    fn a_single_worker_ends_without_absent_workers() {
        let queue = Queue::new(3);
        queue.arrive();
        queue.push(0, [1]);
        assert!(!queue.is_hungry(), "there is something to take");
        assert_eq!(queue.next(0), Some(1));
        assert!(queue.is_hungry(), "others could be called");
        assert_eq!(queue.next(0), None);
    }

    #[test]
    fn closing_wakes_waiting_workers_and_returns_the_rest() {
        let queue = Queue::new(2);
        queue.push(0, [1, 2]);
        assert_eq!(queue.close(), [1, 2]);
        assert_eq!(queue.next(1), None);
    }
}
