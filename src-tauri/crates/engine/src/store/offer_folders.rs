//! The folder into which a person let a device's last offer land, to be offered for its next one.
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use ringway_model::{DeviceId, Fault};
use rusqlite::{OptionalExtension, params};

use super::Store;

/// The trigger is in the file itself, as that of rules: a device that pairs anew begins anew.
pub(super) const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS offer_folder (
        device BLOB PRIMARY KEY NOT NULL CHECK (length(device) = 32),
        folder BLOB NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TRIGGER IF NOT EXISTS offer_folder_forgotten AFTER DELETE ON device BEGIN
        DELETE FROM offer_folder WHERE device = old.id;
    END;
";

impl Store {
    /// Keeps a paired device's folder; none is kept from then on if that is none.
    pub(crate) fn keep_offer_folder(&self, id: DeviceId, folder: Option<&Path>) -> Result<(), Fault> {
        self.with(|connection| {
            match folder {
                Some(folder) => connection.execute(
                    "INSERT INTO offer_folder (device, folder) SELECT id, ?2 FROM device WHERE id = ?1
                     ON CONFLICT (device) DO UPDATE SET folder = excluded.folder",
                    params![id.0, folder.as_os_str().as_bytes()],
                ),
                None => connection.execute("DELETE FROM offer_folder WHERE device = ?1", [id.0]),
            }
            .map(drop)
        })
    }

    /// What is kept of a device.
    pub(crate) fn offer_folder(&self, id: DeviceId) -> Result<Option<PathBuf>, Fault> {
        self.with(|connection| {
            connection
                .prepare_cached("SELECT folder FROM offer_folder WHERE device = ?1")?
                .query_row([id.0], |row| Ok(PathBuf::from(OsString::from_vec(row.get::<_, Vec<u8>>(0)?))))
                .optional()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_is_its_devices_alone_and_is_forgotten_with_it() {
        let base = tempfile::tempdir().unwrap();
        let store = Store::open(base.path()).unwrap();
        let [lab, nas] = [1, 2].map(|number| DeviceId([number; 32]));
        store.pin(lab, "lab", "").unwrap();
        store.keep_offer_folder(lab, Some(Path::new("/data/a"))).unwrap();
        store.keep_offer_folder(lab, Some(Path::new("/data/b"))).unwrap();
        store.keep_offer_folder(nas, Some(Path::new("/data/c"))).unwrap();
        let kept = |id| Store::open(base.path()).unwrap().offer_folder(id).unwrap();
        assert_eq!((kept(lab), kept(nas)), (Some("/data/b".into()), None), "nothing of a device that is not paired");
        store.keep_offer_folder(lab, None).unwrap();
        assert_eq!(kept(lab), None);
        store.keep_offer_folder(lab, Some(Path::new("/data/b"))).unwrap();
        store.forget(lab).unwrap();
        store.pin(lab, "lab", "").unwrap();
        assert_eq!(kept(lab), None);
    }
}
