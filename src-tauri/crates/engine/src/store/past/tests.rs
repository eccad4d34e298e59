//! What has ended, written and read back.
use std::sync::Arc;
use std::time::Duration;

use ringway_model::{
    AfterFailure, AuthError, Bottleneck, Counts, DeviceId, Edit, Failure, FailureReason, Invalid, IoPath, Offer,
    Operation, PathTaken, Pattern, Proven, Report, Selection, SeriesPoint, Side, Source, TlsPath,
};

use super::row::{ENDING_LEN_MAX, ending_text};
use super::*;
use crate::devices::reference::PathInShare;
use crate::devices::target::Target;
use crate::receiving::event::keep_unanswered;
use crate::store::history::Resend;

struct Home {
    folder: tempfile::TempDir,
    store: Arc<Store>,
}

#[test]
fn what_was_refused_as_wrong_usage_is_not_what_was_started_last() {
    let home = Home::new();
    let last = || match home.store.last_started(Direction::Sending).unwrap() {
        LastStarted::Ended(last) => Some(last.past.title.to_string()),
        _ => None,
    };
    let failed = report(Outcome::Failed(Fault::Invalid(Invalid::NothingToSend)), 0);
    let refused = Report { bytes_planned: 0, ..failed.clone() };
    home.keep(Direction::Sending, "refused", &refused, &[]);
    assert_eq!(last(), None);
    home.keep(Direction::Sending, "sent", &complete(), &[]);
    home.keep(Direction::Sending, "refused", &refused, &[]);
    assert_eq!(last().as_deref(), Some("sent"));
    let lost = report(Outcome::Failed(Fault::Unanswered), 0);
    home.keep(Direction::Sending, "tried", &lost, &[]);
    assert_eq!(last().as_deref(), Some("tried"));
    home.keep(Direction::Sending, "refused on the way", &failed, &[]);
    assert_eq!(last().as_deref(), Some("refused on the way"));
}

#[test]
fn transfer_that_runs_is_no_history_until_it_or_its_process_has_ended() {
    let home = Home::new();
    let record = Record { target: Some(nas()), ..Record::of(&home.store) };
    let (id, direction, title) = (TransferId([9; 16]), Direction::Sending, ("data".into(), 0));
    let at = |report: &Report, what: &dyn Fn(&Ended<'_>)| {
        what(&Ended { id, direction, peer: None, title: &title, has_begun: true, report, series: &[] });
    };
    let so_far = report(Outcome::Failed(Fault::ProgramEnded), 3);
    let all = || home.store.past(&PastQuery::default(), 10).unwrap();
    at(&so_far, &|running| record.keep_running(running));
    at(&so_far, &|running| record.keep_running(running));
    let last = || match home.store.last_started(direction).unwrap() {
        LastStarted::Ended(last) => Ok(last.past.number),
        other => Err(format!("{other:?}")),
    };
    assert_eq!((all().len(), last()), (0, Err("Runs".into())));
    // As if this process had been started later than the one that wrote it.
    let gone = "UPDATE past SET running = running || '0'";
    home.store.with(|connection| connection.execute(gone, [])).unwrap();
    let [killed] = &all()[..] else { panic!("{:?}", all()) };
    assert!(matches!(killed.report.outcome, Outcome::Failed(Fault::ProgramEnded)), "{killed:?}");
    assert_eq!(home.store.past_details(killed.number).unwrap().failures.len(), 3, "each is written once");
    assert_eq!(last(), Ok(killed.number));
    // In another PID namespace it still runs: its end takes the place of what was supposed.
    at(&complete(), &|ended| record.keep(ended));
    at(&so_far, &|running| record.keep_running(running));
    let [ended] = &all()[..] else { panic!("{:?}", all()) };
    assert!(matches!(ended.report.outcome, Outcome::Complete) && ended.number == killed.number, "{ended:?}");
    // What ends later has the higher number.
    let slow = Record::of(&home.store);
    at(&so_far, &|running| slow.keep_running(running));
    home.keep(Direction::Sending, "quick", &complete(), &[]);
    at(&complete(), &|ended| slow.keep(ended));
    assert_eq!(all().iter().map(|past| past.title.to_string()).collect::<Vec<_>>(), ["data", "quick", "data"]);
}

#[test]
fn an_end_that_could_not_be_written_down_is_when_that_is_tried_again() {
    let home = Home::new();
    let record = Record::of(&home.store);
    let (id, direction, title) = (TransferId([9; 16]), Direction::Receiving, ("data".into(), 0));
    let at = |report| Ended { id, direction, peer: None, title: &title, has_begun: true, report, series: &[] };
    let (so_far, complete) = (report(Outcome::Failed(Fault::ProgramEnded), 0), complete());
    record.keep_running(&at(&so_far));
    crate::store::tests::refuse_writes(&home.store, true);
    record.keep(&at(&complete));
    assert!(matches!(record.trouble(), Some(Fault::Store { .. })), "{:?}", record.trouble());
    assert_eq!(home.titles(&PastQuery::default()).len(), 0, "this process has not ended");
    crate::store::tests::refuse_writes(&home.store, false);
    record.keep(&at(&complete));
    assert!(record.trouble().is_none());
    let [ended] = &home.store.past(&PastQuery::default(), 10).unwrap()[..] else { panic!("once") };
    assert!(matches!(ended.report.outcome, Outcome::Complete), "{ended:?}");
}

#[test]
fn what_a_list_selected_is_remembered_without_the_list() {
    let home = Home::new();
    let how = |by_list, verify| {
        let resend = Resend {
            sources: vec![Source { path: "/the/Inbox".into(), contents_only: false }],
            selection: Selection::default(),
            by_list,
            verify,
            in_share: None,
        };
        let record = Record { paths: vec!["/the/Inbox".into()], resend: Some(resend), ..Record::of(&home.store) };
        let (id, direction, title) = (TransferId([9; 16]), Direction::Sending, ("data".into(), 0));
        record.keep(&Ended {
            id,
            direction,
            peer: None,
            title: &title,
            has_begun: true,
            report: &complete(),
            series: &[],
        });
        let kept = home.store.past_sent(id).unwrap().unwrap();
        assert_eq!(kept.can_be_repeated(), !by_list);
        kept.resend.map(|resend| (resend.by_list, resend.verify))
    };
    for (by_list, verify) in [(false, false), (false, true), (true, false), (true, true)] {
        assert_eq!(how(by_list, verify), Some((by_list, verify)));
    }
}

fn nas() -> (Target, String) {
    (Target::Device(DeviceId([3; 32])), "nas.lan".to_owned())
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(Store::open(folder.path()).unwrap());
        Self { folder, store }
    }

    fn keep(&self, direction: Direction, title: &str, report: &Report, series: &[SeriesPoint]) {
        self.keep_as(direction, title, true, report, series);
    }

    fn keep_as(&self, direction: Direction, title: &str, has_begun: bool, report: &Report, series: &[SeriesPoint]) {
        let target = (direction == Direction::Sending).then(nas);
        let source = Source { path: "/the/Inbox".into(), contents_only: true };
        let resend = target.is_some().then(|| Resend {
            sources: vec![source],
            selection: Selection { patterns: patterns(), paths: None },
            by_list: false,
            verify: true,
            in_share: Some(PathInShare::parse(b"inbox/a b/c\xff").unwrap()),
        });
        let in_share = resend.as_ref().and_then(|resend| resend.in_share.as_ref()).map(PathInShare::shown);
        let record = Record { target, paths: vec!["/the/Inbox".into()], in_share, resend, ..Record::of(&self.store) };
        let (peer, title) = ((DeviceId([3; 32]), "Übung".to_owned()), (title.into(), 2));
        let (id, peer, title) = (TransferId([9; 16]), Some(&peer), &title);
        record.keep(&Ended { id, direction, peer, title, has_begun, report, series });
    }

    fn keep_with(&self, device: Option<u8>, title: &str) {
        let record = Record::of(&self.store);
        let peer = device.map(|device| (DeviceId([device; 32]), "nas".to_owned()));
        let (id, title, direction) = (TransferId([9; 16]), (title.into(), 0), Direction::Receiving);
        record.keep(&Ended {
            id,
            direction,
            peer: peer.as_ref(),
            title: &title,
            has_begun: true,
            report: &complete(),
            series: &[],
        });
    }

    fn unanswered(&self, device: u8, title: &str) {
        let offer = Offer {
            id: TransferId([9; 16]),
            from: "nas".into(),
            from_id: DeviceId([device; 32]),
            looks_like: None,
            names: vec![title.into()],
            kinds: Vec::new(),
            more_names: 0,
            dot_names: Vec::new(),
            more_dot_names: 0,
            entries_so_far: 1,
            bytes_so_far: 7,
            totals_final: false,
            destination: "/the/Inbox".into(),
            in_share: None,
            is_home: false,
            free_space: None,
            asked_because: None,
            comparison: None,
            in_place: None,
            updates: Vec::new(),
            renamed: Vec::new(),
        };
        keep_unanswered(&offer, &self.store);
    }

    fn titles(&self, query: &PastQuery) -> Vec<String> {
        let titles = self.store.past(query, 100).unwrap().into_iter();
        titles.map(|past| past.title.to_string()).collect()
    }
}

fn patterns() -> Vec<Pattern> {
    let out = |text: &[u8]| Pattern::Exclude(text.into());
    vec![out(b"*.tmp"), out(b"!odd"), out(b"#odd"), Pattern::Include(b"keep.tmp".to_vec()), out(b"\xff")]
}

fn report(outcome: Outcome, failures: usize) -> Report {
    let failure = |n| Failure {
        path: format!("data/{n}").into(),
        side: Side::There,
        operation: Operation::Write,
        reason: FailureReason::Os { errno: 28 },
    };
    Report {
        counts: Counts {
            files: 5,
            folders: 4,
            links: 3,
            bytes: u64::MAX,
            moved: 8,
            unchanged: 1,
            skipped: 2,
            skipped_bytes: 7,
            reused: 9,
            edited: 1,
            excluded: 8,
            acls_lost: 6,
            owners_by_number: 7,
            failed: failures as u64,
        },
        proven: Some(Proven { files: 5, bytes: 6, took: Duration::from_millis(7) }),
        edits: vec![Edit { path: "data/p2.jpg".into(), beside: "p2 (1).jpg".into() }],
        failures: (0..failures).map(failure).collect(),
        running_for: Duration::from_millis(1_234),
        limited_by: Some(Bottleneck::Limit),
        limit_bytes_per_s: Some(3_000_000),
        bytes_planned: 11,
        lanes: 1,
        reconnected: 2,
        ..Report::new(outcome, SystemTime::now())
    }
}

fn complete() -> Report {
    report(Outcome::Complete, 0)
}

#[test]
fn what_ended_is_there_for_every_program_as_it_was() {
    let home = Home::new();
    let series =
        [SeriesPoint { at: Duration::from_millis(100), bytes: 5, entries: 1, limited_by: None, reconnected: 2 }];
    home.keep(
        Direction::Receiving,
        "data",
        &report(Outcome::Failed(Fault::DestinationFull { shortage: None }), 2),
        &series,
    );
    let other = Store::open(home.folder.path()).unwrap();
    let [past] = &other.past(&PastQuery::default(), 9).unwrap()[..] else { panic!("not one") };
    assert_eq!((past.direction, &past.target), (Direction::Receiving, &None));
    assert_eq!((past.peer_id, past.peer.as_deref()), (Some(DeviceId([3; 32])), Some("Übung")));
    assert_eq!((&past.title, past.more_names, &past.paths[..]), (&"data".into(), 2, &["/the/Inbox".into()][..]));
    assert_eq!(past.report.arrived, [""; 0], "where it was to land is not what arrived");
    assert!(matches!(past.report.outcome, Outcome::Failed(Fault::DestinationFull { shortage: None })));
    // SQLite's integers end at half of ours.
    assert_eq!(past.report.counts, Counts { bytes: i64::MAX as u64, failed: 2, ..report(Outcome::Complete, 0).counts });
    assert_eq!(past.report.proven, Some(Proven { files: 5, bytes: 6, took: Duration::from_millis(7) }));
    assert_eq!(
        (past.report.running_for, past.report.limited_by),
        (Duration::from_millis(1_234), Some(Bottleneck::Limit))
    );
    assert_eq!((past.report.reconnected, past.report.limit_bytes_per_s), (2, Some(3_000_000)));
    assert_eq!(past.report.bytes_planned, 11);
    assert!(past.report.ended_at.elapsed().unwrap() < Duration::from_secs(60));
    let details = other.past_details(past.number).unwrap();
    assert_eq!((details.series, details.failures.len()), (series.to_vec(), 2));
    assert_eq!(details.failures[1].path.to_str(), Some("data/1"));
    assert_eq!((past.report.counts.edited, details.edits[0].path.to_str()), (1, Some("data/p2.jpg")));
    assert_eq!((details.edits.len(), details.edits[0].beside.to_str()), (1, Some("p2 (1).jpg")));
}

#[test]
fn what_arrived_is_where_it_lies() {
    let home = Home::new();
    let arrived = (0..100).map(|n| format!("/in/{n}").into()).collect();
    home.keep(Direction::Receiving, "data", &Report { arrived, ..complete() }, &[]);
    let past = home.store.past(&PastQuery::default(), 1).unwrap();
    assert_eq!((past[0].paths.len(), past[0].paths[0].to_str()), (16, Some("/in/0")));
}

#[test]
fn lists_can_be_narrowed_and_read_on() {
    let home = Home::new();
    home.keep(Direction::Sending, "alpha", &complete(), &[]);
    home.keep(Direction::Receiving, "Beta%", &report(Outcome::Partial, 1), &[]);
    home.keep(Direction::Receiving, "gamma", &complete(), &[]);
    let all = PastQuery::default;
    assert_eq!(home.titles(&all()), ["gamma", "Beta%", "alpha"]);
    let received = PastQuery { direction: Some(Direction::Receiving), ..all() };
    assert_eq!(home.titles(&received), ["gamma", "Beta%"]);
    assert_eq!(home.titles(&PastQuery { failed_only: true, ..all() }), ["Beta%"]);
    let last = home.store.past(&all(), 1).unwrap()[0].number;
    assert_eq!(home.titles(&PastQuery { before: Some(last), ..all() }), ["Beta%", "alpha"]);
    let search = |text: &str| home.titles(&PastQuery { search: text.into(), ..all() });
    assert_eq!(search("ALPHA"), ["alpha"]);
    assert_eq!(search("a%"), ["Beta%"]);
    assert_eq!(search("nas.LAN"), ["alpha"]);
    assert_eq!(search("übUNG").len(), 3);
    assert_eq!(search("/the/inbox").len(), 3);
    assert!(search("alpha\nnas").is_empty());
    assert!(search("'; DROP TABLE past; --").is_empty());
}

#[test]
fn what_nobody_answered_is_there_once_until_it_came_and_is_bounded_for_each_device() {
    let home = Home::new();
    let all = PastQuery::default();
    for title in ["photos", "thesis", "photos"] {
        home.unanswered(1, title);
    }
    home.unanswered(2, "photos");
    assert_eq!(home.titles(&all), ["photos", "photos", "thesis"]);
    home.keep_with(Some(1), "photos");
    home.keep_with(Some(2), "thesis");
    assert_eq!(home.titles(&all), ["thesis", "photos", "photos", "thesis"], "another device's stays");
    for title in 0..2 * PAST_UNANSWERED_MAX {
        home.unanswered(1, &title.to_string());
    }
    let kept = home.titles(&all);
    assert_eq!(kept.len() as u32, PAST_UNANSWERED_MAX + 3);
    assert_eq!((kept[0].as_str(), kept[kept.len() - 1].as_str()), ("39", "photos"));
    let missed = &home.store.past(&all, 1).unwrap()[0];
    assert!(matches!(missed.report.outcome, Outcome::Failed(Fault::Unanswered)));
    assert_eq!((missed.report.counts.bytes, missed.report.counts.files), (7, 0));
}

#[test]
fn the_latest_with_each_device_is_found_and_none_with_nobody() {
    let home = Home::new();
    for (device, title) in [(Some(1), "old"), (Some(2), "other"), (None, "never reached"), (Some(1), "new")] {
        home.keep_with(device, title);
    }
    let mut last: Vec<_> = home.store.last_with_each().unwrap().into_iter().map(|past| past.title).collect();
    last.sort();
    assert_eq!(last, ["new", "other"]);
    home.unanswered(1, "nobody was there");
    assert_eq!(home.store.last_with_each().unwrap().len(), 2);
    assert!(home.store.last_with_each().unwrap().iter().all(|past| past.title != "nobody was there"));
}

#[test]
fn what_is_forgotten_is_gone_with_its_failures_and_no_number_comes_again() {
    let home = Home::new();
    home.keep(Direction::Sending, "a", &report(Outcome::Partial, 3), &[]);
    let number = home.store.past(&PastQuery::default(), 1).unwrap()[0].number;
    assert!(home.store.forget_past(number).unwrap());
    assert!(!home.store.forget_past(number).unwrap());
    assert!(home.store.one_past(number).unwrap().is_none());
    assert!(home.store.past_details(number).unwrap().failures.is_empty());
    home.keep(Direction::Sending, "b", &complete(), &[]);
    let next = home.store.past(&PastQuery::default(), 1).unwrap()[0].number;
    assert!(next > number);
    assert_eq!(home.store.forget_past_before(SystemTime::now() - Duration::from_secs(60)).unwrap(), 0);
    assert_eq!(home.store.forget_past_before(SystemTime::now() + Duration::from_secs(60)).unwrap(), 1);
    assert!(home.titles(&PastQuery::default()).is_empty());
}

#[test]
fn a_transfer_is_forgotten_by_its_id_way_and_device() {
    let home = Home::new();
    home.keep(Direction::Sending, "ours", &report(Outcome::Partial, 2), &[]);
    home.keep(Direction::Receiving, "theirs", &complete(), &[]);
    let key = |from: Option<u8>| TransferKey { from: from.map(|from| DeviceId([from; 32])), id: TransferId([9; 16]) };
    assert!(!home.store.forget_past_of(Direction::Receiving, key(Some(4))).unwrap(), "another device's");
    assert!(home.store.forget_past_of(Direction::Sending, key(None)).unwrap());
    assert_eq!(home.titles(&PastQuery::default()), ["theirs"]);
    assert!(home.store.forget_past_of(Direction::Receiving, key(Some(3))).unwrap());
    assert!(home.titles(&PastQuery::default()).is_empty());
}

#[test]
fn what_needs_a_code_is_no_history_but_what_is_repeated_until_something_is_tried_again() {
    let home = Home::new();
    let needs_code = || report(Outcome::Failed(Fault::Auth(AuthError::PairingNeeded { peer_name: "x".into() })), 0);
    let rows = || home.store.with(|connection| connection.query_row("SELECT count(*) FROM past", [], |row| row.get(0)));
    let last = || match home.store.last_started(Direction::Sending).unwrap() {
        LastStarted::Ended(last) => last.past.title.to_string(),
        other => panic!("{other:?}"),
    };
    home.keep(Direction::Sending, "sent", &complete(), &[]);
    let failed = |error: AuthError| report(Outcome::Failed(Fault::Auth(error)), 0);
    let all = [needs_code(), needs_code(), failed(AuthError::WrongCode), failed(AuthError::NoCodeOpen)];
    for (title, ended) in ["asked", "asked again", "mistyped", "too late"].into_iter().zip(&all) {
        home.keep_as(Direction::Sending, title, false, ended, &[]);
        assert_eq!(home.titles(&PastQuery::default()), ["sent"]);
        assert_eq!(last(), title, "not what was sent before that, which may be another device's");
        assert_eq!(home.store.last_with_each().unwrap()[0].title.to_string(), "sent");
    }
    home.keep(Direction::Sending, "with the code", &complete(), &[]);
    assert_eq!(home.titles(&PastQuery::default()), ["with the code", "sent"]);
    assert_eq!((last().as_str(), rows().unwrap()), ("with the code", 2_u32));
    home.keep(Direction::Sending, "forgotten there on the way", &needs_code(), &[]);
    assert_eq!(home.titles(&PastQuery::default()).len(), 3, "something of it had arrived");
}

#[test]
fn what_failed_is_unresolved_until_the_same_came_through() {
    use AfterFailure::{Repeated, Resolved};
    let home = Home::new();
    let keep = |title, outcome: &Outcome| home.keep(Direction::Sending, title, &report(outcome.clone(), 1), &[]);
    let lost = Outcome::Failed(Fault::DestinationGone);
    let unresolved = || home.titles(&PastQuery { unresolved_only: true, ..PastQuery::default() });
    let after = |title: &str| {
        let all = home.store.past_remembered(&PastQuery::default(), 100).unwrap();
        let of = |found: &Remembered| (found.past.title.to_str() == Some(title)).then_some(found.after);
        all.iter().filter_map(of).collect::<Vec<_>>()
    };
    for title in ["lost", "part", "both", "lost"] {
        keep(title, if title == "lost" { &lost } else { &Outcome::Partial });
    }
    keep("stopped", &Outcome::Failed(Fault::cancelled(Side::Here)));
    (0..40).for_each(|_| home.keep(Direction::Sending, "well", &complete(), &[]));
    assert_eq!(unresolved(), ["lost", "both", "part"], "each once, without what a person decided");
    // What is received is something else, although it has the same name.
    home.keep(Direction::Receiving, "part", &complete(), &[]);
    keep("both", &Outcome::Partial);
    assert_eq!(
        (unresolved(), after("both")),
        (vec!["both", "lost", "part"].into_iter().map(str::to_owned).collect(), vec![None, Some(Repeated)])
    );
    keep("both", &Outcome::Complete);
    keep("lost", &Outcome::Failed(Fault::cancelled(Side::Here)));
    assert_eq!(unresolved(), ["lost", "part"]);
    assert_eq!(after("both"), [None, Some(Resolved), Some(Resolved)]);
    // One that was reached only the second time has the target to compare.
    home.store.with(|store| store.execute("UPDATE past SET device = NULL WHERE title = x'6c6f7374'", [])).unwrap();
    keep("lost", &Outcome::Complete);
    assert_eq!(unresolved(), ["part"]);
    assert_eq!(after("lost"), [None, Some(Resolved), Some(Resolved), Some(Resolved)]);
}

#[test]
fn what_a_report_says_of_paths_taken_and_folders_left_behind_is_kept() {
    let home = Home::new();
    let here = PathTaken { tls: TlsPath::Kernel, io: IoPath::Uring };
    let left_behind = Some("/in/.ringway-1".into());
    let told = Report { here: Some(here), left_behind, ..complete() };
    home.keep(Direction::Receiving, "data", &told, &[]);
    let read = |number| home.store.one_past(number).unwrap().unwrap().past.report;
    assert_eq!((read(1).here, read(1).there, read(1).left_behind), (told.here, None, told.left_behind));
    home.store.with(|connection| connection.execute("UPDATE past SET rest = 'x'", [])).unwrap();
    assert_eq!(read(1).here, None);
}

#[test]
fn the_oldest_go_when_there_are_too_many() {
    let home = Home::new();
    let edits = vec![Edit { path: "data/p2.jpg".into(), beside: "p2 (1).jpg".into() }; 1_000];
    home.keep(Direction::Sending, "first", &Report { edits, ..report(Outcome::Partial, 1_001) }, &[]);
    let number = home.store.past(&PastQuery::default(), 1).unwrap()[0].number;
    let details = home.store.past_details(number).unwrap();
    assert_eq!((details.failures.len(), details.edits.len()), (1_000, 100));
    let clones = |table: &str, columns: &str, times: u32| {
        let sql = format!(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {times})
             INSERT INTO {table} ({columns}) SELECT {columns} FROM n, (SELECT * FROM {table} LIMIT 1)"
        );
        home.store.with(|connection| connection.execute(&sql, [])).unwrap();
    };
    clones("past_failure", "past, path, side, operation, reason, errno", PAST_FAILURES_ALL_MAX);
    home.keep(Direction::Sending, "second", &report(Outcome::Partial, 5), &[]);
    let count = |table: &str| {
        let sql = format!("SELECT count(*) FROM {table}");
        home.store.with(|connection| connection.query_row(&sql, [], |row| row.get::<_, u32>(0))).unwrap()
    };
    assert_eq!(count("past_failure"), PAST_FAILURES_ALL_MAX);
    let columns = "transfer, direction, title, more, paths, ended_ms, ending, is_whole, files, folders, links, bytes, \
        unchanged, failed, running_ms, reconnected, series, words";
    clones("past", columns, PAST_MAX);
    home.keep(Direction::Sending, "last", &complete(), &[]);
    assert_eq!(count("past"), PAST_MAX);
    assert!(home.store.one_past(number).unwrap().is_none());
    assert_eq!(home.store.past(&PastQuery::default(), 1).unwrap()[0].title, "last");
}

#[test]
fn what_was_sent_can_be_found_to_be_sent_again() {
    let home = Home::new();
    home.keep(Direction::Sending, "data", &report(Outcome::Partial, 1), &[]);
    let past = home.store.past_sent(TransferId([9; 16])).unwrap().unwrap();
    let resend = past.resend.unwrap();
    assert_eq!((resend.verify, resend.sources.len()), (true, 1));
    assert_eq!(resend.sources[0], Source { path: "/the/Inbox".into(), contents_only: true });
    let wanted = [&patterns()[0], &Pattern::Exclude(br"\!odd".to_vec()), &Pattern::Exclude(br"\#odd".to_vec())];
    let selection = resend.selection;
    assert_eq!(selection.patterns.iter().take(3).collect::<Vec<_>>(), wanted, "they mean the same");
    assert_eq!((&selection.patterns[3..], selection.paths), (&patterns()[3..], None));
    assert!(home.store.past_sent(TransferId([8; 16])).unwrap().is_none());
    // What fits nothing.
    home.keep(Direction::Sending, "data", &complete(), &[]);
    home.store.with(|connection| connection.execute("UPDATE past SET resend = x'000000'", [])).unwrap();
    assert_eq!(home.store.past_sent(TransferId([9; 16])).unwrap().unwrap().resend, None);
}

#[test]
fn what_came_by_the_id_of_what_was_sent_does_not_hide_that() {
    let home = Home::new();
    home.keep(Direction::Sending, "ours", &complete(), &[]);
    home.keep(Direction::Receiving, "theirs", &complete(), &[]);
    home.unanswered(3, "theirs, too");
    let Remembered { past, resend, .. } = home.store.past_sent(TransferId([9; 16])).unwrap().unwrap();
    assert_eq!((past.title.to_str(), past.direction), (Some("ours"), Direction::Sending));
    assert!(resend.is_some());
}

#[test]
fn a_file_of_an_earlier_version_gets_its_columns_and_keeps_what_it_has() {
    let home = Home::new();
    home.keep(Direction::Sending, "early", &complete(), &[]);
    home.store.with(|connection| connection.execute_batch("ALTER TABLE past DROP COLUMN resend")).unwrap();
    let later = Store::open(home.folder.path()).unwrap();
    let [past] = &later.past(&PastQuery::default(), 9).unwrap()[..] else { panic!("not one") };
    let resend = |number| later.one_past(number).unwrap().unwrap().resend;
    assert_eq!((past.title.to_str(), resend(past.number)), (Some("early"), None));
    home.keep(Direction::Sending, "late", &complete(), &[]);
    assert!(resend(later.past(&PastQuery::default(), 1).unwrap()[0].number).is_some());
}

#[test]
fn endings_of_an_earlier_version_are_read_and_new_ones_are_kept() {
    let home = Home::new();
    for (title, old) in [("whole", "00"), ("partial", "01"), ("unanswered", "1d"), ("failed", "0900")] {
        home.keep(Direction::Receiving, title, &complete(), &[]);
        let back = format!(
            "ALTER TABLE past ADD COLUMN old BLOB NOT NULL DEFAULT x'00'; UPDATE past SET old = x'{old}';
             DROP INDEX past_partial; ALTER TABLE past DROP COLUMN ending; ALTER TABLE past RENAME COLUMN old TO ending;"
        );
        home.store.with(|connection| connection.execute_batch(&back)).unwrap();
        let later = Store::open(home.folder.path()).unwrap();
        let outcome = later.past(&PastQuery::default(), 1).unwrap()[0].report.outcome.clone();
        let expected = match title {
            "whole" => matches!(outcome, Outcome::Complete),
            "partial" => matches!(outcome, Outcome::Partial),
            "unanswered" => matches!(outcome, Outcome::Failed(Fault::Unanswered)),
            _ => matches!(outcome, Outcome::Failed(Fault::Other { .. })),
        };
        assert!(expected, "{title}: {outcome:?}");
    }
    home.keep(Direction::Receiving, "new", &report(Outcome::Partial, 1), &[]);
    assert!(matches!(home.store.past(&PastQuery::default(), 1).unwrap()[0].report.outcome, Outcome::Partial));
}

#[test]
fn long_names_in_a_fault_are_bounded_in_the_history() {
    let long = || ringway_model::PathText::from("\u{202e}".repeat(1_300));
    let published = vec![long(); 64];
    let refused = std::io::Error::from_raw_os_error(13).into();
    let fault = Fault::NotPublished { path: long(), operation: Operation::Rename, source: refused, published };
    let text = ending_text(&Outcome::Failed(fault));
    assert!(text.len() <= ENDING_LEN_MAX, "{}", text.len());
    assert!(matches!(Outcome::from_json(&text), Some(Outcome::Failed(Fault::NotPublished { .. }))));
    let endless = Outcome::Failed(Fault::Tls { detail: "\u{202e}".repeat(1 << 20).into() });
    assert!(ending_text(&endless).len() <= ENDING_LEN_MAX);
}

#[test]
fn a_row_that_makes_no_sense_is_passed_over() {
    let home = Home::new();
    home.keep(Direction::Sending, "odd", &complete(), &[]);
    home.store.with(|connection| connection.execute("UPDATE past SET ending = '{}', series = x'ff'", [])).unwrap();
    home.keep(Direction::Sending, "no text", &complete(), &[]);
    let no_text = "UPDATE past SET ending = CAST(x'ff' AS TEXT) WHERE title = CAST('no text' AS BLOB)";
    assert_eq!(home.store.with(|connection| connection.execute(no_text, [])).unwrap(), 1);
    home.keep(Direction::Sending, "good", &complete(), &[]);
    assert_eq!(home.titles(&PastQuery::default()), ["good"]);
}

#[test]
fn damaged_rows_leave_pages_full_and_nothing_behind_them_is_lost() {
    let home = Home::new();
    for title in ["1", "2", "odd 3", "4", "odd 5", "odd 6", "7"] {
        home.keep(Direction::Sending, title, &complete(), &[]);
    }
    let damage = "UPDATE past SET ending = '{}' WHERE instr(title, CAST('odd' AS BLOB))";
    assert_eq!(home.store.with(|connection| connection.execute(damage, [])).unwrap(), 3);
    let mut before = None;
    let mut page = || {
        let page = home.store.past(&PastQuery { before, ..PastQuery::default() }, 2).unwrap();
        before = page.last().map(|past| past.number);
        page.iter().map(|past| past.title.to_string()).collect::<Vec<_>>()
    };
    assert_eq!([page(), page(), page()], [vec!["7", "4"], vec!["2", "1"], vec![]]);
}
