//! How long a transfer waits here for the end that dials, and why.
use std::time::Duration;

use ringway_model::{Fault, Outage, Side};
use ringway_wire::limits::SILENCE_MAX_MS;
use tokio::time::Instant;

use crate::limits::{PAUSE_TIME_MAX, SILENT_AFTER};

/// A transfer that waits for the end that dials.
pub(super) struct Wait {
    /// When that end was heard last, or a person here last had the say.
    heard: Instant,
    /// For how long it may be silent.
    silence: Duration,
    /// It is silent until it goes on, but no longer than until then.
    rests: Option<Instant>,
    /// A person here has paused it, and resumes it until then.
    paused_here: Option<Instant>,
}

impl Wait {
    /// The end that dials tries again for the time of `retry`, or `rests` as long as that.
    pub(super) fn new(retry: Duration, rests: Option<Duration>) -> Self {
        let heard = Instant::now();
        // It may notice a loss later than this end.
        let silence = retry + Duration::from_millis(SILENCE_MAX_MS);
        Self { heard, silence, rests: rests.map(|rests| heard + rests), paused_here: None }
    }

    /// The end that dials has come.
    pub(super) fn hear(&mut self) {
        (self.heard, self.rests) = (Instant::now(), None);
    }

    /// A person here has paused it, or has resumed it: the other end has all its time from then on.
    pub(super) fn turn(&mut self, is_paused: bool) {
        if is_paused != self.is_paused_here() {
            self.heard = Instant::now();
            self.paused_here = is_paused.then(|| self.heard + PAUSE_TIME_MAX);
        }
    }

    pub(super) fn is_paused_here(&self) -> bool {
        self.paused_here.is_some()
    }

    /// Since when nothing is heard of an end that would be heard if it was there.
    pub(super) fn silent_since(&self) -> Option<Instant> {
        self.rests.is_none().then_some(self.heard)
    }

    /// Whether that is longer than a pause, or a full disk, explains.
    fn is_silent(&self) -> bool {
        self.silent_since().is_some_and(|since| since.elapsed() >= SILENT_AFTER)
    }

    /// What is shown of `outage`. A person cannot resume what the other end does not come for.
    pub(super) fn why(&self, outage: Outage) -> Outage {
        match (self.is_paused_here(), outage) {
            (true, _) if self.is_silent() => Outage::Broken,
            (true, _) => Outage::Paused { by: Side::Here },
            // It was resumed: the other end comes for it.
            (false, Outage::Paused { by: Side::Here }) => Outage::Broken,
            (false, outage) => outage,
        }
    }

    /// When it is given up. A disk here that is full is waited for until `full`.
    pub(super) fn ends(&self, full: Option<Instant>) -> Instant {
        let patient = self.patient(full);
        let silent = self.silent_since().map(|since| since + self.silence);
        patient.into_iter().chain(silent).min().unwrap_or(self.heard)
    }

    /// When it is given up as far as a person is shown: later, while the other end comes.
    pub(super) fn shown_end(&self, full: Option<Instant>) -> Instant {
        self.patient(full).filter(|_| !self.is_silent()).unwrap_or_else(|| self.ends(full))
    }

    fn patient(&self, full: Option<Instant>) -> Option<Instant> {
        self.paused_here.or(full).or(self.rests)
    }

    /// When something else may be shown of it, if nothing happens before.
    pub(super) fn next_look(&self) -> Option<Instant> {
        let since = self.silent_since().filter(|_| self.is_paused_here() && !self.is_silent());
        since.map(|since| since + SILENT_AFTER)
    }

    /// Why it ends now that it was waited for in vain, after a session that `error` has ended.
    pub(super) fn over(&self, error: Fault) -> Fault {
        let is_gone = self.silent_since().is_some_and(|since| since.elapsed() >= self.silence);
        match error {
            Fault::Paused { .. } | Fault::DestinationFull { .. } if is_gone => {
                Fault::lost(std::io::ErrorKind::TimedOut)
            }
            error => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RETRY: Duration = Duration::from_secs(900);
    const HERE: Outage = Outage::Paused { by: Side::Here };

    async fn pass(time: Duration) {
        tokio::time::advance(time).await;
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_paused_here_is_shown_so_while_the_other_end_comes_for_it() {
        let mut wait = Wait::new(RETRY, None);
        wait.turn(true);
        let ends = Instant::now() + PAUSE_TIME_MAX;
        for _ in 0..1_000 {
            pass(Duration::from_secs(20)).await;
            assert_eq!((wait.why(HERE), wait.shown_end(None)), (HERE, ends));
            wait.hear();
        }
        pass(SILENT_AFTER).await;
        assert_eq!(wait.why(HERE), Outage::Broken);
        assert!(wait.ends(None) < ends && wait.shown_end(None) == wait.ends(None));
        wait.hear();
        assert_eq!((wait.why(HERE), wait.shown_end(None)), (HERE, ends), "it is back");
    }

    #[tokio::test(start_paused = true)]
    async fn a_paused_transfer_ends_with_an_end_that_has_gone() {
        let mut wait = Wait::new(RETRY, None);
        wait.turn(true);
        pass(wait.ends(None) - Instant::now()).await;
        assert!(matches!(wait.over(Fault::paused(Side::Here)), Fault::ConnectionLost(_)));
        assert!(Instant::now() < wait.heard + PAUSE_TIME_MAX / 2);
    }

    #[tokio::test(start_paused = true)]
    async fn an_end_that_has_paused_is_silent_and_has_not_gone() {
        let mut wait = Wait::new(RETRY, Some(PAUSE_TIME_MAX));
        let there = Outage::Paused { by: Side::There };
        wait.turn(true);
        pass(RETRY * 2).await;
        assert_eq!((wait.why(there), wait.silent_since()), (HERE, None));
        wait.turn(false);
        assert_eq!(wait.why(there), there);
        pass(wait.ends(None) - Instant::now()).await;
        assert!(matches!(wait.over(Fault::paused(Side::There)), Fault::Paused { by: Side::There }));
    }
}
