//! The listening side: answers hello, pairs if it may, passes offers on, reports the writing, and
//! gives the receipt.
use std::num::NonZeroU32;

use ringway_model::DeclineReason;

use super::Link;
use super::asking::{Answering, QuestionNumber};
use crate::ProtocolError;
use crate::code::PairingSecret;
use crate::control::{
    Accept, Answer, Cancel, EntryFailed, EntryKept, Greeting, Hello, Message, Offer, PathCodes, Progress, Question,
    Receipt, ReceiverTimes, Refusal, SenderTimes, Totals, TransferId, Wanted,
};
use crate::lane::Counts;
use crate::limits::{
    FAILURES_NAMED_MAX, HELLO_TIME_MAX_MS, OFFERED_TIME_MAX_MS, PAIRING_TIME_MAX_MS, QUESTIONS_IDLE_MAX_MS, VERSION,
};
use crate::listing::{ListingPage, ListingSoFar};
use crate::name::{DeviceName, Name};
use crate::offered::OfferedNames;
use crate::pair::{self, PakeMessage};

/// Events of an acceptor. Those marked *answer* wait for the named call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AcceptorEvent {
    /// The peer sent its hello. *Answer*: [`Acceptor::welcome`] or [`Acceptor::refuse`].
    HelloReceived {
        /// The name that it gives itself: untrusted text.
        peer_name: DeviceName,
        /// Whether it says that this device's key is on record there.
        known: bool,
        /// Whether it wants to pair, because it has a code.
        pairing: bool,
    },
    /// The peer wants to pair. *Answer*: [`Acceptor::pair`] or [`Acceptor::refuse`].
    PairingStarted,
    /// The peer's confirmation was right. *Answer*: [`Acceptor::confirm`], or [`Acceptor::refuse`]
    /// if the code is no longer open. The peer does not know yet that it was right.
    CodeProven,
    /// The peer's code was wrong. The session has ended.
    WrongCode,
    /// Both have proven the code. *Answer*: store the peer, then [`Acceptor::paired`]; or
    /// [`Acceptor::refuse`].
    PairingConcluded,
    /// Some top-level names of an offer have arrived, which take this many bytes of memory. Others
    /// follow, unless [`Acceptor::refuse`] ends the session.
    NamesArriving(usize),
    /// An offer, with all its top-level names. *Answer*: [`Acceptor::accept`] or
    /// [`Acceptor::decline`].
    Offered(Offer, OfferedNames),
    /// A part of what the offer's folders contain, before the offer is answered.
    ListingArrived(ListingPage),
    /// The peer asks for the receipt of a transfer that was received in an earlier session.
    /// *Answer*: [`Acceptor::earlier_receipt`].
    ReceiptWanted(TransferId),
    /// The peer asks about shares, and will offer nothing in this session. *Answer*:
    /// [`Acceptor::answer`].
    Asked(QuestionNumber, Question),
    /// So many pages more of an answer may be given.
    MorePages(QuestionNumber, u8),
    /// The rest of an answer is not wanted any more.
    NotWanted(QuestionNumber),
    /// A page of an answer is on its way: the next one may be given.
    PageTaken(QuestionNumber),
    /// The totals of the sender's walk so far.
    TotalsChanged(Totals),
    /// The path of the sender's lanes.
    PeerPath(PathCodes),
    /// How the sender's lanes spend their time.
    SenderTimes(SenderTimes),
    /// An entry failed at the sender.
    EntryFailed(EntryFailed),
    /// The sender has passed everything to the lanes. *Answer*, once the lanes have ended too:
    /// [`Acceptor::receipt`].
    FinishReceived {
        /// The counts of what it sent.
        sent: Counts,
        /// Entries that failed there.
        failed: u64,
        /// Lanes that have sent their end.
        lanes: u8,
    },
    /// The sender cancelled. The session has ended.
    Cancelled(Cancel),
}

enum State {
    AwaitingHello,
    AwaitingWelcome,
    /// A known peer may offer at once. Any peer may ask for pairing, because it may have forgotten
    /// this device.
    AwaitingOffer {
        known: bool,
    },
    AwaitingPair(PakeMessage),
    AwaitingPairConfirm(pair::ResponderAwaitingConfirmation),
    /// The confirmation to send.
    AwaitingVerdict(pair::Confirmation),
    AwaitingPairDone,
    AwaitingStore,
    /// The peer has asked for a receipt.
    AwaitingEarlierReceipt,
    /// The peer asks about shares.
    Answering,
    /// An offer whose names have not all arrived.
    AwaitingNames(Box<Offer>, OfferedNames),
    AwaitingDecision {
        lanes: u8,
    },
    Running,
    AwaitingReceipt,
    Ended,
}

impl State {
    fn name(&self) -> &'static str {
        match self {
            Self::AwaitingHello => "awaiting hello",
            Self::AwaitingWelcome
            | Self::AwaitingPair(_)
            | Self::AwaitingVerdict(_)
            | Self::AwaitingStore
            | Self::AwaitingEarlierReceipt => "deciding",
            Self::AwaitingOffer { known: true } => "awaiting an offer",
            Self::AwaitingOffer { known: false } => "awaiting pairing",
            Self::AwaitingPairConfirm(_) => "awaiting the pairing confirmation",
            Self::AwaitingPairDone => "awaiting the end of pairing",
            Self::AwaitingNames(..) => "awaiting the offered names",
            Self::AwaitingDecision { .. } => "deciding on an offer",
            Self::Running => "receiving",
            Self::AwaitingReceipt => "finishing",
            Self::Answering => "answering questions",
            Self::Ended => "at the end",
        }
    }
}

/// The listening side's machine.
pub struct Acceptor {
    link: Link<AcceptorEvent>,
    greeting: Greeting,
    state: State,
    /// Whether the peer has asked for a receipt, which it may do once a session.
    was_asked: bool,
    /// Failures that the sender has named.
    named: u64,
    /// What has arrived of the offer's listing.
    listed: ListingSoFar,
    /// Questions about the shares of this device.
    answering: Answering,
}

impl Acceptor {
    /// Begins by waiting for hello.
    pub fn new(greeting: Greeting, now_ms: u64) -> Self {
        Self {
            link: Link::new(now_ms, Some(now_ms + HELLO_TIME_MAX_MS)),
            greeting,
            state: State::AwaitingHello,
            was_asked: false,
            named: 0,
            listed: ListingSoFar::default(),
            answering: Answering::default(),
        }
    }

    /// Answers a question, or goes on with its answer. Of a question that is not wanted any more
    /// nothing is sent. Pages are given one at a time, when [`Acceptor::takes_page`] says so.
    pub fn answer(&mut self, number: QuestionNumber, answer: Answer) {
        if matches!(self.state, State::Answering) {
            self.answering.answer(number, answer);
        }
    }

    /// Whether another page of an answer is taken: none waits to be sent.
    pub fn takes_page(&self) -> bool {
        matches!(self.state, State::Answering) && self.answering.takes_page()
    }

    /// Says what there is to answer. A session in which nothing is asked ends after a while.
    fn say_answers(&mut self) {
        // One page at a time, because all of them may be more than the connection should hold.
        if !self.link.has_more()
            && matches!(self.state, State::Answering)
            && let Some((message, page_of)) = self.answering.say()
        {
            self.link.say(&message);
            page_of.into_iter().for_each(|number| self.link.tell(AcceptorEvent::PageTaken(number)));
        }
        self.note_idleness();
    }

    fn note_idleness(&mut self) {
        if matches!(self.state, State::Answering) {
            let idle = self.link.deadline_ms.or(Some(self.link.now_ms + QUESTIONS_IDLE_MAX_MS));
            self.link.deadline_ms = idle.filter(|_| self.answering.is_idle());
        }
    }

    /// Answers hello: whether the peer's key is on record, and whether it may pair.
    pub fn welcome(&mut self, known: bool, pairing: bool) {
        assert!(matches!(self.state, State::AwaitingWelcome), "welcome answers hello");
        self.link.say(&self.greeting.hello(known, pairing));
        self.state = State::AwaitingOffer { known };
    }

    /// Ends the session with a reason, in answer to hello or to the wish to pair. Hello is sent
    /// first, so that the peer knows which device answered.
    pub fn refuse(&mut self, refusal: Refusal) {
        if matches!(self.state, State::AwaitingWelcome) {
            self.welcome(false, false);
        }
        if !matches!(self.state, State::Ended) {
            self.link.say(&Message::Refused(refusal));
            self.state = State::Ended;
        }
    }

    /// Continues pairing, with the open code.
    pub fn pair(&mut self, secret: &PairingSecret, binding: pair::Binding, entropy: &[u8; pair::ENTROPY_LEN]) {
        let State::AwaitingPair(start) = std::mem::replace(&mut self.state, State::Ended) else {
            panic!("pair answers a wish to pair");
        };
        self.state = match pair::Responder::answer(secret, binding, &start, entropy) {
            Ok((next, reply)) => {
                self.link.say(&Message::PairReply(reply));
                State::AwaitingPairConfirm(next)
            }
            // The point is invalid. Nothing was guessed, so this costs no attempt, and the peer
            // learns no more than by a guess.
            Err(_) => {
                self.link.say(&Message::Refused(Refusal::WrongCode));
                State::Ended
            }
        };
    }

    /// The code that the peer has proven is still open: proves it to the peer.
    pub fn confirm(&mut self) {
        let State::AwaitingVerdict(ours) = std::mem::replace(&mut self.state, State::Ended) else {
            panic!("confirm answers a proven code");
        };
        self.link.say(&Message::PairConfirm(ours));
        self.state = State::AwaitingPairDone;
    }

    /// The peer was stored: tells the peer.
    pub fn paired(&mut self) {
        assert!(matches!(self.state, State::AwaitingStore), "paired answers the conclusion");
        self.link.say(&Message::Paired);
        self.await_offer();
    }

    /// Gives the requested receipt, which ends the session, or reports that there is none, so that
    /// the transfer may be offered.
    pub fn earlier_receipt(&mut self, receipt: Option<Receipt>) {
        if matches!(self.state, State::AwaitingEarlierReceipt) {
            match receipt {
                Some(receipt) => {
                    self.link.say(&Message::Receipt(receipt));
                    self.state = State::Ended;
                }
                None => {
                    self.link.say(&Message::NoReceipt);
                    self.await_offer();
                }
            }
        }
    }

    /// Accepts the offer, with no more lanes than were offered. With `lists` the sender asks which
    /// files are wanted.
    pub fn accept(&mut self, lanes: u8, lists: bool, doubts: Option<i64>) {
        if let State::AwaitingDecision { lanes: offered } = self.state {
            self.link.say(&Message::Accept(Accept {
                lanes: lanes.clamp(1, offered),
                lists,
                doubts: doubts.filter(|_| lists),
            }));
            self.state = State::Running;
        }
    }

    /// Tells the sender its place in the queue, each time that it changes, until the offer is
    /// accepted or declined.
    pub fn queued(&mut self, place: NonZeroU32) {
        if matches!(self.state, State::AwaitingDecision { .. }) {
            self.link.say(&Message::Queued(place));
        }
    }

    /// Declines the offer.
    pub fn decline(&mut self, decline: DeclineReason) {
        if matches!(self.state, State::AwaitingDecision { .. }) {
            self.link.say(&Message::Decline(decline));
            self.state = State::Ended;
        }
    }

    /// Reports the path of this end's lanes.
    pub fn path_taken(&mut self, codes: PathCodes) {
        self.say_while_running(&Message::PathTaken(codes));
    }

    /// Reports the progress of writing.
    pub fn progress(&mut self, progress: Progress) {
        self.say_while_running(&Message::Progress(progress));
    }

    /// Reports how this end's lanes spend their time.
    pub fn times(&mut self, times: ReceiverTimes) {
        self.say_while_running(&Message::ReceiverTimes(times));
    }

    /// Answers a list.
    pub fn wanted(&mut self, wanted: Wanted) {
        self.say_while_running(&Message::Wanted(wanted));
    }

    /// Reports how much was read back.
    pub fn proving(&mut self, progress: Progress) {
        if matches!(self.state, State::AwaitingReceipt) {
            self.link.say(&Message::Proving(progress));
        }
    }

    /// Names an entry that failed here.
    pub fn entry_failed(&mut self, failed: EntryFailed) {
        self.say_while_running(&Message::EntryFailed(failed));
    }

    /// Names a file that was kept because it was changed here.
    pub fn entry_kept(&mut self, kept: EntryKept) {
        self.say_while_running(&Message::EntryKept(kept));
    }

    /// Ends the transfer with the receipt: everything is there, renamed and synchronised.
    pub fn receipt(&mut self, receipt: Receipt) {
        if matches!(self.state, State::AwaitingReceipt) {
            self.link.say(&Message::Receipt(receipt));
            self.state = State::Ended;
        }
    }

    /// Cancels.
    pub fn cancel(&mut self, cancel: Cancel) {
        if !matches!(self.state, State::Ended) {
            self.link.say(&Message::Cancel(cancel));
            self.state = State::Ended;
        }
    }

    /// Whether the session has ended.
    pub fn is_ended(&self) -> bool {
        matches!(self.state, State::Ended)
    }

    /// Bytes to send, if any.
    pub fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.say_answers();
        self.link.poll_transmit()
    }

    /// The next event, if any.
    pub fn poll_event(&mut self) -> Option<AcceptorEvent> {
        self.link.events.pop_front()
    }

    /// When to call [`Acceptor::handle_timeout`], in milliseconds.
    pub fn poll_timeout(&self) -> Option<u64> {
        (!self.is_ended()).then(|| self.link.poll_timeout())
    }

    /// Handles the passing of time.
    pub fn handle_timeout(&mut self, now_ms: u64) -> Result<(), ProtocolError> {
        if self.is_ended() { Ok(()) } else { self.link.handle_timeout(now_ms) }
    }

    /// Handles a message.
    pub fn handle_message(&mut self, message: Message, now_ms: u64) -> Result<(), ProtocolError> {
        self.link.hear(now_ms);
        let state = std::mem::replace(&mut self.state, State::Ended);
        let name = state.name();
        self.state = match (state, message) {
            (State::Ended, _) => State::Ended,
            (State::AwaitingHello, Message::Hello(hello)) => self.hello(hello),
            (state, Message::Ping) if !matches!(state, State::AwaitingHello) => {
                self.link.pong();
                state
            }
            (state, Message::Pong) if !matches!(state, State::AwaitingHello) => state,
            (_, Message::Cancel(cancel)) => {
                self.link.tell(AcceptorEvent::Cancelled(cancel));
                State::Ended
            }
            (State::AwaitingOffer { .. }, Message::PairStart(start)) => {
                self.link.deadline_ms = Some(self.link.now_ms + PAIRING_TIME_MAX_MS);
                self.link.tell(AcceptorEvent::PairingStarted);
                State::AwaitingPair(start)
            }
            (State::AwaitingPairConfirm(pairing), Message::PairConfirm(confirmation)) => {
                match pairing.receive(&confirmation) {
                    Ok((_, ours)) => {
                        self.link.tell(AcceptorEvent::CodeProven);
                        State::AwaitingVerdict(ours)
                    }
                    Err(_) => self.wrong_code(),
                }
            }
            (State::AwaitingPairDone, Message::PairDone) => {
                self.link.tell(AcceptorEvent::PairingConcluded);
                State::AwaitingStore
            }
            (State::AwaitingOffer { known: true }, Message::Offer(offer)) => {
                self.link.deadline_ms = Some(self.link.now_ms + OFFERED_TIME_MAX_MS);
                let mut names = OfferedNames::default();
                add(&mut names, &offer.names)?;
                self.offered(Box::new(offer), names)?
            }
            (State::AwaitingNames(offer, mut names), Message::OfferNames(page)) => {
                add(&mut names, &page)?;
                self.offered(offer, names)?
            }
            (State::AwaitingNames(mut offer, names), Message::Totals(totals)) => {
                offer.so_far = totals;
                State::AwaitingNames(offer, names)
            }
            (State::AwaitingOffer { known: true }, Message::ReceiptWanted(transfer)) if !self.was_asked => {
                self.was_asked = true;
                self.link.tell(AcceptorEvent::ReceiptWanted(transfer));
                State::AwaitingEarlierReceipt
            }
            (State::AwaitingOffer { known: true } | State::Answering, Message::Asked { number, question }) => {
                let number = self.answering.asked(number)?;
                self.link.deadline_ms = None;
                self.link.tell(AcceptorEvent::Asked(number, question));
                State::Answering
            }
            (State::Answering, Message::MorePages { number, pages }) => {
                let open = self.answering.open(number)?;
                open.into_iter().for_each(|number| self.link.tell(AcceptorEvent::MorePages(number, pages)));
                State::Answering
            }
            (State::Answering, Message::NotWanted { number }) => {
                if let Some(number) = self.answering.open(number)? {
                    self.answering.close(number);
                    self.link.tell(AcceptorEvent::NotWanted(number));
                }
                State::Answering
            }
            (
                State::AwaitingOffer { known: false },
                Message::Offer(_) | Message::ReceiptWanted(_) | Message::Asked { .. },
            ) => {
                self.link.say(&Message::Refused(Refusal::NotPaired));
                State::Ended
            }
            (state @ (State::AwaitingDecision { .. } | State::Running), Message::Totals(totals)) => {
                self.link.tell(AcceptorEvent::TotalsChanged(totals));
                state
            }
            (State::AwaitingDecision { lanes }, Message::OfferListing(page)) => {
                self.listed.add(&page)?;
                self.link.tell(AcceptorEvent::ListingArrived(page));
                State::AwaitingDecision { lanes }
            }
            // It was on its way when the offer was accepted.
            (State::Running, Message::OfferListing(page)) => {
                self.listed.add(&page)?;
                State::Running
            }
            (State::Running, Message::PathTaken(codes)) => {
                self.link.tell(AcceptorEvent::PeerPath(codes));
                State::Running
            }
            (State::Running, Message::SenderTimes(times)) => {
                self.link.tell(AcceptorEvent::SenderTimes(times));
                State::Running
            }
            (State::Running, Message::EntryFailed(_)) if self.named >= FAILURES_NAMED_MAX => {
                let (what, limit) = ("named failures", FAILURES_NAMED_MAX);
                return Err(ProtocolError::TooLarge { what, value: limit + 1, limit });
            }
            (State::Running, Message::EntryFailed(failed)) => {
                self.named += 1;
                self.link.tell(AcceptorEvent::EntryFailed(failed));
                State::Running
            }
            (State::Running, Message::Finish { failed, .. }) if failed < self.named => {
                return Err(ProtocolError::Totals { what: "failed entries", declared: failed, found: self.named });
            }
            (State::Running, Message::Finish { sent, failed, lanes }) => {
                self.link.tell(AcceptorEvent::FinishReceived { sent, failed, lanes });
                State::AwaitingReceipt
            }
            (_, message) => return Err(ProtocolError::Unexpected { message: message.kind(), state: name }),
        };
        Ok(())
    }

    /// Reports an offer once all its names have arrived.
    fn offered(&mut self, offer: Box<Offer>, names: OfferedNames) -> Result<State, ProtocolError> {
        let (declared, found) = (offer.more_names.saturating_add(offer.names.len() as u64), names.len() as u64);
        match found.cmp(&declared) {
            std::cmp::Ordering::Less => {
                self.link.tell(AcceptorEvent::NamesArriving(names.held_bytes()));
                Ok(State::AwaitingNames(offer, names))
            }
            std::cmp::Ordering::Greater => Err(ProtocolError::Totals { what: "offered names", declared, found }),
            std::cmp::Ordering::Equal => {
                let lanes = offer.lanes;
                self.link.deadline_ms = None;
                self.link.tell(AcceptorEvent::Offered(*offer, names));
                Ok(State::AwaitingDecision { lanes })
            }
        }
    }

    fn hello(&mut self, hello: Hello) -> State {
        if hello.version != VERSION {
            self.link.say(&self.greeting.hello(false, false));
            self.link.say(&Message::Refused(Refusal::Version));
            return State::Ended;
        }
        self.link.tell(AcceptorEvent::HelloReceived {
            peer_name: hello.name,
            known: hello.known,
            pairing: hello.pairing,
        });
        State::AwaitingWelcome
    }

    fn wrong_code(&mut self) -> State {
        self.link.say(&Message::Refused(Refusal::WrongCode));
        self.link.tell(AcceptorEvent::WrongCode);
        State::Ended
    }

    /// Begins to wait for an offer or another request of an authenticated peer.
    fn await_offer(&mut self) {
        self.link.deadline_ms = Some(self.link.now_ms + HELLO_TIME_MAX_MS);
        self.state = State::AwaitingOffer { known: true };
    }

    fn say_while_running(&mut self, message: &Message) {
        if matches!(self.state, State::Running | State::AwaitingReceipt) {
            self.link.say(message);
        }
    }
}

fn add(names: &mut OfferedNames, more: &[Vec<u8>]) -> Result<(), ProtocolError> {
    more.iter().try_for_each(|name| names.push(Name::new(name)?))
}
