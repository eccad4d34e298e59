//! A folder that a person picked, kept here and across runs: where copies inside this machine go,
//! where what is sent was picked last, and where something was got into. The webview gets a text of
//! it at most.
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use ringway_engine::private;
use ringway_model::{Fault, Invalid, Operation};

/// The file of the folder that copies go into. Each holds the path as it is: any bytes
/// (path_resolution(7)).
pub(super) const OF_COPIES: &str = "copy-folder";

/// The file of the folder in which what is sent was picked.
pub(super) const OF_SOURCES: &str = "sources-folder";

/// The file of the folder into which something was got that was not to go into the receive folder.
pub(super) const OF_GETS: &str = "get-folder";

/// The folder picked last.
pub(crate) struct PickedFolder {
    file: PathBuf,
    picked: Mutex<Option<PathBuf>>,
}

impl PickedFolder {
    /// What an earlier run picked, from the folder for what may be lost; whatever cannot be read
    /// was never picked.
    pub(super) fn open(state: &Path, file_name: &str) -> Self {
        let file = state.join(file_name);
        let picked = std::fs::read(&file).ok().map(|bytes| PathBuf::from(OsString::from_vec(bytes)));
        Self { file, picked: Mutex::new(picked.filter(|path| path.is_absolute())) }
    }

    /// The folder to offer: none was picked, or it has gone.
    pub(crate) fn offered(&self) -> Option<PathBuf> {
        self.picked.lock().clone().filter(|folder| folder.is_dir())
    }

    /// Remembers another folder.
    pub(crate) fn pick(&self, folder: PathBuf) {
        if let Some(state) = self.file.parent() {
            let written = private::make_folder(state);
            // Where it cannot be kept, the next run asks again.
            let _ = written.and_then(|()| private::write_file(&self.file, folder.as_os_str().as_bytes()));
        }
        *self.picked.lock() = Some(folder);
    }

    /// The folder to copy into, which must still be one: the engine would make a folder of that
    /// name instead, as cp does.
    ///
    /// # Errors
    /// [`Fault::Path`] where it has gone or is no folder; [`Fault::Invalid`] where none was picked.
    pub(crate) fn ready(&self) -> Result<PathBuf, Fault> {
        let folder = self.picked.lock().clone().ok_or(Fault::Invalid(Invalid::NoDestination))?;
        match std::fs::read_dir(&folder) {
            Ok(_) => Ok(folder),
            Err(source) => Err(Fault::path(folder, Operation::Open, source)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn the_next_run_offers_the_folder_again_whatever_bytes_its_name_has() {
        let base = tempfile::tempdir().unwrap();
        let state = base.path().join("state/ringway");
        let folder = base.path().join(OsStr::from_bytes(b"caf\xe9 sets"));
        std::fs::create_dir(&folder).unwrap();
        let first = PickedFolder::open(&state, OF_COPIES);
        assert_eq!(first.offered(), None);
        assert!(matches!(first.ready(), Err(Fault::Invalid(_))));
        first.pick(folder.clone());
        assert_eq!(PickedFolder::open(&state, OF_COPIES).offered(), Some(folder));
    }

    #[test]
    fn a_folder_that_has_gone_is_neither_offered_nor_made_anew() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("sets");
        std::fs::create_dir(&folder).unwrap();
        let destination = PickedFolder::open(base.path(), OF_COPIES);
        destination.pick(folder.clone());
        std::fs::remove_dir(&folder).unwrap();
        assert_eq!(destination.offered(), None);
        match destination.ready() {
            Err(Fault::Path { path, source, .. }) => assert_eq!((path.0, source.raw_os_error()), (folder, Some(2))),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_remembered_path_that_is_not_absolute_is_forgotten() {
        let base = tempfile::tempdir().unwrap();
        std::fs::write(base.path().join(OF_COPIES), "src").unwrap();
        assert_eq!(PickedFolder::open(base.path(), OF_COPIES).offered(), None);
    }
}
