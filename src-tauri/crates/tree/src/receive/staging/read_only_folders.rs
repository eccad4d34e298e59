//! Opens folders that their owner may not write to while an entry in them is changed, and gives
//! them their mode back, also after a crash.
//!
//! A symbolic link in the staging folder notes path, inode and mode first. Like the change of mode
//! it is metadata alone, so a journaling filesystem brings it to the disk no later. A program that
//! finds the link after a crash restores the mode.
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::disk::Dir;
use parking_lot::Mutex;
use ringway_sys::attributes::{Metadata, metadata_of};
use ringway_wire::RelPath;
use rustix::io::Errno;

use crate::filesystem::own_names::OWN_PREFIX;
use crate::receive::failures::is;
use crate::receive::landings::log::{Destination, Recall};
use crate::receive::staging::{self, owner_bit};

/// What the names of records begin with, in a staging folder.
const RECORD_PREFIX: &[u8] = b"opened-";

/// Names tried for a record: those of earlier attempts are gone by then.
const NAMES_TRIED_MAX: usize = 64;

/// Device and inode.
type Identity = (u64, u64);

/// Folders that this process has opened, for whichever transfer: two of them may work in one
/// folder.
static OPENED: Mutex<BTreeMap<Identity, Opened>> = Mutex::new(BTreeMap::new());

/// This process is about to end: nothing more is opened.
static ENDS: AtomicBool = AtomicBool::new(false);

/// How often what waits for that end looks whether it has come.
const END_LOOK_EVERY: Duration = Duration::from_secs(1);

struct Opened {
    /// It is closed with this one.
    mode: u32,
    /// Transfers that need it open.
    users: usize,
    dir: Arc<Dir>,
}

/// The folders that one transfer has opened.
pub(in crate::receive) struct Openings {
    staging: Dir,
    /// The receiver said to replace.
    replaces: bool,
    held: Mutex<HashMap<Identity, Held>>,
    records_made: AtomicU64,
}

struct Held {
    users: usize,
    record: Vec<u8>,
}

/// Keeps a folder open until it is dropped.
pub(in crate::receive) struct Opening {
    openings: Arc<Openings>,
    dir: Arc<Dir>,
    identity: Identity,
}

impl Openings {
    pub(in crate::receive) fn new(staging: Dir, replaces: bool) -> Self {
        Self { staging, replaces, held: Mutex::default(), records_made: AtomicU64::new(0) }
    }

    /// The same for a folder that everybody sees, by its path.
    #[must_use]
    pub(in crate::receive) fn open_path_for_change(self: &Arc<Self>, dir: &Arc<Dir>, path: &[u8]) -> Option<Opening> {
        let replaces = !path.is_empty() && self.replaces;
        if replaces { self.open(dir, path) } else { None }
    }

    /// Once this process is about to end, it does not return.
    pub(in crate::receive) fn open(self: &Arc<Self>, dir: &Arc<Dir>, path: &[u8]) -> Option<Opening> {
        loop {
            let opened = self.open_now(dir, path);
            if opened.is_some() || !ENDS.load(Ordering::Relaxed) {
                return opened;
            }
            std::thread::park_timeout(END_LOOK_EVERY);
        }
    }

    fn open_now(self: &Arc<Self>, dir: &Arc<Dir>, path: &[u8]) -> Option<Opening> {
        let there = metadata_of(dir).ok()?;
        let identity = (there.dev, there.ino);
        let mut held = self.held.lock();
        match held.get_mut(&identity) {
            _ if ENDS.load(Ordering::Relaxed) => return None,
            Some(held) => held.users += 1,
            None => {
                let record = self.open_first(dir, path, identity)?;
                held.insert(identity, Held { users: 1, record });
            }
        }
        drop(held);
        Some(Opening { openings: Arc::clone(self), dir: Arc::clone(dir), identity })
    }

    fn open_first(&self, dir: &Arc<Dir>, path: &[u8], identity: Identity) -> Option<Vec<u8>> {
        let mut all = OPENED.lock();
        // Only now: this process may be about to end, and another transfer about to close it.
        if ENDS.load(Ordering::Relaxed) {
            return None;
        }
        let there = metadata_of(dir).ok()?;
        let mode = match all.get(&identity) {
            Some(opened) => opened.mode,
            None if owner_bit::can_be_opened(dir, &there) => there.mode,
            None => return None,
        };
        let record = self.note(&Record { mode, ino: there.ino, path: path.to_vec() }).ok()?;
        match all.get_mut(&identity) {
            Some(opened) => opened.users += 1,
            None if dir.set_own_mode(owner_bit::opened(mode)).is_ok() => {
                all.insert(identity, Opened { mode, users: 1, dir: Arc::clone(dir) });
            }
            None => {
                self.forget(&record);
                return None;
            }
        }
        Some(record)
    }

    fn note(&self, record: &Record) -> io::Result<Vec<u8>> {
        let text = record.encode();
        for _ in 0..NAMES_TRIED_MAX {
            let number = self.records_made.fetch_add(1, Ordering::Relaxed);
            let name = [RECORD_PREFIX, number.to_string().as_bytes()].concat();
            match self.staging.symlink(&text, &name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return made.map(|()| name),
            }
        }
        Err(Errno::EXIST.into())
    }

    fn forget(&self, record: &[u8]) {
        // One that stays finds a folder that is not open any more, and changes nothing.
        let _ = self.staging.unlink(record);
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        let mut held = self.openings.held.lock();
        let Some(ours) = held.get_mut(&self.identity) else { return };
        ours.users -= 1;
        if ours.users > 0 {
            return;
        }
        // What could not be closed stays noted, for the next attempt.
        if close(&self.dir, self.identity).is_ok() {
            self.openings.forget(&ours.record);
        }
        held.remove(&self.identity);
    }
}

/// Closes a folder that no other transfer needs open.
fn close(dir: &Dir, identity: Identity) -> io::Result<()> {
    let mut all = OPENED.lock();
    let Some(opened) = all.get_mut(&identity) else { return Ok(()) };
    opened.users -= 1;
    match opened.users {
        0 => {
            let mode = opened.mode;
            all.remove(&identity);
            owner_bit::close(dir, mode)
        }
        _ => Ok(()),
    }
}

/// Closes every folder that this process has opened for a change, for when it is about to end. What
/// would open another one waits for that end.
pub fn close_folders() {
    ENDS.store(true, Ordering::Relaxed);
    for Opened { mode, dir, .. } in OPENED.lock().values() {
        // What cannot be closed stays noted, for the next attempt.
        let _ = owner_bit::close(dir, *mode);
    }
}

/// The mode of a folder, as it is once no transfer of this process needs it open.
pub(in crate::receive) fn mode_of(there: &Metadata) -> u32 {
    OPENED.lock().get(&(there.dev, there.ino)).map_or(there.mode, |opened| opened.mode)
}

/// Gives a folder that mode, at once or once no transfer of this process needs it open.
pub(in crate::receive) fn set_mode_of(dir: &Dir, there: &Metadata, mode: u32) -> io::Result<()> {
    match OPENED.lock().get_mut(&(there.dev, there.ino)) {
        Some(opened) => {
            opened.mode = mode;
            dir.set_own_mode(owner_bit::opened(mode))
        }
        None => dir.set_own_mode(mode),
    }
}

/// A folder that is about to be opened.
#[derive(Debug, PartialEq, Eq)]
struct Record {
    /// Its mode until then.
    mode: u32,
    ino: u64,
    /// From the destination.
    path: Vec<u8>,
}

impl Record {
    fn encode(&self) -> Vec<u8> {
        [format!("{:o} {} ", self.mode, self.ino).as_bytes(), &self.path].concat()
    }

    fn decode(text: &[u8]) -> Option<Self> {
        let mut parts = text.splitn(3, |byte| *byte == b' ');
        let (mode, ino) = (std::str::from_utf8(parts.next()?).ok()?, std::str::from_utf8(parts.next()?).ok()?);
        let (mode, ino) = (u32::from_str_radix(mode, 8).ok()?, ino.parse().ok()?);
        let path = RelPath::new(parts.next()?).ok()?.as_bytes().to_vec();
        (mode <= 0o7777 && !path.is_empty()).then_some(Self { mode, ino, path })
    }

    /// Closes the folder, if it is still there and as it was opened.
    fn restore(&self, root: &Dir) -> io::Result<()> {
        let dir = root.open_beneath(&self.path)?;
        let all = OPENED.lock();
        let there = metadata_of(&dir)?;
        if there.ino != self.ino || !staging::is_ours(&there) || is_open(&all, &there) {
            return Ok(());
        }
        owner_bit::close(&dir, self.mode)
    }
}

/// Whether a transfer of this process has it open, and will close it.
fn is_open(all: &BTreeMap<Identity, Opened>, there: &Metadata) -> bool {
    all.contains_key(&(there.dev, there.ino))
}

/// Whether a name in a staging folder is a record's.
pub(super) fn is_record(name: &[u8]) -> bool {
    name.starts_with(RECORD_PREFIX)
}

/// Closes what an attempt that crashed has left open. For the holder of its staging folder.
pub(super) fn restore_left(root: &Dir, staging: &Dir) {
    let Ok(records) = staging::names_of(staging, is_record) else { return };
    for name in records {
        let record = staging.read_link(&name).ok().and_then(|text| Record::decode(&text));
        match record.map_or(Ok(()), |record| record.restore(root)) {
            // It is not where it was, and cannot be found.
            Err(error) if error.kind() == io::ErrorKind::NotFound || error.kind() == io::ErrorKind::NotADirectory => {}
            Err(error) if is(&error, Errno::LOOP) => {}
            // The next attempt may be able to.
            Err(_) => continue,
            Ok(()) => {}
        }
        // One that stays finds a folder that is not open any more.
        let _ = staging.unlink(&name);
    }
}

/// Closes what attempts that crashed have left open in a folder that is received into, and has
/// `recall` remember what they had put there.
pub fn restore_all(folder: &Path, recall: Option<&Recall>) {
    let Ok(root) = Dir::open(folder) else { return };
    let Ok(names) = staging::names_of(&root, |name| name.starts_with(OWN_PREFIX)) else { return };
    for name in names {
        if let Ok(staging) = root.open_dir(&name) {
            staging::restore_unheld(Destination { root: &root, recall }, &staging);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_folder_is_closed_only_where_it_is_the_one_that_was_opened() {
        let site = tempfile::tempdir().unwrap();
        let at = |name: &str| site.path().join(name);
        let (root, staging) = (Dir::open(site.path()).unwrap(), at("staging"));
        for name in ["staging", "left", "changed", "replaced", "renamed", "behind"] {
            fs::create_dir(at(name)).unwrap();
            set(&at(name), 0o755);
        }
        fs::create_dir(at("behind/folder")).unwrap();
        set(&at("behind/folder"), 0o755);
        let note = |number: u32, name: &str| {
            let record = Record { mode: 0o555, ino: fs::metadata(at(name)).unwrap().ino(), path: name.into() };
            Dir::open(&staging).unwrap().symlink(&record.encode(), format!("opened-{number}").as_bytes()).unwrap();
        };
        for (number, name) in ["left", "changed", "replaced", "renamed", "behind/folder"].iter().enumerate() {
            note(number as u32, name);
        }
        set(&at("changed"), 0o750);
        fs::rename(at("renamed"), at("elsewhere")).unwrap();
        fs::rename(at("replaced"), at("away")).unwrap();
        fs::create_dir(at("replaced")).unwrap();
        set(&at("replaced"), 0o755);
        fs::rename(at("behind"), at("moved")).unwrap();
        std::os::unix::fs::symlink("moved", at("behind")).unwrap();
        restore_left(&root, &Dir::open(&staging).unwrap());
        let modes = ["left", "changed", "replaced", "elsewhere", "away", "moved/folder"].map(|name| mode(&at(name)));
        assert_eq!(modes, [0o555, 0o750, 0o755, 0o755, 0o755, 0o755]);
        assert_eq!(fs::read_dir(&staging).unwrap().count(), 0);
    }

    #[test]
    fn records_are_read_as_they_are_written() {
        let record = Record { mode: 0o2555, ino: u64::MAX, path: b"a b/\xff c".to_vec() };
        assert_eq!(Record::decode(&record.encode()), Some(record));
        for text in ["", "555", "555 1", "555 1 ", "555 1 /a", "555 1 ../a", "855 1 a", "10555 1 a", "555 x a"] {
            assert_eq!(Record::decode(text.as_bytes()), None, "{text}");
        }
    }
}
