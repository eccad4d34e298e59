//! A transfer's progress for those who show it, until it has ended.
use std::time::Duration;

use ringway_engine::Transfer;
use ringway_model::Stage;

use super::{Transfers, status_of};
use crate::dto::Update;

/// Between two looks at a transfer whose stage stays. Nobody reads figures that change more often,
/// and drawing one look costs a window more than 10 ms of processor time (docs/benchmarks.md).
const TICK_EVERY: Duration = Duration::from_millis(400);

/// And of one that is paused, of which only what is missing and the time that is left change.
const PAUSED_TICK_EVERY: Duration = Duration::from_secs(1);

impl Transfers {
    /// Hands a transfer's progress to `show` until it has ended or `show` says that nobody looks
    /// any more, then its end.
    pub(crate) async fn watch(&self, transfer: Transfer, mut show: impl FnMut(Update) -> bool) {
        let mut stages = transfer.stages();
        let mut is_told = false;
        loop {
            let stage = *stages.borrow_and_update();
            if stage == Stage::Ended {
                break;
            }
            let progress = Box::new(transfer.progress());
            let status = status_of(&transfer, &progress, None);
            if !show(Update::Moved { progress, status }) {
                return;
            }
            if !is_told && transfer.peer().is_some() {
                // This very transfer may have paired it, even before anybody watched.
                is_told = true;
                self.devices.tell();
            }
            // Another stage is shown at once. The transfer is ours: the sender of its stages lives.
            let every = if stage == Stage::Paused { PAUSED_TICK_EVERY } else { TICK_EVERY };
            let _ = tokio::time::timeout(every, stages.changed()).await;
        }
        let report = transfer.wait().await;
        let (progress, report) = (Box::new(transfer.progress()), Box::new(report.as_ref().clone()));
        let status = status_of(&transfer, &progress, Some(&report));
        show(Update::Ended { progress, report, status, series: transfer.series() });
    }
}
