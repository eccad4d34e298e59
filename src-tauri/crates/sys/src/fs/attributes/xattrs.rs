//! Owns extended attributes that mean the same on every machine, and may come from a peer: those of
//! the `user.` namespace, and access control lists. Copies inside one machine copy every namespace,
//! in `clone`.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use rustix::fs::XattrFlags;
use rustix::io::Errno;

use crate::dir::{Dir, component};

/// The only namespace that an unprivileged user may write and that means the same on every machine
/// (xattr(7)).
const USER: &[u8] = b"user.";

/// The longest value that the kernel accepts (XATTR_SIZE_MAX, limits.h).
pub const XATTR_VALUE_BYTES_MAX: usize = 65_536;

/// Length of the first buffer for a list of names. Nearly every file has none, and this is enough
/// for the usual one or two.
const LIST_BYTES_FIRST: usize = 512;

/// The longest list of names that the kernel returns (XATTR_LIST_MAX, limits.h).
const LIST_BYTES_MAX: usize = 65_536;

/// Attributes may change while they are read. If they grew this many times in a row, the file is
/// reported as busy.
const GROWTH_ROUNDS_MAX: u32 = 8;

/// The access control list: permissions beyond the mode (acl(5)).
pub(super) const ACL_ACCESS: &str = "system.posix_acl_access";

/// The access control list that a folder passes to entries created in it (acl(5)).
pub(super) const ACL_DEFAULT: &str = "system.posix_acl_default";

/// Whether an attribute is sent to other machines.
fn is_portable(name: &[u8]) -> bool {
    is_of_user(name) || name == ACL_ACCESS.as_bytes() || name == ACL_DEFAULT.as_bytes()
}

fn is_of_user(name: &[u8]) -> bool {
    name.starts_with(USER) && name.len() > USER.len()
}

/// A full name, `user.` included, and its value.
pub type Xattr = (Vec<u8>, Vec<u8>);

/// The `user.` extended attributes and access control lists of the open file; empty if the
/// filesystem has neither.
pub fn portable_xattrs(fd: impl AsFd) -> io::Result<Vec<Xattr>> {
    let fd = fd.as_fd();
    read_all(|buffer| rustix::fs::flistxattr(fd, buffer), |name, buffer| value_of(fd, name, buffer))
}

/// Reads the value of `name` into `buffer`, or returns its length if there is no buffer.
pub(super) fn value_of(fd: BorrowedFd<'_>, name: &[u8], buffer: Option<&mut [u8]>) -> rustix::io::Result<usize> {
    match buffer {
        Some(buffer) => rustix::fs::fgetxattr(fd, name, buffer),
        None => rustix::fs::fgetxattr_query(fd, name),
    }
}

/// The same for the entry `path`; a link is not followed.
pub(super) fn value_at(path: &[u8], name: &[u8], buffer: Option<&mut [u8]>) -> rustix::io::Result<usize> {
    match buffer {
        Some(buffer) => rustix::fs::lgetxattr(path, name, buffer),
        None => rustix::fs::lgetxattr_query(path, name),
    }
}

/// Sets the attribute with the full name `name`, which must begin with `user.` or be an access
/// control list's; `Unsupported` if the filesystem has no such attributes. A list also sets the
/// mode, and a mode that is set later is the list's, too.
pub fn set_xattr(fd: impl AsFd, name: &[u8], value: &[u8]) -> io::Result<()> {
    if !is_portable(name) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok(rustix::fs::fsetxattr(fd, name, value, XattrFlags::empty())?)
}

impl Dir {
    /// The `user.` extended attributes and access control lists of `name`, without opening it.
    /// Reading a value of the former still needs read permission (xattr(7)).
    ///
    /// Uses `/proc/self/fd`. If `/proc` is not mounted the entry is opened instead. Empty for
    /// entries that cannot have such attributes.
    pub fn portable_xattrs(&self, name: &[u8]) -> io::Result<Vec<Xattr>> {
        portable_xattrs_at(self, component(name)?)
    }
}

/// The attributes of `name` in `dir`, through `/proc/self/fd`, or by opening the entry if `/proc`
/// is not mounted.
fn portable_xattrs_at(dir: &Dir, name: &[u8]) -> io::Result<Vec<Xattr>> {
    let path = &path_of(dir, name);
    let read = read_all(|buffer| rustix::fs::llistxattr(path, buffer), |name, buffer| value_at(path, name, buffer));
    match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !proc_is_mounted() => {
            portable_xattrs(dir.open_read(name)?)
        }
        other => other,
    }
}

/// A path to an open file, also to one that is open as a path only.
pub(super) fn path_of_open(fd: BorrowedFd<'_>) -> Vec<u8> {
    format!("/proc/self/fd/{}", fd.as_raw_fd()).into_bytes()
}

/// A path to `name` in `dir`, for calls that do not accept a descriptor and a name (proc(5)).
pub(super) fn path_of(dir: &Dir, name: &[u8]) -> Vec<u8> {
    let mut path = format!("/proc/self/fd/{}/", dir.as_fd().as_raw_fd()).into_bytes();
    path.extend_from_slice(name);
    path
}

pub(super) fn proc_is_mounted() -> bool {
    rustix::fs::stat("/proc/self/fd").is_ok()
}

/// Reads names with `list` and values with `value`. Both fill a buffer and return the length.
/// `value` without a buffer returns the value's length.
fn read_all(
    list: impl Fn(&mut [u8]) -> rustix::io::Result<usize>,
    value: impl Fn(&[u8], Option<&mut [u8]>) -> rustix::io::Result<usize>,
) -> io::Result<Vec<Xattr>> {
    let names = read_names(list)?;
    let mut found = Vec::new();
    for name in names.split(|&byte| byte == 0).filter(|name| is_portable(name)) {
        match read_growing(|buffer| value(name, buffer)) {
            Ok(value) => found.push((name.to_vec(), value)),
            // It was removed since it was listed.
            Err(Errno::NODATA) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(found)
}

/// The names that `list` returns, each ended by a NUL; empty if the filesystem has no extended
/// attributes.
pub(super) fn read_names(list: impl Fn(&mut [u8]) -> rustix::io::Result<usize>) -> io::Result<Vec<u8>> {
    let mut first = [0; LIST_BYTES_FIRST];
    match list(&mut first) {
        Ok(bytes) => Ok(first[..bytes].to_vec()),
        Err(Errno::RANGE) => {
            let mut names = vec![0; LIST_BYTES_MAX];
            let bytes = list(&mut names)?;
            names.truncate(bytes);
            Ok(names)
        }
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

/// Asks `read` for the length and then for the bytes, and repeats that if they have grown
/// meanwhile.
pub(super) fn read_growing(
    read: impl Fn(Option<&mut [u8]>) -> rustix::io::Result<usize>,
) -> rustix::io::Result<Vec<u8>> {
    for _ in 0..GROWTH_ROUNDS_MAX {
        let mut bytes = vec![0; read(None)?];
        if bytes.is_empty() {
            return Ok(bytes);
        }
        match read(Some(&mut bytes)) {
            Ok(length) => {
                bytes.truncate(length);
                return Ok(bytes);
            }
            Err(Errno::RANGE) => {}
            Err(error) => return Err(error),
        }
    }
    Err(Errno::BUSY)
}
