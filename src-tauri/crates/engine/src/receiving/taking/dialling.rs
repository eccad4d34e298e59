//! The lanes of what this end has asked for: it dials them, and the other end sends on them.
use std::sync::Arc;
use std::time::Duration;

use ringway_link::lane::LaneStops;
use ringway_link::lane::growth::LaneGrowth;
use ringway_link::tls::Channel;
use ringway_model::Fault;
use tokio::sync::mpsc;

use crate::send::lanes::{Admitted, LaneOpener};

/// The lanes that this end dials.
pub(in crate::receiving) struct Dialling {
    opener: Arc<LaneOpener>,
    deliver: mpsc::UnboundedSender<(u8, Channel)>,
    fail: mpsc::UnboundedSender<Fault>,
    failed: mpsc::UnboundedReceiver<Fault>,
    growth: LaneGrowth,
    /// Lanes to begin with.
    first: u8,
    /// Lanes that were begun to be opened: the number of the next one.
    begun: u8,
    failures: u8,
}

impl Dialling {
    /// Lanes that `opener` opens: so many at first, and at the most.
    pub(in crate::receiving) fn new(opener: Arc<LaneOpener>, first: u8, most: u8) -> (Self, Admitted) {
        let (deliver, joined) = mpsc::unbounded_channel();
        let (fail, failed) = mpsc::unbounded_channel();
        let successors = (0..most).map(|number| Some(opener.successor(number))).collect();
        let first = first.min(most);
        let growth = LaneGrowth::new(first, most);
        (Self { opener, deliver, fail, failed, growth, first, begun: 0, failures: 0 }, Admitted { joined, successors })
    }

    pub(super) fn stops(&self) -> LaneStops {
        self.opener.stops.clone()
    }

    /// Opens the first ones.
    pub(super) fn begin(&mut self) {
        self.open(self.first);
    }

    fn open(&mut self, more: u8) {
        for number in self.begun..self.begun + more {
            let (opener, deliver, fail) = (Arc::clone(&self.opener), self.deliver.clone(), self.fail.clone());
            tokio::spawn(async move {
                tokio::select! {
                    joined = opener.join(number, 0) => match joined {
                        // A session that has ended needs no lane.
                        Ok(channel) => drop(deliver.send((number, channel))),
                        Err(fault) => drop(fail.send(fault)),
                    },
                    () = opener.stops.stopped() => {}
                }
            });
        }
        self.begun += more;
    }

    /// The next lane that could not be opened.
    pub(super) async fn next_failed(&mut self) -> Fault {
        match self.failed.recv().await {
            Some(fault) => {
                self.failures += 1;
                self.growth.dropped();
                fault
            }
            // This value has one end of the channel itself.
            None => std::future::pending().await,
        }
    }

    /// Whether a lane that was begun may still come.
    pub(super) fn may_succeed(&self) -> bool {
        self.failures < self.begun
    }

    /// Adds lanes while all that were begun run, and that makes it faster.
    pub(super) fn grow(&mut self, running: usize, now: Duration, bytes: u64, limited: bool) {
        if running == usize::from(self.begun) {
            let more = self.growth.lanes_to_add(now, bytes, limited);
            self.open(more);
        }
    }
}

impl Drop for Dialling {
    fn drop(&mut self) {
        self.opener.stops.stop();
    }
}
