//! What a selection leaves out of what is sent, and that a dry run tells exactly what moves.
use std::collections::BTreeMap;

use ringway_model::{Pattern, Planned, Selection};
use ringway_sys::dir::Dir;

use super::*;
use crate::filesystem::selection::Filter;
use crate::filtered::{Random, trees};
use crate::send::{BeneathError, EntryBeneath, Guard, Hides, WantedBeneath, plan, plan_beneath};

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
fn what_is_listed_within_a_listed_folder_and_is_not_there_has_failed() {
    let scratch = scratch();
    let root = scratch.path().join("tree");
    fs::create_dir_all(root.join("a/b")).unwrap();
    for file in ["a/1", "a/b/2"] {
        fs::write(root.join(file), file).unwrap();
    }
    for list in [
        &["a", "a/1", "a/gone", "a/b", "a/b/gone"][..],
        &["a/b/gone", "a/gone", "a/b/2", "a"],
        &["a/b/gone", "a/gone", "."],
    ] {
        let (paths, _, sent) = sent(source(&root), listed(list));
        assert_eq!(paths, ["tree", "tree/a", "tree/a/1", "tree/a/b", "tree/a/b/2"], "{list:?}");
        let mut failed: Vec<_> = sent.failures.iter().map(|failure| failure.path.to_str().unwrap()).collect();
        failed.sort_unstable();
        assert_eq!(failed, ["tree/a/b/gone", "tree/a/gone"], "{list:?}");
    }
}

/// A file and a folder that are hidden, by names of their own and in folders that are listed, too,
/// against names that nothing has: the requester cannot tell one from the other.
#[test]
fn what_is_hidden_is_answered_for_as_what_does_not_exist() {
    let scratch = scratch();
    let shared = scratch.path().join("shared");
    for folder in ["in/own/deep", "own/deep"] {
        fs::create_dir_all(shared.join(folder)).unwrap();
        fs::write(shared.join(folder).join("x"), "x").unwrap();
    }
    for file in ["in/key", "in/file"] {
        fs::write(shared.join(file), "x").unwrap();
    }
    fs::hard_link(shared.join("in/key"), shared.join("key")).unwrap();
    let hidden = ["in/own", "own", "key"].map(|path| fs::metadata(shared.join(path)).unwrap().ino());
    let answered = |names: [&str; 2], paths: &[&str], patterns: &[&str]| {
        let name = |text: &str| text.replace("FOLDER", names[0]).replace("FILE", names[1]).into_bytes();
        let patterns = patterns.iter().map(|pattern| Pattern::Exclude(name(pattern))).collect();
        let paths = Some(paths.iter().map(|path| name(path)).collect());
        let filter = Filter::new(&Selection { patterns, paths }).unwrap();
        // Each walk lists it from its beginning.
        let root = Dir::open(&shared).unwrap();
        let entries = [EntryBeneath { path: Vec::new(), name: None }];
        let wanted = WantedBeneath { entries: &entries, filter, goes_on: &|| true };
        let guard = Guard { confine: Arc::new(|| Ok(())), hides: Arc::new(move |there| hidden.contains(&there.ino)) };
        let outgoing = Outgoing::start_beneath(&root, &wanted, None, guard).unwrap();
        let sent = finish(&outgoing, IoMode::Sync, 1, None);
        let plain = |path: &str| path.replace(names[0], "FOLDER").replace(names[1], "FILE");
        let failed = sent.failures.iter().map(|failure| (plain(failure.path.to_str().unwrap()), failure.reason));
        let mut failed: Vec<_> = failed.collect();
        failed.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        (sent.received.entries.into_keys().collect::<Vec<_>>(), outgoing.excluded(), failed)
    };
    for paths in [
        &["in/FOLDER", "in/FILE"][..],
        &["in/FOLDER/deep", "in/FILE", "in"],
        &["in/FOLDER", "in/FOLDER/deep/x", "."],
        &["FOLDER", "FILE", "in"],
        &["FILE", "FOLDER/deep", "FOLDER", "./"],
    ] {
        for patterns in [&[] as &[&str], &["FOLDER"], &["FILE", "FOLDER/"], &["in/FOLDER/deep"], &["/FOLDER", "/FILE"]]
        {
            let own = answered(["own", "key"], paths, patterns);
            assert_eq!(own, answered(["non", "not"], paths, patterns), "{paths:?} without {patterns:?}");
            assert!(own.2.iter().any(|(path, _)| path.contains("FOLDER")), "{own:?}");
        }
    }
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

/// What a dry run has told.
#[derive(Default)]
struct Told {
    planned: BTreeMap<Vec<u8>, Planned>,
    failures: Vec<Failure>,
}

impl Told {
    fn tell(&mut self, what: Planned, path: &Path) {
        assert_eq!(self.planned.insert(path.as_os_str().as_bytes().to_vec(), what), None, "{path:?} was told twice");
    }

    /// Compares all of it with what was then sent.
    fn is_what_was_sent(&self, counts: &ringway_model::Counts, sent: &Sent, excluded: u64, context: &str) {
        let arrived = sent.received.entries.iter().map(|(path, entry)| {
            let what = match entry {
                Arrived::Folder(..) => Planned::Folder,
                Arrived::File { .. } => Planned::File,
                Arrived::Symlink(_) | Arrived::HardLink(_) => Planned::Link,
            };
            (path.clone(), what)
        });
        assert_eq!(self.planned, arrived.collect::<BTreeMap<_, _>>(), "{context}");
        let Counts { files, folders, links, bytes } = sent.counts;
        assert_eq!((counts.files, counts.folders, counts.links, counts.bytes), (files, folders, links, bytes));
        assert_eq!((counts.excluded, counts.failed), (excluded, sent.failed), "{context}");
        assert_eq!(self.failures, sent.failures, "{context}");
    }
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
        let sources = [if random.below(2) == 0 { source(&root) } else { contents(&root) }];
        let filter = Filter::new(&selection).unwrap();
        let mut told = Told::default();
        let mut failures = Vec::new();
        let counts = plan(
            &sources,
            filter.clone(),
            |what, path| told.tell(what, path),
            |failure| failures.push(failure),
            || false,
        );
        told.failures = failures;
        let counts = counts.unwrap();
        let outgoing = Outgoing::start_selected(&sources, filter, None).unwrap();
        let sent = finish(&outgoing, IoMode::Sync, 1, None);
        let context = format!("tree {number}: {paths:?} {selection:?}");
        told.is_what_was_sent(&counts, &sent, outgoing.excluded(), &context);
        moved += counts.files + counts.folders + counts.links;
        left_out += counts.excluded;
    }
    assert!(moved > trees() * 2 && left_out > trees() / 2, "{moved} were sent, {left_out} left out");
}

#[test]
fn a_dry_run_of_what_another_device_gets_tells_exactly_what_is_then_sent() {
    let mut random = Random(0x6e7);
    let (mut moved, mut left_out) = (0, 0);
    for number in 0..trees() {
        let scratch = scratch();
        let paths = random.tree(&scratch.path().join("tree"));
        let selection = random.selection(&paths);
        let named = (random.below(2) == 0).then(|| b"tree".to_vec());
        let root = Dir::open(scratch.path()).unwrap();
        let entries = [EntryBeneath { path: b"tree".to_vec(), name: named.clone() }];
        let filter = Filter::new(&selection).unwrap();
        let wanted = WantedBeneath { entries: &entries, filter: filter.clone(), goes_on: &|| true };
        // Some of what is there is Ringway's own.
        let hidden = fs::metadata(scratch.path().join("tree/cache")).ok().map(|there| there.ino());
        let hides: Hides = Arc::new(move |there| Some(there.ino) == hidden);
        let mut told = Told::default();
        let mut failures = Vec::new();
        let counts = plan_beneath(
            &root,
            &wanted,
            Arc::clone(&hides),
            |what, path| told.tell(what, path),
            |failure| failures.push(failure),
            || false,
        );
        told.failures = failures;
        let counts = counts.unwrap();
        let guard = Guard { confine: Arc::new(|| Ok(())), hides };
        let outgoing = Outgoing::start_beneath(&root, &wanted, None, guard).unwrap();
        let sent = finish(&outgoing, IoMode::Sync, 1, None);
        let context = format!("tree {number}: {named:?} {paths:?} {selection:?}");
        told.is_what_was_sent(&counts, &sent, outgoing.excluded(), &context);
        // The device that asks holds everything to the same selection.
        for (path, entry) in &sent.received.entries {
            let below = match &named {
                Some(_) => path.strip_prefix(b"tree").unwrap().strip_prefix(b"/").unwrap_or_default(),
                None => path,
            };
            let is_folder = matches!(entry, Arrived::Folder(..));
            let is_taken = filter.as_ref().is_none_or(|filter| below.is_empty() || filter.takes(below, is_folder));
            assert!(is_taken, "{path:?} in {context}");
        }
        moved += counts.files + counts.folders + counts.links;
        left_out += counts.excluded;
    }
    assert!(moved > trees() * 2 && left_out > trees() / 2, "{moved} were sent, {left_out} left out");
}

#[test]
fn a_list_of_another_device_reads_nothing_through_links_or_hidden_folders() {
    let scratch = scratch();
    for folder in ["shared/own/inner", "secret"] {
        fs::create_dir_all(scratch.path().join(folder)).unwrap();
    }
    fs::write(scratch.path().join("secret/file"), "secret").unwrap();
    symlink("../../secret", scratch.path().join("shared/own/inner/way")).unwrap();
    fs::create_dir(scratch.path().join("shared/deep")).unwrap();
    symlink("../../secret", scratch.path().join("shared/deep/way")).unwrap();
    let own = fs::metadata(scratch.path().join("shared/own")).unwrap().ino();
    let root = Dir::open(&scratch.path().join("shared")).unwrap();
    let filter = listed(&["deep/way/file", "own/inner/way/file"]);
    let entries = [EntryBeneath { path: Vec::new(), name: None }];
    let wanted = WantedBeneath { entries: &entries, filter, goes_on: &|| true };
    let guard = Guard { confine: Arc::new(|| Ok(())), hides: Arc::new(move |there| there.ino == own) };
    let outgoing = Outgoing::start_beneath(&root, &wanted, None, guard).unwrap();
    let sent = finish(&outgoing, IoMode::Sync, 1, None);
    let paths: Vec<_> = sent.received.entries.keys().map(|path| String::from_utf8_lossy(path)).collect();
    assert_eq!(paths, ["deep"]);
    let failed: Vec<_> = sent.failures.iter().map(|failure| (failure.path.to_str().unwrap(), failure.reason)).collect();
    let os = |errno: rustix::io::Errno| FailureReason::Os { errno: errno.raw_os_error() };
    let (link, none) = (os(rustix::io::Errno::LOOP), os(rustix::io::Errno::NOENT));
    let wanted = [("deep/way/file", link), ("own/inner/way/file", none)];
    assert_eq!(failed, wanted);
}

#[test]
fn what_another_device_asks_for_is_looked_for_as_long_as_it_may_and_a_list_belongs_to_a_folder() {
    let scratch = scratch();
    fs::create_dir(scratch.path().join("tree")).unwrap();
    (0..100).for_each(|at| fs::write(scratch.path().join(format!("tree/{at}")), "x").unwrap());
    let root = Dir::open(scratch.path()).unwrap();
    let start = |entries: &[(&str, Option<&str>)], filter, goes_on: &dyn Fn() -> bool| {
        let entry = |(path, name): &(&str, Option<&str>)| EntryBeneath {
            path: path.as_bytes().to_vec(),
            name: name.map(|name| name.as_bytes().to_vec()),
        };
        let entries: Vec<_> = entries.iter().map(entry).collect();
        let guard = Guard { confine: Arc::new(|| Ok(())), hides: Arc::new(|_| false) };
        Outgoing::start_beneath(&root, &WantedBeneath { entries: &entries, filter, goes_on }, None, guard).map(drop)
    };
    let looked = std::cell::Cell::new(0);
    let ten = || {
        looked.set(looked.get() + 1);
        looked.get() < 10
    };
    let slow = start(&[("tree", None)], filter(&["x*y"]), &ten);
    assert!(matches!(slow, Err(BeneathError::TooSlow)) && looked.get() < 20, "{slow:?} after {}", looked.get());
    for entries in [&[("tree/1", Some("1"))][..], &[("tree/1", Some("1")), ("tree/2", Some("2"))]] {
        assert!(matches!(start(entries, listed(&["1"]), &|| true), Err(BeneathError::NotOneFolder)), "{entries:?}");
    }
    assert!(start(&[("tree", Some("tree"))], listed(&["1"]), &|| true).is_ok());
}
