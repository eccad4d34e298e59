//! What can go wrong, sorted by who is at fault; words for people are the programs' business.
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use ringway_model::{Operation, Side, StoreTrouble};
use ringway_wire::ProtocolError;
use ringway_wire::control::Shortage;

use crate::device::DeviceId;
use crate::event::Outage;

/// Why one entry of a tree was not moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailureReason {
    /// The kernel said so: an errno value of the side that met it.
    Os(i32),
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
}

/// One entry that was not moved, or not wholly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Path within the transfer, or as the person gave it; any bytes.
    pub path: PathBuf,
    /// Which end met it.
    pub side: Side,
    /// What was being done.
    pub operation: Operation,
    /// Why it failed.
    pub reason: FailureReason,
}

/// Why an offer was declined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeclineReason {
    /// A person, or a rule of theirs, said no.
    ByChoice,
    /// Nobody answered in time.
    NoAnswer,
    /// Not enough room.
    NoRoom(Shortage),
    /// The destination cannot be written to.
    NotWritable,
    /// Too many transfers at once.
    Busy,
    /// It is what a person there has paused.
    Paused,
    /// The receiver has stopped receiving.
    Stopped,
    /// Too many offers of the device came to nothing: nobody is asked about the next one before the
    /// wait is over.
    TooManyOffers {
        /// Milliseconds to wait.
        wait_ms: u32,
    },
}

/// Why pairing, or recognising a peer, failed. Exit code 5 of the command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AuthError {
    /// The two do not know each other and no code was given: ask for one and try again.
    #[error("pairing needed")]
    PairingNeeded {
        /// The name the peer gives itself: untrusted text.
        peer_name: String,
    },
    /// The code was wrong.
    #[error("wrong code")]
    WrongCode,
    /// The peer has no code open: expired, burnt by wrong tries, or pairing is off.
    #[error("no code open")]
    NoCodeOpen,
    /// Another pairing with this code is under way, or tries come too fast; try again after the
    /// wait.
    #[error("pairing busy")]
    PairingBusy {
        /// Milliseconds to wait.
        wait_ms: u64,
    },
    /// Where a known device was meant, by its name or its address, another key answered: an
    /// impostor or a reinstalled machine.
    #[error("known device has another key")]
    IdentityChanged {
        /// The known device's name.
        name: String,
        /// The id on record.
        expected: DeviceId,
        /// The id that answered.
        found: DeviceId,
    },
    /// No code was given, and at an address a paired device answers that was not the one reached
    /// there last: a person is asked before anything is offered.
    #[error("another paired device answered")]
    Unconfirmed {
        /// The name of the device that was reached there last.
        last: String,
        /// Its id.
        last_id: DeviceId,
        /// What the device is called that answers now.
        name: String,
        /// Its id.
        found: DeviceId,
    },
    /// Another device answered than the one that announced itself at that address.
    #[error("another device answered than was announced")]
    OtherAnswered {
        /// How the announced id begins, as people compare it.
        announced: String,
        /// The id that answered.
        found: DeviceId,
    },
    /// What was sent before went to a device that was forgotten since: nobody else gets it without
    /// being named.
    #[error("that device was forgotten")]
    Forgotten {
        /// What it was called.
        name: String,
        /// Its id.
        id: DeviceId,
        /// The id of the device that has this name now, if there is one.
        now: Option<DeviceId>,
    },
    /// The peer is ourselves.
    #[error("that is this device")]
    Ourselves,
}

/// What an engine call or a transfer failed with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The process may open too few descriptors for what was asked of it (RLIMIT_NOFILE), also at
    /// its hard limit.
    #[error("{has} descriptors are too few: {least} are needed")]
    FewDescriptors {
        /// The limit.
        has: u64,
        /// The least that will do.
        least: u64,
    },
    /// An operation on a local path.
    #[error("{operation:?} {path}: {source}", path = path.display())]
    Path {
        /// The path.
        path: PathBuf,
        /// What was being done.
        operation: Operation,
        /// What the kernel said.
        source: io::Error,
    },
    /// All of a transfer is there, but a final name in the destination was refused. What is whole
    /// is kept, and the same send goes on with it.
    #[error("{operation:?} {path}: {source}", path = path.display())]
    NotPublished {
        /// The name that it was to have.
        path: PathBuf,
        /// What was being done.
        operation: Operation,
        /// What the kernel said.
        source: io::Error,
        /// The first top-level paths that have their names.
        published: Vec<PathBuf>,
    },
    /// The target is neither a paired device's name nor an address.
    #[error("no device or address called {0:?}")]
    UnknownTarget(String),
    /// The peer could not be reached at any of its addresses.
    #[error("cannot reach {target}: {source}")]
    Unreachable {
        /// What was tried, as `host:port`.
        target: String,
        /// The last address's error.
        source: io::Error,
    },
    /// Listening failed, the port being taken for one.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// What was asked for.
        address: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// Authentication failed.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// The receiver declined.
    #[error("declined: {0:?}")]
    Declined(DeclineReason),
    /// Cancelled, here or there.
    #[error("cancelled by {0:?}")]
    Cancelled(Side),
    /// The connection ended before the receipt.
    #[error("connection lost: {0}")]
    ConnectionLost(io::Error),
    /// The receiver closed the connection before anything was offered: it has no place for more
    /// connections, or ends.
    #[error("turned away")]
    TurnedAway,
    /// The peer broke the protocol.
    #[error("protocol error: {0}")]
    Protocol(#[source] ProtocolError),
    /// The receipt contradicts what was sent, the failures that were named, or itself: what arrived
    /// is not known.
    #[error("the receipt contradicts what was sent: {0}")]
    ReceiptContradicts(String),
    /// The receiver took nothing more, and claimed no work of its own, for as long as was to be
    /// waited ([`timeout`](crate::options::SendRequest::timeout)), or was at its own work for
    /// longer than any disk takes. What is whole there is kept.
    #[error("nothing was taken for {seconds} s")]
    Stalled {
        /// How long.
        seconds: u64,
    },
    /// The peer speaks no version that we speak.
    #[error("peer speaks protocol {theirs}, we speak {ours}")]
    Version {
        /// Our version.
        ours: u16,
        /// Theirs.
        theirs: u16,
    },
    /// TLS failed: not a Ringway peer, or tampering.
    #[error("TLS: {0}")]
    Tls(String),
    /// A path the person asked for (`--tls kernel`, `--io uring`) is not to be had on this machine.
    #[error("not available here: {0:?}")]
    NotAvailable(Unavailable),
    /// The settings file says what is not acceptable.
    #[error("{path}, line {}: {reason}", line.unwrap_or(1), path = path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1, where one is to blame.
        line: Option<u32>,
        /// What is wrong there.
        reason: String,
        /// The setting that was probably meant, where its name is misspelt.
        nearest: Option<String>,
    },
    /// The settings, the identity or the trust store cannot be used.
    #[error("store {path}: {reason}", path = path.display())]
    Store {
        /// The file or folder.
        path: PathBuf,
        /// What kind of trouble it is, for the remedy.
        trouble: StoreTrouble,
        /// What was wrong with it.
        reason: String,
    },
    /// What was asked for is not acceptable.
    #[error("not acceptable: {0}")]
    Invalid(Invalid),
    /// This machine does not give what is needed, or something went wrong inside.
    #[error("{0}")]
    Machine(&'static str),
    /// The other side failed during the transfer, and says why itself.
    #[error("the other side failed")]
    FailedThere,
    /// The destination ran out of room during the transfer, or the copy, of which there are no
    /// figures.
    #[error("destination full")]
    DestinationFull(Option<Shortage>),
    /// Nothing can be announced on the local network, or heard there: what the mDNS library says.
    #[error("discovery: {0}")]
    Discovery(String),
    /// More was found, or came, than the receiver lets in without asking a person: what is whole is
    /// kept, and the same offered again is asked about.
    #[error("more than {bytes_max} bytes")]
    TooMuch {
        /// What it lets in, in bytes of contents.
        bytes_max: u64,
        /// Whose rule that is: [`Side::Here`] at the receiver.
        by: Side,
    },
    /// A person has paused it, and it was not resumed in time. What is whole is kept.
    #[error("paused by {0:?}")]
    Paused(Side),
    /// A person here forgot the other device while the transfer ran. Unfinished files are removed,
    /// as with a cancel.
    #[error("the device was forgotten")]
    PeerForgotten,
    /// The destination was removed, renamed or unmounted during the transfer.
    #[error("destination removed")]
    DestinationGone,
    /// Nobody here answered an offer before it was taken back, or in time: what the history calls
    /// one that came to nothing so.
    #[error("not answered")]
    Unanswered,
    /// What a past transfer failed with, where its words are all that was kept of it.
    #[error("{0}")]
    Recorded(String),
}

impl From<ProtocolError> for Error {
    fn from(error: ProtocolError) -> Self {
        match error {
            ProtocolError::Receipt { .. } => Self::ReceiptContradicts(error.to_string()),
            // The network's silence, or a sleeping machine's: no other version of the protocol.
            ProtocolError::Silent => Self::ConnectionLost(io::ErrorKind::TimedOut.into()),
            error => Self::Protocol(error),
        }
    }
}

impl Error {
    /// What the kernel says to an operation on a file or folder of this device's own state.
    pub(crate) fn of_state(path: &Path, operation: Operation, source: &io::Error) -> Self {
        let trouble = match (source.kind(), operation) {
            (io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded, _) => StoreTrouble::Full,
            (io::ErrorKind::ReadOnlyFilesystem, _) => StoreTrouble::NotWritable,
            (io::ErrorKind::PermissionDenied, Operation::Open | Operation::Read) => StoreTrouble::NotReadable,
            (io::ErrorKind::PermissionDenied, _) => StoreTrouble::NotWritable,
            _ => StoreTrouble::Other,
        };
        let reason = source.to_string();
        // Without the number that io::Error adds.
        let reason = reason.split(" (os error ").next().unwrap_or_default().to_owned();
        Self::Store { path: path.to_owned(), trouble, reason }
    }

    /// What came between the two, where nobody refused, stopped or broke anything: the same may go
    /// well later.
    pub(crate) fn outage(&self) -> Option<Outage> {
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
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Invalid {
    /// No source.
    #[error("there is nothing to send or copy")]
    NothingToSend,
    /// Two sources have this name, and would land on each other.
    #[error("two sources have the same name, {}", .0.display())]
    SameName(OsString),
    /// A source's name is longer than a name can be: 255 bytes.
    #[error("a source's name is too long: {}", .0.display())]
    NameTooLong(OsString),
    /// No name for a device.
    #[error(
        "a device's name is 1 to 64 bytes of visible text without blanks around it; it has no colon, no dot, and does not read as an id (8 or more hex digits)"
    )]
    DeviceName,
    /// Another device is called that.
    #[error("another device has that name")]
    NameTaken,
    /// The beginning of an id with which several devices' ids begin.
    #[error("several devices' ids begin so: give more of it, or the name")]
    AmbiguousId,
    /// A paired device has that name, and another one was reached at the host of that name.
    #[error(
        "{0:?} is the name of a paired device and the host at which another one was reached: give the device's id, or the host with a port"
    )]
    AmbiguousName(String),
    /// The device was forgotten meanwhile, or was never paired.
    #[error("that device is not known")]
    UnknownDevice,
    /// Port 0, which stands for any.
    #[error("port 0 cannot be stored")]
    Port,
    /// A receive folder that a settings file cannot name.
    #[error("the receive folder must be an absolute path in UTF-8")]
    ReceiveFolder,
    /// A folder to receive into that is one of Ringway's own, or lies in one.
    #[error("{} belongs to Ringway itself: nothing is received into it", .0.display())]
    OwnFolder(PathBuf),
    /// A folder to receive into that is somebody's home, where nobody has said that it may be one.
    #[error("{} is a home folder", .0.display())]
    HomeFolder(PathBuf),
    /// A rule's folder that means another one elsewhere.
    #[error("a rule's folder must be an absolute path")]
    RuleFolder,
    /// A rule that lets in nothing, or more than any disk has.
    #[error("a rule lets in 1 byte to 8 EiB; a device of which nothing is wanted is refused")]
    RuleSize,
    /// A limit that is none.
    #[error("a limit is 1 kB to 1 PB a second")]
    Limit,
    /// There are no codes where nobody can pair.
    #[error("pairing is off")]
    PairingOff,
    /// Not the id of a transfer.
    #[error("that is no transfer's id")]
    TransferId,
    /// The same transfer, a second time.
    #[error("that transfer is running already")]
    Running,
    /// A pause would be its end.
    #[error("only a transfer that is under way, and may be tried again, can be paused")]
    CannotPause,
    /// Copying into no folder.
    #[error("no folder was chosen to copy into")]
    NoDestination,
    /// An option that a terminal can give, and the window cannot.
    #[error("{0}")]
    Option(&'static str),
}

/// A path that was demanded and is not to be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unavailable {
    /// Kernel TLS was demanded.
    KernelTls(crate::path_taken::UserTlsReason),
    /// io_uring was demanded.
    IoUring(crate::path_taken::SyncIoReason),
}
