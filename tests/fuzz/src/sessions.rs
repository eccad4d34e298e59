//! Both session machines, each with an honest peer at the other end and a hostile network in
//! between: messages are passed on, changed, repeated or made up, time passes, and this side makes
//! its own calls whenever it may.
use super::input::Input;
use super::peers::{HonestAcceptor, HonestInitiator, Setup, counts, offer, proven, receiver_times, sender_times};
use super::seeds::{entries_page, get, listing, planned_page, question};
use ringway_model::{DeclineReason, NoteText, Shortage};
use ringway_wire::ProtocolError;
use ringway_wire::control::{
    Accept, Answer, Cancel, EntryFailed, FRAME_PREFIX_LEN, GetRefusal, Message, NoAnswer, Offer, PathCodes, Progress,
    Receipt, Refusal, Totals, Wanted,
};
use ringway_wire::lane::Counts;
use ringway_wire::limits::{NOTE_LEN_MAX, OFFERED_BYTES_MAX, OFFERED_NAMES_MAX, SELECTED_BYTES_MAX};
use ringway_wire::session::{Event, HandedOver, Machine, QuestionNumber};
use std::collections::VecDeque;

/// The shortage of a full disk.
const FULL: Shortage = Shortage { needed: 9, free: 5, entries: 1 };

/// Failures that each side reports: a receipt may count no more for what is sent here.
const NAMED_MAX: u64 = 8;

/// The messages in a machine's output, each of which must be readable.
pub(crate) fn messages(machine: &mut Machine) -> Vec<Vec<u8>> {
    let bytes = machine.poll_transmit().unwrap_or_default();
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
fn pass_time(machine: &mut Machine, now_ms: &mut u64, input: &mut Input<'_>) -> Result<(), ProtocolError> {
    *now_ms += u64::from(input.u16()) * 4;
    machine.handle_timeout(*now_ms)?;
    assert!(machine.poll_timeout().is_none_or(|at| at > *now_ms), "a timeout that would fire at once again");
    Ok(())
}

/// The initiator. Returns how far it got, for the seeds: 0 nothing, 1 paired, 2 authenticated, 3
/// accepted, or what it gets was offered, 4 receipt.
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
        let was_ended = machine.is_ended();
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
    /// A note was sent, and nothing else will be.
    noted: bool,
    /// It gets something, and offers nothing.
    gets: bool,
    over: bool,
    reached: u8,
}

impl SenderSeen {
    fn event(&mut self, event: Event, machine: &Machine, code_proven: bool) {
        assert!(!self.over, "an event after the last");
        self.over = matches!(
            event,
            Event::PairingNeeded | Event::Refused(_) | Event::Declined(_) | Event::ReceiptReceived(_) | Event::NoteKept
        );
        // Everything may be there already.
        self.over |= matches!(event, Event::Cancelled(_)) && machine.is_ended();
        match event {
            Event::Paired => {
                assert!(self.setup.same_code() && code_proven, "paired without the code");
                self.paired = true;
                self.reached = self.reached.max(1);
            }
            Event::Authenticated => {
                assert!(self.paired || (self.setup.known && self.hello_known), "authenticated by nothing");
                self.authenticated = true;
                self.reached = self.reached.max(2);
            }
            Event::Accepted(Accept { lanes, lists, .. }) => {
                self.lists = lists;
                assert!(self.offered && (1..=offer(false).lanes).contains(&lanes));
                self.reached = self.reached.max(3);
            }
            Event::NoReceipt => {
                assert!(self.awaits_receipt, "an answer to nothing");
                self.awaits_receipt = false;
            }
            Event::Wanted(_) => {
                assert!(self.lists && !self.finished, "an answer to no list")
            }
            Event::Answered(number, _) => {
                assert!(self.browses.is_some_and(|latest| number <= latest))
            }
            Event::Offered(..) => {
                assert!(self.gets, "an offer of what was not asked for");
                self.reached = self.reached.max(3);
            }
            Event::FinishReceived { .. } => {
                assert!(self.gets && machine.may_ask());
                self.reached = 4;
            }
            Event::NoteKept => assert!(self.noted, "a receipt of no note"),
            Event::Proving(_) => assert!(self.proves && self.finished, "a proof that nobody asked for"),
            Event::ReceiptReceived(receipt) => {
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
    fn act(&mut self, machine: &mut Machine, choice: u8) {
        match choice % 6 {
            0 if self.gets => machine.accept(Accept { lanes: choice, lists: false, doubts: None, owner_names: false }),
            4 if self.gets => {
                machine.receipt(Receipt { there: counts(), failed: self.named, ..Receipt::default() });
            }
            2 if self.gets && choice & 0xe0 == 0xc0 && machine.may_ask() => {
                self.browses = machine.ask(question()).or(self.browses);
            }
            2 if self.gets && choice & 0xe0 == 0xc0 => {}
            0 if self.browses.is_some() => {}
            2 if self.authenticated
                && !self.asked
                && !self.offered
                && self.browses.is_none()
                && choice & 0xe0 == 0x20
                && !machine.is_ended() =>
            {
                machine.get(get(), Default::default());
                (self.gets, self.offered) = (true, true);
            }
            2 if self.authenticated && !self.asked && !self.offered && choice & 0xe0 == 0xc0 && !machine.is_ended() => {
                self.browses = machine.ask(question()).or(self.browses);
            }
            2 if self.authenticated
                && !self.awaits_receipt
                && !self.offered
                && self.browses.is_none()
                && choice & 0xe0 == 0x40
                && !machine.is_ended() =>
            {
                machine.note([9; 16], &NoteText::from_bytes(vec![b'n'; 40_000]).expect("a note"));
                (self.noted, self.offered) = (true, true);
            }
            // A plan is the first question of its session.
            2 if self.authenticated
                && !self.asked
                && !self.offered
                && self.browses.is_none()
                && choice & 0xe0 == 0xe0
                && !machine.is_ended() =>
            {
                self.browses = machine.plan(get(), Default::default());
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
            5 if choice & 0xf0 == 0xe0 => machine.sender_times(sender_times()),
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
        let was_ended = machine.is_ended();
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
    Get,
    Note,
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
    /// The last request: its transfer and lanes.
    got: Option<([u8; 16], u8)>,
    /// It is offered, and nothing is received.
    serves: bool,
    over: bool,
    reached: u8,
}

impl ReceiverSeen {
    fn event(&mut self, event: Event, machine: &Machine) {
        assert!(!self.over, "an event after the last");
        let mut reach = |step| self.reached = self.reached.max(step);
        match event {
            Event::HelloReceived { .. } => self.question = Some(Question::Welcome),
            Event::PairingStarted => self.question = Some(Question::Pair),
            Event::CodeProven => {
                assert!(self.setup.same_code(), "proven without the code");
                self.code_proven = true;
                self.question = Some(Question::Confirm);
                reach(1);
            }
            Event::PairingConcluded => {
                assert!(self.code_proven);
                self.question = Some(Question::Store);
                reach(2);
            }
            Event::NamesArriving(bytes) => {
                assert!(self.welcomed_known || self.stored, "names of a stranger");
                let most = (OFFERED_BYTES_MAX + OFFERED_NAMES_MAX * size_of::<u32>()).max(SELECTED_BYTES_MAX);
                assert!(!self.offered && bytes <= most);
            }
            Event::Offered(offer, _) => {
                assert!(self.welcomed_known || self.stored, "an offer from a stranger");
                assert!(offer.lanes > 0);
                self.proves = offer.prove;
                self.offered = true;
                self.question = Some(Question::Decide);
                reach(3);
            }
            Event::Asked(number, _) => {
                assert!(self.welcomed_known || self.stored, "a question of a stranger");
                assert!(!self.offered && self.browsed.is_none_or(|before| before < number));
                self.browsed = Some(number);
            }
            Event::MorePages(number, _) | Event::NotWanted(number) | Event::PageTaken(number) => {
                assert!(self.browsed.is_some_and(|latest| number <= latest));
            }
            Event::TotalsChanged(_) => assert!(self.offered),
            Event::ListingArrived(_) => {
                assert!(self.offered && !self.accepted, "a listing of nothing")
            }
            Event::Accepted(_)
            | Event::Queued(_)
            | Event::Progressed(_)
            | Event::ReceiverTimes(_)
            | Event::Proving(_)
            | Event::EntryKept(_)
            | Event::PeerPath(_)
            | Event::EntryFailed(_)
                if self.serves => {}
            Event::Declined(_) | Event::Refused(_) | Event::ReceiptReceived(_) if self.serves => {
                assert!(machine.is_ended());
                self.over = true;
            }
            Event::PeerPath(_) | Event::SenderTimes(_) | Event::EntryFailed(_) => {
                assert!(self.accepted);
            }
            Event::FinishReceived { .. } => {
                assert!(self.accepted);
                self.question = Some(Question::Receipt);
                reach(4);
            }
            Event::ReceiptWanted(_) => {
                assert!(self.welcomed_known || self.stored, "a receipt for a stranger");
                self.question = Some(Question::EarlierReceipt);
            }
            Event::GetReceived(get, selected) => {
                assert!(self.welcomed_known || self.stored, "a request of a stranger");
                assert_eq!(get.selected.unwrap_or(0) as usize, selected.len());
                assert!(self.browsed.is_none(), "a request behind questions");
                self.got = Some((get.transfer, get.lanes));
                self.question = Some(Question::Get);
            }
            Event::NoteReceived(_, text) => {
                assert!(self.welcomed_known || self.stored, "a note of a stranger");
                assert!((1..=NOTE_LEN_MAX).contains(&text.exact().len()));
                self.question = Some(Question::Note);
            }
            Event::PlanAsked(number, get, selected) => {
                assert!(self.welcomed_known || self.stored, "a question of a stranger");
                assert_eq!(get.selected.unwrap_or(0) as usize, selected.len());
                assert!(!self.offered && self.browsed.is_none_or(|before| before < number));
                self.browsed = Some(number);
            }
            Event::WrongCode | Event::Cancelled(_) => {
                // Everything may be there already.
                assert!(machine.is_ended() || self.reached == 4);
                self.over = machine.is_ended();
            }
            event => panic!("an event of the other role: {event:?}"),
        }
    }

    /// One of this side's own calls; an answer, if one is due. False for a call that an honest
    /// initiator does not expect then.
    fn act(&mut self, machine: &mut Machine, choice: u8) -> bool {
        match choice % 8 {
            0..=3 if !machine.is_ended() => match self.question.take() {
                None => {}
                Some(Question::EarlierReceipt) => machine.earlier_receipt(None),
                Some(Question::Note) if choice & 0x80 != 0 => machine.decline(DeclineReason::NotesFull),
                Some(Question::Note) => machine.keep_note(),
                Some(Question::Get) if choice & 0x40 != 0 => {
                    let (transfer, lanes) = self.got.expect("a request");
                    machine.offer(&Offer { transfer, lanes, ..offer(false) });
                    self.serves = true;
                }
                Some(Question::Get) => machine.refuse_get(GetRefusal::NoShare),
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
                // It says nothing unless the offer names a share.
                Some(Question::Decide) if choice & 0xf0 == 0xe0 => machine.refuse_get(GetRefusal::NoShare),
                Some(Question::Decide) => {
                    self.accepted = true;
                    machine.accept(Accept {
                        lanes: choice,
                        lists: choice & 0x40 != 0,
                        doubts: (choice & 0x20 != 0).then(|| i64::from(choice)),
                        owner_names: choice & 0x10 != 0,
                    });
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
                    (true, true) if choice & 0x20 != 0 => Answer::Planned(planned_page()),
                    (true, true) => Answer::Entries(entries_page()),
                    _ => Answer::Refused(NoAnswer::Busy),
                };
                self.browsed.into_iter().for_each(|number| machine.answer(number, answer.clone()));
            }
            4 if choice & 0x40 != 0 && self.serves => machine.finish(counts(), self.named, 1),
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
            7 if choice & 0xf0 == 0xd0 => machine.receiver_times(receiver_times()),
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
