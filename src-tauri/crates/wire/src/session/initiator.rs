//! The connecting side: sends hello, pairs if it must, offers, reports the walk, and waits for the
//! receipt.
use std::num::NonZeroU32;
use std::sync::Arc;

use ringway_model::DeclineReason;
use zeroize::Zeroizing;

use super::Link;
use super::asking::{Asking, QuestionNumber};
use crate::ProtocolError;
use crate::code::PairingSecret;
use crate::control::{
    Answer, Cancel, EntryFailed, EntryKept, Greeting, Hello, Message, Offer, PathCodes, Progress, Question, Receipt,
    ReceiverTimes, Refusal, SenderTimes, Totals, TransferId, Wanted,
};
use crate::lane::Counts;
use crate::limits::{FAILURES_NAMED_MAX, FAILURES_PER_ENTRY_MAX, HELLO_TIME_MAX_MS, PAIRING_TIME_MAX_MS, VERSION};
use crate::listing::ListingPage;
use crate::name::DeviceName;
use crate::offered::OfferedNames;
use crate::pair;

/// Events of an initiator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InitiatorEvent {
    /// The peer sent its hello.
    HelloReceived {
        /// The name that it gives itself: untrusted text.
        peer_name: DeviceName,
        /// Its protocol version.
        version: u16,
    },
    /// The two do not know each other, and there is no secret to pair with. The session has ended.
    PairingNeeded,
    /// The acceptor has proven that it has the code, and has stored this device: store the
    /// acceptor. This comes before [`InitiatorEvent::Authenticated`].
    Paired,
    /// Offers may be made.
    Authenticated,
    /// An answer to a question, or a part of one.
    Answered(QuestionNumber, Answer),
    /// The acceptor refused. The session has ended.
    Refused(Refusal),
    /// The offer was accepted.
    Accepted {
        /// Lanes to open.
        lanes: u8,
        /// Files are to be listed, and those that are wanted are to be sent.
        lists: bool,
        /// Files changed in this second or later are to be listed with digests.
        doubts: Option<i64>,
    },
    /// The page of the listing is on its way: the next one may be given.
    ListingTaken,
    /// The offer waits in the receiver's queue, at this place.
    Queued(NonZeroU32),
    /// The offer was declined. The session has ended.
    Declined(DeclineReason),
    /// The path of the receiver's lanes.
    PeerPath(PathCodes),
    /// The receiver's progress.
    Progressed(Progress),
    /// How the receiver's lanes spend their time.
    ReceiverTimes(ReceiverTimes),
    /// Everything is written at the receiver, and this much was read back.
    Proving(Progress),
    /// The files of a list that the receiver wants.
    Wanted(Wanted),
    /// An entry failed at the receiver.
    EntryFailed(EntryFailed),
    /// A file at the receiver was kept because it was changed there.
    EntryKept(EntryKept),
    /// The receiver has no receipt of the transfer, which may be offered now.
    NoReceipt,
    /// The receipt: everything that it counts is there. The session has ended.
    ReceiptReceived(Receipt),
    /// The receiver cancelled. The session has ended.
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
    AwaitingEarlierReceipt(Sent),
    Ended,
}

/// What a session sent completely, and what the receiver reported about it. A later session's
/// receipt is compared with all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HandedOver {
    /// The counts passed to the lanes.
    pub sent: Counts,
    /// Entries that failed here.
    pub failed: u64,
    /// Top-level names that were offered.
    pub names: u64,
    /// Failures that the receiver named.
    pub named: u64,
    /// Edited entries that the receiver named.
    pub kept: u64,
}

/// What was sent, and what failed here.
#[derive(Clone, Copy)]
struct Sent {
    counts: Counts,
    failed: u64,
}

/// What this end knows when a receipt arrives.
struct Known {
    sent: Sent,
    /// Top-level names that were offered. A folder of which only contents were sent may fail, too.
    names: u64,
    /// Failures that the receiver has named.
    named: u64,
    /// Edited entries that the receiver has named.
    kept: u64,
    /// Whether a proof was requested.
    proves: bool,
}

impl Known {
    /// Whether a receipt agrees with what was sent: nothing is there that was not sent, everything
    /// that is missing has failed, named failures are counted, and the proof covers everything that
    /// was not there before.
    fn covers(&self, receipt: &Receipt) -> Result<(), ProtocolError> {
        let (sent, there) = (&self.sent.counts, &receipt.there);
        let differ = |what, said, sent| Err(ProtocolError::Receipt { what, said, sent });
        let stayed = receipt.unchanged.saturating_add(receipt.skipped);
        let failed_max = (sent.entries().saturating_add(self.sent.failed).saturating_add(self.names))
            .saturating_mul(FAILURES_PER_ENTRY_MAX);
        let at_most = [
            ("files", there.files, sent.files),
            ("folders", there.folders, sent.folders),
            ("links", there.links, sent.links),
            ("bytes", there.bytes, sent.bytes),
            ("entries that were there", stayed, there.files.saturating_add(there.links)),
            ("bytes that were not sent", receipt.reused, there.bytes),
            ("bytes that were sent or skipped", receipt.moved.saturating_add(receipt.skipped_bytes), there.bytes),
            ("failed entries", receipt.failed, failed_max),
        ];
        if let Some((what, said, most)) = at_most.into_iter().find(|(_, said, most)| said > most) {
            return differ(what, said, most);
        }
        let missing = sent.entries() - there.entries();
        if receipt.failed < missing.max(self.named) {
            return differ("failed entries", receipt.failed, missing.max(self.named));
        }
        if receipt.edited < self.kept {
            return differ("edited entries", receipt.edited, self.kept);
        }
        // Bytes may only be missing without their file if the file was given up at either end.
        if there.bytes < sent.bytes && there.files == sent.files && self.sent.failed == 0 {
            return differ("bytes", there.bytes, sent.bytes);
        }
        match (&receipt.proven, self.proves) {
            (None, false) => Ok(()),
            (Some(proven), true) => {
                // Files that were there before and stay because of the receiver's policy are not
                // compared.
                let least = there.files.saturating_sub(stayed);
                if proven.files < least || proven.files > there.files {
                    return differ("verified files", proven.files, least);
                }
                match proven.files == there.files && proven.bytes != there.bytes || proven.bytes > there.bytes {
                    true => differ("verified bytes", proven.bytes, there.bytes),
                    false => Ok(()),
                }
            }
            (None, true) => differ("verified files", 0, there.files),
            (Some(proven), false) => differ("verified files", proven.files, 0),
        }
    }
}

/// Limits progress to `most`, so that false claims of a peer have no effect.
fn bounded(progress: Progress, most: &Progress) -> Progress {
    Progress { entries: progress.entries.min(most.entries), bytes: progress.bytes.min(most.bytes) }
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
            Self::AwaitingEarlierReceipt(_) => "awaiting the receipt of an earlier session",
            Self::Ended => "at the end",
        }
    }
}

/// The connecting side's machine.
pub struct Initiator {
    link: Link<InitiatorEvent>,
    state: State,
    /// Whether lists were requested, so that answers to them may arrive.
    lists: bool,
    /// Whether a proof was requested, so that the receipt must have one.
    proves: bool,
    /// The offered names, and how many of them were sent.
    names: Option<(Arc<OfferedNames>, usize)>,
    /// The next page of the listing, until the connection takes it.
    listing: Option<ListingPage>,
    /// Top-level names that were offered.
    names_offered: u64,
    /// The largest totals that this end has reported. The peer's progress cannot exceed them.
    declared: Progress,
    /// Failures that the receiver has named.
    named: u64,
    /// Edited entries that the receiver has named.
    kept: u64,
    /// Whether the confirmation was sent, which tests one guess of the acceptor's.
    has_tried_secret: bool,
    /// What was sent completely, in this session or an earlier one.
    handed: Option<HandedOver>,
    /// Questions about the acceptor's shares.
    asking: Asking,
}

impl Initiator {
    /// Begins with a hello. `known` says whether the peer's key is on record here.
    pub fn new(greeting: &Greeting, known: bool, pairing: Option<Pairing>, now_ms: u64) -> Self {
        let mut link = Link::new(now_ms, Some(now_ms + HELLO_TIME_MAX_MS));
        link.say(&greeting.hello(known, pairing.is_some()));
        Self {
            link,
            state: State::AwaitingHello { known, pairing },
            lists: false,
            proves: false,
            names: None,
            listing: None,
            names_offered: 0,
            declared: Progress::default(),
            named: 0,
            kept: 0,
            has_tried_secret: false,
            handed: None,
            asking: Asking::default(),
        }
    }

    /// Asks about the acceptor's shares; only when authenticated, and in a session that offers
    /// nothing. None while as many questions are open as may be.
    pub fn ask(&mut self, question: Question) -> Option<QuestionNumber> {
        assert!(matches!(self.state, State::Authenticated), "questions follow authentication");
        let (number, message) = self.asking.ask(question)?;
        self.link.say(&message);
        Some(number)
    }

    /// Lets an answer go on, once some of its pages were taken. Called for each page.
    pub fn more_pages(&mut self, number: QuestionNumber) {
        if let Some(message) = self.asking.more(number).filter(|_| matches!(self.state, State::Authenticated)) {
            self.link.say(&message);
        }
    }

    /// The rest of an answer is not wanted any more.
    pub fn abandon(&mut self, number: QuestionNumber) {
        if let Some(message) = self.asking.abandon(number).filter(|_| matches!(self.state, State::Authenticated)) {
            self.link.say(&message);
        }
    }

    /// What was sent completely and has no receipt yet, so that a later session can ask for one.
    pub fn handed_over(&self) -> Option<HandedOver> {
        let handed = self.handed?;
        // The receiver may name more after everything was sent.
        Some(HandedOver { named: handed.named.max(self.named), kept: handed.kept.max(self.kept), ..handed })
    }

    /// Offers `names`, the first of which are in `offer`; only when authenticated. The others
    /// follow in pages as the connection accepts them.
    pub fn offer_all(&mut self, offer: &Offer, names: Arc<OfferedNames>) {
        self.names = Some((names, offer.names.len()));
        self.offer(offer);
    }

    /// Makes an offer that has all its names; only when authenticated.
    pub fn offer(&mut self, offer: &Offer) {
        assert!(matches!(self.state, State::Authenticated), "offers follow authentication");
        self.link.say(&Message::Offer(offer.clone()));
        self.proves = offer.prove;
        self.names_offered = (offer.names.len() as u64).saturating_add(offer.more_names);
        self.declare(offer.so_far.entries, offer.so_far.bytes);
        self.state = State::AwaitingAnswer { lanes: offer.lanes };
    }

    /// Whether another page of the listing is taken: the offer waits for an answer, and no page
    /// waits to be sent.
    pub fn takes_listing(&self) -> bool {
        matches!(self.state, State::AwaitingAnswer { .. }) && self.listing.is_none()
    }

    /// Gives the next page of the listing. It is sent when nothing else is to be sent, and not at
    /// all if the answer comes first.
    pub fn list(&mut self, page: ListingPage) {
        if self.takes_listing() {
            self.listing = Some(page);
        }
    }

    /// Asks for the receipt of a transfer that was sent completely in an earlier session, and for
    /// nothing else; only when authenticated.
    pub fn ask_receipt(&mut self, transfer: TransferId, handed: HandedOver, proves: bool) {
        assert!(matches!(self.state, State::Authenticated), "it is asked for in place of an offer");
        self.link.say(&Message::ReceiptWanted(transfer));
        self.proves = proves;
        let HandedOver { sent, failed, names, named, kept } = handed;
        (self.names_offered, self.named, self.kept) = (names, named, kept);
        self.handed = Some(handed);
        self.state = State::AwaitingEarlierReceipt(Sent { counts: sent, failed });
    }

    /// Reports the walk's totals while it waits for an answer or for the end.
    pub fn totals(&mut self, totals: Totals) {
        if matches!(self.state, State::AwaitingAnswer { .. } | State::Running) {
            self.link.say(&Message::Totals(totals));
            self.declare(totals.entries, totals.bytes);
        }
    }

    fn declare(&mut self, entries: u64, bytes: u64) {
        let Progress { entries: entries_before, bytes: bytes_before } = self.declared;
        self.declared = Progress { entries: entries.max(entries_before), bytes: bytes.max(bytes_before) };
    }

    /// Reports the path of this end's lanes.
    pub fn path_taken(&mut self, codes: PathCodes) {
        if matches!(self.state, State::Running) {
            self.link.say(&Message::PathTaken(codes));
        }
    }

    /// Reports how this end's lanes spend their time.
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

    /// Reports that everything was passed to the lanes, with the counts.
    pub fn finish(&mut self, sent: Counts, failed: u64, lanes: u8) {
        if matches!(self.state, State::Running) {
            self.link.say(&Message::Finish { sent, failed, lanes });
            self.declare(sent.entries(), sent.bytes);
            let (names, named, kept) = (self.names_offered, self.named, self.kept);
            self.handed = Some(HandedOver { sent, failed, names, named, kept });
            self.state = State::AwaitingReceipt(Sent { counts: sent, failed });
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

    /// Whether the secret was tried. From then on, the program must not try the same code again by
    /// itself, however the session ends.
    pub fn has_tried_secret(&self) -> bool {
        self.has_tried_secret
    }

    /// Bytes to send, if any.
    pub fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        // One page at a time, because all of them may be more than the connection should hold.
        if !self.link.has_more()
            && !self.is_ended()
            && let Some((names, said)) = &mut self.names
        {
            let page = names.page(*said);
            *said += page.len();
            if page.is_empty() {
                self.names = None;
            } else {
                self.link.say(&Message::OfferNames(page));
            }
        }
        // All names go before the first page.
        if !self.link.has_more()
            && matches!(self.state, State::AwaitingAnswer { .. })
            && let Some(page) = self.listing.take()
        {
            self.link.say(&Message::OfferListing(page));
            self.link.tell(InitiatorEvent::ListingTaken);
        }
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
            (state, Message::Ping) => {
                self.link.pong();
                state
            }
            (state, Message::Pong) => state,
            (State::Authenticated, Message::Answered { number, answer }) => {
                let answered = self.asking.answered(number, answer)?;
                answered
                    .into_iter()
                    .for_each(|(number, answer)| self.link.tell(InitiatorEvent::Answered(number, answer)));
                State::Authenticated
            }
            (_, Message::Cancel(cancel)) => self.end(InitiatorEvent::Cancelled(cancel)),
            (State::AwaitingHello { known, pairing }, Message::Hello(hello)) => self.hello(known, pairing, hello),
            (
                State::AwaitingHello { .. }
                | State::AwaitingPairReply(_)
                | State::Authenticated
                | State::AwaitingEarlierReceipt(_)
                | State::AwaitingAnswer { .. },
                Message::Refused(refusal),
            ) => self.end(InitiatorEvent::Refused(refusal)),
            // This end's confirmation tested one guess of the acceptor's. If "busy" were believed
            // now, the code would be tried again, and would test another guess.
            (State::AwaitingPairConfirm(_) | State::AwaitingPaired, Message::Refused(_)) => {
                self.end(InitiatorEvent::Refused(Refusal::WrongCode))
            }
            (State::AwaitingPairReply(pairing), Message::PairReply(reply)) => match pairing.receive(&reply) {
                Ok((next, confirmation)) => {
                    self.link.say(&Message::PairConfirm(confirmation));
                    self.has_tried_secret = true;
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
                self.handed = None;
                self.link.tell(InitiatorEvent::Accepted {
                    lanes: accept.lanes,
                    lists: accept.lists,
                    doubts: accept.doubts,
                });
                State::Running
            }
            (state @ State::AwaitingAnswer { .. }, Message::Queued(place)) => {
                self.link.tell(InitiatorEvent::Queued(place));
                state
            }
            (State::AwaitingAnswer { .. }, Message::Decline(decline)) => self.end(InitiatorEvent::Declined(decline)),
            (State::AwaitingEarlierReceipt(_), Message::NoReceipt) => {
                // Everything is sent again, and failures are named again.
                (self.named, self.kept) = (0, 0);
                self.link.tell(InitiatorEvent::NoReceipt);
                State::Authenticated
            }
            (State::AwaitingEarlierReceipt(sent), message @ Message::Receipt(_)) => {
                self.running(State::AwaitingReceipt(sent), message)?
            }
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
                let progress = bounded(progress, &self.declared);
                self.link.tell(InitiatorEvent::Progressed(progress));
                Ok(state)
            }
            (state, Message::ReceiverTimes(times)) => {
                self.link.tell(InitiatorEvent::ReceiverTimes(times));
                Ok(state)
            }
            (_, Message::EntryFailed(_)) if self.named >= FAILURES_NAMED_MAX => {
                let (what, limit) = ("named failures", FAILURES_NAMED_MAX);
                Err(ProtocolError::TooLarge { what, value: limit + 1, limit })
            }
            (state, Message::EntryFailed(failed)) => {
                self.named += 1;
                self.link.tell(InitiatorEvent::EntryFailed(failed));
                Ok(state)
            }
            (_, Message::EntryKept(_)) if self.kept >= FAILURES_NAMED_MAX => {
                let (what, limit) = ("named edits", FAILURES_NAMED_MAX);
                Err(ProtocolError::TooLarge { what, value: limit + 1, limit })
            }
            (state, Message::EntryKept(kept)) => {
                self.kept += 1;
                self.link.tell(InitiatorEvent::EntryKept(kept));
                Ok(state)
            }
            (State::Running, Message::Wanted(wanted)) if self.lists => {
                self.link.tell(InitiatorEvent::Wanted(wanted));
                Ok(State::Running)
            }
            (State::AwaitingReceipt(sent), Message::Proving(progress)) if self.proves => {
                let all = Progress { entries: sent.counts.files, bytes: sent.counts.bytes };
                self.link.tell(InitiatorEvent::Proving(bounded(progress, &all)));
                Ok(State::AwaitingReceipt(sent))
            }
            (State::AwaitingReceipt(sent), Message::Receipt(receipt)) => {
                let known =
                    Known { sent, names: self.names_offered, named: self.named, kept: self.kept, proves: self.proves };
                known.covers(&receipt)?;
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
            None if known && hello.known => self.authenticated(),
            Some(Pairing { always: false, .. }) if known && hello.known => self.authenticated(),
            None => self.end(InitiatorEvent::PairingNeeded),
            Some(Pairing { secret, binding, entropy, .. }) => {
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

    /// The acceptor does not have the code, or is not at the other end of the channel. It learns
    /// this verdict and nothing else.
    fn wrong_code(&mut self) -> State {
        self.link.say(&Message::Cancel(Cancel::Failed));
        self.end(InitiatorEvent::Refused(Refusal::WrongCode))
    }

    fn end(&mut self, event: InitiatorEvent) -> State {
        self.link.tell(event);
        State::Ended
    }
}
