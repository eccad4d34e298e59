//! What a device says that wants to pair with this one and has no code yet.
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::device::{DeviceId, LookAlike};
use crate::text::Text;

/// A device that has connected to this one, is not paired with it, and has no code. It gets nothing
/// by that: only the code pairs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PairingRequest {
    /// The id of its key.
    pub id: DeviceId,
    /// What it calls itself, unproven.
    pub name: Text,
    /// What it is called here, if it is paired here: it has forgotten this device then.
    pub paired_as: Option<Text>,
    /// A paired device whose name looks like the one that it gives itself, or else this device, by
    /// its own id.
    pub looks_like: Option<LookAlike>,
    /// The address that it comes from.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    #[cfg_attr(feature = "bindings", specta(type = String))]
    pub from: IpAddr,
    /// Whether a person here has allowed it to try a code.
    pub allowed: bool,
}
