//! Notes the folders on other mounts in which an attempt has temporary files beside their final
//! names, so that those of an attempt that was killed go with its staging folder.
//!
//! A symbolic link in the staging folder has the path of each. Where it cannot be made, as on FAT,
//! only the next attempt finds what was left.
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;

use crate::disk::Dir;
use ringway_sys::attributes::{Kind, Metadata, metadata_of};
use ringway_sys::mounts::mount_point;
use rustix::io::Errno;

use crate::receive::staging;
use crate::receive::staging::temporaries::is_temporary;

/// What the names of notes begin with, in a staging folder.
const NOTE_PREFIX: &[u8] = b"beside-";

/// A folder in which temporary files could not be looked for, and why.
pub(in crate::receive) type Unseen = (Vec<u8>, io::Error);

/// Notes a folder, by its path from the destination.
pub(in crate::receive) fn note(staging: &Dir, path: &[u8]) {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    let name = format!("{:016x}", hasher.finish());
    // It may be there already.
    let _ = staging.symlink(path, &[NOTE_PREFIX, name.as_bytes()].concat());
}

/// Whether a name in a staging folder is a note's.
pub(in crate::receive) fn is_note(name: &[u8]) -> bool {
    name.starts_with(NOTE_PREFIX)
}

/// Removes what attempts that are over have left in the noted folders. For the holder of their
/// staging folder, once the owner's files among it have their names.
///
/// # Errors
/// The first folder in which something may be left.
pub(in crate::receive) fn remove_left(root: &Dir, staging: &Dir, staging_name: &[u8]) -> Result<(), Unseen> {
    each_left(root, staging, staging_name, |dir, name, _| dir.unlink(name))
}

/// Passes on what attempts have left in the noted folders, each with its folder, name and metadata.
///
/// # Errors
/// The first folder in which something may be left.
pub(in crate::receive) fn each_left(
    root: &Dir,
    staging: &Dir,
    staging_name: &[u8],
    mut found: impl FnMut(&Dir, &[u8], &Metadata) -> io::Result<()>,
) -> Result<(), Unseen> {
    let notes = staging::names_of(staging, is_note).map_err(|error| (Vec::new(), error))?;
    let mut unseen = Ok(());
    for path in notes.iter().filter_map(|note| staging.read_link(note).ok()) {
        if let Err(error) = each_in(root, &path, staging_name, &mut found) {
            unseen = unseen.and(Err((path, error)));
        }
    }
    unseen
}

fn each_in(
    root: &Dir,
    path: &[u8],
    staging_name: &[u8],
    found: &mut impl FnMut(&Dir, &[u8], &Metadata) -> io::Result<()>,
) -> io::Result<()> {
    let dir = match root.open_beneath(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // Removed by itself, or with its mount.
            let nearest = ends_of(path).rev().find_map(|end| root.open_beneath(&path[..end]).ok());
            return if nearest.is_some_and(|above| is_elsewhere(root, &above)) {
                Ok(())
            } else {
                Err(Errno::NODEV.into())
            };
        }
        opened => opened?,
    };
    if !is_elsewhere(root, &dir) {
        return Err(Errno::NODEV.into());
    }
    let mut entries = dir.entries()?;
    while let Some(entry) = entries.next() {
        let entry = entry?;
        if !is_temporary(staging_name, entry.name) {
            continue;
        }
        let there = dir.metadata(entry.name)?;
        if matches!(there.kind, Kind::File | Kind::Symlink) {
            found(&dir, entry.name, &there)?;
        }
    }
    Ok(())
}

/// The lengths of the paths above one.
fn ends_of(path: &[u8]) -> impl DoubleEndedIterator<Item = usize> {
    path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| end)
}

/// Whether a folder is on another mount or filesystem than the destination. Where the kernel does
/// not tell mounts, it counts as such.
fn is_elsewhere(root: &Dir, dir: &Dir) -> bool {
    let (Ok(one), Ok(other)) = (metadata_of(root), metadata_of(dir)) else { return true };
    one.dev != other.dev || !matches!((mount_point(root), mount_point(dir)), (Ok(one), Ok(other)) if one == other)
}
