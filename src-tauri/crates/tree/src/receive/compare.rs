//! Compares the listing of an offer with what is in a folder, by size and time alone. It only reads
//! metadata: it opens nothing but folders, follows no link, and leaves the folder as it is.
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use ringway_model::{Comparison, Difference, HereIs, PathText};
use ringway_sys::attributes::{Kind, Metadata, Timestamp};
use ringway_wire::RelPath;
use ringway_wire::listing::{ListedEntry, ListedKind, ListingPage};
use rustix::io::Errno;

use crate::disk::Dir;
use crate::filesystem::granularity::{as_kept_by, nanos};
use crate::filesystem::target::target_digest;
use crate::receive::Brought;

#[cfg(test)]
mod tests;

/// Differences that are named; further ones are only counted.
pub const DIFFERENCES_MAX: usize = 1_000;

/// Bytes of their paths.
const DIFFERENCES_BYTES_MAX: usize = 256 << 10;

/// Entries between two looks at whether to go on.
const LOOK_EVERY: usize = 64;

/// A comparison of one listing with one folder.
pub struct Comparer {
    root: Dir,
    /// Names of top-level folders that would be merged into under another name than the sender's.
    numbered: BTreeMap<Vec<u8>, Vec<u8>>,
    counts: Comparison,
    named: usize,
    named_bytes: usize,
    differences: Vec<Difference>,
    /// The folder of the last entry.
    parent: (Vec<u8>, Parent),
    /// The last folder of the offer that does not exist here: all below it is new.
    missing: Option<Vec<u8>>,
    /// The last folder of the offer for which something is in the way.
    blocked: Option<Vec<u8>>,
}

/// A folder in which entries are looked up.
enum Parent {
    Root,
    Open(Dir),
    Missing,
    InTheWay,
    Unreadable,
}

impl Comparer {
    /// Compares with this folder. Folders that were `brought` there before, and got a number, are
    /// compared under that. With `confined`, the calling thread reaches nothing outside it from now
    /// on, and should have no other use.
    ///
    /// # Errors
    /// The folder cannot be opened, or the thread cannot be confined.
    pub fn open(folder: &Path, confined: bool, brought: Vec<(Vec<u8>, Brought)>) -> io::Result<Self> {
        let root = Dir::open(folder)?;
        if confined {
            ringway_sys::confine::thread_beneath(&root)?;
        }
        let number = |(top, brought): (Vec<u8>, Brought)| {
            let name = brought.found_in(&root, &top)?.numbered?;
            Some((top, name))
        };
        Ok(Self {
            numbered: brought.into_iter().filter_map(number).collect(),
            root,
            counts: Comparison::default(),
            named: 0,
            named_bytes: 0,
            differences: Vec::new(),
            parent: (Vec::new(), Parent::Root),
            missing: None,
            blocked: None,
        })
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

    /// The names here of the folders that have another one than the sender's.
    pub fn updated(&self) -> impl Iterator<Item = &[u8]> {
        self.numbered.values().map(Vec::as_slice)
    }

    /// The counts so far.
    pub fn counts(&self) -> Comparison {
        self.counts
    }

    /// The differences that were found since the last call, [`DIFFERENCES_MAX`] in all.
    pub fn take_differences(&mut self) -> Vec<Difference> {
        std::mem::take(&mut self.differences)
    }

    fn entry(&mut self, entry: &ListedEntry<'_>) {
        let path = entry.path.as_bytes();
        if is_below(path, self.missing.as_deref()) {
            self.counts.new += 1;
            return;
        }
        if is_below(path, self.blocked.as_deref()) {
            self.counts.in_the_way += 1;
            return;
        }
        let Some((folder, name)) = entry.path.split_last() else { return };
        self.enter(folder);
        let there = match &self.parent.1 {
            // Only folders are merged into.
            Parent::Root if entry.kind == ListedKind::Folder => self.root.metadata(&self.here(name.as_bytes())),
            Parent::Root => self.root.metadata(name.as_bytes()),
            Parent::Open(dir) => dir.metadata(name.as_bytes()),
            Parent::Missing => Err(Errno::NOENT.into()),
            Parent::InTheWay => Err(Errno::NOTDIR.into()),
            Parent::Unreadable => Err(Errno::ACCESS.into()),
        };
        match there {
            Ok(there) => self.compare(entry, &there),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.counts.new += 1;
                if entry.kind == ListedKind::Folder {
                    self.missing = Some(path.to_vec());
                }
            }
            Err(error) if is_in_the_way(&error) => self.counts.in_the_way += 1,
            Err(_) => self.counts.unreadable += 1,
        }
    }

    /// Where the sender's `path` is here, in folders that would be merged into.
    fn here<'p>(&self, path: &'p [u8]) -> Cow<'p, [u8]> {
        let end = path.iter().position(|byte| *byte == b'/').unwrap_or(path.len());
        match self.numbered.get(&path[..end]) {
            Some(name) => Cow::Owned([name, &path[end..]].concat()),
            None => Cow::Borrowed(path),
        }
    }

    /// Opens the folder of an entry, unless it is that of the last one.
    fn enter(&mut self, folder: RelPath<'_>) {
        let path = folder.as_bytes();
        if self.parent.0 == path {
            return;
        }
        let opened = match path {
            b"" => Parent::Root,
            path => match self.root.open_beneath(&self.here(path)) {
                Ok(dir) => Parent::Open(dir),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Parent::Missing,
                Err(error) if is_in_the_way(&error) => Parent::InTheWay,
                Err(_) => Parent::Unreadable,
            },
        };
        self.parent = (path.to_vec(), opened);
    }

    fn compare(&mut self, entry: &ListedEntry<'_>, there: &Metadata) {
        let here_is = match (entry.kind, there.kind) {
            (ListedKind::Folder, Kind::Dir) => return self.counts.unchanged += 1,
            (ListedKind::File { size, secs, nanos: after }, Kind::File) => {
                let (offered, here) = (as_kept_by(there, Timestamp { secs, nanos: after }), nanos(there.mtime));
                match here.cmp(&offered) {
                    std::cmp::Ordering::Equal if there.size == size => return self.counts.unchanged += 1,
                    std::cmp::Ordering::Equal => HereIs::Other,
                    std::cmp::Ordering::Less => HereIs::Older,
                    std::cmp::Ordering::Greater => HereIs::Newer,
                }
            }
            (ListedKind::Link { target }, Kind::Symlink) if self.leads_to(entry.path, target) => {
                return self.counts.unchanged += 1;
            }
            (ListedKind::File { .. } | ListedKind::Link { .. }, Kind::File | Kind::Symlink) => HereIs::Other,
            _ => HereIs::InTheWay,
        };
        if here_is == HereIs::InTheWay {
            self.counts.in_the_way += 1;
        } else {
            self.counts.differing += 1;
        }
        if entry.kind == ListedKind::Folder {
            self.blocked = Some(entry.path.as_bytes().to_vec());
        }
        self.name(entry, there, here_is);
    }

    fn leads_to(&self, path: RelPath<'_>, target: [u8; 8]) -> bool {
        let Some((_, name)) = path.split_last() else { return false };
        let found = match &self.parent.1 {
            Parent::Root => self.root.read_link(name.as_bytes()),
            Parent::Open(dir) => dir.read_link(name.as_bytes()),
            Parent::Missing | Parent::InTheWay | Parent::Unreadable => return false,
        };
        found.is_ok_and(|found| target_digest(&found) == target)
    }

    fn name(&mut self, entry: &ListedEntry<'_>, there: &Metadata, here_is: HereIs) {
        let path = entry.path.as_bytes();
        if self.named == DIFFERENCES_MAX || self.named_bytes + path.len() > DIFFERENCES_BYTES_MAX {
            return;
        }
        self.named += 1;
        self.named_bytes += path.len();
        let offered = match entry.kind {
            ListedKind::File { size, secs, nanos } => Some((size, Timestamp { secs, nanos })),
            ListedKind::Folder | ListedKind::Link { .. } => None,
        };
        let here = (there.kind == Kind::File).then_some((there.size, there.mtime));
        let moment = |(_, time): (u64, Timestamp)| moment(time);
        self.differences.push(Difference {
            path: PathText::from(OsString::from_vec(path.to_vec())),
            here_is,
            offered_bytes: offered.map(|(size, _)| size),
            offered_changed_at: offered.and_then(moment),
            here_bytes: here.map(|(size, _)| size),
            here_changed_at: here.and_then(moment),
        });
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
