//! Getting what other devices share, as a transfer like any other; and getting again what the
//! history has.
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ringway_engine::{
    AcceptOptions, Engine, GetRequest, KeptAttributes, Landing, Reget, Target, TransferOptions, picked,
};
use ringway_model::{Fault, IntoHome, OnConflict, RateLimit};

use super::choices::left_out;
use super::devices::Devices;
use super::picked_folder::{self, PickedFolder};
use super::transfers::Transfers;
use crate::dto::{Moving, PickedThere};

/// How something is to be got.
#[derive(Debug, Clone, Default)]
pub(crate) struct HowToGet {
    /// What happens to existing files.
    pub(crate) on_conflict: OnConflict,
    /// Whether it is read back here.
    pub(crate) verify: bool,
    /// Bytes a second; `None` if only the other device limits it.
    pub(crate) limit: Option<u64>,
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

    /// Starts to get what was picked in a folder of a paired device's share, into `folder` if one
    /// was picked.
    ///
    /// # Errors
    /// No paired device has that id, a path, limit or pattern is none, or the folder is a home that
    /// is not allowed.
    pub(crate) fn get(
        &self,
        device: &str,
        PickedThere { folder: there, names }: PickedThere,
        how: HowToGet,
        folder: Option<(PathBuf, IntoHome)>,
    ) -> Result<Moving, Fault> {
        let target = Target::Device(self.devices.id(device)?);
        let HowToGet { on_conflict, verify, limit, leave_out } = how;
        let limit = limit.map(RateLimit::new).transpose()?;
        let patterns = left_out::selection(&leave_out)?.patterns;
        let names = names.iter().map(|name| name.as_os_str().as_bytes().to_vec()).collect();
        let (paths, selection) = picked(there.try_into()?, names, patterns)?;
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
        let by_list = selection.paths.is_some();
        let what = Reget { paths, selection, by_list, destination, folder: None, landing, verify };
        Ok(self.start(target, what, limit))
    }

    /// Gets once more what the transfer of that id has got, into the same folder.
    ///
    /// # Errors
    /// The device was forgotten since ([`AuthError::Forgotten`](ringway_model::AuthError));
    /// [`Fault::Gone`] where it is not remembered, [`Fault::TooManySent`] where not all of it is;
    /// [`Fault::Invalid`] for a limit that is none.
    pub(crate) fn again(&self, id: &str, limit: Option<u64>) -> Result<Moving, Fault> {
        let limit = limit.map(RateLimit::new).transpose()?;
        let id = id.parse().map_err(|_| Fault::Gone)?;
        let got = self.engine.past_got(id)?.ok_or(Fault::Gone)?;
        let target = self.engine.target_of(&got)?;
        let reget = got.reget.filter(|reget| !reget.by_list).ok_or(Fault::TooManySent)?;
        Ok(self.start(target, reget, limit))
    }

    fn start(&self, target: Target, what: Reget, limit: Option<RateLimit>) -> Moving {
        let label = self.engine.label(&target);
        let Reget { paths, selection, destination, folder, landing, verify, .. } = what;
        let transfer = self.engine.get(GetRequest {
            folder,
            accept: AcceptOptions::from(landing).keeping(self.engine.kept_besides(self.keeps)),
            options: TransferOptions {
                selection,
                verify,
                limit,
                retry: Some(ringway_engine::limits::RETRY_DEFAULT),
                timeout: Some(ringway_engine::limits::STALL_TIME_DEFAULT),
                ..TransferOptions::default()
            },
            ..GetRequest::new(target, paths, destination)
        });
        self.transfers.add(transfer, Some(label.into()))
    }
}
