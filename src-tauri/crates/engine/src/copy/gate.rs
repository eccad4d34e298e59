//! Whether a copy's threads go on, rest or end: what each of them asks between two steps.
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use super::observer::Observer;

const OPEN: u8 = 0;
const CLOSED: u8 = 1;
const ENDED: u8 = 2;

/// All threads of a copy pass it. Asking costs one load while it is open.
pub(super) struct Gate {
    state: AtomicU8,
    /// Held by who changes the state, and by who looks at it before waiting for a change.
    changing: Mutex<()>,
    changed: Condvar,
    /// Told of each thread that begins to rest.
    observer: Arc<dyn Observer>,
}

impl Gate {
    pub(super) fn new(observer: Arc<dyn Observer>) -> Self {
        Self { state: AtomicU8::new(OPEN), changing: Mutex::new(()), changed: Condvar::new(), observer }
    }

    /// Whether to end. Rests before it answers, while the copy is paused.
    pub(super) fn must_end(&self) -> bool {
        match self.state.load(Ordering::Relaxed) {
            OPEN => false,
            ENDED => true,
            _ => self.rest(|| false),
        }
    }

    /// The same for a thread that is also to end with `over`, which [`Gate::wake`] tells of.
    pub(super) fn must_end_with(&self, over: &AtomicBool) -> bool {
        let over = || over.load(Ordering::Acquire);
        over() || (self.state.load(Ordering::Relaxed) != OPEN && (self.rest(over) || over()))
    }

    /// Whether it was ended, without resting.
    pub(super) fn is_ended(&self) -> bool {
        self.state.load(Ordering::Relaxed) == ENDED
    }

    #[cold]
    fn rest(&self, over: impl Fn() -> bool) -> bool {
        self.observer.thread_paused();
        let mut changing = self.changing.lock();
        let closed = |_: &mut ()| self.state.load(Ordering::Relaxed) == CLOSED && !over();
        self.changed.wait_while(&mut changing, closed);
        drop(changing);
        self.is_ended()
    }

    /// Lets everybody rest, unless they are to end.
    pub(super) fn close(&self) {
        self.change(OPEN, CLOSED);
    }

    /// Lets those go on who rest.
    pub(super) fn open(&self) {
        self.change(CLOSED, OPEN);
    }

    /// Has everybody end, also who rests.
    pub(super) fn end(&self) {
        // Release: who is told to end finds out why.
        self.state.store(ENDED, Ordering::Release);
        self.wake();
    }

    /// Has those who rest look again.
    pub(super) fn wake(&self) {
        drop(self.changing.lock());
        self.changed.notify_all();
    }

    fn change(&self, from: u8, to: u8) {
        if self.state.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            self.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::copy::handle::Amount;
    use crate::copy::observer::Unobserved;
    use crate::error::Failure;
    use std::sync::mpsc::{Sender, channel};
    use std::time::Duration;

    /// Threads ask a closed gate, `then` happens to it, and all of them answer.
    fn answers(then: impl Fn(&Gate, &AtomicBool)) -> Vec<bool> {
        const THREADS: usize = 4;
        let (gate, over) = (Gate::new(Arc::new(Unobserved)), AtomicBool::new(false));
        gate.close();
        let (tell, told) = channel();
        std::thread::scope(|scope| {
            for number in 0..THREADS {
                let (gate, over, tell) = (&gate, &over, tell.clone());
                scope.spawn(move || tell.send(if number == 0 { gate.must_end_with(over) } else { gate.must_end() }));
            }
            assert!(told.recv_timeout(Duration::from_millis(100)).is_err(), "nobody passes");
            then(&gate, &over);
            (0..THREADS).map(|_| told.recv_timeout(crate::deadline::DEADLINE).unwrap()).collect()
        })
    }

    #[test]
    fn who_rests_goes_on_when_it_opens() {
        assert_eq!(answers(|gate, _| gate.open()), [false; 4]);
    }

    #[test]
    fn who_rests_is_ended() {
        assert_eq!(answers(|gate, _| gate.end()), [true; 4]);
    }

    #[test]
    fn who_is_to_end_with_something_else_rests_no_longer_than_that() {
        let mut answers = answers(|gate, over| {
            over.store(true, Ordering::Release);
            gate.wake();
            gate.open();
        });
        answers.sort();
        assert_eq!(answers, [false, false, false, true]);
    }

    #[test]
    fn what_has_ended_neither_closes_nor_opens() {
        let gate = Gate::new(Arc::new(Unobserved));
        gate.end();
        gate.close();
        assert!(gate.must_end() && gate.is_ended());
        gate.open();
        assert!(gate.must_end() && gate.is_ended());
    }

    /// Passes on that a thread rests.
    struct Resting(Sender<()>);

    impl Observer for Resting {
        fn entry_failed(&self, _: Failure) {}
        fn thread_paused(&self) {
            self.0.send(()).unwrap();
        }
        fn verification_started(&self, _: Amount) {}
        fn copying_resumed(&self) {}
    }

    #[test]
    fn a_thread_that_rests_is_told_of() {
        let (tell, told) = channel();
        let gate = Gate::new(Arc::new(Resting(tell)));
        gate.close();
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| gate.must_end());
            told.recv_timeout(crate::deadline::DEADLINE).unwrap();
            gate.open();
            assert!(!thread.join().unwrap());
        });
    }
}
