//! What a request for entries of a share means on the device that has them: which entries, and
//! which of what they contain.
use std::sync::Arc;
use std::time::Instant;

use ringway_model::Selection;
use ringway_tree::filesystem::selection::Filter;
use ringway_tree::send::{BeneathError, EntryBeneath, WantedBeneath};
use ringway_wire::SelectedPaths;
use ringway_wire::control::{Get, GetPath, GetRefusal};
use rustix::io::Errno;

use crate::limits::SELECTING_TIME_MAX;
use crate::wire_convert::errno_of;

/// What is refused for want of descriptors here: its device asks again later.
pub(super) const NO_DESCRIPTORS: GetRefusal = GetRefusal::Path(0, Errno::MFILE.raw_os_error());

/// Whether that is a refusal for want of descriptors.
pub(super) fn is_for_now(refusal: GetRefusal) -> bool {
    let errnos = [Errno::MFILE, Errno::NFILE].map(Errno::raw_os_error);
    matches!(refusal, GetRefusal::Path(_, errno) if errnos.contains(&errno))
}

/// A request, ready to be looked for.
pub(super) struct Wanted {
    entries: Vec<EntryBeneath>,
    filter: Option<Arc<Filter>>,
}

impl Wanted {
    /// # Errors
    /// [`GetRefusal::Pattern`]: the requester has checked its patterns by the same rules.
    pub(super) fn new(get: &Get, selected: &SelectedPaths) -> Result<Self, GetRefusal> {
        // The folder itself has no name there.
        let path = |path: &[u8]| if path.is_empty() { b".".to_vec() } else { path.to_vec() };
        let paths = get.selected.map(|_| selected.iter().map(path).collect());
        let selection = Selection { patterns: get.patterns.clone(), paths };
        let filter = Filter::new(&selection).map_err(|_| GetRefusal::Pattern)?;
        let entry =
            |path: &GetPath| EntryBeneath { path: path.path.clone(), name: get.name_of(path).map(<[u8]>::to_vec) };
        Ok(Self { entries: get.paths.iter().map(entry).collect(), filter })
    }

    /// Looks for it, for as long as that may take before anything is offered.
    pub(super) fn look<T>(
        &self,
        look: impl FnOnce(&WantedBeneath<'_>) -> Result<T, BeneathError>,
    ) -> Result<T, GetRefusal> {
        let until = Instant::now() + SELECTING_TIME_MAX;
        // Without a filter it takes what the disk takes.
        let goes_on = || self.filter.is_none() || Instant::now() < until;
        let beneath = WantedBeneath { entries: &self.entries, filter: self.filter.clone(), goes_on: &goes_on };
        look(&beneath).map_err(|error| match error {
            BeneathError::Entry(number, error) => {
                GetRefusal::Path(u16::try_from(number).unwrap_or(u16::MAX), errno_of(&error))
            }
            BeneathError::SameName => GetRefusal::SameName,
            BeneathError::Names => GetRefusal::TooManyNames,
            BeneathError::NotOneFolder => GetRefusal::NotOneFolder,
            BeneathError::TooSlow => GetRefusal::TooSlow,
        })
    }
}
