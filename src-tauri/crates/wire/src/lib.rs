//! Ringway's protocol core: every byte that a peer can send, parsed and produced without IO, clock
//! or randomness.
#![forbid(unsafe_code)]

pub mod announcement;
mod bytes;
pub mod control;
pub mod error;
pub mod lane;
pub mod limits;
mod names;
mod pairing;
mod progress;
pub mod record;
pub mod session;
mod timestamp;

pub use names::{entries, listing, name, offered, selected};
pub use pairing::{code, pair};
pub use progress::{journal, ledger, resume, stretches};

pub use error::ProtocolError;
pub use name::{DeviceName, Name, RelPath};
pub use offered::OfferedNames;
pub use selected::SelectedPaths;
