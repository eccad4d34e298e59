//! Where the disk was mounted that holds a folder, when somebody chose the folder.
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use ringway_model::Fault;
use rusqlite::{OptionalExtension, params};

use super::Store;

pub(super) const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS mounted (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        folder BLOB NOT NULL UNIQUE,
        at     BLOB NOT NULL
    ) STRICT;
";

/// Folders that are remembered, those that were chosen last: more than a person receives into.
const MOUNTED_MAX: u32 = 1_000;

impl Store {
    /// Notes where the disk is mounted that holds a folder, in place of what was noted before; none
    /// where that is not known.
    pub(crate) fn note_mounted(&self, folder: &Path, at: Option<&Path>) -> Result<(), Fault> {
        let folder = folder.as_os_str().as_bytes();
        self.with(|connection| {
            let transaction = connection.unchecked_transaction()?;
            transaction.execute("DELETE FROM mounted WHERE folder = ?1", [folder])?;
            if let Some(at) = at {
                let row = params![folder, at.as_os_str().as_bytes()];
                transaction.execute("INSERT INTO mounted (folder, at) VALUES (?1, ?2)", row)?;
            }
            transaction.execute(
                "DELETE FROM mounted WHERE number <= (SELECT number FROM mounted ORDER BY number DESC LIMIT 1 OFFSET ?1)",
                params![MOUNTED_MAX],
            )?;
            transaction.commit()
        })
    }

    /// What was noted of a folder.
    pub(crate) fn mounted(&self, folder: &Path) -> Result<Option<PathBuf>, Fault> {
        self.with(|connection| {
            connection
                .prepare_cached("SELECT at FROM mounted WHERE folder = ?1")?
                .query_row([folder.as_os_str().as_bytes()], |row| {
                    Ok(PathBuf::from(OsString::from_vec(row.get::<_, Vec<u8>>(0)?)))
                })
                .optional()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_chosen_last_counts_and_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let (inbox, disk) = (Path::new("/mnt/disk/inbox"), Path::new("/mnt/disk"));
        assert_eq!(store.mounted(inbox).unwrap(), None);
        store.note_mounted(inbox, Some(Path::new("/"))).unwrap();
        store.note_mounted(inbox, Some(disk)).unwrap();
        assert_eq!(store.mounted(inbox).unwrap().as_deref(), Some(disk));
        for number in 0..MOUNTED_MAX {
            store.note_mounted(Path::new(&format!("/{number}")), Some(Path::new("/"))).unwrap();
        }
        assert_eq!(store.mounted(inbox).unwrap(), None);
        store.note_mounted(Path::new("/5"), None).unwrap();
        assert_eq!(store.mounted(Path::new("/5")).unwrap(), None);
    }
}
