//! What has ended: one record for each transfer, kept with the trust store, so that the window's
//! activity and `ringway inbox` show the same.
pub(crate) mod ending;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use ringway_model::{
    AuthError, Counts, DeviceId, Direction, Fault, Outcome, Report, SeriesPoint, Source, TransferId, TransferKey,
};

use crate::devices::target::Target;
use crate::receiving::event::OfferSummary;
use crate::store::Store;

/// Transfers that are remembered: years of daily use. The oldest go first.
pub const PAST_MAX: u32 = 5_000;

/// Offers that nobody answered, of each device that are remembered; the same offered again counts
/// once.
pub const PAST_UNANSWERED_MAX: u32 = 20;

/// Failures that are remembered by name of each transfer: enough to see what kind they were.
pub const PAST_FAILURES_MAX: usize = 100;

/// Failures that are remembered of all transfers together; with paths of 4 KiB that is 80 MB, with
/// common ones 2. The oldest go first.
pub const PAST_FAILURES_ALL_MAX: u32 = 20_000;

/// Paths that are remembered of each transfer.
pub const PAST_PATHS_MAX: usize = 16;

/// A transfer that has ended.
#[derive(Debug)]
pub struct Past {
    /// What it is called here: later ones have higher numbers, and none is used again.
    pub number: u64,
    /// Its id.
    pub id: TransferId,
    /// Which way it went.
    pub direction: Direction,
    /// The other device, and what it was called then; none where it was not reached.
    pub peer: Option<(DeviceId, String)>,
    /// The first top-level name (a peer's text where it was received), and how many more there
    /// were.
    pub title: (OsString, u64),
    /// What it was to reach is called: a device's name then, or an address; none where it was
    /// received.
    pub target: Option<String>,
    /// The paired device that it was to reach, where it was to reach one.
    pub target_device: Option<DeviceId>,
    /// How the id was to begin of the receiver that it was to reach, in hexadecimal, where that had
    /// announced itself.
    pub target_announced: Option<String>,
    /// What was sent, or the top-level paths where it arrived, or else the folder that it was to go
    /// to; the first [`PAST_PATHS_MAX`].
    pub paths: Vec<PathBuf>,
    /// What is remembered of its report. Failures and edited files by name are in
    /// [`PastDetails`](ringway_model::PastDetails);
    /// of what was received or copied, `arrived` is [`Self::paths`].
    pub report: Report,
    /// What to send to send it again; none where it was not sent from here, or was more than is
    /// remembered ([`PAST_PATHS_MAX`]).
    pub resend: Option<Resend>,
}

impl Past {
    /// What told it apart from all others while it ran.
    pub fn key(&self) -> TransferKey {
        let peer = self.peer.as_ref().filter(|_| self.direction == Direction::Receiving);
        TransferKey { from: peer.map(|(peer, _)| *peer), id: self.id }
    }
}

/// What was sent, to be sent again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resend {
    /// The sources.
    pub sources: Vec<Source>,
    /// Whether it was to be read back and compared.
    pub verify: bool,
}

/// Which past transfers are asked for; all of them by default, the latest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PastQuery {
    /// Those of one direction.
    pub direction: Option<Direction>,
    /// Those that did not bring everything.
    pub failed_only: bool,
    /// Those in whose names, paths, device or target this text is found, whatever the case of its
    /// letters.
    pub search: Option<String>,
    /// Those before that number, to read on.
    pub before: Option<u64>,
}

/// What a transfer is recorded with once it ends.
pub(crate) struct Record {
    pub(crate) store: Arc<Store>,
    /// Whom it was to reach, and what that was called.
    pub(crate) target: Option<(Target, String)>,
    pub(crate) paths: Vec<PathBuf>,
    /// Of a send of which all paths are remembered.
    pub(crate) resend: Option<Resend>,
}

/// A transfer at its end, for the record.
pub(crate) struct Ended<'a> {
    pub(crate) id: TransferId,
    pub(crate) direction: Direction,
    pub(crate) peer: Option<&'a (DeviceId, String)>,
    pub(crate) title: &'a (OsString, u64),
    pub(crate) report: &'a Report,
    pub(crate) series: &'a [SeriesPoint],
}

impl Record {
    /// Writes it down. That it could not be is no failure of the transfer, which is over.
    pub(crate) fn keep(&self, ended: &Ended<'_>) {
        if is_worth_keeping(&ended.report.outcome) {
            let _ = self.store.keep(self, ended);
        }
    }

    /// The paths for the record: where it arrived, if it did.
    pub(crate) fn paths<'a>(&'a self, report: &'a Report) -> Vec<&'a Path> {
        match report.arrived.as_slice() {
            [] => self.paths.iter().take(PAST_PATHS_MAX).map(PathBuf::as_path).collect(),
            arrived => arrived.iter().take(PAST_PATHS_MAX).map(AsRef::as_ref).collect(),
        }
    }
}

/// Writes down that nobody answered an offer, so that whoever comes back learns of it. That it
/// could not be is no failure of the offer, which is over.
pub(crate) fn keep_unanswered(store: &Arc<Store>, offer: &OfferSummary) {
    let record = Record { store: Arc::clone(store), target: None, paths: Vec::new(), resend: None };
    let counts = Counts { bytes: offer.bytes_so_far, ..Counts::default() };
    let report = Report { counts, ..Report::new(Outcome::Failed(Fault::Unanswered), SystemTime::now()) };
    let more = (offer.names.len() as u64).saturating_add(offer.more_names).saturating_sub(1);
    record.keep(&Ended {
        id: offer.id,
        direction: Direction::Receiving,
        peer: Some(&(offer.from, offer.from_name.clone())),
        title: &(offer.names.first().cloned().unwrap_or_default(), more),
        report: &report,
        series: &[],
    });
}

/// A send that has yet to be given a code is asked for again with one.
fn is_worth_keeping(outcome: &Outcome) -> bool {
    !matches!(outcome, Outcome::Failed(Fault::Auth(AuthError::PairingNeeded { .. })))
}
