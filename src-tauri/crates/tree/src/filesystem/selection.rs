//! Which entries of a source are sent or copied: patterns that leave some out, and a list of the
//! only ones.
//!
//! Sending and copying ask it about each entry that they meet, folders before what is in them. What
//! is in a folder that is left out is not met.
mod glob;
mod listed;
mod pattern;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use ringway_model::{Fault, Selection};
use ringway_sys::attributes::{Metadata, metadata_of};
use ringway_sys::dir::Dir;
use rustix::io::Errno;

use listed::{Listed, Place};
use pattern::Compiled;

pub use listed::Met;
pub use pattern::{of_line, of_lines, one_folder_down, to_line};

/// The most patterns. Each entry is compared with all of them, at some 50 ns each: more would make
/// a walk more than a hundred times as slow.
pub const PATTERNS_MAX: usize = 10_000;

/// The most bytes of a pattern: PATH_MAX. A longer one matches no path that can be opened.
pub const PATTERN_LEN_MAX: usize = 4096;

/// The most listed paths: those of a tree of a million files.
pub const LISTED_MAX: usize = 1_000_000;

/// The most bytes of them, at about 60 bytes each.
pub const LISTED_BYTES_MAX: usize = 64 << 20;

/// A selection, ready to be asked.
pub struct Filter {
    /// The last one first, because the last one that matches decides.
    patterns: Vec<Compiled>,
    listed: Option<Listed>,
}

/// What becomes of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is taken.
    Taken,
    /// A pattern leaves it out.
    LeftOut,
    /// It is not listed.
    NotListed,
}

/// Why a listed path was not met: `ELOOP` if a symbolic link leads to it, which is not followed.
/// Nothing is looked for in what `hides` passes over.
pub fn why_missing(source: &Dir, path: &[u8], hides: impl Fn(&Metadata) -> bool) -> Errno {
    let Some(last) = path.iter().rposition(|byte| *byte == b'/') else { return Errno::NOENT };
    let mut folder = None;
    for name in path[..last].split(|byte| *byte == b'/') {
        match folder.as_ref().unwrap_or(source).open_dir(name) {
            Ok(dir) if metadata_of(&dir).is_ok_and(|found| !hides(&found)) => folder = Some(dir),
            Err(error) if Errno::from_io_error(&error) == Some(Errno::LOOP) => return Errno::LOOP,
            _ => break,
        }
    }
    Errno::NOENT
}

impl Filter {
    /// `None` if everything is taken.
    ///
    /// # Errors
    /// [`Fault::Invalid`] for a pattern that cannot match, for a listed path that is not within the
    /// source, and for more than the limits.
    pub fn new(selection: &Selection) -> Result<Option<Arc<Self>>, Fault> {
        const TOO_MANY: Fault = Fault::option("there are more than 10,000 patterns of --exclude and --include");
        if selection.patterns.len() > PATTERNS_MAX {
            return Err(TOO_MANY);
        }
        let mut patterns = selection.patterns.iter().map(Compiled::new).collect::<Result<Vec<_>, _>>()?;
        patterns.reverse();
        let listed = match &selection.paths {
            Some(paths) => Listed::new(paths)?,
            None => None,
        };
        if patterns.is_empty() && listed.is_none() {
            return Ok(None);
        }
        Ok(Some(Arc::new(Self { patterns, listed })))
    }

    /// The listed paths, without what only spells them otherwise: first those that decide what is
    /// taken, and behind them what is listed within those.
    pub fn listed(&self) -> Option<impl Iterator<Item = &[u8]>> {
        self.listed.as_ref().map(Listed::iter)
    }

    /// Whether it has a list, and so belongs to one source, a folder.
    pub fn is_listed(&self) -> bool {
        self.listed.is_some()
    }

    /// What was met of its list: nothing yet.
    pub fn nothing_met(&self) -> Met {
        Met::new(self.listed.as_ref().map_or(0, Listed::len))
    }

    /// What becomes of the entry. `path` is relative to the source. An entry that is listed itself
    /// counts as met.
    pub fn verdict(&self, path: &[u8], is_folder: bool, met: &Met) -> Verdict {
        let place = self.place(path);
        if let (Some(listed), Some(Place::At(_))) = (&self.listed, &place)
            && let Some(at) = listed.number(path)
        {
            met.set(at);
        }
        let verdict = self.verdict_at(path, is_folder, place.as_ref());
        if verdict == Verdict::LeftOut {
            // A pattern leaves out what is in it, so nobody misses that.
            self.failed_below(path, met);
        }
        verdict
    }

    fn place(&self, path: &[u8]) -> Option<Place> {
        self.listed.as_ref().map(|listed| listed.place(path))
    }

    fn verdict_at(&self, path: &[u8], is_folder: bool, place: Option<&Place>) -> Verdict {
        match place {
            None | Some(Place::At(_)) => {}
            Some(Place::Above(_)) if is_folder => {}
            Some(_) => return Verdict::NotListed,
        }
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        let decides = self.patterns.iter().find(|pattern| pattern.matches(path, name, is_folder));
        if decides.is_some_and(|pattern| pattern.leaves_out) { Verdict::LeftOut } else { Verdict::Taken }
    }

    /// Whether the entry is taken, if the folders above it are.
    pub fn takes(&self, path: &[u8], is_folder: bool) -> bool {
        self.verdict_at(path, is_folder, self.place(path).as_ref()) == Verdict::Taken
    }

    /// Counts what is listed below a folder as met, because it failed with the folder. An empty
    /// path is that of the source.
    pub fn failed_below(&self, folder: &[u8], met: &Met) {
        let Some(listed) = &self.listed else { return };
        listed.below(folder).for_each(|at| met.set(at));
    }

    /// Counts an entry as not met, and what is in it: the requester hears that it does not exist.
    pub fn not_there(&self, path: &[u8], met: &Met) {
        let Some(listed) = &self.listed else { return };
        listed.number(path).into_iter().chain(listed.below(path)).for_each(|at| met.clear(at));
    }

    /// The listed paths that were not met: nothing in the source has them.
    pub fn missing<'f>(&'f self, met: &'f Met) -> impl Iterator<Item = &'f [u8]> {
        self.listed.iter().flat_map(|listed| listed.without(met))
    }
}
