//! The receiving side's state of one open secret: how long it is open, how many attempts it allows,
//! and how many at a time.
use std::sync::{Arc, Weak};

use crate::code::PairingSecret;

/// How long a one-time code is open, in milliseconds: enough to walk to the other machine, too
/// short for much guessing.
pub const CODE_LIFETIME_MS: u64 = 10 * 60 * 1000;

/// Wrong attempts that burn a one-time code. A person may make two typing errors, and a guesser has
/// 3 chances in 2^22.
pub const MAX_WRONG_ATTEMPTS: u32 = 3;

/// The wait after the first wrong attempt at a standing secret, in milliseconds. It doubles with
/// each further one.
pub const BACK_OFF_FIRST_MS: u64 = 1000;

/// The longest wait after a wrong attempt at a standing secret, in milliseconds. A guesser gets
/// fewer than 300 attempts a day. A peer with the right secret is kept out by them no longer than
/// this at a time.
pub const BACK_OFF_MAX_MS: u64 = 5 * 60 * 1000;

/// Wrong attempts at a standing secret are forgotten after this long without one, in milliseconds.
/// Right attempts do not reset them, because a guesser could guess between them. Nine attempts take
/// a guesser eight and a half minutes. With this pause after them that is 190 attempts a day.
pub const WRONG_FORGOTTEN_MS: u64 = 60 * 60 * 1000;

/// The kind of the open secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// A code: it expires, and one success or [`MAX_WRONG_ATTEMPTS`] failures burn it.
    OneTime,
    /// A standing secret: it does neither, but after wrong attempts everybody has to wait.
    Standing,
}

/// Why no attempt may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The code is older than [`CODE_LIFETIME_MS`].
    #[error("the code has expired")]
    Expired,
    /// The code was used, or was tried wrongly too often.
    #[error("the code has been used up")]
    Burnt,
    /// Another attempt is under way.
    #[error("another device is pairing")]
    Busy,
    /// There were wrong attempts before this one.
    #[error("too many wrong attempts: wait {ms} ms")]
    BackOff {
        /// Milliseconds to wait.
        ms: u64,
    },
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Both ends have stored each other's key.
    Paired,
    /// The initiator's confirmation was checked and was wrong: a guess, or a typing error.
    WrongSecret,
    /// The attempt ended without testing a guess: malformed, cut, timed out, or given up, even
    /// after a right confirmation.
    Abandoned,
}

/// The right to run one attempt, which [`OpenCode::finish`] takes back. If it is dropped instead,
/// its attempt ends uncounted.
#[derive(Debug)]
#[must_use = "an attempt lasts as long as its token"]
pub struct AttemptToken {
    /// Serves as an identity: no other token has the same allocation.
    identity: Arc<()>,
}

impl PartialEq for AttemptToken {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.identity, &other.identity)
    }
}

/// One open secret. Times are milliseconds of any clock that never goes back and does not stop in
/// suspend.
///
/// An attempt that is abandoned before the initiator's confirmation is not counted, because it
/// reveals nothing. The peer has only seen Y = yG + wN. For a fresh y, Y is uniform whatever the
/// secret w is, and without y or a confirmation a guess of w cannot be tested. If such attempts
/// counted, three cut connections of a stranger would burn a code.
///
/// Otherwise many attempts could all get their Y and then send their guesses at once.
/// [`Refusal::Busy`] prevents that: a wrong confirmation is counted before the next attempt can
/// begin. The price is that a stranger can keep a code busy, for as long as the owner of the
/// [`OpenCode`] lets an attempt take.
pub struct OpenCode {
    /// `None` once burnt or expired: an unusable secret is not kept.
    secret: Option<PairingSecret>,
    closed: Refusal,
    lifetime: Lifetime,
    opened_ms: u64,
    life_ms: u64,
    wrong_attempts: u32,
    last_wrong_ms: u64,
    not_before_ms: u64,
    in_flight: Weak<()>,
}

impl OpenCode {
    /// Opens `secret`.
    pub fn new(secret: PairingSecret, now_ms: u64, lifetime: Lifetime) -> Self {
        Self {
            secret: Some(secret),
            closed: Refusal::Burnt,
            lifetime,
            opened_ms: now_ms,
            life_ms: CODE_LIFETIME_MS,
            wrong_attempts: 0,
            last_wrong_ms: 0,
            not_before_ms: 0,
            in_flight: Weak::new(),
        }
    }

    /// Makes a one-time code expire `life_ms` after its opening. The lifetime is never extended.
    pub fn shorten(&mut self, life_ms: u64) {
        self.life_ms = self.life_ms.min(life_ms);
    }

    /// Whether an attempt could begin now, and if not, why.
    ///
    /// # Errors
    /// The [`Refusal`] that [`OpenCode::begin`] would give.
    pub fn check(&self, now_ms: u64) -> Result<(), Refusal> {
        if self.secret.is_none() {
            return Err(self.closed);
        }
        if self.expires_in_ms(now_ms) == Some(0) {
            return Err(Refusal::Expired);
        }
        if self.is_busy() {
            return Err(Refusal::Busy);
        }
        match self.not_before_ms.saturating_sub(now_ms) {
            0 => Ok(()),
            ms => Err(Refusal::BackOff { ms }),
        }
    }

    /// Begins an attempt.
    ///
    /// # Errors
    /// A [`Refusal`]. An expired code stays expired, and its secret is erased.
    pub fn begin(&mut self, now_ms: u64) -> Result<AttemptToken, Refusal> {
        self.check(now_ms).inspect_err(|refusal| {
            if *refusal == Refusal::Expired && !self.is_busy() {
                self.close(Refusal::Expired);
            }
        })?;
        let identity = Arc::new(());
        self.in_flight = Arc::downgrade(&identity);
        Ok(AttemptToken { identity })
    }

    /// The secret, for the running attempt. `None` if `attempt` belongs to another code.
    pub fn secret(&self, attempt: &AttemptToken) -> Option<&PairingSecret> {
        self.secret.as_ref().filter(|_| self.began(attempt))
    }

    /// Whether an attempt may still pair: it belongs to this code, which has neither expired nor
    /// was closed since.
    pub fn may_conclude(&self, attempt: &AttemptToken, now_ms: u64) -> bool {
        self.secret(attempt).is_some() && self.expires_in_ms(now_ms) != Some(0)
    }

    /// Ends an attempt. To be called before the peer gets the verdict. The token of a code that
    /// this one has replaced has no effect.
    pub fn finish(&mut self, attempt: AttemptToken, outcome: Outcome, now_ms: u64) {
        if !self.began(&attempt) {
            return;
        }
        self.in_flight = Weak::new();
        match (outcome, self.lifetime) {
            (Outcome::Abandoned, _) | (Outcome::Paired, Lifetime::Standing) => {}
            (Outcome::Paired, Lifetime::OneTime) => self.close(Refusal::Burnt),
            (Outcome::WrongSecret, lifetime) => {
                let quiet_ms = now_ms.saturating_sub(self.last_wrong_ms);
                if lifetime == Lifetime::Standing && quiet_ms >= WRONG_FORGOTTEN_MS {
                    self.wrong_attempts = 0;
                }
                self.last_wrong_ms = now_ms;
                self.wrong_attempts = self.wrong_attempts.saturating_add(1);
                match lifetime {
                    Lifetime::OneTime if self.wrong_attempts >= MAX_WRONG_ATTEMPTS => self.close(Refusal::Burnt),
                    Lifetime::OneTime => {}
                    Lifetime::Standing => self.not_before_ms = now_ms.saturating_add(back_off_ms(self.wrong_attempts)),
                }
            }
        }
    }

    /// Wrong attempts that are left. `None` for a standing secret, which has no such limit.
    pub fn attempts_left(&self) -> Option<u32> {
        match self.lifetime {
            Lifetime::OneTime if self.secret.is_none() => Some(0),
            Lifetime::OneTime => Some(MAX_WRONG_ATTEMPTS - self.wrong_attempts),
            Lifetime::Standing => None,
        }
    }

    /// Milliseconds until the code expires, 0 if it has expired. `None` for a standing secret.
    pub fn expires_in_ms(&self, now_ms: u64) -> Option<u64> {
        match self.lifetime {
            Lifetime::OneTime => Some(self.life_ms.saturating_sub(now_ms.saturating_sub(self.opened_ms))),
            Lifetime::Standing => None,
        }
    }

    fn is_busy(&self) -> bool {
        self.in_flight.strong_count() > 0
    }

    fn began(&self, attempt: &AttemptToken) -> bool {
        std::ptr::eq(self.in_flight.as_ptr(), Arc::as_ptr(&attempt.identity))
    }

    fn close(&mut self, why: Refusal) {
        self.secret = None;
        self.closed = why;
    }
}

/// How long a standing secret is closed after this many wrong attempts, in milliseconds.
pub fn back_off_ms(wrong_attempts: u32) -> u64 {
    match wrong_attempts {
        0 => 0,
        attempts => 2u64.saturating_pow(attempts - 1).saturating_mul(BACK_OFF_FIRST_MS).min(BACK_OFF_MAX_MS),
    }
}
