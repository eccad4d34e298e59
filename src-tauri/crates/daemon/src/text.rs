//! Makes names and paths safe to show, where they are not of a type of the model that does so
//! itself.
use std::ffi::OsStr;

use ringway_model::{PathText, Text};

/// A path or name as text: bytes that are not UTF-8 as `\xNN`, controls and characters that reorder
/// or hide text as `\u{…}`.
pub fn shown(name: impl AsRef<OsStr>) -> String {
    PathText::from(name.as_ref()).to_string()
}

/// The same for text.
pub fn shown_text(text: &str) -> String {
    Text::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn ordinary_names_stay_as_they_are() {
        for name in [
            "dataset-v3",
            "Ünïcödé 数据",
            "a b.txt",
            "می\u{200c}خواهم",
            "❤\u{fe0f}",
            "<img src=x onerror=alert(1)>",
            "{{7*7}}",
            "...",
        ] {
            assert_eq!(shown(name), name);
        }
    }

    #[test]
    fn what_hides_or_reorders_is_spelt_out() {
        assert_eq!(shown("cod\u{202e}gpj.exe"), "cod\\u{202e}gpj.exe");
        assert_eq!(shown("a\nb\x1b[2J"), "a\\nb\\u{1b}[2J");
        assert_eq!(shown("zero\u{200b}width"), "zero\\u{200b}width");
        assert_eq!(shown("n\u{ad}a\u{3164}s\u{e0041}"), "n\\u{ad}a\\u{3164}s\\u{e0041}");
        assert_eq!(shown(OsStr::from_bytes(b"caf\xe9.txt")), "caf\\xe9.txt");
    }
}
