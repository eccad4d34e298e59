//! The folder to receive into, checked before anybody is told to send something.
use std::fs;
use std::path::{Path, PathBuf};

use ringway_engine::Engine;
use rustix::fs::{Access, access};

use crate::exit::Refusal;
use crate::text::for_terminal;
use crate::words;

fn refuse(folder: &Path, why: &str) -> Refusal {
    Refusal::failed(format!("Nothing can be received into {}: {why}.", for_terminal(folder)))
}

/// Refuses a folder whose filesystem does not answer: whatever looked at it would hang.
pub(crate) fn check_answers(engine: &Engine, folder: &Path) -> Result<(), Refusal> {
    if engine.answers(folder) {
        return Ok(());
    }
    let advice = "Check its disk, or the server behind it, or name another folder.";
    Err(refuse(folder, "its filesystem does not answer").advise(advice))
}

/// The folder's absolute path.
pub(crate) fn destination(given: &Path) -> Result<PathBuf, Refusal> {
    let refuse = |why: &str| refuse(given, why);
    let folder = fs::canonicalize(given).map_err(|error| {
        refuse(&words::os(&error.into())).advise("Name a folder that exists, or make this one first (mkdir -p).")
    })?;
    if !folder.is_dir() {
        return Err(refuse("it is not a folder"));
    }
    access(&folder, Access::WRITE_OK | Access::EXEC_OK).map_err(|error| {
        refuse(&words::os(&std::io::Error::from(error).into()))
            .advise("Check its permissions (ls -ld), or name another folder.")
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
