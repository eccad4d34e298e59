//! A note instead of an offer.
use super::*;
use crate::control::{NoteHead, NotePage};
use crate::limits::{NOTE_LEN_MAX, NOTE_PAGE_BYTES_MAX, OFFERED_TIME_MAX_MS};

fn text(len: usize) -> NoteText {
    NoteText::from_bytes(vec![b'n'; len]).unwrap()
}

fn friends() -> Pair {
    let mut pair = Pair::new(true, true, None);
    pair.run().unwrap();
    pair
}

fn page(bytes: &[u8]) -> Message {
    Message::NotePage(NotePage::new(bytes))
}

#[test]
fn note_arrives_whole_and_is_answered_once() {
    for len in [1, NOTE_PAGE_BYTES_MAX, NOTE_PAGE_BYTES_MAX + 1, NOTE_LEN_MAX] {
        let mut pair = friends();
        pair.initiator.note([7; 16], &text(len));
        pair.run().unwrap();
        assert_eq!(pair.told_acceptor.last(), Some(&Event::NoteReceived([7; 16], text(len))));
        pair.acceptor.keep_note();
        pair.acceptor.decline(DeclineReason::ByChoice);
        pair.run().unwrap();
        assert_eq!(pair.told_initiator.last(), Some(&Event::NoteKept));
        assert!(pair.initiator.is_ended() && pair.acceptor.is_ended());
    }
}

#[test]
fn note_may_be_declined() {
    let mut pair = friends();
    pair.initiator.note([7; 16], &text(3));
    pair.run().unwrap();
    pair.acceptor.decline(DeclineReason::NotesFull);
    pair.run().unwrap();
    assert_eq!(pair.told_initiator.last(), Some(&Event::Declined(DeclineReason::NotesFull)));
}

#[test]
fn a_stranger_sends_a_note_in_vain() {
    let mut pair = Pair::new(true, false, None);
    pair.run().unwrap();
    pair.acceptor.handle_message(Message::Note(NoteHead { id: [7; 16], len: 1 }), 0).unwrap();
    assert_eq!(messages(&pair.acceptor.poll_transmit().unwrap()), [Message::Refused(Refusal::NotPaired)]);
}

#[test]
fn pages_beyond_the_length_and_other_bytes_than_text_are_refused() {
    let head = |len| Message::Note(NoteHead { id: [7; 16], len });
    let heard = |said: Vec<Message>| {
        let mut pair = friends();
        said.into_iter().try_for_each(|message| pair.acceptor.handle_message(message, 0))
    };
    let more = Err(ProtocolError::Totals { what: "bytes of a note", declared: 2, found: 3 });
    assert_eq!(heard(vec![head(2), page(b"abc")]), more);
    assert_eq!(heard(vec![head(2), page(b"a"), page(b"bc")]), more);
    assert_eq!(heard(vec![head(1), page(b"\xff")]), Err(ProtocolError::BadText));
    assert!(heard(vec![page(b"a")]).is_err(), "it has no head");
    assert!(heard(vec![head(2), head(2)]).is_err(), "one note a session");
    assert!(heard(vec![head(1), page(b"a"), page(b"b")]).is_err(), "it is whole");
    assert!(heard(vec![head(1), Message::Offer(offer())]).is_err());
    assert_eq!(heard(vec![head(2), page("é".as_bytes())]), Ok(()));
    // A character may lie on two pages.
    assert_eq!(heard(vec![head(2), page(b"\xc3"), page(b"\xa9")]), Ok(()));
}

#[test]
fn a_note_that_does_not_come_is_given_up() {
    let mut pair = friends();
    pair.acceptor.handle_message(Message::Note(NoteHead { id: [7; 16], len: 9 }), 0).unwrap();
    let mut now_ms = 0;
    while now_ms < OFFERED_TIME_MAX_MS {
        assert_eq!(pair.acceptor.handle_timeout(now_ms), Ok(()), "{now_ms}");
        now_ms += 1_000;
        pair.acceptor.handle_message(Message::Ping, now_ms).unwrap();
    }
    assert!(pair.acceptor.handle_timeout(now_ms).is_err());
}

#[test]
fn nothing_else_answers_a_note() {
    let mut pair = friends();
    pair.initiator.note([7; 16], &text(3));
    assert!(pair.initiator.handle_message(Message::Queued(NonZeroU32::MIN), 0).is_err());
    assert!(friends().initiator.handle_message(Message::NoteKept, 0).is_err(), "none was sent");
}
