//! Ctrl-C, SIGTERM and SIGHUP: the first asks for a stop, the second quits at once. SIGCONT, as
//! after Ctrl-Z and fg: has a transfer that waits go on.
//!
//! A thread of its own hears them, because all others may wait for the reader of the output. Where
//! nothing has to be put in order, output that nobody reads does not keep the command from ending.
//!
//! None of them removes what arrived. With Ctrl-C a person cancels, and the other end hears of it.
//! SIGTERM (a logout, a shutdown, timeout(1), systemd) and SIGHUP (a terminal that was closed) only
//! end the connection, unless the transfer is about to end itself. Where SIGHUP is ignored, as
//! nohup(1) does, it stays ignored.
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{oneshot, watch};

use crate::ask::prompt;
use crate::exit::Exit;
use crate::output;

/// Signals that come so close together are one request: timeout(1) signals the command and then its
/// whole group.
const SAME_REQUEST: Duration = Duration::from_millis(300);

/// How often it is looked after a stop whether what is said is read.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Looks without anything being read, after which nobody is taken to read it: a second signal or
/// SIGKILL would follow otherwise.
const UNREAD_LOOKS: u32 = 4;

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
    ends_unread: Arc<AtomicBool>,
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
/// execve(2) and an ignored signal would stay ignored. Not for use in a tokio runtime.
pub(crate) fn survive_file_size_limit() -> std::io::Result<()> {
    // The handler stays when nobody listens any more.
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let _within = runtime.enter();
    signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())).map(drop)
}

impl Interrupts {
    /// Takes the signals over from now on.
    pub(crate) fn listen() -> std::io::Result<Self> {
        let (tell_continued, continued) = watch::channel(());
        let (tell, asked) = watch::channel(None);
        let ends_unread = Arc::new(AtomicBool::new(false));
        let may_end = Arc::clone(&ends_unread);
        let (tell_taken, taken) = mpsc::channel();
        let hears = move || match Signals::take() {
            Err(error) => drop(tell_taken.send(Err(error))),
            Ok((runtime, signals)) => {
                let _ = tell_taken.send(Ok(()));
                runtime.block_on(signals.hear(&tell, tell_continued, &may_end));
            }
        };
        std::thread::Builder::new().name("ringway-signals".into()).spawn(hears)?;
        taken.recv().map_err(std::io::Error::other)??;
        Ok(Self { asked, continued, ends_unread })
    }

    /// From now on a stop ends this process although it has something to say that nobody reads:
    /// nothing has to be put in order that the next attempt would not.
    pub(crate) fn end_unread(&self) {
        self.ends_unread.store(true, Ordering::Relaxed);
    }

    /// Waits until a stop is asked for; returns at once if it has been.
    pub(crate) async fn asked(&self) {
        let mut asked = self.asked.clone();
        if asked.wait_for(Option::is_some).await.is_err() {
            // The thread that watches the signals never ends by itself.
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
        (Self { asked, ..self.clone() }, HeldBack { asked: self.asked.clone(), tell })
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
        self.asked.borrow().map_or(Exit::Failed, Stop::exit)
    }
}

impl Stop {
    fn exit(self) -> Exit {
        match self {
            Self::Terminated => Exit::Terminated,
            Self::HungUp => Exit::HungUp,
            Self::Interrupted => Exit::Failed,
        }
    }
}

/// The signals that are taken over.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// `None` if it is ignored.
    hang_up: Option<Signal>,
    goes_on: Option<Signal>,
}

impl Signals {
    /// They come in that runtime.
    fn take() -> std::io::Result<(Runtime, Self)> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let within = runtime.enter();
        let hang_up = if is_ignored(rustix::process::Signal::HUP) { None } else { Some(signal(SignalKind::hangup())?) };
        let (interrupt, terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let goes_on = Some(signal(SignalKind::from_raw(rustix::process::Signal::CONT.as_raw()))?);
        drop(within);
        Ok((runtime, Self { interrupt, terminate, hang_up, goes_on }))
    }

    /// Tells the first request, and ends the process with the second, or where nobody reads what is
    /// said if that may end it.
    async fn hear(mut self, tell: &watch::Sender<Option<Stop>>, continued: watch::Sender<()>, may_end: &AtomicBool) {
        if let Some(mut goes_on) = self.goes_on.take() {
            tokio::spawn(async move {
                while goes_on.recv().await.is_some() {
                    continued.send_replace(());
                }
            });
        }
        let stop = self.next().await;
        tell.send_replace(Some(stop));
        let is_unread = tokio::select! {
            () = self.again() => false,
            () = nobody_reads(may_end) => true,
        };
        prompt::restore_echo();
        if is_unread {
            ringway_engine::close_folders();
        }
        std::process::exit(stop.exit() as i32);
    }

    async fn next(&mut self) -> Stop {
        let Self { interrupt, terminate, hang_up, .. } = self;
        tokio::select! {
            // Of several at once, what a person says counts.
            biased;
            _ = interrupt.recv() => Stop::Interrupted,
            _ = terminate.recv() => Stop::Terminated,
            _ = async { hang_up.as_mut()?.recv().await }, if hang_up.is_some() => Stop::HungUp,
        }
    }

    /// Waits for a second request.
    async fn again(&mut self) {
        let first = Instant::now();
        while first.elapsed() < SAME_REQUEST {
            self.next().await;
        }
    }
}

/// Waits until something is to be said for a while that nobody reads, if that may end the process.
async fn nobody_reads(may_end: &AtomicBool) {
    let (mut before, mut looks) = (None, 0);
    while looks < UNREAD_LOOKS {
        tokio::time::sleep(LOOK_EVERY).await;
        let now = output::under_way().filter(|_| may_end.load(Ordering::Relaxed));
        looks = if now.is_some() && now == before { looks + 1 } else { 0 };
        before = now;
    }
}

/// Whether this process was started with a signal ignored (proc_pid_status(5)).
fn is_ignored(signal: rustix::process::Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & (1 << (signal.as_raw() - 1)) != 0)
}
