//! What a running transfer and a listening receiver tell: snapshots to be polled, events to be
//! awaited, and the final report.
use std::ffi::OsString;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use ringway_model::{Bottleneck, Side, Stage};
use ringway_tree::filesystem::free_space::Room;
use ringway_wire::control::Shortage;

use crate::copy::CopyReport;
use crate::device::{Device, DeviceId, LookAlike};
use crate::error::{AuthError, Error, Failure, Invalid};
use crate::path_taken::PathTaken;
use crate::receive::IncomingOffer;
use crate::rules::Decision;
use crate::transfer::Transfer;

/// A transfer's identity, drawn at random by the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TransferId(pub [u8; 16]);

impl TransferId {
    /// Draws one.
    ///
    /// # Errors
    /// The kernel gives no random bytes.
    pub fn draw() -> Result<Self, Error> {
        Ok(Self(crate::random()?))
    }
}

impl std::str::FromStr for TransferId {
    type Err = Error;

    /// Reads what `Display` writes: 32 hexadecimal digits.
    fn from_str(text: &str) -> Result<Self, Error> {
        let number = Some(text).filter(|text| text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let number = number.and_then(|text| u128::from_str_radix(text, 16).ok());
        Ok(Self(number.ok_or(Error::Invalid(Invalid::TransferId))?.to_be_bytes()))
    }
}

impl std::fmt::Display for TransferId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// What tells transfers and offers apart at one end: senders draw the ids of what is received, and
/// two of them may have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TransferKey {
    /// Who drew the id; none for an id drawn here.
    pub from: Option<DeviceId>,
    /// The id.
    pub id: TransferId,
}

impl std::fmt::Display for TransferKey {
    /// The id, then a hyphen and who drew it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.id.fmt(f)?;
        self.from.iter().try_for_each(|from| write!(f, "-{from}"))
    }
}

/// Where the time of a transfer's lanes has gone, summed over the lanes: each end's sum is the time
/// that it ran times its lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StageTimes {
    /// At the sender: waiting for the walk to find something.
    pub finding: Duration,
    /// At the sender: reading files.
    pub reading: Duration,
    /// At the sender: on the processor between file and network.
    pub encrypting: Duration,
    /// At the sender: waiting for the network to take more.
    pub sending: Duration,
    /// At the sender: waiting because of its limit.
    pub limited: Duration,
    /// At the receiver: waiting for the network to bring more.
    pub receiving: Duration,
    /// At the receiver: on the processor between network and file.
    pub decrypting: Duration,
    /// At the receiver: writing files.
    pub writing: Duration,
}

/// What stands between the two ends of a transfer that was under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outage {
    /// The connection ended or was reset.
    Broken,
    /// Nothing was heard for too long.
    Silent,
    /// The last try reached nobody.
    Unreachable,
    /// The last try was turned away: too many transfers there.
    Busy,
    /// The last try was turned away: too many offers of this device came to nothing, and nobody is
    /// asked for now.
    TooManyOffers,
    /// The receiver's disk, or what a user may have of it, is full. What it lacks for the rest, as
    /// far as figures say.
    Full(Shortage),
    /// A person has paused it, here or there.
    Paused(Side),
}

/// A transfer whose connection was lost, as it waits to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interruption {
    /// Why it does not go on.
    pub why: Outage,
    /// At the sender: until it tries next. None while it does, and at the receiver.
    pub next_try: Option<Duration>,
    /// Until it is given up. None for a copy inside this machine, which is not.
    pub gives_up: Option<Duration>,
}

/// A transfer's figures at one moment. Cheap to take; meant to be polled 10 to 20 times a second.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// Where it stands.
    pub stage: Stage,
    /// Entries (files, folders, links) done: written at the receiver.
    pub entries_done: u64,
    /// Entries found so far; final when [`Snapshot::totals_final`].
    pub entries_total: u64,
    /// Bytes of file contents done: written at the receiver.
    pub bytes_done: u64,
    /// Those of them that were sent. The others were there already, or are of files that stay by
    /// the receiver's policy.
    pub bytes_moved: u64,
    /// Bytes found so far; final when [`Snapshot::totals_final`].
    pub bytes_total: u64,
    /// Whether the walk has ended and the totals are firm.
    pub totals_final: bool,
    /// Entries that failed, both ends together.
    pub failed: u64,
    /// Time since bytes began to move, but for what it was paused, by a person or by a full disk.
    pub running_for: Duration,
    /// Smoothed rate of those that are sent, in bytes a second.
    pub bytes_per_s: f64,
    /// Smoothed rate in entries a second.
    pub entries_per_s: f64,
    /// Time left at the smoothed rate, once totals are firm or nearly so.
    pub time_left: Option<Duration>,
    /// How long nothing has moved, once that is [`STALLED_AFTER`](crate::limits::STALLED_AFTER):
    /// then there is no rate and no time left. None where the limit that the sender was given is
    /// why.
    pub stalled_for: Option<Duration>,
    /// What has limited it for about a second; none before that is known, and where no bytes move
    /// between two machines.
    pub bottleneck: Option<Bottleneck>,
    /// While it is [`Stage::Reconnecting`] or [`Stage::Paused`].
    pub interruption: Option<Interruption>,
    /// While it is [`Stage::Queued`]: its place there, 1 for the next one.
    pub place: Option<NonZeroU32>,
    /// Whether [`Transfer::pause`] can be had now.
    pub can_pause: bool,
    /// Lanes in use.
    pub lanes: u8,
    /// Paths at this end, once known.
    pub here: Option<PathTaken>,
    /// Paths at the other end, once known.
    pub there: Option<PathTaken>,
}

/// What packing came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackedBytes {
    /// Bytes of file contents that were packed.
    pub contents: u64,
    /// Bytes that they took on the way.
    pub wire: u64,
}

/// What was read back from the receiver's medium and found to be what the sender had read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Proven {
    /// Files.
    pub files: u64,
    /// Bytes of their contents; holes do not count.
    pub bytes: u64,
    /// How long it took, after everything was written.
    pub took: Duration,
}

/// How a transfer ended.
#[derive(Debug)]
pub enum Outcome {
    /// Everything arrived, was renamed and synchronised, and the receipt says so.
    Complete,
    /// The receipt is there, but some entries failed: they are listed.
    Partial,
    /// Nothing was completed, or it cannot be known: why.
    Failed(Error),
}

/// A file or link of the receiver that was changed there since it was received, and was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// Its path within the transfer; any bytes, where the other end says it.
    pub path: PathBuf,
    /// The name, in the same folder, under which the sender's version is there.
    pub beside: OsString,
}

/// The last word on a transfer.
#[derive(Debug)]
pub struct Report {
    /// How it ended.
    pub outcome: Outcome,
    /// Regular files that are there, by the receipt.
    pub files: u64,
    /// Folders.
    pub folders: u64,
    /// Symbolic and hard links.
    pub links: u64,
    /// Bytes of file contents.
    pub bytes: u64,
    /// Those of them that this process sent, as far as the receiver said to have them, or received,
    /// or copied: over all connections. The others were there already, but for
    /// [`Self::skipped_bytes`], or another run of the program moved them. Of a transfer that
    /// failed, whatever it moved.
    pub moved: u64,
    /// Files and links that were there already and are the same.
    pub unchanged: u64,
    /// Files and links that were there already and stay by policy, whatever they are.
    pub skipped: u64,
    /// Bytes of contents that were offered for those.
    pub skipped_bytes: u64,
    /// Bytes of the others that were not sent, being in the files that they replaced.
    pub reused: u64,
    /// What was proven, if [`verify`](crate::options::SendRequest::verify) was asked for and a
    /// receipt came.
    pub proven: Option<Proven>,
    /// Files and links of the receiver that were kept because they were changed there since they
    /// were received: what was sent is beside them.
    pub edited: u64,
    /// Those by name, the first [`crate::limits::FAILURES_LISTED_MAX`].
    pub edits: Vec<Edit>,
    /// Entries that failed, both ends together.
    pub failed: u64,
    /// The failed ones by name, the first [`crate::limits::FAILURES_LISTED_MAX`].
    pub failures: Vec<Failure>,
    /// From the first byte to the receipt, but for what it was paused, by a person or by a full
    /// disk.
    pub running_for: Duration,
    /// What limited it for the longest time; none where it was too short to tell, or inside one
    /// machine.
    pub bottleneck: Option<Bottleneck>,
    /// Where the time of its lanes went; none where the two ends did not both say, or inside one
    /// machine.
    pub times: Option<StageTimes>,
    /// Lanes used.
    pub lanes: u8,
    /// Lanes that were added, and done without where they could not be had or broke before they
    /// carried anything.
    pub lanes_dropped: u8,
    /// How often it went on after its connection had been lost.
    pub reconnected: u32,
    /// At the sender: bytes of contents that went packed, before and after; none where nothing did.
    pub packed: Option<PackedBytes>,
    /// Paths at this end, if it came so far.
    pub here: Option<PathTaken>,
    /// Paths at the other end, if it came so far.
    pub there: Option<PathTaken>,
    /// At the receiver: the top-level paths under their final names (the first few).
    pub arrived: Vec<PathBuf>,
    /// At the receiver: its staging folder, where that could not be removed after everything had
    /// its final name. A later transfer removes it.
    pub left_behind: Option<PathBuf>,
    /// Of a copy inside this machine: what it chose and did.
    pub copy: Option<CopyReport>,
}

impl Report {
    /// Bytes of contents that were there already: of files that are the same, and in those that
    /// were replaced.
    pub fn present_bytes(&self) -> u64 {
        self.bytes.saturating_sub(self.moved).saturating_sub(self.skipped_bytes)
    }

    /// Of what never began.
    pub(crate) fn of_nothing(outcome: Outcome) -> Self {
        Self {
            outcome,
            files: 0,
            folders: 0,
            links: 0,
            bytes: 0,
            moved: 0,
            unchanged: 0,
            skipped: 0,
            skipped_bytes: 0,
            reused: 0,
            proven: None,
            edited: 0,
            edits: Vec::new(),
            failed: 0,
            failures: Vec::new(),
            running_for: Duration::ZERO,
            bottleneck: None,
            times: None,
            lanes: 0,
            lanes_dropped: 0,
            reconnected: 0,
            packed: None,
            here: None,
            there: None,
            arrived: Vec::new(),
            left_behind: None,
            copy: None,
        }
    }
}

/// What a listening receiver tells.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReceiverEvent {
    /// The code was drawn, burnt, expired or renewed: ask [`crate::receive::Receiver::code`].
    CodeChanged,
    /// A device was paired.
    DevicePaired(Device),
    /// Someone tried to pair, or to be recognised, and failed.
    AuthFailed {
        /// From where.
        from: SocketAddr,
        /// Why.
        why: AuthError,
        /// Wrong tries left for this code, where that is what failed.
        tries_left: Option<u8>,
    },
    /// A known device offers something; it waits for [`IncomingOffer::accept`] or
    /// [`IncomingOffer::decline`], and dropping it declines. Whether a person is to be asked is in
    /// [`OfferSummary::decision`].
    OfferReceived(IncomingOffer),
    /// A device whose rule is to refuse has offered something, and was declined. Nobody is to be
    /// bothered with it.
    OfferRefused(OfferSummary),
    /// An offer was withdrawn before it was answered.
    OfferWithdrawn(TransferKey),
    /// The rule of its device, which was changed, answers an offer that waited: it comes once more,
    /// accepted.
    OfferAnswered(TransferKey),
    /// An accepted transfer began: the same handle that `accept` returned, for whoever else
    /// watches.
    TransferStarted(Transfer),
    /// The listener stopped, by itself or asked; no event follows.
    Stopped(Option<Error>),
}

/// What an offer says of itself before anything moves. Names are a peer's text: never markup, never
/// paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferSummary {
    /// Its id.
    pub id: TransferId,
    /// Who offers.
    pub from: DeviceId,
    /// The name we know them by.
    pub from_name: String,
    /// Another paired device whose name looks like theirs.
    pub looks_like: Option<LookAlike>,
    /// Top-level names, the first [`crate::limits::OFFER_NAMES_MAX`].
    pub names: Vec<std::ffi::OsString>,
    /// Top-level names beyond those.
    pub more_names: u64,
    /// The first [`crate::limits::DOT_NAMES_SHOWN_MAX`] of all top-level names that begin with a
    /// dot: such files can configure and start programs.
    pub dot_names: Vec<std::ffi::OsString>,
    /// Names that begin with a dot beyond those.
    pub more_dot_names: u64,
    /// Entries counted so far by the sender.
    pub entries_so_far: u64,
    /// Bytes counted so far by the sender.
    pub bytes_so_far: u64,
    /// Whether those are the whole.
    pub totals_final: bool,
    /// What its device's rule makes of it: accepted without asking, or why not.
    pub decision: Decision,
    /// Where it lands unless it is accepted into another folder: its device's, or where the
    /// receiver has everything.
    pub destination: PathBuf,
    /// What there is room for, if that could be asked.
    pub room: Option<Room>,
}

impl OfferSummary {
    /// What tells it apart from all others.
    pub fn key(&self) -> TransferKey {
        TransferKey { from: Some(self.from), id: self.id }
    }
}
