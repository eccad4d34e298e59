//! Text and paths that another machine or program chose: escaped wherever they are shown.
pub mod misleading;

use std::ffi::{OsStr, OsString};
use std::fmt::{self, Display, Formatter, Write};
use std::ops::Deref;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use misleading::misleads;

/// Text of a peer, a disk or the system. `Display` and serde escape what [`misleads`], as `\n` or
/// `\u{…}`, so that it can be shown wherever it arrives.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
#[serde(transparent)]
pub struct Text(pub String);

/// A path or name of any bytes (path_resolution(7)). `Display` escapes what [`misleads`], and bytes
/// that are not UTF-8 as `\xNN`. Serde writes the same as `path`, and the bytes in hexadecimal as
/// `path_bytes` where that text is not the path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct PathText(pub PathBuf);

/// A path or name of any bytes: [`PathText`] as it is serialised.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename = "PathText")]
pub struct PathJson {
    /// The path, safe to show.
    pub path: String,
    /// Its bytes in hexadecimal, where `path` had to be escaped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_bytes: Option<String>,
}

fn escape(out: &mut impl Write, text: &str) -> fmt::Result {
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => write!(out, "{}", c.escape_default())?,
            _ if misleads(c) => write!(out, "{}", c.escape_unicode())?,
            _ => out.write_char(c)?,
        }
    }
    Ok(())
}

impl Display for Text {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        escape(f, &self.0)
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<OsStr> for Text {
    fn as_ref(&self) -> &OsStr {
        self.0.as_ref()
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

impl Display for PathText {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for chunk in self.0.as_os_str().as_bytes().utf8_chunks() {
            escape(f, chunk.valid())?;
            chunk.invalid().iter().try_for_each(|byte| write!(f, "\\x{byte:02x}"))?;
        }
        Ok(())
    }
}

impl Serialize for PathText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let path = self.to_string();
        let bytes = self.0.as_os_str().as_bytes();
        let is_shown = path.as_bytes() == bytes;
        let hex = || bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        PathJson { path, path_bytes: (!is_shown).then(hex) }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for PathText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let PathJson { path, path_bytes } = PathJson::deserialize(deserializer)?;
        let bytes = match path_bytes {
            None => path.into_bytes(),
            Some(hex) => {
                bytes_of(&hex).ok_or_else(|| serde::de::Error::custom("path_bytes is not an even number of digits"))?
            }
        };
        // No call of the kernel takes a path with a zero byte.
        if bytes.contains(&0) {
            return Err(serde::de::Error::custom("a path with a zero byte"));
        }
        Ok(Self(OsString::from_vec(bytes).into()))
    }
}

/// The bytes that hexadecimal digits stand for.
pub(crate) fn bytes_of(hex: &str) -> Option<Vec<u8>> {
    let pairs = hex.as_bytes().chunks(2);
    pairs.map(|pair| Some((digit(*pair.first()?)? << 4) | digit(*pair.get(1)?)?)).collect()
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(feature = "bindings")]
impl specta::Type for PathText {
    fn definition(types: &mut specta::Types) -> specta::datatype::DataType {
        PathJson::definition(types)
    }
}

#[cfg(feature = "bindings")]
impl specta::Type for Text {
    fn definition(types: &mut specta::Types) -> specta::datatype::DataType {
        String::definition(types)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for PathText {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        PathJson::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        PathJson::json_schema(generator)
    }
}

impl Deref for PathText {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl AsRef<OsStr> for PathText {
    fn as_ref(&self) -> &OsStr {
        self.0.as_ref()
    }
}

impl AsRef<Path> for PathText {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl From<PathBuf> for PathText {
    fn from(path: PathBuf) -> Self {
        Self(path)
    }
}

impl From<&Path> for PathText {
    fn from(path: &Path) -> Self {
        Self(path.to_owned())
    }
}

impl From<&PathBuf> for PathText {
    fn from(path: &PathBuf) -> Self {
        Self(path.clone())
    }
}

impl From<OsString> for PathText {
    fn from(path: OsString) -> Self {
        Self(path.into())
    }
}

impl From<&OsStr> for PathText {
    fn from(path: &OsStr) -> Self {
        Self(path.into())
    }
}

impl From<String> for PathText {
    fn from(path: String) -> Self {
        Self(path.into())
    }
}

impl From<&str> for PathText {
    fn from(path: &str) -> Self {
        Self(path.into())
    }
}

impl PartialEq<str> for PathText {
    fn eq(&self, other: &str) -> bool {
        self.0 == Path::new(other)
    }
}

impl PartialEq<&str> for PathText {
    fn eq(&self, other: &&str) -> bool {
        self.0 == Path::new(other)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_path_survives_serde_and_is_safe_to_show(bytes in proptest::collection::vec(1..=255_u8, 0..64)) {
            let path = PathText::from(OsString::from_vec(bytes));
            let json = serde_json::to_string(&path).unwrap();
            let shown: PathJson = serde_json::from_str(&json).unwrap();
            prop_assert!(!shown.path.chars().any(misleads), "{json}");
            prop_assert_eq!(serde_json::from_str::<PathText>(&json).unwrap(), path);
        }

        #[test]
        fn no_text_is_serialised_with_a_character_that_misleads(text in "\\PC*|[\u{0}-\u{9f}]*|[\u{2000}-\u{206f}]*") {
            let json = serde_json::to_value(Text(text)).unwrap();
            prop_assert!(!json.as_str().unwrap().chars().any(misleads));
        }
    }

    #[test]
    fn ordinary_names_stay_as_they_are() {
        for name in ["dataset-v3", "Ünïcödé 数据", "a b.txt", "می\u{200c}خواهم", "❤\u{fe0f}", "<img src=x>", "..."]
        {
            assert_eq!(PathText::from(name).to_string(), name);
            assert_eq!(Text::from(name).to_string(), name);
            let json = serde_json::to_value(PathText::from(name)).unwrap();
            assert_eq!(json, serde_json::json!({ "path": name }));
        }
    }

    #[test]
    fn hiding_and_reordering_characters_are_escaped() {
        assert_eq!(Text::from("cod\u{202e}gpj.exe").to_string(), "cod\\u{202e}gpj.exe");
        assert_eq!(PathText::from("a\nb\x1b[2J").to_string(), "a\\nb\\u{1b}[2J");
        let latin = PathText::from(OsStr::from_bytes(b"caf\xe9.txt"));
        assert_eq!(latin.to_string(), "caf\\xe9.txt");
        let json = serde_json::json!({ "path": "caf\\xe9.txt", "path_bytes": "636166e92e747874" });
        assert_eq!(serde_json::to_value(&latin).unwrap(), json);
    }

    #[test]
    fn malformed_bytes_and_zero_bytes_are_rejected() {
        for json in [r#"{"path":"a","path_bytes":"6"}"#, r#"{"path":"a","path_bytes":"6g"}"#, r#"{"path":"a\u0000b"}"#]
        {
            assert!(serde_json::from_str::<PathText>(json).is_err(), "{json}");
        }
    }
}
