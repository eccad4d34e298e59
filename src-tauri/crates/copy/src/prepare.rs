//! The decisions before the first byte of a copy: its plan, its threads, and its ways of copying.
mod descriptors;
pub(crate) mod plan;

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use ringway_model::{Fault, Operation};
use ringway_sys::attributes::{Timestamp, has_default_acl, metadata_of};
use ringway_sys::dir::Dir;
use ringway_sys::space::{self, Medium};
use ringway_tree::filesystem::selection::Filter;
use ringway_tree::io_plan::IoPlan;

use crate::job::{Choices, Job, TopLevel};
use crate::limits;
use crate::observer::Observer;
use crate::options::{CopyOptions, CopyRequest};
use descriptors::Share;
use plan::{Plan, Root, Target};

/// The most threads by default. Beyond that they mostly wait for the directories' locks and for the
/// disk.
const WORKERS_DEFAULT_MAX: usize = 16;

/// The fewest threads by default once a disk is waited for: while some wait for data, others write.
/// Measured with two processors and 20,000 cold files of 100 KB: four threads take 0.86 of the time
/// of two, eight 0.81, and sixteen no less.
const WORKERS_COLD: usize = 8;

/// Threads by default if a disk head has to move.
const WORKERS_ROTATIONAL: usize = 2;

/// Requests in flight on each ring by default: what a cold disk needs. (In measurements of cold
/// reads, the depth is what counts.)
const DEPTH: u32 = 64;

/// Bytes of one read and write by default. They stay in the cache between the two, and larger
/// chunks measured no better.
const CHUNK: usize = 1024 * 1024;

/// Makes all decisions before the first byte.
pub(crate) fn prepare(request: CopyRequest, observer: Arc<dyn Observer>) -> Result<(Job, Vec<Root>), Fault> {
    descriptors::enough()?;
    let Plan { target, roots, failures } = plan::plan(&request)?;
    let options = request.options;
    let filter = Filter::new(&options.selection)?;
    belongs_to_one(filter.as_deref(), &request.sources, &roots)?;
    let choices = choose(&options, target.as_ref(), &roots)?;
    let proof = match &target {
        Some(target) if options.verify && !options.dry_run => Some(unnamed(target, &roots)?),
        _ => None,
    };
    let mut job = Job::new(options, choices, filter, proof, observer);
    for failure in failures {
        job.fail_for(failure.path.0, failure.operation, failure.reason);
    }
    if let Some(Target { dir, path }) = target {
        let copies = roots.iter().map(|root| root.copy_in(&path)).collect();
        // If this cannot be found out, an inherited list is removed all the same.
        let default_acl = has_default_acl(&dir).unwrap_or(true);
        job.top = Some(TopLevel { dir, path, default_acl, copies });
    }
    Ok((job, roots))
}

/// Refuses a list of paths for other sources than one folder.
fn belongs_to_one(filter: Option<&Filter>, sources: &[PathBuf], roots: &[Root]) -> Result<(), Fault> {
    if !filter.is_some_and(Filter::is_listed) {
        return Ok(());
    }
    match (sources, roots) {
        // It cannot be copied at all, and that is reported.
        ([_], []) => Ok(()),
        ([_], [root]) if root.is_folder() => Ok(()),
        _ => Err(Fault::option("a list of paths belongs to one source, a folder")),
    }
}

fn choose(options: &CopyOptions, target: Option<&Target>, roots: &[Root]) -> Result<Choices, Fault> {
    let within = |what: bool, why: &'static str| if what { Ok(()) } else { Err(Fault::option(why)) };
    let chunk = options.chunk_bytes.unwrap_or(CHUNK);
    within((limits::CHUNK_MIN..=limits::CHUNK_MAX).contains(&chunk), "a chunk has 4 KiB to 64 MiB")?;
    let depth = options.depth.unwrap_or(DEPTH);
    within((1..=limits::DEPTH_MAX).contains(&depth), "a queue is 1 to 1,024 requests deep")?;
    let (workers, for_disk) = options.workers.map_or_else(|| default_workers(target, roots), |workers| (workers, 0));
    within((1..=limits::WORKERS_MAX).contains(&workers), "a copy has 1 to 256 threads")?;
    let Share { threads, folders, batch } = Share::wanting(workers + for_disk);
    let workers = workers.min(threads);
    let for_disk = for_disk.min(threads - workers);
    let filesystem = target.and_then(|target| space::filesystem(&target.dir).ok());
    let name = filesystem.map_or("other", space::Filesystem::name);
    let zeros = filesystem.is_some_and(space::Filesystem::is_memory);
    Ok(Choices {
        workers,
        for_disk,
        folders,
        batch,
        depth,
        chunk,
        io: IoPlan::with_depth(options.io, depth)?,
        filesystem: name,
        // On btrfs a preallocated extent is written twice, because of copy-on-write.
        preallocate_from: if zeros || name == "btrfs" { u64::MAX } else { chunk as u64 },
        user: rustix::process::geteuid().as_raw(),
        copies_by_itself: filesystem.is_some_and(space::Filesystem::copies_by_itself),
        began: match options.continues {
            Some(began) => Some(timestamp(began)),
            None => filesystem.filter(|filesystem| filesystem.uses_own_clock()).map(|_| now()),
        },
    })
}

/// The time by the clock that filesystems use for change times. It lags behind the precise clock by
/// up to a tick.
fn now() -> Timestamp {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    Timestamp { secs: now.tv_sec, nanos: u32::try_from(now.tv_nsec).unwrap_or(0) }
}

fn timestamp(time: SystemTime) -> Timestamp {
    // No copy began before 1970.
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp { secs: since.as_secs().try_into().unwrap_or(i64::MAX), nanos: since.subsec_nanos() }
}

/// Threads that copy, and additional ones for when a disk is waited for.
fn default_workers(target: Option<&Target>, roots: &[Root]) -> (usize, usize) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(WORKERS_DEFAULT_MAX);
    let target = target.and_then(|target| metadata_of(&target.dir).ok()).map(|metadata| metadata.dev);
    let devices: HashSet<u64> = roots.iter().map(Root::device).chain(target).collect();
    match devices.into_iter().any(|device| space::medium(device) == Some(Medium::Rotational)) {
        true => (cores.min(WORKERS_ROTATIONAL), 0),
        false => (cores, WORKERS_COLD.saturating_sub(cores)),
    }
}

/// An unnamed file for the records of a verification: in the folder of all copies, in a copy that
/// exists already, or in the folder for temporary files. Nothing may be made in the first one if
/// the copy only replaces an entry of it.
fn unnamed(target: &Target, roots: &[Root]) -> Result<File, Fault> {
    if let Ok(Some(file)) = target.dir.unnamed_file() {
        return Ok(file.into());
    }
    let temporary = std::env::temp_dir();
    let folders = roots.iter().map(|root| root.copy_in(&target.path)).chain([temporary.clone()]);
    if let Some(file) =
        folders.filter_map(|folder| Dir::open(&folder).and_then(|dir| dir.unnamed_file()).ok().flatten()).next()
    {
        return Ok(file.into());
    }
    let source = match Dir::open(&temporary).and_then(|dir| dir.unnamed_file()) {
        Ok(_) => io::ErrorKind::Unsupported.into(),
        Err(source) => source,
    };
    Err(Fault::path(temporary, Operation::Create, source))
}
