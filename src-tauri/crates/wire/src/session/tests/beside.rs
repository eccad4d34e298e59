//! Questions about shares beside what the dialler gets, in the same session.
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::getting::{asked, get};
use super::honest::Random;
use super::questions::{listing, page};
use super::*;
use crate::control::{Answer, BytesPage, FileState, NoAnswer, Question, RangeWanted};
use crate::lane::Timestamp;
use crate::limits::{PAGES_AHEAD_MAX, QUESTIONS_IDLE_MAX_MS, QUESTIONS_MAX};

const SENT: Counts = Counts { files: 1, folders: 1, links: 1, bytes: 4 };

const ACCEPT: Accept = Accept { lanes: 1, lists: false, doubts: None, owner_names: false };

/// Two of which the dialler has asked for something that is offered.
fn offered() -> Pair {
    let mut pair = asked(get(&[("below/data", false)]));
    pair.acceptor.offer(&offer());
    pair.run().unwrap();
    pair
}

/// Which is got.
fn running() -> Pair {
    let mut pair = offered();
    pair.initiator.accept(ACCEPT);
    pair.run().unwrap();
    (pair.told_initiator, pair.told_acceptor) = (Vec::new(), Vec::new());
    pair
}

fn range(len: u32) -> Question {
    let share = ringway_model::ShareName::new("runs").unwrap();
    Question::Range(RangeWanted { share, path: b"a".to_vec(), offset: 0, len })
}

fn last_bytes(len: usize) -> Answer {
    Answer::Bytes(BytesPage::last(vec![7; len], FileState { size: 9, mtime: Timestamp::default() }))
}

fn is_unexpected(heard: Result<(), ProtocolError>) -> bool {
    matches!(heard, Err(ProtocolError::Unexpected { .. }))
}

#[test]
fn questions_are_answered_from_the_offer_until_the_receipt() {
    let mut pair = asked(get(&[("below/data", false)]));
    assert!(!pair.initiator.may_ask(), "nothing is offered yet");
    pair = offered();
    let answered = |pair: &mut Pair| {
        let number = pair.initiator.ask(range(4)).unwrap();
        pair.run().unwrap();
        assert_eq!(pair.told_acceptor.last(), Some(&Event::Asked(number, range(4))));
        assert!(pair.acceptor.takes_page());
        pair.acceptor.answer(number, last_bytes(4));
        pair.run().unwrap();
        assert_eq!(pair.told_initiator.last(), Some(&Event::Answered(number, last_bytes(4))));
    };
    answered(&mut pair);
    pair.initiator.accept(ACCEPT);
    answered(&mut pair);
    pair.acceptor.finish(SENT, 0, 1);
    answered(&mut pair);
    let open = pair.initiator.ask(listing()).unwrap();
    pair.run().unwrap();
    let receipt = Receipt { there: SENT, ..Receipt::default() };
    pair.initiator.receipt(receipt);
    assert!(!pair.initiator.may_ask(), "the session is over");
    pair.run().unwrap();
    assert_eq!(pair.told_acceptor.last(), Some(&Event::ReceiptReceived(receipt)));
    // What is late changes nothing.
    pair.acceptor.answer(open, Answer::Entries(page("a", true)));
    assert!(pair.acceptor.is_ended() && !pair.acceptor.takes_page() && pair.acceptor.poll_transmit().is_none());
    pair.initiator.handle_message(Message::Answered { number: 9, answer: Answer::Shares(Vec::new()) }, 0).unwrap();
    pair.acceptor.handle_message(Message::Asked { number: 9, question: Question::Shares }, 0).unwrap();
    assert!(pair.initiator.poll_event().is_none());
}

#[test]
fn only_the_dialler_that_gets_asks_and_only_from_the_offer_on() {
    let question = || Message::Asked { number: 0, question: Question::Shares };
    let answer = || Message::Answered { number: 0, answer: Answer::Refused(NoAnswer::Busy) };
    for message in [question(), Message::MorePages { number: 0, pages: 1 }, Message::NotWanted { number: 0 }] {
        let mut pair = asked(get(&[("below/data", false)]));
        assert!(is_unexpected(pair.acceptor.handle_message(message.clone(), 0)), "nothing is offered yet");
        assert!(is_unexpected(pair.initiator.handle_message(message.clone(), 0)), "it has asked itself");
        assert!(is_unexpected(running().initiator.handle_message(message.clone(), 0)), "it receives");
        let mut sent = accepted(&offer());
        assert!(is_unexpected(sent.initiator.handle_message(message.clone(), 0)), "nobody has asked for it");
        let mut sent = accepted(&offer());
        assert!(is_unexpected(sent.acceptor.handle_message(message, 0)), "it receives");
        assert!(!sent.initiator.may_ask() && !sent.acceptor.may_ask());
    }
    let mut pair = asked(get(&[("below/data", false)]));
    assert!(is_unexpected(pair.initiator.handle_message(answer(), 0)), "nothing is offered yet");
    assert!(is_unexpected(running().initiator.handle_message(answer(), 0)), "nothing was asked");
    assert!(is_unexpected(running().acceptor.handle_message(answer(), 0)), "it answers");
    let mut sent = accepted(&offer());
    assert!(is_unexpected(sent.acceptor.handle_message(answer(), 0)), "it cannot ask");
    // Nothing but questions goes beside it.
    for other in [Message::Get(get(&[("a", false)])), Message::Note(crate::control::NoteHead { id: [1; 16], len: 1 })] {
        assert!(is_unexpected(running().acceptor.handle_message(other, 0)));
    }
}

#[test]
fn questions_and_pages_beyond_the_limits_break_the_protocol() {
    let mut pair = running();
    let asked = |number| Message::Asked { number, question: Question::Shares };
    for number in 0..QUESTIONS_MAX as u32 {
        pair.acceptor.handle_message(asked(number), 0).unwrap();
    }
    let more = pair.acceptor.handle_message(asked(99), 0);
    assert!(matches!(more, Err(ProtocolError::TooLarge { what: "questions", .. })), "{more:?}");
    let mut pair = running();
    pair.acceptor.handle_message(asked(3), 0).unwrap();
    assert!(pair.acceptor.handle_message(asked(3), 0).is_err(), "it was asked");
    let mut pair = running();
    assert!(pair.acceptor.handle_message(Message::MorePages { number: 5, pages: 1 }, 0).is_err(), "of no question");
    let mut pair = running();
    let number = pair.initiator.ask(listing()).unwrap();
    let entries = |name, is_last| Message::Answered { number: 0, answer: Answer::Entries(page(name, is_last)) };
    pair.initiator.handle_message(entries("a", false), 0).unwrap();
    pair.initiator.handle_message(entries("b", false), 0).unwrap();
    assert!(is_unexpected(pair.initiator.handle_message(entries("c", false), 0)), "it was to have two pages");
    let mut pair = running();
    assert_eq!(pair.initiator.ask(range(512)), Some(number));
    let bytes = || Message::Answered { number: 0, answer: Answer::Bytes(BytesPage::more(vec![7; 1])) };
    for _ in 0..PAGES_AHEAD_MAX {
        pair.initiator.handle_message(bytes(), 0).unwrap();
    }
    assert!(is_unexpected(pair.initiator.handle_message(bytes(), 0)), "as many pages as may come");
}

#[test]
fn a_peer_that_asks_and_does_not_read_makes_little_wait() {
    let mut pair = running();
    let mut answered = 0;
    for number in 0..1_000 {
        pair.acceptor.handle_message(Message::Asked { number, question: Question::Shares }, 0).unwrap();
        let Some(Event::Asked(number, _)) = pair.acceptor.poll_event() else { panic!("a question") };
        if !pair.acceptor.takes_page() {
            break;
        }
        pair.acceptor.answer(number, Answer::Shares(Vec::new()));
        answered += 1;
    }
    assert_eq!(answered, QUESTIONS_MAX);
}

#[test]
fn answers_wait_behind_what_is_said_of_the_transfer_one_at_a_time() {
    let mut pair = running();
    let (some, other) = (pair.initiator.ask(range(9)).unwrap(), pair.initiator.ask(Question::Shares).unwrap());
    pair.run().unwrap();
    pair.acceptor.answer(some, last_bytes(9));
    pair.acceptor.answer(other, Answer::Shares(Vec::new()));
    assert!(!pair.acceptor.takes_page() && !pair.acceptor.has_to_send(), "answers hold nothing else back");
    pair.acceptor.totals(Totals { entries: 3, bytes: 4, complete: true });
    pair.acceptor.handle_message(Message::Ping, 0).unwrap();
    pair.acceptor.finish(SENT, 0, 1);
    assert!(pair.acceptor.has_to_send());
    let mut said = std::iter::from_fn(|| pair.acceptor.poll_transmit().map(|bytes| messages(&bytes)));
    let finish = Message::Finish { sent: SENT, failed: 0, lanes: 1 };
    let totals = Message::Totals(Totals { entries: 3, bytes: 4, complete: true });
    assert_eq!(said.next(), Some(vec![totals, Message::Pong, finish]));
    assert_eq!(said.next(), Some(vec![Message::Answered { number: 1, answer: Answer::Shares(Vec::new()) }]));
    assert_eq!(said.next(), Some(vec![Message::Answered { number: 0, answer: last_bytes(9) }]));
    assert_eq!(said.next(), None);
}

#[test]
fn a_transfer_in_which_nothing_is_asked_goes_on() {
    let mut pair = running();
    let mut now_ms = 0;
    while now_ms < 2 * QUESTIONS_IDLE_MAX_MS {
        now_ms = pair.acceptor.poll_timeout().unwrap();
        pair.acceptor.handle_timeout(now_ms).unwrap();
        pair.acceptor.handle_message(Message::Pong, now_ms).unwrap();
        pair.acceptor.poll_transmit();
    }
}

/// A program at each end, and the messages between them.
struct Walk {
    random: Random,
    initiator: Machine,
    acceptor: Machine,
    to_acceptor: VecDeque<Message>,
    to_initiator: VecDeque<Message>,
    /// Questions that the initiator waits for, and how many were answered whole.
    waits: BTreeSet<QuestionNumber>,
    answered: u32,
    /// Questions that the acceptor's program looks for, and the pages that each may still have.
    open: BTreeMap<QuestionNumber, (Question, u8)>,
    /// Entries that it has named in them.
    named: u32,
    /// It was accepted, and not everything is sent yet.
    sends: bool,
    may_finish: bool,
    has_receipt: bool,
}

impl Walk {
    fn new(number: u64) -> Self {
        let Pair { initiator, acceptor, .. } = offered();
        Self {
            random: Random(number),
            initiator,
            acceptor,
            to_acceptor: VecDeque::new(),
            to_initiator: VecDeque::new(),
            waits: BTreeSet::new(),
            answered: 0,
            open: BTreeMap::new(),
            named: 0,
            sends: false,
            may_finish: false,
            has_receipt: false,
        }
    }

    fn step(&mut self) -> Result<(), ProtocolError> {
        match self.random.below(8) {
            0 | 1 => self.requester_calls(),
            2 | 3 => self.server_calls(),
            4 | 5 => {
                if let Some(message) = self.to_acceptor.pop_front() {
                    self.acceptor.handle_message(message, 0)?;
                }
            }
            _ => {
                if let Some(message) = self.to_initiator.pop_front() {
                    self.initiator.handle_message(message, 0)?;
                }
            }
        }
        while let Some(event) = self.initiator.poll_event() {
            match event {
                Event::Answered(number, answer) => {
                    assert!(self.waits.contains(&number), "a part of what is not wanted");
                    if answer.is_last() {
                        self.waits.remove(&number);
                        self.answered += 1;
                    } else {
                        self.initiator.more_pages(number);
                    }
                }
                Event::FinishReceived { .. } => self.may_finish = true,
                _ => {}
            }
        }
        while let Some(event) = self.acceptor.poll_event() {
            match event {
                Event::Accepted(_) => self.sends = true,
                Event::Asked(number, question) => {
                    let pages = if let Question::Entries(wanted) = &question { wanted.pages } else { PAGES_AHEAD_MAX };
                    assert!(self.open.insert(number, (question, pages)).is_none());
                }
                Event::MorePages(number, pages) => {
                    self.open.entry(number).and_modify(|(_, left)| *left += pages);
                }
                Event::NotWanted(number) => drop(self.open.remove(&number)),
                Event::ReceiptReceived(_) => self.has_receipt = true,
                _ => {}
            }
        }
        if self.random.is_one_in(2) {
            self.to_acceptor.extend(messages(&self.initiator.poll_transmit().unwrap_or_default()));
            self.to_initiator.extend(messages(&self.acceptor.poll_transmit().unwrap_or_default()));
        }
        Ok(())
    }

    fn requester_calls(&mut self) {
        match self.random.below(10) {
            0 => self.initiator.accept(ACCEPT),
            1..=4 if self.initiator.may_ask() => {
                let question = [listing(), range(64), Question::Shares][self.random.below(3) as usize].clone();
                self.waits.extend(self.initiator.ask(question));
            }
            5 => {
                if let Some(number) = self.waits.pop_first() {
                    self.initiator.abandon(number);
                }
            }
            6 => self.initiator.progress(Progress { entries: 1, bytes: 2 }),
            7 if self.may_finish && self.random.is_one_in(8) => {
                self.initiator.receipt(Receipt { there: SENT, ..Receipt::default() });
            }
            _ => {}
        }
    }

    fn server_calls(&mut self) {
        match self.random.below(8) {
            0 => self.acceptor.totals(Totals { entries: 3, bytes: 4, complete: true }),
            1 if self.sends && self.random.is_one_in(8) => {
                self.acceptor.finish(SENT, 0, 1);
                self.sends = false;
            }
            2 => self.acceptor.sender_times(SenderTimes::default()),
            _ if self.acceptor.takes_page() => self.answers(),
            _ => {}
        }
    }

    /// The next part of some answer.
    fn answers(&mut self) {
        let at = self.random.below(self.open.len().max(1) as u64) as usize;
        let Some((number, (question, pages))) = self.open.iter_mut().nth(at) else { return };
        let (number, is_last) = (*number, self.random.is_one_in(3));
        let answer = match question {
            _ if self.random.is_one_in(8) => Answer::Refused(NoAnswer::Busy),
            Question::Shares => Answer::Shares(Vec::new()),
            _ if *pages == 0 => return,
            Question::Entries(_) => {
                self.named += 1;
                Answer::Entries(page(&format!("{:0>9}", self.named), is_last))
            }
            Question::Range(_) if is_last || *pages == 1 => last_bytes(1),
            Question::Range(_) => Answer::Bytes(BytesPage::more(vec![7; 1])),
        };
        *pages = pages.saturating_sub(1);
        if answer.is_last() {
            self.open.remove(&number);
        }
        self.acceptor.answer(number, answer);
    }
}

#[test]
fn nothing_that_is_asked_beside_a_transfer_is_unexpected() {
    let (mut answered, mut receipts, mut cut_short) = (0, 0, 0);
    for number in 0..2_000 {
        let mut walk = Walk::new(number);
        for step in 0..300 {
            walk.step().unwrap_or_else(|error| panic!("walk {number}, step {step}: {error}"));
        }
        answered += walk.answered;
        receipts += u32::from(walk.has_receipt);
        cut_short += u32::from(walk.has_receipt && !walk.waits.is_empty());
    }
    // Checks that the walks reach the cases that they are meant to test.
    assert!(answered > 2_000 && receipts > 200 && cut_short > 50, "{answered} {receipts} {cut_short}");
}
