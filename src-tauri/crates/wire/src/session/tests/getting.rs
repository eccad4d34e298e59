//! A dialler that asks for entries of a share, so that the listener is the source.
use ringway_model::{Compression, Delta, ShareName};

use super::*;
use crate::control::{Get, GetPath, GetRefusal, InShare};

fn get(paths: &[(&str, bool)]) -> Get {
    let path = |(path, contents_only): &(&str, bool)| GetPath {
        path: path.as_bytes().to_vec(),
        contents_only: *contents_only,
    };
    Get {
        transfer: [9; 16],
        share: ShareName::new("runs").unwrap(),
        paths: paths.iter().map(path).collect(),
        lanes: 4,
        prove: false,
        compression: Compression::Auto,
        delta: Delta::Auto,
        limit: None,
        records_per_key: None,
        retry_s: 60,
    }
}

/// Two that know each other, of which the dialler has asked.
fn asked(get: Get) -> Pair {
    let mut pair = Pair::new(true, true, None);
    pair.run().unwrap();
    pair.initiator.get(get);
    pair.run().unwrap();
    pair
}

#[test]
fn what_is_asked_for_is_offered_and_ends_with_the_receipt() {
    let wanted = get(&[("below/data", false)]);
    let mut pair = asked(wanted.clone());
    assert_eq!(pair.told_acceptor.last(), Some(&Event::GetReceived(wanted)));
    pair.acceptor.offer(&offer());
    pair.run().unwrap();
    assert_eq!(pair.told_initiator.last(), Some(&Event::Offered(offer(), names(&[b"data"]))));
    pair.initiator.accept(2, true, None);
    pair.run().unwrap();
    assert_eq!(pair.told_acceptor.last(), Some(&Event::Accepted { lanes: 2, lists: true, doubts: None }));
    let sent = Counts { files: 1, folders: 1, links: 1, bytes: 4 };
    pair.acceptor.finish(sent, 0, 2);
    pair.initiator.progress(Progress { entries: 2, bytes: 4 });
    pair.run().unwrap();
    assert_eq!(pair.told_initiator.last(), Some(&Event::FinishReceived { sent, failed: 0, lanes: 2 }));
    let receipt = Receipt { there: sent, ..Receipt::default() };
    pair.initiator.receipt(receipt);
    pair.run().unwrap();
    assert_eq!(pair.told_acceptor.last(), Some(&Event::ReceiptReceived(receipt)));
    assert!(pair.initiator.is_ended() && pair.acceptor.is_ended());
}

#[test]
fn a_requester_takes_only_the_names_that_it_asked_for() {
    let named = |name: &[u8]| Offer { names: vec![name.to_vec()], ..offer() };
    for (paths, name, is_taken) in [
        (&[("below/data", false)][..], &b"data"[..], true),
        (&[("below/data", false)], b"below", false),
        (&[("", false)], b"runs", true),
        (&[("", false)], b"data", false),
        (&[("data", true)], b"anything", true),
        (&[("a", false), ("b", true)], b"anything", true),
    ] {
        let mut pair = asked(get(paths));
        pair.acceptor.offer(&named(name));
        assert_eq!(pair.run().is_ok(), is_taken, "{paths:?} {name:?}");
    }
    // Also among those that follow in pages.
    let mut pair = asked(get(&[("a", false), ("b", false)]));
    let first = Offer { names: vec![b"a".to_vec()], more_names: 1, ..offer() };
    pair.initiator.handle_message(Message::Offer(first), 0).unwrap();
    assert!(pair.initiator.handle_message(Message::OfferNames(vec![b"c".to_vec()]), 0).is_err());
}

#[test]
fn an_offer_that_does_not_answer_the_request_breaks_the_protocol() {
    // Where it lands is not for the device to say that offers it.
    let in_share = Some(InShare { share: ShareName::new("runs").unwrap(), path: Vec::new() });
    for bad in [
        Offer { transfer: [8; 16], ..offer() },
        Offer { lanes: 5, ..offer() },
        Offer { prove: true, ..offer() },
        Offer { in_share, ..offer() },
    ] {
        let mut pair = asked(get(&[("data", false)]));
        assert!(pair.initiator.handle_message(Message::Offer(bad.clone()), 0).is_err(), "{bad:?}");
    }
}

#[test]
fn a_request_is_refused_or_declined_by_its_reason() {
    let mut pair = asked(get(&[("data", false)]));
    pair.acceptor.refuse_get(GetRefusal::Path(0, 2));
    pair.run().unwrap();
    assert_eq!(pair.told_initiator.last(), Some(&Event::GetRefused(GetRefusal::Path(0, 2))));
    assert!(pair.initiator.is_ended() && pair.acceptor.is_ended());
    let mut pair = asked(get(&[("data", false)]));
    pair.acceptor.decline(DeclineReason::Paused);
    pair.run().unwrap();
    assert_eq!(pair.told_initiator.last(), Some(&Event::Declined(DeclineReason::Paused)));
}

#[test]
fn only_an_offer_that_names_a_share_is_refused_for_it() {
    let in_share = Some(InShare { share: ShareName::new("runs").unwrap(), path: b"a".to_vec() });
    let offered = |offer: Offer| {
        let mut pair = Pair::new(true, true, None);
        pair.run().unwrap();
        pair.initiator.offer(&offer);
        pair.run().unwrap();
        assert_eq!(pair.told_acceptor.last(), Some(&Event::Offered(offer, names(&[b"data"]))));
        pair
    };
    let mut pair = offered(Offer { in_share, ..offer() });
    pair.acceptor.refuse_get(GetRefusal::NoShare);
    pair.run().unwrap();
    assert_eq!(pair.told_initiator.last(), Some(&Event::GetRefused(GetRefusal::NoShare)));
    assert!(pair.initiator.is_ended() && pair.acceptor.is_ended());
    let mut pair = offered(offer());
    pair.acceptor.refuse_get(GetRefusal::NoShare);
    pair.run().unwrap();
    assert!(!pair.acceptor.is_ended() && !pair.initiator.is_ended(), "nothing was said");
    assert!(pair.initiator.handle_message(Message::GetRefused(GetRefusal::NoShare), 0).is_err());
}

#[test]
fn a_stranger_gets_nothing_and_nobody_asks_twice() {
    let mut pair = Pair::new(true, false, None);
    pair.run().unwrap();
    pair.acceptor.handle_message(Message::Get(get(&[("data", false)])), 0).unwrap();
    assert_eq!(messages(&pair.acceptor.poll_transmit().unwrap()), [Message::Refused(Refusal::NotPaired)]);
    assert!(pair.acceptor.is_ended() && pair.acceptor.poll_event().is_none());
    let mut pair = asked(get(&[("data", false)]));
    let again = pair.acceptor.handle_message(Message::Get(get(&[("data", false)])), 0);
    assert!(matches!(again, Err(ProtocolError::Unexpected { .. })), "{again:?}");
    // Nobody who was not asked answers.
    for message in [Message::Offer(offer()), Message::GetRefused(GetRefusal::NoShare)] {
        let mut pair = Pair::new(true, true, None);
        pair.run().unwrap();
        assert!(pair.initiator.handle_message(message, 0).is_err());
    }
}
