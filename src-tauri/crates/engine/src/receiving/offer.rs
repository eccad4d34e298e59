//! An offer from a known device: asked about, unless it goes on with what was accepted before.
mod acceptance;
mod accepted;

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use ringway_link::session::Session;
use ringway_model::{
    Consent, DeclineReason, DeviceRule, Direction, Fault, IntoHome, Offer, OnConflict, PathText, TransferId,
    TransferKey,
};
use ringway_tree::filesystem::free_space;
use ringway_tree::receive::AttemptKey;
use ringway_wire::OfferedNames;
use ringway_wire::control::{Cancel, GetRefusal, Totals};
use ringway_wire::session::Event;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::event::{Answer, IncomingOffer, ReceiverEvent, keep_unanswered};
use super::listening::Listening;
use super::listing::{Listing, UntilAnswered, is_offered};
use super::parting;
use super::queue::{Claim, Entered, Pending, Place, Turn, Waiting};
use super::renewals::{Met, Renewed};
use super::taking::NotTaken;
use super::visitor::Visitor;
use crate::admission::Origin;
use crate::admission::boot_ms;
use crate::devices::rules::{Decision, Offered, is_usable};
use crate::limits::{ANSWER_TIME_MAX, DOT_NAMES_SHOWN_MAX, RULE_WAIT_MAX};
use crate::send::goodbye;
use crate::shared::DropPlace;
use crate::store::look_alike;
use crate::transfers::options::AcceptOptions;
use crate::transfers::transfer::Transfer;
use crate::wire_convert::decode_cancel;
use acceptance::{Acceptance, TakenBack};
use accepted::Accepted;

/// Goes on with what was accepted before, or asks about the offer and receives it when the answer
/// is yes.
pub(crate) async fn run(listening: Arc<Listening>, mut visitor: Visitor) {
    if visitor.device.rule.consent == Consent::Refuse {
        return refuse(&listening, visitor).await;
    }
    let under_way = listening.queue.offered();
    if let Err(why) = look_at_share(&listening, &mut visitor).await {
        why.tell(&mut visitor.session);
        return visitor.into_session().close().await;
    }
    let attempt = visitor.attempt();
    listening.listeners.renewals.only_of(visitor.pairing);
    listening.listeners.renewals.only_by(visitor.device.id, &visitor.device.rule);
    let meet = |visitor: &Visitor| listening.listeners.renewals.meet(visitor.device.id, &visitor.offer, attempt);
    let mut met = meet(&visitor);
    if let Met::Renewed(_, transfer) = &met {
        let entered = listening.queue.enter(claim(&visitor, true));
        visitor.arrival = None;
        let place = match entered {
            Entered::Now(place) => place,
            Entered::Later(waiting) => match wait(&listening, &mut visitor, waiting, Acceptance::Person, None).await {
                Ok(place) => place,
                Err(ended) => {
                    parting::end_if_cancelled(transfer, &ended);
                    return visitor.into_session().close().await;
                }
            },
            Entered::Full => return decline(visitor.into_session(), listening.queue.why_none()).await,
        };
        // It may have been given up, or forgotten, meanwhile, and the rule may say otherwise.
        let grant = visitor.grant();
        if let Err(why) = Acceptance::Person.check(&listening.shared, &mut visitor.device, grant) {
            why.tell(&mut visitor.session);
            return visitor.into_session().close().await;
        }
        listening.listeners.renewals.only_by(visitor.device.id, &visitor.device.rule);
        met = meet(&visitor);
        if let Met::Renewed(to, transfer) = met {
            return match to.try_send(Renewed { visitor, place }) {
                Ok(()) => {}
                // It is just ending, or just being renewed: a moment later it is clear which.
                Err(TrySendError::Full(back) | TrySendError::Closed(back)) => {
                    let mut session = back.visitor.into_session();
                    session.machine.decline(DeclineReason::Busy);
                    parting::close(session, &transfer).await;
                }
            };
        }
    }
    match met {
        Met::Renewed(..) | Met::New => ask(listening, visitor, attempt, None, under_way).await,
        Met::TooMuch(bytes_max) => ask(listening, visitor, attempt, Some(bytes_max), under_way).await,
        Met::Stopped(why) => {
            // As if it had run: nobody has declined it.
            let mut session = visitor.into_session();
            session.machine.cancel(goodbye(Some(&why)));
            session.close().await;
        }
    }
}

/// Looks at the place that an offer names, if it names one.
async fn look_at_share(listening: &Listening, visitor: &mut Visitor) -> Result<(), NotTaken> {
    let Some(wanted) = visitor.offer.in_share.clone() else { return Ok(()) };
    let (device, now_ms) = (Origin::Device(visitor.device.id), boot_ms());
    if !listening.requests_for_shares.take(device, now_ms) {
        let wait_ms = u32::try_from(listening.requests_for_shares.wait_ms(device, now_ms)).unwrap_or(u32::MAX);
        return Err(NotTaken::Declined(DeclineReason::TooManyOffers { wait_ms }));
    }
    let (shared, of) = (Arc::clone(&listening.shared), visitor.pairing);
    let key = TransferKey { id: TransferId(visitor.offer.transfer), from: Some(of.device) };
    let looking = tokio::task::spawn_blocking(move || {
        let place = shared.drop_place(of, &wanted)?;
        match shared.store.has_ended(Direction::Receiving, key, &place.folder()) {
            true => Err(GetRefusal::NoShare),
            false => Ok(place),
        }
    });
    let place = looking.await.expect("looking at a share does not panic").map_err(NotTaken::NoPlace)?;
    visitor.drop = Some(place);
    Ok(())
}

fn claim(visitor: &Visitor, resumes: bool) -> Claim {
    let Visitor { device, names, .. } = visitor;
    let has_rule = visitor.rule().consent == Consent::Accept;
    Claim { device: device.id, has_rule, resumes, names: names.held_bytes() }
}

/// Waits in the queue for a place, telling the sender where it stands; with a transfer, until a
/// person here stops that.
///
/// # Errors
/// Why there will be none: the session is to be closed.
async fn wait(
    listening: &Listening,
    visitor: &mut Visitor,
    mut waiting: Waiting,
    acceptance: Acceptance,
    transfer: Option<&Transfer>,
) -> Result<Place, Fault> {
    let grant = visitor.grant();
    let Visitor { session, offer, device, pairing, .. } = visitor;
    let taken_back = acceptance.taken_back(&listening.shared, device, *pairing, grant);
    let stopped = async {
        match transfer {
            Some(transfer) => transfer.cancelled().await,
            None => std::future::pending().await,
        }
    };
    tokio::pin!(taken_back, stopped);
    let tell = |session: &mut Session, place: NonZeroU32| {
        session.machine.queued(place);
        if let Some(transfer) = transfer {
            transfer.figures().queue(place);
        }
    };
    tell(session, waiting.place());
    loop {
        tokio::select! {
            biased;
            why = &mut taken_back => {
                why.tell(session);
                return Err(why.fault());
            }
            stopped = &mut stopped => {
                // A program that stops receiving also stops its transfers.
                let (why, error) = match listening.queue.why_none() {
                    reason @ DeclineReason::Stopped => (TakenBack::Declined(reason), Fault::Declined(reason)),
                    _ => (TakenBack::Cancelled, stopped),
                };
                why.tell(session);
                return Err(error);
            }
            turn = waiting.turn() => match turn {
                Turn::Begin(place) => return Ok(place),
                Turn::Moved(place) => tell(session, place),
                Turn::Lost => {
                    let why = listening.queue.why_none();
                    session.machine.decline(why);
                    return Err(Fault::Declined(why));
                }
            },
            event = session.next() => match event {
                Ok(Some(Event::TotalsChanged(totals))) => {
                    offer.so_far = totals;
                    if let Some(transfer) = transfer {
                        transfer.figures().found(totals);
                    }
                }
                Ok(Some(Event::Cancelled(cancel))) => return Err(decode_cancel(cancel)),
                Ok(Some(_)) => {}
                Ok(None) => return Err(Fault::lost(std::io::ErrorKind::UnexpectedEof)),
                Err(error) => return Err(error),
            },
        }
    }
}

/// Declines what comes from a device of which nothing is wanted, what it was allowed before its
/// rule was set included. It hears no more than that it was declined; the program hears of it as
/// seldom as of other offers that come to nothing.
async fn refuse(listening: &Listening, visitor: Visitor) {
    if listening.refusals_told.take(Origin::Device(visitor.device.id), boot_ms()) {
        let summary = summary(listening, &visitor, &Decision::Decline, None);
        listening.tell(ReceiverEvent::OfferRefused(Box::new(summary))).await;
    }
    decline(visitor.into_session(), DeclineReason::ByChoice).await;
}

async fn decline(mut session: Session, reason: DeclineReason) {
    session.machine.decline(reason);
    session.close().await;
}

/// Asks a person, or the rule of one. `stopped_at` is what a rule let in of the same before.
async fn ask(
    listening: Arc<Listening>,
    mut visitor: Visitor,
    attempt: AttemptKey,
    stopped_at: Option<u64>,
    under_way: Pending,
) {
    // Until it is declined, or received with all its sessions, its device's id means this offer
    // alone.
    let id = (visitor.device.id, visitor.offer.transfer);
    let Some(_taken) = listening.listeners.taken_ids.take_soon(id).await else {
        return decline(visitor.into_session(), DeclineReason::Busy).await;
    };
    if lands_nowhere(&listening, &visitor).await {
        return decline(visitor.into_session(), DeclineReason::NotWritable).await;
    }
    // While it waits, for its rule to be clear or for an answer. Without one the rule looks at what
    // is known by now.
    let share = listening.shares.take(visitor.device.id, visitor.names.held_bytes());
    let mut landing = Landing::of(&listening, &visitor);
    let listing = UntilAnswered(Listing::new(
        &listening.shared,
        &listening.listings,
        visitor.device.id,
        listening.confinement.is_ok(),
    ));
    let lacks_folder = landing.lacks_folder.take();
    let Some(decision) = ruled(&mut visitor, &listing.0, stopped_at, lacks_folder, share.is_some()).await else {
        return visitor.into_session().close().await;
    };
    let mut acceptance = match decision {
        Decision::Accept { .. } => Acceptance::Rule,
        Decision::Ask(_) | Decision::Decline => Acceptance::Person,
    };
    let share = match decision {
        Decision::Ask(_) => {
            if share.is_none() {
                return decline(visitor.into_session(), DeclineReason::Busy).await;
            }
            let (device, now_ms) = (Origin::Device(visitor.device.id), boot_ms());
            if !listening.offers_in_vain.take(device, now_ms) {
                let wait_ms = u32::try_from(listening.offers_in_vain.wait_ms(device, now_ms)).unwrap_or(u32::MAX);
                return decline(visitor.into_session(), DeclineReason::TooManyOffers { wait_ms }).await;
            }
            visitor.arrival = None;
            share
        }
        Decision::Accept { .. } | Decision::Decline => {
            drop(share);
            None
        }
    };
    let mut shown = tell(&listening, &visitor, &listing.0, decision, landing.folder.take()).await;
    let (mut options, done) = loop {
        let grant = visitor.grant();
        let Visitor { session, device, pairing, offer, names, .. } = &mut visitor;
        let changed = async {
            match acceptance {
                Acceptance::Person => listening.shared.rule_changes(device.id, |now| *now == device.rule).await,
                Acceptance::Rule => std::future::pending().await,
            }
        };
        let taken_back = acceptance.taken_back(&listening.shared, device, *pairing, grant);
        let rule = match decide(&listening, session, &mut shown, &listing.0, names, taken_back, changed).await {
            Decided::Yes(options, done) => break (options, done),
            Decided::Over => return visitor.into_session().close().await,
            Decided::RuleChanged(rule) => rule,
        };
        offer.so_far = shown.totals();
        device.rule = rule;
        let (landing_now, decision) = decided_now(&listening, &visitor, stopped_at);
        if !matches!(decision, Decision::Accept { .. }) {
            continue;
        }
        // The person's rule is the answer. The program has the offer anew, accepted, and no
        // question about it.
        (acceptance, landing) = (Acceptance::Rule, landing_now);
        let key = shown.summary().key();
        listening.tell(ReceiverEvent::OfferAnswered(key)).await;
        shown = tell(&listening, &visitor, &listing.0, decision, landing.folder.take()).await;
    };
    drop(listing);
    let summary = Arc::clone(&shown.summary);
    if share.is_some() {
        listening.offers_in_vain.refund(Origin::Device(visitor.device.id));
    }
    drop(share);
    if let Some(chosen) = &options.destination {
        listening.shared.places.choose(chosen);
        visitor.drop = None;
    }
    if let (Some(place), Acceptance::Rule) = (&visitor.drop, acceptance) {
        // Whatever program listens: nobody was asked whether something may be replaced.
        options = AcceptOptions {
            bytes_max: place.drop.bytes_max,
            on_conflict: OnConflict::RenameTop,
            kept: options.kept,
            ..AcceptOptions::default()
        };
    }
    let Visitor { offer, .. } = &mut visitor;
    {
        let summary = summary.lock();
        offer.so_far =
            Totals { entries: summary.entries_so_far, bytes: summary.bytes_so_far, complete: summary.totals_final };
        if options.destination.is_none() {
            options.destination = Some(summary.destination.0.clone());
            options.into_home = landing.into_home;
        }
    }
    begin(&listening, visitor, acceptance, options, done, attempt, under_way).await;
}

/// Whether the filesystem of a folder that the offer may land in does not answer. What is looked at
/// there from then on is looked at without waiting for it.
async fn lands_nowhere(listening: &Listening, visitor: &Visitor) -> bool {
    // A drop box was looked at.
    if visitor.drop.is_some() {
        return false;
    }
    let shared = Arc::clone(&listening.shared);
    let (everything, by_rule) = {
        let landing = listening.landing();
        (landing.destination.clone(), visitor.rule().folder.clone().filter(|_| landing.rule_folders))
    };
    let folders = by_rule.map(|folder| folder.0).into_iter().chain([everything]);
    let hangs = move || folders.into_iter().any(|folder| !shared.looks.answers(&folder));
    tokio::task::spawn_blocking(hangs).await.unwrap_or(false)
}

/// What the device's rule makes of the offer as it is known now, and where that lets it land.
fn decided_now(listening: &Listening, visitor: &Visitor, stopped_at: Option<u64>) -> (Landing, Decision) {
    let mut landing = Landing::of(listening, visitor);
    let Totals { bytes, complete, .. } = visitor.offer.so_far;
    let offered = Offered { bytes, is_final: complete, lacks_folder: landing.lacks_folder.take(), stopped_at };
    let decision = Decision::of(&visitor.rule(), &offered);
    (landing, decision)
}

/// An offer that the program was told of.
struct Shown {
    summary: Arc<Mutex<Offer>>,
    answered: oneshot::Receiver<Answer>,
}

impl Shown {
    fn summary(&self) -> Offer {
        self.summary.lock().clone()
    }

    fn totals(&self) -> Totals {
        let summary = self.summary.lock();
        Totals { entries: summary.entries_so_far, bytes: summary.bytes_so_far, complete: summary.totals_final }
    }
}

async fn tell(
    listening: &Listening,
    visitor: &Visitor,
    listing: &Arc<Listing>,
    decision: Decision,
    folder: Option<PathBuf>,
) -> Shown {
    let summary = summary(listening, visitor, &decision, folder);
    if matches!(decision, Decision::Ask(_)) {
        listing.compare_with(&summary.destination.0, summary.in_share.is_some());
    }
    let summary = Arc::new(Mutex::new(summary));
    let (answer, answered) = oneshot::channel();
    let offer = IncomingOffer::new(Arc::clone(&summary), Arc::clone(listing), decision, answer);
    listening.tell(ReceiverEvent::OfferReceived(offer)).await;
    Shown { summary, answered }
}

/// Where an offer lands that is accepted as it is.
struct Landing {
    /// The rule's folder, where that can be used.
    folder: Option<PathBuf>,
    into_home: IntoHome,
    /// The folder that was chosen for it, where that cannot be used.
    lacks_folder: Option<PathBuf>,
}

impl Landing {
    fn of(listening: &Listening, visitor: &Visitor) -> Self {
        let DeviceRule { folder, into_home, .. } = &visitor.rule();
        // It was looked at, and is opened in a way of its own.
        if visitor.drop.is_some() {
            let folder = folder.as_deref().map(Path::to_owned);
            return Self { folder, into_home: *into_home, lacks_folder: None };
        }
        let chosen = folder.as_deref().map(Path::to_owned).filter(|_| listening.landing().rule_folders);
        let is_there = |folder: &Path| listening.shared.expect(folder).is_there(folder);
        let will_do = |folder: &Path| {
            is_usable(folder) && is_there(folder) && listening.shared.check_folder(folder, *into_home).is_ok()
        };
        let everything = listening.landing();
        match chosen {
            Some(folder) if will_do(&folder) => {
                Self { folder: Some(folder), into_home: *into_home, lacks_folder: None }
            }
            Some(folder) => Self { folder: None, into_home: everything.into_home, lacks_folder: Some(folder) },
            None => {
                let lacks_folder = Some(everything.destination.clone()).filter(|folder| !is_there(folder));
                Self { folder: None, into_home: everything.into_home, lacks_folder }
            }
        }
    }
}

/// Receives what was accepted, once it has a place. Until then that can be taken back.
async fn begin(
    listening: &Arc<Listening>,
    mut visitor: Visitor,
    acceptance: Acceptance,
    options: AcceptOptions,
    done: oneshot::Sender<Result<Transfer, Fault>>,
    attempt: AttemptKey,
    under_way: Pending,
) {
    let accepted = Accepted::new(Arc::clone(listening), &visitor, options, acceptance);
    let transfer = accepted.transfer().clone();
    let _ends = transfer.ends_with_its_driver();
    let entered = listening.queue.enter(claim(&visitor, false));
    visitor.arrival = None;
    let (place, done) = match entered {
        Entered::Now(place) => (place, Some(done)),
        // A sender that does not wait hears so at once.
        Entered::Later(waiting) if visitor.offer.retry_s > 0 => {
            // The program can watch and stop the transfer while it waits.
            let _ = done.send(Ok(transfer.clone()));
            transfer.figures().queue(NonZeroU32::MIN);
            listening.tell(ReceiverEvent::TransferStarted(transfer.clone())).await;
            match wait(listening, &mut visitor, waiting, acceptance, Some(&transfer)).await {
                Ok(place) => (place, None),
                Err(error) => {
                    transfer.end(Err(error));
                    drop(accepted);
                    return visitor.into_session().close().await;
                }
            }
        }
        Entered::Later(_) | Entered::Full => {
            let why = listening.queue.why_none();
            let _ = done.send(Err(Fault::Declined(why)));
            drop(accepted);
            return decline(visitor.into_session(), why).await;
        }
    };
    let grant = visitor.grant();
    let checked = acceptance.check(&listening.shared, &mut visitor.device, grant);
    drop(under_way);
    let opened = match checked {
        Ok(()) => accepted.open(visitor).await,
        Err(why) => {
            why.tell(&mut visitor.session);
            Err((why.fault(), visitor.into_session()))
        }
    };
    match (opened, done) {
        (Ok(opened), done) => {
            let is_told = done.is_none();
            // The program that accepted may have gone.
            let _ = done.map(|done| done.send(Ok(transfer)));
            accepted.receive(opened, attempt, place, is_told).await;
        }
        (Err((error, session)), Some(done)) => {
            drop(accepted);
            let _ = done.send(Err(error));
            session.close().await;
        }
        (Err((error, session)), None) => {
            drop(accepted);
            transfer.end(Err(error));
            session.close().await;
        }
    }
}

/// What the device's rule makes of the offer, once that is clear or has been waited for; none if
/// the offer has gone meanwhile.
async fn ruled(
    visitor: &mut Visitor,
    listing: &Arc<Listing>,
    stopped_at: Option<u64>,
    lacks_folder: Option<PathBuf>,
    may_wait: bool,
) -> Option<Decision> {
    let rule = &visitor.rule();
    let Visitor { session, offer, names, .. } = visitor;
    let late = sleep(RULE_WAIT_MAX);
    tokio::pin!(late);
    loop {
        let Totals { bytes, complete, .. } = offer.so_far;
        let offered = Offered { bytes, is_final: complete, lacks_folder: lacks_folder.clone(), stopped_at };
        if !may_wait || !offered.awaits_more(rule) {
            return Some(Decision::of(rule, &offered));
        }
        tokio::select! {
            event = session.next() => match event {
                Ok(Some(Event::TotalsChanged(totals))) => offer.so_far = totals,
                Ok(Some(Event::ListingArrived(page))) if !is_offered(&page, names) => {
                    session.machine.cancel(Cancel::Failed);
                    return None;
                }
                Ok(Some(Event::ListingArrived(page))) => listing.add(page),
                Ok(Some(Event::Cancelled(_)) | None) | Err(_) => return None,
                Ok(Some(_)) => {}
            },
            () = &mut late => return Some(Decision::of(rule, &offered)),
        }
    }
}

/// What an offer says of itself, and what is made of it here. It lands in `folder`, or where
/// everything does.
fn summary(listening: &Listening, visitor: &Visitor, decision: &Decision, folder: Option<PathBuf>) -> Offer {
    let Visitor { device, offer, names, .. } = visitor;
    let name = |name: &[u8]| PathText::from(OsString::from_vec(name.to_vec()));
    let dotted = || names.iter().filter(|name| name.starts_with(b"."));
    let dot_names: Vec<_> = dotted().take(DOT_NAMES_SHOWN_MAX).map(name).collect();
    let destination = folder.unwrap_or_else(|| listening.landing().destination.clone());
    Offer {
        id: TransferId(offer.transfer),
        from: device.name.clone(),
        from_id: device.id,
        // A store that cannot be read just now is said by what needs it.
        looks_like: look_alike::find(&listening.shared.store, device.id, &device.name).ok().flatten(),
        names: offer.names.iter().map(|bytes| name(bytes)).collect(),
        kinds: Vec::new(),
        more_names: offer.more_names,
        more_dot_names: (dotted().count() - dot_names.len()) as u64,
        dot_names,
        entries_so_far: offer.so_far.entries,
        bytes_so_far: offer.so_far.bytes,
        totals_final: offer.so_far.complete,
        is_home: listening.shared.is_home(&destination),
        free_space: free_space::look(&destination),
        destination: destination.into(),
        in_share: visitor.drop.as_ref().map(DropPlace::shown),
        asked_because: decision.asked_because().cloned(),
        comparison: None,
        in_place: None,
        updates: Vec::new(),
        renamed: Vec::new(),
    }
}

/// How an offer was answered that the program was told of.
enum Decided {
    Yes(AcceptOptions, oneshot::Sender<Result<Transfer, Fault>>),
    /// There is nothing to receive.
    Over,
    /// The rule of its device is another one now.
    RuleChanged(DeviceRule),
}

/// Waits for the program's answer while the session lives and the device's rule stays as it is.
async fn decide(
    listening: &Listening,
    session: &mut Session,
    Shown { summary, answered }: &mut Shown,
    listing: &Arc<Listing>,
    names: &OfferedNames,
    taken_back: impl Future<Output = TakenBack>,
    changed: impl Future<Output = DeviceRule>,
) -> Decided {
    // A person who returns finds it in the history.
    let note = || {
        let summary = summary.lock().clone();
        keep_unanswered(&summary, &listening.shared.store);
        ReceiverEvent::OfferWithdrawn(summary.key())
    };
    let late = sleep(ANSWER_TIME_MAX);
    tokio::pin!(late, taken_back, changed);
    loop {
        tokio::select! {
            // No answer counts for a device that was forgotten, or is refused, meanwhile.
            biased;
            why = &mut taken_back => {
                why.tell(session);
                let withdrawn = note();
                listening.tell(withdrawn).await;
                return Decided::Over;
            }
            answer = &mut *answered => match answer {
                Ok(Answer::Accept(options, done)) => return Decided::Yes(options, done),
                Ok(Answer::Decline(reason)) => {
                    if matches!(reason, DeclineReason::NoAnswer | DeclineReason::Stopped) {
                        note();
                    }
                    session.machine.decline(reason);
                    return Decided::Over;
                }
                Err(_) => {
                    // A program that has stopped receiving answers nothing any more.
                    let why = match listening.queue.why_none() {
                        DeclineReason::Stopped => DeclineReason::Stopped,
                        _ => DeclineReason::ByChoice,
                    };
                    session.machine.decline(why);
                    return Decided::Over;
                }
            },
            // An answer that was given already comes before a rule.
            rule = &mut changed => return Decided::RuleChanged(rule),
            event = session.next() => match event {
                Ok(Some(Event::TotalsChanged(totals))) => {
                    let mut summary = summary.lock();
                    summary.entries_so_far = totals.entries;
                    summary.bytes_so_far = totals.bytes;
                    summary.totals_final = totals.complete;
                }
                Ok(Some(Event::ListingArrived(page))) if is_offered(&page, names) => listing.add(page),
                Ok(Some(Event::ListingArrived(_))) => {
                    session.machine.cancel(Cancel::Failed);
                    let withdrawn = note();
                    listening.tell(withdrawn).await;
                    return Decided::Over;
                }
                Ok(Some(Event::Cancelled(_)) | None) | Err(_) => {
                    let withdrawn = note();
                    listening.tell(withdrawn).await;
                    return Decided::Over;
                }
                Ok(Some(_)) => {}
            },
            () = &mut late => {
                session.machine.decline(DeclineReason::NoAnswer);
                let withdrawn = note();
                listening.tell(withdrawn).await;
                return Decided::Over;
            }
        }
    }
}
