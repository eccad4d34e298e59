//! Ringway's protocol core: every byte that a peer can send, parsed and produced without IO, clock
//! or randomness.
#![forbid(unsafe_code)]

pub mod announcement;
pub mod code;
pub mod control;
pub mod error;
pub mod journal;
pub mod lane;
pub mod ledger;
pub mod limits;
pub mod name;
pub mod offered;
pub mod pair;
pub mod record;
pub mod resume;
pub mod session;
pub mod stretches;

mod bytes;

pub use error::ProtocolError;

pub use name::{DeviceName, Name, RelPath};
pub use offered::OfferedNames;
