//! The results of a transfer so far: arrived, failed and kept entries.
use ringway_model::{Edit, Failure};
use ringway_wire::control::Progress;

use super::failures::{Failures, Tally, There};
use super::merge::edits::Edits;

/// Its results so far.
#[derive(Default)]
pub struct Results {
    pub(super) tally: Tally,
    pub(super) failures: Failures,
    /// Files of the receiver that were kept because they were changed here.
    pub(super) edits: Edits,
}

impl Results {
    /// What has been written so far.
    pub fn progress(&self) -> Progress {
        self.tally.progress()
    }

    /// Entries that failed so far.
    pub fn failed(&self) -> u64 {
        self.failures.count()
    }

    /// Those of them not yet taken, by name; beyond [`ringway_wire::limits::FAILURES_NAMED_MAX`]
    /// they are only counted.
    pub fn take_failures(&self) -> Vec<Failure> {
        self.failures.take()
    }

    /// Files and links that have come, of those that are there.
    pub fn came(&self) -> u64 {
        let There { counts, unchanged, skipped, .. } = self.tally.there();
        (counts.files + counts.links).saturating_sub(unchanged + skipped)
    }

    /// The receiver's edited files that were kept, those not yet taken, by name; beyond a number
    /// they are only counted.
    pub fn take_edits(&self) -> Vec<Edit> {
        self.edits.take()
    }

    /// Files that were kept because the receiver changed them.
    pub fn edited(&self) -> u64 {
        self.edits.count()
    }

    /// Bytes that were copied from what their files replace, instead of coming.
    pub fn reused(&self) -> u64 {
        self.tally.all_reused()
    }

    /// Bytes of what there is, whole or not, that were sent in this session.
    pub fn moved(&self) -> u64 {
        self.tally.progress().bytes.saturating_sub(self.tally.all_spared())
    }
}
