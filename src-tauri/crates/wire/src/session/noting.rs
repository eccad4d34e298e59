//! A note as its pages arrive at the listener.
use ringway_model::NoteText;

use crate::ProtocolError;
use crate::control::{NoteHead, NoteId, NotePage};

/// A note of which not all pages have arrived.
pub(super) struct Arriving {
    head: NoteHead,
    bytes: Vec<u8>,
}

/// What a page makes of a note.
pub(super) enum Arrived {
    /// There is more of it.
    Part(Arriving),
    Whole(NoteId, NoteText),
}

impl From<NoteHead> for Arriving {
    fn from(head: NoteHead) -> Self {
        Self { head, bytes: Vec::new() }
    }
}

impl Arriving {
    /// Takes a page.
    pub(super) fn take(mut self, page: &NotePage) -> Result<Arrived, ProtocolError> {
        let (declared, found) = (u64::from(self.head.len), (self.bytes.len() + page.as_bytes().len()) as u64);
        if found > declared {
            return Err(ProtocolError::Totals { what: "bytes of a note", declared, found });
        }
        self.bytes.extend_from_slice(page.as_bytes());
        if found < declared {
            return Ok(Arrived::Part(self));
        }
        let text = NoteText::from_bytes(self.bytes).map_err(|_| ProtocolError::BadText)?;
        Ok(Arrived::Whole(self.head.id, text))
    }
}
