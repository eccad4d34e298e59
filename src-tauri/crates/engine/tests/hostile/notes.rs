//! What a hostile device sends as a note: too much of it, no text, and thousands.
use ringway_engine::limits::{NOTES, NOTES_OF_ONE_MAX};
use ringway_model::DeclineReason;
use ringway_wire::control::{NoteHead, NotePage};
use ringway_wire::limits::NOTE_LEN_MAX;

use super::mallory::Channel;
use super::shares::{asking, paired};
use super::*;

fn head(number: u32, len: usize) -> Message {
    let mut id = [0; 16];
    id[..4].copy_from_slice(&number.to_le_bytes());
    Message::Note(NoteHead { id, len: len as u32 })
}

fn page(bytes: &[u8]) -> Message {
    Message::NotePage(NotePage::new(bytes))
}

/// What the other end answers; `None` if it closes.
async fn answer(session: &mut Channel) -> Option<Message> {
    let heard = async {
        loop {
            match session.hear().await {
                Some(Message::Ping) => session.say(&Message::Pong).await,
                heard => return heard,
            }
        }
    };
    timeout(LONG, heard).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_note_ends_the_session_and_leaves_nothing() {
    let lab = Device::new("lab");
    let (_receiver, address) = lab.receiver().await;
    let mallory = paired(&lab, address).await;
    let long = (NOTE_LEN_MAX as u32 + 1).to_le_bytes();
    let mut too_long = vec![21, 0, 0, 0, 47];
    too_long.extend([7; 16]);
    too_long.extend(long);
    let mut session = asking(&mallory, address).await;
    session.say_raw(&too_long).await;
    assert_eq!(answer(&mut session).await, None, "65,537 bytes are announced");
    let full = vec![b'n'; NOTE_LEN_MAX / 2];
    for said in [
        vec![head(1, NOTE_LEN_MAX), page(&full), page(&full), page(b"n")],
        vec![head(2, 3), page(b"abcd")],
        vec![head(3, 4), page(b"caf\xe9")],
        vec![head(4, 2), page(b"\xed\xa0")],
        vec![page(b"n")],
        vec![head(5, 2), head(6, 2)],
        vec![head(7, 2), page(b"n"), Message::Offer(offer())],
    ] {
        let mut session = asking(&mallory, address).await;
        let is_kept = matches!(said.first(), Some(Message::Note(head)) if head.len as usize == NOTE_LEN_MAX);
        for message in &said {
            session.say(message).await;
        }
        // The first one is whole before what is too much.
        let expected = is_kept.then_some(Message::NoteKept);
        assert_eq!(answer(&mut session).await, expected, "{said:?}");
    }
    let notes = lab.engine.notes().unwrap();
    assert_eq!(notes.iter().map(|note| note.bytes as usize).collect::<Vec<_>>(), [NOTE_LEN_MAX]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_leaves_no_note() {
    let lab = Device::new("lab");
    let (_receiver, address) = lab.receiver().await;
    let mut session = Mallory::new().dial(address).await;
    session.hello("guest", true).await;
    assert!(matches!(answer(&mut session).await, Some(Message::Hello(hello)) if !hello.known));
    session.say(&head(1, 1)).await;
    session.say(&page(b"n")).await;
    assert_eq!(answer(&mut session).await, Some(Message::Refused(Refusal::NotPaired)));
    assert!(lab.engine.notes().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_notes_come_to_few() {
    let lab = Device::new("lab");
    let (mut receiver, address) = lab.receiver().await;
    let mallory = paired(&lab, address).await;
    // The program looks at none of the events.
    let (mut kept, mut declined) = (0, 0);
    for number in 0..1_000 {
        let mut session = asking(&mallory, address).await;
        session.say(&head(number, 1)).await;
        session.say(&page(b"n")).await;
        match answer(&mut session).await {
            Some(Message::NoteKept) => kept += 1,
            Some(Message::Decline(DeclineReason::TooManyNotes { wait_ms })) if wait_ms > 0 => declined += 1,
            // Too many connections at once, or handshakes.
            _ => {}
        }
        if declined > 50 {
            break;
        }
    }
    assert!(declined > 0 && (NOTES.burst..=NOTES_OF_ONE_MAX).contains(&kept), "{kept} kept, {declined} declined");
    assert_eq!(lab.engine.notes().unwrap().len() as u32, kept);
    // The same ones again are answered, and are not there twice.
    let event = timeout(LONG, async {
        loop {
            if let Some(ReceiverEvent::NoteReceived(note)) = receiver.next_event().await {
                return note;
            }
        }
    });
    assert_eq!(event.await.unwrap().first_line, "n");
}
