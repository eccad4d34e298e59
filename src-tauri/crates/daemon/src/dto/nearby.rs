//! Receivers that announce themselves on the local network. All of it is what somebody there says.
use ringway_engine::NearbyDevice;
use ringway_model::DeviceKind;
use serde::{Deserialize, Serialize};

use crate::text::shown_text;

/// A receiver that announces itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(rename_all = "camelCase")]
pub struct Nearby {
    /// What it is told apart by here: the beginning of the id that it says to have, and its port.
    pub id: String,
    /// That beginning as people compare it.
    pub short_id: String,
    pub name: String,
    pub kind: DeviceKind,
    /// Where it would be tried first, for showing.
    pub address: String,
    /// The number in front of the code that it shows, if it shows one.
    pub code: Option<u16>,
    /// The id of the paired device that it would be.
    pub known: Option<String>,
    /// Whether it speaks this program's protocol.
    pub compatible: bool,
}

impl From<&NearbyDevice> for Nearby {
    fn from(device: &NearbyDevice) -> Self {
        let said = &device.said;
        let hex = said.fingerprint.to_hex();
        let first = device.addresses.first();
        Self {
            id: format!("{hex}-{}", first.map_or(0, |address| address.port())),
            short_id: hex.as_bytes().chunks(4).map(String::from_utf8_lossy).collect::<Vec<_>>().join("-"),
            name: shown_text(said.name.as_str()),
            kind: device.said.kind,
            address: first.map(ToString::to_string).unwrap_or_default(),
            code: said.code,
            known: device.known.as_ref().map(|device| device.id.to_string()),
            compatible: device.is_compatible(),
        }
    }
}
