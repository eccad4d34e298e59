//! Accepted transfers that may be offered again after their connection was lost: which, for how
//! long, and who takes the renewed session.
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use ringway_model::{DeviceId, DeviceRule, Fault};
use ringway_tree::receive::AttemptKey;
use ringway_wire::control::{Offer, Receipt};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::ids::LaterIds;
use super::queue::Place;
use crate::admission::descriptors::ForReceiving;
use crate::limits::{RENEWALS_ENDED_MAX, RENEWALS_NAMES_BYTES_MAX, SILENT_AFTER, TOO_MUCH_TIME_MAX};
use crate::receiving::visitor::Visitor;
use crate::store::Pairing;
use crate::transfers::transfer::Transfer;

/// A renewed session, with its place among the running transfers.
pub(crate) struct Renewed {
    pub(crate) visitor: Visitor,
    pub(crate) place: Place,
}

/// Every transfer that is remembered.
#[derive(Clone, Default)]
pub(crate) struct Renewals(Arc<Mutex<Vec<Remembered>>>);

struct Remembered {
    key: Key,
    later_ids: LaterIds,
    pairing: Pairing,
    attempt: AttemptKey,
    /// The rule that has accepted it; `None` if a person did.
    rule: Option<DeviceRule>,
    state: State,
}

impl Remembered {
    /// Whether its device has offered it under this id.
    fn is_under(&self, id: &[u8; 16]) -> bool {
        self.key.1 == *id || self.later_ids.has(id)
    }

    /// Since when its sender is not heard.
    fn silent_since(&self) -> Option<Instant> {
        match self.state {
            State::Open { interrupted: true, silent_since, .. } => silent_since,
            _ => None,
        }
    }

    /// Whether it says of the same attempt that it was too much: a later word on that replaces it.
    fn is_too_much_of(&self, new: &Self) -> bool {
        self.key.0 == new.key.0 && self.attempt == new.attempt && matches!(self.state, State::TooMuch { .. })
    }
}

/// An offer that was accepted.
#[derive(Clone, Copy)]
pub(crate) struct AcceptedOffer {
    /// The pairing in which it was.
    pub(crate) pairing: Pairing,
    /// Its id.
    pub(crate) id: [u8; 16],
    /// What it has in common with other offers of the same.
    pub(crate) attempt: AttemptKey,
}

/// Whose transfer, and the id that it was accepted with.
pub(crate) type Key = (DeviceId, [u8; 16]);

enum State {
    /// It is received, or waits for its sender.
    Open {
        to: mpsc::Sender<Renewed>,
        transfer: Transfer,
        /// The id of its latest session.
        latest: [u8; 16],
        /// Bytes of its top-level names.
        names: usize,
        interrupted: bool,
        /// Since when its sender is not heard, although it would be if it was there.
        silent_since: Option<Instant>,
    },
    /// It was stopped here, and why.
    Stopped { until: Instant, why: Fault },
    /// All of it is there; its sender may not have heard so, and may come for the receipt. An offer
    /// of it is a new one.
    Received { until: Instant, receipt: Receipt },
    /// It was accepted by a rule, and is more than that lets in.
    TooMuch { until: Instant, bytes_max: u64 },
}

impl State {
    fn is_over(&self, now: Instant) -> bool {
        match self {
            Self::Open { .. } => false,
            Self::Stopped { until, .. } | Self::Received { until, .. } | Self::TooMuch { until, .. } => *until <= now,
        }
    }
}

/// What an offer is to what is remembered.
pub(crate) enum Met {
    /// Nothing: a person, or a rule, is asked.
    New,
    /// One that a rule has accepted up to so many bytes, and that is more.
    TooMuch(u64),
    /// More of a transfer that was accepted: its session goes there.
    Renewed(mpsc::Sender<Renewed>, Transfer),
    /// One that was stopped here, and why.
    Stopped(Fault),
}

impl Renewals {
    /// Remembers a transfer that was just accepted, as long as what is returned lives. `None` if
    /// its device has too many. `names` is how many bytes its top-level names take.
    pub(crate) fn open(
        &self,
        accepted: AcceptedOffer,
        rule: Option<DeviceRule>,
        transfer: Transfer,
        names: usize,
    ) -> Option<(Open, mpsc::Receiver<Renewed>)> {
        let AcceptedOffer { pairing, id, attempt } = accepted;
        let (key, (to, renewed)) = ((pairing.device, id), mpsc::channel(1));
        let latest = id;
        let state = State::Open { to, transfer, latest, names, interrupted: false, silent_since: None };
        self.remember(Remembered { key, later_ids: LaterIds::default(), pairing, attempt, rule, state })
            .then(|| (Open { all: self.clone(), key }, renewed))
    }

    /// Remembers that a transfer exceeded the rule that accepted it. A sender that offers the same
    /// again is then asked about, so that it cannot send up to the limit again and again.
    pub(crate) fn too_much(&self, accepted: AcceptedOffer, bytes_max: u64) {
        let AcceptedOffer { pairing, id, attempt } = accepted;
        let key = (pairing.device, id);
        let until = Instant::now() + TOO_MUCH_TIME_MAX;
        let (state, later_ids) = (State::TooMuch { until, bytes_max }, LaterIds::default());
        self.remember(Remembered { key, later_ids, pairing, attempt, rule: None, state });
    }

    /// Drops the consent that was given to a device in an earlier pairing: forgetting a device
    /// revokes it.
    pub(crate) fn only_of(&self, pairing: Pairing) {
        // What was stopped stays that: who goes on with it by a new right would be let in unasked.
        let is_stopped = |one: &Remembered| matches!(one.state, State::Stopped { .. });
        self.all().retain(|one| one.key.0 != pairing.device || one.pairing == pairing || is_stopped(one));
    }

    /// Lets go of what a rule of `device` has accepted that says otherwise by now; what of it waits
    /// for its sender is given up, and kept for a new yes.
    pub(crate) fn only_by(&self, device: DeviceId, rule: &DeviceRule) {
        self.all().retain(|one| {
            let is_waiting = matches!(one.state, State::Open { interrupted: true, .. });
            one.key.0 != device || !is_waiting || one.rule.as_ref().is_none_or(|before| before == rule)
        });
    }

    /// False where its device has too many.
    fn remember(&self, new: Remembered) -> bool {
        let mut all = self.all();
        let now = Instant::now();
        let same = |one: &Remembered| one.key == new.key || one.is_too_much_of(&new);
        all.retain(|one| !same(one) && !one.state.is_over(now));
        let is_open = |one: &Remembered| matches!(one.state, State::Open { .. });
        let is_theirs = |one: &Remembered| one.key.0 == new.key.0;
        while is_open(&new) && !has_room(all.iter().filter(|one| is_theirs(one)), &new) {
            // One whose sender has gone gives way.
            let silent = |one: &Remembered| Some((one.silent_since().filter(|_| is_theirs(one))?, one.key));
            let longest = all.iter().filter_map(silent).min_by_key(|(since, _)| *since);
            let Some((_, gone)) = longest.filter(|(since, _)| *since + SILENT_AFTER <= now) else { return false };
            all.retain(|one| one.key != gone);
        }
        let theirs = all.iter().filter(|one| is_theirs(one));
        // Those of the device that are over, the oldest first: one gives way to another.
        let mut over = theirs.filter(|one| !is_open(one)).map(|one| one.key);
        if let Some(oldest) = over.next().filter(|_| over.count() + 1 >= RENEWALS_ENDED_MAX) {
            all.retain(|one| one.key != oldest);
        }
        all.iter_mut().filter(|one| is_theirs(one)).for_each(|one| one.later_ids.remove(&new.key.1));
        all.push(new);
        true
    }

    /// What an offer of `from` is. The same attempt under another id goes on with one that is
    /// interrupted: its sender was started anew, and hears from then on what becomes of that one.
    pub(crate) fn meet(&self, from: DeviceId, offer: &Offer, attempt: AttemptKey) -> Met {
        let mut all = self.all();
        let now = Instant::now();
        // Wherever it would land now.
        let stopped = all.iter().filter(|one| one.key.0 == from && one.is_under(&offer.transfer));
        let why = stopped.filter(|one| !one.state.is_over(now)).find_map(|one| match &one.state {
            State::Stopped { why, .. } => Some(why.clone()),
            _ => None,
        });
        if let Some(why) = why {
            return Met::Stopped(why);
        }
        let mut same: Vec<_> = all.iter_mut().filter(|one| one.key.0 == from && one.attempt == attempt).collect();
        same.retain(|one| !one.state.is_over(now));
        let position = |is: &dyn Fn(&Remembered) -> bool| same.iter().position(|one| is(one));
        let is_this = |one: &Remembered| match &one.state {
            State::Open { latest, .. } => *latest == offer.transfer,
            State::Stopped { .. } | State::Received { .. } | State::TooMuch { .. } => false,
        };
        let is_waiting = |one: &Remembered| matches!(one.state, State::Open { interrupted: true, .. });
        let is_too_much = |one: &Remembered| matches!(one.state, State::TooMuch { .. });
        let met = position(&is_this).or_else(|| position(&is_waiting)).or_else(|| position(&is_too_much));
        let Some(one) = met.map(|at| same.swap_remove(at)) else { return Met::New };
        match &one.state {
            State::TooMuch { bytes_max, .. } => Met::TooMuch(*bytes_max),
            State::Open { to, transfer, .. } => {
                if one.key.1 != offer.transfer {
                    one.later_ids.add(offer.transfer);
                }
                Met::Renewed(to.clone(), transfer.clone())
            }
            // Those were left out.
            State::Stopped { .. } | State::Received { .. } => Met::New,
        }
    }

    /// The receipt of a transfer that was received, for as long as it is remembered.
    pub(crate) fn receipt(&self, key: Key) -> Option<Receipt> {
        let now = Instant::now();
        let all = self.all();
        let one = all.iter().find(|one| one.key.0 == key.0 && one.is_under(&key.1) && !one.state.is_over(now))?;
        match one.state {
            State::Received { receipt, .. } => Some(receipt),
            _ => None,
        }
    }

    fn all(&self) -> MutexGuard<'_, Vec<Remembered>> {
        self.0.lock()
    }

    fn change(&self, key: Key, work: impl FnOnce(&mut State)) {
        if let Some(one) = self.all().iter_mut().find(|one| one.key == key) {
            work(&mut one.state);
        }
    }
}

/// Whether a device that has `theirs` may have `new` as well.
fn has_room<'a>(theirs: impl Iterator<Item = &'a Remembered>, new: &Remembered) -> bool {
    let names = |one: &Remembered| match one.state {
        State::Open { names, .. } => Some(names),
        _ => None,
    };
    let (count, bytes) = theirs.filter_map(names).fold((0, 0), |(count, bytes), names| (count + 1, bytes + names));
    count < ForReceiving::here().renewals && bytes + names(new).unwrap_or_default() <= RENEWALS_NAMES_BYTES_MAX
}

/// A transfer that is remembered while it is received, or waits.
pub(crate) struct Open {
    all: Renewals,
    key: Key,
}

impl Open {
    /// It waits for its sender now.
    pub(crate) fn interrupted(&self) {
        self.all.change(self.key, |state| {
            if let State::Open { interrupted, .. } = state {
                *interrupted = true;
            }
        });
    }

    /// It goes on in a session that its sender has begun under this id.
    pub(crate) fn renewed(&self, id: [u8; 16]) {
        self.all.change(self.key, |state| {
            if let State::Open { interrupted, latest, .. } = state {
                (*interrupted, *latest) = (false, id);
            }
        });
    }

    /// Since when its sender is not heard, although it would be if it was there.
    pub(crate) fn silent_since(&self, since: Option<Instant>) {
        self.all.change(self.key, |state| {
            if let State::Open { silent_since, .. } = state {
                *silent_since = since;
            }
        });
    }

    /// It was stopped here: for so long its sender hears why.
    pub(crate) fn stopped(self, time: Duration, why: Fault) {
        self.all.change(self.key, |state| *state = State::Stopped { until: Instant::now() + time, why });
    }

    /// All of it is there: for so long its sender may come for the receipt.
    pub(crate) fn received(self, time: Duration, receipt: Receipt) {
        self.all.change(self.key, |state| *state = State::Received { until: Instant::now() + time, receipt });
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let open = |one: &Remembered| one.key == self.key && matches!(one.state, State::Open { .. });
        self.all.all().retain(|one| !open(one));
    }
}

#[cfg(test)]
mod tests {
    use ringway_model::{Direction, Side, TransferId};
    use ringway_wire::control::Totals;
    use ringway_wire::{Name, OfferedNames};

    use super::*;

    const LAPTOP: DeviceId = DeviceId([1; 32]);
    const NAS: DeviceId = DeviceId([2; 32]);
    const STOPPED: Fault = Fault::Cancelled { by: Side::Here, kept: true };

    fn offer(number: u8, name: &str) -> (Offer, AttemptKey) {
        let names = vec![name.as_bytes().to_vec()];
        let mut offered = OfferedNames::default();
        names.iter().for_each(|name| offered.push(Name::new(name).unwrap()).unwrap());
        let attempt = AttemptKey::new(&LAPTOP.0, &offered);
        let so_far = Totals::default();
        let transfer = [number; 16];
        let offer =
            Offer { transfer, names, more_names: 0, so_far, lanes: 1, prove: false, retry_s: 60, in_share: None };
        (offer, attempt)
    }

    fn transfer() -> Transfer {
        Transfer::new(TransferId([1; 16]), Direction::Receiving, Default::default(), None)
    }

    fn meet(renewals: &Renewals, from: DeviceId, number: u8, name: &str) -> &'static str {
        let (offer, attempt) = offer(number, name);
        match renewals.meet(from, &offer, attempt) {
            Met::New => "new",
            Met::Renewed(..) => "renewed",
            Met::Stopped(_) => "stopped",
            Met::TooMuch(_) => "too much",
        }
    }

    /// An offer of the set of that number, accepted under an id.
    fn accepted(from: DeviceId, id: [u8; 16], number: u8) -> AcceptedOffer {
        AcceptedOffer { pairing: Pairing::first(from), id, attempt: offer(number, "set").1 }
    }

    #[test]
    fn only_what_was_accepted_from_that_device_under_those_names_goes_on() {
        let renewals = Renewals::default();
        let (open, _renewed) = renewals.open(accepted(LAPTOP, [1; 16], 1), None, transfer(), 10).unwrap();
        assert_eq!(meet(&renewals, LAPTOP, 1, "set"), "renewed");
        assert_eq!(meet(&renewals, LAPTOP, 1, "other"), "new", "the id alone says nothing");
        assert_eq!(meet(&renewals, NAS, 1, "set"), "new");
        assert_eq!(meet(&renewals, LAPTOP, 2, "set"), "new", "the first one is at work");
        open.interrupted();
        assert_eq!(meet(&renewals, LAPTOP, 2, "set"), "renewed");
        open.renewed([2; 16]);
        assert_eq!(meet(&renewals, LAPTOP, 2, "set"), "renewed");
        assert_eq!(meet(&renewals, LAPTOP, 1, "set"), "new", "two that are at work do not take turns");
        drop(open);
        assert_eq!(meet(&renewals, LAPTOP, 1, "set"), "new");
    }

    #[test]
    fn sender_that_was_started_anew_hears_what_became_of_the_transfer_that_it_waits_for() {
        let renewals = Renewals::default();
        let receipt = Receipt { failed: 7, ..Receipt::default() };
        let wait = |first| {
            let (open, _) = renewals.open(accepted(LAPTOP, [first; 16], first), None, transfer(), 10).unwrap();
            open.interrupted();
            assert_eq!(meet(&renewals, LAPTOP, first + 1, "set"), "renewed");
            open
        };
        wait(1).stopped(Duration::from_secs(60), STOPPED);
        let met = [1, 2, 3].map(|number| meet(&renewals, LAPTOP, number, "set"));
        assert_eq!(met, ["stopped", "stopped", "new"]);
        wait(11).received(Duration::from_secs(60), receipt);
        assert_eq!(renewals.receipt((LAPTOP, [12; 16])), Some(receipt));
        let _open = renewals.open(accepted(LAPTOP, [12; 16], 12), None, transfer(), 10).unwrap();
        assert_eq!(renewals.receipt((LAPTOP, [12; 16])), None, "it is the id of another transfer by now");
    }

    #[test]
    fn what_is_over_is_remembered_for_its_time() {
        let renewals = Renewals::default();
        let open = |number| renewals.open(accepted(LAPTOP, [number; 16], number), None, transfer(), 10).unwrap().0;
        open(1).stopped(Duration::from_secs(60), STOPPED);
        let receipt = Receipt { failed: 7, ..Receipt::default() };
        open(2).received(Duration::from_secs(60), receipt);
        open(5).received(Duration::ZERO, receipt);
        open(3).stopped(Duration::ZERO, STOPPED);
        let met = [1, 2, 3, 4].map(|number| meet(&renewals, LAPTOP, number, "set"));
        assert_eq!(
            met,
            ["stopped", "new", "new", "new"],
            "what was received is received again only if somebody says so"
        );
        let given = [1, 2, 3, 5].map(|number| renewals.receipt((LAPTOP, [number; 16])));
        assert_eq!(given, [None, Some(receipt), None, None]);
        assert_eq!(renewals.receipt((NAS, [2; 16])), None);
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_too_much_for_a_rule_is_asked_about_for_a_day() {
        let renewals = Renewals::default();
        renewals.too_much(accepted(LAPTOP, [1; 16], 1), 7);
        tokio::time::advance(TOO_MUCH_TIME_MAX - Duration::from_secs(1)).await;
        assert_eq!(meet(&renewals, LAPTOP, 2, "set"), "too much", "under another id, too");
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(meet(&renewals, LAPTOP, 2, "set"), "new");
    }

    #[test]
    fn a_device_has_so_many_places_and_what_is_over_takes_none() {
        let renewals = Renewals::default();
        let open = |from, number| {
            renewals.open(accepted(from, [number; 16], number), None, transfer(), 10).map(|(open, _)| open)
        };
        let mut held: Vec<_> =
            (0..ForReceiving::here().renewals as u8).map(|number| open(LAPTOP, number).unwrap()).collect();
        assert!(open(LAPTOP, 100).is_none());
        assert!(open(NAS, 100).is_some());
        held.remove(0).stopped(Duration::from_secs(60), STOPPED);
        held.push(open(LAPTOP, 101).unwrap());
        assert_eq!(meet(&renewals, LAPTOP, 0, "set"), "stopped");
        assert!(open(LAPTOP, 102).is_none());
    }

    #[test]
    fn a_device_has_room_for_so_many_names() {
        let renewals = Renewals::default();
        let open = |number, bytes| renewals.open(accepted(LAPTOP, [number; 16], number), None, transfer(), bytes);
        let large = open(1, RENEWALS_NAMES_BYTES_MAX - 10).unwrap();
        let _small = open(2, 10).unwrap();
        assert!(open(3, 1).is_none());
        drop(large);
        assert!(open(3, 1).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn what_waits_for_a_sender_that_has_gone_gives_way_to_what_the_device_sends_now() {
        let renewals = Renewals::default();
        let open = |number| renewals.open(accepted(LAPTOP, [number; 16], number), None, transfer(), 10);
        let mut held: Vec<_> = (0..ForReceiving::here().renewals as u8).map(|number| open(number).unwrap()).collect();
        let now = Instant::now();
        for (number, (one, _)) in held.iter().enumerate() {
            one.interrupted();
            // The first is paused by its sender, which is silent for that.
            one.silent_since(Some(now + Duration::from_secs(number as u64)).filter(|_| number > 0));
        }
        tokio::time::advance(SILENT_AFTER).await;
        assert!(open(100).is_none(), "a minute without a word is what a sender needs to come back");
        tokio::time::advance(Duration::from_secs(1)).await;
        held.push(open(101).unwrap());
        let is_over = |at: usize, held: &mut Vec<(Open, mpsc::Receiver<Renewed>)>| {
            held[at].1.try_recv().is_err_and(|why| why == mpsc::error::TryRecvError::Disconnected)
        };
        assert!(is_over(1, &mut held), "the longest silent one");
        assert!(!is_over(0, &mut held) && !is_over(2, &mut held));
        assert!(open(102).is_none());
    }

    #[test]
    fn what_was_stopped_is_remembered_of_many_at_once_and_not_of_any_number() {
        let renewals = Renewals::default();
        let open = |number: u32| {
            let id = std::array::from_fn(|at| number.to_le_bytes().get(at).copied().unwrap_or_default());
            renewals.open(accepted(LAPTOP, id, 1), None, transfer(), 10).unwrap().0
        };
        (0..40).for_each(|number| open(number).stopped(Duration::from_secs(60), STOPPED));
        assert_eq!(renewals.all().len(), 40);
        (40..2 * RENEWALS_ENDED_MAX as u32).for_each(|number| open(number).stopped(Duration::from_secs(60), STOPPED));
        assert!(renewals.all().len() <= RENEWALS_ENDED_MAX + ForReceiving::here().renewals);
    }
}
