//! What can fail, at what, and why. What people read of it is in [`crate::sentences`].
pub(crate) mod errno;
mod outage;
mod remedy;

use std::borrow::Cow;
use std::io;

use serde::{Deserialize, Serialize};

use crate::device::DeviceId;
use crate::text::{PathText, Text};
use crate::transfer::{Side, SyncIoReason, UserTlsReason};

use errno::{EACCES, ECONNREFUSED, ECONNRESET, EIO, ENETUNREACH, ENOENT, ENOTDIR, EPIPE, ETIMEDOUT};
pub use outage::{Interruption, Outage, Shortage};
pub use remedy::{Aim, Remedy};

/// An operation on a file or folder, for naming what failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Opening for reading or writing.
    Open,
    /// Reading contents or a folder's entries.
    Read,
    /// Writing contents.
    Write,
    /// Making a file, folder or link.
    Create,
    /// Giving the final name.
    Rename,
    /// Setting mode, times, owner or extended attributes.
    Metadata,
    /// Making a hard link to a file of the same transfer.
    Link,
    /// Synchronising to the medium.
    Sync,
}

/// What keeps a file of this device's own state from being used. Each kind has another remedy, and
/// none of them is to give up the identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StoreTrouble {
    /// Its disk, or a quota, is full.
    Full,
    /// It cannot be written: a read-only filesystem, or permissions.
    NotWritable,
    /// Permissions keep this user from reading it.
    NotReadable,
    /// Another program keeps it locked.
    Busy,
    /// The database is damaged, or is none.
    DamagedDatabase,
    /// The identity is damaged.
    DamagedIdentity,
    /// Others can change or read it; the reason says what to do.
    Untrusted,
    /// Something else, which the reason names.
    Other,
}

/// An error of the operating system's: what [`io::Error`] says, to be kept, compared and sent.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OsError {
    /// The errno value, if there is one (errno(3)).
    pub errno: Option<i32>,
    /// What the system calls it, in English, without the number.
    pub detail: Text,
    /// For branching on.
    #[serde(skip, default = "other")]
    kind: io::ErrorKind,
}

fn other() -> io::ErrorKind {
    io::ErrorKind::Other
}

impl OsError {
    /// The errno value, if there is one.
    pub fn raw_os_error(&self) -> Option<i32> {
        self.errno
    }

    /// What kind of error it is.
    pub fn kind(&self) -> io::ErrorKind {
        match self.errno {
            Some(errno) if self.kind == io::ErrorKind::Other => io::Error::from_raw_os_error(errno).kind(),
            _ => self.kind,
        }
    }
}

impl std::fmt::Display for OsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.detail.fmt(f)
    }
}

impl std::error::Error for OsError {}

impl PartialEq for OsError {
    fn eq(&self, other: &Self) -> bool {
        (self.errno, &self.detail) == (other.errno, &other.detail)
    }
}

impl Eq for OsError {}

impl From<&io::Error> for OsError {
    fn from(error: &io::Error) -> Self {
        let text = error.to_string();
        let detail = text.split(" (os error ").next().unwrap_or_default();
        Self {
            errno: error.raw_os_error().or_else(|| errno_of(error.kind())),
            detail: detail.into(),
            kind: error.kind(),
        }
    }
}

impl From<io::Error> for OsError {
    fn from(error: io::Error) -> Self {
        Self::from(&error)
    }
}

impl From<io::ErrorKind> for OsError {
    fn from(kind: io::ErrorKind) -> Self {
        Self::from(&io::Error::from(kind))
    }
}

/// The number of what is told by its kind alone: a time that ran out here, a stream that ended, or
/// what this program found by itself.
fn errno_of(kind: io::ErrorKind) -> Option<i32> {
    match kind {
        io::ErrorKind::NotFound => Some(ENOENT),
        io::ErrorKind::PermissionDenied => Some(EACCES),
        io::ErrorKind::NotADirectory => Some(ENOTDIR),
        io::ErrorKind::NetworkUnreachable => Some(ENETUNREACH),
        io::ErrorKind::ConnectionRefused => Some(ECONNREFUSED),
        io::ErrorKind::TimedOut => Some(ETIMEDOUT),
        io::ErrorKind::BrokenPipe => Some(EPIPE),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => Some(ECONNRESET),
        _ => None,
    }
}

/// Why one entry of a tree was not moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum FailureReason {
    /// The kernel refused it, at the side that met it.
    Os {
        /// The errno value (errno(3)).
        errno: i32,
    },
    /// A socket, FIFO or device: not something that can be sent.
    SpecialFile,
    /// It changed while it was being read; the copy there is not to be trusted and was not made.
    ChangedWhileReading,
    /// Its path is longer than the wire's limit.
    PathTooLong,
    /// Something of another kind, or a symlink where a folder should be, has that name in the
    /// destination.
    InTheWay,
    /// The file that this hard link belongs to did not arrive.
    LinkTargetMissing,
    /// The destination's policy kept the existing file (only with `keep`; not a failure, but
    /// named).
    Kept,
    /// Source and destination are the same file (copies inside one machine).
    SameFile,
    /// A folder that would be copied into itself, or the copy itself, met inside its source.
    IntoItself,
    /// What was read back from the destination is not what was read from the source.
    Differs,
    /// It leads into Ringway's own folders at the receiver, or would replace a link on the way
    /// there.
    OwnFolder,
    /// Its name begins with a dot, and the receiver takes no such names at the top of a home
    /// folder.
    DotName,
    /// It leads into a home folder below the receive folder, which nobody has allowed at the
    /// receiver.
    HomeFolder,
    /// The destination's filesystem cannot hold its name: what is made under it gets another one,
    /// which may be another entry's.
    NameNotKept,
    /// It was there before a copy, which was writing over it when it was stopped (ECANCELED) or the
    /// disk refused more: it holds half of two versions.
    CutShort {
        /// The errno value.
        errno: i32,
    },
}

impl FailureReason {
    /// What the kernel said; EIO where it said nothing.
    pub fn of(error: &io::Error) -> Self {
        Self::Os { errno: error.raw_os_error().unwrap_or(EIO) }
    }
}

/// One entry that was not moved, or not wholly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "FailureJson", from = "FailureJson")]
pub struct Failure {
    /// Path within the transfer, or as the person gave it; any bytes.
    pub path: PathText,
    /// Which end met it.
    pub side: Side,
    /// What was being done.
    pub operation: Operation,
    /// Why it failed.
    pub reason: FailureReason,
}

/// [`Failure`] as it is serialised.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename = "Failure")]
struct FailureJson {
    /// Path within the transfer, or as the person gave it; any bytes.
    #[serde(flatten)]
    path: PathText,
    /// Which end met it.
    side: Side,
    /// What was being done.
    operation: Operation,
    /// Why it failed.
    #[serde(flatten)]
    reason: FailureReason,
    /// What the system calls the reason, where it is the system's, in English.
    detail: Option<Text>,
}

impl From<Failure> for FailureJson {
    fn from(failure: Failure) -> Self {
        let Failure { path, side, operation, reason } = failure;
        let detail = match reason {
            FailureReason::Os { errno } | FailureReason::CutShort { errno } => {
                Some(OsError::from(io::Error::from_raw_os_error(errno)).detail)
            }
            _ => None,
        };
        Self { path, side, operation, reason, detail }
    }
}

impl From<FailureJson> for Failure {
    fn from(json: FailureJson) -> Self {
        Self { path: json.path, side: json.side, operation: json.operation, reason: json.reason }
    }
}

#[cfg(feature = "bindings")]
impl specta::Type for Failure {
    fn definition(types: &mut specta::Types) -> specta::datatype::DataType {
        FailureJson::definition(types)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Failure {
    fn schema_name() -> Cow<'static, str> {
        FailureJson::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        FailureJson::json_schema(generator)
    }
}

/// Why an offer was declined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum DeclineReason {
    /// A person, or a rule of theirs, said no.
    ByChoice,
    /// Nobody answered in time.
    NoAnswer,
    /// Not enough free space.
    NoRoom(Shortage),
    /// The destination cannot be written to.
    NotWritable,
    /// Too many transfers at once.
    Busy,
    /// It would continue a transfer that a person there has paused.
    Paused,
    /// The receiver has stopped receiving.
    Stopped,
    /// Too many offers of the device came to nothing: nobody is asked about the next one before the
    /// wait is over.
    TooManyOffers {
        /// Milliseconds to wait; seconds in JSON.
        #[serde(rename = "wait_seconds", with = "crate::time::seconds::of_ms")]
        #[cfg_attr(feature = "bindings", specta(type = u32))]
        #[cfg_attr(feature = "schema", schemars(with = "f64"))]
        wait_ms: u32,
    },
}

/// Why pairing, or recognising a peer, failed. Exit code 5 of the command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum AuthError {
    /// The two do not know each other and no code was given: ask for one and try again.
    PairingNeeded {
        /// The name the peer gives itself: untrusted text.
        peer_name: Text,
    },
    /// The code was wrong.
    WrongCode,
    /// The peer has no code open: expired, burnt by wrong attempts, or pairing is off.
    NoCodeOpen,
    /// Another pairing with this code is under way, or attempts come too fast; try again after the
    /// wait.
    PairingBusy {
        /// Milliseconds to wait; seconds in JSON.
        #[serde(rename = "wait_seconds", with = "crate::time::seconds::of_ms")]
        #[cfg_attr(feature = "bindings", specta(type = u32))]
        #[cfg_attr(feature = "schema", schemars(with = "f64"))]
        wait_ms: u64,
    },
    /// Where a known device was meant, by its name or its address, another key answered: an
    /// impostor or a reinstalled machine.
    IdentityChanged {
        /// The known device's name.
        name: Text,
        /// The id on record.
        expected: DeviceId,
        /// The id that answered.
        found: DeviceId,
    },
    /// No code was given, and at an address a paired device answers that was not the one reached
    /// there last: a person is asked before anything is offered.
    Unconfirmed {
        /// The name of the device that was reached there last.
        last: Text,
        /// Its id.
        last_id: DeviceId,
        /// What the device is called that answers now.
        name: Text,
        /// Its id.
        found: DeviceId,
    },
    /// Another device answered than the one that announced itself at that address.
    OtherAnswered {
        /// How the announced id begins, as people compare it.
        announced: Text,
        /// The id that answered.
        found: DeviceId,
    },
    /// What was sent before went to a device that was forgotten since: nobody else gets it without
    /// being named.
    Forgotten {
        /// What it was called.
        name: Text,
        /// Its id.
        id: DeviceId,
        /// The id of the device that has this name now, if there is one.
        now: Option<DeviceId>,
    },
    /// The peer is ourselves.
    Ourselves,
}

/// What a call or a transfer failed with. In JSON `code` says which, and never changes once
/// published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Fault {
    /// The process may open too few descriptors for what was asked of it (RLIMIT_NOFILE), also at
    /// its hard limit.
    FewDescriptors {
        /// The limit.
        has: u64,
        /// The least that will do.
        least: u64,
    },
    /// An operation on a local path.
    Path {
        /// The path.
        path: PathText,
        /// What was being done.
        operation: Operation,
        /// What the kernel said.
        source: OsError,
    },
    /// All of a transfer is there, but a final name in the destination was refused. What is whole
    /// is kept, and the same send resumes with it.
    NotPublished {
        /// The name that it was to have.
        path: PathText,
        /// What was being done.
        operation: Operation,
        /// What the kernel said.
        source: OsError,
        /// The first top-level paths that have their names.
        published: Vec<PathText>,
    },
    /// The target is neither a paired device's name nor an address.
    UnknownTarget {
        /// What was given.
        target: Text,
    },
    /// The peer could not be reached at any of its addresses.
    Unreachable {
        /// What was tried, as `host:port`.
        target: Text,
        /// The last address's error.
        source: OsError,
        /// What lets its port in at the other machine, where a firewall of that one may be why.
        remedies: Vec<Remedy>,
    },
    /// Listening failed, for example because the port is taken.
    Listen {
        /// What was asked for.
        address: Text,
        /// What the kernel said.
        source: OsError,
        /// What shows who has the port.
        remedies: Vec<Remedy>,
    },
    /// The receiver declined.
    Declined(DeclineReason),
    /// Cancelled, here or there.
    Cancelled {
        /// Where.
        by: Side,
        /// Whether what arrived was to be kept at the receiver, so that the same send resumes.
        #[serde(default)]
        kept: bool,
    },
    /// The connection ended before the receipt.
    ConnectionLost(OsError),
    /// The receiver closed the connection before anything was offered: it has no place for more
    /// connections, or ends.
    TurnedAway,
    /// The peer broke the protocol.
    Protocol {
        /// How, in English.
        detail: Text,
    },
    /// The other device has a name that reads as an id or an address, which no device may have.
    MisleadingName,
    /// The receipt contradicts what was sent, the failures that were named, or itself: what arrived
    /// is not known.
    ReceiptContradicts {
        /// How, in English.
        detail: Text,
    },
    /// The receiver took nothing more, and claimed no work of its own, for as long as was to be
    /// waited, or was at its own work for longer than any disk takes. What is whole there is kept.
    Stalled {
        /// How long.
        seconds: u64,
    },
    /// The peer speaks no version that we speak.
    Version {
        /// Our version.
        ours: u16,
        /// Theirs.
        theirs: u16,
    },
    /// TLS failed: not a Ringway peer, or tampering.
    Tls {
        /// How, in English.
        detail: Text,
    },
    /// Kernel TLS was demanded and is unavailable on this machine.
    NoKernelTls {
        /// Why.
        reason: UserTlsReason,
        /// What turns it on, where its module is not loaded.
        remedies: Vec<Remedy>,
    },
    /// io_uring was demanded and is unavailable on this machine.
    NoIoUring {
        /// Why.
        reason: SyncIoReason,
    },
    /// The settings file says what is not acceptable.
    Config {
        /// The file.
        path: PathText,
        /// The line, counted from 1, where one is to blame.
        line: Option<u32>,
        /// What is wrong there, in English.
        detail: Text,
        /// The setting that was probably meant, where its name is misspelt.
        nearest: Option<Text>,
    },
    /// The settings, the identity or the trust store cannot be used.
    Store {
        /// The file or folder.
        path: PathText,
        /// What kind of trouble it is, for the remedy.
        trouble: StoreTrouble,
        /// What was wrong with it, in English.
        detail: Text,
    },
    /// What was asked for is not acceptable.
    Invalid(Invalid),
    /// This machine does not give what is needed, or something went wrong inside.
    Machine {
        /// What, in English.
        detail: Cow<'static, str>,
    },
    /// The other side failed during the transfer, and says why itself.
    FailedThere,
    /// The destination ran out of free space during the transfer, or the copy.
    DestinationFull {
        /// What it has and lacks; none where there are no figures.
        shortage: Option<Shortage>,
    },
    /// Nothing can be announced on the local network, or heard there.
    Discovery {
        /// What the mDNS library says.
        detail: Text,
    },
    /// More was found, or came, than the receiver lets in without asking a person: what is whole is
    /// kept, and the same offered again is asked about.
    TooMuch {
        /// What it lets in, in bytes of contents.
        bytes_max: u64,
        /// Whose rule that is: [`Side::Here`] at the receiver.
        by: Side,
    },
    /// A person has paused it, and it was not resumed in time. What is whole is kept.
    Paused {
        /// Where.
        by: Side,
    },
    /// A person here forgot the other device while the transfer ran. Unfinished files are removed,
    /// as with a cancel.
    PeerForgotten,
    /// The destination was removed, renamed or unmounted during the transfer.
    DestinationGone,
    /// Nobody here answered an offer before it was withdrawn, or in time.
    Unanswered,
    /// An offer is larger by now than a yes to what was shown of it covers. It still waits.
    Grown {
        /// What it has by now, in bytes of contents.
        bytes: u64,
    },
    /// What a client refers to is gone: answered, withdrawn or forgotten meanwhile.
    Gone,
    /// More was sent at once than is remembered, to be sent again.
    TooManySent,
    /// A choice from the history went to `was` before: nobody confirmed outside the page that it
    /// may go to `to`.
    NewTarget {
        /// The first name of what is to be sent.
        what: PathText,
        /// How many names there are beyond that.
        more: u64,
        /// The new target.
        to: Text,
        /// The target before.
        was: Text,
    },
    /// What was typed cannot be a code.
    NotACode,
    /// No code has that word.
    UnknownWord {
        /// 1 for the first, 2 for the second.
        position: u8,
    },
    /// No code has a number that large.
    CodeNumberTooLarge,
    /// The connection to the service of this machine has ended.
    ServiceGone,
    /// The service could not be started, or does not answer.
    ServiceFailed {
        /// How, in English.
        detail: Text,
        /// What shows why.
        remedies: Vec<Remedy>,
    },
    /// The service that runs is of another version.
    ServiceDiffers {
        /// This program's version.
        ours: Text,
        /// The service's.
        theirs: Text,
        /// What replaces it.
        remedies: Vec<Remedy>,
    },
    /// systemd does not let the service's unit be switched on or off.
    Systemd {
        /// What it says.
        detail: Text,
    },
    /// No `ringway` is found that will be there at the next login.
    NoProgram,
    /// No file manager could be started.
    NoFileManager {
        /// What was to be shown.
        path: PathText,
    },
    /// What a past transfer failed with, or what a newer program says, where only words are known.
    Other {
        /// The words, in English.
        detail: Text,
    },
    /// Authentication failed. Its own codes stand beside those above.
    #[serde(untagged)]
    Auth(AuthError),
}

impl From<AuthError> for Fault {
    fn from(error: AuthError) -> Self {
        Self::Auth(error)
    }
}

impl Fault {
    /// An operation on a local path.
    pub fn path(path: impl Into<PathText>, operation: Operation, source: impl Into<OsError>) -> Self {
        Self::Path { path: path.into(), operation, source: source.into() }
    }

    /// The connection ended before the receipt.
    pub fn lost(source: impl Into<OsError>) -> Self {
        Self::ConnectionLost(source.into())
    }

    /// The peer could not be reached at `target`, which is `host:port`.
    pub fn unreachable(target: impl Into<Text>, source: impl Into<OsError>) -> Self {
        let (target, source) = (target.into(), source.into());
        let remedies = Remedy::against_firewall_at(&target, source.errno);
        Self::Unreachable { target, source, remedies }
    }

    /// Listening on `address`, which is `host:port`, failed.
    pub fn listen(address: impl Into<Text>, source: impl Into<OsError>) -> Self {
        let (address, source) = (address.into(), source.into());
        let remedies = Remedy::for_taken_port(&address, source.errno);
        Self::Listen { address, source, remedies }
    }

    /// Cancelled on that side; what arrived is removed.
    pub const fn cancelled(by: Side) -> Self {
        Self::Cancelled { by, kept: false }
    }

    /// Paused on that side, and not resumed in time.
    pub const fn paused(by: Side) -> Self {
        Self::Paused { by }
    }

    /// This machine does not give what is needed.
    pub const fn machine(detail: &'static str) -> Self {
        Self::Machine { detail: Cow::Borrowed(detail) }
    }

    /// An option of a call is not acceptable.
    pub const fn option(detail: &'static str) -> Self {
        Self::Invalid(Invalid::Option { detail: Cow::Borrowed(detail) })
    }

    /// An error on a file or folder of this device's own state.
    pub fn of_state(path: impl Into<PathText>, operation: Operation, source: &io::Error) -> Self {
        let trouble = match (source.kind(), operation) {
            (io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded, _) => StoreTrouble::Full,
            (io::ErrorKind::ReadOnlyFilesystem, _) => StoreTrouble::NotWritable,
            (io::ErrorKind::PermissionDenied, Operation::Open | Operation::Read) => StoreTrouble::NotReadable,
            (io::ErrorKind::PermissionDenied, _) => StoreTrouble::NotWritable,
            _ => StoreTrouble::Other,
        };
        Self::Store { path: path.into(), trouble, detail: OsError::from(source).detail }
    }

    /// Its stable code, as in JSON.
    pub fn code(&self) -> String {
        let value = serde_json::to_value(self).unwrap_or_default();
        value["code"].as_str().unwrap_or("other").to_owned()
    }

    /// The outage that it is, where nobody refused, stopped or broke anything: the same may go well
    /// later.
    pub fn outage(&self) -> Option<Outage> {
        use io::ErrorKind::{InvalidData, Other, TimedOut};
        match self {
            // What was altered on the way, and what went wrong inside, comes again.
            Self::ConnectionLost(error) if matches!(error.kind(), InvalidData | Other) => None,
            Self::ConnectionLost(error) if error.kind() == TimedOut => Some(Outage::Silent),
            Self::ConnectionLost(_) | Self::TurnedAway => Some(Outage::Broken),
            Self::Unreachable { .. } => Some(Outage::Unreachable),
            _ => None,
        }
    }
}

/// What is not acceptable of what was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Invalid {
    /// No source.
    NothingToSend,
    /// Two sources have this name, and would land on each other.
    SameName {
        /// The name.
        name: PathText,
    },
    /// A source's name is longer than a name can be: 255 bytes.
    NameTooLong {
        /// The name.
        name: PathText,
    },
    /// No name for a device.
    DeviceName,
    /// Another device is called that.
    NameTaken,
    /// The beginning of an id with which several devices' ids begin.
    AmbiguousId,
    /// A paired device has that name, and another one was reached at the host of that name.
    AmbiguousName {
        /// The name.
        name: Text,
    },
    /// The device was forgotten meanwhile, or was never paired.
    UnknownDevice,
    /// Port 0, which stands for any.
    Port,
    /// A receive folder that a settings file cannot name.
    ReceiveFolder,
    /// A folder to receive into that is one of Ringway's own, or lies in one.
    OwnFolder {
        /// The folder.
        folder: PathText,
    },
    /// A folder to receive into that is somebody's home, where nobody has said that it may be one.
    HomeFolder {
        /// The folder.
        folder: PathText,
    },
    /// A rule's folder that means another one elsewhere.
    RuleFolder,
    /// A rule that lets in nothing, or more than any disk has.
    RuleSize,
    /// A limit that is none.
    Limit,
    /// There are no codes where nobody can pair.
    PairingOff,
    /// Not the id of a transfer.
    TransferId,
    /// The same transfer, a second time.
    Running,
    /// A pause would be its end.
    CannotPause,
    /// Copying into no folder.
    NoDestination,
    /// More paths at once than are taken.
    TooMany,
    /// An option that a terminal can give, and the window cannot.
    Option {
        /// What is wrong with it, in English.
        detail: Cow<'static, str>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn os() -> OsError {
        io::Error::from_raw_os_error(13).into()
    }

    /// One of each that carries something, and of those without fields two.
    fn faults() -> Vec<Fault> {
        let id = DeviceId([7; 32]);
        let name = || Text::from("nas\u{202e}");
        let shortage = Shortage { needed: 9, free: 4, entries: 1 };
        let auth = [
            AuthError::PairingNeeded { peer_name: name() },
            AuthError::WrongCode,
            AuthError::NoCodeOpen,
            AuthError::PairingBusy { wait_ms: 1_500 },
            AuthError::IdentityChanged { name: name(), expected: id, found: DeviceId([9; 32]) },
            AuthError::Unconfirmed { last: name(), last_id: id, name: name(), found: id },
            AuthError::OtherAnswered { announced: name(), found: id },
            AuthError::Forgotten { name: name(), id, now: Some(id) },
            AuthError::Forgotten { name: name(), id, now: None },
            AuthError::Ourselves,
        ];
        let declined = [
            DeclineReason::ByChoice,
            DeclineReason::NoRoom(shortage),
            DeclineReason::Busy,
            DeclineReason::TooManyOffers { wait_ms: 15_000 },
        ];
        let invalid = [
            Invalid::NothingToSend,
            Invalid::SameName { name: "odd\u{1}".into() },
            Invalid::AmbiguousName { name: name() },
            Invalid::HomeFolder { folder: "/home/me".into() },
            Invalid::Option { detail: Cow::Borrowed("no") },
        ];
        let mut all = vec![
            Fault::FewDescriptors { has: 1, least: 2 },
            Fault::path("/a", Operation::Open, os()),
            Fault::NotPublished {
                path: "/a".into(),
                operation: Operation::Rename,
                source: os(),
                published: vec!["b".into()],
            },
            Fault::UnknownTarget { target: name() },
            Fault::unreachable("10.0.0.9:17464", io::ErrorKind::TimedOut),
            Fault::listen("[::]:17464", io::Error::from_raw_os_error(98)),
            Fault::cancelled(Side::There),
            Fault::Cancelled { by: Side::Here, kept: true },
            Fault::lost(io::ErrorKind::UnexpectedEof),
            Fault::TurnedAway,
            Fault::Version { ours: 1, theirs: 2 },
            Fault::NoKernelTls { reason: UserTlsReason::Refused(1), remedies: Vec::new() },
            Fault::NoIoUring { reason: SyncIoReason::Forbidden },
            Fault::Config { path: "/c".into(), line: None, detail: name(), nearest: Some(name()) },
            Fault::Store { path: "/s".into(), trouble: StoreTrouble::Busy, detail: name() },
            Fault::machine("no"),
            Fault::DestinationFull { shortage: None },
            Fault::DestinationFull { shortage: Some(shortage) },
            Fault::TooMuch { bytes_max: 20, by: Side::Here },
            Fault::NewTarget { what: "a".into(), more: 1, to: name(), was: name() },
            Fault::ServiceDiffers { ours: name(), theirs: name(), remedies: vec![Remedy::who_listens(1)] },
            Fault::Other { detail: name() },
        ];
        all.extend(auth.map(Fault::Auth));
        all.extend(declined.map(Fault::Declined));
        all.extend(invalid.map(Fault::Invalid));
        all
    }

    #[test]
    fn every_fault_has_a_code_and_survives_json() {
        for fault in faults() {
            let json = serde_json::to_string(&fault).unwrap();
            let code = fault.code();
            assert!(json.contains(&format!("\"code\":\"{code}\"")), "{json}");
            assert!(code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{code}");
            let back: Fault = serde_json::from_str(&json).unwrap();
            assert_eq!(serde_json::to_string(&back).unwrap(), json);
            assert_eq!(std::mem::discriminant(&back), std::mem::discriminant(&fault), "{json}");
        }
    }

    #[test]
    fn nothing_that_misleads_is_in_the_json_of_a_fault() {
        for fault in faults() {
            let value = serde_json::to_value(&fault).unwrap();
            assert!(!value.to_string().chars().any(crate::misleading::misleads), "{value}");
        }
    }

    #[test]
    fn time_that_ran_out_here_has_the_systems_number() {
        let errno = |kind: io::ErrorKind| OsError::from(kind).errno;
        assert_eq!(errno(io::ErrorKind::TimedOut), Some(110));
        assert_eq!(errno(io::ErrorKind::UnexpectedEof), Some(104));
        assert_eq!(errno(io::ErrorKind::BrokenPipe), Some(32));
        assert_eq!(errno(io::ErrorKind::Other), None);
        let silent = Fault::unreachable("10.0.0.9:17464", io::ErrorKind::TimedOut);
        let Fault::Unreachable { remedies, .. } = silent else { panic!() };
        assert_eq!(remedies, Remedy::firewalls_elsewhere(17_464));
    }
}
