//! What the sender may name, and how it is answered.
use std::sync::Arc;

use ringway_wire::control::Wanted;
use ringway_wire::lane::{Batch, Item};
use ringway_wire::{Name, OfferedNames, ProtocolError, RelPath};

use super::failures::LaneError;
use super::options::Answers;

/// The other end, as far as the lanes have to do with it.
pub(super) struct Sender {
    /// What it offered; none where nobody did.
    pub(super) offered: Option<Arc<OfferedNames>>,
    pub(super) answers: Option<Answers>,
    /// It is asked to list its files.
    pub(super) lists: bool,
}

impl Sender {
    /// Holds what comes to the offer: every path and name that a lane says passes here before
    /// anything is done with it. `name` is none for a folder.
    ///
    /// # Errors
    /// Its top-level name was not offered.
    pub(super) fn hold_to_offer(&self, folder: RelPath<'_>, name: Option<Name<'_>>) -> Result<(), ProtocolError> {
        let top = folder.split_first().map(|(top, _)| top).or(name);
        match (&self.offered, top) {
            (Some(offered), Some(top)) if !offered.has(top.as_bytes()) => Err(ProtocolError::NotOffered),
            _ => Ok(()),
        }
    }

    /// All of a batch, before anything of it is made.
    pub(super) fn hold_batch_to_offer(&self, batch: &Batch<'_>) -> Result<(), ProtocolError> {
        let mut at_top = true;
        batch.items().try_for_each(|item| match item {
            Item::Folder { path, .. } => {
                at_top = path.is_root();
                self.hold_to_offer(path, None)
            }
            Item::Entry(entry, _) if at_top => self.hold_to_offer(RelPath::ROOT, Some(entry.name)),
            Item::Entry(..) => Ok(()),
        })
    }

    /// Has the answer sent. Waits while many are: a sender that lists without reading answers is
    /// not followed.
    pub(super) fn answer(&self, wanted: Wanted) -> Result<(), LaneError> {
        match &self.answers {
            // Who should send it has gone, and with it the transfer.
            Some(answers) => answers(wanted).then_some(()).ok_or(LaneError::Cancelled),
            None => Err(ProtocolError::BadValue("list that nobody asked for").into()),
        }
    }
}
