//! Reads everything back that was written, from the medium, before it is given its final name or
//! spoken of in a receipt.
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use crate::disk::Dir;
use parking_lot::Mutex;
use ringway_model::{FailureReason, Operation};
use ringway_sys::attributes::{Kind, Metadata, metadata_of};
use ringway_wire::control::Proven;
use rustix::io::Errno;

use crate::readback::{self, Part, Reading};
use crate::receive::digests::{At, Contents, Proof, Record, Records};
use crate::receive::failures::{EntryError, LaneError, failed, is, spool_error};
use crate::receive::finish::FinishError;
use crate::receive::staging::exchanges::mark_unverified;
use crate::receive::{Incoming, OWNER_READS};

/// Records that a thread takes at a time.
const FILES_TAKEN: usize = 256;

/// Parts of one file that a thread takes at a time.
const PARTS_TAKEN: usize = 64;

/// What a thread does next.
enum Work {
    Small(Record),
    Parts(Arc<Large>, Vec<Part>),
}

/// A file in parts, shared by the threads that read them. Who lets go last says how it was.
struct Large {
    record: Record,
    opened: OnceLock<Result<OwnedFd, Wrong>>,
    /// None as long as nothing is wrong with it.
    wrong: Mutex<Option<Wrong>>,
}

/// What is the matter with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wrong {
    /// It cannot be found or opened, or is no file any more.
    Gone(i32),
    /// Its medium does not give it back.
    Unreadable(i32),
    /// It is not what was sent.
    Differs,
}

/// Where the threads are.
struct Cursor {
    records: Records,
    /// A file of which parts are left, and the record of the next one.
    large: Option<(Arc<Large>, u64)>,
}

impl Cursor {
    fn take(&mut self, work: &mut Vec<Work>) -> io::Result<()> {
        while work.is_empty() || self.large.is_none() && work.len() < FILES_TAKEN {
            if let Some((large, at)) = self.large.take() {
                let (mut parts, mut next) = (Vec::with_capacity(PARTS_TAKEN), Some(at));
                while let Some(at) = next.filter(|_| parts.len() < PARTS_TAKEN) {
                    let (part, before) = self.records.part(at)?;
                    parts.push(part);
                    next = before;
                }
                // They were written nearly in order, and come from the last to the first.
                parts.sort_unstable_by_key(|part| part.offset);
                self.large = next.map(|at| (Arc::clone(&large), at));
                work.push(Work::Parts(large, parts));
                continue;
            }
            let Some(record) = self.records.next()? else { break };
            match record.contents {
                Contents::InParts(Some(last)) => {
                    let large = Large { record, opened: OnceLock::new(), wrong: Mutex::default() };
                    self.large = Some((Arc::new(large), last));
                }
                _ => work.push(Work::Small(record)),
            }
        }
        Ok(())
    }
}

/// Reads back all that is to be proven, which was synchronised since it was `begun`. What is not as
/// it was sent is reported and loses its name.
pub(super) fn prove(incoming: &Incoming, proof: &Proof, begun: Instant) -> Result<Proven, FinishError> {
    let cursor = Mutex::new(Cursor { records: proof.take(), large: None });
    let proven = Mutex::new(Proven::default());
    let read = || Prover { incoming, proof, proven: &proven, reading: Reading::default(), last: None }.run(&cursor);
    readback::by_threads(proof.readers, read).map_err(spool_error(Operation::Read))?;
    if !incoming.flags.goes_on() {
        return Err(LaneError::Cancelled.into());
    }
    let (read, here) = (*proven.lock(), proof.here());
    Ok(Proven { files: read.files + here.entries, bytes: read.bytes + here.bytes, took: begun.elapsed().into() })
}

/// One thread that reads back.
struct Prover<'p> {
    incoming: &'p Incoming,
    proof: &'p Proof,
    proven: &'p Mutex<Proven>,
    reading: Reading,
    /// The folder that the last file was in.
    last: Option<(At, Box<[u8]>, Arc<Dir>)>,
}

impl Prover<'_> {
    fn run(mut self, cursor: &Mutex<Cursor>) -> io::Result<()> {
        let mut work = Vec::new();
        loop {
            cursor.lock().take(&mut work)?;
            if work.is_empty() {
                return Ok(());
            }
            // From the first that was written to the last.
            for work in work.drain(..).rev() {
                if self.is_stopped() {
                    return Ok(());
                }
                match work {
                    Work::Small(record) => {
                        let wrong = self.small(&record).err();
                        self.conclude(&record, wrong);
                    }
                    Work::Parts(large, parts) => {
                        if let Err(wrong) = self.parts(&large, &parts) {
                            large.wrong.lock().get_or_insert(wrong);
                        }
                        if let Some(Large { record, wrong, .. }) = Arc::into_inner(large) {
                            self.conclude(&record, *wrong.lock());
                        }
                    }
                }
            }
        }
    }

    fn is_stopped(&self) -> bool {
        !self.incoming.flags.goes_on()
    }

    fn small(&mut self, record: &Record) -> Result<(), Wrong> {
        let fd = self.open(record)?;
        let whole = match record.contents {
            Contents::Whole(digest) => {
                Some(Part { offset: 0, len: record.size, digest: blake3::Hash::from_bytes(digest.0) })
            }
            // Nothing but holes, or nothing at all: what there is to compare is its size.
            Contents::InParts(_) => None,
        };
        let part = whole.unwrap_or(Part { offset: 0, len: 0, digest: blake3::hash(&[]) });
        self.part(&fd, record, &part)
    }

    fn parts(&mut self, large: &Large, parts: &[Part]) -> Result<(), Wrong> {
        if large.wrong.lock().is_some() {
            return Ok(());
        }
        let opened = large.opened.get_or_init(|| self.open(&large.record));
        let fd = opened.as_ref().map_err(|wrong| *wrong)?;
        parts.iter().try_for_each(|part| self.part(fd, &large.record, part))
    }

    fn part(&mut self, fd: &OwnedFd, record: &Record, part: &Part) -> Result<(), Wrong> {
        let incoming = self.incoming;
        let same = self.reading.is_same(fd, record.size, part, || !incoming.flags.goes_on());
        self.proof.has_read_bytes(part.len);
        match same {
            Ok(true) => Ok(()),
            Ok(false) => Err(Wrong::Differs),
            Err(error) => Err(Wrong::Unreadable(errno(&error))),
        }
    }

    fn folder(&mut self, record: &Record) -> io::Result<Arc<Dir>> {
        if let Some((at, path, dir)) = &self.last
            && *at == record.at
            && *path == record.folder
        {
            return Ok(Arc::clone(dir));
        }
        let base = match record.at {
            At::Root => &self.incoming.root.dir,
            At::Staged => &self.incoming.staging.tree,
            At::Aside => {
                let id = record.link_id.unwrap_or_default();
                return self.incoming.deferred.unplaced_in(id).ok_or_else(|| io::ErrorKind::NotFound.into());
            }
        };
        let dir = Arc::new(self.incoming.flags.wait_to_open(|| match record.folder.is_empty() {
            true => base.try_clone(),
            false if record.at == At::Root => self.incoming.root.open_here(&record.folder),
            false => base.open_beneath(&record.folder),
        })?);
        self.last = Some((record.at, record.folder.clone(), Arc::clone(&dir)));
        Ok(dir)
    }

    fn open(&mut self, record: &Record) -> Result<OwnedFd, Wrong> {
        let gone = |error: io::Error| Wrong::Gone(errno(&error));
        let dir = self.folder(record).map_err(gone)?;
        let fd = match self.incoming.flags.wait_to_open(|| dir.open_read(&record.name)) {
            Err(error) if is(&error, Errno::ACCESS) => open_unreadable(&dir, &record.name),
            opened => opened,
        };
        let fd = fd.map_err(gone)?;
        match metadata_of(&fd).map_err(gone)?.kind {
            Kind::File => {}
            _ => return Err(Wrong::Gone(Errno::INVAL.raw_os_error())),
        }
        self.incoming.root.disk().drop_cached(fd.as_fd());
        Ok(fd)
    }

    /// Books a file, all of which was read.
    fn conclude(&mut self, record: &Record, wrong: Option<Wrong>) {
        if self.is_stopped() {
            return;
        }
        self.proof.has_read_file();
        if record.at == At::Aside {
            // It has failed already. Its other names are only made if it is what was sent.
            if let (Some(_), Some(id)) = (wrong, record.link_id) {
                self.incoming.deferred.forget_unplaced(id);
            }
            return;
        }
        let Some(wrong) = wrong else {
            let mut proven = self.proven.lock();
            proven.files += 1;
            proven.bytes += record.bytes;
            return;
        };
        let incoming = self.incoming;
        incoming.results.tally.lost(record.bytes, record.spared);
        if let Some(id) = record.link_id {
            incoming.deferred.links.lock().forget(id);
        }
        let put_away = if matches!(wrong, Wrong::Gone(_)) { Ok(PutAway::Stays) } else { self.put_away(record) };
        let (operation, reason) = match (wrong, &put_away) {
            (Wrong::Gone(errno), _) => (Operation::Open, FailureReason::Os { errno }),
            (Wrong::Unreadable(errno), _) => (Operation::Read, FailureReason::Os { errno }),
            (Wrong::Differs, Ok(PutAway::Removed) | Err(_)) => (Operation::Read, FailureReason::Differs),
            (Wrong::Differs, Ok(PutAway::Renamed)) => (Operation::Rename, FailureReason::Differs),
            (Wrong::Differs, Ok(PutAway::Stays)) => (Operation::Read, FailureReason::ChangedWhileReading),
        };
        let failed_as = |error| incoming.results.failures.add(&record.folder, Some(&record.name), error);
        failed_as(EntryError { operation, reason });
        if let Err(error) = put_away {
            failed_as(failed(Operation::Remove, &error));
        }
    }

    /// Takes its name from a file that is not what it is to be. One that somebody has changed since
    /// it landed is theirs and keeps it. Where others see it, nothing is removed: it gets a name
    /// that says that it is not verified.
    fn put_away(&mut self, record: &Record) -> io::Result<PutAway> {
        let dir = self.folder(record)?;
        let Incoming { openings, root, .. } = self.incoming;
        if record.at == At::Staged {
            return dir.unlink(&record.name).map(|()| PutAway::Removed);
        }
        let _opening = openings.open_path_for_change(&dir, &record.folder);
        let file = match dir.open_read(&record.name) {
            // Its mode lets nobody read it.
            Err(error) if is(&error, Errno::ACCESS) => None,
            // Nothing has the name any more, or a link.
            Err(error) if error.kind() == io::ErrorKind::NotFound || is(&error, Errno::LOOP) => {
                return Ok(PutAway::Stays);
            }
            file => Some(file?),
        };
        let there = match &file {
            Some(file) if root.disk().has_writers(file.as_fd()) => return Ok(PutAway::Stays),
            Some(file) => root.disk().metadata(file.as_fd())?,
            None => dir.metadata(&record.name)?,
        };
        // Reading it has taken a change of its mode.
        let may_tell = file.is_some();
        if self.is_changed(record, &dir, &there, may_tell)? || !mark_unverified(&dir, &record.name, &there)? {
            return Ok(PutAway::Stays);
        }
        Ok(PutAway::Renamed)
    }

    /// Whether somebody has certainly changed a file since it landed. Its change time tells that
    /// only if it `may_tell`.
    fn is_changed(&self, record: &Record, dir: &Dir, there: &Metadata, may_tell: bool) -> io::Result<bool> {
        let Some(landed) = record.landed else { return Ok(false) };
        if (there.kind, there.size, there.mtime) != (Kind::File, record.size, landed.mtime) {
            return Ok(true);
        }
        // Some filesystems give a file that was forgotten another inode, and show its modification
        // time for its change time.
        if there.ino != landed.ino {
            let filesystem = self.incoming.root.disk().filesystem(dir.as_fd())?;
            return Ok(filesystem.keeps_inode_numbers());
        }
        Ok(may_tell && there.ctime != landed.ctime && there.ctime != there.mtime)
    }
}

/// What became of a file that is not what it is to be.
enum PutAway {
    Removed,
    /// It has a name that says that it is not verified.
    Renamed,
    /// It is its owner's, or there is none.
    Stays,
}

fn errno(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(Errno::IO.raw_os_error())
}

/// Opens a file of ours that its mode lets nobody read, which only those without privilege meet.
fn open_unreadable(dir: &Dir, name: &[u8]) -> io::Result<OwnedFd> {
    let mode = dir.metadata(name)?.mode;
    dir.set_mode(name, mode | OWNER_READS)?;
    let opened = dir.open_read(name);
    dir.set_mode(name, mode)?;
    opened
}
