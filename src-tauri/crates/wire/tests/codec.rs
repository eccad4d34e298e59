//! The codec from a peer's side: what is written is read back, and no input can do harm.
#[path = "codec/control.rs"]
mod control;
#[path = "codec/frames.rs"]
mod frames;
#[path = "codec/ledger.rs"]
mod ledger;
#[path = "codec/values.rs"]
mod values;
