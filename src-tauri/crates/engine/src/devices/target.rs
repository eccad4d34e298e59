//! To whom something is sent: read once from what a person typed or chose, and from then on a key
//! or an address, never text.
use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};

use ringway_model::{AuthError, DeviceId, Fault, Invalid};
use ringway_sys::resolve;
use ringway_wire::announcement::Fingerprint;
use ringway_wire::name::{hex_digits, reads_as_address, reads_as_id};

use crate::devices::device::Device;
use crate::limits::DEFAULT_PORT;
use crate::store::Store;
use crate::store::history::Past;

/// To whom something is sent.
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

impl Target {
    /// Reads what a person typed. An id, or its beginning, is a device's and nothing else; text
    /// with a colon or a dot is an address and nothing else; other text is a device's name or else
    /// a host's. Where it is both, and another device was reached at the host, it is neither.
    pub(crate) fn resolve(store: &Store, typed: &str) -> Result<Self, Fault> {
        if let Some(device) = find_device(store, typed)? {
            // Its name may be of its own choice, and the person may mean the host.
            let host = Address::parse(typed, DEFAULT_PORT).map(|address| store.reached_at(&address.key()));
            let is_anothers = host.transpose()?.flatten().is_some_and(|reached| reached != device.id);
            return match is_anothers {
                true => Err(Fault::Invalid(Invalid::AmbiguousName { name: typed.to_owned().into() })),
                false => Ok(Self::Device(device.id)),
            };
        }
        let address = Address::parse(typed, DEFAULT_PORT)
            .ok_or_else(|| Fault::UnknownTarget { target: typed.to_owned().into() })?;
        Ok(Self::Address(address))
    }

    /// What to call it: a device's name here, or an address.
    pub(crate) fn label(&self, store: &Store) -> String {
        match self {
            // A store that cannot be read just now is said by what needs it.
            Self::Device(id) | Self::DeviceAt { id, .. } => {
                store.by_id(*id).ok().flatten().map_or_else(|| id.short(), |device| device.name)
            }
            Self::Address(address) => address.to_string(),
            Self::Announced { at, .. } => Address::from(*at).to_string(),
        }
    }
}

/// To whom a past transfer went: the device that it reached or was to reach, else the address;
/// there only the receiver that was announced, if one was.
pub(crate) fn of_past(store: &Store, past: &Past) -> Result<Target, Fault> {
    let called = || past.target.clone().unwrap_or_default();
    let device = match (&past.peer, past.target_device) {
        (Some((id, name)), _) => Some((*id, name.clone())),
        (None, Some(id)) => Some((id, called())),
        (None, None) => None,
    };
    let Some((id, name)) = device else {
        let address = past.target.as_deref().and_then(|address| Address::parse(address, DEFAULT_PORT));
        let target = match (&past.target_announced, address) {
            (None, address) => address.map(Target::Address),
            (Some(digits), Some(Address::Socket(at))) => announced_again(store, digits, at)?,
            (Some(_), _) => None,
        };
        return target.ok_or_else(|| Fault::UnknownTarget { target: called().into() });
    };
    if store.by_id(id)?.is_some() {
        return Ok(Target::Device(id));
    }
    let now = store.by_name(&name)?.map(|device| device.id);
    Err(AuthError::Forgotten { name: name.into(), id, now }.into())
}

/// A receiver that had announced itself and proved nothing: whoever else is at its address now was
/// not meant. Nor was a paired device that only announced what was looked for; it is one that was
/// reached there with the code.
fn announced_again(store: &Store, digits: &str, at: SocketAddr) -> Result<Option<Target>, Fault> {
    let Ok(fingerprint) = Fingerprint::parse(digits) else { return Ok(None) };
    let paired = store.devices()?.into_iter().find(|device| Fingerprint::of(&device.id.0) == fingerprint);
    let proven = store.reached_at(&Address::Socket(at).key())?;
    let is_meant = paired.is_none_or(|paired| proven == Some(paired.id));
    Ok(is_meant.then_some(Target::Announced { at, fingerprint }))
}

/// A paired device by its id, by 8 or more digits of the id's beginning, with or without dashes, or
/// by its name.
pub(crate) fn find_device(store: &Store, typed: &str) -> Result<Option<Device>, Fault> {
    if reads_as_address(typed) {
        return Ok(None);
    }
    let Some(digits) = hex_digits(typed) else { return store.by_name(typed) };
    let mut matching: Vec<_> = store.devices()?;
    matching.retain(|device| device.id.to_string().starts_with(&digits));
    match matching.len() {
        0 | 1 => Ok(matching.pop()),
        _ => Err(Fault::Invalid(Invalid::AmbiguousId)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAS: DeviceId = DeviceId([0xab; 32]);

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        store.pin(NAS, "nas", "10.1.1.1:4").unwrap();
        (folder, store)
    }

    fn address(text: &str) -> Target {
        Target::Address(Address::parse(text, DEFAULT_PORT).unwrap())
    }

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

    #[test]
    fn a_name_is_a_device_before_it_is_a_host() {
        let (_folder, store) = store();
        assert_eq!(Target::resolve(&store, "NAS").unwrap(), Target::Device(NAS));
        assert_eq!(Target::resolve(&store, "nas.lan").unwrap(), address("nas.lan"));
        assert_eq!(Target::resolve(&store, "other").unwrap(), address("other"));
    }

    #[test]
    fn an_id_is_never_another_devices_name() {
        let (_folder, store) = store();
        // A store that was written to by other means than ours.
        let id = NAS.to_string();
        for (number, name) in [&id[..], &NAS.short(), &id[..8], "abababac"].into_iter().enumerate() {
            store.pin_unchecked(DeviceId([number as u8; 32]), name);
        }
        for typed in [&id[..], &NAS.short(), &id[..8], &id.to_uppercase()] {
            assert_eq!(Target::resolve(&store, typed).unwrap(), Target::Device(NAS), "{typed}");
        }
        let unknown = Target::resolve(&store, "abababac").unwrap_err();
        assert!(
            matches!(unknown, Fault::UnknownTarget { .. }),
            "an id that nobody has is not a host either: {unknown:?}"
        );
    }

    #[test]
    fn an_address_is_never_a_devices_name() {
        let (_folder, store) = store();
        for (number, name) in ["10.0.0.9:17464", "::1", "nas.lan"].into_iter().enumerate() {
            store.pin_unchecked(DeviceId([number as u8; 32]), name);
            assert_eq!(Target::resolve(&store, name).unwrap(), address(name));
        }
    }

    #[test]
    fn the_name_of_a_host_that_is_another_device_leads_to_neither() {
        let (_folder, store) = store();
        let (lab, late) = (DeviceId([1; 32]), DeviceId([2; 32]));
        store.pin(lab, "lab-machine", "").unwrap();
        store.reached(lab, &[Address::parse("fileserver", DEFAULT_PORT).unwrap().key()]).unwrap();
        // Who pairs later does not get that name, whatever it calls itself. A person may give it.
        for name in ["fileserver", "FileServer", "localhost"] {
            store.forget(late).unwrap();
            assert_eq!(store.pin(late, name, "").unwrap().name, format!("{name} (2)"));
        }
        assert_eq!(Target::resolve(&store, "fileserver").unwrap(), address("fileserver"));
        store.rename(late, "fileserver").unwrap();
        let refused = Target::resolve(&store, "FILESERVER").unwrap_err();
        assert!(matches!(refused, Fault::Invalid(Invalid::AmbiguousName { .. })), "{refused:?}");
        assert_eq!(Target::resolve(&store, "fileserver:17464").unwrap(), address("fileserver"));
        assert_eq!(Target::resolve(&store, &late.to_string()).unwrap(), Target::Device(late));
        // Its own host is no other.
        store.pin(NAS, "nas", "").unwrap();
        store.reached(NAS, &[Address::parse("nas", DEFAULT_PORT).unwrap().key()]).unwrap();
        assert_eq!(Target::resolve(&store, "nas").unwrap(), Target::Device(NAS));
    }

    #[test]
    fn a_beginning_that_several_ids_share_is_refused() {
        let (_folder, store) = store();
        let mut other = NAS;
        other.0[31] = 0;
        store.pin(other, "nearly nas", "").unwrap();
        let refused = Target::resolve(&store, "abababab").unwrap_err();
        assert!(matches!(refused, Fault::Invalid(Invalid::AmbiguousId)), "{refused:?}");
        assert_eq!(Target::resolve(&store, &NAS.to_string()).unwrap(), Target::Device(NAS));
    }
}
