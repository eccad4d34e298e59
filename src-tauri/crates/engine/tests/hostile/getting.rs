//! What a device tries that gets something from a share, and what a device that serves one can make
//! a requester believe.
use std::os::unix::fs::symlink;
use std::sync::Arc;

use ringway_engine::limits::GETS_OF_ONE_MAX;
use ringway_engine::{GetRequest, Reference, TransferOptions};
use ringway_model::{DeclineReason, Pattern, Report};
use ringway_wire::control::{Answer, Get, GetPath, GetRefusal, PlannedEntry, PlannedKind, Purpose};
use ringway_wire::session::{Event, Machine};

use super::mallory::Channel;
use super::shares::{asking, name, paired, share};
use super::*;

pub(super) fn get(transfer: u8, paths: &[&str]) -> Get {
    let path = |path: &&str| GetPath { path: path.as_bytes().to_vec(), contents_only: false };
    Get {
        transfer: [transfer; 16],
        share: name("mine"),
        paths: paths.iter().map(path).collect(),
        lanes: 1,
        prove: false,
        compression: Compression::Off,
        delta: Delta::Off,
        limit: None,
        records_per_key: None,
        retry_s: 0,
        patterns: Vec::new(),
        selected: None,
        purpose: Purpose::Transfer,
    }
}

/// The first answer to a request, with pings answered on the way; none if the session ends.
pub(super) async fn answer(session: &mut Channel) -> Option<Message> {
    let heard = async {
        loop {
            match session.hear().await {
                Some(Message::Ping) => session.say(&Message::Pong).await,
                Some(Message::Totals(_)) => {}
                heard => return heard,
            }
        }
    };
    timeout(LONG, heard).await.expect("an answer, or the end")
}

pub(super) async fn serving() -> (Device, Receiver, SocketAddr, Mallory) {
    let lab = Device::new("lab");
    fs::create_dir_all(lab.path("shared/below")).unwrap();
    fs::write(lab.path("shared/below/file"), "contents").unwrap();
    fs::create_dir(lab.path("secret")).unwrap();
    fs::write(lab.path("secret/file"), "secret").unwrap();
    symlink("../secret", lab.path("shared/out")).unwrap();
    let (receiver, address) = lab.receiver().await;
    receiver.serve_shares(true);
    let mallory = paired(&lab, address).await;
    share(&lab, &lab.path("shared"), "mine");
    lab.engine.share(&lab.path("secret"), &name("others"), &ringway_model::SharedWith::NOBODY, false).unwrap();
    (lab, receiver, address, mallory)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_requester_gets_nothing_that_is_not_shared_with_it() {
    let (_lab, _receiver, address, mallory) = serving().await;
    let asked = async |get: Get| {
        let mut session = asking(&mallory, address).await;
        session.say(&Message::Get(get)).await;
        answer(&mut session).await
    };
    for share in ["others", "nothing"] {
        let refused = asked(Get { share: name(share), ..get(1, &["file"]) }).await;
        assert_eq!(refused, Some(Message::GetRefused(GetRefusal::NoShare)), "{share}");
    }
    for (path, errno) in [("out/file", 40), ("nowhere", 2), ("line\nbreak", 2), ("\u{1b}[2J", 2), ("below/file/x", 20)]
    {
        let refused = asked(get(2, &["below", path])).await;
        assert_eq!(refused, Some(Message::GetRefused(GetRefusal::Path(1, errno))), "{path:?}");
    }
    let refused = asked(get(3, &["below", "below"])).await;
    assert_eq!(refused, Some(Message::GetRefused(GetRefusal::SameName)));
    // What no codec lets through ends the session.
    for path in ["..", "below/../..", "/etc", "below//file", "below/."] {
        assert_eq!(asked(get(4, &[path])).await, None, "{path}");
    }
    // A link is offered as a link, by its own name.
    let Some(Message::Offer(offered)) = asked(get(5, &["out"])).await else { panic!("an offer") };
    assert_eq!((offered.transfer, offered.names), ([5; 16], vec![b"out".to_vec()]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_selection_makes_nothing_readable_and_is_refused_by_a_reason() {
    let (_lab, _receiver, address, mallory) = serving().await;
    let asked = async |get: Get, selected: &[&str]| {
        let mut session = asking(&mallory, address).await;
        let selecting = Get { selected: (!selected.is_empty()).then_some(selected.len() as u32), ..get };
        session.say(&Message::Get(selecting)).await;
        if !selected.is_empty() {
            session.say(&Message::Selected(selected.iter().map(|path| path.as_bytes().to_vec()).collect())).await;
        }
        answer(&mut session).await
    };
    let without = |pattern: &[u8]| Get { patterns: vec![Pattern::Exclude(pattern.to_vec())], ..get(1, &["below"]) };
    for bad in [&b"["[..], b"", b"a\0b", b"a\nb", b"\\"] {
        assert_eq!(asked(without(bad), &[]).await, Some(Message::GetRefused(GetRefusal::Pattern)), "{bad:?}");
    }
    let of_a_file = asked(get(2, &["below/file"]), &["x"]).await;
    assert_eq!(of_a_file, Some(Message::GetRefused(GetRefusal::NotOneFolder)));
    let of_two = asked(get(2, &["below", "out"]), &["x"]).await;
    assert_eq!(of_two, Some(Message::GetRefused(GetRefusal::NotOneFolder)));
    // What no codec lets through, or does not add up, ends the session.
    for bad in ["..", "../secret/file", "/etc/passwd", "a//b"] {
        assert_eq!(asked(get(3, &["below"]), &[bad]).await, None, "{bad}");
    }
    let mut session = asking(&mallory, address).await;
    session.say(&Message::Get(Get { selected: Some(1), ..get(4, &["below"]) })).await;
    session.say(&Message::Selected(vec![b"a".to_vec(), b"b".to_vec()])).await;
    assert_eq!(answer(&mut session).await, None);
    // A share of its own is offered, whatever is selected of it.
    let Some(Message::Offer(offered)) = asked(get(5, &["below"]), &["file"]).await else { panic!("an offer") };
    assert_eq!(offered.names, [b"below"]);
}

/// The plan of a request: its entries, and why it has none.
async fn planned(mallory: &Mallory, address: SocketAddr, get: Get) -> Result<Vec<PlannedEntry>, Option<Box<Message>>> {
    let mut session = asking(mallory, address).await;
    let purpose = Purpose::Plan { number: 0, pages: 16 };
    session.say(&Message::Get(Get { purpose, ..get })).await;
    let mut entries = Vec::new();
    loop {
        match answer(&mut session).await {
            Some(Message::Answered { number: 0, answer: Answer::Planned(page) }) => {
                entries.extend(page.entries);
                if page.counts.is_some() {
                    return Ok(entries);
                }
            }
            other => return Err(other.map(Box::new)),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_tells_no_more_than_would_be_sent_and_nothing_of_other_shares() {
    let (lab, receiver, address, mallory) = serving().await;
    let served = || {
        let past = lab.engine.past(&ringway_model::PastQuery::default(), 10).unwrap();
        past.into_iter().filter(|past| past.direction == ringway_model::Direction::Sending).count()
    };
    let moves = |kind, path: &[u8]| PlannedEntry::Moves(kind, path.to_vec());
    let whole = planned(&mallory, address, get(1, &["below", "out"])).await.unwrap();
    let wanted = [
        moves(PlannedKind::Folder, b"below"),
        moves(PlannedKind::File, b"below/file"),
        moves(PlannedKind::Link, b"out"),
    ];
    assert_eq!(whole, wanted);
    let patterns = vec![Pattern::Exclude(b"file".to_vec())];
    let some = planned(&mallory, address, Get { patterns, ..get(2, &["below"]) }).await.unwrap();
    assert_eq!(some, [moves(PlannedKind::Folder, b"below")]);
    let refused = |why| Err(Some(Box::new(Message::Answered { number: 0, answer: Answer::NotPlanned(why) })));
    for share in ["others", "nothing"] {
        let asked = Get { share: name(share), ..get(3, &["file"]) };
        assert_eq!(planned(&mallory, address, asked).await, refused(GetRefusal::NoShare), "{share}");
    }
    assert_eq!(planned(&mallory, address, get(4, &["out/file"])).await, refused(GetRefusal::Path(0, 40)));
    let patterns = vec![Pattern::Exclude(b"[".to_vec())];
    assert_eq!(planned(&mallory, address, Get { patterns, ..get(5, &["below"]) }).await, refused(GetRefusal::Pattern));
    assert_eq!(served(), 0, "nothing was transferred");
    receiver.serve_shares(false);
    assert_eq!(planned(&mallory, address, get(6, &["below"])).await, refused(GetRefusal::NotServed));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_got_from_a_receiver_that_serves_no_shares() {
    let (_lab, receiver, address, mallory) = serving().await;
    receiver.serve_shares(false);
    let mut session = asking(&mallory, address).await;
    session.say(&Message::Get(get(1, &["below"]))).await;
    assert_eq!(answer(&mut session).await, Some(Message::GetRefused(GetRefusal::NotServed)));
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_one_device_are_bounded_in_number_and_in_rate() {
    let (_lab, _receiver, address, mallory) = serving().await;
    // Each is offered, and never answered.
    let mut open = Vec::new();
    for number in 0..GETS_OF_ONE_MAX as u8 {
        let mut session = asking(&mallory, address).await;
        session.say(&Message::Get(get(number, &["below"]))).await;
        assert!(matches!(answer(&mut session).await, Some(Message::Offer(_))), "{number}");
        open.push(session);
    }
    let mut last = None;
    for _ in 0..100 {
        let mut session = asking(&mallory, address).await;
        session.say(&Message::Get(get(200, &["below"]))).await;
        last = answer(&mut session).await;
        match &last {
            Some(Message::Decline(DeclineReason::Busy)) => {}
            Some(Message::Decline(DeclineReason::TooManyOffers { wait_ms })) if *wait_ms > 0 => break,
            other => panic!("{other:?}"),
        }
    }
    assert!(matches!(last, Some(Message::Decline(DeclineReason::TooManyOffers { .. }))), "{last:?}");
}

/// What a device gone bad answers to a request.
type Lie = fn(&Get) -> Vec<Message>;

/// A laptop that gets `paths` from a device that answers so, and the outcome. Nothing may have
/// landed.
async fn got_from(paths: &[&str], lie: Lie) -> Arc<Report> {
    let laptop = Device::new("laptop");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(async move {
        let (mut session, asked) = requested(&listener).await;
        for message in lie(&asked) {
            session.say(&message).await;
        }
        while session.hear().await.is_some() {}
    });
    let transfer = laptop.engine.get(request(&laptop, address, paths));
    let report = timeout(LONG, transfer.wait()).await.unwrap();
    timeout(LONG, serving).await.unwrap().unwrap();
    assert_eq!(fs::read_dir(laptop.path("in")).unwrap().count(), 0, "something landed");
    report
}

/// The next request of a device that pairs, and its session.
pub(super) async fn requested(listener: &TcpListener) -> (Channel, Get) {
    requested_of(&Mallory::new(), listener).await
}

/// The same, of this device.
pub(super) async fn requested_of(mallory: &Mallory, listener: &TcpListener) -> (Channel, Get) {
    let mut session = mallory.answer(listener).await;
    let exporter = session.export(EXPORTER_LABEL);
    let greeting = ringway_wire::control::Greeting { name: ringway_wire::DeviceName::new("lab").unwrap() };
    let mut machine = Machine::listen(greeting, 0);
    loop {
        while let Some(bytes) = machine.poll_transmit() {
            session.say_raw(&bytes).await;
        }
        match machine.poll_event() {
            Some(Event::HelloReceived { .. }) => machine.welcome(false, true),
            Some(Event::PairingStarted) => {
                let binding = Binding::new(session.peer_id(), mallory.id(), exporter).unwrap();
                machine.pair(&given(CODE).to_pairing_secret(), binding, &[9; 64]);
            }
            Some(Event::CodeProven) => machine.confirm(),
            Some(Event::PairingConcluded) => machine.paired(),
            Some(Event::GetReceived(get, _) | Event::PlanAsked(_, get, _)) => return (session, get),
            Some(_) => {}
            None => machine.handle_message(session.hear().await.expect("more"), 0).unwrap(),
        }
    }
}

/// What a device gets that knows nothing of the other one but its code.
pub(super) fn request(laptop: &Device, address: SocketAddr, paths: &[&str]) -> GetRequest {
    let reference = |path: &&str| Reference::parse(format!("lab:{path}").as_ref()).unwrap().inside.unwrap();
    let options = TransferOptions {
        code: Some(given(CODE).to_pairing_secret()),
        lanes: Some(2),
        compression: Compression::Off,
        delta: Delta::Off,
        ..TransferOptions::default()
    };
    GetRequest { options, ..GetRequest::new(at(address), paths.iter().map(reference).collect(), laptop.path("in")) }
}

pub(super) fn offered(get: &Get, names: &[&str]) -> Offer {
    let names = names.iter().map(|name| name.as_bytes().to_vec()).collect();
    Offer { transfer: get.transfer, names, lanes: 1, prove: get.prove, ..offer() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_serving_device_offers_nothing_that_was_not_asked_for() {
    let lies: [Lie; 7] = [
        |get| vec![Message::Offer(offered(get, &["a", "other"]))],
        |get| vec![Message::Offer(offered(get, &["mine"]))],
        |get| vec![Message::Offer(Offer { transfer: [99; 16], ..offered(get, &["a"]) })],
        |get| vec![Message::Offer(Offer { lanes: 3, ..offered(get, &["a"]) })],
        |get| vec![Message::Offer(Offer { prove: true, ..offered(get, &["a"]) })],
        |get| {
            let first = Message::Offer(Offer { more_names: 1, ..offered(get, &["a"]) });
            vec![first, Message::OfferNames(vec![b"b".to_vec()])]
        },
        |get| vec![Message::Offer(offered(get, &["a"])), Message::Offer(offered(get, &["a"]))],
    ];
    for (number, lie) in lies.into_iter().enumerate() {
        let report = got_from(&["mine/folder/a"], lie).await;
        assert!(matches!(report.outcome, Outcome::Failed(Fault::Protocol { .. })), "{number}: {:?}", report.outcome);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_serving_device_can_only_refuse_by_a_reason() {
    let report = got_from(&["mine/a"], |_| vec![Message::GetRefused(GetRefusal::Path(99, 2))]).await;
    assert!(matches!(report.outcome, Outcome::Failed(Fault::PathThere { .. })), "{:?}", report.outcome);
    let report = got_from(&["mine/a"], |_| vec![Message::GetRefused(GetRefusal::NoShare)]).await;
    assert!(matches!(report.outcome, Outcome::Failed(Fault::NotShared { .. })), "{:?}", report.outcome);
    let report = got_from(&["mine/a"], |_| vec![Message::Accept(accept())]).await;
    assert!(matches!(report.outcome, Outcome::Failed(Fault::Protocol { .. })), "{:?}", report.outcome);
}

fn accept() -> ringway_wire::control::Accept {
    ringway_wire::control::Accept { lanes: 1, lists: false, doubts: None, owner_names: false }
}
