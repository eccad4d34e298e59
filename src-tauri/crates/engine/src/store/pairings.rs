//! How often each device was forgotten: what a program remembers of a device counts only while that
//! number stays, whichever program forgets it.
use ringway_model::{DeviceId, Fault};
use ringway_tree::receive::Whose;
use rusqlite::{Connection, OptionalExtension, params};

use super::Store;

/// One number for all devices would do for what is asked of it, but would have every transfer asked
/// about again when any device is forgotten. Only devices that a person has paired get here, so it
/// grows no faster than a person forgets.
pub(super) const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS forgotten (
        device BLOB PRIMARY KEY NOT NULL CHECK (length(device) = 32),
        times  INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TRIGGER IF NOT EXISTS device_forgotten AFTER DELETE ON device BEGIN
        INSERT INTO forgotten (device, times) VALUES (old.id, 1)
        ON CONFLICT (device) DO UPDATE SET times = times + 1;
    END;
";

/// One pairing with a device, of several that follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Pairing {
    /// The device.
    pub(crate) device: DeviceId,
    /// How often it had been forgotten by then.
    pub(super) forgotten: i64,
}

impl Pairing {
    /// The first one with a device.
    #[cfg(test)]
    pub(crate) const fn first(device: DeviceId) -> Self {
        Self { device, forgotten: 0 }
    }

    /// As landing logs have it.
    pub(crate) fn whose(self) -> Whose {
        Whose { device: self.device, pairing: self.forgotten }
    }

    pub(super) fn of(whose: Whose) -> Self {
        Self { device: whose.device, forgotten: whose.pairing }
    }
}

impl Store {
    /// The present pairing with that device, or the next one.
    pub(crate) fn pairing(&self, device: DeviceId) -> Result<Pairing, Fault> {
        let times = self.with(|connection| {
            connection
                .prepare_cached("SELECT times FROM forgotten WHERE device = ?1")?
                .query_row([device.0], |row| row.get(0))
                .optional()
        })?;
        Ok(Pairing { device, forgotten: times.unwrap_or_default() })
    }

    /// Whether the device of that pairing was not forgotten since.
    pub(crate) fn is_current(&self, pairing: Pairing) -> Result<bool, Fault> {
        self.with(|connection| is_current(connection, pairing))
    }

    /// Changes whenever another program has written to the store, and costs one page to read.
    pub(crate) fn version(&self) -> Result<i64, Fault> {
        self.with(|connection| connection.pragma_query_value(None, "data_version", |row| row.get(0)))
    }
}

/// The same within a transaction.
pub(super) fn is_current(connection: &Connection, pairing: Pairing) -> rusqlite::Result<bool> {
    connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM device WHERE id = ?1)
             AND coalesce((SELECT times FROM forgotten WHERE device = ?1), 0) = ?2",
        )?
        .query_row(params![pairing.device.0, pairing.forgotten], |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairing_anew_after_being_forgotten_is_another_pairing() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let id = DeviceId([1; 32]);
        let mut seen = Vec::new();
        for _ in 0..3 {
            store.pin(id, "nas", "").unwrap();
            let now = store.pairing(id).unwrap();
            store.pin(id, "nas", "").unwrap();
            assert_eq!(store.pairing(id).unwrap(), now, "the code was only proven once more");
            assert!(!seen.contains(&now));
            assert!(store.is_current(now).unwrap());
            assert!(seen.iter().all(|before| !store.is_current(*before).unwrap()));
            seen.push(now);
            let version = store.version().unwrap();
            assert_eq!(store.version().unwrap(), version, "nobody has written");
            Store::open(folder.path()).unwrap().forget(id).unwrap();
            assert_ne!(store.version().unwrap(), version);
            assert!(!store.is_current(store.pairing(id).unwrap()).unwrap(), "it is not paired");
        }
    }
}
