//! Copies inside this machine, of what was chosen into the folder that was picked.
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ringway_engine::{CopyOptions, CopyRequest, Engine, free_space};
use ringway_model::{Fault, OnExisting};

use super::choices::{Choices, left_out};
use super::picked_folder::{self, PickedFolder};
use super::transfers::Transfers;
use crate::dto::{CopyFolder, Moving};
use crate::text::shown;

/// Where copies go.
pub(crate) struct Copying {
    engine: Engine,
    choices: Arc<Choices>,
    transfers: Arc<Transfers>,
    destination: PickedFolder,
}

impl Copying {
    /// `state` is the folder for what may be lost.
    pub(super) fn new(engine: Engine, choices: Arc<Choices>, transfers: Arc<Transfers>, state: &Path) -> Self {
        Self { engine, choices, transfers, destination: PickedFolder::open(state, picked_folder::OF_COPIES) }
    }

    /// The folder that a copy of choice `chosen` would go into; `None` if a person has to pick one
    /// first.
    pub(crate) fn folder(&self, chosen: u32) -> Option<CopyFolder> {
        let folder = self.destination.offered()?;
        let paths = self.choices.paths(chosen).unwrap_or_default();
        let landings: Vec<_> = paths.iter().filter_map(|path| path.file_name()).map(|name| folder.join(name)).collect();
        Some(CopyFolder {
            lands: if let [only] = landings.as_slice() { only.into() } else { (&folder).into() },
            there_already: landings.iter().filter(|path| path.symlink_metadata().is_ok()).count() as u64,
            free_bytes: free_space::look(&folder).map(|free| free.free_bytes),
            path: folder.into(),
        })
    }

    /// Where a picker for that folder begins.
    pub(crate) fn picked(&self) -> Option<PathBuf> {
        self.destination.offered()
    }

    /// Copies go into another folder from now on.
    pub(crate) fn pick(&self, folder: PathBuf) {
        self.destination.pick(folder);
    }

    /// Starts copying choice `chosen` into the folder that was picked, without what is left out:
    /// patterns as in a .gitignore file, one a line.
    pub(crate) fn start(
        &self,
        chosen: u32,
        existing: OnExisting,
        verify: bool,
        leave_out: &str,
    ) -> Result<Moving, Fault> {
        let sources = self.choices.paths(chosen).ok_or(Fault::Gone)?;
        let selection = left_out::selection(leave_out)?;
        let destination = self.destination.ready()?;
        let target = shown(&destination);
        let options = CopyOptions { selection, existing, verify, count_ahead: true, ..CopyOptions::default() };
        let transfer = self.engine.copy(CopyRequest { sources, destination, options });
        self.choices.remember_left_out(chosen, leave_out);
        Ok(self.transfers.add(transfer, Some(target.into())))
    }
}
