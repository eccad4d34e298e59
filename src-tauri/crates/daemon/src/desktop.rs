//! The desktop around the service: its icon in the panel, its notifications, and the window that it
//! opens. Everything goes over D-Bus, and where no panel, no notification server or no bus answers,
//! that is said once and nothing else is missing. A machine that has no session bus at all has no
//! desktop, and nothing is said of it.
mod allowance;
mod attend;
mod icons;
#[rustfmt::skip]
mod messages;
mod notifications;
mod shown;
mod tray;
mod window;
mod words;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::{mpsc, watch};

use crate::language::Language;
pub use attend::attend;
pub use shown::{Asked, News, Obstacle, Receives, Shown, State};
pub use window::open_window;

/// Where a line for the log goes.
pub type Log = Arc<dyn Fn(&str) + Send + Sync>;

/// Clicks that may wait: a person clicks slower than they are answered.
const ASKED_MAX: usize = 16;

/// News that may wait for a slow notification server; what comes then is not announced.
const NEWS_MAX: usize = 64;

/// Whether there is a session bus to be asked for: an address, or the socket that systemd's user
/// manager has made (sd_bus_open_user(3)).
fn has_bus(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let socket = set("XDG_RUNTIME_DIR").map(|runtime| PathBuf::from(runtime).join("bus"));
    set("DBUS_SESSION_BUS_ADDRESS").is_some() || socket.is_some_and(|socket| socket.exists())
}

/// The way to tray and notifications. They end when it is dropped.
pub struct Desktop {
    shown: watch::Sender<Shown>,
    news: mpsc::Sender<News>,
}

impl Desktop {
    /// Starts both. What is asked for there comes out of the receiver.
    pub fn start(log: &Log) -> (Self, mpsc::Receiver<Asked>) {
        let (asked, answers) = mpsc::channel(ASKED_MAX);
        let (shown, seen) = watch::channel(Shown::default());
        let (news, told) = mpsc::channel(NEWS_MAX);
        let language = Language::of_session();
        tokio::spawn(tray::follow(seen, asked.clone(), language, log.clone()));
        tokio::spawn(notifications::follow(told, asked, language, log.clone()));
        (Self { shown, news }, answers)
    }

    /// Changes what the tray shows; what stays the same wakes nobody.
    pub fn show(&self, now: Shown) {
        self.shown.send_if_modified(|shown| {
            let differs = *shown != now;
            if differs {
                *shown = now;
            }
            differs
        });
    }

    /// Announces it, unless too much waits to be announced.
    pub fn tell(&self, news: News) {
        // Without a bus nobody listens, which was said.
        let _ = self.news.try_send(news);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_a_session_bus_has_no_desktop_to_be_missed() {
        let runtime = tempfile::tempdir().unwrap();
        let given = |address: &'static str| {
            let runtime = runtime.path().to_owned();
            move |name: &str| match name {
                "XDG_RUNTIME_DIR" => Some(runtime.clone().into_os_string()),
                "DBUS_SESSION_BUS_ADDRESS" => Some(address.into()),
                _ => None,
            }
        };
        assert!(!has_bus(|_| None));
        assert!(!has_bus(given("")));
        assert!(has_bus(given("unix:path=/gone")), "what is named is missed");
        std::fs::write(runtime.path().join("bus"), "").unwrap();
        assert!(has_bus(given("")));
    }
}
