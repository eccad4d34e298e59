//! Getting what other devices share, as a transfer like any other; and getting again what the
//! history has.
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ringway_engine::{
    AcceptOptions, Engine, GetRequest, KeptAttributes, Landing, PathInShare, Reget, Target, TransferOptions,
};
use ringway_model::{Fault, IntoHome, OnConflict};

use super::choices::left_out;
use super::devices::Devices;
use super::picked_folder::{self, PickedFolder};
use super::transfers::Transfers;
use crate::dto::{Moving, PathThere};

/// How something is to be got.
#[derive(Debug, Clone, Default)]
pub(crate) struct HowToGet {
    /// What happens to existing files.
    pub(crate) on_conflict: OnConflict,
    /// Whether it is read back here.
    pub(crate) verify: bool,
    /// What is left out: patterns as in a .gitignore file, one a line.
    pub(crate) leave_out: String,
}

/// Gets into the receive folder, or one that was picked.
pub(crate) struct Getting {
    engine: Engine,
    devices: Devices,
    transfers: Arc<Transfers>,
    keeps: KeptAttributes,
    /// The folder that was picked last.
    pub(crate) folder_picked: PickedFolder,
}

impl Getting {
    /// `state` is the folder for what may be lost.
    pub(super) fn new(
        engine: Engine,
        devices: Devices,
        transfers: Arc<Transfers>,
        state: &Path,
        keeps: KeptAttributes,
    ) -> Self {
        Self { engine, devices, transfers, keeps, folder_picked: PickedFolder::open(state, picked_folder::OF_GETS) }
    }

    /// Starts to get entries of a paired device's share, into `folder` if one was picked.
    ///
    /// # Errors
    /// No paired device has that id, a path or a pattern is none, or the folder is a home that is
    /// not allowed.
    pub(crate) fn get(
        &self,
        device: &str,
        paths: Vec<PathThere>,
        how: HowToGet,
        folder: Option<(PathBuf, IntoHome)>,
    ) -> Result<Moving, Fault> {
        let target = Target::Device(self.devices.id(device)?);
        let paths = paths.into_iter().map(PathInShare::try_from).collect::<Result<_, _>>()?;
        let HowToGet { on_conflict, verify, leave_out } = how;
        let selection = left_out::selection(&leave_out)?;
        let (destination, into_home) = match folder {
            Some((folder, into_home)) => {
                self.engine.check_folder(&folder, into_home)?;
                self.engine.choose_folder(&folder);
                self.folder_picked.pick(folder.clone());
                (folder, into_home)
            }
            None => {
                let settings = self.engine.settings();
                (settings.receive_folder.0, settings.into_home)
            }
        };
        let landing = Landing { on_conflict, into_home, ..Landing::default() };
        Ok(self.start(target, Reget { paths, selection, by_list: false, destination, folder: None, landing, verify }))
    }

    /// Gets once more what the transfer of that id has got, into the same folder.
    ///
    /// # Errors
    /// The device was forgotten since ([`AuthError::Forgotten`](ringway_model::AuthError));
    /// [`Fault::Gone`] where it is not remembered, [`Fault::TooManySent`] where not all of it is.
    pub(crate) fn again(&self, id: &str) -> Result<Moving, Fault> {
        let id = id.parse().map_err(|_| Fault::Gone)?;
        let got = self.engine.past_got(id)?.ok_or(Fault::Gone)?;
        let target = self.engine.target_of(&got)?;
        let reget = got.reget.filter(|reget| !reget.by_list).ok_or(Fault::TooManySent)?;
        Ok(self.start(target, reget))
    }

    fn start(&self, target: Target, what: Reget) -> Moving {
        let label = self.engine.label(&target);
        let Reget { paths, selection, destination, folder, landing, verify, .. } = what;
        let transfer = self.engine.get(GetRequest {
            folder,
            accept: AcceptOptions::from(landing).keeping(self.engine.kept_besides(self.keeps)),
            options: TransferOptions {
                selection,
                verify,
                retry: Some(ringway_engine::limits::RETRY_DEFAULT),
                timeout: Some(ringway_engine::limits::STALL_TIME_DEFAULT),
                ..TransferOptions::default()
            },
            ..GetRequest::new(target, paths, destination)
        });
        self.transfers.add(transfer, Some(label.into()))
    }
}
