//! Which device was proven when this one last dialled an address. Only dialling writes here: where
//! a device calls from, and what it says, is its own choice.
use ringway_model::{DeviceId, Fault};
use rusqlite::{OptionalExtension, params};

use super::Store;

/// The trigger is in the file itself, so that whatever forgets a device forgets its addresses too.
pub(super) const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS reached (
        number  INTEGER PRIMARY KEY AUTOINCREMENT,
        address TEXT NOT NULL UNIQUE,
        device  BLOB NOT NULL CHECK (length(device) = 32)
    ) STRICT;
    CREATE TRIGGER IF NOT EXISTS reached_forgotten AFTER DELETE ON device BEGIN
        DELETE FROM reached WHERE device = old.id;
    END;
";

/// Addresses that are remembered, more than a person types; of more, those go that were dialled
/// longest ago, and count as never dialled.
const REACHED_MAX: u32 = 1_000;

impl Store {
    /// Notes that a paired device was proven at these addresses, which a person gave or where a
    /// code was proven, as [`Address::key`](crate::target::Address::key) writes them. From now on
    /// they are this device's.
    pub(crate) fn reached(&self, id: DeviceId, addresses: &[String]) -> Result<(), Fault> {
        // The latest has the highest number.
        self.note("INSERT OR REPLACE", id, addresses)
    }

    /// Notes that a paired device that was expected at these addresses was proven there. Those that
    /// are another one's stay that one's.
    pub(crate) fn reached_first(&self, id: DeviceId, addresses: &[String]) -> Result<(), Fault> {
        self.note("INSERT OR IGNORE", id, addresses)
    }

    fn note(&self, insert: &str, id: DeviceId, addresses: &[String]) -> Result<(), Fault> {
        self.with(|connection| {
            let transaction = connection.unchecked_transaction()?;
            for address in addresses {
                transaction.execute(
                    &format!("{insert} INTO reached (address, device) SELECT ?1, id FROM device WHERE id = ?2"),
                    params![address, id.0],
                )?;
            }
            transaction.execute(
                "DELETE FROM reached WHERE number <= (SELECT number FROM reached ORDER BY number DESC LIMIT 1 OFFSET ?1)",
                params![REACHED_MAX],
            )?;
            transaction.commit()
        })
    }

    /// The device that was proven when that address was dialled last.
    pub(crate) fn reached_at(&self, address: &str) -> Result<Option<DeviceId>, Fault> {
        self.with(|connection| {
            connection
                .prepare_cached("SELECT device FROM reached WHERE address = ?1")?
                .query_row([address], |row| Ok(DeviceId(row.get(0)?)))
                .optional()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAS: DeviceId = DeviceId([1; 32]);
    const LAB: DeviceId = DeviceId([2; 32]);

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        store.pin(NAS, "nas", "10.0.0.5:17464").unwrap();
        store.pin(LAB, "lab", "10.0.0.5:17464").unwrap();
        (folder, store)
    }

    #[test]
    fn an_address_is_the_device_that_was_dialled_there_last() {
        let (_folder, store) = store();
        let at = |address: &str| store.reached_at(address).unwrap();
        assert_eq!(at("10.0.0.5:17464"), None, "pairing alone says nothing of an address");
        let both = ["nas.lan:17464".to_owned(), "10.0.0.5:17464".to_owned()];
        store.reached(NAS, &both).unwrap();
        store.reached(LAB, &both[1..]).unwrap();
        store.came_from(NAS, "10.0.0.5".parse().unwrap()).unwrap();
        assert_eq!([at(&both[0]), at(&both[1])], [Some(NAS), Some(LAB)], "who calls from there was not dialled there");
    }

    #[test]
    fn a_device_that_was_expected_where_nobody_was_reached_is_noted_and_takes_no_address_over() {
        let (_folder, store) = store();
        let at = |address: &str| store.reached_at(address).unwrap();
        let [new, known] = ["10.0.0.6:17464", "10.0.0.5:17464"].map(str::to_owned);
        store.reached(NAS, std::slice::from_ref(&known)).unwrap();
        store.reached_first(LAB, &[new.clone(), known.clone()]).unwrap();
        assert_eq!([at(&new), at(&known)], [Some(LAB), Some(NAS)]);
        store.reached_first(NAS, std::slice::from_ref(&new)).unwrap();
        assert_eq!(at(&new), Some(LAB));
    }

    #[test]
    fn forgetting_a_device_forgets_where_it_was_reached() {
        let (_folder, store) = store();
        let address = ["nas.lan:17464".to_owned()];
        store.reached(NAS, &address).unwrap();
        store.forget(NAS).unwrap();
        assert_eq!(store.reached_at(&address[0]).unwrap(), None);
        store.reached(NAS, &address).unwrap();
        assert_eq!(store.reached_at(&address[0]).unwrap(), None, "who is not known is not noted");
    }

    #[test]
    fn the_oldest_addresses_go_first() {
        let (_folder, store) = store();
        let address = |number: u32| format!("10.0.0.5:{number}");
        let all: Vec<String> = (0..REACHED_MAX).map(address).collect();
        store.reached(NAS, &all).unwrap();
        store.reached(NAS, &[address(0), address(REACHED_MAX)]).unwrap();
        let known = |number| store.reached_at(&address(number)).unwrap().is_some();
        assert_eq!([0, 1, 2, REACHED_MAX].map(known), [true, false, true, true]);
    }
}
