//! A dialler that asks for entries of a share, so that the listener is the source.
use ringway_model::{Compression, Delta, ShareName};

use super::*;
use crate::control::{
    Answer, Get, GetPath, GetRefusal, InShare, PlanWriter, PlannedCounts, PlannedEntry, PlannedKind, Purpose,
};
use crate::limits::{OFFERED_TIME_MAX_MS, PAGES_AHEAD_MAX};
use crate::selected::SelectedPaths;

pub(super) fn get(paths: &[(&str, bool)]) -> Get {
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
        patterns: Vec::new(),
        selected: None,
        purpose: Purpose::Transfer,
    }
}

fn selected(paths: &[&str]) -> Arc<SelectedPaths> {
    let mut selected = SelectedPaths::default();
    paths.iter().for_each(|path| selected.push(RelPath::new(path.as_bytes()).unwrap()).unwrap());
    Arc::new(selected)
}

/// A request for these paths of its folder alone.
fn selecting(paths: &[&str]) -> Get {
    Get { selected: Some(paths.len() as u32), ..get(&[("below/data", false)]) }
}

/// Two that know each other, of which the dialler has asked.
pub(super) fn asked(get: Get) -> Pair {
    let mut pair = Pair::new(true, true, None);
    pair.run().unwrap();
    pair.initiator.get(get, Arc::default());
    pair.run().unwrap();
    pair
}

#[test]
fn what_is_asked_for_is_offered_and_ends_with_the_receipt() {
    let wanted = get(&[("below/data", false)]);
    let mut pair = asked(wanted.clone());
    assert_eq!(pair.told_acceptor.last(), Some(&Event::GetReceived(wanted, SelectedPaths::default())));
    pair.acceptor.offer(&offer());
    pair.run().unwrap();
    assert_eq!(pair.told_initiator.last(), Some(&Event::Offered(offer(), names(&[b"data"]))));
    pair.initiator.accept(Accept { lanes: 2, lists: true, doubts: None, owner_names: false });
    pair.run().unwrap();
    assert_eq!(
        pair.told_acceptor.last(),
        Some(&Event::Accepted(Accept { lanes: 2, lists: true, doubts: None, owner_names: false }))
    );
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

#[test]
fn selected_paths_follow_their_request_in_pages() {
    let paths: Vec<String> = (0..5_000).map(|at| format!("folder/{at:0>30}")).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let mut pair = Pair::new(true, true, None);
    pair.run().unwrap();
    pair.initiator.get(selecting(&paths), selected(&paths));
    pair.run().unwrap();
    let pages = pair.told_acceptor.iter().filter(|event| matches!(event, Event::NamesArriving(_))).count();
    assert!(pages > 4, "{pages}");
    let wanted = Event::GetReceived(selecting(&paths), (*selected(&paths)).clone());
    assert_eq!(pair.told_acceptor.last(), Some(&wanted));
    pair.acceptor.offer(&offer());
    pair.run().unwrap();
    assert!(matches!(pair.told_initiator.last(), Some(Event::Offered(..))));
    // None of them selects nothing, and is no request for everything.
    let mut pair = Pair::new(true, true, None);
    pair.run().unwrap();
    pair.initiator.get(selecting(&[]), selected(&[]));
    pair.run().unwrap();
    assert_eq!(pair.told_acceptor.last(), Some(&Event::GetReceived(selecting(&[]), SelectedPaths::default())));
}

#[test]
fn no_more_paths_arrive_than_were_said_and_not_for_ever() {
    let page = |paths: &[&[u8]]| Message::Selected(paths.iter().map(|path| path.to_vec()).collect());
    let waiting = || {
        let mut pair = Pair::new(true, true, None);
        pair.run().unwrap();
        pair.acceptor.handle_message(Message::Get(selecting(&["a", "b"])), 0).unwrap();
        pair
    };
    let mut pair = waiting();
    pair.acceptor.handle_message(page(&[b"a"]), 0).unwrap();
    let more = pair.acceptor.handle_message(page(&[b"b", b"c"]), 0);
    assert!(matches!(more, Err(ProtocolError::Totals { declared: 2, found: 3, .. })), "{more:?}");
    let mut pair = waiting();
    assert!(pair.acceptor.handle_message(Message::Get(get(&[("data", false)])), 0).is_err(), "it is awaited");
    let mut pair = waiting();
    let mut now_ms = 0;
    while now_ms < OFFERED_TIME_MAX_MS {
        assert_eq!(pair.acceptor.handle_timeout(now_ms), Ok(()), "{now_ms}");
        now_ms += 1_000;
        pair.acceptor.handle_message(Message::Ping, now_ms).unwrap();
    }
    assert!(pair.acceptor.handle_timeout(now_ms).is_err());
    let mut pair = asked(get(&[("data", false)]));
    assert!(pair.acceptor.handle_message(page(&[b"a"]), 0).is_err(), "nothing was selected");
    let mut pair = Pair::new(true, true, None);
    pair.run().unwrap();
    assert!(pair.acceptor.handle_message(page(&[b"a"]), 0).is_err(), "nothing was asked for");
}

#[test]
fn a_plan_is_asked_for_and_told_in_pages() {
    let mut pair = Pair::new(true, true, None);
    pair.run().unwrap();
    let number = pair.initiator.plan(selecting(&["a"]), selected(&["a"])).unwrap();
    pair.run().unwrap();
    let purpose = Purpose::Plan { number: 0, pages: PAGES_AHEAD_MAX };
    let wanted = Event::PlanAsked(number, Get { purpose, ..selecting(&["a"]) }, (*selected(&["a"])).clone());
    assert_eq!(pair.told_acceptor.last(), Some(&wanted));
    let entry = |path: &str| PlannedEntry::Moves(PlannedKind::File, path.as_bytes().to_vec());
    let mut writer = PlanWriter::default();
    let full = (0..1_001).filter_map(|at| writer.push(entry(&format!("data/{at}")))).next().unwrap();
    let counts = PlannedCounts { excluded: 3, ..PlannedCounts::default() };
    for page in [full, writer.last(counts)] {
        let answer = Answer::Planned(page);
        assert!(pair.acceptor.takes_page());
        pair.acceptor.answer(number, answer.clone());
        pair.run().unwrap();
        assert_eq!(pair.told_initiator.last(), Some(&Event::Answered(number, answer)));
    }
    // It is over: a further page breaks the protocol, and so does an offer.
    let again = Message::Answered { number: 0, answer: Answer::NotPlanned(GetRefusal::NoShare) };
    assert!(pair.initiator.handle_message(again, 0).is_err());
    let mut pair = Pair::new(true, true, None);
    pair.run().unwrap();
    pair.initiator.plan(get(&[("data", false)]), Arc::default()).unwrap();
    assert!(pair.initiator.handle_message(Message::Offer(offer()), 0).is_err());
    // A listing is no answer to it.
    let mut pair = Pair::new(true, true, None);
    pair.run().unwrap();
    pair.initiator.plan(get(&[("data", false)]), Arc::default()).unwrap();
    let shares = Message::Answered { number: 0, answer: Answer::Shares(Vec::new()) };
    assert!(pair.initiator.handle_message(shares, 0).is_err());
}
