//! The receiver's side of the controller: listening, where and how the settings say, and the code
//! on show.
pub(super) mod folders;
pub(super) mod offers;
mod requests;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use ringway_engine::{Engine, KeptAttributes, ReceiveOptions, Receiver, ReceiverEvent, remedy};
use ringway_model::{Device, Fault, IntoHome, IoMode, OpenCode, Settings, TlsMode};
use tokio::sync::{mpsc, oneshot};
use tokio::time::MissedTickBehavior;

use super::devices::Devices;
use super::listeners::Listeners;
use super::transfers::Transfers;
use crate::dto::{AppEvent, Left, Listening};
use folders::can_land;
use offers::Offers;
use requests::Requests;

/// How often a waiting offer's growing totals are looked at: fast enough to be seen growing, slow
/// enough to be read.
const OFFER_REFRESH: Duration = Duration::from_millis(500);

/// How often the shown code and addresses are checked: a code expires, also while the machine
/// sleeps, and networks come and go. A person who waits for an address barely notices two seconds,
/// and the cost is small beside discovery, which looks every second.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// What the end of a code's life may differ by from one look to the next without being news: it is
/// counted anew each time.
const SAME_END: Duration = Duration::from_secs(1);

/// Orders that may wait for the listening task: a person clicks slower than it answers.
const ORDERS_MAX: usize = 8;

/// No IPv6 on this machine: EAFNOSUPPORT, and EADDRNOTAVAIL where it is switched off by sysctl
/// (ipv6(7)).
const NO_IPV6: [i32; 2] = [97, 99];

/// Time for last words to senders that were declined, when all ends.
const PARTING_TIME_MAX: Duration = Duration::from_secs(5);

/// How this run receives, where that differs from the settings.
#[derive(Debug, Clone, Default)]
pub struct Reception {
    /// The address to listen on; every one if none.
    pub address: Option<IpAddr>,
    /// The number of its interface, for an address of the link; else 0.
    pub zone: u32,
    /// The port; the settings' if none.
    pub port: Option<u16>,
    /// Not announced on the local network, whatever the settings say.
    pub is_quiet: bool,
    /// The folder; the settings' if none.
    pub folder: Option<PathBuf>,
    /// What may land in that folder, where it is a home.
    pub into_home: IntoHome,
    /// What is kept of all that is accepted.
    pub keeps: KeptAttributes,
}

/// What is known of listening, and the way to the task that listens.
pub struct Receiving {
    engine: Engine,
    listeners: Arc<Listeners>,
    devices: Devices,
    transfers: Arc<Transfers>,
    offers: Arc<Offers>,
    /// Devices that want to pair and have no code.
    pub(crate) requests: Requests,
    reception: Mutex<Reception>,
    /// Somebody has come: no firewall keeps everybody out.
    was_reached: AtomicBool,
    listening: Mutex<Listening>,
    orders: tokio::sync::Mutex<Option<Orders>>,
}

/// The way to the task that listens.
type Orders = mpsc::Sender<Order>;

enum Order {
    RenewCode(oneshot::Sender<Result<(), Fault>>),
    /// The same, unless one is open.
    OpenCode(oneshot::Sender<Result<(), Fault>>),
    /// Has the code run out soon, where nobody wants to wait ten minutes.
    #[cfg(test)]
    ShortenCode(Duration),
    /// By the settings that hold now; announced anew where that has changed.
    Adapt {
        announce_anew: bool,
        done: oneshot::Sender<()>,
    },
    /// Has those that wait for a place declined; what runs goes on.
    TurnAway,
    /// Once those who were declined have heard it; with `last_words` also those whose transfer has
    /// just ended.
    Stop {
        last_words: bool,
        done: oneshot::Sender<()>,
    },
}

impl Receiving {
    pub(super) fn new(reception: Reception, devices: Devices, transfers: Arc<Transfers>, offers: Arc<Offers>) -> Self {
        Self {
            engine: devices.engine.clone(),
            listeners: devices.listeners.clone(),
            requests: Requests::new(devices.engine.clone(), devices.listeners.clone()),
            devices,
            transfers,
            offers,
            reception: Mutex::new(reception),
            was_reached: AtomicBool::new(false),
            listening: Mutex::new(Listening::Off { refused: None }),
            orders: tokio::sync::Mutex::default(),
        }
    }

    /// Whether and where this device listens.
    pub fn listening(&self) -> Listening {
        self.listening.lock().clone()
    }

    /// It was to be switched on, and could not be.
    pub(super) fn refuse_to_listen(&self, fault: Fault) {
        if matches!(self.listening(), Listening::Off { .. }) {
            self.set_listening(Listening::Off { refused: Some(fault) });
        }
    }

    fn set_listening(&self, listening: Listening) {
        if !matches!(listening, Listening::On { .. }) {
            self.requests.clear();
        }
        self.listening.lock().clone_from(&listening);
        self.listeners.tell(AppEvent::ListeningChanged { listening });
    }

    /// Listens on the settings' port or on `port` (0 takes a free one), after stopping to listen
    /// elsewhere.
    pub async fn listen(self: &Arc<Self>, port: Option<u16>) {
        let mut orders = self.orders.lock().await;
        self.listen_with(&mut orders, port).await;
    }

    async fn listen_with(self: &Arc<Self>, orders: &mut Option<Orders>, port: Option<u16>) {
        let wanted = port.unwrap_or_else(|| self.port_of(&self.engine.settings()));
        self.leave(orders).await;
        match self.bind(wanted).await {
            Ok(receiver) => self.attend_to(orders, receiver).await,
            Err(error) => self.set_listening(Listening::Failed { fault: error, port: wanted }),
        }
    }

    /// The port that was given for this run, else that of the settings.
    fn port_of(&self, settings: &Settings) -> u16 {
        self.reception.lock().port.unwrap_or(settings.port)
    }

    async fn attend_to(self: &Arc<Self>, orders: &mut Option<Orders>, mut receiver: Receiver) {
        // A firewall that lets one port through may keep another closed.
        self.was_reached.store(false, Ordering::Relaxed);
        // It may have been bound before the settings held.
        let (folder, into_home, rule_folders) = self.landing();
        receiver.set_destination(folder, into_home, rule_folders);
        receiver.serve_shares(true);
        receiver.announce(self.is_announced()).await;
        let (sender, receiving) = mpsc::channel(ORDERS_MAX);
        *orders = Some(sender);
        self.show_receiver(&receiver);
        tokio::spawn(Arc::clone(self).attend(receiver, receiving));
    }

    /// Stops to listen; what runs goes on. What waits for an answer is declined: nobody would hear
    /// that it was withdrawn, and its lanes would find nobody at that port.
    async fn leave(&self, orders: &mut Option<Orders>) {
        self.offers.decline_all(Left::Overtaken);
        stop(orders.take(), false).await;
    }

    fn port(&self) -> Option<u16> {
        match *self.listening.lock() {
            Listening::On { port, .. } => Some(port),
            _ => None,
        }
    }

    /// Stores the settings that `change` makes and receives by them from now on: where another port
    /// is listened at, that comes first, so that one that cannot be had changes nothing. What runs
    /// goes on, and what waits does as far as it can be received as it is shown.
    ///
    /// # Errors
    /// Those of `change`, of listening, and of storing; where it is switched on, a folder in which
    /// nothing can land.
    pub(super) async fn receive_by(
        self: &Arc<Self>,
        names_folder: bool,
        change: impl FnOnce() -> Result<Settings, Fault>,
    ) -> Result<(), Fault> {
        let engine = &self.engine;
        // Other changes of settings wait for this one.
        let mut orders = self.orders.lock().await;
        let old = engine.settings();
        let new = change()?;
        if new.receiving && !old.receiving {
            let given = self.reception.lock().folder.clone();
            can_land(given.as_deref().unwrap_or(&new.receive_folder))?;
        }
        let wanted = self.port_of(&new);
        let is_wanted_there = new.receiving && (!old.receiving || wanted != self.port_of(&old));
        let bound = match is_wanted_there && self.port() != Some(wanted) {
            true => Some(self.bind(wanted).await?),
            false => None,
        };
        engine.set_settings(new.clone())?;
        if names_folder {
            engine.choose_folder(&new.receive_folder);
            // What a person has picked now counts, not what was given for this run.
            self.reception.lock().folder = None;
        }
        let listens = orders.as_ref().is_some_and(|orders| !orders.is_closed());
        if !new.receiving {
            self.leave(&mut orders).await;
            // Also where listening had failed.
            self.set_listening(Listening::Off { refused: None });
        } else if let Some(receiver) = bound {
            self.leave(&mut orders).await;
            self.attend_to(&mut orders, receiver).await;
        } else if listens {
            let announce_anew = (&new.name, new.announce) != (&old.name, old.announce);
            adapt(orders.as_ref(), announce_anew).await;
        } else {
            self.listen_with(&mut orders, None).await;
        }
        Ok(())
    }

    /// Has those that wait for a place declined; what runs goes on.
    pub(super) async fn turn_away(&self) {
        if let Some(orders) = &*self.orders.lock().await {
            // Where nobody listens any more, nobody waits.
            let _ = orders.send(Order::TurnAway).await;
        }
    }

    /// Stops to listen, once those who were declined have heard it; with `last_words` also those
    /// whose transfer has just ended.
    pub(super) async fn stop(&self, last_words: bool) {
        stop(self.orders.lock().await.take(), last_words).await;
    }

    /// Draws a new code; without a receiver there is nothing to draw it for.
    pub(crate) async fn renew_code(&self) -> Result<(), Fault> {
        self.draw_code(Order::RenewCode).await
    }

    async fn draw_code(&self, order: impl FnOnce(oneshot::Sender<Result<(), Fault>>) -> Order) -> Result<(), Fault> {
        let orders = self.orders.lock().await;
        let running = orders.as_ref().ok_or(Fault::Gone)?;
        let (done, drawn) = oneshot::channel();
        running.send(order(done)).await.map_err(|_| Fault::Gone)?;
        drawn.await.map_err(|_| Fault::Gone)?
    }

    /// Lets a device that wants to pair try a code. Nothing but this click of a person's opens one.
    ///
    /// # Errors
    /// [`Fault::Gone`] if that device is not shown any more, or nobody listens.
    pub(crate) async fn allow_pairing(&self, id: &str) -> Result<(), Fault> {
        let id = self.requests.id(id)?;
        self.draw_code(Order::OpenCode).await?;
        self.requests.allow(id)
    }

    /// Shows nothing of a device any more. A code that is open becomes another one: the device may
    /// have heard it.
    ///
    /// # Errors
    /// [`Fault::Gone`] if that device is not shown any more.
    pub(crate) async fn block_pairing(&self, id: &str) -> Result<(), Fault> {
        self.requests.block(id)?;
        match self.listening() {
            Listening::On { code: Some(OpenCode { code: Some(_), .. }), .. } => self.renew_code().await,
            _ => Ok(()),
        }
    }

    #[cfg(test)]
    pub(super) async fn shorten_code(&self, life: Duration) {
        let orders = self.orders.lock().await;
        assert!(orders.as_ref().unwrap().send(Order::ShortenCode(life)).await.is_ok());
    }

    async fn attend(self: Arc<Self>, mut receiver: Receiver, mut orders: mpsc::Receiver<Order>) {
        let mut refresh = tokio::time::interval(OFFER_REFRESH);
        refresh.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut look = tokio::time::interval(LOOK_EVERY);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
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
                        // The client that asked may have disconnected.
                        let _ = done.send(drawn);
                    }
                    Order::OpenCode(done) => {
                        let opened = if receiver.code().is_some() { Ok(()) } else { receiver.renew_code() };
                        self.show_receiver(&receiver);
                        let _ = done.send(opened);
                    }
                    #[cfg(test)]
                    Order::ShortenCode(life) => receiver.shorten_code(life),
                    Order::Adapt { announce_anew, done } => {
                        let (folder, into_home, rule_folders) = self.landing();
                        receiver.set_destination(folder, into_home, rule_folders);
                        if announce_anew {
                            receiver.announce(self.is_announced()).await;
                        }
                        self.show_receiver(&receiver);
                        let _ = done.send(());
                    }
                    Order::TurnAway => receiver.turn_away(),
                    Order::Stop { last_words, done } => {
                        receiver.stop().await;
                        // Offers that came before it stopped.
                        while let Some(event) = receiver.next_event().await {
                            self.on_event(event, &receiver);
                        }
                        self.offers.decline_all(Left::Overtaken);
                        // A sender that does not read is not waited for longer.
                        let heard = async {
                            receiver.no_offers().await;
                            if last_words {
                                receiver.idle().await;
                            }
                        };
                        let _ = tokio::time::timeout(PARTING_TIME_MAX, heard).await;
                        self.set_listening(Listening::Off { refused: None });
                        let _ = done.send(());
                        break;
                    }
                },
                _ = refresh.tick(), if self.offers.any() => self.offers.refresh(),
                _ = look.tick() => {
                    self.requests.look();
                    self.devices.notes.look();
                    self.look_at(&receiver);
                }
            }
        }
    }

    fn on_event(&self, event: ReceiverEvent, receiver: &Receiver) {
        let is_visit = matches!(
            event,
            ReceiverEvent::DevicePaired(_)
                | ReceiverEvent::PairingRequested(_)
                | ReceiverEvent::TurnedAway(_)
                | ReceiverEvent::OfferReceived(_)
                | ReceiverEvent::OfferRefused(_)
                | ReceiverEvent::NoteReceived(_)
                | ReceiverEvent::NoteLost(..)
        );
        if is_visit && !self.was_reached.swap(true, Ordering::Relaxed) {
            self.show_receiver(receiver);
        }
        match event {
            ReceiverEvent::CodeChanged => self.show_receiver(receiver),
            ReceiverEvent::DevicePaired(device) => {
                self.requests.look();
                self.listeners.tell(AppEvent::DevicePaired { device: Box::new(device) });
                self.devices.tell();
            }
            ReceiverEvent::PairingRequested(_) => self.requests.look(),
            ReceiverEvent::TurnedAway(failed) => self.listeners.tell(AppEvent::PairingFailed { failed }),
            ReceiverEvent::NoteReceived(note) => self.devices.notes.came(note),
            ReceiverEvent::NoteLost(Device { id: from_id, name, .. }, why) => {
                self.listeners.tell(AppEvent::NoteLost { from: name, from_id, why });
            }
            ReceiverEvent::OfferReceived(offer) => self.offers.came(offer),
            ReceiverEvent::OfferWithdrawn(key) => self.offers.gone(key, Left::Withdrawn),
            ReceiverEvent::OfferAnswered(key) => self.offers.gone(key, Left::Accepted),
            ReceiverEvent::TransferStarted(transfer) => {
                self.transfers.add(transfer, None);
            }
            ReceiverEvent::Stopped(Some(error)) => {
                let port = receiver.local_address().port();
                self.set_listening(Listening::Failed { fault: error, port });
            }
            ReceiverEvent::Stopped(None) => self.set_listening(Listening::Off { refused: None }),
            _ => {}
        }
    }

    /// Shows the receiver anew where what is shown of it holds no more.
    fn look_at(&self, receiver: &Receiver) {
        let holds = match &*self.listening.lock() {
            Listening::On { addresses, code, .. } => {
                *addresses == typed_addresses(receiver) && is_same_code(code.as_ref(), open_code(receiver).as_ref())
            }
            // Something else is said, by whom it concerns.
            Listening::Off { .. } | Listening::Failed { .. } => true,
        };
        if !holds {
            self.show_receiver(receiver);
        }
    }

    fn show_receiver(&self, receiver: &Receiver) {
        let port = receiver.local_address().port();
        let code = open_code(receiver);
        let addresses = typed_addresses(receiver);
        let other_port = port != self.engine.settings().port;
        let firewalls = match self.was_reached.load(Ordering::Relaxed) {
            true => Vec::new(),
            false => remedy::firewalls_to_open(&self.engine, port),
        };
        self.set_listening(Listening::On { addresses, port, other_port, code, firewalls });
    }
}

/// Has the task that listens go by the settings as they are now.
async fn adapt(running: Option<&Orders>, announce_anew: bool) {
    let Some(running) = running else { return };
    let (done, adapted) = oneshot::channel();
    if running.send(Order::Adapt { announce_anew, done }).await.is_ok() {
        // An error means that the task ended before it read the order: the next one begins with
        // them.
        let _ = adapted.await;
    }
}

/// Has the task that listens end; none does where none listens.
async fn stop(running: Option<Orders>, last_words: bool) {
    let Some(running) = running else { return };
    let (done, stopped) = oneshot::channel();
    if running.send(Order::Stop { last_words, done }).await.is_ok() {
        // An error means that the task ended before it read the order: stopped as well.
        let _ = stopped.await;
    }
}

impl Receiving {
    /// Where it is received, if nothing else is said of an offer.
    pub fn folder(&self) -> PathBuf {
        let given = self.reception.lock().folder.clone();
        given.unwrap_or_else(|| self.engine.settings().receive_folder.0)
    }

    /// The address that was given; else all of both families, or of IPv4 where the machine has no
    /// IPv6.
    async fn bind(&self, port: u16) -> Result<Receiver, Fault> {
        let engine = &self.engine;
        let (folder, into_home, _) = self.landing();
        engine.check_folder(&folder, into_home)?;
        let (given, zone) = {
            let reception = self.reception.lock();
            (reception.address, reception.zone)
        };
        if let Some(address) = given {
            let mut options = self.options(address, port);
            if let SocketAddr::V6(listen) = &mut options.listen {
                listen.set_scope_id(zone);
            }
            return engine.receive(options).await;
        }
        match engine.receive(self.options(Ipv6Addr::UNSPECIFIED.into(), port)).await {
            Err(Fault::Listen { source, .. })
                if source.raw_os_error().is_some_and(|errno| NO_IPV6.contains(&errno)) =>
            {
                engine.receive(self.options(Ipv4Addr::UNSPECIFIED.into(), port)).await
            }
            other => other,
        }
    }

    /// Where offers land, what may land there if it is a home, and whether a device's rule may name
    /// another folder: one that was given for this run is for everybody.
    pub(super) fn landing(&self) -> (PathBuf, IntoHome, bool) {
        let given = self.reception.lock().clone();
        let settings = self.engine.settings();
        match given.folder {
            Some(folder) => (folder, given.into_home, false),
            None => (settings.receive_folder.0, settings.into_home, true),
        }
    }

    fn is_announced(&self) -> bool {
        self.engine.settings().announce && !self.reception.lock().is_quiet
    }

    fn options(&self, address: IpAddr, port: u16) -> ReceiveOptions {
        let (destination, _, rule_folders) = self.landing();
        ReceiveOptions {
            listen: SocketAddr::new(address, port),
            destination,
            code: None,
            pairing: true,
            // Once it is known that it stays, and by the settings that hold then.
            announce: false,
            rule_folders,
            tls: TlsMode::Auto,
            io: IoMode::Auto,
        }
    }
}

/// The code that others can pair by now.
fn open_code(receiver: &Receiver) -> Option<OpenCode> {
    let code = receiver.code()?;
    let text = code.text.as_ref().map(|text| text.to_string());
    Some(OpenCode { code: text, code_valid_until: code.valid_until })
}

/// Whether it is the same code with the same end.
fn is_same_code(shown: Option<&OpenCode>, open: Option<&OpenCode>) -> bool {
    let (Some(shown), Some(open)) = (shown, open) else { return shown.is_none() && open.is_none() };
    let apart =
        |shown: SystemTime, open: SystemTime| shown.duration_since(open).unwrap_or_else(|earlier| earlier.duration());
    let is_same_end = match (shown.code_valid_until, open.code_valid_until) {
        (Some(shown), Some(open)) => apart(shown, open) <= SAME_END,
        (shown, open) => shown == open,
    };
    shown.code == open.code && is_same_end
}

fn typed_addresses(receiver: &Receiver) -> Vec<String> {
    let port = receiver.local_address().port();
    receiver.addresses().into_iter().map(|address| typed_address(address, port)).collect()
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
