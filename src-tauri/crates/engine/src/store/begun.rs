//! Folders into which a transfer has begun, and from which device. What a killed receiver keeps
//! hidden is found by this, and so is another program that receives into the same folder.
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use ringway_model::{DeviceId, Fault};
use ringway_sys::dir::Dir;
use ringway_tree::receive::FolderIdentity;
use rusqlite::params;

use super::{Store, lie_in_each_other};

pub(super) const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS begun_from (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        device BLOB NOT NULL,
        folder BLOB NOT NULL,
        -- Of the folder and of those above it, one after the other.
        identities BLOB NOT NULL,
        UNIQUE (device, folder)
    ) STRICT;
    DROP TABLE IF EXISTS begun;
";

/// Folders that are remembered for each device, those that were new last.
const BEGUN_MAX: u32 = 256;

/// A folder into which something is received, by its path and by what it is: it has other paths
/// where it is mounted once more, or was renamed.
#[derive(Debug, Clone)]
pub(crate) struct BegunInto {
    path: PathBuf,
    /// Of the folder, and then of those above it, as far as they can be opened.
    identities: Vec<FolderIdentity>,
}

impl BegunInto {
    /// Looks at it.
    ///
    /// # Errors
    /// The folder is not there, or cannot be opened.
    pub(crate) fn look(folder: &Path) -> io::Result<Self> {
        let path = folder.canonicalize()?;
        let identity = |folder: &Path| FolderIdentity::of(&Dir::open(folder)?);
        let above = path.ancestors().skip(1).filter_map(|above| identity(above).ok());
        let identities = [identity(&path)?].into_iter().chain(above).collect();
        Ok(Self { path, identities })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn encoded(&self) -> Vec<u8> {
        self.identities.iter().flat_map(FolderIdentity::encode).collect()
    }

    /// Whether one is the other, or beneath it.
    fn meets(&self, other: &Self) -> bool {
        let is_in = |one: &Self, other: &Self| {
            one.identities.first().is_some_and(|folder| other.identities.iter().any(|above| folder.is_still(above)))
        };
        lie_in_each_other(&self.path, &other.path) || is_in(self, other) || is_in(other, self)
    }
}

impl Store {
    /// Notes that a transfer from a device into a folder begins, and returns whether that is new.
    /// Nothing is written if it is not.
    pub(crate) fn note_begun(&self, device: DeviceId, folder: &BegunInto) -> Result<bool, Fault> {
        let (path, identities) = (folder.path.as_os_str().as_bytes(), folder.encoded());
        self.with(|connection| {
            let mut known = connection
                .prepare_cached("SELECT 1 FROM begun_from WHERE device = ?1 AND folder = ?2 AND identities = ?3")?;
            if known.exists(params![device.0, path, identities])? {
                return Ok(false);
            }
            let transaction = connection.unchecked_transaction()?;
            transaction.execute(
                "INSERT OR REPLACE INTO begun_from (device, folder, identities) VALUES (?1, ?2, ?3)",
                params![device.0, path, identities],
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
    pub(crate) fn have_others_begun(&self, device: DeviceId, folder: &BegunInto) -> Result<bool, Fault> {
        self.with(|connection| {
            let mut others =
                connection.prepare_cached("SELECT folder, identities FROM begun_from WHERE device != ?1")?;
            let mut folders = others.query([device.0])?;
            while let Some(row) = folders.next()? {
                let encoded = row.get_ref(1)?.as_bytes()?.chunks_exact(FolderIdentity::ENCODED_LEN);
                let path = Path::new(OsStr::from_bytes(row.get_ref(0)?.as_bytes()?)).to_owned();
                if folder.meets(&BegunInto { path, identities: encoded.filter_map(FolderIdentity::decode).collect() }) {
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

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        (folder, store)
    }

    fn named(path: &str) -> BegunInto {
        BegunInto { path: path.into(), identities: Vec::new() }
    }

    #[test]
    fn each_folder_is_noted_once_for_a_device_and_their_number_is_bounded() {
        let (_folder, store) = store();
        let noted = |(device, name): (DeviceId, &str)| store.note_begun(device, &named(name)).unwrap();
        let all = [(A, "/a"), (A, "/b"), (A, "/a"), (B, "/a")];
        assert_eq!(all.map(noted), [true, true, false, true]);
        assert_eq!(store.begun_into().unwrap(), [Path::new("/a"), Path::new("/b")]);
        for number in 0..BEGUN_MAX {
            store.note_begun(A, &named(&format!("/{number}"))).unwrap();
        }
        let all = store.begun_into().unwrap();
        assert_eq!(all.len(), BEGUN_MAX as usize + 1, "those of one device take no place of another's");
        assert_eq!(all[0], Path::new(&format!("/{}", BEGUN_MAX - 1)));
    }

    #[test]
    fn what_has_begun_from_others_is_known_for_a_folder_what_is_in_it_and_what_it_is_in() {
        let (_folder, store) = store();
        store.note_begun(A, &named("/x/data")).unwrap();
        store.note_begun(B, &named("/y")).unwrap();
        let by_others = |folder: &&str| store.have_others_begun(B, &named(folder)).unwrap();
        let folders = ["/", "/x", "/x/data", "/x/data/below", "/x/da", "/y", "/z"];
        let of_a = ["/", "/x", "/x/data", "/x/data/below"];
        assert_eq!(folders.iter().copied().filter(by_others).collect::<Vec<_>>(), of_a);
    }

    #[test]
    fn folder_is_known_also_by_another_name_and_so_is_what_is_in_it_and_what_it_is_in() {
        let ((_folder, store), place) = (store(), tempfile::tempdir().unwrap());
        let at = |name: &str| place.path().join(name);
        std::fs::create_dir_all(at("parent/folder/sub")).unwrap();
        std::fs::create_dir_all(at("other")).unwrap();
        store.note_begun(A, &BegunInto::look(&at("parent/folder")).unwrap()).unwrap();
        std::fs::rename(at("parent/folder"), at("parent/renamed")).unwrap();
        std::fs::rename(at("parent"), at("moved")).unwrap();
        let of_a = |name: &str| store.have_others_begun(B, &BegunInto::look(&at(name)).unwrap()).unwrap();
        assert_eq!(["moved/renamed", "moved/renamed/sub", "moved", "other"].map(of_a), [true, true, true, false]);
        // Another folder is at its path now.
        std::fs::create_dir_all(at("parent/folder")).unwrap();
        assert!(store.note_begun(A, &BegunInto::look(&at("parent/folder")).unwrap()).unwrap());
    }
}
