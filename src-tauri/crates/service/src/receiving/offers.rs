//! Offers that wait for a person, and what is answered.
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use ringway_engine::{AcceptOptions, Decision, DeclineReason, IncomingOffer, OnConflict, Room, TransferId};

use crate::app::{App, lock};
use crate::dto::{AppEvent, Existing, Left, Moving, Offer, RoomThere};
use crate::fault::Fault;
use crate::text::shown;

/// An offer that waits, where it would land if not in its own folder, and how it was shown last.
pub(super) struct Waiting {
    offer: IncomingOffer,
    folder: Option<PathBuf>,
    shown: Offer,
}

impl Waiting {
    fn look(&self) -> Offer {
        let summary = self.offer.summary();
        match &self.folder {
            None => Offer::new(&summary, shown(&summary.destination)),
            Some(folder) => {
                let mut offer = Offer::new(&summary, shown(folder));
                offer.room = Room::look(folder).map(|room| RoomThere::new(room, &summary));
                offer
            }
        }
    }
}

impl App {
    pub(crate) fn offers(&self) -> Vec<Offer> {
        lock(&self.inner.receiving.offers).iter().map(|waiting| waiting.shown.clone()).collect()
    }

    pub(super) fn has_offers(&self) -> bool {
        !lock(&self.inner.receiving.offers).is_empty()
    }

    pub(super) fn offer_came(&self, offer: IncomingOffer) {
        if self.inner.receiving.is_closing.load(Ordering::Relaxed) {
            return offer.decline(DeclineReason::Busy);
        }
        let summary = offer.summary();
        if let Decision::Accept { bytes_max } = summary.decision {
            let on_conflict = OnConflict::RenameTop;
            let options = AcceptOptions { bytes_max, on_conflict, ..AcceptOptions::default() };
            // Where that fails its sender hears why; where it does not, the transfer is told of as it starts.
            tokio::spawn(async move { drop(offer.accept(options).await) });
            return;
        }
        let card = Offer::new(&summary, shown(&summary.destination));
        lock(&self.inner.receiving.offers).push(Waiting { offer, folder: None, shown: card.clone() });
        self.tell(AppEvent::OfferChanged { offer: card });
    }

    pub(super) fn offer_gone(&self, id: TransferId) {
        lock(&self.inner.receiving.offers).retain(|waiting| waiting.offer.summary().id != id);
        self.tell(AppEvent::OfferGone { id: id.to_string(), how: Left::Withdrawn });
    }

    pub(super) fn refresh_offers(&self) {
        let mut changed = Vec::new();
        for waiting in lock(&self.inner.receiving.offers).iter_mut() {
            let now = waiting.look();
            if now != waiting.shown {
                waiting.shown = now.clone();
                changed.push(now);
            }
        }
        changed.into_iter().for_each(|offer| self.tell(AppEvent::OfferChanged { offer }));
    }

    fn take_offer(&self, id: &str) -> Result<Waiting, Fault> {
        let mut offers = lock(&self.inner.receiving.offers);
        let at = offers.iter().position(|waiting| waiting.shown.id == id).ok_or(Fault::Gone)?;
        Ok(offers.remove(at))
    }

    /// Lets one offer land in another folder than its own.
    pub fn set_offer_folder(&self, id: &str, folder: PathBuf) -> Result<(), Fault> {
        let mut offers = lock(&self.inner.receiving.offers);
        let waiting = offers.iter_mut().find(|waiting| waiting.shown.id == id).ok_or(Fault::Gone)?;
        waiting.folder = Some(folder);
        drop(offers);
        self.refresh_offers();
        Ok(())
    }

    /// Takes an offer in. A destination that cannot be used declines it, and the fault says why.
    pub async fn accept(&self, id: &str, existing: Existing) -> Result<Moving, Fault> {
        let Waiting { offer, folder: destination, .. } = self.take_offer(id)?;
        let options = AcceptOptions { destination, on_conflict: existing.into(), ..AcceptOptions::default() };
        let accepted = offer.accept(options).await;
        let how = if accepted.is_ok() { Left::Accepted } else { Left::Declined };
        self.tell(AppEvent::OfferGone { id: id.to_owned(), how });
        Ok(self.list(accepted?, ""))
    }

    /// Declines an offer.
    pub fn decline(&self, id: &str) -> Result<(), Fault> {
        self.take_offer(id)?.offer.decline(DeclineReason::ByChoice);
        self.tell(AppEvent::OfferGone { id: id.to_owned(), how: Left::Declined });
        Ok(())
    }

    /// Declines everything that waits: nobody has answered it.
    pub(super) fn decline_all(&self, how: Left) {
        let waiting = std::mem::take(&mut *lock(&self.inner.receiving.offers));
        for Waiting { offer, shown, .. } in waiting {
            offer.decline(DeclineReason::NoAnswer);
            self.tell(AppEvent::OfferGone { id: shown.id, how });
        }
    }
}
