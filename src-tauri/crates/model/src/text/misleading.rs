//! Characters that make text look like something else: the only list of them, for names in the
//! protocol and for all text of peers that is shown.
use std::ops::RangeInclusive;

/// Characters that hide or reorder text, or are invisible: they are shown as escapes.
///
/// These are the characters with the property Default_Ignorable_Code_Point (Unicode 17,
/// DerivedCoreProperties.txt) without U+200C, U+200D and U+FE0F, which Persian, Hindi and emoji
/// need; the line and paragraph separators; the interlinear annotations; and letters that are
/// blank.
pub const MISLEADING: &[RangeInclusive<char>] = &[
    '\u{ad}'..='\u{ad}',
    '\u{34f}'..='\u{34f}',
    '\u{61c}'..='\u{61c}',
    '\u{115f}'..='\u{1160}',
    '\u{17b4}'..='\u{17b5}',
    '\u{180b}'..='\u{180f}',
    '\u{200b}'..='\u{200b}',
    '\u{200e}'..='\u{200f}',
    '\u{2028}'..='\u{202e}',
    '\u{2060}'..='\u{206f}',
    '\u{2800}'..='\u{2800}',
    '\u{3164}'..='\u{3164}',
    '\u{fe00}'..='\u{fe0e}',
    '\u{feff}'..='\u{feff}',
    '\u{ffa0}'..='\u{ffa0}',
    '\u{fff0}'..='\u{fffb}',
    '\u{16fe4}'..='\u{16fe4}',
    '\u{1bca0}'..='\u{1bca3}',
    '\u{1d159}'..='\u{1d159}',
    '\u{1d173}'..='\u{1d17a}',
    '\u{e0000}'..='\u{e0fff}',
];

/// Characters that are legitimate in text, but also refused in a device's name: joiners, a
/// selector, blanks other than the space, and hieroglyph format characters, some of which are blank
/// as well.
pub const MISLEADING_IN_NAMES: &[RangeInclusive<char>] = &[
    '\u{a0}'..='\u{a0}',
    '\u{70f}'..='\u{70f}',
    '\u{1680}'..='\u{1680}',
    '\u{2000}'..='\u{200a}',
    '\u{200c}'..='\u{200d}',
    '\u{202f}'..='\u{202f}',
    '\u{205f}'..='\u{205f}',
    '\u{3000}'..='\u{3000}',
    '\u{fe0f}'..='\u{fe0f}',
    '\u{fffc}'..='\u{fffc}',
    '\u{1107f}'..='\u{1107f}',
    '\u{13430}'..='\u{13442}',
];

/// Whether a character makes text look like something else: a control, or one of [`MISLEADING`].
pub fn misleads(c: char) -> bool {
    c.is_control() || among(c, MISLEADING)
}

/// Whether a character may not be in a device's name: it misleads, or is one of
/// [`MISLEADING_IN_NAMES`].
pub fn misleads_in_name(c: char) -> bool {
    misleads(c) || among(c, MISLEADING_IN_NAMES)
}

fn among(c: char, ranges: &[RangeInclusive<char>]) -> bool {
    // Most characters are decided by the first comparison.
    c >= '\u{a0}' && ranges.iter().any(|range| range.contains(&c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_and_blank_characters_mislead() {
        for c in "\u{ad}\u{34f}\u{61c}\u{180e}\u{200b}\u{202e}\u{2066}\u{2800}\u{3164}\u{ffa0}\u{feff}\u{e0041}\u{e0100}\0\u{7f}\u{9b}".chars() {
            assert!(misleads(c) && misleads_in_name(c), "{}", c.escape_unicode());
        }
    }

    #[test]
    fn joiners_emoji_and_blanks_mislead_in_names_only() {
        for c in "\u{200c}\u{200d}\u{fe0f}\u{a0}\u{3000}\u{70f}\u{fffc}\u{1107f}\u{13430}\u{13441}\u{13442}".chars() {
            assert!(!misleads(c) && misleads_in_name(c), "{}", c.escape_unicode());
        }
    }

    #[test]
    fn letters_of_all_scripts_and_the_space_do_not() {
        for c in "aZ0 -_.:üßçдЖעبहन日本語한국🙂".chars() {
            assert!(!misleads_in_name(c), "{c}");
        }
    }

    #[test]
    fn ranges_are_in_order_and_apart() {
        for ranges in [MISLEADING, MISLEADING_IN_NAMES] {
            assert!(ranges.iter().zip(&ranges[1..]).all(|(one, next)| one.end() < next.start()));
        }
    }
}
