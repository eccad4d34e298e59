//! A receiver's announcement of itself, as long as it listens.
use std::net::{IpAddr, SocketAddr};
use std::sync::Weak;
use std::time::Duration;

use mdns_sd::{IfKind, ServiceDaemon, ServiceInfo};
use ringway_wire::announcement::{Announcement, SERVICE};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::failed;
use crate::error::Error;
use crate::receive::Listening;

/// How often it is looked whether another code is shown: a person needs longer to read it out.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Time for telling others that nobody listens here any more. Who does not hear it forgets the receiver after two minutes (RFC 6762 section 10).
const GOODBYE_TIME_MAX: Duration = Duration::from_millis(500);

/// What is said of a listener, where.
pub(crate) struct Announcer {
    daemon: ServiceDaemon,
    listen: SocketAddr,
    said: Announcement,
}

impl Announcer {
    /// Announces what listens at `listen`, on the networks that reach it.
    ///
    /// # Errors
    /// [`Error::Discovery`].
    pub(crate) fn start(listen: SocketAddr, said: Announcement) -> Result<Self, Error> {
        let announcer = Self { daemon: super::daemon()?, listen, said };
        if !listen.ip().is_unspecified() {
            announcer.daemon.disable_interface(IfKind::All).map_err(failed)?;
            announcer.daemon.enable_interface(IfKind::Addr(listen.ip())).map_err(failed)?;
        }
        announcer.register()?;
        Ok(announcer)
    }

    fn register(&self) -> Result<(), Error> {
        let service = self.service().map_err(failed)?;
        self.daemon.register(service).map_err(failed)
    }

    fn service(&self) -> Result<ServiceInfo, mdns_sd::Error> {
        let Self { listen, said, .. } = self;
        let id = said.fingerprint.to_hex();
        // Two listeners of one device are two services of one host. Its name is not the machine's, which Avahi or systemd-resolved look after.
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

    /// Says another code's number, or that none is shown.
    fn say(&mut self, code: Option<u16>) {
        if self.said.code != code {
            let before = std::mem::replace(&mut self.said.code, code);
            // One that could not be said is said the next time.
            if self.register().is_err() {
                self.said.code = before;
            }
        }
    }

    /// Says goodbye.
    async fn end(&self) {
        let Ok(service) = self.service() else { return };
        if let Ok(gone) = self.daemon.unregister(service.get_fullname()) {
            // Whether anybody hears it changes nothing here.
            let _ = timeout(GOODBYE_TIME_MAX, gone.recv_async()).await;
        }
    }
}

impl Drop for Announcer {
    fn drop(&mut self) {
        // A daemon that has gone already needs no telling.
        let _ = self.daemon.shutdown();
    }
}

/// The task that keeps an announcement true. Dropping it has it say goodbye, too, if the program goes on.
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
            let mut look = interval(LOOK_EVERY);
            look.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    _ = &mut stopped => break,
                    _ = look.tick() => match listening.upgrade() {
                        Some(listening) => announcer.say(listening.number_on_show()),
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
