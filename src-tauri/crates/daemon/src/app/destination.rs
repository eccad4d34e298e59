//! Where copies inside this machine go: the folder that a person picked, kept here and across runs;
//! the webview gets a text of it.
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use ringway_engine::private;
use ringway_model::{Fault, Invalid, Operation};

/// Holds the path as it is: any bytes (path_resolution(7)).
const FILE_NAME: &str = "copy-folder";

/// The folder picked last.
pub(crate) struct Destination {
    file: PathBuf,
    picked: Mutex<Option<PathBuf>>,
}

impl Destination {
    /// What an earlier run picked, from the folder for what may be lost; whatever cannot be read
    /// was never picked.
    pub(crate) fn open(state: &Path) -> Self {
        let file = state.join(FILE_NAME);
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
        let first = Destination::open(&state);
        assert_eq!(first.offered(), None);
        assert!(matches!(first.ready(), Err(Fault::Invalid(_))));
        first.pick(folder.clone());
        assert_eq!(Destination::open(&state).offered(), Some(folder));
    }

    #[test]
    fn a_folder_that_has_gone_is_neither_offered_nor_made_anew() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("sets");
        std::fs::create_dir(&folder).unwrap();
        let destination = Destination::open(base.path());
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
        std::fs::write(base.path().join(FILE_NAME), "src").unwrap();
        assert_eq!(Destination::open(base.path()).offered(), None);
    }
}
