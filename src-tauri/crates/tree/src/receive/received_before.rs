//! What a device brought to the top level before: which file or folder that is, and which files in
//! it are as they were received.
//!
//! A name alone proves nothing: the owner may have deleted the folder and made another of that
//! name. What was brought is recognised by its filesystem, its inode and its birth time. A new
//! folder is filled where nobody sees it, so one span of time stands for all files in it, and in
//! those of its folders that are remembered by their inodes: a rename changes the change time
//! (ctime) of what is renamed, but not of what is in it. In a folder that others see, the owner may
//! save a file at any moment, so each file that lands there is remembered by its inode and its
//! change time.
use std::io;
use std::os::fd::AsFd;

use crate::disk::Dir;
use ringway_sys::attributes::{Kind, Metadata, Timestamp, birth_of, metadata_of};
use ringway_wire::Name;
use rustix::fs::{AtFlags, StatxFlags};

/// The extended attribute that marks what was brought where the filesystem keeps no birth times.
const MARK_NAME: &[u8] = b"user.ringway.received";

/// Stands for the destination itself among top-level names: no entry is called so.
pub(in crate::receive) const DESTINATION: &[u8] = b".";

/// Length of a mark, drawn at random.
const MARK_LEN: usize = 16;

/// Files that are remembered under one top-level name, besides those of the folder when it was new:
/// 16 bytes each, 1.6 MB in all. Further ones count as touched, which is the careful side.
pub(in crate::receive) const FILES_MAX: usize = 100_000;

/// Files that one transfer remembers under all its top-level names, replaced ones and those put
/// beside others included: 50 bytes each, 50 MB in all.
pub(in crate::receive) const FILES_IN_ALL_MAX: usize = 1_000_000;

/// New folders below top-level ones that one transfer remembers, under all its top-level names: 8
/// bytes each in the store, 1.6 MB in all. What is in further ones counts as touched.
pub(in crate::receive) const FOLDERS_MAX: usize = 200_000;

/// Bytes of one remembered file: inode and change time.
const FILE_LEN: usize = 16;

/// Bytes of one remembered folder: its inode.
const FOLDER_LEN: usize = 8;

/// Bytes of a record before its folders and files, without and with the span of a new folder.
#[cfg(test)]
const HEAD_LENS: [usize; 2] = [35, 63];

/// The record's format.
const VERSION: u8 = 4;

/// The same behind the name that the folder has here: its length in one byte, and the name.
const VERSION_NAMED: u8 = 3;

/// What tells an inode from a later one of the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Birth {
    Time { secs: i64, nanos: u32 },
    Mark([u8; MARK_LEN]),
}

/// Which file or folder something is, whatever it is called. Device numbers are no part of it: they
/// change when a disk is plugged in again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::receive) struct Identity {
    /// statvfs(3)'s filesystem id; 0 where the filesystem has none.
    fsid: u64,
    ino: u64,
    birth: Birth,
}

impl Identity {
    /// Of what has that name in `root` now. `None` if nothing tells it from another one.
    pub(in crate::receive) fn of(root: &Dir, name: &[u8]) -> Option<Self> {
        Self::look(root, name, read_mark)
    }

    /// The same for what this transfer has just put there: it is marked where there are no birth
    /// times.
    pub(in crate::receive) fn given(root: &Dir, name: &[u8]) -> Option<Self> {
        Self::look(root, name, |fd| {
            let mark: [u8; MARK_LEN] = crate::random().ok()?;
            root.disk().set_xattr(fd.as_fd(), MARK_NAME, &mark).ok().map(|()| mark)
        })
    }

    fn look(
        root: &Dir,
        name: &[u8],
        mark: impl FnOnce(&std::os::fd::OwnedFd) -> Option<[u8; MARK_LEN]>,
    ) -> Option<Self> {
        let kind = if name == DESTINATION { Kind::Dir } else { root.metadata(name).ok()?.kind };
        // A folder may be a mount point: its own filesystem counts.
        let folder = match kind {
            Kind::Dir if name == DESTINATION => Some(root.try_clone().ok()?),
            Kind::Dir => Some(root.open_dir(name).ok()?),
            _ => None,
        };
        let wanted = StatxFlags::INO | StatxFlags::BTIME;
        let (at, fsid) = match &folder {
            Some(folder) => (rustix::fs::statx(folder, "", AtFlags::EMPTY_PATH, wanted), fsid(folder)?),
            None => (rustix::fs::statx(root, name, AtFlags::SYMLINK_NOFOLLOW, wanted), fsid(root)?),
        };
        let at = at.ok()?;
        let birth = if at.stx_mask & StatxFlags::BTIME.bits() != 0 {
            Birth::Time { secs: at.stx_btime.tv_sec, nanos: at.stx_btime.tv_nsec }
        } else {
            let open = || root.open_read(name).ok();
            let fd = match (folder, kind) {
                (Some(folder), _) => rustix::io::dup(&folder).ok(),
                (None, Kind::File) => open(),
                (None, _) => None,
            };
            Birth::Mark(mark(&fd?)?)
        };
        Some(Self { fsid, ino: at.stx_ino, birth })
    }
}

impl Identity {
    pub(in crate::receive) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.fsid.to_le_bytes());
        out.extend_from_slice(&self.ino.to_le_bytes());
        match self.birth {
            Birth::Time { secs, nanos } => {
                out.push(0);
                out.extend_from_slice(&secs.to_le_bytes());
                out.extend_from_slice(&u64::from(nanos).to_le_bytes());
            }
            Birth::Mark(mark) => {
                out.push(1);
                out.extend_from_slice(&mark);
            }
        }
    }

    /// And what is behind it.
    pub(in crate::receive) fn decode(record: &[u8]) -> Option<(Self, &[u8])> {
        let (fsid, rest) = record.split_first_chunk::<8>()?;
        let (ino, rest) = rest.split_first_chunk::<8>()?;
        let (kind, rest) = rest.split_first()?;
        let (birth, rest) = rest.split_first_chunk::<MARK_LEN>()?;
        let birth = match kind {
            0 => {
                let (secs, nanos) = birth.split_first_chunk::<8>()?;
                let nanos = u64::from_le_bytes(nanos.try_into().ok()?);
                Birth::Time { secs: i64::from_le_bytes(*secs), nanos: u32::try_from(nanos).ok()? }
            }
            1 => Birth::Mark(*birth),
            _ => return None,
        };
        Some((Self { fsid: u64::from_le_bytes(*fsid), ino: u64::from_le_bytes(*ino), birth }, rest))
    }
}

fn fsid(at: &Dir) -> Option<u64> {
    rustix::fs::fstatvfs(at).ok().map(|found| found.f_fsid)
}

fn read_mark(fd: &std::os::fd::OwnedFd) -> Option<[u8; MARK_LEN]> {
    let mut mark = [0; MARK_LEN];
    let len = rustix::fs::fgetxattr(fd, MARK_NAME, &mut mark[..]).ok()?;
    (len == MARK_LEN).then_some(mark)
}

/// When a folder was born, where its filesystem says so.
pub(in crate::receive) fn born(dir: &Dir) -> Option<Timestamp> {
    birth_of(dir)
}

/// The same for the file or link `name`.
pub(in crate::receive) fn born_at(dir: &Dir, name: &[u8]) -> Option<Timestamp> {
    dir.birth(name)
}

/// The filesystem's own clock: the change time that it gives to `dir` now. On a network filesystem
/// that is not this machine's clock.
pub(in crate::receive) fn filesystem_time(dir: &Dir) -> io::Result<Timestamp> {
    dir.set_own_mode(metadata_of(dir)?.mode)?;
    Ok(metadata_of(dir)?.ctime)
}

/// When the files of a new folder were made and written, hidden from everybody; in nanoseconds
/// since 1970, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::receive) struct Filled {
    /// When the first attempt began: what it left is moved to the next one's tree.
    born_from: i64,
    from: i64,
    to: i64,
}

impl Filled {
    /// From when its first file can be born, and from when on and until when they are written.
    pub(in crate::receive) fn new(born_from: Timestamp, from: Timestamp, to: Timestamp) -> Self {
        Self { born_from: nanos(born_from), from: nanos(from), to: nanos(to) }
    }
}

/// What a device brought under one top-level name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Brought {
    pub(in crate::receive) identity: Identity,
    /// The numbered name that it got because its own was taken.
    pub(in crate::receive) numbered: Option<Vec<u8>>,
    /// Of a folder that was new then.
    filled: Option<Filled>,
    /// Inodes of the folders in it that were new with it, sorted.
    folders: Vec<u64>,
    /// Inode and change time of files that landed where others see them, sorted.
    files: Vec<(u64, i64)>,
}

/// Whether somebody has written into a file since this machine gave it its times.
pub(in crate::receive) fn is_changed(there: &Metadata) -> bool {
    there.ctime == there.mtime
}

pub(in crate::receive) fn nanos(time: Timestamp) -> i64 {
    time.secs.saturating_mul(1_000_000_000).saturating_add(time.nanos.into())
}

impl Brought {
    pub(in crate::receive) fn new(identity: Identity) -> Self {
        Self { identity, numbered: None, filled: None, folders: Vec::new(), files: Vec::new() }
    }

    /// The same under the name `given`, which the sender calls `top`.
    pub(in crate::receive) fn named(self, top: &[u8], given: &[u8]) -> Self {
        Self { numbered: (given != top).then(|| given.to_vec()), ..self }
    }

    /// The same, if that very entry is in `root`: under the name `top`, or else under its number.
    pub(in crate::receive) fn found_in(self, root: &Dir, top: &[u8]) -> Option<Self> {
        let is_it = |name: &[u8]| Identity::of(root, name) == Some(self.identity);
        if is_it(top) {
            return Some(self.named(top, top));
        }
        self.numbered.as_deref().is_some_and(is_it).then_some(self)
    }

    /// Whether it is no file that got a number.
    pub(in crate::receive) fn may_be_folder_in(&self, root: &Dir) -> bool {
        let is_folder = |name: &[u8]| root.metadata(name).is_ok_and(|there| there.kind == Kind::Dir);
        self.numbered.as_deref().is_none_or(is_folder)
    }

    /// The same entry, in which nothing counts as received any more: whatever is there stays as it
    /// is.
    pub fn without_files(self) -> Self {
        Self { numbered: self.numbered, ..Self::new(self.identity) }
    }

    /// How many files are remembered by themselves.
    pub(in crate::receive) fn files(&self) -> usize {
        self.files.len()
    }

    /// Remembers when a new folder was filled, and which folders were made in it: their inodes,
    /// sorted.
    pub(in crate::receive) fn set_filled(&mut self, began: Filled, folders: Vec<u64>) {
        // Nothing gets into a folder before that is there.
        let made = match self.identity.birth {
            Birth::Time { secs, nanos: after } => nanos(Timestamp { secs, nanos: after }),
            Birth::Mark(_) => i64::MIN,
        };
        self.filled = Some(Filled { from: began.from.max(made), ..began });
        self.folders = folders;
    }

    /// Takes over what a transfer has done in a folder that others see: forgets what has `gone`,
    /// and remembers `files`, by inode and change time.
    pub(in crate::receive) fn update(
        &mut self,
        files: impl IntoIterator<Item = (u64, i64)>,
        mut gone: Vec<(u64, i64)>,
    ) {
        gone.sort_unstable();
        self.files.retain(|file| gone.binary_search(file).is_err());
        let known = self.files.len();
        let new = files.into_iter().filter(|file| self.files[..known].binary_search(file).is_err());
        let new: Vec<_> = new.take(FILES_MAX.saturating_sub(known)).collect();
        self.files.extend(new);
        self.files.sort_unstable();
        self.files.dedup();
    }

    /// Whether nobody but this machine has changed a file since it was received, as far as its
    /// times tell. Who writes into a file gives it equal modification and change times; what is
    /// received gets the sender's modification time afterwards. `folder` is the inode of the folder
    /// that it is in, and `born` looks when it was born.
    pub(in crate::receive) fn is_as_received(
        &self,
        folder: Option<u64>,
        there: &Metadata,
        born: impl FnOnce() -> Option<Timestamp>,
    ) -> bool {
        let changed = nanos(there.ctime);
        if is_changed(there) {
            return false;
        }
        if self.files.binary_search(&(there.ino, changed)).is_ok() {
            return true;
        }
        // A folder that the owner has moved here holds what was changed at any time.
        let is_in_its_folder =
            folder.is_some_and(|ino| ino == self.identity.ino || self.folders.binary_search(&ino).is_ok());
        self.filled.is_some_and(|Filled { born_from, from, to }| {
            is_in_its_folder
                && (from..=to).contains(&changed)
                && match self.identity.birth {
                    Birth::Time { .. } => born().is_some_and(|born| (born_from..=to).contains(&nanos(born))),
                    // No file there has a birth time.
                    Birth::Mark(_) => true,
                }
        })
    }

    /// For the store.
    pub fn encode(&self) -> Vec<u8> {
        let numbered = self.numbered.as_deref().unwrap_or_default();
        let mut out =
            Vec::with_capacity(65 + numbered.len() + FOLDER_LEN * self.folders.len() + FILE_LEN * self.files.len());
        if let Ok(len @ 1..) = u8::try_from(numbered.len()) {
            out.extend_from_slice(&[VERSION_NAMED, len]);
            out.extend_from_slice(numbered);
        }
        out.push(VERSION);
        self.identity.encode(&mut out);
        out.push(u8::from(self.filled.is_some()));
        if let Some(Filled { born_from, from, to }) = self.filled {
            [born_from, from, to].iter().for_each(|time| out.extend_from_slice(&time.to_le_bytes()));
            out.extend_from_slice(&(self.folders.len() as u32).to_le_bytes());
            self.folders.iter().for_each(|ino| out.extend_from_slice(&ino.to_le_bytes()));
        }
        for (ino, ctime) in &self.files {
            out.extend_from_slice(&ino.to_le_bytes());
            out.extend_from_slice(&ctime.to_le_bytes());
        }
        out
    }

    /// From the store; `None` if it is not what this version writes.
    pub fn decode(record: &[u8]) -> Option<Self> {
        let (numbered, record) = match record {
            [VERSION_NAMED, len, rest @ ..] => {
                let (name, rest) = rest.split_at_checked((*len).into())?;
                (Some(Name::new(name).ok()?.as_bytes().to_vec()), rest)
            }
            _ => (None, record),
        };
        let (version, rest) = record.split_first()?;
        if *version != VERSION {
            return None;
        }
        let (identity, rest) = Identity::decode(rest)?;
        let (filled, folders, rest) = match rest.split_first()? {
            (0, rest) => (None, Vec::new(), rest),
            (1, rest) => {
                let (born_from, rest) = rest.split_first_chunk::<8>()?;
                let (from, rest) = rest.split_first_chunk::<8>()?;
                let (to, rest) = rest.split_first_chunk::<8>()?;
                let [born_from, from, to] = [born_from, from, to].map(|time| i64::from_le_bytes(*time));
                let (count, rest) = rest.split_first_chunk::<4>()?;
                let count = usize::try_from(u32::from_le_bytes(*count)).ok().filter(|count| *count <= FOLDERS_MAX)?;
                let (folders, rest) = rest.split_at_checked(FOLDER_LEN * count)?;
                let folders = folders.as_chunks::<FOLDER_LEN>().0.iter().map(|ino| u64::from_le_bytes(*ino)).collect();
                (Some(Filled { born_from, from, to }), folders, rest)
            }
            _ => return None,
        };
        let (files, partial) = rest.as_chunks::<FILE_LEN>();
        if !partial.is_empty() || files.len() > FILES_MAX {
            return None;
        }
        let file = |file: &[u8; FILE_LEN]| {
            let (ino, ctime) = file.split_first_chunk::<8>()?;
            Some((u64::from_le_bytes(*ino), i64::from_le_bytes(ctime.try_into().ok()?)))
        };
        let files = files.iter().map(file).collect::<Option<Vec<_>>>()?;
        (files.is_sorted() && folders.is_sorted()).then_some(Self { identity, numbered, filled, folders, files })
    }

    /// Does as if what is directly in it had been received whenever it was last changed.
    #[cfg(test)]
    pub(in crate::receive) fn fill_for_ever(&mut self) {
        self.filled = Some(Filled { born_from: i64::MIN, from: i64::MIN, to: i64::MAX });
    }

    /// One that a test makes up.
    #[doc(hidden)]
    pub fn of_number(ino: u64) -> Self {
        Self::new(Identity { fsid: 1, ino, birth: Birth::Time { secs: 2, nanos: 3 } })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn at(secs: i64) -> Timestamp {
        Timestamp { secs, nanos: 5 }
    }

    #[test]
    fn a_record_survives_the_store_and_anything_else_is_refused() {
        let bare = Brought::of_number(7);
        let mut brought = bare.clone();
        brought.set_filled(Filled::new(at(5), at(10), at(20)), vec![3, 8]);
        brought.update([(4, 9), (2, 8)], vec![]);
        assert_eq!(brought.files, [(2, 8), (4, 9)]);
        let marked = Brought::new(Identity { birth: Birth::Mark([9; MARK_LEN]), ..brought.identity });
        let named = brought.clone().named(b"data", b"data (1)");
        assert_eq!(brought.clone().named(b"data", b"data"), brought);
        for one in [&bare, &brought, &marked, &named] {
            assert_eq!(Brought::decode(&one.encode()).as_ref(), Some(one));
        }
        let record = brought.encode();
        let head_len = HEAD_LENS[1] + 2 * FOLDER_LEN;
        let is_whole = |len: &usize| *len >= head_len && (*len - head_len).is_multiple_of(FILE_LEN);
        (0..record.len())
            .filter(|len| !is_whole(len))
            .for_each(|len| assert_eq!(Brought::decode(&record[..len]), None));
        assert_eq!(Brought::decode(&[&[1][..], &record[1..]].concat()), None, "another version's");
        for name in [&b""[..], b"..", b"a/b"] {
            let record = [&[VERSION_NAMED, name.len() as u8][..], name, &record].concat();
            assert_eq!(Brought::decode(&record), None, "{name:?} is no name");
        }
    }

    #[test]
    fn the_number_of_remembered_files_is_bounded() {
        let mut brought = Brought::of_number(7);
        brought.update([(1, 1)], vec![]);
        brought.update((0..FILES_MAX as u64 + 10).map(|ino| (ino + 2, 5)), vec![]);
        assert_eq!((brought.files.len(), brought.files[0]), (FILES_MAX, (1, 1)));
        // What was replaced makes room.
        brought.update([(0, 7)], vec![(1, 1)]);
        assert_eq!((brought.files.len(), brought.files[0]), (FILES_MAX, (0, 7)));
    }

    #[test]
    fn another_folder_of_the_same_name_is_another_one_and_a_moved_one_is_the_same() {
        let home = tempfile::tempdir().unwrap();
        let root = Dir::open(home.path()).unwrap();
        let (album, other) = (home.path().join("album"), home.path().join("other"));
        fs::create_dir(&album).unwrap();
        let first = Identity::given(&root, b"album");
        assert!(first.is_some());
        fs::rename(&album, &other).unwrap();
        assert_eq!(Identity::of(&root, b"other"), first);
        fs::rename(&other, &album).unwrap();
        // Most filesystems give the freed inode away again.
        for _ in 0..20 {
            fs::remove_dir(&album).unwrap();
            fs::create_dir(&album).unwrap();
            assert_ne!(Identity::of(&root, b"album"), first);
        }
    }
}
