//! Random walks of two peers that keep to the protocol: calls come in any order that a program may
//! use, while messages are under way in both directions.
use std::collections::VecDeque;

use super::*;
use crate::control::{Message, Wanted};
use crate::limits::HELLO_TIME_MAX_MS;
use crate::listing::ListingEnd;
use crate::stretches::Stretches;

const WALKS: u64 = 6_000;
const STEPS: u32 = 120;

const SENT: Counts = Counts { files: 2, folders: 1, links: 0, bytes: 8 };

/// Failures that a side names: fewer than a receipt may count for what is sent here.
const NAMED_MAX: u64 = 2;

/// Draws the same numbers in each run (PCG's multiplier and increment).
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    pub(super) fn is_one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }
}

/// A question that the acceptor's program has to answer.
#[derive(Clone, Copy, PartialEq)]
enum Question {
    Welcome,
    Pair,
    Confirm,
    Store,
    EarlierReceipt,
    Decide,
    Receipt,
}

struct Walk {
    random: Random,
    initiator: Machine,
    acceptor: Machine,
    now_ms: u64,
    known: bool,
    proves: bool,
    to_acceptor: VecDeque<Message>,
    to_initiator: VecDeque<Message>,
    /// Whether the initiator may make an offer, or ask for a receipt if it has not yet.
    may_offer: bool,
    has_asked: bool,
    /// Whether lists were requested.
    lists: bool,
    running: bool,
    /// The number of lists that a lane has brought, that the acceptor has answered, and whose
    /// answers the initiator has.
    listed: u32,
    /// Pages of the offer's listing that are still to be sent.
    listings: u32,
    answered: u32,
    heard: u32,
    failed_here: u64,
    question: Option<Question>,
    /// The acceptor has welcomed the initiator and does not have a whole offer yet.
    has_place: bool,
    accepted: bool,
    failed_there: u64,
    kept_there: u64,
    told: Vec<Event>,
}

impl Walk {
    fn new(number: u64) -> Self {
        let mut random = Random(number);
        let known = !random.is_one_in(16);
        let code = (!known).then_some(if random.is_one_in(4) { 2 } else { 1 });
        let pair = Pair::new(known, known, code);
        Self {
            proves: random.is_one_in(2),
            random,
            initiator: pair.initiator,
            acceptor: pair.acceptor,
            now_ms: 0,
            known,
            to_acceptor: VecDeque::new(),
            to_initiator: VecDeque::new(),
            may_offer: false,
            has_asked: false,
            lists: false,
            running: false,
            listed: 0,
            listings: 3,
            answered: 0,
            heard: 0,
            failed_here: 0,
            question: None,
            has_place: false,
            accepted: false,
            failed_there: 0,
            kept_there: 0,
            told: Vec::new(),
        }
    }

    /// One step of either side, or of the network between them.
    fn step(&mut self) -> Result<(), ProtocolError> {
        match self.random.below(8) {
            0 => self.initiator_calls(),
            1 => self.acceptor_calls(),
            2 => self.acceptor_answers(),
            3 | 4 => {
                if let Some(message) = self.to_acceptor.pop_front() {
                    self.acceptor.handle_message(message, self.now_ms)?;
                }
            }
            5 | 6 => {
                if let Some(message) = self.to_initiator.pop_front() {
                    self.initiator.handle_message(message, self.now_ms)?;
                }
            }
            _ => self.pass_time()?,
        }
        while let Some(event) = self.acceptor.poll_event() {
            self.acceptor_told(&event);
        }
        while let Some(event) = self.initiator.poll_event() {
            self.initiator_told(&event);
            self.told.push(event);
        }
        if self.random.is_one_in(2) {
            self.to_acceptor.extend(messages(&self.initiator.poll_transmit().unwrap_or_default()));
            self.to_initiator.extend(messages(&self.acceptor.poll_transmit().unwrap_or_default()));
        }
        Ok(())
    }

    /// Less than the time after which either side gives up, so that pings are exchanged.
    fn pass_time(&mut self) -> Result<(), ProtocolError> {
        if self.now_ms < HELLO_TIME_MAX_MS - PING_AFTER_MS {
            self.now_ms += self.random.below(PING_AFTER_MS / 2);
            self.initiator.handle_timeout(self.now_ms)?;
            self.acceptor.handle_timeout(self.now_ms)?;
        }
        Ok(())
    }

    fn initiator_told(&mut self, event: &Event) {
        match event {
            Event::Authenticated | Event::NoReceipt => self.may_offer = true,
            Event::Accepted(Accept { lists, .. }) => (self.running, self.lists) = (true, *lists),
            Event::Wanted(_) => self.heard += 1,
            _ => {}
        }
    }

    fn initiator_calls(&mut self) {
        if self.initiator.is_ended() {
            return;
        }
        let number = self.random.below(10);
        let ask = self.random.is_one_in(2);
        match number {
            0 | 1 if self.may_offer && ask && !self.has_asked => {
                let handed = HandedOver { sent: SENT, failed: 0, names: 1, named: 0, kept: 0 };
                self.initiator.ask_receipt([9; 16], handed, self.proves);
                (self.may_offer, self.has_asked) = (false, true);
            }
            0 if self.may_offer => {
                self.initiator.offer(&Offer { prove: self.proves, ..offer() });
                self.may_offer = false;
            }
            1 if self.may_offer => {
                let (offer, names) = long_offer(400);
                self.initiator.offer_all(&Offer { prove: self.proves, ..offer }, names);
                self.may_offer = false;
            }
            2 => self.initiator.totals(Totals { entries: 3, bytes: 8, complete: true }),
            3 => self.initiator.path_taken(PathCodes::default()),
            4 => self.initiator.sender_times(SenderTimes::default()),
            5 if self.running && self.failed_here < NAMED_MAX => {
                self.failed_here += 1;
                self.initiator.entry_failed(failed());
            }
            6 if self.running && self.lists => self.listed += 1,
            // Lanes, and with them the sending, end once every list is answered.
            7 if self.running && self.heard == self.listed => {
                self.initiator.finish(SENT, self.failed_here, 1);
                self.running = false;
            }
            8 if self.random.is_one_in(16) => self.initiator.cancel(Cancel::ByPerson),
            9 if self.initiator.takes_listing() && self.listings > 0 => {
                self.listings -= 1;
                self.initiator.list(listing_page(if self.listings == 0 { ListingEnd::Cut } else { ListingEnd::More }));
            }
            _ => {}
        }
    }

    fn acceptor_told(&mut self, event: &Event) {
        let question = match event {
            Event::HelloReceived { .. } => Question::Welcome,
            Event::PairingStarted => Question::Pair,
            Event::CodeProven => Question::Confirm,
            Event::PairingConcluded => Question::Store,
            Event::ReceiptWanted(_) => Question::EarlierReceipt,
            Event::Offered(..) => {
                self.has_place = false;
                Question::Decide
            }
            Event::FinishReceived { .. } => Question::Receipt,
            _ => return,
        };
        self.question = Some(question);
    }

    fn receipt(&self, failed: u64, edited: u64) -> Receipt {
        let proven = self.proves.then_some(Proven { files: SENT.files, bytes: SENT.bytes, took: Micros::MAX });
        Receipt { there: SENT, failed, edited, proven, ..Receipt::default() }
    }

    /// The answer that is due, or another ending that a program may choose then.
    fn acceptor_answers(&mut self) {
        let Some(question) = self.question.take().filter(|_| !self.acceptor.is_ended()) else { return };
        let otherwise = self.random.is_one_in(8);
        match question {
            Question::Welcome if otherwise => self.acceptor.refuse(Refusal::Ourselves),
            Question::Welcome => {
                self.acceptor.welcome(self.known, true);
                self.has_place = self.known;
            }
            Question::Pair if otherwise => self.acceptor.refuse(Refusal::PairingBusy(9)),
            Question::Pair => self.acceptor.pair(&secret(1), binding(), &[6; 64]),
            Question::Confirm if otherwise => self.acceptor.refuse(Refusal::WrongCode),
            Question::Confirm => self.acceptor.confirm(),
            Question::Store if otherwise => self.acceptor.refuse(Refusal::WrongCode),
            Question::Store => {
                self.acceptor.paired();
                self.has_place = true;
            }
            Question::EarlierReceipt => {
                let has_it = self.random.is_one_in(2);
                self.acceptor.earlier_receipt(has_it.then(|| self.receipt(0, 0)));
            }
            // The device was forgotten meanwhile.
            Question::Decide if otherwise => self.acceptor.refuse(Refusal::NotPaired),
            Question::Decide => match self.random.below(4) {
                0 => self.acceptor.decline(DeclineReason::Busy),
                1 => {
                    self.acceptor.queued(std::num::NonZeroU32::MIN);
                    self.question = Some(question);
                }
                _ => {
                    self.acceptor.accept(Accept {
                        lanes: 2,
                        lists: self.random.below(2) == 0,
                        doubts: None,
                        owner_names: false,
                    });
                    self.accepted = true;
                }
            },
            Question::Receipt if otherwise && self.proves => {
                self.acceptor.proving(Progress { entries: 1, bytes: 2 });
                self.question = Some(question);
            }
            Question::Receipt => {
                let receipt = self.receipt(self.failed_there, self.kept_there);
                self.acceptor.receipt(receipt);
            }
        }
    }

    /// What an acceptor's program sends by itself.
    fn acceptor_calls(&mut self) {
        if self.acceptor.is_ended() {
            return;
        }
        match self.random.below(8) {
            0 => self.acceptor.progress(Progress { entries: 1, bytes: 2 }),
            1 => self.acceptor.path_taken(PathCodes::default()),
            2 => self.acceptor.receiver_times(ReceiverTimes::default()),
            3 if self.accepted && self.failed_there < NAMED_MAX => {
                self.failed_there += 1;
                self.acceptor.entry_failed(failed());
            }
            4 if self.accepted && self.kept_there < NAMED_MAX => {
                self.kept_there += 1;
                self.acceptor.entry_kept(EntryKept { path: b"data/y".to_vec(), beside: b"y (2)".to_vec() });
            }
            5 if self.answered < self.listed => {
                let (files, has) = (vec![true], Stretches::default());
                self.acceptor.wanted(Wanted { list: self.answered, files, has, basis: 0, kept: vec![] });
                self.answered += 1;
            }
            // Another connection needs its place.
            6 if self.has_place && self.random.is_one_in(8) => self.acceptor.refuse(Refusal::PairingBusy(1_000)),
            7 if self.random.is_one_in(32) => self.acceptor.cancel(Cancel::DestinationFull(Shortage::default())),
            _ => {}
        }
    }
}

fn failed() -> EntryFailed {
    EntryFailed { path: b"data/x".to_vec(), operation: 1, reason: 0, errno: 13 }
}

#[test]
fn nothing_that_an_honest_peer_says_is_unexpected() {
    let (mut receipts, mut earlier, mut refused_in_place_of_one) = (0, 0, 0);
    for number in 0..WALKS {
        let mut walk = Walk::new(number);
        for step in 0..STEPS {
            walk.step().unwrap_or_else(|error| panic!("walk {number}, step {step}: {error}"));
        }
        let told = |wanted: fn(&Event) -> bool| walk.told.iter().any(wanted);
        let has_receipt = told(|event| matches!(event, Event::ReceiptReceived(_)));
        let was_accepted = told(|event| matches!(event, Event::Accepted(_)));
        let was_refused = told(|event| matches!(event, Event::Refused(Refusal::PairingBusy(_))));
        let has_answer = told(|event| matches!(event, Event::NoReceipt));
        receipts += u32::from(has_receipt && was_accepted);
        earlier += u32::from(has_receipt && !was_accepted);
        refused_in_place_of_one += u32::from(was_refused && walk.has_asked && !has_answer);
    }
    // Checks that the walks reach the cases that they are meant to test.
    assert!(
        receipts > 50 && earlier > 50 && refused_in_place_of_one > 10,
        "{receipts} {earlier} {refused_in_place_of_one}"
    );
}
