//! Shares in the store: a row for each shared folder, and one for each device that may read it, and
//! send into it if it is a drop box.
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use ringway_model::{Consent, DeviceId, DropBox, Fault, Invalid, ShareName, SharedWith};
use ringway_tree::receive::FolderIdentity;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use super::pairings::{Pairing, is_current};
use super::{Store, now};
use crate::limits::SHARES_MAX;

/// The triggers are in the file itself: also a program that knows of no shares leaves none to a
/// device that pairs anew. Numbers are never used again, so that what runs with a share does not go
/// on with another one.
pub(super) const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS share (
        number    INTEGER PRIMARY KEY AUTOINCREMENT,
        name      TEXT NOT NULL UNIQUE COLLATE NOCASE,
        folder    BLOB NOT NULL,
        identity  BLOB,
        mounted   BLOB,
        everybody INTEGER NOT NULL,
        added_at  INTEGER NOT NULL,
        is_drop   INTEGER NOT NULL DEFAULT 0,
        drop_max  INTEGER
    ) STRICT;
    CREATE TABLE IF NOT EXISTS share_reader (
        share  INTEGER NOT NULL,
        device BLOB NOT NULL CHECK (length(device) = 32),
        PRIMARY KEY (share, device)
    ) STRICT, WITHOUT ROWID;
    CREATE TRIGGER IF NOT EXISTS share_reader_forgotten AFTER DELETE ON device BEGIN
        DELETE FROM share_reader WHERE device = old.id;
    END;
    CREATE TRIGGER IF NOT EXISTS share_removed AFTER DELETE ON share BEGIN
        DELETE FROM share_reader WHERE share = old.number;
    END;
";

const SHARES: &str = "SELECT number, name, folder, identity, mounted, everybody, is_drop, drop_max FROM share";

/// Adds what earlier versions had no columns for.
pub(super) fn upgrade(connection: &Connection) -> rusqlite::Result<()> {
    for (name, kind) in [("is_drop", "INTEGER NOT NULL DEFAULT 0"), ("drop_max", "INTEGER")] {
        let is_there =
            || connection.prepare("SELECT 1 FROM pragma_table_info('share') WHERE name = ?1")?.exists([name]);
        if is_there()? {
            continue;
        }
        match connection.execute_batch(&format!("ALTER TABLE share ADD COLUMN {name} {kind}")) {
            // Another program of this device may have been faster.
            Err(error) if !is_there()? => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// A share as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredShare {
    pub(crate) number: ShareNumber,
    pub(crate) name: ShareName,
    pub(crate) shared: SharedFolder,
    pub(crate) with: SharedWith,
    /// What these devices may send into it; none if nothing.
    pub(crate) drop: Option<DropBox>,
}

/// One share, of several that may have had its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShareNumber(i64);

impl ShareNumber {
    pub(crate) fn to_bytes(self) -> [u8; 8] {
        self.0.to_le_bytes()
    }
}

/// A folder as it was when it was shared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SharedFolder {
    pub(crate) folder: PathBuf,
    /// `None` if a later version wrote what this one cannot read: then no folder is the right one.
    pub(crate) identity: Option<FolderIdentity>,
    /// Where its disk was mounted, if that is known.
    pub(crate) mounted: Option<PathBuf>,
}

impl Store {
    /// Every share, by name.
    pub(crate) fn shares(&self) -> Result<Vec<StoredShare>, Fault> {
        self.with(|connection| {
            let mut all = connection.prepare_cached(&format!("{SHARES} ORDER BY name"))?;
            let rows = all.query_map([], row)?.collect::<rusqlite::Result<Vec<_>>>()?;
            rows.into_iter().flatten().map(|share| with_readers(connection, share)).collect()
        })
    }

    /// The share with that name, whatever the case of the letters.
    pub(crate) fn share(&self, name: &ShareName) -> Result<Option<StoredShare>, Fault> {
        self.with(|connection| {
            let Some(number) = number_of(connection, name)? else { return Ok(None) };
            let mut one = connection.prepare_cached(&format!("{SHARES} WHERE number = ?1"))?;
            let found = one.query_row([number], row).optional()?.flatten();
            found.map(|share| with_readers(connection, share)).transpose()
        })
    }

    /// Shares a folder. The same folder under the same name gets the readers that are given now,
    /// and is a drop box as it was before where `drop` is none.
    ///
    /// # Errors
    /// [`Invalid::ShareNameTaken`] where another folder has the name, [`Invalid::UnknownDevice`]
    /// for a reader that is not paired, [`Invalid::TooManyShares`].
    pub(crate) fn add_share(
        &self,
        name: &ShareName,
        shared: &SharedFolder,
        with: &SharedWith,
        drop: Option<Option<DropBox>>,
    ) -> Result<(), Fault> {
        let refused = self.with(|connection| {
            // One transaction: a reader may be forgotten meanwhile.
            let transaction = connection.unchecked_transaction()?;
            if let Err(invalid) = put(&transaction, name, shared, with, drop)? {
                return Ok(Some(invalid));
            }
            transaction.commit().map(|()| None)
        })?;
        refused.map_or(Ok(()), |invalid| Err(Fault::Invalid(invalid)))
    }

    /// Shares a folder no longer; false if no share has that name.
    pub(crate) fn remove_share(&self, name: &ShareName) -> Result<bool, Fault> {
        self.with(|connection| {
            let number = number_of(connection, name)?;
            connection.execute("DELETE FROM share WHERE number = ?1", [number])
        })
        .map(|removed| removed > 0)
    }

    /// Makes a share a drop box, another one, or none; false if no share has that name.
    pub(crate) fn set_drop(&self, name: &ShareName, drop: Option<DropBox>) -> Result<bool, Fault> {
        let (is_drop, drop_max) = stored(drop);
        self.with(|connection| {
            let row = params![number_of(connection, name)?, is_drop, drop_max];
            connection.execute("UPDATE share SET is_drop = ?2, drop_max = ?3 WHERE number = ?1", row)
        })
        .map(|changed| changed > 0)
    }

    /// Whether that pairing of the device may still send into that share: it may read it, it is
    /// still a drop box, and the device's rule is not to refuse what it offers.
    pub(crate) fn may_drop(&self, share: ShareNumber, pairing: Pairing) -> Result<bool, Fault> {
        let is_drop = self.with(|connection| {
            let mut one = connection.prepare_cached(&format!("{SHARES} WHERE number = ?1"))?;
            let found = one.query_row([share.0], row).optional()?.flatten();
            Ok(found.is_some_and(|share| share.drop.is_some()))
        })?;
        let is_refused =
            || Ok::<_, Fault>(self.by_id(pairing.device)?.is_none_or(|device| device.rule.consent == Consent::Refuse));
        Ok(is_drop && self.may_read(share, pairing)? && !is_refused()?)
    }

    /// Whether that share is still there, and that pairing of the device may still read it.
    pub(crate) fn may_read(&self, share: ShareNumber, pairing: Pairing) -> Result<bool, Fault> {
        self.with(|connection| {
            let may_read = connection
                .prepare_cached(
                    "SELECT EXISTS (SELECT 1 FROM share WHERE number = ?1 AND everybody = 1)
                     OR EXISTS (SELECT 1 FROM share_reader WHERE share = ?1 AND device = ?2)",
                )?
                .query_row(params![share.0, pairing.device.0], |row| row.get::<_, bool>(0))?;
            Ok(may_read && is_current(connection, pairing)?)
        })
    }
}

/// The share with that name, whatever the case of the letters in any script. SQLite itself knows
/// that of ASCII alone.
fn number_of(connection: &Connection, name: &ShareName) -> rusqlite::Result<Option<i64>> {
    let mut all = connection.prepare_cached("SELECT number, name FROM share")?;
    let wanted = folded(name.as_str());
    let mut rows = all.query([])?;
    while let Some(row) = rows.next()? {
        if folded(&row.get::<_, String>(1)?) == wanted {
            return row.get(0).map(Some);
        }
    }
    Ok(None)
}

/// A name without regard to case: small letters of its capitals, because some letters have several
/// small forms (σ and ς).
fn folded(name: &str) -> String {
    name.to_uppercase().to_lowercase()
}

fn put(
    transaction: &Transaction<'_>,
    name: &ShareName,
    shared: &SharedFolder,
    with: &SharedWith,
    drop: Option<Option<DropBox>>,
) -> rusqlite::Result<Result<(), Invalid>> {
    let mut one = transaction.prepare_cached(&format!("{SHARES} WHERE number = ?1"))?;
    let there = one
        .query_row([number_of(transaction, name)?], |found| Ok((found.get::<_, i64>(0)?, row(found)?)))
        .optional()?;
    let before = there.as_ref().and_then(|(_, share)| share.as_ref()?.drop);
    let (is_drop, drop_max) = stored(drop.unwrap_or(before));
    let number = match there {
        Some((_, Some(other))) if other.shared.folder != shared.folder => {
            return Ok(Err(Invalid::ShareNameTaken { name: other.name.as_str().into() }));
        }
        Some((number, Some(same))) if same.shared == *shared => Some(number),
        Some((number, _)) => {
            transaction.execute("DELETE FROM share WHERE number = ?1", [number])?;
            None
        }
        None => None,
    };
    let everybody = *with == SharedWith::All;
    let number = match number {
        Some(number) => {
            transaction.execute("DELETE FROM share_reader WHERE share = ?1", [number])?;
            let row = params![number, name.as_str(), everybody, is_drop, drop_max];
            transaction.execute(
                "UPDATE share SET name = ?2, everybody = ?3, is_drop = ?4, drop_max = ?5 WHERE number = ?1",
                row,
            )?;
            number
        }
        None => {
            let all: i64 = transaction.query_row("SELECT count(*) FROM share", [], |row| row.get(0))?;
            if all >= SHARES_MAX as i64 {
                return Ok(Err(Invalid::TooManyShares));
            }
            let mounted = shared.mounted.as_ref().map(|at| at.as_os_str().as_bytes());
            let identity = shared.identity.as_ref().map(FolderIdentity::encode);
            transaction.execute(
                "INSERT INTO share (name, folder, identity, mounted, everybody, added_at, is_drop, drop_max)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                params![
                    name.as_str(),
                    shared.folder.as_os_str().as_bytes(),
                    identity,
                    mounted,
                    everybody,
                    now(),
                    is_drop,
                    drop_max
                ],
            )?;
            transaction.last_insert_rowid()
        }
    };
    let SharedWith::Devices { devices } = with else { return Ok(Ok(())) };
    let devices: BTreeSet<_> = devices.iter().collect();
    for device in devices {
        let added = transaction.execute(
            "INSERT INTO share_reader (share, device) SELECT ?1, id FROM device WHERE id = ?2",
            params![number, device.0],
        )?;
        if added == 0 {
            return Ok(Err(Invalid::UnknownDevice));
        }
    }
    Ok(Ok(()))
}

fn stored(drop: Option<DropBox>) -> (bool, Option<i64>) {
    let bytes_max = drop.and_then(|drop| drop.bytes_max);
    (drop.is_some(), bytes_max.map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX)))
}

/// What a row says of a drop box; none for what this version would not have written.
fn read_drop(is_drop: i64, drop_max: Option<i64>) -> Option<DropBox> {
    let bytes_max = drop_max.map(u64::try_from).transpose().ok()?;
    Some(DropBox { bytes_max }).filter(|drop| is_drop == 1 && drop.check().is_ok())
}

/// A row without its readers; none for what this version would not have written.
fn row(row: &Row<'_>) -> rusqlite::Result<Option<StoredShare>> {
    let path = |bytes: Vec<u8>| PathBuf::from(OsString::from_vec(bytes));
    let number = ShareNumber(row.get(0)?);
    let folder = path(row.get(2)?);
    let identity = row.get::<_, Option<Vec<u8>>>(3)?.and_then(|bytes| FolderIdentity::decode(&bytes));
    let mounted = row.get::<_, Option<Vec<u8>>>(4)?.map(path);
    let with = if row.get::<_, i64>(5)? == 1 { SharedWith::All } else { SharedWith::NOBODY };
    let name = ShareName::new(&row.get::<_, String>(1)?).ok().filter(|_| Path::is_absolute(&folder));
    let drop = read_drop(row.get(6)?, row.get(7)?);
    let shared = SharedFolder { folder, identity, mounted };
    Ok(name.map(|name| StoredShare { number, name, shared, with, drop }))
}

fn with_readers(connection: &Connection, mut share: StoredShare) -> rusqlite::Result<StoredShare> {
    if let SharedWith::Devices { devices } = &mut share.with {
        let mut readers = connection.prepare_cached("SELECT device FROM share_reader WHERE share = ?1")?;
        *devices =
            readers.query_map([share.number.0], |row| row.get(0).map(DeviceId))?.collect::<rusqlite::Result<_>>()?;
    }
    Ok(share)
}

#[cfg(test)]
mod tests {
    use ringway_model::DeviceRule;

    use super::*;

    const A: DeviceId = DeviceId([1; 32]);
    const B: DeviceId = DeviceId([2; 32]);

    fn store(folder: &Path) -> Store {
        let store = Store::open(folder).unwrap();
        store.pin(A, "lab", "").unwrap();
        store.pin(B, "nas", "").unwrap();
        store
    }

    fn name(text: &str) -> ShareName {
        ShareName::new(text).unwrap()
    }

    fn at(folder: &str) -> SharedFolder {
        SharedFolder { folder: folder.into(), identity: None, mounted: Some("/".into()) }
    }

    fn with(devices: &[DeviceId]) -> SharedWith {
        SharedWith::Devices { devices: devices.to_vec() }
    }

    #[test]
    fn a_share_is_read_by_its_devices_alone_and_stays_across_programs() {
        let folder = tempfile::tempdir().unwrap();
        let here = store(folder.path());
        here.add_share(&name("Runs"), &at("/srv/runs"), &with(&[A]), None).unwrap();
        let other = Store::open(folder.path()).unwrap();
        let found = other.share(&name("runs")).unwrap().unwrap();
        assert_eq!((found.name.as_str(), &found.shared, &found.with), ("Runs", &at("/srv/runs"), &with(&[A])));
        let may = |device| other.may_read(found.number, Pairing::first(device)).unwrap();
        assert!(may(A) && !may(B));
        assert_eq!(other.shares().unwrap(), [found]);
    }

    #[test]
    fn the_same_folder_gets_other_readers_and_another_one_needs_another_name() {
        let folder = tempfile::tempdir().unwrap();
        let here = store(folder.path());
        here.add_share(&name("runs"), &at("/srv/runs"), &SharedWith::NOBODY, None).unwrap();
        let before = here.share(&name("runs")).unwrap().unwrap();
        here.add_share(&name("Runs"), &at("/srv/runs"), &with(&[B, B]), None).unwrap();
        let after = here.share(&name("runs")).unwrap().unwrap();
        assert_eq!((before.number, after.name.as_str()), (after.number, "Runs"));
        assert_eq!(after.with, with(&[B]));
        let taken = here.add_share(&name("RUNS"), &at("/srv/other"), &SharedWith::All, None);
        assert!(matches!(taken, Err(Fault::Invalid(Invalid::ShareNameTaken { .. }))), "{taken:?}");
        let unknown = here.add_share(&name("new"), &at("/srv/new"), &with(&[A, DeviceId([9; 32])]), None);
        assert!(matches!(unknown, Err(Fault::Invalid(Invalid::UnknownDevice))), "{unknown:?}");
        assert_eq!(here.shares().unwrap().len(), 1, "all or nothing");
    }

    #[test]
    fn names_that_differ_in_case_alone_are_one_in_any_script() {
        let folder = tempfile::tempdir().unwrap();
        let here = store(folder.path());
        for (one, other) in [("Übung", "übunG"), ("ΟΔΟΣ", "οδος"), ("данные", "ДАННЫЕ"), ("straße", "STRASSE")]
        {
            here.add_share(&name(one), &at("/srv/runs"), &with(&[A]), None).unwrap();
            let taken = here.add_share(&name(other), &at("/srv/other"), &SharedWith::All, None);
            assert!(matches!(taken, Err(Fault::Invalid(Invalid::ShareNameTaken { .. }))), "{other}: {taken:?}");
            assert_eq!(here.share(&name(other)).unwrap().unwrap().name.as_str(), one);
            here.add_share(&name(other), &at("/srv/runs"), &with(&[B]), None).unwrap();
            assert_eq!(here.shares().unwrap().len(), 1);
            assert!(here.set_drop(&name(one), Some(DropBox { bytes_max: Some(9) })).unwrap());
            assert!(here.remove_share(&name(one)).unwrap() && here.shares().unwrap().is_empty());
        }
    }

    #[test]
    fn a_removed_share_and_a_forgotten_device_leave_no_right_behind() {
        let folder = tempfile::tempdir().unwrap();
        let here = store(folder.path());
        here.add_share(&name("runs"), &at("/srv/runs"), &with(&[A]), None).unwrap();
        let first = here.share(&name("runs")).unwrap().unwrap().number;
        assert!(here.remove_share(&name("RUNS")).unwrap() && !here.remove_share(&name("runs")).unwrap());
        here.add_share(&name("runs"), &at("/srv/runs"), &with(&[A, B]), None).unwrap();
        let second = here.share(&name("runs")).unwrap().unwrap().number;
        let may = |share, pairing| here.may_read(share, pairing).unwrap();
        assert!(!may(first, Pairing::first(A)) && may(second, Pairing::first(A)));
        // As a version does that knows of no shares.
        here.with(|connection| connection.execute("DELETE FROM device WHERE id = ?1", [A.0])).unwrap();
        here.pin(A, "lab", "").unwrap();
        let anew = here.pairing(A).unwrap();
        assert!(!may(second, anew) && may(second, Pairing::first(B)));
        here.add_share(&name("runs"), &at("/srv/runs"), &SharedWith::All, None).unwrap();
        assert!(may(second, anew) && !may(second, Pairing::first(A)), "an earlier pairing is over");
    }

    #[test]
    fn shares_are_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let here = store(folder.path());
        for number in 0..SHARES_MAX {
            here.add_share(&name(&format!("s{number}")), &at("/srv"), &SharedWith::NOBODY, None).unwrap();
        }
        let more = here.add_share(&name("more"), &at("/srv"), &SharedWith::NOBODY, None);
        assert!(matches!(more, Err(Fault::Invalid(Invalid::TooManyShares))), "{more:?}");
    }

    #[test]
    fn drop_box_takes_from_its_readers_as_long_as_it_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let here = store(folder.path());
        here.add_share(&name("runs"), &at("/srv/runs"), &with(&[A]), None).unwrap();
        let share = || here.share(&name("runs")).unwrap().unwrap();
        let number = share().number;
        let may = |device| here.may_drop(number, Pairing::first(device)).unwrap();
        assert!(share().drop.is_none() && !may(A), "a share is read only");
        let up_to_9 = DropBox { bytes_max: Some(9) };
        assert!(here.set_drop(&name("RUNS"), Some(up_to_9)).unwrap());
        assert!(!here.set_drop(&name("other"), Some(up_to_9)).unwrap());
        assert_eq!(Store::open(folder.path()).unwrap().shares().unwrap()[0].drop, Some(up_to_9));
        assert!(may(A) && !may(B), "it takes from who may read it");
        here.add_share(&name("runs"), &at("/srv/runs"), &with(&[B]), None).unwrap();
        assert_eq!(share().drop, Some(up_to_9), "nothing is said of it");
        assert!(!may(A) && may(B));
        let refused = DeviceRule { consent: Consent::Refuse, ..DeviceRule::default() };
        here.set_rule(B, &refused).unwrap();
        assert!(!may(B) && here.may_read(number, Pairing::first(B)).unwrap());
        here.set_rule(B, &DeviceRule::default()).unwrap();
        here.add_share(&name("runs"), &at("/srv/runs"), &with(&[B]), Some(None)).unwrap();
        assert!(share().drop.is_none() && !may(B));
        here.add_share(&name("runs"), &at("/srv/runs"), &with(&[B]), Some(Some(DropBox::default()))).unwrap();
        assert!(may(B) && here.remove_share(&name("runs")).unwrap() && !may(B));
    }

    #[test]
    fn what_another_version_wrote_is_no_drop_box() {
        assert_eq!(read_drop(1, Some(5)), Some(DropBox { bytes_max: Some(5) }));
        assert_eq!(read_drop(1, None), Some(DropBox::default()));
        for (is_drop, drop_max) in [(0, None), (0, Some(5)), (2, None), (1, Some(0)), (1, Some(-5))] {
            assert_eq!(read_drop(is_drop, drop_max), None);
        }
    }

    #[test]
    fn shares_of_an_earlier_version_are_no_drop_boxes() {
        let folder = tempfile::tempdir().unwrap();
        let here = store(folder.path());
        here.add_share(&name("runs"), &at("/srv/runs"), &with(&[A]), None).unwrap();
        let before = "ALTER TABLE share DROP COLUMN is_drop; ALTER TABLE share DROP COLUMN drop_max";
        here.with(|connection| connection.execute_batch(before)).unwrap();
        let here = Store::open(folder.path()).unwrap();
        assert_eq!(here.share(&name("runs")).unwrap().unwrap().drop, None);
        assert!(here.set_drop(&name("runs"), Some(DropBox::default())).unwrap());
    }
}
