//! How many pages of an answer the other end wants now. The thread that makes them waits for it.
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use tokio::sync::Notify;

use crate::limits::ANSWER_PAUSE_MAX;

/// The pages that may be sent of one answer.
pub(super) struct Credit {
    state: Mutex<State>,
    changed: Condvar,
    ended: Notify,
}

struct State {
    pages: u32,
    has_ended: bool,
}

impl Credit {
    pub(super) fn new(pages: u8) -> Self {
        let state = Mutex::new(State { pages: pages.into(), has_ended: false });
        Self { state, changed: Condvar::new(), ended: Notify::new() }
    }

    /// So many more.
    pub(super) fn add(&self, pages: u8) {
        let mut state = self.state.lock();
        state.pages = state.pages.saturating_add(pages.into());
        drop(state);
        self.changed.notify_all();
    }

    /// Nothing more is wanted.
    pub(super) fn end(&self) {
        self.state.lock().has_ended = true;
        self.changed.notify_all();
        self.ended.notify_one();
    }

    /// Waits until nothing more is wanted; one task at a time.
    pub(super) async fn ended(&self) {
        self.ended.notified().await;
    }

    pub(super) fn has_ended(&self) -> bool {
        self.state.lock().has_ended
    }

    /// Waits until a page may be sent; false if none is wanted any more, or for too long.
    pub(super) fn take(&self) -> bool {
        let until = Instant::now() + ANSWER_PAUSE_MAX;
        let mut state = self.state.lock();
        while state.pages == 0 && !state.has_ended {
            if self.changed.wait_until(&mut state, until).timed_out() {
                return false;
            }
        }
        if state.has_ended {
            return false;
        }
        state.pages -= 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn pages_are_taken_as_they_are_wanted_until_the_end() {
        let credit = Arc::new(Credit::new(2));
        assert!(credit.take() && credit.take());
        let waits = Arc::clone(&credit);
        let thread = std::thread::spawn(move || (waits.take(), waits.take()));
        credit.add(1);
        while credit.state.lock().pages > 0 {
            std::thread::yield_now();
        }
        credit.end();
        assert_eq!(thread.join().unwrap(), (true, false));
        credit.add(1);
        assert!(!credit.take() && credit.has_ended());
    }
}
