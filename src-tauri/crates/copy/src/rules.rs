//! Which entries are left out, by patterns with the meaning of a line of git's .gitignore
//! (gitignore(5), git's dir.c).
mod wildmatch;

use ringway_model::Fault;

use crate::options::Rule;

/// The rules of one copy, in the order given.
pub(crate) struct Rules(Vec<Pattern>);

impl Rules {
    /// `None` if there are no rules.
    ///
    /// # Errors
    /// [`Fault::Invalid`] for a pattern that cannot match: an empty one, an open bracket, a
    /// backslash at the end.
    pub(crate) fn new(rules: &[Rule]) -> Result<Option<Self>, Fault> {
        const BAD: Fault = Fault::option("a pattern of --exclude or --include is not understood (gitignore's syntax)");
        const EMPTY: Fault = Fault::option("a pattern of --exclude or --include is empty and matches nothing");
        let mut patterns = Vec::with_capacity(rules.len());
        for rule in rules {
            let (line, leaves_out) = match rule {
                Rule::Exclude(text) => (literal(text), true),
                Rule::Include(text) => (text.clone(), false),
            };
            let pattern = Pattern::new(line.as_bytes(), leaves_out);
            if pattern.text.is_empty() {
                return Err(EMPTY);
            }
            if !wildmatch::is_well_formed(&pattern.text) {
                return Err(BAD);
            }
            patterns.push(pattern);
        }
        Ok((!patterns.is_empty()).then_some(Self(patterns)))
    }

    /// Whether the entry is left out. `path` is relative to the copied source.
    pub(crate) fn leave_out(&self, path: &[u8], is_folder: bool) -> bool {
        let last = self.0.iter().rev().find(|pattern| pattern.matches(path, is_folder));
        last.is_some_and(|pattern| pattern.leaves_out)
    }
}

/// Escapes `!` and `#` at the beginning. Whether a rule includes or leaves out depends on its
/// option.
fn literal(pattern: &str) -> String {
    match pattern.chars().next() {
        Some('!' | '#') => format!("\\{pattern}"),
        _ => pattern.to_owned(),
    }
}

/// One pattern.
struct Pattern {
    /// The pattern, without a slash at its beginning or end.
    text: Box<[u8]>,
    leaves_out: bool,
    folders_only: bool,
    /// Whether it names entries at any depth, because it has no slash except at its end.
    by_name: bool,
    /// Bytes at its beginning that are literal. Git compares them separately, and reads the rest as
    /// a pattern of its own. So the stars of `a**/b` are those of `**/b`.
    literal: usize,
}

impl Pattern {
    fn new(line: &[u8], leaves_out: bool) -> Self {
        let text = without_blanks(line.strip_suffix(b"\r").unwrap_or(line));
        let (text, folders_only) = text.strip_suffix(b"/").map_or((text, false), |text| (text, true));
        let by_name = !text.contains(&b'/');
        let text = text.strip_prefix(b"/").unwrap_or(text);
        let literal = text.iter().take_while(|byte| !wildmatch::is_special(**byte)).count();
        Self { text: text.into(), leaves_out, folders_only, by_name, literal }
    }

    fn matches(&self, path: &[u8], is_folder: bool) -> bool {
        if self.folders_only && !is_folder {
            return false;
        }
        if self.by_name {
            let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
            return wildmatch::matches(&self.text, name, false);
        }
        let (literal, pattern) = self.text.split_at(self.literal);
        path.strip_prefix(literal).is_some_and(|rest| wildmatch::matches(pattern, rest, true))
    }
}

/// A line without the blanks at its end. A blank after a backslash belongs to the pattern.
fn without_blanks(line: &[u8]) -> &[u8] {
    let mut end = 0;
    let mut at = 0;
    while let Some(byte) = line.get(at) {
        match byte {
            b' ' => {}
            // A backslash at the end stays.
            b'\\' if at + 1 == line.len() => return line,
            b'\\' => {
                at += 1;
                end = at + 1;
            }
            _ => end = at + 1,
        }
        at += 1;
    }
    &line[..end]
}

#[cfg(test)]
mod tests {
    mod against_git;

    use super::*;

    fn rules(rules: &[(&str, bool)]) -> Rules {
        let rules: Vec<_> = rules
            .iter()
            .map(|(pattern, out)| match out {
                true => Rule::Exclude((*pattern).into()),
                false => Rule::Include((*pattern).into()),
            })
            .collect();
        Rules::new(&rules).unwrap().unwrap()
    }

    #[test]
    fn the_last_rule_that_matches_decides() {
        let rules = rules(&[("*.log", true), ("keep.log", false), ("/top", true), ("cache/", true)]);
        assert!(rules.leave_out(b"a/b.log", false));
        assert!(!rules.leave_out(b"a/keep.log", false));
        assert!(rules.leave_out(b"top", false) && !rules.leave_out(b"a/top", false));
        assert!(rules.leave_out(b"a/cache", true) && !rules.leave_out(b"a/cache", false));
        assert!(rules.leave_out(b"\xff.log", false), "names need not be text");
    }

    #[test]
    fn a_pattern_may_begin_like_a_comment_or_a_negation() {
        let both = rules(&[("#x", true), ("!y", true)]);
        assert!(both.leave_out(b"#x", false) && both.leave_out(b"!y", false) && !both.leave_out(b"y", false));
        let taken = rules(&[("*", true), ("#x", false), ("!y", false)]);
        assert!(!taken.leave_out(b"#x", false) && !taken.leave_out(b"!y", false) && taken.leave_out(b"y", false));
    }

    #[test]
    fn invalid_patterns_are_refused() {
        for pattern in ["[", "a/[!b", "[]", "[[:digits:]]", "[a[:x:]]", "a\\", r"[\"] {
            let told = Rules::new(&[Rule::Exclude(pattern.into())]).map(drop);
            assert!(
                matches!(told, Err(Fault::Invalid(why)) if why.to_string().contains("not understood")),
                "{pattern}"
            );
        }
        for pattern in ["", " ", "   ", "/", "/ "] {
            for rule in [Rule::Exclude(pattern.into()), Rule::Include(pattern.into())] {
                let told = Rules::new(&[rule]).map(drop);
                assert!(matches!(told, Err(Fault::Invalid(why)) if why.to_string().contains("empty")), "{pattern:?}");
            }
        }
        assert!(Rules::new(&[]).unwrap().is_none());
    }

    #[test]
    fn a_class_matches_no_slash_and_braces_are_literal() {
        let class = rules(&[("v[!0-9]*", true)]);
        assert!(class.leave_out(b"vx", false) && !class.leave_out(b"v", true) && !class.leave_out(b"v/a", false));
        let path = rules(&[("/v[!0-9]*", true)]);
        assert!(!path.leave_out(b"v/a", false), "the class is no slash");
        let braces = rules(&[("{old}", true), ("*.{a,b}", true)]);
        assert!(!braces.leave_out(b"old", true) && braces.leave_out(b"{old}", true));
        assert!(!braces.leave_out(b"x.a", false) && braces.leave_out(b"x.{a,b}", false));
    }

    #[test]
    fn blanks_at_the_end_are_dropped_unless_escaped() {
        let trimmed = rules(&[("a  ", true), (r"b\ ", true), (r"c\   ", true), (" d", true)]);
        for (name, out) in [("a", true), ("a  ", false), ("b ", true), ("b", false), ("c ", true), (" d", true)] {
            assert_eq!(trimmed.leave_out(name.as_bytes(), false), out, "{name:?}");
        }
    }
}
