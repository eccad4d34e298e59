//! One pattern, with the meaning of a line of git's .gitignore (gitignore(5), git's dir.c), and the
//! lines of a file with patterns.
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ringway_model::{Fault, Invalid, Pattern};

use super::PATTERN_LEN_MAX;
use super::glob::{self, NameGlob, PathGlob};

/// A pattern, ready to be compared.
pub(super) struct Compiled {
    pub(super) leaves_out: bool,
    folders_only: bool,
    glob: Glob,
}

enum Glob {
    /// It has no slash except at its end, so it names entries at any depth.
    Name(NameGlob),
    Path(PathGlob),
}

impl Compiled {
    /// # Errors
    /// [`Fault::Invalid`] for a pattern that cannot match: an empty one, an open bracket, a
    /// backslash at the end, a part that is `.`, `..` or empty; for one that is longer than any
    /// path, or has a NUL or a line break, which a line of a file cannot have.
    pub(super) fn new(pattern: &Pattern) -> Result<Self, Fault> {
        const EMPTY: Fault = Fault::option("a pattern of --exclude or --include is empty and matches nothing");
        const NO_LINE: Fault = Fault::option(
            "a pattern of --exclude or --include is longer than a path can be (4,096 bytes), or has a line break or NUL",
        );
        let (text, leaves_out) = match pattern {
            Pattern::Exclude(text) => (text, true),
            Pattern::Include(text) => (text, false),
        };
        if text.len() > PATTERN_LEN_MAX || text.iter().any(|byte| matches!(byte, b'\0' | b'\n')) {
            return Err(NO_LINE);
        }
        let line = without_blanks(text.strip_suffix(b"\r").unwrap_or(text));
        let (line, folders_only) = line.strip_suffix(b"/").map_or((line, false), |line| (line, true));
        let is_path = line.contains(&b'/');
        let line = line.strip_prefix(b"/").unwrap_or(line);
        if line.is_empty() {
            return Err(EMPTY);
        }
        if !glob::is_well_formed(line) {
            let pattern = Path::new(OsStr::from_bytes(text)).into();
            return Err(Fault::Invalid(Invalid::Pattern { pattern }));
        }
        if !glob::can_be_a_path(line) {
            let pattern = Path::new(OsStr::from_bytes(text)).into();
            return Err(Fault::Invalid(Invalid::PatternPath { pattern }));
        }
        let glob = if is_path { Glob::Path(PathGlob::new(line)) } else { Glob::Name(NameGlob::new(line)) };
        Ok(Self { leaves_out, folders_only, glob })
    }

    /// `name` is the last component of `path`.
    pub(super) fn matches(&self, path: &[u8], name: &[u8], is_folder: bool) -> bool {
        (is_folder || !self.folders_only)
            && match &self.glob {
                Glob::Name(glob) => glob.matches(name),
                Glob::Path(glob) => glob.matches(path),
            }
    }
}

/// The same pattern, for what is in each folder below a source, as if that folder were the source.
/// It leaves out nothing directly in the source.
pub fn one_folder_down(pattern: &Pattern) -> Pattern {
    let down = |text: &[u8]| {
        let line = without_blanks(text.strip_suffix(b"\r").unwrap_or(text));
        let is_path = line.strip_suffix(b"/").unwrap_or(line).contains(&b'/');
        match (is_path, text.strip_prefix(b"/").unwrap_or(text)) {
            (true, text) => [b"/*/", text].concat(),
            (false, text) => [b"/*/**/", text].concat(),
        }
    };
    match pattern {
        Pattern::Exclude(text) => Pattern::Exclude(down(text)),
        Pattern::Include(text) => Pattern::Include(down(text)),
    }
}

/// The pattern in a line of a file that is written as a .gitignore file is; none in a blank line
/// and a comment. A line that begins with `!` includes. A byte order mark before the first line is
/// skipped, as git does.
pub fn of_line(line: &[u8], is_first: bool) -> Option<Pattern> {
    let line = line.strip_prefix("\u{feff}".as_bytes()).filter(|_| is_first).unwrap_or(line);
    match line {
        [b'#', ..] => None,
        _ if without_blanks(line.strip_suffix(b"\r").unwrap_or(line)).is_empty() => None,
        [b'!', rest @ ..] => Some(Pattern::Include(rest.to_vec())),
        line => Some(Pattern::Exclude(line.to_vec())),
    }
}

/// All patterns of such a file.
pub fn of_lines(text: &[u8]) -> Vec<Pattern> {
    let lines = text.split(|byte| *byte == b'\n').enumerate();
    lines.filter_map(|(number, line)| of_line(line, number == 0)).collect()
}

/// The pattern as a line of such a file.
pub fn to_line(pattern: &Pattern) -> Vec<u8> {
    match pattern {
        Pattern::Exclude(text) if text.starts_with(b"!") || text.starts_with(b"#") => [b"\\", &**text].concat(),
        Pattern::Exclude(text) => text.clone(),
        Pattern::Include(text) => [b"!", &**text].concat(),
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
