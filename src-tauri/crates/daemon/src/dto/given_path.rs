//! Paths as JSON text that loses nothing: what is not UTF-8, and the percent sign itself, as `%NN`.
use std::ffi::OsString;
use std::fmt::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A path that crosses the control socket whole, whatever bytes it has (path_resolution(7)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenPath(pub PathBuf);

impl From<&Path> for GivenPath {
    fn from(path: &Path) -> Self {
        Self(path.to_owned())
    }
}

impl From<PathBuf> for GivenPath {
    fn from(path: PathBuf) -> Self {
        Self(path)
    }
}

impl Serialize for GivenPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = String::new();
        for chunk in self.0.as_os_str().as_bytes().utf8_chunks() {
            text.push_str(&chunk.valid().replace('%', "%25"));
            for byte in chunk.invalid() {
                // Writing to a String does not fail.
                let _ = write!(text, "%{byte:02X}");
            }
        }
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for GivenPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let mut bytes = Vec::with_capacity(text.len());
        let mut rest = text.as_bytes();
        while let Some((first, behind)) = rest.split_first() {
            rest = behind;
            if *first != b'%' {
                bytes.push(*first);
                continue;
            }
            let digits = rest.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
            let digits = digits.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
            let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
            bytes.push(byte.ok_or_else(|| D::Error::custom("a percent sign without two hexadecimal digits"))?);
            rest = &rest[2..];
        }
        // No call of the kernel's takes one.
        if bytes.contains(&0) {
            return Err(D::Error::custom("a path with a zero byte"));
        }
        Ok(Self(PathBuf::from(OsString::from_vec(bytes))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_path_comes_back_as_it_was(bytes in proptest::collection::vec(1..=255_u8, 0..64)) {
            let path = GivenPath(PathBuf::from(OsString::from_vec(bytes)));
            let text = serde_json::to_string(&path).unwrap();
            prop_assert_eq!(serde_json::from_str::<GivenPath>(&text).unwrap(), path);
        }
    }

    #[test]
    fn readable_paths_stay_readable_and_nonsense_is_refused() {
        let text =
            |path: &[u8]| serde_json::to_string(&GivenPath(PathBuf::from(OsString::from_vec(path.to_vec())))).unwrap();
        assert_eq!(text("/home/Jörg/100% new".as_bytes()), "\"/home/Jörg/100%25 new\"");
        assert_eq!(text(b"caf\xe9"), "\"caf%E9\"");
        for bad in ["%", "%1", "%zz", "%+1", "a%00", "%\u{e9}\u{e9}"] {
            assert!(serde_json::from_value::<GivenPath>(bad.into()).is_err(), "{bad}");
        }
    }
}
