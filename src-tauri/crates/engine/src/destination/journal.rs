//! Keeps the journal of an attempt in its staging folder, so that the next one goes on inside large files, however this one ends. What its bytes mean is
//! wire's business.
//!
//! Records are appended after what they tell of is in the file. The journal is not synchronised: it is trusted as far as the files beside it, which is as
//! long as the machine runs.
use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Write};
use std::sync::Mutex;

use ringway_sys::dir::Dir;
use ringway_wire::journal::{Begun, Recorder, Version, replay};
use ringway_wire::resume::{JOURNAL, NOTED_SIZE_MIN, TREE};
use ringway_wire::stretches::Stretches;

use super::landing::Spot;
use super::{FILLING_FILE_MODE, lock};

/// Bytes of journals that are read, all earlier attempts' together: more than a terabyte's ranges take. Read, they take about twice as much memory.
pub(super) const READ_MAX: u64 = 32 * 1024 * 1024;

/// The journal that this attempt writes. None where it could not be made, and from the first record on that could not be written whole, for what stood
/// behind half of one would not be read. What is missing is sent again.
#[derive(Default)]
pub(super) struct Journal(Mutex<Option<(File, Recorder)>>);

impl Journal {
    pub(super) fn create(staging: &Dir) -> Self {
        let made = staging.create_new(JOURNAL, FILLING_FILE_MODE);
        Self(Mutex::new(made.ok().map(|file| (File::from(file), Recorder::default()))))
    }

    /// Notes that a file is begun, with what is there of it; the number that its ranges are noted by. None where it is not worth it, or cannot be.
    pub(super) fn begin(&self, version: &Version, spot: &Spot, lane: &[u8], has: &Stretches) -> Option<u32> {
        let place = match spot {
            Spot::Own => joined(&[TREE, &version.folder, &version.name]),
            Spot::Part(_, part) => joined(&[lane, part]),
            // In a folder that everybody sees: it goes with this attempt.
            Spot::Beside(_) => return None,
        };
        if version.size < NOTED_SIZE_MIN {
            return None;
        }
        self.append(|recorder, record| recorder.begin(version, &place, has, record)).flatten()
    }

    /// Notes that a range of a file is written.
    pub(super) fn range(&self, number: u32, start: u64, end: u64) {
        // One that is missing is sent again.
        let _ = self.append(|recorder, record| recorder.range(number, start, end, record));
    }

    /// As if a record could not be written.
    #[cfg(test)]
    pub(super) fn break_off(&self) {
        *lock(&self.0) = None;
    }

    fn append<T>(&self, record: impl FnOnce(&mut Recorder, &mut Vec<u8>) -> T) -> Option<T> {
        let mut journal = lock(&self.0);
        let (file, recorder) = journal.as_mut()?;
        let mut bytes = Vec::with_capacity(32);
        let recorded = record(recorder, &mut bytes);
        match file.write_all(&bytes) {
            Ok(()) => Some(recorded),
            Err(_) => {
                *journal = None;
                None
            }
        }
    }
}

fn joined(parts: &[&[u8]]) -> Vec<u8> {
    let parts: Vec<_> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
    parts.join(&b'/')
}

/// Reads what an attempt has written down, up to where it breaks off, or `left` bytes are read; those are taken off it.
pub(super) fn read(attempt: &Dir, left: &mut u64) -> HashMap<Version, Begun> {
    let mut bytes = Vec::new();
    // A journal that cannot be read tells nothing.
    let read = attempt.open_read(JOURNAL).and_then(|fd| File::from(fd).take(*left).read_to_end(&mut bytes));
    *left -= bytes.len() as u64;
    match read {
        Ok(_) => replay(&bytes),
        Err(_) => HashMap::new(),
    }
}

#[cfg(test)]
mod tests {
    //! What is written down is read back; what cannot be is done without.
    use ringway_wire::lane::Timestamp;

    use super::*;

    fn version(name: &[u8], size: u64) -> Version {
        let mtime = Timestamp { secs: -5, nanos: 7 };
        Version { folder: b"a/b".as_slice().into(), name: name.into(), size, mtime }
    }

    fn read_all(dir: &Dir) -> HashMap<Version, Begun> {
        let mut left = READ_MAX;
        read(dir, &mut left)
    }

    #[test]
    fn no_more_is_read_than_is_left_to_be() {
        let folder = tempfile::tempdir().unwrap();
        let dir = Dir::open(folder.path()).unwrap();
        let journal = Journal::create(&dir);
        let large = version(b"large", NOTED_SIZE_MIN);
        let number = journal.begin(&large, &Spot::Own, b"parts-0", &Stretches::default()).unwrap();
        let noted = dir.metadata(JOURNAL).unwrap().size;
        (0..9).for_each(|at| journal.range(number, at * 10, at * 10 + 5));
        let mut left = noted + 60;
        assert_eq!(read(&dir, &mut left)[&large].has.len(), 2, "as many as are whole");
        assert_eq!(left, 0);
        assert!(read(&dir, &mut left).is_empty());
    }

    #[test]
    fn what_was_written_down_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let dir = Dir::open(folder.path()).unwrap();
        let journal = Journal::create(&dir);
        let mut had = Stretches::default();
        assert!(had.add(10, 20));
        let large = version(b"large", NOTED_SIZE_MIN);
        let number = journal.begin(&large, &Spot::Own, b"parts-0", &had).unwrap();
        assert_eq!(journal.begin(&version(b"small", NOTED_SIZE_MIN - 1), &Spot::Own, b"parts-0", &had), None);
        assert_eq!(journal.begin(&large, &Spot::Beside(b"x".to_vec()), b"parts-0", &had), None);
        journal.range(number, 20, 30);
        journal.range(number, 50, NOTED_SIZE_MIN);
        let read = read_all(&dir);
        assert_eq!(read.len(), 1);
        let begun = &read[&large];
        assert_eq!(
            (&*begun.place, begun.has.iter().collect::<Vec<_>>()),
            (&b"tree/a/b/large"[..], vec![10..30, 50..NOTED_SIZE_MIN])
        );
    }

    #[test]
    fn nothing_is_written_behind_a_record_that_could_not_be() {
        let folder = tempfile::tempdir().unwrap();
        let dir = Dir::open(folder.path()).unwrap();
        let journal = Journal::create(&dir);
        let large = version(b"large", NOTED_SIZE_MIN);
        let number = journal.begin(&large, &Spot::Own, b"parts-0", &Stretches::default()).unwrap();
        let unwritable = File::open(folder.path().join("journal")).unwrap();
        let whole = std::mem::replace(&mut lock(&journal.0).as_mut().unwrap().0, unwritable);
        journal.range(number, 0, 5);
        drop(whole);
        assert!(lock(&journal.0).is_none());
        journal.range(number, 5, 9);
        assert!(read_all(&dir)[&large].has.is_empty());
    }

    #[test]
    fn without_a_journal_nothing_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let dir = Dir::open(folder.path()).unwrap();
        assert!(read_all(&dir).is_empty());
        std::fs::create_dir(folder.path().join("journal")).unwrap();
        assert!(read_all(&dir).is_empty());
        assert_eq!(
            Journal::create(&dir).begin(&version(b"x", NOTED_SIZE_MIN), &Spot::Own, b"", &Stretches::default()),
            None
        );
    }
}
