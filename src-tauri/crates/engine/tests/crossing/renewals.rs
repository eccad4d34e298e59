//! Lanes that go on in new connections before their keys are used up, and what comes of those that
//! cannot.
use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn lanes_go_on_in_new_connections_before_their_keys_are_used_up() {
    for lanes in [1, 2] {
        let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
        tree_for_renewals(&laptop.path("tree"));
        let receiver = lab.receiver(Some("7-river-camera")).await;
        let (to, connections) = relay(target(&receiver), usize::MAX).await;
        let receiving = tokio::spawn(accept(receiver, AcceptOptions::default(), 1));
        let tree = [folder(laptop.path("tree"))];
        let mut request = request(&tree, &to, Some("7-river-camera"), IoMode::Auto, Some(lanes));
        // 4 MB of full records.
        request.options.records_per_key = Some(256);
        let sent = timeout(LONG, laptop.engine.send(request).wait()).await.unwrap();
        let received = Arc::clone(&receiving.await.unwrap().1[0]);
        assert!(
            matches!((&sent.outcome, &received.outcome), (Outcome::Complete, Outcome::Complete)),
            "{sent:?}\n{received:?}"
        );
        assert_eq!(listing(&laptop.path("tree")), listing(&lab.path("in/tree")));
        let connections = connections.load(Ordering::SeqCst);
        assert!(connections > 1 + usize::from(lanes) + 20, "{connections} connections for {} bytes", sent.counts.bytes);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lane_goes_on_when_its_receiver_listens_anew() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    tree_for_renewals(&laptop.path("tree"));
    let mut receiver = lab.receiver(Some("7-river-camera")).await;
    let address = receiver.local_address();
    let (to, connections) = relay(address.to_string(), usize::MAX).await;
    let mut request = request(&[folder(laptop.path("tree"))], &to, Some("7-river-camera"), IoMode::Auto, Some(1));
    request.options.records_per_key = Some(256);
    let sending = laptop.engine.send(request);
    let receiving = loop {
        if let Some(ReceiverEvent::OfferReceived(offer)) = timeout(LONG, receiver.next_event()).await.unwrap() {
            break offer.accept(AcceptOptions::default()).await.unwrap();
        }
    };
    let connected = async {
        while connections.load(Ordering::SeqCst) < 4 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(LONG, connected).await.unwrap();
    receiver.stop().await;
    drop(receiver);
    let _again = loop {
        let options = ReceiveOptions {
            listen: address,
            destination: lab.path("elsewhere"),
            code: None,
            pairing: false,
            announce: false,
            rule_folders: true,
            tls: TlsMode::Auto,
            io: IoMode::Auto,
        };
        match lab.engine.receive(options).await {
            Ok(receiver) => break receiver,
            // The one before takes a moment to let go of the port.
            Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    };
    assert_complete(&timeout(LONG, sending.wait()).await.unwrap());
    assert_complete(&timeout(LONG, receiving.wait()).await.unwrap());
    assert_eq!(listing(&laptop.path("tree")), listing(&lab.path("in/tree")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lane_that_cannot_be_renewed_ends_the_transfer_and_the_next_one_goes_on() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    tree_for_renewals(&laptop.path("tree"));
    age(&laptop.path("tree"));
    let receiver = lab.receiver(Some("7-river-camera")).await;
    // The session, the lane, and ten connections more: the first large file is whole by then.
    let (to, connections) = relay(target(&receiver), 12).await;
    let receiving = tokio::spawn(accept(receiver, AcceptOptions::default(), 1));
    let tree = [folder(laptop.path("tree"))];
    let mut request = request(&tree, &to, Some("7-river-camera"), IoMode::Auto, Some(1));
    request.options.records_per_key = Some(256);
    let sent = timeout(LONG, laptop.engine.send(request).wait()).await.unwrap();
    assert!(matches!(failed(&sent), Fault::ConnectionLost(_) | Fault::Tls { .. }), "{sent:?}");
    let tried = connections.load(Ordering::SeqCst);
    assert!(tried > 13, "tried again: {tried}");
    let (receiver, reports) = receiving.await.unwrap();
    failed(&reports[0]);
    let left = || fs::read_dir(lab.path("in")).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
    assert!(matches!(&*left(), [hidden] if hidden.as_encoded_bytes().starts_with(b".ringway-")), "{:?}", left());
    let to = target(&receiver);
    let receiving = tokio::spawn(accept(receiver, AcceptOptions::default(), 1));
    let again = laptop.send(&tree, &to, None).await;
    assert_complete(&again);
    assert!(again.counts.unchanged > 0 && again.counts.bytes > 90_000_000, "{again:?}");
    assert_complete(&receiving.await.unwrap().1[0]);
    assert_eq!(listing(&laptop.path("tree")), listing(&lab.path("in/tree")));
    assert_eq!(left(), ["tree"]);
}
