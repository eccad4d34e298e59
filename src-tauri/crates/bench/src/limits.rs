//! The limits of what is measured, each with its reason.
pub use ringway_link::limits::LANES_MAX;

/// Rounds that modes may be measured in: more prove nothing, and take days.
pub const ROUNDS_MAX: u32 = 1_000;

/// Files of one dataset that modes are measured on: a table of it fits a machine's memory many
/// times over.
pub const FILES_MAX: u64 = 1_000_000;

/// Bytes of one of them: half of what one key may protect, so that no lane has to be renewed while
/// it is measured.
pub const BYTES_MAX: u64 = 64 << 30;
