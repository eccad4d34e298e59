//! Drop boxes between two devices: what programs say of how to receive does not count there.
use ringway_engine::{Decision, PathInShare};
use ringway_model::{Comparison, ComparisonState, DropBox, SharedWith};

use super::*;

const CODE: &str = "7-river-camera";

#[tokio::test(flavor = "multi_thread")]
async fn a_drop_box_takes_carefully_whatever_the_program_says() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let mut receiver = lab.receiver(Some(CODE)).await;
    fs::write(laptop.path("first"), "first").unwrap();
    let what = [folder(laptop.path("first"))];
    let sending = laptop.engine.send(request(&what, &target(&receiver), Some(CODE), IoMode::Auto, Some(1)));
    offered(&mut receiver).await.accept(AcceptOptions::default()).await.unwrap().wait().await;
    assert_complete(&timeout(LONG, sending.wait()).await.unwrap());
    let drop_box = lab.path("box");
    fs::create_dir_all(drop_box.join("sub")).unwrap();
    fs::write(drop_box.join("sub/tree"), "of this machine").unwrap();
    let name = ringway_model::ShareName::new("box").unwrap();
    lab.engine.share_as(&drop_box, &name, &SharedWith::All, Some(DropBox::default()), false).unwrap();
    let tree = laptop.path("tree");
    fs::write(&tree, "by the laptop").unwrap();
    fs::set_permissions(&tree, fs::Permissions::from_mode(0o4755)).unwrap();
    let in_share = Some(PathInShare::parse(b"box/sub").unwrap());
    let request = SendRequest { in_share, ..request(&[folder(tree)], &target(&receiver), None, IoMode::Auto, Some(1)) };
    let sending = laptop.engine.send(request);
    let offer = offered(&mut receiver).await;
    assert_eq!(*offer.decision(), Decision::Accept { bytes_max: None });
    let reckless = AcceptOptions {
        on_conflict: OnConflict::Replace,
        keep_setuid: true,
        widen_modes: true,
        ..AcceptOptions::default()
    };
    offer.accept(reckless).await.unwrap().wait().await;
    assert_complete(&timeout(LONG, sending.wait()).await.unwrap());
    let text = |name: &str| fs::read_to_string(drop_box.join("sub").join(name)).unwrap();
    assert_eq!((text("tree").as_str(), text("tree (1)").as_str()), ("of this machine", "by the laptop"));
    let mode = fs::metadata(drop_box.join("sub/tree (1)")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o755);
    assert_eq!(fs::read_dir(lab.path("in")).unwrap().count(), 1, "what was sent first");
    let past = laptop.engine.past(&ringway_model::PastQuery::default(), 1).unwrap();
    assert_eq!(past[0].in_share.as_ref().unwrap().to_string(), "box/sub");
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_new_in_a_folder_of_a_drop_box_that_is_yet_to_be_made() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let mut receiver = lab.receiver(Some(CODE)).await;
    let tree = laptop.path("tree");
    fs::write(&tree, "by the laptop").unwrap();
    let pairing =
        laptop.engine.send(request(&[folder(tree.clone())], &target(&receiver), Some(CODE), IoMode::Auto, Some(1)));
    offered(&mut receiver).await.accept(AcceptOptions::default()).await.unwrap().wait().await;
    assert_complete(&timeout(LONG, pairing.wait()).await.unwrap());
    let drop_box = lab.path("box");
    fs::create_dir(&drop_box).unwrap();
    let name = ringway_model::ShareName::new("box").unwrap();
    let asks = DropBox { bytes_max: Some(1) };
    lab.engine.share_as(&drop_box, &name, &SharedWith::All, Some(asks), false).unwrap();
    let in_share = Some(PathInShare::parse(b"box/2026/november").unwrap());
    let request = SendRequest { in_share, ..request(&[folder(tree)], &target(&receiver), None, IoMode::Auto, Some(1)) };
    let _sending = laptop.engine.send(request);
    let offer = offered(&mut receiver).await;
    timeout(LONG, offer.compared()).await.expect("it is compared");
    let all_new = Comparison { state: ComparisonState::Done, new: 1, ..Comparison::default() };
    assert_eq!(offer.summary().comparison, Some(all_new));
    assert!(!drop_box.join("2026").exists(), "it is made once the offer is accepted");
}
