//! What earlier attempts at the same transfer have left in the staging folder: whole files, which need not be sent again, and begun ones.
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use ringway_sys::attributes::{Kind, Metadata, Timestamp, metadata_of};
use ringway_sys::dir::Dir;
use ringway_wire::RelPath;
use ringway_wire::limits::HAS_MAX;
use ringway_wire::stretches::Stretches;
use rustix::fs::FlockOperation;

use super::folders::open_made;
use super::journal::{self, Begun, JOURNAL, Version};
use super::{FILLING_FILE_MODE, FILLING_FOLDER_MODE, OWN_PREFIX, removal};

/// Earlier attempts of which something is kept; with more, the oldest goes.
const ATTEMPTS_KEPT_MAX: u32 = 8;

/// What a staging folder is left behind for: after a week nobody has gone on, nor will.
const KEPT_FOR_SECS: i64 = 7 * 24 * 3600;

/// Names in a destination that are looked through for staging folders that were left behind.
const NAMES_LOOKED_AT_MAX: usize = 100_000;

/// Says when the first attempt began, by its time, and in which boot of the machine, by its contents.
const BEGUN: &[u8] = b"begun";

/// A boot's id is 36 characters.
const BOOT_ID_MAX: u64 = 64;

/// The tree under way.
pub(super) const TREE: &[u8] = b"tree";

/// Files whose time is later than this much before the first attempt are sent again: half of one, being written now, must not pass for whole
/// where times are coarse (2 s on vfat).
const TIME_GRAIN_SECS: i64 = 2;

/// Bytes of a begun file that are worth going on with.
const HAS_MIN: u64 = 1024 * 1024;

/// A staging folder that this process holds.
pub(super) struct Claimed {
    pub(super) name: Vec<u8>,
    pub(super) dir: Dir,
    /// Folders come out of mkdir(2) without their owner's bits.
    pub(super) masked: bool,
    pub(super) kept: Kept,
}

/// The trees of earlier attempts, the latest first.
pub(super) struct Kept {
    trees: Vec<Dir>,
    /// Only files that are older are taken from them.
    before: Timestamp,
    begun: Mutex<HashMap<Version, (Arc<Dir>, Begun)>>,
}

/// A large file that an earlier attempt has begun.
pub(super) struct Left {
    dir: Dir,
    name: Vec<u8>,
    pub(super) version: Version,
    pub(super) has: Stretches,
}

impl Left {
    /// Moves it to where it is filled on.
    pub(super) fn move_to(&self, dir: &Dir, name: &[u8]) -> io::Result<OwnedFd> {
        self.dir.rename_noreplace(&self.name, dir, name)?;
        dir.open_write(name)
    }
}

impl Default for Kept {
    fn default() -> Self {
        Self { trees: Vec::new(), before: Timestamp { secs: i64::MIN, nanos: 0 }, begun: Mutex::default() }
    }
}

impl Kept {
    pub(super) fn is_empty(&self) -> bool {
        self.trees.is_empty()
    }

    /// The folder as the earlier attempts have it, for [`take`](Self::take).
    pub(super) fn folder(&self, path: RelPath<'_>) -> KeptFolder {
        let open = |tree: &Dir| tree.open_beneath(path.as_bytes()).ok();
        KeptFolder(self.trees.iter().filter_map(open).collect())
    }

    /// Moves a file with that size and time to `to`, under the same name. False if there is none.
    pub(super) fn take(&self, from: &KeptFolder, name: &[u8], size: u64, mtime: Timestamp, to: &Dir) -> bool {
        mtime < self.before
            && from.0.iter().any(|dir| {
                let same = dir
                    .metadata(name)
                    .is_ok_and(|there| there.kind == Kind::File && there.size == size && there.mtime == mtime);
                same && dir.rename_noreplace(name, to, name).is_ok()
            })
    }
}

impl Kept {
    /// What there is of a large file, if that is the same version and worth going on with.
    pub(super) fn begun(&self, version: Version) -> Option<Left> {
        let (attempt, begun) = super::lock(&self.begun).remove(&version)?;
        let at = begun.place.iter().rposition(|byte| *byte == b'/')?;
        let (folder, name) = (&begun.place[..at], &begun.place[at + 1..]);
        let dir = attempt.open_beneath(folder).ok()?;
        let there = dir.metadata(name).ok().filter(|there| there.kind == Kind::File && there.size == version.size)?;
        let has = first(&begun.has, HAS_MAX);
        let worth = has.total() >= HAS_MIN && there.nlink == 1;
        worth.then(|| Left { dir, name: name.to_vec(), version, has })
    }
}

/// As many stretches as there may be.
fn first(stretches: &Stretches, most: usize) -> Stretches {
    let mut some = Stretches::default();
    for stretch in stretches.iter().take(most) {
        some.add(stretch.start, stretch.end);
    }
    some
}

/// One folder, in all earlier attempts that have it.
pub(super) struct KeptFolder(Vec<Dir>);

/// Finds the staging folder that an earlier attempt has left, or makes one. `stable` names it; where another transfer is at work in that, `unique`
/// does.
pub(super) fn claim(root: &Dir, stable: &[u8], unique: &[u8]) -> io::Result<Claimed> {
    match root.make_dir(stable, FILLING_FOLDER_MODE) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match adopt(root, stable) {
            Ok(Some(claimed)) => return Ok(claimed),
            // It is at work, or is nothing that we made.
            Ok(None) | Err(_) => return make(root, unique),
        },
        Err(error) => return Err(error),
    }
    // Another transfer may have come between, and taken it for one that was left behind.
    fill(root, stable).or_else(|_| make(root, unique))
}

fn make(root: &Dir, name: &[u8]) -> io::Result<Claimed> {
    root.make_dir(name, FILLING_FOLDER_MODE)?;
    fill(root, name)
}

/// Prepares a staging folder that was made a moment ago.
fn fill(root: &Dir, name: &[u8]) -> io::Result<Claimed> {
    let masked = root.metadata(name)?.mode & FILLING_FOLDER_MODE != FILLING_FOLDER_MODE;
    let dir = open_made(root, name, masked)?;
    match lock(&dir) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(error),
        // Where there are no locks nothing is taken over either.
        _ => {}
    }
    let filled = (|| {
        File::from(dir.create_new(BEGUN, FILLING_FILE_MODE)?).write_all(boot_id().as_bytes())?;
        dir.make_dir(TREE, FILLING_FOLDER_MODE)
    })();
    match filled {
        Ok(()) => Ok(Claimed { name: name.to_vec(), dir, masked, kept: Kept::default() }),
        Err(error) => {
            // It was made a moment ago and holds next to nothing, unless it is not the same any more.
            if identity(&root.metadata(name)?) == identity(&metadata_of(&dir)?) {
                let _ = removal::remove_tree(root, name);
            }
            Err(error)
        }
    }
}

fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev, metadata.ino)
}

/// Takes over what an earlier attempt has left; none if it is still at work.
fn adopt(root: &Dir, name: &[u8]) -> io::Result<Option<Claimed>> {
    let dir = root.open_dir(name)?;
    let owner = metadata_of(&dir)?.uid;
    if owner != rustix::process::geteuid().as_raw() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    match lock(&dir) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
        Err(error) => return Err(error),
    }
    let Some(begun) = begun(&dir) else {
        // After the machine has stopped, sizes and times may be there without contents.
        removal::remove_tree(root, name)?;
        return make(root, name).map(Some);
    };
    let before = Timestamp { secs: begun.secs - TIME_GRAIN_SECS, ..begun };
    let mut numbers = kept_numbers(&dir)?;
    numbers.sort_unstable();
    while numbers.len() >= ATTEMPTS_KEPT_MAX as usize {
        removal::remove_tree(&dir, &kept_name(numbers.remove(0)))?;
    }
    let left = names_of(&dir, |name| name == TREE || name == JOURNAL || name.starts_with(b"parts-"))?;
    if !left.is_empty() {
        let number = numbers.last().map_or(0, |last| last + 1);
        set_aside(&dir, &left, &kept_name(number))?;
        numbers.push(number);
    }
    dir.make_dir(TREE, FILLING_FOLDER_MODE)?;
    let masked = dir.metadata(TREE)?.mode & FILLING_FOLDER_MODE != FILLING_FOLDER_MODE;
    let mut kept = Kept { before, ..Kept::default() };
    let begun = kept.begun.get_mut().unwrap_or_else(PoisonError::into_inner);
    for attempt in numbers.iter().filter_map(|number| dir.open_dir(&kept_name(*number)).ok()) {
        kept.trees.extend(attempt.open_dir(TREE).ok());
        let attempt = Arc::new(attempt);
        // What a later attempt has gone on with is where that has it.
        begun.extend(
            journal::read(&attempt).into_iter().map(|(version, begun)| (version, (Arc::clone(&attempt), begun))),
        );
    }
    kept.trees.reverse();
    Ok(Some(Claimed { name: name.to_vec(), dir, masked, kept }))
}

/// Puts what an attempt has left into a folder of its own.
fn set_aside(dir: &Dir, left: &[Vec<u8>], name: &[u8]) -> io::Result<()> {
    dir.make_dir(name, FILLING_FOLDER_MODE)?;
    let masked = dir.metadata(name)?.mode & FILLING_FOLDER_MODE != FILLING_FOLDER_MODE;
    let aside = open_made(dir, name, masked)?;
    left.iter().try_for_each(|moved| dir.rename_noreplace(moved, &aside, moved))
}

/// Removes staging folders that nobody has gone on with for a week.
pub(super) fn remove_stale(root: &Dir) {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime).tv_sec;
    // What cannot be listed or removed stays: nothing depends on it.
    let Ok(names) = names_of(root, |name| name.starts_with(OWN_PREFIX)) else { return };
    for name in names {
        let Ok(dir) = root.open_dir(&name) else { continue };
        let Ok(metadata) = metadata_of(&dir) else { continue };
        let old = metadata.mtime.secs < now - KEPT_FOR_SECS;
        let ours = metadata.uid == rustix::process::geteuid().as_raw() && dir.metadata(BEGUN).is_ok();
        if old && ours && lock(&dir).is_ok() {
            let _ = removal::remove_tree(root, &name);
        }
    }
}

/// Whether the tree under way, or one of earlier attempts, holds anything.
pub(super) fn is_worth_keeping(staging: &Dir, tree: &Dir) -> bool {
    let any = tree.entries().is_ok_and(|mut entries| entries.next().is_some());
    let begun = staging.metadata(JOURNAL).is_ok_and(|journal| journal.size > 0);
    any || begun || kept_numbers(staging).is_ok_and(|numbers| !numbers.is_empty())
}

/// Holds the folder against other transfers, until the descriptor and its copies are closed, however the process ends (flock(2)).
fn lock(dir: &Dir) -> io::Result<()> {
    Ok(rustix::fs::flock(dir.as_fd(), FlockOperation::NonBlockingLockExclusive)?)
}

/// Lets go of the folder before its descriptors are closed.
pub(super) fn release(dir: &Dir) -> io::Result<()> {
    Ok(rustix::fs::flock(dir.as_fd(), FlockOperation::Unlock)?)
}

/// When the first attempt began, if that was in this boot.
fn begun(dir: &Dir) -> Option<Timestamp> {
    let file = dir.open_read(BEGUN).ok()?;
    let metadata = metadata_of(&file).ok().filter(|metadata| metadata.kind == Kind::File)?;
    let mut boot = String::new();
    File::from(file).take(BOOT_ID_MAX).read_to_string(&mut boot).ok()?;
    (!boot.is_empty() && boot == boot_id()).then_some(metadata.mtime)
}

/// The kernel's id of this boot (proc_sys_kernel(5)); empty where it has none to tell.
fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}

fn kept_name(number: u32) -> Vec<u8> {
    format!("kept-{number}").into_bytes()
}

fn kept_numbers(dir: &Dir) -> io::Result<Vec<u32>> {
    let names = names_of(dir, |name| name.starts_with(b"kept-"))?;
    let number = |name: &Vec<u8>| std::str::from_utf8(&name[b"kept-".len()..]).ok()?.parse().ok();
    Ok(names.iter().filter_map(number).collect())
}

fn names_of(dir: &Dir, wanted: impl Fn(&[u8]) -> bool) -> io::Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    let mut entries = dir.entries()?;
    for _ in 0..NAMES_LOOKED_AT_MAX {
        let Some(entry) = entries.next() else { break };
        let entry = entry?;
        if wanted(entry.name) {
            names.push(entry.name.to_vec());
        }
    }
    Ok(names)
}

/// The folder that a lane asked about last.
#[derive(Default)]
pub(super) struct LastKept(Option<(Box<[u8]>, Arc<KeptFolder>)>);

impl LastKept {
    pub(super) fn folder(&mut self, kept: &Kept, path: RelPath<'_>) -> Arc<KeptFolder> {
        match &self.0 {
            Some((last, folder)) if **last == *path.as_bytes() => Arc::clone(folder),
            _ => {
                let folder = Arc::new(kept.folder(path));
                self.0 = Some((path.as_bytes().into(), Arc::clone(&folder)));
                folder
            }
        }
    }
}
