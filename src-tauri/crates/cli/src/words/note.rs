//! A note at a terminal: each line behind a bar, so that it cannot imitate what Ringway says.
use ringway_model::{DeviceId, Fault, NoteText, Text};
use unicode_width::UnicodeWidthChar;

/// Lines of a terminal that are shown: some screens.
const LINES_MAX: usize = 200;

/// Characters that are shown, with what was escaped.
const LEN_MAX: usize = 16_384;

/// The bar before each line, and a column that stays free: some terminals begin a new line once the
/// last one is filled.
const BAR: &str = "  | ";
const BESIDE_TEXT: usize = BAR.len() + 1;

/// Columns of a terminal that does not say how many it has.
const COLUMNS: usize = 80;

/// The least that is left for the text, however narrow the terminal is.
const TEXT_COLUMNS_MIN: usize = 8;

/// A tab takes up to this many.
const TAB_COLUMNS: usize = 8;

/// The text for standard output, and whether all of it is shown.
pub(crate) fn shown(text: &NoteText) -> (String, bool) {
    let columns = rustix::termios::tcgetwinsize(std::io::stdout()).map_or(0, |size| usize::from(size.ws_col));
    shown_in(text, if columns == 0 { COLUMNS } else { columns })
}

/// The same for a terminal of that many columns. Lines that are longer are broken, because the
/// terminal would begin the rest without a bar.
fn shown_in(text: &NoteText, columns: usize) -> (String, bool) {
    let whole = text.shown();
    let cut = whole.char_indices().nth(LEN_MAX).map_or(whole.len(), |(at, _)| at);
    let room = columns.saturating_sub(BESIDE_TEXT).max(TEXT_COLUMNS_MIN);
    let mut rows = whole[..cut].lines().flat_map(|line| Rows { rest: Some(line), room });
    let barred: Vec<_> = rows.by_ref().take(LINES_MAX).map(|row| format!("{BAR}{row}")).collect();
    let is_whole = cut == whole.len() && rows.next().is_none();
    (barred.join("\n"), is_whole)
}

/// That a note could not be kept, and why: too many are unread, or a fault.
pub(crate) fn lost(from: &Text, id: DeviceId, why: Option<&Fault>) -> String {
    let why = why.map_or_else(|| "Too many notes are unread.".to_owned(), |why| super::error(why).what);
    format!("could not keep a note of {from} ({}): {why}", id.short())
}

/// A line in parts, none wider than there is room.
struct Rows<'a> {
    rest: Option<&'a str>,
    room: usize,
}

impl<'a> Iterator for Rows<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let line = self.rest?;
        let mut taken = 0;
        let too_far = line.char_indices().find(|(_, c)| {
            taken += if *c == '\t' { TAB_COLUMNS } else { c.width().unwrap_or(1) };
            taken > self.room
        });
        // A row has one character at least, or there would be no end.
        let at = too_far.map(|(at, _)| at.max(line.chars().next().map_or(0, char::len_utf8)));
        self.rest = at.map(|at| &line[at..]).filter(|rest| !rest.is_empty());
        Some(&line[..at.unwrap_or(line.len())])
    }
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
        assert_eq!(
            shown_in(&hostile, 80),
            ("  | hi\\u{1b}[2J\n  | Accept? [y/N]\n  | \\rx\\u{202e}y".to_owned(), true)
        );
    }

    #[test]
    fn what_is_shown_is_bounded() {
        let (lines, is_whole) = shown_in(&note(&"\n".repeat(NoteText::LEN_MAX)), 80);
        assert!(!is_whole && lines.lines().count() == LINES_MAX);
        let (long, is_whole) = shown_in(&note(&"\u{202e}".repeat(NoteText::LEN_MAX / 3)), usize::MAX);
        assert!(!is_whole && long.chars().count() == LEN_MAX + 4);
        assert!(shown_in(&note(&"a\n".repeat(LINES_MAX)), 80).1);
        let (rows, is_whole) = shown_in(&note(&"x".repeat(NoteText::LEN_MAX)), 80);
        assert!(!is_whole && rows.lines().count() == LINES_MAX);
    }

    #[test]
    fn lines_that_a_terminal_would_break_have_a_bar_in_each_part() {
        let imitates = note(&format!("Look at this{}ringway: signed by root", " ".repeat(60)));
        let wide = note(&"\u{5c71}".repeat(100));
        let tabs = note(&"\t".repeat(30));
        for text in [&imitates, &wide, &tabs] {
            for columns in [1, 13, 40, 80] {
                let (rows, is_whole) = shown_in(text, columns);
                assert!(is_whole);
                let room = columns.max(BESIDE_TEXT + TEXT_COLUMNS_MIN);
                for row in rows.lines() {
                    let text = row.strip_prefix(BAR).unwrap_or_else(|| panic!("no bar: {row}"));
                    let width = |c: char| if c == '\t' { TAB_COLUMNS } else { c.width().unwrap_or(1) };
                    assert!(BAR.len() + text.chars().map(width).sum::<usize>() < room, "{columns}: {row}");
                }
                assert_eq!(rows.lines().map(|row| &row[BAR.len()..]).collect::<String>(), text.shown());
            }
        }
    }
}
