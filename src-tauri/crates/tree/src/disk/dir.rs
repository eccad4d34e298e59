//! An open folder of the receiver's, with the disk that it is on: names are changed by way of that.
use std::fmt;
use std::io;
use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use ringway_sys::attributes::Timestamp;
use ringway_sys::dir::Dir as KernelDir;

use super::{Disk, On};

/// An open folder. What reads is the kernel's own [`Dir`](KernelDir); what changes something has
/// the same name here and goes to the [`Disk`].
pub struct Dir {
    dir: KernelDir,
    on: On,
}

/// A name in an open folder.
#[derive(Clone, Copy)]
pub(crate) struct NameIn<'d> {
    pub(crate) dir: &'d Dir,
    pub(crate) name: &'d [u8],
}

impl Deref for Dir {
    type Target = KernelDir;

    fn deref(&self) -> &KernelDir {
        &self.dir
    }
}

/// On the kernel's disk.
impl From<KernelDir> for Dir {
    fn from(dir: KernelDir) -> Self {
        Self::on(dir, On::default())
    }
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }
}

impl fmt::Debug for Dir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.dir.fmt(f)
    }
}

impl Dir {
    /// Opens the folder that a person named, as [`KernelDir::open`] does, on the kernel's disk.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(KernelDir::open(path)?.into())
    }

    pub(crate) fn on(dir: KernelDir, on: On) -> Self {
        on.disk().opened(&dir);
        Self { dir, on }
    }

    /// Which disk it is on.
    pub(crate) fn on_disk(&self) -> &On {
        &self.on
    }

    pub(crate) fn disk(&self) -> &dyn Disk {
        self.on.disk()
    }

    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        let dir = self.dir.try_clone()?;
        self.disk().cloned(&self.dir, &dir);
        Ok(Self { dir, on: self.on.clone() })
    }

    pub(crate) fn open_beneath(&self, rel: &[u8]) -> io::Result<Self> {
        Ok(Self::on(self.dir.open_beneath(rel)?, self.on.clone()))
    }

    pub(crate) fn open_dir(&self, name: &[u8]) -> io::Result<Self> {
        Ok(Self::on(self.dir.open_dir(name)?, self.on.clone()))
    }

    pub(crate) fn make_dir(&self, name: &[u8], mode: u32) -> io::Result<()> {
        self.disk().make_dir(&self.dir, name, mode)
    }

    pub(crate) fn create_new(&self, name: &[u8], mode: u32) -> io::Result<OwnedFd> {
        self.disk().create_new(&self.dir, name, mode)
    }

    pub(crate) fn symlink(&self, target: &[u8], name: &[u8]) -> io::Result<()> {
        self.disk().symlink(target, &self.dir, name)
    }

    pub(crate) fn hard_link(&self, from: &Self, from_name: &[u8], name: &[u8]) -> io::Result<()> {
        self.disk().hard_link((&from.dir, from_name), (&self.dir, name))
    }

    pub(crate) fn rename(&self, name: &[u8], to: &Self, to_name: &[u8]) -> io::Result<()> {
        self.disk().rename((&self.dir, name), (&to.dir, to_name))
    }

    pub(crate) fn rename_noreplace(&self, name: &[u8], to: &Self, to_name: &[u8]) -> io::Result<()> {
        self.disk().rename_noreplace((&self.dir, name), (&to.dir, to_name))
    }

    pub(crate) fn exchange(&self, name: &[u8], to: &Self, to_name: &[u8]) -> io::Result<()> {
        self.disk().exchange((&self.dir, name), (&to.dir, to_name))
    }

    pub(crate) fn unlink(&self, name: &[u8]) -> io::Result<()> {
        self.disk().unlink(&self.dir, name)
    }

    pub(crate) fn remove_dir(&self, name: &[u8]) -> io::Result<()> {
        self.disk().remove_dir(&self.dir, name)
    }

    pub(crate) fn set_mode(&self, name: &[u8], mode: u32) -> io::Result<()> {
        self.disk().set_mode_at(&self.dir, name, mode)
    }

    pub(crate) fn set_folder_mode(&self, name: &[u8], mode: u32) -> io::Result<()> {
        self.disk().set_folder_mode_at(&self.dir, name, mode)
    }

    pub(crate) fn set_times(&self, name: &[u8], mtime: Timestamp) -> io::Result<()> {
        self.disk().set_times_at(&self.dir, name, None, mtime)
    }

    pub(crate) fn set_times_both(&self, name: &[u8], atime: Timestamp, mtime: Timestamp) -> io::Result<()> {
        self.disk().set_times_at(&self.dir, name, Some(atime), mtime)
    }

    pub(crate) fn set_owner(&self, name: &[u8], uid: u32, gid: u32) -> io::Result<()> {
        self.disk().set_owner_at(&self.dir, name, uid, gid)
    }

    /// Sets the mode of the folder itself.
    pub(crate) fn set_own_mode(&self, mode: u32) -> io::Result<()> {
        self.disk().set_mode(self.as_fd(), mode)
    }

    /// Makes the names in it durable.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.disk().sync_dir(&self.dir)
    }

    /// Brings all of its filesystem to the medium. An error that was not told by this descriptor
    /// yet is told now (syncfs(2)).
    pub(crate) fn sync_filesystem(&self) -> io::Result<()> {
        self.disk().sync_filesystem(&self.dir)
    }
}
