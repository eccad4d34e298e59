//! What the sender may name, and how it is answered.
use std::sync::Arc;

use ringway_wire::control::Wanted;
use ringway_wire::lane::{Batch, Item};
use ringway_wire::{Name, OfferedNames, ProtocolError, RelPath};

use super::failures::LaneError;
use super::options::{Answers, Asked};

/// The other end, as far as the lanes have to do with it.
pub(super) struct Sender {
    /// What it offered; `None` if nobody did.
    pub(super) offered: Option<Arc<OfferedNames>>,
    /// What was asked for of it; none for all of it.
    pub(super) asked: Option<Asked>,
    pub(super) answers: Option<Answers>,
    /// It is asked to list its files.
    pub(super) lists: bool,
}

impl Sender {
    /// Holds what comes to the offer: every path and name that a lane says passes here before
    /// anything is done with it. `name` is none for a folder.
    ///
    /// # Errors
    /// Its top-level name was not offered, or it was not asked for.
    pub(super) fn hold_to_offer(&self, folder: RelPath<'_>, name: Option<Name<'_>>) -> Result<(), ProtocolError> {
        let top = folder.split_first().map(|(top, _)| top).or(name);
        if let (Some(offered), Some(top)) = (&self.offered, top)
            && !offered.has(top.as_bytes())
        {
            return Err(ProtocolError::NotOffered);
        }
        self.hold_folder_to_request(folder)?;
        name.map_or(Ok(()), |name| self.hold_entry_to_request(folder, name))
    }

    /// Holds a folder to what was asked for, and with it the folders above: what is in one that is
    /// left out is left out as well.
    fn hold_folder_to_request(&self, folder: RelPath<'_>) -> Result<(), ProtocolError> {
        let Some(asked) = &self.asked else { return Ok(()) };
        let path = folder.as_bytes();
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        let mut ends = slashes.chain((!path.is_empty()).then_some(path.len()));
        if ends.all(|end| asked(&path[..end], true)) { Ok(()) } else { Err(ProtocolError::NotAskedFor) }
    }

    /// The same for an entry in a folder that was held to it.
    fn hold_entry_to_request(&self, folder: RelPath<'_>, name: Name<'_>) -> Result<(), ProtocolError> {
        let Some(asked) = &self.asked else { return Ok(()) };
        if asked(&folder.join(name)?, false) { Ok(()) } else { Err(ProtocolError::NotAskedFor) }
    }

    /// All files of a list, before anything is looked for.
    pub(super) fn hold_list_to_offer<'l>(
        &self,
        files: impl Iterator<Item = (RelPath<'l>, Name<'l>)>,
    ) -> Result<(), ProtocolError> {
        let mut last = None;
        for (folder, name) in files {
            match last == Some(folder) && !folder.is_root() {
                true => self.hold_entry_to_request(folder, name)?,
                false => self.hold_to_offer(folder, Some(name))?,
            }
            last = Some(folder);
        }
        Ok(())
    }

    /// All of a batch, before anything of it is made.
    pub(super) fn hold_batch_to_offer(&self, batch: &Batch<'_>) -> Result<(), ProtocolError> {
        let mut folder = RelPath::ROOT;
        batch.items().try_for_each(|item| match item {
            Item::Folder { path, .. } => {
                folder = path;
                self.hold_to_offer(path, None)
            }
            Item::Entry(entry, _) if folder.is_root() => self.hold_to_offer(RelPath::ROOT, Some(entry.name)),
            Item::Entry(entry, _) => self.hold_entry_to_request(folder, entry.name),
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
