//! Admission slots for connections that have not authenticated yet: how many there may be, in all
//! and from one origin, and which one is evicted for a new one.
use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use ringway_model::DeviceId;
use tokio::sync::oneshot;

use crate::admission::descriptors::ForReceiving;
use crate::limits::{KNOWN_ADDRESSES_MAX, UNAUTHENTICATED_FROM_ONE_MAX};

/// Bits of an IPv6 address that its holder does not choose: a network has 2^64 addresses to come
/// from (RFC 4291 section 2.5.1).
const IPV6_NETWORK_BITS: u32 = 64;

/// Whose share a connection counts against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    /// An IPv4 address, or the network of an IPv6 one: its first 64 bits.
    Address(IpAddr),
    /// A device that is known, which it has proved by its key.
    Device(DeviceId),
}

impl Origin {
    /// For limits that all origins share. No connection comes from there.
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

/// The unauthenticated connections of one listener. Every new connection gets a slot. If all are
/// taken, the oldest connection of the origin that has most is evicted. So a flood from a few
/// addresses cannot keep others out, and a connection that makes progress stays.
#[derive(Default)]
pub(crate) struct AdmissionSlots(Mutex<Slots>);

#[derive(Default)]
struct Slots {
    /// The slots of each origin, the oldest first.
    by_origin: HashMap<Origin, VecDeque<Slot>>,
    count: usize,
    /// The number of the next slot.
    next: u64,
    /// Origins of known devices, the latest last. Their connections are evicted after all others.
    known: VecDeque<Origin>,
}

struct Slot {
    number: u64,
    evict: oneshot::Sender<()>,
}

/// A connection's admission slot, until it is dropped.
pub(crate) struct AdmissionSlot {
    slots: Arc<AdmissionSlots>,
    number: u64,
    origin: Mutex<Origin>,
}

impl AdmissionSlots {
    /// A slot for a connection from `origin`, and a channel that resolves when the connection is
    /// evicted. If another connection must go for it, that one has been told.
    pub(crate) fn admit(self: &Arc<Self>, origin: Origin) -> (AdmissionSlot, oneshot::Receiver<()>) {
        let mut slots = self.lock();
        slots.make_space(origin);
        let number = slots.next;
        slots.next += 1;
        let (evict, evicted) = oneshot::channel();
        slots.insert(origin, Slot { number, evict });
        drop(slots);
        (AdmissionSlot { slots: Arc::clone(self), number, origin: Mutex::new(origin) }, evicted)
    }

    /// Notes an origin that known devices have come from.
    pub(crate) fn note_known(&self, origin: Origin) {
        self.lock().note_known(origin);
    }

    fn lock(&self) -> MutexGuard<'_, Slots> {
        self.0.lock()
    }
}

impl AdmissionSlot {
    /// Whether a known device came from where this connection comes from.
    pub(crate) fn is_from_known_origin(&self) -> bool {
        self.slots.lock().is_known(&self.origin.lock())
    }

    /// The connection has proved a known device's key. From now on it counts against that device's
    /// own share.
    pub(crate) fn recognise(&self, device: DeviceId) {
        let mut origin = self.origin.lock();
        let mut slots = self.slots.lock();
        // An evicted connection has no slot any more.
        let Some(slot) = slots.remove(*origin, self.number) else { return };
        slots.note_known(*origin);
        *origin = Origin::Device(device);
        slots.make_space(*origin);
        slots.insert(*origin, slot);
    }
}

impl Drop for AdmissionSlot {
    fn drop(&mut self) {
        let origin = *self.origin.get_mut();
        self.slots.lock().remove(origin, self.number);
    }
}

impl Slots {
    fn insert(&mut self, origin: Origin, slot: Slot) {
        self.by_origin.entry(origin).or_default().push_back(slot);
        self.count += 1;
    }

    fn remove(&mut self, origin: Origin, number: u64) -> Option<Slot> {
        let group = self.by_origin.get_mut(&origin)?;
        let at = group.iter().position(|slot| slot.number == number)?;
        let slot = group.remove(at);
        if group.is_empty() {
            self.by_origin.remove(&origin);
        }
        self.count -= 1;
        slot
    }

    /// Evicts a connection if one more from `origin` does not fit.
    fn make_space(&mut self, origin: Origin) {
        let of_this_origin = self.by_origin.get(&origin).map_or(0, VecDeque::len);
        if of_this_origin >= UNAUTHENTICATED_FROM_ONE_MAX {
            self.evict_oldest(origin);
        } else if self.count >= ForReceiving::here().unauthenticated {
            let eviction_priority = |(origin, group): &(&Origin, &VecDeque<Slot>)| {
                (!self.is_known(origin), group.len(), Reverse(group.front().map_or(u64::MAX, |slot| slot.number)))
            };
            if let Some(origin) = self.by_origin.iter().max_by_key(eviction_priority).map(|(origin, _)| *origin) {
                self.evict_oldest(origin);
            }
        }
    }

    /// Evicts the oldest connection of `origin`.
    fn evict_oldest(&mut self, origin: Origin) {
        let Some(number) = self.by_origin.get(&origin).and_then(|group| group.front()).map(|slot| slot.number) else {
            return;
        };
        if let Some(slot) = self.remove(origin, number) {
            // Its task may be ending by itself.
            let _ = slot.evict.send(());
        }
    }

    fn is_known(&self, origin: &Origin) -> bool {
        matches!(origin, Origin::Device(_)) || self.known.contains(origin)
    }

    fn note_known(&mut self, origin: Origin) {
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

    type Admitted = (AdmissionSlot, oneshot::Receiver<()>);

    fn from(address: u32) -> Origin {
        Origin::of(Ipv4Addr::from_bits(0x0a00_0000 + address).into())
    }

    /// Whether it has been told to go.
    fn is_evicted(admitted: &mut Admitted) -> bool {
        admitted.1.try_recv().is_ok()
    }

    #[test]
    fn one_address_has_a_share_and_its_oldest_go() {
        let slots = Arc::new(AdmissionSlots::default());
        let mut other = slots.admit(from(1));
        let mut flood: Vec<_> = (0..UNAUTHENTICATED_FROM_ONE_MAX + 2).map(|_| slots.admit(from(2))).collect();
        let gone = flood.iter_mut().map(is_evicted).collect::<Vec<_>>();
        assert_eq!(gone.iter().position(|gone| !gone), Some(2), "the first two");
        assert!(!gone[2..].contains(&true));
        assert!(!is_evicted(&mut other));
    }

    #[test]
    fn many_addresses_take_places_from_those_that_have_most() {
        let slots = Arc::new(AdmissionSlots::default());
        let mut one = slots.admit(from(1));
        let each = UNAUTHENTICATED_FROM_ONE_MAX;
        let mut flood: Vec<_> =
            (0..UNAUTHENTICATED_MAX * 4).map(|n| slots.admit(from(2 + (n / each) as u32))).collect();
        assert!(!is_evicted(&mut one), "the only one from its address");
        assert_eq!(slots.lock().count, UNAUTHENTICATED_MAX);
        assert_eq!(
            flood.iter_mut().filter_map(|slot| (!is_evicted(slot)).then_some(())).count(),
            UNAUTHENTICATED_MAX - 1
        );
    }

    #[test]
    fn among_equals_the_oldest_goes_and_where_known_devices_came_from_last() {
        let slots = Arc::new(AdmissionSlots::default());
        let known = slots.admit(from(1));
        known.0.recognise(DeviceId([1; 32]));
        drop(known);
        let mut friend = slots.admit(from(1));
        let mut flood: Vec<_> = (0..UNAUTHENTICATED_MAX as u32 - 1).map(|n| slots.admit(from(2 + n))).collect();
        let _one_more = slots.admit(from(100_000));
        assert!(!is_evicted(&mut friend), "it came first, from where a known device came from");
        assert!(is_evicted(&mut flood[0]) && !flood[1..].iter_mut().any(is_evicted));
    }

    #[test]
    fn a_known_device_has_a_share_of_its_own() {
        let slots = Arc::new(AdmissionSlots::default());
        let device = DeviceId([1; 32]);
        let mut known: Vec<_> = (0..UNAUTHENTICATED_FROM_ONE_MAX + 1)
            .map(|_| {
                let slot = slots.admit(from(1));
                slot.0.recognise(device);
                slot
            })
            .collect();
        assert!(is_evicted(&mut known[0]) && !known[1..].iter_mut().any(is_evicted));
        let mut strangers: Vec<_> = (0..UNAUTHENTICATED_MAX as u32).map(|n| slots.admit(from(2 + n))).collect();
        assert!(!known[1..].iter_mut().any(is_evicted), "strangers go first");
        assert!(strangers.iter_mut().any(is_evicted));
    }

    #[test]
    fn who_leaves_makes_room() {
        let slots = Arc::new(AdmissionSlots::default());
        let mut first = slots.admit(from(1));
        for _ in 0..UNAUTHENTICATED_MAX * 2 {
            drop(slots.admit(from(1)));
        }
        assert!(!is_evicted(&mut first));
        drop(first);
        assert_eq!(slots.lock().count, 0);
        assert!(slots.lock().by_origin.is_empty());
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
