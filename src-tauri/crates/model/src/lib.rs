//! The types that engine, service, command and window share: each is defined here once, and has one
//! name in Rust, in `--json`, on the control socket and in the window's bindings.
//!
//! In JSON, variants and fields have their names in snake_case. A duration is in seconds, and the
//! field's name says so.
#![forbid(unsafe_code)]

mod device;
mod fault;
mod id;
mod machine;
mod offer;
mod paired;
mod progress;
mod report;
pub mod sentences;
mod text;
mod time;
mod transfer;

pub use device::{DeviceId, DeviceKind, LookAlike, NearbyDevice, ThisDevice};
#[cfg(any(test, feature = "samples"))]
pub use fault::samples;
pub use fault::{
    Aim, AuthError, DeclineReason, Failure, FailureReason, Fault, Interruption, Invalid, NotFoundKind, Operation,
    OsError, Outage, Remedy, ShareTrouble, Shortage, StoreTrouble, TurnedAway,
};
pub use id::{TransferId, TransferKey};
pub use machine::{Capabilities, OpenCode, RateLimit, Settings, SettingsInForce, StartsBy};
pub use offer::{Comparison, ComparisonState, Difference, FreeSpace, HereIs, Offer};
pub use paired::{
    AskedBecause, Consent, Device, DeviceRule, DropBox, EntryKind, EntryThere, NotANote, Note, NoteText,
    PairingRequest, Share, ShareName, ShareThere, SharedWith,
};
pub use progress::{Progress, TransferAction, TransferState, TransferStatus, UnderWay};
pub use report::{
    AfterFailure, CopyReport, Counts, Edit, Outcome, PackedBytes, Past, PastDetails, PastQuery, Proven, Report,
    SeriesPoint, StageTimes,
};
pub use text::{PathJson, PathText, Text, misleading};
pub use time::moment;
pub use transfer::{
    Bottleneck, Compression, Delta, Direction, IntoHome, IoMode, IoPath, OnCancel, OnConflict, OnExisting, PathTaken,
    Pattern, Planned, Selection, ShownSize, Side, Source, Stage, SyncIoReason, TlsMode, TlsPath, Unconfined,
    Unfinished, UserTlsReason,
};
