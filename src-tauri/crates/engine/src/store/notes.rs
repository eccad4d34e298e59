//! Notes that other devices have sent, until a person deletes them or they make room for others.
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ringway_model::{DeviceId, Fault, Note, NoteText};
use ringway_wire::control::NoteId;
use rusqlite::{OptionalExtension, Row, Transaction, params};

use super::Store;
use super::pairings::{Pairing, is_current};
use crate::limits::{NOTE_IDS_MAX, NOTES_MAX, NOTES_OF_ONE_MAX};

/// The trigger is in the file itself, as that of rules: whichever program forgets a device, its
/// notes go with it. A text may have zero bytes, so it is a blob.
pub(super) const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS note (
        number     INTEGER PRIMARY KEY AUTOINCREMENT,
        device     BLOB NOT NULL CHECK (length(device) = 32),
        at_ms      INTEGER NOT NULL,
        text       BLOB NOT NULL,
        first_line TEXT NOT NULL,
        has_more   INTEGER NOT NULL,
        is_read    INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE TABLE IF NOT EXISTS note_id (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        device BLOB NOT NULL,
        id     BLOB NOT NULL,
        UNIQUE (device, id)
    ) STRICT;
    CREATE TRIGGER IF NOT EXISTS note_forgotten AFTER DELETE ON device BEGIN
        DELETE FROM note WHERE device = old.id;
        DELETE FROM note_id WHERE device = old.id;
    END;
";

const NOTES: &str = "SELECT number, device, at_ms, length(text), first_line, has_more, is_read, name
    FROM note JOIN device ON device.id = note.device";

/// How keeping a note ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// It is kept.
    New(Note),
    /// It was kept before: its sender has not heard of that.
    Before,
    /// Its device was forgotten since it was recognised.
    Forgotten,
    /// No note that was read can make room for it.
    Full,
}

impl Store {
    /// Keeps a note of a device, of that pairing.
    pub(crate) fn keep_note(&self, pairing: Pairing, id: NoteId, text: &NoteText) -> Result<Kept, Fault> {
        let device = pairing.device;
        self.with(|connection| {
            let transaction = connection.unchecked_transaction()?;
            if !is_current(&transaction, pairing)? {
                return Ok(Kept::Forgotten);
            }
            let new = "INSERT OR IGNORE INTO note_id (device, id) VALUES (?1, ?2)";
            if transaction.execute(new, params![device.0, id])? == 0 {
                return Ok(Kept::Before);
            }
            if !make_room(&transaction, Some(device), NOTES_OF_ONE_MAX)? || !make_room(&transaction, None, NOTES_MAX)? {
                // Nothing of this is kept: the same note may be sent again.
                return Ok(Kept::Full);
            }
            let (line, has_more) = text.first_line();
            transaction.execute(
                "INSERT INTO note (device, at_ms, text, first_line, has_more) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![device.0, at_ms(SystemTime::now()), text.exact().as_bytes(), line.0, has_more],
            )?;
            let number = transaction.last_insert_rowid();
            transaction.execute(
                "DELETE FROM note_id WHERE number <= (SELECT number FROM note_id ORDER BY number DESC LIMIT 1 OFFSET ?1)",
                params![NOTE_IDS_MAX],
            )?;
            let kept = transaction.query_row(&format!("{NOTES} WHERE number = ?1"), [number], note)?;
            transaction.commit()?;
            Ok(Kept::New(kept))
        })
    }

    /// All notes, the latest first.
    pub(crate) fn notes(&self) -> Result<Vec<Note>, Fault> {
        self.with(|connection| {
            connection.prepare_cached(&format!("{NOTES} ORDER BY number DESC"))?.query_map([], note)?.collect()
        })
    }

    /// A note and its text.
    pub(crate) fn received_note(&self, number: u64) -> Result<Option<(Note, NoteText)>, Fault> {
        let number = signed(number);
        let found = self.with(|connection| {
            let one = connection.prepare_cached(&format!("{NOTES} WHERE number = ?1"))?.query_row([number], note);
            let Some(note) = one.optional()? else { return Ok(None) };
            let mut text = connection.prepare_cached("SELECT text FROM note WHERE number = ?1")?;
            let text: Option<Vec<u8>> = text.query_row([number], |row| row.get(0)).optional()?;
            Ok(text.map(|text| (note, text)))
        })?;
        // Nothing else was ever written there.
        Ok(found.and_then(|(note, text)| Some((note, NoteText::from_bytes(text).ok()?))))
    }

    /// Notes that a person has seen a note's text; false if it is not there.
    pub(crate) fn read_note(&self, number: u64) -> Result<bool, Fault> {
        let read = "UPDATE note SET is_read = 1 WHERE number = ?1";
        self.with(|connection| connection.execute(read, [signed(number)])).map(|changed| changed > 0)
    }

    /// Deletes a note; false if it is not there.
    pub(crate) fn forget_note(&self, number: u64) -> Result<bool, Fault> {
        let forget = "DELETE FROM note WHERE number = ?1";
        self.with(|connection| connection.execute(forget, [signed(number)])).map(|changed| changed > 0)
    }

    /// Deletes the notes that arrived before a moment, the unread ones only if `unread`; how many
    /// those were.
    pub(crate) fn forget_notes_before(&self, moment: SystemTime, unread: bool) -> Result<u64, Fault> {
        let forget = "DELETE FROM note WHERE at_ms < ?1 AND (is_read OR ?2)";
        let forgotten = self.with(|connection| connection.execute(forget, params![at_ms(moment), unread]))?;
        Ok(forgotten as u64)
    }
}

/// Deletes the oldest notes that were read, until there is room for one more of `of`, or of all;
/// false if there is none.
fn make_room(transaction: &Transaction<'_>, of: Option<DeviceId>, most: u32) -> rusqlite::Result<bool> {
    let of = of.map(|device| device.0);
    let there = "SELECT count(*) FROM note WHERE ?1 IS NULL OR device = ?1";
    let count = |transaction: &Transaction<'_>| transaction.query_row(there, params![of], |row| row.get::<_, i64>(0));
    let excess = count(transaction)? + 1 - i64::from(most);
    if excess > 0 {
        transaction.execute(
            "DELETE FROM note WHERE number IN (
                SELECT number FROM note WHERE is_read AND (?1 IS NULL OR device = ?1) ORDER BY number LIMIT ?2)",
            params![of, excess],
        )?;
    }
    Ok(count(transaction)? < i64::from(most))
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn at_ms(moment: SystemTime) -> i64 {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn note(row: &Row<'_>) -> rusqlite::Result<Note> {
    let unsigned = |at| row.get::<_, i64>(at).map(i64::unsigned_abs);
    Ok(Note {
        number: unsigned(0)?,
        from: row.get::<_, String>(7)?.into(),
        from_id: DeviceId(row.get(1)?),
        received_at: UNIX_EPOCH + Duration::from_millis(unsigned(2)?),
        bytes: unsigned(3)?,
        first_line: row.get::<_, String>(4)?.into(),
        has_more: row.get(5)?,
        is_read: row.get(6)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAB: DeviceId = DeviceId([1; 32]);
    const NAS: DeviceId = DeviceId([2; 32]);

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        store.pin(LAB, "lab", "").unwrap();
        store.pin(NAS, "nas", "").unwrap();
        (folder, store)
    }

    fn text(text: &str) -> NoteText {
        NoteText::from_bytes(text.into()).unwrap()
    }

    fn id(number: u32) -> NoteId {
        u128::from(number).to_le_bytes()
    }

    fn keep(store: &Store, device: DeviceId, number: u32) -> Kept {
        let pairing = store.pairing(device).unwrap();
        store.keep_note(pairing, id(number), &text(&format!("note {number}"))).unwrap()
    }

    fn read_all(store: &Store) {
        store.notes().unwrap().iter().for_each(|note| assert!(store.read_note(note.number).unwrap()));
    }

    fn lines(store: &Store) -> Vec<String> {
        store.notes().unwrap().into_iter().map(|note| note.first_line.0).collect()
    }

    #[test]
    fn deleted_text_is_in_no_file() {
        let (folder, store) = store();
        let secret = text("the door opens with 8a1f\n");
        store.keep_note(store.pairing(LAB).unwrap(), id(1), &secret).unwrap();
        let is_there = || {
            let files = std::fs::read_dir(folder.path()).unwrap().map(|file| std::fs::read(file.unwrap().path()));
            files.map(Result::unwrap).any(|bytes| bytes.windows(4).any(|at| at == b"8a1f"))
        };
        assert!(is_there());
        assert!(store.forget_note(store.notes().unwrap()[0].number).unwrap());
        assert!(!is_there());
    }

    #[test]
    fn note_is_kept_exactly_across_a_restart() {
        let (folder, store) = store();
        let hostile = text("\u{0}a\u{202e}\r\nb\x1b[2J ");
        let pairing = store.pairing(LAB).unwrap();
        let Kept::New(kept) = store.keep_note(pairing, id(1), &hostile).unwrap() else { panic!() };
        assert_eq!((&*kept.from, kept.from_id, kept.is_read, kept.has_more), ("lab", LAB, false, true));
        drop(store);
        let store = Store::open(folder.path()).unwrap();
        assert_eq!(store.notes().unwrap(), std::slice::from_ref(&kept));
        assert_eq!(store.received_note(kept.number).unwrap(), Some((kept.clone(), hostile)));
        assert!(store.read_note(kept.number).unwrap() && store.notes().unwrap()[0].is_read);
        assert!(store.forget_note(kept.number).unwrap() && store.notes().unwrap().is_empty());
        assert!(!store.forget_note(kept.number).unwrap() && !store.read_note(kept.number).unwrap());
        assert_eq!(store.received_note(kept.number).unwrap(), None);
    }

    #[test]
    fn the_same_note_is_kept_once_even_if_it_was_deleted() {
        let (_folder, store) = store();
        let Kept::New(kept) = keep(&store, LAB, 1) else { panic!() };
        assert_eq!(keep(&store, LAB, 1), Kept::Before);
        assert!(matches!(keep(&store, NAS, 1), Kept::New(_)), "another device's id is another one");
        store.forget_note(kept.number).unwrap();
        assert_eq!(keep(&store, LAB, 1), Kept::Before);
        assert_eq!(lines(&store).len(), 1);
    }

    #[test]
    fn only_notes_that_were_read_make_room() {
        let (_folder, store) = store();
        for number in 0..NOTES_OF_ONE_MAX {
            assert!(matches!(keep(&store, LAB, number), Kept::New(_)));
        }
        assert_eq!(keep(&store, LAB, 900), Kept::Full);
        assert!(matches!(keep(&store, NAS, 900), Kept::New(_)), "another device has its own");
        let oldest = store.notes().unwrap().iter().map(|note| note.number).min().unwrap();
        store.read_note(oldest + 3).unwrap();
        assert!(matches!(keep(&store, LAB, 900), Kept::New(_)), "it was not taken before");
        let left = lines(&store);
        assert!(!left.contains(&"note 3".to_owned()) && left.contains(&"note 0".to_owned()));
        assert_eq!(left.len() as u32, NOTES_OF_ONE_MAX + 1);
        assert_eq!(keep(&store, LAB, 901), Kept::Full);
        // Another device's notes do not make room for those of one that has many.
        read_all(&store);
        assert!(matches!(keep(&store, LAB, 901), Kept::New(_)));
        assert_eq!(lines(&store).iter().filter(|line| *line == "note 900").count(), 2);
    }

    #[test]
    fn notes_of_all_devices_are_bounded() {
        let (_folder, store) = store();
        let devices: Vec<_> =
            (10..10 + (NOTES_MAX / NOTES_OF_ONE_MAX) as u8).map(|byte| DeviceId([byte; 32])).collect();
        for (at, device) in devices.iter().enumerate() {
            store.pin(*device, &format!("device {at}"), "").unwrap();
            (0..NOTES_OF_ONE_MAX).for_each(|number| assert!(matches!(keep(&store, *device, number), Kept::New(_))));
        }
        assert_eq!(keep(&store, LAB, 1), Kept::Full);
        read_all(&store);
        assert!(matches!(keep(&store, LAB, 1), Kept::New(_)));
        assert_eq!(store.notes().unwrap().len() as u32, NOTES_MAX);
        assert_eq!(store.forget_notes_before(SystemTime::now() + Duration::from_secs(1), false).unwrap(), 199);
        assert_eq!(lines(&store), ["note 1"], "it was not read");
        assert_eq!(store.forget_notes_before(UNIX_EPOCH, true).unwrap(), 0);
        assert_eq!(store.forget_notes_before(SystemTime::now() + Duration::from_secs(1), true).unwrap(), 1);
    }

    #[test]
    fn notes_go_with_their_device() {
        let (_folder, store) = store();
        let pairing = store.pairing(LAB).unwrap();
        keep(&store, LAB, 1);
        keep(&store, NAS, 2);
        store.forget(LAB).unwrap();
        assert_eq!(lines(&store), ["note 2"]);
        assert_eq!(store.keep_note(pairing, id(3), &text("x")).unwrap(), Kept::Forgotten);
        store.pin(LAB, "lab", "").unwrap();
        assert_eq!(store.keep_note(pairing, id(3), &text("x")).unwrap(), Kept::Forgotten);
        assert!(matches!(keep(&store, LAB, 1), Kept::New(_)), "it is a device like any other");
    }

    #[test]
    fn ids_that_are_remembered_are_bounded() {
        let (_folder, store) = store();
        let before = |connection: &rusqlite::Connection| {
            let transaction = connection.unchecked_transaction()?;
            for number in 0..NOTE_IDS_MAX + 5 {
                let row = params![LAB.0, id(number)];
                transaction.execute("INSERT INTO note_id (device, id) VALUES (?1, ?2)", row)?;
            }
            transaction.commit()
        };
        store.with(before).unwrap();
        assert!(matches!(keep(&store, LAB, NOTE_IDS_MAX + 5), Kept::New(_)));
        let ids = store
            .with(|connection| connection.query_row("SELECT count(*) FROM note_id", [], |row| row.get::<_, u32>(0)));
        assert_eq!(ids.unwrap(), NOTE_IDS_MAX);
    }
}
