//! The end that has the files: offers them, reports the walk, and waits for the receipt. It has
//! dialled, or was asked for them by who dialled.
use std::sync::Arc;

use super::dialler::State as DiallerState;
use super::listener::State as ListenerState;
use super::{Event, Machine, State as MachineState, unexpected};
use crate::ProtocolError;
use crate::control::{Cancel, Message, Offer, Progress, Receipt, SenderTimes, Totals, TransferId};
use crate::lane::Counts;
use crate::limits::{FAILURES_NAMED_MAX, FAILURES_PER_ENTRY_MAX};
use crate::listing::ListingPage;
use crate::offered::OfferedNames;

pub(super) enum State {
    AwaitingAnswer { lanes: u8 },
    Running,
    AwaitingReceipt(Sent),
    AwaitingEarlierReceipt(Sent),
}

impl State {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::AwaitingAnswer { .. } => "awaiting an answer",
            Self::Running => "sending",
            Self::AwaitingReceipt(_) => "awaiting the receipt",
            Self::AwaitingEarlierReceipt(_) => "awaiting the receipt of an earlier session",
        }
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self, Self::Running)
    }
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
pub(super) struct Sent {
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
            ("lost access control lists", receipt.acls_lost, sent.entries()),
            ("owners by number", receipt.owners_by_number, sent.entries()),
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

/// What a source knows.
#[derive(Default)]
pub(super) struct Source {
    /// Whether lists were requested, so that answers to them may arrive.
    lists: bool,
    /// Whether a proof was requested, so that the receipt must have one.
    proves: bool,
    /// Whether the offer names a share, so that the place may be refused.
    is_in_share: bool,
    /// The offered names, and how many of them were sent.
    names: Option<(Arc<OfferedNames>, usize)>,
    /// The next page of the listing, until the connection takes it.
    listing: Option<ListingPage>,
    /// Top-level names that were offered.
    names_offered: u64,
    /// The largest totals that this end has reported. The peer's progress cannot exceed them.
    declared: Progress,
    /// Failures that the destination has named.
    named: u64,
    /// Edited entries that the destination has named.
    kept: u64,
    /// What was sent completely, in this session or an earlier one.
    handed: Option<HandedOver>,
    /// The other end has asked for it, so that questions may go beside it.
    pub(super) is_asked: bool,
}

impl Source {
    fn declare(&mut self, entries: u64, bytes: u64) {
        let Progress { entries: entries_before, bytes: bytes_before } = self.declared;
        self.declared = Progress { entries: entries.max(entries_before), bytes: bytes.max(bytes_before) };
    }
}

impl Machine {
    /// What was sent completely and has no receipt yet, so that a later session can ask for one.
    pub fn handed_over(&self) -> Option<HandedOver> {
        let handed = self.source.handed?;
        // The destination may name more after everything was sent.
        let (named, kept) = (handed.named.max(self.source.named), handed.kept.max(self.source.kept));
        Some(HandedOver { named, kept, ..handed })
    }

    /// Offers `names`, the first of which are in `offer`; only when authenticated, or when asked.
    /// The others follow in pages as the connection accepts them.
    pub fn offer_all(&mut self, offer: &Offer, names: Arc<OfferedNames>) {
        self.source.names = Some((names, offer.names.len()));
        self.offer(offer);
    }

    /// Makes an offer that has all its names; only when authenticated, or when asked: then it has
    /// the id that was asked for, and no more lanes.
    pub fn offer(&mut self, offer: &Offer) {
        let may_offer = match &self.state {
            MachineState::Dialler(DiallerState::Authenticated) => true,
            MachineState::Listener(ListenerState::AwaitingGetAnswer { transfer, lanes }) => {
                *transfer == offer.transfer && offer.lanes <= *lanes
            }
            _ => false,
        };
        assert!(may_offer, "offers follow authentication or a request");
        self.link.say(&Message::Offer(offer.clone()));
        self.source.is_asked = matches!(self.state, MachineState::Listener(_));
        (self.source.proves, self.source.is_in_share) = (offer.prove, offer.in_share.is_some());
        self.source.names_offered = (offer.names.len() as u64).saturating_add(offer.more_names);
        self.source.declare(offer.so_far.entries, offer.so_far.bytes);
        self.state = MachineState::Source(State::AwaitingAnswer { lanes: offer.lanes });
    }

    /// Whether another page of the listing is taken: the offer waits for an answer, and no page
    /// waits to be sent.
    pub fn takes_listing(&self) -> bool {
        self.awaits_answer() && self.source.listing.is_none()
    }

    /// Gives the next page of the listing. It is sent when nothing else is to be sent, and not at
    /// all if the answer comes first.
    pub fn list(&mut self, page: ListingPage) {
        if self.takes_listing() {
            self.source.listing = Some(page);
        }
    }

    /// Asks for the receipt of a transfer that was sent completely in an earlier session, and for
    /// nothing else; only of who has dialled, when authenticated.
    pub fn ask_receipt(&mut self, transfer: TransferId, handed: HandedOver, proves: bool) {
        let may_ask = matches!(self.state, MachineState::Dialler(DiallerState::Authenticated));
        assert!(may_ask, "it is asked for in place of an offer");
        self.link.say(&Message::ReceiptWanted(transfer));
        let HandedOver { sent, failed, names, named, kept } = handed;
        let source = &mut self.source;
        (source.proves, source.names_offered, source.named, source.kept) = (proves, names, named, kept);
        source.handed = Some(handed);
        self.state = MachineState::Source(State::AwaitingEarlierReceipt(Sent { counts: sent, failed }));
    }

    /// Reports the walk's totals while it waits for an answer or for the end.
    pub fn totals(&mut self, totals: Totals) {
        if self.awaits_answer() || self.sends() {
            self.link.say(&Message::Totals(totals));
            self.source.declare(totals.entries, totals.bytes);
        }
    }

    /// Reports how this end's lanes spend their time.
    pub fn sender_times(&mut self, times: SenderTimes) {
        if self.sends() {
            self.link.say(&Message::SenderTimes(times));
        }
    }

    /// Reports that everything was passed to the lanes, with the counts.
    pub fn finish(&mut self, sent: Counts, failed: u64, lanes: u8) {
        if self.sends() {
            self.link.say(&Message::Finish { sent, failed, lanes });
            self.source.declare(sent.entries(), sent.bytes);
            let (names, named, kept) = (self.source.names_offered, self.source.named, self.source.kept);
            self.source.handed = Some(HandedOver { sent, failed, names, named, kept });
            self.state = MachineState::Source(State::AwaitingReceipt(Sent { counts: sent, failed }));
        }
    }

    /// Cancels what was handed over whole in this session. The destination may be past that: then
    /// it gives the receipt, and otherwise says that it has cancelled. False, and nothing is said,
    /// if nothing was handed over.
    pub fn take_back(&mut self, cancel: Cancel) -> bool {
        let is_handed_over = matches!(self.state, MachineState::Source(State::AwaitingReceipt(_)));
        if is_handed_over {
            self.link.say(&Message::Cancel(cancel));
        }
        is_handed_over
    }

    fn awaits_answer(&self) -> bool {
        matches!(self.state, MachineState::Source(State::AwaitingAnswer { .. }))
    }

    fn sends(&self) -> bool {
        matches!(self.state, MachineState::Source(State::Running))
    }

    /// One page of names at a time, because all of them may be more than the connection should
    /// hold.
    pub(super) fn say_names(&mut self) {
        let Some((names, said)) = &mut self.source.names else { return };
        let page = names.page(*said);
        *said += page.len();
        if page.is_empty() {
            self.source.names = None;
        } else {
            self.link.say(&Message::OfferNames(page));
        }
    }

    /// All names go before the first page of the listing.
    pub(super) fn say_listing(&mut self) {
        if self.awaits_answer()
            && let Some(page) = self.source.listing.take()
        {
            self.link.say(&Message::OfferListing(page));
            self.link.tell(Event::ListingTaken);
        }
    }

    pub(super) fn source_hears(&mut self, state: State, message: Message) -> Result<MachineState, ProtocolError> {
        Ok(MachineState::Source(match (state, message) {
            (state, message @ (Message::Asked { .. } | Message::MorePages { .. } | Message::NotWanted { .. }))
                if self.source.is_asked =>
            {
                self.hear_question(message)?;
                state
            }
            (State::AwaitingEarlierReceipt(_) | State::AwaitingAnswer { .. }, Message::Refused(refusal)) => {
                return Ok(self.end(Event::Refused(refusal)));
            }
            (State::AwaitingAnswer { lanes: offered }, Message::Accept(accept)) => {
                if accept.lanes > offered {
                    return Err(ProtocolError::BadValue("lanes"));
                }
                self.source.lists = accept.lists;
                self.source.handed = None;
                self.link.tell(Event::Accepted(accept));
                State::Running
            }
            (state @ State::AwaitingAnswer { .. }, Message::Queued(place)) => {
                self.link.tell(Event::Queued(place));
                state
            }
            (State::AwaitingAnswer { .. }, Message::Decline(decline)) => {
                return Ok(self.end(Event::Declined(decline)));
            }
            (State::AwaitingAnswer { .. }, Message::GetRefused(refusal)) if self.source.is_in_share => {
                return Ok(self.end(Event::GetRefused(refusal)));
            }
            (State::AwaitingEarlierReceipt(_), Message::NoReceipt) => {
                // Everything is sent again, and failures are named again.
                (self.source.named, self.source.kept) = (0, 0);
                self.link.tell(Event::NoReceipt);
                return Ok(MachineState::Dialler(DiallerState::Authenticated));
            }
            (State::AwaitingEarlierReceipt(sent), message @ Message::Receipt(_)) => {
                return self.while_sending(State::AwaitingReceipt(sent), message);
            }
            (state @ (State::Running | State::AwaitingReceipt(_)), message) => {
                return self.while_sending(state, message);
            }
            (state, message) => return Err(unexpected(&message, state.name())),
        }))
    }

    fn while_sending(&mut self, state: State, message: Message) -> Result<MachineState, ProtocolError> {
        let source = &mut self.source;
        Ok(MachineState::Source(match (state, message) {
            (state, Message::PathTaken(codes)) => {
                self.link.tell(Event::PeerPath(codes));
                state
            }
            (state, Message::Progress(progress)) => {
                let progress = bounded(progress, &source.declared);
                self.link.tell(Event::Progressed(progress));
                state
            }
            (state, Message::ReceiverTimes(times)) => {
                self.link.tell(Event::ReceiverTimes(times));
                state
            }
            (_, Message::EntryFailed(_)) if source.named >= FAILURES_NAMED_MAX => {
                let (what, limit) = ("named failures", FAILURES_NAMED_MAX);
                return Err(ProtocolError::TooLarge { what, value: limit + 1, limit });
            }
            (state, Message::EntryFailed(failed)) => {
                source.named += 1;
                self.link.tell(Event::EntryFailed(failed));
                state
            }
            (_, Message::EntryKept(_)) if source.kept >= FAILURES_NAMED_MAX => {
                let (what, limit) = ("named edits", FAILURES_NAMED_MAX);
                return Err(ProtocolError::TooLarge { what, value: limit + 1, limit });
            }
            (state, Message::EntryKept(kept)) => {
                source.kept += 1;
                self.link.tell(Event::EntryKept(kept));
                state
            }
            (State::Running, Message::Wanted(wanted)) if source.lists => {
                self.link.tell(Event::Wanted(wanted));
                State::Running
            }
            (State::AwaitingReceipt(sent), Message::Proving(progress)) if source.proves => {
                let all = Progress { entries: sent.counts.files, bytes: sent.counts.bytes };
                self.link.tell(Event::Proving(bounded(progress, &all)));
                State::AwaitingReceipt(sent)
            }
            (State::AwaitingReceipt(sent), Message::Receipt(receipt)) => {
                let Source { names_offered: names, named, kept, proves, .. } = *source;
                Known { sent, names, named, kept, proves }.covers(&receipt)?;
                return Ok(self.end(Event::ReceiptReceived(receipt)));
            }
            (state, message) => return Err(unexpected(&message, state.name())),
        }))
    }
}
