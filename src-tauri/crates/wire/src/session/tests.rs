//! Both machines, connected by a pipe that a test can cut, delay and tamper with, under a clock
//! that the test sets.
use std::sync::Arc;

use ringway_model::{DeclineReason, Shortage};

use super::*;
use crate::code::{PairingCode, PairingSecret};
use crate::control::{
    Accept, Cancel, EntryFailed, EntryKept, FRAME_PREFIX_LEN, Greeting, Micros, Offer, PathCodes, Progress, Proven,
    Receipt, ReceiverTimes, Refusal, SenderTimes, Totals,
};
use crate::lane::Counts;
use crate::limits::{FAILURES_NAMED_MAX, FAILURES_PER_ENTRY_MAX};
use crate::listing::{ListedEntry, ListedKind, ListingEnd, ListingPage, ListingWriter};
use crate::name::{DeviceName, Name, RelPath};
use crate::offered::OfferedNames;
use crate::pair::Binding;

mod beside;
mod getting;
mod honest;
mod noting;
mod questions;

fn greeting(name: &str) -> Greeting {
    Greeting { name: DeviceName::new(name).unwrap() }
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
        in_share: None,
    }
}

fn names(of: &[&[u8]]) -> OfferedNames {
    let mut names = OfferedNames::default();
    of.iter().for_each(|name| names.push(Name::new(name).unwrap()).unwrap());
    names
}

fn listing_page(end: ListingEnd) -> ListingPage {
    let mut writer = ListingWriter::default();
    for path in ["data", "data/below"] {
        let path = RelPath::new(path.as_bytes()).unwrap();
        assert!(writer.push(&ListedEntry { path, kind: ListedKind::Folder }).is_none());
    }
    writer.page(end)
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

/// The two machines, and the events of each.
struct Pair {
    initiator: Machine,
    acceptor: Machine,
    known: bool,
    acceptor_secret: u8,
    now_ms: u64,
    told_initiator: Vec<Event>,
    told_acceptor: Vec<Event>,
}

impl Pair {
    fn new(known_there: bool, known_here: bool, code: Option<u8>) -> Self {
        Self::proving(known_there, known_here, code, false)
    }

    fn proving(known_there: bool, known_here: bool, code: Option<u8>, always: bool) -> Self {
        let entropy = || [5; 64].into();
        let pairing =
            code.map(|seed| Pairing { secret: secret(seed).into(), binding: binding(), entropy: entropy(), always });
        Self {
            initiator: Machine::dial(&greeting("laptop"), known_there, pairing, 0),
            acceptor: Machine::listen(greeting("lab-ws"), 0),
            known: known_here,
            acceptor_secret: 1,
            now_ms: 0,
            told_initiator: Vec::new(),
            told_acceptor: Vec::new(),
        }
    }

    /// Passes messages in both directions until neither side has more to send, answering as a
    /// listener does.
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
                Event::HelloReceived { .. } => self.acceptor.welcome(self.known, true),
                Event::PairingStarted => {
                    self.acceptor.pair(&secret(self.acceptor_secret), binding(), &[6; 64]);
                }
                Event::CodeProven => self.acceptor.confirm(),
                Event::PairingConcluded => self.acceptor.paired(),
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
    assert_eq!(pair.told_initiator.last(), Some(&Event::Authenticated));
    pair.initiator.offer(&offer());
    pair.run().unwrap();
    assert_eq!(pair.told_acceptor.last(), Some(&Event::Offered(offer(), names(&[b"data"]))));
}

#[test]
fn a_whole_transfer_ends_with_the_receipt() {
    let mut pair = Pair::new(true, true, None);
    pair.run().unwrap();
    pair.initiator.offer(&offer());
    pair.run().unwrap();
    pair.acceptor.accept(Accept { lanes: 2, lists: true, doubts: Some(-7), owner_names: true });
    pair.run().unwrap();
    assert_eq!(
        pair.told_initiator.last(),
        Some(&Event::Accepted(Accept { lanes: 2, lists: true, doubts: Some(-7), owner_names: true }))
    );
    let failed = EntryFailed { path: b"data/x".to_vec(), operation: 1, reason: 0, errno: 13 };
    let sent = Counts { files: 1, folders: 1, links: 1, bytes: 4 };
    pair.initiator.totals(Totals { entries: 3, bytes: 4, complete: true });
    pair.initiator.path_taken(PathCodes::default());
    let sender_times = SenderTimes { reading: Micros::new(7).unwrap(), ..SenderTimes::default() };
    let receiver_times = ReceiverTimes { writing: Micros::MAX, ..ReceiverTimes::default() };
    pair.initiator.sender_times(sender_times);
    pair.initiator.entry_failed(failed.clone());
    pair.initiator.finish(sent, 1, 2);
    pair.acceptor.progress(Progress { entries: 2, bytes: 4 });
    pair.acceptor.receiver_times(receiver_times);
    pair.run().unwrap();
    assert!(pair.told_acceptor.contains(&Event::EntryFailed(failed)));
    assert!(pair.told_acceptor.contains(&Event::SenderTimes(sender_times)));
    assert!(pair.told_initiator.contains(&Event::ReceiverTimes(receiver_times)));
    assert_eq!(pair.told_acceptor.last(), Some(&Event::FinishReceived { sent, failed: 1, lanes: 2 }));
    assert!(pair.told_initiator.contains(&Event::Progressed(Progress { entries: 2, bytes: 4 })));
    let receipt = Receipt { there: sent, ..Receipt::default() };
    pair.acceptor.receipt(receipt);
    pair.run().unwrap();
    assert_eq!(pair.told_initiator.last(), Some(&Event::ReceiptReceived(receipt)));
    assert!(pair.initiator.is_ended() && pair.acceptor.is_ended());
}

/// A session whose offer was accepted.
fn accepted(offer: &Offer) -> Pair {
    let mut pair = Pair::new(true, true, None);
    pair.run().unwrap();
    pair.initiator.offer(offer);
    pair.run().unwrap();
    pair.acceptor.accept(Accept { lanes: 1, lists: false, doubts: Some(3), owner_names: false });
    pair.run().unwrap();
    pair
}

fn named(number: u64) -> Message {
    let path = format!("data/{number}").into_bytes();
    Message::EntryFailed(EntryFailed { path, operation: 1, reason: 0, errno: 13 })
}

/// The result of a receipt after this many failures were named and everything was sent.
fn taken(offer: &Offer, sent: Counts, failed_here: u64, names: u64, receipt: Receipt) -> Result<(), ProtocolError> {
    let mut pair = accepted(offer);
    for number in 0..names {
        pair.initiator.handle_message(named(number), 0)?;
    }
    pair.initiator.finish(sent, failed_here, 1);
    pair.initiator.handle_message(Message::Receipt(receipt), 0)
}

#[test]
fn a_receipt_is_compared_with_what_was_sent() {
    let sent = Counts { files: 5, folders: 2, links: 1, bytes: 40 };
    let taken = |failed_here, there, failed| {
        let receipt = Receipt { there, failed, ..Receipt::default() };
        match taken(&offer(), sent, failed_here, 0, receipt) {
            Ok(()) => true,
            Err(ProtocolError::Receipt { .. }) => false,
            Err(other) => panic!("{other}"),
        }
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
    // Missing entries must have failed. A failure may be a whole file, or only the attributes of a
    // file that is there.
    let fewer = Counts { files: 4, bytes: 30, ..sent };
    assert_eq!([0, 1, 2].map(|failed| taken(0, fewer, failed)), [false, true, true]);
    // Bytes may only be missing together with their file, or from a file that was given up here.
    let shorter = Counts { bytes: 39, ..sent };
    assert_eq!((taken(0, shorter, 0), taken(1, shorter, 0), taken(0, shorter, 1)), (false, true, false));
    assert!(taken(0, Counts::default(), 8) && !taken(0, Counts::default(), 7));
}

#[test]
fn a_receipt_cannot_count_more_failures_than_possible() {
    let sent = Counts { files: 5, folders: 2, links: 1, bytes: 40 };
    let failed = |failed| taken(&offer(), sent, 0, 0, Receipt { there: sent, failed, ..Receipt::default() });
    let most = FAILURES_PER_ENTRY_MAX * (8 + 1);
    assert_eq!(failed(most), Ok(()));
    for more in [most + 1, u64::MAX - 1, u64::MAX] {
        assert!(matches!(failed(more), Err(ProtocolError::Receipt { what: "failed entries", .. })), "{more}");
    }
}

#[test]
fn a_receipt_counts_all_failures_that_were_named() {
    let sent = Counts { files: 5, folders: 2, links: 1, bytes: 40 };
    let failed = |failed| taken(&offer(), sent, 0, 3, Receipt { there: sent, failed, ..Receipt::default() });
    assert_eq!(failed(3), Ok(()));
    for fewer in [0, 2] {
        assert_eq!(failed(fewer), Err(ProtocolError::Receipt { what: "failed entries", said: fewer, sent: 3 }));
    }
}

#[test]
fn neither_end_names_more_failures_than_the_limit() {
    let mut pair = accepted(&offer());
    for number in 0..FAILURES_NAMED_MAX {
        pair.initiator.handle_message(named(number), 0).unwrap();
        pair.acceptor.handle_message(named(number), 0).unwrap();
        assert!(pair.initiator.poll_event().is_some() && pair.acceptor.poll_event().is_some());
    }
    let is_refused =
        |named| matches!(named, Err(ProtocolError::TooLarge { what: "named failures", limit: FAILURES_NAMED_MAX, .. }));
    assert!(is_refused(pair.initiator.handle_message(named(0), 0)));
    assert!(is_refused(pair.acceptor.handle_message(named(0), 0)));
}

#[test]
fn edits_that_were_named_are_counted_and_limited() {
    let kept = || Message::EntryKept(crate::control::EntryKept { path: b"data/x".to_vec(), beside: b"x (1)".to_vec() });
    let sent = Counts { files: 5, folders: 2, links: 1, bytes: 40 };
    for edited in [1, 2] {
        let mut pair = accepted(&offer());
        for _ in 0..2 {
            pair.initiator.handle_message(kept(), 0).unwrap();
        }
        pair.initiator.finish(sent, 0, 1);
        let receipt = Message::Receipt(Receipt { there: sent, edited, ..Receipt::default() });
        assert_eq!(pair.initiator.handle_message(receipt, 0).is_ok(), edited == 2);
    }
    let mut pair = accepted(&offer());
    for _ in 0..FAILURES_NAMED_MAX {
        pair.initiator.handle_message(kept(), 0).unwrap();
        assert!(pair.initiator.poll_event().is_some());
    }
    assert!(matches!(
        pair.initiator.handle_message(kept(), 0),
        Err(ProtocolError::TooLarge { what: "named edits", .. })
    ));
}

#[test]
fn a_sender_counts_all_failures_that_it_named() {
    let mut pair = accepted(&offer());
    pair.acceptor.handle_message(named(0), 0).unwrap();
    let finish = Message::Finish { sent: Counts::default(), failed: 0, lanes: 1 };
    assert!(matches!(pair.acceptor.handle_message(finish, 0), Err(ProtocolError::Totals { .. })));
}

#[test]
fn receipt_cannot_have_more_sent_skipped_unchanged_or_reused_than_is_there() {
    let sent = Counts { files: 5, folders: 2, links: 1, bytes: 40 };
    let said = |unchanged, reused| {
        taken(&offer(), sent, 0, 0, Receipt { there: sent, unchanged, reused, ..Receipt::default() }).is_ok()
    };
    assert!(said(6, 40));
    assert!(!said(7, 0) && !said(0, 41));
    let said = |moved, skipped, skipped_bytes| {
        let receipt = Receipt { there: sent, moved, unchanged: 2, skipped, skipped_bytes, ..Receipt::default() };
        taken(&offer(), sent, 0, 0, receipt).is_ok()
    };
    assert!(said(30, 4, 10));
    assert!(!said(30, 5, 10) && !said(31, 4, 10) && !said(30, 4, 11) && !said(u64::MAX, 0, u64::MAX));
}

#[test]
fn progress_counts_for_no_more_than_was_declared() {
    let mut pair = accepted(&Offer { prove: true, ..offer() });
    let claim = Progress { entries: 1 << 40, bytes: u64::MAX };
    let told = |message, pair: &mut Pair| {
        pair.initiator.handle_message(message, 0).unwrap();
        std::iter::from_fn(|| pair.initiator.poll_event()).last().unwrap()
    };
    let offered = Progress { entries: 3, bytes: 4 };
    assert_eq!(told(Message::Progress(claim), &mut pair), Event::Progressed(offered));
    pair.initiator.totals(Totals { entries: 9, bytes: 2, complete: false });
    let declared = Progress { entries: 9, bytes: 4 };
    assert_eq!(told(Message::Progress(claim), &mut pair), Event::Progressed(declared));
    pair.initiator.finish(Counts { files: 5, folders: 2, links: 1, bytes: 40 }, 0, 1);
    let sent = Progress { entries: 9, bytes: 40 };
    assert_eq!(told(Message::Progress(claim), &mut pair), Event::Progressed(sent));
    let files = Progress { entries: 5, bytes: 40 };
    assert_eq!(told(Message::Proving(claim), &mut pair), Event::Proving(files));
}

#[test]
fn a_proof_is_given_only_if_requested() {
    let sent = Counts { files: 1, folders: 0, links: 0, bytes: 4 };
    let proven = Some(Proven { files: 1, bytes: 4, took: Micros::default() });
    for (prove, given) in [(true, true), (true, false), (false, false)] {
        let mut pair = accepted(&Offer { prove, ..offer() });
        pair.initiator.finish(sent, 0, 1);
        pair.run().unwrap();
        let progress = Progress { entries: 1, bytes: 2 };
        pair.acceptor.proving(progress);
        if !prove {
            assert!(matches!(pair.run(), Err(ProtocolError::Unexpected { .. })));
            continue;
        }
        pair.run().unwrap();
        assert_eq!(pair.told_initiator.last(), Some(&Event::Proving(progress)));
        let receipt = Receipt { there: sent, proven: proven.filter(|_| given), ..Receipt::default() };
        pair.acceptor.receipt(receipt);
        let taken = pair.run();
        match given {
            true => assert_eq!(pair.told_initiator.last(), Some(&Event::ReceiptReceived(receipt))),
            false => assert!(matches!(taken, Err(ProtocolError::Receipt { what: "verified files", .. }))),
        }
    }
}

#[test]
fn a_proof_covers_all_that_was_not_there_before() {
    let sent = Counts { files: 5, folders: 2, links: 1, bytes: 40 };
    let proof = |unchanged, files, bytes| {
        let proven = Some(Proven { files, bytes, took: Micros::default() });
        let receipt = Receipt { there: sent, unchanged, proven, ..Receipt::default() };
        taken(&Offer { prove: true, ..offer() }, sent, 0, 0, receipt).is_ok()
    };
    assert!(proof(0, 5, 40), "everything");
    assert!(!proof(0, 0, 0), "nothing");
    assert!(!proof(0, 4, 40) && !proof(0, 5, 39) && !proof(0, 6, 40) && !proof(0, 5, 41));
    assert!(proof(2, 3, 25) && !proof(2, 2, 25), "files that stay as they were are not compared");
}

#[test]
fn a_proof_that_nobody_asked_for_is_refused() {
    let receipt = Receipt { proven: Some(Proven::default()), ..Receipt::default() };
    let taken = taken(&offer(), Counts::default(), 0, 0, receipt);
    assert!(matches!(taken, Err(ProtocolError::Receipt { what: "verified files", .. })));
}

#[test]
fn strangers_pair_by_code_and_both_know_it() {
    for (known_there, known_here) in [(false, false), (true, false), (false, true)] {
        let mut pair = Pair::new(known_there, known_here, Some(1));
        pair.run().unwrap();
        assert!(pair.told_initiator.contains(&Event::Paired));
        assert_eq!(pair.told_initiator.last(), Some(&Event::Authenticated));
        assert_eq!(pair.told_acceptor.last(), Some(&Event::PairingConcluded));
    }
}

#[test]
fn known_devices_prove_a_code_only_if_required() {
    let mut pair = Pair::proving(true, true, Some(200), false);
    pair.run().unwrap();
    assert_eq!(pair.told_initiator.last(), Some(&Event::Authenticated), "what proves nothing is not said");
    assert!(!pair.told_acceptor.contains(&Event::PairingStarted));
    let mut pair = Pair::proving(true, true, Some(200), true);
    pair.run().unwrap();
    assert_eq!(pair.told_initiator.last(), Some(&Event::Refused(Refusal::WrongCode)));
    assert_eq!(pair.told_acceptor.last(), Some(&Event::WrongCode));
    let mut pair = Pair::proving(true, true, Some(1), true);
    pair.run().unwrap();
    assert!(pair.told_initiator.contains(&Event::Paired));
    assert_eq!(pair.told_initiator.last(), Some(&Event::Authenticated));
    pair.initiator.offer(&offer());
    pair.run().unwrap();
    assert_eq!(pair.told_acceptor.last(), Some(&Event::Offered(offer(), names(&[b"data"]))));
}

#[test]
fn a_refusal_after_the_confirmation_is_a_wrong_code_whatever_it_says() {
    for refusal in [Refusal::PairingBusy(1), Refusal::NoCodeOpen, Refusal::Version] {
        let mut pair = Pair::new(false, false, Some(200));
        let hello = messages(&pair.initiator.poll_transmit().unwrap()).remove(0);
        pair.acceptor.handle_message(hello, 0).unwrap();
        pair.acceptor.poll_event();
        pair.acceptor.welcome(false, true);
        let welcome = messages(&pair.acceptor.poll_transmit().unwrap()).remove(0);
        pair.initiator.handle_message(welcome, 0).unwrap();
        let start = messages(&pair.initiator.poll_transmit().unwrap()).remove(0);
        pair.acceptor.handle_message(start, 0).unwrap();
        pair.answer();
        let reply = messages(&pair.acceptor.poll_transmit().unwrap()).remove(0);
        pair.initiator.handle_message(reply, 0).unwrap();
        let confirmation = messages(&pair.initiator.poll_transmit().unwrap()).remove(0);
        assert!(matches!(confirmation, Message::PairConfirm(_)));
        pair.initiator.handle_message(Message::Refused(refusal), 0).unwrap();
        let told: Vec<_> = std::iter::from_fn(|| pair.initiator.poll_event()).collect();
        assert_eq!(told.last(), Some(&Event::Refused(Refusal::WrongCode)), "{refusal:?}");
    }
}

#[test]
fn a_wrong_code_is_the_same_verdict_on_both_sides() {
    let mut pair = Pair::new(false, false, Some(200));
    pair.run().unwrap();
    assert_eq!(pair.told_initiator.last(), Some(&Event::Refused(Refusal::WrongCode)));
    assert_eq!(pair.told_acceptor.last(), Some(&Event::WrongCode));
    assert!(pair.initiator.is_ended() && pair.acceptor.is_ended());
}

#[test]
fn strangers_without_a_code_end_the_session_in_order() {
    for (known_there, known_here) in [(false, false), (true, false), (false, true)] {
        let mut pair = Pair::new(known_there, known_here, None);
        pair.run().unwrap();
        assert_eq!(pair.told_initiator.last(), Some(&Event::PairingNeeded));
        assert!(pair.initiator.is_ended());
    }
}

#[test]
fn a_stranger_that_offers_without_pairing_is_refused() {
    let mut acceptor = Machine::listen(greeting("lab-ws"), 0);
    acceptor.handle_message(greeting("x").hello(true, false), 0).unwrap();
    acceptor.welcome(false, true);
    acceptor.handle_message(Message::Offer(offer()), 0).unwrap();
    assert_eq!(messages(&acceptor.poll_transmit().unwrap()).last(), Some(&Message::Refused(Refusal::NotPaired)));
    assert!(!std::iter::from_fn(|| acceptor.poll_event()).any(|event| matches!(event, Event::Offered(..))));
}

#[test]
fn offers_are_declined_with_the_reason() {
    let mut pair = Pair::new(true, true, None);
    pair.run().unwrap();
    pair.initiator.offer(&offer());
    pair.run().unwrap();
    let decline = DeclineReason::NoRoom(Shortage { needed: 10, free: 5, entries: 0 });
    pair.acceptor.decline(decline);
    pair.run().unwrap();
    assert_eq!(pair.told_initiator.last(), Some(&Event::Declined(decline)));
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
            pair.acceptor.accept(Accept { lanes: 1, lists: false, doubts: Some(3), owner_names: false });
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

/// Two ends, of which one has everything and has yet to give the receipt.
fn handed_over() -> Pair {
    let mut pair = Pair::new(true, true, None);
    pair.run().unwrap();
    pair.initiator.offer(&offer());
    pair.run().unwrap();
    pair.acceptor.accept(Accept { lanes: 1, lists: false, doubts: None, owner_names: false });
    pair.run().unwrap();
    assert!(!pair.initiator.take_back(Cancel::ByPerson), "nothing is handed over yet");
    pair.initiator.finish(Counts::default(), 0, 1);
    pair.run().unwrap();
    pair
}

#[test]
fn source_that_cancels_what_it_has_handed_over_hears_whether_it_was_too_late() {
    for is_too_late in [true, false] {
        let mut pair = handed_over();
        assert!(pair.initiator.take_back(Cancel::ByPersonKeeping));
        pair.run().unwrap();
        assert_eq!(pair.told_acceptor.last(), Some(&Event::Cancelled(Cancel::ByPersonKeeping)));
        assert!(!pair.initiator.is_ended() && !pair.acceptor.is_ended());
        let told = match is_too_late {
            true => {
                pair.acceptor.receipt(Receipt::default());
                Event::ReceiptReceived(Receipt::default())
            }
            false => {
                pair.acceptor.cancel(Cancel::ByPersonKeeping);
                Event::Cancelled(Cancel::ByPersonKeeping)
            }
        };
        pair.run().unwrap();
        assert_eq!(pair.told_initiator.last(), Some(&told));
        assert!(pair.initiator.is_ended() && pair.acceptor.is_ended());
    }
}

#[test]
fn source_that_cancels_again_ends_the_session() {
    let mut pair = handed_over();
    for is_ended in [false, true] {
        pair.acceptor.handle_message(Message::Cancel(Cancel::ByPerson), 0).unwrap();
        assert_eq!(pair.acceptor.is_ended(), is_ended);
    }
    pair.acceptor.receipt(Receipt::default());
    assert!(pair.acceptor.poll_transmit().is_none(), "nobody waits for it");
}

#[test]
fn messages_out_of_place_end_the_session() {
    let out_of_place = [
        Message::LaneReady,
        Message::Accept(crate::control::Accept { lanes: 1, lists: false, doubts: None, owner_names: false }),
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
        let mut acceptor = Machine::listen(greeting("lab-ws"), 0);
        assert!(acceptor.handle_message(message, 0).is_err());
        assert!(acceptor.poll_transmit().is_none());
    }
}

#[test]
fn a_receiver_cannot_take_more_lanes_than_offered() {
    let mut pair = Pair::new(true, true, None);
    pair.run().unwrap();
    pair.initiator.offer(&offer());
    let accept = Message::Accept(crate::control::Accept { lanes: 5, lists: false, doubts: None, owner_names: false });
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
fn pings_are_answered_once_until_the_answer_is_taken() {
    let mut pair = Pair::new(true, true, None);
    pair.run().unwrap();
    for machine in 0..2 {
        let answers = |pair: &mut Pair| {
            for _ in 0..1_000 {
                match machine {
                    0 => pair.initiator.handle_message(Message::Ping, 0).unwrap(),
                    _ => pair.acceptor.handle_message(Message::Ping, 0).unwrap(),
                }
            }
            messages(
                &if machine == 0 { pair.initiator.poll_transmit() } else { pair.acceptor.poll_transmit() }.unwrap(),
            )
        };
        assert_eq!(answers(&mut pair), [Message::Pong]);
        assert_eq!(answers(&mut pair), [Message::Pong]);
    }
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
    let mut acceptor = Machine::listen(greeting("lab-ws"), 0);
    assert_eq!(acceptor.handle_timeout(crate::limits::HELLO_TIME_MAX_MS), Err(ProtocolError::Silent));
    let mut initiator = Machine::dial(&greeting("laptop"), true, None, 0);
    assert_eq!(initiator.handle_timeout(crate::limits::HELLO_TIME_MAX_MS), Err(ProtocolError::Silent));
}

#[test]
fn a_peer_of_another_version_is_told_this_version() {
    let hello = |version| {
        let Greeting { name } = greeting("other");
        Message::Hello(crate::control::Hello { version, name, known: true, pairing: false })
    };
    let mut acceptor = Machine::listen(greeting("lab-ws"), 0);
    acceptor.handle_message(hello(99), 0).unwrap();
    assert_eq!(messages(&acceptor.poll_transmit().unwrap()).last(), Some(&Message::Refused(Refusal::Version)));
    let mut initiator = Machine::dial(&greeting("laptop"), true, None, 0);
    initiator.handle_message(hello(99), 0).unwrap();
    assert!(initiator.is_ended());
}

/// An offer of this many names, the first 64 in the offer itself.
fn long_offer(count: usize) -> (Offer, Arc<OfferedNames>) {
    let all: Vec<_> = (0..count).map(|number| format!("{number:0200}").into_bytes()).collect();
    let names = names(&all.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let first = all[..64].to_vec();
    (Offer { names: first, more_names: count as u64 - 64, ..offer() }, Arc::new(names))
}

#[test]
fn an_offer_is_reported_once_all_its_names_have_arrived() {
    let mut pair = Pair::new(true, true, None);
    pair.run().unwrap();
    let (offer, names) = long_offer(1_000);
    pair.initiator.offer_all(&offer, Arc::clone(&names));
    let first = messages(&pair.initiator.poll_transmit().unwrap());
    assert_eq!(first, [Message::Offer(offer.clone())]);
    first.into_iter().for_each(|message| pair.acceptor.handle_message(message, 0).unwrap());
    let shown = self::names(&offer.names.iter().map(Vec::as_slice).collect::<Vec<_>>());
    assert_eq!(pair.acceptor.poll_event(), Some(Event::NamesArriving(shown.held_bytes())));
    // Totals may arrive between the pages.
    let totals = Totals { entries: 9, bytes: 9, complete: true };
    pair.acceptor.handle_message(Message::Totals(totals), 0).unwrap();
    assert!(pair.acceptor.poll_event().is_none());
    pair.run().unwrap();
    let offer = Offer { so_far: totals, ..offer };
    assert_eq!(pair.told_acceptor.last(), Some(&Event::Offered(offer, Arc::unwrap_or_clone(names))));
    pair.acceptor.accept(Accept { lanes: 1, lists: false, doubts: None, owner_names: false });
    pair.run().unwrap();
    assert!(matches!(pair.told_initiator.last(), Some(Event::Accepted(_))));
    // An accepted offer gets no more names.
    let more = Message::OfferNames(vec![b"zzz".to_vec()]);
    assert!(matches!(pair.acceptor.handle_message(more, 0), Err(ProtocolError::Unexpected { .. })));
}

#[test]
fn pages_that_do_not_fit_the_offer_are_refused() {
    let page = |names: &[&str]| Message::OfferNames(names.iter().map(|name| name.as_bytes().to_vec()).collect());
    for (bad, why) in [
        (page(&["e", "f", "g"]), "more than declared"),
        (page(&["b"]), "before the last"),
        (page(&["c"]), "said twice"),
        (page(&["f", "e"]), "out of order"),
        (Message::Accept(Accept { lanes: 1, lists: false, doubts: None, owner_names: false }), "not a page"),
    ] {
        let mut pair = Pair::new(true, true, None);
        pair.run().unwrap();
        pair.initiator.offer(&Offer { names: vec![b"c".to_vec()], more_names: 2, ..offer() });
        pair.run().unwrap();
        assert!(pair.acceptor.handle_message(bad, 0).is_err(), "{why}");
    }
    let mut pair = Pair::new(true, true, None);
    pair.run().unwrap();
    pair.initiator.offer(&Offer { names: vec![b"d".to_vec(), b"c".to_vec()], ..offer() });
    assert!(pair.run().is_err());
}

#[test]
fn listing_comes_after_all_names_and_ends_with_the_answer() {
    let (offer, names) = long_offer(400);
    let mut pair = Pair::new(true, true, None);
    pair.run().unwrap();
    assert!(!pair.initiator.takes_listing(), "nothing is offered");
    pair.initiator.offer_all(&offer, names);
    pair.initiator.list(listing_page(ListingEnd::More));
    assert!(!pair.initiator.takes_listing(), "one page at a time");
    pair.run().unwrap();
    assert_eq!(pair.initiator.poll_event(), Some(Event::ListingTaken));
    let came = Event::ListingArrived(listing_page(ListingEnd::More));
    assert_eq!(pair.told_acceptor.last(), Some(&came));
    // A page that the answer meets on its way is counted and ignored.
    pair.initiator.list(listing_page(ListingEnd::Complete));
    let under_way = messages(&pair.initiator.poll_transmit().unwrap());
    pair.acceptor.accept(Accept { lanes: 1, lists: false, doubts: None, owner_names: false });
    under_way.into_iter().for_each(|message| pair.acceptor.handle_message(message, 0).unwrap());
    pair.run().unwrap();
    assert_eq!(pair.told_acceptor.last(), Some(&came));
    assert!(!pair.initiator.takes_listing());
    pair.initiator.list(listing_page(ListingEnd::More));
    assert!(pair.initiator.poll_transmit().is_none(), "it was answered");
    let more = Message::OfferListing(listing_page(ListingEnd::More));
    assert!(pair.acceptor.handle_message(more, 0).is_err(), "it had ended");
}

#[test]
fn listing_out_of_turn_is_refused() {
    let page = || Message::OfferListing(listing_page(ListingEnd::More));
    let mut pair = Pair::new(true, true, None);
    assert!(pair.acceptor.handle_message(page(), 0).is_err(), "before hello");
    let mut pair = Pair::new(true, true, None);
    pair.run().unwrap();
    pair.initiator.offer(&Offer { more_names: 1, ..offer() });
    pair.run().unwrap();
    assert!(pair.acceptor.handle_message(page(), 0).is_err(), "before all names");
    let mut pair = Pair::new(true, true, None);
    pair.run().unwrap();
    assert!(pair.initiator.handle_message(page(), 0).is_err(), "from the receiver");
}

#[test]
fn waiting_for_names_has_a_deadline() {
    let mut pair = Pair::new(true, true, None);
    pair.run().unwrap();
    pair.initiator.offer(&Offer { more_names: 1, ..offer() });
    pair.run().unwrap();
    for at in (0..crate::limits::OFFERED_TIME_MAX_MS).step_by(10_000) {
        pair.acceptor.handle_message(Message::Pong, at).unwrap();
        pair.acceptor.handle_timeout(at).unwrap();
    }
    let at = crate::limits::OFFERED_TIME_MAX_MS;
    pair.acceptor.handle_message(Message::Pong, at).unwrap();
    assert_eq!(pair.acceptor.handle_timeout(at), Err(ProtocolError::Silent));
}

#[test]
fn an_earlier_receipt_is_given_or_the_transfer_is_offered() {
    let sent = Counts { files: 1, folders: 0, links: 0, bytes: 4 };
    let handed = HandedOver { sent, failed: 0, names: 1, named: 0, kept: 0 };
    let receipt = Receipt { there: sent, ..Receipt::default() };
    let asked = |proves| {
        let mut pair = Pair::new(true, true, None);
        pair.run().unwrap();
        pair.initiator.ask_receipt([9; 16], handed, proves);
        pair.run().unwrap();
        assert_eq!(pair.told_acceptor.last(), Some(&Event::ReceiptWanted([9; 16])));
        pair
    };
    let mut pair = asked(false);
    pair.acceptor.earlier_receipt(Some(receipt));
    pair.run().unwrap();
    assert_eq!(pair.told_initiator.last(), Some(&Event::ReceiptReceived(receipt)));
    assert!(pair.initiator.is_ended() && pair.acceptor.is_ended());

    let mut pair = asked(false);
    pair.acceptor.earlier_receipt(None);
    pair.run().unwrap();
    assert_eq!(pair.told_initiator.last(), Some(&Event::NoReceipt));
    // The session can do nothing else: the transfer is offered, and asked about.
    let again = Message::ReceiptWanted([9; 16]);
    assert!(matches!(pair.acceptor.handle_message(again, 0), Err(ProtocolError::Unexpected { .. })));
    let mut pair = asked(false);
    pair.acceptor.earlier_receipt(None);
    pair.run().unwrap();
    pair.initiator.offer(&offer());
    pair.run().unwrap();
    assert!(matches!(pair.told_acceptor.last(), Some(Event::Offered(..))));

    // It is compared with what was sent, like any receipt.
    for (proves, bad) in [
        (true, receipt),
        (false, Receipt::default()),
        (false, Receipt { there: Counts { files: 2, ..sent }, ..receipt }),
    ] {
        let mut pair = asked(proves);
        pair.acceptor.earlier_receipt(Some(bad));
        assert!(pair.run().is_err(), "{bad:?}");
    }
}

#[test]
fn sender_that_is_turned_away_while_it_awaits_an_earlier_receipt_may_ask_again() {
    let sent = Counts { files: 1, folders: 0, links: 0, bytes: 4 };
    let handed = HandedOver { sent, failed: 0, names: 1, named: 0, kept: 0 };
    for refusal in [Refusal::PairingBusy(1_000), Refusal::NotPaired] {
        let mut pair = Pair::new(true, true, None);
        pair.run().unwrap();
        pair.initiator.ask_receipt([9; 16], handed, false);
        // The receiver gives the connection's place to another one before it reads the request.
        pair.acceptor.refuse(refusal);
        pair.run().unwrap();
        assert_eq!(pair.told_initiator.last(), Some(&Event::Refused(refusal)));
        assert!(pair.initiator.is_ended() && pair.acceptor.is_ended());
        assert_eq!(pair.initiator.handed_over(), Some(handed));
    }
}

#[test]
fn an_earlier_receipt_counts_what_was_named_before_the_connection_was_lost() {
    let sent = Counts { files: 4, folders: 1, links: 0, bytes: 4 };
    let mut pair = Pair::new(true, true, None);
    pair.run().unwrap();
    pair.initiator.offer(&offer());
    pair.run().unwrap();
    pair.acceptor.accept(Accept { lanes: 1, lists: false, doubts: None, owner_names: false });
    pair.run().unwrap();
    assert_eq!(pair.initiator.handed_over(), None);
    let failed = || EntryFailed { path: b"data/x".to_vec(), operation: 1, reason: 0, errno: 13 };
    let kept = || EntryKept { path: b"data/y".to_vec(), beside: b"y (2)".to_vec() };
    let name = |pair: &mut Pair| {
        pair.initiator.handle_message(Message::EntryFailed(failed()), 0).unwrap();
        pair.initiator.handle_message(Message::EntryKept(kept()), 0).unwrap();
    };
    name(&mut pair);
    pair.initiator.finish(sent, 0, 1);
    // Some are named after everything was sent.
    name(&mut pair);
    let handed = pair.initiator.handed_over().unwrap();
    assert_eq!(handed, HandedOver { sent, failed: 0, names: 1, named: 2, kept: 2 });
    let receipt = Receipt { there: sent, failed: 2, edited: 2, ..Receipt::default() };
    // A folder and four files may fail twice each, and the offered name as well.
    let most = 6 * FAILURES_PER_ENTRY_MAX;
    for (failed, edited, is_covered) in
        [(2, 2, true), (most, 2, true), (0, 2, false), (1, 2, false), (2, 1, false), (most + 1, 2, false)]
    {
        let mut pair = Pair::new(true, true, None);
        pair.run().unwrap();
        pair.initiator.ask_receipt([9; 16], handed, false);
        pair.run().unwrap();
        assert_eq!(pair.initiator.handed_over(), Some(handed), "it may have to be asked for once more");
        pair.acceptor.earlier_receipt(Some(Receipt { failed, edited, ..receipt }));
        assert_eq!(pair.run().is_ok(), is_covered, "{failed} failed, {edited} edited");
    }
    // If the receiver has no receipt, the transfer is offered and counted again.
    let mut pair = Pair::new(true, true, None);
    pair.run().unwrap();
    pair.initiator.ask_receipt([9; 16], handed, false);
    pair.run().unwrap();
    pair.acceptor.earlier_receipt(None);
    pair.run().unwrap();
    assert_eq!(pair.initiator.handed_over(), Some(handed));
    pair.initiator.offer(&offer());
    pair.run().unwrap();
    pair.initiator
        .handle_message(Message::Accept(Accept { lanes: 1, lists: false, doubts: None, owner_names: false }), 0)
        .unwrap();
    assert_eq!(pair.initiator.handed_over(), None);
    pair.initiator.finish(sent, 0, 1);
    assert_eq!(pair.initiator.handed_over(), Some(HandedOver { named: 0, kept: 0, ..handed }));
}
