//! What a person saw of an offer when they accepted it.
use serde::{Deserialize, Serialize};

/// The size of an offer as it was shown to a person: their yes is to that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
pub struct ShownSize {
    /// Bytes of contents.
    pub bytes: u64,
    /// Whether that was said to be all. If not, the person was told that it is at least so much.
    pub is_final: bool,
}
