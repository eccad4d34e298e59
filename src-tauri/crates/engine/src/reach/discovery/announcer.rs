//! A receiver's announcement of itself, as long as it listens.
use std::net::{IpAddr, SocketAddr};
use std::sync::Weak;
use std::time::Duration;

use mdns_sd::{IfKind, ServiceInfo};
use ringway_model::Fault;
use ringway_wire::announcement::{Announcement, SERVICE};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use super::daemon::{self, Daemon};
use super::failed;
use crate::receiving::receive::Listening;

/// Time for telling others that nobody listens here any more. Who does not hear it forgets the
/// receiver after two minutes (RFC 6762 section 10).
const GOODBYE_TIME_MAX: Duration = Duration::from_millis(500);

/// What is said of a listener, where.
pub(crate) struct Announcer {
    /// None while nothing is said, because the network is flooded.
    daemon: Option<Daemon>,
    quiet_until: Instant,
    listen: SocketAddr,
    said: Announcement,
}

impl Announcer {
    /// Announces what listens at `listen`, on the networks that reach it.
    ///
    /// # Errors
    /// [`Fault::Discovery`].
    pub(crate) fn start(listen: SocketAddr, said: Announcement) -> Result<Self, Fault> {
        let mut announcer = Self { daemon: None, quiet_until: Instant::now(), listen, said };
        announcer.begin()?;
        Ok(announcer)
    }

    fn begin(&mut self) -> Result<(), Fault> {
        let daemon = Daemon::start()?;
        if !self.listen.ip().is_unspecified() {
            daemon.disable_interface(IfKind::All).map_err(failed)?;
            daemon.enable_interface(IfKind::Addr(self.listen.ip())).map_err(failed)?;
        }
        self.register(&daemon)?;
        self.daemon = Some(daemon);
        Ok(())
    }

    fn register(&self, daemon: &Daemon) -> Result<(), Fault> {
        let service = self.service().map_err(failed)?;
        daemon.register(service).map_err(failed)
    }

    fn service(&self) -> Result<ServiceInfo, mdns_sd::Error> {
        let Self { listen, said, .. } = self;
        let id = said.fingerprint.to_hex();
        // Two listeners of one device are two services of one host. Its name is not the machine's,
        // which Avahi or systemd-resolved look after.
        let (instance, host) = (format!("{id}-{}", listen.port()), format!("ringway-{id}.local."));
        let addresses: &[IpAddr] = if listen.ip().is_unspecified() { &[] } else { &[listen.ip()] };
        let mut service = ServiceInfo::new(SERVICE, &instance, &host, addresses, listen.port(), &said.pairs()[..])?;
        // Nobody else has such names.
        service.set_requires_probe(false);
        Ok(match listen.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => {
                service.set_interfaces(vec![IfKind::IPv4]);
                service.enable_addr_auto()
            }
            IpAddr::V6(ip) if ip.is_unspecified() => service.enable_addr_auto(),
            _ => service,
        })
    }

    /// Says another code's number, or that none is shown; and rests for a while where more is heard
    /// than can be remembered.
    async fn look(&mut self, code: Option<u16>) {
        let before = std::mem::replace(&mut self.said.code, code);
        match self.daemon.take() {
            Some(daemon) if daemon.is_overfull().await => self.quiet_until = Instant::now() + daemon::PAUSE,
            Some(daemon) => {
                // One that could not be said is said the next time.
                if before != code && self.register(&daemon).is_err() {
                    self.said.code = before;
                }
                self.daemon = Some(daemon);
            }
            // One that cannot begin now may the next time.
            None if Instant::now() >= self.quiet_until => drop(self.begin()),
            None => {}
        }
    }

    /// Says goodbye.
    async fn end(&self) {
        let (Some(daemon), Ok(service)) = (&self.daemon, self.service()) else { return };
        if let Ok(gone) = daemon.unregister(service.get_fullname()) {
            // Whether anybody hears it changes nothing here.
            let _ = timeout(GOODBYE_TIME_MAX, gone.recv_async()).await;
        }
    }
}

/// The task that keeps an announcement true. Dropping it has it say goodbye, too, if the program
/// goes on.
pub(crate) struct Announcing {
    task: JoinHandle<()>,
    /// Dropping it stops the task.
    stop: oneshot::Sender<()>,
}

impl Announcing {
    /// Announces until it is stopped, or nobody listens any more.
    pub(crate) fn start(mut announcer: Announcer, listening: Weak<Listening>) -> Self {
        let (stop, mut stopped) = oneshot::channel();
        let task = tokio::spawn(async move {
            let mut look = interval(daemon::LOOK_EVERY);
            look.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    _ = &mut stopped => break,
                    _ = look.tick() => match listening.upgrade() {
                        Some(listening) => announcer.look(listening.number_on_show()).await,
                        None => break,
                    },
                }
            }
            announcer.end().await;
        });
        Self { task, stop }
    }

    /// Says goodbye, and waits until that is said.
    pub(crate) async fn end(self) {
        drop(self.stop);
        // One that panicked says nothing.
        let _ = self.task.await;
    }
}
