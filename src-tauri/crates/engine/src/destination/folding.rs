//! Whether a folder takes different spellings of a name for one (upper and lower case, composed and decomposed letters), and which of them it has.
use std::io;
use std::sync::Mutex;

use ringway_sys::dir::Dir;
use ringway_wire::RelPath;

use super::folders::Folder;
use super::trouble::{EntryError, Trouble, during};
use super::{FILLING_FILE_MODE, Incoming, lock};
use crate::error::Operation;
use crate::spelling;

/// What a filesystem does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fold {
    Never,
    Always,
    ByFolder,
}

/// The filesystems that folders were opened on.
#[derive(Default)]
pub(super) struct Folding(Mutex<Vec<(u64, Fold)>>);

/// Whether a folder takes different spellings for one name: tried with a file that is called `probe` and something.
pub(super) fn folds(dir: &Dir, probe: &[u8]) -> io::Result<bool> {
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

impl Folder {
    /// Whether it lists that very name, which it has been found to have. True where no other spelling could have been found.
    pub(super) fn has_exactly(&self, name: &[u8]) -> io::Result<bool> {
        if !self.folds {
            return Ok(true);
        }
        lock(&self.names).has(&self.dir, name)
    }
}

impl Incoming {
    /// Whether a folder on filesystem `dev` takes different spellings of a name for one.
    pub(super) fn folds_in(&self, dir: &Dir, dev: u64) -> bool {
        let fold = {
            let mut known = lock(&self.folding.0);
            let fold = known.iter().find(|(known, _)| *known == dev).map(|(_, fold)| *fold);
            fold.unwrap_or_else(|| {
                let fold = self.look(dir, dev);
                known.push((dev, fold));
                fold
            })
        };
        match fold {
            Fold::Never => false,
            Fold::Always => true,
            Fold::ByFolder => spelling::by_flag(dir) == Some(true),
        }
    }

    fn look(&self, dir: &Dir, dev: u64) -> Fold {
        if spelling::by_flag(dir).is_some() {
            return Fold::ByFolder;
        }
        let folds = match dev == self.root_dev {
            true => self.folds,
            // What cannot be tried is taken to do it: that costs listings, and loses nothing.
            false => folds(dir, &self.temporary_name()).unwrap_or(true),
        };
        if folds { Fold::Always } else { Fold::Never }
    }

    /// Refuses the path of a folder that was found by another spelling.
    pub(super) fn check_spelling(&self, base: &Dir, path: RelPath<'_>) -> Result<(), Trouble> {
        let mut at = None;
        for name in path.components() {
            let parent = at.as_ref().unwrap_or(base);
            self.check_name(parent, name.as_bytes())?;
            at = Some(parent.open_dir(name.as_bytes()).map_err(during(Operation::Open))?);
        }
        Ok(())
    }

    /// The same for one name, which is there.
    pub(super) fn check_name(&self, parent: &Dir, name: &[u8]) -> Result<(), Trouble> {
        let there = ringway_sys::attributes::metadata_of(parent).map_err(during(Operation::Open))?;
        if !self.folds_in(parent, there.dev) {
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
