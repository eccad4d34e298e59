//! Proves a copy: every recorded part is read back from the medium and compared.
use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::Ordering;

use parking_lot::Mutex;
use ringway_model::{FailureReason, Fault, Operation};
use ringway_sys::space::sync_filesystem;
use ringway_tree::readback::{self, Reading};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::folder::below::{open_below, split};
use crate::job::proof::{Key, Part, Proof, Record};
use crate::job::{Job, TopLevel, add};

/// Records that a thread takes at a time.
const TAKEN: usize = 256;

/// Synchronises the destination, and reads everything back with as many threads as the copy had.
pub(crate) fn read_back(job: &Job, proof: &Proof) -> Result<(), Fault> {
    let Some(top) = &job.top else { return Ok(()) };
    let failed = |source| Fault::path(top.path.clone(), Operation::Sync, source);
    synchronise(top).map_err(failed)?;
    let mut file = proof.file.lock();
    let spool = |source| Fault::path("(verification records)", Operation::Read, source);
    file.seek(SeekFrom::Start(0)).map_err(spool)?;
    let records = Mutex::new(BufReader::new(&mut *file));
    let told = Told { before: std::mem::take(&mut proof.excused.lock()), differing: Mutex::default() };
    readback::by_threads(job.choices.workers, || Reader::new(proof, job, top, &told).run(&records)).map_err(spool)?;
    file.set_len(0).and_then(|()| file.seek(SeekFrom::Start(0))).map(drop).map_err(spool)
}

/// Synchronises through the folder that is copied into. If that may not be listed, and is open as a
/// path only, through a copy in it.
fn synchronise(top: &TopLevel) -> io::Result<()> {
    match sync_filesystem(&top.dir) {
        Err(error) if Errno::from_io_error(&error) == Some(Errno::BADF) => {}
        synchronised => return synchronised,
    }
    // Opening a FIFO would wait for its writer.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match top.copies.iter().find_map(|copy| rustix::fs::open(copy, flags, Mode::empty()).ok()) {
        Some(copy) => sync_filesystem(copy),
        None => {
            rustix::fs::sync();
            Ok(())
        }
    }
}

/// Files whose differences need not be reported.
struct Told {
    /// Files that could not be copied.
    before: HashSet<Key>,
    /// Files that were found to differ, in any part.
    differing: Mutex<HashSet<Key>>,
}

/// One thread that reads back.
struct Reader<'p> {
    proof: &'p Proof,
    job: &'p Job,
    top: &'p TopLevel,
    told: &'p Told,
    reading: Reading,
    /// The last file that was opened, for its next part.
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
                match Record::next(&mut *from)? {
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
        if record.part.first {
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

    /// Whether the part at the destination equals what was read from the source.
    fn same(&mut self, record: &Record) -> io::Result<bool> {
        let fd = self.file(record)?;
        let same = self.reading.is_same(&fd, record.part.size, &compared(&record.part), || self.job.must_end())?;
        self.proof.bytes.fetch_add(record.part.len, Ordering::Relaxed);
        Ok(same)
    }

    /// Whether a differing part was shared with a source that has changed since. Then the copy's
    /// medium is not at fault.
    fn has_changed(&mut self, record: &Record) -> bool {
        if record.source == Path::new("") {
            return false;
        }
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let part = compared(&record.part);
        let is_same = rustix::fs::open(&record.source, flags, Mode::empty())
            .map_err(io::Error::from)
            .and_then(|fd| self.reading.is_same(&fd, record.part.size, &part, || self.job.must_end()));
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
        // Written data has been synchronised by now.
        readback::from_the_medium(&fd);
        self.open = Some((record.file.clone(), self.job.patiently(|| fd.try_clone())?));
        Ok(fd)
    }
}

fn compared(part: &Part) -> readback::Part {
    readback::Part { offset: part.offset, len: part.len, digest: part.digest }
}
