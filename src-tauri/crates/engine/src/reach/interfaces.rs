//! The machine's network interfaces: which of them lead to other machines, and where an address of
//! the link alone may be.
use std::fs;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::path::Path;

use if_addrs::{Interface, get_if_addrs};

/// Where the kernel describes its interfaces (sysfs(5)).
const INTERFACES: &str = "/sys/class/net";

/// Addresses of the interfaces that are up, each with its interface's name, but for those of the
/// loopback.
fn up() -> impl Iterator<Item = Interface> {
    // What is on a cable that is not plugged in leads nowhere.
    get_if_addrs().unwrap_or_default().into_iter().filter(|one| one.is_oper_up() && !one.is_loopback())
}

/// Addresses at which other machines reach this one, those of the link alone included.
pub(crate) fn addresses() -> Vec<IpAddr> {
    let mut found: Vec<IpAddr> = Vec::new();
    for one in up().filter(|one| !is_for_guests(Path::new(INTERFACES), &one.name)) {
        let ip = one.ip();
        if !ip.is_unspecified() && !found.contains(&ip) {
            found.push(ip);
        }
    }
    found
}

/// The addresses to dial for an address of the link that was given without its interface: there is
/// one on each link.
pub(crate) fn on_each_link(ip: Ipv6Addr, port: u16) -> Vec<SocketAddr> {
    let mut found: Vec<SocketAddr> = Vec::new();
    for one in up().filter(|one| is_link_local(&one.ip())) {
        let at = one.index.map(|index| SocketAddrV6::new(ip, port, 0, index).into());
        found.extend(at.filter(|at| one.ip().is_ipv6() && !found.contains(at)));
    }
    found
}

/// Whether an address is valid on one link only.
pub(crate) fn is_link_local(ip: &IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    }
}

/// Whether an interface is a bridge that joins containers and virtual machines of this host alone,
/// as docker0 and virbr0 do: other machines do not reach its address. A bridge with a network card
/// among its ports is a way in.
fn is_for_guests(interfaces: &Path, name: &str) -> bool {
    let Ok(ports) = fs::read_dir(interfaces.join(name).join("brif")) else { return false };
    ports.flatten().all(|port| is_of_a_guest(&interfaces.join(port.file_name())))
}

/// Whether a bridge's port is the cable of a container or virtual machine: neither a device nor, as
/// a VLAN or bond is, on top of one.
fn is_of_a_guest(port: &Path) -> bool {
    let is_lower = |entry: fs::DirEntry| entry.file_name().as_encoded_bytes().starts_with(b"lower_");
    !port.join("device").exists() && !fs::read_dir(port).is_ok_and(|entries| entries.flatten().any(is_lower))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bridge_of_containers_is_told_from_one_with_a_network_card() {
        let root = tempfile::tempdir().unwrap();
        let make = |path: &str| fs::create_dir_all(root.path().join(path)).unwrap();
        for path in [
            "docker0/brif",
            "virbr0/brif/vnet0",
            "vnet0",
            "br0/brif/vnet1",
            "br0/brif/eth0",
            "vnet1",
            "eth0/device",
            "br1/brif/eth1.5",
            "eth1.5/lower_eth1",
            "wlan0/device",
        ] {
            make(path);
        }
        let names = ["docker0", "virbr0", "br0", "br1", "wlan0", "gone"];
        let found = names.map(|name| is_for_guests(root.path(), name));
        assert_eq!(found, [true, true, false, false, false, false]);
    }
}
