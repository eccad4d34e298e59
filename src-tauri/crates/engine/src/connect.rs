//! From a target to a TCP connection: where a device was last, and which key to expect there.
use std::io;
use std::net::SocketAddr;

use ringway_wire::announcement::Fingerprint;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::device::Device;
use crate::error::{Error, Invalid};
use crate::limits::{CONNECT_TIME_MAX, DEFAULT_PORT};
use crate::store::Store;
use crate::target::{Address, Target};

/// Where to go, and whom to find there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Destination {
    /// None of a paired device that was never reached.
    pub(crate) address: Option<Address>,
    /// The device that must answer, where the target names one.
    pub(crate) device: Option<Device>,
    /// The announced beginning of the answering device's id; none where nothing was announced.
    pub(crate) announced: Option<Fingerprint>,
    /// A person gave the address. What is known of a device's address otherwise may be of its own making.
    pub(crate) is_typed: bool,
    /// Pairing is all that is wanted: whoever answers proves the secret, and be it the device that is meant.
    pub(crate) is_to_pair: bool,
}

impl Destination {
    /// Of a target, as the store knows it now. A device that was forgotten is no target.
    pub(crate) fn of(store: &Store, target: &Target) -> Result<Self, Error> {
        match target {
            Target::Device(id) => {
                let device = store.by_id(*id)?.ok_or(Error::Invalid(Invalid::UnknownDevice))?;
                let address = device.last_address.as_deref();
                let address = address.and_then(|address| Address::parse(address, DEFAULT_PORT));
                Ok(Self { address, device: Some(device), announced: None, is_typed: false, is_to_pair: false })
            }
            Target::DeviceAt { id, at } => {
                Ok(Self { address: Some(at.clone()), is_typed: true, ..Self::of(store, &Target::Device(*id))? })
            }
            Target::Address(address) => {
                let address = Some(address.clone());
                Ok(Self { address, device: None, announced: None, is_typed: true, is_to_pair: false })
            }
            Target::Announced { at, fingerprint } => {
                let (address, announced) = (Some((*at).into()), Some(*fingerprint));
                Ok(Self { address, device: None, announced, is_typed: false, is_to_pair: false })
            }
        }
    }
}

/// Connects; to the first of a host's addresses that answers.
pub(crate) async fn connect(address: &Address) -> Result<TcpStream, Error> {
    let unreachable = |source| Error::Unreachable { target: address.to_string(), source };
    let all: Vec<SocketAddr> = match address {
        Address::Socket(address) => vec![*address],
        Address::Host(host, port) => {
            tokio::net::lookup_host((host.as_str(), *port)).await.map_err(unreachable)?.collect()
        }
    };
    let mut last = io::Error::new(io::ErrorKind::NotFound, "no such host");
    for one in all {
        match timeout(CONNECT_TIME_MAX, TcpStream::connect(one)).await {
            Ok(Ok(tcp)) => {
                tcp.set_nodelay(true).map_err(unreachable)?;
                return Ok(tcp);
            }
            Ok(Err(error)) => last = error,
            Err(_) => last = io::ErrorKind::TimedOut.into(),
        }
    }
    Err(unreachable(last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::DeviceId;

    #[test]
    fn a_device_brings_its_address_and_its_key() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let id = DeviceId([0xab; 32]);
        store.pin(id, "nas", "10.1.1.1:4").unwrap();
        let found = Destination::of(&store, &Target::Device(id)).unwrap();
        assert_eq!(found.address, Address::parse("10.1.1.1:4", 0));
        assert_eq!(found.device.unwrap().id, id);
        store.forget(id).unwrap();
        assert!(matches!(Destination::of(&store, &Target::Device(id)), Err(Error::Invalid(Invalid::UnknownDevice))));
    }
}
