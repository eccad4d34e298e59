//! The controller as the window drives it: two of them, each with its own engine, over loopback.
mod browsing;
mod copying;
mod devices;
mod offers;
mod queue;
mod receiving;
mod rules;
mod sending;
mod settings;
mod shares;
mod transfers;

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ringway_engine::{Announced, Announcement, Engine, Fingerprint, Paths, Target};
use ringway_model::{
    AuthError, ComparisonState, DeclineReason, Direction, EntryKind, FailureReason, Fault, HereIs, LookAlike, Offer,
    OnCancel, OnConflict, OnExisting, Outcome, PastQuery, Report, ShownSize, Side, Stage, TransferKey,
};
use tempfile::TempDir;
use tokio::sync::mpsc;

use crate::app::Reception;
use crate::app::testing::{PATIENCE, TestDevice};
use crate::app::{App, HowToSend, Listener};
use crate::dto::{AppEvent, Left, Listening, Moving, Recipient, Sent, SettingsChange};

/// As most tests send: read back there.
const VERIFIED: HowToSend = HowToSend { verify: true, limit: None, leave_out: String::new(), in_share: None };

struct Machine {
    app: App,
    _listener: Listener,
    events: mpsc::UnboundedReceiver<AppEvent>,
    folder: TempDir,
}

impl Machine {
    fn new(name: &str) -> Self {
        let TestDevice { app, folder } = TestDevice::new(name, Reception::default());
        let (sender, events) = mpsc::unbounded_channel();
        let (_, listener) = app.start(Box::new(move |event| drop(sender.send(event)))).unwrap();
        Self { app, _listener: listener, events, folder }
    }

    fn inbox(&self) -> PathBuf {
        self.folder.path().join("inbox")
    }

    /// What `wanted` makes of the first event that it takes.
    async fn event<T>(&mut self, wanted: impl Fn(AppEvent) -> Option<T>) -> T {
        let found = async {
            loop {
                if let Some(found) = wanted(self.events.recv().await.expect("the controller lives")) {
                    return found;
                }
            }
        };
        tokio::time::timeout(PATIENCE, found).await.expect("the event comes in time")
    }

    /// Listens on a free port; gives the address and the code.
    async fn listen(&mut self) -> (String, String) {
        self.app.receiving.listen(Some(0)).await;
        match self.app.receiving.listening() {
            Listening::On { port, code: Some(code), other_port: true, .. } => {
                (format!("127.0.0.1:{port}"), code.code.unwrap())
            }
            _ => panic!("does not listen"),
        }
    }

    async fn offer(&mut self) -> Offer {
        self.event(|event| match event {
            AppEvent::OfferChanged { offer } => Some(*offer),
            _ => None,
        })
        .await
    }

    async fn ended(&self, id: &str) -> Report {
        let transfer = self.app.transfers.find(id).unwrap();
        tokio::time::timeout(PATIENCE, transfer.wait()).await.unwrap().as_ref().clone()
    }

    /// Waits until the list has so many that have not ended.
    async fn runs(&self, wanted: usize) {
        let looked = async {
            while self.app.transfers.running() != wanted {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(PATIENCE, looked).await.unwrap_or_else(|_| panic!("{} run", self.app.transfers.running()));
    }

    /// The folder that would be shown of a transfer that has ended. The list learns of the end just
    /// after those that wait for it.
    async fn arrived(&self, id: &str) -> PathBuf {
        let looked = async {
            loop {
                match self.app.transfers.arrived_folder(id) {
                    Ok(folder) => return folder,
                    Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
                }
            }
        };
        tokio::time::timeout(PATIENCE, looked).await.expect("the list learns of the end")
    }

    /// Sends `path` and gives the transfer's id.
    fn send(&self, path: &Path, target: &str, code: Option<&str>) -> String {
        let chosen = self.app.choices.keep(vec![path.to_owned()]).unwrap().unwrap();
        let target = self.app.engine.resolve(target).unwrap();
        begun(self.app.sending.send(chosen.id, target, code.map(str::to_owned), VERIFIED, None).unwrap()).transfer.id
    }

    /// A folder to copy into, picked.
    fn destination(&self) -> PathBuf {
        let folder = self.folder.path().join("sets");
        std::fs::create_dir(&folder).unwrap();
        self.app.copying.pick(folder.clone());
        folder
    }

    /// Copies `path` and gives the transfer's id and end.
    async fn copy(&self, path: &Path, existing: OnExisting, verify: bool) -> (String, Report) {
        let chosen = self.app.choices.keep(vec![path.to_owned()]).unwrap().unwrap();
        let id = self.app.copying.start(chosen.id, existing, verify, "").unwrap().transfer.id;
        let ended = self.ended(&id).await;
        (id, ended)
    }

    fn source(&self) -> PathBuf {
        let source = self.folder.path().join("set");
        std::fs::create_dir_all(source.join("below")).unwrap();
        std::fs::write(source.join("below/file"), "content").unwrap();
        source
    }
}

fn begun(sent: Sent) -> Moving {
    match sent {
        Sent::Begun { transfer } => *transfer,
        Sent::Waits { waiting } => panic!("{waiting:?}"),
    }
}

fn fault(ended: Report) -> Fault {
    match ended.outcome {
        Outcome::Failed(fault) => fault,
        other => panic!("{other:?}"),
    }
}
