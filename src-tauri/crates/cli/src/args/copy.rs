//! The command line of `ringway copy`: cp's letters where cp has them, and what each of them asks
//! of the engine.
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::{ArgAction, Args, ValueEnum};
use ringway_engine::copying::limits;
use ringway_engine::{CopyOptions, CopyRequest, KernelCopy, ReflinkMode};
use ringway_model::{IoMode, OnExisting, Selection, moment};

use crate::args::{IO, ReportArgs, ReportingArgs, SelectionArgs, one_of};
use crate::refusal::Refusal;
use crate::words::advised;

/// How it is called, where clap would say `[PATH]...`.
pub(crate) const COPY_USAGE: &str = "\
ringway copy [OPTIONS] SOURCE... DEST
       ringway copy [OPTIONS] -T SOURCE DEST
       ringway copy [OPTIONS] -t DIR SOURCE...";

/// What stands below the options.
pub(crate) const COPY_HELP: &str = "\
Examples:
  ringway copy dataset /mnt/disk      makes /mnt/disk/dataset, or /mnt/disk if that is not there
  ringway copy dataset/. /mnt/disk    its contents into /mnt/disk
  ringway copy -T dataset /mnt/disk   /mnt/disk becomes a copy of dataset, whether it is there or not
  ringway copy -u dataset /mnt/disk   once more, only what is new or newer
  ringway copy --dry-run -u a b /mnt  what that would do, line by line
  ringway copy --exclude '*.tmp' --exclude /cache --include keep.tmp a b  without cache in a, and without *.tmp except keep.tmp
  ringway copy --verify photos /mnt/stick  reads everything back and compares

The result is that of `cp -a`: modes, times to the nanosecond, owners where permitted, attributes, access lists, links, holes, empty folders.

A file that cannot be copied is named, the rest is copied, and the exit status is 3. After Ctrl-C or on a full disk, files that were whole stay, none that is new is left half-written, and the last message has the command that finishes the copy: the same one with --continue. It does what the first one would have done, whatever is asked for about existing files, and keeps what is complete.

A copy that is killed (kill -9, a second Ctrl-C) leaves half of the files under way, and -u would keep those as newer: copy again without -u, or use --atomic from the start. After a power cut, copy again without -u in any case: as with cp, nothing waits for the disk.

Sizes given to --chunk are binary, as with dd: 64K is 65,536 bytes, 1M is 1,048,576.

The events of --json are listed in the manual: `ringway man`.";

/// `ringway copy`.
#[derive(Debug, Args)]
pub(crate) struct CopyArgs {
    /// What to copy, and last the destination: into DEST if that is a folder, else as DEST. With
    /// -t, all are sources
    #[arg(required = true, num_args = 1.., value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Treat DEST as the copy's own name, even if it is a folder
    #[arg(short = 'T', long)]
    pub(crate) no_target_directory: bool,
    /// Copy all sources into DIR, which must exist
    #[arg(short = 't', long, value_name = "DIR", conflicts_with = "no_target_directory")]
    pub(crate) target_directory: Option<PathBuf>,
    /// Write nothing: print what would be done, one line for each entry (new, over, keep, dir,
    /// link, node)
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Leave files at the destination that are as new as their source or newer
    #[arg(short, long)]
    pub(crate) update: bool,
    /// Leave everything that exists at the destination
    #[arg(short, long, conflicts_with = "update")]
    pub(crate) no_clobber: bool,
    /// Continue a copy that ended early and began at TIME, as its last message gives it: keep
    /// complete files, copy unfinished ones again
    #[arg(long, value_name = "TIME", value_parser = began)]
    pub(crate) r#continue: Option<SystemTime>,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// Read everything back from the disk and compare it with what was read from the source
    /// (BLAKE3)
    #[arg(long)]
    pub(crate) verify: bool,
    /// Give each file its final name only when it is complete. A file that a link at the
    /// destination leads to is still written in place
    #[arg(long)]
    pub(crate) atomic: bool,
    /// Share blocks with the source if the filesystem can (btrfs, xfs); without a value, always
    #[arg(long, value_enum, value_name = "WHEN", num_args = 0..=1, require_equals = true)]
    #[arg(default_value_t = ReflinkArg::Auto, default_missing_value = "always")]
    pub(crate) reflink: ReflinkArg,
    /// Whether and how the kernel copies contents by itself
    #[arg(long, value_enum, value_name = "HOW", default_value_t = KernelCopyArg::Auto)]
    pub(crate) kernel_copy: KernelCopyArg,
    /// The same as --kernel-copy never
    #[arg(long, conflicts_with = "kernel_copy")]
    pub(crate) no_splice: bool,
    /// Threads at most. Default: chosen by processors and medium
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=limits::WORKERS_MAX as u64))]
    pub(crate) jobs: Option<u64>,
    /// Requests in flight on each thread's ring, when reading waits for a disk. Default: 64
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(limits::DEPTH_MAX)))]
    pub(crate) queue_depth: Option<u32>,
    /// Bytes of one read and one write of a large file, as in 64K or 1M (the default). A file up to
    /// that size is read and written at once
    #[arg(short, long, value_name = "SIZE", value_parser = chunk_bytes)]
    pub(crate) chunk: Option<usize>,
    /// How files are read when reading waits for a disk: io_uring, plain system calls, or io_uring
    /// if it is available
    #[arg(long, value_parser = one_of(IO), default_value = "auto")]
    pub(crate) io: IoMode,
    #[command(flatten)]
    pub(crate) said: SaidArgs,
    #[command(flatten)]
    pub(crate) always: AlwaysArgs,
}

/// How much is reported, and how. `-q` sets the queue's depth here, so quiet has no letter.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct SaidArgs {
    /// Print nothing but errors, and show no bar
    #[arg(long, conflicts_with_all = ["verbose", "progress"])]
    quiet: bool,
    /// Print more: what was chosen and why, every failed file
    #[arg(short, long)]
    verbose: bool,
    /// Show progress even if standard error is no terminal: a line a second
    #[arg(long)]
    pub(crate) progress: bool,
    #[command(flatten)]
    report: ReportArgs,
}

impl From<SaidArgs> for ReportingArgs {
    fn from(said: SaidArgs) -> Self {
        Self { quiet: said.quiet, verbose: said.verbose, report: said.report }
    }
}

/// Options that people type after `cp` out of habit.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Accepted because cp has them; copy always does this")]
pub(crate) struct AlwaysArgs {
    /// Keep everything that can be kept
    #[arg(short, long)]
    archive: bool,
    /// Copy folders with everything in them
    #[arg(short, visible_short_alias = 'R', long)]
    recursive: bool,
    /// Keep mode, owner and times
    #[arg(short)]
    p: bool,
    /// Keep what LIST names; everything is kept anyway
    #[arg(long, value_enum, value_name = "LIST", num_args = 0..=1, require_equals = true, value_delimiter = ',')]
    #[arg(default_missing_value = "all", hide_possible_values = true, action = ArgAction::Append)]
    preserve: Vec<PreserveArg>,
    /// Copy symbolic links as links, and keep hard links
    #[arg(short)]
    d: bool,
    /// Copy symbolic links as links
    #[arg(short = 'P', long)]
    no_dereference: bool,
}

/// What cp's `--preserve` lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PreserveArg {
    Mode,
    Ownership,
    Timestamps,
    Links,
    Context,
    Xattr,
    All,
}

/// `--reflink`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReflinkArg {
    /// If the filesystem can
    Auto,
    /// Always, or fail
    Always,
    /// Write every byte anew
    Never,
}

/// `--kernel-copy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum KernelCopyArg {
    /// Where measurements found it faster
    Auto,
    /// With copy_file_range(2) wherever that works
    Range,
    /// With splice(2) wherever that works
    Splice,
    /// Not at all: read and write
    Never,
}

/// A size as in dd and cp: bytes, or with K, M, KiB, MiB in powers of 1,024, with KB, MB in powers
/// of 1,000.
fn chunk_bytes(text: &str) -> Result<usize, String> {
    const EXAMPLE: &str = "a size is a number with K or M behind it, as in 64K or 1M";
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = match unit.to_ascii_lowercase().as_str() {
        "" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "kb" => 1_000,
        "mb" => 1_000_000,
        _ => return Err(EXAMPLE.into()),
    };
    let number: usize = match number.parse() {
        Ok(number) => number,
        // Digits alone that do not parse are too many for the type.
        Err(_) if !number.is_empty() => usize::MAX,
        Err(_) => return Err(EXAMPLE.into()),
    };
    let size = number.saturating_mul(unit);
    if (limits::CHUNK_MIN..=limits::CHUNK_MAX).contains(&size) {
        Ok(size)
    } else {
        let (least, most) = (limits::CHUNK_MIN >> 10, limits::CHUNK_MAX >> 20);
        Err(format!("a chunk has {least}K to {most}M"))
    }
}

impl CopyArgs {
    /// Whether a file that exists at the destination may stay.
    pub(crate) fn existing(&self) -> OnExisting {
        match (self.update, self.no_clobber) {
            (_, true) => OnExisting::Keep,
            (true, false) => OnExisting::Update,
            (false, false) => OnExisting::Replace,
        }
    }

    /// The sources and the destination.
    ///
    /// # Errors
    /// A place to copy to is missing, or -T has several sources.
    pub(crate) fn places(&self) -> Result<(&[PathBuf], &PathBuf), Refusal> {
        let (sources, destination) = match (&self.target_directory, &*self.paths) {
            (Some(folder), sources) => (sources, folder),
            (None, [sources @ .., destination]) if !sources.is_empty() => (sources, destination),
            (None, _) => return Err(no_destination(&self.paths)),
        };
        if self.no_target_directory && sources.len() > 1 {
            let refusal =
                Refusal::usage("-T takes one SOURCE and DEST: several sources cannot all become DEST itself.");
            return Err(refusal.advise("Leave -T out to copy them into the folder DEST."));
        }
        Ok((sources, destination))
    }

    /// The options as the engine takes them, with what the options of the selection ask for.
    ///
    /// # Errors
    /// As with [`Self::places`].
    pub(crate) fn request(&self, selection: Selection) -> Result<CopyRequest, Refusal> {
        let (sources, destination) = self.places()?;
        let options = CopyOptions {
            exact_destination: self.no_target_directory,
            selection,
            existing: self.existing(),
            continues: self.r#continue,
            dry_run: self.dry_run,
            verify: self.verify,
            atomic: self.atomic,
            io: self.io,
            reflink: self.reflink.into(),
            kernel_copy: if self.no_splice { KernelCopy::Never } else { self.kernel_copy.into() },
            workers: self.jobs.and_then(|jobs| usize::try_from(jobs).ok()),
            depth: self.queue_depth,
            chunk_bytes: self.chunk,
            count_ahead: false,
            planned: None,
        };
        Ok(CopyRequest { sources: sources.to_vec(), destination: destination.clone(), options })
    }
}

fn no_destination(paths: &[PathBuf]) -> Refusal {
    let path = paths.first().map(PathBuf::as_path).unwrap_or(Path::new("FOLDER"));
    let name = crate::text::for_terminal(path);
    Refusal::usage(format!("Where to copy {name} to is missing: the last path is the destination.")).advise(format!(
        "For example: {}, or {} for the folder you are in.",
        advised::copy(path, "/mnt/disk"),
        advised::copy(path, "."),
    ))
}

impl From<ReflinkArg> for ReflinkMode {
    fn from(arg: ReflinkArg) -> Self {
        match arg {
            ReflinkArg::Auto => Self::Auto,
            ReflinkArg::Always => Self::Always,
            ReflinkArg::Never => Self::Never,
        }
    }
}

impl From<KernelCopyArg> for KernelCopy {
    fn from(arg: KernelCopyArg) -> Self {
        match arg {
            KernelCopyArg::Auto => Self::Auto,
            KernelCopyArg::Range => Self::Range,
            KernelCopyArg::Splice => Self::Splice,
            KernelCopyArg::Never => Self::Never,
        }
    }
}

/// A moment as `--continue` takes it.
fn began(text: &str) -> Result<SystemTime, String> {
    moment::parse_exact(text)
        .ok_or_else(|| "copy it from the message of the copy that ended early, as in 1764014195.000000004".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use std::path::Path;

    use crate::args::{Cli, Command};
    use ringway_model::Pattern;

    fn parse(line: &[&str]) -> Result<CopyArgs, clap::Error> {
        let cli = Cli::try_parse_from(["ringway", "copy"].iter().chain(line))?;
        match cli.command {
            Command::Copy(args) => Ok(*args),
            other => panic!("{other:?}"),
        }
    }

    fn request(line: &[&str]) -> CopyRequest {
        parse(line).unwrap().request(Selection::default()).unwrap()
    }

    #[test]
    fn without_options_it_is_cp_a() {
        let plain = request(&["a", "b"]);
        assert_eq!((plain.sources, plain.destination), (vec![PathBuf::from("a")], PathBuf::from("b")));
        let options = plain.options;
        assert_eq!((options.existing, options.reflink), (OnExisting::Replace, ReflinkMode::Auto));
        assert_eq!((options.io, options.kernel_copy), (IoMode::Auto, KernelCopy::Auto));
        assert_eq!((options.workers, options.depth, options.chunk_bytes), (None, None, None));
        assert!(options.selection.is_all());
        assert!(!options.exact_destination && !options.dry_run && !options.verify && !options.atomic);
    }

    #[test]
    fn what_fingers_type_after_cp_works() {
        for line in [
            &["-a", "a", "b"][..],
            &["-av", "a", "b"],
            &["-rp", "a", "b"],
            &["-R", "a", "b"],
            &["-a", "-r", "-R", "--archive", "--recursive", "a", "b"],
            &["-aT", "a", "b"],
            &["a", "b", "-a"],
            &["-dR", "--preserve=all", "a", "b"],
            &["-P", "-p", "--no-dereference", "--preserve", "a", "b"],
            &["--preserve=mode,timestamps", "--preserve=xattr", "a", "b"],
        ] {
            let args = parse(line).unwrap_or_else(|error| panic!("{line:?}: {error}"));
            assert_eq!(args.places().unwrap().1, Path::new("b"), "{line:?}");
        }
        let several = request(&["-at", "into", "a", "b"]);
        assert_eq!((several.sources.len(), several.destination), (2, PathBuf::from("into")));
        assert!(request(&["-aT", "a", "b"]).options.exact_destination);
        assert_eq!(request(&["-au", "a", "b"]).options.existing, OnExisting::Update);
        assert_eq!(request(&["-an", "a", "b"]).options.existing, OnExisting::Keep);
        assert_eq!(request(&["--", "-a", "b"]).sources, [PathBuf::from("-a")]);
    }

    #[test]
    fn the_selection_is_asked_of_the_engine() {
        let selection = Selection { patterns: vec![Pattern::Exclude("*".into())], paths: None };
        let args = parse(&["--exclude", "*", "a", "b"]).unwrap();
        assert_eq!(args.request(selection.clone()).unwrap().options.selection, selection);
    }

    #[test]
    fn what_is_said_twice_is_said_once_and_the_last_value_counts() {
        let twice =
            request(&["-u", "-u", "-v", "-v", "-T", "-T", "-j", "2", "-j3", "--io", "uring", "--io=sync", "a", "b"]);
        assert_eq!((twice.options.existing, twice.options.workers), (OnExisting::Update, Some(3)));
        assert_eq!((twice.options.io, twice.options.exact_destination), (IoMode::Sync, true));
        let last = request(&["--reflink=never", "--reflink", "-t", "x", "-t", "into", "a", "b"]);
        assert_eq!((last.options.reflink, last.destination), (ReflinkMode::Always, PathBuf::from("into")));
        assert_eq!(last.sources.len(), 2);
    }

    #[test]
    fn short_q_is_refused_with_a_hint_at_quiet() {
        for line in [&["-q", "a", "b"][..], &["a", "b", "-q"], &["-rq", "a", "b"]] {
            let all = ["ringway", "copy"].iter().chain(line);
            let said = crate::args::hinted(Cli::try_parse_from(all).unwrap_err()).to_string();
            assert!(said.contains("--quiet is the word for being quiet"), "{line:?}: {said}");
        }
        let other = crate::args::hinted(Cli::try_parse_from(["ringway", "copy", "-j", "a", "b"]).unwrap_err());
        assert!(!other.to_string().contains("--quiet"), "{other}");
    }

    #[test]
    fn how_contents_are_copied_can_be_chosen() {
        let reflink = |line: &[&str]| request(line).options.reflink;
        assert_eq!(reflink(&["--reflink", "a", "b"]), ReflinkMode::Always, "as with cp, alone it means always");
        assert_eq!(reflink(&["--reflink=never", "a", "b"]), ReflinkMode::Never);
        assert_eq!(reflink(&["--reflink=auto", "a", "b"]), ReflinkMode::Auto);
        let kernel = |line: &[&str]| request(line).options.kernel_copy;
        assert_eq!(kernel(&["--no-splice", "a", "b"]), KernelCopy::Never);
        assert_eq!(kernel(&["--kernel-copy", "range", "a", "b"]), KernelCopy::Range);
        assert_eq!(kernel(&["--kernel-copy=splice", "a", "b"]), KernelCopy::Splice);
        let options =
            request(&["-j4", "-q", "64", "-c", "1M", "--io", "sync", "--verify", "--atomic", "a", "b"]).options;
        assert_eq!((options.workers, options.depth, options.chunk_bytes), (Some(4), Some(64), Some(1 << 20)));
        assert_eq!((options.io, options.verify, options.atomic), (IoMode::Sync, true, true));
    }

    #[test]
    fn chunks_are_sizes_within_limits() {
        let sizes =
            [("4096", 4096), ("4K", 4096), ("64k", 65_536), ("64KiB", 65_536), ("1M", 1 << 20), ("1MB", 1_000_000)];
        for (text, size) in sizes {
            assert_eq!(chunk_bytes(text), Ok(size), "{text}");
        }
        assert_eq!(chunk_bytes("64M"), Ok(limits::CHUNK_MAX));
        let continued = request(&["-u", "--continue", "1764014195.000000004", "a", "b"]).options.continues.unwrap();
        assert_eq!(moment::exact(continued), "1764014195.000000004");
        for bad in ["", "K", "x", "-1", "1.5M", "1 M", "1T", "4095", "65M", "1G", "0", "99999999999999999999999"] {
            let said = chunk_bytes(bad).unwrap_err();
            assert!(said.contains("64"), "{bad}: {said}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for bad in [
            &[][..],
            &["-u", "-n", "a", "b"],
            &["-T", "-t", "x", "a"],
            &["--no-splice", "--kernel-copy", "range", "a", "b"],
            &["--quiet", "-v", "a", "b"],
            &["--quiet", "--progress", "a", "b"],
            &["-j", "0", "a", "b"],
            &["-j", "257", "a", "b"],
            &["-q", "0", "a", "b"],
            &["-q", "100000", "a", "b"],
            &["-c", "1", "a", "b"],
            &["--reflink=maybe", "a", "b"],
            &["--preserve=maybe", "a", "b"],
            &["--io", "fast", "a", "b"],
            &["--continue", "a", "b"],
            &["--continue", "1", "a", "b"],
            &["--continue", "1.5", "a", "b"],
            &["--continue", "-1.000000000", "a", "b"],
            &["--continue", "1.+00000000", "a", "b"],
            &["--continue", "99999999999999999999.000000000", "a", "b"],
        ] {
            assert_eq!(parse(bad).unwrap_err().exit_code(), 2, "{bad:?}");
        }
        for bad in [&["a"][..], &["-T", "a", "b", "c"]] {
            let Err(refusal) = parse(bad).unwrap().places().map(drop) else { panic!("{bad:?}") };
            assert!(refusal.next.is_some(), "{bad:?}");
        }
    }
}
