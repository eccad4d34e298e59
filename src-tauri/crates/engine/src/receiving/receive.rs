//! Listening: the receiver's handle, its open code, and the loop that takes connections in.
#[cfg(test)]
mod tests;

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use parking_lot::{Mutex, MutexGuard};
use ringway_model::{Fault, IntoHome, Invalid, PathTaken, Unconfined};
use ringway_tree::io_plan::IoPlan;
use ringway_tree::receive::restore_all;
use ringway_wire::DeviceName;
use ringway_wire::announcement::Announcement;
use ringway_wire::code::{CODE_ENTROPY_LEN, GivenSecret, PairingCode, PairingSecret};
use ringway_wire::pair::{Lifetime, MAX_WRONG_ATTEMPTS, OpenCode, Refusal};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;
use zeroize::Zeroizing;

use super::serve;
use crate::admission::accept_queue::AcceptQueue;
use crate::admission::back_off::BackOff;
use crate::admission::descriptors::ForReceiving;
use crate::admission::handshakes::Handshakes;
use crate::admission::token_bucket::TokenBuckets;
use crate::admission::{AdmissionSlots, Origin};
use crate::engine::Inner;
use crate::limits::{EVENTS_QUEUED_MAX, OFFERS_IN_VAIN, PARTINGS_MAX, WRONG_ATTEMPTS_OF_ALL_CODES_MAX};
use crate::local::own_folders;
use crate::reach::discovery::{Announcer, Announcing, kind_of_this};
use crate::reach::interfaces;
use crate::receiving::event::ReceiverEvent;
use crate::receiving::offer::{Arrivals, Queue, Shares};
use crate::transfers::options::ReceiveOptions;
use ringway_link::lane;
use ringway_tree::random;

pub use crate::receiving::offer::IncomingOffer;

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
    /// As a person reads it out, e.g. `42-river-camera`. None where a standing secret or a given
    /// code is in force: it is not shown.
    pub text: Option<Zeroizing<String>>,
    /// When it expires, by the clock as it is set now; none for a standing secret.
    pub valid_until: Option<SystemTime>,
}

/// What the connections of one receiver share.
pub(crate) struct Listening {
    pub(crate) inner: Arc<Inner>,
    landing: Mutex<Landing>,
    pub(crate) pairing: bool,
    pub(crate) paths: PathTaken,
    pub(crate) io: IoPlan,
    /// Whether what writes files is confined to the destination.
    pub(crate) confinement: Result<(), Unconfined>,
    pub(crate) events: mpsc::Sender<ReceiverEvent>,
    pub(crate) back_off: BackOff,
    pub(crate) accept_queue: Arc<AcceptQueue>,
    pub(crate) handshakes: Handshakes,
    /// Offers of each device that a person is asked about.
    pub(crate) offers_in_vain: TokenBuckets,
    /// How often the program is told that an offer of a device was refused.
    pub(crate) refusals_told: TokenBuckets,
    /// How many known devices' connections are told at a time that they have no place.
    pub(crate) partings: Semaphore,
    /// The places of running transfers.
    pub(crate) queue: Queue,
    /// The names of offers that still arrive.
    pub(crate) arrivals: Arrivals,
    /// The offers that wait for a person's answer.
    pub(crate) shares: Shares,
    code: Mutex<Option<Opened>>,
    /// Wrong attempts since a person asked for a code, at all codes together.
    wrong_attempts: AtomicU32,
}

/// Where offers land that come from now on.
pub(crate) struct Landing {
    pub(crate) destination: PathBuf,
    /// Whether a device's rule may name another folder.
    pub(crate) rule_folders: bool,
    /// What may land there, where it is a home.
    pub(crate) into_home: IntoHome,
}

struct Opened {
    open: OpenCode,
    /// What stands in front of the code's words.
    number: Option<u16>,
    text: Option<Zeroizing<String>>,
}

impl Listening {
    /// Works on the open code, if there is one.
    pub(crate) fn with_code<T>(&self, work: impl FnOnce(&mut OpenCode, u64) -> T) -> Option<T> {
        let now_ms = boot_ms();
        self.code().as_mut().map(|opened| work(&mut opened.open, now_ms))
    }

    /// Counts a wrong attempt, at whichever code.
    pub(crate) fn count_wrong_attempt(&self) {
        // There is nothing that this count orders. An error means that it stays at its end.
        let _ = self.wrong_attempts.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| count.checked_add(1));
    }

    /// Tells the program; one that has gone is told nothing.
    pub(crate) async fn tell(&self, event: ReceiverEvent) {
        let _ = self.events.send(event).await;
    }

    pub(crate) fn landing(&self) -> MutexGuard<'_, Landing> {
        self.landing.lock()
    }

    fn code(&self) -> MutexGuard<'_, Option<Opened>> {
        self.code.lock()
    }

    /// The number in front of the code that is open, for finding the machine that shows it.
    pub(crate) fn number_on_show(&self) -> Option<u16> {
        let now_ms = boot_ms();
        self.code().as_ref().filter(|opened| is_open(&opened.open, now_ms))?.number
    }

    fn open(&self, secret: PairingSecret, lifetime: Lifetime, number: Option<u16>, text: Option<Zeroizing<String>>) {
        let open = OpenCode::new(secret, boot_ms(), lifetime);
        *self.code() = Some(Opened { open, number, text });
    }

    /// From now on no code is open, for attempts that are under way neither.
    fn close_code(&self) {
        *self.code() = None;
    }

    fn draw_code(&self) -> Result<(), Fault> {
        let code = PairingCode::from_entropy(random::<CODE_ENTROPY_LEN>()?);
        let text = Zeroizing::new(code.expose().to_owned());
        self.open(PairingSecret::from(&code), Lifetime::OneTime, Some(code.number()), Some(text));
        Ok(())
    }
}

/// Milliseconds that a code's life is counted in. They go on while the machine sleeps
/// (CLOCK_BOOTTIME): a closed lid keeps no code open.
pub(crate) fn boot_ms() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    now.tv_sec.unsigned_abs() * 1_000 + now.tv_nsec.unsigned_abs() / 1_000_000
}

/// Whether a code may be tried at all, now or after a wait.
pub(crate) fn is_open(code: &OpenCode, now_ms: u64) -> bool {
    !matches!(code.check(now_ms), Err(Refusal::Expired | Refusal::Burnt))
}

/// Binds, opens a code, and starts taking connections in.
pub(crate) async fn listen(inner: Arc<Inner>, options: ReceiveOptions) -> Result<Receiver, Fault> {
    // Before anybody can offer to make them.
    own_folders::make(&inner.paths)?;
    let io = IoPlan::for_writing(options.io)?;
    let paths = PathTaken { tls: lane::plan(options.tls)?, io: io.path() };
    let failed = |source| Fault::listen(options.listen.to_string(), source);
    let listener = TcpListener::bind(options.listen).await.map_err(failed)?;
    let local_address = listener.local_addr().map_err(failed)?;
    // Now: what writes files later is confined, and cannot see what is open.
    ForReceiving::here();
    close_what_crashed_left_open(note_places(&inner, &options));
    let (events, told) = mpsc::channel(EVENTS_QUEUED_MAX);
    let listening = Arc::new(Listening {
        inner,
        landing: Mutex::new(Landing {
            destination: options.destination,
            rule_folders: options.rule_folders,
            into_home: IntoHome::Refuse,
        }),
        pairing: options.pairing,
        paths,
        io,
        confinement: confinement(),
        events,
        back_off: BackOff::default(),
        accept_queue: Arc::default(),
        handshakes: Handshakes::default(),
        offers_in_vain: TokenBuckets::new(OFFERS_IN_VAIN),
        refusals_told: TokenBuckets::new(OFFERS_IN_VAIN),
        partings: Semaphore::new(PARTINGS_MAX),
        queue: Queue::default(),
        arrivals: Arrivals::default(),
        shares: Shares::default(),
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
    let accepting = tokio::spawn(accept(listener, Arc::clone(&listening)));
    let mut receiver =
        Receiver { listening, events: told, accepting, local_address, announcing: None, announced: Ok(false) };
    receiver.announce(options.announce).await;
    Ok(receiver)
}

/// What is there from now on is what offers land in. Returns those folders.
fn note_places(inner: &Inner, options: &ReceiveOptions) -> Vec<PathBuf> {
    // A store that cannot be asked only means that a rule's folder is noted at its first offer.
    let devices = if options.rule_folders { inner.store.devices().unwrap_or_default() } else { Vec::new() };
    let rules = devices.into_iter().filter_map(|device| device.rule.folder).map(|folder| folder.0);
    let folders: Vec<_> = std::iter::once(options.destination.clone()).chain(rules).collect();
    for folder in &folders {
        inner.expect(folder);
    }
    folders
}

/// Gives read-only folders their mode back that a receiver was changing when it crashed. On a
/// thread of its own, for a folder may be on a server that does not answer.
fn close_what_crashed_left_open(folders: Vec<PathBuf>) {
    let close = move || folders.iter().for_each(|folder| restore_all(folder));
    // Without a thread the next transfer does it.
    drop(std::thread::Builder::new().name("ringway-close".into()).spawn(close));
}

fn announcer(listening: &Listening, at: SocketAddr) -> Result<Announcer, Fault> {
    let name = DeviceName::new(&listening.inner.settings().name).map_err(|_| Fault::Invalid(Invalid::DeviceName))?;
    let id = listening.inner.identity.id().0;
    Announcer::start(at, Announcement::new(name, &id, kind_of_this(), listening.number_on_show()))
}

async fn accept(listener: TcpListener, listening: Arc<Listening>) {
    let slots = Arc::new(AdmissionSlots::default());
    // A store that cannot be asked only means that they are met anew.
    for device in listening.inner.store.devices().unwrap_or_default() {
        device.last_ip().into_iter().for_each(|ip| slots.note_known(Origin::of(ip)));
    }
    loop {
        match listener.accept().await {
            Ok((tcp, from)) => {
                let (slot, evicted) = slots.admit(Origin::of(from.ip()));
                tokio::spawn(serve::connection(Arc::clone(&listening), tcp, from, (slot, evicted)));
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
        self.listening.inner.expect(&destination);
        *self.listening.landing() = Landing { destination, rule_folders, into_home };
    }

    /// Announces it from now on, under the name that this device has now, or no more.
    /// [`Receiver::announced`] says what came of it.
    pub async fn announce(&mut self, is_on: bool) {
        if let Some(announcing) = self.announcing.take() {
            announcing.end().await;
        }
        let announcer = is_on.then(|| announcer(&self.listening, self.local_address)).transpose();
        self.announced = announcer.map(|announcer| {
            self.announcing = announcer.map(|announcer| Announcing::start(announcer, Arc::downgrade(&self.listening)));
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
    use ringway_sys::confine::Unconfined as Sys;
    ringway_sys::confine::support().map_err(|why| match why {
        Sys::NotInKernel => Unconfined::NotInKernel,
        Sys::SwitchedOff => Unconfined::SwitchedOff,
        Sys::TooOld => Unconfined::TooOld,
        Sys::Refused(errno) => Unconfined::Refused(errno),
    })
}
