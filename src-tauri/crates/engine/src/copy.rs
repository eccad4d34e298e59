//! Copying inside this machine: what `cp -a` does, by threads that own directories.
mod attributes;
mod chunks;
mod cold;
mod contents;
mod count;
mod crew;
mod ends;
mod files;
mod folder;
mod gate;
mod job;
mod large;
mod links;
mod options;
mod plan;
mod queue;
mod rules;
mod small;
mod spelling;
mod spot;
#[cfg(test)]
mod tests;
mod verify;
mod wildmatch;
mod worker;

use ringway_model::{Counts, Direction, Fault, Operation, Side, TransferId};

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ringway_sys::attributes::{Timestamp, has_default_acl, metadata_of};
use ringway_sys::dir::Dir;
use ringway_sys::space::{self, Medium};
use tokio::sync::oneshot;
use tokio::time::{MissedTickBehavior, interval};

pub use options::{CopyOptions, CopyReport, CopyRequest, KernelCopy, Observer, Planned, ReflinkMode, Rule};

use crate::descriptors::{self, ForCopy};
use crate::history::Record;
use crate::io_plan::IoPlan;
use crate::limits::{
    ARRIVED_LISTED_MAX, COPY_CHUNK_MAX, COPY_CHUNK_MIN, COPY_DEPTH_MAX, COPY_DESCRIPTORS_MIN, COPY_WORKERS_MAX, TICK,
};
use crate::transfer::{Arrived, Transfer};
use crew::Shared;
use job::{Choices, Job, TopLevel, value};
use plan::{Plan, Root, Target};
use worker::Task;

/// Threads by default, at most: beyond that they mostly wait for the directories' locks and for the
/// disk.
const WORKERS_MAX: usize = 16;

/// Threads by default, at least, once a disk is waited for: while some wait for what they read,
/// others write. Measured with two processors and 20,000 cold files of 100 KB: four threads 0.86 of
/// the time of two, eight 0.81, sixteen no less.
const WORKERS_COLD: usize = 8;

/// Threads by default where a head has to move.
const WORKERS_ROTATIONAL: usize = 2;

/// Requests in flight on each ring by default: what a cold disk wants (measuring cold reads: depth
/// is what counts).
const DEPTH: u32 = 64;

/// Bytes of one read and write by default: it stays in the cache between the two, and larger ones
/// measured no better.
const CHUNK: usize = 1024 * 1024;

const ENDED_EARLY: Fault = Fault::machine("a thread of the copy ended early");

/// A copy that takes longer than this is counted ahead, if that was asked for.
const COUNT_AFTER: Duration = Duration::from_millis(700);

/// Starts a copy; what goes wrong is in its report. It needs a tokio runtime around it and nothing
/// else: no identity, store or settings.
pub fn start(request: CopyRequest) -> Transfer {
    start_recorded(request, None)
}

/// The same, written down in the end where there is a store for that.
pub(crate) fn start_recorded(request: CopyRequest, record: Option<Record>) -> Transfer {
    let name = |path: &PathBuf| path.file_name().map_or_else(|| path.clone().into(), Into::into);
    let title = request.sources.first().map(name).unwrap_or_default();
    let more = request.sources.len().saturating_sub(1) as u64;
    let id = crate::random();
    let id_told = TransferId(*id.as_ref().unwrap_or(&[0; 16]));
    let transfer = Transfer::new(id_told, Direction::Copying, (title, more), record);
    match id {
        Ok(_) => drop(tokio::spawn(run(request, transfer.clone()))),
        Err(error) => transfer.end(Err(error)),
    }
    transfer
}

async fn run(request: CopyRequest, transfer: Transfer) {
    let (prepared, job) = oneshot::channel();
    let (worked, mut work_done) = oneshot::channel();
    // Before it can be paused.
    let mut pauses = transfer.pauses();
    // Its own thread, not one of the runtime's: the copy's threads take another umask for good.
    let spawned = Builder::new().name("ringway-copy".into()).spawn({
        let transfer = transfer.clone();
        move || match prepare(request, transfer) {
            Ok((job, roots)) => {
                let mut figures = job.transfer.figures();
                figures.begin();
                figures.in_place = true;
                figures.look();
                drop(figures);
                // Nobody listens any more only where the runtime has gone.
                let _ = prepared.send(Ok(job.clone()));
                let _ = worked.send(work(&job, roots));
            }
            Err(error) => drop(prepared.send(Err(error))),
        }
    });
    let job: Arc<Job> = match spawned {
        Ok(_) => match job.await.unwrap_or(Err(ENDED_EARLY)) {
            Ok(job) => job,
            Err(error) => return transfer.end(Err(error)),
        },
        Err(_) => return transfer.end(Err(Fault::machine("no thread to copy with"))),
    };
    let cancelled = transfer.cancelled();
    tokio::pin!(cancelled);
    let mut tick = interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut cancelling, mut paused) = (false, false);
    let worked = loop {
        tokio::select! {
            worked = &mut work_done => break worked,
            _ = tick.tick(), if !paused => show(&job),
            // Nothing to look at but what each thread does before it rests.
            () = job.gate.rested(), if paused => show(&job),
            Ok(()) = pauses.changed(), if !cancelling => {
                paused = *pauses.borrow_and_update();
                if paused {
                    job.gate.close();
                    job.transfer.figures().pause_in_place();
                } else {
                    job.transfer.figures().go_on_in_place();
                    job.gate.open();
                }
            }
            () = &mut cancelled, if !cancelling => {
                cancelling = true;
                job.stop(Fault::Cancelled { by: Side::Here });
            }
        }
    };
    job.copied.store(true, Ordering::Release);
    show(&job);
    let ended = worked.unwrap_or(Err(ENDED_EARLY));
    transfer.end_with(job.take_error().map_or(ended, Err).err(), arrived(&job));
}

/// Decides everything that is decided before the first byte.
fn prepare(request: CopyRequest, transfer: Transfer) -> Result<(Arc<Job>, Vec<Root>), Fault> {
    descriptors::at_least(COPY_DESCRIPTORS_MIN)?;
    let Plan { target, roots, failures } = plan::plan(&request)?;
    let options = request.options;
    let rules = rules::Rules::new(&options.rules)?;
    let choices = choose(&options, target.as_ref(), &roots)?;
    let proof = match &target {
        Some(target) if options.verify && !options.dry_run => Some(unnamed(target, &roots)?),
        _ => None,
    };
    let mut job = Job::new(options, choices, rules, proof, transfer);
    for failure in failures {
        job.fail_for(failure.path.0, failure.operation, failure.reason);
    }
    if let Some((dir, path)) = target {
        let copies = roots.iter().map(|root| root.copy_in(&path)).collect();
        // Where that cannot be told, what a list would hand on is removed all the same.
        let default_acl = has_default_acl(&dir).unwrap_or(true);
        job.top = Some(TopLevel { dir, path, default_acl, copies });
    }
    Ok((Arc::new(job), roots))
}

fn at(path: &std::path::Path, operation: Operation, source: io::Error) -> Fault {
    Fault::path(path.to_owned(), operation, source)
}

fn choose(options: &CopyOptions, target: Option<&Target>, roots: &[Root]) -> Result<Choices, Fault> {
    let within = |what: bool, why: &'static str| if what { Ok(()) } else { Err(Fault::option(why)) };
    let chunk = options.chunk_bytes.unwrap_or(CHUNK);
    within((COPY_CHUNK_MIN..=COPY_CHUNK_MAX).contains(&chunk), "a chunk has 4 KiB to 64 MiB")?;
    let depth = options.depth.unwrap_or(DEPTH);
    within((1..=COPY_DEPTH_MAX).contains(&depth), "a queue is 1 to 1,024 requests deep")?;
    let (workers, for_disk) = options.workers.map_or_else(|| default_workers(target, roots), |workers| (workers, 0));
    within((1..=COPY_WORKERS_MAX).contains(&workers), "a copy has 1 to 256 threads")?;
    let ForCopy { threads, folders, batch } = ForCopy::wanting(workers + for_disk);
    let workers = workers.min(threads);
    let for_disk = for_disk.min(threads - workers);
    let filesystem = target.and_then(|target| space::filesystem(&target.0).ok());
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
        // On btrfs a preallocated extent is written twice over the copy-on-write that it was for.
        preallocate_from: if zeros || name == "btrfs" { u64::MAX } else { chunk as u64 },
        user: rustix::process::geteuid().as_raw(),
        copies_by_itself: filesystem.is_some_and(space::Filesystem::copies_by_itself),
        began: match options.continues {
            Some(began) => Some(timestamp(began)),
            None => filesystem.filter(|filesystem| filesystem.uses_own_clock()).map(|_| now()),
        },
    })
}

/// The clock by which filesystems tell when a file was changed. It lags behind the precise one by
/// up to a tick.
fn now() -> Timestamp {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    Timestamp { secs: now.tv_sec, nanos: u32::try_from(now.tv_nsec).unwrap_or(0) }
}

fn timestamp(time: SystemTime) -> Timestamp {
    // Before 1970 nothing was copied.
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp { secs: since.as_secs().try_into().unwrap_or(i64::MAX), nanos: since.subsec_nanos() }
}

fn system_time(time: Timestamp) -> SystemTime {
    UNIX_EPOCH + Duration::new(time.secs.try_into().unwrap_or(0), time.nanos)
}

/// Threads that copy, and more of them for when a disk is waited for.
fn default_workers(target: Option<&Target>, roots: &[Root]) -> (usize, usize) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(WORKERS_MAX);
    let target = target.and_then(|target| metadata_of(&target.0).ok()).map(|metadata| metadata.dev);
    let devices: HashSet<u64> = roots.iter().map(Root::device).chain(target).collect();
    match devices.into_iter().any(|device| space::medium(device) == Some(Medium::Rotational)) {
        true => (cores.min(WORKERS_ROTATIONAL), 0),
        false => (cores, WORKERS_COLD.saturating_sub(cores)),
    }
}

/// A file without a name for the records of a verification: in the folder that all copies are in,
/// in a copy that is there already, or where temporary files go. Nothing may be made in the first
/// one where its entry alone is copied to.
fn unnamed((dir, path): &Target, roots: &[Root]) -> Result<File, Fault> {
    if let Ok(Some(file)) = dir.unnamed_file() {
        return Ok(file.into());
    }
    let temporary = std::env::temp_dir();
    let folders = roots.iter().map(|root| root.copy_in(path)).chain([temporary.clone()]);
    if let Some(file) =
        folders.filter_map(|folder| Dir::open(&folder).and_then(|dir| dir.unnamed_file()).ok().flatten()).next()
    {
        return Ok(file.into());
    }
    let source = match Dir::open(&temporary).and_then(|dir| dir.unnamed_file()) {
        Ok(_) => io::ErrorKind::Unsupported.into(),
        Err(source) => source,
    };
    Err(at(&temporary, Operation::Create, source))
}

/// Copies, and reads back if that was asked for.
fn work(job: &Job, roots: Vec<Root>) -> Result<(), Fault> {
    let counted = counted_sources(job, &roots);
    // Folders whose contents go to one place may hold files of one name: one source after the
    // other, so that the last one wins, whole.
    let apart = roots.len() > 1 && roots.iter().any(|root| matches!(root, Root::Contents { .. }));
    if let Some(top) = &job.top
        && roots.iter().any(|root| matches!(root, Root::Contents { .. }))
    {
        job.owns(&top.dir);
    }
    let tasks = roots.into_iter().map(Task::Source);
    let phases: Vec<Vec<Task<'_>>> = match apart {
        true => tasks.map(|task| vec![task]).collect(),
        // Each worker takes its newest: the first source is to be the first.
        false => vec![tasks.rev().collect()],
    };
    let stopped = AtomicBool::new(false);
    let (over, ended) = channel::<()>();
    std::thread::scope(|scope| {
        if let Some(sources) = counted {
            let stopped = &stopped;
            let counting = Builder::new().name("ringway-count".into()).spawn_scoped(scope, move || {
                if ended.recv_timeout(COUNT_AFTER) == Err(RecvTimeoutError::Timeout) {
                    count::run(job, sources, stopped);
                }
            });
            // Without a thread for it the totals firm up later.
            drop(counting);
        }
        let mut links = links::Links::default();
        let mut copied = Ok(());
        for (number, tasks) in phases.into_iter().enumerate() {
            if number > 0 && job.proof.is_some() {
                job.transfer.figures().resume();
            }
            links = phase(job, links, tasks);
            if apart && copied.is_ok() {
                copied = read_back(job);
            }
        }
        links.clear();
        stopped.store(true, Ordering::Release);
        job.gate.wake();
        drop(over);
        if apart { copied } else { read_back(job) }
    })
}

/// Copies what `tasks` lead to, then what has to wait for the rest.
fn phase<'j>(job: &'j Job, links: links::Links<'j>, tasks: Vec<Task<'j>>) -> links::Links<'j> {
    let mut shared = Shared::new(job, (job.choices.workers, job.choices.for_disk), links);
    shared.run(tasks);
    let (links, late) = shared.into_parts();
    if late.is_empty() || job.is_stopped() {
        return links;
    }
    job.late.store(true, Ordering::Release);
    shared = Shared::new(job, (1, 0), links);
    shared.run(late.into_iter().map(|(folder, from, to)| Task::Name { folder, from, to }).collect());
    job.late.store(false, Ordering::Release);
    shared.into_parts().0
}

fn read_back(job: &Job) -> Result<(), Fault> {
    let Some(proof) = job.proof.as_ref().filter(|_| !job.must_end()) else { return Ok(()) };
    job.transfer.figures().verify(value(&job.counts.files), value(&job.counts.bytes));
    job.copied.store(true, Ordering::Release);
    let done = proof.read_back(job, job.choices.workers);
    job.copied.store(false, Ordering::Release);
    done
}

/// Where the sources lie and what they are called there, if they are to be counted ahead.
fn counted_sources(job: &Job, roots: &[Root]) -> Option<Vec<(PathBuf, Box<[u8]>)>> {
    if !job.options.count_ahead {
        return None;
    }
    let source = |root: &Root| match root {
        Root::Named { holder, from, .. } => Some((holder.clone(), from.clone())),
        // The same folder by a name of its own, from above.
        Root::Contents { source, .. } => {
            let path = std::fs::canonicalize(source).ok()?;
            let name = std::os::unix::ffi::OsStrExt::as_bytes(path.file_name()?).into();
            Some((path.parent()?.to_owned(), name))
        }
    };
    roots.iter().map(source).collect()
}

/// Brings the transfer's figures up to date.
fn show(job: &Job) {
    let mut figures = job.transfer.figures();
    figures.look();
    if let (Some(proof), true) = (&job.proof, job.copied.load(Ordering::Acquire)) {
        let read = value(&proof.bytes);
        return figures.progress(value(&proof.files), read, read);
    }
    let counts = &job.counts;
    let (done, bytes) = (counts.done(), value(&counts.bytes));
    let copied = job.copied.load(Ordering::Acquire);
    let counted = job.counted.complete.load(Ordering::Acquire);
    figures.entries_total = value(&counts.found).max(value(&job.counted.entries)).max(done);
    figures.bytes_total = value(&counts.found_bytes).max(value(&job.counted.bytes)).max(bytes);
    figures.totals_final = copied || counted;
    figures.progress(done, bytes, bytes);
}

fn arrived(job: &Job) -> Arrived {
    let counts = &job.counts;
    let (bytes, reflinked, kernel) = (value(&counts.bytes), value(&counts.reflinked), value(&counts.kernel));
    let copy = CopyReport {
        workers: value(&counts.workers) as usize,
        depth: job.choices.depth,
        chunk_bytes: job.choices.chunk,
        io: job.fallback.get().copied().unwrap_or(job.choices.io.path()),
        filesystem: job.choices.filesystem,
        reflinked_bytes: reflinked,
        kernel_bytes: kernel,
        buffered_bytes: if job.options.dry_run { 0 } else { bytes.saturating_sub(reflinked + kernel) },
        uring_bytes: value(&counts.uring),
        specials: value(&counts.specials),
        excluded: value(&counts.excluded),
        verified: job.proof.as_ref().map_or(0, verify::Proof::proven),
        owners_lost: value(&counts.owners_lost),
        attributes_lost: value(&counts.attributes_lost),
        began: job.choices.began.map(system_time),
    };
    let counts = Counts {
        files: value(&counts.files),
        folders: value(&counts.folders),
        links: value(&counts.links),
        bytes,
        moved: bytes,
        unchanged: value(&counts.unchanged),
        skipped: value(&counts.skipped),
        skipped_bytes: value(&counts.skipped_bytes),
        reused: 0,
        edited: 0,
        failed: value(&counts.failed),
    };
    Arrived {
        counts,
        proven: None,
        paths: job.top.iter().flat_map(|top| &top.copies).take(ARRIVED_LISTED_MAX).cloned().collect(),
        left_behind: None,
        copy: Some(copy),
    }
}
