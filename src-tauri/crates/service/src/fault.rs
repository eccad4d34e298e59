//! What the window is told when something failed: a small code with fields; the sentences are the
//! front end's.
#![expect(missing_docs, reason = "what a field's name says already is not said again: the bindings show both")]
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

use ringway_engine::error::Unavailable;
use ringway_engine::{
    AuthError, DeclineReason, Error, Failure, FailureReason, Invalid, SecretError, Shortage, UserTlsReason,
};
use ringway_model::{Operation, Side, StoreTrouble};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::login::LoginError;
use crate::remedy::{self, Remedy};
use crate::text::{shown, shown_text};

/// An operating system's error, for the front end's list of the common ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(rename_all = "camelCase")]
pub struct OsFault {
    /// The errno, if there is one.
    pub errno: Option<i32>,
    /// What the system calls it, in English.
    pub detail: String,
}

impl From<&io::Error> for OsFault {
    fn from(error: &io::Error) -> Self {
        Self { errno: error.raw_os_error().or_else(|| errno_of(error.kind())), detail: shown_text(&error.to_string()) }
    }
}

/// What the system would have called that which was found out by ourselves: a time that ran out, a
/// stream that ended.
fn errno_of(kind: io::ErrorKind) -> Option<i32> {
    let errno = match kind {
        io::ErrorKind::TimedOut => Errno::TIMEDOUT,
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => Errno::CONNRESET,
        _ => return None,
    };
    Some(errno.raw_os_error())
}

/// Why an offer was declined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(tag = "reason", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Declined {
    /// By a person or a rule.
    ByChoice,
    /// Nobody answered.
    NoAnswer,
    /// Not enough room.
    NoRoom {
        /// Bytes the offer needs.
        needed: u64,
        /// Bytes free there.
        free: u64,
        /// Files and folders for which there is no place.
        entries: u64,
    },
    /// The destination cannot be written to.
    NotWritable,
    /// Too many transfers at once.
    Busy,
    /// It goes on with what somebody there has paused.
    Paused,
    /// The receiver has stopped receiving.
    Stopped,
    /// Too many offers of this device came to nothing.
    TooManyOffers {
        /// Milliseconds until somebody may be asked about the next one.
        wait_ms: u32,
    },
    /// A reason newer than this program.
    Other,
}

impl From<DeclineReason> for Declined {
    fn from(reason: DeclineReason) -> Self {
        match reason {
            DeclineReason::ByChoice => Self::ByChoice,
            DeclineReason::NoAnswer => Self::NoAnswer,
            DeclineReason::NoRoom(Shortage { needed, free, entries }) => Self::NoRoom { needed, free, entries },
            DeclineReason::NotWritable => Self::NotWritable,
            DeclineReason::Busy => Self::Busy,
            DeclineReason::Paused => Self::Paused,
            DeclineReason::Stopped => Self::Stopped,
            DeclineReason::TooManyOffers { wait_ms } => Self::TooManyOffers { wait_ms },
            _ => Self::Other,
        }
    }
}

/// Why what was asked for is not acceptable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(tag = "reason", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Unfit {
    NothingToSend,
    /// Two sources have it, and would land on each other.
    SameName {
        name: String,
    },
    NameTooLong {
        name: String,
    },
    /// No name for a device.
    DeviceName,
    /// Another device is called that.
    NameTaken,
    UnknownDevice,
    /// Several devices' ids begin as was typed.
    AmbiguousId,
    /// A paired device and the host of another one have that name.
    AmbiguousName {
        name: String,
    },
    Port,
    ReceiveFolder,
    RuleFolder,
    /// Ringway's own, or in one of those.
    OwnFolder {
        folder: String,
    },
    /// Somebody's home, and nobody has said that it may be.
    HomeFolder {
        folder: String,
    },
    RuleSize,
    Limit,
    Running,
    CannotPause,
    /// No folder was chosen to copy into.
    NoDestination,
    /// More paths at once than are taken.
    TooMany,
    /// What only a terminal can ask for, or is newer than this program.
    Other,
}

impl From<&Invalid> for Unfit {
    fn from(why: &Invalid) -> Self {
        match why {
            Invalid::NothingToSend => Self::NothingToSend,
            Invalid::SameName(name) => Self::SameName { name: shown(name) },
            Invalid::NameTooLong(name) => Self::NameTooLong { name: shown(name) },
            Invalid::DeviceName => Self::DeviceName,
            Invalid::NameTaken => Self::NameTaken,
            Invalid::UnknownDevice => Self::UnknownDevice,
            Invalid::AmbiguousId => Self::AmbiguousId,
            Invalid::AmbiguousName(name) => Self::AmbiguousName { name: shown_text(name) },
            Invalid::Port => Self::Port,
            Invalid::ReceiveFolder => Self::ReceiveFolder,
            Invalid::RuleFolder => Self::RuleFolder,
            Invalid::OwnFolder(folder) => Self::OwnFolder { folder: shown(folder) },
            Invalid::HomeFolder(folder) => Self::HomeFolder { folder: shown(folder) },
            Invalid::RuleSize => Self::RuleSize,
            Invalid::Limit => Self::Limit,
            Invalid::Running => Self::Running,
            Invalid::CannotPause => Self::CannotPause,
            Invalid::NoDestination => Self::NoDestination,
            _ => Self::Other,
        }
    }
}

/// Everything that a command or a transfer can fail with, as the front end sees it. Text fields are
/// safe to show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(tag = "code", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Fault {
    /// A local path could not be used.
    Path { path: String, operation: Operation, os: OsFault },
    /// Neither a paired device nor an address.
    UnknownTarget { target: String },
    /// No answer at any address.
    Unreachable {
        target: String,
        os: OsFault,
        /// What lets its port in at the other machine, where a firewall of that one may be why.
        remedies: Vec<Remedy>,
    },
    /// The receiver could not listen.
    Listen { address: String, os: OsFault, remedies: Vec<Remedy> },
    /// The other device does not know us, and no code was given.
    PairingNeeded { peer: String },
    /// The code was wrong.
    WrongCode,
    /// What was typed cannot be a code.
    NotACode,
    /// No code has that word: 1 for the first, 2 for the second.
    UnknownWord { position: u8 },
    /// No code has a number that large.
    CodeNumberTooLarge,
    /// The other device has no code open.
    NoCodeOpen,
    /// Somebody else is pairing there.
    PairingBusy { wait_ms: u64 },
    /// A known device answered with another key.
    IdentityChanged { name: String, expected: String, found: String },
    /// No code was given, and at an address a paired device answers that was not the one reached
    /// there last: a person is asked first.
    Unconfirmed {
        /// The name of the device that was reached there last.
        last: String,
        /// What the device is called that answers now.
        name: String,
        /// The beginning of its id, as people compare it.
        found: String,
        /// Its id.
        id: String,
    },
    /// Another device answered than the one that announced itself there.
    OtherAnswered { announced: String, found: String },
    /// What was sent before went to a device that was forgotten since; `now` is the one that has
    /// its name now.
    Forgotten { name: String, id: String, now: Option<String> },
    /// A choice from the history went to `was` before: nobody confirmed outside the page that it
    /// may go to `to`. `what` is its first name.
    NewTarget { what: String, more: u64, to: String, was: String },
    /// That is this device.
    Ourselves,
    /// The receiver declined.
    Declined { why: Declined },
    /// Cancelled.
    Cancelled { by: Side },
    /// The connection ended before the receipt.
    ConnectionLost { os: OsFault },
    /// The peer broke the protocol.
    Protocol { detail: String },
    /// The receipt contradicts what was sent, the failures that were named, or itself.
    ReceiptContradicts { detail: String },
    /// The receiver took nothing more for too long.
    Stalled { seconds: u64 },
    /// No common protocol version.
    Version { ours: u16, theirs: u16 },
    /// Not a Ringway peer, or tampering.
    Tls { detail: String },
    /// Kernel TLS was demanded and is not to be had.
    NoKernelTls {
        /// What turns it on, where its module is not loaded.
        remedies: Vec<Remedy>,
    },
    /// io_uring was demanded and is not to be had.
    NoIoUring,
    /// The settings file says what is not acceptable; `detail` says what, in English.
    Config {
        path: String,
        line: Option<u32>,
        detail: String,
        /// The setting that was probably meant.
        nearest: Option<String>,
    },
    /// The settings, the identity or the trust store cannot be used.
    Store { path: String, trouble: StoreTrouble, detail: String },
    /// What was asked for is not acceptable; `what` says so in English.
    Invalid { why: Unfit, what: String },
    /// The destination ran out of room.
    DestinationFull {
        /// What is missing for the rest, as far as figures say.
        missing_bytes: u64,
        /// And files and folders for which there is no place.
        missing_entries: u64,
    },
    /// More came than the receiver's rule for this device lets in without asking; the next offer of
    /// the same is asked about.
    TooMuch { max_bytes: u64, by: Side },
    /// Somebody has paused it, and it was not resumed in time.
    Paused { by: Side },
    /// A person forgot the other device while something ran with it.
    PeerForgotten,
    /// The destination was removed meanwhile.
    DestinationGone,
    /// The other device could not go on, and says there why.
    FailedThere,
    /// The receiver closed the connection before anything was offered.
    TurnedAway,
    /// Nobody here answered an offer.
    Unanswered,
    /// An offer is larger by now than a yes to what was shown of it covers. It still waits.
    Grown { bytes: u64 },
    /// What the window refers to is gone: answered, withdrawn or forgotten meanwhile.
    Gone,
    /// More was sent at once than is remembered, to be sent again.
    TooManySent,
    /// The connection to the service of this machine has ended.
    ServiceGone,
    /// The service could not be started, or does not answer.
    ServiceFailed { detail: String, remedies: Vec<Remedy> },
    /// The service that runs is of another version.
    ServiceDiffers { ours: String, theirs: String, remedies: Vec<Remedy> },
    /// systemd does not let the service's unit be switched on or off.
    Systemd { detail: String },
    /// No `ringway` is found that will be there at the next login.
    NoProgram,
    /// No file manager could be started.
    NoFileManager { path: String },
    /// Something newer than this program, in English.
    Other { detail: String },
}

impl From<&AuthError> for Fault {
    fn from(error: &AuthError) -> Self {
        match error {
            AuthError::PairingNeeded { peer_name } => Self::PairingNeeded { peer: shown_text(peer_name) },
            AuthError::WrongCode => Self::WrongCode,
            AuthError::NoCodeOpen => Self::NoCodeOpen,
            AuthError::PairingBusy { wait_ms } => Self::PairingBusy { wait_ms: *wait_ms },
            AuthError::IdentityChanged { name, expected, found } => {
                Self::IdentityChanged { name: shown_text(name), expected: expected.short(), found: found.short() }
            }
            AuthError::Unconfirmed { last, name, found, last_id: _ } => Self::Unconfirmed {
                last: shown_text(last),
                name: shown_text(name),
                found: found.short(),
                id: found.to_string(),
            },
            AuthError::OtherAnswered { announced, found } => {
                Self::OtherAnswered { announced: shown_text(announced), found: found.short() }
            }
            AuthError::Forgotten { name, id, now } => {
                Self::Forgotten { name: shown_text(name), id: id.short(), now: now.map(|id| id.short()) }
            }
            AuthError::Ourselves => Self::Ourselves,
            other => Self::Other { detail: shown_text(&other.to_string()) },
        }
    }
}

impl From<&Error> for Fault {
    fn from(error: &Error) -> Self {
        match error {
            Error::Path { path, operation, source } | Error::NotPublished { path, operation, source, .. } => {
                Self::Path { path: shown(path), operation: *operation, os: source.into() }
            }
            Error::UnknownTarget(target) => Self::UnknownTarget { target: shown_text(target) },
            Error::Unreachable { target, source } => Self::unreachable(target, source),
            Error::Listen { address, source } => Self::Listen {
                address: shown_text(address),
                os: source.into(),
                remedies: remedy::taken(address, source.raw_os_error()),
            },
            Error::Auth(auth) => auth.into(),
            Error::Declined(reason) => Self::Declined { why: (*reason).into() },
            Error::Cancelled(side) => Self::Cancelled { by: *side },
            Error::ConnectionLost(source) => Self::ConnectionLost { os: source.into() },
            Error::Protocol(protocol) => Self::Protocol { detail: shown_text(&protocol.to_string()) },
            Error::ReceiptContradicts(how) => Self::ReceiptContradicts { detail: shown_text(how) },
            Error::Stalled { seconds } => Self::Stalled { seconds: *seconds },
            Error::Version { ours, theirs } => Self::Version { ours: *ours, theirs: *theirs },
            Error::Tls(detail) => Self::Tls { detail: shown_text(detail) },
            Error::NotAvailable(Unavailable::KernelTls(UserTlsReason::ModuleNotLoaded)) => {
                Self::NoKernelTls { remedies: remedy::kernel_tls(Path::new("/")) }
            }
            Error::NotAvailable(Unavailable::KernelTls(_)) => Self::NoKernelTls { remedies: Vec::new() },
            Error::NotAvailable(Unavailable::IoUring(_)) => Self::NoIoUring,
            Error::Config { path, line, reason, nearest } => Self::Config {
                path: shown(path),
                line: *line,
                detail: shown_text(reason),
                nearest: nearest.as_deref().map(shown_text),
            },
            Error::Store { path, trouble, reason } => {
                Self::Store { path: shown(path), trouble: *trouble, detail: shown_text(reason) }
            }
            Error::Invalid(why) => Self::Invalid { why: why.into(), what: shown_text(&why.to_string()) },
            Error::DestinationFull(shortage) => {
                let shortage = shortage.unwrap_or_default();
                Self::DestinationFull { missing_bytes: shortage.bytes(), missing_entries: shortage.entries }
            }
            Error::TooMuch { bytes_max, by } => Self::TooMuch { max_bytes: *bytes_max, by: *by },
            Error::Paused(side) => Self::Paused { by: *side },
            Error::PeerForgotten => Self::PeerForgotten,
            Error::DestinationGone => Self::DestinationGone,
            Error::FailedThere => Self::FailedThere,
            Error::TurnedAway => Self::TurnedAway,
            Error::Unanswered => Self::Unanswered,
            other => Self::Other { detail: shown_text(&other.to_string()) },
        }
    }
}

impl Fault {
    /// Nobody answers at `target`, which is `host:port`.
    pub(crate) fn unreachable(target: &str, source: &io::Error) -> Self {
        let os = OsFault::from(source);
        let remedies = remedy::in_the_way_to(target, os.errno);
        Self::Unreachable { target: shown_text(target), os, remedies }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::from(&error)
    }
}

impl From<LoginError> for Fault {
    fn from(error: LoginError) -> Self {
        match error {
            LoginError::Entry { path, operation, source } => {
                Self::Path { path: shown(path), operation, os: OsFault::from(&source) }
            }
            LoginError::Systemd(said) => Self::Systemd { detail: shown_text(said.trim_end_matches('.')) },
            LoginError::NoProgram => Self::NoProgram,
        }
    }
}

impl From<SecretError> for Fault {
    fn from(error: SecretError) -> Self {
        match error {
            SecretError::UnknownWord { position } => Self::UnknownWord { position },
            SecretError::NumberTooLarge => Self::CodeNumberTooLarge,
            _ => Self::NotACode,
        }
    }
}

/// Why one entry did not arrive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(tag = "why", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum EntryFault {
    /// The kernel said so.
    Os { os: OsFault },
    /// A socket, FIFO or device.
    SpecialFile,
    /// It changed while it was being read.
    ChangedWhileReading,
    /// Its path is too long.
    PathTooLong,
    /// Something of another kind has its name in the destination.
    InTheWay,
    /// The file that a hard link belongs to did not arrive.
    LinkTargetMissing,
    /// The existing file was kept, as asked.
    Kept,
    /// Source and destination are the same file.
    SameFile,
    /// A folder would be copied into itself.
    IntoItself,
    /// What was read back is not what was copied.
    Differs,
    /// It leads into Ringway's own folders.
    OwnFolder,
    /// It begins with a dot, at the top of a home folder.
    DotName,
    /// It leads into a home folder that nobody has allowed.
    HomeFolder,
    /// The filesystem in the destination cannot hold its name.
    NameNotKept,
    /// It was there before, and holds half of two versions now.
    CutShort,
    /// A reason newer than this program.
    Other,
}

/// One entry that did not arrive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(rename_all = "camelCase")]
pub struct EntryFailure {
    /// Its path, safe to show.
    pub path: String,
    /// Which end met it.
    pub side: Side,
    /// What was being done.
    pub operation: Operation,
    /// Why it failed.
    pub fault: EntryFault,
}

impl From<&Failure> for EntryFailure {
    fn from(failure: &Failure) -> Self {
        let fault = match failure.reason {
            FailureReason::Os(errno) => EntryFault::Os { os: (&io::Error::from_raw_os_error(errno)).into() },
            FailureReason::SpecialFile => EntryFault::SpecialFile,
            FailureReason::ChangedWhileReading => EntryFault::ChangedWhileReading,
            FailureReason::PathTooLong => EntryFault::PathTooLong,
            FailureReason::InTheWay => EntryFault::InTheWay,
            FailureReason::LinkTargetMissing => EntryFault::LinkTargetMissing,
            FailureReason::Kept => EntryFault::Kept,
            FailureReason::SameFile => EntryFault::SameFile,
            FailureReason::IntoItself => EntryFault::IntoItself,
            FailureReason::Differs => EntryFault::Differs,
            FailureReason::OwnFolder => EntryFault::OwnFolder,
            FailureReason::DotName => EntryFault::DotName,
            FailureReason::HomeFolder => EntryFault::HomeFolder,
            FailureReason::NameNotKept => EntryFault::NameNotKept,
            _ => EntryFault::Other,
        };
        Self { path: shown(&failure.path), side: failure.side, operation: failure.operation, fault }
    }
}

impl EntryFailure {
    /// One of a copy inside this machine, which writes over what is there in place.
    pub fn of_copy(failure: &Failure) -> Self {
        let told = Self::from(failure);
        if is_cut_short(failure) { Self { fault: EntryFault::CutShort, ..told } } else { told }
    }
}

/// Whether what was there before is incomplete now. The engine says so where the copy was stopped;
/// where the disk filled up, it tells by the time that it gives to such files, and to no others:
/// one that the copy had made is gone, and one that was to be exchanged is what it was.
fn is_cut_short(failure: &Failure) -> bool {
    let FailureReason::Os(errno) = failure.reason else { return false };
    let is = |known: Errno| errno == known.raw_os_error();
    let oldest = || failure.path.metadata().and_then(|there| there.modified()).is_ok_and(|time| time == UNIX_EPOCH);
    is(Errno::CANCELED) || ((is(Errno::NOSPC) || is(Errno::DQUOT)) && oldest())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn codes_are_words_and_fields_are_camel_case() {
        let fault = Fault::from(&Error::Auth(AuthError::PairingBusy { wait_ms: 1_500 }));
        assert_eq!(serde_json::to_string(&fault).unwrap(), r#"{"code":"pairingBusy","waitMs":1500}"#);
        let declined =
            Fault::from(&Error::Declined(DeclineReason::NoRoom(Shortage { needed: 9, free: 4, entries: 1 })));
        assert_eq!(
            serde_json::to_string(&declined).unwrap(),
            r#"{"code":"declined","why":{"reason":"noRoom","needed":9,"free":4,"entries":1}}"#
        );
    }

    #[test]
    fn a_peers_name_cannot_reorder_the_sentence() {
        let error = Error::Auth(AuthError::PairingNeeded { peer_name: "lab\u{202e}exe".into() });
        assert_eq!(Fault::from(&error), Fault::PairingNeeded { peer: "lab\\u{202e}exe".into() });
    }

    #[test]
    fn what_was_given_up_by_ourselves_is_called_what_the_system_calls_it() {
        let errno = |kind: io::ErrorKind| OsFault::from(&io::Error::from(kind)).errno;
        assert_eq!(errno(io::ErrorKind::TimedOut), Some(110));
        assert_eq!(errno(io::ErrorKind::UnexpectedEof), Some(104));
        assert_eq!(errno(io::ErrorKind::Other), None);
        let silent = Error::Unreachable { target: "10.0.0.9:17464".into(), source: io::ErrorKind::TimedOut.into() };
        let Fault::Unreachable { remedies, .. } = Fault::from(&silent) else { panic!() };
        assert_eq!(remedies, remedy::firewalls_elsewhere(17_464));
    }

    #[test]
    fn errno_survives() {
        let source = io::Error::from_raw_os_error(111);
        match Fault::from(&Error::Unreachable { target: "10.0.0.9:17464".into(), source }) {
            Fault::Unreachable { target, os, .. } => {
                assert_eq!((target.as_str(), os.errno), ("10.0.0.9:17464", Some(111)));
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_file_that_was_cut_short_is_told_from_one_that_is_as_it_was() {
        let there = tempfile::NamedTempFile::new().unwrap();
        let told = |errno: Errno, path: &Path| {
            let reason = FailureReason::Os(errno.raw_os_error());
            let failure = Failure { path: path.to_owned(), side: Side::Here, operation: Operation::Write, reason };
            EntryFailure::of_copy(&failure).fault == EntryFault::CutShort
        };
        assert!(!told(Errno::NOSPC, there.path()), "it was to be exchanged, and is what it was");
        there.as_file().set_modified(UNIX_EPOCH).unwrap();
        for errno in [Errno::CANCELED, Errno::NOSPC, Errno::DQUOT] {
            assert!(told(errno, there.path()), "{errno:?}");
        }
        assert!(!told(Errno::ACCESS, there.path()));
        assert!(!told(Errno::NOSPC, &there.path().join("gone")), "the copy had made it, and removed it");
    }
}
