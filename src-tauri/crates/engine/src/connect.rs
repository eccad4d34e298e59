//! From what a person typed to a TCP connection: paired names, addresses, and which key to expect there.
use std::io;
use std::net::SocketAddr;

use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::device::Device;
use crate::error::Error;
use crate::limits::CONNECT_TIME_MAX;
use crate::store::Store;

/// Where to go, and whom to find there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Destination {
    /// As `host:port`, for messages and for the store; none of a paired device that was never reached.
    pub(crate) address: Option<String>,
    /// The device that must answer, if the target named one.
    pub(crate) device: Option<Device>,
}

/// A paired device by name, id or its beginning, else an address with or without a port.
pub(crate) fn resolve(store: &Store, target: &str, default_port: u16) -> Result<Destination, Error> {
    if let Some(device) = find_device(store, target)? {
        return Ok(Destination { address: device.last_address.clone(), device: Some(device) });
    }
    let address = with_port(target, default_port).ok_or_else(|| Error::UnknownTarget(target.to_owned()))?;
    Ok(Destination { address: Some(address), device: None })
}

/// A paired device by its name, its id, or 8 and more digits of its beginning, dashes or not.
pub(crate) fn find_device(store: &Store, text: &str) -> Result<Option<Device>, Error> {
    if let Some(device) = store.by_name(text)? {
        return Ok(Some(device));
    }
    let digits: String = text.chars().filter(|c| *c != '-').collect::<String>().to_ascii_lowercase();
    if digits.len() < 8 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(None);
    }
    let mut matching = store.devices()?.into_iter().filter(|device| device.id.to_string().starts_with(&digits));
    Ok(matching.next().filter(|_| matching.next().is_none()))
}

/// `host`, `host:port`, `1.2.3.4`, `::1`, `[::1]`, `[::1]:port`; nothing that could not be one.
fn with_port(target: &str, default_port: u16) -> Option<String> {
    let bad = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '/' | '@' | '?' | '#' | '\\');
    if target.is_empty() || target.contains(bad) {
        return None;
    }
    if let Ok(address) = target.parse::<SocketAddr>() {
        return Some(address.to_string());
    }
    if let Ok(ip) = target.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>() {
        return Some(SocketAddr::new(ip, default_port).to_string());
    }
    match target.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() && !host.contains(':') => {
            port.parse::<u16>().ok().filter(|port| *port > 0).map(|port| format!("{host}:{port}"))
        }
        Some(_) => None,
        None => Some(format!("{target}:{default_port}")),
    }
}

/// Connects to the first of the host's addresses that answers.
pub(crate) async fn connect(address: &str) -> Result<TcpStream, Error> {
    let unreachable = |source| Error::Unreachable { target: address.to_owned(), source };
    let mut last = io::Error::new(io::ErrorKind::NotFound, "no such host");
    for one in tokio::net::lookup_host(address).await.map_err(unreachable)? {
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
    fn reads_addresses_in_every_usual_form() {
        for (typed, meant) in [
            ("nas", "nas:17464"),
            ("nas.local:99", "nas.local:99"),
            ("10.0.0.1", "10.0.0.1:17464"),
            ("10.0.0.1:5", "10.0.0.1:5"),
            ("::1", "[::1]:17464"),
            ("[::1]", "[::1]:17464"),
            ("[fe80::1]:7", "[fe80::1]:7"),
        ] {
            assert_eq!(with_port(typed, 17464).as_deref(), Some(meant), "{typed}");
        }
        for bad in ["", "a b", "a:", "a:0", "a:70000", ":5", "a:b:c", "user@host", "a/b"] {
            assert_eq!(with_port(bad, 17464), None, "{bad}");
        }
    }

    #[test]
    fn a_paired_name_wins_over_an_address_and_brings_its_key() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let id = DeviceId([0xab; 32]);
        store.pin(id, "nas", "10.1.1.1:4").unwrap();
        let found = resolve(&store, "NAS", 17464).unwrap();
        assert_eq!((found.address.as_deref(), found.device.unwrap().id), (Some("10.1.1.1:4"), id));
        assert_eq!(resolve(&store, "abab-abab", 17464).unwrap().address.as_deref(), Some("10.1.1.1:4"));
        assert_eq!(resolve(&store, "nas.lan", 17464).unwrap().device, None);
    }
}
