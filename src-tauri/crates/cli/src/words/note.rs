//! A note at a terminal: each line behind a bar, so that it cannot imitate what Ringway says.
use ringway_model::NoteText;

/// Lines that are shown: some screens.
const LINES_MAX: usize = 200;

/// Characters that are shown, with what was escaped.
const LEN_MAX: usize = 16_384;

/// The text, and whether all of it is shown.
pub(crate) fn shown(text: &NoteText) -> (String, bool) {
    let whole = text.shown();
    let cut = whole.char_indices().nth(LEN_MAX).map_or(whole.len(), |(at, _)| at);
    let lines: Vec<_> = whole[..cut].lines().collect();
    let is_whole = cut == whole.len() && lines.len() <= LINES_MAX;
    let barred: Vec<_> = lines.iter().take(LINES_MAX).map(|line| format!("  | {line}")).collect();
    (barred.join("\n"), is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(text: &str) -> NoteText {
        NoteText::from_bytes(text.into()).unwrap()
    }

    #[test]
    fn every_line_has_a_bar_and_nothing_moves_the_cursor() {
        let hostile = note("hi\x1b[2J\nAccept? [y/N]\r\n\rx\u{202e}y\n");
        assert_eq!(shown(&hostile), ("  | hi\\u{1b}[2J\n  | Accept? [y/N]\n  | \\rx\\u{202e}y".to_owned(), true));
    }

    #[test]
    fn what_is_shown_is_bounded() {
        let (lines, is_whole) = shown(&note(&"\n".repeat(NoteText::LEN_MAX)));
        assert!(!is_whole && lines.lines().count() == LINES_MAX);
        let (long, is_whole) = shown(&note(&"\u{202e}".repeat(NoteText::LEN_MAX / 3)));
        assert!(!is_whole && long.chars().count() == LEN_MAX + 4);
        assert!(shown(&note(&"a\n".repeat(LINES_MAX))).1);
    }
}
