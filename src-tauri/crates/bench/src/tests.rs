//! Every mode on tiny files: exactly the right bytes arrive, unavailable modes are named, and
//! nothing stays behind.
use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ringway_model::{Fault, Operation, Side};
use ringway_tree::bulk::{LaneSink, LaneSource};

use crate::bench::Bench;
use crate::data::Data;
use crate::loopback::{End, Wire};
use crate::meter::{Counting, Round};
use crate::work::Work;
use crate::*;

fn options(base: &Path) -> ModesOptions {
    ModesOptions {
        folder: Some(base.to_owned()),
        // More small files than one folder has, and a length above a piece that is no multiple of
        // one.
        sizes: Sizes { small_files: 1_003, medium_files: 7, huge_bytes: 2 * data::PIECE as u64 + 12_345 },
        lanes: vec![1, 3],
        rounds: 1,
        ..ModesOptions::default()
    }
}

fn run_all(options: &ModesOptions, stop: &AtomicBool) -> (Result<(), Fault>, Vec<ModesEvent>) {
    let mut events = Vec::new();
    let ended = run(options, stop, &mut |event| events.push(event));
    (ended, events)
}

fn rows(events: Vec<ModesEvent>) -> Vec<Row> {
    events.into_iter().filter_map(|event| if let ModesEvent::Row(row) = event { Some(row) } else { None }).collect()
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().next().is_none()
}

#[test]
fn every_mode_delivers_exact_bytes_or_names_what_is_missing() {
    let base = tempfile::tempdir().unwrap();
    let options = options(base.path());
    let (ended, events) = run_all(&options, &AtomicBool::new(false));
    ended.unwrap();
    let Some(ModesEvent::Began(conditions)) = events.first() else { panic!("{:?}", events.first()) };
    let (no_kernel_tls, no_io_uring) = (conditions.no_kernel_tls, conditions.no_io_uring);
    assert!(conditions.folder.starts_with(base.path()) && !conditions.folder.exists());
    let rows = rows(events);
    let planned: usize = Dataset::ALL.iter().map(|dataset| plan::modes(&options, *dataset).len()).sum();
    assert_eq!(rows.len(), 2 * planned);
    for row in &rows {
        let (files, len) = options.sizes.of(row.dataset);
        assert_eq!((row.files, row.bytes), (files, files * len));
        match (&row.measured, plan::unavailable(row.mode)) {
            (Ok(figures), None) => {
                assert!(figures.sender.is_some() || figures.receiver.is_some(), "{row:?}");
                assert!(figures.wall_min <= figures.wall && figures.wall <= figures.wall_max, "{row:?}");
                assert_eq!(figures.slowest_layer.is_none(), matches!(row.mode, Mode::Layer(_)), "{row:?}");
            }
            (Err(why), Some(wanted)) => assert_eq!(*why, wanted),
            (found, wanted) => panic!("{:?} x{}: {found:?}, {wanted:?}", row.mode, row.lanes),
        }
    }
    let skipped = |wanted: &NotMeasured| rows.iter().filter(|row| row.measured.as_ref() == Err(wanted)).count();
    if let Some(reason) = no_kernel_tls {
        assert_ne!(skipped(&NotMeasured::KernelTls(reason)), 0);
        println!("skipped: kernel TLS of every_mode_delivers_exact_bytes_or_names_what_is_missing: {reason:?}");
    }
    if let Some(reason) = no_io_uring {
        println!("skipped: io_uring of every_mode_delivers_exact_bytes_or_names_what_is_missing: {reason:?}");
    }
    assert!(is_empty(base.path()));
}

/// Runs a single mode once, with its proof.
fn once(base: &Path, mode: Mode, spoil: impl Fn(&Path)) -> Result<Round, NotMeasured> {
    let options = options(base);
    let stop = AtomicBool::new(false);
    let work = Work::begin(&options).unwrap();
    let root = work.path().join("data");
    let data = Data::make(&root, Dataset::Medium, 3, 40_000, &stop).unwrap();
    spoil(&root);
    let bench =
        Bench { options: &options, wire: Wire::new().unwrap(), work: &work, counting: Counting::Clock, stop: &stop };
    bench.run_once(mode, &data, 1, true)
}

#[test]
fn an_altered_byte_is_detected() {
    let base = tempfile::tempdir().unwrap();
    let mover = Mode::Mover { out: Outward::ReadSend, into: Inward::ReceiveWrite, cipher: Cipher::User };
    let transfer = Mode::Transfer { cipher: Cipher::Plaintext, read: Calls::Plain, write: Calls::Plain };
    for mode in [mover, transfer, Mode::Layer(Layer::Read(Calls::Plain))] {
        assert!(once(base.path(), mode, |_| {}).is_ok(), "{mode:?}");
        let spoilt = once(base.path(), mode, |root| {
            let file = root.join("d0000/f0000002");
            let mut bytes = fs::read(&file).unwrap();
            bytes[39_999] ^= 1;
            fs::write(&file, bytes).unwrap();
        });
        assert!(matches!(spoilt, Err(NotMeasured::Differs)), "{mode:?}: {spoilt:?}");
    }
}

#[test]
fn a_mode_that_fails_says_why_and_does_not_hang() {
    let base = tempfile::tempdir().unwrap();
    let movers = Mode::Mover { out: Outward::SendFile, into: Inward::Splice, cipher: Cipher::Plaintext };
    let short = |root: &Path| fs::write(root.join("d0000/f0000001"), "short").unwrap();
    let failed = once(base.path(), movers, short);
    assert!(matches!(&failed, Err(NotMeasured::Failed(_))), "{failed:?}");
    let gone = |root: &Path| fs::remove_file(root.join("d0000/f0000001")).unwrap();
    let read = once(base.path(), Mode::Layer(Layer::Read(Calls::Plain)), gone);
    assert!(matches!(&read, Err(NotMeasured::Failed(_))), "{read:?}");
    // The kernel cannot move bytes that are encrypted in userspace.
    let impossible = Mode::Mover { out: Outward::SendFile, into: Inward::ReceiveWrite, cipher: Cipher::User };
    let refused = once(base.path(), impossible, |_| {});
    assert!(matches!(&refused, Err(NotMeasured::Failed(_))), "{refused:?}");
    assert!(is_empty(base.path()));
}

#[test]
fn stopping_ends_a_measurement_soon_and_leaves_nothing() {
    let base = tempfile::tempdir().unwrap();
    let moments: [fn(&ModesEvent) -> bool; 3] = [
        |event| matches!(event, ModesEvent::Began(_)),
        |event| matches!(event, ModesEvent::Making { .. }),
        |event| matches!(event, ModesEvent::Round { round: 1, .. }),
    ];
    for is_moment in moments {
        let options = ModesOptions { rounds: 1_000, ..options(base.path()) };
        let (stop, mut stopped) = (AtomicBool::new(false), None);
        let ended = run(&options, &stop, &mut |event| {
            if is_moment(&event) {
                stop.store(true, Ordering::Relaxed);
                stopped = Some(Instant::now());
            }
        });
        assert!(matches!(ended, Err(Fault::Cancelled { by: Side::Here, .. })), "{ended:?}");
        assert!(stopped.unwrap().elapsed() < Duration::from_secs(20));
        assert!(is_empty(base.path()));
    }
}

#[test]
fn stopping_in_the_middle_of_a_mode_ends_both_ends() {
    let base = tempfile::tempdir().unwrap();
    for part in Part::ALL {
        let options = ModesOptions {
            parts: vec![part],
            datasets: vec![Dataset::Huge],
            sizes: Sizes { huge_bytes: 48 << 20, ..Sizes::default() },
            rounds: 1_000,
            ..options(base.path())
        };
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let ended = scope.spawn(|| run(&options, &stop, &mut |_| {}));
            std::thread::sleep(Duration::from_millis(300));
            stop.store(true, Ordering::Relaxed);
            let asked = Instant::now();
            let ended = ended.join().unwrap();
            assert!(matches!(ended, Err(Fault::Cancelled { by: Side::Here, .. })), "{ended:?}");
            assert!(asked.elapsed() < Duration::from_secs(20), "{part:?}");
        });
        assert!(is_empty(base.path()));
    }
}

#[test]
fn impossible_options_are_refused_before_anything_is_made() {
    let base = tempfile::tempdir().unwrap();
    let good = options(base.path());
    let sizes = |sizes| ModesOptions { sizes, ..good.clone() };
    for bad in [
        ModesOptions { lanes: vec![], ..good.clone() },
        ModesOptions { lanes: vec![0], ..good.clone() },
        ModesOptions { lanes: vec![17], ..good.clone() },
        ModesOptions { rounds: 0, ..good.clone() },
        ModesOptions { rounds: 1_001, ..good.clone() },
        ModesOptions { datasets: vec![], ..good.clone() },
        ModesOptions { parts: vec![], ..good.clone() },
        ModesOptions { ciphers: vec![], ..good.clone() },
        sizes(Sizes { small_files: 0, ..good.sizes }),
        sizes(Sizes { medium_files: 2_000_000, ..good.sizes }),
        sizes(Sizes { huge_bytes: u64::MAX, ..good.sizes }),
    ] {
        let (ended, events) = run_all(&bad, &AtomicBool::new(false));
        assert!(matches!(ended, Err(Fault::Invalid(_))) && events.is_empty(), "{bad:?}: {ended:?}");
    }
    let (ended, _) =
        run_all(&ModesOptions { folder: Some(base.path().join("nowhere")), ..good.clone() }, &AtomicBool::new(false));
    assert!(matches!(ended, Err(Fault::Path { operation: Operation::Open, .. })), "{ended:?}");
    let vast = sizes(Sizes { huge_bytes: 64 << 30, medium_files: 1_000_000, small_files: 1_000_000 });
    if let (Err(ended), events) = run_all(&vast, &AtomicBool::new(true)) {
        let full = matches!(&ended, Fault::Path { source, .. } if source.kind() == io::ErrorKind::StorageFull);
        assert!(full && events.is_empty() || matches!(ended, Fault::Cancelled { .. }), "{ended:?}");
    }
    assert!(is_empty(base.path()));
}

#[test]
fn connections_stay_within_this_process_and_machine() {
    let wire = Wire::new().unwrap();
    let (mut near, mut far) = wire.connect(Cipher::Plaintext).unwrap();
    {
        let (near, far) = (near.socket().unwrap(), far.socket().unwrap());
        assert!(near.peer_addr().unwrap().ip().is_loopback() && far.peer_addr().unwrap().ip().is_loopback());
        assert_eq!(near.local_addr().unwrap(), far.peer_addr().unwrap());
        assert_eq!(far.local_addr().unwrap(), near.peer_addr().unwrap());
    }
    near.send(b"head", b"er ", b"and body").unwrap();
    near.close().unwrap();
    let mut found = [0; 15];
    far.fill(&mut found).unwrap();
    assert_eq!(&found, b"header and body");
    assert_eq!(far.read(&mut found).unwrap(), 0, "a proper end");
    let (near, _far) = wire.connect(Cipher::User).unwrap();
    assert!(matches!(near, End::Tls(_)) && near.socket().is_err());
}
