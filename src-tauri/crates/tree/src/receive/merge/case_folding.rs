//! Whether a folder takes different spellings of a name for one (upper and lower case, composed and
//! decomposed letters), which of them it has, and which names it cannot hold.
use std::io;

use crate::disk::Dir;
use parking_lot::Mutex;
use ringway_model::Operation;
use ringway_wire::RelPath;

use crate::filesystem::spelling::{self, LostEnds};
use crate::receive::failures::{EntryError, Trouble, during};
use crate::receive::{FILLING_FILE_MODE, Incoming};

/// What a folder does to names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::receive) struct Manner {
    /// It takes different spellings of a name for one.
    pub(in crate::receive) folds: bool,
    /// Of such folders: what it does not keep of names.
    loses: LostEnds,
    /// Such a folder changes some letters, so that each name that has such is tried.
    changes_letters: bool,
}

/// What a filesystem does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fold {
    Everywhere(Manner),
    /// By a flag of the folder. Such filesystems keep names as they are.
    ByFolder,
}

/// The filesystems that folders were opened on.
#[derive(Default)]
pub(in crate::receive) struct Folding(Mutex<Vec<(u64, Fold)>>);

impl Manner {
    /// Tried with files that are called `probe` and something.
    pub(in crate::receive) fn of(dir: &Dir, probe: &[u8]) -> io::Result<Self> {
        let folds = folds(dir, probe)?;
        if !folds {
            return Ok(Self::default());
        }
        let loses = LostEnds::try_out(dir, probe, FILLING_FILE_MODE);
        Ok(Self { folds, loses, changes_letters: spelling::changes_letters(dir, probe) })
    }
}

/// Whether a folder takes different spellings for one name.
fn folds(dir: &Dir, probe: &[u8]) -> io::Result<bool> {
    let try_out = |made: &[u8], asked: &[u8]| {
        // One that was left by an attempt that was killed.
        let _ = dir.unlink(made);
        drop(dir.create_new(made, FILLING_FILE_MODE)?);
        let found = dir.metadata(asked).is_ok();
        dir.unlink(made).map(|()| found)
    };
    if try_out(probe, &probe.to_ascii_uppercase())? {
        return Ok(true);
    }
    let with = |letter: &str| [probe, letter.as_bytes()].concat();
    // A filesystem that does not take such a name does not take two spellings of it either.
    Ok(try_out(&with("\u{e9}"), &with("e\u{301}")).unwrap_or(false))
}

impl Incoming {
    /// What a folder on filesystem `dev` does to names.
    pub(in crate::receive) fn manner_in(&self, dir: &Dir, dev: u64) -> Manner {
        let fold = {
            let mut known = self.folding.0.lock();
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
        let manner = match dev == self.root.dev {
            true => self.staging.manner,
            // What cannot be tried is taken to do it: that costs listings, and loses nothing.
            false => {
                Manner::of(dir, &self.temporary_name()).unwrap_or_else(|_| Manner { folds: true, ..Manner::default() })
            }
        };
        Fold::Everywhere(manner)
    }

    /// Refuses a name that would become another one in such a folder, which may be another entry's
    /// or the receiver's own. Before anything is made or looked for under it; letters are tried in
    /// `dir`, of the same filesystem.
    pub(in crate::receive) fn admit_name(&self, manner: Manner, dir: &Dir, name: &[u8]) -> Result<(), EntryError> {
        let is_tried = manner.changes_letters && spelling::has_loose_letters(name);
        // A name that is refused there is refused when its entry is made.
        let is_changed = || is_tried && matches!(spelling::keeps(dir, &self.temporary_name(), name), Ok(false));
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
