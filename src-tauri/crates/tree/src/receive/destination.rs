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
    /// `None` if the filesystem draws inode numbers anew.
    ino: Option<u64>,
    /// An inode number may be given to another folder; `None` if the filesystem knows no birth
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

impl FolderIdentity {
    /// Bytes of an encoded identity.
    pub const ENCODED_LEN: usize = 8 + 8 + 1 + 8 + 1 + 8 + 4;

    /// Whether it still is the folder's when that is looked at again.
    pub(in crate::receive) fn is_lasting(&self) -> bool {
        self.ino.is_some()
    }

    /// When the folder was made, where its filesystem keeps inode numbers and tells that.
    pub(in crate::receive) fn born(&self) -> Option<Timestamp> {
        self.born
    }

    /// As bytes, for a store.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(Self::ENCODED_LEN);
        out.extend_from_slice(&self.magic.to_le_bytes());
        out.extend_from_slice(&self.fsid.to_le_bytes());
        out.push(self.ino.is_some().into());
        out.extend_from_slice(&self.ino.unwrap_or_default().to_le_bytes());
        out.push(self.born.is_some().into());
        let born = self.born.unwrap_or(Timestamp { secs: 0, nanos: 0 });
        out.extend_from_slice(&born.secs.to_le_bytes());
        out.extend_from_slice(&born.nanos.to_le_bytes());
        out
    }

    /// From such bytes; none for others.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::ENCODED_LEN] = bytes.try_into().ok()?;
        let long = |at: usize| bytes[at..].first_chunk().copied().map(u64::from_le_bytes);
        let flag = |at: usize| match bytes[at] {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        };
        let nanos = bytes.last_chunk().copied().map(u32::from_le_bytes)?;
        let born = Timestamp { secs: i64::from_le_bytes(*bytes[26..].first_chunk()?), nanos };
        Some(Self {
            magic: long(0)?,
            fsid: long(8)?,
            ino: flag(16)?.then_some(long(17)?),
            born: flag(25)?.then_some(born),
        })
    }

    /// Whether this is the same folder as one that was seen before the machine was started anew.
    /// Some filesystems have another id then (xfs, tmpfs): where inode number and birth time are
    /// known, they decide.
    pub fn is_still(&self, before: &Self) -> bool {
        let is_alike = (self.magic, self.ino, self.born) == (before.magic, before.ino, before.born);
        is_alike && (self.fsid == before.fsid || self.ino.is_none() || self.born.is_some())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_survives_the_store_and_tells_folders_apart() {
        let base = tempfile::tempdir().unwrap();
        let of = |path: &Path| FolderIdentity::of(&Dir::open(path).unwrap()).unwrap();
        let (one, other) = (base.path().join("one"), base.path().join("other"));
        std::fs::create_dir(&one).unwrap();
        std::fs::create_dir(&other).unwrap();
        let first = of(&one);
        assert_eq!(FolderIdentity::decode(&first.encode()), Some(first));
        assert!(of(&one).is_still(&first) && !of(&other).is_still(&first));
        for short in 0..FolderIdentity::ENCODED_LEN {
            assert_eq!(FolderIdentity::decode(&first.encode()[..short]), None);
        }
        let elsewhere = FolderIdentity { fsid: first.fsid ^ 1, ..first };
        assert_eq!(elsewhere.is_still(&first), first.ino.is_none() || first.born.is_some());
        let without = |identity| FolderIdentity { born: None, ino: Some(7), ..identity };
        assert!(!without(elsewhere).is_still(&without(first)));
    }
}
