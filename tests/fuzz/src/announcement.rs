//! A device's announcement: any pairs of key and value. What is accepted is equal after it is
//! written and read again.
use super::input::Input;
use ringway_wire::DeviceName;
use ringway_wire::announcement::Announcement;
use ringway_wire::code::CODE_NUMBER_MAX;
use ringway_wire::limits::DEVICE_NAME_MAX;

/// The strings of a TXT record (RFC 6763 section 6.1): each with its length in front, and key and
/// value separated by the first `=`.
pub fn announcement(data: &[u8]) {
    let mut input = Input::new(data);
    let mut pairs = Vec::new();
    while !input.is_empty() {
        let len = input.byte();
        let text = input.take(len.into());
        let at = text.iter().position(|byte| *byte == b'=').unwrap_or(text.len());
        let value = text.get(at + 1..).unwrap_or_default();
        if let Ok(key) = std::str::from_utf8(&text[..at]) {
            pairs.push((key, value));
        }
    }
    let Ok(read) = Announcement::parse(pairs) else { return };
    assert!(read.name.as_str().len() <= DEVICE_NAME_MAX);
    assert_eq!(DeviceName::new(read.name.as_str()).as_ref(), Ok(&read.name));
    assert!(read.code.is_none_or(|number| number <= CODE_NUMBER_MAX));
    let said = read.pairs();
    let again = Announcement::parse(said.iter().map(|(key, value)| (*key, value.as_bytes())));
    assert_eq!(again, Ok(read));
}
