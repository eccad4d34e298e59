//! The secrets that pair two devices, as text and as the PAKE's input: the one-time code of a
//! person, and the standing secret of a script.
use bip39::Language;
use ringway_model::Fault;
use sha2::{Digest, Sha256};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// Bytes of entropy of one code; 31 of the 32 bits are used.
pub const CODE_ENTROPY_LEN: usize = 4;

/// The largest number of a code. Drawn numbers stay below [`NUMBERS_DRAWN`]; people may choose up
/// to three digits.
pub const CODE_NUMBER_MAX: u16 = 999;

/// Numbers that are drawn, 0 to 511. A power of two keeps the draw uniform. They distinguish
/// machines and are not secret.
pub const NUMBERS_DRAWN: u32 = 512;

/// Words in BIP-39's English list. Each has 11 bits, so the two words of a code have 22 bits.
pub const WORDS: u32 = 2048;

/// No two words of the list agree in this many first letters (BIP-39, "Wordlist").
const PREFIX_LEN: usize = 4;

/// The longest word of the list.
const WORD_LEN_MAX: usize = 8;

/// The longest text that is read as a code: 3 digits, two words, and generous white space around
/// and between them.
const CODE_TEXT_MAX: usize = 256;

/// Shortest standing secret, in bytes: 64 bits even when it is written in hexadecimal.
pub const STANDING_SECRET_MIN: usize = 16;

/// Longest standing secret, in bytes. Any key or passphrase fits; a wrong file (an image, a log)
/// does not.
pub const STANDING_SECRET_MAX: usize = 1024;

/// Separates the PAKE's inputs of the two kinds from each other, and from every other use of the
/// same text.
const SECRET_LABEL: &[u8] = b"ringway pairing secret v1";

/// Follows the label if the secret is a standing one.
const STANDING: &[u8] = b"standing";

/// Why a text is not a secret for pairing. It never contains the text, because a mistyped code is
/// nearly the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// It is not a number and two words.
    #[error("a code is a number and two words, as in 42-river-castle")]
    NotACode,
    /// The number has too many digits.
    #[error("a code's number is at most {CODE_NUMBER_MAX}")]
    NumberTooLarge,
    /// A word is neither in the list nor the beginning of exactly one word in it.
    #[error("word {position} of the code is misspelt: no code has it")]
    UnknownWord {
        /// 1 for the first word, 2 for the second.
        position: u8,
    },
    /// A standing secret that could be guessed.
    #[error("a standing secret has at least {STANDING_SECRET_MIN} bytes, this one has {len}")]
    TooShort {
        /// Its length in bytes.
        len: usize,
    },
    /// A standing secret that is probably a wrong file.
    #[error("a standing secret has at most {STANDING_SECRET_MAX} bytes")]
    TooLong,
}

impl From<SecretError> for Fault {
    fn from(error: SecretError) -> Self {
        match error {
            SecretError::UnknownWord { position } => Self::UnknownWord { position },
            SecretError::NumberTooLarge => Self::CodeNumberTooLarge,
            SecretError::NotACode | SecretError::TooShort { .. } | SecretError::TooLong => Self::NotACode,
        }
    }
}

/// A one-time code: a number and two words, as in `42-river-castle`.
///
/// Its canonical text is in lower case with dashes, so that the shown and the typed code give the
/// same secret. It cannot be printed or logged by accident:
///
/// ```compile_fail,E0277
/// let code = ringway_wire::code::PairingCode::from_entropy([0; 4]);
/// println!("{code:?}");
/// ```
/// ```compile_fail,E0277
/// let code = ringway_wire::code::PairingCode::from_entropy([0; 4]);
/// println!("{code}");
/// ```
/// ```
/// let code = ringway_wire::code::PairingCode::from_entropy([0; 4]);
/// println!("{}", code.expose());
/// ```
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct PairingCode {
    number: u16,
    text: String,
}

impl PairingCode {
    /// The code for `entropy`. It is uniform over all codes if `entropy` is uniform over all
    /// values.
    pub fn from_entropy(mut entropy: [u8; CODE_ENTROPY_LEN]) -> Self {
        let mut bits = u32::from_le_bytes(entropy);
        let mut draw = |range: u32| {
            let value = bits % range;
            bits /= range;
            value as usize
        };
        let (first, second) = (draw(WORDS), draw(WORDS));
        let number = draw(NUMBERS_DRAWN) as u16;
        bits.zeroize();
        entropy.zeroize();
        let words = Language::English.word_list();
        Self::assemble(number, words[first], words[second])
    }

    /// The code that a person typed. Upper and lower case, white space around it, and the kind of
    /// dashes, underscores, dots or blanks between its parts do not matter. A word may be shortened
    /// to its first four letters or more, which are unique by BIP-39. Without separators the words
    /// are written in full, and can be told apart in one way only.
    ///
    /// # Errors
    /// [`SecretError::NotACode`], [`SecretError::NumberTooLarge`] or [`SecretError::UnknownWord`].
    pub fn parse(text: &str) -> Result<Self, SecretError> {
        if text.len() > CODE_TEXT_MAX {
            return Err(SecretError::NotACode);
        }
        if let Some(code) = Self::parse_joined(text) {
            return Ok(code);
        }
        let mut parts = text.split(is_separator).filter(|part| !part.is_empty());
        let (Some(number), Some(first), Some(second), None) = (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(SecretError::NotACode);
        };
        let is_word = |part: &str| part.bytes().all(|byte| byte.is_ascii_alphabetic());
        if !number.bytes().all(|byte| byte.is_ascii_digit()) || !is_word(first) || !is_word(second) {
            return Err(SecretError::NotACode);
        }
        let number: u16 =
            number.parse().ok().filter(|&number| number <= CODE_NUMBER_MAX).ok_or(SecretError::NumberTooLarge)?;
        let first = find_word(first).ok_or(SecretError::UnknownWord { position: 1 })?;
        let second = find_word(second).ok_or(SecretError::UnknownWord { position: 2 })?;
        Ok(Self::assemble(number, first, second))
    }

    /// The code whose parts follow each other without a separator at one place or at both. None of
    /// any other text: most of it is a standing secret, and not a code with a typing error.
    fn parse_joined(text: &str) -> Option<Self> {
        let text = text.trim_matches(is_separator);
        let (digits, rest) = text.split_at(text.find(|character: char| !character.is_ascii_digit())?);
        let number = digits.parse().ok().filter(|&number| number <= CODE_NUMBER_MAX)?;
        let mut words = rest.split(is_separator).filter(|part| !part.is_empty());
        let (first, second) = match (words.next()?, words.next(), words.next()) {
            (both, None, _) => split_words(both)?,
            (first, Some(second), None) => (whole_word(first)?, whole_word(second)?),
            _ => return None,
        };
        Some(Self::assemble(number, first, second))
    }

    /// The canonical text, to be shown only to the person who owns this machine.
    pub fn expose(&self) -> &str {
        &self.text
    }

    /// The number in front, which may be announced in public so that senders find the machine.
    pub fn number(&self) -> u16 {
        self.number
    }

    fn assemble(number: u16, first: &str, second: &str) -> Self {
        // Capacity for all of it at once: a string that grows leaves copies of its beginning in
        // freed memory.
        let mut text = String::with_capacity("999".len() + 2 * ("-".len() + WORD_LEN_MAX));
        let digits = Zeroizing::new(number.to_string());
        for part in [&digits, "-", first, "-", second] {
            text.push_str(part);
        }
        Self { number, text }
    }
}

/// White space, and the characters that keyboards, phones and chat programs use for a dash.
fn is_separator(character: char) -> bool {
    character.is_whitespace() || matches!(character, '-' | '_' | '.' | '\u{2010}'..='\u{2015}' | '\u{2212}')
}

/// The word of the list that equals `typed`.
fn whole_word(typed: &str) -> Option<&'static str> {
    find_word(typed).filter(|word| word.len() == typed.len())
}

/// The two words of the list that follow each other in `typed`, if only one pair does: "seatable"
/// is both "sea table" and "seat able".
fn split_words(typed: &str) -> Option<(&'static str, &'static str)> {
    if !typed.is_ascii() || typed.len() > 2 * WORD_LEN_MAX {
        return None;
    }
    let mut pairs = (1..typed.len()).filter_map(|at| Some((whole_word(&typed[..at])?, whole_word(&typed[at..])?)));
    pairs.next().filter(|_| pairs.next().is_none())
}

/// The word of the list that equals `typed`, or else the only one that begins with it.
fn find_word(typed: &str) -> Option<&'static str> {
    if typed.len() > WORD_LEN_MAX {
        return None;
    }
    let typed = Zeroizing::new(typed.to_ascii_lowercase());
    let words = Language::English.word_list();
    // The English list is sorted. So the first word that is not before `typed` is the only one that
    // can equal it or begin with it.
    let word = words[words.partition_point(|&word| word < typed.as_str())..].first()?;
    let enough = word.len() == typed.len() || typed.len() >= PREFIX_LEN;
    (enough && word.starts_with(typed.as_str())).then_some(word)
}

/// A secret that stays valid, for scripts and for machines without a screen: any bytes of
/// sufficient length.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct StandingSecret {
    bytes: Vec<u8>,
}

impl StandingSecret {
    /// The secret in `bytes`, without one newline (LF or CR LF) at its end, which editors and
    /// `echo` add.
    ///
    /// # Errors
    /// [`SecretError::TooShort`] or [`SecretError::TooLong`].
    pub fn new(bytes: &[u8]) -> Result<Self, SecretError> {
        let bytes = bytes.strip_suffix(b"\n").map_or(bytes, |line| line.strip_suffix(b"\r").unwrap_or(line));
        match bytes.len() {
            len if len < STANDING_SECRET_MIN => Err(SecretError::TooShort { len }),
            len if len > STANDING_SECRET_MAX => Err(SecretError::TooLong),
            _ => Ok(Self { bytes: bytes.to_vec() }),
        }
    }
}

/// A secret from a file, an environment variable, standard input or a prompt. Both sides read it by
/// the same rule.
pub enum GivenSecret {
    /// A one-time code.
    Code(PairingCode),
    /// A standing secret.
    Standing(StandingSecret),
}

impl GivenSecret {
    /// A number and two words are a code, or an error if the words do not exist: such text would be
    /// a weak standing secret and is nearly always a typing error. All other text is a standing
    /// secret.
    ///
    /// # Errors
    /// [`SecretError`], by what the text looked like.
    pub fn parse(given: &[u8]) -> Result<Self, SecretError> {
        match std::str::from_utf8(given).map_err(|_| SecretError::NotACode).and_then(PairingCode::parse) {
            Ok(code) => Ok(Self::Code(code)),
            Err(SecretError::NotACode) => StandingSecret::new(given).map(Self::Standing),
            Err(error) => Err(error),
        }
    }

    /// The PAKE's input.
    pub fn to_pairing_secret(&self) -> PairingSecret {
        match self {
            Self::Code(code) => PairingSecret::from(code),
            Self::Standing(secret) => PairingSecret::from(secret),
        }
    }
}

/// The PAKE's input: a digest of either kind of secret, so that the text itself does not leave this
/// module.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct PairingSecret {
    digest: [u8; 32],
    standing: bool,
}

impl PairingSecret {
    fn new(kind: &[u8], text: &[u8]) -> Self {
        let mut hash = Sha256::new();
        for part in [SECRET_LABEL, kind, text] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        Self { digest: hash.finalize().into(), standing: kind == STANDING }
    }

    /// Whether it is a standing secret, and not a code that a person has just read somewhere.
    pub fn is_standing(&self) -> bool {
        self.standing
    }

    pub(crate) fn as_bytes(&self) -> &[u8; 32] {
        &self.digest
    }
}

impl From<&PairingCode> for PairingSecret {
    fn from(code: &PairingCode) -> Self {
        Self::new(b"code", code.text.as_bytes())
    }
}

impl From<&StandingSecret> for PairingSecret {
    fn from(secret: &StandingSecret) -> Self {
        Self::new(STANDING, &secret.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_list_has_the_properties_that_codes_rely_on() {
        let words = Language::English.word_list();
        assert_eq!(words.len(), WORDS as usize);
        assert!(words.is_sorted());
        assert!(words.iter().all(|word| (3..=WORD_LEN_MAX).contains(&word.len())));
        assert!(words.iter().all(|word| word.bytes().all(|byte| byte.is_ascii_lowercase())));
        let mut prefixes: Vec<_> = words.iter().map(|word| &word[..word.len().min(PREFIX_LEN)]).collect();
        prefixes.dedup();
        assert_eq!(prefixes.len(), words.len());
    }

    #[test]
    fn every_word_is_found_by_itself_and_by_its_first_four_letters() {
        for word in Language::English.word_list() {
            assert_eq!(find_word(word), Some(*word));
            assert_eq!(find_word(&word[..word.len().min(PREFIX_LEN)]), Some(*word));
            assert_eq!(find_word(&word.to_ascii_uppercase()), Some(*word));
        }
    }

    #[test]
    fn words_that_are_not_in_the_list_are_not_guessed() {
        for typed in ["riv", "rivr", "rivers", "zzzz", "aaaa", "abandonment", "zooo", "ca", ""] {
            assert_eq!(find_word(typed), None, "{typed}");
        }
    }

    #[test]
    fn a_drawn_code_needs_no_second_allocation() {
        for entropy in [[0; 4], [0xff; 4], [0x12, 0x34, 0x56, 0x78]] {
            let code = PairingCode::from_entropy(entropy);
            assert!(code.text.capacity() <= "999-abcdefgh-abcdefgh".len(), "{}", code.text);
        }
    }

    #[test]
    fn the_same_text_as_a_code_and_as_a_standing_secret_is_two_secrets() {
        let text = "999-abandon-ability";
        let code = PairingSecret::from(&PairingCode::parse(text).unwrap());
        let standing = PairingSecret::from(&StandingSecret::new(text.as_bytes()).unwrap());
        assert_ne!(code.as_bytes(), standing.as_bytes());
    }
}
