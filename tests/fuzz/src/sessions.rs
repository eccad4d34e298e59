//! Both session machines, each with an honest peer at the other end and a hostile network in
//! between: messages are passed on, changed, repeated or made up, time passes, and this side makes
//! its own calls whenever it may.
use super::input::Input;
use super::peers::{HonestAcceptor, HonestInitiator, Setup, counts, offer, proven, receiver_times, sender_times};
use super::seeds::{entries_page, listing, question};
use ringway_model::{DeclineReason, Shortage};
use ringway_wire::ProtocolError;
use ringway_wire::control::{
    Answer, Cancel, EntryFailed, FRAME_PREFIX_LEN, Message, NoAnswer, PathCodes, Progress, Receipt, Refusal, Totals,
    Wanted,
};
use ringway_wire::lane::Counts;
use ringway_wire::limits::{OFFERED_BYTES_MAX, OFFERED_NAMES_MAX};
use ringway_wire::session::{Acceptor, AcceptorEvent, HandedOver, Initiator, InitiatorEvent, QuestionNumber};
use std::collections::VecDeque;

/// The shortage of a full disk.
const FULL: Shortage = Shortage { needed: 9, free: 5, entries: 1 };

/// Failures that each side reports: a receipt may count no more for what is sent here.
const NAMED_MAX: u64 = 8;

/// What both machines have in common.
pub(crate) trait Machine {
    fn hear(&mut self, message: Message, now_ms: u64) -> Result<(), ProtocolError>;
    fn pass_time(&mut self, now_ms: u64) -> Result<(), ProtocolError>;
    fn timeout(&self) -> Option<u64>;
    fn said(&mut self) -> Option<Vec<u8>>;
    fn ended(&self) -> bool;
}

macro_rules! machine {
    ($machine:ty) => {
        impl Machine for $machine {
            fn hear(&mut self, message: Message, now_ms: u64) -> Result<(), ProtocolError> {
                self.handle_message(message, now_ms)
            }
            fn pass_time(&mut self, now_ms: u64) -> Result<(), ProtocolError> {
                self.handle_timeout(now_ms)
            }
            fn timeout(&self) -> Option<u64> {
                self.poll_timeout()
            }
            fn said(&mut self) -> Option<Vec<u8>> {
                self.poll_transmit()
            }
            fn ended(&self) -> bool {
                self.is_ended()
            }
        }
    };
}

machine!(Initiator);
machine!(Acceptor);

/// The messages in a machine's output, each of which must be readable.
pub(crate) fn messages(machine: &mut impl Machine) -> Vec<Vec<u8>> {
    let bytes = machine.said().unwrap_or_default();
    let mut rest = &bytes[..];
    let mut messages = Vec::new();
    while let Some((prefix, after)) = rest.split_first_chunk::<FRAME_PREFIX_LEN>() {
        let len = Message::payload_len(*prefix).expect("a frame within its limit");
        let (payload, after) = after.split_at_checked(len).expect("a whole frame");
        Message::decode(payload).expect("a readable message");
        messages.push(payload.to_vec());
        rest = after;
    }
    assert!(rest.is_empty(), "half a prefix");
    messages
}

/// The network's next message; None lets the machine's own side act.
fn next_message(choice: u8, input: &mut Input<'_>, from_peer: &mut VecDeque<Vec<u8>>, last: &[u8]) -> Option<Vec<u8>> {
    match choice {
        0..=2 => from_peer.pop_front(),
        3 => Some(input.chunk().to_vec()),
        4 => {
            let mut message = from_peer.pop_front()?;
            let at = usize::from(input.u16()) % message.len().max(1);
            if let Some(byte) = message.get_mut(at) {
                *byte ^= input.byte();
            }
            Some(message)
        }
        5 => Some(last.to_vec()),
        _ => None,
    }
}

/// Whether both ends still have exactly what the other one sent after the network's choice.
fn is_honest(choice: u8) -> bool {
    !matches!(choice, 3..=5)
}

/// Lets time pass; a machine that continues must next ask to be woken later than now.
fn pass_time(machine: &mut impl Machine, now_ms: &mut u64, input: &mut Input<'_>) -> Result<(), ProtocolError> {
    *now_ms += u64::from(input.u16()) * 4;
    machine.pass_time(*now_ms)?;
    assert!(machine.timeout().is_none_or(|at| at > *now_ms), "a timeout that would fire at once again");
    Ok(())
}

/// The initiator. Returns how far it got, for the seeds: 0 nothing, 1 paired, 2 authenticated, 3
/// accepted, 4 receipt.
pub fn sender_session(data: &[u8]) {
    run_sender(data);
}

pub(crate) fn run_sender(data: &[u8]) -> u8 {
    let mut input = Input::new(data);
    let setup = Setup::new(input.byte());
    let mut now_ms = 1_000;
    let mut machine = setup.initiator(now_ms);
    let mut peer = HonestAcceptor::new(&setup, now_ms);
    let mut seen = SenderSeen { setup, ..SenderSeen::default() };
    let (mut from_peer, mut last, mut honest) = (VecDeque::new(), Vec::new(), true);
    loop {
        for message in messages(&mut machine) {
            from_peer.extend(peer.hear(&message, now_ms));
        }
        assert!(!honest || !peer.gone, "an honest peer has hung up");
        if input.is_empty() {
            break;
        }
        let was_ended = machine.ended();
        let choice = input.byte() % 8;
        honest &= is_honest(choice);
        let done = match next_message(choice, &mut input, &mut from_peer, &last) {
            Some(payload) => match Message::decode(&payload) {
                Ok(message) => {
                    seen.hello_known |= matches!(&message, Message::Hello(hello) if hello.known);
                    last = payload;
                    machine.handle_message(message, now_ms)
                }
                Err(error) => Err(error),
            },
            None if choice == 6 => pass_time(&mut machine, &mut now_ms, &mut input),
            None if choice == 7 => {
                seen.act(&mut machine, input.byte());
                Ok(())
            }
            None => Ok(()),
        };
        while let Some(event) = machine.poll_event() {
            assert!(!was_ended, "an event after the end");
            seen.event(event, &machine, peer.code_proven);
        }
        if let Err(error) = done {
            assert!(!honest || error == ProtocolError::Silent, "an honest peer is refused: {error}");
            break;
        }
    }
    seen.reached
}

#[derive(Default)]
struct SenderSeen {
    setup: Setup,
    /// Failures that this side has reported.
    named: u64,
    hello_known: bool,
    paired: bool,
    offered: bool,
    authenticated: bool,
    /// The receipt of an earlier session was asked for, once, and is not answered yet.
    asked: bool,
    awaits_receipt: bool,
    lists: bool,
    proves: bool,
    finished: bool,
    /// The last page of the listing was given.
    listed: bool,
    /// The latest question about shares. A session that has one offers nothing.
    browses: Option<QuestionNumber>,
    over: bool,
    reached: u8,
}

impl SenderSeen {
    fn event(&mut self, event: InitiatorEvent, machine: &Initiator, code_proven: bool) {
        assert!(!self.over, "an event after the last");
        self.over = matches!(
            event,
            InitiatorEvent::PairingNeeded
                | InitiatorEvent::Refused(_)
                | InitiatorEvent::Declined(_)
                | InitiatorEvent::ReceiptReceived(_)
                | InitiatorEvent::Cancelled(_)
        );
        match event {
            InitiatorEvent::Paired => {
                assert!(self.setup.same_code() && code_proven, "paired without the code");
                self.paired = true;
                self.reached = self.reached.max(1);
            }
            InitiatorEvent::Authenticated => {
                assert!(self.paired || (self.setup.known && self.hello_known), "authenticated by nothing");
                self.authenticated = true;
                self.reached = self.reached.max(2);
            }
            InitiatorEvent::Accepted { lanes, lists, .. } => {
                self.lists = lists;
                assert!(self.offered && (1..=offer(false).lanes).contains(&lanes));
                self.reached = self.reached.max(3);
            }
            InitiatorEvent::NoReceipt => {
                assert!(self.awaits_receipt, "an answer to nothing");
                self.awaits_receipt = false;
            }
            InitiatorEvent::Wanted(_) => {
                assert!(self.lists && !self.finished, "an answer to no list")
            }
            InitiatorEvent::Answered(number, _) => assert!(self.browses.is_some_and(|latest| number <= latest)),
            InitiatorEvent::Proving(_) => assert!(self.proves && self.finished, "a proof that nobody asked for"),
            InitiatorEvent::ReceiptReceived(receipt) => {
                assert_eq!(receipt.proven.is_some(), self.proves);
                assert!(receipt.failed > 0 || receipt.there == counts(), "a receipt for something else");
                let Counts { files, bytes, .. } = receipt.there;
                assert!(receipt.proven.is_none_or(|proven| proven.files <= files && proven.bytes <= bytes));
                assert!(self.finished || self.awaits_receipt, "a receipt for what was not sent");
                self.reached = 4;
            }
            _ => {}
        }
        assert!(!self.over || machine.is_ended());
    }

    /// One of this side's own calls.
    fn act(&mut self, machine: &mut Initiator, choice: u8) {
        match choice % 6 {
            0 if self.browses.is_some() => {}
            2 if self.authenticated && !self.asked && !self.offered && choice & 0xe0 == 0xc0 && !machine.is_ended() => {
                self.browses = machine.ask(question()).or(self.browses);
            }
            2 if choice & 0xe0 == 0xa0 => self.browses.into_iter().for_each(|number| machine.more_pages(number)),
            2 if choice & 0xe0 == 0x80 => self.browses.into_iter().for_each(|number| machine.abandon(number)),
            0 if self.authenticated && !self.asked && !self.offered && choice & 0x40 != 0 && !machine.is_ended() => {
                self.proves = choice & 0x80 != 0;
                let handed = HandedOver { sent: counts(), failed: 0, names: 1, named: 0, kept: 0 };
                machine.ask_receipt([9; 16], handed, self.proves);
                (self.asked, self.awaits_receipt) = (true, true);
            }
            0 if self.authenticated && !self.awaits_receipt && !self.offered && !machine.is_ended() => {
                self.proves = choice & 0x80 != 0;
                machine.offer(&offer(self.proves));
                self.offered = true;
            }
            1 => machine.totals(Totals { entries: 1, bytes: 2, complete: choice & 0x80 != 0 }),
            2 => machine.path_taken(PathCodes::default()),
            3 if self.named < NAMED_MAX => {
                machine.entry_failed(EntryFailed { path: b"a/b".to_vec(), operation: 1, reason: 2, errno: 13 });
                self.named += 1;
            }
            4 => {
                // Calls before the answer and after the end send nothing, so that the count may
                // exceed the reported failures.
                machine.finish(counts(), self.named, 1);
                self.finished |= self.reached == 3;
            }
            5 if choice & 0xf0 == 0xf0 => machine.cancel(Cancel::ByPerson),
            5 if choice & 0xf0 == 0xe0 => machine.times(sender_times()),
            5 if choice & 0xf0 == 0xd0 && machine.takes_listing() && !self.listed => {
                machine.list(listing());
                self.listed = true;
            }
            _ => {}
        }
    }
}

/// The acceptor.
pub fn receiver_session(data: &[u8]) {
    run_receiver(data);
}

/// Returns how far it got, for the seeds: 0 nothing, 1 code proven, 2 paired, 3 offered, 4
/// everything sent.
pub(crate) fn run_receiver(data: &[u8]) -> u8 {
    let mut input = Input::new(data);
    let setup = Setup::new(input.byte());
    let mut now_ms = 1_000;
    let mut machine = setup.acceptor(now_ms);
    let mut peer = HonestInitiator::new(&setup, now_ms);
    let mut seen = ReceiverSeen { setup, ..ReceiverSeen::default() };
    let (mut from_peer, mut last, mut honest) = (VecDeque::from(peer.say()), Vec::new(), true);
    loop {
        for message in messages(&mut machine) {
            from_peer.extend(peer.hear(&message, now_ms));
        }
        assert!(!honest || !peer.gone, "an honest peer has hung up");
        if input.is_empty() {
            break;
        }
        let was_ended = machine.ended();
        let choice = input.byte() % 8;
        honest &= is_honest(choice);
        let done = match next_message(choice, &mut input, &mut from_peer, &last) {
            Some(payload) => match Message::decode(&payload) {
                Ok(message) => {
                    last = payload;
                    machine.handle_message(message, now_ms)
                }
                Err(error) => Err(error),
            },
            None if choice == 6 => pass_time(&mut machine, &mut now_ms, &mut input),
            None if choice == 7 => {
                honest &= seen.act(&mut machine, input.byte());
                Ok(())
            }
            None => Ok(()),
        };
        while let Some(event) = machine.poll_event() {
            assert!(!was_ended, "an event after the end");
            seen.event(event, &machine);
        }
        if let Err(error) = done {
            assert!(!honest || error == ProtocolError::Silent, "an honest peer is refused: {error}");
            break;
        }
    }
    seen.reached
}

#[derive(Clone, Copy)]
enum Question {
    Welcome,
    Pair,
    Confirm,
    EarlierReceipt,
    Store,
    Decide,
    Receipt,
}

#[derive(Default)]
struct ReceiverSeen {
    setup: Setup,
    /// Failures that this side has reported.
    named: u64,
    question: Option<Question>,
    welcomed_known: bool,
    code_proven: bool,
    stored: bool,
    offered: bool,
    /// The transfer is to be verified.
    proves: bool,
    accepted: bool,
    /// The latest question about shares.
    browsed: Option<QuestionNumber>,
    over: bool,
    reached: u8,
}

impl ReceiverSeen {
    fn event(&mut self, event: AcceptorEvent, machine: &Acceptor) {
        assert!(!self.over, "an event after the last");
        let mut reach = |step| self.reached = self.reached.max(step);
        match event {
            AcceptorEvent::HelloReceived { .. } => self.question = Some(Question::Welcome),
            AcceptorEvent::PairingStarted => self.question = Some(Question::Pair),
            AcceptorEvent::CodeProven => {
                assert!(self.setup.same_code(), "proven without the code");
                self.code_proven = true;
                self.question = Some(Question::Confirm);
                reach(1);
            }
            AcceptorEvent::PairingConcluded => {
                assert!(self.code_proven);
                self.question = Some(Question::Store);
                reach(2);
            }
            AcceptorEvent::NamesArriving(bytes) => {
                assert!(self.welcomed_known || self.stored, "names of a stranger");
                assert!(!self.offered && bytes <= OFFERED_BYTES_MAX + OFFERED_NAMES_MAX * size_of::<u32>());
            }
            AcceptorEvent::Offered(offer, _) => {
                assert!(self.welcomed_known || self.stored, "an offer from a stranger");
                assert!(offer.lanes > 0);
                self.proves = offer.prove;
                self.offered = true;
                self.question = Some(Question::Decide);
                reach(3);
            }
            AcceptorEvent::Asked(number, _) => {
                assert!(self.welcomed_known || self.stored, "a question of a stranger");
                assert!(!self.offered && self.browsed.is_none_or(|before| before < number));
                self.browsed = Some(number);
            }
            AcceptorEvent::MorePages(number, _)
            | AcceptorEvent::NotWanted(number)
            | AcceptorEvent::PageTaken(number) => {
                assert!(self.browsed.is_some_and(|latest| number <= latest));
            }
            AcceptorEvent::TotalsChanged(_) => assert!(self.offered),
            AcceptorEvent::ListingArrived(_) => assert!(self.offered && !self.accepted, "a listing of nothing"),
            AcceptorEvent::PeerPath(_) | AcceptorEvent::SenderTimes(_) | AcceptorEvent::EntryFailed(_) => {
                assert!(self.accepted);
            }
            AcceptorEvent::FinishReceived { .. } => {
                assert!(self.accepted);
                self.question = Some(Question::Receipt);
                reach(4);
            }
            AcceptorEvent::ReceiptWanted(_) => {
                assert!(self.welcomed_known || self.stored, "a receipt for a stranger");
                self.question = Some(Question::EarlierReceipt);
            }
            AcceptorEvent::WrongCode | AcceptorEvent::Cancelled(_) => {
                assert!(machine.is_ended());
                self.over = true;
            }
        }
    }

    /// One of this side's own calls; an answer, if one is due. False for a call that an honest
    /// initiator does not expect then.
    fn act(&mut self, machine: &mut Acceptor, choice: u8) -> bool {
        match choice % 8 {
            0..=3 if !machine.is_ended() => match self.question.take() {
                None => {}
                Some(Question::EarlierReceipt) => machine.earlier_receipt(None),
                Some(Question::Welcome) => {
                    self.welcomed_known = self.setup.peer_known;
                    machine.welcome(self.welcomed_known, true);
                }
                Some(Question::Pair) => self.setup.pair(machine),
                Some(Question::Confirm) => machine.confirm(),
                Some(Question::Store) => {
                    self.stored = true;
                    machine.paired();
                }
                Some(Question::Decide) if choice & 0xf0 == 0xf0 => machine.decline(DeclineReason::ByChoice),
                Some(Question::Decide) => {
                    self.accepted = true;
                    machine.accept(choice, choice & 0x40 != 0, (choice & 0x20 != 0).then(|| i64::from(choice)));
                }
                Some(Question::Receipt) => {
                    let proven = self.proves.then(proven);
                    let failed = self.named;
                    machine.receipt(Receipt { there: counts(), failed, proven, ..Receipt::default() });
                }
            },
            7 if choice & 0xf0 == 0xb0 && self.proves => machine.proving(Progress { entries: 1, bytes: 2 }),
            4 if choice & 0x80 != 0 && self.browsed.is_some() => {
                let answer = match (choice & 0x40 != 0, machine.takes_page()) {
                    (true, true) => Answer::Entries(entries_page()),
                    _ => Answer::Refused(NoAnswer::Busy),
                };
                self.browsed.into_iter().for_each(|number| machine.answer(number, answer.clone()));
            }
            4 => machine.progress(Progress { entries: 1, bytes: 2 }),
            5 => machine.path_taken(PathCodes::default()),
            6 if self.named < NAMED_MAX => {
                machine.entry_failed(EntryFailed { path: b"a/b".to_vec(), operation: 1, reason: 2, errno: 28 });
                self.named += 1;
            }
            7 if choice & 0xf0 == 0xf0 => machine.cancel(Cancel::DestinationFull(FULL)),
            7 if choice & 0xf0 == 0xe0 => {
                machine.refuse(Refusal::NoCodeOpen);
                return false;
            }
            7 if choice & 0xf0 == 0xd0 => machine.times(receiver_times()),
            7 if choice & 0xf0 == 0xc0 => {
                machine.wanted(Wanted {
                    list: 7,
                    files: vec![true, false],
                    has: Default::default(),
                    basis: 0,
                    kept: vec![],
                });
                return false;
            }
            _ => {}
        }
        true
    }
}
