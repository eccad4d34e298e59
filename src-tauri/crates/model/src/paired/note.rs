//! Notes: short texts that devices send each other, and what a list shows of one.
use std::fmt::{self, Debug, Formatter, Write};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::device::DeviceId;
use crate::text::Text;
use crate::text::misleading::misleads;

/// The text of a note: 1 to [`NoteText::LEN_MAX`] bytes of UTF-8, exactly as it was sent. `Debug`
/// says how long it is, and there is no `Display`: it is shown by [`NoteText::shown`]. Serde keeps
/// it as it is.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline, with = "String"))]
#[serde(try_from = "String", into = "String")]
pub struct NoteText(String);

/// Why a text is no note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotANote {
    /// There is nothing in it.
    Empty,
    /// It is too long.
    TooLong,
    /// It is not UTF-8.
    NotText,
}

/// Characters of the line that a list shows.
const FIRST_LINE_LEN_MAX: usize = 120;

impl NoteText {
    /// The longest, in bytes: pages of prose, or a screen of output, and little enough that keeping
    /// some hundred costs nothing.
    pub const LEN_MAX: usize = 64 * 1024;

    /// Checks the bytes of a text.
    ///
    /// # Errors
    /// [`NotANote`].
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, NotANote> {
        match bytes.len() {
            0 => Err(NotANote::Empty),
            1..=Self::LEN_MAX => String::from_utf8(bytes).map(Self).map_err(|_| NotANote::NotText),
            _ => Err(NotANote::TooLong),
        }
    }

    /// The exact text, to be copied or stored; for people there is [`NoteText::shown`].
    pub fn exact(&self) -> &str {
        &self.0
    }

    /// The text for people: line breaks and tabs stay, and what [`misleads`] is escaped.
    pub fn shown(&self) -> String {
        let mut shown = String::with_capacity(self.0.len());
        let mut rest = self.0.chars().peekable();
        while let Some(c) = rest.next() {
            // Writing to a string does not fail.
            let _ = match c {
                '\r' if rest.peek() == Some(&'\n') => Ok(()),
                '\n' | '\t' => shown.write_char(c),
                '\r' => shown.write_str("\\r"),
                _ if misleads(c) => write!(shown, "{}", c.escape_unicode()),
                _ => shown.write_char(c),
            };
        }
        shown
    }

    /// The first line that has something, cut where it is long; and whether there is more.
    pub fn first_line(&self) -> (Text, bool) {
        let line = self.0.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        let first: String = line.chars().take(FIRST_LINE_LEN_MAX).collect();
        let has_more = first.len() < self.0.trim().len();
        (first.into(), has_more)
    }
}

impl Debug for NoteText {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "NoteText({} bytes)", self.0.len())
    }
}

impl TryFrom<String> for NoteText {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::from_bytes(text.into_bytes()).map_err(|_| "a note is empty or too long")
    }
}

impl From<NoteText> for String {
    fn from(text: NoteText) -> Self {
        text.0
    }
}

#[cfg(feature = "bindings")]
impl specta::Type for NoteText {
    fn definition(types: &mut specta::Types) -> specta::datatype::DataType {
        String::definition(types)
    }
}

/// A note that was received, without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Note {
    /// Its number here. None is used twice.
    pub number: u64,
    /// What the device that sent it is called here.
    pub from: Text,
    /// That device's id.
    pub from_id: DeviceId,
    /// When it arrived, in seconds since 1970.
    #[serde(with = "crate::time::moment")]
    #[cfg_attr(feature = "bindings", specta(type = u32))]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub received_at: SystemTime,
    /// How long its text is.
    pub bytes: u64,
    /// The first line that has something, up to 120 characters, escaped.
    pub first_line: Text,
    /// Whether its text has more than that line.
    pub has_more: bool,
    /// Whether a person here has seen its text.
    pub is_read: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(text: &str) -> NoteText {
        NoteText::from_bytes(text.into()).unwrap()
    }

    #[test]
    fn length_and_encoding_are_bounded() {
        assert_eq!(NoteText::from_bytes(Vec::new()), Err(NotANote::Empty));
        assert_eq!(NoteText::from_bytes(vec![b'a'; NoteText::LEN_MAX + 1]), Err(NotANote::TooLong));
        assert_eq!(NoteText::from_bytes(b"caf\xe9".to_vec()), Err(NotANote::NotText));
        assert!(NoteText::from_bytes(vec![b'a'; NoteText::LEN_MAX]).is_ok());
        assert!(serde_json::from_str::<NoteText>("\"\"").is_err());
    }

    #[test]
    fn text_is_kept_exactly_and_shown_safely() {
        let text = "a\u{202e}b\x1b[2J\r\n\tc\rd\u{0}<b>\u{9b}\n";
        let kept = note(text);
        assert_eq!(kept.exact(), text);
        let back: NoteText = serde_json::from_str(&serde_json::to_string(&kept).unwrap()).unwrap();
        assert_eq!(back, kept);
        assert_eq!(kept.shown(), "a\\u{202e}b\\u{1b}[2J\n\tc\\rd\\u{0}<b>\\u{9b}\n");
        assert_eq!(format!("{kept:?}"), format!("NoteText({} bytes)", text.len()));
    }

    #[test]
    fn first_line_has_something_and_is_short() {
        assert_eq!(note(" \n\t\n  hi \nmore").first_line(), ("hi".into(), true));
        assert_eq!(note("hi\n").first_line(), ("hi".into(), false));
        assert_eq!(note(" \n ").first_line(), ("".into(), false));
        let long = "ä".repeat(FIRST_LINE_LEN_MAX);
        assert_eq!(note(&long).first_line(), (long.as_str().into(), false));
        assert_eq!(note(&format!("{long}ä")).first_line(), (long.as_str().into(), true));
    }
}
