//! Why a transfer does not continue for now.
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::transfer::Side;

/// What a destination has, and what it lacks for the rest of a transfer, by its filesystem's
/// figures. These do not show quotas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Shortage {
    /// Bytes needed.
    pub needed: u64,
    /// Bytes free.
    pub free: u64,
    /// Files and folders for which there is no room (inodes).
    pub entries: u64,
}

impl Shortage {
    /// Bytes that are missing.
    pub fn bytes(&self) -> u64 {
        self.needed.saturating_sub(self.free)
    }
}

/// Why a running transfer has stopped moving.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Outage {
    /// The connection ended or was reset.
    Broken,
    /// Nothing was heard for too long.
    Silent,
    /// The last try reached no device.
    Unreachable,
    /// The last try was turned away: too many transfers run there.
    Busy,
    /// The last try was turned away: too many offers of this device were not accepted, and nobody
    /// is asked for now.
    TooManyOffers,
    /// The receiver's disk, or the user's share of it, is full. What it lacks for the rest, as far
    /// as figures show.
    Full(Shortage),
    /// A person has paused it, here or there.
    Paused {
        /// The side that paused it.
        by: Side,
    },
}

/// A transfer that was interrupted and waits to continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interruption {
    /// Why it does not continue.
    #[serde(flatten)]
    pub why: Outage,
    /// At the sender: the time until its next try. None during a try, and at the receiver.
    #[serde(rename = "next_try_seconds", with = "crate::time::seconds::option")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    #[cfg_attr(feature = "bindings", specta(type = Option<u32>))]
    pub next_try: Option<Duration>,
    /// The time until it is given up. None for a copy inside this machine, which is never given up.
    #[serde(rename = "gives_up_seconds", with = "crate::time::seconds::option")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    #[cfg_attr(feature = "bindings", specta(type = Option<u32>))]
    pub gives_up: Option<Duration>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interruption_is_serialised_with_its_reason_and_seconds() {
        let gives_up = Some(Duration::from_secs(900));
        for (why, json) in [
            (Outage::Broken, r#"{"why":"broken","next_try_seconds":null,"gives_up_seconds":900.0}"#),
            (
                Outage::Full(Shortage { needed: 5, free: 3, entries: 1 }),
                r#"{"why":"full","needed":5,"free":3,"entries":1,"next_try_seconds":null,"gives_up_seconds":900.0}"#,
            ),
            (
                Outage::Paused { by: Side::There },
                r#"{"why":"paused","by":"there","next_try_seconds":null,"gives_up_seconds":900.0}"#,
            ),
        ] {
            let interruption = Interruption { why, next_try: None, gives_up };
            assert_eq!(serde_json::to_string(&interruption).unwrap(), json);
            assert_eq!(serde_json::from_str::<Interruption>(json).unwrap(), interruption);
        }
    }
}
