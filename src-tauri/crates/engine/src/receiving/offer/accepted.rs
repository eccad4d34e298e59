//! An accepted transfer, over all its sessions: each is received until it ends; where the
//! connection is lost, the next one is waited for.
mod waiting;

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::sync::Arc;
use std::time::Duration;

use ringway_link::session::Session;
use ringway_model::{DeclineReason, DeviceRule, Direction, Fault, Invalid, OnCancel, Side, TransferId};
use ringway_tree::receive::{Allowance, AttemptKey, Expected, TopsAtFirst};

use super::acceptance::Acceptance;
use crate::admission::descriptors::ForReceiving;
use crate::limits::{PAUSE_TIME_MAX, RENEWAL_TIME_MAX};
use crate::receiving::event::ReceiverEvent;
use crate::receiving::listening::Listening;
use crate::receiving::queue::Place;
use crate::receiving::renewals::AcceptedOffer;
use crate::receiving::taking::{Earlier, Ended, LanesFrom, Opened, Taking};
use crate::receiving::visitor::Visitor;
use crate::shared::DropPlace;
use crate::store::history::Record;
use crate::transfers::forgetting::stop_when;
use crate::transfers::options::AcceptOptions;
use crate::transfers::transfer::Transfer;

/// A transfer that was accepted, and how.
pub(super) struct Accepted {
    listening: Arc<Listening>,
    taking: Taking,
    /// The device's rule, where that has accepted it.
    rule: Option<DeviceRule>,
    /// For how long its sender offers it again.
    retry: Duration,
}

impl Accepted {
    pub(super) fn new(
        listening: Arc<Listening>,
        visitor: &Visitor,
        options: AcceptOptions,
        acceptance: Acceptance,
    ) -> Self {
        let Visitor { device, pairing, offer, .. } = visitor;
        let title = offer.names.first().cloned().map(OsString::from_vec).unwrap_or_default();
        let more = (offer.names.len() as u64).saturating_add(offer.more_names).saturating_sub(1);
        let destination = options.destination.clone().unwrap_or_else(|| listening.landing().destination.clone());
        // What lies in a drop box is opened from there, and not kept in mind: its sender names it.
        let expected = visitor.drop.is_none().then(|| listening.shared.expect(&destination));
        let in_share = visitor.drop.as_ref().map(DropPlace::shown);
        let record = Record { paths: vec![destination.clone()], in_share, ..Record::of(&listening.shared.store) };
        let transfer = Transfer::new(TransferId(offer.transfer), Direction::Receiving, (title, more), Some(record));
        transfer.known_peer(device.id, &device.name);
        let retry = renewal_time(offer.retry_s);
        let allowance = Allowance::of(options.bytes_max, options.shown).map(Arc::new);
        let taking = Taking {
            site: listening.site(),
            transfer,
            from: device.clone(),
            pairing: *pairing,
            options,
            destination,
            expected: expected.unwrap_or(Expected::Any),
            drop: visitor.drop.clone(),
            names: Arc::clone(&visitor.names),
            allowance,
            keeps: false,
            asked: None,
            tops: TopsAtFirst::default(),
            timeout: None,
        };
        // A drop box has accepted it as long as its grant holds.
        let rule = (acceptance == Acceptance::Rule && visitor.drop.is_none()).then(|| device.rule.clone());
        Self { listening, taking, rule, retry }
    }

    pub(super) fn transfer(&self) -> &Transfer {
        &self.taking.transfer
    }

    /// Makes ready for a session: the door for its lanes, and the destination. Where that fails the
    /// sender is told, once the session is closed.
    pub(super) async fn open(&self, visitor: Visitor) -> Result<Opened, (Fault, Session)> {
        let Visitor { mut session, tickets, device, offer, .. } = visitor;
        let (listeners, key) = (&self.listening.listeners, (device.id, offer.transfer));
        let Some((door, admitted)) = listeners.open_door(key, tickets, Taking::lanes_max(&offer)) else {
            session.machine.decline(DeclineReason::Busy);
            return Err((Fault::Invalid(Invalid::Running), session));
        };
        let prepared = match self.taking.prepare(&offer).await {
            Ok(prepared) => prepared,
            Err((error, why)) => {
                why.tell(&mut session);
                return Err((error, session));
            }
        };
        Ok(Opened { session, offer, prepared, lanes: (admitted, LanesFrom::Door(door)) })
    }

    /// Receives it to its end, over as many sessions as that takes. `is_told`: the program knows of
    /// the transfer.
    pub(super) async fn receive(self, opened: Opened, attempt: AttemptKey, place: Place, is_told: bool) {
        let shared = Arc::clone(&self.listening.shared);
        let (device, pairing) = (self.taking.from.id, self.taking.pairing);
        let transfer = self.taking.transfer.clone();
        transfer.note_as_it_runs();
        // On the heap: each connection's task, a stranger's too, has room for all that it may come
        // to, and each layer doubles that.
        let grant = self.taking.drop.as_ref().map(|place| place.grant);
        let mut work = Box::pin(self.receive_all(opened, attempt, place, is_told));
        let work = async {
            let revoked = async {
                match grant {
                    Some(grant) => shared.revoked(grant).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = revoked => match shared.is_refused(device) {
                    true => transfer.cancel(OnCancel::Keep),
                    false => transfer.stop_as_not_shared(),
                },
                () = &mut work => return,
            }
            work.await;
        };
        stop_when(shared.forgotten(pairing), &transfer, work).await;
    }

    async fn receive_all(self, mut opened: Opened, attempt: AttemptKey, mut place: Place, is_told: bool) {
        let accepted = AcceptedOffer { pairing: self.taking.pairing, id: opened.offer.transfer, attempt };
        let remembered = if self.retry.is_zero() {
            None
        } else {
            let names = self.taking.names.held_bytes();
            self.listening.listeners.renewals.open(accepted, self.rule.clone(), self.taking.transfer.clone(), names)
        };
        let (mut open, mut renewed) = remembered.unzip();
        let most = ForReceiving::here().renewals as u32;
        let goes_on = match (self.retry, &renewed) {
            (Duration::ZERO, _) => Err(Invalid::PauseNoRetry),
            (_, None) => Err(Invalid::PauseTooMany { max: most }),
            (_, Some(_)) => Ok(()),
        };
        self.taking.transfer.figures().goes_on = Some(goes_on);
        if !is_told {
            self.listening.tell(ReceiverEvent::TransferStarted(self.taking.transfer.clone())).await;
        }
        let mut earlier = Earlier::default();
        let ended = loop {
            let lost = match self.taking.session(opened, earlier, renewed.as_mut(), None).await {
                Ended::Over(ended) => break *ended,
                Ended::Lost(lost) => lost,
            };
            earlier.add(&lost.incoming);
            // Who waits takes no other's place.
            drop(place);
            let (Some(open), Some(renewed)) = (&open, &mut renewed) else { break Err(lost.error) };
            open.interrupted();
            (opened, place) = match self.go_on(lost, open, renewed).await {
                Ok(next) => next,
                Err(error) => break Err(error),
            };
            open.renewed(opened.offer.transfer);
        };
        match (&ended, open.take()) {
            (Ok(whole), Some(open)) => open.received(self.retry, whole.receipt),
            // Its sender may have paused it, and not know. What is shared again under the name may
            // be another folder, and goes on without a pause: that takes a new offer.
            (Err(why @ (Fault::Cancelled { by: Side::Here, .. } | Fault::NoLongerShared { .. })), Some(open)) => {
                open.stopped(self.retry.max(PAUSE_TIME_MAX), why.clone());
            }
            _ => {}
        }
        if let Err(Fault::TooMuch { bytes_max, .. }) = &ended {
            self.listening.listeners.renewals.too_much(accepted, *bytes_max);
        }
        self.listening.shared.wrote_into(&self.taking.destination);
        self.taking.transfer.end(ended.map(|whole| whole.arrived));
    }
}

/// How long a transfer may be offered again without a question, where its sender says that it tries
/// for so many seconds.
fn renewal_time(retry_s: u32) -> Duration {
    Duration::from_secs(retry_s.into()).min(RENEWAL_TIME_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sender_cannot_have_its_consent_last_longer_than_a_quarter_of_an_hour() {
        let minutes = |retry_s| renewal_time(retry_s).as_secs_f64() / 60.0;
        assert_eq!([0, 60, 15 * 60, 15 * 60 + 1, u32::MAX].map(minutes), [0.0, 1.0, 15.0, 15.0, 15.0]);
    }
}
