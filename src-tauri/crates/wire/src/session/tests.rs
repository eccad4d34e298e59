//! Both machines against each other over a pipe that a test can cut, delay and tamper with, under a clock that it sets.
use super::*;
use crate::code::{PairingCode, PairingSecret};
use crate::control::{
    Cancel, Decline, EntryFailed, FRAME_PREFIX_LEN, Greeting, Micros, Offer, PathCodes, Progress, Proven, Receipt,
    ReceiverTimes, Refusal, SenderTimes, Shortage, Totals,
};
use crate::lane::Counts;
use crate::name::DeviceName;
use crate::pair::Binding;

fn greeting(name: &str) -> Greeting {
    Greeting { name: DeviceName::new(name).unwrap(), port: 17464 }
}

fn secret(seed: u8) -> PairingSecret {
    PairingSecret::from(&PairingCode::from_entropy([seed; crate::code::CODE_ENTROPY_LEN]))
}

fn binding() -> Binding {
    Binding::new([1; 32], [2; 32], [3; 32]).unwrap()
}

fn offer() -> Offer {
    let so_far = Totals { entries: 3, bytes: 4, complete: false };
    Offer {
        transfer: [9; 16],
        names: vec![b"data".to_vec()],
        more_names: 0,
        so_far,
        lanes: 4,
        prove: false,
        retry_s: 60,
    }
}

fn messages(bytes: &[u8]) -> Vec<Message> {
    let mut rest = bytes;
    let mut found = Vec::new();
    while let Some((prefix, behind)) = rest.split_first_chunk::<FRAME_PREFIX_LEN>() {
        let (payload, next) = behind.split_at(Message::payload_len(*prefix).unwrap());
        found.push(Message::decode(payload).unwrap());
        rest = next;
    }
    assert!(rest.is_empty());
    found
}

/// The two machines, and what each has reported.
struct Pair {
    initiator: Initiator,
    acceptor: Acceptor,
    known: bool,
    acceptor_secret: u8,
    now_ms: u64,
    told_initiator: Vec<InitiatorEvent>,
    told_acceptor: Vec<AcceptorEvent>,
}

impl Pair {
    fn new(known_there: bool, known_here: bool, code: Option<u8>) -> Self {
        let pairing = code.map(|seed| Pairing { secret: secret(seed), binding: binding(), entropy: [5; 64].into() });
        Self {
            initiator: Initiator::new(&greeting("laptop"), known_there, pairing, 0),
            acceptor: Acceptor::new(greeting("lab-ws"), 0),
            known: known_here,
            acceptor_secret: 1,
            now_ms: 0,
            told_initiator: Vec::new(),
            told_acceptor: Vec::new(),
        }
    }

    /// Passes messages to and fro until nobody has anything to say, answering as a listener does.
    fn run(&mut self) -> Result<(), ProtocolError> {
        loop {
            let mut quiet = true;
            for message in messages(&self.initiator.poll_transmit().unwrap_or_default()) {
                quiet = false;
                self.acceptor.handle_message(message, self.now_ms)?;
                self.answer();
            }
            for message in messages(&self.acceptor.poll_transmit().unwrap_or_default()) {
                quiet = false;
                self.initiator.handle_message(message, self.now_ms)?;
                self.told_initiator.extend(std::iter::from_fn(|| self.initiator.poll_event()));
            }
            if quiet {
                return Ok(());
            }
        }
    }

    fn answer(&mut self) {
        while let Some(event) = self.acceptor.poll_event() {
            match &event {
                AcceptorEvent::HelloReceived { .. } => self.acceptor.welcome(self.known, true),
                AcceptorEvent::PairingStarted => {
                    self.acceptor.pair(&secret(self.acceptor_secret), binding(), &[6; 64]);
                }
                AcceptorEvent::PairingConcluded => self.acceptor.paired(),
                _ => {}
            }
            self.told_acceptor.push(event);
        }
    }
}

#[test]
fn known_devices_go_straight_to_the_offer() {
    let mut pair = Pair::new(true, true, None);
    pair.run().unwrap();
    assert_eq!(pair.told_initiator.last(), Some(&InitiatorEvent::Authenticated));
    pair.initiator.offer(&offer());
    pair.run().unwrap();
    assert_eq!(pair.told_acceptor.last(), Some(&AcceptorEvent::Offered(offer())));
}

#[test]
fn a_whole_transfer_ends_with_the_receipt() {
    let mut pair = Pair::new(true, true, None);
    pair.run().unwrap();
    pair.initiator.offer(&offer());
    pair.run().unwrap();
    pair.acceptor.accept(2, true, Some(-7));
    pair.run().unwrap();
    assert_eq!(pair.told_initiator.last(), Some(&InitiatorEvent::Accepted { lanes: 2, lists: true, doubts: Some(-7) }));
    let failed = EntryFailed { path: b"data/x".to_vec(), operation: 1, reason: 0, errno: 13 };
    let sent = Counts { files: 1, folders: 1, links: 1, bytes: 4 };
    pair.initiator.totals(Totals { entries: 3, bytes: 4, complete: true });
    pair.initiator.path_taken(PathCodes::default());
    let sender_times = SenderTimes { reading: Micros::new(7).unwrap(), ..SenderTimes::default() };
    let receiver_times = ReceiverTimes { writing: Micros::MAX, ..ReceiverTimes::default() };
    pair.initiator.times(sender_times);
    pair.initiator.entry_failed(failed.clone());
    pair.initiator.finish(sent, 1, 2);
    pair.acceptor.progress(Progress { entries: 2, bytes: 4 });
    pair.acceptor.times(receiver_times);
    pair.run().unwrap();
    assert!(pair.told_acceptor.contains(&AcceptorEvent::EntryFailed(failed)));
    assert!(pair.told_acceptor.contains(&AcceptorEvent::SenderTimes(sender_times)));
    assert!(pair.told_initiator.contains(&InitiatorEvent::ReceiverTimes(receiver_times)));
    assert_eq!(pair.told_acceptor.last(), Some(&AcceptorEvent::FinishReceived { sent, failed: 1, lanes: 2 }));
    assert!(pair.told_initiator.contains(&InitiatorEvent::Progressed(Progress { entries: 2, bytes: 4 })));
    let receipt = Receipt { there: sent, unchanged: 0, reused: 0, failed: 0, proven: None };
    pair.acceptor.receipt(receipt);
    pair.run().unwrap();
    assert_eq!(pair.told_initiator.last(), Some(&InitiatorEvent::ReceiptReceived(receipt)));
    assert!(pair.initiator.is_ended() && pair.acceptor.is_ended());
}

#[test]
fn a_receipt_is_held_against_what_was_sent() {
    let sent = Counts { files: 5, folders: 2, links: 1, bytes: 40 };
    let taken = |failed_here, there, failed| {
        let mut pair = Pair::new(true, true, None);
        pair.run().unwrap();
        pair.initiator.offer(&offer());
        pair.run().unwrap();
        pair.acceptor.accept(1, false, Some(3));
        pair.run().unwrap();
        pair.initiator.finish(sent, failed_here, 1);
        let receipt = Receipt { there, unchanged: 0, reused: 0, failed, proven: None };
        pair.initiator.handle_message(Message::Receipt(receipt), 0).is_ok()
    };
    assert!(taken(0, sent, 0));
    // One more than was sent, of any kind.
    for there in [
        Counts { files: 6, ..sent },
        Counts { folders: 3, ..sent },
        Counts { links: 2, ..sent },
        Counts { bytes: 41, ..sent },
    ] {
        assert!(!taken(0, there, 9), "{there:?}");
    }
    // What is missing must have failed: one failure may be of a whole file, and of one that is there but for its attributes.
    let fewer = Counts { files: 4, bytes: 30, ..sent };
    assert_eq!([0, 1, 2].map(|failed| taken(0, fewer, failed)), [false, true, true]);
    let shorter = Counts { bytes: 39, ..sent };
    assert_eq!((taken(0, shorter, 0), taken(1, shorter, 0), taken(0, shorter, 1)), (false, true, true));
    assert!(taken(0, Counts::default(), 8) && !taken(0, Counts::default(), 7));
}

#[test]
fn a_proof_is_given_where_it_was_asked_for_and_nowhere_else() {
    let proven = Some(Proven { files: 1, bytes: 4, took: Micros::default() });
    for (prove, given) in [(true, true), (true, false), (false, false)] {
        let mut pair = Pair::new(true, true, None);
        pair.run().unwrap();
        pair.initiator.offer(&Offer { prove, ..offer() });
        pair.run().unwrap();
        pair.acceptor.accept(1, false, Some(3));
        pair.run().unwrap();
        let sent = Counts { files: 1, folders: 0, links: 0, bytes: 4 };
        pair.initiator.finish(sent, 0, 1);
        pair.run().unwrap();
        let progress = Progress { entries: 1, bytes: 2 };
        pair.acceptor.proving(progress);
        if !prove {
            assert!(matches!(pair.run(), Err(ProtocolError::Unexpected { .. })));
            continue;
        }
        pair.run().unwrap();
        assert_eq!(pair.told_initiator.last(), Some(&InitiatorEvent::Proving(progress)));
        let receipt = Receipt { there: sent, unchanged: 0, reused: 0, failed: 0, proven: proven.filter(|_| given) };
        pair.acceptor.receipt(receipt);
        let taken = pair.run();
        match given {
            true => assert_eq!(pair.told_initiator.last(), Some(&InitiatorEvent::ReceiptReceived(receipt))),
            false => assert_eq!(taken, Err(ProtocolError::BadValue("proof"))),
        }
    }
}

#[test]
fn a_proof_that_nobody_asked_for_is_refused() {
    let mut pair = Pair::new(true, true, None);
    pair.run().unwrap();
    pair.initiator.offer(&offer());
    pair.run().unwrap();
    pair.acceptor.accept(1, false, Some(3));
    pair.run().unwrap();
    pair.initiator.finish(Counts::default(), 0, 1);
    let receipt = Receipt { proven: Some(Proven::default()), ..Receipt::default() };
    let taken = pair.initiator.handle_message(Message::Receipt(receipt), 0);
    assert_eq!(taken, Err(ProtocolError::BadValue("proof")));
}

#[test]
fn strangers_pair_by_code_and_both_know_it() {
    for (known_there, known_here) in [(false, false), (true, false), (false, true)] {
        let mut pair = Pair::new(known_there, known_here, Some(1));
        pair.run().unwrap();
        assert!(pair.told_initiator.contains(&InitiatorEvent::Paired));
        assert_eq!(pair.told_initiator.last(), Some(&InitiatorEvent::Authenticated));
        assert_eq!(pair.told_acceptor.last(), Some(&AcceptorEvent::PairingConcluded));
    }
}

#[test]
fn a_wrong_code_is_the_same_verdict_on_both_sides() {
    let mut pair = Pair::new(false, false, Some(200));
    pair.run().unwrap();
    assert_eq!(pair.told_initiator.last(), Some(&InitiatorEvent::Refused(Refusal::WrongCode)));
    assert_eq!(pair.told_acceptor.last(), Some(&AcceptorEvent::WrongCode));
    assert!(pair.initiator.is_ended() && pair.acceptor.is_ended());
}

#[test]
fn without_a_code_strangers_part_politely() {
    for (known_there, known_here) in [(false, false), (true, false), (false, true)] {
        let mut pair = Pair::new(known_there, known_here, None);
        pair.run().unwrap();
        assert_eq!(pair.told_initiator.last(), Some(&InitiatorEvent::PairingNeeded));
        assert!(pair.initiator.is_ended());
    }
}

#[test]
fn a_stranger_that_offers_without_pairing_is_refused() {
    let mut acceptor = Acceptor::new(greeting("lab-ws"), 0);
    acceptor.handle_message(greeting("x").hello(true, false), 0).unwrap();
    acceptor.welcome(false, true);
    acceptor.handle_message(Message::Offer(offer()), 0).unwrap();
    assert_eq!(messages(&acceptor.poll_transmit().unwrap()).last(), Some(&Message::Refused(Refusal::NotPaired)));
    assert!(!std::iter::from_fn(|| acceptor.poll_event()).any(|event| matches!(event, AcceptorEvent::Offered(_))));
}

#[test]
fn offers_are_declined_with_the_reason() {
    let mut pair = Pair::new(true, true, None);
    pair.run().unwrap();
    pair.initiator.offer(&offer());
    pair.run().unwrap();
    let decline = Decline::NoRoom(Shortage { needed: 10, free: 5, entries: 0 });
    pair.acceptor.decline(decline);
    pair.run().unwrap();
    assert_eq!(pair.told_initiator.last(), Some(&InitiatorEvent::Declined(decline)));
}

#[test]
fn either_side_can_cancel_at_any_time() {
    for step in 0..3 {
        let mut pair = Pair::new(true, true, None);
        pair.run().unwrap();
        if step > 0 {
            pair.initiator.offer(&offer());
            pair.run().unwrap();
        }
        if step > 1 {
            pair.acceptor.accept(1, false, Some(3));
            pair.run().unwrap();
        }
        match step % 2 {
            0 => pair.initiator.cancel(Cancel::ByPerson),
            _ => pair.acceptor.cancel(Cancel::DestinationFull(Shortage::default())),
        }
        pair.run().unwrap();
        assert!(pair.initiator.is_ended() && pair.acceptor.is_ended(), "step {step}");
    }
}

#[test]
fn messages_out_of_place_end_the_session() {
    let out_of_place = [
        Message::LaneReady,
        Message::Accept(crate::control::Accept { lanes: 1, lists: false, doubts: None }),
        Message::Receipt(Receipt::default()),
        Message::Paired,
        Message::PairDone,
        Message::Finish { sent: Counts::default(), failed: 0, lanes: 1 },
        Message::Progress(Progress::default()),
        Message::SenderTimes(SenderTimes::default()),
        Message::ReceiverTimes(ReceiverTimes::default()),
    ];
    for message in out_of_place {
        let mut pair = Pair::new(true, true, None);
        pair.run().unwrap();
        let kind = message.kind();
        let unexpected = |result: Result<(), ProtocolError>| matches!(result, Err(ProtocolError::Unexpected { message, .. }) if message == kind);
        assert!(unexpected(pair.initiator.handle_message(message.clone(), 0)), "{kind}");
        assert!(unexpected(pair.acceptor.handle_message(message, 0)), "{kind}");
        assert!(pair.initiator.is_ended() && pair.acceptor.is_ended());
    }
}

#[test]
fn nothing_before_hello_is_answered() {
    for message in [Message::Ping, Message::Pong, Message::Offer(offer())] {
        let mut acceptor = Acceptor::new(greeting("lab-ws"), 0);
        assert!(acceptor.handle_message(message, 0).is_err());
        assert!(acceptor.poll_transmit().is_none());
    }
}

#[test]
fn a_receiver_cannot_take_more_lanes_than_offered() {
    let mut pair = Pair::new(true, true, None);
    pair.run().unwrap();
    pair.initiator.offer(&offer());
    let accept = Message::Accept(crate::control::Accept { lanes: 5, lists: false, doubts: None });
    assert_eq!(pair.initiator.handle_message(accept, 0), Err(ProtocolError::BadValue("lanes")));
}

#[test]
fn a_silent_peer_is_pinged_then_given_up() {
    let mut pair = Pair::new(true, true, None);
    pair.run().unwrap();
    let due = pair.initiator.poll_timeout().unwrap();
    assert_eq!(due, PING_AFTER_MS);
    pair.initiator.handle_timeout(due).unwrap();
    assert_eq!(messages(&pair.initiator.poll_transmit().unwrap()), [Message::Ping]);
    assert_eq!(pair.initiator.handle_timeout(SILENCE_MAX_MS), Err(ProtocolError::Silent));
}

#[test]
fn pings_keep_a_session_alive_for_hours() {
    let mut pair = Pair::new(true, true, None);
    pair.run().unwrap();
    pair.initiator.offer(&offer());
    pair.run().unwrap();
    for _ in 0..1_000 {
        pair.now_ms = pair.initiator.poll_timeout().unwrap().min(pair.acceptor.poll_timeout().unwrap());
        pair.initiator.handle_timeout(pair.now_ms).unwrap();
        pair.acceptor.handle_timeout(pair.now_ms).unwrap();
        pair.run().unwrap();
    }
    assert!(pair.now_ms > 3_600_000);
}

#[test]
fn a_known_peer_that_offers_nothing_does_not_hold_its_place() {
    let mut pair = Pair::new(true, true, None);
    pair.run().unwrap();
    assert_eq!(pair.acceptor.handle_timeout(crate::limits::HELLO_TIME_MAX_MS), Err(ProtocolError::Silent));
}

#[test]
fn a_peer_that_never_says_hello_is_given_up_early() {
    let mut acceptor = Acceptor::new(greeting("lab-ws"), 0);
    assert_eq!(acceptor.handle_timeout(crate::limits::HELLO_TIME_MAX_MS), Err(ProtocolError::Silent));
    let mut initiator = Initiator::new(&greeting("laptop"), true, None, 0);
    assert_eq!(initiator.handle_timeout(crate::limits::HELLO_TIME_MAX_MS), Err(ProtocolError::Silent));
}

#[test]
fn another_version_is_told_ours() {
    let hello = |version| {
        let Greeting { name, port } = greeting("other");
        Message::Hello(crate::control::Hello { version, name, port, known: true, pairing: false })
    };
    let mut acceptor = Acceptor::new(greeting("lab-ws"), 0);
    acceptor.handle_message(hello(99), 0).unwrap();
    assert_eq!(messages(&acceptor.poll_transmit().unwrap()).last(), Some(&Message::Refused(Refusal::Version)));
    let mut initiator = Initiator::new(&greeting("laptop"), true, None, 0);
    initiator.handle_message(hello(99), 0).unwrap();
    assert!(initiator.is_ended());
}
