//! What a person or script requests of a copy.
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use ringway_model::{IoMode, OnExisting, Planned, Selection};

/// A copy to start: the same as `cp -a SOURCE... DESTINATION`, but faster.
#[derive(Clone)]
pub struct CopyRequest {
    /// What to copy; at least one. A symbolic link is copied itself, unless its path ends in a
    /// slash. A path that ends in `.` or `..` means the folder's contents.
    pub sources: Vec<PathBuf>,
    /// The destination. If it is a folder the copies go into it, otherwise it becomes the copy's
    /// name.
    pub destination: PathBuf,
    /// All other options.
    pub options: CopyOptions,
}

/// How to copy. The default gives the result of `cp -a`, by the fastest way on this machine.
#[derive(Clone, Default)]
pub struct CopyOptions {
    /// Use the destination as the copy's own name, even if it is a folder (`cp -T`); one source
    /// only.
    pub exact_destination: bool,
    /// Which entries to copy. A source that is named is never left out itself.
    pub selection: Selection,
    /// What to do with files that exist already at the destination.
    pub existing: OnExisting,
    /// Finish a copy that ended early and began at this time ([`ringway_model::CopyReport`] has
    /// it). Files that it had completed stay, and files that it had cut short are copied again.
    pub continues: Option<SystemTime>,
    /// Check and report, but write nothing.
    pub dry_run: bool,
    /// Read everything back from the destination's medium and compare BLAKE3 digests with what was
    /// read from the source.
    pub verify: bool,
    /// Give each file its final name only when it is whole. A file that a link at the destination
    /// leads to is still written in place.
    pub atomic: bool,
    /// How files are read and written.
    pub io: IoMode,
    /// Whether to share blocks with the source.
    pub reflink: ReflinkMode,
    /// Whether the kernel may copy contents by itself.
    pub kernel_copy: KernelCopy,
    /// Threads; `None` chooses by cores and medium. 1 to
    /// [`WORKERS_MAX`](crate::limits::WORKERS_MAX).
    pub workers: Option<usize>,
    /// Requests in flight on each thread's ring; `None` chooses. 1 to
    /// [`DEPTH_MAX`](crate::limits::DEPTH_MAX).
    pub depth: Option<u32>,
    /// Bytes of one read and one write of a large file; `None` chooses. 4 KiB to 64 MiB.
    pub chunk_bytes: Option<usize>,
    /// Count the sources ahead if a copy takes more than a moment, so that the totals of its
    /// progress become final early. This costs as much as a walk.
    pub count_ahead: bool,
    /// Called with every entry of a dry run, from any thread.
    pub planned: Option<PlannedFn>,
}

/// Called with the planned action and the destination's path.
pub type PlannedFn = Arc<dyn Fn(Planned, &Path) + Send + Sync>;

/// Whether the copy may share blocks with the source (FICLONE, ioctl_ficlonerange(2)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReflinkMode {
    /// If the filesystem can.
    #[default]
    Auto,
    /// A file that cannot be shared fails.
    Always,
    /// Every file gets its own blocks.
    Never,
}

/// Whether the kernel itself copies contents, without passing them through memory of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KernelCopy {
    /// Where it measures best: for files from 16 KB up to a chunk, and for larger ones too on
    /// filesystems whose server or lower layer does the copying. It uses copy_file_range(2) if that
    /// works. Otherwise, or if no blocks may be shared ([`ReflinkMode::Never`]), it uses splice(2).
    #[default]
    Auto,
    /// copy_file_range(2) wherever it works; splice(2) if no blocks may be shared, because
    /// copy_file_range(2) may share them.
    Range,
    /// splice(2) through a pipe wherever it works.
    Splice,
    /// Never.
    Never,
}
