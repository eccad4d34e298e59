//! What waits for its turn: several transfers to one device go one after the other, in the order in
//! which they were asked for.
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use ringway_engine::{Engine, SendRequest, Target, Transfer, draw_transfer_id};
use ringway_model::{DeviceId, Fault, Invalid, Source, TransferId};

use super::super::listeners::Listeners;
use super::super::transfers::Transfers;
use crate::dto::{AppEvent, Moving, Sent, Waiting};

/// Transfers that wait, to all devices together: more would not be read, and each keeps the paths
/// of what it sends.
const WAITING_MAX: usize = 100;

/// What goes to devices now, and what waits for that. A transfer that fails or is declined lets the
/// next one begin, as one that succeeds does: it may be about something else.
pub(crate) struct Queue {
    engine: Engine,
    listeners: Arc<Listeners>,
    transfers: Arc<Transfers>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: Vec<Running>,
    /// In the order in which they begin, those of all devices.
    waiting: VecDeque<Waits>,
    /// Nothing that waits begins any more.
    closed: bool,
}

struct Running {
    to: Option<DeviceId>,
    transfer: Transfer,
}

impl Running {
    /// A stranger is known once it was reached.
    fn is_to(&self, device: DeviceId) -> bool {
        self.to == Some(device) || self.transfer.peer().is_some_and(|(peer, _)| peer == device)
    }
}

struct Waits {
    /// As long as it waits. The transfer that begins draws its own.
    id: TransferId,
    to: DeviceId,
    request: SendRequest,
}

impl State {
    fn is_busy(&self, device: DeviceId) -> bool {
        self.running.iter().any(|running| running.is_to(device))
    }

    fn position(&self, id: &str) -> Result<usize, Fault> {
        self.waiting.iter().position(|waits| waits.id.to_string() == id).ok_or(Fault::Gone)
    }
}

impl Queue {
    pub(in crate::app) fn new(engine: Engine, listeners: Arc<Listeners>, transfers: Arc<Transfers>) -> Self {
        Self { engine, listeners, transfers, state: Mutex::default() }
    }

    /// Begins a transfer, or has it wait until what goes to the same paired device has ended.
    ///
    /// # Errors
    /// Too many wait; the kernel gives no random bytes.
    pub(super) fn send(self: &Arc<Self>, request: SendRequest) -> Result<Sent, Fault> {
        let to = device_of(&request.target);
        let mut state = self.state.lock();
        let Some(device) = to.filter(|device| state.is_busy(*device) && !state.closed) else {
            return Ok(Sent::Begun { transfer: Box::new(self.begin(&mut state, request, to)) });
        };
        if state.waiting.len() >= WAITING_MAX {
            return Err(Fault::Invalid(Invalid::TooMany));
        }
        let waits = Waits { id: draw_transfer_id()?, to: device, request };
        let waiting = self.shown_one(&waits);
        state.waiting.push_back(waits);
        drop(state);
        self.tell();
        Ok(Sent::Waits { waiting })
    }

    fn begin(self: &Arc<Self>, state: &mut State, request: SendRequest, to: Option<DeviceId>) -> Moving {
        let label = self.engine.label(&request.target);
        let transfer = self.engine.send(request);
        state.running.push(Running { to, transfer: transfer.clone() });
        let moving = self.transfers.add(transfer.clone(), Some(label.into()));
        let queue = Arc::clone(self);
        tokio::spawn(async move {
            transfer.wait().await;
            queue.ended(&transfer);
        });
        moving
    }

    fn ended(self: &Arc<Self>, transfer: &Transfer) {
        let mut state = self.state.lock();
        state.running.retain(|running| !running.transfer.is(transfer));
        let mut has_begun = false;
        while let Some(next) = state.waiting.iter().position(|waits| !state.is_busy(waits.to)) {
            let Some(Waits { to, request, .. }) = state.waiting.remove(next) else { break };
            self.begin(&mut state, request, Some(to));
            has_begun = true;
        }
        drop(state);
        if has_begun {
            self.tell();
        }
    }

    /// Has one go before or behind its neighbour to the same device; the first stays first and the
    /// last stays last.
    ///
    /// # Errors
    /// It does not wait any more.
    pub(crate) fn shift(&self, id: &str, up: bool) -> Result<(), Fault> {
        let mut state = self.state.lock();
        let at = state.position(id)?;
        let to = state.waiting[at].to;
        let is_neighbour = |(_, waits): &(usize, &Waits)| waits.to == to;
        let neighbour = match up {
            true => state.waiting.iter().enumerate().take(at).rev().find(is_neighbour),
            false => state.waiting.iter().enumerate().skip(at + 1).find(is_neighbour),
        };
        let Some(neighbour) = neighbour.map(|(at, _)| at) else { return Ok(()) };
        state.waiting.swap(at, neighbour);
        drop(state);
        self.tell();
        Ok(())
    }

    /// Takes one out.
    ///
    /// # Errors
    /// It does not wait any more.
    pub(crate) fn remove(&self, id: &str) -> Result<(), Fault> {
        let mut state = self.state.lock();
        let at = state.position(id)?;
        state.waiting.remove(at);
        drop(state);
        self.tell();
        Ok(())
    }

    /// Takes all out; nothing waits from now on.
    pub(in crate::app) fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        state.waiting.clear();
        drop(state);
        self.tell();
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.state.lock().waiting.is_empty()
    }

    /// All that wait, in the order in which they begin.
    pub(in crate::app) fn shown(&self) -> Vec<Waiting> {
        self.state.lock().waiting.iter().map(|waits| self.shown_one(waits)).collect()
    }

    fn shown_one(&self, waits: &Waits) -> Waiting {
        let sources = &waits.request.sources;
        fn name(source: &Source) -> &Path {
            source.path.file_name().map_or(source.path.as_path(), Path::new)
        }
        Waiting {
            id: waits.id.to_string(),
            device: waits.to,
            target: self.engine.label(&waits.request.target).into(),
            title: sources.first().map_or_else(|| Path::new(""), name).into(),
            more_names: (sources.len() as u64).saturating_sub(1),
        }
    }

    fn tell(&self) {
        self.listeners.tell(AppEvent::WaitingChanged { waiting: self.shown() });
    }
}

/// The paired device that is meant. The device at an address may be another one each time: what
/// goes there waits for nobody.
fn device_of(target: &Target) -> Option<DeviceId> {
    match target {
        Target::Device(id) | Target::DeviceAt { id, .. } => Some(*id),
        Target::Address(_) | Target::Announced { .. } => None,
    }
}
