//! The records of a transfer that is to be proven: which digests the sender gave, for which file
//! under which name, until all of it is read back.
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::disk::Dir;
use parking_lot::Mutex;
use ringway_model::Operation;
use ringway_sys::attributes::Timestamp;
use ringway_wire::control::Progress;
use ringway_wire::lane::{DIGEST_LEN, Digest, Entry, EntryKind};
use ringway_wire::{Name, RelPath};

use super::failures::{LaneError, Spared, spool_error};
use super::landings::Stamp;
use super::merge::folders::Folder;
use super::merge::landing::Landed;
use super::staging::spool::Spool;
use crate::readback::Part;

/// The chain of files; parts of large ones have chains of their own.
const FILES: usize = 0;

/// What is to be proven, kept while it is written.
#[derive(Default)]
pub(super) struct Proof {
    spool: Mutex<Spool>,
    /// Read back so far.
    files: AtomicU64,
    bytes: AtomicU64,
    /// So many there are.
    kept: AtomicU64,
    kept_bytes: AtomicU64,
    /// What was here before, and was proven when it was asked about.
    here: AtomicU64,
    here_bytes: AtomicU64,
    /// Threads that read back.
    pub(super) readers: usize,
}

/// The parts of a file in ranges that were written so far: where the last one's record is.
#[derive(Debug, Default)]
pub(super) struct Parts(Mutex<Option<u64>>);

/// What a file is to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Contents {
    /// All of it has one digest.
    Whole(Digest),
    /// Parts of it have; the record of the last one to be written. The rest is holes.
    InParts(Option<u64>),
}

/// What is kept of a file that is whole: bytes that were counted for it, and what it is to hold.
#[derive(Debug, Clone, Copy)]
pub(super) struct Holds {
    pub(super) bytes: u64,
    pub(super) contents: Contents,
}

/// Below what a file that was written is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum At {
    /// The destination.
    Root,
    /// The staging tree.
    Staged,
    /// The staging folder: it could not have its name, and its other names are made from there.
    Aside,
}

/// A file that was written, under the name that it has now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) at: At,
    pub(super) folder: Box<[u8]>,
    pub(super) name: Box<[u8]>,
    pub(super) size: u64,
    /// None if that is not known.
    pub(super) landed: Option<Stamp>,
    pub(super) link_id: Option<u64>,
    /// Bytes that were counted for it.
    pub(super) bytes: u64,
    pub(super) spared: Spared,
    pub(super) contents: Contents,
}

impl Record {
    /// Of a file that has landed in `folder`, at `path`, as it was right then.
    pub(super) fn landed(
        folder: &Folder,
        path: RelPath<'_>,
        entry: &Entry<'_>,
        landed: &Landed,
        stamp: Option<Stamp>,
        bytes: u64,
    ) -> Self {
        let name = if let Landed::As(numbered) = landed { numbered } else { entry.name.as_bytes() };
        let at = if folder.is_staged() { At::Staged } else { At::Root };
        Self { landed: stamp, ..Self::new(at, path.as_bytes(), name, entry, bytes) }
    }

    /// Of an entry's file, by folder and name.
    pub(super) fn new(at: At, folder: &[u8], name: &[u8], entry: &Entry<'_>, bytes: u64) -> Self {
        let EntryKind::File { size, link_id } = entry.kind else { unreachable!("only files have contents") };
        Self {
            at,
            folder: folder.into(),
            name: name.into(),
            size,
            landed: None,
            link_id,
            bytes,
            spared: Spared::default(),
            contents: Contents::InParts(None),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(108 + self.folder.len() + self.name.len());
        out.push(self.at as u8);
        out.push(u8::from(self.link_id.is_some()));
        let Spared { all, reused } = self.spared;
        // No file has inode 0.
        let none = Timestamp { secs: 0, nanos: 0 };
        let Stamp { ino, mtime, ctime } = self.landed.unwrap_or(Stamp { ino: 0, mtime: none, ctime: none });
        for number in [self.size, self.link_id.unwrap_or_default(), self.bytes, all, reused, ino] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        for time in [mtime, ctime] {
            out.extend_from_slice(&time.secs.to_le_bytes());
            out.extend_from_slice(&time.nanos.to_le_bytes());
        }
        match self.contents {
            Contents::Whole(digest) => {
                out.push(0);
                out.extend_from_slice(&digest.0);
            }
            Contents::InParts(None) => out.push(1),
            Contents::InParts(Some(last)) => {
                out.push(2);
                out.extend_from_slice(&last.to_le_bytes());
            }
        }
        out.extend_from_slice(&(self.folder.len() as u16).to_le_bytes());
        out.extend_from_slice(&self.folder);
        out.extend_from_slice(&self.name);
        out
    }

    fn decode(mut record: &[u8]) -> Option<Self> {
        let [at, linked] = *take::<2>(&mut record)?;
        let at = [At::Root, At::Staged, At::Aside].into_iter().find(|known| *known as u8 == at)?;
        let size = u64::from_le_bytes(*take(&mut record)?);
        let link_id = u64::from_le_bytes(*take(&mut record)?);
        let bytes = u64::from_le_bytes(*take(&mut record)?);
        let all = u64::from_le_bytes(*take(&mut record)?);
        let reused = u64::from_le_bytes(*take(&mut record)?);
        let ino = u64::from_le_bytes(*take(&mut record)?);
        let mut time = || {
            let secs = i64::from_le_bytes(*take(&mut record)?);
            Some(Timestamp { secs, nanos: u32::from_le_bytes(*take(&mut record)?) })
        };
        let (mtime, ctime) = (time()?, time()?);
        let contents = match take::<1>(&mut record)? {
            [0] => Contents::Whole(Digest(*take(&mut record)?)),
            [1] => Contents::InParts(None),
            _ => Contents::InParts(Some(u64::from_le_bytes(*take(&mut record)?))),
        };
        let len = u16::from_le_bytes(*take(&mut record)?);
        let (folder, name) = record.split_at_checked(usize::from(len))?;
        Some(Self {
            at,
            folder: RelPath::new(folder).ok()?.as_bytes().into(),
            name: Name::new(name).ok()?.as_bytes().into(),
            size,
            landed: (ino != 0).then_some(Stamp { ino, mtime, ctime }),
            link_id: (linked == 1).then_some(link_id),
            bytes,
            spared: Spared { all, reused },
            contents,
        })
    }
}

fn take<'a, const N: usize>(bytes: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(taken)
}

impl Proof {
    /// To be read back by so many threads.
    pub(super) fn read_by(readers: usize) -> Self {
        Self { readers, ..Self::default() }
    }

    /// Keeps the digest of a range that was written.
    pub(super) fn part(
        &self,
        parts: &Parts,
        offset: u64,
        len: usize,
        digest: Digest,
        staging: &Dir,
    ) -> Result<(), LaneError> {
        let mut record = [0; 16 + DIGEST_LEN];
        record[..8].copy_from_slice(&offset.to_le_bytes());
        record[8..16].copy_from_slice(&(len as u64).to_le_bytes());
        record[16..].copy_from_slice(&digest.0);
        let mut last = parts.0.lock();
        let at = self.spool.lock().push_behind(*last, &record, staging).map_err(spool_error(Operation::Write))?;
        *last = Some(at);
        Ok(())
    }

    /// Keeps what a file in ranges, or a small one, is to hold, now that it has its name.
    pub(super) fn file(&self, record: &Record, staging: &Dir) -> Result<(), LaneError> {
        self.kept.fetch_add(1, Ordering::Relaxed);
        self.kept_bytes.fetch_add(record.bytes, Ordering::Relaxed);
        self.spool.lock().push(FILES, &record.encode(), staging).map_err(spool_error(Operation::Write))
    }

    /// A file was here before, and is what the sender has.
    pub(super) fn was_here(&self, bytes: u64) {
        self.here.fetch_add(1, Ordering::Relaxed);
        self.here_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Files and bytes that were.
    pub(super) fn here(&self) -> Progress {
        Progress { entries: self.here.load(Ordering::Relaxed), bytes: self.here_bytes.load(Ordering::Relaxed) }
    }

    /// Files and bytes that are to be read back.
    pub(super) fn kept(&self) -> Progress {
        Progress { entries: self.kept.load(Ordering::Relaxed), bytes: self.kept_bytes.load(Ordering::Relaxed) }
    }

    /// Files and bytes that have been.
    pub(super) fn read(&self) -> Progress {
        Progress { entries: self.files.load(Ordering::Relaxed), bytes: self.bytes.load(Ordering::Relaxed) }
    }

    pub(super) fn has_read_bytes(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn has_read_file(&self) {
        self.files.fetch_add(1, Ordering::Relaxed);
    }

    /// All records, to be read; none are left.
    pub(super) fn take(&self) -> Records {
        let spool = std::mem::take(&mut *self.spool.lock());
        let next = spool.last(FILES);
        Records { spool, next }
    }
}

impl Parts {
    /// What its file is to hold.
    pub(super) fn contents(&self) -> Contents {
        Contents::InParts(*self.0.lock())
    }
}

/// Records being read, from the last to the first.
pub(super) struct Records {
    spool: Spool,
    next: Option<u64>,
}

impl Records {
    /// The next file.
    pub(super) fn next(&mut self) -> io::Result<Option<Record>> {
        let Some(at) = self.next else { return Ok(None) };
        let (bytes, before) = self.spool.read(at)?;
        self.next = before;
        Record::decode(&bytes).map(Some).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// The part whose record is at `at`, and where the one written before it is.
    pub(super) fn part(&mut self, at: u64) -> io::Result<(Part, Option<u64>)> {
        let (bytes, before) = self.spool.read(at)?;
        let part = |mut bytes: &[u8]| {
            let offset = u64::from_le_bytes(*take(&mut bytes)?);
            let len = u64::from_le_bytes(*take(&mut bytes)?);
            Some(Part { offset, len, digest: blake3::Hash::from_bytes(*take(&mut bytes)?) })
        };
        let part = part(&bytes).ok_or(io::ErrorKind::InvalidData)?;
        Ok((part, before))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_they_were_kept() {
        let home = tempfile::tempdir().unwrap();
        let staging = Dir::open(home.path()).unwrap();
        let (proof, parts, count) = (Proof::default(), Parts::default(), 60_000);
        let record = |number: u64| Record {
            at: if number.is_multiple_of(2) { At::Staged } else { At::Root },
            folder: format!("a/{}", number % 5).into_bytes().into(),
            name: number.to_string().into_bytes().into(),
            size: number * 3,
            landed: (!number.is_multiple_of(5)).then_some(Stamp {
                ino: number,
                mtime: Timestamp { secs: -1, nanos: number as u32 },
                ctime: Timestamp { secs: number as i64, nanos: 3 },
            }),
            link_id: number.is_multiple_of(3).then_some(number),
            bytes: number,
            spared: Spared { all: number * 2, reused: number + 1 },
            contents: match number % 3 {
                0 => Contents::Whole(Digest([number as u8; DIGEST_LEN])),
                1 => Contents::InParts(None),
                _ => parts.contents(),
            },
        };
        let mut kept = Vec::new();
        for number in 0..count {
            proof.part(&parts, number, 7, Digest([1; DIGEST_LEN]), &staging).unwrap();
            kept.push(record(number));
            proof.file(kept.last().unwrap(), &staging).unwrap();
        }
        assert_eq!(proof.kept(), Progress { entries: count, bytes: count * (count - 1) / 2 });
        let mut records = proof.take();
        for expected in kept.iter().rev() {
            assert_eq!(records.next().unwrap().as_ref(), Some(expected));
        }
        assert_eq!(records.next().unwrap(), None);
        let Contents::InParts(mut last) = parts.contents() else { panic!("parts are parts") };
        for number in (0..count).rev() {
            let (part, before) = records.part(last.unwrap()).unwrap();
            assert_eq!((part.offset, part.len), (number, 7));
            last = before;
        }
        assert_eq!(last, None);
    }
}
