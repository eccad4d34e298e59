//! A device that is forgotten while something runs with it.
use std::os::unix::fs::FileExt;

use ringway_engine::Transfer;
use ringway_model::{DeviceId, PastQuery, Stage};

use super::*;

const CODE: &str = "7-river-camera";

/// As the command forgets a device beside the service.
fn another_program_forgets(here: &Device, other: DeviceId) {
    assert!(open(here.folder.path()).forget_device(other).unwrap());
}

/// Bytes that would take minutes to send.
const MINUTES: usize = 40_000_000;

/// By then the receiver has noted a part of the file as one that it has.
const NOTED_BYTES: u64 = 3_000_000;

fn slow(laptop: &Device, receiver: &Receiver, bytes: usize) -> SendRequest {
    fs::create_dir(laptop.path("tree")).unwrap();
    fs::write(laptop.path("tree/large"), vec![7; bytes]).unwrap();
    let tree = [folder(laptop.path("tree"))];
    let mut request = request(&tree, &target(receiver), Some(CODE), IoMode::Auto, Some(1));
    request.options.limit = Some(RateLimit::new(400_000).unwrap());
    request.options.retry = Some(Duration::from_secs(60));
    request
}

async fn has_begun(transfer: &Transfer) {
    let begun = async {
        while transfer.progress().bytes_done == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(LONG, begun).await.unwrap();
}

fn left(at: &Device) -> Vec<std::ffi::OsString> {
    fs::read_dir(at.path("in")).unwrap().map(|entry| entry.unwrap().file_name()).collect()
}

async fn ends(transfer: &Transfer) -> Arc<Report> {
    timeout(LONG, transfer.wait()).await.expect("it ends long before all of it is sent")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_from_a_forgotten_device_ends_and_nothing_of_it_is_published() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let mut receiver = lab.receiver(Some(CODE)).await;
    let sending = laptop.engine.send(slow(&laptop, &receiver, MINUTES));
    let receiving = offered(&mut receiver).await.accept(AcceptOptions::default()).await.unwrap();
    has_begun(&receiving).await;
    another_program_forgets(&lab, laptop.engine.this_device().id);
    let received = ends(&receiving).await;
    assert!(matches!(failed(&received), Fault::PeerForgotten), "{received:?}");
    let sent = ends(&sending).await;
    assert!(matches!(failed(&sent), Fault::Cancelled { by: Side::There, .. }), "{sent:?}");
    assert_eq!(left(&lab), Vec::<std::ffi::OsString>::new(), "as with a cancel");
    let past = lab.engine.past(&PastQuery::default(), 1).unwrap().pop().unwrap();
    assert!(matches!(past.report.outcome, Outcome::Failed(Fault::PeerForgotten)), "{past:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_goes_to_a_forgotten_device_ends() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let mut receiver = lab.receiver(Some(CODE)).await;
    let sending = laptop.engine.send(slow(&laptop, &receiver, MINUTES));
    let receiving = offered(&mut receiver).await.accept(AcceptOptions::default()).await.unwrap();
    has_begun(&sending).await;
    // Until something is on the disk there is nothing to keep.
    let has_noted = async {
        while receiving.progress().bytes_done < NOTED_BYTES {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(LONG, has_noted).await.unwrap();
    another_program_forgets(&laptop, lab.engine.this_device().id);
    let sent = ends(&sending).await;
    assert!(matches!(failed(&sent), Fault::PeerForgotten), "{sent:?}");
    let received = ends(&receiving).await;
    assert!(matches!(failed(&received), Fault::Cancelled { by: Side::There, kept: true }), "{received:?}");
    let left = left(&lab);
    assert!(
        left.len() == 1 && left[0].to_string_lossy().starts_with(".ringway-"),
        "the received folder is lab's: {left:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_paused_with_a_forgotten_device_ends_at_both_ends() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let mut receiver = lab.receiver(Some(CODE)).await;
    let sending = laptop.engine.send(slow(&laptop, &receiver, MINUTES));
    let receiving = offered(&mut receiver).await.accept(AcceptOptions::default()).await.unwrap();
    has_begun(&receiving).await;
    has_begun(&sending).await;
    sending.pause().unwrap();
    let paused = async {
        while receiving.progress().stage != Stage::Paused {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(LONG, paused).await.unwrap();
    laptop.engine.forget_device(lab.engine.this_device().id).unwrap();
    another_program_forgets(&lab, laptop.engine.this_device().id);
    for transfer in [&sending, &receiving] {
        let report = ends(transfer).await;
        assert!(matches!(failed(&report), Fault::PeerForgotten), "{report:?}");
    }
    assert_eq!(left(&lab), Vec::<std::ffi::OsString>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unanswered_offer_of_a_forgotten_device_is_withdrawn() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let mut receiver = lab.receiver(Some(CODE)).await;
    let sending = laptop.engine.send(slow(&laptop, &receiver, MINUTES));
    let offer = offered(&mut receiver).await;
    another_program_forgets(&lab, laptop.engine.this_device().id);
    loop {
        let event = timeout(LONG, receiver.next_event()).await.unwrap().unwrap();
        if let ReceiverEvent::OfferWithdrawn(key) = event {
            assert_eq!(key, offer.summary().key());
            break;
        }
    }
    let sent = ends(&sending).await;
    assert!(
        matches!(failed(&sent), Fault::Auth(AuthError::PairingNeeded { peer_name }) if peer_name == "lab"),
        "{sent:?}"
    );
    offer.accept(AcceptOptions::default()).await.expect_err("it is no offer of a paired device");
}

#[tokio::test(flavor = "multi_thread")]
async fn other_devices_go_on_when_one_is_forgotten() {
    let (laptop, lab, other) = (Device::new("laptop"), Device::new("lab"), Device::new("other"));
    let mut receiver = lab.receiver(Some(CODE)).await;
    other.engine.pair(at(&target(&receiver)), given(CODE).to_pairing_secret()).await.unwrap();
    receiver.renew_code().unwrap();
    let code = given(&receiver.code().unwrap().text.unwrap()).to_pairing_secret();
    let mut request = slow(&laptop, &receiver, MINUTES);
    request.options.code = Some(code);
    request.options.limit = Some(RateLimit::new(10_000_000).unwrap());
    let sending = laptop.engine.send(request);
    let receiving = offered(&mut receiver).await.accept(AcceptOptions::default()).await.unwrap();
    has_begun(&receiving).await;
    another_program_forgets(&lab, other.engine.this_device().id);
    assert_complete(&*ends(&receiving).await);
    assert_complete(&*ends(&sending).await);
}

/// Writes over its beginning, so that nobody reads it.
fn spoil_store(of: &Device) {
    let store = of.folder.path().join("data/ringway.db");
    fs::OpenOptions::new().write(true).open(store).unwrap().write_all_at(&[0xff; 100], 0).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_cannot_be_read_is_what_is_said_and_not_that_the_device_was_forgotten() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let mut receiver = lab.receiver(Some(CODE)).await;
    let sending = laptop.engine.send(slow(&laptop, &receiver, 1_000_000));
    let receiving = offered(&mut receiver).await.accept(AcceptOptions::default()).await.unwrap();
    has_begun(&receiving).await;
    spoil_store(&lab);
    let received = ends(&receiving).await;
    assert!(matches!(failed(&received), Fault::Store { .. }), "{received:?}");
    let sent = ends(&sending).await;
    assert!(matches!(failed(&sent), Fault::FailedThere), "{sent:?}");
}
