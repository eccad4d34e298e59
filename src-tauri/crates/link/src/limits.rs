//! The limits of connections, each with its reason; the engine's own are in `engine::limits`.
use std::time::Duration;

pub use ringway_wire::limits::LANES_MAX;

/// How long a transfer waits for room at a full disk before it is given up, unless it is not to
/// wait at all: a working day.
pub const FULL_TIME_MAX: Duration = Duration::from_secs(8 * 3600);

/// How often it is looked whether there is room again, or whether the receiver has resumed it.
pub const FULL_LOOK_EVERY: Duration = Duration::from_secs(5);

/// TLS records of a lane under one key: half of what rustls allows AES-GCM, and a third of RFC 8446
/// section 5.5; 128 GiB of full ones.
pub const RECORDS_PER_KEY_MAX: u64 = 1 << 23;

/// Records under one key at the least: 4 MB of full ones, and a frame of the largest size fits. For
/// trying renewals out.
pub const RECORDS_PER_KEY_MIN: u64 = 256;

/// How often progress is told to the peer and the figures brought up to date.
pub const TICK: Duration = Duration::from_millis(100);
