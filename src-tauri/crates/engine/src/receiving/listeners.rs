//! What all listeners of this program share, whichever of them is there now.
use std::collections::HashMap;

use parking_lot::{Mutex, MutexGuard};
use ringway_model::DeviceId;

use super::door::LaneDoor;
use super::renewals::Renewals;
use super::shares::TakenIds;
use crate::admission::requests::Requests;

/// The transfers that are received and the offers that are asked about.
#[derive(Default)]
pub(crate) struct Listeners {
    /// Where the lanes of what is being received come in.
    doors: Mutex<HashMap<(DeviceId, [u8; 16]), LaneDoor>>,
    /// The ids of offers that are asked about and of transfers that are received.
    pub(crate) taken_ids: TakenIds,
    /// What was accepted and may be offered again.
    pub(crate) renewals: Renewals,
    /// Devices that want to pair and have no code.
    pub(crate) requests: Requests,
}

impl Listeners {
    pub(crate) fn doors(&self) -> MutexGuard<'_, HashMap<(DeviceId, [u8; 16]), LaneDoor>> {
        self.doors.lock()
    }
}
