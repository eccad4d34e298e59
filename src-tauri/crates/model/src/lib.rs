//! The nouns that engine, service, command and window share: each is defined here once, and has one
//! name in Rust, in `--json`, on the control socket and in the window's bindings.
//!
//! In JSON a variant is its name in snake_case, and so is a field.
#![forbid(unsafe_code)]

mod device;
mod errno;
mod fault;
mod id;
pub mod misleading;
mod options;
mod outage;
mod path_taken;
mod remedy;
mod report;
mod text;
mod transfer;

pub use device::{DeviceId, LookAlike};
pub use fault::{AuthError, DeclineReason, Failure, FailureReason, Fault, Invalid, Operation, OsError, StoreTrouble};
pub use id::{TransferId, TransferKey};
pub use options::{Compression, Delta, IntoHome, Source};
pub use outage::{Interruption, Outage, Shortage};
pub use path_taken::{IoMode, IoPath, PathTaken, SyncIoReason, TlsMode, TlsPath, Unconfined, UserTlsReason};
pub use remedy::{Aim, Remedy};
pub use report::{Edit, Outcome, PackedBytes, Proven, StageTimes};
pub use text::{PathJson, PathText, Text};
pub use transfer::{Bottleneck, Direction, OnConflict, OnExisting, Side, Stage};
