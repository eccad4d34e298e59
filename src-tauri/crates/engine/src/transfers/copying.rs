//! A copy inside this machine as a transfer: its handle, its figures, how it is paused and stopped,
//! and its record. The copying itself is in [`ringway_copy`].
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::Builder;

use ringway_copy::{Amount, CopyHandle, CopyJob, Observer, Progress};
use ringway_model::{Direction, Failure, Fault, Side, TransferId};
use ringway_tree::limits::ARRIVED_LISTED_MAX;
use tokio::sync::{Notify, oneshot};
use tokio::time::{MissedTickBehavior, interval};

use crate::limits::TICK;
use crate::store::history::Record;
use crate::transfers::transfer::{Arrived, Transfer};

pub use ringway_copy::{CopyOptions, CopyRequest, KernelCopy, PlannedFn, ReflinkMode, limits};

const ENDED_EARLY: Fault = Fault::machine("a thread of the copy ended early");

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
    let id = ringway_tree::random();
    let id_told = TransferId(*id.as_ref().unwrap_or(&[0; 16]));
    let transfer = Transfer::new(id_told, Direction::Copying, (title, more), record);
    match id {
        Ok(_) => {
            transfer.note_as_it_runs();
            tokio::spawn(run(request, transfer.clone()));
        }
        Err(error) => transfer.end(Err(error)),
    }
    transfer
}

/// Passes the copy's events to its transfer.
struct Events {
    transfer: Transfer,
    /// Notified of each thread that pauses.
    rested: Notify,
}

impl Observer for Events {
    fn entry_failed(&self, failure: Failure) {
        self.transfer.figures().fail(failure);
    }

    fn thread_paused(&self) {
        self.rested.notify_one();
    }

    fn verification_started(&self, total: Amount) {
        self.transfer.figures().verify(total.entries, total.bytes);
    }

    fn copying_resumed(&self) {
        self.transfer.figures().resume();
    }
}

async fn run(request: CopyRequest, transfer: Transfer) {
    let _ends = transfer.ends_with_its_driver();
    let (prepared, copy) = oneshot::channel();
    let (worked, mut work_done) = oneshot::channel();
    // Before it can be paused.
    let mut pauses = transfer.pauses();
    let events = Arc::new(Events { transfer: transfer.clone(), rested: Notify::new() });
    // Its own thread, not one of the runtime's: the copy's threads take another umask for good.
    let spawned = Builder::new().name("ringway-copy".into()).spawn({
        let events = Arc::clone(&events);
        move || match CopyJob::prepare(request, Arc::clone(&events) as Arc<dyn Observer>) {
            Ok(job) => {
                let mut figures = events.transfer.figures();
                figures.begin();
                figures.in_place = true;
                figures.look();
                drop(figures);
                // Nobody listens any more only where the runtime has gone.
                let _ = prepared.send(Ok(job.handle()));
                let _ = worked.send(job.run());
            }
            Err(error) => drop(prepared.send(Err(error))),
        }
    });
    let copy: CopyHandle = match spawned {
        Ok(_) => match copy.await.unwrap_or(Err(ENDED_EARLY)) {
            Ok(copy) => copy,
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
            _ = tick.tick(), if !paused => show(&copy, &transfer),
            // Nothing to look at but what each thread does before it rests.
            () = events.rested.notified(), if paused => show(&copy, &transfer),
            Ok(()) = pauses.changed(), if !cancelling => {
                paused = *pauses.borrow_and_update();
                if paused {
                    copy.pause();
                    transfer.figures().pause_in_place();
                } else {
                    transfer.figures().go_on_in_place();
                    copy.resume();
                }
            }
            _ = &mut cancelled, if !cancelling => {
                cancelling = true;
                copy.stop(Fault::cancelled(Side::Here));
            }
        }
    };
    let stopped = copy.finish();
    // What is cancelled in this moment was cancelled.
    let stopped = stopped.or_else(|| (!transfer.begin_naming()).then(|| Fault::cancelled(Side::Here)));
    show(&copy, &transfer);
    let ended = worked.unwrap_or(Err(ENDED_EARLY));
    transfer.end_with(stopped.map_or(ended, Err).err(), arrived(&copy));
}

/// Brings the transfer's figures up to date.
fn show(copy: &CopyHandle, transfer: &Transfer) {
    let mut figures = transfer.figures();
    figures.look();
    match copy.progress() {
        Progress::Copying { done, found, is_final } => {
            (figures.entries_total, figures.bytes_total) = (found.entries, found.bytes);
            figures.totals_final = is_final;
            figures.progress(done.entries, done.bytes, done.bytes);
        }
        Progress::Verifying { read } => figures.progress(read.entries, read.bytes, read.bytes),
    }
}

fn arrived(copy: &CopyHandle) -> Arrived {
    Arrived {
        counts: copy.totals(),
        proven: None,
        paths: copy.copies().take(ARRIVED_LISTED_MAX).cloned().collect(),
        left_behind: None,
        copy: Some(copy.report()),
    }
}
