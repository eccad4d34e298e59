//! Compares the listing of an offer with what is in a folder, by size and time alone. It only reads
//! metadata: it opens nothing but folders, follows no link, and leaves the folder as it is.
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ringway_model::{Comparison, Difference, HereIs, PathText};
use ringway_sys::attributes::{Kind, Metadata, Timestamp, metadata_of};
use ringway_wire::listing::{ListedEntry, ListedKind, ListingPage};
use rustix::io::Errno;

use crate::disk::{Dir, NameIn};
use crate::filesystem::granularity::{as_kept_by, nanos};
use crate::filesystem::target::target_digest;
use crate::receive::Brought;
use crate::receive::numbered::{self, find_version, first_free_number};
use crate::receive::received_before::{DESTINATION, born_at};

#[cfg(test)]
mod tests;

/// Differences that are named; further ones are only counted.
pub const DIFFERENCES_MAX: usize = 1_000;

/// Bytes of their paths.
const DIFFERENCES_BYTES_MAX: usize = 256 << 10;

/// Names that are kept of each kind: of folders that are updated, and of those that get another.
pub const NAMES_MAX: usize = 8;

/// Entries between two looks at whether to go on.
const LOOK_EVERY: usize = 64;

/// Looks up what the device brought under a top-level name.
pub type AskBrought = Box<dyn FnMut(&[u8]) -> Option<Brought>>;

/// A comparison of one listing with one folder.
pub struct Comparer {
    root: Dir,
    /// The root's filesystem.
    dev: u64,
    brought: AskBrought,
    /// Files with several names that are as received wherever they are.
    linked: Option<Brought>,
    /// The top-level folder of the last entry.
    top: Option<TopFolder>,
    by_name: Lookup,
    by_number: Lookup,
    found: Found,
}

/// What was found so far.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// Under `update`.
    pub update: Tally,
    /// Under the other policies, which go by the sender's own names; none while that is the same.
    pub in_place: Option<Tally>,
    /// The first folders here that `update` goes on with under another name than the sender's.
    pub updated: Vec<Vec<u8>>,
    /// The first names that `update` gives because the sender's is taken.
    pub renamed: Vec<Vec<u8>>,
}

/// Counts, and the first differences.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Of all that was compared.
    pub counts: Comparison,
    /// At most [`DIFFERENCES_MAX`]. Clones share them.
    pub differences: Arc<Vec<Difference>>,
    named_bytes: usize,
}

/// A top-level folder of the offer.
struct TopFolder {
    name: Vec<u8>,
    /// What the same device brought there, where that still is there.
    brought: Option<Brought>,
    lands: Lands,
}

/// Where a top-level folder lands under `update`.
enum Lands {
    /// Where the sender's name says.
    InPlace,
    /// In the folder of this other name, which the same device brought.
    In(Vec<u8>),
    /// In a new folder with another name.
    Anew,
}

/// A folder in which entries are looked up.
enum Parent {
    Root,
    Open(Dir),
    Missing,
    InTheWay,
    Unreadable,
}

/// How one entry compares.
enum Compared {
    New,
    Unchanged,
    Differs {
        there: Metadata,
        here_is: HereIs,
        edited: bool,
    },
    /// It is below something that is in the way.
    InTheWay,
    Unreadable,
}

impl Comparer {
    /// Compares with this folder, and asks what the device brought there before. With `confined`,
    /// the calling thread reaches nothing outside it from now on, and should have no other use.
    ///
    /// # Errors
    /// The folder cannot be opened, or the thread cannot be confined.
    pub fn open(folder: &Path, confined: bool, mut brought: AskBrought) -> io::Result<Self> {
        let root = Dir::open(folder)?;
        if confined {
            ringway_sys::confine::thread_beneath(&root)?;
        }
        let dev = metadata_of(&root)?.dev;
        let linked = brought(DESTINATION).and_then(|linked| linked.found_in(&root, DESTINATION));
        let (by_name, by_number) = (Lookup::default(), Lookup::default());
        Ok(Self { root, dev, brought, linked, top: None, by_name, by_number, found: Found::default() })
    }

    /// Compares one page, until `goes_on` returns false. Returns whether all of it was compared.
    pub fn page(&mut self, page: &ListingPage, mut goes_on: impl FnMut() -> bool) -> bool {
        let mut compared = 0;
        page.each(|entry| {
            if compared % LOOK_EVERY == 0 && !goes_on() {
                return false;
            }
            self.entry(&entry);
            compared += 1;
            true
        });
        compared == page.len()
    }

    /// What was found so far.
    pub fn found(&self) -> &Found {
        &self.found
    }

    fn entry(&mut self, entry: &ListedEntry<'_>) {
        let Some((name, below)) = entry.path.split_first() else { return };
        if below.is_root() && entry.kind != ListedKind::Folder {
            return self.top_level_file(entry);
        }
        let known = self.top.take().filter(|top| top.name == name.as_bytes());
        let top = known.unwrap_or_else(|| self.top_folder(name.as_bytes()));
        let in_place = matches!(top.lands, Lands::InPlace);
        let brought = top.brought.as_ref().filter(|_| in_place);
        let known = |brought| Known { brought, linked: self.linked.as_ref().map(|linked| (linked, self.dev)) };
        let compared = self.by_name.compare(&self.root, self.dev, entry.path.as_bytes(), known(brought), entry);
        let elsewhere = match &top.lands {
            Lands::InPlace => None,
            Lands::Anew => Some(Compared::New),
            Lands::In(number) => {
                let here = [number, &entry.path.as_bytes()[top.name.len()..]].concat();
                Some(self.by_number.compare(&self.root, self.dev, &here, known(top.brought.as_ref()), entry))
            }
        };
        self.found.add(entry, &compared, elsewhere.as_ref());
        self.top = Some(top);
    }

    /// Finds out where a folder goes, as `FolderCache::landing_of_top` does.
    fn top_folder(&mut self, name: &[u8]) -> TopFolder {
        let brought = (self.brought)(name).and_then(|brought| brought.found_in(&self.root, name));
        let brought = brought.filter(|brought| brought.may_be_folder_in(&self.root));
        let lands = match &brought {
            Some(Brought { numbered: None, .. }) => Lands::InPlace,
            Some(Brought { numbered: Some(number), .. }) => {
                note(&mut self.found.updated, number);
                self.by_number = Lookup::default();
                Lands::In(number.clone())
            }
            None if self.root.metadata(name).is_err() => Lands::InPlace,
            None => {
                if let Ok(number) = first_free_number(&self.root, name, false) {
                    note(&mut self.found.renamed, &number);
                }
                Lands::Anew
            }
        };
        TopFolder { name: name.to_vec(), brought, lands }
    }

    /// A file or link at the top. Under `update` it gets a number where something has its name that
    /// the device did not bring, unless this version is there under a number, or an earlier one.
    fn top_level_file(&mut self, entry: &ListedEntry<'_>) {
        let name = entry.path.as_bytes();
        let compared = self.by_name.compare(&self.root, self.dev, name, Known::default(), entry);
        let Compared::Differs { there, here_is, .. } = compared else {
            return self.found.add(entry, &compared, None);
        };
        let brought = (self.brought)(name).and_then(|brought| brought.found_in(&self.root, name));
        let (edited, elsewhere) = match &brought {
            Some(Brought { numbered: None, .. }) => {
                (self.known(brought.as_ref()).is_edited(None, NameIn { dir: &self.root, name }, &there), None)
            }
            _ => (true, Some(self.under_a_number(entry, brought.as_ref()))),
        };
        self.found.add(entry, &Compared::Differs { there, here_is, edited }, elsewhere.as_ref());
    }

    /// As `TopNames::beside_where`, and then `TopNames::updatable_number`.
    fn under_a_number(&mut self, entry: &ListedEntry<'_>, brought: Option<&Brought>) -> Compared {
        let Self { root, brought: ask, linked, dev, .. } = self;
        let linked = linked.as_ref().map(|linked| (linked, *dev));
        // The sender has that name itself, and may update what has it.
        let mut is_replaceable = |name: &[u8], there: &Metadata| {
            let own = ask(name).and_then(|own| own.found_in(root, name)).filter(|own| own.numbered.is_none());
            own.is_some_and(|own| {
                !Known { brought: Some(&own), linked }.is_edited(None, NameIn { dir: root, name }, there)
            })
        };
        let is_here = |name: &[u8], there: &Metadata| {
            version_here(entry, there, NameIn { dir: root, name }).is_none() && !is_replaceable(name, there)
        };
        let known = brought.and_then(|brought| brought.numbered.as_deref());
        match find_version(root, entry.path.as_bytes(), known, is_here) {
            Ok(numbered::Found::There(_)) => Compared::Unchanged,
            Ok(numbered::Found::Free(name)) => self.updates_number(entry, brought).unwrap_or_else(|| {
                note(&mut self.found.renamed, &name);
                Compared::New
            }),
            Err(_) => Compared::Unreadable,
        }
    }

    /// As `TopNames::updatable_number`.
    fn updates_number(&mut self, entry: &ListedEntry<'_>, brought: Option<&Brought>) -> Option<Compared> {
        let number = brought?.numbered.as_deref()?;
        let there = self.root.metadata(number).ok()?;
        let is_file = matches!(entry.kind, ListedKind::File { .. }) && there.kind == Kind::File;
        let file = NameIn { dir: &self.root, name: number };
        if !is_file || self.known(brought).is_edited(None, file, &there) {
            return None;
        }
        let here_is = version_here(entry, &there, file)?;
        note(&mut self.found.updated, number);
        Some(Compared::Differs { there, here_is, edited: false })
    }

    /// What is known of a top-level entry.
    fn known<'b>(&'b self, brought: Option<&'b Brought>) -> Known<'b> {
        Known { brought, linked: self.linked.as_ref().map(|linked| (linked, self.dev)) }
    }
}

/// Where entries are looked up.
struct Lookup {
    /// The sender's folder of the last entry.
    parent: (Vec<u8>, Parent),
    /// The last folder of the offer that does not exist here: all below it is new.
    missing: Option<Vec<u8>>,
    /// The last folder of the offer for which something is in the way.
    blocked: Option<Vec<u8>>,
}

impl Default for Lookup {
    fn default() -> Self {
        Self { parent: (Vec::new(), Parent::Root), missing: None, blocked: None }
    }
}

impl Lookup {
    /// Compares an entry with what is at the path `here` below the root, of which that is `known`.
    /// `dev` is the root's filesystem.
    fn compare(&mut self, root: &Dir, dev: u64, here: &[u8], known: Known<'_>, entry: &ListedEntry<'_>) -> Compared {
        let path = entry.path.as_bytes();
        if is_below(path, self.missing.as_deref()) {
            return Compared::New;
        }
        if is_below(path, self.blocked.as_deref()) {
            return Compared::InTheWay;
        }
        let (folder, name) = match here.iter().rposition(|byte| *byte == b'/') {
            Some(at) => (&here[..at], &here[at + 1..]),
            None => (&b""[..], here),
        };
        self.enter(root, folder);
        let (dir, there) = match &self.parent.1 {
            Parent::Root => (root, root.metadata(name)),
            Parent::Open(dir) => (dir, dir.metadata(name)),
            Parent::Missing => (root, Err(Errno::NOENT.into())),
            Parent::InTheWay => (root, Err(Errno::NOTDIR.into())),
            Parent::Unreadable => (root, Err(Errno::ACCESS.into())),
        };
        let there = match there {
            Ok(there) => there,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if entry.kind == ListedKind::Folder {
                    self.missing = Some(path.to_vec());
                }
                return Compared::New;
            }
            Err(error) if is_in_the_way(&error) => return Compared::InTheWay,
            Err(_) => return Compared::Unreadable,
        };
        let file = NameIn { dir, name };
        let Some(here_is) = version_here(entry, &there, file) else { return Compared::Unchanged };
        if entry.kind == ListedKind::Folder {
            self.blocked = Some(path.to_vec());
        }
        let ino = || match &self.parent.1 {
            Parent::Open(dir) => metadata_of(dir).ok().filter(|found| found.dev == dev).map(|found| found.ino),
            _ => None,
        };
        let edited = known.is_edited(ino(), file, &there);
        Compared::Differs { there, here_is, edited }
    }

    /// Opens the folder of an entry, unless it is that of the last one.
    fn enter(&mut self, root: &Dir, folder: &[u8]) {
        if self.parent.0 == folder {
            return;
        }
        let opened = match folder {
            b"" => Parent::Root,
            folder => match root.open_beneath(folder) {
                Ok(dir) => Parent::Open(dir),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Parent::Missing,
                Err(error) if is_in_the_way(&error) => Parent::InTheWay,
                Err(_) => Parent::Unreadable,
            },
        };
        self.parent = (folder.to_vec(), opened);
    }
}

impl Found {
    /// Counts an entry that compares so under all policies, or under `update` in another way.
    fn add(&mut self, entry: &ListedEntry<'_>, compared: &Compared, update: Option<&Compared>) {
        match (&mut self.in_place, update) {
            (None, None) => {}
            (None, Some(_)) => self.in_place.insert(self.update.clone()).add(entry, compared),
            (Some(in_place), _) => in_place.add(entry, compared),
        }
        self.update.add(entry, update.unwrap_or(compared));
    }
}

impl Tally {
    fn add(&mut self, entry: &ListedEntry<'_>, compared: &Compared) {
        let counts = &mut self.counts;
        match compared {
            Compared::New => counts.new += 1,
            // As in the receipt: a folder that is there may still get something new.
            Compared::Unchanged => counts.unchanged += u64::from(entry.kind != ListedKind::Folder),
            Compared::InTheWay => counts.in_the_way += 1,
            Compared::Unreadable => counts.unreadable += 1,
            Compared::Differs { there, here_is: HereIs::InTheWay, .. } => {
                counts.in_the_way += 1;
                self.name(entry, there, HereIs::InTheWay, false);
            }
            Compared::Differs { there, here_is, edited } => {
                counts.differing += 1;
                counts.edited += u64::from(*edited);
                self.name(entry, there, *here_is, *edited);
            }
        }
    }

    fn name(&mut self, entry: &ListedEntry<'_>, there: &Metadata, here_is: HereIs, edited: bool) {
        let path = entry.path.as_bytes();
        if self.differences.len() == DIFFERENCES_MAX || self.named_bytes + path.len() > DIFFERENCES_BYTES_MAX {
            return;
        }
        self.named_bytes += path.len();
        let offered = match entry.kind {
            ListedKind::File { size, secs, nanos } => Some((size, Timestamp { secs, nanos })),
            ListedKind::Folder | ListedKind::Link { .. } => None,
        };
        let here = (there.kind == Kind::File).then_some((there.size, there.mtime));
        let moment = |(_, time): (u64, Timestamp)| moment(time);
        Arc::make_mut(&mut self.differences).push(Difference {
            path: PathText::from(OsString::from_vec(path.to_vec())),
            here_is,
            edited,
            offered_bytes: offered.map(|(size, _)| size),
            offered_changed_at: offered.and_then(moment),
            here_bytes: here.map(|(size, _)| size),
            here_changed_at: here.and_then(moment),
        });
    }
}

/// How the one that is `there` differs from an entry; none if it does not, by size and time.
fn version_here(entry: &ListedEntry<'_>, there: &Metadata, file: NameIn<'_>) -> Option<HereIs> {
    match (entry.kind, there.kind) {
        (ListedKind::Folder, Kind::Dir) => None,
        (ListedKind::File { size, secs, nanos: after }, Kind::File) => {
            let (offered, here) = (as_kept_by(there, Timestamp { secs, nanos: after }), nanos(there.mtime));
            match here.cmp(&offered) {
                std::cmp::Ordering::Equal if there.size == size => None,
                std::cmp::Ordering::Equal => Some(HereIs::Other),
                std::cmp::Ordering::Less => Some(HereIs::Older),
                std::cmp::Ordering::Greater => Some(HereIs::Newer),
            }
        }
        (ListedKind::Link { target }, Kind::Symlink)
            if file.dir.read_link(file.name).is_ok_and(|found| target_digest(&found) == target) =>
        {
            None
        }
        (ListedKind::File { .. } | ListedKind::Link { .. }, Kind::File | Kind::Symlink) => Some(HereIs::Other),
        _ => Some(HereIs::InTheWay),
    }
}

/// What is known of a top-level entry.
#[derive(Clone, Copy, Default)]
struct Known<'b> {
    /// What the device brought there.
    brought: Option<&'b Brought>,
    /// Files with several names, and the filesystem that they are on.
    linked: Option<(&'b Brought, u64)>,
}

impl Known<'_> {
    /// Whether what is `there` is not as the device brought it. `folder` is the inode of the folder
    /// that it is in.
    fn is_edited(&self, folder: Option<u64>, file: NameIn<'_>, there: &Metadata) -> bool {
        let Some(brought) = self.brought else { return true };
        let is_linked =
            |(linked, dev): (&Brought, u64)| there.dev == dev && linked.is_as_received(None, there, || None);
        !brought.is_as_received(folder, there, || born_at(file.dir, file.name)) && !self.linked.is_some_and(is_linked)
    }
}

/// Names one more, if there is room and it is not named yet.
fn note(names: &mut Vec<Vec<u8>>, name: &[u8]) {
    if names.len() < NAMES_MAX && !names.iter().any(|noted| noted == name) {
        names.push(name.to_vec());
    }
}

/// Whether a path is below that folder.
fn is_below(path: &[u8], folder: Option<&[u8]>) -> bool {
    folder.and_then(|folder| path.strip_prefix(folder)).is_some_and(|rest| rest.first() == Some(&b'/'))
}

/// A link or a file where a folder is needed.
fn is_in_the_way(error: &io::Error) -> bool {
    [Errno::NOTDIR, Errno::LOOP].iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// A time that people may be shown: from 1970 on, and in a range that clocks have.
fn moment(time: Timestamp) -> Option<SystemTime> {
    let since = Duration::new(u64::try_from(time.secs).ok().filter(|secs| *secs <= u32::MAX.into())?, time.nanos);
    SystemTime::UNIX_EPOCH.checked_add(since)
}
