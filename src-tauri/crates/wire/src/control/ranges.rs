//! The bytes of a part of a shared file, in pages, and the state of the file that they are of.
use crate::ProtocolError;
use crate::bytes::{Put, Reader};
use crate::lane::{FILE_SIZE_MAX, Timestamp};
use crate::limits::RANGE_PAGE_BYTES_MAX;

/// A file after a part of it was read. Who reads several parts compares it: if it is another one,
/// the parts may be of different versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileState {
    /// Its length in bytes.
    pub size: u64,
    /// Its modification time.
    pub mtime: Timestamp,
}

/// The next bytes of a part.
#[derive(Clone, PartialEq, Eq)]
pub struct BytesPage {
    bytes: Vec<u8>,
    /// With the last page.
    file: Option<FileState>,
}

impl std::fmt::Debug for BytesPage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BytesPage({} bytes, {:?})", self.bytes.len(), self.file)
    }
}

impl BytesPage {
    /// A page of 1 to [`RANGE_PAGE_BYTES_MAX`] bytes, after which more follow.
    pub fn more(bytes: Vec<u8>) -> Self {
        Self { bytes, file: None }
    }

    /// The last page of a part of `file`: with up to [`RANGE_PAGE_BYTES_MAX`] bytes, or none.
    pub fn last(bytes: Vec<u8>, file: FileState) -> Self {
        Self { bytes, file: Some(file) }
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The file, with the last page.
    pub fn file(&self) -> Option<FileState> {
        self.file
    }

    /// Whether no page follows.
    pub fn is_last(&self) -> bool {
        self.file.is_some()
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.put_bool(self.is_last());
        if let Some(FileState { size, mtime }) = &self.file {
            out.put_u64(*size);
            mtime.encode(out);
        }
        out.extend_from_slice(&self.bytes);
    }

    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, ProtocolError> {
        let file = match reader.bool("end of a part")? {
            false => None,
            true => Some(FileState { size: reader.u64()?, mtime: Timestamp::decode(reader)? }),
        };
        let bytes = reader.take(reader.rest().len())?;
        let (value, limit) = (bytes.len() as u64, RANGE_PAGE_BYTES_MAX as u64);
        if value > limit {
            return Err(ProtocolError::TooLarge { what: "length of a page", value, limit });
        }
        // With empty pages, a serving end could send pages forever.
        if bytes.is_empty() && file.is_none() || file.is_some_and(|file| file.size > FILE_SIZE_MAX) {
            return Err(ProtocolError::BadValue("part of a file"));
        }
        Ok(Self { bytes: bytes.to_vec(), file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::NANOS_PER_SEC;

    const FILE: FileState = FileState { size: 5, mtime: Timestamp { secs: -1, nanos: 7 } };

    fn decoded(page: &BytesPage) -> Result<BytesPage, ProtocolError> {
        let mut bytes = Vec::new();
        page.encode(&mut bytes);
        BytesPage::decode(&mut Reader::new(&bytes))
    }

    #[test]
    fn pages_survive_the_wire_and_those_that_no_honest_end_sends_are_refused() {
        for page in [
            BytesPage::more(vec![7; RANGE_PAGE_BYTES_MAX]),
            BytesPage::last(vec![7; RANGE_PAGE_BYTES_MAX], FILE),
            BytesPage::last(Vec::new(), FILE),
        ] {
            assert_eq!(decoded(&page).as_ref(), Ok(&page));
        }
        for page in [
            BytesPage::more(Vec::new()),
            BytesPage::more(vec![7; RANGE_PAGE_BYTES_MAX + 1]),
            BytesPage::last(Vec::new(), FileState { size: FILE_SIZE_MAX + 1, ..FILE }),
            BytesPage::last(Vec::new(), FileState { mtime: Timestamp { secs: 0, nanos: NANOS_PER_SEC }, ..FILE }),
        ] {
            assert!(decoded(&page).is_err(), "{page:?}");
        }
    }
}
