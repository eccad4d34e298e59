//! What transfers that did not end keep, for the window: listed, and removed when a person says so.
use std::sync::Arc;

use ringway_engine::Engine;
use ringway_model::{Direction, Fault, Unfinished};

use super::transfers::Transfers;
use crate::dto::UnfinishedList;
use crate::text::shown;

/// What the engine finds of them; no state of its own.
#[derive(Clone)]
pub(crate) struct UnfinishedTransfers {
    pub(super) engine: Engine,
    pub(super) transfers: Arc<Transfers>,
}

impl UnfinishedTransfers {
    /// What is kept, the latest first, but for what a transfer is at work in, or waits to go on
    /// with.
    pub(crate) fn list(&self) -> Result<UnfinishedList, Fault> {
        let mut found = self.engine.unfinished()?;
        let under_way = self.transfers.running_of(|transfer| transfer.direction() == Direction::Receiving);
        let under_way: Vec<_> = under_way.iter().map(|transfer| (transfer.peer(), transfer.title())).collect();
        let waits = |left: &Unfinished| {
            under_way.iter().any(|(peer, (title, more))| {
                let (from, named) = (peer.as_ref().map(|(_, name)| name), left.names.len() as u64 + left.more_names);
                from.map(String::as_str) == left.from.as_deref()
                    && left.names.first().is_some_and(|name| name.as_os_str() == title)
                    && more + 1 == named
            })
        };
        found.left.retain(|left| !left.in_use && !waits(left));
        Ok(found.into())
    }

    /// Removes one, told by its id and folder as they are listed; the same send again begins anew.
    ///
    /// # Errors
    /// [`Fault::Gone`] where it is not there any more, or a transfer goes on with it by now.
    pub(crate) fn discard(&self, id: &str, folder: &str) -> Result<(), Fault> {
        let engine = &self.engine;
        let found = engine.unfinished()?.left;
        let asked = |left: &&Unfinished| left.id == id && shown(&left.folder) == folder;
        let left = found.iter().find(asked).ok_or(Fault::Gone)?;
        if engine.discard_unfinished(left)? { Ok(()) } else { Err(Fault::Gone) }
    }
}
