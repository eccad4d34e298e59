//! Two entries whose names a folder at the destination takes for one: the second is reported, and
//! never overwrites the first. The same applies to a name that the folder cannot hold.
use std::sync::OnceLock;

use parking_lot::{Mutex, MutexGuard};
use ringway_model::FailureReason;
use ringway_sys::attributes::Metadata;
use ringway_sys::dir::Dir;
use ringway_tree::filesystem::spelling::{LostEnds, Names, by_flag, has_loose_end};

use super::Folder;
use super::entry_error::EntryError;
use super::overwrite;

/// How a folder at the destination treats names.
#[derive(Default)]
pub(crate) struct Spelling {
    /// Its case-folding flag, if its filesystem has one.
    flag: OnceLock<Option<bool>>,
    /// Whether it treats upper and lower case as equal, once that was tested.
    folds_case: OnceLock<bool>,
    /// Ends of names that it drops, once a name with such an end was met.
    loses: OnceLock<LostEnds>,
    /// The names in it. A thread that creates a name which may be taken holds the lock.
    names: Mutex<Names>,
}

impl Folder<'_> {
    /// Refuses a name that would become another one there. It is tested when a name is met that may
    /// be affected, but not in a dry run, which writes nothing.
    pub(crate) fn admit(&self, name: &[u8]) -> Result<(), EntryError> {
        if !has_loose_end(name) || self.job.options.dry_run {
            return Ok(());
        }
        let Some(dir) = &self.target()? else { return Ok(()) };
        if self.spelling.flag.get_or_init(|| by_flag(dir)).is_some() {
            return Ok(());
        }
        let loses = self.spelling.loses.get_or_init(|| overwrite::lost_ends(dir));
        if loses.include(name) { Err(EntryError::TargetIs(FailureReason::NameNotKept)) } else { Ok(()) }
    }

    /// Whether `name`, which leads to an entry at the destination, belongs to another entry of this
    /// copy with another spelling.
    pub(crate) fn is_another_ones(&self, name: &[u8], there: &Metadata) -> bool {
        self.may_be_another_ones(name, name) && self.is_taken(name, there, &mut self.listed())
    }

    /// Calls `give` to create an entry's name, unless that name belongs to another entry. `present`
    /// is a name that the folder has. Returns `None` if the name is another's.
    pub(crate) fn unless_taken<T>(&self, name: &[u8], present: &[u8], give: impl FnOnce() -> T) -> Option<T> {
        if !self.may_be_another_ones(name, present) {
            return Some(give());
        }
        // Held until the entry has its name, because two threads may be about to create it.
        let mut names = self.listed();
        let there = self.target().ok().flatten().and_then(|dir| dir.metadata(name).ok());
        let is_taken = there.is_some_and(|there| self.is_taken(name, &there, &mut names));
        (!is_taken).then(give)
    }

    fn listed(&self) -> MutexGuard<'_, Names> {
        self.spelling.names.lock()
    }

    /// A cheap first test. If no filesystem folds names it takes one call per folder.
    fn may_be_another_ones(&self, name: &[u8], present: &[u8]) -> bool {
        let Ok(Some(dir)) = &self.target() else { return false };
        match *self.spelling.flag.get_or_init(|| by_flag(dir)) {
            Some(flag) => flag,
            // Letters beyond ASCII may be composed in two ways, even if case counts.
            None if !name.is_ascii() => true,
            // The same applies to a name whose end the filesystem may drop.
            None if has_loose_end(name) => true,
            None if !name.iter().any(u8::is_ascii_alphabetic) => false,
            None => *self.spelling.folds_case.get_or_init(|| folds_case(dir, present)),
        }
    }

    fn is_taken(&self, name: &[u8], there: &Metadata, names: &mut Names) -> bool {
        let Ok(Some(dir)) = &self.target() else { return false };
        // If the folder may not be listed, the copy writes into the entry, as cp does.
        if names.has(dir, name).unwrap_or(true) {
            return false;
        }
        let spelt = || -> std::io::Result<Option<Vec<u8>>> {
            let mut entries = dir.entries()?;
            while let Some(entry) = entries.next() {
                let listed = entry?.name;
                let found = dir.metadata(listed);
                if found.is_ok_and(|found| (found.dev, found.ino) == (there.dev, there.ino)) {
                    return Ok(Some(listed.to_vec()));
                }
            }
            Ok(None)
        };
        // An entry that existed before this copy with another spelling is overwritten, as by cp.
        spelt().ok().flatten().is_none_or(|spelt| self.copies(&spelt))
    }

    /// Whether an entry of that name is also copied into this folder.
    fn copies(&self, name: &[u8]) -> bool {
        match &self.metadata {
            Some(_) => self.source().is_ok_and(|source| source.metadata(name).is_ok()),
            None => self.job.top.as_ref().is_some_and(|top| {
                top.copies.iter().any(|copy| copy.file_name().is_some_and(|copy| copy.as_encoded_bytes() == name))
            }),
        }
    }
}

/// Whether a folder also finds `present`, a name that it has, in the other case. True if the name
/// has no letters by which to test.
fn folds_case(dir: &Dir, present: &[u8]) -> bool {
    let swapped: Vec<u8> = present
        .iter()
        .map(|byte| if byte.is_ascii_lowercase() { byte.to_ascii_uppercase() } else { byte.to_ascii_lowercase() })
        .collect();
    if swapped == present {
        return true;
    }
    match (dir.metadata(present), dir.metadata(&swapped)) {
        (Ok(one), Ok(other)) => (one.dev, one.ino) == (other.dev, other.ino),
        (_, Err(_)) => false,
        (Err(_), Ok(_)) => true,
    }
}
