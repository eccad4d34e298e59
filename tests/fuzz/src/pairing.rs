//! Pairing: messages of a stranger, an honest exchange with one bit changed, what people type, and
//! the book-keeping of attempts.
use super::input::Input;
use ringway_wire::code::{GivenSecret, PairingCode, PairingSecret};
use ringway_wire::pair::{
    Binding, CODE_LIFETIME_MS, CONFIRMATION_LEN, Confirmation, ENTROPY_LEN, Initiator, Lifetime, MAX_WRONG_ATTEMPTS,
    OpenCode, Outcome, PAKE_MESSAGE_LEN, PairError, PakeMessage, Refusal, Responder,
};

/// The time at which the code of [`attempts`] was opened.
const OPENED_MS: u64 = 1;

/// The first byte chooses one of the checks.
pub fn pairing(data: &[u8]) {
    let mut input = Input::new(data);
    match input.byte() % 5 {
        0 => typed(input.take(usize::MAX)),
        1 => stranger_answers(&mut input),
        2 => stranger_dials(&mut input),
        3 => one_bit_changed(&mut input),
        _ => attempts(&mut input),
    }
}

fn secret() -> PairingSecret {
    PairingSecret::from(&PairingCode::from_entropy([7; 4]))
}

fn binding() -> Binding {
    Binding::new([1; 32], [2; 32], [3; 32]).expect("two devices")
}

fn entropy(input: &mut Input<'_>) -> [u8; ENTROPY_LEN] {
    let mut entropy = [0x5a; ENTROPY_LEN];
    entropy[..4].copy_from_slice(&input.array::<4>());
    entropy
}

fn typed(text: &[u8]) {
    if let Ok(GivenSecret::Code(code)) = GivenSecret::parse(text) {
        let again = PairingCode::parse(code.expose()).expect("what is shown is a code");
        assert_eq!((again.expose(), again.number()), (code.expose(), code.number()));
    }
}

fn stranger_answers(input: &mut Input<'_>) {
    let (awaiting_reply, start) = Initiator::start(&secret(), binding(), &entropy(input));
    let Ok(reply) = PakeMessage::from_slice(input.take(PAKE_MESSAGE_LEN)) else {
        return;
    };
    let Ok((awaiting_confirmation, own)) = awaiting_reply.receive(&reply) else {
        return;
    };
    assert_ne!(start.as_bytes()[1..], reply.as_bytes()[1..], "our own message was taken for a reply");
    let Ok(confirmation) = Confirmation::from_slice(input.take(CONFIRMATION_LEN)) else {
        return;
    };
    // libFuzzer sees the operands of comparisons, so it does find out that it can send this side's
    // own confirmation back.
    let refused = awaiting_confirmation.receive(&confirmation).expect_err("confirmed by a stranger");
    assert_eq!(refused, if confirmation == own { PairError::Reflected } else { PairError::WrongSecret });
}

fn stranger_dials(input: &mut Input<'_>) {
    let entropy = entropy(input);
    let Ok(start) = PakeMessage::from_slice(input.take(PAKE_MESSAGE_LEN)) else {
        return;
    };
    let Ok((awaiting_confirmation, _)) = Responder::answer(&secret(), binding(), &start, &entropy) else {
        return;
    };
    let Ok(confirmation) = Confirmation::from_slice(input.take(CONFIRMATION_LEN)) else {
        return;
    };
    assert!(awaiting_confirmation.receive(&confirmation).is_err(), "confirmed by a stranger");
}

/// Changes the one bit of a message that `bit` selects, if it selects any: both ends pair exactly
/// if nothing was changed.
fn one_bit_changed(input: &mut Input<'_>) {
    let bit = usize::from(input.u16());
    let lens = [PAKE_MESSAGE_LEN, PAKE_MESSAGE_LEN, CONFIRMATION_LEN, CONFIRMATION_LEN];
    let mut at = 0;
    let mut carried = |message: &[u8]| {
        let mut message = message.to_vec();
        let from = 8 * at;
        at += message.len();
        if let Some(bit) = bit.checked_sub(from).filter(|bit| *bit < 8 * message.len()) {
            message[bit / 8] ^= 1 << (bit % 8);
        }
        message
    };
    let (mut initiator, mut responder) = (false, false);
    let (awaiting_reply, start) = Initiator::start(&secret(), binding(), &entropy(input));
    let _ = (|| {
        let start = PakeMessage::from_slice(&carried(start.as_bytes())).ok()?;
        let (awaiting_initiator, reply) = Responder::answer(&secret(), binding(), &start, &entropy(input)).ok()?;
        let reply = PakeMessage::from_slice(&carried(reply.as_bytes())).ok()?;
        let (awaiting_responder, confirmation) = awaiting_reply.receive(&reply).ok()?;
        let confirmation = Confirmation::from_slice(&carried(confirmation.as_bytes())).ok()?;
        let (_, confirmation) = awaiting_initiator.receive(&confirmation).ok()?;
        responder = true;
        let confirmation = Confirmation::from_slice(&carried(confirmation.as_bytes())).ok()?;
        initiator = awaiting_responder.receive(&confirmation).is_ok();
        Some(())
    })();
    let before_last = 8 * lens[..3].iter().sum::<usize>();
    let all = 8 * lens.iter().sum::<usize>();
    assert_eq!(initiator, bit >= all, "the initiator, bit {bit}");
    assert_eq!(responder, bit >= before_last, "the responder, bit {bit}");
}

/// A guesser gets three wrong attempts or one success, one at a time, within ten minutes, for any
/// calls in any order.
fn attempts(input: &mut Input<'_>) {
    let mut now_ms = OPENED_MS;
    let mut open = OpenCode::new(secret(), now_ms, Lifetime::OneTime);
    let (mut held, mut wrong, mut paired) = (None, 0, 0);
    while !input.is_empty() {
        match input.byte() % 4 {
            0 => now_ms += u64::from(input.u16()) * 8,
            1 => match open.begin(now_ms) {
                Ok(token) => {
                    assert!(held.is_none() && wrong < MAX_WRONG_ATTEMPTS && paired == 0);
                    assert!(now_ms < OPENED_MS + CODE_LIFETIME_MS && open.secret(&token).is_some());
                    held = Some(token);
                }
                Err(Refusal::Busy) => assert!(held.is_some()),
                Err(Refusal::Burnt) => assert!(wrong == MAX_WRONG_ATTEMPTS || paired == 1),
                Err(Refusal::Expired) => assert!(now_ms >= OPENED_MS + CODE_LIFETIME_MS),
                Err(Refusal::BackOff { .. }) => panic!("a code has no back-off"),
            },
            _ => {
                let Some(token) = held.take() else { continue };
                let outcome =
                    [Outcome::Abandoned, Outcome::WrongSecret, Outcome::Paired][usize::from(input.byte() % 3)];
                wrong += u32::from(outcome == Outcome::WrongSecret);
                paired += u32::from(outcome == Outcome::Paired);
                open.finish(token, outcome, now_ms);
            }
        }
        assert!(wrong <= MAX_WRONG_ATTEMPTS && paired <= 1);
    }
}
