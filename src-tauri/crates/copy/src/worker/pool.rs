//! The thread pool of a copy: when it grows, and what its threads share in addition to the job.
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{Builder, Scope, scope};

use parking_lot::Mutex;
use ringway_model::{Fault, Operation};

use super::hard_links::{Links, Name};
use super::queue::Queue;
use super::{Task, Worker};
use crate::job::Job;

/// The threads of one phase of a copy.
pub(crate) struct Pool<'j> {
    pub(crate) job: &'j Job,
    pub(crate) queue: Queue<Task<'j>>,
    pub(crate) links: Links<'j>,
    /// Files that are written through a link at the destination. They come after all others, one by
    /// one, because the file that the link leads to may be written itself.
    late: Mutex<Vec<Name<'j>>>,
    workers: usize,
    /// Threads that are added once a thread waits for a disk.
    for_disk: usize,
    grown: AtomicBool,
    grown_for_disk: AtomicBool,
    /// Threads that have started.
    there: AtomicU64,
}

/// A reason to grow the pool.
#[derive(Clone, Copy)]
pub(crate) enum Grow {
    /// There are tasks for other threads. A copy of one file starts none.
    ForTasks,
    /// A thread waits for a disk. While it does, another one writes what it has read.
    ForDisk,
}

impl<'j> Pool<'j> {
    /// For `workers` threads, and `for_disk` more once a thread waits for a disk.
    pub(crate) fn new(job: &'j Job, workers: usize, for_disk: usize, links: Links<'j>) -> Self {
        let (grown, grown_for_disk, there) = Default::default();
        let queue = Queue::new(workers);
        Self { job, queue, links, late: Mutex::default(), workers, for_disk, grown, grown_for_disk, there }
    }

    pub(crate) fn put_off(&self, name: Name<'j>) {
        self.late.lock().push(name);
    }

    /// The links met so far, and the files that were put off.
    pub(crate) fn into_parts(self) -> (Links<'j>, Vec<Name<'j>>) {
        (self.links, self.late.into_inner())
    }

    /// Works on this thread, and on others once there are tasks for them, until no task is left. An
    /// error that ends one of the threads ends the copy.
    pub(crate) fn run(&self, tasks: Vec<Task<'j>>) {
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
                // The first threads keep their numbers, whether they have started or not.
                self.queue.widen(self.for_disk);
                self.workers..self.workers + self.for_disk
            }
        };
        for number in numbers {
            let name = format!("ringway-copy-{number}");
            // If no thread can be started, the others do the work.
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
            self.job.stop(Fault::path(self.job.first_path(), Operation::Write, source));
        }
    }
}

/// Closes the queue when a thread panics, so that no other waits for its tasks. The scope passes
/// the panic on.
struct Closing<'s, 'j>(&'s Pool<'j>);

impl Drop for Closing<'_, '_> {
    fn drop(&mut self) {
        drop(self.0.queue.close());
    }
}
