//! Free space at a destination: what its filesystem reports before a transfer begins, and a probe
//! whether a number of bytes still fits.
use std::fs::File;
use std::io;
use std::path::Path;

use ringway_model::{FreeSpace, Shortage};
use ringway_sys::dir::Dir;
use ringway_sys::space::{filesystem, preallocate, space};
use rustix::fs::{Access, access};

/// So much more room than there was lets a transfer go on that was stopped by a full disk, although
/// figures say that not all of the rest will fit: each time costs going through the source again.
const FULL_SPACE_MIN: u64 = 16 << 20;

/// And so many more places for files and folders.
const FULL_ENTRIES_MIN: u64 = 256;

/// Filesystems that keep what they are given as it is, and on this machine: on these what is longer
/// than what is free cannot fit.
const KEEPS_AS_GIVEN: [&str; 5] = ["ext4", "xfs", "tmpfs", "vfat", "exfat"];

/// What of a transfer has yet to come, as far as it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rest {
    /// Bytes of contents.
    pub bytes: u64,
    /// Files, folders and links.
    pub entries: u64,
}

/// Looks at `folder`, or at the nearest folder above it that is there. None if nothing can be
/// looked at, or its filesystem does not say.
pub fn look(folder: &Path) -> Option<FreeSpace> {
    // A relative path ends with the empty one, which means the folder that we are in.
    let there = |path: &Path| if path.as_os_str().is_empty() { Path::new(".").to_path_buf() } else { path.into() };
    let (path, folder) = folder.ancestors().map(there).find_map(|path| Some((path.clone(), File::open(path).ok()?)))?;
    let space = space(&folder).ok().filter(|space| space.total_bytes > 0)?;
    let is_exact = filesystem(&folder).is_ok_and(|found| KEEPS_AS_GIVEN.contains(&found.name()));
    Some(FreeSpace {
        free_bytes: space.free_bytes,
        free_entries: space.free_inodes,
        name_max: (space.name_max > 0).then_some(space.name_max),
        writable: access(&path, Access::WRITE_OK | Access::EXEC_OK).is_ok(),
        is_exact,
    })
}

/// What a folder has and lacks for the rest.
pub fn shortage(free: &FreeSpace, rest: Rest) -> Shortage {
    let entries = free.free_entries.map_or(0, |free| rest.entries.saturating_sub(free));
    Shortage { needed: rest.bytes, free: free.free_bytes, entries }
}

/// Whether a transfer that found the disk full at `before` should resume: the rest fits by the
/// figures of `now`, or much more is free than before. The figures for the rest may be too high,
/// because part of it may be here already.
pub fn may_resume(now: &FreeSpace, rest: Rest, before: &FreeSpace) -> bool {
    let bytes = now.free_bytes >= rest.bytes || now.free_bytes >= before.free_bytes.saturating_add(FULL_SPACE_MIN);
    let entries = now
        .free_entries
        .zip(before.free_entries)
        .is_none_or(|(free, before)| free >= rest.entries || free >= before.saturating_add(FULL_ENTRIES_MIN));
    bytes && entries
}

/// Whether a file of so many bytes, [`FULL_SPACE_MIN`] at most, can be made in `folder` now: asked
/// by making one, since quotas show in no figure.
pub fn takes(folder: &Path, bytes: u64, probe: &[u8]) -> io::Result<bool> {
    let folder = Dir::open(folder)?;
    let file = match folder.create_new(probe, 0o600) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            folder.unlink(probe)?;
            folder.create_new(probe, 0o600)?
        }
        Err(error) if is_full(&error) => return Ok(false),
        Err(error) => return Err(error),
    };
    let takes = match preallocate(&file, bytes.clamp(1, FULL_SPACE_MIN)) {
        // Where nothing can be reserved the figure has to do.
        Ok(false) => Ok(space(&file)?.free_bytes >= bytes),
        Err(error) if is_full(&error) => Ok(false),
        done => done,
    };
    folder.unlink(probe)?;
    takes
}

/// No space, no inodes, or no quota left.
pub fn is_full(error: &io::Error) -> bool {
    is_full_errno(error.raw_os_error())
}

/// The same for an errno value.
pub fn is_full_errno(errno: Option<i32>) -> bool {
    use rustix::io::Errno;
    [Errno::NOSPC, Errno::DQUOT].iter().any(|full| errno == Some(full.raw_os_error()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_not_there_yet_is_judged_by_the_one_above() {
        let folder = tempfile::tempdir().unwrap();
        let found = look(&folder.path().join("not/there/yet")).unwrap();
        assert!(found.free_bytes > 0 && found.writable && found.name_max == Some(255), "{found:?}");
        assert!(look(Path::new("not there")).is_some(), "relative to where we are");
    }

    fn free(free_bytes: u64, free_entries: Option<u64>) -> FreeSpace {
        FreeSpace { free_bytes, free_entries, name_max: None, writable: true, is_exact: true }
    }

    #[test]
    fn what_is_missing_is_counted_in_bytes_and_in_places() {
        let rest = Rest { bytes: 100, entries: 10 };
        let lacks = |free: FreeSpace| {
            let shortage = shortage(&free, rest);
            (shortage.bytes(), shortage.entries)
        };
        assert_eq!(lacks(free(100, Some(10))), (0, 0));
        assert_eq!(lacks(free(60, Some(3))), (40, 7));
        assert_eq!(lacks(free(0, None)), (100, 0), "no limit to entries");
    }

    #[test]
    fn it_goes_on_when_the_rest_fits_or_much_more_is_free_than_was() {
        let rest = Rest { bytes: 1 << 30, entries: 1_000_000 };
        let before = free(5 << 20, Some(50));
        let plenty = Some(rest.entries);
        for (now, goes_on) in [
            (before, false),
            (free(rest.bytes, plenty), true),
            (free(before.free_bytes + FULL_SPACE_MIN - 1, plenty), false),
            (free(before.free_bytes + FULL_SPACE_MIN, plenty), true),
            (free(rest.bytes, Some(50 + FULL_ENTRIES_MIN - 1)), false),
            (free(rest.bytes, Some(50 + FULL_ENTRIES_MIN)), true),
        ] {
            assert_eq!(may_resume(&now, rest, &before), goes_on, "{now:?}");
        }
        // A quota shows in no figure: then the probe decides.
        assert!(may_resume(&free(1 << 40, None), rest, &free(1 << 40, None)));
    }

    #[test]
    fn a_probe_is_gone_afterwards_and_one_that_was_left_does_not_harm() {
        let folder = tempfile::tempdir().unwrap();
        assert!(takes(folder.path(), 4096, b".ringway-probe").unwrap());
        std::fs::write(folder.path().join(".ringway-probe"), "left by one that was killed").unwrap();
        assert!(takes(folder.path(), 4096, b".ringway-probe").unwrap());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(takes(&folder.path().join("gone"), 1, b".ringway-probe").is_err());
    }
}
