//! The folder to receive into, checked before anybody is told to send something.
use std::path::{Path, PathBuf};
use std::{fs, io};

use ringway_engine::Engine;
use ringway_model::{Fault, Operation, OsError};
use rustix::fs::{Access, access};

use crate::refusal::Refusal;
use crate::text::for_terminal;
use crate::words::{self, Words};

fn refuse(folder: &Path, error: impl Into<OsError>, next: &str) -> Refusal {
    let error = error.into();
    let what = format!("Nothing can be received into {}: {}.", for_terminal(folder), words::os(&error));
    Refusal::of(Fault::path(folder, Operation::Open, error), Words::new(what, next))
}

/// Refuses a folder whose filesystem does not answer: whatever looked at it would hang.
pub(crate) fn check_answers(engine: &Engine, folder: &Path) -> Result<(), Refusal> {
    if engine.answers(folder) {
        return Ok(());
    }
    let what = format!("Nothing can be received into {}: its filesystem does not answer.", for_terminal(folder));
    let words = Words::new(what, "Check its disk, or the server behind it, or name another folder.");
    Err(Refusal::of(Fault::path(folder, Operation::Open, io::ErrorKind::TimedOut), words))
}

/// The folder's absolute path.
pub(crate) fn destination(given: &Path) -> Result<PathBuf, Refusal> {
    let folder = fs::canonicalize(given)
        .map_err(|error| refuse(given, error, "Name a folder that exists, or make this one first (mkdir -p)."))?;
    if !folder.is_dir() {
        return Err(refuse(given, io::ErrorKind::NotADirectory, "Name a folder."));
    }
    access(&folder, Access::WRITE_OK | Access::EXEC_OK).map_err(|error| {
        refuse(given, io::Error::from(error), "Check its permissions (ls -ld), or name another folder.")
    })?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;

    #[test]
    fn a_destination_is_looked_at_first_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "x").unwrap();
        assert!(destination(folder.path()).unwrap().is_absolute());
        for bad in [file, folder.path().join("not there")] {
            let refusal = destination(&bad).unwrap_err();
            assert_eq!(refusal.exit, Exit::Failed);
            assert!(refusal.what.contains(&for_terminal(&bad)), "{}", refusal.what);
        }
    }
}
