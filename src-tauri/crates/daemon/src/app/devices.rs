//! The paired devices: shown, renamed, forgotten, and what a rule makes of their offers.
use std::path::PathBuf;
use std::sync::Arc;

use ringway_engine::Engine;
use ringway_model::{Consent, Device, DeviceId, DeviceRule, Fault, IntoHome, PathText};

use super::listeners::Listeners;
use super::nearby::NearbyDevices;
use super::notes::Notes;
use crate::dto::{AppEvent, PairedDevice};

/// The devices that the engine's store has; no state of its own.
#[derive(Clone)]
pub(crate) struct Devices {
    pub(super) engine: Engine,
    pub(super) listeners: Arc<Listeners>,
    pub(super) nearby: Arc<NearbyDevices>,
    pub(super) notes: Arc<Notes>,
}

impl Devices {
    /// The devices as they are now.
    ///
    /// # Errors
    /// The trust store cannot be read.
    pub(crate) fn shown(&self) -> Result<Vec<PairedDevice>, Fault> {
        let last = self.engine.last_with_each()?;
        let shown = |device: Device| {
            let looks_like = self.engine.look_alike(device.id, &device.name)?;
            let last_transfer = last.iter().find(|past| past.peer_id == Some(device.id)).cloned();
            Ok(PairedDevice { device, looks_like, last_transfer })
        };
        self.engine.devices()?.into_iter().map(shown).collect()
    }

    /// Tells the window the devices as they are now. A store that cannot be read just now is said
    /// by what needs it.
    pub(super) fn tell(&self) {
        if let Ok(devices) = self.shown() {
            self.listeners.tell(AppEvent::DevicesChanged { devices });
        }
        if let Ok(paired) = self.engine.devices() {
            self.nearby.recognise(&paired);
        }
    }

    /// Renames a paired device here.
    pub(crate) fn rename(&self, id: &str, name: &str) -> Result<(), Fault> {
        self.engine.rename_device(self.id(id)?, name.trim())?;
        self.tell();
        self.notes.tell();
        Ok(())
    }

    /// Forgets a paired device. Its notes go with it.
    pub(crate) fn forget(&self, id: &str) -> Result<(), Fault> {
        self.engine.forget_device(self.id(id)?)?;
        self.tell();
        self.notes.tell();
        Ok(())
    }

    /// Says what is done with a paired device's offers, and how large one may be that is accepted
    /// without asking. Its folder stays.
    pub(crate) fn set_rule(&self, id: &str, consent: Consent, bytes_max: Option<u64>) -> Result<(), Fault> {
        self.change_rule(id, |rule| DeviceRule { consent, bytes_max, ..rule })
    }

    /// Says where what a paired device sends lands, and what may where that is a home; none is the
    /// receive folder.
    pub(crate) fn set_folder(&self, id: &str, folder: Option<PathBuf>, into_home: IntoHome) -> Result<(), Fault> {
        let chosen = folder.clone();
        self.change_rule(id, |rule| DeviceRule { folder: folder.map(PathText), into_home, ..rule })?;
        // Also where it is the one that the rule had.
        chosen.iter().for_each(|folder| self.engine.choose_folder(folder));
        Ok(())
    }

    /// Where a picker for that folder begins.
    pub(crate) fn folder(&self, id: &str) -> Result<Option<PathBuf>, Fault> {
        Ok(self.engine.rule(self.id(id)?)?.ok_or(Fault::Gone)?.folder.map(|folder| folder.0))
    }

    fn change_rule(&self, id: &str, change: impl FnOnce(DeviceRule) -> DeviceRule) -> Result<(), Fault> {
        let id = self.id(id)?;
        let rule = self.engine.rule(id)?.ok_or(Fault::Gone)?;
        self.engine.set_rule(id, &change(rule))?;
        self.tell();
        Ok(())
    }

    /// The paired device with that id, which is a key's and never a name.
    pub(super) fn id(&self, id: &str) -> Result<DeviceId, Fault> {
        let device = self.engine.devices()?.into_iter().find(|device| device.id.to_string() == id);
        device.map(|device| device.id).ok_or(Fault::Gone)
    }
}
