//! Whether a folder takes different spellings of a name for one (upper and lower case, composed and
//! decomposed letters), which of them it has, and which names it cannot hold.
use std::sync::Arc;

use crate::disk::Dir;
use parking_lot::Mutex;
use ringway_model::Operation;
use ringway_wire::RelPath;

use crate::filesystem::spelling;
use crate::receive::failures::{EntryError, Trouble, during};
use crate::receive::manner::Manner;
use crate::receive::staging::attempt::Staging;
use crate::receive::staging::temporaries::Temporaries;

/// What a filesystem does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fold {
    Everywhere(Manner),
    /// By a flag of the folder. Such filesystems keep names as they are.
    ByFolder,
}

/// The filesystems that folders were opened on.
pub(in crate::receive) struct Folding {
    known: Mutex<Vec<(u64, Fold)>>,
    /// The destination's own filesystem, and what the staging folder there does.
    dev: u64,
    manner: Manner,
    /// Where names are tried.
    pub(in crate::receive) staging: Arc<Dir>,
    temporaries: Arc<Temporaries>,
}

impl Folding {
    /// For a destination on filesystem `dev`.
    pub(in crate::receive) fn new(dev: u64, staging: &Staging) -> Self {
        let (staging, temporaries, manner) =
            (Arc::clone(&staging.dir), Arc::clone(&staging.temporaries), staging.manner);
        Self { known: Mutex::default(), dev, manner, staging, temporaries }
    }

    /// What a folder on filesystem `dev` does to names.
    pub(in crate::receive) fn manner_in(&self, dir: &Dir, dev: u64) -> Manner {
        let fold = {
            let mut known = self.known.lock();
            let fold = known.iter().find(|(known, _)| *known == dev).map(|(_, fold)| *fold);
            fold.unwrap_or_else(|| {
                let fold = self.look(dir, dev);
                known.push((dev, fold));
                fold
            })
        };
        match fold {
            Fold::Everywhere(manner) => manner,
            Fold::ByFolder => Manner { folds: spelling::by_flag(dir) == Some(true), ..Manner::default() },
        }
    }

    fn look(&self, dir: &Dir, dev: u64) -> Fold {
        if spelling::by_flag(dir).is_some() {
            return Fold::ByFolder;
        }
        let manner = match dev == self.dev {
            true => self.manner,
            // What cannot be tried is taken to do it: that costs listings, and loses nothing.
            false => Manner::of(dir, &self.temporaries.next())
                .unwrap_or_else(|_| Manner { folds: true, ..Manner::default() }),
        };
        Fold::Everywhere(manner)
    }

    /// Refuses a name that would become another one in such a folder, which may be another entry's
    /// or the receiver's own. Before anything is made or looked for under it; letters are tried in
    /// `dir`, of the same filesystem.
    pub(in crate::receive) fn admit_name(&self, manner: Manner, dir: &Dir, name: &[u8]) -> Result<(), EntryError> {
        let is_tried = manner.changes_letters && spelling::has_loose_letters(name);
        // A name that is refused there is refused when its entry is made.
        let is_changed = || is_tried && matches!(spelling::keeps(dir, &self.temporaries.next(), name), Ok(false));
        if manner.loses.include(name) || is_changed() { Err(EntryError::NAME_NOT_KEPT) } else { Ok(()) }
    }

    /// Refuses the path of a folder that was found by another spelling.
    pub(in crate::receive) fn check_spelling(&self, base: &Dir, path: RelPath<'_>) -> Result<(), Trouble> {
        let mut at = None;
        for name in path.components() {
            let parent = at.as_ref().unwrap_or(base);
            self.check_name(parent, name.as_bytes())?;
            at = Some(parent.open_dir(name.as_bytes()).map_err(during(Operation::Open))?);
        }
        Ok(())
    }

    /// The same for one name, which is there.
    pub(in crate::receive) fn check_name(&self, parent: &Dir, name: &[u8]) -> Result<(), Trouble> {
        let there = ringway_sys::attributes::metadata_of(parent).map_err(during(Operation::Open))?;
        if !self.manner_in(parent, there.dev).folds {
            return Ok(());
        }
        let listed = || {
            let mut entries = parent.entries()?;
            while let Some(entry) = entries.next() {
                if entry?.name == name {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        if listed().map_err(during(Operation::Read))? { Ok(()) } else { Err(EntryError::IN_THE_WAY.into()) }
    }
}
