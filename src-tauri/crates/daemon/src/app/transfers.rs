//! The list of transfers: those under way and those that ended last, each under the id by which
//! windows and commands name it.
mod watching;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use ringway_engine::Transfer;
use ringway_model::{ComparisonState, EntryKind, Fault, Progress, Report, Text, TransferKey, TransferStatus, UnderWay};
use tokio::sync::Notify;

use super::devices::Devices;
use super::listeners::Listeners;
use crate::dto::{AppEvent, ComparedBefore, Moving};

/// Transfers kept in the list that have ended: the latest. Each keeps its whole report, up to a
/// thousand failures and its course; the history has the others. More than a window shows as cards.
const ENDED_LISTED_MAX: usize = 16;

/// Paths of one transfer that a file manager is asked to select.
const ARRIVED_SHOWN_MAX: usize = 16;

/// Comparisons kept of offers that were accepted, the latest: as many as ended transfers. Each has
/// a thousand differences at most, with 256 KiB of paths.
const COMPARED_MAX: usize = ENDED_LISTED_MAX;

/// The list.
pub struct Transfers {
    listeners: Arc<Listeners>,
    devices: Devices,
    list: Mutex<Vec<Listed>>,
    /// How offers compared with their folders before they were received, the latest last.
    compared: Mutex<VecDeque<(TransferKey, ComparedBefore)>>,
    /// Told whenever one of them has ended.
    ended: Notify,
}

/// One transfer in the list.
struct Listed {
    /// Its key, with a number behind it where another one in the list has the same.
    id: String,
    transfer: Transfer,
    target: Option<Text>,
    started_at: SystemTime,
    ended: Option<Report>,
}

/// Its state, and what a person can do about it.
fn status_of(transfer: &Transfer, progress: &Progress, ended: Option<&Report>) -> TransferStatus {
    let status = TransferStatus::of(transfer.direction(), transfer.started_by(), progress, ended);
    if transfer.can_be_repeated() { status } else { status.never_again() }
}

impl Listed {
    fn shown(&self) -> Moving {
        let (title, more_names) = self.transfer.title();
        let (direction, progress) = (self.transfer.direction(), self.transfer.progress());
        let status = status_of(&self.transfer, &progress, self.ended.as_ref());
        let transfer = UnderWay {
            id: self.id.clone(),
            direction,
            target: self.target.clone(),
            title: title.into(),
            more_names,
            in_share: self.transfer.in_share(),
            started_at: self.started_at,
            progress,
        };
        Moving { transfer, status, series: self.transfer.series(), report: self.ended.clone() }
    }
}

impl Transfers {
    pub(super) fn new(listeners: Arc<Listeners>, devices: Devices) -> Self {
        Self { listeners, devices, list: Mutex::default(), compared: Mutex::default(), ended: Notify::new() }
    }

    /// Adds a transfer to the list and tells the window, once for each transfer.
    pub(crate) fn add(self: &Arc<Self>, transfer: Transfer, target: Option<Text>) -> Moving {
        let mut list = self.list.lock();
        if let Some(known) = list.iter().find(|listed| listed.transfer.is(&transfer)) {
            return known.shown();
        }
        let listed = Listed {
            id: free_id(&list, transfer.key().to_string()),
            transfer: transfer.clone(),
            target,
            started_at: SystemTime::now(),
            ended: None,
        };
        let shown = listed.shown();
        list.push(listed);
        drop(list);
        self.listeners.tell(AppEvent::TransferStarted { transfer: Box::new(shown.clone()) });
        tokio::spawn(Arc::clone(self).await_end(transfer));
        shown
    }

    async fn await_end(self: Arc<Self>, transfer: Transfer) {
        let report = transfer.wait().await;
        {
            let mut list = self.list.lock();
            if let Some(listed) = list.iter_mut().find(|listed| listed.transfer.is(&transfer)) {
                listed.ended = Some(report.as_ref().clone());
            }
            fold(&mut list);
        }
        self.ended.notify_waiters();
        self.devices.tell();
    }

    /// All of them.
    pub(super) fn shown(&self) -> Vec<Moving> {
        self.list.lock().iter().map(Listed::shown).collect()
    }

    /// The transfer with that id.
    pub fn find(&self, id: &str) -> Result<Transfer, Fault> {
        self.listed(id, |listed| Some(listed.transfer.clone()))
    }

    fn listed<T>(&self, id: &str, of: impl FnOnce(&Listed) -> Option<T>) -> Result<T, Fault> {
        self.list.lock().iter().find(|listed| listed.id == id).and_then(of).ok_or(Fault::Gone)
    }

    /// Those that have not ended.
    pub(crate) fn running_of(&self, of: impl Fn(&Transfer) -> bool) -> Vec<Transfer> {
        let list = self.list.lock();
        let running = list.iter().filter(|listed| listed.ended.is_none()).map(|listed| &listed.transfer);
        running.filter(|transfer| of(transfer)).cloned().collect()
    }

    /// How many have not ended.
    pub fn running(&self) -> usize {
        self.running_of(|_| true).len()
    }

    /// Waits until those that `of` means have ended.
    pub(super) async fn all_ended(&self, of: impl Fn(&Transfer) -> bool) {
        loop {
            let ended = self.ended.notified();
            tokio::pin!(ended);
            // Whatever ends from here on is heard.
            ended.as_mut().enable();
            if self.running_of(&of).is_empty() {
                return;
            }
            ended.await;
        }
    }

    /// Takes an ended transfer off the list; a running one stays.
    pub(crate) fn dismiss(&self, id: &str) {
        self.list.lock().retain(|listed| listed.ended.is_none() || listed.id != id);
    }

    /// Keeps how an offer compared with its folder when it was accepted, as far as that was known
    /// by then. Nothing is kept if nothing was there that differed.
    pub(crate) fn keep_compared(&self, key: TransferKey, compared: ComparedBefore) {
        let ComparedBefore { mut comparison, differences } = compared;
        if differences.is_empty() || comparison.state == ComparisonState::Unknown {
            return;
        }
        // Nothing is compared any more.
        comparison.at_least |= comparison.state == ComparisonState::Comparing;
        comparison.state = ComparisonState::Done;
        let mut all = self.compared.lock();
        all.retain(|(other, _)| *other != key);
        if all.len() == COMPARED_MAX {
            all.pop_front();
        }
        all.push_back((key, ComparedBefore { comparison, differences }));
    }

    /// How a transfer's offer compared with its folder; none if that is not kept. Its id is that of
    /// the list, or the one that the history has.
    pub(crate) fn compared_before(&self, id: &str) -> Option<ComparedBefore> {
        let listed = self.listed(id, |listed| Some(listed.transfer.key().to_string())).ok();
        let id = listed.as_deref().unwrap_or(id);
        self.compared.lock().iter().find(|(key, _)| key.to_string() == id).map(|(_, compared)| compared.clone())
    }

    /// The folder to show for what a transfer brought.
    pub(crate) fn arrived_folder(&self, id: &str) -> Result<PathBuf, Fault> {
        self.listed(id, |listed| folder_of(&listed.ended.as_ref()?.arrived))
    }

    /// What a transfer brought, by its final names; the first [`ARRIVED_SHOWN_MAX`].
    pub(crate) fn arrived_paths(&self, id: &str) -> Result<Vec<PathBuf>, Fault> {
        self.listed(id, |listed| {
            let arrived = listed.ended.iter().flat_map(|report| &report.arrived);
            Some(arrived.take(ARRIVED_SHOWN_MAX).map(|path| path.0.clone()).collect())
        })
    }

    /// What each of those is now.
    pub(crate) fn arrived_kinds(&self, id: &str) -> Result<Vec<Option<EntryKind>>, Fault> {
        Ok(kinds_of(&self.arrived_paths(id)?))
    }
}

/// What is at each of these paths now, links not followed; `None` if that is not known.
pub(super) fn kinds_of(paths: &[PathBuf]) -> Vec<Option<EntryKind>> {
    let kind = |path: &PathBuf| {
        let kind = path.symlink_metadata().ok()?.file_type();
        let all = [
            (kind.is_dir(), EntryKind::Folder),
            (kind.is_file(), EntryKind::File),
            (kind.is_symlink(), EntryKind::Link),
        ];
        all.into_iter().find_map(|(is_it, kind)| is_it.then_some(kind))
    };
    paths.iter().map(kind).collect()
}

/// An id that no transfer in the list has. A sender that comes again much later has the same key as
/// before: what has ended under it stays in the list.
fn free_id(list: &[Listed], key: String) -> String {
    let is_free = |id: &String| list.iter().all(|listed| listed.id != *id);
    if is_free(&key) {
        return key;
    }
    (2..).map(|number| format!("{key}.{number}")).find(is_free).expect("the list ends")
}

/// Takes those off the list that ended first, where more have ended than are kept.
fn fold(list: &mut Vec<Listed>) {
    let ended_at = |listed: &Listed| listed.ended.as_ref().map(|report| report.ended_at);
    let ended = list.iter().filter(|listed| listed.ended.is_some()).count();
    for _ in ENDED_LISTED_MAX..ended {
        let of_ended = list.iter().enumerate().filter_map(|(at, listed)| Some((ended_at(listed)?, at)));
        if let Some((_, first)) = of_ended.min() {
            list.remove(first);
        }
    }
}

/// The received folder if it is the only item, else the folder that holds the received items. A
/// link that a peer sent is not followed.
pub(super) fn folder_of(arrived: &[impl AsRef<Path>]) -> Option<PathBuf> {
    let first = arrived.first()?.as_ref();
    let only_folder = arrived.len() == 1 && first.symlink_metadata().is_ok_and(|meta| meta.is_dir());
    let folder = if only_folder { Some(first) } else { first.parent() };
    folder.map(Path::to_owned)
}
