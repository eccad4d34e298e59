//! The folders that paired devices may read: listed, added, removed.
use std::path::PathBuf;

use ringway_engine::Engine;
use ringway_model::{DropBox, Fault, Invalid, Share, ShareName, SharedWith};

/// The shares that the engine's store has; no state of its own.
#[derive(Clone)]
pub(crate) struct Shares {
    pub(super) engine: Engine,
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
        self.engine.shares()?.into_iter().find(|share| share.name == name).ok_or(Fault::Gone)
    }

    /// Makes a share a drop box, another one, or none.
    pub(crate) fn set_drop(&self, name: &str, drop: Option<DropBox>) -> Result<(), Fault> {
        let unknown = |_| Fault::Invalid(Invalid::UnknownShare { name: name.into() });
        self.engine.set_drop(&ShareName::new(name).map_err(unknown)?, drop)
    }

    /// Shares a folder no longer.
    pub(crate) fn remove(&self, name: &str) -> Result<(), Fault> {
        let unknown = |_| Fault::Invalid(Invalid::UnknownShare { name: name.into() });
        self.engine.unshare(&ShareName::new(name).map_err(unknown)?)
    }
}
