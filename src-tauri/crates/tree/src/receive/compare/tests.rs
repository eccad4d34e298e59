//! Listings of real trees, compared with real folders.
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, SystemTime};

use ringway_model::Source;
use ringway_wire::RelPath;
use ringway_wire::limits::LISTING_ENTRIES_MAX;
use ringway_wire::listing::{ListingEnd, ListingWriter};

use super::*;
use crate::send::Outgoing;

const LONG_AGO: Duration = Duration::from_secs(1_600_000_000);

/// A folder that is offered, and one to compare with.
struct Two {
    base: tempfile::TempDir,
}

impl Two {
    fn new() -> Self {
        let two = Self { base: tempfile::tempdir().unwrap() };
        fs::create_dir_all(two.offered("album")).unwrap();
        fs::create_dir(two.here("")).unwrap();
        two
    }

    fn offered(&self, path: &str) -> PathBuf {
        self.base.path().join("offered").join(path)
    }

    fn here(&self, path: &str) -> PathBuf {
        self.base.path().join("here").join(path)
    }

    /// Writes a file in both, with the same time.
    fn both(&self, path: &str) {
        for file in [self.offered(path), self.here(path)] {
            write(&file, "same", LONG_AGO);
        }
    }

    fn list(&self) -> Receiver<ListingPage> {
        list(&self.offered("album"))
    }

    fn compare(&self) -> (Comparison, Vec<Difference>) {
        let Tally { counts, differences, .. } = in_place(self.found(Box::new(|_| None)));
        (counts, Arc::unwrap_or_clone(differences))
    }

    fn found(&self, brought: AskBrought) -> Found {
        let mut comparer = Comparer::open(&self.here(""), false, brought).unwrap();
        for page in self.list() {
            assert!(comparer.page(&page, || true));
        }
        comparer.found().clone()
    }
}

/// How it compares with what has the sender's names.
fn in_place(found: Found) -> Tally {
    found.in_place.unwrap_or(found.update)
}

fn list(source: &Path) -> Receiver<ListingPage> {
    let source = Source { path: source.to_owned(), contents_only: false };
    let outgoing = Outgoing::start(&[source]).unwrap();
    let (give, pages) = channel();
    // It lists no longer than it lives.
    let alive = Arc::clone(&outgoing);
    outgoing.list_unanswered(move |page| Arc::strong_count(&alive) > 0 && give.send(page).is_ok());
    pages
}

fn write(path: &Path, contents: &str, time: Duration) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, contents).unwrap();
    fs::File::options().write(true).open(path).unwrap().set_modified(SystemTime::UNIX_EPOCH + time).unwrap();
}

fn named(differences: &[Difference]) -> Vec<(String, HereIs)> {
    let name = |found: &Difference| found.path.as_os_str().to_str().unwrap().to_owned();
    let mut named: Vec<_> = differences.iter().map(|found| (name(found), found.here_is)).collect();
    named.sort_by(|one, other| one.0.cmp(&other.0));
    named
}

#[test]
fn entries_are_new_unchanged_or_different() {
    let two = Two::new();
    two.both("album/same");
    two.both("album/below/same");
    write(&two.offered("album/new"), "new", LONG_AGO);
    write(&two.offered("album/folder/new"), "new", LONG_AGO);
    write(&two.offered("album/longer"), "longer", LONG_AGO);
    write(&two.here("album/longer"), "long", LONG_AGO);
    write(&two.offered("album/edited"), "1", LONG_AGO);
    write(&two.here("album/edited"), "22", LONG_AGO + Duration::from_secs(9));
    write(&two.offered("album/older"), "1", LONG_AGO);
    write(&two.here("album/older"), "1", LONG_AGO - Duration::from_secs(9));
    write(&two.here("album/only-here"), "stays", LONG_AGO);
    for (link, offered, here) in [("to", "a", "a"), ("from", "a", "b")] {
        symlink(offered, two.offered("album").join(link)).unwrap();
        symlink(here, two.here("album").join(link)).unwrap();
    }
    let (counts, differences) = two.compare();
    let found = (counts.new, counts.unchanged, counts.differing, counts.in_the_way, counts.unreadable);
    // `folder` and what is in it are new. `album` and `below` are there and count nowhere.
    assert_eq!(found, (3, 3, 4, 0, 0));
    let as_named = |name: &str, here_is| (format!("album/{name}"), here_is);
    assert_eq!(
        named(&differences),
        [
            as_named("edited", HereIs::Newer),
            as_named("from", HereIs::Other),
            as_named("longer", HereIs::Other),
            as_named("older", HereIs::Older),
        ]
    );
    let edited = differences.iter().find(|found| found.here_is == HereIs::Newer).unwrap();
    assert_eq!((edited.offered_bytes, edited.here_bytes), (Some(1), Some(2)));
    assert_eq!(edited.offered_changed_at, Some(SystemTime::UNIX_EPOCH + LONG_AGO));
}

#[test]
fn what_is_in_the_way_is_neither_followed_nor_opened() {
    let two = Two::new();
    let outside = two.base.path().join("outside");
    write(&outside.join("secret"), "same", LONG_AGO);
    for path in ["album/linked/secret", "album/fifo/secret", "album/file/below/secret"] {
        write(&two.offered(path), "same", LONG_AGO);
    }
    write(&two.offered("album/pipe"), "1", LONG_AGO);
    write(&two.offered("album/folder"), "1", LONG_AGO);
    fs::create_dir_all(two.here("album/folder")).unwrap();
    symlink(&outside, two.here("album/linked")).unwrap();
    write(&two.here("album/file"), "1", LONG_AGO);
    // A FIFO without a writer would keep the comparison waiting if it was opened.
    let album = ringway_sys::dir::Dir::open(&two.here("album")).unwrap();
    [&b"fifo"[..], b"pipe"].iter().for_each(|name| album.make_node(name, Kind::Fifo, 0o600, 0).unwrap());
    let (counts, differences) = two.compare();
    // Three folders with four entries below them, and two files; only `album` is there.
    assert_eq!((counts.new, counts.unchanged, counts.differing, counts.in_the_way), (0, 0, 0, 9));
    let in_the_way = ["album/fifo", "album/file", "album/folder", "album/linked", "album/pipe"];
    assert_eq!(named(&differences), in_the_way.map(|path| (path.to_owned(), HereIs::InTheWay)));
}

#[test]
fn folder_that_leads_elsewhere_is_not_followed_at_the_top_either() {
    let two = Two::new();
    let outside = two.base.path().join("outside");
    write(&outside.join("secret"), "same", LONG_AGO);
    write(&two.offered("album/secret"), "same", LONG_AGO);
    symlink(&outside, two.here("album")).unwrap();
    let (counts, _) = two.compare();
    assert_eq!((counts.unchanged, counts.in_the_way), (0, 2));
}

#[test]
fn listing_that_lies_reaches_nothing_outside() {
    let two = Two::new();
    write(&two.here("album/file"), "same", LONG_AGO);
    symlink(two.base.path(), two.here("album/up")).unwrap();
    let folder = |path| ListedEntry { path: RelPath::new(path).unwrap(), kind: ListedKind::Folder };
    let mut writer = ListingWriter::default();
    // A child below a file and below a link, one of a folder that was never listed, the same twice,
    // and bytes that no person types.
    let paths = [&b"album/file/child"[..], b"album/up/here/album", b"no/child", b"album", b"album", b"a\x1b\n\xff"];
    assert!(paths.into_iter().all(|path| writer.push(&folder(path)).is_none()));
    let mut comparer = Comparer::open(&two.here(""), false, Box::new(|_| None)).unwrap();
    assert!(comparer.page(&writer.page(ListingEnd::Complete), || true));
    let Tally { counts, .. } = in_place(comparer.found().clone());
    assert_eq!((counts.new, counts.unchanged, counts.in_the_way), (2, 0, 2));
}

#[test]
fn differences_are_named_up_to_a_limit_and_all_counted() {
    let two = Two::new();
    for number in 0..DIFFERENCES_MAX + 50 {
        write(&two.offered(&format!("album/{number}")), "1", LONG_AGO);
        write(&two.here(&format!("album/{number}")), "22", LONG_AGO);
    }
    let (counts, differences) = two.compare();
    assert_eq!((counts.differing, differences.len()), (DIFFERENCES_MAX as u64 + 50, DIFFERENCES_MAX));
}

#[test]
fn comparison_ends_when_it_is_told_to() {
    let two = Two::new();
    (0..500).for_each(|number| write(&two.offered(&format!("album/{number}")), "1", LONG_AGO));
    let mut comparer = Comparer::open(&two.here(""), false, Box::new(|_| None)).unwrap();
    let page = two.list().recv().unwrap();
    let mut looks = 0;
    let whole = comparer.page(&page, || {
        looks += 1;
        looks < 3
    });
    assert!(!whole && comparer.found().update.counts.new == 2 * LOOK_EVERY as u64);
}

#[test]
fn listing_of_more_than_its_limit_is_cut() {
    let base = tempfile::tempdir().unwrap();
    let tree = base.path().join("many");
    for folder in 0..101 {
        let folder = tree.join(folder.to_string());
        fs::create_dir_all(&folder).unwrap();
        let first = folder.join("0");
        fs::write(&first, "1").unwrap();
        (1..1_000).for_each(|number| fs::hard_link(&first, folder.join(number.to_string())).unwrap());
    }
    let pages: Vec<_> = list(&tree).iter().collect();
    let (last, others) = pages.split_last().unwrap();
    assert_eq!(last.end(), ListingEnd::Cut);
    assert!(others.iter().all(|page| page.end() == ListingEnd::More));
    assert_eq!(pages.iter().map(ListingPage::len).sum::<usize>(), LISTING_ENTRIES_MAX);
}

#[test]
fn listing_ends_when_nobody_takes_it() {
    let base = tempfile::tempdir().unwrap();
    (0..3_000).for_each(|number| fs::write(base.path().join(number.to_string()), "1").unwrap());
    let source = Source { path: base.path().to_owned(), contents_only: true };
    let outgoing = Outgoing::start(&[source]).unwrap();
    let (give, pages) = channel();
    outgoing.list_unanswered(move |page| {
        give.send(page.end()).unwrap();
        false
    });
    assert_eq!(pages.iter().collect::<Vec<_>>(), [ListingEnd::More]);
    // It lists once, and not after the answer.
    outgoing.answered_yes();
    let (give, pages) = channel();
    outgoing.list_unanswered(move |page| give.send(page.len()).is_ok());
    assert_eq!(pages.iter().count(), 0);
}
