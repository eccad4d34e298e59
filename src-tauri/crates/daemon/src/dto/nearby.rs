//! Receivers that announce themselves on the local network.
use ringway_model::NearbyDevice;
use serde::{Deserialize, Serialize};

/// A receiver that announces itself, under the id by which windows name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
pub struct Nearby {
    /// What tells it apart from the others: the beginning of its id, and its port.
    pub id: String,
    #[serde(flatten)]
    pub device: NearbyDevice,
}

impl From<&NearbyDevice> for Nearby {
    fn from(device: &NearbyDevice) -> Self {
        Self { id: device.key(), device: device.clone() }
    }
}
