//! What strangers and impostors try on the network, and what comes of it.
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use ringway_engine::{
    AcceptOptions, Address, Engine, GivenSecret, Paths, ReceiveOptions, Receiver, ReceiverEvent, SendRequest, Target,
    Transfer,
};
use ringway_model::{AuthError, Compression, Delta, Fault, IoMode, Outcome, Source, TlsMode, TurnedAway};
use ringway_wire::RelPath;
use ringway_wire::control::{Cancel, Message, Offer, Refusal, Ticket, Totals};
use ringway_wire::lane::{Counts, FrameHeader, HeadBuffer};
use ringway_wire::pair::{Binding, Confirmation, EXPORTER_LABEL, Initiator, PakeMessage};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use mallory::{Mallory, dial_with, provider};
use offered::offered;

mod allowed;
mod beside;
mod confined;
mod consent;
#[path = "../../../../../tests/deadline.rs"]
mod deadline;
mod drops;
mod flood;
mod getting;
mod impostors;
mod keys;
mod listings;
mod lying;
mod mallory;
mod memory;
mod names;
mod notes;
#[path = "../crossing/offered.rs"]
mod offered;
mod pairing;
mod planned;
mod receivers;
mod requests;
mod shares;

const LONG: Duration = Duration::from_secs(30);
const CODE: &str = "7-river-camera";

struct Device {
    engine: Engine,
    folder: TempDir,
}

impl Device {
    fn new(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("in")).unwrap();
        let below = |name: &str| folder.path().join(name);
        let paths = Paths { config: below("config"), data: below("data"), state: below("state"), runtime: None };
        let engine = Engine::open(paths).unwrap();
        let mut settings = engine.settings();
        settings.name = name.into();
        engine.set_settings(settings).unwrap();
        Self { engine, folder }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    async fn receiver(&self) -> (Receiver, SocketAddr) {
        let options = ReceiveOptions {
            listen: "127.0.0.1:0".parse().unwrap(),
            destination: self.path("in"),
            code: Some(given(CODE)),
            pairing: true,
            announce: false,
            rule_folders: true,
            tls: TlsMode::Auto,
            io: IoMode::Auto,
        };
        let receiver = self.engine.receive(options).await.unwrap();
        let address = receiver.local_address();
        (receiver, address)
    }
}

fn at(address: impl ToString) -> Target {
    Target::Address(Address::parse(&address.to_string(), 0).unwrap())
}

fn given(code: &str) -> GivenSecret {
    GivenSecret::parse(code.as_bytes()).unwrap_or_else(|_| panic!("not a code: {code}"))
}

fn offer() -> Offer {
    Offer {
        transfer: [7; 16],
        names: vec![b"x".to_vec()],
        more_names: 0,
        so_far: Totals::default(),
        lanes: 1,
        prove: false,
        retry_s: 0,
        in_share: None,
    }
}

/// That the virtual clock has moved so far, but for what comes before and after the wait.
fn assert_about(waited: Duration, expected: Duration) {
    let around = expected - Duration::from_secs(5)..expected + Duration::from_secs(5);
    assert!(around.contains(&waited), "{waited:?}");
}

/// A connection that the other end gives up soon, whatever it said before.
async fn is_closed(channel: &mut mallory::Channel) -> bool {
    timeout(LONG, async { while channel.hear().await.is_some() {} }).await.is_ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_man_in_the_middle_who_relays_everything_learns_nothing() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let (mut receiver, lab_address) = lab.receiver().await;
    let (left, right) = (Mallory::new(), Mallory::new());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let middle = listener.local_addr().unwrap();

    let relaying = tokio::spawn(async move {
        let mut to_laptop = left.answer(&listener).await;
        let mut to_lab = right.dial(lab_address).await;
        let mut seen = Vec::new();
        loop {
            let message = tokio::select! {
                message = to_laptop.hear() => match message { Some(m) => { to_lab.say(&m).await; m }, None => break },
                message = to_lab.hear() => match message { Some(m) => { to_laptop.say(&m).await; m }, None => break },
            };
            seen.push(message);
        }
        seen
    });
    let refused = laptop.engine.pair(at(middle), given(CODE).to_pairing_secret()).await.unwrap_err();
    assert!(matches!(refused, Fault::Auth(AuthError::WrongCode)), "{refused:?}");
    let told = timeout(LONG, receiver.next_event()).await.unwrap().unwrap();
    assert!(
        matches!(told, ReceiverEvent::TurnedAway(TurnedAway { why: AuthError::WrongCode, attempts_left: Some(2), .. })),
        "{told:?}"
    );
    assert!(laptop.engine.devices().unwrap().is_empty(), "the sender trusts nobody");
    assert!(lab.engine.devices().unwrap().is_empty(), "the receiver trusts nobody");

    let seen = timeout(LONG, relaying).await.unwrap().unwrap();
    let confirmations = seen.iter().filter(|message| matches!(message, Message::PairConfirm(_))).count();
    assert_eq!(confirmations, 1, "the receiver's own confirmation never left it");
    let plain = format!("{seen:?}");
    assert!(!plain.contains("river") && !plain.contains("camera"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guesser_gets_three_attempts_however_they_are_spread() {
    let lab = Device::new("lab");
    let (_receiver, address) = lab.receiver().await;
    let mut verdicts = Vec::new();
    for attempt in 0..4 {
        let mallory = Mallory::new();
        let mut channel = mallory.dial(address).await;
        channel.hello(&format!("guest-{attempt}"), false).await;
        assert!(matches!(channel.hear().await, Some(Message::Hello(_))));
        let binding = Binding::new(mallory.id(), channel.peer_id(), channel.export(EXPORTER_LABEL)).unwrap();
        let guess = given("7-river-zebra").to_pairing_secret();
        let (_, start) = Initiator::start(&guess, binding, &[attempt + 1; 64]);
        channel.say(&Message::PairStart(start)).await;
        match channel.hear().await {
            Some(Message::PairReply(_)) => {
                channel.say(&Message::PairConfirm(Confirmation::from_slice(&[1; 32]).unwrap())).await;
                verdicts.push(channel.hear().await);
            }
            other => verdicts.push(other),
        }
    }
    let wrong = Some(Message::Refused(Refusal::WrongCode));
    assert_eq!(verdicts, [wrong.clone(), wrong.clone(), wrong, Some(Message::Refused(Refusal::NoCodeOpen))]);
}

#[tokio::test(flavor = "multi_thread")]
async fn junk_in_place_of_a_guess_costs_no_attempt() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let (_receiver, address) = lab.receiver().await;
    for guest in 2..7 {
        let mut channel = Mallory::new().dial_from(Ipv4Addr::new(127, 0, 0, guest), address).await;
        channel.hello("guest", false).await;
        channel.hear().await;
        channel.say(&Message::PairStart(PakeMessage::from_slice(&[b'A'; 33]).unwrap())).await;
        assert_eq!(channel.hear().await, Some(Message::Refused(Refusal::WrongCode)));
        assert!(is_closed(&mut channel).await);
    }
    laptop.engine.pair(at(address), given(CODE).to_pairing_secret()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reflected_pairing_message_is_refused() {
    let laptop = Device::new("laptop");
    let mallory = Mallory::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let middle = listener.local_addr().unwrap();
    let reflecting = tokio::spawn(async move {
        let mut channel = mallory.answer(&listener).await;
        channel.hear().await;
        channel.hello("lab", false).await;
        while let Some(message) = channel.hear().await {
            let reflected = match message {
                Message::PairStart(start) => Message::PairReply(start),
                other => other,
            };
            channel.say(&reflected).await;
        }
    });
    let refused = laptop.engine.pair(at(middle), given(CODE).to_pairing_secret()).await.unwrap_err();
    assert!(matches!(refused, Fault::Auth(AuthError::WrongCode)), "{refused:?}");
    assert!(laptop.engine.devices().unwrap().is_empty());
    timeout(LONG, reflecting).await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_cannot_offer_join_or_jump_states() {
    let lab = Device::new("lab");
    let (mut receiver, address) = lab.receiver().await;
    let mallory = Mallory::new();
    let ticket = Ticket([0; 32]);
    let openings: Vec<Vec<Message>> = vec![
        vec![Message::Offer(offer())],
        vec![Message::LaneJoin { transfer: [7; 16], lane: 0, connection: 0, ticket }],
        vec![Message::Ping],
        vec![Message::Paired],
        vec![Message::PairDone],
    ];
    for opening in openings {
        let mut channel = mallory.dial(address).await;
        for message in &opening {
            channel.say(message).await;
        }
        assert!(is_closed(&mut channel).await, "{opening:?}");
    }
    let mut channel = mallory.dial(address).await;
    channel.hello("guest", true).await;
    channel.hear().await;
    channel.say(&Message::Offer(offer())).await;
    assert_eq!(channel.hear().await, Some(Message::Refused(Refusal::NotPaired)));
    assert!(timeout(Duration::from_millis(200), receiver.next_event()).await.is_err(), "nobody was asked anything");
    assert_eq!(fs::read_dir(lab.path("in")).unwrap().count(), 0, "nothing was made");
}

#[tokio::test(flavor = "multi_thread")]
async fn junk_of_every_kind_ends_its_own_connection_only() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let (receiver, address) = lab.receiver().await;
    let mallory = Mallory::new();
    for junk in [&b""[..], b"GET / HTTP/1.1\r\n\r\n", &[0xff; 5000], &[22, 3, 1, 255, 255]] {
        let mut tcp = TcpStream::connect(address).await.unwrap();
        let _ = tcp.write_all(junk).await;
        let _ = tcp.shutdown().await;
        let mut rest = Vec::new();
        let _ = timeout(LONG, tcp.read_to_end(&mut rest)).await.expect("closed");
    }
    for frame in [&u32::MAX.to_le_bytes()[..], &[0, 0, 0, 0], &[1, 0, 0, 0, 255], &[2, 0, 0, 0, 1, 1], &[9, 0, 0, 0, 1]]
    {
        let mut channel = mallory.dial(address).await;
        channel.say_raw(frame).await;
        let _ = channel.stream.shutdown().await;
        assert!(is_closed(&mut channel).await, "{frame:?}");
    }
    fs::write(laptop.path("file"), "still works").unwrap();
    crossing_works(&laptop, receiver, address).await;
    assert_eq!(fs::read(lab.path("in/file")).unwrap(), b"still works");
}

/// Says yes to the first offer; its transfer, and the receiver, which lives on.
async fn accept_first(mut receiver: Receiver) -> (Transfer, Receiver) {
    loop {
        if let Some(ReceiverEvent::OfferReceived(offer)) = receiver.next_event().await {
            return (offer.accept(AcceptOptions::default()).await.unwrap(), receiver);
        }
    }
}

/// Sends the laptop's file; the receiver, which listens on.
async fn crossing_works(laptop: &Device, mut receiver: Receiver, address: SocketAddr) -> Receiver {
    let accepting = tokio::spawn(async move {
        while let Some(event) = receiver.next_event().await {
            if let ReceiverEvent::OfferReceived(offer) = event {
                let accepted = offer.accept(AcceptOptions::default()).await.unwrap();
                let report = timeout(LONG, accepted.wait()).await.unwrap();
                return (report, receiver);
            }
        }
        panic!("no offer came");
    });
    let what = vec![Source { path: laptop.path("file"), contents_only: false }];
    let mut request = SendRequest::new(what, at(address));
    // Who is paired needs none, and the receiver may have none open any more.
    request.options.code = laptop.engine.devices().unwrap().is_empty().then(|| given(CODE).to_pairing_secret());
    let report = timeout(LONG, laptop.engine.send(request).wait()).await.unwrap();
    assert!(matches!(report.outcome, Outcome::Complete), "{report:?}");
    let (report, receiver) = timeout(LONG, accepting).await.unwrap().unwrap();
    assert!(matches!(report.outcome, Outcome::Complete), "{report:?}");
    receiver
}

#[tokio::test(flavor = "multi_thread")]
async fn only_our_protocol_with_a_certificate_is_spoken() {
    let lab = Device::new("lab");
    let (_receiver, address) = lab.receiver().await;
    let mallory = Mallory::new();
    let mut other_protocol = mallory.client_config();
    other_protocol.alpn_protocols = vec![b"h2".to_vec()];
    assert!(hears_nothing(other_protocol, address).await, "another protocol");
    let mut no_protocol = mallory.client_config();
    no_protocol.alpn_protocols.clear();
    assert!(hears_nothing(no_protocol, address).await, "no protocol");
    let mut nameless = rustls::ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    nameless.dangerous().set_certificate_verifier(mallory::anyone());
    nameless.alpn_protocols = vec![ringway_wire::limits::ALPN.to_vec()];
    assert!(hears_nothing(nameless, address).await, "no certificate");
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_tls_1_3_with_post_quantum_keys_and_no_tickets() {
    let lab = Device::new("lab");
    let (_receiver, address) = lab.receiver().await;
    let mallory = Mallory::new();
    let mut channel = mallory.dial(address).await;
    channel.hello("guest", false).await;
    assert!(matches!(channel.hear().await, Some(Message::Hello(_))));
    let connection = channel.stream.get_ref().1;
    assert_eq!(connection.protocol_version(), Some(rustls::ProtocolVersion::TLSv1_3));
    let group = connection.negotiated_key_exchange_group().unwrap().name();
    assert_eq!(group, rustls::NamedGroup::X25519MLKEM768);
    let tokio_rustls::TlsStream::Client(client) = &channel.stream else { unreachable!("we dialled") };
    assert_eq!(client.get_ref().1.tls13_tickets_received(), 0);
    assert!(hears_nothing(mallory.client_config_for(&rustls::version::TLS12), address).await, "TLS 1.2");
}

async fn hears_nothing(config: rustls::ClientConfig, address: SocketAddr) -> bool {
    match dial_with(config, address).await {
        Err(_) => true,
        Ok(mut channel) => {
            channel.hello("guest", false).await;
            channel.hear().await.is_none()
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lanes_connections_come_in_order_each_once_and_one_at_a_time() {
    let lab = Device::new("lab");
    let (receiver, address) = lab.receiver().await;
    let accepting = tokio::spawn(accept_first(receiver));
    let mallory = Mallory::new();
    let mut inside = mallory.let_in(address, "guest", CODE, &offer()).await;
    let (transfer, _receiver) = timeout(LONG, accepting).await.unwrap().unwrap();
    let exporter = inside.exporter;
    let joins = |lane, connection| mallory.joins(exporter, address, lane, connection);
    assert!(joins(0, 1).await.is_none(), "the second before the first");
    assert!(joins(1, 0).await.is_none(), "a lane that was not accepted");
    assert!(joins(255, 0).await.is_none(), "nor that");
    let mut first = joins(0, 0).await.expect("the first");
    assert!(joins(0, 0).await.is_none(), "the first again");
    assert!(joins(0, 2).await.is_none(), "the third before the second");
    let mut second = joins(0, 1).await.expect("the second may wait");
    assert!(joins(0, 1).await.is_none(), "the second again");
    // Only one waits inside: the third is before the door, and nobody may stand behind it.
    let third = joins(0, 2);
    tokio::pin!(third);
    assert!(timeout(Duration::from_millis(300), &mut third).await.is_err(), "no room yet");
    assert!(joins(0, 3).await.is_none(), "the fourth before the third is in");
    // The first says that the lane goes on, which lets the third in; it ends the lane.
    first.say_raw(&FrameHeader::RENEW.encode()).await;
    let mut third = timeout(LONG, third).await.unwrap().expect("its turn");
    second.say_raw(&FrameHeader::RENEW.encode()).await;
    third.say_raw(&FrameHeader::END.encode()).await;
    inside.session.say(&Message::Finish { sent: Counts::default(), failed: 0, lanes: 1 }).await;
    let report = timeout(LONG, transfer.wait()).await.unwrap();
    assert!(matches!(report.outcome, Outcome::Complete), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn lanes_that_came_besides_those_declared_are_waited_for() {
    let lab = Device::new("lab");
    let (receiver, address) = lab.receiver().await;
    let accepting = tokio::spawn(accept_first(receiver));
    let mallory = Mallory::new();
    let offered = Offer { names: vec![b"photos".to_vec()], lanes: 2, ..offer() };
    let mut inside = mallory.let_in(address, "guest", CODE, &offered).await;
    let (transfer, _receiver) = timeout(LONG, accepting).await.unwrap().unwrap();
    let mut first = mallory.joins(inside.exporter, address, 0, 0).await.unwrap();
    let mut second = mallory.joins(inside.exporter, address, 1, 0).await.unwrap();
    let brought = b"brought";
    second.say_raw(&consent::photo(b"a", brought)).await;
    let arrives = async {
        while transfer.progress().bytes_done == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(LONG, arrives).await.unwrap();
    first.say_raw(&FrameHeader::END.encode()).await;
    let sent = Counts { files: 1, bytes: brought.len() as u64, ..Counts::default() };
    inside.session.say(&Message::Finish { sent, failed: 0, lanes: 1 }).await;
    assert!(timeout(Duration::from_millis(300), transfer.wait()).await.is_err(), "the second may still write");
    second.say_raw(&FrameHeader::END.encode()).await;
    let report = timeout(LONG, transfer.wait()).await.unwrap();
    assert!(matches!(report.outcome, Outcome::Complete), "{report:?}");
    assert_eq!(report.lanes, 2);
}

/// Waits until a transfer has so many lanes.
async fn are_running(transfer: &Transfer, lanes: u8) {
    let counted = async {
        while transfer.progress().lanes != lanes {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(LONG, counted).await.unwrap();
}

/// A batch that names the destination and has nothing for it.
fn frame_without_effect() -> Vec<u8> {
    let mut head = HeadBuffer::default();
    head.folder(RelPath::ROOT);
    [&head.batch_header(0).encode()[..], head.as_bytes()].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn lanes_that_have_brought_nothing_are_neither_missed_nor_waited_for() {
    let lab = Device::new("lab");
    let (receiver, address) = lab.receiver().await;
    let accepting = tokio::spawn(accept_first(receiver));
    let mallory = Mallory::new();
    let mut inside = mallory.let_in(address, "guest", CODE, &Offer { lanes: 4, ..offer() }).await;
    let (transfer, _receiver) = timeout(LONG, accepting).await.unwrap().unwrap();
    let mut lanes = Vec::new();
    for number in 0..4 {
        lanes.push(mallory.joins(inside.exporter, address, number, 0).await.unwrap());
    }
    are_running(&transfer, 4).await;
    // The last breaks within a frame, the one before at once, and one stays and is silent.
    let frame = frame_without_effect();
    lanes.pop().unwrap().say_raw(&frame[..frame.len() - 1]).await;
    drop(lanes.pop());
    are_running(&transfer, 2).await;
    lanes[0].say_raw(&frame).await;
    lanes[0].say_raw(&FrameHeader::END.encode()).await;
    inside.session.say(&Message::Finish { sent: Counts::default(), failed: 0, lanes: 1 }).await;
    let report = timeout(LONG, transfer.wait()).await.unwrap();
    assert!(matches!(report.outcome, Outcome::Complete), "{report:?}");
    assert_eq!((report.lanes, report.lanes_dropped), (1, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lane_that_breaks_when_it_has_brought_something_or_alone_ends_the_transfer() {
    for alone in [false, true] {
        let lab = Device::new("lab");
        let (receiver, address) = lab.receiver().await;
        let accepting = tokio::spawn(accept_first(receiver));
        let mallory = Mallory::new();
        let inside = mallory.let_in(address, "guest", CODE, &Offer { lanes: 2, ..offer() }).await;
        let (transfer, _receiver) = timeout(LONG, accepting).await.unwrap().unwrap();
        let mut first = mallory.joins(inside.exporter, address, 0, 0).await.unwrap();
        let second = mallory.joins(inside.exporter, address, 1, 0).await.unwrap();
        are_running(&transfer, 2).await;
        if alone {
            drop(second);
            are_running(&transfer, 1).await;
        } else {
            first.say_raw(&frame_without_effect()).await;
        }
        drop(first);
        let report = timeout(LONG, transfer.wait()).await.unwrap();
        assert!(matches!(report.outcome, Outcome::Failed(Fault::ConnectionLost(_))), "{report:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lane_that_was_dropped_here_and_counts_there_is_told_of_soon() {
    let lab = Device::new("lab");
    let (receiver, address) = lab.receiver().await;
    let accepting = tokio::spawn(accept_first(receiver));
    let mallory = Mallory::new();
    let mut inside = mallory.let_in(address, "guest", CODE, &Offer { lanes: 2, ..offer() }).await;
    let (transfer, _receiver) = timeout(LONG, accepting).await.unwrap().unwrap();
    let mut whole = mallory.joins(inside.exporter, address, 0, 0).await.unwrap();
    drop(mallory.joins(inside.exporter, address, 1, 0).await.unwrap());
    are_running(&transfer, 1).await;
    whole.say_raw(&FrameHeader::END.encode()).await;
    inside.session.say(&Message::Finish { sent: Counts::default(), failed: 0, lanes: 2 }).await;
    let said = async { while !matches!(inside.session.hear().await, Some(Message::Cancel(Cancel::ConnectionLost))) {} };
    timeout(Duration::from_secs(10), said).await.expect("long before a lane is given up that may still come");
    let report = timeout(LONG, transfer.wait()).await.unwrap();
    assert!(matches!(report.outcome, Outcome::Failed(Fault::ConnectionLost(_))), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lane_that_says_it_goes_on_and_does_not_is_ended_by_its_session() {
    let lab = Device::new("lab");
    let (receiver, address) = lab.receiver().await;
    let accepting = tokio::spawn(accept_first(receiver));
    let mallory = Mallory::new();
    let inside = mallory.let_in(address, "guest", CODE, &offer()).await;
    let (transfer, _receiver) = timeout(LONG, accepting).await.unwrap().unwrap();
    let mut lane = mallory.joins(inside.exporter, address, 0, 0).await.unwrap();
    lane.say_raw(&FrameHeader::RENEW.encode()).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    // Gone, without a word: what waits for the lane's next connection is not waited for.
    drop((inside, lane));
    let report = timeout(Duration::from_secs(10), transfer.wait()).await.expect("at once");
    assert!(matches!(report.outcome, Outcome::Failed(_)), "{report:?}");
    assert_eq!(fs::read_dir(lab.path("in")).map_or(0, Iterator::count), 0, "nothing is left");
}
