//! What earlier attempts at the same transfer have left in the staging folder: whole files, which
//! need not be sent again, and begun ones. What of it is believed is decided in `wire::resume`.
pub(super) mod attempt;
pub(super) mod beside;
pub(super) mod exchanges;
pub(super) mod inheritance;
pub(super) mod journal;
mod owner_bit;
pub(super) mod read_only_folders;
pub(super) mod removal;
pub(super) mod spool;
pub(super) mod spot;
pub(super) mod temporaries;
pub(super) mod unfinished;
pub(super) mod unlisted;
pub(super) mod writeback;

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use crate::disk::{Dir, NameIn};
use parking_lot::Mutex;
use ringway_model::Operation;
use ringway_sys::attributes::{Kind, Metadata, Timestamp, metadata_of};
use ringway_wire::RelPath;
use ringway_wire::journal::{Begun, Version};
use ringway_wire::resume::{self, Belief, Found, LANE_PREFIX, Step, TREE, Takeover, Trust};
use ringway_wire::stretches::Stretches;
use rustix::fs::FlockOperation;

use super::landings::log::{self, Destination};
use super::staging::unfinished::About;
use super::{FILLING_FILE_MODE, FILLING_FOLDER_MODE};
use crate::filesystem::own_names::{OWN_PREFIX, attempt_id};

/// What a staging folder is left behind for: after a week nobody has gone on, nor will.
const KEPT_FOR_SECS: i64 = 7 * 24 * 3600;

/// One that is empty could not be removed, or was made a moment ago.
const LEFT_FOR_SECS: i64 = 60;

/// Names in a destination that are looked through for staging folders that were left behind.
const NAMES_LOOKED_AT_MAX: usize = 100_000;

/// Says when the first attempt began, by its time, and by its contents who sends what.
pub(super) const BEGUN: &[u8] = b"begun";

/// Says that the disk has refused what an earlier attempt had written, so that size and time prove
/// nothing of what that attempt merged.
const SUSPECT: &[u8] = b"suspect";

/// For how long, and how often, a folder that another holds is tried again: who only looks whether
/// it is held lets go at once, and so does a child of ours that has not yet become another program.
const HELD_BRIEFLY: Duration = Duration::from_millis(10);
const HELD_BRIEFLY_TRIES: u32 = 10;

/// A staging folder that this process holds.
pub(super) struct Claimed {
    pub(super) name: Vec<u8>,
    pub(super) dir: Dir,
    /// Folders come out of mkdir(2) without their owner's bits.
    pub(super) masked: bool,
    /// An earlier attempt has left it, with something in it or not.
    pub(super) was_there: bool,
    pub(super) kept: Kept,
}

/// The trees of earlier attempts, the latest first.
#[derive(Default)]
pub(super) struct Kept {
    trees: Vec<KeptTree>,
    trust: Trust,
    belief: Belief,
    /// Nothing is believed, in folders that everybody sees neither: the disk has refused something.
    is_suspect: bool,
    /// Begun files, each with the attempts that have noted it, the latest first: one that was
    /// killed between noting and moving does not have it.
    begun: Mutex<HashMap<Version, Noted>>,
}

/// What an earlier attempt had built.
struct KeptTree {
    dir: Dir,
    /// Marks of its files that are whole and that a recorded sync covers.
    durable: HashSet<u64>,
}

/// What attempts have noted of a file, each with its folder.
type Noted = Vec<(Arc<Dir>, Begun)>;

/// A large file that an earlier attempt has begun.
pub(super) struct Left {
    dir: Dir,
    name: Vec<u8>,
    pub(super) version: Version,
    /// What a recorded sync covers of it; nothing where it is compared before anything of it is
    /// believed.
    pub(super) has: Stretches,
}

impl Left {
    /// Its folder, and its name in there.
    pub(super) fn place(&self) -> NameIn<'_> {
        NameIn { dir: &self.dir, name: &self.name }
    }

    /// Whether it is compared before anything of it is believed.
    pub(super) fn is_compared(&self) -> bool {
        self.has.is_empty()
    }

    /// Removes it, once there is a better one.
    pub(super) fn remove(&self) -> io::Result<()> {
        self.dir.unlink(&self.name)
    }

    /// Moves it to where it is filled on.
    pub(super) fn move_to(&self, to: NameIn<'_>) -> io::Result<OwnedFd> {
        self.dir.rename_noreplace(&self.name, to.dir, to.name)?;
        to.dir.open_write(to.name)
    }

    /// And back.
    pub(super) fn take_back(&self, from: NameIn<'_>) -> io::Result<()> {
        from.dir.rename_noreplace(from.name, &self.dir, &self.name)
    }
}

impl Kept {
    pub(super) fn is_empty(&self) -> bool {
        self.trees.is_empty()
    }

    /// Whether an earlier attempt was building that top-level folder.
    pub(super) fn has_top(&self, top: &[u8]) -> bool {
        self.trees.iter().any(|tree| tree.dir.metadata(top).is_ok_and(|there| there.kind == Kind::Dir))
    }

    /// Whether contents are compared wherever something is there already.
    pub(super) fn is_suspect(&self) -> bool {
        self.is_suspect
    }

    /// The second from which on a file's size and time do not make it whole; `None` if nothing is
    /// there.
    pub(super) fn doubts(&self) -> Option<i64> {
        if self.is_suspect {
            return Some(i64::MIN);
        }
        let doubts = || if self.belief == Belief::Compared { i64::MIN } else { self.trust.doubts() };
        (!self.is_empty()).then(doubts)
    }

    /// Whether a file with that time is compared before it is believed to be whole, unless a
    /// recorded sync covers it.
    pub(super) fn is_doubted(&self, mtime: ringway_wire::lane::Timestamp) -> bool {
        self.is_suspect || self.belief == Belief::Compared || self.trust.is_doubted(mtime)
    }

    /// The folder as the earlier attempts have it, for [`take`](Self::take).
    pub(super) fn folder(&self, path: RelPath<'_>) -> KeptFolder {
        let open = |(at, tree): (usize, &KeptTree)| Some((at, tree.dir.open_beneath(path.as_bytes()).ok()?));
        KeptFolder(self.trees.iter().enumerate().filter_map(open).collect())
    }

    /// Moves a file with that size and time to `to`, under the same name, if a recorded sync covers
    /// it.
    pub(super) fn take_durable(
        &self,
        from: &KeptFolder,
        path: RelPath<'_>,
        name: &[u8],
        SizeAndTime { size, mtime }: SizeAndTime,
        to: &Dir,
    ) -> bool {
        let mark = journal::mark(path.as_bytes(), name, size, mtime);
        let is_whole = |at: usize, there: &Found| {
            self.trees[at].durable.contains(&mark) && self.trust.is_whole(there, size, mtime)
        };
        Self::take(from, name, to, is_whole)
    }

    /// Moves one that has that size and time, for a caller that compares it before believing it.
    pub(super) fn take_alike(from: &KeptFolder, name: &[u8], looks: SizeAndTime, to: &Dir) -> bool {
        Self::take(from, name, to, |_, there| looks.are_of(there))
    }

    /// Whether there is one to be compared.
    pub(super) fn has_alike(from: &KeptFolder, name: &[u8], looks: SizeAndTime) -> bool {
        let is_alike = |there| looks.are_of(&found(&there));
        from.0.iter().any(|(_, dir)| dir.metadata(name).is_ok_and(is_alike))
    }

    fn take(from: &KeptFolder, name: &[u8], to: &Dir, is_it: impl Fn(usize, &Found) -> bool) -> bool {
        from.0.iter().any(|(at, dir)| {
            dir.metadata(name).is_ok_and(|there| is_it(*at, &found(&there))) && move_out(dir, name, to)
        })
    }

    /// What there is of a large file, if that is the same version and worth going on with. With
    /// `compares` nothing of it is believed.
    pub(super) fn begun(&self, version: Version, compares: bool) -> Option<Left> {
        let noted = self.begun.lock().remove(&version)?;
        let belief = if compares { Belief::Compared } else { self.belief };
        noted.iter().find_map(|(attempt, begun)| {
            let (folder, name) = RelPath::new(&begun.place).ok()?.split_last()?;
            let (dir, name) = (attempt.open_beneath(folder.as_bytes()).ok()?, name.as_bytes().to_vec());
            let has = resume::going_on(&found(&dir.metadata(&name).ok()?), &version, begun, belief)?;
            let has = if compares { Stretches::default() } else { has };
            Some(Left { dir, name, version: version.clone(), has })
        })
    }
}

fn found(metadata: &Metadata) -> Found {
    let Timestamp { secs, nanos } = metadata.mtime;
    let mtime = ringway_wire::lane::Timestamp { secs, nanos };
    Found { is_file: metadata.kind == Kind::File, size: metadata.size, mtime, names: metadata.nlink }
}

/// By what a file passes for a version of it that nobody has read.
#[derive(Clone, Copy)]
pub(super) struct SizeAndTime {
    pub(super) size: u64,
    pub(super) mtime: ringway_wire::lane::Timestamp,
}

impl SizeAndTime {
    /// Whether what was found has them.
    fn are_of(self, there: &Found) -> bool {
        resume::looks_whole(there, self.size, self.mtime)
    }
}

/// One folder, in all earlier attempts that have it.
pub(super) struct KeptFolder(Vec<(usize, Dir)>);

/// Moves a file out of a folder, which may have its final mode already: an attempt may have failed
/// when only its name was missing.
fn move_out(dir: &Dir, name: &[u8], to: &Dir) -> bool {
    match dir.rename_noreplace(name, to, name) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            dir.set_own_mode(FILLING_FOLDER_MODE).is_ok() && dir.rename_noreplace(name, to, name).is_ok()
        }
        moved => moved.is_ok(),
    }
}

/// The names that a transfer's staging folder may have.
#[derive(Clone, Copy)]
pub(super) struct Names<'n> {
    /// The one that every attempt at the same transfer looks for.
    pub(super) stable: &'n [u8],
    /// The transfer's own, for when another transfer is at work under the first one.
    pub(super) unique: &'n [u8],
}

/// Finds the staging folder that an earlier attempt has left, or makes one. Of earlier attempts
/// `attempts_max` are gone on with.
pub(super) fn claim(
    destination: Destination<'_>,
    names: Names<'_>,
    about: &About,
    attempts_max: usize,
) -> Result<Claimed, (Operation, io::Error)> {
    let (root, Names { stable, unique }) = (destination.root, names);
    // Its own first, whose receiver was killed: nobody else looks for that one.
    if root.metadata(unique).is_ok()
        && let Ok(Some(claimed)) = adopt(destination, unique, about, attempts_max)
    {
        return Ok(claimed);
    }
    match root.make_dir(stable, FILLING_FOLDER_MODE) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            match adopt(destination, stable, about, attempts_max) {
                Ok(Some(claimed)) => return Ok(claimed),
                // It is at work, or is nothing that we made.
                Ok(None) | Err(_) => return make_beside(destination, unique, about, attempts_max),
            }
        }
        Err(error) => return Err((Operation::Create, error)),
    }
    // Another transfer may have come between, and taken it for one that was left behind.
    fill(root, stable, about).or_else(|_| make_beside(destination, unique, about, attempts_max))
}

/// Makes a transfer's own one beside that of another transfer of the same, or takes over what an
/// earlier session of the transfer has left there, whose receiver was killed.
fn make_beside(
    destination: Destination<'_>,
    unique: &[u8],
    about: &About,
    attempts_max: usize,
) -> Result<Claimed, (Operation, io::Error)> {
    match make(destination.root, unique, about) {
        Err((operation, error)) if error.kind() == io::ErrorKind::AlreadyExists => {
            let adopted = adopt(destination, unique, about, attempts_max).map_err(during(Operation::Open))?;
            adopted.ok_or((operation, error))
        }
        made => made,
    }
}

fn make(root: &Dir, name: &[u8], about: &About) -> Result<Claimed, (Operation, io::Error)> {
    root.make_dir(name, FILLING_FOLDER_MODE).map_err(during(Operation::Create))?;
    fill(root, name, about)
}

/// Prepares a staging folder that was made a moment ago.
fn fill(root: &Dir, name: &[u8], about: &About) -> Result<Claimed, (Operation, io::Error)> {
    let opened = root.metadata(name).and_then(|there| {
        let masked = there.mode & FILLING_FOLDER_MODE != FILLING_FOLDER_MODE;
        open_made(root, name, masked).map(|dir| (masked, dir))
    });
    let (masked, dir) = opened.map_err(during(Operation::Open))?;
    match lock(&dir) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err((Operation::Open, error)),
        // Where there are no locks nothing is taken over either.
        _ => {}
    }
    let filled = (|| {
        let begun = dir.create_new(BEGUN, FILLING_FILE_MODE).map_err(during(Operation::Create))?;
        dir.disk().write_at(begun.as_fd(), 0, &about.encode()).map_err(during(Operation::Write))?;
        dir.make_dir(TREE, FILLING_FOLDER_MODE).map_err(during(Operation::Create))
    })();
    match filled {
        Ok(()) => Ok(Claimed { name: name.to_vec(), dir, masked, was_there: false, kept: Kept::default() }),
        Err(error) => {
            // It was made a moment ago and holds next to nothing, unless it is not the same any
            // more.
            if is_still_at(root, name, &dir) {
                let _ = removal::remove_staging(Destination { root, recall: None }, name);
            }
            Err(error)
        }
    }
}

fn during(operation: Operation) -> impl Fn(io::Error) -> (Operation, io::Error) {
    move |error| (operation, error)
}

/// Opens a folder that was made a moment ago, giving its owner's bits back where umask or ACL took
/// them.
pub(super) fn open_made(parent: &Dir, name: &[u8], masked: bool) -> io::Result<Dir> {
    open_made_as(parent, name, FILLING_FOLDER_MODE, masked)
}

pub(super) fn open_made_as(parent: &Dir, name: &[u8], mode: u32, masked: bool) -> io::Result<Dir> {
    if masked {
        parent.set_folder_mode(name, mode)?;
    }
    parent.open_dir(name)
}

fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev, metadata.ino)
}

/// Takes over what an earlier attempt has left; none if it is still at work.
fn adopt(destination: Destination<'_>, name: &[u8], about: &About, attempts_max: usize) -> io::Result<Option<Claimed>> {
    let root = destination.root;
    let dir = root.open_dir(name)?;
    let owner = metadata_of(&dir)?.uid;
    if owner != rustix::process::geteuid().as_raw() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    match lock_soon(&dir) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
        Err(error) => return Err(error),
    }
    // Who held it may have finished and removed it since it was opened.
    if !is_still_at(root, name, &dir) {
        return Ok(None);
    }
    read_only_folders::restore_left(root, &dir);
    exchanges::settle_left(root, &dir)?;
    log::recall_all(destination, &dir, &log::left_in(&dir));
    let Some(trust) = trust_in(&dir) else {
        // Nothing of it was ever synchronised.
        removal::remove_staging(destination, name)?;
        let made = make(root, name, about).map_err(|(_, error)| error)?;
        return Ok(Some(Claimed { was_there: true, ..made }));
    };
    let holds = holds_something(&dir);
    let names = names_of(&dir, |_| true)?;
    let aside = dir.open_dir(resume::ASIDE).and_then(|aside| names_of(&aside, |_| true)).unwrap_or_default();
    let (names, aside) = (names.iter().map(Vec::as_slice), aside.iter().map(Vec::as_slice));
    let Takeover { steps, attempts } = resume::take_over(names, aside, holds);
    let mut masked = false;
    for step in &steps {
        masked |= take_step(&dir, step)?;
    }
    let mut trees = Vec::new();
    let mut noted: HashMap<Version, Noted> = HashMap::new();
    let (mut left, mut durable, mut doubtful) = (journal::READ_MAX, 0_u64, 0_u64);
    let attempts = attempts.iter().take(attempts_max);
    for attempt in attempts.filter_map(|name| dir.open_dir(name).ok()).map(Arc::new) {
        let read = journal::read(&attempt, &mut left);
        durable = durable.saturating_add(read.durable_bytes);
        doubtful = doubtful.saturating_add(read.doubtful_bytes);
        trees.extend(attempt.open_dir(TREE).ok().map(|dir| KeptTree { dir, durable: read.durable }));
        for (version, begun) in read.begun {
            noted.entry(version).or_default().push((Arc::clone(&attempt), begun));
        }
    }
    let belief = match left {
        // What does not fit may be nearly all of it.
        0 => Belief::Compared,
        _ => Belief::in_what_is_noted(durable, doubtful),
    };
    let is_suspect = dir.metadata(SUSPECT).is_ok();
    let kept = Kept { trees, trust, belief, is_suspect, begun: Mutex::new(noted) };
    Ok(Some(Claimed { name: name.to_vec(), dir, masked, was_there: true, kept }))
}

/// Carries out one step; whether it made a folder that came without its owner's bits.
fn take_step(dir: &Dir, step: &Step) -> io::Result<bool> {
    match step {
        Step::Remove(name) if dir.metadata(name)?.kind != Kind::Dir => dir.unlink(name)?,
        Step::Remove(name) => removal::remove_tree(dir, name)?,
        Step::Make(name) => {
            dir.make_dir(name, FILLING_FOLDER_MODE)?;
            let masked = dir.metadata(name)?.mode & FILLING_FOLDER_MODE != FILLING_FOLDER_MODE;
            open_made(dir, name, masked)?;
            return Ok(masked);
        }
        Step::Move { name, into } => dir.rename_noreplace(name, &dir.open_dir(into)?, name)?,
        Step::Rename { from, to } => dir.rename_noreplace(from, dir, to)?,
    }
    Ok(false)
}

/// Notes at once that the disk has refused something, however this attempt ends.
pub(super) fn suspect(staging: &Dir) {
    // On a full disk it is noted in the end, by a name that is there.
    let _ = staging.create_new(SUSPECT, FILLING_FILE_MODE);
}

/// Empties a staging folder but for what tells the next attempt to compare all that is there, and
/// lets go of it. The owner's files that it holds get names first.
///
/// # Errors
/// What could not be noted, named or removed.
pub(super) fn leave_suspect(destination: Destination<'_>, staging: &Dir) -> io::Result<()> {
    match staging.rename_noreplace(resume::JOURNAL, staging, SUSPECT) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => match staging.create_new(SUSPECT, FILLING_FILE_MODE) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        },
        renamed => renamed?,
    }
    exchanges::settle_left(destination.root, staging)?;
    log::recall_all(destination, staging, &log::left_in(staging));
    let goes = |name: &[u8]| name != BEGUN && name != SUSPECT && !log::is_log(name) && !beside::is_note(name);
    for name in names_of(staging, goes)? {
        match staging.metadata(&name)?.kind {
            Kind::Dir => removal::remove_tree(staging, &name)?,
            _ => staging.unlink(&name)?,
        }
    }
    touch(staging);
    release(staging)
}

/// Removes staging folders that nobody has gone on with for a week, and emptied ones that could not
/// be removed. Those that are held, this transfer's own among them, stay. What attempts that
/// crashed have left open is closed.
pub(super) fn remove_stale(destination: Destination<'_>) {
    let (root, now) = (destination.root, now().secs);
    // What cannot be listed or removed stays: nothing depends on it.
    let Ok(names) = names_of(root, |name| name.starts_with(OWN_PREFIX)) else { return };
    for name in names {
        let Ok(dir) = root.open_dir(&name) else { continue };
        let Ok(there) = metadata_of(&dir) else { continue };
        restore_unheld(destination, &dir);
        let is_older_than = |secs| is_ours(&there) && there.mtime.secs < now - secs && lock(&dir).is_ok();
        // What cannot be removed stays.
        if is_staging(&dir) {
            if is_older_than(KEPT_FOR_SECS) {
                let _ = exchanges::settle_left(root, &dir).map(|()| beside::remove_left(root, &dir, &name));
                let _ = removal::remove_staging(destination, &name);
            }
        } else if attempt_id(&name).is_some() && removal::is_emptied(&dir) && is_older_than(LEFT_FOR_SECS) {
            let _ = removal::remove_emptied(root, &name, &dir);
        }
    }
}

/// Closes what an attempt that crashed has left open, gives the owner's files names that its
/// exchanges took, and has remembered what it had put there, unless another transfer is at work in
/// its staging folder.
fn restore_unheld(destination: Destination<'_>, dir: &Dir) {
    let root = destination.root;
    if !metadata_of(dir).is_ok_and(|there| is_ours(&there)) {
        return;
    }
    let is_noted = names_of(dir, read_only_folders::is_record).is_ok_and(|records| !records.is_empty());
    let left = exchanges::Left::find(dir).ok().filter(|left| !left.is_empty());
    let is_logged = !log::left_in(dir).is_empty();
    if (is_noted || left.is_some() || is_logged) && lock(dir).is_ok() {
        read_only_folders::restore_left(root, dir);
        // What has no name yet gets one before the folder is removed, or that stays.
        let _ = left.map_or(Ok(()), |left| left.settle(root, dir));
        let logs = log::left_in(dir);
        // A lock that was not released here is released when its descriptor is closed.
        let _ = release(dir);
        // The next attempt does not wait for the store.
        log::recall_all(destination, dir, &logs);
    }
}

/// Whether this user has made it.
fn is_ours(there: &Metadata) -> bool {
    there.uid == rustix::process::geteuid().as_raw()
}

/// Opens a staging folder that an attempt of this user's has begun.
pub(super) fn open_ours(root: &Dir, name: &[u8]) -> Option<Dir> {
    let dir = root.open_dir(name).ok()?;
    (is_ours(&metadata_of(&dir).ok()?) && is_staging(&dir)).then_some(dir)
}

/// Whether an attempt has begun in a folder. Where names reach the disk in any order, a power cut
/// may have taken [`BEGUN`] from one that was being removed.
fn is_staging(dir: &Dir) -> bool {
    let is_rest = |name: &[u8]| {
        [TREE, resume::JOURNAL, SUSPECT].contains(&name)
            || name.starts_with(LANE_PREFIX)
            || resume::is_kept(name)
            || log::is_log(name)
    };
    dir.metadata(BEGUN).is_ok() || names_of(dir, is_rest).is_ok_and(|rest| !rest.is_empty())
}

/// Has a folder pass for one that somebody was at work in now: what happens beneath it does not
/// show in its time.
pub(super) fn touch(staging: &Dir) {
    // One that cannot be touched goes earlier.
    let _ = staging.disk().set_times(staging.as_fd(), Some(now()), now());
}

/// Whether the attempt under way, or one of the earlier ones, holds anything.
pub(super) fn is_worth_keeping(staging: &Dir) -> bool {
    holds_something(staging) || names_of(staging, resume::is_kept).is_ok_and(|kept| !kept.is_empty())
}

/// Whether the tree of the attempt under way holds anything, or its journal says so.
fn holds_something(staging: &Dir) -> bool {
    let any = |tree: Dir| tree.entries().is_ok_and(|mut entries| entries.next().is_some());
    let begun = staging.metadata(resume::JOURNAL).is_ok_and(|journal| journal.size > 0);
    begun || staging.open_dir(TREE).is_ok_and(any)
}

/// Holds the folder against other transfers, until the descriptor and its copies are closed,
/// however the process ends (flock(2)).
fn lock(dir: &Dir) -> io::Result<()> {
    Ok(rustix::fs::flock(dir.as_fd(), FlockOperation::NonBlockingLockExclusive)?)
}

/// The same where somebody may hold it for a moment only.
fn lock_soon(dir: &Dir) -> io::Result<()> {
    for _ in 0..HELD_BRIEFLY_TRIES {
        match lock(dir) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(HELD_BRIEFLY),
            locked => return locked,
        }
    }
    lock(dir)
}

/// Whether a transfer is at work in it. Who looks shares it with others that look, and holds it for
/// a moment.
pub(super) fn is_held(dir: &Dir) -> bool {
    let looked = rustix::fs::flock(dir.as_fd(), FlockOperation::NonBlockingLockShared);
    // A lock that was not released here is released when its descriptor is closed.
    let _ = release(dir);
    looked == Err(rustix::io::Errno::WOULDBLOCK)
}

/// Holds again what was let go of. False if another transfer is at work in it, or it is not there
/// under its name any more.
pub(super) fn lock_again(root: &Dir, name: &[u8], dir: &Dir) -> bool {
    lock(dir).is_ok() && is_still_at(root, name, dir)
}

/// Whether the name still leads to the folder that is open.
fn is_still_at(root: &Dir, name: &[u8], dir: &Dir) -> bool {
    matches!((root.metadata(name), metadata_of(dir)), (Ok(there), Ok(held)) if identity(&there) == identity(&held))
}

/// Lets go of the folder before its descriptors are closed.
pub(super) fn release(dir: &Dir) -> io::Result<()> {
    Ok(rustix::fs::flock(dir.as_fd(), FlockOperation::Unlock)?)
}

/// Which files pass for whole, by when the first attempt began. `None` if nothing says when.
fn trust_in(dir: &Dir) -> Option<Trust> {
    let (marker, now) = (dir.metadata(BEGUN).ok().filter(|marker| marker.kind == Kind::File)?, now());
    let wire = |time: Timestamp| ringway_wire::lane::Timestamp { secs: time.secs, nanos: time.nanos };
    let begun = resume::begun(wire(marker.mtime), wire(now));
    if begun != wire(marker.mtime) && dir.set_times_both(BEGUN, now, now).is_err() {
        // The clock was set back, and the next attempt would not know.
        return Some(Trust::default());
    }
    Some(Trust::since(begun))
}

pub(super) fn now() -> Timestamp {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    Timestamp { secs: now.tv_sec, nanos: now.tv_nsec as u32 }
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
