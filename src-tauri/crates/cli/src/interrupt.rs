//! Ctrl-C and SIGTERM: the first asks for a clean stop, the second quits at once. SIGCONT, as after Ctrl-Z and fg: has a transfer that waits go on.
use std::time::{Duration, Instant};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::exit::Exit;
use crate::prompt;

/// Signals that come so close together are one request: timeout(1) signals the command and then its whole group.
const SAME_REQUEST: Duration = Duration::from_millis(300);

/// Whether a stop was asked for. Clones see the same.
#[derive(Clone)]
pub(crate) struct Interrupts {
    asked: watch::Receiver<bool>,
    continued: watch::Receiver<()>,
}

impl Interrupts {
    /// Takes the signals over from now on. Needs a tokio runtime.
    pub(crate) fn listen() -> std::io::Result<Self> {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut goes_on = signal(SignalKind::from_raw(rustix::process::Signal::CONT.as_raw()))?;
        let (tell_continued, continued) = watch::channel(());
        tokio::spawn(async move {
            while goes_on.recv().await.is_some() {
                tell_continued.send_replace(());
            }
        });
        let (tell, asked) = watch::channel(false);
        tokio::spawn(async move {
            either(&mut interrupt, &mut terminate).await;
            tell.send_replace(true);
            let first = Instant::now();
            while first.elapsed() < SAME_REQUEST {
                either(&mut interrupt, &mut terminate).await;
            }
            prompt::restore_echo();
            std::process::exit(Exit::Failed as i32);
        });
        Ok(Self { asked, continued })
    }

    /// Waits until a stop is asked for; returns at once if it has been.
    pub(crate) async fn asked(&self) {
        let mut asked = self.asked.clone();
        if asked.wait_for(|asked| *asked).await.is_err() {
            // The task that watches the signals never ends by itself.
            std::future::pending::<()>().await;
        }
    }

    /// What changes with each SIGCONT from now on.
    pub(crate) fn continued(&self) -> watch::Receiver<()> {
        let mut continued = self.continued.clone();
        continued.mark_unchanged();
        continued
    }

    /// Whether a stop was asked for.
    pub(crate) fn is_asked(&self) -> bool {
        *self.asked.borrow()
    }
}

async fn either(interrupt: &mut Signal, terminate: &mut Signal) {
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}
