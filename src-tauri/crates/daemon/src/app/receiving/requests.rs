//! Devices that want to pair and have no code: shown to clients, and answered by them. The engine
//! bounds them.
use std::sync::Arc;

use parking_lot::Mutex;
use ringway_engine::Engine;
use ringway_model::{DeviceId, Fault, PairingRequest};

use crate::app::listeners::Listeners;
use crate::dto::AppEvent;

/// What clients were told last of the engine's requests.
pub(crate) struct Requests {
    engine: Engine,
    listeners: Arc<Listeners>,
    told: Mutex<Vec<PairingRequest>>,
}

impl Requests {
    pub(super) fn new(engine: Engine, listeners: Arc<Listeners>) -> Self {
        Self { engine, listeners, told: Mutex::default() }
    }

    pub(crate) fn shown(&self) -> Vec<PairingRequest> {
        self.engine.pairing_requests()
    }

    /// Tells clients if others are shown by now: one that came, was answered or has run out.
    pub(super) fn look(&self) {
        let mut told = self.told.lock();
        let requests = self.shown();
        if *told != requests {
            told.clone_from(&requests);
            // Under the lock, so that the latest state is sent last.
            self.listeners.tell(AppEvent::RequestsChanged { requests });
        }
    }

    /// Nobody listens any more: a code would be of no use.
    pub(super) fn clear(&self) {
        self.engine.clear_pairing_requests();
        self.look();
    }

    /// The device with that id among those that are shown.
    pub(super) fn id(&self, id: &str) -> Result<DeviceId, Fault> {
        let shown = self.shown().into_iter().find(|request| request.id.to_string() == id);
        shown.map(|request| request.id).ok_or(Fault::Gone)
    }

    pub(super) fn allow(&self, id: DeviceId) -> Result<(), Fault> {
        self.answered(self.engine.allow_pairing(id))
    }

    /// Takes one off the screen for a while.
    pub(crate) fn dismiss(&self, id: &str) -> Result<(), Fault> {
        self.answered(self.engine.dismiss_pairing(self.id(id)?))
    }

    /// Shows nothing of that device any more, nor of others at its address, until the service ends.
    pub(crate) fn block(&self, id: &str) -> Result<(), Fault> {
        self.answered(self.engine.block_pairing(self.id(id)?))
    }

    pub(crate) fn blocked(&self) -> Vec<PairingRequest> {
        self.engine.blocked_pairings()
    }

    /// Takes a block back, which a person did not mean.
    pub(crate) fn unblock(&self, id: DeviceId) -> Result<(), Fault> {
        self.answered(self.engine.unblock_pairing(id))
    }

    fn answered(&self, was_shown: bool) -> Result<(), Fault> {
        self.look();
        was_shown.then_some(()).ok_or(Fault::Gone)
    }
}
