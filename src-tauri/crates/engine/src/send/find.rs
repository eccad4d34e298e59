//! Where the device is that is to be reached: where it was last, else wherever on this network it
//! says to be and its key proves that it is.
use std::collections::HashSet;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use ringway_link::session::Clock;
use ringway_link::tls::{Channel, Expected};
use ringway_model::{AuthError, Device, Fault};
use ringway_wire::announcement::Fingerprint;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::devices::target::Address;
use crate::limits::{CONNECT_TIME_MAX, HANDSHAKE_TIME_MAX, NEARBY_TRIED_MAX, NEXT_ADDRESS_AFTER};
use crate::reach::connect::{self, Candidate, Destination, Won};
use crate::reach::discovery::{Nearby, Wanted};
use crate::shared::Shared;

/// A device that answers where it was last needs no looking for.
const HEAD_START: Duration = Duration::from_secs(1);

/// How long is listened for where else it is: mDNS asks at once and after a second (RFC 6762
/// section 5.2).
const LISTEN_TIME: Duration = Duration::from_secs(2);

/// A connection to the device that a destination means, as its key proves.
pub(super) struct Found {
    pub(super) channel: Channel,
    pub(super) clock: Clock,
    /// Where it is, as it was meant.
    pub(super) address: Address,
    /// The address that answered, and then the others that were known: where lanes are dialled.
    pub(super) addresses: Vec<SocketAddr>,
}

/// Connects to `destination`. A paired device that is not where it was is looked for on the local
/// network, unless this machine is to keep quiet there.
///
/// # Errors
/// What went wrong where it was last: what the network says is a hint, and one that leads nowhere
/// changes nothing. Where `is_open`, no code has to be proven: at an address that a person gave,
/// the device that was reached there last is expected.
pub(super) async fn find(shared: &Arc<Shared>, destination: &Destination, is_open: bool) -> Result<Found, Fault> {
    let found = find_anywhere(shared, destination, is_open).await;
    let device = destination.device.as_ref().map(|device| Fingerprint::of(&device.id.0)).or(destination.announced);
    if let (Err(Fault::Unreachable { .. }), Some(fingerprint)) = (&found, device) {
        shared.met_silence(fingerprint);
    }
    found
}

async fn find_anywhere(shared: &Arc<Shared>, destination: &Destination, is_open: bool) -> Result<Found, Fault> {
    let there = async {
        if destination.address.is_none() && destination.answered.is_empty() {
            return Err(Fault::UnknownTarget { target: (never_reached(destination.device.as_ref())).into() });
        }
        let met = connect::race(destination, |candidate| meet(shared, candidate, destination, is_open)).await?;
        Ok(Found::from(met))
    };
    let Some(device) = destination.device.as_ref().filter(|_| shared.settings().announce) else { return there.await };
    let mut there = pin!(there);
    let mut why = match timeout(HEAD_START, &mut there).await {
        Ok(Ok(found)) => return Ok(found),
        Ok(Err(error)) => Some(error),
        Err(_) => None,
    };
    let mut elsewhere = pin!(look_around(shared, device, destination));
    let mut is_elsewhere = true;
    loop {
        tokio::select! {
            met = &mut there, if why.is_none() => match met {
                Ok(found) => return Ok(found),
                Err(error) => why = Some(error),
            },
            found = &mut elsewhere, if is_elsewhere => match found {
                Some(found) => return Ok(found),
                None => is_elsewhere = false,
            },
        }
        if !is_elsewhere && let Some(error) = why {
            return Err(error);
        }
    }
}

fn never_reached(device: Option<&Device>) -> String {
    let name = device.map(|device| &*device.name).unwrap_or_default();
    format!("{name} (paired, but never reached: give an address)")
}

/// Connects to one address, where nobody but the destination's device may be, if it has one.
fn meet(
    shared: &Arc<Shared>,
    candidate: Candidate,
    destination: &Destination,
    is_open: bool,
) -> impl Future<Output = Result<(Channel, Clock), Fault>> + use<> {
    let shared = Arc::clone(shared);
    let (device, announced) = (destination.device.clone(), destination.announced);
    async move {
        let tcp = connect::connect(&candidate).await?;
        let is_device = device.is_some();
        let expected = match (device, announced) {
            (Some(Device { id, name, .. }), _) => Expected::Device { id, name: name.0 },
            (None, Some(fingerprint)) => Expected::Announced(fingerprint),
            (None, None) if is_open => match last_reached(&shared, &candidate)? {
                Some(Device { id, name, .. }) => Expected::Device { id, name: name.0 },
                None => Expected::Anyone,
            },
            (None, None) => Expected::Anyone,
        };
        let (channel, clock) = handshake(&shared, tcp, expected).await.map_err(|error| match error {
            Fault::Auth(AuthError::IdentityChanged { found, .. } | AuthError::OtherAnswered { found, .. })
                if found == shared.identity.id() =>
            {
                AuthError::Ourselves.into()
            }
            Fault::Auth(error @ AuthError::IdentityChanged { .. }) if !is_device => asked_about(&shared, error),
            error => error,
        })?;
        if channel.peer == shared.identity.id() {
            return Err(AuthError::Ourselves.into());
        }
        Ok((channel, clock))
    }
}

impl From<Won<(Channel, Clock)>> for Found {
    fn from(Won { value: (channel, clock), candidate, others }: Won<(Channel, Clock)>) -> Self {
        let addresses = std::iter::once(candidate.at).chain(others).collect();
        Self { channel, clock, address: candidate.meant, addresses }
    }
}

/// The device that was reached there last, by the address that was dialled or the one that led to
/// it.
fn last_reached(shared: &Shared, candidate: &Candidate) -> Result<Option<Device>, Fault> {
    for key in [Address::from(candidate.at).key(), candidate.meant.key()] {
        if let Some(id) = shared.store.reached_at(&key)? {
            return shared.store.by_id(id);
        }
    }
    Ok(None)
}

/// What it is that another device answers where one was reached: a person may mean it, if it is
/// paired.
fn asked_about(shared: &Shared, error: AuthError) -> Fault {
    match error {
        AuthError::IdentityChanged { name: last, expected, found } => match shared.store.by_id(found) {
            Ok(Some(Device { name, .. })) => AuthError::Unconfirmed { last, last_id: expected, name, found }.into(),
            Ok(None) => AuthError::IdentityChanged { name: last, expected, found }.into(),
            Err(error) => error,
        },
        error => error.into(),
    }
}

/// Who is not expected there does not see who calls.
async fn handshake(shared: &Shared, tcp: TcpStream, expected: Expected) -> Result<(Channel, Clock), Fault> {
    let channel = timeout(HANDSHAKE_TIME_MAX, shared.tls.connect(tcp, expected))
        .await
        .map_err(|_| Fault::ConnectionLost(std::io::ErrorKind::TimedOut.into()))??;
    Ok((channel, Clock::start()))
}

/// Connects to the first of these addresses where the device with that key answers.
pub(super) async fn dial_any(
    shared: &Arc<Shared>,
    addresses: &[SocketAddr],
    expected: Expected,
) -> Result<Channel, Fault> {
    let known = addresses.iter().map(|at| (*at).into()).collect();
    let won = connect::race_of(known, |candidate| {
        let (shared, expected) = (Arc::clone(shared), expected.clone());
        async move { handshake(&shared, connect::connect(&candidate).await?, expected).await }
    });
    Ok(won.await?.value.0)
}

/// Tries the addresses that are announced for `device`, a little apart. Another device that answers
/// there is skipped.
async fn look_around(shared: &Arc<Shared>, device: &Device, destination: &Destination) -> Option<Found> {
    let mut nearby = Nearby::start(Arc::clone(shared), Wanted::Device(Fingerprint::of(&device.id.0))).ok()?;
    let listen_until = Instant::now() + LISTEN_TIME;
    let mut give_up = Instant::now() + LISTEN_TIME;
    let mut tried = HashSet::new();
    let mut tries = JoinSet::new();
    loop {
        tokio::select! {
            () = sleep_until(give_up) => return None,
            heard = nearby.changed(), if Instant::now() < listen_until => {
                if !heard {
                    return None;
                }
                for address in nearby.devices().into_iter().flat_map(|found| found.device.addresses) {
                    if tried.len() < NEARBY_TRIED_MAX && tried.insert(address) {
                        let (shared, destination) = (Arc::clone(shared), destination.clone());
                        let after = NEXT_ADDRESS_AFTER * tries.len() as u32;
                        give_up = Instant::now() + after + CONNECT_TIME_MAX;
                        tries.spawn(async move {
                            sleep(after).await;
                            let met = meet(&shared, address.into(), &destination, false).await;
                            met.map(|value| Won { value, candidate: address.into(), others: Vec::new() })
                        });
                    }
                }
            }
            Some(met) = tries.join_next() => {
                if let Ok(Ok(found)) = met {
                    return Some(found.into());
                }
                if tries.is_empty() {
                    give_up = listen_until;
                }
            }
        }
    }
}
