//! Devices, their rules, and to whom something is sent.
pub mod device;
pub mod rules;
pub mod target;
