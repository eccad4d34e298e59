//! An accepted transfer that waits: for its sender after the connection was lost, for room after
//! the disk was full, or for a person who has paused it.
use std::time::Duration;

use ringway_model::{DeclineReason, Fault, FreeSpace, Outage, Side};
use ringway_tree::filesystem::free_space;
use ringway_tree::receive::Incoming;
use ringway_wire::limits::SILENCE_MAX_MS;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};

use super::{Accepted, Opened};
use crate::limits::{FULL_LOOK_EVERY, FULL_TIME_MAX, PAUSE_TIME_MAX};
use crate::receiving::queue::Place;
use crate::receiving::renewals::Renewed;
use crate::receiving::taking::Lost;

/// A disk that was full.
struct Full {
    /// What it had when that was found.
    before: Option<FreeSpace>,
    /// When it is waited for no longer.
    until: Instant,
}

impl Accepted {
    /// Waits until it can go on; what is whole is kept meanwhile, and removed if a person stops it.
    pub(super) async fn go_on(
        &self,
        lost: Box<Lost>,
        renewed: &mut mpsc::Receiver<Renewed>,
    ) -> Result<(Opened, Place), Fault> {
        let Lost { error, mut outage, incoming, mut successor, .. } = *lost;
        // The sender may notice later than we do.
        let silence = self.retry + Duration::from_millis(SILENCE_MAX_MS);
        let mut silent_until = Instant::now() + silence;
        let full = |outage| matches!(outage, Outage::Full(_)).then(|| self.found_full());
        let mut full = full(outage);
        let mut resumes = self.taking.transfer.resumes();
        let mut pauses = self.taking.transfer.pauses();
        let pause_ends = || Instant::now() + PAUSE_TIME_MAX;
        // A sender that has paused is silent until it resumes.
        let paused_there = (outage == Outage::Paused { by: Side::There }).then(pause_ends);
        let mut paused_here = None;
        loop {
            paused_here =
                if self.taking.transfer.is_paused() { paused_here.or_else(|| Some(pause_ends())) } else { None };
            let why = match paused_here {
                Some(_) => Outage::Paused { by: Side::Here },
                // It was resumed: its sender comes for it.
                None if outage == Outage::Paused { by: Side::Here } => Outage::Broken,
                None => outage,
            };
            let full_until = full.as_ref().map(|full| full.until);
            let shown_until = paused_here.or(full_until).or(paused_there).unwrap_or(silent_until);
            let until = paused_here.or(paused_there).unwrap_or(shown_until.min(silent_until));
            self.taking.transfer.figures().interrupt(why, None, shown_until.into_std());
            tokio::select! {
                next = next_of(&mut successor, renewed) => {
                    // The rule that had accepted it does not say so any more.
                    let Some(next) = next else { return Err(error) };
                    silent_until = Instant::now() + silence;
                    if paused_here.is_some() {
                        decline(next, DeclineReason::Paused);
                    } else if let Some(full) = &full && !self.taking.has_space(full.before).await {
                        decline(next, DeclineReason::NoRoom(self.taking.shortage()));
                    } else {
                        let Renewed { visitor, place } = next;
                        match self.open(visitor).await {
                            Ok(opened) => return Ok((opened, place)),
                            Err((Fault::Declined(DeclineReason::NoRoom(shortage)), session)) => {
                                tokio::spawn(session.close());
                                (outage, full) = (Outage::Full(shortage), Some(self.found_full()));
                            }
                            Err((error, session)) => {
                                session.close().await;
                                return Err(error);
                            }
                        }
                    }
                }
                // Whatever the disk says of itself.
                Ok(()) = resumes.changed() => full = None,
                Ok(()) = pauses.changed() => silent_until = Instant::now() + silence,
                () = sleep(FULL_LOOK_EVERY), if full.is_some() => {}
                () = sleep_until(until) => return Err(error),
                stopped = self.taking.transfer.cancelled() => {
                    if !matches!(stopped, Fault::Cancelled { kept: true, .. }) {
                        self.taking.leave(incoming, Incoming::discard_kept).await;
                    }
                    return Err(stopped);
                }
            }
            if full.is_some() {
                outage = Outage::Full(self.taking.shortage());
            }
        }
    }

    fn found_full(&self) -> Full {
        Full { before: free_space::look(&self.taking.destination), until: Instant::now() + FULL_TIME_MAX }
    }
}

/// Lets the sender look again later, and says why.
fn decline(Renewed { visitor, place }: Renewed, why: DeclineReason) {
    let mut session = visitor.session;
    session.machine.decline(why);
    tokio::spawn(async move {
        session.close().await;
        drop(place);
    });
}

/// The session that came before the end of the last one was noticed, else the next one.
async fn next_of(successor: &mut Option<Renewed>, renewed: &mut mpsc::Receiver<Renewed>) -> Option<Renewed> {
    match successor.take() {
        Some(next) => Some(next),
        None => renewed.recv().await,
    }
}
