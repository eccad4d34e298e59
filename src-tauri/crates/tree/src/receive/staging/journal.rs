//! Keeps the journal of an attempt in its staging folder, so that the next one goes on inside large
//! files, however this one ends. What its bytes mean is wire's business.
//!
//! Records are appended after what they tell of is in the file, and synchronised only when they say
//! what a sync covers. A later attempt compares or asks again for what no such record covers.
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use crate::disk::{Dir, On};
use parking_lot::Mutex;
use ringway_wire::RelPath;
use ringway_wire::journal::{Noted, Recorder, Version, replay};
use ringway_wire::lane::{Entry, EntryKind, Timestamp};
use ringway_wire::resume::{JOURNAL, NOTED_SIZE_MIN, TREE};
use ringway_wire::stretches::Stretches;

use crate::receive::FILLING_FILE_MODE;
use crate::receive::staging::spot::Spot;

/// Bytes of journals that are read, all earlier attempts' together: more than a terabyte's ranges
/// take. Read, they take about twice as much memory.
pub(in crate::receive) const READ_MAX: u64 = 32 * 1024 * 1024;

/// The journal that this attempt writes. `None` if it could not be made, and from the first record
/// on that could not be written whole, for what stood behind half of one would not be read. What is
/// missing is sent again.
#[derive(Clone, Default)]
pub(in crate::receive) struct Journal {
    open: Arc<Mutex<Option<Open>>>,
    on: On,
}

/// A journal that takes records.
struct Open {
    file: Arc<OwnedFd>,
    recorder: Recorder,
    /// Bytes that it has.
    len: u64,
    /// Its length behind the last record of what was written.
    told: u64,
    /// How many of its bytes a recorded sync covers.
    settled: u64,
}

/// How many bytes of a journal a sync covers that begins now.
#[derive(Clone, Copy)]
pub(in crate::receive) struct Covered(u64);

/// Tells one version of a file from others, in eight bytes: a sender that makes two alike spoils
/// files of their own.
pub(in crate::receive) fn mark(folder: &[u8], name: &[u8], size: u64, mtime: Timestamp) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&size.to_le_bytes()).update(&mtime.secs.to_le_bytes()).update(&mtime.nanos.to_le_bytes());
    // A name has no slash in it, and no path ends in one.
    hasher.update(folder).update(b"/").update(name);
    u64::from_le_bytes(*hasher.finalize().as_bytes().first_chunk().expect("a digest has 32 bytes"))
}

/// Files that are whole and not noted yet.
#[derive(Default)]
pub(in crate::receive) struct Wholes {
    marks: Vec<u64>,
    bytes: u64,
}

impl Wholes {
    /// Adds one, with its bytes that no range tells of.
    pub(in crate::receive) fn add(&mut self, path: RelPath<'_>, entry: &Entry<'_>, bytes: u64) {
        let EntryKind::File { size, .. } = entry.kind else { return };
        self.marks.push(mark(path.as_bytes(), entry.name.as_bytes(), size, entry.attributes.mtime));
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

impl Journal {
    /// Closes its file: no more is noted.
    pub(in crate::receive) fn close(&self) {
        *self.open.lock() = None;
    }

    pub(in crate::receive) fn create(staging: &Dir) -> Self {
        let made = staging.create_new(JOURNAL, FILLING_FILE_MODE);
        let open = |file| Open { file: Arc::new(file), recorder: Recorder::default(), len: 0, told: 0, settled: 0 };
        Self { open: Arc::new(Mutex::new(made.ok().map(open))), on: staging.on_disk().clone() }
    }

    /// Notes that a file is begun, with what a sync that an earlier journal notes covers of it; the
    /// number that its ranges are noted by. `None` if it is not worth it, or cannot be.
    pub(in crate::receive) fn begin(
        &self,
        version: &Version,
        spot: &Spot,
        lane: &[u8],
        durable: &Stretches,
    ) -> Option<u32> {
        let place = match spot {
            Spot::Own => joined(&[TREE, &version.folder, &version.name]),
            Spot::Part(_, part) => joined(&[lane, part]),
            // In a folder that everybody sees: it goes with this attempt.
            Spot::Beside(..) | Spot::Aside(..) => return None,
        };
        if version.size < NOTED_SIZE_MIN {
            return None;
        }
        self.append(|recorder, record| recorder.begin(version, &place, durable, record)).flatten()
    }

    /// Notes files that are whole, and whether they are on the disk; empties the list.
    pub(in crate::receive) fn whole(&self, files: &mut Wholes, is_durable: bool) {
        if !files.marks.is_empty() {
            // One that is missing is sent again.
            let _ = self.append(|recorder, record| recorder.whole(&files.marks, files.bytes, is_durable, record));
        }
        files.marks.clear();
        files.bytes = 0;
    }

    /// What a sync covers that begins now.
    pub(in crate::receive) fn covered(&self) -> Covered {
        Covered(self.open.lock().as_ref().map_or(0, |open| open.len))
    }

    /// Whether something is noted that no recorded sync covers.
    pub(in crate::receive) fn waits_for_a_sync(&self) -> bool {
        self.open.lock().as_ref().is_some_and(|open| open.settled < open.told)
    }

    /// Notes that a sync succeeded, and brings that to the disk.
    pub(in crate::receive) fn synced(&self, Covered(covered): Covered) {
        let record = |open: &mut Open, record: &mut Vec<u8>| open.recorder.synced(covered, record);
        if covered == 0 || self.append_any(record).is_none() {
            return;
        }
        let file = self.open.lock().as_mut().map(|open| {
            open.settled = open.settled.max(covered);
            Arc::clone(&open.file)
        });
        if let Some(file) = file {
            // What does not reach the disk is not believed, which costs only time.
            let _ = self.on.disk().sync_data(file.as_fd());
        }
    }

    /// Notes that a range of a file is written.
    pub(in crate::receive) fn range(&self, number: u32, start: u64, end: u64) {
        // One that is missing is sent again.
        let _ = self.append(|recorder, record| recorder.range(number, start, end, record));
    }

    /// Appends what was written.
    fn append<T>(&self, record: impl FnOnce(&mut Recorder, &mut Vec<u8>) -> T) -> Option<T> {
        self.append_any(|open, bytes| {
            let recorded = record(&mut open.recorder, bytes);
            open.told = open.len + bytes.len() as u64;
            recorded
        })
    }

    fn append_any<T>(&self, record: impl FnOnce(&mut Open, &mut Vec<u8>) -> T) -> Option<T> {
        let mut journal = self.open.lock();
        let open = journal.as_mut()?;
        let mut bytes = Vec::with_capacity(32);
        let recorded = record(open, &mut bytes);
        match self.on.disk().write_at(open.file.as_fd(), open.len, &bytes) {
            Ok(()) => {
                open.len += bytes.len() as u64;
                Some(recorded)
            }
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

/// Reads what an attempt has written down, up to where it breaks off, or `left` bytes are read;
/// those are taken off it.
pub(in crate::receive) fn read(attempt: &Dir, left: &mut u64) -> Noted {
    replay(&bytes_of(attempt, left))
}

fn bytes_of(attempt: &Dir, left: &mut u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let read = attempt.open_read(JOURNAL).and_then(|fd| File::from(fd).take(*left).read_to_end(&mut bytes));
    *left -= bytes.len() as u64;
    // A journal that cannot be read tells nothing.
    if read.is_ok() { bytes } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    //! What is written down is read back; what cannot be is done without.
    use std::collections::HashMap;

    use ringway_wire::journal::Begun;

    use super::*;

    fn version(name: &[u8], size: u64) -> Version {
        let mtime = Timestamp { secs: -5, nanos: 7 };
        Version { folder: b"a/b".as_slice().into(), name: name.into(), size, mtime, stamp: 0 }
    }

    fn read_all(dir: &Dir) -> HashMap<Version, Begun> {
        let mut left = READ_MAX;
        read(dir, &mut left).begun
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
        assert_eq!(read(&dir, &mut left).begun[&large].has.len(), 2, "as many as are whole");
        assert_eq!(left, 0);
        assert!(read(&dir, &mut left).begun.is_empty());
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
        assert_eq!(
            journal.begin(&large, &Spot::Beside(Arc::new(dir.try_clone().unwrap()), b"x".to_vec()), b"parts-0", &had),
            None
        );
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
        let unwritable = Arc::new(File::open(folder.path().join("journal")).unwrap().into());
        let whole = std::mem::replace(&mut journal.open.lock().as_mut().unwrap().file, unwritable);
        journal.range(number, 0, 5);
        drop(whole);
        assert!(journal.open.lock().is_none());
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
