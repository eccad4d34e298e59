//! The controller: what windows and commands show of the engine, and what they ask of it. It knows
//! neither sockets nor a screen, so that tests drive it as a window does.
//!
//! Each part has its own state and lock. This module composes them, and has what takes several.
mod browsing;
mod choices;
mod copying;
mod devices;
mod getting;
mod history;
mod listeners;
mod nearby;
mod notes;
mod picked_folder;
mod receiving;
mod sending;
mod settings;
mod shares;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod transfers;
mod unfinished;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ringway_engine::{Engine, Paths, Transfer};
#[cfg(feature = "desktop")]
use ringway_model::DeviceId;
use ringway_model::{Direction, Fault, OnCancel, Stage};

use crate::doctor;
use crate::dto::{About, Everything};
use crate::login;
use crate::text::shown;
use browsing::Browsing;
pub(crate) use browsing::Visit;
use choices::Choices;
pub(crate) use choices::{Counted, Counting};
use copying::Copying;
use devices::Devices;
use getting::Getting;
pub(crate) use getting::HowToGet;
use history::History;
use listeners::Listeners;
pub use listeners::{Listener, Sink};
use nearby::NearbyDevices;
use notes::Notes;
use picked_folder::PickedFolder;
use receiving::Receiving;
pub use receiving::Reception;
use receiving::offers::Offers;
pub(crate) use sending::HowToSend;
use sending::{Queue, Sending};
use settings::SettingsKept;
use shares::Shares;
use transfers::Transfers;
use unfinished::UnfinishedTransfers;

/// Wrong tries after which a code is void, as the wire has it.
pub(crate) const CODE_ATTEMPTS_MAX: u8 = 3;

/// How long copies that were cancelled may take to end: what they do between two looks at that.
const COPIES_END_MAX: Duration = Duration::from_secs(3);

/// Clones are the same controller.
#[derive(Clone)]
pub struct App {
    engine: Engine,
    /// Receivers of events.
    pub(crate) listeners: Arc<Listeners>,
    /// What was chosen or dropped.
    pub(crate) choices: Arc<Choices>,
    /// Where what is sent was picked last.
    pub(crate) sources_picked: Arc<PickedFolder>,
    /// Who is nearby.
    pub(crate) nearby: Arc<NearbyDevices>,
    /// The paired devices.
    pub(crate) devices: Devices,
    /// The list of transfers.
    pub transfers: Arc<Transfers>,
    /// Offers that wait for an answer.
    pub(crate) offers: Arc<Offers>,
    /// Listening, and the code on show.
    pub receiving: Arc<Receiving>,
    /// The settings in force.
    pub(crate) settings: SettingsKept,
    /// Sending, and its targets.
    pub(crate) sending: Sending,
    /// What other devices share, listed.
    pub(crate) browsing: Arc<Browsing>,
    /// Getting what other devices share.
    pub(crate) getting: Arc<Getting>,
    /// Copies inside this machine.
    pub(crate) copying: Arc<Copying>,
    /// Past transfers.
    pub(crate) history: History,
    /// Notes that other devices have sent.
    pub(crate) notes: Arc<Notes>,
    /// Folders that paired devices may read.
    pub(crate) shares: Shares,
    /// What transfers that did not end keep.
    pub(crate) unfinished: UnfinishedTransfers,
}

impl App {
    /// `state` is the folder for what may be lost.
    pub fn new(engine: Engine, state: &Path, reception: Reception) -> Self {
        let keeps = reception.keeps;
        let listeners = Arc::new(Listeners::default());
        let choices = Arc::new(Choices::open(state));
        let nearby = Arc::new(NearbyDevices::new(engine.clone(), listeners.clone()));
        let notes = Arc::new(Notes::new(engine.clone(), listeners.clone()));
        let (of_engine, of_listeners) = (engine.clone(), listeners.clone());
        let devices =
            Devices { engine: of_engine, listeners: of_listeners, nearby: nearby.clone(), notes: notes.clone() };
        let transfers = Arc::new(Transfers::new(listeners.clone(), devices.clone()));
        let offers = Arc::new(Offers::new(engine.clone(), listeners.clone(), transfers.clone(), keeps));
        let receiving = Receiving::new(reception, devices.clone(), transfers.clone(), offers.clone());
        let receiving = Arc::new(receiving);
        let settings = SettingsKept {
            engine: engine.clone(),
            listeners: listeners.clone(),
            nearby: nearby.clone(),
            receiving: receiving.clone(),
        };
        let queue = Queue::new(engine.clone(), listeners.clone(), transfers.clone());
        let sending = Sending {
            engine: engine.clone(),
            choices: choices.clone(),
            nearby: nearby.clone(),
            devices: devices.clone(),
            queue: Arc::new(queue),
        };
        Self {
            settings,
            sending,
            sources_picked: Arc::new(PickedFolder::open(state, picked_folder::OF_SOURCES)),
            browsing: Arc::new(Browsing::new(engine.clone(), devices.clone())),
            getting: Arc::new(Getting::new(engine.clone(), devices.clone(), transfers.clone(), state, keeps)),
            copying: Arc::new(Copying::new(engine.clone(), choices.clone(), transfers.clone(), state)),
            history: History { engine: engine.clone(), notes: notes.clone() },
            notes,
            shares: Shares { engine: engine.clone(), choices: choices.clone(), listeners: listeners.clone() },
            unfinished: UnfinishedTransfers { engine: engine.clone(), transfers: transfers.clone() },
            engine,
            listeners,
            choices,
            nearby,
            devices,
            transfers,
            offers,
            receiving,
        }
    }

    /// Everything there is to show; what changes from now on goes to `sink`, for as long as the
    /// listener lives.
    ///
    /// # Errors
    /// The trust store cannot be read.
    pub fn start(&self, sink: Sink) -> Result<(Everything, Listener), Fault> {
        let listener = self.listeners.add(sink);
        Ok((self.everything()?, listener))
    }

    /// Everything there is to show now.
    ///
    /// # Errors
    /// The trust store cannot be read.
    pub fn everything(&self) -> Result<Everything, Fault> {
        Ok(Everything {
            device_id: self.engine.this_device().id,
            settings: self.settings.shown(),
            is_set_up: self.engine.is_set_up(),
            default_port: ringway_engine::limits::DEFAULT_PORT,
            code_attempts_max: CODE_ATTEMPTS_MAX,
            machine: Engine::capabilities().into(),
            devices: self.devices.shown()?,
            nearby: self.nearby.shown(),
            listening: self.receiving.listening(),
            requests: self.receiving.requests.shown(),
            offers: self.offers.shown(),
            transfers: self.transfers.shown(),
            waiting: self.sending.queue.shown(),
            notes: self.notes.shown()?,
        })
    }

    /// This device's id.
    #[cfg(feature = "desktop")]
    pub(crate) fn device_id(&self) -> DeviceId {
        self.engine.this_device().id
    }

    /// Takes an ended transfer off the list, and out of the history; its files stay. A running one
    /// stays.
    ///
    /// # Errors
    /// The history cannot be written.
    pub(crate) fn forget_transfer(&self, id: &str) -> Result<(), Fault> {
        if let Ok(transfer) = self.transfers.find(id)
            && transfer.progress().stage == Stage::Ended
        {
            self.engine.forget_past_of(&transfer)?;
        }
        self.transfers.dismiss(id);
        Ok(())
    }

    /// This program's version, and where it keeps what it owns.
    ///
    /// # Errors
    /// The environment names no folders.
    pub(crate) fn about(&self) -> Result<About, Fault> {
        let Paths { config, data, .. } = Paths::from_env()?;
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Ok(About { version, settings_folder: shown(config), data_folder: shown(data) })
    }

    /// What `ringway doctor` prints. Waits for its checks.
    ///
    /// # Errors
    /// The command is not there, or ends without having printed anything.
    pub(crate) fn diagnose(&self) -> Result<String, Fault> {
        doctor::report(&login::own_program().ok_or(Fault::NoProgram)?)
    }

    /// Takes no further offers, declines those that wait, gives what runs `grace` to end, and stops
    /// listening. What is paused is not waited for. How many have not ended: they are left as they
    /// are, so that their journals let them go on later. Copies have none: they end in good order.
    pub async fn wind_down(&self, grace: Duration) -> usize {
        self.offers.close();
        self.sending.queue.close();
        self.receiving.turn_away().await;
        // Nobody will resume it.
        self.cancel_copies(|stage| stage == Stage::Paused);
        // What is paused has nothing to finish. An error means that the time is over.
        let may_end = |transfer: &Transfer| transfer.progress().stage != Stage::Paused;
        let _ = tokio::time::timeout(grace, self.transfers.all_ended(may_end)).await;
        self.cancel_copies(|_| true);
        let _ = tokio::time::timeout(COPIES_END_MAX, self.transfers.all_ended(is_copy)).await;
        let left = self.transfers.running();
        // The program ends before they do.
        self.transfers.running_of(|_| true).iter().for_each(Transfer::note_left);
        self.receiving.stop(left == 0).await;
        left
    }

    fn cancel_copies(&self, of: impl Fn(Stage) -> bool) {
        let running = self.transfers.running_of(is_copy);
        running.iter().filter(|copy| of(copy.progress().stage)).for_each(|copy| copy.cancel(OnCancel::Keep));
    }
}

fn is_copy(transfer: &Transfer) -> bool {
    transfer.direction() == Direction::Copying
}
