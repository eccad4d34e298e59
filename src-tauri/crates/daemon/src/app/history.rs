//! What has ended before: the engine's history for the window, and what may be done with it.
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ringway_engine::{PastQuery, Resend, Target};
use ringway_model::{Fault, PastDetails};

use super::App;
use crate::dto::{Again, Asked, Earlier, Recipient};
use crate::text::shown_text;

/// Transfers that one page of the list has.
const PAGE: u32 = 30;

impl App {
    /// The latest past transfers of those that are asked for; a full page means that there may be
    /// more.
    pub fn past(&self, asked: Asked) -> Result<Vec<Earlier>, Fault> {
        let search = Some(asked.search.trim().to_owned()).filter(|text| !text.is_empty());
        let direction = asked.direction;
        let query = PastQuery { direction, failed_only: asked.failed_only, search, before: asked.before };
        Ok(self.inner.engine.past(&query, PAGE)?.iter().map(Earlier::from).collect())
    }

    /// What is long of one of them.
    pub fn past_details(&self, number: u64) -> Result<PastDetails, Fault> {
        let (_, details) = self.inner.engine.past_transfer(number)?.ok_or(Fault::Gone)?;
        Ok(details)
    }

    /// Forgets one of them; what it brought stays.
    pub fn forget_past(&self, number: u64) -> Result<(), Fault> {
        self.inner.engine.forget_past(number)?;
        Ok(())
    }

    /// Forgets all of them; what they brought stays.
    pub fn clear_past(&self) -> Result<(), Fault> {
        self.inner.engine.forget_past_before(SystemTime::now() + Duration::from_secs(1))?;
        Ok(())
    }

    /// The folder to show for what one of them brought.
    pub fn past_folder(&self, number: u64) -> Result<PathBuf, Fault> {
        let (past, _) = self.inner.engine.past_transfer(number)?.ok_or(Fault::Gone)?;
        folder_of(&past.paths).filter(|folder| folder.is_dir()).ok_or(Fault::Gone)
    }

    /// What one of them brought, by its final names, or what was sent; the first few.
    pub fn past_paths(&self, number: u64) -> Result<Vec<PathBuf>, Fault> {
        Ok(self.inner.engine.past_transfer(number)?.ok_or(Fault::Gone)?.0.paths)
    }

    /// Chooses once more what a transfer of that id sent, and says to whom it went. [`App::send`]
    /// takes that choice to nobody else without a confirmation.
    ///
    /// # Errors
    /// [`Fault::Forgotten`] where that device was forgotten since, [`Fault::Gone`] where it is not
    /// remembered, [`Fault::TooManySent`] where not all of it is.
    pub fn choose_again(&self, id: &str) -> Result<Again, Fault> {
        let engine = &self.inner.engine;
        let id = id.parse().map_err(|_| Fault::Gone)?;
        let past = engine.past_sent(id)?.ok_or(Fault::Gone)?;
        let target = engine.target_of(&past)?;
        let Resend { sources, verify } = past.resend.ok_or(Fault::TooManySent)?;
        let chosen = self.inner.choices.lock().keep_sent(sources, target.clone()).ok_or(Fault::Gone)?;
        let label = shown_text(&engine.label(&target));
        let target = match &target {
            Target::Device(id) | Target::DeviceAt { id, .. } => Recipient::Device { id: id.to_string() },
            Target::Announced { at, fingerprint } => {
                Recipient::Announced { id: fingerprint.to_hex(), at: at.to_string() }
            }
            Target::Address(_) => Recipient::Typed { text: engine.label(&target) },
        };
        Ok(Again { chosen, target, label, verify })
    }
}

/// The one folder that came, else the one that holds what came. A link that a peer sent is not
/// followed.
pub(crate) fn folder_of(arrived: &[impl AsRef<Path>]) -> Option<PathBuf> {
    let first = arrived.first()?.as_ref();
    let only_folder = arrived.len() == 1 && first.symlink_metadata().is_ok_and(|meta| meta.is_dir());
    let folder = if only_folder { Some(first) } else { first.parent() };
    folder.map(Path::to_owned)
}
