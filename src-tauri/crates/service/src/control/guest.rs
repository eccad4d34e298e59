//! One client of the service: its requests in, answers, events and updates out, and nothing that
//! waits for a client that does not read.
use ringway_model::{Fault, Invalid};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Notify, Semaphore, mpsc};
use tokio::task::AbortHandle;

use super::lines::read_line;
use super::protocol::{ANSWER_LEN_MAX, Call, Hello, PROTOCOL, REQUEST_LEN_MAX, Request, Told};
use super::server::Shared;
use crate::app::{App, Listener};

/// Calls of one client under way at a time; what comes beyond waits in its socket.
const CALLS_MAX: usize = 32;

/// Bytes that may wait for a client to read them: half an hour of events and figures. A client that
/// lets more pile up is let go.
const QUEUED_BYTES_MAX: usize = 4 << 20;

/// Bytes of paths that a client may say before it says what to do with them: half a million files
/// dropped at once.
const GATHERED_BYTES_MAX: usize = 64 << 20;

/// Time for the last line to a client that is let go.
const LAST_LINE_TIME_MAX: Duration = Duration::from_secs(1);

/// Where lines to a client wait. Clones are the same.
#[derive(Clone)]
pub(crate) struct Outbox {
    /// None ends it.
    lines: mpsc::UnboundedSender<Option<String>>,
    queued: Arc<AtomicUsize>,
    overrun: Arc<Notify>,
}

impl Outbox {
    /// Says something, without waiting. False where too much waits already: the client is being let
    /// go.
    pub(crate) fn say(&self, told: &Told) -> bool {
        if self.queued.load(Ordering::Relaxed) > QUEUED_BYTES_MAX {
            self.overrun.notify_one();
            return false;
        }
        let line = serde_json::to_string(told).ok().filter(|line| line.len() <= ANSWER_LEN_MAX);
        let line = line.unwrap_or_else(|| cannot_be_said(told));
        self.queued.fetch_add(line.len(), Ordering::Relaxed);
        self.lines.send(Some(line)).is_ok()
    }
}

/// Whoever waits for an answer gets one.
fn cannot_be_said(told: &Told) -> String {
    let Told::Answer { number, .. } = told else { return String::new() };
    let fault = Fault::Other { detail: "the answer is too long".to_owned().into() };
    serde_json::to_string(&Told::Refused { number: *number, fault }).unwrap_or_default()
}

/// Serves a client until it goes, says nonsense, or does not read what it is told.
pub(crate) async fn serve(shared: &Arc<Shared>, stream: UnixStream, number: u64) {
    let (reading, writing) = stream.into_split();
    let (lines, waiting) = mpsc::unbounded_channel();
    let outbox = Outbox { lines, queued: Arc::default(), overrun: Arc::default() };
    let writer = tokio::spawn(write_lines(writing, waiting, Arc::clone(&outbox.queued)));
    let ringway = env!("CARGO_PKG_VERSION").to_owned();
    outbox.say(&Told::Hello(Hello { ringway, protocol: PROTOCOL, pid: std::process::id() }));
    let mut guest = Guest {
        shared: Arc::clone(shared),
        number,
        outbox: outbox.clone(),
        listener: None,
        gathered: Vec::new(),
        gathered_bytes: 0,
        watched: HashMap::new(),
    };
    tokio::select! {
        () = guest.hear(BufReader::new(reading)) => {}
        () = outbox.overrun.notified() => {}
    }
    drop(guest);
    let _ = outbox.lines.send(None);
    let abort = writer.abort_handle();
    if tokio::time::timeout(LAST_LINE_TIME_MAX, writer).await.is_err() {
        abort.abort();
    }
}

async fn write_lines(
    mut to: OwnedWriteHalf,
    mut lines: mpsc::UnboundedReceiver<Option<String>>,
    queued: Arc<AtomicUsize>,
) {
    while let Some(Some(mut line)) = lines.recv().await {
        let len = line.len();
        line.push('\n');
        if to.write_all(line.as_bytes()).await.is_err() {
            return;
        }
        queued.fetch_sub(len, Ordering::Relaxed);
    }
}

/// A client, and what it has begun.
struct Guest {
    shared: Arc<Shared>,
    number: u64,
    outbox: Outbox,
    listener: Option<Listener>,
    gathered: Vec<PathBuf>,
    gathered_bytes: usize,
    /// By transfer: a page that was loaded anew watches again.
    watched: HashMap<String, AbortHandle>,
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.watched.values().for_each(AbortHandle::abort);
    }
}

impl Guest {
    async fn hear(&mut self, mut from: BufReader<OwnedReadHalf>) {
        let calls = Arc::new(Semaphore::new(CALLS_MAX));
        let mut line = Vec::new();
        while let Ok(call_place) = Arc::clone(&calls).acquire_owned().await {
            match read_line(&mut from, &mut line, REQUEST_LEN_MAX).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => return self.misunderstood(error),
            }
            let Request { number, call } = match serde_json::from_slice(&line) {
                Ok(request) => request,
                Err(error) => return self.misunderstood(error),
            };
            let call = match self.of_this_client(call).await {
                Ok(answer) => {
                    answered(&self.outbox, number, answer);
                    continue;
                }
                Err(call) => call,
            };
            let (shared, outbox) = (Arc::clone(&self.shared), self.outbox.clone());
            tokio::spawn(async move {
                answered(&outbox, number, perform(&shared, call).await);
                drop(call_place);
            });
        }
    }

    fn misunderstood(&self, why: impl std::fmt::Display) {
        self.outbox.say(&Told::Misunderstood { detail: why.to_string() });
    }

    /// Calls that change what this client is told, in the order they come. Any other call comes
    /// back.
    #[expect(clippy::unit_arg, reason = "nothing is an answer, too: null")]
    async fn of_this_client(&mut self, call: Call) -> Result<Result<Value, Fault>, Call> {
        Ok(match call {
            Call::Start => self.start(),
            Call::Gather { paths } => self.gather(paths.into_iter().map(|path| path.0)).and_then(value),
            Call::Choose { paths } => match self.gather(paths.into_iter().map(|path| path.0)) {
                Ok(()) => {
                    let (app, paths) = (self.shared.app.clone(), std::mem::take(&mut self.gathered));
                    self.gathered_bytes = 0;
                    aside(move || value(app.choose(paths))).await
                }
                Err(fault) => Err(fault),
            },
            Call::Watch { id } => self.watch(id).and_then(value),
            Call::LookAround { on } => value(self.shared.look_around(self.number, on)),
            Call::BeWindow => value(self.shared.be_window(self.number, &self.outbox)),
            other => return Err(other),
        })
    }

    fn start(&mut self) -> Result<Value, Fault> {
        let outbox = self.outbox.clone();
        let sink = move |event| {
            outbox.say(&Told::Event(event));
        };
        // The old one goes first: nothing is told twice.
        self.listener = None;
        let (everything, listener) = self.shared.app.start(Box::new(sink))?;
        self.listener = Some(listener);
        value(everything)
    }

    fn gather(&mut self, paths: impl Iterator<Item = PathBuf>) -> Result<(), Fault> {
        for path in paths {
            self.gathered_bytes += path.as_os_str().len() + size_of::<PathBuf>();
            self.gathered.push(path);
        }
        if self.gathered_bytes > GATHERED_BYTES_MAX {
            (self.gathered, self.gathered_bytes) = (Vec::new(), 0);
            return Err(Fault::Invalid(Invalid::TooMany));
        }
        Ok(())
    }

    fn watch(&mut self, id: String) -> Result<(), Fault> {
        let app = self.shared.app.clone();
        let transfer = app.transfer(&id)?;
        self.watched.retain(|_, watching| !watching.is_finished());
        let (outbox, watched) = (self.outbox.clone(), id.clone());
        let watching = tokio::spawn(async move {
            app.watch(transfer, |update| outbox.say(&Told::Update { id: watched.clone(), update })).await;
        });
        if let Some(before) = self.watched.insert(id, watching.abort_handle()) {
            before.abort();
        }
        Ok(())
    }
}

fn answered(outbox: &Outbox, number: u64, answer: Result<Value, Fault>) {
    outbox.say(&match answer {
        Ok(ok) => Told::Answer { number, ok },
        Err(fault) => Told::Refused { number, fault },
    });
}

fn value(answer: impl Serialize) -> Result<Value, Fault> {
    serde_json::to_value(answer).map_err(|error| Fault::Other { detail: error.to_string().into() })
}

/// What may wait for a disk has a thread of its own meanwhile.
async fn aside(work: impl FnOnce() -> Result<Value, Fault> + Send + 'static) -> Result<Value, Fault> {
    let failed = |error: tokio::task::JoinError| Err(Fault::Other { detail: error.to_string().into() });
    tokio::task::spawn_blocking(work).await.unwrap_or_else(failed)
}

#[expect(clippy::unit_arg, reason = "nothing is an answer, too: null")]
async fn perform(shared: &Shared, call: Call) -> Result<Value, Fault> {
    let app = shared.app.clone();
    match call {
        Call::Accept { id, shown, on_conflict } => value(app.accept(&id, shown, on_conflict).await?),
        Call::Send { chosen, target, code, verify, confirmed } => {
            let target = app.target(&target).await?;
            aside(move || value(app.send(chosen, target, code, verify, confirmed.as_deref())?)).await
        }
        Call::RenewCode => value(app.renew_code().await?),
        Call::Listen { port } => value(app.listen(port).await),
        Call::Pair { target, code } => value(app.pair(&target, &code).await?),
        Call::ChangeSettings { change } => value(app.change_settings(change).await?),
        Call::Raise { paths, view, token } => value(shared.raise(paths, view, token)),
        Call::Stop => value(shared.stop.notify_one()),
        other => aside(move || at_once(&app, other)).await,
    }
}

#[expect(clippy::unit_arg, reason = "nothing is an answer, too: null")]
fn at_once(app: &App, call: Call) -> Result<Value, Fault> {
    let folder = |path: PathBuf| value(super::protocol::PathText(path));
    let all = |paths: Vec<PathBuf>| paths.into_iter().map(super::protocol::PathText).collect::<Vec<_>>();
    match call {
        Call::Look => value(app.everything()?),
        Call::CopyFolder { chosen } => value(app.copy_folder(chosen)),
        Call::CopyFolderPicked => value(app.copy_folder_picked().map(super::protocol::PathText)),
        Call::PickCopyFolder { folder } => value(app.pick_copy_folder(folder.0)),
        Call::Copy { chosen, existing, verify } => value(app.copy(chosen, existing, verify)?),
        Call::Cancel { id } => value(app.transfer(&id)?.cancel()),
        Call::Pause { id } => value(app.transfer(&id)?.pause()?),
        Call::Resume { id } => value(app.transfer(&id)?.resume()),
        Call::Dismiss { id } => value(app.dismiss(&id)),
        Call::ArrivedFolder { id } => folder(app.arrived_folder(&id)?),
        Call::ArrivedPaths { id } => value(all(app.arrived_paths(&id)?)),
        Call::Past { asked } => value(app.past(asked)?),
        Call::PastDetails { number } => value(app.past_details(number)?),
        Call::ForgetPast { number } => value(app.forget_past(number)?),
        Call::ClearPast => value(app.clear_past()?),
        Call::Unfinished => value(app.unfinished()?),
        Call::DiscardUnfinished { id, folder } => value(app.discard_unfinished(&id, &folder)?),
        Call::PastFolder { number } => folder(app.past_folder(number)?),
        Call::PastPaths { number } => value(all(app.past_paths(number)?)),
        Call::ChooseAgain { id } => value(app.choose_again(&id)?),
        Call::Decline { id } => value(app.decline(&id)?),
        Call::SetOfferFolder { id, folder, into_home } => {
            value(app.set_offer_folder(&id, folder.0, into_home.into())?)
        }
        Call::RenameDevice { id, name } => value(app.rename_device(&id, &name)?),
        Call::SetDeviceRule { id, consent, max_bytes } => value(app.set_device_rule(&id, consent, max_bytes)?),
        Call::DeviceFolder { id } => value(app.device_folder(&id)?.map(super::protocol::PathText)),
        Call::SetDeviceFolder { id, folder, into_home } => {
            value(app.set_device_folder(&id, folder.map(|folder| folder.0), into_home.into())?)
        }
        Call::StartAtLogin => value(app.start_at_login()?),
        Call::SetStartAtLogin { on } => value(app.set_start_at_login(on)?),
        Call::ForgetDevice { id } => value(app.forget_device(&id)?),
        // Those are answered where they come in.
        _ => Err(Fault::Gone),
    }
}
