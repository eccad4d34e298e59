//! The end that has no files yet: passes an offer on, reports the writing, and gives the receipt.
//! It was offered something by who dialled, or has dialled and asked for it.
use std::num::NonZeroU32;
use std::sync::Arc;

use super::dialler::State as DiallerState;
use super::{Event, Machine, State as MachineState, unexpected};
use crate::ProtocolError;
use crate::control::{Accept, EntryKept, Get, Message, Offer, Progress, Receipt, ReceiverTimes, Wanted};
use crate::limits::{FAILURES_NAMED_MAX, OFFERED_TIME_MAX_MS};
use crate::listing::ListingSoFar;
use crate::name::Name;
use crate::offered::OfferedNames;
use crate::selected::SelectedPaths;

pub(super) enum State {
    AwaitingOffer,
    /// An offer whose names have not all arrived.
    AwaitingNames(Box<Offer>, OfferedNames),
    AwaitingDecision {
        lanes: u8,
        /// Whether the offer names a share.
        is_in_share: bool,
    },
    Running,
    AwaitingReceipt,
    /// The source has cancelled, which may be too late.
    TakenBack,
}

impl State {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::AwaitingOffer => "awaiting the offer of what was asked for",
            Self::AwaitingNames(..) => "awaiting the offered names",
            Self::AwaitingDecision { .. } => "deciding on an offer",
            Self::Running => "receiving",
            Self::AwaitingReceipt => "finishing",
            Self::TakenBack => "finishing what was cancelled",
        }
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self, Self::Running | Self::AwaitingReceipt | Self::TakenBack)
    }

    /// Whether what was asked for has been offered, so that questions may go beside it.
    pub(super) fn takes_answers(&self) -> bool {
        matches!(self, Self::AwaitingDecision { .. }) || self.is_running()
    }
}

/// What a destination knows.
#[derive(Default)]
pub(super) struct Destination {
    /// What was asked for, if this end has asked.
    asked: Option<Get>,
    /// The paths that are asked for alone, and the byte up to which they were sent.
    selected: Option<(Arc<SelectedPaths>, usize)>,
    /// Failures that the source has named.
    named: u64,
    /// What has arrived of the offer's listing.
    listed: ListingSoFar,
}

impl Destination {
    /// Whether this end has asked for what it is offered.
    pub(super) fn has_asked(&self) -> bool {
        self.asked.is_some()
    }
}

impl Machine {
    /// Asks for entries of a share, which the other end then offers; only of who has dialled, when
    /// authenticated. The paths that it selects, if it does, follow in pages as the connection
    /// accepts them.
    pub fn get(&mut self, get: Get, selected: Arc<SelectedPaths>) {
        let may_ask = matches!(self.state, MachineState::Dialler(DiallerState::Authenticated));
        assert!(may_ask, "requests follow authentication");
        self.say_get(&get, selected);
        self.destination.asked = Some(get);
        self.state = MachineState::Destination(State::AwaitingOffer);
    }

    pub(super) fn say_get(&mut self, get: &Get, selected: Arc<SelectedPaths>) {
        debug_assert_eq!(get.selected.map_or(0, |len| len as usize), selected.len());
        self.link.say(&Message::Get(get.clone()));
        self.destination.selected = get.selected.map(|_| (selected, 0));
    }

    /// One page of selected paths at a time, because all of them may be more than the connection
    /// should hold.
    pub(super) fn say_selected(&mut self) {
        let Some((selected, said)) = &mut self.destination.selected else { return };
        let (page, next) = selected.page(*said);
        *said = next;
        if page.is_empty() {
            self.destination.selected = None;
        } else {
            self.link.say(&Message::Selected(page));
        }
    }

    /// Accepts the offer, with no more lanes than were offered. With `lists` the source asks which
    /// files are wanted, and without them nothing is in doubt.
    pub fn accept(&mut self, accept: Accept) {
        if let MachineState::Destination(State::AwaitingDecision { lanes: offered, .. }) = self.state {
            self.link.say(&Message::Accept(Accept {
                lanes: accept.lanes.clamp(1, offered),
                doubts: accept.doubts.filter(|_| accept.lists),
                ..accept
            }));
            self.state = MachineState::Destination(State::Running);
        }
    }

    /// Whether an offer that names a share waits for an answer.
    pub(super) fn awaits_share(&self) -> bool {
        matches!(self.state, MachineState::Destination(State::AwaitingDecision { is_in_share: true, .. }))
    }

    /// Tells the source its place in the queue, each time that it changes, until the offer is
    /// accepted or declined.
    pub fn queued(&mut self, place: NonZeroU32) {
        if matches!(self.state, MachineState::Destination(State::AwaitingDecision { .. })) {
            self.link.say(&Message::Queued(place));
        }
    }

    /// Reports the progress of writing.
    pub fn progress(&mut self, progress: Progress) {
        self.destination_says(&Message::Progress(progress));
    }

    /// Reports how this end's lanes spend their time.
    pub fn receiver_times(&mut self, times: ReceiverTimes) {
        self.destination_says(&Message::ReceiverTimes(times));
    }

    /// Answers a list.
    pub fn wanted(&mut self, wanted: Wanted) {
        self.destination_says(&Message::Wanted(wanted));
    }

    /// Reports how much was read back.
    pub fn proving(&mut self, progress: Progress) {
        if matches!(self.state, MachineState::Destination(State::AwaitingReceipt)) {
            self.link.say(&Message::Proving(progress));
        }
    }

    /// Names a file that was kept because it was changed here.
    pub fn entry_kept(&mut self, kept: EntryKept) {
        self.destination_says(&Message::EntryKept(kept));
    }

    /// Ends the transfer with the receipt: everything is there, renamed and synchronised.
    pub fn receipt(&mut self, receipt: Receipt) {
        if matches!(self.state, MachineState::Destination(State::AwaitingReceipt | State::TakenBack)) {
            self.link.say(&Message::Receipt(receipt));
            self.state = MachineState::Ended;
        }
    }

    fn destination_says(&mut self, message: &Message) {
        if matches!(&self.state, MachineState::Destination(state) if state.is_running()) {
            self.link.say(message);
        }
    }

    pub(super) fn destination_hears(&mut self, state: State, message: Message) -> Result<MachineState, ProtocolError> {
        let asked = self.destination.has_asked();
        Ok(MachineState::Destination(match (state, message) {
            (State::AwaitingOffer, Message::Offer(offer)) => {
                if self.destination.asked.as_ref().is_some_and(|get| !get.is_met_by(&offer)) {
                    return Err(ProtocolError::BadValue("offer of what was asked for"));
                }
                self.link.deadline_ms = Some(self.link.now_ms + OFFERED_TIME_MAX_MS);
                let mut names = OfferedNames::default();
                self.add(&mut names, &offer.names)?;
                self.offered(Box::new(offer), names)?
            }
            (State::AwaitingOffer, Message::GetRefused(refusal)) if asked => {
                return Ok(self.end(Event::GetRefused(refusal)));
            }
            (State::AwaitingOffer, Message::Decline(why)) if asked => return Ok(self.end(Event::Declined(why))),
            (State::AwaitingOffer, Message::Refused(refusal)) if asked => {
                return Ok(self.end(Event::Refused(refusal)));
            }
            (State::AwaitingNames(offer, mut names), Message::OfferNames(page)) => {
                self.add(&mut names, &page)?;
                self.offered(offer, names)?
            }
            (State::AwaitingNames(mut offer, names), Message::Totals(totals)) => {
                offer.so_far = totals;
                State::AwaitingNames(offer, names)
            }
            (state @ (State::AwaitingDecision { .. } | State::Running), Message::Totals(totals)) => {
                self.link.tell(Event::TotalsChanged(totals));
                state
            }
            (state @ State::AwaitingDecision { .. }, Message::OfferListing(page)) => {
                self.destination.listed.add(&page)?;
                self.link.tell(Event::ListingArrived(page));
                state
            }
            // It was on its way when the offer was accepted.
            (State::Running, Message::OfferListing(page)) => {
                self.destination.listed.add(&page)?;
                State::Running
            }
            (state, Message::Answered { number, answer }) if asked && state.takes_answers() => {
                self.hear_answer(number, answer)?;
                state
            }
            (State::Running, Message::PathTaken(codes)) => {
                self.link.tell(Event::PeerPath(codes));
                State::Running
            }
            (State::Running, Message::SenderTimes(times)) => {
                self.link.tell(Event::SenderTimes(times));
                State::Running
            }
            (State::Running, Message::EntryFailed(_)) if self.destination.named >= FAILURES_NAMED_MAX => {
                let (what, limit) = ("named failures", FAILURES_NAMED_MAX);
                return Err(ProtocolError::TooLarge { what, value: limit + 1, limit });
            }
            (State::Running, Message::EntryFailed(failed)) => {
                self.destination.named += 1;
                self.link.tell(Event::EntryFailed(failed));
                State::Running
            }
            (State::Running, Message::Finish { failed, .. }) if failed < self.destination.named => {
                let found = self.destination.named;
                return Err(ProtocolError::Totals { what: "failed entries", declared: failed, found });
            }
            (State::Running, Message::Finish { sent, failed, lanes }) => {
                self.link.tell(Event::FinishReceived { sent, failed, lanes });
                State::AwaitingReceipt
            }
            (State::AwaitingReceipt, Message::Cancel(cancel)) => {
                self.link.tell(Event::Cancelled(cancel));
                State::TakenBack
            }
            (state, message) => return Err(unexpected(&message, state.name())),
        }))
    }

    /// Adds offered names. Who has asked for something takes no other names than those.
    fn add(&self, names: &mut OfferedNames, more: &[Vec<u8>]) -> Result<(), ProtocolError> {
        more.iter().try_for_each(|name| {
            if self.destination.asked.as_ref().is_some_and(|get| !get.asks_for(name)) {
                return Err(ProtocolError::BadValue("offered name, which was not asked for"));
            }
            names.push(Name::new(name)?)
        })
    }

    /// Reports an offer once all its names have arrived.
    fn offered(&mut self, offer: Box<Offer>, names: OfferedNames) -> Result<State, ProtocolError> {
        let (declared, found) = (offer.more_names.saturating_add(offer.names.len() as u64), names.len() as u64);
        match found.cmp(&declared) {
            std::cmp::Ordering::Less => {
                self.link.tell(Event::NamesArriving(names.held_bytes()));
                Ok(State::AwaitingNames(offer, names))
            }
            std::cmp::Ordering::Greater => Err(ProtocolError::Totals { what: "offered names", declared, found }),
            std::cmp::Ordering::Equal => {
                let (lanes, is_in_share) = (offer.lanes, offer.in_share.is_some());
                self.link.deadline_ms = None;
                self.link.tell(Event::Offered(*offer, names));
                Ok(State::AwaitingDecision { lanes, is_in_share })
            }
        }
    }
}
