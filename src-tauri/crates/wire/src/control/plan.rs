//! What a request for entries of a share would move, in pages: the answer to a dry run.
use super::{EntryFailed, fields};
use crate::ProtocolError;
use crate::bytes::{Put, Reader};
use crate::lane::Counts;
use crate::limits::{ENTRIES_PAGE_BYTES_MAX, ENTRIES_PAGE_LEN_MAX};

/// The longest fields of an entry beside its path.
const FIELDS_LEN_MAX: usize = 1 + 2 + 1 + 1 + 4;

/// The number that stands for an entry that would fail, in place of its kind.
const FAILS: u8 = u8::MAX;

/// What an entry would arrive as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlannedKind {
    /// A folder.
    Folder,
    /// A file.
    File,
    /// A symbolic link, or a further name of a file that arrives under another one.
    Link,
}

impl PlannedKind {
    const ALL: [Self; 3] = [Self::Folder, Self::File, Self::Link];
}

/// An entry. Its path is shown, never opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlannedEntry {
    /// It would arrive under this path within the transfer.
    Moves(PlannedKind, Vec<u8>),
    /// It would fail.
    Fails(EntryFailed),
}

impl PlannedEntry {
    fn path(&self) -> &[u8] {
        match self {
            Self::Moves(_, path) => path,
            Self::Fails(failed) => &failed.path,
        }
    }
}

/// What all of it would come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PlannedCounts {
    /// What would be sent.
    pub sent: Counts,
    /// Entries that a pattern leaves out.
    pub excluded: u64,
    /// Entries that would fail, named or not.
    pub failed: u64,
}

/// Some of the entries, in the order in which they were found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedPage {
    /// At most [`ENTRIES_PAGE_LEN_MAX`]; none only on the last page.
    pub entries: Vec<PlannedEntry>,
    /// On the last page.
    pub counts: Option<PlannedCounts>,
}

impl PlannedPage {
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.put_u16(self.entries.len() as u16);
        for entry in &self.entries {
            match entry {
                PlannedEntry::Moves(kind, path) => {
                    out.put_u8(PlannedKind::ALL.iter().position(|known| known == kind).unwrap_or_default() as u8);
                    out.put_short_bytes(path);
                }
                PlannedEntry::Fails(failed) => {
                    out.put_u8(FAILS);
                    fields::encode_failed(failed, out);
                }
            }
        }
        out.put_bool(self.counts.is_some());
        if let Some(PlannedCounts { sent, excluded, failed }) = &self.counts {
            fields::encode_counts(sent, out);
            out.put_u64(*excluded);
            out.put_u64(*failed);
        }
    }

    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, ProtocolError> {
        let len = usize::from(reader.u16()?);
        if len > ENTRIES_PAGE_LEN_MAX {
            let limit = ENTRIES_PAGE_LEN_MAX as u64;
            return Err(ProtocolError::TooLarge { what: "entries of a plan", value: len as u64, limit });
        }
        let entries = (0..len).map(|_| decode_entry(reader)).collect::<Result<_, _>>()?;
        let counts = match reader.bool("end of a plan")? {
            false => None,
            true => Some(PlannedCounts {
                sent: fields::decode_counts(reader)?,
                excluded: reader.entries("entries that are left out")?,
                failed: reader.entries("failed entries")?,
            }),
        };
        // With empty pages, a serving end could send pages forever.
        if len == 0 && counts.is_none() {
            return Err(ProtocolError::BadValue("entries of a plan"));
        }
        Ok(Self { entries, counts })
    }
}

fn decode_entry(reader: &mut Reader<'_>) -> Result<PlannedEntry, ProtocolError> {
    match reader.u8()? {
        FAILS => fields::decode_failed(reader).map(PlannedEntry::Fails),
        value => {
            let unknown = ProtocolError::Unknown { what: "kind of planned entry", value };
            let kind = *PlannedKind::ALL.get(usize::from(value)).ok_or(unknown)?;
            Ok(PlannedEntry::Moves(kind, fields::decode_shown_path(reader)?))
        }
    }
}

/// Fills pages, for the serving end. Every entry fits into an empty page.
#[derive(Default)]
pub struct PlanWriter {
    entries: Vec<PlannedEntry>,
    bytes: usize,
}

impl PlanWriter {
    /// Adds an entry, and returns the page that it did not fit into.
    pub fn push(&mut self, entry: PlannedEntry) -> Option<PlannedPage> {
        let bytes = entry.path().len() + FIELDS_LEN_MAX;
        let is_full = self.entries.len() == ENTRIES_PAGE_LEN_MAX || self.bytes + bytes > ENTRIES_PAGE_BYTES_MAX;
        let full = is_full.then(|| PlannedPage { entries: std::mem::take(&mut self.entries), counts: None });
        self.bytes = if is_full { bytes } else { self.bytes + bytes };
        self.entries.push(entry);
        full
    }

    /// The last page.
    pub fn last(self, counts: PlannedCounts) -> PlannedPage {
        PlannedPage { entries: self.entries, counts: Some(counts) }
    }
}
