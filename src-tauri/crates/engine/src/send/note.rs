//! Sending a note: over all its attempts, until the other device says that it is kept.
use std::sync::Arc;
use std::time::Duration;

use ringway_link::retry::Tries;
use ringway_link::session::Session;
use ringway_model::{DeclineReason, Device, Fault, NoteText, Outage, Side};
use ringway_tree::random;
use ringway_wire::code::PairingSecret;
use ringway_wire::control::{Cancel, NoteId};
use ringway_wire::session::Event;
use tokio::time::{Instant, sleep_until, timeout};

use super::attempts::{First, outage};
use super::reach::{Reached, reach, refused};
use crate::devices::target::Target;
use crate::limits::{NOTE_ANSWER_TIME_MAX, RETRY_MAX};
use crate::shared::Shared;

/// A note to send.
pub struct NoteRequest {
    /// The target.
    pub target: Target,
    /// The code or standing secret, if the two devices have not met.
    pub code: Option<PairingSecret>,
    /// What.
    pub text: NoteText,
    /// How long it is offered again after the connection was lost; none is not at all.
    pub retry: Option<Duration>,
}

/// Why a note is not there yet, and how long until it is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoteWaits {
    /// Why.
    pub why: NoteOutage,
    /// How long.
    pub wait: Duration,
}

/// Why a note is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoteOutage {
    /// The connection was lost, or the receiver is busy.
    Outage(Outage),
    /// The receiver takes no more notes for now.
    TooMany,
}

/// Sends it, and where nobody knows whether it arrived, again. `waits` is told before each pause.
pub(crate) async fn run(
    shared: &Arc<Shared>,
    mut request: NoteRequest,
    mut waits: impl FnMut(NoteWaits) + Send,
) -> Result<Device, Fault> {
    let id: NoteId = random()?;
    let retry = request.retry.map(|retry| retry.min(RETRY_MAX)).unwrap_or_default();
    let mut tries = Tries::new(retry);
    let mut sending = Sending { shared, id, first: None, was_said: false };
    let mut lost = None;
    loop {
        let error = match sending.attempt(&mut request, retry).await {
            Ok(device) => return Ok(device),
            Err(error) => error,
        };
        let jitter = random::<1>()?[0];
        let (why, next) = match &error {
            Fault::Declined(DeclineReason::TooManyNotes { wait_ms }) => {
                (NoteOutage::TooMany, tries.after(Instant::now(), Duration::from_millis((*wait_ms).into()), jitter))
            }
            error => match outage(error).filter(|_| sending.was_said) {
                Some(outage) => (NoteOutage::Outage(outage), tries.next(Instant::now(), jitter)),
                // It is no interruption, so no earlier one explains it.
                None => return Err(error.clone()),
            },
        };
        // Where time runs out, the reported reason is what interrupted it, not what the last
        // attempt met.
        let first = lost.take().unwrap_or(error);
        let Some(next) = next else { return Err(first) };
        lost = Some(first);
        waits(NoteWaits { why, wait: next.at.saturating_duration_since(Instant::now()) });
        sleep_until(next.at).await;
    }
}

struct Sending<'a> {
    shared: &'a Arc<Shared>,
    id: NoteId,
    /// The device that the first attempt reached: every other one goes to it or fails.
    first: Option<First>,
    /// It may have arrived.
    was_said: bool,
}

impl Sending<'_> {
    async fn attempt(&mut self, request: &mut NoteRequest, retry: Duration) -> Result<Device, Fault> {
        let Self { shared, id, first, was_said } = self;
        // Later attempts are made by who tries again.
        let patience = if first.is_none() { retry } else { Duration::ZERO };
        let destination = First::destination(first.as_ref(), shared, &request.target)?;
        let Reached { mut session, device, address, .. } =
            reach(shared, &destination, request.code.take(), patience).await?;
        first.get_or_insert_with(|| First { device: device.clone(), address });
        let pairing = shared.store.pairing(device.id)?;
        session.machine.note(*id, &request.text);
        *was_said = true;
        let answered = tokio::select! {
            answered = timeout(NOTE_ANSWER_TIME_MAX, answer(&mut session)) => {
                answered.unwrap_or_else(|_| Err(Fault::lost(std::io::ErrorKind::TimedOut)))
            }
            () = shared.forgotten(pairing) => Err(Fault::PeerForgotten),
        };
        if answered.is_err() {
            // It says nothing where the session has ended.
            session.machine.cancel(Cancel::Failed);
        }
        // Everything was heard that there is to hear.
        tokio::spawn(session.close());
        answered.map(|()| device)
    }
}

async fn answer(session: &mut Session) -> Result<(), Fault> {
    loop {
        return match session.next().await? {
            Some(Event::NoteKept) => Ok(()),
            Some(Event::Declined(why)) => Err(Fault::Declined(why)),
            Some(Event::Refused(refusal)) => Err(refused(refusal, None)),
            Some(Event::Cancelled(Cancel::Failed)) => Err(Fault::FailedThere),
            Some(Event::Cancelled(_)) => Err(Fault::cancelled(Side::There)),
            Some(_) => continue,
            None => Err(Fault::lost(std::io::ErrorKind::UnexpectedEof)),
        };
    }
}
