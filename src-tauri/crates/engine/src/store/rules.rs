//! The rules of paired devices in the store: one row for each device that has another than the
//! default.
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use ringway_model::{Consent, DeviceId, DeviceRule, Fault, IntoHome};
use rusqlite::{Connection, params};

use super::Store;

/// The trigger is in the file itself, so that a program that knows of no rules forgets them too: a
/// device that pairs anew is asked about.
pub(super) const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS rule (
        device    BLOB PRIMARY KEY NOT NULL CHECK (length(device) = 32),
        consent   INTEGER NOT NULL,
        folder    BLOB,
        bytes_max INTEGER,
        into_home INTEGER NOT NULL DEFAULT 0
    ) STRICT, WITHOUT ROWID;
    CREATE TRIGGER IF NOT EXISTS rule_forgotten AFTER DELETE ON device BEGIN
        DELETE FROM rule WHERE device = old.id;
    END;
";

/// Adds what earlier versions had no column for.
pub(super) fn upgrade(connection: &Connection) -> rusqlite::Result<()> {
    let has_it = connection.prepare("SELECT 1 FROM pragma_table_info('rule') WHERE name = 'into_home'")?.exists([])?;
    if !has_it {
        connection.execute_batch("ALTER TABLE rule ADD COLUMN into_home INTEGER NOT NULL DEFAULT 0")?;
    }
    Ok(())
}

/// By their numbers in the store: new ones go to the end.
const INTO_HOMES: [IntoHome; 3] = [IntoHome::Refuse, IntoHome::NoDotNames, IntoHome::DotNames];

/// By their numbers in the store: new ones go to the end.
const CONSENTS: [Consent; 3] = [Consent::Ask, Consent::Accept, Consent::Refuse];

impl Store {
    /// Sets a device's rule, which is [checked](DeviceRule::check); false if it is not known.
    pub(crate) fn set_rule(&self, id: DeviceId, rule: &DeviceRule) -> Result<bool, Fault> {
        if *rule == DeviceRule::default() {
            self.with(|connection| connection.execute("DELETE FROM rule WHERE device = ?1", [id.0]))?;
            return Ok(self.by_id(id)?.is_some());
        }
        let consent = CONSENTS.iter().position(|known| *known == rule.consent).unwrap_or_default() as i64;
        let folder = rule.folder.as_ref().map(|folder| folder.as_os_str().as_bytes());
        let bytes_max = rule.bytes_max.map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX));
        let into_home = INTO_HOMES.iter().position(|known| *known == rule.into_home).unwrap_or_default() as i64;
        self.with(|connection| {
            connection.execute(
                "INSERT INTO rule (device, consent, folder, bytes_max, into_home)
                 SELECT id, ?2, ?3, ?4, ?5 FROM device WHERE id = ?1
                 ON CONFLICT (device) DO UPDATE
                 SET consent = excluded.consent, folder = excluded.folder, bytes_max = excluded.bytes_max,
                     into_home = excluded.into_home",
                params![id.0, consent, folder, bytes_max, into_home],
            )
        })
        .map(|set| set > 0)
    }
}

/// A row's rule; asking, if it has none or one that this version would not have written.
pub(super) fn read(
    consent: Option<i64>,
    folder: Option<Vec<u8>>,
    bytes_max: Option<i64>,
    into_home: Option<i64>,
) -> DeviceRule {
    let known = || {
        let consent = *CONSENTS.get(usize::try_from(consent?).ok()?)?;
        let folder = folder.map(|folder| OsString::from_vec(folder).into());
        let bytes_max = bytes_max.map(u64::try_from).transpose().ok()?;
        let into_home = *INTO_HOMES.get(usize::try_from(into_home.unwrap_or_default()).ok()?)?;
        let rule = DeviceRule { consent, folder, bytes_max, into_home };
        rule.check().ok().map(|()| rule)
    };
    known().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const A: DeviceId = DeviceId([1; 32]);
    const B: DeviceId = DeviceId([2; 32]);

    fn store(folder: &Path) -> Store {
        Store::open(folder).unwrap()
    }

    fn of(store: &Store, id: DeviceId) -> DeviceRule {
        store.by_id(id).unwrap().unwrap().rule
    }

    fn lab() -> DeviceRule {
        let folder = OsString::from_vec(b"/srv/caf\xe9".to_vec());
        DeviceRule {
            consent: Consent::Accept,
            folder: Some(folder.into()),
            bytes_max: Some(20_000_000_000),
            into_home: IntoHome::NoDotNames,
        }
    }

    #[test]
    fn a_rule_is_its_devices_alone_and_stays_across_programs() {
        let folder = tempfile::tempdir().unwrap();
        let here = store(folder.path());
        here.pin(A, "lab", "").unwrap();
        here.pin(B, "nas", "").unwrap();
        assert_eq!(of(&here, A), DeviceRule::default());
        let refused = DeviceRule { consent: Consent::Refuse, ..DeviceRule::default() };
        assert!(here.set_rule(A, &refused).unwrap() && here.set_rule(A, &lab()).unwrap());
        let other = store(folder.path());
        assert_eq!((of(&other, A), of(&other, B)), (lab(), DeviceRule::default()));
        assert_eq!(other.devices().unwrap().into_iter().map(|device| device.rule).next(), Some(lab()));
        assert!(here.set_rule(A, &DeviceRule::default()).unwrap());
        assert_eq!(of(&other, A), DeviceRule::default());
    }

    #[test]
    fn who_is_not_known_has_none_and_who_is_forgotten_leaves_none() {
        let folder = tempfile::tempdir().unwrap();
        let here = store(folder.path());
        assert!(!here.set_rule(A, &lab()).unwrap() && !here.set_rule(A, &DeviceRule::default()).unwrap());
        here.pin(A, "lab", "").unwrap();
        assert_eq!(of(&here, A), DeviceRule::default());
        here.set_rule(A, &lab()).unwrap();
        // As a version does that knows of no rules.
        here.with(|connection| connection.execute("DELETE FROM device WHERE id = ?1", [A.0])).unwrap();
        here.pin(A, "lab", "").unwrap();
        assert_eq!(of(&here, A), DeviceRule::default());
    }

    #[test]
    fn a_store_of_an_earlier_version_is_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        let here = store(folder.path());
        here.pin(A, "lab", "").unwrap();
        here.with(|connection| connection.execute_batch("DROP TRIGGER rule_forgotten; DROP TABLE rule")).unwrap();
        let here = store(folder.path());
        assert_eq!(of(&here, A), DeviceRule::default());
        assert!(here.set_rule(A, &lab()).unwrap());
    }

    #[test]
    fn what_another_version_wrote_is_asked_about() {
        let absolute = || Some(b"/srv".to_vec());
        assert_eq!(read(Some(2), None, None, None).consent, Consent::Refuse);
        for odd in [
            read(Some(3), absolute(), None, None),
            read(Some(-1), absolute(), None, None),
            read(Some(1), Some(b"relative".to_vec()), None, None),
            read(Some(1), absolute(), Some(-5), None),
            read(Some(1), absolute(), Some(0), None),
            read(Some(1), absolute(), None, Some(3)),
            read(None, None, None, None),
        ] {
            assert_eq!(odd, DeviceRule::default());
        }
    }
}
