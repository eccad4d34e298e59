//! Whether other devices bring something to where a transfer lands, in whichever program of this
//! device that is.
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use ringway_model::DeviceId;

use super::outside::Outside;
use crate::store::{BegunInto, Store};

/// For this long, the answer that no other device has begun is believed. A device that begins in a
/// folder for the first time waits as long after its note. So when something of it lands, no other
/// program still has an answer from before that note.
const BELIEVED_FOR: Duration = Duration::from_millis(20);

/// The other devices, as one transfer sees them.
pub(super) struct Others {
    store: Arc<Store>,
    outside: Outside,
    device: DeviceId,
    /// `None` if it cannot be looked at.
    folder: Option<BegunInto>,
    known: Mutex<Known>,
}

#[derive(Clone, Copy)]
enum Known {
    /// There are some, and that stays so.
    Some,
    /// There were none when that was asked.
    NoneAt(Instant),
}

impl Others {
    /// A transfer from `device` into `folder`, which is there, is about to begin. From now on,
    /// transfers of other devices know of it.
    pub(super) fn begin(store: Arc<Store>, outside: Outside, device: DeviceId, folder: &Path) -> Self {
        let folder = BegunInto::look(folder).ok();
        let mut known = Known::Some;
        if let Some(folder) = &folder {
            // Without a note, other programs do not know of it until it ends, and what a killed
            // receiver leaves is found only by its folder's name.
            if store.note_begun(device, folder).unwrap_or(false) {
                std::thread::sleep(BELIEVED_FOR);
            }
            let now = Instant::now();
            let are_there = store.have_others_brought(device, folder.path()).unwrap_or(true)
                || store.have_others_begun(device, folder).unwrap_or(true);
            if !are_there {
                known = Known::NoneAt(now);
            }
        }
        Self { store, outside, device, folder, known: Mutex::new(known) }
    }

    /// Whether another device has brought something there, or may be doing so now. There may be
    /// some where it cannot be asked.
    pub(super) fn are_there(&self) -> bool {
        let mut known = self.known.lock();
        let (Known::NoneAt(asked), Some(folder)) = (*known, &self.folder) else { return true };
        if asked.elapsed() < BELIEVED_FOR {
            return false;
        }
        let now = Instant::now();
        let (store, device, folder) = (Arc::clone(&self.store), self.device, folder.clone());
        let begun = self.outside.run(move || store.have_others_begun(device, &folder).unwrap_or(true));
        let are_there = begun.unwrap_or(true);
        *known = if are_there { Known::Some } else { Known::NoneAt(now) };
        are_there
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: DeviceId = DeviceId([1; 32]);
    const B: DeviceId = DeviceId([2; 32]);

    #[tokio::test]
    async fn another_device_that_begins_meanwhile_is_known_before_anything_of_it_can_land() {
        let (data, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let begin = |device, folder: &Path| {
            // A store of its own, as another program has it.
            let (store, folder, outside) =
                (Arc::new(Store::open(data.path()).unwrap()), folder.to_owned(), Outside::new());
            tokio::task::spawn_blocking(move || Others::begin(store, outside, device, &folder))
        };
        let ask = |others: &Arc<Others>| {
            let others = Arc::clone(others);
            tokio::task::spawn_blocking(move || others.are_there())
        };
        let first = Arc::new(begin(A, folder.path()).await.unwrap());
        let again = Arc::new(begin(A, folder.path()).await.unwrap());
        let elsewhere = begin(B, data.path()).await.unwrap();
        assert!(!elsewhere.are_there());
        assert!(!ask(&first).await.unwrap() && !ask(&again).await.unwrap(), "both are of one device");
        let below = folder.path().join("below");
        std::fs::create_dir(&below).unwrap();
        let other = begin(B, &below).await.unwrap();
        assert!(ask(&first).await.unwrap() && ask(&again).await.unwrap());
        assert!(other.are_there());
        drop((first, again));
        assert!(begin(B, folder.path()).await.unwrap().are_there(), "what they have brought is there");
    }
}
