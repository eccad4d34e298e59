//! Where the service is reached, and being it: the private folder, the lock that one process holds,
//! and the socket.
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use ringway_engine::{paths, private};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use tokio::net::UnixListener;

use super::ControlError;

const SOCKET: &str = "control.sock";
const LOCK: &str = "control.lock";

/// The folder that socket and lock lie in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    folder: PathBuf,
}

impl Place {
    /// In this folder, which is made when it is needed.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// From the environment: `ringway` in the user's folder (XDG_RUNTIME_DIR), else the folder that
    /// systemd made for a system's service (RUNTIME_DIRECTORY, systemd.exec(5)), else below
    /// `/run/user/UID` where that is there: cron and sudo leave the variable out.
    ///
    /// # Errors
    /// [`ControlError::NoPlace`].
    pub fn find() -> Result<Self, ControlError> {
        Self::among(|name| std::env::var_os(name), &paths::by_user())
    }

    fn among(variable: impl Fn(&str) -> Option<std::ffi::OsString>, by_user: &Path) -> Result<Self, ControlError> {
        let folder = paths::runtime(variable, by_user);
        Ok(Self { folder: folder.ok_or_else(|| ControlError::NoPlace { tried: by_user.to_owned() })? })
    }

    /// The socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.join(SOCKET)
    }

    fn make(&self) -> Result<(), ControlError> {
        let failed = |source| ControlError::Path { path: self.folder.clone(), source };
        // What a link leads to may be a folder for other things: its mode stays.
        if fs::symlink_metadata(&self.folder).is_ok_and(|found| found.is_symlink()) {
            return Err(ControlError::NotPrivate { path: self.folder.clone() });
        }
        private::make_folder(&self.folder).map_err(failed)?;
        let found = fs::symlink_metadata(&self.folder).map_err(failed)?;
        let is_ours = found.is_dir() && found.uid() == rustix::process::geteuid().as_raw();
        if !is_ours {
            return Err(ControlError::NotPrivate { path: self.folder.clone() });
        }
        Ok(())
    }
}

/// Being the service: as long as this lives, no other process is. Dropping it takes the socket
/// away.
#[derive(Debug)]
pub struct Hold {
    place: Place,
    _lock: File,
}

impl Hold {
    /// Becomes the service of this place and listens at its socket. A socket that a service has
    /// left which was killed is replaced.
    ///
    /// # Errors
    /// [`ControlError::Taken`] where another process is it, and what keeps folder, lock or socket
    /// from being made.
    pub fn take(place: &Place) -> Result<(Self, UnixListener), ControlError> {
        place.make()?;
        let lock = lock(&place.folder.join(LOCK))?;
        let hold = Self { place: place.clone(), _lock: lock };
        let path = place.socket();
        let failed = |source| ControlError::Path { path: path.clone(), source };
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        // The folder lets nobody else in, so nobody comes between these two.
        let listener = UnixListener::bind(&path).map_err(failed)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).map_err(failed)?;
        Ok((hold, listener))
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        // One that stays is replaced by the next service.
        let _ = fs::remove_file(self.place.socket());
    }
}

/// The lock file with our process's number in it. The kernel lets the lock go with the process,
/// however that ends (flock(2)).
fn lock(path: &Path) -> Result<File, ControlError> {
    let failed = |source| ControlError::Path { path: path.to_owned(), source };
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let mut file = private::open_file(&mut options, path).map_err(failed)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => {
            let mut text = String::new();
            // What it says is for people only: a service that has just taken the lock has not
            // written yet.
            let _ = file.read_to_string(&mut text);
            return Err(ControlError::Taken { pid: text.trim().parse().ok() });
        }
        Err(errno) => return Err(failed(errno.into())),
    }
    let written = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| writeln!(file, "{}", std::process::id()));
    written.map_err(failed)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_process_holds_a_place_and_a_socket_left_behind_is_replaced() {
        let base = tempfile::tempdir().unwrap();
        let place = Place::at(base.path().join("ringway"));
        let (hold, listener) = Hold::take(&place).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o7777;
        assert_eq!((mode(&place.folder), mode(&place.socket())), (0o700, 0o600));
        match Hold::take(&place) {
            Err(ControlError::Taken { pid }) => assert_eq!(pid, Some(std::process::id())),
            other => panic!("{other:?}"),
        }
        drop(hold);
        assert!(!place.socket().exists());
        drop(listener);
        fs::write(place.socket(), "left behind").unwrap();
        let again = Hold::take(&place).unwrap();
        drop(again);
    }

    #[test]
    fn a_folder_that_others_can_reach_into_is_closed_and_a_link_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let open = base.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        Place::at(&open).make().unwrap();
        assert_eq!(fs::metadata(&open).unwrap().mode() & 0o777, 0o700);
        let link = base.path().join("link");
        std::os::unix::fs::symlink(&open, &link).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(matches!(Place::at(link).make(), Err(ControlError::NotPrivate { .. })));
        assert_eq!(fs::metadata(&open).unwrap().mode() & 0o777, 0o755, "what it leads to may be shared");
    }

    #[test]
    fn the_place_follows_the_environment() {
        let base = tempfile::tempdir().unwrap();
        let none = base.path().join("none");
        let found = |set: &[(&str, &str)], by_user: &Path| {
            Place::among(|name| set.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into()), by_user)
        };
        let folder = |set: &[(&str, &str)], by_user: &Path| found(set, by_user).unwrap().folder;
        assert_eq!(folder(&[("XDG_RUNTIME_DIR", "/run/x")], &none), Path::new("/run/x/ringway"));
        assert_eq!(folder(&[("RUNTIME_DIRECTORY", "/run/ringway")], &none), Path::new("/run/ringway"));
        let both = [("RUNTIME_DIRECTORY", "/run/ringway"), ("XDG_RUNTIME_DIR", "/run/x")];
        assert_eq!(folder(&both, &none), Path::new("/run/x/ringway"));
        assert_eq!(folder(&[("XDG_RUNTIME_DIR", "relative")], base.path()), base.path().join("ringway"));
        assert!(matches!(found(&[], &none), Err(ControlError::NoPlace { .. })));
    }
}
