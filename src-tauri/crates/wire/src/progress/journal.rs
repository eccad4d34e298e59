//! The journal of one attempt at a transfer, as bytes that are only appended: which large files it
//! has begun, and which ranges of them are written. The data plane stores the bytes, and decides
//! when to write a record.
//!
//! A record of a successful sync has the length of the journal that the sync covers. Everything
//! noted before that is on the disk, whatever has happened since. All other records only say what
//! was written: the disk may have refused it afterwards, and reported that to another program.
//!
//! Each record ends in the CRC-32 of all records so far. So after a crash, a full disk or a bad
//! sector, the journal is believed up to the first record that is damaged, and no further.
use std::collections::{HashMap, HashSet, VecDeque};

use crate::ProtocolError;
use crate::bytes::{Put, Reader};
use crate::lane::{FILE_SIZE_MAX, Timestamp};
use crate::limits::{JOURNAL_FILES_MAX, NAME_MAX, PATH_MAX};
use crate::name::{Name, RelPath};
use crate::stretches::Stretches;

const KIND_FILE: u8 = 1;
const KIND_RANGE: u8 = 2;
/// A range that an earlier journal notes and a sync covers.
const KIND_DURABLE_RANGE: u8 = 3;
const KIND_WHOLE: u8 = 4;
const KIND_SYNCED: u8 = 5;

/// The checksum of an empty journal. Another format of the records gets another number, and reads
/// nothing of this one.
const FIRST_SUM: u32 = 0x5257_4a34;

/// Bytes of a record's checksum.
const SUM_LEN: usize = size_of::<u32>();

/// The most files that one record may note as whole: as many as in a frame.
pub const WHOLE_MAX: usize = u16::MAX as usize;

/// Identifies one version of a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Version {
    /// Its folder's path within the transfer.
    pub folder: Box<[u8]>,
    /// Its name in there.
    pub name: Box<[u8]>,
    /// Its length in bytes.
    pub size: u64,
    /// When its contents were last changed.
    pub mtime: Timestamp,
    /// The sender's stamp, which distinguishes it from another file with the same size and time.
    pub stamp: u64,
}

/// A file that an attempt has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begun {
    /// Its path in that attempt's folder.
    pub place: Box<[u8]>,
    /// The parts that are written.
    pub has: Stretches,
    /// Those parts that a recorded sync covers.
    pub durable: Stretches,
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
    /// Appends to `out` that a file is begun at `place`, and which parts of it are `durable`
    /// according to an earlier journal. Returns the number by which its ranges are noted. `None`,
    /// and nothing is appended, if a reader would not accept it: the path is too long, or there are
    /// more files than are remembered.
    pub fn begin(&mut self, version: &Version, place: &[u8], durable: &Stretches, out: &mut Vec<u8>) -> Option<u32> {
        let number = self.begun;
        check(version, place).ok().filter(|()| (number as usize) < JOURNAL_FILES_MAX)?;
        self.begun += 1;
        let start = out.len();
        out.put_u8(KIND_FILE);
        out.put_u64(version.size);
        out.put_i64(version.mtime.secs);
        out.put_u32(version.mtime.nanos);
        out.put_u64(version.stamp);
        out.put_short_bytes(&version.folder);
        out.put_short_bytes(&version.name);
        out.put_short_bytes(place);
        self.seal(start, out);
        for stretch in durable.iter() {
            self.range_of(KIND_DURABLE_RANGE, number, stretch.start, stretch.end, out);
        }
        Some(number)
    }

    /// Appends to `out` that a range of a file is written.
    pub fn range(&mut self, number: u32, start: u64, end: u64, out: &mut Vec<u8>) {
        self.range_of(KIND_RANGE, number, start, end, out);
    }

    /// Appends to `out` that files are whole, each by the mark that the data plane gives its
    /// version; at most [`WHOLE_MAX`]. `bytes` is their length, without bytes that ranges note.
    /// `is_durable` says that a sync noted in an earlier journal covers them.
    pub fn whole(&mut self, marks: &[u64], bytes: u64, is_durable: bool, out: &mut Vec<u8>) {
        for marks in marks.chunks(WHOLE_MAX) {
            let from = out.len();
            out.put_u8(KIND_WHOLE);
            out.put_u8(is_durable.into());
            out.put_u64(bytes);
            out.put_u16(marks.len() as u16);
            marks.iter().for_each(|mark| out.put_u64(*mark));
            self.seal(from, out);
        }
    }

    /// Appends to `out` that everything in the first `covered` bytes of the journal is on the disk.
    pub fn synced(&mut self, covered: u64, out: &mut Vec<u8>) {
        let from = out.len();
        out.put_u8(KIND_SYNCED);
        out.put_u64(covered);
        self.seal(from, out);
    }

    fn range_of(&mut self, kind: u8, number: u32, start: u64, end: u64, out: &mut Vec<u8>) {
        let from = out.len();
        out.put_u8(kind);
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

/// The contents of an attempt's journal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Noted {
    /// Files that were begun.
    pub begun: HashMap<Version, Begun>,
    /// Marks of files that are whole and that a recorded sync covers.
    pub durable: HashSet<u64>,
    /// Marks of files that are whole and that no recorded sync covers.
    pub doubtful: HashSet<u64>,
    /// Bytes that recorded syncs cover.
    pub durable_bytes: u64,
    /// Bytes that are noted but that no recorded sync covers.
    pub doubtful_bytes: u64,
}

/// Reads an attempt's journal up to its first damaged record. If two files were begun at one place,
/// the later one counts.
pub fn replay(bytes: &[u8]) -> Noted {
    let mut replay = Replay { sum: FIRST_SUM, ..Replay::default() };
    let mut rest = bytes;
    while let Ok(taken) = replay.record(rest) {
        rest = &rest[taken..];
        replay.at += taken as u64;
    }
    let doubtful = replay.pending.iter().map(|(_, written)| written.bytes());
    replay.noted.doubtful_bytes = doubtful.fold(0, u64::saturating_add);
    let marks = replay.pending.into_iter().map(|(_, written)| match written {
        Written::Whole { marks, .. } => marks,
        Written::Range { .. } => Vec::new(),
    });
    replay.noted.doubtful = marks.flatten().collect();
    replay.noted.begun = replay.files.into_iter().flatten().collect();
    replay.noted
}

#[derive(Default)]
struct Replay {
    sum: u32,
    /// Bytes of records that were read.
    at: u64,
    /// Writes that no sync covers so far, each with the position at which its record ends.
    pending: VecDeque<(u64, Written)>,
    noted: Noted,
    /// The files by their numbers; `None` if a later file has its place.
    files: Vec<Option<(Version, Begun)>>,
    places: HashMap<Box<[u8]>, usize>,
}

/// The kind of write that a record notes.
enum Written {
    Range { number: u32, start: u64, end: u64 },
    Whole { marks: Vec<u64>, bytes: u64 },
}

impl Written {
    fn bytes(&self) -> u64 {
        match self {
            Self::Range { start, end, .. } => end.saturating_sub(*start),
            Self::Whole { bytes, .. } => *bytes,
        }
    }
}

impl Replay {
    /// Reads the first record of `bytes` and returns its length.
    fn record(&mut self, bytes: &[u8]) -> Result<usize, ProtocolError> {
        let mut reader = Reader::new(bytes);
        let record = match reader.u8()? {
            KIND_FILE => Record::File(file(&mut reader)?),
            kind @ (KIND_RANGE | KIND_DURABLE_RANGE) => {
                let written = Written::Range { number: reader.u32()?, start: reader.u64()?, end: reader.u64()? };
                Record::Written { written, is_durable: kind == KIND_DURABLE_RANGE }
            }
            KIND_WHOLE => {
                let (is_durable, bytes, count) = (reader.u8()? == 1, reader.u64()?, reader.u16()?);
                let marks = (0..count).map(|_| reader.u64()).collect::<Result<Vec<_>, _>>()?;
                Record::Written { written: Written::Whole { marks, bytes }, is_durable }
            }
            KIND_SYNCED => Record::Synced { covered: reader.u64()? },
            value => return Err(ProtocolError::Unknown { what: "journal record", value }),
        };
        let len = bytes.len() - reader.rest().len();
        self.sum = sum(self.sum, &bytes[..len]);
        if reader.u32()? != self.sum {
            return Err(ProtocolError::BadValue("journal's checksum"));
        }
        let taken = len + SUM_LEN;
        match record {
            Record::File((version, place)) => self.begin(version, place)?,
            Record::Written { written, is_durable } => {
                let is_new = match written {
                    Written::Range { number, start, end } => self.range(number, start, end)?,
                    Written::Whole { .. } => true,
                };
                match is_durable {
                    _ if !is_new => {}
                    true => self.is_durable(written),
                    false => self.pending.push_back((self.at + taken as u64, written)),
                }
            }
            // A sync cannot cover records that came after it.
            Record::Synced { covered } => {
                while let Some((_, written)) = self.pending.pop_front_if(|(end, _)| *end <= covered) {
                    self.is_durable(written);
                }
            }
        }
        Ok(taken)
    }

    /// Notes that a recorded sync covers this write.
    fn is_durable(&mut self, written: Written) {
        self.noted.durable_bytes = self.noted.durable_bytes.saturating_add(written.bytes());
        match written {
            Written::Whole { marks, .. } => self.noted.durable.extend(marks),
            Written::Range { number, start, end } => {
                // Another file may have its place by now.
                if let Some(Some((_, begun))) = self.files.get_mut(number as usize) {
                    begun.durable.add(start, end);
                }
            }
        }
    }

    fn begin(&mut self, version: Version, place: Box<[u8]>) -> Result<(), ProtocolError> {
        if self.files.len() >= JOURNAL_FILES_MAX {
            let limit = JOURNAL_FILES_MAX as u64;
            return Err(ProtocolError::TooLarge { what: "files in a journal", value: limit + 1, limit });
        }
        if let Some(before) = self.places.insert(place.clone(), self.files.len()) {
            self.files[before] = None;
        }
        self.files.push(Some((version, Begun { place, has: Stretches::default(), durable: Stretches::default() })));
        Ok(())
    }

    /// Notes a range. Returns false if it has no effect, because another file has its place by now.
    /// Parts that were noted before stay as they are.
    fn range(&mut self, number: u32, start: u64, end: u64) -> Result<bool, ProtocolError> {
        let file = self.files.get_mut(number as usize).ok_or(ProtocolError::BadValue("journal's file"))?;
        match file {
            None => Ok(false),
            Some((version, begun)) if start < end && end <= version.size => Ok(begun.has.add(start, end)),
            Some(_) => Err(ProtocolError::BadValue("journal's range")),
        }
    }
}

enum Record {
    File((Version, Box<[u8]>)),
    Written { written: Written, is_durable: bool },
    Synced { covered: u64 },
}

fn file(reader: &mut Reader<'_>) -> Result<(Version, Box<[u8]>), ProtocolError> {
    let size = reader.u64()?;
    let mtime = Timestamp { secs: reader.i64()?, nanos: reader.u32()? };
    let stamp = reader.u64()?;
    let folder = reader.short_bytes("path", PATH_MAX)?.into();
    let name = reader.short_bytes("name", NAME_MAX)?.into();
    let place = reader.short_bytes("path", PATH_MAX)?;
    let version = Version { folder, name, size, mtime, stamp };
    check(&version, place)?;
    Ok((version, place.into()))
}
