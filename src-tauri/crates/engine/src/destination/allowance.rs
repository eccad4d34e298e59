//! How much a transfer may bring that nobody was asked about: held to as its bytes come, whatever its sender says of them.
use std::sync::atomic::{AtomicU64, Ordering};

use super::Incoming;
use super::trouble::LaneError;

/// Bytes that may come, over all sessions of a transfer. What has to be sent again after a lost connection counts again.
pub(crate) struct Allowance {
    bytes_max: u64,
    taken: AtomicU64,
}

impl Allowance {
    /// Of so many bytes.
    pub(crate) fn new(bytes_max: u64) -> Self {
        Self { bytes_max, taken: AtomicU64::new(0) }
    }

    /// Takes so many of them; false if there are not as many.
    fn take(&self, bytes: u64) -> bool {
        let taken = |taken: u64| taken.checked_add(bytes).filter(|taken| *taken <= self.bytes_max);
        self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).is_ok()
    }
}

impl Incoming {
    /// Books bytes that are about to be written: contents, whether they come or are copied from what they replace, and extended attributes.
    pub(super) fn take(&self, bytes: u64) -> Result<(), LaneError> {
        match &self.options.allowance {
            Some(allowance) if bytes > 0 && !allowance.take(bytes) => {
                Err(self.stopped_by(LaneError::TooMuch { bytes_max: allowance.bytes_max }))
            }
            _ => Ok(()),
        }
    }

    /// Whether more has come than may.
    pub(super) fn check_allowed(&self) -> Result<(), LaneError> {
        match &self.options.allowance {
            Some(allowance) if self.too_much.load(Ordering::Relaxed) => {
                Err(LaneError::TooMuch { bytes_max: allowance.bytes_max })
            }
            _ => Ok(()),
        }
    }

    /// What may come, in bytes, if what is to come is more.
    pub(crate) fn exceeded_by(&self, bytes: u64) -> Option<u64> {
        let bytes_max = self.options.allowance.as_ref()?.bytes_max;
        (bytes > bytes_max).then_some(bytes_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_given_and_what_is_not_is_not_taken() {
        let allowance = Allowance::new(10);
        assert!(allowance.take(6) && !allowance.take(5) && allowance.take(4) && !allowance.take(1));
        assert!(!allowance.take(u64::MAX) && allowance.take(0));
    }

    #[test]
    fn threads_that_take_at_once_get_no_more_together() {
        let allowance = Allowance::new(1_000);
        let took: usize = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..4).map(|_| scope.spawn(|| (0..500).filter(|_| allowance.take(3)).count())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(took, 333);
    }
}
