//! Two devices in one process, over real sockets: pairing, offers, trees, and what must be refused.
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use ringway_engine::{
    AcceptOptions, AuthError, Bottleneck, Compression, DeclineReason, Engine, Error, GivenSecret, IoMode, OnConflict,
    Outcome, PairingSecret, Paths, RateLimit, ReceiveOptions, Receiver, ReceiverEvent, Report, SendRequest, Side,
    Source, TlsMode,
};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::timeout;

const LONG: Duration = Duration::from_secs(60);

/// A device with its own folders.
struct Device {
    engine: Engine,
    folder: TempDir,
}

impl Device {
    fn new(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let engine = open(folder.path());
        let mut settings = engine.settings();
        settings.name = name.into();
        engine.set_settings(settings).unwrap();
        Self { engine, folder }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    async fn receiver(&self, code: Option<&str>) -> Receiver {
        self.receiver_with(code, IoMode::Auto).await
    }

    async fn receiver_with(&self, code: Option<&str>, io: IoMode) -> Receiver {
        let options = ReceiveOptions {
            listen: "127.0.0.1:0".parse().unwrap(),
            destination: self.path("in"),
            code: code.map(given),
            pairing: true,
            tls: TlsMode::Auto,
            io,
        };
        self.engine.receive(options).await.unwrap()
    }

    async fn send(&self, what: &[Source], target: &str, code: Option<&str>) -> Arc<Report> {
        self.send_with(what, target, code, IoMode::Auto, None).await
    }

    async fn send_with(
        &self,
        what: &[Source],
        target: &str,
        code: Option<&str>,
        io: IoMode,
        lanes: Option<u8>,
    ) -> Arc<Report> {
        let transfer = self.engine.send(request(what, target, code, io, lanes));
        timeout(LONG, transfer.wait()).await.unwrap()
    }
}

fn request(what: &[Source], target: &str, code: Option<&str>, io: IoMode, lanes: Option<u8>) -> SendRequest {
    let code = code.map(|code| given(code).to_pairing_secret());
    SendRequest {
        sources: what.to_vec(),
        target: target.into(),
        code,
        tls: TlsMode::Auto,
        io,
        lanes,
        // So that as many bytes travel as there are.
        compression: Compression::Off,
        limit: None,
        verify: false,
        records_per_key: None,
    }
}

fn open(folder: &Path) -> Engine {
    let below = |name: &str| folder.join(name);
    Engine::open(Paths { config: below("config"), data: below("data"), state: below("state"), runtime: None }).unwrap()
}

fn given(code: &str) -> GivenSecret {
    GivenSecret::parse(code.as_bytes()).unwrap_or_else(|_| panic!("not a code: {code}"))
}

fn folder(path: PathBuf) -> Source {
    Source { path, contents_only: false }
}

fn target(receiver: &Receiver) -> String {
    receiver.local_address().to_string()
}

/// Answers every offer with yes and returns the reports of `transfers` of them.
async fn accept(mut receiver: Receiver, options: AcceptOptions, transfers: usize) -> (Receiver, Vec<Arc<Report>>) {
    let mut reports = Vec::new();
    while reports.len() < transfers {
        match timeout(LONG, receiver.next_event()).await.unwrap().unwrap() {
            ReceiverEvent::OfferReceived(offer) => {
                let transfer = offer.accept(options.clone()).await.unwrap();
                let report = timeout(LONG, transfer.wait()).await.unwrap();
                reports.push(report);
            }
            ReceiverEvent::Stopped(why) => panic!("stopped: {why:?}"),
            _ => {}
        }
    }
    (receiver, reports)
}

/// A tree with one of everything that a person could have.
fn odd_tree(at: &Path) {
    use std::os::unix::ffi::OsStrExt;
    fs::create_dir_all(at.join("deep/er/still")).unwrap();
    fs::create_dir(at.join("empty")).unwrap();
    fs::write(at.join("hello.txt"), "hello").unwrap();
    fs::write(at.join("deep/er/still/nothing"), "").unwrap();
    fs::write(at.join(std::ffi::OsStr::from_bytes(b"not\xffutf8\nline")), "odd").unwrap();
    fs::write(at.join("x".repeat(255)), "long").unwrap();
    let big: Vec<u8> = (0..3_000_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    fs::write(at.join("deep/big.bin"), &big).unwrap();
    for i in 0..300 {
        fs::write(at.join(format!("deep/er/{i}")), vec![i as u8; i * 37]).unwrap();
    }
    symlink("../outside/nowhere", at.join("deep/dangling")).unwrap();
    fs::hard_link(at.join("hello.txt"), at.join("deep/again.txt")).unwrap();
    fs::set_permissions(at.join("hello.txt"), fs::Permissions::from_mode(0o641)).unwrap();
    fs::set_permissions(at.join("empty"), fs::Permissions::from_mode(0o500)).unwrap();
    let old = std::time::UNIX_EPOCH - Duration::new(1_000_000_000, 123_456_789);
    fs::File::open(at.join("deep/big.bin")).unwrap().set_modified(old).unwrap();
}

/// Every entry with what must survive the journey.
fn listing(at: &Path) -> Vec<(PathBuf, u32, i64, i64, u64, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![at.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let contents = match metadata.file_type() {
                kind if kind.is_symlink() => fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes(),
                kind if kind.is_dir() => {
                    folders.push(path.clone());
                    Vec::new()
                }
                _ => fs::read(&path).unwrap(),
            };
            let below = path.strip_prefix(at).unwrap().to_path_buf();
            let links = if metadata.is_dir() { 0 } else { metadata.nlink() };
            found.push((below, metadata.mode(), metadata.mtime(), metadata.mtime_nsec(), links, contents));
        }
    }
    found.sort();
    found
}

fn assert_complete(report: &Report) {
    assert!(matches!(report.outcome, Outcome::Complete), "{report:?}");
}

fn failed(report: &Report) -> &Error {
    match &report.outcome {
        Outcome::Failed(error) => error,
        other => panic!("{other:?}"),
    }
}

fn assert_nothing_left(destination: &Path) {
    let left: Vec<_> = fs::read_dir(destination)
        .map(|entries| entries.map(|entry| entry.unwrap().path()).collect())
        .unwrap_or_default();
    assert!(left.is_empty(), "{left:?}");
}

/// What the next attempt goes on with is hidden.
fn assert_nothing_appeared(destination: &Path) {
    let names = fs::read_dir(destination).unwrap().map(|entry| entry.unwrap().file_name());
    let seen: Vec<_> = names.filter(|name| !name.as_encoded_bytes().starts_with(b".ringway-")).collect();
    assert!(seen.is_empty(), "{seen:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_crosses_between_two_that_never_met() {
    for io in [IoMode::Auto, IoMode::Sync] {
        for lanes in [1, 3] {
            let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
            odd_tree(&laptop.path("tree"));
            let receiver = lab.receiver_with(None, io).await;
            let code = receiver.code().unwrap().text.unwrap();
            let to = target(&receiver);
            let receiving = tokio::spawn(accept(receiver, AcceptOptions::default(), 1));
            let sent = laptop.send_with(&[folder(laptop.path("tree"))], &to, Some(&code), io, Some(lanes)).await;
            assert_complete(&sent);
            let (receiver, reports) = receiving.await.unwrap();
            assert_complete(&reports[0]);
            assert_eq!(listing(&laptop.path("tree")), listing(&lab.path("in/tree")));
            assert_eq!((sent.files, sent.bytes), (reports[0].files, reports[0].bytes));
            assert_eq!(fs::read_dir(lab.path("in")).unwrap().count(), 1, "nothing but the tree");
            assert!(receiver.code().is_none(), "a used code is closed");
            assert_eq!(laptop.engine.devices().unwrap()[0].name, "lab");
            assert_eq!(lab.engine.devices().unwrap()[0].name, "laptop");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_sent_is_read_back_where_that_is_asked_for() {
    for lanes in [1, 3] {
        let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
        tree_for_renewals(&laptop.path("tree"));
        let receiver = lab.receiver(Some("7-river-camera")).await;
        let tree = [folder(laptop.path("tree"))];
        let mut request = request(&tree, &target(&receiver), Some("7-river-camera"), IoMode::Auto, Some(lanes));
        request.verify = true;
        let receiving = tokio::spawn(accept(receiver, AcceptOptions::default(), 1));
        let sent = timeout(LONG, laptop.engine.send(request).wait()).await.unwrap();
        let received = Arc::clone(&receiving.await.unwrap().1[0]);
        assert_complete(&sent);
        assert_complete(&received);
        let proven = sent.proven.unwrap();
        assert_eq!((proven.files, proven.bytes), (sent.files, sent.bytes));
        assert_eq!(received.proven, sent.proven);
        assert_eq!(listing(&laptop.path("tree")), listing(&lab.path("in/tree")));
    }
}

/// Passes connections on to `to` and counts them; from number `cut_from` on it closes them at once.
async fn relay(to: String, cut_from: usize) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let count = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&count);
    tokio::spawn(async move {
        loop {
            let (mut from, _) = listener.accept().await.unwrap();
            if counting.fetch_add(1, Ordering::SeqCst) >= cut_from {
                continue;
            }
            let to = to.clone();
            tokio::spawn(async move {
                let mut there = TcpStream::connect(to).await.unwrap();
                let _ = copy_bidirectional(&mut from, &mut there).await;
            });
        }
    });
    (address, count)
}

/// Makes a tree's files older than any transfer of it.
fn age(at: &Path) {
    for entry in fs::read_dir(at).unwrap().map(Result::unwrap) {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            age(&entry.path());
        } else if kind.is_file() {
            let yesterday = std::time::SystemTime::now() - Duration::from_secs(24 * 3600);
            fs::File::open(entry.path()).unwrap().set_modified(yesterday).unwrap();
        }
    }
}

/// A tree of which each lane sends some dozens of megabytes, in large files and in small ones.
fn tree_for_renewals(at: &Path) {
    odd_tree(at);
    let bytes: Vec<u8> = (0..30_000_000u32).map(|i| (i.wrapping_mul(2_246_822_519) >> 21) as u8).collect();
    for large in 0..3 {
        fs::write(at.join(format!("large {large}")), &bytes[large * 1000..]).unwrap();
    }
    for small in 0..400 {
        fs::write(at.join(format!("deep/small {small}")), &bytes[small..small + 40_000]).unwrap();
    }
}

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
        request.records_per_key = Some(256);
        let sent = timeout(LONG, laptop.engine.send(request).wait()).await.unwrap();
        let received = Arc::clone(&receiving.await.unwrap().1[0]);
        assert!(
            matches!((&sent.outcome, &received.outcome), (Outcome::Complete, Outcome::Complete)),
            "{sent:?}\n{received:?}"
        );
        assert_eq!(listing(&laptop.path("tree")), listing(&lab.path("in/tree")));
        let connections = connections.load(Ordering::SeqCst);
        assert!(connections > 1 + usize::from(lanes) + 20, "{connections} connections for {} bytes", sent.bytes);
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
    request.records_per_key = Some(256);
    let sending = laptop.engine.send(request);
    let receiving = loop {
        if let Some(ReceiverEvent::OfferReceived(offer)) = timeout(LONG, receiver.next_event()).await.unwrap() {
            break offer.accept(AcceptOptions::default()).await.unwrap();
        }
    };
    while connections.load(Ordering::SeqCst) < 4 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    receiver.stop().await;
    drop(receiver);
    let _again = loop {
        let options = ReceiveOptions {
            listen: address,
            destination: lab.path("elsewhere"),
            code: None,
            pairing: false,
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
    request.records_per_key = Some(256);
    let sent = timeout(LONG, laptop.engine.send(request).wait()).await.unwrap();
    assert!(matches!(failed(&sent), Error::ConnectionLost(_) | Error::Tls(_)), "{sent:?}");
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
    assert!(again.unchanged > 0 && again.bytes > 90_000_000, "{again:?}");
    assert_complete(&receiving.await.unwrap().1[0]);
    assert_eq!(listing(&laptop.path("tree")), listing(&lab.path("in/tree")));
    assert_eq!(left(), ["tree"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn paired_devices_need_no_code_and_find_each_other_by_name() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    fs::create_dir(laptop.path("tree")).unwrap();
    fs::write(laptop.path("tree/a"), "1").unwrap();
    let receiver = lab.receiver(Some("7-river-camera")).await;
    let to = target(&receiver);
    let code = given("7-river-camera").to_pairing_secret();
    let receiving = tokio::spawn(accept(receiver, AcceptOptions::default(), 2));
    assert_eq!(laptop.engine.pair(&to, code).await.unwrap().name, "lab");
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
        matches!(failed(&report), Error::Auth(AuthError::PairingNeeded { peer_name }) if peer_name == "lab"),
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
        assert!(matches!(failed(&report), Error::Auth(AuthError::WrongCode)), "{report:?}");
        let told = timeout(LONG, receiver.next_event()).await.unwrap().unwrap();
        assert!(
            matches!(told, ReceiverEvent::AuthFailed { why: AuthError::WrongCode, tries_left: Some(n), .. } if n == left),
            "{told:?}"
        );
    }
    assert!(matches!(receiver.next_event().await, Some(ReceiverEvent::CodeChanged)));
    assert!(receiver.code().is_none());
    let report = laptop.send(&[folder(laptop.path("file"))], &to, Some("7-river-camera")).await;
    assert!(matches!(failed(&report), Error::Auth(AuthError::NoCodeOpen)), "{report:?}");
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
        assert_eq!(device.engine.pair(&target(&receiver), secret).await.unwrap().name, "lab");
    }
    assert_eq!(lab.engine.devices().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_known_name_with_another_key_is_refused_on_both_sides() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let mut receiver = lab.receiver(Some("7-river-camera")).await;
    let code = || given("7-river-camera").to_pairing_secret();
    laptop.engine.pair(&target(&receiver), code()).await.unwrap();
    while !matches!(receiver.next_event().await, Some(ReceiverEvent::CodeChanged)) {}

    let impostor = Device::new("Laptop");
    let refused = impostor.engine.pair(&target(&receiver), code()).await.unwrap_err();
    assert!(matches!(refused, Error::Auth(AuthError::NameTaken { .. })), "{refused:?}");
    let told = timeout(LONG, receiver.next_event()).await.unwrap().unwrap();
    assert!(matches!(told, ReceiverEvent::AuthFailed { why: AuthError::IdentityChanged { .. }, .. }), "{told:?}");

    let other_lab = Device::new("lab");
    let other = other_lab.receiver(Some("7-river-camera")).await;
    let refused = laptop.engine.pair(&target(&other), code()).await.unwrap_err();
    assert!(matches!(refused, Error::Auth(AuthError::IdentityChanged { .. })), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn sending_to_oneself_is_refused() {
    let lab = Device::new("lab");
    let receiver = lab.receiver(None).await;
    let code = receiver.code().unwrap().text.unwrap();
    let refused = lab.engine.pair(&target(&receiver), given(&code).to_pairing_secret()).await.unwrap_err();
    assert!(matches!(refused, Error::Auth(AuthError::Ourselves)), "{refused:?}");
}

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
        tls: TlsMode::Auto,
        io: IoMode::Auto,
    };
    assert!(matches!(lab.engine.receive(options).await, Err(Error::Listen { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limited_transfer_is_no_faster_than_its_limit_and_both_ends_say_why() {
    const LIMIT: u64 = 4_000_000;
    const LEN: usize = 6_000_000;
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    fs::write(laptop.path("file"), vec![7; LEN]).unwrap();
    let receiver = lab.receiver(Some("7-river-camera")).await;
    let to = target(&receiver);
    let accepting = tokio::spawn(accept(receiver, AcceptOptions::default(), 1));
    let mut request = request(&[folder(laptop.path("file"))], &to, Some("7-river-camera"), IoMode::Auto, Some(3));
    request.limit = Some(RateLimit::new(LIMIT).unwrap());
    let transfer = laptop.engine.send(request);
    let mut named = Vec::new();
    let sent = loop {
        tokio::select! {
            report = transfer.wait() => break report,
            () = tokio::time::sleep(Duration::from_millis(50)) => named.extend(transfer.snapshot().bottleneck),
        }
    };
    let (_receiver, received) = accepting.await.unwrap();
    assert!(matches!(sent.outcome, Outcome::Complete), "{sent:?}");
    // A fifth of a second's worth goes before the first wait: a burst, and a piece. Nothing is said of how much longer it may take.
    let least = LEN as f64 / LIMIT as f64 - 0.2;
    assert!(sent.running_for.as_secs_f64() >= least, "{:?}", sent.running_for);
    assert!(named.contains(&Bottleneck::Limit), "{named:?}");
    for report in [&sent, &received[0]] {
        assert_eq!(report.bottleneck, Some(Bottleneck::Limit), "{report:?}");
        assert!(report.times.unwrap().limited > Duration::ZERO, "{report:?}");
    }
    let (here, there) = (sent.times.unwrap(), received[0].times.unwrap());
    assert_eq!((here.writing, here.limited), (there.writing, there.limited), "both ends have the whole");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_transfer_is_seen_to_move_within_its_frames() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    // Three frames.
    fs::write(laptop.path("file"), vec![7; 3 << 20]).unwrap();
    let receiver = lab.receiver(Some("7-river-camera")).await;
    let to = target(&receiver);
    let accepting = tokio::spawn(accept(receiver, AcceptOptions::default(), 1));
    let mut request = request(&[folder(laptop.path("file"))], &to, Some("7-river-camera"), IoMode::Auto, Some(1));
    request.limit = Some(RateLimit::new(1_000_000).unwrap());
    let transfer = laptop.engine.send(request);
    let mut seen = Vec::new();
    let sent = loop {
        tokio::select! {
            report = transfer.wait() => break report,
            () = tokio::time::sleep(Duration::from_millis(20)) => seen.push(transfer.snapshot().bytes_done),
        }
    };
    accepting.await.unwrap();
    assert_complete(&sent);
    assert!(seen.is_sorted() && seen.iter().all(|bytes| *bytes <= 3 << 20), "{seen:?}");
    seen.dedup();
    assert!(seen.len() > 8, "{seen:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn contents_that_shrink_are_packed_for_a_slow_line_and_arrive_as_they_were() {
    let text: Vec<u8> =
        (0..200_000).flat_map(|line| format!("line {line} of many that are alike\n").into_bytes()).collect();
    for (compression, packs) in [(Compression::Auto, true), (Compression::Off, false)] {
        let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
        fs::write(laptop.path("file"), &text).unwrap();
        let receiver = lab.receiver(Some("7-river-camera")).await;
        let to = target(&receiver);
        let accepting = tokio::spawn(accept(receiver, AcceptOptions::default(), 1));
        let mut request = request(&[folder(laptop.path("file"))], &to, Some("7-river-camera"), IoMode::Auto, None);
        request.limit = Some(RateLimit::new(8_000_000).unwrap());
        request.compression = compression;
        let sent = laptop.engine.send(request).wait().await;
        let (_receiver, received) = accepting.await.unwrap();
        assert!(matches!(sent.outcome, Outcome::Complete), "{sent:?}");
        assert_eq!((sent.bytes, received[0].bytes), (text.len() as u64, text.len() as u64), "counted as they are");
        assert!(fs::read(lab.path("in/file")).unwrap() == text);
        match sent.packed {
            Some(packed) => assert!(packs && packed.wire * 4 < packed.contents, "{packed:?}"),
            None => assert!(!packs, "{sent:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_is_heard_while_a_limit_is_waited_for() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    fs::write(laptop.path("file"), vec![7; 1_000_000]).unwrap();
    let receiver = lab.receiver(Some("7-river-camera")).await;
    let to = target(&receiver);
    let accepting = tokio::spawn(accept(receiver, AcceptOptions::default(), 1));
    let mut request = request(&[folder(laptop.path("file"))], &to, Some("7-river-camera"), IoMode::Auto, None);
    // A quarter of an hour's work.
    request.limit = Some(RateLimit::new(RateLimit::BYTES_PER_S_MIN).unwrap());
    let transfer = laptop.engine.send(request);
    while transfer.snapshot().bottleneck.is_none() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    transfer.cancel();
    let sent = timeout(LONG, transfer.wait()).await.unwrap();
    assert!(matches!(failed(&sent), Error::Cancelled(Side::Here)), "{sent:?}");
    let (_receiver, received) = timeout(LONG, accepting).await.unwrap().unwrap();
    assert!(matches!(failed(&received[0]), Error::Cancelled(Side::There)), "{received:?}");
    assert_nothing_left(&lab.path("in"));
}

/// Passes connections on, each at so many bytes a second and no faster.
async fn slow_line(to: String, bytes_per_s: usize) -> String {
    turning_line(to, bytes_per_s, Arc::default(), usize::MAX).await
}

/// The same; connections that come once it has `turned` break when so many bytes have gone onward.
async fn turning_line(to: String, bytes_per_s: usize, turned: Arc<AtomicBool>, breaks_after: usize) -> String {
    const PIECES_PER_S: usize = 50;
    let socket = TcpSocket::new_v4().unwrap();
    // So that what is sent is not taken long before it breaks.
    socket.set_recv_buffer_size(64 * 1024).unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(64).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        loop {
            let (mut near, _) = listener.accept().await.unwrap();
            let mut left = if turned.load(Ordering::SeqCst) { breaks_after } else { usize::MAX };
            if left == 0 {
                continue;
            }
            let mut far = TcpStream::connect(&to).await.unwrap();
            tokio::spawn(async move {
                let (mut from_far, mut to_far) = far.split();
                let (mut from_near, mut to_near) = near.split();
                let onward = async {
                    let mut piece = vec![0; bytes_per_s / PIECES_PER_S];
                    let mut tick = tokio::time::interval(Duration::from_secs(1) / PIECES_PER_S as u32);
                    loop {
                        let most = piece.len().min(left);
                        let len = from_near.read(&mut piece[..most]).await?;
                        if len == 0 {
                            break;
                        }
                        tick.tick().await;
                        to_far.write_all(&piece[..len]).await?;
                        left -= len;
                    }
                    if left == 0 { Err(std::io::ErrorKind::ConnectionReset.into()) } else { to_far.shutdown().await }
                };
                let back = async { tokio::io::copy(&mut from_far, &mut to_near).await.map(drop) };
                let _: std::io::Result<_> = tokio::try_join!(onward, back);
            });
        }
    });
    address
}

/// What both ends say of a transfer over a line that turns when the first lanes are at work, so that those which are added break after so many
/// bytes; and how many lanes it had before.
async fn over_a_turning_line(breaks_after: usize) -> (Device, Device, [Arc<Report>; 2], u8) {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let bytes: Vec<u8> = (0..24_000_000u32).map(|i| (i.wrapping_mul(2_246_822_519) >> 21) as u8).collect();
    fs::write(laptop.path("file"), bytes).unwrap();
    let receiver = lab.receiver(Some("7-river-camera")).await;
    let turned = Arc::new(AtomicBool::new(false));
    let to = turning_line(target(&receiver), 4_000_000, Arc::clone(&turned), breaks_after).await;
    let accepting = tokio::spawn(accept(receiver, AcceptOptions::default(), 1));
    let file = [folder(laptop.path("file"))];
    let sending = laptop.engine.send(request(&file, &to, Some("7-river-camera"), IoMode::Auto, None));
    // It is named before lanes are added.
    while sending.snapshot().bottleneck.is_none() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    turned.store(true, Ordering::SeqCst);
    let lanes = sending.snapshot().lanes;
    let sent = timeout(LONG, sending.wait()).await.unwrap();
    let (_receiver, received) = timeout(LONG, accepting).await.unwrap().unwrap();
    (laptop, lab, [sent, Arc::clone(&received[0])], lanes)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_added_lane_that_cannot_be_had_is_done_without() {
    // Refused at the door, and in the middle of the handshake.
    for breaks_after in [0, 1_000] {
        let (laptop, lab, [sent, received], lanes) = over_a_turning_line(breaks_after).await;
        assert_complete(&sent);
        assert_complete(&received);
        assert_eq!((sent.lanes, received.lanes), (lanes, lanes));
        assert!(sent.lanes_dropped >= 1, "{sent:?}");
        assert!(fs::read(lab.path("in/file")).unwrap() == fs::read(laptop.path("file")).unwrap());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_added_lane_that_breaks_before_its_first_frame_has_gone_takes_nothing_with_it() {
    let buffered = fs::read_to_string("/proc/sys/net/core/wmem_max").unwrap_or_default();
    if buffered.trim().parse::<u64>().is_ok_and(|bytes| bytes > 256 * 1024) {
        println!(
            "skipped: sockets of this machine buffer {buffered} bytes and more, so that a first frame goes in any case"
        );
        return;
    }
    // Behind the handshake, within a frame of a mebibyte.
    let (laptop, lab, [sent, received], lanes) = over_a_turning_line(40_000).await;
    for report in [&sent, &received] {
        assert_complete(report);
        assert_eq!(report.lanes, lanes, "{report:?}");
        assert!(report.lanes_dropped >= 1, "{report:?}");
    }
    assert!(fs::read(lab.path("in/file")).unwrap() == fs::read(laptop.path("file")).unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_added_lane_that_breaks_later_ends_the_transfer() {
    let (_laptop, lab, [sent, received], _) = over_a_turning_line(3_000_000).await;
    assert!(matches!(failed(&sent), Error::ConnectionLost(_) | Error::FailedThere), "{sent:?}");
    assert!(matches!(failed(&received), Error::ConnectionLost(_) | Error::FailedThere), "{received:?}");
    assert_nothing_appeared(&lab.path("in"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_line_is_named_at_both_ends() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    fs::write(laptop.path("file"), vec![7; 24_000_000]).unwrap();
    let receiver = lab.receiver(Some("7-river-camera")).await;
    let to = slow_line(target(&receiver), 6_000_000).await;
    let accepting = tokio::spawn(accept(receiver, AcceptOptions::default(), 1));
    let sent = laptop.send(&[folder(laptop.path("file"))], &to, Some("7-river-camera")).await;
    let (_receiver, received) = accepting.await.unwrap();
    for report in [&sent, &received[0]] {
        assert!(matches!(report.outcome, Outcome::Complete), "{report:?}");
        assert_eq!(report.bottleneck, Some(Bottleneck::Network), "{report:?}");
    }
}
