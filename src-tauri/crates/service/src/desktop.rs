//! The desktop around the service: its icon in the panel, its notifications, and the window that it opens. Everything goes over
//! D-Bus, and where there is no bus, no panel or no notification server, that is said once and nothing else is missing.
mod allowance;
mod attend;
mod icons;
mod notifications;
mod shown;
mod tray;
mod window;
mod words;

use std::sync::Arc;

use tokio::sync::{mpsc, watch};

pub use attend::attend;
pub use shown::{Asked, Ending, News, Receives, Shown, State, View, Way};
pub use window::open_window;

/// Where a line for the log goes.
pub type Log = Arc<dyn Fn(&str) + Send + Sync>;

/// Clicks that may wait: a person clicks slower than they are answered.
const ASKED_MAX: usize = 16;

/// News that may wait for a slow notification server; what comes then is not announced.
const NEWS_MAX: usize = 64;

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
        tokio::spawn(tray::follow(seen, asked.clone(), log.clone()));
        tokio::spawn(notifications::follow(told, asked, log.clone()));
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
