//! What time does to a code, and what becomes of a program that does not look.
use std::path::Path;

use ringway_link::messages::MessageReader;
use ringway_model::{AuthError, TlsMode};
use ringway_wire::control::{Greeting, Hello, Message};
use ringway_wire::limits::VERSION;
use ringway_wire::pair::{Binding, ENTROPY_LEN, EXPORTER_LABEL, Initiator};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::*;
use crate::{Engine, Paths};

const LONG: Duration = Duration::from_secs(30);
const CODE: &str = "7-river-camera";

fn engine(folder: &Path) -> Engine {
    let below = |name: &str| folder.join(name);
    Engine::open(Paths { config: below("config"), data: below("data"), state: below("state"), runtime: None }).unwrap()
}

async fn receiver(engine: &Engine, folder: &Path) -> Receiver {
    let options = ReceiveOptions {
        listen: "127.0.0.1:0".parse().unwrap(),
        destination: folder.join("in"),
        code: Some(given()),
        pairing: true,
        announce: false,
        rule_folders: true,
        tls: TlsMode::Auto,
        io: ringway_model::IoMode::Auto,
    };
    engine.receive(options).await.unwrap()
}

fn given() -> GivenSecret {
    GivenSecret::parse(CODE.as_bytes()).unwrap_or_else(|_| panic!("not a code"))
}

async fn refusal(receiver: &mut Receiver) -> AuthError {
    loop {
        match timeout(LONG, receiver.next_event()).await.expect("told").expect("still listening") {
            ReceiverEvent::TurnedAway(failed) => return failed.why,
            ReceiverEvent::CodeChanged => {}
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_code_that_has_expired_lets_nobody_in_who_knows_it() {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (laptop, lab) = (engine(here.path()), engine(there.path()));
    let mut receiver = receiver(&lab, there.path()).await;
    let to = crate::Target::Address(receiver.local_address().into());
    assert!(receiver.code().is_some());
    receiver.shorten_code(Duration::ZERO);
    assert!(receiver.code().is_none(), "it is shown no longer");
    let refused = laptop.pair(to.clone(), given().to_pairing_secret()).await.unwrap_err();
    assert!(matches!(refused, Fault::Auth(AuthError::NoCodeOpen)), "{refused:?}");

    // One who does not heed that no code is open.
    let tcp = TcpStream::connect(receiver.local_address()).await.unwrap();
    let mut channel = laptop.shared.tls.connect(tcp, ringway_link::tls::Expected::Anyone).await.unwrap();
    let exporter = channel.export(EXPORTER_LABEL).unwrap();
    let binding = Binding::new(laptop.this_device().id.0, channel.peer.0, *exporter).unwrap();
    let Greeting { name } = Greeting { name: DeviceName::new("laptop").unwrap() };
    let (_, start) = Initiator::start(&given().to_pairing_secret(), binding, &[1; ENTROPY_LEN]);
    let hello = Message::Hello(Hello { version: VERSION, name, known: false, pairing: true });
    for message in [hello, Message::PairStart(start)] {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        channel.stream.write_all(&bytes).await.unwrap();
    }
    channel.stream.flush().await.unwrap();
    let mut messages = MessageReader::default();
    let mut answers = Vec::new();
    while let Ok(Ok(Some(message))) = timeout(LONG, messages.next(&mut channel.stream)).await {
        answers.push(message);
    }
    let [Message::Hello(hello), Message::Refused(why)] = &answers[..] else { panic!("{answers:?}") };
    assert!(!hello.pairing, "it says that no code is open");
    assert_eq!(*why, ringway_wire::control::Refusal::NoCodeOpen);
    assert_eq!(refusal(&mut receiver).await, AuthError::NoCodeOpen);
    assert!(lab.devices().unwrap().is_empty() && laptop.devices().unwrap().is_empty());

    // The next one is as good as new.
    receiver.renew_code().unwrap();
    let code = receiver.code().unwrap().text.unwrap();
    let secret = GivenSecret::parse(code.as_bytes()).ok().unwrap().to_pairing_secret();
    laptop.pair(to.clone(), secret).await.unwrap();
}

#[tokio::test]
async fn listener_waits_for_a_program_that_leaves_64_events_unread() {
    let folder = tempfile::tempdir().unwrap();
    let lab = engine(folder.path());
    let mut receiver = receiver(&lab, folder.path()).await;
    let listening = Arc::clone(&receiver.listening);
    assert_eq!(EVENTS_QUEUED_MAX, 64);
    for number in 0..EVENTS_QUEUED_MAX {
        let told = timeout(Duration::ZERO, listening.tell(ReceiverEvent::CodeChanged)).await;
        assert!(told.is_ok(), "{number}");
    }
    let one_more = listening.tell(ReceiverEvent::Stopped(None));
    tokio::pin!(one_more);
    assert!(timeout(Duration::ZERO, &mut one_more).await.is_err(), "it waits, and nothing is lost");
    assert!(matches!(receiver.next_event().await, Some(ReceiverEvent::CodeChanged)));
    timeout(LONG, one_more).await.expect("there is room");
    for _ in 1..EVENTS_QUEUED_MAX {
        assert!(matches!(receiver.next_event().await, Some(ReceiverEvent::CodeChanged)));
    }
    assert!(matches!(receiver.next_event().await, Some(ReceiverEvent::Stopped(None))));
}
