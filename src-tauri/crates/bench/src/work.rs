//! The folder in which everything is made: new, private, with enough free space, and removed when
//! the measurement ends, however it ends.
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use ringway_model::{Fault, Operation};
use ringway_sys::space::{Filesystem, filesystem, space, sync_filesystem};
use rustix::io::Errno;

use crate::options::ModesOptions;
use ringway_tree::random;

/// Files here use no disk, if the machine has this folder.
const MEMORY: &str = "/dev/shm";

/// Space in addition to a dataset and its delivered copy: for metadata, and for other programs on
/// that filesystem.
const SPARE_BYTES: u64 = 64 * 1024 * 1024;

/// Inodes in addition to those of the files: folders and staged entries.
const SPARE_INODES: u64 = 4_096;

/// A folder that is removed with everything in it.
pub(crate) struct Work {
    path: PathBuf,
    filesystem: Filesystem,
}

impl Work {
    /// Makes it, if there is space for the largest dataset twice: the source, and what arrives.
    pub(crate) fn begin(options: &ModesOptions) -> Result<Self, Fault> {
        let base = match &options.folder {
            Some(folder) => folder.clone(),
            None if Path::new(MEMORY).is_dir() => MEMORY.into(),
            None => std::env::temp_dir(),
        };
        let at = |operation| {
            let path = base.clone();
            move |source| Fault::path(path, operation, source)
        };
        let folder = File::open(&base).map_err(at(Operation::Open))?;
        let kind = filesystem(&folder).map_err(at(Operation::Open))?;
        let sizes = options.datasets.iter().map(|dataset| options.sizes.of(*dataset));
        let (bytes, inodes) = sizes.fold((0, 0), |(bytes, inodes), (files, len)| {
            // A file takes whole blocks.
            (bytes.max(files * len.next_multiple_of(4_096)), inodes.max(files))
        });
        let there = space(&folder).map_err(at(Operation::Open))?;
        let free_bytes = match memory_available().filter(|_| kind.is_memory()) {
            Some(memory) => memory.min(there.free_bytes),
            None => there.free_bytes,
        };
        let few_inodes = there.free_inodes.is_some_and(|free| free < 2 * inodes + SPARE_INODES);
        if few_inodes || free_bytes < 2 * bytes + SPARE_BYTES {
            return Err(at(Operation::Write)(Errno::NOSPC.into()));
        }
        let path = base.join(format!(".ringway-bench-{:016x}", u64::from_ne_bytes(random()?)));
        DirBuilder::new().mode(0o700).create(&path).map_err(at(Operation::Create))?;
        Ok(Self { path, filesystem: kind })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn filesystem(&self) -> &'static str {
        self.filesystem.name()
    }

    /// Waits until what was made is on its disk, if there is one, so that no measurement includes
    /// that writing.
    pub(crate) fn settle(&self) -> io::Result<()> {
        if self.filesystem.is_memory() { Ok(()) } else { sync_filesystem(File::open(&self.path)?) }
    }

    /// The folder to which a run delivers.
    pub(crate) fn delivered(&self) -> PathBuf {
        self.path.join("delivered")
    }

    /// Removes what a run has delivered.
    pub(crate) fn clear(&self) -> io::Result<()> {
        remove(&self.delivered())
    }

    /// An error about this folder.
    pub(crate) fn error(&self, source: io::Error) -> Fault {
        Fault::path(self.path.clone(), Operation::Write, source)
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        // A folder that cannot be removed is hidden, and its name tells whose it is. There is no
        // caller left to report this to.
        let _ = remove(&self.path);
    }
}

/// Removes a folder with everything in it, if it is there.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Bytes of memory that are available without swapping (proc(5), MemAvailable).
fn memory_available() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// The error of a thread that was stopped. It is not `Interrupted`, which means try again.
pub(crate) fn check(stop: &AtomicBool) -> io::Result<()> {
    if stop.load(Ordering::Relaxed) { Err(io::ErrorKind::ConnectionAborted.into()) } else { Ok(()) }
}
