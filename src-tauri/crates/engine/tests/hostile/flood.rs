//! What many connections at once, many attempts and many offers come to.
use std::fs;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use ringway_engine::limits::{
    ANSWER_TIME_MAX, FIRST_BYTES_TIME_MAX, HANDSHAKE_TIME_MAX, HANDSHAKES_OF_STRANGERS, HANDSHAKES_WHERE_KNOWN,
    OFFERS_IN_VAIN, OFFERS_OF_ONE_MAX, OFFERS_UNANSWERED_MAX, PAIRING_FAILURES_FREE, UNAUTHENTICATED_FROM_ONE_MAX,
    UNAUTHENTICATED_MAX,
};
use ringway_engine::{IncomingOffer, Receiver, ReceiverEvent, SendRequest};
use ringway_model::{AuthError, DeclineReason, Fault, Outcome, PastQuery, Source};
use ringway_wire::control::{Message, Offer, Refusal};
use ringway_wire::limits::{NAME_MAX, OFFERED_BYTES_MAX};
use ringway_wire::pair::{Binding, EXPORTER_LABEL, Initiator};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use super::mallory::{Mallory, connect_from, dial_with};
use super::{CODE, Device, LONG, assert_about, at, crossing_works, given, is_closed, offer};

fn alias(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 0, number)
}

#[tokio::test(flavor = "multi_thread")]
async fn half_open_connections_leave_the_listener_usable() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let (receiver, address) = lab.receiver().await;
    // More than may be unauthenticated at once, from addresses of theirs and from the laptop's own;
    // every other one has begun to say something.
    let mut stalled = Vec::new();
    for number in 0..UNAUTHENTICATED_MAX * 2 {
        let mut tcp = connect_from(alias(1 + (number % 8) as u8), address).await;
        if number % 2 == 0 {
            let _ = tcp.write_all(&[22, 3, 1, 2, 0, 1]).await;
        }
        stalled.push(tcp);
    }
    fs::write(laptop.path("file"), "x").unwrap();
    crossing_works(&laptop, receiver, address).await;
    assert_eq!(fs::read(lab.path("in/file")).unwrap(), b"x");
    for (number, tcp) in stalled.iter_mut().enumerate().take(UNAUTHENTICATED_MAX) {
        let closed = timeout(Duration::from_secs(5), tcp.read(&mut [0; 1])).await;
        assert!(matches!(closed, Ok(Ok(0) | Err(_))), "{number} has stalled longest: {closed:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_says_nothing_is_closed_long_before_a_handshake_must_be_over() {
    let lab = Device::new("lab");
    let (_receiver, address) = lab.receiver().await;
    let mut silent = connect_from(alias(1), address).await;
    let soon = FIRST_BYTES_TIME_MAX * 2;
    assert!(soon < HANDSHAKE_TIME_MAX);
    let closed = timeout(soon, silent.read(&mut [0; 1])).await;
    assert!(matches!(closed, Ok(Ok(0) | Err(_))), "{closed:?}");
    // One that dribbles is not kept longer than a handshake may take.
    let (mut from, mut to) = connect_from(alias(1), address).await.into_split();
    let dribbling = tokio::spawn(async move {
        for byte in [22, 3, 1, 2, 0, 1].into_iter().chain(std::iter::repeat(0)) {
            if to.write_all(&[byte]).await.is_err() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
    });
    let closed = timeout(LONG, from.read(&mut [0; 1])).await;
    assert!(matches!(closed, Ok(Ok(0) | Err(_))), "{closed:?}");
    dribbling.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_address_keeps_its_share_and_no_more() {
    let lab = Device::new("lab");
    let (_receiver, address) = lab.receiver().await;
    let mut lone = connect_from(alias(2), address).await;
    let mut many = Vec::new();
    for _ in 0..=UNAUTHENTICATED_FROM_ONE_MAX {
        many.push(connect_from(alias(3), address).await);
    }
    let closed = timeout(Duration::from_secs(3), many[0].read(&mut [0; 1])).await;
    assert!(matches!(closed, Ok(Ok(0) | Err(_))), "the first of them: {closed:?}");
    assert!(
        timeout(Duration::from_millis(100), lone.read(&mut [0; 1])).await.is_err(),
        "another address keeps its place"
    );
}

/// Begins to pair from an address, disconnects in the middle, and returns the answer.
async fn abandons(from: Ipv4Addr, to: std::net::SocketAddr) -> Option<Message> {
    let mallory = Mallory::new();
    let mut channel = mallory.dial_from(from, to).await;
    channel.hello("guest", false).await;
    assert!(matches!(channel.hear().await, Some(Message::Hello(_))));
    let binding = Binding::new(mallory.id(), channel.peer_id(), channel.export(EXPORTER_LABEL)).unwrap();
    let (_, start) = Initiator::start(&given(CODE).to_pairing_secret(), binding, &[1; 64]);
    channel.say(&Message::PairStart(start)).await;
    let heard = channel.hear().await;
    let _ = channel.stream.shutdown().await;
    while channel.hear().await.is_some() {}
    heard
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_keeps_failing_waits_and_no_other_does() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let (mut receiver, address) = lab.receiver().await;
    for _ in 0..PAIRING_FAILURES_FREE {
        assert!(matches!(abandons(alias(2), address).await, Some(Message::PairReply(_))));
    }
    for _ in 0..3 {
        let refused = abandons(alias(2), address).await;
        assert!(matches!(refused, Some(Message::Refused(Refusal::PairingBusy(ms))) if ms > 0), "{refused:?}");
    }
    assert!(timeout(Duration::from_millis(200), receiver.next_event()).await.is_err(), "that is nobody's news");
    laptop.engine.pair(at(address), given(CODE).to_pairing_secret()).await.unwrap();
}

/// Begins to pair from an address again and again, and each time says nothing more until it is
/// closed.
async fn dallies(from: Ipv4Addr, to: std::net::SocketAddr, begun: tokio::sync::mpsc::UnboundedSender<Ipv4Addr>) {
    let mallory = Mallory::new();
    loop {
        let mut channel = mallory.dial_from(from, to).await;
        channel.hello("guest", false).await;
        if !matches!(channel.hear().await, Some(Message::Hello(_))) {
            continue;
        }
        let binding = Binding::new(mallory.id(), channel.peer_id(), channel.export(EXPORTER_LABEL)).unwrap();
        let (_, start) = Initiator::start(&given(CODE).to_pairing_secret(), binding, &[1; 64]);
        channel.say(&Message::PairStart(start)).await;
        while let Some(heard) = channel.hear().await {
            match heard {
                Message::PairReply(_) => drop(begun.send(from)),
                Message::Refused(Refusal::PairingBusy(ms)) => {
                    tokio::time::sleep(Duration::from_millis(ms.into())).await
                }
                _ => {}
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_the_code_pairs_beside_many_addresses_that_keep_it_busy() {
    const ADDRESSES: u8 = 12;
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let (receiver, address) = lab.receiver().await;
    let (begun, mut all_begun) = tokio::sync::mpsc::unbounded_channel();
    let mut flood = tokio::task::JoinSet::new();
    for number in 0..4 * ADDRESSES {
        flood.spawn(dallies(alias(2 + number % ADDRESSES), address, begun.clone()));
    }
    // Each has its turn, for not much longer than a round trip takes.
    let mut seen = std::collections::HashSet::new();
    while seen.len() < 3 {
        seen.insert(timeout(LONG, all_begun.recv()).await.unwrap().unwrap());
    }
    let mut tries = 0;
    loop {
        // As the command does: it comes again when it is told to.
        match laptop.engine.pair(at(address), given(CODE).to_pairing_secret()).await {
            Ok(_) => break,
            Err(Fault::Auth(AuthError::PairingBusy { wait_ms })) if tries < 5 => {
                tries += 1;
                tokio::time::sleep(Duration::from_millis(wait_ms)).await;
            }
            Err(error) => panic!("after {tries} tries: {error:?}"),
        }
    }
    assert!(flood.try_join_next().is_none(), "none of the flood has given up");
    flood.abort_all();
    drop(receiver);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_has_so_many_handshakes_and_waits_for_more_while_others_do_not() {
    let lab = Device::new("lab");
    let (_receiver, address) = lab.receiver().await;
    let stranger = Mallory::new();
    let begun = Instant::now();
    for _ in 0..HANDSHAKES_OF_STRANGERS.burst + HANDSHAKES_OF_STRANGERS.per_min / 30 {
        drop(stranger.dial_from(alias(2), address).await);
    }
    let took = begun.elapsed();
    assert!(took >= Duration::from_secs(2), "two seconds' worth more than a burst took {took:?}");
    let begun = Instant::now();
    drop(stranger.dial_from(alias(3), address).await);
    assert!(begun.elapsed() < Duration::from_secs(1), "another address waited for {:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_behind_its_router_do_not_keep_a_known_device_out() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let (receiver, address) = lab.receiver().await;
    fs::write(laptop.path("file"), "first").unwrap();
    let receiver = crossing_works(&laptop, receiver, address).await;
    // From the laptop's own address, as many at once as keep their places.
    let (used, mut all_used) = tokio::sync::mpsc::unbounded_channel();
    let mut flood = tokio::task::JoinSet::new();
    for _ in 0..UNAUTHENTICATED_FROM_ONE_MAX / 2 {
        let used = used.clone();
        flood.spawn(async move {
            let stranger = Mallory::new();
            loop {
                // Who is turned away before the handshake has used none.
                if dial_with(stranger.client_config(), address).await.is_ok() {
                    let _ = used.send(());
                }
            }
        });
    }
    for _ in 0..HANDSHAKES_WHERE_KNOWN.burst {
        timeout(LONG, all_used.recv()).await.unwrap().unwrap();
    }
    // Those that were used before, and of which a busy machine tells late.
    while all_used.try_recv().is_ok() {}
    let begun = Instant::now();
    fs::write(laptop.path("file"), "second").unwrap();
    crossing_works(&laptop, receiver, address).await;
    let while_it_took = std::iter::from_fn(|| all_used.try_recv().ok()).count() as u64;
    let allowed = u64::from(HANDSHAKES_WHERE_KNOWN.per_min) * begun.elapsed().as_millis() as u64 / 60_000;
    assert!(while_it_took <= allowed + 64, "{while_it_took} handshakes of strangers in {:?}", begun.elapsed());
    assert_eq!(fs::read(lab.path("in/file")).unwrap(), b"second");
}

/// The next offer, after any other events.
async fn next_offer(receiver: &mut Receiver) -> IncomingOffer {
    loop {
        let event = timeout(LONG, receiver.next_event()).await.expect("in time").expect("still listening");
        if let ReceiverEvent::OfferReceived(offer) = event {
            return offer;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_is_not_asked_again_and_again_by_one_device() {
    let lab = Device::new("lab");
    let (mut receiver, address) = lab.receiver().await;
    let nagging = Mallory::new();
    let mut answers = Vec::new();
    for number in 0..OFFERS_IN_VAIN.burst as u8 + 2 {
        let offer = Offer { transfer: [number; 16], ..offer() };
        let mut inside = nagging.offers(address, "nagging", (number == 0).then_some(CODE), &offer).await;
        let asked = async {
            tokio::select! {
                answer = inside.session.hear() => return answer,
                asked = next_offer(&mut receiver) => drop(asked),
            }
            inside.session.hear().await
        };
        answers.push(timeout(LONG, asked).await.unwrap());
        is_closed(&mut inside.session).await;
    }
    let (declined, refused) = answers.split_at(OFFERS_IN_VAIN.burst as usize);
    assert!(declined.iter().all(|answer| *answer == Some(Message::Decline(DeclineReason::ByChoice))), "{answers:?}");
    // What time has brought meanwhile is one at most.
    let Some(Some(Message::Decline(DeclineReason::TooManyOffers { wait_ms }))) = refused.last() else {
        panic!("{answers:?}")
    };
    assert!((1..=60_000 / OFFERS_IN_VAIN.per_min).contains(wait_ms), "{wait_ms}");
    // A rule that accepts asks nobody, and takes nothing of what is left for questions.
    let id = ringway_model::DeviceId(nagging.id());
    let rule = |consent| ringway_model::DeviceRule { consent, ..ringway_model::DeviceRule::default() };
    lab.engine.set_rule(id, &rule(ringway_model::Consent::Accept)).unwrap();
    for number in 100..100 + OFFERS_IN_VAIN.burst as u8 {
        let mut inside = nagging.offers(address, "nagging", None, &Offer { transfer: [number; 16], ..offer() }).await;
        let ruled = next_offer(&mut receiver).await;
        assert_eq!(*ruled.decision(), ringway_engine::Decision::Accept { bytes_max: None });
        drop(ruled);
        assert_eq!(inside.session.hear().await, Some(Message::Decline(DeclineReason::ByChoice)));
        is_closed(&mut inside.session).await;
    }
    // Nor does one that refuses.
    lab.engine.set_rule(id, &rule(ringway_model::Consent::Refuse)).unwrap();
    let mut inside = nagging.offers(address, "nagging", None, &Offer { transfer: [200; 16], ..offer() }).await;
    assert_eq!(inside.session.hear().await, Some(Message::Decline(DeclineReason::ByChoice)));
}

#[tokio::test(flavor = "multi_thread")]
async fn offers_of_one_device_leave_room_for_others() {
    let lab = Device::new("lab");
    let (mut receiver, address) = lab.receiver().await;
    let greedy = Mallory::new();
    let mut waiting = Vec::new();
    let mut shown = Vec::new();
    for number in 0..OFFERS_OF_ONE_MAX as u8 {
        let offer = Offer { transfer: [number; 16], ..offer() };
        waiting.push(greedy.offers(address, "greedy", (number == 0).then_some(CODE), &offer).await);
        shown.push(next_offer(&mut receiver).await);
    }
    let mut one_more = greedy.offers(address, "greedy", None, &Offer { transfer: [99; 16], ..offer() }).await;
    assert_eq!(one_more.session.hear().await, Some(Message::Decline(DeclineReason::Busy)));
    receiver.renew_code().unwrap();
    let code = receiver.code().unwrap().text.unwrap();
    let modest = Mallory::new();
    let _its = modest.offers(address, "modest", Some(&code), &Offer { transfer: [100; 16], ..offer() }).await;
    assert_eq!(next_offer(&mut receiver).await.summary().from, "modest");
    // One that is over makes room.
    drop(shown.pop());
    assert_eq!(waiting.last_mut().unwrap().session.hear().await, Some(Message::Decline(DeclineReason::ByChoice)));
    drop(waiting.pop());
    let again = async {
        loop {
            let offer = Offer { transfer: [101; 16], ..offer() };
            let mut inside = greedy.offers(address, "greedy", None, &offer).await;
            let answered = timeout(Duration::from_millis(300), inside.session.hear()).await;
            if answered.is_err() {
                return inside;
            }
            assert_eq!(answered.unwrap(), Some(Message::Decline(DeclineReason::Busy)));
        }
    };
    timeout(LONG, again).await.expect("a place is free again");
}

/// A code that the receiver shows from now on.
fn new_code(receiver: &Receiver) -> String {
    receiver.renew_code().unwrap();
    receiver.code().unwrap().text.unwrap().as_str().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn offer_beyond_the_64_that_wait_for_a_person_is_declined_as_busy() {
    assert_eq!(OFFERS_UNANSWERED_MAX, 64);
    let lab = Device::new("lab");
    let (mut receiver, address) = lab.receiver().await;
    let mut shown = Vec::new();
    let mut answers = Vec::new();
    for device in 0..OFFERS_UNANSWERED_MAX / OFFERS_OF_ONE_MAX {
        let (mallory, code) = (Mallory::new(), new_code(&receiver));
        for number in 0..OFFERS_OF_ONE_MAX {
            let offer = Offer { transfer: [number as u8; 16], ..offer() };
            let code = (number == 0).then_some(code.as_str());
            let inside = mallory.offers(address, &format!("device {device}"), code, &offer).await;
            answers.push(tokio::spawn(inside.hears_the_answer()));
            shown.push(next_offer(&mut receiver).await);
        }
    }
    // A device that has no offer waiting is declined, too, and nobody is asked.
    let (late, code) = (Mallory::new(), new_code(&receiver));
    let one_more = late.offers(address, "late", Some(&code), &offer()).await;
    let declined = timeout(LONG, one_more.hears_the_answer()).await.unwrap();
    assert_eq!(declined, Some(Message::Decline(DeclineReason::Busy)));
    assert!(answers.iter().all(|answer| !answer.is_finished()), "the others still wait");
    // One that is answered makes room for it.
    drop(shown.pop());
    let answer = timeout(LONG, answers.pop().unwrap()).await.unwrap().unwrap();
    assert_eq!(answer, Some(Message::Decline(DeclineReason::ByChoice)));
    let one_more = late.offers(address, "late", None, &offer()).await;
    let answer = tokio::spawn(one_more.hears_the_answer());
    assert_eq!(next_offer(&mut receiver).await.summary().from, "late");
    // The offer was dropped, which declines it.
    let answer = timeout(LONG, answer).await.unwrap().unwrap();
    assert_eq!(answer, Some(Message::Decline(DeclineReason::ByChoice)));
}

/// The clock of the test's only thread jumps from one deadline to the next, where all of it waits.
#[tokio::test]
async fn offer_that_nobody_answers_is_declined_after_ten_minutes() {
    let lab = Device::new("lab");
    let (mut receiver, address) = lab.receiver().await;
    let inside = Mallory::new().offers(address, "guest", Some(CODE), &offer()).await;
    let shown = next_offer(&mut receiver).await;
    tokio::time::pause();
    let asked = tokio::time::Instant::now();
    assert_eq!(inside.hears_the_answer().await, Some(Message::Decline(DeclineReason::NoAnswer)));
    assert_about(asked.elapsed(), ANSWER_TIME_MAX);
    let told = receiver.next_event().await;
    assert!(matches!(told, Some(ReceiverEvent::OfferWithdrawn(_))), "{told:?}");
    let past = lab.engine.past(&PastQuery::default(), 1).unwrap();
    assert!(matches!(past[0].report.outcome, Outcome::Failed(Fault::Unanswered)), "a person who returns finds it");
    drop(shown);
}

/// So many empty files with names of that length, in a folder of the device's own.
fn many_files(device: &Device, count: usize, length: usize) -> std::path::PathBuf {
    let folder = device.path("many");
    fs::create_dir(&folder).unwrap();
    (0..count).for_each(|number| fs::write(folder.join(format!("{number:0length$}")), "").unwrap());
    folder
}

/// Offers each of the files in `folder` by its name.
fn contents_of(folder: &std::path::Path, target: std::net::SocketAddr) -> SendRequest {
    let mut request = SendRequest::new(vec![Source { path: folder.to_owned(), contents_only: true }], at(target));
    request.options.lanes = Some(1);
    request.options.retry = Some(2 * LONG);
    request
}

#[tokio::test(flavor = "multi_thread")]
async fn device_that_offers_eight_of_the_longest_lists_at_once_is_asked_about_all_of_them() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let (mut receiver, address) = lab.receiver().await;
    laptop.engine.pair(at(address), given(CODE).to_pairing_secret()).await.unwrap();
    let folder = many_files(&laptop, OFFERED_BYTES_MAX / NAME_MAX, NAME_MAX);
    let sending: Vec<_> = (0..OFFERS_OF_ONE_MAX).map(|_| laptop.engine.send(contents_of(&folder, address))).collect();
    let mut shown = Vec::new();
    while shown.len() < OFFERS_OF_ONE_MAX {
        shown.push(next_offer(&mut receiver).await);
    }
    drop(shown);
    for transfer in sending {
        let report = timeout(LONG, transfer.wait()).await.unwrap();
        assert!(
            matches!(report.outcome, Outcome::Failed(Fault::Declined(DeclineReason::ByChoice))),
            "{:?}",
            report.outcome
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn forty_devices_that_offer_long_lists_at_once_are_all_asked_about() {
    const DEVICES: usize = 40;
    let lab = Device::new("lab");
    let (mut receiver, address) = lab.receiver().await;
    let mut laptops = Vec::new();
    for number in 0..DEVICES {
        let laptop = Device::new(&format!("laptop {number}"));
        let code = given(&new_code(&receiver)).to_pairing_secret();
        laptop.engine.pair(at(address), code).await.unwrap();
        while timeout(Duration::from_millis(1), receiver.next_event()).await.is_ok() {}
        laptops.push(laptop);
    }
    // All together are half of what may wait for a person, and more than may arrive at once.
    let folder = many_files(&lab, 3_000, NAME_MAX);
    let sending: Vec<_> = laptops.iter().map(|laptop| laptop.engine.send(contents_of(&folder, address))).collect();
    let mut shown = std::collections::HashMap::new();
    while shown.len() < DEVICES {
        let offer = next_offer(&mut receiver).await;
        shown.insert(offer.summary().from_id, offer);
    }
    drop(shown);
    for transfer in sending {
        let report = timeout(LONG, transfer.wait()).await.unwrap();
        assert!(
            matches!(report.outcome, Outcome::Failed(Fault::Declined(DeclineReason::ByChoice))),
            "{:?}",
            report.outcome
        );
    }
}
