//! Where each device has answered: the socket addresses that its key was proven at when this device
//! dialled, so that the next dial begins with them.
use ringway_model::{DeviceId, Fault};
use rusqlite::params;

use super::Store;
use crate::devices::target::Address;

/// The trigger is in the file itself, so that whatever forgets a device forgets its addresses too.
pub(super) const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS answered (
        number  INTEGER PRIMARY KEY AUTOINCREMENT,
        device  BLOB NOT NULL CHECK (length(device) = 32),
        at      TEXT NOT NULL,
        meant   TEXT NOT NULL,
        UNIQUE (device, at)
    ) STRICT;
    CREATE TRIGGER IF NOT EXISTS answered_forgotten AFTER DELETE ON device BEGIN
        DELETE FROM answered WHERE device = old.id;
    END;
";

/// Addresses that are remembered of a device: at work, at home, by cable and by radio. Each dead
/// one may delay a dial by a quarter of a second.
const ANSWERED_MAX: u32 = 4;

impl Store {
    /// Notes that a paired device was proven at `at`, to which `meant` led.
    pub(crate) fn answered(&self, id: DeviceId, at: &Address, meant: &Address) -> Result<(), Fault> {
        self.with(|connection| {
            let transaction = connection.unchecked_transaction()?;
            // The latest has the highest number.
            transaction.execute(
                "INSERT OR REPLACE INTO answered (device, at, meant) SELECT id, ?2, ?3 FROM device WHERE id = ?1",
                params![id.0, at.to_string(), meant.to_string()],
            )?;
            transaction.execute(
                "DELETE FROM answered WHERE device = ?1 AND number <= (
                    SELECT number FROM answered WHERE device = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)",
                params![id.0, ANSWERED_MAX],
            )?;
            transaction.commit()
        })
    }

    /// Where that device has answered, latest first: the address itself, and the one that was
    /// meant.
    pub(crate) fn answered_at(&self, id: DeviceId) -> Result<Vec<(Address, Address)>, Fault> {
        let texts: Vec<(String, String)> = self.with(|connection| {
            connection
                .prepare_cached("SELECT at, meant FROM answered WHERE device = ?1 ORDER BY number DESC")?
                .query_map([id.0], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect()
        })?;
        // One on an interface that has gone reads as nothing.
        let read = |text: &str| Address::parse(text, crate::limits::DEFAULT_PORT);
        Ok(texts.iter().filter_map(|(at, meant)| Some((read(at)?, read(meant)?))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAS: DeviceId = DeviceId([1; 32]);

    fn address(text: &str) -> Address {
        Address::parse(text, 1).unwrap()
    }

    #[test]
    fn latest_address_comes_first_and_the_oldest_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let meant = address("nas.lan:5");
        store.answered(NAS, &address("10.0.0.1:5"), &meant).unwrap();
        assert!(store.answered_at(NAS).unwrap().is_empty(), "an unknown device is not noted");
        store.pin(NAS, "nas", "").unwrap();
        for last in (1..=5).chain([3]) {
            store.answered(NAS, &address(&format!("10.0.0.{last}:5")), &meant).unwrap();
        }
        let found = store.answered_at(NAS).unwrap();
        let wanted = [3, 5, 4, 2].map(|last| (address(&format!("10.0.0.{last}:5")), meant.clone()));
        assert_eq!(found, wanted);
        store.forget(NAS).unwrap();
        store.pin(NAS, "nas", "").unwrap();
        assert!(store.answered_at(NAS).unwrap().is_empty());
    }
}
