//! Limits on strangers: admission slots, handshake rate limits, the accept queue of a code,
//! back-off, and the shares of open descriptors.
pub(crate) mod accept_queue;
pub(crate) mod back_off;
pub(crate) mod descriptors;
pub(crate) mod handshakes;
mod slots;
pub(crate) mod token_bucket;

pub(crate) use slots::{AdmissionSlot, AdmissionSlots, Origin};
