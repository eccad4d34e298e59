//! What the receiver asks of a disk: every operation that changes or synchronises something, so
//! that a simulation can stand between any two of them. What to ask, and in which order, is the
//! receiver's business.
//!
//! Reading goes to the kernel directly, but for what tells the medium's faults from what somebody
//! has changed. So does the spool, whose file has no name: nothing of it is
//! found after a crash.
mod dir;

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

use ringway_sys::attributes::{self, Metadata, Timestamp};
use ringway_sys::dir::Dir as KernelDir;
use ringway_sys::file_io::{self, FileIo, WriteAt};
use ringway_sys::space::{self, Filesystem, Medium};
use ringway_sys::{advice, contents, writers};
use rustix::fs::{AtFlags, Mode};

pub use dir::Dir;
pub(crate) use dir::NameIn;

/// Bytes after which the disk is asked to go on with what it has not got yet. The kernel by itself
/// waits for a tenth of the memory, or half a minute.
const WRITE_BACK_AFTER: u64 = 128 * 1024 * 1024;

/// Threads that read back, at the most: beyond a few, a disk only gets more to choose from.
const READERS_MAX: usize = 8;

/// Work that is done beside the receiver's.
pub type Work = Box<dyn FnOnce() + Send>;

/// A disk. Each method does by itself what the kernel does; a wrapper overrides it.
pub trait Disk: Send + Sync {
    /// mkdirat(2).
    ///
    /// # Errors
    /// This one's, and all others', are what the kernel says.
    fn make_dir(&self, dir: &KernelDir, name: &[u8], mode: u32) -> io::Result<()> {
        dir.make_dir(name, mode)
    }

    /// Creates a file for writing (O_EXCL).
    fn create_new(&self, dir: &KernelDir, name: &[u8], mode: u32) -> io::Result<OwnedFd> {
        dir.create_new(name, mode)
    }

    /// symlinkat(2).
    fn symlink(&self, target: &[u8], dir: &KernelDir, name: &[u8]) -> io::Result<()> {
        dir.symlink(target, name)
    }

    /// Gives the file `from` the further name `to`.
    fn hard_link(&self, from: (&KernelDir, &[u8]), to: (&KernelDir, &[u8])) -> io::Result<()> {
        to.0.hard_link(from.0, from.1, to.1)
    }

    /// Renames over what has that name.
    fn rename(&self, from: (&KernelDir, &[u8]), to: (&KernelDir, &[u8])) -> io::Result<()> {
        from.0.rename(from.1, to.0, to.1)
    }

    /// Renames unless something has that name.
    fn rename_noreplace(&self, from: (&KernelDir, &[u8]), to: (&KernelDir, &[u8])) -> io::Result<()> {
        from.0.rename_noreplace(from.1, to.0, to.1)
    }

    /// Exchanges two names.
    fn exchange(&self, from: (&KernelDir, &[u8]), to: (&KernelDir, &[u8])) -> io::Result<()> {
        from.0.exchange(from.1, to.0, to.1)
    }

    /// Removes a name that is not a folder's.
    fn unlink(&self, dir: &KernelDir, name: &[u8]) -> io::Result<()> {
        dir.unlink(name)
    }

    /// Removes an empty folder.
    fn remove_dir(&self, dir: &KernelDir, name: &[u8]) -> io::Result<()> {
        dir.remove_dir(name)
    }

    /// Sets the mode of what has that name.
    fn set_mode_at(&self, dir: &KernelDir, name: &[u8], mode: u32) -> io::Result<()> {
        dir.set_mode(name, mode)
    }

    /// Sets the mode of the folder that has that name (fchmodat(2)).
    fn set_folder_mode_at(&self, dir: &KernelDir, name: &[u8], mode: u32) -> io::Result<()> {
        Ok(rustix::fs::chmodat(dir, name, Mode::from_raw_mode(mode), AtFlags::empty())?)
    }

    /// Sets modification time, and where it is given access time, of what has that name, a link
    /// itself included.
    fn set_times_at(&self, dir: &KernelDir, name: &[u8], atime: Option<Timestamp>, mtime: Timestamp) -> io::Result<()> {
        match atime {
            Some(atime) => dir.set_times_both(name, atime, mtime),
            None => dir.set_times(name, mtime),
        }
    }

    /// Sets owner and group of what has that name, a link itself included.
    fn set_owner_at(&self, dir: &KernelDir, name: &[u8], uid: u32, gid: u32) -> io::Result<()> {
        dir.set_owner(name, uid, gid)
    }

    /// Sets the mode of an open file or folder.
    fn set_mode(&self, fd: BorrowedFd<'_>, mode: u32) -> io::Result<()> {
        attributes::set_mode(fd, mode)
    }

    /// Sets modification time, and where it is given access time, of an open file or folder.
    fn set_times(&self, fd: BorrowedFd<'_>, atime: Option<Timestamp>, mtime: Timestamp) -> io::Result<()> {
        match atime {
            Some(atime) => attributes::set_times_both(fd, atime, mtime),
            None => attributes::set_file_times(fd, mtime),
        }
    }

    /// Sets owner and group of an open file or folder.
    fn set_owner(&self, fd: BorrowedFd<'_>, uid: u32, gid: u32) -> io::Result<()> {
        attributes::set_owner_fd(fd, uid, gid)
    }

    /// Sets the group of an open file.
    fn set_group(&self, fd: BorrowedFd<'_>, gid: u32) -> io::Result<()> {
        attributes::set_group_fd(fd, gid)
    }

    /// Removes the access control list of an open file or folder, if it has one.
    fn remove_acl(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        attributes::remove_acl(fd)
    }

    /// Removes the one that a folder passes on, if it has one.
    fn remove_default_acl(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        attributes::remove_default_acl(fd)
    }

    /// Sets an extended attribute of an open file or folder.
    fn set_xattr(&self, fd: BorrowedFd<'_>, name: &[u8], value: &[u8]) -> io::Result<()> {
        attributes::set_xattr(fd, name, value)
    }

    /// Sets the length of an open file.
    fn set_len(&self, file: BorrowedFd<'_>, bytes: u64) -> io::Result<()> {
        attributes::set_len(file, bytes)
    }

    /// Writes many pieces by the lane's own driver.
    fn write_all(&self, io: &mut FileIo, writes: &[WriteAt<'_>], results: &mut Vec<io::Result<()>>) {
        io.write_all_at(writes, results);
    }

    /// Writes one piece.
    fn write_at(&self, file: BorrowedFd<'_>, offset: u64, bytes: &[u8]) -> io::Result<()> {
        file_io::write_all_at(file, offset, bytes)
    }

    /// Copies between two files inside the kernel; `None` if it cannot.
    fn copy_range(
        &self,
        from: BorrowedFd<'_>,
        from_offset: u64,
        to: BorrowedFd<'_>,
        to_offset: u64,
        len: usize,
    ) -> io::Result<Option<usize>> {
        contents::copy_range(from, from_offset, to, to_offset, len)
    }

    /// What it is, which says what it promises for a power cut.
    fn filesystem(&self, fd: BorrowedFd<'_>) -> io::Result<Filesystem> {
        space::filesystem(fd)
    }

    /// Starts writing a file's contents to the medium.
    fn begin_write_out(&self, file: BorrowedFd<'_>) {
        space::begin_write_out(file);
    }

    /// Has a file's contents reach the medium, and waits.
    fn write_out(&self, file: BorrowedFd<'_>, on: Filesystem) -> io::Result<()> {
        space::write_out(file, on)
    }

    /// Makes the names in a folder durable.
    fn sync_dir(&self, dir: &KernelDir) -> io::Result<()> {
        space::sync_dir(dir)
    }

    /// syncfs(2).
    fn sync_filesystem(&self, dir: &KernelDir) -> io::Result<()> {
        space::sync_filesystem(dir)
    }

    /// fdatasync(2).
    fn sync_data(&self, file: BorrowedFd<'_>) -> io::Result<()> {
        Ok(rustix::fs::fdatasync(file)?)
    }

    /// Has a file read from its medium: memory lets go of what is there already
    /// (POSIX_FADV_DONTNEED).
    fn drop_cached(&self, file: BorrowedFd<'_>) {
        advice::dont_need(file);
    }

    /// Whether somebody may go on writing into a file that is open for reading here.
    fn has_writers(&self, file: BorrowedFd<'_>) -> bool {
        writers::has_writers(file)
    }

    /// What an open file is besides its contents.
    fn metadata(&self, file: BorrowedFd<'_>) -> io::Result<Metadata> {
        attributes::metadata_of(file)
    }

    /// Told of each descriptor of a folder: by that, errors of earlier writes are told once each.
    fn opened(&self, _dir: &KernelDir) {}

    /// The same for a copy of one, which shares what was told.
    fn cloned(&self, _from: &KernelDir, _dir: &KernelDir) {}

    /// Bytes after which the disk is asked to go on with what it has not got yet.
    fn write_back_after(&self) -> u64 {
        WRITE_BACK_AFTER
    }

    /// Threads that read back from a device: as many as there are processors, but one where a head
    /// has to move.
    fn readers(&self, dev: u64) -> usize {
        match space::medium(dev) {
            Some(Medium::Rotational) => 1,
            _ => std::thread::available_parallelism().map_or(1, usize::from).min(READERS_MAX),
        }
    }

    /// Has something done on a thread of its own; false if it has none.
    fn beside(&self, work: Work) -> bool {
        std::thread::Builder::new().name("ringway-sync".into()).spawn(work).is_ok()
    }
}

/// The disk as the kernel has it.
struct Kernel;

impl Disk for Kernel {}

/// Which disk something is on: the kernel's, unless somebody stands in between.
#[derive(Clone, Default)]
pub(crate) struct On(Option<Arc<dyn Disk>>);

impl On {
    pub(crate) fn disk(&self) -> &dyn Disk {
        match &self.0 {
            None => &Kernel,
            Some(disk) => &**disk,
        }
    }
}

impl From<Arc<dyn Disk>> for On {
    fn from(disk: Arc<dyn Disk>) -> Self {
        Self(Some(disk))
    }
}
