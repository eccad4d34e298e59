//! The records of a copy that is to be verified: while copying, a digest of every part that was
//! read goes to an unnamed file.
use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;

use parking_lot::Mutex;

use super::value;

/// Bytes of records that a thread collects before it writes them.
const GATHERED: usize = 256 * 1024;

/// The fixed part of a record: file size u64, offset u64, length u64, first u8, digest, lengths of
/// both paths u32.
const FIXED: usize = 8 + 8 + 8 + 1 + blake3::OUT_LEN + 4 + 4;

/// A file at the destination: its path relative to the folder of all copies.
pub(crate) type Key = Vec<u8>;

/// All records of a copy.
pub(crate) struct Proof {
    pub(crate) file: Mutex<File>,
    pub(crate) files: AtomicU64,
    pub(crate) bytes: AtomicU64,
    pub(crate) differing: AtomicU64,
    /// Files whose failure was reported already, after their records were kept. They are not read
    /// back.
    pub(crate) excused: Mutex<HashSet<Key>>,
}

/// A part of a file that was copied.
#[derive(Debug)]
pub(crate) struct Part {
    /// The whole file's size.
    pub(crate) size: u64,
    /// The offset of the part.
    pub(crate) offset: u64,
    /// Its length in bytes.
    pub(crate) len: u64,
    /// Whether this record counts the file; each file has one.
    pub(crate) first: bool,
    /// Whether it was read after its blocks had been shared, so that the source may have changed in
    /// between.
    pub(crate) shared: bool,
    /// Its digest.
    pub(crate) digest: blake3::Hash,
}

/// The digest of a part that was read, to be compared with the copy.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) file: Key,
    /// The source, if it was read only after its blocks were shared; empty for copied contents.
    pub(crate) source: PathBuf,
    pub(crate) part: Part,
}

impl Record {
    /// The next record; `None` at the end.
    pub(crate) fn next(from: &mut impl Read) -> io::Result<Option<Self>> {
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
        let digest: [u8; blake3::OUT_LEN] = fixed[25..25 + blake3::OUT_LEN].try_into().expect("a digest");
        let part = Part {
            size: u64_at(0),
            offset: u64_at(8),
            len: u64_at(16),
            first: fixed[24] != 0,
            shared: !source.is_empty(),
            digest: digest.into(),
        };
        Ok(Some(Self { file, source: OsString::from_vec(source).into(), part }))
    }
}

/// One thread's records that were not written yet.
#[derive(Default)]
pub(crate) struct Gathered(Vec<u8>);

impl Gathered {
    /// Adds a record.
    pub(crate) fn add(&mut self, proof: &Proof, Record { file, source, part }: &Record) -> io::Result<()> {
        let source = source.as_os_str().as_bytes();
        for number in [part.size, part.offset, part.len] {
            self.0.extend_from_slice(&number.to_le_bytes());
        }
        self.0.push(part.first.into());
        self.0.extend_from_slice(part.digest.as_bytes());
        self.0.extend_from_slice(&(file.len() as u32).to_le_bytes());
        self.0.extend_from_slice(&(source.len() as u32).to_le_bytes());
        self.0.extend_from_slice(file);
        self.0.extend_from_slice(source);
        if self.0.len() >= GATHERED { self.flush(proof) } else { Ok(()) }
    }

    /// Writes the collected records.
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

    /// The file could not be copied, and that was reported. Its records are ignored.
    pub(crate) fn excuse(&self, file: Key) {
        self.excused.lock().insert(file);
    }

    /// Files that were read back and found equal.
    pub(crate) fn proven(&self) -> u64 {
        value(&self.files).saturating_sub(value(&self.differing))
    }
}
