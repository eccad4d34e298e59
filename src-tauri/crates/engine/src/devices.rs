//! Devices, their rules, targets, and references to other devices' shares.
pub mod device;
pub mod reference;
pub mod rules;
pub mod target;
