//! Offers that wait for a person, and what is answered.
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use ringway_engine::{AcceptOptions, Decision, Engine, IncomingOffer, KeptAttributes, free_space};
use ringway_model::{
    DeclineReason, DeviceId, Difference, Fault, IntoHome, Offer, OnConflict, ShownSize, TransferId, TransferKey,
};

use crate::app::listeners::Listeners;
use crate::app::transfers::Transfers;
use crate::dto::{AppEvent, ComparedBefore, Left, Moving};

/// An offer that waits, the id by which it is answered, where it would land if not in its own
/// folder, and how it was shown last.
struct Waiting {
    /// Drawn here: a sender that withdraws an offer cannot make another one that answers to its id.
    id: TransferId,
    offer: IncomingOffer,
    /// The folder that a person has chosen for it, and whether that is a home: looked up once.
    folder: Option<(PathBuf, IntoHome, bool)>,
    shown: Offer,
}

impl Waiting {
    fn look(&self) -> Offer {
        let offer = Offer { id: self.id, ..self.offer.summary() };
        match &self.folder {
            None => offer,
            Some((folder, _, is_home)) => {
                Offer { destination: folder.into(), is_home: *is_home, free_space: free_space::look(folder), ..offer }
            }
        }
    }

    /// Whether it answers to that id.
    fn is(&self, id: &str) -> bool {
        self.id.to_string() == id
    }
}

/// The offers that wait.
pub(crate) struct Offers {
    engine: Engine,
    listeners: Arc<Listeners>,
    transfers: Arc<Transfers>,
    waiting: Mutex<Vec<Waiting>>,
    keeps: KeptAttributes,
    /// Nothing is taken in any more: this process is about to end.
    is_closing: AtomicBool,
}

impl Offers {
    pub(in crate::app) fn new(
        engine: Engine,
        listeners: Arc<Listeners>,
        transfers: Arc<Transfers>,
        keeps: KeptAttributes,
    ) -> Self {
        Self { engine, listeners, transfers, waiting: Mutex::default(), keeps, is_closing: AtomicBool::new(false) }
    }

    /// Declines those that wait, and whatever comes from now on.
    pub(in crate::app) fn close(&self) {
        self.is_closing.store(true, Ordering::Relaxed);
        self.decline_all(Left::Declined);
    }

    pub(crate) fn shown(&self) -> Vec<Offer> {
        self.waiting.lock().iter().map(|waiting| waiting.shown.clone()).collect()
    }

    pub(super) fn any(&self) -> bool {
        !self.waiting.lock().is_empty()
    }

    pub(super) fn came(&self, offer: IncomingOffer) {
        if self.is_closing.load(Ordering::Relaxed) {
            return offer.decline(DeclineReason::Stopped);
        }
        if let Decision::Accept { bytes_max } = *offer.decision() {
            let (on_conflict, kept) = (OnConflict::RenameTop, self.engine.kept_besides(self.keeps));
            let options = AcceptOptions { bytes_max, on_conflict, kept, ..AcceptOptions::default() };
            // Where that fails its sender hears why; where it does not, the transfer is told of as
            // it starts.
            tokio::spawn(async move { drop(offer.accept(options).await) });
            return;
        }
        let Ok(id) = ringway_engine::draw_transfer_id() else {
            return offer.decline(DeclineReason::Busy);
        };
        let folder = self.folder_of_last_offer(&offer);
        if let Some((folder, ..)) = &folder {
            offer.compare_with(folder);
        }
        let mut waiting = Waiting { id, shown: offer.summary(), offer, folder };
        waiting.shown = waiting.look();
        let card = waiting.shown.clone();
        self.waiting.lock().push(waiting);
        self.listeners.tell(AppEvent::OfferChanged { offer: Box::new(card) });
    }

    /// The folder in which a person let this device's last offer land. A rule's folder, and one
    /// that was given for this run, count more.
    fn folder_of_last_offer(&self, offer: &IncomingOffer) -> Option<(PathBuf, IntoHome, bool)> {
        let Offer { from_id, destination, in_share, .. } = offer.summary();
        // Its sender says where it lands.
        if in_share.is_some() || destination != self.engine.settings().receive_folder {
            return None;
        }
        let folder = self.engine.offer_folder(from_id).ok().flatten()?;
        Some((folder, IntoHome::Refuse, false))
    }

    /// Has the next offer of that device begin with the folder that was chosen for this one. A home
    /// is asked about each time.
    fn remember_folder(&self, from: DeviceId, folder: &Option<(PathBuf, IntoHome, bool)>) {
        let Some((folder, into_home, _)) = folder else { return };
        let is_default = *folder == self.engine.settings().receive_folder.0;
        let kept = Some(folder.as_path()).filter(|_| !is_default && *into_home == IntoHome::Refuse);
        // A store that cannot be written costs no more than another click.
        let _ = self.engine.keep_offer_folder(from, kept);
    }

    pub(in crate::app) fn gone(&self, key: TransferKey, how: Left) {
        let mut offers = self.waiting.lock();
        let at = offers.iter().position(|waiting| waiting.offer.summary().key() == key);
        let gone = at.map(|at| offers.remove(at).id);
        drop(offers);
        if let Some(id) = gone {
            self.listeners.tell(AppEvent::OfferGone { id, how });
        }
    }

    pub(super) fn refresh(&self) {
        let mut changed = Vec::new();
        for waiting in self.waiting.lock().iter_mut() {
            let now = waiting.look();
            if now != waiting.shown {
                waiting.shown = now.clone();
                changed.push(now);
            }
        }
        changed.into_iter().for_each(|offer| self.listeners.tell(AppEvent::OfferChanged { offer: Box::new(offer) }));
    }

    /// Has an offer stand first, because a person looks at it. One that is gone stays so.
    #[cfg(any(feature = "desktop", test))]
    pub(crate) fn bring_forward(&self, id: &str) {
        let mut offers = self.waiting.lock();
        let Some(at) = offers.iter().position(|waiting| waiting.is(id)) else { return };
        let picked = offers.remove(at);
        let id = picked.id;
        offers.insert(0, picked);
        drop(offers);
        self.listeners.tell(AppEvent::OfferPicked { id });
    }

    fn take(&self, id: &str) -> Result<Waiting, Fault> {
        let mut offers = self.waiting.lock();
        let at = offers.iter().position(|waiting| waiting.is(id)).ok_or(Fault::Gone)?;
        Ok(offers.remove(at))
    }

    /// The folder in which a picker for an offer's folder begins: its own.
    ///
    /// # Errors
    /// The offer is gone.
    pub(crate) fn folder(&self, id: &str) -> Result<PathBuf, Fault> {
        let offers = self.waiting.lock();
        let waiting = offers.iter().find(|waiting| waiting.is(id)).ok_or(Fault::Gone)?;
        Ok(waiting.look().destination.0)
    }

    /// Lets one offer land in another folder than its own.
    ///
    /// # Errors
    /// A home that `into_home` refuses, or one of Ringway's own folders.
    pub(crate) fn set_folder(&self, id: &str, folder: PathBuf, into_home: IntoHome) -> Result<(), Fault> {
        self.engine.check_folder(&folder, into_home)?;
        let is_home = self.engine.is_home(&folder);
        let mut offers = self.waiting.lock();
        let waiting = offers.iter_mut().find(|waiting| waiting.is(id)).ok_or(Fault::Gone)?;
        waiting.offer.compare_with(&folder);
        waiting.folder = Some((folder, into_home, is_home));
        drop(offers);
        self.refresh();
        Ok(())
    }

    /// The entries of an offer that differ from what is in its folder, as that policy goes by them
    /// and as far as they were found.
    ///
    /// # Errors
    /// The offer is gone.
    pub(crate) fn differences(&self, id: &str, on_conflict: OnConflict) -> Result<Vec<Difference>, Fault> {
        let offers = self.waiting.lock();
        let waiting = offers.iter().find(|waiting| waiting.is(id)).ok_or(Fault::Gone)?;
        Ok(waiting.offer.differences(on_conflict))
    }

    /// Shows an offer anew that has outgrown what a person saw of it.
    ///
    /// # Errors
    /// [`Fault::Grown`] where it has.
    fn check_size(&self, id: &str, seen: ShownSize) -> Result<(), Fault> {
        let mut offers = self.waiting.lock();
        let waiting = offers.iter_mut().find(|waiting| waiting.is(id)).ok_or(Fault::Gone)?;
        let now = waiting.look();
        if now.bytes_so_far <= ringway_engine::covered_by(seen) {
            return Ok(());
        }
        waiting.shown = now.clone();
        drop(offers);
        let bytes = now.bytes_so_far;
        // Also where clients know it by now: whatever was answered is shown again.
        self.listeners.tell(AppEvent::OfferChanged { offer: Box::new(now) });
        Err(Fault::Grown { bytes })
    }

    /// Takes an offer in by a yes to what was shown of it. A destination that cannot be used
    /// declines it, and the fault says why.
    ///
    /// # Errors
    /// [`Fault::Grown`] where it has outgrown what was shown: then it goes on waiting.
    pub(crate) async fn accept(&self, id: &str, seen: ShownSize, on_conflict: OnConflict) -> Result<Moving, Fault> {
        self.check_size(id, seen)?;
        let Waiting { id, offer, folder, .. } = self.take(id)?;
        let summary = offer.summary();
        let compared = summary.compared_under(on_conflict);
        let differences = if compared.is_some() { offer.differences(on_conflict) } else { Vec::new() };
        self.remember_folder(summary.from_id, &folder);
        let (destination, into_home) = folder.map(|(folder, into_home, _)| (folder, into_home)).unzip();
        let into_home = into_home.unwrap_or_default();
        let shown = Some(seen);
        let options = AcceptOptions { destination, into_home, shown, on_conflict, ..AcceptOptions::default() };
        let accepted = offer.accept(options.keeping(self.engine.kept_besides(self.keeps))).await;
        let how = if accepted.is_ok() { Left::Accepted } else { Left::Declined };
        self.listeners.tell(AppEvent::OfferGone { id, how });
        let transfer = accepted?;
        if let Some(comparison) = compared {
            self.transfers.keep_compared(transfer.key(), ComparedBefore { comparison, differences });
        }
        Ok(self.transfers.add(transfer, None))
    }

    /// Declines an offer.
    pub(crate) fn decline(&self, id: &str) -> Result<(), Fault> {
        let Waiting { id, offer, .. } = self.take(id)?;
        offer.decline(DeclineReason::ByChoice);
        self.listeners.tell(AppEvent::OfferGone { id, how: Left::Declined });
        Ok(())
    }

    /// Declines everything that waits, since it can no longer be received here.
    pub(super) fn decline_all(&self, how: Left) {
        let waiting = std::mem::take(&mut *self.waiting.lock());
        for Waiting { id, offer, .. } in waiting {
            offer.decline(DeclineReason::Stopped);
            self.listeners.tell(AppEvent::OfferGone { id, how });
        }
    }
}
