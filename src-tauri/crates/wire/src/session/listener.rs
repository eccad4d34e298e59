//! The listening side: answers hello, pairs if it may, and passes on what is asked of it.
use std::cmp::Ordering;

use super::destination::State as DestinationState;
use super::noting::{Arrived, Arriving};
use super::{Event, Machine, State as MachineState, unexpected};
use crate::ProtocolError;
use crate::code::PairingSecret;
use crate::control::{Get, GetRefusal, Hello, Message, Purpose, Receipt, Refusal, TransferId};
use crate::limits::{HELLO_TIME_MAX_MS, OFFERED_TIME_MAX_MS, PAIRING_TIME_MAX_MS, VERSION};
use crate::name::RelPath;
use crate::pair::{self, PakeMessage};
use crate::selected::SelectedPaths;

pub(super) enum State {
    AwaitingHello,
    AwaitingWelcome,
    /// A known peer may ask for something at once. Any peer may ask for pairing, because it may
    /// have forgotten this device.
    AwaitingRequest {
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
    /// A request of which not all selected paths have arrived.
    AwaitingSelected(Box<Get>, SelectedPaths),
    /// The peer has asked for entries of a share, as this transfer and with so many lanes.
    AwaitingGetAnswer {
        transfer: TransferId,
        lanes: u8,
    },
    /// A note of which not all pages have arrived.
    AwaitingNote(Arriving),
    /// The peer has sent a note.
    AwaitingNoteAnswer,
}

impl State {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::AwaitingHello => "awaiting hello",
            Self::AwaitingWelcome
            | Self::AwaitingPair(_)
            | Self::AwaitingVerdict(_)
            | Self::AwaitingStore
            | Self::AwaitingEarlierReceipt
            | Self::AwaitingGetAnswer { .. }
            | Self::AwaitingNoteAnswer => "deciding",
            Self::AwaitingNote(_) => "awaiting the text of a note",
            Self::Answering => "answering questions",
            Self::AwaitingSelected(..) => "awaiting the selected paths",
            Self::AwaitingRequest { known: true } => "awaiting an offer",
            Self::AwaitingRequest { known: false } => "awaiting pairing",
            Self::AwaitingPairConfirm(_) => "awaiting the pairing confirmation",
            Self::AwaitingPairDone => "awaiting the end of pairing",
        }
    }
}

impl Machine {
    /// Answers hello: whether the peer's key is on record, and whether it may pair.
    pub fn welcome(&mut self, known: bool, pairing: bool) {
        assert!(matches!(self.state, MachineState::Listener(State::AwaitingWelcome)), "welcome answers hello");
        self.say_hello(known, pairing);
        self.state = MachineState::Listener(State::AwaitingRequest { known });
    }

    /// Continues pairing, with the open code.
    pub fn pair(&mut self, secret: &PairingSecret, binding: pair::Binding, entropy: &[u8; pair::ENTROPY_LEN]) {
        let state = std::mem::replace(&mut self.state, MachineState::Ended);
        let MachineState::Listener(State::AwaitingPair(start)) = state else {
            panic!("pair answers a wish to pair");
        };
        self.state = match pair::Responder::answer(secret, binding, &start, entropy) {
            Ok((next, reply)) => {
                self.link.say(&Message::PairReply(reply));
                MachineState::Listener(State::AwaitingPairConfirm(next))
            }
            // The point is invalid. Nothing was guessed, so this costs no attempt, and the peer
            // learns no more than by a guess.
            Err(_) => {
                self.link.say(&Message::Refused(Refusal::WrongCode));
                MachineState::Ended
            }
        };
    }

    /// The code that the peer has proven is still open: proves it to the peer.
    pub fn confirm(&mut self) {
        let state = std::mem::replace(&mut self.state, MachineState::Ended);
        let MachineState::Listener(State::AwaitingVerdict(ours)) = state else {
            panic!("confirm answers a proven code");
        };
        self.link.say(&Message::PairConfirm(ours));
        self.state = MachineState::Listener(State::AwaitingPairDone);
    }

    /// The peer was stored: tells the peer.
    pub fn paired(&mut self) {
        assert!(matches!(self.state, MachineState::Listener(State::AwaitingStore)), "paired answers the conclusion");
        self.link.say(&Message::Paired);
        self.await_request();
    }

    /// Gives the requested receipt, which ends the session, or reports that there is none, so that
    /// the transfer may be offered.
    pub fn earlier_receipt(&mut self, receipt: Option<Receipt>) {
        if matches!(self.state, MachineState::Listener(State::AwaitingEarlierReceipt)) {
            match receipt {
                Some(receipt) => {
                    self.link.say(&Message::Receipt(receipt));
                    self.state = MachineState::Ended;
                }
                None => {
                    self.link.say(&Message::NoReceipt);
                    self.await_request();
                }
            }
        }
    }

    /// Says why what the peer asks for cannot be had, or why its offer cannot land in the place
    /// that it names, which ends the session.
    pub fn refuse_get(&mut self, refusal: GetRefusal) {
        let is_asked = matches!(self.state, MachineState::Listener(State::AwaitingGetAnswer { .. }));
        if is_asked || self.awaits_share() {
            self.link.say(&Message::GetRefused(refusal));
            self.state = MachineState::Ended;
        }
    }

    /// The note is kept: tells its sender, which ends the session.
    pub fn keep_note(&mut self) {
        if matches!(self.state, MachineState::Listener(State::AwaitingNoteAnswer)) {
            self.link.say(&Message::NoteKept);
            self.state = MachineState::Ended;
        }
    }

    pub(super) fn listener_hears(&mut self, state: State, message: Message) -> Result<MachineState, ProtocolError> {
        Ok(MachineState::Listener(match (state, message) {
            (State::AwaitingHello, Message::Hello(hello)) => return Ok(self.listener_hears_hello(hello)),
            (State::AwaitingRequest { .. }, Message::PairStart(start)) => {
                self.link.deadline_ms = Some(self.link.now_ms + PAIRING_TIME_MAX_MS);
                self.link.tell(Event::PairingStarted);
                State::AwaitingPair(start)
            }
            (State::AwaitingPairConfirm(pairing), Message::PairConfirm(confirmation)) => {
                match pairing.receive(&confirmation) {
                    Ok((_, ours)) => {
                        self.link.tell(Event::CodeProven);
                        State::AwaitingVerdict(ours)
                    }
                    Err(_) => {
                        self.link.say(&Message::Refused(Refusal::WrongCode));
                        return Ok(self.end(Event::WrongCode));
                    }
                }
            }
            (State::AwaitingPairDone, Message::PairDone) => {
                self.link.tell(Event::PairingConcluded);
                State::AwaitingStore
            }
            (State::AwaitingRequest { known: true }, message @ Message::Offer(_)) => {
                return self.destination_hears(DestinationState::AwaitingOffer, message);
            }
            (State::AwaitingRequest { known: true }, Message::ReceiptWanted(transfer)) if !self.was_asked => {
                self.was_asked = true;
                self.link.tell(Event::ReceiptWanted(transfer));
                State::AwaitingEarlierReceipt
            }
            (State::AwaitingRequest { known: true } | State::Answering, message @ Message::Asked { .. }) => {
                self.hear_question(message)?;
                self.link.deadline_ms = None;
                State::Answering
            }
            (State::Answering, message @ (Message::MorePages { .. } | Message::NotWanted { .. })) => {
                self.hear_question(message)?;
                State::Answering
            }
            (State::AwaitingRequest { known: true }, Message::Get(get)) => {
                self.link.deadline_ms = Some(self.link.now_ms + OFFERED_TIME_MAX_MS);
                self.asked_for(Box::new(get), SelectedPaths::default())?
            }
            (State::AwaitingSelected(get, mut selected), Message::Selected(page)) => {
                page.iter().try_for_each(|path| selected.push(RelPath::new(path)?))?;
                self.asked_for(get, selected)?
            }
            (State::AwaitingRequest { known: true }, Message::Note(head)) => {
                self.link.deadline_ms = Some(self.link.now_ms + OFFERED_TIME_MAX_MS);
                State::AwaitingNote(head.into())
            }
            (State::AwaitingNote(arriving), Message::NotePage(page)) => match arriving.take(&page)? {
                Arrived::Part(arriving) => State::AwaitingNote(arriving),
                Arrived::Whole(id, text) => {
                    self.link.deadline_ms = None;
                    self.link.tell(Event::NoteReceived(id, text));
                    State::AwaitingNoteAnswer
                }
            },
            (
                State::AwaitingRequest { known: false },
                Message::Offer(_)
                | Message::ReceiptWanted(_)
                | Message::Get(_)
                | Message::Asked { .. }
                | Message::Note(_),
            ) => {
                self.link.say(&Message::Refused(Refusal::NotPaired));
                return Ok(MachineState::Ended);
            }
            (state, message) => return Err(unexpected(&message, state.name())),
        }))
    }

    /// Reports a request once all paths that it selects have arrived.
    fn asked_for(&mut self, get: Box<Get>, selected: SelectedPaths) -> Result<State, ProtocolError> {
        let (declared, found) = (get.selected.unwrap_or(0).into(), selected.len() as u64);
        match found.cmp(&declared) {
            Ordering::Less => {
                self.link.tell(Event::NamesArriving(selected.held_bytes()));
                return Ok(State::AwaitingSelected(get, selected));
            }
            Ordering::Greater => return Err(ProtocolError::Totals { what: "selected paths", declared, found }),
            Ordering::Equal => {}
        }
        self.link.deadline_ms = None;
        match get.purpose {
            Purpose::Transfer => {
                let (transfer, lanes) = (get.transfer, get.lanes);
                self.link.tell(Event::GetReceived(*get, selected));
                Ok(State::AwaitingGetAnswer { transfer, lanes })
            }
            Purpose::Plan { number, .. } => {
                let number = self.answering.asked(number)?;
                self.link.tell(Event::PlanAsked(number, *get, selected));
                Ok(State::Answering)
            }
        }
    }

    fn listener_hears_hello(&mut self, hello: Hello) -> MachineState {
        if hello.version != VERSION {
            self.say_hello(false, false);
            self.link.say(&Message::Refused(Refusal::Version));
            return MachineState::Ended;
        }
        self.link.tell(Event::HelloReceived {
            peer_name: hello.name,
            version: hello.version,
            known: hello.known,
            pairing: hello.pairing,
        });
        MachineState::Listener(State::AwaitingWelcome)
    }

    fn say_hello(&mut self, known: bool, pairing: bool) {
        if let Some(greeting) = &self.greeting {
            self.link.say(&greeting.hello(known, pairing));
        }
    }

    /// Begins to wait for an offer or another request of an authenticated peer.
    fn await_request(&mut self) {
        self.link.deadline_ms = Some(self.link.now_ms + HELLO_TIME_MAX_MS);
        self.state = MachineState::Listener(State::AwaitingRequest { known: true });
    }
}
