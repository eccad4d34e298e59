//! What had landed in a receiver that was killed, as the next one knows it.
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, Ordering};

use ringway_model::DeviceId;

use super::*;
use crate::receive::{Recall, SealKey, Whose, discard, restore_all};

const UPDATE: OnConflict = OnConflict::RenameTop;
const WHOSE: Whose = Whose { device: DeviceId([1; 32]), pairing: 2 };

/// A destination with a store that knows of a pairing, until it is forgotten.
struct Known {
    site: Site,
    is_forgotten: Arc<AtomicBool>,
    is_locked: Arc<AtomicBool>,
}

fn entry(name: &'static str, contents: &[u8], version: i64) -> Entry<'static> {
    let entry = file(name, contents.len(), 0o644);
    Entry { attributes: Attributes { mtime: Timestamp { secs: version, nanos: 0 }, ..entry.attributes }, ..entry }
}

fn text(version: i64) -> &'static [u8] {
    [&b"first"[..], b"second, longer", b"third"][version as usize - 1]
}

impl Known {
    /// An album was received.
    fn received() -> Self {
        let known = Self { site: Site::new(), is_forgotten: Arc::default(), is_locked: Arc::default() };
        known.receive(1);
        known
    }

    fn recall(&self) -> Recall {
        let brought = Arc::clone(&self.site.brought);
        let (is_forgotten, is_locked) = (Arc::clone(&self.is_forgotten), Arc::clone(&self.is_locked));
        let add = move |whose, found: Vec<crate::receive::Recalled>| {
            assert_eq!(whose, WHOSE);
            if is_locked.load(Ordering::Relaxed) {
                return false;
            }
            let mut brought = brought.lock();
            for one in found.iter().filter(|_| !is_forgotten.load(Ordering::Relaxed)) {
                let after = one.added_to(brought.get(one.top()).cloned());
                after.into_iter().for_each(|after| drop(brought.insert(one.top().to_vec(), after)));
            }
            true
        };
        Recall { key: SealKey::new([3; 32].into()), add: Box::new(add) }
    }

    fn options(&self) -> DestinationOptions {
        let recall = Some(Arc::new(self.recall()));
        DestinationOptions { whose: Some(WHOSE), recall, ..self.site.options(UPDATE) }
    }

    fn lane(version: i64) -> Lane {
        let file = |lane: Lane, name| lane.entry(&entry(name, text(version), version), text(version));
        let lane = file(file(Lane::default().made("album", 0o755), "a"), "b");
        file(file(lane.made("album/sub", 0o755), "c").folder(""), "top")
    }

    fn receive(&self, version: i64) -> usize {
        let (_, edits, failures) = self.site.receive(self.options(), vec![Self::lane(version)]);
        assert_eq!(failures, []);
        edits.len()
    }

    /// Begins to receive a version, and is killed.
    fn killed(&self, version: i64) {
        let incoming = Incoming::begin(self.options()).unwrap();
        let cut = incoming.run_lane(&mut Wire::new(Self::lane(version).flush().bytes), &mut io(IoMode::Sync));
        assert!(matches!(cut, Err(LaneError::Source(_))));
        assert_eq!(fs::read(self.site.at("album/a")).unwrap(), text(version));
    }

    fn staging(&self) -> PathBuf {
        let name = self.site.names().into_iter().find(|name| name.starts_with(".ringway-"));
        self.site.at(&name.expect("a staging folder is left"))
    }

    fn log(&self) -> PathBuf {
        let is_log = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("landed-");
        fs::read_dir(self.staging()).unwrap().map(|entry| entry.unwrap().path()).find(is_log).expect("there is a log")
    }

    fn check(&self, version: i64, names: &[&str]) {
        for path in ["album/a", "album/b", "album/sub/c", "top"] {
            assert_eq!(fs::read(self.site.at(path)).unwrap(), text(version), "{path}");
        }
        assert_eq!(
            (self.site.names(), names_in(&self.site.at("album"))),
            (vec!["album".into(), "top".into()], names.iter().map(|name| (*name).to_owned()).collect())
        );
    }
}

#[test]
fn what_had_landed_when_a_receiver_was_killed_is_updated_by_the_next_attempt() {
    let known = Known::received();
    known.killed(2);
    assert_eq!(known.receive(3), 0);
    known.check(3, &["a", "b", "sub"]);
    assert_eq!(known.receive(1), 0);
    known.check(1, &["a", "b", "sub"]);
}

#[test]
fn it_is_known_once_a_receiver_listens_and_to_read_it_again_changes_nothing() {
    let known = Known::received();
    known.killed(2);
    let log = known.log();
    let kept = fs::read(&log).unwrap();
    restore_all(&known.site.root, Some(&known.recall()));
    assert!(!log.exists(), "the store has it");
    let before = known.site.brought.lock().clone();
    fs::write(&log, kept).unwrap();
    restore_all(&known.site.root, Some(&known.recall()));
    assert!(!log.exists() && *known.site.brought.lock() == before);
    fs::remove_dir_all(known.staging()).unwrap();
    assert_eq!(known.receive(3), 0);
    known.check(3, &["a", "b", "sub"]);
}

#[test]
fn it_is_known_if_the_staging_folder_is_discarded() {
    let known = Known::received();
    known.killed(2);
    let id = known.staging().file_name().unwrap().to_str().unwrap().trim_start_matches(".ringway-").to_owned();
    assert!(discard(&known.site.root, &id, Some(&known.recall())).unwrap());
    assert_eq!(known.receive(3), 0);
    known.check(3, &["a", "b", "sub"]);
}

#[test]
fn a_store_that_is_locked_is_asked_again_by_the_next_attempt() {
    let known = Known::received();
    known.killed(2);
    known.is_locked.store(true, Ordering::Relaxed);
    restore_all(&known.site.root, Some(&known.recall()));
    assert!(known.log().exists());
    known.is_locked.store(false, Ordering::Relaxed);
    assert_eq!(known.receive(3), 0);
    known.check(3, &["a", "b", "sub"]);
}

#[test]
fn nothing_is_known_of_a_device_that_was_forgotten_or_in_a_folder_that_its_owner_made() {
    let known = Known::received();
    known.killed(2);
    known.is_forgotten.store(true, Ordering::Relaxed);
    restore_all(&known.site.root, Some(&known.recall()));
    known.is_forgotten.store(false, Ordering::Relaxed);
    known.receive(3);
    assert_eq!(known.site.text("album/a").as_bytes(), text(2));

    let known = Known::received();
    known.killed(2);
    fs::rename(known.site.at("album"), known.site.at("moved")).unwrap();
    fs::create_dir(known.site.at("album")).unwrap();
    fs::rename(known.site.at("moved/a"), known.site.at("album/a")).unwrap();
    known.receive(3);
    assert_eq!(known.site.text("album/a").as_bytes(), text(2), "its owner's folder");
    assert_eq!(known.site.text("album (1)/a").as_bytes(), text(3));
}

#[test]
fn whatever_its_owner_does_to_a_file_after_the_kill_the_file_stays() {
    type Does = fn(&Known);
    let times = |path: &Path| {
        let was = fs::metadata(path).unwrap();
        std::time::UNIX_EPOCH + std::time::Duration::new(was.mtime().unsigned_abs(), was.mtime_nsec() as u32)
    };
    let cases: [(&str, Does, &[u8]); 6] = [
        ("edited", |known| fs::write(known.site.at("album/a"), "mine").unwrap(), b"mine"),
        (
            "made anew",
            |known| {
                fs::remove_file(known.site.at("album/a")).unwrap();
                fs::write(known.site.at("album/a"), "mine").unwrap();
            },
            b"mine",
        ),
        (
            "moved over",
            |known| fs::rename(known.site.at("album/b"), known.site.at("album/a")).unwrap(),
            b"second, longer",
        ),
        (
            "copied over",
            |known| {
                fs::copy(known.site.at("album/b"), known.site.at("album/new")).unwrap();
                fs::rename(known.site.at("album/new"), known.site.at("album/a")).unwrap();
            },
            b"second, longer",
        ),
        ("linked", |known| fs::hard_link(known.site.at("album/a"), known.site.at("mine")).unwrap(), b"second, longer"),
        (
            "chmod",
            |known| {
                let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
                fs::set_permissions(known.site.at("album/a"), mode).unwrap();
            },
            b"second, longer",
        ),
    ];
    for (what, does, contents) in cases {
        for sets_time in [false, true] {
            let known = Known::received();
            known.killed(2);
            let (a, was) = (known.site.at("album/a"), times(&known.site.at("album/a")));
            does(&known);
            if sets_time {
                fs::File::options().write(true).open(&a).unwrap().set_modified(was).unwrap();
            }
            assert_eq!(known.receive(3), 1, "{what}");
            assert_eq!(fs::read(&a).unwrap(), contents, "{what}");
            assert_eq!(known.site.text("album/a (1)").as_bytes(), text(3), "{what}");
        }
    }
}

#[test]
fn a_log_that_was_damaged_or_that_nobody_here_sealed_makes_no_file_the_devices() {
    for damage in [
        |log: &mut Vec<u8>| log.truncate(60),
        |log: &mut Vec<u8>| log[70] ^= 1,
        |log: &mut Vec<u8>| log.fill(0),
        |log: &mut Vec<u8>| {
            // As another store has sealed it.
            log[5..20].fill(7);
        },
    ] {
        let known = Known::received();
        known.killed(2);
        let mut log = fs::read(known.log()).unwrap();
        damage(&mut log);
        fs::write(known.log(), log).unwrap();
        known.receive(3);
        assert_eq!(known.site.text("album/a").as_bytes(), text(2));
        assert_eq!(known.site.text("album/a (1)").as_bytes(), text(3));
    }
}

#[test]
fn other_name_of_a_file_that_was_replaced_before_a_kill_is_no_edit() {
    let known = Known::received();
    let lane = Lane::default().made("one", 0o755).entry(&linked("a", 3, 5), b"old");
    let lane = lane.made("two", 0o755).entry(&hard_link("b", 5, true), b"");
    known.site.receive(known.options(), vec![lane]);
    let version = |folder, name| Lane::default().folder(folder).entry(&entry(name, text(2), 2), text(2));
    let incoming = Incoming::begin(known.options()).unwrap();
    let cut = incoming.run_lane(&mut Wire::new(version("one", "a").flush().bytes), &mut io(IoMode::Sync));
    assert!(matches!(cut, Err(LaneError::Source(_))));
    drop(incoming);
    let (_, edits, failures) = known.site.receive(known.options(), vec![version("two", "b")]);
    assert_eq!((edits, failures), (vec![], vec![]));
    for path in ["one/a", "two/b"] {
        assert_eq!(known.site.text(path).as_bytes(), text(2), "{path}");
    }
}

#[test]
fn receiver_with_another_store_leaves_what_a_killed_one_has_left() {
    let known = Known::received();
    known.killed(2);
    let log = known.log();
    let recall = Some(Arc::new(Recall { key: SealKey::new([4; 32].into()), add: Box::new(|_, _| true) }));
    let options = DestinationOptions { brought_before: Box::new(|_| None), announce: None, recall, ..known.options() };
    let incoming = Incoming::begin(options).unwrap();
    let (receipt, ..) = cross(&incoming, vec![Known::lane(3)]);
    assert_eq!((receipt.there.files, receipt.unchanged), (4, 0));
    assert!(log.exists());
    assert_eq!(known.receive(3), 0);
    for path in ["album/a", "album/b", "album/sub/c", "top"] {
        assert_eq!(known.site.text(path).as_bytes(), text(3), "{path}");
    }
}
