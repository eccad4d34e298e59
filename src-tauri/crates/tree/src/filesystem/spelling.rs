//! Folders that take different spellings of a name for one (upper and lower case, composed and
//! decomposed letters), or change names: where a flag says so, how a folder spells the names that
//! it has, and which ends of names it does not keep.
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::AsFd;

use ringway_sys::dir::Dir as KernelDir;
use rustix::io::Errno;

use crate::disk::Dir;

/// Filesystems where each folder has a flag for it (chattr(1), +F): their numbers for statfs(2),
/// which is 32 bits wide wherever it matters.
const BY_FOLDER: [u32; 4] = [0xef53, 0xf2f5_2010, 0x0102_1994, 0xca45_1a4e];

/// FS_CASEFOLD_FL of linux/fs.h.
const CASEFOLD: u32 = 0x4000_0000;

/// Names whose hashes are kept of one folder: 16 MiB. Larger folders are listed each time.
const NAMES_KEPT_MAX: usize = 1 << 20;

/// Whether a folder's flag says that it does so. `None` if the filesystem has no such flag, and
/// may do so in every folder.
pub fn by_flag(dir: &KernelDir) -> Option<bool> {
    let number = rustix::fs::fstatfs(dir.as_fd()).ok()?.f_type as u32;
    let is_set = || rustix::fs::ioctl_getflags(dir.as_fd()).is_ok_and(|flags| flags.bits() & CASEFOLD != 0);
    BY_FOLDER.contains(&number).then(is_set)
}

/// Ends of names that a folder does not keep: to FAT and exFAT "x." is "x" (lookup, creation and
/// renaming strip dots, fs/fat/namei_vfat.c).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LostEnds {
    dots: bool,
    blanks: bool,
}

impl LostEnds {
    /// Tried with a file that is called `probe` and such an end, where nothing has that name.
    pub fn try_out(dir: &Dir, probe: &[u8], mode: u32) -> Self {
        let loses = |end: u8| {
            let made = [probe, &[end]].concat();
            match dir.create_new(&made, mode) {
                Ok(_) => {
                    let is_lost = dir.metadata(probe).is_ok();
                    let _ = dir.unlink(&made);
                    is_lost
                }
                // An attempt that was killed has left one.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => dir.metadata(probe).is_ok(),
                // It refuses such names. What else it says it will say of each of them.
                Err(error) => matches!(Errno::from_io_error(&error), Some(Errno::INVAL | Errno::ILSEQ)),
            }
        };
        Self { dots: loses(b'.'), blanks: loses(b' ') }
    }

    /// Whether the folder cannot hold `name`.
    pub fn include(self, name: &[u8]) -> bool {
        match name.last() {
            Some(b'.') => self.dots,
            Some(b' ') => self.blanks,
            _ => false,
        }
    }
}

/// Whether `dir` lists a name as it was given: tried in a folder of its own, which is called
/// `probe` meanwhile.
pub fn keeps(dir: &Dir, probe: &[u8], name: &[u8]) -> io::Result<bool> {
    match dir.make_dir(probe, 0o700) {
        // Left by an attempt that was killed.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => made?,
    }
    let tried = dir.open_dir(probe).and_then(|inside| {
        drop(inside.create_new(name, 0o600)?);
        let listed = Names::default().has(&inside, name);
        inside.unlink(name).and(listed)
    });
    dir.remove_dir(probe).and(tried)
}

/// Whether `dir` changes letters: HFS+ takes composed ones apart, a vfat with shortname=lower makes
/// small ones of capital ones.
pub fn changes_letters(dir: &Dir, probe: &[u8]) -> bool {
    let probe = [probe, b"-letters"].concat();
    // What cannot be tried now is tried with each name.
    ["PROBE", "\u{e9}", "e\u{301}"].iter().any(|name| !keeps(dir, &probe, name.as_bytes()).unwrap_or(false))
}

/// Whether a name has letters that some filesystems change.
pub fn has_loose_letters(name: &[u8]) -> bool {
    !name.is_ascii() || name.iter().any(u8::is_ascii_uppercase)
}

/// Whether a name ends in a way that some filesystems do not keep.
pub fn has_loose_end(name: &[u8]) -> bool {
    matches!(name.last(), Some(b'.' | b' '))
}

/// The names that a folder has, by their hashes.
#[derive(Default)]
pub struct Names {
    state: RandomState,
    hashes: HashSet<u64>,
}

impl Names {
    /// Whether the folder `dir` lists that very name, which it has been found to have under some
    /// spelling.
    pub fn has(&mut self, dir: &KernelDir, name: &[u8]) -> io::Result<bool> {
        if self.hashes.contains(&self.state.hash_one(name)) {
            return Ok(true);
        }
        // It may have come since. What has been seen stays as it is spelt, for nothing replaces it
        // under another spelling.
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
