//! The folder that everything lands beneath, and where in it nothing may land.
use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::RwLock;
use ringway_model::{Fault, IntoHome, Invalid, Operation};
use ringway_sys::attributes::{Metadata, metadata_of};
use ringway_sys::space::Filesystem;

use super::failures::EntryError;
use super::landings::log::{Destination, Recall};
use super::options::{DestinationOptions, homes_below};
use super::protected::homes::Homes;
use super::protected::own_folders::OwnFolders;
use crate::disk::{Dir, Disk, On};

/// The folder that everything lands beneath.
pub(super) struct Root {
    pub(super) dir: Dir,
    /// As it was named.
    path: PathBuf,
    /// Names of top-level folders that are merged into under another name than the sender's.
    numbered: RwLock<HashMap<Vec<u8>, Vec<u8>>>,
    /// Its filesystem.
    pub(super) dev: u64,
    /// The kind of that.
    pub(super) filesystem: Filesystem,
    /// Homes whose top takes no name that begins with a dot, or nothing; `None` if anything may
    /// land in a home.
    homes: Homes,
    /// It is one of them itself.
    pub(super) is_home: bool,
    into_home: IntoHome,
    /// Where nothing may land.
    pub(super) own: OwnFolders,
    /// What takes up what receivers that were killed have left.
    pub(super) recall: Option<Arc<Recall>>,
}

impl Root {
    /// Opens what is expected to be there, or takes what is open already.
    pub(super) fn open(options: &DestinationOptions, opened: Option<Dir>, on: On) -> Result<Self, Fault> {
        let path = options.destination.clone();
        let failed = |operation| {
            let path = path.clone();
            move |source| Fault::path(path, operation, source)
        };
        let dir = match opened {
            Some(dir) => dir,
            None => Dir::on(options.expected.open(&path)?, on),
        };
        let there = metadata_of(&dir).map_err(failed(Operation::Open))?;
        let filesystem = dir.disk().filesystem(dir.as_fd()).map_err(failed(Operation::Open))?;
        if options.own.contain(&dir).map_err(failed(Operation::Open))? {
            return Err(Fault::Invalid(Invalid::OwnFolder { folder: path.into() }));
        }
        let homes = homes_below(&dir, there.uid, options);
        let is_home = homes.has(&there);
        if is_home && options.into_home == IntoHome::Refuse {
            return Err(Fault::Invalid(Invalid::HomeFolder { folder: path.into() }));
        }
        let (into_home, own, recall) = (options.into_home, options.own.clone(), options.recall.clone());
        let numbered = RwLock::default();
        Ok(Self { dir, path, numbered, dev: there.dev, filesystem, homes, is_home, into_home, own, recall })
    }

    /// With what takes up what was left in it.
    pub(super) fn destination(&self) -> Destination<'_> {
        Destination { root: &self.dir, recall: self.recall.as_deref() }
    }

    /// What changes something asks it.
    pub(super) fn disk(&self) -> &dyn Disk {
        self.dir.disk()
    }

    /// The path of a top-level name.
    pub(super) fn path_of(&self, name: &[u8]) -> PathBuf {
        self.path.join(OsStr::from_bytes(name))
    }

    /// Merges what the sender calls `top` into the folder `name`.
    pub(super) fn number(&self, top: &[u8], name: &[u8]) {
        self.numbered.write().insert(top.to_vec(), name.to_vec());
    }

    /// Where the sender's `path` is here, in folders that are merged into.
    pub(super) fn here<'p>(&self, path: &'p [u8]) -> Cow<'p, [u8]> {
        let end = path.iter().position(|byte| *byte == b'/').unwrap_or(path.len());
        match self.numbered.read().get(&path[..end]) {
            Some(name) => Cow::Owned([name, &path[end..]].concat()),
            None => Cow::Borrowed(path),
        }
    }

    /// Opens the folder that is at the sender's `path`, as [`here`](Self::here).
    pub(super) fn open_here(&self, path: &[u8]) -> io::Result<Dir> {
        self.dir.open_beneath(&self.here(path))
    }

    /// Refuses to go into a folder where nothing may land; whether it is a home.
    pub(super) fn admit_folder(&self, there: &Metadata) -> Result<bool, EntryError> {
        if self.own.has(there) {
            return Err(EntryError::OWN_FOLDER);
        }
        let is_home = self.homes.has(there);
        if is_home && self.into_home == IntoHome::Refuse { Err(EntryError::HOME_FOLDER) } else { Ok(is_home) }
    }

    /// Whether the destination's path leads elsewhere by now: it was renamed, or unmounted while it
    /// was in use. The received files are not where a receipt would say.
    pub(super) fn has_moved(&self) -> bool {
        let here = rustix::fs::fstat(&self.dir).map(|stat| (stat.st_dev, stat.st_ino));
        let there = rustix::fs::stat(&self.path).map(|stat| (stat.st_dev, stat.st_ino));
        match (here, there) {
            (Ok(here), Ok(there)) => here != there,
            // A path that one may not look at any more says nothing.
            (_, there) => there == Err(rustix::io::Errno::NOENT),
        }
    }

    /// Brings a file's contents to the disk by what the filesystem that it is on takes.
    pub(super) fn write_out_where_it_is(&self, file: BorrowedFd<'_>) -> io::Result<()> {
        self.disk().filesystem(file).and_then(|filesystem| self.disk().write_out(file, filesystem))
    }
}
