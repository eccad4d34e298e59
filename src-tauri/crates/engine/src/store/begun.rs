//! Folders into which a transfer has begun, and from which device. What a killed receiver keeps
//! hidden is found by this, and so is another program that receives into the same folder.
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use ringway_model::{DeviceId, Fault};
use rusqlite::params;

use super::{Store, lie_in_each_other};

pub(super) const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS begun_from (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        device BLOB NOT NULL,
        folder BLOB NOT NULL,
        UNIQUE (device, folder)
    ) STRICT;
    DROP TABLE IF EXISTS begun;
";

/// Folders that are remembered for each device, those that were new last.
const BEGUN_MAX: u32 = 256;

impl Store {
    /// Notes that a transfer from a device into a folder begins, and returns whether that is new.
    /// Nothing is written if it is not.
    pub(crate) fn note_begun(&self, device: DeviceId, folder: &Path) -> Result<bool, Fault> {
        let folder = folder.as_os_str().as_bytes();
        self.with(|connection| {
            let mut known = connection.prepare_cached("SELECT 1 FROM begun_from WHERE device = ?1 AND folder = ?2")?;
            if known.exists(params![device.0, folder])? {
                return Ok(false);
            }
            let transaction = connection.unchecked_transaction()?;
            // Another program of this device may have noted it meanwhile.
            transaction.execute(
                "INSERT OR IGNORE INTO begun_from (device, folder) VALUES (?1, ?2)",
                params![device.0, folder],
            )?;
            transaction.execute(
                "DELETE FROM begun_from WHERE device = ?1 AND number <= (
                    SELECT number FROM begun_from WHERE device = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)",
                params![device.0, BEGUN_MAX],
            )?;
            transaction.commit()?;
            Ok(true)
        })
    }

    /// All of them.
    pub(crate) fn begun_into(&self) -> Result<Vec<PathBuf>, Fault> {
        self.with(|connection| {
            connection
                .prepare_cached("SELECT folder FROM begun_from GROUP BY folder ORDER BY max(number) DESC")?
                .query_map([], |row| Ok(PathBuf::from(OsString::from_vec(row.get::<_, Vec<u8>>(0)?))))?
                .collect()
        })
    }

    /// Whether a transfer from another device has begun into that folder, into one below it, or one
    /// that it is in.
    pub(crate) fn have_others_begun(&self, device: DeviceId, folder: &Path) -> Result<bool, Fault> {
        self.with(|connection| {
            let mut others = connection.prepare_cached("SELECT folder FROM begun_from WHERE device != ?1")?;
            let mut folders = others.query([device.0])?;
            while let Some(row) = folders.next()? {
                if lie_in_each_other(folder, Path::new(OsStr::from_bytes(row.get_ref(0)?.as_bytes()?))) {
                    return Ok(true);
                }
            }
            Ok(false)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: DeviceId = DeviceId([1; 32]);
    const B: DeviceId = DeviceId([2; 32]);

    #[test]
    fn each_folder_is_noted_once_for_a_device_and_their_number_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let noted = |(device, name): (DeviceId, &str)| store.note_begun(device, Path::new(name)).unwrap();
        let all = [(A, "/a"), (A, "/b"), (A, "/a"), (B, "/a")];
        assert_eq!(all.map(noted), [true, true, false, true]);
        assert_eq!(store.begun_into().unwrap(), [Path::new("/a"), Path::new("/b")]);
        for number in 0..BEGUN_MAX {
            store.note_begun(A, Path::new(&format!("/{number}"))).unwrap();
        }
        let all = store.begun_into().unwrap();
        assert_eq!(all.len(), BEGUN_MAX as usize + 1, "those of one device take no place of another's");
        assert_eq!(all[0], Path::new(&format!("/{}", BEGUN_MAX - 1)));
    }

    #[test]
    fn what_has_begun_from_others_is_known_for_a_folder_what_is_in_it_and_what_it_is_in() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        store.note_begun(A, Path::new("/x/data")).unwrap();
        store.note_begun(B, Path::new("/y")).unwrap();
        let by_others = |folder: &&str| store.have_others_begun(B, Path::new(folder)).unwrap();
        let folders = ["/", "/x", "/x/data", "/x/data/below", "/x/da", "/y", "/z"];
        let of_a = ["/", "/x", "/x/data", "/x/data/below"];
        assert_eq!(folders.iter().copied().filter(by_others).collect::<Vec<_>>(), of_a);
    }
}
