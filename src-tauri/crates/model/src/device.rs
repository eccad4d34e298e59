//! Devices.
use std::fmt::{self, Debug, Display, Formatter};
use std::net::SocketAddr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::text::Text;

/// SHA-256 of a device's SubjectPublicKeyInfo (RFC 5280 section 4.1.2.7). In JSON: 64 hexadecimal
/// digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceId(pub [u8; 32]);

impl DeviceId {
    /// The first 16 hex digits, in groups of four: what people compare.
    pub fn short(&self) -> String {
        let hex = self.to_string();
        format!("{}-{}-{}-{}", &hex[0..4], &hex[4..8], &hex[8..12], &hex[12..16])
    }
}

impl Display for DeviceId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Debug for DeviceId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceId({})", self.short())
    }
}

impl Serialize for DeviceId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DeviceId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = crate::text::bytes_of(&text).and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or_else(|| serde::de::Error::custom("a device id is 64 hexadecimal digits"))
    }
}

#[cfg(feature = "bindings")]
impl specta::Type for DeviceId {
    fn definition(types: &mut specta::Types) -> specta::datatype::DataType {
        String::definition(types)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for DeviceId {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "DeviceId".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let description = "SHA-256 of a device's public key: 64 hexadecimal digits.";
        schemars::json_schema!({ "description": description, "type": "string", "pattern": "^[0-9a-f]{64}$" })
    }
}

/// What a device looks like, for an icon and a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// A laptop, or another portable machine.
    Laptop,
    /// A machine under a desk.
    Desktop,
    /// A machine in a rack.
    Server,
    /// None of these, or unknown.
    Other,
}

/// Another paired device whose name looks like this one's, so that people may confuse the two.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LookAlike {
    /// What it is called here.
    pub name: Text,
    /// The other device.
    pub id: DeviceId,
}

/// This device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThisDevice {
    /// This device's id.
    pub id: DeviceId,
    /// What this device is called.
    pub name: Text,
}

/// A receiver that announces itself on the local network. All of it is what a device there says,
/// unproven, but for the paired device that it would be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NearbyDevice {
    /// What it calls itself.
    pub name: Text,
    /// The first 16 digits of its id.
    pub id_begins: String,
    /// What it looks like.
    pub kind: DeviceKind,
    /// The number that its code begins with. None if no code is open.
    pub code_number: Option<u16>,
    /// The version of the protocol that it speaks.
    pub version: u16,
    /// Whether this program speaks that version.
    pub compatible: bool,
    /// Where it is, as `HOST:PORT`.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    #[cfg_attr(feature = "bindings", specta(type = Vec<String>))]
    pub addresses: Vec<SocketAddr>,
    /// The name of the paired device that it would be.
    pub paired_as: Option<Text>,
    /// The id of that device.
    pub paired_id: Option<DeviceId>,
}

impl NearbyDevice {
    /// What tells it apart from the others: the beginning of its id, and its port.
    pub fn key(&self) -> String {
        format!("{}-{}", self.id_begins, self.addresses.first().map_or(0, SocketAddr::port))
    }
}
