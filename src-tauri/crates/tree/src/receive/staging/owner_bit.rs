//! Tells folders that their owner may not write to. Their mode can be changed by that owner for as
//! long as something in them is changed.
use std::io;
use std::os::fd::AsFd;

use crate::disk::Dir;
use ringway_sys::attributes::{Metadata, metadata_of};
use rustix::fs::{Access, AtFlags};
use rustix::io::Errno;

/// Write permission of the owner.
const OWNER_WRITES: u32 = 0o200;

/// A folder's group is that of what is made in it.
const SETGID: u32 = 0o2000;

/// Whether only the owner's write permission is missing, and this process may give it and take it
/// again without losing anything else of the mode.
pub(super) fn can_be_opened(dir: &Dir, there: &Metadata) -> bool {
    there.mode & OWNER_WRITES == 0
        && there.uid == rustix::process::geteuid().as_raw()
        && (there.mode & SETGID == 0 || is_in_group(there.gid))
        && rustix::fs::accessat(dir.as_fd(), c".", Access::WRITE_OK, AtFlags::EACCESS) == Err(Errno::ACCESS)
}

/// Changing the mode of an entry of another group clears setgid (chmod(2)).
fn is_in_group(gid: u32) -> bool {
    rustix::process::getegid().as_raw() == gid
        || rustix::process::getgroups().is_ok_and(|groups| groups.iter().any(|group| group.as_raw() == gid))
}

/// Adds the owner's write permission to a mode, and nothing else.
pub(super) fn opened(mode: u32) -> u32 {
    mode | OWNER_WRITES
}

/// Gives an opened folder its mode back, unless somebody has set another one since.
///
/// # Errors
/// What the kernel said.
pub(super) fn close(dir: &Dir, mode: u32) -> io::Result<()> {
    if metadata_of(dir)?.mode == opened(mode) { dir.set_own_mode(mode) } else { Ok(()) }
}
