//! Notes between two devices: kept exactly, once, and only of whom the person wants them.
use ringway_engine::NoteRequest;
use ringway_model::{Consent, Device as Paired, DeviceRule, NoteText};

use super::*;

fn text(text: &str) -> NoteText {
    NoteText::from_bytes(text.into()).unwrap()
}

fn note(to: Target, code: Option<&str>, what: &str, retry: Option<Duration>) -> NoteRequest {
    NoteRequest { target: to, code: code.map(|code| given(code).to_pairing_secret()), text: text(what), retry }
}

async fn send(from: &Device, request: NoteRequest) -> Result<Paired, Fault> {
    timeout(LONG, from.engine.send_note(request, |_| {})).await.unwrap()
}

/// Two paired devices, and the receiver of the second.
async fn friends() -> (Device, Device, Receiver) {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let receiver = lab.receiver(Some("7-river-camera")).await;
    laptop.engine.pair(at(&target(&receiver)), given("7-river-camera").to_pairing_secret()).await.unwrap();
    (laptop, lab, receiver)
}

async fn received(receiver: &mut Receiver) -> ringway_model::Note {
    loop {
        if let ReceiverEvent::NoteReceived(note) = timeout(LONG, receiver.next_event()).await.unwrap().unwrap() {
            return note;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_note_arrives_exactly_and_its_code_pairs() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let mut receiver = lab.receiver(Some("7-river-camera")).await;
    let to = target(&receiver);
    let needed = send(&laptop, note(at(&to), None, "hi", None)).await;
    assert!(matches!(needed, Err(Fault::Auth(AuthError::PairingNeeded { .. }))), "{needed:?}");
    let wrong = send(&laptop, note(at(&to), Some("7-river-zebra"), "hi", None)).await;
    assert!(matches!(wrong, Err(Fault::Auth(AuthError::WrongCode))), "{wrong:?}");
    assert!(lab.engine.notes().unwrap().is_empty());
    let hostile = "\u{0}https://example.org/\u{202e}\r\n\x1b[2J<script>";
    let sent = send(&laptop, note(at(&to), Some("7-river-camera"), hostile, None)).await.unwrap();
    assert_eq!(sent.name, "lab");
    let kept = received(&mut receiver).await;
    assert_eq!((&*kept.from, kept.bytes as usize, kept.is_read), ("laptop", hostile.len(), false));
    assert_eq!(lab.engine.note(kept.number).unwrap().unwrap().1.exact(), hostile);
    // Now the two know each other, and it may be as long as it can be.
    let long = "é".repeat(NoteText::LEN_MAX / 2);
    send(&laptop, note(laptop.engine.resolve("lab").unwrap(), None, &long, None)).await.unwrap();
    let kept = received(&mut receiver).await;
    assert_eq!(lab.engine.note(kept.number).unwrap().unwrap().1.exact(), long);
    assert!(laptop.engine.notes().unwrap().is_empty(), "it is the receiver's");
    assert_eq!(fs::read_dir(lab.path("in")).unwrap().count(), 0, "it is no file");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_whose_offers_are_refused_sends_no_notes() {
    let (laptop, lab, _receiver) = friends().await;
    let guest = lab.engine.find_device("laptop").unwrap().unwrap().id;
    let rule = DeviceRule { consent: Consent::Refuse, ..DeviceRule::default() };
    lab.engine.set_rule(guest, &rule).unwrap();
    let lab_ws = || laptop.engine.resolve("lab").unwrap();
    let refused = send(&laptop, note(lab_ws(), None, "hi", Some(LONG))).await;
    assert!(matches!(refused, Err(Fault::Declined(DeclineReason::ByChoice))), "{refused:?}");
    assert!(lab.engine.notes().unwrap().is_empty());
    lab.engine.set_rule(guest, &DeviceRule::default()).unwrap();
    send(&laptop, note(lab_ws(), None, "hi", None)).await.unwrap();
    assert_eq!(lab.engine.notes().unwrap().len(), 1);
    lab.engine.forget_device(guest).unwrap();
    assert!(lab.engine.notes().unwrap().is_empty(), "they go with their device");
}

#[tokio::test(flavor = "multi_thread")]
async fn notes_are_taken_at_a_rate_and_full_is_said() {
    let (laptop, lab, _receiver) = friends().await;
    let lab_ws = || laptop.engine.resolve("lab").unwrap();
    let mut sent = 0;
    let wait_ms = loop {
        match send(&laptop, note(lab_ws(), None, "hi", None)).await {
            Ok(_) => sent += 1,
            Err(Fault::Declined(DeclineReason::TooManyNotes { wait_ms })) => break wait_ms,
            other => panic!("{other:?}"),
        }
    };
    let burst = ringway_engine::limits::NOTES.burst as usize;
    assert!((burst..burst + 3).contains(&sent) && (1..=60_000).contains(&wait_ms), "{sent}, {wait_ms} ms");
    assert_eq!(lab.engine.notes().unwrap().len(), sent);
    // Who has time is told to wait, and it arrives.
    let mut waits = 0;
    let request = note(lab_ws(), None, "late", Some(LONG));
    timeout(LONG, laptop.engine.send_note(request, |_| waits += 1)).await.unwrap().unwrap();
    assert!(waits > 0 && lab.engine.notes().unwrap()[0].first_line == "late");
}

/// Passes connections on. Of the first one, nothing comes back once so many bytes went there, and
/// it ends when its receiver closes it.
async fn deaf(to: std::net::SocketAddr, after: usize) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut near, _) = listener.accept().await.unwrap();
        let mut far = TcpStream::connect(to).await.unwrap();
        let (mut there, mut back, mut sent) = ([0; 4_096], [0; 4_096], 0);
        loop {
            tokio::select! {
                biased;
                len = near.read(&mut there) => match len {
                    Ok(len @ 1..) => {
                        sent += len;
                        far.write_all(&there[..len]).await.unwrap();
                    }
                    _ => break,
                },
                len = far.read(&mut back) => match len {
                    Ok(0) | Err(_) => break,
                    Ok(len) if sent < after => near.write_all(&back[..len]).await.unwrap(),
                    // The receipt is among it.
                    Ok(_) => break,
                },
            }
        }
        drop((near, far));
        loop {
            let (mut near, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut far = TcpStream::connect(to).await.unwrap();
                let _ = copy_bidirectional(&mut near, &mut far).await;
            });
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn a_note_whose_receipt_is_lost_arrives_once() {
    let (laptop, lab, receiver) = friends().await;
    let through = deaf(receiver.local_address(), 50_000).await;
    let id = laptop.engine.find_device("lab").unwrap().unwrap().id;
    let to = || Target::DeviceAt { id, at: Address::parse(&through.to_string(), 0).unwrap() };
    let long = "n".repeat(60_000);
    let mut waits = 0;
    let request = note(to(), None, &long, Some(LONG));
    let sent = timeout(LONG, laptop.engine.send_note(request, |_| waits += 1)).await.unwrap();
    assert_eq!(sent.unwrap().name, "lab");
    assert!(waits > 0, "the first attempt has heard nothing");
    assert_eq!(lab.engine.notes().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_note_arrives_while_a_transfer_runs() {
    let (laptop, lab, receiver) = friends().await;
    fs::write(laptop.path("big"), vec![7; 4 << 20]).unwrap();
    let lab_ws = || laptop.engine.resolve("lab").unwrap();
    let mut slow = request(&[folder(laptop.path("big"))], ANYWHERE, None, IoMode::Auto, Some(1));
    slow.target = lab_ws();
    slow.options.limit = Some(RateLimit::new(64 << 10).unwrap());
    let receiving = tokio::spawn(accept(receiver, AcceptOptions::default(), 1));
    let transfer = laptop.engine.send(slow);
    let moving = async {
        while transfer.progress().bytes_moved == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(LONG, moving).await.unwrap();
    send(&laptop, note(lab_ws(), None, "meanwhile", None)).await.unwrap();
    assert_eq!(lab.engine.notes().unwrap()[0].first_line, "meanwhile");
    assert!(transfer.progress().stage != ringway_model::Stage::Ended);
    transfer.cancel(ringway_model::OnCancel::Remove);
    timeout(LONG, transfer.wait()).await.unwrap();
    receiving.await.unwrap();
}
