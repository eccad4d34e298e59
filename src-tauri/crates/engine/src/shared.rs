//! What every job of an engine shares: this device's key, store and settings, TLS, and the folders
//! that were chosen.
mod changes;
mod drops;
mod looks;
mod shares;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;
use ringway_link::key::DeviceKey;
use ringway_link::tls::Tls;
use ringway_model::{Fault, IntoHome, Invalid, Settings, ThisDevice};
use ringway_sys::attributes::metadata_of;
use ringway_sys::dir::Dir;
use ringway_tree::receive::{self, Expected, FolderIdentity};
use ringway_wire::DeviceName;
use ringway_wire::announcement::Fingerprint;
use ringway_wire::control::Greeting;
use tokio::sync::broadcast;

use crate::local::own_folders;
use crate::local::paths::Paths;
use crate::local::places::Places;
use crate::store::Store;

pub(crate) use changes::StoreChanges;
pub(crate) use drops::DropPlace;
pub(crate) use looks::{Look, Looks};
pub(crate) use shares::{Grant, OpenedShare, is_writable};

/// One device's, for all its jobs.
pub(crate) struct Shared {
    pub(crate) paths: Paths,
    pub(crate) identity: DeviceKey,
    pub(crate) store: Arc<Store>,
    pub(crate) tls: Tls,
    pub(crate) settings: RwLock<Settings>,
    /// The folders that offers land in.
    pub(crate) places: Places,
    pub(crate) changes: StoreChanges,
    /// At folders whose filesystem may not answer.
    pub(crate) looks: Arc<Looks>,
    /// Folders into which a transfer of this program has written, when it ends.
    pub(crate) written: broadcast::Sender<PathBuf>,
    /// Devices that did not answer where they announced to be, or were last.
    pub(crate) silent: broadcast::Sender<Fingerprint>,
}

impl Shared {
    /// Tells that a transfer into that folder has ended.
    pub(crate) fn wrote_into(&self, folder: &Path) {
        // Nobody may want to know.
        let _ = self.written.send(std::fs::canonicalize(folder).unwrap_or_else(|_| folder.into()));
    }

    /// Tells that a device did not answer.
    pub(crate) fn met_silence(&self, fingerprint: Fingerprint) {
        // Nobody may listen for others.
        let _ = self.silent.send(fingerprint);
    }

    /// What has to be at a path for something to land there.
    pub(crate) fn expect(&self, folder: &Path) -> Expected {
        self.places.expect(folder, || self.store.mounted(folder).ok().flatten())
    }

    /// The same where something landed before in the folder that was at the path then: that one and
    /// no other, although this program may have noted another one.
    pub(crate) fn expect_again(&self, path: &Path, before: Option<&FolderIdentity>) -> Expected {
        let Some(before) = before else { return self.expect(path) };
        let now = Dir::open(path).and_then(|folder| FolderIdentity::of(&folder)).ok();
        // Its filesystem may have another id since the machine was started anew.
        Expected::Folder(now.filter(|now| now.is_still(before)).unwrap_or(*before))
    }

    pub(crate) fn check_folder(&self, folder: &Path, into_home: IntoHome) -> Result<(), Fault> {
        let own = own_folders::make(&self.paths)?;
        // What is missing is made below what is there.
        let Some((path, dir)) = folder.ancestors().find_map(|path| Some((path, Dir::open(path).ok()?))) else {
            return Ok(());
        };
        if own.contain(&dir).unwrap_or(false) {
            return Err(Fault::Invalid(Invalid::OwnFolder { folder: folder.to_owned().into() }));
        }
        let is_home = || path == folder && metadata_of(&dir).is_ok_and(|there| receive::is_home(&there));
        if into_home == IntoHome::Refuse && is_home() {
            return Err(Fault::Invalid(Invalid::HomeFolder { folder: folder.to_owned().into() }));
        }
        Ok(())
    }

    /// Whether a folder is somebody's home, by whatever path it is named. One whose filesystem does
    /// not answer counts as none.
    pub(crate) fn is_home(&self, folder: &Path) -> bool {
        let path = folder.to_owned();
        let look = move || Dir::open(&path).and_then(metadata_of).is_ok_and(|there| receive::is_home(&there));
        self.looks.look(folder, look).unwrap_or(false)
    }

    pub(crate) fn this_device(&self) -> ThisDevice {
        ThisDevice { id: self.identity.id(), name: self.settings().name }
    }

    pub(crate) fn settings(&self) -> Settings {
        self.settings.read().clone()
    }

    /// What this device says first in a session.
    pub(crate) fn greeting(&self) -> Result<Greeting, Fault> {
        let name = DeviceName::new(&self.settings().name).map_err(Fault::from)?;
        Ok(Greeting { name })
    }
}
