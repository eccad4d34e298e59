//! The session's state machine, without IO: messages and time are inputs; messages, events and
//! deadlines are outputs.
//!
//! A machine begins as the side that dials or as the side that listens. That decides hello and
//! pairing. Then it becomes the source or the destination of a transfer, which decides everything
//! from the offer to the receipt. The two are independent: who dials may offer, or ask for
//! something ([`Machine::get`]) and be offered it.
//!
//! Pass every message to `handle_message`, and call `handle_timeout` when `poll_timeout` has
//! passed. After either, drain `poll_event` and send what `poll_transmit` returns. An `Err` ends
//! the connection. Times are milliseconds on any monotonic clock.
use std::collections::VecDeque;
use std::num::NonZeroU32;

use ringway_model::{DeclineReason, NoteText};

use crate::ProtocolError;
use crate::control::{
    Accept, Answer, Cancel, EntryFailed, EntryKept, Get, GetRefusal, Greeting, Message, NoteId, Offer, PathCodes,
    Progress, Question, Receipt, ReceiverTimes, Refusal, SenderTimes, Totals, TransferId, Wanted,
};
use crate::lane::Counts;
use crate::limits::{HELLO_TIME_MAX_MS, PING_AFTER_MS, SILENCE_MAX_MS};
use crate::listing::ListingPage;
use crate::name::DeviceName;
use crate::offered::OfferedNames;
use crate::selected::SelectedPaths;

mod asking;
mod destination;
mod dialler;
mod listener;
mod noting;
mod questions;
mod source;
#[cfg(test)]
mod tests;

pub use asking::QuestionNumber;
use asking::{Answering, Asking};
use destination::Destination;
pub use dialler::Pairing;
pub use source::HandedOver;
use source::Source;

/// Events of a machine. Those marked *answer* wait for the named call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The peer sent its hello. *Answer* of who listens: [`Machine::welcome`] or
    /// [`Machine::refuse`].
    HelloReceived {
        /// The name that it gives itself: untrusted text.
        peer_name: DeviceName,
        /// Its protocol version.
        version: u16,
        /// Whether it says that this device's key is on record there.
        known: bool,
        /// Whether it would pair now; of who dials, whether it wants to, because it has a code.
        pairing: bool,
    },
    /// Dialler: the two do not know each other, and there is no secret to pair with. The session
    /// has ended.
    PairingNeeded,
    /// Dialler: the listener has proven that it has the code, and has stored this device: store the
    /// listener. This comes before [`Event::Authenticated`].
    Paired,
    /// Dialler: offers and requests may be made.
    Authenticated,
    /// The other end refused. The session has ended.
    Refused(Refusal),
    /// Listener: the peer wants to pair. *Answer*: [`Machine::pair`] or [`Machine::refuse`].
    PairingStarted,
    /// Listener: the peer's confirmation was right. *Answer*: [`Machine::confirm`], or
    /// [`Machine::refuse`] if the code is no longer open. The peer does not know yet that it was
    /// right.
    CodeProven,
    /// Listener: the peer's code was wrong. The session has ended.
    WrongCode,
    /// Listener: both have proven the code. *Answer*: store the peer, then [`Machine::paired`]; or
    /// [`Machine::refuse`].
    PairingConcluded,
    /// Listener: the peer asks for the receipt of a transfer that was received in an earlier
    /// session. *Answer*: [`Machine::earlier_receipt`].
    ReceiptWanted(TransferId),
    /// Listener: the peer asks about shares, beside what it gets, or in a session in which it will
    /// offer nothing. *Answer*: [`Machine::answer`].
    Asked(QuestionNumber, Question),
    /// Listener: so many pages more of an answer may be given.
    MorePages(QuestionNumber, u8),
    /// Listener: the rest of an answer is not wanted any more.
    NotWanted(QuestionNumber),
    /// Listener: a part of an answer is on its way: the next one may be given.
    PageTaken(QuestionNumber),
    /// Dialler: an answer to a question, or a part of one.
    Answered(QuestionNumber, Answer),
    /// Listener: the peer asks for entries of a share, of which it selects some paths or none.
    /// *Answer*: [`Machine::offer_all`],
    /// [`Machine::refuse_get`] or [`Machine::decline`].
    GetReceived(Get, SelectedPaths),
    /// Listener: the peer asks what a request would move, and will offer nothing in this session.
    /// *Answer*: [`Machine::answer`].
    PlanAsked(QuestionNumber, Get, SelectedPaths),
    /// Listener: a note, with its whole text. *Answer*: [`Machine::keep_note`], or
    /// [`Machine::decline`].
    NoteReceived(NoteId, NoteText),
    /// Dialler: the note is kept there. The session has ended.
    NoteKept,
    /// Requester: what was asked for cannot be had. Source: its offer cannot land in the place that
    /// it names. The session has ended.
    GetRefused(GetRefusal),
    /// Destination: some top-level names of an offer have arrived, or listener: some of the paths
    /// that a request selects. They take this many bytes of memory. Others follow, unless
    /// [`Machine::refuse`] ends the session.
    NamesArriving(usize),
    /// Destination: an offer, with all its top-level names. *Answer*: [`Machine::accept`],
    /// [`Machine::decline`], or [`Machine::refuse_get`] for the place that it names.
    Offered(Offer, OfferedNames),
    /// Destination: a part of what the offer's folders contain, before the offer is answered.
    ListingArrived(ListingPage),
    /// Destination: the totals of the source's walk so far.
    TotalsChanged(Totals),
    /// Destination: how the source's lanes spend their time.
    SenderTimes(SenderTimes),
    /// Destination: the source has passed everything to the lanes. *Answer*, once the lanes have
    /// ended too: [`Machine::receipt`].
    FinishReceived {
        /// The counts of what it sent.
        sent: Counts,
        /// Entries that failed there.
        failed: u64,
        /// Lanes that have sent their end.
        lanes: u8,
    },
    /// Source: the offer was accepted on these terms.
    Accepted(Accept),
    /// Source: the page of the listing is on its way: the next one may be given.
    ListingTaken,
    /// Source: the offer waits in the receiver's queue, at this place.
    Queued(NonZeroU32),
    /// The offer, the request or the note was declined. The session has ended.
    Declined(DeclineReason),
    /// Source: the destination's progress.
    Progressed(Progress),
    /// Source: how the destination's lanes spend their time.
    ReceiverTimes(ReceiverTimes),
    /// Source: everything is written at the destination, and this much was read back.
    Proving(Progress),
    /// Source: the files of a list that the destination wants.
    Wanted(Wanted),
    /// Source: a file at the destination was kept because it was changed there.
    EntryKept(EntryKept),
    /// Source: the destination has no receipt of the transfer, which may be offered now.
    NoReceipt,
    /// Source: the receipt: everything that it counts is there. The session has ended.
    ReceiptReceived(Receipt),
    /// The path of the other end's lanes.
    PeerPath(PathCodes),
    /// An entry failed at the other end.
    EntryFailed(EntryFailed),
    /// The other end cancelled. The session has ended, unless this is the destination and has
    /// everything. *Answer* of that one: [`Machine::receipt`] if it is too late, else
    /// [`Machine::cancel`].
    Cancelled(Cancel),
}

enum State {
    Dialler(dialler::State),
    Listener(listener::State),
    Source(source::State),
    Destination(destination::State),
    Ended,
}

impl State {
    fn is_running(&self) -> bool {
        match self {
            Self::Source(state) => state.is_running(),
            Self::Destination(state) => state.is_running(),
            _ => false,
        }
    }

    /// Whether the source has passed everything to the lanes, and the receipt is given next.
    fn awaits_receipt(&self) -> bool {
        matches!(self, Self::Destination(destination::State::AwaitingReceipt))
    }
}

/// One end of a session.
pub struct Machine {
    link: Link,
    state: State,
    /// What a listener calls itself.
    greeting: Option<Greeting>,
    /// Whether the confirmation was sent, which tests one guess of the listener's.
    has_tried_secret: bool,
    /// Whether the peer has asked for a receipt, which it may do once a session.
    was_asked: bool,
    source: Source,
    destination: Destination,
    /// Questions about the listener's shares.
    asking: Asking,
    /// Questions about the shares of this device.
    answering: Answering,
}

impl Machine {
    fn new(link: Link, state: State, greeting: Option<Greeting>) -> Self {
        let (source, destination) = (Source::default(), Destination::default());
        let (asking, answering) = (Asking::default(), Answering::default());
        Self {
            link,
            state,
            greeting,
            has_tried_secret: false,
            was_asked: false,
            source,
            destination,
            asking,
            answering,
        }
    }

    /// Begins by dialling, with a hello. `known` says whether the peer's key is on record here.
    pub fn dial(greeting: &Greeting, known: bool, pairing: Option<Pairing>, now_ms: u64) -> Self {
        let mut link = Link::new(now_ms, Some(now_ms + HELLO_TIME_MAX_MS));
        link.say(&greeting.hello(known, pairing.is_some()));
        Self::new(link, State::Dialler(dialler::State::AwaitingHello { known, pairing }), None)
    }

    /// Begins by waiting for the hello of who dials.
    pub fn listen(greeting: Greeting, now_ms: u64) -> Self {
        let link = Link::new(now_ms, Some(now_ms + HELLO_TIME_MAX_MS));
        Self::new(link, State::Listener(listener::State::AwaitingHello), Some(greeting))
    }

    /// Ends the session with a reason, in answer to hello, to the wish to pair or to an offer.
    /// Hello is sent first, so that the peer knows which device answered.
    pub fn refuse(&mut self, refusal: Refusal) {
        if matches!(self.state, State::Listener(listener::State::AwaitingWelcome)) {
            self.welcome(false, false);
        }
        if !self.is_ended() {
            self.link.say(&Message::Refused(refusal));
            self.state = State::Ended;
        }
    }

    /// Declines the offer, a request for entries of a share, or a note.
    pub fn decline(&mut self, decline: DeclineReason) {
        let may_decline = matches!(
            self.state,
            State::Destination(destination::State::AwaitingDecision { .. })
                | State::Listener(listener::State::AwaitingGetAnswer { .. } | listener::State::AwaitingNoteAnswer)
        );
        if may_decline {
            self.link.say(&Message::Decline(decline));
            self.state = State::Ended;
        }
    }

    /// Reports the path of this end's lanes.
    pub fn path_taken(&mut self, codes: PathCodes) {
        self.say_while_running(&Message::PathTaken(codes));
    }

    /// Names an entry that failed here.
    pub fn entry_failed(&mut self, failed: EntryFailed) {
        self.say_while_running(&Message::EntryFailed(failed));
    }

    /// Cancels.
    pub fn cancel(&mut self, cancel: Cancel) {
        if !self.is_ended() {
            self.link.say(&Message::Cancel(cancel));
            self.state = State::Ended;
        }
    }

    /// Whether anything waits to be sent, but for answers.
    pub fn has_to_send(&self) -> bool {
        self.link.has_more()
    }

    /// Whether the session has ended.
    pub fn is_ended(&self) -> bool {
        matches!(self.state, State::Ended)
    }

    /// Bytes to send, if any.
    pub fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        if !self.link.has_more() && !self.is_ended() {
            self.say_names();
        }
        if !self.link.has_more() && !self.is_ended() {
            self.say_selected();
        }
        if !self.link.has_more() {
            self.say_listing();
        }
        self.say_answers();
        self.link.poll_transmit()
    }

    /// The next event, if any.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.link.events.pop_front()
    }

    /// When to call [`Machine::handle_timeout`], in milliseconds.
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
        let awaits_hello = matches!(state, State::Listener(listener::State::AwaitingHello));
        self.state = match (state, message) {
            (State::Ended, _) => State::Ended,
            // Nothing is answered to a stranger before its hello.
            (state, Message::Ping) if !awaits_hello => {
                self.link.pong();
                state
            }
            (state, Message::Pong) if !awaits_hello => state,
            (state, Message::Cancel(cancel)) if !state.awaits_receipt() => self.end(Event::Cancelled(cancel)),
            (State::Dialler(state), message) => self.dialler_hears(state, message)?,
            (State::Listener(state), message) => self.listener_hears(state, message)?,
            (State::Source(state), message) => self.source_hears(state, message)?,
            (State::Destination(state), message) => self.destination_hears(state, message)?,
        };
        Ok(())
    }

    fn say_while_running(&mut self, message: &Message) {
        if self.state.is_running() {
            self.link.say(message);
        }
    }

    fn end(&mut self, event: Event) -> State {
        self.link.tell(event);
        State::Ended
    }
}

fn unexpected(message: &Message, state: &'static str) -> ProtocolError {
    ProtocolError::Unexpected { message: message.kind(), state }
}

/// What every machine has: bytes to send, events to report, and the two clocks of liveness.
struct Link {
    transmit: Vec<u8>,
    events: VecDeque<Event>,
    heard_ms: u64,
    said_ms: u64,
    now_ms: u64,
    deadline_ms: Option<u64>,
    /// Whether an answer to a ping is among the bytes to send.
    pong_waits: bool,
}

impl Link {
    fn new(now_ms: u64, deadline_ms: Option<u64>) -> Self {
        Self {
            transmit: Vec::new(),
            events: VecDeque::new(),
            heard_ms: now_ms,
            said_ms: now_ms,
            now_ms,
            deadline_ms,
            pong_waits: false,
        }
    }

    fn say(&mut self, message: &Message) {
        message.encode(&mut self.transmit);
        self.said_ms = self.now_ms;
    }

    /// Answers a ping, once for all that arrived since the last bytes were sent. So a peer that
    /// sends pings and does not read makes nothing grow.
    fn pong(&mut self) {
        if !std::mem::replace(&mut self.pong_waits, true) {
            self.say(&Message::Pong);
        }
    }

    fn tell(&mut self, event: Event) {
        self.events.push_back(event);
    }

    fn hear(&mut self, now_ms: u64) {
        self.now_ms = self.now_ms.max(now_ms);
        self.heard_ms = self.now_ms;
    }

    fn has_more(&self) -> bool {
        !self.transmit.is_empty()
    }

    fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.pong_waits = false;
        if self.transmit.is_empty() { None } else { Some(std::mem::take(&mut self.transmit)) }
    }

    /// The next deadline: the state's, the next ping, or giving up.
    fn poll_timeout(&self) -> u64 {
        let liveness = (self.said_ms + PING_AFTER_MS).min(self.heard_ms + SILENCE_MAX_MS);
        self.deadline_ms.map_or(liveness, |deadline| deadline.min(liveness))
    }

    fn handle_timeout(&mut self, now_ms: u64) -> Result<(), ProtocolError> {
        self.now_ms = self.now_ms.max(now_ms);
        if self.now_ms >= self.heard_ms + SILENCE_MAX_MS || self.deadline_ms.is_some_and(|at| self.now_ms >= at) {
            return Err(ProtocolError::Silent);
        }
        if self.now_ms >= self.said_ms + PING_AFTER_MS {
            self.say(&Message::Ping);
        }
        Ok(())
    }
}
