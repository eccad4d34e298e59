//! The limits of measurements, each with its reason.
pub use ringway_link::limits::LANES_MAX;

/// The most rounds. More prove nothing, and take days.
pub const ROUNDS_MAX: u32 = 1_000;

/// The most files of one dataset. A table of them fits into a machine's memory many times.
pub const FILES_MAX: u64 = 1_000_000;

/// The most bytes of one dataset: half of what one key may protect, so that no lane is renewed
/// during a measurement.
pub const BYTES_MAX: u64 = 64 << 30;
