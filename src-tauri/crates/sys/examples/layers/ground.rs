//! Owns the stopwatch and the trees that layers are measured on. The layers decide which calls they
//! make on them.

use std::ffi::CString;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use ringway_sys::dir::Dir;
use ringway_sys::probe::{self, Whose};

/// Files are spread over this many folders, unless a layer is about the number of folders.
pub(crate) const FOLDERS: usize = 100;
/// Files that are open at once. The stopwatch is read once for each such batch, so that reading it
/// costs nothing.
pub(crate) const BATCH: usize = 256;
/// The size of a small file of a machine-learning dataset, and of a picture.
pub(crate) const SIZES: [(usize, &str); 2] = [(4 << 10, "4 KiB"), (100 << 10, "100 KiB")];
/// There are fewer files if they are larger, so that a run stays within the memory that is warmed
/// for it.
const BYTES_MAX: usize = 200 << 20;

/// An empty folder, and how much to measure in it.
pub(crate) struct Ground {
    pub(crate) root: Dir,
    /// How many small files.
    pub(crate) files: usize,
    /// Bytes of a large one.
    pub(crate) large_bytes: u64,
}

/// Folders with files in them.
pub(crate) struct Tree {
    pub(crate) folders: Vec<Dir>,
    /// The names of the files, which are the same in every folder.
    pub(crate) names: Vec<CString>,
}

impl Ground {
    pub(crate) fn new(folder: &Path, files: usize, mib: u64) -> io::Result<Self> {
        Ok(Self { root: Dir::open(folder)?, files, large_bytes: mib << 20 })
    }

    /// A new tree of empty folders, and names for files of `bytes` bytes in them.
    pub(crate) fn folders(&self, name: &str, folders: usize, bytes: usize) -> io::Result<Tree> {
        self.root.make_dir(name.as_bytes(), 0o755)?;
        let top = self.root.open_dir(name.as_bytes())?;
        let folders = (0..folders).map(|number| {
            let inside = format!("part-{number:03}");
            top.make_dir(inside.as_bytes(), 0o755)?;
            top.open_dir(inside.as_bytes())
        });
        let folders = folders.collect::<io::Result<Vec<_>>>()?;
        let files = self.files.min(BYTES_MAX / bytes.max(1)).div_ceil(folders.len());
        let names = (0..files).map(|number| CString::new(format!("sample-{number:06}.bin")).expect("no NUL")).collect();
        Ok(Tree { folders, names })
    }

    /// The same with files of `bytes` bytes each.
    pub(crate) fn tree(&self, name: &str, folders: usize, bytes: usize) -> io::Result<Tree> {
        let tree = self.folders(name, folders, bytes)?;
        let contents = contents(bytes);
        for (dir, name) in tree.files() {
            File::from(dir.create_new(name, 0o644)?).write_all_at(&contents, 0)?;
        }
        Ok(tree)
    }
}

impl Tree {
    /// Every file, folder by folder.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&Dir, &[u8])> {
        self.folders.iter().flat_map(|dir| self.names.iter().map(move |name| (dir, name.to_bytes())))
    }

    pub(crate) fn len(&self) -> usize {
        self.folders.len() * self.names.len()
    }

    /// Passes all files, in batches, to `make`, and the result of each batch to `measure`.
    pub(crate) fn in_batches<T>(
        &self,
        make: impl Fn(&Dir, &[u8]) -> io::Result<T>,
        mut measure: impl FnMut(&mut Vec<T>) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut batch = Vec::with_capacity(BATCH);
        for (dir, name) in self.files() {
            batch.push(make(dir, name)?);
            if batch.len() == BATCH {
                measure(&mut batch)?;
                batch.clear();
            }
        }
        measure(&mut batch)
    }
}

/// Bytes that do not repeat.
pub(crate) fn contents(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at % 251) as u8).collect()
}

/// Opens for reading.
pub(crate) fn open(dir: &Dir, name: &[u8]) -> io::Result<File> {
    dir.open_read(name).map(File::from)
}

/// Opens a new file for writing.
pub(crate) fn create(dir: &Dir, name: &[u8]) -> io::Result<OwnedFd> {
    dir.create_new(name, 0o644)
}

/// What a measurement counts.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    File,
    Entry,
    Call,
    Byte,
}

/// The time that a way of doing something took.
pub(crate) struct Measured {
    way: String,
    unit: Unit,
    count: u64,
    took: Watch,
}

impl Measured {
    pub(crate) fn new(way: impl Into<String>, unit: Unit, count: usize, took: Watch) -> Self {
        Self { way: way.into(), unit, count: count as u64, took }
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.unit {
            Unit::File => "file",
            Unit::Entry => "entry",
            Unit::Call => "call",
            Unit::Byte => "byte",
        };
        let Watch { wall, cpu } = self.took;
        write!(f, "{}\t{unit}\t{}\t{}\t{}", self.way, self.count, wall.as_nanos(), cpu.as_nanos())
    }
}

/// Sums of the times that were measured with it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Watch {
    wall: Duration,
    /// Processor time of all threads, io_uring's workers included.
    cpu: Duration,
}

impl Watch {
    /// Runs `work` and adds the time that it took.
    pub(crate) fn time<T>(&mut self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let cpu = probe::usage(Whose::Process).cpu();
        let started = Instant::now();
        let done = work();
        self.wall += started.elapsed();
        self.cpu += probe::usage(Whose::Process).cpu().saturating_sub(cpu);
        done
    }
}
