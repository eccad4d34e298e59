//! Ringway's own folders as a receiver recognises them: by device and inode, whatever path or mount
//! leads there. Nothing is received into them.
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use ringway_sys::attributes::{Metadata, metadata_of};
use ringway_sys::dir::Dir;
use rustix::fs::AtFlags;
use rustix::io::Errno;

use crate::descriptors::wait_to_open;

/// Symbolic links that a path may go through, as in the kernel (path_resolution(7)).
const LINKS_MAX: u32 = 40;

/// Folders above a receive folder that are looked at: more than a path of 4,096 bytes can name.
const DEPTH_MAX: u32 = 1_300;

/// Folders in one of ours that are known as well, and entries that are looked at for that. Ours
/// hold a handful; a browser's cache, which the window's folders are, may hold more.
const WITHIN_MAX: usize = 256;
const ENTRIES_LOOKED_AT_MAX: usize = 4_096;

/// Device and inode.
type Identity = (u64, u64);

/// What must stay as it is while offers land: our folders, and what their paths go through.
#[derive(Debug, Clone, Default)]
pub struct OwnFolders {
    folders: Vec<Identity>,
    /// Folders that hold one of them, at whatever depth.
    parents: Vec<Identity>,
    /// Symbolic links on the way to them, and files of ours that lie elsewhere behind links.
    fixed: Vec<Identity>,
}

impl OwnFolders {
    /// Adds a folder by its path, and those in it as far as there are not many: one of them may be
    /// mounted elsewhere, where nothing leads up to ours.
    pub fn add_folder(&mut self, path: &Path) {
        self.trace(path, true);
        self.add_within(path);
    }

    fn add_within(&mut self, path: &Path) {
        let (mut looked_at, mut known) = (0, 0);
        let mut next = VecDeque::from([path.to_owned()]);
        while let Some(folder) = next.pop_front() {
            let entries = wait_to_open(|| true, || fs::read_dir(&folder));
            for entry in entries.into_iter().flatten().flatten() {
                looked_at += 1;
                if looked_at > ENTRIES_LOOKED_AT_MAX || known >= WITHIN_MAX {
                    return;
                }
                // Links are not followed.
                if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    continue;
                }
                if let Ok(there) = fs::symlink_metadata(entry.path()) {
                    known += 1;
                    self.folders.push((there.dev(), there.ino()));
                    next.push_back(entry.path());
                }
            }
        }
    }

    /// Adds a file by its path.
    pub fn add_file(&mut self, path: &Path) {
        self.trace(path, false);
    }

    /// Follows a path as the kernel does, and notes what it goes through. What is not there ends
    /// it.
    fn trace(&mut self, path: &Path, is_folder: bool) {
        let mut rest: VecDeque<OsString> = parts(path);
        let (mut at, mut links) = (PathBuf::from("/"), 0);
        let mut through = Vec::new();
        while let Some(name) = rest.pop_front() {
            if name == ".." {
                at.pop();
                continue;
            }
            let next = at.join(&name);
            let Ok(there) = fs::symlink_metadata(&next) else { return };
            let identity = (there.dev(), there.ino());
            if there.is_symlink() {
                links += 1;
                let Ok(target) = fs::read_link(&next) else { return };
                if links > LINKS_MAX {
                    return;
                }
                self.fixed.push(identity);
                if target.is_absolute() {
                    at = PathBuf::from("/");
                }
                parts(&target).into_iter().rev().for_each(|part| rest.push_front(part));
            } else {
                at = next;
                if there.is_dir() {
                    through.push(identity);
                } else {
                    self.fixed.push(identity);
                }
            }
        }
        if is_folder {
            self.folders.extend(through.pop());
        }
        self.parents.extend(through);
    }

    /// Whether that folder is one of ours.
    pub fn has(&self, there: &Metadata) -> bool {
        self.folders.contains(&(there.dev, there.ino))
    }

    /// Whether one of our folders lies in that one.
    pub fn lie_in(&self, there: &Metadata) -> bool {
        self.parents.contains(&(there.dev, there.ino))
    }

    /// Whether that link or file leads to what is ours, so that nothing may replace it.
    pub fn hang_on(&self, there: &Metadata) -> bool {
        self.fixed.contains(&(there.dev, there.ino))
    }

    /// Whether an open folder is one of ours or lies in one.
    pub fn contain(&self, folder: &Dir) -> io::Result<bool> {
        let there = metadata_of(folder)?;
        let (mut at, mut path) = ((there.dev, there.ino), String::from(".."));
        for _ in 0..DEPTH_MAX {
            if self.folders.contains(&at) {
                return Ok(true);
            }
            let above = match identity_at(folder, &path) {
                Ok(above) => above,
                // Our folders may be searched by us: what may not be lies above all of them.
                Err(Errno::ACCESS) => return Ok(false),
                Err(errno) => return Err(errno.into()),
            };
            if above == at {
                return Ok(false);
            }
            at = above;
            path.push_str("/..");
        }
        // Deeper than any path: nobody can tell.
        Ok(true)
    }
}

fn identity_at(folder: &Dir, path: &str) -> rustix::io::Result<Identity> {
    let there = rustix::fs::statat(folder, path, AtFlags::empty())?;
    // The fields' widths differ between architectures.
    #[allow(clippy::unnecessary_cast)]
    Ok((there.st_dev as u64, there.st_ino as u64))
}

/// The names of a path; `.` and the root are left out.
fn parts(path: &Path) -> VecDeque<OsString> {
    let name = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        _ => None,
    };
    path.components().filter_map(name).collect()
}
