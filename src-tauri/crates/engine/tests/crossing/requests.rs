//! Devices that want to pair and have no code, and devices that are paired again after one has
//! forgotten the other.
use ringway_engine::Transfer;
use ringway_model::{PairingRequest, PastQuery};

use super::*;

const CODE: &str = "7-river-camera";

/// Long enough for what has happened already to be told.
const SOON: Duration = Duration::from_millis(300);

async fn requested(receiver: &mut Receiver) -> PairingRequest {
    loop {
        let event = timeout(LONG, receiver.next_event()).await.expect("an event").unwrap();
        if let ReceiverEvent::PairingRequested(request) = event {
            return request;
        }
    }
}

/// Whether the events so far include a request.
async fn is_told(receiver: &mut Receiver) -> bool {
    while let Ok(Some(event)) = timeout(SOON, receiver.next_event()).await {
        if matches!(event, ReceiverEvent::PairingRequested(_)) {
            return true;
        }
    }
    false
}

/// Sends a file without a code to where nobody knows this device; it is asked for a code.
async fn asks(from: &Device, to: &str) {
    fs::write(from.path("file"), "x").unwrap();
    let report = from.send(&[folder(from.path("file"))], to, None).await;
    assert!(matches!(failed(&report), Fault::Auth(AuthError::PairingNeeded { .. })), "{report:?}");
}

async fn pair(laptop: &Device, receiver: &Receiver, code: &str) {
    laptop.engine.pair(at(&target(receiver)), given(code).to_pairing_secret()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_without_a_code_is_shown_once_until_it_has_proven_the_code() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let mut receiver = lab.receiver(Some(CODE)).await;
    let to = target(&receiver);
    asks(&laptop, &to).await;
    let request = requested(&mut receiver).await;
    let expected = PairingRequest {
        id: laptop.engine.this_device().id,
        name: "laptop".into(),
        paired_as: None,
        looks_like: None,
        from: std::net::Ipv4Addr::LOCALHOST.into(),
        allowed: false,
    };
    assert_eq!(request, expected);
    asks(&laptop, &to).await;
    asks(&laptop, &to).await;
    assert!(!is_told(&mut receiver).await, "it is shown already");
    assert_eq!(lab.engine.pairing_requests(), [request]);
    assert!(lab.engine.devices().unwrap().is_empty(), "asking grants nothing");

    assert!(lab.engine.allow_pairing(expected.id));
    assert!(lab.engine.pairing_requests()[0].allowed);
    assert!(lab.engine.devices().unwrap().is_empty(), "nor does a yes: the code is what pairs");
    pair(&laptop, &receiver, CODE).await;
    assert_eq!(lab.engine.pairing_requests(), []);
    assert_eq!((lab.engine.devices().unwrap().len(), laptop.engine.devices().unwrap().len()), (1, 1));
    assert!(!lab.engine.allow_pairing(expected.id), "nobody asks any more");
}

#[tokio::test(flavor = "multi_thread")]
async fn asking_opens_no_code_and_costs_none() {
    let (laptop, lab, other) = (Device::new("laptop"), Device::new("lab"), Device::new("other"));
    let mut receiver = lab.receiver(Some(CODE)).await;
    pair(&other, &receiver, CODE).await;
    assert!(receiver.code().is_none(), "it was used");
    asks(&laptop, &target(&receiver)).await;
    requested(&mut receiver).await;
    assert!(receiver.code().is_none(), "a peer opens none");
    // One who has a code that is void may ask for another one.
    lab.engine.clear_pairing_requests();
    let void = laptop.engine.pair(at(&target(&receiver)), given(CODE).to_pairing_secret()).await;
    assert!(matches!(void, Err(Fault::Auth(AuthError::NoCodeOpen))), "{void:?}");
    requested(&mut receiver).await;
    receiver.renew_code().unwrap();
    let code = receiver.code().unwrap().text.unwrap();
    pair(&laptop, &receiver, &code).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_asks_and_vanishes_stays_until_it_is_sent_away_and_is_not_shown_again_soon() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let mut receiver = lab.receiver(Some(CODE)).await;
    let to = target(&receiver);
    let id = laptop.engine.this_device().id;
    asks(&laptop, &to).await;
    requested(&mut receiver).await;
    assert_eq!(lab.engine.pairing_requests().len(), 1, "it has hung up long ago");
    assert!(lab.engine.dismiss_pairing(id) && !lab.engine.dismiss_pairing(id));
    assert_eq!(lab.engine.pairing_requests(), []);
    asks(&laptop, &to).await;
    assert!(!is_told(&mut receiver).await);
    assert_eq!(lab.engine.pairing_requests(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blocked_device_hears_nothing_of_it_and_the_code_still_decides() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let mut receiver = lab.receiver(Some(CODE)).await;
    let to = target(&receiver);
    asks(&laptop, &to).await;
    let id = requested(&mut receiver).await.id;
    assert!(lab.engine.block_pairing(id));
    // The same answer as before.
    asks(&laptop, &to).await;
    assert!(!is_told(&mut receiver).await);
    // Another listener of the same program, as after a change of port.
    receiver.stop().await;
    drop(receiver);
    let mut receiver = lab.receiver(Some(CODE)).await;
    asks(&laptop, &target(&receiver)).await;
    assert!(!is_told(&mut receiver).await);
    pair(&laptop, &receiver, CODE).await;
    assert!(lab.engine.forget_device(id).unwrap());
    asks(&laptop, &target(&receiver)).await;
    assert_eq!(requested(&mut receiver).await.id, id, "who was told the code is blocked no more");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_that_only_wants_to_pair_asks_without_sending_anything() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let mut receiver = lab.receiver(Some(CODE)).await;
    let to = || at(&target(&receiver));
    assert_eq!(laptop.engine.request_pairing(to()).await.unwrap(), None);
    pair(&laptop, &receiver, CODE).await;
    assert_eq!(laptop.engine.request_pairing(to()).await.unwrap().unwrap().name, "lab", "both know each other");
    assert_eq!(requested(&mut receiver).await.name, "laptop");
    assert!(!is_told(&mut receiver).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_whose_name_looks_like_a_paired_devices_is_pointed_out() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    // The second letter is Cyrillic.
    let other = Device::new("l\u{430}ptop");
    let mut receiver = lab.receiver(Some(CODE)).await;
    pair(&laptop, &receiver, CODE).await;
    asks(&other, &target(&receiver)).await;
    let request = requested(&mut receiver).await;
    assert_eq!(request.looks_like.unwrap().id, laptop.engine.this_device().id);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paired_device_that_has_forgotten_this_one_is_shown_under_its_name_here() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let mut receiver = lab.receiver(Some(CODE)).await;
    pair(&laptop, &receiver, CODE).await;
    lab.engine.rename_device(laptop.engine.this_device().id, "ada").unwrap();
    asks_nothing_of(&laptop, &mut receiver).await;
    assert!(laptop.engine.forget_device(lab.engine.this_device().id).unwrap());
    asks(&laptop, &target(&receiver)).await;
    let request = requested(&mut receiver).await;
    assert_eq!((request.name, request.paired_as), ("laptop".into(), Some("ada".into())));
}

/// A paired device that connects is no request.
async fn asks_nothing_of(laptop: &Device, receiver: &mut Receiver) {
    laptop.engine.request_pairing(at(&target(receiver))).await.unwrap();
    assert!(!is_told(receiver).await);
}

/// Sends `tree`, which is accepted by a person's default answer.
async fn sends(laptop: &Device, receiver: &mut Receiver, code: Option<&str>) {
    let request = request(&[folder(laptop.path("tree"))], &target(receiver), code, IoMode::Auto, None);
    let sending: Transfer = laptop.engine.send(request);
    loop {
        if let ReceiverEvent::OfferReceived(offer) = timeout(LONG, receiver.next_event()).await.unwrap().unwrap() {
            let options = AcceptOptions { on_conflict: OnConflict::RenameTop, ..AcceptOptions::default() };
            assert_complete(&timeout(LONG, offer.accept(options).await.unwrap().wait()).await.unwrap());
            break;
        }
    }
    assert_complete(&timeout(LONG, sending.wait()).await.unwrap());
}

fn names(folder: &Path) -> Vec<String> {
    let entry = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(entry).collect();
    names.sort_unstable();
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_that_is_paired_again_fills_its_folder_on_and_replaces_nothing_in_it() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let mut receiver = lab.receiver(Some(CODE)).await;
    fs::create_dir(laptop.path("tree")).unwrap();
    fs::write(laptop.path("tree/same"), "same").unwrap();
    fs::write(laptop.path("tree/changed"), "before").unwrap();
    sends(&laptop, &mut receiver, Some(CODE)).await;

    let id = laptop.engine.this_device().id;
    assert!(lab.engine.forget_device(id).unwrap());
    fs::write(laptop.path("tree/changed"), "afterwards").unwrap();
    fs::write(laptop.path("tree/new"), "new").unwrap();
    receiver.renew_code().unwrap();
    let code = receiver.code().unwrap().text.unwrap();
    sends(&laptop, &mut receiver, Some(&code)).await;
    assert_eq!(names(&lab.path("in")), ["tree"], "it goes on under its name");
    assert_eq!(names(&lab.path("in/tree")), ["changed", "changed (1)", "new", "same"]);
    let read = |name: &str| fs::read_to_string(lab.path("in/tree").join(name)).unwrap();
    assert_eq!((read("changed"), read("changed (1)")), ("before".to_owned(), "afterwards".to_owned()));

    // What it has brought since may be replaced, as of any paired device.
    fs::write(laptop.path("tree/new"), "newer").unwrap();
    sends(&laptop, &mut receiver, None).await;
    assert_eq!(read("new"), "newer");
    assert_eq!(names(&lab.path("in")), ["tree"]);
    let past = lab.engine.past(&PastQuery::default(), 10).unwrap();
    assert_eq!(past.iter().filter(|past| past.peer_id == Some(id)).count(), 3, "its history is one");
    assert_eq!(lab.engine.last_with_each().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_took_the_place_of_a_received_one_is_nobodys_after_pairing_again() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let mut receiver = lab.receiver(Some(CODE)).await;
    fs::create_dir(laptop.path("tree")).unwrap();
    fs::write(laptop.path("tree/file"), "sent").unwrap();
    sends(&laptop, &mut receiver, Some(CODE)).await;
    assert!(lab.engine.forget_device(laptop.engine.this_device().id).unwrap());
    fs::rename(lab.path("in/tree"), lab.path("away")).unwrap();
    fs::create_dir(lab.path("in/tree")).unwrap();
    receiver.renew_code().unwrap();
    let code = receiver.code().unwrap().text.unwrap();
    sends(&laptop, &mut receiver, Some(&code)).await;
    assert_eq!(names(&lab.path("in")), ["tree", "tree (1)"]);
    assert_eq!(names(&lab.path("in/tree")), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn stranger_that_has_this_devices_name_is_pointed_out() {
    let (stranger, lab) = (Device::new("lab"), Device::new("lab"));
    let mut receiver = lab.receiver(Some(CODE)).await;
    asks(&stranger, &target(&receiver)).await;
    let request = requested(&mut receiver).await;
    let own = lab.engine.this_device();
    assert_eq!(request.looks_like.map(|other| (other.name, other.id)), Some((own.name, own.id)));
}
