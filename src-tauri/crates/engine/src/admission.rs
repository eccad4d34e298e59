//! Places for connections that have not shown yet what they are: how many there may be, in all and
//! from one origin, and who goes when another comes.
use parking_lot::{Mutex, MutexGuard};
use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use tokio::sync::oneshot;

use crate::descriptors::ForReceiving;
use crate::limits::{KNOWN_ADDRESSES_MAX, UNAUTHENTICATED_FROM_ONE_MAX};
use ringway_model::DeviceId;

/// Bits of an IPv6 address that its holder does not choose: a network has 2^64 addresses to come
/// from (RFC 4291 section 2.5.1).
const IPV6_NETWORK_BITS: u32 = 64;

/// Who shares what may be had by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    /// An IPv4 address, or the network of an IPv6 one: its first 64 bits.
    Address(IpAddr),
    /// A device that is known, which it has proved by its key.
    Device(DeviceId),
}

impl Origin {
    /// For what all share. No connection comes from there.
    pub(crate) const EVERYBODY: Self = Self::Address(IpAddr::V6(Ipv6Addr::UNSPECIFIED));

    /// Where a connection comes from, before it has shown more.
    pub(crate) fn of(address: IpAddr) -> Self {
        Self::Address(match address.to_canonical() {
            IpAddr::V6(address) => {
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> IPV6_NETWORK_BITS << IPV6_NETWORK_BITS))
            }
            address => address,
        })
    }
}

/// The connections of one listener that are nobody's yet. Whoever comes is let in; when there is no
/// room, who has stalled longest goes, and he goes from where most have come. So neither one
/// address nor many take all places, and who gets on with it is never the one who goes.
#[derive(Default)]
pub(crate) struct Lobby(Mutex<Guests>);

#[derive(Default)]
struct Guests {
    /// By where they come from, each the longest there first.
    here: HashMap<Origin, VecDeque<Guest>>,
    count: usize,
    /// The number of the next one.
    next: u64,
    /// Where known devices came from, the latest last: strangers from there go after all others.
    known: VecDeque<Origin>,
}

struct Guest {
    number: u64,
    leave: oneshot::Sender<()>,
}

/// A connection's place, until it is dropped.
pub(crate) struct Place {
    lobby: Arc<Lobby>,
    number: u64,
    origin: Mutex<Origin>,
}

impl Lobby {
    /// A place for a connection from `origin`, and what tells it to go. If others must go for it,
    /// they have been told.
    pub(crate) fn enter(self: &Arc<Self>, origin: Origin) -> (Place, oneshot::Receiver<()>) {
        let mut guests = self.guests();
        guests.make_room(origin);
        let number = guests.next;
        guests.next += 1;
        let (leave, left) = oneshot::channel();
        guests.seat(origin, Guest { number, leave });
        drop(guests);
        (Place { lobby: Arc::clone(self), number, origin: Mutex::new(origin) }, left)
    }

    /// Known devices came from there, once: it is as if one did now.
    pub(crate) fn knows(&self, origin: Origin) {
        self.guests().came_from(origin);
    }

    fn guests(&self) -> MutexGuard<'_, Guests> {
        self.0.lock()
    }
}

impl Place {
    /// Whether a known device came from where this connection comes from.
    pub(crate) fn is_where_known(&self) -> bool {
        self.lobby.guests().is_known(&self.origin.lock())
    }

    /// The connection has proved to be a known device's: it shares places with that device's others
    /// from now on, and with no stranger.
    pub(crate) fn recognise(&self, device: DeviceId) {
        let mut origin = self.origin.lock();
        let mut guests = self.lobby.guests();
        // One that has been told to go is gone.
        let Some(guest) = guests.unseat(*origin, self.number) else { return };
        guests.came_from(*origin);
        *origin = Origin::Device(device);
        guests.make_room(*origin);
        guests.seat(*origin, guest);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let origin = *self.origin.get_mut();
        self.lobby.guests().unseat(origin, self.number);
    }
}

impl Guests {
    fn seat(&mut self, origin: Origin, guest: Guest) {
        self.here.entry(origin).or_default().push_back(guest);
        self.count += 1;
    }

    fn unseat(&mut self, origin: Origin, number: u64) -> Option<Guest> {
        let group = self.here.get_mut(&origin)?;
        let at = group.iter().position(|guest| guest.number == number)?;
        let guest = group.remove(at);
        if group.is_empty() {
            self.here.remove(&origin);
        }
        self.count -= 1;
        guest
    }

    /// Sees to it that one more from `origin` fits.
    fn make_room(&mut self, origin: Origin) {
        let from_there = self.here.get(&origin).map_or(0, VecDeque::len);
        if from_there >= UNAUTHENTICATED_FROM_ONE_MAX {
            self.send_away(origin);
        } else if self.count >= ForReceiving::here().unauthenticated {
            let weight = |(origin, group): &(&Origin, &VecDeque<Guest>)| {
                (!self.is_known(origin), group.len(), Reverse(group.front().map_or(u64::MAX, |guest| guest.number)))
            };
            if let Some(origin) = self.here.iter().max_by_key(weight).map(|(origin, _)| *origin) {
                self.send_away(origin);
            }
        }
    }

    /// Tells the one who has been there longest to go.
    fn send_away(&mut self, origin: Origin) {
        let Some(number) = self.here.get(&origin).and_then(|group| group.front()).map(|guest| guest.number) else {
            return;
        };
        if let Some(guest) = self.unseat(origin, number) {
            // Its task may be ending by itself.
            let _ = guest.leave.send(());
        }
    }

    fn is_known(&self, origin: &Origin) -> bool {
        matches!(origin, Origin::Device(_)) || self.known.contains(origin)
    }

    fn came_from(&mut self, origin: Origin) {
        if matches!(origin, Origin::Device(_)) || self.known.back() == Some(&origin) {
            return;
        }
        self.known.retain(|known| *known != origin);
        if self.known.len() >= KNOWN_ADDRESSES_MAX {
            self.known.pop_front();
        }
        self.known.push_back(origin);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::UNAUTHENTICATED_MAX;
    use std::net::Ipv4Addr;

    type Seated = (Place, oneshot::Receiver<()>);

    fn from(address: u32) -> Origin {
        Origin::of(Ipv4Addr::from_bits(0x0a00_0000 + address).into())
    }

    /// Whether it has been told to go.
    fn has_gone((_, left): &mut Seated) -> bool {
        left.try_recv().is_ok()
    }

    #[test]
    fn one_address_has_a_share_and_its_oldest_go() {
        let lobby = Arc::new(Lobby::default());
        let mut other = lobby.enter(from(1));
        let mut flood: Vec<_> = (0..UNAUTHENTICATED_FROM_ONE_MAX + 2).map(|_| lobby.enter(from(2))).collect();
        let gone = flood.iter_mut().map(has_gone).collect::<Vec<_>>();
        assert_eq!(gone.iter().position(|gone| !gone), Some(2), "the first two");
        assert!(!gone[2..].contains(&true));
        assert!(!has_gone(&mut other));
    }

    #[test]
    fn many_addresses_take_places_from_those_that_have_most() {
        let lobby = Arc::new(Lobby::default());
        let mut one = lobby.enter(from(1));
        let each = UNAUTHENTICATED_FROM_ONE_MAX;
        let mut flood: Vec<_> =
            (0..UNAUTHENTICATED_MAX * 4).map(|n| lobby.enter(from(2 + (n / each) as u32))).collect();
        assert!(!has_gone(&mut one), "the only one from its address");
        assert_eq!(lobby.guests().count, UNAUTHENTICATED_MAX);
        assert_eq!(
            flood.iter_mut().filter_map(|guest| (!has_gone(guest)).then_some(())).count(),
            UNAUTHENTICATED_MAX - 1
        );
    }

    #[test]
    fn among_equals_the_oldest_goes_and_where_known_devices_came_from_last() {
        let lobby = Arc::new(Lobby::default());
        let knew = lobby.enter(from(1));
        knew.0.recognise(DeviceId([1; 32]));
        drop(knew);
        let mut friend = lobby.enter(from(1));
        let mut flood: Vec<_> = (0..UNAUTHENTICATED_MAX as u32 - 1).map(|n| lobby.enter(from(2 + n))).collect();
        let _one_more = lobby.enter(from(100_000));
        assert!(!has_gone(&mut friend), "it came first, from where a known device came from");
        assert!(has_gone(&mut flood[0]) && !flood[1..].iter_mut().any(has_gone));
    }

    #[test]
    fn a_known_device_has_a_share_of_its_own() {
        let lobby = Arc::new(Lobby::default());
        let device = DeviceId([1; 32]);
        let mut known: Vec<_> = (0..UNAUTHENTICATED_FROM_ONE_MAX + 1)
            .map(|_| {
                let guest = lobby.enter(from(1));
                guest.0.recognise(device);
                guest
            })
            .collect();
        assert!(has_gone(&mut known[0]) && !known[1..].iter_mut().any(has_gone));
        let mut strangers: Vec<_> = (0..UNAUTHENTICATED_MAX as u32).map(|n| lobby.enter(from(2 + n))).collect();
        assert!(!known[1..].iter_mut().any(has_gone), "strangers go first");
        assert!(strangers.iter_mut().any(has_gone));
    }

    #[test]
    fn who_leaves_makes_room() {
        let lobby = Arc::new(Lobby::default());
        let mut first = lobby.enter(from(1));
        for _ in 0..UNAUTHENTICATED_MAX * 2 {
            drop(lobby.enter(from(1)));
        }
        assert!(!has_gone(&mut first));
        drop(first);
        assert_eq!(lobby.guests().count, 0);
        assert!(lobby.guests().here.is_empty());
    }

    #[test]
    fn an_ipv6_network_is_one_origin_and_a_mapped_address_is_what_it_maps() {
        let of = |text: &str| Origin::of(text.parse().unwrap());
        assert_eq!(of("2001:db8:0:1::1"), of("2001:db8:0:1:ffff::2"));
        assert_ne!(of("2001:db8:0:1::1"), of("2001:db8:0:2::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
    }
}
