//! What a listener, a man in the middle and an impostor can do, tried with the group arithmetic
//! itself. `Oracle` redoes every computation of the exchange from the description at the head of
//! `wire::pair`, independently of its code.
//!
//! A test cannot show that nothing can be computed; that rests on SPAKE2's proof. These tests show
//! that the confirmations depend on the scalars, that the checks on points and the binding are in
//! place, and that one attempt answers one guess. Each attack has a control in which the attacker
//! is given a scalar, and then succeeds.
use hmac::{Hmac, KeyInit, Mac};
use rand_core::{CryptoRng, RngCore};
use ringway_wire::pair::{
    Binding, Confirmation, ENTROPY_LEN, INITIATOR_CONFIRMS, Initiator, PROTOCOL_LABEL, PairError, PakeMessage,
    PublicKeyHash, RESPONDER_CONFIRMS, Responder,
};
use sha2::{Digest, Sha256};
use spake2::{Ed25519Group, Group};

use super::{CODE, Captured, EXPORTER, LAB, LAPTOP, assert_both_fail, attempt, binding, entropy, secret};

type Point = <Ed25519Group as Group>::Element;
type Scalar = <Ed25519Group as Group>::Scalar;

const MALLORY: PublicKeyHash = [0x66; 32];

/// A dictionary with the right code in it.
const DICTIONARY: [&str; 8] = [
    "42-river-candy",
    "42-castle-river",
    "41-river-castle",
    CODE,
    "42-zoo-zoo",
    "0-abandon-abandon",
    "42-rival-castle",
    "511-zoo-zoo",
];

fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    parts.iter().for_each(|part| hash.update(part));
    hash.finalize().into()
}

fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(key).unwrap();
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

fn prefixed(parts: &[&[u8]]) -> Vec<u8> {
    parts.iter().flat_map(|part| [&(part.len() as u64).to_be_bytes()[..], part].concat()).collect()
}

/// The PAKE's password for a code.
fn password(code: &str) -> [u8; 32] {
    sha256(&[&prefixed(&[b"ringway pairing secret v1", b"code", code.as_bytes()])])
}

fn times(point: &Point, scalar: &Scalar) -> Point {
    Ed25519Group::scalarmult(point, scalar)
}

fn minus(left: &Point, right: &Point) -> Point {
    left - right
}

fn point(message: &PakeMessage) -> Point {
    Ed25519Group::bytes_to_element(&message.as_bytes()[1..]).expect("an honest message")
}

fn message(side: u8, point: &Point) -> PakeMessage {
    PakeMessage::from_slice(&[&[side], &Ed25519Group::element_to_bytes(point)[..]].concat()).unwrap()
}

/// The scalar for this entropy.
fn scalar(entropy: [u8; ENTROPY_LEN]) -> Scalar {
    struct Once([u8; ENTROPY_LEN]);
    impl CryptoRng for Once {}
    impl RngCore for Once {
        fn next_u32(&mut self) -> u32 {
            unreachable!("scalars are drawn by the byte")
        }
        fn next_u64(&mut self) -> u64 {
            unreachable!("scalars are drawn by the byte")
        }
        fn fill_bytes(&mut self, wanted: &mut [u8]) {
            wanted.copy_from_slice(&self.0);
        }
        fn try_fill_bytes(&mut self, wanted: &mut [u8]) -> Result<(), rand_core::Error> {
            self.fill_bytes(wanted);
            Ok(())
        }
    }
    Ed25519Group::random_scalar(&mut Once(entropy))
}

/// Tests guesses, knowing the channel, the two messages, and candidates for K.
struct Oracle {
    ids: [PublicKeyHash; 2],
    exporter: [u8; 32],
    start: PakeMessage,
    reply: PakeMessage,
}

impl Oracle {
    fn confirmations(&self, code: &str, shared: &Point) -> (Confirmation, Confirmation) {
        let [a, b] = &self.ids;
        let (x, y) = (self.start.as_bytes(), self.reply.as_bytes());
        let shared = Ed25519Group::element_to_bytes(shared);
        let key = sha256(&[&sha256(&[&password(code)]), &sha256(&[a]), &sha256(&[b]), &x[1..], &y[1..], &shared]);
        let transcript = prefixed(&[PROTOCOL_LABEL, a, b, x, y]);
        let prk = hmac(&self.exporter, &[&key]);
        let confirm = |label| {
            let mac_key = hmac(&prk, &[label, &transcript, &[1]]);
            Confirmation::from_slice(&hmac(&mac_key, &[&transcript])).unwrap()
        };
        (confirm(INITIATOR_CONFIRMS), confirm(RESPONDER_CONFIRMS))
    }

    /// K for a guess, from the initiator's scalar.
    fn as_initiator(&self, code: &str, x: &Scalar) -> Point {
        times(
            &minus(
                &point(&self.reply),
                &times(&Ed25519Group::const_n(), &Ed25519Group::hash_to_scalar(&password(code))),
            ),
            x,
        )
    }

    /// K for a guess, from the responder's scalar.
    fn as_responder(&self, code: &str, y: &Scalar) -> Point {
        times(
            &minus(
                &point(&self.start),
                &times(&Ed25519Group::const_m(), &Ed25519Group::hash_to_scalar(&password(code))),
            ),
            y,
        )
    }

    /// Everything that public values and a guess combine to without a scalar of either side, but
    /// with scalars of the attacker's own.
    fn without_a_scalar(&self, code: &str) -> Vec<Point> {
        let w = Ed25519Group::hash_to_scalar(&password(code));
        let (x, y) = (point(&self.start), point(&self.reply));
        let (xg, yg) =
            (minus(&x, &times(&Ed25519Group::const_m(), &w)), minus(&y, &times(&Ed25519Group::const_n(), &w)));
        let own = scalar(entropy(77));
        let mut candidates = vec![
            minus(&x, &x),
            Ed25519Group::add(&xg, &yg),
            minus(&xg, &yg),
            minus(&yg, &xg),
            times(&xg, &w),
            times(&yg, &w),
            Ed25519Group::basepoint_mult(&w),
            self.as_initiator(code, &own),
            self.as_responder(code, &own),
        ];
        candidates.extend([x, y, xg, yg]);
        candidates
    }

    fn of(captured: &Captured, ids: [PublicKeyHash; 2], exporter: [u8; 32]) -> Self {
        Self { ids, exporter, start: captured.start, reply: captured.reply }
    }
}

#[test]
fn the_exchange_agrees_with_its_documentation() {
    let captured = attempt((&secret(CODE), binding(), entropy(1)), (&secret(CODE), binding(), entropy(2))).captured;
    let oracle = Oracle::of(&captured, [LAPTOP, LAB], EXPORTER);
    let blinded = |scalar: &Scalar, blinding: Point| {
        let w = Ed25519Group::hash_to_scalar(&password(CODE));
        Ed25519Group::add(&Ed25519Group::basepoint_mult(scalar), &times(&blinding, &w))
    };
    let (x, y) = (scalar(entropy(1)), scalar(entropy(2)));
    assert_eq!(captured.start, message(b'A', &blinded(&x, Ed25519Group::const_m())));
    assert_eq!(captured.reply, message(b'B', &blinded(&y, Ed25519Group::const_n())));
    let shared = oracle.as_initiator(CODE, &x);
    assert_eq!(shared, oracle.as_responder(CODE, &y));
    let (initiator, responder) = oracle.confirmations(CODE, &shared);
    assert_eq!(captured.initiator_confirms, initiator);
    assert_eq!(captured.responder_confirms, Some(responder));
}

#[test]
fn a_recording_does_not_tell_the_right_code_from_a_wrong_one() {
    let captured = attempt((&secret(CODE), binding(), entropy(1)), (&secret(CODE), binding(), entropy(2))).captured;
    // More than a listener has: it also gets the channel's exporter.
    let oracle = Oracle::of(&captured, [LAPTOP, LAB], EXPORTER);
    let fits = |code, shared: &Point| {
        let (initiator, responder) = oracle.confirmations(code, shared);
        captured.initiator_confirms == initiator || captured.responder_confirms == Some(responder)
    };
    let found = |shared: &dyn Fn(&str) -> Vec<Point>| -> Vec<_> {
        DICTIONARY.into_iter().filter(|code| shared(code).iter().any(|shared| fits(code, shared))).collect()
    };
    assert!(found(&|code| oracle.without_a_scalar(code)).is_empty());
    // The control: with either scalar the same dictionary finds the code.
    assert_eq!(found(&|code| vec![oracle.as_initiator(code, &scalar(entropy(1)))]), [CODE]);
    assert_eq!(found(&|code| vec![oracle.as_responder(code, &scalar(entropy(2)))]), [CODE]);
}

#[test]
fn a_man_in_the_middle_who_passes_messages_on_gets_no_confirmation() {
    let towards_laptop = || Binding::new(LAPTOP, MALLORY, [0x11; 32]).unwrap();
    let towards_lab = || Binding::new(MALLORY, LAB, [0x22; 32]).unwrap();
    let verdicts = attempt((&secret(CODE), towards_laptop(), entropy(1)), (&secret(CODE), towards_lab(), entropy(2)));
    assert_both_fail(&verdicts);
    let oracle = Oracle::of(&verdicts.captured, [LAPTOP, MALLORY], [0x11; 32]);
    for code in DICTIONARY {
        for shared in oracle.without_a_scalar(code) {
            assert_ne!(oracle.confirmations(code, &shared).0, verdicts.captured.initiator_confirms, "{code}");
        }
    }
    let (confirmed, _) = oracle.confirmations(CODE, &oracle.as_initiator(CODE, &scalar(entropy(1))));
    assert_eq!(confirmed, verdicts.captured.initiator_confirms, "the control");
}

#[test]
fn a_man_in_the_middle_with_the_same_keys_but_another_channel_fails_too() {
    let elsewhere = Binding::new(LAPTOP, LAB, [0x22; 32]).unwrap();
    assert_both_fail(&attempt((&secret(CODE), binding(), entropy(1)), (&secret(CODE), elsewhere, entropy(2))));
}

#[test]
fn an_impostor_who_answers_has_one_guess_and_it_is_in_its_message() {
    for committed in DICTIONARY {
        let (awaiting_reply, start) = Initiator::start(&secret(CODE), binding(), &entropy(1));
        let (_, reply) = Responder::answer(&secret(committed), binding(), &start, &entropy(9)).unwrap();
        let (_, confirmation) = awaiting_reply.receive(&reply).unwrap();
        let oracle = Oracle { ids: [LAPTOP, LAB], exporter: EXPORTER, start, reply };
        let own = scalar(entropy(9));
        let found: Vec<_> = DICTIONARY
            .into_iter()
            .filter(|code| oracle.confirmations(code, &oracle.as_responder(code, &own)).0 == confirmation)
            .collect();
        let expected: &[&str] = if committed == CODE { &[CODE] } else { &[] };
        assert_eq!(found, expected, "committed to {committed}");
    }
}

#[test]
fn an_impostor_who_dials_has_one_guess_and_sees_no_confirmation() {
    for committed in DICTIONARY {
        let (awaiting_reply, start) = Initiator::start(&secret(committed), binding(), &entropy(9));
        let (awaiting_confirmation, reply) = Responder::answer(&secret(CODE), binding(), &start, &entropy(2)).unwrap();
        let (_, confirmation) = awaiting_reply.receive(&reply).unwrap();
        match awaiting_confirmation.receive(&confirmation) {
            Ok(_) => assert_eq!(committed, CODE),
            Err(error) => assert!(committed != CODE && error == PairError::WrongSecret, "{committed}: {error}"),
        }
    }
}

#[test]
fn our_own_message_is_refused_from_either_side() {
    let (awaiting_reply, start) = Initiator::start(&secret(CODE), binding(), &entropy(1));
    assert_eq!(awaiting_reply.receive(&start).err(), Some(PairError::Reflected));
    let (awaiting_reply, start) = Initiator::start(&secret(CODE), binding(), &entropy(1));
    let relabelled = message(b'B', &point(&start));
    assert_eq!(awaiting_reply.receive(&relabelled).err(), Some(PairError::Reflected));

    let (_, reply) = Responder::answer(&secret(CODE), binding(), &start, &entropy(2)).unwrap();
    let foreseen = message(b'A', &point(&reply));
    let refused = Responder::answer(&secret(CODE), binding(), &foreseen, &entropy(2));
    assert_eq!(refused.err(), Some(PairError::Reflected));
}

#[test]
fn our_own_confirmation_is_refused() {
    let (awaiting_reply, start) = Initiator::start(&secret(CODE), binding(), &entropy(1));
    let (_, reply) = Responder::answer(&secret(CODE), binding(), &start, &entropy(2)).unwrap();
    let (awaiting_confirmation, own) = awaiting_reply.receive(&reply).unwrap();
    assert_eq!(awaiting_confirmation.receive(&own).err(), Some(PairError::Reflected));
}

#[test]
fn the_other_sides_role_is_refused() {
    let (_, start) = Initiator::start(&secret(CODE), binding(), &entropy(1));
    let (_, other_start) = Initiator::start(&secret(CODE), binding(), &entropy(3));
    let (awaiting_reply, _) = Initiator::start(&secret(CODE), binding(), &entropy(1));
    assert_eq!(awaiting_reply.receive(&other_start).err(), Some(PairError::Malformed));
    let (_, reply) = Responder::answer(&secret(CODE), binding(), &start, &entropy(2)).unwrap();
    let refused = Responder::answer(&secret(CODE), binding(), &reply, &entropy(4));
    assert_eq!(refused.err(), Some(PairError::Malformed));
}

#[test]
fn an_earlier_sessions_messages_confirm_nothing() {
    let earlier = attempt((&secret(CODE), binding(), entropy(1)), (&secret(CODE), binding(), entropy(2))).captured;

    let (awaiting_confirmation, _) = Responder::answer(&secret(CODE), binding(), &earlier.start, &entropy(3)).unwrap();
    assert_eq!(awaiting_confirmation.receive(&earlier.initiator_confirms).err(), Some(PairError::WrongSecret));

    let (awaiting_reply, _) = Initiator::start(&secret(CODE), binding(), &entropy(4));
    let (awaiting_confirmation, _) = awaiting_reply.receive(&earlier.reply).unwrap();
    let replayed = earlier.responder_confirms.expect("it paired");
    assert_eq!(awaiting_confirmation.receive(&replayed).err(), Some(PairError::WrongSecret));
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// The points of order 1, 2, 4, 4, 8, 8, 8, 8.
const SMALL_POINTS: [&str; 8] = [
    "0100000000000000000000000000000000000000000000000000000000000000",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
];

/// Checks that each side refuses a point that the other sent.
fn assert_refused(point: &[u8]) {
    let start = PakeMessage::from_slice(&[b"A", point].concat()).unwrap();
    let answered = Responder::answer(&secret(CODE), binding(), &start, &entropy(2));
    assert_eq!(answered.err(), Some(PairError::Malformed), "{point:02x?}");
    let reply = PakeMessage::from_slice(&[b"B", point].concat()).unwrap();
    let (awaiting_reply, _) = Initiator::start(&secret(CODE), binding(), &entropy(1));
    assert_eq!(awaiting_reply.receive(&reply).err(), Some(PairError::Malformed), "{point:02x?}");
}

#[test]
fn points_of_small_order_are_refused() {
    for small in SMALL_POINTS {
        assert_refused(&hex(small));
    }
}

/// All second encodings: y from p to 2^255 - 1 with either sign, and x = 0 with a sign (RFC 8032
/// section 5.1.3).
#[test]
fn second_encodings_of_points_are_refused() {
    let beyond_p = |above: u8, sign: u8| [&[0xed + above][..], &[0xff; 30], &[0x7f | sign]].concat();
    for (above, sign) in (0..19).flat_map(|above| [(above, 0), (above, 0x80)]) {
        assert_refused(&beyond_p(above, sign));
    }
    assert_refused(&hex("0100000000000000000000000000000000000000000000000000000000000080"));
    assert_refused(&hex("ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"));
}

#[test]
fn points_outside_the_prime_order_group_are_refused() {
    let (_, start) = Initiator::start(&secret(CODE), binding(), &entropy(5));
    for small in &SMALL_POINTS[1..] {
        let small = Ed25519Group::bytes_to_element(&hex(small)).expect("a point");
        assert_refused(&Ed25519Group::element_to_bytes(&Ed25519Group::add(&point(&start), &small)));
    }
}

#[test]
fn bytes_that_are_no_point_are_refused() {
    let none: Vec<_> = (2..40u8)
        .map(|y| [&[y][..], &[0; 31]].concat())
        .filter(|y| Ed25519Group::bytes_to_element(y).is_none())
        .collect();
    assert!(none.len() > 5, "{}", none.len());
    none.iter().for_each(|bytes| assert_refused(bytes));
}

#[test]
fn messages_of_another_length_are_refused() {
    for len in (0..100).filter(|&len| len != 33) {
        assert_eq!(PakeMessage::from_slice(&vec![b'A'; len]).err(), Some(PairError::Malformed));
    }
    for len in (0..100).filter(|&len| len != 32) {
        assert_eq!(Confirmation::from_slice(&vec![0; len]).err(), Some(PairError::Malformed));
    }
}
