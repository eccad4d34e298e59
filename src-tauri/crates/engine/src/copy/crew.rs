//! The threads of a copy and what they share beside the job.
use std::cell::RefCell;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, ScopedJoinHandle, scope};

use super::job::Job;
use super::links::{Links, Name};
use super::queue::Queue;
use super::worker::{Task, Worker};
use super::{ENDED_EARLY, at};
use crate::error::Operation;

/// What all threads share.
pub(super) struct Shared<'j> {
    pub(super) job: &'j Job,
    pub(super) queue: Queue<Task<'j>>,
    pub(super) links: Links<'j>,
    /// Files that are written through a link at the destination: after all others, one by one, for what it leads to may be written itself.
    late: Mutex<Vec<Name<'j>>>,
    workers: usize,
}

impl<'j> Shared<'j> {
    pub(super) fn new(job: &'j Job, workers: usize, links: Links<'j>) -> Self {
        Self { job, queue: Queue::new(workers), links, late: Mutex::default(), workers }
    }

    pub(super) fn put_off(&self, name: Name<'j>) {
        self.late.lock().unwrap_or_else(PoisonError::into_inner).push(name);
    }

    /// The links met so far, and what was put off.
    pub(super) fn into_parts(self) -> (Links<'j>, Vec<Name<'j>>) {
        (self.links, self.late.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Works until nothing is left to do: on this thread, and on others from when there is something for them. What ends one of them
    /// early ends the copy.
    pub(super) fn run(&self, tasks: Vec<Task<'j>>) {
        let several = tasks.len() > 1;
        self.job.counts.workers.fetch_max(1, Ordering::Relaxed);
        self.queue.push(0, tasks);
        scope(|scope| {
            let others = RefCell::new(Vec::new());
            let call = || {
                let spawned = (1..self.workers).map_while(|number| {
                    let name = format!("ringway-copy-{number}");
                    // What there is no thread for, the others do.
                    Builder::new().name(name).spawn_scoped(scope, move || self.work(number, None)).ok()
                });
                let mut others = others.borrow_mut();
                others.extend(spawned);
                self.job.counts.workers.fetch_max(others.len() as u64 + 1, Ordering::Relaxed);
            };
            if several {
                call();
            }
            let own = self.work(0, (!several).then_some(&call));
            self.settle(own);
            for thread in others.take() {
                match ScopedJoinHandle::join(thread) {
                    Ok(ended) => self.settle(ended),
                    Err(_) => self.job.stop(ENDED_EARLY),
                }
            }
        });
        drop(self.queue.close());
        if self.job.is_stopped() {
            self.links.clear();
        }
    }

    fn work(&self, number: usize, call: Option<&dyn Fn()>) -> io::Result<()> {
        let closing = Closing(self);
        self.queue.arrive();
        let ran = Worker::new(self, number, call).run();
        std::mem::forget(closing);
        ran
    }

    fn settle(&self, ended: io::Result<()>) {
        if let Err(source) = ended {
            self.job.stop(at(&self.job.first_path(), Operation::Write, source));
        }
    }
}

/// Lets nobody wait for the work of a thread that panicked.
struct Closing<'s, 'j>(&'s Shared<'j>);

impl Drop for Closing<'_, '_> {
    fn drop(&mut self) {
        drop(self.0.queue.close());
    }
}
