//! Transfers whose connection is lost under way: the sender goes on by itself, the receiver lets
//! it, and neither asks anybody.
use std::sync::Mutex;

use ringway_engine::Transfer;
use ringway_model::{OnCancel, Outage, Stage};
use tokio::io::AsyncWrite;
use tokio::sync::watch;

use super::*;

/// Slow enough that a transfer of [`tree_for_renewals`], 106 MB, is met under way.
const BYTES_PER_S: u64 = 40_000_000;

/// Past the first large file.
pub(crate) const MIDWAY_BYTES: u64 = 40_000_000;

/// What a network does.
#[derive(Clone, Copy, PartialEq)]
enum Weather {
    Fair,
    /// Nothing comes back from the receiver any more.
    Deaf,
    /// All connections end, and new ones end at once.
    Cut,
    /// The same, and the receiver hears nothing of it.
    Unplugged,
}

/// Passes connections on to `to`, as the weather is.
async fn network(to: Arc<Mutex<String>>) -> (String, watch::Sender<Weather>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (weather, seen) = watch::channel(Weather::Fair);
    tokio::spawn(async move {
        loop {
            let (from, _) = listener.accept().await.unwrap();
            let (to, seen) = (to.lock().unwrap().clone(), seen.clone());
            tokio::spawn(async move {
                if *seen.borrow() == Weather::Unplugged {
                    return;
                }
                let mut until_cut = seen.clone();
                tokio::select! {
                    () = pass(from, to, seen) => {}
                    _ = until_cut.wait_for(|weather| *weather == Weather::Cut) => {}
                }
            });
        }
    });
    (address, weather)
}

async fn pass(from: TcpStream, to: String, seen: watch::Receiver<Weather>) {
    let Ok(there) = TcpStream::connect(to).await else { return };
    let (mut from_sender, to_sender) = from.into_split();
    let (mut from_receiver, mut to_receiver) = there.into_split();
    let mut unplugged = seen.clone();
    let passing = async {
        let onward = tokio::io::copy(&mut from_sender, &mut to_receiver);
        let back = pass_back(&mut from_receiver, to_sender, seen);
        let _ = tokio::join!(onward, back);
    };
    tokio::select! {
        () = passing => return,
        _ = unplugged.wait_for(|weather| *weather == Weather::Unplugged) => {}
    }
    // The sender's side has ended with what was passing; the receiver's stays open, and silent.
    drop(from_sender);
    std::future::pending::<()>().await;
}

/// What comes while the weather is deaf waits for ever.
async fn pass_back(
    from: &mut (impl AsyncReadExt + Unpin),
    mut to: impl AsyncWrite + Unpin,
    mut seen: watch::Receiver<Weather>,
) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        let _ = seen.wait_for(|weather| *weather == Weather::Fair).await;
        if to.write_all(&bytes[..read]).await.is_err() {
            return;
        }
    }
}

/// A transfer under way through a network, accepted once.
pub(crate) struct UnderWay {
    pub(crate) laptop: Device,
    pub(crate) lab: Device,
    pub(crate) address: String,
    weather: watch::Sender<Weather>,
    /// Where the network leads.
    leads_to: Arc<Mutex<String>>,
    receiver: Receiver,
    pub(crate) sending: Transfer,
    pub(crate) receiving: Transfer,
}

pub(crate) fn slow_request(laptop: &Device, address: &str, code: Option<&str>, retry: Duration) -> SendRequest {
    slow_request_of(&[folder(laptop.path("tree"))], address, code, retry)
}

fn slow_request_of(what: &[Source], address: &str, code: Option<&str>, retry: Duration) -> SendRequest {
    let mut request = request(what, address, code, IoMode::Auto, Some(1));
    request.options.limit = Some(RateLimit::new(BYTES_PER_S).unwrap());
    request.options.retry = Some(retry);
    request
}

impl UnderWay {
    /// Until so many bytes are there.
    pub(crate) async fn until(bytes: u64, retry: Duration) -> Self {
        Self::with_more_names(0, bytes, retry).await
    }

    /// The same of so many folders beside the tree.
    pub(crate) async fn with_more_names(more: usize, bytes: u64, retry: Duration) -> Self {
        let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
        tree_for_renewals(&laptop.path("tree"));
        age(&laptop.path("tree"));
        let mut what = vec![folder(laptop.path("tree"))];
        for number in 0..more {
            let beside = laptop.path(&format!("beside {number}"));
            fs::create_dir(&beside).unwrap();
            what.push(folder(beside));
        }
        let mut receiver = lab.receiver(Some("7-river-camera")).await;
        let leads_to = Arc::new(Mutex::new(target(&receiver)));
        let (address, weather) = network(Arc::clone(&leads_to)).await;
        let sending = laptop.engine.send(slow_request_of(&what, &address, Some("7-river-camera"), retry));
        let receiving = loop {
            if let Some(ReceiverEvent::OfferReceived(offer)) = timeout(LONG, receiver.next_event()).await.unwrap() {
                break offer.accept(AcceptOptions::default()).await.unwrap();
            }
        };
        until(|| sending.progress().bytes_done >= bytes).await;
        Self { laptop, lab, address, weather, leads_to, receiver, sending, receiving }
    }

    /// Cut, and noticed by both.
    pub(crate) async fn cut(&self) {
        self.weather.send_replace(Weather::Cut);
        until(|| [&self.sending, &self.receiving].iter().all(|one| one.progress().stage == Stage::Reconnecting)).await;
    }

    /// Nothing comes back from the receiver any more.
    pub(crate) fn go_deaf(&self) {
        self.weather.send_replace(Weather::Deaf);
    }

    /// Cut, and noticed by the sender.
    pub(crate) async fn cut_sender(&self) {
        assert_ne!(self.sending.progress().stage, Stage::Ended, "it has heard nothing");
        self.weather.send_replace(Weather::Cut);
        until(|| self.sending.progress().stage == Stage::Reconnecting).await;
    }

    pub(crate) fn mend(&self) {
        self.weather.send_replace(Weather::Fair);
    }

    pub(crate) async fn reports(&self) -> [Arc<Report>; 2] {
        [end(&self.sending).await, end(&self.receiving).await]
    }

    /// Nobody at the receiver was asked more than once.
    pub(crate) async fn assert_asked_once(mut self) {
        self.receiver.stop().await;
        while let Some(event) = self.receiver.next_event().await {
            assert!(!matches!(event, ReceiverEvent::OfferReceived(_)), "{event:?}");
        }
    }
}

pub(crate) async fn until(is_so: impl Fn() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(LONG, waiting).await.unwrap();
}

pub(crate) async fn end(transfer: &Transfer) -> Arc<Report> {
    let ended = timeout(LONG, transfer.wait()).await;
    ended.unwrap_or_else(|_| panic!("{:?} has not ended: {:?}", transfer.direction(), transfer.progress()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_goes_to_the_device_that_was_reached_first_or_fails() {
    let both = UnderWay::until(MIDWAY_BYTES, LONG).await;
    let other = Device::new("other");
    let mut others = other.receiver(Some("7-river-camera")).await;
    both.laptop.engine.pair(at(&target(&others)), given("7-river-camera").to_pairing_secret()).await.unwrap();
    both.cut().await;
    *both.leads_to.lock().unwrap() = target(&others);
    both.mend();
    let sent = end(&both.sending).await;
    let (expected_id, other_id) = (both.lab.engine.this_device().id, other.engine.this_device().id);
    assert!(
        matches!(failed(&sent), Fault::Auth(AuthError::IdentityChanged { expected, found, .. })
            if (*expected, *found) == (expected_id, other_id)),
        "{sent:?}"
    );
    others.stop().await;
    while let Some(event) = timeout(LONG, others.next_event()).await.unwrap() {
        assert!(!matches!(event, ReceiverEvent::OfferReceived(_)), "{event:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_goes_on_by_itself_and_counts_each_file_once() {
    let both = UnderWay::until(MIDWAY_BYTES, LONG).await;
    both.cut().await;
    let waits = both.sending.progress().interruption.unwrap();
    assert!(
        waits.gives_up.is_some_and(|left| left <= LONG)
            && waits.next_try.is_none_or(|next| next < Duration::from_millis(1_300)),
        "{waits:?}"
    );
    let awaited = both.receiving.progress().interruption.unwrap();
    assert!(awaited.next_try.is_none() && awaited.why == Outage::Broken, "{awaited:?}");
    let done = both.sending.progress().bytes_done;
    both.mend();
    until(|| both.sending.progress().stage == Stage::Running).await;
    assert!(both.sending.progress().bytes_done >= done, "what is there is not lost from sight");
    let [sent, received] = both.reports().await;
    assert_complete(&sent);
    assert_complete(&received);
    let tree = listing(&both.laptop.path("tree"));
    assert_eq!(tree, listing(&both.lab.path("in/tree")));
    for report in [&sent, &received] {
        assert_eq!((report.reconnected, report.counts.unchanged, report.counts.failed), (1, 0, 0), "{report:?}");
        assert_eq!(
            report.counts.files + report.counts.folders + report.counts.links,
            1 + tree.len() as u64,
            "{report:?}"
        );
    }
    assert_eq!(fs::read_dir(both.lab.path("in")).unwrap().count(), 1, "nothing but the tree");
    both.assert_asked_once().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_goes_on_as_often_as_it_is_cut() {
    let both = UnderWay::until(MIDWAY_BYTES, LONG).await;
    for _ in 0..2 {
        both.cut().await;
        both.mend();
        // An end that is cut before it has noticed that it goes on counts both as one.
        until(|| [&both.sending, &both.receiving].iter().all(|end| end.progress().stage == Stage::Running)).await;
    }
    let [sent, received] = both.reports().await;
    assert_complete(&sent);
    assert_complete(&received);
    assert_eq!((sent.reconnected, received.reconnected), (2, 2));
    assert_eq!(listing(&both.laptop.path("tree")), listing(&both.lab.path("in/tree")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_takes_the_connection_for_alive_lets_it_go_on_too() {
    let both = UnderWay::until(MIDWAY_BYTES, LONG).await;
    both.weather.send_replace(Weather::Unplugged);
    until(|| both.sending.progress().stage == Stage::Reconnecting).await;
    assert_eq!(both.receiving.progress().stage, Stage::Running, "it has heard of nothing");
    both.mend();
    let [sent, received] = both.reports().await;
    assert_complete(&sent);
    assert_complete(&received);
    assert_eq!((sent.reconnected, received.reconnected), (1, 1));
    assert_eq!(listing(&both.laptop.path("tree")), listing(&both.lab.path("in/tree")));
    both.assert_asked_once().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_is_heard_while_the_sender_waits() {
    let both = UnderWay::until(MIDWAY_BYTES, LONG).await;
    both.cut().await;
    until(|| both.sending.progress().interruption.is_some_and(|waits| waits.next_try.is_some())).await;
    both.sending.cancel(OnCancel::Remove);
    // It tries once more to tell its receiver.
    let sent = end(&both.sending).await;
    assert!(matches!(failed(&sent), Fault::Cancelled { by: Side::Here, .. }), "{sent:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_stopped_at_the_receiver_is_removed_and_its_sender_hears_so() {
    let both = UnderWay::until(MIDWAY_BYTES, LONG).await;
    both.cut().await;
    assert_ne!(fs::read_dir(both.lab.path("in")).unwrap().count(), 0, "what is whole waits");
    both.receiving.cancel(OnCancel::Remove);
    let received = timeout(Duration::from_secs(5), both.receiving.wait()).await.unwrap();
    assert!(matches!(failed(&received), Fault::Cancelled { by: Side::Here, .. }), "{received:?}");
    assert_nothing_left(&both.lab.path("in"));
    both.mend();
    let sent = end(&both.sending).await;
    assert_eq!(*failed(&sent), Fault::cancelled(Side::There), "{sent:?}");
    both.assert_asked_once().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_given_up_in_time_with_what_broke_it() {
    let both = UnderWay::until(MIDWAY_BYTES, Duration::from_secs(2)).await;
    both.weather.send_replace(Weather::Cut);
    let begun = std::time::Instant::now();
    let sent = end(&both.sending).await;
    assert!(matches!(failed(&sent), Fault::ConnectionLost(_)), "{sent:?}");
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    assert_eq!(sent.reconnected, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sender_that_is_started_anew_goes_on_without_asking() {
    let both = UnderWay::until(MIDWAY_BYTES, LONG).await;
    both.cut().await;
    both.sending.cancel(OnCancel::Remove);
    end(&both.sending).await;
    both.mend();
    let again = end(&both.laptop.engine.send(slow_request(&both.laptop, &both.address, None, LONG))).await;
    assert_complete(&again);
    let received = end(&both.receiving).await;
    assert_complete(&received);
    assert_eq!((received.reconnected, received.counts.unchanged), (1, 0), "{received:?}");
    assert_eq!(listing(&both.laptop.path("tree")), listing(&both.lab.path("in/tree")));
    both.assert_asked_once().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_tree_of_the_same_device_is_asked_about() {
    let mut both = UnderWay::until(MIDWAY_BYTES, LONG).await;
    both.cut().await;
    both.mend();
    fs::write(both.laptop.path("other"), "x").unwrap();
    let other = request(&[folder(both.laptop.path("other"))], &both.address, None, IoMode::Auto, Some(1));
    let other = both.laptop.engine.send(other);
    let asked = loop {
        if let Some(ReceiverEvent::OfferReceived(offer)) = timeout(LONG, both.receiver.next_event()).await.unwrap() {
            break offer;
        }
    };
    assert_eq!(asked.summary().names, ["other"]);
    asked.decline(DeclineReason::ByChoice);
    failed(&*end(&other).await);
    assert_complete(&both.reports().await[0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receipt_that_was_lost_is_given_again() {
    let both = UnderWay::until(MIDWAY_BYTES, LONG).await;
    both.go_deaf();
    let received = end(&both.receiving).await;
    assert_complete(&received);
    both.cut_sender().await;
    both.mend();
    let sent = end(&both.sending).await;
    assert_complete(&sent);
    assert_eq!((sent.counts.files, sent.counts.bytes), (received.counts.files, received.counts.bytes), "{sent:?}");
    assert_eq!(
        sent.counts.unchanged, received.counts.unchanged,
        "it is the receipt that was lost, and nothing was listed again: {sent:?}"
    );
    assert_eq!(listing(&both.laptop.path("tree")), listing(&both.lab.path("in/tree")));
    assert_eq!(fs::read_dir(both.lab.path("in")).unwrap().count(), 1, "nothing but the tree");
    both.assert_asked_once().await;
}
