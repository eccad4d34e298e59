//! The folders that paired devices may read: listed, added, removed, and who reads them.
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ringway_engine::Engine;
use ringway_model::{DropBox, Fault, Invalid, Share, ShareName, SharedWith};

use super::choices::Choices;
use super::listeners::Listeners;
use crate::dto::AppEvent;

/// The shares that the engine's store has; no state of its own.
#[derive(Clone)]
pub(crate) struct Shares {
    pub(super) engine: Engine,
    pub(super) choices: Arc<Choices>,
    pub(super) listeners: Arc<Listeners>,
}

impl Shares {
    /// The shares, by name. Waits for the disks that they are on.
    ///
    /// # Errors
    /// The trust store cannot be read.
    pub(crate) fn list(&self) -> Result<Vec<Share>, Fault> {
        self.engine.shares()
    }

    /// Shares a folder; the same folder under the same name gets the readers that are named now.
    pub(crate) fn add(&self, folder: PathBuf, name: &str, with: &SharedWith, allow_home: bool) -> Result<Share, Fault> {
        let name = ShareName::new(name.trim())?;
        self.engine.share(&folder, &name, with, allow_home)?;
        self.listeners.tell(AppEvent::SharesChanged);
        self.engine.shares()?.into_iter().find(|share| share.name == name).ok_or(Fault::Gone)
    }

    /// Makes a share a drop box, another one, or none.
    pub(crate) fn set_drop(&self, name: &str, drop: Option<DropBox>) -> Result<(), Fault> {
        self.engine.set_drop(&known(name)?, drop)?;
        self.listeners.tell(AppEvent::SharesChanged);
        Ok(())
    }

    /// Shares the folders of a choice that a person made just now. One folder may be given a name;
    /// else each has its own, with a number where another share has that.
    ///
    /// # Errors
    /// Those of [`Engine::share`], at the first folder that cannot be shared; [`Fault::Gone`] for a
    /// choice that is too long ago, or comes from the history.
    pub(crate) fn add_chosen(
        &self,
        chosen: u32,
        name: Option<&str>,
        with: &SharedWith,
        allow_home: bool,
    ) -> Result<Vec<Share>, Fault> {
        let folders = self.choices.to_share(chosen)?;
        let mut added = Vec::new();
        for folder in &folders {
            let own = match name {
                Some(name) if folders.len() == 1 => ShareName::new(name.trim())?,
                _ => self.own_name(folder)?,
            };
            added.push(self.add(folder.clone(), own.as_str(), with, allow_home)?);
        }
        Ok(added)
    }

    /// Has other devices read a share than before.
    pub(crate) fn set_readers(&self, name: &str, with: &SharedWith) -> Result<(), Fault> {
        self.engine.set_readers(&known(name)?, with)?;
        self.listeners.tell(AppEvent::SharesChanged);
        Ok(())
    }

    /// Shares a folder no longer.
    pub(crate) fn remove(&self, name: &str) -> Result<(), Fault> {
        self.engine.unshare(&known(name)?)?;
        self.listeners.tell(AppEvent::SharesChanged);
        Ok(())
    }

    /// The folder's own name, if it may be a share's, else a plain one; with a number behind it if
    /// another folder has it.
    fn own_name(&self, folder: &Path) -> Result<ShareName, Fault> {
        let shares = self.engine.shares()?;
        let own = folder.file_name().map(|name| name.to_string_lossy().replace([':', '/'], "-")).unwrap_or_default();
        let own = own.split_whitespace().collect::<Vec<_>>().join(" ");
        let own = if ShareName::new(&own).is_ok() { own } else { FALLBACK_NAME.to_owned() };
        let is_free = |name: &ShareName| {
            let same = |share: &&Share| share.name.as_str().eq_ignore_ascii_case(name.as_str());
            shares.iter().find(same).is_none_or(|share| &*share.folder == folder)
        };
        let numbered = (2..).map_while(|number| ShareName::new(&format!("{own} ({number})")).ok());
        ShareName::new(&own).into_iter().chain(numbered).find(is_free).ok_or(Fault::Invalid(Invalid::ShareName))
    }
}

/// What a folder is shared as whose own name no share may have.
const FALLBACK_NAME: &str = "folder";

/// The name of a share that is there; no other name is one.
fn known(name: &str) -> Result<ShareName, Fault> {
    ShareName::new(name).map_err(|_| Fault::Invalid(Invalid::UnknownShare { name: name.into() }))
}
