//! Control messages: everything that is said on a session's own connection. They are small, bounded
//! and versioned.
mod codec;
mod fields;
mod get;
mod in_share;
mod note;
mod plan;
mod questions;
mod ranges;

use std::num::NonZeroU32;
use std::time::Duration;

use ringway_model::{DeclineReason, Shortage};

use crate::ProtocolError;
use crate::lane::Counts;
use crate::listing::ListingPage;
use crate::name::DeviceName;
use crate::pair::{Confirmation, PakeMessage};
use crate::stretches::Stretches;

pub use codec::FRAME_PREFIX_LEN;
pub use get::{Get, GetPath, GetRefusal, Purpose};
pub use in_share::InShare;
pub use note::{NoteHead, NoteId, NotePage};
pub use plan::{PlanWriter, PlannedCounts, PlannedEntry, PlannedKind, PlannedPage};
pub use questions::{Answer, EntriesWanted, NoAnswer, Question, RangeWanted};
pub use ranges::{BytesPage, FileState};

/// A transfer's identity.
pub type TransferId = [u8; 16];

/// A lane's proof that it belongs to the session: HKDF of the session's TLS exporter. It is
/// compared in constant time and never shown.
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

/// The first message of each side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// Protocol version.
    pub version: u16,
    /// The name that the device gives itself.
    pub name: DeviceName,
    /// Whether the sender of this message knows the other's key.
    pub known: bool,
    /// From the acceptor: whether it would pair now. From the initiator: whether it wants to,
    /// because it has a code.
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

/// Why the acceptor ends the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The code was wrong.
    WrongCode,
    /// No code is open: it has expired or was burnt, or pairing is off.
    NoCodeOpen,
    /// Another attempt is under way, or attempts come too fast: milliseconds to wait.
    PairingBusy(u32),
    /// The initiator offers but is not paired.
    NotPaired,
    /// The initiator is this device.
    Ourselves,
    /// There is no common version. The acceptor's version is in its hello.
    Version,
}

/// The path that one end takes, in codes that the engine defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PathCodes {
    /// 0 is kernel TLS; other values are reasons for userspace.
    pub tls: u8,
    /// The errno that belongs to some reasons.
    pub tls_errno: i32,
    /// 0 is io_uring; other values are reasons for plain system calls.
    pub io: u8,
    /// The errno that belongs to some reasons.
    pub io_errno: i32,
}

/// A sender's proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The transfer's id, drawn by the sender.
    pub transfer: TransferId,
    /// The first top-level names in order, at most [`OFFER_NAMES_MAX`].
    pub names: Vec<Vec<u8>>,
    /// Top-level names beyond those, which follow in [`Message::OfferNames`].
    pub more_names: u64,
    /// The totals that the walk has found so far.
    pub so_far: Totals,
    /// The most lanes that the sender would open.
    pub lanes: u8,
    /// Whether the transfer is to be proven: the sender sends digests, and the receiver reads
    /// everything back and compares it before the receipt.
    pub prove: bool,
    /// Seconds for which the sender offers it again by itself after a lost connection; 0 means that
    /// it does not.
    pub retry_s: u32,
    /// The place in a drop box of the receiver where it is to land; `None` where the receiver
    /// chooses.
    pub in_share: Option<InShare>,
}

/// The totals that the walk has found so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Files, folders and links.
    pub entries: u64,
    /// Bytes of file contents.
    pub bytes: u64,
    /// Whether the walk has ended.
    pub complete: bool,
}

/// The acceptor's acceptance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accept {
    /// The most lanes to open, from 1 to the offered number. The sender decides when to open them.
    pub lanes: u8,
    /// Whether the receiver may have some of it already. Then the sender lists files and sends
    /// those that are wanted.
    pub lists: bool,
    /// Files changed in this second or later are in doubt: the receiver does not believe by size
    /// and time alone that it has them, so lists include their digests. `None` if there are no
    /// lists, or if all existing files are believed.
    pub doubts: Option<i64>,
    /// Whether the receiver wants the names of users and groups, to give files to those of the same
    /// names.
    pub owner_names: bool,
}

/// The files of a list, or the chunks of a window, that the receiver wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The list's or window's number.
    pub list: u32,
    /// A flag for each of its files or chunks, in order; 1 to
    /// [`BATCH_ITEMS_MAX`](crate::limits::BATCH_ITEMS_MAX).
    pub files: Vec<bool>,
    /// If the list's only file is wanted, the parts of it that the receiver has: at most
    /// [`HAS_MAX`](crate::limits::HAS_MAX) stretches.
    ///
    /// If everything is to be proven and the list had no digest of a large file, the whole file
    /// here means that the receiver has one of its size and time. The sender then lists it again,
    /// with its digest.
    pub has: Stretches,
    /// If the list's only file is wanted, the length of the receiver's existing file of that name,
    /// which would be replaced and in which chunks may be looked for; else 0.
    pub basis: u64,
    /// Files that are not wanted and stay as the receiver has them, whatever the sender has. No
    /// link may be made to them. There is one flag for each file, or no flag if no file stays. For
    /// a file with several names ([`KEPT_LINK_SETS_MAX`](crate::limits::KEPT_LINK_SETS_MAX)), both
    /// ends count the first name that stays as a file, and each further one as a link.
    pub kept: Vec<bool>,
}

/// Why a session is cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancel {
    /// A person cancelled it. What was received is removed.
    ByPerson,
    /// A person cancelled it, and complete files stay for the next attempt. The transfer is over.
    ByPersonKeeping,
    /// Something failed at the side that sends this.
    Failed,
    /// The destination has no free space. Complete files stay, and the transfer may be offered
    /// again.
    DestinationFull(Shortage),
    /// The side that sends this has lost a lane. Complete files stay, and the transfer may be
    /// offered again.
    ConnectionLost,
    /// The sender found or sent more than this many bytes, which is all that the receiver accepts
    /// without asking a person. Complete files stay, and the next offer is asked about.
    TooMuch(u64),
    /// A person has paused it at the side that sends this. Complete files stay, and the transfer
    /// may be offered again.
    Paused,
    /// What is got is not shared with the other side any more. Complete files stay, and it is not
    /// offered again.
    NotShared,
}

/// The receiver's progress so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Entries that were written, or that the receiver had already.
    pub entries: u64,
    /// Bytes of these entries.
    pub bytes: u64,
}

/// A duration in microseconds, bounded so that sums of a few cannot overflow: 16 lanes for more
/// than a hundred years.
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
    /// A duration beyond the longest becomes the longest.
    fn from(time: Duration) -> Self {
        u64::try_from(time.as_micros()).map_or(Self::MAX, |micros| Self(micros.min(Self::MAX.0)))
    }
}

impl From<Micros> for Duration {
    fn from(time: Micros) -> Self {
        Self::from_micros(time.0)
    }
}

/// How a sender's lanes have spent their time so far, summed over the lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SenderTimes {
    /// Waiting for the walk to find something.
    pub finding: Micros,
    /// Reading files.
    pub reading: Micros,
    /// Running on the processor between file and network: encrypting, and copying to the socket.
    pub encrypting: Micros,
    /// Waiting for the network to accept more.
    pub sending: Micros,
    /// Waiting for its own rate limit.
    pub limited: Micros,
}

/// How a receiver's lanes have spent their time so far, summed over the lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReceiverTimes {
    /// Waiting for more from the network.
    pub receiving: Micros,
    /// Running on the processor between network and file: copying from the socket, and decrypting.
    pub decrypting: Micros,
    /// Writing files.
    pub writing: Micros,
}

/// An entry that failed at the message's sender. Operation and reason are codes that the engine
/// defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryFailed {
    /// The path within the transfer, as the sender of the message has it. It is shown, never
    /// opened.
    pub path: Vec<u8>,
    /// Operation code.
    pub operation: u8,
    /// Reason code.
    pub reason: u8,
    /// The errno that belongs to some reasons.
    pub errno: i32,
}

/// A file or link that was changed at the receiver since it was received, and was kept. The
/// sender's version is beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryKept {
    /// The kept entry's path within the transfer. It is shown, never opened.
    pub path: Vec<u8>,
    /// The name of the sender's version, in the same folder.
    pub beside: Vec<u8>,
}

/// The receiver's final count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Receipt {
    /// Entries that now have their final names and are synchronised.
    pub there: Counts,
    /// Bytes of their contents that the receiver has received since it was started, in all
    /// sessions.
    pub moved: u64,
    /// Files and links that were there before and are the same.
    pub unchanged: u64,
    /// Files and links that were there before and stay because of the receiver's policy, even if
    /// they differ.
    pub skipped: u64,
    /// Bytes of contents that were offered for those.
    pub skipped_bytes: u64,
    /// Bytes of contents that were not sent because they were in the replaced files.
    pub reused: u64,
    /// Files and links that were kept because they were changed at the receiver, named or not.
    /// There are at most as many as entries in `there`.
    pub edited: u64,
    /// Entries that failed at the receiver, named or not.
    pub failed: u64,
    /// Entries that did not get their access control list.
    pub acls_lost: u64,
    /// Entries whose user or group has a name that the receiver does not know: they have the
    /// sender's number.
    pub owners_by_number: u64,
    /// The proof, if one was requested.
    pub proven: Option<Proven>,
}

/// What the receiver has read back from its medium and found equal to what the sender read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Proven {
    /// Files of which every byte was compared.
    pub files: u64,
    /// Bytes of their contents; holes do not count.
    pub bytes: u64,
    /// How long that took, after everything was written.
    pub took: Micros,
}

/// A control message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// The first message of each side.
    Hello(Hello),
    /// Acceptor: the session ends.
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
    /// Sender: an offer.
    Offer(Offer),
    /// Sender: more of the offer's top-level names, until all are sent.
    OfferNames(Vec<Vec<u8>>),
    /// Sender: a part of what the offer's folders contain, while it waits for an answer. The
    /// receiver may ignore it, and never answers it.
    OfferListing(ListingPage),
    /// Receiver: the offer is accepted.
    Accept(Accept),
    /// Receiver: the offer is accepted and waits in the queue. The number is its place, 1 for the
    /// next one; it is sent again when that changes.
    Queued(NonZeroU32),
    /// Receiver: the offer, the request or the note is declined.
    Decline(DeclineReason),
    /// Either: the path of this end's lanes.
    PathTaken(PathCodes),
    /// Sender: the totals of the walk so far.
    Totals(Totals),
    /// Receiver: its progress in writing.
    Progress(Progress),
    /// Receiver: everything is written, and this much was read back.
    Proving(Progress),
    /// Either: one entry failed here.
    EntryFailed(EntryFailed),
    /// Receiver: one of its files was kept.
    EntryKept(EntryKept),
    /// Sender: everything was passed to the lanes.
    Finish {
        /// What was sent.
        sent: Counts,
        /// Entries that failed at the sender.
        failed: u64,
        /// Lanes that have sent their end frame, from 1 to the accepted number. A lane that was
        /// given up before its first whole frame is not counted.
        lanes: u8,
    },
    /// Receiver: the transfer is complete.
    Receipt(Receipt),
    /// Sender, instead of an offer: asks for the receipt of a transfer that it had sent completely
    /// when the connection was lost.
    ReceiptWanted(TransferId),
    /// Receiver: it has no receipt of that transfer. The sender may offer it.
    NoReceipt,
    /// Dialler, instead of an offer: asks for entries of a share.
    Get(Get),
    /// Dialler: more of the paths that a request selects, until all are sent.
    Selected(Vec<Vec<u8>>),
    /// Listener: what was asked for cannot be had, or there is no such place as an offer names. The
    /// session ends.
    GetRefused(GetRefusal),
    /// Dialler, instead of an offer: a note, whose text follows.
    Note(NoteHead),
    /// Dialler: a part of the note's text, until all of it is sent.
    NotePage(NotePage),
    /// Listener: the note is kept. The session ends.
    NoteKept,
    /// Either: ends the session.
    Cancel(Cancel),
    /// Either, when it has been silent.
    Ping,
    /// The answer.
    Pong,
    /// The first message on a lane's connection, instead of `Hello`.
    LaneJoin {
        /// The transfer.
        transfer: TransferId,
        /// The number of the lane, from 0.
        lane: u8,
        /// The number of the lane's connection, from 0. A lane continues in another connection
        /// before its keys are used up.
        connection: u16,
        /// Proof that it belongs to the session.
        ticket: Ticket,
    },
    /// The answer to `LaneJoin`; bulk follows.
    LaneReady,
    /// Sender: how its lanes spend their time.
    SenderTimes(SenderTimes),
    /// Receiver: how its lanes spend their time.
    ReceiverTimes(ReceiverTimes),
    /// Receiver: the files of a list that it wants.
    Wanted(Wanted),
    /// Initiator, instead of an offer: a question about the acceptor's shares.
    Asked {
        /// The question's number. Each is larger than the one before.
        number: u32,
        /// The question.
        question: Question,
    },
    /// Acceptor: an answer, or a part of one.
    Answered {
        /// The question's number.
        number: u32,
        /// The answer.
        answer: Answer,
    },
    /// Initiator: more pages of an answer may be sent.
    MorePages {
        /// The question's number.
        number: u32,
        /// How many, 1 to [`PAGES_AHEAD_MAX`](crate::limits::PAGES_AHEAD_MAX).
        pages: u8,
    },
    /// Initiator: the rest of an answer is not wanted any more. Parts of it may be on their way.
    NotWanted {
        /// The question's number.
        number: u32,
    },
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
            Self::OfferListing(_) => "listing",
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
            Self::Get(_) => "request for entries",
            Self::GetRefused(_) => "refusal of a request",
            Self::Selected(_) => "selected paths",
            Self::Note(_) => "note",
            Self::NotePage(_) => "page of a note",
            Self::NoteKept => "receipt of a note",
            Self::Cancel(_) => "cancel",
            Self::Ping => "ping",
            Self::Pong => "pong",
            Self::LaneJoin { .. } => "lane join",
            Self::LaneReady => "lane ready",
            Self::SenderTimes(_) => "sender times",
            Self::ReceiverTimes(_) => "receiver times",
            Self::Asked { .. } => "question",
            Self::Answered { .. } => "answer",
            Self::MorePages { .. } => "request for pages",
            Self::NotWanted { .. } => "end of a question",
        }
    }
}
