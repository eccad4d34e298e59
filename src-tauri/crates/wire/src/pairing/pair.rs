//! Pairing: SPAKE2 inside a TLS channel, bound to both ends' keys and to that channel, with key
//! confirmation both ways. Other modules provide the channel and the entropy, and pin the key.
//!
//! ```text
//! initiator (has been told the secret)         responder (made it, or was given it)
//! Initiator::start            X    ->          Responder::answer
//! ..AwaitingReply::receive         <-    Y
//!                             cA   ->          ..AwaitingConfirmation::receive: Paired, or the end
//! ..AwaitingConfirmation::receive  <-    cB
//! Paired
//! ```
//!
//! - *PAKE*: SPAKE2 (RFC 9382 in substance) by the `spake2` crate over Ed25519's prime-order group,
//!   with the SHA-256 of the two SubjectPublicKeyInfos as identities. Its key is `K`.
//! - *Transcript*: [`PROTOCOL_LABEL`], initiator's id, responder's id, X, Y, each preceded by its
//!   length (`u64` big-endian).
//! - *Confirmation*: `PRK = HKDF-Extract(salt = TLS exporter, K)`; for each direction a key of its
//!   own, `HKDF-Expand(PRK, label || transcript)` with [`INITIATOR_CONFIRMS`] or
//!   [`RESPONDER_CONFIRMS`]; cA and cB are HMAC-SHA256 of the transcript under them.
//!
//! What an attacker gets:
//!
//! - *A listener*: X and Y are uniform whatever the secret is. The confirmations need K, which
//!   needs one of the two scalars.
//! - *A man in the middle* who passes the messages on has two channels with two exporters and two
//!   pairs of ids. Neither end confirms.
//! - *Posing as one end* commits to one guess, in X or in Y, and one confirmation tells whether it
//!   was right. The initiator sends its confirmation first. So an attacker who poses as the
//!   responder tests one guess when a person dials the wrong machine. An attacker who poses as the
//!   initiator has to send a confirmation before it gets one, and [`OpenCode`] counts that.
//!
//! An initiator must therefore not repeat an attempt by itself.
use hkdf::Hkdf;
use hmac::{Hmac, KeyInit, Mac};
use rand_core::{CryptoRng, RngCore};
use sha2::Sha256;
use spake2::{Ed25519Group, Group, Identity, Password, Spake2};
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::code::PairingSecret;

mod open_code;
pub use open_code::{
    AttemptToken, BACK_OFF_FIRST_MS, BACK_OFF_MAX_MS, CODE_LIFETIME_MS, Lifetime, MAX_WRONG_ATTEMPTS, OpenCode,
    Outcome, Refusal, WRONG_FORGOTTEN_MS, back_off_ms,
};

/// The version of this exchange, which is part of the transcript.
pub const PROTOCOL_LABEL: &[u8] = b"ringway-pairing-v1";

/// The label with which both ends ask their TLS session for the exporter value, without a context
/// (RFC 8446 section 7.5).
pub const EXPORTER_LABEL: &[u8] = b"EXPORTER-ringway-pairing-v1";

/// Bytes of exporter value.
pub const EXPORTER_LEN: usize = 32;

/// HKDF info, before the transcript, of the key with which the initiator confirms.
pub const INITIATOR_CONFIRMS: &[u8] = b"ringway-pairing-v1 initiator confirms";

/// HKDF info, before the transcript, of the key with which the responder confirms.
pub const RESPONDER_CONFIRMS: &[u8] = b"ringway-pairing-v1 responder confirms";

/// Bytes of fresh entropy for one attempt: twice a scalar, so that the reduction has no bias.
pub const ENTROPY_LEN: usize = 64;

/// Bytes of a PAKE message: the side's letter and a compressed point.
pub const PAKE_MESSAGE_LEN: usize = 33;

/// Bytes of a confirmation: HMAC-SHA256, not shortened.
pub const CONFIRMATION_LEN: usize = 32;

/// The SHA-256 of a device's SubjectPublicKeyInfo (RFC 5280 section 4.1.2.7), in DER.
pub type PublicKeyHash = [u8; 32];

/// Why a pairing failed. All causes except [`PairError::WrongSecret`] come from a broken or hostile
/// peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PairError {
    /// The two ends do not share the secret, or not the channel. By design, these cannot be told
    /// apart.
    #[error("the code is wrong, or somebody is in between")]
    WrongSecret,
    /// A message of the wrong length or for the other side, or a point outside the group.
    #[error("malformed pairing message")]
    Malformed,
    /// This end's own message came back.
    #[error("our own pairing message came back")]
    Reflected,
    /// Both ends have the same key.
    #[error("a device does not pair with itself")]
    SameDevice,
}

impl PairError {
    /// The outcome of such an attempt for [`OpenCode::finish`]. Only a checked confirmation counts
    /// as a guess.
    pub fn outcome(self) -> Outcome {
        match self {
            Self::WrongSecret => Outcome::WrongSecret,
            Self::Malformed | Self::Reflected | Self::SameDevice => Outcome::Abandoned,
        }
    }
}

/// What a pairing is bound to: the devices at the two ends, and the channel. Both ends fill it in
/// from their own TLS session.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Binding {
    initiator: PublicKeyHash,
    responder: PublicKeyHash,
    exporter: [u8; EXPORTER_LEN],
}

impl Binding {
    /// The binding to the channel between these two devices, whose exporter value has
    /// [`EXPORTER_LABEL`].
    ///
    /// # Errors
    /// [`PairError::SameDevice`] if the two devices are the same.
    pub fn new(
        initiator: PublicKeyHash,
        responder: PublicKeyHash,
        exporter: [u8; EXPORTER_LEN],
    ) -> Result<Self, PairError> {
        if initiator == responder {
            return Err(PairError::SameDevice);
        }
        Ok(Self { initiator, responder, exporter })
    }

    fn identities(&self) -> (Identity, Identity) {
        (Identity::new(&self.initiator), Identity::new(&self.responder))
    }

    /// Both confirmations, initiator's first.
    fn confirmations(&self, key: &[u8], start: &PakeMessage, reply: &PakeMessage) -> (Confirmation, Confirmation) {
        let mut transcript = Vec::new();
        for part in [PROTOCOL_LABEL, &self.initiator, &self.responder, start.as_bytes(), reply.as_bytes()] {
            transcript.extend_from_slice(&(part.len() as u64).to_be_bytes());
            transcript.extend_from_slice(part);
        }
        let hkdf = Hkdf::<Sha256>::new(Some(&self.exporter), key);
        let confirm = |label: &[u8]| {
            let mut mac_key = Zeroizing::new([0; 32]);
            hkdf.expand_multi_info(&[label, &transcript], &mut *mac_key).expect("32 bytes are within HKDF's limit");
            let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(&*mac_key).expect("HMAC takes any key");
            mac.update(&transcript);
            Confirmation { bytes: mac.finalize().into_bytes().into() }
        };
        (confirm(INITIATOR_CONFIRMS), confirm(RESPONDER_CONFIRMS))
    }
}

/// X or Y: a side's letter and a point. Public.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PakeMessage {
    bytes: [u8; PAKE_MESSAGE_LEN],
}

impl PakeMessage {
    /// A message as it was received. Its contents are checked by the state that receives it.
    ///
    /// # Errors
    /// [`PairError::Malformed`] unless it has [`PAKE_MESSAGE_LEN`] bytes.
    pub fn from_slice(bytes: &[u8]) -> Result<Self, PairError> {
        Ok(Self { bytes: bytes.try_into().map_err(|_| PairError::Malformed)? })
    }

    /// The message's bytes on the wire.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn point(&self) -> &[u8] {
        &self.bytes[1..]
    }

    /// Refuses bytes that no honest peer sends: those that are no point, points of small order, and
    /// points outside the prime-order group (where RFC 9382 section 3.3 would multiply by the
    /// cofactor). Every second encoding of a point is among these.
    fn check(&self) -> Result<(), PairError> {
        match Ed25519Group::bytes_to_element(self.point()) {
            Some(point) if !point.is_small_order() && point.is_torsion_free() => Ok(()),
            _ => Err(PairError::Malformed),
        }
    }
}

/// cA or cB: the proof that an end has the same key. Public once sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Confirmation {
    bytes: [u8; CONFIRMATION_LEN],
}

impl Confirmation {
    /// A confirmation as it was received.
    ///
    /// # Errors
    /// [`PairError::Malformed`] unless it has [`CONFIRMATION_LEN`] bytes.
    pub fn from_slice(bytes: &[u8]) -> Result<Self, PairError> {
        Ok(Self { bytes: bytes.try_into().map_err(|_| PairError::Malformed)? })
    }

    /// The confirmation's bytes on the wire.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn matches(&self, other: &Self) -> bool {
        self.bytes.ct_eq(&other.bytes).into()
    }
}

/// Proof that the peer whose key is at the other end of this channel knows the secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a pairing that nobody pins is lost"]
pub struct Paired {
    peer: PublicKeyHash,
}

impl Paired {
    /// The key to pin.
    pub fn peer(&self) -> PublicKeyHash {
        self.peer
    }
}

/// The side that got the secret from a person or script, and dials.
pub struct Initiator(());

impl Initiator {
    /// Begins an attempt. `entropy` must be fresh for each attempt: two attempts with the same
    /// entropy and different secrets would tell a listener these secrets.
    ///
    /// # Panics
    /// If `entropy` is all zeros, because nobody drew it. X would reveal the secret.
    pub fn start(
        secret: &PairingSecret,
        binding: Binding,
        entropy: &[u8; ENTROPY_LEN],
    ) -> (InitiatorAwaitingReply, PakeMessage) {
        let (initiator, responder) = binding.identities();
        let (pake, message) =
            Spake2::start_a_with_rng(&password(secret), &initiator, &responder, OneScalar::new(entropy));
        let start = PakeMessage::from_slice(&message).expect("SPAKE2 over Ed25519 has 33-byte messages");
        (InitiatorAwaitingReply { pake, binding, start }, start)
    }
}

/// The initiator after X.
#[must_use]
pub struct InitiatorAwaitingReply {
    pake: Spake2<Ed25519Group>,
    binding: Binding,
    start: PakeMessage,
}

impl InitiatorAwaitingReply {
    /// Receives Y and returns cA to send.
    ///
    /// # Errors
    /// [`PairError::Reflected`] for this end's own X, whatever side it names;
    /// [`PairError::Malformed`].
    pub fn receive(self, reply: &PakeMessage) -> Result<(InitiatorAwaitingConfirmation, Confirmation), PairError> {
        if reply.point() == self.start.point() {
            return Err(PairError::Reflected);
        }
        reply.check()?;
        let key = Zeroizing::new(self.pake.finish(reply.as_bytes()).map_err(|_| PairError::Malformed)?);
        let (own, expected) = self.binding.confirmations(&key, &self.start, reply);
        Ok((InitiatorAwaitingConfirmation { own, expected, peer: self.binding.responder }, own))
    }
}

/// The initiator after cA.
#[must_use]
pub struct InitiatorAwaitingConfirmation {
    own: Confirmation,
    expected: Confirmation,
    peer: PublicKeyHash,
}

impl InitiatorAwaitingConfirmation {
    /// Receives cB.
    ///
    /// # Errors
    /// [`PairError::Reflected`] for this end's own cA; [`PairError::WrongSecret`].
    pub fn receive(self, confirmation: &Confirmation) -> Result<Paired, PairError> {
        if confirmation.matches(&self.expected) {
            Ok(Paired { peer: self.peer })
        } else if confirmation.matches(&self.own) {
            Err(PairError::Reflected)
        } else {
            Err(PairError::WrongSecret)
        }
    }
}

/// The side that made the secret, or was given it, and is dialled.
pub struct Responder(());

impl Responder {
    /// Receives X and returns Y to send. Y reveals nothing about the secret. `entropy` must be
    /// fresh for each attempt, like the initiator's.
    ///
    /// # Errors
    /// [`PairError::Malformed`]; [`PairError::Reflected`] if X is the Y that this end is about to
    /// send.
    ///
    /// # Panics
    /// If `entropy` is all zeros, because nobody drew it. Y would reveal the secret.
    pub fn answer(
        secret: &PairingSecret,
        binding: Binding,
        start: &PakeMessage,
        entropy: &[u8; ENTROPY_LEN],
    ) -> Result<(ResponderAwaitingConfirmation, PakeMessage), PairError> {
        start.check()?;
        let (initiator, responder) = binding.identities();
        let (pake, message) = Spake2::<Ed25519Group>::start_b_with_rng(
            &password(secret),
            &initiator,
            &responder,
            OneScalar::new(entropy),
        );
        let reply = PakeMessage::from_slice(&message).expect("SPAKE2 over Ed25519 has 33-byte messages");
        if start.point() == reply.point() {
            return Err(PairError::Reflected);
        }
        let key = Zeroizing::new(pake.finish(start.as_bytes()).map_err(|_| PairError::Malformed)?);
        let (expected, own) = binding.confirmations(&key, start, &reply);
        Ok((ResponderAwaitingConfirmation { own, expected, peer: binding.initiator }, reply))
    }
}

/// The responder after Y. It sends its confirmation only after the initiator's was right. So a peer
/// that does not know the secret sees nothing that depends on it.
#[must_use]
pub struct ResponderAwaitingConfirmation {
    own: Confirmation,
    expected: Confirmation,
    peer: PublicKeyHash,
}

impl ResponderAwaitingConfirmation {
    /// Receives cA and returns cB to send.
    ///
    /// # Errors
    /// [`PairError::WrongSecret`].
    pub fn receive(self, confirmation: &Confirmation) -> Result<(Paired, Confirmation), PairError> {
        if confirmation.matches(&self.expected) {
            Ok((Paired { peer: self.peer }, self.own))
        } else {
            Err(PairError::WrongSecret)
        }
    }
}

/// `spake2` keeps copies of the password that it does not zeroize. They are copies of the digest,
/// never of the text.
fn password(secret: &PairingSecret) -> Password {
    Password::new(secret.as_bytes())
}

/// The caller's entropy, as the random number generator from which `spake2` draws its one scalar.
struct OneScalar<'a> {
    rest: &'a [u8],
}

impl<'a> OneScalar<'a> {
    fn new(entropy: &'a [u8; ENTROPY_LEN]) -> Self {
        assert!(entropy.iter().any(|&byte| byte != 0), "pairing without entropy");
        Self { rest: entropy }
    }
}

impl CryptoRng for OneScalar<'_> {}

impl RngCore for OneScalar<'_> {
    fn next_u32(&mut self) -> u32 {
        rand_core::impls::next_u32_via_fill(self)
    }

    fn next_u64(&mut self) -> u64 {
        rand_core::impls::next_u64_via_fill(self)
    }

    fn fill_bytes(&mut self, wanted: &mut [u8]) {
        let (given, rest) = self.rest.split_at_checked(wanted.len()).expect("a scalar takes 64 bytes, once");
        wanted.copy_from_slice(given);
        self.rest = rest;
    }

    fn try_fill_bytes(&mut self, wanted: &mut [u8]) -> Result<(), rand_core::Error> {
        self.fill_bytes(wanted);
        Ok(())
    }
}
