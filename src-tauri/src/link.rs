//! The window's connection to the service: kept, found again when it is lost, and what comes over
//! it handed to the page.
use std::sync::Arc;
use std::time::Duration;

use gtk::prelude::GtkWindowExt;
use parking_lot::Mutex;
use ringway_daemon::control::Client;
use ringway_daemon::control::client::Notice;
use ringway_daemon::dto::{AppEvent, Chosen, Drag, Everything};
use ringway_model::Fault;
use tauri::ipc::Channel;
use tauri::{AppHandle, Manager};
use tokio::sync::{mpsc, watch};

use crate::bridge::Dragged;
use crate::launch::{self, Connection};
use crate::opening::Opening;

/// How often a service that has gone is looked for: one that systemd starts again is back within
/// seconds.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// How the window stands to the service.
#[derive(Clone)]
enum State {
    /// It is being looked for or started.
    Looking,
    Found(Client),
    Lost(Fault),
}

/// Clones are the same.
#[derive(Clone)]
pub(crate) struct Link {
    inner: Arc<Inner>,
}

struct Inner {
    state: watch::Sender<State>,
    /// The page's; a page that was loaded anew brings another.
    page: Mutex<Option<Channel<AppEvent>>>,
    /// What the page is to show as soon as it is there.
    opening: Mutex<Opening>,
    drags: mpsc::UnboundedSender<Dragged>,
}

impl Link {
    /// A link that [`Link::keep`] brings about.
    pub(crate) fn new(opening: Opening) -> Self {
        let (drags, dragged) = mpsc::unbounded_channel();
        let inner = Inner {
            state: watch::Sender::new(State::Looking),
            page: Mutex::default(),
            opening: Mutex::new(opening),
            drags,
        };
        let link = Self { inner: Arc::new(inner) };
        tauri::async_runtime::spawn(link.clone().pass_drags(dragged));
        link
    }

    /// The connection, as soon as it is known whether there is one.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) async fn service(&self) -> Result<Client, Fault> {
        let mut state = self.inner.state.subscribe();
        // The sender is ours: it does not go.
        let known = state.wait_for(|state| !matches!(state, State::Looking)).await;
        match known.as_deref() {
            Ok(State::Found(client)) => Ok(client.clone()),
            Ok(State::Lost(fault)) => Err(fault.clone()),
            Ok(State::Looking) | Err(_) => Err(Fault::ServiceGone),
        }
    }

    /// Everything to show; from now on `page` is told what changes.
    pub(crate) async fn show(&self, page: Channel<AppEvent>) -> Result<Everything, Fault> {
        *self.inner.page.lock() = Some(page);
        let service = self.service().await?;
        let everything = service.start().await?;
        let opening = std::mem::take(&mut *self.inner.opening.lock());
        if !opening.is_plain() {
            self.open(&service, opening).await?;
        }
        Ok(everything)
    }

    /// Has the service started that was lost. One press more than it takes is none for the next
    /// time.
    pub(crate) fn start_again(&self) {
        self.inner.state.send_if_modified(|state| {
            let is_lost = matches!(state, State::Lost(_));
            if is_lost {
                *state = State::Looking;
            }
            is_lost
        });
    }

    pub(crate) fn tell(&self, event: AppEvent) {
        if let Some(page) = self.inner.page.lock().as_ref() {
            // A page that is gone misses nothing: the next one asks for everything.
            let _ = page.send(event);
        }
    }

    /// Something is dragged over the window.
    pub(crate) fn drag(&self, dragged: Dragged) {
        // The other end lives as long as this.
        let _ = self.inner.drags.send(dragged);
    }

    /// Keeps the connection for as long as the window lives: `first` if there is one already, else
    /// one to a service that is found or started.
    pub(crate) async fn keep(self, handle: AppHandle, first: Option<Connection>) {
        let mut found = match first {
            Some(connection) => Ok(connection),
            None => self.first(&handle).await,
        };
        loop {
            match found {
                Ok((client, notices)) => {
                    self.inner.state.send_replace(State::Found(client.clone()));
                    self.tell(AppEvent::ServiceFound);
                    self.pass_notices(&handle, &client, notices).await;
                    found = Err(Fault::ServiceGone);
                }
                Err(fault) => {
                    self.inner.state.send_replace(State::Lost(fault.clone()));
                    self.tell(AppEvent::ServiceLost { fault: fault.clone() });
                    found = self.again(&fault).await;
                }
            }
        }
    }

    /// The window's first service. A window that another start has opened meanwhile gets what this
    /// one was opened with.
    async fn first(&self, handle: &AppHandle) -> Result<Connection, Fault> {
        let connection = launch::find_or_start(&launch::place()?).await?;
        let opening = self.inner.opening.lock().clone();
        if !connection.0.be_window().await? && connection.0.raise(opening.paths, opening.view, opening.token).await? {
            handle.exit(0);
        }
        Ok(connection)
    }

    /// A service that has come back by itself, or was started because a person wants it. `fault` is
    /// why there is none, as was told.
    async fn again(&self, fault: &Fault) -> Result<Connection, Fault> {
        let mut state = self.inner.state.subscribe();
        let connection = loop {
            tokio::select! {
                () = wanted(&mut state) => {
                    break launch::find_or_start(&launch::place()?).await?;
                }
                () = tokio::time::sleep(LOOK_EVERY) => {
                    let Ok(place) = launch::place() else { continue };
                    match launch::find(&place).await {
                        Ok(connection) => break connection,
                        Err(Some(other)) if other != *fault => return Err(other),
                        Err(_) => {}
                    }
                }
            }
        };
        // Another window may have taken the place meanwhile: this one goes on beside it.
        connection.0.be_window().await?;
        Ok(connection)
    }

    async fn pass_notices(&self, handle: &AppHandle, client: &Client, mut notices: mpsc::UnboundedReceiver<Notice>) {
        while let Some(notice) = notices.recv().await {
            match notice {
                Notice::Event(event) => self.tell(event),
                Notice::Raise { paths, view, token } => {
                    to_front(handle, token.clone());
                    // What it was to show is asked for again when it is needed.
                    let _ = self.open(client, Opening { paths, view, token }).await;
                }
            }
        }
    }

    async fn open(&self, client: &Client, Opening { paths, view, .. }: Opening) -> Result<(), Fault> {
        let chosen = client.choose(paths).await?;
        self.tell(AppEvent::Opened { chosen, view });
        Ok(())
    }

    /// In their order, although the service is asked what some of them are about.
    async fn pass_drags(self, mut dragged: mpsc::UnboundedReceiver<Dragged>) {
        while let Some(dragged) = dragged.recv().await {
            let drag = match dragged {
                Dragged::Entered(paths) => self.chosen(paths).await.map(|chosen| Drag::Entered { chosen }),
                Dragged::TextEntered(text) => Some(Drag::TextEntered { text }),
                Dragged::TextDropped(text, x, y) => Some(Drag::TextDropped { text, x, y }),
                Dragged::Over(x, y) => Some(Drag::Over { x, y }),
                Dragged::Dropped(paths, x, y) => self.chosen(paths).await.map(|chosen| Drag::Dropped { chosen, x, y }),
                Dragged::Left => Some(Drag::Left),
            };
            if let Some(drag) = drag {
                self.tell(AppEvent::Dragged { drag });
            }
        }
    }

    /// Without a service there is nothing to drag to, which the page shows.
    async fn chosen(&self, paths: Vec<std::path::PathBuf>) -> Option<Chosen> {
        self.service().await.ok()?.choose(paths).await.ok().flatten()
    }
}

/// Waits until a person wants the service to be started.
async fn wanted(state: &mut watch::Receiver<State>) {
    // An error would mean that the sender has gone: it is ours.
    let _ = state.wait_for(|state| matches!(state, State::Looking)).await;
}

/// Brings the window in front of the others, however it was hidden; with the desktop's leave, where
/// another process brought one.
fn to_front(handle: &AppHandle, token: Option<String>) {
    let Some(window) = handle.get_webview_window("main") else { return };
    // A desktop that does not let it shows that it wants to: more cannot be done.
    let _ = window.unminimize().and_then(|()| window.show()).and_then(|()| window.set_focus());
    let Some(token) = token else { return };
    let shown = window.clone();
    // GTK is its main thread's. On Wayland it hands the token to the compositor with the next wish
    // for the front, on X11 it takes the time of the click out of it. A window that has gone
    // meanwhile needs neither.
    let _ = window.run_on_main_thread(move || {
        if let Ok(window) = shown.gtk_window() {
            window.set_startup_id(&token);
            window.present();
        }
    });
}
