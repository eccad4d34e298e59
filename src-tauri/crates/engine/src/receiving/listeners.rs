//! What all listeners of this program share, whichever of them is there now.
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use ringway_link::lane::{Lane, Successor};
use ringway_link::tls::TicketKey;
use ringway_model::{DeviceId, Fault};
use tokio::sync::mpsc;

use super::door::{Entrance, LaneDoor};
use super::gets::Gets;
use super::renewals::{Key, Renewals};
use super::shares::TakenIds;
use crate::admission::requests::Requests;
use crate::send::lanes::Admitted;

/// The transfers that are received and the offers that are asked about.
#[derive(Default)]
pub(crate) struct Listeners {
    /// Where the lanes of what is being received come in.
    doors: Mutex<HashMap<(DeviceId, [u8; 16]), LaneDoor>>,
    /// The ids of offers that are asked about and of transfers that are received.
    pub(crate) taken_ids: TakenIds,
    /// What was accepted and may be offered again.
    pub(crate) renewals: Renewals,
    /// What is got from the shares here.
    pub(crate) gets: Gets,
    /// Devices that want to pair and have no code.
    pub(crate) requests: Requests,
}

impl Listeners {
    pub(crate) fn doors(&self) -> MutexGuard<'_, HashMap<(DeviceId, [u8; 16]), LaneDoor>> {
        self.doors.lock()
    }

    /// Opens a door for at most so many lanes of a transfer, whichever end sends on them. None if
    /// that device has a transfer under that id already.
    pub(crate) fn open_door(self: &Arc<Self>, key: Key, tickets: TicketKey, lanes: u8) -> Option<(OpenDoor, Admitted)> {
        let (deliver, joined) = mpsc::unbounded_channel();
        let (entrances, successors) = (0..lanes)
            .map(|_| {
                let (entrance, successors) = mpsc::channel(1);
                (Entrance { next: 0, joining: false, successors: entrance }, Some(coming_by(successors)))
            })
            .unzip();
        match self.doors().entry(key) {
            Entry::Vacant(free) => free.insert(LaneDoor { tickets, entrances, deliver }),
            // Opening a door must not replace one.
            Entry::Occupied(_) => return None,
        };
        Some((OpenDoor { listeners: Arc::clone(self), key }, Admitted { joined, successors }))
    }
}

/// A door that is open, until this is dropped.
pub(crate) struct OpenDoor {
    listeners: Arc<Listeners>,
    key: Key,
}

impl Drop for OpenDoor {
    fn drop(&mut self) {
        self.listeners.doors().remove(&self.key);
    }
}

/// Waits for a lane's next connection. After the session has ended, none can come.
fn coming_by(mut successors: mpsc::Receiver<Result<Lane, Fault>>) -> Successor {
    Box::new(move || {
        let next = successors.blocking_recv().ok_or(std::io::ErrorKind::ConnectionAborted)?;
        next.map_err(std::io::Error::other)
    })
}
