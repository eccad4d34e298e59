//! Top-level names: what this transfer gives them to, whose they were before, and what of it the
//! receiver has changed since.
use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use ringway_model::OnConflict;
use ringway_sys::attributes::{Kind, Metadata, Timestamp, metadata_of};
use ringway_wire::RelPath;
use ringway_wire::lane::{Entry, EntryKind};

use crate::disk::Dir;
use crate::limits::{ARRIVED_LISTED_MAX, BROUGHT_NAMES_MAX};
use crate::receive::landings::log::LandingLog;
use crate::receive::landings::{AllLandings, Landings};
use crate::receive::merge::folders::{Folder, Landing, Policy};
use crate::receive::merge::landing::{Landed, is_same};
use crate::receive::numbered::{Found, NameHere, find_version, first_free_number, is_free};
use crate::receive::options::{Announce, BroughtBefore, OthersBrought};
use crate::receive::received_before::{
    self, Brought, DESTINATION, FILES_IN_ALL_MAX, FOLDERS_MAX, Filled, Identity, is_changed,
};
use crate::receive::root::Root;
use crate::receive::tops_at_first::TopsAtFirst;

/// The slowest clock by which a kernel tells times of files: a hundred ticks a second.
const CLOCK_STEP: Duration = Duration::from_millis(10);

/// Top-level names: what this transfer gives them to, and whose they were before.
pub(in crate::receive) struct TopNames {
    root: Arc<Root>,
    on_conflict: OnConflict,
    brought_before: BroughtBefore,
    others_brought: OthersBrought,
    /// What had the names when the transfer began.
    pub(in crate::receive) at_first: TopsAtFirst,
    /// A change time stayed as it was.
    has_no_clock: AtomicBool,
    /// `None` if nothing is remembered.
    announce_by: Option<Announce>,
    /// Held while deciding where a top-level folder goes, so that two lanes decide alike.
    pub(in crate::receive) deciding: Mutex<()>,
    /// For the report.
    arrived: Mutex<Vec<Vec<u8>>>,
    /// Those of them that this transfer has given to its entries; not what was there and stays, or
    /// was only added to.
    made: Mutex<HashMap<Vec<u8>, Option<Brought>>>,
    /// Names of folders whose identity was remembered before they got them.
    announced: Mutex<HashSet<Vec<u8>>>,
    /// What the same device brought before and this transfer adds to.
    added_to: Mutex<HashMap<Vec<u8>, Arc<Brought>>>,
    /// Files with several names that a transfer of the same device has changed, or of which it has
    /// replaced a name: they are as received under all others, wherever those are. `None` if
    /// nothing tells the destination from another folder.
    linked: OnceLock<Option<Brought>>,
    /// What this transfer has put there, or at the top itself.
    landings: Mutex<AllLandings>,
    /// Folders below the top of the staging tree: a hash of their top-level name, and their inode.
    new_folders: Mutex<BTreeSet<(u64, u64)>>,
    hasher: RandomState,
}

impl TopNames {
    pub(in crate::receive) fn new(
        root: Arc<Root>,
        on_conflict: OnConflict,
        brought_before: BroughtBefore,
        others_brought: OthersBrought,
        at_first: TopsAtFirst,
        announce_by: Option<Announce>,
        log: Option<LandingLog>,
    ) -> Self {
        Self {
            root,
            on_conflict,
            brought_before,
            others_brought,
            at_first,
            has_no_clock: AtomicBool::new(false),
            announce_by,
            deciding: Mutex::default(),
            arrived: Mutex::default(),
            made: Mutex::default(),
            announced: Mutex::default(),
            added_to: Mutex::default(),
            linked: OnceLock::new(),
            landings: Mutex::new(AllLandings::logged_in(log)),
            new_folders: Mutex::default(),
            hasher: RandomState::new(),
        }
    }

    /// What happens if `name` exists in `folder`, and what is known of what the same device brought
    /// there.
    pub(in crate::receive) fn policy_for(&self, folder: &Folder, name: &[u8]) -> (Policy, Option<Arc<Brought>>) {
        match folder.landing {
            Landing::Merged(policy) => (policy, folder.brought.clone()),
            Landing::Root if self.on_conflict == OnConflict::RenameTop => match self.brought_as_named(name) {
                Some(brought) => (Policy::Update, Some(Arc::new(brought))),
                None => (Policy::Number, None),
            },
            Landing::Root | Landing::Staged => (Policy::by(self.on_conflict), None),
        }
    }

    /// What is known of the top-level entry `top`, if it is the very one that the same device
    /// brought before. A folder is it under `top`, or, where names are numbered, under the number
    /// that it got.
    pub(in crate::receive) fn brought(&self, top: &[u8]) -> Option<Brought> {
        let found = (self.brought_before)(top)?.found_in(&self.root.dir, top)?;
        (self.on_conflict == OnConflict::RenameTop || found.numbered.is_none()).then_some(found)
    }

    /// The same, if it has the name `top`.
    fn brought_as_named(&self, top: &[u8]) -> Option<Brought> {
        self.brought(top).filter(|brought| brought.numbered.is_none())
    }

    /// Remembers that this transfer adds to what the same device brought before, whatever the
    /// policy is.
    pub(in crate::receive) fn note_added_to(&self, top: &[u8], brought: impl FnOnce() -> Option<Brought>) {
        let mut added_to = self.added_to.lock();
        if added_to.len() < BROUGHT_NAMES_MAX
            && !added_to.contains_key(top)
            && let Some(brought) = brought()
        {
            let files: usize = added_to.values().map(|brought| brought.files()).sum();
            if files + brought.files() <= FILES_IN_ALL_MAX {
                added_to.insert(top.to_vec(), Arc::new(brought));
            }
        }
    }

    /// The same device's earlier folder that a path lies in.
    pub(in crate::receive) fn brought_at(&self, path: RelPath<'_>) -> Option<Arc<Brought>> {
        let top = path.split_first()?.0.as_bytes();
        let noted = self.added_to.lock().get(top).map(Arc::clone);
        noted.or_else(|| self.brought(top).map(Arc::new))
    }

    /// Remembers a top-level name for the report, and whether it was `made` by this transfer: given
    /// to the entry that the sender has by that very name.
    pub(in crate::receive) fn note_arrived(&self, top: &[u8], made: bool) {
        let note = |names: &mut Vec<Vec<u8>>| {
            if names.len() < ARRIVED_LISTED_MAX && !names.iter().any(|name| name == top) {
                names.push(top.to_vec());
            }
        };
        note(&mut self.arrived.lock());
        if made {
            self.note_made(top, top, None);
        }
    }

    /// Remembers that this transfer has given `name` to the sender's entry `top`.
    fn note_made(&self, top: &[u8], name: &[u8], filled: Option<Filled>) {
        let mut all = self.made.lock();
        if all.len() < BROUGHT_NAMES_MAX || all.contains_key(top) {
            // A second mark would be another identity than the one that was announced.
            let identity = match self.announced.lock().contains(top) {
                true => Identity::of(&self.root.dir, name),
                false => Identity::given(&self.root.dir, name),
            };
            all.insert(top.to_vec(), identity.map(|identity| self.known(identity, top, filled).named(top, name)));
        }
    }

    /// Remembers that a file at the top has a number because something else has its name. Beside a
    /// file that the same device brought under its own name it is one more version.
    pub(in crate::receive) fn note_numbered(&self, entry: &Entry<'_>, number: &[u8]) {
        let top = entry.name.as_bytes();
        if self.on_conflict == OnConflict::RenameTop && has_one_name(entry) && self.brought_as_named(top).is_none() {
            self.note_made(top, number, None);
        }
    }

    /// What is known of the same device's earlier version of a file that has a number at the top,
    /// because something else has its name.
    fn known_number(&self, folder: &Folder, name: &[u8]) -> Option<(Brought, Vec<u8>)> {
        if folder.landing != Landing::Root || self.on_conflict != OnConflict::RenameTop {
            return None;
        }
        let brought = self.brought(name)?;
        let number = brought.numbered.clone()?;
        Some((brought, number))
    }

    /// The number under which that version is there, if it is as it was received.
    pub(in crate::receive) fn updatable_number(&self, folder: &Folder, entry: &Entry<'_>) -> Option<Vec<u8>> {
        let (brought, number) = self.known_number(folder, entry.name.as_bytes()).filter(|_| has_one_name(entry))?;
        let there = folder.dir.metadata(&number).ok()?;
        (there.kind == Kind::File && self.is_received(&brought, folder, &number, &there)).then_some(number)
    }

    /// Whether that version is as it was received, and is this one, by size and time.
    pub(in crate::receive) fn has_received_number(&self, folder: &Folder, entry: &Entry<'_>) -> bool {
        self.updatable_number(folder, entry).is_some_and(|number| {
            folder.dir.metadata(&number).is_ok_and(|there| is_same(&folder.dir, &number, &there, entry))
        })
    }

    /// Remembers a folder of the staging tree, which this transfer fills where nobody sees it.
    pub(in crate::receive) fn note_new_folder(&self, path: &[u8], ino: u64) {
        let mut parts = path.splitn(2, |byte| *byte == b'/');
        let (Some(top), Some(_)) = (parts.next(), parts.next()) else { return };
        let mut all = self.new_folders.lock();
        if all.len() < FOLDERS_MAX {
            all.insert((self.hasher.hash_one(top), ino));
        }
    }

    /// What is known of a new folder, which the sender calls `top`.
    fn known(&self, identity: Identity, top: &[u8], filled: Option<Filled>) -> Brought {
        let mut brought = Brought::new(identity);
        if let Some(filled) = filled {
            let key = self.hasher.hash_one(top);
            let all = self.new_folders.lock();
            brought.set_filled(filled, all.range((key, 0)..=(key, u64::MAX)).map(|(_, ino)| *ino).collect());
        }
        brought
    }

    /// Remembers that this transfer has made the top-level folder `top`, which got that name or a
    /// numbered one, and filled it before anybody saw it. Under a numbered name it is not the
    /// folder that the sender has by that name, if it has one.
    pub(in crate::receive) fn note_published(&self, top: &[u8], name: &[u8], filled: Option<Filled>) {
        self.note_arrived(name, false);
        self.note_made(top, name, filled);
    }

    /// Whether anything is remembered.
    pub(in crate::receive) fn announces(&self) -> bool {
        self.announce_by.is_some()
    }

    /// Has the folders of the staging tree remembered that are about to get their names, or the
    /// first free numbers.
    pub(in crate::receive) fn announce(&self, names: Vec<Vec<u8>>, tree: &Dir, filled: Option<Filled>) {
        let Some(announce) = &self.announce_by else { return };
        let dir = &self.root.dir;
        let will_be = |top: &[u8]| match is_free(dir, top) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => first_free_number(dir, top, false),
            free => free.map(|()| top.to_vec()),
        };
        let brought = |top: Vec<u8>| {
            let name = will_be(&top).ok()?;
            let brought = self.known(Identity::given(tree, &top)?, &top, filled).named(&top, &name);
            Some((top, brought))
        };
        let brought: Vec<_> = names.into_iter().filter_map(brought).collect();
        *self.announced.lock() = brought.iter().map(|(name, _)| name.clone()).collect();
        if !brought.is_empty() {
            announce(brought);
        }
    }

    /// The first top-level paths that have their names.
    pub(in crate::receive) fn published(&self) -> Vec<PathBuf> {
        self.arrived.lock().iter().map(|name| self.root.path_of(name)).collect()
    }

    /// What the sender has brought by now, under the first top-level names that were given to it,
    /// and what it brought before and has added to; those not yet taken. What has one of these
    /// names, or the number that is known of it, is the sender's, and nobody else's.
    pub(in crate::receive) fn take_brought(&self) -> Vec<(Vec<u8>, Brought)> {
        let made = std::mem::take(&mut *self.made.lock());
        let added_to = std::mem::take(&mut *self.added_to.lock());
        let mut landings = std::mem::take(&mut *self.landings.lock());
        let mut all: HashMap<_, _> = made.into_iter().filter_map(|(name, brought)| Some((name, brought?))).collect();
        for (name, brought) in added_to {
            if landings.get(&name).is_some() {
                all.entry(name).or_insert_with(|| Arc::unwrap_or_clone(brought));
            }
        }
        if let Some(linked) = self.linked.get().and_then(Option::as_ref)
            && landings.get(DESTINATION).is_some()
        {
            all.insert(DESTINATION.to_vec(), linked.clone());
        }
        for (name, brought) in &mut all {
            if let Some(landed) = landings.take(name) {
                landed.added_to(brought);
            }
        }
        all.into_iter().collect()
    }

    /// The top-level name that `name` in `folder` belongs to.
    fn top_of<'a>(folder: &'a Folder, name: &'a [u8]) -> &'a [u8] {
        folder.path.split(|byte| *byte == b'/').next().filter(|top| !top.is_empty()).unwrap_or(name)
    }

    /// Works on what this transfer has put where others see it, if what it is in was brought by the
    /// same device.
    fn with_landings<T>(&self, folder: &Folder, name: &[u8], work: impl FnOnce(&mut Landings) -> T) -> Option<T> {
        let top = Self::top_of(folder, name);
        if folder.is_staged() {
            return None;
        }
        let made = || self.made.lock().get(top).map(|made| made.as_ref().map(|made| (made.identity, true)));
        let entry = match if folder.landing == Landing::Root { made() } else { None } {
            Some(made) => made,
            None => Some((self.added_to.lock().get(top)?.identity, false)),
        };
        Some(self.landings.lock().with(top, entry, work))
    }

    /// Has noted what has landed so far, in case that this receiver is killed.
    pub(in crate::receive) fn save_landings(&self) {
        self.landings.lock().save();
    }

    /// The same, and notes no more.
    pub(in crate::receive) fn close_landings(&self) {
        self.landings.lock().close();
    }

    /// Whether something is there just as this transfer has left it.
    fn has_landed(&self, folder: &Folder, name: &[u8], there: &Metadata) -> bool {
        self.landings.lock().get(Self::top_of(folder, name)).is_some_and(|landings| landings.has(there))
    }

    /// Remembers a file of the sender's as it landed where others see it; for after it was booked.
    pub(in crate::receive) fn note_landing(
        &self,
        folder: &Folder,
        entry: &Entry<'_>,
        landed: &Landed,
        file: impl AsFd,
    ) {
        let name = entry.name.as_bytes();
        match landed {
            Landed::There => self.note_landed(folder, entry, file),
            Landed::As(number) if self.is_made_as(folder, name, number) => self.note_landed(folder, entry, file),
            Landed::As(_) | Landed::Unchanged | Landed::Kept | Landed::Own | Landed::Beside(_) => {}
        }
    }

    /// Whether this transfer has given that number to the sender's file `name` at the top.
    fn is_made_as(&self, folder: &Folder, name: &[u8], number: &[u8]) -> bool {
        let made = self.made.lock();
        let numbered = made.get(name).and_then(Option::as_ref).and_then(|brought| brought.numbered.as_deref());
        folder.landing == Landing::Root && numbered == Some(number)
    }

    /// Remembers a file as it landed, by its own descriptor: its name may lead to another one by
    /// now. Its owner may have written into it.
    fn note_landed(&self, folder: &Folder, entry: &Entry<'_>, file: impl AsFd) {
        let name = entry.name.as_bytes();
        if !folder.is_staged()
            && let Ok(there) = metadata_of(file)
            && there.nlink > 0
            && is_same(&folder.dir, name, &there, entry)
        {
            self.with_landings(folder, name, |landings| landings.landed(&there));
        }
    }

    /// The same for a symbolic link, which is recognised by the time that it was given.
    pub(in crate::receive) fn note_landed_link(&self, folder: &Folder, name: &[u8], mtime: Timestamp) {
        if !folder.is_staged()
            && let Ok(there) = folder.dir.metadata(name)
            && (there.kind, there.mtime) == (Kind::Symlink, mtime)
        {
            self.with_landings(folder, name, |landings| landings.landed(&there));
        }
    }

    /// Remembers what is about to get a numbered name in `folder`, beside `name`.
    pub(in crate::receive) fn note_beside(&self, folder: &Folder, name: &[u8], there: &Metadata) {
        self.with_landings(folder, name, |landings| landings.put_beside(there));
    }

    /// Whether this transfer has given something a numbered name: it is another entry's than the
    /// one of that name.
    pub(in crate::receive) fn is_put_beside(&self, folder: &Folder, name: &[u8], there: &Metadata) -> bool {
        self.landings.lock().get(Self::top_of(folder, name)).is_some_and(|landings| landings.is_beside(there))
    }

    /// Remembers that this transfer itself has changed what was as received, by attributes or by
    /// the number of its names: it `was`, and is now.
    pub(in crate::receive) fn note_changed(&self, folder: &Folder, name: &[u8], was: &Metadata, now: &Metadata) {
        // The owner may have written into it just before.
        let is_written = now.kind == Kind::File && (was.mtime, was.size) != (now.mtime, now.size);
        if (was.dev, was.ino) != (now.dev, now.ino) || is_written {
            return;
        }
        let has_several = was.nlink.max(now.nlink) > 1;
        // Of what this transfer has landed all names are known. What got a number is not to be.
        let is_known = has_several && [was, now].into_iter().any(|there| self.landings.lock().have(there));
        self.with_landings(folder, name, |landings| {
            landings.went(was);
            landings.landed(now);
        });
        if has_several {
            self.landings.lock().changed(was, now);
            if !is_known {
                self.with_linked(was, |landings| landings.landed(now));
            }
        }
    }

    /// Remembers that this transfer has taken a temporary name away from a file that it has given
    /// others.
    pub(in crate::receive) fn note_unlinked(&self, was: &Metadata, now: &Metadata) {
        // The owner may have written into it just before.
        if (was.mtime, was.size) == (now.mtime, now.size) {
            self.landings.lock().changed(was, now);
        }
    }

    /// Remembers that something was replaced.
    pub(in crate::receive) fn note_replaced(&self, folder: &Folder, name: &[u8], was: &Metadata) {
        self.with_landings(folder, name, |landings| landings.went(was));
        if self.is_linked(was) {
            self.with_linked(was, |_| {});
        }
    }

    /// What the device calls `name` is there already, as `at`, and stays. Another device may have
    /// brought it. From now on it is due to both, and neither may replace it: it gets another
    /// change time, by which nobody's record knows it.
    pub(in crate::receive) fn share(&self, folder: &Folder, name: &[u8], at: &[u8]) {
        if folder.is_staged() || !(self.others_brought)() {
            return;
        }
        for is_last in [false, true] {
            let Ok(there) = folder.dir.metadata(at) else { return };
            // What cannot be changed has another owner than what is received.
            if is_changed(&there)
                || self.is_ours_as(folder, name, at, &there)
                || folder.dir.renew_change_time(at, &there).unwrap_or(true)
            {
                return;
            }
            match is_last {
                false if !self.has_no_clock.load(Ordering::Relaxed) => std::thread::sleep(CLOCK_STEP),
                // Its filesystem keeps no such time.
                _ => return self.has_no_clock.store(true, Ordering::Relaxed),
            }
        }
    }

    /// The same for what is there already under its own name or a numbered one. Another version may
    /// have its name. If what has it was compared, and so is unchanged, that one has another size.
    pub(in crate::receive) fn share_version(&self, folder: &Folder, entry: &Entry<'_>, landed: &Landed) {
        if folder.is_staged() || !(self.others_brought)() {
            return;
        }
        let name = entry.name.as_bytes();
        let has_size = |there: &Metadata| matches!(entry.kind, EntryKind::File { size, .. } if size == there.size);
        let was_compared = *landed == Landed::Unchanged;
        let is_it = |there: &Metadata| is_same(&folder.dir, name, there, entry) || (was_compared && has_size(there));
        if folder.dir.metadata(name).is_ok_and(|there| is_it(&there)) {
            self.share(folder, name, name);
        }
        if let Some(number) = self.beside_by_time(folder, entry) {
            self.share(folder, name, &number);
        }
    }

    /// What is known of files with several names.
    fn linked(&self) -> Option<&Brought> {
        let known = || (self.brought_before)(DESTINATION)?.found_in(&self.root.dir, DESTINATION);
        let new = || Identity::of(&self.root.dir, DESTINATION).map(Brought::new);
        self.linked.get_or_init(|| known().or_else(new)).as_ref()
    }

    /// Whether something is as received because a file is, of which it is another name.
    fn is_linked(&self, there: &Metadata) -> bool {
        there.dev == self.root.dev
            && (self.landings.lock().get(DESTINATION).is_some_and(|landings| landings.has(there))
                || self.linked().is_some_and(|linked| linked.is_as_received(None, there, || None)))
    }

    /// Works on what is known of files with several names, after one of them is not any more as it
    /// `was`.
    fn with_linked(&self, was: &Metadata, work: impl FnOnce(&mut Landings)) {
        if let Some(linked) = self.linked().filter(|_| was.dev == self.root.dev) {
            self.landings.lock().with(DESTINATION, Some((linked.identity, true)), |landings| {
                landings.went(was);
                work(landings);
            });
        }
    }

    /// Whether something is as it was received, `before` this transfer or in it.
    pub(in crate::receive) fn is_received(
        &self,
        before: &Brought,
        folder: &Folder,
        name: &[u8],
        there: &Metadata,
    ) -> bool {
        before.is_as_received(folder.ino, there, || received_before::born_at(&folder.dir, name))
            || self.has_landed(folder, name, there)
            || self.is_linked(there)
    }

    /// The same, where it is not known yet whether the device brought anything there. Cheap where
    /// nothing of that device is known there.
    pub(in crate::receive) fn is_ours(&self, folder: &Folder, name: &[u8], there: &Metadata) -> bool {
        if folder.is_staged() {
            return false;
        }
        let top = Self::top_of(folder, name);
        let is_top = folder.landing == Landing::Root;
        if is_top {
            self.note_added_to(top, || self.brought_as_named(top));
        }
        let before =
            self.added_to.lock().get(top).filter(|before| !is_top || before.numbered.is_none()).map(Arc::clone);
        match before {
            Some(before) => self.is_received(&before, folder, name, there),
            None => self.has_landed(folder, name, there),
        }
    }

    /// Whether what is there under a number must stay: it is not, or not any more, what the file
    /// of the same device became.
    pub(in crate::receive) fn is_edited_number(&self, folder: &Folder, names: NameHere<'_>, there: &Metadata) -> bool {
        let NameHere { sent: name, here: number } = names;
        let is_it = |brought: &Brought| brought.numbered.as_deref() == Some(number);
        !self.brought(name).filter(is_it).is_some_and(|brought| self.is_received(&brought, folder, number, there))
    }

    /// Whether an existing file or link must stay because the receiver may have changed it since it
    /// was received. That it may is enough: nothing is known of its contents.
    pub(in crate::receive) fn is_edited(&self, folder: &Folder, name: &[u8], there: &Metadata) -> bool {
        if folder.is_staged() {
            return false;
        }
        match self.policy_for(folder, name) {
            (Policy::Update, Some(brought)) => !self.is_received(&brought, folder, name, there),
            (Policy::Update, None) => true,
            // At the top: what has the name is not, or not any more, what the device brought.
            (Policy::Number, _) => !self.has_landed(folder, name, there),
            (Policy::Replace | Policy::Keep, _) => false,
        }
    }

    /// Whether an entry of that name may replace what is there: it is as it was received.
    fn is_replaceable(&self, folder: &Folder, name: &[u8], there: &Metadata) -> bool {
        match self.policy_for(folder, name) {
            (Policy::Update, Some(brought)) => self.is_received(&brought, folder, name, there),
            _ => false,
        }
    }

    /// The numbered name beside an edited file under which this very version of the sender's is
    /// there. Size and time are believed of what the device has brought. Of a file that anybody may
    /// have put there the contents are compared once they are here.
    pub(in crate::receive) fn beside(&self, folder: &Folder, entry: &Entry<'_>) -> Option<Vec<u8>> {
        self.beside_where(folder, entry, |candidate, there| {
            is_same(&folder.dir, candidate, there, entry)
                && (there.kind != Kind::File || self.is_ours_as(folder, entry.name.as_bytes(), candidate, there))
        })
    }

    /// The numbered name of a file with the size and the time of the sender's version, whatever has
    /// put it there.
    pub(in crate::receive) fn beside_by_time(&self, folder: &Folder, entry: &Entry<'_>) -> Option<Vec<u8>> {
        self.beside_where(folder, entry, |candidate, there| is_same(&folder.dir, candidate, there, entry))
    }

    /// Whether what is there as `at`, and the device calls `name`, is as received from it.
    pub(in crate::receive) fn is_ours_as(&self, folder: &Folder, name: &[u8], at: &[u8], there: &Metadata) -> bool {
        let is_number =
            |(brought, number): (Brought, Vec<u8>)| number == at && self.is_received(&brought, folder, at, there);
        self.is_ours(folder, at, there) || (at != name && self.known_number(folder, name).is_some_and(is_number))
    }

    /// The numbered name of an entry for which `is_it` holds, as [`find_version`] looks for it. A
    /// name that the sender has itself, and may update, is none.
    pub(in crate::receive) fn beside_where(
        &self,
        folder: &Folder,
        entry: &Entry<'_>,
        mut is_it: impl FnMut(&[u8], &Metadata) -> bool,
    ) -> Option<Vec<u8>> {
        let name = entry.name.as_bytes();
        let known = self.known_number(folder, name).map(|(_, number)| number);
        let is_beside = |candidate: &[u8], there: &Metadata| {
            !self.is_replaceable(folder, candidate, there) && is_it(candidate, there)
        };
        match find_version(&folder.dir, name, known.as_deref(), is_beside) {
            Ok(Found::There(number)) => Some(number),
            Ok(Found::Free(_)) | Err(_) => None,
        }
    }
}

/// A file of which the sender says no other name.
fn has_one_name(entry: &Entry<'_>) -> bool {
    matches!(entry.kind, EntryKind::File { link_id: None, .. })
}
