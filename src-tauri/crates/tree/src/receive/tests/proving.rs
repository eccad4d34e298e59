//! What is to be proven: read back from where it lies, and what differs found, named, and left
//! without its name.
use std::sync::mpsc;

use ringway_model::Side;
use ringway_sys::dir::Dir as KernelDir;
use rustix::io::Errno;

use super::*;
use crate::disk::Disk;

const LARGE: usize = 5 << 20;

fn contents(len: usize) -> Vec<u8> {
    (0..len as u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 23) as u8).collect()
}

fn options(site: &Site, on_conflict: OnConflict) -> DestinationOptions {
    DestinationOptions { prove: true, ..site.options(on_conflict) }
}

/// A tree with small files, a large one in ranges, one that is all hole, an empty one, and names
/// that are links.
fn lane(top: &str, large: &[u8]) -> Lane {
    let entry = file("large", LARGE, 0o600);
    let mut lane =
        Lane::default().proving().made(top, 0o755).file("one", b"first").file("two", b"second").file("empty", b"");
    lane = lane.entry(&linked("named", 5, 3), b"named").entry(&hard_link("other name", 3, true), &[]);
    lane = lane.entry(&symlink("link", "one"), &[]);
    for at in [2 << 20, 0, 1 << 20, 3 << 20] {
        lane = lane.range(0, top, entry, at as u64, &large[at..][..1 << 20], RangeStep::More);
    }
    let last = RangeStep::Last { data_bytes: LARGE as u64 };
    lane = lane.range(0, top, entry, 4 << 20, &large[4 << 20..], last);
    lane.range(1, top, file("hole", 1 << 30, 0o600), 0, &[], RangeStep::Last { data_bytes: 0 })
}

/// Lets the lanes end, has `meddle` at what lies there, and finishes.
fn cross_after(incoming: &Incoming, lane: Lane, meddle: impl FnOnce()) -> (control::Receipt, Vec<Failure>) {
    let (bytes, sent) = lane.end();
    incoming.run_lane(&mut Wire::new(bytes), &mut io(IoMode::Auto)).unwrap();
    meddle();
    let (receipt, _) = incoming.finish(&sent).unwrap();
    (receipt, incoming.results().take_failures())
}

/// Alters a byte as a bad medium would: neither size nor time tells.
fn alter(path: &Path, at: u64) {
    let file = fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let before = file.metadata().unwrap().modified().unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 0x10], at).unwrap();
    file.set_modified(before).unwrap();
}

fn staged(site: &Site, rel: &str) -> PathBuf {
    let staging = site.names().into_iter().find(|name| name.starts_with(".ringway-")).unwrap();
    site.at(&staging).join("tree").join(rel)
}

fn differs(path: &str) -> Failure {
    Failure { path: path.into(), side: Side::Here, operation: Operation::Read, reason: FailureReason::Differs }
}

#[test]
fn what_is_as_it_was_sent_is_counted() {
    let (site, large) = (Site::new(), contents(LARGE));
    for round in 0..2 {
        let incoming = Incoming::begin(options(&site, OnConflict::Replace)).unwrap();
        assert_eq!(incoming.proving(), None);
        let (receipt, failures) = cross_after(&incoming, lane("top", &large), || {});
        assert_eq!(failures, [], "round {round}");
        let proven = receipt.proven.unwrap();
        assert_eq!((proven.files, proven.bytes), (6, 16 + LARGE as u64), "round {round}");
        // Size and time prove nothing: what arrived a second time was written a second time. A link
        // is still a link.
        assert_eq!((receipt.there.files, receipt.there.links), (6, 2));
        let all = control::Progress { entries: 6, bytes: 16 + LARGE as u64 };
        assert_eq!(incoming.proving(), Some((all, all)));
        assert_eq!(fs::read(site.at("top/large")).unwrap(), large);
        let ids = ["top/named", "top/other name"].map(|name| fs::metadata(site.at(name)).unwrap().ino());
        assert_eq!(ids[0], ids[1]);
    }
}

#[test]
fn what_was_not_asked_for_is_not_proven() {
    let site = Site::new();
    let incoming = site.begin(OnConflict::Replace);
    let (receipt, ..) = cross(&incoming, vec![Lane::default().made("top", 0o755).file("one", b"first")]);
    assert_eq!((receipt.proven, incoming.proving()), (None, None));
}

#[test]
fn a_file_that_reads_back_differently_is_named_and_not_there() {
    let large = contents(LARGE);
    for (altered, at) in [("one", 2), ("large", 0), ("large", LARGE as u64 - 1), ("large", 3 << 20)] {
        let site = Site::new();
        let incoming = Incoming::begin(options(&site, OnConflict::Replace)).unwrap();
        let meddle = || alter(&staged(&site, &format!("top/{altered}")), at);
        let (receipt, failures) = cross_after(&incoming, lane("top", &large), meddle);
        assert_eq!(failures, [differs(&format!("top/{altered}"))]);
        assert_eq!((receipt.there.files, receipt.failed, receipt.proven.unwrap().files), (5, 1, 5));
        assert!(!site.at("top").join(altered).exists());
        assert_eq!(site.text("top/two"), "second");
        assert_eq!(site.names(), ["top"]);
    }
}

impl Medium {
    fn begin(self: &Arc<Self>, options: DestinationOptions) -> Arc<Incoming> {
        Incoming::begin_on(options, Arc::clone(self) as Arc<dyn Disk>).unwrap()
    }
}

impl Disk for Medium {
    fn metadata(&self, file: BorrowedFd<'_>) -> io::Result<Metadata> {
        Medium::metadata(self, file)
    }
}

/// A disk that removes no file of that name.
struct Keeping(&'static [u8]);

impl Disk for Keeping {
    fn unlink(&self, dir: &KernelDir, name: &[u8]) -> io::Result<()> {
        if name == self.0 { Err(Errno::PERM.into()) } else { dir.unlink(name) }
    }
}

#[test]
fn a_file_that_reads_back_differently_and_cannot_be_removed_is_said_to_be_so() {
    let site = Site::new();
    let incoming = Incoming::begin_on(options(&site, OnConflict::Replace), Arc::new(Keeping(b"one"))).unwrap();
    let (_, failures) = cross_after(&incoming, lane("top", &contents(LARGE)), || alter(&staged(&site, "top/one"), 2));
    let reason = FailureReason::Os { errno: Errno::PERM.raw_os_error() };
    let kept = Failure { operation: Operation::Remove, reason, ..differs("top/one") };
    assert_eq!(failures, [differs("top/one"), kept]);
}

#[test]
fn one_that_lost_its_end_or_all_of_itself_is_named() {
    let (site, large) = (Site::new(), contents(LARGE));
    let incoming = Incoming::begin(options(&site, OnConflict::Replace)).unwrap();
    let meddle = || {
        fs::OpenOptions::new().write(true).open(staged(&site, "top/hole")).unwrap().set_len(7).unwrap();
        fs::write(staged(&site, "top/empty"), "x").unwrap();
        fs::remove_file(staged(&site, "top/large")).unwrap();
        fs::remove_file(staged(&site, "top/two")).unwrap();
        fs::create_dir(staged(&site, "top/two")).unwrap();
    };
    let (receipt, mut failures) = cross_after(&incoming, lane("top", &large), meddle);
    failures.sort_by(|a, b| a.path.cmp(&b.path));
    let gone = |path: &str, errno: i32| Failure {
        operation: Operation::Open,
        reason: FailureReason::Os { errno },
        ..differs(path)
    };
    let expected = [
        differs("top/empty"),
        differs("top/hole"),
        gone("top/large", rustix::io::Errno::NOENT.raw_os_error()),
        gone("top/two", rustix::io::Errno::INVAL.raw_os_error()),
    ];
    assert_eq!(failures, expected);
    let proven = receipt.proven.unwrap();
    assert_eq!((receipt.there.files, proven.files, proven.bytes), (2, 2, 10));
}

#[test]
fn names_of_a_file_that_differs_are_not_made() {
    let (site, large) = (Site::new(), contents(LARGE));
    let incoming = Incoming::begin(options(&site, OnConflict::Replace)).unwrap();
    let (receipt, failures) = cross_after(&incoming, lane("top", &large), || alter(&staged(&site, "top/named"), 0));
    let link =
        Failure { operation: Operation::Link, reason: FailureReason::LinkTargetMissing, ..differs("top/other name") };
    assert_eq!(failures, [differs("top/named"), link]);
    assert_eq!((receipt.there.files, receipt.there.links), (5, 1));
    assert!(!site.at("top/named").exists() && !site.at("top/other name").exists());
}

#[test]
fn names_of_a_file_that_lacks_its_own_and_differs_are_not_made() {
    let site = Site::new();
    fs::create_dir_all(site.at("top/named")).unwrap();
    let incoming = Incoming::begin(options(&site, OnConflict::Replace)).unwrap();
    let lane = Lane::default().proving().folder("top").entry(&linked("named", 5, 3), b"named");
    let lane = lane.entry(&hard_link("other name", 3, true), &[]);
    let (receipt, failures) = cross_after(&incoming, lane, || alter(&aside(&site), 0));
    let reasons: Vec<_> = failures.iter().map(|failure| failure.reason).collect();
    assert_eq!(reasons, [FailureReason::InTheWay, FailureReason::LinkTargetMissing]);
    assert_eq!((receipt.there.files, receipt.there.links), (0, 0));
    assert_eq!(names_in(&site.at("top")), ["named"]);
}

/// The one file in the staging folder's folders for temporary files.
fn aside(site: &Site) -> PathBuf {
    let staging = names_in(&site.root).into_iter().find(|name| name.starts_with(".ringway-")).unwrap();
    let folders = names_in(&site.at(&staging)).into_iter().filter(|name| name.starts_with("parts-"));
    let folders = folders.map(|name| site.at(&format!("{staging}/{name}")));
    folders.flat_map(|folder| fs::read_dir(folder).unwrap()).next().unwrap().unwrap().path()
}

fn changed(path: &str) -> Failure {
    Failure { reason: FailureReason::ChangedWhileReading, ..differs(path) }
}

/// It has another name now.
fn renamed(path: &str) -> Failure {
    Failure { operation: Operation::Rename, ..differs(path) }
}

#[test]
fn in_a_merge_what_differs_loses_its_name_and_what_somebody_has_changed_stays() {
    let (site, large, medium) = (Site::new(), contents(LARGE), Arc::new(Medium::default()));
    fs::create_dir_all(site.at("top")).unwrap();
    fs::write(site.at("top/mine"), "mine").unwrap();
    let incoming = medium.begin(options(&site, OnConflict::Replace));
    let meddle = || {
        medium.alter(&site.at("top/one"), 0);
        medium.alter(&site.at("top/large"), 1 << 20);
        fs::write(site.at("top/two"), "edited").unwrap();
    };
    let (receipt, mut failures) = cross_after(&incoming, lane("top", &large), meddle);
    failures.sort_by(|a, b| a.path.cmp(&b.path));
    assert_eq!(failures, [renamed("top/large"), renamed("top/one"), changed("top/two")]);
    assert_eq!(receipt.there.files, 3);
    assert!(!site.at("top/one").exists() && !site.at("top/large").exists());
    assert_eq!((site.text("top/two").as_str(), site.text("top/mine").as_str()), ("edited", "mine"));
}

const MERGED: [&str; 3] = ["file.txt", "top/large", "top/one"];

/// Files at the top, and in a folder that the same device has brought.
fn merged(large: &[u8]) -> (Site, impl Fn() -> Lane) {
    let site = Site::new();
    site.receive(site.options(OnConflict::RenameTop), vec![Lane::default().made("top", 0o755).file("old", b"old")]);
    (site, || unlinked(large).folder("").file("file.txt", b"at the top"))
}

fn cross_merged(medium: &Arc<Medium>, site: &Site, lane: Lane, meddle: impl FnOnce()) -> Vec<Failure> {
    let incoming = medium.begin(options(site, OnConflict::RenameTop));
    let (receipt, mut failures) = cross_after(&incoming, lane, meddle);
    site.remember(&incoming);
    assert_eq!(receipt.proven.unwrap().files + failures.len() as u64, 4);
    failures.sort_by(|a, b| a.path.cmp(&b.path));
    failures
}

#[test]
fn save_in_place_with_the_same_size_and_time_stays() {
    let large = contents(LARGE);
    let (site, lane) = merged(&large);
    let read = || MERGED.map(|path| fs::read(site.at(path)).unwrap());
    let mut saved = None;
    let failures = cross_merged(&Arc::default(), &site, lane(), || {
        MERGED.iter().for_each(|path| alter(&site.at(path), 0));
        saved = Some(read());
    });
    assert_eq!(failures, MERGED.map(changed));
    assert!(read() == saved.unwrap());
    assert_eq!((site.names(), names_in(&site.at("top")).len()), (vec!["file.txt".into(), "top".into()], 4));
    // They are edits from now on.
    let lane = Lane::default().folder("top").file("one", b"newest").folder("").file("file.txt", b"newest");
    let (receipt, ..) = site.receive(site.options(OnConflict::RenameTop), vec![lane]);
    assert_eq!((receipt.edited, &*site.text("top/one (1)"), &*site.text("file (1).txt")), (2, "newest", "newest"));
}

#[test]
fn file_that_is_open_for_writing_when_it_reads_back_differently_stays() {
    let large = contents(LARGE);
    let ((site, lane), medium) = (merged(&large), Arc::new(Medium::default()));
    let mut writer = None;
    let failures = cross_merged(&medium, &site, lane(), || {
        medium.alter(&site.at("top/one"), 0);
        writer = Some(fs::File::options().append(true).open(site.at("top/one")).unwrap());
    });
    assert_eq!(failures, [changed("top/one")]);
    assert!(site.at("top/one").exists() && writer.is_some());
}

#[test]
fn file_that_reads_back_differently_where_others_see_it_gets_a_name_that_says_that_it_is_not_verified() {
    let large = contents(LARGE);
    let ((site, lane), medium) = (merged(&large), Arc::new(Medium::default()));
    for round in 0..2 {
        let failures = cross_merged(&medium, &site, lane(), || {
            MERGED.iter().for_each(|path| medium.alter(&site.at(path), 0));
        });
        assert_eq!(failures, MERGED.map(renamed));
        let mut names = vec!["file (not verified).txt".to_owned(), "top".into()];
        let mut below =
            vec!["large (not verified)".to_owned(), "old".into(), "one (not verified)".into(), "two".into()];
        if round == 1 {
            names.insert(0, "file (not verified 2).txt".into());
            below.extend(["large (not verified 2)".into(), "one (not verified 2)".into()]);
            below.sort();
        }
        assert_eq!((site.names(), names_in(&site.at("top"))), (names, below));
    }
    assert_eq!(site.text("file (not verified).txt"), "qt the top");
    // The same once more arrives.
    assert_eq!(cross_merged(&medium, &site, lane(), || {}), []);
    assert_eq!((&*site.text("file.txt"), &*site.text("top/one")), ("at the top", "first"));
}

#[test]
fn what_is_kept_as_it_is_is_not_proven() {
    let (site, large) = (Site::new(), contents(LARGE));
    fs::create_dir_all(site.at("top")).unwrap();
    fs::write(site.at("top/one"), "mine").unwrap();
    fs::write(site.at("top/large"), "mine").unwrap();
    let incoming = Incoming::begin(options(&site, OnConflict::Keep)).unwrap();
    let (receipt, failures) = cross_after(&incoming, lane("top", &large), || {});
    assert_eq!(failures, []);
    assert_eq!((receipt.there.files, receipt.skipped, receipt.proven.unwrap().files), (6, 2, 4));
    assert_eq!(site.text("top/one"), "mine");
}

#[test]
fn a_mode_that_forbids_reading_is_no_obstacle() {
    let site = Site::new();
    let incoming = Incoming::begin(options(&site, OnConflict::Replace)).unwrap();
    let lane = Lane::default().proving().made("top", 0o000).entry(&file("shut", 5, 0o000), b"shut!");
    let (receipt, failures) = cross_after(&incoming, lane, || {});
    assert_eq!((failures, receipt.proven.unwrap().files), (vec![], 1));
    fs::set_permissions(site.at("top"), fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(fs::metadata(site.at("top/shut")).unwrap().mode() & 0o7777, 0);
}

#[test]
fn digests_that_lie_are_found_out_and_those_that_do_not_fit_end_the_lane() {
    let site = Site::new();
    let incoming = Incoming::begin(options(&site, OnConflict::Replace)).unwrap();
    let mut lying = Lane::default().proving().made("top", 0o755);
    lying.head.entry(&file("lie", 3, 0o644));
    lying.head.digest(Digest([9; DIGEST_LEN]));
    lying.body.extend_from_slice(b"lie");
    let (_, failures) = cross_after(&incoming, lying.file("truth", b"truth"), || {});
    assert_eq!(failures, [differs("top/lie")]);
    assert_eq!(site.names(), ["top"]);
    assert_eq!(names_in(&site.at("top")), ["truth"]);

    let too_few = Lane::default().made("b", 0o755).file("x", b"x");
    let range = file("r", 10, 0o600);
    let no_digest = Lane::default().range(0, "b", range, 0, &[1; 10], RangeStep::Last { data_bytes: 10 });
    let list = Lane::default().list(1, "b", &[file("x", 1, 0o644)]);
    for lane in [too_few, no_digest, list] {
        let incoming = Incoming::begin(options(&site, OnConflict::Replace)).unwrap();
        let ended = incoming.run_lane(&mut Wire::new(lane.end().0), &mut io(IoMode::Auto));
        assert!(matches!(ended, Err(LaneError::Protocol(_))), "{ended:?}");
        incoming.abandon().unwrap();
    }
    let incoming = site.begin(OnConflict::Replace);
    let surplus = Lane::default().proving().made("b", 0o755).file("x", b"x");
    let ended = incoming.run_lane(&mut Wire::new(surplus.end().0), &mut io(IoMode::Auto));
    assert!(matches!(ended, Err(LaneError::Protocol(_))), "{ended:?}");
    incoming.abandon().unwrap();
}

#[test]
fn a_hundred_thousand_digests_take_a_file_and_not_memory() {
    let site = Site::in_memory();
    let incoming = Incoming::begin(options(&site, OnConflict::Replace)).unwrap();
    let mut lane = Lane::default().proving().made("top", 0o755);
    let count = 100_000;
    for number in 0..count {
        let folder = format!("top/{}", number / 1_000);
        lane = if number % 1_000 == 0 { lane.made(&folder, 0o755) } else { lane.folder(&folder) };
        lane = lane.file(&number.to_string(), &u32::to_le_bytes(number));
    }
    let meddle = || alter(&staged(&site, "top/55/55555"), 1);
    let (receipt, failures) = cross_after(&incoming, lane, meddle);
    assert_eq!(failures, [differs("top/55/55555")]);
    assert_eq!(receipt.proven.unwrap().files, u64::from(count) - 1);
}

/// The lists' answers, by number.
fn wanted(answers: &mpsc::Receiver<control::Wanted>) -> Vec<(u32, Vec<bool>)> {
    std::iter::from_fn(|| answers.try_recv().ok()).map(|wanted| (wanted.list, wanted.files)).collect()
}

fn asking(site: &Site) -> (Arc<Incoming>, mpsc::Receiver<control::Wanted>) {
    let (sender, answers) = answers_to(16);
    let options = DestinationOptions { answers: Some(sender), ..options(site, OnConflict::Replace) };
    (Incoming::begin(options).unwrap(), answers)
}

/// The same where nothing is to be proven.
fn asking_without_proof(site: &Site) -> (Arc<Incoming>, mpsc::Receiver<Wanted>) {
    let (sender, answers) = answers_to(16);
    let options = DestinationOptions { answers: Some(sender), ..site.options(OnConflict::Replace) };
    (Incoming::begin(options).unwrap(), answers)
}

#[test]
fn what_is_here_is_wanted_only_where_its_contents_differ() {
    let site = Site::new();
    let first = Lane::default().made("old", 0o755).file("same", b"same").file("bad", b"good!").file("other size", b"1");
    cross(&site.begin(OnConflict::Replace), vec![first]);
    alter(&site.at("old/bad"), 1);
    let (incoming, answers) = asking(&site);
    assert!(incoming.lists());
    let files = [("same", &b"same"[..]), ("bad", b"good!"), ("other size", b"12"), ("not here", b"x")];
    let lane = Lane::default().proving().list_proven(3, "old", &files).had(1, 4);
    let lane = lane.folder("old").file("bad", b"good!").file("other size", b"12").file("not here", b"x");
    let (receipt, failures) = cross_after(&incoming, lane, || {});
    assert_eq!(wanted(&answers), [(3, vec![false, true, true, true])]);
    assert_eq!(failures, []);
    assert_eq!((receipt.there.files, receipt.unchanged), (4, 1));
    let proven = receipt.proven.unwrap();
    assert_eq!((proven.files, proven.bytes), (4, 12));
    assert_eq!((site.text("old/bad").as_str(), site.text("old/other size").as_str()), ("good!", "12"));
}

#[test]
fn what_an_earlier_attempt_has_left_is_compared_before_it_is_taken() {
    let site = Site::new();
    let (incoming, _) = asking(&site);
    let cut = Lane::default().proving().made("new", 0o755).file("whole", b"whole").file("spoilt", b"right").flush();
    incoming.run_lane(&mut Wire::new(cut.bytes), &mut io(IoMode::Auto)).unwrap_err();
    alter(&staged(&site, "new/spoilt"), 2);
    assert!(incoming.keep().unwrap());
    drop(incoming);
    let (incoming, answers) = asking(&site);
    let files = [("whole", &b"whole"[..]), ("spoilt", b"right")];
    let lane =
        Lane::default().proving().list_proven(0, "new", &files).had(1, 5).made("new", 0o755).file("spoilt", b"right");
    let (receipt, failures) = cross_after(&incoming, lane, || {});
    assert_eq!(wanted(&answers), [(0, vec![false, true])]);
    assert_eq!((failures, receipt.proven.unwrap().files), (vec![], 2));
    assert_eq!((site.text("new/whole").as_str(), site.text("new/spoilt").as_str()), ("whole", "right"));
}

#[test]
fn a_list_whose_digests_are_not_one_a_file_ends_the_lane() {
    let site = Site::new();
    fs::create_dir_all(site.at("old")).unwrap();
    let plain = Lane::default().list(0, "old", &[file("x", 1, 0o644)]);
    let (incoming, _answers) = asking(&site);
    let ended = incoming.run_lane(&mut Wire::new(plain.end().0), &mut io(IoMode::Auto));
    assert!(matches!(ended, Err(LaneError::Protocol(_))), "{ended:?}");
    incoming.abandon().unwrap();
}

#[test]
fn what_was_merged_before_the_disk_refused_something_is_compared_and_comes_again() {
    let site = Site::new();
    fs::create_dir_all(site.at("old")).unwrap();
    let (first, _) = Lane::default().folder("old").file("same", b"same").file("lost", b"good!").end();
    let (incoming, _answers) = asking_without_proof(&site);
    incoming.run_lane(&mut Wire::new(first), &mut io(IoMode::Sync)).unwrap();
    incoming.staging.writeback.fail();
    assert!(!incoming.keep().unwrap(), "nothing staged is believed");
    drop(incoming);
    alter(&site.at("old/lost"), 1);
    for is_refused_again in [true, false] {
        let (incoming, answers) = asking_without_proof(&site);
        assert_eq!(incoming.doubts(), Some(i64::MIN), "all is listed with digests");
        let files = [("same", &b"same"[..]), ("lost", b"good!")];
        let lane = Lane::default().proving().list_proven(3, "old", &files);
        let mut lane = Lane { proves: false, ..lane }.had(1, 4).folder("old");
        lane = if is_refused_again { lane } else { lane.file("lost", b"good!") };
        let (bytes, declared) = lane.end();
        incoming.run_lane(&mut Wire::new(bytes), &mut io(IoMode::Sync)).unwrap();
        assert_eq!(wanted(&answers), [(3, vec![false, true])]);
        if is_refused_again {
            incoming.abandon().unwrap();
            continue;
        }
        incoming.finish(&declared).unwrap();
    }
    assert_eq!((site.text("old/lost").as_str(), site.names()), ("good!", vec!["old".to_owned()]));
}

/// Small files and one in ranges, without other names.
fn unlinked(large: &[u8]) -> Lane {
    let entry = file("large", LARGE, 0o600);
    let lane = Lane::default().proving().made("top", 0o755).file("one", b"first").file("two", b"second");
    (0..5).fold(lane, |lane, number| {
        let step = if number == 4 { RangeStep::Last { data_bytes: LARGE as u64 } } else { RangeStep::More };
        lane.range(0, "top", entry, number << 20, &large[(number << 20) as usize..][..1 << 20], step)
    })
}

#[test]
fn what_came_beside_an_existing_file_does_not_come_once_more_however_often_it_is_sent_and_proven() {
    let large = contents(LARGE);
    for on_conflict in [OnConflict::RenameTop, OnConflict::Rename] {
        let site = Site::new();
        let incoming = Incoming::begin(options(&site, OnConflict::RenameTop)).unwrap();
        cross_after(&incoming, unlinked(&large), || {});
        site.remember(&incoming);
        for edited in ["one", "large"] {
            fs::write(site.at("top").join(edited), "my edit").unwrap();
        }
        for round in 0..3 {
            let incoming = Incoming::begin(options(&site, on_conflict)).unwrap();
            let (receipt, failures) = cross_after(&incoming, unlinked(&large), || {});
            site.remember(&incoming);
            assert_eq!(failures, [], "{on_conflict:?} {round}");
            let proven = receipt.proven.unwrap();
            assert_eq!((proven.files, proven.bytes), (3, 11 + LARGE as u64), "{on_conflict:?} {round}");
            assert_eq!(names_in(&site.at("top")), ["large", "large (1)", "one", "one (1)", "two"]);
            assert_eq!(receipt.edited, if on_conflict == OnConflict::RenameTop { 2 } else { 0 });
        }
        assert_eq!((&*site.text("top/one"), &*site.text("top/one (1)")), ("my edit", "first"));
        assert_eq!(fs::read(site.at("top/large (1)")).unwrap(), large);
        // What only looks the same is not taken for it.
        alter(&site.at("top/large (1)"), 3 << 20);
        alter(&site.at("top/one (1)"), 0);
        let incoming = Incoming::begin(options(&site, on_conflict)).unwrap();
        assert_eq!(cross_after(&incoming, unlinked(&large), || {}).1, []);
        assert_eq!((&*site.text("top/one (2)"), fs::read(site.at("top/large (2)")).unwrap()), ("first", large.clone()));
    }
}

#[test]
fn a_list_asks_for_nothing_that_is_here_under_a_numbered_name_and_proves_it() {
    for on_conflict in [OnConflict::RenameTop, OnConflict::Rename] {
        let site = Site::new();
        site.receive(site.options(OnConflict::RenameTop), vec![Lane::default().made("old", 0o755).file("one", b"old")]);
        fs::write(site.at("old/one"), "mine").unwrap();
        for round in 0..3 {
            let (sender, answers) = answers_to(16);
            let options = DestinationOptions { answers: Some(sender), ..options(&site, on_conflict) };
            let incoming = Incoming::begin(options).unwrap();
            let lane = Lane::default().proving().list_proven(1, "old", &[("one", b"first")]);
            let lane = if round == 0 { lane.folder("old").file("one", b"first") } else { lane.had(1, 5) };
            let (receipt, failures) = cross_after(&incoming, lane, || {});
            site.remember(&incoming);
            assert_eq!((wanted(&answers), failures), (vec![(1, vec![round == 0])], vec![]), "{on_conflict:?}");
            assert_eq!((receipt.there.files, receipt.proven.unwrap().files), (1, 1), "{on_conflict:?} {round}");
            assert_eq!(names_in(&site.at("old")), ["one", "one (1)"]);
            assert_eq!((&*site.text("old/one"), &*site.text("old/one (1)")), ("mine", "first"));
        }
    }
}
