//! Codes, and the exchange that proves knowledge of one.
pub mod code;
pub mod pair;
