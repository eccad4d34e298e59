//! What a receiver gone bad can make a sender believe: never that something has arrived.
use std::fs;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ringway_engine::SendRequest;
use ringway_engine::limits::{ANSWER_TIME_MAX, TICK};
use ringway_model::{Compression, DeclineReason, Fault, OnCancel, Outcome, Report, Side, Source, Stage};
use ringway_wire::control::{Cancel, EntryFailed, Message, Micros, Progress, Proven, Receipt, Refusal};
use ringway_wire::lane::Counts;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};

use super::mallory::{Channel, Mallory};
use super::{CODE, Device, LONG, assert_about, at, given};

fn request(path: PathBuf, target: &TcpListener) -> SendRequest {
    let what = vec![Source { path, contents_only: false }];
    let mut request = SendRequest::new(what, at(target.local_addr().unwrap()));
    request.options.code = Some(given(CODE).to_pairing_secret());
    request.options.compression = Compression::Off;
    request
}

/// The first connection of a session's only lane.
async fn lane_of(mallory: &Mallory, listener: &TcpListener) -> Channel {
    let mut lane = mallory.answer(listener).await;
    assert!(matches!(lane.hear().await, Some(Message::LaneJoin { .. })));
    lane.say(&Message::LaneReady).await;
    lane
}

/// Sends a folder to Mallory, with a file and a socket, of which the latter fails here. He takes
/// all of it and then ends the session with `last` instead of an honest receipt.
async fn tree_sent_to(last: Vec<u8>, verify: bool) -> Arc<Report> {
    let laptop = Device::new("laptop");
    fs::create_dir(laptop.path("tree")).unwrap();
    fs::write(laptop.path("tree/file"), "contents").unwrap();
    let _socket = UnixListener::bind(laptop.path("tree/socket")).unwrap();
    sent_by(&laptop, laptop.path("tree"), last, verify).await
}

/// Sends a file to Mallory, who takes all of it and then ends the session with `last` instead of a
/// receipt.
async fn sent_to(last: &'static [u8]) -> Arc<Report> {
    let laptop = Device::new("laptop");
    fs::write(laptop.path("file"), "contents").unwrap();
    sent_by(&laptop, laptop.path("file"), last.to_vec(), false).await
}

async fn sent_by(laptop: &Device, path: PathBuf, last: Vec<u8>, verify: bool) -> Arc<Report> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut request = request(path, &listener);
    request.options.verify = verify;
    let receiving = tokio::spawn(async move {
        let mallory = Mallory::new();
        let mut session = mallory.accepts(&listener, CODE, 1).await;
        let mut lane = lane_of(&mallory, &listener).await;
        let mut taken = Vec::new();
        let _ = lane.stream.read_to_end(&mut taken).await;
        assert!(taken.windows(8).any(|bytes| bytes == b"contents"));
        while !matches!(session.hear().await, Some(Message::Finish { .. })) {}
        session.say_raw(&last).await;
        let _ = session.stream.shutdown().await;
        while session.hear().await.is_some() {}
    });
    let report = timeout(LONG, laptop.engine.send(request).wait()).await.unwrap();
    timeout(LONG, receiving).await.unwrap().unwrap();
    report
}

/// What was sent of the tree is there, but for what the receipt says otherwise.
fn receipt() -> Receipt {
    Receipt { there: Counts { files: 1, folders: 1, links: 0, bytes: 8 }, ..Receipt::default() }
}

fn encoded(messages: impl IntoIterator<Item = Message>) -> Vec<u8> {
    messages.into_iter().fold(Vec::new(), |mut bytes, message| {
        message.encode(&mut bytes);
        bytes
    })
}

fn named(failures: u32) -> impl Iterator<Item = Message> {
    (0..failures).map(|number| {
        let path = format!("tree/{number}").into_bytes();
        Message::EntryFailed(EntryFailed { path, operation: 1, reason: 0, errno: 13 })
    })
}

/// The clock of the test's only thread jumps from one deadline to the next, where all of it waits.
#[tokio::test]
async fn sender_gives_up_a_receiver_that_does_not_answer_for_ten_minutes() {
    let laptop = Device::new("laptop");
    fs::write(laptop.path("file"), "contents").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let transfer = laptop.engine.send(request(laptop.path("file"), &listener));
    let mut session = Mallory::new().leaves_unanswered(&listener, CODE).await;
    let offered = tokio::spawn(async move {
        loop {
            match session.hear().await {
                Some(Message::Ping) => session.say(&Message::Pong).await,
                Some(_) => {}
                None => return,
            }
        }
    });
    tokio::time::pause();
    let waits_since = tokio::time::Instant::now();
    let report = transfer.wait().await;
    assert!(matches!(report.outcome, Outcome::Failed(Fault::Declined(DeclineReason::NoAnswer))), "{report:?}");
    assert_about(waits_since.elapsed(), ANSWER_TIME_MAX);
    offered.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_is_said_to_a_paused_receiver_however_early_that_answers() {
    // Which of the two a session looks at first is chance.
    for _ in 0..8 {
        let laptop = Device::new("laptop");
        fs::write(laptop.path("file"), "contents").unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut request = request(laptop.path("file"), &listener);
        request.options.retry = Some(LONG);
        let transfer = laptop.engine.send(request);
        let mallory = Mallory::new();
        let mut session = mallory.accepts(&listener, CODE, 1).await;
        session.say(&Message::Cancel(Cancel::Paused)).await;
        let _ = session.stream.shutdown().await;
        let paused = async {
            while transfer.progress().stage != Stage::Paused {
                sleep(TICK).await
            }
        };
        timeout(LONG, paused).await.unwrap();
        transfer.cancel(OnCancel::Keep);
        let mut session = mallory.answers_at_once(&listener, &Message::Decline(DeclineReason::Paused)).await;
        let mut heard = Vec::new();
        while let Some(message) = session.hear().await {
            heard.push(message);
        }
        assert!(matches!(heard.last(), Some(Message::Cancel(Cancel::ByPersonKeeping))), "{heard:?}");
        let _ = session.stream.shutdown().await;
        let report = timeout(LONG, transfer.wait()).await.unwrap();
        assert!(matches!(report.outcome, Outcome::Failed(Fault::Cancelled { by: Side::Here, .. })), "{report:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_near_the_largest_number_are_a_failure_and_never_wrap() {
    let honest = tree_sent_to(encoded([Message::Receipt(receipt())]), false).await;
    assert!(matches!(honest.outcome, Outcome::Partial) && honest.counts.failed == 1, "{honest:?}");
    let nothing = Receipt::default();
    for receipt in [receipt(), nothing] {
        for failed in [u64::MAX, u64::MAX - 1, 1 << 48, 1_000] {
            let last = encoded([Message::Receipt(Receipt { failed, ..receipt })]);
            let report = tree_sent_to(last, false).await;
            let is_refused =
                matches!(report.outcome, Outcome::Failed(Fault::Protocol { .. } | Fault::ReceiptContradicts { .. }));
            assert!(is_refused, "{failed}: {report:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn receipt_that_forgets_failures_it_named_is_a_failure() {
    let last = |failures, failed| encoded(named(failures).chain([Message::Receipt(Receipt { failed, ..receipt() })]));
    let report = tree_sent_to(last(2, 2), false).await;
    assert!(matches!(report.outcome, Outcome::Partial) && report.counts.failed == 3, "{report:?}");
    for (failures, failed) in [(2, 0), (2, 1), (20_000, 0)] {
        let report = tree_sent_to(last(failures, failed), false).await;
        let is_refused = match &report.outcome {
            Outcome::Failed(Fault::ReceiptContradicts { .. }) => failures == 2,
            // The 10,001st failure is too many, whatever the receipt says.
            Outcome::Failed(Fault::Protocol { .. }) => failures == 20_000,
            _ => false,
        };
        assert!(is_refused, "{failures} named, {failed} counted: {report:?}");
        assert!(report.failures.len() <= 1_000 && report.counts.failed > 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn receipt_of_a_second_session_that_forgets_failures_named_in_the_first_is_a_failure() {
    for (failed, is_refused) in [(2, false), (1, true), (0, true)] {
        let laptop = Device::new("laptop");
        fs::create_dir(laptop.path("tree")).unwrap();
        fs::write(laptop.path("tree/file"), "contents").unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut request = request(laptop.path("tree"), &listener);
        request.options.retry = Some(Duration::from_secs(20));
        let receiving = tokio::spawn(async move {
            let mallory = Mallory::new();
            let mut session = mallory.accepts(&listener, CODE, 1).await;
            let mut lane = lane_of(&mallory, &listener).await;
            let _ = lane.stream.read_to_end(&mut Vec::new()).await;
            while !matches!(session.hear().await, Some(Message::Finish { .. })) {}
            session.say_raw(&encoded(named(2))).await;
            let _ = session.stream.shutdown().await;
            while session.hear().await.is_some() {}
            drop(session);
            let mut session = mallory.answer(&listener).await;
            session.hello("lab", true).await;
            while !matches!(session.hear().await, Some(Message::ReceiptWanted(_))) {}
            session.say(&Message::Receipt(Receipt { failed, ..receipt() })).await;
            let _ = session.stream.shutdown().await;
            while session.hear().await.is_some() {}
        });
        let report = timeout(LONG, laptop.engine.send(request).wait()).await.unwrap();
        timeout(LONG, receiving).await.unwrap().unwrap();
        match &report.outcome {
            Outcome::Partial => assert!(!is_refused && report.counts.failed == 2, "{failed} counted: {report:?}"),
            Outcome::Failed(Fault::ReceiptContradicts { .. }) => assert!(is_refused, "{failed} counted: {report:?}"),
            _ => panic!("{failed} counted: {report:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sender_that_is_turned_away_instead_of_getting_its_receipt_asks_again() {
    let laptop = Device::new("laptop");
    fs::write(laptop.path("file"), "contents").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut request = request(laptop.path("file"), &listener);
    request.options.retry = Some(Duration::from_secs(20));
    let receiving = tokio::spawn(async move {
        let mallory = Mallory::new();
        let mut session = mallory.accepts(&listener, CODE, 1).await;
        let mut lane = lane_of(&mallory, &listener).await;
        let _ = lane.stream.read_to_end(&mut Vec::new()).await;
        while !matches!(session.hear().await, Some(Message::Finish { .. })) {}
        drop(session);
        let receipt = Receipt { there: Counts { files: 1, folders: 0, links: 0, bytes: 8 }, ..Receipt::default() };
        for answer in [Message::Refused(Refusal::PairingBusy(1_000)), Message::Receipt(receipt)] {
            let mut session = mallory.answer(&listener).await;
            session.hello("lab", true).await;
            while !matches!(session.hear().await, Some(Message::ReceiptWanted(_))) {}
            session.say(&answer).await;
            let _ = session.stream.shutdown().await;
            while session.hear().await.is_some() {}
        }
    });
    let report = timeout(LONG, laptop.engine.send(request).wait()).await.unwrap();
    assert!(matches!(report.outcome, Outcome::Complete), "{report:?}");
    timeout(LONG, receiving).await.unwrap().unwrap();
}

/// How a send ends whose offer is turned away, and accepted if it comes again.
async fn send_that_is_turned_away(retry: Option<Duration>) -> Arc<Report> {
    let laptop = Device::new("laptop");
    fs::write(laptop.path("file"), "contents").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut request = request(laptop.path("file"), &listener);
    request.options.retry = retry;
    let receiving = tokio::spawn(async move {
        let mallory = Mallory::new();
        // It pairs, and there is no place for its offer.
        let mut session = mallory.pairs_and_refuses(&listener, CODE, Refusal::PairingBusy(1_000)).await;
        while session.hear().await.is_some() {}
        let mut session = mallory.accepts_from(&listener, None, 1).await;
        let mut lane = lane_of(&mallory, &listener).await;
        let _ = lane.stream.read_to_end(&mut Vec::new()).await;
        while !matches!(session.hear().await, Some(Message::Finish { .. })) {}
        let receipt = Receipt { there: Counts { files: 1, folders: 0, links: 0, bytes: 8 }, ..Receipt::default() };
        session.say(&Message::Receipt(receipt)).await;
        let _ = session.stream.shutdown().await;
        while session.hear().await.is_some() {}
    });
    let report = timeout(LONG, laptop.engine.send(request).wait()).await.unwrap();
    receiving.abort();
    report
}

#[tokio::test(flavor = "multi_thread")]
async fn sender_that_is_turned_away_before_anybody_was_asked_offers_again_within_its_retry() {
    let report = send_that_is_turned_away(Some(Duration::from_secs(20))).await;
    assert!(matches!(report.outcome, Outcome::Complete), "{report:?}");
    let report = send_that_is_turned_away(None).await;
    assert!(matches!(report.outcome, Outcome::Failed(Fault::Declined(DeclineReason::Busy))), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn verified_is_what_was_proven_and_nothing_else() {
    let last = |files, bytes| {
        let proven = Some(Proven { files, bytes, took: Micros::default() });
        encoded([Message::Receipt(Receipt { proven, ..receipt() })])
    };
    let report = tree_sent_to(last(1, 8), true).await;
    assert!(matches!(report.outcome, Outcome::Partial) && report.proven.is_some_and(|proven| proven.files == 1));
    for (files, bytes) in [(0, 0), (1, 7)] {
        let report = tree_sent_to(last(files, bytes), true).await;
        assert!(matches!(report.outcome, Outcome::Failed(Fault::ReceiptContradicts { .. })), "{report:?}");
        assert!(report.proven.is_none());
    }
    let report = tree_sent_to(encoded([Message::Receipt(receipt())]), true).await;
    assert!(matches!(report.outcome, Outcome::Failed(Fault::ReceiptContradicts { .. })), "no proof at all: {report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_that_is_only_claimed_does_not_begin_the_tries_anew() {
    let laptop = Device::new("laptop");
    fs::write(laptop.path("file"), vec![7; 1 << 20]).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut request = request(laptop.path("file"), &listener);
    request.options.retry = Some(Duration::from_secs(2));
    let sessions = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&sessions);
    let receiving = tokio::spawn(async move {
        let mallory = Mallory::new();
        loop {
            let session = counted.fetch_add(1, Ordering::Relaxed);
            let code = (session == 0).then_some(CODE);
            let mut channel = mallory.accepts_from(&listener, code, 1).await;
            // It claims a little more each time, and takes nothing.
            channel.say(&Message::Progress(Progress { entries: 0, bytes: (session + 1) * 30_000 })).await;
            while !matches!(channel.hear().await, Some(Message::PathTaken(_)) | None) {}
        }
    });
    let report = timeout(LONG, laptop.engine.send(request).wait()).await.expect("it ends by itself");
    assert!(matches!(report.outcome, Outcome::Failed(Fault::ConnectionLost(_))), "{report:?}");
    assert!((2..=5).contains(&sessions.load(Ordering::Relaxed)), "{sessions:?}");
    receiving.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn receiver_that_is_there_and_takes_nothing_is_given_up() {
    let laptop = Device::new("laptop");
    // More than sockets hold.
    fs::write(laptop.path("file"), vec![7; 64 << 20]).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut request = request(laptop.path("file"), &listener);
    request.options.timeout = Some(Duration::from_secs(2));
    let receiving = tokio::spawn(async move {
        let mallory = Mallory::new();
        let mut session = mallory.accepts(&listener, CODE, 1).await;
        let _lane = lane_of(&mallory, &listener).await;
        // What it says keeps the session alive.
        while let Some(message) = session.hear().await {
            if !matches!(message, Message::Cancel(_)) {
                session.say(&Message::Pong).await;
            }
        }
    });
    let report = timeout(LONG, laptop.engine.send(request).wait()).await.expect("it ends by itself");
    assert!(matches!(report.outcome, Outcome::Failed(Fault::Stalled { seconds: 2.. })), "{report:?}");
    receiving.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn receiver_that_answers_no_list_is_given_up() {
    // With the walk at its end, and with more than is listed ahead of the answers.
    for files in [1, 100] {
        let laptop = Device::new("laptop");
        fs::create_dir(laptop.path("tree")).unwrap();
        for file in 0..files {
            // Too large for a batch.
            fs::File::create(laptop.path(&format!("tree/{file}"))).unwrap().set_len(1 << 20).unwrap();
        }
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut request = request(laptop.path("tree"), &listener);
        request.options.timeout = Some(Duration::from_secs(2));
        let receiving = tokio::spawn(async move {
            let mallory = Mallory::new();
            let mut session = mallory.accepts_as(&listener, Some(CODE), 1, true).await;
            let mut lane = lane_of(&mallory, &listener).await;
            // It takes all that comes, and never says what it wants.
            tokio::spawn(async move { while lane.stream.read_u8().await.is_ok() {} });
            while let Some(message) = session.hear().await {
                if !matches!(message, Message::Cancel(_)) {
                    session.say(&Message::Pong).await;
                }
            }
        });
        let report = timeout(LONG, laptop.engine.send(request).wait()).await.expect("it ends by itself");
        assert!(matches!(report.outcome, Outcome::Failed(Fault::Stalled { seconds: 2.. })), "{files}: {report:?}");
        receiving.abort();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_without_a_receipt_is_a_failure_whatever_was_taken() {
    let report = sent_to(b"").await;
    assert!(matches!(report.outcome, Outcome::Failed(Fault::ConnectionLost(_))), "{report:?}");
    // Half a receipt is none.
    let mut receipt = Vec::new();
    Message::Receipt(Default::default()).encode(&mut receipt);
    receipt.pop();
    let report = sent_to(receipt.leak()).await;
    assert!(matches!(report.outcome, Outcome::Failed(Fault::ConnectionLost(_))), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_out_of_place_is_a_failure() {
    let mut again = Vec::new();
    Message::LaneReady.encode(&mut again);
    let again: &'static [u8] = again.leak();
    for last in [again, &[0xff; 64]] {
        let report = sent_to(last).await;
        assert!(matches!(report.outcome, Outcome::Failed(Fault::Protocol { .. })), "{report:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receipt_for_something_else_than_was_sent_is_a_failure() {
    let there = |files, bytes| {
        let mut receipt = Vec::new();
        let there = Counts { files, folders: 0, links: 0, bytes };
        Message::Receipt(Receipt { there, ..Receipt::default() }).encode(&mut receipt);
        receipt.leak()
    };
    assert!(matches!(sent_to(there(1, 8)).await.outcome, Outcome::Complete));
    for (files, bytes) in [(0, 0), (2, 8), (1, 7), (1, 9)] {
        let report = sent_to(there(files, bytes)).await;
        assert!(matches!(report.outcome, Outcome::Failed(Fault::ReceiptContradicts { .. })), "{report:?}");
    }
}
