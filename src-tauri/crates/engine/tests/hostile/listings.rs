//! Listings of an offer that lie: of names that were not offered, of too much, without end.
use ringway_model::{Comparison, ComparisonState};
use ringway_wire::limits::{LISTING_ENTRIES_MAX, LISTING_PAGE_ENTRIES_MAX};
use ringway_wire::listing::{ListedEntry, ListedKind, ListingEnd, ListingWriter};

use super::*;

/// A page with these folders.
fn page(paths: &[&[u8]], end: ListingEnd) -> Message {
    let mut writer = ListingWriter::default();
    for path in paths {
        let path = RelPath::new(path).unwrap();
        assert!(writer.push(&ListedEntry { path, kind: ListedKind::Folder }).is_none());
    }
    Message::OfferListing(writer.page(end))
}

/// A page whose only path is this.
fn raw(path: &[u8]) -> Vec<u8> {
    let fields = [&[31, 1, 1, 0, 0, 0][..], &(path.len() as u16).to_le_bytes(), path, &[0]].concat();
    [&(fields.len() as u32).to_le_bytes()[..], &fields].concat()
}

fn photos() -> Offer {
    Offer { names: vec![b"photos".to_vec()], ..offer() }
}

/// Has the receiver shown an offer, and then told this of it, which ends the session.
async fn is_refused(receiver: &mut Receiver, address: SocketAddr, mallory: &Mallory, code: Option<&str>, said: &[u8]) {
    let mut inside = mallory.offers(address, "guest", code, &photos()).await;
    let offer = offered(receiver).await;
    inside.session.say_raw(said).await;
    let withdrawn = async { while !matches!(receiver.next_event().await, Some(ReceiverEvent::OfferWithdrawn(_))) {} };
    timeout(LONG, withdrawn).await.expect("it goes");
    assert!(offer.accept(AcceptOptions::default()).await.is_err());
}

fn encoded(message: &Message) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(&mut bytes);
    bytes
}

#[tokio::test(flavor = "multi_thread")]
async fn listing_that_breaks_the_rules_ends_the_offer_and_touches_nothing() {
    let lab = Device::new("lab");
    fs::write(lab.path("secret"), "outside").unwrap();
    fs::write(lab.path("in/.bashrc"), "the owner's").unwrap();
    let (mut receiver, address) = lab.receiver().await;
    let mallory = Mallory::new();
    let mut code = Some(CODE);
    let outside = [&b".."[..], b"../secret", b"/etc", b"photos/../../secret", b"photos//x", b"a\0b"].map(raw);
    let not_offered =
        [&b".bashrc"[..], b"photo", b"photos2/x"].map(|path| encoded(&page(&[b"photos", path], ListingEnd::More)));
    let after_its_end = encoded(&page(&[b"photos"], ListingEnd::Complete)).repeat(2);
    for said in outside.into_iter().chain(not_offered).chain([after_its_end]) {
        is_refused(&mut receiver, address, &mallory, code.take(), &said).await;
    }
    let there: Vec<_> = fs::read_dir(lab.path("in")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(there, [".bashrc"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn listing_without_end_is_cut_off() {
    let lab = Device::new("lab");
    let (mut receiver, address) = lab.receiver().await;
    let full: Vec<&[u8]> = vec![b"photos"; LISTING_PAGE_ENTRIES_MAX];
    let pages = encoded(&page(&full, ListingEnd::More)).repeat(LISTING_ENTRIES_MAX / LISTING_PAGE_ENTRIES_MAX + 1);
    is_refused(&mut receiver, address, &Mallory::new(), Some(CODE), &pages).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn listing_that_stops_short_delays_no_answer() {
    let lab = Device::new("lab");
    let (mut receiver, address) = lab.receiver().await;
    let mut inside = Mallory::new().offers(address, "guest", Some(CODE), &photos()).await;
    let offer = offered(&mut receiver).await;
    assert_eq!(offer.summary().comparison, None, "nothing of it has come");
    // The same folder twice, names that no person types, and then silence.
    inside.session.say(&page(&[b"photos", b"photos", b"photos/\x1b[2J\n"], ListingEnd::More)).await;
    let counted = async {
        let expected = Comparison { state: ComparisonState::Comparing, new: 3, ..Comparison::default() };
        while offer.summary().comparison != Some(expected) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(LONG, counted).await.expect("its entries are counted");
    let accepting = tokio::spawn(offer.accept(AcceptOptions::default()));
    assert!(matches!(timeout(LONG, inside.session.hear()).await.unwrap(), Some(Message::Accept(_))));
    drop(timeout(LONG, accepting).await.unwrap());
    // What was on its way when the offer was accepted is ignored.
    inside.session.say(&page(&[b"photos"], ListingEnd::Cut)).await;
    inside.session.say(&Message::Ping).await;
    let answered = async { while !matches!(inside.session.hear().await.expect("it goes on"), Message::Pong) {} };
    timeout(LONG, answered).await.unwrap();
}
