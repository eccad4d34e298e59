//! What a paired device brings beyond what a person said yes to.
use std::time::Instant;

use ringway_engine::Decision;
use ringway_engine::limits::RULE_WAIT_MAX;
use ringway_model::{
    AskedBecause, Consent, DeviceId, DeviceRule, Fault, OnCancel, OnConflict, Outcome, ShownSize, Side,
};
use ringway_tree::limits::{ACCEPTED_GROWTH, ACCEPTED_GROWTH_MIN, ACCEPTED_MARGIN_MIN, ACCEPTED_MARGIN_PART};
use ringway_tree::receive::covered_by;
use ringway_wire::ProtocolError;
use ringway_wire::control::Receipt;
use ringway_wire::lane::{Attributes, Entry, EntryKind, OwnerNames, RangeHead, RangeStep, Timestamp, Xattrs};
use ringway_wire::limits::LANE_BODY_MAX;
use ringway_wire::name::Name;

use super::*;

/// A way in which a name reaches the receiver's disk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Way {
    Folder,
    FileInFolder,
    File,
    Range,
    RangeInFolder,
    HardLink,
    Symlink,
    List,
    ListInFolder,
    Chunks,
}

pub(super) const WAYS: [Way; 10] = [
    Way::Folder,
    Way::FileInFolder,
    Way::File,
    Way::Range,
    Way::RangeInFolder,
    Way::HardLink,
    Way::Symlink,
    Way::List,
    Way::ListInFolder,
    Way::Chunks,
];

pub(super) fn entry<'a>(name: &'a [u8], kind: EntryKind<'a>) -> Entry<'a> {
    let attributes = Attributes { mode: 0o644, uid: 0, gid: 0, mtime: Timestamp { secs: 7, nanos: 0 } };
    Entry { name: Name::new(name).unwrap(), kind, attributes, xattrs: Xattrs::default() }
}

pub(super) fn path(text: &str) -> RelPath<'_> {
    RelPath::new(text.as_bytes()).unwrap()
}

/// A frame that brings something under a name that was not offered.
pub(super) fn frame(way: Way) -> Vec<u8> {
    let file = |size| EntryKind::File { size, link_id: None };
    let mut head = HeadBuffer::default();
    let (header, body): (FrameHeader, &[u8]) = match way {
        Way::Folder => {
            head.folder(path(".ssh"));
            (head.batch_header(0), b"")
        }
        Way::FileInFolder => {
            head.folder(path(".ssh"));
            head.entry(&entry(b"authorized_keys", file(1)));
            (head.batch_header(1), b"x")
        }
        Way::File => {
            head.folder(path("photos"));
            head.entry(&entry(b"a", file(1)));
            head.folder(RelPath::ROOT);
            head.entry(&entry(b".bashrc", file(1)));
            (head.batch_header(2), b"xx")
        }
        Way::Range | Way::RangeInFolder => {
            let (folder, name): (_, &[u8]) =
                if way == Way::Range { (RelPath::ROOT, b".bashrc") } else { (path(".ssh/deep"), b"authorized_keys") };
            let range = RangeHead {
                stamp: 0,
                file_id: 1,
                offset: 0,
                step: RangeStep::Last { data_bytes: 1 },
                folder,
                entry: entry(name, file(1)),
                owner_names: OwnerNames::default(),
            };
            (head.range(&range, 1), b"x")
        }
        Way::HardLink => {
            head.folder(path("photos"));
            head.entry(&entry(b"a", EntryKind::File { size: 1, link_id: Some(1) }));
            head.folder(RelPath::ROOT);
            head.entry(&entry(b".bashrc", EntryKind::HardLink { link_id: 1, last: true }));
            (head.batch_header(1), b"x")
        }
        Way::Symlink => {
            head.folder(RelPath::ROOT);
            head.entry(&entry(b".bashrc", EntryKind::Symlink { target: b"photos/a" }));
            (head.batch_header(0), b"")
        }
        Way::List | Way::ListInFolder => {
            head.begin_list(0);
            if way == Way::List {
                head.folder(path("photos"));
                head.entry(&entry(b"a", file(1)));
            }
            head.folder(if way == Way::List { RelPath::ROOT } else { path(".ssh") });
            head.entry(&entry(b".bashrc", file(1)));
            (head.list_header(), b"")
        }
        Way::Chunks => {
            let size = 64 << 20;
            let (folder, step) = (RelPath::ROOT, RangeStep::More);
            let range = RangeHead {
                stamp: 0,
                file_id: 1,
                offset: 0,
                step,
                folder,
                entry: entry(b".bashrc", file(size)),
                owner_names: OwnerNames::default(),
            };
            head.begin_chunks(0, &range);
            head.chunk(32 * 1024, ringway_wire::lane::Digest([7; 32]));
            (head.chunks_header(), b"")
        }
    };
    [&header.encode()[..], head.as_bytes(), body].concat()
}

async fn accepted(mut receiver: Receiver, on_conflict: OnConflict) -> (Transfer, Receiver) {
    loop {
        if let Some(ReceiverEvent::OfferReceived(offer)) = receiver.next_event().await {
            let options = AcceptOptions { on_conflict, ..AcceptOptions::default() };
            return (offer.accept(options).await.unwrap(), receiver);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_was_not_offered_ends_the_transfer_before_anything_is_written_under_it() {
    let lab = Device::new("lab");
    // What is there already makes lists possible.
    fs::create_dir_all(lab.path("in/photos")).unwrap();
    fs::write(lab.path("in/.bashrc"), "the owner's").unwrap();
    let (mut receiver, address) = lab.receiver().await;
    let mallory = Mallory::new();
    let photos = Offer { names: vec![b"photos".to_vec()], ..offer() };
    for (number, way) in WAYS.into_iter().enumerate() {
        let code = (number == 0).then_some(CODE);
        let accepting = tokio::spawn(accepted(receiver, OnConflict::Replace));
        let mut inside = mallory.offers(address, "guest", code, &photos).await;
        assert!(matches!(inside.session.hear().await, Some(Message::Accept(_))), "{way:?}");
        let (transfer, back) = timeout(LONG, accepting).await.unwrap().unwrap();
        receiver = back;
        let mut lane = mallory.joins(inside.exporter, address, 0, 0).await.unwrap();
        lane.say_raw(&frame(way)).await;
        lane.say_raw(&FrameHeader::END.encode()).await;
        timeout(LONG, inside.hears_the_end()).await.unwrap();
        let report = timeout(LONG, transfer.wait()).await.unwrap();
        let refused = matches!(&report.outcome, Outcome::Failed(fault) if *fault == ProtocolError::NotOffered.into());
        assert!(refused, "{way:?}: {report:?}");
        let mut there: Vec<_> = fs::read_dir(lab.path("in")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        there.sort();
        assert_eq!(there, [".bashrc", "photos"], "{way:?}");
        assert_eq!(fs::read_to_string(lab.path("in/.bashrc")).unwrap(), "the owner's", "{way:?}");
        assert!(fs::read_dir(lab.path("in/photos")).unwrap().next().is_none(), "{way:?}: nothing of its frame");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_begin_with_a_dot_are_pointed_out_however_many_come_before_them() {
    let lab = Device::new("lab");
    let (mut receiver, address) = lab.receiver().await;
    // 64 names sort before them, and are all that the offer's own message has.
    let plain: Vec<Vec<u8>> = (0..64).map(|number| format!("!{number:02}").into_bytes()).collect();
    let dotted: Vec<Vec<u8>> = (0..10).map(|number| format!(".hidden-{number}").into_bytes()).collect();
    let long = Offer { names: plain, more_names: 10, ..offer() };
    let mut inside = Mallory::new().offers(address, "guest", Some(CODE), &long).await;
    assert!(timeout(Duration::from_millis(300), offered(&mut receiver)).await.is_err(), "its names have yet to come");
    inside.session.say(&Message::OfferNames(dotted)).await;
    let summary = timeout(LONG, offered(&mut receiver)).await.unwrap().summary();
    assert_eq!((summary.names.len(), summary.more_names), (64, 10));
    assert_eq!((summary.dot_names.len(), summary.more_dot_names), (8, 2));
    assert_eq!(summary.dot_names[0], ".hidden-0");
}

async fn offered(receiver: &mut Receiver) -> ringway_engine::IncomingOffer {
    loop {
        if let Some(ReceiverEvent::OfferReceived(offer)) = receiver.next_event().await {
            return offer;
        }
    }
}

/// A batch with a file below `photos`.
pub(super) fn photo(name: &[u8], body: &[u8]) -> Vec<u8> {
    let mut head = HeadBuffer::default();
    head.folder(path("photos"));
    head.entry(&entry(name, EntryKind::File { size: body.len() as u64, link_id: None }));
    let header = head.batch_header(body.len());
    [&header.encode()[..], head.as_bytes(), body].concat()
}

/// Brings one file of what was accepted, to its end.
async fn brings(mallory: &Mallory, mut inside: mallory::Inside, address: SocketAddr, body: &[u8]) {
    assert!(matches!(inside.session.hear().await, Some(Message::Accept(_))));
    let mut lane = mallory.joins(inside.exporter, address, 0, 0).await.unwrap();
    lane.say_raw(&photo(b"a", body)).await;
    lane.say_raw(&FrameHeader::END.encode()).await;
    let sent = Counts { files: 1, bytes: body.len() as u64, ..Counts::default() };
    inside.session.say(&Message::Finish { sent, failed: 0, lanes: 1 }).await;
    inside.hears_the_end().await;
}

/// The answer to a request for the receipt of `transfer`, and the messages after it.
async fn asks_receipt(
    mallory: &Mallory,
    address: SocketAddr,
    transfer: [u8; 16],
) -> (Option<Message>, mallory::Channel) {
    let mut session = mallory.dial(address).await;
    session.hello("guest", true).await;
    assert!(matches!(session.hear().await, Some(Message::Hello(_))));
    session.say(&Message::ReceiptWanted(transfer)).await;
    (timeout(LONG, session.hear()).await.unwrap(), session)
}

#[tokio::test(flavor = "multi_thread")]
async fn after_everything_was_received_an_old_yes_gives_the_receipt_and_takes_nothing() {
    let lab = Device::new("lab");
    let (receiver, address) = lab.receiver().await;
    let mallory = Mallory::new();
    let photos = Offer { names: vec![b"photos".to_vec()], retry_s: 900, ..offer() };
    let accepting = tokio::spawn(accepted(receiver, OnConflict::Replace));
    let inside = mallory.offers(address, "guest", Some(CODE), &photos).await;
    brings(&mallory, inside, address, b"nine byte").await;
    let (transfer, mut receiver) = timeout(LONG, accepting).await.unwrap().unwrap();
    let report = timeout(LONG, transfer.wait()).await.unwrap();
    assert!(matches!(report.outcome, Outcome::Complete), "{report:?}");

    // The receipt may be asked for as often as it gets lost, and ends the session.
    for _ in 0..3 {
        let there = Counts { files: 1, bytes: 9, ..Counts::default() };
        let (given, mut session) = asks_receipt(&mallory, address, photos.transfer).await;
        assert_eq!(given, Some(Message::Receipt(Receipt { there, moved: 9, ..Receipt::default() })));
        assert_eq!(timeout(LONG, session.hear()).await.unwrap(), None);
    }
    let (none, _session) = asks_receipt(&mallory, address, [8; 16]).await;
    assert_eq!(none, Some(Message::NoReceipt));

    // The same offered again is asked about: nothing comes by the old yes.
    let mut again = mallory.offers(address, "guest", None, &photos).await;
    let asked = timeout(LONG, offered(&mut receiver)).await.expect("it is a new offer");
    assert!(timeout(Duration::from_millis(200), again.session.hear()).await.is_err(), "it waits for an answer");
    asked.decline(ringway_model::DeclineReason::ByChoice);
    assert!(matches!(timeout(LONG, again.session.hear()).await.unwrap(), Some(Message::Decline(_))));
    assert_eq!(fs::read(lab.path("in/photos/a")).unwrap(), b"nine byte");
}

/// Brings more of what was accepted than was said, until the receiver says why it has had enough.
async fn floods(
    mallory: &Mallory,
    mut inside: mallory::Inside,
    address: SocketAddr,
    then: Option<Totals>,
) -> Option<Cancel> {
    assert!(matches!(timeout(LONG, inside.session.hear()).await.unwrap(), Some(Message::Accept(_))));
    let mut lane = mallory.joins(inside.exporter, address, 0, 0).await.unwrap();
    if let Some(totals) = then {
        inside.session.say(&Message::Totals(totals)).await;
        // Until it was heard.
        inside.session.say(&Message::Ping).await;
        while !matches!(timeout(LONG, inside.session.hear()).await.unwrap(), None | Some(Message::Pong)) {}
    }
    let flooding = tokio::spawn(async move {
        let body = vec![7; LANE_BODY_MAX];
        for number in 0..48 {
            lane.say_raw(&photo(format!("{number}").as_bytes(), &body)).await;
        }
        lane
    });
    let why = async {
        loop {
            match inside.session.hear().await {
                Some(Message::Cancel(cancel)) => return Some(cancel),
                Some(_) => {}
                None => return None,
            }
        }
    };
    let why = timeout(LONG, why).await.unwrap();
    let _ = timeout(LONG, flooding).await.unwrap();
    why
}

#[tokio::test(flavor = "multi_thread")]
async fn nine_accepted_bytes_do_not_become_more_than_the_margin() {
    const MARGIN: u64 = ringway_tree::limits::ACCEPTED_MARGIN_MIN;
    let lab = Device::new("lab");
    let (mut receiver, address) = lab.receiver().await;
    let mallory = Mallory::new();
    let all = Totals { entries: 1, bytes: 9, complete: true };
    for (number, (so_far, then)) in
        [(all, None), (Totals { complete: false, ..all }, Some(all))].into_iter().enumerate()
    {
        let photos = Offer { names: vec![b"photos".to_vec()], so_far, ..offer() };
        let inside = mallory.offers(address, "guest", (number == 0).then_some(CODE), &photos).await;
        let asked = timeout(LONG, offered(&mut receiver)).await.unwrap();
        let summary = asked.summary();
        let shown = Some(ShownSize { bytes: summary.bytes_so_far, is_final: summary.totals_final });
        let accepting = tokio::spawn(asked.accept(AcceptOptions { shown, ..AcceptOptions::default() }));
        let cancelled = floods(&mallory, inside, address, then).await;
        assert_eq!(cancelled, Some(Cancel::TooMuch(9 + MARGIN)), "{so_far:?}");
        let transfer = timeout(LONG, accepting).await.unwrap().unwrap().unwrap();
        let report = timeout(LONG, transfer.wait()).await.unwrap();
        let stopped = matches!(report.outcome, Outcome::Failed(Fault::TooMuch { by: Side::Here, .. }));
        assert!(stopped && report.counts.bytes <= 9 + MARGIN, "{report:?}");
    }
}

#[test]
fn accepted_size_covers_its_margin_and_no_more() {
    let covers = |bytes, is_final| covered_by(ShownSize { bytes, is_final });
    // A final size: a part of it more, and so much at the least.
    let turns = ACCEPTED_MARGIN_MIN * ACCEPTED_MARGIN_PART;
    for (bytes, margin) in [
        (0, ACCEPTED_MARGIN_MIN),
        (turns, ACCEPTED_MARGIN_MIN),
        (2 * turns, 2 * ACCEPTED_MARGIN_MIN),
        (100 << 40, 25 << 40),
    ] {
        assert_eq!(covers(bytes, true), bytes + margin, "{bytes} bytes");
    }
    // One that was still counted: so many times as much, and so much more at the least.
    let turns = ACCEPTED_GROWTH_MIN / (ACCEPTED_GROWTH - 1);
    for (bytes, most) in [
        (0, ACCEPTED_GROWTH_MIN),
        (turns, turns + ACCEPTED_GROWTH_MIN),
        (2 * turns, 2 * turns * ACCEPTED_GROWTH),
        (1 << 40, ACCEPTED_GROWTH << 40),
    ] {
        assert_eq!(covers(bytes, false), most, "{bytes} bytes");
    }
    assert_eq!([true, false].map(|is_final| covers(u64::MAX, is_final)), [u64::MAX; 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_with_a_size_waits_a_second_for_totals_and_accepts_what_is_small_so_far() {
    let lab = Device::new("lab");
    let (mut receiver, address) = lab.receiver().await;
    let mallory = Mallory::new();
    let first = mallory.offers(address, "guest", Some(CODE), &offer()).await;
    drop(asked_about(&mut receiver).await);
    assert!(timeout(LONG, first.hears_the_answer()).await.unwrap().is_some());
    let bytes_max = 10;
    let rule = DeviceRule { consent: Consent::Accept, bytes_max: Some(bytes_max), ..DeviceRule::default() };
    lab.engine.set_rule(DeviceId(mallory.id()), &rule).unwrap();
    let small = Totals { entries: 1, bytes: 5, complete: false };
    let accepted = Decision::Accept { bytes_max: Some(bytes_max) };
    let too_much = Decision::Ask(Some(AskedBecause::TooMuch { bytes_max }));
    // What it says more of within the second decides; silence does not keep it waiting for longer.
    for (number, more, decision) in [
        (1, None, &accepted),
        (2, Some(Totals { complete: true, ..small }), &accepted),
        (3, Some(Totals { bytes: 11, ..small }), &too_much),
    ] {
        let offer = Offer { transfer: [number; 16], so_far: small, ..offer() };
        let mut inside = mallory.offers(address, "guest", None, &offer).await;
        let offered = Instant::now();
        if let Some(more) = more {
            inside.session.say(&Message::Totals(more)).await;
        }
        let asked = asked_about(&mut receiver).await;
        assert_eq!(asked.decision(), decision, "{more:?}");
        // The offer may have arrived a moment before it is known to have been sent.
        let waited = offered.elapsed() > RULE_WAIT_MAX / 2;
        assert!(more.is_some() || waited, "{:?}", offered.elapsed());
        drop(asked);
        timeout(LONG, inside.hears_the_answer()).await.unwrap();
    }
}

async fn asked_about(receiver: &mut Receiver) -> ringway_engine::IncomingOffer {
    let asked = async {
        loop {
            if let Some(ReceiverEvent::OfferReceived(offer)) = receiver.next_event().await {
                return offer;
            }
        }
    };
    timeout(LONG, asked).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_offer_by_the_id_of_one_that_is_pending_or_received_is_declined() {
    let lab = Device::new("lab");
    let (mut receiver, address) = lab.receiver().await;
    let mallory = Mallory::new();
    let named = |name: &[u8]| Offer { names: vec![name.to_vec()], ..offer() };
    let mut first = mallory.offers(address, "guest", Some(CODE), &named(b"photos")).await;
    let pending = asked_about(&mut receiver).await;
    let mut second = mallory.offers(address, "guest", None, &named(b"other")).await;
    let answer = timeout(LONG, second.session.hear()).await.unwrap();
    assert!(matches!(answer, Some(Message::Decline(_))), "{answer:?}");
    let transfer = pending.accept(AcceptOptions::default()).await.unwrap();
    assert!(matches!(first.session.hear().await, Some(Message::Accept(_))));
    let mut third = mallory.offers(address, "guest", None, &named(b"other")).await;
    let answer = timeout(LONG, third.session.hear()).await.unwrap();
    assert!(matches!(answer, Some(Message::Decline(_))), "{answer:?}");
    // An id that is over may come again.
    transfer.cancel(OnCancel::Remove);
    timeout(LONG, transfer.wait()).await.unwrap();
    let mut again = mallory.offers(address, "guest", None, &named(b"other")).await;
    let last = timeout(LONG, async {
        loop {
            tokio::select! {
                event = receiver.next_event() => if let Some(ReceiverEvent::OfferReceived(offer)) = event { return offer },
                answer = again.session.hear() => {
                    assert!(matches!(answer, Some(Message::Decline(_))), "{answer:?}");
                    again = mallory.offers(address, "guest", None, &named(b"other")).await;
                }
            }
        }
    });
    assert_eq!(last.await.unwrap().summary().names, ["other"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn offers_of_two_devices_by_one_id_are_asked_about_and_received_each_by_itself() {
    let lab = Device::new("lab");
    let devices = [Mallory::new(), Mallory::new()];
    for (number, device) in devices.iter().enumerate() {
        // A code pairs one device.
        let (mut receiver, address) = lab.receiver().await;
        let _inside = device.offers(address, &format!("guest {number}"), Some(CODE), &offer()).await;
        asked_about(&mut receiver).await.decline(ringway_model::DeclineReason::ByChoice);
    }
    let (mut receiver, address) = lab.receiver().await;
    let (mut inside, mut pending) = (Vec::new(), Vec::new());
    for (number, device) in devices.iter().enumerate() {
        let names = vec![format!("of {number}").into_bytes()];
        inside.push(device.offers(address, &format!("guest {number}"), None, &Offer { names, ..offer() }).await);
        pending.push(asked_about(&mut receiver).await);
    }
    assert_ne!(pending[0].summary().key(), pending[1].summary().key());
    for number in [1, 0] {
        let transfer = pending.remove(number).accept(AcceptOptions::default()).await.unwrap();
        assert_eq!(transfer.title().0, format!("of {number}").as_str());
        let answer = timeout(LONG, inside[number].session.hear()).await.unwrap();
        assert!(matches!(answer, Some(Message::Accept(_))), "{number}: {answer:?}");
        let lane = devices[number].joins(inside[number].exporter, address, 0, 0).await;
        assert!(lane.is_some(), "{number}");
    }
}
