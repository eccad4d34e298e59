//! Codes, keys and names under attack: what a code proves, who learns whose key, and what a
//! stranger can find out.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ringway_engine::{LastStarted, SendRequest};
use ringway_model::{DeclineReason, DeviceId, PastQuery, Report, TurnedAway};
use ringway_wire::DeviceName;
use ringway_wire::announcement::Fingerprint;
use ringway_wire::control::{Greeting, Hello};
use ringway_wire::pair::{ENTROPY_LEN, Responder};
use ringway_wire::session::{Event, Machine};

use super::*;

async fn listening() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    (listener, address)
}

fn request(laptop: &Device, target: &str, code: Option<&str>) -> SendRequest {
    let what = vec![Source { path: laptop.path("file"), contents_only: false }];
    let mut request = SendRequest::new(what, laptop.engine.resolve(target).unwrap());
    request.options.code = code.map(|code| given(code).to_pairing_secret());
    request.options.compression = Compression::Off;
    request
}

async fn send(laptop: &Device, target: &str, code: Option<&str>) -> Arc<Report> {
    fs::write(laptop.path("file"), "for nas alone").unwrap();
    timeout(LONG, laptop.engine.send(request(laptop, target, code)).wait()).await.expect("it ends")
}

fn refused(report: &Report) -> &AuthError {
    match &report.outcome {
        Outcome::Failed(Fault::Auth(error)) => error,
        other => panic!("{other:?}"),
    }
}

/// Answers one connection as a receiver that claims to know the caller; returns what it heard.
async fn answers_as_known(mallory: &Mallory, listener: &TcpListener, name: &str) -> Vec<Message> {
    let Ok(mut channel) = mallory.answer_as(mallory.server_config(), listener).await else { return Vec::new() };
    let mut heard = Vec::new();
    channel.hello(name, true).await;
    while let Ok(Some(message)) = timeout(LONG, channel.hear()).await {
        if let Message::PairStart(_) = message {
            channel.say(&Message::Refused(Refusal::NoCodeOpen)).await;
        }
        if let Message::Offer(_) = message {
            channel.say(&Message::Decline(DeclineReason::ByChoice)).await;
        }
        heard.push(message);
    }
    heard
}

/// Pairs the laptop with Mallory, who calls himself `name` there.
async fn pair_with(laptop: &Device, mallory: &Mallory, name: &str) {
    let (listener, address) = listening().await;
    let pairing = laptop.engine.pair(at(&address), given(CODE).to_pairing_secret());
    let answering = async {
        let mut session = mallory.answer(&listener).await;
        let exporter = session.export(EXPORTER_LABEL);
        let mut machine = Machine::listen(Greeting { name: DeviceName::new(name).unwrap() }, 0);
        loop {
            while let Some(bytes) = machine.poll_transmit() {
                session.say_raw(&bytes).await;
            }
            match machine.poll_event() {
                Some(Event::HelloReceived { .. }) => machine.welcome(false, true),
                Some(Event::PairingStarted) => {
                    let binding = Binding::new(session.peer_id(), mallory.id(), exporter).unwrap();
                    machine.pair(&given(CODE).to_pairing_secret(), binding, &[9; ENTROPY_LEN]);
                }
                Some(Event::CodeProven) => machine.confirm(),
                Some(Event::PairingConcluded) => machine.paired(),
                Some(_) => {}
                None => match session.hear().await {
                    Some(message) => machine.handle_message(message, 0).unwrap(),
                    None => return,
                },
            }
        }
    };
    let (paired, ()) = timeout(LONG, async { tokio::join!(pairing, answering) }).await.unwrap();
    assert_eq!(paired.unwrap().id, DeviceId(mallory.id()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_is_proven_by_a_paired_device_too() {
    let laptop = Device::new("laptop");
    let mallory = Mallory::new();
    pair_with(&laptop, &mallory, "mallory").await;
    // Mallory has announced the number of nas's code, say, and the laptop goes to his address with
    // nas's code.
    let (listener, address) = listening().await;
    let (heard, report) = tokio::join!(
        answers_as_known(&mallory, &listener, "mallory"),
        send(&laptop, &address, Some("42-river-castle"))
    );
    assert_eq!(refused(&report), &AuthError::NoCodeOpen, "he cannot prove it");
    assert!(!heard.iter().any(|message| matches!(message, Message::Offer(_))), "nothing was offered: {heard:?}");
    assert!(heard.iter().any(|message| matches!(message, Message::PairStart(_))), "he was asked to prove it");
    let (_, paired) = tokio::join!(
        answers_as_known(&mallory, &listener, "mallory"),
        laptop.engine.pair(at(&address), given("42-river-castle").to_pairing_secret())
    );
    assert!(matches!(paired, Err(Fault::Auth(AuthError::NoCodeOpen))), "{paired:?}");
}

/// What a sender is told where a device was reached last and mallory, who is paired, answers now.
fn mallory_instead_of(device: &Device, last: &str, found: DeviceId) -> AuthError {
    let last_id = device.engine.this_device().id;
    AuthError::Unconfirmed { last: last.into(), last_id, name: "mallory".into(), found }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_code_another_paired_device_at_a_known_address_is_asked_about() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("nas"));
    let mallory = Mallory::new();
    pair_with(&laptop, &mallory, "mallory").await;
    let (mut receiver, address) = lab.receiver().await;
    laptop.engine.pair(at(address), given(CODE).to_pairing_secret()).await.unwrap();
    receiver.stop().await;
    drop(receiver);
    let listener = takes_over(address).await;
    let port = address.port();
    let address = address.to_string();
    let (heard, report) = tokio::join!(answers_as_known(&mallory, &listener, "mallory"), send(&laptop, &address, None));
    let found = DeviceId(mallory.id());
    let asked = mallory_instead_of(&lab, "nas", found);
    assert_eq!(refused(&report), &asked);
    assert_eq!(heard, [], "nothing was said before a person was asked");
    for spelt in [format!("LOCALHOST:{port}"), format!("[::ffff:127.0.0.1]:{port}")] {
        let (heard, report) =
            tokio::join!(answers_as_known(&mallory, &listener, "mallory"), send(&laptop, &spelt, None));
        assert_eq!((refused(&report), heard), (&asked, vec![]), "{spelt}");
    }
    // A person says that it is meant: nobody else is sent it there then, and it is not asked again.
    let Target::Address(at) = laptop.engine.resolve(&address).unwrap() else { panic!("an address") };
    let confirmed =
        |id| SendRequest { target: Target::DeviceAt { id, at: at.clone() }, ..request(&laptop, &address, None) };
    let sending = laptop.engine.send(confirmed(found));
    let (heard, report) = tokio::join!(answers_as_known(&mallory, &listener, "mallory"), sending.wait());
    assert!(heard.iter().any(|message| matches!(message, Message::Offer(_))), "{heard:?} {report:?}");
    let lab_id = lab.engine.this_device().id;
    let sending = laptop.engine.send(confirmed(lab_id));
    let (heard, report) = tokio::join!(answers_as_known(&mallory, &listener, "mallory"), sending.wait());
    assert!(matches!(refused(&report), AuthError::IdentityChanged { .. }));
    assert_eq!(heard, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_code_another_paired_device_where_one_was_reached_by_its_name_is_asked_about() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("nas"));
    let mallory = Mallory::new();
    pair_with(&laptop, &mallory, "mallory").await;
    let (receiver, address) = lab.receiver().await;
    laptop.engine.pair(at(address), given(CODE).to_pairing_secret()).await.unwrap();
    // As if nas had told where it is, by calling from there.
    rusqlite::Connection::open(laptop.path("data/ringway.db")).unwrap().execute("DELETE FROM reached", []).unwrap();
    let (report, (_, mut receiver)) = tokio::join!(send(&laptop, "nas", None), accept_first(receiver));
    assert!(matches!(report.outcome, Outcome::Complete), "{report:?}");
    receiver.stop().await;
    drop(receiver);
    let listener = takes_over(address).await;
    let typed = address.to_string();
    let (heard, report) = tokio::join!(answers_as_known(&mallory, &listener, "mallory"), send(&laptop, &typed, None));
    let found = DeviceId(mallory.id());
    assert_eq!(refused(&report), &mallory_instead_of(&lab, "nas", found));
    assert_eq!(heard, [], "nothing was said before a person was asked");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_announced_receiver_that_was_paired_since_proves_the_code() {
    let laptop = Device::new("laptop");
    let mallory = Mallory::new();
    let (listener, address) = listening().await;
    let target = Target::Announced { at: address.parse().unwrap(), fingerprint: Fingerprint::of(&mallory.id()) };
    // Another program of this device pairs, between the moment that the card is shown and the
    // click.
    pair_with(&laptop, &mallory, "mallory").await;
    fs::write(laptop.path("file"), "for nas alone").unwrap();
    let request = |code| SendRequest { target: target.clone(), ..request(&laptop, &address, code) };
    let sending = laptop.engine.send(request(None));
    let (heard, report) = tokio::join!(answers_as_known(&mallory, &listener, "mallory"), sending.wait());
    assert_eq!(refused(&report), &AuthError::PairingNeeded { peer_name: "mallory".into() });
    assert_eq!(heard, [], "nothing was said before a person was asked");
    let sending = laptop.engine.send(request(Some(CODE)));
    let (heard, report) = tokio::join!(answers_as_known(&mallory, &listener, "mallory"), sending.wait());
    assert_eq!(refused(&report), &AuthError::NoCodeOpen);
    assert!(!heard.iter().any(|message| matches!(message, Message::Offer(_))), "{heard:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_that_calls_is_not_taken_for_one_that_was_reached() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("nas"));
    let mallory = Mallory::new();
    pair_with(&laptop, &mallory, "mallory").await;
    let (mut receiver, address) = lab.receiver().await;
    laptop.engine.pair(at(address), given(CODE).to_pairing_secret()).await.unwrap();
    receiver.stop().await;
    drop(receiver);
    let (_open, laptops) = laptop.receiver().await;
    let mut channel = mallory.dial(laptops).await;
    channel.hello("mallory", true).await;
    assert!(matches!(channel.hear().await, Some(Message::Hello(Hello { known: true, .. }))));
    let found = DeviceId(mallory.id());
    let (listener, typed) = (takes_over(address).await, address.to_string());
    let (heard, report) = tokio::join!(answers_as_known(&mallory, &listener, "mallory"), send(&laptop, &typed, None));
    assert_eq!(refused(&report), &mallory_instead_of(&lab, "nas", found));
    assert_eq!(heard, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_paired_by_an_address_is_sent_to_there_without_a_question() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("nas"));
    let (receiver, address) = lab.receiver().await;
    let port = address.port();
    laptop.engine.pair(at(format!("localhost:{port}")), given(CODE).to_pairing_secret()).await.unwrap();
    let mut receiver = receiver;
    for spelt in [format!("localhost:{port}"), address.to_string()] {
        let (report, (transfer, still)) = tokio::join!(send(&laptop, &spelt, None), accept_first(receiver));
        assert!(matches!(report.outcome, Outcome::Complete), "{spelt}: {report:?}");
        transfer.wait().await;
        receiver = still;
    }
}

/// Listens where somebody else has just stopped to.
async fn takes_over(address: SocketAddr) -> TcpListener {
    timeout(LONG, async {
        loop {
            match TcpListener::bind(address).await {
                Ok(listener) => return listener,
                Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    })
    .await
    .expect("the port becomes free")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_code_at_a_known_devices_address_pairs_and_sends_nothing() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let (mut receiver, address) = lab.receiver().await;
    let address = address.to_string();
    laptop.engine.pair(at(&address), given(CODE).to_pairing_secret()).await.unwrap();
    receiver.renew_code().unwrap();
    let paired = laptop.engine.pair(at(&address), given("7-river-zebra").to_pairing_secret()).await;
    assert!(matches!(paired, Err(Fault::Auth(AuthError::WrongCode))), "{paired:?}");
    let report = send(&laptop, &address, Some("7-river-zebra")).await;
    assert_eq!(refused(&report), &AuthError::WrongCode);
    loop {
        match timeout(LONG, receiver.next_event()).await.unwrap().unwrap() {
            ReceiverEvent::TurnedAway(TurnedAway { attempts_left: Some(1), .. }) => break,
            ReceiverEvent::OfferReceived(_) => panic!("something was offered"),
            _ => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_known_device_proves_the_right_code_and_receives() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let (receiver, address) = lab.receiver().await;
    let address = address.to_string();
    laptop.engine.pair(at(&address), given(CODE).to_pairing_secret()).await.unwrap();
    receiver.renew_code().unwrap();
    let code = receiver.code().unwrap().text.unwrap();
    let (report, (transfer, _receiver)) = tokio::join!(send(&laptop, &address, Some(&code)), accept_first(receiver));
    assert!(matches!(report.outcome, Outcome::Complete), "{report:?}");
    assert!(matches!(transfer.wait().await.outcome, Outcome::Complete));
    assert_eq!(lab.engine.devices().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standing_secret_is_not_needed_where_the_name_fixes_the_key() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let (receiver, address) = lab.receiver().await;
    laptop.engine.pair(at(address), given(CODE).to_pairing_secret()).await.unwrap();
    assert!(receiver.code().is_none(), "the code has been used");
    let standing = Some("a long standing secret of ours");
    let report = send(&laptop, &address.to_string(), standing).await;
    assert_eq!(refused(&report), &AuthError::NoCodeOpen, "an address fixes nothing");
    let report = send(&laptop, "lab", Some("7-river-camera")).await;
    assert_eq!(refused(&report), &AuthError::NoCodeOpen, "a code that a person typed is not ignored");
    let (report, _) = tokio::join!(send(&laptop, "lab", standing), accept_first(receiver));
    assert!(matches!(report.outcome, Outcome::Complete), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_asked_to_pair_proves_a_standing_secret_too() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let standing = "a long standing secret of ours";
    let (receiver, address) = lab.receiver().await;
    laptop.engine.pair(at(address), given(CODE).to_pairing_secret()).await.unwrap();
    let pairs = |secret: &str| {
        let (secret, lab) = (given(secret).to_pairing_secret(), lab.engine.this_device().id);
        laptop.engine.pair(Target::Device(lab), secret)
    };
    let paired = pairs(standing).await;
    assert!(matches!(paired, Err(Fault::Auth(AuthError::NoCodeOpen))), "{paired:?}");
    receiver.renew_code().unwrap();
    let paired = pairs(standing).await;
    assert!(matches!(paired, Err(Fault::Auth(AuthError::WrongCode))), "{paired:?}");
    let code = receiver.code().unwrap().text.unwrap();
    assert_eq!(pairs(&code).await.unwrap().name, "lab");
}

#[tokio::test(flavor = "multi_thread")]
async fn busy_after_the_confirmation_is_a_failed_attempt() {
    let laptop = Device::new("laptop");
    let mallory = Mallory::new();
    for attempt in 1..=6 {
        let (listener, address) = listening().await;
        let taking_it = async {
            let mut channel = mallory.answer(&listener).await;
            channel.hear().await;
            channel.hello("nas", false).await;
            let Some(Message::PairStart(start)) = channel.hear().await else { panic!("no pairing") };
            let binding = Binding::new(channel.peer_id(), mallory.id(), channel.export(EXPORTER_LABEL)).unwrap();
            let guess = given("7-river-zebra").to_pairing_secret();
            let (_, reply) = Responder::answer(&guess, binding, &start, &[attempt; ENTROPY_LEN]).unwrap();
            channel.say(&Message::PairReply(reply)).await;
            assert!(matches!(channel.hear().await, Some(Message::PairConfirm(_))), "one guess");
            channel.say(&Message::Refused(Refusal::PairingBusy(1))).await;
            channel.hear().await
        };
        let (report, _) = tokio::join!(send(&laptop, &address, Some(CODE)), taking_it);
        assert_eq!(refused(&report), &AuthError::WrongCode, "nobody tries that code again by itself");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_is_cut_after_the_confirmation_is_not_retried_with_the_same_code() {
    let laptop = Device::new("laptop");
    let mallory = Mallory::new();
    for pairs_only in [true, false] {
        let (listener, address) = listening().await;
        let taking_it = async {
            let mut channel = mallory.answer(&listener).await;
            channel.hear().await;
            channel.hello("nas", false).await;
            let Some(Message::PairStart(start)) = channel.hear().await else { panic!("no pairing") };
            let binding = Binding::new(channel.peer_id(), mallory.id(), channel.export(EXPORTER_LABEL)).unwrap();
            let guess = given("7-river-zebra").to_pairing_secret();
            let (_, reply) = Responder::answer(&guess, binding, &start, &[3; ENTROPY_LEN]).unwrap();
            channel.say(&Message::PairReply(reply)).await;
            assert!(matches!(channel.hear().await, Some(Message::PairConfirm(_))), "one guess");
            // The connection is cut here; who comes again would bring another guess.
            drop(channel);
            let again = mallory.answer(&listener).await;
            drop(again);
        };
        let ends = async {
            if pairs_only {
                laptop.engine.pair(at(&address), given(CODE).to_pairing_secret()).await.unwrap_err()
            } else {
                fs::write(laptop.path("file"), "for nas alone").unwrap();
                let mut request = request(&laptop, &address, Some(CODE));
                request.options.retry = Some(Duration::from_secs(20));
                let report = laptop.engine.send(request).wait().await;
                match &report.outcome {
                    Outcome::Failed(Fault::ConnectionLost(error)) => Fault::ConnectionLost(error.kind().into()),
                    other => panic!("{other:?}"),
                }
            }
        };
        let ended = timeout(LONG, async {
            tokio::select! {
                () = taking_it => panic!("it came again"),
                error = ends => error,
            }
        });
        let error = ended.await.expect("it ends by itself");
        assert!(matches!(error, Fault::ConnectionLost(_)), "{error:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_impostor_at_a_known_devices_address_does_not_see_who_calls() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let (mut receiver, address) = lab.receiver().await;
    let known = laptop.engine.pair(at(address), given(CODE).to_pairing_secret()).await.unwrap();
    receiver.stop().await;
    drop(receiver);
    let listener = takes_over(address).await;
    let mallory = Mallory::new();
    let seen = Arc::new(AtomicBool::new(false));
    let config = mallory.server_config_that_notes(&seen);
    let answering = async { mallory.answer_as(config, &listener).await.is_ok() };
    let (report, answered) = tokio::join!(send(&laptop, "lab", None), answering);
    let expected = AuthError::IdentityChanged { name: "lab".into(), expected: known.id, found: DeviceId(mallory.id()) };
    assert_eq!(refused(&report), &expected);
    assert!(!answered, "the handshake came to nothing");
    assert!(!seen.load(Ordering::SeqCst), "no certificate of the laptop was shown");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_at_the_address_of_a_known_device_does_not_learn_who_calls() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let (mut receiver, address) = lab.receiver().await;
    let known = laptop.engine.pair(at(address), given(CODE).to_pairing_secret()).await.unwrap();
    receiver.stop().await;
    drop(receiver);
    let listener = takes_over(address).await;
    let mallory = Mallory::new();
    let found = DeviceId(mallory.id());
    let changed = AuthError::IdentityChanged { name: "lab".into(), expected: known.id, found };
    let asked = mallory_instead_of(&lab, "lab", found);
    for (expected, pairs) in [(changed, true), (asked, false)] {
        for spelt in [address.to_string(), format!("localhost:{}", address.port())] {
            let seen = Arc::new(AtomicBool::new(false));
            let config = mallory.server_config_that_notes(&seen);
            let answering = async { mallory.answer_as(config, &listener).await.is_ok() };
            let (report, answered) = tokio::join!(send(&laptop, &spelt, None), answering);
            assert_eq!(refused(&report), &expected, "{spelt}");
            assert!(!answered && !seen.load(Ordering::SeqCst), "{spelt}: no certificate of the laptop was shown");
        }
        if pairs {
            pair_with(&laptop, &mallory, "mallory").await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_learn_no_names_of_paired_devices() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let (mut receiver, address) = lab.receiver().await;
    laptop.engine.pair(at(address), given(CODE).to_pairing_secret()).await.unwrap();
    receiver.renew_code().unwrap();
    while !matches!(receiver.next_event().await, Some(ReceiverEvent::CodeChanged)) {}
    let mut answers = Vec::new();
    for (number, name) in ["laptop", "nobody"].into_iter().enumerate() {
        let mallory = Mallory::new();
        let mut channel = mallory.dial(address).await;
        channel.hello(name, false).await;
        let mut heard = vec![channel.hear().await];
        let binding = Binding::new(mallory.id(), channel.peer_id(), channel.export(EXPORTER_LABEL)).unwrap();
        let guess = given("7-river-zebra").to_pairing_secret();
        let (_, start) = Initiator::start(&guess, binding, &[number as u8 + 1; 64]);
        channel.say(&Message::PairStart(start)).await;
        heard.push(channel.hear().await.map(|message| match message {
            // Its point is another one each time.
            Message::PairReply(_) => Message::Ping,
            other => other,
        }));
        channel.say(&Message::PairConfirm(Confirmation::from_slice(&[1; 32]).unwrap())).await;
        heard.push(channel.hear().await);
        answers.push(heard);
    }
    assert!(matches!(&answers[0][0], Some(Message::Hello(Hello { known: false, .. }))), "{answers:?}");
    assert_eq!(answers[0], answers[1], "a name that is known there is answered as any other");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_who_is_dialled_learns_no_names_either() {
    let laptop = Device::new("laptop");
    let friend = Mallory::new();
    pair_with(&laptop, &friend, "nas").await;
    let stranger = Mallory::new();
    let mut unasked = Vec::new();
    for name in ["nas", "nobody"] {
        let (listener, address) = listening().await;
        let answering = async {
            let mut channel = stranger.answer(&listener).await;
            let hello = channel.hear().await;
            channel.hello(name, false).await;
            (hello, channel.hear().await)
        };
        let (heard, report) = tokio::join!(answering, send(&laptop, &address, None));
        assert_eq!(refused(&report), &AuthError::PairingNeeded { peer_name: name.into() });
        unasked.push(heard);
    }
    assert_eq!(unasked[0], unasked[1], "without a code the sender asks for one, whatever the receiver calls itself");
    let mut answers = Vec::new();
    for name in ["nas", "nobody"] {
        let (listener, address) = listening().await;
        let pairing = laptop.engine.pair(at(&address), given(CODE).to_pairing_secret());
        let (heard, paired) = tokio::join!(
            async {
                let mut channel = stranger.answer(&listener).await;
                channel.hear().await;
                channel.hello(name, false).await;
                let Some(Message::PairStart(start)) = channel.hear().await else { return false };
                let binding = Binding::new(channel.peer_id(), stranger.id(), channel.export(EXPORTER_LABEL)).unwrap();
                let guess = given("7-river-zebra").to_pairing_secret();
                let (_, reply) = Responder::answer(&guess, binding, &start, &[3; ENTROPY_LEN]).unwrap();
                channel.say(&Message::PairReply(reply)).await;
                matches!(channel.hear().await, Some(Message::PairConfirm(_)))
            },
            pairing
        );
        assert!(paired.is_err());
        answers.push(heard);
    }
    assert_eq!(answers, [true, true], "whatever it calls itself, it has to prove the code first");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_is_taken_becomes_an_alias_once_the_code_was_proven() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let (receiver, address) = lab.receiver().await;
    laptop.engine.pair(at(address), given(CODE).to_pairing_secret()).await.unwrap();
    receiver.renew_code().unwrap();
    let code = receiver.code().unwrap().text.unwrap();
    let other = Device::new("Laptop");
    other.engine.pair(at(address), given(&code).to_pairing_secret()).await.unwrap();
    let devices = lab.engine.devices().unwrap();
    assert_eq!(devices.len(), 2);
    let first = devices.iter().find(|device| device.id == laptop.engine.this_device().id).unwrap();
    let second = devices.iter().find(|device| device.id == other.engine.this_device().id).unwrap();
    assert_eq!(first.name, "laptop", "who was there keeps its name");
    assert!(second.name.to_lowercase().starts_with("laptop") && second.name.len() > 6, "{}", second.name);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_ip_address_of_a_connection_from_a_device_is_noted() {
    let lab = Device::new("lab");
    let (receiver, address) = lab.receiver().await;
    let mallory = Mallory::new();
    let mut inside = mallory.offers(address, "mallory", Some(CODE), &offer()).await;
    let mut channel = mallory.dial(address).await;
    let name = DeviceName::new("mallory").unwrap();
    let hello = Hello { version: ringway_wire::limits::VERSION, name, known: true, pairing: false };
    channel.say(&Message::Hello(hello)).await;
    assert!(matches!(channel.hear().await, Some(Message::Hello(_))));
    let known = lab.engine.devices().unwrap();
    assert_eq!(known[0].last_address.as_deref(), Some("127.0.0.1"), "where it came from, and nothing that it says");
    inside.session.stream.shutdown().await.unwrap();
    drop(receiver);
}

/// One wrong code, from an address of its own; what the receiver says to it.
async fn guesses(number: u8, to: SocketAddr) -> Option<Message> {
    let mallory = Mallory::new();
    let mut channel = mallory.dial_from(Ipv4Addr::new(127, 0, 1, number), to).await;
    channel.hello("guest", false).await;
    channel.hear().await;
    let binding = Binding::new(mallory.id(), channel.peer_id(), channel.export(EXPORTER_LABEL)).unwrap();
    let guess = given("7-river-zebra").to_pairing_secret();
    let (_, start) = Initiator::start(&guess, binding, &[number; 64]);
    channel.say(&Message::PairStart(start)).await;
    match channel.hear().await {
        Some(Message::PairReply(_)) => {
            channel.say(&Message::PairConfirm(Confirmation::from_slice(&[1; 32]).unwrap())).await;
            channel.hear().await
        }
        refused => refused,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn guesses_are_counted_over_all_codes_that_expire() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let (mut receiver, address) = lab.receiver().await;
    let mut told = 0;
    let mut opened = true;
    // Two guesses at each code, which then runs out: none is ever burnt.
    for code in 0..100 {
        for guess in 0..2 {
            let heard = timeout(LONG, guesses(code * 2 + guess + 1, address)).await.unwrap();
            assert_eq!(heard, Some(Message::Refused(Refusal::WrongCode)));
            told += 1;
            while !matches!(
                timeout(LONG, receiver.next_event()).await.unwrap(),
                Some(ReceiverEvent::TurnedAway(TurnedAway { why: AuthError::WrongCode, .. }))
            ) {}
        }
        receiver.shorten_code(Duration::ZERO);
        assert!(receiver.code().is_none());
        opened = receiver.replace_code().unwrap();
        if !opened {
            break;
        }
    }
    assert!(!opened, "there is an end to it");
    assert!(told <= ringway_engine::limits::WRONG_ATTEMPTS_OF_ALL_CODES_MAX, "{told}");
    assert!(!receiver.replace_code().unwrap(), "however long it waits");
    assert_eq!(guesses(250, address).await, Some(Message::Refused(Refusal::NoCodeOpen)));
    receiver.renew_code().unwrap();
    let code = receiver.code().expect("a person asked").text.unwrap();
    laptop.engine.pair(at(address), given(&code).to_pairing_secret()).await.unwrap();
    assert!(receiver.replace_code().unwrap(), "they are counted anew");
}

/// Attempts to pair with the right code, and has `ends` end the code before the message that it
/// names; what the receiver says then.
async fn pairs_late(before: &str, ends: impl AsyncFnOnce(&mut Receiver)) -> (Option<Message>, usize) {
    let lab = Device::new("lab");
    let (mut receiver, address) = lab.receiver().await;
    let mallory = Mallory::new();
    let mut channel = mallory.dial(address).await;
    channel.hello("guest", false).await;
    channel.hear().await;
    let binding = Binding::new(mallory.id(), channel.peer_id(), channel.export(EXPORTER_LABEL)).unwrap();
    let (pairing, start) = Initiator::start(&given(CODE).to_pairing_secret(), binding, &[3; ENTROPY_LEN]);
    channel.say(&Message::PairStart(start)).await;
    let Some(Message::PairReply(reply)) = channel.hear().await else { panic!("no reply") };
    let (pairing, confirmation) = pairing.receive(&reply).unwrap();
    if before == "confirmation" {
        ends(&mut receiver).await;
        channel.say(&Message::PairConfirm(confirmation)).await;
        return (channel.hear().await, lab.engine.devices().unwrap().len());
    }
    channel.say(&Message::PairConfirm(confirmation)).await;
    let Some(Message::PairConfirm(theirs)) = channel.hear().await else { panic!("no confirmation") };
    let _ = pairing.receive(&theirs).unwrap();
    ends(&mut receiver).await;
    channel.say(&Message::PairDone).await;
    (channel.hear().await, lab.engine.devices().unwrap().len())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_that_ends_while_it_is_tried_pairs_nobody() {
    for before in ["confirmation", "the end"] {
        let refused = (Some(Message::Refused(Refusal::WrongCode)), 0);
        let renewed = pairs_late(before, async |receiver| receiver.renew_code().unwrap());
        assert_eq!(timeout(LONG, renewed).await.unwrap(), refused, "renewed before {before}");
        let stopped = pairs_late(before, async |receiver| receiver.stop().await);
        assert_eq!(timeout(LONG, stopped).await.unwrap(), refused, "stopped before {before}");
        let expired = pairs_late(before, async |receiver| receiver.shorten_code(Duration::ZERO));
        assert_eq!(timeout(LONG, expired).await.unwrap(), refused, "expired before {before}");
        let paired = pairs_late(before, async |_| {}).await;
        assert_ne!(paired.0, refused.0, "it is not ended before {before}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_yes_does_not_outlive_forgetting_the_device() {
    let lab = Device::new("lab");
    let (receiver, address) = lab.receiver().await;
    let mallory = Mallory::new();
    let offer = Offer { retry_s: 60, ..offer() };
    let (inside, (_transfer, mut receiver)) =
        tokio::join!(mallory.let_in(address, "mallory", CODE, &offer), accept_first(receiver));
    drop(inside);
    // Another program of this device forgets it, as the command does beside the service.
    let below = |name: &str| lab.path(name);
    let paths = Paths { config: below("config"), data: below("data"), state: below("state"), runtime: None };
    assert!(Engine::open(paths).unwrap().forget_device(DeviceId(mallory.id())).unwrap());
    receiver.renew_code().unwrap();
    let code = receiver.code().unwrap().text.unwrap();
    // As a sender that was started anew says it.
    let offer = Offer { transfer: [8; 16], ..offer };
    let mut again = mallory.offers(address, "mallory", Some(&code), &offer).await;
    let asked = async { while !matches!(receiver.next_event().await, Some(ReceiverEvent::OfferReceived(_))) {} };
    tokio::select! {
        () = asked => {}
        heard = again.session.hear() => panic!("the same offer is asked about: {heard:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sending_again_is_held_to_the_receiver_that_was_announced() {
    let laptop = Device::new("laptop");
    let mallory = Mallory::new();
    let (listener, address) = listening().await;
    let fingerprint = Fingerprint::of(&mallory.id());
    let target = Target::Announced { at: address.parse().unwrap(), fingerprint };
    let request = SendRequest { target: target.clone(), ..request(&laptop, &address, Some(CODE)) };
    fs::write(laptop.path("file"), "for nas alone").unwrap();
    let sending = laptop.engine.send(request);
    let (_, report) = tokio::join!(answers_as_known(&mallory, &listener, "nas"), sending.wait());
    assert_eq!(refused(&report), &AuthError::NoCodeOpen);
    assert!(laptop.engine.past(&PastQuery::default(), 1).unwrap().is_empty(), "it only needs a code");
    let LastStarted::Ended(sent) = laptop.engine.last_sent().unwrap() else { panic!("it has ended") };
    assert_eq!(laptop.engine.target_of(&sent).unwrap(), target, "nobody else who is at that address now");
    pair_with(&laptop, &mallory, "mallory").await;
    let again = laptop.engine.target_of(&sent);
    assert!(
        matches!(again, Err(Fault::UnknownTarget { .. })),
        "he never proved that he is whom the code meant: {again:?}"
    );
}
