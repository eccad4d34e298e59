//! Listening: the receiver's handle, its open code, and the loop that takes connections in.
#[cfg(test)]
mod tests;

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use ringway_link::lane;
use ringway_model::{Fault, IntoHome, Invalid, PathTaken, Unconfined};
use ringway_tree::io_plan::IoPlan;
use ringway_tree::receive::restore_all;
use ringway_wire::DeviceName;
use ringway_wire::announcement::Announcement;
use ringway_wire::code::GivenSecret;
use ringway_wire::pair::{Lifetime, MAX_WRONG_ATTEMPTS};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;
use zeroize::Zeroizing;

use super::listeners::Listeners;
use super::listening::{Landing, Listening, is_open};
use super::serve;
use crate::admission::back_off::BackOff;
use crate::admission::descriptors::ForReceiving;
use crate::admission::handshakes::Handshakes;
use crate::admission::token_bucket::TokenBuckets;
use crate::admission::{AdmissionSlots, Origin, boot_ms};
use crate::devices::device::last_ip;
use crate::limits::{
    EVENTS_QUEUED_MAX, NO_CODE_TOLD, NO_CODE_TOLD_OF_ALL, NOTES, OFFERS_IN_VAIN, PARTINGS_MAX, REQUESTS_FOR_SHARES,
    WRONG_ATTEMPTS_OF_ALL_CODES_MAX,
};
use crate::local::own_folders;
use crate::reach::discovery::{Announcer, Announcing, kind_of_this};
use crate::reach::interfaces;
use crate::receiving::answer_places::AnswerPlaces;
use crate::receiving::arrivals::Arrivals;
use crate::receiving::event::ReceiverEvent;
use crate::receiving::listing::compare_again;
use crate::receiving::queue::Queue;
use crate::receiving::shares::Shares;
use crate::shared::Shared;
use crate::store::{Store, landed};
use crate::transfers::options::ReceiveOptions;

pub use super::event::IncomingOffer;

/// A pause after accept(2) fails for want of descriptors or memory, so that the loop does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A listening receiver. Dropping it stops listening; running transfers go on.
pub struct Receiver {
    listening: Arc<Listening>,
    events: mpsc::Receiver<ReceiverEvent>,
    accepting: JoinHandle<()>,
    local_address: SocketAddr,
    announcing: Option<Announcing>,
    announced: Result<bool, Fault>,
}

/// The code that is open now.
pub struct ShownCode {
    /// As a person reads it out, e.g. `42-river-camera`. `None` if a standing secret or a given
    /// code is in force: it is not shown.
    pub text: Option<Zeroizing<String>>,
    /// When it expires, by the clock as it is set now; none for a standing secret.
    pub valid_until: Option<SystemTime>,
}

/// Binds, opens a code, and starts taking connections in.
pub(crate) async fn listen(
    shared: Arc<Shared>,
    listeners: Arc<Listeners>,
    options: ReceiveOptions,
) -> Result<Receiver, Fault> {
    // Before anybody can offer to make them.
    own_folders::make(&shared.paths)?;
    let io = IoPlan::for_writing(options.io)?;
    let paths = PathTaken { tls: lane::plan(options.tls)?, io: io.path() };
    let reading = IoPlan::new(options.io)?;
    let failed = |source| Fault::listen(options.listen.to_string(), source);
    let listener = TcpListener::bind(options.listen).await.map_err(failed)?;
    let local_address = listener.local_addr().map_err(failed)?;
    // Now: what writes files later is confined, and cannot see what is open.
    ForReceiving::here();
    close_what_crashed_left_open(Arc::clone(&shared.store), note_places(&shared, &options));
    let (events, told) = mpsc::channel(EVENTS_QUEUED_MAX);
    let listening = Arc::new(Listening {
        shared,
        listeners,
        landing: Mutex::new(Landing {
            destination: options.destination,
            rule_folders: options.rule_folders,
            into_home: IntoHome::Refuse,
        }),
        pairing: options.pairing,
        paths,
        io,
        reading,
        serves: AtomicBool::new(false),
        confinement: confinement(),
        events,
        back_off: BackOff::default(),
        accept_queue: Arc::default(),
        handshakes: Handshakes::default(),
        offers_in_vain: TokenBuckets::new(OFFERS_IN_VAIN),
        requests_for_shares: TokenBuckets::new(REQUESTS_FOR_SHARES),
        notes: TokenBuckets::new(NOTES),
        refusals_told: TokenBuckets::new(OFFERS_IN_VAIN),
        no_code_told: TokenBuckets::new(NO_CODE_TOLD),
        no_code_told_of_all: TokenBuckets::new(NO_CODE_TOLD_OF_ALL),
        partings: Semaphore::new(PARTINGS_MAX),
        queue: Queue::default(),
        arrivals: Arrivals::default(),
        answers: AnswerPlaces::default(),
        shares: Shares::default(),
        listings: Arc::default(),
        code: Mutex::new(None),
        wrong_attempts: AtomicU32::new(0),
    });
    match (&options.code, options.pairing) {
        (_, false) => {}
        (Some(given @ GivenSecret::Code(code)), true) => {
            listening.open(given.to_pairing_secret(), Lifetime::OneTime, Some(code.number()), None);
        }
        (Some(given @ GivenSecret::Standing(_)), true) => {
            listening.open(given.to_pairing_secret(), Lifetime::Standing, None, None);
        }
        (None, true) => listening.draw_code()?,
    }
    let written = listening.shared.written.subscribe();
    tokio::spawn(compare_again(Arc::downgrade(&listening.listings), written));
    let accepting = tokio::spawn(accept(listener, Arc::clone(&listening)));
    let mut receiver =
        Receiver { listening, events: told, accepting, local_address, announcing: None, announced: Ok(false) };
    receiver.announce(options.announce).await;
    Ok(receiver)
}

/// What is there from now on is what offers land in. Returns those folders.
fn note_places(shared: &Shared, options: &ReceiveOptions) -> Vec<PathBuf> {
    // A store that cannot be asked only means that a rule's folder is noted at its first offer.
    let devices = if options.rule_folders { shared.store.devices().unwrap_or_default() } else { Vec::new() };
    let rules = devices.into_iter().filter_map(|device| device.rule.folder).map(|folder| folder.0);
    let folders: Vec<_> = std::iter::once(options.destination.clone()).chain(rules).collect();
    for folder in &folders {
        shared.expect(folder);
    }
    folders
}

/// Gives read-only folders their mode back that a receiver was changing when it crashed, and has
/// the store know what it had put there. On a thread of its own, for a folder may be on a server
/// that does not answer.
fn close_what_crashed_left_open(store: Arc<Store>, folders: Vec<PathBuf>) {
    let close = move || {
        folders.iter().for_each(|folder| restore_all(folder, landed::recall(&store, folder, |add| add()).as_ref()))
    };
    // Without a thread the next transfer does it.
    drop(std::thread::Builder::new().name("ringway-close".into()).spawn(close));
}

fn announcer(listening: &Listening, at: SocketAddr) -> Result<Announcer, Fault> {
    let name = DeviceName::new(&listening.shared.settings().name).map_err(|_| Fault::Invalid(Invalid::DeviceName))?;
    let id = listening.shared.identity.id().0;
    Announcer::start(at, Announcement::new(name, &id, kind_of_this(), listening.number_on_show()))
}

/// Announces as long as somebody listens, with the number of the code that is open.
fn announcing(announcer: Announcer, listening: &Arc<Listening>) -> Announcing {
    let listening = Arc::downgrade(listening);
    Announcing::start(announcer, move || listening.upgrade().map(|listening| listening.number_on_show()))
}

async fn accept(listener: TcpListener, listening: Arc<Listening>) {
    let slots = Arc::new(AdmissionSlots::default());
    // A store that cannot be asked only means that they are met anew.
    for device in listening.shared.store.devices().unwrap_or_default() {
        last_ip(&device).into_iter().for_each(|ip| slots.note_known(Origin::of(ip)));
    }
    loop {
        match listener.accept().await {
            Ok((tcp, from)) => {
                let (slot, evicted) = slots.admit(Origin::of(from.ip()));
                tokio::spawn(serve::connection(Arc::clone(&listening), tcp, from, slot, evicted));
            }
            Err(error) if is_about_one_connection(&error) => {}
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

/// accept(2) passes on what happened to a connection before it was accepted.
fn is_about_one_connection(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

impl Receiver {
    /// The socket address that is bound.
    pub fn local_address(&self) -> SocketAddr {
        self.local_address
    }

    /// Where offers land that come from now on, what may land there if it is a home, and whether a
    /// device's rule may name another folder. Those that wait keep theirs. Until this is called
    /// nothing lands in a home. Where another folder is at that path later, nothing lands in it
    /// until somebody chooses it ([`Engine::choose_folder`](crate::Engine::choose_folder)).
    pub fn set_destination(&self, destination: PathBuf, into_home: IntoHome, rule_folders: bool) {
        self.listening.shared.expect(&destination);
        *self.listening.landing() = Landing { destination, rule_folders, into_home };
    }

    /// Whether paired devices get from now on what is shared with them. Nothing is served before
    /// this is called. What runs goes on.
    pub fn serve_shares(&self, is_on: bool) {
        self.listening.serves.store(is_on, Ordering::Relaxed);
    }

    /// Announces it from now on, under the name that this device has now, or no more.
    /// [`Receiver::announced`] has the result.
    pub async fn announce(&mut self, is_on: bool) {
        if let Some(announcing) = self.announcing.take() {
            announcing.end().await;
        }
        let announcer = is_on.then(|| announcer(&self.listening, self.local_address)).transpose();
        self.announced = announcer.map(|announcer| {
            self.announcing = announcer.map(|announcer| announcing(announcer, &self.listening));
            self.announcing.is_some()
        });
    }

    /// Whether the threads that write what is received can reach nothing but its folder (Landlock),
    /// or why they can.
    ///
    /// # Errors
    /// Why not.
    pub fn confinement(&self) -> Result<(), Unconfined> {
        self.listening.confinement
    }

    /// Whether it is announced on the local network.
    ///
    /// # Errors
    /// It should be, and cannot be ([`Fault::Discovery`]). A sender that is given its address still
    /// reaches it.
    pub fn announced(&self) -> &Result<bool, Fault> {
        &self.announced
    }

    /// This machine's addresses that others may type: not loopback, IPv4 first, and of each family
    /// first the one that packets would leave from. Addresses of the link where there are no
    /// others; none without a network.
    pub fn addresses(&self) -> Vec<IpAddr> {
        if !self.local_address.ip().is_unspecified() {
            return vec![self.local_address.ip()];
        }
        // Connecting a datagram socket sends nothing; it only asks the routing table for the source
        // address.
        let source = |bind: &str, to: &str| {
            let socket = UdpSocket::bind(bind).ok()?;
            socket.connect(to).ok()?;
            Some(socket.local_addr().ok()?.ip())
        };
        let routes = [("0.0.0.0:0", "192.0.2.1:9"), ("[::]:0", "[2001:db8::1]:9")];
        let first: Vec<IpAddr> = routes.iter().filter_map(|(bind, to)| source(bind, to)).collect();
        let mut found = interfaces::addresses();
        if self.local_address.is_ipv4() {
            found.retain(IpAddr::is_ipv4);
        }
        // Addresses of the link alone clutter the list where others reach further.
        if !found.iter().all(interfaces::is_link_local) {
            found.retain(|ip| !interfaces::is_link_local(ip));
        }
        found.sort_by_key(|ip| (ip.is_ipv6(), !first.contains(ip)));
        found
    }

    /// The open code, none while pairing is closed (after a success or three wrong attempts, until
    /// [`Receiver::renew_code`]).
    pub fn code(&self) -> Option<ShownCode> {
        let now_ms = boot_ms();
        let code = self.listening.code();
        let opened = code.as_ref().filter(|opened| is_open(&opened.open, now_ms))?;
        // Counted from now each time: a machine's clock may have been set since the code was
        // opened, which changes nothing about its life.
        let left = opened.open.expires_in_ms(now_ms);
        let valid_until = left.map(|ms| SystemTime::now() + Duration::from_millis(ms));
        Some(ShownCode { text: opened.text.clone(), valid_until })
    }

    /// Has the code that is open expire after `life` instead, counted from its opening. It never
    /// lives longer than it would have.
    pub fn shorten_code(&self, life: Duration) {
        self.listening.with_code(|code, _| code.shorten(life.as_millis() as u64));
    }

    /// Draws a new code because a person asks for one; the old one is void, and wrong codes are
    /// counted from nothing.
    ///
    /// # Errors
    /// [`Invalid::PairingOff`]; no random bytes.
    pub fn renew_code(&self) -> Result<(), Fault> {
        if !self.listening.pairing {
            return Err(Fault::Invalid(Invalid::PairingOff));
        }
        self.listening.wrong_attempts.store(0, Ordering::Relaxed);
        self.listening.draw_code()
    }

    /// Draws a new code in place of one that is gone, without a person asking. False if wrong
    /// attempts at the next code could exceed [`WRONG_ATTEMPTS_OF_ALL_CODES_MAX`]: pairing stays
    /// closed until [`Receiver::renew_code`].
    ///
    /// # Errors
    /// Those of [`Receiver::renew_code`].
    pub fn replace_code(&self) -> Result<bool, Fault> {
        if !self.listening.pairing {
            return Err(Fault::Invalid(Invalid::PairingOff));
        }
        let after_next_code = self.listening.wrong_attempts.load(Ordering::Relaxed).saturating_add(MAX_WRONG_ATTEMPTS);
        if after_next_code > WRONG_ATTEMPTS_OF_ALL_CODES_MAX {
            return Ok(false);
        }
        self.listening.draw_code().map(|()| true)
    }

    /// The next event; none after `Stopped`.
    pub async fn next_event(&mut self) -> Option<ReceiverEvent> {
        self.events.recv().await
    }

    /// Waits until no offer and no transfer is under way any more, last words included: what a
    /// program does before it ends, so that a sender hears that it was declined.
    pub async fn idle(&self) {
        self.listening.queue.idle().await;
    }

    /// Declines accepted offers that wait for a place, and those that would have to: their senders
    /// hear that this receiver has stopped. What runs goes on, and
    /// its lanes are taken in still.
    pub fn turn_away(&self) {
        self.listening.queue.close();
    }

    /// Waits until no offer is under way any more that has not begun: what a program does before it
    /// ends and leaves running transfers as they are.
    pub async fn no_offers(&self) {
        self.listening.queue.no_offers().await;
    }

    /// Stops listening. Accepted offers that wait for a place are declined
    /// ([`Receiver::turn_away`]). Running transfers go on; one of which a lane needs a new
    /// connection (every 128 GiB) needs a listener on that port again.
    pub async fn stop(&mut self) {
        self.accepting.abort();
        self.listening.close_code();
        self.turn_away();
        if let Some(announcing) = self.announcing.take() {
            announcing.end().await;
        }
        self.listening.tell(ReceiverEvent::Stopped(None)).await;
        self.events.close();
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.accepting.abort();
        self.listening.close_code();
        self.listening.queue.close();
    }
}

/// Whether the threads that write what is received can be confined to its folder here, or why not.
pub(crate) fn confinement() -> Result<(), Unconfined> {
    ringway_sys::confine::support()
}
