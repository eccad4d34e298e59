//! Limits on what paired devices ask about shares at once: sessions, and answers that are looked
//! for.
use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use ringway_model::DeviceId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::admission::descriptors::ForReceiving;
use crate::limits::{ANSWER_PLACE_TIME_MAX, ANSWERS_OF_ONE_MAX, ASKING_OF_ONE_MAX};

/// The places of all devices.
pub(super) struct AnswerPlaces {
    sessions: Arc<Semaphore>,
    answers: Arc<Semaphore>,
    /// Only paired devices ask, so that this does not grow.
    of_device: Mutex<HashMap<DeviceId, OfDevice>>,
}

/// Those of one device.
#[derive(Clone)]
struct OfDevice {
    sessions: Arc<Semaphore>,
    answers: Arc<Semaphore>,
}

/// A place, free again when it is dropped.
pub(super) struct Place {
    _of_device: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl Default for AnswerPlaces {
    fn default() -> Self {
        Self {
            sessions: Arc::new(Semaphore::new(ForReceiving::here().asking)),
            answers: Arc::new(Semaphore::new(ForReceiving::here().answers)),
            of_device: Mutex::default(),
        }
    }
}

impl AnswerPlaces {
    /// A place for a session; none if too many are open.
    pub(super) fn begin_session(&self, device: DeviceId) -> Option<Place> {
        let _of_device = self.of(device).sessions.try_acquire_owned().ok()?;
        let _of_all = Arc::clone(&self.sessions).try_acquire_owned().ok()?;
        Some(Place { _of_device, _of_all })
    }

    /// A place for an answer; none if it would have to wait too long.
    pub(super) async fn take(&self, device: DeviceId) -> Option<Place> {
        let both = async {
            // Its own first: what waits for that keeps no other device out.
            let _of_device = self.of(device).answers.acquire_owned().await.ok()?;
            let _of_all = Arc::clone(&self.answers).acquire_owned().await.ok()?;
            Some(Place { _of_device, _of_all })
        };
        timeout(ANSWER_PLACE_TIME_MAX, both).await.ok().flatten()
    }

    fn of(&self, device: DeviceId) -> OfDevice {
        let new = || OfDevice {
            sessions: Arc::new(Semaphore::new(ASKING_OF_ONE_MAX)),
            answers: Arc::new(Semaphore::new(ANSWERS_OF_ONE_MAX)),
        };
        self.of_device.lock().entry(device).or_insert_with(new).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: DeviceId = DeviceId([1; 32]);
    const B: DeviceId = DeviceId([2; 32]);

    #[tokio::test(start_paused = true)]
    async fn one_device_leaves_others_their_places() {
        let places = AnswerPlaces::default();
        let mut held = Vec::new();
        for _ in 0..ANSWERS_OF_ONE_MAX {
            held.push(places.take(A).await.unwrap());
        }
        assert!(places.take(A).await.is_none(), "it waits in vain");
        assert!(places.take(B).await.is_some());
        held.pop();
        assert!(places.take(A).await.is_some());
    }

    #[test]
    fn sessions_are_bounded_for_each_device_and_for_all() {
        let places = AnswerPlaces::default();
        let sessions: Vec<_> = (0..2 * ASKING_OF_ONE_MAX).filter_map(|_| places.begin_session(A)).collect();
        assert_eq!(sessions.len(), ASKING_OF_ONE_MAX);
        let others = (2..=u8::MAX).map(|byte| places.begin_session(DeviceId([byte; 32])));
        let others: Vec<_> = others.flatten().collect();
        assert_eq!(others.len(), ForReceiving::here().asking - ASKING_OF_ONE_MAX);
        drop(sessions);
        assert!(places.begin_session(A).is_some());
    }
}
