//! Names and paths that a peer may send: any bytes that form one component, or a path of such
//! components that stays beneath.
use ringway_model::misleading::misleads_in_name;

use crate::ProtocolError;
use crate::limits::{DEVICE_NAME_MAX, NAME_MAX, PATH_MAX};

/// One path component: 1 to 255 bytes, no `/`, no NUL, not `.` or `..`. All other bytes are legal
/// on Linux and are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name<'a>(&'a [u8]);

impl<'a> Name<'a> {
    /// Checks one component.
    pub fn new(bytes: &'a [u8]) -> Result<Self, ProtocolError> {
        if bytes.len() > NAME_MAX {
            return Err(ProtocolError::TooLarge { what: "name", value: bytes.len() as u64, limit: NAME_MAX as u64 });
        }
        if matches!(bytes, b"" | b"." | b"..") || bytes.iter().any(|byte| matches!(byte, 0 | b'/')) {
            return Err(ProtocolError::BadName);
        }
        Ok(Self(bytes))
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.0
    }
}

/// A path of [`Name`]s joined by single slashes, at most 4,095 bytes; empty means the transfer's
/// root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RelPath<'a>(&'a [u8]);

impl<'a> RelPath<'a> {
    /// The root of the transfer.
    pub const ROOT: RelPath<'static> = RelPath(b"");

    /// Checks a whole path.
    pub fn new(bytes: &'a [u8]) -> Result<Self, ProtocolError> {
        if bytes.len() > PATH_MAX {
            return Err(ProtocolError::TooLarge { what: "path", value: bytes.len() as u64, limit: PATH_MAX as u64 });
        }
        if !bytes.is_empty() {
            bytes.split(|byte| *byte == b'/').try_for_each(|part| Name::new(part).map(drop))?;
        }
        Ok(Self(bytes))
    }

    /// The bytes, without a leading or trailing slash.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.0
    }

    /// Whether this is the transfer's root.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The components from the top.
    pub fn components(&self) -> impl Iterator<Item = Name<'a>> + use<'a> {
        self.0.split(|byte| *byte == b'/').filter(|part| !part.is_empty()).map(Name)
    }

    /// The first component and the rest.
    pub fn split_first(&self) -> Option<(Name<'a>, RelPath<'a>)> {
        if self.0.is_empty() {
            return None;
        }
        match self.0.iter().position(|byte| *byte == b'/') {
            Some(at) => Some((Name(&self.0[..at]), RelPath(&self.0[at + 1..]))),
            None => Some((Name(self.0), RelPath(b""))),
        }
    }

    /// The path up to the last component, and that component.
    pub fn split_last(&self) -> Option<(RelPath<'a>, Name<'a>)> {
        if self.0.is_empty() {
            return None;
        }
        match self.0.iter().rposition(|byte| *byte == b'/') {
            Some(at) => Some((RelPath(&self.0[..at]), Name(&self.0[at + 1..]))),
            None => Some((RelPath(b""), Name(self.0))),
        }
    }

    /// This path with one more component, as owned bytes; refused if it is too long.
    pub fn join(&self, name: Name<'_>) -> Result<Vec<u8>, ProtocolError> {
        let mut joined = Vec::with_capacity(self.0.len() + 1 + name.0.len());
        joined.extend_from_slice(self.0);
        if !joined.is_empty() {
            joined.push(b'/');
        }
        joined.extend_from_slice(name.0);
        if joined.len() > PATH_MAX {
            return Err(ProtocolError::TooLarge { what: "path", value: joined.len() as u64, limit: PATH_MAX as u64 });
        }
        Ok(joined)
    }
}

/// Text with at least this many hex digits reads as the beginning of a device's id. People do not
/// shorten ids further.
pub const ID_DIGITS_MIN: usize = 8;

/// The name that a device gives itself: 1 to 64 bytes of UTF-8 without misleading characters, with
/// single blanks inside only, and not readable as an id or an address. It is still untrusted text
/// and does not prove which device it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceName(String);

impl DeviceName {
    /// Checks a device's name.
    pub fn new(text: &str) -> Result<Self, ProtocolError> {
        let len = text.len();
        if len > DEVICE_NAME_MAX {
            let limit = DEVICE_NAME_MAX as u64;
            return Err(ProtocolError::TooLarge { what: "device name", value: len as u64, limit });
        }
        if text.is_empty() || text.trim() != text || text.contains("  ") || text.chars().any(misleads_in_name) {
            return Err(ProtocolError::BadText);
        }
        if reads_as_id(text) || reads_as_address(text) {
            return Err(ProtocolError::MisleadingName);
        }
        Ok(Self(text.to_owned()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The digits, in lower case, of text that reads as a device's id or its beginning: 8 or more hex
/// digits, with dashes anywhere between them.
pub fn hex_digits(text: &str) -> Option<String> {
    let digits: String = text.chars().filter(|c| *c != '-').map(|c| c.to_ascii_lowercase()).collect();
    let is_id = digits.len() >= ID_DIGITS_MIN && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then_some(digits)
}

/// Whether text reads as a device's id or the beginning of one.
pub fn reads_as_id(text: &str) -> bool {
    hex_digits(text).is_some()
}

/// Whether text reads as an address: it has a colon or a dot, as every literal address has.
pub fn reads_as_address(text: &str) -> bool {
    // inet_aton(3) reads a number of 32 bits as an address. Without the prefix it reads as an id.
    let is_number = || {
        let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
        digits.is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
    };
    text.contains([':', '.']) || is_number()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_names_that_leave_the_folder() {
        for bad in [&b""[..], b".", b"..", b"a/b", b"/", b"a\0b", &[b'x'; 256]] {
            assert!(Name::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn passes_odd_names_that_linux_allows() {
        for good in
            [&b"a..b"[..], b"CON", b"x:", b"end.", b"...", b"\x1b[2J", b"line\nbreak", b"\xff\xfe", &[b'x'; 255]]
        {
            assert_eq!(Name::new(good).unwrap().as_bytes(), good);
        }
    }

    #[test]
    fn refuses_paths_that_leave_the_destination() {
        for bad in [&b"/"[..], b"/etc", b"a/../b", b"..", b"a//b", b"a/", b"./a", b"a/.", b"a/\0"] {
            assert!(RelPath::new(bad).is_err(), "{bad:?}");
        }
        assert!(RelPath::new(&[b'x'; 4096]).is_err());
    }

    #[test]
    fn splits_and_joins() {
        let path = RelPath::new(b"a/b/c").unwrap();
        assert_eq!(path.split_first().unwrap().0.as_bytes(), b"a");
        assert_eq!(path.split_first().unwrap().1.as_bytes(), b"b/c");
        assert_eq!(path.split_last().unwrap().0.as_bytes(), b"a/b");
        assert_eq!(path.components().count(), 3);
        assert_eq!(RelPath::ROOT.join(Name::new(b"a").unwrap()).unwrap(), b"a");
        assert_eq!(path.join(Name::new(b"d").unwrap()).unwrap(), b"a/b/c/d");
        assert!(RelPath::ROOT.split_first().is_none());
        assert_eq!(RelPath::ROOT.components().count(), 0);
    }

    #[test]
    fn a_device_name_cannot_play_tricks_on_a_terminal() {
        for bad in ["", " a", "a ", "lab  ws", "a\nb", "\u{1b}[31m", "a\u{202e}b", "a\u{200b}b", &"x".repeat(65)] {
            assert!(DeviceName::new(bad).is_err(), "{bad:?}");
        }
        assert!(DeviceName::new("lab-ws").is_ok());
        assert!(DeviceName::new("lab ws 2").is_ok());
        assert!(DeviceName::new("Übung 日本").is_ok());
    }

    #[test]
    fn a_device_name_has_no_invisible_or_blank_characters() {
        let invisible =
            "\u{ad}\u{34f}\u{180e}\u{2800}\u{3164}\u{fe0f}\u{e0041}\u{200c}\u{200d}\u{a0}\u{3000}\u{13441}\u{13442}";
        for c in invisible.chars() {
            assert_eq!(DeviceName::new(&format!("n{c}as")), Err(ProtocolError::BadText), "{}", c.escape_unicode());
        }
    }

    #[test]
    fn a_name_that_reads_as_an_id_is_refused() {
        for bad in ["abababab", "ABAB-abab", "12345678", "3f2b1c9d8e7f", "-abab-abab-", &"f".repeat(64)] {
            assert_eq!(DeviceName::new(bad), Err(ProtocolError::MisleadingName), "{bad}");
        }
        for good in ["abababa", "abc-1234", "abababag", "cafe", "1234567", "0xenon"] {
            assert!(DeviceName::new(good).is_ok(), "{good}");
        }
    }

    #[test]
    fn a_name_that_reads_as_an_address_is_refused() {
        for bad in ["10.0.0.1", "10.0.0.1:5", "::1", "[::1]:5", "nas.lan", "nas:1", "nas.", "0x7f000005", "0X0"] {
            assert_eq!(DeviceName::new(bad), Err(ProtocolError::MisleadingName), "{bad}");
        }
    }
}
