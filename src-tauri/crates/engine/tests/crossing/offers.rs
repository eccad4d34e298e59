//! What is asked and refused, stopped or only partly sent, and which targets and ports there are.
use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn declined_offers_say_why_and_leave_nothing() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    fs::write(laptop.path("file"), "x").unwrap();
    let mut receiver = lab.receiver(Some("7-river-camera")).await;
    let to = target(&receiver);
    let declining = tokio::spawn(async move {
        loop {
            if let Some(ReceiverEvent::OfferReceived(offer)) = receiver.next_event().await {
                assert_eq!(offer.summary().from_name, "laptop");
                offer.decline(DeclineReason::ByChoice);
                return receiver;
            }
        }
    });
    let report = laptop.send(&[folder(laptop.path("file"))], &to, Some("7-river-camera")).await;
    assert!(matches!(failed(&report), Error::Declined(DeclineReason::ByChoice)), "{report:?}");
    declining.await.unwrap();
    assert_nothing_left(&lab.path("in"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unusable_destination_is_told_to_both() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    fs::write(laptop.path("file"), "x").unwrap();
    fs::write(lab.path("in"), "a file is in the way").unwrap();
    let mut receiver = lab.receiver(Some("7-river-camera")).await;
    let to = target(&receiver);
    let accepting = tokio::spawn(async move {
        loop {
            if let Some(ReceiverEvent::OfferReceived(offer)) = receiver.next_event().await {
                return offer.accept(AcceptOptions::default()).await.map(drop);
            }
        }
    });
    let report = laptop.send(&[folder(laptop.path("file"))], &to, Some("7-river-camera")).await;
    assert!(matches!(failed(&report), Error::Declined(DeclineReason::NotWritable)), "{report:?}");
    assert!(matches!(accepting.await.unwrap(), Err(Error::Path { .. })));
    assert_eq!(fs::read(lab.path("in")).unwrap(), b"a file is in the way");
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_at_either_end_stops_both_and_leaves_nothing_half() {
    for sender_cancels in [true, false] {
        let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
        fs::create_dir(laptop.path("tree")).unwrap();
        let sparse = fs::File::create(laptop.path("tree/endless")).unwrap();
        // Data all over, so that it takes a while.
        for step in 0..400u64 {
            use std::os::unix::fs::FileExt;
            sparse.write_all_at(&[7; 1_000_000], step * 1_000_000).unwrap();
        }
        let mut receiver = lab.receiver(Some("7-river-camera")).await;
        let request =
            request(&[folder(laptop.path("tree"))], &target(&receiver), Some("7-river-camera"), IoMode::Auto, None);
        let sending = laptop.engine.send(request);
        let receiving = loop {
            if let Some(ReceiverEvent::OfferReceived(offer)) = receiver.next_event().await {
                break offer.accept(AcceptOptions::default()).await.unwrap();
            }
        };
        while receiving.snapshot().bytes_done == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        if sender_cancels {
            sending.cancel()
        } else {
            receiving.cancel()
        }
        let (sent, received) = timeout(LONG, async { (sending.wait().await, receiving.wait().await) }).await.unwrap();
        let (here, there) = if sender_cancels { (&sent, &received) } else { (&received, &sent) };
        assert!(matches!(failed(here), Error::Cancelled(Side::Here)), "{here:?}");
        assert!(matches!(failed(there), Error::Cancelled(Side::There)), "{there:?}");
        assert_nothing_left(&lab.path("in"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_sent_is_named_and_the_rest_arrives() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    fs::create_dir(laptop.path("tree")).unwrap();
    fs::write(laptop.path("tree/good"), "good").unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(laptop.path("tree/socket")).unwrap();
    let receiver = lab.receiver(Some("7-river-camera")).await;
    let to = target(&receiver);
    let receiving = tokio::spawn(accept(receiver, AcceptOptions::default(), 1));
    let report = laptop.send(&[folder(laptop.path("tree"))], &to, Some("7-river-camera")).await;
    assert!(matches!(report.outcome, Outcome::Partial), "{report:?}");
    assert_eq!(report.failures.len(), 1);
    assert_eq!(report.failures[0].path, Path::new("tree/socket"));
    let (_receiver, reports) = receiving.await.unwrap();
    assert!(matches!(reports[0].outcome, Outcome::Partial), "{:?}", reports[0]);
    assert_eq!(reports[0].failures[0].side, Side::There);
    assert_eq!(fs::read(lab.path("in/tree/good")).unwrap(), b"good");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_windows_policy_numbers_folders_of_strangers_and_merges_those_of_friends() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    fs::create_dir_all(lab.path("in/tree")).unwrap();
    fs::write(lab.path("in/tree/mine"), "not from the laptop").unwrap();
    fs::create_dir(laptop.path("tree")).unwrap();
    fs::write(laptop.path("tree/a"), "1").unwrap();
    let receiver = lab.receiver(Some("7-river-camera")).await;
    let to = target(&receiver);
    let options = AcceptOptions { on_conflict: OnConflict::RenameTop, ..AcceptOptions::default() };
    let receiving = tokio::spawn(accept(receiver, options, 2));
    assert_complete(&*laptop.send(&[folder(laptop.path("tree"))], &to, Some("7-river-camera")).await);
    assert_eq!(fs::read_dir(lab.path("in/tree")).unwrap().count(), 1, "the existing folder is as it was");
    assert_complete(&*laptop.send(&[folder(laptop.path("tree"))], &to, None).await);
    receiving.await.unwrap();
    assert_eq!(fs::read_dir(lab.path("in")).unwrap().count(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_source_and_a_wrong_target_are_clear_errors() {
    let laptop = Device::new("laptop");
    let report = laptop.send(&[folder(laptop.path("nowhere"))], "127.0.0.1:1", None).await;
    assert!(matches!(failed(&report), Error::Path { path, .. } if path.ends_with("nowhere")), "{report:?}");
    fs::write(laptop.path("file"), "x").unwrap();
    let report = laptop.send(&[folder(laptop.path("file"))], "127.0.0.1:1", None).await;
    assert!(matches!(failed(&report), Error::Unreachable { .. }), "{report:?}");
    let report = laptop.send(&[folder(laptop.path("file"))], "no such device", None).await;
    assert!(matches!(failed(&report), Error::UnknownTarget(_)), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_that_is_taken_is_a_clear_error() {
    let lab = Device::new("lab");
    let first = lab.receiver(None).await;
    let options = ReceiveOptions {
        listen: first.local_address(),
        destination: lab.path("in"),
        code: None,
        pairing: true,
        announce: false,
        rule_folders: true,
        tls: TlsMode::Auto,
        io: IoMode::Auto,
    };
    assert!(matches!(lab.engine.receive(options).await, Err(Error::Listen { .. })));
}
