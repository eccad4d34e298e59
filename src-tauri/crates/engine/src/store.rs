//! The trust store: who we know by which key, what came from whom, and what has ended. One SQLite file, shared by every program of this device.
mod past;
#[cfg(test)]
mod past_at_limits;
mod rules;

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::device::{Device, DeviceId};
use crate::error::{Error, Invalid};

const FILE_NAME: &str = "ringway.db";

/// How long to wait for another program of this device that writes.
const BUSY_MAX: Duration = Duration::from_secs(5);

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS device (
        id           BLOB PRIMARY KEY NOT NULL CHECK (length(id) = 32),
        name         TEXT NOT NULL UNIQUE COLLATE NOCASE,
        paired_at    INTEGER NOT NULL,
        last_seen    INTEGER,
        last_address TEXT
    ) STRICT;
    CREATE TABLE IF NOT EXISTS received (
        device BLOB NOT NULL,
        path   BLOB NOT NULL,
        PRIMARY KEY (device, path)
    ) STRICT, WITHOUT ROWID;
";

const DEVICES: &str = "SELECT id, name, paired_at, last_seen, last_address, consent, folder, bytes_max FROM device LEFT JOIN rule ON rule.device = id";

/// The open store.
pub(crate) struct Store {
    path: PathBuf,
    connection: Mutex<Connection>,
}

impl Store {
    /// Opens it, making it on first use; the folder exists.
    pub(crate) fn open(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(FILE_NAME);
        let open = || -> rusqlite::Result<Connection> {
            let connection = Connection::open(&path)?;
            connection.busy_timeout(BUSY_MAX)?;
            connection.execute_batch(SCHEMA)?;
            connection.execute_batch(past::SCHEMA)?;
            past::upgrade(&connection)?;
            connection.execute_batch(rules::SCHEMA)?;
            Ok(connection)
        };
        let connection = open().map_err(|error| failed(&path, &error))?;
        make_private(&path).map_err(|error| Error::Store { path: path.clone(), reason: error.to_string() })?;
        Ok(Self { path, connection: Mutex::new(connection) })
    }

    /// Every device, by name.
    pub(crate) fn devices(&self) -> Result<Vec<Device>, Error> {
        self.with(|connection| {
            connection.prepare_cached(&format!("{DEVICES} ORDER BY name"))?.query_map([], device)?.collect()
        })
    }

    /// The device with that key.
    pub(crate) fn by_id(&self, id: DeviceId) -> Result<Option<Device>, Error> {
        self.with(|connection| {
            connection.prepare_cached(&format!("{DEVICES} WHERE id = ?1"))?.query_row([id.0], device).optional()
        })
    }

    /// The device we call that, whatever the case of the letters.
    pub(crate) fn by_name(&self, name: &str) -> Result<Option<Device>, Error> {
        self.with(|connection| {
            connection.prepare_cached(&format!("{DEVICES} WHERE name = ?1"))?.query_row([name], device).optional()
        })
    }

    /// Pins a device. A name that another device has already is refused; the same key again only refreshes it.
    pub(crate) fn pin(&self, id: DeviceId, name: &str, address: &str) -> Result<Device, Error> {
        self.with(|connection| {
            connection.execute(
                "INSERT INTO device (id, name, paired_at, last_seen, last_address) VALUES (?1, ?2, ?3, ?3, ?4)
                 ON CONFLICT (id) DO UPDATE SET last_seen = excluded.last_seen, last_address = excluded.last_address",
                params![id.0, name, now(), address],
            )
        })?;
        self.by_id(id)?.ok_or_else(|| Error::Store { path: self.path.clone(), reason: "lost a device".into() })
    }

    /// Notes that a device was seen, and where it can be reached if that is known.
    pub(crate) fn saw(&self, id: DeviceId, address: Option<&str>) -> Result<(), Error> {
        self.with(|connection| {
            connection.execute(
                "UPDATE device SET last_seen = ?2, last_address = coalesce(?3, last_address) WHERE id = ?1",
                params![id.0, now(), address],
            )
        })
        .map(drop)
    }

    /// Renames a device; false if it is not known.
    pub(crate) fn rename(&self, id: DeviceId, name: &str) -> Result<bool, Error> {
        if self.by_name(name)?.is_some_and(|other| other.id != id) {
            return Err(Error::Invalid(Invalid::NameTaken));
        }
        self.with(|connection| connection.execute("UPDATE device SET name = ?2 WHERE id = ?1", params![id.0, name]))
            .map(|changed| changed > 0)
    }

    /// Forgets a device, its rule and what came from it; false if it was not known.
    pub(crate) fn forget(&self, id: DeviceId) -> Result<bool, Error> {
        self.with(|connection| {
            connection.execute("DELETE FROM received WHERE device = ?1", [id.0])?;
            connection.execute("DELETE FROM device WHERE id = ?1", [id.0])
        })
        .map(|removed| removed > 0)
    }

    /// Notes that a top-level path came from a device.
    pub(crate) fn note_received(&self, id: DeviceId, path: &[u8]) -> Result<(), Error> {
        self.with(|connection| {
            connection.execute("INSERT OR IGNORE INTO received (device, path) VALUES (?1, ?2)", params![id.0, path])
        })
        .map(drop)
    }

    /// Whether a top-level path came from that device before.
    pub(crate) fn was_received(&self, id: DeviceId, path: &[u8]) -> Result<bool, Error> {
        self.with(|connection| {
            connection
                .prepare_cached("SELECT 1 FROM received WHERE device = ?1 AND path = ?2")?
                .exists(params![id.0, path])
        })
    }

    fn with<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, Error> {
        let connection: MutexGuard<'_, _> = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        work(&connection).map_err(|error| failed(&self.path, &error))
    }
}

/// For its owner's eyes only. A mode that is right already is left, for setting it waits for the disk's journal.
fn make_private(path: &Path) -> io::Result<()> {
    match fs::metadata(path)?.permissions().mode() & 0o7777 {
        0o600 => Ok(()),
        _ => fs::set_permissions(path, fs::Permissions::from_mode(0o600)),
    }
}

fn failed(path: &Path, error: &rusqlite::Error) -> Error {
    Error::Store { path: path.into(), reason: error.to_string() }
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}

fn device(row: &Row<'_>) -> rusqlite::Result<Device> {
    let time = |secs: i64| UNIX_EPOCH + Duration::from_secs(secs.max(0) as u64);
    Ok(Device {
        id: DeviceId(row.get(0)?),
        name: row.get(1)?,
        paired_at: time(row.get(2)?),
        last_seen: row.get::<_, Option<i64>>(3)?.map(time),
        last_address: row.get(4)?,
        rule: rules::read(row.get(5)?, row.get(6)?, row.get(7)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        (folder, store)
    }

    const A: DeviceId = DeviceId([1; 32]);
    const B: DeviceId = DeviceId([2; 32]);

    #[test]
    fn remembers_what_was_pinned_across_programs() {
        let (folder, store) = store();
        store.pin(A, "lab-ws", "10.0.0.1:17464").unwrap();
        let other = Store::open(folder.path()).unwrap();
        assert_eq!(other.by_name("LAB-ws").unwrap().unwrap().id, A);
        assert_eq!(other.by_id(A).unwrap().unwrap().last_address.as_deref(), Some("10.0.0.1:17464"));
        assert!(other.by_id(B).unwrap().is_none());
    }

    #[test]
    fn others_may_not_read_it_whatever_its_mode_was() {
        let (folder, _store) = store();
        let path = folder.path().join(FILE_NAME);
        for mode in [0o600, 0o644] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            Store::open(folder.path()).unwrap();
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
        }
    }

    #[test]
    fn one_name_is_one_device() {
        let (_folder, store) = store();
        store.pin(A, "lab-ws", "").unwrap();
        assert!(store.pin(B, "Lab-WS", "").is_err());
        store.pin(B, "nas", "").unwrap();
        assert!(matches!(store.rename(B, "lab-ws"), Err(Error::Invalid(_))));
        assert!(store.rename(B, "NAS").unwrap());
        assert!(!store.rename(DeviceId([3; 32]), "x").unwrap());
    }

    #[test]
    fn forgetting_forgets_what_came_too() {
        let (_folder, store) = store();
        store.pin(A, "lab-ws", "").unwrap();
        store.note_received(A, b"/x/data").unwrap();
        store.note_received(A, b"/x/data").unwrap();
        assert!(store.was_received(A, b"/x/data").unwrap());
        assert!(!store.was_received(B, b"/x/data").unwrap());
        assert!(store.forget(A).unwrap());
        assert!(!store.forget(A).unwrap());
        assert!(!store.was_received(A, b"/x/data").unwrap());
        assert!(store.devices().unwrap().is_empty());
    }
}
