//! How much a transfer may bring: by a rule, or by what a person saw when they accepted it. It is
//! held to as its bytes come, whatever its sender says.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use ringway_model::ShownSize;
use ringway_wire::control::Totals;

use super::failures::LaneError;
use crate::limits::{ACCEPTED_GROWTH, ACCEPTED_GROWTH_MIN, ACCEPTED_MARGIN_MIN, ACCEPTED_MARGIN_PART};

/// Bytes that may come by a yes to an offer of that size.
pub fn covered_by(shown: ShownSize) -> u64 {
    let margin = match shown.is_final {
        true => (shown.bytes / ACCEPTED_MARGIN_PART).max(ACCEPTED_MARGIN_MIN),
        false => shown.bytes.saturating_mul(ACCEPTED_GROWTH - 1).max(ACCEPTED_GROWTH_MIN),
    };
    shown.bytes.saturating_add(margin)
}

/// Bytes that may come, over all sessions of a transfer. What has to be sent again after a lost
/// connection counts again.
pub struct Allowance {
    bytes_max: AtomicU64,
    /// A person accepted it, so that its final size bounds it, too.
    is_shown: bool,
    taken: AtomicU64,
}

impl Allowance {
    /// What a rule lets in, and what a person saw when they accepted; none is any number.
    pub fn of(bytes_max: Option<u64>, shown: Option<ShownSize>) -> Option<Self> {
        let shown = shown.map(covered_by);
        let bytes_max = bytes_max.into_iter().chain(shown).min()?;
        Some(Self { bytes_max: bytes_max.into(), is_shown: shown.is_some(), taken: AtomicU64::new(0) })
    }

    /// Bytes that may come in all.
    fn bytes_max(&self) -> u64 {
        self.bytes_max.load(Ordering::Relaxed)
    }

    /// What its sender says it has found in the end bounds what a person accepted before that was
    /// known.
    fn is_known(&self, found: Totals) {
        if found.complete && self.is_shown {
            let covered = covered_by(ShownSize { bytes: found.bytes, is_final: true });
            self.bytes_max.fetch_min(covered, Ordering::Relaxed);
        }
    }

    /// Takes so many of them; false if there are not as many.
    fn take(&self, bytes: u64) -> bool {
        let taken = |taken: u64| taken.checked_add(bytes).filter(|taken| *taken <= self.bytes_max());
        self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).is_ok()
    }
}

/// What may still come in this session.
pub(super) struct Quota {
    /// None is any amount.
    allowance: Option<Arc<Allowance>>,
    /// More has come than may.
    is_exceeded: AtomicBool,
}

impl Quota {
    pub(super) fn new(allowance: Option<Arc<Allowance>>) -> Self {
        Self { allowance, is_exceeded: AtomicBool::new(false) }
    }

    /// Books bytes that are about to be written: contents, whether they come or are copied from
    /// what they replace, and extended attributes.
    pub(super) fn take(&self, bytes: u64) -> Result<(), LaneError> {
        match &self.allowance {
            Some(allowance) if bytes > 0 && !allowance.take(bytes) => {
                self.is_exceeded.store(true, Ordering::Relaxed);
                Err(LaneError::TooMuch { bytes_max: allowance.bytes_max() })
            }
            _ => Ok(()),
        }
    }

    /// Books bytes that are to be copied from what has come, if as many may come. If not, that
    /// concerns nothing else.
    pub(super) fn may_take(&self, bytes: u64) -> bool {
        self.allowance.as_ref().is_none_or(|allowance| allowance.take(bytes))
    }

    /// Whether more has come than may.
    pub(super) fn check(&self) -> Result<(), LaneError> {
        match &self.allowance {
            Some(allowance) if self.is_exceeded.load(Ordering::Relaxed) => {
                Err(LaneError::TooMuch { bytes_max: allowance.bytes_max() })
            }
            _ => Ok(()),
        }
    }

    /// What may come, in bytes, if what is to come is more.
    pub(super) fn exceeded_by(&self, found: Totals) -> Option<u64> {
        let allowance = self.allowance.as_ref()?;
        let bytes_max = allowance.bytes_max();
        allowance.is_known(found);
        (found.bytes > bytes_max).then_some(bytes_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes_max: u64) -> Allowance {
        Allowance::of(Some(bytes_max), None).unwrap()
    }

    #[test]
    fn what_a_person_saw_bounds_what_may_come() {
        const MIB: u64 = 1 << 20;
        let shown = |bytes, is_final| covered_by(ShownSize { bytes, is_final });
        assert_eq!(shown(9, true), 9 + 32 * MIB, "9 bytes never become gigabytes");
        assert_eq!(shown(1_000 * MIB, true), 1_250 * MIB);
        assert_eq!(shown(9, false), 9 + 1_024 * MIB);
        assert_eq!(shown(10_000 * MIB, false), 40_000 * MIB);
        assert_eq!([shown(u64::MAX, true), shown(u64::MAX, false)], [u64::MAX; 2]);
        assert!(Allowance::of(None, None).is_none());
    }

    #[test]
    fn the_final_size_bounds_what_a_person_accepted_while_it_was_counted() {
        let shown = Some(ShownSize { bytes: 9, is_final: false });
        let by = |bytes_max| Allowance::of(bytes_max, shown).unwrap();
        let allowance = by(None);
        allowance.is_known(Totals { entries: 1, bytes: 100, complete: false });
        assert_eq!(allowance.bytes_max(), 9 + (1 << 30));
        allowance.is_known(Totals { entries: 1, bytes: 100, complete: true });
        assert_eq!(allowance.bytes_max(), 100 + (32 << 20));
        allowance.is_known(Totals { entries: 1, bytes: 1 << 40, complete: true });
        assert_eq!(allowance.bytes_max(), 100 + (32 << 20), "it never grows again");
        assert_eq!(by(Some(5)).bytes_max(), 5, "a rule's size holds as well");
        let rule = of(5);
        rule.is_known(Totals { entries: 1, bytes: 1, complete: true });
        assert_eq!(rule.bytes_max(), 5);
    }

    #[test]
    fn what_is_left_is_given_and_what_is_not_is_not_taken() {
        let allowance = of(10);
        assert!(allowance.take(6) && !allowance.take(5) && allowance.take(4) && !allowance.take(1));
        assert!(!allowance.take(u64::MAX) && allowance.take(0));
    }

    #[test]
    fn threads_that_take_at_once_get_no_more_together() {
        let allowance = of(1_000);
        let took: usize = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..4).map(|_| scope.spawn(|| (0..500).filter(|_| allowance.take(3)).count())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(took, 333);
    }
}
