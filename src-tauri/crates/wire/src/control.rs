//! Control messages: what a session says on its own connection. Small, bounded, versioned.
mod codec;

use std::num::NonZeroU32;
use std::time::Duration;

use ringway_model::{DeclineReason, Shortage};

use crate::ProtocolError;
use crate::lane::Counts;
use crate::name::DeviceName;
use crate::pair::{Confirmation, PakeMessage};
use crate::stretches::Stretches;

pub use codec::FRAME_PREFIX_LEN;

/// A transfer's identity.
pub type TransferId = [u8; 16];

/// A lane's proof of holding the session: HKDF of its TLS exporter. Compared in constant time,
/// never shown.
#[derive(Clone, Copy)]
pub struct Ticket(pub [u8; 32]);

impl PartialEq for Ticket {
    fn eq(&self, other: &Self) -> bool {
        subtle::ConstantTimeEq::ct_eq(&self.0[..], &other.0[..]).into()
    }
}

impl Eq for Ticket {}

impl std::fmt::Debug for Ticket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ticket(..)")
    }
}

/// What each side says first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// Protocol version.
    pub version: u16,
    /// What the device calls itself.
    pub name: DeviceName,
    /// Whether the sender of this message knows the other's key.
    pub known: bool,
    /// From the acceptor: whether it would pair now. From the initiator: whether it wants to (it
    /// has a code).
    pub pairing: bool,
}

/// How a device introduces itself in its [`Hello`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting {
    /// Its name.
    pub name: DeviceName,
}

impl Greeting {
    pub(crate) fn hello(&self, known: bool, pairing: bool) -> Message {
        let name = self.name.clone();
        Message::Hello(Hello { version: crate::limits::VERSION, name, known, pairing })
    }
}

/// Why the acceptor does not go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The code was wrong.
    WrongCode,
    /// No code is open: expired, burnt, or pairing is off.
    NoCodeOpen,
    /// Another attempt is under way or tries come too fast: milliseconds to wait.
    PairingBusy(u32),
    /// The initiator offers without being known.
    NotPaired,
    /// The initiator is this device.
    Ourselves,
    /// No common version; the acceptor's is in its hello.
    Version,
}

/// Which path one end takes, as codes that the engine gives meaning to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PathCodes {
    /// 0 kernel TLS, else a reason for userspace.
    pub tls: u8,
    /// errno that goes with some reasons.
    pub tls_errno: i32,
    /// 0 io_uring, else a reason for plain system calls.
    pub io: u8,
    /// errno that goes with some reasons.
    pub io_errno: i32,
}

/// What a sender proposes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The transfer's id, drawn by the sender.
    pub transfer: TransferId,
    /// The first top-level names in order, at most [`OFFER_NAMES_MAX`].
    pub names: Vec<Vec<u8>>,
    /// Top-level names beyond those, which follow in [`Message::OfferNames`].
    pub more_names: u64,
    /// What the walk has found so far.
    pub so_far: Totals,
    /// Lanes the sender would open at most.
    pub lanes: u8,
    /// What arrives is to be proven: digests come along, and what was written is read back and
    /// compared before the receipt.
    pub prove: bool,
    /// Seconds for which the sender offers it again by itself after the connection was lost; 0: it
    /// does not.
    pub retry_s: u32,
}

/// What the walk has found so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Files, folders and links.
    pub entries: u64,
    /// Bytes of file contents.
    pub bytes: u64,
    /// Whether the walk has ended.
    pub complete: bool,
}

/// The acceptor's yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accept {
    /// Lanes to open at most, 1 to what was offered; when is the sender's business.
    pub lanes: u8,
    /// Some of it may be here already: the sender lists files and sends those that are wanted.
    pub lists: bool,
    /// Lists have digests, of files that were changed at that second or later: by size and time
    /// alone those here are not believed. None, where there are no lists, or where all that is here
    /// is believed.
    pub doubts: Option<i64>,
}

/// Which files of a list, or which chunks of a window, the receiver wants to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The list's or window's number.
    pub list: u32,
    /// For each of its files or chunks, in order; 1 to
    /// [`BATCH_ITEMS_MAX`](crate::limits::BATCH_ITEMS_MAX).
    pub files: Vec<bool>,
    /// What is here of it, where its only file is wanted: at most
    /// [`HAS_MAX`](crate::limits::HAS_MAX) stretches.
    ///
    /// Where everything is to be proven and the list had no digest of a large file, all of the file
    /// means that one of its size and time is here: the sender lists it once more, with its digest.
    pub has: Stretches,
    /// Where its only file is wanted: bytes of what is here under that name and would be replaced,
    /// in which chunks may be looked for; else 0.
    pub basis: u64,
    /// Files that are not wanted and stay as they are here, whatever the sender has: no link may be
    /// made to them. One flag for each file, or none at all where no file stays. Of a file with
    /// several names ([`KEPT_LINK_SETS_MAX`](crate::limits::KEPT_LINK_SETS_MAX)) the first that
    /// stays counts as a file at both ends, and each further one as a link.
    pub kept: Vec<bool>,
}

/// Why a session is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancel {
    /// A person did; what has come is removed.
    ByPerson,
    /// A person did, and what is whole stays for the next attempt. The transfer is over.
    ByPersonKeeping,
    /// Something failed at the side that says so.
    Failed,
    /// The destination has no room left: what is whole stays, and the transfer may be offered
    /// again.
    DestinationFull(Shortage),
    /// The side that says so has lost a lane: what is whole stays, and the transfer may be offered
    /// again.
    ConnectionLost,
    /// More was found, or came, than the receiver lets in without asking a person: so many bytes.
    /// What is whole stays, and the next offer is asked about.
    TooMuch(u64),
    /// A person has paused it at the side that says so: what is whole stays, and the transfer may
    /// be offered again.
    Paused,
}

/// What the receiver has done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Entries written (or found to be there already).
    pub entries: u64,
    /// Bytes of those.
    pub bytes: u64,
}

/// A stretch of time in microseconds, bounded so that sums of a few cannot overflow: 16 lanes for
/// more than a hundred years.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Micros(u64);

impl Micros {
    /// The longest.
    pub const MAX: Self = Self(1 << 56);

    /// Checks the bound.
    pub fn new(micros: u64) -> Result<Self, ProtocolError> {
        match micros {
            micros if micros <= Self::MAX.0 => Ok(Self(micros)),
            value => Err(ProtocolError::TooLarge { what: "time", value, limit: Self::MAX.0 }),
        }
    }
}

impl From<Duration> for Micros {
    /// What is longer than the longest becomes the longest.
    fn from(time: Duration) -> Self {
        u64::try_from(time.as_micros()).map_or(Self::MAX, |micros| Self(micros.min(Self::MAX.0)))
    }
}

impl From<Micros> for Duration {
    fn from(time: Micros) -> Self {
        Self::from_micros(time.0)
    }
}

/// Where a sender's lanes have spent their time so far, summed over the lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SenderTimes {
    /// Waiting for the walk to find something.
    pub finding: Micros,
    /// Reading files.
    pub reading: Micros,
    /// On the processor between file and network: encrypting, handing over to the socket.
    pub encrypting: Micros,
    /// Waiting for the network to take more.
    pub sending: Micros,
    /// Waiting because of a limit of its own.
    pub limited: Micros,
}

/// Where a receiver's lanes have spent their time so far, summed over the lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReceiverTimes {
    /// Waiting for the network to bring more.
    pub receiving: Micros,
    /// On the processor between network and file: taking from the socket, decrypting.
    pub decrypting: Micros,
    /// Writing files.
    pub writing: Micros,
}

/// One entry that failed at the message's sender. Operation and reason are codes that the engine
/// gives meaning to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryFailed {
    /// The path within the transfer. As the sender of the message has it: shown, never opened.
    pub path: Vec<u8>,
    /// Operation code.
    pub operation: u8,
    /// Reason code.
    pub reason: u8,
    /// errno that goes with some reasons.
    pub errno: i32,
}

/// A file or link of the receiver that was changed there since it was received, and was kept: what
/// the sender has is beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryKept {
    /// The kept one's path within the transfer: shown, never opened.
    pub path: Vec<u8>,
    /// The name, in the same folder, under which the sender's version is there.
    pub beside: Vec<u8>,
}

/// The receiver's signed-off count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Receipt {
    /// What is there now under its final name, and synchronised.
    pub there: Counts,
    /// Bytes of contents of those that the receiver took since it was started, in all sessions.
    pub moved: u64,
    /// Files and links that were there before and are the same.
    pub unchanged: u64,
    /// Files and links that were there before and stay by the receiver's policy, whatever they are.
    pub skipped: u64,
    /// Bytes of contents that were offered for those.
    pub skipped_bytes: u64,
    /// Bytes of contents that were not sent because they were in what the files replaced.
    pub reused: u64,
    /// Files and links of the receiver that were kept because they were changed there, named or
    /// not; no more than what is there.
    pub edited: u64,
    /// Entries that failed at the receiver, named or not.
    pub failed: u64,
    /// What was proven, if that was asked for.
    pub proven: Option<Proven>,
}

/// What a receiver has read back from its medium and found to be what the sender read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Proven {
    /// Files, every byte of which was compared.
    pub files: u64,
    /// Bytes of their contents; holes do not count.
    pub bytes: u64,
    /// How long that took, after everything was written.
    pub took: Micros,
}

/// A control message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// Each side's first.
    Hello(Hello),
    /// The acceptor ends it.
    Refused(Refusal),
    /// Initiator's PAKE message.
    PairStart(PakeMessage),
    /// Acceptor's PAKE message.
    PairReply(PakeMessage),
    /// Key confirmation, initiator first.
    PairConfirm(Confirmation),
    /// Initiator: the acceptor's confirmation was right.
    PairDone,
    /// Acceptor: both are paired.
    Paired,
    /// Sender: a proposal.
    Offer(Offer),
    /// Sender: the next of the offer's top-level names, until all are said.
    OfferNames(Vec<Vec<u8>>),
    /// Receiver: yes.
    Accept(Accept),
    /// Receiver: yes, once this offer's turn in its queue has come: its place, 1 for the next one.
    /// Said again when that changes.
    Queued(NonZeroU32),
    /// Receiver: no.
    Decline(DeclineReason),
    /// Which path this end's lanes took.
    PathTaken(PathCodes),
    /// Sender: the walk so far.
    Totals(Totals),
    /// Receiver: the writing so far.
    Progress(Progress),
    /// Receiver: everything is written, and so much of it has been read back.
    Proving(Progress),
    /// Either: one entry failed here.
    EntryFailed(EntryFailed),
    /// Receiver: one of its files was kept.
    EntryKept(EntryKept),
    /// Sender: everything was handed to the lanes.
    Finish {
        /// What was sent.
        sent: Counts,
        /// Entries that failed at the sender.
        failed: u64,
        /// Lanes whose end it has said, 1 to what was accepted. One that it gave up before a whole
        /// frame had gone is not among them.
        lanes: u8,
    },
    /// Receiver: it is there.
    Receipt(Receipt),
    /// Sender, instead of an offer: only the receipt of a transfer that it had handed over whole
    /// when the connection was lost.
    ReceiptWanted(TransferId),
    /// Receiver: it has no receipt of that transfer. The sender may offer it.
    NoReceipt,
    /// Either: stop.
    Cancel(Cancel),
    /// Either, when idle.
    Ping,
    /// The answer.
    Pong,
    /// First on a lane's connection instead of `Hello`.
    LaneJoin {
        /// Which transfer.
        transfer: TransferId,
        /// Which lane of it, from 0.
        lane: u8,
        /// Which connection of that lane, from 0: it goes on in another one before its keys are
        /// used up.
        connection: u16,
        /// Proof of holding the session.
        ticket: Ticket,
    },
    /// The answer to it; bulk follows.
    LaneReady,
    /// Sender: where its time goes.
    SenderTimes(SenderTimes),
    /// Receiver: where its time goes.
    ReceiverTimes(ReceiverTimes),
    /// Receiver: which files of a list it wants.
    Wanted(Wanted),
}

impl Message {
    /// The message's name, for errors.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Hello(_) => "hello",
            Self::Refused(_) => "refusal",
            Self::PairStart(_) => "pairing start",
            Self::PairReply(_) => "pairing reply",
            Self::PairConfirm(_) => "pairing confirmation",
            Self::PairDone => "pairing end",
            Self::Paired => "pairing acknowledgement",
            Self::Offer(_) => "offer",
            Self::OfferNames(_) => "offered names",
            Self::Accept(_) => "accept",
            Self::Wanted(_) => "answer to a list",
            Self::Queued(_) => "place in the queue",
            Self::Decline(_) => "decline",
            Self::PathTaken(_) => "path taken",
            Self::Totals(_) => "totals",
            Self::Progress(_) => "progress",
            Self::Proving(_) => "proof so far",
            Self::EntryFailed(_) => "entry failure",
            Self::EntryKept(_) => "kept entry",
            Self::Finish { .. } => "finish",
            Self::Receipt(_) => "receipt",
            Self::ReceiptWanted(_) => "request for a receipt",
            Self::NoReceipt => "lack of a receipt",
            Self::Cancel(_) => "cancel",
            Self::Ping => "ping",
            Self::Pong => "pong",
            Self::LaneJoin { .. } => "lane join",
            Self::LaneReady => "lane ready",
            Self::SenderTimes(_) => "sender times",
            Self::ReceiverTimes(_) => "receiver times",
        }
    }
}
