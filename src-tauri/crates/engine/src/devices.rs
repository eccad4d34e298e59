//! Devices, their rules, to whom something is sent, and what is meant in another device's shares.
pub mod device;
pub mod reference;
pub mod rules;
pub mod target;
