//! Ctrl-C, SIGTERM and SIGHUP: the first asks for a stop, the second quits at once. SIGCONT, as
//! after Ctrl-Z and fg: has a transfer that waits go on.
//!
//! None of them removes what arrived. With Ctrl-C a person cancels, and the other end hears of it.
//! SIGTERM (a logout, a shutdown, timeout(1), systemd) and SIGHUP (a terminal that was closed) only
//! end the connection. Where SIGHUP is ignored, as nohup(1) does, it stays ignored.
use std::time::{Duration, Instant};

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{oneshot, watch};

use crate::ask::prompt;
use crate::exit::Exit;

/// Signals that come so close together are one request: timeout(1) signals the command and then its
/// whole group.
const SAME_REQUEST: Duration = Duration::from_millis(300);

/// How a stop was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// Ctrl-C.
    Interrupted,
    /// SIGTERM.
    Terminated,
    /// SIGHUP.
    HungUp,
}

/// Whether a stop was asked for. Clones see the same.
#[derive(Clone)]
pub(crate) struct Interrupts {
    asked: watch::Receiver<Option<Stop>>,
    continued: watch::Receiver<()>,
}

/// A stop that others are to hear of later.
pub(crate) struct HeldBack {
    asked: watch::Receiver<Option<Stop>>,
    tell: watch::Sender<Option<Stop>>,
}

impl HeldBack {
    /// Has them hear of it, if a stop was asked for.
    pub(crate) fn pass_on(&self) {
        self.tell.send_replace(*self.asked.borrow());
    }
}

/// Has a write beyond RLIMIT_FSIZE fail with EFBIG from now on: by default SIGXFSZ ends the process
/// (setrlimit(2)). A program that this one starts has the default again, since a handler ends with
/// execve(2) and an ignored signal would stay ignored. Needs a tokio runtime.
pub(crate) fn survive_file_size_limit() -> std::io::Result<()> {
    // The handler stays when nobody listens any more.
    signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())).map(drop)
}

impl Interrupts {
    /// Takes the signals over from now on. Needs a tokio runtime.
    pub(crate) fn listen() -> std::io::Result<Self> {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hang_up =
            if is_ignored(rustix::process::Signal::HUP) { None } else { Some(signal(SignalKind::hangup())?) };
        let mut goes_on = signal(SignalKind::from_raw(rustix::process::Signal::CONT.as_raw()))?;
        let (tell_continued, continued) = watch::channel(());
        tokio::spawn(async move {
            while goes_on.recv().await.is_some() {
                tell_continued.send_replace(());
            }
        });
        let (tell, asked) = watch::channel(None);
        tokio::spawn(async move {
            let mut next = async || {
                tokio::select! {
                    // Of several at once, what a person says counts.
                    biased;
                    _ = interrupt.recv() => Stop::Interrupted,
                    _ = terminate.recv() => Stop::Terminated,
                    _ = async { hang_up.as_mut()?.recv().await }, if hang_up.is_some() => Stop::HungUp,
                }
            };
            let stop = next().await;
            tell.send_replace(Some(stop));
            let first = Instant::now();
            while first.elapsed() < SAME_REQUEST {
                next().await;
            }
            prompt::restore_echo();
            std::process::exit(Exit::Failed as i32);
        });
        Ok(Self { asked, continued })
    }

    /// Waits until a stop is asked for; returns at once if it has been.
    pub(crate) async fn asked(&self) {
        let mut asked = self.asked.clone();
        if asked.wait_for(Option::is_some).await.is_err() {
            // The task that watches the signals never ends by itself.
            std::future::pending::<()>().await;
        }
    }

    /// Does what may wait for a person or another process, as reading standard input or a FIFO
    /// does; none if a stop is asked for before it is done.
    ///
    /// # Errors
    /// No thread can be started for it.
    pub(crate) async fn unless_asked<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> std::io::Result<Option<T>> {
        let (done, result) = oneshot::channel();
        // The runtime's own threads for this would keep it from ending.
        std::thread::Builder::new().spawn(move || drop(done.send(work())))?;
        Ok(tokio::select! {
            result = result => result.ok(),
            () = self.asked() => None,
        })
    }

    /// The same interrupts, but that a stop is heard of no sooner than it is passed on.
    pub(crate) fn held_back(&self) -> (Self, HeldBack) {
        let (tell, asked) = watch::channel(None);
        (Self { asked, continued: self.continued.clone() }, HeldBack { asked: self.asked.clone(), tell })
    }

    /// What changes with each SIGCONT from now on.
    pub(crate) fn continued(&self) -> watch::Receiver<()> {
        let mut continued = self.continued.clone();
        continued.mark_unchanged();
        continued
    }

    /// Whether a stop was asked for.
    pub(crate) fn is_asked(&self) -> bool {
        self.asked.borrow().is_some()
    }

    /// Whether it was SIGTERM or SIGHUP that asked for it: transfers between machines are then left
    /// as if this process had been killed, which keeps what has come.
    pub(crate) fn is_terminated(&self) -> bool {
        matches!(*self.asked.borrow(), Some(Stop::Terminated | Stop::HungUp))
    }

    /// The status for what was stopped before anything came of it.
    pub(crate) fn exit(&self) -> Exit {
        match *self.asked.borrow() {
            Some(Stop::Terminated) => Exit::Terminated,
            Some(Stop::HungUp) => Exit::HungUp,
            Some(Stop::Interrupted) | None => Exit::Failed,
        }
    }
}

/// Whether this process was started with a signal ignored (proc_pid_status(5)).
fn is_ignored(signal: rustix::process::Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & (1 << (signal.as_raw() - 1)) != 0)
}
