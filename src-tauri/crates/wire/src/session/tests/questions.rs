//! Questions about shares instead of an offer.
use ringway_model::ShareName;

use super::*;
use crate::control::{Answer, EntriesWanted, NoAnswer, Question};
use crate::entries::{Depth, EntriesPage, EntriesWriter, FolderEntry};
use crate::limits::QUESTIONS_IDLE_MAX_MS;

pub(super) fn listing() -> Question {
    let share = ShareName::new("runs").unwrap();
    Question::Entries(EntriesWanted { share, path: b"a".to_vec(), depth: Depth::Folder, changed_since: None, pages: 2 })
}

pub(super) fn page(name: &str, is_last: bool) -> EntriesPage {
    let mut writer = EntriesWriter::default();
    let path = RelPath::new(name.as_bytes()).unwrap();
    writer.push(&FolderEntry { path, what: Err(5) });
    writer.page(is_last)
}

/// Two that know each other, with nothing told.
fn friends() -> Pair {
    let mut pair = Pair::new(true, true, None);
    pair.run().unwrap();
    pair.told_initiator.clear();
    pair.told_acceptor.clear();
    pair
}

#[test]
fn questions_are_answered_page_by_page_and_shares_at_once() {
    let mut pair = friends();
    let folder = pair.initiator.ask(listing()).unwrap();
    let shares = pair.initiator.ask(Question::Shares).unwrap();
    pair.run().unwrap();
    let asked = [Event::Asked(folder, listing()), Event::Asked(shares, Question::Shares)];
    assert_eq!(pair.told_acceptor, asked);
    pair.acceptor.answer(folder, Answer::Entries(page("a", false)));
    pair.acceptor.answer(shares, Answer::Shares(Vec::new()));
    assert!(!pair.acceptor.takes_page());
    pair.run().unwrap();
    let first = Answer::Entries(page("a", false));
    // What is short does not wait behind pages.
    let told = [Event::Answered(shares, Answer::Shares(Vec::new())), Event::Answered(folder, first.clone())];
    assert_eq!(std::mem::take(&mut pair.told_initiator), told);
    let taken = [shares, folder].map(|number| Some(Event::PageTaken(number)));
    assert_eq!([pair.acceptor.poll_event(), pair.acceptor.poll_event()], taken);
    assert!(pair.acceptor.takes_page());
    pair.acceptor.answer(folder, Answer::Entries(page("b", true)));
    pair.run().unwrap();
    assert_eq!(pair.told_initiator, [Event::Answered(folder, Answer::Entries(page("b", true)))]);
}

#[test]
fn a_stranger_asks_in_vain() {
    let mut pair = Pair::new(true, false, None);
    pair.run().unwrap();
    pair.acceptor.handle_message(Message::Asked { number: 0, question: Question::Shares }, 0).unwrap();
    let said = messages(&pair.acceptor.poll_transmit().unwrap());
    assert_eq!(said, [Message::Refused(Refusal::NotPaired)]);
    assert!(pair.acceptor.is_ended() && pair.acceptor.poll_event().is_none());
}

#[test]
fn who_asks_offers_nothing_and_who_offers_does_not_ask() {
    let mut pair = friends();
    pair.initiator.ask(Question::Shares).unwrap();
    pair.run().unwrap();
    let refused = pair.acceptor.handle_message(Message::Offer(offer()), 0);
    assert!(matches!(refused, Err(ProtocolError::Unexpected { .. })), "{refused:?}");
    let mut pair = friends();
    pair.initiator.offer(&offer());
    pair.run().unwrap();
    let refused = pair.acceptor.handle_message(Message::Asked { number: 0, question: Question::Shares }, 0);
    assert!(matches!(refused, Err(ProtocolError::Unexpected { .. })), "{refused:?}");
    let refused = pair.initiator.handle_message(Message::Answered { number: 0, answer: Answer::Shares(Vec::new()) }, 0);
    assert!(matches!(refused, Err(ProtocolError::Unexpected { .. })), "{refused:?}");
}

#[test]
fn an_answer_that_nobody_wants_stops() {
    let mut pair = friends();
    let folder = pair.initiator.ask(listing()).unwrap();
    pair.run().unwrap();
    pair.acceptor.answer(folder, Answer::Entries(page("a", false)));
    pair.initiator.abandon(folder);
    pair.run().unwrap();
    assert!(pair.told_acceptor.contains(&Event::NotWanted(folder)));
    assert!(pair.told_initiator.is_empty(), "the page that was on its way is dropped");
    pair.acceptor.answer(folder, Answer::Refused(NoAnswer::Busy));
    pair.run().unwrap();
    assert!(pair.told_initiator.is_empty());
    let other = pair.initiator.ask(Question::Shares).unwrap();
    pair.run().unwrap();
    pair.acceptor.answer(other, Answer::Refused(NoAnswer::Busy));
    pair.run().unwrap();
    assert_eq!(pair.told_initiator, [Event::Answered(other, Answer::Refused(NoAnswer::Busy))]);
}

#[test]
fn a_session_ends_in_which_nothing_is_asked_for_long() {
    let mut pair = friends();
    let shares = pair.initiator.ask(Question::Shares).unwrap();
    pair.run().unwrap();
    // As long as something is to be answered, only silence ends it.
    let waits = pair.acceptor.poll_timeout().unwrap();
    assert!(waits < QUESTIONS_IDLE_MAX_MS);
    pair.acceptor.answer(shares, Answer::Shares(Vec::new()));
    pair.run().unwrap();
    let mut now_ms = 0;
    let ended = loop {
        now_ms = pair.acceptor.poll_timeout().unwrap().max(now_ms);
        if let Err(error) = pair.acceptor.handle_timeout(now_ms) {
            break error;
        }
        // The other end lives.
        pair.acceptor.handle_message(Message::Pong, now_ms).unwrap();
        pair.acceptor.poll_transmit();
    };
    assert_eq!((ended, now_ms), (ProtocolError::Silent, QUESTIONS_IDLE_MAX_MS));
}
