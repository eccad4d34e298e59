//! What a receiver gone bad can make a sender believe: never that something has arrived.
use std::fs;

use ringway_engine::{Compression, Delta, Error, IoMode, Outcome, Report, SendRequest, Source, TlsMode};
use ringway_wire::control::{Message, Receipt};
use ringway_wire::lane::Counts;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::timeout;

use super::mallory::Mallory;
use super::{CODE, Device, LONG, given};

/// Sends a file to Mallory, who takes all of it and then ends the session with `last` instead of a receipt.
async fn sent_to(last: &'static [u8]) -> std::sync::Arc<Report> {
    let laptop = Device::new("laptop");
    fs::write(laptop.path("file"), "contents").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = listener.local_addr().unwrap().to_string();
    let receiving = tokio::spawn(async move {
        let mallory = Mallory::new();
        let mut session = mallory.accepts(&listener, CODE, 1).await;
        let mut lane = mallory.answer(&listener).await;
        assert!(matches!(lane.hear().await, Some(Message::LaneJoin { .. })));
        lane.say(&Message::LaneReady).await;
        let mut taken = Vec::new();
        let _ = lane.stream.read_to_end(&mut taken).await;
        assert!(taken.windows(8).any(|bytes| bytes == b"contents"));
        while !matches!(session.hear().await, Some(Message::Finish { .. })) {}
        session.say_raw(last).await;
        let _ = session.stream.shutdown().await;
        while session.hear().await.is_some() {}
    });
    let request = SendRequest {
        sources: vec![Source { path: laptop.path("file"), contents_only: false }],
        target,
        code: Some(given(CODE).to_pairing_secret()),
        tls: TlsMode::Auto,
        io: IoMode::Auto,
        lanes: None,
        compression: Compression::Off,
        delta: Delta::Auto,
        verify: false,
        limit: None,
        records_per_key: None,
        retry: None,
    };
    let report = timeout(LONG, laptop.engine.send(request).wait()).await.unwrap();
    timeout(LONG, receiving).await.unwrap().unwrap();
    report
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_without_a_receipt_is_a_failure_whatever_was_taken() {
    let report = sent_to(b"").await;
    assert!(matches!(report.outcome, Outcome::Failed(Error::ConnectionLost(_))), "{report:?}");
    // Half a receipt is none.
    let mut receipt = Vec::new();
    Message::Receipt(Default::default()).encode(&mut receipt);
    receipt.pop();
    let report = sent_to(receipt.leak()).await;
    assert!(matches!(report.outcome, Outcome::Failed(Error::ConnectionLost(_))), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_out_of_place_is_a_failure() {
    let mut again = Vec::new();
    Message::LaneReady.encode(&mut again);
    let again: &'static [u8] = again.leak();
    for last in [again, &[0xff; 64]] {
        let report = sent_to(last).await;
        assert!(matches!(report.outcome, Outcome::Failed(Error::Protocol(_))), "{report:?}");
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
        assert!(matches!(report.outcome, Outcome::Failed(Error::Protocol(_))), "{report:?}");
    }
}
