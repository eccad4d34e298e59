//! The size of an offer that a person saw when they accepted it.
use serde::{Deserialize, Serialize};

/// The size of an offer as it was shown to a person: they accepted that size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
pub struct ShownSize {
    /// Bytes of contents.
    pub bytes: u64,
    /// Whether the person was told that this is everything. If not, they were told that it is at
    /// least this much.
    pub is_final: bool,
}
