//! The trust store: paired devices with their keys, what each sent, and ended transfers. One SQLite
//! file, shared by every program of this device.
mod answered;
mod begun;
pub mod history;
pub(crate) mod landed;
pub(crate) mod look_alike;
mod mounted;
mod notes;
mod offer_folders;
mod pairings;
mod past;
#[cfg(test)]
mod past_at_limits;
mod process;
mod reached;
mod rules;
pub mod series;
mod shares;
pub(crate) mod targets;
mod unnoted;

use std::ffi::OsStr;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{fs, io};

use parking_lot::{Mutex, MutexGuard};
use ringway_model::{Device, DeviceId, Fault, Invalid, Operation, StoreTrouble, Text};
use ringway_tree::limits::BROUGHT_NAMES_MAX;
use ringway_tree::receive::Brought;
use ringway_wire::limits::DEVICE_NAME_MAX;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};
use rustix::fs::Access;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::devices::target::Address;
use crate::limits::DEFAULT_PORT;
use crate::local::private;

pub(crate) use begun::BegunInto;
pub(crate) use notes::Kept;
pub(crate) use pairings::Pairing;
pub(crate) use shares::{ShareNumber, SharedFolder, StoredShare};
use unnoted::Unnoted;

/// How many transfers wait to be written down at the most. A device that is paired can make many
/// while the disk is full.
const ENDS_WAITING_MAX: usize = 256;

const FILE_NAME: &str = "ringway.db";

/// How long to wait for other programs of this device that write. Sixteen that send at once, on a
/// disk that takes a tenth of a second to synchronise, have kept one waiting for longer than 5 s.
const BUSY_MAX: Duration = Duration::from_secs(30);

/// What every machine calls itself (RFC 6761 section 6.3, and the /etc/hosts of Debian and Fedora).
const THIS_HOST: [&str; 5] = ["localhost", "localhost4", "localhost6", "ip6-localhost", "ip6-loopback"];

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS device (
        id           BLOB PRIMARY KEY NOT NULL CHECK (length(id) = 32),
        name         TEXT NOT NULL UNIQUE COLLATE NOCASE,
        paired_at    INTEGER NOT NULL,
        last_seen    INTEGER,
        last_address TEXT
    ) STRICT;
    CREATE TABLE IF NOT EXISTS brought (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        device BLOB NOT NULL,
        path   BLOB NOT NULL,
        what   BLOB NOT NULL,
        UNIQUE (device, path)
    ) STRICT;
";

const DEVICES: &str = "SELECT id, name, paired_at, last_seen, last_address, consent, folder, bytes_max, into_home FROM device LEFT JOIN rule ON rule.device = id";

/// The open store.
pub(crate) struct Store {
    path: PathBuf,
    opened: Mutex<Opened>,
    /// Locked before what is opened.
    unnoted: Mutex<Unnoted>,
    /// Places for transfers that have ended, and whose end could not be written down yet.
    ends_waiting: Arc<Semaphore>,
}

/// The file as it was opened.
struct Opened {
    connection: Connection,
    /// Device and inode.
    file: (u64, u64),
}

impl Opened {
    /// Whether another file has the path by now, as after a backup was put back: what other
    /// programs write from then on is in that one.
    fn is_replaced(&self, path: &Path) -> bool {
        fs::metadata(path).is_ok_and(|there| (there.dev(), there.ino()) != self.file)
    }
}

impl Store {
    /// Opens it, making it on first use; the folder exists.
    pub(crate) fn open(folder: &Path) -> Result<Self, Fault> {
        let path = folder.join(FILE_NAME);
        let opened = Mutex::new(open(&path)?);
        Ok(Self { path, opened, unnoted: Mutex::default(), ends_waiting: Arc::new(Semaphore::new(ENDS_WAITING_MAX)) })
    }

    /// A place for a transfer whose end is to be written down later; `None` if too many wait.
    pub(crate) fn waits_to_be_kept(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.ends_waiting).try_acquire_owned().ok()
    }

    /// Whether it can be written: looks without changing anything.
    ///
    /// # Errors
    /// [`Fault::Store`] with what a write would fail with.
    pub(crate) fn check_writable(&self) -> Result<(), Fault> {
        self.with(|connection| {
            let transaction = connection.unchecked_transaction()?;
            let kept: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
            // Opens the rollback journal and fills its first page, which a full or read-only disk
            // refuses.
            transaction.pragma_update(None, "user_version", kept)?;
            transaction.rollback()
        })
    }

    /// Every device, by name.
    pub(crate) fn devices(&self) -> Result<Vec<Device>, Fault> {
        self.with(|connection| {
            connection.prepare_cached(&format!("{DEVICES} ORDER BY name"))?.query_map([], device)?.collect()
        })
    }

    /// The device with that key.
    pub(crate) fn by_id(&self, id: DeviceId) -> Result<Option<Device>, Fault> {
        self.with(|connection| {
            connection.prepare_cached(&format!("{DEVICES} WHERE id = ?1"))?.query_row([id.0], device).optional()
        })
    }

    /// The device we call that, whatever the case of the letters.
    pub(crate) fn by_name(&self, name: &str) -> Result<Option<Device>, Fault> {
        self.with(|connection| {
            connection.prepare_cached(&format!("{DEVICES} WHERE name = ?1"))?.query_row([name], device).optional()
        })
    }

    /// Pins a device whose code or key was proven. Where another device has its name, it gets a
    /// number behind it here; the same key again keeps the name that it has and only refreshes the
    /// rest.
    pub(crate) fn pin(&self, id: DeviceId, name: &str, address: &str) -> Result<Device, Fault> {
        self.with(|connection| {
            // One transaction: another program of this device may pair at the same time.
            let transaction = connection.unchecked_transaction()?;
            let name = free_name(&transaction, id, name)?;
            transaction.execute(
                "INSERT INTO device (id, name, paired_at, last_seen, last_address) VALUES (?1, ?2, ?3, ?3, ?4)
                 ON CONFLICT (id) DO UPDATE SET last_seen = excluded.last_seen, last_address = excluded.last_address",
                params![id.0, name, now(), address],
            )?;
            transaction.commit()
        })?;
        self.by_id(id)?.ok_or_else(|| Fault::Store {
            path: self.path.clone().into(),
            trouble: StoreTrouble::DamagedDatabase,
            detail: "lost a device".into(),
        })
    }

    /// What no code of ours writes: any name.
    #[cfg(test)]
    pub(crate) fn pin_unchecked(&self, id: DeviceId, name: &str) {
        let row = params![id.0, name, now()];
        self.with(|connection| connection.execute("INSERT INTO device (id, name, paired_at) VALUES (?1, ?2, ?3)", row))
            .unwrap();
    }

    /// Notes that a device was seen, and where it can be reached if that is known.
    pub(crate) fn saw(&self, id: DeviceId, address: Option<&str>) -> Result<(), Fault> {
        self.with(|connection| {
            connection.execute(
                "UPDATE device SET last_seen = ?2, last_address = coalesce(?3, last_address) WHERE id = ?1",
                params![id.0, now(), address],
            )
        })
        .map(drop)
    }

    /// Notes that a device was seen, and the address that it came from. Where it listens is not
    /// known from that: the port stays that of the address where it was reached, and a host's name
    /// stays what leads to it.
    pub(crate) fn came_from(&self, id: DeviceId, ip: IpAddr) -> Result<(), Fault> {
        let Some(device) = self.by_id(id)? else { return Ok(()) };
        // Without its zone it leads nowhere.
        let is_link_local = matches!(ip, IpAddr::V6(ip) if ip.is_unicast_link_local());
        let last = device.last_address.as_deref().unwrap_or_default();
        let address = match Address::parse(last, DEFAULT_PORT) {
            _ if is_link_local => None,
            Some(Address::Socket(dialled)) if dialled.ip() == ip => None,
            Some(Address::Socket(dialled)) if dialled.port() != DEFAULT_PORT => {
                Some(SocketAddr::new(ip, dialled.port()).to_string())
            }
            Some(Address::Host(..)) => None,
            _ => Some(ip.to_string()),
        };
        self.saw(id, address.as_deref())
    }

    /// Renames a device; false if it is not known.
    pub(crate) fn rename(&self, id: DeviceId, name: &str) -> Result<bool, Fault> {
        if self.by_name(name)?.is_some_and(|other| other.id != id) {
            return Err(Fault::Invalid(Invalid::NameTaken));
        }
        self.with(|connection| connection.execute("UPDATE device SET name = ?2 WHERE id = ?1", params![id.0, name]))
            .map(|changed| changed > 0)
    }

    /// Forgets a device, its rule, its notes and which files it may replace; false if it was not
    /// known. What it has sent keeps its name: if the same key is paired again, its folders are
    /// filled on, and every file that lies in them stays.
    pub(crate) fn forget(&self, id: DeviceId) -> Result<bool, Fault> {
        self.with(|connection| {
            // One transaction: another program may receive from it and record that.
            let transaction = connection.unchecked_transaction()?;
            keep_names_alone(&transaction, id)?;
            let removed = transaction.execute("DELETE FROM device WHERE id = ?1", [id.0])?;
            transaction.commit()?;
            Ok(removed > 0)
        })
    }

    /// Notes what a device has brought under top-level paths, in place of what it brought there
    /// before. Of a device that was forgotten since that pairing nothing is noted: if it is paired
    /// anew, it may replace nothing here. What cannot be noted is kept in mind, and noted the next
    /// time.
    pub(crate) fn note_brought(&self, pairing: Pairing, brought: &[(Vec<u8>, Brought)]) -> Result<(), Fault> {
        let mut unnoted = self.unnoted.lock();
        let noted = self.with(|connection| {
            let transaction = connection.unchecked_transaction()?;
            let mut devices = vec![pairing.device];
            for (pairing, path, what) in unnoted.all() {
                note(&transaction, pairing, path, what)?;
                if !devices.contains(&pairing.device) {
                    devices.push(pairing.device);
                }
            }
            for (path, brought) in brought {
                note(&transaction, pairing, path, &brought.encode())?;
            }
            for id in devices {
                forget_oldest(&transaction, id)?;
            }
            transaction.commit()
        });
        match &noted {
            Ok(()) => unnoted.clear(),
            Err(_) => brought.iter().for_each(|(path, brought)| unnoted.add(pairing, path, brought)),
        }
        noted
    }

    /// Notes what could not be noted before.
    pub(crate) fn note_unnoted(&self) -> Result<(), Fault> {
        let of = self.unnoted.lock().all().next().map(|(pairing, ..)| pairing);
        of.map_or(Ok(()), |of| self.note_brought(of, &[]))
    }

    /// What that device brought under a top-level path.
    pub(crate) fn brought(&self, id: DeviceId, path: &[u8]) -> Result<Option<Brought>, Fault> {
        let unnoted = self.unnoted.lock().of(id, path);
        let what = self.with(|connection| {
            if let Some((pairing, what)) = unnoted
                && pairings::is_current(connection, pairing)?
            {
                return Ok(Some(what));
            }
            connection
                .prepare_cached("SELECT what FROM brought WHERE device = ?1 AND path = ?2")?
                .query_row(params![id.0, path], |row| row.get::<_, Vec<u8>>(0))
                .optional()
        })?;
        Ok(what.and_then(|what| Brought::decode(&what)))
    }

    /// Whether another device has brought something into that folder, below it, or the folder
    /// itself.
    pub(crate) fn have_others_brought(&self, id: DeviceId, folder: &Path) -> Result<bool, Fault> {
        let lies_there = |path: &[u8]| lie_in_each_other(folder, Path::new(OsStr::from_bytes(path)));
        if self.unnoted.lock().all().any(|(of, path, _)| of.device != id && lies_there(path)) {
            return Ok(true);
        }
        self.with(|connection| {
            let mut others = connection.prepare_cached("SELECT path FROM brought WHERE device != ?1")?;
            let mut paths = others.query([id.0])?;
            while let Some(row) = paths.next()? {
                if lies_there(row.get_ref(0)?.as_bytes()?) {
                    return Ok(true);
                }
            }
            Ok(false)
        })
    }

    fn with<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, Fault> {
        let mut opened: MutexGuard<'_, _> = self.opened.lock();
        if opened.is_replaced(&self.path) {
            *opened = open(&self.path)?;
        }
        work(&opened.connection).map_err(|error| failed(&self.path, &error))
    }
}

/// Whether one is the other, or beneath it.
fn lie_in_each_other(one: &Path, other: &Path) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

/// Notes what a device has brought under one path, unless it was forgotten since that pairing.
fn note(transaction: &Transaction<'_>, pairing: Pairing, path: &[u8], what: &[u8]) -> rusqlite::Result<()> {
    if !pairings::is_current(transaction, pairing)? {
        return Ok(());
    }
    // The latest has the highest number.
    let insert = "INSERT OR REPLACE INTO brought (device, path, what) VALUES (?1, ?2, ?3)";
    transaction.prepare_cached(insert)?.execute(params![pairing.device.0, path, what]).map(drop)
}

/// Forgets of what a device brought what is beyond the limit.
fn forget_oldest(transaction: &Transaction<'_>, id: DeviceId) -> rusqlite::Result<()> {
    let params = params![id.0, BROUGHT_NAMES_MAX as i64];
    transaction
        .execute(
            "DELETE FROM brought WHERE device = ?1 AND number <= (
                SELECT number FROM brought WHERE device = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)",
            params,
        )
        .map(drop)
}

/// Nothing of what a device brought may be replaced any more. Under which names it brought it is
/// still known.
fn keep_names_alone(transaction: &Transaction<'_>, id: DeviceId) -> rusqlite::Result<()> {
    let mut of_device = transaction.prepare_cached("SELECT number FROM brought WHERE device = ?1")?;
    let numbers = of_device.query_map([id.0], |row| row.get(0))?.collect::<rusqlite::Result<Vec<i64>>>()?;
    let mut one = transaction.prepare_cached("SELECT what FROM brought WHERE number = ?1")?;
    for number in numbers {
        // One by one: a record may have 3.2 MB.
        let what: Vec<u8> = one.query_row([number], |row| row.get(0))?;
        match Brought::decode(&what) {
            Some(brought) => {
                let params = params![number, brought.without_files().encode()];
                transaction.execute("UPDATE brought SET what = ?2 WHERE number = ?1", params)?
            }
            None => transaction.execute("DELETE FROM brought WHERE number = ?1", [number])?,
        };
    }
    Ok(())
}

/// Opens the file, making it on first use.
fn open(path: &Path) -> Result<Opened, Fault> {
    // SQLite gives its journal the mode that this file has.
    let unusable = |error: io::Error| match path.exists() {
        true => Fault::of_state(path, Operation::Open, &error),
        false => Fault::of_state(path, Operation::Create, &error),
    };
    let mut options = fs::OpenOptions::new();
    match path.exists() {
        true => options.read(true),
        false => options.write(true).create(true).truncate(false),
    };
    let file = private::open_file(&mut options, path).and_then(|file| file.metadata()).map_err(unusable)?;
    let file = (file.dev(), file.ino());
    let open = || -> rusqlite::Result<Connection> {
        let mut connection = Connection::open(path)?;
        connection.busy_timeout(BUSY_MAX)?;
        // One that reads before it writes would fail at once where another waits for it to end.
        connection.set_transaction_behavior(TransactionBehavior::Immediate);
        // Nothing that was deleted, such as the text of a note, stays in the file.
        connection.pragma_update(None, "secure_delete", true)?;
        connection.execute_batch(SCHEMA)?;
        connection.execute_batch(past::schema::SCHEMA)?;
        past::schema::upgrade(&connection)?;
        connection.execute_batch(rules::SCHEMA)?;
        rules::upgrade(&connection)?;
        connection.execute_batch(reached::SCHEMA)?;
        connection.execute_batch(answered::SCHEMA)?;
        connection.execute_batch(begun::SCHEMA)?;
        connection.execute_batch(landed::SCHEMA)?;
        connection.execute_batch(mounted::SCHEMA)?;
        connection.execute_batch(notes::SCHEMA)?;
        connection.execute_batch(offer_folders::SCHEMA)?;
        connection.execute_batch(pairings::SCHEMA)?;
        connection.execute_batch(shares::SCHEMA)?;
        shares::upgrade(&connection)?;
        Ok(connection)
    };
    let connection = open().map_err(|error| failed(path, &error))?;
    Ok(Opened { connection, file })
}

/// The name for a device, or the first numbered one that no other device has: `nas`, `nas (2)`,
/// `nas (3)`. The host at which another device was reached has its name too, and so has this
/// machine: who sends there means neither device that calls itself so.
fn free_name(connection: &Connection, id: DeviceId, name: &str) -> rusqlite::Result<String> {
    let mut taken = connection.prepare_cached("SELECT 1 FROM device WHERE name = ?1 AND id <> ?2")?;
    let mut host = connection.prepare_cached("SELECT 1 FROM reached WHERE address = ?1 AND device <> ?2")?;
    let mut chosen = name.to_owned();
    let mut number = 2u64;
    let mut is_host = THIS_HOST.contains(&name.to_lowercase().as_str());
    if let Some(address) = Address::parse(name, DEFAULT_PORT) {
        is_host |= host.exists(params![address.key(), id.0])?;
    }
    while std::mem::take(&mut is_host) || taken.exists(params![chosen, id.0])? {
        let suffix = format!(" ({number})");
        let room = name.floor_char_boundary(DEVICE_NAME_MAX.saturating_sub(suffix.len()));
        chosen = format!("{}{suffix}", name[..room.min(name.len())].trim_end());
        number = number.saturating_add(1);
    }
    Ok(chosen)
}

fn failed(path: &Path, error: &rusqlite::Error) -> Fault {
    Fault::Store { path: path.into(), trouble: trouble(path, error), detail: error.to_string().into() }
}

/// SQLite names what it was doing (https://sqlite.org/rescode.html), the disk often says why.
fn trouble(path: &Path, error: &rusqlite::Error) -> StoreTrouble {
    use rusqlite::ErrorCode;
    let folder = path.parent().unwrap_or(path);
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreTrouble::Full,
        Some(ErrorCode::ReadOnly) => StoreTrouble::NotWritable,
        Some(ErrorCode::PermissionDenied) => StoreTrouble::NotReadable,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreTrouble::Busy,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreTrouble::DamagedDatabase,
        Some(ErrorCode::CannotOpen | ErrorCode::SystemIoFailure) => {
            let is_full = rustix::fs::statvfs(folder).is_ok_and(|disk| disk.f_blocks > 0 && disk.f_bavail == 0);
            let is_writable = rustix::fs::access(folder, Access::WRITE_OK | Access::EXEC_OK).is_ok();
            match (is_full, is_writable) {
                (true, _) => StoreTrouble::Full,
                (false, false) => StoreTrouble::NotWritable,
                (false, true) => StoreTrouble::Other,
            }
        }
        _ => StoreTrouble::Other,
    }
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}

fn device(row: &Row<'_>) -> rusqlite::Result<Device> {
    let time = |secs: i64| UNIX_EPOCH + Duration::from_secs(secs.max(0) as u64);
    Ok(Device {
        id: DeviceId(row.get(0)?),
        name: row.get::<_, String>(1)?.into(),
        paired_at: time(row.get(2)?),
        last_seen: row.get::<_, Option<i64>>(3)?.map(time),
        last_address: row.get::<_, Option<String>>(4)?.map(Text::from),
        rule: rules::read(row.get(5)?, row.get(6)?, row.get(7)?, row.get(8)?),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use ringway_wire::DeviceName;

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
    fn a_file_that_was_put_in_its_place_is_the_one_that_counts() {
        let (folder, store) = store();
        store.pin(A, "nas", "").unwrap();
        let (file, backup) = (folder.path().join(FILE_NAME), folder.path().join("backup"));
        fs::copy(&file, &backup).unwrap();
        store.pin(B, "lab", "").unwrap();
        fs::rename(&backup, &file).unwrap();
        let other = Store::open(folder.path()).unwrap();
        assert!(other.forget(A).unwrap());
        assert_eq!(store.devices().unwrap(), []);
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
        assert_eq!(store.pin(B, "Lab-WS", "").unwrap().name, "Lab-WS (2)");
        assert_eq!(store.pin(B, "Lab-WS", "").unwrap().name, "Lab-WS (2)", "paired again");
        assert_eq!(store.pin(DeviceId([4; 32]), "LAB-ws", "").unwrap().name, "LAB-ws (3)");
        assert!(matches!(store.rename(B, "lab-ws"), Err(Fault::Invalid(_))));
        assert!(store.rename(B, "NAS").unwrap());
        assert!(!store.rename(DeviceId([3; 32]), "x").unwrap());
    }

    #[test]
    fn a_numbered_name_is_no_longer_than_a_name_may_be() {
        let (_folder, store) = store();
        let long = "ü".repeat(DEVICE_NAME_MAX / 2);
        store.pin(A, &long, "").unwrap();
        let name = store.pin(B, &long, "").unwrap().name;
        assert!(name.ends_with("ü (2)"), "{name}");
        DeviceName::new(&name).unwrap();
    }

    #[test]
    fn where_a_device_comes_from_tells_no_port() {
        let (_folder, store) = store();
        let last = || store.by_id(A).unwrap().unwrap().last_address.unwrap();
        for (reached, came_from, then) in [
            ("", "10.0.0.7", "10.0.0.7"),
            ("10.0.0.5", "10.0.0.7", "10.0.0.7"),
            ("10.0.0.5:17464", "10.0.0.5", "10.0.0.5:17464"),
            ("10.0.0.5:17464", "10.0.0.7", "10.0.0.7"),
            ("10.0.0.5:9000", "10.0.0.7", "10.0.0.7:9000"),
            ("[fd00::5]:9000", "fd00::7", "[fd00::7]:9000"),
            ("10.0.0.5:9000", "fe80::7", "10.0.0.5:9000"),
            ("nas.lan:17464", "10.0.0.7", "nas.lan:17464"),
        ] {
            store.pin(A, "nas", reached).unwrap();
            store.came_from(A, came_from.parse().unwrap()).unwrap();
            assert_eq!(last(), then, "{reached}, then from {came_from}");
        }
        store.came_from(B, "10.0.0.7".parse().unwrap()).unwrap();
        assert!(store.by_id(B).unwrap().is_none(), "who is not known is not noted");
    }

    #[test]
    fn what_others_have_brought_is_known_for_a_folder_what_is_in_it_and_what_it_is_in() {
        let (_folder, store) = store();
        for (device, path) in [(A, "/x/data"), (B, "/y")] {
            store.pin(device, "a device", "").unwrap();
            let paired = store.pairing(device).unwrap();
            store.note_brought(paired, &[(path.into(), Brought::of_number(7))]).unwrap();
        }
        let by_others = |folder: &&str| store.have_others_brought(B, Path::new(folder)).unwrap();
        let folders = ["/", "/x", "/x/data", "/x/data/below", "/x/da", "/y/below", "/z"];
        let of_a = ["/", "/x", "/x/data", "/x/data/below"];
        assert_eq!(folders.iter().copied().filter(by_others).collect::<Vec<_>>(), of_a);
    }

    /// Has the store refuse to be written, as on a full disk, or take it again.
    pub(crate) fn refuse_writes(store: &Store, on: bool) {
        store.with(|connection| connection.pragma_update(None, "query_only", on)).unwrap();
    }

    #[test]
    fn what_could_not_be_noted_is_known_and_noted_as_soon_as_it_can_be() {
        let (folder, store) = store();
        let paired = [A, B].map(|id| {
            store.pin(id, "a device", "").unwrap();
            store.pairing(id).unwrap()
        });
        let noted = |number| [(b"/x/data".to_vec(), Brought::of_number(number))];
        store.note_brought(paired[0], &noted(6)).unwrap();
        refuse_writes(&store, true);
        store.note_brought(paired[0], &noted(7)).unwrap_err();
        store.note_brought(paired[1], &[(b"/y".to_vec(), Brought::of_number(8))]).unwrap_err();
        store.note_unnoted().unwrap_err();
        let known = |store: &Store| [store.brought(A, b"/x/data").unwrap(), store.brought(B, b"/y").unwrap()];
        let both = [7, 8].map(|number| Some(Brought::of_number(number)));
        assert_eq!(known(&store), both);
        assert!(store.have_others_brought(A, Path::new("/y/below")).unwrap(), "for others, too");
        let other = Store::open(folder.path()).unwrap();
        assert_eq!(known(&other), [Some(Brought::of_number(6)), None]);
        refuse_writes(&store, false);
        store.note_unnoted().unwrap();
        assert_eq!(known(&other), both);
    }

    #[test]
    fn what_could_not_be_noted_of_a_device_that_was_forgotten_since_counts_for_nothing() {
        let (folder, store) = store();
        store.pin(A, "lab-ws", "").unwrap();
        let paired = store.pairing(A).unwrap();
        refuse_writes(&store, true);
        store.note_brought(paired, &[(b"/x".to_vec(), Brought::of_number(7))]).unwrap_err();
        let other = Store::open(folder.path()).unwrap();
        other.forget(A).unwrap();
        other.pin(A, "lab-ws", "").unwrap();
        assert_eq!(store.brought(A, b"/x").unwrap(), None);
        refuse_writes(&store, false);
        store.note_unnoted().unwrap();
        assert_eq!(other.brought(A, b"/x").unwrap(), None);
    }

    #[test]
    fn forgetting_leaves_the_names_of_what_came_and_no_right_to_replace_it() {
        let (_folder, store) = store();
        store.pin(A, "lab-ws", "").unwrap();
        let brought = Brought::of_number(7);
        let paired = store.pairing(A).unwrap();
        let noted = |brought: &Brought| [(b"/x/data".to_vec(), brought.clone())];
        store.note_brought(paired, &noted(&Brought::of_number(6))).unwrap();
        store.note_brought(paired, &noted(&brought)).unwrap();
        assert_eq!(store.brought(A, b"/x/data").unwrap(), Some(Brought::of_number(7)));
        assert_eq!(store.brought(B, b"/x/data").unwrap(), None);
        assert!(store.forget(A).unwrap());
        assert!(!store.forget(A).unwrap());
        let names_alone = Some(brought.without_files());
        assert_eq!(store.brought(A, b"/x/data").unwrap(), names_alone);
        assert!(store.devices().unwrap().is_empty());
        let later = Brought::of_number(8);
        store.note_brought(paired, &noted(&later)).unwrap();
        store.pin(A, "lab-ws", "").unwrap();
        store.note_brought(paired, &noted(&later)).unwrap();
        assert_eq!(
            store.brought(A, b"/x/data").unwrap(),
            names_alone,
            "a transfer of the earlier pairing notes nothing"
        );
    }
}
