//! Lines that are slow, limited, or break for lanes that were added.
use ringway_model::OnCancel;

use super::*;

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
    request.options.limit = Some(RateLimit::new(LIMIT).unwrap());
    let transfer = laptop.engine.send(request);
    let mut named = Vec::new();
    let deadline = tokio::time::Instant::now() + LONG;
    let sent = loop {
        tokio::select! {
            report = transfer.wait() => break report,
            () = tokio::time::sleep_until(deadline) => panic!("it does not end"),
            () = tokio::time::sleep(Duration::from_millis(50)) => named.extend(transfer.progress().limited_by),
        }
    };
    let (_receiver, received) = accepting.await.unwrap();
    assert!(matches!(sent.outcome, Outcome::Complete), "{sent:?}");
    // A fifth of a second's worth goes before the first wait: a burst, and a piece. Nothing is said
    // of how much longer it may take.
    let least = LEN as f64 / LIMIT as f64 - 0.2;
    assert!(sent.running_for.as_secs_f64() >= least, "{:?}", sent.running_for);
    assert!(named.contains(&Bottleneck::Limit), "{named:?}");
    for report in [&sent, &received[0]] {
        assert_eq!(report.limited_by, Some(Bottleneck::Limit), "{report:?}");
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
    request.options.limit = Some(RateLimit::new(1_000_000).unwrap());
    let transfer = laptop.engine.send(request);
    let mut seen = Vec::new();
    let deadline = tokio::time::Instant::now() + LONG;
    let sent = loop {
        tokio::select! {
            report = transfer.wait() => break report,
            () = tokio::time::sleep_until(deadline) => panic!("it does not end"),
            () = tokio::time::sleep(Duration::from_millis(20)) => seen.push(transfer.progress().bytes_done),
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
        request.options.limit = Some(RateLimit::new(8_000_000).unwrap());
        request.options.compression = compression;
        let sent = timeout(LONG, laptop.engine.send(request).wait()).await.unwrap();
        let (_receiver, received) = accepting.await.unwrap();
        assert!(matches!(sent.outcome, Outcome::Complete), "{sent:?}");
        assert_eq!(
            (sent.counts.bytes, received[0].counts.bytes),
            (text.len() as u64, text.len() as u64),
            "counted as they are"
        );
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
    request.options.limit = Some(RateLimit::new(RateLimit::BYTES_PER_S_MIN).unwrap());
    let transfer = laptop.engine.send(request);
    while transfer.progress().limited_by.is_none() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    transfer.cancel(OnCancel::Remove);
    let sent = timeout(LONG, transfer.wait()).await.unwrap();
    assert!(matches!(failed(&sent), Fault::Cancelled { by: Side::Here, .. }), "{sent:?}");
    let (_receiver, received) = timeout(LONG, accepting).await.unwrap().unwrap();
    assert!(matches!(failed(&received[0]), Fault::Cancelled { by: Side::There, .. }), "{received:?}");
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

/// What both ends say of a transfer over a line that turns when the first lanes are at work, so
/// that those which are added break after so many bytes; and how many lanes it had before.
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
    while sending.progress().limited_by.is_none() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    turned.store(true, Ordering::SeqCst);
    let lanes = sending.progress().lanes;
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
    assert!(matches!(failed(&sent), Fault::ConnectionLost(_) | Fault::FailedThere), "{sent:?}");
    assert!(matches!(failed(&received), Fault::ConnectionLost(_) | Fault::FailedThere), "{received:?}");
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
        assert_eq!(report.limited_by, Some(Bottleneck::Network), "{report:?}");
    }
}
