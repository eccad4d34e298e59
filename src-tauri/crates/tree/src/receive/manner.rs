//! What a folder does to names: whether it takes different spellings of one for the same, and which
//! it does not keep.
use std::io;

use ringway_model::Operation;

use super::FILLING_FILE_MODE;
use crate::disk::Dir;
use crate::filesystem::spelling::{self, LostEnds};

/// What a folder does to names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Manner {
    /// It takes different spellings of a name for one.
    pub(super) folds: bool,
    /// Of such folders: what it does not keep of names.
    pub(super) loses: LostEnds,
    /// Such a folder changes some letters, so that each name that has such is tried.
    pub(super) changes_letters: bool,
}

impl Manner {
    /// Tried with files that are called `probe` and something.
    pub(super) fn of(dir: &Dir, probe: &[u8]) -> Result<Self, (Operation, io::Error)> {
        let folds = folds(dir, probe)?;
        if !folds {
            return Ok(Self::default());
        }
        let loses = LostEnds::try_out(dir, probe, FILLING_FILE_MODE);
        Ok(Self { folds, loses, changes_letters: spelling::changes_letters(dir, probe) })
    }
}

/// Whether a folder takes different spellings for one name.
fn folds(dir: &Dir, probe: &[u8]) -> Result<bool, (Operation, io::Error)> {
    let during = |operation| move |error| (operation, error);
    let try_out = |made: &[u8], asked: &[u8]| {
        // One that was left by an attempt that was killed.
        let _ = dir.unlink(made);
        drop(dir.create_new(made, FILLING_FILE_MODE).map_err(during(Operation::Create))?);
        let found = dir.metadata(asked).is_ok();
        dir.unlink(made).map_err(during(Operation::Remove)).map(|()| found)
    };
    if try_out(probe, &probe.to_ascii_uppercase())? {
        return Ok(true);
    }
    let with = |letter: &str| [probe, letter.as_bytes()].concat();
    // A filesystem that does not take such a name does not take two spellings of it either.
    Ok(try_out(&with("\u{e9}"), &with("e\u{301}")).unwrap_or(false))
}
