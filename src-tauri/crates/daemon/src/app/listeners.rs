//! The listeners for events: clients of the control socket, the desktop, the log.
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::dto::AppEvent;

/// Where events go: a client's connection, or a test's channel. It must not wait.
pub type Sink = Box<dyn Fn(AppEvent) + Send + Sync>;

/// The listeners for events.
#[derive(Default)]
pub(crate) struct Listeners {
    sinks: Mutex<Sinks>,
}

/// Each under a number.
#[derive(Default)]
struct Sinks {
    all: Vec<(u64, Sink)>,
    last: u64,
}

/// As long as this lives, its sink gets events.
pub struct Listener {
    listeners: Weak<Listeners>,
    number: u64,
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(listeners) = self.listeners.upgrade() {
            listeners.sinks.lock().all.retain(|(number, _)| *number != self.number);
        }
    }
}

impl Listeners {
    /// Tells `sink` all events from now on.
    pub(super) fn add(self: &Arc<Self>, sink: Sink) -> Listener {
        let mut sinks = self.sinks.lock();
        sinks.last += 1;
        let number = sinks.last;
        sinks.all.push((number, sink));
        Listener { listeners: Arc::downgrade(self), number }
    }

    /// Tells everybody who listens.
    pub(crate) fn tell(&self, event: AppEvent) {
        self.sinks.lock().all.iter().for_each(|(_, sink)| sink(event.clone()));
    }
}
