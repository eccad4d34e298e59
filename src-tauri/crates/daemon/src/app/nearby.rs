//! Who is nearby, listened for while somebody looks.
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use ringway_engine::{Announced, Engine, Target};
use ringway_model::{Device, Fault};
use tokio::task::AbortHandle;

use super::listeners::Listeners;
use crate::dto::{AppEvent, Nearby};

/// At least so long between two lists: machines appear one by one, and a network can say anything
/// as often as it likes.
const PAUSE: Duration = Duration::from_millis(250);

/// Where nothing can be heard, for so long it is not tried anew.
const ANEW_AFTER: Duration = Duration::from_secs(5);

/// What was heard last, and the task that listens.
pub(crate) struct NearbyDevices {
    engine: Engine,
    listeners: Arc<Listeners>,
    /// Whether somebody looks.
    wanted: Mutex<bool>,
    listening: Mutex<Option<AbortHandle>>,
    heard: Mutex<Vec<Announced>>,
}

impl NearbyDevices {
    pub(super) fn new(engine: Engine, listeners: Arc<Listeners>) -> Self {
        let (wanted, listening, heard) = Default::default();
        Self { engine, listeners, wanted, listening, heard }
    }

    /// Listens from now on, or no more. What cannot be heard because mDNS does not work here is not
    /// there: an address can always be typed.
    pub(crate) fn look(self: &Arc<Self>, on: bool) {
        *self.wanted.lock() = on;
        self.look_as_wanted();
    }

    /// Listens where somebody looks, unless this machine is to keep quiet: who listens is heard
    /// asking.
    pub(super) fn look_as_wanted(self: &Arc<Self>) {
        let on = *self.wanted.lock() && self.engine.settings().announce;
        let mut listening = self.listening.lock();
        match (&*listening, on) {
            (None, true) => *listening = Some(tokio::spawn(Arc::clone(self).listen()).abort_handle()),
            (Some(task), false) => {
                task.abort();
                *listening = None;
                self.heard(Vec::new());
            }
            _ => {}
        }
    }

    #[cfg(test)]
    pub(super) fn looks(&self) -> bool {
        self.listening.lock().is_some()
    }

    async fn listen(self: Arc<Self>) {
        loop {
            // What cannot be begun now may be later: there may be no network yet.
            if let Ok(mut nearby) = self.engine.nearby() {
                while nearby.changed().await {
                    self.heard(nearby.devices());
                    tokio::time::sleep(PAUSE).await;
                }
                self.heard(Vec::new());
            }
            tokio::time::sleep(ANEW_AFTER).await;
        }
    }

    pub(super) fn heard(&self, devices: Vec<Announced>) {
        self.change_heard(|heard| *heard = devices);
    }

    /// Looks anew which of those who are there are paired with this machine.
    pub(super) fn recognise(&self, paired: &[Device]) {
        self.change_heard(|heard| heard.iter_mut().for_each(|device| device.recognise(paired)));
    }

    fn change_heard(&self, change: impl FnOnce(&mut Vec<Announced>)) {
        let shown =
            |heard: &[Announced]| heard.iter().map(|announced| Nearby::from(&announced.device)).collect::<Vec<_>>();
        let (before, nearby) = {
            let mut heard = self.heard.lock();
            let before = shown(&heard);
            change(&mut heard);
            (before, shown(&heard))
        };
        if nearby != before {
            self.listeners.tell(AppEvent::NearbyChanged { nearby });
        }
    }

    /// Who is there by now.
    pub(super) fn shown(&self) -> Vec<Nearby> {
        self.heard.lock().iter().map(|announced| Nearby::from(&announced.device)).collect()
    }

    /// One of them as a target, where it answers. One that is paired is that device.
    pub(super) async fn target(&self, id: &str) -> Result<Target, Fault> {
        let found = self.heard.lock().iter().find(|announced| announced.device.key() == id).cloned();
        let found = found.ok_or(Fault::Gone)?;
        if let Some(id) = found.device.paired_id {
            return Ok(Target::Device(id));
        }
        let first = || found.device.addresses.first().map(ToString::to_string).unwrap_or_default();
        let silent = || Fault::unreachable(first(), std::io::ErrorKind::TimedOut);
        let target = found.target().await;
        if target.is_none() {
            self.engine.met_silence(&found);
        }
        target.ok_or_else(silent)
    }
}
