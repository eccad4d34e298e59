//! The tools and settings with which all modes are measured.
use std::io;
use std::sync::atomic::AtomicBool;

use crate::loopback::Wire;
use crate::meter::Counting;
use crate::options::ModesOptions;
use crate::work::{Work, check};

/// The tools and settings with which all modes are measured.
pub(crate) struct Bench<'b> {
    pub(crate) options: &'b ModesOptions,
    pub(crate) wire: Wire,
    pub(crate) work: &'b Work,
    pub(crate) counting: Counting,
    pub(crate) stop: &'b AtomicBool,
}

impl Bench<'_> {
    /// Ends a thread's work if the measurement is stopped.
    pub(crate) fn check(&self) -> io::Result<()> {
        check(self.stop)
    }
}
