//! Which entries are left out, by patterns in gitignore's syntax.
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::options::Rule;
use crate::error::{Error, Invalid};

/// The rules of one copy.
pub(super) struct Rules(Gitignore);

impl Rules {
    /// None where there are no rules.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a pattern that cannot be understood.
    pub(super) fn new(rules: &[Rule]) -> Result<Option<Self>, Error> {
        if rules.is_empty() {
            return Ok(None);
        }
        const BAD: Error = Error::Invalid(Invalid::Option(
            "a pattern of --exclude or --include is not understood (gitignore's syntax)",
        ));
        const EMPTY: Error =
            Error::Invalid(Invalid::Option("a pattern of --exclude or --include is empty and matches nothing"));
        let mut builder = GitignoreBuilder::new("");
        for rule in rules {
            if let Rule::Exclude(pattern) | Rule::Include(pattern) = rule
                && pattern.is_empty()
            {
                return Err(EMPTY);
            }
            let line = match rule {
                Rule::Exclude(pattern) => literal(pattern),
                Rule::Include(pattern) => format!("!{pattern}"),
            };
            builder.add_line(None, &line).map_err(|_| BAD)?;
        }
        Ok(Some(Self(builder.build().map_err(|_| BAD)?)))
    }

    /// Whether the entry is left out; `path` begins below the copied source.
    pub(super) fn leave_out(&self, path: &[u8], is_folder: bool) -> bool {
        self.0.matched(Path::new(OsStr::from_bytes(path)), is_folder).is_ignore()
    }
}

/// What begins with `!` or `#` means just that here: whether a rule takes or leaves out, its option says.
fn literal(pattern: &str) -> String {
    match pattern.chars().next() {
        Some('!' | '#') => format!("\\{pattern}"),
        _ => pattern.to_owned(),
    }
}

#[cfg(test)]
mod tests {
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
    fn what_is_no_pattern_is_refused() {
        assert!(matches!(Rules::new(&[Rule::Exclude("[z-a]".into())]), Err(Error::Invalid(_))));
        let empty = [Rule::Exclude(String::new()), Rule::Include(String::new())];
        for rule in empty {
            assert!(matches!(Rules::new(&[rule]), Err(Error::Invalid(why)) if why.to_string().contains("empty")));
        }
        assert!(Rules::new(&[]).unwrap().is_none());
    }
}
