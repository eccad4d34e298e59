//! A note's messages: what it says of itself, and its text in pages.
use crate::ProtocolError;
use crate::bytes::{Put, Reader};
use crate::limits::{NOTE_LEN_MAX, NOTE_PAGE_BYTES_MAX};

/// A note's identity, drawn by its sender: the same note sent again has the same.
pub type NoteId = [u8; 16];

/// What comes before a note's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoteHead {
    /// The note's id.
    pub id: NoteId,
    /// Bytes of its text, from 1 to [`NOTE_LEN_MAX`].
    pub len: u32,
}

/// A part of a note's text, of 1 to [`NOTE_PAGE_BYTES_MAX`] bytes. It may end within a character.
/// `Debug` says only how long it is.
#[derive(Clone, PartialEq, Eq)]
pub struct NotePage(Vec<u8>);

impl NotePage {
    /// The bytes, which are neither none nor too many.
    pub fn new(bytes: &[u8]) -> Self {
        assert!((1..=NOTE_PAGE_BYTES_MAX).contains(&bytes.len()), "a page of {} bytes", bytes.len());
        Self(bytes.to_vec())
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.put_short_bytes(&self.0);
    }

    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, ProtocolError> {
        match reader.short_bytes("page of a note", NOTE_PAGE_BYTES_MAX)? {
            // With empty pages, a sender could send pages forever.
            [] => Err(ProtocolError::BadValue("page of a note")),
            bytes => Ok(Self(bytes.to_vec())),
        }
    }
}

impl std::fmt::Debug for NotePage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NotePage({} bytes)", self.0.len())
    }
}

pub(super) fn encode(NoteHead { id, len }: NoteHead, out: &mut Vec<u8>) {
    out.extend_from_slice(&id);
    out.put_u32(len);
}

pub(super) fn decode(reader: &mut Reader<'_>) -> Result<NoteHead, ProtocolError> {
    let id = reader.array()?;
    match reader.u32()? {
        0 => Err(ProtocolError::BadValue("length of a note")),
        len if len as usize <= NOTE_LEN_MAX => Ok(NoteHead { id, len }),
        len => Err(ProtocolError::TooLarge { what: "note", value: len.into(), limit: NOTE_LEN_MAX as u64 }),
    }
}
