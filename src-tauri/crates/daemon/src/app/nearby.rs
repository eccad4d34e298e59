//! Who is nearby, listened for while somebody looks.
use std::time::Duration;

use parking_lot::Mutex;
use ringway_engine::{Device, NearbyDevice, Target};
use ringway_model::Fault;
use tokio::task::AbortHandle;

use super::App;
use crate::dto::{AppEvent, Nearby};

/// At least so long between two lists: machines appear one by one, and a network can say anything
/// as often as it likes.
const PAUSE: Duration = Duration::from_millis(250);

/// Where nothing can be heard, for so long it is not tried anew.
const ANEW_AFTER: Duration = Duration::from_secs(5);

/// What was heard last, and the task that listens.
#[derive(Default)]
pub(crate) struct Around {
    /// Whether somebody looks.
    wanted: Mutex<bool>,
    listening: Mutex<Option<AbortHandle>>,
    heard: Mutex<Vec<NearbyDevice>>,
}

impl App {
    /// Listens from now on, or no more. What cannot be heard because mDNS does not work here is not
    /// there: an address can always be typed.
    pub fn look_around(&self, on: bool) {
        *self.inner.around.wanted.lock() = on;
        self.listen_around_as_wanted();
    }

    /// Listens where somebody looks, unless this machine is to keep quiet: who listens is heard
    /// asking.
    pub(crate) fn listen_around_as_wanted(&self) {
        let on = *self.inner.around.wanted.lock() && self.inner.engine.settings().announce;
        let mut listening = self.inner.around.listening.lock();
        match (&*listening, on) {
            (None, true) => *listening = Some(tokio::spawn(self.clone().listen_around()).abort_handle()),
            (Some(task), false) => {
                task.abort();
                *listening = None;
                self.heard(Vec::new());
            }
            _ => {}
        }
    }

    #[cfg(test)]
    pub(crate) fn looks_around(&self) -> bool {
        self.inner.around.listening.lock().is_some()
    }

    async fn listen_around(self) {
        loop {
            // What cannot be begun now may be later: there may be no network yet.
            if let Ok(mut nearby) = self.inner.engine.nearby() {
                while nearby.changed().await {
                    self.heard(nearby.devices());
                    tokio::time::sleep(PAUSE).await;
                }
                self.heard(Vec::new());
            }
            tokio::time::sleep(ANEW_AFTER).await;
        }
    }

    pub(crate) fn heard(&self, devices: Vec<NearbyDevice>) {
        self.change_heard(|heard| *heard = devices);
    }

    /// Looks anew which of those who are there are paired with this machine.
    pub(crate) fn recognise_around(&self, paired: &[Device]) {
        self.change_heard(|heard| heard.iter_mut().for_each(|device| device.recognise(paired)));
    }

    fn change_heard(&self, change: impl FnOnce(&mut Vec<NearbyDevice>)) {
        let shown = |heard: &[NearbyDevice]| heard.iter().map(Nearby::from).collect::<Vec<_>>();
        let (before, nearby) = {
            let mut heard = self.inner.around.heard.lock();
            let before = shown(&heard);
            change(&mut heard);
            (before, shown(&heard))
        };
        if nearby != before {
            self.tell(AppEvent::NearbyChanged { nearby });
        }
    }

    /// Who is there by now.
    pub(crate) fn nearby(&self) -> Vec<Nearby> {
        self.inner.around.heard.lock().iter().map(Nearby::from).collect()
    }

    /// One of them as a target, where it answers. One that is paired is that device.
    pub(crate) async fn nearby_target(&self, id: &str) -> Result<Target, Fault> {
        let device = self.inner.around.heard.lock().iter().find(|device| Nearby::from(*device).id == id).cloned();
        let device = device.ok_or(Fault::Gone)?;
        if let Some(known) = &device.known {
            return Ok(Target::Device(known.id));
        }
        let silent = || Fault::unreachable(Nearby::from(&device).address, std::io::ErrorKind::TimedOut);
        device.target().await.ok_or_else(silent)
    }
}
