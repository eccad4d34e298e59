//! What has ended before: the engine's history for the window, and what may be done with it.
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ringway_engine::Engine;
use ringway_model::{EntryKind, Fault, PastDetails, PastQuery};

use super::notes::Notes;
use super::transfers::{folder_of, kinds_of};
use crate::dto::Earlier;

/// Transfers that one page of the list has.
const PAGE: u32 = 30;

/// The engine's history; no state of its own.
#[derive(Clone)]
pub(crate) struct History {
    pub(super) engine: Engine,
    pub(super) notes: Arc<Notes>,
}

impl History {
    /// The latest past transfers of those that are asked for; a page that is not full is the last
    /// one.
    pub(crate) fn page(&self, query: &PastQuery) -> Result<Vec<Earlier>, Fault> {
        Ok(self.engine.past_remembered(query, PAGE)?.into_iter().map(Earlier::from).collect())
    }

    /// What is long of one of them.
    pub(crate) fn details(&self, number: u64) -> Result<PastDetails, Fault> {
        let (_, details) = self.engine.past_transfer(number)?.ok_or(Fault::Gone)?;
        Ok(details)
    }

    /// Forgets one of them; what it brought stays.
    pub(crate) fn forget(&self, number: u64) -> Result<(), Fault> {
        self.engine.forget_past(number)?;
        Ok(())
    }

    /// Forgets all of them; what they brought stays. Notes that were read go as well.
    pub(crate) fn clear(&self) -> Result<(), Fault> {
        let soon = SystemTime::now() + Duration::from_secs(1);
        self.engine.forget_past_before(soon)?;
        if self.engine.forget_notes_before(soon, false)? > 0 {
            self.notes.tell();
        }
        Ok(())
    }

    /// The folder to show for what one of them brought.
    pub(crate) fn folder(&self, number: u64) -> Result<PathBuf, Fault> {
        let (found, _) = self.engine.past_transfer(number)?.ok_or(Fault::Gone)?;
        folder_of(&found.past.paths).filter(|folder| folder.is_dir()).ok_or(Fault::Gone)
    }

    /// What one of them brought, by its final names, or what was sent; the first few.
    pub(crate) fn paths(&self, number: u64) -> Result<Vec<PathBuf>, Fault> {
        let (found, _) = self.engine.past_transfer(number)?.ok_or(Fault::Gone)?;
        Ok(found.past.paths.into_iter().map(|path| path.0).collect())
    }

    /// What each of those is now.
    pub(crate) fn kinds(&self, number: u64) -> Result<Vec<Option<EntryKind>>, Fault> {
        Ok(kinds_of(&self.paths(number)?))
    }
}
