//! Whether a copy's threads go on, rest or end: what each of them asks between two steps.
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use super::observer::Observer;

const RUNNING: u8 = 0;
const PAUSED: u8 = 1;
const ENDED: u8 = 2;

/// All threads of a copy pass it. Asking costs one load while it is open.
pub(super) struct Control {
    state: AtomicU8,
    /// Held by who changes the state, and by who looks at it before waiting for a change.
    changing: Mutex<()>,
    changed: Condvar,
    /// Told of each thread that begins to rest.
    observer: Arc<dyn Observer>,
}

impl Control {
    pub(super) fn new(observer: Arc<dyn Observer>) -> Self {
        Self { state: AtomicU8::new(RUNNING), changing: Mutex::new(()), changed: Condvar::new(), observer }
    }

    /// Whether to end. Rests before it answers, while the copy is paused.
    pub(super) fn must_end(&self) -> bool {
        match self.state.load(Ordering::Relaxed) {
            RUNNING => false,
            ENDED => true,
            _ => self.rest(|| false),
        }
    }

    /// The same for a thread that is also to end with `over`, which [`Control::wake`] tells of.
    pub(super) fn must_end_with(&self, over: &AtomicBool) -> bool {
        let over = || over.load(Ordering::Acquire);
        over() || (self.state.load(Ordering::Relaxed) != RUNNING && (self.rest(over) || over()))
    }

    /// Whether it was ended, without resting.
    pub(super) fn is_ended(&self) -> bool {
        self.state.load(Ordering::Relaxed) == ENDED
    }

    #[cold]
    fn rest(&self, over: impl Fn() -> bool) -> bool {
        self.observer.thread_paused();
        let mut changing = self.changing.lock();
        let paused = |_: &mut ()| self.state.load(Ordering::Relaxed) == PAUSED && !over();
        self.changed.wait_while(&mut changing, paused);
        drop(changing);
        self.is_ended()
    }

    /// Lets everybody rest, unless they are to end.
    pub(super) fn pause(&self) {
        self.change(RUNNING, PAUSED);
    }

    /// Lets those go on who rest.
    pub(super) fn resume(&self) {
        self.change(PAUSED, RUNNING);
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

    /// Threads ask a closed control, `then` happens to it, and all of them answer.
    fn answers(then: impl Fn(&Control, &AtomicBool)) -> Vec<bool> {
        const THREADS: usize = 4;
        let (control, over) = (Control::new(Arc::new(Unobserved)), AtomicBool::new(false));
        control.pause();
        let (tell, told) = channel();
        std::thread::scope(|scope| {
            for number in 0..THREADS {
                let (control, over, tell) = (&control, &over, tell.clone());
                scope.spawn(move || {
                    tell.send(if number == 0 { control.must_end_with(over) } else { control.must_end() })
                });
            }
            assert!(told.recv_timeout(Duration::from_millis(100)).is_err(), "nobody passes");
            then(&control, &over);
            (0..THREADS).map(|_| told.recv_timeout(crate::deadline::DEADLINE).unwrap()).collect()
        })
    }

    #[test]
    fn who_rests_goes_on_when_it_opens() {
        assert_eq!(answers(|control, _| control.resume()), [false; 4]);
    }

    #[test]
    fn who_rests_is_ended() {
        assert_eq!(answers(|control, _| control.end()), [true; 4]);
    }

    #[test]
    fn who_is_to_end_with_something_else_rests_no_longer_than_that() {
        let mut answers = answers(|control, over| {
            over.store(true, Ordering::Release);
            control.wake();
            control.resume();
        });
        answers.sort();
        assert_eq!(answers, [false, false, false, true]);
    }

    #[test]
    fn what_has_ended_neither_closes_nor_opens() {
        let control = Control::new(Arc::new(Unobserved));
        control.end();
        control.pause();
        assert!(control.must_end() && control.is_ended());
        control.resume();
        assert!(control.must_end() && control.is_ended());
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
        let control = Control::new(Arc::new(Resting(tell)));
        control.pause();
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| control.must_end());
            told.recv_timeout(crate::deadline::DEADLINE).unwrap();
            control.resume();
            assert!(!thread.join().unwrap());
        });
    }
}
