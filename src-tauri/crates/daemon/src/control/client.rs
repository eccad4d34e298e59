//! A client of the service: finds its socket, makes calls, and hands on events.
use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use ringway_model::Fault;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;

use super::api::operations;
use super::api::types::*;
use super::lines::read_line;
use super::protocol::{ANSWER_LEN_MAX, Call, Hello, PROTOCOL, PageCall, REQUEST_LEN_MAX, Request, Told};
use super::{ControlError, Place};
use crate::dto::{AppEvent, Update};

/// Time for the service's first line: it says it before it does anything else.
const HELLO_TIME_MAX: Duration = Duration::from_secs(10);

/// Bytes of the paths in one line. Each is six at the most in JSON (`\u00NN`).
const GATHERED_AT_ONCE_MAX: usize = 128 << 10;

/// What the service says unasked.
pub enum Notice {
    /// Something happened; told after [`Client::start`].
    Event(AppEvent),
    /// The window is to come to the front.
    Raise {
        /// What it is to offer for sending.
        paths: Vec<PathBuf>,
        /// What it is to show.
        view: Option<View>,
        /// The desktop's leave to do that (xdg-activation-v1, or X11's startup notification).
        token: Option<String>,
    },
}

/// A connection to the service. Clones are the same; it ends with the last one.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    hello: Hello,
    shared: Arc<Shared>,
    reading: AbortHandle,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

/// What is asked and what is read meet here.
struct Shared {
    writing: tokio::sync::Mutex<OwnedWriteHalf>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    last_number: u64,
    waiting: HashMap<u64, oneshot::Sender<Result<Value, Fault>>>,
    watched: HashMap<String, mpsc::UnboundedSender<Update>>,
    has_ended: bool,
}

impl Client {
    /// Connects to the service of this place. The notices end with the connection.
    ///
    /// # Errors
    /// [`ControlError::NotRunning`], and what keeps the two from understanding each other.
    pub async fn connect(place: &Place) -> Result<(Self, mpsc::UnboundedReceiver<Notice>), ControlError> {
        let path = place.socket();
        let stream = UnixStream::connect(&path).await.map_err(|source| match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => ControlError::NotRunning,
            _ => ControlError::Path { path: path.clone(), source },
        })?;
        let own = rustix::process::geteuid().as_raw();
        // Root reaches everybody's; anybody else only tells codes and paths to himself.
        if own != 0 && !stream.peer_cred().is_ok_and(|peer| peer.uid() == own) {
            return Err(ControlError::Stranger { path });
        }
        let (reading, writing) = stream.into_split();
        let mut reading = BufReader::new(reading);
        let hello = tokio::time::timeout(HELLO_TIME_MAX, hello(&mut reading)).await;
        let hello = hello.ok().flatten().ok_or(ControlError::Silent { path })?;
        let hello = match hello {
            Told::Hello(hello) if hello.protocol == PROTOCOL => hello,
            Told::Hello(Hello { ringway, protocol, .. }) => {
                return Err(ControlError::OtherProtocol { ours: PROTOCOL, theirs: protocol, version: ringway });
            }
            _ => return Err(ControlError::Busy),
        };
        let shared = Arc::new(Shared { writing: tokio::sync::Mutex::new(writing), state: Mutex::default() });
        let (tell, notices) = mpsc::unbounded_channel();
        let reading = tokio::spawn(read(reading, Arc::clone(&shared), tell)).abort_handle();
        Ok((Self { inner: Arc::new(Inner { hello, shared, reading }) }, notices))
    }

    /// What the service said of itself.
    pub fn hello(&self) -> &Hello {
        &self.inner.hello
    }

    /// Remembers what was chosen or dropped; `None` if that is nothing.
    ///
    /// # Errors
    /// [`Fault::ServiceGone`], or too many paths.
    pub async fn choose(&self, paths: Vec<PathBuf>) -> Result<Option<Chosen>, Fault> {
        let (mut some, mut bytes) = (Vec::new(), 0);
        for path in paths {
            bytes += path.as_os_str().len() + 1;
            some.push(GivenPath(path));
            if bytes > GATHERED_AT_ONCE_MAX {
                bytes = 0;
                self.ask::<()>(Call::Gather { paths: std::mem::take(&mut some) }).await?;
            }
        }
        self.ask(Call::Choose { paths: some }).await
    }

    /// A transfer's figures until it has ended. An earlier watcher of it on this connection gets
    /// no more figures.
    ///
    /// # Errors
    /// [`Fault::Gone`] for a transfer that is not listed.
    pub async fn watch(&self, id: String) -> Result<mpsc::UnboundedReceiver<Update>, Fault> {
        let (tell, updates) = mpsc::unbounded_channel();
        // Before it is asked for: the first update may come right behind the answer.
        self.inner.shared.state.lock().watched.insert(id.clone(), tell);
        match self.ask::<()>(Call::Watch { id: id.clone() }).await {
            Ok(()) => Ok(updates),
            Err(fault) => {
                self.inner.shared.state.lock().watched.remove(&id);
                Err(fault)
            }
        }
    }

    /// Has the window come to the front with these paths to send, or with a view; false where there
    /// is no window. `token` is the desktop's leave that was given to this process.
    ///
    /// # Errors
    /// [`Fault::ServiceGone`].
    pub async fn raise(&self, paths: Vec<PathBuf>, view: Option<View>, token: Option<String>) -> Result<bool, Fault> {
        self.ask(Call::Raise { paths: paths.into_iter().map(GivenPath).collect(), view, token }).await
    }

    /// Makes a call of the window's page; the answer is as it came.
    ///
    /// # Errors
    /// What the service refuses it with; [`Fault::ServiceGone`].
    pub async fn pass(&self, call: PageCall) -> Result<Value, Fault> {
        self.ask(call.into()).await
    }

    async fn ask<T: DeserializeOwned>(&self, call: Call) -> Result<T, Fault> {
        let shared = &self.inner.shared;
        let (answer, answered) = oneshot::channel();
        let number = {
            let mut state = shared.state.lock();
            if state.has_ended {
                return Err(Fault::ServiceGone);
            }
            state.last_number += 1;
            let number = state.last_number;
            state.waiting.insert(number, answer);
            number
        };
        let not_json = |error: serde_json::Error| Fault::Other { detail: error.to_string().into() };
        let mut line = serde_json::to_string(&Request { number, call }).map_err(not_json)?;
        line.push('\n');
        if shared.writing.lock().await.write_all(line.as_bytes()).await.is_err() {
            return Err(Fault::ServiceGone);
        }
        let value = answered.await.map_err(|_| Fault::ServiceGone)??;
        serde_json::from_value(value).map_err(not_json)
    }
}

async fn hello(from: &mut BufReader<OwnedReadHalf>) -> Option<Told> {
    let mut line = Vec::new();
    let is_line = read_line(from, &mut line, REQUEST_LEN_MAX).await.ok()?;
    let told = is_line.then(|| serde_json::from_slice(&line).ok()).flatten()?;
    matches!(told, Told::Hello(_) | Told::Busy).then_some(told)
}

/// Hands on what is read until the connection ends, or what comes makes no sense.
async fn read(mut from: BufReader<OwnedReadHalf>, shared: Arc<Shared>, notices: mpsc::UnboundedSender<Notice>) {
    let mut line = Vec::new();
    while let Ok(true) = read_line(&mut from, &mut line, ANSWER_LEN_MAX).await {
        let Ok(told) = serde_json::from_slice(&line) else { break };
        // A receiver that was dropped is no error.
        match told {
            Told::Answer { number, ok } => shared.answer(number, Ok(ok)),
            Told::Refused { number, fault } => shared.answer(number, Err(fault)),
            Told::Event(event) => drop(notices.send(Notice::Event(event))),
            Told::Update { id, update } => shared.update(id, update),
            Told::Raise { paths, view, token } => {
                let paths = paths.into_iter().map(|path| path.0).collect();
                drop(notices.send(Notice::Raise { paths, view, token }));
            }
            Told::Hello(_) | Told::Busy | Told::Misunderstood { .. } => break,
        }
    }
    let mut state = shared.state.lock();
    state.has_ended = true;
    // Dropping the senders wakes pending calls with an error.
    state.waiting.clear();
    state.watched.clear();
}

impl Shared {
    fn answer(&self, number: u64, answer: Result<Value, Fault>) {
        if let Some(waiting) = self.state.lock().waiting.remove(&number) {
            let _ = waiting.send(answer);
        }
    }

    fn update(&self, id: String, update: Update) {
        let mut state = self.state.lock();
        let is_last = matches!(update, Update::Ended { .. });
        let is_heard = state.watched.get(&id).is_some_and(|tell| tell.send(update).is_ok());
        if is_last || !is_heard {
            state.watched.remove(&id);
        }
    }
}

/// Generates a method for each row of the API. Those of the group `by_hand` stand above.
macro_rules! methods {
    (page { $($page:tt)+ } programs { $($programs:tt)+ } by_hand { $($by_hand:tt)+ }) => {
        methods! { @these $($page)+ $($programs)+ }
    };
    (@these $(
        $(#[$doc:meta])+ $variant:ident $name:ident $(($($field:ident: $type:ty),+))? -> $answer:ty
            = $manner:ident |$on:ident| $does:expr;
    )+) => {
        impl Client {
            $(
                $(#[$doc])+
                ///
                /// # Errors
                /// What the service refuses it with; [`Fault::ServiceGone`].
                #[allow(clippy::too_many_arguments, reason = "one for each field of the row")]
                pub async fn $name(&self $(, $($field: $type),+)?) -> Result<$answer, Fault> {
                    self.ask(Call::$variant $({ $($field),+ })?).await
                }
            )+
        }
    };
}
operations!(methods);
