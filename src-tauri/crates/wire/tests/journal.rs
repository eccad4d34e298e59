//! The contents of a journal are read back, and never more than that, wherever it breaks off or is
//! damaged.
use std::collections::HashMap;

use proptest::collection::vec;
use proptest::prelude::*;
use ringway_wire::journal::{Begun, Recorder, Version, replay};
use ringway_wire::lane::Timestamp;
use ringway_wire::limits::JOURNAL_FILES_MAX;
use ringway_wire::stretches::Stretches;

const SIZE: u64 = 100;

fn version(name: &[u8], nanos: u32) -> Version {
    let mtime = Timestamp { secs: -5, nanos };
    Version { folder: b"a/b".as_slice().into(), name: name.into(), size: SIZE, mtime, stamp: 7 }
}

fn stretches(all: &[(u64, u64)]) -> Stretches {
    let mut stretches = Stretches::default();
    assert!(all.iter().all(|(start, end)| stretches.add(*start, *end)));
    stretches
}

/// A file that was begun, of which no sync covers any part.
fn begun(place: &[u8], has: Stretches) -> Begun {
    Begun { place: place.into(), has, durable: Stretches::default() }
}

/// A journal's bytes, the position at which each record ends, and what is known at each.
#[derive(Debug, Default)]
struct Written {
    recorder: Recorder,
    bytes: Vec<u8>,
    begun: Vec<(Version, Begun)>,
    known: Vec<(usize, HashMap<Version, Begun>)>,
}

impl Written {
    fn begin(&mut self, version: &Version, place: &[u8], has: &Stretches) -> u32 {
        let number = self.recorder.begin(version, place, &Stretches::default(), &mut self.bytes).unwrap();
        assert_eq!(number as usize, self.begun.len());
        self.begun.push((version.clone(), begun(place, Stretches::default())));
        self.know();
        for stretch in has.iter() {
            self.range(number, stretch.start, stretch.end);
        }
        number
    }

    fn range(&mut self, number: u32, start: u64, end: u64) {
        self.recorder.range(number, start, end, &mut self.bytes);
        self.begun[number as usize].1.has.add(start, end);
        self.know();
    }

    /// The files whose places no later file has.
    fn know(&mut self) {
        let is_last = |at: usize, place: &[u8]| self.begun[at + 1..].iter().all(|(_, later)| *later.place != *place);
        let last = self.begun.iter().enumerate().filter(|(at, (_, begun))| is_last(*at, &begun.place));
        self.known.push((self.bytes.len(), last.map(|(_, file)| file.clone()).collect()));
    }

    fn last(&self) -> HashMap<Version, Begun> {
        self.at(self.bytes.len())
    }

    /// What is known from the first `len` bytes.
    fn at(&self, len: usize) -> HashMap<Version, Begun> {
        self.known.iter().rev().find(|(end, _)| *end <= len).map(|(_, known)| known.clone()).unwrap_or_default()
    }
}

#[test]
fn durable_ranges_are_noted_with_their_file() {
    let mut out = Vec::new();
    let has = stretches(&[(0, 10), (20, 30)]);
    let large = version(b"large", 7);
    assert_eq!(Recorder::default().begin(&large, b"tree/a/b/large", &has, &mut out), Some(0));
    let place = b"tree/a/b/large".as_slice().into();
    let noted = replay(&out);
    assert_eq!(noted.begun, HashMap::from([(large, Begun { place, has: has.clone(), durable: has })]));
    assert_eq!((noted.durable_bytes, noted.doubtful_bytes), (20, 0));
}

#[test]
fn a_place_belongs_to_the_last_file_begun_there() {
    let mut written = Written::default();
    let (first, second, place) = (version(b"x", 1), version(b"x", 2), b"tree/x".as_slice());
    let number = written.begin(&first, place, &stretches(&[(0, 50)]));
    written.begin(&second, place, &stretches(&[(0, 5)]));
    // A range that was still being written when the file was given up.
    written.range(number, 60, 70);
    let known = replay(&written.bytes).begun;
    assert_eq!(known, HashMap::from([(second, begun(place, stretches(&[(0, 5)])))]));
    written.begin(&first, place, &Stretches::default());
    assert!(replay(&written.bytes).begun[&first].has.is_empty(), "the same version, begun anew");
}

#[test]
fn records_that_no_reader_accepts_are_not_written() {
    let mut recorder = Recorder::default();
    let mut out = Vec::new();
    let none = Stretches::default();
    let (long, large) = (vec![b'x'; 4096], version(b"large", 7));
    let refused = [
        (version(b"..", 7), b"tree/x".as_slice()),
        (version(b"a/b", 7), b"tree/x"),
        (Version { folder: b"/a".as_slice().into(), ..large.clone() }, b"tree/x"),
        (Version { size: 1 << 63, ..large.clone() }, b"tree/x"),
        (version(b"x", 1_000_000_000), b"tree/x"),
        (large.clone(), b""),
        (large.clone(), b"../x"),
        (large.clone(), &long),
    ];
    assert!(refused.iter().all(|(version, place)| recorder.begin(version, place, &none, &mut out).is_none()));
    assert!(out.is_empty());
    for number in 0..JOURNAL_FILES_MAX {
        let place = format!("parts-0/{number}");
        assert_eq!(recorder.begin(&large, place.as_bytes(), &none, &mut out), Some(number as u32));
    }
    assert_eq!(recorder.begin(&large, b"parts-0/last", &none, &mut out), None);
    assert_eq!(&*replay(&out).begun[&large].place, format!("parts-0/{}", JOURNAL_FILES_MAX - 1).as_bytes());
}

#[test]
fn only_what_a_sync_covers_is_durable() {
    let (mut recorder, mut out) = (Recorder::default(), Vec::new());
    let large = version(b"large", 7);
    let number = recorder.begin(&large, b"tree/large", &Stretches::default(), &mut out).unwrap();
    recorder.range(number, 0, 10, &mut out);
    recorder.whole(&[1, 2], 100, false, &mut out);
    let found = replay(&out);
    assert_eq!((found.durable_bytes, found.doubtful_bytes), (0, 110), "nothing is before the first sync");
    assert!(found.begun[&large].durable.is_empty() && found.durable.is_empty());
    let covered = out.len() as u64;
    recorder.range(number, 20, 30, &mut out);
    recorder.whole(&[3], 5, false, &mut out);
    // From an earlier attempt, in which a sync covered it.
    recorder.whole(&[4], 7, true, &mut out);
    recorder.synced(covered, &mut out);
    recorder.whole(&[5], 11, false, &mut out);
    let found = replay(&out);
    assert_eq!(found.begun[&large].has, stretches(&[(0, 10), (20, 30)]));
    assert_eq!(found.begun[&large].durable, stretches(&[(0, 10)]));
    assert_eq!(found.durable, [1, 2, 4].into());
    assert_eq!((found.durable_bytes, found.doubtful_bytes), (117, 26));
    // A sync that claims to cover more than there was when it was written.
    recorder.synced(u64::MAX, &mut out);
    recorder.whole(&[6], 1, false, &mut out);
    assert_eq!(replay(&out).durable, (1..=5).collect());
}

/// Files that are begun, and ranges of those begun before, at few places.
fn journals() -> impl Strategy<Value = Written> {
    vec((0..8u8, 0..4u8, 0..SIZE, 1..SIZE), 0..12).prop_map(|steps| {
        let mut written = Written::default();
        for (choice, which, start, len) in steps {
            if usize::from(choice) < written.begun.len() {
                written.range(choice.into(), start, (start + len).min(SIZE));
            } else {
                written.begin(&version(b"x", u32::from(choice) % 3), &[b'p' + which], &Stretches::default());
            }
        }
        written
    })
}

proptest! {
    #[test]
    fn a_journal_is_read_up_to_where_it_breaks_off(written in journals(), junk in vec(any::<u8>(), 0..40)) {
        for len in 0..=written.bytes.len() {
            prop_assert_eq!(replay(&written.bytes[..len]).begun, written.at(len), "at {}", len);
        }
        let followed = [&written.bytes[..], &junk].concat();
        prop_assert_eq!(replay(&followed).begun, written.last());
    }

    #[test]
    fn nothing_after_a_damaged_record_is_believed(written in journals(), at in any::<prop::sample::Index>(), xor in 1..=255u8) {
        prop_assume!(!written.bytes.is_empty());
        let mut damaged = written.bytes.clone();
        let at = at.index(damaged.len());
        damaged[at] ^= xor;
        prop_assert_eq!(replay(&damaged).begun, written.at(at));
        let (before, after) = written.bytes.split_at(at);
        let missing = [before, &after[1..]].concat();
        if let Some(same) = after.windows(2).position(|pair| pair[0] != pair[1]) {
            // If records have equal bytes, removing one of them equals removing the last.
            prop_assert_eq!(replay(&missing).begun, written.at(at + same));
        }
    }

    #[test]
    fn any_bytes_are_read_without_harm(bytes in vec(0..4u8, 0..400)) {
        for (version, begun) in replay(&bytes).begun {
            prop_assert!(begun.has.iter().all(|stretch| stretch.end <= version.size));
        }
    }
}
