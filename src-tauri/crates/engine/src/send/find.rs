//! Where the device is that is to be reached: where it was last, else wherever on this network it says to be and its key proves that it is.
use std::collections::HashSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use ringway_wire::announcement::Fingerprint;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::Inner;
use crate::connect::{self, Destination};
use crate::device::Device;
use crate::discovery::{NEXT_ADDRESS_AFTER, Nearby, Wanted};
use crate::error::{AuthError, Error};
use crate::limits::{CONNECT_TIME_MAX, HANDSHAKE_TIME_MAX, NEARBY_TRIED_MAX};
use crate::session::Clock;
use crate::target::Address;
use crate::tls::{Channel, Expected};

/// A device that answers where it was last needs no looking for.
const HEAD_START: Duration = Duration::from_secs(1);

/// How long is listened for where else it is: mDNS asks at once and after a second (RFC 6762 section 5.2).
const LISTEN_TIME: Duration = Duration::from_secs(2);

/// A connection to whom a destination means, as its key proves.
pub(super) struct Found {
    pub(super) channel: Channel,
    pub(super) clock: Clock,
    /// Where it is.
    pub(super) address: Address,
}

/// Connects to `destination`. A paired device that is not where it was is looked for on the local network, unless this machine is to keep quiet there.
///
/// # Errors
/// What went wrong where it was last: what the network says is a hint, and one that leads nowhere changes nothing.
/// Where `is_open`, nobody has to prove a code: at an address that a person gave, whoever was reached there last is expected.
pub(super) async fn find(inner: &Arc<Inner>, destination: &Destination, is_open: bool) -> Result<Found, Error> {
    let there = async {
        match &destination.address {
            Some(address) => meet(inner, address.clone(), destination, is_open).await,
            None => Err(Error::UnknownTarget(never_reached(destination.device.as_ref()))),
        }
    };
    let Some(device) = destination.device.as_ref().filter(|_| inner.settings().announce) else { return there.await };
    let mut there = pin!(there);
    let mut why = match timeout(HEAD_START, &mut there).await {
        Ok(Ok(found)) => return Ok(found),
        Ok(Err(error)) => Some(error),
        Err(_) => None,
    };
    let mut elsewhere = pin!(look_around(inner, device, destination));
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
    let name = device.map(|device| device.name.as_str()).unwrap_or_default();
    format!("{name} (paired, but never reached: give an address)")
}

/// Connects to one address, where nobody but the destination's device may be, if it has one.
async fn meet(inner: &Inner, address: Address, destination: &Destination, is_open: bool) -> Result<Found, Error> {
    let tcp = connect::connect(&address).await?;
    let expected = match (&destination.device, destination.announced) {
        (Some(Device { id, name, .. }), _) => Expected::Device { id: *id, name: name.clone() },
        (None, Some(fingerprint)) => Expected::Announced(fingerprint),
        (None, None) if is_open => match last_reached(inner, &tcp, &address)? {
            Some(Device { id, name, .. }) => Expected::Device { id, name },
            None => Expected::Anyone,
        },
        (None, None) => Expected::Anyone,
    };
    let (channel, clock) = handshake(inner, tcp, expected).await.map_err(|error| match error {
        Error::Auth(AuthError::IdentityChanged { found, .. } | AuthError::OtherAnswered { found, .. })
            if found == inner.identity.id() =>
        {
            AuthError::Ourselves.into()
        }
        Error::Auth(error @ AuthError::IdentityChanged { .. }) if destination.device.is_none() => {
            asked_about(inner, error)
        }
        error => error,
    })?;
    if channel.peer == inner.identity.id() {
        return Err(AuthError::Ourselves.into());
    }
    Ok(Found { channel, clock, address })
}

/// Connects to one address. Who is not expected there does not see who calls.
pub(super) async fn dial(inner: &Inner, address: &Address, expected: Expected) -> Result<(Channel, Clock), Error> {
    handshake(inner, connect::connect(address).await?, expected).await
}

/// The device that was reached there last, by the address that was given or the one that it led to.
fn last_reached(inner: &Inner, tcp: &TcpStream, given: &Address) -> Result<Option<Device>, Error> {
    let dialled = tcp.peer_addr().map_err(Error::ConnectionLost)?;
    for key in [Address::from(dialled).key(), given.key()] {
        if let Some(id) = inner.store.reached_at(&key)? {
            return inner.store.by_id(id);
        }
    }
    Ok(None)
}

/// What it is that another device answers where one was reached: a person may mean it, if it is paired.
fn asked_about(inner: &Inner, error: AuthError) -> Error {
    match error {
        AuthError::IdentityChanged { name: last, expected, found } => match inner.store.by_id(found) {
            Ok(Some(Device { name, .. })) => AuthError::Unconfirmed { last, name, found }.into(),
            Ok(None) => AuthError::IdentityChanged { name: last, expected, found }.into(),
            Err(error) => error,
        },
        error => error.into(),
    }
}

async fn handshake(inner: &Inner, tcp: TcpStream, expected: Expected) -> Result<(Channel, Clock), Error> {
    let channel = timeout(HANDSHAKE_TIME_MAX, inner.tls.connect(tcp, expected))
        .await
        .map_err(|_| Error::ConnectionLost(std::io::ErrorKind::TimedOut.into()))??;
    Ok((channel, Clock::start()))
}

/// Tries the addresses that are announced for `device`, a little apart: whoever else is there is passed over.
async fn look_around(inner: &Arc<Inner>, device: &Device, destination: &Destination) -> Option<Found> {
    let mut nearby = Nearby::start(Arc::clone(inner), Wanted::Device(Fingerprint::of(&device.id.0))).ok()?;
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
                for address in nearby.devices().into_iter().flat_map(|device| device.addresses) {
                    if tried.len() < NEARBY_TRIED_MAX && tried.insert(address) {
                        let (inner, destination) = (Arc::clone(inner), destination.clone());
                        let after = NEXT_ADDRESS_AFTER * tries.len() as u32;
                        give_up = Instant::now() + after + CONNECT_TIME_MAX;
                        tries.spawn(async move {
                            sleep(after).await;
                            meet(&inner, address.into(), &destination, false).await
                        });
                    }
                }
            }
            Some(met) = tries.join_next() => {
                if let Ok(Ok(found)) = met {
                    return Some(found);
                }
                if tries.is_empty() {
                    give_up = listen_until;
                }
            }
        }
    }
}
