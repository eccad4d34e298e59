//! Notices that a device was forgotten, or that its rule was changed, while something runs with it
//! or waits, whichever program did that.
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use ringway_model::{Device, DeviceId, DeviceRule};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use super::Shared;
use crate::limits::FORGOTTEN_LOOK_EVERY;
use crate::store::Pairing;

/// Changes of the trust store. While something runs with another device, one task for all of it
/// asks SQLite whether another program has written.
#[derive(Default)]
pub(crate) struct StoreChanges {
    /// How many changes were seen: its followers then look at their own device.
    seen: watch::Sender<u64>,
    is_looking: Mutex<bool>,
}

impl StoreChanges {
    /// This program has forgotten a device, or set its rule.
    pub(crate) fn changed(&self) {
        self.seen.send_modify(|seen| *seen = seen.wrapping_add(1));
    }
}

impl Shared {
    /// Resolves when that pairing has ended: its device was forgotten, and perhaps paired anew
    /// since.
    pub(crate) async fn forgotten(self: &Arc<Self>, pairing: Pairing) {
        let mut changes = self.follow_changes();
        // A store that cannot be read now is read at its next change, and before anything is
        // published.
        while self.store.is_current(pairing).unwrap_or(true) {
            if changes.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    /// Resolves when the device's rule is none that `holds`, with the one that it has then.
    pub(crate) async fn rule_changes(
        self: &Arc<Self>,
        device: DeviceId,
        holds: impl Fn(&DeviceRule) -> bool,
    ) -> DeviceRule {
        let mut changes = self.follow_changes();
        loop {
            // As above.
            if let Ok(Some(Device { rule, .. })) = self.store.by_id(device)
                && !holds(&rule)
            {
                return rule;
            }
            if changes.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    pub(super) fn follow_changes(self: &Arc<Self>) -> watch::Receiver<u64> {
        let mut is_looking = self.changes.is_looking.lock();
        let followed = self.changes.seen.subscribe();
        if !std::mem::replace(&mut *is_looking, true) {
            tokio::spawn(look(Arc::downgrade(self)));
        }
        followed
    }

    /// Whether somebody follows the changes still. The task that looks ends where nobody does.
    fn is_followed(&self) -> bool {
        let mut is_looking = self.changes.is_looking.lock();
        *is_looking = self.changes.seen.receiver_count() > 0;
        *is_looking
    }
}

async fn look(shared: Weak<Shared>) {
    let mut seen = None;
    let mut tick = interval(FORGOTTEN_LOOK_EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        let Some(shared) = shared.upgrade().filter(|shared| shared.is_followed()) else { return };
        // What cannot be read now is a change as soon as it can.
        let version = shared.store.version().ok();
        if std::mem::replace(&mut seen, version) != version {
            shared.changes.changed();
        }
    }
}
