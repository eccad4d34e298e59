//! Patterns and lists: what they mean, what is refused, and what a comparison costs.
mod against_git;

use std::time::{Duration, Instant};

use ringway_model::{Fault, Invalid, Pattern};

use super::*;

fn filter(patterns: &[(&str, bool)]) -> Arc<Filter> {
    let patterns = patterns.iter().map(|(pattern, out)| match out {
        true => Pattern::Exclude((*pattern).into()),
        false => Pattern::Include((*pattern).into()),
    });
    Filter::new(&Selection { patterns: patterns.collect(), paths: None }).unwrap().unwrap()
}

fn leaves_out(filter: &Filter, path: &[u8], is_folder: bool) -> bool {
    filter.verdict(path, is_folder, &filter.nothing_met()) == Verdict::LeftOut
}

fn listed(paths: &[&str]) -> Result<Option<Arc<Filter>>, Fault> {
    let paths = paths.iter().map(|path| path.as_bytes().to_vec()).collect();
    Filter::new(&Selection { patterns: Vec::new(), paths: Some(paths) })
}

#[test]
fn the_last_pattern_that_matches_decides() {
    let filter = filter(&[("*.log", true), ("keep.log", false), ("/top", true), ("cache/", true)]);
    let out = |path: &[u8], is_folder| leaves_out(&filter, path, is_folder);
    assert!(out(b"a/b.log", false));
    assert!(!out(b"a/keep.log", false));
    assert!(out(b"top", false) && !out(b"a/top", false));
    assert!(out(b"a/cache", true) && !out(b"a/cache", false));
    assert!(out(b"\xff.log", false), "names need not be text");
}

#[test]
fn one_folder_down_a_pattern_matches_what_it_matched_in_the_folder() {
    const PATTERNS: [&str; 20] = [
        "*.o", "x", "x/", "/x", "/x/", "x/y", "/x/y/", "**", "/**", "**/x", "x/**", "x/**/y", "*", "?", "[xy]", "\\!x",
        " x", "x ", "x\\ ", "*/y\r",
    ];
    const PATHS: [&str; 12] = ["x", "y", "a.o", "x/y", "y/x", "x/a.o", "x/y/x", "a/x/y", "x/a/y", "!x", " x", "x "];
    for pattern in PATTERNS {
        let excluded = Pattern::Exclude(pattern.into());
        let of = |pattern| Filter::new(&Selection { patterns: vec![pattern], paths: None }).unwrap().unwrap();
        let (here, down) = (of(excluded.clone()), of(one_folder_down(&excluded)));
        let included = Filter::new(&Selection {
            patterns: vec![Pattern::Exclude(b"/**".into()), one_folder_down(&Pattern::Include(pattern.into()))],
            paths: None,
        });
        let included = included.unwrap().unwrap();
        for path in PATHS {
            let below = format!("folder/{path}").into_bytes();
            for is_folder in [true, false] {
                let is_out = leaves_out(&here, path.as_bytes(), is_folder);
                assert_eq!(leaves_out(&down, &below, is_folder), is_out, "{pattern}: {path}");
                assert_eq!(leaves_out(&included, &below, is_folder), !is_out, "!{pattern}: {path}");
                let is_top = !path.contains('/');
                assert!(!(is_top && leaves_out(&down, path.as_bytes(), is_folder)), "{pattern}: {path} itself");
            }
        }
    }
}

#[test]
fn a_pattern_may_begin_like_a_comment_or_a_negation() {
    let both = filter(&[("#x", true), ("!y", true)]);
    assert!(leaves_out(&both, b"#x", false) && leaves_out(&both, b"!y", false) && !leaves_out(&both, b"y", false));
    let taken = filter(&[("*", true), ("#x", false), ("!y", false)]);
    assert!(!leaves_out(&taken, b"#x", false) && !leaves_out(&taken, b"!y", false));
    assert!(leaves_out(&taken, b"y", false));
}

#[test]
fn invalid_patterns_are_refused() {
    let of = |pattern: Pattern| Filter::new(&Selection { patterns: vec![pattern], paths: None }).map(drop);
    for pattern in ["[", "a/[!b", "[]", "[[:digits:]]", "[a[:x:]]", "a\\", r"[\"] {
        let told = of(Pattern::Exclude(pattern.into()));
        assert!(matches!(told, Err(Fault::Invalid(why)) if why.to_string().contains("not understood")), "{pattern}");
    }
    for pattern in ["", " ", "   ", "/", "/ "] {
        for pattern in [Pattern::Exclude(pattern.into()), Pattern::Include(pattern.into())] {
            let told = of(pattern.clone());
            assert!(matches!(told, Err(Fault::Invalid(why)) if why.to_string().contains("empty")), "{pattern:?}");
        }
    }
    for pattern in [
        ".", "..", "./x", "../x", "a//b", "x/..", "x/.", "/..", "//x", "x//", "a/**//b", "**/./x", r"\./x", "[.]/x",
        "x/[.][.]", "[.].", "[/]", "a[/]b/c",
    ] {
        for pattern in [Pattern::Exclude(pattern.into()), Pattern::Include(pattern.into())] {
            let told = of(pattern.clone());
            assert!(matches!(told, Err(Fault::Invalid(Invalid::PatternPath { .. }))), "{pattern:?}");
        }
    }
    for pattern in [
        ".x", "..x", "x.", "...", ".*", "*/..x", "a/**/b", "**", "/**", "a/**", "?", "..**/x", "[.]x", "[.-]/x",
        "[!.]/x",
    ] {
        assert!(of(Pattern::Exclude(pattern.into())).is_ok(), "{pattern}");
    }
    for pattern in ["a\0b".to_owned(), "a\nb".to_owned(), "x".repeat(PATTERN_LEN_MAX + 1), "x".repeat(1 << 20)] {
        assert!(matches!(of(Pattern::Exclude(pattern.into())), Err(Fault::Invalid(_))));
    }
    let many = |len| Selection { patterns: vec![Pattern::Exclude(b"x".to_vec()); len], paths: None };
    assert!(Filter::new(&many(PATTERNS_MAX)).is_ok() && Filter::new(&many(100_000)).is_err());
    assert!(Filter::new(&Selection::default()).unwrap().is_none());
}

#[test]
fn a_class_matches_no_slash_and_braces_are_literal() {
    let class = filter(&[("v[!0-9]*", true)]);
    assert!(leaves_out(&class, b"vx", false) && !leaves_out(&class, b"v", true) && !leaves_out(&class, b"v/a", false));
    let path = filter(&[("/v[!0-9]*", true)]);
    assert!(!leaves_out(&path, b"v/a", false), "the class is no slash");
    let braces = filter(&[("{old}", true), ("*.{a,b}", true)]);
    assert!(!leaves_out(&braces, b"old", true) && leaves_out(&braces, b"{old}", true));
    assert!(!leaves_out(&braces, b"x.a", false) && leaves_out(&braces, b"x.{a,b}", false));
}

#[test]
fn blanks_at_the_end_are_dropped_unless_escaped() {
    let trimmed = filter(&[("a  ", true), (r"b\ ", true), (r"c\   ", true), (" d", true)]);
    for (name, out) in [("a", true), ("a  ", false), ("b ", true), ("b", false), ("c ", true), (" d", true)] {
        assert_eq!(leaves_out(&trimmed, name.as_bytes(), false), out, "{name:?}");
    }
}

#[test]
fn control_bytes_are_bytes_like_others() {
    let odd = filter(&[("\x01*", true), ("\u{1b}[[]2J", true)]);
    assert!(leaves_out(&odd, b"\x01x", false) && leaves_out(&odd, b"\x1b[2J", false) && !leaves_out(&odd, b"x", false));
}

#[test]
fn lines_of_a_file_are_those_of_git() {
    let text = b"\xef\xbb\xbf*.o\n# comment\n\n  \n!keep.o\r\n\\#x\n\\!y\n";
    let of = |text: &[u8]| Pattern::Exclude(text.to_vec());
    let wanted = [of(b"*.o"), Pattern::Include(b"keep.o\r".to_vec()), of(br"\#x"), of(br"\!y")];
    assert_eq!(of_lines(text), wanted);
    let again = [of(b"!y"), of(b"#x"), of(b"z"), Pattern::Include(b"!y".to_vec())];
    let lines: Vec<_> = again.iter().map(to_line).collect();
    assert_eq!(lines, [&br"\!y"[..], br"\#x", b"z", b"!!y"]);
    let filter = Filter::new(&Selection { patterns: of_lines(&lines.join(&b'\n')), paths: None }).unwrap().unwrap();
    assert!(
        !leaves_out(&filter, b"!y", false) && leaves_out(&filter, b"#x", false) && leaves_out(&filter, b"z", false)
    );
}

/// A backtracking matcher takes years for each of these.
#[test]
fn a_comparison_takes_time_in_proportion_whatever_the_pattern() {
    let deep = "a/".repeat(1_000) + "a";
    let long = "a".repeat(255);
    // Their ends match, which is compared first.
    let patterns = [
        "**/a/".repeat(500) + "b/a",
        "**/*a*/".repeat(400) + "*b*/a",
        "**/a/".repeat(300) + "**/*a*b*/**/a",
        "*a".repeat(1_000) + "b*a",
        "[ab]*".repeat(600) + "c*a",
        "a*/**/".repeat(300) + "**/b/a",
        format!("**/{}b/**/a", "a/".repeat(400)),
    ];
    let begun = Instant::now();
    for pattern in &patterns {
        let filter = filter(&[(pattern, true)]);
        for path in [&deep, &long, &format!("{deep}/{long}")] {
            assert!(!leaves_out(&filter, path.as_bytes(), false), "{pattern}");
        }
    }
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

#[test]
fn only_what_is_listed_is_taken_with_the_folders_above_it() {
    let filter = listed(&["b/c", "./a//x/", "b/c/d", "b.c", "a/x", "#z"]).unwrap().unwrap();
    let met = filter.nothing_met();
    let takes = |path: &str, is_folder| filter.verdict(path.as_bytes(), is_folder, &met) == Verdict::Taken;
    for (path, is_folder) in
        [("a", true), ("a/x", false), ("b", true), ("b/c", true), ("b/c/d", true), ("b/c/d/e", false), ("#z", false)]
    {
        assert!(takes(path, is_folder), "{path}");
    }
    for (path, is_folder) in
        [("a", false), ("a/xx", false), ("a/w", true), ("b.d", false), ("bb", true), ("b/d", false)]
    {
        assert!(!takes(path, is_folder), "{path}");
    }
    let missing: Vec<_> = filter.missing(&met).collect();
    assert_eq!(missing, [&b"b.c"[..]], "the others were met");
}

#[test]
fn what_is_listed_within_a_listed_folder_or_with_the_source_is_missed_too() {
    let lists: [&[&str]; 4] = [
        &["./a", "./a/two", "./a/one"],
        &["a/one", "a/two", "a"],
        &[".", "a", "a/one", "a/two"],
        &["a/two", "a/one", "a", "a/two", "./"],
    ];
    for paths in lists {
        let filter = listed(paths).unwrap().unwrap();
        let met = filter.nothing_met();
        for (path, is_folder) in [("a", true), ("a/one", false), ("a/three", false)] {
            assert_eq!(filter.verdict(path.as_bytes(), is_folder, &met), Verdict::Taken, "{path} of {paths:?}");
            assert!(filter.takes(path.as_bytes(), is_folder));
        }
        let wanted = if paths.contains(&".") || paths.contains(&"./") { Verdict::Taken } else { Verdict::NotListed };
        assert_eq!(filter.verdict(b"other", false, &met), wanted, "{paths:?}");
        assert_eq!(filter.missing(&met).collect::<Vec<_>>(), [b"a/two"], "{paths:?}");
        filter.not_there(b"a", &met);
        let missing: Vec<_> = filter.missing(&met).collect();
        assert_eq!(missing, [&b"a"[..], b"a/one", b"a/two"], "as if it did not exist: {paths:?}");
        filter.failed_below(b"a", &met);
        assert_eq!(filter.missing(&met).collect::<Vec<_>>(), [b"a"], "{paths:?}");
        filter.failed_below(b"", &met);
        assert_eq!(filter.missing(&met).count(), 0, "{paths:?}");
    }
    let patterns = vec![Pattern::Exclude(b"skip".to_vec())];
    let paths = Some([&b"skip/x/y"[..], b".", b"a/gone"].map(<[u8]>::to_vec).to_vec());
    let filter = Filter::new(&Selection { patterns, paths }).unwrap().unwrap();
    let met = filter.nothing_met();
    assert_eq!(filter.verdict(b"skip", true, &met), Verdict::LeftOut);
    assert_eq!(filter.missing(&met).collect::<Vec<_>>(), [b"a/gone"], "what is left out is not missed");
}

#[test]
fn what_is_listed_and_left_out_is_not_missing() {
    let patterns = vec![Pattern::Exclude(b"skip".to_vec()), Pattern::Exclude(b"*.tmp".to_vec())];
    let paths = Some([&b"skip/a"[..], b"skip/b", b"x.tmp", b"gone"].map(<[u8]>::to_vec).to_vec());
    let filter = Filter::new(&Selection { patterns, paths }).unwrap().unwrap();
    let met = filter.nothing_met();
    assert_eq!(filter.verdict(b"skip", true, &met), Verdict::LeftOut);
    assert_eq!(filter.verdict(b"x.tmp", false, &met), Verdict::LeftOut);
    assert_eq!(filter.verdict(b"y.tmp", false, &met), Verdict::NotListed, "only what is asked for is counted");
    assert_eq!(filter.missing(&met).collect::<Vec<_>>(), [b"gone"]);
}

#[test]
fn a_list_stays_within_its_source_and_limits() {
    assert!(listed(&["./.", "./"]).unwrap().is_none(), "the source itself is all of it");
    assert!(!listed(&[]).unwrap().unwrap().takes(b"a", true), "nothing is listed");
    for path in ["", "/a", "..", "a/../../b", "a/..", "a\0b"] {
        assert!(matches!(listed(&[path]), Err(Fault::Invalid(_))), "{path:?}");
    }
    let paths = Some(vec![b"a".to_vec(); LISTED_MAX + 1]);
    assert!(Filter::new(&Selection { patterns: Vec::new(), paths }).is_err());
    let paths = Some(vec![vec![b'a'; LISTED_BYTES_MAX + 1]]);
    assert!(Filter::new(&Selection { patterns: Vec::new(), paths }).is_err());
}
