//! The nouns that engine, service, command and window share: each is defined here once, and has one
//! name in Rust, in `--json`, on the control socket and in the window's bindings.
//!
//! In JSON a variant is its name in snake_case, and so is a field. A duration is seconds, and the
//! field's name says so.
#![forbid(unsafe_code)]

mod device;
mod fault;
mod id;
mod progress;
mod report;
mod rule;
pub mod sentences;
mod state;
mod text;
mod time;
mod transfer;

pub use device::{DeviceId, DeviceKind, LookAlike};
pub use fault::{
    Aim, AuthError, DeclineReason, Failure, FailureReason, Fault, Interruption, Invalid, Operation, OsError, Outage,
    Remedy, Shortage, StoreTrouble,
};
pub use id::{TransferId, TransferKey};
pub use progress::Progress;
pub use report::{
    CopyReport, Counts, Edit, Outcome, PackedBytes, PastDetails, Proven, Report, SeriesPoint, StageTimes,
};
pub use rule::{AskedBecause, Consent, DeviceRule};
pub use state::{TransferAction, TransferState, TransferStatus};
pub use text::{PathJson, PathText, Text, misleading};
pub use time::moment;
pub use transfer::{
    Bottleneck, Compression, Delta, Direction, IntoHome, IoMode, IoPath, OnCancel, OnConflict, OnExisting, PathTaken,
    Planned, ShownSize, Side, Source, Stage, SyncIoReason, TlsMode, TlsPath, Unconfined, UserTlsReason,
};
