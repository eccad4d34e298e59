//! What a listening receiver tells, and a transfer's final report.
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ringway_copy::CopyReport;
use ringway_model::{
    AuthError, Bottleneck, Counts, DeviceId, Edit, Failure, Fault, LookAlike, Outcome, PackedBytes, PathTaken, Proven,
    StageTimes, TransferId, TransferKey,
};
use ringway_tree::filesystem::free_space::FreeSpace;

use crate::devices::device::Device;
use crate::devices::rules::Decision;
use crate::receiving::receive::IncomingOffer;
use crate::transfers::transfer::Transfer;

/// The last word on a transfer.
#[derive(Debug)]
pub struct Report {
    /// How it ended.
    pub outcome: Outcome,
    /// Its numbers.
    pub counts: Counts,
    /// What was proven, if [`verify`](crate::options::SendRequest::verify) was asked for and a
    /// receipt came.
    pub proven: Option<Proven>,
    /// Files and links of the receiver that were kept, by name, the first
    /// [`crate::limits::FAILURES_LISTED_MAX`].
    pub edits: Vec<Edit>,
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
    /// Of what never began.
    pub(crate) fn of_nothing(outcome: Outcome) -> Self {
        Self {
            outcome,
            counts: Counts::default(),
            proven: None,
            edits: Vec::new(),
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
        /// Wrong attempts left for this code, where that is what failed.
        attempts_left: Option<u8>,
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
    Stopped(Option<Fault>),
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
    /// Free space at the destination; none if it could not be determined.
    pub free_space: Option<FreeSpace>,
}

impl OfferSummary {
    /// What tells it apart from all others.
    pub fn key(&self) -> TransferKey {
        TransferKey { from: Some(self.from), id: self.id }
    }
}
