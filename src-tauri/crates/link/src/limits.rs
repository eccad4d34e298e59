//! The limits of connections, each with its reason; the engine's own are in `engine::limits`.
use std::time::Duration;

pub use ringway_wire::limits::LANES_MAX;

/// How long a transfer waits at a full disk before it is given up, unless it is not to wait at all:
/// a working day.
pub const FULL_TIME_MAX: Duration = Duration::from_secs(8 * 3600);

/// How often the receiver checks whether there is free space again, and the sender whether the
/// receiver has resumed the transfer.
pub const FULL_LOOK_EVERY: Duration = Duration::from_secs(5);

/// The most TLS records of a lane under one key: half of what rustls allows for AES-GCM, and a
/// third of RFC 8446 section 5.5; 128 GiB of full ones.
pub const RECORDS_PER_KEY_MAX: u64 = 1 << 23;

/// The fewest records under one key, for tests of renewals: 4 MB of full ones, so that a frame of
/// the largest size fits.
pub const RECORDS_PER_KEY_MIN: u64 = 256;

/// How often progress is sent to the peer and the figures are updated.
pub const TICK: Duration = Duration::from_millis(100);
