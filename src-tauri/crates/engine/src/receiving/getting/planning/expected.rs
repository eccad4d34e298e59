//! What the plan of a request may name: what the get itself would take. The other device may lie.
use ringway_tree::receive::Asked;
use ringway_wire::ProtocolError;
use ringway_wire::control::{Get, PlannedEntry, PlannedKind};
use ringway_wire::lane::Counts;

use crate::receiving::getting::request::Request;

/// The request, and what of its plan has arrived.
pub(super) struct Expected {
    get: Get,
    asked: Option<Asked>,
    /// The last folder that was found to be asked for, with those above it.
    folder: Vec<u8>,
    arrived: Counts,
}

impl Expected {
    pub(super) fn new(request: &Request) -> Self {
        let (get, asked) = (request.get.clone(), request.asked());
        Self { get, asked, folder: Vec::new(), arrived: Counts::default() }
    }

    /// Counts an entry.
    ///
    /// # Errors
    /// [`ProtocolError::NotAskedFor`] if it would end the get itself. A failed entry is only shown.
    pub(super) fn add(&mut self, entry: &PlannedEntry) -> Result<(), ProtocolError> {
        let PlannedEntry::Moves(kind, path) = entry else { return Ok(()) };
        if !self.takes(path, *kind == PlannedKind::Folder) {
            return Err(ProtocolError::NotAskedFor);
        }
        match kind {
            PlannedKind::Folder => self.arrived.folders += 1,
            PlannedKind::File => self.arrived.files += 1,
            PlannedKind::Link => self.arrived.links += 1,
        }
        Ok(())
    }

    fn takes(&mut self, path: &[u8], is_folder: bool) -> bool {
        let slashes: Vec<_> = (0..path.len()).filter(|at| path[*at] == b'/').collect();
        let top = &path[..slashes.first().copied().unwrap_or(path.len())];
        if !self.get.asks_for(top) {
            return false;
        }
        let Some(asked) = &self.asked else { return true };
        let folder = &path[..slashes.last().copied().unwrap_or(0)];
        if folder != self.folder {
            if !slashes.iter().all(|at| asked(&path[..*at], true)) {
                return false;
            }
            self.folder = folder.to_vec();
        }
        asked(path, is_folder)
    }

    /// Compares what has arrived with the counts at the end of the plan.
    ///
    /// # Errors
    /// [`ProtocolError::Totals`].
    pub(super) fn end(&self, sent: &Counts) -> Result<(), ProtocolError> {
        let Counts { files, folders, links, .. } = self.arrived;
        let counts = [("files", sent.files, files), ("folders", sent.folders, folders), ("links", sent.links, links)];
        let wrong = counts.into_iter().find(|(_, declared, found)| declared != found);
        wrong.map_or(Ok(()), |(what, declared, found)| Err(ProtocolError::Totals { what, declared, found }))
    }
}
