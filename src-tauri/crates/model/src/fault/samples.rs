//! At least one of each fault, failure and reason, for the tests of every crate. Only the feature
//! `samples` has this module, which nothing but development dependencies switch on.
use std::borrow::Cow;
use std::io;

use crate::device::DeviceId;
use crate::fault::{
    Aim, AuthError, DeclineReason, Failure, FailureReason, Fault, Invalid, NotFoundKind, Operation, OsError, Outage,
    Remedy, ShareTrouble, Shortage, StoreTrouble,
};
use crate::text::{PathText, Text};
use crate::transfer::{Direction, Side, SyncIoReason, UserTlsReason};

/// Text as a peer may send it to drive a terminal or to mislead its reader.
pub const HOSTILE: &str = "x\x1b[31m\u{202e}";

/// Errors of the system's, each of which may have a next step of its own.
pub const ERRNOS: [i32; 18] = [1, 2, 5, 13, 17, 20, 24, 28, 30, 32, 36, 98, 99, 101, 104, 110, 111, 122];

/// Both ends.
pub const SIDES: [Side; 2] = [Side::Here, Side::There];

/// All directions.
pub const DIRECTIONS: [Direction; 3] = [Direction::Sending, Direction::Receiving, Direction::Copying];

/// All operations.
pub const OPERATIONS: [Operation; 9] = [
    Operation::Open,
    Operation::Read,
    Operation::Write,
    Operation::Create,
    Operation::Rename,
    Operation::Metadata,
    Operation::Link,
    Operation::Sync,
    Operation::Remove,
];

/// Why entries fail. An overwritten file is cut short by the end of the copy or by an error.
pub const FAILURE_REASONS: [FailureReason; 16] = [
    FailureReason::Os { errno: 13 },
    FailureReason::SpecialFile,
    FailureReason::ChangedWhileReading,
    FailureReason::PathTooLong,
    FailureReason::InTheWay,
    FailureReason::LinkTargetMissing,
    FailureReason::Kept,
    FailureReason::SameFile,
    FailureReason::IntoItself,
    FailureReason::Differs,
    FailureReason::OwnFolder,
    FailureReason::DotName,
    FailureReason::HomeFolder,
    FailureReason::NameNotKept,
    FailureReason::CutShort { errno: 125 },
    FailureReason::CutShort { errno: 28 },
];

/// Why encryption runs in userspace.
pub const USER_TLS_REASONS: [UserTlsReason; 5] = [
    UserTlsReason::Asked,
    UserTlsReason::NotInKernel,
    UserTlsReason::ModuleNotLoaded,
    UserTlsReason::ModulesUnseen,
    UserTlsReason::Refused(1),
];

/// Why file IO runs on plain system calls.
pub const SYNC_IO_REASONS: [SyncIoReason; 7] = [
    SyncIoReason::Asked,
    SyncIoReason::Faster,
    SyncIoReason::NotInKernel,
    SyncIoReason::Forbidden,
    SyncIoReason::NoMemory,
    SyncIoReason::OpcodeMissing,
    SyncIoReason::Refused(1),
];

const STORE_TROUBLES: [StoreTrouble; 8] = [
    StoreTrouble::Full,
    StoreTrouble::NotWritable,
    StoreTrouble::NotReadable,
    StoreTrouble::Busy,
    StoreTrouble::DamagedDatabase,
    StoreTrouble::DamagedIdentity,
    StoreTrouble::Untrusted,
    StoreTrouble::Other,
];

/// What a disk may lack: bytes, entries, or both.
const SHORTAGES: [Shortage; 3] = [
    Shortage { needed: 2_000_000, free: 1_000, entries: 0 },
    Shortage { needed: 4, free: 4, entries: 1 },
    Shortage { needed: 9, free: 4, entries: 2 },
];

/// What stands between the two ends of a transfer.
pub fn outages() -> Vec<Outage> {
    let mut all = vec![Outage::Broken, Outage::Silent, Outage::Unreachable, Outage::Busy, Outage::TooManyOffers];
    all.extend(SHORTAGES.map(Outage::Full));
    all.extend(SIDES.map(|by| Outage::Paused { by }));
    all
}

/// Every reason at both ends, of an entry with that path; those of which the operation tells more,
/// with that, too.
pub fn failures(path: &PathText) -> Vec<Failure> {
    let reasons = FAILURE_REASONS.map(|reason| (reason, Operation::Write)).into_iter();
    let others = [(FailureReason::ChangedWhileReading, Operation::Read), (FailureReason::Differs, Operation::Rename)];
    let of = |(reason, operation)| SIDES.map(|side| Failure { path: path.clone(), side, operation, reason });
    reasons.chain(others).flat_map(of).collect()
}

/// At least one fault for each code, reason and sentence. `text` stands wherever a peer, a disk or
/// a person may have put text.
pub fn faults(text: &str) -> Vec<Fault> {
    let mut all = of_the_system(text);
    all.extend(of_this_device(text));
    all.extend(of_the_peer(text));
    all.extend(auth(text).into_iter().map(Fault::Auth));
    all.extend(declined().into_iter().map(Fault::Declined));
    all.extend(invalid(text).into_iter().map(Fault::Invalid));
    all
}

fn os(errno: i32) -> OsError {
    io::Error::from_raw_os_error(errno).into()
}

fn of_the_system(text: &str) -> Vec<Fault> {
    let path = || PathText::from(text);
    let mut all = Vec::new();
    for errno in ERRNOS {
        all.push(Fault::path(text, Operation::Open, os(errno)));
        all.push(Fault::unreachable("10.0.0.9:17464", os(errno)));
        all.push(Fault::listen("[::]:17464", os(errno)));
        all.push(Fault::ConnectionLost(os(errno)));
        all.push(Fault::AnswerLost(os(errno)));
    }
    all.push(Fault::listen(text, os(99)));
    all.push(Fault::unreachable(text, io::Error::other("no such host")));
    for published in [Vec::new(), vec![path()], vec![path(); 12]] {
        let (operation, source) = (Operation::Rename, os(17));
        all.push(Fault::NotPublished { path: path(), operation, source, published });
    }
    all.push(Fault::DestinationFull { shortage: None });
    all.extend(SHORTAGES.map(|shortage| Fault::DestinationFull { shortage: Some(shortage) }));
    all.extend([
        Fault::FewDescriptors { has: 1, least: 2 },
        Fault::machine("no"),
        Fault::DestinationGone,
        Fault::Discovery { detail: text.into() },
        Fault::Systemd { detail: text.into() },
        Fault::NoProgram,
        Fault::NoFileManager { path: path() },
    ]);
    all
}

fn of_this_device(text: &str) -> Vec<Fault> {
    let (path, text) = (|| PathText::from(text), || Text::from(text));
    let loadable = vec![Remedy::new(Aim::LoadTls, "x"), Remedy::new(Aim::KeepTls, "y")];
    let mut all = vec![Fault::NoKernelTls { reason: UserTlsReason::ModuleNotLoaded, remedies: loadable }];
    all.extend(USER_TLS_REASONS.map(|reason| Fault::NoKernelTls { reason, remedies: Vec::new() }));
    all.extend(SYNC_IO_REASONS.map(|reason| Fault::NoIoUring { reason }));
    for (line, nearest) in [(None, None), (Some(3), None), (Some(3), Some(text())), (None, Some(text()))] {
        all.push(Fault::Config { path: path(), line, detail: text(), nearest });
    }
    all.extend(STORE_TROUBLES.map(|trouble| Fault::Store { path: path(), trouble, detail: text() }));
    all.extend([
        Fault::UnknownTarget { target: text() },
        Fault::UnknownTarget { target: "fe80::1%x".into() },
        Fault::NotACode,
        Fault::UnknownWord { position: 1 },
        Fault::UnknownWord { position: 2 },
        Fault::CodeNumberTooLarge,
        Fault::Gone,
        Fault::TooManySent,
        Fault::NewTarget { what: path(), more: 1, to: text(), was: text() },
        Fault::ServiceNotRunning,
        Fault::ServiceGone,
        Fault::ServiceFailed { detail: text(), remedies: vec![Remedy::new(Aim::Serve, "ringway serve")] },
        Fault::ServiceDiffers { ours: text(), theirs: text(), remedies: vec![Remedy::who_listens(1)] },
        Fault::Other { detail: text() },
    ]);
    all
}

fn of_the_peer(text: &str) -> Vec<Fault> {
    let text = || Text::from(text);
    let mut all = Vec::new();
    for side in SIDES {
        all.extend([Fault::cancelled(side), Fault::paused(side), Fault::TooMuch { bytes_max: 20, by: side }]);
        all.push(Fault::NoLongerShared { by: side });
        all.push(Fault::Cancelled { by: side, kept: true });
    }
    all.extend([
        Fault::TurnedAway,
        Fault::Protocol { detail: text() },
        Fault::MisleadingName,
        Fault::ReceiptContradicts { detail: text() },
        Fault::Stalled { seconds: 600 },
        Fault::Version { ours: 1, theirs: 2 },
        Fault::Tls { detail: text() },
        Fault::FailedThere,
        Fault::PeerForgotten,
        Fault::ProgramEnded,
        Fault::Unanswered,
        Fault::Grown { bytes: 5 },
        Fault::NotShared { share: text() },
        Fault::NoDropBox { share: text() },
        Fault::NotServed,
        Fault::AskingStopped { seconds: 40 },
        Fault::AskingInterrupted { seconds: 30 },
        Fault::AnswerPaused,
        Fault::AnswerBusy,
    ]);
    all.extend(ShareTrouble::ALL.map(|trouble| Fault::ShareUnavailable { share: text(), trouble }));
    all.extend(NotFoundKind::ALL.map(|kind| Fault::not_found(kind, text())));
    let there = |errno| Fault::PathThere { path: (&*text()).into(), operation: Operation::Open, source: os(errno) };
    all.extend([2, 13, 20, 40, 95].map(there));
    all
}

/// One of each way in which two devices do not recognise each other.
pub fn auth(text: &str) -> Vec<AuthError> {
    let (id, found) = (DeviceId([7; 32]), DeviceId([9; 32]));
    let text = || Text::from(text);
    vec![
        AuthError::PairingNeeded { peer_name: text() },
        AuthError::WrongCode,
        AuthError::NoCodeOpen,
        AuthError::PairingBusy { wait_ms: 1_500 },
        AuthError::IdentityChanged { name: text(), expected: id, found },
        AuthError::Unconfirmed { last: text(), last_id: id, name: text(), found },
        AuthError::OtherAnswered { announced: text(), found },
        AuthError::Forgotten { name: text(), id, now: Some(found) },
        AuthError::Forgotten { name: text(), id, now: None },
        AuthError::Ourselves,
    ]
}

fn declined() -> Vec<DeclineReason> {
    vec![
        DeclineReason::ByChoice,
        DeclineReason::NoAnswer,
        DeclineReason::NoRoom(SHORTAGES[0]),
        DeclineReason::NoRoom(SHORTAGES[2]),
        DeclineReason::NotWritable,
        DeclineReason::Busy,
        DeclineReason::Paused,
        DeclineReason::Stopped,
        DeclineReason::TooManyOffers { wait_ms: 15_000 },
        DeclineReason::TooManyNotes { wait_ms: 15_000 },
        DeclineReason::NotesFull,
    ]
}

fn invalid(text: &str) -> Vec<Invalid> {
    let (path, text) = (|| PathText::from(text), || Text::from(text));
    vec![
        Invalid::NothingToSend,
        Invalid::SameName { name: path() },
        Invalid::NameTooLong { name: path() },
        Invalid::DeviceName,
        Invalid::NameTaken,
        Invalid::Note,
        Invalid::AmbiguousId,
        Invalid::AmbiguousName { name: text() },
        Invalid::UnknownDevice,
        Invalid::Port,
        Invalid::ReceiveFolder,
        Invalid::OwnFolder { folder: path() },
        Invalid::HomeFolder { folder: path() },
        Invalid::RuleFolder,
        Invalid::RuleSize,
        Invalid::ShareName,
        Invalid::ShareNameTaken { name: text() },
        Invalid::UnknownShare { name: text() },
        Invalid::SharedOwnFolder { folder: path() },
        Invalid::SharedHomeFolder { folder: path() },
        Invalid::DropInHome { folder: path() },
        Invalid::DropNotWritable { folder: path() },
        Invalid::TooManyShares,
        Invalid::ShareReference,
        Invalid::Limit,
        Invalid::PairingOff,
        Invalid::TransferId,
        Invalid::Running,
        Invalid::CannotPause,
        Invalid::CannotCancel,
        Invalid::PauseNotBegun,
        Invalid::PauseNoRetry,
        Invalid::PauseTooMany { max: 32 },
        Invalid::NoDestination,
        Invalid::TooMany,
        Invalid::Pattern { pattern: path() },
        Invalid::PatternPath { pattern: path() },
        Invalid::Option { detail: Cow::Borrowed("no") },
    ]
}
