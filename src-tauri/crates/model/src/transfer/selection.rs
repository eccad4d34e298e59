//! Which entries of the sources are sent or copied, as a person asks for it.

/// Which entries of the sources are sent or copied; the default is all of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// What to leave out. The last pattern that matches an entry decides. What is in a folder that
    /// is left out is left out with it.
    pub patterns: Vec<Pattern>,
    /// Only these entries of the only source, a folder: paths relative to it. A folder stands for
    /// all that is in it.
    pub paths: Option<Vec<Vec<u8>>>,
}

impl Selection {
    /// Whether nothing is left out.
    pub fn is_all(&self) -> bool {
        self.patterns.is_empty() && self.paths.is_none()
    }
}

/// One pattern in the syntax of gitignore(5). A leading slash means the source itself. Any bytes,
/// as names are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pattern {
    /// Leave out entries that match.
    Exclude(Vec<u8>),
    /// Include entries that match, although an earlier pattern leaves them out.
    Include(Vec<u8>),
}

impl Pattern {
    /// What it is compared with, whichever of the two it is.
    pub fn text(&self) -> &[u8] {
        match self {
            Self::Exclude(text) | Self::Include(text) => text,
        }
    }
}
