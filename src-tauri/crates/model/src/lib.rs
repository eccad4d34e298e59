//! The nouns that engine, service, command and window share: each is defined here once, and has one
//! name in Rust, in `--json`, on the control socket and in the window's bindings.
//!
//! In JSON a variant is its name in snake_case.
#![forbid(unsafe_code)]

mod failure;
mod options;
mod transfer;

pub use failure::{Operation, StoreTrouble};
pub use options::{Compression, Delta, IntoHome, Source};
pub use transfer::{Bottleneck, Direction, OnConflict, OnExisting, Side, Stage};
