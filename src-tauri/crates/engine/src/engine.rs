//! The engine's handle: everything that programs ask of it.
mod notes;
pub mod remedy;
mod shares;
pub(crate) mod unfinished;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::RwLock;
use ringway_link::key::DeviceKey;
use ringway_link::lane;
use ringway_link::tls::Tls;
use ringway_model::{
    AuthError, Capabilities, Device, DeviceId, DeviceRule, Direction, Fault, IntoHome, Invalid, IoMode, IoPath,
    LookAlike, PairingRequest, Past, PastDetails, PastQuery, Settings, Source, SyncIoReason, ThisDevice, TlsMode,
    TlsPath, TransferId,
};
use ringway_sys::dir::Dir;
use ringway_tree::random;
use ringway_tree::receive::Expected;
use ringway_wire::DeviceName;
use ringway_wire::code::PairingSecret;

use tokio::sync::broadcast;

use crate::admission::{boot_ms, descriptors};
use crate::devices::reference::PathInShare;
use crate::devices::target::Target;
use crate::limits;
use crate::local::paths::Paths;
use crate::local::places::Places;
use crate::local::{identity, private, settings};
use crate::reach::connect;
use crate::reach::discovery::{Announced, Nearby, Wanted};
use crate::receiving::asking::{Asker, questions};
use crate::receiving::getting;
use crate::receiving::listeners::Listeners;
use crate::receiving::receive::{self, Receiver};
use crate::send;
use crate::shared::{Shared, StoreChanges};
use crate::store::history::{
    KeptAttributes, LastStarted, PAST_PATHS_MAX, Record, Reget, Remembered, Resend, of_selection,
};
use crate::store::{self, look_alike, targets};
use crate::transfers::copying::{self, CopyRequest, PlannedFn};
use crate::transfers::options::{GetRequest, ReceiveOptions, SendRequest};
use crate::transfers::transfer::Transfer;

/// The engine's handle: cheap to clone, the same for every program. Methods that start jobs need a
/// tokio runtime around them.
#[derive(Clone)]
pub struct Engine {
    pub(crate) shared: Arc<Shared>,
    listeners: Arc<Listeners>,
}

/// What is remembered of a get, to get it again; `None` if it has a selection that is not.
fn remembered(shared: &Shared, request: &GetRequest) -> Option<Reget> {
    let (selection, by_list) = of_selection(&request.options.selection)?;
    Some(Reget {
        paths: request.paths.clone(),
        selection,
        by_list,
        destination: request.destination.clone(),
        folder: match shared.expect_again(&request.destination, request.folder.as_ref()) {
            Expected::Folder(folder) => Some(folder),
            Expected::Mounted | Expected::Any | Expected::Made => None,
        },
        landing: (&request.accept).into(),
        verify: request.options.verify,
    })
}

/// Draws a transfer's id.
///
/// # Errors
/// The kernel gives no random bytes.
pub fn draw_transfer_id() -> Result<TransferId, Fault> {
    Ok(TransferId(random()?))
}

impl Engine {
    /// Opens identity, trust store and settings, making them on first use.
    ///
    /// # Errors
    /// A folder or file that cannot be made or read, or is not ours.
    pub fn open(paths: Paths) -> Result<Self, Fault> {
        descriptors::at_least(limits::DESCRIPTORS_MIN)?;
        // Before anything in them is believed.
        private::secure(&paths)?;
        let identity = identity::open(&paths.data)?;
        let settings = settings::read(&paths.config, identity.id())?;
        let store = Arc::new(store::Store::open(&paths.data)?);
        let tls = Tls::new(&identity)?;
        let (settings, places, changes) = (RwLock::new(settings), Places::default(), StoreChanges::default());
        let (written, _) = broadcast::channel(limits::WRITTEN_MAX);
        let looks = Arc::default();
        let (silent, _) = broadcast::channel(limits::NEARBY_MAX);
        let shared = Shared { paths, identity, store, tls, settings, places, changes, looks, written, silent };
        Ok(Self { shared: Arc::new(shared), listeners: Arc::default() })
    }

    /// Everything that keeps [`Engine::open`] from succeeding, each part of what this device keeps
    /// by itself: `open` ends at the first.
    pub fn examine(paths: &Paths) -> Vec<Fault> {
        let identity = identity::open(&paths.data);
        // Without an identity the settings are read all the same; only a name that stands in for
        // the host's would differ.
        let id = identity.as_ref().map_or(DeviceId([0; 32]), DeviceKey::id);
        let settings = settings::read(&paths.config, id).map(drop);
        let store = store::Store::open(&paths.data).map(drop);
        let mut troubles: Vec<Fault> = Vec::new();
        for part in [private::secure(paths), identity.map(drop), settings, store] {
            // What several parts stumble over is one trouble.
            troubles
                .extend(part.err().filter(|error| troubles.iter().all(|told| told.to_string() != error.to_string())));
        }
        troubles
    }

    /// Whether what this device keeps (paired devices, history) can be written; reading and sending
    /// work without.
    ///
    /// # Errors
    /// [`Fault::Store`] with what a write would fail with.
    pub fn check_store_writable(&self) -> Result<(), Fault> {
        self.shared.store.check_writable()
    }

    /// This device.
    pub fn this_device(&self) -> ThisDevice {
        self.shared.this_device()
    }

    /// The host's name, where this device is called `device-` and its id's first digits because a
    /// device may not have that name: it reads as an id or an address, as in containers.
    pub fn unusable_host_name(&self) -> Option<String> {
        let ThisDevice { id, name } = self.this_device();
        settings::unusable_host_name(&name, id)
    }

    /// The settings in force.
    pub fn settings(&self) -> Settings {
        self.shared.settings()
    }

    /// What is kept of the attributes of what arrives, if these are asked for: what the settings
    /// keep, too.
    pub fn kept_besides(&self, asked: KeptAttributes) -> KeptAttributes {
        KeptAttributes { acls: asked.acls || self.settings().acls, ..asked }
    }

    /// The settings as their file has them now: a hand may have changed it since it was read.
    ///
    /// # Errors
    /// The file cannot be read, or says what is not acceptable.
    pub fn stored_settings(&self) -> Result<Settings, Fault> {
        settings::read(&self.shared.paths.config, self.shared.identity.id())
    }

    /// Whether this machine was set up: settings were stored, by any program or by hand.
    pub fn is_set_up(&self) -> bool {
        settings::exist(&self.shared.paths.config)
    }

    /// Stores new settings.
    ///
    /// # Errors
    /// [`Fault::Invalid`] for what is not acceptable, or what the file says.
    pub fn set_settings(&self, settings: Settings) -> Result<(), Fault> {
        let old = self.settings();
        if (&settings.receive_folder, settings.into_home) != (&old.receive_folder, old.into_home) {
            self.check_folder(&settings.receive_folder, settings.into_home)?;
        }
        settings::write(&self.shared.paths.config, &settings)?;
        *self.shared.settings.write() = settings;
        Ok(())
    }

    /// The paired devices by name.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn devices(&self) -> Result<Vec<Device>, Fault> {
        self.shared.store.devices()
    }

    /// A paired device by its name, its id or the beginning (8 digits or more) of it.
    ///
    /// # Errors
    /// The store cannot be read, or several ids begin so ([`Invalid::AmbiguousId`]).
    pub fn find_device(&self, text: &str) -> Result<Option<Device>, Fault> {
        targets::find_device(&self.shared.store, text)
    }

    /// Reads a target that a person typed: an id or its beginning (8 digits or more), a paired
    /// device's name, or `HOST[:PORT]`.
    ///
    /// # Errors
    /// [`Fault::UnknownTarget`] for text that is none of these, [`Invalid::AmbiguousId`] where
    /// several ids begin so.
    pub fn resolve(&self, typed: &str) -> Result<Target, Fault> {
        Target::resolve(&self.shared.store, typed)
    }

    /// Another paired device whose name looks like `name`, which device `id` has: people may take
    /// the one for the other.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn look_alike(&self, id: DeviceId, name: &str) -> Result<Option<LookAlike>, Fault> {
        look_alike::find(&self.shared.store, id, name)
    }

    /// The folder in which a person let a device's last offer land, if that was another one than
    /// its offers have by themselves: as long as that very folder is there and may be received into
    /// without asking.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn offer_folder(&self, id: DeviceId) -> Result<Option<PathBuf>, Fault> {
        let kept = self.shared.store.offer_folder(id)?;
        Ok(kept.filter(|folder| {
            self.shared.expect(folder).is_there(folder) && self.check_folder(folder, IntoHome::Refuse).is_ok()
        }))
    }

    /// Keeps that folder for the device's next offer; none forgets it.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn keep_offer_folder(&self, id: DeviceId, folder: Option<&Path>) -> Result<(), Fault> {
        self.shared.store.keep_offer_folder(id, folder)?;
        folder.into_iter().for_each(|folder| self.choose_folder(folder));
        Ok(())
    }

    /// Renames a paired device here.
    ///
    /// # Errors
    /// [`Fault::Invalid`] for a name that is taken or not acceptable, or an unknown device.
    pub fn rename_device(&self, id: DeviceId, name: &str) -> Result<(), Fault> {
        let name = DeviceName::new(name).map_err(|_| Fault::Invalid(Invalid::DeviceName))?;
        match self.shared.store.rename(id, name.as_str())? {
            true => Ok(()),
            false => Err(Fault::Invalid(Invalid::UnknownDevice)),
        }
    }

    /// The rule of a paired device; none if it is not known.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn rule(&self, id: DeviceId) -> Result<Option<DeviceRule>, Fault> {
        Ok(self.shared.store.by_id(id)?.map(|device| device.rule))
    }

    /// Sets the rule of a paired device. It counts for what has not begun: what another rule has
    /// accepted and waits in the queue is offered anew. Where it is to refuse, that counts for
    /// offers that wait for an answer as well, and for those that go on with an accepted transfer.
    ///
    /// # Errors
    /// [`Fault::Invalid`] for a rule that is not acceptable, or an unknown device.
    pub fn set_rule(&self, id: DeviceId, rule: &DeviceRule) -> Result<(), Fault> {
        rule.check()?;
        let before = self.rule(id)?.and_then(|rule| rule.folder);
        if let Some(folder) = &rule.folder {
            self.check_folder(folder, rule.into_home)?;
        }
        match self.shared.store.set_rule(id, rule)? {
            true => {
                rule.folder
                    .iter()
                    .filter(|folder| before.as_ref() != Some(folder))
                    .for_each(|folder| self.choose_folder(folder));
                self.shared.changes.changed();
                Ok(())
            }
            false => Err(Fault::Invalid(Invalid::UnknownDevice)),
        }
    }

    /// Forgets a paired device; false if it was not known. What runs with it here ends at once, and
    /// what runs in another program of this device within
    /// [`FORGOTTEN_LOOK_EVERY`](limits::FORGOTTEN_LOOK_EVERY): each with [`Fault::PeerForgotten`].
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn forget_device(&self, id: DeviceId) -> Result<bool, Fault> {
        let was_known = self.shared.store.forget(id)?;
        self.shared.changes.changed();
        // Another program's memory notices by the pairing, at the device's next offer.
        self.listeners.renewals.only_of(self.shared.store.pairing(id)?);
        Ok(was_known)
    }

    /// The latest past transfer with each device, in no order.
    ///
    /// # Errors
    /// [`Fault::Store`].
    pub fn last_with_each(&self) -> Result<Vec<Past>, Fault> {
        self.shared.store.last_with_each()
    }

    /// Past transfers that are asked for, the latest first, `limit` of them at most; fewer mean
    /// that there are no more. Those of every program of this device are there: what was sent and
    /// received, and copies that were started by [`Engine::copy`].
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn past(&self, query: &PastQuery, limit: u32) -> Result<Vec<Past>, Fault> {
        self.shared.store.past(query, limit)
    }

    /// The same, with what it takes to start them again.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn past_remembered(&self, query: &PastQuery, limit: u32) -> Result<Vec<Remembered>, Fault> {
        self.shared.store.past_remembered(query, limit)
    }

    /// One past transfer and what is long of it, by its number.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn past_transfer(&self, number: u64) -> Result<Option<(Remembered, PastDetails)>, Fault> {
        match self.shared.store.one_past(number)? {
            Some(past) => Ok(Some((past, self.shared.store.past_details(number)?))),
            None => Ok(None),
        }
    }

    /// What this machine sent with that id: the latest.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn past_sent(&self, id: TransferId) -> Result<Option<Remembered>, Fault> {
        self.shared.store.past_sent(id)
    }

    /// What this machine got with that id: the latest.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn past_got(&self, id: TransferId) -> Result<Option<Remembered>, Fault> {
        self.shared.store.past_got(id)
    }

    /// What was sent last from here, whether all of it is remembered or not; neither what another
    /// device got nor what was refused as wrong usage before it began.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn last_sent(&self) -> Result<LastStarted, Fault> {
        self.shared.store.last_started(Direction::Sending)
    }

    /// What this machine got last, whether all of it is remembered or not; not what was refused as
    /// wrong usage before it began.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn last_got(&self) -> Result<LastStarted, Fault> {
        self.shared.store.last_started(Direction::Receiving)
    }

    /// Forgets what the history has of a transfer that has ended; false if it has nothing.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn forget_past_of(&self, transfer: &Transfer) -> Result<bool, Fault> {
        self.shared.store.forget_past_of(transfer.direction(), transfer.key())
    }

    /// Forgets one past transfer, not what it brought; false if it was not known.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn forget_past(&self, number: u64) -> Result<bool, Fault> {
        self.shared.store.forget_past(number)
    }

    /// Forgets the past transfers that ended before a moment, not what they brought; how many those
    /// were.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn forget_past_before(&self, moment: SystemTime) -> Result<u64, Fault> {
        self.shared.store.forget_past_before(moment)
    }

    /// Whether offers may land in a folder, which need not be there yet.
    ///
    /// # Errors
    /// [`Invalid::OwnFolder`] and [`Invalid::HomeFolder`].
    pub fn check_folder(&self, folder: &Path, into_home: IntoHome) -> Result<(), Fault> {
        self.shared.check_folder(folder, into_home)
    }

    /// Has offers land in what is at this path now, because somebody has chosen it: what was there
    /// before does not count any more.
    pub fn choose_folder(&self, folder: &Path) {
        let shared = &self.shared;
        shared.places.choose(folder);
        let mounted = Dir::open(folder).and_then(ringway_sys::mounts::mount_point).ok();
        // Without the note, an unmounted disk is missed only where it is while a receiver runs.
        let _ = shared.store.note_mounted(folder, mounted.as_deref());
    }

    /// The same, but only until this program ends: what the store knows of the folder stays.
    pub fn take_folder(&self, folder: &Path) {
        self.shared.places.choose(folder);
    }

    /// Whether the folder into which something was got is still at its path: any folder that is
    /// there where that was not remembered.
    pub fn lands_where_it_did(&self, got: &Reget) -> bool {
        self.shared.expect_again(&got.destination, got.folder.as_ref()).is_there(&got.destination)
    }

    /// Whether the filesystem at a path answers within a few seconds, if only that nothing is
    /// there.
    pub fn answers(&self, path: &Path) -> bool {
        self.shared.looks.answers(path)
    }

    /// Whether a folder is somebody's home, by whatever path it is named.
    pub fn is_home(&self, folder: &Path) -> bool {
        self.shared.is_home(folder)
    }

    /// Starts listening.
    ///
    /// # Errors
    /// The address is in use, or a required I/O or encryption path is unavailable.
    pub async fn receive(&self, options: ReceiveOptions) -> Result<Receiver, Fault> {
        receive::listen(Arc::clone(&self.shared), Arc::clone(&self.listeners), options).await
    }

    /// Starts a transfer; what goes wrong is in its report. `Auth(PairingNeeded)` asks for a second
    /// call with a code.
    pub fn send(&self, request: SendRequest) -> Transfer {
        let title = send::title(&request.sources);
        // The history is read from other working directories later.
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let sources = request.sources.iter().take(PAST_PATHS_MAX);
        let sources: Vec<_> = sources.map(|source| Source { path: absolute(&source.path), ..source.clone() }).collect();
        let remembered = of_selection(&request.options.selection).filter(|_| sources.len() == request.sources.len());
        let record = Record {
            target: Some((request.target.clone(), request.target.label(&self.shared.store))),
            paths: sources.iter().map(|source| source.path.clone()).collect(),
            in_share: request.in_share.as_ref().map(PathInShare::shown),
            resend: remembered.map(|(selection, by_list)| Resend {
                sources,
                selection,
                by_list,
                verify: request.options.verify,
                in_share: request.in_share.clone(),
            }),
            ..Record::of(&self.shared.store)
        };
        match random() {
            Ok(id) => {
                let transfer = Transfer::new(TransferId(id), Direction::Sending, title, Some(record));
                transfer.note_as_it_runs();
                tokio::spawn(send::run(Arc::clone(&self.shared), request, transfer.clone()));
                transfer
            }
            Err(error) => {
                let transfer = Transfer::new(TransferId([0; 16]), Direction::Sending, title, None);
                transfer.end(Err(error));
                transfer
            }
        }
    }

    /// Starts to get entries of another device's share; what goes wrong is in the transfer's
    /// report.
    pub fn get(&self, request: GetRequest) -> Transfer {
        self.get_asking(request).0
    }

    /// The same, with something that asks about the other device's shares in the same session.
    pub fn get_asking(&self, request: GetRequest) -> (Transfer, Asker) {
        let (asker, questions) = questions();
        let title = request.paths.first().map(PathInShare::title).unwrap_or_default();
        let more = request.paths.len().saturating_sub(1) as u64;
        let record = Record {
            target: Some((request.target.clone(), request.target.label(&self.shared.store))),
            paths: vec![request.destination.clone()],
            in_share: request.paths.first().map(PathInShare::shown),
            reget: remembered(&self.shared, &request),
            ..Record::of(&self.shared.store)
        };
        match random() {
            Ok(id) => {
                let transfer =
                    Transfer::new(TransferId(id), Direction::Receiving, (title, more), Some(record)).asked_for();
                transfer.note_as_it_runs();
                tokio::spawn(getting::run(Arc::clone(&self.shared), request, transfer.clone(), questions));
                (transfer, asker)
            }
            Err(error) => {
                let transfer = Transfer::new(TransferId([0; 16]), Direction::Receiving, (title, more), None);
                transfer.end(Err(error));
                (transfer, asker)
            }
        }
    }

    /// Starts to ask another device what a request would get: `planned` is called with each entry,
    /// by its path in the transfer. The report counts what would be sent, and what would fail. What
    /// is here already is not looked at, nothing is written, and neither device's history has it.
    pub fn plan_get(&self, request: GetRequest, planned: PlannedFn) -> Transfer {
        let title = request.paths.first().map(PathInShare::title).unwrap_or_default();
        let more = request.paths.len().saturating_sub(1) as u64;
        let id = random();
        let transfer_id = TransferId(*id.as_ref().unwrap_or(&[0; 16]));
        let transfer = Transfer::new(transfer_id, Direction::Receiving, (title, more), None);
        match id {
            Ok(_) => {
                let shared = Arc::clone(&self.shared);
                tokio::spawn(getting::planning::run(shared, request, planned, transfer.clone()));
            }
            Err(error) => transfer.end(Err(error)),
        }
        transfer
    }

    /// What to call a target: a device's name here, or an address.
    pub fn label(&self, target: &Target) -> String {
        target.label(&self.shared.store)
    }

    /// The target of a past transfer, for sending it again. A device is found by its
    /// key, whatever it is called now.
    ///
    /// # Errors
    /// [`AuthError::Forgotten`] where that device was forgotten since, [`Fault::UnknownTarget`]
    /// where the record names nobody.
    pub fn target_of(&self, sent: &Remembered) -> Result<Target, Fault> {
        targets::of_past(&self.shared.store, sent)
    }

    /// Starts a copy inside this machine and records how it ended; errors are in its report. A
    /// program without a handle calls [`copying::start`].
    pub fn copy(&self, request: CopyRequest) -> Transfer {
        let paths = vec![request.destination.clone()];
        let record = Record { paths, ..Record::of(&self.shared.store) };
        let (shared, destination) = (Arc::clone(&self.shared), request.destination.clone());
        let transfer = copying::start_recorded(request, Some(record));
        let copying = transfer.clone();
        tokio::spawn(async move {
            copying.wait().await;
            shared.wrote_into(&destination);
        });
        transfer
    }

    /// Pairs with a receiver without sending anything. It proves the code, also where it is paired
    /// already.
    ///
    /// # Errors
    /// It cannot be reached, the code is wrong, or it is not who it was.
    pub async fn pair(&self, target: Target, code: PairingSecret) -> Result<Device, Fault> {
        let destination = connect::Destination::of(&self.shared.store, &target)?;
        let destination = connect::Destination { is_to_pair: true, ..destination };
        Ok(send::reach(&self.shared, &destination, Some(code), limits::FIRST_CONTACT_TIME_MAX).await?.close().await)
    }

    /// Asks a receiver to pair: its person is shown that this device wants to. None if only a code
    /// is missing now, and the device where both know each other already.
    ///
    /// # Errors
    /// It cannot be reached, or is not who it was.
    pub async fn request_pairing(&self, target: Target) -> Result<Option<Device>, Fault> {
        let destination = connect::Destination::of(&self.shared.store, &target)?;
        match send::reach(&self.shared, &destination, None, limits::FIRST_CONTACT_TIME_MAX).await {
            Ok(reached) => Ok(Some(reached.close().await)),
            Err(Fault::Auth(AuthError::PairingNeeded { .. })) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The requests to pair that a person is shown, the oldest first. Devices that no receiver of
    /// this program has heard are not among them.
    pub fn pairing_requests(&self) -> Vec<PairingRequest> {
        self.listeners.requests.shown(boot_ms())
    }

    /// A person lets a device try a code, which has to be open; false if that device is not shown.
    pub fn allow_pairing(&self, id: DeviceId) -> bool {
        self.listeners.requests.allow(id, boot_ms())
    }

    /// A person does not want to see a device's request now; false if it is not shown.
    pub fn dismiss_pairing(&self, id: DeviceId) -> bool {
        self.listeners.requests.dismiss(id, boot_ms())
    }

    /// A person wants no more requests from a device, nor from its address, as long as this program
    /// runs; false if it is not shown. The code remains valid for both, and lifts that.
    pub fn block_pairing(&self, id: DeviceId) -> bool {
        self.listeners.requests.block(id)
    }

    /// The requests of the devices that are blocked, the oldest first.
    pub fn blocked_pairings(&self) -> Vec<PairingRequest> {
        self.listeners.requests.blocked()
    }

    /// A person takes a block back: the device's request is shown again. False if it is not
    /// blocked.
    pub fn unblock_pairing(&self, id: DeviceId) -> bool {
        self.listeners.requests.unblock(id, boot_ms())
    }

    /// Takes all requests to pair off the screen, because nobody listens any more.
    pub fn clear_pairing_requests(&self) {
        self.listeners.requests.clear();
    }

    /// Listens for receivers that announce themselves on the local network.
    ///
    /// # Errors
    /// [`Fault::Discovery`].
    pub fn nearby(&self) -> Result<Nearby, Fault> {
        Nearby::start(Arc::clone(&self.shared), Wanted::All)
    }

    /// Tells that a receiver did not answer at its addresses: [`Nearby`] asks whether it is still
    /// there.
    pub fn met_silence(&self, announced: &Announced) {
        self.shared.met_silence(announced.fingerprint());
    }

    /// Receivers on the local network that show a code with this number in front: none if
    /// `patience` is over first, and several where somebody shows another one with the same number,
    /// or says so.
    ///
    /// # Errors
    /// [`Fault::Discovery`].
    pub async fn find_by_code(&self, number: u16, patience: Duration) -> Result<Vec<Announced>, Fault> {
        Ok(Nearby::start(Arc::clone(&self.shared), Wanted::Code(number))?.found(patience).await)
    }

    /// What this machine can do, for `doctor` and the window's settings. It needs nothing that a
    /// device keeps.
    pub fn capabilities() -> Capabilities {
        let cpu = ringway_sys::probe::cpu_aes();
        Capabilities {
            kernel: ringway_sys::probe::kernel_release().into(),
            tls: lane::plan(TlsMode::Auto).unwrap_or(TlsPath::Kernel),
            io: ringway_tree::io_plan::IoPlan::new(IoMode::Auto)
                .map_or(IoPath::Sync(SyncIoReason::NotInKernel), |plan| plan.path()),
            unconfined: receive::confinement().err(),
            openat2: ringway_sys::dir::beneath() == ringway_sys::dir::Beneath::Openat2,
            cpu_aes: cpu.single,
            open_files_max: ringway_tree::descriptors::limit() as u64,
        }
    }
}
