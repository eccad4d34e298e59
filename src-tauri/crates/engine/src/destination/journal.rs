//! Which parts of large files have come, written down as they do, so that the next attempt goes on inside a file, however this one ends.
//!
//! Records are appended after what they tell of is in the file. The journal is not synchronised: it is trusted as far as the files beside it, which is as
//! long as the machine runs.
use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use ringway_sys::attributes::Timestamp;
use ringway_sys::dir::Dir;
use ringway_wire::stretches::Stretches;

use super::landing::Spot;
use super::{FILLING_FILE_MODE, lock};

/// Its name in the staging folder.
pub(super) const JOURNAL: &[u8] = b"journal";

/// Smaller files are sent again: they take less than the listing saves.
pub(super) const SIZE_MIN: u64 = 8 * 1024 * 1024;

/// Bytes of a journal that are read: a million files, or ranges of a terabyte.
const READ_MAX: u64 = 64 * 1024 * 1024;

/// Files remembered from a journal.
const FILES_MAX: usize = 65_536;

const KIND_FILE: u8 = 1;
const KIND_RANGE: u8 = 2;

/// The journal that this attempt writes.
#[derive(Default)]
pub(super) struct Journal {
    /// None where it could not be made, and from the first record on that could not be written whole: what stood behind half of one would be misread.
    /// What is missing is sent again.
    file: Mutex<Option<File>>,
    next: AtomicU32,
}

/// What tells one version of a file from others.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Version {
    pub(super) folder: Box<[u8]>,
    pub(super) name: Box<[u8]>,
    pub(super) size: u64,
    pub(super) mtime: Timestamp,
}

/// A file that an attempt has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Begun {
    /// Where it lies in that attempt's folder: under its own name in the tree, or as a part.
    pub(super) place: Vec<u8>,
    pub(super) has: Stretches,
}

impl Journal {
    pub(super) fn create(staging: &Dir) -> Self {
        let made = staging.create_new(JOURNAL, FILLING_FILE_MODE);
        Self { file: Mutex::new(made.ok().map(File::from)), next: AtomicU32::new(0) }
    }

    /// Notes that a file is begun, with what is there of it; the number that its ranges are noted by. None where it is not worth it, or cannot be.
    pub(super) fn begin(&self, version: &Version, spot: &Spot, lane: &[u8], has: &Stretches) -> Option<u32> {
        let place = match spot {
            Spot::Own => joined(&[b"tree", &version.folder, &version.name]),
            Spot::Part(_, part) => joined(&[lane, part]),
            // In a folder that everybody sees: it goes with this attempt.
            Spot::Beside(_) => return None,
        };
        if version.size < SIZE_MIN {
            return None;
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut record = vec![KIND_FILE];
        record.extend_from_slice(&number.to_le_bytes());
        record.extend_from_slice(&version.size.to_le_bytes());
        record.extend_from_slice(&version.mtime.secs.to_le_bytes());
        record.extend_from_slice(&version.mtime.nanos.to_le_bytes());
        for bytes in [&version.folder[..], &version.name, &place] {
            record.extend_from_slice(&(bytes.len() as u16).to_le_bytes());
            record.extend_from_slice(bytes);
        }
        for stretch in has.iter() {
            record.extend(range_record(number, stretch.start, stretch.end));
        }
        self.append(&record).then_some(number)
    }

    /// Notes that a range of a file is written.
    pub(super) fn range(&self, number: u32, start: u64, end: u64) {
        // One that is missing is sent again.
        let _ = self.append(&range_record(number, start, end));
    }

    fn append(&self, record: &[u8]) -> bool {
        let mut file = lock(&self.file);
        let written = file.as_mut().is_some_and(|file| file.write_all(record).is_ok());
        if !written {
            *file = None;
        }
        written
    }
}

fn range_record(number: u32, start: u64, end: u64) -> [u8; 21] {
    let mut record = [KIND_RANGE; 21];
    record[1..5].copy_from_slice(&number.to_le_bytes());
    record[5..13].copy_from_slice(&start.to_le_bytes());
    record[13..].copy_from_slice(&end.to_le_bytes());
    record
}

fn joined(parts: &[&[u8]]) -> Vec<u8> {
    let parts: Vec<_> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
    parts.join(&b'/')
}

/// Reads what an attempt has written down, up to where it breaks off.
pub(super) fn read(attempt: &Dir) -> HashMap<Version, Begun> {
    let mut bytes = Vec::new();
    // A journal that cannot be read tells nothing.
    let read = attempt.open_read(JOURNAL).and_then(|fd| File::from(fd).take(READ_MAX).read_to_end(&mut bytes));
    match read {
        Ok(_) => parse(&bytes),
        Err(_) => HashMap::new(),
    }
}

fn parse(mut bytes: &[u8]) -> HashMap<Version, Begun> {
    let mut files: HashMap<u32, (Version, Begun)> = HashMap::new();
    while record(&mut bytes, &mut files).is_some() {}
    files.into_values().collect()
}

/// Takes one record in; none at the end, or where it makes no sense.
fn record(bytes: &mut &[u8], files: &mut HashMap<u32, (Version, Begun)>) -> Option<()> {
    let kind = take(bytes, 1)?[0];
    let number = u32::from_le_bytes(array(bytes)?);
    match kind {
        KIND_FILE => {
            let size = u64::from_le_bytes(array(bytes)?);
            let mtime = Timestamp { secs: i64::from_le_bytes(array(bytes)?), nanos: u32::from_le_bytes(array(bytes)?) };
            let mut text = || {
                let len = u16::from_le_bytes(array(bytes)?);
                take(bytes, len.into()).map(<[u8]>::to_vec)
            };
            let (folder, name, place) = (text()?.into(), text()?.into(), text()?);
            if files.len() < FILES_MAX {
                let version = Version { folder, name, size, mtime };
                files.insert(number, (version, Begun { place, has: Stretches::default() }));
            }
        }
        KIND_RANGE => {
            let (start, end) = (u64::from_le_bytes(array(bytes)?), u64::from_le_bytes(array(bytes)?));
            if let Some((version, begun)) = files.get_mut(&number)
                && start < end
                && end <= version.size
            {
                // What was there already stays what it is.
                begun.has.add(start, end);
            }
        }
        _ => return None,
    }
    Some(())
}

fn take<'a>(bytes: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (head, rest) = bytes.split_at_checked(len)?;
    *bytes = rest;
    Some(head)
}

fn array<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    take(bytes, N)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    //! What is written down is read back, however it breaks off.
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn version(name: &[u8], size: u64) -> Version {
        let mtime = Timestamp { secs: -5, nanos: 7 };
        Version { folder: b"a/b".as_slice().into(), name: name.into(), size, mtime }
    }

    #[test]
    fn what_was_written_down_is_read_back_up_to_where_it_breaks_off() {
        let folder = tempfile::tempdir().unwrap();
        let dir = Dir::open(folder.path()).unwrap();
        let journal = Journal::create(&dir);
        let mut had = Stretches::default();
        assert!(had.add(10, 20));
        let large = version(b"large", SIZE_MIN);
        let number = journal.begin(&large, &Spot::Own, b"parts-0", &had).unwrap();
        assert_eq!(journal.begin(&version(b"small", SIZE_MIN - 1), &Spot::Own, b"parts-0", &had), None);
        assert_eq!(journal.begin(&large, &Spot::Beside(b"x".to_vec()), b"parts-0", &had), None);
        journal.range(number, 20, 30);
        journal.range(number, 50, SIZE_MIN);
        let read = read(&dir);
        assert_eq!(read.len(), 1);
        let begun = &read[&large];
        assert_eq!(
            (&*begun.place, begun.has.iter().collect::<Vec<_>>()),
            (&b"tree/a/b/large"[..], vec![10..30, 50..SIZE_MIN])
        );

        let bytes = std::fs::read(folder.path().join("journal")).unwrap();
        let cut = parse(&bytes[..bytes.len() - 1]);
        assert!(cut[&large].has.iter().eq(std::iter::once(10..30)));
        for len in 0..bytes.len() {
            let total = parse(&bytes[..len]).values().map(|begun| begun.has.total()).sum::<u64>();
            assert!(total <= begun.has.total());
        }
    }

    #[test]
    fn nothing_is_written_behind_a_record_that_could_not_be() {
        let folder = tempfile::tempdir().unwrap();
        let dir = Dir::open(folder.path()).unwrap();
        let journal = Journal::create(&dir);
        let large = version(b"large", SIZE_MIN);
        let number = journal.begin(&large, &Spot::Own, b"parts-0", &Stretches::default()).unwrap();
        let path = folder.path().join("journal");
        let whole = lock(&journal.file).replace(File::open(&path).unwrap());
        journal.range(number, 0, 5);
        drop(whole);
        assert!(lock(&journal.file).is_none());
        journal.range(number, 5, 9);
        assert!(read(&dir)[&large].has.is_empty());
    }

    #[test]
    fn without_a_journal_nothing_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let dir = Dir::open(folder.path()).unwrap();
        assert!(read(&dir).is_empty());
        std::fs::create_dir(folder.path().join("journal")).unwrap();
        assert!(read(&dir).is_empty());
        assert_eq!(Journal::create(&dir).begin(&version(b"x", SIZE_MIN), &Spot::Own, b"", &Stretches::default()), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(bytes in vec(0..4u8, 0..400)) {
            for (version, begun) in parse(&bytes) {
                prop_assert!(begun.has.iter().all(|stretch| stretch.end <= version.size));
            }
        }
    }
}
