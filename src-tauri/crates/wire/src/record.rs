//! TLS 1.3 records under existing keys (RFC 8446 section 5), sealed from where the bytes are and
//! opened to where they belong.
//!
//! A TLS library makes a lane's connection. Then its bulk passes through these two types, because
//! they need no buffer in between: one cipher object for each direction, one pass over the bytes,
//! no allocation. The caller reads and writes whole records.
use aws_lc_rs::aead::{
    self, AES_128_GCM, AES_256_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey,
};
use thiserror::Error;
use zeroize::Zeroizing;

/// The most bytes of content in one record (RFC 8446 section 5.1).
pub const CONTENT_MAX: usize = 16_384;

/// Bytes of a record's header.
pub const HEADER_LEN: usize = 5;

/// Bytes of the tag at its end, for every suite that is used here.
pub const TAG_LEN: usize = 16;

/// The bytes of a record that this program seals in addition to its content: header, content type,
/// tag.
pub const OVERHEAD: usize = HEADER_LEN + 1 + TAG_LEN;

/// Content with its type and padding (RFC 8446 section 5.4).
const INNER_MAX: usize = CONTENT_MAX + 1;

/// The longest record that is accepted. No suite here adds more than the tag, although section 5.2
/// allows more.
pub const RECORD_MAX: usize = HEADER_LEN + INNER_MAX + TAG_LEN;

/// The version in every protected record (RFC 8446 section 5.2).
const VERSION: [u8; 2] = [3, 3];

/// The type in every protected record.
const APPLICATION_DATA: u8 = 23;

/// A cipher suite by its AEAD (RFC 8446 appendix B.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suite {
    /// TLS_AES_128_GCM_SHA256.
    Aes128Gcm,
    /// TLS_AES_256_GCM_SHA384.
    Aes256Gcm,
    /// TLS_CHACHA20_POLY1305_SHA256.
    ChaCha20Poly1305,
}

impl Suite {
    fn algorithm(self) -> &'static aead::Algorithm {
        match self {
            Self::Aes128Gcm => &AES_128_GCM,
            Self::Aes256Gcm => &AES_256_GCM,
            Self::ChaCha20Poly1305 => &CHACHA20_POLY1305,
        }
    }
}

/// The kind of a record's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentType {
    /// Application data.
    Data,
    /// Two bytes: level and description (RFC 8446 section 6).
    Alert,
    /// A handshake message after the handshake: a ticket or a key update.
    Handshake,
}

impl ContentType {
    fn code(self) -> u8 {
        match self {
            Self::Alert => 21,
            Self::Handshake => 22,
            Self::Data => APPLICATION_DATA,
        }
    }
}

/// Why a record is refused. Each reason ends the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum RecordError {
    /// It does not begin with the header of a protected record.
    #[error("no TLS 1.3 record begins here")]
    Header,
    /// It is too long, or too short for its type and tag.
    #[error("a record of {0} bytes")]
    Length(usize),
    /// It does not decrypt: it was altered, is out of order, or belongs to another connection.
    #[error("a record that does not decrypt")]
    Altered,
    /// It decrypts to content that a peer may not send.
    #[error("a record of unknown content")]
    Content,
    /// Every sequence number has been used.
    #[error("the sequence numbers are used up")]
    Exhausted,
    /// The key's length is not the suite's.
    #[error("a key of the wrong length")]
    Key,
}

/// One direction's key, and the number of the next record.
struct Direction {
    key: LessSafeKey,
    iv: Zeroizing<[u8; NONCE_LEN]>,
    sequence: u64,
}

impl Direction {
    fn new(suite: Suite, key: &[u8], iv: [u8; NONCE_LEN], sequence: u64) -> Result<Self, RecordError> {
        let key = UnboundKey::new(suite.algorithm(), key).map_err(|_| RecordError::Key)?;
        Ok(Self { key: LessSafeKey::new(key), iv: Zeroizing::new(iv), sequence })
    }

    /// The next record's nonce (RFC 8446 section 5.3).
    fn nonce(&self) -> Nonce {
        let mut nonce = *self.iv;
        for (byte, number) in nonce[NONCE_LEN - size_of::<u64>()..].iter_mut().zip(self.sequence.to_be_bytes()) {
            *byte ^= number;
        }
        Nonce::assume_unique_for_key(nonce)
    }

    /// Advances the sequence number. The last number is never used, so that no nonce is used twice.
    fn step(&mut self) -> Result<(), RecordError> {
        self.sequence = self.sequence.checked_add(1).ok_or(RecordError::Exhausted)?;
        Ok(())
    }
}

/// Seals one direction's records.
pub struct Sealer(Direction);

impl Sealer {
    /// Continues with record number `sequence`, with a traffic key and its initialisation vector.
    ///
    /// # Errors
    /// [`RecordError::Key`].
    pub fn new(suite: Suite, key: &[u8], iv: [u8; NONCE_LEN], sequence: u64) -> Result<Self, RecordError> {
        Direction::new(suite, key, iv, sequence).map(Self)
    }

    /// The number of the next record: how many records this key has sealed, including those before
    /// this object took over.
    pub fn sequence(&self) -> u64 {
        self.0.sequence
    }

    /// Writes one record to the beginning of `out` and returns its length: that of `content` plus
    /// [`OVERHEAD`].
    ///
    /// # Errors
    /// [`RecordError::Length`] for content above [`CONTENT_MAX`] or an `out` that is too short,
    /// [`RecordError::Exhausted`].
    pub fn seal(&mut self, kind: ContentType, content: &[u8], out: &mut [u8]) -> Result<usize, RecordError> {
        let len = content.len() + OVERHEAD;
        if content.len() > CONTENT_MAX || out.len() < len {
            return Err(RecordError::Length(len));
        }
        let nonce = self.0.nonce();
        self.0.step()?;
        let protected = (len - HEADER_LEN) as u16;
        let [high, low] = protected.to_be_bytes();
        let header = [APPLICATION_DATA, VERSION[0], VERSION[1], high, low];
        let (head, rest) = out[..len].split_at_mut(HEADER_LEN);
        head.copy_from_slice(&header);
        let (body, tail) = rest.split_at_mut(content.len());
        self.0
            .key
            .seal_out_of_place_scatter(nonce, Aad::from(header), content, body, &[kind.code()], tail)
            .map_err(|_| RecordError::Length(len))?;
        Ok(len)
    }
}

/// The whole length, with the header, of the record that begins with these bytes; `None` if there
/// are too few bytes.
///
/// # Errors
/// [`RecordError::Header`] or [`RecordError::Length`] if the bytes cannot become a record.
pub fn record_len(bytes: &[u8]) -> Result<Option<usize>, RecordError> {
    let Some(&[kind, major, minor, high, low]) = bytes.first_chunk::<HEADER_LEN>() else { return Ok(None) };
    if kind != APPLICATION_DATA || [major, minor] != VERSION {
        return Err(RecordError::Header);
    }
    let len = HEADER_LEN + usize::from(u16::from_be_bytes([high, low]));
    if !(OVERHEAD..=RECORD_MAX).contains(&len) {
        return Err(RecordError::Length(len));
    }
    Ok(Some(len))
}

/// Bytes that [`Opener::open`] needs for a record of this length.
pub fn inner_len(record_len: usize) -> usize {
    record_len.saturating_sub(HEADER_LEN + TAG_LEN)
}

/// Opens one direction's records.
pub struct Opener(Direction);

impl Opener {
    /// Begins with record number `sequence`, with a traffic key and its initialisation vector.
    ///
    /// # Errors
    /// [`RecordError::Key`].
    pub fn new(suite: Suite, key: &[u8], iv: [u8; NONCE_LEN], sequence: u64) -> Result<Self, RecordError> {
        Direction::new(suite, key, iv, sequence).map(Self)
    }

    /// Opens a whole record into the beginning of `out`, which must have [`inner_len`] bytes.
    /// Returns the kind and length of the content. Type and padding follow the content in `out` and
    /// may be overwritten.
    ///
    /// # Errors
    /// Any [`RecordError`]. The bytes in `out` must not be used then.
    pub fn open(&mut self, record: &[u8], out: &mut [u8]) -> Result<(ContentType, usize), RecordError> {
        if record_len(record)? != Some(record.len()) {
            return Err(RecordError::Length(record.len()));
        }
        let inner = inner_len(record.len());
        let out = out.get_mut(..inner).ok_or(RecordError::Length(record.len()))?;
        let nonce = self.0.nonce();
        self.0.step()?;
        let (header, protected) = record.split_at(HEADER_LEN);
        let (ciphertext, tag) = protected.split_at(inner);
        self.0
            .key
            .open_separate_gather(nonce, Aad::from(header), ciphertext, tag, out)
            .map_err(|_| RecordError::Altered)?;
        // The type is the last byte that is not padding (RFC 8446 section 5.4).
        let len = out.iter().rposition(|byte| *byte != 0).ok_or(RecordError::Content)?;
        let kind = match out[len] {
            21 => ContentType::Alert,
            22 => ContentType::Handshake,
            APPLICATION_DATA => ContentType::Data,
            _ => return Err(RecordError::Content),
        };
        // These two may not be empty (RFC 8446 section 5.1).
        if len == 0 && kind != ContentType::Data {
            return Err(RecordError::Content);
        }
        Ok((kind, len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KEY: [u8; 32] = [7; 32];
    const IV: [u8; NONCE_LEN] = [9; NONCE_LEN];
    const SUITES: [(Suite, usize); 3] = [(Suite::Aes128Gcm, 16), (Suite::Aes256Gcm, 32), (Suite::ChaCha20Poly1305, 32)];

    fn pair(suite: (Suite, usize), sequence: u64) -> (Sealer, Opener) {
        let key = &KEY[..suite.1];
        (Sealer::new(suite.0, key, IV, sequence).unwrap(), Opener::new(suite.0, key, IV, sequence).unwrap())
    }

    fn sealed(sealer: &mut Sealer, kind: ContentType, content: &[u8]) -> Vec<u8> {
        let mut out = vec![0xee; content.len() + OVERHEAD + 3];
        let len = sealer.seal(kind, content, &mut out).unwrap();
        assert_eq!(out.split_off(len), [0xee; 3], "nothing is written behind it");
        out
    }

    fn opened(opener: &mut Opener, record: &[u8]) -> Result<(ContentType, Vec<u8>), RecordError> {
        let mut out = vec![0; inner_len(record.len())];
        let (kind, len) = opener.open(record, &mut out)?;
        out.truncate(len);
        Ok((kind, out))
    }

    /// A record of a peer that pads.
    fn padded(sealer: &mut Sealer, kind: u8, content: &[u8], padding: usize) -> Vec<u8> {
        let inner = [content, &[kind], &vec![0; padding]].concat();
        let [high, low] = ((inner.len() + TAG_LEN) as u16).to_be_bytes();
        let mut record = vec![APPLICATION_DATA, 3, 3, high, low];
        let nonce = sealer.0.nonce();
        sealer.0.step().unwrap();
        let mut body = inner;
        let aad = Aad::from(<[u8; 5]>::try_from(&record[..]).unwrap());
        sealer.0.key.seal_in_place_append_tag(nonce, aad, &mut body).unwrap();
        record.extend(body);
        record
    }

    proptest! {
        #[test]
        fn sealed_records_open(suite in 0..3usize, content in proptest::collection::vec(any::<u8>(), 0..=CONTENT_MAX), sequence in any::<u32>()) {
            let (mut sealer, mut opener) = pair(SUITES[suite], sequence.into());
            let record = sealed(&mut sealer, ContentType::Data, &content);
            prop_assert_eq!(record_len(&record), Ok(Some(record.len())));
            prop_assert_eq!(opened(&mut opener, &record), Ok((ContentType::Data, content)));
        }

        #[test]
        fn an_altered_record_does_not_open(at in any::<prop::sample::Index>(), bit in 0..8u32, len in 0..200usize) {
            let (mut sealer, mut opener) = pair(SUITES[0], 0);
            let mut record = sealed(&mut sealer, ContentType::Data, &vec![1; len]);
            let at = at.index(record.len());
            record[at] ^= 1 << bit;
            prop_assert!(opened(&mut opener, &record).is_err());
        }

        #[test]
        fn any_bytes_are_refused_and_nothing_panics(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let (_, mut opener) = pair(SUITES[0], 0);
            let mut out = [0; 100];
            prop_assert!(opener.open(&bytes, &mut out).is_err());
        }
    }

    #[test]
    fn the_vector_of_rfc_8448_seals_to_its_bytes() {
        // RFC 8448 section 3: the client's first application data, 50 bytes from 0 to 0x31.
        let key = [0x17, 0x42, 0x2d, 0xda, 0x59, 0x6e, 0xd5, 0xd9, 0xac, 0xd8, 0x90, 0xe3, 0xc6, 0x3f, 0x50, 0x51];
        let iv = [0x5b, 0x78, 0x92, 0x3d, 0xee, 0x08, 0x57, 0x90, 0x33, 0xe5, 0x23, 0xd9];
        let content: Vec<u8> = (0..0x32).collect();
        let mut sealer = Sealer::new(Suite::Aes128Gcm, &key, iv, 0).unwrap();
        let record = sealed(&mut sealer, ContentType::Data, &content);
        let expected = "17030300 43a23f70 54b62c94 d0affafe 8228ba55 cbefacea 42f914aa 66bcab3f 2b9819a8 a5b46b39 \
                        5bd54a9a 20441e2b 62974e1f 5a6292a2 977014bd 1e3deae6 3aeebb21 694915e4";
        let expected: String = expected.chars().filter(|c| !c.is_whitespace()).collect();
        let found: String = record.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn records_open_in_order_and_only_once() {
        let (mut sealer, mut opener) = pair(SUITES[0], 41);
        let (first, second) =
            (sealed(&mut sealer, ContentType::Data, b"1"), sealed(&mut sealer, ContentType::Data, b"2"));
        assert_eq!(sealer.sequence(), 43);
        assert_eq!(opened(&mut pair(SUITES[0], 41).1, &second), Err(RecordError::Altered));
        assert_eq!(opened(&mut opener, &first).unwrap().1, b"1");
        assert_eq!(opened(&mut opener, &first), Err(RecordError::Altered));
    }

    #[test]
    fn padding_is_removed_and_padding_alone_is_refused() {
        let (mut sealer, mut opener) = pair(SUITES[0], 0);
        let record = padded(&mut sealer, 23, b"ends in zero\0", 300);
        assert_eq!(opened(&mut opener, &record), Ok((ContentType::Data, b"ends in zero\0".to_vec())));
        let full = padded(&mut sealer, 23, b"", CONTENT_MAX);
        assert_eq!(opened(&mut opener, &full), Ok((ContentType::Data, Vec::new())));
        let nothing = padded(&mut sealer, 0, b"", 5);
        assert_eq!(opened(&mut opener, &nothing), Err(RecordError::Content));
    }

    #[test]
    fn kinds_are_distinguished_and_others_refused() {
        let (mut sealer, mut opener) = pair(SUITES[0], 0);
        let alert = sealed(&mut sealer, ContentType::Alert, &[1, 0]);
        assert_eq!(opened(&mut opener, &alert), Ok((ContentType::Alert, vec![1, 0])));
        let ticket = sealed(&mut sealer, ContentType::Handshake, &[4]);
        assert_eq!(opened(&mut opener, &ticket), Ok((ContentType::Handshake, vec![4])));
        let empty = sealed(&mut sealer, ContentType::Alert, &[]);
        assert_eq!(opened(&mut opener, &empty), Err(RecordError::Content));
        let other = padded(&mut sealer, 20, &[1], 0);
        assert_eq!(opened(&mut opener, &other), Err(RecordError::Content));
    }

    #[test]
    fn lengths_are_bounded() {
        let (mut sealer, mut opener) = pair(SUITES[0], 0);
        let mut out = vec![0; RECORD_MAX + 1];
        assert!(sealer.seal(ContentType::Data, &[0; CONTENT_MAX + 1], &mut out).is_err());
        assert!(sealer.seal(ContentType::Data, &[0; 10], &mut out[..10 + OVERHEAD - 1]).is_err());
        assert_eq!(sealer.sequence(), 0, "what was not sealed took no number");
        assert_eq!(record_len(&[23, 3, 3, 0]), Ok(None));
        assert_eq!(record_len(&[23, 3, 3, 0, 16]), Err(RecordError::Length(21)));
        assert_eq!(record_len(&[23, 3, 3, 0x40, 0x12]), Err(RecordError::Length(RECORD_MAX + 1)));
        assert_eq!(record_len(&[22, 3, 3, 0, 17]), Err(RecordError::Header));
        assert_eq!(record_len(&[23, 3, 1, 0, 17]), Err(RecordError::Header));
        let record = sealed(&mut sealer, ContentType::Data, b"four");
        assert!(opener.open(&record, &mut [0; 4]).is_err(), "no room for the type");
        assert_eq!(opened(&mut opener, &record).unwrap().1, b"four", "and no number was taken");
    }

    #[test]
    fn the_last_sequence_number_is_not_used() {
        let (mut sealer, _) = pair(SUITES[0], u64::MAX);
        assert_eq!(sealer.seal(ContentType::Data, b"", &mut [0; OVERHEAD]), Err(RecordError::Exhausted));
        assert!(matches!(Sealer::new(Suite::Aes128Gcm, &KEY, IV, 0), Err(RecordError::Key)));
    }
}
