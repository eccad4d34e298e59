//! The threads of a copy and what they share beside the job.
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, ScopedJoinHandle, scope};

use super::at;
use super::job::Job;
use super::links::{Links, Name};
use super::queue::Queue;
use super::worker::{Task, Worker};
use crate::error::{Error, Operation};

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

    /// Runs the threads until nothing is left to do. What ends one of them early ends the copy.
    pub(super) fn run(&self, tasks: Vec<Task<'j>>) {
        self.queue.push(0, tasks);
        scope(|scope| {
            let threads: Vec<_> = (0..self.workers)
                .map(|number| {
                    let name = format!("ringway-copy-{number}");
                    Builder::new().name(name).spawn_scoped(scope, move || {
                        let closing = Closing(self);
                        let ran = Worker::new(self, number).run();
                        std::mem::forget(closing);
                        ran
                    })
                })
                .collect();
            if threads.iter().all(Result::is_err) {
                self.job.stop(Error::Invalid("this machine gives no thread to copy with"));
            }
            for thread in threads {
                match thread.map(ScopedJoinHandle::join) {
                    Ok(Ok(Ok(()))) => {}
                    Ok(Ok(Err(source))) => self.job.stop(at(&self.job.first_path(), Operation::Write, source)),
                    Ok(Err(_)) => self.job.stop(Error::Invalid("a thread of the copy ended early")),
                    // The others do its work.
                    Err(_) => self.queue.without_one(),
                }
            }
        });
        drop(self.queue.close());
        if self.job.is_stopped() {
            self.links.clear();
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
