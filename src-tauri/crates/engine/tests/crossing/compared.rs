//! What an offer would do to what is in its folder: told while a person decides, never waited for.
use std::time::Instant;

use ringway_engine::copying::{CopyOptions, CopyRequest};
use ringway_engine::{IncomingOffer, Transfer};
use ringway_model::{Comparison, ComparisonState, EntryKind, HereIs, Offer};
use ringway_wire::limits::LISTING_ENTRIES_MAX;

use super::*;

/// A folder `set` with so many files, each with its number as content and the same old time.
fn set(at: &Path, files: std::ops::Range<usize>) {
    fs::create_dir_all(at).unwrap();
    files.for_each(|number| write(&at.join(number.to_string()), &number.to_string()));
}

fn write(file: &Path, content: &str) {
    fs::write(file, content).unwrap();
    let time = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000);
    fs::File::options().write(true).open(file).unwrap().set_modified(time).unwrap();
}

const DONE: Comparison = Comparison {
    state: ComparisonState::Done,
    new: 0,
    unchanged: 0,
    differing: 0,
    edited: 0,
    in_the_way: 0,
    unreadable: 0,
    at_least: false,
};

/// How it compares under `update`.
async fn compared(offer: &IncomingOffer) -> Comparison {
    timeout(LONG, offer.compared()).await.expect("it is compared");
    offer.summary().comparison.unwrap()
}

/// Waits until an offer that was compared is compared anew, with that result under `update`.
async fn compared_anew(offer: &IncomingOffer, expected: Comparison) {
    let anew = async {
        while offer.summary().comparison != Some(expected) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    if timeout(LONG, anew).await.is_err() {
        assert_eq!(offer.summary().comparison, Some(expected));
    }
}

fn accepting(on_conflict: OnConflict) -> AcceptOptions {
    AcceptOptions { on_conflict, ..AcceptOptions::default() }
}

/// A device that has offers of another one wait.
struct Waiting<'d> {
    laptop: &'d Device,
    receiver: Receiver,
    code: Option<&'static str>,
}

impl<'d> Waiting<'d> {
    async fn new(laptop: &'d Device, lab: &Device) -> Self {
        Self { laptop, receiver: lab.receiver(Some("7-river-camera")).await, code: Some("7-river-camera") }
    }

    async fn offer(&mut self, path: &str) -> (Transfer, IncomingOffer) {
        self.offer_all(&[path]).await
    }

    async fn offer_all(&mut self, paths: &[&str]) -> (Transfer, IncomingOffer) {
        let (to, sources) = (target(&self.receiver), paths.iter().map(|path| folder(self.laptop.path(path))));
        let sources: Vec<_> = sources.collect();
        let request = request(&sources, &to, self.code.take(), IoMode::Auto, None);
        let sending = self.laptop.engine.send(request);
        (sending, offered(&mut self.receiver).await)
    }

    async fn send(&mut self, path: &str, on_conflict: OnConflict) -> Arc<Report> {
        let (sending, offer) = self.offer(path).await;
        end(sending, offer, on_conflict).await
    }
}

async fn end(sending: Transfer, offer: IncomingOffer, on_conflict: OnConflict) -> Arc<Report> {
    let receiving = offer.accept(accepting(on_conflict)).await.unwrap();
    timeout(LONG, async { (sending.wait().await, receiving.wait().await) }).await.unwrap().1
}

#[tokio::test(flavor = "multi_thread")]
async fn offer_says_which_of_its_names_are_files_whatever_they_look_like() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    set(&laptop.path("v1.txt"), 0..3);
    write(&laptop.path("README"), "a file");
    std::os::unix::fs::symlink("README", laptop.path("link")).unwrap();
    let mut waiting = Waiting::new(&laptop, &lab).await;
    let (_sending, offer) = waiting.offer_all(&["v1.txt", "README", "link"]).await;
    compared(&offer).await;
    let Offer { names, kinds, .. } = offer.summary();
    let kind = |name: &str| kinds[names.iter().position(|other| other.to_str() == Some(name)).unwrap()];
    let expected = [Some(EntryKind::Folder), Some(EntryKind::File), Some(EntryKind::Link)];
    assert_eq!(["v1.txt", "README", "link"].map(kind), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn offer_is_compared_with_its_folder_and_with_another_one() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    set(&laptop.path("set"), 0..20);
    set(&lab.path("in/set"), 5..20);
    write(&lab.path("in/set/7"), "edited here");
    write(&lab.path("in/set/only-here"), "stays");
    let before = listing(&lab.path("in"));
    let mut waiting = Waiting::new(&laptop, &lab).await;
    let (sending, offer) = waiting.offer("set").await;
    // All of it is the owner's.
    let expected = Comparison { new: 5, unchanged: 14, differing: 1, edited: 1, ..DONE };
    assert_eq!(compared(&offer).await, Comparison { new: 21, ..DONE }, "it goes to a folder of its own");
    let summary = offer.summary();
    assert_eq!((summary.in_place, &summary.renamed), (Some(expected), &vec!["set (1)".into()]));
    assert_eq!(summary.compared_under(OnConflict::Replace), Some(expected));
    assert!(offer.differences(OnConflict::RenameTop).is_empty());
    let differences = offer.differences(OnConflict::Replace);
    assert_eq!(differences.len(), 1);
    assert_eq!((&differences[0].path, differences[0].here_is), (&"set/7".into(), HereIs::Other));
    assert!(differences[0].edited);
    assert_eq!(listing(&lab.path("in")), before, "nothing was changed");

    // Another folder is compared anew, and a third one cannot be.
    fs::create_dir(lab.path("elsewhere")).unwrap();
    offer.compare_with(&lab.path("elsewhere"));
    assert_eq!(compared(&offer).await, Comparison { new: 21, ..DONE });
    assert_eq!((offer.summary().in_place, offer.summary().renamed), (None, Vec::new()));
    offer.compare_with(&lab.path("gone"));
    assert_eq!(compared(&offer).await.state, ComparisonState::Unknown);
    offer.compare_with(&lab.path("in"));
    compared(&offer).await;
    assert_eq!(offer.summary().in_place, Some(expected));

    // It is received as ever.
    let receiving = offer.accept(accepting(OnConflict::Replace)).await.unwrap();
    let (sent, received) = timeout(LONG, async { (sending.wait().await, receiving.wait().await) }).await.unwrap();
    assert_complete(&sent);
    assert_eq!((received.counts.unchanged, received.counts.failed), (14, 0));
    assert_eq!(fs::read(lab.path("in/set/7")).unwrap(), b"7");
    assert!(lab.path("in/set/only-here").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn offer_that_updates_a_numbered_folder_is_compared_with_that_and_names_it() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    set(&laptop.path("set"), 0..20);
    set(&lab.path("in/set"), 30..40);
    let mut waiting = Waiting::new(&laptop, &lab).await;
    waiting.send("set", OnConflict::RenameTop).await;
    assert!(lab.path("in/set (1)/19").exists());

    write(&lab.path("in/set (1)/7"), "edited here");
    let (sending, offer) = waiting.offer("set").await;
    let expected = Comparison { unchanged: 19, differing: 1, edited: 1, ..DONE };
    assert_eq!(compared(&offer).await, expected);
    let summary = offer.summary();
    assert_eq!((summary.updates, summary.renamed), (vec!["set (1)".into()], Vec::new()));
    assert_eq!(summary.in_place, Some(Comparison { new: 20, ..DONE }), "other policies merge there");
    let differences = offer.differences(OnConflict::RenameTop);
    assert_eq!((differences.len(), &differences[0].path), (1, &"set/7".into()));
    let received = end(sending, offer, OnConflict::RenameTop).await;
    assert_eq!(received.counts.unchanged, 19, "as many as were told");
    assert_eq!(received.arrived, [ringway_model::PathText::from(lab.path("in/set (1)"))]);
    assert_eq!(listing(&lab.path("in/set")).len(), 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_were_changed_here_are_counted_apart_from_earlier_versions() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    set(&laptop.path("set"), 0..5);
    let mut waiting = Waiting::new(&laptop, &lab).await;
    waiting.send("set", OnConflict::RenameTop).await;
    fs::write(lab.path("in/set/1"), "changed here").unwrap();
    fs::write(lab.path("in/set/new"), "made here").unwrap();
    (0..3).for_each(|number| fs::write(laptop.path("set").join(number.to_string()), "the next version").unwrap());
    fs::write(laptop.path("set/new"), "made there").unwrap();
    let (sending, offer) = waiting.offer("set").await;
    // 0 and 2 are as they were received.
    assert_eq!(compared(&offer).await, Comparison { unchanged: 2, differing: 4, edited: 2, ..DONE });
    let edited = offer.differences(OnConflict::RenameTop).into_iter().filter(|found| found.edited);
    let mut edited: Vec<_> = edited.map(|found| found.path.to_string()).collect();
    edited.sort();
    assert_eq!(edited, ["set/1", "set/new"]);
    let received = end(sending, offer, OnConflict::RenameTop).await;
    assert_eq!(received.counts.edited, 2, "as many as were told");
    assert_eq!(fs::read(lab.path("in/set/1")).unwrap(), b"changed here");
    assert_eq!(fs::read(lab.path("in/set/2")).unwrap(), b"the next version");
}

#[tokio::test(flavor = "multi_thread")]
async fn offers_that_wait_are_compared_again_when_a_transfer_into_their_folder_ends() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    set(&laptop.path("p/set"), 0..5);
    set(&laptop.path("q/set"), 3..10);
    set(&lab.path("in/set"), 30..40);
    let mut waiting = Waiting::new(&laptop, &lab).await;
    let first = waiting.offer("p/set").await;
    let second = waiting.offer("q/set").await;
    for offer in [&first.1, &second.1] {
        compared(offer).await;
        assert_eq!(offer.summary().renamed, ["set (1)"]);
    }
    end(first.0, first.1, OnConflict::RenameTop).await;
    compared_anew(&second.1, Comparison { new: 5, unchanged: 2, ..DONE }).await;
    assert_eq!((second.1.summary().updates, second.1.summary().renamed), (vec!["set (1)".into()], Vec::new()));

    // So they are when something else of this program has written there.
    let copied = lab.engine.copy(CopyRequest {
        sources: vec![laptop.path("q/set/9")],
        destination: lab.path("in/set (1)"),
        options: CopyOptions::default(),
    });
    timeout(LONG, copied.wait()).await.unwrap();
    compared_anew(&second.1, Comparison { new: 4, unchanged: 3, ..DONE }).await;
    end(second.0, second.1, OnConflict::RenameTop).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn file_at_the_top_is_said_to_get_the_number_that_it_gets() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    write(&laptop.path("notes.txt"), "from there");
    fs::write(lab.path("in/notes.txt"), "of the owner").unwrap();
    let mut waiting = Waiting::new(&laptop, &lab).await;
    let (sending, offer) = waiting.offer("notes.txt").await;
    assert_eq!(compared(&offer).await, Comparison { new: 1, ..DONE });
    assert_eq!(offer.summary().renamed, ["notes (1).txt"]);
    assert_eq!(offer.summary().in_place, Some(Comparison { differing: 1, edited: 1, ..DONE }));
    let received = end(sending, offer, OnConflict::RenameTop).await;
    assert_eq!(received.arrived, [ringway_model::PathText::from(lab.path("in/notes (1).txt"))]);

    // This version is there.
    let (sending, offer) = waiting.offer("notes.txt").await;
    assert_eq!(compared(&offer).await, Comparison { unchanged: 1, ..DONE });
    assert!(offer.summary().renamed.is_empty());
    end(sending, offer, OnConflict::RenameTop).await;
    assert_eq!(listing(&lab.path("in")).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_a_file_of_which_one_was_edited_stay_all_and_the_offer_says_so() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    set(&laptop.path("set"), 0..3);
    let mut waiting = Waiting::new(&laptop, &lab).await;
    waiting.send("set", OnConflict::RenameTop).await;
    fs::write(lab.path("in/set/1"), "changed here").unwrap();
    fs::write(laptop.path("set/1"), "version 2").unwrap();
    fs::create_dir(laptop.path("set/below")).unwrap();
    fs::hard_link(laptop.path("set/1"), laptop.path("set/below/other")).unwrap();
    waiting.send("set", OnConflict::RenameTop).await;
    assert_eq!(fs::read(lab.path("in/set/below/other")).unwrap(), b"version 2");
    assert_eq!(fs::read(lab.path("in/set/1 (1)")).unwrap(), b"version 2");

    fs::write(laptop.path("set/1"), "the third version").unwrap();
    let (sending, offer) = waiting.offer("set").await;
    assert_eq!(compared(&offer).await, Comparison { unchanged: 2, differing: 2, edited: 2, ..DONE });
    let received = end(sending, offer, OnConflict::RenameTop).await;
    assert_eq!(received.counts.edited, 2);
    assert_eq!(fs::read(lab.path("in/set/below/other")).unwrap(), b"version 2");
    assert_eq!(fs::read(lab.path("in/set/below/other (1)")).unwrap(), b"the third version");
    assert_eq!(fs::read(lab.path("in/set/1")).unwrap(), b"changed here");
}

#[tokio::test(flavor = "multi_thread")]
async fn next_version_of_a_file_with_a_number_updates_that_unless_it_was_changed_here() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    fs::write(lab.path("in/notes.txt"), "of the owner").unwrap();
    let mut waiting = Waiting::new(&laptop, &lab).await;
    let arrived = |report: &Report| report.arrived.iter().map(ToString::to_string).collect::<Vec<_>>();
    let at = |name: &str| lab.path("in").join(name);
    let path = |name: &str| vec![at(name).to_str().unwrap().to_owned()];
    fs::write(laptop.path("notes.txt"), "1").unwrap();
    assert_eq!(arrived(&*waiting.send("notes.txt", OnConflict::RenameTop).await), path("notes (1).txt"));

    fs::write(laptop.path("notes.txt"), "version 2").unwrap();
    let (sending, offer) = waiting.offer("notes.txt").await;
    assert_eq!(compared(&offer).await, Comparison { differing: 1, ..DONE });
    assert_eq!((offer.summary().updates, offer.summary().renamed), (vec!["notes (1).txt".into()], Vec::new()));
    assert_eq!(arrived(&*end(sending, offer, OnConflict::RenameTop).await), path("notes (1).txt"));
    assert_eq!(fs::read(at("notes (1).txt")).unwrap(), b"version 2");

    fs::write(at("notes (1).txt"), "changed here").unwrap();
    fs::write(laptop.path("notes.txt"), "the third version").unwrap();
    let (sending, offer) = waiting.offer("notes.txt").await;
    assert_eq!(compared(&offer).await, Comparison { new: 1, ..DONE });
    assert_eq!(offer.summary().renamed, ["notes (2).txt"]);
    assert_eq!(arrived(&*end(sending, offer, OnConflict::RenameTop).await), path("notes (2).txt"));
    assert_eq!(fs::read(at("notes (1).txt")).unwrap(), b"changed here");
    assert_eq!(fs::read(at("notes.txt")).unwrap(), b"of the owner");

    // A gap in the numbers makes no difference.
    fs::rename(at("notes (1).txt"), at("moved away.txt")).unwrap();
    let inode = || std::os::unix::fs::MetadataExt::ino(&fs::metadata(at("notes (2).txt")).unwrap());
    let before = inode();
    for _ in 0..2 {
        let (sending, offer) = waiting.offer("notes.txt").await;
        assert_eq!(compared(&offer).await, Comparison { unchanged: 1, ..DONE });
        assert_eq!((offer.summary().updates, offer.summary().renamed), (Vec::new(), Vec::new()));
        let received = end(sending, offer, OnConflict::RenameTop).await;
        assert_eq!((received.counts.moved, received.counts.unchanged, inode()), (0, 1, before));
    }
    fs::write(laptop.path("notes.txt"), "4").unwrap();
    let (sending, offer) = waiting.offer("notes.txt").await;
    assert_eq!(compared(&offer).await, Comparison { differing: 1, ..DONE });
    assert_eq!(offer.summary().updates, ["notes (2).txt"]);
    end(sending, offer, OnConflict::RenameTop).await;
    assert_eq!((fs::read(at("notes (2).txt")).unwrap(), at("notes (1).txt").exists()), (b"4".to_vec(), false));
}

#[tokio::test(flavor = "multi_thread")]
async fn numbered_name_that_the_sender_has_itself_is_no_version_of_another_file() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let mut waiting = Waiting::new(&laptop, &lab).await;
    write(&laptop.path("notes (1).txt"), "the same");
    waiting.send("notes (1).txt", OnConflict::RenameTop).await;
    fs::write(lab.path("in/notes.txt"), "of the owner").unwrap();
    write(&laptop.path("notes.txt"), "the same");
    for expected in [Comparison { new: 1, ..DONE }, Comparison { unchanged: 1, ..DONE }] {
        let (sending, offer) = waiting.offer("notes.txt").await;
        assert_eq!(compared(&offer).await, expected);
        let renamed: &[&str] = if expected.new == 1 { &["notes (2).txt"] } else { &[] };
        assert_eq!(offer.summary().renamed, renamed);
        end(sending, offer, OnConflict::RenameTop).await;
        assert_eq!(fs::read(lab.path("in/notes (2).txt")).unwrap(), b"the same");
        assert_eq!(listing(&lab.path("in")).len(), 3);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_name_of_a_file_that_was_replaced_counts_as_no_change_of_the_owner() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let write = |path: &str, text: &str| {
        let path = laptop.path(path);
        drop(fs::remove_file(&path));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("both/one/a", "old");
    fs::create_dir(laptop.path("both/two")).unwrap();
    fs::hard_link(laptop.path("both/one/a"), laptop.path("both/two/b")).unwrap();
    let mut waiting = Waiting::new(&laptop, &lab).await;
    let offer = waiting.offer_all(&["both/one", "both/two"]).await;
    end(offer.0, offer.1, OnConflict::RenameTop).await;
    let (a, b) = (lab.path("in/one/a"), lab.path("in/two/b"));
    assert_eq!(fs::metadata(&a).unwrap().ino(), fs::metadata(&b).unwrap().ino());
    write("both/one/a", "new a");
    write("both/two/b", "new b");
    waiting.send("both/one", OnConflict::RenameTop).await;
    let (sending, offer) = waiting.offer("both/two").await;
    assert_eq!(compared(&offer).await, Comparison { differing: 1, ..DONE });
    assert_eq!(end(sending, offer, OnConflict::RenameTop).await.counts.edited, 0);
    assert_eq!((fs::read(&a).unwrap(), fs::read(&b).unwrap()), (b"new a".to_vec(), b"new b".to_vec()));
}

#[tokio::test(flavor = "multi_thread")]
async fn accepting_waits_for_no_comparison() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    let files = 30_000;
    for folder in 0..files / 1_000 {
        set(&laptop.path("many").join(folder.to_string()), 0..1_000);
    }
    let mut receiver = lab.receiver(Some("7-river-camera")).await;
    let to = target(&receiver);
    let mut code = Some("7-river-camera");
    // At once, before anything is listed; and while it is compared.
    for waits in [false, true] {
        let sending = laptop.engine.send(request(&[folder(laptop.path("many"))], &to, code.take(), IoMode::Auto, None));
        let offer = offered(&mut receiver).await;
        if waits {
            let begun = async {
                while offer.summary().comparison.is_none_or(|comparison| comparison == Comparison::default()) {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            };
            timeout(LONG, begun).await.expect("it begins to compare");
        }
        let accepted = Instant::now();
        let receiving = offer.accept(AcceptOptions::default()).await.unwrap();
        assert!(accepted.elapsed() < Duration::from_secs(5), "{:?}", accepted.elapsed());
        let (sent, _) = timeout(LONG, async { (sending.wait().await, receiving.wait().await) }).await.unwrap();
        assert_complete(&sent);
        assert_eq!(sent.counts.files, files as u64);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn larger_tree_than_is_listed_gives_at_least() {
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    // Links take less time to make than files.
    for folder in 0..LISTING_ENTRIES_MAX / 1_000 {
        let folder = laptop.path("many").join(folder.to_string());
        set(&folder, 0..1);
        (1..1_000).for_each(|number| fs::hard_link(folder.join("0"), folder.join(number.to_string())).unwrap());
    }
    let mut receiver = lab.receiver(Some("7-river-camera")).await;
    let first = request(&[folder(laptop.path("many"))], &target(&receiver), Some("7-river-camera"), IoMode::Auto, None);
    let sending = laptop.engine.send(first);
    let offer = offered(&mut receiver).await;
    let Comparison { state, new, at_least, .. } = compared(&offer).await;
    assert!(state == ComparisonState::Done && at_least, "{state:?}");
    assert!(new > 0 && new <= LISTING_ENTRIES_MAX as u64, "{new}");
    offer.decline(DeclineReason::ByChoice);
    assert!(matches!(failed(&timeout(LONG, sending.wait()).await.unwrap()), Fault::Declined(_)));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_offer_was_compared_with_is_not_told_to_its_sender() {
    // The sender's report is the same whether all of it was there or nothing.
    let (laptop, lab) = (Device::new("laptop"), Device::new("lab"));
    set(&laptop.path("set"), 0..20);
    let mut receiver = lab.receiver(Some("7-river-camera")).await;
    let to = target(&receiver);
    let mut code = Some("7-river-camera");
    for is_there in [false, true] {
        if is_there {
            set(&lab.path("in/set"), 0..20);
        }
        let sending = laptop.engine.send(request(&[folder(laptop.path("set"))], &to, code.take(), IoMode::Auto, None));
        let offer = offered(&mut receiver).await;
        compared(&offer).await;
        offer.decline(DeclineReason::ByChoice);
        let report = timeout(LONG, sending.wait()).await.unwrap();
        assert_eq!(*failed(&report), Fault::Declined(DeclineReason::ByChoice));
        let counts = ringway_model::Counts { bytes: report.counts.bytes, ..ringway_model::Counts::default() };
        assert_eq!(report.counts, counts, "{is_there}");
    }
}
