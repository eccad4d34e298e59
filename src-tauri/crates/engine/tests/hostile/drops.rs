//! What a device tries that may send into a drop box and is hostile: other places, other shares,
//! and more than that takes.
use std::os::unix::fs::symlink;

use ringway_engine::Decision;
use ringway_model::{AskedBecause, DeclineReason, DropBox, ShareName, SharedWith, Side};
use ringway_wire::control::{GetRefusal, InShare};

use super::allowed::{BYTES_MAX, Lie, PIECE, cancelled, more, small};
use super::shares::{name, paired};
use super::*;

/// A drop box of `lab` for Mallory, under the name `box`.
async fn boxed(lab: &Device, address: SocketAddr, drop: DropBox) -> (Mallory, PathBuf) {
    let mallory = paired(lab, address).await;
    let folder = lab.path("box");
    fs::create_dir(&folder).unwrap();
    share(lab, &folder, "box", Some(drop));
    (mallory, folder)
}

fn share(lab: &Device, folder: &std::path::Path, share: &str, drop: Option<DropBox>) {
    let guest = lab.engine.find_device("guest").unwrap().unwrap().id;
    let with = SharedWith::Devices { devices: vec![guest] };
    lab.engine.share_as(folder, &name(share), &with, drop, false).unwrap();
}

/// An offer of `x` into a place, by a number of its own.
fn into(number: u8, share: &str, path: &str) -> Offer {
    let in_share = Some(InShare { share: ShareName::new(share).unwrap(), path: path.as_bytes().to_vec() });
    Offer { transfer: [number; 16], in_share, ..small(&["x"]) }
}

async fn answer(mallory: &Mallory, address: SocketAddr, offer: &Offer) -> Option<Message> {
    mallory.offers(address, "guest", None, offer).await.hears_the_answer().await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_offer_lands_in_its_place_or_nowhere() {
    let lab = Device::new("lab");
    let (mut receiver, address) = lab.receiver().await;
    let (mallory, folder) = boxed(&lab, address, DropBox::default()).await;
    offered(&mut receiver).await.decline(DeclineReason::ByChoice);
    for below in ["read", "others", "secret"] {
        fs::create_dir(lab.path(below)).unwrap();
    }
    share(&lab, &lab.path("read"), "read", None);
    lab.engine
        .share_as(&lab.path("others"), &name("others"), &SharedWith::NOBODY, Some(DropBox::default()), false)
        .unwrap();
    symlink(lab.path("secret"), folder.join("link")).unwrap();
    fs::write(folder.join("file"), "").unwrap();
    let none = GetRefusal::NoShare;
    for (number, (share, path, refusal)) in (10..).zip([
        ("read", "", none),
        ("others", "", none),
        ("nothing", "", none),
        ("nothing", "a/b", none),
        ("box", "link", GetRefusal::Path(0, 40)),
        ("box", "link/below", GetRefusal::Path(0, 40)),
        ("box", "file/below", GetRefusal::Path(0, 20)),
        ("box", ".ringway-0123456789abcdef", GetRefusal::Path(0, 2)),
        ("box", "a/.RINGWAY-x", GetRefusal::Path(0, 2)),
    ]) {
        let heard = answer(&mallory, address, &into(number, share, path)).await;
        assert_eq!(heard, Some(Message::GetRefused(refusal)), "{share}/{path}");
    }
    let long = into(30, "box", "x/".repeat(2_047).trim_end_matches('/'));
    assert_eq!(answer(&mallory, address, &long).await, Some(Message::GetRefused(GetRefusal::Path(0, 36))));
    // The program heard of none of them, and of one that has its place.
    let mut inside = mallory.offers(address, "guest", None, &into(40, "BOX", "a/b")).await;
    let offer = offered(&mut receiver).await;
    assert_eq!(*offer.decision(), Decision::Accept { bytes_max: None });
    let summary = offer.summary();
    assert_eq!((summary.id.0, &summary.destination.0), ([40; 16], &folder.join("a/b")));
    assert_eq!(summary.in_share.unwrap().to_string(), "box/a/b");
    assert!(!folder.join("a").exists(), "nothing is made before it is accepted");
    let transfer = offer.accept(AcceptOptions::default()).await.unwrap();
    assert!(matches!(inside.session.hear().await, Some(Message::Accept(_))));
    assert_eq!(fs::read_dir(folder.join("a/b")).unwrap().count(), 1, "the staging folder is there");
    // In it nothing else lands.
    let staging = fs::read_dir(folder.join("a/b")).unwrap().next().unwrap().unwrap().file_name();
    let beside = into(41, "box", &format!("a/b/{}", staging.to_str().unwrap()));
    assert_eq!(answer(&mallory, address, &beside).await, Some(Message::GetRefused(GetRefusal::Path(0, 2))));
    drop(inside);
    timeout(LONG, transfer.wait()).await.unwrap();
    for below in ["read", "others", "secret", "in"] {
        assert_eq!(fs::read_dir(lab.path(below)).unwrap().count(), 0, "{below}");
    }
    // Looking costs something: so many a minute, and no more.
    let mut heard = None;
    for number in 50..200 {
        heard = answer(&mallory, address, &into(number, "nothing", "")).await;
        if heard != Some(Message::GetRefused(none)) {
            break;
        }
    }
    assert!(matches!(heard, Some(Message::Decline(DeclineReason::TooManyOffers { .. }))), "{heard:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_lies_about_its_size_is_stopped_and_asked_about() {
    for lie in [Lie::Batches, Lie::Ranges, Lie::Totals] {
        let lab = Device::new("lab");
        let (mut receiver, address) = lab.receiver().await;
        let (mallory, folder) = boxed(&lab, address, DropBox { bytes_max: Some(BYTES_MAX) }).await;
        offered(&mut receiver).await.decline(DeclineReason::ByChoice);
        let mut inside = mallory.offers(address, "guest", None, &into(7, "box", "sub")).await;
        let offer = offered(&mut receiver).await;
        assert_eq!(*offer.decision(), Decision::Accept { bytes_max: Some(BYTES_MAX) });
        // A program that says no limit has none of its own to say here.
        let transfer = offer.accept(AcceptOptions::default()).await.unwrap();
        assert!(matches!(inside.session.hear().await, Some(Message::Accept(_))));
        let mut lane = mallory.joins(inside.exporter, address, 0, 0).await.unwrap();
        for number in 0..2 * BYTES_MAX / PIECE as u64 {
            more(lie, number, &mut inside.session, &mut lane).await;
        }
        assert_eq!(cancelled(&mut inside).await, Some(Cancel::TooMuch(BYTES_MAX)), "{lie:?}");
        drop((inside, lane));
        let report = timeout(LONG, transfer.wait()).await.unwrap();
        let stopped =
            matches!(report.outcome, Outcome::Failed(Fault::TooMuch { bytes_max: BYTES_MAX, by: Side::Here }));
        assert!(stopped, "{lie:?}: {report:?}");
        // However small it says it is now; in another place it was not stopped.
        let _again = mallory.offers(address, "guest", None, &into(2, "box", "sub")).await;
        let asked = offered(&mut receiver).await;
        let too_much = Decision::Ask(Some(AskedBecause::TooMuch { bytes_max: BYTES_MAX }));
        assert_eq!((asked.decision(), asked.summary().destination.0), (&too_much, folder.join("sub")), "{lie:?}");
        let _other = mallory.offers(address, "guest", None, &into(3, "box", "other")).await;
        let other = offered(&mut receiver).await.decision().clone();
        assert_eq!(other, Decision::Accept { bytes_max: Some(BYTES_MAX) }, "{lie:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_offer_goes_on_in_its_own_place_only() {
    let lab = Device::new("lab");
    let (mut receiver, address) = lab.receiver().await;
    let (mallory, folder) = boxed(&lab, address, DropBox::default()).await;
    offered(&mut receiver).await.decline(DeclineReason::ByChoice);
    let first = Offer { retry_s: 60, ..into(1, "box", "a") };
    let mut inside = mallory.offers(address, "guest", None, &first).await;
    let transfer = offered(&mut receiver).await.accept(AcceptOptions::default()).await.unwrap();
    assert!(matches!(inside.session.hear().await, Some(Message::Accept(_))));
    drop(inside);
    // The same names into another place, and where everything lands, are others.
    let mut elsewhere = mallory.offers(address, "guest", None, &Offer { retry_s: 60, ..into(2, "box", "b") }).await;
    let other = offered(&mut receiver).await;
    assert_eq!(other.summary().destination.0, folder.join("b"));
    other.decline(DeclineReason::ByChoice);
    assert!(matches!(elsewhere.session.hear().await, Some(Message::Decline(DeclineReason::ByChoice))));
    let _plain = mallory.offers(address, "guest", None, &Offer { in_share: None, ..into(3, "box", "") }).await;
    let asked = offered(&mut receiver).await;
    assert_eq!((asked.decision(), asked.summary().destination.0), (&Decision::Ask(None), lab.path("in")));
    // Into its own it goes on without a question, until the drop box is none any more.
    let mut inside = mallory.offers(address, "guest", None, &first).await;
    assert!(matches!(inside.session.hear().await, Some(Message::Accept(_))));
    lab.engine.set_drop(&name("box"), None).unwrap();
    assert_eq!(cancelled(&mut inside).await, Some(Cancel::NotShared));
    drop(inside);
    let report = timeout(LONG, transfer.wait()).await.unwrap();
    assert!(matches!(report.outcome, Outcome::Failed(Fault::NoLongerShared { by: Side::Here })), "{report:?}");
    assert_eq!(answer(&mallory, address, &first).await, Some(Message::GetRefused(GetRefusal::NoShare)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_about_too_much_ends_with_the_drop_box() {
    let lab = Device::new("lab");
    let (mut receiver, address) = lab.receiver().await;
    let (mallory, _folder) = boxed(&lab, address, DropBox { bytes_max: Some(1) }).await;
    offered(&mut receiver).await.decline(DeclineReason::ByChoice);
    let so_far = Totals { entries: 1, bytes: 2, complete: true };
    let mut inside = mallory.offers(address, "guest", None, &Offer { so_far, ..into(1, "box", "") }).await;
    let asked = offered(&mut receiver).await;
    assert_eq!(*asked.decision(), Decision::Ask(Some(AskedBecause::TooMuch { bytes_max: 1 })));
    lab.engine.unshare(&name("box")).unwrap();
    let heard = timeout(LONG, async {
        loop {
            match inside.session.hear().await {
                Some(Message::Ping) => inside.session.say(&Message::Pong).await,
                heard => return heard,
            }
        }
    });
    assert_eq!(heard.await.unwrap(), Some(Message::GetRefused(GetRefusal::NoShare)));
    assert!(asked.accept(AcceptOptions::default()).await.is_err());
}
