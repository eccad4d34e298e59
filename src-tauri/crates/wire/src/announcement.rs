//! What a receiver announces on the local network, as the TXT record of a DNS-SD service (RFC
//! 6763). This module writes, reads and bounds it. An announcement is a hint and is never trusted,
//! because anyone on the network may announce anything. The engine sends announcements and listens
//! for them.
use ringway_model::DeviceKind;

use crate::ProtocolError;
use crate::code::CODE_NUMBER_MAX;
use crate::limits::{ANNOUNCED_PAIRS_MAX, ANNOUNCED_TEXT_MAX, VERSION};
use crate::name::DeviceName;

/// The service's type and domain.
pub const SERVICE: &str = "_ringway._tcp.local.";

/// Bytes of a fingerprint.
const FINGERPRINT_LEN: usize = 8;

/// The beginning of a device's id: long enough to recognise a device, far too short to trust it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; FINGERPRINT_LEN]);

impl Fingerprint {
    /// The fingerprint of the device with that id.
    pub fn of(id: &[u8; 32]) -> Self {
        let mut beginning = [0; FINGERPRINT_LEN];
        beginning.copy_from_slice(&id[..FINGERPRINT_LEN]);
        Self(beginning)
    }

    /// The fingerprint as 16 hexadecimal digits.
    pub fn to_hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The fingerprint as people compare it: groups of four digits.
    pub fn short(&self) -> String {
        let hex = self.to_hex();
        format!("{}-{}-{}-{}", &hex[0..4], &hex[4..8], &hex[8..12], &hex[12..16])
    }

    /// Reads 16 hexadecimal digits.
    ///
    /// # Errors
    /// [`ProtocolError::BadValue`] for anything else.
    pub fn parse(text: &str) -> Result<Self, ProtocolError> {
        let bad = ProtocolError::BadValue("fingerprint");
        if text.len() != 2 * FINGERPRINT_LEN || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(bad);
        }
        u64::from_str_radix(text, 16).map(|value| Self(value.to_be_bytes())).map_err(|_| bad)
    }
}

/// Device kinds and their names in an announcement.
const KINDS: [(DeviceKind, &str); 4] = [
    (DeviceKind::Laptop, "laptop"),
    (DeviceKind::Desktop, "desktop"),
    (DeviceKind::Server, "server"),
    (DeviceKind::Other, "other"),
];

fn announced_kind(kind: DeviceKind) -> &'static str {
    KINDS.iter().find(|(known, _)| *known == kind).map_or("other", |(_, text)| text)
}

/// A kind that is newer than this program counts as "other".
fn parse_kind(text: &str) -> DeviceKind {
    KINDS.iter().find(|(_, known)| *known == text).map_or(DeviceKind::Other, |(kind, _)| *kind)
}

/// What a receiver tells everyone about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announcement {
    /// The protocol's version that it speaks.
    pub version: u16,
    /// The name that it gives itself.
    pub name: DeviceName,
    /// The beginning of its id.
    pub fingerprint: Fingerprint,
    /// The kind of machine.
    pub kind: DeviceKind,
    /// The number in front of its open code, if there is one.
    pub code: Option<u16>,
}

impl Announcement {
    /// The announcement of a device that speaks this version.
    pub fn new(name: DeviceName, id: &[u8; 32], kind: DeviceKind, code: Option<u16>) -> Self {
        Self { version: VERSION, name, fingerprint: Fingerprint::of(id), kind, code }
    }

    /// Keys and values for the record. RFC 6763 section 6.7 requires the version first.
    pub fn pairs(&self) -> Vec<(&'static str, String)> {
        let mut pairs = vec![
            ("txtvers", self.version.to_string()),
            ("id", self.fingerprint.to_hex()),
            ("name", self.name.as_str().to_owned()),
            ("kind", announced_kind(self.kind).to_owned()),
        ];
        pairs.extend(self.code.map(|number| ("code", number.to_string())));
        pairs
    }

    /// Reads a record's keys and values. Unknown keys are ignored, and the first of two equal keys
    /// counts (RFC 6763 section 6.4).
    ///
    /// # Errors
    /// If there is more than an honest device announces, or if a necessary value is missing or not
    /// acceptable.
    pub fn parse<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Result<Self, ProtocolError> {
        const KEYS: [&str; 5] = ["txtvers", "id", "name", "kind", "code"];
        let mut values: [Option<&str>; KEYS.len()] = [None; KEYS.len()];
        for (count, (key, value)) in pairs.into_iter().enumerate() {
            within("announced pairs", count + 1, ANNOUNCED_PAIRS_MAX)?;
            let Some(known) = KEYS.iter().position(|known| known.eq_ignore_ascii_case(key)) else { continue };
            within("announced text", value.len(), ANNOUNCED_TEXT_MAX)?;
            let text = std::str::from_utf8(value).map_err(|_| ProtocolError::BadText)?;
            values[known].get_or_insert(text);
        }
        let [version, fingerprint, name, kind, code] = values;
        let code = code.map(|text| number(text).filter(|number| *number <= CODE_NUMBER_MAX));
        Ok(Self {
            version: version.and_then(number).ok_or(ProtocolError::BadValue("announced version"))?,
            fingerprint: Fingerprint::parse(fingerprint.unwrap_or_default())?,
            name: DeviceName::new(name.unwrap_or_default())?,
            kind: kind.map_or(DeviceKind::Other, parse_kind),
            code: code.map(|code| code.ok_or(ProtocolError::BadValue("code's number"))).transpose()?,
        })
    }
}

fn within(what: &'static str, value: usize, limit: usize) -> Result<(), ProtocolError> {
    let too_large = ProtocolError::TooLarge { what, value: value as u64, limit: limit as u64 };
    if value > limit { Err(too_large) } else { Ok(()) }
}

/// Digits and nothing else. `parse` alone would also accept a sign.
fn number(text: &str) -> Option<u16> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn announcement(code: Option<u16>) -> Announcement {
        Announcement::new(DeviceName::new("lab-ws").unwrap(), &[0xab; 32], DeviceKind::Server, code)
    }

    fn parse(pairs: &[(&str, &str)]) -> Result<Announcement, ProtocolError> {
        Announcement::parse(pairs.iter().map(|(key, value)| (*key, value.as_bytes())))
    }

    /// The pairs of an honest device, with `key` set to `value`, or without `key`.
    fn with(key: &'static str, value: Option<&str>) -> Result<Announcement, ProtocolError> {
        let honest = announcement(Some(42)).pairs();
        let mut pairs: Vec<_> = honest.iter().map(|(key, value)| (*key, value.as_str())).collect();
        pairs.retain(|(other, _)| *other != key);
        pairs.extend(value.map(|value| (key, value)));
        parse(&pairs)
    }

    #[test]
    fn announcements_are_read_back() {
        for code in [None, Some(0), Some(CODE_NUMBER_MAX)] {
            let said = announcement(code);
            let pairs = said.pairs();
            let pairs: Vec<_> = pairs.iter().map(|(key, value)| (*key, value.as_str())).collect();
            assert_eq!(parse(&pairs), Ok(said));
        }
        assert_eq!(announcement(None).pairs()[0], ("txtvers", VERSION.to_string()));
        assert_eq!(announcement(None).fingerprint.to_hex(), "ab".repeat(8));
    }

    #[test]
    fn incomplete_or_misleading_announcements_are_refused() {
        for key in ["txtvers", "id", "name"] {
            assert!(with(key, None).is_err(), "without {key}");
            assert!(with(key, Some("")).is_err(), "empty {key}");
        }
        for (key, value) in [
            ("id", "abababababababa"),
            ("id", "+babababababab1a"),
            ("id", "ababababababababab"),
            ("name", "a\u{202e}b"),
            ("name", "a\nb"),
            ("name", " a"),
            ("name", &"x".repeat(65)),
            ("txtvers", "+1"),
            ("txtvers", "65536"),
            ("code", "1000"),
            ("code", "-1"),
            ("code", "7-river-canal"),
            ("code", ""),
        ] {
            assert!(with(key, Some(value)).is_err(), "{key}={value:?}");
        }
        let not_utf8 = [("txtvers", &b"1"[..]), ("id", b"abababababababab"), ("name", b"\xff")];
        assert_eq!(Announcement::parse(not_utf8), Err(ProtocolError::BadText));
    }

    #[test]
    fn unknown_keys_are_ignored_and_the_first_of_two_counts() {
        assert_eq!(with("kind", Some("fridge")).unwrap().kind, DeviceKind::Other);
        assert_eq!(with("kind", None).unwrap().kind, DeviceKind::Other);
        assert_eq!(with("code", None).unwrap().code, None);
        assert_eq!(with("txtvers", Some("2")).unwrap().version, 2);
        assert_eq!(with("colour", Some(&"x".repeat(10_000))).unwrap(), announcement(Some(42)));
        let twice = [
            ("txtvers", "1"),
            ("ID", "abababababababab"),
            ("name", "lab-ws"),
            ("Name", "other"),
            ("code", "7"),
            ("code", "8"),
        ];
        let read = parse(&twice).unwrap();
        assert_eq!((read.name.as_str(), read.code), ("lab-ws", Some(7)));
    }

    #[test]
    fn announcements_have_limits() {
        let pairs = vec![("x", ""); ANNOUNCED_PAIRS_MAX + 1];
        assert!(matches!(parse(&pairs), Err(ProtocolError::TooLarge { what: "announced pairs", .. })));
        let long = "1".repeat(ANNOUNCED_TEXT_MAX + 1);
        assert!(matches!(with("kind", Some(&long)), Err(ProtocolError::TooLarge { what: "announced text", .. })));
    }
}
