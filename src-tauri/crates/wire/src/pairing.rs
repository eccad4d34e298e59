//! Codes, and the exchange that proves one.
pub mod code;
pub mod pair;
