//! The threads of a copy and what they share beside the job.
use parking_lot::Mutex;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{Builder, Scope, scope};

use ringway_model::Operation;

use super::hard_links::{Links, Name};
use super::job::Job;
use super::queue::Queue;
use super::worker::{Task, Worker};
use crate::error::Error;

/// What all threads share.
pub(super) struct Pool<'j> {
    pub(super) job: &'j Job,
    pub(super) queue: Queue<Task<'j>>,
    pub(super) links: Links<'j>,
    /// Files that are written through a link at the destination: after all others, one by one, for
    /// what it leads to may be written itself.
    late: Mutex<Vec<Name<'j>>>,
    workers: usize,
    /// Threads beside those, for when a disk is waited for.
    for_disk: usize,
    grown: AtomicBool,
    grown_for_disk: AtomicBool,
    /// Threads that have come.
    there: AtomicU64,
}

/// Why more threads are wanted.
#[derive(Clone, Copy)]
pub(super) enum Grow {
    /// There is something to do for others: a copy of one file has no use for them.
    ForTasks,
    /// Reading waits for a disk: while one thread does, another writes what it has read.
    ForDisk,
}

impl<'j> Pool<'j> {
    /// For `workers` threads, and so many more where a disk is waited for.
    pub(super) fn new(job: &'j Job, (workers, for_disk): (usize, usize), links: Links<'j>) -> Self {
        let (grown, grown_for_disk, there) = Default::default();
        let queue = Queue::new(workers);
        Self { job, queue, links, late: Mutex::default(), workers, for_disk, grown, grown_for_disk, there }
    }

    pub(super) fn put_off(&self, name: Name<'j>) {
        self.late.lock().push(name);
    }

    /// The links met so far, and what was put off.
    pub(super) fn into_parts(self) -> (Links<'j>, Vec<Name<'j>>) {
        (self.links, self.late.into_inner())
    }

    /// Works until nothing is left to do: on this thread, and on others from when there is
    /// something for them. What ends one of them early ends the copy.
    pub(super) fn run(&self, tasks: Vec<Task<'j>>) {
        let several = tasks.len() > 1;
        self.job.counts.workers.fetch_max(1, Ordering::Relaxed);
        self.queue.push(0, tasks);
        scope(|scope| {
            if several {
                self.grow(scope, Grow::ForTasks);
            }
            self.work(0, scope);
        });
        drop(self.queue.close());
        if self.job.is_stopped() {
            self.links.clear();
        }
    }

    /// Starts threads, once for each reason.
    fn grow<'s>(&'s self, scope: &'s Scope<'s, '_>, why: Grow) {
        let grown = match why {
            Grow::ForTasks => &self.grown,
            Grow::ForDisk => &self.grown_for_disk,
        };
        if grown.swap(true, Ordering::Relaxed) {
            return;
        }
        let numbers = match why {
            Grow::ForTasks => 1..self.workers,
            Grow::ForDisk => {
                // The first ones keep their places, whether they have come or not.
                self.queue.widen(self.for_disk);
                self.workers..self.workers + self.for_disk
            }
        };
        for number in numbers {
            let name = format!("ringway-copy-{number}");
            // What there is no thread for, the others do.
            if Builder::new().name(name).spawn_scoped(scope, move || self.work(number, scope)).is_err() {
                break;
            }
        }
    }

    fn work<'s>(&'s self, number: usize, scope: &'s Scope<'s, '_>) {
        let closing = Closing(self);
        self.queue.arrive();
        self.job.counts.workers.fetch_max(self.there.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
        let ran = Worker::new(self, number, &|why| self.grow(scope, why)).run();
        self.settle(ran);
        std::mem::forget(closing);
    }

    fn settle(&self, ended: io::Result<()>) {
        if let Err(source) = ended {
            self.job.stop(Error::Path { path: self.job.first_path(), operation: Operation::Write, source });
        }
    }
}

/// Lets nobody wait for the work of a thread that panicked, whose scope passes that on.
struct Closing<'s, 'j>(&'s Pool<'j>);

impl Drop for Closing<'_, '_> {
    fn drop(&mut self) {
        drop(self.0.queue.close());
    }
}
