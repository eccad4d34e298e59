//! Two entries whose names a folder at the destination takes for one: the second is reported, and
//! never written over the first. The same for a name that the folder cannot hold.
use std::sync::OnceLock;

use parking_lot::{Mutex, MutexGuard};
use ringway_model::FailureReason;
use ringway_sys::attributes::Metadata;
use ringway_sys::dir::Dir;
use ringway_tree::filesystem::spelling::{LostEnds, Names, by_flag, has_loose_end};

use super::Folder;
use super::entry_error::EntryError;
use super::overwrite;

/// How a folder at the destination takes names.
#[derive(Default)]
pub(crate) struct Spelling {
    /// Its flag, where its filesystem has one.
    flag: OnceLock<Option<bool>>,
    /// Whether it takes upper and lower case for one, once that was looked at.
    folds_case: OnceLock<bool>,
    /// What it does not keep of names, once one came that ends so.
    loses: OnceLock<LostEnds>,
    /// What it lists. Whoever gives a name that may be taken holds it.
    names: Mutex<Names>,
}

impl Folder<'_> {
    /// Refuses a name that would become another one there. Tried where one comes that may, but not
    /// in a dry run, which writes nothing.
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

    /// Whether `name`, which something at the destination answers to, is there for another entry of
    /// this copy that is spelt otherwise.
    pub(crate) fn is_another_ones(&self, name: &[u8], there: &Metadata) -> bool {
        self.may_be_another_ones(name, name) && self.is_taken(name, there, &mut self.listed())
    }

    /// Has `give` give an entry its name unless that is another one's; `present` is a name that the
    /// folder has. None if it is.
    pub(crate) fn unless_taken<T>(&self, name: &[u8], present: &[u8], give: impl FnOnce() -> T) -> Option<T> {
        if !self.may_be_another_ones(name, present) {
            return Some(give());
        }
        // Held until it has its name: two threads may be about to give it.
        let mut names = self.listed();
        let there = self.target().ok().flatten().and_then(|dir| dir.metadata(name).ok());
        let is_taken = there.is_some_and(|there| self.is_taken(name, &there, &mut names));
        (!is_taken).then(give)
    }

    fn listed(&self) -> MutexGuard<'_, Names> {
        self.spelling.names.lock()
    }

    /// Cheap: where no filesystem folds names it is one call for a folder.
    fn may_be_another_ones(&self, name: &[u8], present: &[u8]) -> bool {
        let Ok(Some(dir)) = &self.target() else { return false };
        match *self.spelling.flag.get_or_init(|| by_flag(dir)) {
            Some(flag) => flag,
            // Letters beyond ASCII may be composed in two ways, even where case counts.
            None if !name.is_ascii() => true,
            // So may what is left of a name without its end.
            None if has_loose_end(name) => true,
            None if !name.iter().any(u8::is_ascii_alphabetic) => false,
            None => *self.spelling.folds_case.get_or_init(|| folds_case(dir, present)),
        }
    }

    fn is_taken(&self, name: &[u8], there: &Metadata, names: &mut Names) -> bool {
        let Ok(Some(dir)) = &self.target() else { return false };
        // One that may not be listed is written to as cp does.
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
        // What was there before this copy under another spelling is written over, as cp does.
        spelt().ok().flatten().is_none_or(|spelt| self.copies(&spelt))
    }

    /// Whether an entry of that name is copied into this folder as well.
    fn copies(&self, name: &[u8]) -> bool {
        match &self.metadata {
            Some(_) => self.source().is_ok_and(|source| source.metadata(name).is_ok()),
            None => self.job.top.as_ref().is_some_and(|top| {
                top.copies.iter().any(|copy| copy.file_name().is_some_and(|copy| copy.as_encoded_bytes() == name))
            }),
        }
    }
}

/// Whether a folder answers to `present`, which it has, in the other case as well. True where that
/// name has no letters to tell it by.
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
