//! The same for hard links, symbolic links and the policies for what is there already, which the
//! stories do not have: frames that are made here, and lanes without a session.
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io::{Cursor, Read};
use std::ops::RangeInclusive;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use ringway_model::{FailureReason, OnConflict};
use ringway_sys::file_io::{FileIo, IoMode};
use ringway_tree::bulk::LaneSource;
use ringway_tree::disk::Disk;
use ringway_tree::receive::{Brought, DestinationOptions, Incoming, discard, unfinished};
use ringway_wire::lane::{Attributes, Counts, Entry, EntryKind, FrameHeader, HeadBuffer, Timestamp, Xattrs};
use ringway_wire::{Name, RelPath};
use rustix::io::Errno;

use super::check_struck;
use crate::disk::{BTRFS, EXT4, Found, Promise, Simulated};
use crate::random::Random;
use crate::receiver::{is_staging, options};

const MTIME: Timestamp = Timestamp { secs: 700, nanos: 0 };

/// What was there before, and is of other contents than what comes.
const OLD: &[u8] = b"of the receiver, and older";

/// Power cuts before each operation.
const CUTS: u64 = 3;

struct Bytes(Cursor<Vec<u8>>);

impl LaneSource for Bytes {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(buf)
    }
}

fn contents(name: &str) -> Vec<u8> {
    name.bytes().cycle().take(5_000 + name.len()).collect()
}

/// What is received, and what is there before.
#[derive(Clone, Copy)]
struct Case {
    /// In which folder it is; at the top if that has no name.
    folder: &'static str,
    is_there: bool,
    /// The folder that is there is one that its owner may not write to.
    is_read_only: bool,
    on_conflict: OnConflict,
}

const NEW: Case = Case { folder: "data", is_there: false, is_read_only: false, on_conflict: OnConflict::Replace };
const REPLACED: Case = Case { is_there: true, ..NEW };

impl Case {
    fn path(&self) -> &'static [u8] {
        self.folder.as_bytes()
    }

    fn mode(&self) -> u16 {
        if self.is_read_only { 0o555 } else { 0o755 }
    }

    /// What its filesystem must promise: a folder that appears as a whole needs nothing.
    fn promise(&self) -> Promise {
        if self.is_there { Promise::Order } else { Promise::Nothing }
    }

    /// Files of the receiver keep their names, and what comes is numbered.
    fn numbers(&self) -> bool {
        self.is_there && self.on_conflict == OnConflict::Rename
    }

    /// What landed before the receiver was struck counts as edited: what it has brought is
    /// remembered at the end. No further name of the sender's becomes a link to that.
    fn forgets(&self, struck: Struck) -> bool {
        self.on_conflict == OnConflict::RenameTop && struck != Struck::Not
    }
}

/// Files `a` and `c`, a further name `b` of the first, and a link `s`.
fn lane(case: Case) -> (Vec<u8>, Counts) {
    let mut lane = Lane::new(case);
    lane.file(&entry("a", EntryKind::File { size: contents("a").len() as u64, link_id: Some(1) }), &contents("a"));
    lane.file(&entry("c", EntryKind::File { size: contents("c").len() as u64, link_id: None }), &contents("c"));
    lane.head.entry(&entry("s", EntryKind::Symlink { target: b"a" }));
    lane.head.entry(&entry("b", EntryKind::HardLink { link_id: 1, last: true }));
    lane.end()
}

/// What the same device has brought before: `a` and `c`, as they were then.
fn lane_before(case: Case) -> (Vec<u8>, Counts) {
    let mut lane = Lane::new(case);
    for name in ["a", "c"] {
        lane.file(&entry(name, EntryKind::File { size: OLD.len() as u64, link_id: None }), OLD);
    }
    lane.end()
}

#[derive(Default)]
struct Lane {
    head: HeadBuffer,
    body: Vec<u8>,
}

impl Lane {
    fn new(case: Case) -> Self {
        let mut lane = Self::default();
        let path = RelPath::new(case.path()).expect("a path");
        if path.is_root() {
            lane.head.folder(path);
        } else {
            let attributes = Attributes { mode: case.mode(), mtime: MTIME, ..Attributes::default() };
            lane.head.folder_with_attributes(path, &attributes, Xattrs::default());
        }
        lane
    }

    fn file(&mut self, entry: &Entry<'_>, bytes: &[u8]) {
        self.head.entry(entry);
        self.body.extend(bytes);
    }

    fn end(mut self) -> (Vec<u8>, Counts) {
        let header = self.head.batch_header(self.body.len());
        let bytes = [&header.encode(), self.head.as_bytes(), &self.body, &FrameHeader::END.encode()].concat();
        (bytes, self.head.counts())
    }
}

fn entry<'n>(name: &'n str, kind: EntryKind<'n>) -> Entry<'n> {
    let attributes = Attributes { mode: 0o644, mtime: MTIME, ..Attributes::default() };
    Entry { name: Name::new(name.as_bytes()).expect("a name"), kind, attributes, xattrs: Xattrs::default() }
}

/// What has happened to a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Struck {
    Not,
    Killed,
    PowerLost,
}

/// The receiver's disk, and what it remembers of earlier sessions.
struct Site {
    disk: Arc<Simulated>,
    brought: Arc<Mutex<HashMap<Vec<u8>, Brought>>>,
}

impl Site {
    fn new(case: Case, magic: usize) -> Self {
        let site = Self { disk: Simulated::new(), brought: Arc::default() };
        site.disk.state().filesystem = [EXT4, BTRFS][magic];
        if case.on_conflict == OnConflict::RenameTop {
            assert!(site.receive(case, lane_before, 0..=0), "nothing went wrong");
        }
        if case.is_there {
            site.disk.outside(|inbox| site.fill(case, &inbox.join(case.folder)));
        }
        site
    }

    /// What is there before besides what the same device has brought.
    fn fill(&self, case: Case, folder: &Path) {
        fs::create_dir_all(folder).expect("a folder");
        fs::write(folder.join("own"), OLD).expect("memory takes it");
        if case.on_conflict != OnConflict::RenameTop {
            for name in ["a", "c"] {
                fs::write(folder.join(name), OLD).expect("memory takes it");
            }
        }
        if case.is_read_only {
            // A link that is replaced is made under another name first.
            symlink("own", folder.join("s")).expect("a link");
            fs::set_permissions(folder, fs::Permissions::from_mode(case.mode().into())).expect("a mode");
        }
    }

    /// One attempt, after the receiver was struck or not; false if it was killed.
    fn attempt(&self, case: Case, struck: Struck) -> bool {
        // A name of what is kept as it is does not become a link to it.
        let failed = match case.on_conflict {
            OnConflict::Keep if case.is_there => 1..=1,
            _ if case.forgets(struck) => 0..=1,
            _ => 0..=0,
        };
        self.receive(case, lane, failed)
    }

    fn receive(&self, case: Case, lane: fn(Case) -> (Vec<u8>, Counts), failed: RangeInclusive<u64>) -> bool {
        let (bytes, counts) = lane(case);
        let (brought, announced) = (Arc::clone(&self.brought), Arc::clone(&self.brought));
        let options = DestinationOptions {
            on_conflict: case.on_conflict,
            brought_before: Box::new(move |top| brought.lock().get(top).cloned()),
            announce: Some(Box::new(move |all| announced.lock().extend(all))),
            ..options(&self.disk, [7; 16], false)
        };
        let on: Arc<dyn Disk> = self.disk.clone();
        let Ok(incoming) = Incoming::begin_on(options, on) else { return false };
        let mut io = FileIo::new(IoMode::Sync, 64).expect("plain calls");
        if incoming.run_lane(&mut Bytes(Cursor::new(bytes)), &mut io).is_err() {
            return false;
        }
        let finished = incoming.finish(&counts);
        if self.disk.state().died_in().is_some() {
            return false;
        }
        let (receipt, _) = finished.expect("nothing went wrong");
        self.brought.lock().extend(incoming.take_brought());
        let failures = incoming.results().take_failures();
        assert!(failed.contains(&receipt.failed), "{failures:?}");
        assert!(failures.iter().all(|failure| failure.reason == FailureReason::LinkTargetMissing), "{failures:?}");
        true
    }
}

type Files = BTreeMap<Vec<u8>, Found>;

/// Whatever has happened: what was the receiver's alone is as it was, and the rest is a whole file,
/// the old one or the new one.
fn check_at_any_time(files: &Files, case: Case) {
    for (path, found) in files.iter().filter(|(path, _)| !is_staging(&path[1..])) {
        let name = &path[1..2];
        let new = contents(if name == b"c" { "c" } else { "a" });
        let is_new = found.bytes == new && found.mtime == MTIME;
        assert!(is_new || found.bytes == OLD, "{} is neither", path.escape_ascii());
    }
    if case.is_there {
        let stays: &[&[u8]] = match case.on_conflict {
            OnConflict::Replace | OnConflict::RenameTop => &[b"/own"],
            OnConflict::Keep | OnConflict::Rename => &[b"/own", b"/a", b"/c"],
        };
        for path in stays {
            let found = files.get(*path).unwrap_or_else(|| panic!("{} has gone", path.escape_ascii()));
            assert_eq!(found.bytes, OLD, "{} was changed", path.escape_ascii());
        }
    }
}

/// A staging folder is known for one until nothing is in it.
fn check_staging_folders(inbox: &Path) {
    for entry in fs::read_dir(inbox).expect("a folder").map(|entry| entry.expect("an entry")) {
        if is_staging(entry.file_name().as_encoded_bytes()) {
            let names = fs::read_dir(entry.path()).expect("a folder").map(|entry| entry.expect("an entry").file_name());
            let names: Vec<_> = names.collect();
            assert!(names.is_empty() || names.iter().any(|name| name == "begun"), "nobody knows it: {names:?}");
        }
    }
}

/// After a receipt: all of it is there, once.
fn check_received(files: &Files, case: Case, struck: Struck) {
    check_at_any_time(files, case);
    let shown: Vec<_> = files.keys().map(|path| path.escape_ascii().to_string()).collect();
    let seen = || files.iter().filter(|(path, _)| !is_staging(&path[1..])).map(|(_, found)| found);
    let copies = |name: &str| seen().filter(|found| found.bytes == contents(name)).count();
    if case.is_there && case.on_conflict == OnConflict::Keep {
        assert_eq!(copies("c"), 0);
        return;
    }
    // A power cut changes the times by which the receiver knows what nobody has edited.
    let may_number = case.forgets(struck) && struck == Struck::PowerLost;
    assert!(copies("c") == 1 || may_number && copies("c") > 0, "{shown:?}");
    if case.forgets(struck) {
        assert!(copies("a") >= 1, "{shown:?}");
    } else if case.numbers() && struck != Struck::Not {
        // What arrived before the receiver was struck may be there under a number.
        assert!(copies("a") >= 2, "{shown:?}");
    } else {
        assert_eq!(copies("a"), 2, "{shown:?}");
        assert!(seen().all(|found| found.bytes != contents("a") || found.names == 2), "they are one file: {shown:?}");
        let first: &[u8] = if case.numbers() { b"/a (1)" } else { b"/a" };
        for path in [first, b"/b"] {
            assert!(files.get(path).is_some_and(|found| found.bytes == contents("a")), "{shown:?}");
        }
    }
}

/// And nothing else is left, and it stays if the power goes now.
fn check_in_the_end(site: &Site, case: Case, struck: Struck) {
    let state = site.disk.state();
    state.check_folder();
    let files = state.files(case.path(), None);
    check_received(&files, case, struck);
    assert!(state.tops().iter().all(|name| !is_staging(name)), "a staging folder is left");
    assert!(files.keys().all(|path| !is_staging(&path[1..])), "a temporary name is left");
    let after = state.after(case.promise(), &mut Random::new(state.calls() as u64));
    check_received(&state.files(case.path(), Some(&after)), case, struck);
    let folder = site.disk.inbox().join(case.folder);
    assert_eq!(fs::read_link(folder.join("s")).expect("a link").as_os_str(), "a");
    if case.is_read_only {
        let mode = fs::metadata(folder).expect("a folder").mode() & 0o7777;
        assert_eq!(mode, u32::from(case.mode()), "it is left open");
    }
}

/// The operations before which it was struck.
fn walk(case: Case) -> HashSet<&'static str> {
    let mut kinds = HashSet::new();
    for magic in 0..2 {
        let site = Site::new(case, magic);
        let before = site.disk.state().calls();
        assert!(site.attempt(case, Struck::Not));
        check_in_the_end(&site, case, Struck::Not);
        let operations = site.disk.state().calls() - before;
        for at in 0..operations {
            for time in 0..=CUTS {
                let site = Site::new(case, magic);
                let disk = &site.disk;
                disk.state().dies_after(at);
                assert!(!site.attempt(case, Struck::Not), "it was not killed before operation {at}");
                kinds.extend(disk.state().died_in());
                if time > 0 {
                    let after = disk.state().after(case.promise(), &mut Random::new(at as u64 * CUTS + time));
                    disk.lose_power(&after);
                }
                disk.revive();
                check_at_any_time(&disk.state().files(case.path(), None), case);
                if case.promise() == Promise::Order || time == 0 {
                    check_staging_folders(&disk.inbox());
                }
                let struck = if time > 0 { Struck::PowerLost } else { Struck::Killed };
                assert!(site.attempt(case, struck), "operation {at}, cut {time}");
                check_in_the_end(&site, case, struck);
            }
        }
        println!("{operations} operations");
    }
    kinds
}

#[test]
fn links_in_a_new_folder_survive_a_crash_before_each_operation() {
    check_struck(&walk(NEW), &["make a symbolic link", "make a hard link"]);
}

#[test]
fn links_that_replace_files_survive_a_crash_before_each_operation() {
    check_struck(&walk(REPLACED), &["make a symbolic link", "make a hard link", "rename over"]);
}

#[test]
fn files_at_the_top_that_replace_others_survive_a_crash_before_each_operation() {
    check_struck(&walk(Case { folder: "", ..REPLACED }), &["rename over"]);
}

#[test]
fn an_update_of_what_was_brought_before_survives_a_crash_before_each_operation() {
    let case = Case { on_conflict: OnConflict::RenameTop, ..REPLACED };
    if Site::new(case, 0).brought.lock().is_empty() {
        println!("skipped: nothing here tells a folder from a later one");
        return;
    }
    check_struck(&walk(case), &["exchange"]);
}

#[test]
fn links_in_a_read_only_folder_survive_a_crash_before_each_operation() {
    if rustix::process::geteuid().is_root() {
        println!("skipped: root may write to every folder");
        return;
    }
    check_struck(&walk(Case { is_read_only: true, ..REPLACED }), &["set a mode", "rename over"]);
}

#[test]
fn files_that_are_kept_survive_a_crash_before_each_operation() {
    walk(Case { on_conflict: OnConflict::Keep, ..REPLACED });
}

#[test]
fn files_beside_numbered_ones_survive_a_crash_before_each_operation() {
    walk(Case { on_conflict: OnConflict::Rename, ..REPLACED });
}

/// What the owner saves in the instant before an exchange.
const SAVED: &[u8] = b"saved by the owner";

/// How often a file that everybody sees is what the owner has saved.
fn saved(files: &Files) -> usize {
    let seen = files.iter().filter(|(path, _)| !is_staging(&path[1..]));
    seen.filter(|(_, found)| found.bytes == SAVED).count()
}

/// The operations before which it was struck. `then` is what comes after that.
fn walk_with_a_save(then: impl Fn(&Site)) -> HashSet<&'static str> {
    let case = Case { on_conflict: OnConflict::RenameTop, ..REPLACED };
    let save = |inbox: &Path| {
        fs::write(inbox.join("save"), SAVED).expect("memory takes it");
        fs::rename(inbox.join("save"), inbox.join("data/a")).expect("it is saved");
    };
    let (mut kinds, mut at, mut goes_on) = (HashSet::new(), 0, true);
    while goes_on {
        for time in 0..=CUTS {
            let site = Site::new(case, 0);
            let disk = &site.disk;
            disk.state().plan.saves = Some(Box::new(save));
            disk.state().dies_after(at);
            goes_on = !site.receive(case, lane, 0..=1);
            kinds.extend(disk.state().died_in());
            let was_saved = disk.state().plan.saves.take().is_none();
            if time > 0 {
                let after = disk.state().after(case.promise(), &mut Random::new(at as u64 * CUTS + time));
                disk.lose_power(&after);
            }
            disk.revive();
            then(&site);
            let files = disk.state().files(case.path(), None);
            let shown: Vec<_> = files.keys().map(|path| path.escape_ascii().to_string()).collect();
            assert_eq!(saved(&files), usize::from(was_saved), "operation {at}, cut {time}: {shown:?}");
            assert!(disk.state().tops().iter().all(|name| !is_staging(name)), "a staging folder is left");
        }
        at += 1;
    }
    kinds
}

#[test]
fn a_save_in_the_instant_before_an_exchange_survives_a_crash_and_the_next_attempt() {
    let case = Case { on_conflict: OnConflict::RenameTop, ..REPLACED };
    if Site::new(case, 0).brought.lock().is_empty() {
        println!("skipped: nothing here tells a folder from a later one");
        return;
    }
    let struck = walk_with_a_save(|site| assert!(site.receive(case, lane, 0..=1), "nothing went wrong"));
    check_struck(&struck, &["exchange", "unlink", "make a symbolic link"]);
}

/// A person discards what is left.
fn discard_all(site: &Site) {
    site.disk.outside(|inbox| {
        for left in unfinished(inbox).expect("a folder") {
            assert!(discard(inbox, &left.id, None).expect("it is removed"), "nobody uses it");
        }
        // Nothing was in it yet, or nothing was left in it.
        for entry in fs::read_dir(inbox).expect("a folder").map(|entry| entry.expect("an entry")) {
            if is_staging(entry.file_name().as_encoded_bytes()) {
                fs::remove_dir(entry.path()).expect("an empty folder");
            }
        }
    });
}

#[test]
fn a_save_in_the_instant_before_an_exchange_survives_a_crash_and_discarding() {
    if Site::new(Case { on_conflict: OnConflict::RenameTop, ..REPLACED }, 0).brought.lock().is_empty() {
        println!("skipped: nothing here tells a folder from a later one");
        return;
    }
    check_struck(&walk_with_a_save(discard_all), &["exchange", "unlink", "make a symbolic link"]);
}

/// How an attempt ends that could not give the owner's file a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Receipt,
    /// The disk has refused something, so that what was received is not believed.
    Suspect,
    Kept,
    Abandoned,
}

/// Receives while somebody saves a file, and no folder that everybody sees takes a name after that.
fn receive_refused(site: &Site, refused: Errno, ending: Ending) {
    let disk = &site.disk;
    let case = Case { on_conflict: OnConflict::RenameTop, ..REPLACED };
    let save = |inbox: &Path| {
        fs::write(inbox.join("save"), SAVED).expect("memory takes it");
        fs::rename(inbox.join("save"), inbox.join("data/a")).expect("it is saved");
    };
    {
        let plan = &mut disk.state().plan;
        plan.saves = Some(Box::new(save));
        plan.refuses_names = Some(refused);
    }
    let brought = Arc::clone(&site.brought);
    let options = DestinationOptions {
        on_conflict: case.on_conflict,
        brought_before: Box::new(move |top| brought.lock().get(top).cloned()),
        ..options(disk, [7; 16], false)
    };
    let on: Arc<dyn Disk> = disk.clone();
    let incoming = Incoming::begin_on(options, on).expect("a folder");
    let (bytes, counts) = lane(case);
    let mut io = FileIo::new(IoMode::Sync, 64).expect("plain calls");
    let ran = incoming.run_lane(&mut Bytes(Cursor::new(bytes)), &mut io);
    if ending == Ending::Suspect {
        disk.state().fails_to_sync();
    }
    let finished = match ending {
        Ending::Receipt | Ending::Suspect if ran.is_ok() => incoming.finish(&counts).is_ok(),
        _ => false,
    };
    if !finished {
        let _ = if ending == Ending::Kept { incoming.keep().map(drop) } else { incoming.abandon() };
    }
    drop(incoming);
    disk.state().plan.refuses_names = None;
}

/// `then` is what comes once names are taken again.
fn check_a_save_without_a_name(then: impl Fn(&Site)) {
    if Site::new(Case { on_conflict: OnConflict::RenameTop, ..REPLACED }, 0).brought.lock().is_empty() {
        println!("skipped: nothing here tells a folder from a later one");
        return;
    }
    for refused in [Errno::ACCESS, Errno::IO, Errno::NOSPC] {
        for ending in [Ending::Receipt, Ending::Suspect, Ending::Kept, Ending::Abandoned] {
            let case = Case { on_conflict: OnConflict::RenameTop, ..REPLACED };
            let site = Site::new(case, 0);
            receive_refused(&site, refused, ending);
            let seen = |site: &Site| {
                let files = site.disk.state().files(case.path(), None);
                let shown: Vec<_> = files.keys().map(|path| path.escape_ascii().to_string()).collect();
                (saved(&files), shown)
            };
            assert_eq!(seen(&site).0, 0, "{refused:?}, {ending:?}: it has a name already");
            if (refused, ending) == (Errno::ACCESS, Ending::Suspect) {
                let staged = site.disk.state().files(b"", None);
                assert!(staged.keys().any(|path| path.ends_with(b"/suspect")), "nobody was suspicious");
            }
            then(&site);
            let (saved, shown) = seen(&site);
            assert_eq!(saved, 1, "{refused:?}, {ending:?}: {shown:?}");
            assert!(site.disk.state().tops().iter().all(|name| !is_staging(name)), "a staging folder is left");
        }
    }
}

#[test]
fn a_save_that_no_folder_takes_back_gets_its_name_in_the_next_attempt() {
    let case = Case { on_conflict: OnConflict::RenameTop, ..REPLACED };
    check_a_save_without_a_name(|site| assert!(site.receive(case, lane, 0..=1), "nothing went wrong"));
}

#[test]
fn a_save_that_no_folder_takes_back_gets_its_name_when_its_staging_folder_is_discarded() {
    check_a_save_without_a_name(discard_all);
}
