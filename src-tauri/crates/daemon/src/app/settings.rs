//! Changing the settings while the service runs: checked, stored, and in force at once, or nothing
//! of it.
use std::io;
use std::path::Path;

use ringway_engine::{FreeSpace, RateLimit, Settings};
use ringway_model::{Fault, IntoHome, Operation};
use rustix::fs::{Access, access};
use rustix::io::Errno;

use super::App;
use crate::dto::{AppEvent, GivenPath, SendLimit, SettingsChange, StartAtLogin, StoredSettings};
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
                folder
            }
            None => to.receive_folder,
        };
        let send_limit = match self.send_limit {
            Some(SendLimit::BytesPerS(bytes_per_s)) => Some(RateLimit::new(bytes_per_s)?),
            Some(SendLimit::Off) => None,
            None => to.send_limit,
        };
        Ok(Settings {
            name: self.name.map_or(to.name, |name| name.trim().to_owned()),
            port: self.port.unwrap_or(to.port),
            receive_folder,
            into_home,
            send_limit,
            background: self.background.unwrap_or(to.background),
            announce: self.announce.unwrap_or(to.announce),
            receiving: self.receiving.unwrap_or(to.receiving),
        })
    }
}

/// Whether something can be received into a folder. One that is not absolute is refused when it is
/// stored.
fn usable(folder: &Path) -> Result<(), Fault> {
    if !folder.is_absolute() {
        return Ok(());
    }
    let failed = |operation, source| Fault::path(folder.to_owned(), operation, source);
    let found = folder.metadata().map_err(|source| failed(Operation::Open, source))?;
    if !found.is_dir() {
        return Err(failed(Operation::Open, io::Error::from(Errno::NOTDIR)));
    }
    access(folder, Access::WRITE_OK | Access::EXEC_OK).map_err(|errno| failed(Operation::Write, errno.into()))
}

/// Whether offers can land in a folder. The account's default one is made for the first of them.
pub(crate) fn can_land(folder: &Path) -> Result<(), Fault> {
    match usable(folder) {
        Err(Fault::Path { source, .. })
            if source.kind() == io::ErrorKind::NotFound
                && folder == ringway_engine::default_folder()
                && FreeSpace::look(folder).is_some_and(|free| free.is_writable) =>
        {
            Ok(())
        }
        other => other,
    }
}

impl App {
    /// The settings in force: a folder that was given for this run stands before the stored one.
    pub(crate) fn settings(&self) -> StoredSettings {
        let settings = self.inner.engine.settings();
        let folder = self.receive_folder();
        let is_home = self.inner.engine.is_home(&folder);
        StoredSettings::new(settings, &folder, is_home)
    }

    /// Changes settings. They begin with what their file has now, so that what a hand has written
    /// there is not lost, but taken up.
    ///
    /// # Errors
    /// What is not acceptable, a folder or port that cannot be used, a file that cannot be read or
    /// written: then nothing has changed.
    pub async fn change_settings(&self, change: SettingsChange) -> Result<StoredSettings, Fault> {
        let engine = &self.inner.engine;
        let (names_folder, is_to_receive) = (change.receive_folder.is_some(), change.receiving == Some(true));
        let before = self.settings();
        if let Err(error) = self.receive_by(names_folder, || change.apply(engine.stored_settings()?)).await {
            let fault = error;
            if is_to_receive {
                self.refuse_to_listen(fault.clone());
            }
            return Err(fault);
        }
        self.listen_around_as_wanted();
        let settings = self.settings();
        if settings != before || names_folder {
            self.tell(AppEvent::SettingsChanged { settings: settings.clone() });
        }
        Ok(settings)
    }

    /// Whether, and by what, the service starts when this user logs in. Waits for systemctl.
    ///
    /// # Errors
    /// What keeps it from being known.
    pub fn start_at_login(&self) -> Result<StartAtLogin, Fault> {
        let login = Login::from_env();
        Ok(StartAtLogin::new(login.state()?, login.means()))
    }

    /// Has the service start when this user logs in, or not. Waits for systemctl.
    ///
    /// # Errors
    /// What keeps it from being changed.
    pub fn set_start_at_login(&self, is_on: bool) -> Result<StartAtLogin, Fault> {
        let login = Login::from_env();
        Ok(StartAtLogin::new(login.set(is_on)?, login.means()))
    }
}
