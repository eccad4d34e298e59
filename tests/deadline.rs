//! Waiting in tests: what is waited for has a deadline, after which the test fails instead of
//! hanging. Included by the test programs that wait.
// Each program uses some of it.
#![allow(dead_code)]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Far more than anything takes on a busy machine.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// Waits until that is so; fails the test where it never is. Not for a test that others then wait
/// for: see [`comes`].
pub(crate) fn until(what: &str, is_so: impl FnMut() -> bool) {
    assert!(comes(is_so), "waited in vain until {what}");
}

/// Waits until that is so; false if it is not by the deadline. For tests that have to let other
/// threads go before they fail.
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

/// For a thread that is at work until the test is over: false once it is, and after the deadline,
/// so that the thread ends where the test failed before it could say so.
pub(crate) fn while_not(over: &AtomicBool) -> impl Fn() -> bool + '_ {
    let begun = Instant::now();
    move || !over.load(Ordering::Relaxed) && begun.elapsed() < DEADLINE
}
