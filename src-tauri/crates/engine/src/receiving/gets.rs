//! What other devices get from the shares here: which of it runs or waits to go on, and how much
//! there may be.
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use parking_lot::Mutex;
use ringway_link::session::Session;
use ringway_link::tls::TicketKey;
use ringway_model::{Device, DeviceId, Pattern, ShareName};
use ringway_wire::SelectedPaths;
use ringway_wire::control::{Get, GetPath, GetRefusal};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::arrivals::Arrival;
use super::ids::LaterIds;
use crate::admission::descriptors::ForReceiving;
use crate::limits::{GETS_ENDED_MAX, GETS_MAX, GETS_OF_ONE_MAX};
use crate::store::Pairing;

/// A known device's session that has asked for entries of a share.
pub(crate) struct Requester {
    pub(crate) session: Session,
    pub(crate) tickets: TicketKey,
    pub(crate) device: Device,
    /// The pairing that it asked in.
    pub(crate) pairing: Pairing,
    pub(crate) get: Get,
    /// The paths that it selects, until they are opened.
    pub(crate) selected: SelectedPaths,
    /// Counts those, for as long as something is made of them.
    pub(crate) _arrival: Option<Arrival>,
}

impl Requester {
    /// Tells what it selects from other selections. A device that finds two that this takes for the
    /// same continues its own transfer with the other one.
    fn selection(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for pattern in &self.get.patterns {
            match pattern {
                Pattern::Exclude(text) => (true, text).hash(&mut hasher),
                Pattern::Include(text) => (false, text).hash(&mut hasher),
            }
        }
        self.get.selected.hash(&mut hasher);
        self.selected.iter().for_each(|path| path.hash(&mut hasher));
        hasher.finish()
    }
}

/// Everything that is got here.
#[derive(Clone, Default)]
pub(crate) struct Gets(Arc<Mutex<All>>);

#[derive(Default)]
struct All {
    running: Vec<Running>,
    next: u64,
    /// What a person here has ended, what its device is told, and until when that may ask for it
    /// again: the oldest first.
    ended: VecDeque<Ended>,
}

struct Ended {
    device: DeviceId,
    transfer: [u8; 16],
    later_ids: LaterIds,
    refusal: GetRefusal,
    until: Instant,
}

struct Running {
    number: u64,
    device: DeviceId,
    pairing: Pairing,
    transfer: [u8; 16],
    later_ids: LaterIds,
    /// The id of its latest session.
    latest: [u8; 16],
    share: ShareName,
    paths: Vec<GetPath>,
    selection: u64,
    to: mpsc::Sender<Requester>,
    /// It waits for its device.
    interrupted: bool,
}

impl Running {
    fn is_of(&self, asker: &Requester, selection: u64) -> bool {
        self.pairing == asker.pairing
            && (&self.share, &self.paths, self.selection) == (&asker.get.share, &asker.get.paths, selection)
            // The same under another id goes on with one that waits: its device was started anew.
            && (self.latest == asker.get.transfer || self.interrupted)
    }
}

/// What a request is to what runs.
pub(crate) enum Entered {
    /// More of something that was begun: its session goes there.
    Renewed(mpsc::Sender<Requester>),
    /// Something new.
    New(Entry, mpsc::Receiver<Requester>),
    /// Something new, and its device, or all together, have as many as there may be.
    Full,
    /// More of something that a person here has ended.
    Ended(GetRefusal),
}

impl Gets {
    /// Looks what a request is, and counts it if it is new.
    pub(crate) fn enter(&self, asker: &Requester) -> Entered {
        let selection = asker.selection();
        let mut all = self.0.lock();
        if let Some(running) = all.running.iter_mut().find(|running| running.is_of(asker, selection)) {
            if running.transfer != asker.get.transfer {
                running.later_ids.add(asker.get.transfer);
            }
            return Entered::Renewed(running.to.clone());
        }
        let now = Instant::now();
        all.ended.retain(|ended| ended.until > now);
        let id = &asker.get.transfer;
        let is_this =
            |ended: &&Ended| ended.device == asker.device.id && (ended.transfer == *id || ended.later_ids.has(id));
        if let Some(ended) = all.ended.iter().find(is_this) {
            return Entered::Ended(ended.refusal);
        }
        let theirs = |running: &&Running| running.device == asker.device.id;
        if all.running.iter().filter(theirs).count() >= GETS_OF_ONE_MAX || all.running.len() >= GETS_MAX {
            // What waits for its device goes before what the same device wants now.
            let waits = |running: &Running| theirs(&running) && running.interrupted;
            let Some(at) = all.running.iter().position(waits) else { return Entered::Full };
            all.running.remove(at);
        }
        // What waits for its device has nothing open.
        if all.running.iter().filter(|running| !running.interrupted).count() >= ForReceiving::here().gets {
            return Entered::Full;
        }
        let (to, renewed) = mpsc::channel(1);
        let number = all.next;
        all.next = number.wrapping_add(1);
        let Get { transfer, share, paths, .. } = asker.get.clone();
        let (device, pairing) = (asker.device.id, asker.pairing);
        all.running.push(Running {
            number,
            device,
            pairing,
            transfer,
            later_ids: LaterIds::default(),
            latest: transfer,
            share,
            paths,
            selection,
            to,
            interrupted: false,
        });
        Entered::New(Entry { all: self.clone(), number }, renewed)
    }
}

/// Something that is got, until it is dropped.
pub(crate) struct Entry {
    all: Gets,
    number: u64,
}

impl Entry {
    /// It waits for its device now.
    pub(crate) fn interrupted(&self) {
        self.change(|running| running.interrupted = true);
    }

    /// It goes on in a session that its device has begun under this id.
    pub(crate) fn renewed(&self, id: [u8; 16]) {
        self.change(|running| (running.interrupted, running.latest) = (false, id));
    }

    /// A person here has ended it: its device, which may not know that, gets no more of it `until`
    /// it asks no more.
    pub(crate) fn ended(self, refusal: GetRefusal, until: Instant) {
        let mut all = self.all.0.lock();
        let Some(at) = all.running.iter().position(|running| running.number == self.number) else { return };
        let Running { device, transfer, later_ids, .. } = all.running.remove(at);
        all.ended.push_back(Ended { device, transfer, later_ids, refusal, until });
        let excess = all.ended.len().saturating_sub(GETS_ENDED_MAX);
        all.ended.drain(..excess);
    }

    fn change(&self, change: impl FnOnce(&mut Running)) {
        if let Some(running) = self.all.0.lock().running.iter_mut().find(|running| running.number == self.number) {
            change(running);
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.all.0.lock().running.retain(|running| running.number != self.number);
    }
}
