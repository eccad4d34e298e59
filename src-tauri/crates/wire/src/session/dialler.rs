//! The connecting side: sends hello, pairs if it must, and then offers or asks for something.
use std::sync::Arc;

use ringway_model::NoteText;
use zeroize::Zeroizing;

use super::asking::QuestionNumber;
use super::{Event, Machine, State as MachineState, unexpected};
use crate::ProtocolError;
use crate::code::PairingSecret;
use crate::control::{Cancel, Get, Hello, Message, NoteHead, NoteId, NotePage, Purpose, Refusal};
use crate::limits::{NOTE_PAGE_BYTES_MAX, PAGES_AHEAD_MAX, PAIRING_TIME_MAX_MS, VERSION};
use crate::pair;
use crate::selected::SelectedPaths;

pub(super) enum State {
    AwaitingHello {
        known: bool,
        pairing: Option<Pairing>,
    },
    AwaitingPairReply(pair::InitiatorAwaitingReply),
    AwaitingPairConfirm(pair::InitiatorAwaitingConfirmation),
    AwaitingPaired,
    Authenticated,
    /// A note was sent.
    AwaitingNoteAnswer,
}

impl State {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::AwaitingHello { .. } => "awaiting hello",
            Self::AwaitingPairReply(_) => "awaiting the pairing reply",
            Self::AwaitingPairConfirm(_) => "awaiting the pairing confirmation",
            Self::AwaitingPaired => "awaiting the pairing acknowledgement",
            Self::Authenticated => "having nothing offered",
            Self::AwaitingNoteAnswer => "awaiting the receipt of a note",
        }
    }
}

/// What this side needs for pairing.
pub struct Pairing {
    /// The code or standing secret.
    pub secret: Arc<PairingSecret>,
    /// Both identities and the channel.
    pub binding: pair::Binding,
    /// Fresh random bytes.
    pub entropy: Zeroizing<[u8; pair::ENTROPY_LEN]>,
    /// Whether to pair even if both know each other already: then the peer has to prove the secret,
    /// whichever device it is. Otherwise they pair only if one does not know the other.
    pub always: bool,
}

impl Machine {
    /// Whether the secret was tried. From then on, the program must not try the same code again by
    /// itself, however the session ends.
    pub fn has_tried_secret(&self) -> bool {
        self.has_tried_secret
    }

    /// Asks what a request would move, in place of making it; otherwise as [`Machine::ask`], and as
    /// [`Machine::get`]. It is the first question of its session.
    pub fn plan(&mut self, get: Get, selected: Arc<SelectedPaths>) -> Option<QuestionNumber> {
        assert!(self.is_authenticated(), "questions follow authentication");
        let number = self.asking.plan(PAGES_AHEAD_MAX)?;
        let purpose = Purpose::Plan { number: number.0, pages: PAGES_AHEAD_MAX };
        self.say_get(&Get { purpose, ..get }, selected);
        Some(number)
    }

    /// Sends a note; only when authenticated, and in a session that is for nothing else.
    pub fn note(&mut self, id: NoteId, text: &NoteText) {
        assert!(self.is_authenticated(), "a note follows authentication");
        let bytes = text.exact().as_bytes();
        self.link.say(&Message::Note(NoteHead { id, len: bytes.len() as u32 }));
        // All of it is as much as two other messages may be.
        for page in bytes.chunks(NOTE_PAGE_BYTES_MAX) {
            self.link.say(&Message::NotePage(NotePage::new(page)));
        }
        self.state = MachineState::Dialler(State::AwaitingNoteAnswer);
    }

    fn is_authenticated(&self) -> bool {
        matches!(self.state, MachineState::Dialler(State::Authenticated))
    }

    pub(super) fn dialler_hears(&mut self, state: State, message: Message) -> Result<MachineState, ProtocolError> {
        Ok(match (state, message) {
            (State::AwaitingHello { known, pairing }, Message::Hello(hello)) => {
                self.dialler_hears_hello(known, pairing, hello)
            }
            (
                State::AwaitingHello { .. }
                | State::AwaitingPairReply(_)
                | State::Authenticated
                | State::AwaitingNoteAnswer,
                Message::Refused(refusal),
            ) => self.end(Event::Refused(refusal)),
            // This end's confirmation tested one guess of the listener's. If "busy" were believed
            // now, the code would be tried again, and would test another guess.
            (State::AwaitingPairConfirm(_) | State::AwaitingPaired, Message::Refused(_)) => {
                self.end(Event::Refused(Refusal::WrongCode))
            }
            (State::AwaitingPairReply(pairing), Message::PairReply(reply)) => match pairing.receive(&reply) {
                Ok((next, confirmation)) => {
                    self.link.say(&Message::PairConfirm(confirmation));
                    self.has_tried_secret = true;
                    MachineState::Dialler(State::AwaitingPairConfirm(next))
                }
                Err(_) => self.listener_lacks_code(),
            },
            (State::AwaitingPairConfirm(pairing), Message::PairConfirm(confirmation)) => {
                match pairing.receive(&confirmation) {
                    Ok(_) => {
                        self.link.say(&Message::PairDone);
                        MachineState::Dialler(State::AwaitingPaired)
                    }
                    Err(_) => self.listener_lacks_code(),
                }
            }
            (State::AwaitingPaired, Message::Paired) => {
                self.link.tell(Event::Paired);
                self.authenticated()
            }
            (State::Authenticated, Message::Answered { number, answer }) => {
                self.hear_answer(number, answer)?;
                MachineState::Dialler(State::Authenticated)
            }
            (State::AwaitingNoteAnswer, Message::NoteKept) => self.end(Event::NoteKept),
            (State::AwaitingNoteAnswer, Message::Decline(reason)) => self.end(Event::Declined(reason)),
            (state, message) => return Err(unexpected(&message, state.name())),
        })
    }

    fn dialler_hears_hello(&mut self, known: bool, pairing: Option<Pairing>, hello: Hello) -> MachineState {
        let (there, version) = (hello.known, hello.version);
        self.link.tell(Event::HelloReceived { peer_name: hello.name, version, known: there, pairing: hello.pairing });
        if version != VERSION {
            return self.end(Event::Refused(Refusal::Version));
        }
        match pairing {
            None if known && there => self.authenticated(),
            Some(Pairing { always: false, .. }) if known && there => self.authenticated(),
            None => self.end(Event::PairingNeeded),
            Some(Pairing { secret, binding, entropy, .. }) => {
                self.link.deadline_ms = Some(self.link.now_ms + PAIRING_TIME_MAX_MS);
                let (next, start) = pair::Initiator::start(&secret, binding, &entropy);
                self.link.say(&Message::PairStart(start));
                MachineState::Dialler(State::AwaitingPairReply(next))
            }
        }
    }

    fn authenticated(&mut self) -> MachineState {
        self.link.deadline_ms = None;
        self.link.tell(Event::Authenticated);
        MachineState::Dialler(State::Authenticated)
    }

    /// The listener does not have the code, or is not at the other end of the channel. It learns
    /// this verdict and nothing else.
    fn listener_lacks_code(&mut self) -> MachineState {
        self.link.say(&Message::Cancel(Cancel::Failed));
        self.end(Event::Refused(Refusal::WrongCode))
    }
}
