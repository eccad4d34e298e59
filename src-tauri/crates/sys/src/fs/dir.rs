//! Owns directory descriptors and every operation on one name inside a directory. No path given
//! here is followed out of it.

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

/// An open directory. Every operation names one component in it, so that no text from a peer can
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

/// Refuses anything that is not a single component: an empty name, `.`, `..`, or one with a slash
/// or NUL (open(2), path_resolution(7)).
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

/// The permission, setuid, setgid and sticky bits of `mode`.
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

    /// The same for a directory in which names are to be looked up and made, even if it may not be
    /// listed.
    pub fn open_beneath_to_search(&self, rel: &[u8], method: Beneath) -> io::Result<Self> {
        let open = |flags| beneath::open(self.as_fd(), rel, flags, method).map(Self);
        open(DIR_FLAGS).or_else(|error| if is_denied(&error) { open(SEARCH_FLAGS) } else { Err(error) })
    }

    /// Opens the directory `name`, not through a symbolic link.
    pub fn open_dir(&self, name: &[u8]) -> io::Result<Self> {
        beneath::open_component(self.as_fd(), component(name)?, DIR_FLAGS).map(Self)
    }

    /// Opens the directory `name` for looking up and making names, even if it may not be listed.
    pub fn open_dir_to_search(&self, name: &[u8]) -> io::Result<Self> {
        let open = |flags| beneath::open_component(self.as_fd(), component(name)?, flags).map(Self);
        open(DIR_FLAGS).or_else(|error| if is_denied(&error) { open(SEARCH_FLAGS) } else { Err(error) })
    }

    /// Opens the directory that a person named, for looking up and making names, even if it may not
    /// be listed. Symbolic links are followed.
    pub fn open_to_search(path: &Path) -> io::Result<Self> {
        match Self::open(path) {
            Err(error) if is_denied(&error) => {
                Ok(Self(rustix::fs::openat(CWD, path.as_os_str().as_bytes(), SEARCH_FLAGS, Mode::empty())?))
            }
            opened => opened,
        }
    }

    /// Opens again, for listing and for setting attributes, a directory that was opened for
    /// searching only. If its owner lacks the permission for that, the mode gets it, through
    /// `/proc/self/fd`, and keeps it. `None` if the directory is open for listing already.
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

    /// Makes the directory `name`. The umask applies to `mode` (mkdirat(2)).
    pub fn make_dir(&self, name: &[u8], mode: u32) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.0, component(name)?, mode_bits(mode))?)
    }

    /// Creates the file `name` for writing; `AlreadyExists` if anything, even a dangling link, has
    /// that name. The umask applies.
    pub fn create_new(&self, name: &[u8], mode: u32) -> io::Result<OwnedFd> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.0, component(name)?, flags, mode_bits(mode))?)
    }

    /// Opens the existing `name` for reading. It follows no link (`ELOOP`), does not wait for a
    /// FIFO's writer, and leaves the access time alone if the caller may request that (O_NOATIME,
    /// open(2)).
    pub fn open_read(&self, name: &[u8]) -> io::Result<OwnedFd> {
        match rustix::fs::openat(&self.0, component(name)?, READ_FLAGS | OFlags::NOATIME, Mode::empty()) {
            // The caller is not the owner of the file.
            Err(Errno::PERM) => self.open_read_atime(name),
            other => Ok(other?),
        }
    }

    /// [`open_read`](Self::open_read) without the request to leave the access time alone. It saves
    /// a call if the caller knows that the request would be refused.
    pub fn open_read_atime(&self, name: &[u8]) -> io::Result<OwnedFd> {
        Ok(rustix::fs::openat(&self.0, component(name)?, READ_FLAGS, Mode::empty())?)
    }

    /// Opens the target of `name` for reading, through symbolic links, as for a person who reads by
    /// that name. The access time stays if the caller may request that.
    pub fn open_read_following(&self, name: &[u8]) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        let name = component(name)?;
        let open = |flags| rustix::fs::openat(&self.0, name, flags, Mode::empty());
        match open(flags | OFlags::NOATIME) {
            // The caller is not the owner of the file.
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
    /// without truncating it. This is what cp does with an existing link to a file. The link may
    /// lead anywhere, so this is for destinations whose links are trusted. It does not wait for a
    /// FIFO's reader (`ENXIO` without one). Check what was opened before writing to it.
    pub fn open_write_following(&self, name: &[u8]) -> io::Result<OwnedFd> {
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.0, component(name)?, flags, Mode::empty())?)
    }

    /// Opens the parent of this folder, to find out whether one folder lies in another. The parent
    /// of a filesystem's root, or of a changed root, is the folder itself (path_resolution(7)).
    pub fn open_parent(&self) -> io::Result<Self> {
        let open = |flags| rustix::fs::openat(&self.0, c"..", flags, Mode::empty());
        let opened =
            open(DIR_FLAGS).or_else(|errno| if errno == Errno::ACCESS { open(SEARCH_FLAGS) } else { Err(errno) });
        Ok(Self(opened?))
    }

    /// Makes the FIFO, socket or device node `name`. `rdev` is the device (makedev(3)) and has no
    /// meaning for FIFOs and sockets. The umask applies to `mode`. `InvalidInput` for other kinds;
    /// devices need CAP_MKNOD (mknod(2)).
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

    /// Sets the permission, setuid, setgid and sticky bits of `name` through `/proc/self/fd`,
    /// without opening it for reading or writing. So a FIFO or device is not disturbed. `ELOOP` for
    /// a symbolic link, which has no mode.
    pub fn set_mode(&self, name: &[u8], mode: u32) -> io::Result<()> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.0, component(name)?, flags, Mode::empty())?;
        if metadata::metadata_of(&fd)?.kind == metadata::Kind::Symlink {
            return Err(Errno::LOOP.into());
        }
        // fchmod(2) does not accept a descriptor that was opened with O_PATH, but its name in /proc
        // leads to the same file (open(2), O_PATH).
        let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
        Ok(rustix::fs::chmod(path, mode_bits(mode))?)
    }

    /// Makes the symbolic link `name`. `target` is any text without NUL and is not checked.
    pub fn symlink(&self, target: &[u8], name: &[u8]) -> io::Result<()> {
        Ok(rustix::fs::symlinkat(target, &self.0, component(name)?)?)
    }

    /// Gives the file `from_name` in `from_dir` the additional name `name` here. A symbolic link is
    /// itself linked, not followed.
    pub fn hard_link(&self, from_dir: &Self, from_name: &[u8], name: &[u8]) -> io::Result<()> {
        let (from, name) = (component(from_name)?, component(name)?);
        Ok(rustix::fs::linkat(&from_dir.0, from, &self.0, name, AtFlags::empty())?)
    }

    /// Renames `name` to `to_name` in `to_dir`, replacing what had that name (rename(2)).
    pub fn rename(&self, name: &[u8], to_dir: &Self, to_name: &[u8]) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.0, component(name)?, &to_dir.0, component(to_name)?)?)
    }

    /// Exchanges `name` and `to_name` in `to_dir` in one step (RENAME_EXCHANGE, renameat2(2)).
    /// `Unsupported` if the filesystem or kernel cannot.
    pub fn exchange(&self, name: &[u8], to_dir: &Self, to_name: &[u8]) -> io::Result<()> {
        let flags = RenameFlags::EXCHANGE;
        match rustix::fs::renameat_with(&self.0, component(name)?, &to_dir.0, component(to_name)?, flags) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => Err(io::ErrorKind::Unsupported.into()),
            done => Ok(done?),
        }
    }

    /// Renames `name` to `to_name` in `to_dir` unless that name is taken (`AlreadyExists`).
    ///
    /// If the filesystem lacks RENAME_NOREPLACE this is
    /// [`rename_noreplace_emulated`](Self::rename_noreplace_emulated).
    pub fn rename_noreplace(&self, name: &[u8], to_dir: &Self, to_name: &[u8]) -> io::Result<()> {
        rename::noreplace(self.as_fd(), component(name)?, to_dir.as_fd(), component(to_name)?)
    }

    /// The fallback of [`rename_noreplace`](Self::rename_noreplace). An entry that is no directory
    /// is linked under the new name, which is atomic, and then unlinked from the old one, so that
    /// it has both names for a moment. For a directory, or a file if the filesystem has no hard
    /// links, the new name is checked first and then the entry is renamed. An entry that another
    /// process makes under the new name in between is replaced if rename(2) allows it (an empty
    /// directory by a directory, a file by a file).
    pub fn rename_noreplace_emulated(&self, name: &[u8], to_dir: &Self, to_name: &[u8]) -> io::Result<()> {
        rename::noreplace_emulated(self.as_fd(), component(name)?, to_dir.as_fd(), component(to_name)?)
    }

    /// Removes `name`, which must not be a directory (unlinkat(2)).
    pub fn unlink(&self, name: &[u8]) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, component(name)?, AtFlags::empty())?)
    }

    /// Removes the empty directory `name`.
    pub fn remove_dir(&self, name: &[u8]) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, component(name)?, AtFlags::REMOVEDIR)?)
    }

    /// The metadata of `name`; of the link itself if it is a symbolic link.
    pub fn metadata(&self, name: &[u8]) -> io::Result<Metadata> {
        Ok(Metadata::from_stat(&rustix::fs::statat(&self.0, component(name)?, AtFlags::SYMLINK_NOFOLLOW)?))
    }

    /// The birth time of `name`; see [`birth_of`](metadata::birth_of).
    pub fn birth(&self, name: &[u8]) -> Option<Timestamp> {
        let name = component(name).ok()?;
        metadata::birth(rustix::fs::statx(&self.0, name, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BTIME).ok()?)
    }

    /// The metadata of `name`, or of its target if it is a symbolic link (`NotFound` for a link
    /// that leads nowhere, `ELOOP` for a link to itself).
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

    /// Gives `name`, the link itself if it is one, another change time. Its access time becomes a
    /// nanosecond later, because a rename at the same moment changes the change time, too
    /// ([`Metadata::is_renewed_since`]). False if its clock did not go on meanwhile.
    pub fn renew_change_time(&self, name: &[u8], there: &Metadata) -> io::Result<bool> {
        let times = metadata::only_atime(there.atime.next())?;
        rustix::fs::utimensat(&self.0, component(name)?, &times, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(self.metadata(name)?.ctime != there.ctime)
    }

    /// Sets owner and group of `name`, of the link itself if it is one. The kernel then drops a
    /// file's setuid and setgid bits.
    pub fn set_owner(&self, name: &[u8], uid: u32, gid: u32) -> io::Result<()> {
        let (uid, gid) = metadata::owner(uid, gid)?;
        Ok(rustix::fs::chownat(&self.0, component(name)?, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Sets the group of `name`, of the link itself if it is one, and leaves its owner. The kernel
    /// then drops a file's setuid and setgid bits.
    pub fn set_group(&self, name: &[u8], gid: u32) -> io::Result<()> {
        let gid = metadata::group(gid)?;
        Ok(rustix::fs::chownat(&self.0, component(name)?, None, Some(gid), AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// The target of the symbolic link `name`; `InvalidInput` if it is no link.
    pub fn read_link(&self, name: &[u8]) -> io::Result<Vec<u8>> {
        Ok(rustix::fs::readlinkat(&self.0, component(name)?, Vec::new()).map(CString::into_bytes)?)
    }

    /// Lists the directory from its beginning, on a separate descriptor, so that listings do not
    /// disturb each other.
    pub fn entries(&self) -> io::Result<Entries> {
        Ok(Entries::new(rustix::fs::openat(&self.0, c".", DIR_FLAGS, Mode::empty())?))
    }

    /// A file without a name on this directory's filesystem, open for reading and writing, which is
    /// gone once it is closed (O_TMPFILE, open(2)). `None` if the filesystem or kernel does not
    /// support this.
    pub fn unnamed_file(&self) -> io::Result<Option<OwnedFd>> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.0, c".", flags, mode_bits(0o600)) {
            Ok(fd) => Ok(Some(fd)),
            // The filesystem does not support it, or the kernel is older than 3.11, which reads the
            // flags as O_DIRECTORY with write access.
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
