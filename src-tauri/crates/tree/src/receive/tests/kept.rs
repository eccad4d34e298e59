//! What is here already is not asked for: of an earlier attempt that was cut, or in folders that
//! are merged with.
use ringway_model::Unfinished;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::sync::mpsc;

use ringway_wire::ProtocolError;
use ringway_wire::control::Wanted;
use ringway_wire::journal::Version;
use ringway_wire::resume::ATTEMPTS_KEPT_MAX;

use super::*;
use crate::receive::staging::spot::Spot;

/// A lane for a sender that is asked to list, as far as it needs no answer.
struct Asked {
    incoming: Arc<Incoming>,
    answers: mpsc::Receiver<Wanted>,
}

impl Asked {
    fn begin(site: &Site, on_conflict: OnConflict) -> Self {
        let (sender, answers) = answers_to(16);
        let options = DestinationOptions { answers: Some(sender), ..site.options(on_conflict) };
        Self { incoming: Incoming::begin(options).unwrap(), answers }
    }

    /// Runs a lane that is cut, and ends the attempt as a lost connection does.
    fn cut(self, lane: Lane) -> bool {
        self.run(lane);
        self.incoming.keep().unwrap()
    }

    /// Runs a lane that is cut, and ends the attempt as kill -9 does. Returns the staging folder.
    fn killed(self, site: &Site, lane: Lane) -> PathBuf {
        self.run(lane);
        site.at(std::str::from_utf8(&self.incoming.staging.name).unwrap())
    }

    fn run(&self, lane: Lane) {
        match self.incoming.run_lane(&mut Wire::new(lane.flush().bytes), &mut io(IoMode::Sync)) {
            Err(LaneError::Source(error)) => assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof),
            other => panic!("{other:?}"),
        }
    }

    /// Which files of its lists were wanted.
    fn wanted(&mut self) -> Vec<(u32, Vec<bool>)> {
        std::iter::from_fn(|| self.answers.try_recv().ok()).map(|wanted| (wanted.list, wanted.files)).collect()
    }

    /// What it said to have of the only list's only file.
    fn has(&mut self) -> Vec<Range<u64>> {
        let answer = self.answers.try_recv().unwrap();
        assert_eq!((answer.files, self.answers.try_recv().is_err()), (vec![true], true));
        answer.has.iter().collect()
    }
}

fn first() -> Lane {
    Lane::default()
        .made("new/below", 0o750)
        .file("one", b"one")
        .file("two", b"two")
        .made("new", 0o755)
        .file("gone", b"gone")
        .range(0, "new", file("large", 9, 0o644), 0, b"data", RangeStep::More)
}

#[test]
fn what_is_whole_of_an_attempt_that_was_cut_is_not_sent_again() {
    let site = Site::new();
    assert!(Asked::begin(&site, OnConflict::Replace).cut(first()), "something is kept");
    assert!(site.names().iter().all(|name| name.starts_with(".ringway-")) && site.names().len() == 1);

    let mut second = Asked::begin(&site, OnConflict::Replace);
    assert!(second.incoming.lists());
    let changed = Entry { attributes: Attributes { mode: 0o600, ..attributes(0o600) }, ..file("one", 3, 0o600) };
    let lane = Lane::default()
        .list_again(0, "new/below", &[changed, file("two", 4, 0o644), file("three", 1, 0o644)])
        .list_again(1, "new", &[file("large", 9, 0o644)])
        .had(1, 3)
        .made("new", 0o755)
        .made("new/below", 0o750)
        .file("two", b"more")
        .file("three", b"3")
        .range(0, "new", file("large", 9, 0o644), 0, b"contents!", RangeStep::Last { data_bytes: 9 });
    let (receipt, arrived, failures) = cross(&second.incoming, vec![lane]);
    assert_eq!(second.wanted(), [(0, vec![false, true, true]), (1, vec![true])]);
    assert_eq!((receipt.there.files, receipt.there.bytes, receipt.unchanged), (4, 17, 1));
    assert_eq!((arrived, failures), (vec![site.at("new")], Vec::new()));
    assert_eq!(site.names(), ["new"]);
    assert_eq!(names_in(&site.at("new")), ["below", "large"], "what the sender has no more is not there");
    assert_eq!((site.text("new/below/one"), site.text("new/below/two")), ("one".to_owned(), "more".to_owned()));
    assert_eq!(site.text("new/large"), "contents!");
    assert_eq!(fs::metadata(site.at("new/below/one")).unwrap().mode() & 0o777, 0o600, "its mode has changed since");
}

#[test]
fn attempts_add_up() {
    let site = Site::new();
    for number in 0..12 {
        let name = format!("file {number}");
        let before: Vec<_> = (0..number).map(|before| format!("file {before}")).collect();
        let listed: Vec<_> = before.iter().map(|name| file(name, 1, 0o644)).collect();
        let mut attempt = Asked::begin(&site, OnConflict::Replace);
        assert_eq!(attempt.incoming.lists(), number > 0);
        let mut lane = Lane::default();
        if number > 0 {
            lane = lane.list_again(0, "new", &listed);
        }
        let lane = lane.folder("new").file(&name, b"x").flush();
        let ended = attempt.incoming.run_lane(&mut Wire::new(lane.bytes), &mut io(IoMode::Sync));
        assert!(matches!(ended, Err(LaneError::Source(_))));
        assert!(attempt.wanted().iter().all(|(_, files)| files.iter().all(|wanted| !wanted)), "attempt {number}");
        assert!(attempt.incoming.keep().unwrap());
    }
    let last = Asked::begin(&site, OnConflict::Replace);
    let names: Vec<_> = (0..12).map(|number| format!("file {number}")).collect();
    let listed: Vec<_> = names.iter().map(|name| file(name, 1, 0o644)).collect();
    let lane = Lane::default().list_again(0, "new", &listed).had(12, 12);
    assert_eq!(cross(&last.incoming, vec![lane]).0.there.files, 12);
    assert_eq!(names_in(&site.at("new")).len(), 12);
    assert_eq!(site.names(), ["new"]);
}

#[test]
fn what_another_transfer_is_at_work_on_is_not_taken_over() {
    let site = Site::new();
    let running = Asked::begin(&site, OnConflict::Replace);
    let lane = Lane::default().folder("new").file("one", b"1");
    let names = site.names();
    let cut = Asked::begin(&site, OnConflict::Replace).cut(first());
    assert!(!cut && site.names() == names, "nobody would find what it left");
    let beside = Asked::begin(&site, OnConflict::Replace);
    assert!(!beside.incoming.lists());
    let (_, arrived, _) = cross(&beside.incoming, vec![lane]);
    assert_eq!(arrived, [site.at("new")]);
    let lane = Lane::default().folder("new").file("two", b"2");
    let (_, arrived, _) = cross(&running.incoming, vec![lane]);
    assert_eq!(arrived, [site.at("new")], "it is merged with what arrived meanwhile");
    assert_eq!(names_in(&site.at("new")), ["one", "two"]);
    assert_eq!(site.names(), ["new"]);
}

#[test]
fn what_a_killed_attempt_left_beside_another_transfer_s_is_gone_on_with() {
    for other_runs in [true, false] {
        let site = Site::new();
        let running = Asked::begin(&site, OnConflict::Replace);
        let names = site.names();
        let left = Asked::begin(&site, OnConflict::Replace).killed(&site, first());
        if !other_runs {
            running.incoming.keep().unwrap();
        }
        let again = Asked::begin(&site, OnConflict::Replace);
        let name = std::str::from_utf8(&again.incoming.staging.name).unwrap();
        assert!(again.incoming.lists() && site.at(name) == left, "{left:?}");
        let (_, arrived, _) = cross(&again.incoming, vec![Lane::default().folder("new").file("three", b"3")]);
        assert_eq!(arrived, [site.at("new")]);
        let beside: Vec<_> = site.names().into_iter().filter(|name| !names.contains(name)).collect();
        assert_eq!(beside, ["new"], "nothing of it stays");
    }
}

#[test]
fn an_attempt_that_could_not_even_begin_takes_nothing_away() {
    let site = Site::new();
    assert!(Asked::begin(&site, OnConflict::Replace).cut(first()));
    let staging = site.at(&site.names()[0]);
    // It was killed while it looked for the umask, and while it set things aside.
    fs::write(staging.join("probe"), "").unwrap();
    fs::create_dir(staging.join("aside")).unwrap();
    fs::rename(staging.join("tree"), staging.join("aside/tree")).unwrap();
    let mut again = Asked::begin(&site, OnConflict::Replace);
    let ended = again.incoming.run_lane(
        &mut Wire::new(Lane::default().list_again(0, "new/below", &[file("one", 3, 0o644)]).flush().bytes),
        &mut io(IoMode::Sync),
    );
    assert!(matches!(ended, Err(LaneError::Source(_))));
    assert_eq!(again.wanted(), [(0, vec![false])]);
}

/// Lists files with the digests of what they are to hold.
fn listed(number: u32, at: &str, files: &[(Entry<'_>, &[u8])]) -> Lane {
    let mut lane = Lane::default();
    lane.head.begin_list(number);
    lane.head.folder(path(at));
    for (entry, contents) in files {
        lane.head.entry(entry);
        lane.head.digest(Digest(*blake3::hash(contents).as_bytes()));
    }
    let header = lane.head.list_header();
    lane.frame(header, &[]);
    lane.head.clear();
    lane
}

#[test]
fn what_a_killed_attempt_left_is_compared_before_it_is_taken() {
    let site = Site::new();
    let staging = Asked::begin(&site, OnConflict::Replace).killed(&site, first());
    // Its size and time came to the disk, its contents did not.
    let lost = fs::File::options().write(true).open(staging.join("tree/new/below/two")).unwrap();
    let modified = lost.metadata().unwrap().modified().unwrap();
    std::os::unix::fs::FileExt::write_all_at(&lost, b"\0\0\0", 0).unwrap();
    lost.set_modified(modified).unwrap();
    drop(lost);
    let mut again = Asked::begin(&site, OnConflict::Replace);
    assert_eq!((again.incoming.lists(), again.incoming.doubts()), (true, Some(i64::MIN)));
    let one_two = [(file("one", 3, 0o644), &b"one"[..]), (file("two", 3, 0o644), b"two")];
    let gone = Lane::default().proving().list_proven(1, "new", &[("absent", b"x")]);
    let mut lane = listed(0, "new/below", &one_two).had(1, 3);
    lane.bytes.extend(gone.bytes);
    let (receipt, _, failures) = cross(&again.incoming, vec![lane.folder("new/below").file("two", b"two")]);
    assert_eq!(again.wanted(), [(0, vec![false, true]), (1, vec![true])]);
    assert_eq!((receipt.there.files, receipt.proven, failures), (2, None, vec![]));
    assert_eq!((site.text("new/below/one").as_str(), site.text("new/below/two").as_str()), ("one", "two"));
    assert_eq!(site.names(), ["new"]);
}

#[test]
fn what_a_killed_attempt_began_is_compared_chunk_by_chunk() {
    let site = Site::new();
    let large = file("large", LARGE as usize, 0o644);
    let parts = [0..MIB, MIB..2 * MIB, 2 * MIB..3 * MIB];
    let staging =
        Asked::begin(&site, OnConflict::Replace).killed(&site, ranges(Lane::default(), "new", large, &parts, false));
    let lost = fs::File::options().write(true).open(staging.join("tree/new/large")).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&lost, &[0; 4096], MIB).unwrap();
    let mut again = Asked::begin(&site, OnConflict::Replace);
    let (all, chunk) = (contents(0..LARGE), 64 * 1024);
    let chunks: Vec<_> = all[..3 * MIB as usize].chunks(chunk).map(|part| (chunk, part)).collect();
    let list = Lane::default().list_again(0, "new", &[large]);
    let lane = list.chunks(1, "new", large, 0, &chunks).had(0, 3 * MIB - chunk as u64);
    let lane = lane.range(0, "new", large, MIB, &contents(MIB..MIB + chunk as u64), RangeStep::More);
    let rest: Vec<_> = (3..9).map(|at| at * MIB..(at + 1) * MIB).collect();
    let (receipt, _, failures) = cross(&again.incoming, vec![ranges(lane, "new", large, &rest, true)]);
    let answer = again.answers.try_recv().unwrap();
    assert_eq!(
        (answer.files, answer.has.is_empty(), answer.basis),
        (vec![true], true, LARGE),
        "nothing of it is believed"
    );
    let wanted: Vec<_> = (0..chunks.len()).map(|at| at == MIB as usize / chunk).collect();
    assert_eq!(again.wanted(), [(1, wanted)]);
    assert_eq!((receipt.there.files, receipt.there.bytes, failures), (1, LARGE, vec![]));
    let compared = 3 * MIB - chunk as u64;
    assert_eq!((receipt.moved, receipt.reused), (LARGE - compared, 0), "nothing is replaced");
    assert!(fs::read(site.at("new/large")).unwrap() == all);
}

/// The files in the trees of an attempt and of earlier ones.
fn staged_files(staging: &Path) -> Vec<String> {
    let mut files = Vec::new();
    for attempt in [staging.to_owned(), staging.join("kept-0"), staging.join("kept-1")] {
        files.extend(
            fs::read_dir(attempt.join("tree/new")).into_iter().flatten().map(|entry| entry.unwrap().file_name()),
        );
    }
    let mut files: Vec<_> = files.into_iter().map(|name| name.into_string().unwrap()).collect();
    files.sort();
    files
}

#[test]
fn what_no_journal_lists_goes_where_the_disk_is_full_and_stays_otherwise() {
    for is_full in [true, false] {
        let site = Site::new();
        let first = Asked::begin(&site, OnConflict::Replace);
        first.incoming.staging.journal.close();
        first.killed(&site, Lane::default().folder("new").file("of the first", b"first"));
        let large = file("large", LARGE as usize, 0o644);
        let second = Asked::begin(&site, OnConflict::Replace);
        let lane = Lane::default().folder("new").file("listed", b"listed");
        second.run(ranges(lane, "new", large, &[0..MIB, MIB..2 * MIB], false));
        second.incoming.staging.synchronise_kept();
        second.incoming.staging.journal.close();
        second.run(Lane::default().folder("new").file("of the second", b"second"));
        if is_full {
            second.incoming.note_full();
        }
        let staging = site.at(std::str::from_utf8(&second.incoming.staging.name).unwrap());
        assert!(second.incoming.keep().unwrap());
        let expected =
            if is_full { &["large", "listed"][..] } else { &["large", "listed", "of the first", "of the second"] };
        assert_eq!(staged_files(&staging), expected);
        drop(second);
        let mut again = Asked::begin(&site, OnConflict::Replace);
        assert_eq!(listed_and_cut(&mut again, "new", &[file("listed", 6, 0o644)]), [false]);
    }
}

#[test]
fn an_attempt_after_a_full_disk_has_the_room_that_unlisted_files_took() {
    let site = Site::new();
    fs::create_dir_all(&site.root).unwrap();
    let Some(_mount) = Mount::tmpfs(&site.root, "size=6m") else { return };
    let half = vec![1; 512 << 10];
    let names: Vec<_> = (0..6).map(|number| format!("u{number}")).collect();
    let unlisted =
        |lane: Lane| names.iter().fold(lane.folder("new"), |lane, name| lane.file(name, &half).flush().folder("new"));
    let first = Asked::begin(&site, OnConflict::Replace);
    first.run(Lane::default().folder("new").file("listed", &half));
    first.incoming.staging.synchronise_kept();
    first.incoming.staging.journal.close();
    let large = file("large", LARGE as usize, 0o644);
    let lane = ranges(unlisted(Lane::default()), "new", large, &[0..MIB, MIB..2 * MIB, 2 * MIB..3 * MIB], false);
    let ended = first.incoming.run_lane(&mut Wire::new(lane.flush().bytes), &mut io(IoMode::Sync));
    assert!(matches!(ended, Err(LaneError::DestinationFull)), "{ended:?}");
    assert!(first.incoming.keep().unwrap());
    drop(first);

    let second = Asked::begin(&site, OnConflict::Replace);
    let lane =
        unlisted(Lane::default().list_again(0, "new", &[file("listed", half.len(), 0o644)]).had(1, half.len() as u64));
    let (receipt, _, failures) = cross(&second.incoming, vec![lane]);
    assert_eq!((receipt.there.files, failures), (7, vec![]));
    assert_eq!(names_in(&site.at("new")).len(), 7);
}

/// Runs a lane that is cut and lists these files; which of them are wanted.
fn listed_and_cut(asked: &mut Asked, at: &str, files: &[Entry<'_>]) -> Vec<bool> {
    let lane = Lane::default().list_again(0, at, files);
    let ended = asked.incoming.run_lane(&mut Wire::new(lane.flush().bytes), &mut io(IoMode::Sync));
    assert!(matches!(ended, Err(LaneError::Source(_))), "{ended:?}");
    asked.wanted().remove(0).1
}

#[test]
fn what_a_sync_covers_is_believed_and_nothing_else_is() {
    let site = Site::new();
    let early = vec![b'e'; 10_000];
    let large = file("large", LARGE as usize, 0o644);
    let first = Asked::begin(&site, OnConflict::Replace);
    first.run(ranges(
        Lane::default().folder("new").file("early", &early),
        "new",
        large,
        &[0..MIB, MIB..2 * MIB],
        false,
    ));
    Finisher::new(&first.incoming).synchronise().unwrap();
    first.run(Lane::default().folder("new").file("late", b"late"));
    drop(first);
    let files = [file("early", 10_000, 0o644), file("late", 4, 0o644)];
    // Also what the second attempt has taken over and not synchronised again.
    for attempt in 0..2 {
        let mut again = Asked::begin(&site, OnConflict::Replace);
        assert!(again.incoming.doubts().unwrap() > 0, "nothing is compared");
        assert_eq!(listed_and_cut(&mut again, "new", &files), [false, true], "attempt {attempt}");
        assert!(again.incoming.keep().unwrap());
    }
    let mut last = Asked::begin(&site, OnConflict::Replace);
    let lane = Lane::default().list_again(0, "new", &[large]);
    let ended = last.incoming.run_lane(&mut Wire::new(lane.flush().bytes), &mut io(IoMode::Sync));
    assert!(matches!(ended, Err(LaneError::Source(_))), "{ended:?}");
    assert_eq!(last.has(), [Range { start: 0, end: 2 * MIB }]);
}

#[test]
fn covered_files_are_believed_where_the_rest_is_compared() {
    let site = Site::new();
    let first = Asked::begin(&site, OnConflict::Replace);
    first.run(Lane::default().folder("new").file("early", b"early"));
    Finisher::new(&first.incoming).synchronise().unwrap();
    let staging = first.killed(&site, Lane::default().folder("new").file("late", b"late").file("lost", b"lost"));
    fs::write(staging.join("tree/new/lost"), "\0\0\0\0").unwrap();
    let modified = fs::metadata(staging.join("tree/new/late")).unwrap().modified().unwrap();
    fs::File::options().write(true).open(staging.join("tree/new/lost")).unwrap().set_modified(modified).unwrap();
    let mut again = Asked::begin(&site, OnConflict::Replace);
    assert_eq!(again.incoming.doubts(), Some(i64::MIN));
    // A digest is not looked at where a sync covers the file.
    let all = [
        (file("early", 5, 0o644), &b"other"[..]),
        (file("late", 4, 0o644), b"late"),
        (file("lost", 4, 0o644), b"lost"),
    ];
    again.run(listed(0, "new", &all));
    assert_eq!(again.wanted(), [(0, vec![false, false, true])]);
}

#[test]
fn orderly_interruption_leaves_nothing_to_be_compared() {
    let site = Site::new();
    let large = file("large", LARGE as usize, 0o644);
    let lane =
        ranges(Lane::default().folder("new").file("small", b"small"), "new", large, &[0..MIB, MIB..2 * MIB], false);
    assert!(Asked::begin(&site, OnConflict::Replace).cut(lane));
    let mut again = Asked::begin(&site, OnConflict::Replace);
    assert!(again.incoming.doubts().unwrap() > 0, "nothing is compared");
    assert_eq!(listed_and_cut(&mut again, "new", &[file("small", 5, 0o644)]), [false]);
    again.run(Lane::default().list_again(1, "new", &[large]));
    assert_eq!(again.has(), [Range { start: 0, end: 2 * MIB }]);
}

#[test]
fn slow_disk_is_not_waited_for_and_its_files_are_compared() {
    let site = Site::new();
    let slow = Asked::begin(&site, OnConflict::Replace);
    slow.incoming.staging.writeback.set_pace(1);
    assert!(slow.cut(first()));
    assert_eq!(Asked::begin(&site, OnConflict::Replace).incoming.doubts(), Some(i64::MIN));
}

#[test]
fn a_sync_that_follows_an_error_covers_nothing() {
    let site = Site::new();
    let first = Asked::begin(&site, OnConflict::Replace);
    let lane = Lane::default().folder("new").file("early", b"early");
    let _ = first.incoming.run_lane(&mut Wire::new(lane.flush().bytes), &mut io(IoMode::Sync));
    let journal = site.at(&site.names()[0]).join("journal");
    first.incoming.staging.writeback.fail();
    let before = fs::metadata(&journal).unwrap().len();
    Finisher::new(&first.incoming).synchronise().unwrap();
    assert_eq!(fs::metadata(&journal).unwrap().len(), before, "nothing was noted");
}

#[test]
fn a_file_as_young_as_the_attempt_is_compared_before_it_is_taken() {
    let site = Site::new();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() as i64;
    let young = |name| {
        let mtime = Timestamp { secs: now + 3600, nanos: 0 };
        Entry { attributes: Attributes { mtime, ..attributes(0o644) }, ..file(name, 1, 0o644) }
    };
    let lane = Lane::default().folder("new").entry(&young("a"), b"a").entry(&young("b"), b"a").file("old", b"1");
    assert!(Asked::begin(&site, OnConflict::Replace).cut(lane));
    let mut again = Asked::begin(&site, OnConflict::Replace);
    let doubts = again.incoming.doubts().unwrap();
    assert!(doubts <= now && doubts > now - 60, "{doubts}");
    // What is old enough is believed without a digest.
    let lane = listed(0, "new", &[(young("a"), b"a"), (young("b"), b"b")]).had(2, 2);
    let lane = lane.list_again(1, "new", &[file("old", 1, 0o644)]);
    cross(&again.incoming, vec![lane.folder("new").entry(&young("b"), b"b")]);
    assert_eq!(again.wanted(), [(0, vec![false, true]), (1, vec![false])]);
    assert_eq!(
        (site.text("new/a").as_str(), site.text("new/b").as_str(), site.text("new/old").as_str()),
        ("a", "b", "1")
    );
}

#[test]
fn a_clock_that_was_set_back_makes_no_half_file_pass_for_whole() {
    let site = Site::new();
    let set_forward = std::time::SystemTime::now() + std::time::Duration::from_secs(3600);
    assert!(Asked::begin(&site, OnConflict::Replace).cut(first()));
    let begun = site.at(&site.names()[0]).join("begun");
    fs::File::options().write(true).open(&begun).unwrap().set_modified(set_forward).unwrap();
    let again = Asked::begin(&site, OnConflict::Replace);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() as i64;
    assert!(again.incoming.doubts().unwrap() < now);
    assert!(fs::metadata(begun).unwrap().mtime() <= now, "the next attempt knows it, too");
    again.incoming.abandon().unwrap();
}

#[test]
fn nothing_is_kept_where_nothing_is_whole_or_the_transfer_was_stopped() {
    let site = Site::new();
    let nothing = Lane::default().folder("").flush();
    assert!(!Asked::begin(&site, OnConflict::Replace).cut(nothing));
    let stopped = Asked::begin(&site, OnConflict::Replace);
    let _ = stopped.incoming.run_lane(&mut Wire::new(first().flush().bytes), &mut io(IoMode::Sync));
    stopped.incoming.abandon().unwrap();
    assert!(site.names().is_empty());
}

#[test]
fn files_that_a_merge_would_leave_alone_are_not_asked_for() {
    let site = Site::new();
    fs::create_dir_all(site.at("old")).unwrap();
    let (receipt, ..) = cross(&site.begin(OnConflict::Replace), vec![Lane::default().folder("old").file("same", b"1")]);
    assert_eq!(receipt.there.files, 1);
    fs::write(site.at("old/other"), "theirs").unwrap();
    fs::create_dir(site.at("old/folder")).unwrap();
    let listed = [file("same", 1, 0o600), file("other", 5, 0o644), file("folder", 1, 0o644), file("absent", 1, 0o644)];
    for (on_conflict, expected) in [
        (OnConflict::Replace, vec![false, true, true, true]),
        (OnConflict::Keep, vec![false, false, true, true]),
        (OnConflict::Rename, vec![false, true, true, true]),
        (OnConflict::RenameTop, vec![true; 4]),
    ] {
        let mut attempt = Asked::begin(&site, on_conflict);
        assert!(attempt.incoming.lists());
        let ended = attempt
            .incoming
            .run_lane(&mut Wire::new(Lane::default().list(7, "old", &listed).flush().bytes), &mut io(IoMode::Sync));
        assert!(matches!(ended, Err(LaneError::Source(_))), "it is cut");
        assert_eq!(attempt.wanted(), [(7, expected)], "{on_conflict:?}");
        attempt.incoming.abandon().unwrap();
    }
    assert_eq!(fs::metadata(site.at("old/same")).unwrap().mode() & 0o777, 0o600, "its mode follows the source");
}

#[test]
fn names_of_a_file_that_stays_can_be_linked_to_it() {
    let site = Site::new();
    let twice = || Lane::default().folder("new").entry(&linked("first", 3, 5), b"abc");
    assert!(Asked::begin(&site, OnConflict::Replace).cut(twice()));
    let again = Asked::begin(&site, OnConflict::Replace);
    let lane = Lane::default()
        .list_again(0, "new", &[linked("first", 3, 5)])
        .had(1, 3)
        .folder("new")
        .entry(&hard_link("second", 5, true), b"");
    cross(&again.incoming, vec![lane]);
    let inode = |rel: &str| fs::metadata(site.at(rel)).unwrap().ino();
    assert_eq!(inode("new/first"), inode("new/second"));
}

#[test]
fn a_list_that_nobody_asked_for_ends_the_lane() {
    let site = Site::new();
    let asked = Asked::begin(&site, OnConflict::Replace);
    let incoming = site.begin(OnConflict::Replace);
    for incoming in [&asked.incoming, &incoming] {
        let lane = Lane::default().list(0, "new", &[file("a", 1, 0o644)]);
        let ended = incoming.run_lane(&mut Wire::new(lane.end().0), &mut io(IoMode::Sync));
        assert!(matches!(ended, Err(LaneError::Protocol(_))), "{ended:?}");
    }
}

#[test]
fn what_the_disk_may_have_lost_is_not_kept() {
    let site = Site::new();
    let attempt = Asked::begin(&site, OnConflict::Replace);
    attempt.incoming.staging.writeback.fail();
    assert!(!attempt.cut(first()));
    assert!(site.names().is_empty());
}

#[test]
fn what_nobody_went_on_with_for_a_week_goes() {
    let site = Site::new();
    let kept = |key: &[u8]| {
        let options = DestinationOptions {
            attempt: AttemptKey::new(key, &OfferedNames::default()),
            ..site.options(OnConflict::Replace)
        };
        let incoming = Incoming::begin(options).unwrap();
        let _ = incoming.run_lane(&mut Wire::new(first().flush().bytes), &mut io(IoMode::Sync));
        assert!(incoming.keep().unwrap());
        let name = String::from_utf8(incoming.staging.name.clone()).unwrap();
        drop(incoming);
        name
    };
    let (old, young) = (kept(b"old"), kept(b"young"));
    fs::create_dir(site.at(".ringway-foreign")).unwrap();
    for name in [&*old, ".ringway-foreign"] {
        age(&site.at(name));
    }
    site.begin(OnConflict::Replace).abandon().unwrap();
    let mut left = [".ringway-foreign".to_owned(), young];
    left.sort();
    assert_eq!(site.names(), left);
}

#[test]
fn what_is_left_is_told_with_who_sent_what_and_goes_when_asked() {
    let site = Site::new();
    assert!(unfinished(&site.root.join("nowhere")).is_err());
    let sent = |key: &[u8]| DestinationOptions {
        attempt: AttemptKey::new(key, &OfferedNames::default()),
        from: "lap top".into(),
        names: vec![b"data\xff".to_vec(), b"notes".to_vec()],
        more_names: 3,
        ..site.options(OnConflict::Replace)
    };
    let fill = |options| {
        let incoming = Incoming::begin(options).unwrap();
        let _ = incoming.run_lane(&mut Wire::new(first().flush().bytes), &mut io(IoMode::Sync));
        incoming
    };
    let kept = fill(sent(b"kept"));
    assert!(kept.keep().unwrap());
    let running = fill(sent(b"running"));
    // Neither is ours to tell of: another's folder by its name, and one that no attempt has begun.
    for name in [".ringway-foreign", ".ringway-0123456789abcdef"] {
        fs::create_dir(site.at(name)).unwrap();
    }

    let left = unfinished(&site.root).unwrap();
    assert_eq!(left.len(), 2);
    let told = |of: &Incoming| left.iter().find(|left| of.staging.name.ends_with(left.id.as_bytes())).unwrap();
    let Unfinished { from, names, more_names, files, disk_bytes, in_use, folder, .. } = told(&kept);
    assert_eq!((from.as_deref(), names.len(), *more_names), (Some("lap top"), 2, 3));
    assert_eq!(names[0].as_os_str().as_bytes(), b"data\xff");
    assert!(*files > 0 && *disk_bytes > 0 && !in_use);
    assert_eq!(folder.0, site.root);
    assert!(told(&running).in_use);

    assert!(!discard(&site.root, &told(&running).id, None).unwrap(), "a transfer is at work in it");
    for nothing in ["foreign", "0123456789abcdef", "../../../../etc", ""] {
        assert!(!discard(&site.root, nothing, None).unwrap(), "{nothing}");
    }
    let id = &told(&kept).id;
    assert!(discard(&site.root, id, None).unwrap());
    assert!(!discard(&site.root, id, None).unwrap(), "it is gone");
    assert_eq!(site.names().len(), 3);
    running.abandon().unwrap();
    assert_eq!(site.names(), [".ringway-0123456789abcdef", ".ringway-foreign"]);
}

#[test]
fn who_looks_at_what_is_left_keeps_no_attempt_from_it() {
    let site = Site::new();
    assert!(Asked::begin(&site, OnConflict::Replace).cut(first()));
    let (root, stop) = (site.root.clone(), Arc::new(AtomicBool::new(false)));
    let looker = std::thread::spawn({
        let stop = Arc::clone(&stop);
        move || {
            let goes_on = crate::deadline::while_not(&stop);
            while goes_on() {
                unfinished(&root).unwrap();
            }
        }
    });
    for attempt in 0..50 {
        let incoming = Incoming::begin(site.options(OnConflict::Replace)).unwrap();
        assert!(incoming.staging.is_found_again, "attempt {attempt} began anew");
        assert!(incoming.keep().unwrap());
    }
    stop.store(true, Ordering::Relaxed);
    looker.join().unwrap();
}

fn age(path: &Path) {
    let eight_days_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(8 * 24 * 3600);
    fs::File::open(path).unwrap().set_modified(eight_days_ago).unwrap();
}

#[test]
fn an_attempt_after_more_than_a_week_goes_on_with_what_is_its_own() {
    let site = Site::new();
    assert!(Asked::begin(&site, OnConflict::Replace).cut(first()));
    age(&site.at(&site.names()[0]));
    let mut again = Asked::begin(&site, OnConflict::Replace);
    assert!(again.incoming.lists());
    let lane = Lane::default().list_again(0, "new/below", &[file("one", 3, 0o644)]);
    let ended = again.incoming.run_lane(&mut Wire::new(lane.flush().bytes), &mut io(IoMode::Sync));
    assert!(matches!(ended, Err(LaneError::Source(_))));
    assert_eq!(again.wanted(), [(0, vec![false])]);
}

#[test]
fn what_took_more_than_a_week_to_come_is_young_when_it_is_kept() {
    let site = Site::new();
    let attempt = Asked::begin(&site, OnConflict::Replace);
    let ended = attempt.incoming.run_lane(&mut Wire::new(first().flush().bytes), &mut io(IoMode::Sync));
    assert!(matches!(ended, Err(LaneError::Source(_))));
    let names = site.names();
    // Nothing that comes into its tree shows in the folder's own time.
    age(&site.at(&names[0]));
    assert!(attempt.incoming.keep().unwrap());
    drop(attempt);
    let other = AttemptKey::new(b"another device", &OfferedNames::default());
    let options = DestinationOptions { attempt: other, ..site.options(OnConflict::Replace) };
    Incoming::begin(options).unwrap().abandon().unwrap();
    assert_eq!(site.names(), names);
}

const MIB: u64 = 1 << 20;
const LARGE: u64 = 9 * MIB;

fn contents(part: Range<u64>) -> Vec<u8> {
    part.map(|at| (at / 4096) as u8 ^ at as u8).collect()
}

/// Some ranges of one large file; with `last`, the end of all its bytes too.
fn ranges(mut lane: Lane, at: &str, entry: Entry<'_>, parts: &[Range<u64>], last: bool) -> Lane {
    for (number, part) in parts.iter().enumerate() {
        let is_last = last && number + 1 == parts.len();
        let step = if is_last { RangeStep::Last { data_bytes: LARGE } } else { RangeStep::More };
        lane = lane.range(0, at, entry, part.start, &contents(part.clone()), step);
    }
    lane
}

#[test]
fn a_large_file_is_gone_on_with_where_it_was_cut() {
    for top in ["new", "old"] {
        let site = Site::new();
        fs::create_dir_all(site.at("old")).unwrap();
        let large = file("large", LARGE as usize, 0o640);
        let first = [0..MIB, MIB..2 * MIB, 4 * MIB..5 * MIB];
        assert!(Asked::begin(&site, OnConflict::Replace).cut(ranges(Lane::default(), top, large, &first, false)));
        assert!(!site.at(top).join("large").exists());

        // It is cut once more, and what has come both times counts.
        let mut second = Asked::begin(&site, OnConflict::Replace);
        let lane = Lane::default().list_again(0, top, &[large]);
        let ended = second.incoming.run_lane(
            &mut Wire::new(ranges(lane, top, large, std::slice::from_ref(&(2 * MIB..3 * MIB)), false).flush().bytes),
            &mut io(IoMode::Sync),
        );
        assert!(matches!(ended, Err(LaneError::Source(_))), "{ended:?}");
        assert_eq!(second.has(), [0..2 * MIB, 4 * MIB..5 * MIB]);
        assert!(second.incoming.keep().unwrap());

        let mut third = Asked::begin(&site, OnConflict::Replace);
        let rest = [3 * MIB..4 * MIB, 5 * MIB..6 * MIB, 6 * MIB..7 * MIB, 7 * MIB..8 * MIB, 8 * MIB..LARGE];
        let lane = Lane::default().list_again(0, top, &[large]).had(0, 4 * MIB);
        let (receipt, _, failures) = cross(&third.incoming, vec![ranges(lane, top, large, &rest, true)]);
        assert_eq!(third.has(), [0..3 * MIB, 4 * MIB..5 * MIB]);
        assert_eq!((receipt.there.files, receipt.there.bytes, failures), (1, LARGE, Vec::new()));
        assert!(fs::read(site.at(top).join("large")).unwrap() == contents(0..LARGE));
        assert_eq!(fs::metadata(site.at(top).join("large")).unwrap().mode() & 0o777, 0o640);
        assert!(!site.names().iter().any(|name| name.starts_with('.')), "{:?}", site.names());
    }
}

#[test]
fn what_cannot_be_noted_anew_stays_where_it_was_noted() {
    for top in ["new", "old"] {
        let site = Site::new();
        fs::create_dir_all(site.at("old")).unwrap();
        let large = file("large", LARGE as usize, 0o640);
        let first = [0..MIB, MIB..2 * MIB];
        assert!(Asked::begin(&site, OnConflict::Replace).cut(ranges(Lane::default(), top, large, &first, false)));
        let listed = || Lane::default().list_again(0, top, &[large]);
        // The disk is full before the journal is, or it was killed after the note and before the
        // move.
        let mut full = Asked::begin(&site, OnConflict::Replace);
        full.incoming.staging.journal.close();
        let more = ranges(listed(), top, large, std::slice::from_ref(&(2 * MIB..3 * MIB)), false);
        let ended = full.incoming.run_lane(&mut Wire::new(more.flush().bytes), &mut io(IoMode::Sync));
        assert!(matches!(ended, Err(LaneError::Source(_))), "{ended:?}");
        assert_eq!(full.has(), [Range { start: 0, end: 2 * MIB }]);
        assert!(full.incoming.keep().unwrap());

        let killed = Asked::begin(&site, OnConflict::Replace);
        let ended = killed.incoming.run_lane(&mut Wire::new(listed().flush().bytes), &mut io(IoMode::Sync));
        assert!(matches!(ended, Err(LaneError::Source(_))), "{ended:?}");
        let has = killed.answers.try_recv().unwrap().has;
        assert_eq!(has.iter().collect::<Vec<_>>(), [Range { start: 0, end: 2 * MIB }]);
        let version = Version {
            folder: top.as_bytes().into(),
            name: b"large".as_slice().into(),
            size: LARGE,
            mtime: large.attributes.mtime,
            stamp: 0,
        };
        assert!(killed.incoming.staging.journal.begin(&version, &Spot::Own, b"parts-0", &has).is_some());
        drop(killed);

        let mut last = Asked::begin(&site, OnConflict::Replace);
        let rest: Vec<_> = (2..9).map(|at| at * MIB..(at + 1) * MIB).collect();
        let lane = ranges(listed().had(0, 2 * MIB), top, large, &rest, true);
        let (receipt, _, failures) = cross(&last.incoming, vec![lane]);
        assert_eq!(last.has(), [Range { start: 0, end: 2 * MIB }]);
        assert_eq!((receipt.there.files, receipt.there.bytes, failures), (1, LARGE, Vec::new()));
        assert!(fs::read(site.at(top).join("large")).unwrap() == contents(0..LARGE));
    }
}

#[test]
fn attempts_that_get_nowhere_push_out_none_that_did() {
    let site = Site::new();
    assert!(Asked::begin(&site, OnConflict::Replace).cut(first()));
    for _ in 0..2 * ATTEMPTS_KEPT_MAX {
        let attempt = Asked::begin(&site, OnConflict::Replace);
        assert!(attempt.incoming.keep().unwrap());
    }
    let mut last = Asked::begin(&site, OnConflict::Replace);
    let lane = Lane::default().list_again(0, "new/below", &[file("one", 3, 0o644)]);
    let ended = last.incoming.run_lane(&mut Wire::new(lane.flush().bytes), &mut io(IoMode::Sync));
    assert!(matches!(ended, Err(LaneError::Source(_))));
    assert_eq!(last.wanted(), [(0, vec![false])]);
}

#[test]
fn a_large_file_that_is_another_by_now_starts_over() {
    let site = Site::new();
    let large = file("large", LARGE as usize, 0o644);
    let first = [0..MIB, MIB..2 * MIB];
    assert!(Asked::begin(&site, OnConflict::Replace).cut(ranges(Lane::default(), "new", large, &first, false)));
    let touched =
        Entry { attributes: Attributes { mtime: Timestamp { secs: 5, nanos: 0 }, ..attributes(0o644) }, ..large };
    let longer = file("large", LARGE as usize + 1, 0o644);
    for other in [touched, longer] {
        let mut again = Asked::begin(&site, OnConflict::Replace);
        let ended = again.incoming.run_lane(
            &mut Wire::new(Lane::default().list_again(0, "new", &[other]).flush().bytes),
            &mut io(IoMode::Sync),
        );
        assert!(matches!(ended, Err(LaneError::Source(_))));
        assert_eq!(again.has(), []);
        again.incoming.keep().unwrap();
    }
    // Another file of that size and time, as one that was copied over it with its time.
    let mut again = Asked::begin(&site, OnConflict::Replace);
    let listed = Lane::default().of_version(8).list_again(0, "new", &[large]);
    let ended = again.incoming.run_lane(&mut Wire::new(listed.flush().bytes), &mut io(IoMode::Sync));
    assert!(matches!(ended, Err(LaneError::Source(_))));
    assert_eq!(again.has(), []);
    again.incoming.keep().unwrap();
    // What was said to be there is gone on with as that version only.
    let again = Asked::begin(&site, OnConflict::Replace);
    let lane =
        Lane::default().list_again(0, "new", &[large]).range(0, "new", touched, 0, &contents(0..MIB), RangeStep::More);
    let _ = again.incoming.run_lane(&mut Wire::new(lane.flush().bytes), &mut io(IoMode::Sync));
    assert_eq!(again.incoming.results().progress().bytes, MIB);
    assert!(again.incoming.keep().unwrap());
    let again = Asked::begin(&site, OnConflict::Replace);
    let lane = Lane::default().list_again(0, "new", &[large]);
    let lane = lane.of_version(8).range(0, "new", large, 0, &contents(0..MIB), RangeStep::More);
    let _ = again.incoming.run_lane(&mut Wire::new(lane.flush().bytes), &mut io(IoMode::Sync));
    assert_eq!(again.incoming.results().progress().bytes, MIB);
    again.incoming.abandon().unwrap();
}

#[test]
fn a_large_file_that_is_begun_takes_no_range_of_another_version() {
    let site = Site::new();
    let large = file("large", LARGE as usize, 0o644);
    for resumed in [false, true] {
        let asked = Asked::begin(&site, OnConflict::Replace);
        let lane = match resumed {
            true => Lane::default().list_again(0, "new", &[large]),
            false => Lane::default(),
        };
        let lane = lane.range(0, "new", large, 4 * MIB, &contents(4 * MIB..5 * MIB), RangeStep::More);
        let lane = lane.of_version(8).range(0, "new", large, 5 * MIB, &contents(5 * MIB..6 * MIB), RangeStep::More);
        let ended = asked.incoming.run_lane(&mut Wire::new(lane.flush().bytes), &mut io(IoMode::Sync));
        assert!(matches!(ended, Err(LaneError::Protocol(ProtocolError::Range { .. }))), "{ended:?}");
        asked.incoming.keep().unwrap();
    }
}

#[test]
fn a_file_that_had_all_its_bytes_when_it_was_cut_needs_only_its_end() {
    let site = Site::new();
    let large = file("large", LARGE as usize, 0o644);
    let all: Vec<_> = (0..9).map(|at| at * MIB..(at + 1) * MIB).collect();
    assert!(Asked::begin(&site, OnConflict::Replace).cut(ranges(Lane::default(), "new", large, &all, false)));
    let mut again = Asked::begin(&site, OnConflict::Replace);
    let lane = Lane::default().list_again(0, "new", &[large]).had(0, LARGE);
    let lane = lane.range(0, "new", large, 0, b"", RangeStep::Last { data_bytes: LARGE });
    cross(&again.incoming, vec![lane]);
    assert_eq!(again.has(), [Range { start: 0, end: LARGE }]);
    assert!(fs::read(site.at("new/large")).unwrap() == contents(0..LARGE));
}

#[test]
fn a_file_that_the_sender_gives_up_after_all_leaves_nothing() {
    let site = Site::new();
    let large = file("large", LARGE as usize, 0o644);
    assert!(Asked::begin(&site, OnConflict::Replace).cut(ranges(
        Lane::default(),
        "new",
        large,
        &[0..MIB, MIB..2 * MIB],
        false
    )));
    let again = Asked::begin(&site, OnConflict::Replace);
    let lane = Lane::default().made("new", 0o755).list_again(0, "new", &[large]).had(0, 2 * MIB);
    let lane = lane.range(0, "new", large, 0, b"", RangeStep::Abandoned { data_bytes: 2 * MIB });
    let (receipt, ..) = cross(&again.incoming, vec![lane]);
    assert_eq!(receipt.there.files, 0);
    assert!(names_in(&site.at("new")).is_empty());
    assert_eq!(site.names(), ["new"]);
}

#[test]
fn what_a_cut_attempt_left_of_a_new_folder_is_no_edit_when_it_is_updated_later() {
    let site = Site::new();
    assert!(Asked::begin(&site, OnConflict::RenameTop).cut(first()));
    let mut second = Asked::begin(&site, OnConflict::RenameTop);
    let lane = Lane::default()
        .list_again(0, "new/below", &[file("one", 3, 0o644), file("two", 3, 0o644)])
        .had(2, 6)
        .folder("new")
        .file("three", b"3");
    let (_, _, failures) = cross(&second.incoming, vec![lane]);
    assert_eq!((second.wanted(), failures), (vec![(0, vec![false, false])], vec![]));
    site.remember(&second.incoming);
    fs::write(site.at("new/below/two"), "mine").unwrap();
    let lane = Lane::default().folder("new/below").file("one", b"one more").file("two", b"two more");
    let (receipt, ..) = site.receive(site.options(OnConflict::RenameTop), vec![lane]);
    assert_eq!((receipt.edited, &*site.text("new/below/one"), &*site.text("new/below/two")), (1, "one more", "mine"));
}

#[test]
fn the_same_offer_many_times_at_once_is_received_each_time() {
    let site = Site::new();
    fs::create_dir_all(site.at("old")).unwrap();
    let failures = std::thread::scope(|scope| {
        let attempts = |thread: u8| {
            let site = &site;
            move || {
                let attempt = |round: u8| -> Result<(), String> {
                    let mut transfer = TransferId([round; 16]);
                    transfer.0[0] = thread;
                    let options = DestinationOptions { transfer, ..site.options(OnConflict::Replace) };
                    let incoming = Incoming::begin(options).map_err(|error| format!("begin: {error}"))?;
                    let (bytes, sent) = Lane::default().folder("old").file("a", b"a").made("new", 0o755).end();
                    let lane = incoming.run_lane(&mut Wire::new(bytes), &mut io(IoMode::Sync));
                    lane.map_err(|error| format!("lane: {error}"))?;
                    incoming.finish(&sent).map_err(|error| format!("finish: {error:?}"))?;
                    Ok(())
                };
                (0..40).filter_map(|round| attempt(round).err()).collect::<Vec<_>>()
            }
        };
        let threads: Vec<_> = (1..=8).map(|thread| scope.spawn(attempts(thread))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(failures, Vec::<String>::new());
    assert_eq!(site.text("old/a"), "a");
    assert!(site.names().iter().all(|name| name == "old" || name.starts_with("new")), "{:?}", site.names());
}
