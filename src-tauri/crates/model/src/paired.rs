//! Paired devices, those that want to be, and what paired devices may do here.
mod note;
mod request;
mod rule;
mod share;

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::device::DeviceId;
use crate::text::Text;

pub use note::{NotANote, Note, NoteText};
pub use request::PairingRequest;
pub use rule::{AskedBecause, Consent, DeviceRule};
pub use share::{DropBox, EntryKind, EntryThere, Share, ShareName, ShareThere, SharedWith};

/// A device that was paired with this one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Device {
    /// Its id.
    pub id: DeviceId,
    /// What it is called here; no other paired device is called so.
    pub name: Text,
    /// When it was paired, in seconds since 1970.
    #[serde(with = "crate::time::moment")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    #[cfg_attr(feature = "bindings", specta(type = u32))]
    pub paired_at: SystemTime,
    /// When it was last seen, in seconds since 1970.
    #[serde(with = "crate::time::moment::option")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    #[cfg_attr(feature = "bindings", specta(type = Option<u32>))]
    pub last_seen: Option<SystemTime>,
    /// Where it was last reached or came from, as `HOST:PORT` or an address.
    pub last_address: Option<Text>,
    /// What its offers meet here.
    pub rule: DeviceRule,
}
