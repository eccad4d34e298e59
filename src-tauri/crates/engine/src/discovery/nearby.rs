//! Listening for what others announce.
use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use std::sync::Arc;
use std::time::Duration;

use mdns_sd::{ResolvedService, ScopedIp, ServiceDaemon, ServiceEvent};
use ringway_wire::announcement::{Announcement, Fingerprint, SERVICE};
use ringway_wire::limits::VERSION;
use tokio::time::{Instant, timeout_at};

use super::heard::Heard;
use super::{NearbyDevice, failed};
use crate::Inner;
use crate::device::Device;
use crate::error::Error;

/// Once the machine that shows a code is found, others that say the same are listened for as long: mDNS answers within a tenth of a second.
const OTHERS_TIME: Duration = Duration::from_millis(500);

/// Who announces itself, as long as this lives.
pub struct Nearby {
    inner: Arc<Inner>,
    daemon: ServiceDaemon,
    events: mdns_sd::Receiver<ServiceEvent>,
    heard: Heard,
    /// Whom this machine knows, as it was when listening began.
    paired: Vec<Device>,
    /// Only this is looked for, if anything is.
    code: Option<u16>,
}

impl Nearby {
    /// Listens for all, or for those who show a code with that number.
    pub(crate) fn start(inner: Arc<Inner>, code: Option<u16>) -> Result<Self, Error> {
        let paired = inner.store.devices()?;
        let daemon = super::daemon()?;
        let events = daemon.browse(SERVICE).map_err(failed)?;
        Ok(Self { inner, daemon, events, heard: Heard::default(), paired, code })
    }

    /// Waits for news: somebody appeared, says something else, or has gone. False when nothing can be heard any more.
    pub async fn changed(&mut self) -> bool {
        loop {
            match self.events.recv_async().await {
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
    pub fn devices(&self) -> Vec<NearbyDevice> {
        let known = |said: &Announcement| self.paired.iter().find(|device| is_of(said, device));
        let heard = self.heard.all().into_iter();
        heard.map(|(said, addresses)| NearbyDevice { known: known(&said).cloned(), said, addresses }).collect()
    }

    /// Waits for whom it listens for, and a little longer for others who say the same; none when the time is over.
    pub(crate) async fn found(mut self, patience: Duration) -> Vec<NearbyDevice> {
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
        let is_wanted = self.code.is_none_or(|number| said.code == Some(number) && said.version == VERSION);
        if said.fingerprint == Fingerprint::of(&self.inner.identity.id().0) || !is_wanted {
            return self.heard.vanished(&service.fullname);
        }
        let is_paired = |said: &Announcement| self.paired.iter().any(|device| is_of(said, device));
        let addresses = service.addresses.iter().filter_map(|ip| dialled(ip, service.port));
        self.heard.appeared(&service.fullname, said, addresses, is_paired)
    }
}

impl Drop for Nearby {
    fn drop(&mut self) {
        // A daemon that has gone already needs no telling.
        let _ = self.daemon.shutdown();
    }
}

/// Whether it would be that device.
fn is_of(said: &Announcement, device: &Device) -> bool {
    Fingerprint::of(&device.id.0) == said.fingerprint
}

/// An address as one dials it. One of this very machine is none that another one has: it counts where it was heard on the loopback alone.
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
