//! Announcements that were heard, within limits: who is there by now, whatever anybody on the
//! network makes up.
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use ringway_wire::announcement::{Announcement, Fingerprint};

use crate::limits::{NEARBY_ADDRESSES_MAX, NEARBY_MAX};

/// A service's name on the network, and what it says.
#[derive(Default)]
pub(super) struct Heard(HashMap<String, (Announcement, Vec<SocketAddr>)>);

impl Heard {
    /// Takes in what was heard; whether that is news. One more than there may be is not, unless it
    /// `matters`: then one goes that does not.
    pub(super) fn appeared(
        &mut self,
        name: &str,
        said: Announcement,
        addresses: impl IntoIterator<Item = SocketAddr>,
        matters: impl Fn(&Announcement) -> bool,
    ) -> bool {
        let addresses = usable(addresses);
        if addresses.is_empty() {
            return self.vanished(name);
        }
        if self.0.len() >= NEARBY_MAX && !self.0.contains_key(name) {
            let replaced = self.0.iter().find(|(_, (other, _))| !matters(other)).map(|(name, _)| name.clone());
            match replaced.filter(|_| matters(&said)) {
                Some(replaced) => drop(self.0.remove(&replaced)),
                None => return false,
            }
        }
        let heard = (said, addresses);
        self.0.insert(name.to_owned(), heard.clone()) != Some(heard)
    }

    /// Forgets one; whether it was there.
    pub(super) fn vanished(&mut self, name: &str) -> bool {
        self.0.remove(name).is_some()
    }

    /// The services of a device.
    pub(super) fn services_of(&self, fingerprint: Fingerprint) -> impl Iterator<Item = &str> {
        let of_device = self.0.iter().filter(move |(_, (said, _))| said.fingerprint == fingerprint);
        of_device.map(|(name, _)| name.as_str())
    }

    /// All, by what they call themselves.
    pub(super) fn all(&self) -> Vec<(Announcement, Vec<SocketAddr>)> {
        let mut all: Vec<_> = self.0.iter().collect();
        all.sort_by(|(one, (a, _)), (other, (b, _))| (a.name.as_str(), one).cmp(&(b.name.as_str(), other)));
        all.into_iter().map(|(_, heard)| heard.clone()).collect()
    }
}

/// Addresses that one can dial, the likeliest first: IPv4, then IPv6, those of the link alone last.
fn usable(addresses: impl IntoIterator<Item = SocketAddr>) -> Vec<SocketAddr> {
    let is_no_place = |address: &SocketAddr| address.ip().is_unspecified() || address.ip().is_multicast();
    let lacks_interface = |address: &SocketAddr| match address {
        SocketAddr::V6(v6) => v6.ip().is_unicast_link_local() && v6.scope_id() == 0,
        SocketAddr::V4(_) => false,
    };
    let rank = |address: &SocketAddr| match address.ip() {
        IpAddr::V4(ip) => (u8::from(ip.is_link_local()), 0),
        IpAddr::V6(ip) => (u8::from(ip.is_unicast_link_local()), 1),
    };
    let mut usable: Vec<SocketAddr> = addresses
        .into_iter()
        .filter(|address| address.port() > 0 && !is_no_place(address) && !lacks_interface(address))
        .collect();
    usable.sort_by_key(|address| (rank(address), *address));
    usable.dedup();
    usable.truncate(NEARBY_ADDRESSES_MAX);
    usable
}

#[cfg(test)]
mod tests {
    use ringway_model::DeviceKind;
    use ringway_wire::DeviceName;

    use super::*;

    fn said(number: u16, code: Option<u16>) -> Announcement {
        let id = std::array::from_fn(|at| number.to_be_bytes()[at % 2]);
        Announcement::new(DeviceName::new(&format!("device {number}")).unwrap(), &id, DeviceKind::Other, code)
    }

    fn at(text: &str) -> Vec<SocketAddr> {
        text.split_whitespace().map(|one| one.parse().unwrap()).collect()
    }

    #[test]
    fn only_a_change_is_news() {
        let mut heard = Heard::default();
        let mut appear = |code, addresses: &str| heard.appeared("a", said(1, code), at(addresses), |_| false);
        assert!(appear(None, "10.0.0.1:1"));
        assert!(!appear(None, "10.0.0.1:1"));
        assert!(appear(Some(7), "10.0.0.1:1"));
        assert!(appear(Some(7), "10.0.0.2:1"));
        assert!(appear(Some(7), ""), "one that is nowhere is gone");
        assert!(!heard.vanished("a"));
    }

    #[test]
    fn a_thousand_made_up_devices_take_so_many_places_and_keep_nobody_out_who_matters() {
        let mut heard = Heard::default();
        let matters = |said: &Announcement| said.code == Some(42);
        for number in 0..1_000 {
            heard.appeared(&number.to_string(), said(number, None), at("10.0.0.1:1"), matters);
        }
        assert_eq!(heard.all().len(), NEARBY_MAX);
        assert!(heard.appeared("the one", said(5_000, Some(42)), at("10.0.0.9:1"), matters));
        assert!(heard.all().iter().any(|(said, _)| said.code == Some(42)));
        assert_eq!(heard.all().len(), NEARBY_MAX);
    }

    #[test]
    fn addresses_that_nobody_can_dial_are_left_out_and_the_likeliest_come_first() {
        let mixed = "[fe80::1]:5 [fe80::2%3]:5 0.0.0.0:5 224.0.0.1:5 [2001:db8::1]:5 169.254.1.1:5 10.0.0.1:5 10.0.0.1:0 10.0.0.1:5 [ff02::1]:5";
        assert_eq!(usable(at(mixed)), at("10.0.0.1:5 [2001:db8::1]:5 169.254.1.1:5 [fe80::2%3]:5"));
        let many = (1..=100).map(|last| SocketAddr::from(([10, 0, 0, last], 5)));
        assert_eq!(usable(many).len(), NEARBY_ADDRESSES_MAX);
    }
}
