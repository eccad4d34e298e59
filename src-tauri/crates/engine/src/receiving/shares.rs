//! How many offers may wait for a person's answer at a time, and under which ids there are any.
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use ringway_model::DeviceId;
use tokio::time::{Instant, sleep};

use super::renewals::Key;
use crate::admission::descriptors::ForReceiving;
use crate::limits::{OFFERS_ASKED_BYTES_MAX, OFFERS_OF_ONE_MAX};

/// The offers that wait for an answer.
#[derive(Default)]
pub(crate) struct Shares(Arc<Mutex<Taken>>);

#[derive(Default)]
struct Taken {
    by_device: HashMap<DeviceId, usize>,
    count: usize,
    /// Of their names.
    bytes: usize,
}

/// One of them, until it is dropped.
pub(crate) struct Share {
    taken: Arc<Mutex<Taken>>,
    device: DeviceId,
    bytes: usize,
}

impl Shares {
    /// One more of `device`, with so many bytes of names; `None` if it, or all together, have as
    /// many as there may be.
    pub(crate) fn take(&self, device: DeviceId, bytes: usize) -> Option<Share> {
        let mut taken = self.0.lock();
        let of_device = taken.by_device.get(&device).copied().unwrap_or_default();
        let is_full = of_device >= OFFERS_OF_ONE_MAX
            || taken.count >= ForReceiving::here().unanswered
            || taken.bytes + bytes > OFFERS_ASKED_BYTES_MAX;
        if is_full {
            return None;
        }
        taken.by_device.insert(device, of_device + 1);
        taken.count += 1;
        taken.bytes += bytes;
        Some(Share { taken: Arc::clone(&self.0), device, bytes })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut taken = self.taken.lock();
        taken.count -= 1;
        taken.bytes -= self.bytes;
        if let Some(count) = taken.by_device.get_mut(&self.device) {
            *count -= 1;
            if *count == 0 {
                taken.by_device.remove(&self.device);
            }
        }
    }
}

/// How long an id is waited for whose transfer is ending, and how often it is looked.
const ENDING_TIME_MAX: Duration = Duration::from_millis(500);
const ENDING_LOOK_EVERY: Duration = Duration::from_millis(10);

/// The ids of offers that are asked about and of transfers that are received, each with its device.
#[derive(Default)]
pub(crate) struct TakenIds(Arc<Mutex<HashSet<Key>>>);

/// One of them, until it is dropped.
pub(crate) struct TakenId {
    all: Arc<Mutex<HashSet<Key>>>,
    key: Key,
}

impl TakenIds {
    /// The same, where what has it may be just ending.
    pub(crate) async fn take_soon(&self, key: Key) -> Option<TakenId> {
        let until = Instant::now() + ENDING_TIME_MAX;
        loop {
            let taken = self.take(key);
            if taken.is_some() || Instant::now() >= until {
                return taken;
            }
            sleep(ENDING_LOOK_EVERY).await;
        }
    }

    /// `None` if the same device has something under that id already.
    fn take(&self, key: Key) -> Option<TakenId> {
        let is_new = self.0.lock().insert(key);
        is_new.then(|| TakenId { all: Arc::clone(&self.0), key })
    }
}

impl Drop for TakenId {
    fn drop(&mut self) {
        self.all.lock().remove(&self.key);
    }
}
