//! The controller: holds the engine and what windows and commands show of it. It knows neither
//! sockets nor a screen, so that tests drive it as a window does.
mod choices;
mod destination;
mod history;
mod nearby;
mod receiving;
mod settings;
#[cfg(test)]
mod tests;
mod unfinished;
mod watching;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::SystemTime;

use parking_lot::Mutex;
use ringway_engine::{
    CopyOptions, CopyRequest, Device, Engine, Fingerprint, FreeSpace, GivenSecret, PairingSecret, SendRequest, Target,
    Transfer,
};
use ringway_model::{
    Compression, Consent, Delta, DeviceId, DeviceRule, Direction, Fault, IntoHome, IoMode, OnExisting, Outage,
    PathText, Report, Stage, TlsMode,
};
use tokio::sync::Notify;

use crate::dto::{AppEvent, Chosen, CopyFolder, Everything, Moving, PairedDevice, Recipient};
use crate::text::{shown, shown_text};
use choices::Choices;
use destination::Destination;
use history::folder_of;
use nearby::Around;
use receiving::Receiving;
pub use receiving::Reception;

/// Transfers kept in the list that have ended: the latest. Each keeps its whole report, up to a
/// thousand failures and its course; the history has the others. More than a window shows as cards.
const ENDED_LISTED_MAX: usize = 16;

/// Paths of one transfer that a file manager is asked to select.
const ARRIVED_SHOWN_MAX: usize = 16;

/// Wrong tries after which a code is void, as the wire has it.
pub(crate) const CODE_TRIES_MAX: u8 = 3;

/// Where events go: a client's connection, or a test's channel. It must not wait.
pub type Sink = Box<dyn Fn(AppEvent) + Send + Sync>;

/// Everybody who is told events, each under a number.
#[derive(Default)]
struct Sinks {
    all: Vec<(u64, Sink)>,
    last: u64,
}

/// As long as this lives, its sink is told events.
pub struct Listener {
    app: Weak<Inner>,
    number: u64,
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(app) = self.app.upgrade() {
            app.sinks.lock().all.retain(|(number, _)| *number != self.number);
        }
    }
}

/// Clones are the same controller.
#[derive(Clone)]
pub struct App {
    pub(crate) inner: Arc<Inner>,
}

/// What the controller holds.
pub(crate) struct Inner {
    pub(crate) engine: Engine,
    pub(crate) receiving: Receiving,
    pub(crate) around: Around,
    sinks: Mutex<Sinks>,
    pub(crate) choices: Mutex<Choices>,
    destination: Destination,
    transfers: Mutex<Vec<Listed>>,
    /// Told whenever one of them has ended.
    pub(crate) ended: Notify,
}

/// How many transfers stand how, of those that have not ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Standing {
    /// They go on by themselves.
    pub moving: usize,
    /// A person has paused them, here or there, or the other machine's disk is full.
    pub paused: usize,
    /// This machine's disk is full.
    pub without_room: usize,
}

/// One transfer in the list.
struct Listed {
    /// Its key, with a number behind it where another one in the list has the same.
    id: String,
    transfer: Transfer,
    target: String,
    started_at: SystemTime,
    ended: Option<Report>,
}

impl Listed {
    fn shown(&self) -> Moving {
        Moving::new(&self.id, &self.transfer, &self.target, self.started_at, self.ended.clone())
    }
}

impl App {
    /// `state` is the folder for what may be lost.
    pub fn new(engine: Engine, state: &Path, reception: Reception) -> Self {
        let inner = Inner {
            engine,
            receiving: Receiving::new(reception),
            around: Around::default(),
            sinks: Mutex::default(),
            choices: Mutex::default(),
            destination: Destination::open(state),
            transfers: Mutex::default(),
            ended: Notify::new(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Everything there is to show; what changes from now on goes to `sink`, for as long as the
    /// listener lives.
    ///
    /// # Errors
    /// The trust store cannot be read.
    pub fn start(&self, sink: Sink) -> Result<(Everything, Listener), Fault> {
        let listener = {
            let mut sinks = self.inner.sinks.lock();
            sinks.last += 1;
            let number = sinks.last;
            sinks.all.push((number, sink));
            Listener { app: Arc::downgrade(&self.inner), number }
        };
        Ok((self.everything()?, listener))
    }

    /// Everything there is to show now.
    ///
    /// # Errors
    /// The trust store cannot be read.
    pub fn everything(&self) -> Result<Everything, Fault> {
        let engine = &self.inner.engine;
        Ok(Everything {
            device: engine.this_device().into(),
            settings: self.settings(),
            is_set_up: engine.is_set_up(),
            default_port: ringway_engine::limits::DEFAULT_PORT,
            code_tries_max: CODE_TRIES_MAX,
            machine: Engine::capabilities().into(),
            devices: self.devices()?,
            nearby: self.nearby(),
            listening: self.listening(),
            offers: self.offers(),
            transfers: self.inner.transfers.lock().iter().map(Listed::shown).collect(),
        })
    }

    /// Tells everybody who listens.
    pub fn tell(&self, event: AppEvent) {
        self.inner.sinks.lock().all.iter().for_each(|(_, sink)| sink(event.clone()));
    }

    /// Remembers what was chosen or dropped.
    pub fn choose(&self, paths: Vec<PathBuf>) -> Option<Chosen> {
        self.inner.choices.lock().keep(paths)
    }

    /// Whom a window means. A receiver that announces itself is looked for at its addresses; typed
    /// text is read here and nowhere below.
    pub async fn target(&self, recipient: &Recipient) -> Result<Target, Fault> {
        match recipient {
            Recipient::Device { id } => Ok(Target::Device(self.device_id(id)?)),
            Recipient::Nearby { id } => self.nearby_target(id).await,
            Recipient::Typed { text } => Ok(self.inner.engine.resolve(text.trim())?),
            Recipient::Confirmed { id, text } => match self.inner.engine.resolve(text.trim())? {
                Target::Address(at) => Ok(Target::DeviceAt { id: self.device_id(id)?, at }),
                _ => Err(Fault::Gone),
            },
            Recipient::Announced { id, at } => {
                let at = at.parse().map_err(|_| Fault::Gone)?;
                Ok(Target::Announced { at, fingerprint: Fingerprint::parse(id).map_err(|_| Fault::Gone)? })
            }
        }
    }

    /// Starts sending choice `chosen` to `target`, with a code if the two devices have not met.
    /// With `verify` it is read back there. `confirmed` is the target that a person said yes to
    /// outside the page, in the words of [`Fault::NewTarget`].
    ///
    /// # Errors
    /// [`Fault::NewTarget`] where the choice comes from the history, went to another target, and
    /// nobody has confirmed this one.
    pub fn send(
        &self,
        chosen: u32,
        target: Target,
        code: Option<String>,
        verify: bool,
        confirmed: Option<&str>,
    ) -> Result<Moving, Fault> {
        let label = self.inner.engine.label(&target);
        let sources = {
            let choices = self.inner.choices.lock();
            let sources = choices.sources(chosen).ok_or(Fault::Gone)?;
            if let Some(was) = choices.elsewhere(chosen, &target) {
                let to = self.in_full(&target);
                if confirmed != Some(&to) {
                    let (what, more) = choices.title(chosen).ok_or(Fault::Gone)?;
                    return Err(Fault::NewTarget {
                        what: what.into(),
                        more,
                        to: to.into(),
                        was: self.in_full(was).into(),
                    });
                }
            }
            sources
        };
        let code = code.as_deref().map(secret).transpose()?;
        let request = SendRequest {
            sources,
            target,
            code,
            tls: TlsMode::Auto,
            io: IoMode::Auto,
            lanes: None,
            compression: Compression::Auto,
            delta: Delta::Auto,
            limit: self.inner.engine.settings().send_limit,
            verify,
            records_per_key: None,
            retry: Some(ringway_engine::limits::RETRY_DEFAULT),
            timeout: Some(ringway_engine::limits::STALL_TIME_DEFAULT),
        };
        let transfer = self.inner.engine.send(request);
        Ok(self.list(transfer, &label))
    }

    /// A target in words that stand for no other one: a device's name here and its id, or an
    /// address.
    fn in_full(&self, target: &Target) -> String {
        let label = self.inner.engine.label(target);
        shown_text(&match target {
            Target::Device(id) => format!("{label} ({})", id.short()),
            Target::DeviceAt { id, at } => format!("{label} ({}), {at}", id.short()),
            Target::Announced { fingerprint, .. } => format!("{label} ({})", fingerprint.short()),
            Target::Address(_) => label,
        })
    }

    /// The folder that a copy of choice `chosen` would go into; none where a person has to pick one
    /// first.
    pub fn copy_folder(&self, chosen: u32) -> Option<CopyFolder> {
        let folder = self.inner.destination.offered()?;
        let paths = self.inner.choices.lock().paths(chosen).unwrap_or_default();
        let landings: Vec<_> = paths.iter().filter_map(|path| path.file_name()).map(|name| folder.join(name)).collect();
        Some(CopyFolder {
            path: shown(&folder),
            lands: shown(if let [only] = landings.as_slice() { only } else { &folder }),
            there_already: landings.iter().filter(|path| path.symlink_metadata().is_ok()).count() as u64,
            free_bytes: FreeSpace::look(&folder).map(|free| free.free_bytes),
        })
    }

    /// Where a picker for that folder begins.
    pub fn copy_folder_picked(&self) -> Option<PathBuf> {
        self.inner.destination.offered()
    }

    /// Copies go into another folder from now on.
    pub fn pick_copy_folder(&self, folder: PathBuf) {
        self.inner.destination.pick(folder);
    }

    /// Starts copying choice `chosen` into the folder that was picked.
    pub fn copy(&self, chosen: u32, existing: OnExisting, verify: bool) -> Result<Moving, Fault> {
        let sources = self.inner.choices.lock().paths(chosen).ok_or(Fault::Gone)?;
        let destination = self.inner.destination.ready()?;
        let target = shown(&destination);
        let options = CopyOptions { existing, verify, count_ahead: true, ..CopyOptions::default() };
        let transfer = self.inner.engine.copy(CopyRequest { sources, destination, options });
        Ok(self.list(transfer, &target))
    }

    /// Pairs without sending anything; what the other machine is called then.
    pub async fn pair(&self, recipient: &Recipient, code: &str) -> Result<String, Fault> {
        let code = secret(code)?;
        let target = self.target(recipient).await?;
        let device = self.inner.engine.pair(target, code).await?;
        self.tell_devices();
        Ok(shown_text(&device.name))
    }

    /// Adds a transfer to the list and tells the window, once for each transfer.
    pub(crate) fn list(&self, transfer: Transfer, target: &str) -> Moving {
        let mut transfers = self.inner.transfers.lock();
        if let Some(known) = transfers.iter().find(|listed| listed.transfer.is(&transfer)) {
            return known.shown();
        }
        let listed = Listed {
            id: free_id(&transfers, transfer.key().to_string()),
            transfer: transfer.clone(),
            target: target.to_owned(),
            started_at: SystemTime::now(),
            ended: None,
        };
        let shown = listed.shown();
        transfers.push(listed);
        drop(transfers);
        self.tell(AppEvent::TransferStarted { transfer: Box::new(shown.clone()) });
        tokio::spawn(self.clone().await_end(transfer));
        shown
    }

    async fn await_end(self, transfer: Transfer) {
        let report = transfer.wait().await;
        {
            let mut transfers = self.inner.transfers.lock();
            if let Some(listed) = transfers.iter_mut().find(|listed| listed.transfer.is(&transfer)) {
                listed.ended = Some(report.as_ref().clone());
            }
            fold(&mut transfers);
        }
        self.inner.ended.notify_waiters();
        self.tell_devices();
    }

    /// The transfer with that id.
    pub fn transfer(&self, id: &str) -> Result<Transfer, Fault> {
        let transfers = self.inner.transfers.lock();
        let found = transfers.iter().find(|listed| listed.id == id);
        found.map(|listed| listed.transfer.clone()).ok_or(Fault::Gone)
    }

    /// Those that have not ended.
    pub(crate) fn running_of(&self, of: impl Fn(&Transfer) -> bool) -> Vec<Transfer> {
        let transfers = self.inner.transfers.lock();
        let running = transfers.iter().filter(|listed| listed.ended.is_none()).map(|listed| &listed.transfer);
        running.filter(|transfer| of(transfer)).cloned().collect()
    }

    /// How the transfers stand that have not ended.
    pub fn standing(&self) -> Standing {
        let mut standing = Standing::default();
        let transfers = self.inner.transfers.lock();
        for listed in transfers.iter().filter(|listed| listed.ended.is_none()) {
            match listed.transfer.progress().stage {
                Stage::Paused if lacks_space(&listed.transfer) => standing.without_room += 1,
                Stage::Paused => standing.paused += 1,
                _ => standing.moving += 1,
            }
        }
        standing
    }

    /// How many transfers have not ended.
    pub fn running(&self) -> usize {
        self.inner.transfers.lock().iter().filter(|listed| listed.ended.is_none()).count()
    }

    /// Takes an ended transfer off the list; a running one stays.
    pub fn dismiss(&self, id: &str) {
        self.inner.transfers.lock().retain(|listed| listed.ended.is_none() || listed.id != id);
    }

    /// The folder to show for what a transfer brought.
    pub fn arrived_folder(&self, id: &str) -> Result<PathBuf, Fault> {
        let transfers = self.inner.transfers.lock();
        let found = transfers.iter().find(|listed| listed.id == id);
        found.and_then(|listed| folder_of(&listed.ended.as_ref()?.arrived)).ok_or(Fault::Gone)
    }

    /// What a transfer brought, by its final names; the first [`ARRIVED_SHOWN_MAX`].
    pub fn arrived_paths(&self, id: &str) -> Result<Vec<PathBuf>, Fault> {
        let transfers = self.inner.transfers.lock();
        let found = transfers.iter().find(|listed| listed.id == id).ok_or(Fault::Gone)?;
        let arrived = found.ended.iter().flat_map(|report| &report.arrived);
        Ok(arrived.take(ARRIVED_SHOWN_MAX).map(|path| path.0.clone()).collect())
    }

    pub(crate) fn devices(&self) -> Result<Vec<PairedDevice>, Fault> {
        let engine = &self.inner.engine;
        let last = engine.last_with_each()?;
        let last_with = |id| last.iter().find(|past| past.peer.as_ref().is_some_and(|(peer, _)| *peer == id));
        let shown = |device: &Device| {
            let looks_like = engine.look_alike(device.id, &device.name)?;
            Ok(PairedDevice::new(device, looks_like.as_ref(), last_with(device.id)))
        };
        engine.devices()?.iter().map(shown).collect()
    }

    /// Tells the window the devices as they are now. A store that cannot be read just now is said
    /// by what needs it.
    pub(crate) fn tell_devices(&self) {
        if let Ok(devices) = self.devices() {
            self.tell(AppEvent::DevicesChanged { devices });
        }
        if let Ok(paired) = self.inner.engine.devices() {
            self.recognise_around(&paired);
        }
    }

    /// Renames a paired device here.
    pub fn rename_device(&self, id: &str, name: &str) -> Result<(), Fault> {
        let id = self.device_id(id)?;
        self.inner.engine.rename_device(id, name.trim())?;
        self.tell_devices();
        Ok(())
    }

    /// Forgets a paired device.
    pub fn forget_device(&self, id: &str) -> Result<(), Fault> {
        let id = self.device_id(id)?;
        self.inner.engine.forget_device(id)?;
        self.tell_devices();
        Ok(())
    }

    /// Says what is done with a paired device's offers, and how large one may be that is accepted
    /// without asking. Its folder stays.
    pub fn set_device_rule(&self, id: &str, consent: Consent, max_bytes: Option<u64>) -> Result<(), Fault> {
        self.change_rule(id, |rule| DeviceRule { consent, bytes_max: max_bytes, ..rule })
    }

    /// Says where what a paired device sends lands, and what may where that is a home; none is the
    /// receive folder.
    pub fn set_device_folder(&self, id: &str, folder: Option<PathBuf>, into_home: IntoHome) -> Result<(), Fault> {
        let chosen = folder.clone();
        self.change_rule(id, |rule| DeviceRule { folder: folder.map(PathText), into_home, ..rule })?;
        // Also where it is the one that the rule had.
        chosen.iter().for_each(|folder| self.inner.engine.choose_folder(folder));
        Ok(())
    }

    /// Where a picker for that folder begins.
    pub fn device_folder(&self, id: &str) -> Result<Option<PathBuf>, Fault> {
        Ok(self.inner.engine.rule(self.device_id(id)?)?.ok_or(Fault::Gone)?.folder.map(|folder| folder.0))
    }

    fn change_rule(&self, id: &str, change: impl FnOnce(DeviceRule) -> DeviceRule) -> Result<(), Fault> {
        let id = self.device_id(id)?;
        let rule = self.inner.engine.rule(id)?.ok_or(Fault::Gone)?;
        self.inner.engine.set_rule(id, &change(rule))?;
        self.tell_devices();
        Ok(())
    }

    fn device_id(&self, id: &str) -> Result<DeviceId, Fault> {
        let device = self.inner.engine.devices()?.into_iter().find(|device| device.id.to_string() == id);
        device.map(|device| device.id).ok_or(Fault::Gone)
    }
}

/// What the other device shows, or the standing secret of one that has no screen.
fn secret(typed: &str) -> Result<PairingSecret, Fault> {
    Ok(GivenSecret::parse(typed.trim().as_bytes())?.to_pairing_secret())
}

/// An id that no transfer in the list has. A sender that comes again much later has the same key as
/// before: what has ended under it stays in the list.
fn free_id(transfers: &[Listed], key: String) -> String {
    let is_free = |id: &String| transfers.iter().all(|listed| listed.id != *id);
    if is_free(&key) {
        return key;
    }
    (2..).map(|number| format!("{key}.{number}")).find(is_free).expect("the list ends")
}

/// Takes those off the list that ended first, where more have ended than are kept.
fn fold(transfers: &mut Vec<Listed>) {
    let ended_at = |listed: &Listed| listed.ended.as_ref().map(|report| report.ended_at);
    let ended = transfers.iter().filter(|listed| listed.ended.is_some()).count();
    for _ in ENDED_LISTED_MAX..ended {
        let of_ended = transfers.iter().enumerate().filter_map(|(at, listed)| Some((ended_at(listed)?, at)));
        if let Some((_, first)) = of_ended.min() {
            transfers.remove(first);
        }
    }
}

/// Whether it is paused because this machine's disk is full.
fn lacks_space(transfer: &Transfer) -> bool {
    let why = transfer.progress().interruption.map(|interruption| interruption.why);
    transfer.direction() != Direction::Sending && matches!(why, Some(Outage::Full(_)))
}
