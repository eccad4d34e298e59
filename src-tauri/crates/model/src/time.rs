//! How durations and points in time are written in JSON.

pub mod moment;
pub(crate) mod seconds;
