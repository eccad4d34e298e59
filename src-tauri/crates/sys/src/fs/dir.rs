//! Owns directory descriptors and every operation on one name inside a directory; no path given
//! here is ever followed out of it.

mod beneath;
mod entries;
mod rename;

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, StatxFlags};
use rustix::io::Errno;

use crate::metadata::{self, Kind, Metadata, Timestamp};

pub use beneath::{Beneath, beneath};
pub use entries::{Entries, Entry};

/// An open directory. Every operation names one component in it, so that nothing a peer says can
/// reach elsewhere.
#[derive(Debug)]
pub struct Dir(OwnedFd);

/// How directories are opened for listing and as anchors.
const DIR_FLAGS: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// How directories are opened that need not be listed (O_PATH, open(2)).
const SEARCH_FLAGS: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Read and search permission of the owner.
const OWNER_LISTS: u32 = 0o500;

/// How files are opened for reading: no link followed, no waiting for a FIFO's writer or a
/// terminal.
pub(crate) const READ_FLAGS: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// Refuses whatever is not a single component: empty, `.`, `..`, or holding a slash or NUL
/// (open(2), path_resolution(7)).
pub(crate) fn component(name: &[u8]) -> io::Result<&[u8]> {
    let reserved = name.is_empty() || name == b"." || name == b"..";
    if reserved || name.iter().any(|&byte| byte == b'/' || byte == 0) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok(name)
}

fn is_denied(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::ACCESS.raw_os_error())
}

/// The permission bits and setuid, setgid, sticky of `mode`.
fn mode_bits(mode: u32) -> Mode {
    Mode::from_raw_mode(mode & 0o7777)
}

impl Dir {
    /// Opens the directory that a person named; symbolic links in `path` are followed as typed.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(rustix::fs::openat(CWD, path.as_os_str().as_bytes(), DIR_FLAGS, Mode::empty())?))
    }

    /// Wraps a descriptor, which must be a directory (`NotADirectory` otherwise).
    pub fn from_fd(fd: OwnedFd) -> io::Result<Self> {
        if metadata::metadata_of(&fd)?.kind != metadata::Kind::Dir {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self(fd))
    }

    /// A second descriptor for the same open directory.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self(self.0.try_clone()?))
    }

    /// Opens the directory `rel` (components joined by single slashes) at or beneath this one,
    /// through no symbolic link: `openat2` where the kernel has it, else component by component.
    ///
    /// # Errors
    /// `InvalidInput` for an empty or absolute path, or a `.`, `..` or empty component; `ELOOP` for
    /// a symbolic link on the way, and as open(2) otherwise.
    pub fn open_beneath(&self, rel: &[u8]) -> io::Result<Self> {
        self.open_beneath_by(rel, beneath())
    }

    /// [`open_beneath`](Self::open_beneath) by the given method.
    pub fn open_beneath_by(&self, rel: &[u8], method: Beneath) -> io::Result<Self> {
        beneath::open(self.as_fd(), rel, DIR_FLAGS, method).map(Self)
    }

    /// The same to look names up and make them in, where it may not be listed.
    pub fn open_beneath_to_search(&self, rel: &[u8], method: Beneath) -> io::Result<Self> {
        let open = |flags| beneath::open(self.as_fd(), rel, flags, method).map(Self);
        open(DIR_FLAGS).or_else(|error| if is_denied(&error) { open(SEARCH_FLAGS) } else { Err(error) })
    }

    /// Opens the directory `name`, not through a symbolic link.
    pub fn open_dir(&self, name: &[u8]) -> io::Result<Self> {
        beneath::open_component(self.as_fd(), component(name)?, DIR_FLAGS).map(Self)
    }

    /// Opens the directory `name` to look names up and make them in, where it may not be listed.
    pub fn open_dir_to_search(&self, name: &[u8]) -> io::Result<Self> {
        let open = |flags| beneath::open_component(self.as_fd(), component(name)?, flags).map(Self);
        open(DIR_FLAGS).or_else(|error| if is_denied(&error) { open(SEARCH_FLAGS) } else { Err(error) })
    }

    /// Opens the directory that a person named to look names up and make them in, where it may not
    /// be listed; symbolic links are followed.
    pub fn open_to_search(path: &Path) -> io::Result<Self> {
        match Self::open(path) {
            Err(error) if is_denied(&error) => {
                Ok(Self(rustix::fs::openat(CWD, path.as_os_str().as_bytes(), SEARCH_FLAGS, Mode::empty())?))
            }
            opened => opened,
        }
    }

    /// What was opened only to be searched, opened so that it can be listed and given attributes,
    /// by its owner with the permission to; none if it is open so. The mode, by way of
    /// `/proc/self/fd`, is left as it is then.
    pub fn open_to_list(&self) -> io::Result<Option<Self>> {
        if !rustix::fs::fcntl_getfl(&self.0)?.contains(OFlags::PATH) {
            return Ok(None);
        }
        let open = || rustix::fs::openat(&self.0, c".", DIR_FLAGS, Mode::empty());
        let opened = match open() {
            Err(Errno::ACCESS) => {
                let mode = metadata::metadata_of(&self.0)?.mode | OWNER_LISTS;
                rustix::fs::chmod(format!("/proc/self/fd/{}", self.0.as_raw_fd()), mode_bits(mode))?;
                open()
            }
            opened => opened,
        };
        Ok(Some(Self(opened?)))
    }

    /// Makes the directory `name`; the umask applies to `mode` (mkdirat(2)).
    pub fn make_dir(&self, name: &[u8], mode: u32) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.0, component(name)?, mode_bits(mode))?)
    }

    /// Creates the file `name` for writing; `AlreadyExists` if anything, even a dangling link, has
    /// that name. The umask applies.
    pub fn create_new(&self, name: &[u8], mode: u32) -> io::Result<OwnedFd> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.0, component(name)?, flags, mode_bits(mode))?)
    }

    /// Opens the existing `name` for reading: no link followed (`ELOOP`), no waiting for a FIFO's
    /// writer, and without touching the access time where the caller may ask for that (O_NOATIME,
    /// open(2)).
    pub fn open_read(&self, name: &[u8]) -> io::Result<OwnedFd> {
        match rustix::fs::openat(&self.0, component(name)?, READ_FLAGS | OFlags::NOATIME, Mode::empty()) {
            // Not the owner of the file.
            Err(Errno::PERM) => self.open_read_atime(name),
            other => Ok(other?),
        }
    }

    /// [`open_read`](Self::open_read) that does not ask to leave the access time alone: a caller
    /// who knows that it may not ask spares a call.
    pub fn open_read_atime(&self, name: &[u8]) -> io::Result<OwnedFd> {
        Ok(rustix::fs::openat(&self.0, component(name)?, READ_FLAGS, Mode::empty())?)
    }

    /// Opens what `name` leads to for reading, through symbolic links: what a person who reads by
    /// that name gets. The access time stays where the caller may ask for that.
    pub fn open_read_following(&self, name: &[u8]) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        let name = component(name)?;
        let open = |flags| rustix::fs::openat(&self.0, name, flags, Mode::empty());
        match open(flags | OFlags::NOATIME) {
            // Not the owner of the file.
            Err(Errno::PERM) => Ok(open(flags)?),
            other => Ok(other?),
        }
    }

    /// Opens the existing file `name` for writing at offsets, not through a link, without
    /// truncating it.
    pub fn open_write(&self, name: &[u8]) -> io::Result<OwnedFd> {
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.0, component(name)?, flags, Mode::empty())?)
    }

    /// Opens the existing `name` for writing at offsets, through a symbolic link if it is one,
    /// without truncating it: what cp does with an existing link to a file. It may lead anywhere,
    /// so this is for destinations whose links are trusted. No waiting for a FIFO's reader (`ENXIO`
    /// without one); look at what was opened before writing to it.
    pub fn open_write_following(&self, name: &[u8]) -> io::Result<OwnedFd> {
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.0, component(name)?, flags, Mode::empty())?)
    }

    /// Opens the folder that this one is in, for finding out whether one lies in another; of a
    /// filesystem's root, or of a changed root, it is the folder itself (path_resolution(7)).
    pub fn open_parent(&self) -> io::Result<Self> {
        let open = |flags| rustix::fs::openat(&self.0, c"..", flags, Mode::empty());
        let opened =
            open(DIR_FLAGS).or_else(|errno| if errno == Errno::ACCESS { open(SEARCH_FLAGS) } else { Err(errno) });
        Ok(Self(opened?))
    }

    /// Makes the FIFO, socket or device node `name`; `rdev` is the device (makedev(3)) and means
    /// nothing to the first two. The umask applies to `mode`. `InvalidInput` for other kinds;
    /// devices take CAP_MKNOD (mknod(2)).
    pub fn make_node(&self, name: &[u8], kind: Kind, mode: u32, rdev: u64) -> io::Result<()> {
        let (file_type, rdev) = match kind {
            Kind::Fifo => (FileType::Fifo, 0),
            Kind::Socket => (FileType::Socket, 0),
            Kind::CharDevice => (FileType::CharacterDevice, rdev),
            Kind::BlockDevice => (FileType::BlockDevice, rdev),
            Kind::File | Kind::Dir | Kind::Symlink => return Err(io::ErrorKind::InvalidInput.into()),
        };
        Ok(rustix::fs::mknodat(&self.0, component(name)?, file_type, mode_bits(mode), rdev)?)
    }

    /// Sets the permission bits and setuid, setgid, sticky of `name` without opening it for
    /// anything, by way of `/proc/self/fd`; a FIFO or device is not touched otherwise. `ELOOP` for
    /// a symbolic link, which has none.
    pub fn set_mode(&self, name: &[u8], mode: u32) -> io::Result<()> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.0, component(name)?, flags, Mode::empty())?;
        if metadata::metadata_of(&fd)?.kind == metadata::Kind::Symlink {
            return Err(Errno::LOOP.into());
        }
        // A descriptor opened with O_PATH cannot be given to fchmod(2), but its name in /proc leads
        // to the very file (open(2), O_PATH).
        let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
        Ok(rustix::fs::chmod(path, mode_bits(mode))?)
    }

    /// Makes the symbolic link `name`; `target` is any text without NUL and is not looked at.
    pub fn symlink(&self, target: &[u8], name: &[u8]) -> io::Result<()> {
        Ok(rustix::fs::symlinkat(target, &self.0, component(name)?)?)
    }

    /// Gives the file `from_name` in `from_dir` the further name `name` here; a symbolic link is
    /// itself linked, not followed.
    pub fn hard_link(&self, from_dir: &Self, from_name: &[u8], name: &[u8]) -> io::Result<()> {
        let (from, name) = (component(from_name)?, component(name)?);
        Ok(rustix::fs::linkat(&from_dir.0, from, &self.0, name, AtFlags::empty())?)
    }

    /// Renames `name` to `to_name` in `to_dir`, replacing what had that name (rename(2)).
    pub fn rename(&self, name: &[u8], to_dir: &Self, to_name: &[u8]) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.0, component(name)?, &to_dir.0, component(to_name)?)?)
    }

    /// Exchanges what `name` and `to_name` in `to_dir` lead to, in one step (RENAME_EXCHANGE,
    /// renameat2(2)). `Unsupported` where the filesystem or kernel does not.
    pub fn exchange(&self, name: &[u8], to_dir: &Self, to_name: &[u8]) -> io::Result<()> {
        let flags = RenameFlags::EXCHANGE;
        match rustix::fs::renameat_with(&self.0, component(name)?, &to_dir.0, component(to_name)?, flags) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => Err(io::ErrorKind::Unsupported.into()),
            done => Ok(done?),
        }
    }

    /// Renames `name` to `to_name` in `to_dir` unless that name is taken (`AlreadyExists`).
    ///
    /// Where the filesystem lacks RENAME_NOREPLACE this is
    /// [`rename_noreplace_emulated`](Self::rename_noreplace_emulated).
    pub fn rename_noreplace(&self, name: &[u8], to_dir: &Self, to_name: &[u8]) -> io::Result<()> {
        rename::noreplace(self.as_fd(), component(name)?, to_dir.as_fd(), component(to_name)?)
    }

    /// The fallback of [`rename_noreplace`](Self::rename_noreplace): anything but a directory is
    /// linked under the new name, which is atomic, then unlinked from the old, so that for a moment
    /// it has both. A directory, or a file where the filesystem has no hard links, is looked for
    /// and then renamed: something made under the new name in between is replaced if rename(2)
    /// allows it (an empty directory by a directory, a file by a file).
    pub fn rename_noreplace_emulated(&self, name: &[u8], to_dir: &Self, to_name: &[u8]) -> io::Result<()> {
        rename::noreplace_emulated(self.as_fd(), component(name)?, to_dir.as_fd(), component(to_name)?)
    }

    /// Removes the name `name`, which must not be a directory (unlinkat(2)).
    pub fn unlink(&self, name: &[u8]) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, component(name)?, AtFlags::empty())?)
    }

    /// Removes the empty directory `name`.
    pub fn remove_dir(&self, name: &[u8]) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, component(name)?, AtFlags::REMOVEDIR)?)
    }

    /// What `name` is; a symbolic link is described itself.
    pub fn metadata(&self, name: &[u8]) -> io::Result<Metadata> {
        Ok(Metadata::from_stat(&rustix::fs::statat(&self.0, component(name)?, AtFlags::SYMLINK_NOFOLLOW)?))
    }

    /// When `name` was born; see [`birth_of`](metadata::birth_of).
    pub fn birth(&self, name: &[u8]) -> Option<Timestamp> {
        let name = component(name).ok()?;
        metadata::birth(rustix::fs::statx(&self.0, name, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BTIME).ok()?)
    }

    /// What `name` is, or what it leads to if it is a symbolic link (`NotFound` for one that leads
    /// nowhere, `ELOOP` for one to itself).
    pub fn metadata_following(&self, name: &[u8]) -> io::Result<Metadata> {
        Ok(Metadata::from_stat(&rustix::fs::statat(&self.0, component(name)?, AtFlags::empty())?))
    }

    /// Sets access and modification time of `name`, of the link itself if it is one.
    pub fn set_times_both(&self, name: &[u8], atime: Timestamp, mtime: Timestamp) -> io::Result<()> {
        let times = metadata::both_times(atime, mtime)?;
        Ok(rustix::fs::utimensat(&self.0, component(name)?, &times, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Sets the modification time of `name`, of the link itself if it is one; the access time
    /// stays.
    pub fn set_times(&self, name: &[u8], mtime: Timestamp) -> io::Result<()> {
        let times = metadata::only_mtime(mtime)?;
        Ok(rustix::fs::utimensat(&self.0, component(name)?, &times, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Sets owner and group of `name`, of the link itself if it is one. The kernel drops setuid and
    /// setgid of a file on the way.
    pub fn set_owner(&self, name: &[u8], uid: u32, gid: u32) -> io::Result<()> {
        let (uid, gid) = metadata::owner(uid, gid)?;
        Ok(rustix::fs::chownat(&self.0, component(name)?, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Sets the group of `name`, of the link itself if it is one, and leaves its owner. The kernel
    /// drops setuid and setgid of a file on the way.
    pub fn set_group(&self, name: &[u8], gid: u32) -> io::Result<()> {
        let gid = metadata::group(gid)?;
        Ok(rustix::fs::chownat(&self.0, component(name)?, None, Some(gid), AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// The target of the symbolic link `name`; `InvalidInput` if it is none.
    pub fn read_link(&self, name: &[u8]) -> io::Result<Vec<u8>> {
        Ok(rustix::fs::readlinkat(&self.0, component(name)?, Vec::new()).map(CString::into_bytes)?)
    }

    /// Lists the directory from its beginning, on a descriptor of its own, so that listings do not
    /// disturb each other.
    pub fn entries(&self) -> io::Result<Entries> {
        Ok(Entries::new(rustix::fs::openat(&self.0, c".", DIR_FLAGS, Mode::empty())?))
    }

    /// A file without a name on this directory's filesystem, open for reading and writing, gone
    /// when closed (O_TMPFILE, open(2)); `None` where the filesystem or kernel has no such thing.
    pub fn unnamed_file(&self) -> io::Result<Option<OwnedFd>> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.0, c".", flags, mode_bits(0o600)) {
            Ok(fd) => Ok(Some(fd)),
            // Filesystem without it; kernel before 3.11, which sees O_DIRECTORY with write access.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<Dir> for OwnedFd {
    fn from(dir: Dir) -> Self {
        dir.0
    }
}
