//! Generated patterns and paths: the patterns decide like `git check-ignore`.
use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use ringway_model::{Pattern, Selection};

use crate::filesystem::selection::Filter;

/// Pairs of patterns and a path. The variable `RINGWAY_FILTER_PAIRS` sets another number, and
/// `RINGWAY_FILTER_SEED` another seed.
const PAIRS: u64 = 10_000;
const SEED: u64 = 0x5eed;

/// Paths for each set of patterns.
const PATHS: usize = 40;

/// Parts of names. There are few, so that patterns match often.
const NAME: [&str; 14] = ["a", "b", "v", "1", ".", "-", "A", "{", "}", " ", "!", "[", "\\", "\u{fc}"];

/// Parts of patterns.
const PATTERN: [&str; 41] = [
    "a",
    "b",
    "v",
    "1",
    ".",
    "-",
    "A",
    "{a,b}",
    "{",
    "}",
    ",",
    " ",
    "!",
    "#",
    "]",
    "^",
    "\u{fc}",
    "*",
    "**",
    "?",
    "/",
    "*",
    "/",
    "a/",
    "/**",
    "**/",
    "/**/",
    "\\a",
    "\\*",
    "\\ ",
    "\\[",
    "\\/",
    "[ab]",
    "[!0-9]",
    "[^a-c]",
    "[]a]",
    "[a-]",
    "[[:alpha:]1]",
    "[\\]-a]",
    "[![:punct:]]",
    "[b-a]",
];

/// Marsaglia's xorshift64, with the same pairs in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % bound
    }

    fn text(&mut self, parts: &[&str], len_max: usize) -> String {
        (0..=self.below(len_max)).map(|_| parts[self.below(parts.len())]).collect()
    }

    /// A name that a folder can hold.
    fn name(&mut self) -> String {
        loop {
            let name = self.text(&NAME, 3);
            if !matches!(&*name, "." | "..") {
                return name;
            }
        }
    }
}

/// One set of patterns, and the paths to test with it: their names, and whether they are folders.
struct Case {
    patterns: Vec<Pattern>,
    paths: BTreeMap<String, bool>,
}

impl Case {
    fn new(random: &mut Random) -> Self {
        let patterns = (0..=random.below(3)).map(|_| {
            let pattern = random.text(&PATTERN, 5).into_bytes();
            if random.below(4) == 0 { Pattern::Include(pattern) } else { Pattern::Exclude(pattern) }
        });
        let patterns = patterns.collect();
        let mut paths: BTreeMap<String, bool> = BTreeMap::new();
        while paths.len() < PATHS {
            let folders: Vec<String> = paths
                .iter()
                .filter(|(path, folder)| **folder && path.len() < 24)
                .map(|(path, _)| path.clone())
                .collect();
            let name = random.name();
            let path = match random.below(folders.len() + 1) {
                0 => name,
                chosen => format!("{}/{name}", folders[chosen - 1]),
            };
            let is_folder = random.below(2) == 0;
            paths.entry(path).or_insert(is_folder);
        }
        Self { patterns, paths }
    }

    /// Makes the paths, and git's file with the patterns.
    fn make(&self, folder: &Path) {
        fs::create_dir(folder).unwrap();
        // Sorted, so that a folder comes before its contents.
        for (path, is_folder) in &self.paths {
            match is_folder {
                true => fs::create_dir(folder.join(path)).unwrap(),
                false => drop(fs::File::create(folder.join(path)).unwrap()),
            }
        }
        let lines = self.patterns.iter().map(|pattern| match pattern {
            // Git would read these as an include and a comment.
            Pattern::Exclude(pattern) if pattern.starts_with(b"!") || pattern.starts_with(b"#") => {
                [b"\\", &**pattern, b"\n"].concat()
            }
            Pattern::Exclude(pattern) => [&**pattern, b"\n"].concat(),
            Pattern::Include(pattern) => [b"!", &**pattern, b"\n"].concat(),
        });
        fs::write(folder.join(".gitignore"), lines.collect::<Vec<_>>().concat()).unwrap();
    }

    /// Whether the patterns leave out the path, or a folder that contains it.
    fn leaves_out(&self, filter: Option<&Filter>, path: &str) -> bool {
        let Some(filter) = filter else { return false };
        let above = path.match_indices('/').map(|(at, _)| (&path[..at], true));
        above.chain([(path, self.paths[path])]).any(|(path, is_folder)| !filter.takes(path.as_bytes(), is_folder))
    }

    /// The patterns. Refused ones match nothing, in git as well.
    fn usable(&self) -> Option<std::sync::Arc<Filter>> {
        let of = |patterns: Vec<Pattern>| Filter::new(&Selection { patterns, paths: None });
        let usable = self.patterns.iter().filter(|pattern| of(vec![(*pattern).clone()]).is_ok()).cloned();
        of(usable.collect()).unwrap()
    }
}

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).map_or(otherwise, |text| text.parse().unwrap_or_else(|_| panic!("{variable}={text}")))
}

/// Git without a person's configuration.
fn git(folder: &Path, args: &[&str]) -> Command {
    let mut git = Command::new("git");
    git.args(["-c", "core.ignoreCase=false"]).args(args).current_dir(folder);
    git.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CEILING_DIRECTORIES", "/");
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        git.env_remove(variable);
    }
    git
}

/// Which of the paths git ignores.
fn ignored(folder: &Path, paths: &str) -> Vec<String> {
    let mut child = git(folder, &["check-ignore", "--no-index", "--stdin", "-z"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        scope.spawn(move || input.write_all(paths.as_bytes()).unwrap());
        child.wait_with_output().unwrap()
    });
    // Exit status 1 means none of them.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{:?}", output.status);
    String::from_utf8(output.stdout).unwrap().split_terminator('\0').map(str::to_owned).collect()
}

#[test]
fn generated_patterns_decide_as_git_does() {
    if Command::new("git").arg("--version").output().is_err() {
        return println!("skipped: git is not installed");
    }
    let pairs = number("RINGWAY_FILTER_PAIRS", PAIRS) as usize;
    let mut random = Random(number("RINGWAY_FILTER_SEED", SEED));
    let base = tempfile::tempdir().unwrap();
    let made = git(base.path(), &["init", "--quiet"]).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    // Paths are compared relative to the patterns' own file, so each case has a folder of its own.
    let cases: Vec<Case> = (0..pairs.div_ceil(PATHS)).map(|_| Case::new(&mut random)).collect();
    let mut asked = String::new();
    for (number, case) in cases.iter().enumerate() {
        case.make(&base.path().join(format!("case{number}")));
        case.paths.keys().for_each(|path| asked.push_str(&format!("case{number}/{path}\0")));
    }
    let ignored: std::collections::HashSet<String> = ignored(base.path(), &asked).into_iter().collect();
    for (number, case) in cases.iter().enumerate() {
        let filter = case.usable();
        for (path, is_folder) in &case.paths {
            let git = ignored.contains(&format!("case{number}/{path}"));
            let kind = if *is_folder { "folder" } else { "file" };
            assert_eq!(
                case.leaves_out(filter.as_deref(), path),
                git,
                "{:?} and the {kind} {path:?}: git on the right",
                case.patterns
            );
        }
    }
    let all = cases.len() * PATHS;
    assert!((all / 20..all * 9 / 10).contains(&ignored.len()), "{} of {all} are ignored", ignored.len());
}
