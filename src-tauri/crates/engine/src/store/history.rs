//! What has ended: one record for each transfer, kept with the trust store, so that the window's
//! activity and `ringway inbox` show the same.
pub(crate) mod ending;
mod reget;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use ringway_model::{
    AfterFailure, DeviceId, Direction, Fault, Past, PathText, Pattern, Report, Selection, SeriesPoint, Source,
    TransferId,
};

use crate::devices::reference::PathInShare;
use crate::devices::target::Target;
use crate::limits::FAILURES_LISTED_MAX;
use crate::store::Store;
pub use reget::{KeptAttributes, Landing, Reget};

/// Transfers that are remembered: years of daily use. The oldest go first.
pub const PAST_MAX: u32 = 5_000;

/// Offers that nobody answered, of each device that are remembered; the same offered again counts
/// once.
pub const PAST_UNANSWERED_MAX: u32 = 20;

/// Failures that are remembered by name of each transfer: as many as its report names.
pub const PAST_FAILURES_MAX: usize = FAILURES_LISTED_MAX;

/// Files that the receiver kept, remembered by name of each transfer.
pub(super) const PAST_EDITS_MAX: usize = 100;

/// Failures that are remembered of all transfers together; with paths of 4 KiB that is 80 MB, with
/// common ones 2. The oldest go first.
pub const PAST_FAILURES_ALL_MAX: u32 = 20_000;

/// Paths that are remembered of each transfer.
pub const PAST_PATHS_MAX: usize = 16;

/// Bytes of patterns that are remembered of each transfer.
const PAST_PATTERNS_LEN_MAX: usize = 16 * 1024;

/// A past transfer, and what only this device needs to send it again.
#[derive(Debug)]
pub struct Remembered {
    /// The transfer.
    pub past: Past,
    /// What to send to send it again; `None` if it was not sent from here, or was more than is
    /// remembered ([`PAST_PATHS_MAX`]).
    pub resend: Option<Resend>,
    /// What to get to get it again; `None` if it was not got from here, or was more than is
    /// remembered.
    pub reget: Option<Reget>,
    /// The paired device that it was to reach, where it was to reach one.
    pub(crate) target_device: Option<DeviceId>,
    /// How the id was to begin of the receiver that it was to reach, in hexadecimal, where that had
    /// announced itself.
    pub(crate) target_announced: Option<String>,
    /// What became of it when the same was transferred later, if it did not bring everything. Lists
    /// have it.
    pub after: Option<AfterFailure>,
}

/// What this machine has sent last, or got last.
#[derive(Debug)]
pub enum LastStarted {
    /// Nothing yet.
    Nothing,
    /// A transfer in that direction runs, in this program or in another one.
    Runs,
    /// This one, which has ended.
    Ended(Box<Remembered>),
}

impl Remembered {
    /// Whether this device asked another one for it.
    pub fn was_got(&self) -> bool {
        self.past.direction == Direction::Receiving && self.past.target.is_some()
    }

    /// Whether what this machine started can be started once more from what is remembered alone.
    pub fn can_be_repeated(&self) -> bool {
        match self.past.direction {
            Direction::Sending => self.resend.as_ref().is_some_and(|resend| !resend.by_list),
            Direction::Receiving => self.reget.as_ref().is_some_and(|reget| !reget.by_list),
            Direction::Copying => false,
        }
    }
}

/// What was sent, to be sent again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resend {
    /// The sources.
    pub sources: Vec<Source>,
    /// Which of their entries; without a list, which is not remembered.
    pub selection: Selection,
    /// Whether a list selected as well: to send the same again, it is to be given again.
    pub by_list: bool,
    /// Whether it was to be read back and compared.
    pub verify: bool,
    /// The place in a drop box there where it was to land.
    pub in_share: Option<PathInShare>,
}

/// What is remembered of a selection, and whether it had a list, which is not; `None` if there are
/// more patterns than people write.
pub(crate) fn of_selection(selection: &Selection) -> Option<(Selection, bool)> {
    let len = |pattern: &Pattern| match pattern {
        Pattern::Exclude(text) | Pattern::Include(text) => text.len() + 2,
    };
    let is_short = selection.patterns.iter().map(len).sum::<usize>() <= PAST_PATTERNS_LEN_MAX;
    let patterns = || Selection { patterns: selection.patterns.clone(), paths: None };
    is_short.then(|| (patterns(), selection.paths.is_some()))
}

/// What a transfer is recorded with, from its beginning.
pub(crate) struct Record {
    pub(crate) store: Arc<Store>,
    pub(crate) entry: Mutex<Entry>,
    /// Whom it was to reach, and what that was called.
    pub(crate) target: Option<(Target, String)>,
    pub(crate) paths: Vec<PathBuf>,
    /// The drop box that it was sent into, or the first entry that was got, as `SHARE/PATH`.
    pub(crate) in_share: Option<PathText>,
    /// Of a send of which all paths are remembered.
    pub(crate) resend: Option<Resend>,
    /// Of a get of which all paths are remembered.
    pub(crate) reget: Option<Reget>,
}

/// Where a transfer is recorded.
#[derive(Default)]
pub(crate) struct Entry {
    number: Option<u64>,
    is_over: bool,
    /// Why its end is not written down.
    trouble: Option<Fault>,
}

/// A transfer at its end, or as far as it has come, for the record.
pub(crate) struct Ended<'a> {
    pub(crate) id: TransferId,
    pub(crate) direction: Direction,
    pub(crate) peer: Option<&'a (DeviceId, String)>,
    pub(crate) title: &'a (OsString, u64),
    /// Whether anything of it was accepted.
    pub(crate) has_begun: bool,
    pub(crate) report: &'a Report,
    pub(crate) series: &'a [SeriesPoint],
}

impl Ended<'_> {
    /// Whether all that came of it is that a code is needed, or another one: the same is asked for
    /// again with it.
    pub(in crate::store) fn needs_code(&self) -> bool {
        self.report.outcome.needs_code() && !self.has_begun
    }
}

impl Record {
    /// Of something that another device started, or that cannot be started once more.
    pub(crate) fn of(store: &Arc<Store>) -> Self {
        Self {
            store: Arc::clone(store),
            entry: Mutex::default(),
            target: None,
            paths: Vec::new(),
            in_share: None,
            resend: None,
            reget: None,
        }
    }

    /// Whether it can be started once more from what is remembered alone.
    pub(crate) fn can_be_repeated(&self) -> bool {
        let by_list = self.resend.as_ref().map(|resend| resend.by_list);
        by_list.or(self.reget.as_ref().map(|reget| reget.by_list)) == Some(false)
    }

    /// Which entries were sent or got, if that is remembered.
    pub(in crate::store) fn selection(&self) -> Option<&Selection> {
        let sent = self.resend.as_ref().map(|resend| &resend.selection);
        sent.or_else(|| self.reget.as_ref().map(|reget| &reget.selection))
    }

    /// Writes down how it ended. That it could not be is no failure of the transfer, which is over:
    /// it may be tried again.
    pub(crate) fn keep(&self, ended: &Ended<'_>) {
        let mut entry = self.entry.lock();
        entry.is_over = true;
        match self.store.keep(self, ended, entry.number) {
            Ok(number) => (entry.number, entry.trouble) = (Some(number), None),
            Err(error) => entry.trouble = Some(error),
        }
    }

    /// Why its end could not be written down yet.
    pub(crate) fn trouble(&self) -> Option<Fault> {
        self.entry.lock().trouble.clone()
    }

    /// Writes down how far it has come, unless it is over: what is shown of it if this process ends
    /// before it does.
    pub(crate) fn keep_running(&self, so_far: &Ended<'_>) {
        let mut entry = self.entry.lock();
        if !entry.is_over
            && let Ok(number) = self.store.keep_running(self, so_far, entry.number)
        {
            entry.number = number;
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
