//! Owns extended attributes of the `user.` namespace, which may come from a peer; copies inside one
//! machine take every namespace, in `clone`.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use rustix::fs::XattrFlags;
use rustix::io::Errno;

use crate::dir::{Dir, component};

/// The only namespace that an unprivileged user may fill and that means the same everywhere
/// (xattr(7)).
const USER: &[u8] = b"user.";

/// Longest value the kernel takes (XATTR_SIZE_MAX, limits.h).
pub const XATTR_VALUE_BYTES_MAX: usize = 65_536;

/// Bytes tried first for a list of names; nearly every file has none, and this holds the usual one
/// or two.
const LIST_BYTES_FIRST: usize = 512;

/// Longest list of names the kernel makes (XATTR_LIST_MAX, limits.h).
const LIST_BYTES_MAX: usize = 65_536;

/// Attributes change while they are read: after this many rounds of "now it is longer" the file is
/// reported as busy.
const GROWTH_ROUNDS_MAX: u32 = 8;

/// A full name, `user.` included, and its value.
pub type Xattr = (Vec<u8>, Vec<u8>);

/// The `user.` extended attributes of the open file; none where the filesystem has no such thing.
pub fn user_xattrs(fd: impl AsFd) -> io::Result<Vec<Xattr>> {
    let fd = fd.as_fd();
    read_all(|buffer| rustix::fs::flistxattr(fd, buffer), |name, buffer| value_of(fd, name, buffer))
}

/// The value of `name` into `buffer`, or without one its length.
pub(super) fn value_of(fd: BorrowedFd<'_>, name: &[u8], buffer: Option<&mut [u8]>) -> rustix::io::Result<usize> {
    match buffer {
        Some(buffer) => rustix::fs::fgetxattr(fd, name, buffer),
        None => rustix::fs::fgetxattr_query(fd, name),
    }
}

/// The same for the entry `path` itself, link or not.
pub(super) fn value_at(path: &[u8], name: &[u8], buffer: Option<&mut [u8]>) -> rustix::io::Result<usize> {
    match buffer {
        Some(buffer) => rustix::fs::lgetxattr(path, name, buffer),
        None => rustix::fs::lgetxattr_query(path, name),
    }
}

/// Sets the attribute with the full name `name`, which must be in `user.`; `Unsupported` where the
/// filesystem has none.
pub fn set_xattr(fd: impl AsFd, name: &[u8], value: &[u8]) -> io::Result<()> {
    if !name.starts_with(USER) || name.len() == USER.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok(rustix::fs::fsetxattr(fd, name, value, XattrFlags::empty())?)
}

impl Dir {
    /// The `user.` extended attributes of `name` without opening it; reading a value takes read
    /// permission all the same (xattr(7)).
    ///
    /// Goes by `/proc/self/fd`; where `/proc` is not mounted the entry is opened instead. None for
    /// what can have none.
    pub fn user_xattrs(&self, name: &[u8]) -> io::Result<Vec<Xattr>> {
        user_xattrs_at(self, component(name)?)
    }
}

/// The attributes of `name` in `dir`, by way of `/proc/self/fd`, or by opening it where `/proc` is
/// missing.
fn user_xattrs_at(dir: &Dir, name: &[u8]) -> io::Result<Vec<Xattr>> {
    let path = &path_of(dir, name);
    let read = read_all(|buffer| rustix::fs::llistxattr(path, buffer), |name, buffer| value_at(path, name, buffer));
    match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !proc_is_mounted() => {
            user_xattrs(dir.open_read(name)?)
        }
        other => other,
    }
}

/// What is open, by a path: also where it is open as a path only.
pub(super) fn path_of_open(fd: BorrowedFd<'_>) -> Vec<u8> {
    format!("/proc/self/fd/{}", fd.as_raw_fd()).into_bytes()
}

/// A path to `name` in `dir` for calls that take no descriptor and name (proc(5)).
pub(super) fn path_of(dir: &Dir, name: &[u8]) -> Vec<u8> {
    let mut path = format!("/proc/self/fd/{}/", dir.as_fd().as_raw_fd()).into_bytes();
    path.extend_from_slice(name);
    path
}

pub(super) fn proc_is_mounted() -> bool {
    rustix::fs::stat("/proc/self/fd").is_ok()
}

/// Reads names with `list` and values with `value`, both of which fill a buffer and say how much;
/// `value` without a buffer says how long the value is.
fn read_all(
    list: impl Fn(&mut [u8]) -> rustix::io::Result<usize>,
    value: impl Fn(&[u8], Option<&mut [u8]>) -> rustix::io::Result<usize>,
) -> io::Result<Vec<Xattr>> {
    let names = read_names(list)?;
    let mut found = Vec::new();
    for name in names.split(|&byte| byte == 0).filter(|name| name.starts_with(USER)) {
        match read_growing(|buffer| value(name, buffer)) {
            Ok(value) => found.push((name.to_vec(), value)),
            // Removed since it was listed.
            Err(Errno::NODATA) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(found)
}

/// The names that `list` tells, each ended by a NUL; none where the filesystem has no such thing.
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

/// Asks `read` for the length, then for the bytes, again when they have grown in between.
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
