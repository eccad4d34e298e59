//! The nouns that engine, service, command and window share: each is defined here once, and has one
//! name in Rust, in `--json`, on the control socket and in the window's bindings.
//!
//! In JSON a variant is its name in snake_case, and so is a field. A duration is seconds, and the
//! field's name says so.
#![forbid(unsafe_code)]

mod device;
mod errno;
mod fault;
mod id;
pub mod moment;
mod options;
mod outage;
mod path_taken;
mod progress;
mod remedy;
mod report;
mod rule;
mod seconds;
pub mod sentences;
mod series;
mod shown_size;
mod text;
mod transfer;

pub use device::{DeviceId, DeviceKind, LookAlike};
pub use fault::{AuthError, DeclineReason, Failure, FailureReason, Fault, Invalid, Operation, OsError, StoreTrouble};
pub use id::{TransferId, TransferKey};
pub use options::{Compression, Delta, IntoHome, Source};
pub use outage::{Interruption, Outage, Shortage};
pub use path_taken::{IoMode, IoPath, PathTaken, SyncIoReason, TlsMode, TlsPath, Unconfined, UserTlsReason};
pub use progress::Progress;
pub use remedy::{Aim, Remedy};
pub use report::{CopyReport, Counts, Edit, Outcome, PackedBytes, Proven, Report, StageTimes};
pub use rule::{AskedBecause, Consent, DeviceRule};
pub use series::{PastDetails, SeriesPoint};
pub use shown_size::ShownSize;
pub use text::{PathJson, PathText, Text, misleading};
pub use transfer::{Bottleneck, Direction, OnConflict, OnExisting, Planned, Side, Stage};
