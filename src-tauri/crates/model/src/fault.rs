//! What can fail, at what, and why. [`crate::sentences`] has the sentences that people read about
//! it.
pub(crate) mod errno;
mod outage;
mod remedy;
#[cfg(any(test, feature = "samples"))]
pub mod samples;
mod share;

use std::borrow::Cow;
use std::io;
use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use crate::device::DeviceId;
use crate::text::{PathText, Text};
use crate::transfer::{Side, SyncIoReason, UserTlsReason};

use errno::{EACCES, ECONNREFUSED, ECONNRESET, EIO, ENETUNREACH, ENOENT, ENOTDIR, EPIPE, ETIMEDOUT};
pub use outage::{Interruption, Outage, Shortage};
pub use remedy::{Aim, Remedy};
pub use share::ShareTrouble;

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
    /// Removing a name.
    Remove,
}

/// Why a file of this device's own state cannot be used. Each kind has its own remedy, and none of
/// them is to give up the identity.
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
    /// The database is damaged, or the file is no database.
    DamagedDatabase,
    /// The identity is damaged.
    DamagedIdentity,
    /// Others can change or read it; the reason says what to do.
    Untrusted,
    /// Something else, which the reason names.
    Other,
}

/// An error of the operating system: the facts of an [`io::Error`], in a form that can be kept,
/// compared and sent.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OsError {
    /// The errno value, if there is one (errno(3)).
    pub errno: Option<i32>,
    /// The system's message for it, in English, without the number.
    pub detail: Text,
    /// The kind, for code that branches on it.
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

/// The errno for errors that have only a kind: a timeout here, a stream that ended, or an error
/// that this program found itself.
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
    /// The kernel refused it, at the side that reports it.
    Os {
        /// The errno value (errno(3)).
        errno: i32,
    },
    /// A socket, FIFO or device: not something that can be sent.
    SpecialFile,
    /// It changed while it was being read: a copy could not be trusted, so none was made. Reported
    /// by the receiver of a transfer that is verified: somebody changed it after it had arrived, so
    /// it was left as it is.
    ChangedWhileReading,
    /// Its path is longer than the wire's limit.
    PathTooLong,
    /// Its name in the destination is taken by an entry of another kind, or by a symlink where a
    /// folder should be.
    InTheWay,
    /// The file that this hard link belongs to did not arrive.
    LinkTargetMissing,
    /// The destination's policy kept the existing file (only with `keep`; this is not a failure,
    /// but is listed).
    Kept,
    /// Source and destination are the same file (copies inside one machine).
    SameFile,
    /// A folder that would be copied into itself; or the copy itself, found inside its source.
    IntoItself,
    /// The bytes read back from the destination differ from those read from the source. The
    /// receiver of a transfer has removed the file, or has renamed it (operation `rename`), with
    /// `(not verified)` in its name.
    Differs,
    /// Its path leads into Ringway's own folders at the receiver, or would replace a link on the
    /// way there.
    OwnFolder,
    /// Its name begins with a dot, and the receiver takes no such names at the top of a home
    /// folder.
    DotName,
    /// Its path leads into a home folder below the receive folder, and nobody has allowed that at
    /// the receiver.
    HomeFolder,
    /// The destination's filesystem cannot hold its name: it would change the name, perhaps to that
    /// of another entry.
    NameNotKept,
    /// It existed before a copy that was stopped (ECANCELED), or for which the disk had no more
    /// room, while writing over it: it now holds parts of two versions.
    CutShort {
        /// The errno value.
        errno: i32,
    },
}

impl FailureReason {
    /// The reason for the kernel's error; EIO if the error has no errno.
    pub fn of(error: &io::Error) -> Self {
        Self::Os { errno: error.raw_os_error().unwrap_or(EIO) }
    }
}

/// One entry that was not moved, or not completely.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "FailureJson", from = "FailureJson")]
pub struct Failure {
    /// Path within the transfer, or as the person gave it; any bytes.
    pub path: PathText,
    /// The end that reports it.
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
    /// The end that reports it.
    side: Side,
    /// What was being done.
    operation: Operation,
    /// Why it failed.
    #[serde(flatten)]
    reason: FailureReason,
    /// The system's message for the reason, in English, if the reason is the system's.
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
    /// A person declined, or a person's rule did.
    ByChoice,
    /// Nobody answered in time.
    NoAnswer,
    /// Not enough free space.
    NoRoom(Shortage),
    /// The destination cannot be written to.
    NotWritable,
    /// Too many transfers run at once.
    Busy,
    /// It would continue a transfer that a person there has paused.
    Paused,
    /// The receiver has stopped receiving.
    Stopped,
    /// Too many offers of the device were not accepted: nobody is asked about the next one before
    /// the wait is over.
    TooManyOffers {
        /// Milliseconds to wait; seconds in JSON.
        #[serde(rename = "wait_seconds", with = "crate::time::seconds::of_ms")]
        #[cfg_attr(feature = "bindings", specta(type = u32))]
        #[cfg_attr(feature = "schema", schemars(with = "f64"))]
        wait_ms: u32,
    },
    /// The device has sent too many notes: none is taken before the wait is over.
    TooManyNotes {
        /// Milliseconds to wait; seconds in JSON.
        #[serde(rename = "wait_seconds", with = "crate::time::seconds::of_ms")]
        #[cfg_attr(feature = "bindings", specta(type = u32))]
        #[cfg_attr(feature = "schema", schemars(with = "f64"))]
        wait_ms: u32,
    },
    /// So many notes there were not read that there is no place for another one.
    NotesFull,
}

/// Why pairing, or recognising a peer, failed. Exit code 5 of the command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum AuthError {
    /// The two devices do not know each other, and no code was given: ask for one and try again.
    PairingNeeded {
        /// The name that the peer gives itself: untrusted text.
        peer_name: Text,
    },
    /// The code was wrong.
    WrongCode,
    /// The peer has no code open: the code expired or was used up by wrong attempts, or pairing is
    /// off.
    NoCodeOpen,
    /// Another pairing with this code is running, or attempts come too fast; try again after the
    /// wait.
    PairingBusy {
        /// Milliseconds to wait; seconds in JSON.
        #[serde(rename = "wait_seconds", with = "crate::time::seconds::of_ms")]
        #[cfg_attr(feature = "bindings", specta(type = u32))]
        #[cfg_attr(feature = "schema", schemars(with = "f64"))]
        wait_ms: u64,
    },
    /// A known device was the target, by its name or address, and another key answered: an impostor
    /// or a reinstalled machine.
    IdentityChanged {
        /// The known device's name.
        name: Text,
        /// The id on record.
        expected: DeviceId,
        /// The id that answered.
        found: DeviceId,
    },
    /// No code was given, and the paired device that answers at the address is not the one that was
    /// last reached there: a person is asked before anything is offered.
    Unconfirmed {
        /// The name of the device that was last reached there.
        last: Text,
        /// Its id.
        last_id: DeviceId,
        /// The name of the device that answers now.
        name: Text,
        /// Its id.
        found: DeviceId,
    },
    /// The device that answered is not the one that announced itself at that address.
    OtherAnswered {
        /// How the announced id begins, as people compare it.
        announced: Text,
        /// The id that answered.
        found: DeviceId,
    },
    /// The earlier transfer was with a device that has been forgotten since: there is none with
    /// another device unless that is named.
    Forgotten {
        /// What it was called.
        name: Text,
        /// Its id.
        id: DeviceId,
        /// The id of the device that has this name now, if there is one.
        now: Option<DeviceId>,
    },
    /// The peer is this device itself.
    Ourselves,
}

/// What a call or a transfer failed with. In JSON `code` says which, and never changes once
/// published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Fault {
    /// The process may open too few descriptors for the request (RLIMIT_NOFILE), even at its hard
    /// limit.
    FewDescriptors {
        /// The limit.
        has: u64,
        /// The smallest limit that is enough.
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
    /// Everything has arrived, but an entry could not be given its final name in the destination.
    /// What is complete is kept, and the same send continues with it.
    NotPublished {
        /// The final name that was refused.
        path: PathText,
        /// What was being done.
        operation: Operation,
        /// What the kernel said.
        source: OsError,
        /// The first top-level paths that did get their names.
        published: Vec<PathText>,
    },
    /// The other device has no share of that name that this device may read. It does not say which:
    /// a share of others is not revealed.
    NotShared {
        /// The name that was asked for.
        share: Text,
    },
    /// The other device has no drop box of that name for this device. It does not say whether it
    /// has a share of that name: one of others is not revealed.
    NoDropBox {
        /// The name that was asked for.
        share: Text,
    },
    /// The program that runs at the other device serves no requests: it only receives.
    NotServed,
    /// The other device shares that folder with this one, and cannot read it now.
    ShareUnavailable {
        /// The share's name.
        share: Text,
        /// Why.
        trouble: ShareTrouble,
    },
    /// An operation on a path in a share of the other device.
    PathThere {
        /// The share's name and the path in it.
        path: PathText,
        /// What was being done.
        operation: Operation,
        /// What the kernel said there.
        source: OsError,
    },
    /// The connection ended before the other device had answered what was asked about its shares.
    AnswerLost(OsError),
    /// This program was stopped (SIGSTOP, Ctrl-Z) for so long that the other device ended the
    /// connection, before it had answered what was asked about its shares.
    AskingStopped {
        /// For how long.
        seconds: u64,
    },
    /// Nothing could be asked about the other device's shares for so long, in the session of what
    /// is got from it: that is paused, interrupted or not connected yet.
    AskingInterrupted {
        /// For how long.
        seconds: u64,
    },
    /// No more of a listing was read for so long that the other device gave its place to others.
    AnswerPaused,
    /// The other device answers as many questions about shares, or has as many connections, as it
    /// may.
    AnswerBusy,
    /// The target is neither a paired device's name nor an address.
    UnknownTarget {
        /// The text that was given.
        target: Text,
    },
    /// The peer could not be reached at any of its addresses.
    Unreachable {
        /// The addresses that were tried, as `host:port`.
        target: Text,
        /// The error at the last address.
        source: OsError,
        /// Commands that open the port at the other machine, if its firewall may be the reason.
        remedies: Vec<Remedy>,
    },
    /// Listening failed, for example because the port is taken.
    Listen {
        /// The address that was asked for.
        address: Text,
        /// What the kernel said.
        source: OsError,
        /// Commands that show which program has the port.
        remedies: Vec<Remedy>,
    },
    /// The receiver declined.
    Declined(DeclineReason),
    /// Cancelled, here or there.
    Cancelled {
        /// The side that cancelled.
        by: Side,
        /// Whether what arrived was to be kept at the receiver, so that the same send resumes.
        #[serde(default)]
        kept: bool,
    },
    /// The connection ended before the receipt.
    ConnectionLost(OsError),
    /// The receiver closed a new connection before anything was sent on it: it has no place for
    /// another one, or is ending.
    TurnedAway,
    /// The peer broke the protocol.
    Protocol {
        /// How, in English.
        detail: Text,
    },
    /// The other device has a name that reads as an id or an address, which no device may have.
    MisleadingName,
    /// The receipt contradicts what was sent, the failures that were listed, or itself: it is
    /// unknown what arrived.
    ReceiptContradicts {
        /// How, in English.
        detail: Text,
    },
    /// For the whole time limit, the receiver took nothing more and reported no work of its own; or
    /// its own work took longer than any disk needs. What is complete there is kept.
    Stalled {
        /// The time, in seconds.
        seconds: u64,
    },
    /// The peer speaks no protocol version that this device speaks.
    Version {
        /// This device's version.
        ours: u16,
        /// The peer's version.
        theirs: u16,
    },
    /// TLS failed: the peer is not Ringway, or somebody tampers with the connection.
    Tls {
        /// How, in English.
        detail: Text,
    },
    /// Kernel TLS was required, and is unavailable on this machine.
    NoKernelTls {
        /// Why.
        reason: UserTlsReason,
        /// Commands that turn it on, if its module is not loaded.
        remedies: Vec<Remedy>,
    },
    /// io_uring was required, and is unavailable on this machine.
    NoIoUring {
        /// Why.
        reason: SyncIoReason,
    },
    /// The settings file has an invalid value.
    Config {
        /// The file.
        path: PathText,
        /// The line, counted from 1, if the error is in one line.
        line: Option<u32>,
        /// What is wrong, in English.
        detail: Text,
        /// The setting that was probably meant, where its name is misspelt.
        nearest: Option<Text>,
    },
    /// The settings, the identity or the trust store cannot be used.
    Store {
        /// The file or folder.
        path: PathText,
        /// The kind of trouble, which decides the remedy.
        trouble: StoreTrouble,
        /// What is wrong with it, in English.
        detail: Text,
    },
    /// The request is invalid.
    Invalid(Invalid),
    /// This machine lacks something that is needed, or an internal error happened.
    Machine {
        /// What, in English.
        detail: Cow<'static, str>,
    },
    /// The other side failed during the transfer, and reports the reason itself.
    FailedThere,
    /// The destination ran out of free space during the transfer, or the copy.
    DestinationFull {
        /// What it has and lacks; none if there are no figures.
        shortage: Option<Shortage>,
    },
    /// This device can announce nothing on the local network, or hears nothing there.
    Discovery {
        /// The message of the mDNS library.
        detail: Text,
    },
    /// The sender found or sent more than the receiver accepts without asking a person. What is
    /// complete is kept, and a person is asked when the same is offered again.
    TooMuch {
        /// The most that it accepts, in bytes of contents.
        bytes_max: u64,
        /// Whose rule that is: [`Side::Here`] at the receiver.
        by: Side,
    },
    /// A person has paused it, and nobody resumed it in time. What is complete is kept.
    Paused {
        /// The side that paused it.
        by: Side,
    },
    /// A person here forgot the other device while the transfer ran. Its unfinished files are
    /// removed.
    PeerForgotten,
    /// The right to read what is got has ended while it was got: it is not shared with that device
    /// any more, or the device was forgotten. What arrived is kept.
    NoLongerShared {
        /// The side that shared it.
        by: Side,
    },
    /// The destination was removed, renamed or unmounted during the transfer.
    DestinationGone,
    /// The program that moved it ended before it did: it was stopped or killed, or the device lost
    /// power. The figures are those that were noted last.
    ProgramEnded,
    /// Nobody here answered an offer in time, or before it was withdrawn.
    Unanswered,
    /// An offer has grown beyond the size that was shown when it was accepted. It still waits.
    Grown {
        /// Its size now, in bytes of contents.
        bytes: u64,
    },
    /// A client refers to something that is gone: it was answered, withdrawn or forgotten
    /// meanwhile.
    Gone,
    /// Nothing of that kind has the name, id or number that was given.
    NotFound {
        /// What was looked for.
        kind: NotFoundKind,
        /// The name, id or number that was given.
        name: Text,
    },
    /// Not all of what was selected is remembered, so it cannot be sent or got again.
    TooManySent,
    /// An entry of the history was sent to `was` before, and nobody has confirmed outside the page
    /// that it may be sent to `to`.
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
    /// The typed text cannot be a code.
    NotACode,
    /// No code contains that word.
    UnknownWord {
        /// 1 for the first word, 2 for the second.
        position: u8,
    },
    /// No code has a number that large.
    CodeNumberTooLarge,
    /// The service of this machine is not running.
    ServiceNotRunning,
    /// The connection to the service of this machine has ended.
    ServiceGone,
    /// The service could not be started, or does not answer.
    ServiceFailed {
        /// How, in English.
        detail: Text,
        /// Commands that show why.
        remedies: Vec<Remedy>,
    },
    /// The running service has another version than this program.
    ServiceDiffers {
        /// This program's version.
        ours: Text,
        /// The service's.
        theirs: Text,
        /// Commands that replace it.
        remedies: Vec<Remedy>,
    },
    /// systemd does not let the service's unit be switched on or off.
    Systemd {
        /// The message of systemd.
        detail: Text,
    },
    /// No `ringway` was found that will still exist at the next login.
    NoProgram,
    /// No file manager could be started.
    NoFileManager {
        /// The path that was to be shown.
        path: PathText,
    },
    /// An error that is known only by its sentence: of a past transfer, or from a newer program.
    Other {
        /// The sentence, in English.
        detail: Text,
    },
    /// Authentication failed. Its own codes are on the same level as those above.
    #[serde(untagged)]
    Auth(AuthError),
}

/// What a [`Fault::NotFound`] looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum NotFoundKind {
    /// A paired device, by its name or the beginning of its id.
    Device,
    /// An offer that waits for an answer, by a device's name or an id.
    Offer,
    /// A request to pair, by a device's name or an id.
    PairingRequest,
    /// A blocked device, by its name or an id.
    BlockedDevice,
    /// A transfer that runs or waits, by a device's name or an id.
    Transfer,
    /// A transfer of the history, by its number.
    PastTransfer,
    /// A note, by its number.
    Note,
    /// An unfinished transfer, by its id.
    Unfinished,
    /// A receiver on the local network, by the number of the code that it shows.
    Receiver,
}

impl NotFoundKind {
    /// All of them.
    #[cfg(any(test, feature = "samples"))]
    pub const ALL: [Self; 9] = [
        Self::Device,
        Self::Offer,
        Self::PairingRequest,
        Self::BlockedDevice,
        Self::Transfer,
        Self::PastTransfer,
        Self::Note,
        Self::Unfinished,
        Self::Receiver,
    ];
}

/// A device that failed to pair with this one, or to be recognised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurnedAway {
    /// The address that it came from.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    #[cfg_attr(feature = "bindings", specta(type = String))]
    pub from: IpAddr,
    /// Why.
    #[serde(flatten)]
    pub why: AuthError,
    /// Wrong attempts left for this code. None if that is not what failed.
    pub attempts_left: Option<u8>,
}

impl TurnedAway {
    /// That came from there. An IPv4 address on a socket for both families looks like
    /// `::ffff:10.0.0.7`, and is kept as IPv4.
    pub fn new(from: SocketAddr, why: AuthError, attempts_left: Option<u8>) -> Self {
        Self { from: from.ip().to_canonical(), why, attempts_left }
    }
}

impl From<Invalid> for Fault {
    fn from(invalid: Invalid) -> Self {
        Self::Invalid(invalid)
    }
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

    /// Nothing of that kind has this name, id or number.
    pub fn not_found(kind: NotFoundKind, name: impl Into<Text>) -> Self {
        Self::NotFound { kind, name: name.into() }
    }

    /// Paused on that side, and not resumed in time.
    pub const fn paused(by: Side) -> Self {
        Self::Paused { by }
    }

    /// This machine lacks something that is needed.
    pub const fn machine(detail: &'static str) -> Self {
        Self::Machine { detail: Cow::Borrowed(detail) }
    }

    /// An option of a call is invalid.
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

    /// The outage that this fault is, if no person refused or stopped anything and neither side
    /// made an error: the same transfer may succeed later.
    pub fn outage(&self) -> Option<Outage> {
        use io::ErrorKind::{InvalidData, Other, TimedOut};
        match self {
            // Data that was altered on the way, and internal errors, would fail again.
            Self::ConnectionLost(error) if matches!(error.kind(), InvalidData | Other) => None,
            Self::ConnectionLost(error) if error.kind() == TimedOut => Some(Outage::Silent),
            Self::ConnectionLost(_) | Self::TurnedAway => Some(Outage::Broken),
            Self::Unreachable { .. } => Some(Outage::Unreachable),
            _ => None,
        }
    }
}

/// Why a request is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Invalid {
    /// There is nothing to send.
    NothingToSend,
    /// Two sources have this name, so that one would replace the other.
    SameName {
        /// The name.
        name: PathText,
    },
    /// A source's name is longer than a name can be: 255 bytes.
    NameTooLong {
        /// The name.
        name: PathText,
    },
    /// This cannot be a device's name.
    DeviceName,
    /// Another device has that name.
    NameTaken,
    /// The ids of several devices begin with these digits.
    AmbiguousId,
    /// A paired device has that name, and another device was reached at the host of that name.
    AmbiguousName {
        /// The name.
        name: Text,
    },
    /// The device was forgotten meanwhile, or was never paired.
    UnknownDevice,
    /// Port 0, which means any port.
    Port,
    /// A receive folder whose path a settings file cannot hold.
    ReceiveFolder,
    /// A receive folder that is one of Ringway's own folders, or lies in one.
    OwnFolder {
        /// The folder.
        folder: PathText,
    },
    /// A receive folder that is a home folder, which nobody has allowed.
    HomeFolder {
        /// The folder.
        folder: PathText,
    },
    /// A rule's folder with a relative path, which would mean another folder elsewhere.
    RuleFolder,
    /// A rule with a size of nothing, or of more than any disk has.
    RuleSize,
    /// This cannot be the name of a share.
    ShareName,
    /// Another folder is shared under that name.
    ShareNameTaken {
        /// The name.
        name: Text,
    },
    /// No folder is shared here under that name.
    UnknownShare {
        /// The name.
        name: Text,
    },
    /// A folder to share that is one of Ringway's own folders, or lies in one.
    SharedOwnFolder {
        /// The folder.
        folder: PathText,
    },
    /// A folder to share that is a home folder or holds this user's, which nobody has allowed.
    SharedHomeFolder {
        /// The folder.
        folder: PathText,
    },
    /// A folder that is to be a drop box, and is a home folder or contains one.
    DropInHome {
        /// The folder.
        folder: PathText,
    },
    /// A folder that is to be a drop box, and into which this user may not write.
    DropNotWritable {
        /// The folder.
        folder: PathText,
    },
    /// More folders are to be shared than are remembered.
    TooManyShares,
    /// The text does not name a share of a device, or a path in one.
    ShareReference,
    /// The rate limit is too small or too large.
    Limit,
    /// There is no code, because nobody can pair.
    PairingOff,
    /// This is not the id of a transfer.
    TransferId,
    /// The same transfer is running already.
    Running,
    /// It is finishing or has ended, so that nothing of it can be paused.
    CannotPause,
    /// It is finishing or has ended, so that nothing of it can be cancelled.
    CannotCancel,
    /// It does not run yet, so that nothing of it can be paused.
    PauseNotBegun,
    /// A pause would end it: it is not retried after an interruption.
    PauseNoRetry,
    /// A pause would end it: as many other transfers of its device are unfinished here as are
    /// remembered.
    PauseTooMany {
        /// How many.
        max: u32,
    },
    /// No destination was chosen for a copy.
    NoDestination,
    /// More paths at once than are accepted.
    TooMany,
    /// A pattern that leaves entries out and that cannot match: a bracket has no end, a class of
    /// characters does not exist, or nothing follows a backslash.
    Pattern {
        /// The pattern.
        pattern: PathText,
    },
    /// A pattern whose path no entry has: a part of it is `.`, `..` or empty.
    PatternPath {
        /// The pattern.
        pattern: PathText,
    },
    /// A note is empty or too long.
    Note,
    /// An option that can be given in a terminal, but not in the window.
    Option {
        /// What is wrong with it, in English.
        detail: Cow<'static, str>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of each, with text that misleads.
    fn faults() -> Vec<Fault> {
        crate::samples::faults("nas\u{202e}\u{1}")
    }

    #[test]
    fn mapped_addresses_are_shown_as_ipv4() {
        let from = |text: &str| TurnedAway::new(text.parse().unwrap(), AuthError::WrongCode, Some(2)).from.to_string();
        assert_eq!(from("[::ffff:10.0.0.7]:80"), "10.0.0.7");
        assert_eq!(from("[2001:db8::1]:80"), "2001:db8::1");
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
