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
use crate::admission::descriptors::ForReceiving;
use crate::limits::{GETS_ENDED_MAX, GETS_MAX, GETS_OF_ONE_MAX};
use crate::store::PairingNumber;

/// A known device's session that has asked for entries of a share.
pub(crate) struct Requester {
    pub(crate) session: Session,
    pub(crate) tickets: TicketKey,
    pub(crate) device: Device,
    /// The pairing that it asked in.
    pub(crate) pairing: PairingNumber,
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
    ended: VecDeque<(DeviceId, [u8; 16], GetRefusal, Instant)>,
}

struct Running {
    number: u64,
    device: DeviceId,
    pairing: PairingNumber,
    transfer: [u8; 16],
    share: ShareName,
    paths: Vec<GetPath>,
    selection: u64,
    to: mpsc::Sender<Requester>,
    /// It waits for its device.
    interrupted: bool,
}

impl Running {
    fn is_of(&self, asker: &Requester, selection: u64) -> bool {
        (self.device, self.pairing) == (asker.device.id, asker.pairing)
            && (&self.share, &self.paths, self.selection) == (&asker.get.share, &asker.get.paths, selection)
            // The same under another id goes on with one that waits: its device was started anew.
            && (self.transfer == asker.get.transfer || self.interrupted)
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
        if let Some(running) = all.running.iter().find(|running| running.is_of(asker, selection)) {
            return Entered::Renewed(running.to.clone());
        }
        let now = Instant::now();
        all.ended.retain(|(.., until)| *until > now);
        let is_this = |device: &DeviceId, id: &[u8; 16]| (device, id) == (&asker.device.id, &asker.get.transfer);
        if let Some((.., refusal, _)) = all.ended.iter().find(|(device, id, ..)| is_this(device, id)) {
            return Entered::Ended(*refusal);
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
        let interrupted = false;
        all.running.push(Running { number, device, pairing, transfer, share, paths, selection, to, interrupted });
        Entered::New(Entry { all: self.clone(), number }, renewed)
    }
}

impl Gets {
    /// A person here has ended it: its device, which may not know that, gets no more of it `until`
    /// it asks no more.
    pub(crate) fn ended(&self, device: DeviceId, transfer: [u8; 16], refusal: GetRefusal, until: Instant) {
        let mut all = self.0.lock();
        all.ended.push_back((device, transfer, refusal, until));
        let excess = all.ended.len().saturating_sub(GETS_ENDED_MAX);
        all.ended.drain(..excess);
    }
}

/// Something that is got, until it is dropped.
pub(crate) struct Entry {
    all: Gets,
    number: u64,
}

impl Entry {
    /// Whether it waits for its device now.
    pub(crate) fn interrupted(&self, now: bool) {
        if let Some(running) = self.all.0.lock().running.iter_mut().find(|running| running.number == self.number) {
            running.interrupted = now;
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.all.0.lock().running.retain(|running| running.number != self.number);
    }
}
