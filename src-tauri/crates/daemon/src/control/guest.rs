//! One client of the service: its requests in, answers, events and updates out, and nothing that
//! waits for a client that does not read.
use std::collections::HashMap;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use ringway_model::{Fault, Invalid};
use serde::Serialize;
use serde_json::Value;
use tokio::io::BufReader;
use tokio::net::UnixStream;
use tokio::net::unix::OwnedReadHalf;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::AbortHandle;

use super::api::operations;
use super::api::types::*;
use super::lines::read_line;
use super::outbox::{Outbox, write_lines};
use super::protocol::{Call, Hello, PROTOCOL, REQUEST_LEN_MAX, Request, Told};
use super::shared::Shared;
use crate::app::{Counted, Counting, HowToGet, HowToSend, Listener, Visit};
use crate::dto::AppEvent;

/// Calls of one client under way at a time; what comes beyond waits in its socket.
const CALLS_MAX: usize = 32;

/// Bytes of paths that a client may say before it says what to do with them: half a million files
/// dropped at once.
const GATHERED_BYTES_MAX: usize = 64 << 20;

/// Bytes that are kept for the next line of a client: most lines are shorter.
const LINE_KEPT_MAX: usize = 64 << 10;

/// Time for the last line to a client that is let go.
const LAST_LINE_TIME_MAX: Duration = Duration::from_secs(1);

/// Serves a client until it goes, says nonsense, or does not read its events.
pub(crate) async fn serve(shared: &Arc<Shared>, stream: UnixStream, number: u64) {
    // The kernel says 0 of a process in another PID namespace (pid_namespaces(7)).
    let pid = stream.peer_cred().ok().and_then(|peer| peer.pid()).filter(|pid| *pid > 0);
    let (reading, writing) = stream.into_split();
    let (lines, waiting) = mpsc::unbounded_channel();
    let outbox = Outbox { lines, queued: Arc::default(), overrun: Arc::default() };
    let writer = tokio::spawn(write_lines(writing, waiting, Arc::clone(&outbox.queued)));
    let ringway = env!("CARGO_PKG_VERSION").to_owned();
    outbox.say(&Told::Hello(Hello { ringway, protocol: PROTOCOL, pid: std::process::id() }));
    let mut guest = Guest {
        shared: Arc::clone(shared),
        number,
        pid,
        outbox: outbox.clone(),
        listener: None,
        gathered: Vec::new(),
        gathered_bytes: 0,
        watched: HashMap::new(),
        counting: None,
        visit: None,
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

/// A client, and what it has begun.
struct Guest {
    shared: Arc<Shared>,
    number: u64,
    /// Its process, if the kernel says which.
    pid: Option<i32>,
    outbox: Outbox,
    listener: Option<Listener>,
    gathered: Vec<PathBuf>,
    gathered_bytes: usize,
    /// By transfer: a page that was loaded anew watches again.
    watched: HashMap<String, AbortHandle>,
    /// The choice that is being counted.
    counting: Option<Counting>,
    /// The device that it browses.
    visit: Option<Visit>,
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
            line.clear();
            line.shrink_to(LINE_KEPT_MAX);
            let outbox = self.outbox.clone();
            match self.perform(call).await {
                Performed::Now(answer) => answered(&outbox, number, answer),
                Performed::Later(work) => drop(tokio::spawn(async move {
                    answered(&outbox, number, work.await);
                    drop(call_place);
                })),
            }
        }
    }

    fn misunderstood(&self, why: impl std::fmt::Display) {
        self.outbox.say(&Told::Misunderstood { detail: why.to_string() });
    }

    fn start(&mut self) -> Result<Everything, Fault> {
        let outbox = self.outbox.clone();
        let sink = move |event| {
            outbox.say(&Told::Event(event));
        };
        // The old one goes first: no event is sent twice.
        self.listener = None;
        let (everything, listener) = self.shared.app.start(Box::new(sink))?;
        self.listener = Some(listener);
        Ok(everything)
    }

    fn gather(&mut self, paths: Vec<GivenPath>) -> Result<(), Fault> {
        for GivenPath(path) in paths {
            self.gathered_bytes += path.as_os_str().len() + size_of::<PathBuf>();
            self.gathered.push(path);
        }
        if self.gathered_bytes > GATHERED_BYTES_MAX {
            (self.gathered, self.gathered_bytes) = (Vec::new(), 0);
            return Err(Fault::Invalid(Invalid::TooMany));
        }
        Ok(())
    }

    async fn choose(&mut self, paths: Vec<GivenPath>) -> Result<Option<Chosen>, Fault> {
        self.gather(paths)?;
        let (app, paths) = (self.shared.app.clone(), std::mem::take(&mut self.gathered));
        self.gathered_bytes = 0;
        aside(move || app.choices.keep(paths)).await
    }

    fn count_chosen(&mut self, chosen: Option<u32>, leave_out: &str) -> Result<(), Fault> {
        // The old one ends first: what both have is not counted twice.
        self.counting = None;
        let Some(chosen) = chosen else { return Ok(()) };
        let outbox = self.outbox.clone();
        let show = move |Counted { sizes, total }| {
            outbox.say(&Told::Event(AppEvent::ChosenCounted { chosen, sizes, total }));
        };
        self.counting = Some(self.shared.app.choices.count(chosen, leave_out, show)?);
        Ok(())
    }

    fn browse(&mut self, device: &str, at: Option<PathThere>) -> Result<u32, Fault> {
        let app = self.shared.app.clone();
        app.browsing.list(&mut self.visit, device, at)
    }

    fn stop_browsing(&mut self) {
        self.visit = None;
    }

    fn look_around(&self, on: bool) {
        self.shared.look_around(self.number, on);
    }

    fn be_window(&self) -> bool {
        self.shared.be_window(self.number, &self.outbox, self.pid)
    }

    fn watch(&mut self, id: String) -> Result<(), Fault> {
        let app = self.shared.app.clone();
        let transfer = app.transfers.find(&id)?;
        self.watched.retain(|_, watching| !watching.is_finished());
        let (outbox, watched) = (self.outbox.clone(), id.clone());
        let watching = tokio::spawn(async move {
            app.transfers.watch(transfer, |update| outbox.say(&Told::Update { id: watched.clone(), update })).await;
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

fn value<T: Serialize>(answer: &T) -> Result<Value, Fault> {
    serde_json::to_value(answer).map_err(|error| Fault::Other { detail: error.to_string().into() })
}

/// What may wait for a disk has a thread of its own meanwhile.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> Result<T, Fault> + Send + 'static) -> Result<T, Fault> {
    let failed = |error: tokio::task::JoinError| Err(Fault::Other { detail: error.to_string().into() });
    tokio::task::spawn_blocking(work).await.unwrap_or_else(failed)
}

/// Work on a thread of its own.
type Work = Box<dyn FnOnce() -> Result<Value, Fault> + Send>;

/// Where a call stands once the client's next request may be read.
enum Performed {
    /// It has its answer.
    Now(Result<Value, Fault>),
    /// It still has to be waited for.
    Later(Pin<Box<dyn Future<Output = Result<Value, Fault>> + Send>>),
}

/// Generates the dispatch of the API's rows, each in its manner.
macro_rules! dispatch {
    (page { $($page:tt)+ } programs { $($programs:tt)+ } by_hand { $($by_hand:tt)+ }) => {
        dispatch! { @all $($page)+ $($programs)+ $($by_hand)+ }
    };
    (@all $(
        $(#[$doc:meta])+ $variant:ident $name:ident $(($($field:ident: $type:ty),+))? -> $answer:ty
            = $manner:ident |$on:ident| $does:expr;
    )+) => {
        impl Guest {
            async fn perform(&mut self, call: Call) -> Performed {
                match call {
                    $(Call::$variant $({ $($field),+ })? => dispatch!(@$manner self, $on, $answer, $does),)+
                }
            }
        }
    };
    (@ordered $guest:expr, $on:ident, $answer:ty, $does:expr) => {{
        let $on = &mut *$guest;
        Performed::Now(async { value::<$answer>(&$does) }.await)
    }};
    (@task $guest:expr, $on:ident, $answer:ty, $does:expr) => {{
        let $on = Arc::clone(&$guest.shared);
        Performed::Later(Box::pin(async move { value::<$answer>(&$does) }))
    }};
    (@blocking $guest:expr, $on:ident, $answer:ty, $does:expr) => {{
        let $on = $guest.shared.app.clone();
        let work: Work = Box::new(move || value::<$answer>(&$does));
        Performed::Later(Box::pin(aside(work)))
    }};
}
operations!(dispatch);
