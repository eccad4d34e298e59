//! Proving a copy: a digest of every part goes to an unnamed file while copying, and all parts are
//! read back from the medium afterwards.
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use ringway_model::{FailureReason, Fault, Operation};
use ringway_sys::dir::{Beneath, Dir, beneath};
use ringway_sys::space::sync_filesystem;
use ringway_tree::readback::{self, Reading};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::folder::Hold;
use crate::job::{Job, TopLevel, add, value};
use crate::worker::Item;

/// Bytes of records that a thread gathers before it writes them.
const GATHERED: usize = 256 * 1024;

/// Records that a thread takes at a time when reading back.
const TAKEN: usize = 256;

/// Longest path that one openat2 takes (PATH_MAX, with its NUL).
const PATH_BYTES_MAX: usize = 4095;

/// A record's fixed part: file size u64, offset u64, length u64, first u8, digest, lengths of both
/// paths u32.
const FIXED: usize = 8 + 8 + 8 + 1 + blake3::OUT_LEN + 4 + 4;

/// What was read, to be compared with what is there.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Record {
    file: Key,
    /// The source of what was read only after its blocks were shared; empty for what was copied.
    source: PathBuf,
    /// The whole file's size.
    size: u64,
    offset: u64,
    len: u64,
    /// One record of each file has this.
    first: bool,
    digest: [u8; blake3::OUT_LEN],
}

impl Record {
    fn part(&self) -> readback::Part {
        readback::Part { offset: self.offset, len: self.len, digest: blake3::Hash::from_bytes(self.digest) }
    }
}

/// A file at the destination: its path from the folder that all copies are in.
type Key = Vec<u8>;

/// All records of a copy.
pub(crate) struct Proof {
    file: Mutex<File>,
    pub(crate) files: AtomicU64,
    pub(crate) bytes: AtomicU64,
    differing: AtomicU64,
    /// Files that were told already when their records had been kept: what there is of them is not
    /// read back.
    excused: Mutex<HashSet<Key>>,
}

/// A part of a file that was copied.
pub(crate) struct Part {
    /// The whole file's size.
    pub(crate) size: u64,
    /// Where the part begins.
    pub(crate) offset: u64,
    /// Its length in bytes.
    pub(crate) len: u64,
    /// Whether it is the one record that counts the file.
    pub(crate) first: bool,
    /// It was read after the copy had been made: the source may have changed in between.
    pub(crate) shared: bool,
    /// Its digest.
    pub(crate) digest: blake3::Hash,
}

/// One thread's records that are not written yet.
#[derive(Default)]
pub(crate) struct Gathered(Vec<u8>);

impl Gathered {
    /// Keeps the digest of a part.
    pub(crate) fn add(&mut self, proof: &Proof, item: Item<'_, '_>, part: &Part) -> io::Result<()> {
        let path = item.folder.below_top(item.to);
        let source = if part.shared { item.folder.source_path(item.from) } else { PathBuf::new() };
        let source = source.as_os_str().as_bytes();
        for number in [part.size, part.offset, part.len] {
            self.0.extend_from_slice(&number.to_le_bytes());
        }
        self.0.push(part.first.into());
        self.0.extend_from_slice(part.digest.as_bytes());
        self.0.extend_from_slice(&(path.len() as u32).to_le_bytes());
        self.0.extend_from_slice(&(source.len() as u32).to_le_bytes());
        self.0.extend_from_slice(&path);
        self.0.extend_from_slice(source);
        if self.0.len() >= GATHERED { self.flush(proof) } else { Ok(()) }
    }

    /// Writes what was gathered.
    pub(crate) fn flush(&mut self, proof: &Proof) -> io::Result<()> {
        let written = proof.file.lock().write_all(&self.0);
        self.0.clear();
        written
    }
}

impl Proof {
    pub(crate) fn new(file: File) -> Self {
        Self {
            file: Mutex::new(file),
            files: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            differing: AtomicU64::new(0),
            excused: Mutex::default(),
        }
    }

    /// The file could not be copied, and that is told: its records are worth nothing.
    pub(crate) fn excuse(&self, folder: &Hold<'_>, name: &[u8]) {
        self.excused.lock().insert(folder.below_top(name));
    }

    /// Files that were read back and found equal.
    pub(crate) fn proven(&self) -> u64 {
        value(&self.files).saturating_sub(value(&self.differing))
    }

    /// Synchronises the destination, and reads everything back by `workers` threads, this one among
    /// them.
    pub(crate) fn read_back(&self, job: &Job, workers: usize) -> Result<(), Fault> {
        let Some(top) = &job.top else { return Ok(()) };
        let failed = |source| Fault::path(top.path.clone(), Operation::Sync, source);
        synchronise(top).map_err(failed)?;
        let mut file = self.file.lock();
        let spool = |source| Fault::path("(verification records)", Operation::Read, source);
        file.seek(SeekFrom::Start(0)).map_err(spool)?;
        let records = Mutex::new(BufReader::new(&mut *file));
        let told = Told { before: std::mem::take(&mut self.excused.lock()), differing: Mutex::default() };
        readback::by_threads(workers, || Reader::new(self, job, top, &told).run(&records)).map_err(spool)?;
        file.set_len(0).and_then(|()| file.seek(SeekFrom::Start(0))).map(drop).map_err(spool)
    }
}

/// By the folder that is copied into; where that may not be listed, and is open as a path only, by
/// a copy in it.
fn synchronise(top: &TopLevel) -> io::Result<()> {
    match sync_filesystem(&top.dir) {
        Err(error) if Errno::from_io_error(&error) == Some(Errno::BADF) => {}
        synchronised => return synchronised,
    }
    // Opening a FIFO would wait for who writes to it.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match top.copies.iter().find_map(|copy| rustix::fs::open(copy, flags, Mode::empty()).ok()) {
        Some(copy) => sync_filesystem(copy),
        None => {
            rustix::fs::sync();
            Ok(())
        }
    }
}

/// The next record; None at the end.
fn next(from: &mut impl Read) -> io::Result<Option<Record>> {
    let mut fixed = [0; FIXED];
    match from.read(&mut fixed[..1])? {
        0 => return Ok(None),
        _ => from.read_exact(&mut fixed[1..])?,
    }
    let u64_at = |at: usize| u64::from_le_bytes(fixed[at..at + 8].try_into().expect("eight bytes"));
    let mut path_at = |at: usize| {
        let len = u32::from_le_bytes(fixed[at..at + 4].try_into().expect("four bytes"));
        let mut path = vec![0; len as usize];
        from.read_exact(&mut path).map(|()| path)
    };
    let (file, source) = (path_at(FIXED - 8)?, path_at(FIXED - 4)?);
    let source = OsString::from_vec(source).into();
    let digest = fixed[25..25 + blake3::OUT_LEN].try_into().expect("a digest");
    let (size, offset, len) = (u64_at(0), u64_at(8), u64_at(16));
    Ok(Some(Record { file, source, size, offset, len, first: fixed[24] != 0, digest }))
}

/// Files that need not be told.
struct Told {
    /// They could not be copied.
    before: HashSet<Key>,
    /// They were found to differ, in one part or another.
    differing: Mutex<HashSet<Key>>,
}

/// One thread that reads back.
struct Reader<'p> {
    proof: &'p Proof,
    job: &'p Job,
    top: &'p TopLevel,
    told: &'p Told,
    reading: Reading,
    /// The file that was opened last, for its next part.
    open: Option<(Key, OwnedFd)>,
}

impl<'p> Reader<'p> {
    fn new(proof: &'p Proof, job: &'p Job, top: &'p TopLevel, told: &'p Told) -> Self {
        Self { proof, job, top, told, reading: Reading::default(), open: None }
    }

    fn run(mut self, records: &Mutex<impl Read>) -> io::Result<()> {
        let mut taken = Vec::with_capacity(TAKEN);
        loop {
            let mut from = records.lock();
            while taken.len() < TAKEN {
                match next(&mut *from)? {
                    Some(record) => taken.push(record),
                    None => break,
                }
            }
            drop(from);
            if taken.is_empty() {
                return Ok(());
            }
            for record in taken.drain(..) {
                if self.job.must_end() {
                    return Ok(());
                }
                self.check(record);
            }
        }
    }

    fn check(&mut self, record: Record) {
        if self.told.before.contains(&record.file) {
            return;
        }
        let same = self.same(&record);
        if self.job.is_stopped() {
            return;
        }
        if record.first {
            add(&self.proof.files, 1);
        }
        if matches!(same, Ok(true)) {
            return;
        }
        let path = self.top.path.join(OsStr::from_bytes(&record.file));
        let source = record.source.clone();
        let has_changed = same.is_ok() && self.has_changed(&record);
        if !self.told.differing.lock().insert(record.file) {
            return;
        }
        match same {
            Err(error) => self.job.fail(path, Operation::Read, &error),
            Ok(_) if has_changed => self.job.fail_for(source, Operation::Read, FailureReason::ChangedWhileReading),
            Ok(_) => self.job.fail_for(path, Operation::Read, FailureReason::Differs),
        }
        add(&self.proof.differing, 1);
    }

    /// Whether the part at the destination is what was read from the source.
    fn same(&mut self, record: &Record) -> io::Result<bool> {
        let fd = self.file(record)?;
        let same = self.reading.is_same(&fd, record.size, &record.part(), || self.job.must_end())?;
        self.proof.bytes.fetch_add(record.len, Ordering::Relaxed);
        Ok(same)
    }

    /// Whether what differs was shared with a source that is not the same any more: then nothing is
    /// wrong with the copy's medium.
    fn has_changed(&mut self, record: &Record) -> bool {
        if record.source == Path::new("") {
            return false;
        }
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let part = record.part();
        let is_same = rustix::fs::open(&record.source, flags, Mode::empty())
            .map_err(io::Error::from)
            .and_then(|fd| self.reading.is_same(&fd, record.size, &part, || self.job.must_end()));
        matches!(is_same, Ok(false))
    }

    fn file(&mut self, record: &Record) -> io::Result<OwnedFd> {
        if let Some((open, fd)) = &self.open
            && *open == record.file
        {
            return self.job.patiently(|| fd.try_clone());
        }
        let (folder, name) = split(&record.file);
        let dir = self.job.patiently(|| open_below(&self.top.dir, folder))?;
        let fd = match self.job.patiently(|| dir.open_read(name)) {
            // A file that was written through a link is read through it.
            Err(error) if Errno::from_io_error(&error) == Some(Errno::LOOP) => {
                self.job.patiently(|| dir.open_read_following(name))?
            }
            other => other?,
        };
        // What was written has been synchronised by now.
        readback::from_the_medium(&fd);
        self.open = Some((record.file.clone(), self.job.patiently(|| fd.try_clone())?));
        Ok(fd)
    }
}

/// A path's folder and the name in it.
pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => path.split_at(0),
    }
}

/// Opens a folder of any depth, where it may not be listed to be searched.
pub(crate) fn open_below(top: &Dir, path: &[u8]) -> io::Result<Dir> {
    match path.len() {
        0 => top.try_clone(),
        1..=PATH_BYTES_MAX => top.open_beneath_to_search(path, beneath()),
        _ => top.open_beneath_to_search(path, Beneath::Walk),
    }
}
