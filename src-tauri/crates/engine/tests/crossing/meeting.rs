//! Which devices may connect: codes, pairing, names and keys.
use super::*;
use ringway_model::TurnedAway;

#[tokio::test(flavor = "multi_thread")]
async fn paired_devices_need_no_code_and_find_each_other_by_name() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    fs::create_dir(laptop.path("tree")).unwrap();
    fs::write(laptop.path("tree/a"), "1").unwrap();
    let receiver = lab.receiver(Some("7-river-camera")).await;
    let to = target(&receiver);
    let code = given("7-river-camera").to_pairing_secret();
    let receiving = tokio::spawn(accept(receiver, AcceptOptions::default(), 2));
    assert_eq!(laptop.engine.pair(at(&to), code).await.unwrap().name, "lab");
    assert_complete(&*laptop.send(&[folder(laptop.path("tree"))], "lab", None).await);
    fs::write(laptop.path("tree/a"), "22").unwrap();
    fs::write(laptop.path("tree/b"), "new").unwrap();
    let again = laptop.send(&[folder(laptop.path("tree"))], "lab", None).await;
    assert_complete(&again);
    let (_receiver, reports) = receiving.await.unwrap();
    assert_complete(&reports[1]);
    assert_eq!(listing(&laptop.path("tree")), listing(&lab.path("in/tree")));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_code_the_sender_is_told_whom_to_ask() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    fs::write(laptop.path("file"), "x").unwrap();
    let receiver = lab.receiver(None).await;
    let report = laptop.send(&[folder(laptop.path("file"))], &target(&receiver), None).await;
    assert!(
        matches!(failed(&report), Fault::Auth(AuthError::PairingNeeded { peer_name }) if peer_name == "lab"),
        "{report:?}"
    );
    assert!(receiver.code().is_some(), "asking costs no try");
}

#[tokio::test(flavor = "multi_thread")]
async fn three_wrong_codes_burn_it_and_a_new_one_works() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    fs::write(laptop.path("file"), "x").unwrap();
    let mut receiver = lab.receiver(Some("7-river-camera")).await;
    let to = target(&receiver);
    for left in [2, 1, 0] {
        let report = laptop.send(&[folder(laptop.path("file"))], &to, Some("7-river-zebra")).await;
        assert!(matches!(failed(&report), Fault::Auth(AuthError::WrongCode)), "{report:?}");
        let told = timeout(LONG, receiver.next_event()).await.unwrap().unwrap();
        assert!(
            matches!(told, ReceiverEvent::TurnedAway(TurnedAway { why: AuthError::WrongCode, attempts_left: Some(n), .. }) if n == left),
            "{told:?}"
        );
    }
    assert!(matches!(receiver.next_event().await, Some(ReceiverEvent::CodeChanged)));
    assert!(receiver.code().is_none());
    let report = laptop.send(&[folder(laptop.path("file"))], &to, Some("7-river-camera")).await;
    assert!(matches!(failed(&report), Fault::Auth(AuthError::NoCodeOpen)), "{report:?}");
    assert!(laptop.engine.devices().unwrap().is_empty() && lab.engine.devices().unwrap().is_empty());
    receiver.renew_code().unwrap();
    let code = receiver.code().unwrap().text.unwrap();
    let receiving = tokio::spawn(accept(receiver, AcceptOptions::default(), 1));
    assert_complete(&*laptop.send(&[folder(laptop.path("file"))], &to, Some(&code)).await);
    receiving.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standing_secret_pairs_many() {
    let lab = Device::new("lab");
    let secret = "a long standing secret of ours";
    let receiver = lab.receiver(Some(secret)).await;
    assert!(receiver.code().unwrap().text.is_none(), "it is never shown");
    for name in ["one", "two"] {
        let device = Device::new(name);
        let secret: PairingSecret = given(secret).to_pairing_secret();
        assert_eq!(device.engine.pair(at(&target(&receiver)), secret).await.unwrap().name, "lab");
    }
    assert_eq!(lab.engine.devices().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_known_address_with_another_key_is_refused_unless_it_proves_the_code() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let mut receiver = lab.receiver(Some("7-river-camera")).await;
    let to = receiver.local_address();
    let code = || given("7-river-camera").to_pairing_secret();
    laptop.engine.pair(at(&to.to_string()), code()).await.unwrap();
    receiver.stop().await;
    drop(receiver);
    let other_lab = Device::new("lab");
    let other = other_lab.receiver_at(to).await;
    fs::write(laptop.path("file"), "x").unwrap();
    let report = laptop.send(&[folder(laptop.path("file"))], &to.to_string(), None).await;
    assert!(matches!(failed(&report), Fault::Auth(AuthError::IdentityChanged { .. })), "{report:?}");
    let code = given(&other.code().unwrap().text.unwrap()).to_pairing_secret();
    let paired = laptop.engine.pair(at(&to.to_string()), code).await.unwrap();
    assert_ne!(paired.name, "lab", "that is another one's name here");
    assert_eq!(laptop.engine.devices().unwrap().len(), 2);
    // Its name alone makes it nobody else.
    let third = Device::new("lab");
    let elsewhere = third.receiver(None).await;
    let report = laptop.send(&[folder(laptop.path("file"))], &target(&elsewhere), None).await;
    assert!(matches!(failed(&report), Fault::Auth(AuthError::PairingNeeded { .. })), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn sending_to_oneself_is_refused() {
    let lab = Device::new("lab");
    let receiver = lab.receiver(None).await;
    let code = receiver.code().unwrap().text.unwrap();
    let refused = lab.engine.pair(at(&target(&receiver)), given(&code).to_pairing_secret()).await.unwrap_err();
    assert!(matches!(refused, Fault::Auth(AuthError::Ourselves)), "{refused:?}");
}
