//! Owns copying extended attributes from one file to another inside this machine: all namespaces,
//! including access control lists.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{Mode, XattrFlags};
use rustix::io::Errno;

use super::xattrs::{
    ACL_ACCESS, ACL_DEFAULT, path_of, path_of_open, proc_is_mounted, read_growing, read_names, value_at, value_of,
};
use crate::dir::{Dir, component};
use crate::space::space;

/// A security label. A policy may forbid setting it, on copies too. cp -a does not report that
/// either.
const SELINUX: &[u8] = b"security.selinux";

/// Attributes that only mean something on their own file: another form of what other names say
/// (XFS), or the kernel's own seal on a file (security.evm). They are those of xattr.conf(5), which
/// cp uses.
const STAYS: [&[u8]; 4] = [b"trusted.SGI_", b"security.evm", b"xfsroot.", b"afs."];

/// If this much space is free and a value still gets ENOSPC, the value is too long for this
/// filesystem's attributes, and the filesystem is not full.
const ROOM_BYTES: u64 = 16 << 20;

/// The result of copying attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct XattrsCopied {
    /// Set at the destination.
    pub set: u32,
    /// Attributes that could not be read or set: no permission, or a namespace or length that the
    /// destination's filesystem does not support.
    pub lost: u32,
    /// What the owning group may do by the access control list that was lost, from 0 to 7. The mode
    /// of its file has the list's mask in that place, which may be more.
    pub group_of_lost_list: Option<u32>,
}

/// Whether the open file has any extended attribute that the caller may see, by one flistxattr(2).
/// False if the filesystem has no extended attributes.
pub fn has_xattrs(fd: impl AsFd) -> io::Result<bool> {
    match rustix::fs::flistxattr_query(fd) {
        Ok(bytes) => Ok(bytes > 0),
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Sets every attribute of `from` on `to`, in all namespaces, except the few that mean nothing
/// elsewhere. Other attributes of `to` stay. An access control list also sets the mode's group
/// bits. If the owner may not write to `to`, it is made writable meanwhile: the kernel requires
/// that permission, whatever the descriptor allows (xattr(7)).
///
/// # Errors
/// Errors that concern neither permissions nor the features of the filesystem, such as `ENOSPC` on
/// a full filesystem, `EDQUOT` and `EIO`.
pub fn copy_xattrs(from: impl AsFd, to: impl AsFd) -> io::Result<XattrsCopied> {
    let (from, to) = (from.as_fd(), to.as_fd());
    copy_each(
        &read_names(|buffer| rustix::fs::flistxattr(from, buffer))?,
        |name, buffer| value_of(from, name, buffer),
        |name, value| match rustix::fs::fsetxattr(to, name, value, XattrFlags::empty()) {
            Err(Errno::ACCESS) => set_while_writable(to, name, value),
            other => other,
        },
        to,
    )
}

/// Sets an attribute of a file to which its owner may not write; `EACCES` if the file is writable,
/// so that this was not the reason for the refusal.
fn set_while_writable(to: BorrowedFd<'_>, name: &[u8], value: &[u8]) -> rustix::io::Result<()> {
    let mode = Mode::from_raw_mode(rustix::fs::fstat(to)?.st_mode & 0o7777);
    if mode.contains(Mode::WUSR) {
        return Err(Errno::ACCESS);
    }
    // This process is not the owner either.
    rustix::fs::fchmod(to, mode | Mode::WUSR).map_err(|_| Errno::ACCESS)?;
    let set = rustix::fs::fsetxattr(to, name, value, XattrFlags::empty());
    rustix::fs::fchmod(to, mode)?;
    set
}

/// [`copy_xattrs`] from entry to entry, without opening them or following a link, for links, FIFOs,
/// sockets and device nodes.
///
/// Uses `/proc/self/fd`. If that is not mounted nothing is copied: such entries cannot have `user.`
/// attributes (xattr(7)).
pub fn copy_xattrs_at(from: &Dir, from_name: &[u8], to: &Dir, to_name: &[u8]) -> io::Result<XattrsCopied> {
    let (source, target) = (path_of(from, component(from_name)?), path_of(to, component(to_name)?));
    let names = match read_names(|buffer| rustix::fs::llistxattr(&source, buffer)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !proc_is_mounted() => {
            return Ok(XattrsCopied::default());
        }
        other => other?,
    };
    copy_each(
        &names,
        |name, buffer| value_at(&source, name, buffer),
        |name, value| rustix::fs::lsetxattr(&target, name, value, XattrFlags::empty()),
        to.as_fd(),
    )
}

/// Reads each of `names` with `value` and sets it with `set`, on the filesystem of `there`.
fn copy_each(
    names: &[u8],
    value: impl Fn(&[u8], Option<&mut [u8]>) -> rustix::io::Result<usize>,
    set: impl Fn(&[u8], &[u8]) -> rustix::io::Result<()>,
    there: BorrowedFd<'_>,
) -> io::Result<XattrsCopied> {
    let mut copied = XattrsCopied::default();
    for name in names.split(|&byte| byte == 0).filter(|name| !name.is_empty()) {
        if STAYS.iter().any(|prefix| name.starts_with(prefix)) {
            continue;
        }
        let mut group = None;
        let outcome = match read_growing(|buffer| value(name, buffer)) {
            Ok(value) => {
                group = (name == ACL_ACCESS.as_bytes()).then(|| group_of_list(&value));
                set(name, &value)
            }
            // It was removed since it was listed.
            Err(Errno::NODATA) => continue,
            Err(error) => Err(error),
        };
        match outcome {
            Ok(()) => copied.set += 1,
            Err(error) if is_lost(error, there) => {
                copied.lost += u32::from(name != SELINUX);
                copied.group_of_lost_list = group.or(copied.group_of_lost_list);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(copied)
}

/// What the owning group may do by a list as the kernel has it: a version, then a tag, permissions
/// and an id for each entry (linux/posix_acl_xattr.h). Without its entry, nothing.
fn group_of_list(list: &[u8]) -> u32 {
    const VERSION_LEN: usize = 4;
    const ENTRY_LEN: usize = 8;
    const OWNING_GROUP: [u8; 2] = 4_u16.to_le_bytes();
    const MASK: [u8; 2] = 16_u16.to_le_bytes();
    let entries = || list.get(VERSION_LEN..).unwrap_or_default().chunks_exact(ENTRY_LEN);
    let of = |tag: [u8; 2]| entries().find(|entry| entry[..2] == tag).map(|entry| u32::from(entry[2]) & 7);
    of(OWNING_GROUP).unwrap_or_default() & of(MASK).unwrap_or(7)
}

/// Whether an error of setting an attribute of the open file means that it is not supported or not
/// permitted there, or that its ids are not known (EINVAL), and not another failure.
pub fn is_not_kept(error: &io::Error, there: impl AsFd) -> bool {
    Errno::from_io_error(error).is_some_and(|errno| is_lost(errno, there.as_fd()))
}

/// Whether the error means that the attribute is not supported or not permitted there, and not
/// another failure.
fn is_lost(error: Errno, there: BorrowedFd<'_>) -> bool {
    match error {
        Errno::PERM | Errno::ACCESS | Errno::OPNOTSUPP | Errno::INVAL | Errno::TOOBIG | Errno::RANGE => true,
        // ext4 and btrfs also return this for a value that is longer than their attributes can be.
        // tmpfs counts attributes among its inodes.
        Errno::NOSPC => space(there).is_ok_and(|space| space.free_bytes >= ROOM_BYTES && space.free_inodes != Some(0)),
        _ => false,
    }
}

/// Whether the folder passes an access control list to entries created in it; false if the
/// filesystem has no such lists. A folder that is open as a path only (O_PATH) is asked through
/// `/proc/self/fd`.
pub fn has_default_acl(dir: impl AsFd) -> io::Result<bool> {
    let dir = dir.as_fd();
    let asked = match rustix::fs::fgetxattr_query(dir, ACL_DEFAULT) {
        Err(Errno::BADF) => rustix::fs::getxattr_query(path_of_open(dir), ACL_DEFAULT),
        asked => asked,
    };
    match asked {
        Ok(_) => Ok(true),
        Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The list that a folder passes to entries created in it, as the kernel has it (xattr(7)); none if
/// the folder or the filesystem has none, or a folder that is open as a path only cannot be asked
/// because `/proc` is not mounted.
pub fn default_acl(dir: impl AsFd) -> io::Result<Option<Vec<u8>>> {
    let dir = dir.as_fd();
    let read = |buffer: Option<&mut [u8]>| match value_of(dir, ACL_DEFAULT.as_bytes(), None) {
        Err(Errno::BADF) => value_at_link(&path_of_open(dir), buffer),
        _ => value_of(dir, ACL_DEFAULT.as_bytes(), buffer),
    };
    match read_growing(read) {
        Ok(list) => Ok(Some(list)),
        Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(None),
        Err(Errno::NOENT) if !proc_is_mounted() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The default list of the folder that a link of `/proc/self/fd` leads to.
fn value_at_link(path: &[u8], buffer: Option<&mut [u8]>) -> rustix::io::Result<usize> {
    match buffer {
        Some(buffer) => rustix::fs::getxattr(path, ACL_DEFAULT, buffer),
        None => rustix::fs::getxattr_query(path, ACL_DEFAULT),
    }
}

/// Removes the access control list of the open file, so that only its mode counts. A file without a
/// list is no error.
pub fn remove_acl(fd: impl AsFd) -> io::Result<()> {
    remove(fd, ACL_ACCESS)
}

/// [`remove_acl`] of an entry that is not opened, such as a FIFO. Uses `/proc/self/fd`, and does
/// nothing if that is not mounted.
pub fn remove_acl_at(dir: &Dir, name: &[u8]) -> io::Result<()> {
    match rustix::fs::lremovexattr(path_of(dir, component(name)?), ACL_ACCESS) {
        Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        Err(Errno::NOENT) if !proc_is_mounted() => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Removes the list that a folder passes to entries created in it. A folder without one is no
/// error.
pub fn remove_default_acl(dir: impl AsFd) -> io::Result<()> {
    remove(dir, ACL_DEFAULT)
}

fn remove(fd: impl AsFd, name: &str) -> io::Result<()> {
    match rustix::fs::fremovexattr(fd, name) {
        Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
