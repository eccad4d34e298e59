//! What the clients of the service share: the app, the window, and who looks around.
use std::collections::HashSet;
use std::sync::atomic::AtomicU64;

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use super::outbox::Outbox;
use super::protocol::{GivenPath, Told};
use crate::app::App;
use crate::dto::View;

/// What all clients have in common.
pub(super) struct Shared {
    pub(super) app: App,
    /// The client that is the window.
    window: Mutex<Option<(u64, Outbox)>>,
    /// The clients that look who is nearby.
    looking: Mutex<HashSet<u64>>,
    /// How many clients there are.
    pub(super) present: watch::Sender<usize>,
    pub(super) stop: Notify,
    pub(super) last_number: AtomicU64,
}

impl Shared {
    pub(super) fn new(app: App) -> Self {
        Self {
            app,
            window: Mutex::default(),
            looking: Mutex::default(),
            present: watch::Sender::new(0),
            stop: Notify::new(),
            last_number: AtomicU64::new(0),
        }
    }

    /// Makes a client the window, unless another one is.
    pub(super) fn be_window(&self, number: u64, outbox: &Outbox) -> bool {
        let mut window = self.window.lock();
        let is_it = window.as_ref().is_none_or(|(holder, _)| *holder == number);
        if is_it {
            *window = Some((number, outbox.clone()));
        }
        is_it
    }

    /// Has the window come to the front; false without a window.
    pub(super) fn raise(&self, paths: Vec<GivenPath>, view: Option<View>, token: Option<String>) -> bool {
        let window = self.window.lock();
        window.as_ref().map(|(_, outbox)| outbox.say(&Told::Raise { paths, view, token })).is_some()
    }

    /// It is listened for others as long as one client looks.
    pub(super) fn look_around(&self, number: u64, on: bool) {
        let mut looking = self.looking.lock();
        let has_changed = if on { looking.insert(number) } else { looking.remove(&number) };
        if has_changed {
            self.app.nearby.look(!looking.is_empty());
        }
    }

    /// A client has gone.
    pub(super) fn left(&self, number: u64) {
        self.look_around(number, false);
        self.window.lock().take_if(|(holder, _)| *holder == number);
        self.present.send_modify(|present| *present -= 1);
    }
}
