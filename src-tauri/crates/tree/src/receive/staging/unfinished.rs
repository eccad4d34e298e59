//! What attempts that did not end have left in a folder: told of by who sent what, and removed when
//! a person says so.
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use crate::disk::Dir;
use crate::filesystem::own_names::{OWN_PREFIX, attempt_id};
use ignore::WalkBuilder;
use ringway_model::{Fault, Operation, PathText, Text, Unfinished};
use ringway_sys::attributes::{Kind, metadata_of};
use ringway_sys::dir::Dir as KernelDir;

use crate::receive::landings::log::{self, Destination, Recall};
use crate::receive::staging::{self, BEGUN, beside, exchanges, read_only_folders, removal};

/// Bytes of what is noted of an attempt: enough for a device's name and, as a rule, all that is
/// offered by name.
const ABOUT_MAX: usize = 4096;

/// Entries that are looked at to tell what one of them takes.
const ENTRIES_COUNTED_MAX: usize = 2_000_000;

/// Who sends what in an attempt, as it is noted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::receive) struct About {
    pub(in crate::receive) from: String,
    pub(in crate::receive) names: Vec<Vec<u8>>,
    pub(in crate::receive) more_names: u64,
}

impl About {
    /// In [`ABOUT_MAX`] bytes at most, each part after a NUL, which is in no name; names that do
    /// not fit are only counted.
    pub(in crate::receive) fn encode(&self) -> Vec<u8> {
        let mut left = ABOUT_MAX - 2 - u64::MAX.to_string().len();
        let mut fits = |part: &[u8]| match left.checked_sub(part.len() + 1) {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        };
        let from = if fits(self.from.as_bytes()) { self.from.as_bytes() } else { b"" };
        let names: Vec<_> = self.names.iter().take_while(|name| fits(name)).collect();
        let more = self.more_names.saturating_add((self.names.len() - names.len()) as u64).to_string();
        let parts = [more.as_bytes(), from].into_iter().chain(names.into_iter().map(Vec::as_slice));
        parts.flat_map(|part| [b"\0", part].concat()).collect()
    }

    /// What is noted behind the first NUL, if anything is. Earlier versions have noted the boot and
    /// the mount before it.
    pub(in crate::receive) fn decode(noted: &[u8]) -> Option<Self> {
        let mut parts = noted.split(|byte| *byte == 0).skip(1);
        let more_names = std::str::from_utf8(parts.next()?).ok()?.parse().ok()?;
        let from = String::from_utf8(parts.next()?.to_vec()).ok()?;
        Some(Self { from, names: parts.map(<[u8]>::to_vec).collect(), more_names })
    }
}

/// Whether a folder is where an attempt gathers what arrives, by whatever name.
pub fn is_attempt(folder: &KernelDir) -> bool {
    noted(folder).is_ok_and(|noted| About::decode(&noted).is_some())
}

/// What is noted at the beginning of the first attempt: who sends what.
fn noted(staging: &KernelDir) -> io::Result<Vec<u8>> {
    let file = staging.open_read(BEGUN)?;
    if metadata_of(&file)?.kind != Kind::File {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut noted = Vec::new();
    std::fs::File::from(file).take(2 * ABOUT_MAX as u64).read_to_end(&mut noted)?;
    Ok(noted)
}

/// What unfinished transfers have left in a folder, the latest first.
///
/// # Errors
/// [`Fault::Path`]: it cannot be opened or read.
pub fn unfinished(folder: &Path) -> Result<Vec<Unfinished>, Fault> {
    let at = |source| Fault::path(folder.to_owned(), Operation::Read, source);
    let root = Dir::open(folder).map_err(at)?;
    let names = staging::names_of(&root, |name| attempt_id(name).is_some()).map_err(at)?;
    let mut found: Vec<_> = names.iter().filter_map(|name| look(folder, &root, name)).collect();
    found.sort_by_key(|left| std::cmp::Reverse(left.last_at_work));
    Ok(found)
}

/// Removes one of them; `recall` remembers what of it has landed. False if there is none with that
/// id, or an attempt is at work in it.
///
/// # Errors
/// [`Fault::Path`] with what could not be opened or removed; what is left of it can be removed
/// again. If a mount is gone on which files may be left beside their final names, it is removed but
/// for these: the path then ends in a pattern for their names.
pub fn discard(folder: &Path, id: &str, recall: Option<&Recall>) -> Result<bool, Fault> {
    let at = |operation| move |source| Fault::path(folder.to_owned(), operation, source);
    let name = [OWN_PREFIX, id.as_bytes()].concat();
    if attempt_id(&name).is_none() {
        return Ok(false);
    }
    let root = Dir::open(folder).map_err(at(Operation::Open))?;
    let dir = match staging::open_ours(&root, &name) {
        Some(dir) if staging::lock_again(&root, &name, &dir) => dir,
        _ => return Ok(false),
    };
    read_only_folders::restore_left(&root, &dir);
    // The owner's files that it holds get names first.
    exchanges::settle_left(&root, &dir).map_err(at(Operation::Remove))?;
    let beside = beside::remove_left(&root, &dir, &name);
    let removed = removal::remove_staging(Destination { root: &root, recall }, &name);
    drop(dir);
    removed.map_err(at(Operation::Remove))?;
    beside.map(|()| true).map_err(|(path, source)| {
        let left = [&name[..], b"-*"].concat();
        let path = folder.join(OsString::from_vec(path)).join(OsString::from_vec(left));
        Fault::path(path, Operation::Remove, source)
    })
}

fn look(folder: &Path, root: &Dir, name: &[u8]) -> Option<Unfinished> {
    let dir = staging::open_ours(root, name)?;
    let touched = metadata_of(&dir).ok()?.mtime;
    let about = noted(&dir).ok().and_then(|noted| About::decode(&noted));
    let (from, names, more_names) = match about {
        Some(About { from, names, more_names }) => (Some(from), names, more_names),
        None => (None, Vec::new(), 0),
    };
    let (mut files, mut disk_bytes) = size(&folder.join(OsString::from_vec(name.to_vec())));
    // What cannot be looked at is not counted here either.
    let _ = beside::each_left(root, &dir, name, |_, _, there| {
        (files, disk_bytes) = (files + 1, disk_bytes + there.blocks_512 * 512);
        Ok(())
    });
    Some(Unfinished {
        folder: folder.into(),
        id: attempt_id(name)?.to_owned(),
        from: from.filter(|from| !from.is_empty()).map(Text::from),
        names: names.into_iter().map(OsString::from_vec).map(PathText::from).collect(),
        more_names,
        files,
        disk_bytes,
        last_at_work: UNIX_EPOCH + Duration::new(touched.secs.try_into().unwrap_or(0), touched.nanos),
        in_use: staging::is_held(&dir),
    })
}

/// Files in a tree, and what they take on the disk. What cannot be looked at is not counted: an
/// attempt may be at work in it.
fn size(tree: &Path) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    let walk = WalkBuilder::new(tree).standard_filters(false).follow_links(false).build();
    let ours = [BEGUN, ringway_wire::resume::JOURNAL];
    walk.take(ENTRIES_COUNTED_MAX)
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let metadata = entry.metadata().ok().filter(std::fs::Metadata::is_file)?;
            let name = entry.file_name().as_bytes();
            let is_ours = ours.contains(&name) || log::is_log(name) && entry.depth() == 1;
            Some((u64::from(!is_ours), metadata.blocks() * 512))
        })
        .fold((0, 0), |(files, bytes), (file, blocks)| (files + file, bytes + blocks))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn about(from: &str, names: &[&[u8]], more_names: u64) -> About {
        About { from: from.to_owned(), names: names.iter().map(|name| name.to_vec()).collect(), more_names }
    }

    #[test]
    fn names_that_do_not_fit_are_counted() {
        let long = vec![b'x'; 255];
        let many: Vec<&[u8]> = (0..100).map(|_| &long[..]).collect();
        let noted = about("laptop", &many, 7).encode();
        assert!(noted.len() <= ABOUT_MAX);
        let read = About::decode(&noted).unwrap();
        assert_eq!((&*read.from, read.names.len() as u64 + read.more_names), ("laptop", 107));
        assert!(read.names.len() > 10);
    }

    #[test]
    fn folder_of_an_attempt_is_known_by_what_it_has() {
        let base = tempfile::tempdir().unwrap();
        let folder = KernelDir::open(base.path()).unwrap();
        assert!(!is_attempt(&folder));
        std::fs::write(base.path().join("begun"), "somebody's own").unwrap();
        assert!(!is_attempt(&folder));
        std::fs::write(base.path().join("begun"), about("laptop", &[b"x"], 0).encode()).unwrap();
        assert!(is_attempt(&folder));
    }

    #[test]
    fn what_an_earlier_version_noted_names_nobody() {
        assert_eq!(About::decode(b"boot\n"), None);
    }

    proptest! {
        #[test]
        fn what_is_noted_is_read_again(from in "[^\0]{1,64}", names in proptest::collection::vec("[^\0/]{1,20}", 0..8), more in any::<u64>()) {
            let about = About { from, names: names.into_iter().map(String::into_bytes).collect(), more_names: more };
            let noted = [b"boot".to_vec(), about.encode()].concat();
            prop_assert_eq!(About::decode(&noted), Some(about));
        }

        #[test]
        fn anything_may_be_found(noted in proptest::collection::vec(any::<u8>(), 0..200)) {
            About::decode(&noted);
        }
    }
}
