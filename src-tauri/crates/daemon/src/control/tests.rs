//! Service and clients over a real socket: calls, events, several clients, and those who keep to no
//! rule.
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use proptest::prelude::*;
use ringway_model::{Fault, IntoHome, OnCancel, OnConflict};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;

use super::client::Notice;
use super::protocol::{PROTOCOL, REQUEST_LEN_MAX};
use super::{Client, ControlError, Hold, Place, Server};
use crate::app::App;
use crate::app::Reception;
use crate::app::testing::{PATIENCE, TestDevice};
use crate::dto::SettingsChange;
use crate::dto::{AppEvent, Listening, Recipient, Sent, SizeState, Update, View};

struct Service {
    place: Place,
    app: App,
    server: Server,
    _hold: Hold,
    folder: TempDir,
}

impl Service {
    fn start(name: &str) -> Self {
        let reception = Reception { is_quiet: true, ..Reception::default() };
        let TestDevice { app, folder } = TestDevice::new(name, reception);
        let place = Place::at(folder.path().join("run"));
        let (hold, listener) = Hold::take(&place).unwrap();
        let server = Server::start(app.clone(), listener);
        Self { place, app, server, _hold: hold, folder }
    }

    async fn client(&self) -> (Client, UnboundedReceiver<Notice>) {
        Client::connect(&self.place).await.unwrap()
    }

    async fn raw(&self) -> UnixStream {
        UnixStream::connect(self.place.socket()).await.unwrap()
    }
}

async fn soon<T>(what: &str, wanted: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, wanted).await.unwrap_or_else(|_| panic!("{what} did not come"))
}

async fn event<T>(notices: &mut UnboundedReceiver<Notice>, wanted: impl Fn(AppEvent) -> Option<T>) -> T {
    let found = async {
        loop {
            match notices.recv().await.expect("the connection stands") {
                Notice::Event(event) => match wanted(event) {
                    Some(found) => return found,
                    None => continue,
                },
                Notice::Raise { .. } => {}
            }
        }
    };
    soon("an event", found).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_send_between_two_services_is_driven_by_their_clients() {
    let (here, there) = (Service::start("here"), Service::start("there"));
    let (near, _) = here.client().await;
    let (far, mut told) = there.client().await;
    assert_eq!(near.hello().protocol, PROTOCOL);
    far.start().await.unwrap();
    far.listen(Some(0)).await.unwrap();
    let Listening::On { port, code: Some(code), .. } = far.look().await.unwrap().listening else { panic!() };

    // A name that no text holds.
    let source = here.folder.path().join(OsStr::from_bytes(b"caf\xe9"));
    std::fs::write(&source, "content").unwrap();
    let chosen = near.choose(vec![source]).await.unwrap().unwrap();
    assert_eq!(chosen.items[0].name, "caf\\xe9");
    let sent = near
        .send(
            chosen.id,
            Recipient::Typed { text: format!("127.0.0.1:{port}") },
            code.code,
            false,
            None,
            "*.tmp".into(),
            None,
            None,
        )
        .await
        .unwrap();
    let Sent::Begun { transfer: sent } = sent else { panic!("{sent:?}") };
    let mut updates = near.watch(sent.transfer.id.clone()).await.unwrap();

    let offer = event(&mut told, |event| match event {
        AppEvent::OfferChanged { offer } => Some(*offer),
        _ => None,
    })
    .await;
    let elsewhere = there.folder.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    far.set_offer_folder(offer.id.to_string(), elsewhere.clone().into(), IntoHome::Refuse).await.unwrap();
    let taken = far.accept(offer.id.to_string(), offer.size(), OnConflict::Replace).await.unwrap();
    assert!(
        taken.transfer.id.starts_with(&sent.transfer.id) && offer.id.to_string() != taken.transfer.id,
        "{} {}",
        taken.transfer.id,
        sent.transfer.id
    );
    let ended = async {
        loop {
            if let Update::Ended { report, .. } = updates.recv().await.expect("updates until the end") {
                return report;
            }
        }
    };
    assert_eq!(soon("the end", ended).await.counts.failed, 0);
    assert!(soon("the last update", updates.recv()).await.is_none());
    let arrived = elsewhere.join(OsStr::from_bytes(b"caf\xe9"));
    assert_eq!(std::fs::read_to_string(arrived).unwrap(), "content");
    assert!(matches!(near.cancel("no such transfer".into(), OnCancel::Keep).await, Err(Fault::Gone)));
    // The receiving end writes its history after its answer has ended the sending one.
    let kept = async {
        while far.past(Default::default()).await.unwrap().len() != 1 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    soon("the history", kept).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_client_is_told_and_one_is_the_window() {
    let service = Service::start("one");
    let (first, mut told_first) = service.client().await;
    let (second, mut told_second) = service.client().await;
    assert!(!second.raise(vec!["/a".into()], None, None).await.unwrap(), "there is no window yet");
    assert!(first.be_window().await.unwrap());
    assert!(first.be_window().await.unwrap(), "it stays the window");
    assert!(!second.be_window().await.unwrap());
    first.start().await.unwrap();
    second.start().await.unwrap();
    service.app.receiving.listen(Some(0)).await;
    for told in [&mut told_first, &mut told_second] {
        event(told, |event| matches!(event, AppEvent::ListeningChanged { .. }).then_some(())).await;
    }
    let paths = vec!["/a".into(), OsStr::from_bytes(b"/\xff").into()];
    assert!(second.raise(paths, Some(View::Send), Some("leave".into())).await.unwrap());
    let raised = async {
        loop {
            if let Notice::Raise { paths, view: Some(View::Send), token } = told_first.recv().await.unwrap() {
                return (paths, token);
            }
        }
    };
    let wanted: Vec<PathBuf> = vec!["/a".into(), OsStr::from_bytes(b"/\xff").into()];
    assert_eq!(soon("the wish", raised).await, (wanted, Some("leave".to_owned())));
    drop(first);
    let becomes = async {
        while !second.be_window().await.unwrap() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    soon("its place", becomes).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_settings_are_told_to_every_client_and_a_refusal_to_who_asked() {
    let service = Service::start("one");
    let (asking, mut told_asking) = service.client().await;
    let (other, mut told_other) = service.client().await;
    asking.start().await.unwrap();
    other.start().await.unwrap();
    // A folder whose name no text holds.
    let folder = service.folder.path().join(OsStr::from_bytes(b"caf\xe9"));
    std::fs::create_dir(&folder).unwrap();
    let change = |receive_folder: PathBuf| SettingsChange {
        receive_folder: Some(receive_folder.into()),
        receiving: Some(false),
        ..Default::default()
    };
    let refused = asking.change_settings(change(folder)).await;
    assert!(matches!(refused, Err(Fault::Invalid { .. })), "a file of settings is text: {refused:?}");
    let folder = service.folder.path().join("incoming");
    assert!(matches!(asking.change_settings(change(folder.clone())).await, Err(Fault::Path { .. })));
    assert!(other.look().await.unwrap().settings.settings.receiving);
    std::fs::create_dir(&folder).unwrap();
    let answered = asking.change_settings(change(folder)).await.unwrap();
    for told in [&mut told_asking, &mut told_other] {
        let settings = event(told, |event| match event {
            AppEvent::SettingsChanged { settings } => Some(settings),
            _ => None,
        });
        assert_eq!(settings.await, answered);
    }
    assert!(answered.settings.receive_folder.ends_with("incoming") && !answered.settings.receiving);
}

#[tokio::test(flavor = "multi_thread")]
async fn more_paths_than_a_line_holds_are_one_choice() {
    let service = Service::start("many");
    let (client, _) = service.client().await;
    // Each character takes six in JSON.
    let name = "\u{1}".repeat(200);
    let paths = (0..20_000).map(|number| PathBuf::from(format!("/none/{name}{number}"))).collect();
    let chosen = client.choose(paths).await.unwrap().unwrap();
    assert_eq!(chosen.items.len() as u64 + chosen.more, 20_000);
    let next = client.choose(vec!["/one".into()]).await.unwrap().unwrap();
    assert_eq!((next.items.len(), next.more), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn sizes_of_a_choice_are_told_only_to_the_client_that_asked() {
    let service = Service::start("sizes");
    let ((asking, mut told), (other, mut told_other)) = (service.client().await, service.client().await);
    other.start().await.unwrap();
    let set = service.folder.path().join("set");
    std::fs::create_dir(&set).unwrap();
    std::fs::write(set.join("three"), "abc").unwrap();
    let [chosen, one] = [set, "/one".into()].map(|path: PathBuf| asking.choose(vec![path]));
    let (chosen, one) = (chosen.await.unwrap().unwrap(), one.await.unwrap().unwrap());
    let joined = asking.join_chosen(one.id, chosen.id).await.unwrap();
    assert_eq!(asking.join_chosen(one.id, 99).await, Err(Fault::Gone));
    asking.count_chosen(Some(joined.id), String::new()).await.unwrap();
    let total = event(&mut told, |event| match event {
        AppEvent::ChosenCounted { chosen, total, .. } => {
            (chosen == joined.id && total.state != SizeState::Counting).then_some(total)
        }
        _ => None,
    });
    assert_eq!((total.await.bytes, joined.more_merged), (3, 0));
    asking.count_chosen(None, String::new()).await.unwrap();
    assert!(told_other.try_recv().is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_learns_that_the_service_has_ended_and_that_none_runs() {
    let service = Service::start("short");
    let (client, mut notices) = service.client().await;
    let (asking, _) = service.client().await;
    asking.stop().await.unwrap();
    soon("the wish to stop", service.server.stop_asked()).await;
    let place = service.place.clone();
    drop(service);
    assert!(soon("the end", notices.recv()).await.is_none());
    for gone in [client, asking] {
        assert!(matches!(soon("an answer", gone.look()).await, Err(Fault::ServiceGone)));
    }
    assert!(matches!(Client::connect(&place).await, Err(ControlError::NotRunning)));
}

#[tokio::test(flavor = "multi_thread")]
async fn nonsense_ends_its_connection_and_no_other() {
    let service = Service::start("calm");
    let (client, _) = service.client().await;
    let long = vec![b'x'; REQUEST_LEN_MAX + 10];
    for nonsense in [&b"nonsense\n"[..], b"{}\n", b"\xff\xfe\n", b"{\"number\":1,\"call\":\"begin\"}\n", &long] {
        let mut stream = service.raw().await;
        // Where it is let go before it has said all, that is as good.
        let _ = stream.write_all(nonsense).await;
        let mut said = String::new();
        let _ = soon("the end", stream.read_to_string(&mut said)).await;
        assert!(said.contains("misunderstood") || nonsense.len() > REQUEST_LEN_MAX, "{said}");
    }
    client.look().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_is_let_go_and_holds_nobody_up() {
    let service = Service::start("brisk");
    let (client, _) = service.client().await;
    let mut slow = service.raw().await;
    // Thousands of answers that it does not read.
    let asking = async {
        let line = b"{\"number\":1,\"call\":\"look\"}\n";
        while slow.write_all(line).await.is_ok() {}
    };
    soon("its end", asking).await;
    client.look().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn more_clients_than_there_are_places_are_turned_away() {
    let service = Service::start("full");
    let mut clients = Vec::new();
    let refused = loop {
        match Client::connect(&service.place).await {
            Ok(client) => clients.push(client),
            Err(error) => break error,
        }
        assert!(clients.len() < 1_000);
    };
    assert!(matches!(refused, ControlError::Busy), "{refused}");
    clients.pop();
    soon("a place", Client::connect(&service.place)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_ask_something_all_at_once_wait_for_each_other() {
    let service = Service::start("asked");
    let mut asking = JoinSet::new();
    // More than there are places for. Each waits a few seconds at most, on a busy machine, too.
    for _ in 0..48 {
        let place = Place::at(service.folder.path().join("run"));
        asking.spawn(async move {
            let (client, _) = Client::connect(&place).await?;
            client.look().await.expect("an answer");
            Ok::<_, ControlError>(())
        });
    }
    for asked in soon("all answers", asking.join_all()).await {
        asked.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_of_another_protocol_is_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::at(folder.path());
    let (_hold, listener) = Hold::take(&place).unwrap();
    for (line, wanted) in [
        ("{\"hello\":{\"ringway\":\"9.9\",\"protocol\":99,\"pid\":1}}\n", "version 9.9 and speaks protocol 99"),
        ("220 smtp ready\n", "does not answer"),
        ("", "does not answer"),
    ] {
        let (answer, asked) = tokio::join!(
            async {
                let (mut stream, _) = listener.accept().await.unwrap();
                stream.write_all(line.as_bytes()).await.unwrap();
            },
            Client::connect(&place)
        );
        let () = answer;
        let error = asked.err().expect(line).to_string();
        assert!(error.contains(wanted), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_is_deserted_once_nobody_has_been_there_for_a_while() {
    let service = Service::start("lonely");
    let (client, _) = service.client().await;
    let early = tokio::time::timeout(Duration::from_secs(4), service.server.deserted(|| false)).await;
    assert!(early.is_err(), "a client is there");
    drop(client);
    let wanted = tokio::time::timeout(Duration::from_secs(4), service.server.deserted(|| true)).await;
    assert!(wanted.is_err(), "it is wanted");
    soon("the end", service.server.deserted(|| false)).await;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn garbage_at_the_socket_leaves_the_service_whole(
        pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..2_000), 1..8)
    ) {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let service = Service::start("fuzzed");
            for piece in pieces {
                let mut stream = service.raw().await;
                let _ = stream.write_all(&piece).await;
                let _ = stream.shutdown().await;
                let _ = soon("the end", stream.read_to_end(&mut Vec::new())).await;
            }
            let (client, _) = service.client().await;
            assert!(client.look().await.is_ok());
        });
    }
}
