//! Ends that are no success: cut, cancelled, full, removed; and what stays then.
use super::*;
use crate::bulk::LaneSource;

fn half(site: &Site) -> Lane {
    fs::create_dir_all(site.at("old")).unwrap();
    Lane::default()
        .made("new/shut", 0o000)
        .file("f", b"f")
        .made("new", 0o000)
        .made("old", 0o755)
        .file("whole", b"w")
        .range(0, "old", file("part", 9, 0o644), 0, b"data", RangeStep::More)
        .range(1, "new", file("part", 9, 0o644), 0, b"data", RangeStep::More)
        .flush()
}

#[test]
fn a_cut_leaves_what_is_whole_and_nothing_else() {
    let site = Site::new();
    let lane = half(&site);
    for keep in [0, 1, 15, 16, 40, lane.bytes.len() - 1, lane.bytes.len()] {
        let incoming = site.begin(OnConflict::Replace);
        match incoming.run_lane(&mut Wire::new(lane.bytes[..keep].to_vec()), &mut io(IoMode::Sync)) {
            Err(LaneError::Source(error)) => assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof),
            other => panic!("{other:?}"),
        }
        incoming.abandon().unwrap();
        assert_eq!(site.names(), ["old"]);
    }
    assert_eq!(names_in(&site.at("old")), ["whole"]);
}

#[test]
fn after_finish_fails_everything_staged_can_still_go() {
    let site = Site::new();
    let incoming = site.begin(OnConflict::Replace);
    let (bytes, sent) = half(&site).end();
    incoming.run_lane(&mut Wire::new(bytes), &mut io(IoMode::Sync)).unwrap();
    assert!(matches!(incoming.finish(&sent), Err(FinishError::Protocol(_))));
    incoming.abandon().unwrap();
    assert_eq!(site.names(), ["old"]);
    incoming.abandon().unwrap();
}

#[test]
fn cancelling_ends_lanes_and_forbids_the_receipt() {
    let site = Site::new();
    let incoming = site.begin(OnConflict::Replace);
    let (bytes, sent) = half(&site).end();
    incoming.cancel();
    assert!(matches!(incoming.run_lane(&mut Wire::new(bytes), &mut io(IoMode::Sync)), Err(LaneError::Cancelled)));
    assert!(matches!(incoming.finish(&sent), Err(FinishError::Lane(LaneError::Cancelled))));
    incoming.abandon().unwrap();
    assert_eq!(site.names(), ["old"]);
}

#[test]
fn transfer_that_is_stopped_until_names_are_given_gets_none() {
    let site = Site::new();
    let incoming = site.begin(OnConflict::Replace);
    let (bytes, sent) = Lane::default().made("new", 0o755).file("f", b"f").end();
    incoming.run_lane(&mut Wire::new(bytes), &mut io(IoMode::Sync)).unwrap();
    let finished = incoming.finish_if(&sent, || false);
    assert!(matches!(finished, Err(FinishError::Lane(LaneError::Cancelled))));
    assert!(incoming.cancel(), "no name was given");
    incoming.abandon().unwrap();
    assert!(site.names().is_empty());
}

/// Cancels each time that a name is given to a folder.
#[derive(Default)]
struct Cancelling(Mutex<Option<Arc<Incoming>>>, Mutex<Vec<bool>>);

impl crate::disk::Disk for Cancelling {
    fn rename_noreplace(
        &self,
        from: (&ringway_sys::dir::Dir, &[u8]),
        to: (&ringway_sys::dir::Dir, &[u8]),
    ) -> io::Result<()> {
        let incoming = self.0.lock().clone();
        self.1.lock().extend(incoming.map(|incoming| incoming.cancel()));
        from.0.rename_noreplace(from.1, to.0, to.1)
    }
}

#[test]
fn cancel_is_too_late_once_names_are_given() {
    let (site, disk) = (Site::new(), Arc::new(Cancelling::default()));
    let incoming =
        Incoming::begin_on(site.options(OnConflict::Replace), Arc::clone(&disk) as Arc<dyn crate::disk::Disk>).unwrap();
    let (bytes, sent) = Lane::default().made("a", 0o755).file("f", b"f").made("b", 0o755).file("f", b"f").end();
    incoming.run_lane(&mut Wire::new(bytes), &mut io(IoMode::Sync)).unwrap();
    *disk.0.lock() = Some(Arc::clone(&incoming));
    incoming.finish(&sent).unwrap();
    disk.0.lock().take();
    assert_eq!((site.names(), &**disk.1.lock()), (vec!["a".into(), "b".into()], &[false, false][..]));
}

/// A lane that is cut by a cancel.
struct CutOnRead<'a>(&'a Incoming);

impl LaneSource for CutOnRead<'_> {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.cancel();
        Err(io::ErrorKind::ConnectionReset.into())
    }
}

#[test]
fn a_lane_cut_by_cancelling_says_cancelled() {
    let site = Site::new();
    let incoming = site.begin(OnConflict::Replace);
    let ended = incoming.run_lane(&mut CutOnRead(&incoming), &mut io(IoMode::Sync));
    assert!(matches!(ended, Err(LaneError::Cancelled)));
    incoming.abandon().unwrap();
}

#[test]
fn a_full_disk_ends_the_transfer_and_keeps_what_was_whole() {
    for mode in [IoMode::Sync, IoMode::Auto] {
        let site = Site::new();
        fs::create_dir_all(&site.root).unwrap();
        let Some(_mount) = Mount::tmpfs(&site.root, "size=1m") else { return };
        fs::create_dir_all(site.at("old")).unwrap();
        let chunk = vec![1; 200_000];
        let mut lane = Lane::default().made("old", 0o755).file("first", b"whole").flush().made("new", 0o755);
        for number in 0..10 {
            lane = lane.folder("new").file(&number.to_string(), &chunk);
        }
        let (bytes, _) = lane.end();
        let incoming = site.begin(OnConflict::Replace);
        let ended = incoming.run_lane(&mut Wire::new(bytes.clone()), &mut io(mode));
        assert!(matches!(ended, Err(LaneError::DestinationFull)), "{ended:?}");
        let other = incoming.run_lane(&mut Wire::new(bytes), &mut io(mode));
        assert!(matches!(other, Err(LaneError::DestinationFull)), "{other:?}");
        incoming.abandon().unwrap();
        assert_eq!(site.names(), ["old"]);
        assert_eq!(site.text("old/first"), "whole");
    }
}

#[test]
fn a_full_disk_ends_a_ranged_file_too() {
    let site = Site::new();
    fs::create_dir_all(&site.root).unwrap();
    let Some(_mount) = Mount::tmpfs(&site.root, "size=1m") else { return };
    let big = file("big", 4 << 20, 0o644);
    let mut lane = Lane::default();
    for number in 0..4 {
        lane = lane.range(0, "new", big, number << 20, &vec![1; 1 << 20], RangeStep::More);
    }
    let incoming = site.begin(OnConflict::Replace);
    let ended = incoming.run_lane(&mut Wire::new(lane.end().0), &mut io(IoMode::Auto));
    assert!(matches!(ended, Err(LaneError::DestinationFull)), "{ended:?}");
    incoming.abandon().unwrap();
    assert!(site.names().is_empty());
}

#[test]
fn transfer_that_is_stopped_leaves_the_folders_that_it_made_as_they_were_sent() {
    for on_conflict in [OnConflict::Replace, OnConflict::Keep, OnConflict::RenameTop] {
        let site = Site::new();
        cross(&site.begin(on_conflict), vec![Lane::default().made("top", 0o755).file("old", b"old")]);
        let lane = Lane::default().folder("top").made("top/new", 0o755).file("a", b"a").made("top/closed", 0o555);
        let incoming = site.begin(on_conflict);
        incoming.run_lane(&mut Wire::new(lane.file("b", b"b").end().0), &mut io(IoMode::Sync)).unwrap();
        incoming.abandon().unwrap();
        let mode = |rel: &str| fs::metadata(site.at(rel)).unwrap().permissions().mode() & 0o7777;
        assert_eq!([mode("top/new"), mode("top/closed")], [0o755, 0o555], "{on_conflict:?}");
    }
}

#[test]
fn a_destination_removed_meanwhile_is_said_to_be_gone() {
    let site = Site::new();
    let incoming = site.begin(OnConflict::Replace);
    fs::remove_dir_all(&site.root).unwrap();
    let lane = Lane::default().made("top", 0o755).file("a", b"a");
    let (bytes, sent) = lane.end();
    let ended = incoming.run_lane(&mut Wire::new(bytes), &mut io(IoMode::Sync));
    assert!(matches!(ended, Err(LaneError::DestinationGone)), "{ended:?}");
    assert!(matches!(incoming.finish(&sent), Err(FinishError::Lane(LaneError::DestinationGone))));
    incoming.abandon().unwrap();
}

#[test]
fn destinations_that_cannot_be_are_refused_at_once() {
    let site = Site::new();
    fs::create_dir_all(&site.root).unwrap();
    fs::write(site.at("plain"), "").unwrap();
    for rel in ["plain", "plain/below"] {
        let options = DestinationOptions { destination: site.at(rel), ..site.options(OnConflict::Replace) };
        assert!(matches!(Incoming::begin(options), Err(Fault::Path { .. })), "{rel}");
    }
    let deep = DestinationOptions { destination: site.at("a/b/c"), ..site.options(OnConflict::Replace) };
    Incoming::begin(deep).unwrap().abandon().unwrap();
    assert!(names_in(&site.at("a/b/c")).is_empty());
    let running = site.begin(OnConflict::Replace);
    let beside = site.begin(OnConflict::Replace);
    assert!(Incoming::begin(site.options(OnConflict::Replace)).is_err(), "the same transfer twice");
    running.abandon().unwrap();
    beside.abandon().unwrap();
    assert_eq!(names_in(&site.root), ["a", "plain"]);
}

#[test]
fn failures_are_handed_out_once_and_all_counted() {
    let site = Site::new();
    let incoming = site.begin(OnConflict::Replace);
    let mut lane = Lane::default().folder(".ringway-x");
    for number in 0..12_000 {
        lane = lane.file(&number.to_string(), b"");
        if lane.head.is_empty() {
            lane = lane.folder(".ringway-x");
        }
    }
    let (receipt, _, failures) = cross(&incoming, vec![lane]);
    assert_eq!(failures.len() as u64, ringway_wire::limits::FAILURES_NAMED_MAX);
    assert_eq!((receipt.failed, incoming.results().failed()), (12_000, 12_000));
    assert!(incoming.results().take_failures().is_empty());
}

/// Lets nothing be removed under one name, from its nth removal on.
struct Keeping(&'static [u8], std::sync::atomic::AtomicIsize);

impl crate::disk::Disk for Keeping {
    fn unlink(&self, dir: &ringway_sys::dir::Dir, name: &[u8]) -> io::Result<()> {
        let is_kept = || self.1.fetch_sub(1, std::sync::atomic::Ordering::Relaxed) <= 0;
        if name == self.0 && is_kept() { Err(io::ErrorKind::PermissionDenied.into()) } else { dir.unlink(name) }
    }
}

#[test]
fn receiver_that_cannot_remove_what_it_tries_a_folder_with_says_so() {
    let mut refused = 0;
    for removals in 0..6 {
        let site = Site::new();
        let disk = Keeping(b"probe", removals.into());
        match Incoming::begin_on(site.options(OnConflict::Replace), Arc::new(disk)) {
            Err(Fault::Path { operation, .. }) => {
                assert_eq!(operation, ringway_model::Operation::Remove, "after {removals} removals");
                refused += 1;
            }
            begun => drop(begun.unwrap()),
        }
    }
    assert!(refused > 2, "{refused}");
}
