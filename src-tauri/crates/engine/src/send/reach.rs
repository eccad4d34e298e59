//! Reaching the device that is to receive: connected, known by its key, paired where that is needed and possible.
use std::sync::Arc;
use std::time::Duration;

use ringway_wire::DeviceName;
use ringway_wire::code::PairingSecret;
use ringway_wire::control::{Cancel, Greeting, Refusal};
use ringway_wire::pair::{Binding, ENTROPY_LEN, EXPORTER_LABEL};
use ringway_wire::session::{Initiator, InitiatorEvent, Pairing};

use crate::connect::Destination;
use crate::device::{Device, DeviceId};
use crate::error::{AuthError, Error, Side};
use crate::messages::MessageReader;
use crate::send::find::{Found, find};
use crate::session::Session;
use crate::tls::TicketKey;
use crate::{Inner, random};

/// An authenticated session with nothing offered yet.
pub(crate) struct Reached {
    pub(super) session: Session<Initiator>,
    pub(super) tickets: TicketKey,
    /// Where it was found, as `host:port`.
    pub(super) address: String,
    /// As TCP has measured it so far.
    pub(super) round_trip: Option<Duration>,
    pub(crate) device: Device,
}

/// Connects, checks whose key it is, and pairs if that is needed and possible.
pub(crate) async fn reach(
    inner: &Arc<Inner>,
    destination: &Destination,
    secret: Option<PairingSecret>,
) -> Result<Reached, Error> {
    let Found { channel, clock, address } = find(inner, destination).await?;
    let peer = channel.peer;
    let known = inner.store.by_id(peer)?;
    let pairing = match secret {
        None => None,
        Some(secret) => Some(Pairing {
            secret,
            binding: Binding::new(inner.identity.id().0, peer.0, *channel.export(EXPORTER_LABEL)?)
                .map_err(|_| AuthError::Ourselves)?,
            entropy: random::<ENTROPY_LEN>()?.into(),
        }),
    };
    let tickets = channel.ticket_key()?;
    let round_trip = ringway_sys::socket::tcp_path(&channel.stream.get_ref().0.io).ok().map(|path| path.rtt);
    let machine = Initiator::new(&greeting(inner)?, known.is_some(), pairing, clock.now_ms());
    let mut session = Session::new(machine, channel.stream, MessageReader::default(), clock);
    let mut name = None;
    let device = loop {
        match session.next().await? {
            Some(InitiatorEvent::HelloReceived { peer_name, version }) => {
                if version != ringway_wire::limits::VERSION {
                    return Err(Error::Version { ours: ringway_wire::limits::VERSION, theirs: version });
                }
                check_name(inner, known.as_ref(), peer, &peer_name)?;
                name = Some(peer_name);
            }
            Some(InitiatorEvent::PairingNeeded) => {
                return Err(AuthError::PairingNeeded { peer_name: text(name.as_ref()) }.into());
            }
            Some(InitiatorEvent::Refused(refusal)) => return Err(refused(inner, refusal, name.as_ref())),
            Some(InitiatorEvent::Paired) => {
                inner.store.pin(peer, &text(name.as_ref()), &address)?;
            }
            Some(InitiatorEvent::Authenticated) => {
                inner.store.saw(peer, Some(&address))?;
                break inner.store.by_id(peer)?.ok_or(AuthError::NoCodeOpen)?;
            }
            Some(InitiatorEvent::Cancelled(_)) => return Err(Error::Cancelled(Side::There)),
            Some(_) | None => return Err(Error::ConnectionLost(std::io::ErrorKind::UnexpectedEof.into())),
        }
    };
    Ok(Reached { session, tickets, address, round_trip, device })
}

impl Reached {
    /// Ends it without an offer: pairing was all that was wanted.
    pub(crate) async fn close(mut self) -> Device {
        self.session.machine.cancel(Cancel::ByPerson);
        self.session.close().await;
        self.device
    }
}

/// Whoever is not known may not call itself by a known device's name.
fn check_name(inner: &Inner, known: Option<&Device>, found: DeviceId, name: &DeviceName) -> Result<(), Error> {
    match inner.store.by_name(name.as_str())? {
        Some(other) if known.is_none() && other.id != found => {
            Err(AuthError::IdentityChanged { name: other.name, expected: other.id, found }.into())
        }
        _ => Ok(()),
    }
}

fn text(name: Option<&DeviceName>) -> String {
    name.map(|name| name.as_str().to_owned()).unwrap_or_default()
}

pub(super) fn refused(inner: &Inner, refusal: Refusal, peer: Option<&DeviceName>) -> Error {
    match refusal {
        Refusal::WrongCode => AuthError::WrongCode.into(),
        Refusal::NoCodeOpen => AuthError::NoCodeOpen.into(),
        Refusal::PairingBusy(wait_ms) => AuthError::PairingBusy { wait_ms: wait_ms.into() }.into(),
        Refusal::NameTaken => AuthError::NameTaken { name: inner.settings().name }.into(),
        Refusal::NotPaired => AuthError::PairingNeeded { peer_name: text(peer) }.into(),
        Refusal::Ourselves => AuthError::Ourselves.into(),
        Refusal::Version => Error::Version { ours: ringway_wire::limits::VERSION, theirs: 0 },
    }
}

pub(crate) fn greeting(inner: &Inner) -> Result<Greeting, Error> {
    let settings = inner.settings();
    let name = DeviceName::new(&settings.name).map_err(Error::Protocol)?;
    Ok(Greeting { name, port: settings.port })
}
