//! TLS records from a peer with the right key and from one without: a record opens only if it is
//! the next one and unchanged, and then yields what was sealed.
use super::input::Input;
use ringway_wire::record::{
    CONTENT_MAX, ContentType, OVERHEAD, Opener, RECORD_MAX, Sealer, Suite, inner_len, record_len,
};

/// An honest sender, whose records are changed, repeated, truncated and mixed with made-up ones on
/// the way.
pub fn record(data: &[u8]) {
    let mut input = Input::new(data);
    let (suite, key_len) = match input.byte() % 3 {
        0 => (Suite::Aes128Gcm, 16),
        1 => (Suite::Aes256Gcm, 32),
        _ => (Suite::ChaCha20Poly1305, 32),
    };
    let (key, iv) = ([0x42; 32], [0x17; 12]);
    let sequence = input.byte().into();
    let mut sealer = Sealer::new(suite, &key[..key_len], iv, sequence).expect("a key of the suite's length");
    let mut opener = Opener::new(suite, &key[..key_len], iv, sequence).expect("a key of the suite's length");
    let mut out = vec![0; RECORD_MAX];
    while !input.is_empty() {
        let kind = [ContentType::Data, ContentType::Alert, ContentType::Handshake][usize::from(input.byte() % 3)];
        match input.byte() % 4 {
            0 | 1 => {
                let content = input.chunk();
                let content = &content[..content.len().min(CONTENT_MAX)];
                let record = seal(&mut sealer, kind, content);
                let opened = opener.open(&record, &mut out);
                if content.is_empty() && kind != ContentType::Data {
                    assert!(opened.is_err(), "an empty record of that kind opened");
                    return;
                }
                assert_eq!(opened, Ok((kind, content.len())));
                assert_eq!(&out[..content.len()], content);
            }
            2 => {
                let mut record = seal(&mut sealer, kind, input.chunk());
                let at = usize::from(input.u16()) % record.len();
                record[at] ^= 1 << (input.byte() % 8);
                assert!(opener.open(&record, &mut out).is_err(), "an altered record opened");
                return;
            }
            _ => {
                let bytes = input.chunk();
                if let Ok(Some(len)) = record_len(bytes) {
                    assert!((OVERHEAD..=RECORD_MAX).contains(&len));
                    assert!(inner_len(len) <= CONTENT_MAX + 1);
                }
                assert!(opener.open(bytes, &mut out).is_err(), "bytes that nobody sealed opened");
                return;
            }
        }
    }
}

fn seal(sealer: &mut Sealer, kind: ContentType, content: &[u8]) -> Vec<u8> {
    let mut record = vec![0; content.len().min(CONTENT_MAX) + OVERHEAD];
    let content = &content[..content.len().min(CONTENT_MAX)];
    let len = sealer.seal(kind, content, &mut record).expect("room for it");
    assert_eq!(record_len(&record), Ok(Some(len)));
    record
}
