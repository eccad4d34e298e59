//! What a selection leaves out of what is sent, and that a dry run tells exactly what moves.
use std::collections::BTreeMap;

use ringway_model::{Pattern, Planned, Selection};

use super::*;
use crate::filesystem::selection::Filter;
use crate::filtered::{Random, trees};
use crate::send::plan;

fn filter(patterns: &[&str]) -> Option<Arc<Filter>> {
    let patterns = patterns.iter().map(|pattern| match pattern.strip_prefix('+') {
        Some(pattern) => Pattern::Include(pattern.into()),
        None => Pattern::Exclude((*pattern).into()),
    });
    Filter::new(&Selection { patterns: patterns.collect(), paths: None }).unwrap()
}

fn listed(paths: &[&str]) -> Option<Arc<Filter>> {
    let paths = paths.iter().map(|path| path.as_bytes().to_vec()).collect();
    Filter::new(&Selection { patterns: Vec::new(), paths: Some(paths) }).unwrap()
}

/// The paths that arrive, and how many entries were left out.
fn sent(source: Source, filter: Option<Arc<Filter>>) -> (Vec<String>, u64, Sent) {
    let outgoing = Outgoing::start_selected(&[source], filter, None).unwrap();
    let sent = finish(&outgoing, IoMode::Sync, 1, None);
    let paths = sent.received.entries.keys().map(|path| String::from_utf8(path.clone()).unwrap()).collect();
    (paths, outgoing.excluded(), sent)
}

#[test]
fn what_patterns_match_is_not_sent_and_counted() {
    let scratch = scratch();
    let root = scratch.path().join("tree");
    fs::create_dir_all(root.join("src/cache/deep")).unwrap();
    for file in ["main.o", "src/main.c", "src/keep.o", "src/cache/deep/x", "cache"] {
        fs::write(root.join(file), file).unwrap();
    }
    let out = || filter(&["*.o", "+keep.o", "cache/"]);
    let (paths, excluded, sent_as_folder) = sent(source(&root), out());
    assert_eq!(paths, ["tree", "tree/cache", "tree/src", "tree/src/keep.o", "tree/src/main.c"]);
    assert_eq!((excluded, sent_as_folder.failures.len()), (2, 0));
    let (paths, excluded, sent_contents) = sent(contents(&root), out());
    assert_eq!(paths, ["cache", "src", "src/keep.o", "src/main.c"]);
    assert_eq!((excluded, sent_contents.failures.len()), (2, 0), "and what is left out at the top is not missed");
    let (names, _) = Outgoing::start_selected(&[contents(&root)], out(), None).unwrap().names();
    assert_eq!(names, [&b"cache"[..], b"src"], "nor offered");
    // A source that is named is never left out itself.
    let (paths, excluded, _) = sent(source(&root.join("main.o")), out());
    assert_eq!((paths, excluded), (vec!["main.o".to_owned()], 0));
    let (paths, excluded, _) = sent(contents(&root), filter(&["*"]));
    assert_eq!((paths, excluded), (vec![], 3));
}

#[test]
fn names_that_only_two_left_out_entries_share_do_not_collide() {
    let scratch = scratch();
    let roots = ["one", "two"].map(|name| scratch.path().join(name));
    for root in &roots {
        fs::create_dir_all(root.join(".git")).unwrap();
        fs::write(root.join(root.file_name().unwrap()), "x").unwrap();
    }
    let sources = [contents(&roots[0]), contents(&roots[1])];
    assert!(matches!(Outgoing::start(&sources), Err(Fault::Invalid(Invalid::SameName { .. }))));
    let outgoing = Outgoing::start_selected(&sources, filter(&[".git/"]), None).unwrap();
    let sent = finish(&outgoing, IoMode::Sync, 1, None);
    assert_eq!((sent.received.entries.len(), outgoing.excluded(), sent.failures.len()), (2, 2, 0));
}

#[test]
fn links_to_what_is_left_out_are_sent_as_they_are() {
    let scratch = scratch();
    let root = scratch.path().join("tree");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("a.tmp"), "abc").unwrap();
    for name in ["b", "c", "d.tmp"] {
        fs::hard_link(root.join("a.tmp"), root.join(name)).unwrap();
    }
    symlink("a.tmp", root.join("link")).unwrap();
    let (paths, excluded, sent) = sent(source(&root), filter(&["*.tmp"]));
    assert_eq!(paths, ["tree", "tree/b", "tree/c", "tree/link"]);
    assert_eq!((excluded, sent.counts.files, sent.counts.links, sent.counts.bytes), (2, 1, 2, 3));
    assert!(matches!(&sent.received.entries[&b"tree/link"[..]], Arrived::Symlink(target) if target == b"a.tmp"));
}

#[test]
fn only_what_is_listed_is_sent_and_what_is_not_there_has_failed() {
    let scratch = scratch();
    let root = scratch.path().join("tree");
    fs::create_dir_all(root.join("a/b")).unwrap();
    fs::create_dir(root.join("whole")).unwrap();
    for file in ["a/b/1", "a/b/2", "a/3", "4", "whole/5"] {
        fs::write(root.join(file), file).unwrap();
    }
    let (paths, excluded, sent) = sent(source(&root), listed(&["a/b/1", "whole", "gone", "a/b/1"]));
    assert_eq!(paths, ["tree", "tree/a", "tree/a/b", "tree/a/b/1", "tree/whole", "tree/whole/5"]);
    let failed: Vec<_> = sent.failures.iter().map(|failure| failure.path.to_str().unwrap()).collect();
    assert_eq!((excluded, failed), (0, vec!["tree/gone"]));
    let (paths, _, sent) = self::sent(contents(&root), listed(&["4", "gone"]));
    let failed: Vec<_> = sent.failures.iter().map(|failure| failure.path.to_str().unwrap()).collect();
    assert_eq!((paths, failed), (vec!["4".to_owned()], vec!["gone"]));
    let two = Outgoing::start_selected(&[source(&root), source(&root.join("4"))], listed(&["4"]), None);
    assert!(matches!(two, Err(Fault::Invalid(_))));
}

#[test]
fn later_attempts_leave_out_the_same() {
    let scratch = scratch();
    let root = scratch.path().join("tree");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("a"), "a").unwrap();
    let out = filter(&["*.tmp"]);
    let first = Outgoing::start_selected(&[contents(&root)], out.clone(), None).unwrap();
    fs::write(root.join("later.tmp"), "x").unwrap();
    fs::remove_file(root.join("a")).unwrap();
    let offered = Arc::clone(first.offered());
    let second = Outgoing::start_selected(&[contents(&root)], out, Some(offered)).unwrap();
    let sent = finish(&second, IoMode::Sync, 1, None);
    assert!(sent.received.entries.is_empty());
    assert_eq!((second.excluded(), sent.failures.len()), (1, 1), "what has vanished has failed, and nothing else");
}

#[test]
fn a_dry_run_tells_exactly_what_is_then_sent() {
    let mut random = Random(0x5eed);
    let (mut moved, mut left_out) = (0, 0);
    for number in 0..trees() {
        let scratch = scratch();
        let root = scratch.path().join("tree");
        let paths = random.tree(&root);
        let selection = random.selection(&paths);
        let from = if random.below(2) == 0 { source(&root) } else { contents(&root) };
        let filter = Filter::new(&selection).unwrap();
        let (mut planned, mut failures) = (BTreeMap::new(), Vec::new());
        let tell = |what, path: &Path| {
            assert_eq!(planned.insert(path.as_os_str().as_bytes().to_vec(), what), None, "{path:?} was told twice");
        };
        let sources = [from];
        let counts = plan(&sources, filter.clone(), tell, |failure| failures.push(failure), || false).unwrap();
        let outgoing = Outgoing::start_selected(&sources, filter, None).unwrap();
        let sent = finish(&outgoing, IoMode::Sync, 1, None);
        let arrived = sent.received.entries.iter().map(|(path, entry)| {
            let what = match entry {
                Arrived::Folder(..) => Planned::Folder,
                Arrived::File { .. } => Planned::File,
                Arrived::Symlink(_) | Arrived::HardLink(_) => Planned::Link,
            };
            (path.clone(), what)
        });
        let context = || format!("tree {number}: {paths:?} {selection:?}");
        assert_eq!(planned, arrived.collect::<BTreeMap<_, _>>(), "{}", context());
        let Counts { files, folders, links, bytes } = sent.counts;
        assert_eq!((counts.files, counts.folders, counts.links, counts.bytes), (files, folders, links, bytes));
        assert_eq!((counts.excluded, counts.failed), (outgoing.excluded(), sent.failed), "{}", context());
        assert_eq!(failures, sent.failures, "{}", context());
        moved += counts.files + counts.folders + counts.links;
        left_out += counts.excluded;
    }
    assert!(moved > trees() * 2 && left_out > trees() / 2, "{moved} were sent, {left_out} left out");
}
