//! Where this device's key pair is kept: made once, 0600. What the key does is left to
//! `link::key`.
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use ringway_link::key::{DeviceKey, fresh_pem};
use ringway_model::{Fault, Operation, StoreTrouble};
use zeroize::Zeroizing;

use crate::local::paths::IDENTITY_FILE;
use crate::local::private;

/// Reads the key, or makes it on first use. Two programs that start at once end with the same one.
pub(crate) fn open(folder: &Path) -> Result<DeviceKey, Fault> {
    make_private_folder(folder)?;
    let path = folder.join(IDENTITY_FILE);
    match read(&path)? {
        Some(identity) => Ok(identity),
        None => {
            create(&path)?;
            read(&path)?.ok_or_else(|| broken(&path, "vanished while it was being made"))
        }
    }
}

fn read(path: &Path) -> Result<Option<DeviceKey>, Fault> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(Fault::of_state(path, Operation::Open, &source)),
    };
    if metadata.mode() & 0o077 != 0 {
        return Err(Fault::Store {
            path: path.into(),
            trouble: StoreTrouble::Untrusted,
            detail: "others may read the key in it: if nobody has, run chmod 600 on it".into(),
        });
    }
    let pem = Zeroizing::new(fs::read(path).map_err(|source| Fault::of_state(path, Operation::Read, &source))?);
    DeviceKey::from_pem(&pem).map(Some).map_err(|reason| broken(path, reason))
}

fn create(path: &Path) -> Result<(), Fault> {
    let at = |operation| move |source: io::Error| Fault::of_state(path, operation, &source);
    let mut fresh = [0; 8];
    getrandom::fill(&mut fresh).map_err(|error| at(Operation::Create)(io::Error::other(error)))?;
    let temporary = path.with_extension(format!("{:016x}", u64::from_ne_bytes(fresh)));
    let mut options = fs::OpenOptions::new();
    let mut file =
        private::open_file(options.write(true).create_new(true), &temporary).map_err(at(Operation::Create))?;
    let written = file.write_all(fresh_pem()?.as_bytes()).and_then(|()| file.sync_all());
    // A hard link, unlike a rename, leaves the winner of a race in place.
    let linked = written.and_then(|()| match fs::hard_link(&temporary, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    });
    let removed = fs::remove_file(&temporary);
    linked.map_err(at(Operation::Create)).and(removed.map_err(at(Operation::Remove)))
}

fn broken(path: &Path, reason: &str) -> Fault {
    Fault::Store { path: path.into(), trouble: StoreTrouble::DamagedIdentity, detail: reason.into() }
}

/// Makes a folder that only its owner may enter, with its parents.
pub(crate) fn make_private_folder(folder: &Path) -> Result<(), Fault> {
    private::make_folder(folder).map_err(|source| Fault::of_state(folder, Operation::Create, &source))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::OpenOptionsExt;

    use super::*;

    #[test]
    fn is_made_once_and_read_back_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let made = open(&folder.path().join("deep/er")).unwrap();
        let read = open(&folder.path().join("deep/er")).unwrap();
        assert_eq!(made.id(), read.id());
        let mode = fs::metadata(folder.path().join("deep/er").join(IDENTITY_FILE)).unwrap().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path().join("deep/er")).unwrap().count(), 1, "no temporary file stays");
    }

    #[test]
    fn two_that_start_at_once_become_one_device() {
        let folder = tempfile::tempdir().unwrap();
        let ids: Vec<_> = std::thread::scope(|scope| {
            let starts: Vec<_> = (0..8).map(|_| scope.spawn(|| open(folder.path()).unwrap().id())).collect();
            starts.into_iter().map(|start| start.join().unwrap()).collect()
        });
        assert!(ids.iter().all(|id| *id == ids[0]));
    }

    #[test]
    fn a_key_that_others_may_read_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        open(folder.path()).unwrap();
        fs::set_permissions(folder.path().join(IDENTITY_FILE), fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(open(folder.path()), Err(Fault::Store { .. })));
    }

    #[test]
    fn a_damaged_file_is_named_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(IDENTITY_FILE);
        fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path).unwrap();
        assert!(matches!(open(folder.path()), Err(Fault::Store { .. })));
        assert!(path.exists());
    }
}
