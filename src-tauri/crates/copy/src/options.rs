//! What a person or script asks of a copy.
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use ringway_model::{IoMode, OnExisting, Planned};

/// A copy to start: what `cp -a SOURCE... DESTINATION` would do, sooner.
#[derive(Clone)]
pub struct CopyRequest {
    /// What to copy; at least one. A symbolic link is copied itself, unless its path ends in a
    /// slash. A path that ends in `.` or `..` gives its contents.
    pub sources: Vec<PathBuf>,
    /// Where to: into it if it is a folder, else as it.
    pub destination: PathBuf,
    /// The rest.
    pub options: CopyOptions,
}

/// How to copy. The default is what `cp -a` does, by whatever is fastest here.
#[derive(Clone, Default)]
pub struct CopyOptions {
    /// Take the destination as the copy's own name, even if it is a folder (`cp -T`); one source
    /// only.
    pub exact_destination: bool,
    /// Which entries to leave out, in the order given; the last rule that matches decides.
    pub rules: Vec<Rule>,
    /// Files that exist already at the destination.
    pub existing: OnExisting,
    /// Finish a copy that ended early and began then ([`ringway_model::CopyReport`] says when):
    /// what it had completed stays, and what it had cut short is copied again.
    pub continues: Option<SystemTime>,
    /// Look, report, write nothing.
    pub dry_run: bool,
    /// Read everything back from the destination's medium and compare BLAKE3 digests with what was
    /// read from the source.
    pub verify: bool,
    /// Give each file its final name only when it is whole. A file that a link at the destination
    /// leads to is written in place all the same.
    pub atomic: bool,
    /// File IO.
    pub io: IoMode,
    /// Sharing blocks with the source.
    pub reflink: ReflinkMode,
    /// Letting the kernel copy contents by itself.
    pub kernel_copy: KernelCopy,
    /// Threads; none chooses by cores and medium. 1 to [`WORKERS_MAX`](crate::limits::WORKERS_MAX).
    pub workers: Option<usize>,
    /// Requests in flight on each thread's ring; none chooses. 1 to
    /// [`DEPTH_MAX`](crate::limits::DEPTH_MAX).
    pub depth: Option<u32>,
    /// Bytes of one read and one write of a large file; none chooses. 4 KiB to 64 MiB.
    pub chunk_bytes: Option<usize>,
    /// Count the sources ahead of a copy that takes more than a moment, so that a snapshot's totals
    /// firm up early. Costs what a walk costs.
    pub count_ahead: bool,
    /// Told of every entry of a dry run, from any thread.
    pub planned: Option<PlannedFn>,
}

/// Called with what would be done and the destination's path.
pub type PlannedFn = Arc<dyn Fn(Planned, &Path) + Send + Sync>;

/// One rule on what to leave out, in the syntax of gitignore(5); a leading slash means the copied
/// folder itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// Leave out what matches.
    Exclude(String),
    /// Take what matches, although an earlier rule leaves it out.
    Include(String),
}

/// Whether the copy may share blocks with the source (FICLONE, ioctl_ficlonerange(2)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReflinkMode {
    /// Where the filesystem can.
    #[default]
    Auto,
    /// A file that cannot be shared fails.
    Always,
    /// Bytes of its own for every file.
    Never,
}

/// Whether contents are copied by the kernel itself, without passing through memory of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KernelCopy {
    /// Where it measures best: files of 16 KB up to a chunk; larger ones, too, on filesystems whose
    /// server or layer below does the copying. By copy_file_range(2) where that works, else, and
    /// where no blocks may be shared ([`ReflinkMode::Never`]), by splice(2).
    #[default]
    Auto,
    /// copy_file_range(2) wherever it works; splice(2) where no blocks may be shared, for it may
    /// share them.
    Range,
    /// splice(2) through a pipe wherever it works.
    Splice,
    /// Never.
    Never,
}
