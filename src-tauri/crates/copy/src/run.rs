//! The phases of a copy, one after the other, each run by threads, and reading back.
mod count_ahead;
mod read_back;
#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::Duration;

use ringway_model::{FailureReason, Fault, Operation};
use ringway_sys::dir::Dir;
use ringway_tree::filesystem::selection::why_missing;
use rustix::io::Errno;

use crate::job::{Job, value};
use crate::observer::Amount;
use crate::prepare::plan::Root;
use crate::worker::Task;
use crate::worker::hard_links::Links;
use crate::worker::pool::Pool;

/// If requested, a copy that takes longer than this is counted ahead.
const COUNT_AFTER: Duration = Duration::from_millis(700);

/// Copies, and reads back if requested.
pub(crate) fn run(job: &Job, roots: Vec<Root>) -> Result<(), Fault> {
    let counted = counted_sources(job, &roots);
    // Folders whose contents go to one place may have files of the same name. So one source is
    // copied after the other, and the last one wins completely.
    let apart = roots.len() > 1 && roots.iter().any(|root| matches!(root, Root::Contents { .. }));
    if let Some(top) = &job.top
        && roots.iter().any(|root| matches!(root, Root::Contents { .. }))
    {
        job.owns(&top.dir);
    }
    let source = roots.first().map(Root::written).unwrap_or_default();
    let tasks = roots.into_iter().map(Task::Source);
    let phases: Vec<Vec<Task<'_>>> = match apart {
        true => tasks.map(|task| vec![task]).collect(),
        // Each worker takes its newest task, so this makes the first source come first.
        false => vec![tasks.rev().collect()],
    };
    let stopped = AtomicBool::new(false);
    let (over, ended) = channel::<()>();
    std::thread::scope(|scope| {
        if let Some(sources) = counted {
            let stopped = &stopped;
            let counting = Builder::new().name("ringway-count".into()).spawn_scoped(scope, move || {
                if ended.recv_timeout(COUNT_AFTER) == Err(RecvTimeoutError::Timeout) {
                    count_ahead::run(job, sources, stopped);
                }
            });
            // Without a thread for it, the totals become final later.
            drop(counting);
        }
        let mut links = Links::default();
        let mut copied = Ok(());
        for (number, tasks) in phases.into_iter().enumerate() {
            if number > 0 && job.proof.is_some() {
                job.observer.copying_resumed();
            }
            links = phase(job, links, tasks);
            if apart && copied.is_ok() {
                copied = prove(job);
            }
        }
        links.clear();
        report_missing(job, &source);
        stopped.store(true, Ordering::Release);
        job.control.wake();
        drop(over);
        if apart { copied } else { prove(job) }
    })
}

/// Reports the listed paths that the source, which is the only one then, does not have.
fn report_missing(job: &Job, source: &Path) {
    let Some(filter) = job.filter.as_ref().filter(|_| !job.is_stopped()) else { return };
    let dir = Dir::open_to_search(source).ok();
    for path in filter.missing(&job.met) {
        let why = dir.as_ref().map_or(Errno::NOENT, |dir| why_missing(dir, path, |_| false));
        let reason = FailureReason::Os { errno: why.raw_os_error() };
        job.fail_for(source.join(OsStr::from_bytes(path)), Operation::Open, reason);
    }
}

/// Runs `tasks` and all tasks that they create, then those that have to wait for the rest.
fn phase<'j>(job: &'j Job, links: Links<'j>, tasks: Vec<Task<'j>>) -> Links<'j> {
    let mut pool = Pool::new(job, job.choices.workers, job.choices.for_disk, links);
    pool.run(tasks);
    let (links, late) = pool.into_parts();
    if late.is_empty() || job.is_stopped() {
        return links;
    }
    job.late.store(true, Ordering::Release);
    pool = Pool::new(job, 1, 0, links);
    pool.run(late.into_iter().map(|(folder, from, to)| Task::Name { folder, from, to }).collect());
    job.late.store(false, Ordering::Release);
    pool.into_parts().0
}

fn prove(job: &Job) -> Result<(), Fault> {
    let Some(proof) = job.proof.as_ref().filter(|_| !job.must_end()) else { return Ok(()) };
    job.copied.store(true, Ordering::Release);
    let total = Amount { entries: value(&job.counts.files), bytes: value(&job.counts.bytes) };
    job.observer.verification_started(total);
    let done = read_back::read_back(job, proof);
    job.copied.store(false, Ordering::Release);
    done
}

/// The folders and names of the sources, if they are to be counted ahead.
fn counted_sources(job: &Job, roots: &[Root]) -> Option<Vec<(PathBuf, Box<[u8]>)>> {
    if !job.options.count_ahead {
        return None;
    }
    let source = |root: &Root| match root {
        Root::Named { holder, from, .. } => Some((holder.clone(), from.clone())),
        // The same folder by its name in its parent.
        Root::Contents { source, .. } => {
            let path = std::fs::canonicalize(source).ok()?;
            let name = std::os::unix::ffi::OsStrExt::as_bytes(path.file_name()?).into();
            Some((path.parent()?.to_owned(), name))
        }
    };
    roots.iter().map(source).collect()
}
