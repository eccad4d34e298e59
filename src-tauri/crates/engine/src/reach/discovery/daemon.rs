//! The mDNS thread, and a limit on its cache: the crate keeps each record for as long as the record
//! itself demands.
use std::time::Duration;

use mdns_sd::ServiceDaemon;
use ringway_model::Fault;

use super::failed;
use crate::limits::NEARBY_RECORDS_MAX;

/// How often it is looked how much that is, and whether something else is to be said: a person
/// needs longer to read a code out.
pub(super) const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How long discovery stops after the cache exceeded its limit: a flood of records does not end at
/// once.
pub(super) const PAUSE: Duration = Duration::from_secs(5);

/// Records that are remembered, as the crate counts them.
const COUNTED: [&str; 6] = ["cached-ptr", "cached-srv", "cached-txt", "cached-addr", "cached-nsec", "cached-subtype"];

/// A running one; it ends with this.
pub(super) struct Daemon(ServiceDaemon);

impl Daemon {
    pub(super) fn start() -> Result<Self, Fault> {
        ServiceDaemon::new().map(Self).map_err(failed)
    }

    /// Whether it remembers more than it may: then it has to end. True, too, for one that has
    /// ended.
    pub(super) async fn is_overfull(&self) -> bool {
        let Ok(answer) = self.0.get_metrics() else { return true };
        let Ok(counts) = answer.recv_async().await else { return true };
        COUNTED.iter().filter_map(|what| counts.get(*what)).sum::<i64>() > NEARBY_RECORDS_MAX
    }
}

impl std::ops::Deref for Daemon {
    type Target = ServiceDaemon;

    fn deref(&self) -> &ServiceDaemon {
        &self.0
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // One that has ended already needs no telling.
        let _ = self.0.shutdown();
    }
}
