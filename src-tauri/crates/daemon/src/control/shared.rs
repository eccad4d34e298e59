//! What the clients of the service share: the app, the window, and who looks around.
use std::collections::HashSet;
use std::sync::atomic::AtomicU64;

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use super::outbox::Outbox;
use super::protocol::{GivenPath, Told};
use crate::app::App;
use crate::dto::View;

/// The client that is the window.
struct Window {
    number: u64,
    outbox: Outbox,
    /// Its process, if the kernel says which.
    pid: Option<i32>,
}

/// Whether a process is not there any more, or is only waited for (proc_pid_stat(5)).
fn has_ended(pid: i32) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .map(|stat| stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next()));
    match state {
        Ok(state) => matches!(state, Some('Z' | 'X')),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

/// What all clients have in common.
pub(super) struct Shared {
    pub(super) app: App,
    /// The client that is the window.
    window: Mutex<Option<Window>>,
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
    /// One whose process has ended is none, although its connection is not closed here yet.
    pub(super) fn be_window(&self, number: u64, outbox: &Outbox, pid: Option<i32>) -> bool {
        let mut window = self.window.lock();
        let is_it = window.as_ref().is_none_or(|held| held.number == number || held.pid.is_some_and(has_ended));
        if is_it {
            *window = Some(Window { number, outbox: outbox.clone(), pid });
        }
        is_it
    }

    /// Has the window come to the front; false without a window.
    pub(super) fn raise(&self, paths: Vec<GivenPath>, view: Option<View>, token: Option<String>) -> bool {
        let window = self.window.lock();
        window.as_ref().map(|held| held.outbox.say(&Told::Raise { paths, view, token })).is_some()
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
        self.window.lock().take_if(|held| held.number == number);
        self.present.send_modify(|present| *present -= 1);
    }
}
