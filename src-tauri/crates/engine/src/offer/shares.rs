//! How many offers of one device there may be at a time, and under which ids.
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::renewals::Key;
use crate::device::DeviceId;
use crate::limits::OFFERS_OF_ONE_MAX;

/// What each device has taken.
#[derive(Default)]
pub(crate) struct Shares(Arc<Mutex<HashMap<DeviceId, usize>>>);

/// One of a device's, until it is dropped.
pub(super) struct Share {
    taken: Arc<Mutex<HashMap<DeviceId, usize>>>,
    device: DeviceId,
}

impl Shares {
    /// One more for `device`; none if it has as many as one may have.
    pub(super) fn take(&self, device: DeviceId) -> Option<Share> {
        let mut taken = lock(&self.0);
        let count = taken.entry(device).or_default();
        if *count >= OFFERS_OF_ONE_MAX {
            return None;
        }
        *count += 1;
        Some(Share { taken: Arc::clone(&self.0), device })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut taken = lock(&self.taken);
        if let Some(count) = taken.get_mut(&self.device) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.device);
            }
        }
    }
}

fn lock(taken: &Mutex<HashMap<DeviceId, usize>>) -> MutexGuard<'_, HashMap<DeviceId, usize>> {
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The ids of offers that are asked about and of transfers that are received, each with its device.
#[derive(Default)]
pub(crate) struct TakenIds(Arc<Mutex<HashSet<Key>>>);

/// One of them, until it is dropped.
pub(super) struct TakenId {
    all: Arc<Mutex<HashSet<Key>>>,
    key: Key,
}

impl TakenIds {
    /// None where the same device has something under that id already.
    pub(super) fn take(&self, key: Key) -> Option<TakenId> {
        let is_new = self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
        is_new.then(|| TakenId { all: Arc::clone(&self.0), key })
    }
}

impl Drop for TakenId {
    fn drop(&mut self) {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}
