//! Waiting in tests: each wait has a deadline, after which the test fails instead of hanging.
//! Included by the test programs that wait.
// Each program uses a part of this.
#![allow(dead_code)]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Far longer than anything takes on a busy machine.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// Waits until the condition is true; fails the test if it is not by the deadline. Not for a test
/// in which other threads must be released first: see [`comes`].
pub(crate) fn until(what: &str, is_so: impl FnMut() -> bool) {
    assert!(comes(is_so), "waited in vain until {what}");
}

/// Waits until the condition is true; false if it is not by the deadline. For tests that have to
/// release other threads before they fail.
pub(crate) fn comes(mut is_so: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    while !is_so() {
        if begun.elapsed() > DEADLINE {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

/// For a thread that works until the test is over: false once it is, and after the deadline, so
/// that the thread also ends if the test fails before it can say so.
pub(crate) fn while_not(over: &AtomicBool) -> impl Fn() -> bool + '_ {
    let begun = Instant::now();
    move || !over.load(Ordering::Relaxed) && begun.elapsed() < DEADLINE
}
