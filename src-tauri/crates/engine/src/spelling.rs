//! Folders that take different spellings of a name for one (upper and lower case, composed and decomposed letters): where a flag says so, and how a folder spells
//! the names that it has.
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::AsFd;

use ringway_sys::dir::Dir;

/// Filesystems where each folder has a flag for it (chattr(1), +F): their numbers for statfs(2), which is 32 bits wide wherever it matters.
const BY_FOLDER: [u32; 4] = [0xef53, 0xf2f5_2010, 0x0102_1994, 0xca45_1a4e];

/// FS_CASEFOLD_FL of linux/fs.h.
const CASEFOLD: u32 = 0x4000_0000;

/// Names whose hashes are kept of one folder: 16 MiB. Larger folders are listed each time.
const NAMES_KEPT_MAX: usize = 1 << 20;

/// Whether a folder's flag says that it does so. None where the filesystem has no such flag, and may do so in every folder.
pub(crate) fn by_flag(dir: &Dir) -> Option<bool> {
    let number = rustix::fs::fstatfs(dir.as_fd()).ok()?.f_type as u32;
    let is_set = || rustix::fs::ioctl_getflags(dir.as_fd()).is_ok_and(|flags| flags.bits() & CASEFOLD != 0);
    BY_FOLDER.contains(&number).then(is_set)
}

/// The names that a folder has, by their hashes.
#[derive(Default)]
pub(crate) struct Names {
    state: RandomState,
    hashes: HashSet<u64>,
}

impl Names {
    /// Whether the folder `dir` lists that very name, which it has been found to have under some spelling.
    pub(crate) fn has(&mut self, dir: &Dir, name: &[u8]) -> io::Result<bool> {
        if self.hashes.contains(&self.state.hash_one(name)) {
            return Ok(true);
        }
        // It may have come since. What has been seen stays as it is spelt, for nothing replaces it under another spelling.
        self.hashes.clear();
        let mut found = false;
        let mut entries = dir.entries()?;
        while let Some(entry) = entries.next() {
            let listed = entry?.name;
            found |= listed == name;
            if self.hashes.len() < NAMES_KEPT_MAX {
                let hash = self.state.hash_one(listed);
                self.hashes.insert(hash);
            }
        }
        Ok(found)
    }
}
