//! Reaching the device that is to receive: connected, known by its key, paired where that is needed
//! and possible.
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ringway_link::messages::MessageReader;
use ringway_link::session::Session;
use ringway_link::tls::{Channel, TicketKey};
use ringway_model::{AuthError, DeclineReason, Device, DeviceId, Fault, Side};
use ringway_tree::random;
use ringway_wire::DeviceName;
use ringway_wire::code::PairingSecret;
use ringway_wire::control::{Cancel, Refusal};
use ringway_wire::pair::{Binding, ENTROPY_LEN, EXPORTER_LABEL};
use ringway_wire::session::{Event, Machine, Pairing};
use tokio::time::{Instant, sleep};

use super::find::{Found, find};
use crate::devices::target::Address;
use crate::limits::FIRST_CONTACT_TIME_MAX;
use crate::reach::connect::Destination;
use crate::shared::Shared;

/// An authenticated session with nothing offered yet.
pub(crate) struct Reached {
    pub(crate) session: Session,
    pub(crate) tickets: TicketKey,
    /// Where it was found, as it was meant.
    pub(crate) address: Address,
    /// The address that answered, and then the others that were known.
    pub(crate) addresses: Vec<SocketAddr>,
    /// As TCP has measured it so far.
    pub(crate) round_trip: Option<Duration>,
    pub(crate) device: Device,
}

/// Connects, checks whose key it is, and pairs if that is needed and possible. A receiver that
/// turns connections away because too many come at once is asked again, until `give_up_after`: but
/// only as long as the secret was not tried.
pub(crate) async fn reach(
    shared: &Arc<Shared>,
    destination: &Destination,
    secret: Option<PairingSecret>,
    give_up_after: Duration,
) -> Result<Reached, Fault> {
    let secret = secret.map(Arc::new);
    let gives_up = Instant::now() + give_up_after.min(FIRST_CONTACT_TIME_MAX);
    let mut pause = CROWD_PAUSE_FIRST;
    loop {
        let mut has_tried_secret = false;
        let error = match reach_once(shared, destination, secret.clone(), &mut has_tried_secret).await {
            Err(error) if !has_tried_secret && is_crowded(&error) => error,
            ended => return ended,
        };
        let wait = spread(pause)?;
        if Instant::now() + wait > gives_up {
            // Nothing was offered: this is no loss of a connection that anything went through.
            return Err(match error {
                Fault::ConnectionLost(_) => Fault::TurnedAway,
                // Without a code nobody pairs: the receiver has no place for the connection.
                Fault::Auth(AuthError::PairingBusy { .. }) if secret.is_none() => Fault::Declined(DeclineReason::Busy),
                error => error,
            });
        }
        sleep(wait).await;
        pause = (pause * 2).min(CROWD_PAUSE_MAX);
    }
}

/// The first pause of those that were turned away, and the longest one.
const CROWD_PAUSE_FIRST: Duration = Duration::from_millis(250);
const CROWD_PAUSE_MAX: Duration = Duration::from_secs(4);

/// Half of that pause to one and a half: those that were turned away together do not come back
/// together.
pub(super) fn spread(pause: Duration) -> Result<Duration, Fault> {
    Ok(pause.mul_f64(0.5 + f64::from(random::<1>()?[0]) / 255.0))
}

/// Whether it looks like too many at once: the connection was there and was closed, or another
/// pairing is under way.
pub(super) fn is_crowded(error: &Fault) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, UnexpectedEof};
    match error {
        // Who asks for the other end's address after that is told that there is none.
        Fault::ConnectionLost(error) => {
            matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected | UnexpectedEof)
        }
        Fault::Auth(AuthError::PairingBusy { wait_ms }) => *wait_ms <= CROWD_WAIT_MAX_MS,
        _ => false,
    }
}

/// Who has to wait longer has failed before, or others have: that is for a person to know.
const CROWD_WAIT_MAX_MS: u64 = 2_000;

async fn reach_once(
    shared: &Arc<Shared>,
    destination: &Destination,
    secret: Option<Arc<PairingSecret>>,
    has_tried_secret: &mut bool,
) -> Result<Reached, Fault> {
    let Found { channel, clock, address, addresses } = find(shared, destination, secret.is_none()).await?;
    let peer = channel.peer;
    let known = shared.store.by_id(peer)?;
    let place = Place::of(shared, destination, &address, &channel)?;
    // A receiver that announced itself was chosen as one that is not paired. If another program has
    // paired it since, it proves the code as well.
    if let (Some(known), Some(_), None) = (&known, destination.announced, &secret) {
        return Err(AuthError::PairingNeeded { peer_name: known.name.clone() }.into());
    }
    // Where a key is expected, or was announced, that one answers.
    let is_open = secret.is_none() && destination.device.is_none() && destination.announced.is_none();
    // A paired device at an address where no other one was reached is where it says: devices move.
    if let (Some(found), Some(other)) = (known.as_ref().filter(|_| is_open), &place.other) {
        let (last, last_id) = (other.name.clone(), other.id);
        return Err(AuthError::Unconfirmed { last, last_id, name: found.name.clone(), found: found.id }.into());
    }
    let is_proven_by_code = secret.is_some();
    // An address proves nothing about the device that answers there. A device that the target
    // fixes has shown its key: there only a code is proven that a person typed.
    let is_ignored = |secret: &PairingSecret| secret.is_standing() && !destination.is_to_pair;
    let always = destination.device.is_none() || !secret.as_deref().is_some_and(is_ignored);
    let pairing = match secret {
        None => None,
        Some(secret) => Some(Pairing {
            secret,
            binding: Binding::new(shared.identity.id().0, peer.0, *channel.export(EXPORTER_LABEL)?)
                .map_err(|_| AuthError::Ourselves)?,
            entropy: random::<ENTROPY_LEN>()?.into(),
            always,
        }),
    };
    let tickets = channel.ticket_key()?;
    let round_trip = ringway_sys::socket::tcp_path(&channel.stream.get_ref().0.io).ok().map(|path| path.rtt);
    let machine = Machine::dial(&shared.greeting()?, known.is_some(), pairing, clock.now_ms());
    let mut session = Session::new(machine, channel.stream, MessageReader::default(), clock);
    let mut name = None;
    let device = loop {
        let event = session.next().await;
        *has_tried_secret = session.machine.has_tried_secret();
        match event? {
            Some(Event::HelloReceived { peer_name, version, .. }) => {
                if version != ringway_wire::limits::VERSION {
                    return Err(Fault::Version { ours: ringway_wire::limits::VERSION, theirs: version });
                }
                name = Some(peer_name);
            }
            Some(Event::PairingNeeded) => {
                return Err(place.pairing_needed(known.as_ref(), peer, name.as_ref()).into());
            }
            Some(Event::Refused(Refusal::NotPaired)) => {
                return Err(place.pairing_needed(known.as_ref(), peer, name.as_ref()).into());
            }
            Some(Event::Refused(refusal)) => return Err(refused(refusal, name.as_ref())),
            Some(Event::Paired) => {
                shared.store.pin(peer, &text(name.as_ref()), &address.to_string())?;
            }
            Some(Event::Authenticated) => {
                // Notes for the next time. State that cannot be written keeps nobody from sending
                // to a device that is known.
                let _ = shared.store.saw(peer, Some(&address.to_string()));
                if let Some(at) = addresses.first() {
                    let _ = shared.store.answered(peer, &Address::from(*at), &address);
                }
                if destination.is_typed || is_proven_by_code && destination.device.is_none() {
                    let _ = shared.store.reached(peer, &place.keys);
                } else {
                    // It was dialled there and proved its key. Where another one was, a person has
                    // the say.
                    let _ = shared.store.reached_first(peer, &place.keys);
                }
                break shared.store.by_id(peer)?.ok_or(AuthError::NoCodeOpen)?;
            }
            Some(Event::Cancelled(_)) => return Err(Fault::cancelled(Side::There)),
            Some(_) | None => return Err(Fault::lost(std::io::ErrorKind::UnexpectedEof)),
        }
    };
    Ok(Reached { session, tickets, address, addresses, round_trip, device })
}

/// What this device knows of an address that it has dialled, from dialling it before.
struct Place {
    /// The address that was meant and the one that it led to, as they are compared.
    keys: Vec<String>,
    /// Another device that was there the last time.
    other: Option<Device>,
    is_typed: bool,
}

impl Place {
    fn of(shared: &Shared, destination: &Destination, address: &Address, channel: &Channel) -> Result<Self, Fault> {
        let dialled = channel.stream.get_ref().0.io.peer_addr().map_err(Fault::lost)?;
        let mut keys = vec![Address::from(dialled).key()];
        // A device may have been found elsewhere than where it was to be.
        let meant = destination.address.as_ref().filter(|meant| *meant == address).map(Address::key);
        keys.extend(meant.filter(|meant| *meant != keys[0]));
        let mut other = None;
        for key in &keys {
            match shared.store.reached_at(key)? {
                Some(id) if id != channel.peer => other = other.or(shared.store.by_id(id)?),
                _ => {}
            }
        }
        Ok(Self { keys, other, is_typed: destination.is_typed })
    }

    /// What it is that a stranger answers where no code was given. The names that are known here
    /// change nothing: who answers could try them out.
    fn pairing_needed(&self, known: Option<&Device>, found: DeviceId, name: Option<&DeviceName>) -> AuthError {
        match &self.other {
            Some(other) if known.is_none() && self.is_typed => {
                AuthError::IdentityChanged { name: other.name.clone(), expected: other.id, found }
            }
            _ => AuthError::PairingNeeded { peer_name: text(name).into() },
        }
    }
}

impl Reached {
    /// Ends it without an offer: pairing was all that was wanted.
    pub(crate) async fn close(mut self) -> Device {
        self.session.machine.cancel(Cancel::ByPerson);
        self.session.close().await;
        self.device
    }
}

fn text(name: Option<&DeviceName>) -> String {
    name.map(|name| name.as_str().to_owned()).unwrap_or_default()
}

pub(crate) fn refused(refusal: Refusal, peer: Option<&DeviceName>) -> Fault {
    match refusal {
        Refusal::WrongCode => AuthError::WrongCode.into(),
        Refusal::NoCodeOpen => AuthError::NoCodeOpen.into(),
        Refusal::PairingBusy(wait_ms) => AuthError::PairingBusy { wait_ms: wait_ms.into() }.into(),
        Refusal::NotPaired => AuthError::PairingNeeded { peer_name: text(peer).into() }.into(),
        Refusal::Ourselves => AuthError::Ourselves.into(),
        Refusal::Version => Fault::Version { ours: ringway_wire::limits::VERSION, theirs: 0 },
    }
}
