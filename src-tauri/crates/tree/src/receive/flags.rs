//! What the lanes and the end tell each other.
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::failures::LaneError;
use crate::descriptors::wait_to_open;

/// What the lanes and the end tell each other.
#[derive(Default)]
pub(super) struct Flags {
    pub(super) is_cancelled: AtomicBool,
    /// Names are given: the point of no return.
    is_naming: Mutex<bool>,
    pub(super) is_full: AtomicBool,
    /// Everything is written and is being read back.
    pub(super) is_proving: AtomicBool,
    /// Everything has its final name, and the staging folder could not be removed.
    pub(super) is_left_behind: AtomicBool,
}

impl Flags {
    /// Whether nobody has stopped it.
    pub(super) fn goes_on(&self) -> bool {
        !self.is_cancelled.load(Ordering::Relaxed)
    }

    /// Stops it, if it is not too late.
    pub(super) fn cancel(&self) -> bool {
        let is_naming = self.is_naming.lock();
        if !*is_naming {
            self.is_cancelled.store(true, Ordering::Relaxed);
        }
        !*is_naming
    }

    /// Passes the point of no return, unless it was stopped or may not.
    pub(super) fn begin_naming(&self, may_name: impl FnOnce() -> bool) -> bool {
        let mut is_naming = self.is_naming.lock();
        *is_naming = self.goes_on() && may_name();
        *is_naming
    }

    /// Opens something, waiting for descriptors where there are none.
    pub(super) fn wait_to_open<T>(&self, open: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        wait_to_open(|| self.goes_on(), open)
    }

    /// Lets the other lanes know what ended this one.
    pub(super) fn stopped_by(&self, error: LaneError) -> LaneError {
        if matches!(error, LaneError::DestinationFull) {
            self.is_full.store(true, Ordering::Relaxed);
        }
        error
    }
}
