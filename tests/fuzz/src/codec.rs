//! The control codec: an accepted message is written again exactly as it was read.
use ringway_wire::control::{FRAME_PREFIX_LEN, Message};
use ringway_wire::limits::CONTROL_FRAME_MAX;

/// Reads the input as one message's payload, and its first bytes as a frame's prefix.
pub fn codec(data: &[u8]) {
    if let Some(prefix) = data.first_chunk::<FRAME_PREFIX_LEN>()
        && let Ok(len) = Message::payload_len(*prefix)
    {
        assert!(len <= CONTROL_FRAME_MAX && len == u32::from_le_bytes(*prefix) as usize);
    }
    let Ok(message) = Message::decode(data) else {
        return;
    };
    let mut frame = Vec::new();
    message.encode(&mut frame);
    let (prefix, payload) = frame.split_first_chunk::<FRAME_PREFIX_LEN>().expect("a frame has a prefix");
    assert_eq!(Message::payload_len(*prefix), Ok(payload.len()), "{}", message.kind());
    assert_eq!(payload, data, "{} has two encodings", message.kind());
    assert_eq!(Message::decode(payload).as_ref(), Ok(&message));
}
