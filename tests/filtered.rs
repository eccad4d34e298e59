//! Trees and selections at random, for tests that compare what a dry run tells with what then
//! moves.
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use ringway_model::{Pattern, Selection};

/// Trees of one test. The variable `RINGWAY_FILTERED_TREES` sets another number.
const TREES: u64 = 1_000;

/// The most entries of one tree.
const ENTRIES_MAX: usize = 24;

/// Names, and parts of patterns. There are few, so that patterns match often.
const NAMES: [&str; 9] = ["a", "b", "cache", "x.o", "y.tmp", "keep.o", ".git", "#1", "sp ace"];
const PATTERNS: [&str; 16] = [
    "*.o", "*.tmp", "/a", "b/", "cache", "**/a", "a/**", "/a/*/b", "/*", "*", "[ab]", "!a", "#1", "sp*", "a/b",
    "**/b/x.o",
];

pub(crate) fn trees() -> u64 {
    std::env::var("RINGWAY_FILTERED_TREES").map_or(TREES, |text| text.parse().expect("a number"))
}

/// Marsaglia's xorshift64, with the same trees in each run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % bound
    }

    fn one<'o>(&mut self, of: &[&'o str]) -> &'o str {
        of[self.below(of.len())]
    }

    /// Makes a tree: files, folders, symbolic links and further names of files. Returns the paths.
    pub(crate) fn tree(&mut self, root: &Path) -> Vec<String> {
        fs::create_dir(root).unwrap();
        let (mut folders, mut files, mut paths) = (vec![String::new()], Vec::new(), Vec::new());
        for _ in 0..self.below(ENTRIES_MAX) {
            let path = format!("{}{}", folders[self.below(folders.len())], self.one(&NAMES));
            let at = root.join(&path);
            if fs::symlink_metadata(&at).is_ok() {
                continue;
            }
            match self.below(10) {
                0..4 => {
                    fs::create_dir(&at).unwrap();
                    folders.push(format!("{path}/"));
                }
                4 => symlink("x.o", &at).unwrap(),
                5 if !files.is_empty() => fs::hard_link(root.join(&files[self.below(files.len())]), &at).unwrap(),
                _ => {
                    fs::write(&at, vec![b'x'; self.below(40)]).unwrap();
                    files.push(path.clone());
                }
            }
            paths.push(path);
        }
        paths
    }

    /// A selection for such a tree: few patterns, and sometimes a list.
    pub(crate) fn selection(&mut self, paths: &[String]) -> Selection {
        let patterns = (0..self.below(4)).map(|_| {
            let pattern = self.one(&PATTERNS).into();
            if self.below(4) == 0 { Pattern::Include(pattern) } else { Pattern::Exclude(pattern) }
        });
        let patterns = patterns.collect();
        let listed = (self.below(3) == 0).then(|| {
            let mut listed: Vec<_> = paths.iter().filter(|_| self.below(4) == 0).cloned().collect();
            if self.below(5) == 0 {
                listed.push("gone/away".into());
            }
            listed.into_iter().map(String::into_bytes).collect()
        });
        Selection { patterns, paths: listed }
    }
}
