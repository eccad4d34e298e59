//! Offers that wait for a person, and what is answered.
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use ringway_engine::{AcceptOptions, Decision, FreeSpace, IncomingOffer};
use ringway_model::{DeclineReason, Fault, IntoHome, OnConflict, ShownSize, TransferKey};

use crate::app::App;
use crate::dto::{AppEvent, Left, Moving, Offer, RoomThere};
use crate::text::shown;

/// An offer that waits, the id by which it is answered, where it would land if not in its own
/// folder, and how it was shown last.
pub(super) struct Waiting {
    /// Drawn here: a sender that withdraws an offer cannot make another one that answers to its id.
    id: String,
    offer: IncomingOffer,
    folder: Option<(PathBuf, IntoHome)>,
    /// Where it would land is a home: looked up once for each folder.
    is_home: bool,
    shown: Offer,
}

impl Waiting {
    fn look(&self) -> Offer {
        let summary = self.offer.summary();
        match &self.folder {
            None => Offer::new(self.id.clone(), &summary, shown(&summary.destination), self.is_home),
            Some((folder, _)) => {
                let mut offer = Offer::new(self.id.clone(), &summary, shown(folder), self.is_home);
                offer.room = FreeSpace::look(folder).map(|free| RoomThere::new(free, &summary));
                offer
            }
        }
    }
}

impl App {
    pub(crate) fn offers(&self) -> Vec<Offer> {
        self.inner.receiving.offers.lock().iter().map(|waiting| waiting.shown.clone()).collect()
    }

    pub(super) fn has_offers(&self) -> bool {
        !self.inner.receiving.offers.lock().is_empty()
    }

    pub(super) fn offer_came(&self, offer: IncomingOffer) {
        if self.inner.receiving.is_closing.load(Ordering::Relaxed) {
            return offer.decline(DeclineReason::Stopped);
        }
        let summary = offer.summary();
        if let Decision::Accept { bytes_max } = summary.decision {
            let on_conflict = OnConflict::RenameTop;
            let options = AcceptOptions { bytes_max, on_conflict, ..AcceptOptions::default() };
            // Where that fails its sender hears why; where it does not, the transfer is told of as
            // it starts.
            tokio::spawn(async move { drop(offer.accept(options).await) });
            return;
        }
        let Ok(id) = ringway_engine::draw_transfer_id().map(|id| id.to_string()) else {
            return offer.decline(DeclineReason::Busy);
        };
        let is_home = self.inner.engine.is_home(&summary.destination);
        let card = Offer::new(id.clone(), &summary, shown(&summary.destination), is_home);
        self.inner.receiving.offers.lock().push(Waiting { id, offer, folder: None, is_home, shown: card.clone() });
        self.tell(AppEvent::OfferChanged { offer: Box::new(card) });
    }

    pub(crate) fn offer_gone(&self, key: TransferKey, how: Left) {
        let mut offers = self.inner.receiving.offers.lock();
        let at = offers.iter().position(|waiting| waiting.offer.summary().key() == key);
        let gone = at.map(|at| offers.remove(at).id);
        drop(offers);
        if let Some(id) = gone {
            self.tell(AppEvent::OfferGone { id, how });
        }
    }

    pub(super) fn refresh_offers(&self) {
        let mut changed = Vec::new();
        for waiting in self.inner.receiving.offers.lock().iter_mut() {
            let now = waiting.look();
            if now != waiting.shown {
                waiting.shown = now.clone();
                changed.push(now);
            }
        }
        changed.into_iter().for_each(|offer| self.tell(AppEvent::OfferChanged { offer: Box::new(offer) }));
    }

    fn take_offer(&self, id: &str) -> Result<Waiting, Fault> {
        let mut offers = self.inner.receiving.offers.lock();
        let at = offers.iter().position(|waiting| waiting.id == id).ok_or(Fault::Gone)?;
        Ok(offers.remove(at))
    }

    /// Lets one offer land in another folder than its own.
    ///
    /// # Errors
    /// A home that `into_home` refuses, or one of Ringway's own folders.
    pub fn set_offer_folder(&self, id: &str, folder: PathBuf, into_home: IntoHome) -> Result<(), Fault> {
        self.inner.engine.check_folder(&folder, into_home)?;
        let is_home = self.inner.engine.is_home(&folder);
        let mut offers = self.inner.receiving.offers.lock();
        let waiting = offers.iter_mut().find(|waiting| waiting.id == id).ok_or(Fault::Gone)?;
        waiting.folder = Some((folder, into_home));
        waiting.is_home = is_home;
        drop(offers);
        self.refresh_offers();
        Ok(())
    }

    /// Shows an offer anew that has outgrown what a person saw of it.
    ///
    /// # Errors
    /// [`Fault::Grown`] where it has.
    fn check_size(&self, id: &str, seen: ShownSize) -> Result<(), Fault> {
        let mut offers = self.inner.receiving.offers.lock();
        let waiting = offers.iter_mut().find(|waiting| waiting.id == id).ok_or(Fault::Gone)?;
        let now = waiting.look();
        if now.bytes_so_far <= ringway_engine::covered_by(seen) {
            return Ok(());
        }
        waiting.shown = now.clone();
        drop(offers);
        let bytes = now.bytes_so_far;
        // Also where clients know it by now: whatever was answered is shown again.
        self.tell(AppEvent::OfferChanged { offer: Box::new(now) });
        Err(Fault::Grown { bytes })
    }

    /// Takes an offer in by a yes to what was shown of it. A destination that cannot be used
    /// declines it, and the fault says why.
    ///
    /// # Errors
    /// [`Fault::Grown`] where it has outgrown what was shown: then it goes on waiting.
    pub async fn accept(&self, id: &str, seen: ShownSize, on_conflict: OnConflict) -> Result<Moving, Fault> {
        self.check_size(id, seen)?;
        let Waiting { offer, folder, .. } = self.take_offer(id)?;
        let (destination, into_home) = folder.unzip();
        let into_home = into_home.unwrap_or_default();
        let shown = Some(seen);
        let options = AcceptOptions { destination, into_home, shown, on_conflict, ..AcceptOptions::default() };
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

    /// Declines everything that waits, since it can no longer be received here.
    pub(super) fn decline_all(&self, how: Left) {
        let waiting = std::mem::take(&mut *self.inner.receiving.offers.lock());
        for Waiting { id, offer, .. } in waiting {
            offer.decline(DeclineReason::Stopped);
            self.tell(AppEvent::OfferGone { id, how });
        }
    }
}
