//! The requests of devices that want to pair and have no code: which of them a person here is
//! shown, for how long, and who is not shown any more. They grant nothing.
use std::collections::VecDeque;

use parking_lot::{Mutex, MutexGuard};
use ringway_model::{DeviceId, PairingRequest};

use crate::admission::Origin;
use crate::limits::{
    REQUEST_PAUSE_MS, REQUEST_TIME_MAX_MS, REQUESTERS_BLOCKED_MAX, REQUESTS_COUNTED_MS, REQUESTS_MAX,
    REQUESTS_OF_ALL_MAX, REQUESTS_OF_ONE_MAX,
};

/// Who asks: a key costs nothing, so the address counts as well.
#[derive(Debug, Clone, Copy)]
struct Requester {
    id: DeviceId,
    origin: Origin,
}

impl Requester {
    fn of(request: &PairingRequest) -> Self {
        Self { id: request.id, origin: Origin::of(request.from) }
    }

    /// Whether both may be the same device.
    fn may_be(&self, other: &Self) -> bool {
        self.id == other.id || self.origin == other.origin
    }
}

/// The requests of one program, whichever receiver hears them. Times are milliseconds of any
/// monotonic clock.
#[derive(Default)]
pub(crate) struct Requests(Mutex<State>);

#[derive(Default)]
struct State {
    shown: Vec<(PairingRequest, u64)>,
    /// When each was first shown, the latest last.
    counted: VecDeque<(Requester, u64)>,
    /// Those that a person does not want to see for a while, and when they were sent away.
    paused: VecDeque<(Requester, u64)>,
    /// Those that a person does not want to see again.
    blocked: VecDeque<PairingRequest>,
}

impl Requests {
    /// Takes a request; whether it is to be shown, which it was not before. The others are dropped
    /// without a word, so that nobody finds out what a person has answered.
    pub(crate) fn take(&self, request: PairingRequest, now_ms: u64) -> bool {
        let mut state = self.state();
        state.pass(now_ms);
        let requester = Requester::of(&request);
        let may = state.may_take(&requester);
        if may {
            state.counted.push_back((requester, now_ms));
            state.shown.push((request, now_ms));
        }
        may
    }

    /// Whether one of that device and from there would be shown: what is shown with it costs time.
    pub(crate) fn may_take(&self, id: DeviceId, origin: Origin, now_ms: u64) -> bool {
        let mut state = self.state();
        state.pass(now_ms);
        state.may_take(&Requester { id, origin })
    }

    /// Those that are shown now, the oldest first.
    pub(crate) fn shown(&self, now_ms: u64) -> Vec<PairingRequest> {
        let mut state = self.state();
        state.pass(now_ms);
        state.shown.iter().map(|(request, _)| request.clone()).collect()
    }

    /// A person allows a device to try a code. It is shown until it has paired, or as long as a
    /// code lives. False if it is not shown.
    pub(crate) fn allow(&self, id: DeviceId, now_ms: u64) -> bool {
        let mut state = self.state();
        state.pass(now_ms);
        let Some((request, since)) = state.shown.iter_mut().find(|(request, _)| request.id == id) else { return false };
        request.allowed = true;
        *since = now_ms;
        true
    }

    /// A person does not want to see a request now. False if it is not shown.
    pub(crate) fn dismiss(&self, id: DeviceId, now_ms: u64) -> bool {
        let mut state = self.state();
        state.pass(now_ms);
        let Some(request) = state.remove(id) else { return false };
        // No more are shown than are counted or were blocked, so this stays as short.
        state.paused.push_back((Requester::of(&request), now_ms));
        true
    }

    /// A person does not want to see requests from that device, or from where it is, as long as
    /// this program runs. False if it is not shown.
    pub(crate) fn block(&self, id: DeviceId) -> bool {
        let mut state = self.state();
        let Some(request) = state.remove(id) else { return false };
        if state.blocked.len() >= REQUESTERS_BLOCKED_MAX {
            state.blocked.pop_front();
        }
        state.blocked.push_back(request);
        true
    }

    /// Those that are blocked, the oldest first.
    pub(crate) fn blocked(&self) -> Vec<PairingRequest> {
        self.state().blocked.iter().cloned().collect()
    }

    /// A person takes that back: the request is shown again, unless too many are. False if that
    /// device is not blocked.
    pub(crate) fn unblock(&self, id: DeviceId, now_ms: u64) -> bool {
        let mut state = self.state();
        state.pass(now_ms);
        let Some(at) = state.blocked.iter().rposition(|blocked| blocked.id == id) else { return false };
        let request = state.blocked.remove(at).map(|request| PairingRequest { allowed: false, ..request });
        if state.shown.len() < REQUESTS_MAX {
            state.shown.extend(request.map(|request| (request, now_ms)));
        }
        true
    }

    /// That device has proven the code: nothing is held against it or its address, and it does not
    /// count. Whether it was shown.
    pub(crate) fn paired(&self, id: DeviceId, origin: Origin) -> bool {
        let paired = Requester { id, origin };
        let mut state = self.state();
        state.counted.retain(|(counted, _)| !counted.may_be(&paired));
        state.paused.retain(|(paused, _)| !paused.may_be(&paired));
        state.blocked.retain(|blocked| !Requester::of(blocked).may_be(&paired));
        state.remove(id).is_some()
    }

    /// Nobody can answer those that are shown any more.
    pub(crate) fn clear(&self) {
        self.state().shown.clear();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }
}

impl State {
    /// Drops what is over by now.
    fn pass(&mut self, now_ms: u64) {
        let is_within = |since: u64, ms: u64| now_ms.saturating_sub(since) < ms;
        self.shown.retain(|(_, since)| is_within(*since, REQUEST_TIME_MAX_MS));
        self.counted.retain(|(_, since)| is_within(*since, REQUESTS_COUNTED_MS));
        self.paused.retain(|(_, since)| is_within(*since, REQUEST_PAUSE_MS));
    }

    fn may_take(&self, requester: &Requester) -> bool {
        let is_one = |other: &Requester| other.may_be(requester);
        let is_known = self.shown.iter().any(|(shown, _)| is_one(&Requester::of(shown)))
            || self.paused.iter().any(|(paused, _)| is_one(paused))
            || self.blocked.iter().any(|blocked| is_one(&Requester::of(blocked)));
        let of_one = self.counted.iter().filter(|(counted, _)| is_one(counted)).count();
        !is_known
            && self.shown.len() < REQUESTS_MAX
            && self.counted.len() < REQUESTS_OF_ALL_MAX
            && of_one < REQUESTS_OF_ONE_MAX
    }

    fn remove(&mut self, id: DeviceId) -> Option<PairingRequest> {
        let at = self.shown.iter().position(|(request, _)| request.id == id)?;
        Some(self.shown.remove(at).0)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn id(number: u32) -> DeviceId {
        let mut id = [0; 32];
        id[..4].copy_from_slice(&number.to_le_bytes());
        DeviceId(id)
    }

    fn from(address: u32) -> std::net::IpAddr {
        Ipv4Addr::from_bits(0x0a00_0000 + address).into()
    }

    fn request(key: u32, address: u32) -> PairingRequest {
        PairingRequest {
            id: id(key),
            name: "ada-laptop".into(),
            paired_as: None,
            looks_like: None,
            from: from(address),
            allowed: false,
        }
    }

    fn shown(requests: &Requests, now_ms: u64) -> Vec<DeviceId> {
        requests.shown(now_ms).into_iter().map(|request| request.id).collect()
    }

    #[test]
    fn one_key_and_one_address_are_shown_once_and_cannot_change_what_is_shown() {
        let requests = Requests::default();
        assert!(requests.take(request(1, 1), 0));
        assert!(!requests.take(request(1, 1), 1));
        assert!(!requests.take(PairingRequest { name: "nas".into(), ..request(1, 2) }, 2), "the same key elsewhere");
        assert!(!requests.take(request(2, 1), 3), "another key there");
        assert_eq!(requests.shown(4), [request(1, 1)]);
        assert!(requests.take(request(2, 2), 5));
        assert_eq!(shown(&requests, 6), [id(1), id(2)]);
    }

    #[test]
    fn asking_again_does_not_keep_a_request_on_the_screen() {
        let requests = Requests::default();
        assert!(requests.take(request(1, 1), 0));
        (1..REQUEST_TIME_MAX_MS).step_by(1_000).for_each(|now_ms| assert!(!requests.take(request(1, 1), now_ms)));
        assert_eq!(shown(&requests, REQUEST_TIME_MAX_MS), []);
    }

    #[test]
    fn one_that_is_not_answered_is_shown_a_few_times_an_hour() {
        let requests = Requests::default();
        let told = (0..REQUESTS_COUNTED_MS).step_by(1_000).filter(|now_ms| requests.take(request(1, 1), *now_ms));
        assert_eq!(told.count(), REQUESTS_OF_ONE_MAX);
        assert!(requests.take(request(1, 1), REQUESTS_COUNTED_MS));
    }

    #[test]
    fn a_flood_of_keys_and_addresses_shows_a_few_at_a_time_and_a_few_an_hour() {
        let requests = Requests::default();
        let mut told = 0;
        for second in 0..REQUESTS_COUNTED_MS / 1_000 {
            let number = second as u32;
            told += usize::from(requests.take(request(number, number), second * 1_000));
            assert!(requests.shown(second * 1_000).len() <= REQUESTS_MAX);
            // A person who sends every one of them away is not shown more.
            requests.shown(second * 1_000).iter().for_each(|shown| assert!(requests.dismiss(shown.id, second * 1_000)));
        }
        assert_eq!(told, REQUESTS_OF_ALL_MAX);
    }

    #[test]
    fn one_that_was_sent_away_is_not_shown_for_a_while() {
        let requests = Requests::default();
        assert!(requests.take(request(1, 1), 0));
        assert!(requests.dismiss(id(1), 1_000));
        assert!(!requests.dismiss(id(1), 1_000), "it is gone");
        for (key, address) in [(1, 1), (1, 2), (2, 1)] {
            assert!(!requests.take(request(key, address), 999 + REQUEST_PAUSE_MS), "{key} from {address}");
        }
        assert!(requests.take(request(1, 1), 1_000 + REQUEST_PAUSE_MS));
    }

    #[test]
    fn one_that_was_blocked_is_never_shown_again_by_its_key_or_its_address() {
        let requests = Requests::default();
        assert!(requests.take(request(1, 1), 0));
        assert!(requests.block(id(1)));
        assert_eq!(shown(&requests, 1), []);
        let much_later = 1_000 * REQUESTS_COUNTED_MS;
        for (key, address) in [(1, 1), (1, 2), (2, 1)] {
            assert!(!requests.take(request(key, address), much_later), "{key} from {address}");
        }
        assert!(requests.take(request(2, 2), much_later));
        assert!(!requests.block(id(9)) && !requests.allow(id(9), much_later), "nobody who is not shown is answered");
    }

    #[test]
    fn one_whose_block_is_taken_back_is_shown_again_and_has_to_be_allowed_anew() {
        let requests = Requests::default();
        assert!(requests.take(request(1, 1), 0));
        assert!(requests.allow(id(1), 0) && requests.block(id(1)));
        assert!(requests.unblock(id(1), 1));
        assert_eq!(requests.shown(2), [request(1, 1)]);
        assert!(!requests.unblock(id(1), 3), "it is blocked no more");
        assert!(requests.dismiss(id(1), 4));
        assert!(requests.take(request(1, 1), 4 + REQUEST_PAUSE_MS));
    }

    #[test]
    fn taking_back_blocks_shows_no_more_than_may_be_shown() {
        let requests = Requests::default();
        let all = 1..=2 * REQUESTS_MAX as u32;
        for number in all.clone() {
            assert!(requests.take(request(number, number), 0));
            assert!(requests.block(id(number)));
        }
        all.for_each(|number| assert!(requests.unblock(id(number), 1)));
        assert_eq!(requests.shown(2).len(), REQUESTS_MAX);
    }

    #[test]
    fn blocked_ones_are_bounded() {
        let requests = Requests::default();
        for number in 0..=REQUESTERS_BLOCKED_MAX as u32 {
            assert!(requests.take(request(number, number), u64::from(number) * REQUESTS_COUNTED_MS));
            assert!(requests.block(id(number)));
        }
        assert_eq!(requests.state().blocked.len(), REQUESTERS_BLOCKED_MAX);
    }

    #[test]
    fn one_that_was_allowed_is_shown_as_long_as_a_code_lives_and_until_it_has_paired() {
        let requests = Requests::default();
        assert!(requests.take(request(1, 1), 0));
        assert!(requests.allow(id(1), REQUEST_TIME_MAX_MS - 1));
        assert!(requests.shown(REQUEST_TIME_MAX_MS)[0].allowed);
        assert!(requests.paired(id(1), Origin::of(from(1))));
        assert_eq!(shown(&requests, REQUEST_TIME_MAX_MS), []);
        assert!(!requests.paired(id(1), Origin::of(from(1))));
    }

    #[test]
    fn proving_the_code_unblocks_a_device_and_frees_its_place() {
        let requests = Requests::default();
        for round in 0..3 * REQUESTS_OF_ALL_MAX as u64 {
            assert!(requests.take(request(1, 1), round), "round {round}");
            assert!(requests.block(id(1)));
            requests.paired(id(1), Origin::of(from(1)));
        }
    }
}
