//! The connecting side: says hello, pairs when it must, offers, reports the walk, and waits for the receipt.
use super::Link;
use crate::ProtocolError;
use crate::code::PairingSecret;
use crate::control::{
    Cancel, Decline, EntryFailed, Greeting, Hello, Message, Offer, PathCodes, Progress, Receipt, ReceiverTimes,
    Refusal, SenderTimes, Totals, Wanted,
};
use crate::lane::Counts;
use crate::limits::{HELLO_TIME_MAX_MS, PAIRING_TIME_MAX_MS, VERSION};
use crate::name::DeviceName;
use crate::pair;
use zeroize::Zeroizing;

/// What an initiator reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InitiatorEvent {
    /// The peer said hello; whether both know each other already.
    HelloReceived {
        /// What it calls itself: untrusted text.
        peer_name: DeviceName,
        /// Its protocol version.
        version: u16,
    },
    /// They do not know each other and there is no secret to pair with. The session is over.
    PairingNeeded,
    /// The acceptor proved that it has the code and has stored us: store it. Follows before [`InitiatorEvent::Authenticated`].
    Paired,
    /// Offers may be made.
    Authenticated,
    /// The acceptor ended it. The session is over.
    Refused(Refusal),
    /// The offer was accepted with so many lanes.
    Accepted {
        /// Lanes to open.
        lanes: u8,
        /// Files are to be listed, and those sent that are wanted.
        lists: bool,
        /// Files changed at that second or later are listed with digests.
        doubts: Option<i64>,
    },
    /// The offer was declined. The session is over.
    Declined(Decline),
    /// The path that the receiver's lanes took.
    PeerPath(PathCodes),
    /// How far the receiver is.
    Progressed(Progress),
    /// Where the receiver's time goes.
    ReceiverTimes(ReceiverTimes),
    /// Everything is written at the receiver, and so much of it was read back.
    Proving(Progress),
    /// Which files of a list the receiver wants.
    Wanted(Wanted),
    /// An entry failed at the receiver.
    EntryFailed(EntryFailed),
    /// The receipt: everything that it counts is there. The session is over.
    ReceiptReceived(Receipt),
    /// The receiver stopped it. The session is over.
    Cancelled(Cancel),
}

enum State {
    AwaitingHello { known: bool, pairing: Option<Pairing> },
    AwaitingPairReply(pair::InitiatorAwaitingReply),
    AwaitingPairConfirm(pair::InitiatorAwaitingConfirmation),
    AwaitingPaired,
    Authenticated,
    AwaitingAnswer { lanes: u8 },
    Running,
    AwaitingReceipt(Sent),
    Ended,
}

/// What was handed over, and what failed here.
#[derive(Clone, Copy)]
struct Sent {
    counts: Counts,
    failed: u64,
}

impl Sent {
    /// Nothing is there that was not sent, and nothing is missing that did not fail.
    fn hold_against(&self, receipt: &Receipt) -> Result<(), ProtocolError> {
        let (sent, there) = (&self.counts, &receipt.there);
        let differ = |what, declared, found| Err(ProtocolError::Totals { what, declared, found });
        let pairs = [
            ("files of the receipt", sent.files, there.files),
            ("folders of the receipt", sent.folders, there.folders),
            ("links of the receipt", sent.links, there.links),
            ("bytes of the receipt", sent.bytes, there.bytes),
        ];
        if let Some((what, sent, there)) = pairs.into_iter().find(|(_, sent, there)| there > sent) {
            return differ(what, sent, there);
        }
        if there.entries().saturating_add(receipt.failed) < sent.entries() {
            return differ("entries of the receipt", sent.entries(), there.entries());
        }
        // What of a file had come before it was given up, at either end, is sent and not there.
        match self.failed == 0 && receipt.failed == 0 && there.bytes < sent.bytes {
            true => differ("bytes of the receipt", sent.bytes, there.bytes),
            false => Ok(()),
        }
    }
}

/// What it takes to pair from this side.
pub struct Pairing {
    /// The code or standing secret.
    pub secret: PairingSecret,
    /// Both identities and the channel.
    pub binding: pair::Binding,
    /// Fresh random bytes.
    pub entropy: Zeroizing<[u8; pair::ENTROPY_LEN]>,
}

impl State {
    fn name(&self) -> &'static str {
        match self {
            Self::AwaitingHello { .. } => "awaiting hello",
            Self::AwaitingPairReply(_) => "awaiting the pairing reply",
            Self::AwaitingPairConfirm(_) => "awaiting the pairing confirmation",
            Self::AwaitingPaired => "awaiting the pairing acknowledgement",
            Self::Authenticated => "having nothing offered",
            Self::AwaitingAnswer { .. } => "awaiting an answer",
            Self::Running => "sending",
            Self::AwaitingReceipt(_) => "awaiting the receipt",
            Self::Ended => "at the end",
        }
    }
}

/// The connecting side's machine.
pub struct Initiator {
    link: Link<InitiatorEvent>,
    state: State,
    /// Lists were asked for, so that answers to them may come.
    lists: bool,
    /// A proof was asked for, so that the receipt is to have one.
    proves: bool,
}

impl Initiator {
    /// Begins with a hello. `known` says whether the peer's key is on record here.
    pub fn new(greeting: &Greeting, known: bool, pairing: Option<Pairing>, now_ms: u64) -> Self {
        let mut link = Link::new(now_ms, Some(now_ms + HELLO_TIME_MAX_MS));
        link.say(&greeting.hello(known, pairing.is_some()));
        Self { link, state: State::AwaitingHello { known, pairing }, lists: false, proves: false }
    }

    /// Makes an offer; only when authenticated.
    pub fn offer(&mut self, offer: &Offer) {
        assert!(matches!(self.state, State::Authenticated), "offers follow authentication");
        self.link.say(&Message::Offer(offer.clone()));
        self.proves = offer.prove;
        self.state = State::AwaitingAnswer { lanes: offer.lanes };
    }

    /// Tells how far the walk is, while an answer or the end is awaited.
    pub fn totals(&mut self, totals: Totals) {
        if matches!(self.state, State::AwaitingAnswer { .. } | State::Running) {
            self.link.say(&Message::Totals(totals));
        }
    }

    /// Tells which path this end's lanes took.
    pub fn path_taken(&mut self, codes: PathCodes) {
        if matches!(self.state, State::Running) {
            self.link.say(&Message::PathTaken(codes));
        }
    }

    /// Tells where this end's time goes.
    pub fn times(&mut self, times: SenderTimes) {
        if matches!(self.state, State::Running) {
            self.link.say(&Message::SenderTimes(times));
        }
    }

    /// Names an entry that failed here.
    pub fn entry_failed(&mut self, failed: EntryFailed) {
        if matches!(self.state, State::Running) {
            self.link.say(&Message::EntryFailed(failed));
        }
    }

    /// Everything was handed to the lanes, so many in all.
    pub fn finish(&mut self, sent: Counts, failed: u64, lanes: u8) {
        if matches!(self.state, State::Running) {
            self.link.say(&Message::Finish { sent, failed, lanes });
            self.state = State::AwaitingReceipt(Sent { counts: sent, failed });
        }
    }

    /// Stops.
    pub fn cancel(&mut self, cancel: Cancel) {
        if !matches!(self.state, State::Ended) {
            self.link.say(&Message::Cancel(cancel));
            self.state = State::Ended;
        }
    }

    /// Whether nothing more will come.
    pub fn is_ended(&self) -> bool {
        matches!(self.state, State::Ended)
    }

    /// Bytes to send, if any.
    pub fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.link.poll_transmit()
    }

    /// The next event, if any.
    pub fn poll_event(&mut self) -> Option<InitiatorEvent> {
        self.link.events.pop_front()
    }

    /// When to call [`Initiator::handle_timeout`], in milliseconds.
    pub fn poll_timeout(&self) -> Option<u64> {
        (!self.is_ended()).then(|| self.link.poll_timeout())
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now_ms: u64) -> Result<(), ProtocolError> {
        if self.is_ended() { Ok(()) } else { self.link.handle_timeout(now_ms) }
    }

    /// A message has come.
    pub fn handle_message(&mut self, message: Message, now_ms: u64) -> Result<(), ProtocolError> {
        self.link.hear(now_ms);
        let state = std::mem::replace(&mut self.state, State::Ended);
        let name = state.name();
        self.state = match (state, message) {
            (State::Ended, _) => State::Ended,
            (state, Message::Ping) => {
                self.link.say(&Message::Pong);
                state
            }
            (state, Message::Pong) => state,
            (_, Message::Cancel(cancel)) => self.end(InitiatorEvent::Cancelled(cancel)),
            (State::AwaitingHello { known, pairing }, Message::Hello(hello)) => self.hello(known, pairing, hello),
            (
                State::AwaitingHello { .. }
                | State::AwaitingPairReply(_)
                | State::AwaitingPairConfirm(_)
                | State::AwaitingPaired
                | State::Authenticated
                | State::AwaitingAnswer { .. },
                Message::Refused(refusal),
            ) => self.end(InitiatorEvent::Refused(refusal)),
            (State::AwaitingPairReply(pairing), Message::PairReply(reply)) => match pairing.receive(&reply) {
                Ok((next, confirmation)) => {
                    self.link.say(&Message::PairConfirm(confirmation));
                    State::AwaitingPairConfirm(next)
                }
                Err(_) => self.wrong_code(),
            },
            (State::AwaitingPairConfirm(pairing), Message::PairConfirm(confirmation)) => {
                match pairing.receive(&confirmation) {
                    Ok(_) => {
                        self.link.say(&Message::PairDone);
                        State::AwaitingPaired
                    }
                    Err(_) => self.wrong_code(),
                }
            }
            (State::AwaitingPaired, Message::Paired) => {
                self.link.tell(InitiatorEvent::Paired);
                self.authenticated()
            }
            (State::AwaitingAnswer { lanes: offered }, Message::Accept(accept)) => {
                if accept.lanes > offered {
                    return Err(ProtocolError::BadValue("lanes"));
                }
                self.lists = accept.lists;
                self.link.tell(InitiatorEvent::Accepted {
                    lanes: accept.lanes,
                    lists: accept.lists,
                    doubts: accept.doubts,
                });
                State::Running
            }
            (State::AwaitingAnswer { .. }, Message::Decline(decline)) => self.end(InitiatorEvent::Declined(decline)),
            (state @ (State::Running | State::AwaitingReceipt(_)), message) => self.running(state, message)?,
            (_, message) => return Err(ProtocolError::Unexpected { message: message.kind(), state: name }),
        };
        Ok(())
    }

    fn running(&mut self, state: State, message: Message) -> Result<State, ProtocolError> {
        match (state, message) {
            (state, Message::PathTaken(codes)) => {
                self.link.tell(InitiatorEvent::PeerPath(codes));
                Ok(state)
            }
            (state, Message::Progress(progress)) => {
                self.link.tell(InitiatorEvent::Progressed(progress));
                Ok(state)
            }
            (state, Message::ReceiverTimes(times)) => {
                self.link.tell(InitiatorEvent::ReceiverTimes(times));
                Ok(state)
            }
            (state, Message::EntryFailed(failed)) => {
                self.link.tell(InitiatorEvent::EntryFailed(failed));
                Ok(state)
            }
            (State::Running, Message::Wanted(wanted)) if self.lists => {
                self.link.tell(InitiatorEvent::Wanted(wanted));
                Ok(State::Running)
            }
            (state @ State::AwaitingReceipt(_), Message::Proving(progress)) if self.proves => {
                self.link.tell(InitiatorEvent::Proving(progress));
                Ok(state)
            }
            (State::AwaitingReceipt(_), Message::Receipt(receipt)) if receipt.proven.is_some() != self.proves => {
                Err(ProtocolError::BadValue("proof"))
            }
            (State::AwaitingReceipt(sent), Message::Receipt(receipt)) => {
                sent.hold_against(&receipt)?;
                Ok(self.end(InitiatorEvent::ReceiptReceived(receipt)))
            }
            (state, message) => Err(ProtocolError::Unexpected { message: message.kind(), state: state.name() }),
        }
    }

    fn hello(&mut self, known: bool, pairing: Option<Pairing>, hello: Hello) -> State {
        self.link.tell(InitiatorEvent::HelloReceived { peer_name: hello.name, version: hello.version });
        if hello.version != VERSION {
            return self.end(InitiatorEvent::Refused(Refusal::Version));
        }
        match pairing {
            _ if known && hello.known => self.authenticated(),
            None => self.end(InitiatorEvent::PairingNeeded),
            Some(Pairing { secret, binding, entropy }) => {
                self.link.deadline_ms = Some(self.link.now_ms + PAIRING_TIME_MAX_MS);
                let (next, start) = pair::Initiator::start(&secret, binding, &entropy);
                self.link.say(&Message::PairStart(start));
                State::AwaitingPairReply(next)
            }
        }
    }

    fn authenticated(&mut self) -> State {
        self.link.deadline_ms = None;
        self.link.tell(InitiatorEvent::Authenticated);
        State::Authenticated
    }

    /// The acceptor does not have our code, or is not who holds the channel. It learns that we say so, and nothing else.
    fn wrong_code(&mut self) -> State {
        self.link.say(&Message::Cancel(Cancel::Failed));
        self.end(InitiatorEvent::Refused(Refusal::WrongCode))
    }

    fn end(&mut self, event: InitiatorEvent) -> State {
        self.link.tell(event);
        State::Ended
    }
}
