//! The progress of a past transfer over time.
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::transfer::Bottleneck;

/// What had been done at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SeriesPoint {
    /// Time since bytes began to move; kept to the millisecond.
    #[serde(rename = "seconds", with = "crate::time::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    #[cfg_attr(feature = "bindings", specta(type = u32))]
    pub at: Duration,
    /// Bytes of contents sent, or copied, until then.
    pub bytes: u64,
    /// Entries done until then.
    pub entries: u64,
    /// What limited it since the previous point, if that is known; the last limit if there were
    /// several.
    pub limited_by: Option<Bottleneck>,
    /// How often it had continued after a lost connection until then.
    pub reconnected: u32,
}
