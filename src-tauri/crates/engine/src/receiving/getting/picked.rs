//! Entries that a person picked in one folder of a share, as a request asks for them.
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use ringway_model::{Fault, Invalid, Pattern, Selection};
use ringway_tree::filesystem::selection::one_folder_down;
use ringway_wire::limits::{GET_PATHS_BYTES_MAX, GET_PATHS_MAX};

use crate::devices::reference::PathInShare;

/// What a request asks for to get these entries of a folder, each as an entry at the top, without
/// what the patterns leave out of each; without entries it is the folder itself. More than a
/// request names one by one are listed as contents of the folder.
///
/// # Errors
/// [`Fault::Invalid`] for a name that no entry of the folder can have, and for a pattern that would
/// match something else one folder further down.
pub fn picked(
    folder: PathInShare,
    names: Vec<Vec<u8>>,
    patterns: Vec<Pattern>,
) -> Result<(Vec<PathInShare>, Selection), Fault> {
    if names.is_empty() {
        return Ok((vec![folder], Selection { patterns, paths: None }));
    }
    let above = folder.path().as_bytes().len() + 1;
    let bytes: usize = names.iter().map(|name| above + name.len()).sum();
    let paths: Vec<_> = names.iter().map(|name| folder.entry(name)).collect::<Result<_, _>>()?;
    if names.len() <= GET_PATHS_MAX && bytes <= GET_PATHS_BYTES_MAX {
        return Ok((paths, Selection { patterns, paths: None }));
    }
    if let Some(pattern) = patterns.iter().find(|pattern| is_mixed(pattern)) {
        let (Pattern::Exclude(text) | Pattern::Include(text)) = pattern;
        return Err(Fault::Invalid(Invalid::Pattern { pattern: OsString::from_vec(text.clone()).into() }));
    }
    let mut contents = folder;
    contents.contents_only = true;
    let patterns = patterns.iter().map(one_folder_down).collect();
    Ok((vec![contents], Selection { patterns, paths: Some(names) }))
}

/// Whether a path in a pattern has two asterisks beside something else between its slashes: what
/// they match depends on the folders before them.
fn is_mixed(pattern: &Pattern) -> bool {
    let (Pattern::Exclude(text) | Pattern::Include(text)) = pattern;
    let parts = || text.split(|byte| *byte == b'/');
    parts().count() > 1 && parts().any(|part| part != b"**" && part.windows(2).any(|two| two == b"**"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_that_would_match_something_else_is_refused_where_many_entries_are_picked() {
        let many = || (0..=GET_PATHS_MAX).map(|at| at.to_string().into_bytes()).collect::<Vec<_>>();
        let picked_without = |names, text: &str| picked(folder(), names, vec![Pattern::Exclude(text.into())]);
        for text in ["a**/b", "/keep**", "x/**y"] {
            assert!(matches!(picked_without(many(), text), Err(Fault::Invalid(Invalid::Pattern { .. }))), "{text}");
            assert!(picked_without(vec![b"few".to_vec()], text).is_ok(), "{text}");
        }
        for text in ["a/**/b", "/**", "a**b", "**/x"] {
            assert!(picked_without(many(), text).is_ok(), "{text}");
        }
    }

    fn folder() -> PathInShare {
        PathInShare::parse(b"runs/night").unwrap()
    }

    fn asked(names: Vec<Vec<u8>>) -> (Vec<PathInShare>, Selection) {
        picked(folder(), names, vec![Pattern::Exclude(b"*.tmp".into())]).unwrap()
    }

    #[test]
    fn few_entries_are_named_and_many_are_listed() {
        assert_eq!(asked(Vec::new()).0, [folder()]);
        let (paths, selection) = asked(vec![b"a".to_vec(), b"\xff".to_vec()]);
        assert_eq!(
            paths.iter().map(PathInShare::path).map(|path| path.as_bytes().to_vec()).collect::<Vec<_>>(),
            [b"night/a".to_vec(), b"night/\xff".to_vec()]
        );
        assert_eq!((selection.patterns, selection.paths), (vec![Pattern::Exclude(b"*.tmp".into())], None));
        for many in
            [(0..=GET_PATHS_MAX).map(|at| at.to_string().into_bytes()).collect::<Vec<_>>(), vec![vec![b'x'; 250]; 140]]
        {
            let (paths, selection) = asked(many.clone());
            assert_eq!(paths, [PathInShare::parse(b"runs/night/").unwrap()]);
            assert_eq!(selection.patterns, [Pattern::Exclude(b"/*/**/*.tmp".into())]);
            assert_eq!(selection.paths, Some(many));
        }
    }

    #[test]
    fn only_entries_of_the_folder_can_be_picked() {
        for name in [&b".."[..], b"", b"a/b", b"."] {
            assert!(picked(folder(), vec![name.to_vec()], Vec::new()).is_err(), "{name:?}");
        }
    }
}
