//! Userspace lanes with rustls itself at the other end, over real sockets, in both roles and both
//! directions.
mod clocks;

use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;

use ringway_model::{Compression, IoMode, OnConflict, Source, TlsPath, TransferId, UserTlsReason};
use ringway_tree::bulk::{LaneSink, LaneSource};
use ringway_tree::compression::Packing;
use ringway_tree::descriptors::ForReceiving;
use ringway_tree::io_plan::IoPlan;
use ringway_tree::receive::{AttemptKey, DestinationOptions, Expected, Incoming};
use ringway_tree::send::Outgoing;
use ringway_wire::OfferedNames;
use ringway_wire::lane::Counts;
use ringway_wire::record::CONTENT_MAX;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::{Lane, LaneStops, Relay, SendingLane, Share};
use crate::bottleneck::LaneClock;
use crate::key::DeviceKey;
use crate::tls::{Channel, Tls};

const USER: TlsPath = TlsPath::User(UserTlsReason::Asked);

/// Lengths around those of a record, a write and a read.
const LENGTHS: [usize; 14] = [
    1,
    16,
    CONTENT_MAX - 1,
    CONTENT_MAX,
    CONTENT_MAX + 1,
    2 * CONTENT_MAX - 1,
    2 * CONTENT_MAX,
    64 * 1024 + 3,
    256 * 1024,
    32 * CONTENT_MAX,
    32 * CONTENT_MAX + 1,
    600_000,
    1024 * 1024,
    3_000_001,
];

/// A lane over a connection, without compression.
pub(super) fn sending<C>(connection: C, share: Share, clock: LaneClock) -> SendingLane<C> {
    SendingLane::new(connection, share, Packing::new(Compression::Off, Arc::default()).unwrap(), clock)
}

/// Both ends of one connection after its handshake: the connecting one first.
pub(crate) async fn channels() -> (Channel, Channel) {
    let tls = Arc::new(Tls::new(&DeviceKey::fleeting().unwrap()).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let accepting = tokio::spawn({
        let tls = Arc::clone(&tls);
        async move { tls.accept(listener.accept().await.unwrap().0).await.unwrap() }
    });
    let connected = tls
        .connect(tokio::net::TcpStream::connect(address).await.unwrap(), crate::tls::Expected::Anyone)
        .await
        .unwrap();
    (connected, accepting.await.unwrap())
}

/// A lane, and rustls at its other end; the lane is the connecting side if `connects`.
async fn lane_and_rustls(connects: bool) -> (Lane, Channel) {
    let (connected, accepted) = channels().await;
    let (ours, theirs) = if connects { (connected, accepted) } else { (accepted, connected) };
    (Lane::take(ours, USER).await.unwrap(), theirs)
}

async fn both_lanes() -> (Lane, Lane) {
    let (connected, accepted) = channels().await;
    (Lane::take(connected, USER).await.unwrap(), Lane::take(accepted, USER).await.unwrap())
}

fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 31 + at / 251) as u8).collect()
}

fn read_exact(lane: &mut Lane, len: usize) -> io::Result<Vec<u8>> {
    let mut found = vec![0; len];
    let mut filled = 0;
    while filled < len {
        match lane.read(&mut found[filled..])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => filled += read,
        }
    }
    Ok(found)
}

#[tokio::test(flavor = "multi_thread")]
async fn rustls_reads_what_a_lane_sends() {
    for connects in [true, false] {
        let (mut lane, mut rustls) = lane_and_rustls(connects).await;
        let sending = std::thread::spawn(move || {
            for len in LENGTHS {
                let all = bytes(len);
                let (header, rest) = all.split_at(len.min(16));
                let (head, body) = rest.split_at(rest.len() / 3);
                lane.send(header, head, body).unwrap();
            }
            lane.send(&[], &[], &[]).unwrap();
            lane.close().unwrap();
            lane
        });
        for len in LENGTHS {
            let mut found = vec![0; len];
            rustls.stream.read_exact(&mut found).await.unwrap();
            assert_eq!(found, bytes(len), "{len} bytes");
        }
        assert_eq!(rustls.stream.read(&mut [0; 1]).await.unwrap(), 0, "a proper end");
        drop(sending.join().unwrap());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lane_reads_what_rustls_sends() {
    for connects in [true, false] {
        let (mut lane, mut rustls) = lane_and_rustls(connects).await;
        let reading = std::thread::spawn(move || {
            for len in LENGTHS {
                assert_eq!(read_exact(&mut lane, len).unwrap(), bytes(len), "{len} bytes");
            }
            assert_eq!(lane.read(&mut [0; 7]).unwrap(), 0, "a proper end");
            assert_eq!(lane.read(&mut [0; 7]).unwrap(), 0, "and it stays one");
        });
        // In pieces that match neither records nor the reader's requests.
        let all: Vec<u8> = LENGTHS.into_iter().flat_map(bytes).collect();
        for piece in all.chunks(10_007) {
            rustls.stream.write_all(piece).await.unwrap();
            rustls.stream.flush().await.unwrap();
        }
        rustls.stream.shutdown().await.unwrap();
        reading.join().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn data_sent_before_the_hand_over_is_not_lost() {
    let (connected, accepted) = channels().await;
    let mut rustls = connected;
    rustls.stream.write_all(&bytes(40_000)).await.unwrap();
    rustls.stream.flush().await.unwrap();
    // rustls has read some of it here, and some waits in the socket, perhaps in mid-record.
    let mut ours = accepted;
    let mut first = [0; 3];
    ours.stream.read_exact(&mut first).await.unwrap();
    let mut lane = Lane::take(ours, USER).await.unwrap();
    let reading = std::thread::spawn(move || read_exact(&mut lane, 40_000 - 3 + 20_000).unwrap());
    rustls.stream.write_all(&bytes(20_000)).await.unwrap();
    rustls.stream.flush().await.unwrap();
    let found = [&first[..], &reading.join().unwrap()].concat();
    assert_eq!(found, [bytes(40_000), bytes(20_000)].concat());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lane_reads_everything_that_trickles_in() {
    // Fewer bytes at a time than any mark, and the last of the awaited bytes much later than the
    // first.
    let (mut sending, mut reading) = both_lanes().await;
    let reader = std::thread::spawn(move || {
        let (one, two) = (read_exact(&mut reading, 700_000).unwrap(), read_exact(&mut reading, 5).unwrap());
        [one, two].concat()
    });
    for piece in bytes(700_005).chunks(30_011) {
        sending.send(piece, &[], &[]).unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(3)).await;
    }
    assert_eq!(reader.join().unwrap(), bytes(700_005));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_update_ends_a_lane() {
    let (mut lane, mut rustls) = lane_and_rustls(false).await;
    match &mut rustls.stream {
        tokio_rustls::TlsStream::Client(stream) => stream.get_mut().1.refresh_traffic_keys().unwrap(),
        tokio_rustls::TlsStream::Server(stream) => stream.get_mut().1.refresh_traffic_keys().unwrap(),
    }
    rustls.stream.write_all(b"under the new key").await.unwrap();
    rustls.stream.flush().await.unwrap();
    let error = tokio::task::spawn_blocking(move || lane.read(&mut [0; 10]).unwrap_err()).await.unwrap();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
}

/// Passes bytes on and flips a bit of the one at `altered`. Cuts the stream after `len` bytes.
fn meddle(from: TcpStream, to: TcpStream, altered: Option<usize>, len: usize) {
    use std::io::{Read, Write};
    let (mut from, mut to, mut at) = (from, to, 0);
    let mut piece = [0; 4096];
    while at < len {
        let room = piece.len().min(len - at);
        let Ok(read @ 1..) = from.read(&mut piece[..room]) else { break };
        if let Some(altered) = altered.filter(|altered| (at..at + read).contains(altered)) {
            piece[altered - at] ^= 4;
        }
        at += read;
        if to.write_all(&piece[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}

/// Both ends of a connection. Its bytes from the connecting side, after the handshake, pass through
/// `meddle`.
async fn meddled(altered: Option<usize>, len: usize) -> (Lane, Lane) {
    let (mut sending, mut reading) = both_lanes().await;
    let (Lane::User { tcp: ours, .. }, Lane::User { tcp: theirs, .. }) = (&mut sending, &mut reading) else {
        panic!("not in userspace");
    };
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (from, _) = listener.accept().unwrap();
    let two = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (to, _) = listener.accept().unwrap();
    (*ours, *theirs) = (one, two);
    std::thread::spawn(move || meddle(from, to, altered, len));
    (sending, reading)
}

#[tokio::test(flavor = "multi_thread")]
async fn altered_records_are_refused() {
    // In a header, in the first record, in a later one, in a tag.
    for altered in [0, 3, 100, 16_384 + 5 + 3, 50_000] {
        let (mut sending, mut reading) = meddled(Some(altered), usize::MAX).await;
        let sender = std::thread::spawn(move || sending.send(&bytes(100_000), &[], &[]));
        let error = read_exact(&mut reading, 100_000).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData, "byte {altered}: {error}");
        drop(reading);
        // Whether it noticed depends on how much it had sent by then.
        let _ = sender.join().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_is_an_error_and_not_an_end() {
    for len in [0, 3, 100, 16_384 + 22, 50_000] {
        let (mut sending, mut reading) = meddled(None, len).await;
        let sender = std::thread::spawn(move || sending.send(&bytes(100_000), &[], &[]));
        assert_eq!(read_exact(&mut reading, 100_000).unwrap_err().kind(), io::ErrorKind::UnexpectedEof, "{len}");
        drop(reading);
        let _ = sender.join().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lane_that_waits_is_ended_from_outside() {
    let (sending, mut reading) = both_lanes().await;
    let stops = LaneStops::default();
    stops.set(0, &reading).unwrap();
    let reader = std::thread::spawn(move || read_exact(&mut reading, 1_000_000));
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    stops.stop();
    assert!(reader.join().unwrap().is_err());
    drop(sending);
}

#[tokio::test(flavor = "multi_thread")]
async fn work_of_a_lane_whose_connection_breaks_goes_to_the_other_lane() {
    let folder = tempfile::tempdir().unwrap();
    let tree = folder.path().join("tree");
    std::fs::create_dir(&tree).unwrap();
    std::fs::write(tree.join("large"), bytes(20_000_000)).unwrap();
    (0..300).for_each(|small| std::fs::write(tree.join(format!("small {small}")), bytes(small * 100)).unwrap());

    let (near, mut far) = both_lanes().await;
    let (broken, _other_end) = both_lanes().await;
    let stops = LaneStops::default();
    stops.set(1, &broken).unwrap();
    stops.stop_one(1);
    let relay = Arc::<Relay>::default();
    let mut added = sending(broken, Share::added(Arc::clone(&relay)), LaneClock::default());
    let mut needed = sending(near, Share::needed(relay), LaneClock::default());
    let io = || IoPlan::new(IoMode::Sync).unwrap().open().unwrap();

    let outgoing = Outgoing::start(&[Source { path: tree.clone(), contents_only: false }]).unwrap();
    let there = folder.path().join("there");
    let incoming = Incoming::begin(DestinationOptions {
        destination: there.clone(),
        expected: Expected::Made,
        transfer: TransferId([7; 16]),
        on_conflict: OnConflict::Replace,
        keep_owner: false,
        owners_by_name: false,
        keep_setuid: false,
        keep_acls: false,
        widen_modes: false,
        brought_before: Box::new(|_| None),
        others_brought: Box::new(|| false),
        announce: None,
        whose: None,
        recall: None,
        attempt: AttemptKey::new(b"", &OfferedNames::default()),
        from: String::new(),
        names: Vec::new(),
        more_names: 0,
        offered: None,
        asked: None,
        answers: None,
        open: ForReceiving::MOST,
        prove: false,
        allowance: None,
        own: Default::default(),
        into_home: Default::default(),
        homes: Default::default(),
        tops: Default::default(),
    })
    .unwrap();
    let receiving = Arc::clone(&incoming);
    let receiver = std::thread::spawn(move || receiving.run_lane(&mut far, &mut io()));
    let sending = Arc::clone(&outgoing);
    let adding = std::thread::spawn(move || {
        sending.run_lane(&mut added, &mut io()).unwrap();
        assert!(added.is_unused() && added.is_spent());
    });
    // It has some work before the other one begins.
    while outgoing.sent() == Counts::default() {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    let sending = Arc::clone(&outgoing);
    let sender = std::thread::spawn(move || sending.run_lane(&mut needed, &mut io()));
    adding.join().unwrap();
    sender.join().unwrap().unwrap();
    receiver.join().unwrap().unwrap();
    let (receipt, _) = incoming.finish(&outgoing.sent()).unwrap();
    assert_eq!((receipt.there.files, receipt.failed, outgoing.failed()), (301, 0, 0));
    assert!(std::fs::read(there.join("tree/large")).unwrap() == bytes(20_000_000));
    for small in 0..300 {
        assert!(std::fs::read(there.join(format!("tree/small {small}"))).unwrap() == bytes(small * 100), "{small}");
    }
}
