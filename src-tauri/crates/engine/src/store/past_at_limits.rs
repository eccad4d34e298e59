//! A history at its limits, filled by the store's own calls, and how long its questions take: a
//! measurement, by name only (`RINGWAY_HISTORY=FOLDER cargo test --release -p ringway-engine --
//! --ignored a_history_at_its_limits`). The figures lie beside the store in that folder.
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use ringway_model::{
    Bottleneck, Counts, DeviceId, Direction, Failure, FailureReason, Fault, Operation, Outcome, PastQuery, Proven,
    Report, SeriesPoint, Side, Source, TransferId,
};

use super::Store;
use crate::devices::target::Target;
use crate::store::history::{Ended, PAST_FAILURES_ALL_MAX, PAST_MAX, PAST_PATHS_MAX, Record, Resend};
use crate::store::series::SERIES_POINTS_MAX;

/// How often each question is asked; the median is reported.
const ROUNDS: usize = 9;

/// Devices that all of it was with.
const DEVICES: u32 = 20;

fn report(number: u32, failures: u32) -> Report {
    let outcome = match number % 10 {
        0 => Outcome::Failed(Fault::ConnectionLost(std::io::ErrorKind::UnexpectedEof.into())),
        1 => Outcome::Partial,
        _ => Outcome::Complete,
    };
    let failure = |n| Failure {
        path: format!("measurements/2026/run {number}/sensor {n}/raw.dat").into(),
        side: Side::There,
        operation: Operation::Write,
        reason: FailureReason::Os { errno: 28 },
    };
    Report {
        counts: Counts {
            files: 100_000,
            folders: 400,
            links: 3,
            bytes: 10_000_000_000,
            moved: 8,
            unchanged: 1,
            skipped: 2,
            skipped_bytes: 7,
            reused: 9,
            excluded: 9,
            edited: 0,
            acls_lost: 0,
            owners_by_number: 0,
            failed: u64::from(failures),
        },
        proven: Some(Proven { files: 5, bytes: 6, took: Duration::from_millis(7) }),
        failures: (0..failures).map(failure).collect(),
        running_for: Duration::from_secs(60),
        limited_by: Some(Bottleneck::Limit),
        lanes: 1,
        ..Report::new(outcome, SystemTime::now())
    }
}

/// One transfer with all that is kept of one: paths, failures and a course of the greatest length.
fn keep(store: &Arc<Store>, number: u32) {
    let path = |n| PathBuf::from(format!("/home/ada/projects/climate/data sets/run {number}/part {n}"));
    let paths: Vec<_> = (0..PAST_PATHS_MAX).map(path).collect();
    let sources = paths.iter().map(|path| Source { path: path.clone(), contents_only: false }).collect();
    let resend = Some(Resend {
        sources,
        selection: ringway_model::Selection::default(),
        by_list: false,
        verify: false,
        in_share: None,
    });
    let direction = if number.is_multiple_of(2) { Direction::Sending } else { Direction::Receiving };
    let target = (direction == Direction::Sending)
        .then(|| (Target::Device(DeviceId([1; 32])), format!("machine{}.lan", number % DEVICES)));
    let peer = (DeviceId([(number % DEVICES) as u8; 32]), format!("machine {}", number % DEVICES));
    let series: Vec<_> = (1..=SERIES_POINTS_MAX as u64)
        .map(|n| SeriesPoint {
            at: Duration::from_millis(n * 125),
            bytes: n * 20_000_000 + n * n,
            entries: n * 200,
            limited_by: Bottleneck::ALL.get(n as usize % Bottleneck::ALL.len()).copied(),
            reconnected: n as u32 / 48,
        })
        .collect();
    let mut id = [0; 16];
    id[..4].copy_from_slice(&number.to_le_bytes());
    Record { target, paths, resend, ..Record::of(store) }.keep(&Ended {
        id: TransferId(id),
        direction,
        peer: Some(&peer),
        title: &(format!("run {number}").into(), PAST_PATHS_MAX as u64 - 1),
        has_begun: true,
        report: &report(number, PAST_FAILURES_ALL_MAX / PAST_MAX),
        series: &series,
    });
}

fn told<T>(what: &str, ask: impl Fn() -> T) -> String {
    let mut took: Vec<_> = (0..ROUNDS)
        .map(|_| {
            let begun = Instant::now();
            let _ = std::hint::black_box(ask());
            begun.elapsed()
        })
        .collect();
    took.sort();
    format!("{what}: {:.2} ms (first to last {:.2} to {:.2})", ms(took[ROUNDS / 2]), ms(took[0]), ms(took[ROUNDS - 1]))
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[test]
#[ignore = "a measurement: 5,000 transfers, each synchronised to the disk"]
fn a_history_at_its_limits() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = std::env::var_os("RINGWAY_HISTORY").map_or_else(|| scratch.path().to_owned(), PathBuf::from);
    let store = Arc::new(Store::open(&folder).unwrap());
    let begun = Instant::now();
    (0..PAST_MAX).for_each(|number| keep(&store, number));
    let kept_ms = ms(begun.elapsed()) / f64::from(PAST_MAX);
    let bytes = folder.join("ringway.db").metadata().unwrap().len();
    let all = PastQuery::default;
    let search = |text: &str| PastQuery { search: text.to_owned(), ..all() };
    let newest = store.past(&all(), 1).unwrap()[0].number;
    let figures = [
        format!("keeping one: {kept_ms:.2} ms, on average of {PAST_MAX}; the file: {:.1} MB", bytes as f64 / 1e6),
        told("opening it", || Store::open(&folder).unwrap()),
        told("one more, at the limit", || keep(&store, PAST_MAX)),
        told("the latest 30", || store.past(&all(), 30).unwrap()),
        told("the earliest 30", || store.past(&PastQuery { before: Some(newest - 4_900), ..all() }, 30).unwrap()),
        told("the latest 30 that failed", || store.past(&PastQuery { failed_only: true, ..all() }, 30).unwrap()),
        told("the first 30 failures to look at", || {
            store.past(&PastQuery { unresolved_only: true, ..all() }, 30).unwrap()
        }),
        told("all 5,000", || store.past(&all(), PAST_MAX).unwrap()),
        told("a search that finds one, the earliest", || store.past(&search("run 100/part 7"), 30).unwrap()),
        told("a search that finds nothing", || store.past(&search("nowhere"), 30).unwrap()),
        told("a search that finds all", || store.past(&search("machine"), 30).unwrap()),
        told("the details of one", || store.past_details(newest - 4_000).unwrap()),
        told("one by its id", || store.past_sent(TransferId([0xff; 16])).unwrap()),
        told("the latest with each device", || store.last_with_each().unwrap()),
    ];
    std::fs::write(folder.join("figures"), figures.join("\n")).unwrap();
}
