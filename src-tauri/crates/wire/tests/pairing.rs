//! Pairing from outside: both ends run against each other, and against everything that SECURITY.md
//! promises about authentication.
use proptest::prelude::*;
use ringway_wire::code::{GivenSecret, PairingCode, PairingSecret, StandingSecret};
use ringway_wire::pair::{
    Binding, Confirmation, ENTROPY_LEN, Initiator, InitiatorAwaitingConfirmation, InitiatorAwaitingReply, OpenCode,
    PairError, Paired, PakeMessage, PublicKeyHash, Responder, ResponderAwaitingConfirmation,
};

#[path = "pairing/attacks.rs"]
mod attacks;
#[path = "pairing/attempts.rs"]
mod attempts;
#[path = "pairing/codes.rs"]
mod codes;

const LAPTOP: PublicKeyHash = [0xa1; 32];
const LAB: PublicKeyHash = [0xb2; 32];
const EXPORTER: [u8; 32] = [0xe3; 32];
const CODE: &str = "42-river-castle";

fn secret(text: &str) -> PairingSecret {
    GivenSecret::parse(text.as_bytes()).expect("a code or a standing secret").to_pairing_secret()
}

fn binding() -> Binding {
    Binding::new(LAPTOP, LAB, EXPORTER).expect("two devices")
}

/// Entropy that differs between attempts, reproducibly.
fn entropy(attempt: u8) -> [u8; ENTROPY_LEN] {
    std::array::from_fn(|index| (index as u8).wrapping_mul(31) ^ attempt.wrapping_mul(151) ^ 0x5a)
}

/// Everything that is sent in one attempt. The last message is missing if the responder refused.
#[derive(Debug, Clone)]
struct Captured {
    start: PakeMessage,
    reply: PakeMessage,
    initiator_confirms: Confirmation,
    responder_confirms: Option<Confirmation>,
}

/// Each end's verdict. The initiator is told of a refusal, so it never ends without one.
struct Verdicts {
    initiator: Result<Paired, PairError>,
    responder: Result<Paired, PairError>,
    captured: Captured,
}

fn attempt(
    initiator: (&PairingSecret, Binding, [u8; ENTROPY_LEN]),
    responder: (&PairingSecret, Binding, [u8; ENTROPY_LEN]),
) -> Verdicts {
    let (awaiting_reply, start) = Initiator::start(initiator.0, initiator.1, &initiator.2);
    let (awaiting_initiator, reply) = Responder::answer(responder.0, responder.1, &start, &responder.2).unwrap();
    let (awaiting_responder, initiator_confirms) = awaiting_reply.receive(&reply).unwrap();
    let captured = Captured { start, reply, initiator_confirms, responder_confirms: None };
    match awaiting_initiator.receive(&initiator_confirms) {
        Ok((paired, confirmation)) => Verdicts {
            initiator: awaiting_responder.receive(&confirmation),
            responder: Ok(paired),
            captured: Captured { responder_confirms: Some(confirmation), ..captured },
        },
        Err(error) => Verdicts { initiator: Err(error), responder: Err(error), captured },
    }
}

fn assert_both_fail(verdicts: &Verdicts) {
    assert_eq!(verdicts.initiator, Err(PairError::WrongSecret));
    assert_eq!(verdicts.responder, Err(PairError::WrongSecret));
    assert!(verdicts.captured.responder_confirms.is_none(), "the responder showed its confirmation");
}

#[test]
fn the_right_code_pairs_each_with_the_other() {
    let verdicts = attempt((&secret(CODE), binding(), entropy(1)), (&secret(CODE), binding(), entropy(2)));
    assert_eq!(verdicts.initiator.map(|paired| paired.peer()), Ok(LAB));
    assert_eq!(verdicts.responder.map(|paired| paired.peer()), Ok(LAPTOP));
}

#[test]
fn a_code_typed_another_way_pairs_too() {
    let verdicts = attempt((&secret(" 42 RIVE cast\n"), binding(), entropy(1)), (&secret(CODE), binding(), entropy(2)));
    assert!(verdicts.initiator.is_ok() && verdicts.responder.is_ok());
}

#[test]
fn a_standing_secret_pairs() {
    let (given, echoed) = (secret("correct horse battery staple"), secret("correct horse battery staple\n"));
    let verdicts = attempt((&given, binding(), entropy(1)), (&echoed, binding(), entropy(2)));
    assert!(verdicts.initiator.is_ok() && verdicts.responder.is_ok());
}

#[test]
fn each_wrong_part_of_the_code_fails_at_both_ends() {
    for typed in ["43-river-castle", "42-castle-river", "42-river-candy", "42-rival-castle", "42-river-river"] {
        assert_both_fail(&attempt((&secret(typed), binding(), entropy(1)), (&secret(CODE), binding(), entropy(2))));
        assert_both_fail(&attempt((&secret(CODE), binding(), entropy(1)), (&secret(typed), binding(), entropy(2))));
    }
}

#[test]
fn each_wrong_part_of_the_binding_fails_at_both_ends() {
    let others = [
        Binding::new([0xa2; 32], LAB, EXPORTER),
        Binding::new(LAPTOP, [0xb3; 32], EXPORTER),
        Binding::new(LAB, LAPTOP, EXPORTER),
        Binding::new(LAPTOP, LAB, [0xe4; 32]),
    ];
    for other in others.map(|other| other.unwrap()) {
        assert_both_fail(&attempt((&secret(CODE), other, entropy(1)), (&secret(CODE), binding(), entropy(2))));
    }
}

#[test]
fn a_device_does_not_pair_with_itself() {
    assert_eq!(Binding::new(LAB, LAB, EXPORTER).err(), Some(PairError::SameDevice));
}

#[test]
#[should_panic(expected = "pairing without entropy")]
fn an_initiator_without_entropy_says_nothing() {
    let _ = Initiator::start(&secret(CODE), binding(), &[0; ENTROPY_LEN]);
}

#[test]
#[should_panic(expected = "pairing without entropy")]
fn a_responder_without_entropy_says_nothing() {
    let (_, start) = Initiator::start(&secret(CODE), binding(), &entropy(1));
    let _ = Responder::answer(&secret(CODE), binding(), &start, &[0; ENTROPY_LEN]);
}

/// Does not compile if one of the types implements the trait: the inferred `_` would be ambiguous.
macro_rules! without {
    ($absent:path: $($type:ty),+ $(,)?) => {{
        trait Ambiguous<T> {
            fn here() {}
        }
        impl<T: ?Sized> Ambiguous<()> for T {}
        impl<T: ?Sized + $absent> Ambiguous<u8> for T {}
        $(<$type as Ambiguous<_>>::here();)+
    }};
}

macro_rules! without_each {
    ($($absent:path),+; $types:tt) => { $(without_each!(@one $absent; $types);)+ };
    (@one $absent:path; [$($type:ty),+]) => { without!($absent: $($type),+) };
}

#[test]
fn secrets_are_not_printed_nor_copied_and_are_zeroized() {
    fn zeroized<T: zeroize::ZeroizeOnDrop>() {}
    without_each!(std::fmt::Debug, std::fmt::Display, Clone, PartialEq; [
        PairingCode, StandingSecret, GivenSecret, PairingSecret, Binding, OpenCode,
        InitiatorAwaitingReply, InitiatorAwaitingConfirmation, ResponderAwaitingConfirmation
    ]);
    zeroized::<PairingCode>();
    zeroized::<StandingSecret>();
    zeroized::<PairingSecret>();
    zeroized::<Binding>();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn both_ends_agree_and_only_on_equal_secrets(
        ours in any::<[u8; 4]>(), theirs in any::<[u8; 4]>(), equal in any::<bool>(),
        first in 1u8.., second in 1u8..,
    ) {
        let ours = PairingCode::from_entropy(ours);
        let theirs = if equal { PairingCode::parse(ours.expose()).unwrap() } else { PairingCode::from_entropy(theirs) };
        let verdicts = attempt(
            (&PairingSecret::from(&ours), binding(), entropy(first)),
            (&PairingSecret::from(&theirs), binding(), entropy(second.wrapping_add(128))),
        );
        prop_assert_eq!(verdicts.initiator.is_ok(), ours.expose() == theirs.expose());
        prop_assert_eq!(verdicts.initiator.is_ok(), verdicts.responder.is_ok());
    }

    #[test]
    fn a_confirmation_with_any_bit_changed_confirms_nothing(bit in 0usize..256) {
        let flipped = |confirmation: Confirmation| {
            let mut bytes = confirmation.as_bytes().to_vec();
            bytes[bit / 8] ^= 1 << (bit % 8);
            Confirmation::from_slice(&bytes).unwrap()
        };
        let code = secret(CODE);
        let start = || Initiator::start(&code, binding(), &entropy(1));
        let (awaiting_reply, message) = start();
        let answer = || Responder::answer(&code, binding(), &message, &entropy(2)).unwrap();
        let (awaiting_confirmation, reply) = answer();
        let (awaiting_responder, confirms) = awaiting_reply.receive(&reply).unwrap();
        prop_assert_eq!(awaiting_confirmation.receive(&flipped(confirms)).err(), Some(PairError::WrongSecret));
        let (_, responder_confirms) = answer().0.receive(&confirms).unwrap();
        prop_assert_eq!(awaiting_responder.receive(&flipped(responder_confirms)).err(), Some(PairError::WrongSecret));
    }
}
