//! Two devices in one process, over real sockets: pairing, offers, trees, what must be refused, and
//! what goes on. Shared by all of it: devices, requests, trees and relays.
mod by_hand;
mod compared;
mod dropped;
mod forgotten;
mod interrupted;
mod lines;
mod meeting;
mod notes;
mod offered;
mod offers;
mod paused;
mod renewals;
mod requests;
mod rules;
mod too_late;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use ringway_engine::{
    AcceptOptions, Address, Engine, GivenSecret, PairingSecret, Paths, ReceiveOptions, Receiver, ReceiverEvent,
    SendRequest, Target, TransferOptions,
};
use ringway_model::{
    AuthError, Bottleneck, Compression, DeclineReason, Fault, IoMode, OnConflict, Outcome, RateLimit, Report, Side,
    Source, TlsMode,
};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::timeout;

use offered::offered;

const LONG: Duration = Duration::from_secs(60);

/// A device with its own folders.
struct Device {
    engine: Engine,
    folder: TempDir,
}

impl Device {
    fn new(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("in")).unwrap();
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

    /// Listens where somebody else has just stopped to.
    async fn receiver_at(&self, address: std::net::SocketAddr) -> Receiver {
        let options = || ReceiveOptions {
            listen: address,
            destination: self.path("in"),
            code: None,
            pairing: true,
            announce: false,
            rule_folders: true,
            tls: TlsMode::Auto,
            io: IoMode::Auto,
        };
        let binding = async {
            loop {
                match self.engine.receive(options()).await {
                    Ok(receiver) => return receiver,
                    Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
                }
            }
        };
        timeout(LONG, binding).await.expect("the port becomes free")
    }

    async fn receiver_with(&self, code: Option<&str>, io: IoMode) -> Receiver {
        let options = ReceiveOptions {
            listen: "127.0.0.1:0".parse().unwrap(),
            destination: self.path("in"),
            code: code.map(given),
            pairing: true,
            announce: false,
            rule_folders: true,
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
        let target = self.engine.resolve(target).unwrap();
        let transfer = self.engine.send(SendRequest { target, ..request(what, ANYWHERE, code, io, lanes) });
        timeout(LONG, transfer.wait()).await.unwrap()
    }
}

fn request(what: &[Source], target: &str, code: Option<&str>, io: IoMode, lanes: Option<u8>) -> SendRequest {
    let code = code.map(|code| given(code).to_pairing_secret());
    // So that as many bytes travel as there are.
    let compression = Compression::Off;
    let options = TransferOptions { code, io, lanes, compression, ..TransferOptions::default() };
    SendRequest { options, ..SendRequest::new(what.to_vec(), at(target)) }
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

/// Stands for a target that is set after.
const ANYWHERE: &str = "127.0.0.1:1";

fn at(address: &str) -> Target {
    Target::Address(Address::parse(address, 0).unwrap())
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

fn failed(report: &Report) -> &Fault {
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
            assert_eq!((sent.counts.files, sent.counts.bytes), (reports[0].counts.files, reports[0].counts.bytes));
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
        request.options.verify = true;
        let receiving = tokio::spawn(accept(receiver, AcceptOptions::default(), 1));
        let sent = timeout(LONG, laptop.engine.send(request).wait()).await.unwrap();
        let received = Arc::clone(&receiving.await.unwrap().1[0]);
        assert_complete(&sent);
        assert_complete(&received);
        let proven = sent.proven.unwrap();
        assert_eq!((proven.files, proven.bytes), (sent.counts.files, sent.counts.bytes));
        assert_eq!(received.proven, sent.proven);
        assert_eq!(listing(&laptop.path("tree")), listing(&lab.path("in/tree")));
    }
}
