//! Folders into which a transfer has begun. A receiver that is killed leaves no entry in the
//! history, and what it keeps hidden is found by this.
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use ringway_model::Fault;
use rusqlite::params;

use super::Store;

pub(super) const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS begun (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        folder BLOB NOT NULL UNIQUE
    ) STRICT;
";

/// Folders that are remembered, those that were new last.
const BEGUN_MAX: u32 = 256;

impl Store {
    /// Notes that a transfer into a folder begins. Only a folder that is not known yet is written.
    pub(crate) fn note_begun(&self, folder: &Path) -> Result<(), Fault> {
        let folder = folder.as_os_str().as_bytes();
        self.with(|connection| {
            if connection.prepare_cached("SELECT 1 FROM begun WHERE folder = ?1")?.exists([folder])? {
                return Ok(());
            }
            let transaction = connection.unchecked_transaction()?;
            // Another program of this device may have noted it meanwhile.
            transaction.execute("INSERT OR IGNORE INTO begun (folder) VALUES (?1)", [folder])?;
            transaction.execute(
                "DELETE FROM begun WHERE number <= (SELECT number FROM begun ORDER BY number DESC LIMIT 1 OFFSET ?1)",
                params![BEGUN_MAX],
            )?;
            transaction.commit()
        })
    }

    /// All of them.
    pub(crate) fn begun_into(&self) -> Result<Vec<PathBuf>, Fault> {
        self.with(|connection| {
            connection
                .prepare_cached("SELECT folder FROM begun ORDER BY number DESC")?
                .query_map([], |row| Ok(PathBuf::from(OsString::from_vec(row.get::<_, Vec<u8>>(0)?))))?
                .collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_folder_is_noted_once_and_their_number_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        for name in ["/a", "/b", "/a"] {
            store.note_begun(Path::new(name)).unwrap();
        }
        assert_eq!(store.begun_into().unwrap(), [Path::new("/b"), Path::new("/a")]);
        for number in 0..BEGUN_MAX {
            store.note_begun(Path::new(&format!("/{number}"))).unwrap();
        }
        let all = store.begun_into().unwrap();
        assert_eq!(all.len(), BEGUN_MAX as usize);
        assert_eq!(all[0], Path::new(&format!("/{}", BEGUN_MAX - 1)));
    }
}
