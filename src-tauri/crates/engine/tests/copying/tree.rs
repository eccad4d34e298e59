//! Owns making trees: entries of every kind with attributes of their own, and times that nothing
//! touches any more.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use ringway_sys::attributes::{Kind, Timestamp};
use ringway_sys::dir::Dir;
use rustix::fs::XattrFlags;

/// Bytes that differ from file to file and from place to place.
pub(crate) fn pattern(seed: usize, len: usize) -> Vec<u8> {
    (0..len).map(|at| (at.wrapping_mul(31) ^ (at >> 8).wrapping_mul(7) ^ seed.wrapping_mul(131)) as u8).collect()
}

/// A tree in the making below a folder that it makes.
pub(crate) struct Tree(PathBuf);

impl Tree {
    pub(crate) fn new(root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        fs::create_dir_all(&root).unwrap();
        Self(root)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn dir(&self, name: &str) -> &Self {
        fs::create_dir_all(self.path(name)).unwrap();
        self
    }

    pub(crate) fn file(&self, name: &str, contents: impl AsRef<[u8]>) -> &Self {
        fs::write(self.path(name), contents).unwrap();
        self
    }

    pub(crate) fn bytes_named(&self, name: &[u8], contents: &str) -> &Self {
        fs::write(self.0.join(OsStr::from_bytes(name)), contents).unwrap();
        self
    }

    /// A file of `len` bytes with data at `stored` and holes elsewhere.
    pub(crate) fn sparse(&self, name: &str, len: u64, stored: &[(u64, usize)]) -> &Self {
        let file = File::create(self.path(name)).unwrap();
        file.set_len(len).unwrap();
        for &(at, bytes) in stored {
            file.write_all_at(&pattern(at as usize + 1, bytes), at).unwrap();
        }
        self
    }

    pub(crate) fn link(&self, target: &str, name: &str) -> &Self {
        symlink(target, self.path(name)).unwrap();
        self
    }

    pub(crate) fn hard(&self, name: &str, further: &str) -> &Self {
        fs::hard_link(self.path(name), self.path(further)).unwrap();
        self
    }

    pub(crate) fn node(&self, name: &str, kind: Kind, mode: u32, device: (u32, u32)) -> io::Result<()> {
        let (path, device) = (self.path(name), rustix::fs::makedev(device.0, device.1));
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        Dir::open(parent)?.make_node(name.as_bytes(), kind, 0o600, device)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(mode))
    }

    pub(crate) fn mode(&self, name: &str, mode: u32) -> &Self {
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).unwrap();
        self
    }

    pub(crate) fn owner(&self, name: &str, uid: u32, gid: u32) -> &Self {
        std::os::unix::fs::lchown(self.path(name), Some(uid), Some(gid)).unwrap();
        self
    }

    /// Sets an attribute on the entry itself; false where that cannot be.
    pub(crate) fn xattr(&self, name: &str, attribute: &str, value: &[u8]) -> bool {
        rustix::fs::lsetxattr(self.path(name), attribute, value, XattrFlags::empty()).is_ok()
    }

    /// Gives all entries times of their own. Access times lie ahead, so that reading moves none of
    /// them even where a mount keeps them (relatime, mount(8)); nothing may be made in the tree
    /// afterwards.
    pub(crate) fn settle(&self) -> PathBuf {
        settle(&self.0, b"root");
        self.0.clone()
    }
}

/// Times go by the name, so that trees made alike have the same.
fn settle(path: &Path, name: &[u8]) {
    /// 2020-09-13, and 2036-07-18.
    const MODIFIED: i64 = 1_600_000_000;
    const ACCESSED: i64 = 2_100_000_000;
    if fs::symlink_metadata(path).unwrap().is_dir() {
        let Ok(entries) = fs::read_dir(path) else { return };
        for entry in entries.map(Result::unwrap) {
            settle(&entry.path(), entry.file_name().as_bytes());
        }
    }
    let mix = name.iter().fold(7_u32, |mix, &byte| mix.wrapping_mul(131).wrapping_add(byte.into()));
    let time = |base: i64| Timestamp { secs: base + i64::from(mix % 10_000_000), nanos: mix % 1_000_000_000 };
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return };
    // Not one's own: left as it is.
    let _ = Dir::open(parent).unwrap().set_times_both(name.as_bytes(), time(ACCESSED), time(MODIFIED));
}
