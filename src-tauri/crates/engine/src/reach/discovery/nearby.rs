//! Listening for what others announce.
use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use std::sync::Arc;
use std::time::Duration;

use mdns_sd::{ResolvedService, ScopedIp, ServiceEvent};
use ringway_model::{Device, Fault};
use ringway_wire::announcement::{Announcement, Fingerprint, SERVICE};
use ringway_wire::limits::VERSION;
use tokio::sync::broadcast;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until, timeout_at};

use super::daemon::{self, Daemon};
use super::heard::Heard;
use super::{Announced, failed};
use crate::shared::Shared;

/// Once the machine that shows a code is found, others that say the same are listened for as long:
/// mDNS answers within a tenth of a second.
const OTHERS_TIME: Duration = Duration::from_millis(500);

/// A service whose device did not answer is asked for at once and after a second (RFC 6762 section
/// 10.4), and is gone if it says nothing by then. The RFC's ten seconds are for records that are
/// doubted for less than a failed connection.
const VERIFY_TIME: Duration = Duration::from_secs(2);

/// Who is listened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Everybody.
    All,
    /// Those who show a code with that number.
    Code(u16),
    /// Those who say to be that device.
    Device(Fingerprint),
}

impl Wanted {
    fn covers(self, said: &Announcement) -> bool {
        match self {
            Self::All => true,
            Self::Code(number) => said.code == Some(number) && said.version == VERSION,
            Self::Device(fingerprint) => said.fingerprint == fingerprint,
        }
    }
}

/// Who announces itself, as long as this lives.
pub struct Nearby {
    shared: Arc<Shared>,
    /// None while nothing is heard, because the network is flooded.
    listening: Option<Listening>,
    deaf_until: Instant,
    look: Interval,
    heard: Heard,
    wanted: Wanted,
    /// Devices that did not answer.
    silent: broadcast::Receiver<Fingerprint>,
}

struct Listening {
    daemon: Daemon,
    events: mdns_sd::Receiver<ServiceEvent>,
}

impl Listening {
    fn start() -> Result<Self, Fault> {
        let daemon = Daemon::start()?;
        let events = daemon.browse(SERVICE).map_err(failed)?;
        Ok(Self { daemon, events })
    }
}

impl Nearby {
    /// Listens for whom is wanted.
    pub(crate) fn start(shared: Arc<Shared>, wanted: Wanted) -> Result<Self, Fault> {
        let mut look = interval(daemon::LOOK_EVERY);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let listening = Some(Listening::start()?);
        let silent = shared.silent.subscribe();
        Ok(Self { shared, listening, deaf_until: Instant::now(), look, heard: Heard::default(), wanted, silent })
    }

    /// Waits for news: somebody appeared, says something else, or has gone. False when nothing can
    /// be heard any more. May be dropped and called again.
    ///
    /// Where more is heard than can be remembered, all of it is forgotten, and after a few seconds
    /// listened anew.
    pub async fn changed(&mut self) -> bool {
        loop {
            let Some(Listening { daemon, events }) = &self.listening else {
                sleep_until(self.deaf_until).await;
                match Listening::start() {
                    Ok(listening) => self.listening = Some(listening),
                    Err(_) => return false,
                }
                continue;
            };
            let event = tokio::select! {
                event = events.recv_async() => event,
                _ = self.look.tick() => {
                    // Not beside the events: where they never end, nobody would wait for the count.
                    if daemon.is_overfull().await {
                        self.listening = None;
                        self.deaf_until = Instant::now() + daemon::PAUSE;
                        self.heard = Heard::default();
                        return true;
                    }
                    continue;
                }
                // A device that was missed is asked about when it fails the next time.
                Ok(fingerprint) = self.silent.recv() => {
                    for service in self.heard.services_of(fingerprint) {
                        // A daemon with too much to do forgets it later.
                        let _ = daemon.verify(service.to_owned(), VERIFY_TIME);
                    }
                    continue;
                }
            };
            match event {
                Err(_) => return false,
                Ok(ServiceEvent::ServiceResolved(service)) => {
                    if self.resolved(&service) {
                        return true;
                    }
                }
                Ok(ServiceEvent::ServiceRemoved(_, name)) => {
                    if self.heard.vanished(&name) {
                        return true;
                    }
                }
                Ok(_) => {}
            }
        }
    }

    /// Who is there by now, sorted by name.
    pub fn devices(&self) -> Vec<Announced> {
        // A store that cannot be read just now is said by what needs it.
        let paired = self.shared.store.devices().unwrap_or_default();
        let heard = self.heard.all().into_iter();
        heard
            .map(|(said, addresses)| {
                let mut announced = Announced::new(&said, addresses);
                announced.recognise(&paired);
                announced
            })
            .collect()
    }

    /// Waits for whom it listens for, and a little longer for others who say the same; none when
    /// the time is over.
    pub(crate) async fn found(mut self, patience: Duration) -> Vec<Announced> {
        let mut until = Instant::now() + patience;
        while let Ok(true) = timeout_at(until, self.changed()).await {
            if !self.heard.all().is_empty() {
                until = until.min(Instant::now() + OTHERS_TIME);
            }
        }
        self.devices()
    }

    /// Takes in one that was found; whether that is news.
    fn resolved(&mut self, service: &ResolvedService) -> bool {
        let pairs = service.txt_properties.iter().map(|pair| (pair.key(), pair.val().unwrap_or_default()));
        // What is not as it should be is passed over, and one that said better before has gone.
        let Ok(said) = Announcement::parse(pairs) else { return self.heard.vanished(&service.fullname) };
        if said.fingerprint == Fingerprint::of(&self.shared.identity.id().0) || !self.wanted.covers(&said) {
            return self.heard.vanished(&service.fullname);
        }
        let addresses = service.addresses.iter().filter_map(|ip| dialled(ip, service.port));
        // Asked only where there is no place left, and then of few: what is there is looked up
        // once.
        let paired = std::cell::OnceCell::new();
        let is_paired = |said: &Announcement| {
            let paired = paired.get_or_init(|| self.shared.store.devices().unwrap_or_default());
            paired.iter().any(|device| is_of(said.fingerprint, device))
        };
        self.heard.appeared(&service.fullname, said, addresses, is_paired)
    }
}

/// Whether it would be that device.
pub(super) fn is_of(fingerprint: Fingerprint, device: &Device) -> bool {
    Fingerprint::of(&device.id.0) == fingerprint
}

/// An address as one dials it. One of this very machine is none that another one has: it counts
/// where it was heard on the loopback alone.
fn dialled(ip: &ScopedIp, port: u16) -> Option<SocketAddr> {
    let is_ours = |name: &str| name == "lo";
    match ip {
        ScopedIp::V4(v4) => {
            let heard_here = v4.interface_ids().iter().any(|interface| is_ours(&interface.name));
            (!v4.addr().is_loopback() || heard_here).then(|| SocketAddr::new(IpAddr::V4(*v4.addr()), port))
        }
        ScopedIp::V6(v6) => {
            let (address, interface) = (v6.addr(), v6.scope_id());
            let scope = if address.is_unicast_link_local() { interface.index } else { 0 };
            let is_possible = !address.is_loopback() || is_ours(&interface.name);
            is_possible.then(|| SocketAddrV6::new(*address, port, 0, scope).into())
        }
        _ => None,
    }
}
