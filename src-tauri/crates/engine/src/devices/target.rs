//! The target of a send: a key or an address, never text. The store reads one from what a
//! person typed.
use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};

use ringway_model::DeviceId;
use ringway_sys::resolve;
use ringway_wire::announcement::Fingerprint;
use ringway_wire::name::reads_as_id;

/// The target of a send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A paired device, wherever it is: only its key will do.
    Device(DeviceId),
    /// The device at an address that a person gave.
    Address(Address),
    /// The paired device that answered at an address, which a person was asked about.
    DeviceAt {
        /// Who it is: only its key will do.
        id: DeviceId,
        /// Where it answered.
        at: Address,
    },
    /// A receiver that announced itself: the device at that address, if its id begins as it was
    /// announced.
    Announced {
        /// Where it answers.
        at: SocketAddr,
        /// The beginning of its id.
        fingerprint: Fingerprint,
    },
}

/// An address to dial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A host's name, which is looked up, and a port.
    Host(String, u16),
    /// An address that is never looked up as a name.
    Socket(SocketAddr),
}

impl Address {
    /// Reads `host`, `host:port`, `1.2.3.4`, `::1`, `[::1]` or `[::1]:port`, an address of the link
    /// also with its interface, as in `fe80::1%eth0`; none for text that cannot be one of these. An
    /// id is none.
    pub fn parse(text: &str, default_port: u16) -> Option<Self> {
        let bad = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '/' | '@' | '?' | '#' | '\\');
        if text.is_empty() || text.contains(bad) || reads_as_id(text) {
            return None;
        }
        if text.contains('%') {
            let (address, port) = parse_zoned(text)?;
            let port = port.unwrap_or(default_port);
            return Some(Self::Socket(SocketAddrV6::new(*address.ip(), port, 0, address.scope_id()).into()));
        }
        if let Ok(address) = text.parse() {
            return Some(Self::Socket(address));
        }
        if let Ok(ip) = text.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
            return Some(Self::Socket(SocketAddr::new(ip, default_port)));
        }
        match text.rsplit_once(':') {
            Some((host, port)) if !host.is_empty() && !host.contains(':') => {
                port.parse().ok().filter(|port| *port > 0).map(|port| Self::Host(host.to_owned(), port))
            }
            Some(_) => None,
            None => Some(Self::Host(text.to_owned(), default_port)),
        }
    }

    /// The same text for every way to write this address: how it is compared with those that were
    /// dialled before.
    pub(crate) fn key(&self) -> String {
        match self {
            Self::Host(host, port) => format!("{}:{port}", host.trim_end_matches('.').to_lowercase()),
            Self::Socket(SocketAddr::V6(address)) => match address.ip().to_ipv4_mapped() {
                Some(ip) => SocketAddr::new(ip.into(), address.port()).to_string(),
                None => zoned(address),
            },
            Self::Socket(address) => address.to_string(),
        }
    }
}

/// Reads `fe80::1%eth0`, `fe80::1%2`, `[fe80::1%eth0]` or `[fe80::1%eth0]:port` (RFC 4007 section
/// 11): the address with its interface, and the port if one is there. None for an interface that
/// this machine does not have.
pub fn parse_zoned(text: &str) -> Option<(SocketAddrV6, Option<u16>)> {
    let (inside, port) = match text.strip_prefix('[') {
        None => (text, None),
        Some(rest) => {
            let (inside, port) = rest.split_once(']')?;
            let port = match port {
                "" => None,
                port => Some(port.strip_prefix(':')?.parse().ok()?),
            };
            (inside, port)
        }
    };
    let (ip, zone) = inside.split_once('%')?;
    let ip: Ipv6Addr = ip.parse().ok()?;
    let is_number = zone.bytes().all(|byte| byte.is_ascii_digit());
    let index = if is_number { zone.parse().ok()? } else { resolve::interface_index(zone)? };
    let is_usable = ip.is_unicast_link_local() && index > 0;
    is_usable.then(|| (SocketAddrV6::new(ip, port.unwrap_or_default(), 0, index), port))
}

/// An address with its interface's name: numbers change from boot to boot. What a flow is called
/// does not count.
fn zoned(address: &SocketAddrV6) -> String {
    match address.scope_id() {
        0 => SocketAddrV6::new(*address.ip(), address.port(), 0, 0).to_string(),
        index => {
            let zone = resolve::interface_name(index).unwrap_or_else(|| index.to_string());
            format!("[{}%{zone}]:{}", address.ip(), address.port())
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(host, port) => write!(f, "{host}:{port}"),
            Self::Socket(SocketAddr::V6(address)) => f.write_str(&zoned(address)),
            Self::Socket(address) => address.fmt(f),
        }
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        Self::Socket(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("fe80::1%lo", "[fe80::1%lo]:17464"),
            ("[fe80::1%lo]", "[fe80::1%lo]:17464"),
            ("[fe80::1%lo]:7", "[fe80::1%lo]:7"),
            ("fe80::1%1", "[fe80::1%lo]:17464"),
            ("[fe80::1%4000000000]:7", "[fe80::1%4000000000]:7"),
        ] {
            let read = Address::parse(typed, 17464).unwrap();
            assert_eq!(read.to_string(), meant, "{typed}");
            assert_eq!(Address::parse(meant, 1), Some(read), "{meant} is read as what was written");
        }
        for bad in ["", "a b", "a:", "a:0", "a:70000", ":5", "a:b:c", "user@host", "a/b", "abab-abab"] {
            assert_eq!(Address::parse(bad, 17464), None, "{bad}");
        }
        for bad in [
            "fe80::1%",
            "fe80::1%no-such-one",
            "fe80::1%0",
            "fd00::1%lo",
            "nas%lo",
            "[fe80::1%lo",
            "[fe80::1%lo]:",
            "[fe80::1%lo]7",
        ] {
            assert_eq!(Address::parse(bad, 17464), None, "{bad}");
        }
    }

    #[test]
    fn an_address_is_compared_however_it_is_written() {
        for (typed, key) in [
            ("LocalHost", "localhost:17464"),
            ("nas.lan.:5", "nas.lan:5"),
            ("10.0.0.1", "10.0.0.1:17464"),
            ("[::ffff:10.0.0.1]:5", "10.0.0.1:5"),
            ("FD00:0::1", "[fd00::1]:17464"),
            ("[fe80::1%1]:7", "[fe80::1%lo]:7"),
            ("[fe80::1%4000000000]:7", "[fe80::1%4000000000]:7"),
        ] {
            assert_eq!(Address::parse(typed, 17464).unwrap().key(), key, "{typed}");
        }
    }

    #[test]
    fn only_host_names_are_looked_up() {
        assert!(matches!(Address::parse("10.0.0.1:5", 1), Some(Address::Socket(_))));
        assert!(matches!(Address::parse("[fe80::1%3]:7", 1), Some(Address::Socket(_))));
        assert!(matches!(Address::parse("nas", 1), Some(Address::Host(..))));
    }
}
