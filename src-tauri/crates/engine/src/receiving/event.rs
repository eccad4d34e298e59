//! What a listening receiver tells.
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use ringway_model::{
    Counts, DeclineReason, Device, Difference, Direction, Fault, Note, Offer, OnConflict, Outcome, PairingRequest,
    Report, Side, TransferKey, TurnedAway,
};
use tokio::sync::oneshot;

use super::listing::Listing;
use crate::devices::rules::Decision;
use crate::store::Store;
use crate::store::history::{Ended, Record};
use crate::transfers::options::AcceptOptions;
use crate::transfers::transfer::Transfer;

/// What a listening receiver tells.
#[derive(Debug)]
pub enum ReceiverEvent {
    /// The code was drawn, burnt, expired or renewed: ask [`crate::receive::Receiver::code`].
    CodeChanged,
    /// A device was paired.
    DevicePaired(Device),
    /// A device wants to pair and has no code. Told once of each that is to be shown:
    /// [`Engine::pairing_requests`](crate::Engine::pairing_requests) has those that are shown.
    PairingRequested(PairingRequest),
    /// A device tried to pair, or to be recognised, and failed.
    TurnedAway(TurnedAway),
    /// A known device offers something; it waits for [`IncomingOffer::accept`] or
    /// [`IncomingOffer::decline`], and dropping it declines. Whether a person is to be asked is in
    /// [`IncomingOffer::decision`].
    OfferReceived(IncomingOffer),
    /// A device whose rule is to refuse has offered something, and was declined. Nobody is to be
    /// bothered with it.
    OfferRefused(Box<Offer>),
    /// A device has sent a note, which is kept.
    NoteReceived(Note),
    /// A device has sent a note that could not be kept: why, or `None` if too many are unread.
    NoteLost(Device, Option<Fault>),
    /// An offer was withdrawn before it was answered.
    OfferWithdrawn(TransferKey),
    /// The rule of its device, which was changed, answers an offer that waited: it comes once more,
    /// accepted.
    OfferAnswered(TransferKey),
    /// An accepted transfer began: the same handle that `accept` returned, for other watchers.
    TransferStarted(Transfer),
    /// The listener stopped, by itself or asked; no event follows.
    Stopped(Option<Fault>),
}

/// Puts into the history that nobody answered an offer, so that a person who returns learns of it.
/// A failure to write that is ignored, since the offer is over.
pub(crate) fn keep_unanswered(offer: &Offer, store: &Arc<Store>) {
    let record = Record { in_share: offer.in_share.clone(), ..Record::of(store) };
    let counts = Counts { bytes: offer.bytes_so_far, ..Counts::default() };
    let report = Report { counts, ..Report::new(Outcome::Failed(Fault::Unanswered), SystemTime::now()) };
    let more = (offer.names.len() as u64).saturating_add(offer.more_names).saturating_sub(1);
    let title = offer.names.first().map(|name| name.as_os_str().to_owned());
    record.keep(&Ended {
        id: offer.id,
        direction: Direction::Receiving,
        peer: Some(&(offer.from_id, offer.from.0.clone())),
        title: &(title.unwrap_or_default(), more),
        has_begun: false,
        report: &report,
        series: &[],
    });
}

/// A program's answer, and where to send the result.
pub(super) enum Answer {
    Accept(AcceptOptions, oneshot::Sender<Result<Transfer, Fault>>),
    Decline(DeclineReason),
}

/// An offer that waits for an answer. Dropping it declines.
pub struct IncomingOffer {
    summary: Arc<Mutex<Offer>>,
    listing: Arc<Listing>,
    decision: Decision,
    answer: Option<oneshot::Sender<Answer>>,
}

impl std::fmt::Debug for IncomingOffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IncomingOffer").field("summary", &self.summary()).finish_non_exhaustive()
    }
}

impl IncomingOffer {
    pub(super) fn new(
        summary: Arc<Mutex<Offer>>,
        listing: Arc<Listing>,
        decision: Decision,
        answer: oneshot::Sender<Answer>,
    ) -> Self {
        Self { summary, listing, decision, answer: Some(answer) }
    }

    /// What it says of itself; totals and comparison may have grown since.
    pub fn summary(&self) -> Offer {
        self.listing.fill(self.summary.lock().clone())
    }

    /// Compares it with another folder from now on.
    pub fn compare_with(&self, folder: &Path) {
        self.listing.compare_with(folder, false);
    }

    /// The entries that differ from what is in the folder, as that policy goes by them and as far
    /// as they were found; at most a thousand.
    pub fn differences(&self, on_conflict: OnConflict) -> Vec<Difference> {
        self.listing.differences(on_conflict)
    }

    /// Resolves when it was compared with the folder. That may never happen.
    pub fn compared(&self) -> impl Future<Output = ()> + Send + use<> {
        let listing = Arc::clone(&self.listing);
        async move { listing.compared().await }
    }

    /// What its device's rule makes of it: accepted without asking, or why not.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// Takes it in.
    ///
    /// # Errors
    /// The destination cannot be used (the offer is then declined with the reason), or the peer has
    /// gone.
    pub async fn accept(mut self, options: AcceptOptions) -> Result<Transfer, Fault> {
        let (done, outcome) = oneshot::channel();
        let gone = || Fault::cancelled(Side::There);
        let answer = self.answer.take().ok_or_else(gone)?;
        answer.send(Answer::Accept(options, done)).map_err(|_| gone())?;
        outcome.await.map_err(|_| gone())?
    }

    /// Declines it.
    pub fn decline(mut self, reason: DeclineReason) {
        if let Some(answer) = self.answer.take() {
            // A peer that has gone needs no answer.
            let _ = answer.send(Answer::Decline(reason));
        }
    }
}
