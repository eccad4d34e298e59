//! Owns handing the extended attributes of one file to another inside this machine, of every
//! namespace, access control lists with them.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{Mode, XattrFlags};
use rustix::io::Errno;

use super::xattrs::{path_of, path_of_open, proc_is_mounted, read_growing, read_names, value_at, value_of};
use crate::dir::{Dir, component};
use crate::space::space;

/// Who may do what beyond the mode (acl(5)).
const ACL_ACCESS: &str = "system.posix_acl_access";

/// What a folder hands on to what is made in it (acl(5)).
const ACL_DEFAULT: &str = "system.posix_acl_default";

/// A label that a policy may keep from being set, on copies as on anything; cp -a says nothing of
/// that either.
const SELINUX: &[u8] = b"security.selinux";

/// What only means something where it is: a second face of what other names say (XFS), or the
/// kernel's own seal on a file (security.evm). As in xattr.conf(5), by which cp goes.
const STAYS: [&[u8]; 4] = [b"trusted.SGI_", b"security.evm", b"xfsroot.", b"afs."];

/// With this much room, a value that finds none is too long for this filesystem's attributes, and
/// the filesystem is not full.
const ROOM_BYTES: u64 = 16 << 20;

/// What came of handing attributes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct XattrsCopied {
    /// Set at the destination.
    pub set: u32,
    /// Not to be read, or not to be set: no permission, or a namespace or length that the
    /// destination's filesystem lacks.
    pub lost: u32,
}

/// Whether the open file has any extended attribute that the caller may see, by one flistxattr(2);
/// false where there is no such thing.
pub fn has_xattrs(fd: impl AsFd) -> io::Result<bool> {
    match rustix::fs::flistxattr_query(fd) {
        Ok(bytes) => Ok(bytes > 0),
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Sets every attribute of `from` on `to`, of all namespaces, but for the few that mean nothing
/// elsewhere; others that `to` has stay. An access control list sets the mode's group bits with it.
/// Where `to` is read-only for its owner it is writable for as long as that takes: the kernel asks
/// for that permission whatever the descriptor may do (xattr(7)).
///
/// # Errors
/// What is neither a matter of permission nor of what the filesystem has, such as `ENOSPC` on a
/// full one, `EDQUOT` and `EIO`.
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

/// Sets an attribute of a file that its owner may not write to; `EACCES` if that is not why it was
/// refused.
fn set_while_writable(to: BorrowedFd<'_>, name: &[u8], value: &[u8]) -> rustix::io::Result<()> {
    let mode = Mode::from_raw_mode(rustix::fs::fstat(to)?.st_mode & 0o7777);
    if mode.contains(Mode::WUSR) {
        return Err(Errno::ACCESS);
    }
    // Not the owner either.
    rustix::fs::fchmod(to, mode | Mode::WUSR).map_err(|_| Errno::ACCESS)?;
    let set = rustix::fs::fsetxattr(to, name, value, XattrFlags::empty());
    rustix::fs::fchmod(to, mode)?;
    set
}

/// [`copy_xattrs`] from entry to entry without opening them or following a link, for links, FIFOs,
/// sockets and device nodes.
///
/// Goes by `/proc/self/fd`. Where that is not mounted nothing is copied: such entries cannot have
/// attributes of users (xattr(7)).
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

/// Reads each of `names` by `value` and sets it by `set`, on the filesystem of `there`.
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
        let outcome = match read_growing(|buffer| value(name, buffer)) {
            Ok(value) => set(name, &value),
            // Removed since it was listed.
            Err(Errno::NODATA) => continue,
            Err(error) => Err(error),
        };
        match outcome {
            Ok(()) => copied.set += 1,
            Err(error) if is_lost(error, there) => copied.lost += u32::from(name != SELINUX),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(copied)
}

/// Whether an attribute cannot be had there, rather than something being wrong.
fn is_lost(error: Errno, there: BorrowedFd<'_>) -> bool {
    match error {
        Errno::PERM | Errno::ACCESS | Errno::OPNOTSUPP | Errno::INVAL | Errno::TOOBIG | Errno::RANGE => true,
        // ext4 and btrfs say this of a value that is longer than their attributes can be, as well.
        // tmpfs counts attributes among its inodes.
        Errno::NOSPC => space(there).is_ok_and(|space| space.free_bytes >= ROOM_BYTES && space.free_inodes != Some(0)),
        _ => false,
    }
}

/// Whether the folder hands an access control list on to what is made in it; false where the
/// filesystem has no such lists. One that is open as a path only (O_PATH) is asked about by
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

/// Removes the access control list of the open file, so that its mode alone counts. Having none is
/// as good.
pub fn remove_acl(fd: impl AsFd) -> io::Result<()> {
    remove(fd, ACL_ACCESS)
}

/// [`remove_acl`] of an entry that is not opened, such as a FIFO. Goes by `/proc/self/fd`; where
/// that is not mounted nothing is done.
pub fn remove_acl_at(dir: &Dir, name: &[u8]) -> io::Result<()> {
    match rustix::fs::lremovexattr(path_of(dir, component(name)?), ACL_ACCESS) {
        Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        Err(Errno::NOENT) if !proc_is_mounted() => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Removes the list that a folder hands on to what is made in it. Having none is as good.
pub fn remove_default_acl(dir: impl AsFd) -> io::Result<()> {
    remove(dir, ACL_DEFAULT)
}

fn remove(fd: impl AsFd, name: &str) -> io::Result<()> {
    match rustix::fs::fremovexattr(fd, name) {
        Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
