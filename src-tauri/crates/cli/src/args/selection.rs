//! `--exclude`, `--include`, `--exclude-from` and `--files-from`, for each command that sends, gets
//! or copies, and what they ask of the engine.
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};
use ringway_engine::selection::{self, Filter, LISTED_BYTES_MAX, LISTED_MAX};
use ringway_model::{Failure, FailureReason, Fault, Operation, Pattern, Selection};
use rustix::io::Errno;

use crate::refusal::Refusal;
use crate::text::for_terminal;
use crate::words;

/// Bytes of a file with patterns: the most patterns at some 100 bytes each.
const PATTERNS_FILE_MAX: usize = 1 << 20;

/// Bytes of a listed path: PATH_MAX.
const LISTED_LEN_MAX: usize = 4096;

/// The message for a list with several sources.
const ONE_SOURCE: &str = "--files-from belongs to one source, a folder.";

/// What stands below the options of each of the commands.
pub(crate) const SELECTION_HELP: &str = "\
A pattern is one of gitignore(5) and matches what it matches for git: one with a slash at its beginning or middle counts from the folder that is named on the command line, one without matches names at any depth, one that ends in a slash matches folders only. Braces have no special meaning, and trailing blanks count only after a backslash. A pattern that is empty, has an open bracket, or has a part that is `.`, `..` or empty (./x, a//b) matches nothing and is refused: write x or /x. `!` and `#` at its beginning stand for themselves. The last --exclude or --include that matches an entry decides, as in a .gitignore file (with rsync it is the first); what is in a folder that was left out is left out, too. A source that is named is never left out itself.

--exclude-from FILE reads a file that is written as a .gitignore file is: a pattern on each line, `#` for comments, `!` for what is taken all the same. Its patterns stand at its place among the others.

--files-from FILE reads paths, one on each line, or each with a NUL behind it, as `find -print0` and `git ls-files -z` write them. A carriage return at the end of a line does not count; a name that ends in one needs NULs. Paths are relative to the source, of which there is one, a folder; absolute ones must lie in it. A folder that is listed is taken with everything in it. The folders above what is listed are made, too. Symbolic links on the way to it are not followed. What is listed and is not there counts as failed. Patterns leave out of what is listed. If the list is empty, there is nothing to do: nothing is created, and the exit status is 0.

A symbolic link is taken as it is, also where what it leads to is left out. A file with several names of which some are left out arrives under the others.";

/// The options, in the order in which they were given: clap itself would keep the order only within
/// each of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SelectionArgs {
    given: Vec<Given>,
    files_from: Vec<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Given {
    Exclude(OsString),
    Include(OsString),
    ExcludeFrom(OsString),
}

const EXCLUDE: &str = "exclude";
const INCLUDE: &str = "include";
const EXCLUDE_FROM: &str = "exclude-from";
const FILES_FROM: &str = "files-from";

impl Args for SelectionArgs {
    fn augment_args(command: Command) -> Command {
        let option = |id: &'static str, value: &'static str, action: ArgAction, help: &'static str| {
            Arg::new(id).long(id).value_name(value).value_parser(value_parser!(OsString)).action(action).help(help)
        };
        let append = ArgAction::Append;
        command
            .arg(
                option(
                    EXCLUDE,
                    "PATTERN",
                    append.clone(),
                    "Leave out what matches, as in '*.tmp', '/cache', 'node_modules/'; may be repeated",
                )
                .allow_hyphen_values(true),
            )
            .arg(
                option(
                    INCLUDE,
                    "PATTERN",
                    append.clone(),
                    "Take what matches, although an --exclude before it leaves it out; may be repeated",
                )
                .allow_hyphen_values(true),
            )
            .arg(option(
                EXCLUDE_FROM,
                "FILE",
                append.clone(),
                "Read patterns from FILE (- is standard input), which is written as a .gitignore file is; may be repeated",
            ))
            .arg(option(
                FILES_FROM,
                "FILE",
                append,
                "Take only the paths that FILE (- is standard input) lists, relative to the source: one on each line, or each with a NUL behind it",
            ))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// Refuses a pattern that is forgotten, so that the option behind it would be taken for one. A
/// pattern that begins so is written as `--exclude=--x`.
///
/// # Errors
/// The option that has no pattern, and what stands in its place.
pub(crate) fn check_patterns(line: impl Iterator<Item = OsString>) -> Result<(), Refusal> {
    let words: Vec<_> = line.take_while(|word| word != "--").collect();
    let forgotten = words.windows(2).find(|pair| {
        let is_of_patterns =
            [EXCLUDE, INCLUDE].iter().any(|id| pair[0].as_bytes().strip_prefix(b"--") == Some(id.as_bytes()));
        is_of_patterns && pair[1].as_bytes().starts_with(b"--")
    });
    let Some([option, next]) = forgotten else { return Ok(()) };
    let (option, next) = (for_terminal(option), for_terminal(next));
    Err(Refusal::usage(format!("{option} needs a pattern, and {next} looks like an option."))
        .advise(format!("A pattern that begins so is written {option}={next}.")))
}

impl FromArgMatches for SelectionArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        type Kind = fn(OsString) -> Given;
        let kinds = [
            (EXCLUDE, Given::Exclude as Kind),
            (INCLUDE, Given::Include as Kind),
            (EXCLUDE_FROM, Given::ExcludeFrom as Kind),
        ];
        let mut placed = Vec::new();
        for (id, kind) in kinds {
            let places = matches.indices_of(id).into_iter().flatten();
            let values = matches.get_many::<OsString>(id).into_iter().flatten();
            placed.extend(places.zip(values).map(|(place, value)| (place, kind(value.clone()))));
        }
        placed.sort_by_key(|(place, _)| *place);
        let given = placed.into_iter().map(|(_, given)| given).collect();
        let files_from = matches.get_many::<OsString>(FILES_FROM).into_iter().flatten().map(PathBuf::from).collect();
        Ok(Self { given, files_from })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// What is selected from.
pub(crate) enum SelectionSources {
    /// These paths on this machine.
    Here(Vec<PathBuf>),
    /// So many paths on another device.
    There(usize),
}

impl SelectionArgs {
    /// The files that are read.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        let patterns = self.given.iter().filter_map(|given| match given {
            Given::ExcludeFrom(file) => Some(Path::new(file)),
            Given::Exclude(_) | Given::Include(_) => None,
        });
        patterns.chain(self.files_from.iter().map(PathBuf::as_path))
    }

    /// Whether the same command cannot read the same again, because a file is standard input,
    /// another descriptor or a pipe.
    pub(crate) fn is_read_once(&self) -> bool {
        let is_of_process = |file: &Path| ["/dev", "/proc"].iter().any(|place| file.starts_with(place));
        let is_lasting = |file: &Path| {
            // Files in memory are below /dev, too.
            (file.starts_with("/dev/shm") || !is_of_process(file))
                && file != Path::new("-")
                && std::fs::metadata(file).is_ok_and(|found| found.is_file())
        };
        !self.files().all(is_lasting)
    }

    /// What to do about listed paths that a symbolic link leads to; none without such a failure.
    pub(crate) fn step_after(&self, failures: &[Failure]) -> Option<&'static str> {
        let is_behind_link =
            |failure: &Failure| failure.reason == FailureReason::Os { errno: Errno::LOOP.raw_os_error() };
        (!self.files_from.is_empty() && failures.iter().any(is_behind_link)).then_some(
            "A list does not follow symbolic links: list the link itself, or take the folder that it leads to as the source.",
        )
    }

    /// The list, if it was given.
    pub(crate) fn list(&self) -> Option<&Path> {
        self.files_from.first().map(PathBuf::as_path)
    }

    /// # Errors
    /// The code and one of these are to be read from standard input.
    pub(crate) fn check_beside(&self, code_file: Option<&Path>) -> Result<(), Refusal> {
        let is_twice = code_file.is_some_and(is_stdin) && self.files().any(is_stdin);
        if is_twice { Err(stdin_twice()) } else { Ok(()) }
    }

    /// What they ask for, with the files read. The patterns stand behind the `remembered` ones, and
    /// so decide before them.
    ///
    /// # Errors
    /// A pattern or a listed path is not understood, a file cannot be read or is too long, or a
    /// list is given for other sources than one.
    pub(crate) fn selection(&self, from: &SelectionSources, remembered: Vec<Pattern>) -> Result<Selection, Refusal> {
        if self.files_from.len() > 1 {
            return Err(Refusal::usage("--files-from can be given only once.").advise("Write all paths into one list."));
        }
        if self.files().filter(|file| is_stdin(file)).count() > 1 {
            return Err(stdin_twice());
        }
        Filter::new(&Selection { patterns: remembered.clone(), paths: None }).map_err(|fault| {
            let what = words::error(&fault).what;
            Refusal::usage(format!("It was moved with a pattern that is refused by now. {what}"))
                .advise("Name anew what to move, with patterns that have no ./ in front.")
        })?;
        let mut patterns = remembered;
        for given in &self.given {
            match given {
                Given::Exclude(text) => patterns.push(Pattern::Exclude(text.as_bytes().to_vec())),
                Given::Include(text) => patterns.push(Pattern::Include(text.as_bytes().to_vec())),
                Given::ExcludeFrom(file) => patterns.extend(patterns_in(Path::new(file))?),
            }
        }
        let paths = match self.list() {
            Some(file) => Some(paths_in(file, from)?),
            None => None,
        };
        let selection = Selection { patterns, paths };
        Filter::new(&selection).map_err(|fault| refusal(&fault))?;
        Ok(selection)
    }
}

fn is_stdin(file: &Path) -> bool {
    file == Path::new("-")
}

fn stdin_twice() -> Refusal {
    Refusal::usage("Standard input can be read for one option only.")
}

fn refusal(fault: &Fault) -> Refusal {
    let words = words::error(fault);
    advised(Refusal::usage(words.what), words.next)
}

fn advised(refusal: Refusal, next: Option<String>) -> Refusal {
    match next {
        Some(next) => refusal.advise(next),
        None => refusal,
    }
}

/// A file, or standard input.
fn read(file: &Path, len_max: usize) -> Result<Vec<u8>, Refusal> {
    let name = for_terminal(file);
    let mut bytes = Vec::new();
    let limit = len_max as u64 + 1;
    let read = match file == Path::new("-") {
        true => io::stdin().lock().take(limit).read_to_end(&mut bytes),
        false => File::open(file).and_then(|file| file.take(limit).read_to_end(&mut bytes)),
    };
    read.map_err(|error| Fault::path(file, Operation::Read, error))?;
    if bytes.len() > len_max {
        return Err(Refusal::usage(format!("{name} is too long: at most {} MiB are read.", len_max >> 20)));
    }
    Ok(bytes)
}

/// The patterns of a file. What is wrong with one is said with its line.
fn patterns_in(file: &Path) -> Result<Vec<Pattern>, Refusal> {
    let text = read(file, PATTERNS_FILE_MAX)?;
    let mut patterns = Vec::new();
    for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
        let Some(pattern) = selection::of_line(line, number == 0) else { continue };
        let alone = Selection { patterns: vec![pattern], paths: None };
        Filter::new(&alone).map_err(|fault| {
            let words = words::error(&fault);
            advised(at_line(file, number, words.what), words.next)
        })?;
        patterns.extend(alone.patterns);
    }
    Ok(patterns)
}

fn at_line(file: &Path, number: usize, what: impl std::fmt::Display) -> Refusal {
    Refusal::usage(format!("{}, line {}: {what}", for_terminal(file), number + 1))
}

/// The paths of a list, relative to the source.
fn paths_in(file: &Path, from: &SelectionSources) -> Result<Vec<Vec<u8>>, Refusal> {
    let within = match from {
        SelectionSources::Here(sources) => match &**sources {
            [source] => vec![std::path::absolute(source).ok(), source.canonicalize().ok()],
            _ => return Err(Refusal::usage(ONE_SOURCE).advise("Name one folder.")),
        },
        // Where it lies there is not known here.
        SelectionSources::There(1) => Vec::new(),
        SelectionSources::There(_) => return Err(Refusal::usage(ONE_SOURCE).advise("Name one folder.")),
    };
    let text = read(file, LISTED_BYTES_MAX)?;
    let separator = if text.contains(&0) { 0 } else { b'\n' };
    let mut paths = Vec::new();
    for (number, path) in text.split(|byte| *byte == separator).enumerate() {
        let path = path.strip_suffix(b"\r").filter(|_| separator == b'\n').unwrap_or(path);
        if path.is_empty() {
            continue;
        }
        let refused = |what: &str| {
            let shown = for_terminal(OsString::from_vec(path[..path.len().min(LISTED_LEN_MAX)].to_vec()));
            at_line(file, number, format_args!("{shown} {what}"))
        };
        if paths.len() == LISTED_MAX {
            return Err(Refusal::usage(format!("{} lists more than a million paths.", for_terminal(file))));
        }
        if path.len() > LISTED_LEN_MAX {
            return Err(refused("is longer than a path can be."));
        }
        let path = Path::new(std::ffi::OsStr::from_bytes(path));
        let relative = match path.is_absolute() {
            false => path,
            true => {
                let mut stripped = within.iter().flatten().filter_map(|source| path.strip_prefix(source).ok());
                stripped.next().ok_or_else(|| refused("does not lie in the source."))?
            }
        };
        if relative.components().any(|component| component == std::path::Component::ParentDir) {
            return Err(refused("has `..` in it: only what lies in the source can be listed."));
        }
        let relative = relative.as_os_str().as_bytes();
        paths.push(if relative.is_empty() { b".".to_vec() } else { relative.to_vec() });
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        selection: SelectionArgs,
        paths: Vec<PathBuf>,
    }

    fn selection(line: &[&str]) -> Result<Selection, Refusal> {
        let line = Line::try_parse_from(["x"].iter().chain(line)).unwrap();
        line.selection.selection(&SelectionSources::Here(line.paths), Vec::new())
    }

    fn out(text: &str) -> Pattern {
        Pattern::Exclude(text.into())
    }

    fn file(folder: &tempfile::TempDir, text: impl AsRef<[u8]>) -> String {
        let path = folder.path().join("list");
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    #[test]
    fn an_option_is_no_pattern_unless_it_is_written_as_one() {
        let check = |line: &[&str]| check_patterns(line.iter().map(OsString::from)).map_err(|refusal| refusal.what);
        for good in [
            &["send", "--exclude", "*.o", "--dry-run"][..],
            &["send", "--exclude=--dry-run", "a"],
            &["send", "--exclude", "-x", "a"],
            &["send", "a", "--", "--exclude", "--include"],
            &["send", "--exclude-from", "--x"],
        ] {
            assert_eq!(check(good), Ok(()), "{good:?}");
        }
        for option in ["--exclude", "--include"] {
            let said = check(&["send", "a", option, "--dry-run"]).unwrap_err();
            assert_eq!(said, format!("{option} needs a pattern, and --dry-run looks like an option."));
        }
    }

    #[test]
    fn options_keep_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let list = file(&folder, "\u{feff}# comment\n\n*.o\r\n!keep.o\n \n\\!odd\n#odd\n");
        let line = ["--exclude", "*", "a", "--include=x", "--exclude-from", &list, "--exclude=y", "--include", "z"];
        let wanted = [
            out("*"),
            Pattern::Include("x".into()),
            out("*.o\r"),
            Pattern::Include("keep.o".into()),
            out("\\!odd"),
            out("y"),
            Pattern::Include("z".into()),
        ];
        assert_eq!(selection(&line).unwrap().patterns, wanted);
        assert_eq!(Line::try_parse_from(["x", "a"]).unwrap().selection, SelectionArgs::default());
        let dashed = selection(&["--exclude", "-x", "--include", "--y", "a"]).unwrap().patterns;
        assert_eq!(dashed, [out("-x"), Pattern::Include("--y".into())]);
        let line = Line::try_parse_from(["x", "--exclude", "new", "a"]).unwrap();
        let after = line.selection.selection(&SelectionSources::Here(line.paths), vec![out("old")]).unwrap();
        assert_eq!(after.patterns, [out("old"), out("new")], "later ones decide");
        let line = Line::try_parse_from(["x", "a"]).unwrap();
        let refused = line.selection.selection(&SelectionSources::Here(line.paths), vec![out("./old")]).unwrap_err();
        assert!(
            refused.what.starts_with("It was moved with a pattern that is refused by now. The pattern"),
            "{refused}"
        );
        assert!(refused.what.contains("./old") && refused.next.is_some_and(|next| next.contains("anew")));
    }

    #[test]
    fn what_can_be_read_only_once_is_told_from_files() {
        let folder = tempfile::tempdir().unwrap();
        let list = file(&folder, "a");
        let pipe = folder.path().join("pipe").to_str().unwrap().to_owned();
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let once =
            |option: &str, file: &str| Line::try_parse_from(["x", option, file, "a"]).unwrap().selection.is_read_once();
        for option in ["--exclude-from", "--files-from"] {
            assert!(!once(option, &list));
            for file in ["-", "/dev/fd/3", "/dev/stdin", "/proc/self/fd/0", &pipe, "/nowhere/at/all"] {
                assert!(once(option, file), "{option} {file}");
            }
        }
        assert!(!once("--exclude", "-"));
    }

    #[test]
    fn bad_patterns_are_refused_with_their_line() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |text: &[u8]| {
            let list = file(&folder, text);
            selection(&["--exclude-from", &list, "a"]).unwrap_err()
        };
        let refusal = refused(b"*.o\n\na[b\n");
        assert!(
            refusal.what.ends_with("list, line 3: The pattern \u{201c}a[b\u{201d} is not understood."),
            "{refusal}"
        );
        assert_eq!(refusal.exit, crate::exit::Exit::Usage);
        let given = selection(&["--exclude", "a[b", "a"]).unwrap_err();
        assert_eq!(refusal.next, given.next, "the hint is the same");
        assert!(refusal.next.is_some());
        let refusal = refused(b"*.o\n./secret\n");
        assert!(
            refusal.what.contains("list, line 2: The pattern \u{201c}./secret\u{201d} matches nothing"),
            "{refusal}"
        );
        assert!(refused(&[b"x\n", &[b'a'; 1_000][..]].concat().repeat(2_000)).what.contains("too long"));
        assert!(refused(&[b'a'; 5_000]).what.contains("line 1: "));
        assert!(refused(b"a\0b").what.contains("line 1: "));
        assert!(refused(&b"a\n".repeat(100_000)).what.contains("10,000 patterns"));
        assert!(selection(&["--exclude", &"x".repeat(1_000_000), "a"]).is_err());
        assert!(selection(&["--exclude", "", "a"]).unwrap_err().what.contains("empty"));
        let gone = selection(&["--exclude-from", "/nowhere/at/all", "a"]).unwrap_err();
        assert!(gone.what.starts_with("/nowhere/at/all could not be read"), "{gone}");
        let twice = selection(&["--exclude-from", "-", "--files-from", "-", "a"]).unwrap_err();
        assert!(twice.what.contains("one option only"), "{twice}");
        let listed = Line::try_parse_from(["x", "--files-from", "-", "a"]).unwrap().selection;
        assert!(listed.check_beside(None).is_ok() && listed.check_beside(Some(Path::new("code"))).is_ok());
        let twice = listed.check_beside(Some(Path::new("-"))).unwrap_err();
        assert!(twice.what.contains("one option only"), "{twice}");
    }

    #[test]
    fn listed_paths_lie_in_the_source() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().to_str().unwrap();
        let listed = |text: &[u8]| {
            let list = file(&folder, text);
            selection(&["--files-from", &list, source]).map(|selection| selection.paths.unwrap())
        };
        let absolute = format!("a\n./b//c/\n\n{source}/d/e\na\n#x\n");
        assert_eq!(listed(absolute.as_bytes()).unwrap(), [&b"a"[..], b"./b//c/", b"d/e", b"a", b"#x"]);
        assert_eq!(listed(b"a\nb\0\xff\0").unwrap(), [&b"a\nb"[..], b"\xff"]);
        assert_eq!(listed(b"a\r\n\r\nb\r").unwrap(), [b"a", b"b"]);
        assert_eq!(listed(b"a\r\0").unwrap(), [b"a\r"], "a name may end so");
        assert_eq!(listed(source.as_bytes()).unwrap(), [b"."]);
        assert_eq!(listed(b"").unwrap(), Vec::<Vec<u8>>::new());
        for (text, said) in [
            (&b"a\n../b\n"[..], "list, line 2: ../b has `..` in it"),
            (b"a/../b", "list, line 1: a/../b has"),
            (b"a\0/etc/passwd\0", "list, line 2: /etc/passwd does not lie in the source"),
            (&[b'x'; 5_000], "is longer than a path can be"),
        ] {
            let refusal = listed(text).unwrap_err();
            assert!(refusal.what.contains(said), "{refusal}");
        }
        let two = selection(&["--files-from", "-", "a", "b"]).unwrap_err();
        assert!(two.what.contains("one source"), "{two}");
        let list = file(&folder, "a/b\n");
        let there = |list: &str, sources| {
            let line = Line::try_parse_from(["x", "--files-from", list]).unwrap();
            line.selection.selection(&SelectionSources::There(sources), Vec::new())
        };
        assert_eq!(there(&list, 1).unwrap().paths, Some(vec![b"a/b".to_vec()]));
        assert!(there(&list, 2).unwrap_err().what.contains("one source"));
        let list = file(&folder, "/a/b\n");
        assert!(there(&list, 1).unwrap_err().what.contains("does not lie in the source"));
        let twice = selection(&["--files-from", "x", "--files-from", "y", "a"]).unwrap_err();
        assert!(twice.what.contains("only once"), "{twice}");
    }
}
