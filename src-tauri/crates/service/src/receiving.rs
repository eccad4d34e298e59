//! The receiver's side of the controller: listening, the code on show, offers that wait for a person.
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ringway_engine::{
    AcceptOptions, Decision, DeclineReason, Error, IncomingOffer, IoMode, OnConflict, ReceiveOptions, Receiver,
    ReceiverEvent, Room, TlsMode, TransferId,
};
use tokio::sync::{mpsc, oneshot};
use tokio::time::MissedTickBehavior;

use crate::app::{App, lock};
use crate::dto::{AppEvent, Existing, Left, Listening, Moving, Offer, OpenCode, RoomThere, unix_ms};
use crate::fault::Fault;
use crate::remedy;
use crate::text::shown;

/// How often a waiting offer's growing totals are looked at: fast enough to be seen growing, slow enough to be read.
const OFFER_REFRESH: Duration = Duration::from_millis(500);

/// Orders that may wait for the listening task: a person clicks slower than it answers.
const ORDERS_MAX: usize = 8;

/// No IPv6 on this machine: EAFNOSUPPORT, and EADDRNOTAVAIL where it is switched off by sysctl (ipv6(7)).
const NO_IPV6: [i32; 2] = [97, 99];

/// Time for last words to senders that were declined, when all ends.
const PARTING_TIME_MAX: Duration = Duration::from_secs(5);

/// How this run receives, where that differs from the settings.
#[derive(Debug, Clone, Default)]
pub struct Reception {
    /// The address to listen on; every one if none.
    pub address: Option<IpAddr>,
    /// The port; the settings' if none.
    pub port: Option<u16>,
    /// Not announced on the local network, whatever the settings say.
    pub is_quiet: bool,
    /// The folder; the settings' if none.
    pub folder: Option<PathBuf>,
}

/// What is known of listening, and the way to the task that listens.
pub(crate) struct Receiving {
    reception: Mutex<Reception>,
    /// Nothing is taken in any more: this process is about to end.
    is_closing: AtomicBool,
    /// Somebody has come: no firewall keeps everybody out.
    was_reached: AtomicBool,
    listening: Mutex<Listening>,
    orders: tokio::sync::Mutex<Option<mpsc::Sender<Order>>>,
    offers: Mutex<Vec<Waiting>>,
}

impl Receiving {
    pub(crate) fn new(reception: Reception) -> Self {
        Self {
            reception: Mutex::new(reception),
            is_closing: AtomicBool::new(false),
            was_reached: AtomicBool::new(false),
            listening: Mutex::new(Listening::Off),
            orders: tokio::sync::Mutex::default(),
            offers: Mutex::default(),
        }
    }

    /// A person has picked another folder than the one that was given for this run; true where there was one.
    pub(crate) fn forget_given_folder(&self) -> bool {
        lock(&self.reception).folder.take().is_some()
    }
}

enum Order {
    RenewCode(oneshot::Sender<Result<(), Error>>),
    /// At once, or once those who were declined have heard it.
    Stop {
        last_words: bool,
        done: oneshot::Sender<()>,
    },
}

/// An offer that waits, where it would land if not in its own folder, and how it was shown last.
struct Waiting {
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
                offer.room = Room::look(folder).map(RoomThere::from);
                offer
            }
        }
    }
}

impl App {
    /// Whether and where this device listens.
    pub fn listening(&self) -> Listening {
        lock(&self.inner.receiving.listening).clone()
    }

    fn set_listening(&self, listening: Listening) {
        lock(&self.inner.receiving.listening).clone_from(&listening);
        self.tell(AppEvent::ListeningChanged { listening });
    }

    /// Listens on the settings' port or on `port` (0 takes a free one), after stopping to listen elsewhere.
    pub async fn listen(&self, port: Option<u16>) {
        let mut orders = self.inner.receiving.orders.lock().await;
        stop(orders.take(), false).await;
        let given = lock(&self.inner.receiving.reception).port;
        let wanted = port.or(given).unwrap_or_else(|| self.inner.engine.settings().port);
        match self.bind(wanted).await {
            Ok(receiver) => {
                let (sender, receiving) = mpsc::channel(ORDERS_MAX);
                *orders = Some(sender);
                self.show_receiver(&receiver);
                tokio::spawn(self.clone().attend(receiver, receiving));
            }
            Err(error) => self.set_listening(Listening::Failed { fault: error.into(), port: wanted }),
        }
    }

    /// Listens, or declines the offers that wait and stops to listen; what runs goes on. It holds for this run: the next one receives.
    pub async fn set_receiving(&self, is_on: bool) {
        if is_on {
            return self.listen(None).await;
        }
        self.decline_all();
        stop(self.inner.receiving.orders.lock().await.take(), false).await;
        // Also where listening had failed.
        self.set_listening(Listening::Off);
    }

    /// Takes no further offers, declines those that wait, gives what runs `grace` to end, and stops listening. How many still run:
    /// they are left as they are, so that their journals let them go on later.
    pub async fn wind_down(&self, grace: Duration) -> usize {
        self.inner.receiving.is_closing.store(true, Ordering::Relaxed);
        self.decline_all();
        // An error means that the time is over.
        let _ = tokio::time::timeout(grace, self.all_ended()).await;
        let left = self.running();
        stop(self.inner.receiving.orders.lock().await.take(), left == 0).await;
        left
    }

    fn decline_all(&self) {
        let waiting = std::mem::take(&mut *lock(&self.inner.receiving.offers));
        for Waiting { offer, shown, .. } in waiting {
            offer.decline(DeclineReason::ByChoice);
            self.tell(AppEvent::OfferGone { id: shown.id, how: Left::Declined });
        }
    }

    async fn all_ended(&self) {
        loop {
            let ended = self.inner.ended.notified();
            tokio::pin!(ended);
            // Whatever ends from here on is heard.
            ended.as_mut().enable();
            if self.running() == 0 {
                return;
            }
            ended.await;
        }
    }

    /// Draws a new code; without a receiver there is nothing to draw it for.
    pub async fn renew_code(&self) -> Result<(), Fault> {
        let orders = self.inner.receiving.orders.lock().await;
        let running = orders.as_ref().ok_or(Fault::Gone)?;
        let (done, drawn) = oneshot::channel();
        running.send(Order::RenewCode(done)).await.map_err(|_| Fault::Gone)?;
        Ok(drawn.await.map_err(|_| Fault::Gone)??)
    }

    async fn attend(self, mut receiver: Receiver, mut orders: mpsc::Receiver<Order>) {
        let mut refresh = tokio::time::interval(OFFER_REFRESH);
        refresh.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                event = receiver.next_event() => match event {
                    Some(event) => self.on_event(event, &receiver),
                    None => break,
                },
                Some(order) = orders.recv() => match order {
                    Order::RenewCode(done) => {
                        let drawn = receiver.renew_code();
                        self.show_receiver(&receiver);
                        // Whoever asked may have gone: then nobody waits.
                        let _ = done.send(drawn);
                    }
                    Order::Stop { last_words, done } => {
                        if last_words {
                            // Whoever does not listen is left.
                            let _ = tokio::time::timeout(PARTING_TIME_MAX, receiver.idle()).await;
                        }
                        receiver.stop().await;
                        self.set_listening(Listening::Off);
                        let _ = done.send(());
                        break;
                    }
                },
                _ = refresh.tick(), if self.has_offers() => self.refresh_offers(),
            }
        }
    }

    fn on_event(&self, event: ReceiverEvent, receiver: &Receiver) {
        let is_visit = matches!(
            event,
            ReceiverEvent::DevicePaired(_)
                | ReceiverEvent::AuthFailed { .. }
                | ReceiverEvent::OfferReceived(_)
                | ReceiverEvent::OfferRefused(_)
        );
        if is_visit && !self.inner.receiving.was_reached.swap(true, Ordering::Relaxed) {
            self.show_receiver(receiver);
        }
        match event {
            ReceiverEvent::CodeChanged => self.show_receiver(receiver),
            ReceiverEvent::DevicePaired(device) => {
                self.tell(AppEvent::DevicePaired { name: crate::text::shown_text(&device.name) });
                self.tell_devices();
            }
            ReceiverEvent::AuthFailed { from, why, tries_left } => {
                let from = from.ip().to_canonical().to_string();
                self.tell(AppEvent::PairingFailed { from, fault: (&why).into(), tries_left });
            }
            ReceiverEvent::OfferReceived(offer) => self.offer_came(offer),
            ReceiverEvent::OfferWithdrawn(id) => self.offer_gone(id),
            ReceiverEvent::TransferStarted(transfer) => {
                self.list(transfer, "");
            }
            ReceiverEvent::Stopped(Some(error)) => {
                let port = receiver.local_address().port();
                self.set_listening(Listening::Failed { fault: error.into(), port });
            }
            ReceiverEvent::Stopped(None) => self.set_listening(Listening::Off),
            _ => {}
        }
    }

    fn show_receiver(&self, receiver: &Receiver) {
        let port = receiver.local_address().port();
        let code = receiver.code().map(|code| OpenCode {
            text: code.text.as_ref().map(|text| text.to_string()),
            valid_until_ms: code.valid_until.map(unix_ms),
        });
        let addresses = receiver.addresses().into_iter().map(|address| typed_address(address, port)).collect();
        let other_port = port != self.inner.engine.settings().port;
        let firewalls = match self.inner.receiving.was_reached.load(Ordering::Relaxed) {
            true => Vec::new(),
            false => remedy::firewalls_to_open(&self.inner.engine, port),
        };
        self.set_listening(Listening::On { addresses, port, other_port, code, firewalls });
    }

    pub(crate) fn offers(&self) -> Vec<Offer> {
        lock(&self.inner.receiving.offers).iter().map(|waiting| waiting.shown.clone()).collect()
    }

    fn has_offers(&self) -> bool {
        !lock(&self.inner.receiving.offers).is_empty()
    }

    fn offer_came(&self, offer: IncomingOffer) {
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

    fn offer_gone(&self, id: TransferId) {
        lock(&self.inner.receiving.offers).retain(|waiting| waiting.offer.summary().id != id);
        self.tell(AppEvent::OfferGone { id: id.to_string(), how: Left::Withdrawn });
    }

    fn refresh_offers(&self) {
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
}

/// Has the task that listens end; none does where none listens.
async fn stop(running: Option<mpsc::Sender<Order>>, last_words: bool) {
    let Some(running) = running else { return };
    let (done, stopped) = oneshot::channel();
    if running.send(Order::Stop { last_words, done }).await.is_ok() {
        // An error means that the task ended before it read the order: stopped as well.
        let _ = stopped.await;
    }
}

impl App {
    /// Where it is received, if nothing else is said of an offer.
    pub(crate) fn receive_folder(&self) -> PathBuf {
        let given = lock(&self.inner.receiving.reception).folder.clone();
        given.unwrap_or_else(|| self.inner.engine.settings().receive_folder)
    }

    /// The address that was given; else all of both families, or of IPv4 where the machine has no IPv6.
    async fn bind(&self, port: u16) -> Result<Receiver, Error> {
        let engine = &self.inner.engine;
        let given = lock(&self.inner.receiving.reception).address;
        if let Some(address) = given {
            return engine.receive(self.options(address, port)).await;
        }
        match engine.receive(self.options(Ipv6Addr::UNSPECIFIED.into(), port)).await {
            Err(Error::Listen { source, .. })
                if source.raw_os_error().is_some_and(|errno| NO_IPV6.contains(&errno)) =>
            {
                engine.receive(self.options(Ipv4Addr::UNSPECIFIED.into(), port)).await
            }
            other => other,
        }
    }

    fn options(&self, address: IpAddr, port: u16) -> ReceiveOptions {
        ReceiveOptions {
            listen: SocketAddr::new(address, port),
            destination: self.receive_folder(),
            code: None,
            pairing: true,
            announce: self.inner.engine.settings().announce && !lock(&self.inner.receiving.reception).is_quiet,
            // A folder that was given for this run is for everybody.
            rule_folders: lock(&self.inner.receiving.reception).folder.is_none(),
            tls: TlsMode::Auto,
            io: IoMode::Auto,
        }
    }
}

/// What others type: the port only where it is not the one they would try anyway.
fn typed_address(address: IpAddr, port: u16) -> String {
    if port == ringway_engine::limits::DEFAULT_PORT {
        address.to_string()
    } else {
        SocketAddr::new(address, port).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_as_short_as_they_can_be_typed() {
        let v4 = IpAddr::from([10, 0, 0, 5]);
        let v6 = IpAddr::from([0xfd00, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(typed_address(v4, ringway_engine::limits::DEFAULT_PORT), "10.0.0.5");
        assert_eq!(typed_address(v4, 9_000), "10.0.0.5:9000");
        assert_eq!(typed_address(v6, 9_000), "[fd00::1]:9000");
    }
}
