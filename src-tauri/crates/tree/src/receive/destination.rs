//! Which folder has to be at the path of the destination, so that an unmounted disk is noticed.
use std::io;
use std::path::Path;

use ringway_model::{Fault, Operation};
use ringway_sys::attributes::{Timestamp, birth_of, metadata_of};
use ringway_sys::dir::Dir;
use ringway_sys::space;

/// What tells a folder from another one at the same path. Its mount and its device have other
/// numbers once a disk was unplugged and plugged in again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FolderIdentity {
    /// The filesystem's magic number (statfs(2)).
    magic: u64,
    /// What it calls itself (`f_fsid` of statvfs(3)).
    fsid: u64,
    /// None where the filesystem draws inode numbers anew.
    ino: Option<u64>,
    /// An inode number may be given to another folder; none where the filesystem knows no birth
    /// times.
    born: Option<Timestamp>,
}

impl FolderIdentity {
    /// That of an open folder.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn of(folder: &Dir) -> io::Result<Self> {
        let filesystem = space::filesystem(folder)?;
        let ino = metadata_of(folder)?.ino;
        Ok(Self {
            magic: filesystem.magic,
            fsid: space::filesystem_id(folder)?,
            ino: filesystem.keeps_inode_numbers().then_some(ino),
            born: birth_of(folder).filter(|_| filesystem.keeps_inode_numbers()),
        })
    }
}

/// What has to be at a path for something to land there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// This folder and no other.
    Folder(FolderIdentity),
    /// A folder on a disk that is not mounted.
    Mounted,
    /// Any folder that is there.
    Any,
    /// Any folder, which is made where nothing is.
    Made,
}

impl Expected {
    /// Opens it.
    ///
    /// # Errors
    /// [`Fault::DestinationGone`] for what is not the folder that is expected; [`Fault::Path`] with
    /// what the kernel said.
    pub fn open(self, path: &Path) -> Result<Dir, Fault> {
        let at = |operation| move |source| Fault::path(path.to_owned(), operation, source);
        if self == Self::Mounted {
            return Err(Fault::DestinationGone);
        }
        if self == Self::Made {
            std::fs::create_dir_all(path).map_err(at(Operation::Create))?;
        }
        let folder = match (Dir::open(path), self) {
            (Err(error), Self::Folder(_)) if error.kind() == io::ErrorKind::NotFound => {
                return Err(Fault::DestinationGone);
            }
            (opened, _) => opened.map_err(at(Operation::Open))?,
        };
        match self {
            Self::Folder(expected) if FolderIdentity::of(&folder).map_err(at(Operation::Open))? != expected => {
                Err(Fault::DestinationGone)
            }
            _ => Ok(folder),
        }
    }

    /// Whether it is there, or can be once it is made. A folder that may not be listed is taken to
    /// be.
    pub fn is_there(self, path: &Path) -> bool {
        match self {
            Self::Folder(_) => !matches!(self.open(path), Err(Fault::DestinationGone)),
            Self::Mounted => false,
            Self::Any => path.exists(),
            Self::Made => true,
        }
    }
}
