//! What devices have brought and could not be noted, as on a full disk. This program knows it all
//! the same, and notes it as soon as that can be done: otherwise what it has received itself would
//! be another's the next time, and get a number.
use std::collections::HashMap;

use ringway_model::DeviceId;
use ringway_tree::receive::Brought;

use super::Pairing;

/// Bytes that are kept in mind, as a device's 10,000 names rarely have; more are not.
const BYTES_MAX: usize = 16 << 20;

/// By device and path.
#[derive(Default)]
pub(super) struct Unnoted {
    all: HashMap<(DeviceId, Vec<u8>), (Pairing, Vec<u8>)>,
    bytes: usize,
}

impl Unnoted {
    /// Keeps it in mind, in place of what was brought there before.
    pub(super) fn add(&mut self, pairing: Pairing, path: &[u8], brought: &Brought) {
        let (key, what) = ((pairing.device, path.to_vec()), brought.encode());
        if let Some((_, before)) = self.all.remove(&key) {
            self.bytes -= path.len() + before.len();
        }
        if self.bytes + path.len() + what.len() <= BYTES_MAX {
            self.bytes += path.len() + what.len();
            self.all.insert(key, (pairing, what));
        }
    }

    /// What that device brought there, in which pairing.
    pub(super) fn of(&self, id: DeviceId, path: &[u8]) -> Option<(Pairing, Vec<u8>)> {
        self.all.get(&(id, path.to_vec())).cloned()
    }

    /// All of it: pairing, path and what was brought there.
    pub(super) fn all(&self) -> impl Iterator<Item = (Pairing, &[u8], &[u8])> {
        self.all.iter().map(|((_, path), (pairing, what))| (*pairing, path.as_slice(), what.as_slice()))
    }

    /// It is noted.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_kept_in_mind_than_so_many_bytes_whatever_is_brought() {
        let mut unnoted = Unnoted::default();
        let path = |number: u32| [vec![b'x'; 4_000], number.to_le_bytes().to_vec()].concat();
        let pairing = Pairing::first(DeviceId([1; 32]));
        for number in (0..10_000).chain(0..10_000) {
            unnoted.add(pairing, &path(number), &Brought::of_number(7));
        }
        let held: usize = unnoted.all().map(|(_, path, what)| path.len() + what.len()).sum();
        assert!(held == unnoted.bytes && held <= BYTES_MAX && held > BYTES_MAX / 2, "{held}");
        assert!(unnoted.of(pairing.device, &path(0)).is_some() && unnoted.of(pairing.device, &path(9_999)).is_none());
        unnoted.clear();
        assert_eq!((unnoted.all().count(), unnoted.bytes), (0, 0));
    }
}
