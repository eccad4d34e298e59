//! Identifiers of transfers.
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::device::DeviceId;
use crate::fault::{Fault, Invalid};

/// A transfer's identity, drawn at random by the sender. In JSON: 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TransferId(pub [u8; 16]);

impl std::str::FromStr for TransferId {
    type Err = Fault;

    /// Parses what `Display` writes: 32 hexadecimal digits.
    fn from_str(text: &str) -> Result<Self, Fault> {
        let number = Some(text).filter(|text| text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let number = number.and_then(|text| u128::from_str_radix(text, 16).ok());
        Ok(Self(number.ok_or(Fault::Invalid(Invalid::TransferId))?.to_be_bytes()))
    }
}

impl std::fmt::Display for TransferId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Identifies a transfer or offer at one end. The transfer's id alone is not enough: senders draw
/// the ids of what is received, and two of them may draw the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TransferKey {
    /// The device that drew the id; none for an id drawn here.
    pub from: Option<DeviceId>,
    /// The id.
    pub id: TransferId,
}

impl std::fmt::Display for TransferKey {
    /// The id, a hyphen, and the device that drew it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.id.fmt(f)?;
        self.from.iter().try_for_each(|from| write!(f, "-{from}"))
    }
}

impl Serialize for TransferId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TransferId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(feature = "bindings")]
impl specta::Type for TransferId {
    fn definition(types: &mut specta::Types) -> specta::datatype::DataType {
        String::definition(types)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for TransferId {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TransferId".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let description = "A transfer's identity, drawn at random by its sender: 32 hexadecimal digits.";
        schemars::json_schema!({ "description": description, "type": "string", "pattern": "^[0-9a-f]{32}$" })
    }
}
