//! The journal of one attempt at a transfer: which large files it has begun, and which ranges of them are written, as bytes that are only ever added to.
//! Where they are kept, and when a record is written, is the engine's business.
//!
//! Each record ends in the CRC-32 of all records so far. What a crash, a full disk or a bad sector has left is believed up to the first record that is
//! not as it was written, and no further.
use std::collections::HashMap;

use crate::ProtocolError;
use crate::bytes::{Put, Reader};
use crate::lane::{FILE_SIZE_MAX, Timestamp};
use crate::limits::{JOURNAL_FILES_MAX, NAME_MAX, PATH_MAX};
use crate::name::{Name, RelPath};
use crate::stretches::Stretches;

const KIND_FILE: u8 = 1;
const KIND_RANGE: u8 = 2;

/// What the checksum of an empty journal is: another form of the records takes another number, and reads nothing of this one.
const FIRST_SUM: u32 = 0x5257_4a31;

/// Bytes of a record's checksum.
const SUM_LEN: usize = size_of::<u32>();

/// What tells one version of a file from others.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Version {
    /// Its folder's path within the transfer.
    pub folder: Box<[u8]>,
    /// Its name in there.
    pub name: Box<[u8]>,
    /// Its length in bytes.
    pub size: u64,
    /// When its contents were changed last.
    pub mtime: Timestamp,
}

/// A file that an attempt has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begun {
    /// Where it lies in that attempt's folder.
    pub place: Box<[u8]>,
    /// What is written of it.
    pub has: Stretches,
}

/// Writes one journal's records.
#[derive(Debug)]
pub struct Recorder {
    begun: u32,
    sum: u32,
}

impl Default for Recorder {
    fn default() -> Self {
        Self { begun: 0, sum: FIRST_SUM }
    }
}

impl Recorder {
    /// Appends to `out` that a file is begun at `place`, with what is there of it; the number that its ranges are noted by. None, and nothing is appended,
    /// where a reader would not take it: a path that is too long, or more files than are remembered.
    pub fn begin(&mut self, version: &Version, place: &[u8], has: &Stretches, out: &mut Vec<u8>) -> Option<u32> {
        let number = self.begun;
        check(version, place).ok().filter(|()| (number as usize) < JOURNAL_FILES_MAX)?;
        self.begun += 1;
        let start = out.len();
        out.put_u8(KIND_FILE);
        out.put_u64(version.size);
        out.put_i64(version.mtime.secs);
        out.put_u32(version.mtime.nanos);
        out.put_short_bytes(&version.folder);
        out.put_short_bytes(&version.name);
        out.put_short_bytes(place);
        self.seal(start, out);
        for stretch in has.iter() {
            self.range(number, stretch.start, stretch.end, out);
        }
        Some(number)
    }

    /// Appends to `out` that a range of a file, in bytes from its start, is written.
    pub fn range(&mut self, number: u32, start: u64, end: u64, out: &mut Vec<u8>) {
        let from = out.len();
        out.put_u8(KIND_RANGE);
        out.put_u32(number);
        out.put_u64(start);
        out.put_u64(end);
        self.seal(from, out);
    }

    fn seal(&mut self, start: usize, out: &mut Vec<u8>) {
        self.sum = sum(self.sum, &out[start..]);
        out.put_u32(self.sum);
    }
}

fn sum(before: u32, record: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(before);
    hasher.update(record);
    hasher.finalize()
}

fn check(version: &Version, place: &[u8]) -> Result<(), ProtocolError> {
    RelPath::new(&version.folder)?;
    Name::new(&version.name)?;
    if RelPath::new(place)?.is_root() || version.size > FILE_SIZE_MAX || version.mtime.nanos > 999_999_999 {
        return Err(ProtocolError::BadValue("journal's file"));
    }
    Ok(())
}

/// Reads what an attempt has written down, up to where that breaks off. Of two files begun at one place the later one has it.
pub fn replay(bytes: &[u8]) -> HashMap<Version, Begun> {
    let mut replay = Replay { sum: FIRST_SUM, ..Replay::default() };
    let mut rest = bytes;
    while let Ok(taken) = replay.record(rest) {
        rest = &rest[taken..];
    }
    replay.files.into_iter().flatten().collect()
}

#[derive(Default)]
struct Replay {
    sum: u32,
    /// By their numbers; none where a later one has its place.
    files: Vec<Option<(Version, Begun)>>,
    places: HashMap<Box<[u8]>, usize>,
}

impl Replay {
    /// Takes in the first record of `bytes`, which is so long.
    fn record(&mut self, bytes: &[u8]) -> Result<usize, ProtocolError> {
        let mut reader = Reader::new(bytes);
        let record = match reader.u8()? {
            KIND_FILE => Record::File(file(&mut reader)?),
            KIND_RANGE => Record::Range { number: reader.u32()?, start: reader.u64()?, end: reader.u64()? },
            value => return Err(ProtocolError::Unknown { what: "journal record", value }),
        };
        let len = bytes.len() - reader.rest().len();
        self.sum = sum(self.sum, &bytes[..len]);
        if reader.u32()? != self.sum {
            return Err(ProtocolError::BadValue("journal's checksum"));
        }
        match record {
            Record::File((version, place)) => self.begin(version, place)?,
            Record::Range { number, start, end } => self.range(number, start, end)?,
        }
        Ok(len + SUM_LEN)
    }

    fn begin(&mut self, version: Version, place: Box<[u8]>) -> Result<(), ProtocolError> {
        if self.files.len() >= JOURNAL_FILES_MAX {
            let limit = JOURNAL_FILES_MAX as u64;
            return Err(ProtocolError::TooLarge { what: "files in a journal", value: limit + 1, limit });
        }
        if let Some(before) = self.places.insert(place.clone(), self.files.len()) {
            self.files[before] = None;
        }
        self.files.push(Some((version, Begun { place, has: Stretches::default() })));
        Ok(())
    }

    fn range(&mut self, number: u32, start: u64, end: u64) -> Result<(), ProtocolError> {
        let file = self.files.get_mut(number as usize).ok_or(ProtocolError::BadValue("journal's file"))?;
        match file {
            // Its place is another's by now.
            None => Ok(()),
            Some((version, begun)) if start < end && end <= version.size => {
                // What was there already stays what it is.
                begun.has.add(start, end);
                Ok(())
            }
            Some(_) => Err(ProtocolError::BadValue("journal's range")),
        }
    }
}

enum Record {
    File((Version, Box<[u8]>)),
    Range { number: u32, start: u64, end: u64 },
}

fn file(reader: &mut Reader<'_>) -> Result<(Version, Box<[u8]>), ProtocolError> {
    let size = reader.u64()?;
    let mtime = Timestamp { secs: reader.i64()?, nanos: reader.u32()? };
    let folder = reader.short_bytes("path", PATH_MAX)?.into();
    let name = reader.short_bytes("name", NAME_MAX)?.into();
    let place = reader.short_bytes("path", PATH_MAX)?;
    let version = Version { folder, name, size, mtime };
    check(&version, place)?;
    Ok((version, place.into()))
}
