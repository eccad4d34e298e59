//! What a person leaves out, as text with one pattern a line; and which text was last used with
//! which folder, kept across runs.
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use ringway_engine::private;
use ringway_engine::selection::{Filter, of_lines};
use ringway_model::{Fault, Invalid, PathText, Selection};
use serde::{Deserialize, Serialize};

const FILE_NAME: &str = "left-out";

/// Folders that are remembered; the one that was used last stays longest.
const FOLDERS_MAX: usize = 200;

/// Folders of one choice that are remembered or looked for.
const FOLDERS_OF_CHOICE_MAX: usize = 20;

/// Bytes of a text: hundreds of patterns.
const TEXT_LEN_MAX: usize = 16 * 1024;

/// Bytes of the file that are read: all folders with the longest texts and paths, escaped.
const FILE_LEN_MAX: u64 = 16 << 20;

/// What a text leaves out.
///
/// # Errors
/// It is too long, or a pattern is not understood.
pub(crate) fn selection(text: &str) -> Result<Selection, Fault> {
    if text.len() > TEXT_LEN_MAX {
        return Err(Fault::Invalid(Invalid::TooMany));
    }
    let selection = Selection { patterns: of_lines(text.as_bytes()), paths: None };
    Filter::new(&selection).map(|_| selection)
}

/// The same, ready to be asked; none if nothing is left out.
pub(super) fn filter(text: &str) -> Result<Option<Arc<Filter>>, Fault> {
    Filter::new(&selection(text)?)
}

/// The texts by folder.
#[derive(Default)]
pub(super) struct LeftOut {
    /// None if it is not kept.
    file: Option<PathBuf>,
    /// The one that was used last is first.
    folders: Mutex<Vec<Entry>>,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    #[serde(flatten)]
    folder: PathText,
    text: String,
}

impl LeftOut {
    /// What earlier runs have kept, from the folder for what may be lost. What cannot be read was
    /// never kept.
    pub(super) fn open(state: &Path) -> Self {
        let file = state.join(FILE_NAME);
        let mut json = Vec::new();
        let read = File::open(&file).and_then(|file| file.take(FILE_LEN_MAX).read_to_end(&mut json));
        let mut folders: Vec<Entry> = read.ok().and_then(|_| serde_json::from_slice(&json).ok()).unwrap_or_default();
        folders.retain(|entry| selection(&entry.text).is_ok());
        folders.truncate(FOLDERS_MAX);
        Self { file: Some(file), folders: Mutex::new(folders) }
    }

    /// The lines that were last used with these folders, each line once.
    pub(super) fn of<'p>(&self, folders: impl Iterator<Item = &'p Path>) -> String {
        let known = self.folders.lock();
        if known.is_empty() {
            return String::new();
        }
        let found = folders.take(FOLDERS_OF_CHOICE_MAX).filter_map(|folder| {
            let plain: PathBuf = folder.components().collect();
            known.iter().find(|entry| entry.folder.0 == plain)
        });
        let mut lines: Vec<&str> = Vec::new();
        for line in found.flat_map(|entry| entry.text.lines()) {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines.join("\n")
    }

    /// Remembers what was left out of these folders; nothing is remembered too.
    pub(super) fn remember<'p>(&self, folders: impl Iterator<Item = &'p Path>, text: &str) {
        let text = text.trim_end();
        let mut known = self.folders.lock();
        let before = known.clone();
        let folders: Vec<PathBuf> =
            folders.take(FOLDERS_OF_CHOICE_MAX).map(|folder| folder.components().collect()).collect();
        known.retain(|entry| !folders.contains(&entry.folder.0));
        if !text.is_empty() {
            let entries = folders.into_iter().map(|folder| Entry { folder: folder.into(), text: text.to_owned() });
            known.splice(0..0, entries);
            known.truncate(FOLDERS_MAX);
        }
        if *known == before {
            return;
        }
        if let (Some(file), Ok(json)) = (&self.file, serde_json::to_vec(&*known))
            && let Some(state) = file.parent()
        {
            // Where it cannot be kept, the next run does not know it.
            let _ = private::make_folder(state).and_then(|()| private::write_file(file, &json));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    fn of(left_out: &LeftOut, folders: &[&str]) -> String {
        left_out.of(folders.iter().map(Path::new))
    }

    #[test]
    fn the_next_run_knows_what_was_left_out_of_which_folder() {
        let base = tempfile::tempdir().unwrap();
        let state = base.path().join("state/ringway");
        let left_out = LeftOut::open(&state);
        let odd = Path::new(OsStr::from_bytes(b"/caf\xe9"));
        left_out.remember([Path::new("/a"), odd].into_iter(), "*.tmp\n/cache\n");
        left_out.remember([Path::new("/b")].into_iter(), "/cache\n*.o");
        let later = LeftOut::open(&state);
        assert_eq!(of(&later, &["/a/"]), "*.tmp\n/cache");
        assert_eq!(later.of([odd].into_iter()), "*.tmp\n/cache");
        assert_eq!(of(&later, &["/a", "/c", "/b"]), "*.tmp\n/cache\n*.o");
        later.remember([Path::new("/a")].into_iter(), " \n");
        assert_eq!((of(&LeftOut::open(&state), &["/a"]), of(&later, &["/b"])), (String::new(), "/cache\n*.o".into()));
    }

    #[test]
    fn what_is_kept_is_bounded_and_what_is_damaged_was_never_kept() {
        let base = tempfile::tempdir().unwrap();
        let left_out = LeftOut::open(base.path());
        for number in 0..=FOLDERS_MAX {
            left_out.remember([Path::new(&format!("/{number}"))].into_iter(), "x");
        }
        let later = LeftOut::open(base.path());
        assert_eq!(
            (of(&later, &["/0"]), of(&later, &["/1"]), later.folders.lock().len()),
            ("".into(), "x".into(), 200)
        );
        for damaged in ["", "{", r#"[{"path":"/a","text":"a[b"}]"#, r#"[{"path":"/a"}]"#] {
            std::fs::write(base.path().join(FILE_NAME), damaged).unwrap();
            assert_eq!(of(&LeftOut::open(base.path()), &["/a"]), "", "{damaged}");
        }
    }

    #[test]
    fn a_text_is_lines_of_a_gitignore_file_within_a_limit() {
        let patterns = |text: &str| selection(text).map(|selection| selection.patterns.len());
        assert_eq!(patterns("# mine\n\n*.tmp\n!keep.tmp\n"), Ok(2));
        assert_eq!(patterns(""), Ok(0));
        assert!(matches!(patterns("ok\na[b"), Err(Fault::Invalid(Invalid::Pattern { .. }))));
        assert!(matches!(patterns("ok\n./secret"), Err(Fault::Invalid(Invalid::PatternPath { .. }))));
        assert_eq!(patterns(&"x\n".repeat(TEXT_LEN_MAX)), Err(Fault::Invalid(Invalid::TooMany)));
        assert!(filter("# nothing").unwrap().is_none());
    }
}
