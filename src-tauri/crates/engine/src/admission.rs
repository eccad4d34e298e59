//! Limits on strangers: admission slots, handshake rate limits, the accept queue of a code,
//! back-off, requests to pair, and the shares of open descriptors.
pub(crate) mod accept_queue;
pub(crate) mod back_off;
pub(crate) mod descriptors;
pub(crate) mod handshakes;
pub(crate) mod requests;
mod slots;
pub(crate) mod token_bucket;

pub(crate) use slots::{AdmissionSlot, AdmissionSlots, Origin};

/// Milliseconds that a code's life is counted in. They go on while the machine sleeps
/// (CLOCK_BOOTTIME): a closed lid keeps no code open.
pub(crate) fn boot_ms() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    now.tv_sec.unsigned_abs() * 1_000 + now.tv_nsec.unsigned_abs() / 1_000_000
}
