//! How often, how long and how many at a time an open secret may be tried.
use proptest::prelude::*;
use ringway_wire::pair::{
    BACK_OFF_MAX_MS, CODE_LIFETIME_MS, Lifetime, MAX_WRONG_ATTEMPTS, OpenCode, Outcome, PairError, Refusal,
    WRONG_FORGOTTEN_MS, back_off_ms,
};

use super::{CODE, attempt, binding, entropy, secret};

const OPENED_MS: u64 = 5_000_000;
const STANDING: &str = "correct horse battery staple";

fn one_time() -> OpenCode {
    OpenCode::new(secret(CODE), OPENED_MS, Lifetime::OneTime)
}

/// One whole attempt with the code that an initiator typed; returns whether it paired.
fn attempt_with(open: &mut OpenCode, typed: &str, now_ms: u64) -> Result<bool, Refusal> {
    let token = open.begin(now_ms)?;
    let ours = open.secret(&token).expect("begun");
    let verdict = attempt((&secret(typed), binding(), entropy(1)), (ours, binding(), entropy(2))).responder;
    open.finish(token, verdict.map_or_else(PairError::outcome, |_| Outcome::Paired), now_ms);
    Ok(verdict.is_ok())
}

#[test]
fn three_wrong_attempts_burn_a_code_for_the_right_one_too() {
    let mut open = one_time();
    for left in (0..MAX_WRONG_ATTEMPTS).rev() {
        assert_eq!(attempt_with(&mut open, "42-river-candy", OPENED_MS), Ok(false));
        assert_eq!(open.attempts_left(), Some(left));
    }
    assert_eq!(attempt_with(&mut open, CODE, OPENED_MS), Err(Refusal::Burnt));
}

#[test]
fn two_wrong_attempts_and_then_the_right_code_pair() {
    let mut open = one_time();
    assert_eq!(attempt_with(&mut open, "42-river-candy", OPENED_MS), Ok(false));
    assert_eq!(attempt_with(&mut open, "24-river-castle", OPENED_MS), Ok(false));
    assert_eq!(attempt_with(&mut open, CODE, OPENED_MS), Ok(true));
    assert_eq!(open.attempts_left(), Some(0));
}

#[test]
fn one_success_burns_a_code() {
    let mut open = one_time();
    assert_eq!(attempt_with(&mut open, CODE, OPENED_MS), Ok(true));
    assert_eq!(attempt_with(&mut open, CODE, OPENED_MS), Err(Refusal::Burnt));
}

#[test]
fn a_code_expires_after_ten_minutes_and_stays_so_when_the_clock_goes_back() {
    assert_eq!(CODE_LIFETIME_MS, 600_000);
    let mut open = one_time();
    assert_eq!(open.check(OPENED_MS + CODE_LIFETIME_MS - 1), Ok(()));
    assert_eq!(open.expires_in_ms(OPENED_MS + CODE_LIFETIME_MS - 1), Some(1));
    assert_eq!(open.begin(OPENED_MS + CODE_LIFETIME_MS), Err(Refusal::Expired));
    assert_eq!(open.begin(OPENED_MS), Err(Refusal::Expired));
    assert_eq!(open.attempts_left(), Some(0));
}

#[test]
fn a_lifetime_can_be_shortened_but_not_extended() {
    let mut open = one_time();
    open.shorten(1_000);
    open.shorten(CODE_LIFETIME_MS);
    assert_eq!(open.expires_in_ms(OPENED_MS + 999), Some(1));
    assert_eq!(open.begin(OPENED_MS + 1_000), Err(Refusal::Expired));
}

#[test]
fn an_attempt_begun_in_time_may_end_after_the_code_expired() {
    let mut open = one_time();
    let token = open.begin(OPENED_MS + CODE_LIFETIME_MS - 1).unwrap();
    assert_eq!(open.begin(OPENED_MS + CODE_LIFETIME_MS + 1), Err(Refusal::Expired));
    assert!(open.secret(&token).is_some());
    open.finish(token, Outcome::Paired, OPENED_MS + CODE_LIFETIME_MS + 1);
    assert_eq!(open.begin(OPENED_MS), Err(Refusal::Burnt));
}

#[test]
fn a_second_attempt_waits_for_the_first() {
    let mut open = one_time();
    let first = open.begin(OPENED_MS).unwrap();
    assert_eq!(open.begin(OPENED_MS), Err(Refusal::Busy));
    open.finish(first, Outcome::WrongSecret, OPENED_MS);
    let second = open.begin(OPENED_MS).expect("the first has ended");
    open.finish(second, Outcome::Abandoned, OPENED_MS);
    assert_eq!(open.attempts_left(), Some(MAX_WRONG_ATTEMPTS - 1));
}

#[test]
fn an_attempt_on_a_code_that_was_replaced_does_not_touch_the_new_one() {
    let mut replaced = one_time();
    let mut open = one_time();
    let late = replaced.begin(OPENED_MS).unwrap();
    let current = open.begin(OPENED_MS).unwrap();
    assert!(open.secret(&late).is_none() && late != current);
    open.finish(late, Outcome::Paired, OPENED_MS);
    assert_eq!(open.begin(OPENED_MS), Err(Refusal::Busy));
    open.finish(current, Outcome::Abandoned, OPENED_MS);
    assert_eq!(open.attempts_left(), Some(MAX_WRONG_ATTEMPTS));
}

#[test]
fn a_token_that_is_lost_does_not_keep_the_code_busy() {
    let mut open = one_time();
    drop(open.begin(OPENED_MS));
    assert_eq!(open.check(OPENED_MS), Ok(()));
    assert_eq!(open.attempts_left(), Some(MAX_WRONG_ATTEMPTS));
}

#[test]
fn attempts_without_a_tested_guess_cost_nothing() {
    let mut open = one_time();
    for error in [PairError::Malformed, PairError::Reflected, PairError::SameDevice].into_iter().cycle().take(30) {
        let token = open.begin(OPENED_MS).unwrap();
        open.finish(token, error.outcome(), OPENED_MS);
    }
    assert_eq!(open.attempts_left(), Some(MAX_WRONG_ATTEMPTS));
    assert_eq!(attempt_with(&mut open, CODE, OPENED_MS), Ok(true));
}

#[test]
fn a_standing_secret_outlives_successes_and_time() {
    let mut open = OpenCode::new(secret(STANDING), OPENED_MS, Lifetime::Standing);
    assert_eq!(attempt_with(&mut open, STANDING, OPENED_MS), Ok(true));
    assert_eq!(attempt_with(&mut open, STANDING, OPENED_MS + 1000 * CODE_LIFETIME_MS), Ok(true));
    assert_eq!((open.attempts_left(), open.expires_in_ms(OPENED_MS)), (None, None));
}

#[test]
fn wrong_attempts_make_everybody_wait_despite_right_ones() {
    let mut open = OpenCode::new(secret(STANDING), OPENED_MS, Lifetime::Standing);
    let mut now_ms = OPENED_MS;
    for wait_ms in [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000, 300_000, 300_000] {
        assert_eq!(attempt_with(&mut open, "incorrect horse battery staple", now_ms), Ok(false));
        assert_eq!(attempt_with(&mut open, STANDING, now_ms + wait_ms - 1), Err(Refusal::BackOff { ms: 1 }));
        now_ms += wait_ms;
    }
    // A right attempt does not reset a guesser's wrong ones.
    assert_eq!(attempt_with(&mut open, STANDING, now_ms), Ok(true));
    assert_eq!(attempt_with(&mut open, "incorrect horse battery staple", now_ms), Ok(false));
    assert_eq!(open.check(now_ms), Err(Refusal::BackOff { ms: BACK_OFF_MAX_MS }));
    now_ms += WRONG_FORGOTTEN_MS;
    assert_eq!(attempt_with(&mut open, "incorrect horse battery staple", now_ms), Ok(false));
    assert_eq!(open.check(now_ms), Err(Refusal::BackOff { ms: 1_000 }));
}

#[test]
fn fewer_than_300_guesses_at_a_standing_secret_are_judged_in_a_day() {
    const DAY_MS: u64 = 24 * 60 * 60 * 1000;
    for rests_ms in [0, WRONG_FORGOTTEN_MS] {
        let mut open = OpenCode::new(secret(STANDING), OPENED_MS, Lifetime::Standing);
        let (mut now_ms, mut judged) = (OPENED_MS, 0);
        while now_ms < OPENED_MS + DAY_MS {
            assert_eq!(attempt_with(&mut open, STANDING, now_ms), Ok(true));
            assert_eq!(attempt_with(&mut open, "incorrect horse battery staple", now_ms), Ok(false));
            judged += 1;
            match open.check(now_ms) {
                Err(Refusal::BackOff { ms }) if rests_ms > 0 && ms == BACK_OFF_MAX_MS => now_ms += rests_ms,
                Err(Refusal::BackOff { ms }) => now_ms += ms,
                other => panic!("{other:?}"),
            }
        }
        assert!((150..300).contains(&judged), "{judged}");
    }
}

#[test]
fn the_back_off_grows_and_has_an_end() {
    assert_eq!(back_off_ms(0), 0);
    assert!((0..100).all(|attempts| back_off_ms(attempts) <= back_off_ms(attempts + 1)));
    assert_eq!(back_off_ms(u32::MAX), BACK_OFF_MAX_MS);
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Begin,
    Finish(Outcome),
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let outcome = prop_oneof![Just(Outcome::Abandoned), Just(Outcome::WrongSecret), Just(Outcome::Paired)];
    let step = prop_oneof![
        4 => Just(Step::Begin),
        4 => outcome.prop_map(Step::Finish),
        1 => (0..CODE_LIFETIME_MS / 2).prop_map(Step::Wait),
    ];
    prop::collection::vec(step, 0..60)
}

proptest! {
    /// Whatever happens, in any order: at most three wrong attempts or one success, one at a time,
    /// within ten minutes.
    #[test]
    fn no_order_of_events_gives_a_guesser_more(steps in steps()) {
        let mut open = one_time();
        let (mut now_ms, mut held, mut wrong, mut paired) = (OPENED_MS, None, 0, 0);
        for step in steps {
            match step {
                Step::Wait(ms) => now_ms += ms,
                Step::Begin => match open.begin(now_ms) {
                    Ok(token) => {
                        prop_assert!(held.is_none() && wrong < MAX_WRONG_ATTEMPTS && paired == 0);
                        prop_assert!(now_ms < OPENED_MS + CODE_LIFETIME_MS);
                        prop_assert!(open.secret(&token).is_some());
                        held = Some(token);
                    }
                    Err(Refusal::Busy) => prop_assert!(held.is_some()),
                    Err(Refusal::Burnt) => prop_assert!(wrong == MAX_WRONG_ATTEMPTS || paired == 1),
                    Err(Refusal::Expired) => prop_assert!(now_ms >= OPENED_MS + CODE_LIFETIME_MS),
                    Err(Refusal::BackOff { .. }) => prop_assert!(false, "a code has no back-off"),
                },
                Step::Finish(outcome) => {
                    let Some(token) = held.take() else { continue };
                    wrong += u32::from(outcome == Outcome::WrongSecret);
                    paired += u32::from(outcome == Outcome::Paired);
                    open.finish(token, outcome, now_ms);
                }
            }
        }
        prop_assert!(wrong <= MAX_WRONG_ATTEMPTS && paired <= 1);
    }
}
