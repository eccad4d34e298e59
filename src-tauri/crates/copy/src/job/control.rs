//! Pausing, resuming and stopping: the state that each of a copy's threads checks between two
//! steps.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use parking_lot::{Condvar, Mutex};

use crate::observer::Observer;

const RUNNING: u8 = 0;
const PAUSED: u8 = 1;
const ENDED: u8 = 2;

/// The state of a copy. Checking it costs one relaxed load while the copy runs.
pub(crate) struct Control {
    state: AtomicU8,
    /// Held while the state is changed, and while a thread checks it before it waits for a change.
    changing: Mutex<()>,
    changed: Condvar,
    /// Gets each thread that pauses.
    observer: Arc<dyn Observer>,
}

impl Control {
    pub(crate) fn new(observer: Arc<dyn Observer>) -> Self {
        Self { state: AtomicU8::new(RUNNING), changing: Mutex::new(()), changed: Condvar::new(), observer }
    }

    /// Whether the thread must end. While the copy is paused, it waits before it answers.
    pub(crate) fn must_end(&self) -> bool {
        match self.state.load(Ordering::Relaxed) {
            RUNNING => false,
            ENDED => true,
            _ => self.wait(|| false),
        }
    }

    /// The same for a thread that also ends once `over` is set. [`Control::wake`] must follow that.
    pub(crate) fn must_end_with(&self, over: &AtomicBool) -> bool {
        let over = || over.load(Ordering::Acquire);
        over() || (self.state.load(Ordering::Relaxed) != RUNNING && (self.wait(over) || over()))
    }

    /// Whether the copy was ended. It never waits.
    pub(crate) fn is_ended(&self) -> bool {
        self.state.load(Ordering::Relaxed) == ENDED
    }

    #[cold]
    fn wait(&self, over: impl Fn() -> bool) -> bool {
        self.observer.thread_paused();
        let mut changing = self.changing.lock();
        let paused = |_: &mut ()| self.state.load(Ordering::Relaxed) == PAUSED && !over();
        self.changed.wait_while(&mut changing, paused);
        drop(changing);
        self.is_ended()
    }

    /// Pauses all threads, unless the copy has ended.
    pub(crate) fn pause(&self) {
        self.change(RUNNING, PAUSED);
    }

    /// Resumes the threads that are paused.
    pub(crate) fn resume(&self) {
        self.change(PAUSED, RUNNING);
    }

    /// Ends all threads, also those that are paused.
    pub(crate) fn end(&self) {
        // Release: a thread that sees this also sees the reason.
        self.state.store(ENDED, Ordering::Release);
        self.wake();
    }

    /// Makes the paused threads check again.
    pub(crate) fn wake(&self) {
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
    use crate::observer::{Amount, Unobserved};
    use ringway_model::Failure;
    use std::sync::mpsc::{Sender, channel};
    use std::time::Duration;

    /// Threads check a paused control; then `then` is called, and all of them return their answers.
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
    fn paused_threads_continue_after_resume() {
        assert_eq!(answers(|control, _| control.resume()), [false; 4]);
    }

    #[test]
    fn ending_wakes_paused_threads() {
        assert_eq!(answers(|control, _| control.end()), [true; 4]);
    }

    #[test]
    fn a_paused_thread_ends_once_its_own_flag_is_set() {
        let mut answers = answers(|control, over| {
            over.store(true, Ordering::Release);
            control.wake();
            control.resume();
        });
        answers.sort();
        assert_eq!(answers, [false, false, false, true]);
    }

    #[test]
    fn pause_and_resume_do_nothing_after_the_end() {
        let control = Control::new(Arc::new(Unobserved));
        control.end();
        control.pause();
        assert!(control.must_end() && control.is_ended());
        control.resume();
        assert!(control.must_end() && control.is_ended());
    }

    /// Sends a message when a thread has paused.
    struct Paused(Sender<()>);

    impl Observer for Paused {
        fn entry_failed(&self, _: Failure) {}
        fn thread_paused(&self) {
            self.0.send(()).unwrap();
        }
        fn verification_started(&self, _: Amount) {}
        fn copying_resumed(&self) {}
    }

    #[test]
    fn the_observer_is_told_of_each_paused_thread() {
        let (tell, told) = channel();
        let control = Control::new(Arc::new(Paused(tell)));
        control.pause();
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| control.must_end());
            told.recv_timeout(crate::deadline::DEADLINE).unwrap();
            control.resume();
            assert!(!thread.join().unwrap());
        });
    }
}
