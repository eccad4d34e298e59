//! An accepted transfer that waits: for its sender after the connection was lost, for room after
//! the disk was full, or for a person who has paused it.
use ringway_link::session::Session;
use ringway_model::{DeclineReason, Fault, FreeSpace, Outage, Side};
use ringway_tree::filesystem::free_space;
use ringway_tree::receive::Incoming;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};

use super::{Accepted, Opened};
use crate::limits::{FULL_LOOK_EVERY, FULL_TIME_MAX, PAUSE_TIME_MAX};
use crate::receiving::parting;
use crate::receiving::queue::Place;
use crate::receiving::renewals::{Open, Renewed};
use crate::receiving::taking::Lost;
use crate::receiving::wait::Wait;

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
        open: &Open,
        renewed: &mut mpsc::Receiver<Renewed>,
    ) -> Result<(Opened, Place), Fault> {
        let Lost { error, mut outage, incoming, mut successor, .. } = *lost;
        // A sender that has paused is silent until it resumes. One that hears of a pause or of a
        // full disk here offers it again all the same.
        let rests = (outage == Outage::Paused { by: Side::There }).then_some(PAUSE_TIME_MAX);
        let mut wait = Wait::new(self.retry, rests);
        let full = |outage| matches!(outage, Outage::Full(_)).then(|| self.found_full());
        let mut full = full(outage);
        let mut resumes = self.taking.transfer.resumes();
        let mut pauses = self.taking.transfer.pauses();
        loop {
            wait.turn(self.taking.transfer.is_paused());
            open.silent_since(wait.silent_since());
            let full_until = full.as_ref().map(|full| full.until);
            let shown = wait.shown_end(full_until).into_std();
            self.taking.transfer.figures().interrupt(wait.why(outage), None, shown);
            tokio::select! {
                next = next_of(&mut successor, renewed) => {
                    // The rule that had accepted it does not say so any more.
                    let Some(next) = next else { return Err(error) };
                    wait.hear();
                    if wait.is_paused_here() {
                        self.decline(next, DeclineReason::Paused);
                    } else if let Some(full) = &full && !self.taking.has_space(full.before).await {
                        self.decline(next, DeclineReason::NoRoom(self.taking.shortage()));
                    } else {
                        let Renewed { visitor, place } = next;
                        match self.open(visitor).await {
                            Ok(opened) => return Ok((opened, place)),
                            Err((Fault::Declined(DeclineReason::NoRoom(shortage)), session)) => {
                                self.close(session, place);
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
                Ok(()) = pauses.changed() => {}
                () = sleep(FULL_LOOK_EVERY), if full.is_some() => {}
                () = sleep_until(wait.next_look().unwrap_or_else(Instant::now)), if wait.next_look().is_some() => {}
                () = sleep_until(wait.ends(full_until)) => return Err(wait.over(error)),
                stopped = self.taking.transfer.cancelled() => {
                    if matches!(stopped, Fault::Cancelled { kept: false, .. }) {
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

    /// Lets the sender look again later, and says why.
    fn decline(&self, Renewed { visitor, place }: Renewed, why: DeclineReason) {
        let mut session = visitor.session;
        session.machine.decline(why);
        self.close(session, place);
    }

    fn close(&self, session: Session, place: Place) {
        let transfer = self.taking.transfer.clone();
        tokio::spawn(async move {
            parting::close(session, &transfer).await;
            drop(place);
        });
    }
}

/// The session that came before the end of the last one was noticed, else the next one.
async fn next_of(successor: &mut Option<Renewed>, renewed: &mut mpsc::Receiver<Renewed>) -> Option<Renewed> {
    match successor.take() {
        Some(next) => Some(next),
        None => renewed.recv().await,
    }
}
