//! What a person saw of an offer's size, and how much may come by a yes to it.
use crate::limits::{ACCEPTED_GROWTH, ACCEPTED_GROWTH_MIN, ACCEPTED_MARGIN_MIN, ACCEPTED_MARGIN_PART};

/// The size of an offer as a person saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShownSize {
    /// Bytes of contents.
    pub bytes: u64,
    /// Whether that was said to be all. If not, the person was told that it is at least so much.
    pub is_final: bool,
}

impl ShownSize {
    /// Bytes that may come by a yes to it.
    pub fn covers(self) -> u64 {
        let margin = match self.is_final {
            true => (self.bytes / ACCEPTED_MARGIN_PART).max(ACCEPTED_MARGIN_MIN),
            false => self.bytes.saturating_mul(ACCEPTED_GROWTH - 1).max(ACCEPTED_GROWTH_MIN),
        };
        self.bytes.saturating_add(margin)
    }
}
