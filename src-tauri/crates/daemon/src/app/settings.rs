//! Changing the settings while the service runs: checked, stored, and in force at once, or nothing
//! of it.
use std::sync::Arc;

use ringway_engine::Engine;
use ringway_model::{Fault, IntoHome, RateLimit, Settings, SettingsInForce};

use super::listeners::Listeners;
use super::nearby::NearbyDevices;
use super::receiving::Receiving;
use super::receiving::folders::usable;
use crate::dto::{AppEvent, GivenPath, SendLimit, SettingsChange, StartAtLogin};
use crate::login::Login;

impl SettingsChange {
    /// The settings with these changes in them.
    ///
    /// # Errors
    /// [`Fault::Invalid`] for a limit that is none, [`Fault::Path`] for a folder that nothing can
    /// be received into. What else is not acceptable is refused when it is stored.
    pub fn apply(self, to: Settings) -> Result<Settings, Fault> {
        let into_home = match (self.into_home, &self.receive_folder) {
            (Some(into_home), _) => into_home,
            (None, Some(_)) => IntoHome::Refuse,
            (None, None) => to.into_home,
        };
        let receive_folder = match self.receive_folder {
            Some(GivenPath(folder)) => {
                usable(&folder)?;
                folder.into()
            }
            None => to.receive_folder,
        };
        let send_limit = match self.send_limit {
            Some(SendLimit::BytesPerS(bytes_per_s)) => Some(RateLimit::new(bytes_per_s)?),
            Some(SendLimit::Off) => None,
            None => to.send_limit,
        };
        Ok(Settings {
            name: self.name.map_or(to.name, |name| name.trim().into()),
            port: self.port.unwrap_or(to.port),
            receive_folder,
            into_home,
            send_limit,
            background: self.background.unwrap_or(to.background),
            announce: self.announce.unwrap_or(to.announce),
            receiving: self.receiving.unwrap_or(to.receiving),
            acls: self.acls.unwrap_or(to.acls),
        })
    }
}

/// The settings that the engine stores; no state of its own.
#[derive(Clone)]
pub(crate) struct SettingsKept {
    pub(super) engine: Engine,
    pub(super) listeners: Arc<Listeners>,
    pub(super) nearby: Arc<NearbyDevices>,
    pub(super) receiving: Arc<Receiving>,
}

impl SettingsKept {
    /// The settings in force: a folder that was given for this run stands before the stored one.
    pub(crate) fn shown(&self) -> SettingsInForce {
        let (folder, into_home, _) = self.receiving.landing();
        let is_home = self.engine.is_home(&folder);
        let settings = Settings { receive_folder: folder.into(), into_home, ..self.engine.settings() };
        SettingsInForce { settings, is_home }
    }

    /// Changes settings. They begin with what their file has now, so that what a hand has written
    /// there is not lost, but taken up.
    ///
    /// # Errors
    /// What is not acceptable, a folder or port that cannot be used, a file that cannot be read or
    /// written: then nothing has changed.
    pub(crate) async fn change(&self, change: SettingsChange) -> Result<SettingsInForce, Fault> {
        let engine = &self.engine;
        let (names_folder, is_to_receive) = (change.receive_folder.is_some(), change.receiving == Some(true));
        let before = self.shown();
        if let Err(error) = self.receiving.receive_by(names_folder, || change.apply(engine.stored_settings()?)).await {
            if is_to_receive {
                self.receiving.refuse_to_listen(error.clone());
            }
            return Err(error);
        }
        self.nearby.look_as_wanted();
        let settings = self.shown();
        if settings != before || names_folder {
            self.listeners.tell(AppEvent::SettingsChanged { settings: settings.clone() });
        }
        Ok(settings)
    }

    /// Whether, and by what, the service starts when this user logs in. Waits for systemctl.
    ///
    /// # Errors
    /// What keeps it from being known.
    pub(crate) fn start_at_login(&self) -> Result<StartAtLogin, Fault> {
        let login = Login::from_env();
        Ok(StartAtLogin { now: login.state()?, means: login.means() })
    }

    /// Has the service start when this user logs in, or not. Waits for systemctl.
    ///
    /// # Errors
    /// What keeps it from being changed.
    pub(crate) fn set_start_at_login(&self, is_on: bool) -> Result<StartAtLogin, Fault> {
        let login = Login::from_env();
        Ok(StartAtLogin { now: login.set(is_on)?, means: login.means() })
    }
}
