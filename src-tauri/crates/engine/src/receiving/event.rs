//! What a listening receiver tells.
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use ringway_model::{
    AuthError, Counts, DeclineReason, DeviceId, Direction, Fault, LookAlike, Outcome, Report, Side, TransferId,
    TransferKey,
};
use ringway_tree::filesystem::free_space::FreeSpace;
use tokio::sync::oneshot;

use crate::devices::device::Device;
use crate::devices::rules::Decision;
use crate::store::Store;
use crate::store::history::{Ended, Record};
use crate::transfers::options::AcceptOptions;
use crate::transfers::transfer::Transfer;

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
    /// Top-level names, the first [`ringway_wire::limits::OFFER_NAMES_MAX`].
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

    /// Writes down that nobody answered it, so that whoever comes back learns of it. That it could
    /// not be is no failure of the offer, which is over.
    pub(crate) fn keep_unanswered(&self, store: &Arc<Store>) {
        let record = Record { store: Arc::clone(store), target: None, paths: Vec::new(), resend: None };
        let counts = Counts { bytes: self.bytes_so_far, ..Counts::default() };
        let report = Report { counts, ..Report::new(Outcome::Failed(Fault::Unanswered), SystemTime::now()) };
        let more = (self.names.len() as u64).saturating_add(self.more_names).saturating_sub(1);
        record.keep(&Ended {
            id: self.id,
            direction: Direction::Receiving,
            peer: Some(&(self.from, self.from_name.clone())),
            title: &(self.names.first().cloned().unwrap_or_default(), more),
            report: &report,
            series: &[],
        });
    }
}

/// A program's answer, and where to say what came of it.
pub(super) enum Answer {
    Accept(AcceptOptions, oneshot::Sender<Result<Transfer, Fault>>),
    Decline(DeclineReason),
}

/// An offer that waits for an answer. Dropping it declines.
pub struct IncomingOffer {
    summary: Arc<Mutex<OfferSummary>>,
    answer: Option<oneshot::Sender<Answer>>,
}

impl std::fmt::Debug for IncomingOffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IncomingOffer").field("summary", &self.summary()).finish_non_exhaustive()
    }
}

impl IncomingOffer {
    pub(super) fn new(summary: Arc<Mutex<OfferSummary>>, answer: oneshot::Sender<Answer>) -> Self {
        Self { summary, answer: Some(answer) }
    }

    /// What it says of itself; totals may have grown since.
    pub fn summary(&self) -> OfferSummary {
        self.summary.lock().clone()
    }

    /// Takes it in.
    ///
    /// # Errors
    /// The destination cannot be used (the offer is then declined with the reason), or the peer has
    /// gone.
    pub async fn accept(mut self, options: AcceptOptions) -> Result<Transfer, Fault> {
        let (done, outcome) = oneshot::channel();
        let gone = || Fault::cancelled(Side::There);
        let answer = self.answer.take().ok_or_else(gone)?;
        answer.send(Answer::Accept(options, done)).map_err(|_| gone())?;
        outcome.await.map_err(|_| gone())?
    }

    /// Declines it.
    pub fn decline(mut self, reason: DeclineReason) {
        if let Some(answer) = self.answer.take() {
            // A peer that has gone needs no answer.
            let _ = answer.send(Answer::Decline(reason));
        }
    }
}
